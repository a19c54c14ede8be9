"""The harness evolver: a LangGraph state machine over the flagged tasks of a round.

    recall -> probe -> attribute -> propose -> criticise -> conclude
                ^                                  |
                +------------- revise <------------+   while a task has no accepted edit and attempts left

``attribute`` and ``propose`` run once per task, all tasks at the same time; ``probe`` and ``criticise`` take all tasks together, so
that their rollouts and judge calls are few large batches. A batch is flushed when every open task of the round has come to it: the
graph's steps are the batcher, and a round takes about as long as its longest chain. The state holds plain types only (ids, edits,
decisions), never rollouts. With the sqlite checkpointer at ``durability="sync"`` a round that was killed goes on with the task at
which it stopped: what a model has answered is not asked again. Nodes write nothing outside the state: the loop records the result when
the round is done.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Literal

from agents.attribution import Attributor, InventedIds
from agents.case import Case, CaseState, RoundResult, RoundState, dump, load, result, start
from agents.chat import ChatFailure
from agents.checks import REVERSAL_VISITS, Refused, precheck
from agents.clock import SharedClock
from agents.config import EvolverConfig
from agents.context import CaseFile, RoundContext
from agents.critic import Critic
from agents.findings import HELD_BACK, Finding
from agents.heuristics import Proposer
from agents.neighbours import guard_tasks
from agents.probes import probe_all
from agents.reversal import attribution_of, reversal_edit
from agents.sample import Candidate, GuardTask
from memory.decision import Decision
from memory.edit import Edit, apply
from memory.errors import EditError
from memory.harness import TaskHarness
from memory.memory import Evidence, Memory
from memory.task import Rule

CONCURRENCY = 64
"""Tasks that attribute or propose at the same time; what an endpoint may be asked at once is limited elsewhere."""
FAILURES = (ChatFailure, InventedIds, EditError)
"""What a role may do wrong without more harm than a case that comes to nothing."""


class HarnessEvolver:
    """Builds and runs the graph.

    Args:
        validate_rule: raises ``UserError`` for a rule criterion that cannot be checked.
        checkpointer: any LangGraph checkpointer; None runs without one.
        spent: why nothing more may be spent, in a sentence; None while there is budget left. Asked before everything that costs.
    """

    def __init__(
        self,
        config: EvolverConfig,
        memory: Memory,
        attributor: Attributor,
        proposer: Proposer,
        critic: Critic,
        validate_rule: Callable[[Rule], None],
        checkpointer=None,
        spent: Callable[[], str | None] = lambda: None,
    ):
        self.config = config
        self.memory = memory
        self.attributor = attributor
        self.proposer = proposer
        self.critic = critic
        self.validate_rule = validate_rule
        self.checkpointer = checkpointer
        self.spent = spent
        self._evidence: dict[str, Evidence] = {}
        self._clock = SharedClock()
        self.graph = self.build().compile(checkpointer=checkpointer)

    def build(self):
        from langgraph.graph import END, START, StateGraph

        graph = StateGraph(RoundState)
        for node in (self.recall, self.probe, self.propose, self.criticise, self.revise, self.conclude):
            graph.add_node(node.__name__, node)
        graph.add_node("attribute", self.attribute, destinations=("propose",))
        graph.add_edge(START, "recall")
        graph.add_edge("recall", "probe")
        graph.add_conditional_edges("probe", self.each_open, ["attribute", "conclude"])
        graph.add_edge("propose", "criticise")
        graph.add_conditional_edges("criticise", self.next_step, ["revise", "conclude"])
        graph.add_edge("revise", "probe")
        graph.add_edge("conclude", END)
        return graph

    def run(self, context: RoundContext, task_ids: Sequence[str], thread: str) -> RoundResult:
        """One round over the flagged tasks. A ``thread`` that was begun before goes on where it stopped."""
        self._evidence, self._clock = {}, SharedClock()
        limit = 10 + 5 * (self.config.revisions + 1)
        config = {"configurable": {"thread_id": thread}, "recursion_limit": limit, "max_concurrency": CONCURRENCY}
        if self.checkpointer is None:
            state = self.graph.invoke(start(context, list(task_ids)), config)
        else:
            found = self.graph.get_state(config)
            if found.values and not any(c.status == "open" for c in load(found.values)):
                state = found.values
            elif found.next:
                state = self.graph.invoke(None, config, durability="sync")
            else:
                if found.metadata is not None:  # killed before its first step was on disk: nothing of it can be gone on with
                    self.forget(thread)
                state = self.graph.invoke(start(context, list(task_ids)), config, durability="sync")
        return result(load(state), self._entry)

    def model_seconds(self) -> float:
        """Time of the last round in which a model was attributing or proposing; rules and heuristics do not count."""
        return self._clock.seconds

    def _asking(self, role: Attributor | Proposer):
        return self._clock if hasattr(role, "chat") else nullcontext()

    def forget(self, thread: str) -> None:
        """Drop a finished round's checkpoints; its result is in the journal."""
        if self.checkpointer is not None:
            self.checkpointer.delete_thread(thread)

    # -- nodes ---------------------------------------------------------------------------------------------------------------

    def recall(self, state: RoundState) -> dict:
        """Which evidence each task has."""
        cases = load(state)
        self._recall([c.task_id for c in cases])
        return {"cases": dump(*(c.with_(evidence_ids=self._evidence[c.task_id].ids) for c in cases))}

    def probe(self, state: RoundState) -> dict:
        """Small rehearsals where the evidence does not tell the cause of a failure."""
        if not self.config.probe_rollouts:
            return {}
        cases, files = self._open(state)
        if not cases:
            return {}
        if reason := self.spent():
            return {"cases": dump(*(c.gave_up(reason) for c in cases))}
        tag = f"{self._tag(state)}-probes"
        found = probe_all(self.critic.rehearsal, tag, list(files.values()), self.config.probe_rollouts)
        return {"cases": dump(*(c.with_(probes=(*c.probes, *found[c.task_id])) for c in cases if found.get(c.task_id)))}

    def attribute(self, state: CaseState) -> Any:
        """Name the failure of one task and the interface that can repair it, and send it on. A faded edit is looked at first."""
        from langgraph.types import Command, Send

        case = self._guarded(state, self._attribute)
        onwards = [Send("propose", {**state, "case": case.model_dump(mode="json")})] if case.status == "open" else []
        return Command(update={"cases": dump(case)}, goto=onwards)

    def propose(self, state: CaseState) -> dict:
        """Candidates for one task. Where all are refused the proposer is asked again, which costs an attempt and no rollout."""
        return {"cases": dump(self._guarded(state, self._propose))}

    def criticise(self, state: RoundState) -> dict:
        """Measure all candidates on the frozen policy, in common batches, and decide."""
        context = RoundContext.model_validate(state["context"])
        cases = load(state)
        waiting = [c for c in cases if c.status == "open" and c.candidates]
        if reason := self.spent():
            return {"cases": dump(*(c.gave_up(reason) for c in waiting)), "passed": state["passed"] + 1}
        coming = {c.task_id: apply(c.accepted, self._entry(c.task_id)) for c in cases if c.accepted is not None}
        near = guard_tasks(self.memory, [c.task_id for c in waiting], self.critic.config.guard_tasks, coming)
        pairs = [(case, self._candidate(case, edit, near[case.task_id])) for case in waiting for edit in case.candidates]
        findings = self.critic.measure(self._tag(state), [c for _, c in pairs], self.config.revisions + 1, self.spent)
        decided: dict[str, Case] = {c.task_id: c.with_(candidates=()) for c in waiting}
        for (case, candidate), finding in zip(pairs, findings, strict=True):
            decided[case.task_id] = with_finding(decided[case.task_id], candidate.edit, finding, context)
        return {"cases": dump(*decided.values()), "passed": state["passed"] + 1}

    def revise(self, state: RoundState) -> dict:
        """Send what was not accepted back, with its measurements: perhaps another interface can repair the failure."""
        return {"cases": dump(*(c if self._may_go_on(c) else c.gave_up() for c in load(state) if c.status == "open"))}

    def conclude(self, state: RoundState) -> dict:
        return {"cases": dump(*(c.gave_up() for c in load(state) if c.status == "open"))}

    # -- edges ---------------------------------------------------------------------------------------------------------------

    def each_open(self, state: RoundState) -> Any:
        """A message to ``attribute`` per open case, or the way to the end."""
        from langgraph.types import Send

        context, cases = state["context"], state["cases"].values()
        return [Send("attribute", {"context": context, "case": c}) for c in cases if c["status"] == "open"] or "conclude"

    def next_step(self, state: RoundState) -> Literal["revise", "conclude"]:
        return "revise" if any(c.status == "open" and self._may_go_on(c) for c in load(state)) else "conclude"

    def _may_go_on(self, case: Case) -> bool:
        return case.attempts <= self.config.revisions

    # -- what the nodes do with one case ----------------------------------------------------------------------------------------

    def _attribute(self, case: Case, file: CaseFile) -> Case:
        if reason := self.spent():
            return case.gave_up(reason)
        faded = case.attempts == 0 and attribution_of(file)
        with self._asking(self.attributor):
            attribution = faded or self.attributor.attribute(file)
        if attribution is None:
            return case.with_(status="given_up" if case.decisions else "healthy")
        return case.with_(attribution=attribution.model_copy(update={"probes": case.probes}))

    def _propose(self, case: Case, file: CaseFile) -> Case:
        attribution = case.attribution
        assert attribution is not None
        unusable: EditError | None = None
        while self._may_go_on(case):
            new_id = f"r{file.context.round}-{case.task_id}-{case.attempts + 1}"
            case = case.with_(attempts=case.attempts + 1)
            unusable = None
            try:
                taking_back = reversal_edit(file, attribution, new_id, self.memory.entry_before)
                with self._asking(self.proposer):
                    edits = (
                        [taking_back] if taking_back else self.proposer.propose(file, attribution, new_id, self.config.proposals)
                    )
            except EditError as error:
                edits, unusable = [], error
            except FAILURES as failure:  # here, where the decisions of this call are at hand: they must not be lost
                return failed(case, failure)
            if not edits and unusable is None:
                return case.gave_up()
            said = (str(unusable),) if unusable else getattr(edits, "dropped", ())
            case = case.with_(dropped=(*case.dropped, *said))
            fit = []
            for edit in edits:
                try:
                    after = precheck(edit, file, self.memory.replaced_entries(edit.task_id, REVERSAL_VISITS), self.validate_rule)
                    if after.rubric != file.entry.rubric and not self.critic.can_measure_criteria:
                        raise Refused("without a quality order (quality.source is off) nothing tells better criteria from worse")
                    fit.append(edit)
                except Refused as refusal:
                    refused = Finding(outcome="rejected", sentence=f"Refused before measuring: {refusal}.", measurement=None)
                    case = with_finding(case, edit, refused, file.context)
            file = file.model_copy(update={"tried": case.decisions, "dropped": case.dropped})
            if fit:
                return case.with_(candidates=tuple(fit))
        return failed(case, unusable) if unusable is not None else case.gave_up()

    def _candidate(self, case: Case, edit: Edit, near: tuple[GuardTask, ...]) -> Candidate:
        before = self._entry(case.task_id)
        window = self.memory.plain_rollouts_before_last(case.task_id, self.config.window) if edit.interface == "p" else ()
        return Candidate(edit=edit, before=before, after=apply(edit, before), window=tuple(window), guard_tasks=near)

    def _guarded(self, state: CaseState, role: Callable[[Case, CaseFile], Case]) -> Case:
        """Run a role on a case. A role that fails leaves its case a counted no-op."""
        case = Case.model_validate(state["case"])
        file = self.file(RoundContext.model_validate(state["context"]), case)
        try:
            return role(case, file)
        except FAILURES as failure:
            return failed(case, failure)

    def _open(self, state: RoundState) -> tuple[list[Case], dict[str, CaseFile]]:
        context = RoundContext.model_validate(state["context"])
        cases = [c for c in load(state) if c.status == "open"]
        return cases, {c.task_id: self.file(context, c) for c in cases}

    def file(self, context: RoundContext, case: Case) -> CaseFile:
        """What the roles see of a case."""
        if case.task_id not in self._evidence:
            self._recall([case.task_id])
        evidence = self._evidence[case.task_id]
        return CaseFile(
            context=context,
            task=self.memory.tasks[case.task_id],
            entry=self._entry(case.task_id),
            evidence=evidence,
            rollouts=tuple(self.memory.rollouts.get(evidence.last.rollout_ids)),
            probes=case.probes,
            tried=case.decisions,
            dropped=case.dropped,
        )

    def _recall(self, task_ids: Sequence[str]) -> None:
        scopes, window, neighbours = self.config.scopes, self.config.window, self.config.neighbours
        self._evidence |= self.memory.recall_all(task_ids, scopes, window, neighbours)

    def _entry(self, task_id: str) -> TaskHarness:
        return self.memory.harness.of(self.memory.tasks[task_id])

    def _tag(self, state: RoundState) -> str:
        return f"round-{state['context']['round']:04d}-{state['passed']}"


def with_finding(case: Case, edit: Edit, finding: Finding, context: RoundContext) -> Case:
    """The case with a decision more. Of several edits that were taken unmeasured the first is applied."""
    decision = Decision(
        edit=edit,
        step=context.step,
        round=context.round,
        outcome=finding.outcome,
        sentence=finding.sentence,
        measurement=finding.measurement,
        revision=case.attempts - 1,
    )
    if finding.outcome != "accepted":
        return case.with_(decisions=(*case.decisions, decision))
    if case.accepted is not None:
        held_back = f"{HELD_BACK}: '{case.accepted.id}' of the same task goes first."
        return case.with_(
            decisions=(*case.decisions, decision.model_copy(update={"outcome": "inconclusive", "sentence": held_back}))
        )
    return case.with_(decisions=(*case.decisions, decision), accepted=edit, status="accepted")


def failed(case: Case, failure: Exception) -> Case:
    """The case with what was decided on it so far, and why there is no more."""
    kind = "ids: " if isinstance(failure, InventedIds) else "edit: " if isinstance(failure, EditError) else ""
    words = failure.reason if isinstance(failure, ChatFailure) else f"{kind}{failure}"
    return case.with_(status="failed", candidates=(), failure=words)

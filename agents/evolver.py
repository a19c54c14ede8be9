"""The harness evolver: a LangGraph state machine over the flagged tasks of a round.

    recall -> attribute -> propose -> criticise -> conclude
                  ^                        |
                  +-------- revise <-------+   while a task's candidate was not accepted and it has revisions left

All flagged tasks move together, so that a look of the critic is one batch of rollouts. The state holds plain types only (ids,
edits, decisions), never rollouts; with the sqlite checkpointer at ``durability="sync"`` a round that was killed goes on at the
node where it stopped. Nodes write nothing outside the state: the loop records the result when the round is done.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypedDict

from agents.attribution import Attributor, InventedIds
from agents.chat import ChatFailure
from agents.checks import REVERSAL_VISITS, Refused, precheck
from agents.config import EvolverConfig
from agents.context import CaseFile, RoundContext
from agents.critic import Critic
from agents.heuristics import Proposer
from agents.sample import Candidate
from memory.decision import Attribution, Decision
from memory.edit import Edit, apply
from memory.errors import EditError
from memory.harness import TaskHarness
from memory.memory import Memory
from memory.task import Noun, Rule

CONCURRENCY = 8
"""Tasks whose attributor or proposer calls are in flight together."""
FAILURES = (ChatFailure, InventedIds, EditError)
"""What a role may do wrong without more harm than a case that comes to nothing."""


class Case(Noun):
    """Where one flagged task stands within a round."""

    task_id: str
    status: Literal["open", "accepted", "given_up", "healthy", "failed"] = "open"
    evidence_ids: tuple[str, ...] = ()
    attribution: Attribution | None = None
    candidate: Edit | None = None
    decisions: tuple[Decision, ...] = ()
    failure: str | None = None


class RoundResult(Noun):
    """What a round came to. ``entries`` are the new entries of the tasks with an accepted edit."""

    cases: tuple[Case, ...]
    entries: dict[str, TaskHarness]

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return tuple(d for case in self.cases for d in case.decisions)


class RoundState(TypedDict):
    context: dict
    cases: list[dict]


class HarnessEvolver:
    """Builds and runs the graph. ``checkpointer`` is any LangGraph checkpointer; None runs without one."""

    def __init__(
        self,
        config: EvolverConfig,
        memory: Memory,
        attributor: Attributor,
        proposer: Proposer,
        critic: Critic,
        validate_rule: Callable[[Rule], None],
        checkpointer=None,
    ):
        self.config = config
        self.memory = memory
        self.attributor = attributor
        self.proposer = proposer
        self.critic = critic
        self.validate_rule = validate_rule
        self.checkpointer = checkpointer
        self.graph = self._build().compile(checkpointer=checkpointer)

    def _build(self):
        from langgraph.graph import END, START, StateGraph

        graph = StateGraph(RoundState)
        for node in (self.recall, self.attribute, self.propose, self.criticise, self.revise, self.conclude):
            graph.add_node(node.__name__, node)
        graph.add_edge(START, "recall")
        graph.add_edge("recall", "attribute")
        graph.add_edge("attribute", "propose")
        graph.add_edge("propose", "criticise")
        graph.add_conditional_edges("criticise", self.next_step, ["revise", "conclude"])
        graph.add_edge("revise", "attribute")
        graph.add_edge("conclude", END)
        return graph

    def run(self, context: RoundContext, task_ids: Sequence[str], thread: str) -> RoundResult:
        """One round over the flagged tasks. A ``thread`` that was begun before goes on where it stopped."""
        config = {"configurable": {"thread_id": thread}, "recursion_limit": 10 + 5 * (self.config.revisions + 1)}
        start: RoundState | None = {
            "context": context.model_dump(mode="json"),
            "cases": [Case(task_id=i).model_dump(mode="json") for i in task_ids],
        }
        if self.checkpointer is None:
            state = self.graph.invoke(start, config)
        else:
            found = self.graph.get_state(config)
            if found.values and not found.next:
                state = found.values
            else:
                state = self.graph.invoke(None if found.next else start, config, durability="sync")
        cases = tuple(load(state["cases"]))
        accepted = {c.task_id: c.candidate for c in cases if c.status == "accepted" and c.candidate}
        entries = {task_id: apply(edit, self._entry(task_id)) for task_id, edit in accepted.items()}
        return RoundResult(cases=cases, entries=entries)

    def forget(self, thread: str) -> None:
        """Drop a finished round's checkpoints; its result is in the journal."""
        if self.checkpointer is not None:
            self.checkpointer.delete_thread(thread)

    def recall(self, state: RoundState) -> dict:
        """Which evidence each task has."""
        cases = []
        for case in load(state["cases"]):
            evidence = self._evidence(case.task_id)
            cases.append(case.model_copy(update={"evidence_ids": evidence.ids}))
        return {"cases": dump(cases)}

    def attribute(self, state: RoundState) -> dict:
        """Name the failure and the interface that can repair it."""

        def one(case: Case, file: CaseFile) -> Case:
            attribution = self.attributor.attribute(file)
            if attribution is None:
                return case.model_copy(update={"status": "given_up" if case.decisions else "healthy"})
            return case.model_copy(update={"attribution": attribution})

        return {"cases": dump(self._each(state, one))}

    def propose(self, state: RoundState) -> dict:
        """A candidate per open task. Refusals cost a revision and no rollout; without a proposal the task is given up."""

        def one(case: Case, file: CaseFile) -> Case:
            while case.attribution and len(case.decisions) <= self.config.revisions:
                edit_id = f"r{file.context.round}-{case.task_id}-{len(case.decisions) + 1}"
                try:
                    edits = self.proposer.propose(file, case.attribution, edit_id, 1)
                except FAILURES as failure:  # here, where the decisions of this call are at hand: they must not be lost
                    return failed(case, failure)
                if not edits:
                    break
                edit = edits[0]
                try:
                    self._check(edit, file)
                except Refused as refusal:
                    refused = self._decision(file, edit, len(case.decisions), "rejected", f"Refused before measuring: {refusal}.")
                    case = case.model_copy(update={"decisions": (*case.decisions, refused)})
                    file = file.model_copy(update={"tried": case.decisions})
                    continue
                return case.model_copy(update={"candidate": edit})
            return case.model_copy(update={"status": "given_up"})

        return {"cases": dump(self._each(state, one))}

    def criticise(self, state: RoundState) -> dict:
        """Measure all candidates on the frozen policy, in common batches, and decide."""
        context = RoundContext.model_validate(state["context"])
        cases = load(state["cases"])
        waiting = [c for c in cases if c.status == "open" and c.candidate]
        candidates = []
        for case in waiting:
            assert case.candidate is not None
            before = self._entry(case.task_id)
            candidates.append(Candidate(edit=case.candidate, before=before, after=apply(case.candidate, before)))
        tag = f"round-{context.round:04d}-{max((len(c.decisions) for c in waiting), default=0)}"
        findings = dict(zip([c.task_id for c in waiting], self.critic.measure(tag, candidates), strict=True))
        judged = []
        for case in cases:
            if (finding := findings.get(case.task_id)) is not None and case.candidate:
                decision = Decision(
                    edit=case.candidate,
                    step=context.step,
                    round=context.round,
                    outcome=finding.outcome,
                    sentence=finding.sentence,
                    measurement=finding.measurement,
                    revision=len(case.decisions),
                )
                status = "accepted" if finding.outcome == "accepted" else "open"
                case = case.model_copy(update={"decisions": (*case.decisions, decision), "status": status})
            judged.append(case)
        return {"cases": dump(judged)}

    def next_step(self, state: RoundState) -> Literal["revise", "conclude"]:
        left = [c for c in load(state["cases"]) if c.status == "open" and len(c.decisions) <= self.config.revisions]
        return "revise" if left else "conclude"

    def revise(self, state: RoundState) -> dict:
        """Send what was not accepted back, with its measurement: perhaps another interface can repair the failure."""
        cases = load(state["cases"])
        return {"cases": dump([c.model_copy(update={"candidate": None}) if c.status == "open" else c for c in cases])}

    def conclude(self, state: RoundState) -> dict:
        cases = load(state["cases"])
        return {"cases": dump([c.model_copy(update={"status": "given_up"}) if c.status == "open" else c for c in cases])}

    def _each(self, state: RoundState, role: Callable[[Case, CaseFile], Case]) -> list[Case]:
        """Run a role on every open case, several at once. A role that fails leaves its case a counted no-op."""
        context = RoundContext.model_validate(state["context"])
        cases = load(state["cases"])
        files = {c.task_id: self._file(context, c) for c in cases if c.status == "open"}

        def guarded(case: Case) -> Case:
            if case.status != "open":
                return case
            try:
                return role(case, files[case.task_id])
            except FAILURES as failure:
                return failed(case, failure)

        with ThreadPoolExecutor(CONCURRENCY) as pool:
            return list(pool.map(guarded, cases))

    def _file(self, context: RoundContext, case: Case) -> CaseFile:
        evidence = self._evidence(case.task_id)
        return CaseFile(
            context=context,
            task=self.memory.tasks[case.task_id],
            entry=self._entry(case.task_id),
            evidence=evidence,
            rollouts=tuple(self.memory.rollouts.get(evidence.last.rollout_ids)),
            tried=case.decisions,
        )

    def _evidence(self, task_id: str):
        return self.memory.recall(task_id, self.config.scopes, self.config.window, self.config.neighbours)

    def _entry(self, task_id: str) -> TaskHarness:
        return self.memory.harness.of(self.memory.tasks[task_id])

    def _check(self, edit: Edit, file: CaseFile) -> TaskHarness:
        replaced = self.memory.replaced_entries(edit.task_id, REVERSAL_VISITS)
        return precheck(edit, file, replaced, self.validate_rule)

    def _decision(self, file: CaseFile, edit: Edit, revision: int, outcome, sentence: str) -> Decision:
        context = file.context
        return Decision(edit=edit, step=context.step, round=context.round, outcome=outcome, sentence=sentence, revision=revision)


def failed(case: Case, failure: Exception) -> Case:
    """The case with what was decided on it so far, and why there is no more."""
    kind = "ids: " if isinstance(failure, InventedIds) else "edit: " if isinstance(failure, EditError) else ""
    words = failure.reason if isinstance(failure, ChatFailure) else f"{kind}{failure}"
    return case.model_copy(update={"status": "failed", "failure": words})


def load(cases: Sequence[dict]) -> list[Case]:
    return [Case.model_validate(c) for c in cases]


def dump(cases: Sequence[Case]) -> list[dict]:
    return [c.model_dump(mode="json") for c in cases]

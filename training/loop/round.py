"""One co-evolution round: flag tasks, call the evolver tool and wait, ask a person where the run does, apply what was accepted, record
everything."""

from collections import Counter
from collections.abc import Sequence

from langchain_core.tools import BaseTool

from agents.case import RoundResult
from agents.context import RoundContext
from agents.evolver import HarnessEvolver
from memory.decision import Decision
from memory.journal import HarnessRecord, RoundRecord
from memory.memory import Memory
from memory.visit import Visit
from training.config import RunConfig
from training.loop.approval import Hold
from training.loop.policy import Generate
from training.loop.progress import Progress
from training.loop.rehearsal import FrozenPolicyRehearsal
from training.loop.spending import Spending


class EvolverRound:
    """Owns the tool and the rehearsal of rank 0. ``hold`` is there where accepted edits wait for a person."""

    def __init__(
        self,
        config: RunConfig,
        memory: Memory,
        evolver: HarnessEvolver,
        tool: BaseTool,
        rehearsal: FrozenPolicyRehearsal,
        spending: Spending,
        progress: Progress,
        hold: Hold | None = None,
    ):
        self.config = config
        self.memory = memory
        self.evolver = evolver
        self.tool = tool
        self.rehearsal = rehearsal
        self.spending = spending
        self.progress = progress
        self.hold = hold
        self._said: set[str] = set()

    def run(self, step: int, generate: Generate, ceiling: int, fingerprint: str) -> None:
        self.rehearsal.open(generate, ceiling)
        try:
            self._run(step, ceiling, fingerprint)
        finally:
            self.rehearsal.close()

    def _run(self, step: int, ceiling: int, fingerprint: str) -> None:
        """With the policy at hand: look at the budget and the tasks, call the tool, record what came of it."""
        self.spending.begin_round(self.memory.rounds)
        if reason := self.spending.reached():
            self._say_spent(reason)
            return
        number = step // self.config.evolver.every
        task_ids = flag_tasks(self.memory, step, self.config)
        if not task_ids:
            return
        context = RoundContext(
            round=number,
            step=step,
            steps=self.config.train.steps,
            guidance_ceiling=ceiling,
            levels=self.config.sampling.levels,
        )
        # The thread names the weights too: a killed round is only continued on the policy it was begun with.
        thread = f"round-{number}-{fingerprint}"
        try:
            answer = self.tool.invoke({"context": context.model_dump(), "task_ids": task_ids, "thread": thread})
        finally:
            self.progress.move("evolve", "models", self.evolver.model_seconds())
        result = RoundResult.model_validate(answer)
        record = self._round(number, result)
        if self.hold is not None:
            on_record = {d.edit.id for known in self.memory.decisions.values() for d in known}
            result, record = self.hold.wait(step, thread, result, record, on_record)
        self._record(step, record, result)
        if self.hold is not None:
            self.hold.over()
        self.evolver.forget(thread)

    def _round(self, number: int, result: RoundResult) -> RoundRecord:
        return RoundRecord(
            round=number,
            task_ids=tuple(c.task_id for c in result.cases),
            attributions=tuple(c.attribution for c in result.cases if c.attribution),
            recalled={c.task_id: c.evidence_ids for c in result.cases},
            rollouts=self.rehearsal.rollouts,
            judged=self.rehearsal.judged,
            quality_calls=self.rehearsal.quality_calls,
            failures=dict(Counter(c.failure for c in result.cases if c.failure)),
        )

    def _record(self, step: int, record: RoundRecord, result: RoundResult) -> None:
        """Decisions, then the round, then the new harness version; the version comes last, so that no edit lacks its reason."""
        decisions = result.decisions
        self.memory.record(step, *decisions, record)
        for decision in decisions:
            self.progress.say(decision_line(decision))
        for reason, count in record.failures.items():
            if reason.startswith("evolver.budget"):
                self._say_spent(reason)
                continue
            self.progress.say(f"  evolver: {count} task(s) without an edit, {reason}")
        if result.entries:
            accepted = tuple(d.edit.id for d in decisions if d.outcome == "accepted")
            version = self.memory.harness.version + 1
            self.memory.record(step, HarnessRecord(version=version, edit_ids=accepted, entries=result.entries))

    def _say_spent(self, reason: str) -> None:
        if reason.split("=")[0] not in self._said:
            self._said.add(reason.split("=")[0])
            self.progress.say(f"  evolver: {reason}; training goes on without further edits")


def flag_tasks(memory: Memory, step: int, config: RunConfig) -> list[str]:
    """Tasks most in need, at most ``evolver.max_tasks``: visited since the last round, ranked by how much of their last visit is
    neither informative nor aligned, plus how much of that was lost since the visits before.

    A task with an edit whose gain has gone counts as one worse. A task whose edits were not accepted waits one more visit for each
    round in which that happened, so that rounds are not spent on the same hopeless cases.
    """
    since = step - config.evolver.every
    ranked = []
    for task_id, visits in sorted(memory.visits.items()):
        if visits[-1].step < since or visits[-1].shares.pairs == 0 or memory.harness.of(memory.tasks[task_id]).level == 0:
            continue
        faded = bool(memory.faded(task_id))
        if not faded and not rested(visits, memory.decisions.get(task_id, ())):
            continue
        ranked.append((-need(visits, config.evolver.window) - faded, task_id))
    return [task_id for _, task_id in sorted(ranked)[: config.evolver.max_tasks]]


def need(visits: Sequence[Visit], window: int) -> float:
    """In [0, 2]: the share of the last visit that does not agree, plus its rise over the mean of the window before."""
    now = visits[-1].shares.agree
    earlier = [v.shares.agree for v in visits[-1 - window : -1]]
    lost = max(0.0, sum(earlier) / len(earlier) - now) if earlier else 0.0
    return 1.0 - now + lost


def rested(visits: Sequence[Visit], decisions: Sequence[Decision]) -> bool:
    """Whether the task has been visited often enough since its last edits were measured."""
    if not decisions:
        return True
    accepted_rounds = {d.round for d in decisions if d.outcome == "accepted"}
    in_vain = 0
    for number in sorted({d.round for d in decisions}, reverse=True):
        if number in accepted_rounds:
            break
        in_vain += 1
    visits_since = sum(v.step >= decisions[-1].step for v in visits)
    return visits_since > in_vain


def decision_line(decision: Decision) -> str:
    edit = decision.edit
    mark = {"accepted": "+", "rejected": "-", "inconclusive": "?"}[decision.outcome]
    return f"  {mark} {edit.interface} {edit.operation.op} on {edit.task_id} ({edit.proposer}): {decision.sentence}"

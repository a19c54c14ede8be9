"""The hold (``evolver.approval: human``): edits that the critic accepted wait for a person before they are applied.

It stands between the evolver's result and its record. What waits is in ``waiting.json``; answers come through ``inbox.jsonl``
(``memory.approval``). The policy stays frozen and the round open meanwhile. Only an accepted edit waits, so a person can turn an
acceptance into a rejection, and never the other way: no measurement, no change. What nobody answers before ``evolver.approval_timeout``
falls to ``evolver.approval_default``.

Nothing is recorded before the wait is over. A run that is killed in it comes back to the same round, finds the evolver's result among
its checkpoints, measures nothing again, reads the inbox from its beginning and waits anew.
"""

import time
from collections.abc import Callable, Collection
from typing import NoReturn

from agents.case import Case, RoundResult
from agents.config import EvolverConfig
from memory.approval import PHASE, Waiting, digest, read_inbox, read_waiting, settled, write_waiting
from memory.decision import Approval, Decision
from memory.errors import RunDirError, RunStop
from memory.journal import RoundRecord
from memory.rundir import RunDir
from training.loop.progress import Progress

POLL = 2.0
"""Seconds between two looks into the inbox, which are signs of life too."""


class Unanswered(RunStop):
    """The run was asked to stop while edits wait for a person."""


class Hold:
    """One per run, on the rank that owns the run directory.

    Args:
        stop: whether a person has asked the run to stop.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        config: EvolverConfig,
        run: RunDir,
        progress: Progress,
        stop: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self.config = config
        self.run = run
        self.progress = progress
        self.stop = stop
        self.clock = clock
        self.sleep = sleep
        self._warned = False

    def wait(
        self, step: int, thread: str, result: RoundResult, record: RoundRecord, on_record: Collection[str]
    ) -> tuple[RoundResult, RoundRecord]:
        """The round as a person leaves it, and its record with what the round had cost before the run was last killed in the wait.

        Args:
            thread: names the round and the policy it was measured on.
            on_record: ids of the edits that were decided before; answers to them are old.

        Raises:
            Unanswered: a person asked the run to stop.
        """
        held = {d.edit.id: digest(d) for d in result.decisions if d.outcome == "accepted"}
        record = self._with_earlier_cost(thread, result, record)
        if not held:
            self.over()
            return result, record
        until = self.clock() + self.config.approval_timeout
        waiting = Waiting(
            step=step,
            thread=thread,
            until=until,
            default=self.config.approval_default,
            decisions=result.decisions,
            held=held,
            round=record,
        )
        write_waiting(self.run.waiting, waiting)
        reason = self._reason(waiting)
        self.progress.say(f"  {reason}; answer in the console, on the page Evolver")
        with self.progress.paused(reason, PHASE):
            approvals = self._answers(waiting, on_record)
        cases = tuple(self._answered(case, approvals) for case in result.cases)
        kept = {c.task_id for c in cases if c.accepted is not None}
        return RoundResult(cases=cases, entries={i: e for i, e in result.entries.items() if i in kept}), record

    def over(self) -> None:
        """Nothing waits any more: what came of it is on record."""
        self.run.waiting.unlink(missing_ok=True)

    def _with_earlier_cost(self, thread: str, result: RoundResult, record: RoundRecord) -> RoundRecord:
        """The rehearsal counts what this process did; a round that was measured by an earlier one has cost what that one wrote down."""
        try:
            before = read_waiting(self.run.waiting)
        except RunDirError:
            return record
        if before is None or before.thread != thread or before.decisions != result.decisions:
            return record
        names = ("rollouts", "judged", "quality_calls")
        return record.model_copy(update={n: getattr(record, n) + getattr(before.round, n) for n in names})

    def _reason(self, waiting: Waiting) -> str:
        count = len(waiting.held)
        edits, they_are = ("1 edit waits", "it is") if count == 1 else (f"{count} edits wait", "they are")
        return f"{edits} for a person until {waiting.deadline}; without an answer {they_are} {waiting.fate} (evolver.approval_default)"

    def _answers(self, waiting: Waiting, on_record: Collection[str]) -> dict[str, Approval]:
        """A word on every held edit, of a person or by default."""
        while True:
            # The clock first: an answer that is there when the time is up still counts.
            left = waiting.until - self.clock()
            answers, faults = read_inbox(self.run.inbox)
            odd = [a.edit_id for a in answers if a.edit_id not in waiting.held and a.edit_id not in on_record]
            self._warn([*faults, *(f"'{i}' is no edit that waits" for i in odd)])
            decided, notes = settled(waiting.held, answers)
            if decided.keys() == waiting.held.keys():
                return decided
            if left <= 0:
                granted = waiting.default == "accept"
                silent = {i: Approval(granted=granted, by="default", notes=notes.get(i, ())) for i in waiting.held}
                return silent | decided
            if self.stop():
                self._stop(len(waiting.held) - len(decided))
            self.sleep(min(left, POLL))
            self.progress.beat()

    def _stop(self, open_edits: int) -> NoReturn:
        raise Unanswered(
            f"the run was asked to stop while {open_edits} accepted edits wait for a person; none of the round is applied and nothing "
            "of it is lost: go on with --resume, which waits again"
        )

    def _warn(self, faults: list[str]) -> None:
        """Once per process: what stands in the inbox stays there."""
        if faults and not self._warned:
            self._warned = True
            more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
            self.progress.say(f"  {self.run.inbox.name}: {faults[0]}{more}; such lines are passed over")

    def _answered(self, case: Case, approvals: dict[str, Approval]) -> Case:
        """The case with what was said of its accepted edit on record."""
        if case.accepted is None:
            return case
        edit_id = case.accepted.id
        decisions = tuple(
            self._decided(d, approvals[edit_id]) if d.edit.id == edit_id and d.outcome == "accepted" else d
            for d in case.decisions
        )
        if approvals[edit_id].granted:
            return case.with_(decisions=decisions)
        return case.with_(decisions=decisions, accepted=None, status="given_up")

    def _decided(self, decision: Decision, approval: Approval) -> Decision:
        outcome = "accepted" if approval.granted else "rejected"
        words = spoken(decision.sentence, approval, self.config.approval_timeout)
        return decision.model_copy(update={"outcome": outcome, "sentence": words, "approval": approval})


def spoken(sentence: str, approval: Approval, seconds: float) -> str:
    """The decision's sentence with what was said after the critic's word, the last word first."""
    notes = f": {' / '.join(approval.notes)}" if approval.notes else ""
    if approval.by == "default":
        done = "Accepted" if approval.granted else "Rejected"
        said = f"{done} by default (evolver.approval_default), since nobody answered within {seconds:g} s"
    else:
        said = f"{'Approved' if approval.granted else 'Rejected'} by a person"
    return f"{said}{notes}{'' if notes.endswith(('.', '!', '?')) else '.'} The critic had said: {sentence}"

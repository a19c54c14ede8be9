"""What the critic rolls out for a candidate: the arms, and the sample they grow into."""

from dataclasses import dataclass, field

from memory.edit import Edit, RetireTask, SetLevel
from memory.harness import TaskHarness
from memory.task import Criterion, Noun
from memory.visit import PairOrder, Rollout


class Candidate(Noun):
    """An edit that passed every check without a rollout, with the entry before and after it."""

    edit: Edit
    before: TaskHarness
    after: TaskHarness


@dataclass(frozen=True)
class Arm:
    """Rollouts of one kind: which entry they are rolled out under, and in which of the two groups they count."""

    entry: TaskHarness
    guided: bool
    share: float
    in_before: bool
    in_after: bool


@dataclass
class Sample:
    """What has been rolled out for one candidate so far. ``before`` and ``after`` are graded copies of the same rollouts."""

    candidate: Candidate
    arms: list[Arm]
    strata: list[int] = field(default_factory=list)
    before: list[Rollout] = field(default_factory=list)
    after: list[Rollout] = field(default_factory=list)
    pairs: list[PairOrder] = field(default_factory=list)
    quality_calls: int = 0

    @property
    def is_level(self) -> bool:
        return isinstance(self.candidate.edit.operation, SetLevel | RetireTask)

    def rulers(self) -> tuple[tuple[Criterion, ...], tuple[Criterion, ...]]:
        """The criteria of the group before and after; they differ only where the criteria are what is edited."""
        before = self.candidate.before.rubric
        return before, self.candidate.after.rubric if self.candidate.edit.interface == "c" else before


def arms_of(candidate: Candidate) -> list[Arm]:
    """Which rollouts a candidate needs; see ``agents.critic``."""
    edit, before, after = candidate.edit, candidate.before, candidate.after
    if edit.interface == "g":
        return [
            Arm(before, guided=False, share=0.5, in_before=True, in_after=True),
            Arm(before, guided=bool(before.guidance), share=0.5, in_before=True, in_after=False),
            Arm(after, guided=bool(after.guidance), share=0.5, in_before=False, in_after=True),
        ]
    if edit.operation.op == "rewrite_task":
        return [
            Arm(before, guided=False, share=1.0, in_before=True, in_after=False),
            Arm(after, guided=False, share=1.0, in_before=False, in_after=True),
        ]
    if edit.interface == "c" and before.guidance:
        return [Arm(before, guided=g, share=0.5, in_before=True, in_after=True) for g in (False, True)]
    return [Arm(before, guided=False, share=1.0, in_before=True, in_after=True)]

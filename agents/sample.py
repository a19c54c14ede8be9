"""What the critic rolls out for a candidate: the arms, and the sample they grow into."""

from dataclasses import dataclass, field

from memory.edit import Edit, RetireTask, SetLevel
from memory.harness import TaskHarness
from memory.pairs import Orders
from memory.task import Criterion, Message, Noun
from memory.visit import Rollout


class GuardTask(Noun):
    """A task that an edit of another one could hurt, with its entry as it is."""

    task_id: str
    entry: TaskHarness


class Candidate(Noun):
    """An edit that passed every check without a rollout, with the entry before and after it.

    ``window`` holds graded plain rollouts of the task's recent visits, which must not contradict a level change; ``guard_tasks`` are tasks
    on which an edit that teaches something new must do no harm.
    """

    edit: Edit
    before: TaskHarness
    after: TaskHarness
    window: tuple[Rollout, ...] = ()
    guard_tasks: tuple[GuardTask, ...] = ()

    @property
    def is_level(self) -> bool:
        return isinstance(self.edit.operation, SetLevel | RetireTask)


Source = tuple[str, tuple[Message, ...], tuple[str, ...]]
"""What decides about a rollout: task id, messages, and the texts of the guidance that is shown. Criteria do not."""


@dataclass(frozen=True)
class Arm:
    """Rollouts of one kind: which entry they are rolled out under, and in which of the two groups they count."""

    entry: TaskHarness
    guided: bool
    share: float
    in_before: bool
    in_after: bool

    def count(self, size: int) -> int:
        """Rollouts of this arm in a group of ``size``."""
        return max(2, round(size * self.share))

    def source(self, task_id: str) -> Source:
        shown = tuple(f.text for f in self.entry.guidance) if self.guided else ()
        return task_id, self.entry.messages, shown


@dataclass
class Sample:
    """What has been rolled out for one candidate so far: per rollout its arm, and copies graded by the criteria before the edit and
    by those after it."""

    candidate: Candidate
    arms: list[Arm]
    strata: list[int] = field(default_factory=list)
    before: list[Rollout] = field(default_factory=list)
    after: list[Rollout] = field(default_factory=list)
    pairs: Orders = field(default_factory=lambda: Orders.told((), ()))
    quality_calls: int = 0
    p_value: float = 1.0
    """Of the gain over all looks so far; see ``agents.acceptance``."""
    further_rollouts: int = 0
    """Spent on guard tasks."""

    @property
    def task_id(self) -> str:
        return self.candidate.edit.task_id

    def rulers(self) -> tuple[tuple[Criterion, ...], tuple[Criterion, ...]]:
        """The criteria before and after the edit. They differ for criteria edits, and where criteria operations ride along."""
        return self.candidate.before.rubric, self.candidate.after.rubric

    def inside(self, after: bool) -> list[bool]:
        """Which rollouts belong to the group after the edit, or before it."""
        return [self.arms[s].in_after if after else self.arms[s].in_before for s in self.strata]


def arms_of(candidate: Candidate, guided_share: float = 0.5) -> list[Arm]:
    """Which rollouts a candidate needs; see ``agents.critic``. ``guided_share`` of a group with guidance is shown it."""
    edit, before, after = candidate.edit, candidate.before, candidate.after
    if edit.interface == "g":
        return [
            Arm(before, guided=False, share=1 - guided_share, in_before=True, in_after=True),
            Arm(before, guided=bool(before.guidance), share=guided_share, in_before=True, in_after=False),
            Arm(after, guided=bool(after.guidance), share=guided_share, in_before=False, in_after=True),
        ]
    if edit.operation.op == "rewrite_task":
        return [
            Arm(before, guided=False, share=1.0, in_before=True, in_after=False),
            Arm(after, guided=False, share=1.0, in_before=False, in_after=True),
        ]
    if edit.interface == "c" and before.guidance:
        shares = {False: 1 - guided_share, True: guided_share}
        return [Arm(before, guided=g, share=share, in_before=True, in_after=True) for g, share in shares.items()]
    return [Arm(before, guided=False, share=1.0, in_before=True, in_after=True)]

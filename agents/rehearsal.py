"""What the critic needs of the policy and the reward: the protocol ``Rehearsal``, which ``training`` implements."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from memory.harness import TaskHarness
from memory.pairs import Orders
from memory.task import Criterion, Noun
from memory.visit import Rollout, Sign


class RolloutRequest(Noun):
    """``count`` fresh rollouts of a task under a harness entry, with its guidance mounted or without."""

    task_id: str
    entry: TaskHarness
    guided: bool
    count: int


class GradeRequest(Noun):
    """Rollouts of a task, judged under a rubric."""

    task_id: str
    rubric: tuple[Criterion, ...]
    rollouts: tuple[Rollout, ...]


class OrderRequest(NamedTuple):
    """Pairs of rollouts of a task, by position, to be ordered by Q."""

    task_id: str
    rollouts: Sequence[Rollout]
    pairs: Sequence[tuple[int, int]]


class Rehearsal(Protocol):
    """The frozen policy and the reward, for measuring. Each method takes a whole look at once, so that generation and
    judging are batched; each leaves weights, optimiser and the random streams of training untouched."""

    quality_source: str
    """``off`` where there is no Q."""

    def roll_out(self, tag: str, requests: Sequence[RolloutRequest]) -> list[tuple[Rollout, ...]]:
        """Fresh, unscored rollouts per request. The same ``tag`` and requests give the same rollouts for the same policy."""
        ...

    def grade(self, requests: Sequence[GradeRequest]) -> list[tuple[Rollout, ...]]:
        """The rollouts with verdicts and score under the rubric asked for."""
        ...

    def signs(self, requests: Sequence[GradeRequest]) -> list[dict[str, Sign]]:
        """Signs of reward hacking per group of graded rollouts, by name; those the rollouts are too few for are absent."""
        ...

    def order(self, requests: Sequence[OrderRequest]) -> list[Orders]:
        """Q per request; pairs that Q could not score are left out. With Q off all stay, without an order."""
        ...

"""What a group of rollouts showed: rollouts, pair classes and the visit."""

from typing import Literal

from pydantic import Field

from memory.task import Noun, Verdict


class Rollout(Noun):
    """One response of the policy to one task.

    ``guidance`` is the text that was mounted, None for a plain rollout. ``tokens`` counts what the policy wrote;
    ``clipped`` says that the length cap ended it. ``score`` is S in [0, 1], None when unscored.
    """

    id: str
    task_id: str
    text: str
    tokens: int
    clipped: bool = False
    guidance: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    score: float | None = None


class PairShares(Noun):
    """Shares of the four pair classes. They sum to 1 when ``pairs`` > 0; all are 0 when no pair could be compared.

    ``pairs`` is the denominator: scored criterion pairs, each weighted by |points| over the rubric's sum of |points|.
    """

    blind: float = 0.0
    saturated: float = 0.0
    spurious: float = 0.0
    agree: float = 0.0
    pairs: float = 0.0

    @property
    def informative(self) -> float:
        return self.spurious + self.agree

    @property
    def alignment(self) -> float | None:
        """agree / informative; None when nothing separates."""
        return self.agree / self.informative if self.informative > 0 else None


class PairOrder(Noun):
    """Q on one pair of rollouts of a group, by position: 1 the first is better, -1 the second, 0 a tie.

    None: Q is switched off, so nothing can contradict a criterion that separates the pair.
    """

    first: int
    second: int
    order: Literal[-1, 0, 1] | None


class CriterionHealth(Noun):
    """Of one criterion in one group: share of scored rollouts that pass it, and its pair classes."""

    criterion_id: str
    pass_rate: float | None
    unscored: int
    shares: PairShares


class Sign(Noun):
    """A sign of reward hacking: its value, and the threshold from which on it is one."""

    value: float
    threshold: float

    @property
    def shows(self) -> bool:
        return self.value >= self.threshold


class Visit(Noun):
    """What one group showed at one step. Rollouts are held by reference (``rollouts/``), numbers in full.

    ``signs`` of reward hacking are by name, see ``training.reward.signals``; those the data are too few for are absent.
    """

    id: str
    step: int
    task_id: str
    domain: str
    harness_version: int
    level: float
    rollout_ids: tuple[str, ...]
    guided: tuple[bool, ...]
    guidance_ids: tuple[str, ...]
    scores: tuple[float | None, ...]
    lengths: tuple[int, ...]
    clipped: int
    shares: PairShares
    criteria: tuple[CriterionHealth, ...]
    quality: tuple[PairOrder, ...]
    signs: dict[str, Sign] = Field(default_factory=dict)

    @property
    def scored(self) -> list[float]:
        return [s for s in self.scores if s is not None]

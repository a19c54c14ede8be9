"""Acceptance strategies: how strong the evidence for an edit must be, when several are measured together.

``round``, the default, controls the false-acceptance rate of a round: of the edits that a round accepts, at most ``alpha`` are
expected to be no improvement. The error rate ``alpha`` of a round is split over its passes (the first candidates, then each
revision) and, within a pass, over the looks by a spending function (``spent``). At each look the candidates of the pass are a
family for the step-up procedure of Benjamini and Hochberg (1995): the i-th smallest of m p-values must stay under i/m of the look's
part. m counts all candidates the pass began with, also those already decided, so that dropping the hopeless ones makes nothing
easier for the rest; the false shares of passes and looks add up to at most ``alpha`` since V/R <= sum of V_k/R_k. The procedure
assumes independence or positive dependence, which candidates of one task that share rollouts have (Benjamini and Yekutieli 2001).
No single edit is held to less than its look's part, so the error rate of one decision is at most ``alpha`` as well.

The others exist to be compared with: ``each`` holds every edit to its look's part by itself, ``mean`` takes any edit whose measured
gain is large enough, noise or not, and ``opinion`` measures nothing and believes the proposer.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

AcceptanceName = Literal["round", "each", "mean", "opinion"]
SPENDING_POWER = 2.0
"""Exponent of the power family of spending functions (Kim and DeMets 1987): little is spent on the first look, where few
rollouts could show much, and most on the last."""


class Acceptance(Protocol):
    measures: bool
    """False: edits are taken unmeasured."""

    def needed(self, p_values: Sequence[float], family: int, level: float) -> list[float]:
        """What each p-value must not exceed.

        Args:
            family: candidates that the pass began with, at least ``len(p_values)``.
            level: the look's part of the error rate.
        """
        ...


class RoundControlled:
    measures = True

    def needed(self, p_values: Sequence[float], family: int, level: float) -> list[float]:
        ranked = sorted(p_values)
        reached = [i for i, p in enumerate(ranked, 1) if p <= level * i / family]
        return [level * max(reached, default=1) / family] * len(p_values)


class EachAlone:
    measures = True

    def needed(self, p_values: Sequence[float], family: int, level: float) -> list[float]:
        return [level] * len(p_values)


class MeanOnly:
    measures = True

    def needed(self, p_values: Sequence[float], family: int, level: float) -> list[float]:
        return [1.0] * len(p_values)


class OpinionOnly:
    measures = False

    def needed(self, p_values: Sequence[float], family: int, level: float) -> list[float]:
        return [1.0] * len(p_values)


ACCEPTANCES: dict[AcceptanceName, type[Acceptance]] = {
    "round": RoundControlled,
    "each": EachAlone,
    "mean": MeanOnly,
    "opinion": OpinionOnly,
}


def spent(looks: Sequence[int]) -> list[float]:
    """The part of a pass's error rate that each look spends, for looks at these numbers of rollouts; the parts sum to 1."""
    reached = [(n / looks[-1]) ** SPENDING_POWER for n in looks]
    return [now - before for before, now in zip([0.0, *reached], reached, strict=False)]

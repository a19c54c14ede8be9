"""Acceptance strategies: how strong the evidence for an edit must be, when several are measured together.

``round``, the default, controls the false-acceptance rate of a round: of the edits that a round accepts, at most ``alpha`` are
expected to be no improvement. Each candidate has one p-value over all its looks: the least, over the looks so far, of the look's
p-value divided by its part of a spending function (``spent``). By Bonferroni's inequality it is valid whenever one stops, whatever the
looks owe to each other. The candidates of a pass are a family for the step-up procedure of Benjamini and Hochberg (1995): the i-th
smallest of their m p-values must not exceed i/m of the pass's part of ``alpha``. Decided candidates stay in the family, rejected
ones with p = 1, so that dropping the hopeless makes nothing easier for the rest. A round's ``alpha`` is split evenly over its passes
(the first candidates, then each revision); the false shares of the passes add up to at most ``alpha``, since V/R <= sum of V_k/R_k.
The procedure assumes independence or positive dependence, which candidates of one task that share rollouts have (Benjamini and
Yekutieli 2001). No edit is held to less than its pass's part, so the error rate of one decision is at most that as well.

The others exist to be compared with: ``each`` holds every edit to the pass's part by itself, ``mean`` takes any edit whose measured
gain is large enough, noise or not, and ``opinion`` measures nothing and believes the proposer.
"""

import math
from collections.abc import Sequence
from typing import Literal, Protocol

AcceptanceName = Literal["round", "each", "mean", "opinion"]
SPENDING_POWER = 2.0
"""Exponent of the power family of spending functions (Kim and DeMets 1987): little is spent on the first look, where few
rollouts could show much, and most on the last."""


class Acceptance(Protocol):
    measures: bool
    """False: edits are taken unmeasured."""

    def needed(self, p_values: Sequence[float], level: float) -> float:
        """What a p-value must not exceed, given those of the whole family and the error rate of the pass."""
        ...


class RoundControlled:
    measures = True

    def needed(self, p_values: Sequence[float], level: float) -> float:
        family = len(p_values)
        reached = [i for i, p in enumerate(sorted(p_values), 1) if p <= level * i / family]
        return level * max(reached, default=1) / family


class EachAlone:
    measures = True

    def needed(self, p_values: Sequence[float], level: float) -> float:
        return level


class MeanOnly:
    measures = True

    def needed(self, p_values: Sequence[float], level: float) -> float:
        return math.inf


class OpinionOnly:
    measures = False

    def needed(self, p_values: Sequence[float], level: float) -> float:
        return math.inf


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

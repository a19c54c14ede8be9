"""The critic's arithmetic: how uncertain a difference between groups is, and how informative a group can be.

Class shares are statistics of pairs, and the pairs of a group share rollouts, so pairs are not independent: rollouts are
(U-statistics; Hoeffding 1948). The error of such a difference is estimated by the jackknife over rollouts, each left out in turn
within its stratum (Arvesen 1969), and the difference over its error is held against Student's t with Satterthwaite's degrees of
freedom (1946). It is deterministic, costs one evaluation per rollout, and unlike the percentile bootstrap keeps its error rate with
a dozen rollouts; ``benchmarks/critic.py`` measures it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtr, stdtrit

from memory.decision import Interval
from memory.pairs import Orders

DRAWS = 20000
"""Draws of a posterior behind a probability, enough to tell one of a few ten-thousandths."""

OFFSET = 997
"""By how many draws those of one criterion are shifted against those of the one before: each value alone is drawn independently."""

LARGEST = 2.0
"""No difference of shares, or of agreements in [-1, 1], is larger: the end of the interval of what is not known at all."""

HALF = 0.5
"""Rollouts within which a share is not known, as in a continuity correction: a group whose rollouts are all alike is not certain."""


@dataclass(frozen=True)
class Estimate:
    """A difference with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float

    def p_value(self) -> float:
        """Chance of a difference at least this large where there is none."""
        return float(stdtr(self.freedom, -self.value / self.error))

    def band(self, p: float) -> float:
        """The difference that chance alone exceeds with probability ``p`` < 1/2, at most ``LARGEST``."""
        return min(LARGEST, float(-stdtrit(self.freedom, p)) * self.error)

    def interval(self, tail: float) -> Interval:
        """Two-sided interval that leaves ``tail`` out on each side."""
        half = self.band(tail)
        low, high = max(-LARGEST, self.value - half), min(LARGEST, self.value + half)
        return Interval(estimate=self.value, low=low, high=high, level=1 - 2 * tail)


UNKNOWN = Estimate(value=0.0, error=np.inf, freedom=1.0)
"""What is to be said of a difference where nothing can be compared."""


def left_out(size: int) -> np.ndarray:
    """Weights of ``size`` rollouts, shape (1 + size, size): in the first row all count, then each is left out in turn."""
    return np.vstack([np.ones(size), 1 - np.eye(size)])


def left_out_of(pairs: Orders, size: int) -> np.ndarray:
    """Weights of pairs of ``size`` rollouts, shape (1 + size, pairs): all count, then those of each rollout are left out in turn."""
    weights, places = np.ones((1 + size, len(pairs))), np.arange(len(pairs))
    weights[1 + pairs.first, places] = weights[1 + pairs.second, places] = 0.0
    return weights


def jackknife(values: np.ndarray, strata: Sequence[int], counts: np.ndarray | None = None) -> Estimate:
    """A statistic with its error.

    Args:
        values: of the statistic, shape (1 + rollouts,), of all rollouts and then without each in turn, see ``left_out``; NaN where
            nothing can be compared.
        strata: the stratum of each rollout; rollouts are exchangeable within it.
        counts: which rollouts take part in the statistic, see ``taking_part``; None is all. The others, unscored ones say, make
            nothing more certain. A statistic that hangs on a single rollout, or on the only one of a stratum, has no known error.
    """
    whole, without, groups = float(values[0]), values[1:], np.asarray(strata)
    if np.isnan(whole):
        return UNKNOWN
    if counts is not None:
        without, groups = without[counts], groups[counts]
    sizes = np.bincount(groups)
    if np.isnan(without).any() or (sizes == 1).any():
        return Estimate(value=whole, error=np.inf, freedom=1.0)
    means = np.bincount(groups, without) / np.maximum(sizes, 1)
    squares = np.bincount(groups, (without - means[groups]) ** 2)
    own = (sizes - 1) / np.maximum(sizes, 1) * squares
    variance, spread = float(own.sum()), float((own**2 / (sizes - 1)).sum())
    freedom = variance**2 / spread if spread > 0 else float(max(1, len(groups) - 1))
    return Estimate(value=whole, error=max(variance**0.5, HALF / len(groups)), freedom=freedom)


def taking_part(size: int, pairs: Orders, mass: np.ndarray | None = None) -> np.ndarray:
    """Which of ``size`` rollouts are in a pair, one with any ``mass``, shape (pairs,), where that is given."""
    found = np.zeros(size, dtype=bool)
    for ends in (pairs.first, pairs.second):
        found[ends if mass is None else ends[mass > 0]] = True
    return found


def scored_pairs(pairs: Orders, *scores: np.ndarray) -> Orders:
    """The pairs of which all ``scores``, shape (rollouts,) with NaN for unscored, know both sides."""
    known = ~np.isnan(np.vstack(scores)).any(axis=0)
    return pairs.only(known[pairs.first] & known[pairs.second])


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean of ``values``, shape (pairs,), under each row of ``weights``, shape (n, pairs); NaN where nothing has weight."""
    mass = weights.sum(axis=1)
    return np.divide(weights @ values, mass, out=np.full(len(mass), np.nan), where=mass > 0)


def concordance(scores: np.ndarray, pairs: Orders) -> np.ndarray:
    """Whether scores and Q order each pair alike, shape (pairs,): 1 alike, -1 the other way round, 0 where either ties. Its weighted
    mean is a Kendall-like agreement in [-1, 1]. No score may be NaN."""
    return np.sign(scores[pairs.first] - scores[pairs.second]) * pairs.order


def mean_over_pairs(values: np.ndarray, pairs: Orders, size: int, strata: Sequence[int]) -> Estimate:
    """The mean of ``values``, shape (pairs,), over pairs of ``size`` rollouts, with its error."""
    return jackknife(weighted_mean(values, left_out_of(pairs, size)), strata, taking_part(size, pairs))


def agreement(scores: np.ndarray, pairs: Orders, strata: Sequence[int]) -> Estimate:
    """The mean ``concordance`` of scores, shape (rollouts,), none of them NaN in a pair, with its error."""
    return mean_over_pairs(concordance(scores, pairs), pairs, len(scores), strata)


def agreement_lost(old: np.ndarray, new: np.ndarray, pairs: Orders, strata: Sequence[int]) -> Estimate:
    """How much less ``new`` scores agree with Q than ``old`` ones of the same rollouts, shape (rollouts,) with NaN for unscored, over
    the pairs that both know."""
    known = scored_pairs(pairs, old, new)
    return mean_over_pairs(concordance(old, known) - concordance(new, known), known, len(old), strata)


def informative_posterior(passes: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """How informative a group is: the expected share of separated pairs, sum_k w_k 2 p_k (1 - p_k), with ``DRAWS`` draws of it.

    The pass rate p_k of each criterion is drawn from its Jeffreys posterior, Beta(passed + 1/2, failed + 1/2), criteria taken as
    independent (Brown, Cai and DasGupta 2001); the estimate is at its mean. An estimate from the observed rates would call a
    group in which nothing separated certainly flat. Equal counts give equal draws.

    Args:
        passes: ``memory.pairs.pass_matrix``, shape (rollouts, criteria).
        weights: of the criteria, shape (criteria,); they sum to 1.
    """
    estimate, draws = 0.0, np.zeros(DRAWS)
    for k, weight in enumerate(weights):
        scored = passes[~np.isnan(passes[:, k]), k]
        passed = int(scored.sum())
        counts = sorted((passed, len(scored) - passed))  # p (1 - p) is the same for passed and failed exchanged
        draws += weight * np.roll(_separated(*counts), OFFSET * k)  # independent of those of a criterion with the same counts
        rate = (passed + 0.5) / (len(scored) + 1)
        estimate += weight * 2 * rate * (1 - rate)
    return float(estimate), draws


@lru_cache(maxsize=512)
def _separated(fewer: int, more: int) -> np.ndarray:
    """Draws of the share of pairs that a criterion separates which so many rollouts pass or fail."""
    rates = np.random.default_rng((fewer, more)).beta(fewer + 0.5, more + 0.5, size=DRAWS)
    return 2 * rates * (1 - rates)

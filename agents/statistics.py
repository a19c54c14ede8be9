"""The critic's arithmetic: paired bootstrap over rollouts, and a bound on how informative a group can be.

Rollouts, not pairs, are resampled, since the pairs of a group share rollouts and are not independent (two-sample U-statistics;
Efron and Tibshirani 1993, chapter 8). Resampling keeps each stratum (plain, guided before, guided after) at its size.
"""

from collections.abc import Sequence

import numpy as np

from memory.decision import Interval
from memory.pairs import class_tensor, shares_of
from memory.visit import PairOrder


def resample_counts(strata: Sequence[int], resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each rollout is drawn in each resample, shape (resamples, rollouts); drawn within its stratum."""
    strata_array = np.asarray(strata)
    counts = np.zeros((resamples, len(strata_array)))
    for stratum in np.unique(strata_array):
        members = np.flatnonzero(strata_array == stratum)
        counts[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), size=resamples)
    return counts


def pair_counts(counts: np.ndarray, pairs: Sequence[PairOrder]) -> np.ndarray:
    """Weight of each pair in each resample, shape (resamples, pairs)."""
    first, second = [p.first for p in pairs], [p.second for p in pairs]
    return counts[:, first] * counts[:, second]


def share_samples(
    passes: np.ndarray, weights: np.ndarray, pairs: Sequence[PairOrder], counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Class shares as estimated, shape (4,), and in each resample, shape (resamples, 4)."""
    classes = class_tensor(passes, pairs)
    return shares_of(classes, weights), shares_of(classes, weights, pair_counts(counts, pairs))


def rank_agreement(scores: np.ndarray, pairs: Sequence[PairOrder], counts: np.ndarray) -> tuple[float, np.ndarray]:
    """Kendall-like agreement of the total score with Q over all pairs, in [-1, 1]: as estimated and per resample."""
    first, second = scores[[p.first for p in pairs]], scores[[p.second for p in pairs]]
    order = np.array([p.order for p in pairs])
    agreement = np.nan_to_num(np.sign(first - second)) * order
    weights = pair_counts(counts, pairs)
    mass = weights.sum(axis=1)
    sampled = np.divide(weights @ agreement, mass, out=np.full(len(mass), np.nan), where=mass > 0)
    return float(agreement.mean()) if len(agreement) else 0.0, sampled


def interval(estimate: float, sampled: np.ndarray, level: float) -> Interval:
    """Percentile bootstrap interval at ``level`` (Efron and Tibshirani 1993, chapter 13).

    A resample without any comparable pair is left out; with none left the interval spans everything.
    """
    sampled = sampled[~np.isnan(sampled)]
    if len(sampled) == 0 or np.isnan(estimate):
        return Interval(estimate=0.0, low=-1.0, high=1.0, level=level)
    tail = (1 - level) / 2
    low, high = np.quantile(sampled, [tail, 1 - tail])
    return Interval(estimate=float(estimate), low=float(low), high=float(high), level=level)


def informative_interval(
    passes: np.ndarray, weights: np.ndarray, level: float, resamples: int, rng: np.random.Generator
) -> Interval:
    """How informative a group is: the expected share of separated pairs, sum_k w_k 2 p_k (1 - p_k), with an interval.

    The pass rate p_k of each criterion is drawn from its Jeffreys posterior, Beta(passed + 1/2, failed + 1/2), criteria taken as
    independent (Brown, Cai and DasGupta 2001); the estimate is at its mean. A bootstrap would call a group in which nothing separated certainly flat.
    """
    estimate, sampled = 0.0, np.zeros(resamples)
    for k, weight in enumerate(weights):
        scored = passes[~np.isnan(passes[:, k]), k]
        passed = scored.sum()
        rates = rng.beta(passed + 0.5, len(scored) - passed + 0.5, size=resamples)
        sampled += weight * 2 * rates * (1 - rates)
        rate = (passed + 0.5) / (len(scored) + 1)
        estimate += weight * 2 * rate * (1 - rate)
    tail = (1 - level) / 2
    low, high = np.quantile(sampled, [tail, 1 - tail])
    return Interval(estimate=float(estimate), low=float(low), high=float(high), level=level)

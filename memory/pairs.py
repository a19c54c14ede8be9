"""Pair classes: what each criterion says of each pair of a group, set against the quality order Q.

Per criterion and pair of scored rollouts: *blind* (both fail), *saturated* (both pass), *spurious* (the criterion separates
the pair, Q ties or disagrees), *agree* (it separates and Q agrees, or Q is off). Shares are weighted by |points| and sum to 1.
The arithmetic is vectorised over weightings of the pairs, since the critic asks for the same numbers once per rollout left out.
"""

from collections.abc import Sequence

import numpy as np

from memory.task import Criterion
from memory.visit import CriterionHealth, PairOrder, PairShares, Rollout, Visit

CLASSES = ("blind", "saturated", "spurious", "agree")


def pass_matrix(rollouts: Sequence[Rollout], rubric: Sequence[Criterion]) -> np.ndarray:
    """Which rollout passes which criterion, shape (rollouts, criteria): 1 passes, 0 fails, NaN unscored.

    All verdicts of a rollout without a score are NaN: an unscored rollout takes no part in pair statistics.
    """
    matrix = np.full((len(rollouts), len(rubric)), np.nan)
    for i, rollout in enumerate(rollouts):
        if rollout.score is None:
            continue
        verdicts = {v.criterion_id: v for v in rollout.verdicts}
        for k, criterion in enumerate(rubric):
            verdict = verdicts.get(criterion.id)
            passed = verdict.passes(criterion) if verdict else None
            if passed is not None:
                matrix[i, k] = float(passed)
    return matrix


def class_tensor(passes: np.ndarray, pairs: Sequence[PairOrder]) -> np.ndarray:
    """Class indicator per pair, criterion and class, shape (pairs, criteria, 4); all zero where either side is unscored."""
    if not pairs:
        return np.zeros((0, passes.shape[1], 4))
    first, second = passes[[p.first for p in pairs]], passes[[p.second for p in pairs]]
    order = np.array([np.nan if p.order is None else p.order for p in pairs])[:, None]
    scored = ~(np.isnan(first) | np.isnan(second))
    separates = scored & (first != second)
    agrees = separates & (np.isnan(order) | (np.where(first > second, 1, -1) == order))
    return np.stack(
        [scored & (first + second == 0), scored & (first + second == 2), separates & ~agrees, agrees], axis=-1
    ).astype(float)


def points_weights(rubric: Sequence[Criterion]) -> np.ndarray:
    """|points| of each criterion as a share of the rubric's sum."""
    points = np.array([abs(c.points) for c in rubric])
    points = points / points.max()  # so that sums of very large points stay finite
    return points / points.sum()


def shares_of(classes: np.ndarray, weights: np.ndarray, pair_weights: np.ndarray | None = None) -> np.ndarray:
    """Class shares, shape (4,) or (n, 4) for ``pair_weights`` of shape (n, pairs). NaN without any pair."""
    per_pair = np.einsum("pkc,k->pc", classes, weights)
    totals = per_pair.sum(axis=0) if pair_weights is None else pair_weights @ per_pair
    mass = totals.sum(axis=-1, keepdims=True)
    return np.divide(totals, mass, out=np.full_like(totals, np.nan), where=mass > 0)


def pair_shares(classes: np.ndarray, weights: np.ndarray) -> PairShares:
    mass = float(np.einsum("pkc,k->", classes, weights))
    if mass == 0:
        return PairShares()
    return PairShares(**dict(zip(CLASSES, shares_of(classes, weights).tolist(), strict=True)), pairs=mass)


def group_shares(
    rollouts: Sequence[Rollout], rubric: Sequence[Criterion], pairs: Sequence[PairOrder]
) -> tuple[PairShares, tuple[CriterionHealth, ...]]:
    """The shares of a group over all criteria, and the health of each criterion."""
    passes = pass_matrix(rollouts, rubric)
    classes = class_tensor(passes, pairs)
    health = []
    for k, criterion in enumerate(rubric):
        scored = passes[~np.isnan(passes[:, k]), k]
        health.append(
            CriterionHealth(
                criterion_id=criterion.id,
                pass_rate=float(scored.mean()) if len(scored) else None,
                unscored=len(rollouts) - len(scored),
                shares=pair_shares(classes[:, k : k + 1], np.ones(1)),
            )
        )
    return pair_shares(classes, points_weights(rubric)), tuple(health)


def mean_shares(visits: Sequence[Visit]) -> dict[str, float]:
    """Class shares over several visits, weighted by their pairs; empty without any pair."""
    pairs = sum(v.shares.pairs for v in visits)
    return {name: sum(getattr(v.shares, name) * v.shares.pairs for v in visits) / pairs for name in CLASSES} if pairs else {}

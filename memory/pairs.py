"""Pair classes: what each criterion says of each pair of a group, set against the quality order Q.

Per criterion and pair of scored rollouts: *blind* (both fail), *saturated* (both pass), *spurious* (the criterion separates
the pair, Q ties or disagrees), *agree* (it separates and Q agrees, or Q is off). Shares are weighted by |points| and sum to 1.
The arithmetic is vectorised over weightings of the pairs, since the critic asks for the same numbers once per rollout left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.task import Criterion
from memory.visit import CriterionHealth, PairOrder, PairShares, Rollout, Visit

CLASSES = ("blind", "saturated", "spurious", "agree")


@dataclass(frozen=True, eq=False)
class Orders:
    """Pairs as arrays, each of shape (pairs,): positions of their rollouts, and what Q says, NaN where Q is off."""

    first: np.ndarray
    second: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[PairOrder]) -> "Orders":
        return cls.told([(p.first, p.second) for p in pairs], [np.nan if p.order is None else p.order for p in pairs])

    @classmethod
    def told(cls, pairs: Sequence[tuple[int, int]], answers: Sequence[float | None]) -> "Orders":
        """Pairs with what Q said of each. Those it could not score, None, are left out."""
        known = [(i, j, answer) for (i, j), answer in zip(pairs, answers, strict=True) if answer is not None]
        first, second, order = zip(*known, strict=True) if known else ((), (), ())
        return cls(np.array(first, dtype=np.intp), np.array(second, dtype=np.intp), np.array(order, dtype=float))

    def __len__(self) -> int:
        return len(self.order)

    def __add__(self, other: "Orders") -> "Orders":
        both = ((self.first, other.first), (self.second, other.second), (self.order, other.order))
        return Orders(*map(np.concatenate, both))

    def only(self, which: np.ndarray) -> "Orders":
        """The pairs for which ``which``, shape (pairs,), is true."""
        return Orders(self.first[which], self.second[which], self.order[which])


def pass_matrix(rollouts: Sequence[Rollout], rubric: Sequence[Criterion]) -> np.ndarray:
    """Which rollout passes which criterion, shape (rollouts, criteria): 1 passes, 0 fails, NaN unscored.

    All verdicts of a rollout without a score are NaN: an unscored rollout takes no part in pair statistics.
    """
    found = [{v.criterion_id: v for v in r.verdicts} if r.score is not None else {} for r in rollouts]
    passes = [[of[c.id].passes(c) if c.id in of else None for c in rubric] for of in found]
    return np.array(passes, dtype=float).reshape(len(rollouts), len(rubric))


def class_tensor(passes: np.ndarray, pairs: Orders) -> np.ndarray:
    """Class indicator per pair, criterion and class, shape (pairs, criteria, 4); all zero where either side is unscored."""
    first, second, order = passes[pairs.first], passes[pairs.second], pairs.order[:, None]
    both = first + second
    separates = both == 1
    agrees = separates & (np.isnan(order) | (first - second == order))
    classes = np.empty((*both.shape, 4))
    classes[..., 0], classes[..., 1], classes[..., 2], classes[..., 3] = both == 0, both == 2, separates & ~agrees, agrees
    return classes


def points_weights(rubric: Sequence[Criterion]) -> np.ndarray:
    """|points| of each criterion as a share of the rubric's sum."""
    points = np.array([abs(c.points) for c in rubric])
    points = points / points.max()  # so that sums of very large points stay finite
    return points / points.sum()


def weighted(classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What each pair counts in each class, shape (pairs, 4), with ``weights`` of the criteria, shape (criteria,)."""
    return np.einsum("pkc,k->pc", classes, weights)


def shares_of(counts: np.ndarray, pair_weights: np.ndarray) -> np.ndarray:
    """Class shares, shape (n, 4), of ``weighted`` classes, for ``pair_weights`` of shape (n, pairs). NaN without any pair."""
    totals = pair_weights @ counts
    mass = totals.sum(axis=-1, keepdims=True)
    return np.divide(totals, mass, out=np.full_like(totals, np.nan), where=mass > 0)


def shares_from(totals: np.ndarray) -> PairShares:
    """Shares from the pairs in each class, shape (4,)."""
    mass = float(totals.sum())
    return PairShares(**dict(zip(CLASSES, (totals / mass).tolist(), strict=True)), pairs=mass) if mass else PairShares()


def group_shares(
    rollouts: Sequence[Rollout], rubric: Sequence[Criterion], pairs: Sequence[PairOrder]
) -> tuple[PairShares, tuple[CriterionHealth, ...]]:
    """The shares of a group over all criteria, and the health of each criterion."""
    passes = pass_matrix(rollouts, rubric)
    classes = class_tensor(passes, Orders.of(pairs))
    scored, passed = (~np.isnan(passes)).sum(axis=0).tolist(), np.nansum(passes, axis=0).tolist()
    health = tuple(
        CriterionHealth(
            criterion_id=criterion.id,
            pass_rate=passed[k] / scored[k] if scored[k] else None,
            unscored=len(rollouts) - scored[k],
            shares=shares_from(totals),
        )
        for k, (criterion, totals) in enumerate(zip(rubric, classes.sum(axis=0), strict=True))
    )
    return shares_from(weighted(classes, points_weights(rubric)).sum(axis=0)), health


def mean_shares(visits: Sequence[Visit]) -> dict[str, float]:
    """Class shares over several visits, weighted by their pairs; empty without any pair."""
    pairs = sum(v.shares.pairs for v in visits)
    return {name: sum(getattr(v.shares, name) * v.shares.pairs for v in visits) / pairs for name in CLASSES} if pairs else {}

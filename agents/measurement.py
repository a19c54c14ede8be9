"""Reading a sample: the gain of an edit with its uncertainty, its guards, and the split of the score change.

By interface:

- **c** (criteria): the same fresh rollouts under the old and the new criteria. Quantity: *useful share* = agree - spurious.
- **g** (guidance): a group as training would roll it out, half plain and half guided, with the old and with the new guidance; the
  plain half is shared. Quantity: 1 - share of the claimed class over the claimed criteria, under the old criteria.
- **p** (task rewrite): fresh plain rollouts on both texts, same criteria, same quantity as g.
- **p** (level): fresh plain rollouts. Quantity: the distance of the informative share from ``flat_share``. The window's earlier visits
  must not contradict it; since the task was chosen by them, what they say for it is no evidence (`benchmarks.critic --only levels`).

Guards hold when the estimate of the harm is within ``guard_limit`` and its upper bound within ``guard_limit + GUARD_SLACK``, a test
of non-inferiority that asks for more rollouts where the harm is not known well. They are: the agree share; for criteria the rank
agreement of the score with Q; for guidance and task text the quality itself, as the share of pairs across the edit in which Q prefers
the old side, and the rank agreement too where criteria operations ride along; the unscored share, where a judge failed; and every sign
of reward hacking that shows after the edit and is stronger than before. Where less than ``LEAST_SCORED`` of a group is scored nothing is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agents.config import CriticConfig
from agents.sample import Sample
from agents.statistics import (
    UNKNOWN,
    Estimate,
    agreement,
    agreement_lost,
    informative_posterior,
    jackknife,
    left_out,
    left_out_of,
    taking_part,
)
from memory.decision import Guard, Interval, ScoreChange
from memory.pairs import CLASSES, class_tensor, pass_matrix, points_weights, shares_from, shares_of, weighted
from memory.visit import PairShares, Rollout, Sign

LESS = dict(zip(CLASSES, -np.eye(len(CLASSES)), strict=True))
"""Weights of the class shares under which a fall of the named class is a gain."""
USEFUL = LESS["spurious"] - LESS["agree"]
GUARD_TAIL = 0.1
"""Chance, on each side, that the interval of a guard misses the harm. A harm whose interval lies above 0 is called certain."""
GUARD_SLACK = 0.15
"""By how much the upper bound of a harm may exceed the limit."""

LEAST_SCORED = 0.5
"""Share of a group's rollouts that must be scored, else what the others would have shown decides."""


class Gain(Protocol):
    """An uncertain gain: ``agents.statistics.Estimate``, or ``Posterior`` for a level change."""

    @property
    def value(self) -> float: ...

    def p_value(self) -> float: ...

    def band(self, p: float) -> float: ...

    def interval(self, tail: float) -> Interval: ...


@dataclass(frozen=True)
class Posterior:
    """A gain known by draws from its posterior."""

    value: float
    draws: np.ndarray

    def negative(self) -> "Posterior":
        return Posterior(value=-self.value, draws=-self.draws)

    def p_value(self) -> float:
        return float((np.sum(self.draws <= 0) + 1) / (len(self.draws) + 1))

    def band(self, p: float) -> float:
        return max(0.0, self.value - float(np.quantile(self.draws, p)))

    def interval(self, tail: float) -> Interval:
        low, high = np.quantile(self.draws, [tail, 1 - tail])
        return Interval(estimate=self.value, low=float(low), high=float(high), level=1 - 2 * tail)


@dataclass(frozen=True)
class Reading:
    """What a sample shows at one look. ``least`` is the gain an edit must reach to be worth its place."""

    quantity: str
    gain: Gain
    least: float
    before: PairShares
    after: PairShares
    guards: tuple[Guard, ...]

    @property
    def harmful(self) -> bool:
        """A guard fails for certain."""
        return any(failed_for_certain(g) for g in self.guards)

    @property
    def unclear(self) -> bool:
        """A guard fails, but perhaps by chance."""
        return any(not g.holds for g in self.guards) and not self.harmful


def read(sample: Sample, config: CriticConfig, with_quality: bool) -> Reading:
    """What the sample shows, but for signs of hacking."""
    if sample.candidate.is_level:
        return _read_level(sample, config)
    return _Groups(sample, config).read(with_quality)


def _read_level(sample: Sample, config: CriticConfig) -> Reading:
    words = "above" if sample.candidate.edit.operation.op == "raise_level" else "under"
    quantity = f"informative share {words} {config.flat_share:g}"
    gain = _beyond_flat(sample, sample.before, config)
    # The window has been seen by who chose this task, so it may speak against the edit but not for it.
    seen = _beyond_flat(sample, sample.candidate.window, config)
    guards: tuple[Guard, ...] = ()
    if isinstance(seen, Posterior):
        harm = seen.negative().interval(GUARD_TAIL)
        guards = (Guard(name="informative share of the window", harm=harm, limit=0.0, holds=harm.low <= 0),)
    return Reading(quantity, gain, 0.0, PairShares(), PairShares(), guards)


def _beyond_flat(sample: Sample, rollouts: Sequence[Rollout], config: CriticConfig) -> Gain:
    """How far the informative share of these rollouts lies on the side of ``flat_share`` that the level change claims."""
    if scored_share(rollouts) < LEAST_SCORED:
        return UNKNOWN
    edit, rubric = sample.candidate.edit, sample.candidate.before.rubric
    estimate, draws = informative_posterior(pass_matrix(rollouts, rubric), points_weights(rubric))
    sign = 1.0 if edit.operation.op == "raise_level" else -1.0
    return Posterior(value=sign * (estimate - config.flat_share), draws=sign * (draws - config.flat_share))


class _Groups:
    """The group before an edit against the group after it."""

    def __init__(self, sample: Sample, config: CriticConfig):
        self.sample = sample
        self.config = config
        self.edit = sample.candidate.edit
        self.before, self.after = sample.rulers()
        self.pairs = sample.pairs
        self.left_out = left_out_of(sample.pairs, len(sample.strata))

    def read(self, with_quality: bool) -> Reading:
        same = self.before == self.after
        passes = pass_matrix(self.sample.before, self.before)
        weights, new_weights = points_weights(self.before), points_weights(self.after)
        before = self._classes(passes, after=False)
        on_new_criteria = self._classes(passes if same else pass_matrix(self.sample.after, self.after), after=True)
        agree = weighted(before, weights), weighted(on_new_criteria, new_weights)
        if self.edit.interface == "c":
            quantity, least = "useful share (agree - spurious)", USEFUL
            first, second = agree
        else:
            ids, name = self.edit.claim.criterion_ids, self.edit.claim.pair_class
            quantity, least = f"share not {name}", LESS[name]
            on_old_criteria = on_new_criteria if same else self._classes(passes, after=True)
            claimed = weights * np.array([not ids or c.id in ids for c in self.before])
            first, second = weighted(before, claimed), weighted(on_old_criteria, claimed)
        gain = self._change(first, second, least)
        if min(scored_share(self._inside(after)) for after in (False, True)) < LEAST_SCORED:
            gain = UNKNOWN
        guards = [guard("agree share", self._change(*agree, LESS["agree"]), self.config.guard_limit)]
        if any(r.score is None for r in (*self.sample.before, *self.sample.after)):
            guards.append(self._unscored_guard())
        if with_quality and not same:
            guards.append(self._rank_guard())
        # A hint that goes takes its help along; that is no harm.
        if with_quality and self.edit.interface != "c" and self.edit.operation.op != "retire_field":
            guards.append(self._quality_guard())
        shares = [shares_from(counts.sum(axis=0)) for counts in (first, second)]
        return Reading(quantity, gain, self.config.min_effect, shares[0], shares[1], tuple(guards))

    def _classes(self, passes: np.ndarray, after: bool) -> np.ndarray:
        """Class indicators of the pairs of one group, shape (pairs, criteria, 4), from verdicts on all rollouts."""
        return class_tensor(np.where(np.array(self.sample.inside(after))[:, None], passes, np.nan), self.pairs)

    def _change(self, before: np.ndarray, after: np.ndarray, of: np.ndarray) -> Estimate:
        """By how much the class shares change, weighted by ``of``, shape (4,), between ``weighted`` classes of the two groups."""
        values = (shares_of(after, self.left_out) - shares_of(before, self.left_out)) @ of
        counting = taking_part(len(self.sample.strata), self.pairs, before.sum(axis=1) + after.sum(axis=1))
        return jackknife(values, self.sample.strata, counting)

    def _inside(self, after: bool) -> list[Rollout]:
        """The rollouts of one group, graded under its own criteria."""
        graded = self.sample.after if after else self.sample.before
        return [r for r, counts in zip(graded, self.sample.inside(after), strict=True) if counts]

    def _rank_guard(self) -> Guard:
        """Harm: how much less the score under the new criteria agrees with Q, on the same rollouts."""
        old, new = scores_of(self.sample.before), scores_of(self.sample.after)
        harm = agreement_lost(old, new, self.pairs, self.sample.strata)
        return guard("rank agreement with Q", harm, self.config.guard_limit)

    def _unscored_guard(self) -> Guard:
        """Harm: how much more of the group is unscored. What a judge cannot grade is not seen to be worse."""
        groups = (self.sample.before, self.sample.inside(False)), (self.sample.after, self.sample.inside(True))
        lost = [np.array([float(i and r.score is None) for r, i in zip(rs, inside, strict=True)]) for rs, inside in groups]
        inside = [np.array(i, dtype=float) for _, i in groups]
        w = left_out(len(self.sample.strata))
        harm = jackknife(w @ lost[1] / (w @ inside[1]) - w @ lost[0] / (w @ inside[0]), self.sample.strata)
        return guard("unscored share", harm, self.config.guard_limit)

    def _quality_guard(self) -> Guard:
        """Harm: how much more often Q prefers a rollout before the edit to one after it than the other way round."""
        side = np.array([b * 1.0 - a * 1.0 for b, a in zip(self.sample.inside(False), self.sample.inside(True), strict=True)])
        across = self.pairs.only(side[self.pairs.first] * side[self.pairs.second] == -1)
        harm = agreement(side, across, self.sample.strata)
        return guard("quality", harm, self.config.guard_limit)


def failed_for_certain(guard: Guard) -> bool:
    """Whether the harm is over the limit and not to be put down to chance."""
    return not guard.holds and guard.harm.estimate >= guard.limit and guard.harm.low > 0


def guard(name: str, harm: Estimate, limit: float, task_id: str | None = None) -> Guard:
    found = harm.interval(GUARD_TAIL)
    holds = found.estimate <= limit and found.high <= limit + GUARD_SLACK
    return Guard(name=name, task_id=task_id, harm=found, limit=limit, holds=holds)


def sign_guards(before: Mapping[str, Sign], after: Mapping[str, Sign]) -> tuple[Guard, ...]:
    """A failed guard for every sign of hacking that shows in the group after the edit, and is larger than in the group before it."""
    found = []
    for name, sign in after.items():
        if name in before and sign.shows and sign.value > before[name].value:
            rise = sign.value - before[name].value
            limit = max(0.0, sign.threshold - before[name].value)
            harm = Interval(estimate=rise, low=rise, high=rise, level=0.0)
            found.append(Guard(name=f"sign of hacking ({name})", harm=harm, limit=limit, holds=False))
    return tuple(found)


def score_change(sample: Sample) -> ScoreChange | None:
    """The change of the mean score, split; None for a level change, which changes no score."""
    if sample.candidate.is_level:
        return None
    old = mean_score(sample.before, sample.inside(False))
    new_rollouts = mean_score(sample.before, sample.inside(True))
    new_criteria = mean_score(sample.after, sample.inside(True))
    return ScoreChange(by_rollouts=_difference(new_rollouts, old), by_criteria=_difference(new_criteria, new_rollouts))


def scored_share(rollouts: Sequence[Rollout]) -> float:
    return sum(r.score is not None for r in rollouts) / len(rollouts) if rollouts else 0.0


def mean_score(rollouts: list[Rollout], inside: list[bool]) -> float | None:
    scores = [r.score for r, counts in zip(rollouts, inside, strict=True) if counts and r.score is not None]
    return float(np.mean(scores)) if scores else None


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def scores_of(rollouts: Sequence[Rollout]) -> np.ndarray:
    """Scores, shape (rollouts,), NaN for unscored."""
    return np.array([np.nan if r.score is None else r.score for r in rollouts])

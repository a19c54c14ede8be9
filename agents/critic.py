"""The just-in-time critic: measures a candidate edit on the current frozen policy and decides.

What is measured, by interface:

- **c** (criteria): the same fresh rollouts under the old and the new criteria. Quantity: *useful share* = agree - spurious.
- **g** (guidance): a group as training would roll it out, half plain and half guided, with the old and with the new guidance; the
  plain half is shared. Quantity: 1 - share of the claimed class over the claimed criteria, under the old criteria.
- **p** (task rewrite): fresh plain rollouts on both texts, same criteria, same quantity as g.
- **p** (level): fresh plain rollouts. Quantity: the distance of the informative share from ``flat_share``.

The rule. Let [low, high] be the interval of the gain at level 1 - alpha / looks (Bonferroni, so that looking again after an
undecided look keeps the error rate). *Accepted*: low > 0, the estimate reaches ``min_effect`` and every guard holds.
*Rejected*: a guard fails, or high < ``min_effect``. Otherwise the next look adds rollouts; after the last look the edit is
*inconclusive* and is not applied. Assumptions: rollouts are exchangeable within a stratum, and Q errs independently of the edit.
"""

import zlib
from collections.abc import Sequence

import numpy as np

from agents.config import CriticConfig
from agents.rehearsal import GradeRequest, OrderRequest, Rehearsal, RolloutRequest
from agents.sample import Candidate, Sample, arms_of
from agents.statistics import informative_interval, interval, rank_agreement, resample_counts, share_samples
from memory.decision import Guard, Interval, Measurement, Outcome
from memory.pairs import CLASSES, pass_matrix, points_weights
from memory.task import Noun
from memory.visit import PairShares, Rollout

AGREE = CLASSES.index("agree")
USEFUL = np.array([{"agree": 1.0, "spurious": -1.0}.get(name, 0.0) for name in CLASSES])


class Finding(Noun):
    outcome: Outcome
    sentence: str
    measurement: Measurement


class Critic:
    """Measures candidates with a ``Rehearsal``; all candidates of a look share its batches."""

    def __init__(self, config: CriticConfig, rehearsal: Rehearsal):
        self.config = config
        self.rehearsal = rehearsal

    def measure(self, tag: str, candidates: Sequence[Candidate]) -> list[Finding]:
        """A finding per candidate. ``tag`` names the round and revision; it seeds the fresh rollouts."""
        samples = [Sample(candidate, arms_of(candidate)) for candidate in candidates]
        findings: dict[str, Finding] = {}
        done = 0
        for look, size in enumerate(self.config.rollouts, 1):
            undecided = [s for s in samples if s.candidate.edit.id not in findings]
            if not undecided:
                break
            self._extend(f"{tag}-look{look}", undecided, size - done)
            done = size
            for sample in undecided:
                finding = self._decide(sample, look)
                if finding is not None:
                    findings[sample.candidate.edit.id] = finding
        return [findings[s.candidate.edit.id] for s in samples]

    def _extend(self, tag: str, samples: Sequence[Sample], size: int) -> None:
        """Roll out, grade and order ``size`` more rollouts per group for every sample."""
        requests, owners = [], []
        for sample in samples:
            for stratum, arm in enumerate(sample.arms):
                count = max(2, round(size * arm.share))
                task_id = sample.candidate.edit.task_id
                requests.append(RolloutRequest(task_id=task_id, entry=arm.entry, guided=arm.guided, count=count))
                owners.append((sample, stratum))
        fresh: dict[int, list[Rollout]] = {id(s): [] for s in samples}
        for (sample, stratum), rollouts in zip(owners, self.rehearsal.roll_out(tag, requests), strict=True):
            fresh[id(sample)] += rollouts
            sample.strata += [stratum] * len(rollouts)
        self._grade(samples, fresh)
        self._order(tag, samples, fresh)

    def _grade(self, samples: Sequence[Sample], fresh: dict[int, list[Rollout]]) -> None:
        requests = []
        for sample in samples:
            rollouts = tuple(fresh[id(sample)])
            for ruler in sample.rulers():
                requests.append(GradeRequest(task_id=sample.candidate.edit.task_id, rubric=ruler, rollouts=rollouts))
        graded = iter(self.rehearsal.grade(requests))
        for sample in samples:
            sample.before += next(graded)
            sample.after += next(graded)

    def _order(self, tag: str, samples: Sequence[Sample], fresh: dict[int, list[Rollout]]) -> None:
        """Ask Q on random pairs that include a fresh rollout, up to the configured number per look."""
        requests = []
        for sample in samples:
            total, new = len(sample.strata), len(fresh[id(sample)])
            possible = [(i, j) for j in range(total - new, total) for i in range(j)]
            rng = np.random.default_rng(zlib.crc32(f"{tag}/{sample.candidate.edit.id}".encode()))
            limit = 0 if sample.is_level else min(self.config.quality_pairs, len(possible))
            chosen = rng.choice(len(possible), size=limit, replace=False)
            pairs = tuple(possible[int(k)] for k in sorted(chosen))
            task_id = sample.candidate.edit.task_id
            requests.append(OrderRequest(task_id=task_id, rollouts=tuple(sample.before), pairs=pairs))
            sample.quality_calls += 0 if self.rehearsal.quality_source == "off" else limit
        for sample, orders in zip(samples, self.rehearsal.order(requests), strict=True):
            sample.pairs += orders

    def _decide(self, sample: Sample, look: int) -> Finding | None:
        """The finding at this look, or None to look again."""
        level = 1 - self.config.alpha / len(self.config.rollouts)
        measurement = self._level(sample, level, look) if sample.is_level else self._groups(sample, level, look)
        least = 0.0 if sample.is_level else self.config.min_effect
        effect = measurement.effect
        broken = [g for g in measurement.guards if not g.holds]
        outcome: Outcome
        if not broken and effect.low > 0 and effect.estimate >= least:
            outcome = "accepted"
        elif broken or effect.high < least:
            outcome = "rejected"
        elif look < len(self.config.rollouts):
            return None
        else:
            outcome = "inconclusive"
        return Finding(outcome=outcome, sentence=sentence(outcome, measurement, least), measurement=measurement)

    def _level(self, sample: Sample, level: float, look: int) -> Measurement:
        edit, rubric = sample.candidate.edit, sample.candidate.before.rubric
        rng = np.random.default_rng(zlib.crc32(f"level/{edit.id}/{look}".encode()))
        passes, weights = pass_matrix(sample.before, rubric), points_weights(rubric)
        informative = informative_interval(passes, weights, level, self.config.resamples, rng)
        flat = self.config.flat_share
        if edit.operation.op == "raise_level":
            effect = Interval(
                estimate=informative.estimate - flat, low=informative.low - flat, high=informative.high - flat, level=level
            )
            quantity = f"informative share above {flat:g}"
        else:
            effect = Interval(
                estimate=flat - informative.estimate, low=flat - informative.high, high=flat - informative.low, level=level
            )
            quantity = f"informative share under {flat:g}"
        shares = PairShares()
        return self._measurement(sample, quantity, shares, shares, effect, (), look)

    def _groups(self, sample: Sample, level: float, look: int) -> Measurement:
        """Compare the group before with the group after, by stratified bootstrap over rollouts."""
        edit = sample.candidate.edit
        rng = np.random.default_rng(zlib.crc32(f"bootstrap/{edit.id}/{look}".encode()))
        counts = resample_counts(sample.strata, self.config.resamples, rng)
        sides = []
        for rollouts, ruler, inside in zip(
            (sample.before, sample.after),
            sample.rulers(),
            ([a.in_before for a in sample.arms], [a.in_after for a in sample.arms]),
            strict=True,
        ):
            passes = pass_matrix(rollouts, ruler)
            passes[[not inside[s] for s in sample.strata]] = np.nan
            sides.append((passes, ruler, np.array([np.nan if r.score is None else r.score for r in rollouts])))
        (passes_b, ruler_b, scores_b), (passes_a, ruler_a, scores_a) = sides
        all_b, sampled_all_b = share_samples(passes_b, points_weights(ruler_b), sample.pairs, counts)
        all_a, sampled_all_a = share_samples(passes_a, points_weights(ruler_a), sample.pairs, counts)

        if edit.interface == "c":
            quantity, gain = "useful share (agree - spurious)", USEFUL
            claimed_b, claimed_a, sampled_b, sampled_a = all_b, all_a, sampled_all_b, sampled_all_a
        else:
            claimed = [c.id in edit.claim.criterion_ids or not edit.claim.criterion_ids for c in ruler_b]
            weights = points_weights(ruler_b) * np.array(claimed)
            quantity, gain = f"share not {edit.claim.pair_class}", -np.eye(4)[CLASSES.index(edit.claim.pair_class)]
            claimed_b, sampled_b = share_samples(passes_b, weights, sample.pairs, counts)
            claimed_a, sampled_a = share_samples(passes_a, weights, sample.pairs, counts)
        effect = interval((claimed_a - claimed_b) @ gain, (sampled_a - sampled_b) @ gain, level)

        guards = [
            self._guard("agree share", all_b[AGREE] - all_a[AGREE], sampled_all_b[:, AGREE] - sampled_all_a[:, AGREE], level)
        ]
        if self.rehearsal.quality_source != "off":
            if edit.interface == "c":
                agreement_b, sampled_agreement_b = rank_agreement(scores_b, sample.pairs, counts)
                agreement_a, sampled_agreement_a = rank_agreement(scores_a, sample.pairs, counts)
                guards.append(
                    self._guard(
                        "rank agreement with Q", agreement_b - agreement_a, sampled_agreement_b - sampled_agreement_a, level
                    )
                )
            elif edit.operation.op != "retire_field":  # a hint that goes takes its help along; that is no harm
                guards.append(self._quality_guard(sample, counts, level))
        return self._measurement(sample, quantity, shares(claimed_b), shares(claimed_a), effect, tuple(guards), look)

    def _quality_guard(self, sample: Sample, counts: np.ndarray, level: float) -> Guard:
        """Harm: how much more often Q prefers a rollout before the edit to one after it than the other way round."""
        only_before = [a.in_before and not a.in_after for a in sample.arms]
        only_after = [a.in_after and not a.in_before for a in sample.arms]
        side = np.array([only_before[s] * 1 - only_after[s] * 1 for s in sample.strata])
        across = [p for p in sample.pairs if side[p.first] * side[p.second] == -1]
        agreement, sampled = rank_agreement(side.astype(float), across, counts)
        return self._guard("quality", agreement, sampled, level)

    def _guard(self, name: str, harm: float, sampled: np.ndarray, level: float) -> Guard:
        found = interval(harm, sampled, level)
        limit = self.config.guard_limit
        return Guard(name=name, harm=found, limit=limit, holds=found.estimate <= limit)

    def _measurement(
        self,
        sample: Sample,
        quantity: str,
        before: PairShares,
        after: PairShares,
        effect: Interval,
        guards: tuple[Guard, ...],
        look: int,
    ) -> Measurement:
        in_before = [sample.arms[s].in_before for s in sample.strata]
        in_after = [sample.arms[s].in_after for s in sample.strata]
        return Measurement(
            edit_id=sample.candidate.edit.id,
            quantity=quantity,
            before=before,
            after=after,
            mean_score_before=mean_score(sample.before, in_before),
            mean_score_after=mean_score(sample.after, in_after),
            effect=effect,
            guards=guards,
            rollouts=len(sample.strata),
            quality_calls=sample.quality_calls,
            looks=look,
            rollout_ids=tuple(r.id for r in sample.before),
        )


def mean_score(rollouts: Sequence[Rollout], inside: Sequence[bool]) -> float | None:
    scores = [r.score for r, counts in zip(rollouts, inside, strict=True) if counts and r.score is not None]
    return float(np.mean(scores)) if scores else None


def shares(values: np.ndarray) -> PairShares:
    return PairShares() if np.isnan(values).any() else PairShares(**dict(zip(CLASSES, values.tolist(), strict=True)), pairs=1.0)


def sentence(outcome: Outcome, measurement: Measurement, least: float) -> str:
    """Why, in one sentence with the numbers."""
    effect = measurement.effect
    found = (
        f"{measurement.quantity} changed by {effect.estimate:+.2f} "
        f"({effect.level:.1%} interval {effect.low:+.2f} to {effect.high:+.2f}) on {measurement.rollouts} fresh rollouts"
    )
    if measurement.quantity.startswith("informative"):
        found = found.replace("changed by", "by")
    broken = [f"{g.name} fell by {g.harm.estimate:.2f}, limit {g.limit:g}" for g in measurement.guards if not g.holds]
    if broken:
        return f"Rejected: {'; '.join(broken)}; {found}."
    if outcome == "accepted":
        return f"Accepted: {found}; guards hold."
    if outcome == "rejected":
        return f"Rejected: {found}; a gain of {least:g} can be ruled out."
    return f"Inconclusive: {found}; neither a gain nor its absence is certain, so nothing changes."

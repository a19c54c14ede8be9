"""The just-in-time critic: measures candidate edits on the current frozen policy and decides.

A sequential test on fresh rollouts that the proposer has not seen (level changes also on earlier visits' rollouts). It starts small;
each look adds rollouts to the candidates that are still undecided, up to the last. What is read of a sample, and the guards, stand
in ``agents.measurement``; how strong the evidence must be in ``agents.acceptance``. At each look:

- *rejected*: a guard fails for certain (the harm is over the limit and its interval above 0), or the gain's interval rules out
  ``min_effect``;
- *accepted*: the p-value of the gain is under what the strategy needs, the estimate reaches ``min_effect``, and every guard holds;
- otherwise the next look, and after the last *inconclusive*: nothing changes.

What is about to be accepted is first looked through for signs of reward hacking, then confirmed on its guard tasks
(``agents.guards``). Of several accepted edits of one task the one
with the largest gain is applied, and the others are held back. Assumptions: rollouts are exchangeable within an arm, Q errs
independently of the edit, and looks are judged by their parts of the error rate, which needs nothing of how looks depend.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agents.acceptance import ACCEPTANCES, spent
from agents.config import CriticConfig
from agents.guards import confirm
from agents.measurement import Reading, failed_for_certain, mean_score, read, score_change, sign_guards
from agents.pool import Ask, RolloutPool
from agents.rehearsal import GradeRequest, Rehearsal
from agents.sample import Arm, Candidate, Sample, arms_of
from memory.decision import Guard, Measurement, Outcome
from memory.task import Noun
from memory.visit import Rollout

FUTILE = 0.05
"""Upper tail at which a gain of ``min_effect`` is ruled out. Giving up early accepts nothing, so it spends no error rate."""


@dataclass(frozen=True)
class Look:
    """One look at the candidates of a pass: its ``part`` of the pass's error rate, which is ``level``."""

    number: int
    tag: str
    part: float
    level: float


class Finding(Noun):
    outcome: Outcome
    sentence: str
    measurement: Measurement | None


class Critic:
    """Measures candidates with a ``Rehearsal``; all candidates of a look share its batches."""

    def __init__(self, config: CriticConfig, rehearsal: Rehearsal):
        self.config = config
        self.rehearsal = rehearsal
        self.acceptance = ACCEPTANCES[config.acceptance]()

    def measure(self, tag: str, candidates: Sequence[Candidate], passes: int = 1) -> list[Finding]:
        """A finding per candidate.

        Args:
            tag: names the round and pass; it seeds the fresh rollouts.
            passes: over how many passes the round's error rate is split.
        """
        if not self.acceptance.measures:
            words = "Accepted unmeasured: critic.acceptance is 'opinion', which believes the proposer."
            return [Finding(outcome="accepted", sentence=words, measurement=None) for _ in candidates]
        pool = RolloutPool(self.rehearsal)
        samples = [Sample(candidate, arms_of(candidate)) for candidate in candidates]
        findings: dict[str, Finding] = {}
        done = 0
        for number, size in enumerate(self.config.rollouts, 1):
            undecided = [s for s in samples if s.candidate.edit.id not in findings]
            if not undecided:
                break
            look = Look(number, f"{tag}-look{number}", spent(self.config.rollouts)[number - 1], self.config.alpha / passes)
            self._extend(pool, look.tag, undecided, size - done)
            done = size
            findings |= self._decide(pool, look, samples, undecided)
        return [findings[s.candidate.edit.id] for s in samples]

    def _extend(self, pool: RolloutPool, tag: str, samples: Sequence[Sample], size: int) -> None:
        """Roll out, grade and order ``size`` more rollouts per group for every sample."""
        pool.roll_out(tag, [(s.task_id, arm, upto) for s in samples for arm, upto in self._needs(s, size)])
        fresh: list[list[Rollout]] = []
        for sample in samples:
            mine: list[Rollout] = []
            for stratum, arm in enumerate(sample.arms):
                earlier = sum(
                    a.count(size) for a in sample.arms[:stratum] if a.source(sample.task_id) == arm.source(sample.task_id)
                )
                rollouts = pool.latest(sample.task_id, arm, arm.count(size), skip=earlier)
                mine += rollouts
                sample.strata += [stratum] * len(rollouts)
            fresh.append(mine)
        rulers = [(s, mine, ruler) for s, mine in zip(samples, fresh, strict=True) for ruler in s.rulers()]
        graded = iter(pool.grade([(s.task_id, ruler, mine) for s, mine, ruler in rulers]))
        for sample in samples:
            sample.before += next(graded)
            sample.after += next(graded)
        asks = [self._ask(tag, sample, len(mine)) for sample, mine in zip(samples, fresh, strict=True)]
        for sample, ask, orders in zip(samples, asks, pool.order(asks), strict=True):
            sample.pairs += orders
            sample.quality_calls += 0 if self.rehearsal.quality_source == "off" else len(ask.pairs)

    def _needs(self, sample: Sample, size: int) -> list[tuple[Arm, int]]:
        """How many rollouts each arm's source must give, arms of one source added up."""
        needs: dict[object, tuple[Arm, int]] = {}
        for arm in sample.arms:
            source = arm.source(sample.task_id)
            needs[source] = (arm, needs.get(source, (arm, 0))[1] + arm.count(size))
        return list(needs.values())

    def _ask(self, tag: str, sample: Sample, new: int) -> Ask:
        """Random pairs that include a fresh rollout, up to the configured number per look. Candidates with the same rollouts ask the
        same pairs, so that they share Q."""
        total = len(sample.strata)
        possible = [(i, j) for j in range(total - new, total) for i in range(j)]
        limit = 0 if sample.candidate.is_level else min(self.config.quality_pairs, len(possible))
        rng = np.random.default_rng(zlib.crc32(f"{tag}/{sample.task_id}".encode()))
        chosen = rng.choice(len(possible), size=limit, replace=False)
        return Ask(sample.task_id, sample.before, [possible[int(k)] for k in sorted(chosen)])

    def _decide(self, pool: RolloutPool, look: Look, family: Sequence[Sample], samples: Sequence[Sample]) -> dict[str, Finding]:
        """The findings of this look on the undecided ``samples``; those without one are looked at again."""
        with_quality = self.rehearsal.quality_source != "off"
        readings = [read(sample, self.config, with_quality) for sample in samples]
        fit = [not (r.harmful or r.unclear) and r.gain.value >= r.least for r in readings]
        for sample, reading, ok in zip(samples, readings, fit, strict=True):
            if ok:
                sample.p_value = min(sample.p_value, reading.gain.p_value() / look.part)
        needed = self.acceptance.needed([s.p_value for s in family], look.level)
        passing = [ok and s.p_value <= needed for s, ok in zip(samples, fit, strict=True)]
        strongest = sorted((k for k, ok in enumerate(passing) if ok), key=lambda k: samples[k].p_value)
        further = self._sign_guards([samples[k] for k in strongest])
        clean = [samples[k] for k in strongest if samples[k].candidate.edit.id not in further]
        further |= confirm(pool, look.tag, clean, self.config, with_quality)
        best = self._best([samples[k] for k in strongest], [readings[k] for k in strongest], further)

        findings: dict[str, Finding] = {}
        for sample, reading, passes in zip(samples, readings, passing, strict=True):
            edit_id = sample.candidate.edit.id
            guards = (*reading.guards, *further.get(edit_id, ()))
            measurement = self._measurement(sample, reading, guards, needed * look.part, look)
            chosen = best.get(sample.task_id)
            outcome: Outcome
            if passes and all(g.holds for g in further.get(edit_id, ())):
                outcome = "accepted" if chosen == edit_id else "inconclusive"
                words = sentence(outcome, measurement, reading.least, held_back_for=None if chosen == edit_id else chosen)
            elif passes or reading.harmful or reading.gain.interval(FUTILE).high < reading.least:
                outcome = "rejected"
                words = sentence(outcome, measurement, reading.least)
                sample.p_value = 1.0
            elif look.number < len(self.config.rollouts):
                continue
            else:
                outcome = "inconclusive"
                words = sentence(outcome, measurement, reading.least)
            findings[edit_id] = Finding(outcome=outcome, sentence=words, measurement=measurement)
        return findings

    def _sign_guards(self, samples: Sequence[Sample]) -> dict[str, tuple[Guard, ...]]:
        """Failed guards by edit id for signs of reward hacking, looked for only in what is about to be accepted."""
        samples = [s for s in samples if not s.candidate.is_level]
        requests = [
            GradeRequest(
                task_id=sample.task_id,
                rubric=ruler,
                rollouts=tuple(r for r, counts in zip(rollouts, sample.inside(after), strict=True) if counts),
            )
            for sample in samples
            for after, ruler, rollouts in zip((False, True), sample.rulers(), (sample.before, sample.after), strict=True)
        ]
        signs = iter(self.rehearsal.signs(requests))
        return {s.candidate.edit.id: guards for s in samples if (guards := sign_guards(next(signs), next(signs)))}

    def _best(
        self, samples: Sequence[Sample], readings: Sequence[Reading], further: dict[str, tuple[Guard, ...]]
    ) -> dict[str, str]:
        """Per task the edit with the largest gain among those that are to be accepted."""
        best: dict[str, tuple[float, str]] = {}
        for sample, reading in zip(samples, readings, strict=True):
            edit_id = sample.candidate.edit.id
            if all(g.holds for g in further.get(edit_id, ())):
                found = (reading.gain.value, edit_id)
                best[sample.task_id] = max(found, best.get(sample.task_id, found), key=lambda item: item[0])
        return {task_id: edit_id for task_id, (_, edit_id) in best.items()}

    def _measurement(self, sample: Sample, reading: Reading, guards: tuple[Guard, ...], needed: float, look: Look) -> Measurement:
        return Measurement(
            edit_id=sample.candidate.edit.id,
            quantity=reading.quantity,
            before=reading.before,
            after=reading.after,
            mean_score_before=mean_score(sample.before, sample.inside(False)),
            mean_score_after=mean_score(sample.after, sample.inside(True)),
            effect=reading.gain.interval(look.level * look.part),
            noise=reading.gain.band(needed) if needed < 0.5 else 0.0,
            p_value=reading.gain.p_value(),
            p_needed=min(1.0, needed),
            change=score_change(sample),
            guards=guards,
            rollouts=len(sample.strata) + sample.further_rollouts,
            quality_calls=sample.quality_calls,
            looks=look.number,
            rollout_ids=tuple(r.id for r in sample.before),
        )


def sentence(outcome: Outcome, measurement: Measurement, least: float, held_back_for: str | None = None) -> str:
    """Why, in one sentence with the numbers."""
    effect = measurement.effect
    changed = "by" if measurement.quantity.startswith("informative") else "changed by"
    found = (
        f"{measurement.quantity} {changed} {effect.estimate:+.2f} "
        f"({effect.level:.1%} interval {effect.low:+.2f} to {effect.high:+.2f}) on {measurement.rollouts} fresh rollouts"
    )
    failed = [g for g in measurement.guards if not g.holds]
    harm = "; ".join(broken_words(g) for g in failed if failed_for_certain(g))
    broken = "; ".join(broken_words(g) for g in failed)
    against = f"p {measurement.p_value:.2g} where {measurement.p_needed:.2g} was needed"
    if held_back_for is not None:
        return f"Held back: {found}, but '{held_back_for}' of the same task gained more and goes first."
    if outcome == "accepted":
        return f"Accepted: {found}; guards hold."
    if outcome == "rejected" and harm:
        return f"Rejected: {harm}; {found}."
    if outcome == "rejected":
        return f"Rejected: {found}; a gain of {least:g} can be ruled out."
    unclear = (
        f"that it does no harm is not certain ({broken})" if broken else f"neither a gain nor its absence is certain ({against})"
    )
    return f"Inconclusive: {found}; {unclear}, so nothing changes."


def broken_words(guard: Guard) -> str:
    where = f" on task '{guard.task_id}'" if guard.task_id else ""
    if guard.name.startswith("sign"):
        return f"{guard.name}{where} rose by {guard.harm.estimate:.2f}, limit {guard.limit:.2f}"
    return f"{guard.name}{where} fell by {guard.harm.estimate:.2f} (at most {guard.harm.high:.2f}), limit {guard.limit:.2f}"

"""The just-in-time critic: measures candidate edits on the current frozen policy and decides.

A sequential test on fresh rollouts that the proposer has not seen. It starts small; each look adds rollouts to the candidates that are
still undecided, up to the last. What is read of a sample, and the guards, stand in ``agents.measurement``; how strong the evidence must
be in ``agents.acceptance``. At each look:

- *rejected*: a guard fails for certain (the harm is over the limit and its interval above 0), or the gain's interval rules out
  ``min_effect``;
- *accepted*: the p-value of the gain is under what the strategy needs, the estimate reaches ``min_effect``, and every guard holds;
- otherwise the next look, and after the last *inconclusive*: nothing changes.

What passes is first looked through for signs of reward hacking. A round changes a task once: of its edits that pass at a look the one
with the largest gain goes on; the others, also those still undecided, are held back. After the last look what goes on is confirmed on
its guard tasks, as a set (``agents.guards``). Assumptions: rollouts are exchangeable within an arm, Q errs
independently of the edit, and looks are judged by their parts of the error rate, which needs nothing of how looks depend.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from agents.acceptance import ACCEPTANCES, spent
from agents.config import CriticConfig
from agents.findings import Finding, sentence
from agents.guards import confirm
from agents.measurement import Reading, mean_score, read, score_change, sign_guards
from agents.pool import RolloutPool
from agents.rehearsal import GradeRequest, OrderRequest, Rehearsal
from agents.sample import Arm, Candidate, Sample, arms_of
from memory.decision import Guard, Measurement, Outcome
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


@dataclass(eq=False)
class Standing:
    """Where a candidate stands at a look."""

    sample: Sample
    look: Look
    reading: Reading
    guards: tuple[Guard, ...] = ()

    def __post_init__(self) -> None:
        self.guards = self.reading.guards

    @property
    def edit_id(self) -> str:
        return self.sample.candidate.edit.id

    @property
    def fit(self) -> bool:
        """Whether the gain is large enough and every guard holds, so that only chance speaks against the edit."""
        return not (self.reading.harmful or self.reading.unclear) and self.reading.gain.value >= self.reading.least

    def take_p_value(self) -> None:
        if self.fit:
            self.sample.p_value = min(self.sample.p_value, self.reading.gain.p_value() / self.look.part)

    def measurement(self, needed: float) -> Measurement:
        """``needed`` is what the p-value over all looks must not exceed."""
        sample, gain, here = self.sample, self.reading.gain, needed * self.look.part
        return Measurement(
            edit_id=self.edit_id,
            quantity=self.reading.quantity,
            before=self.reading.before,
            after=self.reading.after,
            mean_score_before=mean_score(sample.before, sample.inside(False)),
            mean_score_after=mean_score(sample.after, sample.inside(True)),
            effect=gain.interval(self.look.level * self.look.part),
            noise=gain.band(here) if here < 0.5 else 0.0,
            p_value=gain.p_value(),
            p_needed=min(1.0, here),
            change=score_change(sample),
            guards=self.guards,
            rollouts=len(sample.strata) + sample.further_rollouts,
            quality_calls=sample.quality_calls,
            looks=self.look.number,
            rollout_ids=tuple(r.id for r in sample.before),
        )


class Critic:
    """Measures candidates with a ``Rehearsal``; all candidates of a look share its batches.

    ``guided_share`` is the part of a group that is shown its guidance in training, and so in a rehearsal.
    """

    def __init__(self, config: CriticConfig, rehearsal: Rehearsal, guided_share: float = 0.5):
        self.config = config
        self.rehearsal = rehearsal
        self.guided_share = guided_share
        self.acceptance = ACCEPTANCES[config.acceptance]()

    @property
    def can_measure_criteria(self) -> bool:
        """Without Q every criterion that separates counts as one that agrees, noise too, so criteria have no ruler."""
        return self.rehearsal.quality_source != "off" or not self.acceptance.measures

    def measure(
        self, tag: str, candidates: Sequence[Candidate], passes: int = 1, used_up: Callable[[], object] = lambda: None
    ) -> list[Finding]:
        """A finding per candidate.

        Args:
            tag: names the round and pass; it seeds the fresh rollouts.
            passes: over how many passes the round's error rate is split.
            used_up: whether the budget is; then the look that used it up is the last.
        """
        if not self.acceptance.measures:
            words = "Accepted unmeasured: critic.acceptance is 'opinion', which believes the proposer."
            return [Finding(outcome="accepted", sentence=words, measurement=None) for _ in candidates]
        pool = RolloutPool(self.rehearsal)
        samples = [Sample(candidate, arms_of(candidate, self.guided_share)) for candidate in candidates]
        findings: dict[str, Finding] = {}
        passed: dict[str, Standing] = {}
        done = 0
        for number, size in enumerate(self.config.rollouts, 1):
            undecided = [s for s in samples if s.candidate.edit.id not in findings | passed]
            if not undecided:
                break
            look = Look(number, f"{tag}-look{number}", spent(self.config.rollouts)[number - 1], self.config.alpha / passes)
            self._extend(pool, look.tag, undecided, size - done)
            done = size
            last = number == len(self.config.rollouts) or bool(used_up())
            decided, passing = self._decide(look, samples, undecided, last)
            findings |= decided
            passed |= passing
            if last:
                break
        findings |= self._confirm(pool, f"{tag}-guards", samples, list(passed.values()))
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

    def _ask(self, tag: str, sample: Sample, new: int) -> OrderRequest:
        """Random pairs that include a fresh rollout, up to the configured number per look. Candidates with the same rollouts ask the
        same pairs, so that they share Q."""
        limit = 0 if sample.candidate.is_level else self.config.quality_pairs
        seed = zlib.crc32(f"{tag}/{sample.task_id}".encode())
        return OrderRequest(sample.task_id, sample.before, random_pairs(len(sample.strata), new, limit, seed))

    def _decide(
        self, look: Look, family: Sequence[Sample], samples: Sequence[Sample], last: bool
    ) -> tuple[dict[str, Finding], dict[str, Standing]]:
        """The findings of this look on the undecided ``samples``, and those that have passed it; the rest is looked at again."""
        standings = [Standing(s, look, read(s, self.config, self.rehearsal.quality_source != "off")) for s in samples]
        for standing in standings:
            standing.take_p_value()
        needed = self.acceptance.needed([s.p_value for s in family], look.level)
        passing = [s for s in standings if s.fit and s.sample.p_value <= needed]
        signs = self._sign_guards([s.sample for s in passing])
        passed = {s.edit_id: s for s in passing if s.edit_id not in signs}

        first = {s.sample.task_id: s.edit_id for s in passed.values()}
        findings: dict[str, Finding] = {}
        for standing in standings:
            standing.guards += signs.get(standing.edit_id, ())
            reading = standing.reading
            futile = reading.gain.interval(FUTILE).high < reading.least
            if standing.edit_id in passed:
                continue
            if standing.edit_id in signs or reading.harmful or futile:
                findings[standing.edit_id] = self._finding("rejected", standing, needed)
            elif standing.sample.task_id in first:  # a round changes a task once: no more rollouts for the others
                findings[standing.edit_id] = self._finding("inconclusive", standing, needed, first[standing.sample.task_id])
            elif last:
                findings[standing.edit_id] = self._finding("inconclusive", standing, needed)
        return findings, passed

    def _confirm(self, pool: RolloutPool, tag: str, family: Sequence[Sample], passed: Sequence[Standing]) -> dict[str, Finding]:
        """Of a task's edits that have passed only the one with the largest gain goes on: the set of them is confirmed on the guard tasks,
        strongest evidence first."""
        if not passed:
            return {}
        best: dict[str, Standing] = {}
        for standing in passed:
            task_id = standing.sample.task_id
            best[task_id] = max(best.get(task_id, standing), standing, key=lambda s: s.reading.gain.value)
        strongest = sorted(best.values(), key=lambda s: s.sample.p_value)
        with_quality = self.rehearsal.quality_source != "off"
        further = confirm(pool, tag, [s.sample for s in strongest], self.config, with_quality)
        findings: dict[str, Finding] = {}
        for standing in strongest:
            standing.guards += further.get(standing.edit_id, ())
            if not all(g.holds for g in standing.guards):
                findings[standing.edit_id] = self._finding("rejected", standing, standing.look.level)
        # What fell to its guard tasks no longer makes it easier for the others.
        needed = self.acceptance.needed([s.p_value for s in family], passed[0].look.level)
        for standing in passed:
            if standing.edit_id not in findings:
                chosen = best[standing.sample.task_id]
                accepted = chosen is standing and standing.sample.p_value <= needed
                outcome: Outcome = "accepted" if accepted else "inconclusive"
                findings[standing.edit_id] = self._finding(outcome, standing, needed, chosen.edit_id)
        return findings

    def _finding(self, outcome: Outcome, standing: Standing, needed: float, chosen: str | None = None) -> Finding:
        measurement = standing.measurement(needed)
        if outcome == "rejected":
            standing.sample.p_value = 1.0
        held_back_for = None if chosen == standing.edit_id else chosen
        words = sentence(outcome, measurement, standing.reading.least, held_back_for)
        return Finding(outcome=outcome, sentence=words, measurement=measurement)

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


@lru_cache(maxsize=64)
def random_pairs(total: int, new: int, limit: int, seed: int) -> tuple[tuple[int, int], ...]:
    """At most ``limit`` pairs of ``total`` rollouts, each with one of the last ``new``, by position."""
    possible = [(i, j) for j in range(total - new, total) for i in range(j)]
    chosen = np.random.default_rng(seed).choice(len(possible), size=min(limit, len(possible)), replace=False)
    return tuple(possible[k] for k in sorted(chosen.tolist()))

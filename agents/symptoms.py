"""What the evidence of a case shows: the quantities that attribution's table and the probes are about.

Shares are steadied: a group of eight is noisy, so they are means over the recalled visits since the task's entry last changed,
weighted by pairs. What separates plain from guided rollouts needs their verdicts, which are at hand for the last visit alone.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from agents.context import CaseFile
from memory.decision import Decision
from memory.edit import AddField, Interface, PairClass, RewriteField
from memory.pairs import CLASSES, mean_shares, pass_matrix, points_weights
from memory.visit import CriterionHealth, PairShares, Rollout, Visit

RARELY = 0.1
"""Pass rate of plain rollouts up to which a criterion counts as passed by nobody, where several visits tell of it: a hint is
worth having at 1 in 24 as well as at 0 in 8. The last visit must not show a pass at all."""
LEAST_ARM = 4
"""Scored rollouts that plain and guided need each before they are compared: half of a group of eight."""
FINE = 0.5
"""Share from which responses count as fine: half of them not below the reference, or half of the points passed."""


class Arms(NamedTuple):
    """Pass rates in the last visit, weighted by points, of the criteria that the mounted guidance is about."""

    criterion_ids: tuple[str, ...]
    plain: float
    guided: float


class Symptoms:
    """The quantities of one case; each is worked out once, when it is asked for."""

    def __init__(self, case: CaseFile):
        self.case = case
        self.weights = dict(
            zip([c.id for c in case.entry.rubric], points_weights(case.entry.rubric).tolist(), strict=True),
        )

    @cached_property
    def visits(self) -> tuple[Visit, ...]:
        """The recalled visits since the entry last changed, the last one always among them. A round comes before the visits of its
        step, so these already show its edits."""
        changed = max((d.step for d in self.case.evidence.decisions if d.outcome == "accepted"), default=-1)
        earlier, last = self.case.evidence.visits[:-1], self.case.evidence.last
        return (*(v for v in earlier if v.step >= changed), last)

    @cached_property
    def shares(self) -> PairShares:
        return PairShares(**mean_shares(self.visits), pairs=sum(v.shares.pairs for v in self.visits))

    @cached_property
    def criterion_shares(self) -> dict[str, PairShares]:
        """Shares of each criterion of the rubric that was compared."""
        found = {}
        for criterion_id in self.weights:
            seen = [h.shares for v in self.visits for h in v.criteria if h.criterion_id == criterion_id]
            pairs = sum(s.pairs for s in seen)
            if pairs:
                means = {name: sum(getattr(s, name) * s.pairs for s in seen) / pairs for name in CLASSES}
                found[criterion_id] = PairShares(**means, pairs=pairs)
        return found

    @cached_property
    def spurious_excess(self) -> dict[str, float]:
        """Criterion id -> what it adds to spurious less what it adds to agree, weighted by its |points|; the most first."""
        excess = {i: self.weights[i] * (s.spurious - s.agree) for i, s in self.criterion_shares.items()}
        return dict(sorted(excess.items(), key=lambda item: -item[1]))

    @cached_property
    def quality_spread(self) -> float:
        """Share of the compared pairs that Q separates; 0 where Q is off."""
        orders = [p.order for v in self.visits for p in v.quality]
        return sum(bool(order) for order in orders) / len(orders) if orders else 0.0

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """Names of the signs of reward hacking that the last visit shows."""
        return tuple(name for name, sign in self.case.evidence.last.signs.items() if sign.shows)

    @cached_property
    def plain(self) -> list[Rollout]:
        return self._arm(guided=False)

    @cached_property
    def missed(self) -> list[CriterionHealth]:
        """Criteria with positive points that no plain rollout of the last visit passed, and hardly one of the steadied visits
        before it (those without guidance, where the pass rate is that of plain rollouts), heaviest first."""
        points = {c.id: c.points for c in self.case.entry.rubric}

        def failed(criterion_id: str) -> bool:
            statuses = [v.status for r in self.plain for v in r.verdicts if v.criterion_id == criterion_id]
            scored = [s for s in statuses if s != "unscored"]
            if not scored or "met" in scored:
                return False
            earlier = [
                (v, h) for v in self.visits[:-1] if not any(v.guided) for h in v.criteria if h.criterion_id == criterion_id
            ]
            counts = [(h.pass_rate, len(v.rollout_ids) - h.unscored) for v, h in earlier if h.pass_rate is not None]
            rollouts = len(scored) + sum(n for _, n in counts)
            return sum(rate * n for rate, n in counts) <= RARELY * rollouts

        health = self.case.evidence.last.criteria
        found = [h for h in health if points.get(h.criterion_id, 0.0) > 0 and failed(h.criterion_id)]
        return sorted(found, key=lambda h: -points[h.criterion_id])

    @cached_property
    def missed_weight(self) -> float:
        """Share of the points that the missed criteria carry."""
        return sum(self.weights[h.criterion_id] for h in self.missed)

    @cached_property
    def arms(self) -> Arms | None:
        """Plain against guided in the last visit; None without guidance, or with too few scored rollouts on a side."""
        named = {i for f in self.case.entry.guidance for i in f.criterion_ids}
        ids = [i for i in self.weights if i in named] or list(self.weights)
        if not self.case.entry.guidance:
            return None
        plain, guided = (self.pass_rate(self._arm(side), ids) for side in (False, True))
        return None if plain is None or guided is None else Arms(tuple(ids), plain, guided)

    @cached_property
    def hint_helps(self) -> bool | None:
        """What is known of whether the policy follows guidance here: the full-hint probe, else a guidance edit that was accepted
        within the recalled window and has kept its gain."""
        if (found := self._probed("full_hint")) is not None:
            return found
        kept = [d.edit.operation for d in self.case.evidence.decisions if d.outcome == "accepted" and not self._faded(d)]
        return True if any(isinstance(o, AddField | RewriteField) for o in kept) else None

    @cached_property
    def probed(self) -> bool:
        """Whether a probe has found something."""
        return any(p.helps is not None for p in self.case.probes)

    @cached_property
    def quality_finding(self) -> bool | None:
        """Whether the quality probe found the responses fine."""
        return self._probed("quality")

    @cached_property
    def rest_passed(self) -> float | None:
        """Pass rate of the last visit's plain rollouts on the criteria that are not missed; None where there are none."""
        missed = {h.criterion_id for h in self.missed}
        return self.pass_rate(self.plain, [i for i in self.weights if i not in missed], least=1)

    @cached_property
    def quality_is_fine(self) -> bool:
        """Whether the responses are good although they miss criteria: by the quality probe, else, since a pairwise order has no
        absolute level, by the pass rate on the rest of the rubric."""
        if self.quality_finding is not None:
            return self.quality_finding
        return self.rest_passed is not None and self.rest_passed >= FINE

    def in_vain(self, interface: Interface, failure: PairClass) -> bool:
        """Whether edits of this interface against this failure were tried on the task within the recalled window, this round
        included, and none was accepted."""
        edits = [d for d in (*self.case.evidence.decisions, *self.case.tried) if d.edit.interface == interface]
        tried = [d for d in edits if d.edit.claim.pair_class == failure]
        return bool(tried) and not any(d.outcome == "accepted" for d in tried)

    def pass_rate(self, rollouts: Sequence[Rollout], criterion_ids: Sequence[str], least: int = LEAST_ARM) -> float | None:
        """Pass rate of these criteria, weighted by points; None with fewer than ``least`` scored rollouts."""
        scored = [r for r in rollouts if r.score is not None]
        rubric = [c for c in self.case.entry.rubric if c.id in criterion_ids]
        if len(scored) < least or not rubric:
            return None
        passes = pass_matrix(scored, rubric)
        weights = np.where(np.isnan(passes), 0.0, [self.weights[c.id] for c in rubric])
        return float((np.nan_to_num(passes) * weights).sum() / weights.sum()) if weights.sum() else None

    def _arm(self, guided: bool) -> list[Rollout]:
        visit = self.case.evidence.last
        side = dict(zip(visit.rollout_ids, visit.guided, strict=True))
        return [r for r in self.case.rollouts if side.get(r.id) == guided]

    def _faded(self, decision: Decision) -> bool:
        return any(d.edit.id == decision.edit.id for d in self.case.evidence.faded)

    def _probed(self, kind: str) -> bool | None:
        return next((p.helps for p in reversed(self.case.probes) if p.kind == kind), None)


def never_passed(case: CaseFile) -> list[CriterionHealth]:
    """Criteria with positive points that hardly any plain rollout passes, heaviest first; see ``Symptoms.missed``."""
    return Symptoms(case).missed

"""Hindsight: whether an accepted edit keeps, at the visits that follow, the gain it was measured to have.

Observed is the same quantity that the critic measured (``agents.measurement``): for criteria the useful share and for guidance and task
text 1 - the claimed class's share over the claimed criteria, each as the mean of the visits since the edit minus that of the visits
just before it; for a level the distance of the informative share from ``flat_share`` at the visits since.
"""

from collections.abc import Sequence

from memory.decision import Decision, Hindsight
from memory.edit import RetireTask, SetLevel
from memory.memory import Memory
from memory.visit import Visit

VISITS = 4
"""Visits after an edit that are looked at, and before it at most as many: later ones owe more to training than to the edit."""


def hindsights(memory: Memory, visits: Sequence[Visit], flat_share: float) -> list[Hindsight]:
    """For every accepted edit that these visits, not yet in memory, say more of. An edit is observed until a later edit of its task is
    accepted: from then on the two cannot be told apart."""
    found = []
    for visit in visits:
        accepted = [d for d in memory.decisions.get(visit.task_id, ()) if d.outcome == "accepted" and d.measurement is not None]
        if not accepted:
            continue
        latest = accepted[-1]
        known = [*memory.visits.get(visit.task_id, ()), visit]
        # A round comes at the start of its step, so a visit of the same step has seen the edit.
        since = [v for v in known if v.step >= latest.step]
        before = [v for v in known if v.step < latest.step][-VISITS:]
        if before and 0 < len(since) <= VISITS:
            found.append(_observed(memory, latest, before, since, flat_share))
    return found


def _observed(
    memory: Memory, decision: Decision, before: Sequence[Visit], since: Sequence[Visit], flat_share: float
) -> Hindsight:
    edit = decision.edit
    assert decision.measurement is not None
    observed = _mean([quantity(memory, decision, v, flat_share) for v in since])
    if not isinstance(edit.operation, SetLevel | RetireTask):
        observed -= _mean([quantity(memory, decision, v, flat_share) for v in before])
    return Hindsight(
        edit_id=edit.id,
        visit_id=since[-1].id,
        pair_class=edit.claim.pair_class,
        claimed=decision.measurement.effect.estimate,
        observed=observed,
        visits=len(since),
    )


def quantity(memory: Memory, decision: Decision, visit: Visit, flat_share: float) -> float:
    """What the critic measured, as one visit shows it."""
    edit = decision.edit
    match edit.operation:
        case SetLevel(op="raise_level"):
            return visit.shares.informative - flat_share
        case SetLevel() | RetireTask():
            return flat_share - visit.shares.informative
    if edit.interface == "c":
        return visit.shares.agree - visit.shares.spurious
    name = edit.claim.pair_class
    entry = memory.entry_before(edit.id) or memory.harness.of(memory.tasks[edit.task_id])
    points = {c.id: abs(c.points) for c in entry.rubric if c.id in edit.claim.criterion_ids}
    claimed = [(points[h.criterion_id], getattr(h.shares, name)) for h in visit.criteria if h.criterion_id in points]
    weight = sum(w for w, _ in claimed)
    return 1 - (sum(w * share for w, share in claimed) / weight if weight else getattr(visit.shares, name))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

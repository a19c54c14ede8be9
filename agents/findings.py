"""What the critic says of an edit: the outcome, its measurement, and why, in one sentence with the numbers."""

from agents.measurement import failed_for_certain
from memory.decision import Guard, Measurement, Outcome
from memory.task import Noun

HELD_BACK = "Held back"
"""How the sentence of an edit begins that was passed over without fault of its own; it may be proposed again."""


class Finding(Noun):
    outcome: Outcome
    sentence: str
    measurement: Measurement | None


def sentence(outcome: Outcome, measurement: Measurement, least: float, held_back_for: str | None = None) -> str:
    """Why, in one sentence with the numbers. ``least`` is the gain that an edit must reach."""
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
        return f"{HELD_BACK}: {found}, but '{held_back_for}' of the same task goes first."
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
    if guard.name.startswith("informative"):
        return f"{guard.name} lies {guard.harm.estimate:.2f} on the other side ({guard.harm.low:.2f} to {guard.harm.high:.2f})"
    if guard.name.startswith("unscored"):
        return f"{guard.name}{where} rose by {guard.harm.estimate:.2f} (at most {guard.harm.high:.2f}), limit {guard.limit:.2f}"
    return f"{guard.name}{where} fell by {guard.harm.estimate:.2f} (at most {guard.harm.high:.2f}), limit {guard.limit:.2f}"

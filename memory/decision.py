"""What the critic found and decided: measurement, decision, and hindsight."""

from typing import Literal

from memory.edit import Edit, PairClass
from memory.task import Noun
from memory.visit import PairShares

Outcome = Literal["accepted", "rejected", "inconclusive"]


class Interval(Noun):
    """An estimate with its two-sided interval at ``level`` confidence."""

    estimate: float
    low: float
    high: float
    level: float = 0.95


class Guard(Noun):
    """A quantity that must not get worse, see ``agents.measurement``: ``harm`` with its interval, and the ``limit`` of its estimate.

    ``task_id`` names another task than the edited one, on which the harm was looked for.
    """

    name: str
    task_id: str | None = None
    harm: Interval
    limit: float
    holds: bool


class ScoreChange(Noun):
    """The change of the mean score, split: ``by_rollouts`` is S(y'; c) - S(y; c), ``by_criteria`` S(y'; c') - S(y'; c), with rollouts
    y and criteria c before the edit, y' and c' after it. None where nothing was scored."""

    by_rollouts: float | None
    by_criteria: float | None


class Measurement(Noun):
    """Before and after on the same ruler, from fresh rollouts of the frozen policy.

    ``effect`` is the gain on ``quantity`` (positive is better); ``noise`` the gain that an unchanged harness shows by chance in all
    but ``p_needed`` of measurements like this one; ``p_value`` the chance of a gain like this one under an unchanged harness, and
    ``p_needed`` what it had to stay under. ``rollouts`` and ``quality_calls`` are what it cost, guard tasks included.
    """

    edit_id: str
    quantity: str
    before: PairShares
    after: PairShares
    mean_score_before: float | None
    mean_score_after: float | None
    effect: Interval
    noise: float = 0.0
    p_value: float = 1.0
    p_needed: float = 0.0
    change: ScoreChange | None = None
    guards: tuple[Guard, ...] = ()
    rollouts: int
    quality_calls: int
    looks: int
    rollout_ids: tuple[str, ...] = ()


class Approval(Noun):
    """What was said of an edit that the critic had accepted and that waited for a person (``evolver.approval``): by the person, or by
    the configured default when nobody answered in time."""

    granted: bool
    by: Literal["person", "default"]
    notes: tuple[str, ...] = ()


class Decision(Noun):
    """The critic's word on one edit, with a sentence that says why. ``measurement`` is None when no rollout was spent; ``approval`` is
    None when no person was asked. An edit that the critic accepted and a person did not is rejected."""

    edit: Edit
    step: int
    round: int
    outcome: Outcome
    sentence: str
    measurement: Measurement | None = None
    revision: int = 0
    approval: Approval | None = None


ProbeKind = Literal["full_hint", "quality"]


def probe_id(kind: ProbeKind) -> str:
    """How a probe is cited as evidence."""
    return f"probe-{kind}"


class Probe(Noun):
    """A small rehearsal for the attributor, where a visit does not tell the cause of a failure.

    ``full_hint``: guidance that says all of what the blind criteria want, which no edit may; ``before`` and ``after`` are the pass
    rates of these criteria, weighted by points, without and with it. ``quality``: the policy's responses against the reference
    answer; ``before`` is the share that Q does not place below it. ``helps`` is the finding, None
    where the probe could not tell.
    """

    kind: ProbeKind
    criterion_ids: tuple[str, ...] = ()
    before: float | None = None
    after: float | None = None
    helps: bool | None = None
    rollouts: int = 0
    quality_calls: int = 0
    rollout_ids: tuple[str, ...] = ()
    sentence: str


class Attribution(Noun):
    """Why the reward of a task fails and which interface can repair it.

    ``overruled`` is what the rules would have said, where a model decided otherwise.
    """

    task_id: str
    pair_class: PairClass
    interface: Literal["p", "g", "c"]
    criterion_ids: tuple[str, ...] = ()
    reason: str
    evidence: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    overruled: str | None = None
    author: str


class Hindsight(Noun):
    """At a visit of an edited task: the measured gain against what the visits since then show, on the same quantity.

    ``visits`` counts the visits since the edit, of which ``observed`` is the mean gain; a later record of an edit replaces the
    earlier one.
    """

    edit_id: str
    visit_id: str
    pair_class: PairClass
    claimed: float
    observed: float
    visits: int = 1

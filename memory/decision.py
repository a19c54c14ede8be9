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
    """A quantity that must not get worse: it holds while the estimate of the harm stays within ``limit``.

    The interval is shown, not tested: with the few rollouts of a look, asking for certain harmlessness would refuse everything.
    """

    name: str
    harm: Interval
    limit: float
    holds: bool


class Measurement(Noun):
    """Before and after on the same ruler, from fresh rollouts of the frozen policy.

    ``effect`` is the gain on ``quantity`` (positive is better); ``rollouts`` and ``quality_calls`` are what it cost.
    """

    edit_id: str
    quantity: str
    before: PairShares
    after: PairShares
    mean_score_before: float | None
    mean_score_after: float | None
    effect: Interval
    guards: tuple[Guard, ...] = ()
    rollouts: int
    quality_calls: int
    looks: int
    rollout_ids: tuple[str, ...] = ()


class Decision(Noun):
    """The critic's word on one edit, with a sentence that says why. ``measurement`` is None when no rollout was spent."""

    edit: Edit
    step: int
    round: int
    outcome: Outcome
    sentence: str
    measurement: Measurement | None = None
    revision: int = 0


class Attribution(Noun):
    """Why the reward of a task fails and which interface can repair it."""

    task_id: str
    pair_class: PairClass
    interface: Literal["p", "g", "c"]
    criterion_ids: tuple[str, ...] = ()
    reason: str
    evidence: tuple[str, ...] = ()
    author: str


class Hindsight(Noun):
    """At the next visit of an edited task: the claimed change of the class share against the observed one."""

    edit_id: str
    visit_id: str
    pair_class: PairClass
    claimed: float
    observed: float

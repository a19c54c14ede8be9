"""Where the tasks of a round stand: the state of the evolver's graph, in plain types, and what a round comes to."""

from typing import Annotated, Literal, TypedDict

from agents.context import RoundContext
from memory.decision import Attribution, Decision, Probe
from memory.edit import Edit, apply
from memory.harness import TaskHarness
from memory.task import Noun


class Case(Noun):
    """One flagged task within a round.

    ``attempts`` counts how often its proposer was asked; ``candidates`` wait to be measured, ``dropped`` says
    why others of the proposer's replies were unusable; ``accepted`` is the edit to apply;
    ``failure`` says why a case came to nothing where a role failed or a budget was spent.
    """

    task_id: str
    status: Literal["open", "accepted", "given_up", "healthy", "failed"] = "open"
    evidence_ids: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    attribution: Attribution | None = None
    attempts: int = 0
    candidates: tuple[Edit, ...] = ()
    dropped: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    accepted: Edit | None = None
    failure: str | None = None

    def with_(self, **changes) -> "Case":
        return self.model_copy(update=changes)

    def gave_up(self, failure: str | None = None) -> "Case":
        return self.with_(status="given_up", candidates=(), failure=failure or self.failure)


Cases = dict[str, dict]
"""Cases by task id, as JSON types: nothing else survives a checkpoint unchanged."""


def merged(old: Cases, new: Cases) -> Cases:
    """The reducer of the graph's state: a node returns the cases it has changed."""
    return {**old, **new}


class RoundState(TypedDict):
    context: dict
    cases: Annotated[Cases, merged]
    passed: int
    """How often the critic has been called."""


class CaseState(TypedDict):
    """What a node that looks at one case is sent."""

    context: dict
    case: dict


class RoundResult(Noun):
    """What a round came to. ``entries`` are the new entries of the tasks with an accepted edit."""

    cases: tuple[Case, ...]
    entries: dict[str, TaskHarness]

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return tuple(d for case in self.cases for d in case.decisions)


def load(state: RoundState) -> list[Case]:
    return [Case.model_validate(c) for c in state["cases"].values()]


def dump(*cases: Case) -> Cases:
    return {c.task_id: c.model_dump(mode="json") for c in cases}


def start(context: RoundContext, task_ids: list[str]) -> RoundState:
    return {"context": context.model_dump(mode="json"), "cases": dump(*(Case(task_id=i) for i in task_ids)), "passed": 0}


def result(cases: list[Case], entry) -> RoundResult:
    """``entry`` gives the present entry of a task."""
    return RoundResult(
        cases=tuple(cases), entries={c.task_id: apply(c.accepted, entry(c.task_id)) for c in cases if c.accepted is not None}
    )

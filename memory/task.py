"""Task, criterion and verdict: what is asked, and what makes an answer good."""

import math
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

Role = Literal["system", "user", "assistant"]


class Noun(BaseModel):
    """Base of all records: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(Noun):
    role: Role
    content: str


class Rule(Noun):
    """A check in code: the name of a registered rule (``training.reward.rules``) and its arguments."""

    name: str
    args: dict[str, Any] = Field(default_factory=dict)


_LEVEL = re.compile(r"\s*(-?\d{1,3})(?:\s*[-–~]\s*(\d{1,3}))?\s*")


def level_values(names: Iterable[str]) -> tuple[int, ...]:
    """The whole numbers that level names like ``3`` and ``3-4`` stand for, lowest first.

    Raises:
        ValueError: a name is neither a whole number nor a range, or two names share a number.
    """
    values: list[int] = []
    for name in names:
        found = _LEVEL.fullmatch(name)
        if found is None:
            raise ValueError(f"a level must be named by a whole number or a range like '3-4', got '{name}'")
        low = int(found[1])
        values += range(low, int(found[2] or low) + 1)
    if len(set(values)) < len(values) or (not values and list(names)):
        raise ValueError(f"levels overlap or are empty: {', '.join(names)}")
    return tuple(sorted(values))


def _usable(points: float) -> float:
    if not math.isfinite(points) or points == 0:
        raise ValueError(f"points must be a non-zero finite number, got {points}")
    return points


Points = Annotated[float, AfterValidator(_usable)]
"""What a criterion is worth: not 0, finite, negative for what is unwanted."""


class Criterion(Noun):
    """One line of a rubric.

    A criterion *passes* when it is met and its points are positive, or not met and its points are negative.
    ``levels`` describes the steps of a graded criterion by a whole number or a range of them (``"3"``, ``"3-4"``).
    ``title`` is a short name for people; ``tags`` are the user's own labels. ``drafted`` marks a criterion that a language model
    wrote and no person has read. ``parents`` are the ids of the criteria it was made from (reword, merge, split); ``c_0`` criteria
    have none.
    """

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    points: Points
    kind: Literal["llm", "rule", "levels"] = "llm"
    rule: Rule | None = None
    levels: dict[str, str] | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    drafted: bool = False
    parents: tuple[str, ...] = ()

    @field_validator("levels", mode="before")
    @classmethod
    def _level_names_are_text(cls, levels: Any) -> Any:
        return {str(name): text for name, text in levels.items()} if isinstance(levels, dict) else levels

    @model_validator(mode="after")
    def _kind_has_its_parts(self) -> "Criterion":
        if (self.kind == "rule") != (self.rule is not None):
            raise ValueError(f"criterion '{self.id}': kind 'rule' and the field 'rule' go together, got kind '{self.kind}'")
        if (self.kind == "levels") != (self.levels is not None):
            raise ValueError(f"criterion '{self.id}': kind 'levels' and the field 'levels' go together, got '{self.kind}'")
        if self.levels is not None and len(level_values(self.levels)) < 2:
            raise ValueError(f"criterion '{self.id}': 'levels' needs at least two steps, got {len(self.levels)}")
        return self

    @cached_property
    def legal_levels(self) -> tuple[int, ...]:
        """The levels a judge may give, lowest first; none for other kinds."""
        return level_values(self.levels or {})


class Origin(Noun):
    """Where a task came from: source by name, row in it (from 1), licence as the source states it."""

    source: str
    row: int | None = None
    licence: str | None = None


class Task(Noun):
    """A prompt, its domain and ``c_0``, the rubric the user brought, which is never overwritten.

    ``tags`` are labels like ``topic:sleep``, kept for filters and reports.
    """

    id: str = Field(min_length=1)
    domain: str = Field(min_length=1)
    messages: tuple[Message, ...] = Field(min_length=1)
    rubric: tuple[Criterion, ...] = Field(min_length=1)
    reference: str | None = None
    tags: tuple[str, ...] = ()
    origin: Origin | None = None

    @model_validator(mode="after")
    def _criterion_ids_are_unique(self) -> "Task":
        ids = [criterion.id for criterion in self.rubric]
        twice = sorted({i for i in ids if ids.count(i) > 1})
        if twice:
            raise ValueError(f"task '{self.id}': criterion ids must be unique, got twice: {', '.join(twice)}")
        return self


class Verdict(Noun):
    """What the judge says of one criterion. A failed judgement is ``unscored`` with a reason, never a number.

    ``grade`` is the share of the criterion that was met: 0 or 1, or a step in between for ``levels``.
    """

    criterion_id: str
    status: Literal["met", "not_met", "unscored"]
    grade: float | None = None
    reason: str = ""

    @classmethod
    def of(cls, criterion_id: str, met: bool, reason: str = "") -> "Verdict":
        return cls(criterion_id=criterion_id, status="met" if met else "not_met", grade=float(met), reason=reason)

    @classmethod
    def graded(cls, criterion_id: str, grade: float, reason: str = "") -> "Verdict":
        """A verdict on a ``levels`` criterion: the upper half of the scale counts as met."""
        return cls(criterion_id=criterion_id, status="met" if grade >= 0.5 else "not_met", grade=grade, reason=reason)

    @classmethod
    def unscored(cls, criterion_id: str, reason: str) -> "Verdict":
        return cls(criterion_id=criterion_id, status="unscored", reason=reason)

    def passes(self, criterion: Criterion) -> bool | None:
        """Whether the criterion passes; None when unscored."""
        if self.status == "unscored":
            return None
        return (self.status == "met") == (criterion.points > 0)

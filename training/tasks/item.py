"""What a file says of one criterion before its points are understood; ``criteria.py`` makes criteria of items."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory.task import Rule
from training.tasks.values import MISSING

TEXTS = (
    "criterion",
    "description",
    "requirement",
    "requirements",
    "criteria_description",
    "criteria",
    "statement",
    "rubric",
    "text",
    "question",
)
"""Fields that hold a criterion's text, the most telling first."""
POINTS = ("points", "weight", "score", "importance", "point", "weights")
NAMES = ("title", "name")


@dataclass(frozen=True)
class Item:
    """``points`` is ``MISSING`` where the file gives none; ``points_field`` is where they would stand, for messages."""

    field: str
    text: Any
    points: Any = MISSING
    points_field: str = ""
    levels: Mapping[str, Any] | None = None
    rule: Rule | None = None
    title: Any = None
    tags: tuple[str, ...] = ()
    sign: int = 0
    """Of the list it stands in, where that has one: points are then taken by size."""

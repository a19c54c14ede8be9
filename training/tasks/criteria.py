"""From items to criteria: points understood, texts tidied, repetitions left out, contradictions refused."""

import json
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from memory.errors import TaskError
from memory.task import Criterion, Rule
from training.reward import rules
from training.tasks.item import Item
from training.tasks.notes import Note, RowError
from training.tasks.text import tidy, whole
from training.tasks.values import MISSING, points_of

MANY = 30
"""Criteria above which a rubric is flagged; RubricHub (arXiv 2601.08430) has many such rubrics, and each is a judge call per rollout."""
LONG = 2000
"""Characters above which a criterion is flagged."""


def make_criteria(
    items: Sequence[Item], field: str, words: Mapping[str, float], unknown_rules: str, notes: list[Note]
) -> tuple[Criterion, ...]:
    """The criteria of a rubric, with ids ``c1``, ``c2``, ... by their place in the file.

    Args:
        words: points of words like ``Essential``.
        unknown_rules: ``stop``, or ``judge`` to leave criteria with a rule that is not known here to the judge.

    Raises:
        RowError: points missing or illegal, an unknown rule, a contradiction, or nothing left.
    """
    points = _points(items, field, words, notes)
    kept: dict[str, tuple[Criterion, str]] = {}
    for k, (item, worth) in enumerate(zip(items, points, strict=True), 1):
        if worth == 0:
            notes.append(Note("W_ZERO_WEIGHT", f"{item.points_field or item.field} is 0, the criterion was left out"))
            continue
        criterion = _criterion(f"c{k}", item, worth, unknown_rules, notes)
        key = f"{criterion.text.casefold()}\n{criterion.rule!r}{criterion.levels!r}"
        if key in kept:
            _check_repetition(kept[key], criterion, item.field, notes)
        else:
            kept[key] = criterion, item.field
    if not kept:
        raise RowError("E_EMPTY_RUBRIC", f"{field} has no criterion with points; give at least one that is worth something")
    criteria = tuple(criterion for criterion, _ in kept.values())
    if len(criteria) > MANY:
        notes.append(Note("W_MANY_CRITERIA", f"{field} has {len(criteria)} criteria"))
    if all(criterion.points < 0 for criterion in criteria):
        notes.append(Note("W_NO_POSITIVE", f"{field} has only negative points"))
    return criteria


def _points(items: Sequence[Item], field: str, words: Mapping[str, float], notes: list[Note]) -> list[float]:
    missing = [item for item in items if item.points is MISSING]
    if len(missing) == len(items):
        notes.append(Note("W_DEFAULT_WEIGHT", f"{field}: no points given, each criterion counts 1"))
        return [1.0] * len(items)
    if missing:
        raise RowError(
            "E_MISSING_WEIGHT",
            f"{missing[0].field} has no points while others have; give every criterion of a rubric points, or none of them",
        )
    found = [points_of(item.points, item.points_field, words, notes) for item in items]
    return [item.sign * abs(worth) if item.sign else worth for item, worth in zip(items, found, strict=True)]


def _criterion(name: str, item: Item, points: float, unknown_rules: str, notes: list[Note]) -> Criterion:
    text = tidy(item.text, item.field, notes)
    is_rule = item.rule is not None and _is_known(item.rule, item.field, unknown_rules, notes)
    if item.rule is not None and not is_rule and text == item.rule.name:
        text = f"Follows the prompt's instruction {item.rule.name} {json.dumps(item.rule.args, ensure_ascii=False)}"
    if len(text) > LONG:
        notes.append(Note("W_LONG_CRITERION", f"{item.field} has {len(text)} characters"))
    parts: dict[str, object] = {}
    if is_rule:
        parts |= {"kind": "rule", "rule": item.rule}
    elif item.levels is not None:
        steps = {name: tidy(step, f"{item.field}, level {name}", notes) for name, step in item.levels.items()}
        parts |= {"kind": "levels", "levels": steps}
    if item.title is not None:
        parts["title"] = tidy(item.title, f"{item.field}, title", notes)
    if item.tags:
        parts["tags"] = tuple(whole(tag, f"{item.field}.tags", notes) for tag in item.tags)
    try:
        return Criterion(id=name, text=text, points=points, **parts)  # type: ignore[arg-type]
    except ValidationError as error:
        raise RowError("E_LEVELS", f"{item.field}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


def _is_known(rule: Rule, field: str, unknown_rules: str, notes: list[Note]) -> bool:
    """Whether a rule can be checked here."""
    if not rules.known(rule.name) and unknown_rules == "judge":
        notes.append(Note("W_UNKNOWN_RULE", f"{field}: the rule '{rule.name}' is left to the judge"))
        return False
    try:
        rules.validate(rule)
    except TaskError as error:
        if rules.known(rule.name):
            raise RowError("E_RULE_ARGS", f"{field}: {error}") from None
        way_out = "to leave such criteria to the judge, write unknown_rules: judge in the source"
        raise RowError("E_UNKNOWN_RULE", f"{field}: {error}; {way_out}") from None
    return True


def _check_repetition(first: tuple[Criterion, str], again: Criterion, field: str, notes: list[Note]) -> None:
    kept, place = first
    if kept.points != again.points:
        raise RowError(
            "E_DUPLICATE_CONFLICT",
            f"{place} and {field} are the same criterion with {kept.points:g} and {again.points:g} points; keep the one that is meant",
        )
    notes.append(Note("W_DUPLICATE_CRITERION", f"{field} repeats {place} and was left out"))

"""Rubrics as people bring them to items: lists, texts, columns, trees, levels, mappings by name."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from memory.task import Rule
from training.tasks.item import NAMES, POINTS, TEXTS, Item
from training.tasks.listing import item_of_text, items_of_text
from training.tasks.notes import Note, RowError
from training.tasks.text import is_blank
from training.tasks.values import MISSING, rows_of_columns, unpacked

_INNER = ("rubrics", "rubric", "criteria", "items", "checklist")
_COMMON = frozenset((*TEXTS, *NAMES, *POINTS, "id", "tags"))
_FIRST = tuple("-0123456789")
_RANGE = re.compile(r"-?\d{1,3}(?:\s*[-–~]\s*\d{1,3})?")
_SCORE = re.compile(r"(?:score|level)[_ ]?(\d{1,3})(?:_description)?")
_WORTH = re.compile(r"point|pts|weight|score|penalt|reward|importance|分|权重", re.IGNORECASE)
"""Names of fields that seem to say what a criterion is worth."""
_UNWANTED_FLAGS = {
    **dict.fromkeys(("type", "polarity", "sign"), ("negative", "penalty", "pitfall", "undesirable", "-")),
    **dict.fromkeys(("answer", "expected", "expected_answer"), ("no", "false", "否")),
}
"""Fields and their values that turn a criterion round."""


def read_items(value: Any, field: str, notes: list[Note]) -> list[Item]:
    """The items of a rubric value of any of the shapes above.

    Raises:
        RowError: empty, or of a shape that cannot be understood.
    """
    value = unpacked(value, field, notes)
    if is_blank(value):
        raise RowError("E_EMPTY_RUBRIC", f"{field} is empty; give at least one criterion with a text")
    if isinstance(value, str):
        if re.match(r"\s*(?:```\w*\s*)?\"?(?:\[\s*)?\\{0,3}[{\[]\s*\\*['\"]", value):
            raise RowError(
                "E_BAD_JSON", f"{field} looks like JSON but cannot be read as such: {value.strip()[:40]!r}; write valid JSON"
            )
        return items_of_text(value, field, notes)
    if isinstance(value, list):
        return [_of_element(element, f"{field}[{k}]", notes) for k, element in enumerate(value)]
    if isinstance(value, dict):
        return _of_mapping(value, field, notes)
    raise RowError("E_RUBRIC_TYPE", f"{field} must be a list of criteria, got {type(value).__name__} {str(value)[:40]!r}")


def _of_element(element: Any, field: str, notes: list[Note]) -> Item:
    element = unpacked(element, field, notes)
    if isinstance(element, str):
        return item_of_text(element, field)
    if not isinstance(element, dict):
        raise RowError(
            "E_RUBRIC_TYPE", f"{field} must be a text or a mapping, got {type(element).__name__} {str(element)[:40]!r}"
        )
    return _of_criterion(element, field)


def _of_criterion(element: Mapping[str, Any], field: str) -> Item:
    if not all(type(k) is str and k.islower() for k in element):
        element = {str(k).strip().lower(): v for k, v in element.items()}
    key = next((k for k in TEXTS if not is_blank(element.get(k))), None) or next((k for k in TEXTS if k in element), None)
    name = next((element[k] for k in NAMES if not is_blank(element.get(k))), None)
    points_key = next((k for k in POINTS if element.get(k) not in (None, "")), None)  # tables fill fields of other rows with null
    points = element[points_key] if points_key else MISSING
    levels = _levels(element, field)
    _check_clear(element, field, points, levels)
    if key is None and name is None:
        raise RowError(
            "E_RUBRIC_TYPE", f"{field} has no text: found {', '.join(map(str, element))}; one of {', '.join(TEXTS)} is expected"
        )
    text, more = name if key is None else element[key], element.get("description")
    if (
        key not in (None, "description")
        and isinstance(text, str)
        and isinstance(more, str)
        and not is_blank(more)
        and more != text
    ):
        text = f"{text}: {more}"
    if key == "criteria_description" and name is not None:
        text, name = f"{name}: {text}", None
    return Item(
        f"{field}.{key or 'name'}" if is_blank(text) else field,
        text,
        points,
        f"{field}.{points_key or 'weight'}",
        levels,
        _rule(element, field),
        None if key is None else name,
        tuple(_tags(element.get("tags"))),
    )


def _check_clear(element: Mapping[str, Any], field: str, points: Any, levels: Mapping[str, Any] | None) -> None:
    """Refuse a criterion of which something that counts would be lost: points under another name, a sign, criteria inside it."""
    further = element.keys() - _COMMON
    lists = [k for k, value in element.items() if type(value) is list and k != "tags"]
    if not further and not lists:
        return
    worth = next((k for k in further if type(element[k]) in (int, float) and _WORTH.search(k)), None)
    if worth is not None and points is MISSING and levels is None:
        raise RowError(
            "E_MISSING_WEIGHT", f"{field} has no points, but a number in '{worth}'; if that is what it is worth, call it points"
        )
    flag = next(
        (k for k, said in _UNWANTED_FLAGS.items() if k in further and str(element.get(k, "")).strip().casefold() in said), None
    )
    if flag is not None and (points is MISSING or (isinstance(points, int | float) and points > 0)):
        raise RowError(
            "E_WEIGHT_TYPE",
            f"{field}.{flag} is '{element[flag]}', so meeting the criterion is bad, but its points are not negative; "
            "give negative points, or reword it to what is wanted",
        )
    if (inner := next((k for k in lists if _holds_criteria(k, element[k])), None)) is not None:
        raise RowError(
            "E_RUBRIC_TYPE",
            f"{field}.{inner} holds criteria inside a criterion; write them side by side, each with points of its own",
        )


def _holds_criteria(name: str, value: Any) -> bool:
    if name in ("levels", "scale", "scores", "scoring", "tags") or not isinstance(value, list) or not value:
        return False
    named = name in (*_INNER, "sub_criteria", "subcriteria")
    return named or all(isinstance(v, dict) and any(k in v for k in TEXTS) for v in value)


def _levels(element: Mapping[str, Any], field: str) -> Mapping[str, Any] | None:
    """Steps of a graded criterion: keys like ``1-2`` or ``score3_description``, or a field ``levels``."""
    given = next((element[k] for k in ("levels", "scale", "scores", "scoring") if isinstance(element.get(k), list | dict)), None)
    given = element.get("levels") if given is None else given
    if isinstance(given, list) and given and all(isinstance(step, dict) for step in given):
        named = [(next((s[k] for k in ("score", "level", "value") if k in s), None), s) for s in given]
        return {str(n): next((s[k] for k in ("description", "text", "label") if k in s), "") for n, s in named}
    if isinstance(given, dict) and given:
        return {str(name): text for name, text in given.items() if text is not None}
    if not is_blank(given):
        raise RowError("E_LEVELS", f"{field}.levels must map each level to its description, got {type(given).__name__}")
    if not any(key[:1] in _FIRST or key.startswith(("score", "level")) for key in map(str, element)):
        return None
    ranges = {str(k): v for k, v in element.items() if _RANGE.fullmatch(str(k)) and not is_blank(v)}
    scores = {m[1]: v for k, v in element.items() if (m := _SCORE.fullmatch(str(k))) and isinstance(v, str) and not is_blank(v)}
    return next((found for found in (ranges, scores) if len(found) > 1), None)


def _rule(element: Mapping[str, Any], field: str) -> Rule | None:
    """A check in code: our own ``rule``, or a function name with parameters as in RubricHub's ``tags``."""
    tags = element.get("tags")
    if "rule" not in element and "function" not in element and not isinstance(tags, dict | str):
        return None
    own = unpacked(element.get("rule"), f"{field}.rule", [])
    if isinstance(own, str) and not is_blank(own):
        own = {"name": own, "args": element.get("args", element.get("parameters"))}
    if isinstance(own, dict) and "name" in own:
        return Rule(name=str(own["name"]), args=_arguments(own.get("args"), f"{field}.rule.args"))
    for holder, place in ((unpacked(tags, f"{field}.tags", []), f"{field}.tags"), (element, field)):
        is_rule = isinstance(holder, dict) and str(holder.get("verifier") or "rule").casefold() == "rule"
        if is_rule and not is_blank(holder.get("function")):
            return Rule(name=str(holder["function"]), args=_arguments(holder.get("parameters"), f"{place}.parameters"))
    return None


def _arguments(value: Any, field: str) -> dict[str, Any]:
    """A rule's arguments; those without a value are left out, as tables give every row the arguments of all rules."""
    value = unpacked(value, field, [])
    if is_blank(value):
        return {}
    if not isinstance(value, dict):
        raise RowError("E_RULE_ARGS", f"{field} must be a mapping of arguments, got {type(value).__name__} {str(value)[:40]!r}")
    return {str(k): v for k, v in value.items() if v is not None}


def rule_of_instruction(name: Any, arguments: Any, field: str) -> Rule:
    """The rule of an IFEval or IFBench instruction."""
    return Rule(name=str(name), args=_arguments(arguments, field))


def _tags(value: Any) -> Iterator[str]:
    value = unpacked(value, "tags", [])
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        yield from (str(v) for v in value if not is_blank(v))
    elif isinstance(value, dict):
        yield from (f"{k}:{v}" for k, v in value.items() if k not in ("function", "parameters", "verifier") and not is_blank(v))


def _of_mapping(value: Mapping[str, Any], field: str, notes: list[Note]) -> list[Item]:
    if "sub_tasks" in value:
        notes.append(Note("W_FLATTENED", f"{field}: the tree was flattened to its leaves"))
        return _leaves(value, field)
    value = {k: unpacked(v, f"{field}.{k}", notes) for k, v in value.items()}
    lists = {k: v for k, v in value.items() if isinstance(v, list)}
    if signed := [(k, sign) for k in lists if (sign := _sign(k))]:
        others = [
            k for k, v in value.items() if not is_blank(v) and not (k in lists and _sign(k)) and isinstance(v, list | dict | str)
        ]
        if others:
            raise RowError(
                "E_RUBRIC_TYPE",
                f"{field}.{others[0]} stands beside {signed[0][0]}; what is wanted and unwanted must be two lists, and nothing beside them",
            )
        return [item for k, sign in signed for item in _signed(lists[k], f"{field}.{k}", sign, notes)]
    if (
        any(k in lists for k in TEXTS)
        and len(lists) > 0
        and all(not isinstance(v, dict) for v in lists[next(k for k in TEXTS if k in lists)])
    ):
        notes.append(Note("W_COLUMNAR", f"{field}: columns were turned into rows"))
        return [_of_element(element, f"{field}[{k}]", notes) for k, element in enumerate(rows_of_columns(lists, field))]
    if any(k in value for k in TEXTS) and (_levels(value, field) or any(isinstance(value.get(k), str) for k in TEXTS)):
        return [_of_criterion(value, field)]
    inner = next((k for k in _INNER if isinstance(value.get(k), list | dict | str)), None)
    if inner is not None:
        return read_items(value[inner], f"{field}.{inner}", notes)
    return [_named(name, element, f"{field}.{name}") for name, element in value.items() if element is not None]


def _named(name: str, element: Any, field: str) -> Item:
    """An entry of a mapping by name: name to text, text to points, or name to a criterion."""
    if isinstance(element, str):
        if re.fullmatch(r"\s*[-+\u2212]?\d+(?:\.\d+)?\s*", element):
            return Item(field, name, element, field)
        return Item(field, f"{name}: {element}")
    if isinstance(element, dict):
        return _of_criterion({"name": name, **element}, field)
    if isinstance(element, int | float):
        return Item(field, name, element, field)
    raise RowError("E_RUBRIC_TYPE", f"{field} must be a text, points or a mapping, got {type(element).__name__}")


def _sign(name: str) -> int:
    """+1 and -1 for names like ``positive_rubrics`` and ``negative``; 0 for any other."""
    words = set(re.split(r"[\W_]+", name.lower()))
    return bool(words & {"positive", "positives", "pos"}) - bool(
        words & {"negative", "negatives", "neg", "penalties", "pitfalls"}
    )


def _signed(elements: list[Any], field: str, sign: int, notes: list[Note]) -> Iterator[Item]:
    """Items of a list of things wanted (sign +1) or unwanted (-1), as in DR Tulu; given points are taken by size."""
    for k, element in enumerate(elements):
        item = _of_element(element, f"{field}[{k}]", notes)
        if item.points is MISSING:
            notes.append(Note("W_DEFAULT_WEIGHT", f"{field}[{k}]: no points given, {sign:+d} taken"))
            item = replace(item, points=sign)
        yield replace(item, sign=sign)


def _leaves(root: Mapping[str, Any], field: str) -> list[Item]:
    """Leaves of a weighted tree; a leaf's points are the product of its and its ancestors' shares among their siblings.

    A text that several leaves have in common says what it means only below its ancestors, so those go before it.
    """
    found: list[tuple[Item, str]] = []
    stack: list[tuple[Mapping[str, Any], str, float, tuple[str, ...]]] = [(root, field, 1.0, ())]
    while stack:
        node, place, share, above = stack.pop()
        text = node.get("requirements", node.get("criterion"))
        children = node.get("sub_tasks")
        if not children:
            found.append((Item(f"{place}.requirements", text, share, f"{place}.weight"), ": ".join(above[1:])))
            continue
        if not isinstance(children, list) or not all(isinstance(child, dict) for child in children):
            raise RowError("E_RUBRIC_TYPE", f"{place}.sub_tasks must be a list of nodes, got {type(children).__name__}")
        shares = _shares(children, place)
        inner = [
            (child, f"{place}.sub_tasks[{k}]", share * part, (*above, str(text)))
            for k, (child, part) in enumerate(zip(children, shares, strict=True))
        ]
        stack += reversed(inner)
    often = Counter(str(item.text) for item, _ in found)
    return [replace(item, text=f"{above}: {item.text}") if often[str(item.text)] > 1 and above else item for item, above in found]


def _shares(children: list[Mapping[str, Any]], place: str) -> list[float]:
    """The children's weights as shares of their sum."""
    weights = [child.get("weight", 1) for child in children]
    for k, weight in enumerate(weights):
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < float("inf"):
            raise RowError("E_WEIGHT_TYPE", f"{place}.sub_tasks[{k}].weight must be a number of at least 0, got {weight!r}")
    total = sum(weights)
    if total == 0:
        raise RowError("E_WEIGHT_TYPE", f"{place}.sub_tasks: at least one weight must be above 0, got only zeros")
    return [weight / total for weight in weights]

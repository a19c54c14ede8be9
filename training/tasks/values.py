"""Values as files hold them: dotted fields, JSON inside strings, columns in place of rows, points as numbers or words."""

import ast
import json
import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

from training.tasks.notes import Note, RowError

_PYTHON = re.compile(r"\[?\s*\{\s*['\"]|\[\s*['\"]")
"""How lists of mappings or texts, and mappings, begin in JSON and Python alike."""
MISSING = object()
"""No such field, which is something else than an empty one."""


def plain(value: Any) -> Any:
    """Arrays and scalars of numpy and Arrow as lists and Python numbers, and Arrow's map pairs as dictionaries, at any depth."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        if value and all(isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str) for v in value):
            return {k: plain(v) for k, v in value}
        return [plain(v) for v in value]
    return value


def at(record: Mapping[str, Any], path: str) -> Any:
    """The value at a field name or dotted path, through JSON strings on the way; ``MISSING`` where there is none."""
    if path in record:
        return record[path]
    here: Any = record
    for part in path.split("."):
        if isinstance(here, str) and (parsed := from_json(here)) is not MISSING:
            here = parsed
        if not isinstance(here, Mapping) or part not in here:
            return MISSING
        here = here[part]
    return here


def from_json(text: str) -> Any:
    """The list or mapping that a string holds as JSON, as JSON in JSON, or as Python writes it; ``MISSING`` for any other string."""
    bare = text.strip()
    if bare[:1] not in ("[", "{") and bare[:2] not in ('"[', '"{'):
        return MISSING
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        value = _from_python(bare)
    if isinstance(value, str):
        return from_json(value)
    return value if isinstance(value, list | dict) else MISSING


def _from_python(text: str) -> Any:
    """Lists of mappings as pandas writes them to CSV cells, with single quotes, None and nan."""
    if not _PYTHON.match(text):
        return MISSING
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return MISSING


def unpacked(value: Any, field: str, notes: list[Note]) -> Any:
    """A value, parsed where it is JSON inside a string."""
    if isinstance(value, str) and (parsed := from_json(value)) is not MISSING:
        notes.append(Note("W_JSON_STRING", f"{field}: JSON inside a string was parsed"))
        return parsed
    return value


def points_of(value: Any, field: str, words: Mapping[str, float], notes: list[Note]) -> float:
    """Points from a number, a number as text, or a word that ``words`` maps to a number.

    Raises:
        RowError: none of these, or not finite.
    """
    if isinstance(value, bool):
        raise RowError("E_WEIGHT_TYPE", f"{field} must be a number, got {value}; give how many points the criterion is worth")
    if isinstance(value, numbers.Real) or type(value).__name__ == "Decimal":
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    elif isinstance(value, str):
        number = _from_text(value, field, words, notes)
    else:
        raise RowError("E_WEIGHT_TYPE", f"{field} must be a number, got {type(value).__name__} {str(value)[:40]!r}")
    if not math.isfinite(number):
        raise RowError(
            "E_WEIGHT_NOT_FINITE", f"{field} must be a finite number, got {number}; a missing value is left out instead"
        )
    return number


def _from_text(text: str, field: str, words: Mapping[str, float], notes: list[Note]) -> float:
    word = text.strip()
    lowered = {name.casefold(): points for name, points in words.items()}
    if word.casefold() in lowered:
        return lowered[word.casefold()]
    try:
        number = float(word.replace("\u2212", "-"))
    except ValueError:
        known = f"; the map has {', '.join(words)}" if words else ""
        raise RowError(
            "E_WEIGHT_TYPE",
            f"{field} must be a number, got '{text[:40]}'; write a number, or map words to points with "
            f"weights: {{{word[:40]}: 5}} in the source{known}",
        ) from None
    notes.append(Note("W_NUMERIC_STRING", f"{field}: the text '{text[:40]}' was read as {number:g}"))
    return number


def rows_of_columns(columns: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    """A mapping of equally long lists as a list of mappings. Raises ``RowError`` for lists of different lengths."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise RowError("E_LENGTH_MISMATCH", f"{field}: the lists must be equally long, got {told}")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

"""The registry: rules by name, their arguments held to their signatures, and the names that other collections use."""

import inspect
import re
import string
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError, create_model
from pydantic_core import ErrorDetails

from memory.errors import TaskError, nearest
from memory.task import Rule
from training.reward.rules.text import words


def _has_a_word(text: str) -> str:
    if not words(text):
        raise ValueError("no word in it")
    return text


def _whole(value: Any) -> Any:
    """Tables hold whole numbers as 5.0; a text or a truth value is none."""
    if isinstance(value, bool | str):
        raise ValueError("not a number")
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_seen(text: str) -> str:
    if not text.strip():
        raise ValueError("only white space")
    return text


def _is_single(text: str) -> str:
    if len(unicodedata.normalize("NFC", text)) != 1:
        raise ValueError("not one sign")
    return text


Text = Annotated[str, Strict(), Field(min_length=1, description="a text that is not empty")]
Marker = Annotated[str, Strict(), AfterValidator(_is_seen), Field(description="a text that is not blank")]
Letter = Annotated[str, Strict(), AfterValidator(_is_seen), AfterValidator(_is_single), Field(description="one letter or sign")]
Phrase = Annotated[str, Strict(), AfterValidator(_has_a_word), Field(description="text with at least one word")]
Phrases = Annotated[list[Phrase], Field(min_length=1, description="a non-empty list of texts with at least one word each")]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=1, description="a whole number of at least 1")]
Bound = Annotated[int, BeforeValidator(_whole), Field(ge=0, description="a whole number of at least 0")]
Share = Annotated[float, Field(gt=0, le=1, strict=True, description="a number above 0 and at most 1")]
Percentage = Annotated[float, Field(ge=0, le=100, description="a number from 0 to 100")]


@dataclass(frozen=True)
class Registered:
    """A rule's function, the schema of its arguments, and what it asks for, with the arguments' names in braces.

    ``bounded`` rules count something and need ``min``, ``max`` or both.
    """

    function: Callable[..., bool]
    schema: type[BaseModel]
    asks: str
    bounded: bool = False


@dataclass(frozen=True)
class Alias:
    """Another collection's name for a rule: its arguments by that collection's names, and ours made of them."""

    name: str
    arguments: tuple[str, ...]
    translate: Callable[[Mapping[str, Any]], dict[str, Any]] = field(repr=False)


_ENTRIES, _CHARACTERS = 8, 80
"""Of a list and of a text in a description."""

RULES: dict[str, Registered] = {}
ALIASES: dict[str, Alias] = {}


def rule(name: str) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Register ``function(response, **arguments) -> bool``.

    The annotations of its arguments are their schema. The first line of its docstring is what people read of the rule, with its
    arguments in braces and ``{s}`` for the plural after a number: ``Has at least {min} section{s}.``
    """

    def register(function: Callable[..., bool]) -> Callable[..., bool]:
        _add(name, function, _fields(function), bounded=False)
        return function

    return register


def counted(name: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register ``function(response, **arguments) -> int`` as a rule that holds the number, ``{count}``, to ``min`` and ``max``."""

    def register(function: Callable[..., int]) -> Callable[..., int]:
        def check(response: str, min: int | None, max: int | None, **arguments: Any) -> bool:
            found = function(response, **arguments)
            return (min is None or found >= min) and (max is None or found <= max)

        check.__doc__ = function.__doc__
        bounds: dict[str, Any] = {"min": (Bound | None, None), "max": (Bound | None, None)}
        _add(name, check, _fields(function) | bounds, bounded=True)
        return function

    return register


def _fields(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {p.name: (p.annotation, ... if p.default is inspect.Parameter.empty else p.default) for p in parameters}


def _add(name: str, function: Callable[..., bool], fields: dict[str, Any], bounded: bool) -> None:
    if name in RULES or name in ALIASES:
        raise ValueError(f"rule '{name}' is registered twice")
    asks = (inspect.getdoc(function) or "").split("\n")[0].rstrip(".")
    needed = {"count"} if bounded else {argument for argument, (_, default) in fields.items() if default is ...}
    if not asks or not needed <= _named(asks):
        raise ValueError(
            f"rule '{name}': the first line of its docstring must say what it asks for, with {sorted(needed)} in braces"
        )
    schema = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    RULES[name] = Registered(function, schema, asks[0].lower() + asks[1:], bounded)


def _named(asks: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(asks) if name}


def alias(theirs: str, ours: str, /, fixed: Mapping[str, Any] | None = None, **names: str) -> None:
    """``theirs`` is our rule ``ours`` with arguments under other names (ours=theirs) and with ``fixed`` ones."""
    values = dict(fixed or {})
    translate_as(theirs, ours, tuple(names.values()), lambda given: {o: given[t] for o, t in names.items()} | values)


def translate_as(
    theirs: str, ours: str, arguments: tuple[str, ...], translate: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> None:
    """``theirs`` is our rule ``ours`` with arguments made of theirs, all of which must be given."""
    if theirs in RULES or theirs in ALIASES:
        raise ValueError(f"rule '{theirs}' is registered twice")
    ALIASES[theirs] = Alias(ours, arguments, translate)


def known(name: str) -> bool:
    """Whether a rule of this name, ours or another collection's, can be checked."""
    return name in RULES or name in ALIASES


def check(rule: Rule, response: str) -> bool:
    """Whether ``response`` meets ``rule``. Raises ``TaskError`` for a rule that ``validate`` would refuse."""
    registered, arguments = _resolved(rule)
    return registered.function(response, **{name: getattr(arguments, name) for name in type(arguments).model_fields})


def validate(rule: Rule) -> None:
    """Raise ``TaskError`` with one sentence if the rule is unknown or an argument is missing, unknown or of a wrong type."""
    _resolved(rule)


def describe(rule: Rule) -> str:
    """What a rule asks for, as the rest of a sentence on the response: ``has at most 100 words``.

    Raises:
        TaskError: for a rule that ``validate`` would refuse.
    """
    registered, arguments = _resolved(rule)
    given = {name: getattr(arguments, name) for name in registered.schema.model_fields}
    numbers = [value for value in given.values() if isinstance(value, int) and not isinstance(value, bool)]
    said = {name: _shown(value) for name, value in given.items()} | {"s": "s" if not numbers or numbers[-1] != 1 else ""}
    if registered.bounded:
        said["count"] = _range(given.pop("min"), given.pop("max"))
    beside = [
        name.replace("_", " ") + ("" if value is True else f": {_shown(value)}")
        for name, value in given.items()
        if name not in _named(registered.asks) and value != registered.schema.model_fields[name].default
    ]
    return registered.asks.format_map(said) + (f" ({', '.join(beside)})" if beside else "")


def _range(least: int | None, most: int | None) -> str:
    if least is None or most is None:
        return f"at most {most}" if least is None else f"at least {least}"
    return f"exactly {least}" if least == most else f"{least} to {most}"


def _shown(value: Any) -> str:
    """A value as people read it; of a long one the beginning."""
    if isinstance(value, list):
        more = f" and {len(value) - _ENTRIES} more" if len(value) > _ENTRIES else ""
        return ", ".join(map(_shown, value[:_ENTRIES])) + more
    if not isinstance(value, str):
        return f"{value:g}" if isinstance(value, float) else str(value)
    plain = " ".join(value.split()) or repr(value)[1:-1]
    return f'"{plain}"' if len(plain) <= _CHARACTERS else f'"{plain[:_CHARACTERS].rstrip()}…"'


def _resolved(rule: Rule) -> tuple[Registered, BaseModel]:
    # Tables give every row the arguments of all rules, without a value where they do not apply.
    given = {name: value for name, value in rule.args.items() if value is not None}
    own = rule.name
    if (other := ALIASES.get(rule.name)) is not None:
        own, given = other.name, _translated(rule, other, given)
    registered = RULES.get(own)
    if registered is None:
        raise TaskError(f"rule '{rule.name}' is unknown: {nearest(rule.name, [*RULES, *ALIASES])}")
    try:
        arguments = registered.schema.model_validate(given)
    except ValidationError as error:
        raise TaskError(_sentence(rule, registered.schema, error.errors()[0], given)) from None
    if registered.bounded:
        _check_bounds(rule, arguments)
    return registered, arguments


def _translated(rule: Rule, other: Alias, given: Mapping[str, Any]) -> dict[str, Any]:
    for name in given:
        if name not in other.arguments:
            raise TaskError(f"rule '{rule.name}' has no argument '{name}': {nearest(name, other.arguments)}")
    for name in other.arguments:
        if name not in given:
            raise TaskError(f"rule '{rule.name}' lacks the argument '{name}'")
    try:
        return other.translate(given)
    except (TypeError, ValueError) as error:
        raise TaskError(f"rule '{rule.name}': {error}") from None


def _check_bounds(rule: Rule, arguments: Any) -> None:
    if arguments.min is None and arguments.max is None:
        raise TaskError(f"rule '{rule.name}' needs the argument 'min', 'max' or both: give a whole number of at least 0")
    if arguments.min is not None and arguments.max is not None and arguments.min > arguments.max:
        raise TaskError(f"rule '{rule.name}': min {arguments.min} is above max {arguments.max}, so nothing can meet it")


def _sentence(rule: Rule, schema: type[BaseModel], detail: ErrorDetails, given: Mapping[str, Any]) -> str:
    name = str(detail["loc"][0])
    if detail["type"] == "extra_forbidden":
        return f"rule '{rule.name}' has no argument '{name}': {nearest(name, schema.model_fields)}"
    expected = schema.model_fields[name].description or "a whole number of at least 0"
    if detail["type"] == "missing":
        return f"rule '{rule.name}' lacks the argument '{name}': give {expected}"
    return f"rule '{rule.name}', argument '{name}': expected {expected}, got {given[name]!r}"


def letters_of(text: str) -> str:
    """The letters of a text, in lower case."""
    return re.sub(r"[\W\d_]", "", text).casefold()

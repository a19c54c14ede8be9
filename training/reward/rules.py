"""Rule checks: the code behind criteria of kind ``rule``.

A rule is a pure function of the response and typed arguments that says whether the criterion is *met*; the sign of the
points decides whether that is good. To add one, write the function and put ``@rule("name")`` above it: its signature is the
schema that ``validate`` holds a task's arguments to. Imports ``memory`` only.
"""

import inspect
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError, create_model
from pydantic_core import ErrorDetails

from memory.errors import TaskError, nearest
from memory.task import Rule


def _has_a_word(text: str) -> str:
    if not words(text):
        raise ValueError("no word in it")
    return text


Phrase = Annotated[str, Strict(), AfterValidator(_has_a_word), Field(description="text with at least one word")]
Phrases = Annotated[list[Phrase], Field(min_length=1, description="a non-empty list of texts with at least one word each")]
Count = Annotated[int, Strict(), Field(ge=1, description="a whole number of at least 1")]
Share = Annotated[float, Field(gt=0, le=1, strict=True, description="a number above 0 and at most 1")]


@dataclass(frozen=True)
class Registered:
    """A rule's function and the schema of its arguments."""

    function: Callable[..., bool]
    schema: type[BaseModel]


RULES: dict[str, Registered] = {}


def rule(name: str) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Register ``function(response, **arguments) -> bool``; the annotations of the arguments are their schema."""

    def register(function: Callable[..., bool]) -> Callable[..., bool]:
        if name in RULES:
            raise ValueError(f"rule '{name}' is registered twice")
        parameters = list(inspect.signature(function).parameters.values())[1:]
        fields: dict[str, Any] = {
            p.name: (p.annotation, ... if p.default is inspect.Parameter.empty else p.default) for p in parameters
        }
        RULES[name] = Registered(function, create_model(name, __config__=ConfigDict(extra="forbid"), **fields))
        return function

    return register


def check(rule: Rule, response: str) -> bool:
    """Whether ``response`` meets ``rule``. Raises ``TaskError`` for a rule that ``validate`` would refuse."""
    arguments = _arguments(rule)
    return RULES[rule.name].function(response, **{name: getattr(arguments, name) for name in type(arguments).model_fields})


def validate(rule: Rule) -> None:
    """Raise ``TaskError`` with one sentence if the rule is unknown or an argument is missing, unknown or of a wrong type."""
    _arguments(rule)


def _arguments(rule: Rule) -> BaseModel:
    registered = RULES.get(rule.name)
    if registered is None:
        raise TaskError(f"rule '{rule.name}' is unknown: {nearest(rule.name, RULES)}")
    try:
        return registered.schema.model_validate(rule.args)
    except ValidationError as error:
        raise TaskError(_sentence(rule, registered.schema, error.errors()[0])) from None


def _sentence(rule: Rule, schema: type[BaseModel], detail: ErrorDetails) -> str:
    name = str(detail["loc"][0])
    if detail["type"] == "extra_forbidden":
        return f"rule '{rule.name}' has no argument '{name}': {nearest(name, schema.model_fields)}"
    expected = schema.model_fields[name].description
    if detail["type"] == "missing":
        return f"rule '{rule.name}' lacks the argument '{name}': give {expected}"
    return f"rule '{rule.name}', argument '{name}': expected {expected}, got {rule.args[name]!r}"


# ---- reading a response ----

_WORD = re.compile(r"\w+(?:'\w+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|\n+")


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """The words of ``text`` in order: case, punctuation and typographic variants removed, hyphenated words split."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return tuple(_WORD.findall(plain.replace("_", " ")))


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """The sentences of ``text`` in order, each as its words. A line break ends a sentence too."""
    return tuple(w for part in _SENTENCE_END.split(text) if (w := words(part)))


def count(phrase: str, text: str) -> int:
    """How often ``phrase`` occurs in ``text`` as a run of whole words (runs may not overlap)."""
    # a space on both sides of every word, so that neighbouring occurrences do not share one
    return _spaced(text).count(_spaced(phrase))


def _spaced(text: str) -> str:
    return "".join(f" {word} " for word in words(text))


# ---- the rules ----


@rule("mentions_any")
def mentions_any(response: str, phrases: Phrases) -> bool:
    """At least one of the phrases occurs."""
    return any(count(phrase, response) for phrase in phrases)


@rule("mentions_all")
def mentions_all(response: str, phrases: Phrases) -> bool:
    """Every phrase occurs."""
    return all(count(phrase, response) for phrase in phrases)


@rule("mentions_at_least")
def mentions_at_least(response: str, phrase: Phrase, n: Count) -> bool:
    """The phrase occurs ``n`` times or more."""
    return count(phrase, response) >= n


@rule("mentions_several")
def mentions_several(response: str, phrases: Phrases, n: Count) -> bool:
    """At least ``n`` of the phrases occur."""
    return sum(count(phrase, response) > 0 for phrase in phrases) >= n


@rule("in_order")
def in_order(response: str, phrases: Phrases) -> bool:
    """The phrases occur one after the other in the given order."""
    text, start = _spaced(response), 0
    for phrase in phrases:
        found = text.find(wanted := _spaced(phrase), start)
        if found < 0:
            return False
        start = found + len(wanted)
    return True


@rule("starts_with")
def starts_with(response: str, phrase: Phrase) -> bool:
    """The response begins with the words of the phrase."""
    return words(response)[: len(words(phrase))] == words(phrase)


@rule("ends_with")
def ends_with(response: str, phrase: Phrase) -> bool:
    """The response ends with the words of the phrase."""
    return words(response)[-len(words(phrase)) :] == words(phrase)


@rule("min_words")
def min_words(response: str, n: Count) -> bool:
    return len(words(response)) >= n


@rule("max_words")
def max_words(response: str, n: Count) -> bool:
    return len(words(response)) <= n


@rule("min_sentences")
def min_sentences(response: str, n: Count) -> bool:
    return len(sentences(response)) >= n


@rule("max_sentences")
def max_sentences(response: str, n: Count) -> bool:
    return len(sentences(response)) <= n


@rule("min_distinct_sentences")
def min_distinct_sentences(response: str, n: Count) -> bool:
    """At least ``n`` sentences differ in their words; repeating one counts for nothing."""
    return len(set(sentences(response))) >= n


@rule("repeats_sentence")
def repeats_sentence(response: str, n: Count = 2) -> bool:
    """Some sentence occurs ``n`` times or more."""
    return max(Counter(sentences(response)).values(), default=0) >= n


@rule("filler_share")
def filler_share(response: str, phrases: Phrases, share: Share) -> bool:
    """At least ``share`` of the sentences contain one of the phrases, which name what counts as filler."""
    told = [" ".join(sentence) for sentence in sentences(response)]
    filler = sum(mentions_any(sentence, phrases) for sentence in told)
    return bool(told) and filler >= share * len(told)


def known(name: str) -> bool:
    return name in RULES


def describe(rule: Rule) -> str:
    return rule.name

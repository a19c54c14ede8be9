"""Any text gets a verdict, and soon."""

import json
from typing import get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import TaskError
from memory.task import Rule
from tests.training.reward.rules.test_cases import CASES
from training.reward.rules import RULES, check, validate
from training.reward.rules.registry import ALIASES

ARGUMENTS = {
    json.dumps([name, args]): Rule(name=name, args=args)
    for name, args, *_ in [*CASES, *((n, {}, None, None) for n in ALIASES if not ALIASES[n].arguments)]
}


SIGNS = "aB c\n.!?。！？,;:'\"“”*-_#<>()[]{}1好あกé\u0301\ud800😀\U0001f3fb\ufe0f"
TEXTS = st.text(st.sampled_from(SIGNS), max_size=80) | st.text(st.characters(exclude_categories=()), max_size=80)
"""Signs that rules look for, in any order, and any sign at all, halves of surrogate pairs included."""
VALUES = {
    str: st.sampled_from(["a", "#", "P.S.", "de", "zh", "好 b", "***", "x.y z"]) | st.text(SIGNS, min_size=1, max_size=6),
    int: st.integers(0, 6),
    float: st.floats(0, 100),
    bool: st.booleans(),
}


def plain_types(annotation):
    yield annotation
    for inner in get_args(annotation):
        yield from plain_types(inner)


def arguments(name):
    """Arguments of the right types for a rule; some are illegal for other reasons."""
    strategies = {}
    for field, info in RULES[name].schema.model_fields.items():
        one = next(VALUES[kind] for kind in plain_types(info.annotation) if kind in VALUES)
        strategies[field] = st.lists(one, min_size=1, max_size=4) if get_origin(info.annotation) is list else one
    return st.fixed_dictionaries(strategies)


@pytest.mark.parametrize("name", sorted(RULES))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_text_gets_a_verdict_and_the_same_one_twice(name, data):
    rule = Rule(name=name, args=data.draw(arguments(name)))
    text = data.draw(TEXTS)
    try:
        validate(rule)
    except TaskError:
        with pytest.raises(TaskError):
            check(rule, text)
    else:
        assert check(rule, text) is check(rule, text)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.sampled_from(sorted(ARGUMENTS)))
def test_any_text_gets_a_verdict_from_rules_with_arguments_that_fit(text, key):
    assert isinstance(check(ARGUMENTS[key], text), bool)


LONG = [
    "a" * 100_000,
    "a b" * 30_000,
    "\n" * 100_000,
    "* " * 50_000,
    "[" * 100_000,
    '"' * 100_000,
    "(" * 50_000 + ")" * 50_000,
    "1." * 50_000,
    "P.S." * 20_000,
    "é́" * 40_000,
    "好。" * 40_000,
    "<<" * 40_000,
    " \n" * 40_000,
    "```\n" + " \n" * 40_000,
    "a\n" * 50_000,
    "Question\n" * 10_000,
    "Dr. " * 25_000,
    "*a" * 40_000,
    "?! " * 30_000,
    "*" + "a" * 100_000,
    "<i>" + "a" * 100_000,
    "<i>" + " " * 100_000,
    "." * 100_000,
    "\u0301\u0316" * 50_000,
    "a" + "\u0301\u0316" * 50_000,
    "a" + "\U0001f3fb" * 100_000 + "x",
    'A,B\n1,"' + ";" * 100_000,
    "A,B\n" * 25_000,
    "。a" * 50_000,
    "。”" * 50_000,
    "a.b " * 25_000,
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_texts_of_one_kind_are_judged_in_linear_time(text):
    """A pattern that backtracks over such a text would take hours, and the timeout ends the test."""
    for fitting in ARGUMENTS.values():
        check(fitting, text)


@given(st.text(max_size=30), st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=5), max_size=3))
def test_a_rule_that_validates_can_be_checked(name, args):
    for candidate in (name, *sorted(RULES)[:5], *sorted(ALIASES)[:5]):
        rule = Rule(name=candidate, args=args)
        try:
            validate(rule)
        except TaskError:
            continue
        assert isinstance(check(rule, "Some text."), bool)

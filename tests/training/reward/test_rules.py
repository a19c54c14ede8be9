"""Properties of the rule checks and of the sentences that refuse a bad rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import TaskError
from memory.task import Rule
from training.reward.rules import RULES, check, rule, sentences, validate, words

RESPONSE = "Aspirin thins the blood. It eases pain! It eases pain."


def met(name: str, response: str = RESPONSE, **args: object) -> bool:
    return check(Rule(name=name, args=args), response)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("mentions_any", {"phrases": ["fever", "THINS the"]}, True),
        ("mentions_any", {"phrases": ["thin", "fever"]}, False),
        ("mentions_all", {"phrases": ["blood", "pain"]}, True),
        ("mentions_all", {"phrases": ["blood", "fever"]}, False),
        ("mentions_at_least", {"phrase": "eases pain", "n": 2}, True),
        ("mentions_at_least", {"phrase": "eases pain", "n": 3}, False),
        ("mentions_several", {"phrases": ["blood", "pain", "fever"], "n": 2}, True),
        ("mentions_several", {"phrases": ["blood", "pain", "fever"], "n": 3}, False),
        ("in_order", {"phrases": ["aspirin", "blood", "pain"]}, True),
        ("in_order", {"phrases": ["pain", "blood"]}, False),
        ("in_order", {"phrases": ["pain", "pain"]}, True),
        ("starts_with", {"phrase": "aspirin"}, True),
        ("starts_with", {"phrase": "blood"}, False),
        ("ends_with", {"phrase": "eases pain"}, True),
        ("ends_with", {"phrase": "aspirin"}, False),
        ("min_words", {"n": 10}, True),
        ("min_words", {"n": 11}, False),
        ("max_words", {"n": 10}, True),
        ("max_words", {"n": 9}, False),
        ("min_sentences", {"n": 3}, True),
        ("min_sentences", {"n": 4}, False),
        ("max_sentences", {"n": 3}, True),
        ("max_sentences", {"n": 2}, False),
        ("min_distinct_sentences", {"n": 2}, True),
        ("min_distinct_sentences", {"n": 3}, False),
        ("repeats_sentence", {}, True),
        ("repeats_sentence", {"n": 3}, False),
        ("filler_share", {"phrases": ["eases pain"], "share": 0.6}, True),
        ("filler_share", {"phrases": ["eases pain"], "share": 0.7}, False),
    ],
)
def test_each_rule_on_one_response(name: str, args: dict, expected: bool) -> None:
    validate(Rule(name=name, args=args))
    assert met(name, **args) is expected


def test_phrases_match_through_case_punctuation_and_typography() -> None:
    assert met("mentions_all", "He said: “WELL-known,  don’t!”", phrases=["well known", "Don't"])
    assert not met("mentions_any", "The category is a cat's.", phrases=["cat", "gory"])


def test_a_repeated_word_is_counted_each_time() -> None:
    assert met("mentions_at_least", "no no No", phrase="no", n=3)


def test_sentences_split_at_marks_and_line_breaks_but_not_in_numbers() -> None:
    assert len(sentences('Take 3.5 mg. "Good." Really?\nYes')) == 4


@pytest.mark.parametrize("name", sorted(RULES))
def test_an_empty_response_is_no_crash(name: str) -> None:
    fields = RULES[name].schema.model_fields
    values = {"phrases": ["a"], "phrase": "a", "n": 1, "share": 0.5}
    assert isinstance(met(name, "", **{field: values[field] for field in fields}), bool)


@given(st.text(max_size=200), st.integers(1, 20))
def test_lower_and_upper_bounds_complement_each_other(text: str, n: int) -> None:
    assert met("min_words", text, n=n + 1) != met("max_words", text, n=n)
    assert met("min_sentences", text, n=n + 1) != met("max_sentences", text, n=n)


@given(st.lists(st.sampled_from(["One fact.", "Another fact.", "A third one!"]), min_size=1, max_size=6))
def test_repetition_adds_words_but_no_distinct_sentences(parts: list[str]) -> None:
    once, twice = " ".join(parts), " ".join(parts + parts)
    assert len(words(twice)) == 2 * len(words(once))
    assert met("repeats_sentence", twice)
    assert set(sentences(once)) == set(sentences(twice))


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Z"]), min_size=1, max_size=60))
def test_a_response_contains_starts_and_ends_with_itself(text: str) -> None:
    if words(text):
        assert met("mentions_all", text, phrases=[text])
        assert met("starts_with", text, phrase=text)
        assert met("ends_with", text, phrase=text)


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("mention_any", {}, "rule 'mention_any' is unknown: did you mean 'mentions_any'?"),
        ("mentions_any", {}, "lacks the argument 'phrases'"),
        ("mentions_any", {"phrases": ["a"], "phrase": "b"}, "has no argument 'phrase': did you mean 'phrases'?"),
        ("mentions_any", {"phrases": "aspirin"}, "argument 'phrases': expected a non-empty list of texts"),
        ("mentions_any", {"phrases": []}, "argument 'phrases'"),
        ("mentions_any", {"phrases": ["a", 3]}, "argument 'phrases'"),
        ("mentions_any", {"phrases": ["?!"]}, "argument 'phrases'"),
        ("min_words", {"n": "3"}, "argument 'n': expected a whole number of at least 1, got '3'"),
        ("min_words", {"n": True}, "argument 'n'"),
        ("min_words", {"n": 0}, "argument 'n'"),
        ("filler_share", {"phrases": ["a"], "share": 2}, "argument 'share'"),
    ],
)
def test_a_bad_rule_is_refused_in_one_sentence(name: str, args: dict, told: str) -> None:
    with pytest.raises(TaskError) as caught:
        validate(Rule(name=name, args=args))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(TaskError):
        met(name, "text", **args)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        rule("min_words")(lambda response: True)

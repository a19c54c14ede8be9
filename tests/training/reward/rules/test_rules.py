"""Properties of the rule checks and of the sentences that refuse a bad rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import TaskError
from memory.task import Rule
from training.reward.rules import check, rule, sentences, validate, words

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
        ("mentions_count", {"phrase": "eases pain", "min": 2}, True),
        ("mentions_count", {"phrase": "eases pain", "min": 3}, False),
        ("mentions_several", {"phrases": ["blood", "pain", "fever"], "min": 2}, True),
        ("mentions_several", {"phrases": ["blood", "pain", "fever"], "min": 3}, False),
        ("in_order", {"phrases": ["aspirin", "blood", "pain"]}, True),
        ("in_order", {"phrases": ["pain", "blood"]}, False),
        ("in_order", {"phrases": ["pain", "pain"]}, True),
        ("starts_with", {"phrase": "aspirin"}, True),
        ("starts_with", {"phrase": "blood"}, False),
        ("ends_with", {"phrase": "eases pain"}, True),
        ("ends_with", {"phrase": "aspirin"}, False),
        ("word_count", {"min": 10}, True),
        ("word_count", {"min": 11}, False),
        ("word_count", {"max": 10}, True),
        ("word_count", {"max": 9}, False),
        ("sentence_count", {"min": 3}, True),
        ("sentence_count", {"min": 4}, False),
        ("sentence_count", {"max": 3}, True),
        ("sentence_count", {"max": 2}, False),
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
    assert not met("mentions_any", "The category is a cat's.", phrases=["gory", "cats"])


def test_a_repeated_word_is_counted_each_time() -> None:
    assert met("mentions_count", "no no No", phrase="no", min=3, max=3)


def test_sentences_split_at_marks_and_line_breaks_but_not_in_numbers() -> None:
    assert len(sentences('Take 3.5 mg. "Good." Really?\nYes')) == 4
    assert len(sentences("Dr. Ng saw J. R. Smith at 5 p.m. in the U.S. Army base.")) == 1
    assert len(sentences("# Title\n\nOne line\nof verse\n- an entry\n- another")) == 4
    assert len(sentences("今天下雨。我没带伞！你呢？")) == 3
    assert sentences("1. First. 2. Second.") == (("1", "first"), ("2", "second"))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Is it so? No. It is not.", 3),
        ("See No. 5 and Fig. 3. Good.", 2),
        ("So do I. We went home.", 2),
        ("We ate apples, etc. Then we slept.", 2),
        ("Apples, pears etc. are fruit, e.g. these.", 1),
        ("At 5 p.m. we met. He left at 7 p.m. She stayed.", 3),
        ("Wait... what? Really.", 2),
        ('"Stop!" he said. "Go."', 2),
        ("this is one. this is two.", 2),
        ("She has a Ph.D. in law. Fine.", 2),
        ("真的吗？！是。", 2),
        ("价格是3.5元。", 1),
        ("…", 0),
        ("。a", 1),
    ],
)
def test_abbreviations_and_quotes_do_not_end_a_sentence(text: str, number: int) -> None:
    assert len(sentences(text)) == number


def test_marks_are_part_of_the_word_before_them() -> None:
    assert words("e\u0301te\u0301 नमस्ते ⏱️ don’t") == ("été", "नमस्ते", "don't")


@given(st.text(max_size=200), st.integers(1, 20))
def test_lower_and_upper_bounds_complement_each_other(text: str, n: int) -> None:
    assert met("word_count", text, min=n + 1) != met("word_count", text, max=n)
    assert met("sentence_count", text, min=n + 1) != met("sentence_count", text, max=n)


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
        ("word_count", {"min": "3"}, "argument 'min': expected a whole number of at least 0, got '3'"),
        ("word_count", {"min": True}, "argument 'min'"),
        ("word_count", {"max": -1}, "argument 'max'"),
        ("word_count", {"max": 2.5}, "argument 'max'"),
        ("word_count", {}, "needs the argument 'min', 'max' or both"),
        ("word_count", {"min": 3, "max": 2}, "nothing can meet it"),
        ("length_constraints:number_word", {}, "did you mean 'length_constraints:number_words'?"),
        ("length_constraints:number_words", {"num_words": 3}, "lacks the argument 'relation'"),
        ("length_constraints:number_words", {"num_words": 3, "relation": "about"}, "'at least' or 'less than'"),
        ("keywords:existence", {"keyword": ["a"]}, "has no argument 'keyword': did you mean 'keywords'?"),
        ("custom:csv_city", {"rows": 3}, "has no argument 'rows'"),
        ("filler_share", {"phrases": ["a"], "share": 2}, "argument 'share'"),
        ("language", {"code": "german"}, "expected the ISO 639-1 code of a language, one of af am"),
        ("letter_count", {"letter": "ab", "min": 1}, "expected one letter or sign, got 'ab'"),
        ("list_with_marker", {"marker": " "}, "expected a text that is not blank"),
        ("postscript", {"marker": "**"}, "expected text with at least one word"),
        ("repeats_span", {"request": "a b", "first": "0", "last": 1}, "argument 'first'"),
        (
            "length_constraints:number_words",
            {"num_words": float("inf"), "relation": "at least"},
            "expected a whole number, got inf",
        ),
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
        rule("word_count")(lambda response: True)

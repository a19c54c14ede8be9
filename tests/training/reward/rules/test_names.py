"""The names that rules go by, and how they are described."""

import pytest

from memory.task import Rule
from tests.training.reward.rules.test_cases import CASES
from training.reward.rules import check, describe, known, rule
from training.reward.rules.registry import ALIASES, Count


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("word_count", {"max": 100}, "has at most 100 words"),
        ("word_count", {"min": 1}, "has at least 1 word"),
        ("sentence_count", {"min": 3, "max": 5}, "has 3 to 5 sentences"),
        ("detectable_format:number_bullet_lists", {"num_bullets": 3, "N": None}, "has exactly 3 bullet points"),
        ("keywords:forbidden_words", {"forbidden_words": ["rock", "{s}"]}, 'mentions none of "rock", "{s}"'),
        ("mentions_count", {"phrase": "grid", "min": 1, "max": 1}, 'mentions "grid" exactly 1 time'),
        ("change_case:english_capital", {}, "is all in capital letters (english)"),
        ("paragraph_starts_with", {"index": 2, "phrase": "a"}, 'begins paragraph 2 with "a"'),
        (
            "paragraph_starts_with",
            {"index": 2, "phrase": "a", "paragraphs_in_all": 4},
            'begins paragraph 2 with "a" (paragraphs in all: 4)',
        ),
        ("repeats_only", {"request": "go " * 60}, 'repeats this and says nothing else: "' + ("go " * 27)[:80] + '…"'),
        (
            "mentions_any",
            {"phrases": list("abcdefghij")},
            'mentions at least one of "a", "b", "c", "d", "e", "f", "g", "h" and 2 more',
        ),
        ("parts", {"divider": "\n\n", "min": 2}, 'has at least 2 parts set apart by "\\n\\n"'),
    ],
)
def test_a_rule_is_described_by_the_rest_of_a_sentence(name, args, said):
    assert describe(Rule(name=name, args=args)) == said


@pytest.mark.parametrize(("name", "args"), [pytest.param(*case[:2], id=f"{k}-{case[0]}") for k, case in enumerate(CASES)])
def test_a_description_is_one_line_without_braces(name, args):
    said = describe(Rule(name=name, args=args))
    assert said[0].islower()
    assert not set("{}\n`") & set(said.replace("([{x}])", ""))


def test_a_docstring_that_leaves_an_argument_out_is_refused():
    def unclear(response: str, n: Count) -> bool:
        """Does something."""
        return True

    with pytest.raises(ValueError, match=r"\['n'\] in braces"):
        rule("unclear")(unclear)


def test_names_of_ifeval_and_ifbench_are_known():
    assert len([name for name in ALIASES if known(name)]) == 25 + 56
    assert not known("words:start_verb")


def test_an_answer_that_names_several_options_has_not_answered():
    options = Rule(name="detectable_format:constrained_response")
    assert check(options, "Well. My answer is no.")
    assert not check(options, "My answer is yes. My answer is no.")
    assert not check(options, "No.")

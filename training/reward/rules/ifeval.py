"""IFEval's instructions (arXiv 2311.07911) under their own names and arguments, as rules of ours.

Where the reference checkers are known to err (a blank paragraph in front fails a check, parts of words count as words, a
language that cannot be told counts as the right one, ``#`` is replaced by a random letter), ours do what the instruction says.
"""

from collections.abc import Mapping
from typing import Any

from training.reward.rules.registry import alias, translate_as

_OPTIONS = ["My answer is yes.", "My answer is no.", "My answer is maybe."]


def _number(value: Any) -> int:
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        raise ValueError(f"expected a whole number, got {value!r}")
    return int(value)


def _bound(relation: Any, value: Any) -> dict[str, int]:
    """``at least`` n or ``less than`` n, the two relations there are."""
    number = _number(value)
    if relation == "at least":
        return {"min": number}
    if relation == "less than" and number > 0:
        return {"max": number - 1}
    raise ValueError(f"expected the relation 'at least' or 'less than' and a number above 0, got {relation!r} {value!r}")


def _related(theirs: str, ours: str, number: str, relation: str = "relation", **names: str) -> None:
    def translate(given: Mapping[str, Any]) -> dict[str, Any]:
        return _bound(given[relation], given[number]) | {o: given[t] for o, t in names.items()}

    translate_as(theirs, ours, (number, relation, *names.values()), translate)


def _exactly(theirs: str, ours: str, number: str, fixed: Mapping[str, Any] | None = None) -> None:
    def translate(given: Mapping[str, Any]) -> dict[str, Any]:
        return {"min": _number(given[number]), "max": _number(given[number]), **(fixed or {})}

    translate_as(theirs, ours, (number,), translate)


_related("length_constraints:number_words", "word_count", "num_words")
_related("length_constraints:number_sentences", "sentence_count", "num_sentences")
_related("change_case:capital_word_frequency", "capital_words", "capital_frequency", "capital_relation")
_related("keywords:frequency", "mentions_count", "frequency", phrase="keyword")
_related("keywords:letter_frequency", "letter_count", "let_frequency", "let_relation", letter="letter")
_exactly("detectable_format:number_bullet_lists", "bullet_count", "num_bullets")
_exactly("length_constraints:number_paragraphs", "parts", "num_paragraphs", {"divider": "***"})
alias("keywords:existence", "mentions_all", phrases="keywords")
alias("keywords:forbidden_words", "mentions_none", phrases="forbidden_words")
alias("language:response_language", "language", code="language")
alias(
    "length_constraints:nth_paragraph_first_word",
    "paragraph_starts_with",
    index="nth_paragraph",
    phrase="first_word",
    paragraphs_in_all="num_paragraphs",
)
alias("detectable_content:number_placeholders", "placeholders", min="num_placeholders")
alias("detectable_content:postscript", "postscript", marker="postscript_marker")
alias("detectable_format:number_highlighted_sections", "highlights", min="num_highlights")
alias("detectable_format:multiple_sections", "sections", marker="section_spliter", min="num_sections")
alias("detectable_format:json_format", "is_json")
alias("detectable_format:title", "title_in_brackets")
# One of the options: an answer that names several has not answered.
alias("detectable_format:constrained_response", "mentions_different", {"phrases": _OPTIONS, "min": 1, "max": 1})
alias("combination:two_responses", "two_responses")
alias("combination:repeat_prompt", "repeats_request", request="prompt_to_repeat")
alias("startend:end_checker", "ends_with", phrase="end_phrase")
alias("startend:quotation", "in_quotes")
alias("change_case:english_capital", "all_capitals", {"english": True})
alias("change_case:english_lowercase", "all_lowercase", {"english": True})
alias("punctuation:no_comma", "no_commas")

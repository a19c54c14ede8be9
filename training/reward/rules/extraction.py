"""Rules on exact answers: numbers, dates, reversed texts, sorted lists."""

import re
from datetime import date

from training.reward.rules.registry import Count, Phrases, rule
from training.reward.rules.text import joined, spaced, words


@rule("numbers_are")
def numbers_are(response: str, numbers: list[int]) -> bool:
    """Writes in this order and no other the numbers {numbers}."""
    return [int(n) for n in re.findall(r"\d{1,18}", response)] == numbers


@rule("list_is")
def list_is(response: str, entries: Phrases) -> bool:
    """Is a list, set apart by commas or lines, of {entries}."""
    said = [words(part) for part in re.split(r"[,\n]", response) if words(part)]
    return said == [words(entry) for entry in entries]


@rule("dates_only")
def dates_only(response: str, min: Count = 2) -> bool:
    """Is a list of dates as YYYY-MM-DD, set apart by commas."""
    parts = [part.strip() for part in response.strip().split(",")]
    return len(parts) >= min and all(_is_date(part) for part in parts)


def _is_date(text: str) -> bool:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@rule("contains_reversed_text")
def contains_reversed_text(response: str, phrases: Phrases) -> bool:
    """Contains, spelt backwards, one of {phrases}."""
    letters = re.sub(r"[\W_]", "", response.casefold())
    return any(re.sub(r"[\W_]", "", phrase.casefold())[::-1] in letters for phrase in phrases)


@rule("contains_reversed_words")
def contains_reversed_words(response: str, phrases: Phrases) -> bool:
    """Contains, with its words in reverse order, one of {phrases}."""
    return any(joined(reversed(words(phrase))) in spaced(response) for phrase in phrases)

"""Rules on exact answers: numbers, dates, reversed texts, sorted lists."""

import re
import unicodedata
from datetime import date
from itertools import dropwhile, pairwise

from training.reward.rules.registry import Count, Phrases, rule
from training.reward.rules.text import joined, lines, normal, spaced, words


@rule("numbers_are")
def numbers_are(response: str, numbers: list[int]) -> bool:
    """Writes in this order and no other the numbers {numbers}."""
    return [int(n) for n in re.findall(r"\d{1,18}", response)] == numbers


@rule("list_is")
def list_is(response: str, entries: Phrases) -> bool:
    """Is a list, set apart by commas or lines, of {entries}."""
    said = [words(part) for part in re.split(r"[,\n]", response) if words(part)]
    return said == [words(entry) for entry in entries]


@rule("lists_backwards")
def lists_backwards(response: str, entries: Phrases) -> bool:
    """Lists in reverse alphabetical order, one a line: {entries}.

    An entry like ``Eswatini/Swaziland`` allows either name. The order is that of the names as they are written, accents aside.
    """
    number = {_bare(name): k for k, entry in enumerate(entries) for name in entry.split("/")}
    said = list(dropwhile(lambda line: line not in number, map(_bare, lines(response))))  # a line of introduction may come first
    return {number.get(name) for name in said} == set(number.values()) and all(a > b for a, b in pairwise(said))


def _bare(text: str) -> str:
    """Letters and single spaces, without list numbers, accents and ``the``."""
    plain = "".join(c for c in normal("NFKD", text) if not unicodedata.combining(c))
    return " ".join(word for word in words(plain) if not word.isdigit() and word != "the")


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

"""How rules read a response: words, sentences, paragraphs, lines. All functions are linear in the length of the text.

A word is a run of letters and digits; a Chinese or Japanese character is a word by itself. Thai, Lao, Khmer, Burmese and Tibetan
are written without spaces and not taken apart here: a run of theirs counts as one word, and a phrase is found anywhere in it.
Texts are compared by their words, so case, punctuation and typographic variants do not matter.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_SINGLE = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Characters that are words by themselves: Han and kana."""
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]")
_MARKS = "".join(c for c in map(chr, range(0x300, 0x2E80)) if unicodedata.category(c).startswith("M")) + "\u200c\u200d"
"""Accents, vowel signs and joiners inside the words of many scripts, which ``\\w`` leaves out."""
_RUN = f"[^\\W{_SINGLE}](?:[^\\W{_SINGLE}]|[{_MARKS}])*"
_WORD = re.compile(f"[{_SINGLE}]|{_RUN}(?:'{_RUN})*")
_STACKED = re.compile(f"([{_MARKS}]{{30}})[{_MARKS}]+")
"""Marks beyond what any writing needs (Unicode's Stream-Safe Text Format, UAX 15): sorting them takes quadratic time."""

_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"'”’)\]*_]*\s+|(?<=[。！？｡।؟])(?![。！？｡।؟])[\"'”’」』）\s]*|\n[^\S\n]*\n\s*|\n(?=[^\S\n]*(?:[-*+•#]|\d{1,3}[.)])\s)"
)
_TAIL = 12
"""Characters before a dot that the patterns below need to see."""
_GOES_ON = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Gen|Sen|Rep|Capt|Lt|Col|vs|cf|approx|Ph\.D)\.$"
    r"|\b(?![ap]\.m\.$)(?:[A-Za-z]\.)+[A-Za-z]\.$|(?<![A-Za-z]\.)\b(?!I\.)[A-Za-z]\.$"
)
"""An abbreviation or an initial that seldom ends a sentence."""
_BEFORE_NUMBER = re.compile(r"\b(?:[Nn]o|[Ff]ig|[Ee]q|[Vv]ol|[Cc]h|[Ss]ec|pp)\.$")
_MAY_END = re.compile(r"(?:\b(?:etc|Inc|Ltd|Co|Corp|Jr|Sr|[ap]\.m)|\.\.)\.$|…$")
_CLOSING = ('"', "'", "”", "’")
_LIST_NUMBER = re.compile(r"\W*\d{1,3}[.)]")
_CONTRACTIONS = frozenset("it's he's she's that's this's what's who's where's when's how's why's there's here's let's".split())
_POSSESSIVE = "'s"
_DIVIDER = re.compile(r"^\s*(?:[-*_=#~]\s*){3,}$")

_KEPT = 512
"""Texts whose words stay in memory: every rule of a rubric reads the same few responses."""


@lru_cache(maxsize=_KEPT)
def words(text: str) -> tuple[str, ...]:
    """The words of ``text`` in order, in lower case; hyphenated words are split."""
    return tuple(_WORD.findall(normal("NFKC", text).casefold()))


def written_words(text: str) -> list[str]:
    """The words of ``text`` as they are written."""
    return _WORD.findall(normal("NFC", text))


def normal(form: str, text: str) -> str:
    """``text`` in a Unicode normal form, with plain apostrophes and without underscores."""
    plain = unicodedata.normalize(form, _STACKED.sub(r"\1", text))  # type: ignore[arg-type]
    return plain.replace("’", "'").replace("_", " ")


@lru_cache(maxsize=_KEPT)
def sentence_texts(text: str) -> tuple[str, ...]:
    """The sentences of ``text`` as they are written. A blank line and a list entry end one; the line of a poem does not."""
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if "\n" not in end[0] and _goes_on(
            text[max(start, end.start() - _TAIL) : end.start()], end[0], text[end.end() : end.end() + 1]
        ):
            continue
        if "\n" not in end[0] and end.start() - start <= _TAIL and _LIST_NUMBER.fullmatch(text[start : end.start()]):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return tuple(sentence for sentence in found if words(sentence))


def _goes_on(before: str, between: str, after: str) -> bool:
    """Whether a sentence goes on after a mark that could end it."""
    if _GOES_ON.search(before) or (after.isdigit() and _BEFORE_NUMBER.search(before)):
        return True
    # As in: "Stop!" he said.
    return after.islower() and (_MAY_END.search(before) is not None or between.startswith(_CLOSING))


@lru_cache(maxsize=_KEPT)
def sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """The sentences of ``text`` in order, each as its words."""
    return tuple(words(sentence) for sentence in sentence_texts(text))


def paragraphs(text: str) -> list[str]:
    """What blank lines set apart; empty parts are none."""
    return [part.strip() for part in re.split(r"\n[^\S\n]*\n", text) if part.strip()]


def lines(text: str) -> list[str]:
    """The lines with something on them."""
    return [line for line in text.splitlines() if line.strip()]


def is_divider(line: str) -> bool:
    """Whether a line is only a ruler such as ``---`` or ``* * *``."""
    return _DIVIDER.match(line) is not None


def count(phrase: str, text: str) -> int:
    """How often ``phrase`` occurs in ``text`` as a run of whole words (runs may not overlap)."""
    # a space on both sides of every word, so that neighbouring occurrences do not share one
    return spaced(text).count(spaced(phrase))


def units(text: str) -> tuple[str, ...]:
    """What phrases are compared by: words, and in scripts without spaces characters."""
    if _UNSPACED.search(text) is None:
        return words(text)
    return tuple(unit for word in words(text) for unit in _split(word))


def _split(word: str) -> Iterable[str]:
    return word if _UNSPACED.search(word) else (word,)


@lru_cache(maxsize=_KEPT)
def spaced(text: str) -> str:
    """The words of ``text`` as one string that runs of words can be looked up in."""
    return joined(words(text))


def joined(found: Iterable[str]) -> str:
    """Words with a space on both sides of each; a possessive counts as the word itself."""
    plain = (word if word in _CONTRACTIONS else word.removesuffix(_POSSESSIVE) for word in found)
    return "".join(f" {unit} " for word in plain for unit in _split(word))

"""How rules read a response: words, sentences, paragraphs, lines. All functions are linear in the length of the text.

A word is a run of letters and digits; in scripts written without spaces (Chinese, Japanese) every character is one. Texts are
compared by their words, so case, punctuation and typographic variants do not matter.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_SINGLE = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Characters that are words by themselves: Han and kana."""
_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u200c\u200d"
"""Accents, vowel signs and joiners inside the words of many scripts, which ``\\w`` leaves out."""
_LETTER = f"(?:[^\\W{_SINGLE}]|[{_MARKS}])"
_WORD = re.compile(f"[{_SINGLE}]|{_LETTER}+(?:'{_LETTER}+)*")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"'”’)\]*_]*\s+|(?<=[。！？｡।؟])[\"'”’」』）\s]*|\n[^\S\n]*\n\s*|\n(?=[^\S\n]*(?:[-*+•#]|\d{1,3}[.)])\s)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|cf|No|Fig|Eq|approx|Inc|Ltd|Co|Mt|Gen|Sen|Rep|Capt|Lt|Col)"
    r"|\b(?:[A-Za-z]\.)+[A-Za-z])\.$"
)
"""A dot that ends an abbreviation or an initial."""
_CONTRACTIONS = frozenset("it's he's she's that's this's what's who's where's when's how's why's there's here's let's".split())
_POSSESSIVE = "'s"
_LIST_NUMBER = re.compile(r"^\W*\d{1,3}[.)]$")
_DIVIDER = re.compile(r"^\s*(?:[-*_=#~]\s*){3,}$")


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """The words of ``text`` in order, in lower case; hyphenated words are split."""
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return tuple(_WORD.findall(plain.replace("_", " ")))


def written_words(text: str) -> list[str]:
    """The words of ``text`` as they are written."""
    return _WORD.findall(unicodedata.normalize("NFC", text).replace("’", "'").replace("_", " "))


@lru_cache(maxsize=4096)
def sentence_texts(text: str) -> tuple[str, ...]:
    """The sentences of ``text`` as they are written. A blank line and a list entry end one; the line of a poem does not."""
    found: list[str] = []
    held = ""
    start = 0
    cuts = [*((m.start(), m.end(), "\n" in m[0]) for m in _SENTENCE_END.finditer(text)), (len(text), len(text), True)]
    for cut, after, hard in cuts:
        piece = held + text[start:cut]
        if not hard and (_ABBREVIATION.search(piece[-8:]) or _LIST_NUMBER.match(piece[:8])):
            held = piece + " "
        else:
            if words(piece):
                found.append(piece.strip() + text[cut:after].strip())
            held = ""
        start = after
    return tuple(found)


@lru_cache(maxsize=4096)
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


@lru_cache(maxsize=4096)
def spaced(text: str) -> str:
    """The words of ``text`` as one string that runs of words can be looked up in."""
    return joined(words(text))


def joined(found: Iterable[str]) -> str:
    """Words with a space on both sides of each; a possessive counts as the word itself."""
    return "".join(f" {word if word in _CONTRACTIONS else word.removesuffix(_POSSESSIVE)} " for word in found)

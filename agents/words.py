"""How the evolver reads text: words, sentences, numbers, and how much of one text is in another.

Words are compared in lower case and in one Unicode form. Han, kana and the scripts of South East Asia are written without spaces:
a run of theirs is read as its overlapping pairs of characters, which tells related texts from unrelated ones without a dictionary.
"""

import math
import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache

_HAN = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = f"{_HAN}\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"
_RUN = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")
_STARTS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_HAN_RUN = re.compile(f"[{_HAN}]+")
_PARTICLES = re.compile("[的了是在和与及或]+")
"""Chinese function characters; what stands on their two sides makes no pair."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")

COMMON = frozenset(
    """a an the and or of to in on at for with without by from as is are be was it its this that these those not no any some each
    says say states state mentions mention names name gives give explains explain warns warn about how why what which who answer
    response text reader user does do has have can should must least most than more less very into over when where
    """.split()
)
NEGATIONS = frozenset("not no never without none nor neither cannot don doesn didn won shouldn mustn avoid avoids except".split())
_NEGATIONS_HAN = re.compile("不|没|無|无|勿|别|禁止|避免")
_NUMBER_WORDS = frozenset(
    """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million dozen twice thrice percent
    """.split()
)
"""``one`` and ``half`` are left out: they seldom count anything in a hint."""
_NUMBER_HAN = re.compile(
    "[二两三四五六七八九十百千万]+[个個次条條点點句段项項字词種种倍分行遍步岁]|百分之|第[一二三四五六七八九十]+"
)


read_again = lru_cache(maxsize=512)
"""The same criteria, hints and responses are compared again and again within a round, so what was read of them is kept."""


@read_again
def words_of(text: str) -> tuple[str, ...]:
    """The words of ``text`` in order; of a run without spaces its pairs of characters, or its one character."""
    found: list[str] = []
    for run in _RUN.findall(_plain(text)):
        if not _is_unspaced(run):
            found.append(run)
            continue
        for part in filter(None, _PARTICLES.split(run)):
            found += [part[k : k + 2] for k in range(len(part) - 1)] or [part]
    return tuple(found)


def content_words(text: str) -> set[str]:
    """The words that say what a text is about."""
    return set(words_of(text)) - COMMON


def terms_of(text: str) -> list[str]:
    """Words fit to be shown to a reader: as ``words_of``, but of a run without spaces its last four characters, since a Chinese
    phrase names its object at the end."""
    found: list[str] = []
    for run in _RUN.findall(_plain(text)):
        found += [part[-4:] for part in _PARTICLES.split(run) if len(part) > 1] if _is_unspaced(run) else [run]
    return found


@read_again
def sentences_of(text: str) -> tuple[str, ...]:
    return tuple(s.strip() for s in _SENTENCE.split(text) if s.strip())


def numbers_of(text: str) -> set[str]:
    """Numbers in digits and in words, English and Chinese. A digit inside a word, as in B12, belongs to the word."""
    plain = _plain(text)
    digits = {w for w in re.findall(r"[^\W_]+", _HAN_RUN.sub(" ", plain)) if w.isnumeric()}
    return digits | (set(words_of(plain)) & _NUMBER_WORDS) | set(_NUMBER_HAN.findall(plain))


def negations_of(text: str) -> set[str]:
    plain = _plain(text)
    return {w for w in words_of(plain) if w in NEGATIONS} | set(_NEGATIONS_HAN.findall(plain))


def likeness(one: Collection[str], other: Collection[str]) -> float:
    """Jaccard overlap of two bags of words; 0 where both are empty."""
    first, second = set(one), set(other)
    return len(first & second) / len(first | second) if first or second else 0.0


def share_within(part: Collection[str], whole: Collection[str]) -> float:
    """The share of the different words of ``part`` that ``whole`` has; 0 for no words."""
    wanted = set(part)
    return len(wanted & set(whole)) / len(wanted) if wanted else 0.0


def quotes(part: str, whole: str) -> bool:
    """Whether ``part`` stands in ``whole`` word for word."""
    return f" {' '.join(words_of(part))} " in f" {' '.join(words_of(whole))} "


def shared_runs(part: str, whole: str, length: int = 3) -> float:
    """The share of the runs of ``length`` words in ``part`` that ``whole`` has too; 0 for a shorter text."""
    return share_within(_runs(words_of(part), length), _runs(words_of(whole), length))


@read_again
def script_of(text: str) -> str:
    """The script most letters of ``text`` belong to, by the first word of their Unicode names, as LATIN; ``""`` without letters."""
    counts: dict[str, int] = {}
    for character in text:
        if character.isalpha():
            name = unicodedata.name(character, "").split(" ")[0].split("-")[0]
            name = "CJK" if name in ("HIRAGANA", "KATAKANA") else name
            # A Han character says about as much as three letters, and Chinese is full of Latin names.
            counts[name] = counts.get(name, 0) + (3 if name == "CJK" else 1)
    return max(counts, key=lambda name: counts[name], default="")


def tokens_of(text: str) -> int:
    """An estimate from above of what a text costs a model: four Latin characters make a token, any other character is one."""
    if text.isascii():
        return math.ceil(len(text) / 4)
    latin = sum(c < "\u0250" for c in text)
    return math.ceil(latin / 4) + len(text) - latin


def one_line(text: str, limit: int) -> str:
    """``text`` without line breaks, at most ``limit`` characters of it."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: max(0, limit - 1)].rstrip() + "…"


def _runs(words: Sequence[str], length: int) -> set[str]:
    return {" ".join(words[k : k + length]) for k in range(len(words) - length + 1)}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _STARTS_UNSPACED.match(run) is not None

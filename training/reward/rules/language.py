"""Which language a response is in."""

import re
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, Strict

from training.reward.rules.registry import rule
from training.reward.rules.text import sentence_texts

_SCRIPTS: dict[str, str] = {
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    "hy": "\u0530-\u058f",
    "ka": "\u10a0-\u10ff",
    "bn": "\u0980-\u09ff",
    "pa": "\u0a00-\u0a7f",
    "gu": "\u0a80-\u0aff",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c00-\u0c7f",
    "kn": "\u0c80-\u0cff",
    "ml": "\u0d00-\u0d7f",
    "si": "\u0d80-\u0dff",
    "th": "\u0e00-\u0e7f",
    "lo": "\u0e80-\u0eff",
    "my": "\u1000-\u109f",
    "km": "\u1780-\u17ff",
    "am": "\u1200-\u137f",
    "ko": "\uac00-\ud7af\u1100-\u11ff",
}
"""Languages that have a script of their own: the script tells."""
_READ = 20_000
"""Characters that the detector reads of a text."""
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
SHARE = 0.6
"""Least share of the letters that must be of the language: names, quotations and code in another one remain possible."""

_WRITTEN = """af am ar az bg bn ca cs cy da de el en es et eu fa fi fr ga gu he hi hr hu hy id is it ja ka kk km kn ko lo lt lv ml
mn mr ms ne nl no pa pl pt ro ru si sk sl sq sr sv sw ta te th tl tr uk ur vi zh"""
"""Languages that people write prompts in; among all the detector knows, short English is often taken for Latin or Pidgin."""
FEW = 60
"""Letters below which Latin text cannot be told apart by language: names, a line of verse."""
SURE = 20
"""Letters from which the language of one sentence is told at all."""
LEAD = 0.6
"""By how much, in log probability for each letter, the detector must prefer another language for a sentence to be foreign. Among
541 answers to IFEval, sentences in another language lay from 1.0 up, headings, names and sentences of two languages below 0.32."""


def _is_told(code: str) -> str:
    plain = code.lower().replace("_", "-").split("-")[0]
    plain = {"nb": "no", "nn": "no"}.get(plain, plain)
    if plain not in _SCRIPTS and plain not in _WRITTEN.split():
        raise ValueError("a language that is not told")
    return plain


Code = Annotated[
    str,
    Strict(),
    AfterValidator(_is_told),
    Field(description=f"the ISO 639-1 code of a language, one of {' '.join(sorted({*_SCRIPTS, *_WRITTEN.split()}))}"),
]


def is_language(text: str, code: str) -> bool:
    """Whether ``text`` is in the language of an ISO 639-1 code; False where that cannot be told."""
    letters = _LETTER.findall(text)
    if not letters:
        return False
    if code in _SCRIPTS:
        return len(re.findall(f"[{_SCRIPTS[code]}]", "".join(letters))) >= SHARE * len(letters)
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if code == "ja":
        return han + kana >= SHARE * len(letters) and kana >= 0.1 * (han + kana)
    if code == "zh":
        return han >= SHARE * len(letters) and kana < 0.1 * (han + kana)
    if detected(text) != code:
        return False
    foreign = sum(len(found) for sentence in sentence_texts(text[:_READ]) if (found := _foreign(sentence, code)))
    return foreign <= (1 - SHARE) * len(letters)


def _foreign(sentence: str, code: str) -> list[str]:
    """The letters of a sentence that is surely in another language than ``code``; none of another one."""
    letters = _LETTER.findall(sentence)
    if len(letters) < SURE:
        return []
    ranks = _identifier().rank(_readable(sentence))
    return letters if ranks[0][1] - dict(ranks)[code] > LEAD * len(letters) else []


def language_of(text: str) -> str | None:
    """The language of a text by its ISO 639-1 code; None where there is nothing to tell from."""
    letters = _LETTER.findall(text)
    if not letters:
        return None
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if han + kana >= SHARE * len(letters):
        return "ja" if kana >= 0.1 * (han + kana) else "zh"
    joined = "".join(letters)
    own = next((code for code, script in _SCRIPTS.items() if re.match(f"[{script}]", joined[len(joined) // 2])), None)
    return own if own is not None and is_language(text, own) else detected(text)


def may_be_english(text: str) -> bool:
    """Whether nothing speaks against English: Latin letters, and for more than a few words the detected language."""
    letters = _LETTER.findall(text.casefold())
    latin = sum("a" <= letter <= "z" for letter in letters)
    return bool(letters) and latin >= 0.9 * len(letters) and (len(letters) < FEW or detected(text.casefold()) == "en")


@lru_cache(maxsize=1024)
def detected(text: str) -> str | None:
    """The most likely language of a text by its ISO 639-1 code; None where there is nothing to tell from."""
    if not _LETTER.search(text):
        return None
    return str(_identifier().classify(_readable(text[:_READ]))[0])


def _readable(text: str) -> str:
    """Text as the detector knows it: capitals with a few small letters among them mislead it."""
    capitals = sum(map(str.isupper, text))
    return text.lower() if 2 * capitals > len(text) - text.count(" ") else text


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(_WRITTEN.split())
    return identifier


@rule("language")
def language(response: str, code: Code) -> bool:
    """Is written in the language {code}."""
    return is_language(response, code)

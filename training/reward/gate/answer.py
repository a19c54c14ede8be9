"""A response beside the prompt it answers: what the two share, and what the response says of its own."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memory.task import Criterion
from training.reward.gate.lexicon import (
    FUNCTION_STEMS,
    REQUEST_STEMS,
    VAGUE_STEMS,
    content,
    length,
    script,
    share,
    tokens,
    without_copies,
)

LONG_COPY = 12
"""Words in a row that make a copy of the prompt, or twice as many characters where a script has no spaces. Honest answers
quote names and titles, which are shorter."""

DEMANDED_COPY = 4
"""Words from which a text that a rule demands is cut out whole (an end phrase); shorter ones are words like any other."""

ENGLISH = 0.15
"""Share of English function words from which a text is English. GPT-4's English answers of 25 words and more have 0.18 and
more, but for lists, tables and markup; its answers in other languages that are written in Latin letters have 0.12 at most,
one German one 0.16."""

SHORT_WORD = 4
"""Letters from which a word can name a topic where function words are not known: in languages other than English."""

LONG, SAYING_LONG = 150, 6
"""An English text of so many words says something in so many distinct ones that are neither common nor the prompt's. GPT-4's
299 such answers have 6 and more; filler of common phrases has 7 at most, since its phrases come round again."""

MIDDLE, SAYING = 25, 0.035
"""Of an English text of so many words, the same as a share. All but one of GPT-4's 143 such answers have 0.038 and more;
common phrases have 0.036 at most, even with words of the prompt in them."""

FEW_HITS = 4
"""Words of the topic that say nothing by themselves: whoever copies keywords into filler has so many at hand. A summary has
more."""

OWN = 0.06
"""Of its first hundred words, the share of uncommon ones of its own by which a text shows that it is about something. GPT-4's
answers without a word of the prompt have 0.056 and more, from 60 words on 0.16; common phrases have up to 0.04."""

SENTENCES = 0.06
"""Share of function words below which an English text is no sentences. GPT-4's answers that share fewer than two words with
the prompt have 0.067 and more, but for a list of names; Latin filler has 0.05 and heaps of words have none."""

_LANGUAGES = (
    "afrikaans|albanian|amharic|arabic|armenian|basque|bengali|bulgarian|burmese|cantonese|catalan|chinese|croatian"
    "|czech|danish|dutch|estonian|farsi|finnish|french|georgian|german|greek|gujarati|hausa|hebrew|hindi|hungarian"
    "|icelandic|indonesian|irish|italian|japanese|kannada|kazakh|khmer|korean|lao|latin|latvian|lithuanian|malay"
    "|malayalam|mandarin|marathi|mongolian|nepali|norwegian|pashto|persian|polish|portuguese|punjabi|romanian|russian"
    "|serbian|sinhala|slovak|slovenian|somali|spanish|swahili|swedish|tagalog|tamil|telugu|thai|tibetan|turkish"
    "|ukrainian|urdu|uzbek|vietnamese|welsh|yoruba|zulu"
)
_NAMED_LANGUAGE = re.compile(
    rf"\b(?:{_LANGUAGES}|english|deutsch|englisch\w*|español|inglés|français|anglais|italiano|inglese|português|inglês)\b"
    r"|[英中法德日韩韓俄葡泰]文|[英汉漢法德日韩韓俄泰][语語]|西班牙|葡萄牙|意大利|阿拉伯|翻[译譯]|한국어|영어|일본어|русск|английск"
)
_ASKED_LANGUAGE = re.compile(
    rf"\b(?:in|into|using|use|only|entirely|speak)\s+(?:(?:the|a|an|only|entirely|simple)\s+){{0,2}}(?:{_LANGUAGES})\b"
    r"(?! \w+ of\b)"
    rf"|\b(?:{_LANGUAGES})\s+(?:translation|version|only)\b|\btranslat\w+"
)


@dataclass(frozen=True)
class Answer:
    """A response beside the prompt it answers and the texts that the rubric's rules demand."""

    prompt_text: str
    demanded: tuple[tuple[str, ...], ...]
    text: str

    @cached_property
    def request(self) -> str:
        return self.prompt_text.casefold()

    @cached_property
    def prompt(self) -> list[str]:
        return tokens(self.prompt_text)

    @cached_property
    def prompt_roots(self) -> frozenset[str]:
        return frozenset(content(self.prompt, frozenset()))

    @cached_property
    def words(self) -> list[str]:
        return tokens(self.text)

    @cached_property
    def body(self) -> list[str]:
        """The words of the response without what was copied from the prompt or demanded as a whole."""
        run = LONG_COPY * round(len(self.prompt) / length(self.prompt)) if self.prompt else LONG_COPY
        body = without_copies(self.words, [self.prompt, *self.demanded], run)
        for words in self.demanded:
            if DEMANDED_COPY <= len(words) < LONG_COPY:
                body = without_copies(body, [words], len(words))
        return body

    @cached_property
    def size(self) -> int:
        return length(self.body)

    @cached_property
    def english(self) -> bool:
        return share(self.prompt, FUNCTION_STEMS) >= ENGLISH

    @cached_property
    def is_in_asked_language(self) -> bool:
        """Whether the response is in another language than the prompt, which names one: by script and English function words."""
        if script(self.body) != script(self.prompt):
            return _NAMED_LANGUAGE.search(self.request) is not None
        if self.english:
            return share(self.body, FUNCTION_STEMS) < ENGLISH and _ASKED_LANGUAGE.search(self.request) is not None
        return share(self.body, FUNCTION_STEMS) >= ENGLISH and _NAMED_LANGUAGE.search(self.request) is not None

    @cached_property
    def given(self) -> frozenset[str]:
        """Roots of the words and short phrases that rules demand, or forbid."""
        return frozenset(s for words in self.demanded if len(words) < DEMANDED_COPY for s in content(words, FUNCTION_STEMS))

    @cached_property
    def topics(self) -> frozenset[str]:
        return frozenset(self._named(self.prompt)) - self.given

    @cached_property
    def hits(self) -> frozenset[str]:
        """Roots of the topic that the response takes up."""
        return self.topics & set(self._named(self.body))

    @cached_property
    def own(self) -> set[str]:
        return self.own_of(self.body)

    def own_of(self, words: Sequence[str]) -> set[str]:
        """What among ``words`` is uncommon and comes from neither the prompt nor the rules; the numbers of a calculation as
        well."""
        own = set(content(words, VAGUE_STEMS)) - self.prompt_roots - self.given
        return own | {word for word in words if word.isnumeric()} if "=" in self.text else own

    @cached_property
    def has_own(self) -> bool:
        return len(self.own) >= OWN * min(self.size, 100)

    @cached_property
    def has_sentences(self) -> bool:
        return not self.english or share(self.body, FUNCTION_STEMS) >= SENTENCES

    @cached_property
    def is_empty_talk(self) -> bool:
        if not self.english or self.size < MIDDLE:
            return False
        said = len(self.own) + max(0, len(self.hits) - FEW_HITS)
        return said < (SAYING_LONG if self.size >= LONG else SAYING * self.size)

    def frame(self, words: Sequence[str]) -> tuple[str, ...]:
        """Those of ``words`` that do not name the topic."""
        return tuple(word for word in words if self.topics.isdisjoint(self._named([word])))

    def _named(self, words: Sequence[str]) -> list[str]:
        return content(words, REQUEST_STEMS, least=2 if self.english else SHORT_WORD)


def demanded(rubric: Iterable[Criterion]) -> list[tuple[str, ...]]:
    """The texts among the arguments of the rubric's rules, as words."""
    return [tuple(words) for c in rubric if c.rule is not None for text in _texts(c.rule.args) if (words := tokens(text))]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)

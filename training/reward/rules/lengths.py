"""Rules that count: words, sentences, paragraphs, lines, list entries."""

import re
from collections import Counter
from itertools import pairwise

from training.reward.rules.registry import Count, Percentage, Phrases, Text, counted, rule
from training.reward.rules.text import is_divider, lines, paragraphs, sentences, words

_BULLET = re.compile(r"^[^\S\n]*(?:[*+•‣▪◦–·]|-)(?![-*])[^\S\n]*\S", re.MULTILINE)
_NUMBERED = re.compile(r"^[^\S\n]*(?:\(?\d{1,3}[.)、．](?!\d)|（\d{1,3}）|[①-⑳])[^\S\n]*\S", re.MULTILINE)
_END = re.compile(r"[?!？！؟]++(?=[\"'”’)\]*_」』）]*+(?:\s|$))|[？！؟]++")
_QUESTION = frozenset("?？؟")
_NUMBER = re.compile(r"(?<![\w.,])[-+−]?\d+(?:[.,]\d+)*(?!\w)")


@counted("word_count")
def word_count(response: str) -> int:
    """Has {count} word{s}."""
    return len(words(response))


@counted("character_count")
def character_count(response: str) -> int:
    """Has {count} character{s}, without white space at both ends."""
    return len(response.strip())


@counted("sentence_count")
def sentence_count(response: str) -> int:
    """Has {count} sentence{s}."""
    return len(sentences(response))


@counted("paragraph_count")
def paragraph_count(response: str) -> int:
    """Has {count} paragraph{s}."""
    return sum(not is_divider(paragraph) for paragraph in paragraphs(response))


@counted("line_count")
def line_count(response: str) -> int:
    """Has {count} line{s}, not counting blank ones."""
    return len(lines(response))


@counted("bullet_count")
def bullet_count(response: str) -> int:
    """Has {count} bullet point{s}."""
    return sum(_BULLET.match(line) is not None and not is_divider(line) for line in lines(response))


@counted("numbered_count")
def numbered_count(response: str) -> int:
    """Has {count} numbered list item{s}."""
    return len(_NUMBERED.findall(response))


@counted("question_count")
def question_count(response: str) -> int:
    """Asks {count} question{s}."""
    return sum(not _QUESTION.isdisjoint(end[0]) for end in _END.finditer(response))


@counted("number_count")
def number_count(response: str) -> int:
    """Has {count} number{s} in digits."""
    return len(_NUMBER.findall(response))


@counted("different_words")
def different_words(response: str) -> int:
    """Uses {count} different word{s}."""
    return len(set(words(response)))


@counted("counts_of_words")
def counts_of_words(response: str, phrases: Phrases) -> int:
    """Uses {count} word{s} from {phrases}."""
    wanted = {word for phrase in phrases for word in words(phrase)}
    return sum(word in wanted for word in words(response))


@rule("share_of_words")
def share_of_words(response: str, phrases: Phrases, max_percentage: Percentage) -> bool:
    """Has at most {max_percentage}% of its words from {phrases}."""
    found = words(response)
    return bool(found) and 100 * counts_of_words(response, phrases) <= max_percentage * len(found)


@counted("parts")
def parts(response: str, divider: Text) -> int:
    """Has {count} part{s} set apart by {divider}."""
    return sum(bool(part.strip()) for part in response.split(divider))


@rule("repeats_words_at_most")
def repeats_words_at_most(response: str, n: Count) -> bool:
    """Uses no word more than {n} time{s}."""
    found = words(response)
    return bool(found) and max(Counter(found).values()) <= n


@rule("trigram_overlap")
def trigram_overlap(response: str, reference: Text, percentage: Percentage, tolerance: Percentage = 2.0) -> bool:
    """Shares {percentage}% of its character trigrams with {reference}."""
    mine, theirs = ({text[k : k + 3] for k in range(len(text) - 2)} for text in (response, reference))
    return bool(mine) and abs(100 * len(mine & theirs) / len(mine) - percentage) <= tolerance


@rule("sentences_grow")
def sentences_grow(response: str, by: Count) -> bool:
    """Has in each sentence exactly {by} word{s} more than in the one before."""
    sizes = [len(sentence) for sentence in sentences(response)]
    return len(sizes) > 1 and all(b - a == by for a, b in pairwise(sizes))

"""Rules that count: words, sentences, paragraphs, lines, list entries."""

import re
from collections import Counter
from itertools import pairwise

from training.reward.rules.registry import Count, Percentage, Phrases, Text, counted, rule
from training.reward.rules.text import is_divider, lines, paragraphs, sentence_texts, sentences, spaced, words

_BULLET = re.compile(r"^[^\S\n]*(?:[*+•‣▪◦–·]|-)(?![-*])[^\S\n]*\S", re.MULTILINE)
_NUMBERED = re.compile(r"^[^\S\n]*(?:\(?\d{1,3}[.)、．](?!\d)|（\d{1,3}）|[①-⑳])[^\S\n]*\S", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.,])[-+−]?\d+(?:[.,]\d+)*(?!\w)")


@counted("word_count")
def word_count(response: str) -> int:
    """Number of words (a Chinese or Japanese character is one)."""
    return len(words(response))


@counted("character_count")
def character_count(response: str) -> int:
    """Number of characters, without white space at both ends."""
    return len(response.strip())


@counted("sentence_count")
def sentence_count(response: str) -> int:
    """Number of sentences."""
    return len(sentences(response))


@counted("paragraph_count")
def paragraph_count(response: str) -> int:
    """Number of paragraphs, set apart by blank lines or rulers."""
    return sum(not is_divider(paragraph) for paragraph in paragraphs(response))


@counted("line_count")
def line_count(response: str) -> int:
    """Number of lines that are not blank."""
    return len(lines(response))


@counted("bullet_count")
def bullet_count(response: str) -> int:
    """Number of bullet points."""
    return sum(_BULLET.match(line) is not None and not is_divider(line) for line in lines(response))


@counted("numbered_count")
def numbered_count(response: str) -> int:
    """Number of numbered list entries."""
    return len(_NUMBERED.findall(response))


@counted("question_count")
def question_count(response: str) -> int:
    """Number of sentences that end with a question mark."""
    return sum(re.search(r"[?？؟][\"'”’)*_\s]*$", sentence) is not None for sentence in sentence_texts(response))


@counted("number_count")
def number_count(response: str) -> int:
    """How many numbers are written in digits."""
    return len(_NUMBER.findall(response))


@counted("different_words")
def different_words(response: str) -> int:
    """Number of different words."""
    return len(set(words(response)))


@counted("mentions_different")
def mentions_different(response: str, phrases: Phrases) -> int:
    """How many different ones of these are mentioned."""
    return sum(spaced(phrase) in spaced(response) for phrase in set(phrases))


@counted("counts_of_words")
def counts_of_words(response: str, phrases: Phrases) -> int:
    """How many words are one of these."""
    wanted = {word for phrase in phrases for word in words(phrase)}
    return sum(word in wanted for word in words(response))


@rule("share_of_words")
def share_of_words(response: str, phrases: Phrases, max_percentage: Percentage) -> bool:
    """At most this percentage of the words are one of these."""
    found = words(response)
    return bool(found) and 100 * counts_of_words(response, phrases) <= max_percentage * len(found)


@counted("parts")
def parts(response: str, divider: Text) -> int:
    """Number of parts that a divider sets apart."""
    return sum(bool(part.strip()) for part in response.split(divider))


@rule("repeats_words_at_most")
def repeats_words_at_most(response: str, n: Count) -> bool:
    """No word occurs more often than ``n`` times."""
    found = words(response)
    return bool(found) and max(Counter(found).values()) <= n


@rule("trigram_overlap")
def trigram_overlap(response: str, reference: Text, percentage: Percentage, tolerance: Percentage = 2.0) -> bool:
    """This percentage of the response's different character trigrams occurs in the reference text."""
    mine, theirs = ({text[k : k + 3] for k in range(len(text) - 2)} for text in (response, reference))
    return bool(mine) and abs(100 * len(mine & theirs) / len(mine) - percentage) <= tolerance


@rule("sentences_grow")
def sentences_grow(response: str, by: Count) -> bool:
    """Each sentence has exactly this many words more than the one before."""
    sizes = [len(sentence) for sentence in sentences(response)]
    return len(sizes) > 1 and all(b - a == by for a, b in pairwise(sizes))

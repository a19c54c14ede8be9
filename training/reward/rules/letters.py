"""Rules on the letters inside words."""

import re
import string
from collections.abc import Sequence
from itertools import pairwise

from training.reward.rules.registry import Count, Letter, counted, letters_of, rule
from training.reward.rules.text import words

_CLUSTER = re.compile(r"[bcdfghjklmnpqrstvwxyz]{2}")
_VOWELS = "aeiou"


@counted("letter_count")
def letter_count(response: str, letter: Letter) -> int:
    """Has the letter or sign {letter} {count} time{s}, in either case."""
    return response.casefold().count(letter.casefold())


def _plain(response: str) -> list[str]:
    """The words that have letters, without apostrophes and digits."""
    return [letters for word in words(response) if (letters := letters_of(word))]


@rule("alphabet_of_words")
def alphabet_of_words(response: str) -> bool:
    """Starts each word with the next letter of the alphabet, from A again after Z."""
    return _runs_through_alphabet([word[0] for word in _plain(response)])


def _runs_through_alphabet(initials: Sequence[str]) -> bool:
    if not initials or initials[0] not in string.ascii_lowercase:
        return False
    first = string.ascii_lowercase.index(initials[0])
    return all(initial == string.ascii_lowercase[(first + k) % 26] for k, initial in enumerate(initials))


@counted("different_vowels")
def different_vowels(response: str) -> int:
    """Uses {count} different vowel{s} of a, e, i, o, u."""
    return len(set(_VOWELS) & set(response.casefold()))


@rule("consonant_clusters")
def consonant_clusters(response: str) -> bool:
    """Has two or more consonants in a row in each word."""
    found = _plain(response)
    return bool(found) and all(_CLUSTER.search(word) for word in found)


@rule("prime_word_lengths")
def prime_word_lengths(response: str) -> bool:
    """Uses only words whose length is a prime number."""
    found = _plain(response)
    return bool(found) and all(_is_prime(len(word)) for word in found)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))


@rule("no_shared_initials")
def no_shared_initials(response: str) -> bool:
    """Begins no two words in a row with the same letter."""
    initials = [word[0] for word in _plain(response)]
    return bool(initials) and all(a != b for a, b in pairwise(initials))


@counted("palindromes")
def palindromes(response: str, letters: Count = 5) -> int:
    """Has {count} word{s} that read the same backwards."""
    return sum(len(word) >= letters and word == word[::-1] for word in words(response))


@rule("nth_word_in_japanese")
def nth_word_in_japanese(response: str, n: Count) -> bool:
    """Writes one of every {n} words in Japanese, the last one."""
    pieces = response.split()
    marked = pieces[n - 1 :: n]
    return bool(marked) and all(re.search("[\u3040-\u30ff\u4e00-\u9fff]", piece) for piece in marked)

"""Rules on how sentences and paragraphs follow each other."""

import re
import string
from itertools import pairwise

from training.reward.rules.registry import Count, rule
from training.reward.rules.text import lines, sentence_texts, sentences, words

_CLOSERS = "\"'”’)]*_ "


def _endings(response: str) -> tuple[int, int, int]:
    """Numbers of sentences that end with a full stop, a question mark and an exclamation mark."""
    ends = [sentence.rstrip(_CLOSERS)[-1:] for sentence in sentence_texts(response)]
    return sum(e in ".。" for e in ends if e), sum(e in "?？" for e in ends if e), sum(e in "!！" for e in ends if e)


@rule("statements_per_question")
def statements_per_question(response: str, n: Count) -> bool:
    """Has exactly {n} statement{s} for each question."""
    statements, questions, _ = _endings(response)
    return questions > 0 and statements == n * questions


@rule("balanced_sentence_types")
def balanced_sentence_types(response: str) -> bool:
    """Has as many statements as questions as exclamations."""
    return len(set(_endings(response))) == 1 and _endings(response)[0] > 0


@rule("chained_sentences")
def chained_sentences(response: str) -> bool:
    """Begins each sentence with the last word of the one before."""
    told = sentences(response)
    return len(told) > 1 and all(a[-1] == b[0] for a, b in pairwise(told))


@rule("circular_paragraphs")
def circular_paragraphs(response: str) -> bool:
    """Ends each paragraph, which is a line, with the word it began with."""
    told = [w for line in lines(response) if (w := words(line))]
    return bool(told) and all(len(w) > 1 and w[0] == w[-1] for w in told)


@rule("growing_alliteration")
def growing_alliteration(response: str) -> bool:
    """Has in each sentence a longer run of words with the same initial than in the one before."""
    runs = [_longest_run([word[0] for word in sentence]) for sentence in sentences(response)]
    return len(runs) > 1 and all(a < b for a, b in pairwise(runs))


def _longest_run(initials: list[str]) -> int:
    longest = here = 1
    for a, b in pairwise(initials):
        here = here + 1 if a == b else 1
        longest = max(longest, here)
    return longest


@rule("equal_sentences_of_different_words")
def equal_sentences_of_different_words(response: str, n: Count) -> bool:
    """Is {n} sentences of equally many characters that share no word."""
    told = sentence_texts(response.replace("\n", " "))
    used = [word for sentence in told for word in set(words(sentence))]
    return len(told) == n and len({len(sentence) for sentence in told}) == 1 and len(used) == len(set(used))


@rule("alphabet_of_sentences")
def alphabet_of_sentences(response: str) -> bool:
    """Is 26 sentences that begin with the letters of the alphabet in order."""
    initials = "".join(re.sub(r"[^a-z]", "", "".join(sentence))[:1] for sentence in sentences(response))
    return initials == string.ascii_lowercase


@rule("growing_questions")
def growing_questions(response: str, n: Count, options: Count) -> bool:
    """Is {n} multiple-choice questions with {options} options each, every question longer than the one before."""
    blocks = [b for b in re.split(r"^[^\w\n]*Question\b", response, flags=re.MULTILINE)[1:] if b.strip()]
    if len(blocks) != n:
        return False
    option = re.compile(r"^[^\w\n]*(?:[A-Za-z]|\d{1,2})[.):]\s+\S", re.MULTILINE)
    sizes = []
    for block in blocks:
        head = re.sub(r"\A\W*\d*\W*", "", block)
        first = option.search(head)
        if first is None or len(option.findall(head)) != options:
            return False
        sizes.append(len(head[: first.start()].strip()))
    return all(a < b for a, b in pairwise(sizes))

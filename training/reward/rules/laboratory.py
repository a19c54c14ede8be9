"""Rules that the laboratory's suite needs beside the common ones."""

from collections import Counter

from training.reward.rules.mentions import mentions_any
from training.reward.rules.registry import Count, Phrases, Share, rule
from training.reward.rules.text import sentences


@rule("min_distinct_sentences")
def min_distinct_sentences(response: str, n: Count) -> bool:
    """Has at least {n} different sentence{s}."""
    return len(set(sentences(response))) >= n


@rule("repeats_sentence")
def repeats_sentence(response: str, n: Count = 2) -> bool:
    """Says some sentence {n} times or more."""
    return max(Counter(sentences(response)).values(), default=0) >= n


@rule("filler_share")
def filler_share(response: str, phrases: Phrases, share: Share) -> bool:
    """Has {phrases} in a share of at least {share} of its sentences."""
    told = [" ".join(sentence) for sentence in sentences(response)]
    filler = sum(mentions_any(sentence, phrases) for sentence in told)
    return bool(told) and filler >= share * len(told)

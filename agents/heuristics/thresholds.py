"""Rule criteria with a threshold: where the responses of the last visit would separate as Q orders them.

What is counted here need not agree with the rule to the last word: it finds a threshold worth measuring, the rule itself is what
the critic measures.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from agents.context import CaseFile
from agents.heuristics.evidence import LEAST_SEPARATION, separated
from agents.words import sentences_of, words_of
from memory.task import Criterion, Rule


class Threshold(NamedTuple):
    """Of a rule: the argument that holds it, what it is compared with, and a wording. ``most``: the response may have no more."""

    argument: str
    measure: Callable[[str, dict[str, Any]], int]
    wording: str
    most: bool = False


def _sentences(text: str, args: dict[str, Any]) -> int:
    return len(sentences_of(text))


def _words(text: str, args: dict[str, Any]) -> int:
    return len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+", text))


def _different_sentences(text: str, args: dict[str, Any]) -> int:
    return len({s.lower() for s in sentences_of(text)})


def _most_often(text: str, args: dict[str, Any]) -> int:
    return max(Counter(s.lower() for s in sentences_of(text)).values(), default=0)


def said(text: str, phrase: str) -> int:
    """How often a phrase is said, by whole words."""
    return f" {'  '.join(words_of(text))} ".count(f" {'  '.join(words_of(phrase))} ")


def _phrases(text: str, args: dict[str, Any]) -> int:
    return sum(said(text, p) > 0 for p in args["phrases"])


def _phrase(text: str, args: dict[str, Any]) -> int:
    return said(text, args["phrase"])


THRESHOLDS: dict[str, tuple[Threshold, ...]] = {
    "sentence_count": (
        Threshold("min", _sentences, "Answers in at least {n} sentences"),
        Threshold("max", _sentences, "Answers in at most {n} sentences", most=True),
    ),
    "word_count": (
        Threshold("min", _words, "Has at least {n} words"),
        Threshold("max", _words, "Has at most {n} words", most=True),
    ),
    "min_distinct_sentences": (Threshold("n", _different_sentences, "Has at least {n} different sentences"),),
    "repeats_sentence": (Threshold("n", _most_often, "Says the same sentence {n} times or more"),),
    "mentions_several": (Threshold("min", _phrases, "Mentions at least {n} of {phrases}"),),
    "mentions_different": (Threshold("min", _phrases, "Mentions at least {n} of {phrases}"),),
    "mentions_count": (Threshold("min", _phrase, "Mentions {phrase} at least {n} times"),),
    "mentions_all": (Threshold("", _phrases, "Mentions at least {n} of {phrases}"),),
    "mentions_any": (Threshold("", _phrases, "Mentions at least {n} of {phrases}"),),
}


def threshold_of(rule: Rule) -> tuple[Threshold, int] | None:
    """The threshold of a rule and its value; None for a rule without one, or with two."""
    if rule.name in ("mentions_all", "mentions_any"):
        phrases = rule.args.get("phrases", ())
        return (THRESHOLDS[rule.name][0], len(phrases) if rule.name == "mentions_all" else 1) if len(phrases) > 1 else None
    given = {**({"n": 2} if rule.name == "repeats_sentence" else {}), **rule.args}
    found = [(t, given[t.argument]) for t in THRESHOLDS.get(rule.name, ()) if given.get(t.argument) is not None]
    return found[0] if len(found) == 1 else None


def moved(case: CaseFile, criterion: Criterion) -> tuple[str, Rule] | None:
    """The criterion with the threshold at which passing it goes best with Q on the pairs of the last visit: its text and rule. None
    where no threshold would do better than the present one by ``LEAST_SEPARATION`` pairs.
    """
    if criterion.rule is None or (found := threshold_of(criterion.rule)) is None:
        return None
    threshold, now = found
    pairs = separated(case)
    value = {r.id: threshold.measure(r.text, criterion.rule.args) for r in case.rollouts}

    def gain(at: int) -> int:
        def passes(rollout_id: str) -> bool:
            met = value[rollout_id] <= at if threshold.most else value[rollout_id] >= at
            return met == (criterion.points > 0)

        return sum(passes(better.id) - passes(worse.id) for better, worse in pairs)

    options = sorted({v for v in value.values() if v > 0 and v != now})
    best = max(options, key=lambda at: (gain(at), -abs(at - now)), default=now)
    if gain(best) < max(0, gain(now)) + LEAST_SEPARATION:
        return None
    return _worded(criterion, threshold, now, best), _rule(criterion.rule, threshold, best)


def stricter(one: Criterion, other: Criterion) -> Criterion | None:
    """Of two criteria with the same rule but for the threshold, the one that fewer responses meet."""
    if one.rule is None or other.rule is None or one.rule.name != other.rule.name:
        return None
    first, second = threshold_of(one.rule), threshold_of(other.rule)
    if first is None or second is None or not first[0].argument or first[0] != second[0]:
        return None
    argument = first[0].argument
    if {**one.rule.args, argument: 0} != {**other.rule.args, argument: 0}:
        return None
    return one if (first[1] > second[1]) != first[0].most else other


def _worded(criterion: Criterion, threshold: Threshold, now: int, new: int) -> str:
    """The user's own wording with the new number where it has the old one in digits, else a plain wording."""
    text, count = re.subn(rf"(?<!\d){now}(?!\d)", str(new), criterion.text)
    if count == 1 and threshold.argument:
        return text
    args = criterion.rule.args if criterion.rule else {}
    said = {"n": new, "phrase": args.get("phrase", ""), "phrases": ", ".join(args.get("phrases", ()))}
    return threshold.wording.format_map(said).replace("at least 1 sentences", "at least 1 sentence")


def _rule(rule: Rule, threshold: Threshold, new: int) -> Rule:
    if threshold.argument:
        return Rule(name=rule.name, args={**rule.args, threshold.argument: new})
    phrases = rule.args["phrases"]
    if new in (1, len(phrases)):
        return Rule(name="mentions_any" if new == 1 else "mentions_all", args={"phrases": phrases})
    return Rule(name="mentions_several", args={"phrases": phrases, "min": new})

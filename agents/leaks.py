"""What the texts of an edit may not say: guidance and task texts give away no criterion, criteria quote neither guidance nor the
reference, and a rewritten task still asks for what the user asked.

All checks compare words, so they catch carelessness and copying, not paraphrase; what gets past them is still measured. Each
function gives the reason for a refusal, or None.
"""

import re
from collections.abc import Collection, Iterable

from agents.words import (
    content_words,
    likeness,
    negations_of,
    numbers_of,
    quotes,
    script_of,
    sentences_of,
    share_within,
    shared_runs,
    words_of,
)
from memory.harness import GuidanceField
from memory.task import Criterion, Message, Rule, Task
from memory.visit import Rollout

NEAR_DUPLICATE = 0.9
"""Jaccard overlap of the words of two texts above which they say the same."""
LEAK = 0.6
"""Share of a criterion's content words that guidance may carry when the criterion has more than three of them."""
FEW_WORDS = 3
"""Content words up to which a criterion cannot be hinted at without naming it."""
QUOTE_WORDS = 4
"""Words from which on a criterion's whole text within another text is a quotation."""
FIELD_QUOTE = 0.8
"""Share of a guidance field's content words from which on a criterion repeats the field."""
REFERENCE_QUOTE, REFERENCE_WORDS = 0.5, 6
"""Share of the runs of three words that a criterion's text or a phrase of its rule may share with the reference, from this many words
on: a shorter one is a fact to be named."""
KEPT_WORDS = 0.7
"""Share of the content words of the user's own text that every later version keeps. Starting value."""
LONGER, ROOM = 1.5, 200
"""A rewritten task has at most LONGER times the characters of the user's own text, and ROOM."""

_GRADING = re.compile(
    r"\b(?:rubrics?|criteri(?:on|a)|graders?|grading|full marks|extra points)\b|评分|得分|扣分|打分", re.IGNORECASE
)
_HINTS = re.compile(
    r"\b(?:hint(?:s|ed)?|guidance)\b|(?:根据|按照|依照|遵循|上述|所给|给出的|隐藏)的?(?:提示|引导|指引)|(?:提示|引导|指引)(?:中|里|所|语|词)",
    re.IGNORECASE,
)


def guidance_says(text: str, task: Task, criteria: Iterable[Criterion], rollouts: Iterable[Rollout]) -> str | None:
    """What a guidance field says that it must not: numbers, how it is graded, or a criterion. Sentences that the policy wrote
    itself may be quoted."""
    if found := numbers_of(text):
        return f"guidance must not carry numbers, got {', '.join(sorted(found))}"
    if word := _foreign(_GRADING, text, task):
        return f"guidance must not speak of the grading, got '{word}'"
    responses = [r.text for r in rollouts]
    other = [s for s in sentences_of(text) if not any(quotes(s, response) for response in responses)]
    criterion = given_away(content_words("\n".join(other)), "\n".join(other), criteria)
    return f"guidance gives away the text of criterion '{criterion.id}'" if criterion else None


def given_away(words: Collection[str], text: str, criteria: Iterable[Criterion]) -> Criterion | None:
    """The first criterion whose text ``words`` carry for more than ``LEAK``, or which ``text`` quotes whole."""
    for criterion in criteria:
        content = content_words(criterion.text)
        if len(content) > FEW_WORDS and share_within(content, words) > LEAK:
            return criterion
        if len(words_of(criterion.text)) >= QUOTE_WORDS and quotes(criterion.text, text):
            return criterion
    return None


def criterion_says(criterion: Criterion, task: Task, guidance: Iterable[GuidanceField], known: Iterable[Criterion]) -> str | None:
    """What a new or reworded criterion says that it must not: it names the guidance, repeats a field of it, or quotes the reference.

    Args:
        known: the criteria before the edit; what one of them repeated already, a new one may.
    """
    text = "\n".join([criterion.text, *phrases_of(criterion.rule)])
    if word := _foreign(_HINTS, criterion.text, task):
        return f"a criterion must not name the guidance, got '{word}'"
    for field in guidance:
        content = content_words(field.text)
        repeated = share_within(content, words_of(text))
        before = [share_within(content, words_of("\n".join([c.text, *phrases_of(c.rule)]))) for c in known]
        if len(content) >= FEW_WORDS and repeated >= FIELD_QUOTE and repeated > max(before, default=0.0):
            return f"the criterion repeats the guidance field '{field.id}', so the hint would pass it"
    for part in (criterion.text, *phrases_of(criterion.rule)):
        long = task.reference is not None and len(words_of(part)) >= REFERENCE_WORDS
        if long and shared_runs(part, task.reference or "") > REFERENCE_QUOTE:
            return "the criterion quotes the task's reference answer"
    return None


def alike(one: Criterion, other: Criterion) -> bool:
    """Whether two criteria ask for the same: the same check with the same sign, or nearly the same words, numbers and negations."""
    if one.rule is not None and one.rule == other.rule:
        return (one.points > 0) == (other.points > 0)
    return one.rule == other.rule and same_words(one.text, other.text)


def same_words(one: str, other: str) -> bool:
    """Nearly the same words, and no difference in the few that turn a meaning round."""
    near = likeness(words_of(one), words_of(other)) > NEAR_DUPLICATE
    return near and numbers_of(one) == numbers_of(other) and negations_of(one) == negations_of(other)


def phrases_of(rule: Rule | None) -> list[str]:
    """The texts among a rule's arguments, as the phrases of ``mentions_any`` or ``in_order``."""
    if rule is None:
        return []
    values = [v for v in rule.args.values() if isinstance(v, str | list)]
    return [p for v in values for p in ([v] if isinstance(v, str) else v) if isinstance(p, str)]


def rewrite_changes(messages: tuple[Message, ...], task: Task, criteria: Iterable[Criterion]) -> str | None:
    """How a rewritten task departs from the user's own text. Every version is held to the user's text, not to the last version, so
    that versions cannot drift away step by step.

    The system message, earlier turns, language, numbers and negations of the user's last message stay, and ``KEPT_WORDS`` of its
    content words; it grows to ``LONGER`` times its length and ``ROOM`` characters at most; and what it adds quotes no criterion
    and speaks neither of the grading nor of the guidance.
    """
    own, new = task.messages[-1], messages[-1]
    if messages[:-1] != task.messages[:-1] or new.role != own.role:
        return "a rewrite may change the last message alone; the system message and earlier turns stay as they are"
    if not new.content.strip():
        return "the rewritten task is empty"
    if len(new.content) > LONGER * len(own.content) + ROOM:
        return f"the rewritten task has {len(new.content)} characters, at most {LONGER * len(own.content) + ROOM:.0f} are allowed"
    if script_of(new.content) != script_of(own.content):
        return "the rewritten task is in another script than the user's text"
    wanted = content_words(own.content)
    kept = share_within(wanted, words_of(new.content))
    if wanted and kept < KEPT_WORDS:
        return f"the rewritten task keeps {kept:.0%} of the words of the user's text, at least {KEPT_WORDS:.0%} must stay"
    if gone := (numbers_of(own.content) - numbers_of(new.content)) | (negations_of(own.content) - negations_of(new.content)):
        return f"the rewritten task lost {', '.join(sorted(gone))} of the user's text"
    for pattern, what in ((_GRADING, "the grading"), (_HINTS, "the guidance")):
        if word := _foreign(pattern, new.content, task):
            return f"a task must not speak of {what}, got '{word}'"
    added = content_words(new.content) - content_words(own.content)
    quoted = given_away(added, new.content, [c for c in criteria if not quotes(c.text, own.content)])
    return f"the rewritten task gives away the text of criterion '{quoted.id}'" if quoted else None


def _foreign(pattern: re.Pattern[str], text: str, task: Task) -> str | None:
    """The first match of ``pattern`` in ``text``, unless the task or its own rubric uses the word: then it is the task's subject."""
    told = "\n".join([*(m.content for m in task.messages), *(c.text for c in task.rubric)]).casefold()
    return next((m[0] for m in pattern.finditer(text) if m[0].casefold() not in told), None)

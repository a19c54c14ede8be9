"""Likely trouble in tasks that are legal: signs that may be wrong, criteria that no judge can decide, texts that ask for two things.

All of it is guessing from words, so it is shown by ``inspect`` and never changes a task.
"""

import re
from collections.abc import Iterator

from memory.task import Criterion, Task
from training.tasks.criteria import LONG, MANY
from training.tasks.notes import Note
from training.tasks.text import SPECIAL_TOKEN

_LABEL = re.compile(r"^\s*(?:(?:essential|important|optional|pitfall) criteria|pitfall)\s*:\s*", re.IGNORECASE)
_UNWANTED = re.compile(
    r"^\W*(?:the (?:response|answer)\s+)?(?:fails?|failing|omits?|neglects?|ignores?|forgets?|misses|misstates?|invents?|fabricates?"
    r"|hallucinates?|makes? up|wrongly|incorrectly|falsely|inaccurately|erroneously)\b|^\W*(?:未能|遗漏|忽略|错误地|编造|捏造)",
    re.IGNORECASE,
)
"""Openings that name a fault."""
_WANTED = re.compile(
    r"^\W*(?:the (?:response|answer)\s+)?(?:avoids?|refrains?|correctly|accurately|does not|doesn't|do not|never)\b|^\W*(?:避免|正确|没有|不)",
    re.IGNORECASE,
)
"""Openings that name a merit, or the absence of something."""
_IMAGE = re.compile(
    r"\b(?:(?:attached|the|this|following|above|below) (?:image|picture|photo|photograph|screenshot|diagram|scan|attachment)"
    r"|attached\)|see attached)|(?:附图|附件|截图|如图|下图|上图|这张图)",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:high[- ]quality|well[- ]written|engaging|interesting|good|great|nice|appropriate|adequate|sufficiently|comprehensive"
    r"|creative|insightful|helpful)\b|(?:高质量|恰当|合适|良好|有趣|全面|有帮助)",
    re.IGNORECASE,
)
_OUTSIDE = re.compile(
    r"\b(?:user (?:is|was|will be) (?:satisfied|happy)|up[- ]to[- ]date|latest|actually works|compiles|runs without)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"(?:,\s*| )(?:and|as well as|and also|plus)\s+(?:\w+ly\s+)?\w+(?:s|es|ing)\s|;\s|并且|同时|以及")
"""A second verb or clause."""
_MARKUP = re.compile(r"</?\w+>|\{\{.*?\}\}|\{%")


def lint(task: Task) -> Iterator[Note]:
    """What may be wrong with a task."""
    if len(task.rubric) > MANY:
        yield Note("W_MANY_CRITERIA", f"{len(task.rubric)} criteria")
    if all(c.points < 0 for c in task.rubric):
        yield Note("W_NO_POSITIVE", "no criterion has positive points")
    if len(task.rubric) == 1:
        yield Note("W_ONE_CRITERION", "one criterion gives all or nothing")
    if any(_IMAGE.search(m.content) for m in task.messages):
        yield Note("W_IMAGE_REFERENCE", "the prompt refers to an image or attachment")
    for criterion in task.rubric:
        yield from _of_criterion(criterion)


def _of_criterion(criterion: Criterion) -> Iterator[Note]:
    text = _LABEL.sub("", criterion.text)
    told = f"criterion '{criterion.id}' ({criterion.points:+g}): {criterion.text[:80]}"
    if (criterion.points > 0 and _UNWANTED.search(text)) or (criterion.points < 0 and _WANTED.search(text)):
        yield Note("W_SIGN_SUSPECT", told)
    if criterion.kind == "rule":
        return
    if len(criterion.text) > LONG:
        yield Note("W_LONG_CRITERION", told)
    if criterion.kind == "llm" and _JOINED.search(text):
        yield Note("W_COMPOUND", told)
    if criterion.kind == "llm" and (_VAGUE.search(text) or _OUTSIDE.search(text)):
        yield Note("W_UNVERIFIABLE", told)
    if _IMAGE.search(text):
        yield Note("W_IMAGE_REFERENCE", told)
    if _MARKUP.search(text) or SPECIAL_TOKEN.search(text):
        yield Note("W_TEMPLATE_TOKENS", told)

"""Rubrics written as text: numbered or bulleted lines, with points and labels in brackets."""

import re

from training.tasks.item import Item
from training.tasks.notes import Note, RowError

_LINE = re.compile(
    r"^\s*(?:(?:[-*]\s+|[•·▪]\s*)(?:\[[ xX]?\]\s*)?|\(?\d{1,3}[.)、．:：](?!\d)|[（(][\d一二三四五六七八九十]{1,3}[)）]|[一二三四五六七八九十]{1,3}、|[①-⑳])\s*(?=\S)"
)
_TAG = re.compile(r"\s*\[([^\[\]]{1,40})\]\s*$")
_MARKED_POINTS = re.compile(
    r"^\s*[\[(（]\s*(?:([-+\u2212]\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)(?=\s*(?:p|分)))\s*(?:points?|pts?\.?|分)?\s*[\])）]\s*[:：]?"
    r"|\s*[\[(（]\s*(?:([-+\u2212]\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)(?=\s*(?:p|分)))\s*(?:points?|pts?\.?|分)?\s*[\])）]\s*$",
    re.IGNORECASE,
)
"""Points written into a text: ``[+5] Names X``, ``Names X (3 points)``, ``Names X (-2)``; a bare number may only count the entries."""
_HEADING = re.compile(r"^\s*(?:#{1,6}\s.*|\*\*[^*]+\*\*\s*:?|.{1,60}[:：])\s*$")
_UNWANTED = re.compile(
    r"negative|penalt|pitfall|deduct|avoid|\b(?:must|should|do|does|may|shall|can)(?: not|n't)\b|never|不得|不应|不要|避免|扣分|减分",
    re.IGNORECASE,
)
"""Headings under which a list says what an answer must not do."""


def items_of_text(text: str, field: str, notes: list[Note]) -> list[Item]:
    """The numbered or bulleted lines of a text, continuation lines joined; without such lines the whole text."""
    entries: list[str] = []
    headings: list[str] = []
    for line in text.splitlines():
        marked = _LINE.sub("", line, count=1)
        is_heading = not line[:1].isspace() and _HEADING.match(line) is not None
        if is_heading and (marked == line or _UNWANTED.search(line)):
            headings.append(line.strip())
        elif marked != line:
            entries.append(marked)
        elif line.strip() and entries:
            entries[-1] += " " + line.strip()
    if headings and len(entries) > 1:
        notes.append(Note("W_HEADING", f"{field}: the heading '{headings[0][:60]}' was left out"))
    unwanted = next((h for h in headings if _UNWANTED.search(h)), None)
    if unwanted is not None and len(entries) > 1:
        raise RowError(
            "E_RUBRIC_TYPE",
            f"{field}: '{unwanted[:60]}' heads a list of what is unwanted, and a text has no signs; give criteria with negative points",
        )
    if len(entries) < 2:
        notes.append(Note("W_SINGLE_CRITERION", f"{field}: a text without a list became one criterion"))
        return [Item(field, text)]
    return [_entry(entry, f"{field}, line {k}") for k, entry in enumerate(entries, 1)]


def _entry(entry: str, field: str) -> Item:
    """An entry with its points, as in ``Is rude (-2)``, or its label, as in ``Is polite [Hard Rule]``, taken off."""
    if (marked := _MARKED_POINTS.search(entry)) is not None:
        points = next(group for group in marked.groups() if group)
        return Item(field, entry[: marked.start()] + entry[marked.end() :], points, field)
    label = _TAG.search(entry)
    return Item(field, entry[: label.start()], tags=(label[1].strip(),)) if label else Item(field, entry)


def item_of_text(text: str, field: str) -> Item:
    """A criterion that is a text by itself, with points where they are written into it."""
    return _entry(text, field) if _MARKED_POINTS.search(text) else Item(field, text)

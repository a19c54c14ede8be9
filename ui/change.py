"""What an edit changes, as lines of a diff: ``- `` what goes, ``+ `` what comes; and side by side, with the words that differ."""

import difflib
import re
from collections.abc import Sequence

from memory.edit import (
    AddField,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    MergeCriteria,
    RepriceCriterion,
    RetireField,
    RetireTask,
    RewordCriterion,
    RewriteField,
    RewriteTask,
    SetLevel,
    SplitCriterion,
    apply,
)
from memory.errors import EditError
from memory.harness import TaskHarness
from memory.task import Criterion, Message
from ui.words import plain


def change(edit: Edit, before: TaskHarness | None) -> str:
    """The edit as a diff of the task's harness entry. Without the entry (None), what the edit itself tells."""
    if before is not None:
        try:
            after = apply(edit, before)
        except EditError as error:
            return "\n".join([f"! cannot be applied: {plain(error)}", *_of_edit(edit)])
        return "\n".join(_differing(before, after))
    return "\n".join(_of_edit(edit))


Parts = list[tuple[str, bool]]
"""A line in pieces, each with whether it differs from the other side."""
_WORDS = re.compile(r"\s+|[\u3040-\u9fff]|\w+|.")


def sides(edit: Edit, before: TaskHarness | None) -> list[tuple[Parts | None, Parts | None]]:
    """The edit as rows of (before, after); None where a side has no such line."""
    return _rows(change(edit, before).split("\n"))


def compared_entries(old: TaskHarness, new: TaskHarness) -> list[tuple[Parts | None, Parts | None]]:
    """What differs between two versions of an entry, in the rows of ``sides``."""
    lines = _differing(old, new)
    return _rows(lines) if lines else []


def _differing(old: TaskHarness, new: TaskHarness) -> list[str]:
    found = difflib.unified_diff(entry_lines(old), entry_lines(new), n=0, lineterm="")
    return [f"{line[0]} {line[1:]}" for line in found if not line.startswith(("---", "+++", "@@"))]


def _rows(lines: list[str]) -> list[tuple[Parts | None, Parts | None]]:
    rows: list[tuple[Parts | None, Parts | None]] = []
    while lines:
        gone = _taken(lines, "- ")
        come = _taken(lines, "+ ")
        if not gone and not come:
            rows.append(([(lines.pop(0), True)], None))
        rows += [compared(*pair) for pair in _matched(gone, come)]
    return rows


def compared(old: str | None, new: str | None) -> tuple[Parts | None, Parts | None]:
    """Two lines in words, each with whether it is on one side only."""
    if old is None or new is None:
        return (None if old is None else [(old, False)], None if new is None else [(new, False)])
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    left: Parts = []
    right: Parts = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        left.append(("".join(a[i:j]), kind != "equal"))
        right.append(("".join(b[k:m]), kind != "equal"))
    return [p for p in left if p[0]], [p for p in right if p[0]]


def _taken(lines: list[str], sign: str) -> list[str]:
    found = []
    while lines and lines[0].startswith(sign):
        found.append(lines.pop(0)[2:])
    return found


def _matched(gone: Sequence[str], come: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """Lines of one place: in order where they are as many, else each as its own row."""
    if len(gone) == len(come):
        return list(zip(gone, come, strict=True))
    return [*((g, None) for g in gone), *((None, c) for c in come)]


def criterion_line(criterion: Criterion) -> str:
    """Points, text, id, and the check behind a rule criterion."""
    check = f", {rule_of(criterion)}" if criterion.rule else ""
    return plain(f"[{criterion.points:+g}] {' '.join(criterion.text.split())}  ({criterion.id}{check})")


def rule_of(criterion: Criterion) -> str:
    """The check behind a rule criterion; empty for others."""
    rule = criterion.rule
    if rule is None:
        return ""
    arguments = ", ".join(f"{k}={v!r}" for k, v in rule.args.items())
    return f"checked by {rule.name}" + (f"({arguments})" if arguments else "")


def entry_lines(entry: TaskHarness) -> list[str]:
    """A harness entry, one line per thing that an edit can change."""
    return [
        f"level {entry.level:g}{' (retired)' if entry.level == 0 else ''}",
        *message_lines(entry.messages),
        *(line for f in entry.guidance for line in _text_lines(f"guidance {f.id}", f.text)),
        *(criterion_line(c) for c in entry.rubric),
    ]


def message_lines(messages: tuple[Message, ...]) -> list[str]:
    return [line for m in messages for line in _text_lines(m.role, m.content)]


def _text_lines(name: str, text: str) -> list[str]:
    return [plain(f"{name}: {line}") for line in text.split("\n")]


def _of_edit(edit: Edit) -> list[str]:
    return [line for operation in (edit.operation, *edit.secondary) for line in _of_operation(operation)]


def _of_operation(operation) -> list[str]:
    """Without the entry, what goes is known by its id only."""
    match operation:
        case SetLevel(level=level):
            return [_gone("level"), f"+ level {level:g}"]
        case RetireTask():
            return [_gone("level"), "+ level 0 (retired)"]
        case RewriteTask(messages=messages):
            return [_gone("task text"), *(f"+ {line}" for line in message_lines(messages))]
        case AddField(field=field):
            return [f"+ {line}" for line in _text_lines(f"guidance {field.id}", field.text)]
        case RewriteField(field_id=field_id, text=text):
            return [_gone(f"guidance {field_id}"), *(f"+ {line}" for line in _text_lines(f"guidance {field_id}", text))]
        case RetireField(field_id=field_id):
            return [_gone(f"guidance {field_id}")]
        case CreateCriterion(criterion=criterion):
            return [f"+ {criterion_line(criterion)}"]
        case RewordCriterion(criterion_id=criterion_id, text=text):
            return [_gone(f"criterion {criterion_id}"), plain(f"+ {text}  ({criterion_id}, same points)")]
        case RepriceCriterion(criterion_id=criterion_id, points=points):
            return [_gone(f"points of criterion {criterion_id}"), plain(f"+ [{points:+g}] criterion {criterion_id}, same text")]
        case MergeCriteria(criterion_ids=ids, criterion=criterion):
            return [*(_gone(f"criterion {i}") for i in ids), f"+ {criterion_line(criterion)}"]
        case SplitCriterion(criterion_id=criterion_id, criteria=criteria):
            return [_gone(f"criterion {criterion_id}"), *(f"+ {criterion_line(c)}" for c in criteria)]
        case DeleteCriterion(criterion_id=criterion_id):
            return [_gone(f"criterion {criterion_id}")]
    return [plain(f"! unknown operation {operation!r}")]


def _gone(what: str) -> str:
    return plain(f"- {what} as it was (not recorded)")

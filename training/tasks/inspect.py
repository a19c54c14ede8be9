"""What was understood of task files, in words and numbers, before a run is spent on them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from memory.task import Task
from training.reward.rules.language import language_of
from training.tasks.lint import lint
from training.tasks.load import Read, read_sources
from training.tasks.notes import MEANINGS, Note
from training.tasks.source import TaskSource

EXAMPLES = 2
"""Places shown of each kind of remark."""


@dataclass
class Findings:
    """What one source holds."""

    source: TaskSource
    tasks: list[Task] = field(default_factory=list)
    rows: int = 0
    errors: list[tuple[int, Note]] = field(default_factory=list)
    notes: list[tuple[int, Note]] = field(default_factory=list)
    trouble: list[tuple[int, Note]] = field(default_factory=list)

    def add(self, read: Read) -> None:
        self.rows += 1
        self.notes += [(read.row, note) for note in read.notes]
        if isinstance(read.task, Task):
            self.tasks.append(read.task)
            self.trouble += [(read.row, note) for note in lint(read.task)]
        else:
            self.errors.append((read.row, Note(read.task.code, str(read.task))))


def inspect(sources: Sequence[TaskSource], field: str = "tasks.train") -> list[Findings]:
    """Findings per source, in order. Raises ``TaskError`` for a source that cannot be read at all."""
    found: dict[int, Findings] = {k: Findings(source) for k, source in enumerate(sources)}
    places = {id(source): k for k, source in enumerate(sources)}
    for read in read_sources(sources, field):
        found[places[id(read.source)]].add(read)
    return list(found.values())


def describe(findings: Findings) -> str:
    """A source's findings as text."""
    lines = [f"# {findings.source.place}", _rows(findings)]
    if findings.tasks:
        lines += _tasks(findings.tasks)
    for title, entries in (
        ("errors", findings.errors),
        ("taken otherwise than written", findings.notes),
        ("likely trouble", findings.trouble),
    ):
        if entries:
            lines += ["", f"{title}:", *_remarks(entries)]
    return "\n".join(lines)


def _rows(findings: Findings) -> str:
    wrong = f", {len(findings.errors)} that cannot be used" if findings.errors else ""
    return f"{findings.rows} rows: {len(findings.tasks)} tasks{wrong}"


def _tasks(tasks: Sequence[Task]) -> list[str]:
    criteria = [c for t in tasks for c in t.rubric]
    points = sorted(c.points for c in criteria)
    sizes = sorted(len(t.rubric) for t in tasks)
    prompts = sorted(sum(len(m.content) for m in t.messages) for t in tasks)
    negative = sum(p < 0 for p in points)
    lines = [
        f"domains: {_counts(t.domain for t in tasks)}",
        f"languages of the prompts: {_counts(language_of(t.messages[-1].content) or 'none' for t in tasks)}",
        f"criteria: {len(criteria)} ({_counts(c.kind for c in criteria)}), {sizes[0]} to {sizes[-1]} per task, median {median(sizes):g}",
        f"points: {points[0]:g} to {points[-1]:g}, median {median(points):g}, {_share(negative, len(points))} negative",
        f"prompt length in characters: median {median(prompts):g}, 95 % up to {prompts[int(0.95 * (len(prompts) - 1))]}, longest {prompts[-1]}",
        f"system messages: {sum(t.messages[0].role == 'system' for t in tasks)}; several turns: "
        f"{sum(sum(m.role == 'user' for m in t.messages) > 1 for t in tasks)}; references: {sum(t.reference is not None for t in tasks)}",
    ]
    rules = Counter(c.rule.name for c in criteria if c.rule is not None)
    if rules:
        lines.append(f"rules: {', '.join(f'{name} {n}' for name, n in rules.most_common(8))}{', ...' if len(rules) > 8 else ''}")
    drafted = sum(c.drafted for c in criteria)
    if drafted:
        lines.append(f"drafted criteria, written by a model and read by nobody: {drafted}")
    lines += _doubles(tasks)
    licences = Counter(t.origin.licence or "not stated" for t in tasks if t.origin is not None)
    if licences:
        lines.append(f"licence: {', '.join(f'{name} {n}' for name, n in licences.most_common())}")
    return lines


def _doubles(tasks: Sequence[Task]) -> list[str]:
    by_prompt: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for task in tasks:
        by_prompt[tuple(" ".join(m.content.split()).casefold() for m in task.messages)].append(task.id)
    doubles = [ids for ids in by_prompt.values() if len(ids) > 1]
    if not doubles:
        return []
    return [f"prompts that occur more than once: {len(doubles)} (for example {', '.join(doubles[0][:3])})"]


def _counts(names: Iterable[str]) -> str:
    found = Counter(names)
    shown = ", ".join(f"{name} {n}" for name, n in found.most_common(8))
    return shown + (f" and {len(found) - 8} more" if len(found) > 8 else "")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def _remarks(entries: Sequence[tuple[int, Note]]) -> list[str]:
    """Each code with how often, what it means and where it was first seen."""
    by_code: dict[str, list[tuple[int, Note]]] = defaultdict(list)
    for row, note in entries:
        by_code[note.code].append((row, note))
    lines = []
    for code, found in sorted(by_code.items(), key=lambda item: -len(item[1])):
        lines.append(f"  {len(found):>5} x {code}: {MEANINGS[code]}")
        lines += [f"          row {row}: {note.text}" for row, note in found[:EXAMPLES]]
    return lines

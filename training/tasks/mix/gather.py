"""Reading a recipe's sources: each once, kept in the output folder, so that a build goes on where it was stopped."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from memory.errors import TaskError
from memory.rundir import write_atomic
from memory.task import Message, Origin, Task
from training.tasks.load import files_of
from training.tasks.mix.recipe import Part
from training.tasks.notes import Note, RowError
from training.tasks.record import Ask, to_ask, to_task
from training.tasks.rows import read_rows
from training.tasks.source import TaskSource


class Gathered:
    """What one source gives. ``dropped`` counts rows that were left out, by reason; ``asks`` are prompts without rubrics."""

    def __init__(self, part: Part):
        self.part = part
        self.tasks: list[Task] = []
        self.asks: list[dict[str, Any]] = []
        self.dropped: Counter[str] = Counter()
        self.has_canary = False

    def dump(self) -> dict[str, Any]:
        return {
            "tasks": [task.model_dump(mode="json", exclude_defaults=True) for task in self.tasks],
            "asks": self.asks,
            "dropped": dict(self.dropped),
            "has_canary": self.has_canary,
        }

    def restore(self, data: dict[str, Any]) -> None:
        self.tasks = [Task.model_validate(task) for task in data["tasks"]]
        self.asks, self.has_canary = data["asks"], data["has_canary"]
        self.dropped = Counter(data["dropped"])


def gather(part: Part, source: TaskSource, folder: Path) -> Gathered:
    """Everything of one source that the recipe's filters let through; from ``folder`` if it was gathered before.

    Raises:
        TaskError: the source cannot be read, or holds a canary and is meant for training.
    """
    gathered = Gathered(part)
    key = hashlib.sha256(json.dumps([part.model_dump(mode="json"), _state(source)], sort_keys=True).encode()).hexdigest()
    kept = folder / f"{part.name}.json"
    if kept.exists() and (data := json.loads(kept.read_text(encoding="utf-8")))["key"] == key:
        gathered.restore(data)
    else:
        _read(part, source, gathered)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(kept, json.dumps({"key": key, **gathered.dump()}, ensure_ascii=False))
    if gathered.has_canary and part.use == "train":
        raise TaskError(
            f"source '{part.name}' carries a canary and cannot be trained on; set its use to heldout or benchmark in the recipe"
        )
    return gathered


def _state(source: TaskSource) -> list[Any]:
    """What a source's content depends on: its settings, and for files their size and time."""
    files = [Path(str(s.path)) for half in ("tasks.train", "tasks.heldout") for s in files_of(source, half) if s.path]
    return [source.model_dump(mode="json"), [(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.exists()]]


def _read(part: Part, source: TaskSource, gathered: Gathered) -> None:
    excluded = re.compile(part.exclude) if part.exclude else None
    for label, place in _halves(source):
        for row in read_rows(place, f"source '{part.name}'"):
            notes: list[Note] = list(row.notes)
            try:
                found: Task | Ask = (to_task if part.has_rubrics else to_ask)(row, place, part.name, notes)
            except RowError as error:
                gathered.dropped[error.code] += 1
                continue
            gathered.has_canary |= any(note.code == "W_CANARY" for note in notes)
            reason = _reason(part, found, excluded)
            if reason is not None:
                gathered.dropped[reason] += 1
            elif isinstance(found, Task):
                gathered.tasks.append(_marked(found, part, row.number, label))
            else:
                gathered.asks.append(_plain(found))


def _halves(source: TaskSource) -> Iterator[tuple[str, TaskSource]]:
    """The files of a source, with the half they belong to where the source is divided already."""
    if source.suite is None:
        yield "", source
        return
    for half in ("train", "heldout"):
        for place in files_of(source, f"tasks.{half}"):
            yield half, place


def _reason(part: Part, found: Task | Ask, excluded: re.Pattern[str] | None) -> str | None:
    """Why the recipe leaves a task out; None where it does not."""
    if excluded is not None and any(excluded.search(message.content) for message in found.messages):
        return "excluded by the recipe's pattern"
    if part.domains and found.domain.casefold() not in {name.casefold() for name in part.domains}:
        return f"of another domain ({found.domain})"
    if isinstance(found, Task):
        if len(found.rubric) < part.min_criteria:
            return "too few criteria"
        if len(found.rubric) > part.max_criteria:
            return "too many criteria"
        if all(criterion.points < 0 for criterion in found.rubric):
            return "no positive points"
    return None


def _marked(task: Task, part: Part, row: int, half: str) -> Task:
    """The task under our name of its domain, with its origin; a source that is divided already stays so (``half``)."""
    ours = {name.casefold(): domain for name, domain in part.domains.items()}
    origin = Origin(source=part.name, row=row, licence=part.licence)
    tags = (*task.tags, f"half:{half}") if half else task.tags
    return task.model_copy(update={"domain": ours.get(task.domain.casefold(), task.domain), "origin": origin, "tags": tags})


def _plain(ask: Ask) -> dict[str, Any]:
    """A prompt without a rubric as one line of a file that ``draft-rubrics`` reads."""
    return {
        "id": ask.id,
        "domain": ask.domain,
        "prompt": _dumped(ask.messages),
        **({"reference": ask.reference} if ask.reference else {}),
        "licence": ask.origin.licence,
    }


def _dumped(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [message.model_dump() for message in messages]

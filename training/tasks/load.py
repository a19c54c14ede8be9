"""What users bring to tasks: every source read, every row understood or refused in one sentence."""

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from memory.errors import TaskError
from memory.task import Task
from training.lab import HELDOUT_FILE, TRAIN_FILE
from training.tasks.mini import mini_files
from training.tasks.notes import Note, Remark, RowError
from training.tasks.record import to_task
from training.tasks.rows import read_rows
from training.tasks.source import TaskSource


class Read(NamedTuple):
    """One row: its task, or why it is none, and what there is to note of it."""

    source: TaskSource
    row: int
    task: Task | RowError
    notes: tuple[Note, ...]


class Loaded(NamedTuple):
    """``remarks`` holds notes and errors of all rows, ``skipped`` the number of rows that could not be used."""

    tasks: list[Task]
    remarks: list[Remark]
    skipped: int

    def counts(self) -> Counter[str]:
        """How often each code occurs."""
        return Counter(remark.code for remark in self.remarks)


def load_tasks(sources: Sequence[TaskSource], field: str, on_error: Literal["stop", "skip"] = "stop") -> Loaded:
    """All tasks of all sources, in order.

    Args:
        field: the config field, ``tasks.train`` or ``tasks.heldout``, for messages and to choose the half of a suite.
        on_error: stop at the first row that cannot be used, or leave such rows out and tell of them in ``remarks``.

    Raises:
        TaskError: names source, row and field, what was found and what is expected; or nothing is left to train on.
    """
    tasks: list[Task] = []
    remarks: list[Remark] = []
    skipped = 0
    for read in _without_collector(read_sources(sources, field)):
        place = read.source.place
        remarks += [Remark(place, read.row, note.code, note.text) for note in read.notes]
        if isinstance(read.task, Task):
            tasks.append(read.task)
            continue
        if on_error == "stop":
            raise TaskError(f"{field}: {place} row {read.row}: {read.task}")
        remarks.append(Remark(place, read.row, read.task.code, str(read.task)))
        skipped += 1
    if not tasks and (skipped or field.endswith("train")):
        first = next((f"; the first, row {r.row}: {r.text}" for r in remarks if r.code.startswith("E_")), "")
        raise TaskError(
            f"{field}: no tasks in {', '.join(s.place for s in sources) or 'an empty list'}, {skipped} rows could not be used{first}"
        )
    return Loaded(tasks, remarks, skipped)


def _without_collector(reads: Iterator[Read]) -> Iterator[Read]:
    """Rows become many objects without a cycle among them; to look for cycles takes a sixth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield from reads
    finally:
        if collecting:
            gc.enable()


def read_sources(sources: Sequence[TaskSource], field: str) -> Iterator[Read]:
    """Every row of every source, with task ids that are unique over all of them.

    Raises:
        TaskError: a source as a whole cannot be read.
    """
    taken: dict[str, str] = {}
    for source, label in labelled(sources):
        for part in files_of(source, field):
            for row in read_rows(part, field):
                notes = list(row.notes)
                try:
                    task = _with_own_id(to_task(row, part, label, notes), f"{source.place} row {row.number}", taken, notes)
                except RowError as error:
                    yield Read(source, row.number, error, tuple(notes))
                else:
                    yield Read(source, row.number, task, tuple(notes))


def labelled(sources: Sequence[TaskSource]) -> Iterator[tuple[TaskSource, str]]:
    """Each source with its name in ids; a name that comes again gets a number."""
    labels = Counter[str]()
    for source in sources:
        labels[source.label] += 1
        yield source, source.label if labels[source.label] == 1 else f"{source.label}-{labels[source.label]}"


def files_of(source: TaskSource, field: str) -> list[TaskSource]:
    """A suite that ships as the files of its half; any other source as it is."""
    if source.suite is None:
        return [source]
    heldout = field.endswith("heldout")
    files = [HELDOUT_FILE if heldout else TRAIN_FILE] if source.suite == "lab" else mini_files("heldout" if heldout else "train")
    return [source.model_copy(update={"suite": None, "path": str(file), "name": source.label}) for file in files]


def _with_own_id(task: Task, place: str, taken: dict[str, str], notes: list[Note]) -> Task:
    """The task under an id that no other one has. Ids of our own format are the user's word, so there two are an error."""
    first = taken.setdefault(task.id, place)
    if first == place:
        return task
    if task.origin is None:
        raise RowError(
            "E_DUPLICATE_ID", f"task id '{task.id}' occurs twice, first in {first}; ids must be unique over all sources"
        )
    number = 2
    while f"{task.id}-{number}" in taken:
        number += 1
    taken[f"{task.id}-{number}"] = place
    notes.append(Note("W_DUPLICATE_ID", f"the id '{task.id}' was taken by {first}, this one became '{task.id}-{number}'"))
    return task.model_copy(update={"id": f"{task.id}-{number}"})

"""Task files to tasks: JSONL with one ``Task`` per line (``memory.task.Task``)."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from memory.errors import TaskError, nearest
from memory.task import Task
from training.lab import HELDOUT_FILE, TRAIN_FILE
from training.reward.rules import validate

LAB = "lab"


def load_tasks(sources: Sequence[str], field: str) -> list[Task]:
    """All tasks of all sources, in order.

    Args:
        sources: file paths, or ``lab`` for the embedded suite.
        field: the config field, ``tasks.train`` or ``tasks.heldout``, for messages and to choose the lab's half.

    Raises:
        TaskError: names source, row and field, what was found and what is expected.
    """
    tasks: dict[str, Task] = {}
    for source in sources:
        path = (HELDOUT_FILE if field.endswith("heldout") else TRAIN_FILE) if source == LAB else Path(source)
        for row, task in _rows(path, field):
            if task.id in tasks:
                raise TaskError(
                    f"{field}: {path} row {row}: task id '{task.id}' occurs twice; ids must be unique over all sources"
                )
            tasks[task.id] = task
    if not tasks and field.endswith("train"):
        raise TaskError(f"{field}: no tasks in {', '.join(sources)}; give a JSONL file with one task per line")
    return list(tasks.values())


def _rows(path: Path, field: str):
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise TaskError(f"{field}: {path} does not exist; give a JSONL task file, or 'lab' for the embedded suite") from error
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{field}: cannot read {path} as UTF-8 text: {error}") from error
    for row, line in enumerate(lines, 1):
        if line.strip():
            yield row, _task(line, f"{field}: {path} row {row}")


def _task(line: str, where: str) -> Task:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise TaskError(f"{where}: not JSON ({error}); a task file has one JSON object per line") from error
    if not isinstance(data, dict):
        raise TaskError(f"{where}: expected a JSON object with {', '.join(Task.model_fields)}, got {type(data).__name__}")
    try:
        task = Task.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise TaskError(f"{where}: unknown field '{name}'; {nearest(name, Task.model_fields)}") from error
        raise TaskError(f"{where}: {name or 'task'}: {first['msg'].removeprefix('Value error, ')}") from error
    for criterion in task.rubric:
        if criterion.rule is not None:
            try:
                validate(criterion.rule)
            except TaskError as error:
                raise TaskError(f"{where}: criterion '{criterion.id}': {error}") from error
    return task

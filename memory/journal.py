"""The journal: an append-only JSONL file that is the truth of a run.

One line per record: ``{"seq", "step", "kind", "time", "record"}``. Readers ignore a last line without its newline, since it is
still being written. ``rewind`` cuts the tail that a killed run wrote after its last checkpoint and keeps it under ``discarded/``.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from memory.decision import Attribution, Decision, Hindsight
from memory.errors import JournalError
from memory.harness import TaskHarness
from memory.task import Noun
from memory.visit import Visit

SCHEMA = 1


class RunRecord(Noun):
    """First line of every journal: the schema, and the versions and seed the run started with."""

    schema_version: int = SCHEMA
    seed: int
    versions: dict[str, str] = Field(default_factory=dict)
    prompts: dict[str, str] = Field(default_factory=dict)


class HarnessRecord(Noun):
    """A new harness version: the accepted edits and the entries they changed, in full."""

    version: int
    edit_ids: tuple[str, ...]
    entries: dict[str, TaskHarness]


class RoundRecord(Noun):
    """One call of the evolver: the tasks it looked at, what it cost (rollouts, of which each may have been ``judged`` under several
    rubrics, and comparisons), and how often each role failed and why."""

    round: int
    task_ids: tuple[str, ...]
    attributions: tuple[Attribution, ...] = ()
    recalled: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    rollouts: int = 0
    judged: int = 0
    quality_calls: int = 0
    failures: dict[str, int] = Field(default_factory=dict)


class EvaluationRecord(Noun):
    """Held-out scores per task of the policy under the plain prompt; ``raw`` is HealthBench's score, which may be negative, of
    tasks with positive points; ``gold`` stands only where gold checks exist."""

    step: int
    score: dict[str, float]
    raw: dict[str, float] = Field(default_factory=dict)
    gold: dict[str, float] = Field(default_factory=dict)


class AlertRecord(Noun):
    name: str
    text: str


KINDS: dict[str, type[Noun]] = {
    "run": RunRecord,
    "visit": Visit,
    "decision": Decision,
    "harness": HarnessRecord,
    "hindsight": Hindsight,
    "round": RoundRecord,
    "evaluation": EvaluationRecord,
    "alert": AlertRecord,
}
_KIND_OF = {cls: kind for kind, cls in KINDS.items()}


class Entry(Noun):
    seq: int
    step: int
    kind: str
    time: float
    record: Any


class Journal:
    """The writer. One per run directory, on the rank that owns it."""

    def __init__(self, path: Path):
        self.path = path
        self.seq = sum(1 for _ in read_lines(path))
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 - closed by ``close``

    def append(self, step: int, record: Noun) -> Entry:
        entry = Entry(seq=self.seq, step=step, kind=_KIND_OF[type(record)], time=time.time(), record=record)
        self._file.write(json.dumps({**entry.model_dump(exclude={"record"}), "record": record.model_dump(mode="json")}) + "\n")
        self._file.flush()
        self.seq += 1
        return entry

    def sync(self) -> int:
        """Force everything to disk; returns the size in bytes, which a checkpoint stores."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self.path.stat().st_size

    def close(self) -> None:
        self._file.close()


def read_lines(path: Path, offset: int = 0) -> Iterator[tuple[int, dict]]:
    """(offset after the line, parsed line) of each complete line from ``offset`` on.

    Raises:
        JournalError: a complete line is not JSON.
    """
    if not path.exists():
        return
    with open(path, "rb") as file:
        file.seek(offset)
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            try:
                record = json.loads(line)
            except ValueError as error:
                raise JournalError(f"{path}: line {number} is not JSON; the file was changed from outside") from error
            if not isinstance(record, dict):
                raise JournalError(f"{path}: line {number} is not a JSON object; the file was changed from outside")
            yield offset, record


def read_journal(path: Path, offset: int = 0) -> Iterator[Entry]:
    """All records in order, as typed objects.

    Raises:
        JournalError: written by another schema, or a line that does not fit its kind.
    """
    for _, line in read_lines(path, offset):
        cls = KINDS.get(line.get("kind", ""))
        if cls is None:
            raise JournalError(f"{path}: record {line.get('seq')} has the unknown kind {line.get('kind')!r}; update harnessrl")
        record = line.get("record")
        if cls is RunRecord and isinstance(record, dict) and record.get("schema_version") != SCHEMA:
            raise JournalError(f"{path}: journal schema {record.get('schema_version')}, this version reads {SCHEMA}")
        try:
            yield Entry(**{**line, "record": cls.model_validate(record)})
        except ValueError as error:
            raise JournalError(f"{path}: record {line.get('seq')} ({line['kind']}) does not fit this version: {error}") from error


def rewind(path: Path, size: int, discarded: Path) -> None:
    """Cut ``path`` back to ``size`` bytes; the tail is appended to ``discarded/NAME``.

    Raises:
        JournalError: the file is shorter than ``size``: it is not the one the checkpoint was made with.
    """
    have = path.stat().st_size if path.exists() else 0
    if have < size:
        raise JournalError(f"{path}: {have} bytes, the checkpoint was made at {size}; the file was shortened from outside")
    if have == size:
        return
    discarded.mkdir(exist_ok=True)
    with open(path, "r+b") as file:
        file.seek(size)
        tail = file.read()
        with open(discarded / path.name, "ab") as kept:
            kept.write(tail)
            kept.flush()
            os.fsync(kept.fileno())
        file.truncate(size)

"""Where each visit stands in a journal, so that a page reads only the visits it shows.

A long run has hundreds of thousands of visits. ``scan`` finds the head of each line by its bytes, and ``Visits`` keeps numbers in
arrays (some 200 bytes a visit) and reads a visit in full when it is asked for. A line that was written in another order of fields
is parsed as JSON instead: slower, the same result.
"""

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import JournalError
from memory.journal import KINDS, SCHEMA, Entry, RunRecord
from memory.visit import Visit

CHUNK = 8 * 1024**2
"""Bytes read at once."""
KEPT = 2048
"""Visits kept parsed."""
_STRING = rb'"((?:[^"\\]|\\.)*)"'
_HEAD = re.compile(rb'\{"seq": (\d+), "step": (-?\d+), "kind": "(\w+)", "time": ([^,]+), "record": ')
_VISIT = re.compile(
    rb'\{"id": ' + _STRING + rb', "step": (-?\d+), "task_id": ' + _STRING + rb', "domain": ' + _STRING
    + rb', "harness_version": (\d+), "level": ([^,]+), "rollout_ids": \[[^\]]*\], "guided": \[([^\]]*)\], "guidance_ids": \[([^\]]*)\]'
    + rb', "scores": \[[^\]]*\], "lengths": \[[^\]]*\], "clipped": \d+, "shares": \{"blind": ([^,]+), "saturated": ([^,]+)'
    + rb', "spurious": ([^,]+), "agree": ([^,]+), "pairs": ([^}]+)\}'
)  # fmt: skip
NUMBERS = ("step", "version", "level", "guided", "fields", "blind", "saturated", "spurious", "agree", "pairs")
"""Columns of ``Visits.numbers``: ``guided`` counts guided rollouts, ``fields`` the task's guidance fields."""


@dataclass(frozen=True)
class Found:
    """A visit's place in the journal, and what of it is kept at hand."""

    offset: int
    size: int
    visit_id: str
    task_id: str
    domain: str
    numbers: tuple[float, ...]


def scan(path: Path, offset: int) -> Iterator[tuple[int, Found | Entry]]:
    """(offset after the line, what it holds) of each complete line from ``offset`` on: visits as ``Found``, the rest typed.

    Raises:
        JournalError: written by another schema, or a line that does not fit its kind.
    """
    for start, line in _lines(path, offset):
        head = _HEAD.match(line)
        found: Found | Entry | None = None
        if head and head[3] == b"visit" and line.endswith(b"}\n"):
            found = _found(start, line, head.end())
        yield start + len(line), found or _parsed(path, start, line, head)


def _lines(path: Path, offset: int) -> Iterator[tuple[int, bytes]]:
    with open(path, "rb") as file:
        file.seek(offset)
        rest = b""
        while block := file.read(CHUNK):
            block = rest + block
            start = 0
            while (end := block.find(b"\n", start)) >= 0:
                yield offset + start, block[start : end + 1]
                start = end + 1
            offset += start
            rest = block[start:]


def _found(offset: int, line: bytes, start: int) -> Found | None:
    visit = _VISIT.match(line, start)
    if visit is None:
        return None
    visit_id, step, task_id, domain, version, level, guided, fields, *shares = visit.groups()
    try:
        numbers = (step, version, level, guided.count(b"true"), fields.count(b'"') // 2, *shares)
        return Found(offset, len(line), _text(visit_id), _text(task_id), _text(domain), tuple(map(float, numbers)))
    except ValueError:
        return None


def _text(raw: bytes) -> str:
    return json.loads(b'"' + raw + b'"') if b"\\" in raw else raw.decode()


def _parsed(path: Path, offset: int, line: bytes, head: re.Match[bytes] | None) -> Found | Entry:
    if head and (cls := KINDS.get(head[3].decode())) not in (None, Visit, RunRecord):
        try:
            typed = cls.model_validate_json(line[head.end() : -2])  # type: ignore[union-attr]
            return Entry(seq=int(head[1]), step=int(head[2]), kind=head[3].decode(), time=float(head[4]), record=typed)
        except ValueError:
            pass  # lone surrogates, which the fast parser refuses; or a damaged line, which is said below
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise JournalError(f"{path}: the line at byte {offset} is not JSON; the file was changed from outside") from error
    if not isinstance(raw, dict):
        raise JournalError(f"{path}: the line at byte {offset} is not a JSON object; the file was changed from outside")
    cls = KINDS.get(raw.get("kind", ""))
    if cls is None:
        raise JournalError(f"{path}: record {raw.get('seq')} has the unknown kind {raw.get('kind')!r}; update harnessrl")
    record: Any = raw.get("record")
    if cls is RunRecord and isinstance(record, dict) and record.get("schema_version") != SCHEMA:
        raise JournalError(f"{path}: journal schema {record.get('schema_version')}, this version reads {SCHEMA}")
    try:
        entry = Entry(**{**raw, "record": cls.model_validate(record)})
    except ValueError as error:
        raise JournalError(f"{path}: record {raw.get('seq')} ({raw['kind']}) does not fit this version: {error}") from error
    return found_of(offset, len(line), entry.record) if cls is Visit else entry


def found_of(offset: int, size: int, visit: Visit) -> Found:
    s = visit.shares
    counts = (visit.step, visit.harness_version, visit.level, sum(visit.guided), len(visit.guidance_ids))
    numbers = (*counts, s.blind, s.saturated, s.spurious, s.agree, s.pairs)
    return Found(offset, size, visit.id, visit.task_id, visit.domain, tuple(map(float, numbers)))


class Visits:
    """All visits of a journal, by number in the order they were written. Numbers at hand, the rest read when asked for."""

    def __init__(self, path: Path):
        self.path = path
        self.ids: list[str] = []
        self.places = np.zeros((0, 2), dtype=np.int64)
        self.numbers = np.zeros((0, len(NUMBERS)), dtype=np.float64)
        self.tasks = np.zeros(0, dtype=np.int32)
        self.domain_of: dict[str, str] = {}
        self._code: dict[str, int] = {}
        self._rows: dict[str, np.ndarray] = {}
        self._number_of: dict[str, int] = {}
        self._kept: OrderedDict[int, Visit | None] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.tasks)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __contains__(self, task_id: object) -> bool:
        return task_id in self.domain_of

    @property
    def task_ids(self) -> list[str]:
        return list(self.domain_of)

    def extend(self, found: Sequence[Found]) -> None:
        """Take in newly scanned visits."""
        if not found:
            return
        self.domain_of.update((f.task_id, f.domain) for f in found)
        codes = [self._code.setdefault(f.task_id, len(self._code)) for f in found]
        self.ids += [f.visit_id for f in found]
        self.places = np.concatenate([self.places, np.array([(f.offset, f.size) for f in found], dtype=np.int64)])
        self.numbers = np.concatenate([self.numbers, np.array([f.numbers for f in found], dtype=np.float64)])
        self.tasks = np.concatenate([self.tasks, np.array(codes, dtype=np.int32)])
        self._rows = {}

    def column(self, name: str, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        return self.numbers[rows, NUMBERS.index(name)]

    def rows(self, task_id: str) -> np.ndarray:
        """Numbers of a task's visits, oldest first."""
        if not self._rows:
            order = np.argsort(self.tasks, kind="stable")
            parts = np.split(order, np.cumsum(np.bincount(self.tasks, minlength=len(self._code)))[:-1]) if len(order) else []
            self._rows = dict(zip(self._code, parts, strict=True))
        return self._rows.get(task_id, np.zeros(0, dtype=np.int64))

    def of(self, task_id: str, newest: int | None = None) -> list[Visit]:
        """A task's visits, oldest first; at most its ``newest``. Unreadable ones are left out."""
        rows = self.rows(task_id)
        return self.read(rows if newest is None else rows[-newest:])

    def at(self, step: int) -> np.ndarray:
        """Numbers of the visits of a step."""
        return np.flatnonzero(self.column("step") == step)

    def by_id(self, visit_id: str) -> Visit | None:
        if len(self._number_of) != len(self.ids):
            self._number_of = {name: number for number, name in enumerate(self.ids)}
        number = self._number_of.get(visit_id)
        return self.one(number) if number is not None else None

    def read(self, numbers: Iterable[int]) -> list[Visit]:
        return [visit for number in numbers if (visit := self.one(int(number))) is not None]

    def one(self, number: int) -> Visit | None:
        """The visit in full; None when its line cannot be read."""
        with self._lock:
            if number not in self._kept:
                self._kept[number] = self._read(number)
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(number)
            return self._kept[number]

    def _read(self, number: int) -> Visit | None:
        offset, size = self.places[number].tolist()
        try:
            with open(self.path, "rb") as file:
                file.seek(offset)
                line = file.read(size)
            return Visit.model_validate(json.loads(line)["record"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

"""Where each visit stands in a journal, so that a page reads only the visits it shows.

A long run has hundreds of thousands of visits. ``Scan`` knows them by the bytes of their first fields. ``Visits`` keeps their places,
reads a visit in full when it is asked for, and a few numbers of every visit when a page needs them (some 300 bytes a visit in all). A
line that was written in another order of fields is parsed as JSON instead: slower, the same result.
"""

import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import JournalError
from memory.journal import KINDS, SCHEMA, Entry, RunRecord
from memory.visit import Visit

CHUNK = 8 * 1024**2
"""Bytes read at once."""
CLOSING = ord("}")
NEAR = 256 * 1024
"""Lines no further apart are read in one go."""
KEPT = 2048
"""Visits kept parsed."""
_STRING = rb'"([^"\\]*(?:\\.[^"\\]*)*)"'
_HEAD = re.compile(rb'\{"seq": (\d+), "step": (-?\d+), "kind": "(\w+)", "time": ([^,]+), "record": ')
_OPENING = re.compile(
    rb'\{"seq": \d+, "step": -?\d+, "kind": "visit", "time": [^,]+, "record": \{"id": ' + _STRING
    + rb', "step": (-?\d+), "task_id": ' + _STRING + rb', "domain": ' + _STRING + rb', "harness_version": '
)  # fmt: skip
_NUMBERS = re.compile(
    rb'"harness_version": (\d+), "level": ([^,]+), "rollout_ids": \[[^\]]*\], "guided": \[[^\]]*\], "guidance_ids": \[[^\]]*\]'
    rb', "scores": \[[^\]]*\], "lengths": \[[^\]]*\], "clipped": \d+, "shares": \{"blind": ([^,]+), "saturated": ([^,]+)'
    rb', "spurious": ([^,]+), "agree": ([^,]+), "pairs": ([^}]+)\}'
)
NUMBERS = ("version", "level", "blind", "saturated", "spurious", "agree", "pairs")
"""Numbers of a visit: the harness version and level it was drawn under, and its ``PairShares``."""


class Scan:
    """Reads a journal from where it last stopped: visits into ``visits``, other records as typed entries."""

    def __init__(self, path: Path, visits: "Visits"):
        self.path = path
        self.visits = visits
        self.offset = 0

    def entries(self) -> Iterator[Entry]:
        """The records of all complete lines that have come, visits left out; ``offset`` is behind the last line taken.

        Raises:
            JournalError: written by another schema, or a line that does not fit its kind.
        """
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                rest = b""
                while block := file.read(CHUNK):
                    block = rest + block
                    base = self.offset
                    yield from self._lines(block, base)
                    rest = block[self.offset - base :]
        finally:
            self.visits.flush()

    def _lines(self, block: bytes, base: int) -> Iterator[Entry]:
        start = 0
        find, opening, add = (
            block.find,
            _OPENING.match,
            self.visits.add,
        )  # this loop is most of the time that a long run takes to open
        while (end := find(b"\n", start)) >= 0:
            visit = opening(block, start, end)
            if visit is not None and block[end - 1] == CLOSING:
                add(base + start, end + 1 - start, *visit.groups())
            else:
                line = block[start:end]
                entry = _parsed(self.path, base + start, line, _HEAD.match(line))
                if isinstance(entry.record, Visit):
                    v = entry.record
                    texts = (v.id, str(v.step), v.task_id, v.domain)
                    self.visits.add(base + start, end + 1 - start, *(json.dumps(t)[1:-1].encode() for t in texts))
                else:
                    yield entry
            start = end + 1
            self.offset = base + start


def _parsed(path: Path, offset: int, line: bytes, head: re.Match[bytes] | None) -> Entry:
    if head and (cls := KINDS.get(head[3].decode())) not in (None, Visit, RunRecord):
        try:
            typed = cls.model_validate_json(line[head.end() : -1])  # type: ignore[union-attr]
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
        return Entry(**{**raw, "record": cls.model_validate(record)})
    except ValueError as error:
        raise JournalError(f"{path}: record {raw.get('seq')} ({raw['kind']}) does not fit this version: {error}") from error


def _text(raw: bytes) -> str:
    return json.loads(b'"' + raw + b'"') if b"\\" in raw else raw.decode(errors="replace")


class Visits:
    """All visits of a journal, by number in the order they were written. Numbers at hand, the rest read when asked for."""

    def __init__(self, path: Path):
        self.path = path
        self.places = np.zeros((0, 2), dtype=np.int64)
        self.steps = np.zeros(0, dtype=np.int64)
        self.tasks = np.zeros(0, dtype=np.int32)
        self.domain_of: dict[str, str] = {}
        self._numbers = np.zeros((0, len(NUMBERS)))
        self._known = np.zeros(0, dtype=bool)
        self._ids: list[bytes] = []
        self._code: dict[bytes, int] = {}
        self._new_domains: dict[bytes, bytes] = {}
        self._new_places: list[tuple[int, int]] = []
        self._new_steps: list[bytes] = []
        self._new_tasks: list[int] = []
        self._rows: dict[str, np.ndarray] = {}
        self._number_of: dict[bytes, int] = {}
        self._kept: OrderedDict[int, Visit | None] = OrderedDict()
        self._lock = threading.Lock()
        self._filling = threading.Lock()

    def __len__(self) -> int:
        return len(self.tasks)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __contains__(self, task_id: object) -> bool:
        return task_id in self.domain_of

    @property
    def task_ids(self) -> list[str]:
        return list(self.domain_of)

    def add(self, offset: int, size: int, visit_id: bytes, step: bytes, task_id: bytes, domain: bytes) -> None:
        """A visit by its place and the JSON of its first fields; seen by readers after ``flush``."""
        code = self._code.get(task_id)
        if code is None:
            code = self._code[task_id] = len(self._code)
            self._new_domains[task_id] = domain
        self._new_places.append((offset, size))
        self._new_steps.append(step)
        self._new_tasks.append(code)
        self._ids.append(visit_id)

    def flush(self) -> None:
        """Let readers see what was added."""
        if not self._new_tasks:
            return
        for task_id, domain in self._new_domains.items():
            self.domain_of[_text(task_id)] = _text(domain)
        self.places = np.concatenate([self.places, np.array(self._new_places, dtype=np.int64).reshape(-1, 2)])
        self.steps = np.concatenate([self.steps, np.array(self._new_steps).astype(np.int64)])
        self.tasks = np.concatenate([self.tasks, np.array(self._new_tasks, dtype=np.int32)])
        self._new_domains, self._new_places, self._new_steps, self._new_tasks, self._rows = {}, [], [], [], {}

    def column(self, name: str, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """One of ``NUMBERS``, of all or some visits."""
        self.fill(rows)
        return self._numbers[rows, NUMBERS.index(name)]

    @property
    def unfilled(self) -> int:
        """Visits whose numbers are not at hand yet."""
        return len(self) - int(np.count_nonzero(self._known))

    def fill(self, rows: np.ndarray | slice = slice(None), rest: float = 0.0) -> None:
        """Have the numbers of all or some visits at hand. All take seconds for a very long run, which ``RunReader`` spends beside
        the first page, with a ``rest`` in seconds after each stretch of the file: who needs others meanwhile comes first then."""
        with self._filling:
            new = len(self) - len(self._known)
            if new:
                self._numbers = np.concatenate([self._numbers, np.zeros((new, len(NUMBERS)))])
                self._known = np.concatenate([self._known, np.zeros(new, dtype=bool)])
        if self._known[rows].all():
            return
        wanted = np.arange(len(self._known))[rows]
        for stretch in self._stretches(np.unique(wanted[~self._known[wanted]])):
            with self._filling:
                if not self._known[stretch].all():
                    self._numbers[stretch] = self._read_numbers(stretch)
                    self._known[stretch] = True
            if rest:
                time.sleep(rest)

    def _stretches(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Visits, in order, in parts that are read in one go: near each other, and about ``CHUNK`` at most."""
        starts, sizes = self.places[numbers].T
        apart = starts[1:] - (starts + sizes)[:-1] > NEAR
        return np.split(numbers, np.flatnonzero(apart | (np.diff(starts // CHUNK) > 0)) + 1)

    def _read_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """``NUMBERS`` of visits of one stretch, shape (visits, numbers)."""
        starts, sizes = self.places[numbers].T
        first, end = int(starts[0]), int(starts[-1] + sizes[-1])
        with open(self.path, "rb") as file:
            file.seek(first)
            block = file.read(end - first)
        starts, ends = starts - first, starts + sizes - first
        found = [self._of_line(block, start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        return np.fromstring(b",".join(found), sep=",").reshape(-1, len(NUMBERS))

    def _of_line(self, block: bytes, start: int, end: int) -> bytes:
        # Inside a text of JSON the quotes would be escaped, so this is the name of the field.
        named = block.find(b'"harness_version": ', start, end)
        known = _NUMBERS.match(block, named, end) if named >= 0 else None
        if known is not None:
            return b",".join(known.groups())
        try:
            visit = Visit.model_validate(json.loads(block[start:end])["record"])
        except (ValueError, KeyError, TypeError):
            return b",".join([b"0"] * len(NUMBERS))
        s = visit.shares
        return ",".join(
            map(repr, (visit.harness_version, visit.level, s.blind, s.saturated, s.spurious, s.agree, s.pairs))
        ).encode()

    def rows(self, task_id: str) -> np.ndarray:
        """Numbers of a task's visits, oldest first."""
        if not self._rows:
            order = np.argsort(self.tasks, kind="stable")
            parts = np.split(order, np.cumsum(np.bincount(self.tasks, minlength=len(self._code)))[:-1]) if len(order) else []
            self._rows = dict(zip(map(_text, self._code), parts, strict=True))
        return self._rows.get(task_id, np.zeros(0, dtype=np.int64))

    def of(self, task_id: str, newest: int | None = None) -> list[Visit]:
        """A task's visits, oldest first; at most its ``newest``. Unreadable ones are left out."""
        rows = self.rows(task_id)
        return self.read(rows if newest is None else rows[-newest:])

    def at(self, step: int) -> np.ndarray:
        """Numbers of the visits of a step."""
        return np.flatnonzero(self.steps == step)

    def by_id(self, visit_id: str) -> Visit | None:
        if len(self._number_of) != len(self._ids):
            self._number_of = {name: number for number, name in enumerate(self._ids)}
        number = self._number_of.get(json.dumps(visit_id)[1:-1].encode())
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

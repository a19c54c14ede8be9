"""Search by meaning over what a run remembers: its edits, and what its visits showed. Out of the journal; Chroma is never opened.

An edit is one record. Visits are many and alike, so they are gathered into *situations*: visits of one task under one version of its
harness entry whose largest pair class is the same. A record is embedded once, when words are first asked for, and takes some 2 kB.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from memory.decision import Decision
from memory.edit import Interface, free_text
from memory.embedding import DIMENSIONS, Embedding, HashingEmbedding
from memory.harness import Harness, TaskHarness
from memory.task import Task
from ui.readers import Remembered, RunView
from ui.words import CLASSES, INTERFACES, operation

MOST = 200_000
"""Records that are kept; of a run with more the rest is not found, which the page says."""
BATCH = 256
"""Records embedded between two signs of progress."""
FAR = 0.15
"""Cosine under which two texts have nothing to do with each other: three times what chance gives, 1 / sqrt(384)."""
LONGEST = 1000
"""Characters of a task's prompt that are embedded."""
NO_PAIRS = "no pairs"
SHOWN = {
    "blind": "all rollouts fail",
    "saturated": "all rollouts pass",
    "spurious": "the score spreads, but better scored responses are not better",
    "agree": "the score spreads and better scored responses are better",
    NO_PAIRS: "no two rollouts could be compared",
}
"""What a visit with this largest class showed."""
SITUATIONS = (*CLASSES, NO_PAIRS)
Kind = Literal["edits", "visits"]


@dataclass
class Situation:
    """Visits that are alike: ``last`` is the number of the newest one. ``versions`` counts the task's harness versions before it."""

    task_id: str
    versions: int
    pair_class: str
    visits: int = 0
    first_step: int = 0
    last_step: int = 0
    last: int = 0


@dataclass(frozen=True)
class Asked:
    """What is looked for; an empty part lets everything pass. Interface and outcome are those of edits."""

    text: str = ""
    kinds: tuple[Kind, ...] = ()
    classes: tuple[str, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    outcomes: tuple[str, ...] = ()
    task: str | None = None

    def passes(self, record: "Remembered | Situation") -> bool:
        if isinstance(record, Situation):
            return (
                (not self.kinds or "visits" in self.kinds)
                and not self.interfaces
                and not self.outcomes
                and (not self.classes or record.pair_class in self.classes)
                and (self.task is None or record.task_id == self.task)
            )
        decision = record.decision
        return (
            (not self.kinds or "edits" in self.kinds)
            and (not self.classes or decision.edit.claim.pair_class in self.classes)
            and (not self.interfaces or decision.edit.interface in self.interfaces)
            and (not self.outcomes or decision.outcome in self.outcomes)
            and (self.task is None or decision.edit.task_id == self.task)
        )


@dataclass(frozen=True)
class Hit:
    """A record with its similarity to what was asked; None where nothing was asked in words."""

    record: Remembered | Situation
    similarity: float | None


@dataclass
class Meaning:
    """The records of one run and their vectors, kept with its view: ``take`` brings the records up to date, ``embed`` the vectors."""

    embedding: Embedding = field(default_factory=HashingEmbedding)
    records: list[Remembered | Situation] = field(default_factory=list)
    left_out: int = 0
    _vectors: np.ndarray = field(default_factory=lambda: np.zeros((0, DIMENSIONS), dtype=np.float32))
    _embedded: int = 0
    _situations: dict[tuple[int, int, int], Situation] = field(default_factory=dict)
    _edits: int = 0
    _visits: int = 0
    _tasks: dict[str, Task | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, run: RunView) -> None:
        """Add the records that have come since."""
        with self._lock:
            new: list[Remembered | Situation] = [*run.decisions[self._edits :], *self._new_situations(run)]
            self._edits = len(run.decisions)
            room = max(0, MOST - len(self.records))
            self.records += new[:room]
            self.left_out += len(new[room:])

    def embed(self, run: RunView) -> Generator[tuple[int, int], None, None]:
        """Embed the records that are not yet, with (done, to do) now and then. May be left at any time and goes on where it stopped."""
        with self._lock:
            first, total = self._embedded, len(self.records)
            while (start := self._embedded) < total:
                batch = self.records[start : start + BATCH]
                self._store(self.embedding.embed([self.text(run, record) for record in batch]))
                yield self._embedded - first, total - first

    def _store(self, vectors: np.ndarray) -> None:
        """Room grows by doubling, so that a long run is not copied at every new record."""
        count, more = self._embedded, len(vectors)
        if count + more > len(self._vectors):
            grown = np.zeros((max(count + more, 2 * len(self._vectors)), vectors.shape[1]), dtype=np.float32)
            grown[:count] = self._vectors[:count]
            self._vectors = grown
        self._vectors[count : count + more] = vectors
        self._embedded += more

    def _new_situations(self, run: RunView) -> list[Situation]:
        """Count the visits that have come; those that belong to no known situation make new ones."""
        end = len(run.visits)
        rows = np.arange(self._visits, end)
        self._visits = end
        if not len(rows):
            return []
        codes, steps = run.visits.tasks[rows].astype(np.int64), run.visits.steps[rows]
        shares = np.stack([run.visits.column(name, rows) for name in CLASSES])
        classes = np.where(run.visits.column("pairs", rows) > 0, shares.argmax(axis=0), len(CLASSES))
        before = self._versions_before(run, codes, run.visits.column("version", rows))
        names = run.visits.task_ids
        order = np.lexsort((rows, classes, before, codes))
        keys = np.stack([codes, before, classes])[:, order]
        starts = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])
        new = []
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            code, version, pair_class = (int(k) for k in keys[:, start])
            first, last = order[start], order[stop - 1]
            found = self._situations.get((code, version, pair_class))
            if found is None:
                found = Situation(names[code], version, SITUATIONS[pair_class], first_step=int(steps[first]))
                self._situations[code, version, pair_class] = found
                new.append(found)
            found.visits += int(stop - start)
            found.last_step, found.last = int(steps[last]), int(rows[last])
        return new

    def _versions_before(self, run: RunView, codes: np.ndarray, versions: np.ndarray) -> np.ndarray:
        """How many versions of its task's entry each visit had seen."""
        before = np.zeros(len(codes), dtype=np.int64)
        code_of = {name: k for k, name in enumerate(run.visits.task_ids)}
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(code_of) + 1))
        for task_id, history in run.history.items():
            code = code_of.get(task_id)
            if code is not None:
                mine = order[ends[code] : ends[code + 1]]
                before[mine] = np.searchsorted([v.version for v in history], versions[mine], side="right")
        return before

    def text(self, run: RunView, record: Remembered | Situation) -> str:
        """What of a record is embedded."""
        return self._of_situation(run, record) if isinstance(record, Situation) else self._of_edit(run, record)

    def _of_situation(self, run: RunView, record: Situation) -> str:
        words = [run.visits.domain_of.get(record.task_id, ""), record.task_id, record.pair_class, SHOWN[record.pair_class]]
        entry = self.entry(run, record)
        if entry is not None:
            words.append("\n".join(m.content for m in entry.messages)[:LONGEST])
            words += [c.text for c in entry.rubric]
            words += [f.text for f in entry.guidance]
        return "\n".join(words)

    def _of_edit(self, run: RunView, record: Remembered) -> str:
        decision = record.decision
        edit, attribution = decision.edit, run.attribution(decision)
        words = [run.visits.domain_of.get(edit.task_id, ""), edit.task_id, edit.claim.pair_class, INTERFACES[edit.interface]]
        for op in (edit.operation, *edit.secondary):
            words += [operation(op.op), free_text(op)]
        words += [edit.claim.reason, attribution.reason if attribution else "", decision.outcome, decision.sentence]
        before = run.entry_before(record) if edit.claim.criterion_ids else None
        words += [c.text for c in before.rubric if c.id in edit.claim.criterion_ids] if before else []
        return "\n".join(words)

    def entry(self, run: RunView, record: Situation) -> TaskHarness | None:
        """The harness entry of a situation; None where the task's own file is missing."""
        if record.versions:
            return run.history[record.task_id][record.versions - 1].entry
        if record.task_id not in self._tasks:
            self._tasks[record.task_id] = run.task(record.task_id)
        task = self._tasks[record.task_id]
        return Harness().of(task) if task else None

    def find(self, asked: Asked, most: int) -> list[Hit]:
        """The nearest records that pass, at most ``most``; what is ``FAR`` is left out. Without words the newest first, embedded or not."""
        records = self.records[:]
        if not asked.text:
            newest = sorted(filter(asked.passes, records), key=when, reverse=True)
            return [Hit(record, None) for record in newest[:most]]
        near = self._vectors[: self._embedded] @ self.embedding.embed([asked.text])[0]
        found: list[Hit] = []
        for number in _descending(near):
            if near[number] < FAR or len(found) == most:
                break
            if asked.passes(records[number]):
                found.append(Hit(records[number], float(near[number])))
        return found


def when(record: Remembered | Situation) -> int:
    """The last step of a record."""
    return record.last_step if isinstance(record, Situation) else record.decision.step


def _descending(near: np.ndarray) -> Sequence[int]:
    return np.argsort(-near, kind="stable").tolist()


def own_embedding(run: RunView, embedding: Embedding) -> bool:
    """Whether this is what the run itself recalls by; a run that names none uses the embedded one."""
    return run.setting("memory", "embedding") in (None, embedding.name)


def line(run: RunView, record: Remembered | Situation, entry: Callable[[Situation], TaskHarness | None]) -> str:
    """A record in plain words, on one line."""
    if isinstance(record, Situation):
        many = record.visits > 1
        steps = f"steps {record.first_step} to {record.last_step}" if many else f"step {record.last_step}"
        words = f"{record.visits} visit{'s' if many else ''} of {record.task_id}, {steps}: mostly {record.pair_class}, "
        words += SHOWN[record.pair_class]
        before = entry(record)
        return words + (f". Asked: {before.messages[-1].content}" if before else "")
    return of_edit(run, record.decision)


def of_edit(run: RunView, decision: Decision) -> str:
    edit, later = decision.edit, run.hindsight.get(decision.edit.id)
    words = f"edit of {edit.task_id} at step {decision.step}, {operation(edit.operation.op)} against {edit.claim.pair_class}: "
    words += decision.sentence
    return words + (f" Hindsight {later.observed:+.2f} of {later.claimed:+.2f}." if later else "")

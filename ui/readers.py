"""From the files of a run to a ``RunView``: what the console shows.

``RunReader`` holds one view and reads only what was appended since it last looked; of visits it keeps the places (``ui.index``). It
never writes and never raises for what it finds in a run: a missing, damaged or half-written file becomes a sentence in
``RunView.troubles``. Imports ``memory`` only; no Streamlit here.
"""

import gc
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from memory.approval import Answer, Waiting, read_inbox, read_waiting
from memory.decision import Attribution, Decision, Hindsight
from memory.errors import JournalError, RunDirError
from memory.harness import Harness, TaskHarness
from memory.journal import AlertRecord, Entry, EvaluationRecord, HarnessRecord, RoundRecord, RunRecord, read_lines
from memory.rundir import RunDir
from memory.task import Task
from memory.visit import Rollout, Visit
from ui.index import Scan, Visits
from ui.tail import Tail

STALE_SECONDS = 60
MANY = 5_000
"""New visits whose numbers are read beside the page that is drawn; fewer wait until they are needed."""
REST, BREATH = 1.0, 0.005
"""Seconds in which the first page is drawn before that, and in which others may be drawn after each part."""
ENDED = ("finished", "stopped", "failed")


@dataclass
class Heartbeat:
    """The last sign of life of a run; a pause has a ``reason``."""

    phase: str
    step: int
    steps: int
    time: float
    reason: str | None = None

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    def stale(self, now: float) -> bool:
        return not self.ended and now - self.time > STALE_SECONDS


@dataclass
class Remembered:
    """A decision with its place in the journal, which tells the harness it met."""

    seq: int
    decision: Decision


@dataclass
class Version:
    """One task's harness entry as of a harness version, and the journal record that brought it."""

    seq: int
    version: int
    step: int
    entry: TaskHarness


@dataclass
class RunView:
    """Everything read of a run so far. ``troubles`` are sentences about what could not be read."""

    path: Path
    visits: Visits
    started: RunRecord | None = None
    decisions: list[Remembered] = field(default_factory=list)
    edits: dict[str, Remembered] = field(default_factory=dict)
    attempts: dict[tuple[int, str], list[Remembered]] = field(default_factory=dict)
    """Decisions by round and task: an edit and its revisions."""
    rounds: dict[int, RoundRecord] = field(default_factory=dict)
    hindsight: dict[str, Hindsight] = field(default_factory=dict)
    evaluations: list[EvaluationRecord] = field(default_factory=list)
    alerts: list[tuple[int, AlertRecord]] = field(default_factory=list)
    history: dict[str, list[Version]] = field(default_factory=dict)
    harness_version: int = 0
    metrics: list[dict[str, Any]] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    heartbeat: Heartbeat | None = None
    tasks: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, dict[str, float]] = field(default_factory=dict)
    waiting: Waiting | None = None
    answers: list[Answer] = field(default_factory=list)
    """What people have answered to edits that wait or waited."""
    troubles: dict[str, str] = field(default_factory=dict)
    tables: dict[tuple[int, int], Any] = field(default_factory=dict)
    """The step table that ``ui.series`` has made, by how much had been read."""
    meaning: Any = None
    """What ``ui.meaning`` has embedded so far."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def accepted(self) -> list[Remembered]:
        return [d for d in self.decisions if d.decision.outcome == "accepted"]

    def setting(self, *keys: str) -> Any:
        """A value of ``config.yaml`` by its path of keys; None when it is not there."""
        value: Any = self.config
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def attribution(self, decision: Decision) -> Attribution | None:
        record = self.rounds.get(decision.round)
        return next((a for a in record.attributions if a.task_id == decision.edit.task_id), None) if record else None

    def brought(self, task_id: str) -> Task | None:
        """The task of this id in the run's tasks file, with c_0; None when there is none."""
        try:
            return Task.model_validate(self.tasks[task_id])
        except (KeyError, ValueError):
            return None

    def task(self, task_id: str) -> Task | None:
        """The task as the user brought it, with c_0; None when its file is not here or is no longer the one of this run."""
        task = self.brought(task_id)
        first = self.visits.read(self.visits.rows(task_id)[:1]) if task else []
        seen = {c.criterion_id for c in first[0].criteria} if first else set()
        return None if task is None or (seen and seen != {c.id for c in task.rubric}) else task

    def entry(self, task_id: str, holds: Callable[[Version], bool] = lambda _: True) -> TaskHarness | None:
        """The task's last harness entry among the versions that ``holds`` lets pass; before the first one, the task untouched."""
        versions = [v for v in self.history.get(task_id, ()) if holds(v)]
        if versions:
            return versions[-1].entry
        task = self.task(task_id)
        return Harness().of(task) if task else None

    def entry_before(self, remembered: Remembered) -> TaskHarness | None:
        """The harness entry that an edit was proposed for."""
        return self.entry(remembered.decision.edit.task_id, lambda v: v.seq < remembered.seq)

    def entry_at(self, visit: Visit) -> TaskHarness | None:
        """The harness entry that a visit was rolled out under."""
        return self.entry(visit.task_id, lambda v: v.version <= visit.harness_version)

    def edit(self, edit_id: str) -> Remembered | None:
        """The decision on an edit, by the edit's id."""
        return self.edits.get(edit_id)

    def rollouts(self, ids: Iterable[str]) -> list[Rollout]:
        """The rollouts with these ids (``FILE/NUMBER``) that are still there and readable, in order."""
        wanted = [i for i in ids if i.count("/") == 1 and not i.startswith(".")]
        found: dict[str, Rollout] = {}
        for name in dict.fromkeys(i.split("/")[0] for i in wanted):
            try:
                lines = [row for _, row in read_lines(RunDir(self.path).rollouts / f"{name}.jsonl") if row.get("id") in wanted]
                found |= {row["id"]: Rollout.model_validate(row) for row in lines}
            except (JournalError, OSError, ValueError):
                continue
        return [found[i] for i in wanted if i in found]


class RunReader:
    """Keeps the view of one run current. ``refresh`` is cheap when nothing was appended; safe to call from several threads."""

    def __init__(self, path: Path):
        self.run = RunDir(path)
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._journal = Tail(self.run.journal)
        self._metrics = Tail(self.run.metrics)
        self._config_stamp: tuple[int, int] | None = None
        self.view = RunView(self.run.root, Visits(self.run.journal))
        self._scan = Scan(self.run.journal, self.view.visits)
        self._beside: threading.Timer | None = None

    def refresh(self) -> RunView:
        """The view with everything that the run's files hold by now."""
        with self._lock, uncollected():
            if self._journal.replaced() or self._metrics.replaced():
                self._forget()
            for path, read in (
                (self.run.config, self._read_config),
                (self.run.tasks, self._read_tasks),
                (self.run.heartbeat, self._read_heartbeat),
                (self.run.metrics, self._read_metrics),
                (self.run.journal, self._read_journal),
            ):
                self._guarded(path, read)
            self._read_usage()
            self._read_waiting()
            if self.view.visits.unfilled > MANY and (self._beside is None or not self._beside.is_alive()):
                self._beside = threading.Timer(REST, self.view.visits.fill, kwargs={"rest": BREATH})
                self._beside.daemon = True
                self._beside.start()
            return self.view

    def _guarded(self, path: Path, read: Callable[[], None]) -> None:
        try:
            if path.exists():
                self.view.troubles.pop(path.name, None)
                read()
            else:
                self.view.troubles[path.name] = f"{path.name} is not there: {MISSING[path.name]}."
        except JournalError as error:
            self.view.troubles[path.name] = f"{one_line(error, path)}; what stands before it is shown."
        except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
            self.view.troubles[path.name] = f"{path.name} cannot be read ({one_line(error, path)[:200]}); it is left out."

    def _read_config(self) -> None:
        found = self.run.config.stat()
        stamp = (found.st_size, found.st_mtime_ns)
        if stamp == self._config_stamp:
            return
        config = yaml.safe_load(self.run.config.read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("it holds no settings")
        self.view.config = config
        self._config_stamp = stamp

    def _read_tasks(self) -> None:
        """Once: the tasks of a run do not change."""
        if not self.view.tasks:
            self.view.tasks = {row["id"]: row for _, row in read_lines(self.run.tasks)}

    def _read_heartbeat(self) -> None:
        self.view.heartbeat = None
        found = json.loads(self.run.heartbeat.read_text(encoding="utf-8"))
        try:
            self.view.heartbeat = Heartbeat(
                phase=str(found["phase"]),
                step=int(found["step"]),
                steps=int(found["steps"]),
                time=float(found["time"]),
                reason=str(found["reason"]) if "reason" in found else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError("expected phase, step, steps and time") from error

    def _read_usage(self) -> None:
        """What the models have cost, by role; without the file, as in the laboratory, nothing."""
        try:
            found = json.loads(self.run.usage.read_text(encoding="utf-8"))
            self.view.usage = {
                str(role): {k: float(v) for k, v in costs.items() if isinstance(v, int | float)} for role, costs in found.items()
            }
        except (OSError, ValueError, AttributeError):
            self.view.usage = {}

    def _read_waiting(self) -> None:
        """Edits that wait for a person and what was answered; most runs have neither file."""
        self.view.troubles.pop(self.run.waiting.name, None)
        try:
            self.view.waiting = read_waiting(self.run.waiting)
        except RunDirError as error:
            self.view.waiting = None
            self.view.troubles[self.run.waiting.name] = f"{one_line(error, self.run.waiting)}."
        self.view.answers, _ = read_inbox(self.run.inbox)

    def _read_metrics(self) -> None:
        offset = self._metrics.offset
        try:
            for offset, line in read_lines(self.run.metrics, self._metrics.offset):  # noqa: B007 - used when it ends
                if isinstance(line, dict) and isinstance(line.get("step"), int) and isinstance(line.get("metrics"), dict):
                    self.view.metrics.append(line)
        finally:
            self._metrics.advance(offset)

    def _read_journal(self) -> None:
        try:
            for entry in self._scan.entries():
                self._take(entry)
        finally:
            self._journal.advance(self._scan.offset)

    def _take(self, entry: Entry) -> None:
        view = self.view
        match entry.record:
            case RunRecord() as record:
                view.started = record
            case Decision() as decision:
                remembered = Remembered(entry.seq, decision)
                view.decisions.append(remembered)
                view.edits[decision.edit.id] = remembered
                view.attempts.setdefault((decision.round, decision.edit.task_id), []).append(remembered)
            case RoundRecord() as record:
                view.rounds[record.round] = record
            case Hindsight() as hindsight:
                view.hindsight[hindsight.edit_id] = hindsight
            case EvaluationRecord() as evaluation:
                view.evaluations.append(evaluation)
            case AlertRecord() as alert:
                view.alerts.append((entry.step, alert))
            case HarnessRecord(version=version, entries=entries):
                view.harness_version = version
                for task_id, changed in entries.items():
                    view.history.setdefault(task_id, []).append(Version(entry.seq, version, entry.step, changed))


MISSING = {
    "config.yaml": "its settings are unknown",
    "tasks.jsonl": "the tasks' own rubrics (c_0) are unknown",
    "heartbeat.json": "whether the run is alive is unknown",
    "metrics.jsonl": "rewards are taken from the visits",
    "journal.jsonl": "no visits, edits or evaluations are known",
}


@contextmanager
def uncollected() -> Iterator[None]:
    """The cyclic collector paused: nothing that is read is garbage, and looking through it again and again doubles the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def one_line(error: Exception, path: Path) -> str:
    """An error's words on one line, with the file's name in place of its path."""
    return " ".join(str(error).replace(str(path), path.name).split())


def run_folders(folder: Path) -> list[Path]:
    """The runs in a folder, newest first; the folder itself when it is a run."""
    if _is_run(folder):
        return [folder]
    try:
        found = [p for p in folder.iterdir() if p.is_dir() and _is_run(p)]
    except OSError:
        return []
    return sorted(found, key=_last_write, reverse=True)


def _is_run(path: Path) -> bool:
    return any((path / name).is_file() for name in MISSING)


def _last_write(path: Path) -> float:
    return max((p.stat().st_mtime for name in MISSING if (p := path / name).exists()), default=0.0)

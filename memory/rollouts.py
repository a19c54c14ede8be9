"""Rollouts by reference: one JSONL file per step or rehearsal round, found again by rollout id.

A rollout id is ``FILE/NUMBER``, for example ``step-000012/37``; the file is ``rollouts/step-000012.jsonl``.
"""

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from memory.journal import read_lines
from memory.rundir import write_atomic
from memory.visit import Rollout

KEPT = 64
"""Files whose rollouts stay in memory: those of a window, which the tasks of a round ask for at the same time."""


class RolloutStore:
    """Files are whole as soon as they are there, and last through a power cut from the next ``sync`` on: what a run has written
    since its last checkpoint it does again."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._unsynced: set[Path] = set()
        self._files: OrderedDict[str, dict[str, Rollout]] = OrderedDict()
        self._lock = Lock()

    def write(self, name: str, rollouts: Sequence[Rollout], keep: bool = False) -> None:
        """Write all rollouts of one step or round at once; writing the same name again replaces the file. ``keep`` those in memory
        that are going to be asked for soon."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = (r.model_dump_json(exclude_defaults=True) for r in rollouts)
        path = self.folder / f"{name}.jsonl"
        write_atomic(path, "".join(line + "\n" for line in lines), lasting=False)
        with self._lock:
            self._unsynced.add(path)
            self._files.pop(name, None)
            if keep:
                self._keep(name, rollouts)

    def sync(self) -> None:
        """Wait until all that was written is on disk."""
        with self._lock:
            unsynced, self._unsynced = self._unsynced, set()
        for path in sorted(unsynced):
            with suppress(FileNotFoundError), open(path, "rb") as file:
                os.fsync(file.fileno())

    def get(self, ids: Iterable[str]) -> list[Rollout]:
        """The rollouts with these ids, in order; unknown ids are left out."""
        found = (self._file(i.rsplit("/", 1)[0]).get(i) for i in ids)
        return [r for r in found if r is not None]

    def _file(self, name: str) -> dict[str, Rollout]:
        """The rollouts of a file by id. Who asks while another reads waits for that reader."""
        with self._lock:
            if name not in self._files:
                lines = read_lines(self.folder / f"{name}.jsonl")
                self._keep(name, (Rollout.model_validate(line) for _, line in lines))
            self._files.move_to_end(name)
            return self._files[name]

    def _keep(self, name: str, rollouts: Iterable[Rollout]) -> None:
        self._files[name] = {r.id: r for r in rollouts}
        while len(self._files) > KEPT:
            self._files.popitem(last=False)

"""Rollouts by reference: one JSONL file per step or rehearsal round, found again by rollout id.

A rollout id is ``FILE/NUMBER``, for example ``step-000012/37``; the file is ``rollouts/step-000012.jsonl``.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock

from memory.journal import read_lines
from memory.rundir import write_atomic
from memory.visit import Rollout

KEPT = 64
"""Files whose rollouts stay in memory: those of a window, which the tasks of a round ask for at the same time."""


class RolloutStore:
    def __init__(self, folder: Path):
        self.folder = folder
        self._files: OrderedDict[str, dict[str, Rollout]] = OrderedDict()
        self._lock = Lock()

    def write(self, name: str, rollouts: Sequence[Rollout]) -> None:
        """Write all rollouts of one step or round at once; writing the same name again replaces the file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = (r.model_dump_json(exclude_defaults=True) for r in rollouts)
        write_atomic(self.folder / f"{name}.jsonl", "".join(line + "\n" for line in lines))
        with self._lock:
            self._files.pop(name, None)

    def get(self, ids: Iterable[str]) -> list[Rollout]:
        """The rollouts with these ids, in order; unknown ids are left out."""
        found = (self._file(i.rsplit("/", 1)[0]).get(i) for i in ids)
        return [r for r in found if r is not None]

    def _file(self, name: str) -> dict[str, Rollout]:
        """The rollouts of a file by id. Who asks while another reads waits for that reader."""
        with self._lock:
            if name not in self._files:
                rollouts = (Rollout.model_validate(line) for _, line in read_lines(self.folder / f"{name}.jsonl"))
                self._files[name] = {r.id: r for r in rollouts}
            self._files.move_to_end(name)
            while len(self._files) > KEPT:
                self._files.popitem(last=False)
            return self._files[name]

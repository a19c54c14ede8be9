"""Rollouts by reference: one JSONL file per step or rehearsal round, found again by rollout id.

A rollout id is ``FILE/NUMBER``, for example ``step-000012/37``; the file is ``rollouts/step-000012.jsonl``.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from memory.journal import read_lines
from memory.rundir import write_atomic
from memory.visit import Rollout


class RolloutStore:
    def __init__(self, folder: Path):
        self.folder = folder
        self._read = lru_cache(maxsize=64)(self._read_file)

    def write(self, name: str, rollouts: Sequence[Rollout]) -> None:
        """Write all rollouts of one step or round at once; writing the same name again replaces the file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = (r.model_dump_json(exclude_defaults=True) for r in rollouts)
        write_atomic(self.folder / f"{name}.jsonl", "".join(line + "\n" for line in lines))
        self._read.cache_clear()

    def get(self, ids: Iterable[str]) -> list[Rollout]:
        """The rollouts with these ids, in order; unknown ids are left out."""
        found = (self._read(i.rsplit("/", 1)[0]).get(i) for i in ids)
        return [r for r in found if r is not None]

    def _read_file(self, name: str) -> dict[str, Rollout]:
        rollouts = (Rollout.model_validate(line) for _, line in read_lines(self.folder / f"{name}.jsonl"))
        return {r.id: r for r in rollouts}

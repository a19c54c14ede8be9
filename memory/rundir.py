"""The run directory: where everything of a run lies, and the lock that gives it one owner.

config.yaml     resolved configuration               tasks.jsonl     the training tasks as they were brought, with c_0
defaults.yaml   what each setting is by default, as of this run's version
journal.jsonl   the truth (``memory.journal``)       metrics.jsonl   one line per step
rollouts/       one JSONL per step or rehearsal      checkpoints/    trainer state and the state of the co-evolution
index/          Chroma, derived from the journal, or index.id, its name on a server
rounds.sqlite   the round under way                  heartbeat.json  phase and step, for the console
verdicts.sqlite what models said of responses, so that nothing is asked twice (one more file per further process)
usage.json      what the models have cost, by role
waiting.json    edits that wait for a person         inbox.jsonl     what people answered; the run only reads it
report.md, report.png, harness.yaml, policy/         at the end
"""

import json
import os
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from memory.errors import RunDirError


def write_atomic(path: Path, text: str, lasting: bool = True) -> None:
    """Replace ``path`` by ``text`` so that a reader sees the old or the new content, never a part. What need not be ``lasting`` is not
    waited for until it is on disk, and may be empty after a power cut."""
    part = path.with_name(path.name + ".part")
    # A lone surrogate, which a model's JSON can bring, is not worth losing a run for.
    with open(part, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    os.replace(part, path)


class RunDir:
    """Paths of one run. Creating the object touches nothing; ``claim`` makes the directory and locks it."""

    def __init__(self, root: str | Path):
        self.root = Path(root)
        self.config = self.root / "config.yaml"
        self.defaults = self.root / "defaults.yaml"
        self.tasks = self.root / "tasks.jsonl"
        self.journal = self.root / "journal.jsonl"
        self.metrics = self.root / "metrics.jsonl"
        self.rollouts = self.root / "rollouts"
        self.checkpoints = self.root / "checkpoints"
        self.index = self.root / "index"
        self.rounds = self.root / "rounds.sqlite"
        self.heartbeat = self.root / "heartbeat.json"
        self.usage = self.root / "usage.json"
        self.waiting = self.root / "waiting.json"
        self.inbox = self.root / "inbox.jsonl"
        self.discarded = self.root / "discarded"
        self.harness = self.root / "harness.yaml"
        self.policy = self.root / "policy"

    def verdicts(self, rank: int) -> Path:
        """The verdict cache of one process: each has its own, since a file has one writer."""
        return self.root / ("verdicts.sqlite" if rank == 0 else f"verdicts-{rank}.sqlite")

    def claim(self) -> FileLock:
        """Make the directory and become its only writer; release the returned lock at the end.

        Raises:
            RunDirError: the directory cannot be written, or another process holds it.
        """
        try:
            self.rollouts.mkdir(parents=True, exist_ok=True)
            self.checkpoints.mkdir(exist_ok=True)
            lock = FileLock(self.root / ".lock")
            lock.acquire(timeout=0)
        except Timeout as error:
            raise RunDirError(
                f"run_dir: {self.root} is in use by another process; wait for it, stop it, or choose another run directory"
            ) from error
        except OSError as error:
            raise RunDirError(
                f"run_dir: cannot write to {self.root} ({error.strerror}); choose a directory you may write to"
            ) from error
        return lock

    def beat(self, **state: Any) -> None:
        """Say what the run is doing now, for readers of the directory."""
        write_atomic(self.heartbeat, json.dumps(state), lasting=False)

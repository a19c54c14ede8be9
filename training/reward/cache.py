"""The verdict cache: what a model has said once is not asked, or paid for, again.

It holds verdicts only, under a key made of everything that can change one; failures never enter it. One SQLite file per process
of a run, written as verdicts come in, so that a killed run resumes with all it has paid for. Losing the file costs money and
nothing else.
"""

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)


def key_of(*parts: Any) -> str:
    """A digest of plain data. Equal parts have equal keys in every process."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


class VerdictCache:
    """Plain data by key. Thread-safe. Without a path it lives in memory; a damaged file is set aside and begun anew."""

    def __init__(self, path: Path | None = None):
        self._lock = threading.Lock()
        try:
            self._file = _opened(path)
        except sqlite3.DatabaseError as error:
            if path is None or isinstance(error, sqlite3.OperationalError):
                raise
            aside = path.with_name(path.name + ".damaged")
            path.replace(aside)
            logger.warning("%s is damaged (%s): kept as %s, verdicts are asked for again", path, error, aside.name)
            self._file = _opened(path)

    def get(self, key: str) -> Any | None:
        with self._lock:
            found = self._file.execute("SELECT value FROM verdicts WHERE key = ?", (key,)).fetchone()
        return None if found is None else json.loads(found[0])

    def put(self, values: Mapping[str, Any]) -> None:
        """Keep all of ``values`` or, when the process dies meanwhile, none of them."""
        with self._lock, self._file:
            rows = [(key, json.dumps(value)) for key, value in values.items()]
            self._file.executemany("INSERT OR IGNORE INTO verdicts VALUES (?, ?)", rows)

    def close(self) -> None:
        with self._lock:
            self._file.close()


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    file = sqlite3.connect(path or ":memory:", check_same_thread=False)
    # One process owns the file: so the log needs no shared memory, which network file systems lack. NORMAL may lose the last
    # verdicts when the machine, not just the process, dies, and saves a sync for each.
    for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=NORMAL"):
        file.execute(f"PRAGMA {pragma}")
    file.execute("CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    return file

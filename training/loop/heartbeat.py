"""The heartbeat: what the run is doing now, for who reads its directory."""

import threading
from contextlib import suppress
from typing import Any

from memory.rundir import RunDir

PAUSE = 0.2
"""Seconds between two writes. Within a round phases change many times a second, and nobody reads as fast."""


class Heartbeat:
    """Writes the last state it was told, from a thread of its own, so that saying it costs the run nothing.

    The first state after a pause is written at once; of those that follow closely the last. A state that cannot be written is left out:
    what matters of a run fails elsewhere when its disk is full.
    """

    def __init__(self, run: RunDir):
        self.run = run
        self._state: dict[str, Any] = {}
        self._told = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def beat(self, **state: Any) -> None:
        self._state = state
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="heartbeat", daemon=True)
            self._thread.start()
        self._told.set()

    def end(self, **state: Any) -> None:
        """Write the last state of all before returning."""
        self._ended.set()
        self._told.set()
        if self._thread is not None:
            self._thread.join()
        self.run.beat(**state)

    def _write(self) -> None:
        while self._told.wait() and not self._ended.is_set():
            self._told.clear()
            with suppress(OSError):
                self.run.beat(**self._state)
            self._ended.wait(PAUSE)

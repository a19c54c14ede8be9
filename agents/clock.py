"""A clock for work done by several threads at once."""

import threading
import time


class SharedClock:
    """``seconds`` in which at least one ``with clock:`` block was open."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._open = 0
        self._since = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> "SharedClock":
        with self._lock:
            if self._open == 0:
                self._since = time.monotonic()
            self._open += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                self.seconds += time.monotonic() - self._since

"""Where reading of a growing file stopped, and whether the file is still the one that was read."""

from pathlib import Path

FINGERPRINT = 256
"""Bytes before the offset that are compared; every journal line carries its time, so a rewritten tail differs."""


class Tail:
    """An offset into an append-only file. A run that is resumed cuts its files back; ``replaced`` notices."""

    def __init__(self, path: Path):
        self.path = path
        self.offset = 0
        self._before = b""

    def replaced(self) -> bool:
        """Whether what was read is no longer what stands before the offset."""
        try:
            return self.offset > 0 and self._bytes_before(self.offset) != self._before
        except OSError:
            return True

    def advance(self, offset: int) -> None:
        """Everything before ``offset`` has been read."""
        self.offset = offset
        self._before = self._bytes_before(offset)

    def _bytes_before(self, offset: int) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(max(0, offset - FINGERPRINT))
            return file.read(min(offset, FINGERPRINT))

"""A pipe that somebody still writes into, as a file to read: until it ends, or somebody ends it.

Who ends it may be another thread, or a signal's handler, while a read waits for bytes. What had arrived is
still read then, and what a writer that is ended at the same time has left to write.
"""

from __future__ import annotations

import os
import select
import stat
import time
from pathlib import Path
from typing import BinaryIO, Final

from wirelock.capture.ahead import on_close

__all__ = ["Live", "is_live"]

_QUIET: Final = 0.3
"""Seconds without a byte, after which one that was ended is at its end."""
_LONGEST: Final = 3.0
"""Seconds that one that was ended is read on at most, from its next read on: its writer may never stop."""


def is_live(file: Path | BinaryIO) -> bool:
    """Whether an open file, or the one at a path, is a pipe or another that is written while it is read."""
    try:
        known = file.stat() if isinstance(file, Path) else os.fstat(file.fileno())
    except (OSError, ValueError):  # not there, or no file of the system
        return False
    mode = known.st_mode
    waiting = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)
    return waiting and hasattr(select, "poll")


class Live:
    """The bytes that come out of an open file, of which nothing may have been read.

    To be read in its place: `read1` and `readinto` return what is there, and wait only where nothing is.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.ended = False
        """Whether `end` was called."""
        self._handle = file.fileno()
        self._woken, self._wake = os.pipe()
        self._poll = select.poll()
        for handle in (self._handle, self._woken):
            self._poll.register(handle, select.POLLIN)
        self._abandoned = False
        self._latest: float | None = None

    def end(self) -> None:
        """Let the input end: when nothing comes for a moment, or after a few of them."""
        self.ended = True
        os.write(self._wake, b"\0")

    def abandon(self) -> None:
        """Let the input end at once; a read that waits returns nothing."""
        self._abandoned = True
        os.write(self._wake, b"\0")

    def read1(self, size: int = 1 << 16) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        return os.read(self._handle, size) if self._has_more() else b""

    read = read1

    def readinto(self, into: bytearray | memoryview) -> int:
        """Read the next bytes into a buffer; return how many, 0 at the end."""
        return os.readv(self._handle, [into]) if self._has_more() else 0

    def close(self) -> None:
        """Give back what this took besides the file, which stays open. Nothing may be read any more."""
        os.close(self._woken)
        os.close(self._wake)

    def _has_more(self) -> bool:
        """Wait for bytes, or for the end of the file; return False where it was ended before."""
        on_close(self.abandon)
        while not self.ended and not self._abandoned:
            if self._handle in dict(self._poll.poll()):
                return True
        if self._abandoned:
            return False
        if self._latest is None:
            self._latest = time.monotonic() + _LONGEST
            self._poll.unregister(self._woken)
        left = min(self._latest - time.monotonic(), _QUIET)
        return left > 0 and bool(self._poll.poll(1000 * left))

"""A file or pipe -> its bytes, read forward in bounded pieces, unpacked where they are gzip or zstd.

No length that a file states makes this ask for more than a piece at once, and a pipe is never waited for
longer than the bytes that are wanted take.
"""

from __future__ import annotations

import io
from typing import BinaryIO, Final

from wirelock.capture.packets import CaptureFault, Counts, Within
from wirelock.capture.unpack import Unpacked, compression
from wirelock.errors import CaptureError

__all__ = ["PIECE", "Stream"]

PIECE: Final = 1 << 16
"""Bytes that are asked for at once, at most."""


class Stream:
    """A file that knows how far it has come: `byte`, of what it holds once unpacked."""

    def __init__(self, file: BinaryIO, name: str, counts: Counts) -> None:
        if isinstance(file, io.TextIOBase):
            raise CaptureError(f"{name}: is not open in binary mode")
        self.name = name
        self.byte = 0
        self.within: Within = "file"
        self._read = getattr(file, "read1", file.read)  # what is there, where others would wait for more
        self._counts = counts
        self._unpacked: Unpacked | None = None
        self._into = getattr(file, "readinto", None)
        self._buffer: bytes | memoryview = b""
        self._at = 0
        self._first = b""
        self._drained = False
        self._problem: CaptureError | None = None
        while len(self._first) < 4 and (more := self._read_file(4 - len(self._first))):
            self._first += more
        counts.compression = kind = compression(self._first)
        if kind:
            self._unpacked = Unpacked(kind, self._file, name)
            self.within = "unpacked file"

    def take(self, size: int) -> bytes:
        """Return the next bytes: fewer than `size` only where the file ends."""
        end = self._at + size
        data = bytes(self._buffer[self._at : end])
        if len(data) == size:
            self._at = end
        else:
            data = self._gather(data, size)
        self.byte += len(data)
        return data

    def skip(self, size: int | None = None) -> int:
        """Pass over bytes, all that are left if no size is given; return how many were there."""
        start = self.byte
        while size is None or self.byte < start + size:
            left = PIECE if size is None else start + size - self.byte
            if not self.take(min(left, PIECE)):
                break
        return self.byte - start

    @property
    def ready(self) -> memoryview:
        """The bytes that were read and not taken yet."""
        return memoryview(self._buffer)[self._at :]

    def fill(self, into: memoryview) -> bool:
        """Read into a buffer, behind the bytes that are ready, and go on from there; return whether it grew.

        Waits until the buffer is full or the file ends. What cannot be read is told once the bytes before it
        are taken.
        """
        if self._drained:
            return False
        left = self.ready
        into[: len(left)] = left
        end = len(left)
        try:
            while end < len(into) and (size := self._read_into(into[end:])):
                end += size
        except CaptureError as problem:
            self._problem = problem
        self._buffer, self._at = into[:end], 0
        self._drained = end == len(left)
        return not self._drained

    def advance(self, size: int) -> None:
        """Pass over bytes that are ready."""
        self._at += size
        self.byte += size

    def refuse(self, problem: str) -> CaptureError:
        """Return the error that this file is no capture."""
        damage = self._unpacked.damage if self._unpacked else None
        return CaptureError(f"{self.name}: {f'{damage[0]} (byte {damage[1]})' if damage else problem}")

    def damage(self) -> CaptureFault | None:
        """Return what is wrong with the compression, once reading has come to it."""
        if self._unpacked is None or self._unpacked.damage is None:
            return None
        message, byte = self._unpacked.damage
        return CaptureFault(None, "compression", message, byte, "file")

    def _gather(self, start: bytes, size: int) -> bytes:
        """Return `start`, which is what is left in the buffer, and what comes behind it."""
        pieces, left = [start], size - len(start)
        while left:
            self._buffer = self._unpacked.read(PIECE) if self._unpacked else self._file(PIECE)
            self._at = min(left, len(self._buffer))
            if not self._buffer:
                break
            pieces.append(bytes(self._buffer[: self._at]))
            left -= self._at
        return b"".join(pieces)

    def _file(self, size: int) -> bytes:
        """Return the next bytes of the file as it is."""
        if self._first:
            data, self._first = self._first[:size], self._first[size:]
            return data
        return self._read_file(size)

    def _read_into(self, into: memoryview) -> int:
        """Read bytes to where they are wanted; return how many."""
        if self._unpacked is None and not self._first and self._into is not None and self._problem is None:
            try:
                size: int = self._into(into) or 0
            except OSError as error:
                raise CaptureError(f"{self.name}: {error.strerror or error}") from error
            self._counts.file_bytes += size
            return size
        size = min(PIECE, len(into))
        data = self._unpacked.read(size) if self._unpacked else self._file(size)
        into[: len(data)] = data
        return len(data)

    def _read_file(self, size: int) -> bytes:
        if self._problem is not None:
            raise self._problem
        try:
            data: bytes = self._read(size)
        except OSError as error:
            raise CaptureError(f"{self.name}: {error.strerror or error}") from error
        self._counts.file_bytes += len(data)
        return data

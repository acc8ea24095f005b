"""A file or pipe -> its bytes, read forward in bounded pieces, unpacked where they are gzip or zstd.

No length that a file states makes this ask for more than a piece at once.
"""

from __future__ import annotations

import io
from typing import BinaryIO, Final

from wirelock.capture.packets import CaptureFault, Counts, Within
from wirelock.capture.unpack import Unpacked, compression
from wirelock.errors import CaptureError

__all__ = ["Stream"]

PIECE: Final = 1 << 18
"""Bytes that are asked for at once, at most."""


class Stream:
    """A file that knows how far it has come: `byte`, of what it holds once unpacked."""

    def __init__(self, file: BinaryIO, name: str, counts: Counts) -> None:
        if isinstance(file, io.TextIOBase):
            raise CaptureError(f"{name}: is not open in binary mode")
        self.name = name
        self.byte = 0
        self.within: Within = "file"
        self._read = file.read
        self._counts = counts
        self._unpacked: Unpacked | None = None
        self._first = b""
        self._first = self.take(4)
        counts.compression = kind = compression(self._first)
        if kind:
            self._unpacked = Unpacked(kind, self._piece, name)
            self.within = "unpacked file"
        self.byte = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes: fewer than `size` only where the file ends."""
        try:
            data = self._more(min(size, PIECE))
            if len(data) < size:
                data = self._gather(data, size)
        except OSError as error:
            raise CaptureError(f"{self.name}: {error.strerror or error}") from error
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

    def _more(self, size: int) -> bytes:
        return self._unpacked.read(size) if self._unpacked else self._piece(size)

    def _piece(self, size: int) -> bytes:
        if self._first:
            data, self._first = self._first[:size], self._first[size:]
            return data
        data = self._read(size)
        self._counts.file_bytes += len(data)
        return data

    def _gather(self, piece: bytes, size: int) -> bytes:
        pieces, left = [piece], size - len(piece)
        while left and piece:
            piece = self._more(min(left, PIECE))
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

"""gzip (RFC 1952) and zstd (RFC 8878) -> the bytes they stand for, forward and in bounded memory.

Whatever stands before damage comes out: a piece that cannot be decoded is decoded again byte by byte, by a
decoder that was kept from before it. Held at once are two decoders and what one piece of the file stands
for, at most 4 MiB; a zstd frame may ask for a window of 128 MiB, not more.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from wirelock.errors import CaptureError

__all__ = ["Unpacked", "compression"]

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE: Final = b"\x2a\x4d\x18"
"""What a skippable zstd frame has behind its first byte, 50 to 5f."""
_PIECES: Final = {"gzip": 1 << 12, "zstd": 1 << 7}
"""Bytes that are decoded at once. deflate stands for at most 1032 times its size; a zstd block of 4 bytes
stands for 128 KiB."""
_LARGEST_WINDOW: Final = 27
"""The logarithm of it: what the zstd command allows unless it is told otherwise."""


def compression(start: bytes) -> str:
    """Return `gzip` or `zstd` by a file's first four bytes, or an empty text."""
    if start.startswith(_GZIP):
        return "gzip"
    skippable = len(start) == 4 and start[0] & 0xF0 == 0x50 and start[1:] == _SKIPPABLE
    return "zstd" if start == _ZSTD or skippable else ""


class Unpacked:
    """The bytes that a compressed file stands for, all its members and frames in a row.

    `damage` is None, or (message, byte of the compressed file) once reading has come to the damage;
    nothing comes behind it.
    """

    def __init__(self, kind: str, read: Callable[[int], bytes], name: str) -> None:
        self.damage: tuple[str, int] | None = None
        self._kind = kind
        self._make, self._problem = _decoder(kind, name)
        self._file = read
        self._byte = 0
        self._left = self._ready = b""
        self._at = 0
        self._decoder: Any = None
        self._behind: Any = None
        self._over = False

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size` and at least one; none at the end or at the damage."""
        while self._at == len(self._ready) and not self._over:
            self._ready, self._at = b"", 0
            self._ready = self._next()
        found = self._ready[self._at : self._at + size]
        self._at += len(found)
        return found

    def _next(self) -> bytes:
        """Decode one piece of the file."""
        piece = self._left or self._file(_PIECES[self._kind])
        self._left = b""
        if not piece:
            if self._decoder is not None:
                self._end(f"the {self._kind} data are cut", self._byte)
            self._over = True
            return b""
        if self._decoder is None:
            padding = len(piece) - len(piece.lstrip(b"\0"))
            self._byte += padding
            piece = piece[padding:]
            if not piece:
                return b""
            self._decoder, self._behind = self._make(), self._make()
        return self._decode(piece)

    def _decode(self, piece: bytes) -> bytes:
        if self._kind == "gzip":
            self._behind = self._decoder.copy()
        try:
            found: bytes = self._decoder.decompress(piece)
            if self._kind == "zstd":
                self._behind.decompress(piece)
        except self._problem as error:
            return self._before_damage(piece, " ".join(str(error).split()))
        self._byte += len(piece)
        if self._decoder.eof:
            self._left = self._decoder.unused_data
            self._byte -= len(self._left)
            self._decoder = self._behind = None
        return found

    def _before_damage(self, piece: bytes, told: str) -> bytes:
        """Return what the good bytes of a piece stand for, and note the damage behind them."""
        found, at = [], 0
        with suppress(self._problem):
            for at in range(len(piece)):
                found.append(self._behind.decompress(piece[at : at + 1]))
        self._end(f"the {self._kind} data cannot be decoded: {told}", self._byte + at)
        return b"".join(found)

    def _end(self, message: str, byte: int) -> None:
        self.damage = message, byte
        self._over = True


def _decoder(kind: str, name: str) -> tuple[Callable[[], Any], type[Exception]]:
    """Return what makes a decoder of one member or frame, and what it raises for damage."""
    if kind == "gzip":
        return lambda: zlib.decompressobj(wbits=31), zlib.error
    zstd = _zstd(name)
    options = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    return lambda: zstd.ZstdDecompressor(options=options), zstd.ZstdError


def _zstd(name: str) -> Any:
    """Return the standard library's module (Python 3.14), or the same for earlier ones."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise CaptureError(
            f"{name}: is zstd, which takes one library more: pip install 'wirelock[capture]'"
        ) from None
    return zstd

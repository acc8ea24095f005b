"""gzip (RFC 1952) and zstd (RFC 8878) -> the bytes they stand for, forward and in bounded memory.

Whatever stands before damage comes out. Of gzip a piece that cannot be decoded is decoded again byte by byte,
by a copy of the decoder from before it, which takes 40 KiB. A zstd decoder cannot be copied; it is given
pieces that end where it acts, at the end of a header or a block, and of a block all comes out or nothing.
Held at once are a decoder and what one piece of the file stands for, at most 4 MiB; a zstd frame may ask for
a window of 128 MiB, not more.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Final

from wirelock.errors import CaptureError

__all__ = ["Unpacked", "compression"]

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE: Final = b"\x2a\x4d\x18"
"""What a skippable zstd frame has behind its first byte, 50 to 5f."""
_PIECE: Final = 1 << 12
"""Bytes of gzip that are decoded at once; deflate stands for at most 1032 times its size."""
_BLOCK: Final = 1 << 17
"""Bytes of zstd that are decoded at once, those of one block at most, and what one can stand for."""
_REPEATED: Final = 1
"""The kind of a zstd block that is one byte, and how often it stands there."""
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
        self._steps: Generator[int, bytes, None] = _frame()
        self._wanted = _PIECE if kind == "gzip" else next(self._steps)
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
        piece = self._left or self._file(self._wanted)
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
            self._decoder = self._make()
        return self._decode(piece)

    def _decode(self, piece: bytes) -> bytes:
        before = self._decoder.copy() if self._kind == "gzip" else None
        try:
            found: bytes = self._decoder.decompress(piece)
        except self._problem as error:
            found, at = (b"", len(piece) - 1) if before is None else self._before_damage(before, piece)
            told = " ".join(str(error).split())
            self._end(f"the {self._kind} data cannot be decoded: {told}", self._byte + at)
            return found
        self._byte += len(piece)
        if self._decoder.eof:
            self._left = self._decoder.unused_data
            self._byte -= len(self._left)
            self._decoder = None
            self._steps = _frame()
            self._wanted = _PIECE if self._kind == "gzip" else next(self._steps)
        elif self._kind == "zstd":
            self._wanted = self._steps.send(piece)
        return found

    def _before_damage(self, decoder: Any, piece: bytes) -> tuple[bytes, int]:
        """Return what the good bytes of a piece stand for, and the number of the first that is not."""
        found, at = [], 0
        with suppress(self._problem):
            for at in range(len(piece)):
                found.append(decoder.decompress(piece[at : at + 1]))
        return b"".join(found), at

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


def _frame() -> Generator[int, bytes, None]:
    """Yield how many bytes a zstd decoder is given next, and take those that it got, which may be fewer.

    No piece goes beyond a place at which a decoder acts (RFC 8878, section 3.1). What is no frame is left to
    the decoder, which refuses it.
    """
    magic = yield from _taken(4)
    if magic[1:] == _SKIPPABLE:
        yield from _passed(int.from_bytes((yield from _taken(4)), "little"))
    else:
        (descriptor,) = yield from _taken(1)
        single, sizes = descriptor >> 5 & 1, (descriptor >> 5 & 1, 2, 4, 8)
        yield from _passed((not single) + (0, 1, 2, 4)[descriptor & 3] + sizes[descriptor >> 6])
        last = 0
        while not last:
            header = int.from_bytes((yield from _taken(3)), "little")
            last, kind, size = header & 1, header >> 1 & 3, header >> 3
            yield from _passed(1 if kind == _REPEATED else size)
        yield from _passed(4 if descriptor & 4 else 0)
    while True:  # a decoder has been at the end before
        yield 1


def _taken(size: int) -> Generator[int, bytes, bytes]:
    """Take so many bytes one by one, since a decoder may refuse each, and return them."""
    found = b""
    while len(found) < size:
        found += yield 1
    return found


def _passed(size: int) -> Generator[int, bytes, None]:
    while size:
        size -= len((yield min(size, _BLOCK)))


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

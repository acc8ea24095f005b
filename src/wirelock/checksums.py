"""Checksum functions with a name and a version, for construct's Checksum: CRCs, sums and hashes.

A lock holds the name and the version in place of the code. CRCs have the names and parameters of the
catalogue of parametrised CRC algorithms (reveng.sourceforge.io/crc-catalogue). Imports nothing of wirelock.
"""

from __future__ import annotations

import binascii
import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from operator import xor
from typing import Any, Final, TypeAlias

__all__ = [
    "CRCS", "ChecksumFunction", "adler32", "checksum", "checksum_of", "crc", "crc16_modbus", "crc16_xmodem",
    "crc32", "crc32c", "fletcher16", "internet", "md5", "named_checksum", "sha1", "sha256", "sha512", "sum8",
    "sum16", "xor8",
]  # fmt: skip

Code: TypeAlias = Callable[[bytes], int | bytes]


@dataclass(frozen=True, slots=True)
class ChecksumFunction:
    """A function from bytes to an unsigned integer, or to bytes, with what the lock knows it by."""

    name: str
    version: int
    code: Code

    def __call__(self, data: bytes) -> int | bytes:
        """Return the checksum of bytes."""
        return self.code(data)


def checksum(name: str, version: int) -> Callable[[Code], ChecksumFunction]:
    """Name a function of your own, so that construct's Checksum may use it.

    `@checksum("vendor-sum", 1)` above a function from bytes to an int (unsigned, that fits the field) or
    to bytes. Give it a new version when it changes what it returns. Raises ValueError for an empty name,
    or a version below 1.
    """
    if not name or not name.isprintable() or version < 1:
        raise ValueError(f'a checksum named {name!r}, version {version}: name it, as in @checksum("sum", 1)')
    return lambda code: ChecksumFunction(name, version, code)


@dataclass(frozen=True, slots=True)
class Crc:
    """The parameters of a CRC: see the catalogue for their meaning. `check` is that of b"123456789"."""

    width: int
    poly: int
    init: int
    reflected: bool
    xorout: int
    check: int

    def __call__(self, data: bytes) -> int:
        """Return the CRC of bytes."""
        table, top = self.table(), self.width - 8
        value = self.init
        if self.reflected:
            value = _mirrored(value, self.width)
            for octet in data:
                value = table[(value ^ octet) & 0xFF] ^ value >> 8
        else:
            mask = (1 << self.width) - 1
            for octet in data:
                value = (table[value >> top ^ octet] ^ value << 8) & mask
        return value ^ self.xorout

    def table(self) -> tuple[int, ...]:
        return _table(self.width, self.poly, self.reflected)


@cache
def _table(width: int, poly: int, reflected: bool) -> tuple[int, ...]:
    """Return the remainder of each byte."""
    found = []
    for octet in range(256):
        value = (_mirrored(octet, 8) if reflected else octet) << width - 8
        for _ in range(8):
            value = value << 1 ^ (poly if value >> width - 1 else 0)
            value &= (1 << width) - 1
        found.append(_mirrored(value, width) if reflected else value)
    return tuple(found)


def _mirrored(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


CRCS: Final = {
    "crc-8/smbus": Crc(8, 0x07, 0x00, False, 0x00, 0xF4),
    "crc-8/maxim-dow": Crc(8, 0x31, 0x00, True, 0x00, 0xA1),
    "crc-8/sae-j1850": Crc(8, 0x1D, 0xFF, False, 0xFF, 0x4B),
    "crc-16/arc": Crc(16, 0x8005, 0x0000, True, 0x0000, 0xBB3D),
    "crc-16/modbus": Crc(16, 0x8005, 0xFFFF, True, 0x0000, 0x4B37),
    "crc-16/usb": Crc(16, 0x8005, 0xFFFF, True, 0xFFFF, 0xB4C8),
    "crc-16/ibm-3740": Crc(16, 0x1021, 0xFFFF, False, 0x0000, 0x29B1),
    "crc-16/ibm-sdlc": Crc(16, 0x1021, 0xFFFF, True, 0xFFFF, 0x906E),
    "crc-16/kermit": Crc(16, 0x1021, 0x0000, True, 0x0000, 0x2189),
    "crc-16/mcrf4xx": Crc(16, 0x1021, 0xFFFF, True, 0x0000, 0x6F91),
    "crc-16/xmodem": Crc(16, 0x1021, 0x0000, False, 0x0000, 0x31C3),
    "crc-24/openpgp": Crc(24, 0x864CFB, 0xB704CE, False, 0x000000, 0x21CF02),
    "crc-32/iso-hdlc": Crc(32, 0x04C11DB7, 0xFFFFFFFF, True, 0xFFFFFFFF, 0xCBF43926),
    "crc-32/iscsi": Crc(32, 0x1EDC6F41, 0xFFFFFFFF, True, 0xFFFFFFFF, 0xE3069283),
    "crc-32/bzip2": Crc(32, 0x04C11DB7, 0xFFFFFFFF, False, 0xFFFFFFFF, 0xFC891918),
    "crc-32/mpeg-2": Crc(32, 0x04C11DB7, 0xFFFFFFFF, False, 0x00000000, 0x0376E6E7),
    "crc-64/xz": Crc(64, 0x42F0E1EBA9EA3693, (1 << 64) - 1, True, (1 << 64) - 1, 0x995DC9BBDF1939FA),
}
"""CRCs by their names in the catalogue, with the parameters from there."""

_FAST: Final[dict[str, Code]] = {
    "crc-32/iso-hdlc": zlib.crc32,
    "crc-16/xmodem": lambda data: binascii.crc_hqx(data, 0),
    "crc-16/ibm-3740": lambda data: binascii.crc_hqx(data, 0xFFFF),
}


def crc(name: str) -> ChecksumFunction:
    """Return a CRC by its name in the catalogue, as `crc("crc-16/modbus")`; ValueError if not known."""
    if name not in CRCS:
        raise ValueError(f"no CRC is named {name!r}: there are {', '.join(CRCS)}")
    return ChecksumFunction(name, 1, _FAST.get(name, CRCS[name]))


crc16_modbus: Final = crc("crc-16/modbus")
crc16_xmodem: Final = crc("crc-16/xmodem")
crc32: Final = crc("crc-32/iso-hdlc")
"""The CRC of Ethernet, zip and PNG."""
crc32c: Final = crc("crc-32/iscsi")
adler32: Final = ChecksumFunction("adler-32", 1, zlib.adler32)
"""RFC 1950."""
md5: Final = ChecksumFunction("md5", 1, lambda data: hashlib.md5(data, usedforsecurity=False).digest())
sha1: Final = ChecksumFunction("sha-1", 1, lambda data: hashlib.sha1(data, usedforsecurity=False).digest())
sha256: Final = ChecksumFunction("sha-256", 1, lambda data: hashlib.sha256(data).digest())
sha512: Final = ChecksumFunction("sha-512", 1, lambda data: hashlib.sha512(data).digest())
"""FIPS 180-4: 16 bytes of MD5 (RFC 1321), then 20, 32 and 64 bytes."""
sum8: Final = ChecksumFunction("sum-8", 1, lambda data: sum(data) & 0xFF)
sum16: Final = ChecksumFunction("sum-16", 1, lambda data: sum(data) & 0xFFFF)
"""The sum of all bytes, modulo 256 and 65536."""
xor8: Final = ChecksumFunction("xor-8", 1, lambda data: reduce(xor, data, 0))
"""All bytes, exclusive-ored."""


@checksum("fletcher-16", 1)
def fletcher16(data: bytes) -> int:
    """Two sums modulo 255, the second, of the sums, in the high byte (J. G. Fletcher, 1982)."""
    low = high = 0
    for octet in data:
        low = (low + octet) % 255
        high = (high + low) % 255
    return high << 8 | low


@checksum("internet", 1)
def internet(data: bytes) -> int:
    """The complement of the ones' complement sum of big-endian 16-bit words (RFC 1071)."""
    total = sum(data[::2]) * 256 + sum(data[1::2])
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


_STANDARD: Final = {zlib.crc32: crc32, binascii.crc32: crc32, zlib.adler32: adler32}


def named_checksum(function: Any) -> ChecksumFunction | None:
    """Return the named function that an author's one is; None if it has no name."""
    if isinstance(function, ChecksumFunction):
        return function
    try:
        return _STANDARD.get(function)
    except TypeError:  # not hashable
        return None


def checksum_of(name: str, version: int) -> ChecksumFunction | None:
    """Return the checksum that a lock knows by this name and version; None if this module has none."""
    known = [adler32, md5, sha1, sha256, sha512, sum8, sum16, xor8, fletcher16, internet, *map(crc, CRCS)]
    return next((found for found in known if (found.name, found.version) == (name, version)), None)

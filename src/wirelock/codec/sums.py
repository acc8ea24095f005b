"""Checksums that compiled column code computes: sums, and CRCs by their table.

A checksum is known by the function that a layout carries: a function of an author's own is code. The source
of the functions is copied into the generated source, as that of codec/kernels is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from wirelock.checksums import CRCS, checksum_of
from wirelock.codec.kernels import int64, uint64
from wirelock.layout.nodes import Checksum, Integer


def sum_modulo(data, at, stop, modulus):
    """Return the sum of all bytes."""
    total = 0
    for place in range(at, stop):
        total += int64(data[place])
    return total % modulus


def exclusive_or(data, at, stop):
    """Return all bytes exclusive-ored."""
    total = 0
    for place in range(at, stop):
        total ^= int64(data[place])
    return total


def two_sums(data, at, stop, first, modulus, bits):
    """Return Fletcher's and Adler's sums: of the bytes, and of those sums in the upper bits."""
    low, high = first, 0
    for place in range(at, stop):
        low = (low + int64(data[place])) % modulus
        high = (high + low) % modulus
    return high << bits | low


def internet_sum(data, at, stop):
    """Return the checksum of RFC 1071."""
    total = 0
    for place in range(at, stop):
        total += int64(data[place]) << (0 if (place - at) & 1 else 8)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def crc_of(data, at, stop, table, width, init, reflected, xorout):
    """Return a CRC, eight bits at a time by the remainders of all bytes."""
    value = uint64(init)
    top, mask = uint64(width - 8), uint64(0xFFFFFFFFFFFFFFFF) >> uint64(64 - width)
    for place in range(at, stop):
        octet = uint64(data[place])
        if reflected:
            value = uint64(table[int64((value ^ octet) & uint64(0xFF))]) ^ (value >> uint64(8))
        else:
            value = (uint64(table[int64(value >> top ^ octet)]) ^ (value << uint64(8))) & mask
    return value ^ uint64(xorout)


SUMS: Final[dict[str, Callable[..., Any]]] = {
    kernel.__name__: kernel for kernel in (sum_modulo, exclusive_or, two_sums, internet_sum, crc_of)
}
_PLAIN: Final = {
    "sum-8": "sum_modulo(data, {0}, {1}, 256)",
    "sum-16": "sum_modulo(data, {0}, {1}, 65536)",
    "xor-8": "exclusive_or(data, {0}, {1})",
    "fletcher-16": "two_sums(data, {0}, {1}, 0, 255, 8)",
    "adler-32": "two_sums(data, {0}, {1}, 1, 65521, 16)",
    "internet": "internet_sum(data, {0}, {1})",
}


def has_kernel(kind: Checksum) -> bool:
    """Whether compiled code can compute a checksum."""
    known = checksum_of(kind.function, kind.version)
    mine = known is not None and kind.code is known.code and isinstance(kind.type, Integer)
    return mine and (kind.function in _PLAIN or kind.function in CRCS)


def sum_source(kind: Checksum, start: str, stop: str, table: Callable[[tuple[int, ...]], str]) -> str:
    """Return source for the checksum of the bytes between two names; `table` gives numbers a name."""
    if kind.function in _PLAIN:
        return _PLAIN[kind.function].format(start, stop)
    found = CRCS[kind.function]
    numbers = ", ".join(map(str, (found.width, found.init, found.reflected, found.xorout)))
    return f"crc_of(data, {start}, {stop}, {table(found.table())}, {numbers})"


def sum_sources(used: set[str]) -> list[str]:
    """Return the source of the functions that are used, decorated for numba."""
    lines: list[str] = []
    for name, kernel in SUMS.items():
        if name in used:
            text = inspect.getsource(kernel)
            lines += ["", "", "@compiled", *text.rstrip().splitlines()]
    return lines

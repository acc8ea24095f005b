"""The bytes of constants that follow each other: what a tag is on the wire, and how one is cut up again."""

from __future__ import annotations

from collections.abc import Iterable

from wirelock.layout.nodes import Constant, Integer, Type
from wirelock.layout.sizes import size_of

__all__ = ["bits_at", "constant_octets"]


def bits_at(data: bytes, bit: int, width: int) -> int:
    """Return so many bits from a position on, as an unsigned integer."""
    end = (bit + width + 7) // 8
    return int.from_bytes(data[:end], "big") >> (8 * end - bit - width) & ((1 << width) - 1)


def constant_octets(constants: Iterable[Type]) -> bytes:
    """Return the bytes of constants that follow each other and end with a byte."""
    raw, width = 0, 0
    for constant in constants:
        assert isinstance(constant, Constant)
        size = size_of(constant).lowest
        if isinstance(constant.value, bytes):
            value = int.from_bytes(constant.value, "big")
        else:
            value = constant.value & ((1 << size) - 1)
            if isinstance(constant.type, Integer) and constant.type.order == "little":
                value = int.from_bytes(value.to_bytes(size // 8, "little"), "big")
        raw, width = raw << size | value, width + size
    return raw.to_bytes(width // 8, "big")

"""IEEE 754 bits <-> Python floats, NaN payloads included, at 16, 32 and 64 bits.

The platform's own conversions may quieten a NaN or drop its payload, so NaNs go by their bits.
"""

from __future__ import annotations

import struct
from typing import Final, Literal

FORMATS: Final = {16: "e", 32: "f", 64: "d"}
_FRACTION: Final = {16: 10, 32: 23, 64: 52}


def float_from_bits(raw: int, bits: int) -> float | None:
    """Return the float that `raw` encodes at that width; None for a signalling NaN."""
    fraction = _FRACTION[bits]
    exponent = (1 << (bits - 1 - fraction)) - 1
    payload = raw & ((1 << fraction) - 1)
    if raw >> fraction & exponent == exponent and payload:
        if not payload >> (fraction - 1):
            return None
        wide = (raw >> (bits - 1)) << 63 | 0x7FF << 52 | payload << (52 - fraction)
        return float(struct.unpack(">d", wide.to_bytes(8, "big"))[0])
    return float(struct.unpack(">" + FORMATS[bits], raw.to_bytes(bits // 8, "big"))[0])


def float_to_bits(value: float, bits: int) -> int:
    """Return the bits of a float rounded to that width, half to even; a NaN keeps its upper payload.

    Raises OverflowError where a finite value rounds to infinity, ValueError for a signalling NaN.
    """
    if value == value:
        return int.from_bytes(struct.pack(">" + FORMATS[bits], value), "big")
    wide = int.from_bytes(struct.pack(">d", value), "big")
    fraction = _FRACTION[bits]
    payload = wide & ((1 << 52) - 1)
    if not payload >> 51:
        raise ValueError("a signalling NaN")
    exponent = (1 << (bits - 1 - fraction)) - 1
    return (wide >> 63) << (bits - 1) | exponent << fraction | payload >> (52 - fraction)


def round_float(value: float, bits: int) -> float:
    """Return the float that is written at that width. Raises as float_to_bits."""
    rounded = float_from_bits(float_to_bits(value, bits), bits)
    assert rounded is not None
    return rounded


def same_float(left: float, right: float) -> bool:
    """Whether two floats are the same bits: NaN equals itself, -0.0 differs from 0.0."""
    return struct.pack(">d", left) == struct.pack(">d", right)

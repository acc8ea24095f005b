"""IEEE 754 bits <-> Python floats, NaN payloads included, at 16, 32 and 64 bits.

The platform's own conversions may quieten a NaN or drop its payload, so NaNs go by their bits.
"""

from __future__ import annotations

import struct
from operator import ne
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


# -- what generated code calls, where a float is not equal to itself or was not written as it is


def read_nan(data: bytes, at: int, bits: int, order: Literal["big", "little"]) -> float | None:
    """Return the float at a byte offset, bit for bit; None for a signalling NaN."""
    return float_from_bits(int.from_bytes(data[at : at + bits // 8], order), bits)


def read_nans(
    values: tuple[float, ...], data: bytes, at: int, bits: int, order: Literal["big", "little"]
) -> tuple[float, ...] | None:
    """Return floats that were unpacked at `at`, with NaNs bit for bit; None if one is signalling."""
    if not any(map(ne, values, values)):
        return values
    exact = [
        value if value == value else read_nan(data, at + i * (bits // 8), bits, order)
        for i, value in enumerate(values)
    ]
    return None if None in exact else tuple(exact)  # type: ignore[arg-type]


def exact_float_bits(value: float, bits: int) -> int | None:
    """Return the bits of a float at that width; None if it would be read back as another."""
    try:
        raw = float_to_bits(value, bits)
    except (OverflowError, ValueError):
        return None
    back = float_from_bits(raw, bits)
    return raw if back is not None and same_float(back, value) else None


def write_nan(
    packed: bytes, value: float, at: int, bits: int, order: Literal["big", "little"]
) -> bytes | None:
    """Return `packed` with a NaN's own bits at `at`; None if the value is no NaN or does not fit."""
    raw = exact_float_bits(value, bits) if value != value else None
    if raw is None:
        return None
    return packed[:at] + raw.to_bytes(bits // 8, order) + packed[at + bits // 8 :]


def pack_floats(values: tuple[float, ...], bits: int, order: Literal["big", "little"]) -> bytes | None:
    """Return floats packed one behind the other; None if one would be read back as another."""
    code = f"{'<' if order == 'little' else '>'}{len(values)}{FORMATS[bits]}"
    packed = struct.pack(code, *values)
    if struct.unpack(code, packed) == values:
        return packed
    raws = [exact_float_bits(value, bits) for value in values]
    if None in raws:
        return None
    return b"".join(raw.to_bytes(bits // 8, order) for raw in raws if raw is not None)

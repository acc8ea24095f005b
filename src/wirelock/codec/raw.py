"""The bits of fixed-size values as they lie on the wire -> values, and what padding must be."""

from __future__ import annotations

from typing import Any

from wirelock.codec.floats import float_from_bits
from wirelock.codec.trail import Found
from wirelock.errors import Fault
from wirelock.layout.nodes import Flag, Flags, Float, Integer, Padding, Scalar, Scaled, integer_of
from wirelock.layout.positions import pieces_at

__all__ = ["check_padding", "scalar_from_bits"]


def scalar_from_bits(raw: int, kind: Scalar) -> tuple[Any, tuple[str, str] | None]:
    """Return the value of a scalar's bits as they lie on the wire, most significant first.

    The second part is (found, written) where the value would be written otherwise, else None.
    """
    inner = integer_of(kind) or kind
    if isinstance(inner, Integer | Float) and inner.order == "little":
        octets = inner.bits // 8
        raw = int.from_bytes(raw.to_bytes(octets, "big"), "little")
    match kind:
        case Flag():
            return bool(raw), (str(raw), "1") if raw > 1 else None
        case Float(bits=bits):
            value = float_from_bits(raw, bits)
            if value is None:
                quiet = raw | 1 << {16: 9, 32: 22, 64: 51}[bits]
                return None, (f"signalling NaN {raw:0{bits // 4}x}", f"{quiet:0{bits // 4}x}")
            return value, None
        case Flags():
            return raw, (f"{raw:#x}", f"{raw & kind.mask:#x}") if raw & ~kind.mask else None
    assert isinstance(inner, Integer)
    value = raw - (1 << inner.bits) if inner.signed and raw >> (inner.bits - 1) else raw
    return kind.value(value) if isinstance(kind, Scaled) else value, None


def check_padding(kind: Padding, data: bytes, start: int, stop: int, path: str) -> None:
    """Raise Found at the first byte between two bits that differs from the padding's pattern."""
    width, last = stop - start, (stop + 7) // 8
    wanted = int.from_bytes(bytes([kind.pattern]) * (width // 8), "big")
    if kind.unit == 1:
        wanted = kind.pattern * ((1 << width) - 1)
    whole = int.from_bytes(data[start // 8 : last], "big") >> (8 * last - stop)
    differs = (whole & ((1 << width) - 1)) ^ wanted
    if differs:
        byte = (stop - differs.bit_length()) // 8
        first, end = max(start, 8 * byte), min(stop, 8 * byte + 8)
        mask = (1 << (end - first)) - 1
        found, written = (value >> (stop - end) & mask for value in (wanted ^ differs, wanted))
        pieces = pieces_at(first, Integer(end - first, False, "big"))
        raise Found(Fault("not-canonical", path, f"{found:#04x}", f"{written:#04x}", byte, pieces))

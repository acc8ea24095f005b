"""Floats that stand for integers of the wire: see nodes.Scaled for the formula."""

from __future__ import annotations

from math import copysign


def raw_of(value: float, multiply: int, add: int, divide: int) -> int | None:
    """Return the integer that stands for exactly this float; None if none does."""
    try:
        raw = round((value * divide - add) / multiply)
    except (OverflowError, ValueError):  # of an infinity or a NaN
        return None
    if abs(raw * multiply + add) >= 1 << 53:
        return None
    exact = (raw * multiply + add) / divide
    return raw if exact == value and copysign(1.0, exact) == copysign(1.0, value) else None

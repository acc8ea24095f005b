"""Constructs of wirelock's own, each carrying its description: scaled and time integers, bit fields, code.

They parse and build with plain construct too. The walk reads them as nodes.Scaled, nodes.Time, a Layout
with its bits least significant first, and nodes.Opaque.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any, Final, TypeAlias, get_args

import construct

from wirelock.errors import SchemaError
from wirelock.layout.nodes import Rounding

__all__ = [
    "LsbBitStruct",
    "OpaqueAdapter",
    "ScaledAdapter",
    "TimeAdapter",
    "opaque",
    "quantised",
    "scaled",
    "ticks",
]

Exact: TypeAlias = int | str | Decimal | Fraction
"""A number without rounding: 2, "0.001", "1/65536", Decimal or Fraction."""
ROUNDINGS: Final = get_args(Rounding)


class ScaledAdapter(construct.Adapter):
    """An integer that stands for the float (raw * multiply + add) / divide."""

    def __init__(self, subcon: Any, step: Fraction, offset: Fraction, unit: str, rounding: Rounding) -> None:
        super().__init__(subcon)
        self.divide = lcm(step.denominator, offset.denominator)
        self.multiply = int(step * self.divide)
        self.add = int(offset * self.divide)
        self.unit = unit
        self.rounding = rounding

    def _decode(self, obj: int, context: Any, path: str) -> float:
        return (obj * self.multiply + self.add) / self.divide

    def _encode(self, obj: float, context: Any, path: str) -> int:
        return round((obj * self.divide - self.add) / self.multiply)


class TimeAdapter(construct.Adapter):
    """An integer that counts a unit of time since an epoch."""

    def __init__(self, subcon: Any, unit: str, epoch: str) -> None:
        super().__init__(subcon)
        self.unit = unit
        self.epoch = epoch

    def _decode(self, obj: int, context: Any, path: str) -> int:
        return obj

    def _encode(self, obj: int, context: Any, path: str) -> int:
        return obj


class OpaqueAdapter(construct.Subconstruct):
    """A construct whose code has a name and a version."""

    def __init__(self, name: str, version: int, subcon: Any) -> None:
        super().__init__(subcon)
        self.code, self.version = name, version


class LsbBitStruct(construct.Construct):
    """Bit fields of which the first takes the least significant bits, as most C compilers lay them out.

    `LsbBitStruct("id" / BitsInteger(20), "kind" / BitsInteger(12))`: bit i of the whole is bit i % 8 of byte
    i // 8, which is also a little-endian word of any width whose fields start at its least significant bit.
    Fields are integers, flags, enumerations, constants and padding, whole bytes together.
    """

    def __init__(self, *subcons: Any, **named: Any) -> None:
        super().__init__()
        self.subcons = [*subcons, *(name / part for name, part in named.items())]

    def _bits(self) -> Any:
        return construct.ByteSwapped(construct.Bitwise(construct.Struct(*reversed(self.subcons))))

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        found = self._bits()._parsereport(stream, context, path)
        names = [part.name for part in self.subcons if part.name]
        return construct.Container((name, found[name]) for name in names)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self._bits()._build(obj, stream, context, path)

    def _sizeof(self, context: Any, path: str) -> int:
        return int(self._bits()._sizeof(context, path))


def scaled(
    subcon: Any, *, step: Exact, offset: Exact = 0, unit: str = "", rounding: Rounding = "half-even"
) -> ScaledAdapter:
    """An integer on the wire, a float of `unit` in the record: raw * step + offset.

    `step` and `offset` are exact: `"0.001"`, `"1/256"`, an int, Decimal or Fraction; a float is refused.
    A record made by hand holds the value of the nearest step; `rounding` says which one where the value
    lies between two: "half-even", "half-away" (from zero) or "floor" (the step below).

    Raises SchemaError for a step that is not above zero, or a float.
    """
    size = _exact(step, "step")
    if size <= 0:
        raise SchemaError("", f"a step of {step}", "give one above zero")
    if rounding not in ROUNDINGS:
        raise SchemaError("", f"the rounding {rounding!r}", f"use one of {', '.join(ROUNDINGS)}")
    return ScaledAdapter(subcon, size, _exact(offset, "offset"), unit, rounding)


def quantised(
    subcon: Any, low: Exact, high: Exact, *, unit: str = "", rounding: Rounding = "half-even"
) -> ScaledAdapter:
    """An unsigned integer that spreads low..high evenly: 0 is `low`, all ones is `high`.

    The step is (high - low) / (2**bits - 1). Otherwise as `scaled`.
    """
    first, last = _exact(low, "lower end"), _exact(high, "upper end")
    bits = 8 * subcon.sizeof() if not isinstance(subcon, construct.BitsInteger) else subcon.length
    if last <= first:
        raise SchemaError("", f"nothing lies in {low}..{high}", "give the lower end first")
    return scaled(subcon, step=(last - first) / ((1 << bits) - 1), offset=first, unit=unit, rounding=rounding)


def ticks(subcon: Any, *, unit: str, epoch: str = "") -> TimeAdapter:
    """An integer that counts `unit` ("ns", "ms", "tick") since `epoch` ("unix", or none): an int as it is."""
    return TimeAdapter(subcon, unit, epoch)


def opaque(name: str, version: int, subcon: Any) -> OpaqueAdapter:
    """Bytes that only code can read: an Adapter of your own, or a tunnel such as Compressed.

    The lock knows the code by `name` and `version` alone: give it a new version when it changes what it
    reads or writes. `subcon` sees its own bytes and no other field; where it has no fixed size it takes all
    bytes of its region. What it reads it must write again as the same bytes, otherwise these bytes are no
    record. The annotation of the field says which values it gives.

    Raises SchemaError for an empty name, or a version below 1.
    """
    if not isinstance(name, str) or not name or not name.isprintable():
        raise SchemaError("", f"code named {name!r}", 'name it, as in opaque("zlib", 1, ...)')
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise SchemaError("", f"the version {version!r}", "count versions from 1")
    return OpaqueAdapter(name, version, subcon)


def _exact(value: Exact, what: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal | Fraction):
        raise SchemaError("", f"the {what} {value!r} is not exact", f"write it as text: {str(value)!r}")
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise SchemaError(
            "", f"the {what} {value!r} is no number", 'write it as "0.001" or "1/256"'
        ) from None

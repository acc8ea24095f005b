"""How many bits a type takes, at least and at most, and whether it reads to the end of its region."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Mapping,
    Multiple,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Terminator,
    Text,
    Time,
    Type,
    Until,
    VarInt,
    parts_of,
)
from wirelock.layout.terms import Expression

Reach: TypeAlias = Literal["own", "optional", "rest"]
"""How a type depends on the end of its region: see reach_of."""


@dataclass(frozen=True, slots=True)
class Size:
    """The least and the greatest number of bits; `highest` is None where nothing bounds it."""

    lowest: int
    highest: int | None

    @property
    def fixed(self) -> bool:
        """Whether there is but one size."""
        return self.lowest == self.highest


def sum_sizes(sizes: Iterable[Size]) -> Size:
    """Return the size of things that follow each other."""
    lowest, highest = 0, 0
    bounded = True
    for size in sizes:
        lowest += size.lowest
        bounded = bounded and size.highest is not None
        highest += size.highest or 0
    return Size(lowest, highest if bounded else None)


def size_of(kind: Type) -> Size:
    """Return how many bits a value of this type takes. A length from the wire has no upper bound."""
    match kind:
        case Layout():
            return _layout_size(kind)
        case Integer(bits=bits) | Float(bits=bits) | Flag(bits=bits):
            return Size(bits, bits)
        case Enum(integer=inner) | Flags(integer=inner) | Mapping(integer=inner):
            return size_of(inner)
        case Scaled(integer=inner) | Time(integer=inner) | Constant(type=inner):
            return size_of(inner)
        case Limited(inner=inner) | Text(inner=inner) | Checksum(type=inner):
            return size_of(inner)
        case Bytes(length=int(length)) | Opaque(size=int(length)):
            return Size(8 * length, 8 * length)
        case Padding(length=int(length), unit=unit):
            return Size(unit * length, unit * length)
        case Nothing() | Terminated() | Computed():
            return Size(0, 0)
        case VarInt():
            return Size(8, 80)
        case Padded():
            return _padded_size(size_of(kind.inner), kind.length)
        case Sized(extent=extent):
            return _extent_size(extent)
        case Array(element=element, count=count):
            return _array_size(size_of(element), count)
        case If(type=inner) | Optional(inner=inner):
            return Size(0, size_of(inner).highest)
        case Switch() | Select():
            return _widest(map(size_of, parts_of(kind)))
        case Sequence() | Framed():
            return sum_sizes(map(size_of, parts_of(kind)))
    return Size(0, None)


def _layout_size(layout: Layout) -> Size:
    found = layout.__dict__.get("_size")  # asked for again and again while a layout is read
    if found is None:
        found = layout.__dict__["_size"] = sum_sizes(size_of(item.type) for item in layout.fields)
    return found


def _padded_size(inner: Size, length: int | Expression | Multiple) -> Size:
    match length:
        case int():
            return Size(8 * length, 8 * length)
        case Multiple(of=of):
            lowest, highest = _up(inner.lowest, 8 * of), inner.highest
            return Size(lowest, None if highest is None else _up(highest, 8 * of))
    return Size(inner.lowest, None)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _extent_size(extent: int | Expression | Prefix | Terminator) -> Size:
    match extent:
        case int():
            return Size(8 * extent, 8 * extent)
        case Prefix(integer=integer):
            return Size(size_of(integer).lowest, None)
        case Terminator(mark=mark):
            return Size(8 * len(mark), None)
    return Size(0, None)


def _array_size(element: Size, count: int | Expression | Prefix | Rest | Until) -> Size:
    match count:
        case int():
            return Size(count * element.lowest, None if element.highest is None else count * element.highest)
        case Prefix(integer=integer):
            return Size(size_of(integer).lowest, None)
        case Until():
            return Size(element.lowest, None)
    return Size(0, None)


def _widest(sizes: Iterable[Size]) -> Size:
    found = list(sizes)
    highest = [size.highest for size in found if size.highest is not None]
    return Size(min(size.lowest for size in found), max(highest) if len(highest) == len(found) else None)


def padding_behind(kind: Padded) -> int | None:
    """Return how many bytes of padding always follow; None where that depends on the bytes."""
    size = size_of(kind.inner)
    if not size.fixed:
        return None
    if isinstance(kind.length, Multiple):
        return -(size.lowest // 8) % kind.length.of
    return kind.length - size.lowest // 8 if isinstance(kind.length, int) else None


def reach_of(kind: Type) -> Reach:
    """Return how a type depends on the end of its region.

    own: not at all. optional: it may be absent where nothing is left. rest: it takes all that is left.
    """
    match kind:
        case Bytes(length=Rest()) | Array(count=Rest()) | Opaque(size=Rest()):
            return "rest"
        case Optional(inner=inner):
            return "rest" if reach_of(inner) == "rest" else "optional"
        case Limited(inner=inner) | If(type=inner) | Text(inner=inner):
            return reach_of(inner)
        case Switch() | Select() | Sequence() | Framed() | Layout():
            return _furthest(map(reach_of, parts_of(kind)))
    return "own"


def _furthest(found: Iterable[Reach]) -> Reach:
    every = set(found)
    return "rest" if "rest" in every else "optional" if "optional" in every else "own"

"""The frozen description of a record on the wire: Layout, fields, types, positions.

Everything downstream (engines, lock, exporters) reads these nodes and nothing else. Sizes and
positions count in bits; bit 7 is the most significant bit of a byte. Nodes compare by value. A *region*
is what bounds greedy kinds: the record, or the inside of a Sized. Knows nothing of construct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from wirelock.layout.scalars import (
    ByteOrder,
    Enum,
    Flag,
    Flags,
    Float,
    Integer,
    Mapping,
    Rounding,
    Scalar,
    Scaled,
    Time,
    VarInt,
    by_value,
)
from wirelock.layout.terms import Expression, Key, Limit, Rule, own_names

__all__ = [
    "Array", "ByteOrder", "Bytes", "Checksum", "Computed", "Constant", "Enum", "Field", "Flag", "Flags",
    "Float", "Framed", "If", "Integer", "Layout", "Limited", "Mapping", "Multiple", "Nothing", "Opaque",
    "Optional", "Order", "Padded", "Padding", "Position", "Prefix", "Rest", "Rounding", "Scalar", "Scaled",
    "Select", "Sequence", "Sized", "Switch", "Terminated", "Terminator", "Text", "Time", "Type", "Until",
    "VarInt", "by_value", "checksum_in", "has_part", "integer_of", "layouts_in", "limits_of", "parts_of",
    "plain", "valued",
]  # fmt: skip

Order: TypeAlias = Literal["wire", "least-first", "bytes-swapped", "bits-swapped"]
"""wire: each field from its most significant bit, as it comes. least-first: bit i of the layout is bit i % 8
of byte i // 8, each field from its least. bytes-swapped, bits-swapped: as wire, then turned round."""


@dataclass(frozen=True, slots=True)
class Rest:
    """As a length, count or size: up to the end of the region."""


@dataclass(frozen=True, slots=True)
class Until:
    """As a count: up to and with the first element for which `condition` is not zero.

    The condition is read in a scope of its own, which holds the element as `obj_`; the layout of the
    array lies around it.
    """

    condition: Expression


@dataclass(frozen=True, slots=True)
class Bytes:
    """`length` raw bytes."""

    length: int | Expression | Rest


@dataclass(frozen=True, slots=True)
class Text:
    """Text in `encoding`: ascii, utf-8, utf-16-le, utf-16-be, utf-32-le or utf-32-be.

    `inner` is where its bytes are: a Bytes, or a Sized with one.
    """

    inner: Bytes | Sized
    encoding: str

    @property
    def closed(self) -> bool:
        """Whether NULs pad the text, so that it holds none itself."""
        return isinstance(self.inner, Sized) and self.inner.stripped > 0


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that never differs: an Integer or Enum with an int, a Bytes with bytes."""

    type: Integer | Bytes
    value: int | bytes


@dataclass(frozen=True, slots=True)
class Padding:
    """`length` units of 8 bits (or 1, inside a bit region), each equal to `pattern`."""

    length: int | Expression
    unit: Literal[1, 8]
    pattern: int


@dataclass(frozen=True, slots=True)
class Multiple:
    """As the length of a Padded: the next multiple of `of` bytes."""

    of: int


@dataclass(frozen=True, slots=True)
class Padded:
    """`inner`, then bytes of `pattern` up to `length` bytes in all."""

    inner: Type
    length: int | Expression | Multiple
    pattern: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """No bytes; the value is None."""


@dataclass(frozen=True, slots=True)
class Terminated:
    """No bytes, at the end of the region; the value is None."""


@dataclass(frozen=True, slots=True)
class Computed:
    """No bytes; the value of an expression, in `lowest`..`highest`; a bool if `boolean`."""

    expression: Expression
    lowest: int
    highest: int
    boolean: bool


@dataclass(frozen=True, slots=True)
class Prefix:
    """A count, or a size in bytes, written right before what it counts.

    A size that `includes` the prefix counts the prefix's own bytes too; then it is an Integer.
    """

    integer: Integer | VarInt
    includes: bool = False


@dataclass(frozen=True, slots=True)
class Terminator:
    """As the extent of a Sized: up to the first `mark`, looked for in steps of its length."""

    mark: bytes


@dataclass(frozen=True, slots=True)
class Sized:
    """A region for `inner`, which must fill it: so many bytes, or up to a mark.

    With `stripped` NULs at the region's end, in units of so many bytes, do not belong to `inner`.
    """

    inner: Type
    extent: int | Expression | Prefix | Terminator
    stripped: int = 0


@dataclass(frozen=True, slots=True)
class Array:
    """`count` elements, one behind the other."""

    element: Type
    count: int | Expression | Prefix | Rest | Until


@dataclass(frozen=True, slots=True)
class Sequence:
    """Values of these types, one behind the other, without names."""

    types: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Framed:
    """`inner` between what says nothing: constants, padding, and choices among them."""

    before: tuple[Type, ...]
    inner: Type
    behind: tuple[Type, ...]

    def labelled(self, path: str) -> list[tuple[str, Type]]:
        """Return every part with its path: `inner` has that of the value, the others their number too."""
        parts = [(f"{path}#{number}", part) for number, part in enumerate(parts_of(self))]
        parts[len(self.before)] = path, self.inner
        return parts


@dataclass(frozen=True, slots=True)
class Optional:
    """`inner`, or nothing and None exactly when no bytes are left in the region."""

    inner: Type


@dataclass(frozen=True, slots=True)
class If:
    """`type` where `condition` is not zero, otherwise nothing and None."""

    condition: Expression
    type: Type


@dataclass(frozen=True, slots=True)
class Switch:
    """The type that `key` selects among `cases` (key, type); a key without one needs a `default`."""

    key: Expression
    cases: tuple[tuple[Key, Type], ...]
    default: Type | None

    @property
    def types(self) -> tuple[Type, ...]:
        """Every type that can stand here."""
        types = tuple(case for _, case in self.cases)
        return types if self.default is None else (*types, self.default)


@dataclass(frozen=True, slots=True)
class Select:
    """The record that begins with the bytes that are there: (those bytes, record) each.

    No record's bytes begin with those of another one.
    """

    cases: tuple[tuple[bytes, Layout], ...]


@dataclass(frozen=True, slots=True)
class Checksum:
    """What a function gives for the bytes of the field `covers`, which lies before it in the same layout.

    `function` and `version` name the function; `code` is it, and no part of the description.
    """

    type: Integer | Bytes
    function: str
    version: int
    covers: str
    code: Callable[[bytes], int | bytes] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """`size` bytes that only code can read, which is named `name` in `version`.

    `code` is a construct that parses and builds those bytes alone, and no part of the description.
    """

    name: str
    version: int
    size: int | Rest
    code: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a field is: relative to its layout's start, or to the end of the field `after`.

    `pieces` are (byte, mask) pairs from the field's most significant bit, for a field that does not
    fill its bytes; empty otherwise. `byte` is the first byte that it touches.
    """

    byte: int
    pieces: tuple[tuple[int, int], ...] = ()
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Limited:
    """`inner` with the record's constraints on its value."""

    inner: Type
    limits: tuple[Limit, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a layout.

    `label` names it in paths: its name, or for an unnamed one kind#number. A name with a leading
    underscore, or none, is not a field of the record. `derived` says how the value follows from the
    other fields of the layout.
    """

    name: str | None
    label: str
    type: Type
    position: Position
    derived: Expression | None = None
    doc: str = field(default="", compare=False)
    default: Any = field(default=None, compare=False)
    copied: bool = field(default=False, compare=False)
    """Whether it is a RawCopy, whose value an expression reaches as `this.name.value`."""

    @property
    def in_record(self) -> bool:
        """Whether the record has this field."""
        return self.name is not None and not self.name.startswith("_")


@dataclass(frozen=True)
class Layout:
    """A record: its fields in wire order, then the rules in the order declared.

    `name` is the record class's. `validators` names the record's Python validators, which engines
    without Python cannot run. `order` is that of the bits. `origin` is what the layout was read from: it
    tells two records apart that look alike, and is no part of the description.
    """

    fields: tuple[Field, ...]
    name: str = ""
    rules: tuple[Rule, ...] = ()
    validators: tuple[str, ...] = ()
    order: Order = "wire"
    doc: str = field(default="", compare=False)
    origin: object = field(default=None, compare=False, repr=False)

    @cached_property
    def computed(self) -> tuple[Field, ...]:
        """The derived fields that the record has not, each behind those that it is computed from.

        Raises ValueError with the labels of derived fields that are computed from each other.
        """
        waiting = {item.label: item for item in self.fields if item.derived is not None}
        found: list[Field] = []
        while waiting:
            ready = [item for item in waiting.values() if not waiting.keys() & own_names(item.derived)]
            if not ready:
                raise ValueError(", ".join(waiting))
            found += ready
            for item in ready:
                del waiting[item.label]
        return tuple(item for item in found if not item.in_record)

    def __getitem__(self, label: str) -> Field:
        """Return the field with that label."""
        for item in self.fields:
            if item.label == label:
                return item
        raise KeyError(label)


Type: TypeAlias = (
    Scalar | VarInt | Bytes | Text | Constant | Padding | Nothing | Terminated | Computed
    | Array | If | Optional | Switch | Framed | Padded | Sized | Limited | Layout
    | Sequence | Select | Checksum | Opaque
)  # fmt: skip


def integer_of(kind: Type) -> Integer | None:
    """Return the integer that a value of this type is on the wire; None if it is none of fixed width."""
    match kind:
        case Integer():
            return kind
        case Enum(integer=inner) | Flags(integer=inner) | Mapping(integer=inner):
            return inner
        case Scaled(integer=inner) | Time(integer=inner) | Constant(type=Integer() as inner):
            return inner
    return None


def plain(kind: Type) -> Type:
    """Return the type without its limits."""
    return kind.inner if isinstance(kind, Limited) else kind


def valued(kind: Type) -> Type:
    """Return the type whose value a field has: limits, frames and regions change nothing about it."""
    while isinstance(kind, Limited | Framed | Padded | Sized):
        kind = kind.inner
    return kind


def limits_of(kind: Type) -> tuple[Limit, ...]:
    """Return the record's limits on the value."""
    return kind.limits if isinstance(kind, Limited) else ()


def checksum_in(kind: Type) -> Checksum | None:
    """Return the checksum that a field is, be it one that may be absent."""
    while isinstance(kind, If):
        kind = kind.type
    return kind if isinstance(kind, Checksum) else None


def parts_of(kind: Type) -> tuple[Type, ...]:
    """Return the types directly inside a type."""
    match kind:
        case Layout(fields=fields):
            return tuple(item.type for item in fields)
        case Array(element=inner) | If(type=inner) | Limited(inner=inner):
            return (inner,)
        case Optional(inner=inner) | Padded(inner=inner) | Sized(inner=inner):
            return (inner,)
        case Switch(types=types) | Sequence(types=types):
            return types
        case Framed(before=before, inner=inner, behind=behind):
            return (*before, inner, *behind)
        case Select(cases=cases):
            return tuple(layout for _, layout in cases)
    return ()


def has_part(kind: Type, wanted: type[Checksum | Opaque | Framed]) -> bool:
    """Whether a type is of a kind, or one inside of it at any depth."""
    return isinstance(kind, wanted) or any(has_part(part, wanted) for part in parts_of(kind))


def layouts_in(kind: Type) -> Iterator[Layout]:
    """Yield the layouts directly inside a type, not those inside of them."""
    if isinstance(kind, Layout):
        yield kind
        return
    for part in parts_of(kind):
        yield from layouts_in(part)

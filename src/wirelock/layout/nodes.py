"""The frozen description of a record on the wire: Layout, fields, types, expressions, positions.

Everything downstream (engines, lock, exporters) reads these nodes and nothing else. Sizes and
positions count in bits; bit 7 is the most significant bit of a byte. Nodes compare by value.
Knows nothing of construct.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, TypeAlias, get_args

ByteOrder: TypeAlias = Literal["big", "little"]
LimitKind: TypeAlias = Literal["ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "one_of"]
LIMITS: Final[tuple[LimitKind, ...]] = get_args(LimitKind)
"""The kinds of limits, in their canonical order."""

MAX_DEPTH: Final = 64
"""Layouts nested deeper than this are refused when the class is made."""
MAX_BITS: Final = 1 << 12
"""Integers, and whatever does not fill its bytes, are refused if they are wider."""
MAX_REGION: Final = 1 << 14
"""The most bits of a bit region."""
MAX_CASES: Final = 1000
"""The most cases of a Switch."""
MAX_LENGTH: Final = (1 << 32) - 1
"""The greatest constant length or count of a layout."""
MAX_ARRAY_DEPTH: Final = 16
"""Arrays nested deeper than this are refused: CPython compiles at most 20 nested loops."""


# -- expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    """A constant. Floats appear only as one side of a comparison with a float field."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Path:
    """The value of a field: `up` enclosing layouts out, then down through `names`."""

    up: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return "_." * self.up + ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Length:
    """The number of elements (Array) or bytes (Bytes) of the field at `path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator over integers; `operator` is a key of expression.OPERATORS."""

    operator: str
    operands: tuple[Expression, ...]


Expression: TypeAlias = Number | Path | Length | Operation


# -- types ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Integer:
    """A two's complement or unsigned integer; `order` is "big" where there is but one byte."""

    bits: int
    signed: bool
    order: ByteOrder

    @property
    def lowest(self) -> int:
        """The least value that fits."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """The greatest value that fits."""
        return (1 << (self.bits - self.signed)) - 1


@dataclass(frozen=True, slots=True)
class Float:
    """IEEE 754 binary16, binary32 or binary64."""

    bits: int
    order: ByteOrder


@dataclass(frozen=True, slots=True)
class Flag:
    """A bool in one bit, or in one byte that may be 0 or 1 only."""

    bits: int


@dataclass(frozen=True, slots=True)
class Enum:
    """An integer that must be one of `members` (name, value)."""

    integer: Integer
    members: tuple[tuple[str, int], ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Flags:
    """An integer whose set bits must all belong to `members` (name, mask)."""

    integer: Integer
    members: tuple[tuple[str, int], ...]
    name: str = ""

    @property
    def mask(self) -> int:
        """All the bits that have a name."""
        mask = 0
        for _, bit in self.members:
            mask |= bit
        return mask


@dataclass(frozen=True, slots=True)
class Bytes:
    """`length` raw bytes."""

    length: int | Expression


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
class Nothing:
    """No bytes; the value is None."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A count written as an integer right before what it counts."""

    integer: Integer


@dataclass(frozen=True, slots=True)
class Array:
    """`count` elements, one behind the other."""

    element: Type
    count: int | Expression | Prefix


@dataclass(frozen=True, slots=True)
class If:
    """`type` where `condition` is not zero, otherwise nothing and None."""

    condition: Expression
    type: Type


@dataclass(frozen=True, slots=True)
class Switch:
    """The type that `key` selects among `cases` (key, type); a key without one needs a `default`."""

    key: Expression
    cases: tuple[tuple[int, Type], ...]
    default: Type | None

    @property
    def types(self) -> tuple[Type, ...]:
        """Every type that can stand here."""
        types = tuple(case for _, case in self.cases)
        return types if self.default is None else (*types, self.default)


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
class Limit:
    """A constraint of the record on one value: `value op argument`, on its length for min/max_length.

    Integers have ge, le, multiple_of and one_of; floats ge, gt, le and lt; arrays and bytes the lengths.
    """

    kind: LimitKind
    value: int | float | tuple[int | bool | bytes, ...]


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

    @property
    def in_record(self) -> bool:
        """Whether the record has this field."""
        return self.name is not None and not self.name.startswith("_")


@dataclass(frozen=True, slots=True)
class Rule:
    """A named condition over the fields of one record: it holds where `expression` is not zero."""

    name: str
    expression: Expression
    message: str = ""


@dataclass(frozen=True)
class Layout:
    """A record: its fields in wire order, then the rules in the order declared.

    `name` is the record class's. `validators` names the record's Python validators, which engines
    without Python cannot run. `origin` is what the layout was read from: it tells two records apart
    that look alike, and is no part of the description.
    """

    fields: tuple[Field, ...]
    name: str = ""
    rules: tuple[Rule, ...] = ()
    validators: tuple[str, ...] = ()
    doc: str = field(default="", compare=False)
    origin: object = field(default=None, compare=False, repr=False)

    @cached_property
    def size(self) -> Size:
        """The bits that a record takes."""
        return sum_sizes(size_of(item.type) for item in self.fields)

    @cached_property
    def computed(self) -> tuple[Field, ...]:
        """The derived fields that the record has not, each behind those that it is computed from.

        Raises ValueError with the labels of derived fields that are computed from each other.
        """
        waiting = {item.label: item for item in self.fields if item.derived is not None}
        found: list[Field] = []
        while waiting:
            ready = [item for item in waiting.values() if not waiting.keys() & _own_names(item.derived)]
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


def _own_names(expression: Expression | None) -> set[str]:
    """Return the fields of the same layout that an expression reads."""
    match expression:
        case Path(up=0, names=names) | Length(path=Path(up=0, names=names)):
            return {names[0]}
        case Operation(operands=operands):
            return {name for operand in operands for name in _own_names(operand)}
    return set()


Scalar: TypeAlias = Integer | Float | Flag | Enum | Flags
Type: TypeAlias = Scalar | Bytes | Constant | Padding | Nothing | Array | If | Switch | Limited | Layout


# -- sizes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Size:
    """The least and the greatest number of bits; `highest` is None where nothing bounds it."""

    lowest: int
    highest: int | None

    @property
    def fixed(self) -> bool:
        """Whether there is but one size."""
        return self.lowest == self.highest


def sum_sizes(sizes: Iterator[Size]) -> Size:
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
            return kind.size
        case Integer(bits=bits) | Float(bits=bits) | Flag(bits=bits):
            return Size(bits, bits)
        case Enum(integer=inner) | Flags(integer=inner):
            return Size(inner.bits, inner.bits)
        case Constant(type=inner) | Limited(inner=inner):
            return size_of(inner)
        case Bytes(length=int(length)):
            return Size(8 * length, 8 * length)
        case Padding(length=int(length), unit=unit):
            return Size(unit * length, unit * length)
        case Bytes() | Padding():
            return Size(0, None)
        case Nothing():
            return Size(0, 0)
        case Array(count=int(count), element=element):
            size = size_of(element)
            return Size(count * size.lowest, None if size.highest is None else count * size.highest)
        case Array(count=Prefix(integer=integer)):
            return Size(integer.bits, None)
        case Array():
            return Size(0, None)
        case If(type=inner):
            return Size(0, size_of(inner).highest)
        case Switch():
            sizes = [size_of(item) for item in kind.types]
            highest = [size.highest for size in sizes if size.highest is not None]
            return Size(
                min(size.lowest for size in sizes), max(highest) if len(highest) == len(sizes) else None
            )


def by_value(members: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return members in the order of their values: in which order a class lists them changes nothing."""
    return tuple(sorted(members, key=lambda member: (member[1], member[0])))


def plain(kind: Type) -> Type:
    """Return the type without its limits."""
    return kind.inner if isinstance(kind, Limited) else kind


def limits_of(kind: Type) -> tuple[Limit, ...]:
    """Return the record's limits on the value."""
    return kind.limits if isinstance(kind, Limited) else ()


def layouts_in(kind: Type) -> Iterator[Layout]:
    """Yield the layouts directly inside a type, not those inside of them."""
    match kind:
        case Layout():
            yield kind
        case Array(element=inner) | If(type=inner) | Limited(inner=inner):
            yield from layouts_in(inner)
        case Switch():
            for case in kind.types:
                yield from layouts_in(case)

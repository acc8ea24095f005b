"""Types and expressions of an exported codec: what its locals and fields hold, and what is computed.

Values are integers within int64 (or uint64, where the interval says so); every node knows its interval, so
that a printer can choose the type that holds it. Positions are bytes from the start of the datagram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from wirelock.layout.operators import Interval
from wirelock.layout.scalars import ByteOrder

Encoding: TypeAlias = Literal["ascii", "utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]

SAFE: Final[Interval] = (-(1 << 53) + 1, (1 << 53) - 1)
"""The integers that a binary64 holds exactly: beyond them TypeScript needs bigint."""


# -- types: what a record's fields, locals and parameters hold


@dataclass(frozen=True, slots=True)
class IntType:
    """An integer in the smallest of 8, 16, 32 and 64 bits that holds its wire width, `low`..`high`."""

    bits: Literal[8, 16, 32, 64]
    signed: bool
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class BoolType:
    """True or false."""


@dataclass(frozen=True, slots=True)
class FloatType:
    """binary32 (binary16 of the wire too) or binary64. With `nan` a NaN can be among the values."""

    bits: Literal[32, 64]
    nan: bool


@dataclass(frozen=True, slots=True)
class BytesType:
    """Raw bytes, `size` of them if that is fixed. C holds a view of the datagram where it is not fixed."""

    size: int | None


@dataclass(frozen=True, slots=True)
class TextType:
    """Text that is valid in its encoding. C holds its encoded bytes, the others their own string."""

    encoding: Encoding


@dataclass(frozen=True, slots=True)
class EnumType:
    """One of the members of an Enumeration (or any set of its flags), by its name in the program."""

    name: str


@dataclass(frozen=True, slots=True)
class RecordType:
    """Another record, by its name in the program."""

    name: str


@dataclass(frozen=True, slots=True)
class ListType:
    """Elements of one type, `size` of them if that is fixed."""

    element: Type
    size: int | None


@dataclass(frozen=True, slots=True)
class OptionType:
    """A value, or none."""

    inner: Type


@dataclass(frozen=True, slots=True)
class ChoiceType:
    """One of several cases, each with a label and a value (or none, where its type is None)."""

    name: str
    cases: tuple[tuple[str, Type | None], ...]


Type: TypeAlias = (
    IntType | BoolType | FloatType | BytesType | TextType | EnumType | RecordType | ListType | OptionType
    | ChoiceType
)  # fmt: skip


# -- expressions


@dataclass(frozen=True, slots=True)
class Int:
    """A constant integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Real:
    """A constant binary64; an infinity where a limit overflows."""

    value: float


@dataclass(frozen=True, slots=True)
class Truth:
    """A constant bool."""

    value: bool


@dataclass(frozen=True, slots=True)
class Octets:
    """Constant bytes; they only stand in an Equal."""

    value: bytes


@dataclass(frozen=True, slots=True)
class Self:
    """The record that a function reads into, writes from or tells."""

    type: RecordType


@dataclass(frozen=True, slots=True)
class Local:
    """A parameter, a Let or a Var, by its name within the function: snake_case, and unique in it."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a record, by its FieldDecl name."""

    of: Value
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Item:
    """An element of a list; `index` is within it."""

    of: Value
    index: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Count:
    """How many elements a list has, or how many bytes a Bytes; of a text its characters (code points).

    `write` also tests the count of lists and bytes of fixed size: a language whose type has just that size
    leaves the test out.
    """

    of: Value


@dataclass(frozen=True, slots=True)
class Present:
    """Whether an option holds a value: a bool."""

    of: Value


@dataclass(frozen=True, slots=True)
class Within:
    """The value of an option that is present. As a target of Set or Read it makes the option present."""

    of: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Which:
    """The number of the case that a choice holds, from 0. Set it before CaseOf is a target."""

    of: Value


@dataclass(frozen=True, slots=True)
class CaseOf:
    """The value of a choice in the case of that number, which it holds."""

    of: Value
    number: int
    type: Type


@dataclass(frozen=True, slots=True)
class Op:
    """An operator of layout.operators over integers, with the interval of its result.

    Comparisons, "and", "or" and "not" give a bool, and `if` has a bool first; all other operands are integers
    (Number turns a bool into one). // and % are floor division by a positive constant. Shift counts are
    within 0..63, mostly constants. Comparisons may also have two floats, compared in binary64, of
    which a NaN keeps none but !=.
    """

    operator: str
    operands: tuple[Value, ...]
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Number:
    """A bool as 0 or 1, or an enumeration's member or set of flags as its integer."""

    of: Value
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Cast:
    """An integer as another type: a field's IntType, a BoolType (not zero), or an EnumType."""

    of: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Load:
    """The integer in `bits` (8, 16, ... 64) of `data` from byte `at` on, which are known to be there."""

    at: Value
    bits: int
    signed: bool
    order: ByteOrder


@dataclass(frozen=True, slots=True)
class FloatOf:
    """The float whose bits an unsigned integer is; `bits` 16, 32 or 64 as on the wire. No signalling NaN."""

    of: Value
    bits: Literal[16, 32, 64]


@dataclass(frozen=True, slots=True)
class BitsOf:
    """The bits of a float at a width of the wire, as an unsigned integer: the inverse of FloatOf.

    A NaN keeps its payload. Only of values for which `Call("float_fits")` holds.
    """

    of: Value
    bits: Literal[16, 32, 64]


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes of `data`, `size` from byte `at` on, which are known to be there; a BytesType."""

    at: Value
    size: Value
    fixed: int | None


@dataclass(frozen=True, slots=True)
class Equal:
    """Whether bytes of `data` from `at` on, or a bytes value, are these constants: a bool.

    A text is compared as text, whose bytes in its encoding these are.
    """

    at: Value | None
    of: Value | None
    octets: bytes


@dataclass(frozen=True, slots=True)
class FaultCount:
    """How many faults were put into the slot so far: an integer."""


@dataclass(frozen=True, slots=True)
class Written:
    """How many bytes the output holds: an integer."""


Runtime: TypeAlias = Literal[
    "integer_fits", "find_mark", "strip_nuls", "filled", "text_code", "text_of", "text_size", "text_fits",
    "float_fits", "scaled_of", "scaled_fits", "scaled_raw", "contains_mark", "ends_in_nuls",
    "varint_size",
]  # fmt: skip
"""Functions of the runtime that every language has; all are pure:

integer_fits(value, low: Int, high: Int) -> bool: an integer field, or an enumeration's Number, is an integer
    in low..high, whatever the interval of the value says: that only holds from here on. A language whose type
    of the field holds just those leaves the test out; one whose numbers are no integers looks for that too
find_mark(at, end, mark: Octets) -> the byte in `data` at which the mark lies first, in steps of its length
    from `at`, or -1
strip_nuls(at, end, unit) -> the end without the NULs there, in units of so many bytes from the end's side, as
    codec.text.strip_nuls
filled(at, end, pattern) -> the first byte of `data` in at..end that is not `pattern`, or `end`
text_code(at, end, encoding, closed) -> 0 for text, 1 for bad-text, 2 for not-canonical: codec.text.text_fault
text_of(at, end, encoding) -> the TextType value; known to be text
text_size(text, encoding) -> how many bytes it takes; -1 where it cannot be encoded
text_fits(text, encoding, closed) -> bool: it is read back as the same text
float_fits(value, bits) -> bool: rounding to that width of the wire and back gives the same float, bit for bit
    (so no signalling NaN, and no NaN payload that is lost)
scaled_of(raw, multiply, add, divide) -> binary64 (raw * multiply + add) / divide
scaled_fits(value, multiply, add, divide, low, high) -> bool: some integer in low..high stands for it exactly
scaled_raw(value, multiply, add, divide) -> that integer: codec.scaled.raw_of
contains_mark(value, size, mark: Octets) -> bool: whether a mark lies in steps of its length in the bytes of a
    bytes value, or of a text in its encoding, which are `size`
ends_in_nuls(value, unit) -> bool: whether the last `unit` of those bytes are all zero; false of fewer bytes
varint_size(raw) -> 1..10
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A pure function of the runtime, by its name in Runtime."""

    name: Runtime
    arguments: tuple[Value | str | bool, ...]
    type: Type
    low: int = 0
    high: int = 0


Value: TypeAlias = (
    Int | Real | Truth | Octets | Self | Local | Member | Item | Count | Present | Within | Which | CaseOf
    | Op | Number | Cast | Load | FloatOf | BitsOf | Slice | Equal | FaultCount | Written | Call
)  # fmt: skip

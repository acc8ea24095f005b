"""Statements of an exported codec: what its functions do, one after the other. program.py has the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from wirelock.export.values import Local, Value
from wirelock.layout.scalars import ByteOrder

Step: TypeAlias = str | Value
"""Of a path: a field's label, or the number of an element, as in ("entities", i).

Labels have a dot in front, except the first one and `#0` (what stands around an element): `entities[3]#0`.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault is: steps within this function's record, byte, the highest bit of a field below a byte.

    `bit` is 7..0 within the byte, or None. A fault of writing has no byte.
    """

    steps: tuple[Step, ...]
    byte: Value | None = None
    bit: int | None = None


@dataclass(frozen=True, slots=True)
class Let:
    """Declare a local that keeps its value."""

    local: Local
    value: Value


@dataclass(frozen=True, slots=True)
class Var:
    """Declare a local that Set changes."""

    local: Local
    value: Value


@dataclass(frozen=True, slots=True)
class Set:
    """Give a Var, a Member, an Item, a Within, a CaseOf or a Which a value; a whole OptionType also None."""

    target: Value
    value: Value | None


@dataclass(frozen=True, slots=True)
class When:
    """Run `then` if a bool holds, else `otherwise`. Declarations inside are of the block."""

    condition: Value
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Pick:
    """Run the block of the integer or bytes key that equals a value (a switch), else `otherwise`."""

    value: Value
    cases: tuple[tuple[tuple[int, ...], tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class For:
    """Run the body with `index` (a Local) from 0 to count - 1."""

    index: Local
    count: Value
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class While:
    """Run the body as long as a bool holds; Break leaves it."""

    condition: Value
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost For or While."""


@dataclass(frozen=True, slots=True)
class Return:
    """End a function that reads: `at` is the byte behind the record. It is the last statement of `read`."""

    at: Value


@dataclass(frozen=True, slots=True)
class Fail:
    """Put a structural fault into the slot and return failure."""

    code: str
    place: Place


@dataclass(frozen=True, slots=True)
class FailText:
    """As Fail, where an integer is not 0: 1 is Note bad-text (reading goes on), 2 is Fail not-canonical."""

    code: Value
    place: Place


@dataclass(frozen=True, slots=True)
class Note:
    """Put a value or rule fault into the slot, if its rank allows, and go on."""

    rank: Literal["rule", "value"]
    code: str
    place: Place
    over: Local | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """Call the function that reads a record, into `target`. Returns failure where it fails.

    `load` calls the one for bytes that are known to be there: with Self as target the record's own.
    `result`, a Var, is set to the byte behind it otherwise; None where that is known. `arguments` are for
    the function's own parameters, in their order.
    """

    record: str
    target: Value
    at: Value
    end: Value | None
    steps: tuple[Step, ...]
    result: Local | None
    arguments: tuple[Value, ...] = ()
    load: bool = False


@dataclass(frozen=True, slots=True)
class ReadVarint:
    """Read a varint at the Var `at`, before `end`, into the declared Local, and move `at` behind it.

    Fails as codec.varint.varint_fault says: truncated, too-large or not-canonical, at the first byte.
    """

    local: Local
    zigzag: bool
    at: Local
    end: Value
    place: Place


@dataclass(frozen=True, slots=True)
class Allocate:
    """Give a list without fixed size `count` fresh elements (or a fixed one its fresh elements).

    The count was checked against the bytes that are there. C takes them from the caller's arena, and fails
    with `no-memory` at the place where that is too small.
    """

    target: Value
    count: Value
    place: Place


@dataclass(frozen=True, slots=True)
class Extend:
    """Put a fresh element behind a list that has grown to `size` elements (a Var, one more afterwards).

    `size` is 0 at first; after the last one the list has that many. The element is Item(target, size - 1).
    """

    target: Value
    size: Local
    place: Place


@dataclass(frozen=True, slots=True)
class Reserve:
    """Make room for so many bytes of output, all zero, at byte `at` (a Let that is declared): the old end.

    C fails with `no-space` where the caller's buffer is too small.
    """

    at: Local
    size: Value


@dataclass(frozen=True, slots=True)
class Store:
    """Write the low `bits` of an integer into output bytes that were reserved, from byte `at` on."""

    at: Value
    bits: int
    order: ByteOrder
    value: Value


@dataclass(frozen=True, slots=True)
class Put:
    """Write bytes or text (in its encoding, already known to fit) into output that was reserved."""

    at: Value
    value: Value


@dataclass(frozen=True, slots=True)
class Fill:
    """Write so many bytes of one value into output that was reserved."""

    at: Value
    count: Value
    octet: int


@dataclass(frozen=True, slots=True)
class PutVarint:
    """Write a varint at the end of the output: of the raw or zigzagged integer."""

    value: Value
    zigzag: bool


@dataclass(frozen=True, slots=True)
class InsertVarint:
    """Write a varint at byte `at` of the output, and move all that is there already behind it.

    It is the size of a region that was only known once the region was written.
    """

    at: Value
    value: Value
    zigzag: bool


@dataclass(frozen=True, slots=True)
class Write:
    """Call the function that writes a record at the end of the output; returns failure where it fails.

    With `at` the one that stores a record of fixed size into output that was reserved, from there on.
    """

    record: str
    source: Value
    steps: tuple[Step, ...]
    arguments: tuple[Value, ...] = ()
    at: Value | None = None


@dataclass(frozen=True, slots=True)
class Tell:
    """Write one piece of the record's JSON, as docs/golden-vectors.md has it.

    open/close object or list; `key` of an object's next value; `comma` is the printer's to keep. Values: an
    integer (a string beyond 2**53), a bool, a float of `bits` (16, 32, 64: shortest digits that give it back,
    {"bits": hex} where not finite), bytes as hex, text, null; or a nested record's own function.
    """

    what: Literal["{", "}", "[", "]", "key", "integer", "bool", "float", "bytes", "text", "null", "record"]
    value: Value | str | None = None
    bits: int = 0
    arguments: tuple[Value, ...] = ()


Statement: TypeAlias = (
    Let | Var | Set | When | Pick | For | While | Break | Return | Fail | FailText | Note | Read | ReadVarint
    | Allocate | Extend | Reserve | Store | Put | Fill | PutVarint | InsertVarint | Write | Tell
)  # fmt: skip

"""What both directions of generated code share: lines, names, expressions, and fused runs of fields.

A run is a stretch of fixed-size values. Whole-byte values map to one `struct` format; values below a
byte are packed into groups of whole bytes, read and written as one big-endian integer.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from wirelock.codec.floats import FORMATS
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Integer,
    Layout,
    Mapping,
    Multiple,
    Padded,
    Padding,
    Scaled,
    Time,
    Type,
    checksum_in,
    integer_of,
    plain,
)
from wirelock.layout.operators import number_source, python_source
from wirelock.layout.positions import offsets
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Expression, Index, Length, Limit, Operation, Path

UNROLLED: Final = 16
"""Arrays of up to so many scalars are read within the run around them; longer ones on their own."""

WIDTH: Final = 110
"""Generated lines longer than this are broken."""

_INTEGERS: Final = {8: "b", 16: "h", 32: "i", 64: "q"}


class Writer:
    """Collects the lines of one function and gives out names that nothing else in it has."""

    def __init__(self, taken: set[str]) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self._taken = {*dir(builtins), *keyword.kwlist, *taken}

    def line(self, text: str) -> None:
        """Add a line at the current depth, broken where it is long."""
        self.lines += wrapped("    " * self.depth + text)

    def unless(self, condition: str) -> None:
        """Add the lines that give up unless a condition holds."""
        self.give_up_if(f"not ({condition})")

    def give_up_if(self, condition: str) -> None:
        """Add the lines that give up where a condition holds: the slow path then says why."""
        self.line(f"if {condition}:")
        self.line("    return None")

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Write what follows one level deeper."""
        self.depth += 1
        yield
        self.depth -= 1

    def name(self, hint: str) -> str:
        """Return a new name like the hint."""
        base = "".join(letter if letter.isalnum() else "_" for letter in hint).strip("_") or "value"
        base = base if base.isidentifier() else f"_{base}"
        base = f"field_{base}" if base.startswith(("STRUCT_", "TABLE_", "CODE_")) else base
        found, number = base, 2
        while found in self._taken:
            found, number = f"{base}_{number}", number + 1
        self._taken.add(found)
        return found


def wrapped(line: str) -> list[str]:
    """Break a long line of source behind commas that lie inside of brackets."""
    lines, indent, outer = [], " " * (len(line) - len(line.lstrip()) + 8), 0
    while len(line) > WIDTH:
        depth, quote, best, left_open = outer, "", 0, 0
        for i, letter in enumerate(line[:WIDTH]):
            if quote:
                quote = "" if letter == quote else quote
            elif letter in "'\"":
                quote = letter
            else:
                depth += (letter in "([{") - (letter in ")]}")
            if letter == "," and depth > 0 and not quote and i > len(indent):
                best, left_open = i + 1, depth
        if not best:
            break
        lines.append(line[:best])
        line, outer = indent + line[best:].lstrip(), left_open
    return [*lines, line]


def mentions(lines: list[str], name: str) -> bool:
    """Whether lines of source use a name."""
    return re.search(rf"\b{name}\b", "\n".join(lines)) is not None


class Constants:
    """The module-level names of the generated source: compiled formats, and tables of Mappings."""

    def __init__(self) -> None:
        self.structs: dict[str, str] = {}
        self.tables: dict[str, str] = {}
        self.code: dict[str, Callable[..., Any]] = {}
        """What is called by name, beside the source."""

    def struct(self, fmt: str) -> str:
        """Return the name of a compiled format."""
        return self.structs.setdefault(fmt, f"STRUCT_{len(self.structs) + 1}")

    def table(self, entries: dict[Any, Any]) -> str:
        """Return the name of a dict."""
        return self.tables.setdefault(repr(entries), f"TABLE_{len(self.tables) + 1}")

    def call(self, function: Callable[..., Any]) -> str:
        """Return the name of a function that is no source."""
        name = f"CODE_{len(self.code) + 1}"
        self.code[name] = function
        return name

    def lines(self) -> list[str]:
        """Return the lines that define the names."""
        formats = [f'{name} = Struct("{fmt}")' for fmt, name in self.structs.items()]
        return formats + [line for text, name in self.tables.items() for line in wrapped(f"{name} = {text}")]


@dataclass(slots=True)
class Value:
    """How source text reaches a value: `text` as a number, `record` as the record holds it.

    `trusted`: it was computed, not read from a record, so its type is no question.
    """

    text: str
    record: str
    length: str = ""
    trusted: bool = False
    fields: dict[str, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Sight:
    """What expressions of one layout can see; `index` is the text of the element's number."""

    parent: Sight | None
    values: dict[str, Value] = field(default_factory=dict)
    index: str = ""
    spans: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Where the fields that a checksum covers begin and end."""

    def inside(self) -> Sight:
        """Return the sight of a record in this one."""
        return Sight(self, index=self.index)

    def text_of(self, wanted: Path | Length | Index) -> str:
        """Return the source text of a field's value or length, or of the element's number."""
        if isinstance(wanted, Index):
            assert self.index, "an index outside of an array"
            return self.index
        path = wanted.path if isinstance(wanted, Length) else wanted
        sight: Sight | None = self
        for _ in range(path.up):
            sight = sight.parent if sight else None
        assert sight is not None, f"{path} leads out of the layout"
        value = sight.values[path.names[0]]
        for name in path.names[1:]:
            value = value.fields[name]
        return value.length if isinstance(wanted, Length) else value.text

    def sees(self, expression: Expression | None) -> bool:
        """Whether everything that an expression reads has been bound."""
        match expression:
            case Path() | Length():
                try:
                    self.text_of(expression)
                except KeyError:
                    return False
            case Operation(operands=operands):
                return all(map(self.sees, operands))
        return True

    def source(self, expression: Expression, shared: dict[Expression, str] | None = None) -> str:
        """Return the source text of an expression; `shared` parts go by their names."""

        def name_of(part: Expression) -> str | None:
            if shared and part in shared:
                return shared[part]
            return self.text_of(part) if isinstance(part, Path | Length | Index) else None

        return python_source(expression, name_of)

    def operand(self, expression: int | Expression) -> str:
        """Return the source text of a number or expression, fit to stand beside a comparison."""
        if isinstance(expression, int):
            return str(expression)
        text = self.source(expression)
        return f"({text})" if isinstance(expression, Operation) else text


def covered(layout: Layout) -> set[str]:
    """Return the fields of a layout that a checksum covers."""
    sums = (checksum_in(item.type) for item in layout.fields)
    return {found.covers for found in sums if found is not None}


def limits_source(text: str, limits: tuple[Limit, ...]) -> str:
    """Return the condition under which a value keeps its limits."""
    found = {limit.kind: _limit_source(limit) for limit in limits}
    parts = []
    for low, high, what in (("ge", "le", text), ("min_length", "max_length", f"len({text})")):
        if low in found and high in found:
            parts.append(f"{found.pop(low)} <= {what} <= {found.pop(high)}")
    words = {
        "ge": "{0} >= {1}", "gt": "{0} > {1}", "le": "{0} <= {1}", "lt": "{0} < {1}",
        "multiple_of": "{0} % {1} == 0", "one_of": "{0} in {1}", "none_of": "{0} not in {1}",
        "min_length": "len({0}) >= {1}", "max_length": "len({0}) <= {1}",
    }  # fmt: skip
    parts += [words[kind].format(text, value) for kind, value in found.items()]
    return " and ".join(parts)


def excludes_nan(limits: tuple[Limit, ...]) -> bool:
    """Whether no NaN keeps the limits: it compares with nothing."""
    return any(limit.kind in ("ge", "gt", "le", "lt") for limit in limits)


def _limit_source(limit: Limit) -> str:
    return repr(limit.value) if isinstance(limit.value, tuple) else number_source(limit.value)


# -- runs ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Slot:
    """One fixed-size value `bit` bits behind the start of its run."""

    bit: int
    kind: Type
    value: Value
    limits: tuple[Limit, ...]
    hint: str

    @property
    def bits(self) -> int:
        """Its width."""
        return size_of(self.kind).lowest


@dataclass(slots=True)
class Group:
    """Values that share bytes, read as one big-endian integer; or one value of whole bytes."""

    slots: list[Slot]
    name: str = ""

    @property
    def byte(self) -> int:
        """The first byte, from the run's start."""
        return self.slots[0].bit // 8

    @property
    def octets(self) -> int:
        """How many bytes it takes."""
        return (self.slots[-1].bit + self.slots[-1].bits) // 8 - self.byte

    @property
    def split(self) -> bool:
        """Whether its values have to be cut out of an integer."""
        return any(slot.bit % 8 or slot.bits % 8 for slot in self.slots)

    def shift(self, slot: Slot) -> int:
        """How many bits of the group lie behind a value."""
        return 8 * (self.byte + self.octets) - slot.bit - slot.bits

    @property
    def code(self) -> tuple[str, str]:
        """The `struct` letter and the byte order that it needs ("" where any will do)."""
        if self.split:
            return ("B", "") if self.octets == 1 else (f"{self.octets}s", "")
        kind = plain(self.slots[0].kind)
        inner = integer_of(kind) or kind
        order = ""
        if isinstance(inner, Integer | Float) and inner.bits > 8:
            order = "<" if inner.order == "little" else ">"
        match inner:
            case Integer(bits=bits, signed=signed) if bits in _INTEGERS:
                return (_INTEGERS[bits] if signed else _INTEGERS[bits].upper()), order
            case Float(bits=bits):
                return FORMATS[bits], order
            case Flag():
                return "B", ""
        return f"{self.octets}s", ""


@dataclass(slots=True)
class Piece:
    """The groups that one `struct` format covers."""

    order: str
    groups: list[Group]

    @property
    def format(self) -> str:
        """The `struct` format."""
        return (self.order or "<") + "".join(group.code[0] for group in self.groups)

    @property
    def byte(self) -> int:
        """Its first byte, from the run's start."""
        return self.groups[0].byte


class Run:
    """A stretch of fixed-size values under construction."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.bits = 0

    def add(self, kind: Type, value: Value, limits: tuple[Limit, ...], hint: str) -> Slot:
        """Append a value."""
        slot = Slot(self.bits, kind, value, limits, hint)
        self.slots.append(slot)
        self.bits += slot.bits
        return slot

    @property
    def octets(self) -> int:
        """How many bytes it takes."""
        return self.bits // 8

    def scattered(self, layout: Layout) -> list[Slot]:
        """Put the values where they lie once the bits are in wire order; return them in that order."""
        held = [item for item in layout.fields if size_of(item.type).lowest]
        self.slots = [slot for slot in self.slots if slot.bits]
        starts = offsets(held, layout.order)
        if layout.order != "least-first":  # only there are fields, which are slots, not as they come
            starts = [0, *accumulate(slot.bits for slot in self.slots)][:-1]
        for slot, start in zip(self.slots, starts, strict=True):
            slot.bit = start
        return sorted(self.slots, key=lambda slot: slot.bit)

    def pieces(self) -> list[Piece]:
        """Group values that share bytes, then join groups as long as one byte order serves them."""
        pieces: list[Piece] = []
        for group in self._groups():
            order = group.code[1]
            if pieces and (not order or not pieces[-1].order or order == pieces[-1].order):
                pieces[-1].groups.append(group)
                pieces[-1].order = pieces[-1].order or order
            else:
                pieces.append(Piece(order, [group]))
        return pieces

    def _groups(self) -> Iterator[Group]:
        open_slots: list[Slot] = []
        for slot in self.slots:
            open_slots.append(slot)
            if (slot.bit + slot.bits) % 8 == 0:
                yield Group(open_slots)
                open_slots = []
        assert not open_slots, "a bit region ends within a byte"


def is_leaf(kind: Type) -> bool:
    """Whether a run can hold a value of this type as one slot."""
    match plain(kind):
        case Integer() | Float() | Flag() | Enum() | Flags() | Mapping() | Scaled() | Time() | Constant():
            return True
        case Bytes(length=length) | Padding(length=length):
            return isinstance(length, int)
    return False


def is_unrolled(kind: Array, phase: int) -> bool:
    """Whether a run holds an array's elements one by one; below a byte it has to."""
    if not isinstance(kind.count, int):
        return False
    below_a_byte = phase != 0 or size_of(kind.element).lowest % 8 != 0
    return below_a_byte or (is_leaf(kind.element) and kind.count <= UNROLLED)


def padding_source(kind: Padding, count: str = "") -> str:
    """Return source for the bytes of a padding; `count` is its length where that is no constant."""
    octet = kind.pattern * 0xFF if kind.unit == 1 else kind.pattern
    return f"{bytes([octet])!r} * {count or size_of(kind).lowest // 8}"


def padding_size_source(kind: Padded, size: str, sight: Sight) -> str:
    """Return source for the bytes of padding behind an inner value of `size` bytes."""
    if isinstance(kind.length, Multiple):
        return f"-({size}) % {kind.length.of}"
    return f"{sight.operand(kind.length)} - ({size})"


def padding_bits(kind: Padding) -> int:
    """Return a padding of fixed size as one integer."""
    if kind.unit == 1:
        return kind.pattern * ((1 << size_of(kind).lowest) - 1)
    return int.from_bytes(bytes([kind.pattern]) * (size_of(kind).lowest // 8), "big")


def simple_element(kind: Type) -> str:
    """Return the `struct` letter of an array element that needs no work of its own, with its order."""
    inner = plain(kind)
    if isinstance(inner, Integer) and inner.bits in _INTEGERS:
        letter = _INTEGERS[inner.bits] if inner.signed else _INTEGERS[inner.bits].upper()
        return ("<" if inner.order == "little" else ">") + letter
    if isinstance(inner, Float):
        return ("<" if inner.order == "little" else ">") + FORMATS[inner.bits]
    return ""

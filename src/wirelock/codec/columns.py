"""Layout -> the columns that its records become: which arrays there are, how long each is, and what is in it.

A *dimension* counts something: dimension 0 the records, and one more each array of no fixed count, each
stretch of bytes or text of no fixed length, and each case of a choice. A *slot* is one place in an array: a
dimension has as many slots for a value as it counts, times the fixed counts of the arrays around the value
(`repeat`). Knows nothing of numpy: what numpy calls the types of the arrays is a word here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Literal, TypeAlias

from wirelock.codec.sums import has_kernel
from wirelock.errors import SchemaError
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
    Mapping,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Prefix,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Text,
    Time,
    Type,
    VarInt,
    integer_of,
    parts_of,
    plain,
    valued,
)
from wirelock.layout.sizes import padding_behind
from wirelock.layout.terms import inner_path, key_text

Holds: TypeAlias = Literal["values", "offsets", "tags", "bytes"]


@dataclass(frozen=True, slots=True)
class Stored:
    """One array: `per` slots for each thing that dimension `dim` counts, offsets with one more at the end.

    `dtype` is numpy's name of what lies in it, `seen` of what a user sees in its place (floats are stored
    as their bits, so that no conversion touches a NaN).
    """

    dtype: str
    seen: str
    dim: int
    per: int
    holds: Holds


@dataclass(slots=True)
class Node:
    """One value of a record, with its arrays. `kind` is its type without limits, frames and regions.

    `array` holds the values, tags (the number of the case; for If and Optional 1 where there is a value) or
    offsets; -1 where nothing has to be stored. `inside` is the dimension of the elements or bytes, and
    `content` the array of the bytes. `parts` are the fields, elements or cases, named by `labels`.
    """

    kind: Type
    path: str
    dim: int
    repeat: tuple[int, ...]
    array: int = -1
    inside: int = -1
    content: int = -1
    parts: tuple[Node, ...] = ()
    labels: tuple[str, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Yield this node and all inside of it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(slots=True)
class Plan:
    """The tree of values of a layout, its arrays by number, and how many dimensions there are."""

    root: Node
    arrays: list[Stored] = field(default_factory=list)
    dims: int = 1


def plan_of(layout: Layout) -> Plan:
    """Return the columns of a layout. Raises SchemaError for the first field that compiled code cannot do."""
    check_compilable(layout, layout.name, "")
    return _Planner().plan(layout)


# -- what cannot be done


def check_compilable(kind: Type, record: str, path: str) -> None:
    """Raise SchemaError for the first part of a type that the columnar engine cannot run, with the reason."""
    reason = _reason(kind)
    if reason:
        where = inner_path(record, path) if path else record
        raise SchemaError(where, f"the columnar engine cannot do {reason}", "parse such records one by one")
    if isinstance(kind, Layout):
        for item in kind.fields:
            check_compilable(item.type, record, inner_path(path, item.label))
        return
    within = f"{path}[]" if isinstance(kind, Array) else path
    for part in parts_of(kind):
        check_compilable(part, record, within)


def _reason(kind: Type) -> str:
    integer = integer_of(kind)
    if isinstance(kind, Checksum | Constant) and isinstance(kind.type, Integer):
        integer = kind.type
    if isinstance(kind, Array | Sized):
        prefix = kind.count if isinstance(kind, Array) else kind.extent
        if isinstance(prefix, Prefix) and isinstance(prefix.integer, Integer):
            integer = prefix.integer
    match kind:
        case Opaque(name=name):
            return f"opaque {name!r}: only its code can read it"
        case Layout(validators=validators) if validators:
            return f"Python validators ({', '.join(validators)})"
        case Checksum() if not has_kernel(kind):
            return f"the checksum {kind.function!r}, which is code"
    if integer is not None and integer.bits > 64:
        return f"an integer of {integer.bits} bits: 64 are the most"
    return ""


# -- the tree


def width_of(integer: Integer) -> str:
    """Return numpy's name of the narrowest integer that holds one."""
    octets = next(size for size in (1, 2, 4, 8) if integer.bits <= 8 * size)
    return f"{'i' if integer.signed else 'u'}{octets}"


class _Planner:
    def __init__(self) -> None:
        self.arrays: list[Stored] = []
        self.dims = 1

    def plan(self, layout: Layout) -> Plan:
        root = self.node(layout, "", 0, ())
        return Plan(root, self.arrays, self.dims)

    def array(self, node: Node, dtype: str, seen: str = "", holds: Holds = "values", more: int = 1) -> int:
        self.arrays.append(Stored(dtype, seen or dtype, node.dim, prod(node.repeat) * more, holds))
        return len(self.arrays) - 1

    def dimension(self) -> int:
        self.dims += 1
        return self.dims - 1

    def node(self, kind: Type, path: str, dim: int, repeat: tuple[int, ...]) -> Node:
        kind = valued(kind)
        made = Node(kind, path, dim, repeat)
        match kind:
            case Layout():
                held = [item for item in kind.fields if item.in_record]
                made.labels = tuple(item.label for item in held)
                made.parts = tuple(
                    self.node(item.type, inner_path(path, item.label), dim, repeat) for item in held
                )
            case Sequence(types=types):
                made.labels = tuple(f"[{at}]" for at in range(len(types)))
                made.parts = tuple(
                    self.node(part, f"{path}[{at}]", dim, repeat) for at, part in enumerate(types)
                )
            case Array(element=element, count=int(count)):
                made.parts = (self.node(element, path, dim, (*repeat, count)),)
            case Array(element=element):
                made.array = self.array(made, "i8", holds="offsets")
                made.inside = self.dimension()
                nested = isinstance(valued(element), Array | If | Switch | Select)
                made.parts = (self.node(element, f"{path}[]" if nested else path, made.inside, ()),)
            case If(type=there) | Optional(inner=there):
                made.array = self.array(made, "u1", "?", "tags")
                made.labels = ("",)
                within = f"{path}?" if _chooses(there) else path
                made.parts = (self.node(there, within, self.dimension(), ()),)
            case Switch() | Select():
                made.array = self.array(made, "u2", holds="tags")
                made.labels = case_labels(kind)
                made.parts = tuple(
                    self.node(case, f"{path}:{label}", self.dimension(), ())
                    for case, label in zip(parts_of(kind), made.labels, strict=True)
                )
            case Bytes(length=int(length)):
                made.array = self.array(made, "u1", holds="bytes", more=length)
            case Bytes() | Text():
                made.array = self.array(made, "i8", holds="offsets")
                made.inside = self.dimension()
                self.arrays.append(Stored("u1", "u1", made.inside, 1, "bytes"))
                made.content = len(self.arrays) - 1
            case _ if found := stored_type(kind):
                made.array = self.array(made, *found)
        return made


def _chooses(kind: Type) -> bool:
    """Whether a value, or each one in arrays of fixed counts, is a choice: its tags have the same path."""
    kind = valued(kind)
    while isinstance(kind, Array) and isinstance(kind.count, int):
        kind = valued(kind.element)
    return isinstance(kind, If | Optional | Switch | Select)


def stored_type(kind: Type) -> tuple[str, str] | None:
    """Return the type of the array of a number, and of what it is seen as; None where nothing is stored."""
    match kind:
        case Float(bits=bits):
            return f"u{bits // 8}", f"f{bits // 8}"
        case Flag():
            return "u1", "?"
        case VarInt(zigzag=signed):
            width = "i8" if signed else "u8"
        case Scaled():
            width = "f8"
        case Computed(boolean=boolean):
            return ("u1", "?") if boolean else ("i8", "i8")
        case Checksum(type=Integer() as integer):
            width = width_of(integer)
        case Integer() | Enum() | Flags() | Mapping() | Time():
            integer = integer_of(kind)  # type: ignore[assignment]
            assert integer is not None
            width = width_of(integer)
        case _:
            return None
    return width, width


def case_labels(kind: Switch | Select) -> tuple[str, ...]:
    """Return what the cases of a choice are called in the paths of columns."""
    if isinstance(kind, Select):
        return tuple(layout.name or start.hex() for start, layout in kind.cases)
    found = [key_text(key) for key, _ in kind.cases]
    return (*found, "default") if kind.default is not None else tuple(found)


def is_flat(kind: Type) -> bool:
    """Whether a value always takes the same bytes in the same places, so that nothing has to be decided."""
    match plain(kind):
        case Layout() | Sequence() | Framed() as whole:
            return all(map(is_flat, parts_of(whole)))
        case Array(element=element, count=int()):
            return is_flat(element)
        case Padded(inner=inner, length=int()) as padded:
            return is_flat(inner) and _fits(padded)
        case Bytes(length=length) | Padding(length=length):
            return isinstance(length, int)
        case Integer() | Float() | Flag() | Enum() | Flags() | Mapping() | Scaled() | Time() | Constant():
            return True
        case Nothing() | Computed():
            return True
    return False


def _fits(kind: Padded) -> bool:
    found = padding_behind(kind)
    return found is not None and found >= 0


def is_absent(kind: Type) -> bool:
    """Whether the value is None and nothing else."""
    return isinstance(valued(kind), Nothing | Padding | Terminated)

"""Random layouts of every kind that walk reads, records for them, and bytes that are or are not records.

    layouts()          a construct Struct, always one that walk takes
    name_layout(l)     the Layout with a class name for every record and enumeration, and the classes
    lowered(l)         the Layout with limits and rules, as a record's annotations would add them
    samples(l)         (bytes, values): what a small encoder of the tests' own makes of random values
    valid_bytes(l)     the bytes alone
    mutated(data)      the same bytes cut, flipped, extended or replaced

The encoder shares no code with the engines except the meaning of one operator (`evaluate`).
"""

from __future__ import annotations

import enum
from dataclasses import make_dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.strategies_bytes import samples, valid_bytes
from tests.strategies_layouts import layouts
from wirelock.codec.template import Template
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Enum,
    Flags,
    Float,
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Optional,
    Padded,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Text,
    Time,
    VarInt,
)
from wirelock.layout.terms import Limit, Number, Operation, Path, Rule

__all__ = ["layouts", "lowered", "mutated", "name_layout", "samples", "valid_bytes"]


# -- what the schema room would make of a layout -------------------------------------------------------


def name_layout(layout: Layout) -> tuple[Layout, dict[str, Any]]:
    """Return the layout with a class name for each record and enumeration in it, and those classes."""
    names: dict[str, Any] = {}

    def name_type(kind: Any) -> Any:
        match kind:
            case Layout():
                fields = tuple(replace(item, type=name_type(item.type)) for item in kind.fields)
                name = f"Record{len(names)}"
                labels = [item.label for item in fields if item.in_record]
                record = make_dataclass(name, labels, frozen=True)
                make = lambda values, record=record: record(**values)  # noqa: E731
                names[name] = Template(record=record, make=make, validate=make)
                return replace(kind, fields=fields, name=name)
            case Enum() | Flags():
                name = f"{type(kind).__name__}{len(names)}"
                names[name] = (enum.IntEnum if isinstance(kind, Enum) else enum.IntFlag)(name, kind.members)
                return replace(kind, name=name)
            case Array(element=inner):
                return replace(kind, element=name_type(inner))
            case If(type=inner):
                return replace(kind, type=name_type(inner))
            case (
                Limited(inner=inner)
                | Framed(inner=inner)
                | Optional(inner=inner)
                | Padded(inner=inner)
                | Sized(inner=inner)
            ):
                return replace(kind, inner=name_type(inner))
            case Sequence(types=types):
                return replace(kind, types=tuple(map(name_type, types)))
            case Select(cases=records):
                return replace(kind, cases=tuple((start, name_type(record)) for start, record in records))
            case Switch():
                cases = tuple((key, name_type(case)) for key, case in kind.cases)
                return replace(kind, cases=cases, default=kind.default and name_type(kind.default))
        return kind

    return name_type(layout), names


def lowered(layout: Layout) -> st.SearchStrategy[Layout]:
    """Return the layout with some limits and rules, and with some enumerations read as plain integers."""

    @st.composite
    def lower(draw: Any) -> Layout:
        found = Lowerer(draw).type(layout)
        assert isinstance(found, Layout)
        return found

    return lower()


class Lowerer:
    """Draws what a record's annotations add to a layout."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def type(self, kind: Any) -> Any:
        match kind:
            case Layout():
                fields = tuple(replace(item, type=self.type(item.type)) for item in kind.fields)
                return replace(kind, fields=fields, rules=kind.rules + self.rules(kind))
            case Enum() if self.draw(st.booleans()):
                return self.type(kind.integer)
            case Array():
                kind = replace(kind, element=self.type(kind.element))
            case If():
                return replace(kind, type=self.type(kind.type))
            case Optional() | Framed() | Padded() | Sized():
                return replace(kind, inner=self.type(kind.inner))
            case Sequence(types=types):
                return replace(kind, types=tuple(map(self.type, types)))
            case Select(cases=records):
                return replace(kind, cases=tuple((start, self.type(record)) for start, record in records))
            case Switch():
                cases = tuple((key, self.type(case)) for key, case in kind.cases)
                return replace(kind, cases=cases, default=kind.default and self.type(kind.default))
        choices = self.limits(kind) if self.draw(st.integers(0, 2)) == 0 else []
        if not choices:
            return kind
        chosen = self.draw(st.lists(st.sampled_from(choices), min_size=1, unique=True))
        return Limited(kind, tuple(Limit(name, value) for name, value in chosen))

    def limits(self, kind: Any) -> list[tuple[Any, Any]]:
        match kind:
            case Integer(lowest=low, highest=high):
                middle = (low + high) // 2
                return [("ge", low // 2), ("le", middle), ("multiple_of", 2), ("one_of", (1, 2, middle))]
            case Enum(members=members):
                return [("one_of", tuple(value for _, value in members[:2]))]
            case VarInt() | Time():
                return [("ge", 1), ("le", 100), ("one_of", (0, 1, 2))]
            case Computed(lowest=low, highest=high, boolean=False):
                return [("ge", low), ("le", (low + high) // 2)]
            case Text():
                return [("min_length", 1), ("max_length", 2), ("one_of", ("", "x", "é"))]
            case Float() | Scaled():
                return [("ge", -1e3), ("gt", -2.0), ("le", 1e4), ("lt", 0.5)]
            case Bytes() | Array():
                return [("min_length", 1), ("max_length", 2)]
        return []

    def rules(self, layout: Layout) -> tuple[Rule, ...]:
        """Return a rule over one integer of the record, or none."""
        narrow = [
            item.name
            for item in layout.fields
            if item.name and item.in_record and isinstance(item.type, Integer) and item.type.bits < 64
        ]
        if not narrow or self.draw(st.booleans()):
            return ()
        compare = self.draw(st.sampled_from(["<", "!=", ">="]))
        path, number = Path(0, (self.draw(st.sampled_from(narrow)),)), Number(self.draw(st.integers(0, 3)))
        message = self.draw(st.sampled_from(["", "said so"]))
        return (Rule(f"said-{len(layout.fields)}", Operation(compare, (path, number)), message),)


# -- bytes that are no records ----------------------------------------------------------------------


@st.composite
def mutated(draw: Any, data: bytes) -> bytes:
    """Return bytes near `data`: cut, extended, with flipped bits or replaced bytes, or just random ones."""
    for _ in range(draw(st.integers(1, 2))):
        match draw(st.sampled_from(["cut", "flip", "flip", "byte", "byte", "extend", "random", "last"])):
            case "cut":
                data = data[: draw(st.integers(0, len(data)))]
            case "last":
                data = data[:-1]
            case "extend":
                data += draw(st.binary(min_size=1, max_size=3))
            case "random":
                data = draw(st.binary(max_size=24))
            case "flip" if data:
                at, bit = draw(st.integers(0, len(data) - 1)), draw(st.integers(0, 7))
                data = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            case "byte" if data:
                at = draw(st.integers(0, len(data) - 1))
                octet = draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]))
                data = data[:at] + bytes([octet]) + data[at + 1 :]
    return data

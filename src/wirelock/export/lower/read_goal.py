"""Where the values of a record go when they are read, and what is known of them before they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirelock.export import values as v
from wirelock.export.lower.expressions import compared, of_type, operation
from wirelock.export.lower.read_block import Steps
from wirelock.export.lower.read_leaves import has_structure
from wirelock.export.lower.read_spot import Spot
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Enum,
    Field,
    Flag,
    Flags,
    Framed,
    Integer,
    Layout,
    Mapping,
    Padded,
    Scaled,
    Sequence,
    Time,
    Type,
    valued,
)
from wirelock.layout.positions import offsets
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Length, Limit, Path

__all__ = [
    "Goal", "counts_by_itself", "framed", "length_kept", "quotient", "says_nothing", "spots_of", "times",
    "value_in",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a value goes, its path within the function's record, and what its locals are called."""

    target: v.Value | None
    steps: Steps
    hint: str

    @property
    def type(self) -> v.Type | None:
        """The type of the target."""
        return None if self.target is None else of_type(self.target)

    def item(self, index: v.Value) -> Goal:
        """Return the goal of an element."""
        target = None
        if self.target is not None:
            kind = self.type
            assert isinstance(kind, v.ListType)
            target = v.Item(self.target, index, kind.element)
        return Goal(target, (*self.steps, index), f"{self.hint}_item")

    def part(self, number: int) -> Goal:
        """Return the goal of a value of a Sequence, without its target."""
        return Goal(None, (*self.steps, v.Int(number)), f"{self.hint}_{number}")

    def beside(self, number: int) -> Goal:
        """Return the goal of what stands around a framed value."""
        *steps, last = self.steps
        if isinstance(last, str):
            return Goal(None, (*steps, f"{last}#{number}"), f"{self.hint}_{number}")
        return Goal(None, (*self.steps, f"#{number}"), f"{self.hint}_{number}")


def length_kept(count: v.Value, limit: Limit) -> v.Value:
    """Return whether a number of elements keeps a limit."""
    assert isinstance(limit.value, int), "arrays have limits of their length alone"
    if isinstance(count, v.Int):
        least = limit.kind == "min_length"
        return v.Truth(count.value >= limit.value if least else count.value <= limit.value)
    return compared(">=" if limit.kind == "min_length" else "<=", count, limit.value)


def times(value: v.Value, factor: int) -> v.Value:
    """Return where an element lies in bytes that are there: within what any buffer holds."""
    if isinstance(value, v.Int) or not factor:
        return v.Int(value.value * factor if isinstance(value, v.Int) else 0)
    return value if factor == 1 else v.Op("*", (value, v.Int(factor)), 0, MAX_LENGTH)


def quotient(size: v.Value, of: int) -> v.Value:
    """Return how many elements of so many bytes there are in a size."""
    return size if of == 1 else operation("//", size, v.Int(of))


def framed(kind: Framed, goal: Goal) -> Iterator[tuple[Type, Goal]]:
    """Yield the parts of a frame with their goals."""
    for number, part in enumerate((*kind.before, kind.inner, *kind.behind)):
        yield part, goal if number == len(kind.before) else goal.beside(number)


def counts_by_itself(item: Field, layout: Layout) -> bool:
    """Whether a derived field is the count of what it counts, so that nothing else can be read."""
    match item.derived:
        case Length(path=Path(up=0, names=(name,))):
            match valued(layout[name].type):
                case Array(count=Path(up=0, names=(counter,))) | Bytes(length=Path(up=0, names=(counter,))):
                    return counter == item.label
    return False


def spots_of(layout: Layout, spot: Spot) -> Iterator[tuple[str, Spot]]:
    """Yield where each field of a record of fixed size lies."""
    if layout.order == "wire":
        for item in layout.fields:
            yield item.label, spot
            spot = spot.on(size_of(item.type).lowest)
        return
    octets = size_of(layout).lowest // 8
    for item, start in zip(layout.fields, offsets(layout.fields, layout.order), strict=True):
        yield item.label, Spot(spot.byte, start, layout.order, octets, item.position.pieces)


def value_in(kind: Padded | Framed | Sequence) -> int:
    """Return which part's value is that of the whole."""
    return len(kind.before) if isinstance(kind, Framed) else 0


def says_nothing(kind: Type) -> bool:
    """Whether only the end of the bytes can be a fault in a value's structure."""
    if isinstance(kind, Integer | Enum | Mapping | Scaled | Time):
        return True
    return isinstance(kind, Flag | Flags) and not has_structure(kind)

"""What values of a type cost, where what they hold says how long they are: a meter that counts them.

A layout is described once, by meters in each other; each is read in two ways, from the values of records
one by one and from the columns of many. What the two come to is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from wirelock.layout.describe import type_text
from wirelock.layout.fields import is_worthless
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Optional,
    Padded,
    Prefix,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminator,
    Text,
    Type,
    plain,
    valued,
)
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import inner_path

if TYPE_CHECKING:
    from wirelock.codec.columns import Node
    from wirelock.codec.table import Table

__all__ = ["Costs", "FieldCost", "Meter"]

Fixed: TypeAlias = tuple[str, str, Type, int]
"""A general path, the part of what is there (empty for the value), its type and bits."""


@dataclass(slots=True)
class FieldCost:
    """What one field has cost: `bits` in all, for so many values of it.

    `part` is empty for the values themselves; otherwise `count`, `size`, `padding` or `terminator`. `type`
    is that of the wire in words, without members and limits.
    """

    path: str
    part: str
    type: str
    values: int = 0
    bits: int = 0


class Costs:
    """The costs of the fields of one layout, in the order in which they were first asked for."""

    def __init__(self) -> None:
        self._costs: dict[tuple[str, str], FieldCost] = {}
        self._groups: list[_Group] = []

    def of(self, path: str, part: str, kind: Type) -> FieldCost:
        """Return the cost of a field by its general path; a part beside a value has no type of its own."""
        if (path, part) not in self._costs:
            self._costs[path, part] = FieldCost(path, part, part or type_text(plain(kind)).split(", ")[0])
        return self._costs[path, part]

    def found(self) -> list[FieldCost]:
        """Return what has cost anything so far."""
        for group in self._groups:
            for cost, bits in group.costs:
                cost.values += group.times
                cost.bits += group.times * bits
            group.times = 0
        return [cost for cost in self._costs.values() if cost.bits]

    def meter(self, layout: Layout) -> Meter | None:
        """Return what counts the records of a layout; None where they do not say how long they are."""
        made = self._meter(layout, "")
        if made is None:
            self._groups.clear()
            self._costs.clear()
        return made

    def _meter(self, kind: Type, path: str) -> Meter | None:
        kind = plain(kind)
        fixed = _fixed(kind, path)
        if fixed is not None:
            return self._group(fixed)
        match kind:
            case Layout():
                return self._record(kind, path)
            case Array():
                return self._array(kind, path)
            case Bytes():
                return _Octets(self.of(path, "", kind))
            case Text(inner=inner, encoding=encoding):
                return self._sized(inner, path, lambda: _Text(self.of(path, "", kind), encoding))
            case Sized(inner=inner) if isinstance(valued(inner), Bytes | Text | Layout | Array):  # never None
                return self._sized(kind, path, lambda: self._meter(inner, path))
            case If(type=inner) | Optional(inner=inner) if not is_worthless(inner):
                inside = self._meter(inner, path)
                return inside and _Choice(inside)
        return None

    def _sized(self, kind: Bytes | Sized, path: str, inside: Callable[[], Meter | None]) -> Meter | None:
        """Return the meter of what fills a region, with the size before it or the mark behind."""
        before, behind = list[_Group](), list[_Group]()
        if isinstance(kind, Sized):
            if kind.stripped:
                return None
            if isinstance(kind.extent, Prefix):
                if not isinstance(kind.extent.integer, Integer):
                    return None
                before.append(self._group([(path, "size", kind, kind.extent.integer.bits)]))
        meter = inside()
        if isinstance(kind, Sized) and isinstance(kind.extent, Terminator):
            behind.append(self._group([(path, "terminator", kind, 8 * len(kind.extent.mark))]))
        return meter and (_Region([*before, meter, *behind]) if before or behind else meter)

    def _group(self, fixed: list[Fixed]) -> _Group:
        made = _Group([(self.of(path, part, kind), bits) for path, part, kind, bits in fixed])
        self._groups.append(made)
        return made

    def _record(self, layout: Layout, path: str) -> Meter | None:
        parts: list[tuple[str | None, Meter]] = []
        for item in layout.fields:
            meter = self._meter(item.type, inner_path(path, item.label))
            if meter is None or not (item.in_record or isinstance(meter, _Group)):
                return None
            parts.append((item.label if item.in_record else None, meter))
        return _Whole(parts)

    def _array(self, kind: Array, path: str) -> Meter | None:
        prefix = None
        if isinstance(kind.count, Prefix):
            if not isinstance(kind.count.integer, Integer):
                return None
            prefix = self._group([(path, "count", kind.count.integer, kind.count.integer.bits)])
        element = self._meter(kind.element, f"{path}[]")
        if element is None:
            return None
        elements = _Elements(element)
        return elements if prefix is None else _Region([prefix, elements])


# -- meters


class Meter(ABC):
    """Counts values of one type."""

    @abstractmethod
    def add(self, value: Any) -> None:
        """Count a value."""

    @abstractmethod
    def add_column(self, node: Node, table: Table) -> None:
        """Count all values of a node of a table's plan."""


class _Group(Meter):
    """Values that always take the same: fields that come together, with the bits of each, and how often."""

    def __init__(self, costs: list[tuple[FieldCost, int]]) -> None:
        self.costs = costs
        self.times = 0

    def add(self, value: Any) -> None:
        self.times += 1

    def add_column(self, node: Node, table: Table) -> None:
        self.times += _count(node, table)


class _Octets(Meter):
    """Bytes, of any length."""

    def __init__(self, cost: FieldCost) -> None:
        self._cost = cost

    def add(self, value: Any) -> None:
        self._cost.values += 1
        self._cost.bits += 8 * len(value)

    def add_column(self, node: Node, table: Table) -> None:
        self._cost.values += _count(node, table)
        self._cost.bits += 8 * table.size(node.inside)


class _Text(_Octets):
    """Text, which costs the bytes of its encoding."""

    def __init__(self, cost: FieldCost, encoding: str) -> None:
        super().__init__(cost)
        self._encoding = encoding

    def add(self, value: Any) -> None:
        super().add(value.encode(self._encoding))


class _Region(Meter):
    """A value, and groups that come with each."""

    def __init__(self, meters: list[Meter]) -> None:
        self._meters = meters

    def add(self, value: Any) -> None:
        for meter in self._meters:
            meter.add(value)

    def add_column(self, node: Node, table: Table) -> None:
        for meter in self._meters:
            meter.add_column(node, table)


class _Choice(Meter):
    """A value that may be absent, which costs nothing."""

    def __init__(self, inside: Meter) -> None:
        self._inside = inside

    def add(self, value: Any) -> None:
        if value is not None:
            self._inside.add(value)

    def add_column(self, node: Node, table: Table) -> None:
        self._inside.add_column(node.parts[0], table)


class _Whole(Meter):
    """A record; a part without a label is none of its fields, and comes as often as the record."""

    def __init__(self, parts: list[tuple[str | None, Meter]]) -> None:
        self._parts = parts
        self._adding: list[tuple[Callable[[Any], Any] | None, Callable[[Any], None]]] = [
            (attrgetter(label) if label else None, meter.add) for label, meter in parts
        ]

    def add(self, value: Any) -> None:
        for get, add in self._adding:
            add(get(value) if get else None)

    def add_column(self, node: Node, table: Table) -> None:
        nodes = dict(zip(node.labels, node.parts, strict=True))
        for label, meter in self._parts:
            meter.add_column(nodes[label] if label else node, table)


class _Elements(Meter):
    """The elements of an array."""

    def __init__(self, element: Meter) -> None:
        self._element = element
        self._fixed = element if isinstance(element, _Group) else None

    def add(self, value: Any) -> None:
        if self._fixed is not None:
            self._fixed.times += len(value)
            return
        for one in value:
            self._element.add(one)

    def add_column(self, node: Node, table: Table) -> None:
        self._element.add_column(node.parts[0], table)


def _count(node: Node, table: Table) -> int:
    """Return how many values of a node there are."""
    return table.size(node.dim) * prod(node.repeat)


# -- what always takes the same bits


def _fixed(kind: Type, path: str) -> list[Fixed] | None:
    """Return the parts of what always takes the same bits, with the bits of each; None for anything else."""
    found = list(_parts(kind, path))
    return None if None in found else found  # type: ignore[return-value]


def _parts(kind: Type, path: str) -> Iterator[Fixed | None]:
    limited, kind = kind, plain(kind)
    size = size_of(kind)
    if not size.fixed:
        yield None
        return
    match kind:
        case Layout(fields=fields):
            for item in fields:
                yield from _parts(item.type, inner_path(path, item.label))
        case Array(element=element, count=int(count)):
            for _ in range(min(count, 1)):
                inside = list(_parts(element, f"{path}[]"))
                yield from (part and (*part[:3], count * part[3]) for part in inside)
        case Sequence(types=types):
            for part in types:
                yield from _parts(part, f"{path}[]")
        case Framed():
            for label, part in kind.labelled(path):
                yield from _parts(part, label)
        case Padded(inner=inner) if size_of(inner).fixed:
            yield from _parts(inner, path)
            yield path, "padding", kind, size.lowest - size_of(inner).lowest
        case Switch(types=types):
            cases = [list(_parts(part, path)) for part in types]
            yield from cases[0] if all(case == cases[0] for case in cases) else [None]
        case If() | Optional() | Select() | Padded() | Sized() | Text() | Limited():
            yield None if size.highest else (path, "", limited, 0)
        case _:
            yield path, "", limited, size.lowest

"""What each field of records costs: bits counted by path, every bit of every record once.

Elements are counted together, as `entities[].id`. Beside values there are counts and sizes before them, and
padding and terminators behind them, as in `wirelock inspect`. Where a layout is made of fields of fixed
sizes, bytes and arrays, costs follow from how many elements records have; any other is read field by field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeAlias

from wirelock.codec.readout import read_out
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
    Sequence,
    Sized,
    Text,
    Type,
    plain,
)
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import inner_path

__all__ = ["Bandwidth", "FieldCost"]

Part: TypeAlias = tuple[str, str]
"""A general path, and which part of what is there: empty for the value."""
Meter: TypeAlias = Callable[[Any], None]
"""Counts one value."""


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


class Bandwidth:
    """Counts the bits of each field over records of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.records = 0
        self.bits = 0
        self._groups: list[_Group] = []
        self._costs: dict[Part, FieldCost] = {}
        self._meter = self._of(layout, "")
        if self._meter is None:
            self._groups.clear()
            self._costs.clear()

    def add(self, record: Any, data: bytes) -> None:
        """Count one record, which is all of `data`."""
        self.records += 1
        self.bits += 8 * len(data)
        if self._meter is not None:
            self._meter(record)
            return
        for row in read_out(self.layout, data).rows:
            if not row.group and row.end > row.bit:
                path = re.sub(r"\[\d+\]", "[]", row.path)
                # A part beside a value has no type of its own.
                cost = self._cost(path, row.part, row.kind)
                cost.values += 1
                cost.bits += row.end - row.bit

    def costs(self) -> list[FieldCost]:
        """Return what each field has cost so far, in wire order; the bits sum up to those of the records."""
        for group in self._groups:
            for cost, bits in group.costs:
                cost.values += group.times
                cost.bits += group.times * bits
            group.times = 0
        return [cost for cost in self._costs.values() if cost.bits]

    def _cost(self, path: str, part: str, kind: Type) -> FieldCost:
        if (path, part) not in self._costs:
            self._costs[path, part] = FieldCost(path, part, part or type_text(plain(kind)).split(", ")[0])
        return self._costs[path, part]

    # -- meters, for layouts whose records say all

    def _of(self, kind: Type, path: str) -> Meter | None:
        """Return what counts a value of a type; None where its size is not told by the value."""
        kind = plain(kind)
        fixed = _fixed(kind, path)
        if fixed is not None:
            return self._group(fixed).add
        match kind:
            case Layout():
                return self._record(kind, path)
            case Array():
                return self._array(kind, path)
            case Bytes():
                cost = self._cost(path, "", kind)
                return lambda value: _count(cost, 8 * len(value))
            case If(type=inner) | Optional(inner=inner) if not is_worthless(inner):
                inside = self._of(inner, path)
                return inside and (lambda value: None if value is None else inside(value))
        return None

    def _group(self, fixed: list[tuple[str, str, Type, int]]) -> _Group:
        made = _Group([(self._cost(path, part, kind), bits) for path, part, kind, bits in fixed])
        self._groups.append(made)
        return made

    def _record(self, layout: Layout, path: str) -> Meter | None:
        meters: list[tuple[Callable[[Any], Any] | None, Meter]] = []
        for item in layout.fields:
            meter = self._of(item.type, inner_path(path, item.label))
            if meter is None:
                return None
            if not item.in_record and _fixed(item.type, item.label) is None:
                return None  # the record does not say how long it is
            meters.append((attrgetter(item.label) if item.in_record else None, meter))

        def add(record: Any) -> None:
            for get, meter in meters:
                meter(get(record) if get else None)

        return add

    def _array(self, kind: Array, path: str) -> Meter | None:
        prefix = None
        if isinstance(kind.count, Prefix):
            if not isinstance(kind.count.integer, Integer):
                return None
            prefix = self._group([(path, "count", kind.count.integer, kind.count.integer.bits)])
        fixed = _fixed(kind.element, f"{path}[]")
        if fixed is not None:
            group = self._group(fixed)

            def add_all(value: Any) -> None:
                group.times += len(value)
                if prefix is not None:
                    prefix.times += 1

            return add_all
        element = self._of(kind.element, f"{path}[]")
        if element is None:
            return None

        def add_each(value: Any) -> None:
            if prefix is not None:
                prefix.times += 1
            for one in value:
                element(one)

        return add_each


@dataclass(slots=True)
class _Group:
    """Fields that always come together, with the bits of each, and how many times they came."""

    costs: list[tuple[FieldCost, int]]
    times: int = field(default=0)

    def add(self, value: Any) -> None:
        self.times += 1


def _count(cost: FieldCost, bits: int) -> None:
    cost.values += 1
    cost.bits += bits


def _fixed(kind: Type, path: str) -> list[tuple[str, str, Type, int]] | None:
    """Return the parts of what always takes the same bits, with the bits of each; None for anything else."""
    found = list(_parts(kind, path))
    return None if None in found else found  # type: ignore[return-value]


def _parts(kind: Type, path: str) -> Iterator[tuple[str, str, Type, int] | None]:
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
        case If() | Optional() | Padded() | Sized() | Text() | Limited():
            yield None if size.highest else (path, "", limited, 0)
        case _:
            yield path, "", limited, size.lowest

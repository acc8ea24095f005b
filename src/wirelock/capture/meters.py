"""Meters: what values cost, counted by what they hold, as records one by one or as the columns of many.

A layout's meters lie in each other as its types do (costs.py). Each says what a value took in bits, so that
one around it knows how much padding there is, and how long a size in a varint was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from wirelock.codec.columnar import numpy_module
from wirelock.codec.implied import Scope, numbered, scope_of
from wirelock.layout.nodes import Layout, Multiple
from wirelock.layout.operators import evaluate
from wirelock.layout.terms import Expression, Key

if TYPE_CHECKING:
    from wirelock.codec.columns import Node
    from wirelock.codec.table import Table

__all__ = [
    "Cases", "Choice", "Elements", "FieldCost", "Filled", "Framing", "Group", "Meter", "Octets",
    "PaddingMeter", "Prefixed", "Region", "Row", "TextMeter", "Unknown", "VarIntMeter", "Whole",
]  # fmt: skip


@dataclass(slots=True)
class FieldCost:
    """What one field has cost: `bits` in all, for so many values of it.

    `part` is empty for the values themselves, of which empty ones are counted and absent ones are not;
    otherwise `count`, `size`, `padding` (where there is any) or `terminator`. `type` is that of the wire in
    words, without members and limits; several where cases of a choice have one path.
    """

    path: str
    part: str
    type: str
    values: int = 0
    bits: int = 0

    def add(self, values: int, bits: int) -> None:
        """Count values."""
        self.values += values
        self.bits += bits


class Meter(ABC):
    """Counts values of one type."""

    asks = False
    """Whether an expression decides, so that it wants the scope of what it counts."""

    @abstractmethod
    def add(self, value: Any, scope: Scope | None) -> int:
        """Count a value, and return its bits."""

    @abstractmethod
    def add_column(self, node: Node, table: Table) -> Any:
        """Count all values of a node of a table's plan, and return the bits of each: one number, or an array.

        What has no node of its own is given that of what it stands in.
        """


class Group(Meter):
    """Values that always take the same: fields that come together, with the bits and number of each."""

    def __init__(self) -> None:
        self.parts: list[tuple[FieldCost, int, int]] = []
        self.bits = 0
        self.times = 0

    def put(self, cost: FieldCost, bits: int, number: int) -> None:
        """Put in so many values of a field, which take so many bits in all."""
        self.parts.append((cost, bits, number))
        self.bits += bits

    def add(self, value: Any, scope: Scope | None) -> int:
        self.times += 1
        return self.bits

    def add_column(self, node: Node, table: Table) -> Any:
        self.times += _slots(node, table)
        return self.bits

    def settle(self) -> None:
        """Bring what was counted to the fields."""
        for cost, bits, number in self.parts:
            cost.add(self.times * number, self.times * bits)
        self.times = 0


class Unknown(Meter):
    """Bytes that only code can read: what they hold says nothing about how many they are."""

    def add(self, value: Any, scope: Scope | None) -> int:
        raise AssertionError("read the record field by field")

    def add_column(self, node: Node, table: Table) -> Any:
        raise AssertionError("read the records field by field")


class Octets(Meter):
    """Bytes, of any length."""

    def __init__(self, cost: FieldCost) -> None:
        self._cost = cost

    def add(self, value: Any, scope: Scope | None) -> int:
        bits = 8 * len(value)
        self._cost.add(1, bits)
        return bits

    def add_column(self, node: Node, table: Table) -> Any:
        self._cost.add(_slots(node, table), 8 * table.size(node.inside))
        return 8 * numpy_module().diff(table.raw(node.array))


class TextMeter(Octets):
    """Text, which costs the bytes of its encoding."""

    def __init__(self, cost: FieldCost, encoding: str) -> None:
        super().__init__(cost)
        self._encoding = encoding

    def add(self, value: Any, scope: Scope | None) -> int:
        return super().add(value.encode(self._encoding), scope)


class VarIntMeter(Meter):
    """A number of variable length."""

    def __init__(self, cost: FieldCost, zigzag: bool) -> None:
        self._cost = cost
        self._zigzag = zigzag

    def add(self, value: Any, scope: Scope | None) -> int:
        bits = _varint_bits(value, self._zigzag)
        self._cost.add(1, bits)
        return bits

    def add_column(self, node: Node, table: Table) -> Any:
        bits = _varints_bits(table.raw(node.array), self._zigzag)
        self._cost.add(len(bits), int(bits.sum()))
        return bits


class PaddingMeter(Meter):
    """Padding of a computed length, in units of so many bits."""

    asks = True

    def __init__(self, cost: FieldCost, length: Expression, unit: int) -> None:
        self._cost, self._length, self._unit = cost, length, unit

    def add(self, value: Any, scope: Scope | None) -> int:
        assert scope is not None
        bits = self._unit * int(evaluate(self._length, scope))
        self._cost.add(1, bits)
        return bits

    def add_column(self, node: Node, table: Table) -> Any:
        raise AssertionError(_BY_RECORDS)


_BY_RECORDS: Final = "an expression decides: count the records"


class _Around(Meter):
    """What is around one value."""

    def __init__(self, inside: Meter) -> None:
        self._inside = inside
        self.asks = inside.asks


class Prefixed(_Around):
    """A value with its count or its size in bytes before it, in a varint."""

    def __init__(self, inside: Meter, cost: FieldCost, zigzag: bool, *, counts: bool) -> None:
        super().__init__(inside)
        self._cost, self._zigzag, self._counts = cost, zigzag, counts

    def add(self, value: Any, scope: Scope | None) -> int:
        bits = self._inside.add(value, scope)
        before = _varint_bits(len(value) if self._counts else bits // 8, self._zigzag)
        self._cost.add(1, before)
        return before + bits

    def add_column(self, node: Node, table: Table) -> Any:
        np = numpy_module()
        bits = self._inside.add_column(node, table)
        numbers = np.diff(table.raw(node.array)) if self._counts else _each(bits // 8, node, table)
        before = _varints_bits(numbers, self._zigzag)
        self._cost.add(len(before), int(before.sum()))
        return before + bits


class Filled(_Around):
    """A value, then padding up to a length in bytes."""

    def __init__(self, inside: Meter, cost: FieldCost, length: int | Expression | Multiple) -> None:
        super().__init__(inside)
        self._cost, self._length = cost, length
        self.computed = not isinstance(length, int | Multiple)
        """Whether an expression says the length."""
        self.asks = inside.asks or self.computed

    def add(self, value: Any, scope: Scope | None) -> int:
        bits, length = self._inside.add(value, scope), self._length
        if not isinstance(length, int | Multiple):
            assert scope is not None
            length = int(evaluate(length, scope))
        padding: int = _padding(bits, length)
        if padding:
            self._cost.add(1, padding)
        return bits + padding

    def add_column(self, node: Node, table: Table) -> Any:
        bits, length = _each(self._inside.add_column(node, table), node, table), self._length
        if not isinstance(length, int | Multiple):
            raise AssertionError(_BY_RECORDS)
        padding = _padding(bits, length)
        self._cost.add(int((padding > 0).sum()), int(padding.sum()))
        return bits + padding


class Region(Meter):
    """A value, and groups that come with each."""

    def __init__(self, meters: list[Meter]) -> None:
        self._meters = meters
        self.asks = any(meter.asks for meter in meters)

    def add(self, value: Any, scope: Scope | None) -> int:
        return sum(meter.add(value, scope) for meter in self._meters)

    def add_column(self, node: Node, table: Table) -> Any:
        return sum(meter.add_column(node, table) for meter in self._meters)


class Framing(Region):
    """A value between what has none: that is given its scope alone."""

    def __init__(self, meters: list[Meter], at: int) -> None:
        super().__init__(meters)
        self._at = at

    def add(self, value: Any, scope: Scope | None) -> int:
        return sum(
            meter.add(value if number == self._at else None, scope)
            for number, meter in enumerate(self._meters)
        )


class Choice(_Around):
    """A value that may be absent, which costs nothing.

    `condition` decides where the value does not say whether it is there.
    """

    def __init__(self, inside: Meter, condition: Expression | None) -> None:
        super().__init__(inside)
        self._condition = condition
        self.asks = inside.asks or condition is not None

    def add(self, value: Any, scope: Scope | None) -> int:
        if self._condition is None:
            there = value is not None
        else:
            assert scope is not None
            there = bool(evaluate(self._condition, scope))
        return self._inside.add(value, scope) if there else 0

    def add_column(self, node: Node, table: Table) -> Any:
        tags = table.raw(node.array)
        bits = numpy_module().zeros(len(tags), "i8")
        bits[tags != 0] = self._inside.add_column(node.parts[0], table)
        return bits


class Cases(Meter):
    """A value of one of several types. The class of a record says which, or `key` does: a case each."""

    def __init__(
        self,
        cases: list[Meter],
        by_class: dict[str, int] | None,
        key: Expression | None,
        keys: tuple[Key, ...],
    ) -> None:
        self._cases = cases
        self._by_class = by_class
        self._key = key
        self._numbers = {case: number for number, case in enumerate(keys)}
        self.asks = by_class is None or any(case.asks for case in cases)

    def add(self, value: Any, scope: Scope | None) -> int:
        if self._by_class is not None:
            number = self._by_class[type(value).__name__]
        else:
            assert self._key is not None and scope is not None
            number = self._numbers.get(evaluate(self._key, scope), len(self._numbers))
        return self._cases[number].add(value, scope)

    def add_column(self, node: Node, table: Table) -> Any:
        tags = table.raw(node.array)
        bits = numpy_module().zeros(len(tags), "i8")
        for number, (case, part) in enumerate(zip(self._cases, node.parts, strict=True)):
            bits[tags == number] = case.add_column(part, table)
        return bits


class Whole(Meter):
    """A record: the meters of its fields by label; one without comes as often as the record."""

    def __init__(self, layout: Layout, parts: list[tuple[str | None, Meter]]) -> None:
        self._layout = layout
        self._parts = parts
        self._adding: list[tuple[Callable[[Any], Any] | None, Callable[[Any, Scope | None], int]]] = [
            (attrgetter(label) if label else None, meter.add) for label, meter in parts
        ]
        self.asks = any(meter.asks for _, meter in parts)

    def add(self, value: Any, scope: Scope | None) -> int:
        inner = scope_of(self._layout, value, scope) if self.asks else None
        bits = 0
        for get, add in self._adding:
            bits += add(get(value) if get else None, inner)
        return bits

    def add_column(self, node: Node, table: Table) -> Any:
        nodes = dict(zip(node.labels, node.parts, strict=True))
        return sum(meter.add_column(nodes[label] if label else node, table) for label, meter in self._parts)


class Row(Meter):
    """Values of several types, one behind the other."""

    def __init__(self, parts: list[Meter]) -> None:
        self._parts = parts
        self.asks = any(meter.asks for meter in parts)

    def add(self, value: Any, scope: Scope | None) -> int:
        return sum(meter.add(one, scope) for meter, one in zip(self._parts, value, strict=True))

    def add_column(self, node: Node, table: Table) -> Any:
        return sum(meter.add_column(part, table) for meter, part in zip(self._parts, node.parts, strict=True))


class Elements(_Around):
    """The elements of an array; `count` where it is always the same."""

    def __init__(self, element: Meter, count: int | None) -> None:
        super().__init__(element)
        self._count = count
        self._fixed = element if isinstance(element, Group) else None

    def add(self, value: Any, scope: Scope | None) -> int:
        if self._fixed is not None:
            self._fixed.times += len(value)
            return self._fixed.bits * len(value)
        add = self._inside.add
        if not self.asks:
            return sum(add(one, None) for one in value)
        assert scope is not None
        return sum(add(one, numbered(scope, number)) for number, one in enumerate(value))

    def add_column(self, node: Node, table: Table) -> Any:
        np = numpy_module()
        bits = self._inside.add_column(node.parts[0], table)
        if self._count is not None:
            if isinstance(bits, int):
                return self._count * bits
            return bits.reshape(_slots(node, table), self._count).sum(axis=1)
        offsets = table.raw(node.array)
        if isinstance(bits, int):
            return bits * np.diff(offsets)
        ends = np.zeros(len(bits) + 1, "i8")
        np.cumsum(bits, out=ends[1:])
        return np.diff(ends[offsets])


def _slots(node: Node, table: Table) -> int:
    """Return how many values of a node there are."""
    return table.size(node.dim) * prod(node.repeat)


def _each(bits: Any, node: Node, table: Table) -> Any:
    """Return the bits of each value as an array."""
    return numpy_module().broadcast_to(bits, _slots(node, table))


def _padding(bits: Any, length: int | Multiple) -> Any:
    """Return the bits of padding behind so many, one number or an array, up to a length in bytes."""
    return -bits % (8 * length.of) if isinstance(length, Multiple) else 8 * length - bits


def _varint_bits(value: int, zigzag: bool) -> int:
    raw = value if not zigzag else value << 1 if value >= 0 else ~(value << 1)
    return 8 * max(1, -(-raw.bit_length() // 7))


def _varints_bits(values: Any, zigzag: bool) -> Any:
    np = numpy_module()
    raw = (values << 1) ^ (values >> 63) if zigzag else values
    raw = raw.astype("u8")
    bits = np.full(len(raw), 8, "i8")
    for shift in range(7, 64, 7):
        longer = raw >> np.uint64(shift) > 0
        if not longer.any():
            break
        bits += 8 * longer
    return bits

"""Statements of a function that writes, under construction: room in the output, and bits put together.

Values of fixed size that follow each other share one Reserve. Those that do not fill bytes are collected, and
stored as one integer where they reach the end of a byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import Names, interval_of, joined, operation, plus
from wirelock.export.lower.units import POSITION
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.nodes import Order
from wirelock.layout.scalars import ByteOrder

__all__ = ["Bits", "Block", "ScatteredBlock", "bytes_of"]

WIDEST: Final = 32
"""Bits that are put together are stored in integers of no more than this many: TypeScript's own."""


@dataclass(frozen=True, slots=True)
class Bits:
    """Some bits of an integer, the most significant first: `width` of them, from bit `shift` on upwards."""

    value: v.Value
    shift: int
    width: int

    def cut(self, first: int, width: int) -> Bits:
        """Return `width` of these bits, behind the `first` ones."""
        return Bits(self.value, self.shift + self.width - first - width, width)

    def lying(self, shift: int) -> v.Value:
        """Return an integer in which these bits lie `shift` bits up, with zeros around them."""
        mask, value = (1 << self.width) - 1, self.value
        if isinstance(value, v.Int):
            return v.Int((value.value >> self.shift & mask) << shift)
        if self.shift:
            value = operation(">>", value, v.Int(self.shift))
        low, high = interval_of(value)
        if low < 0 or high > mask:
            value = v.Op("&", (value, v.Int(mask)), 0, mask)
        return operation("<<", value, v.Int(shift)) if shift else value


def bytes_of(count: v.Value, size: int) -> v.Value:
    """Return how many bytes so many elements take, in a buffer that holds them."""
    if size == 1:
        return count
    return (
        v.Int(count.value * size)
        if isinstance(count, v.Int)
        else v.Op("*", (count, v.Int(size)), 0, MAX_LENGTH)
    )


class Block:
    """The statements of one block. `at` is where its bytes begin, if they are reserved already."""

    def __init__(self, names: Names, at: v.Value | None = None) -> None:
        self.names = names
        self.statements: list[st.Statement] = []
        self._base = at
        self._given = at is not None
        self._reserve = 0
        self._size = 0
        self._bits: list[Bits] = []

    def add(self, *statements: st.Statement) -> None:
        """Add statements at the end."""
        self.statements += statements

    def room(self, size: int) -> v.Value:
        """Return the byte where the next `size` bytes go. Only where no bits wait for the rest of a byte."""
        assert not self._bits, "bits that do not reach the end of a byte"
        if self._base is None:
            self._base = v.Local(self.names.new("start"), POSITION)
            self._reserve = len(self.statements)
        found = plus(self._base, self._size)
        self._size += size
        return found

    def close(self) -> None:
        """End what was reserved: what follows goes to the end of the output."""
        assert not self._bits, "bits that do not reach the end of a byte"
        if self._base is not None and not self._given:
            assert isinstance(self._base, v.Local)
            self.statements.insert(self._reserve, st.Reserve(self._base, v.Int(self._size)))
            self._base, self._size = None, 0

    def reserve(self, size: v.Value) -> v.Local:
        """Reserve so many bytes on their own, and return where they begin."""
        self.close()
        start = v.Local(self.names.new("start"), POSITION)
        self.add(st.Reserve(start, size))
        return start

    @property
    def aligned(self) -> bool:
        """Whether the next value begins a byte."""
        return not self._bits

    def bits(self, bits: Bits) -> None:
        """Add bits behind those that wait, and store them all if they end a byte."""
        self._bits.append(bits)
        width = sum(item.width for item in self._bits)
        if width % 8 == 0:
            waiting, self._bits = self._bits, []
            self.add(*stored(waiting, self.room(width // 8)))

    def integer(self, value: v.Value, width: int, order: ByteOrder) -> None:
        """Add an integer of a fixed width, whose value is known to fit."""
        if self.aligned and width % 8 == 0:
            self.add(st.Store(self.room(width // 8), width, order, value))
        elif order == "little":
            for shift in range(0, width, 8):
                self.bits(Bits(value, shift, 8))
        else:
            self.bits(Bits(value, 0, width))

    def zeros(self, width: int) -> None:
        """Add bits that are zero: whole bytes are, as they were reserved."""
        if self.aligned and width % 8 == 0:
            if width:
                self.room(width // 8)
        elif width:
            self.bits(Bits(v.Int(0), 0, width))


class ScatteredBlock(Block):
    """The values of a layout whose bits do not lie as they come: all are collected, and stored at its end."""

    def __init__(self, names: Names, statements: list[st.Statement]) -> None:
        super().__init__(names)
        self.statements = statements
        self._fields: list[list[Bits]] = [[]]

    @property
    def aligned(self) -> bool:
        """No value has bytes of its own."""
        return False

    def bits(self, bits: Bits) -> None:
        """Add bits behind those that were added."""
        self._fields[-1].append(bits)

    def next_field(self) -> None:
        """What is added from here on is the next field of the layout."""
        self._fields.append([])

    def store(self, order: Order, at: v.Value) -> None:
        """Store the bits of all fields from byte `at` on."""
        fields = reversed(self._fields) if order == "least-first" else self._fields
        bits = [item for field in fields for item in field]
        octets = sum(item.width for item in bits) // 8
        groups: list[list[Bits]] = [[]]
        for item in bits:
            groups[-1].append(item)
            if sum(part.width for part in groups[-1]) % 8 == 0:
                groups.append([])
        byte = 0
        for group in groups[:-1]:
            size = sum(item.width for item in group) // 8
            if order == "bits-swapped":
                self.add(*_mirrored(group, plus(at, byte)))
            else:
                self.add(*stored(group, plus(at, octets - byte - size), "little"))
            byte += size


def stored(bits: list[Bits], at: v.Value, order: ByteOrder = "big") -> list[st.Statement]:
    """Return the statements that store bits, one behind the other, from byte `at` on.

    Of little-endian bytes the first one comes last.
    """
    found: list[st.Statement] = []
    byte = sum(item.width for item in bits) // 8 if order == "little" else 0
    while bits:
        chunk, bits = _split(bits, WIDEST)
        width = sum(item.width for item in chunk)
        byte -= width // 8 if order == "little" else 0
        value = _joined(chunk, width)
        if value != v.Int(0):
            found.append(st.Store(plus(at, byte), width, order, value))
        byte += width // 8 if order == "big" else 0
    return found


def _mirrored(bits: list[Bits], at: v.Value) -> list[st.Statement]:
    """Return the statements that store bits, each byte from its least significant bit on."""
    found: list[st.Statement] = []
    byte = 0
    while bits:
        chunk, bits = _split(bits, 8)
        single = [item.cut(number, 1) for item in chunk for number in range(item.width)]
        value = _joined(single[::-1], 8)
        if value != v.Int(0):
            found.append(st.Store(plus(at, byte), 8, "big", value))
        byte += 1
    return found


def _split(bits: list[Bits], width: int) -> tuple[list[Bits], list[Bits]]:
    """Return the first `width` bits, and those behind them."""
    first: list[Bits] = []
    for number, item in enumerate(bits):
        if item.width > width:
            if width:
                first.append(item.cut(0, width))
            return first, [item.cut(width, item.width - width), *bits[number + 1 :]]
        first.append(item)
        width -= item.width
    return first, []


def _joined(bits: list[Bits], width: int) -> v.Value:
    """Return bits one behind the other, as one integer of so many."""
    constant, parts = 0, []
    for item in bits:
        width -= item.width
        value = item.lying(width)
        if isinstance(value, v.Int):
            constant |= value.value
        else:
            parts.append(value)
    return joined([*parts, v.Int(constant)] if constant else parts)

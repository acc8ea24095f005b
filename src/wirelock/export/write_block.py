"""Statements of a function that writes, under construction: room in the output, and bits put together.

Values of fixed size that follow each other share one Reserve. Those that do not fill bytes are collected, and
stored as one integer where they reach the end of a byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.expressions import Names, interval_of, operation, plus
from wirelock.export.units import POSITION
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.scalars import ByteOrder

__all__ = ["Bits", "Block", "bytes_of"]

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


def stored(bits: list[Bits], at: v.Value) -> list[st.Statement]:
    """Return the statements that store bits, one behind the other, from byte `at` on."""
    found: list[st.Statement] = []
    byte = 0
    while bits:
        chunk, bits = _split(bits, WIDEST)
        width = sum(item.width for item in chunk)
        value = _joined(chunk, width)
        if value != v.Int(0):
            found.append(st.Store(plus(at, byte), width, "big", value))
        byte += width // 8
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
    found: v.Value | None = None
    for item in bits:
        width -= item.width
        value = item.lying(width)
        if value == v.Int(0):
            continue
        if found is None:
            found = value
        elif isinstance(found, v.Int) and isinstance(value, v.Int):
            found = v.Int(found.value | value.value)
        else:
            found = operation("|", found, value)
    return v.Int(0) if found is None else found

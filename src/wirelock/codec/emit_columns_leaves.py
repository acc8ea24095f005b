"""Layout -> the source that loads, checks and stores values of fixed size, for compiled column code."""

from __future__ import annotations

from typing import Final

from wirelock.codec.columns import Node
from wirelock.codec.emit import Value, excludes_nan
from wirelock.codec.emit_columns_places import ColumnValue, PlaceWriter, balanced
from wirelock.layout.nodes import (
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Integer,
    Mapping,
    Padding,
    Scalar,
    Scaled,
    integer_of,
)
from wirelock.layout.operators import number_source
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Limit

SMALL: Final = 16
"""Constants and members of up to so many are compared one by one."""
_NAN: Final = {
    16: (0x7E00, 0x7C00, 0x1FF),
    32: (0x7FC00000, 0x7F800000, 0x3FFFFF),
    64: (0x7FF8 << 48, 0x7FF0 << 48, (1 << 51) - 1),
}
"""Exponent with the quiet bit, exponent alone, the rest of the fraction."""


class LeafReader(PlaceWriter):
    """Writes the lines for values of fixed size."""

    # -- values

    def integer(self, bit: int, kind: Integer, hint: str) -> ColumnValue:
        """Write the load of an integer."""
        name, whole = self.writer.name(hint), kind.bits == 64
        text = self.load(bit, kind.bits, little=kind.order == "little", wide=whole)
        wide = whole and not kind.signed
        if whole and kind.signed:
            text = f"int64({text})"
        self.writer.line(f"{name} = {text}")
        if kind.signed and not whole:
            sign = 1 << (kind.bits - 1)
            self.writer.line(f"{name} = ({name} ^ {sign:#x}) - {sign:#x}")
        return ColumnValue(name, name, wide=wide)

    def scalar(
        self, kind: Scalar, limits: tuple[Limit, ...], hint: str, node: Node | None, slot: str
    ) -> Value:
        """Write the load, the checks and the store of a scalar."""
        bit = self.take(size_of(kind).lowest)
        match kind:
            case Flag(bits=bits):
                value = self.integer(bit, Integer(bits, False, "big"), hint)
                if bits > 1:
                    self.require(f"({value.text} <= 1)")
            case Float(bits=bits, order=order):
                return self._float(bit, bits, order == "little", limits, hint, node, slot)
            case _:
                integer = integer_of(kind)
                assert integer is not None
                if isinstance(kind, Flags):
                    integer = Integer(integer.bits, False, integer.order)
                value = self.integer(bit, integer, hint)
                self._members(kind, value)
        if isinstance(kind, Scaled):
            name = self.writer.name(f"{hint}_scaled")
            raw = f"int64({value.text})" if value.wide else value.text
            self.writer.line(f"{name} = ({raw} * {kind.multiply} + {kind.add}) / {kind.divide}")
            value = ColumnValue(name, name)
        self.limit(value, limits)
        self.store(node, slot, value.text)
        return value

    def _float(
        self,
        bit: int,
        bits: int,
        little: bool,
        limits: tuple[Limit, ...],
        hint: str,
        node: Node | None,
        slot: str,
    ) -> Value:
        raw = self.writer.name(f"{hint}_bits")
        wide = bits == 64
        self.writer.line(f"{raw} = {self.load(bit, bits, little=little, wide=wide)}")
        if bits == 16:
            self.used.add("float16_of")
        value = ColumnValue(f"float{bits}_of({raw})", "")
        if not excludes_nan(limits):
            quiet, infinite, rest = (self.literal(number, wide) for number in _NAN[bits])
            self.require(f"(({raw} & {quiet} != {infinite}) | ({raw} & {rest} == {self.literal(0, wide)}))")
        if limits and self.checks:
            name = self.writer.name(hint)
            self.writer.line(f"{name} = {value.text}")
            value.text = name
        self.limit(value, limits)
        self.store(node, slot, raw)
        return value

    def _members(self, kind: Scalar, value: ColumnValue) -> None:
        match kind:
            case Flags(mask=mask, integer=integer):
                left = ((1 << integer.bits) - 1) & ~mask
                if left:
                    self.require(f"({value.text} & {self.literal(left, value.wide)} == 0)")
            case Enum(members=members) | Mapping(members=members):
                self.require(self.is_among(value.text, sorted({number for _, number in members})))

    def is_among(self, text: str, numbers: list[int]) -> str:
        """Return source for whether a number is one of these, which are in order: a test a range of them."""
        ranges: list[list[int]] = []
        for number in numbers:
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        tests = [
            f"({text} == {low})" if low == high else f"(({text} >= {low}) & ({text} <= {high}))"
            for low, high in ranges
        ]
        return balanced(tests, "|") or "False"

    def constant(self, kind: Constant) -> Value:
        """Write the check of a constant."""
        size, wanted = size_of(kind).lowest, kind.value
        bit = self.take(size)
        if isinstance(wanted, bytes):
            self._octets(bit, size, wanted)
            return ColumnValue(
                repr(wanted), "", str(len(wanted)), equals=lambda other: str(int(other == wanted)) + " > 0"
            )
        assert isinstance(kind.type, Integer)
        if self.checks:
            found = self.integer(bit, kind.type, "constant")
            self.require(f"({found.text} == {wanted})")
        return ColumnValue(
            f"uint64({wanted})" if wanted >> 63 > 0 else f"({wanted})", "", wide=wanted >> 63 > 0
        )

    def _octets(self, bit: int, size: int, wanted: bytes) -> None:
        """Write the check of bytes that are always the same."""
        if not self.checks or not size:
            return
        if bit % 8 == 0 and self.region is None and len(wanted) > SMALL:
            start = self.octet(bit // 8)
            self.require(self.kernel("same_bytes", "data", start, f"{start} + {len(wanted)}", repr(wanted)))
            return
        for first in range(0, size, 56):
            count = min(56, size - first)
            text = self.load(bit + first, count)
            number = int.from_bytes(wanted[first // 8 : (first + count) // 8], "big")
            self.require(f"(({text}) == {number})")

    def padding(self, kind: Padding) -> None:
        """Write the check of padding of fixed size."""
        size = size_of(kind).lowest
        bit = self.take(size)
        pattern = kind.pattern * 0xFF if kind.unit == 1 else kind.pattern
        if bit % 8 == 0 and size % 8 == 0 and self.region is None and size > 8 * SMALL:
            start = self.octet(bit // 8)
            self.require(self.kernel("all_bytes", "data", start, f"{start} + {size // 8}", pattern))
            return
        for first in range(0, size, 56):
            count = min(56, size - first)
            number = int.from_bytes(bytes([pattern]) * 7, "big") >> (56 - count)
            if self.checks:
                self.require(f"(({self.load(bit + first, count)}) == {number})")

    # -- limits and stores

    def limit(self, value: ColumnValue, limits: tuple[Limit, ...]) -> None:
        """Write the checks of a record's limits on a value."""
        words = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "min_length": ">=", "max_length": "<="}
        for limit in limits:
            if limit.kind in words:
                what = value.length if limit.kind.endswith("length") else value.text
                assert not isinstance(limit.value, tuple)
                self.require(f"({what} {words[limit.kind]} {number_source(limit.value)})")
            elif limit.kind == "multiple_of":
                step = f"uint64({limit.value})" if value.wide else str(limit.value)
                self.require(f"({value.text} % {step} == 0)")
            else:
                assert isinstance(limit.value, tuple)
                if value.equals is not None:
                    tests = [
                        f"({value.equals(item)})" for item in limit.value if isinstance(item, bytes | str)
                    ]
                    one_of = balanced(tests, "|") or "False"
                else:
                    one_of = self.is_among(
                        value.text,
                        sorted({int(item) for item in limit.value if not isinstance(item, bytes | str)}),
                    )
                self.require(one_of if limit.kind == "one_of" else f"(not {one_of})")

    def store(self, node: Node | None, slot: str, text: str) -> None:
        """Write the store of a number into its column.

        Indices are unsigned: numba takes a signed one for one from the end where it is below zero, and the
        test for that keeps loops from doing several elements at once.
        """
        if self.stores and node is not None and node.array >= 0:
            self.writer.line(f"c{node.array}[uint64({slot})] = {text}")

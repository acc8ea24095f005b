"""Statements that read what lies in bytes that are there: numbers, constants, padding, bytes, text.

Faults and their order are those of codec/locate.py and codec/raw.py.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from wirelock.errors import highest_bit
from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import (
    all_of,
    any_of,
    compared,
    interval_of,
    negated,
    of_type,
    operation,
    plus,
)
from wirelock.export.lower.read_block import Block, Steps, less
from wirelock.export.lower.read_spot import Spot
from wirelock.export.lower.units import POSITION
from wirelock.export.lower.write_checks import limit_kept
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.nodes import (
    Bytes,
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
    Text,
    Time,
    VarInt,
    integer_of,
)
from wirelock.layout.positions import pieces_at
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Limit

__all__ = ["Leaves"]

Limits = tuple[Limit, ...]

_EXPONENT = {16: 0x7C00, 32: 0x7F80_0000, 64: 0x7FF0_0000}
"""The bits of the exponent, of binary64 those in its upper half."""


class Leaves(Block):
    """Reads values that hold no others. Each method returns the value as expressions see it."""

    needed: frozenset[str] = frozenset()
    """The labels of the fields whose values expressions read."""

    def scalar(
        self, kind: Scalar, limits: Limits, spot: Spot, target: v.Value | None, steps: Steps, hint: str
    ) -> v.Value | None:
        """Read a number of fixed size."""
        if isinstance(kind, Float):
            return self._float(kind, limits, spot, target, steps, hint)
        raw = self.let(hint, spot.raw(kind, self.let))
        structure, place = spot.place(steps, kind), spot.place(steps, kind, value=True)
        match kind:
            case Flag():
                if kind.bits > 1:
                    self.fail_if(compared(">", raw, 1), "not-canonical", structure)
                flag = v.Cast(raw, v.BoolType())
                return self.kept(flag, flag, limits, target, place, hint)
            case Flags(integer=integer, mask=mask):
                unknown = ~mask if integer.signed else ~mask & ((1 << integer.bits) - 1)
                if unknown:
                    strange = operation("&", raw, v.Int(unknown))
                    self.fail_if(compared("!=", strange, 0), "not-canonical", structure)
            case Enum(members=members) | Mapping(members=members):
                self.member(raw, {value for _, value in members}, place)
            case Scaled(multiply=multiply, add=add, divide=divide):
                parts = raw, v.Int(multiply), v.Int(add), v.Int(divide)
                value = v.Call("scaled_of", parts, v.FloatType(64, False))
                return self.kept(value, value, limits, target, place, hint)
            case Integer() | Time():
                pass
        return self.kept(raw, raw, limits, target, place, hint)

    def member(self, raw: v.Value, members: set[int], place: st.Place) -> None:
        """Note an integer that is no member of its enumeration."""
        low, high = interval_of(raw)
        if len(members) <= high - low:
            self.note_unless(_is_member(raw, members), "unknown-member", place)

    def kept(
        self,
        seen: v.Value,
        value: v.Value,
        limits: Limits,
        target: v.Value | None,
        place: st.Place,
        hint: str,
    ) -> v.Value:
        """Check the limits of a value and put it into its target; `seen` is as expressions see it."""
        kind = of_type(seen)
        if not isinstance(seen, v.Local | v.Int) and kind is not None:
            seen = self.let(hint, seen, kind)
        self.limit(seen, limits, place)
        if target is not None and not self.is_cold:
            wanted = of_type(target)
            if isinstance(wanted, v.IntType | v.EnumType):
                self.add(st.Set(target, v.Cast(value, wanted)))
            else:
                self.add(st.Set(target, seen if isinstance(seen, v.Local) else value))
        return seen

    def limit(self, seen: v.Value, limits: Limits, place: st.Place) -> None:
        """Note a value that does not keep its limits."""
        self.note_unless(all_of(limit_kept(seen, limit) for limit in limits), "out-of-range", place)

    def _float(
        self, kind: Float, limits: Limits, spot: Spot, target: v.Value | None, steps: Steps, hint: str
    ) -> v.Value | None:
        """Read a float; a signalling NaN has a full exponent, no quiet bit, and any other bit."""
        bits, place = kind.bits, spot.place(steps, kind)
        exponent = _EXPONENT[bits]
        quiet = (exponent & -exponent) >> 1
        if bits == 64 and spot.aligned:  # in halves, so that no language needs an integer of 64 bits for it
            raw: v.Value = spot.raw(kind, self.let)
            little = kind.order == "little"
            upper = self.let(f"{hint}_upper", v.Load(plus(spot.byte, 4 * little), 32, False, kind.order))
            lower = v.Load(plus(spot.byte, 4 * (not little)), 32, False, kind.order)
            payload = any_of([_has(upper, quiet - 1), compared("!=", lower, 0)])
        else:
            if bits == 64:
                exponent, quiet = exponent << 32, quiet << 32
            raw = upper = self.let(f"{hint}_bits", spot.raw(kind, self.let))
            payload = _has(raw, quiet - 1)
        full = compared("==", operation("&", upper, v.Int(exponent | quiet)), exponent)
        self.fail_if(all_of([full, payload]), "not-canonical", place)
        if self.is_cold:
            return None
        value = v.FloatOf(raw, bits)  # type: ignore[arg-type]
        if not limits and hint not in self.needed:
            if target is not None:
                self.add(st.Set(target, value))
            return None
        local = self.let(hint, value, v.FloatType(64 if bits == 64 else 32, True))
        return self.kept(local, local, limits, target, place, hint)

    def constant(self, kind: Constant, spot: Spot, steps: Steps) -> v.Value | None:
        """Check a constant."""
        if isinstance(kind.value, bytes):
            if kind.value and spot.aligned:
                same: v.Value = v.Equal(spot.byte, None, kind.value)
                self.fail_if(negated(same), "constant", spot.start(steps))
            elif kind.value:
                octet = Integer(8, False, "big")
                there = (spot.on(8 * number).raw(octet, self.let) for number in range(len(kind.value)))
                same = all_of(map(partial(compared, "=="), there, kind.value))
                self.fail_if(negated(same), "constant", spot.place(steps, kind))
            return None
        self.fail_if(
            compared("!=", spot.raw(kind, self.let), kind.value), "constant", spot.place(steps, kind)
        )
        return v.Int(kind.value)

    def padding(self, kind: Padding, spot: Spot, steps: Steps) -> None:
        """Check padding of fixed length: the first byte that differs is the fault's."""
        width = size_of(kind).lowest
        if not width:
            return
        wanted = int.from_bytes(bytes([kind.pattern]) * (width // 8), "big")
        if kind.unit == 1:
            wanted = kind.pattern * ((1 << width) - 1)
        if spot.order != "wire":
            behind = width
            for byte, mask in spot.pieces(kind):
                behind -= mask.bit_count()
                part = wanted >> behind & ((1 << mask.bit_count()) - 1)
                self._octet(plus(spot.base, byte), mask, part, spot.place(steps, kind))
            return
        first, end = spot.bit, spot.bit + width
        whole, stop = (first + 7) // 8, end // 8
        if first % 8 == 0 and stop - whole > 2:
            octet = wanted >> (width - 8) & 0xFF
            self.filled(plus(spot.base, whole), plus(spot.base, stop), octet, steps, "padding")
            first = 8 * stop
        while first < end:
            until = min(end, first - first % 8 + 8)
            mask = (0xFF >> first % 8) & (0xFF << (-until % 8)) & 0xFF
            part = wanted >> (end - until) & ((1 << (until - first)) - 1)
            pieces = pieces_at(first, Integer(until - first, False, "big"))
            there = plus(spot.base, first // 8)
            bit = highest_bit(pieces)
            self._octet(there, mask, part, st.Place(steps, there, bit))
            first = until

    def _octet(self, byte: v.Value, mask: int, wanted: int, place: st.Place) -> None:
        """Check those bits of a byte that a mask has."""
        found: v.Value = v.Load(byte, 8, False, "big")
        if mask != 0xFF:
            found = operation("&", found, v.Int(mask))
        shift = (mask & -mask).bit_length() - 1
        self.fail_if(compared("!=", found, wanted << shift), "not-canonical", place)

    def filled(self, at: v.Value, end: v.Value, octet: int, steps: Steps, hint: str) -> None:
        """Check that bytes are all the same."""
        call = v.Call("filled", (at, end, v.Int(octet)), POSITION, 0, MAX_LENGTH)
        differs = self.let(f"{hint}_differs", call)
        self.fail_if(less(differs, end), "not-canonical", st.Place(steps, differs))

    def octets(
        self,
        at: v.Value,
        size: v.Value,
        limits: Limits,
        target: v.Value | None,
        place: st.Place,
        hint: str,
    ) -> v.Value | None:
        """Read bytes that are known to be there."""
        if self.is_cold and hint not in self.needed:
            return None
        kind = of_type(target) if target is not None else None
        fixed = kind.size if isinstance(kind, v.BytesType) else None
        value = v.Slice(at, size, fixed)
        if not limits and hint not in self.needed:
            if target is not None:
                self.add(st.Set(target, value))
            return None
        return self.kept(value, value, limits, target, place, hint)

    def text(
        self, kind: Text, limits: Limits, at: v.Value, end: v.Value, target: v.Value | None,
        place: st.Place, hint: str,
    ) -> v.Value | None:  # fmt: skip
        """Read text in a region whose content is known to be there."""
        shape: Any = v.TextType(kind.encoding)  # type: ignore[arg-type]
        code = v.Call("text_code", (at, end, kind.encoding, kind.closed), v.IntType(8, False, 0, 2), 0, 2)
        found = self.let(f"{hint}_code", code)
        self.add(st.FailText(found, place))
        value = v.Call("text_of", (at, end, kind.encoding), shape)
        if self.is_cold or target is None:
            return None
        with self.block() as then:
            if limits:
                seen = self.let(hint, value, shape)
                self.limit(seen, limits, place)
                value = seen  # type: ignore[assignment]
            self.add(st.Set(target, value))
        nothing = v.Call("text_of", (at, at, kind.encoding), shape)  # for expressions that read it yet
        self.add(st.When(compared("==", found, 0), tuple(then), (st.Set(target, nothing),)))
        return target


def _is_member(value: v.Value, members: set[int]) -> v.Value:
    """Return whether an integer is one of some: by its ends where they follow each other."""
    low, high = min(members), max(members)
    if len(members) < 3 or high - low >= len(members):
        return any_of(compared("==", value, member) for member in sorted(members))
    least, most = interval_of(value)
    ends = [compared(">=", value, low)] if least < low else []
    return all_of([*ends, *([compared("<=", value, high)] if most > high else [])])


def _has(value: v.Value, mask: int) -> v.Value:
    return compared("!=", operation("&", value, v.Int(mask)), 0)


def varint_type(kind: VarInt) -> v.IntType:
    """Return the type of the local that a varint is read into."""
    return v.IntType(64, kind.zigzag, kind.lowest, kind.highest)


def has_structure(kind: Scalar | Bytes) -> bool:
    """Whether the bits of a value can be a fault of the structure."""
    if isinstance(kind, Flags):
        integer = integer_of(kind)
        assert integer is not None
        return integer.signed or bool(~kind.mask & ((1 << integer.bits) - 1))
    return isinstance(kind, Float) or (isinstance(kind, Flag) and kind.bits > 1)

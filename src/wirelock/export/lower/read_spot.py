"""Where a value lies in the datagram: its bits there as an integer, and what a fault says of the place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from wirelock.errors import highest_bit
from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import joined, operation, plus
from wirelock.layout.nodes import Bytes, Float, Integer, Order, Type, integer_of, plain
from wirelock.layout.positions import pieces_at, scattered_pieces
from wirelock.layout.scalars import ByteOrder
from wirelock.layout.sizes import size_of

__all__ = ["Pieces", "Spot"]

MOST: Final = 8
"""So many parts of an integer are put together in one expression."""

Pieces = tuple[tuple[int, int], ...]
"""(byte, mask) pairs from a value's most significant bit, as errors.Fault has them."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A value that begins `bit` bits behind the byte `base`.

    Among bits in another `order`, `bit` counts once they are in wire order; `octets` is then how many bytes
    they are, and `field` says where the whole field lies that the value is a part of.
    """

    base: v.Value
    bit: int = 0
    order: Order = "wire"
    octets: int = 0
    field: Pieces = ()

    @property
    def byte(self) -> v.Value:
        """The byte in which the value begins."""
        return plus(self.base, self.bit // 8)

    @property
    def aligned(self) -> bool:
        """Whether the value begins with a byte."""
        return self.order == "wire" and self.bit % 8 == 0

    def on(self, bits: int) -> Spot:
        """Return the spot so many bits further on."""
        return replace(self, bit=self.bit + bits)

    def pieces(self, kind: Type) -> Pieces:
        """Return where the bits of a value of fixed size lie, from `base` on; empty if they fill bytes."""
        if self.order != "wire":
            bits = range(self.bit, self.bit + size_of(kind).lowest)
            return scattered_pieces(bits, self.octets, self.order)
        return pieces_at(self.bit, kind)

    def place(self, steps: tuple[st.Step, ...], kind: Type, *, value: bool = False) -> st.Place:
        """Return the place of a fault in a value of this type: of its structure, or of the `value`."""
        pieces = self.pieces(kind)
        if self.order != "wire":
            pieces = pieces if value else self.field
            byte = plus(self.base, min((at for at, _ in pieces), default=0))
        else:
            byte = self.byte
        return st.Place(steps, byte, highest_bit(pieces))

    def start(self, steps: tuple[st.Step, ...]) -> st.Place:
        """Return the place of a fault that is told by its byte alone."""
        return self.place(steps, Bytes(0))

    def raw(self, kind: Type, let: Callable[[str, v.Value], v.Value]) -> v.Value:
        """Return the integer that a value's bits are: signed where the type's integer is.

        `let` declares a local for a part of it, where it is made of many.
        """
        inner = integer_of(plain(kind)) or plain(kind)
        signed = isinstance(inner, Integer) and inner.signed
        order: ByteOrder = inner.order if isinstance(inner, Integer | Float) else "big"
        width = size_of(kind).lowest
        if self.aligned and width % 8 == 0:
            return v.Load(self.byte, width, signed, order)
        pieces = self.pieces(kind) or tuple((self.bit // 8 + at, 0xFF) for at in range(width // 8))
        if not signed:
            return gathered(self.base, pieces, let)
        if width < 64:
            return extended(gathered(self.base, pieces, let), width)
        # Of 64 bits only the first ones are made signed, two or more of them, so that no step leaves int64.
        count = next(count for count in range(1, len(pieces)) if _width(pieces[:count]) > 1)
        first, behind = pieces[:count], pieces[count:]
        high = extended(gathered(self.base, first, let), _width(first))
        scaled = operation("*", high, v.Int(1 << _width(behind)))
        return operation("+", scaled, gathered(self.base, behind, let))


def extended(value: v.Value, width: int) -> v.Value:
    """Return an unsigned integer of so many bits as the two's complement that it is."""
    sign = 1 << (width - 1)
    flipped = v.Op("^", (value, v.Int(sign)), 0, 2 * sign - 1)
    return v.Op("-", (flipped, v.Int(sign)), -sign, sign - 1)


def gathered(base: v.Value, pieces: Pieces, let: Callable[[str, v.Value], v.Value]) -> v.Value:
    """Return the unsigned integer whose bits lie in pieces: with one load where they follow each other."""
    runs: list[tuple[v.Value, int]] = []
    while pieces:
        run, pieces = _split(pieces)
        runs.append((_loaded(base, run), _width(run)))
    while len(runs) > MOST:
        groups = [runs[at : at + MOST] for at in range(0, len(runs), MOST)]
        runs = [(let("part", _behind(group)), sum(width for _, width in group)) for group in groups]
    return _behind(runs)


def _behind(runs: list[tuple[v.Value, int]]) -> v.Value:
    """Return integers of so many bits behind each other as one."""
    left, parts = sum(width for _, width in runs), []
    for value, width in runs:
        left -= width
        parts.append(operation("<<", value, v.Int(left)) if left else value)
    return joined(parts)


def _loaded(base: v.Value, pieces: Pieces) -> v.Value:
    """Return the unsigned integer that is in pieces which follow each other."""
    order = _order(pieces)
    assert order is not None, pieces
    octets, width = len(pieces), _width(pieces)
    found: v.Value = v.Load(plus(base, min(byte for byte, _ in pieces)), 8 * octets, False, order)
    below = (pieces[-1][1] & -pieces[-1][1]).bit_length() - 1
    if below:
        found = operation(">>", found, v.Int(below))
    if below + width < 8 * octets:
        found = operation("&", found, v.Int((1 << width) - 1))
    return found


def _width(pieces: Pieces) -> int:
    return sum(mask.bit_count() for _, mask in pieces)


def _order(pieces: Pieces) -> ByteOrder | None:
    """Return in which byte order pieces are one integer, of at most eight bytes; None if they are none."""
    if len(pieces) > 8 or not all(_is_run(mask) for _, mask in pieces):
        return None
    if any(mask & 1 == 0 for _, mask in pieces[:-1]) or any(mask < 0x80 for _, mask in pieces[1:]):
        return None
    steps = {after - before for (before, _), (after, _) in pairwise(pieces)}
    return {frozenset(): "big", frozenset({1}): "big", frozenset({-1}): "little"}.get(frozenset(steps))  # type: ignore[return-value]


def _is_run(mask: int) -> bool:
    """Whether the bits of a mask follow each other."""
    lowest = mask & -mask
    return mask + lowest & mask == 0


def _split(pieces: Pieces) -> tuple[Pieces, Pieces]:
    """Cut pieces behind the most that are one integer."""
    count = next(count for count in range(len(pieces), 0, -1) if _order(pieces[:count]) is not None)
    return pieces[:count], pieces[count:]

"""Where the fields of a layout lie: byte and bits, from its start or from the last field of no fixed size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from wirelock.layout.limits import MAX_BITS
from wirelock.layout.nodes import (
    Field,
    Float,
    Integer,
    Order,
    Position,
    Type,
    integer_of,
    plain,
)
from wirelock.layout.sizes import size_of


def pieces_at(bit: int, kind: Type) -> tuple[tuple[int, int], ...]:
    """Return the (byte, mask) pieces of a value that starts at `bit`; empty if it fills its bytes.

    Raises ValueError for one of more than MAX_BITS.
    """
    width = size_of(kind).lowest
    if bit % 8 == 0 and width % 8 == 0:
        return ()
    if width > MAX_BITS:
        raise ValueError(f"a value of {width} bits that does not fill its bytes")
    inner = integer_of(plain(kind)) or plain(kind)
    little = isinstance(inner, Integer | Float) and inner.order == "little"
    if not little:
        return tuple(_span(bit, width))
    octets = range(bit + width - 8, bit - 1, -8)
    return tuple(piece for octet in octets for piece in _span(octet, 8))


def _span(bit: int, width: int) -> Iterator[tuple[int, int]]:
    end = bit + width
    while bit < end:
        stop = min(end, bit - bit % 8 + 8)
        yield bit // 8, (0xFF >> bit % 8) & (0xFF << (-stop % 8)) & 0xFF
        bit = stop


@dataclass(slots=True)
class Cursor:
    """Where the next field of a layout starts: `bit` bits behind the start, or behind field `after`."""

    bit: int
    after: str | None = None

    @property
    def phase(self) -> int:
        """The bit within its byte."""
        return self.bit % 8

    def take(self, label: str, kind: Type) -> Position:
        """Return the position of the next field and move behind it."""
        position = Position(self.bit // 8, pieces_at(self.bit, kind), self.after)
        size = size_of(kind)
        if size.fixed:
            self.bit += size.lowest
        else:
            self.bit, self.after = 0, label
        return position


def offsets(fields: Sequence[Field], order: Order) -> list[int]:
    """Return where each field starts once bytes or bits are put in wire order (codec.bitorder)."""
    sizes = [size_of(item.type).lowest for item in fields]
    starts = [0, *accumulate(sizes)]
    if order != "least-first":
        return starts[:-1]
    return [starts[-1] - start - size for start, size in zip(starts, sizes, strict=False)]


def reordered(fields: Sequence[Field], order: Order) -> tuple[Field, ...]:
    """Return fields of fixed size with the positions that they have where their bits lie otherwise."""
    octets = sum(size_of(item.type).lowest for item in fields) // 8
    found = []
    for item, start in zip(fields, offsets(fields, order), strict=True):
        pieces = scattered_pieces(range(start, start + size_of(item.type).lowest), octets, order)
        first = min((byte for byte, _ in pieces), default=0)
        found.append(replace(item, position=Position(first, pieces)))
    return tuple(found)


def scattered_pieces(bits: range, octets: int, order: Order) -> tuple[tuple[int, int], ...]:
    """Return where bits lie in so many bytes, which are bits of these bytes once they are in wire order."""
    pieces: list[tuple[int, int]] = []
    for bit in bits:
        byte, mask = bit // 8, 0x80 >> bit % 8
        byte, mask = (byte, 1 << bit % 8) if order == "bits-swapped" else (octets - 1 - byte, mask)
        if pieces and pieces[-1][0] == byte and pieces[-1][1] & -pieces[-1][1] == mask << 1:
            pieces[-1] = byte, pieces[-1][1] | mask
        else:
            pieces.append((byte, mask))
    return tuple(pieces)

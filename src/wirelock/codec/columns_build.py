"""Columns -> bytes, for records of one size and for those that hold arrays of elements of one size.

One array operation writes a byte of a value in all records, or in all elements. Nothing is checked here: what
was written is read again by the caller, and has to come to the same columns.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

from wirelock.codec.columns import Node, Plan, is_flat
from wirelock.codec.emit_columns_places import span
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Framed,
    Integer,
    Layout,
    Nothing,
    Padded,
    Padding,
    Prefix,
    Scaled,
    Sequence,
    Type,
    integer_of,
    plain,
)
from wirelock.layout.nodes import Float as FloatKind
from wirelock.layout.positions import offsets, scattered_pieces
from wirelock.layout.sizes import padding_behind, size_of

if TYPE_CHECKING:
    from wirelock.codec.columnar import Filled

MOST: Final = 4096
"""Layouts of more values than this are built record by record."""


def written(np: Any, layout: Layout, plan: Plan, filled: Filled) -> tuple[Any, Any] | None:
    """Return the bytes of all records and where each begins, with the end behind the last.

    None where a value follows from others, and where a record has more than values of one size and arrays of
    such elements.
    """
    if sum(stored.per for stored in plan.arrays) > MOST:
        return None
    builder = _Builder(np, plan, filled)
    parts = dict(zip(plan.root.labels, plan.root.parts, strict=True))
    try:
        if is_flat(layout):
            builder.add(layout, plan.root)
        else:
            for item in layout.fields:
                builder.add(item.type, parts.get(item.label))
        return builder.assembled()
    except _Unwritten:
        return None


class _Unwritten(Exception):  # noqa: N818 - control flow of this file alone
    pass


class _Builder:
    """Gathers blocks: (bytes of all records or elements, the offsets of elements or None)."""

    def __init__(self, np: Any, plan: Plan, filled: Filled) -> None:
        self.np = np
        self.plan = plan
        self.filled = filled
        self.rows = len(filled.good)
        self.blocks: list[tuple[Any, Any]] = []
        self.waiting: list[tuple[Type, Node | None]] = []

    def add(self, kind: Type, node: Node | None) -> None:
        """Add a field of the record: what is of one size waits for what follows."""
        inner = plain(kind)
        if is_flat(kind):
            self.waiting.append((kind, node))
            return
        self.flush()
        match inner:
            case Array(element=element, count=count) if node is not None and is_flat(element):
                bounds = self.filled.arrays[node.array]
                if isinstance(count, Prefix):
                    self._prefix(count, self.np.diff(bounds))
                self._block([(element, node.parts[0])], self.filled.sizes[node.inside], bounds)
            case Bytes(length=length) if node is not None and not isinstance(length, int):
                octets, bounds = self.filled.arrays[node.content], self.filled.arrays[node.array]
                self.blocks.append((octets.reshape(-1, 1), bounds))
            case _:
                raise _Unwritten

    def flush(self) -> None:
        """Make a block of what waits."""
        waiting, self.waiting = self.waiting, []
        if waiting:
            self._block(waiting, self.rows, None)

    def _block(self, values: list[tuple[Type, Node | None]], count: int, bounds: Any) -> None:
        bits = sum(size_of(kind).lowest for kind, _ in values)
        if bits % 8:
            raise _Unwritten
        writer = _Writer(self.np, self.plan, self.filled.arrays, count, bits // 8)
        for kind, node in values:
            writer.write(kind, node, ())
        self.blocks.append((writer.out, bounds))

    def _prefix(self, prefix: Prefix, counts: Any) -> None:
        integer = prefix.integer
        if not isinstance(integer, Integer) or integer.bits % 8:
            raise _Unwritten
        writer = _Writer(self.np, self.plan, (), self.rows, integer.bits // 8)
        writer.number(counts, integer.bits, little=integer.order == "little")
        self.blocks.append((writer.out, None))

    def assembled(self) -> tuple[Any, Any]:
        """Return the blocks of each record one behind the other, and where records begin."""
        self.flush()
        np = self.np
        sizes = np.zeros(self.rows, "i8")
        for block, bounds in self.blocks:
            sizes += block.shape[1] if bounds is None else np.diff(bounds) * block.shape[1]
        starts = np.concatenate([np.zeros(1, "i8"), np.cumsum(sizes)])
        if len(self.blocks) == 1 and self.blocks[0][1] is None:
            return self.blocks[0][0].reshape(-1), starts
        out, place = np.empty(int(starts[-1]), "u1"), starts[:-1].copy()
        for block, bounds in self.blocks:
            size, where = block.shape[1], place
            if bounds is not None:
                counts = np.diff(bounds)
                where = np.repeat(place - bounds[:-1] * size, counts) + np.arange(len(block)) * size
            for byte in range(size):
                out[where + byte] = block[:, byte]
            place += size if bounds is None else counts * size
        return out, starts


class _Writer:
    def __init__(self, np: Any, plan: Plan, arrays: tuple[Any, ...], rows: int, size: int) -> None:
        self.np = np
        self.plan = plan
        self.arrays = arrays
        self.rows = rows
        self.out = np.zeros((rows, size), "u1")
        self.bit = 0
        self.region: Layout | None = None
        self.base = 0

    def write(self, kind: Type, node: Node | None, at: tuple[int, ...]) -> None:
        """Write one value of every record; `at` are the numbers of the elements around it."""
        inner = plain(kind)
        match inner:
            case Layout():
                self._layout(inner, node, at)
            case Sequence(types=types):
                for number, part in enumerate(types):
                    self.write(part, node and node.parts[number], at)
            case Framed():
                for number, part in enumerate((*inner.before, inner.inner, *inner.behind)):
                    self.write(part, node if number == len(inner.before) else None, at)
            case Padded():
                self.write(inner.inner, node, at)
                self.write(Padding(padding_behind(inner) or 0, 8, inner.pattern), None, at)
            case Array(element=element, count=int(count)):
                for number in range(count):
                    self.write(element, node and node.parts[0], (*at, number))
            case Padding(length=int(length), unit=unit, pattern=pattern):
                for _ in range(length):
                    self.number(pattern, unit)
            case Constant(type=Integer() as integer, value=int(number)):
                self.number(number, integer.bits, little=integer.order == "little")
            case Constant(value=bytes(octets)):
                for octet in octets:
                    self.number(octet, 8)
            case Nothing() | Computed():
                pass
            case Bytes(length=int(length)):
                if node is None:
                    raise _Unwritten
                column = self._column(node, at).reshape(self.rows, length)
                for place in range(length):
                    self.number(column[:, place], 8)
            case _:
                if node is None:
                    raise _Unwritten
                self._scalar(inner, self._column(node, at))

    def _layout(self, layout: Layout, node: Node | None, at: tuple[int, ...]) -> None:
        parts = dict(zip(node.labels, node.parts, strict=True)) if node is not None else {}
        starts = None
        if layout.order != "wire":
            starts, self.region, self.base = offsets(layout.fields, layout.order), layout, self.bit // 8
        for number, item in enumerate(layout.fields):
            if starts is not None:
                self.bit = starts[number]
            self.write(item.type, parts.get(item.label), at)
        if starts is not None:
            self.region, self.bit = None, 8 * self.base + size_of(layout).lowest

    def _column(self, node: Node, at: tuple[int, ...]) -> Any:
        stored = self.plan.arrays[node.array]
        more = stored.per // prod(node.repeat) if prod(node.repeat) else 0
        return self.arrays[node.array].reshape(self.rows, *node.repeat, more)[(slice(None), *at)].reshape(-1)

    def _scalar(self, kind: Type, column: Any) -> None:
        bits = size_of(kind).lowest
        inner = integer_of(kind) or kind
        if isinstance(kind, Scaled):
            with self.np.errstate(all="ignore"):
                found = self.np.rint((column * kind.divide - kind.add) / kind.multiply)
                column = found.astype("i8")
        little = isinstance(inner, Integer | FloatKind) and inner.order == "little"
        self.number(column, bits, little=little)

    def number(self, value: Any, bits: int, *, little: bool = False) -> None:
        """Write an unsigned number, or a column of numbers, of so many bits."""
        bit, self.bit = self.bit, self.bit + bits
        raw = value
        if not isinstance(value, int) and value.dtype.kind == "i":
            raw = value.astype("i8").view("u8")
        starts = range(bit + bits - 8, bit - 1, -8) if little else (bit,)
        left = bits
        for start in starts:
            for byte, mask in self._pieces(start, 8 if little else bits):
                low, width = (mask & -mask).bit_length() - 1, mask.bit_count()
                left -= width
                piece = raw >> left & (1 << width) - 1
                self.out[:, byte] |= piece << low if isinstance(piece, int) else (piece << low).astype("u1")

    def _pieces(self, bit: int, bits: int) -> list[tuple[int, int]]:
        if self.region is None:
            return list(span(bit, bits))
        octets = size_of(self.region).lowest // 8
        found = scattered_pieces(range(bit, bit + bits), octets, self.region.order)
        return [(self.base + byte, mask) for byte, mask in found]

"""Layout -> a map of its bytes: boxes in rows of four bytes, ready to be drawn.

Pure, and computed from positions, pieces and sizes alone. A record of fixed size inside of another is
drawn where it lies; one in an array or a choice, or of no fixed size, has a map of its own. Behind a
field of no fixed size a new section begins, whose bytes count from that field's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from wirelock.layout.canonical import position_text
from wirelock.layout.describe import type_text
from wirelock.layout.nodes import (
    Array,
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Optional,
    Padded,
    Position,
    Prefix,
    Select,
    Sequence,
    Sized,
    Switch,
    Type,
    plain,
)
from wirelock.layout.sizes import Size, size_of
from wirelock.layout.terms import inner_path, key_text

__all__ = ["COLUMNS", "ByteMap", "Cell", "Row", "Section", "byte_maps"]

COLUMNS: Final = 32
"""The bits of a row."""
_BYTES: Final = COLUMNS // 8
_LONG: Final = 4
"""A field that takes so many whole rows is drawn in one of them."""
_ELEMENTS: Final = 8
"""Arrays of up to so many values are drawn element by element."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one row has of one field, from column `start` to `stop`; column 0 is bit 7 of the first byte.

    `part` says which bits of the value these are, where they do not lie in one run, most significant
    first. `before` and `behind` say that the box goes on in the row before or behind. An `open` field has
    no fixed size: its box begins here, and where it ends is not known.
    """

    start: int
    stop: int
    label: str
    words: str
    place: str
    part: str = ""
    before: bool = False
    behind: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Four bytes from `byte` on; up to `last` where one row stands for many of one field."""

    byte: int
    last: int
    cells: tuple[Cell, ...]

    @property
    def long(self) -> bool:
        """Whether the row stands for many."""
        return self.last >= self.byte + _BYTES


@dataclass(frozen=True, slots=True)
class Section:
    """The rows behind the record's start, or behind the field `after`; `columns` is the widest row's end."""

    after: str | None
    rows: tuple[Row, ...]

    @property
    def bits(self) -> bool:
        """Whether a box begins or ends within a byte."""
        return any(cell.start % 8 or cell.stop % 8 for row in self.rows for cell in row.cells)

    @property
    def columns(self) -> int:
        """The bits of the widest row, in whole bytes."""
        if len(self.rows) > 1:
            return COLUMNS
        return max((-(-cell.stop // 8) * 8 for row in self.rows for cell in row.cells), default=COLUMNS)


@dataclass(slots=True)
class ByteMap:
    """The map of one record; `paths` says where inside of the first map's record it stands."""

    layout: Layout
    paths: list[str]
    sections: tuple[Section, ...] = ()


def byte_maps(layout: Layout) -> list[ByteMap]:
    """Return the map of a layout, and behind it those of the records that are not drawn inside of it."""
    maps = [ByteMap(layout, [])]
    seen = {layout: maps[0]}
    for drawn in maps:
        boxes = _Boxes()
        boxes.record(drawn.layout, "", Position(0))
        drawn.sections = tuple(_sections(boxes.found))
        start = f"{drawn.paths[0]}." if drawn.paths else ""
        for path, inner in boxes.inside:
            if inner not in seen:
                seen[inner] = ByteMap(inner, [])
                maps.append(seen[inner])
            if seen[inner] is not maps[0]:
                seen[inner].paths.append(start + path)
    return maps


# -- boxes


@dataclass(frozen=True, slots=True)
class _Span:
    """Bits that lie side by side, and which bits of the value are the leftmost and the rightmost."""

    start: int
    stop: int
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class _Box:
    """One field; `spans` count from the record's start, or from the end of the field `after`."""

    cell: Cell
    after: str | None
    spans: tuple[_Span, ...]


@dataclass(slots=True)
class _Boxes:
    """Collects the boxes of a record, and the records that need a map of their own."""

    found: list[_Box] = field(default_factory=list)
    inside: list[tuple[str, Layout]] = field(default_factory=list)

    def record(self, layout: Layout, path: str, start: Position) -> None:
        """Add the fields of a record that begins in the first byte of a position."""
        for item in layout.fields:
            position = Position(
                item.position.byte + start.byte,
                tuple((byte + start.byte, mask) for byte, mask in item.position.pieces),
                # A record inside of another has a fixed size, so that no field stands behind another's end.
                item.position.after or start.after,
            )
            self.add(item.type, inner_path(path, item.label), position)

    def add(self, kind: Type, path: str, position: Position) -> None:
        """Add a value: as one box, or as the boxes of its parts where these have places of their own."""
        size, inner = size_of(kind), plain(kind)
        if not size.fixed:
            self._open(inner, path, position)
        elif isinstance(inner, Layout):
            self.record(inner, path, position)
        elif size.lowest and not (not position.pieces and self._parts(inner, size, path, position)):
            spans = _spans(position.pieces) or (_whole(position.byte, size.lowest),)
            self._box(kind, path, position, spans)
            self.inside += _inside(inner, path)

    def _parts(self, kind: Type, size: Size, path: str, position: Position) -> bool:
        """Add the parts of a value that fills its bytes, if each of them does too."""
        match kind:
            case Array(element=element, count=int(count)) if _values(kind) <= _ELEMENTS:
                parts = [(f"{path}[{number}]", element) for number in range(count)]
            case Sized(inner=inner, extent=int()) | Padded(inner=inner, length=int()):
                parts = [(path, inner)]
            case Framed():
                parts = kind.labelled(path)
            case Sequence(types=types):
                parts = [(f"{path}[{number}]", part) for number, part in enumerate(types)]
            case _:
                return False
        sizes = [size_of(part) for _, part in parts]
        if not all(part.fixed and part.lowest % 8 == 0 for part in sizes):
            return False
        byte = position.byte
        for (label, part), taken in zip(parts, sizes, strict=True):
            self.add(part, label, replace(position, byte=byte))
            byte += taken.lowest // 8
        left = 8 * position.byte + size.lowest - 8 * byte
        if left:
            position = replace(position, byte=byte)
            self._box(kind, f"{path} (padding)", position, (_whole(byte, left),))
        return True

    def _open(self, kind: Type, path: str, position: Position) -> None:
        """Add a value of no fixed size; a count or size before it that has one is a box of its own."""
        prefix = None
        match kind:
            case Array(count=Prefix(integer=Integer() as integer)):
                prefix, word = integer, "count"
            case Sized(extent=Prefix(integer=Integer() as integer)):
                prefix, word = integer, "size"
        if prefix is not None:
            span = _whole(position.byte, prefix.bits)
            self._box(prefix, f"{path} ({word})", position, (span,))
            position = replace(position, byte=position.byte + prefix.bits // 8)
        self._box(kind, path, position, (_whole(position.byte, 8),), is_open=True)
        self.inside += _inside(kind, path)

    def _box(
        self, kind: Type, path: str, position: Position, spans: tuple[_Span, ...], is_open: bool = False
    ) -> None:
        place = position_text(position)
        if not position.pieces and not is_open:
            last = (spans[-1].stop - 1) // 8
            if last > position.byte:
                place = f"{place.rpartition('byte ')[0]}bytes {position.byte}..{last}"
        cell = Cell(0, 0, path, type_text(kind), place, open=is_open)
        self.found.append(_Box(cell, position.after, spans))


def _whole(byte: int, bits: int) -> _Span:
    return _Span(8 * byte, 8 * byte + bits, bits - 1, 0)


def _spans(pieces: Iterable[tuple[int, int]]) -> tuple[_Span, ...]:
    """Return pieces as runs of bits; those that follow each other in one direction are one run."""
    left = sum(mask.bit_count() for _, mask in pieces)
    found: list[_Span] = []
    for byte, mask in pieces:
        start = 8 * byte + 8 - mask.bit_length()
        stop = start + mask.bit_count()
        made = _Span(start, stop, left - 1, left - mask.bit_count())
        left = made.right
        last = found[-1] if found else None
        if last is not None and last.stop == start and last.left >= last.right:
            found[-1] = replace(last, stop=stop, right=made.right)
        elif last is not None and last.start == stop and stop - start == 1 and last.left <= last.right:
            found[-1] = replace(last, start=start, left=made.left)
        else:
            found.append(made)
    return tuple(found)


def _values(kind: Type) -> int:
    """Return how many boxes a value of fixed size would be drawn as."""
    match plain(kind):
        case Layout(fields=fields):
            return sum(_values(item.type) for item in fields)
        case Array(element=element, count=int(count)):
            return count * _values(element)
    return 1


def _inside(kind: Type, path: str) -> Iterator[tuple[str, Layout]]:
    """Yield the records directly inside a type, with their paths."""
    match kind:
        case Layout():
            yield path, kind
        case Array(element=inner):
            yield from _inside(inner, f"{path}[]")
        case If(type=inner) | Limited(inner=inner) | Optional(inner=inner):
            yield from _inside(inner, path)
        case Framed(inner=inner) | Padded(inner=inner) | Sized(inner=inner):
            yield from _inside(inner, path)
        case Sequence(types=types):
            for number, part in enumerate(types):
                yield from _inside(part, f"{path}[{number}]")
        case Select(cases=records):
            for start, record in records:
                yield f"{path}{{{start.hex(' ')}}}", record
        case Switch(cases=cases, default=default):
            for key, case in cases:
                yield from _inside(case, f"{path}{{{key_text(key)}}}")
            if default is not None:
                yield from _inside(default, f"{path}{{default}}")


# -- rows


def _sections(boxes: Iterable[_Box]) -> Iterator[Section]:
    grouped: dict[str | None, list[_Box]] = {}
    for box in boxes:
        grouped.setdefault(box.after, []).append(box)
    for after, group in grouped.items():
        yield Section(after, tuple(_rows(group)))


def _rows(boxes: Iterable[_Box]) -> Iterator[Row]:
    rows: dict[int, list[Cell]] = {}
    last_of: dict[int, int] = {}
    for box in boxes:
        for span in box.spans:
            for number, last, cell in _cut(box, span):
                rows.setdefault(number, []).append(cell)
                last_of[number] = last
    for number in sorted(rows):
        cells = tuple(sorted(rows[number], key=lambda cell: cell.start))
        yield Row(number * _BYTES, last_of[number] * _BYTES + _BYTES - 1, cells)


def _cut(box: _Box, span: _Span) -> Iterator[tuple[int, int, Cell]]:
    """Yield a run of bits cut into rows: (the row, the last row that it stands for, the cell)."""
    one_run = len(box.spans) == 1 and span.left >= span.right
    part = "" if one_run else str(span.left) if span.left == span.right else f"{span.left}..{span.right}"
    first, end = span.start // COLUMNS, -(-span.stop // COLUMNS)
    number = first
    while number < end:
        start, stop = max(0, span.start - number * COLUMNS), min(COLUMNS, span.stop - number * COLUMNS)
        last = number
        if start == 0 and stop == COLUMNS:
            whole = span.stop // COLUMNS - number
            last = number + whole - 1 if whole >= _LONG else number
        if box.cell.open:
            stop = COLUMNS
        yield (
            number,
            last,
            replace(
                box.cell, start=start, stop=stop, part=part, before=number > first, behind=last + 1 < end
            ),
        )
        number = last + 1

"""Bytes beside the fields that they are: rows for one record, and tables of rows for people.

The walk is codec.locate's, so that places, paths and faults are those of every error message. Bytes that
are no record are annotated as far as they can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wirelock.codec.locate import LayoutReader, scalar_from_bits
from wirelock.codec.trail import Found, Mark, Trail, value_text
from wirelock.errors import piece_text
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Nothing,
    Optional,
    Padded,
    Padding,
    Prefix,
    Sized,
    Switch,
    Type,
    plain,
)
from wirelock.layout.positions import pieces_at

__all__ = ["Row", "annotate", "listing", "side_by_side"]

_SHOWN: Final = 8
"""Bytes of one field that a table shows."""
_FULL: Final = 24
"""Tables with more rows leave out those far from a difference."""
_AROUND: Final = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One field of a record, or bytes that are none: `path` is then empty and `value` says why.

    `octets` is empty for a field that does not fill its bytes; `bits` are then its digits.
    """

    place: str
    path: str
    octets: bytes
    bits: str
    value: str


def annotate(layout: Layout, data: bytes) -> list[Row]:
    """Return the fields of `data` in wire order, and behind them what is no field."""
    reader, fault = LayoutReader(data, Trail()), None
    try:
        reader.read(layout, "", None)
    except Found as found:
        fault = found.fault
    leaves, end = list(_leaves(reader.trail.marks, data)), reader.bit
    cut = fault is not None and fault.code == "truncated"
    if fault is not None and cut:
        last = reader.trail.marks[-1]
        if isinstance(plain(last.kind), Array) and last.path != fault.path:
            leaves += _elements(last, data)  # counted by division, so that none has a mark
        end = 8 * len(data)
    told = "" if fault is None else "cut short" if cut else "?"
    stops = [*(leaf.bit for leaf in leaves[1:]), end][: len(leaves)]
    rows = [
        _row(leaf, stop, data, told if leaf is leaves[-1] else "")
        for leaf, stop in zip(leaves, stops, strict=True)
        if stop > leaf.bit or (cut and leaf is leaves[-1])
    ]
    if end < 8 * len(data):
        first = (end + 7) // 8
        told = "after the end" if fault is None else "not read"
        rows.append(Row(_place(first, len(data)), "", data[first:], "", told))
    return rows


def _leaves(marks: Iterable[Mark], data: bytes) -> Iterator[Mark]:
    """Yield the marks that are bytes; the count before an array has none of its own and is given one."""
    for mark in marks:
        match plain(mark.kind):
            case Array(count=Prefix(integer=Integer() as integer)):
                yield _number(integer, f"{mark.path} (count)", mark.bit, data)
            case (
                Layout()
                | Array()
                | If()
                | Optional()
                | Switch()
                | Sized()
                | Padded()
                | Nothing()
                | Computed()
            ):
                pass
            case _:
                yield mark


def _elements(mark: Mark, data: bytes) -> Iterator[Mark]:
    """Yield the numbers of an array, the last of which does not fit any more."""
    array = plain(mark.kind)
    assert isinstance(array, Array)
    element, bit, number = plain(array.element), mark.bit, 0
    if isinstance(array.count, Prefix) and isinstance(array.count.integer, Integer):
        bit += array.count.integer.bits
    integer = element.integer if isinstance(element, Enum) else element
    if not isinstance(integer, Integer) or bit > 8 * len(data):
        return
    while True:
        found = _number(integer, f"{mark.path}[{number}]", bit, data)
        yield Mark(element, found.path, bit, found.value)
        if found.value is None:
            return
        bit, number = bit + integer.bits, number + 1


def _number(kind: Integer, path: str, bit: int, data: bytes) -> Mark:
    stop = bit + kind.bits
    last = (stop + 7) // 8
    if last > len(data):
        return Mark(kind, path, bit)
    raw = int.from_bytes(data[bit // 8 : last], "big") >> (8 * last - stop) & ((1 << kind.bits) - 1)
    return Mark(kind, path, bit, scalar_from_bits(raw, kind)[0])


def _place(first: int, stop: int) -> str:
    return str(first) if stop <= first + 1 else f"{first}..{stop - 1}"


def _row(leaf: Mark, stop: int, data: bytes, told: str) -> Row:
    """Return the row of one field; `told` stands for a value that could not be read."""
    value = told if leaf.value is None and told else _value_text(leaf.kind, leaf.value)
    first, last = leaf.bit // 8, (stop + 7) // 8
    if leaf.bit % 8 == 0 and stop % 8 == 0:
        return Row(_place(first, last), leaf.path, data[first:last], "", value)
    pieces = pieces_at(leaf.bit, leaf.kind)
    place = " + ".join(piece_text(byte, mask) for byte, mask in pieces) if pieces else f"byte {first}"
    raw = int.from_bytes(data[first:last], "big") >> (8 * last - stop)
    width = stop - leaf.bit
    digits = f"{raw & ((1 << width) - 1):0{width}b}"
    return Row(place.removeprefix("byte "), leaf.path, b"", digits, value)


def _value_text(kind: Type, value: Any) -> str:
    inner = plain(kind)
    match inner:
        case Padding():
            return "padding"
        case Constant() | Bytes():
            return "" if isinstance(value, bytes) or value is None else str(value)
        case Enum(members=members):
            names = [name for name, member in members if member == value]
            return f"{value} {names[0]}" if names else str(value)
        case Flags(members=members):
            number = int(value or 0)
            names = [name for name, mask in members if mask and number & mask == mask]
            return f"{value} {'|'.join(names)}".rstrip()
        case Float(bits=bits) if isinstance(value, float):
            return f"{value:.{ {16: 5, 32: 9, 64: 17}[bits] }g}"
    return value_text(value)


# -- tables


def listing(layout: Layout, data: bytes, path: str = "") -> list[str]:
    """Return one record as a table: offset, field, hex, value; the field at `path` is marked with >."""
    rows = annotate(layout, data)
    inside = (f"{path}.", f"{path}[")
    marked = [bool(path) and (row.path == path or row.path.startswith(inside)) for row in rows]
    table = [["", "at", "field", "bytes", "value"]]
    for number in _kept(marked):
        if number is None:
            table.append(["", "...", "", "", ""])
            continue
        row = rows[number]
        table.append([">" if marked[number] else "", row.place, row.path, _octets_text(row, 0), row.value])
    return _aligned(table)


def side_by_side(layout: Layout, left: bytes, right: bytes, titles: tuple[str, str]) -> list[str]:
    """Return two byte strings of one layout as a table by field; what differs is marked with >."""
    pairs = list(_paired(annotate(layout, left), annotate(layout, right)))
    marked = [a is None or b is None or (a.octets, a.bits) != (b.octets, b.bits) for a, b in pairs]
    table = [["", "at", "field", titles[0], "", titles[1], ""]]
    for number in _kept(marked):
        if number is None:
            table.append(["", "...", "", "", "", "", ""])
            continue
        a, b = pairs[number]
        places = dict.fromkeys(row.place for row in (a, b) if row is not None)
        path = next(row.path for row in (a, b) if row is not None)
        table.append([">" if marked[number] else "", " | ".join(places), path, *_cells(a, b), *_cells(b, a)])
    return _aligned(table)


def _paired(left: Sequence[Row], right: Sequence[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    """Pair rows by path, in the order of both."""
    theirs = {row.path for row in right}
    ours = {row.path for row in left}
    at = 0
    for row in left:
        if row.path not in theirs:
            yield row, None
            continue
        while at < len(right) and right[at].path not in ours:
            yield None, right[at]
            at += 1
        if at < len(right) and right[at].path == row.path:
            yield row, right[at]
            at += 1
        else:
            yield row, None
    for row in right[at:]:
        yield None, row


def _cells(row: Row | None, other: Row | None) -> tuple[str, str]:
    if row is None:
        return "-", ""
    theirs = other.octets if other is not None else b""
    same = next((i for i, (a, b) in enumerate(zip(row.octets, theirs, strict=False)) if a != b), 0)
    return _octets_text(row, same), row.value


def _octets_text(row: Row, first: int) -> str:
    """Return a row's bytes in hex, from a little before byte `first` if they are many."""
    if row.bits:
        return f"0b{row.bits}"
    start = max(0, first - 2) if len(row.octets) > _SHOWN else 0
    shown = row.octets[start : start + _SHOWN].hex(" ")
    before = f"({start} bytes) " if start else ""
    after = len(row.octets) - start - _SHOWN
    return before + shown + (f" (+{after})" if after > 0 else "")


def _kept(marked: Sequence[bool]) -> Iterator[int | None]:
    """Yield the numbers of the rows to show, and None where some are left out."""
    count = len(marked)
    if count <= _FULL:
        yield from range(count)
        return
    centres = [0, *(number for number, mark in enumerate(marked) if mark), count - 1]
    near = {other for number in centres for other in range(number - _AROUND, number + _AROUND + 1)}
    keep = [number in near for number in range(count)]
    for number, kept in enumerate(keep):
        if kept:
            yield number
        elif number == 0 or keep[number - 1]:
            yield None


def _aligned(table: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = []
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cell for cell, width in zip(cells, widths, strict=True) if width).rstrip())
    return lines

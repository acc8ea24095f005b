"""Bytes beside the fields that they are: rows for one record, and tables of rows for people.

The rows are codec.readout's without those that only hold others. Bytes that are no record are annotated as
far as they can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wirelock.codec import readout
from wirelock.codec.words import octets_words, words
from wirelock.errors import piece_text
from wirelock.layout.nodes import Layout

__all__ = ["Row", "annotate", "listing", "side_by_side"]

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
    rows = readout.read_out(layout, data).rows
    return [_row(row) for row in rows if not row.group and (row.end > row.bit or row.state == readout.CUT)]


def _row(row: readout.Row) -> Row:
    first, stop = row.bit // 8, -(-row.end // 8)
    place = str(first) if stop <= first + 1 else f"{first}..{stop - 1}"
    path = f"{row.path} ({row.part})" if row.path and row.part else row.path
    if row.state or not (row.path and row.part in ("", "count", "size")):
        value = row.state or row.part
    else:
        value = " ".join(words(row.kind, row.value)).strip()
    if not row.pieces:
        return Row(place, path, row.octets, "", value)
    place = " + ".join(piece_text(byte, mask) for byte, mask in row.pieces)
    return Row(place.removeprefix("byte "), path, b"", row.digits, value)


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
        table.append([">" if marked[number] else "", row.place, row.path, _octets_text(row), row.value])
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
    return _octets_text(row, theirs), row.value


def _octets_text(row: Row, other: bytes = b"") -> str:
    return f"0b{row.bits}" if row.bits else octets_words(row.octets, other)


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

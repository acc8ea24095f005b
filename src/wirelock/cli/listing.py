"""An inspected record as lines for people: a table of its rows, and the bytes around its fault.

Offsets count from the start of the datagram, as in every fault. Long arrays and values are cut unless all
of them are asked for; the row of the fault never is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypeAlias

import click
from rich.cells import cell_len

from wirelock.codec.readout import AFTER, NOT_READ, Readout, Row
from wirelock.codec.words import words
from wirelock.layout.nodes import Array, plain
from wirelock.schema.inspection import Inspected
from wirelock.shown import escaped

__all__ = ["lines"]

_FIRST: Final = 8
"""The elements of a long array that are shown, before its last."""
_OCTETS: Final = 8
"""The bytes of a row in one line."""
_TEXT: Final = 40
"""The characters of a value in a line."""
_DUMP: Final = 16
"""The bytes of a line around a fault."""

Paint: TypeAlias = Callable[[str, str], str]


def lines(found: Inspected, data: bytes, *, whole: bool, colour: bool) -> Iterator[str]:
    """Yield the table of one record of `data` and, where there is a fault, its place and the reason."""

    def paint(text: str, style: str) -> str:
        return click.style(text, **_STYLES[style]) if colour and text else text

    cells = list(_cells(found, whole))
    filled = [any(row[column] for row in cells) for column in range(len(_HEAD))]
    table = [_HEAD, *cells]
    widths = [
        max(cell_len(row[column]) for row in table) if is_filled else 0
        for column, is_filled in enumerate(filled)
    ]
    for row in table:
        style = "head" if row is _HEAD else "fault" if row[0] else ""
        yield _aligned(row, widths, style, paint)
    if found.error is not None:
        yield ""
        yield from _around(found, data, paint)
        yield paint(escaped(str(found.error)), "fault")


_HEAD: Final = ("", "at", "bits", "bytes", "field", "value", "meaning")
_STYLES: Final[dict[str, dict[str, Any]]] = {
    "head": {"bold": True}, "fault": {"fg": "red", "bold": True}, "at": {"dim": True}, "bits": {"dim": True},
    "bytes": {"fg": "cyan"}, "field": {}, "value": {"fg": "green"}, "meaning": {"fg": "yellow"},
}  # fmt: skip


def _aligned(row: Sequence[str], widths: Sequence[int], style: str, paint: Paint) -> str:
    parts = []
    for column, (name, cell, width) in enumerate(zip(_HEAD, row, widths, strict=True)):
        if not width:
            continue
        gap = " " * (width - cell_len(cell))
        text = paint(cell, style or name) if name or style else cell
        parts.append(gap + text if name == "at" else text + gap if column < len(row) - 1 else text)
    return "  ".join(parts).rstrip()


def _cells(found: Inspected, whole: bool) -> Iterator[tuple[str, ...]]:
    """Yield the cells of a table: what is marked, offset, bits, bytes, field, value, meaning."""
    readout = found.readout
    rows, faulty = readout.rows, readout.faulty
    for number, row in _shown(readout, whole):
        if isinstance(row, _Gap):
            told = f"{row.elements} more elements, {row.octets} bytes; --all shows them"
            yield "", "...", "", "", f"{'  ' * row.depth}... {row.last}", "", told
            continue
        mark = ">" if number == faulty else ""
        value, meaning = _words(row)
        if mark and found.error is not None:
            meaning = f"{found.error.code}: {found.error.fault.message}"
        value, meaning = escaped(value), escaped(meaning)
        if not whole:
            value, meaning = _shortened(value), _shortened(meaning)
        at = str(found.start + row.bit // 8)
        field = "  " * row.depth + _name(row)
        octets = _octets(row, whole)
        yield mark, at, _bits(row, found.start), octets[0], field, value, meaning
        for more, line in enumerate(octets[1:], 1):
            yield "", str(found.start + row.bit // 8 + more * _OCTETS), "", line, "", "", ""
    if not rows:
        yield "", str(found.start), "", "", "", "", "no fields"


def _name(row: Row) -> str:
    if not row.path or row.part == AFTER:
        return f"({row.part})"
    name = row.path.rpartition(".")[2]
    return f"{name} ({row.part})" if row.part else name


def _words(row: Row) -> tuple[str, str]:
    if row.state:
        return "", row.state
    if row.part in ("padding", "terminator"):
        return "", row.part
    if row.part in (AFTER, NOT_READ):
        count = len(row.octets)
        return "", f"{count} byte{'' if count == 1 else 's'}"
    return words(row.kind, row.value)


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 3]}..."


def _octets(row: Row, whole: bool) -> list[str]:
    """Return a row's bytes in hex, in one line or as many as they need."""
    octets = row.octets
    if len(octets) <= _OCTETS:
        return [octets.hex(" ")]
    if whole:
        return [octets[at : at + _OCTETS].hex(" ") for at in range(0, len(octets), _OCTETS)]
    return [f"{octets[: _OCTETS - 2].hex(' ')} +{len(octets) - _OCTETS + 2}"]


def _bits(row: Row, start: int) -> str:
    """Return which bits a row has, from its most significant on: `7..2`, `3..0 + byte 6`."""
    texts: list[str] = []
    at = row.bit // 8
    for (byte, _), pieces in groupby(row.pieces, lambda piece: (piece[0], piece[1].bit_count() > 1)):
        masks = [mask for _, mask in pieces]
        high, low = masks[0].bit_length() - 1, masks[-1].bit_length() - masks[-1].bit_count()
        bits = str(high) if high == low else f"{high}..{low}"
        word = "bit" if high == low else "bits"
        if byte == at and not texts:
            texts.append(bits)
        else:
            texts.append(f"byte {start + byte}" if masks[0] == 0xFF else f"byte {start + byte} {word} {bits}")
    return " + ".join(texts)


@dataclass(frozen=True, slots=True)
class _Gap:
    """Elements that are left out, up to the `last`; `stop` is the row behind them."""

    last: str
    depth: int
    elements: int
    octets: int
    stop: int


def _shown(readout: Readout, whole: bool) -> Iterator[tuple[int, Row | _Gap]]:
    """Yield the rows to show with their numbers, and in the place of elements left out the gap."""
    rows = readout.rows
    left_out: dict[int, _Gap] = {}
    for number, row in enumerate(rows):
        if row.group and isinstance(plain(row.kind), Array) and not whole:
            left_out.update(_left_out(rows, number, readout.faulty))
    number = 0
    while number < len(rows):
        if number in left_out:
            yield number, left_out[number]
            number = left_out[number].stop
        else:
            yield number, rows[number]
            number += 1


def _left_out(rows: Sequence[Row], number: int, faulty: int | None) -> Iterator[tuple[int, _Gap]]:
    """Yield the first row of each run of an array's elements that is not shown, and the gap."""
    array = rows[number]
    prefix = f"{array.path}["
    starts: list[int] = []
    stop = number + 1
    while stop < len(rows) and rows[stop].depth > array.depth:
        if rows[stop].path.startswith(prefix):
            element = int(rows[stop].path[len(prefix) :].partition("]")[0])
            if element == len(starts):
                starts.append(stop)
        stop += 1
    stops = [*starts[1:], stop]
    if len(starts) <= _FIRST + 2:
        return
    kept = {*range(_FIRST), len(starts) - 1}
    kept |= {i for i in range(len(starts)) if faulty is not None and starts[i] <= faulty < stops[i]}
    for hidden, run in groupby(range(len(starts)), lambda element: element not in kept):
        elements = list(run)
        if hidden:
            first, last = elements[0], elements[-1]
            octets = -(-(rows[stops[last] - 1].end - rows[starts[first]].bit) // 8)
            label = f"{array.path.rpartition('.')[2]}[{last}]"
            yield starts[first], _Gap(label, array.depth + 1, len(elements), octets, stops[last])


# -- the place of a fault


def _around(found: Inspected, data: bytes, paint: Paint) -> Iterator[str]:
    """Yield lines of bytes with the place of the fault underlined, below a byte to the bit."""
    spot = found.readout.spot
    if spot is None:
        return
    first, stop = found.start + spot[0], found.start + max(spot[1], spot[0] + 1)
    there = data + bytes(max(0, min(stop, first + _DUMP) - len(data)))
    line = first // _DUMP * _DUMP
    side = len(str(line + 2 * _DUMP))
    for at in range(max(0, line - _DUMP), min(stop, line + 2 * _DUMP), _DUMP):
        octets = range(at, min(at + _DUMP, len(there)))
        cells = [f"{there[byte]:02x}" if byte < len(data) else "--" for byte in octets]
        yield f"{paint(f'{at:>{side}}', 'at')}  {' '.join(cells)}".rstrip()
        under = " ".join("^^" if first <= byte < stop else "  " for byte in octets).rstrip()
        if under:
            yield f"{' ' * side}  {paint(under, 'fault')}"
    shown = min(stop, line + 2 * _DUMP)
    if shown < min(stop, len(data)):
        yield f"{' ' * side}  and {min(stop, len(data)) - shown} more"
    masks: dict[int, int] = {}
    for byte, mask in found.error.pieces if found.error is not None else ():
        masks[byte] = masks.get(byte, 0) | mask
    for byte, mask in sorted(masks.items()):
        if mask != 0xFF and byte < len(data):
            yield f"{' ' * side}  byte {byte} is {data[byte]:08b}"
            under = "".join("^" if mask & 0x80 >> bit else " " for bit in range(8)).rstrip()
            yield f"{' ' * side}  {' ' * len(f'byte {byte} is ')}{paint(under, 'fault')}"

"""A map of bytes in plain text: a row is four bytes, two characters a bit, offsets along the side.

Bit 7 of each byte is on the left, as RFCs draw it; bits are numbered where a box ends within a byte. A
field that goes on in the next row says so with two dots, one of no fixed size ends in a tilde, and a
name that does not fit is cut with one: the table of fields has it in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from unicodedata import east_asian_width

from wirelock.layout.bytemap import COLUMNS, ByteMap, Cell, Row, Section, byte_maps
from wirelock.layout.describe import size_text
from wirelock.layout.nodes import Layout
from wirelock.layout.sizes import size_of

__all__ = ["columns_of", "cut", "heading", "shorten", "text_map"]

_MARGIN: Final = 7


def text_map(layout: Layout) -> Iterator[str]:
    """Yield the lines of a layout's map, and of the records inside that have maps of their own."""
    for number, drawn in enumerate(byte_maps(layout)):
        if number:
            yield ""
            yield heading(drawn)
        if not drawn.sections:
            yield " " * _MARGIN + "(no bytes)"
        for section in drawn.sections:
            yield from _section_lines(section)


def heading(drawn: ByteMap) -> str:
    """Return the title of a record's map: where it stands, its name and its size."""
    paths = ", ".join(drawn.paths[:3]) + (f" and {len(drawn.paths) - 3} more" if drawn.paths[3:] else "")
    name = f"{drawn.layout.name or 'record'}, {size_text(size_of(drawn.layout))}"
    return f"{paths}: {name}" if paths else name


def _labels(cell: Cell) -> Iterator[str]:
    """Yield what a cell may be called, the fullest first."""
    full = f"{cell.label} {cell.part}".rstrip()
    yield f"{'.. ' if cell.before else ''}{full}{' ..' if cell.behind or cell.open else ''}"
    yield full
    last = cell.label.rpartition(".")[2]
    if "." in cell.label:
        yield f".{last} {cell.part}".rstrip()
    yield cell.label
    if "." in cell.label:
        yield f".{last}"


def shorten(cell: Cell, width: int) -> str:
    """Return the fullest name of a cell that fits so many columns, or as much of one as does."""
    names = list(_labels(cell))
    for name in names:
        if columns_of(name) <= width:
            return name
    return cut(names[-1].lstrip("."), width)


def cut(text: str, width: int) -> str:
    """Return text that fits so many columns; a tilde stands for what is left out where there is room."""
    if columns_of(text) <= width:
        return text
    most = width if width < 3 else width - 1
    while columns_of(text) > most:
        text = text[:-1]
    return text if width < 3 else f"{text}~"


def columns_of(text: str) -> int:
    """Return how many columns of a terminal, or of any monospaced font, a text takes."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _section_lines(section: Section) -> Iterator[str]:
    columns = section.columns
    if section.after is not None:
        yield f"  after {section.after}"
    yield "".join([" " * (_MARGIN + 1), *(f"{f'+{byte}':^16}" for byte in range(columns // 8))]).rstrip()
    if section.bits:
        yield " " * (_MARGIN + 1) + " ".join("7 6 5 4 3 2 1 0" for _ in range(columns // 8))
    above: Row | None = None
    for row in section.rows:
        yield _border(above, row, columns)
        yield _row_line(row)
        above = row
    yield _border(above, None, columns)


def _row_line(row: Row) -> str:
    line = [" "] * (2 * COLUMNS + 1)
    for cell in row.cells:
        edge = "~" if row.long else "|"
        line[2 * cell.start] = edge
        line[2 * cell.stop] = "~" if cell.open else edge
        width = 2 * (cell.stop - cell.start) - 1
        name = shorten(cell, width)
        if row.long:
            name = f"{name} ({row.last - row.byte + 1} bytes)"
        before = (width - columns_of(name)) // 2
        behind = width - columns_of(name) - before
        line[2 * cell.start + 1 : 2 * cell.stop] = [
            " " * before + name + " " * behind,
            *[""] * (width - 1),
        ]
    return f"{row.byte:>{_MARGIN - 1}} {''.join(line).rstrip()}"


def _border(above: Row | None, below: Row | None, columns: int) -> str:
    """Return the line between two rows: none inside of a box that is in both."""
    line = [" "] * (2 * columns + 1)
    cells = [(row, cell) for row in (above, below) if row is not None for cell in row.cells]
    for _, cell in cells:
        for at in range(2 * cell.start, 2 * cell.stop + 1):
            # Dots stand for the end of a box that is not known.
            line[at] = "-" if not cell.open or line[at] == "-" or at % 2 == 0 else " "
    if above is not None and below is not None:
        for upper in above.cells:
            for lower in below.cells:
                if upper.behind and lower.before and (upper.label, upper.part) == (lower.label, lower.part):
                    start, stop = max(upper.start, lower.start), min(upper.stop, lower.stop)
                    line[2 * start + 1 : 2 * stop] = " " * max(0, 2 * (stop - start) - 1)
    for _, cell in cells:
        for at in (2 * cell.start, 2 * cell.stop):
            line[at] = "+"
    return " " * _MARGIN + "".join(line).rstrip()

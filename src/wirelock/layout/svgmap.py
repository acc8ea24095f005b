"""A map of bytes as one SVG document: the boxes of textmap, with each field's type and place as a tooltip.

Self-contained: no scripts, no fonts but the reader's own, colours for light and dark. A name that does not
fit its box is cut; its tooltip has it in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from wirelock.layout.bytemap import COLUMNS, ByteMap, Cell, Row, Section, byte_maps
from wirelock.layout.nodes import Layout
from wirelock.layout.textmap import columns_of, cut, heading, shorten

__all__ = ["svg_map"]

_BIT: Final = 20
_SIDE: Final = 56
_ROW: Final = 44
_LINE: Final = 22
_GLYPH: Final = 8.5
"""The width of a character of 14 px in any monospaced font, or a little more."""
_SMALL: Final = 6.7
"""The same of 11 px."""
_WIDTH: Final = _SIDE + COLUMNS * _BIT + 16

_STYLE: Final = """\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
.head { font-weight: bold }
.at { font-size: 11px; fill: #59636e }
.box { fill: #f6f8fa; stroke: #59636e }
.open { stroke-dasharray: 5 4 }
.name { text-anchor: middle }
.at { text-anchor: middle }
.side { text-anchor: end }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .at { fill: #9198a1 }
  .box { fill: #151b23; stroke: #9198a1 }
}"""


def svg_map(layout: Layout, title: str) -> str:
    """Return the document, which ends with a newline; `title` stands above the first map."""
    body: list[str] = []
    y = 8
    for drawn in byte_maps(layout):
        y = _draw(drawn, title if not drawn.paths else heading(drawn), y, body)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" height="{y}"'
        ' role="img">'
    )
    style = f"<style>\n{_STYLE}\n</style>"
    return "\n".join([head, f"<title>{escape(title)}</title>", style, *body, "</svg>"]) + "\n"


def _draw(drawn: ByteMap, title: str, y: int, body: list[str]) -> int:
    """Add one map below `y`, and return where it ends."""
    y += _LINE
    body.append(f'<text class="head" x="8" y="{y - 6}">{_fitted(title, _WIDTH - 16)}</text>')
    for section in drawn.sections:
        if section.after is not None:
            y += _LINE
            after = _fitted(f"after {section.after}", _WIDTH - _SIDE)
            body.append(f'<text x="{_SIDE}" y="{y - 6}">{after}</text>')
        y += _LINE
        body += _scale(section, y - 7)
        for row in section.rows:
            body += _row(row, y)
            y += _ROW
        y += 8
    return y + 8


def _scale(section: Section, y: int) -> Iterator[str]:
    """Yield the offsets above the columns, or the bits where boxes end within bytes."""
    step = 1 if section.bits else 8
    for column in range(0, section.columns, step):
        x = _SIDE + _BIT * (column + step / 2)
        told = str(7 - column % 8) if section.bits else f"+{column // 8}"
        yield f'<text class="at" x="{x:g}" y="{y}">{told}</text>'


def _row(row: Row, y: int) -> Iterator[str]:
    yield f'<text class="at side" x="{_SIDE - 8}" y="{y + _ROW // 2 + 4}">{row.byte}</text>'
    for cell in row.cells:
        x, width = _SIDE + _BIT * cell.start, _BIT * (cell.stop - cell.start)
        name = shorten(cell, int((width - 4) / _GLYPH))
        note = _note(cell, row, width)
        told = f"{cell.label} {cell.part}".rstrip()
        middle = x + width / 2
        lines = [
            "<g>",
            f"<title>{escape(f'{told}: {cell.words}, {cell.place}')}</title>",
            f'<rect class="box{" open" if cell.open else ""}" x="{x}" y="{y}" width="{width}"'
            f' height="{_ROW}"/>',
            f'<text class="name" x="{middle:g}" y="{y + (20 if note else 27)}">{escape(name)}</text>',
        ]
        if note:
            lines.append(f'<text class="at" x="{middle:g}" y="{y + 36}">{escape(note)}</text>')
        yield "".join([*lines, "</g>"])


def _note(cell: Cell, row: Row, width: int) -> str:
    """Return the small line in a box: the type where it fits, or how many bytes a long row stands for."""
    if row.long:
        return f"{row.last - row.byte + 1} bytes"
    fits = not cell.before and columns_of(cell.words) * _SMALL <= width - 4
    return cell.words if fits else ""


def _fitted(text: str, width: int) -> str:
    return escape(cut(text, int(width / _GLYPH)))

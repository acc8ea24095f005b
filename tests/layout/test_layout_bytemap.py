"""Maps of bytes: every field where it lies, no two boxes on one bit, in text and as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from unicodedata import east_asian_width

import pytest
from construct import (
    Aligned,
    Array,
    BitsInteger,
    BitsSwapped,
    BitStruct,
    Byte,
    Bytes,
    Bytewise,
    Const,
    FixedSized,
    Flag,
    Float32l,
    GreedyBytes,
    If,
    Int8ul,
    Int16ul,
    Int32ub,
    Int64ul,
    Nibble,
    Padded,
    Padding,
    PascalString,
    Pass,
    PrefixedArray,
    Struct,
    Switch,
    VarInt,
    this,
)
from hypothesis import HealthCheck, given, settings

from tests.strategies import layouts
from wirelock import LsbBitStruct
from wirelock.layout.bytemap import COLUMNS, byte_maps
from wirelock.layout.nodes import Layout, plain
from wirelock.layout.sizes import size_of
from wirelock.layout.svgmap import svg_map
from wirelock.layout.textmap import text_map
from wirelock.layout.walk import walk

MAPS = {
    "bits": (
        BitStruct(
            "flags" / BitsInteger(6), "largest_index" / BitsInteger(2), "a" / Bytewise(Int16ul), "f" / Flag,
            Padding(3), "low" / BitsInteger(12),
        ),
        """\
               +0              +1              +2              +3
        7 6 5 4 3 2 1 0 7 6 5 4 3 2 1 0 7 6 5 4 3 2 1 0 7 6 5 4 3 2 1 0
       +-----------+---+-------------------------------+-+-----+-------+
     0 |   flags   |la~|               a               |f|padd~|low .. |
       +-----------+---+-------------------------------+-+-----+-------+
     4 |    .. low     |
       +---------------+""",
    ),
    "least significant first": (
        Struct("w" / LsbBitStruct("id" / BitsInteger(20), "kind" / BitsInteger(12)), "z" / Byte),
        """\
               +0              +1              +2              +3
        7 6 5 4 3 2 1 0 7 6 5 4 3 2 1 0 7 6 5 4 3 2 1 0 7 6 5 4 3 2 1 0
       +---------------+---------------+-------+-------+---------------+
     0 |   w.id 7..0   |  w.id 15..8   |w.kind | w.id  | w.kind 11..4  |
       +---------------+---------------+-------+-------+---------------+
     4 |       z       |
       +---------------+""",
    ),
    "bits swapped": (
        BitsSwapped(BitStruct("a" / BitsInteger(3), "b" / BitsInteger(5))),
        """\
               +0
        7 6 5 4 3 2 1 0
       +---------+-----+
     0 | b 0..4  |  a  |
       +---------+-----+""",
    ),
    "a field of no fixed size, and what is behind it": (
        Struct("n" / Byte, "data" / Bytes(this.n), "p" / Struct("x" / Int16ul), "end" / Byte),
        """\
               +0              +1              +2              +3
       +---------------+ - - - - - - - - - - - - - - - - - - - - - - - +
     0 |       n       |                    data ..                    ~
       +---------------+ - - - - - - - - - - - - - - - - - - - - - - - +
  after data
               +0              +1              +2
       +-------------------------------+---------------+
     0 |              p.x              |      end      |
       +-------------------------------+---------------+""",
    ),
    "a field of many rows": (
        Struct("n" / Byte, "data" / Bytes(64), "end" / Int32ub),
        """\
               +0              +1              +2              +3
       +---------------+-----------------------------------------------+
     0 |       n       |                    data ..                    |
       +---------------+                                               +
     4 ~                     .. data .. (60 bytes)                     ~
       +               +-----------------------------------------------+
    64 |    .. data    |                    end ..                     |
       +---------------+-----------------------------------------------+
    68 |    .. end     |
       +---------------+""",
    ),
    "records in arrays and choices": (
        Struct(
            "k" / Byte,
            "two" / Array(2, Struct("u" / Byte)),
            "many" / Array(9, Struct("u" / Byte)),
            "xs" / PrefixedArray(Int16ul, Struct("v" / Int16ul)),
            "pick" / Switch(this.k, {1: Struct("q" / Int16ul), 2: Struct("v" / Int16ul)}, default=Pass),
        ),
        """\
               +0              +1              +2              +3
       +---------------+---------------+---------------+---------------+
     0 |       k       |   two[0].u    |   two[1].u    |    many ..    |
       +---------------+---------------+---------------+               +
     4 |                          .. many ..                           |
       +                                                               +
     8 |                            .. many                            |
       +-------------------------------+-------------------------------+
    12 |          xs (count)           |             xs ..             ~
       +-------------------------------+ - - - - - - - - - - - - - - - +
  after xs
               +0              +1
       +-------------------------------+
     0 |             pick              |
       +-------------------------------+

many[]: record, 1 byte
               +0
       +---------------+
     0 |       u       |
       +---------------+

xs[], pick{2}: record, 2 bytes
               +0              +1
       +-------------------------------+
     0 |               v               |
       +-------------------------------+

pick{1}: record, 2 bytes
               +0              +1
       +-------------------------------+
     0 |               q               |
       +-------------------------------+""",
    ),
    "regions": (
        Struct(
            "pad" / Padded(4, Struct("u" / Int16ul)),
            "fix" / FixedSized(2, Struct("a" / Byte, "b" / Byte)),
            "al" / Aligned(2, Byte),
            "name" / PascalString(VarInt, "utf8"),
            "rest" / GreedyBytes,
        ),
        """\
               +0              +1              +2              +3
       +-------------------------------+-------------------------------+
     0 |             pad.u             |         pad (padding)         |
       +---------------+---------------+-------------------------------+
     4 |     fix.a     |     fix.b     |              al               |
       +---------------+---------------+-------------------------------+
     8 |                            name ..                            ~
       + - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - +
  after name
               +0              +1              +2              +3
       + - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - +
     0 |                            rest ..                            ~
       + - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - +""",
    ),
    "no bytes": (Struct("nothing" / Pass), "       (no bytes)"),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_a_map_in_text(name):
    source, expected = MAPS[name]
    assert "\n".join(text_map(walk(source))) == expected


# -- laws


def bits_of(section):
    """Return {bit: cell} of a section, with long rows as the many that they are; no two cells share one."""
    found = {}
    for row in section.rows:
        for at in range(row.byte, row.last + 1, COLUMNS // 8):
            for cell in row.cells:
                for column in range(cell.start, cell.stop):
                    assert 8 * at + column not in found
                    found[8 * at + column] = cell
    return found


def leaves(layout, path=""):
    """Yield (path, position, bits) of the fields of fixed size that lie where a layout's positions say."""
    for item in layout.fields:
        label = f"{path}.{item.label}" if path else item.label
        size = size_of(item.type)
        if isinstance(plain(item.type), Layout) and size.fixed:
            continue
        if size.fixed and size.lowest:
            yield label, item.position, size.lowest


laws = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@laws
@given(layouts(fields=6))
def test_every_field_is_where_its_position_says(source):
    for drawn in byte_maps(walk(source)):
        sections = {section.after: bits_of(section) for section in drawn.sections}
        for path, position, size in leaves(drawn.layout):
            bits = sections[position.after]
            if position.pieces:
                wanted = {
                    8 * byte + bit for byte, mask in position.pieces for bit in range(8) if mask & 0x80 >> bit
                }
            else:
                wanted = set(range(8 * position.byte, 8 * position.byte + size))
            named = {
                bit for bit in wanted if bits[bit].label.partition("[")[0].split(" ")[0].startswith(path)
            }
            assert named == wanted, path


@laws
@given(layouts(fields=6))
def test_lines_fit_a_terminal_and_end_in_an_edge(source):
    for line in text_map(walk(source)):
        assert line == line.rstrip()
        if line[:7].strip().isdigit():
            assert len(line) <= 72
            assert line[-1] in "|~"


NAMESPACE = "{http://www.w3.org/2000/svg}"
CHARACTER = {"head": 8.43, "name": 8.43, "at": 6.62, "": 8.43}


def drawing(layout):
    """Return the width of an SVG document, its boxes as (x, y, width, height, texts, title), other texts."""
    text = svg_map(layout, "a <title> & more")
    root = ElementTree.fromstring(text)
    assert root.tag == f"{NAMESPACE}svg"
    assert root.find(f"{NAMESPACE}title").text == "a <title> & more"
    assert "<script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "prefers-color-scheme: dark" in text
    boxes = []
    for group in root.iter(f"{NAMESPACE}g"):
        rect = group.find(f"{NAMESPACE}rect")
        x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        boxes.append(
            (x, y, width, height, group.findall(f"{NAMESPACE}text"), group.find(f"{NAMESPACE}title"))
        )
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    for x, y, wide, high, *_ in boxes:
        assert x >= 0 and x + wide <= width and y >= 0 and y + high <= height
    return width, boxes, root.findall(f"{NAMESPACE}text")


def wide(text):
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


@laws
@given(layouts(fields=6))
def test_boxes_do_not_overlap_and_their_texts_fit(source):
    width, boxes, texts = drawing(walk(source))
    for number, (x, y, wide_box, high, inside, title) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            apart = (
                x + wide_box <= other[0] or other[0] + other[2] <= x
                or y + high <= other[1] or other[1] + other[3] <= y
            )  # fmt: skip
            assert apart
        assert title.text
        for text in inside:
            half = wide(text.text or "") * CHARACTER[text.get("class").split()[0]] / 2
            assert x <= float(text.get("x")) - half and float(text.get("x")) + half <= x + wide_box
            assert y < float(text.get("y")) < y + high
    for text in texts:
        if text.get("class") in (None, "head"):
            assert float(text.get("x")) + wide(text.text) * CHARACTER[text.get("class") or ""] <= width


def test_names_that_do_not_fit_are_cut_and_in_the_title():
    layout = walk(
        Struct("数" * 30 / Byte, "b" * 200 / PrefixedArray(VarInt, Struct("q" / Float32l)), "c" / Byte)
    )
    _, boxes, _ = drawing(layout)
    for *_, inside, title in boxes:
        assert (inside[0].text or "").rstrip("~. ") in title.text
    assert boxes[0][4][0].text.endswith("~")
    assert boxes[0][5].text == "数" * 30 + ": uint8, byte 0"


def test_the_title_of_a_box_says_type_and_place():
    layout = walk(
        Struct(
            "magic" / Const(b"AB"),
            "w" / LsbBitStruct("id" / BitsInteger(12), "k" / Nibble),
            "maybe" / If(this.w.k == 1, Int64ul),
            "z" / Int8ul,
        )
    )
    _, boxes, _ = drawing(layout)
    assert [box[5].text for box in boxes] == [
        "magic: 2 bytes, always 41 42, bytes 0..1",
        "w.id 7..0: uint12 big-endian, byte 3 bits 3..0 + byte 2",
        "w.k: uint4, byte 3 bits 7..4",
        "w.id 11..8: uint12 big-endian, byte 3 bits 3..0 + byte 2",
        "maybe: uint64 little-endian if w.k == 1, byte 4",
        "z: uint8, after maybe, byte 0",
    ]

"""Layouts in words: one line a field, with its place, type and meaning."""

import construct
import pytest
from construct import BitsInteger, BitStruct, Byte, Flag, Int16ul, Padding, Struct, len_, this

from wirelock import abs_
from wirelock.layout.describe import describe, size_text, type_text
from wirelock.layout.sizes import Size
from wirelock.layout.walk import walk

FIELDS = {
    # (construct behind a byte `n`, the lines (depth, name, place, type) that describe it)
    "an integer": (construct.Int24sb, [(0, "x", "byte 1", "int24 big-endian")]),
    "a byte has no order": (construct.Int8sl, [(0, "x", "byte 1", "int8")]),
    "a float": (construct.Float32l, [(0, "x", "byte 1", "float32 little-endian")]),
    "a Flag": (Flag, [(0, "x", "byte 1", "flag, one byte")]),
    "an Enum": (construct.Enum(Byte, RED=1, BLUE=2), [(0, "x", "byte 1", "uint8, one of RED 1, BLUE 2")]),
    "flags": (construct.FlagsEnum(Byte, a=1, b=16), [(0, "x", "byte 1", "uint8, flags a 0x1, b 0x10")]),
    "bytes": (construct.Bytes(2), [(0, "x", "byte 1", "2 bytes")]),
    "bytes by the wire": (construct.Bytes(this.n - 1), [(0, "x", "byte 1", "n - 1 bytes")]),
    "a constant": (construct.Const(b"WS"), [(0, "x", "byte 1", "2 bytes, always 57 53")]),
    "a constant number": (
        construct.Const(7, Int16ul),
        [(0, "x", "byte 1", "uint16 little-endian, always 7")],
    ),
    "padding": (Padding(3, pattern=b"\1"), [(0, "x", "byte 1", "3 bytes of padding 0x1")]),
    "nothing": (construct.Pass, [(0, "x", "byte 1", "nothing")]),
    "an array": (Byte[2], [(0, "x", "byte 1", "2 of uint8")]),
    "an array by the wire": (construct.Array(this.n * 2, Byte), [(0, "x", "byte 1", "n * 2 of uint8")]),
    "an array by its own count": (
        construct.PrefixedArray(Int16ul, Byte),
        [(0, "x", "byte 1", "uint16 little-endian count, then so many of uint8")],
    ),
    "an optional": (construct.If(this.n > 1, Byte), [(0, "x", "byte 1", "uint8 if n > 1")]),
    "a derived field": (
        construct.Rebuild(Byte, abs_(this.n) + 1),
        [(0, "x", "byte 1", "uint8 = abs(n) + 1")],
    ),
    "a struct": (
        Struct("a" / Byte, "b" / Int16ul),
        [
            (0, "x", "byte 1", "record"),
            (1, "a", "byte 0", "uint8"),
            (1, "b", "byte 1", "uint16 little-endian"),
        ],
    ),
    "an array of structs": (
        Struct("a" / Byte)[2],
        [(0, "x", "byte 1", "2 of record"), (1, "a", "byte 0", "uint8")],
    ),
    "a choice": (
        construct.Switch(this.n, {1: Byte, 2: Struct("a" / Byte)}, construct.Bytes(this.n)),
        [
            (0, "x", "byte 1", "by n: 1: uint8; 2: record; else n bytes"),
            (1, "x{1}", "", "uint8"),
            (1, "x{2}", "", "record"),
            (2, "a", "byte 0", "uint8"),
            (1, "x{default}", "", "n bytes"),
        ],
    ),
    "a choice without a default": (
        construct.Switch(this.n, {1: Byte}),
        [(0, "x", "byte 1", "by n: 1: uint8"), (1, "x{1}", "", "uint8")],
    ),
    "bits": (
        BitStruct("a" / Flag, "b" / BitsInteger(3, signed=True), Padding(4)),
        [
            (0, "x", "byte 1", "record"),
            (1, "a", "byte 0 bit 7", "flag, one bit"),
            (1, "b", "byte 0 bits 6..4", "int3"),
            (1, "padding#2", "byte 0 bits 3..0", "4 bits of padding 0x0"),
        ],
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_in_words(name):
    source, lines = FIELDS[name]
    rows = [
        row for row in describe(walk(Struct("n" / Byte, "x" / source))) if (row.depth, row.name) != (0, "n")
    ]
    assert [(row.depth, row.name, row.place, row.type) for row in rows] == lines


TEXT = construct.GreedyString("utf8")
REGIONS = {
    # what fills a region, and the region around it -> both in words
    "all bytes left": construct.GreedyBytes,
    "utf-8 text in all bytes left": TEXT,
    "ascii text in 4 bytes": construct.StringEncoded(construct.Bytes(4), "ascii"),
    "ascii text in 8 bytes, padded with NULs": construct.PaddedString(8, "ascii"),
    "utf-8 text in n bytes, padded with NULs": construct.PaddedString(this.n, "utf8"),
    "utf-8 text up to 00": construct.CString("utf8"),
    "utf-16-le text up to 00 00": construct.CString("utf-16-le"),
    "bytes up to 00": construct.NullTerminated(construct.GreedyBytes),
    "uint8 size, then so many bytes": construct.Prefixed(Byte, construct.GreedyBytes),
    "uint8 size, then so many bytes of utf-8 text": construct.PascalString(Byte, "utf8"),
    "varint size, then so many bytes of utf-8 text": construct.Prefixed(construct.VarInt, TEXT),
    "uint16 little-endian size, its own bytes counted, then so many bytes of utf-8 text": construct.Prefixed(
        Int16ul, TEXT, includelength=True
    ),
    "uint8 size, then so many bytes: record": construct.Prefixed(Byte, Struct("a" / Byte)),
    "uint8 size, then so many bytes: as many as fit of uint8": construct.Prefixed(
        Byte, construct.GreedyRange(Byte)
    ),
    "8 bytes": construct.FixedSized(8, construct.GreedyBytes),
    "n bytes": construct.FixedSized(this.n, construct.GreedyBytes),
    "utf-8 text in 8 bytes": construct.FixedSized(8, TEXT),
    "8 bytes, padded with NULs": construct.FixedSized(8, construct.NullStripped(construct.GreedyBytes)),
    "8 bytes: utf-8 text up to 00": construct.FixedSized(8, construct.CString("utf8")),
    "4 bytes: uint8 size, then so many bytes": construct.FixedSized(
        4, construct.Prefixed(Byte, construct.GreedyBytes)
    ),
    "utf-8 text up to 00, padded to 16 bytes with 0x00": construct.Padded(16, construct.CString("utf8")),
    "utf-8 text up to 00, if any bytes are left": construct.Optional(construct.CString("utf8")),
}


@pytest.mark.parametrize("text", REGIONS)
def test_regions_in_words(text):
    assert type_text(walk(Struct("n" / Byte, "x" / REGIONS[text]))["x"].type) == text


def test_what_lies_behind_something_of_no_fixed_size():
    source = Struct("n" / Byte, "xs" / construct.Array(this.n, Byte), "last" / Byte * "the last byte")
    assert [(row.name, row.place, row.type, row.doc) for row in describe(walk(source))] == [
        ("n", "byte 0", "uint8 = len(xs)", ""),
        ("xs", "byte 1", "n of uint8", ""),
        ("last", "after xs, byte 0", "uint8", "the last byte"),
    ]


def test_an_expression_over_a_record_inside():
    source = Struct("p" / Struct("a" / Byte[2]), "x" / construct.If(len_(this.p.a) > 1, Byte))
    assert list(describe(walk(source)))[-1].type == "uint8 if len(p.a) > 1"


SIZES = {
    "1 byte": Size(8, 8),
    "0 bytes": Size(0, 0),
    "7 bytes": Size(56, 56),
    "9 bytes or more": Size(72, None),
    "9 to 12 bytes": Size(72, 96),
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes_in_words(text):
    assert size_text(SIZES[text]) == text

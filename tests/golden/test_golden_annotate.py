"""Bytes by field: every kind of field, and bytes that are no record."""

from __future__ import annotations

import pytest
from construct import (
    Array,
    BitsInteger,
    BitStruct,
    Byte,
    Bytes,
    Bytewise,
    Const,
    Enum,
    Flag,
    FlagsEnum,
    Float16b,
    Float32l,
    Float64b,
    If,
    Int8ul,
    Int16ul,
    Int32ul,
    Nibble,
    Padding,
    PrefixedArray,
    Struct,
    Switch,
    this,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import layouts, samples
from wirelock.golden.annotate import Row, annotate, listing, side_by_side
from wirelock.layout.walk import walk


def rows(source, octets):
    return [
        (row.place, row.path, row.bits or row.octets.hex(), row.value)
        for row in annotate(walk(source), bytes.fromhex(octets))
    ]


def test_every_kind_of_field():
    source = Struct(
        "magic" / Const(b"AB"),
        "kind" / Enum(Int8ul, one=1, two=2),
        "flags" / FlagsEnum(Int8ul, a=1, b=2, ab=3),
        "on" / Flag,
        "bits" / BitStruct("high" / Nibble, "low" / BitsInteger(12), "end" / Bytewise(Bytes(1))),
        "f" / Float32l,
        "d" / Float64b,
        "h" / Float16b,
        Padding(2),
        "n" / Byte,
        "data" / Bytes(this.n),
        "xs" / PrefixedArray(Int8ul, Int16ul),
        "maybe" / If(this.n == 1, Int8ul),
        "never" / If(this.n == 2, Int8ul),
        "choice" / Switch(this.n, {1: Int16ul}, default=Int8ul),
        "points" / Array(2, Struct("x" / Int8ul)),
    )
    octets = "4142 02 03 01 abcdef cdcccc3d 3fb999999999999a 3c00 0000 01 7a 02 0100 ffff 09 3412 07 08"
    assert rows(source, octets) == [
        ("0..1", "magic", "4142", "constant"),
        ("2", "kind", "02", "2 two"),
        ("3", "flags", "03", "3 a|b|ab"),
        ("4", "on", "01", "True"),
        ("5 bits 7..4", "bits.high", "1010", "10"),
        ("5 bits 3..0 + byte 6", "bits.low", "101111001101", "3021"),
        ("7", "bits.end", "ef", ""),
        ("8..11", "f", "cdcccc3d", "0.100000001"),
        ("12..19", "d", "3fb999999999999a", "0.10000000000000001"),
        ("20..21", "h", "3c00", "1"),
        ("22..23", "padding#8", "0000", "padding"),
        ("24", "n", "01", "1"),
        ("25", "data", "7a", "'z'"),
        ("26", "xs (count)", "02", "2"),
        ("27..28", "xs[0]", "0100", "1"),
        ("29..30", "xs[1]", "ffff", "65535"),
        ("31", "maybe", "09", "9"),
        ("32..33", "choice", "3412", "4660"),
        ("34", "points[0].x", "07", "7"),
        ("35", "points[1].x", "08", "8"),
    ]


@pytest.mark.parametrize(
    ("source", "octets", "last"),
    [
        (Struct("a" / Int16ul), "", [("0", "a", "", "cut short")]),
        (Struct("a" / Int16ul), "01", [("0", "a", "01", "cut short")]),
        (Struct("a" / Byte), "0102", [("0", "a", "01", "1"), ("1", "", "02", "after the end")]),
        (
            Struct("n" / Byte, "b" / Bytes(this.n)),
            "05aa",
            [("0", "n", "05", "5"), ("1", "b", "aa", "cut short")],
        ),
        (
            Struct("n" / Byte, "b" / Bytes(this.n), "xs" / Array(2, Int16ul)),
            "00",
            [("0", "n", "00", "0"), ("1", "xs[0]", "", "cut short")],
        ),
        (
            Struct("xs" / PrefixedArray(Int32ul, Int16ul)),
            "ffffff7f000007",
            [
                ("0..3", "xs (count)", "ffffff7f", "2147483647"),
                ("4..5", "xs[0]", "0000", "0"),
                ("6", "xs[1]", "07", "cut short"),
            ],
        ),
        (Struct("xs" / PrefixedArray(Int32ul, Int16ul)), "ff", [("0", "xs (count)", "ff", "cut short")]),
        (
            Struct("xs" / Array(3, Struct("a" / Int16ul))),
            "0100 02",
            [("0..1", "xs[0].a", "0100", "1"), ("2", "xs[1].a", "02", "cut short")],
        ),
        (
            Struct("p" / Padding(2), "a" / Byte),
            "000701",
            [("0..1", "p", "0007", "?"), ("2", "", "01", "not read")],
        ),
        (
            Struct("f" / Float32l, "a" / Int16ul),
            "0100807f0000",
            [("0..3", "f", "0100807f", "?"), ("4..5", "", "0000", "not read")],
        ),
        (
            Struct("k" / Byte, "v" / Switch(this.k, {1: Byte})),
            "0205",
            [("0", "k", "02", "2"), ("1", "", "05", "not read")],
        ),
        (
            BitStruct("n" / BitsInteger(6), "b" / BitsInteger(18)),
            "05aa",
            [
                ("0 bits 7..2", "n", "000001", "1"),
                ("0 bits 1..0 + byte 1", "b", "0110101010", "cut short"),
            ],
        ),
        (Struct("e" / Enum(Byte, one=1)), "07", [("0", "e", "07", "7")]),
    ],
)  # fmt: skip
def test_bytes_that_are_no_record(source, octets, last):
    assert rows(source, octets) == last


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_byte_is_in_a_row(data):
    layout = walk(data.draw(layouts()))
    octets = data.draw(st.one_of(samples(layout).map(lambda drawn: drawn[0]), st.binary(max_size=40)))
    octets = octets[: data.draw(st.integers(0, len(octets)))] + data.draw(st.binary(max_size=2))
    found = annotate(layout, octets)
    bits = sum(8 * len(row.octets) + len(row.bits) for row in found)
    assert 8 * len(octets) - 7 <= bits + 7 and bits <= 8 * len(octets) + 7
    whole = b"".join(row.octets for row in found)
    assert len(whole) <= len(octets) + 1
    assert all(isinstance(row, Row) for row in found)
    listing(layout, octets)
    assert not any(line.startswith(">") for line in side_by_side(layout, octets, octets, ("a", "b")))
    other = data.draw(st.binary(max_size=40))
    different = any(line.startswith(">") for line in side_by_side(layout, octets, other, ("a", "b")))
    assert different or octets == other


# -- tables

XS = walk(Struct("n" / Byte, "xs" / Array(this.n, Int16ul)))


def test_a_listing_marks_a_path_and_what_is_in_it():
    layout = walk(Struct("a" / Byte, "p" / Struct("x" / Byte, "y" / Byte), "pq" / Byte))
    assert listing(layout, b"\1\2\3\4") == [
        "at  field  bytes  value",
        "0   a      01     1",
        "1   p.x    02     2",
        "2   p.y    03     3",
        "3   pq     04     4",
    ]
    assert [line[0] for line in listing(layout, b"\1\2\3\4", "p")] == [" ", " ", ">", ">", " "]
    assert [line[0] for line in listing(layout, b"\1\2\3\4", "pq")] == [" ", " ", " ", " ", ">"]


def test_records_of_two_lengths_side_by_side():
    assert side_by_side(XS, bytes.fromhex("01 0100"), bytes.fromhex("02 0100 0200"), ("old", "new")) == [
        "   at    field  old       new",
        ">  0     n      01     1  02     2",
        "   1..2  xs[0]  01 00  1  01 00  1",
        ">  3..4  xs[1]  -         02 00  2",
    ]
    assert side_by_side(XS, bytes.fromhex("02 0100 02"), bytes.fromhex("00 ff"), ("old", "new")) == [
        "   at    field  old               new",
        ">  0     n      02     2          00   0",
        ">  1..2  xs[0]  01 00  1          -",
        ">  3     xs[1]  02     cut short  -",
        ">  1            -                 ff   after the end",
    ]


def test_places_that_moved_are_both_named():
    layout = walk(Struct("n" / Byte, "b" / Bytes(this.n), "end" / Byte))
    assert (
        side_by_side(layout, b"\1\1\0", b"\2\1\1\0", ("old", "new"))[-1]
        == "   2 | 3     end    00   0  00     0"
    )


def test_long_fields_show_where_they_differ():
    layout = walk(Struct("b" / Bytes(40)))
    left, right = bytes(range(40)), bytes(range(30)) + b"\xff" + bytes(range(31, 40))
    (_, line) = side_by_side(layout, left, right, ("old", "new"))
    assert line == (
        ">  0..39  b      (28 bytes) 1c 1d 1e 1f 20 21 22 23 (+4)  (28 bytes) 1c 1d ff 1f 20 21 22 23 (+4)"
    )
    assert listing(layout, left)[1] == "0..39  b      00 01 02 03 04 05 06 07 (+32)"


def test_long_records_show_what_differs_and_what_is_around():
    left = b"\x64" + b"\0\0" * 100
    right = left[:101] + b"\1" + left[102:]
    places = [
        line.split()[0 if line[0] != ">" else 1] for line in side_by_side(XS, left, right, ("old", "new"))
    ]
    assert places == [
        "at", "0", "1..2", "3..4", "...", "97..98", "99..100", "101..102", "103..104", "105..106", "...",
        "195..196", "197..198", "199..200",
    ]  # fmt: skip
    assert len(listing(XS, left)) == 1 + 3 + 1 + 3

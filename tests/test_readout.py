"""Rows of records: every byte is in one, the verdict is that of parsing, and the fault has its row."""

from __future__ import annotations

import pytest
from construct import (
    Aligned,
    Array,
    BitsInteger,
    BitStruct,
    Byte,
    Bytes,
    Computed,
    Const,
    CString,
    FixedSized,
    FocusedSeq,
    GreedyBytes,
    GreedyRange,
    Int8ub,
    Int16ul,
    Nibble,
    NullTerminated,
    Optional,
    Padded,
    PaddedString,
    Padding,
    PascalString,
    Prefixed,
    PrefixedArray,
    RepeatUntil,
    Struct,
    Switch,
    Terminated,
    VarInt,
    this,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import layouts, lowered, mutated, name_layout, samples
from wirelock import LsbBitStruct
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.readout import AFTER, CUT, NOT_READ, UNREAD, read_out
from wirelock.codec.trail import Found
from wirelock.errors import Fault
from wirelock.layout.walk import walk


def rows(source, octets):
    """Return (depth, path, part, bytes or bits, value or state) for each row."""
    found = []
    for row in read_out(walk(source), bytes.fromhex(octets)).rows:
        name = f"{row.path} ({row.part})" if row.part else row.path
        value = "group" if row.group else row.state or row.value
        found.append((row.depth, name, row.digits or row.octets.hex(" "), value))
    return found


def test_records_arrays_and_absent_values():
    source = Struct(
        "n" / Byte,
        "p" / Struct("x" / Byte, "y" / Int16ul),
        "xs" / PrefixedArray(Byte, Struct("v" / Byte)),
        "maybe" / Optional(Byte),
        "none" / Optional(Byte),
    )
    assert rows(source, "05 01 0200 02 0a 0b 07") == [
        (0, "n", "05", 5),
        (0, "p", "", "group"),
        (1, "p.x", "01", 1),
        (1, "p.y", "02 00", 2),
        (0, "xs", "", "group"),
        (1, "xs (count)", "02", 2),
        (1, "xs[0]", "", "group"),
        (2, "xs[0].v", "0a", 10),
        (1, "xs[1]", "", "group"),
        (2, "xs[1].v", "0b", 11),
        (0, "maybe", "07", 7),
        (0, "none", "", None),
    ]


def test_regions_have_their_sizes_terminators_and_padding():
    source = Struct(
        "a" / PascalString(VarInt, "utf8"),
        "b" / CString("utf8"),
        "c" / PaddedString(4, "utf8"),
        "d" / Prefixed(Int16ul, Struct("x" / Byte, "y" / GreedyBytes)),
        "e" / NullTerminated(GreedyBytes, term=b"\xff"),
        "f" / Padded(3, Byte),
        "g" / FixedSized(2, Int16ul),
        "h" / Aligned(2, Byte),
    )
    assert rows(source, "0141 4200 43000000 0200 0102 09ff 030000 0500 0600") == [
        (0, "a (size)", "01", 1),
        (0, "a", "41", "A"),
        (0, "b", "42", "B"),
        (0, "b (terminator)", "00", None),
        (0, "c", "43", "C"),
        (0, "c (padding)", "00 00 00", None),
        (0, "d (size)", "02 00", 2),
        (0, "d", "", "group"),
        (1, "d.x", "01", 1),
        (1, "d.y", "02", b"\2"),
        (0, "e", "09", b"\t"),
        (0, "e (terminator)", "ff", None),
        (0, "f", "03", 3),
        (0, "f (padding)", "00 00", None),
        (0, "g", "05 00", 5),
        (0, "h", "06", 6),
        (0, "h (padding)", "00", None),
    ]


def test_bits_wherever_they_lie():
    source = Struct(
        "b" / BitStruct("high" / Nibble, "low" / BitsInteger(12)),
        "w" / LsbBitStruct("x" / BitsInteger(12), "y" / BitsInteger(4)),
    )
    assert rows(source, "abcd 23 f1")[1:3] == [(1, "b.high", "1010", 10), (1, "b.low", "101111001101", 0xBCD)]
    assert rows(source, "abcd 23 f1")[4:] == [(1, "w.x", "000100100011", 0x123), (1, "w.y", "1111", 15)]


def test_frames_in_frames():
    inner = FocusedSeq("y", "q" / Const(b"B"), "y" / Byte, Padding(1))
    assert rows(
        Struct("a" / FocusedSeq("x", "p" / Const(b"A"), "x" / inner, Padding(2))), "41 42 05 00 0000"
    ) == [
        (0, "a#0", "41", b"A"),
        (0, "a#0", "42", b"B"),
        (0, "a", "05", 5),
        (0, "a#2", "00", None),
        (0, "a#2", "00 00", None),
    ]


def test_elements_until_something():
    assert rows(Struct("xs" / RepeatUntil(lambda x, xs, c: x == 0, Byte)), "01 00 05") == [
        (0, "xs", "", "group"),
        (1, "xs[0]", "01", 1),
        (1, "xs[1]", "00", 0),
        (0, f" ({AFTER})", "05", None),
    ]
    assert rows(Struct("n" / Byte, "twice" / Computed(this.n * 2)), "04")[1] == (0, "twice", "", 8)


STOPS = [
    # (layout, bytes, (code, byte), rows behind the first, spot)
    ("a size that is cut", Struct("a" / Prefixed(Int16ul, GreedyBytes)), "05", ("truncated", 0),
     [(0, "a (size)", "05", CUT)], (0, 2)),
    ("a region that is cut", Struct("a" / Prefixed(Byte, GreedyBytes)), "05 01 02", ("truncated", 1),
     [(0, "a (size)", "05", 5), (0, "a", "01 02", CUT)], (1, 6)),
    ("a region cut inside", Struct("a" / Prefixed(Byte, Int16ul), "b" / Byte), "01 02 03", ("truncated", 1),
     [(0, "a (size)", "01", 1), (0, "a", "02", CUT), (0, f" ({NOT_READ})", "03", None)], (1, 3)),
    ("a region with bytes left", Struct("a" / Prefixed(Byte, Byte), "b" / Byte), "02 05 06 07",
     ("trailing-bytes", 2),
     [(0, "a (size)", "02", 2), (0, "a", "05", 5), (0, f"a ({AFTER})", "06", None),
      (0, f" ({NOT_READ})", "07", None)], (2, 3)),
    ("bytes at the end", Struct("a" / Byte, "t" / Terminated), "01 02", ("trailing-bytes", 1),
     [(0, "a", "01", 1), (0, "t", "", UNREAD), (0, f"t ({AFTER})", "02", None)], (1, 2)),
    ("an array cut by its count", Struct("xs" / PrefixedArray(Byte, Int16ul)), "03 0100 02",
     ("truncated", 3),
     [(0, "xs", "", "group"), (1, "xs (count)", "03", 3), (1, "xs[0]", "01 00", 1),
      (1, "xs[1]", "02", CUT)], (3, 5)),
    ("an element that is cut", Struct("xs" / GreedyRange(Struct("a" / Int16ul))), "0100 02",
     ("truncated", 2),
     [(0, "xs", "", "group"), (1, "xs[0]", "", "group"), (2, "xs[0].a", "01 00", 1),
      (1, "xs[1]", "", "group"), (2, "xs[1].a", "02", CUT)], (2, 4)),
    ("a long varint", Struct("v" / VarInt, "b" / Byte), "8000 05", ("not-canonical", 0),
     [(0, "v", "80 00", UNREAD), (0, f" ({NOT_READ})", "05", None)], (0, 2)),
    ("padding", Struct("p" / Padding(3), "b" / Byte), "000100 05", ("not-canonical", 1),
     [(0, "p", "00 01 00", UNREAD), (0, f" ({NOT_READ})", "05", None)], (1, 2)),
    ("padding of a value", Struct("p" / Padded(3, Byte), "b" / Byte), "050001 05", ("not-canonical", 2),
     [(0, "p", "05", 5), (0, "p (padding)", "00 01", UNREAD), (0, f" ({NOT_READ})", "05", None)], (2, 3)),
    ("cut padding", Struct("p" / Padded(3, Byte)), "0500", ("truncated", 1),
     [(0, "p", "05", 5), (0, "p (padding)", "00", CUT)], (1, 3)),
    ("no case", Struct("k" / Byte, "v" / Switch(this.k, {1: Byte})), "02 03", ("unknown-case", 1),
     [(0, "k", "02", 2), (0, "v", "", UNREAD), (0, f" ({NOT_READ})", "03", None)], (1, 1)),
    ("text that is none", Struct("t" / PaddedString(2, "utf8"), "b" / Byte), "ff00 05", ("bad-text", 0),
     [(0, "t", "ff", UNREAD), (0, "t (padding)", "00", None), (0, "b", "05", 5)], (0, 1)),
    ("a constant in bits", Struct("b" / BitStruct("a" / Nibble, "c" / Const(5, Nibble)), "d" / Byte), "13 05",
     ("constant", 0),
     [(0, "b", "", "group"), (1, "b.a", "0001", 1), (1, "b.c", "0011", UNREAD),
      (0, f" ({NOT_READ})", "05", None)], (0, 1)),
    ("scattered bits", Struct("w" / LsbBitStruct("a" / BitsInteger(12), Padding(4)), "d" / Byte), "bc fa 05",
     ("not-canonical", 1),
     [(0, "w", "", "group"), (1, "w.a", "101010111100", 0xABC), (1, "w.padding#1", "1111", UNREAD),
      (0, f" ({NOT_READ})", "05", None)], (1, 2)),
    ("scattered bits that are cut", Struct("w" / LsbBitStruct("a" / BitsInteger(16))), "bc",
     ("truncated", 0), [(0, "w", "", "group"), (1, "w.a", "bc", CUT)], (0, 2)),
    ("bytes after the record", Struct("a" / Int8ub), "01 02 03", ("trailing-bytes", 1),
     [(0, "a", "01", 1), (0, f" ({AFTER})", "02 03", None)], (1, 3)),
    ("nothing", Struct("a" / Int8ub), "", ("truncated", 0), [(0, "a", "", CUT)], (0, 1)),
    ("a derived size", Struct("n" / Byte, "xs" / Array(2, Struct("m" / Byte, "d" / Bytes(this.m)))),
     "01 0141 02", ("truncated", 4), None, (4, 6)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "octets", "fault", "expected", "spot"), [case[1:] for case in STOPS], ids=[c[0] for c in STOPS]
)
def test_what_stops_the_reading(source, octets, fault, expected, spot):
    found = read_out(walk(source), bytes.fromhex(octets))
    assert found.fault is not None
    assert (found.fault.code, found.fault.byte) == fault
    assert found.spot == spot
    if expected is not None:
        assert rows(source, octets) == expected


laws = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@laws
@given(st.data())
def test_the_verdict_is_that_of_parsing(data: st.DataObject) -> None:
    layout, names = name_layout(data.draw(lowered(walk(data.draw(layouts())))))
    engine = GeneratedEngine(layout, names)
    octets = data.draw(samples(layout))[0]
    tries = [octets, *(octets[:end] for end in range(min(len(octets), 40))), octets + b"\0"]
    tries += [data.draw(mutated(octets)) for _ in range(4)]
    for tried in tries:
        found = read_out(layout, tried)
        try:
            engine.parse(tried)
            fault: Fault | None = None
        except Found as raised:
            fault = raised.fault
        assert found.fault == fault
        check_rows(found, tried)
        prefix = read_out(layout, tried, exact=False)
        if prefix.fault is None:
            assert prefix.end == engine.parse_prefix(tried, 0)[1]


def check_rows(found, data):
    """Every bit is in one row, in order; a fault has its row and its place."""
    covered = set()
    for row in found.rows:
        if row.group:
            assert not row.octets
            continue
        if row.pieces:
            bits = {8 * byte + bit for byte, mask in row.pieces for bit in range(8) if mask & 0x80 >> bit}
            assert len(row.digits) == len(bits)
        else:
            assert row.octets == data[row.bit // 8 : row.end // 8]
            bits = set(range(row.bit, row.end))
        assert not bits & covered
        covered |= bits
    missing = set(range(8 * len(data))) - covered
    # Of a record whose bits are in another order, what is behind a fault has no row.
    assert not missing or found.fault is not None
    assert max(covered, default=-1) < 8 * len(data)
    if found.fault is not None and found.fault.path:
        assert found.faulty is not None
        assert found.rows[found.faulty].path == found.fault.path
        assert found.spot is not None

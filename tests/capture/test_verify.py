"""Verdicts of captures on both engines, and how they differ from what was expected."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import PROTOCOLS
from protocol.rotation import PoseFlags, RotationV1
from protocol.snapshot import EntityV1, Position, SnapshotV1, SnapshotV2
from tests.capture.capture_writer import ethernet, ipv4, pcap, udp
from tests.cli.command import PINGS, SESSION, capture_of
from tests.golden.conftest import small_protocols
from wirelock.capture.decode import Selection, Summary
from wirelock.capture.expectation import (
    Difference,
    compared,
    header,
    line_of,
    read_expectation,
)
from wirelock.capture.verify import Verdict, verify
from wirelock.codec.reference import ReferenceEngine
from wirelock.codec.trail import Found
from wirelock.errors import EncodeError, ExpectationError, Fault

EVERYTHING = Selection()
metres = st.floats(-8192, 8192, width=32)
entities = st.builds(
    EntityV1,
    id=st.integers(0, 0xFFFF),
    flags=st.integers(0, 63).map(PoseFlags),
    position=st.builds(Position, x=metres, y=metres, z=metres),
    rotation=st.builds(
        RotationV1, largest_index=st.integers(0, 3),
        a=st.integers(-9000, 9000), b=st.integers(-9000, 9000), c=st.integers(-9000, 9000),
    ),
)  # fmt: skip
snapshots = st.one_of(
    st.builds(SnapshotV1, tick=st.integers(0, 2**32 - 1), entities=st.lists(entities, max_size=4).map(tuple)),
    st.builds(SnapshotV2, tick=st.integers(0, 2**32 - 1), entities=st.just(())),
)
payloads = st.lists(
    st.one_of(snapshots.map(lambda record: record.build()), st.binary(max_size=12)), max_size=8
)


def verdicts(capture: bytes, selection: Selection = EVERYTHING, registry=PROTOCOLS) -> list[Verdict]:
    return list(verify(io.BytesIO(capture), registry, selection, Summary(), "x.pcap"))


def record(path: Path, found: list[Verdict], selection: Selection = EVERYTHING) -> Path:
    lines = [header(selection), *map(line_of, found)]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def differences(path: Path, found: list[Verdict]) -> list[Difference]:
    items = list(compared(read_expectation(path, EVERYTHING), iter(found)))
    assert [item for item in items if isinstance(item, Verdict)] == found
    return [item for item in items if isinstance(item, Difference)]


# -- laws


@given(records=st.lists(snapshots, max_size=8))
def test_whatever_is_built_round_trips(records, tmp_path_factory):
    capture = capture_of(*(item.build() for item in records))
    found = verdicts(capture)
    assert [item.problems for item in found] == [()] * len(records)
    assert [item.size for item in found] == [len(item.build()) for item in records]
    assert [item.fields for item in found] == [item.model_dump(mode="json") for item in records]


@given(data=payloads)
def test_a_capture_is_what_was_recorded_of_it(data, tmp_path_factory):
    found = verdicts(capture_of(*data))
    assert all(item.problems == () for item in found)
    path = record(tmp_path_factory.mktemp("recorded") / "e.jsonl", found)
    assert differences(path, found) == []
    read = list(read_expectation(path, EVERYTHING))
    assert read == [replace(item, size=None) for item in found]


@given(data=payloads, drop=st.integers(0, 7))
def test_a_packet_that_is_gone_or_new_is_told(data, drop, tmp_path_factory):
    found = verdicts(capture_of(*data))
    less = [item for item in found if item.packet != drop]
    folder = tmp_path_factory.mktemp("recorded")
    gone = differences(record(folder / "all.jsonl", found), less)
    new = differences(record(folder / "less.jsonl", less), found)
    dropped = [str(item) for item in found if item.packet == drop]
    assert [(item.was, item.now) for item in gone] == [(text, "nothing") for text in dropped]
    assert [(item.was, item.now) for item in new] == [("nothing", text) for text in dropped]


# -- verdicts


def test_the_session():
    found = list(verify(SESSION, PROTOCOLS, EVERYTHING, summary := Summary()))
    assert len(found) == 320 and all(item.problems == () for item in found)
    assert (summary.records.total(), summary.faults.total(), summary.foreign) == (304, 16, 40)
    assert [str(item) for item in found if item.code == "unknown-version"] == [
        "fault unknown-version at version of snapshot (byte 2)"
    ] * 2


def test_faults_of_files_headers_and_records():
    good = SnapshotV2(tick=1, entities=()).build()
    packets = [udp(good), udp(good, length=400), udp(good[:5]), udp(good + b"x"), udp(b"HELLO")]
    data = pcap([(number, 0, ethernet(ipv4(packet))) for number, packet in enumerate(packets)])
    found = verdicts(data[:-3])
    assert [(item.packet, str(item)) for item in found] == [
        (1, "snapshot v2"),
        (2, "fault udp-length-long (byte 38)"),
        (3, "fault truncated at tick of snapshot v2 (byte 3)"),
        (4, "fault trailing-bytes at the record of snapshot v2 (byte 9)"),
        (5, "fault cut (byte 305)"),
    ]


def test_bytes_before_and_records_behind():
    registry = small_protocols(PINGS)
    data = b"head" + b"PG\1\0\1" + b"PG\1\0\2"
    found = verdicts(capture_of(data, data + b"PG\1", b"he"), Selection(skip=4), registry)
    assert [(item.packet, str(item), item.size, item.problems) for item in found] == [
        (1, "ping v1", 5, ()),
        (1, "ping v1", 5, ()),
        (2, "ping v1", 5, ()),
        (2, "ping v1", 5, ()),
        (2, "fault truncated at [2].n of ping v1 (byte 17)", None, ()),
        (3, "fault truncated at the record of payload (byte 0)", None, ()),
    ]


OTHER = "the reference engine builds other bytes, the first of them byte"
BROKEN = {
    "other bytes": (b"WS\2\1\0\0\1\0\0", f"{OTHER} 6"),
    "fewer bytes": (b"WS\2", f"{OTHER} 3"),
    "more bytes": (b"WS\2\1\0\0\0\0\0\0", f"{OTHER} 9"),
    "none": (
        EncodeError("SnapshotV2", Fault("out-of-range", "tick", "1", "0", 3)),
        "the reference engine does not build it: SnapshotV2: tick: 1 is not in 0 (byte 3)",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_record_that_does_not_round_trip(monkeypatch, name):
    what, told = BROKEN[name]

    def build(engine, made):
        if isinstance(what, EncodeError):
            raise Found(what.fault)
        return what

    monkeypatch.setattr(ReferenceEngine, "build", build)
    (found,) = verdicts(capture_of(SnapshotV2(tick=1, entities=()).build()))
    assert found.problems == (told,)


def test_engines_that_do_not_agree(monkeypatch):
    good = SnapshotV2(tick=1, entities=()).build()
    other = SnapshotV2(tick=2, entities=())
    monkeypatch.setattr(ReferenceEngine, "parse", lambda engine, data: other)
    first, second = verdicts(capture_of(good, good[:5]))
    assert first.problems[0] == "the engines read other values"
    assert second.problems == ("the reference engine finds no fault",)

    def refuse(engine, data):
        raise Found(Fault("out-of-range", "tick", "1", "0", 3))

    monkeypatch.setattr(ReferenceEngine, "parse", refuse)
    (found,) = verdicts(capture_of(good))
    assert found.problems == ("the reference engine finds snapshot v2: tick: 1 is not in 0 (byte 3)",)


# -- expectations


def test_differences_are_told_by_field(tmp_path):
    good = SnapshotV2(tick=1, entities=()).build()
    found = verdicts(capture_of(good, good[:4], good))
    path = record(tmp_path / "e.jsonl", found)
    one, fault, two = found
    changed = [
        replace(one, fields={**one.fields, "tick": 2, "count": 7}),
        replace(fault, byte=2),
        replace(two, label="snapshot v3"),
    ]
    assert [str(item) for item in differences(path, changed)] == [
        "packet 1: snapshot v2: tick: was 1, now 2, and 1 more",
        "packet 2: was fault truncated at tick of snapshot v2 (byte 3), now fault truncated at tick of"
        " snapshot v2 (byte 2)",
        "packet 3: was snapshot v2, now snapshot v3",
    ]
    shuffled = [replace(one, fields=dict(reversed(one.fields.items()))), fault, two]
    assert [str(item) for item in differences(path, shuffled)] == [
        "packet 1: was snapshot v2 with its fields in another order, now snapshot v2"
    ]


def test_a_fault_of_the_file_goes_with_the_packet_before_it(tmp_path):
    verdict = Verdict(3, "snapshot v2", fields={})
    cut = Verdict(None, None, code="bad-block", byte=99)
    path = record(tmp_path / "e.jsonl", [cut, verdict, cut])
    assert differences(path, [cut, verdict, cut]) == []
    assert [str(item) for item in differences(path, [verdict])] == [
        "the file: was fault bad-block (byte 99), now nothing",
        "the file: was fault bad-block (byte 99), now nothing",
    ]


def test_minus_zero_is_another_value(tmp_path):
    verdict = Verdict(3, "p v1", fields={"x": 0.0})
    path = record(tmp_path / "e.jsonl", [verdict])
    (found,) = differences(path, [replace(verdict, fields={"x": -0.0})])
    assert str(found) == "packet 3: p v1: x: was 0.0, now -0.0"


def test_text_from_the_wire_is_escaped_where_a_terminal_would_take_it(tmp_path):
    verdict = Verdict(3, "p v1", fields={"x": "a"})
    path = record(tmp_path / "e.jsonl", [verdict])
    (found,) = differences(path, [replace(verdict, fields={"x": "\x9bm\u202e\x1b"})])
    assert str(found) == r'packet 3: p v1: x: was "a", now "\u009bm\u202e\u001b"'


HEAD = '{"wirelock_expectation": 1, "as": null, "skip": 0, "ports": []}\n'
LINE = '{"packet": 5, "record": "p v1", "fields": {}}\n'
FAULT = '{"packet": 5, "record": null, "fault": "cut", "path": "", "byte": null}\n'
DAMAGED = {
    "empty": ("", "is empty: write it with --write"),
    "no JSON": ("hello\n", "line 1: Expecting value (column 1)"),
    "cut": (HEAD + LINE[:-5], "line 2: Expecting value (column 42)"),
    "a list": ("[]\n", "line 1: is no object"),
    "another file": ('{"format": 1}\n', 'line 1: an expectation begins with "wirelock_expectation": 1'),
    "newer": ('{"wirelock_expectation": 2}\n', "line 1: was written by a newer wirelock (format 2, this one"),
    "another --skip": (HEAD.replace('"skip": 0', '"skip": 4'), "line 1: was recorded with another --skip"),
    "another --port": (HEAD.replace("[]", "[1]"), "line 1: was recorded with another --port: say the same"),
    "another --as": (HEAD.replace("null", '"p/v1"'), "line 1: was recorded with another --as: say the same"),
    "a header with more": (HEAD.replace("[]", '[], "x": 1'), "line 1: the key 'x' is not known here"),
    "a blank line": (HEAD + "\n" + LINE, "line 2: Expecting value (column"),
    "no header": (LINE, 'line 1: an expectation begins with "wirelock_expectation": 1'),
    "a key too many": (HEAD + LINE.replace("{}", '{}, "size": 3'), "line 2: the key 'size' is not known"),
    "a key too few": (HEAD + '{"packet": 5, "record": "x"}\n', "line 2: fields is missing"),
    "no packet": (HEAD + LINE.replace("5", "0"), "line 2: packet 0 is no packet's number"),
    "a packet of text": (HEAD + LINE.replace("5", '"5"'), "line 2: packet '5' is no packet's number"),
    "out of order": (HEAD + LINE + LINE.replace("5", "4"), "line 3: packet 4 comes behind packet 5"),
    "fields of text": (HEAD + LINE.replace("{}", '""'), "line 2: record is no text, or fields is no object"),
    "a byte of text": (HEAD + FAULT.replace('"byte": null', '"byte": "7"'), "line 2: record, fault"),
    "a code of none": (HEAD + FAULT.replace('"cut"', "null"), "line 2: record, fault and path are texts"),
    "nesting without end": (HEAD + "[" * 100_000, "line 2: RecursionError"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_expectation_is_refused_in_one_line(tmp_path, name):
    text, told = DAMAGED[name]
    path = tmp_path / "e.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(ExpectationError) as caught:
        list(read_expectation(path, EVERYTHING))
    assert str(caught.value).startswith(f"{path}: {told}")
    assert str(caught.value).isprintable()


def test_a_byte_order_mark_at_the_start_is_passed_over(tmp_path):
    """Editors on Windows write one."""
    path = tmp_path / "e.jsonl"
    found = []
    for mark in ("", "\ufeff"):
        path.write_text(mark + HEAD + LINE + FAULT, "utf-8")
        found.append(list(read_expectation(path, EVERYTHING)))
    assert found[0] == found[1] and len(found[0]) == 2


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_bytes(HEAD.encode() + b"\xff\n")
    with pytest.raises(ExpectationError, match="is not UTF-8: invalid start byte"):
        list(read_expectation(path, EVERYTHING))


def test_neither_side_is_kept(tmp_path):
    """A hundred thousand packets on both sides, of which a few are in memory at a time."""
    line, alive, most = LINE, 0, 0

    class Counted(Verdict):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def made() -> Iterator[Verdict]:
        nonlocal alive, most
        for packet in range(1, 20_001):
            alive += 1
            most = max(most, alive)
            yield Counted(packet, "p v1", fields={})

    path = tmp_path / "e.jsonl"
    path.write_text(HEAD + "".join(line.replace("5", str(n), 1) for n in range(1, 20_001)))
    found = compared(read_expectation(path, EVERYTHING), made())
    assert sum(isinstance(item, Difference) for item in found) == 0
    assert most < 10


def test_verdicts_are_not_kept():
    """A kept verdict takes more than a kilobyte: five thousand of them would be seen."""
    capture = io.BytesIO(capture_of(*[SnapshotV2(tick=1, entities=()).build()] * 5500))
    found = verify(capture, PROTOCOLS, EVERYTHING, Summary())
    for _ in range(500):
        next(found)
    tracemalloc.start()
    try:
        assert sum(1 for _ in found) == 5000
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()

"""Columns as users ask for them: parse_many, build_many, parse_packets, what is refused, and what is said."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import construct
import numpy as np
import pytest
from construct import (
    Array,
    Byte,
    Flag,
    If,
    Int8sl,
    Int16ul,
    Int64ub,
    PrefixedArray,
    Struct,
    this,
)
from pydantic import field_validator

from protocol.rotation import RotationV1, RotationV2, RotationV3
from protocol.snapshot import EntityV2, Position, SnapshotV1, SnapshotV2, snapshot
from tests.schema.record_maker import make
from tests.schema.test_schema_protocols import LITTLE, LONE, MANY, NIBBLES, ONE, PLAIN, SIGNED, SPLIT
from tests.test_cases import FAULTS, RULED
from tests.test_columnar import agree, packed_together
from tests.test_golden_engines import HOSTILE, VERSIONS, golden_bytes, near
from wirelock import DecodeError, EncodeError, Protocol, SchemaError, columns, versioned
from wirelock.codec.columnar import ColumnarEngine
from wirelock.codec.table import Table
from wirelock.quaternion import decode
from wirelock.schema.columns import engine_of
from wirelock.schema.record import wire_of

ROOT = Path(__file__).parents[1]


def turned(record: Any, number: int) -> Any:
    return record.from_quaternion(1.0, 0.2 * number - 3, 0.5, -0.1 * number)


def entities(count: int) -> tuple[EntityV2, ...]:
    return tuple(
        EntityV2(id=at, position=Position(x=at / 4, y=-0.0, z=8192.0), rotation=turned(RotationV2, at))
        for at in range(count)
    )


# -- verdicts, compiled


@pytest.mark.parametrize(("protocol", "version"), VERSIONS, ids=lambda item: getattr(item, "name", item))
def test_every_golden_vector_and_all_that_is_near_it(protocol: Protocol, version: int) -> None:
    wire = wire_of(protocol.versions[version])
    tried = dict.fromkeys(
        packet for data in golden_bytes(protocol.name, version) for packet in near(data[:90])
    )
    assert len(tried) > 1000
    agree(engine_of(wire), wire.engine("generated"), list(tried))


@pytest.mark.parametrize("name", FAULTS)
def test_the_cases_of_the_field(name: str) -> None:
    record, octets, (code, path, byte, *_) = FAULTS[name]
    wire, data = wire_of(record), bytes.fromhex(octets)
    engine = ColumnarEngine(wire.layout, wire.names, compiled=False)
    agree(engine, wire.engine("generated"), [data])
    filled, _ = engine.packets(data, *packed_together([data], 0)[1:])
    fault = Table(engine, data, filled, exact=True).faults[0]
    assert (fault.code, fault.path, fault.byte) == (code, path, byte)


def test_compiled_rules_do_not_wrap() -> None:
    wire = wire_of(RULED)
    edges = [
        a + xy
        for a in (b"\x80\0", b"\x80\1", b"\x7f\xff", b"\0\0")
        for xy in (b"\0\0", b"\0\2", b"\0\xff", b"\xff\0")
    ]
    agree(engine_of(wire), wire.engine("generated"), edges)


@pytest.mark.parametrize(
    ("left", "right"), [(2**31, 2**32 - 1), (2**32 - 1, 2**32 - 1), (1, 2**32 - 1), (2, 2), (0, 9)]
)
def test_counts_beyond_64_bits_do_not_wrap(left: int, right: int) -> None:
    size = "w" / construct.Int32ub, "h" / construct.Int32ub
    record = make(
        "R", Struct(*size, "xs" / Array(this.w * this.h, Byte)), {"w": int, "h": int, "xs": tuple[int, ...]}
    )
    wire = wire_of(record)
    data = left.to_bytes(4, "big") + right.to_bytes(4, "big") + bytes(4)
    agree(engine_of(wire), wire.engine("generated"), [data, data[:8]])


def test_numbers_of_64_bits_are_themselves() -> None:
    fields = {"a": Int64ub, "b": construct.Int64sb, "c": construct.VarInt, "d": construct.ZigZag}
    source = Struct(*(name / kind for name, kind in fields.items()), "e" / If(this.a == 2**64 - 1, Byte))
    record = make("R", source, {**dict.fromkeys(fields, int), "e": int | None})
    wire = wire_of(record)
    ends = [
        record(a=2**64 - 1, b=-(2**63), c=2**64 - 1, d=-(2**63), e=1),
        record(a=1, b=2**63 - 1, c=0, d=2**63 - 1, e=None),
    ]
    agree(engine_of(wire), wire.engine("generated"), [made.build() for made in ends])
    table = record.parse_many(b"".join(made.build() for made in ends))
    assert list(table) == ends
    assert table["a"].tolist() == [2**64 - 1, 1] and table["d"].tolist() == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_counts_cost_no_more_than_the_bytes_that_are_there(name: str) -> None:
    source, annotation, octets = HOSTILE[name]
    if annotation is None:
        item = make(
            "Item", Struct("n" / construct.Int8ub, "b" / construct.Bytes(this.n)), {"n": int, "b": bytes}
        )
        annotation = tuple[item, ...]
    fields = {part.name: int if part.name == "n" else annotation for part in source.subcons}
    wire = wire_of(make("Hostile", source, fields))
    data = bytes.fromhex(octets)
    engine, places = engine_of(wire), packed_together([data], 0)[1:]
    agree(engine, wire.engine("generated"), [data])
    tracemalloc.start()
    try:
        assert len(engine.packets(data, *places)[0].bad) == 1
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
    finally:
        tracemalloc.stop()


# -- one behind the other


@pytest.mark.parametrize("record", [RotationV1, RotationV2, RotationV3])
def test_packed_records_become_columns_and_bytes_again(record: Any) -> None:
    records = [turned(record, number) for number in range(100)]
    data = b"".join(one.build() for one in records)
    for buffer in (data, bytearray(data), memoryview(data), np.frombuffer(data, "u1")):
        table = record.parse_many(buffer)
        assert len(table) == 100 and not table.faults and not len(table.bad)
        assert list(table) == records and table.record(-1) == records[-1]
        assert record.build_many(table) == data
    assert table.columns == tuple(record.model_fields)
    assert table["a"].tolist() == [one.a for one in records]
    assert table["a"].dtype == np.int16 and table["largest_index"].dtype == np.uint8
    quaternions = np.stack([table[name] for name in table.derived], axis=1)
    assert table.derived == ("x", "y", "z", "w") and quaternions.dtype == np.float32
    wanted = np.array([one.to_quaternion() for one in records], "f4")
    assert quaternions.tobytes() == wanted.tobytes()


def test_faults_have_a_record_a_place_and_a_reason() -> None:
    good = turned(RotationV1, 3).build()
    table = RotationV1.parse_many(good + b"\x04" + good[1:] + good + b"\0" + b"\x7f" * 6 + good[:3])
    assert table.numbers.tolist() == [0, 2] and table.starts.tolist() == [0, 14]
    assert table.bad.tolist() == [1, 3, 4]
    assert [(fault.number, fault.start, fault.code, fault.path, fault.byte) for fault in table.faults] == [
        (1, 7, "out-of-range", "largest_index", 7),
        (3, 21, "rule:reachable", "", 21),
        (4, 28, "truncated", "b", 31),
    ]
    assert str(table.faults[0]) == "record 1: largest_index: 4 is not in 0..3 (byte 0)"
    assert repr(table) == "<Table of RotationV1: 2 records, 3 bad>"
    assert RotationV1.build_many(table) == good * 2
    with pytest.raises(KeyError, match=r"'d' is no column: there are largest_index, a, b, c, x, y, z, w"):
        table["d"]
    with pytest.raises(IndexError, match="row 2 of 2"):
        table.record(2)


def test_a_bad_record_of_no_fixed_size_ends_the_table() -> None:
    good = SnapshotV2(tick=1, entities=entities(2)).build()
    table = SnapshotV2.parse_many(good + b"XS" + good[2:] + good)
    assert table.numbers.tolist() == [0]
    assert [(fault.number, fault.start, fault.code) for fault in table.faults] == [(1, len(good), "constant")]
    assert SnapshotV2.parse_many(b"").numbers.tolist() == []


def test_a_value_that_was_changed_is_not_written() -> None:
    table = RotationV1.parse_many(b"".join(turned(RotationV1, number).build() for number in range(4)))
    table["largest_index"][2] = 4
    with pytest.raises(EncodeError, match=r"RotationV1: \[2\].largest_index: 4 is not in 0..3"):
        RotationV1.build_many(table)
    with pytest.raises(TypeError, match="no table of RotationV2"):
        RotationV2.build_many(table)


# -- what is nested


def test_entities_have_offsets_and_columns_of_their_own() -> None:
    records = [SnapshotV2(tick=number, entities=entities(number % 3)) for number in range(7)]
    data = b"".join(record.build() for record in records)
    table = SnapshotV2.parse_many(data)
    assert list(table) == records and SnapshotV2.build_many(table) == data
    assert engine_of(wire_of(SnapshotV2)).build(table.filled) == data  # by array operations
    assert table["tick"].tolist() == list(range(7)) and table["version"].tolist() == [2] * 7
    assert table["magic"].tolist() == [b"WS"] * 7
    assert table.offsets("entities").tolist() == [0, 0, 1, 3, 3, 4, 6, 6]
    assert table["entities.id"].tolist() == [0, 0, 1, 0, 0, 1]
    assert table["entities.position.z"].dtype == np.float32
    flat = [entity for record in records for entity in record.entities]
    for at, name in enumerate("xyzw"):
        wanted = np.array(
            [decode(e.rotation.largest_index, e.rotation.a, e.rotation.b, e.rotation.c)[at] for e in flat],
            "f4",
        )
        assert table[f"entities.rotation.{name}"].tobytes() == wanted.tobytes()
    with pytest.raises(KeyError, match="'tick' is no array"):
        table.offsets("tick")
    with pytest.raises(KeyError, match="'tick' is no choice"):
        table.tags("tick")


def test_choices_have_tags_and_columns_of_their_own() -> None:
    source = Struct(
        "kind" / Byte,
        "body"
        / construct.Switch(this.kind, {1: Int16ul, 2: construct.Bytes(2)}, default=PrefixedArray(Byte, Byte)),
        "more" / If(this.kind == 1, Int8sl),
        "grid" / Array(2, Array(3, Flag)),
        "name" / construct.PascalString(Byte, "utf-8"),
    )
    fields = {"kind": int, "body": int | bytes | tuple[int, ...], "more": int | None}
    record = make("R", source, {**fields, "grid": tuple[tuple[bool, ...], ...], "name": str})
    grid = ((True, False, True), (False, False, True))
    records = [
        record(kind=1, body=7, more=-1, grid=grid, name=""),
        record(kind=2, body=b"ab", more=None, grid=grid, name="é€"),
        record(kind=3, body=(4, 5), more=None, grid=grid, name="x"),
        record(kind=1, body=8, more=-2, grid=grid, name="y"),
    ]
    data = b"".join(one.build() for one in records)
    table = record.parse_many(data)
    assert list(table) == records and record.build_many(table) == data
    assert table.tags("body").tolist() == [0, 1, 2, 0]
    assert table.tags("more").tolist() == [True, False, False, True]
    assert table["body:1"].tolist() == [7, 8] and table["body:2"].tobytes() == b"ab"
    assert table["body:default"].tolist() == [4, 5] and table.offsets("body:default").tolist() == [0, 2]
    assert table["more"].tolist() == [-1, -2]
    assert table["grid"].shape == (4, 2, 3) and table["grid"][1].tolist() == [list(row) for row in grid]
    assert table["name"].tolist() == ["", "é€", "x", "y"]
    assert table.columns == ("kind", "body:1", "body:2", "body:default", "more", "grid", "name")


# -- packets


def found_one_by_one(protocol: Protocol, packets: list[bytes], version: int | None) -> tuple[Any, Any, Any]:
    """Return (records by version, faults, foreign packets), each as parse_all has it."""
    records: dict[int, list[Any]] = {}
    faults, foreign = [], []
    for number, packet in enumerate(packets):
        try:
            for parsed in protocol.parse_all(packet, version=version):
                records.setdefault(parsed.version, []).append((number, parsed.record))
        except DecodeError as error:
            if error.code == "foreign":
                foreign.append(number)
            else:
                faults.append((number, error.record, error.fault))
    return records, faults, foreign


def tagged_packets(protocol: Protocol) -> list[bytes]:
    """Return packets that begin with a tag of a protocol, nearly, or not at all."""
    first, second = protocol.tags
    starts = [b"", b"Q", *(tag[:end] for tag in (first, second) for end in range(1, len(tag) + 1))]
    ends = [bytes([a, b]) for a in range(4) for b in range(3)] + [b"", b"\0", b"xy"]
    pair = first + b"x" + second + b"xy"
    more = [pair + pair, pair[:-1], pair + b"Q", pair + first[:1], pair + first, pair + b"\xff" * 4]
    return [start + end for start in starts for end in ends] + more


@pytest.mark.parametrize(
    "protocol", [ONE, MANY, LITTLE, NIBBLES, SIGNED, SPLIT, LONE], ids=lambda one: one.name
)
def test_packets_of_mixed_versions_are_what_each_is_alone(protocol: Protocol) -> None:
    packets = tagged_packets(protocol)
    whole, starts, stops = packed_together(packets)
    found = protocol.parse_packets(whole, starts, stops - starts)
    records, faults, foreign = found_one_by_one(protocol, packets, None)
    assert {
        v: list(zip(t.numbers.tolist(), t, strict=True)) for v, t in found.tables.items() if len(t)
    } == records
    assert [(fault.packet, fault.record, fault.fault) for fault in found.faults] == faults
    assert found.bad.tolist() == [number for number, *_ in faults] and found.foreign.tolist() == foreign
    assert all(fault.start == starts[fault.packet] for fault in found.faults)


def test_a_packet_may_hold_very_many_records() -> None:
    one, two = MANY.tags
    many = (one + b"x" + two + b"xy") * 20_000
    found = MANY.parse_packets(many + many[:-1], [0, len(many)], [len(many), len(many) - 1])
    assert [len(table) for table in found.tables.values()] == [40_000, 39_999]
    assert found.tables[1].numbers[[0, 19_999, 20_000]].tolist() == [0, 0, 1]
    assert (np.diff(found.tables[2].starts) > 0).all()
    assert [(fault.packet, fault.path) for fault in found.faults] == [(1, "[39999].y")]


def test_packets_of_a_protocol_without_a_tag_need_a_version() -> None:
    found = PLAIN.parse_packets(b"\1\2\3\4", [0, 2, 1], [2, 2, 3], version=2)
    assert [record.x for record in found.tables[2]] == [0x0201, 0x0403]
    assert str(found.faults[0]) == "plain v2: 1 byte after the end (byte 2; packet 2)"
    with pytest.raises(TypeError, match="say which version the packets are"):
        PLAIN.parse_packets(b"", [], [])
    with pytest.raises(ValueError, match="plain has no version 3"):
        PLAIN.parse_packets(b"", [], [], version=3)


def test_snapshots_of_both_versions() -> None:
    one, two = SnapshotV1(tick=1, entities=()).build(), SnapshotV2(tick=2, entities=entities(3)).build()
    packets = [two, one, b"XY", two[:-1], b"WS\x07", two]
    whole, starts, stops = packed_together(packets)
    found = snapshot.parse_packets(whole, starts, stops - starts)
    assert repr(found) == "<PacketTables of snapshot: v1: 1, v2: 2; 2 bad, 1 foreign>"
    assert found.tables[2].numbers.tolist() == [0, 5]
    assert [fault.code for fault in found.faults] == ["truncated", "unknown-version"]
    assert (
        str(found.faults[0])
        == "snapshot v2: entities[2].rotation.c: 2 bytes wanted, 1 left (byte 70; packet 3)"
    )


@pytest.mark.parametrize(
    ("offsets", "lengths", "told"),
    [
        ([0, 1], [1], "2 offsets, but 1 lengths"),
        ([0, 3], [3, 1], r"packet 1 \(1 bytes at 3\) is not within the 3 bytes"),
        ([-1], [1], "packet 0"),
        ([0], [-1], "packet 0"),
        ([1], [2**63 - 1], "packet 0"),
    ],
)
def test_places_outside_of_the_buffer_are_refused(offsets: list[int], lengths: list[int], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ONE.parse_packets(b"abc", offsets, lengths)


def test_places_are_integers() -> None:
    with pytest.raises(TypeError, match="offsets are a row of integers"):
        ONE.parse_packets(b"abc", [0.5], [1])  # type: ignore[list-item]


# -- what is refused, and what is said


def wide() -> Any:
    inner = make("P", Struct("n" / construct.BytesInteger(9)), {"n": int})
    return make("Wide", Struct("p" / inner.layout), {"p": inner})


def greedy() -> Any:
    return make("Free", Struct("xs" / construct.GreedyRange(Byte)), {"xs": tuple[int, ...]})


def validating() -> Any:
    @field_validator("n")
    @classmethod
    @versioned(1)
    def even(cls: Any, value: int) -> int:
        return value

    return make("Odd", Struct("n" / Byte), {"n": int}, even=even)


def inner() -> Any:
    return make("Inner", Struct("xs" / Array(this._.n, Byte)), {"xs": tuple[int, ...]})


REFUSED = {
    "code": (
        validating,
        "Odd: the columnar engine cannot do Python validators (after validator even ",
    ),
    "fields around": (
        inner,
        "Inner: the layout reads fields around the record; parse the record that",
    ),
    "a wide integer": (
        wide,
        "Wide.p.n: the columnar engine cannot do an integer of 72 bits: 64 are the most",
    ),
    "no bytes": (greedy, "Free: a record that may take no bytes cannot lie beside others; say where each is"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_says_why(name: str) -> None:
    record, told = REFUSED[name]
    with pytest.raises(SchemaError) as caught:
        record().parse_many(b"\0" * 9)
    assert str(caught.value).startswith(told)


def test_one_record_is_no_job_of_the_columnar_engine() -> None:
    with pytest.raises(ValueError, match="many records at once are parse_many's"):
        RotationV1.parse(bytes(7), engine="columnar")


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (columns("q")(lambda a: a), "write @staticmethod"),
        (staticmethod(columns("q")(lambda n: n)), "the parameter n is no field that is a number"),
        (staticmethod(columns("a")(lambda a: a)), "the column a is a field"),
        (staticmethod(columns("q", "q")(lambda a: a)), "the column q is there already"),
        (staticmethod(columns()(lambda a: a)), "columns without a name, or of no field"),
        (staticmethod(columns("q")(lambda: 1)), "columns without a name, or of no field"),
    ],
)
def test_derived_columns_that_cannot_be_are_refused(method: Any, told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        make("R", Struct("a" / Byte, "s" / construct.CString("utf-8")), {"a": int, "s": str}, more=method)


@pytest.mark.parametrize("missing", ["numba", "numpy"])
def test_without_the_extra_the_error_says_what_to_install(missing: str, tmp_path: Path) -> None:
    (tmp_path / f"{missing}.py").write_text(f"raise ImportError('{missing} is not there')")
    code = "from protocol.rotation import RotationV1; RotationV1.parse_many(bytes(7))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env={"PYTHONPATH": f"{tmp_path}:{ROOT}:{ROOT / 'src'}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.stderr.splitlines()[-1] == (
        "ImportError: columns want numba and numpy: pip install 'wirelock[columnar]'"
    )


# -- columns that somebody made


def columns_of(table: Table) -> dict[str, Any]:
    return {path: table[path] for path in table.columns}


def test_columns_made_by_hand_become_bytes() -> None:
    made = {"largest_index": np.array([0, 3]), "a": np.array([1, -2]), "b": [5, 6], "c": np.zeros(2, "i8")}
    records = [RotationV1(largest_index=0, a=1, b=5, c=0), RotationV1(largest_index=3, a=-2, b=6, c=0)]
    assert RotationV1.build_many(made) == b"".join(record.build() for record in records)
    records = [SnapshotV2(tick=number, entities=entities(number)) for number in range(3)]
    data = b"".join(record.build() for record in records)
    table = SnapshotV2.parse_many(data)
    made = {path: column for path, column in columns_of(table).items() if path not in ("magic", "count")}
    made["entities.position.x"] = made["entities.position.x"].astype("f8")
    assert SnapshotV2.build_many(made, offsets={"entities": table.offsets("entities")}) == data


def test_choices_and_nested_arrays_made_by_hand_become_bytes() -> None:
    source = Struct(
        "kind" / Byte,
        "body"
        / construct.Switch(
            this.kind, {1: Int16ul, 2: construct.Bytes(2)}, default=construct.CString("utf-8")
        ),
        "more" / If(this.kind == 1, Flag),
        "lists" / PrefixedArray(Byte, PrefixedArray(Byte, construct.Float32b)),
    )
    fields = {"kind": int, "body": int | bytes | str, "more": bool | None}
    record = make("R", source, {**fields, "lists": tuple[tuple[float, ...], ...]})
    records = [
        record(kind=1, body=7, more=True, lists=((0.5,), (), (1.5, 2.5))),
        record(kind=2, body=b"ab", more=None, lists=()),
        record(kind=3, body="é", more=None, lists=((-1.0,),)),
    ]
    data = b"".join(one.build() for one in records)
    table = record.parse_many(data)
    offsets = {path: table.offsets(path) for path in ("lists", "lists[]")}
    tags = {path: table.tags(path) for path in ("body", "more")}
    assert offsets["lists[]"].tolist() == [0, 1, 1, 3, 4] and table["lists"].tolist() == [0.5, 1.5, 2.5, -1.0]
    assert record.build_many(columns_of(table), offsets=offsets, tags=tags) == data
    assert record.build_many(columns_of(table) | {"body:2": [b"ab"]}, offsets=offsets, tags=tags) == data
    with pytest.raises(EncodeError, match=r"R: \[2\].body:default \(0\): '.ud800' is no utf-8"):
        record.build_many(columns_of(table) | {"body:default": ["\ud800"]}, offsets=offsets, tags=tags)
    with pytest.raises(ValueError, match=r"tags of body are 0..2, the places of its cases 1, 2, d.*: got 3"):
        record.build_many(columns_of(table), offsets=offsets, tags=tags | {"body": [0, 1, 3]})
    with pytest.raises(ValueError, match="offsets of lists begin with 0"):
        record.build_many(columns_of(table), offsets=offsets | {"lists": [0, 3, 2, 4]}, tags=tags)
    with pytest.raises(EncodeError, match=r"R: \[1\].body: bytes b'ab' is not a str"):
        record.build_many(columns_of(table) | {"kind": [1, 3, 2]}, offsets=offsets, tags=tags)


GOOD: dict[str, Any] = {"largest_index": [0, 1], "a": [1, 2], "b": [3, 4], "c": [5, 6]}


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"a": [1, 40000]}, EncodeError, r"RotationV1: \[1\].a: 40000 is not in -32768..32767"),
        ({"largest_index": [0, 4]}, EncodeError, r"RotationV1: \[1\].largest_index: 4 is not in 0..3"),
        (
            {"a": [32767, 1], "b": [32767, 1]},
            EncodeError,
            r"RotationV1: \[0\]: ",
        ),
        ({"a": [1.0, 2.0]}, TypeError, "a: wanted integers, got float64"),
        ({"a": [True, False]}, TypeError, "a: wanted integers, got bool"),
        ({"a": np.ma.array([1, 2], mask=[0, 1])}, TypeError, "a: masked values have no bytes"),
        ({"a": [1]}, ValueError, "a: 1 values where there should be 2"),
        ({"d": [1, 2]}, KeyError, "'d' is no column of this record: there are largest_index, a, b, c"),
        (
            {"lagest_index": [1, 2]},
            KeyError,
            "'lagest_index' is no column .*: did you mean largest_index?",
        ),
        ({"c": None}, KeyError, "the column of 'c' is missing"),
    ],
)
def test_columns_that_are_none_of_the_records_are_refused(change: Any, error: Any, told: str) -> None:
    made = {name: column for name, column in (GOOD | change).items() if column is not None}
    with pytest.raises(error, match=told):
        RotationV1.build_many(made)


@pytest.mark.parametrize(
    ("name", "column", "told"),
    [
        ("a", [1, -1], r"\[1\].a: -1 is not in 0..16777215"),
        ("a", [1 << 24, 1], r"\[0\].a: 16777216 is not in 0..16777215"),
        ("f", np.array([0, 0x7F810000], "u4").view("f4"), r"\[1\].f: nan would be written as a quiet NaN"),
    ],
)
def test_values_that_the_width_does_not_hold(name: str, column: Any, told: str) -> None:
    record = make("Wide", Struct("a" / construct.Int24ub, "f" / construct.Float32b), {"a": int, "f": float})
    columns = {"a": [1, 2], "f": np.array([0.5, np.nan], "f4")}
    assert record.build_many(columns) == bytes.fromhex("000001 3f000000 000002 7fc00000")
    with pytest.raises(EncodeError, match=told):
        record.build_many(columns | {name: column})


def test_places_that_are_masked_are_none() -> None:
    with pytest.raises(TypeError, match="lengths: masked values are no places"):
        snapshot.parse_packets(b"", [0, 0], np.ma.array([0, 0], mask=[0, 1]))

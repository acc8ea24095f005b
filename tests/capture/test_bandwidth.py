"""What fields cost: every bit once, and the quick counts the same as reading field by field."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import construct as c
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.rotation import PoseFlags, RotationV1
from protocol.snapshot import EntityV1, Position, SnapshotV1
from tests.strategies import layouts, name_layout, samples
from tests.test_columnar import packed_together
from wirelock import opaque
from wirelock.capture.bandwidth import Bandwidth, FieldCost
from wirelock.capture.groups import groups_of
from wirelock.codec.columnar import ColumnarEngine
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.readout import read_out
from wirelock.codec.table import Table
from wirelock.errors import SchemaError
from wirelock.layout.nodes import (
    If,
    Opaque,
    Optional,
    Padded,
    Select,
    Sized,
    Switch,
    parts_of,
    plain,
)
from wirelock.layout.walk import walk
from wirelock.schema.record import layout_of

laws = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def by_path(costs: Any) -> dict[tuple[str, str], int]:
    return {(cost.path, cost.part): cost.bits for cost in costs}


def counted(costs: Any) -> dict[tuple[str, str], tuple[int, int]]:
    return {(cost.path, cost.part): (cost.values, cost.bits) for cost in costs}


def rows_of(layout: Any, data: bytes) -> list[tuple[tuple[str, str], int]]:
    """Return the path, part and bits of each value in wire order; what is absent is none."""
    rows = (row for row in read_out(layout, data).rows if not row.group)
    return [
        ((re.sub(r"\[\d+\]", "[]", row.path), row.part), row.end - row.bit)
        for row in rows
        if row.end > row.bit or not isinstance(plain(row.kind), If | Optional | Switch | Padded | Sized)
    ]


def read_by_path(layout: Any, records: list[bytes]) -> dict[tuple[str, str], tuple[int, int]]:
    values: Counter[tuple[str, str]] = Counter()
    bits: Counter[tuple[str, str]] = Counter()
    for key, size in (row for data in records for row in rows_of(layout, data)):
        values[key] += 1
        bits[key] += size
    return {key: (values[key], size) for key, size in bits.items() if size}


def holds(kind: Any, wanted: Any) -> bool:
    """Whether a type is of a kind, or one inside of it; of an Opaque, one that takes all that is left."""
    found = isinstance(kind, wanted) and not isinstance(getattr(kind, "size", None), int)
    return found or any(holds(part, wanted) for part in parts_of(kind))


def of_table(layout: Any, names: Any, records: list[bytes]) -> Bandwidth | None:
    """Return what the records cost as columns, with other bytes between; None for what cannot be those."""
    try:
        engine = ColumnarEngine(layout, names, compiled=False)
    except SchemaError:
        return None
    whole, starts, stops = packed_together(records)
    filled, _ = engine.packets(whole, starts, stops)
    bandwidth = Bandwidth(layout)
    bandwidth.add_table(Table(engine, whole, filled, exact=True))
    return bandwidth


@laws
@given(st.data())
def test_costs_are_those_of_reading_field_by_field_and_sum_up(data: st.DataObject) -> None:
    layout, names = name_layout(walk(data.draw(layouts())))
    engine, bandwidth = GeneratedEngine(layout, names), Bandwidth(layout)
    records = [octets for octets, _ in data.draw(st.lists(samples(layout), max_size=4))]
    with pytest.MonkeyPatch.context() as patch:
        if not holds(layout, Opaque):
            patch.setattr("wirelock.capture.bandwidth.read_out", None)
        for octets in records:
            bandwidth.add(engine.parse(octets), octets)
        table = of_table(layout, names, records)
    costs = bandwidth.costs()
    assert counted(costs) == read_by_path(layout, records)
    assert sum(cost.bits for cost in costs) == bandwidth.bits == 8 * sum(map(len, records))
    assert by_path(bandwidth.costs()) == by_path(costs), "asking twice counts nothing twice"
    if table is not None:
        assert (table.costs(), table.bits, table.records) == (costs, bandwidth.bits, len(records))
    places = {key: place for place, key in enumerate(counted(costs))}
    for octets in () if holds(layout, Switch | Select) else records:  # whose cases may share a path
        rows = rows_of(layout, octets)
        if len({key for key, _ in rows}) == len(rows):
            found = [key for key, bits in rows if bits]
            assert sorted(found, key=places.__getitem__) == found, "in the order of the layout"


CASES = {1: c.Struct("a" / c.Int16ub), 2: c.Struct("b" / c.PrefixedArray(c.Byte, c.Int16ub))}
STARTS = (
    c.Struct("t" / c.Const(b"\1"), "x" / c.Byte),
    c.Struct("t" / c.Const(b"\2"), "y" / c.Int16ub),
)
INNER = c.Struct("m" / c.Byte, "b" / c.Array(c.this.m, c.Int16ub))
MAYBE = c.Struct("k" / c.Byte, "x" / c.If(c.this.k, c.Byte), "rest" / c.Optional(c.Byte))
SOME = c.Struct("k" / c.Byte, "x" / c.If(c.this.k, c.Byte))
BITS = c.BitStruct("x" / c.Nibble, c.Padding(4))
QUICK = {
    "fixed fields": (c.Struct("a" / c.Byte, c.Padding(3), "b" / BITS), b"\0" * 5),
    "a count before": (c.Struct("n" / c.PrefixedArray(c.Int16ub, c.Byte)), b"\0\2ab"),
    "arrays in arrays": (c.Struct("n" / c.Byte, "a" / c.Array(c.this.n, INNER)), b"\2\1ab\2cdef"),
    "bytes": (c.Struct("n" / c.Byte, "b" / c.Bytes(c.this.n)), b"\3abc"),
    "what is absent": (MAYBE, b"\0"),
    "what is there": (MAYBE, b"\1ab"),
    "arrays in an array of a fixed count": (c.Struct("a" / INNER[2]), b"\1ab\0"),
    "what is there in some": (c.Struct("n" / c.Byte, "a" / SOME[c.this.n]), b"\3\0\1a\0"),
    "a size before": (c.Struct("a" / c.Prefixed(c.Int16ub, c.GreedyBytes)), b"\0\2ab"),
    "text": (
        c.Struct("a" / c.PascalString(c.Byte, "utf8"), "b" / c.GreedyString("utf_16_le")),
        b"\2\xc3\xa9a\0",
    ),
    "a record in a region": (c.Struct("a" / c.FixedSized(3, INNER)), b"\1ab"),
    "a terminator": (c.Struct("a" / c.CString("utf8")[2]), b"abc\0\0"),
    "cases that are alike": (
        c.Struct("k" / c.Byte, "v" / c.Switch(c.this.k, {1: c.Int16ub, 2: c.Int16ub})),
        b"\1ab",
    ),
    "padding behind": (c.Struct("a" / c.Padded(4, c.Int16ub)), b"\0\1\0\0"),
    "padded text": (c.Struct("a" / c.PaddedString(4, "utf_16_le")[2]), b"a\0\0\0a\0b\0"),
    "empty text": (c.Struct("a" / c.PaddedString(3, "ascii"), "b" / c.CString("ascii")), b"\0\0\0\0"),
    "stripped bytes": (c.Struct("a" / c.FixedSized(3, c.NullStripped(c.GreedyBytes))), b"a\0\0"),
    "cases by class": (c.Struct("k" / c.Byte, "v" / c.Switch(c.this.k, CASES)[2]), b"\2\1ab\0"),
    "cases by key": (c.Struct("k" / c.Byte, "v" / c.Switch(c.this.k, {0: c.Byte, 1: c.Int16ub})), b"\1ab"),
    "a case of nothing": (c.Struct("k" / c.Byte, "v" / c.Switch(c.this.k, {1: c.Byte, 2: c.Pass})), b"\2"),
    "a key by element": (
        c.Struct("a" / c.Struct("i" / c.Index, "v" / c.Switch(c.this.i, {0: c.Byte}, c.Int16ub))[2]),
        b"abc",
    ),
    "records by their start": (c.Struct("a" / c.GreedyRange(c.Select(*STARTS))), b"\1a\2ab\1c"),
    "varints": (c.Struct("a" / c.VarInt[2], "b" / c.ZigZag), b"\x7f\x80\1\xff\xff\3"),
    "a count in a varint": (c.Struct("a" / c.PrefixedArray(c.VarInt, c.Byte)), b"\x80\1" + bytes(128)),
    "a size in a varint": (c.Struct("a" / c.Prefixed(c.VarInt, INNER)[2]), b"\1\0\3\1ab"),
    "a size in a zigzag": (c.Struct("a" / c.Prefixed(c.ZigZag, c.GreedyBytes)), b"\x80\1" + bytes(64)),
    "text behind a varint": (c.Struct("a" / c.PascalString(c.VarInt, "utf8")[2]), b"\2\xc3\xa9\0"),
    "padding to a multiple": (c.Struct("a" / c.Aligned(4, INNER)[2]), b"\1ab\0\0\0\0\0"),
    "padding around what differs": (c.Struct("a" / c.Padded(4, INNER)[2]), b"\1ab\0\0\0\0\0"),
    "a row": (c.Struct("a" / c.Sequence(c.VarInt, c.CString("ascii"))), b"\1a\0"),
    "in a frame": (c.Struct("a" / c.FocusedSeq("x", c.Const(b"<"), "x" / c.CString("ascii"))), b"<a\0"),
    "a constant of a stated size": (c.Struct(c.Prefixed(c.VarInt, c.Const(b"ab")), "a" / c.Byte), b"\2abx"),
    "arrays of text in arrays": (c.Struct("a" / c.CString("ascii")[2][2]), b"a\0\0b\0cd\0"),
}
BY_RECORDS = {
    "padding of a computed length": (c.Struct("n" / c.Byte, c.Padding(c.this.n)), b"\2\0\0"),
    "padded to a computed length": (
        c.Struct("n" / c.Byte, "a" / c.Padded(c.this.n, INNER)),
        b"\5\1ab\0\0",
    ),
    "text padded to a computed length": (
        c.Struct("n" / c.Byte, "a" / c.PaddedString(c.this.n, "ascii")),
        b"\3a\0\0",
    ),
    "a hidden choice": (
        c.Struct("n" / c.Byte, c.Switch(c.this.n, {1: c.Const(b"ab"), 2: c.Padding(3)}, c.Pass)),
        b"\1ab",
    ),
    "a hidden choice in a frame": (
        c.Struct("n" / c.Byte, "a" / c.FocusedSeq("x", c.If(c.this._.n, c.Const(b"<")), "x" / c.Byte)),
        b"\1<a",
    ),
}

KINDS = {1: c.Struct("a" / c.Int16ub), 2: c.Struct("b" / c.Byte, "c" / c.Byte)}


def test_fields_of_cases_stand_in_the_order_of_the_cases() -> None:
    layout, names = name_layout(walk(c.Struct("k" / c.Byte, "body" / c.Switch(c.this.k, KINDS))))
    records, bandwidth = [b"\2ab", b"\1ab", b"\2ab"], Bandwidth(layout)
    for data in records:
        bandwidth.add(GeneratedEngine(layout, names).parse(data), data)
    assert list(by_path(bandwidth.costs()).items()) == [
        (("k", ""), 24), (("body.a", ""), 16), (("body.b", ""), 16), (("body.c", ""), 16),
    ]  # fmt: skip


@pytest.mark.parametrize("name", [*QUICK, *BY_RECORDS])
def test_records_are_not_read_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, data = (QUICK | BY_RECORDS)[name]
    layout, names = name_layout(walk(source))
    wanted = read_by_path(layout, [data, data])
    monkeypatch.setattr("wirelock.capture.bandwidth.read_out", None)
    if name in QUICK:
        monkeypatch.setattr(Table, "record", None)
    bandwidth = Bandwidth(layout)
    for _ in range(2):
        bandwidth.add(GeneratedEngine(layout, names).parse(data), data)
    assert counted(bandwidth.costs()) == wanted
    table = of_table(layout, names, [data, data])
    assert table is not None and table.costs() == bandwidth.costs()


class Tail(c.Adapter):  # type: ignore[misc]
    """Bytes as text in hexadecimal digits, whatever is left."""

    def _decode(self, obj: bytes, context: Any, path: str) -> str:
        return obj.hex()

    def _encode(self, obj: str, context: Any, path: str) -> bytes:
        return bytes.fromhex(obj)


def test_what_code_alone_can_read_is_read_in_the_order_of_the_layout_too() -> None:
    tail = opaque("tail", 1, Tail(c.GreedyBytes))
    fields = c.Switch(c.this.k, KINDS), c.CString("ascii"), c.Prefixed(c.Byte, tail)
    labels = ("k", "body", "name", "tail")
    source = c.Struct(*(label / part for label, part in zip(labels, (c.Byte, *fields), strict=True)))
    layout, names = name_layout(walk(source))
    records, bandwidth = [b"\2ab\0\1x", b"\1abc\0\0"], Bandwidth(layout)
    for data in records:
        bandwidth.add(GeneratedEngine(layout, names).parse(data), data)
    found = counted(bandwidth.costs())
    assert found == read_by_path(layout, records)
    assert [path for path, _ in found] == [
        "k", "body.a", "body.b", "body.c", "name", "name", "tail", "tail",
    ]  # fmt: skip
    assert found["name", ""] == (2, 8), "an empty one is one"


def test_a_path_of_several_types_says_them_all() -> None:
    source = c.Struct("k" / c.Byte, "v" / c.Switch(c.this.k, {0: c.Int16ub, 1: c.Byte, 2: c.Byte}))
    layout, names = name_layout(walk(source))
    bandwidth = Bandwidth(layout)
    bandwidth.add(GeneratedEngine(layout, names).parse(b"\1a"), b"\1a")
    assert [cost.type for cost in bandwidth.costs()] == ["uint8", "uint16 big-endian or uint8"]


def test_groups_hold_what_lies_under_a_path() -> None:
    rows = [
        ("k", ""), ("m", "count"), ("m[]", "count"), ("m[][]", ""), ("mm.x", ""), ("a.b[].c", ""),
        ("a.b[].d", ""), ("a.b", "terminator"), ("a.text", ""), ("a.text", "padding"),
    ]  # fmt: skip
    costs = [FieldCost(path, part, "", 1, 1 << at) for at, (path, part) in enumerate(rows)]
    assert [(group.path, group.fields, group.bits) for group in groups_of(costs)] == [
        ("m[][]", 3, 0b1110), ("a", 5, 0b1111100000), ("a.b[]", 3, 0b11100000), ("a.text", 2, 0b1100000000),
    ]  # fmt: skip
    assert groups_of(costs[1:4]) == [], "all is no group"


def test_a_snapshot_by_field() -> None:
    rotation = RotationV1(largest_index=3, a=1, b=-2, c=3)
    entity = EntityV1(id=1, flags=PoseFlags(0), position=Position(x=1, y=2, z=3), rotation=rotation)
    record = SnapshotV1(tick=7, entities=(entity,) * 3)
    bandwidth = Bandwidth(layout_of(SnapshotV1))
    bandwidth.add(record, record.build())
    found = [(cost.path, cost.values, cost.bits) for cost in bandwidth.costs()]
    assert found[:6] == [
        ("magic", 1, 16), ("version", 1, 8), ("tick", 1, 32), ("count", 1, 16), ("entities[].id", 3, 48),
        ("entities[].flags", 3, 24),
    ]  # fmt: skip
    assert found[-1] == ("entities[].rotation.c", 3, 48)
    assert bandwidth.bits == 8 * (9 + 3 * 22)

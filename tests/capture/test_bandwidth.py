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
from wirelock.capture.bandwidth import Bandwidth
from wirelock.codec.columnar import ColumnarEngine
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.readout import read_out
from wirelock.codec.table import Table
from wirelock.errors import SchemaError
from wirelock.layout.walk import walk
from wirelock.schema.record import layout_of

laws = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def by_path(costs: Any) -> dict[tuple[str, str], int]:
    return {(cost.path, cost.part): cost.bits for cost in costs}


def read_by_path(layout: Any, records: list[bytes]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for data in records:
        for row in read_out(layout, data).rows:
            if not row.group:
                found[re.sub(r"\[\d+\]", "[]", row.path), row.part] += row.end - row.bit
    return +found


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
    for octets in records:
        bandwidth.add(engine.parse(octets), octets)
    costs = bandwidth.costs()
    assert by_path(costs) == read_by_path(layout, records)
    assert sum(cost.bits for cost in costs) == bandwidth.bits == 8 * sum(map(len, records))
    assert by_path(bandwidth.costs()) == by_path(costs), "asking twice counts nothing twice"
    table = of_table(layout, names, records)
    if table is not None:
        assert (table.costs(), table.bits, table.records) == (costs, bandwidth.bits, len(records))


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
}

KINDS = {1: c.Struct("a" / c.Int16ub), 2: c.Struct("b" / c.Byte, "c" / c.Byte)}


def test_fields_of_cases_of_one_size_are_told_apart() -> None:
    layout, names = name_layout(walk(c.Struct("k" / c.Byte, "body" / c.Switch(c.this.k, KINDS))))
    records, bandwidth = [b"\1ab", b"\2ab", b"\2ab"], Bandwidth(layout)
    for data in records:
        bandwidth.add(GeneratedEngine(layout, names).parse(data), data)
    assert by_path(bandwidth.costs()) == read_by_path(layout, records)
    assert by_path(bandwidth.costs()) == {
        ("k", ""): 24, ("body.a", ""): 16, ("body.b", ""): 16, ("body.c", ""): 16,
    }  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_records_of_simple_layouts_are_not_read_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, data = QUICK[name]
    layout, names = name_layout(walk(source))
    wanted = read_by_path(layout, [data])
    monkeypatch.setattr("wirelock.capture.bandwidth.read_out", None)
    bandwidth = Bandwidth(layout)
    bandwidth.add(GeneratedEngine(layout, names).parse(data), data)
    assert by_path(bandwidth.costs()) == wanted
    table = of_table(layout, names, [data])
    assert table is not None and table.costs() == bandwidth.costs()


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

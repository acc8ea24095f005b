"""Records as Arrow columns: nothing is lost, every type is as stated, and Parquet gives the same back."""

from __future__ import annotations

import enum
import struct
from typing import Any

import construct as c
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import layouts, name_layout, samples
from wirelock.capture.arrow.columns import batch_of
from wirelock.codec.arrow_types import case_labels, schema_of
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.locate import LayoutReader, selected
from wirelock.codec.trail import Trail
from wirelock.layout.adapters import scaled, ticks
from wirelock.layout.nodes import (
    Array,
    If,
    Layout,
    Mapping,
    Nothing,
    Opaque,
    Optional,
    Padding,
    Select,
    Sequence,
    Switch,
    Terminated,
    parts_of,
    plain,
    valued,
)
from wirelock.layout.terms import inner_path
from wirelock.layout.walk import walk

laws = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

NONE = object()
"""What has no column."""


class DecidingReader(LayoutReader):
    """The slow reader, which notes its decisions: a case's number, or whether there is a value."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data, Trail())
        self.decided: dict[tuple[str, int], int] = {}

    def read(self, kind: Any, path: str, frame: Any) -> Any:
        inner = plain(kind)
        match inner:
            case If(condition=condition):
                self.decided[path, id(inner)] = bool(frame.compute(condition))
            case Optional():
                self.decided[path, id(inner)] = bool(self.left)
            case Switch(key=key, cases=cases):
                found = frame.compute(key)
                numbers = [number for number, (case, _) in enumerate(cases) if case == found]
                self.decided[path, id(inner)] = (*numbers, len(cases))[0]
            case Select(cases=records):
                there = selected(inner, self.data, self.byte, self.end, path)
                self.decided[path, id(inner)] = [record for _, record in records].index(there)
        return super().read(kind, path, frame)


def plain_value(kind: Any, value: Any, path: str, decided: dict[tuple[str, int], int]) -> Any:
    """Return what a column should hold, from a record's value and what the slow reader decided."""
    kind = valued(kind)
    if says_nothing(kind):
        return NONE
    at = decided.get((path, id(kind)))
    match kind:
        case If(type=inner) | Optional(inner=inner):
            return plain_value(inner, value, path, decided) if at else None
        case Switch() | Select():
            assert at is not None
            cells = {
                label: plain_value(case, value, path, decided) if number == at else None
                for number, (label, case) in enumerate(zip(case_labels(kind), parts_of(kind), strict=True))
                if not says_nothing(case)
            }
            return {"case": case_labels(kind)[at], **cells}
    match kind:
        case Layout():
            columns = {
                item.label: plain_value(
                    item.type, getattr(value, item.label), inner_path(path, item.label), decided
                )
                for item in kind.fields
                if item.in_record
            }
            return {name: cell for name, cell in columns.items() if cell is not NONE} or True
        case Array(element=inner):
            cells = [plain_value(inner, one, f"{path}[{at}]", decided) for at, one in enumerate(value)]
            return [None if cell is NONE else cell for cell in cells]
        case Sequence(types=types):
            cells = [plain_value(part, value[at], f"{path}[{at}]", decided) for at, part in enumerate(types)]
            return {str(at): None if cell is NONE else cell for at, cell in enumerate(cells)} or True
        case Mapping(members=members) if not all(type(key) is int for key, _ in members):
            return str(value)
        case Opaque():
            return NotImplemented
    if type(value) is not bool and isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(int(value))
    return value


def says_nothing(kind: Any) -> bool:
    kind = valued(kind)
    if isinstance(kind, If | Optional | Switch):
        return all(map(says_nothing, parts_of(kind)))
    return isinstance(kind, Nothing | Padding | Terminated)


def alike(found: Any, wanted: Any) -> bool:
    """Whether two values are the same, and their floats to the bit."""
    if wanted is NotImplemented:
        return isinstance(found, str)
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(alike(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(alike, found, wanted))
    if isinstance(wanted, float):
        return struct.pack(">d", found) == struct.pack(">d", wanted)
    return bool(found == wanted) or str(found) == str(int(wanted))


@laws
@given(st.data())
def test_columns_hold_what_records_hold(data: st.DataObject) -> None:
    layout, names = name_layout(walk(data.draw(layouts())))
    engine = GeneratedEngine(layout, names)
    records, wanted = [], []
    for octets, _ in data.draw(st.lists(samples(layout), max_size=4)):
        reader = DecidingReader(octets)
        reader.read(layout, "", None)
        records.append(engine.parse(octets))
        wanted.append(plain_value(layout, records[-1], "", reader.decided))
    batch = batch_of(layout, records)
    batch.validate(full=True)
    assert batch.schema.equals(schema_of(layout), check_metadata=True)
    if not batch.num_columns:
        assert all(row is True for row in wanted)
        return
    assert len(batch.to_pylist()) == len(wanted)
    for row, row_wanted in zip(batch.to_pylist(), wanted, strict=True):
        assert alike(row, row_wanted)
    file = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([batch]), file)
    back = pq.read_table(pa.BufferReader(file.getvalue()))
    assert back.schema.equals(batch.schema, check_metadata=True)
    for row, row_wanted in zip(back.to_pylist(), wanted, strict=True):
        assert alike(row, row_wanted)


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 40


def sure(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


TYPES: dict[str, tuple[Any, pa.DataType, dict[str, str]]] = {
    "a byte": (c.Int8ub, pa.uint8(), {"bits": "8"}),
    "three bytes": (c.Int24sb, pa.int32(), {"bits": "24"}),
    "64 bits": (c.Int64ul, pa.uint64(), {"bits": "64"}),
    "wider": (c.BytesInteger(12), pa.string(), {"bits": "96"}),
    "a varint": (c.VarInt, pa.uint64(), {}),
    "a zigzag": (c.ZigZag, pa.int64(), {}),
    "binary16": (c.Float16b, pa.float32(), {"bits": "16"}),
    "binary64": (c.Float64l, pa.float64(), {"bits": "64"}),
    "a flag": (c.Flag, pa.bool_(), {}),
    "an enumeration": (
        c.Enum(c.Int16ub, Colour), pa.uint16(), {"members": '{"RED": 1, "BLUE": 40}', "bits": "16"},
    ),
    "steps": (scaled(c.Int16sb, step="0.1", unit="degC"), pa.float64(), {"unit": "degC", "bits": "16"}),
    "ticks": (
        ticks(c.Int32ub, unit="ms", epoch="unix"), pa.uint32(), {"unit": "ms", "epoch": "unix", "bits": "32"},
    ),
    "names": (c.Mapping(c.Byte, {"a": 1, "b": 2}), pa.string(), {"bits": "8"}),
    "bytes": (c.Bytes(3), pa.binary(), {}),
    "text": (c.PascalString(c.Byte, "utf8"), pa.string(), {}),
    "a record": (c.Struct("a" / c.Byte), pa.struct([sure("a", pa.uint8())]), {}),
    "a record of nothing": (c.Struct(c.Padding(1)), pa.bool_(), {}),
    "an array": (c.Byte[3], pa.list_(sure("element", pa.uint8())), {"bits": "8"}),
    "an array that counts": (
        c.PrefixedArray(c.Byte, c.CString("utf8")), pa.list_(sure("element", pa.string())), {},
    ),
    "values": (
        c.Sequence(c.Byte, c.Flag), pa.struct([sure("0", pa.uint8()), sure("1", pa.bool_())]), {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_each_kind_has_the_type_that_is_stated(name: str) -> None:
    source, wanted, metadata = TYPES[name]
    for around, nullable in ((c.Struct("x" / source), False), (c.Struct("x" / c.Optional(source)), True)):
        field = schema_of(walk(around)).field("x")
        assert (field.nullable, field.metadata or {}) == (
            nullable, {key.encode(): value.encode() for key, value in metadata.items()},
        )  # fmt: skip
        if not nullable:
            assert field.type == wanted


def test_a_choice_names_its_case_and_has_a_column_for_each_case_that_says_something() -> None:
    choice = c.Switch(c.this.k, {1: c.Int16ub, 2: c.Struct("a" / c.Byte), 3: c.Pass}, c.Bytes(1))
    layout = walk(c.Struct("k" / c.Byte, "body" / choice, "gone" / c.Pass, c.Padding(1)))
    schema = schema_of(layout)
    assert schema.names == ["k", "body"]
    assert schema.field("body").type == pa.struct(
        [
            sure("case", pa.string()),
            ("1", pa.uint16()),
            ("2", pa.struct([("a", pa.uint8())])),
            ("default", pa.binary()),
        ]
    )


def test_the_case_of_a_choice_is_told_by_its_key() -> None:
    """Where all values are integers their class says nothing; the key may lie around an array."""
    inner = c.Struct("v" / c.Switch(c.this._.k, {1: c.Byte, 2: c.Int16ub, 3: c.Pass}))
    source = c.Struct(
        "k" / c.Byte, "all" / c.Array(2, inner), "one" / c.IfThenElse(c.this.k == 2, c.Byte, c.Int16ub)
    )
    layout, names = name_layout(walk(source))
    engine = GeneratedEngine(layout, names)
    records = [engine.parse(bytes(data)) for data in ([1, 7, 8, 0, 5], [2, 0, 7, 1, 8, 9], [3, 0, 6])]
    seven, eight = ({"v": {"case": "1", "1": at, "2": None}} for at in (7, 8))
    wide = [{"v": {"case": "2", "1": None, "2": at}} for at in (7, 264)]
    none = {"v": {"case": "3", "1": None, "2": None}}
    assert [list(row.values()) for row in batch_of(layout, records).to_pylist()] == [
        [1, [seven, eight], {"case": "0", "0": 5, "1": None}],
        [2, wide, {"case": "1", "0": None, "1": 9}],
        [3, [none, none], {"case": "0", "0": 6, "1": None}],
    ]

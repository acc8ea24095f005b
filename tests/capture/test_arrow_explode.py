"""Rows for the elements of an array: the same from columns as from records, wherever a batch was cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import construct as c
import duckdb
import polars
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol import PROTOCOLS
from tests.capture.capture_writer import ethernet, ipv4, pcap, udp
from tests.capture.messages import MESSAGES, SAMPLES, MessageV2
from tests.strategies import layouts, name_layout, samples
from wirelock.capture.arrow.columns import column_of
from wirelock.capture.arrow.explode import exploded, exploded_schema, list_columns
from wirelock.capture.explode import FlatRows, arrays_in, lists_on
from wirelock.cli.decode import command
from wirelock.codec.arrow_types import type_of
from wirelock.codec.generated import GeneratedEngine
from wirelock.layout.walk import walk

LAYOUT = MESSAGES["message"].layout(1)
ARRAYS = {
    # a path -> the columns of its innermost list in tables
    "body.joints": ["record.body.1.joints", "record.body.2.joints"],
    "body.joints[].samples": ["record.body.1.joints.samples"],
    "extra.marks": ["record.extra.marks"],
    "more": ["record.more"],
    "parts": ["record.parts"],
    "parts[].body.joints": ["record.parts.body.1.joints"],
    "parts[].body.joints[].samples": ["record.parts.body.1.joints.samples"],
}


def batch(layout: Any, records: Any) -> pa.RecordBatch:
    schema = pa.schema([pa.field("record", type_of(layout), nullable=False)])
    return pa.RecordBatch.from_arrays([column_of(layout, records)], schema=schema)


def elements(value: Any, path: str) -> Iterator[list[Any]]:
    """Yield the elements of the array at a path in JSON, each behind its numbers."""
    name, _, rest = path.partition("[]")
    for step in name.removeprefix(".").split("."):
        value = value.get(step) if isinstance(value, dict) else None
    for number, element in enumerate(value if isinstance(value, list) else ()):
        yield from ([number, *found] for found in (elements(element, rest) if rest else [[element]]))


def in_json(column: str) -> str:
    """Return the name that a column of a table has in JSON, which does not tell cases."""
    return ".".join(part for part in column.split(".") if part not in ("1", "2", "3", "default"))


def scalars(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: row[name] for name in row if name in names and isinstance(row[name], int | str)}


def test_the_arrays_that_can_be_taken_apart_and_the_columns_that_they_are() -> None:
    assert arrays_in(LAYOUT) == tuple(ARRAYS)
    assert lists_on("near.units[].items", "") == ("near.units", "near.units.items")
    found = {path: list_columns(LAYOUT, lists_on(path))[-1] for path in ARRAYS}
    assert found == ARRAYS


@given(st.lists(st.sampled_from(SAMPLES), max_size=6), st.sampled_from(list(ARRAYS)), st.data())
def test_columns_and_records_give_the_same_rows(records: Any, array: str, data: st.DataObject) -> None:
    names = lists_on(array)
    lists = list_columns(LAYOUT, names)
    first, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(records))] * 2)))
    found = exploded(batch(LAYOUT, records).slice(first, stop - first), lists)
    found.validate(full=True)
    assert found.schema.equals(exploded_schema(batch(LAYOUT, []).schema, lists), check_metadata=True)
    flat = FlatRows(LAYOUT, names)
    dumped = [record.model_dump(mode="json") for record in records[first:stop]]
    rows = [cells for record in dumped for cells in flat.of(record)]
    wanted = [element for record in dumped for element in elements(record, array)]
    assert [[row[f"{name}[]"] for name in names] for row in rows] == [element[:-1] for element in wanted]
    for row, (*_, element) in zip(rows, wanted, strict=True):
        inside = {name: value for name, value in row.items() if name.startswith(names[-1])}
        inside.pop(f"{names[-1]}[]")
        parts = element if isinstance(element, dict) else {"": element}
        assert inside == {f"{names[-1]}.{name}".rstrip("."): value for name, value in parts.items()}
    shared = ({in_json(name) for name in found.schema.names} & set(flat.columns)) - {"record.magic"}
    assert {f"{name}[]" for name in names} <= shared
    tables = (
        {in_json(name): row[name] for name in row if row[name] is not None} for row in found.to_pylist()
    )
    assert [scalars(row, shared) for row in tables] == [scalars(row, shared) for row in rows]


def as_json(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    if value is None or isinstance(value, int | float | str | bytes):
        return value
    return {name: as_json(item) for name, item in vars(value).items()}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_arrays_of_any_layout_have_their_elements(data: st.DataObject) -> None:
    layout, names = name_layout(walk(data.draw(layouts())))
    engine = GeneratedEngine(layout, names)
    records = [engine.parse(octets) for octets, _ in data.draw(st.lists(samples(layout), max_size=4))]
    for path in arrays_in(layout):
        lists = lists_on(path)
        wanted = [element[:-1] for record in records for element in elements(as_json(record), path)]
        flat = FlatRows(layout, lists)
        rows = [row for record in records for row in flat.of(as_json(record))]
        assert [[row[f"{name}[]"] for name in lists] for row in rows] == wanted
        columns = list_columns(layout, lists)
        found = exploded(batch(layout, records), columns)
        found.validate(full=True)
        assert found.schema.equals(exploded_schema(batch(layout, []).schema, columns), check_metadata=True)
        numbers = (
            [found.column(f"{name}[]").to_pylist() for name in places if f"{name}[]" in found.schema.names]
            for places in columns
        )
        told = [
            [next((it for it in cells if it is not None), None) for cells in zip(*one, strict=True)]
            for one in numbers
        ]
        assert [list(row) for row in zip(*told, strict=True)] == wanted


def test_an_array_in_every_record_leaves_no_column_that_can_be_null() -> None:
    layout = PROTOCOLS["snapshot"].layout(2)
    schema = batch(layout, []).schema.with_metadata({"a": "b"})
    found = exploded_schema(schema, list_columns(layout, lists_on("entities")))
    assert found.metadata == {b"a": b"b"}
    assert not any(field.nullable for field in found)
    flags = found.field("record.entities.rotation.flags")
    assert (flags.type, flags.metadata[b"bits"]) == (pa.uint8(), b"6")


BYTE = c.PrefixedArray(c.Byte, c.Byte)
SHAPES = {
    # what stands behind a byte `n` -> the arrays, and the flat columns of the first
    "plain": (c.Struct("a" / c.Byte), [], ["record.x.a"]),
    "in a region": (c.FixedSized(3, c.Struct("a" / c.Byte[3])), ["x.a"], ["record.x.a[]", "record.x.a"]),
    "an optional record": (
        c.Optional(c.Struct("a" / c.Byte, "b" / c.Flag)), [], ["record.x.a", "record.x.b"],
    ),
    "an optional record of nothing": (c.Optional(c.Struct(c.Padding(1))), [], ["record.x"]),
    "a case that is an array": (
        c.Switch(c.this.n, {1: BYTE, 2: c.Byte}), ["x"], ["record.x[]", "record.x"],
    ),
    "choices in cases": (
        c.Switch(c.this.n, {1: c.Struct("y" / c.IfThenElse(c.this._.n > 1, c.Struct("a" / BYTE), c.Byte))}),
        ["x.y.a"], ["record.x.y.a[]", "record.x.y.a"],
    ),
    "first bytes": (
        c.Select(
            c.Struct("k" / c.Const(b"A"), "a" / BYTE, "c" / c.Byte),
            c.Struct("k" / c.Const(b"B"), "b" / c.Byte),
        ),
        ["x.a"], ["record.x.k", "record.x.a[]", "record.x.a", "record.x.c"],
    ),
    "arrays of arrays": (BYTE[2], ["x"], ["record.x[]", "record.x"]),
    "a choice that stays one": (c.Switch(c.this.n, {1: c.Struct("a" / c.Byte)}), [], ["record.x"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_what_a_row_has_of_each_shape(name: str) -> None:
    source, arrays, columns = SHAPES[name]
    layout = walk(c.Struct("n" / c.Byte, "x" / source))
    assert arrays_in(layout) == tuple(arrays)
    flat = FlatRows(layout, lists_on(arrays[0]) if arrays else ())
    assert flat.columns == ("record.n", *columns)


CAPTURE = pcap(
    [
        (number, 0, ethernet(ipv4(udp(record.build()))))
        for number, record in enumerate([*SAMPLES, MessageV2(n=3), *SAMPLES])
    ]
)


def decoded(folder: Any, *options: str) -> None:
    folder.mkdir()
    (folder / "m.pcap").write_bytes(CAPTURE)
    arguments = [f"{folder}/m.pcap", "--protocols", "tests.capture.messages:MESSAGES", *options]
    outcome = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert (outcome.exit_code, outcome.exception) == (0, None)


@pytest.mark.parametrize("array", ARRAYS)
def test_compiled_code_comes_to_the_same_files(tmp_path: Any, monkeypatch: Any, array: str) -> None:
    found = []
    for least in (0, 1 << 40):
        monkeypatch.setattr("wirelock.capture.bulk.WORTH", least)
        folder = tmp_path / str(least)
        decoded(folder, "--explode", array, "-o", f"{folder}/rows.parquet")
        decoded(folder / "arrow", "--explode", array, "-o", f"{folder}/rows.arrow")
        found.append({file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()})
    assert found[0] == found[1]
    rows = polars.read_parquet(tmp_path / "0" / "rows.message-v1.parquet")
    wanted = [one for record in SAMPLES for one in elements(record.model_dump(mode="json"), array)]
    assert len(rows) == 2 * len(wanted)
    assert polars.read_parquet(tmp_path / "0" / "rows.message-v2.parquet")["record.n"].to_list() == [3]


def test_every_form_has_the_elements_of_each_case(tmp_path: Any) -> None:
    where = tmp_path / "rows"
    for suffix in ("parquet", "csv", "jsonl"):
        decoded(tmp_path / suffix, "--explode", "body.joints", "-o", f"{where}.{suffix}")
    rows = [json.loads(line) for line in where.with_suffix(".jsonl").read_text("utf-8").splitlines()]
    number, angle, bone = "record.body.joints[]", "record.body.joints.angle", "record.body.joints"
    joints = [(1, 0, 7, None), (1, 1, 8, None), (1, 2, 9, None), (2, 0, None, 1), (2, 1, None, 300)]
    first = [row for row in rows if row["packet"] < 6]
    assert [(row["packet"], row[number], row[angle], row[bone]) for row in first] == joints
    assert [row["packet"] for row in rows if row["version"] == 2] == [6]
    table = duckdb.read_csv(str(where.with_suffix(".csv")))
    found = table.filter("packet < 6").project(
        f'packet, "{number}", "{angle}", "{bone}", "record.extra.level"'
    )
    assert found.fetchall() == [(*joint, 5 if joint[0] == 2 else None) for joint in joints]
    query = """select packet, coalesce("record.body.1.joints[]", "record.body.2.joints[]"),
        "record.body.1.joints.angle", "record.body.2.joints", "record.body.case" from read_parquet(?)
        where packet < 6"""
    path = tmp_path / "rows.message-v1.parquet"
    assert duckdb.execute(query, [str(path)]).fetchall() == [(*joint, str(joint[0])) for joint in joints]

"""Tables of Arrow hold what the records hold, over random layouts; and Parquet gives it back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import construct as c
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.rotation import RotationV1
from protocol.snapshot import SnapshotV2, snapshot
from tests.schema.record_maker import make
from tests.strategies import mutated, samples
from tests.test_columnar import drawn, packed_together
from tests.test_columnar_face import entities, turned
from tests.test_engines import laws
from wirelock import columns, layout_of
from wirelock.capture.arrow.columns import batch_of
from wirelock.codec.table import Table
from wirelock.layout.canonical import digest


def file_of(batch: pa.RecordBatch) -> bytes:
    """Return a batch as a file: the same values come to the same bytes, NaN too."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, batch.schema) as writer:
        writer.write_batch(batch)
    return stream.getvalue().to_pybytes()  # type: ignore[no-any-return]


@laws
@given(st.data())
def test_a_table_of_arrow_is_that_of_its_records(data: st.DataObject) -> None:
    engine, _ = drawn(data, compiled=False)
    octets = [data.draw(samples(engine.layout))[0] for _ in range(3)]
    whole, starts, stops = packed_together([octets[0], data.draw(mutated(octets[1])), octets[2]])
    table = Table(engine, whole, engine.packets(whole, starts, stops)[0], exact=True)
    found = table.to_arrow().replace_schema_metadata(None)
    found.validate(full=True)
    wanted = batch_of(engine.layout, list(table))
    assert found.schema.equals(wanted.schema, check_metadata=True)
    if wanted.num_columns:
        (batch,) = found.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], wanted.schema)]
        assert file_of(batch) == file_of(wanted)


def test_rotations_with_their_quaternions() -> None:
    records = [turned(RotationV1, number) for number in range(5)]
    table = RotationV1.parse_many(b"".join(record.build() for record in records))
    found = table.to_arrow(derived=True)
    assert found.schema.metadata == {
        b"wirelock.record": b"RotationV1",
        b"wirelock.digest": digest(layout_of(RotationV1)).encode(),
    }
    assert [str(field.type) for field in found.schema] == ["uint8", *["int16"] * 3, *["float"] * 4]
    assert (
        np.array(found["w"]).tobytes()
        == np.array([record.to_quaternion()[3] for record in records], "f4").tobytes()
    )


def test_snapshots_come_back_from_parquet(tmp_path: Path) -> None:
    records = [SnapshotV2(tick=number, entities=entities(number)) for number in range(4)]
    packets = [record.build() for record in records]
    whole, starts, stops = packed_together(packets)
    table = snapshot.parse_packets(whole, starts, stops - starts).tables[2]
    pq.write_table(table.to_arrow(derived=True), tmp_path / "snapshots.parquet")
    again = pq.read_table(tmp_path / "snapshots.parquet")
    assert again["tick"].to_pylist() == [0, 1, 2, 3]
    listed = pa.compute.list_flatten(again["entities"]).to_pylist()
    assert [entity["id"] for entity in listed] == [
        entity.id for record in records for entity in record.entities
    ]
    assert listed[0]["position"] == {"x": 0.0, "y": -0.0, "z": 8192.0}
    assert set(listed[0]["rotation"]) == {"flags", "largest_index", "a", "b", "c", "x", "y", "z", "w"}


def test_an_empty_table_has_its_columns() -> None:
    assert str(RotationV1.parse_many(b"").to_arrow().schema.field("a").type) == "int16"


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError('not there')")
    code = "from protocol.rotation import RotationV1; RotationV1.parse_many(b'').to_arrow()"
    root = Path(__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root, env={"PYTHONPATH": f"{tmp_path}:{root}:{root / 'src'}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert (
        run.stderr.splitlines()[-1]
        == "ImportError: tables of Arrow want pyarrow: pip install 'wirelock[tables]'"
    )


@pytest.mark.parametrize("count", [0, 3])
def test_lists_of_arrow_are_those_of_the_records(count: int) -> None:
    record = SnapshotV2(tick=1, entities=entities(count))
    found = SnapshotV2.parse_many(record.build()).to_arrow().to_pylist()[0]
    assert len(found["entities"]) == count and found["magic"] == b"WS"


CHOSEN = {
    "a field": (["tick"], False, ["tick"]),
    "in the order of the record": (["entities", "tick"], True, ["tick", "entities"]),
    "a field of elements": (["entities.id"], False, ["entities.id"]),
    "a record of elements": (["entities.position"], False, [f"entities.position.{axis}" for axis in "xyz"]),
    "a derived column": (["tick", "entities.rotation.w"], False, ["tick", "entities.rotation.w"]),
    "all derived columns": (
        ["entities.rotation"], True,
        [f"entities.rotation.{name}" for name in ("flags", "largest_index", *"abc", *"xyzw")],
    ),
    "none": ([], True, []),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_only_the_columns_that_are_asked_for(name: str) -> None:
    chosen, derived, paths = CHOSEN[name]
    data = b"".join(SnapshotV2(tick=tick, entities=entities(tick)).build() for tick in range(4))
    table = SnapshotV2.parse_many(data)
    found = table.to_arrow(columns=chosen, derived=derived)
    whole = table.to_arrow(derived=True)
    assert list(leaves(found.schema)) == [it for it in leaves(whole.schema) if within(it, paths)]
    assert found.schema.metadata == whole.schema.metadata
    for column in found.column_names:
        assert pruned(whole[column].to_pylist(), column, paths) == found[column].to_pylist()


def within(path: str, paths: list[str]) -> bool:
    return any(path == one or path.startswith(f"{one}.") for one in paths)


def leaves(fields: Any, prefix: str = "") -> Any:
    for field in fields:
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        path = prefix + field.name
        yield from leaves(kind, f"{path}.") if pa.types.is_struct(kind) else [path]


def pruned(value: Any, path: str, paths: list[str]) -> Any:
    """Return a value without what is not at or in one of some paths."""
    if within(path, paths):
        return value
    if isinstance(value, list):
        return [pruned(inner, path, paths) for inner in value]
    around = [name for name in value if any(within(one, [f"{path}.{name}"]) for one in paths)]
    kept = [name for name in value if within(f"{path}.{name}", paths) or name in around]
    return {name: pruned(value[name], f"{path}.{name}", paths) for name in kept}


def test_a_column_that_is_no_field_says_which_are_close() -> None:
    table = SnapshotV2.parse_many(b"")
    with pytest.raises(KeyError, match=r"'entities.z' is no field of a record: did you mean entities"):
        table.to_arrow(columns=["tick", "entities.z"])
    with pytest.raises(TypeError, match=r"columns is a list of paths, such as \['tick'\]"):
        table.to_arrow(columns="tick")


def test_the_schema_is_the_same_whatever_the_records_are() -> None:
    """Derived columns of what may be absent can be null, and only those."""
    doubled = staticmethod(columns("twice")(lambda n: 2 * n))
    inner = make("Inner", c.Struct("n" / c.Int16ul), {"n": int}, doubled=doubled)
    other = make("Other", c.Struct("m" / c.Byte), {"m": int})
    source = c.Struct(
        "kind" / c.Byte, "one" / inner.layout, "pair" / c.Array(2, inner.layout),
        "list" / c.PrefixedArray(c.Byte, inner.layout), "maybe" / c.If(c.this.kind == 1, inner.layout),
        "body" / c.Switch(c.this.kind, {1: other.layout}, default=inner.layout),
    )  # fmt: skip
    fields = {
        "kind": int, "one": inner, "pair": tuple[inner, ...], "list": tuple[inner, ...],
        "maybe": inner | None, "body": other | inner,
    }  # fmt: skip
    record = make("R", source, fields)
    one, two = inner(n=1), inner(n=300)
    records = [
        record(kind=1, one=one, pair=(one, two), list=(two, one), maybe=two, body=other(m=7)),
        record(kind=2, one=two, pair=(two, two), list=(), maybe=None, body=two),
    ]
    tables = [
        record.parse_many(b"".join(it.build() for it in some)).to_arrow(derived=True)
        for some in ([], records, records[:1], records[1:])
    ]
    assert all(table.schema.equals(tables[0].schema, check_metadata=True) for table in tables)
    for table in tables:
        table.validate(full=True)
    assert [str(tables[0].schema.field(name).type) for name in ("one", "maybe")] == [
        "struct<n: uint16 not null, twice: int64 not null>",
        "struct<n: uint16, twice: int64>",
    ]
    assert tables[1]["maybe"].to_pylist() == [{"n": 300, "twice": 600}, None]
    assert tables[1]["list"].to_pylist() == [[{"n": 300, "twice": 600}, {"n": 1, "twice": 2}], []]
    bodies = tables[1]["body"].to_pylist()
    assert bodies[0] == {"case": "1", "1": {"m": 7}, "default": None}
    assert bodies[1] == {"case": "default", "1": None, "default": {"n": 300, "twice": 600}}

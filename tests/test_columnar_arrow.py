"""Tables of Arrow hold what the records hold, over random layouts; and Parquet gives it back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.rotation import RotationV1
from protocol.snapshot import SnapshotV2, snapshot
from tests.strategies import mutated, samples
from tests.test_columnar import drawn, packed_together
from tests.test_columnar_face import entities, turned
from tests.test_engines import laws
from wirelock import layout_of
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

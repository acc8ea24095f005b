"""Rows for the elements of an array: the same from columns as from records, wherever a batch was cut."""

from __future__ import annotations

from typing import Any

import construct as c
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from protocol import PROTOCOLS
from wirelock.capture.arrow.columns import batch_of
from wirelock.capture.arrow.explode import exploded, exploded_schema
from wirelock.capture.explode import arrays_in, columns_of, flat_rows, lists_on
from wirelock.layout.walk import walk

UNIT = c.Struct("id" / c.Byte, "at" / c.Struct("x" / c.Byte), "items" / c.PrefixedArray(c.Byte, c.Byte))
LAYOUT = walk(
    c.Struct(
        "tick" / c.Byte,
        "near" / c.Struct("units" / c.PrefixedArray(c.Byte, UNIT)),
        "more" / c.If(c.this.tick > 3, c.PrefixedArray(c.Byte, c.Byte)),
    )
)
BYTE = st.integers(0, 255)
UNITS = st.fixed_dictionaries(
    {"id": BYTE, "at": st.fixed_dictionaries({"x": BYTE}), "items": st.lists(BYTE, max_size=3)}
)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "tick": BYTE,
            "near": st.fixed_dictionaries({"units": st.lists(UNITS, max_size=3)}),
            "more": st.none() | st.lists(BYTE, max_size=2),
        }
    ),
    max_size=5,
)


def batch(records: Any) -> pa.RecordBatch:
    schema = batch_of(LAYOUT, []).schema
    return pa.RecordBatch.from_pylist(records, schema=schema)


def test_the_arrays_that_can_be_taken_apart() -> None:
    assert list(arrays_in(LAYOUT)) == ["near.units", "near.units[].items"]
    assert lists_on("near.units[].items", "") == ("near.units", "near.units.items")


@given(RECORDS, st.sampled_from(["near.units", "near.units[].items"]), st.data())
def test_columns_and_records_give_the_same_rows(records: Any, array: str, data: st.DataObject) -> None:
    lists = lists_on(array, "")
    first, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(records))] * 2)))
    found = exploded(batch(records).slice(first, stop - first), lists)
    found.validate(full=True)
    assert found.schema.equals(exploded_schema(batch([]).schema, lists), check_metadata=True)
    names = list(columns_of(LAYOUT, "", lists))
    assert found.schema.names == names
    rows = [cells for record in records[first:stop] for cells in flat_rows(record, "", lists)]
    assert found.to_pylist() == [{name: cells.get(name) for name in names} for cells in rows]


def test_metadata_stays_where_it_was() -> None:
    layout = PROTOCOLS["snapshot"].layout(2)
    schema = exploded_schema(batch_of(layout, []).schema.with_metadata({"a": "b"}), ["entities"])
    assert schema.metadata == {b"a": b"b"}
    flags = schema.field("entities.rotation.flags")
    assert (flags.type, flags.nullable, flags.metadata[b"bits"]) == (pa.uint8(), False, b"6")

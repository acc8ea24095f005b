"""Record batches with structs and one list -> flat ones, with a row for each element of the list.

Works on whole columns, wherever they come from. Structs become columns with dotted names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["exploded", "exploded_schema"]


def exploded_schema(schema: pa.Schema, lists: Sequence[str]) -> pa.Schema:
    """Return the schema of `exploded`, with the metadata of the one given."""
    return exploded(pa.RecordBatch.from_pylist([], schema=schema), lists).schema


def exploded(batch: pa.RecordBatch, lists: Sequence[str]) -> pa.RecordBatch:
    """Return a batch without structs, with a row for each element of a list.

    `lists` are the dotted names of the lists to take apart, each inside of the one before; a batch without
    any of them has its rows as they are. `NAME[]` is the number of the element, from 0. Empty lists have no
    rows.
    """
    found = _flat([(field, batch.column(at)) for at, field in enumerate(batch.schema)])
    for name in lists:
        places = [at for at, (field, _) in enumerate(found) if field.name == name]
        if places:
            found = _taken_apart(found, places[0])
    schema = pa.schema([field for field, _ in found], metadata=batch.schema.metadata)
    return pa.RecordBatch.from_arrays([column for _, column in found], schema=schema)


def _flat(columns: list[tuple[pa.Field, Any]]) -> list[tuple[pa.Field, Any]]:
    """Return columns with the fields of structs in the place of the structs."""
    found = []
    for field, column in columns:
        if not pa.types.is_struct(field.type):
            found.append((field, column))
            continue
        parts = zip(field.type, column.flatten(), strict=True)
        found += _flat(
            [(_renamed(part, f"{field.name}.{part.name}", field), inside) for part, inside in parts]
        )
    return found


def _renamed(field: pa.Field, name: str, around: pa.Field) -> pa.Field:
    return field.with_name(name).with_nullable(field.nullable or around.nullable)


def _taken_apart(columns: list[tuple[pa.Field, Any]], place: int) -> list[tuple[pa.Field, Any]]:
    field, column = columns[place]
    parents = pc.list_parent_indices(column)
    starts = column.offsets.take(parents)
    counted = pa.array(range(column.offsets[0].as_py(), column.offsets[0].as_py() + len(parents)), pa.int32())
    element = field.type.value_field
    inside = [
        (pa.field(f"{field.name}[]", pa.int32(), nullable=False), pc.subtract(counted, starts)),
        *_flat([(element.with_name(field.name).with_metadata(field.metadata), pc.list_flatten(column))]),
    ]
    before = [(other, values.take(parents)) for other, values in columns[:place]]
    behind = [(other, values.take(parents)) for other, values in columns[place + 1 :]]
    return [*before, *inside, *behind]

"""Record batches with structs and one list -> flat ones, with a row for each element of the list.

Works on whole columns, wherever they come from. Structs become columns with dotted names. A list in a choice
can be several columns, one a case, of which a row has one at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from wirelock.codec.arrow_types import case_labels, held
from wirelock.layout.nodes import Array, If, Layout, Optional, Select, Switch, Type, parts_of, valued

__all__ = ["exploded", "exploded_schema", "list_columns"]


def list_columns(layout: Layout, lists: Sequence[str], name: str = "record") -> list[list[str]]:
    """Return the columns that each list of lists_on is in, of records that are in a column of that name."""
    found = list(_list_columns(layout, name, name, False))
    return [[column for path, column in found if path == one] for one in lists]


def _list_columns(kind: Type, path: str, name: str, taken: bool) -> Iterator[tuple[str, str]]:
    """Yield the path and the column of each list; not of one that is the element of another."""
    kind = valued(kind)
    match kind:
        case If() | Optional():
            yield from _list_columns(parts_of(kind)[0], path, name, taken)
        case Switch() | Select():
            for label, case in zip(case_labels(kind), parts_of(kind), strict=True):
                yield from _list_columns(case, path, f"{name}.{label}", taken)
        case Array(element=element) if not taken:
            yield path, name
            yield from _list_columns(element, path, name, True)
        case Layout():
            for item in held(kind):
                yield from _list_columns(item.type, f"{path}.{item.label}", f"{name}.{item.label}", False)


def exploded_schema(schema: pa.Schema, lists: Sequence[Sequence[str]]) -> pa.Schema:
    """Return the schema of `exploded`, with the metadata of the one given."""
    return exploded(pa.RecordBatch.from_pylist([], schema=schema), lists).schema


def exploded(batch: pa.RecordBatch, lists: Sequence[Sequence[str]]) -> pa.RecordBatch:
    """Return a batch without structs, with a row for each element of a list.

    `lists` are the columns of the lists to take apart, as list_columns gives them: each list inside of the
    one before, and of the columns of one a row has one at most. A batch without any of them has its rows as
    they are. `NAME[]` is the number of the element, from 0. Lists that are empty or absent have no rows.
    """
    found = _flat([(field, batch.column(at)) for at, field in enumerate(batch.schema)])
    for names in lists:
        places = [at for at, (field, _) in enumerate(found) if field.name in names]
        if places:
            found = _taken_apart(found, places)
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


def _taken_apart(columns: list[tuple[pa.Field, Any]], places: list[int]) -> list[tuple[pa.Field, Any]]:
    lengths = {at: pc.fill_null(pc.list_value_length(columns[at][1]), 0) for at in places}
    offsets = _offsets(reduce(pc.add, lengths.values()))
    count = offsets[-1].as_py()
    parents = pc.list_parent_indices(pa.ListArray.from_arrays(offsets, pa.nulls(count)))
    numbers = pc.subtract(pa.array(range(count), pa.int32()), offsets.take(parents))
    found: list[tuple[pa.Field, Any]] = []
    for at, (field, values) in enumerate(columns):
        if at not in places:
            found.append((field, values.take(parents)))
            continue
        mine, elements, element = numbers, pc.list_flatten(values), field.type.value_field
        if len(places) > 1:  # rows of the other columns have nothing here
            here = pc.greater(lengths[at].take(parents), 0)
            mine = pc.if_else(here, numbers, pa.scalar(None, pa.int32()))
            elements = elements.take(pc.add(_offsets(lengths[at]).take(parents), mine))
            element = element.with_nullable(True)
        found.append((pa.field(f"{field.name}[]", pa.int32(), nullable=len(places) > 1), mine))
        found += _flat([(element.with_name(field.name).with_metadata(field.metadata), elements)])
    return found


def _offsets(lengths: Any) -> Any:
    """Return where each list begins, and where the last one ends."""
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])

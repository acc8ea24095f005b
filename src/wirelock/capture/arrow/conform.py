"""Arrow arrays of records that others have made -> arrays of exactly the types that `schema` says.

They are nested as the records are, with the same names, but may have types of their own for the same values:
dictionaries, lists and bytes of a fixed size, wider or half-wide numbers, columns of nothing but nulls.
"""

from __future__ import annotations

import pyarrow as pa

__all__ = ["conformed", "conformed_batch"]


def conformed_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with exactly the columns of a schema. Raises as conformed does."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = [conformed(batch[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def conformed(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return the same values in another type, such as `schema.type_of` gives.

    Raises KeyError for a field that is not there, pyarrow.ArrowInvalid for a value that the type cannot hold.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type.equals(wanted, check_metadata=True):
        return array
    if pa.types.is_boolean(wanted) and pa.types.is_struct(array.type):  # a record that says nothing
        return (
            array.is_valid()
            if array.null_count == 0
            else pa.array([None if absent else True for absent in array.is_null().to_pylist()], pa.bool_())
        )
    if pa.types.is_struct(wanted):
        names = [field.name for field in array.type]
        columns = array.flatten()
        inside = []
        for field in wanted:
            if field.name not in names:
                raise KeyError(field.name)
            inside.append(conformed(columns[names.index(field.name)], field.type))
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(inside, fields=list(wanted), mask=mask)
    if pa.types.is_list(wanted):
        return _list(array, wanted)
    return array.cast(wanted)


def _list(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.list_(array.type.value_field))
    # Of a slice, its own elements; offsets then begin with 0, and nulls have no elements.
    inside = array.flatten()
    lengths = array.value_lengths().fill_null(0).to_pylist()
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), conformed(inside, wanted.value_type), type=wanted, mask=mask
    )

"""Arrays of other types for the same values become those that are stated, and nothing else passes."""

from __future__ import annotations

from typing import Any

import construct as c
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import layouts, name_layout, samples
from tests.test_engines import laws
from wirelock.capture.arrow.columns import column_of
from wirelock.capture.arrow.conform import conformed
from wirelock.capture.arrow.schema import type_of
from wirelock.codec.generated import GeneratedEngine
from wirelock.layout.walk import walk


def loosened(kind: pa.DataType) -> pa.DataType:
    """Return a type that others may have for the same values."""
    if pa.types.is_struct(kind):
        fields = [pa.field(field.name, loosened(field.type)) for field in kind]
        return pa.struct([*fields[::-1], ("and more", pa.null())])
    if pa.types.is_list(kind):
        return pa.list_(loosened(kind.value_type))
    if pa.types.is_string(kind):
        return pa.dictionary(pa.int32(), pa.string())
    return {pa.uint8(): pa.int64(), pa.int16(): pa.int64(), pa.float32(): pa.float64()}.get(kind, kind)


@laws
@given(st.data())
def test_looser_types_become_those_that_are_stated(data: st.DataObject) -> None:
    layout, names = name_layout(walk(data.draw(layouts())))
    engine = GeneratedEngine(layout, names)
    records = [engine.parse(octets) for octets, _ in data.draw(st.lists(samples(layout), max_size=4))]
    wanted = column_of(layout, records)
    given = pa.array(wanted.to_pylist(), loosened(wanted.type))
    first = data.draw(st.integers(0, len(records)))
    found = conformed(given.slice(first), wanted.type)
    found.validate(full=True)
    assert found.type.equals(wanted.type, check_metadata=True)
    assert repr(found.to_pylist()) == repr(wanted.slice(first).to_pylist())


ONE = walk(c.Struct("a" / c.Byte, "b" / c.Byte[2], "c" / c.Bytes(2), "d" / c.Struct("x" / c.Float16b)))
ROW: dict[str, Any] = {"a": 1, "b": [2, 3], "c": b"ab", "d": {"x": 0.5}}
OTHERS = {
    "sizes that are fixed": {"b": pa.list_(pa.uint8(), 2), "c": pa.binary(2)},
    "half floats": {"d": pa.struct([("x", pa.float16())])},
}
LOOSE = {"a": pa.int64(), "b": pa.list_(pa.int64()), "c": pa.binary(), "d": pa.struct([("x", pa.float64())])}


@pytest.mark.parametrize("name", OTHERS)
def test_types_of_one_size(name: str) -> None:
    import numpy as np

    half = {**ROW, "d": {"x": np.float16(0.5)}} if name == "half floats" else ROW
    array = pa.array([half], pa.struct(list({**LOOSE, **OTHERS[name]}.items())))
    assert conformed(array, type_of(ONE)).to_pylist() == [ROW]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(KeyError, match="d"):
        conformed(pa.array([ROW], pa.struct([it for it in LOOSE.items() if it[0] != "d"])), type_of(ONE))
    with pytest.raises(pa.ArrowInvalid, match="256"):
        conformed(pa.array([{**ROW, "a": 256}], pa.struct(list(LOOSE.items()))), type_of(ONE))

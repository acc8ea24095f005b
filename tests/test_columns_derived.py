"""Columns that records declare: what their functions are given, and what they must not return."""

from __future__ import annotations

from typing import Any

import construct
import numpy as np
import pytest
from construct import Flag, Int16sl, Int16ul, Int64ub, Struct

from tests.schema.record_maker import make
from wirelock import SchemaError, columns

NUMBERS: dict[str, Any] = {
    "narrow": Int16sl, "wide": Int64ub, "signed": construct.Int64sb, "varint": construct.VarInt,
    "zigzag": construct.ZigZag, "half": construct.Float16b, "single": construct.Float32b,
    "double": construct.Float64b, "on": Flag,
}  # fmt: skip
GIVEN = {
    "narrow": "int64", "wide": "uint64", "signed": "int64", "varint": "uint64", "zigzag": "int64",
    "half": "float64", "single": "float64", "double": "float64", "on": "bool",
}  # fmt: skip


def test_functions_of_columns_are_given_numbers_that_do_not_wrap() -> None:
    given: dict[str, str] = {}

    def squares(narrow: Any, wide: Any, signed: Any, varint: Any, zigzag: Any, half: Any, single: Any,
                double: Any, on: Any) -> Any:  # fmt: skip
        given.update({name: str(column.dtype) for name, column in locals().items() if name != "given"})
        return np.stack([narrow * narrow, single * single], axis=1)

    def twice(single: Any) -> Any:
        return 2 * single

    methods = {
        "squares": staticmethod(columns("area", "energy")(squares)),
        "twice": staticmethod(columns("twice")(twice)),
    }
    kinds = dict.fromkeys(NUMBERS, int) | dict.fromkeys(("half", "single", "double"), float) | {"on": bool}
    record = make("R", Struct(*(name / kind for name, kind in NUMBERS.items())), kinds, **methods)
    zeros = dict.fromkeys(NUMBERS, 0) | {"on": True}
    records = [
        record(**zeros | {"narrow": at, "single": single}) for at, single in ((-32768, 3e38), (7, 0.5))
    ]
    table = record.parse_many(b"".join(one.build() for one in records))
    assert table.derived == ("area", "energy", "twice")
    assert table["area"].tolist() == [one.narrow**2 for one in records]
    assert table["energy"].tolist() == [one.single**2 for one in records]
    assert table["twice"].tolist() == [2 * one.single for one in records]  # of shape (n,)
    assert given == GIVEN
    assert table.to_arrow(derived=True).column_names[-3:] == ["area", "energy", "twice"]


@pytest.mark.parametrize(
    ("names", "function", "told"),
    [
        (("x", "y"), lambda a: a, r"the function returns an array of int64 of shape \(3,\)"),
        (("x", "y"), lambda a: (a, a), "the function returns tuple"),
        (("x", "y"), lambda a: np.stack([a, a]), r"an array of int64 of shape \(2, 3\)"),
        (
            ("x",),
            lambda a: a[1:],
            r"an array of int64 of shape \(2,\); .* shape \(3, 1\) or \(3,\): 3 rows, x$",
        ),
        (("x",), lambda a: a.astype(object), r"an array of object of shape \(3,\)"),
        (("x",), lambda a: a.astype(str), "an array of <U21"),
        (("x",), lambda a: np.ma.masked_equal(a, 1), "a masked array of int64"),
        (("x",), lambda a: a.sum(), "the function returns int64"),
        (("x",), lambda a: None, "the function returns NoneType"),
        (("x",), lambda a: a["b"], "the function raises IndexError: .*; it is given arrays of 3 values"),
    ],
)
def test_what_a_function_of_columns_must_not_return(names: Any, function: Any, told: str) -> None:
    method = staticmethod(columns(*names)(function))
    table = make("R", Struct("a" / Int16ul), {"a": int}, more=method).parse_many(bytes(6))
    for ask in (lambda: table["x"], lambda: table.to_arrow(derived=True)):
        with pytest.raises(SchemaError, match=r"^R\.more: " + (told if "function" in told else f".*{told}")):
            ask()
    assert table["a"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            lambda a: a if len(a) else a / 2,
            "R.more: the function returns int64 here, but float64 for no values",
        ),
        (
            lambda a: a - a.min(),
            "R.more: the function raises ValueError: zero-size array .* arrays of 0 values",
        ),
    ],
)
def test_columns_of_a_table_of_arrow_have_one_type(function: Any, told: str) -> None:
    method = staticmethod(columns("x")(function))
    table = make("R", Struct("a" / Int16ul), {"a": int}, more=method).parse_many(bytes(6))
    assert table["x"].tolist() == [0, 0, 0]
    with pytest.raises(SchemaError, match=told):
        table.to_arrow(derived=True)

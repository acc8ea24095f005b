"""Paths of columns: what they are called, whose values they hold, which are close, which may be left out."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import construct
import numpy as np
import pytest
from construct import Array, Byte, If, Int16ul, Optional, PrefixedArray, Struct, Switch, this
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.schema.record_maker import make
from tests.strategies import samples
from tests.test_columnar import drawn, packed_together
from tests.test_engines import laws
from wirelock import EncodeError
from wirelock.codec.columns_given import filled_of
from wirelock.codec.paths import array_paths, choice_paths
from wirelock.codec.table import Table

JOINT = make(
    "Joint", Struct("s" / PrefixedArray(Byte, Int16ul), "t" / Byte), {"s": tuple[int, ...], "t": int}
)
MOVE = make("Move", Struct("speed" / Int16ul), {"speed": int})


class Mode(IntEnum):
    IDLE = 0
    RUNNING = 1


ORDER = make(
    "Order",
    Struct(
        "unit" / Byte,
        "kind" / Byte,
        "body" / Switch(this.kind, {1: MOVE.layout, 2: Byte}, default=construct.CString("utf-8")),
        "joints" / PrefixedArray(Byte, JOINT.layout),
        "lists" / PrefixedArray(Byte, PrefixedArray(Byte, Byte)),
        "modes" / PrefixedArray(Byte, construct.Enum(Byte, Mode)),
        "more" / If(this.kind == 1, Switch(this.unit, {7: Int16ul}, default=Byte)),
        "grid" / Array(2, Array(3, Byte)),
        "trailer" / Optional(Int16ul),
    ),
    {
        "unit": int, "kind": int, "body": MOVE | int | str, "joints": tuple[JOINT, ...],
        "lists": tuple[tuple[int, ...], ...], "modes": tuple[Mode, ...], "more": int | None,
        "grid": tuple[tuple[int, ...], ...], "trailer": int | None,
    },
)  # fmt: skip


def order(unit: int, kind: int, body: Any, *, lists: Any = (), modes: Any = (), more: Any = None) -> Any:
    joints = tuple(JOINT(s=tuple(range(at)), t=unit) for at in range(kind))
    grid = ((unit, 2, 3), (4, 5, 6))
    return ORDER(
        unit=unit, kind=kind, body=body, joints=joints, lists=lists, modes=modes, more=more, grid=grid,
        trailer=None,
    )  # fmt: skip


ORDERS = [
    order(7, 2, 200, lists=((1, 2), (), (3,)), modes=(Mode.IDLE, Mode.RUNNING)),
    order(7, 1, MOVE(speed=300), more=1000),
    order(9, 1, MOVE(speed=400), more=5, lists=((), (8,))),
    order(9, 3, "words", modes=(Mode.RUNNING,)),
]


def parsed() -> Table:
    data, starts, stops = packed_together([one.build() for one in ORDERS])
    return protocol().parse_packets(data, starts, stops - starts, version=1).tables[1]


def protocol() -> Any:
    from wirelock import Protocol

    return Protocol("order", {1: ORDER})


PATHS = {  # what has a column, what has offsets, what has tags; whose entries of the column are
    "unit": ("column", [0, 1, 2, 3]),
    "body": ("tags", [0, 1, 2, 3]),
    "body:1": ("", [1, 2]),
    "body:1.speed": ("column", [1, 2]),
    "body:2": ("column", [0]),
    "body:default": ("column", [3]),
    "joints": ("offsets", [0, 0, 1, 2, 3, 3, 3]),
    "joints.s": ("column offsets", [0, 3, 3, 3]),
    "joints.t": ("column", [0, 0, 1, 2, 3, 3, 3]),
    "lists": ("column offsets", [0, 0, 0, 2]),
    "lists[]": ("column offsets", [0, 0, 0, 2]),
    "modes": ("column offsets", [0, 0, 3]),
    "more": ("tags", [1, 2]),
    "more?": ("tags", [1, 2]),
    "more?:7": ("column", [1]),
    "more?:default": ("column", [2]),
    "grid": ("column", [0, 1, 2, 3]),
    "trailer": ("column tags", []),
}


def test_there_is_one_rule_for_paths() -> None:
    table = parsed()
    assert list(table) == ORDERS
    root = table.engine.plan.root
    asks = {"column": table.__getitem__, "offsets": table.offsets, "tags": table.tags}
    found = {path: " ".join(word for word, ask in asks.items() if can(ask, path)) for path in PATHS}
    assert found == {path: words for path, (words, _) in PATHS.items()}
    assert {path: table.rows(path).tolist() for path in PATHS} == {
        path: rows for path, (_, rows) in PATHS.items()
    }
    assert {*table.columns, *array_paths(root), *choice_paths(root)} <= {*PATHS, "kind"}
    assert table.offsets("joints.s").tolist() == [0, 0, 1, 1, 1, 1, 2, 4]
    assert table.offsets("lists").tolist() == [0, 3, 3, 5, 5] and table.offsets("lists[]").tolist()[-1] == 4


def can(ask: Any, path: str) -> bool:
    try:
        return ask(path) is not None
    except KeyError:
        return False


def test_cases_are_called_as_their_columns_are_and_know_their_records() -> None:
    table = parsed()
    assert table.cases("body") == ("1", "2", "default") and table.cases("more?") == ("7", "default")
    assert [table.cases("body")[tag] for tag in table.tags("body")] == ["2", "1", "1", "default"]
    for tag, case in enumerate(table.cases("body")):
        assert table.rows(f"body:{case}").tolist() == np.flatnonzero(table.tags("body") == tag).tolist()
    rows = table.rows("body:1.speed")
    assert list(zip(table["unit"][rows].tolist(), table["body:1.speed"].tolist(), strict=True)) == [
        (7, 300),
        (9, 400),
    ]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda table: table["joints[].s"], "'joints[].s' is no column: did you mean joints.s or joints.t?"),
        (lambda table: table["speed"], "'speed' is no column: did you mean body:1.speed?"),
        (lambda table: table["zz"], "'zz' is no column: there are unit, kind, body:1.speed, body:2, "
                                    "body:default, joints.s, joints.t, lists[] and 5 more"),
        (lambda table: table["joints"], "'joints' is no column: did you mean joints.t or joints.s?"),
        (lambda table: table.offsets("joints[].s"), "'joints[].s' is no array of which the count may differ: "
                                                    "did you mean joints.s or joints?"),
        (lambda table: table.offsets("grid"), "array of which the count may differ: there are joints, j"),
        (lambda table: table.tags("bodies"), "'bodies' is no choice: did you mean body?"),
        (lambda table: table.cases("trailer"), "'trailer' is no choice between cases: there are body, more?"),
        (lambda table: table.rows("body:3"), "'body:3' is no path in the record: did you mean body:"),
    ],
)  # fmt: skip
def test_a_path_that_is_none_says_what_is_close(ask: Any, told: str) -> None:
    with pytest.raises(KeyError) as caught:
        ask(parsed())
    assert told in caught.value.args[0]


@laws
@given(st.data())
def test_rows_say_whose_each_value_is_and_what_is_empty_may_be_left_out(data: st.DataObject) -> None:
    engine, _ = drawn(data, compiled=False)
    whole, starts, stops = packed_together([data.draw(samples(engine.layout))[0] for _ in range(3)])
    table = Table(engine, whole, engine.packets(whole, starts, stops)[0], exact=True)
    assume(len(table))
    columns = {path: table[path] for path in table.columns}
    for at, number in enumerate(table.numbers.tolist()):
        only, _ = engine.packets(whole, starts[number : number + 1], stops[number : number + 1])
        alone = Table(engine, whole, only, exact=True)
        for path, column in columns.items():
            mine = column[table.rows(path) == at]
            assert repr(alone[path].tolist()) == repr(mine.tolist())  # where NaN is NaN
    root = engine.plan.root
    offsets = {path: table.offsets(path) for path in array_paths(root)}
    tags = {path: table.tags(path) for path in choice_paths(root)}
    used = {
        "columns": {path: column for path, column in columns.items() if len(column)},
        "offsets": {path: found for path, found in offsets.items() if len(found) > 1},
        "tags": {path: found for path, found in tags.items() if len(found)},
    }
    for given_ in ({"columns": columns, "offsets": offsets, "tags": tags}, used):
        made = filled_of(engine, **given_)
        assert [array.tobytes() for array in made.arrays] == [
            array.tobytes() for array in table.filled.arrays
        ]


def given_columns(table: Table) -> dict[str, Any]:
    root = table.engine.plan.root
    return {
        "columns": {path: table[path] for path in table.columns},
        "offsets": {path: table.offsets(path) for path in array_paths(root)},
        "tags": {path: table.tags(path) for path in choice_paths(root)},
    }


def test_cases_and_trailers_that_no_row_uses_may_be_left_out() -> None:
    kinds = {"unit": [1, 2], "kind": [2, 2], "body:2": [5, 6], "grid": np.zeros((2, 2, 3), "u1")}
    none = np.zeros(3, "i8")
    absent = {"body": [1, 1], "more": [False, False], "trailer": [False, False]}
    made = ORDER.build_many(kinds, offsets={"joints": none, "lists": none, "modes": none}, tags=absent)
    zeros = ((0, 0, 0), (0, 0, 0))
    wanted = [
        ORDER(
            unit=unit, kind=2, body=body, joints=(), lists=(), modes=(), more=None, grid=zeros, trailer=None
        )
        for unit, body in ((1, 5), (2, 6))
    ]
    assert made == b"".join(one.build() for one in wanted)
    with pytest.raises(KeyError, match=r"the column of 'body:1\.speed' is missing"):
        ORDER.build_many(
            kinds, offsets={"joints": none, "lists": none, "modes": none}, tags=absent | {"body": [0, 1]}
        )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"modes": [0, 1, 5]}, "Order: [3].modes[0]: 5 is none of IDLE (0), RUNNING (1)"),
        ({"joints.t": [7, 7, 7, 9, 9, 9, 256]}, "Order: [3].joints.t (6): 256 is not in 0..255"),
        ({"joints.s": [0, 0, 0, -1]}, "Order: [3].joints.s (3): -1 is not in 0..65535"),
        ({"grid": np.full((4, 2, 3), 256)}, "Order: [0].grid (0): 256 is not in 0..255"),
        ({"body:default": ["\ud800"]}, r"Order: [3].body:default (0): '\ud800' is no utf-8"),
        ({"more?:default": [300]}, "Order: [2].more?:default (0): 300 is not in 0..255"),
    ],
)
def test_a_value_that_no_record_holds_is_told_with_its_row(change: Any, told: str) -> None:
    made = given_columns(parsed())
    with pytest.raises(EncodeError) as caught:
        ORDER.build_many(made["columns"] | change, offsets=made["offsets"], tags=made["tags"])
    assert str(caught.value) == told


MEMBERS = {
    "an enumeration": (construct.Enum(Byte, Mode), Mode, "5 is none of IDLE (0), RUNNING (1)"),
    "a mapping": (construct.Mapping(Byte, {"a": 0, "b": 1}), str, "5 is none of a (0), b (1)"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_number_that_is_no_member_is_told_with_its_row(name: str) -> None:
    source, kind, told = MEMBERS[name]
    inner = make("Inner", Struct("n" / source), {"n": kind})
    record = make("R", Struct("pair" / Array(2, inner.layout)), {"pair": tuple[inner, ...]})
    with pytest.raises(EncodeError) as caught:
        record.build_many({"pair.n": [[0, 1], [1, 5]]})
    assert str(caught.value) == f"R: [1].pair[1].n: {told}"
    table = record.parse_many(bytes(4))
    table["pair.n"][1, 0] = 5
    with pytest.raises(EncodeError, match=r"R: \[1\].pair\[0\].n: 5 is none of"):
        table.record(-1)


@pytest.mark.parametrize("count", [1, 2])
def test_offsets_of_an_array_in_one_of_a_fixed_count(count: int) -> None:
    layout = Struct("xs" / Array(count, PrefixedArray(Byte, Byte)))
    record = make("Nested", layout, {"xs": tuple[tuple[int, ...], ...]})
    made = record(xs=((5, 6),) * count)
    table = record.parse_many(made.build() * 2)
    assert table.offsets("xs").tolist() == [*range(0, 4 * count + 1, 2)]
    assert record.build_many({"xs": table["xs"]}, offsets={"xs": table.offsets("xs")}) == made.build() * 2

"""Every kind of construct that is read: values and bytes both ways, and what is refused, by each engine."""

import enum
import typing
from typing import Literal

import construct
import pytest
from construct import (
    Byte,
    Bytes,
    GreedyBytes,
    Int8ub,
    Int16sl,
    Int16ub,
    Int16ul,
    Int24ub,
    Struct,
    obj_,
    this,
)
from pydantic import ValidationError

from tests.schema.record_maker import make
from wirelock import DecodeError, EncodeError, Record, quantised, scaled, ticks
from wirelock.layout.canonical import layout_to_json
from wirelock.layout.from_json import layout_from_json
from wirelock.schema.record import layout_of

ENGINES = ["generated", "reference"]


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Item(Record, layout=Struct("k" / construct.Const(b"\x01"), "v" / Byte)):
    k: bytes
    v: int


class Numbered(Record, layout=Struct("i" / construct.Index, "v" / Byte)):
    i: int
    v: int


class Tail(
    Record, layout=Struct("a" / Byte, "b" / construct.Optional(Int16ub), "c" / construct.Optional(Byte))
):
    a: int
    b: int | None
    c: int | None


class Mapped(
    Record,
    layout=Struct(
        "k" / construct.Mapping(Byte, {"a": 0, "b": 1}),
        "v" / construct.IfThenElse(this.k == "a", Byte, Bytes(2)),
    ),
):
    k: str
    v: int | bytes


N = "n" / Byte
Items = tuple[Item, ...]
Ints = tuple[int, ...]

# name: (construct of the field x behind a byte n = 2, annotation, {bytes behind n: value})
KINDS: dict[str, tuple[typing.Any, typing.Any, dict[str, typing.Any]]] = {
    "GreedyBytes": (GreedyBytes, bytes, {"": b"", "01 02": b"\1\2"}),
    "GreedyRange": (
        construct.GreedyRange(Item.layout),
        Items,
        {"": (), "01 05 01 06": (Item(v=5), Item(v=6))},
    ),
    "GreedyRange of integers": (construct.GreedyRange(Int16ub), Ints, {"": (), "00 01 00 02": (1, 2)}),
    "RepeatUntil": (construct.RepeatUntil(obj_ == 0, Byte), Ints, {"00": (0,), "03 01 00": (3, 1, 0)}),
    "RepeatUntil by a lambda": (
        construct.RepeatUntil(lambda x, lst, ctx: x.v == ctx.n, Item.layout),
        Items,
        {"01 01 01 02": (Item(v=1), Item(v=2))},
    ),
    "PrefixedArray by VarInt": (
        construct.PrefixedArray(construct.VarInt, Byte),
        Ints,
        {"00": (), "02 07 08": (7, 8)},
    ),
    "Prefixed": (construct.Prefixed(Int16ul, GreedyBytes), bytes, {"00 00": b"", "02 00 07 08": b"\7\x08"}),
    "Prefixed by VarInt": (
        construct.Prefixed(construct.VarInt, GreedyBytes),
        bytes,
        {"80 01" + "05" * 128: b"\5" * 128},
    ),
    "Prefixed that counts itself": (
        construct.Prefixed(Byte, GreedyBytes, includelength=True),
        bytes,
        {"01": b"", "03 07 08": b"\7\x08"},
    ),
    "Prefixed records": (
        construct.Prefixed(Byte, construct.GreedyRange(Item.layout)),
        Items,
        {"02 01 05": (Item(v=5),)},
    ),
    "Prefixed record": (
        construct.Prefixed(Byte, Tail.layout),
        Tail,
        {"03 01 02 03": Tail(a=1, b=0x203, c=None)},
    ),
    "FixedSized": (construct.FixedSized(this.n, GreedyBytes), bytes, {"07 08": b"\7\x08"}),
    "FixedSized record": (construct.FixedSized(2, Item.layout), Item, {"01 05": Item(v=5)}),
    "FixedSized, stripped": (
        construct.FixedSized(4, construct.NullStripped(GreedyBytes)),
        bytes,
        {"07 00 08 00": b"\7\0\x08", "00 00 00 00": b""},
    ),
    "NullTerminated": (construct.NullTerminated(GreedyBytes), bytes, {"00": b"", "07 08 00": b"\7\x08"}),
    "NullTerminated by two bytes": (
        construct.NullTerminated(GreedyBytes, term=b"\r\n"),
        bytes,
        {"0d 0a": b"", "07 0d 0a 0d 0d 0a": b"\7\r\n\r"},
    ),
    "GreedyString": (construct.GreedyString("utf8"), str, {"": "", "c3 a9": "é"}),
    "CString": (construct.CString("ascii"), str, {"00": "", "61 62 00": "ab"}),
    "CString of utf-16": (construct.CString("utf-16-le"), str, {"00 00": "", "00 01 61 00 00 00": "Āa"}),
    "PascalString": (
        construct.PascalString(construct.VarInt, "utf-8"),
        str,
        {"00": "", "04 f0 9f 98 80": "😀"},
    ),
    "PaddedString": (construct.PaddedString(4, "utf8"), str, {"61 00 00 00": "a", "61 62 63 64": "abcd"}),
    "PaddedString of utf-32": (construct.PaddedString(8, "utf-32-be"), str, {"00 00 00 61 00 00 00 00": "a"}),
    "StringEncoded": (construct.StringEncoded(Bytes(2), "utf-16-be"), str, {"00 61": "a"}),
    "VarInt": (
        construct.VarInt,
        int,
        {"00": 0, "7f": 127, "80 01": 128, "ff" * 9 + "01": (1 << 64) - 1},
    ),
    "ZigZag": (construct.ZigZag, int, {"00": 0, "01": -1, "02": 1, "ff" * 9 + "01": -(1 << 63)}),
    "Padded": (construct.Padded(4, Int16ub), int, {"00 05 00 00": 5}),
    "Padded, other pattern": (construct.Padded(2, Byte, pattern=b"\xff"), int, {"05 ff": 5}),
    "Padded around no fixed size": (
        construct.Padded(4, construct.CString("ascii")),
        str,
        {"61 00 00 00": "a", "61 62 63 00": "abc"},
    ),
    "Padded to a field": (construct.Padded(this.n, Byte), int, {"05 00": 5}),
    "Aligned": (construct.Aligned(4, Bytes(this.n)), bytes, {"07 08 00 00": b"\7\x08"}),
    "Aligned record": (construct.Aligned(4, Item.layout), Item, {"01 05 00 00": Item(v=5)}),
    "Mapping": (construct.Mapping(Byte, {"a": 1, "b": 7}), str, {"01": "a", "07": "b"}),
    "Mapping to a Literal": (construct.Mapping(Int16ul, {"a": 1, "b": 7}), Literal["a", "b"], {"07 00": "b"}),
    "Mapping to numbers": (construct.Mapping(Byte, {10: 0, 20: 1}), int, {"00": 10, "01": 20}),
    "Optional": (construct.Optional(Int16ub), int | None, {"": None, "00 05": 5}),
    "Computed": (construct.Computed(this.n * 3), int, {"": 6}),
    "Computed constant": (construct.Computed(7), int, {"": 7}),
    "Computed truth": (construct.Computed(this.n > 1), bool, {"": True}),
    "Computed by a lambda": (construct.Computed(lambda ctx: 5 if ctx.n > 1 else 6), int, {"": 5}),
    "Computed inside a choice": (
        construct.IfThenElse(this.n > 5, Byte, construct.Computed(this.n)),
        int,
        {"": 2},
    ),
    "Index": (
        construct.Array(this.n, Numbered.layout),
        tuple[Numbered, ...],
        {"07 08": (Numbered(i=0, v=7), Numbered(i=1, v=8))},
    ),
    "Index in a GreedyRange": (
        construct.GreedyRange(Numbered.layout),
        tuple[Numbered, ...],
        {"07": (Numbered(i=0, v=7),)},
    ),
    "IfThenElse": (construct.IfThenElse(this.n == 2, Int16ub, Byte), int, {"00 05": 5}),
    "IfThenElse, otherwise": (construct.IfThenElse(this.n == 3, Int16ub, Byte), int, {"05": 5}),
    "an If of nothing": (construct.IfThenElse(this.n == 3, construct.Pass, Byte), int | None, {"05": 5}),
    "Switch by a Mapping": (
        Mapped.layout,
        Mapped,
        {"00 05": Mapped(k="a", v=5), "01 00 05": Mapped(k="b", v=b"\0\5")},
    ),
    "Switch or Error": (construct.Switch(this.n, {2: Byte}, default=construct.Error), int, {"05": 5}),
    "Default": (construct.Default(Byte, 7), int, {"05": 5}),
    "Hex": (construct.Hex(Int16ub), int, {"00 05": 5}),
    "HexDump": (construct.HexDump(Bytes(2)), bytes, {"00 05": b"\0\5"}),
    "OneOf": (construct.OneOf(Byte, [1, 3]), int, {"03": 3}),
    "OneOf bytes": (construct.OneOf(Bytes(1), [b"a", b"b"]), bytes, {"61": b"a"}),
    "NoneOf": (construct.NoneOf(Byte, {1, 3}), int, {"02": 2}),
    "ByteSwapped": (construct.ByteSwapped(Int24ub), int, {"01 02 03": 0x030201}),
    "ByteSwapped Enum": (
        construct.ByteSwapped(construct.Enum(Int16ub, Colour)),
        Colour,
        {"02 00": Colour.BLUE},
    ),
    "Terminated": (construct.Terminated, None, {"": None}),
    "scaled": (scaled(Int16sl, step="0.001", unit="m"), float, {"d2 04": 1.234, "2e fb": -1.234}),
    "scaled with an offset": (scaled(Byte, step="1/4", offset=-2), float, {"00": -2.0, "09": 0.25}),
    "quantised": (quantised(Byte, -1, 1), float, {"00": -1.0, "ff": 1.0, "80": 1 / 255}),
    "ticks": (ticks(Int16ul, unit="ms", epoch="start"), int, {"05 00": 5}),
}
EXAMPLES = [(name, data) for name, (_, _, examples) in KINDS.items() for data in examples]


def record_of(name):
    source, annotation, _ = KINDS[name]
    return make("R", Struct(N, "x" / source), {"n": int, "x": annotation})


def given(name, value):
    return {} if "Computed" in name and "inside" not in name else {"x": value}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "data"), EXAMPLES)
def test_bytes_and_value_both_ways(name, data, engine):
    record, value, data = record_of(name), KINDS[name][2][data], bytes.fromhex("02" + data)
    parsed = record.parse(data, engine=engine)
    assert (parsed.x, type(parsed.x)) == (value, type(value))
    made = record(n=2, **given(name, value))
    assert made == parsed and made.build(engine=engine) == data
    assert record.model_validate_json(made.model_dump_json()) == made
    assert record.model_validate(made.model_dump()) == made


@pytest.mark.parametrize("name", KINDS)
def test_the_layout_survives_json(name):
    layout = layout_of(record_of(name))
    assert layout_from_json(layout_to_json(layout)) == layout


def outcome(record, data, engine):
    try:
        return record.parse(data, engine=engine)
    except DecodeError as error:
        return error.fault


@pytest.mark.parametrize(("name", "data"), EXAMPLES)
def test_engines_agree_on_every_prefix_and_every_changed_byte(name, data):
    record, data = record_of(name), bytes.fromhex("02" + data)
    inputs = [data[:stop] for stop in range(len(data))] + [data + b"\0", data + b"\x01\x02"]
    inputs += [
        data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :] for at in range(len(data)) for bit in (1, 128)
    ]
    for hostile in inputs:
        found = [outcome(record, hostile, engine) for engine in ENGINES]
        assert found[0] == found[1], hostile.hex(" ")
        if isinstance(found[0], Record):
            assert found[0].build() == hostile


# name: {bytes behind n: (code, path, byte)}
FAULTS = {
    "GreedyRange": {"01 05 02 07": ("constant", "x[1].k", 3), "01": ("truncated", "x[0].v", 2)},
    "RepeatUntil": {"03 01": ("truncated", "x[2]", 3)},
    "PrefixedArray by VarInt": {"ff" * 9 + "01": ("truncated", "x[0]", 11)},
    "Prefixed": {"05 00 61 62": ("truncated", "x", 3)},
    "Prefixed that counts itself": {"00": ("bad-count", "x", 1)},
    "Prefixed records": {"03 01 05 01": ("truncated", "x[1].v", 5)},
    "Prefixed record": {"05 01 02 03 04 05": ("trailing-bytes", "x", 6), "02 01 02": ("truncated", "x.b", 3)},
    "FixedSized": {"07": ("truncated", "x", 1)},
    "NullTerminated": {"07 08": ("truncated", "x", 1), "07 00 08": ("trailing-bytes", "", 3)},
    "GreedyString": {
        "ff": ("bad-text", "x", 1),
        "ef bb bf 61": ("not-canonical", "x", 1),
        "ed a0 80": ("not-canonical", "x", 1),
    },
    "CString of utf-16": {"00 d8 00 00": ("not-canonical", "x", 1)},
    "StringEncoded": {"dc 00": ("not-canonical", "x", 1)},
    "PaddedString": {"61 00 62 00": ("not-canonical", "x", 1)},
    "VarInt": {
        "80 00": ("not-canonical", "x", 1),
        "80": ("truncated", "x", 1),
        "ff" * 9 + "02": ("too-large", "x", 1),
        "ff" * 12: ("too-large", "x", 1),
    },
    "Padded": {"00 05 00 07": ("not-canonical", "x_or_padding", 4)},
    "Padded around no fixed size": {
        "61 62 63 64 00": ("bad-count", "x", 1),
        "61 00 00": ("truncated", "x", 3),
        "61 00 05 00": ("not-canonical", "x", 3),
    },
    "Aligned": {"07 08 00": ("truncated", "x", 3)},
    "Mapping": {"02": ("unknown-member", "x", 1)},
    "Optional": {"00": ("truncated", "x", 1)},
    "Switch or Error": {},
    "OneOf": {"02": ("out-of-range", "x", 1)},
    "NoneOf": {"03": ("out-of-range", "x", 1)},
    "Terminated": {"00": ("trailing-bytes", "x", 1)},
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "data"), [(name, data) for name, rows in FAULTS.items() for data in rows])
def test_faults(name, data, engine):
    code, path, byte = FAULTS[name][data]
    with pytest.raises(DecodeError) as caught:
        record_of(name).parse(bytes.fromhex("02" + data), engine=engine)
    fault = caught.value.fault
    assert (fault.code, fault.path, fault.byte) == (code, path.replace("x_or_padding", "x"), byte)


# name: (a good value, values that cannot be written)
REFUSED = {
    "GreedyRange": ((), [None, [Item(v=1)], (5,)]),
    "RepeatUntil": ((0,), [(), (1,), (0, 0), (1, 0, 2)]),
    "Prefixed": (b"", [b"0" * 65536, "a", None]),
    "Prefixed that counts itself": (b"", [b"0" * 255]),
    "FixedSized": (b"ab", [b"a", b"abc"]),
    "FixedSized, stripped": (b"a", [b"a\0", b"abcde"]),
    "NullTerminated": (b"a", [b"a\0"]),
    "NullTerminated by two bytes": (b"ab", [b"a", b"ab\r\n"]),
    "CString": ("a", ["a\0b", "é", b"a", 5]),
    "GreedyString": ("a", ["\ufeffa", "\ud800"]),
    "PaddedString": ("a", ["a\0b", "abcde", "a\0"]),
    "VarInt": (0, [-1, 1 << 64, True, 1.0]),
    "ZigZag": (0, [1 << 63, -(1 << 63) - 1]),
    "Padded around no fixed size": ("a", ["abcd"]),
    "Mapping": ("a", ["c", 1, None]),
    "Mapping to numbers": (10, [0, True, "10"]),
    "Optional": (5, [1 << 16, "5"]),
    "Computed": (6, [7, True]),
    "Computed truth": (True, [False, 1]),
    "OneOf": (3, [2]),
    "NoneOf": (2, [3]),
    "scaled": (1.234, [1.2345, 33.0, float("nan"), -0.0, 1]),
    "quantised": (1.0, [1.1, 0.5]),
    "ticks": (5, [65536, -1, True]),
    "Terminated": (None, [0]),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written(name, engine):
    good, bad = REFUSED[name]
    record = record_of(name)(n=2, x=good)
    for value in bad:
        with pytest.raises(EncodeError):
            record.model_copy(update={"x": value}).build(engine=engine)


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in ("scaled", "quantised")])
def test_what_cannot_be_made_by_hand(name):
    record = record_of(name)
    for value in REFUSED[name][1]:
        if isinstance(value, list):
            continue  # a list is taken for a tuple
        with pytest.raises(ValidationError):
            record(n=2, x=value)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_absent_value_has_nothing_behind_it(engine):
    assert Tail(a=1, b=None, c=None).build(engine=engine) == b"\1"
    with pytest.raises(ValidationError):
        Tail(a=1, b=None, c=5)
    with pytest.raises(EncodeError, match="bytes follow"):
        Tail(a=1, b=7, c=5).model_copy(update={"b": None}).build(engine=engine)


ROUNDED = [
    ("half-even", {0.125: 0.0, 0.375: 0.5, -0.125: 0.0, 0.2: 0.25, 0.6249: 0.5}),
    ("half-away", {0.125: 0.25, 0.375: 0.5, -0.125: -0.25}),
    ("floor", {0.24: 0.0, -0.01: -0.25, 0.25: 0.25}),
]


@pytest.mark.parametrize(("rounding", "values"), ROUNDED)
def test_a_value_between_two_steps_is_rounded_as_stated(rounding, values):
    record = make("R", Struct("x" / scaled(construct.Int8sb, step="1/4", rounding=rounding)), {"x": float})
    assert {value: record(x=value).x for value in values} == values
    for value in values.values():
        assert record(x=value).x == value


def test_every_step_is_a_float_of_its_own():
    record = make("R", Struct("x" / quantised(Int16ub, "-512.5", "512.5")), {"x": float})
    seen = [record.parse(raw.to_bytes(2, "big")) for raw in range(0, 65536, 7)]
    assert len({item.x for item in seen}) == len(seen)
    for number, item in enumerate(seen):
        assert item.build() == (7 * number).to_bytes(2, "big")
        assert record(x=item.x) == item


def test_a_default_stands_in_for_a_value():
    record = record_of("Default")
    assert record(n=1).x == 7 and record(n=1, x=3).x == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_check_is_a_rule(engine):
    source = Struct(
        "n" / Int8ub, construct.Check(this.n < 5), "sum_ok" / construct.Check(lambda ctx: ctx.n != 3)
    )
    record = make("R", source, {"n": int})
    assert record.parse(b"\4", engine=engine).n == 4
    for data, code in ((b"\7", "rule:check-1"), (b"\3", "rule:sum-ok")):
        with pytest.raises(DecodeError) as caught:
            record.parse(data, engine=engine)
        assert caught.value.fault.code == code
    with pytest.raises(ValidationError):
        record(n=3)

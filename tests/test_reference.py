"""The reference engine: construct reads, the Layout locates, and on all layouts and bytes they agree."""

from __future__ import annotations

import dataclasses
import enum
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import construct as c
import pytest
from construct import len_, this
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import layouts, lowered, mutated, name_layout, samples
from wirelock.codec.check import check
from wirelock.codec.floats import same_float
from wirelock.codec.locate import LayoutReader, locate
from wirelock.codec.reference import ReferenceEngine
from wirelock.codec.template import Template
from wirelock.codec.trail import Found, Frame, Trail
from wirelock.errors import Fault
from wirelock.layout.nodes import Layout
from wirelock.layout.walk import walk

laws = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def engine_of(source: c.Construct) -> ReferenceEngine:
    layout, names = name_layout(walk(source))
    return ReferenceEngine(source, layout, names)


def fault_of(run: Any, *arguments: Any) -> Fault | None:
    """Return the fault of a call; None if it succeeds. Anything but Found is a failure of the test."""
    try:
        run(*arguments)
    except Found as found:
        return found.fault
    return None


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same bytes; frames, records' values and dicts compare by field."""
    left, right = (item.values if isinstance(item, Frame) else item for item in (left, right))
    match left:
        case dict():
            return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
        case list():
            return len(left) == len(right) and all(map(same, left, right))
        case float():
            return isinstance(right, float) and same_float(left, right)
    return type(left) is type(right) and bool(left == right)


# -- laws ----------------------------------------------------------------------------------------------


@laws
@given(st.data())
def test_valid_bytes_parse_and_build_to_themselves(data: st.DataObject) -> None:
    source = data.draw(layouts(tail=False))
    layout, names = name_layout(walk(source))
    octets, values = data.draw(samples(layout))
    engine = ReferenceEngine(source, layout, names)
    record = engine.parse(octets)
    assert engine.build(record) == octets
    assert same(engine.filled(record), values)
    again, taken = engine.parse_prefix(octets + b"\x00\xff")
    assert taken == len(octets)
    assert engine.build(again) == octets
    assert fault_of(engine.parse, octets + b"\xff") == Fault("trailing-bytes", "", "1", "0", len(octets))


@laws
@given(st.data())
def test_verdicts_are_those_of_the_layout(data: st.DataObject) -> None:
    source = data.draw(layouts())
    layout, names = name_layout(data.draw(lowered(walk(source))))
    octets = data.draw(samples(layout))[0]
    engine = ReferenceEngine(source, layout, names)
    for tried in [octets, data.draw(mutated(octets)), data.draw(mutated(octets)), data.draw(mutated(octets))]:
        fault = fault_of(engine.parse, tried)
        assert fault == locate(layout, tried)
        assert fault_of(engine.parse_prefix, tried) == locate(layout, tried, exact=False)
        if fault is None:
            assert engine.build(engine.parse(tried)) == tried


@laws
@given(st.data())
def test_every_cut_is_a_fault_of_the_same_field(data: st.DataObject) -> None:
    source = data.draw(layouts(tail=False))
    layout, names = name_layout(walk(source))
    octets = data.draw(samples(layout))[0]
    engine = ReferenceEngine(source, layout, names)
    for end in range(len(octets)):
        fault = fault_of(engine.parse, octets[:end])
        assert fault == locate(layout, octets[:end])
        assert fault is not None


@laws
@given(st.data())
def test_the_trail_is_that_of_the_layout(data: st.DataObject) -> None:
    source = data.draw(layouts())
    layout, names = name_layout(data.draw(lowered(walk(source))))
    octets = data.draw(samples(layout))[0]
    reader = LayoutReader(octets, Trail())
    wanted = reader.read(layout, "", None)
    frame, trail, taken = ReferenceEngine(source, layout, names)._read(octets)
    assert 8 * taken == reader.bit
    assert same(frame, wanted)
    assert [(mark.kind, mark.path, mark.bit) for mark in trail.marks] == [
        (mark.kind, mark.path, mark.bit) for mark in reader.trail.marks
    ]
    assert same([mark.value for mark in trail.marks], [mark.value for mark in reader.trail.marks])
    assert [(frame.path, frame.bit) for frame in trail.frames] == [
        (frame.path, frame.bit) for frame in reader.trail.frames
    ]


JUNK = st.sampled_from(
    [None, True, -1, 0, 3, 1 << 70, 0.5, 1e300, float("nan"), "x", b"", b"abc", (), (1, 2)]
)


@laws
@given(st.data())
def test_a_record_with_another_value_is_refused_or_parses_back(data: st.DataObject) -> None:
    source = data.draw(layouts())
    layout, names = name_layout(walk(source))
    engine = ReferenceEngine(source, layout, names)
    record = engine.parse(data.draw(samples(layout))[0])
    labels = [item.name for item in dataclasses.fields(record)]
    if not labels:
        return
    label = data.draw(st.sampled_from(labels))
    other = engine.parse(data.draw(samples(layout))[0])
    changed = dataclasses.replace(record, **{label: data.draw(JUNK | st.just(getattr(other, label)))})
    try:
        octets = engine.build(changed)
    except Found as found:
        assert found.fault.byte is None
        return
    assert same(check(layout, engine.parse(octets), names), check(layout, changed, names))


def test_one_engine_serves_many_threads() -> None:
    source = c.Struct(
        "n" / c.Byte,
        "xs" / c.Array(this.n, c.Struct("k" / c.Byte, "v" / c.Bytes(this.k % 3))),
        "s" / c.Switch(this.n % 2, {0: c.Int16ul, 1: c.Flag}),
    )
    engine = engine_of(source)
    octets = bytes([200] + [3] * 200 + [1, 2])
    with ThreadPoolExecutor(8) as pool:
        built = list(pool.map(lambda _: engine.build(engine.parse(octets)), range(64)))
    assert built == [octets] * 64


# -- cases from the field --------------------------------------------------------------------------------


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


def bits(*fields: Any) -> c.Construct:
    return c.BitStruct(*fields)


U8, U16, U32 = c.Int8ul, c.Int16ul, c.Int32ul
S = c.Struct
FAULTS = [
    # a length beyond the end, from the wire
    (S("n" / U8, "d" / c.Bytes(this.n)), "05 6162", "truncated", "d", 1, "2", "5"),
    # a count of 2 thousand million: the first element that does not fit, by division
    (S("xs" / c.PrefixedArray(U32, U16)), "ffffff7f 0000", "truncated", "xs[1]", 6, "0", "2"),
    (S("xs" / c.PrefixedArray(U32, U16)), "ffff", "truncated", "xs", 0, "2", "4"),
    (S("n" / U32, "xs" / c.Array(this.n * 2, U8)), "ffffffff 0000", "truncated", "xs[2]", 6, "0", "1"),
    # padding
    (S("d" / c.Padding(2)), "0007", "not-canonical", "d", 1, "0x07", "0x00"),
    (S(c.Padding(2)), "0700", "not-canonical", "padding#0", 0, "0x07", "0x00"),
    # signalling NaNs
    (S("f" / c.Float32b), "7f810000", "not-canonical", "f", 0, "signalling NaN 7f810000", "7fc10000"),
    (S("f" / c.Float16l), "017c", "not-canonical", "f", 0, "signalling NaN 7c01", "7e01"),
    # an array of structs, the third one short
    (S("items" / c.Array(3, S("a" / U16))), "0100 0200 03", "truncated", "items[2].a", 4, "1", "2"),
    (S("a" / S("b" / c.Array(1, S("c" / U16)))), "01", "truncated", "a.b[0].c", 0, "1", "2"),
    # bytes after the end
    (S("a" / U8), "01 0203", "trailing-bytes", "", 1, "2", "0"),
    # a derived size that lies
    (
        S("size" / c.Rebuild(U16, len_(this.data)), "data" / c.PrefixedArray(U8, S("a" / U16))),
        "0300 02 0100 0200", "bad-count", "size", 0, "3", "2",
    ),
    # flags: a byte that is neither 0 nor 1, a bit without a name
    (S("a" / U8, "f" / c.Flag), "00 02", "not-canonical", "f", 1, "2", "1"),
    (S("a" / U8, "f" / c.FlagsEnum(U8, Door)), "00 07", "not-canonical", "f", 1, "0x7", "0x5"),
    # choices and members
    (S("k" / U8, "v" / c.Switch(this.k, {1: U8, 2: U16})), "03 00", "unknown-case", "v", 1, "3", "1, 2"),
    (S("k" / c.Enum(U8, Colour)), "05", "unknown-member", "k", 0, "5", "RED (1), BLUE (2)"),
    # structure comes before values, values in wire order
    (S("k" / c.Enum(U8, Colour), "c" / c.Const(b"ok")), "05 6f6c", "constant", "c", 1, "6f 6c", "6f 6b"),
    (S("n" / c.Int8sl, "d" / c.Bytes(this.n)), "ff", "bad-count", "d", 1, "-1", "0 or more"),
    (S("xs" / c.PrefixedArray(c.Int8sl, U8)), "ff", "bad-count", "xs", 0, "-1", "0 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "octets", "code", "path", "byte", "found", "allowed"), FAULTS)
def test_the_one_fault(
    source: c.Construct, octets: str, code: str, path: str, byte: int, found: str, allowed: str
) -> None:
    data = bytes.fromhex(octets)
    layout, _ = name_layout(walk(source))
    fault = fault_of(engine_of(source).parse, data)
    assert fault == Fault(code, path, found, allowed, byte)
    assert fault == locate(layout, data)


BIT_FAULTS = [
    (bits("a" / c.BitsInteger(3), "b" / c.BitsInteger(13)), "00", "truncated", "b", ((0, 0x1F), (1, 0xFF))),
    (bits("a" / c.BitsInteger(3), c.Padding(13)), "0010", "not-canonical", "padding#1", ()),
    (bits("a" / c.Flag, "c" / c.Const(5, c.BitsInteger(7))), "84", "constant", "c", ((0, 0x7F),)),
    (
        bits("a" / c.BitsInteger(4), "w" / c.Bytewise(c.Const(1, U16)), "z" / c.BitsInteger(4)),
        "000100", "constant", "w", ((1, 0x0F), (2, 0xF0), (0, 0x0F), (1, 0xF0)),
    ),
    (
        bits("a" / c.BitsInteger(4), "w" / c.Bytewise(U16), "z" / c.BitsInteger(4)),
        "0001", "truncated", "w", ((1, 0x0F), (2, 0xF0), (0, 0x0F), (1, 0xF0)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "octets", "code", "path", "pieces"), BIT_FAULTS)
def test_a_fault_in_a_bit_region_names_its_bits(
    source: c.Construct, octets: str, code: str, path: str, pieces: tuple[tuple[int, int], ...]
) -> None:
    prefixed = S("head" / U8, "b" / source)
    fault = fault_of(engine_of(prefixed).parse, b"\x09" + bytes.fromhex(octets))
    assert fault is not None
    assert (fault.code, fault.path) == (code, f"b.{path}")
    assert fault.pieces == tuple((byte + 1, mask) for byte, mask in pieces)


KINDS = {
    "members": {Colour.RED: U8, Colour.BLUE: U16},
    "names": {"RED": U8, "BLUE": U16},
    "numbers": {1: U8, 2: U16},
}


@pytest.mark.parametrize("cases", KINDS.values(), ids=KINDS)
def test_a_switch_finds_its_case_by_member_name_or_number(cases: dict[Any, Any]) -> None:
    source = S("kind" / c.Enum(U8, Colour), "v" / c.Switch(this.kind, cases))
    layout, names = name_layout(walk(source))
    engine = ReferenceEngine(source, layout, names)
    record = engine.parse(b"\x02\x01\x02")
    # The record holds the member itself, not construct's string.
    assert type(record.kind) is names[layout["kind"].type.name]  # type: ignore[union-attr]
    assert (record.kind, record.kind.name, record.v) == (2, "BLUE", 0x0201)
    assert engine.build(record) == b"\x02\x01\x02"


@pytest.mark.parametrize("given", ["BLUE", 2, Colour.BLUE, c.Enum(U8, Colour).BLUE], ids=repr)
@pytest.mark.parametrize(
    ("operator", "present"), [("==", [2]), ("!=", [1]), ("<", [1]), (">=", [2]), (">", [])]
)
def test_a_condition_sees_a_member_as_its_number_and_as_its_name(
    given: Any, operator: str, present: list[int]
) -> None:
    condition = eval(f"this.kind {operator} given", {"this": this, "given": given})
    engine = engine_of(S("kind" / c.Enum(U8, Colour), "v" / c.If(condition, U8)))
    for kind in (1, 2):
        octets = bytes([kind, 7] if kind in present else [kind])
        assert engine.build(engine.parse(octets)) == octets


def test_an_expression_sees_the_numbers_of_an_enumeration_that_the_record_reads_as_int() -> None:
    source = S("kind" / c.Enum(U8, Colour), "v" / c.If(this.kind == "BLUE", U8))
    layout = walk(source)
    kind = dataclasses.replace(layout["kind"], type=layout["kind"].type.integer)  # type: ignore[union-attr]
    layout, names = name_layout(Layout((kind, layout["v"])))
    engine = ReferenceEngine(source, layout, names)
    assert (engine.parse(b"\x02\x09").v, engine.parse(b"\x07").v) == (9, None)
    assert engine.parse(b"\x07").kind == 7


FLOATS = [
    (c.Float16b, "7e01"), (c.Float16l, "ff ff"), (c.Float32b, "7fc12345"),
    (c.Float32l, "0100c0ff"), (c.Float64b, "fff8000000000001"), (c.Float32b, "80000000"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "octets"), FLOATS)
@pytest.mark.parametrize("bitwise", [False, True])
def test_a_float_survives_bit_for_bit(kind: c.Construct, octets: str, bitwise: bool) -> None:
    data = bytes.fromhex(octets)
    source = S("f" / (c.Bitwise(c.Bytewise(kind)) if bitwise else kind))
    engine = engine_of(source)
    assert engine.build(engine.parse(data)) == data


def test_a_constant_may_be_a_member() -> None:
    engine = engine_of(S("k" / c.Const(Colour.BLUE, c.Enum(U8, Colour))))
    assert engine.build(engine.parse(b"\x02")) == b"\x02"
    assert fault_of(engine.parse, b"\x01") == Fault("constant", "k", "1", "2", 0)


HIDDEN = [
    (S("_a" / c.Rebuild(U8, this._b + 1), "_b" / U8, "d" / c.Bytes(this._b)), "03 02 6162"),
    (
        S(
            "_n" / c.Rebuild(U8, len_(this.d)),
            "h" / S("_m" / c.Rebuild(U8, this._._n)),
            "d" / c.Bytes(this._n),
        ),
        "01 01 61",
    ),
    (S("x" / U8, "h" / S("_n" / c.Rebuild(U8, this._.x)), "_a" / c.Rebuild(U8, this.h._n + 1)), "04 04 05"),
    (S("h" / S("_k" / c.Const(7, U8), "_n" / c.Rebuild(U8, this._k)), c.Rebuild(U8, this.h._n)), "07 07 07"),
]


@pytest.mark.parametrize(("source", "octets"), HIDDEN)
def test_hidden_fields_follow_from_hidden_fields(source: c.Construct, octets: str) -> None:
    data = bytes.fromhex(octets)
    engine = engine_of(source)
    assert engine.build(engine.parse(data)) == data


def test_hostile_counts_cost_nothing() -> None:
    source = S("xs" / c.PrefixedArray(c.Int64sb, S("a" / c.Array(2, c.Flag))))
    fault = fault_of(engine_of(source).parse, b"\x7f" + b"\xff" * 7 + b"\x01\x00\x01")
    assert fault == Fault("truncated", "xs[1].a[1]", "0", "1", 11)


def test_layouts_may_be_nested_to_the_limit() -> None:
    # 64 levels of structs and choices, 16 of them in arrays of their own.
    source = S("v" / U8)
    for level in range(21):
        inner = c.PrefixedArray(U8, source) if level < 16 else source
        source = S("k" / U8, "v" / c.Switch(this.k, {1: c.If(this.k == 1, inner)}))
    engine = engine_of(source)
    octets = b"\x01" * (21 + 16 + 1)
    assert engine.build(engine.parse(octets)) == octets
    assert fault_of(engine.parse, octets[:-1]) == locate(engine._layout, octets[:-1])


# -- validators --------------------------------------------------------------------------------------------


def validated(validate: Any) -> ReferenceEngine:
    """Return an engine whose records pass through a Python validator."""
    source = S("head" / U8, "xs" / c.Array(2, S("a" / U16)))
    layout, names = name_layout(walk(source))
    inner = layout["xs"].type.element  # type: ignore[union-attr]
    xs = dataclasses.replace(
        layout["xs"],
        type=dataclasses.replace(layout["xs"].type, element=dataclasses.replace(inner, validators=("a",))),
    )
    record = names[inner.name].record
    names[inner.name] = Template(record, names[inner.name].make, lambda values: record(**validate(values)))
    return ReferenceEngine(source, dataclasses.replace(layout, fields=(layout["head"], xs)), names)


def test_a_validator_that_changes_nothing_is_welcome() -> None:
    engine = validated(lambda values: values)
    assert engine.build(engine.parse(b"\x01\x02\x00\x03\x00")) == b"\x01\x02\x00\x03\x00"


@pytest.mark.parametrize("value", [7, -1, "x"])
def test_a_validator_that_changes_a_value_is_a_fault(value: Any) -> None:
    fault = fault_of(validated(lambda values: {"a": value}).parse, b"\x01\x02\x00\x03\x00")
    assert fault == Fault("validator", "", "a validator changed the values", "")


def test_a_validator_that_refuses_is_placed() -> None:
    def refuse(values: dict[str, int]) -> dict[str, int]:
        if values["a"] == 3:
            raise Found(Fault("validator", "a", "3 is no good", ""))
        return values

    fault = fault_of(validated(refuse).parse, b"\x01\x02\x00\x03\x00")
    assert fault == Fault("validator", "xs[1].a", "3 is no good", "", 3)


def test_floats_compare_in_binary64() -> None:
    engine = engine_of(S("f" / c.Float32l, "v" / c.If(this.f < 0.1, U8)))
    # binary32's 0.1 is greater than binary64's.
    assert engine.parse(struct.pack("<f", 0.1)).v is None
    assert engine.parse(struct.pack("<f", 0.0999) + b"\x05").v == 5

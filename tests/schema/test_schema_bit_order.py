"""Bit fields whose bits do not lie as they come: least significant first, bytes swapped, bits swapped."""

import enum
from typing import Annotated

import annotated_types as at
import construct
import pytest
from construct import BitsInteger, BitStruct, Flag, Int8ub, Padding, Struct
from hypothesis import given
from hypothesis import strategies as st

from tests.schema.record_maker import make
from wirelock import DecodeError, EncodeError, LsbBitStruct, SchemaError, layout_of, scaled
from wirelock.layout.canonical import layout_to_json, position_text
from wirelock.layout.from_json import layout_from_json
from wirelock.layout.walk import walk

ENGINES = ["generated", "reference"]


class Mode(enum.IntEnum):
    OFF = 0
    ON = 5


WORD = LsbBitStruct("a" / BitsInteger(20), "b" / BitsInteger(12))
THREE = LsbBitStruct("a" / BitsInteger(3), "b" / BitsInteger(11), "c" / BitsInteger(2))
# name: (construct, annotations, values, bytes, positions)
LAYOUTS = {
    "a little-endian word of 20 and 12 bits": (
        WORD,
        {"a": int, "b": int},
        {"a": 0x00ABC, "b": 0xDEF},
        "bc 0a f0 de",
        ["byte 2 bits 3..0 + byte 1 + byte 0", "byte 3 + byte 2 bits 7..4"],
    ),
    "3, 11 and 2 bits": (
        THREE,
        {"a": int, "b": int, "c": int},
        {"a": 5, "b": 1025, "c": 2},
        "0d a0",
        ["byte 0 bits 2..0", "byte 1 bits 5..0 + byte 0 bits 7..3", "byte 1 bits 7..6"],
    ),
    "signed, a flag, an enumeration and padding": (
        LsbBitStruct(
            "s" / BitsInteger(5, signed=True),
            "f" / Flag,
            "m" / construct.Enum(BitsInteger(3), Mode),
            Padding(7),
        ),
        {"s": int, "f": bool, "m": Mode},
        {"s": -1, "f": True, "m": Mode.ON},
        "7f 01",
        ["byte 0 bits 4..0", "byte 0 bit 5", "byte 1 bit 0 + byte 0 bits 7..6", "byte 1 bits 7..1"],
    ),
    "scaled": (
        LsbBitStruct(
            "s" / scaled(BitsInteger(10, signed=True), step="1/8"), "c" / construct.Const(3, BitsInteger(6))
        ),
        {"s": float, "c": int},
        {"s": -0.25, "c": 3},
        "fe 0f",
        ["byte 1 bits 1..0 + byte 0", "byte 1 bits 7..2"],
    ),
    "bytes swapped": (
        construct.ByteSwapped(BitStruct("a" / BitsInteger(4), "b" / BitsInteger(12))),
        {"a": int, "b": int},
        {"a": 1, "b": 0x234},
        "34 12",
        ["byte 1 bits 7..4", "byte 1 bits 3..0 + byte 0"],
    ),
    "bits swapped": (
        construct.BitsSwapped(BitStruct("a" / BitsInteger(3), "b" / BitsInteger(5))),
        {"a": int, "b": int},
        {"a": 1, "b": 3},
        "c4",
        [
            "byte 0 bit 0 + byte 0 bit 1 + byte 0 bit 2",
            "byte 0 bit 3 + byte 0 bit 4 + byte 0 bit 5 + byte 0 bit 6 + byte 0 bit 7",
        ],
    ),
}


def record_of(name):
    source, annotations, *_ = LAYOUTS[name]
    return make("R", source, annotations)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", LAYOUTS)
def test_values_and_bytes_both_ways(name, engine):
    source, _, values, data, places = LAYOUTS[name]
    record, data = record_of(name), bytes.fromhex(data)
    made = record(**values)
    assert made.build(engine=engine) == data
    assert record.parse(data, engine=engine) == made
    plain = {label: int(source.parse(data)[label]) for label in values if label != "s"}
    assert plain == {label: int(value) for label, value in values.items() if label != "s"}
    layout = layout_of(record)
    assert [position_text(item.position) for item in layout.fields] == places
    assert layout_from_json(layout_to_json(layout)) == layout


def outcome(record, data, engine):
    try:
        return record.parse(data, engine=engine)
    except DecodeError as error:
        return error.fault


@given(st.sampled_from([*LAYOUTS]), st.binary(max_size=5))
def test_engines_agree(name, data):
    record = record_of(name)
    found = [outcome(record, data, engine) for engine in ENGINES]
    assert found[0] == found[1]
    if isinstance(found[0], record):
        assert [found[0].build(engine=engine) for engine in ENGINES] == [data, data]


@given(st.integers(0, (1 << 32) - 1))
def test_a_field_is_a_shift_of_the_little_endian_word(word):
    found = record_of("a little-endian word of 20 and 12 bits").parse(word.to_bytes(4, "little"))
    assert (found.a, found.b) == (word & 0xFFFFF, word >> 20)


@pytest.mark.parametrize("engine", ENGINES)
def test_inside_of_another_record_and_in_arrays(engine):
    inner = make("Inner", THREE, {"a": int, "b": int, "c": int})
    outer = make(
        "Outer",
        Struct("n" / Int8ub, "xs" / construct.Array(construct.this.n, THREE), "tail" / Int8ub),
        {"n": int, "xs": tuple[inner, ...], "tail": int},
    )
    item = inner(a=5, b=1025, c=2)
    made = outer(xs=(item, item), tail=9)
    assert made.build(engine=engine) == bytes.fromhex("02 0d a0 0d a0 09")
    assert outer.parse(made.build(), engine=engine) == made


@pytest.mark.parametrize("engine", ENGINES)
def test_faults_say_which_bits(engine):
    record = record_of("signed, a flag, an enumeration and padding")
    with pytest.raises(DecodeError, match=r"m: 7 is none of .*byte 1 bit 0 \+ byte 0 bits 7\.\.6"):
        record.parse(bytes.fromhex("ff 01"), engine=engine)
    with pytest.raises(DecodeError) as caught:
        record.parse(bytes.fromhex("7f 03"), engine=engine)
    assert (caught.value.fault.code, caught.value.fault.byte) == ("not-canonical", 1)
    with pytest.raises(DecodeError, match="s: 2 bytes wanted, 1 left"):
        record.parse(b"\x7f", engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("values", [{"a": 8}, {"a": -1}, {"b": 2048}, {"c": True}])
def test_what_does_not_fit_is_not_written(values, engine):
    record = record_of("3, 11 and 2 bits")
    with pytest.raises(EncodeError):
        record(a=0, b=0, c=0).model_copy(update=values).build(engine=engine)


REFUSED = {
    "no whole bytes": (LsbBitStruct("a" / BitsInteger(3)), "pad it to whole bytes"),
    "an array": (LsbBitStruct("a" / construct.Array(2, BitsInteger(4))), "among bits in another order"),
    "swapped integers": (LsbBitStruct("a" / BitsInteger(16, swapped=True)), "among bits in another order"),
    "bytes": (construct.BitsSwapped(construct.Bytes(2)), "BitsSwapped around anything but"),
    "twice": (construct.ByteSwapped(LsbBitStruct("a" / BitsInteger(8))), "bits in another order"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_position_is_refused(name):
    source, words = REFUSED[name]
    with pytest.raises(SchemaError, match=words):
        walk(Struct("x" / source))


TWELVE = construct.Array(3, BitsInteger(12, signed=True))
ARRAYS = {
    "bytes swapped": construct.ByteSwapped(
        BitStruct("p" / BitsInteger(4), "xs" / construct.Array(16, BitsInteger(11)), Padding(4))
    ),
    "bits swapped": construct.BitsSwapped(
        BitStruct("p" / BitsInteger(4), "xs" / TWELVE, "fs" / construct.Array(8, Flag))
    ),
    "whole bytes": construct.ByteSwapped(
        BitStruct("p" / BitsInteger(4), Padding(4), "xs" / construct.Array(4, BitsInteger(8)))
    ),
}
ARRAY_TYPES = {
    "p": int,
    "xs": tuple[Annotated[int, at.Le(100)], ...],
    "fs": tuple[bool, ...],
}


@pytest.mark.parametrize("name", ARRAYS)
@given(data=st.data())
def test_arrays_among_bits_in_another_order(name, data):
    source = ARRAYS[name]
    layout = walk(source)
    record = make("Swapped", source, {x.label: ARRAY_TYPES[x.label] for x in layout.fields if x.in_record})
    assert layout_from_json(layout_to_json(layout_of(record))) == layout_of(record)
    octets = data.draw(st.binary(min_size=source.sizeof() - 1, max_size=source.sizeof()))
    found = []
    for engine in ENGINES:
        try:
            value = record.parse(octets, engine=engine)
        except DecodeError as error:
            found.append(str(error))
        else:
            assert value.build(engine=engine) == octets
            assert list(value.xs) == source.parse(octets).xs
            found.append(value)
    assert found[0] == found[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fault_in_an_array_names_the_bits_of_its_element(engine):
    record = make("Swapped", ARRAYS["whole bytes"], {"p": int, "xs": ARRAY_TYPES["xs"]})
    assert record.parse(b"\4\3\2\1\x70", engine=engine).xs == (1, 2, 3, 4)
    with pytest.raises(DecodeError, match=r"xs\[1\]: 101 .*\(byte 2"):
        record.parse(b"\4\3\x65\1\x70", engine=engine)


@pytest.mark.parametrize(
    "inner",
    [
        construct.Array(2, construct.Enum(BitsInteger(4), Mode)),
        construct.Array(2, BitsInteger(16, swapped=True)),
        construct.Array(17, BitsInteger(8)),
        construct.Array(2, construct.Array(2, construct.Nibble)),
    ],
)
def test_arrays_that_are_refused_among_bits_in_another_order(inner):
    with pytest.raises(SchemaError, match="among bits in another order"):
        walk(Struct("x" / construct.ByteSwapped(BitStruct("a" / inner))))

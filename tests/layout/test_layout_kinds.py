"""Every kind of construct that is taken: the node that it becomes, and where its fields lie."""

import enum

import construct
import pytest
from construct import BitsInteger, BitStruct, Byte, Bytewise, Flag, Padding, Struct, len_, this
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import layouts
from wirelock.layout.canonical import position_text
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Flags,
    Float,
    Framed,
    If,
    Integer,
    Layout,
    Nothing,
    Prefix,
    Switch,
    Terminated,
)
from wirelock.layout.nodes import Flag as FlagType
from wirelock.layout.nodes import Padding as PaddingType
from wirelock.layout.sizes import Size, size_of
from wirelock.layout.terms import Length, Number, Operation, Path
from wirelock.layout.walk import walk

U8, U16L, S16L = Integer(8, False, "big"), Integer(16, False, "little"), Integer(16, True, "little")


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


COLOURS = (("RED", 1), ("BLUE", 2))


def kind_of(source, *, bits=False):
    """Return the type of a construct, read behind a byte `n`."""
    if bits:
        return walk(Struct("n" / Byte, "region" / BitStruct("x" / source)))["region"].type["x"].type
    return walk(Struct("n" / Byte, "x" / source))["x"].type


# -- integers and floats

NUMBERS = {
    f"Int{bits}{sign}{order}": Integer(
        bits, sign == "s", "little" if order == "l" and bits > 8 else "big"
    )
    for bits in (8, 16, 24, 32, 64)
    for sign in "us"
    for order in "bl"
} | {
    f"Float{bits}{order}": Float(bits, {"b": "big", "l": "little"}[order])
    for bits in (16, 32, 64)
    for order in "bl"
} | {
    "Byte": U8,
    "Short": Integer(16, False, "big"),
    "Int": Integer(32, False, "big"),
    "Long": Integer(64, False, "big"),
    "Half": Float(16, "big"),
    "Single": Float(32, "big"),
    "Double": Float(64, "big"),
    # One byte has no order: the native one is no question there.
    "Int8un": U8,
    "Int8sn": Integer(8, True, "big"),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_by_name(name):
    assert kind_of(getattr(construct, name)) == NUMBERS[name]


KINDS = {
    "BytesInteger": (construct.BytesInteger(3), Integer(24, False, "big")),
    "BytesInteger of nine": (construct.BytesInteger(9, signed=True), Integer(72, True, "big")),
    "BytesInteger swapped": (construct.BytesInteger(2, swapped=True), U16L),
    "BytesInteger of one, swapped": (construct.BytesInteger(1, swapped=True), U8),
    "FormatField ?": (construct.FormatField(">", "?"), FlagType(8)),
    "Flag": (Flag, FlagType(8)),
    "Pass": (construct.Pass, Nothing()),
    "Bytes": (construct.Bytes(4), Bytes(4)),
    "no Bytes": (construct.Bytes(0), Bytes(0)),
    "Bytes from the wire": (construct.Bytes(this.n), Bytes(Path(0, ("n",)))),
    "Bytes by an expression": (
        construct.Bytes(this.n - 1),
        Bytes(Operation("-", (Path(0, ("n",)), Number(1)))),
    ),
    "Enum by keywords": (construct.Enum(Byte, RED=1, BLUE=2), Enum(U8, COLOURS)),
    "Enum by class": (construct.Enum(Byte, Colour), Enum(U8, COLOURS)),
    "Enum of a wider integer": (
        construct.Enum(construct.Int16sl, LOW=-32768),
        Enum(S16L, (("LOW", -32768),)),
    ),
    "FlagsEnum by keywords": (construct.FlagsEnum(Byte, a=1, b=128), Flags(U8, (("a", 1), ("b", 128)))),
    "FlagsEnum by class": (construct.FlagsEnum(Byte, Door), Flags(U8, (("OPEN", 1), ("LOCKED", 4)))),
    "FlagsEnum of a signed integer": (
        construct.FlagsEnum(construct.Int16sl, a=1, b=1 << 14),
        Flags(U16L, (("a", 1), ("b", 1 << 14))),
    ),
    "FlagsEnum with a group": (
        construct.FlagsEnum(Byte, a=1, b=2, both=3),
        Flags(U8, (("a", 1), ("b", 2), ("both", 3))),
    ),
    "Const of bytes": (construct.Const(b"WS"), Constant(Bytes(2), b"WS")),
    "Const of padded text": (
        construct.Const("AB", construct.PaddedString(4, "utf8")),
        Constant(Bytes(4), b"AB\0\0"),
    ),
    "Const of text with a NUL": (
        construct.Const("A", construct.CString("utf-16-le")),
        Constant(Bytes(4), b"A\0\0\0"),
    ),
    "Const of text with a size": (
        construct.Const("AB", construct.PascalString(construct.Int16ub, "ascii")),
        Constant(Bytes(4), b"\0\2AB"),
    ),
    "Const of an integer": (construct.Const(-2, construct.Int16sl), Constant(S16L, -2)),
    "Const of a member": (construct.Const(Colour.BLUE, construct.Enum(Byte, Colour)), Constant(U8, 2)),
    "Const of a member's name": (construct.Const("BLUE", construct.Enum(Byte, Colour)), Constant(U8, 2)),
    "Const of a member's value": (construct.Const(1, construct.Enum(Byte, Colour)), Constant(U8, 1)),
    "Padding": (Padding(3), PaddingType(3, 8, 0)),
    "Padding with a pattern": (Padding(2, pattern=b"\xa5"), PaddingType(2, 8, 0xA5)),
    "Padding from the wire": (Padding(this.n), PaddingType(Path(0, ("n",)), 8, 0)),
    "Array": (construct.Array(3, construct.Int16ul), Array(U16L, 3)),
    "Array by brackets": (construct.Int16ul[3], Array(U16L, 3)),
    "Array from the wire": (construct.Array(this.n, Byte), Array(U8, Path(0, ("n",)))),
    "Array of Arrays": (construct.Array(2, construct.Array(3, Byte)), Array(Array(U8, 3), 2)),
    "PrefixedArray": (construct.PrefixedArray(construct.Int16ul, Byte), Array(U8, Prefix(U16L))),
    "PrefixedArray by an odd count": (
        construct.PrefixedArray(construct.Int24sb, Byte),
        Array(U8, Prefix(Integer(24, True, "big"))),
    ),
    "FocusedSeq": (
        construct.FocusedSeq("v", construct.Const(b"x"), "v" / Byte, Padding(2), construct.Terminated),
        Framed((Constant(Bytes(1), b"x"),), U8, (PaddingType(2, 8, 0), Terminated())),
    ),
    "If": (construct.If(this.n > 1, Byte), If(Operation(">", (Path(0, ("n",)), Number(1))), U8)),
    "If of a field": (construct.If(this.n, Byte), If(Path(0, ("n",)), U8)),
    "Switch": (
        construct.Switch(this.n, {2: Byte, 1: construct.Pass}),
        Switch(Path(0, ("n",)), ((1, Nothing()), (2, U8)), None),
    ),
    "Switch over bytes by a lambda": (
        Struct("k" / construct.Bytes(2), "v" / construct.Switch(lambda ctx: ctx.k, {b"BB": Byte})),
        walk(Struct("k" / construct.Bytes(2), "v" / construct.Switch(this.k, {b"BB": Byte}))),
    ),
    "Switch over bytes": (
        Struct("k" / construct.Bytes(2), "v" / construct.Switch(this.k, {b"BB": Byte, b"AA": Flag})),
        walk(Struct("k" / construct.Bytes(2), "v" / construct.Switch(this.k, {b"AA": Flag, b"BB": Byte}))),
    ),
    "Switch with a default": (
        construct.Switch(this.n & 1, {0: Byte}, default=construct.Int16ul),
        Switch(Operation("&", (Path(0, ("n",)), Number(1))), ((0, U8),), U16L),
    ),
    "Bitwise": (
        construct.Bitwise(construct.Array(2, BitsInteger(4))),
        Array(Integer(4, False, "big"), 2),
    ),
    "Bitwise around Bytewise": (construct.Bitwise(Bytewise(construct.Int16ul)), U16L),
    "a compiled Struct": (Struct("a" / Byte).compile(), walk(Struct("a" / Byte))),
    "LazyBound": (construct.LazyBound(lambda: construct.Int16ul), U16L),
    "names are no kind": ("inner" / ("own" / construct.Int16ul), U16L),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds(name):
    source, kind = KINDS[name]
    assert kind_of(source) == kind


IN_BITS = {
    "BitsInteger": (BitsInteger(8), U8),
    "BitsInteger signed": (BitsInteger(16, signed=True), Integer(16, True, "big")),
    "BitsInteger swapped": (BitsInteger(16, swapped=True), U16L),
    "Octet": (construct.Octet, U8),
    "eight Bits": (construct.Array(8, construct.Bit), Array(Integer(1, False, "big"), 8)),
    "two Nibbles": (construct.Array(2, construct.Nibble), Array(Integer(4, False, "big"), 2)),
    "eight Flags": (construct.Array(8, Flag), Array(FlagType(1), 8)),
    "Padding": (Padding(16), PaddingType(16, 1, 0)),
    "Padding of ones": (Padding(8, pattern=b"\1"), PaddingType(8, 1, 1)),
    "Enum": (construct.Enum(BitsInteger(8), Colour), Enum(U8, COLOURS)),
    "FlagsEnum": (construct.FlagsEnum(BitsInteger(8), a=1), Flags(U8, (("a", 1),))),
    "Const": (construct.Const(9, BitsInteger(8)), Constant(U8, 9)),
    "Bytewise": (Bytewise(construct.Int16ul), U16L),
    "Bytewise Bytes": (Bytewise(construct.Bytes(2)), Bytes(2)),
    "Pass": (construct.Pass, Nothing()),
    "Flag in Bytewise": (Bytewise(Flag), FlagType(8)),
}


@pytest.mark.parametrize("name", IN_BITS)
def test_kinds_inside_a_bit_region(name):
    source, kind = IN_BITS[name]
    assert kind_of(source, bits=True) == kind


# -- structs


def test_a_struct_inside_a_struct_is_a_layout():
    found = walk(Struct("a" / Byte, "b" / Struct("c" / construct.Int16ul)))
    assert found["b"].type == walk(Struct("c" / construct.Int16ul))
    assert found["b"].position.byte == 1
    assert found["b"].type["c"].position.byte == 0


def test_a_bit_struct_is_a_layout_too():
    found = walk(BitStruct("a" / BitsInteger(3), "b" / BitsInteger(5)))
    assert [item.type for item in found.fields] == [Integer(3, False, "big"), Integer(5, False, "big")]


HIDDEN = {
    "Padding": (Padding(1), "padding#1"),
    "Const": (construct.Const(b"x"), "constant#1"),
    "Pass": (construct.Pass, "nothing#1"),
    "Rebuild": (construct.Rebuild(Byte, this.a + 1), "integer#1"),
    "an If of padding": (construct.If(this.a > 1, Padding(1)), "if#1"),
    "a Switch of constants": (
        construct.Switch(this.a, {1: construct.Const(b"x"), 2: construct.If(this.a, Padding(2))}),
        "switch#1",
    ),
    "a padded Const": (construct.Padded(4, construct.Const(b"x")), "padded#1"),
    "a private Const": ("_x" / construct.Const(b"x"), "_x"),
    "a private count": ("_x" / construct.Rebuild(Byte, len_(this.d)), "_x"),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_needs_no_public_name(name):
    source, label = HIDDEN[name]
    found = walk(Struct("a" / Byte, source, "d" / construct.Bytes(2)))
    assert [item.label for item in found.fields] == ["a", label, "d"]
    assert [item.in_record for item in found.fields] == [True, False, True]


def test_docs_of_a_field_are_one_line_and_no_part_of_its_value():
    plain, told = walk(Struct("a" / Byte)), walk(Struct("a" / Byte * "how\n   many"))
    assert told["a"].doc == "how many"
    assert plain == told


DERIVED = {
    "a count that an Array reads": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)),
        Length(Path(0, ("xs",))),
    ),
    "a length that Bytes reads": (
        Struct("n" / Byte, "d" / construct.Bytes(this.n)),
        Length(Path(0, ("d",))),
    ),
    "a Rebuild": (
        Struct("n" / construct.Rebuild(Byte, this.a * 2), "a" / Byte),
        Operation("*", (Path(0, ("a",)), Number(2))),
    ),
    "the first of two readers": (
        Struct("n" / Byte, "a" / construct.Array(this.n, Byte), "b" / construct.Bytes(this.n)),
        Length(Path(0, ("a",))),
    ),
    "a count inside an expression": (
        Struct("n" / Byte, "xs" / construct.Array(this.n + 1, Byte)),
        None,
    ),
    "a count that a nested struct reads": (
        Struct("n" / Byte, "s" / Struct("xs" / construct.Array(this._.n, Byte))),
        None,
    ),
    "an enumeration that counts": (
        Struct("n" / construct.Enum(Byte, Colour), "xs" / construct.Array(this.n, Byte)),
        None,
    ),
}


@pytest.mark.parametrize("name", DERIVED)
def test_what_follows_from_other_fields(name):
    source, derived = DERIVED[name]
    assert walk(source)["n"].derived == derived


# -- sizes

SIZES = {
    "fixed": (Struct("a" / Byte, "b" / construct.Float64l), Size(72, 72)),
    "empty": (Struct(), Size(0, 0)),
    "bits": (BitStruct("a" / BitsInteger(3), "b" / BitsInteger(13)), Size(16, 16)),
    "counted": (Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)), Size(8, None)),
    "prefixed": (Struct("xs" / construct.PrefixedArray(construct.Int16ul, Byte)), Size(16, None)),
    "optional": (Struct("n" / Byte, "x" / construct.If(this.n > 0, construct.Int32ul)), Size(8, 40)),
    "chosen": (
        Struct("n" / Byte, "x" / construct.Switch(this.n, {1: Byte, 2: construct.Int32ul})),
        Size(16, 40),
    ),
    "chosen without bound": (
        Struct("n" / Byte, "x" / construct.Switch(this.n, {1: Byte}, construct.Bytes(this.n))),
        Size(8, None),
    ),
    "three of something optional": (
        Struct("n" / Byte, "x" / construct.Array(3, construct.If(this.n > 0, construct.Int16ul))),
        Size(8, 56),
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    source, size = SIZES[name]
    assert size_of(walk(source)) == size


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_a_size_is_construct_s_own_where_construct_knows_one(source):
    size = size_of(walk(source))
    try:
        known = source.sizeof()
    except construct.SizeofError:
        return
    if size.highest is None:  # construct takes the size that stands before a region for that of its inside
        assert size.lowest <= 8 * known
        return
    assert size == Size(8 * known, 8 * known)


# -- positions

POSITIONS = {
    "bytes": (
        Struct("a" / Byte, "b" / construct.Int16ul, "c" / construct.Float64b, "d" / construct.Bytes(3)),
        {"a": "byte 0", "b": "byte 1", "c": "byte 3", "d": "byte 11"},
    ),
    "bits, most significant first": (
        BitStruct("a" / Flag, "b" / BitsInteger(3), "c" / BitsInteger(4)),
        {"a": "byte 0 bit 7", "b": "byte 0 bits 6..4", "c": "byte 0 bits 3..0"},
    ),
    "bits over a byte's end": (
        BitStruct("a" / BitsInteger(3), "b" / BitsInteger(11), "c" / BitsInteger(10)),
        {
            "a": "byte 0 bits 7..5",
            "b": "byte 0 bits 4..0 + byte 1 bits 7..2",
            "c": "byte 1 bits 1..0 + byte 2",
        },
    ),
    "whole bytes in a bit region": (
        BitStruct("a" / BitsInteger(8), "b" / BitsInteger(16)),
        {"a": "byte 0", "b": "byte 1"},
    ),
    "a little-endian integer off the byte": (
        BitStruct("a" / BitsInteger(4), "b" / BitsInteger(16, swapped=True), "c" / BitsInteger(4)),
        {
            "a": "byte 0 bits 7..4",
            # The value's most significant byte comes second on the wire.
            "b": "byte 1 bits 3..0 + byte 2 bits 7..4 + byte 0 bits 3..0 + byte 1 bits 7..4",
            "c": "byte 2 bits 3..0",
        },
    ),
    "a little-endian integer on the byte": (
        BitStruct("a" / BitsInteger(8), "b" / BitsInteger(16, swapped=True)),
        {"a": "byte 0", "b": "byte 1"},
    ),
    "a bit region of its own": (
        Struct("h" / Byte, "b" / BitStruct("x" / BitsInteger(2), "y" / BitsInteger(6)), "t" / Byte),
        {"h": "byte 0", "b": "byte 1", "b.x": "byte 0 bits 7..6", "b.y": "byte 0 bits 5..0", "t": "byte 2"},
    ),
    "a struct off the byte": (
        BitStruct("a" / BitsInteger(3), "s" / Struct("x" / BitsInteger(5), "y" / BitsInteger(8))),
        {
            "a": "byte 0 bits 7..5",
            "s": "byte 0 bits 4..0 + byte 1",
            "s.x": "byte 0 bits 4..0",
            "s.y": "byte 1",
        },
    ),
    "padding": (
        Struct("a" / Byte, Padding(3), "b" / Byte),
        {"a": "byte 0", "padding#1": "byte 1", "b": "byte 4"},
    ),
    "nothing": (
        Struct("a" / Byte, construct.Pass, "b" / Byte),
        {"a": "byte 0", "nothing#1": "byte 1", "b": "byte 1"},
    ),
    "arrays of fixed size": (
        Struct("a" / construct.Array(3, construct.Int24ub), "b" / Byte),
        {"a": "byte 0", "b": "byte 9"},
    ),
    "behind a count from the wire": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte), "y" / Byte, "z" / construct.Int16ul),
        {"n": "byte 0", "xs": "byte 1", "y": "after xs, byte 0", "z": "after xs, byte 1"},
    ),
    "behind the last of several": (
        Struct(
            "xs" / construct.PrefixedArray(Byte, Byte), "y" / Byte, "d" / construct.Bytes(this.y), "z" / Byte
        ),
        {"xs": "byte 0", "y": "after xs, byte 0", "d": "after xs, byte 1", "z": "after d, byte 0"},
    ),
    "bits behind a choice": (
        Struct(
            "n" / Byte,
            "o" / construct.If(this.n > 0, Byte),
            "b" / BitStruct("x" / BitsInteger(5), Padding(3)),
        ),
        {"o": "byte 1", "b": "after o, byte 0", "b.x": "byte 0 bits 7..3", "b.padding#1": "byte 0 bits 2..0"},
    ),
    "an If of no choice of sizes": (
        Struct("n" / Byte, "o" / construct.If(this.n > 0, construct.Pass), "z" / Byte),
        {"o": "byte 1", "z": "byte 1"},
    ),
    "cases of one size": (
        Struct("n" / Byte, "o" / construct.Switch(this.n, {1: Byte, 2: construct.Int8sb}), "z" / Byte),
        {"o": "byte 1", "z": "byte 2"},
    ),
}


def places(layout, prefix=""):
    for item in layout.fields:
        yield f"{prefix}{item.label}", position_text(item.position)
        if isinstance(item.type, Layout):
            yield from places(item.type, f"{prefix}{item.label}.")


@pytest.mark.parametrize("name", POSITIONS)
def test_positions(name):
    source, expected = POSITIONS[name]
    found = dict(places(walk(source)))
    assert {label: found[label] for label in expected} == expected


@st.composite
def bit_structs(draw):
    """A BitStruct of integers of any width, sign and order, padded to whole bytes."""
    parts, width = [], 0
    for number in range(draw(st.integers(1, 5))):
        bits, signed = draw(st.integers(1, 25)), draw(st.booleans())
        swapped = bits % 8 == 0 and draw(st.booleans())
        parts.append(f"f{number}" / BitsInteger(bits, signed=signed, swapped=swapped))
        width += bits
    if width % 8:
        parts.append("rest" / BitsInteger(-width % 8))
    return BitStruct(*parts)


@settings(max_examples=60, deadline=None)
@given(bit_structs())
def test_a_bit_of_the_wire_is_the_bit_of_the_field_that_its_position_names(source):
    layout = walk(source)
    owners = {}
    for item in layout.fields:
        octets = range(item.position.byte, item.position.byte + size_of(item.type).lowest // 8)
        if item.type.order == "little":
            octets = reversed(octets)
        pieces = item.position.pieces or [(octet, 0xFF) for octet in octets]
        bits = [(byte, bit) for byte, mask in pieces for bit in range(7, -1, -1) if mask >> bit & 1]
        assert len(bits) == item.type.bits
        for weight, place in enumerate(reversed(bits)):
            assert owners.setdefault(place, (item.label, weight)) == (item.label, weight), "two own one bit"
    size = size_of(layout).lowest // 8
    assert len(owners) == 8 * size
    for (byte, bit), (label, weight) in owners.items():
        data = bytearray(size)
        data[byte] = 1 << bit
        found = source.parse(bytes(data))
        kind = layout[label].type
        top = kind.signed and weight == kind.bits - 1
        assert {name: found[name] for name in found if name != "_io" and found[name]} == {
            label: -(1 << weight) if top else 1 << weight
        }

"""Building checks again: whatever is smuggled into a record is an EncodeError, the same from both engines."""

import enum
import math
import struct
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

import annotated_types as at
import construct
import pytest
from construct import (
    BitsInteger,
    BitStruct,
    Byte,
    Flag,
    Int8sl,
    Int16sl,
    Int16ul,
    Int24ub,
    Int64ul,
    Padding,
    Rebuild,
    Struct,
    len_,
    this,
)

from wirelock import DecodeError, EncodeError, Record, Rule, abs_

ENGINES = ("generated", "reference")


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Shade(enum.IntEnum):
    RED = 1
    BLUE = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


class A(Record, layout=Struct("v" / Byte)):
    v: int


class B(Record, layout=Struct("w" / Int16ul)):
    w: int


class Twin(Record, layout=Struct("v" / Byte)):
    v: int


class Bits(Record, layout=BitStruct("q" / BitsInteger(3), "r" / BitsInteger(5, signed=True))):
    q: int
    r: int


class All(
    Record,
    layout=Struct(
        "u8" / Byte,
        "i16" / Int16sl,
        "u24" / Int24ub,
        "u64" / Int64ul,
        "i72" / construct.BytesInteger(9, signed=True),
        "f16" / construct.Float16b,
        "f32" / construct.Float32l,
        "f64" / construct.Float64b,
        "flag" / Flag,
        "k" / construct.Enum(Byte, Colour),
        "door" / construct.FlagsEnum(Byte, Door),
        "two" / construct.Bytes(2),
        "a" / A.layout,
        "magic" / construct.Const(b"xy"),
        "seven" / construct.Const(7, Byte),
        "n" / Byte,
        "xs" / construct.Array(this.n, Int16ul),
        "fs" / construct.Float32b[2],
        "ks" / construct.Enum(Byte, Colour)[2],
        "more" / construct.PrefixedArray(Byte, A.layout),
        "pad" / Padding(1),
        "there" / construct.If(this.u8 > 5, Byte),
        "absent" / construct.If(this.u8 > 50, Byte),
        "sw" / construct.Switch(this.k, {Colour.RED: A.layout, Colour.BLUE: B.layout}),
        "long" / construct.Array(20, Int8sl),
        "reals" / construct.Array(20, construct.Float64l),
        "some" / construct.Bytes(this.u8 & 3),
        "flags" / Flag[2],
        "nothing" / construct.Pass,
        "doors" / construct.FlagsEnum(Byte, Door)[2],
        "bits" / Bits.layout,
        "choice" / Byte,
        "size" / Rebuild(Byte, len_(this.xs) + 1),
    ),
    rules=(Rule("even", this.u8 + this.i16 != 7, "not seven in all"),),
):
    u8: Annotated[int, at.Le(100)]
    i16: int
    u24: int
    u64: int
    i72: int
    f16: float
    f32: Annotated[float, at.Interval(ge=-10.0, le=10.0)]
    f64: float
    flag: bool
    k: Colour
    door: Door
    two: bytes
    a: A
    magic: bytes
    seven: int
    n: int
    xs: tuple[int, ...]
    fs: tuple[float, ...]
    ks: tuple[Colour, ...]
    more: tuple[A, ...]
    pad: None
    there: int | None
    absent: int | None
    sw: A | B
    long: tuple[int, ...]
    reals: tuple[float, ...]
    some: bytes
    flags: tuple[bool, ...]
    nothing: None
    doors: tuple[Door, ...]
    bits: Bits
    choice: Literal[1, 3]
    size: int


GOOD = All(
    u8=6, i16=-2, u24=5, u64=(1 << 64) - 1, i72=-5, f16=0.5, f32=1.5, f64=0.1, flag=True, k=Colour.RED,
    door=Door.OPEN, two=b"ab", a=A(v=1), xs=(1, 2), fs=(0.5, 1.5), ks=(Colour.RED, Colour.BLUE),
    more=(A(v=1), A(v=2)), there=3, absent=None, sw=A(v=1), long=(1,) * 20, reals=(0.1,) * 20, some=b"zz",
    flags=(True, False), doors=(Door.OPEN, Door.LOCKED), bits=Bits(q=1, r=-16), choice=3,
)  # fmt: skip


class Int(int):
    pass


class Octets(bytes):
    pass


class Many(tuple):
    pass


def verdict(record, engine):
    """Return the bytes or the fault's code, path, found and allowed. Any other exception fails the test."""
    try:
        return record.build(engine=engine)
    except EncodeError as error:
        assert error.byte is None
        assert error.pieces == ()
        return error.code, error.path, error.found, error.allowed


def test_the_record_itself_is_built():
    assert All.parse(GOOD.build()) == GOOD
    assert GOOD.build() == GOOD.build(engine="reference")


SIGNALLING = struct.unpack(">d", bytes.fromhex("7ff0000000000001"))[0]

SMUGGLED = {
    # integers
    "True for an int": ({"u8": True}, ("wrong-type", "u8", "bool True", "an int")),
    "a subclass of int": ({"u8": Int(3)}, ("wrong-type", "u8", "Int 3", "an int")),
    "a member for an int": ({"u8": Colour.RED}, ("wrong-type", "u8", "Colour <Colour.RED: 1>", "an int")),
    "a float for an int": ({"u8": 3.0}, ("wrong-type", "u8", "float 3.0", "an int")),
    "text for an int": ({"u8": "3"}, ("wrong-type", "u8", "str '3'", "an int")),
    "None for an int": ({"u8": None}, ("wrong-type", "u8", "NoneType None", "an int")),
    "too large for the wire": ({"u8": 256}, ("out-of-range", "u8", "256", "0..255")),
    "too large for the constraint": (
        {"u8": 101, "absent": 3, "some": b"z"},
        ("out-of-range", "u8", "101", "0..100"),
    ),
    "below zero": ({"u8": -1}, ("out-of-range", "u8", "-1", "0..255")),
    "too small for 16 bits": ({"i16": -32769}, ("out-of-range", "i16", "-32769", "-32768..32767")),
    "too large for 24 bits": ({"u24": 1 << 24}, ("out-of-range", "u24", "16777216", "0..16777215")),
    "below zero of 24 bits": ({"u24": -1}, ("out-of-range", "u24", "-1", "0..16777215")),
    "True for 24 bits": ({"u24": True}, ("wrong-type", "u24", "bool True", "an int")),
    "too large for 64 bits": (
        {"u64": 1 << 64},
        ("out-of-range", "u64", "18446744073709551616", "0..18446744073709551615"),
    ),
    "too large for 72 bits": (
        {"i72": 1 << 71},
        ("out-of-range", "i72", str(1 << 71), f"{-(1 << 71)}..{(1 << 71) - 1}"),
    ),
    "none of a Literal": ({"choice": 2}, ("out-of-range", "choice", "2", "1 or 3")),
    "True of a Literal": ({"choice": True}, ("wrong-type", "choice", "bool True", "an int")),
    # floats
    "0.1 in 32 bits": ({"f32": 0.1}, ("not-canonical", "f32", "0.1", "0.10000000149011612")),
    "0.1 in 16 bits": ({"f16": 0.1}, ("not-canonical", "f16", "0.1", "0.0999755859375")),
    "too large for 16 bits": ({"f16": 65520.0}, ("out-of-range", "f16", "65520.0", "what binary16 holds")),
    "too large for 32 bits": ({"f32": 1e39}, ("out-of-range", "f32", "1e+39", "what binary32 holds")),
    "too large for the constraint of a float": (
        {"f32": 10.5},
        ("out-of-range", "f32", "10.5", "-10.0..10.0"),
    ),
    "NaN against a constraint": ({"f32": math.nan}, ("out-of-range", "f32", "nan", "-10.0..10.0")),
    "a signalling NaN": ({"f64": SIGNALLING}, ("not-canonical", "f64", "a signalling NaN", "a quiet NaN")),
    "a payload that 32 bits lose": (
        {"fs": (struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0], 0.5)},
        ("not-canonical", "fs[0]", "nan", "nan"),
    ),
    "an int for a float": ({"f64": 1}, ("wrong-type", "f64", "int 1", "a float")),
    "a Fraction": ({"f64": Fraction(1, 2)}, ("wrong-type", "f64", "Fraction Fraction(1, 2)", "a float")),
    "a Decimal": ({"f64": Decimal("0.5")}, ("wrong-type", "f64", "Decimal Decimal('0.5')", "a float")),
    "an int among floats": ({"reals": (0.1,) * 19 + (1,)}, ("wrong-type", "reals[19]", "int 1", "a float")),
    "0.1 among 32 bits": ({"fs": (0.5, 0.1)}, ("not-canonical", "fs[1]", "0.1", "0.10000000149011612")),
    # flags and members
    "1 for a bool": ({"flag": 1}, ("wrong-type", "flag", "int 1", "a bool")),
    "1 among bools": ({"flags": (True, 0)}, ("wrong-type", "flags[1]", "int 0", "a bool")),
    "an int for a member": ({"k": 1}, ("wrong-type", "k", "int 1", "a member of Colour")),
    "another class's member": (
        {"k": Shade.RED},
        ("wrong-type", "k", "Shade <Shade.RED: 1>", "a member of Colour"),
    ),
    "an int among members": ({"ks": (Colour.RED, 2)}, ("wrong-type", "ks[1]", "int 2", "a member of Colour")),
    "an int for flags": ({"door": 1}, ("wrong-type", "door", "int 1", "a member of Door")),
    "flags without a name": ({"door": Door(2)}, ("not-canonical", "door", "0x2", "0x0")),
    "flags with and without a name": ({"door": Door(7)}, ("not-canonical", "door", "0x7", "0x5")),
    "flags beyond the wire": ({"door": Door(256)}, ("out-of-range", "door", "256", "0..255")),
    "flags without a name among others": (
        {"doors": (Door.OPEN, Door(2))},
        ("not-canonical", "doors[1]", "0x2", "0x0"),
    ),
    # bytes
    "a byte too few": ({"two": b"a"}, ("bad-count", "two", "length 1", "2")),
    "a byte too many": ({"two": b"abc"}, ("bad-count", "two", "length 3", "2")),
    "a bytearray": ({"two": bytearray(b"ab")}, ("wrong-type", "two", "bytearray bytearray(b'ab')", "bytes")),
    "a subclass of bytes": ({"two": Octets(b"ab")}, ("wrong-type", "two", "Octets b'ab'", "bytes")),
    "text for bytes": ({"two": "ab"}, ("wrong-type", "two", "str 'ab'", "bytes")),
    "another length from the wire": ({"some": b"zzz"}, ("bad-count", "some", "length 3", "2")),
    "None for bytes": ({"some": None}, ("wrong-type", "some", "NoneType None", "bytes")),
    # constants and derived values
    "another constant": ({"seven": 8}, ("constant", "seven", "8", "7")),
    "other constant bytes": ({"magic": b"xz"}, ("constant", "magic", "78 7a", "78 79")),
    "a bytearray for a constant": ({"magic": bytearray(b"xy")}, None),
    "a float for a constant": ({"seven": 7.0}, None),
    "a count too high": ({"n": 3}, ("bad-count", "xs", "length 2", "3")),
    "a count too low": ({"n": 1}, ("bad-count", "xs", "length 2", "1")),
    "an element more than counted": ({"xs": (1, 2, 3), "n": 2}, ("bad-count", "xs", "length 3", "2")),
    "a size that is wrong": ({"size": 4}, ("bad-count", "size", "4", "3")),
    "True for a count": ({"n": True, "xs": (1,)}, ("wrong-type", "n", "bool True", "an int")),
    # arrays
    "a list": ({"xs": [1, 2]}, ("wrong-type", "xs", "list [1, 2]", "a tuple")),
    "a subclass of tuple": ({"xs": Many((1, 2))}, ("wrong-type", "xs", "Many (1, 2)", "a tuple")),
    "True among ints": ({"xs": (1, True)}, ("wrong-type", "xs[1]", "bool True", "an int")),
    "too large among ints": ({"long": (128,) + (1,) * 19}, ("out-of-range", "long[0]", "128", "-128..127")),
    "a fixed count too low": ({"long": (1,) * 19}, ("bad-count", "long", "length 19", "20")),
    "an element too many for the prefix": (
        {"more": (A(v=1),) * 256},
        ("bad-count", "more", "256", "255 or less"),
    ),
    # what may be absent
    "nothing where something is": ({"there": None}, ("wrong-type", "there", "NoneType None", "an int")),
    "something where nothing is": (
        {"absent": 3},
        ("wrong-type", "absent", "int 3", "None: the field is absent here"),
    ),
    "something for padding": ({"pad": 0}, ("wrong-type", "pad", "int 0", "None")),
    "something for nothing": ({"nothing": b""}, ("wrong-type", "nothing", "bytes b''", "None")),
    # records
    "the other case": ({"sw": B(w=1)}, ("wrong-type", "sw", "B B(w=1)", "a A")),
    "another key": ({"k": Colour.BLUE}, ("wrong-type", "sw", "A A(v=1)", "a B")),
    "a record of the same layout": ({"a": Twin(v=1)}, ("wrong-type", "a", "Twin Twin(v=1)", "a A")),
    "None for a record": ({"a": None}, ("wrong-type", "a", "NoneType None", "a A")),
    "a dict for a record": ({"a": {"v": 1}}, ("wrong-type", "a", "dict {'v': 1}", "a A")),
    "a class for a record": ({"a": A}, None),
    "a bad record inside": ({"a": A.model_construct(v=256)}, ("out-of-range", "a.v", "256", "0..255")),
    "an empty record inside": ({"a": A.model_construct()}, ("wrong-type", "a.v", "nothing", "a value")),
    "a bad record in an array": (
        {"more": (A(v=1), A.model_construct(v="1"))},
        ("wrong-type", "more[1].v", "str '1'", "an int"),
    ),
    "a bad record as a case": ({"sw": A.model_construct(v=-1)}, ("out-of-range", "sw.v", "-1", "0..255")),
    "too large for three bits": (
        {"bits": Bits.model_construct(q=8, r=0)},
        ("out-of-range", "bits.q", "8", "0..7"),
    ),
    "too large for five signed bits": (
        {"bits": Bits.model_construct(q=0, r=16)},
        ("out-of-range", "bits.r", "16", "-16..15"),
    ),
    "too small for five signed bits": (
        {"bits": Bits.model_construct(q=0, r=-17)},
        ("out-of-range", "bits.r", "-17", "-16..15"),
    ),
    "True for three bits": (
        {"bits": Bits.model_construct(q=True, r=0)},
        ("wrong-type", "bits.q", "bool True", "an int"),
    ),
    # rules
    "against a rule": ({"i16": 1}, ("rule:even", "", "", ": not seven in all")),
    # one fault, the first: structure before values before rules
    "two of a kind": ({"u8": 256, "i16": 1 << 15}, ("out-of-range", "u8", "256", "0..255")),
    "structure before a constraint": ({"u8": 101, "flag": 1}, ("wrong-type", "flag", "int 1", "a bool")),
    "a constraint before a rule": ({"f32": 10.5, "i16": 1}, ("out-of-range", "f32", "10.5", "-10.0..10.0")),
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_what_is_smuggled_in_is_refused_by_both_engines(name):
    update, fault = SMUGGLED[name]
    record = GOOD.model_copy(update=update)
    found = {engine: verdict(record, engine) for engine in ENGINES}
    assert found["generated"] == found["reference"]
    assert isinstance(found["generated"], tuple)
    if fault is not None:
        assert found["generated"] == fault


JUNK = [
    True, 0, 1, -1, 255, 256, 1 << 16, 1 << 24, 1 << 64, 1 << 71, 0.0, 0.1, 1.5, 1e5, 1e39, math.nan,
    math.inf, SIGNALLING, "3", b"", b"ab", b"xy", bytearray(b"ab"), memoryview(b"ab"), None, (), (1, 2),
    (True, 2),
    (0.5, 1.5), (0.5, 0.1), (Colour.RED, Colour.BLUE), (Door.OPEN, Door(0)), [1, 2], {1: 2}, {1}, range(2),
    Colour.BLUE, Door(0), Door(-1), A(v=9), B(w=9), (A(v=9),), (None,), A, int, object, 1j,
    A.model_construct(), Bits(q=0, r=0), (1,) * 20, (0.5,) * 20,
]  # fmt: skip


@pytest.mark.parametrize("name", All.model_fields)
def test_both_engines_agree_on_anything_and_what_is_built_comes_back(name):
    for junk in JUNK:
        record = GOOD.model_copy(update={name: junk})
        found = {engine: verdict(record, engine) for engine in ENGINES}
        assert found["generated"] == found["reference"], junk
        if isinstance(found["generated"], bytes):
            again = All.parse(found["generated"])
            assert repr(again.__dict__) == repr(record.__dict__), junk
            assert again.build() == found["generated"]


@pytest.mark.parametrize("name", All.model_fields)
def test_a_field_that_is_gone_is_refused(name):
    record = GOOD.model_copy()
    del record.__dict__[name]
    found = {engine: verdict(record, engine) for engine in ENGINES}
    assert found["generated"] == found["reference"] == ("wrong-type", name, "nothing", "a value")


PRIVATE = {
    "a private count": (
        Struct("_n" / Rebuild(Byte, len_(this.xs)), "xs" / construct.PrefixedArray(Byte, Byte)),
        {"xs": tuple[int, ...]},
        {"xs": 5},
        ("wrong-type", "xs"),
    ),
    "an unnamed sum": (
        Struct("a" / Byte, Rebuild(Byte, this.a + 1)),
        {"a": int},
        {"a": 255},
        ("out-of-range", "integer#1"),
    ),
    "an unnamed sum of text": (
        Struct("a" / Byte, Rebuild(Byte, this.a + 1)),
        {"a": int},
        {"a": "x"},
        ("wrong-type", "a"),
    ),
}


@pytest.mark.parametrize("name", PRIVATE)
def test_fields_that_the_record_has_not_are_checked(name):
    source, annotations, update, place = PRIVATE[name]
    members = {"__annotations__": annotations, "__module__": __name__}
    cls = type(Record)("R", (Record,), members, layout=source)
    record = cls.model_construct(**update)
    found = {engine: verdict(record, engine) for engine in ENGINES}
    assert found["generated"] == found["reference"]
    assert found["generated"][:2] == place


class Wide(
    Record,
    layout=Struct("a" / Int16sl, "b" / Byte, "c" / Byte),
    rules=(Rule("near", abs_(this.a) <= 40000, ""), Rule("less", this.b - this.c >= -200, "")),
):
    a: int
    b: int
    c: int


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_compute_wider_than_the_wire(engine):
    """abs of an int16 at -32768, and a difference of unsigned bytes below zero, wrap in narrower engines."""
    good = Wide(a=-32768, b=0, c=200)
    assert Wide.parse(good.build(engine=engine), engine=engine) == good
    assert verdict(good.model_copy(update={"c": 201}), engine)[0] == "rule:less"


class Led(
    Record,
    layout=Struct(
        "a" / Byte,
        construct.If(this.a > 1, Padding(2)),
        construct.Switch(this.a, {1: construct.Const(b"x"), 2: construct.Const(7, Int16ul)}, Padding(1)),
        construct.Padded(3, construct.Const(b"z")),
    ),
):
    a: int


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("a", "octets"), [(0, b"\0\0z\0\0"), (1, b"\1xz\0\0"), (2, b"\2\0\0\7\0z\0\0"), (3, b"\3\0\0\0z\0\0")]
)
def test_what_stands_in_a_choice_without_a_name_follows_from_its_condition(engine, a, octets):
    assert Led.parse(octets, engine=engine) == Led(a=a)
    assert Led(a=a).build(engine=engine) == octets


class Framed(
    Record,
    layout=Struct(
        "a" / Byte,
        "v" / construct.FocusedSeq("x", construct.Const(b"A"), "x" / Int16ul, Padding(this._.a)),
        "xs" / construct.Array(2, construct.FocusedSeq("x", "x" / Byte, construct.Const(9, Byte))),
    ),
):
    a: int
    v: int
    xs: tuple[int, ...]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_between_constants(engine):
    framed, octets = Framed(a=2, v=513, xs=(3, 4)), b"\2A\1\2\0\0\3\t\4\t"
    assert framed.build(engine=engine) == octets
    assert Framed.parse(octets, engine=engine) == framed
    with pytest.raises(DecodeError, match=r"v#2: 0x01 would be written as 0x00 \(byte 5\)"):
        Framed.parse(b"\2A\1\2\0\1\3\t\4\t", engine=engine)
    with pytest.raises(DecodeError, match=r"xs\[1\]#1: 8 .* \(byte 9\)"):
        Framed.parse(b"\2A\1\2\0\0\3\t\4\x08", engine=engine)

"""Records made by hand: strict values, derived fields, and how a record behaves as a Python value."""

import copy
import enum
import math
import pickle
import struct
from typing import Annotated, Literal

import annotated_types as at
import construct
import pytest
from construct import Byte, Flag, Int8sb, Int16sl, Int16ul, Padding, Rebuild, Struct, len_, this
from pydantic import ValidationError

from tests.schema.record_maker import make
from wirelock import Record, Rule, derived
from wirelock.errors import SchemaError


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Shade(enum.IntEnum):
    RED = 1


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


class Point(Record, layout=Struct("x" / Byte, "y" / Int16sl)):
    x: int
    y: int


class Twin(Record, layout=Struct("x" / Byte, "y" / Int16sl)):
    x: int
    y: int


class Header(Record, layout=Struct("magic" / construct.Const(b"WS"), "version" / construct.Const(1, Byte))):
    magic: bytes = derived()
    version: int = derived()


class Packet(
    Record,
    layout=Struct(
        "head" / Header.layout,
        "n" / Byte,
        "points" / construct.Array(this.n, Point.layout),
        "k" / construct.Enum(Byte, Colour),
        "x" / construct.Float32l,
        "note" / construct.If(this.k == "BLUE", construct.Bytes(2)),
    ),
):
    head: Header
    n: int = derived()
    points: tuple[Point, ...]
    k: Colour
    x: float
    note: bytes | None = None


class Int(int):
    pass


class Real(float):
    pass


class Octets(bytes):
    pass


class Many(tuple):
    pass


def one(source, annotation):
    """A record of a byte `n` that is 2, and a field `x`."""
    return make("R", Struct("n" / construct.Const(2, Byte), "x" / source), {"n": int, "x": annotation})


FLOATS = {16: construct.Float16b, 32: construct.Float32b, 64: construct.Float64b}
NAN = struct.unpack(">d", bytes.fromhex("fff8000000000001"))[0]

# -- what is taken and what it becomes

TAKEN = {
    "an int": (Byte, int, 5, 5),
    "the highest int": (Byte, int, 255, 255),
    "a subclass of int": (Byte, int, Int(5), 5),
    "a member for an int": (Byte, int, Colour.BLUE, 2),
    "a float": (FLOATS[64], float, 0.1, 0.1),
    "an int for a float": (FLOATS[64], float, 3, 3.0),
    "a subclass of float": (FLOATS[64], float, Real(0.5), 0.5),
    "a float rounded to binary32": (FLOATS[32], float, 0.1, 0.10000000149011612),
    "a float rounded to binary16": (FLOATS[16], float, 0.1, 0.0999755859375),
    "a float rounded up to the last": (FLOATS[16], float, 65519.99, 65504.0),
    "a float rounded to zero": (FLOATS[32], float, 1e-60, 0.0),
    "a float rounded to minus zero": (FLOATS[32], float, -1e-60, -0.0),
    "an infinity": (FLOATS[16], float, math.inf, math.inf),
    "a list for a tuple": (Byte[2], tuple[int, ...], [1, 2], (1, 2)),
    "a subclass of tuple": (Byte[2], tuple[int, ...], Many((1, 2)), (1, 2)),
    "lists within": (Byte[2][1], tuple[tuple[int, ...], ...], [[1, 2]], ((1, 2),)),
    "floats within": (FLOATS[32][1], tuple[float, ...], (0.1,), (0.10000000149011612,)),
    "an optional float": (construct.If(this.n > 1, FLOATS[32]), float | None, 0.1, 0.10000000149011612),
    "a record": (Point.layout, Point, Point(x=1, y=2), Point(x=1, y=2)),
    "a dict for a record": (Point.layout, Point, {"x": 1, "y": 2}, Point(x=1, y=2)),
    "a member": (construct.Enum(Byte, Colour), Colour, Colour.RED, Colour.RED),
    "flags": (construct.FlagsEnum(Byte, Door), Door, Door.OPEN | Door.LOCKED, Door(5)),
    "no flags": (construct.FlagsEnum(Byte, Door), Door, Door(0), Door(0)),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken(name):
    source, annotation, value, kept = TAKEN[name]
    found = one(source, annotation)(x=value)
    assert type(found.x) is type(kept)
    assert repr(found.x) == repr(kept)
    assert type(found).parse(found.build()) == found


@pytest.mark.parametrize(("bits", "octets"), [(16, "fe00"), (32, "ffc00000"), (64, "fff8000000000001")])
def test_a_nan_keeps_what_of_its_payload_the_wire_holds(bits, octets):
    found = one(FLOATS[bits], float)(x=NAN)
    assert found.build() == b"\x02" + bytes.fromhex(octets)
    assert repr(type(found).parse(found.build())) == repr(found)


REFUSED = {
    "True for an int": (Byte, int, True),
    "text for an int": (Byte, int, "3"),
    "a float for an int": (Byte, int, 3.0),
    "None for an int": (Byte, int, None),
    "bytes for an int": (Byte, int, b"\3"),
    "too large": (Byte, int, 256),
    "too small": (Byte, int, -1),
    "too small for a signed": (Int8sb, int, -129),
    "beyond 64 bits": (construct.Int64ul, int, 1 << 64),
    "against Le": (Byte, Annotated[int, at.Le(9)], 10),
    "against MultipleOf": (Byte, Annotated[int, at.MultipleOf(4)], 6),
    "against a Literal": (Byte, Literal[1, 3], 2),
    "True against a Literal": (Byte, Literal[1, 3], True),
    "against a Literal of a member": (construct.Enum(Byte, Colour), Literal[Colour.RED], Colour.BLUE),
    "an int for a bool": (Flag, bool, 1),
    "text for a bool": (Flag, bool, "true"),
    "None for a bool": (Flag, bool, None),
    "True for a float": (FLOATS[32], float, True),
    "text for a float": (FLOATS[32], float, "1.5"),
    "bits for a float": (FLOATS[32], float, {"bits": "7fc00000"}),
    "too large for binary16": (FLOATS[16], float, 65520.0),
    "too large for binary32": (FLOATS[32], float, 1e39),
    "an int too large for any float": (FLOATS[64], float, 10**400),
    "a signalling NaN": (FLOATS[64], float, struct.unpack(">d", bytes.fromhex("7ff0000000000001"))[0]),
    "against Le of a float": (FLOATS[32], Annotated[float, at.Le(0.5)], 0.6),
    "NaN against Le": (FLOATS[32], Annotated[float, at.Le(0.5)], math.nan),
    # binary32's 0.1 is greater than 0.1: what is rounded is what is compared.
    "rounded against Le": (FLOATS[32], Annotated[float, at.Le(0.1)], 0.1),
    "text for bytes": (construct.Bytes(2), bytes, "ab"),
    "a bytearray for bytes": (construct.Bytes(2), bytes, bytearray(b"ab")),
    "a memoryview for bytes": (construct.Bytes(2), bytes, memoryview(b"ab")),
    "a byte too few": (construct.Bytes(2), bytes, b"a"),
    "a byte too many": (construct.Bytes(2), bytes, b"abc"),
    "a byte too many for the count": (construct.Bytes(this.n), bytes, b"abc"),
    "against Len": (construct.Bytes(this.n), Annotated[bytes, at.MinLen(3)], b"ab"),
    "an int for a member": (construct.Enum(Byte, Colour), Colour, 1),
    "a name for a member": (construct.Enum(Byte, Colour), Colour, "RED"),
    "another class's member": (construct.Enum(Byte, Colour), Colour, Shade.RED),
    "an int for flags": (construct.FlagsEnum(Byte, Door), Door, 1),
    "flags without a name": (construct.FlagsEnum(Byte, Door), Door, Door(2)),
    "all flags but one": (construct.FlagsEnum(Byte, Door), Door, ~Door.OPEN | Door(2)),
    "a set for a tuple": (Byte[2], tuple[int, ...], {1, 2}),
    "a dict for a tuple": (Byte[2], tuple[int, ...], {1: 1, 2: 2}),
    "text for a tuple": (Byte[2], tuple[int, ...], "ab"),
    "bytes for a tuple": (Byte[2], tuple[int, ...], b"ab"),
    "a generator for a tuple": (Byte[2], tuple[int, ...], iter([1, 2])),
    "a range for a tuple": (Byte[2], tuple[int, ...], range(2)),
    "None for a tuple": (Byte[2], tuple[int, ...], None),
    "an element too few": (Byte[2], tuple[int, ...], (1,)),
    "an element too many": (Byte[2], tuple[int, ...], (1, 2, 3)),
    "an element too many for the count": (construct.Array(this.n, Byte), tuple[int, ...], (1, 2, 3)),
    "an element too many for the prefix": (
        construct.PrefixedArray(Byte, Byte),
        tuple[int, ...],
        (0,) * 256,
    ),
    "a wrong element": (Byte[2], tuple[int, ...], (1, True)),
    "another record": (Point.layout, Point, Twin(x=1, y=2)),
    "a dict with a field too many": (Point.layout, Point, {"x": 1, "y": 2, "z": 3}),
    "a record unchecked": (Point.layout, Point, Point.model_construct(x=256, y=2)),
    "None for a record": (Point.layout, Point, None),
    "something where nothing is": (construct.If(this.n > 2, Byte), int | None, 5),
    "nothing where something is": (construct.If(this.n > 1, Byte), int | None, None),
    "something for padding": (Padding(2), None, 0),
    "the other case": (construct.Switch(this.n, {1: construct.Bytes(1), 2: Byte}), int | bytes, b"a"),
    "the other case's width": (construct.Switch(this.n, {1: Int16ul, 2: Byte}), int, 256),
    "another constant": (construct.Const(7, Byte), int, 8),
    "True for a constant": (construct.Const(1, Byte), int, True),
    "a float for a constant": (construct.Const(1, Byte), int, 1.0),
    "other constant bytes": (construct.Const(b"ab"), bytes, b"ac"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    source, annotation, value = REFUSED[name]
    with pytest.raises(ValidationError):
        one(source, annotation)(x=value)


def test_a_subclass_of_bytes_is_refused_or_becomes_bytes():
    cls = one(construct.Bytes(2), bytes)
    try:
        found = cls(x=Octets(b"ab"))
    except ValidationError:
        return
    assert type(found.x) is bytes


SWITCH = construct.Switch(this.k, {1: FLOATS[16], 2: FLOATS[32], 3: FLOATS[64], 4: Byte, 5: Int16ul})
ROUNDED = {1: 0.0999755859375, 2: 0.10000000149011612, 3: 0.1}


@pytest.mark.parametrize("key", ROUNDED)
def test_the_key_says_how_far_a_float_is_rounded(key):
    cls = make("R", Struct("k" / Byte, "x" / SWITCH), {"k": int, "x": float | int})
    found = cls(k=key, x=0.1)
    assert found.x == ROUNDED[key]
    assert cls.parse(found.build()) == found


def test_the_key_says_which_record_a_dict_is():
    cls = make(
        "R",
        Struct("k" / Byte, "x" / construct.Switch(this.k, {1: Point.layout, 2: Small.layout})),
        {"k": int, "x": Point | Small},
    )
    for found in (cls(k=1, x=Point(x=1, y=2)), cls(k=2, x=Small(x=1, y=2))):
        assert cls.model_validate(found.model_dump()) == found


class Small(Record, layout=Struct("x" / Byte, "y" / Byte)):
    x: int
    y: int


@pytest.mark.parametrize("engine", ["generated", "reference"])
def test_two_cases_may_be_records_that_look_alike(engine):
    source = Struct("k" / Byte, "x" / construct.Switch(this.k, {1: Point.layout, 2: Twin.layout}))
    cls = make("R", source, {"k": int, "x": Point | Twin})
    assert type(cls.parse(b"\1\1\2\0", engine=engine).x) is Point
    assert type(cls.parse(b"\2\1\2\0", engine=engine).x) is Twin
    again = cls.model_validate_json(cls.parse(b"\2\1\2\0").model_dump_json())
    assert type(again.x) is Twin


def test_a_case_written_out_again_fits_more_than_one_record():
    alike = Struct("x" / Byte, "y" / Int16sl)
    source = Struct("k" / Byte, "x" / construct.Switch(this.k, {1: alike, 2: Twin.layout}))
    with pytest.raises(SchemaError, match="more than one of the union's types fits the case 1"):
        make("R", source, {"k": int, "x": Point | Twin})


# -- fields given and not given


def test_fields_are_named_and_all_of_them_given():
    with pytest.raises(TypeError):
        Point(1, 2)
    with pytest.raises(ValidationError, match="Field required"):
        Point(x=1)
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Point(x=1, y=2, z=3)


DERIVED = {
    "a count": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)),
        {"n": int, "xs": tuple[int, ...]},
        {"xs": (7, 8)},
        "020708",
    ),
    "a length": (
        Struct("n" / Byte, "d" / construct.Bytes(this.n)),
        {"n": int, "d": bytes},
        {"d": b"ab"},
        "026162",
    ),
    "a size in another unit": (
        Struct("n" / Rebuild(Byte, len_(this.xs) * 2), "xs" / construct.PrefixedArray(Byte, Int16ul)),
        {"n": int, "xs": tuple[int, ...]},
        {"xs": (1, 2)},
        "040201000200",
    ),
    "a sum": (
        Struct("a" / Byte, "b" / Byte, "sum" / Rebuild(Int16ul, this.a + this.b)),
        {"a": int, "b": int, "sum": int},
        {"a": 200, "b": 100},
        "c8642c01",
    ),
    "of a field that comes later": (
        Struct("sum" / Rebuild(Byte, this.a + 1), "a" / Byte),
        {"sum": int, "a": int},
        {"a": 1},
        "0201",
    ),
    "of another derived field that comes later": (
        Struct(
            "outer" / Rebuild(Byte, this.inner + 1),
            "inner" / Rebuild(Byte, len_(this.d)),
            "d" / construct.Bytes(2),
        ),
        {"outer": int, "inner": int, "d": bytes},
        {"d": b"ab"},
        "03026162",
    ),
    "of another derived field that came before": (
        Struct("n" / Byte, "d" / construct.Bytes(this.n), "next" / Rebuild(Byte, this.n + 1)),
        {"n": int, "d": bytes, "next": int},
        {"d": b"ab"},
        "02616203",
    ),
    "of a constant": (
        Struct("c" / construct.Const(5, Byte), "n" / Rebuild(Byte, this.c * 2)),
        {"c": int, "n": int},
        {},
        "050a",
    ),
    "of a private constant": (
        Struct("_c" / construct.Const(5, Byte), "n" / Rebuild(Byte, this._c * 2)),
        {"n": int},
        {},
        "050a",
    ),
    "of a private derived field": (
        Struct(
            "_c" / Rebuild(Byte, len_(this.d)), "n" / Rebuild(Byte, this._c * 2), "d" / construct.Bytes(2)
        ),
        {"n": int, "d": bytes},
        {"d": b"ab"},
        "02046162",
    ),
    "of a record inside": (
        Struct("n" / Rebuild(Byte, this.p.x + 1), "p" / Point.layout),
        {"n": int, "p": Point},
        {"p": Point(x=1, y=2)},
        "02010200",
    ),
    "of a member": (
        Struct("n" / Rebuild(Byte, this.k + 1), "k" / construct.Enum(Byte, Colour)),
        {"n": int, "k": Colour},
        {"k": Colour.BLUE},
        "0302",
    ),
    "of a flag": (
        Struct("n" / Rebuild(Byte, this.door.LOCKED * 3), "door" / construct.FlagsEnum(Byte, Door)),
        {"n": int, "door": Door},
        {"door": Door.LOCKED},
        "0304",
    ),
    "with a constraint": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)),
        {"n": Annotated[int, at.Le(3)], "xs": tuple[int, ...]},
        {"xs": (7,)},
        "0107",
    ),
    "a truth": (
        Struct("n" / Rebuild(Byte, this.a > 3), "a" / Byte),
        {"n": int, "a": int},
        {"a": 5},
        "0105",
    ),
}


@pytest.mark.parametrize("name", DERIVED)
def test_a_field_that_follows_from_others_may_be_left_out(name):
    source, annotations, values, octets = DERIVED[name]
    cls = make("R", source, annotations)
    found = cls(**values)
    assert found.build() == bytes.fromhex(octets)
    assert found == cls.parse(bytes.fromhex(octets))
    assert found.model_fields_set == set(annotations)
    assert cls(**found.__dict__) == found
    assert cls.parse(found.build(), engine="reference") == found


@pytest.mark.parametrize("name", [name for name in DERIVED if "n" in DERIVED[name][1]])
def test_a_field_that_follows_from_others_is_checked_if_given(name):
    source, annotations, values, _ = DERIVED[name]
    cls = make("R", source, annotations)
    right = cls(**values)
    with pytest.raises(ValidationError):
        cls(**{**right.__dict__, "n": right.n + 1})
    with pytest.raises(ValidationError):
        cls(**{**right.__dict__, "n": True})


BAD_DERIVED = {
    "a count beyond its width": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)),
        {"n": int, "xs": tuple[int, ...]},
        {"xs": (0,) * 256},
    ),
    "a count beyond its constraint": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)),
        {"n": Annotated[int, at.Le(3)], "xs": tuple[int, ...]},
        {"xs": (0,) * 4},
    ),
    "a sum beyond its width": (
        Struct("a" / Byte, "sum" / Rebuild(Byte, this.a + 1)),
        {"a": int, "sum": int},
        {"a": 255},
    ),
    "a sum below its width": (
        Struct("a" / Byte, "sum" / Rebuild(Byte, this.a - 1)),
        {"a": int, "sum": int},
        {"a": 0},
    ),
    "a private sum beyond its width": (
        Struct("a" / Byte, Rebuild(Byte, this.a + 1)),
        {"a": int},
        {"a": 255},
    ),
    "what it counts is wrong": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)),
        {"n": int, "xs": tuple[int, ...]},
        {"xs": 5},
    ),
    "what it counts is missing": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)),
        {"n": int, "xs": tuple[int, ...]},
        {},
    ),
    "None": (
        Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)),
        {"n": int, "xs": tuple[int, ...]},
        {"n": None, "xs": (1,)},
    ),
}


@pytest.mark.parametrize("name", BAD_DERIVED)
def test_a_derived_value_must_fit_too(name):
    source, annotations, values = BAD_DERIVED[name]
    with pytest.raises(ValidationError):
        make("R", source, annotations)(**values)


def test_a_field_that_follows_from_around_the_record_is_given_or_left_to_the_record_around_it():
    inner = make("Inner", Struct("n" / Rebuild(Byte, this._.k + 1)), {"n": int})
    outer = make("Outer", Struct("k" / Byte, "i" / inner.layout), {"k": int, "i": inner})
    found = outer(k=4, i=inner(n=5))
    assert found.build() == b"\4\5"
    assert found == outer.parse(b"\4\5")
    with pytest.raises(ValidationError):
        outer(k=4, i=inner(n=6))
    with pytest.raises(ValidationError):
        inner()


def test_constants_may_be_left_out_with_or_without_the_mark():
    cls = make(
        "R", Struct("c" / construct.Const(b"x"), "v" / construct.Const(1, Byte)), {"c": bytes, "v": int}
    )
    assert cls() == cls(c=b"x", v=1) == cls.parse(b"x\1")
    assert cls().model_fields_set == {"c", "v"}
    assert Header() == Header(magic=b"WS", version=1)
    assert Header().build() == b"WS\1"


# -- a record as a value


@pytest.fixture
def packet():
    return Packet(head=Header(), points=(Point(x=1, y=-2), Point(x=3, y=4)), k=Colour.BLUE, x=0.5, note=b"hi")


DATA = b"WS\1" + b"\2" + b"\1\xfe\xff" + b"\3\4\0" + b"\2" + b"\0\0\0\x3f" + b"hi"
MADE = {
    "by hand": lambda packet: packet,
    "generated": lambda packet: Packet.parse(DATA),
    "reference": lambda packet: Packet.parse(DATA, engine="reference"),
    "from a prefix": lambda packet: Packet.parse_prefix(DATA + b"rest")[0],
    "copied": lambda packet: packet.model_copy(),
    "copied deep": lambda packet: packet.model_copy(deep=True),
    "copied with a change undone": lambda packet: packet.model_copy(update={"x": 1.0}).model_copy(
        update={"x": 0.5}
    ),
    "copy.copy": lambda packet: copy.copy(Packet.parse(DATA)),
    "copy.deepcopy": lambda packet: copy.deepcopy(Packet.parse(DATA)),
    "pickled": lambda packet: pickle.loads(pickle.dumps(packet)),
    "parsed and pickled": lambda packet: pickle.loads(pickle.dumps(Packet.parse(DATA))),
    "validated from a dict": lambda packet: Packet.model_validate(packet.model_dump()),
    "validated from parts": lambda packet: Packet.model_validate(dict(Packet.parse(DATA))),
    "from JSON": lambda packet: Packet.model_validate_json(Packet.parse(DATA).model_dump_json()),
}


@pytest.mark.parametrize("name", MADE)
def test_however_a_record_is_made_it_is_the_same(packet, name):
    found = MADE[name](packet)
    assert type(found) is Packet
    assert found == packet
    assert not found != packet  # noqa: SIM202 - `!=` is an operator of its own
    assert hash(found) == hash(packet)
    assert len({found, packet}) == 1
    assert repr(found) == repr(packet)
    assert str(found) == str(packet)
    assert found.model_fields_set == packet.model_fields_set == set(Packet.model_fields)
    assert found.model_dump() == packet.model_dump()
    assert list(found.model_dump()) == list(Packet.model_fields)
    assert found.model_dump_json() == packet.model_dump_json()
    assert found.model_dump(exclude_unset=True) == packet.model_dump()
    assert found.__dict__ == packet.__dict__
    assert [type(value) for value in found.__dict__.values()] == [
        type(value) for value in packet.__dict__.values()
    ]
    assert found.__pydantic_extra__ is None
    assert found.__pydantic_private__ is None
    assert found.build() == found.build(engine="reference") == DATA
    assert pickle.dumps(found) == pickle.dumps(packet) or pickle.loads(pickle.dumps(found)) == packet
    assert list(found) == list(packet)


def test_records_differ_by_value_and_by_class():
    assert Point(x=1, y=2) != Point(x=1, y=3)
    assert Point(x=1, y=2) != Twin(x=1, y=2)
    assert Point(x=1, y=2) != (1, 2)


def test_a_record_is_frozen():
    for found in (Point(x=1, y=2), Point.parse(b"\1\2\0")):
        with pytest.raises(ValidationError, match="frozen"):
            found.x = 2
        with pytest.raises(ValidationError, match="frozen"):
            del found.x
        with pytest.raises(ValidationError):
            found.z = 2


def test_a_record_does_not_share_what_it_was_made_from():
    values = [1, 2]
    found = make("R", Struct("x" / Byte[2]), {"x": tuple[int, ...]})(x=values)
    values[0] = 9
    assert found.x == (1, 2)


BUFFERS = {"bytes": bytes, "bytearray": bytearray, "memoryview": memoryview}


@pytest.mark.parametrize("engine", ["generated", "reference"])
@pytest.mark.parametrize("name", BUFFERS)
def test_any_buffer_is_parsed(name, engine):
    assert Point.parse(BUFFERS[name](b"\1\2\0"), engine=engine) == Point(x=1, y=2)
    assert Point.parse_prefix(BUFFERS[name](b"\1\2\0rest"), engine=engine) == (Point(x=1, y=2), 3)


def test_a_parsed_record_keeps_nothing_of_the_buffer():
    cls = make("R", Struct("d" / construct.Bytes(2)), {"d": bytes})
    data = bytearray(b"ab")
    found = cls.parse(data)
    data[0] = 0
    assert found.d == b"ab"
    assert type(cls.parse(memoryview(b"ab")).d) is bytes
    assert cls.parse(memoryview(b"a.b.")[::2]).d == b"ab"


@pytest.mark.parametrize("value", ["abc", 3, None, [1, 2, 3]], ids=repr)
def test_what_is_no_buffer_is_a_type_error(value):
    with pytest.raises(TypeError):
        Point.parse(value)
    with pytest.raises(TypeError):
        Point.parse_prefix(value)


def test_an_unknown_engine_is_refused_and_none_takes_its_place():
    for run in (
        lambda: Point.parse(b"\1\2\0", engine="columnar"),
        lambda: Point.parse_prefix(b"\1\2\0", engine="columnar"),
        lambda: Point(x=1, y=2).build(engine="columnar"),
    ):
        with pytest.raises(ValueError, match="there is no engine 'columnar': the engines of a record are"):
            run()


def test_a_rule_holds_by_hand_too():
    cls = make(
        "R", Struct("a" / Byte, "b" / Byte), {"a": int, "b": int}, rules=(Rule("order", this.a < this.b),)
    )
    assert cls(a=1, b=2).build() == b"\1\2"
    with pytest.raises(ValidationError) as caught:
        cls(a=2, b=1)
    assert caught.value.errors()[0]["type"] == "rule:order"

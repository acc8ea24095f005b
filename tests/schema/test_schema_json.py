"""JSON of a record: what it looks like, that it loads back to the same bytes, and what does not load."""

import enum
import json
import struct

import construct
import pytest
from construct import (
    BitsInteger,
    BitStruct,
    Byte,
    Flag,
    Int8sb,
    Int64sl,
    Int64ul,
    Padding,
    Struct,
    len_,
    this,
)
from pydantic import ValidationError, computed_field, field_serializer

from protocol import PROTOCOLS
from tests.schema.record_maker import make
from wirelock import Record, SchemaError


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


class Far(enum.IntEnum):
    NEAR = 1
    FAR = 1 << 60


class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 1 << 60


class Highest(enum.IntFlag):
    LOW = 1
    HIGH = 1 << 63


class Vast(enum.IntFlag):
    LOW = 1
    HIGH = 1 << 64


class Extremes(enum.IntEnum):
    LOW = 1
    HIGH = (1 << 64) - 1


class Tagged(Record, layout=Struct("magic" / construct.Const(b"XY"), "d" / construct.Bytes(2))):
    magic: bytes
    d: bytes


class A(Record, layout=Struct("x" / Byte)):
    x: int


class B(Record, layout=Struct("x" / Int8sb)):
    x: int


def x(source, annotation):
    """A record of a byte `n` and a field `x`; data begins with a byte 2."""
    return make("R", Struct("n" / Byte, "x" / source), {"n": int, "x": annotation})


F16, F32, F64 = construct.Float16b, construct.Float32b, construct.Float64b
TWO64 = "9007199254740993"
"""2^53 + 1: sixteen digits, so it could as well be the hex of eight bytes."""

FORMS = {
    "an int": (Byte, int, "05", 5),
    "the largest plain int": (Int64ul, int, (1 << 53).to_bytes(8, "little").hex(), 1 << 53),
    "an int beyond": (Int64ul, int, ((1 << 53) + 1).to_bytes(8, "little").hex(), TWO64),
    "the largest": (Int64ul, int, "ff" * 8, "18446744073709551615"),
    "the least": (Int64sl, int, "00" * 7 + "80", "-9223372036854775808"),
    "a small one of 64 bits": (Int64sl, int, "ff" * 8, -1),
    "72 bits": (construct.BytesInteger(9), int, "ff" * 9, "4722366482869645213695"),
    "a large constant": (construct.Const((1 << 53) + 1, Int64ul), int, "0100000000002000", TWO64),
    "a bool": (Flag, bool, "01", True),
    "bytes": (construct.Bytes(2), bytes, "6aff", "6aff"),
    "no bytes": (construct.Bytes(0), bytes, "", ""),
    "constant bytes": (construct.Const(b"WS"), bytes, "5753", "5753"),
    "a member": (construct.Enum(Byte, Colour), Colour, "02", 2),
    "a large member": (construct.Enum(Int64ul, Far), Far, "0000000000000010", "1152921504606846976"),
    "flags": (construct.FlagsEnum(Byte, Door), Door, "05", 5),
    "no flags": (construct.FlagsEnum(Byte, Door), Door, "00", 0),
    "large flags": (construct.FlagsEnum(Int64ul, Bits), Bits, "0100000000000010", "1152921504606846977"),
    "the largest flags": (
        construct.FlagsEnum(Int64ul, Highest),
        Highest,
        "0100000000000080",
        "9223372036854775809",
    ),
    "flags beyond 64 bits": (
        construct.FlagsEnum(construct.BytesInteger(9), Vast),
        Vast,
        "01" + "00" * 8,
        "18446744073709551616",
    ),
    "the largest member": (
        construct.Enum(Int64ul, Extremes),
        Extremes,
        "ff" * 8,
        "18446744073709551615",
    ),
    "a float": (F32, float, "3dcccccd", 0.10000000149011612),
    "a float of 64 bits": (F64, float, "3fb999999999999a", 0.1),
    "a float of 16 bits": (F16, float, "3555", 0.333251953125),
    "the least float": (F64, float, "0000000000000001", 5e-324),
    "minus zero": (F32, float, "80000000", -0.0),
    "infinity": (F32, float, "7f800000", {"bits": "7f800000"}),
    "minus infinity": (F16, float, "fc00", {"bits": "fc00"}),
    "a NaN": (F32, float, "7fc00000", {"bits": "7fc00000"}),
    "a NaN with a payload": (F32, float, "ffc12345", {"bits": "ffc12345"}),
    "a NaN of 64 bits": (F64, float, "7ff8000000000123", {"bits": "7ff8000000000123"}),
    "a NaN of 16 bits": (F16, float, "7e01", {"bits": "7e01"}),
    "None": (Padding(1), None, "00", None),
    "an optional": (construct.If(this.n > 1, Int64ul), int | None, "ff" * 8, "18446744073709551615"),
    "a large key": (construct.Mapping(Byte, {1 << 60: 1, 5: 2}), int, "01", "1152921504606846976"),
    "a small key beside it": (construct.Mapping(Byte, {1 << 60: 1, 5: 2}), int, "02", 5),
    "a large computed one": (construct.Computed(this.n * (1 << 54)), int, "", "36028797018963968"),
    "a large one of a union": (
        construct.Switch(this.n, {1: Byte, 2: Int64ul}, default=Flag),
        int | bool,
        "ff" * 8,
        "18446744073709551615",
    ),
    "a bool of a union": (construct.Switch(this.n, {1: Int64ul, 2: Flag}), int | bool, "01", True),
    "an optional float": (construct.If(this.n > 1, F16), float | None, "7e01", {"bits": "7e01"}),
    "optional bytes": (construct.If(this.n > 1, construct.Bytes(1)), bytes | None, "ff", "ff"),
    "nothing": (construct.If(this.n > 2, Byte), int | None, "", None),
    "a tuple": (Byte[2], tuple[int, ...], "0102", [1, 2]),
    "an empty tuple": (construct.PrefixedArray(Byte, Byte), tuple[int, ...], "00", []),
    "a tuple of bytes": (construct.Bytes(2)[2], tuple[bytes, ...], "01020aff", ["0102", "0aff"]),
    "a tuple of large ints": (Int64ul[1], tuple[int, ...], "ff" * 8, ["18446744073709551615"]),
    "a tuple of floats": (F16[2], tuple[float, ...], "7e018000", [{"bits": "7e01"}, -0.0]),
    "a tuple of members": (construct.Enum(Byte, Colour)[2], tuple[Colour, ...], "0102", [1, 2]),
    "a tuple of flags": (construct.FlagsEnum(Byte, Door)[2], tuple[Door, ...], "0105", [1, 5]),
    "a tuple of optionals": (
        construct.If(this.n > 1, construct.Bytes(1))[2],
        tuple[bytes | None, ...],
        "01ff",
        ["01", "ff"],
    ),
    "a tuple of tuples": (construct.Bytes(1)[2][1], tuple[tuple[bytes, ...], ...], "01ff", [["01", "ff"]]),
    "a record": (Tagged.layout, Tagged, "58590aff", {"magic": "5859", "d": "0aff"}),
    "a tuple of records": (
        Tagged.layout[1],
        tuple[Tagged, ...],
        "58590aff",
        [{"magic": "5859", "d": "0aff"}],
    ),
    "an optional record": (
        construct.If(this.n > 1, Tagged.layout),
        Tagged | None,
        "58590aff",
        {"magic": "5859", "d": "0aff"},
    ),
    "a case of bytes": (
        construct.Switch(this.n, {1: Byte, 2: construct.Bytes(2)}),
        int | bytes,
        "1234",
        "1234",
    ),
    "a case of bytes among large ints": (
        construct.Switch(this.n, {1: Int64ul, 2: construct.Bytes(8)}),
        int | bytes,
        TWO64,
        TWO64,
    ),
    "a case of a large int among bytes": (
        construct.Switch(this.n, {1: construct.Bytes(8), 2: Int64ul}),
        int | bytes,
        "0100000000002000",
        TWO64,
    ),
    "a case of a narrow float": (
        construct.Switch(this.n, {1: F64, 2: F32}),
        float,
        "7fc00001",
        {"bits": "7ff8000020000000"},  # a union does not know whose width it is; sixteen digits hold all
    ),
    "a case of a wide float": (
        construct.Switch(this.n, {1: F32, 2: F64}),
        float,
        "7ff8000000000123",
        {"bits": "7ff8000000000123"},
    ),
    "a case of a record": (construct.Switch(this.n, {1: A.layout, 2: B.layout}), A | B, "ff", {"x": -1}),
    "a case of the first record": (
        construct.Switch(this.n, {2: A.layout, 1: B.layout}),
        A | B,
        "01",
        {"x": 1},
    ),
    "a case of a record with bytes": (
        construct.Switch(this.n, {1: A.layout, 2: Tagged.layout}),
        A | Tagged,
        "58590aff",
        {"magic": "5859", "d": "0aff"},
    ),
    "a case of a tuple": (
        construct.Switch(this.n, {1: Byte, 2: construct.Bytes(1)[2]}),
        int | tuple[bytes, ...],
        "01ff",
        ["01", "ff"],
    ),
    "a case of a member": (
        construct.Switch(this.n, {1: construct.Bytes(1), 2: construct.Enum(Byte, Colour)}),
        bytes | Colour,
        "02",
        2,
    ),
    "a case of a bool": (construct.Switch(this.n, {1: Byte, 2: Flag}), int | bool, "01", True),
    "a case of nothing": (construct.Switch(this.n, {1: Byte, 2: construct.Pass}), int | None, "", None),
    "a default": (
        construct.Switch(this.n, {1: construct.Bytes(8)}, Int64ul),
        int | bytes,
        "0100000000002000",
        TWO64,
    ),
    "a tuple of cases": (
        construct.Switch(this.n, {1: A.layout, 2: B.layout})[2],
        tuple[A | B, ...],
        "01ff",
        [{"x": 1}, {"x": -1}],
    ),
    "an optional case": (
        construct.If(this.n > 1, construct.Switch(this.n, {1: A.layout, 2: B.layout})),
        A | B | None,
        "01",
        {"x": 1},
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_json_forms(name):
    source, annotation, octets, value = FORMS[name]
    cls = x(source, annotation)
    data = b"\x02" + bytes.fromhex(octets)
    found = cls.parse(data)
    text = found.model_dump_json()
    assert repr(json.loads(text)["x"]) == repr(value)
    again = cls.model_validate_json(text)
    assert again.build() == data
    assert repr(again) == repr(found)
    assert type(again.x) is type(found.x)
    assert found.model_dump(mode="json") == json.loads(text)
    assert cls.model_validate_json(json.dumps(json.loads(text))).build() == data


# -- the key that chooses may lie anywhere

CHOOSERS = {
    "a field of the record": (lambda case: Struct("k" / Byte, "x" / case(this.k)), {"k": int}, "02"),
    "a length": (
        lambda case: Struct("ks" / construct.PrefixedArray(Byte, Byte), "x" / case(len_(this.ks))),
        {"ks": tuple[int, ...]},
        "020000",
    ),
    "a member": (
        lambda case: Struct("k" / construct.Enum(Byte, Colour), "x" / case(this.k)),
        {"k": Colour},
        "02",
    ),
    "a field of a record": (lambda case: Struct("a" / A.layout, "x" / case(this.a.x)), {"a": A}, "02"),
    "a constant": (lambda case: Struct("k" / construct.Const(2, Byte), "x" / case(this.k)), {"k": int}, "02"),
    "a private constant": (
        lambda case: Struct("_k" / construct.Const(2, Byte), "x" / case(this._k)),
        {},
        "02",
    ),
    "an expression": (lambda case: Struct("k" / Byte, "x" / case(this.k % 4 + 1)), {"k": int}, "05"),
    "a derived count": (
        lambda case: Struct("k" / Byte, "x" / case(this.k), "d" / construct.Bytes(this.k)),
        {"k": int},
        "02",
    ),
}


@pytest.mark.parametrize("name", CHOOSERS)
def test_the_key_chooses_wherever_it_is(name):
    struct_of, annotations, head = CHOOSERS[name]
    source = struct_of(lambda key: construct.Switch(key, {1: construct.Bytes(8), 2: Int64ul}))
    annotations = {**annotations, "x": int | bytes}
    tail = ""
    if name == "a derived count":
        annotations, tail = {**annotations, "d": bytes}, "0000"
    cls = make("R", source, annotations)
    data = bytes.fromhex(head + "0100000000002000" + tail)
    text = cls.parse(data).model_dump_json()
    assert cls.model_validate_json(text).build() == data


def test_the_key_chooses_from_around_the_record():
    inner = make(
        "Inner",
        Struct("x" / construct.Switch(this._.k, {1: construct.Bytes(8), 2: construct.Int32ul})),
        {"x": int | bytes},
    )
    outer = make("Outer", Struct("k" / Byte, "i" / inner.layout), {"k": int, "i": inner})
    # The record inside cannot see the key, so its union goes by what the value looks like.
    for octets in ("010100000000002000", "0200000020"):
        data = bytes.fromhex(octets)
        assert outer.model_validate_json(outer.parse(data).model_dump_json()).build() == data


# -- what does not load

BAD = {
    "no JSON": (Byte, int, "{"),
    "another number": (Byte, int, "5.0"),
    "a bool for an int": (Byte, int, "true"),
    "text for a small int": (Byte, int, '"5"'),
    "null for an int": (Byte, int, "null"),
    "too large": (Byte, int, "256"),
    "too large as text": (Int64ul, int, '"18446744073709551616"'),
    "a sign too many": (Int64sl, int, '"--5"'),
    "a plus": (Int64sl, int, '"+5"'),
    "a space": (Int64ul, int, '" 5"'),
    "an underscore": (Int64ul, int, '"1_0"'),
    "another script's digits": (Int64ul, int, '"\\u0663"'),
    "a point": (Int64ul, int, '"5.0"'),
    "no digits": (Int64ul, int, '""'),
    "endless digits": (Int64ul, int, '"' + "9" * 5000 + '"'),
    "an int for a bool": (Flag, bool, "1"),
    "text for a bool": (Flag, bool, '"true"'),
    "odd hex": (construct.Bytes(2), bytes, '"616"'),
    "no hex": (construct.Bytes(2), bytes, '"6z62"'),
    "spaced hex": (construct.Bytes(2), bytes, '"61 62"'),
    "bytes as numbers": (construct.Bytes(2), bytes, "[97,98]"),
    "bytes too long": (construct.Bytes(2), bytes, '"616263"'),
    "an unknown member": (construct.Enum(Byte, Colour), Colour, "3"),
    "a member's name": (construct.Enum(Byte, Colour), Colour, '"RED"'),
    "a bool for a member": (construct.Enum(Byte, Colour), Colour, "true"),
    "a float for a member": (construct.Enum(Byte, Colour), Colour, "1.0"),
    "an unknown flag": (construct.FlagsEnum(Byte, Door), Door, "2"),
    "flags below zero": (construct.FlagsEnum(Byte, Door), Door, "-1"),
    "a bool for flags": (construct.FlagsEnum(Byte, Door), Door, "true"),
    "text for a float": (F32, float, '"1.5"'),
    "a bool for a float": (F32, float, "true"),
    "a float too large": (F32, float, "1e39"),
    "bits of a signalling NaN": (F32, float, '{"bits":"7f800001"}'),
    "bits of no width": (F32, float, '{"bits":"7ff800"}'),
    "bits that are no hex": (F32, float, '{"bits":"7fc0000g"}'),
    "bits below zero": (F32, float, '{"bits":"-7f80000"}'),
    "bits with an underscore": (F32, float, '{"bits":"7f_80000"}'),
    "bits with a prefix": (F32, float, '{"bits":"0x7fc000"}'),
    "bits as a number": (F32, float, '{"bits":2143289344}'),
    "bits and more": (F32, float, '{"bits":"7fc00000","x":1}'),
    "no bits": (F32, float, "{}"),
    "an array too short": (Byte[2], tuple[int, ...], "[1]"),
    "an object for an array": (Byte[2], tuple[int, ...], '{"0":1,"1":2}'),
    "text for an array": (Byte[2], tuple[int, ...], '"12"'),
    "a record with a field too many": (A.layout, A, '{"x":1,"y":2}'),
    "a record with a field too few": (A.layout, A, "{}"),
    "an array for a record": (A.layout, A, "[1]"),
    "the other case": (construct.Switch(this.n, {1: construct.Bytes(1), 2: Byte}), int | bytes, '"01"'),
    "another constant": (construct.Const(7, Byte), int, "8"),
    "nothing where something is": (construct.If(this.n > 1, Byte), int | None, "null"),
    "something where nothing is": (construct.If(this.n > 2, Byte), int | None, "1"),
}


@pytest.mark.parametrize("name", BAD)
def test_json_that_does_not_load(name):
    source, annotation, text = BAD[name]
    cls = x(source, annotation)
    with pytest.raises(ValidationError):
        cls.model_validate_json(f'{{"n":2,"x":{text}}}')


def test_bits_are_for_json_only():
    cls = x(F32, float)
    assert cls.model_validate_json('{"n":2,"x":{"bits":"3f800000"}}').x == 1.0
    with pytest.raises(ValidationError):
        cls(n=2, x={"bits": "3f800000"})
    with pytest.raises(ValidationError):
        x(Int64ul, int)(n=2, x="5")


# -- what would make JSON lose something


def test_a_serializer_of_the_author_s_is_refused_or_loads_back():
    with pytest.raises(SchemaError):

        class Told(Record, layout=Struct("x" / Byte)):
            x: int

            @field_serializer("x")
            def told(self, value):
                return str(value)


def test_a_computed_field_is_refused_or_loads_back():
    try:

        class Told(Record, layout=Struct("x" / Byte)):
            x: int

            @computed_field
            @property
            def double(self) -> int:
                return 2 * self.x

    except SchemaError:
        return
    assert Told.model_validate_json(Told(x=1).model_dump_json()) == Told(x=1)


# -- the protocols of this repository


PAYLOADS = {
    "snapshot/v1": "575301 07000000 0100  0900 03 cdcccc3d 00000080 00000046  03 0100 feff 0300",
    "snapshot/v2": "575302 07000000 0100  0900 cdcccc3d 00000080 00000046  0f 0100 feff 0300",
    "rotation/v1": "03 0100 feff 0300",
    "rotation/v2": "ff 0100 feff 0300",
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_records_of_the_protocols(name):
    protocol, version = PROTOCOLS.find(name)
    data = bytes.fromhex(PAYLOADS[name])
    found = protocol.parse(data, version=version)
    text = found.model_dump_json()
    again = type(found).model_validate_json(text)
    assert again == found
    assert again.build() == data
    assert type(found).model_validate_json(json.dumps(json.loads(text), indent=2)) == found


@pytest.mark.parametrize("name", PAYLOADS)
def test_records_have_a_json_schema_of_pydantic_s(name):
    """Without a warning, and what it asks for is what is dumped."""
    protocol, version = PROTOCOLS.find(name)
    cls = protocol.versions[version]
    schema = cls.model_json_schema()
    assert list(schema["properties"]) == list(cls.model_fields)
    assert set(schema["required"]) <= set(cls.model_fields)


def test_records_of_bits():
    cls = make(
        "R",
        BitStruct("a" / BitsInteger(3), "b" / Flag, "c" / BitsInteger(4, signed=True)),
        {"a": int, "b": bool, "c": int},
    )
    found = cls.parse(b"\x7f")
    assert found.model_dump_json() == '{"a":3,"b":true,"c":-1}'
    assert cls.model_validate_json(found.model_dump_json()) == found


def test_floats_of_16_bits():
    cls = make("R", Struct("x" / F16), {"x": float})
    for raw in range(1 << 16):
        signalling = raw & 0x7C00 == 0x7C00 and raw & 0x3FF and not raw & 0x200
        if signalling or (raw % 7 and raw & 0x7C00 != 0x7C00):
            continue  # of the finite ones, each seventh
        data = struct.pack(">H", raw)
        assert cls.model_validate_json(cls.parse(data).model_dump_json()).build() == data

"""Sequences, selections, checksums and code: values and bytes both ways, and what is refused."""

import typing
import zlib

import construct
import pytest
from construct import (
    Byte,
    Bytes,
    Checksum,
    Const,
    Flag,
    GreedyBytes,
    If,
    Int8ub,
    Int16ub,
    Int16ul,
    Int32ub,
    Prefixed,
    RawCopy,
    Select,
    Sequence,
    Struct,
    this,
)
from pydantic import ValidationError

from tests.schema.record_maker import make
from wirelock import DecodeError, EncodeError, Record, SchemaError, checksums, derived, opaque
from wirelock.checksums import CRCS, crc, xor8
from wirelock.layout.canonical import layout_to_json
from wirelock.layout.from_json import layout_from_json
from wirelock.schema.record import layout_of

ENGINES = ["generated", "reference"]
engines = pytest.mark.parametrize("engine", ENGINES)


class Body(Record, layout=Struct("a" / Byte, "xs" / construct.PrefixedArray(Byte, Byte))):
    a: int
    xs: tuple[int, ...]


class Ping(Record, layout=Struct("kind" / Const(b"P"), "n" / Byte)):
    kind: bytes
    n: int


class Pong(Record, layout=Struct("kind" / Const(0x5101, Int16ub), "n" / Byte)):
    kind: int
    n: int


class Turned(construct.Adapter):
    """Two bytes as a pair, the second first."""

    def _decode(self, obj, context, path):
        return [obj[1], obj[0]]

    def _encode(self, obj, context, path):
        return bytes([obj[1], obj[0]])


def broken(data):
    raise RuntimeError("boom")


X = "x" / RawCopy(Body.layout)
TURNED = opaque("turned", 1, Turned(Bytes(2)))
ZIPPED = opaque("zlib", 1, construct.Compressed(GreedyBytes, "zlib"))
INCOMPLETE = "error: Error -5 while decompressing data: incomplete or truncated stream"
PACKED = zlib.compress(b"aaaa")

# name: (construct, annotations, values, bytes)
GOOD: dict[str, tuple[typing.Any, dict[str, typing.Any], dict[str, typing.Any], str]] = {
    "sequence": (
        Struct("s" / Sequence(Byte, Int16ul, Bytes(1), Flag)),
        {"s": tuple[int, int, bytes, bool]},
        {"s": (1, 2, b"c", True)},
        "01 02 00 63 01",
    ),
    "sequence of records": (
        Struct("n" / Byte, "s" / Sequence(Body.layout, Prefixed(Byte, GreedyBytes), Bytes(this._.n))),
        {"n": int, "s": tuple[Body, bytes, bytes]},
        {"n": 1, "s": (Body(a=1, xs=(2, 3)), b"z", b"y")},
        "01 01 02 02 03 01 7a 79",
    ),
    "select, first": (
        Struct("x" / Select(Ping.layout, Pong.layout)),
        {"x": Ping | Pong},
        {"x": Ping(n=1)},
        "50 01",
    ),
    "select, second": (
        Struct("x" / Select(Ping.layout, Pong.layout)),
        {"x": Pong | Ping},
        {"x": Pong(n=1)},
        "51 01 01",
    ),
    "select in an array": (
        Struct("xs" / construct.GreedyRange(Select(Ping.layout, Pong.layout))),
        {"xs": tuple[Ping | Pong, ...]},
        {"xs": (Ping(n=1), Pong(n=2))},
        "50 01 51 01 02",
    ),
    "checksum": (
        Struct(X, "c" / Checksum(Int32ub, zlib.crc32, this.x.data)),
        {"x": Body, "c": int},
        {"x": Body(a=1, xs=(2, 3)), "c": zlib.crc32(b"\1\2\2\3")},
        f"01 02 02 03 {zlib.crc32(bytes.fromhex('01020203')):08x}",
    ),
    "hidden checksum": (
        Struct(X, "_c" / Checksum(Byte, xor8, lambda ctx: ctx.x.data)),
        {"x": Body},
        {"x": Body(a=1, xs=(2, 3))},
        "01 02 02 03 02",
    ),
    "checksum in bytes": (
        Struct(X, "c" / Checksum(Bytes(16), checksums.md5, this.x.data)),
        {"x": Body, "c": bytes},
        {"x": Body(a=0, xs=()), "c": bytes.fromhex("c4103f122d27677c9db144cae1394a66")},
        "00 00 c4 10 3f 12 2d 27 67 7c 9d b1 44 ca e1 39 4a 66",
    ),
    "checksum that is there": (
        Struct(X, "c" / If(this.x.value.a > 0, Checksum(Byte, xor8, this.x.data))),
        {"x": Body, "c": int | None},
        {"x": Body(a=5, xs=()), "c": 5},
        "05 00 05",
    ),
    "checksum that is not": (
        Struct(X, "c" / If(this.x.value.a > 0, Checksum(Byte, xor8, this.x.data))),
        {"x": Body, "c": int | None},
        {"x": Body(a=0, xs=()), "c": None},
        "00 00",
    ),
    "checksum of one field": (
        Struct("n" / RawCopy(Byte), "d" / Bytes(this.n.value), "c" / Checksum(Byte, xor8, this.n.data)),
        {"n": int, "d": bytes, "c": int},
        {"n": 2, "d": b"ab", "c": 2},
        "02 61 62 02",
    ),
    "opaque": (Struct("p" / TURNED), {"p": tuple[int, int]}, {"p": (2, 1)}, "01 02"),
    "opaque to the end": (
        Struct("n" / Byte, "z" / Prefixed(Byte, ZIPPED)),
        {"n": int, "z": bytes},
        {"n": 1, "z": b"aaaa"},
        f"01 {len(PACKED):02x} {PACKED.hex()}",
    ),
}


def record_of(name):
    source, annotations, _, _ = GOOD[name]
    return make("R", source, annotations)


@engines
@pytest.mark.parametrize("name", GOOD)
def test_bytes_and_values_both_ways(name, engine):
    record, (_, _, values, data) = record_of(name), GOOD[name]
    made = record(**values)
    assert made.build(engine=engine) == bytes.fromhex(data)
    parsed = record.parse(bytes.fromhex(data), engine=engine)
    assert parsed == made and repr(parsed) == repr(made)
    assert record.model_validate_json(made.model_dump_json()) == made
    assert record.model_validate(made.model_dump()) == made
    followed = {key: value for key, value in values.items() if key != "c"}
    assert record(**followed) == made


@pytest.mark.parametrize("name", GOOD)
def test_the_layout_survives_json(name):
    layout = layout_of(record_of(name))
    assert layout_from_json(layout_to_json(layout)) == layout


def outcome(record, data, engine):
    try:
        return record.parse(data, engine=engine)
    except DecodeError as error:
        return error.fault


@pytest.mark.parametrize("name", GOOD)
def test_engines_agree_on_every_prefix_and_every_changed_byte(name):
    record, data = record_of(name), bytes.fromhex(GOOD[name][3])
    inputs = [data[:stop] for stop in range(len(data))] + [data + b"\0", data + b"\x01\x02"]
    inputs += [
        data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :] for at in range(len(data)) for bit in (1, 128)
    ]
    for hostile in inputs:
        found = [outcome(record, hostile, engine) for engine in ENGINES]
        assert found[0] == found[1], hostile.hex(" ")
        if isinstance(found[0], Record):
            assert found[0].build() == hostile


# name: {bytes: (code, path, byte, found, allowed)}
FAULTS = {
    "sequence": {
        "01 02 00": ("truncated", "s[2]", 3, "0", "1"),
        "01 02 00 63 02": ("not-canonical", "s[3]", 4, "2", "1"),
    },
    "select, first": {
        "": ("truncated", "x", 0, "0", "1"),
        "51": ("truncated", "x", 0, "1", "2"),
        "51 00 01": ("unknown-case", "x", 0, "51 00", "50, 51 01"),
        "50": ("truncated", "x.n", 1, "0", "1"),
    },
    "select in an array": {"50 01 52": ("unknown-case", "xs[1]", 2, "52", "50, 51 01")},
    "checksum": {
        "01 00 00 00 00 01": ("checksum", "c", 2, "0x00000001", f"{zlib.crc32(bytes([1, 0])):#010x}")
    },
    "hidden checksum": {"01 00 02": ("checksum", "_c", 2, "0x02", "0x01")},
    "opaque": {"01": ("truncated", "p", 0, "1", "2")},
    "opaque to the end": {
        "01 01 00": ("opaque", "z", 2, "zlib (version 1)", INCOMPLETE),
    },
}


@engines
@pytest.mark.parametrize(("name", "data"), [(name, data) for name, rows in FAULTS.items() for data in rows])
def test_faults(name, data, engine):
    fault = outcome(record_of(name), bytes.fromhex(data), engine)
    assert (fault.code, fault.path, fault.byte, fault.found, fault.allowed) == FAULTS[name][data]


# name: (update, code, path)
STALE = {
    "sequence": [
        ({"s": [1, 2, b"c", True]}, "wrong-type", "s"),
        ({"s": (1, 2, b"c")}, "bad-count", "s"),
        ({"s": (1, 2, 3, True)}, "wrong-type", "s[2]"),
    ],
    "select, first": [({"x": Body(a=1, xs=())}, "wrong-type", "x"), ({"x": None}, "wrong-type", "x")],
    "checksum": [
        ({"c": 5}, "checksum", "c"),
        ({"c": True}, "wrong-type", "c"),
        ({"c": 1 << 32}, "out-of-range", "c"),
        ({"x": None}, "wrong-type", "x"),
    ],
    "checksum in bytes": [({"c": b"x"}, "bad-count", "c"), ({"c": b"0" * 16}, "checksum", "c")],
    "checksum that is there": [({"c": None}, "wrong-type", "c")],
    "checksum that is not": [({"c": 0}, "wrong-type", "c")],
    "opaque": [
        ({"p": (1, 300)}, "opaque", "p"),
        ({"p": 5}, "opaque", "p"),
        ({"p": (1, 2, 3)}, "not-canonical", "p"),
    ],
    "opaque to the end": [({"z": 5}, "opaque", "z")],
}


@engines
@pytest.mark.parametrize(("name", "number"), [(name, at) for name in STALE for at in range(len(STALE[name]))])
def test_what_cannot_be_written(name, number, engine):
    update, code, path = STALE[name][number]
    record = record_of(name)(**GOOD[name][2])
    with pytest.raises(EncodeError) as caught:
        record.model_copy(update=update).build(engine=engine)
    assert (caught.value.fault.code, caught.value.fault.path) == (code, path)


@engines
def test_a_checksum_follows_what_is_written(engine):
    """Case C15: the payload is edited before it is built."""
    for name in ("checksum", "hidden checksum", "checksum that is there"):
        record = record_of(name)(**GOOD[name][2])
        edited = record.model_copy(update={"x": Body(a=9, xs=(1,))})
        data = edited.build(engine=engine)
        assert data[:3] == b"\x09\x01\x01" and data != record.build(engine=engine)
        assert record.parse(data, engine=engine) == edited


def test_a_wrong_checksum_cannot_be_made_by_hand():
    record = record_of("checksum")
    with pytest.raises(ValidationError, match="c: 0x00000005 is not"):
        record(x=Body(a=1, xs=()), c=5)


def test_a_count_follows_what_is_copied():
    record = make("R", Struct("n" / Byte, "d" / Bytes(this.n)), {"n": int, "d": bytes})
    copied = record(d=b"ab").model_copy(update={"d": b"abc"})
    assert (copied.n, copied.build()) == (3, b"\3abc")
    assert record(d=b"ab").model_copy(update={"n": 7}).n == 7
    assert record(d=b"ab").model_copy(update={"d": None}).n == 2
    assert record(d=b"ab").model_copy() == record(d=b"ab")


CODE = {
    "raises": checksums.checksum("broken", 1)(broken),
    "gives text": checksums.checksum("text", 1)(lambda data: "x"),
    "does not fit": checksums.checksum("wide", 1)(lambda data: 256),
    "is below zero": checksums.checksum("signed", 1)(lambda data: -1),
    "gives bytes": checksums.checksum("octets", 1)(lambda data: b"x"),
    "gives True": checksums.checksum("true", 1)(lambda data: True),
}


@engines
@pytest.mark.parametrize("name", CODE)
def test_a_function_that_gives_no_checksum_is_a_fault(name, engine):
    record = make("R", Struct(X, "_c" / Checksum(Byte, CODE[name], this.x.data)), {"x": Body})
    with pytest.raises(DecodeError) as caught:
        record.parse(b"\1\0\1", engine=engine)
    assert (caught.value.fault.code, caught.value.fault.path) == ("checksum", "_c")
    made = record.model_construct(x=Body(a=1, xs=()))
    with pytest.raises(EncodeError) as caught:
        made.build(engine=engine)
    assert caught.value.fault.code == "checksum" and CODE[name].name in str(caught.value)


def test_a_record_made_without_its_checksum_is_built_with_it():
    record = record_of("checksum")
    made = record.model_construct(x=Body(a=1, xs=(2, 3)))
    for engine in ENGINES:
        assert made.build(engine=engine) == bytes.fromhex(GOOD["checksum"][3])


def test_checksums_and_code_enter_the_digest_by_name_and_version():
    layouts = {
        layout_to_json(
            layout_of(make("R", Struct(X, "_c" / Checksum(Byte, function, this.x.data)), {"x": Body}))
        )["fields"][1]["function"]
        for function in (xor8, checksums.sum8)
    }
    assert layouts == {"xor-8", "sum-8"}
    one, two = (layout_of(make("R", Struct("p" / opaque("t", n, Byte)), {"p": int})) for n in (1, 2))
    assert layout_to_json(one) != layout_to_json(two)


MISFITS = {
    "too few": (Struct("s" / Sequence(Byte, Byte)), {"s": tuple[int]}, "2 types"),
    "any number": (Struct("s" / Sequence(Byte, Byte)), {"s": tuple[int, ...]}, "2 types"),
    "another type": (Struct("s" / Sequence(Byte, Byte)), {"s": tuple[int, str]}, "write int"),
    "a record too few": (Struct("x" / Select(Ping.layout, Pong.layout)), {"x": Ping}, "none of the union"),
    "a record too many": (
        Struct("x" / Select(Ping.layout, Pong.layout)),
        {"x": Ping | Pong | Body},
        "only the",
    ),
    "a limit on a checksum": (
        Struct(X, "c" / Checksum(Byte, xor8, this.x.data)),
        {"x": Body, "c": typing.Literal[1, 2]},
        "without constraints",
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_annotations_that_do_not_fit(name):
    source, annotations, told = MISFITS[name]
    with pytest.raises(SchemaError, match=told):
        make("R", source, annotations)


@pytest.mark.parametrize("name", CRCS)
def test_crcs_have_the_check_value_of_the_catalogue(name):
    assert CRCS[name](b"123456789") == crc(name)(b"123456789") == CRCS[name].check
    assert CRCS[name](b"") == crc(name)(b"")


SUMS = {
    "adler32": (b"Wikipedia", 0x11E60398),
    "fletcher16": (b"abcde", 0xC8F0),
    "internet": (bytes.fromhex("0001f203f4f5f6f7"), 0x220D),
    "sum8": (b"\xff\x02", 1),
    "sum16": (b"\xff\xff", 510),
    "xor8": (b"\x0f\xf1", 0xFE),
    "crc32": (b"123456789", 0xCBF43926),
    "crc32c": (b"123456789", 0xE3069283),
    "crc16_modbus": (b"123456789", 0x4B37),
    "crc16_xmodem": (b"123456789", 0x31C3),
    "md5": (b"", bytes.fromhex("d41d8cd98f00b204e9800998ecf8427e")),
    "sha1": (b"", bytes.fromhex("da39a3ee5e6b4b0d3255bfef95601890afd80709")),
    "sha256": (b"abc", bytes.fromhex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")),
}


@pytest.mark.parametrize("name", SUMS)
def test_checksums_have_their_published_values(name):
    data, value = SUMS[name]
    assert getattr(checksums, name)(data) == value


def test_sha512_has_the_length_of_its_name():
    assert len(checksums.sha512(b"")) == 64 and checksums.sha512(b"")[:4] == bytes.fromhex("cf83e135")


def test_functions_need_names_and_versions():
    with pytest.raises(ValueError, match="name it"):
        checksums.checksum("", 1)
    with pytest.raises(ValueError, match="name it"):
        checksums.checksum("a", 0)
    with pytest.raises(ValueError, match="no CRC is named 'crc'"):
        crc("crc")


def test_derived_is_for_checksums_too():
    class Sent(Record, layout=Struct(X, "c" / Checksum(Int8ub, xor8, this.x.data))):
        x: Body
        c: int = derived()

    assert Sent(x=Body(a=7, xs=())).c == 7

"""What `suggest` writes for a schema runs as it is, and its records read and build the schema's bytes."""

import enum
import sys
from types import ModuleType

import construct
import pytest
from construct import (
    Array,
    BitsInteger,
    BitStruct,
    Byte,
    Bytes,
    Check,
    Const,
    CString,
    Default,
    Enum,
    Flag,
    FlagsEnum,
    Float32l,
    FocusedSeq,
    GreedyBytes,
    GreedyRange,
    If,
    Int8sb,
    Int8ub,
    Int16sl,
    Int16ub,
    Int32ul,
    LazyBound,
    Mapping,
    Nibble,
    Octet,
    Padding,
    PascalString,
    Prefixed,
    PrefixedArray,
    Rebuild,
    Struct,
    Switch,
    VarInt,
    len_,
    this,
)

from wirelock import Record, SchemaError, layout_of
from wirelock.layout.explain import explain
from wirelock.layout.walk import walk
from wirelock.schema.suggest import suggest

POINT = Struct("x" / Int16sl, "y" / Int16sl)


class Weapon(enum.IntEnum):
    SWORD = 1
    BOW = 2


SCHEMAS = {
    "a compiled Struct": (Struct("a" / Byte, "p" / POINT).compile(), "0102000300"),
    "a field named as its class would be": (Struct("Kind" / Enum(Byte, A=1), "k" / Enum(Byte, B=2)), "0102"),
    "a default of a field named as its class": (Struct("Kind" / Default(Enum(Byte, A=1), "A")), "01"),
    "a Switch over bytes": (
        Struct("k" / Bytes(2), "v" / Switch(this.k, {b"PT": POINT, b"NO": Byte}, default=Struct("x" / Byte))),
        "5054 0100 0200",
    ),
    "a FocusedSeq": (
        Struct(
            "v" / FocusedSeq("x", Const(b"A"), "x" / Byte),
            "p" / Array(2, FocusedSeq("x", "x" / POINT, Padding(1))),
        ),
        "41 01  0100 0200 00  0300 0400 00",
    ),
    "a LazyBound": (Struct("a" / Byte, "p" / LazyBound(lambda: POINT)), "0102000300"),
    "integers": (Struct("a" / Byte, "b" / Int16ub * "How many."), "010203"),
    "a header of bits": (
        BitStruct("version" / BitsInteger(4), "urgent" / Flag, Padding(3), "length" / BitsInteger(16)),
        "480102",
    ),
    "bits inside of bytes": (
        Struct("magic" / Const(b"AC"), "flags" / BitStruct("version" / Nibble, "kind" / Nibble), "n" / Byte),
        "41431203",
    ),
    "records of bits inside of bits": (
        BitStruct("head" / Struct("a" / Nibble, "b" / Nibble), "tail" / Array(2, Struct("c" / Octet))),
        "120304",
    ),
    "an array by its prefix": (
        Struct("entries" / PrefixedArray(Int8ub, Struct("id" / Int32ul, "v" / Float32l))),
        "01010000000000803f",
    ),
    "an array by a count": (Struct("count" / Byte, "points" / POINT[this.count]), "020100020003000400"),
    "a record in the module": (Struct("start" / POINT, "end" / POINT), "0100020003000400"),
    "a choice by an enumeration": (
        Struct(
            "kind" / Enum(Byte, move=1, shoot=2, wait=3),
            "body"
            / Switch(
                this.kind,
                {"move": Struct("dx" / Int8sb), "shoot": Struct("dx" / Int8sb), "wait": construct.Pass},
            ),
        ),
        "02ff",
    ),
    "a choice of scalars": (
        Struct("kind" / Byte, "v" / Switch(this.kind, {1: Int16ub, 2: Bytes(2)}, default=GreedyBytes)),
        "010203",
    ),
    "flags": (Struct("flags" / FlagsEnum(Byte, hidden=1, dead=2)), "03"),
    "members that are no names": (Struct("kind" / Enum(Byte, **{"not-set": 0, "class": 1})), "01"),
    "members that Python keeps": (Struct("kind" / Enum(Byte, mro=0, a=1)), "01"),
    "an enumeration of the module": (Struct("weapons" / Enum(Byte, Weapon)[2]), "0102"),
    "text": (Struct("name" / PascalString(Int16ub, "utf8"), "title" / CString("ascii")), "00026869616200"),
    "tags and values": (
        Struct("rest" / GreedyRange(Struct("tag" / Byte, "v" / Prefixed(Byte, GreedyBytes)))),
        "01020304",
    ),
    "a field that may be absent": (
        Struct("more" / Flag, "extra" / If(this.more, Struct("a" / VarInt)), "end" / If(this.more, Byte)),
        "01ac0207",
    ),
    "nested deep": (
        Struct(
            "a" / Struct("b" / Struct("cs" / Array(2, Struct("d" / Byte))), "name" / Byte),
            "b" / Struct("d" / Byte),
        ),
        "01020304",
    ),
    "a record that looks around": (
        Struct("n" / Byte, "inner" / Struct("data" / Bytes(this._.n), "more" / If(this._.n > 1, Byte))),
        "02616205",
    ),
    "what follows from others": (
        Struct("size" / Rebuild(Byte, len_(this.data)), "data" / Bytes(this.size), Check(this.size < 9)),
        "026162",
    ),
    "a record that may be left off": (
        Struct("a" / Byte, "more" / construct.Optional(Struct("b" / Byte, "c" / Byte))),
        "010203",
    ),
    "keys": (Struct("on" / Mapping(Byte, {"no": 0, "yes": 1}), "d" / Default(Enum(Byte, a=1), "a")), "0101"),
    "hidden fields": (Struct("_version" / Const(1, Byte), "_reserved" / Padding(1), "int" / Byte), "010002"),
    "no fields": (Struct("_version" / Const(1, Byte)), "01"),
}  # fmt: skip


@pytest.fixture
def module():
    made = ModuleType("acme_schemas")
    made.POINT, made.Weapon = POINT, Weapon
    sys.modules["acme_schemas"] = made
    yield made
    del sys.modules["acme_schemas"]


def suggested(module, schema, name="MESSAGE"):
    setattr(module, name, schema)
    return suggest(walk(schema), schema, module, name)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_suggestion_runs_and_reads_the_bytes_of_the_schema(module, name):
    schema, data = SCHEMAS[name]
    text, obstacles = suggested(module, schema)
    assert not obstacles
    space = {"__name__": "pasted"}
    exec(text, space)
    record = space["Message"]
    assert issubclass(record, Record)
    assert record.layout is schema
    read = record.parse(bytes.fromhex(data))
    assert read.build() == bytes.fromhex(data)
    assert record.parse(bytes.fromhex(data), engine="reference") == read
    assert [item.label for item in layout_of(record).fields] == [item.label for item in walk(schema).fields]


def test_what_is_written(module):
    schema = Struct(
        "magic" / Const(b"AC"),
        "flags" / FlagsEnum(Byte, hidden=1, dead=2) * 'What it "is".',
        "count" / Byte,
        "points" / POINT[this.count] * "Where it was.",
        "parts" / PrefixedArray(Byte, Struct("id" / Byte, "weapon" / Enum(Byte, Weapon))),
        "kind" / Enum(Byte, move=1, shoot=2),
        "body" / Switch(this.kind, {"move": Int8sb, "shoot": Struct("to" / Byte)}),
    )
    text, obstacles = suggested(module, schema)
    assert not obstacles
    assert (
        text
        == """\
from enum import IntEnum, IntFlag

from wirelock import Record, derived

from acme_schemas import MESSAGE, POINT, Weapon


class Flags(IntFlag):
    hidden = 0x1
    dead = 0x2


class Point(Record, layout=POINT):
    x: int
    y: int


class Part(Record, layout=MESSAGE.parts.items.subcon.subcon):
    id: int
    weapon: Weapon


class Kind(IntEnum):
    move = 1
    shoot = 2


class BodyShoot(Record, layout=MESSAGE.body.cases["shoot"]):
    to: int


class Message(Record, layout=MESSAGE):
    magic: bytes = derived()
    flags: Flags
    'What it "is".'
    count: int = derived()
    points: tuple[Point, ...]
    \"\"\"Where it was.\"\"\"
    parts: tuple[Part, ...]
    kind: Kind
    body: int | BodyShoot
"""
    )


def test_a_dotted_name_and_a_name_that_is_taken(module):
    class Holder:
        Message = Struct("a" / Byte)

    module.Holder = Holder
    text, obstacles = suggest(walk(Holder.Message), Holder.Message, module, "Holder.Message")
    assert not obstacles
    assert "from acme_schemas import Holder\n" in text
    assert "class Message(Record, layout=Holder.Message):" in text
    text, _ = suggested(module, Struct("a" / Byte), "Message")
    assert "class MessageRecord(Record, layout=Message):" in text


def test_names_of_a_record_are_obstacles_at_every_depth(module):
    schema = Struct("copy" / Byte, "items" / Array(2, Struct("json" / Byte)), "layout" / Byte, "fine" / Byte)
    text, obstacles = suggested(module, schema)
    assert text == ""
    assert [(error.path, error.remedy) for error in obstacles] == [
        ("copy", "rename it, as copy_"),
        ("items.[].json", "rename it, as json_"),
        ("layout", "rename it, as layout_"),
    ]


def test_a_struct_that_begins_inside_of_a_byte_is_an_obstacle(module):
    text, (obstacle,) = suggested(module, BitStruct("a" / Nibble, "b" / Struct("c" / BitsInteger(12))))
    assert (text, obstacle.path) == ("", "b")
    assert obstacle.remedy.startswith("let it begin and end with a byte")


OBSTACLES = {
    "kinds": (
        Struct("a" / construct.Pointer(3, Byte), "b" / construct.Int16un, "c" / construct.Peek(Byte)),
        ["a", "b", "c"],
    ),
    "names": (Struct("n" / Byte, "n" / Byte, "class" / Byte, Int8ub), ["n", "class", "integer#3"]),
    "an expression may use what is not known": (
        Struct(
            "n" / construct.Int16un,
            "header" / Struct("size" / construct.Int16un),
            "xs" / Array(this.n, Byte),
            "data" / Bytes(this.header.size + 1),
            "c" / If(lambda ctx: ctx.n > 3, Byte),
            "s" / Switch(this.n, {"a": Byte, "b": Int16ub}),
            "r" / Rebuild(Byte, this.n & 0xFF),
        ),
        ["n", "header.size"],
    ),
    "what is around an obstacle follows from it": (
        Struct(
            "e" / Enum(construct.Int16un, a=1),
            "p" / Prefixed(construct.Int16un, GreedyBytes),
            "bits" / BitStruct("x" / Nibble, "y" / construct.Peek(Nibble)),
            "xs" / GreedyRange(construct.Union(0, "a" / Byte)),
        ),
        ["e", "p", "bits.y", "xs.[]"],
    ),
    "inside of arrays and cases": (
        Struct(
            "k" / Byte,
            "xs" / Array(this.nope, Struct("a" / construct.Int16un, "b" / construct.Int16un)),
            "s"
            / Switch(
                this.k,
                {
                    1: Struct("u" / construct.Union(0, "a" / Byte)),
                    "x": Byte,
                    2: construct.Select(Byte, Int16ub),
                },
                default=construct.Tell,
            ),
            "t" / construct.IfThenElse(this.k, construct.Int16un, construct.Tell),
            "u" / Switch(this.nope, {1: construct.Int16un}, default=construct.Error),
        ),
        [
            *("xs", "xs.[].a", "xs.[].b", "s.<1>.u", "s", "s.<2>.<0>"),
            *("s.<default>", "t.<else>", "t.<then>", "u", "u.<1>"),
        ],
    ),
    "order": (
        Struct(
            "a" / construct.Optional(Byte),
            "b" / Byte,
            "g" / GreedyBytes,
            "c" / Byte,
            Check(this.nope == 1),
            "d" / Default(Byte, this.b),
            "_r" / Rebuild(Byte, this.nope),
        ),
        ["b", "c", "#4", "d", "_r"],
    ),
    "no struct": (Array(2, Struct("a" / construct.Int16un)), ["[].a", ""]),
    "one thing": (construct.Union(0, "a" / Byte), [""]),
    "no construct": (3, [""]),
}  # fmt: skip


@pytest.mark.parametrize("name", OBSTACLES)
def test_every_obstacle_is_found_at_once(name):
    schema, paths = OBSTACLES[name]
    _, obstacles = explain(schema)
    assert list(dict.fromkeys(error.path for error in obstacles)) == list(dict.fromkeys(paths))
    assert all(error.problem for error in obstacles)
    with pytest.raises(SchemaError):
        walk(schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_has_no_obstacles_is_what_walk_reads(name):
    schema, _ = SCHEMAS[name]
    assert explain(schema) == (walk(schema), [])


def test_constructs_that_are_renamed_without_end_are_told():
    deep = Byte
    for _ in range(1500):
        deep = "a" / deep
    module = ModuleType("deep")
    module.SCHEMA = Struct("x" / deep)
    layout, obstacles = explain(module.SCHEMA)
    assert not obstacles
    text, obstacles = suggest(layout, module.SCHEMA, module, "SCHEMA")
    assert text == "" and "nested too deeply" in obstacles[0].problem

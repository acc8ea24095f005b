"""Each kind of edit, and the lines that say what it did."""

import re
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Literal

import construct as cs
import pytest
from annotated_types import Ge, Le, Lt, MaxLen, MultipleOf
from construct import (
    Array,
    BitsInteger,
    BitStruct,
    Byte,
    Const,
    Flag,
    Float32b,
    Float32l,
    Float64l,
    If,
    Int8sl,
    Int8ul,
    Int16sl,
    Int16ub,
    Int16ul,
    Int32ul,
    Padding,
    PrefixedArray,
    Rebuild,
    Struct,
    Switch,
    len_,
    this,
)

from wirelock import Record, Rule, layout_of
from wirelock.layout import nodes
from wirelock.layout.canonical import digest
from wirelock.layout.nodes import Bytes, Field, Float, Integer, Layout, Limited, Position
from wirelock.layout.terms import Limit, Number, Operation
from wirelock.layout.walk import walk
from wirelock.lock.diff import Difference, differences


def lines(was, now, *tags):
    found = [str(difference) for difference in differences(was, now, *tags)]
    assert bool(found) == (digest(was, *tags[:1]) != digest(now, *tags[1:]))
    return found


PLAIN = Struct("a" / Int16sl, "b" / Int16sl, "c" / Byte)
INNER = Struct("x" / Int16ul, "y" / Int16ul)
FIXED_BITS = BitStruct("flags" / BitsInteger(6), "index" / BitsInteger(2))
KIND = cs.Enum(Byte, RED=1, BLUE=3)
CHOICE = Struct("k" / Byte, "body" / Switch(this.k, {1: Int8ul, 2: INNER}))
INNER_OTHERWISE = Struct("x" / Int16ub, "y" / Int16ul)
COUNTED = Struct("n" / Byte, "m" / Byte, "xs" / Array(this.n, Byte))

WIRE = {
    "fields swapped": (
        PLAIN,
        Struct("b" / Int16sl, "a" / Int16sl, "c" / Byte),
        ["a: position: was byte 0, now byte 2", "b: position: was byte 2, now byte 0"],
    ),
    "byte order": (
        PLAIN,
        Struct("a" / Int16sl, "b" / cs.Int16sb, "c" / Byte),
        ["b: byte order: was little, now big"],
    ),
    "width": (
        PLAIN,
        Struct("a" / Int16sl, "b" / cs.Int32sl, "c" / Byte),
        ["b: width: was 16 bits, now 32 bits", "c: position: was byte 4, now byte 6"],
    ),
    "width, out of one byte": (
        Struct("a" / Byte),
        Struct("a" / Int16ul),
        ["a: width: was uint8, now uint16 little-endian"],
    ),
    "sign": (PLAIN, Struct("a" / Int16ul, "b" / Int16sl, "c" / Byte), ["a: sign: was signed, now unsigned"]),
    "sign of a byte": (Struct("a" / Int8ul), Struct("a" / Int8sl), ["a: sign: was unsigned, now signed"]),
    "bit order": (
        FIXED_BITS,
        BitStruct("index" / BitsInteger(2), "flags" / BitsInteger(6)),
        [
            "flags: bit order: was byte 0 bits 7..2, now byte 0 bits 5..0",
            "index: bit order: was byte 0 bits 1..0, now byte 0 bits 7..6",
        ],
    ),
    "bits moved within their byte": (
        BitStruct("a" / BitsInteger(3), "b" / BitsInteger(1), "c" / BitsInteger(4)),
        BitStruct("b" / BitsInteger(1), "a" / BitsInteger(3), "c" / BitsInteger(4)),
        [
            "a: position: was byte 0 bits 7..5, now byte 0 bits 6..4",
            "b: position: was byte 0 bit 4, now byte 0 bit 7",
        ],
    ),
    "bit width": (
        FIXED_BITS,
        BitStruct("flags" / BitsInteger(5), "index" / BitsInteger(3)),
        [
            "flags: position: was byte 0 bits 7..2, now byte 0 bits 7..3",
            "flags: width: was 6 bits, now 5 bits",
            "index: position: was byte 0 bits 1..0, now byte 0 bits 2..0",
            "index: width: was 2 bits, now 3 bits",
        ],
    ),
    "integer to float": (
        Struct("a" / Int32ul),
        Struct("a" / Float32l),
        ["a: type: was uint32 little-endian, now float32 little-endian"],
    ),
    "float byte order": (
        Struct("a" / Float32l),
        Struct("a" / Float32b),
        ["a: byte order: was little, now big"],
    ),
    "float width": (
        Struct("a" / Float32l),
        Struct("a" / Float64l),
        ["a: width: was 32 bits, now 64 bits"],
    ),
    "flag width": (
        BitStruct("a" / Flag, "b" / BitsInteger(7)),
        Struct("a" / Flag),
        [
            "a: position: was byte 0 bit 7, now byte 0",
            "a: width: was 1 bit, now 8 bits",
            "b: field: was uint7 at byte 0 bits 6..0, now absent",
        ],
    ),
    "constant": (
        Struct("magic" / Const(b"WS"), "v" / Const(1, Byte)),
        Struct("magic" / Const(b"WT"), "v" / Const(2, Byte)),
        ["magic: constant: was 57 53, now 57 54", "v: constant: was 1, now 2"],
    ),
    "constant no more": (
        Struct("v" / Const(1, Byte)),
        Struct("v" / Byte),
        ["v: constant: was 1, now any"],
    ),
    "constant of another type": (
        Struct("v" / Const(1, Byte)),
        Struct("v" / Const(1, Int16ul)),
        ["v: width: was uint8, now uint16 little-endian"],
    ),
    "constant of bytes": (
        Struct("v" / Const(1, Byte)),
        Struct("v" / Const(b"\1")),
        ["v: constant: was 1, now 01", "v: type: was uint8, now 1 bytes"],
    ),
    "enum member": (
        Struct("kind" / KIND),
        Struct("kind" / cs.Enum(Byte, RED=1, BLUE=2)),
        ["kind: member: was BLUE = 3, now BLUE = 2"],
    ),
    "enum member renamed": (
        Struct("kind" / KIND),
        Struct("kind" / cs.Enum(Byte, RED=1, NAVY=3)),
        ["kind: member: was BLUE = 3, now NAVY = 3"],
    ),
    "enum member added and removed": (
        Struct("kind" / KIND),
        Struct("kind" / cs.Enum(Byte, RED=1, GREEN=2)),
        ["kind: member: was BLUE = 3, now absent", "kind: member: was absent, now GREEN = 2"],
    ),
    "enum members in another order": (
        Struct("kind" / KIND),
        Struct("kind" / cs.Enum(Byte, BLUE=3, RED=1)),
        [],
    ),
    "enum to number": (
        Struct("kind" / KIND),
        Struct("kind" / Byte),
        ["kind: type: was uint8, one of RED 1, BLUE 3, now uint8"],
    ),
    "flag member": (
        Struct("bits" / cs.FlagsEnum(Byte, UP=1, DOWN=2)),
        Struct("bits" / cs.FlagsEnum(Byte, UP=1, DOWN=4)),
        ["bits: member: was DOWN = 2, now DOWN = 4"],
    ),
    "field removed at the tail": (
        PLAIN,
        Struct("a" / Int16sl, "b" / Int16sl),
        ["c: field: was uint8 at byte 4, now absent"],
    ),
    "field removed at the head": (
        PLAIN,
        Struct("b" / Int16sl, "c" / Byte),
        [
            "a: field: was int16 little-endian at byte 0, now absent",
            "b: position: was byte 2, now byte 0",
            "c: position: was byte 4, now byte 2",
        ],
    ),
    "field added": (
        PLAIN,
        Struct("a" / Int16sl, "b" / Int16sl, "c" / Byte, "d" / Byte),
        ["d: field: was absent, now uint8 at byte 5"],
    ),
    "field renamed": (
        PLAIN,
        Struct("a" / Int16sl, "bee" / Int16sl, "c" / Byte),
        ["b: name: was b, now bee"],
    ),
    "field named": (
        Struct("a" / Byte, Padding(1), "b" / Byte),
        Struct("a" / Byte, "_gap" / Padding(1), "b" / Byte),
        ["padding#1: name: was absent, now _gap"],
    ),
    "field renamed and read": (
        Struct("n" / Byte, "xs" / Array(this.n, Byte)),
        Struct("count" / Byte, "xs" / Array(this.count, Byte)),
        ["n: name: was n, now count", "xs: count: was n, now count"],
    ),
    "padding length": (
        Struct("a" / Byte, Padding(2), "b" / Byte),
        Struct("a" / Byte, Padding(3), "b" / Byte),
        ["padding#1: length: was 2, now 3", "b: position: was byte 3, now byte 4"],
    ),
    "padding pattern": (
        Struct("a" / Byte, Padding(2)),
        Struct("a" / Byte, Padding(2, pattern=b"\xa5")),
        ["padding#1: pattern: was 0x0, now 0xa5"],
    ),
    "padding behind a new field": (
        Struct("a" / Byte, Padding(2)),
        Struct("a" / Byte, "b" / Byte, Padding(2)),
        ["padding#1: position: was byte 1, now byte 2", "b: field: was absent, now uint8 at byte 1"],
    ),
    "padding of bits": (
        BitStruct("a" / BitsInteger(8), "p" / Padding(8)),
        Struct("a" / Byte, "p" / Padding(1)),
        ["p: length: was 8, now 1", "p: unit: was bit, now byte"],
    ),
    "length of bytes": (
        Struct("d" / cs.Bytes(2)),
        Struct("d" / cs.Bytes(3)),
        ["d: length: was 2, now 3"],
    ),
    "length read from elsewhere": (
        Struct("n" / Byte, "m" / Byte, "d" / cs.Bytes(this.n)),
        Struct("n" / Byte, "m" / Byte, "d" / cs.Bytes(this.m)),
        [
            "n: derived: was len(d), now absent",
            "m: derived: was absent, now len(d)",
            "d: length: was n, now m",
        ],
    ),
    "count read from elsewhere": (
        COUNTED,
        Struct("n" / Byte, "m" / Byte, "xs" / Array(this.m, Byte)),
        [
            "n: derived: was len(xs), now absent",
            "m: derived: was absent, now len(xs)",
            "xs: count: was n, now m",
        ],
    ),
    "count fixed": (
        COUNTED,
        Struct("n" / Byte, "m" / Byte, "xs" / Array(4, Byte)),
        ["n: derived: was len(xs), now absent", "xs: count: was n, now 4"],
    ),
    "count prefix": (
        Struct("xs" / PrefixedArray(Byte, Byte)),
        Struct("xs" / PrefixedArray(Int16ul, Byte)),
        ["xs: count: was uint8 in front, now uint16 little-endian in front"],
    ),
    "element": (
        COUNTED,
        Struct("n" / Byte, "m" / Byte, "xs" / Array(this.n, Int8sl)),
        ["xs[]: sign: was unsigned, now signed"],
    ),
    "what follows a field of no fixed size": (
        Struct("n" / Byte, "xs" / Array(this.n, Byte), "z" / Byte),
        Struct("n" / Byte, "xs" / Array(4, Byte), "z" / Byte),
        [
            "n: derived: was len(xs), now absent",
            "xs: count: was n, now 4",
            "z: position: was after xs, byte 0, now byte 5",
        ],
    ),
    "nested record's field": (
        Struct("n" / Byte, "items" / Array(this.n, Struct("id" / Byte, "at" / INNER))),
        Struct("n" / Byte, "items" / Array(this.n, Struct("id" / Byte, "at" / INNER_OTHERWISE))),
        ["items[].at.x: byte order: was little, now big"],
    ),
    "switch case": (
        CHOICE,
        Struct("k" / Byte, "body" / Switch(this.k, {1: Int8sl, 2: Struct("x" / Int16ul, "y" / Int16ub)})),
        ["body{1}: sign: was unsigned, now signed", "body{2}.y: byte order: was little, now big"],
    ),
    "switch case removed, default added": (
        CHOICE,
        Struct("k" / Byte, "body" / Switch(this.k, {1: Int8ul}, Int16ul)),
        [
            "body{2}: case: was record, now absent",
            "body{default}: case: was absent, now uint16 little-endian",
        ],
    ),
    "switch case under another key": (
        CHOICE,
        Struct("k" / Byte, "body" / Switch(this.k, {1: Int8ul, 3: INNER})),
        ["body{2}: case: was record, now absent", "body{3}: case: was absent, now record"],
    ),
    "switch key": (
        CHOICE,
        Struct("k" / Byte, "body" / Switch(this.k + 1, {1: Int8ul, 2: INNER})),
        ["body: key: was k, now k + 1"],
    ),
    "condition": (
        Struct("k" / Byte, "a" / If(this.k > 1, Byte)),
        Struct("k" / Byte, "a" / If(this.k > 2, Byte)),
        ["a: condition: was k > 1, now k > 2"],
    ),
    "condition and type": (
        Struct("k" / Byte, "a" / If(this.k > 1, Int8ul)),
        Struct("k" / Byte, "a" / Int8sl),
        ["a: condition: was k > 1, now always there", "a: sign: was unsigned, now signed"],
    ),
    "derived": (
        Struct("n" / Rebuild(Byte, len_(this.xs)), "xs" / Array(4, Byte)),
        Struct("n" / Rebuild(Byte, len_(this.xs) * 2), "xs" / Array(4, Byte)),
        ["n: derived: was len(xs), now len(xs) * 2"],
    ),
    "derived no more": (
        Struct("n" / Rebuild(Byte, len_(this.xs)), "xs" / Array(4, Byte)),
        Struct("n" / Byte, "xs" / Array(4, Byte)),
        ["n: derived: was len(xs), now absent"],
    ),
    "fields of no size swapped": (
        Struct("p" / Padding(0), "q" / cs.Bytes(0)),
        Struct("q" / cs.Bytes(0), "p" / Padding(0)),
        ["order of fields: was (p, q), now (q, p)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WIRE)
def test_an_edit_of_the_wire(name):
    was, now, expected = WIRE[name]
    assert lines(walk(was), walk(now)) == expected


@pytest.mark.parametrize("name", WIRE)
def test_no_edit_is_no_difference(name):
    was, now, _ = WIRE[name]
    assert lines(walk(was), walk(was)) == lines(walk(now), walk(now)) == []


# -- what a record adds


def record(name="Probe", base=(), rules=(), **fields):
    """Make a Record of bytes, its annotations given by name."""
    layout = Struct(*(label / part for label, part in base))
    return layout_of(type(name, (Record,), {"__annotations__": fields}, layout=layout, rules=rules))


A = (("a", Byte),)
LIST = (("n", Byte), ("xs", Array(this.n, Byte)))
AB = (("a", Byte), ("b", Int16sl))


class Colour(IntEnum):
    RED = 1
    BLUE = 3


class Tint(IntEnum):
    RED = 1
    BLUE = 3


LOWERED = {
    "limit loosened": (
        record(base=A, a=Annotated[int, Le(3)]),
        record(base=A, a=Annotated[int, Le(7)]),
        ["a: limit: was <= 3, now <= 7"],
    ),
    "limit tightened": (
        record(base=A, a=Annotated[int, Ge(1), Le(9)]),
        record(base=A, a=Annotated[int, Ge(2), Le(9)]),
        ["a: limit: was >= 1, now >= 2"],
    ),
    "limit gone": (
        record(base=A, a=Annotated[int, Le(3)]),
        record(base=A, a=int),
        ["a: limit: was <= 3, now absent"],
    ),
    "limit added": (
        record(base=A, a=int),
        record(base=A, a=Annotated[int, MultipleOf(4)]),
        ["a: limit: was absent, now multiple of 4"],
    ),
    "limit written otherwise": (
        record(base=A, a=Annotated[int, Le(3)]),
        record(base=A, a=Annotated[int, Lt(4)]),
        [],
    ),
    "literal": (
        record(base=A, a=Literal[1, 2]),
        record(base=A, a=Literal[1, 2, 3]),
        ["a: limit: was one of (1, 2), now one of (1, 2, 3)"],
    ),
    "length of an array": (
        record(base=LIST, n=int, xs=Annotated[tuple[int, ...], MaxLen(4)]),
        record(base=LIST, n=int, xs=Annotated[tuple[int, ...], MaxLen(5)]),
        ["xs: limit: was length <= 4, now length <= 5"],
    ),
    "limit of an element": (
        record(base=(("xs", Array(2, Byte)),), xs=tuple[Annotated[int, Le(3)], ...]),
        record(base=(("xs", Array(2, Byte)),), xs=tuple[int, ...]),
        ["xs[]: limit: was <= 3, now absent"],
    ),
    "limit of what may be absent": (
        record(base=(("k", Byte), ("a", If(this.k, Byte))), k=int, a=Annotated[int, Le(3)] | None),
        record(base=(("k", Byte), ("a", Byte)), k=int, a=Annotated[int, Le(3)]),
        ["a: condition: was k, now always there"],
    ),
    "another enumeration with the same members": (
        record(base=A, a=Colour),
        record(base=A, a=Tint),
        [],
    ),
    "another class name": (record("One", base=A, a=int), record("Two", base=A, a=int), []),
    "rule loosened": (
        record(base=AB, rules=[Rule("ordered", (this.a * 2 < this.b + 1) & (this.a != 3))], a=int, b=int),
        record(base=AB, rules=[Rule("ordered", (this.a * 2 <= this.b + 1) & (this.a != 3))], a=int, b=int),
        ["rule ordered: was (a * 2 < b + 1) & ..., now (a * 2 <= b + 1) & ..."],
    ),
    "rule's number": (
        record(base=AB, rules=[Rule("near", this.a + this.b * 3 < 100)], a=int, b=int),
        record(base=AB, rules=[Rule("near", this.a + this.b * 3 < 101)], a=int, b=int),
        ["rule near: was ... < 100, now ... < 101"],
    ),
    "rule gone": (
        record(base=A, rules=[Rule("some", this.a != 0)], a=int),
        record(base=A, a=int),
        ["rule some: was a != 0, now absent"],
    ),
    "rule renamed": (
        record(base=A, rules=[Rule("some", this.a != 0)], a=int),
        record(base=A, rules=[Rule("any", this.a != 0)], a=int),
        ["rule some: was a != 0, now absent", "rule any: was absent, now a != 0"],
    ),
    "rule's message": (
        record(base=A, rules=[Rule("some", this.a != 0, "not none")], a=int),
        record(base=A, rules=[Rule("some", this.a != 0, "one at least")], a=int),
        [],
    ),
    "rules in another order": (
        record(base=A, rules=[Rule("x", this.a != 0), Rule("y", this.a != 1)], a=int),
        record(base=A, rules=[Rule("y", this.a != 1), Rule("x", this.a != 0)], a=int),
        ["order of rules: was (x, y), now (y, x)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOWERED)
def test_an_edit_of_the_record(name):
    was, now, expected = LOWERED[name]
    assert lines(was, now) == expected


def test_a_rule_of_a_nested_record():
    def outer(limit):
        class Inner(Record, layout=Struct("a" / Byte), rules=[Rule("small", this.a < limit)]):
            a: int

        class Outer(Record, layout=Struct("n" / Byte, "items" / Array(this.n, Inner.layout))):
            n: int
            items: tuple[Inner, ...]

        return layout_of(Outer)

    assert lines(outer(3), outer(4)) == ["items[]: rule small: was a < 3, now a < 4"]


def test_validators():
    was = walk(Struct("a" / Byte))
    assert lines(was, replace(was, validators=("validator check",))) == [
        "validators: was absent, now (validator check)"
    ]


def test_tag():
    layout = walk(Struct("magic" / Const(b"X"), "v" / Const(1, Byte)))
    found = lines(layout, layout, ("magic", "v"), ("magic",))
    assert found == ["tag: was (magic, v), now (magic)"]
    assert lines(layout, layout, ("magic",), ()) == ["tag: was (magic), now absent"]


def only(kind):
    return Layout((Field("a", "a", kind, Position(0)),))


BYTE = Integer(8, False, "big")
FLOAT = Float(32, "big")
NODES = {
    "expressions that read alike": (
        nodes.If(Number(-1), BYTE),
        nodes.If(Operation("neg", (Number(1),)), BYTE),
        ['a: condition: was -1, now ["neg", 1]'],
    ),
    "the sign of a zero": (
        Limited(FLOAT, (Limit("ge", 0.0),)),
        Limited(FLOAT, (Limit("ge", -0.0),)),
        ["a: limit: was >= 0.0, now >= -0.0"],
    ),
    "truth and number": (
        Limited(nodes.Flag(8), (Limit("one_of", (True,)),)),
        Limited(nodes.Flag(8), (Limit("one_of", (1,)),)),
        ["a: limit: was one of (True,), now one of (1,)"],
    ),
    "cases in another order": (
        nodes.Switch(Number(1), ((1, BYTE), (2, FLOAT)), None),
        nodes.Switch(Number(1), ((2, FLOAT), (1, BYTE)), None),
        ["a: order of cases: was (1, 2), now (2, 1)"],
    ),
    "a count as a number and as an expression": (Bytes(3), Bytes(Number(3)), []),
    "limits around a condition": (
        nodes.If(Number(1), Limited(BYTE, (Limit("le", 3),))),
        Limited(BYTE, (Limit("le", 3),)),
        ["a: condition: was 1, now always there"],
    ),
}


@pytest.mark.parametrize("name", NODES)
def test_an_edit_of_the_nodes(name):
    was, now, expected = NODES[name]
    assert lines(only(was), only(now)) == expected


def test_a_difference_is_a_value():
    assert Difference("a", "sign", "x", "y") == Difference("a", "sign", "x", "y")
    assert str(Difference("", "tag", "x", "y")) == "tag: was x, now y"


def test_the_page_lists_every_aspect():
    pairs = [(walk(was), walk(now)) for was, now, _ in WIRE.values()]
    pairs += [(was, now) for was, now, _ in LOWERED.values()]
    pairs += [(only(was), only(now)) for was, now, _ in NODES.values()]
    made = {item.aspect for was, now in pairs for item in differences(was, now)}
    made = {"rule NAME" if aspect.startswith("rule ") else aspect for aspect in made}
    made |= {"tag", "validators", "hash", "golden cases", "status", "version", "protocol", "layout", "digest"}
    page = (Path(__file__).parents[2] / "docs/lock.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (.+?) \| .* \|$", page.partition("| what is compared | when |\n|---|---|\n")[2], re.M
    )
    assert {word for row in rows for word in row.split(", ")} == made

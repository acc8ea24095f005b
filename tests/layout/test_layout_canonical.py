"""Canonical JSON and the digest: what they hold, what changes them, what does not."""

import copy
import enum
import hashlib
import json
from typing import Annotated, Literal

import construct
import pytest
from annotated_types import Ge, Le, MaxLen, MultipleOf
from construct import (
    BitsInteger,
    BitStruct,
    Byte,
    Bytewise,
    Flag,
    Int16ub,
    Int16ul,
    Padding,
    Struct,
    len_,
    this,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator

from protocol import PROTOCOLS
from tests.strategies import layouts, lowered
from wirelock import Protocol, Record, Rule, SchemaError, abs_, layout_of
from wirelock.layout.canonical import digest, layout_to_json
from wirelock.layout.from_json import layout_from_json
from wirelock.layout.walk import walk


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


EVERYTHING = Struct(
    "magic" / construct.Const(b"WS"),
    "version" / construct.Const(2, Int16ub),
    "k" / construct.Enum(Byte, Colour),
    "door" / construct.FlagsEnum(Byte, Door),
    "f" / construct.Float32l,
    "flag" / Flag,
    "n" / Byte,
    "xs" / construct.Array(this.n, Struct("v" / Byte, "w" / construct.If(this._.k == "RED", Int16ul))),
    "sw" / construct.Switch(this.n + 1, {1: Byte, 2: construct.Bytes(this.n)}, construct.Float64b),
    "bits" / BitStruct("q" / BitsInteger(3), Padding(2), "z" / Bytewise(Int16ul), "y" / BitsInteger(3)),
    "p" / construct.PrefixedArray(Int16ul, construct.Array(2, construct.Int24sb)),
    Padding(3, pattern=b"\1"),
    construct.Pass,
    "r" / construct.Rebuild(Byte, len_(this.p) + abs_(this.n)),
)

HAND = {
    "everything": walk(EVERYTHING),
    "nothing": walk(Struct()),
    "a bit struct": walk(BitStruct("a" / Flag, "b" / BitsInteger(7, signed=True))),
    "a float compared": walk(Struct("f" / construct.Float64b, "x" / construct.If(this.f < 0.1, Byte))),
    "a uint64 compared": walk(
        Struct("u" / construct.Int64ul, "x" / construct.If(this.u == (1 << 64) - 1, Byte))
    ),
    "a size from the wire": walk(Struct("n" / Byte, Padding(this.n), "d" / construct.Bytes(this.n))),
}
PROTOCOL_LAYOUTS = {
    f"{protocol.name}/v{version}": protocol.layout(version)
    for protocol in PROTOCOLS
    for version in protocol.versions
}
ALL = HAND | PROTOCOL_LAYOUTS


# -- round trip


@pytest.mark.parametrize("name", ALL)
def test_a_layout_comes_back_from_its_json(name):
    layout = ALL[name]
    text = json.dumps(layout_to_json(layout), allow_nan=False)
    again = layout_from_json(json.loads(text))
    assert again == layout
    assert [item.label for item in again.fields] == [item.label for item in layout.fields]
    assert json.dumps(layout_to_json(again), allow_nan=False) == text
    assert digest(again) == digest(layout)


def test_all_that_a_record_adds_comes_back():
    class Full(
        Record,
        layout=Struct(
            "a" / Byte,
            "b" / construct.Bytes(2),
            "flag" / Flag,
            "x" / construct.Float32l,
            "xs" / construct.PrefixedArray(Byte, Byte),
            "k" / construct.Enum(Byte, Colour),
        ),
        rules=(Rule("small", abs_(this.a - 3) * 2 <= 200, "keep a small"), Rule("red", this.k == "RED")),
    ):
        a: Annotated[int, Ge(1), Le(99), MultipleOf(3)]
        b: Literal[b"ab", b"cd"]
        flag: Literal[True]
        x: Annotated[float, Ge(-0.1), Le(0.1)]
        xs: Annotated[tuple[Annotated[int, AfterValidator(lambda value: value)], ...], MaxLen(9)]
        k: Colour

    layout = layout_of(Full)
    assert layout_from_json(json.loads(json.dumps(layout_to_json(layout), allow_nan=False))) == layout


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_layout_comes_back(data):
    layout = data.draw(lowered(walk(data.draw(layouts()))))
    again = layout_from_json(json.loads(json.dumps(layout_to_json(layout), allow_nan=False)))
    assert again == layout
    assert digest(again) == digest(layout)


# -- damaged JSON

JUNK = [
    None, True, False, 0, -1, 7, 8, 1 << 12, 1.5, "", "a", "_", "_._", "._", "a.", "little", "mixed", [], {},
    [1], ["+"], ["+", 1], ["nope", 1], ["len", "_"], ["len"], ["len", 3], {"kind": "integer"}, {"float": "x"},
    {"prefix": 3},
]  # fmt: skip


def spots(node, path=()):
    yield path
    if isinstance(node, dict | list):
        for key, item in list(node.items() if isinstance(node, dict) else enumerate(node)):
            yield from spots(item, (*path, key))


def damaged(node, path, junk):
    node = copy.deepcopy(node)
    if not path:
        return junk
    inner = node
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    return node


SPOTS = [path for path in spots(layout_to_json(HAND["everything"])) if path]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_damaged_json_is_a_schema_error_or_another_layout(junk):
    """Nothing else is raised, wherever the damage is."""
    whole = layout_to_json(HAND["everything"])
    for path in [(), *SPOTS]:
        found = damaged(whole, path, junk)
        if isinstance(junk, dict) and path and path[-1] == "members":
            continue
        try:
            layout_from_json(found)
        except SchemaError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("path", SPOTS, ids=lambda path: ".".join(map(str, path)))
def test_json_without_one_of_its_parts_is_refused(path):
    whole = layout_to_json(HAND["everything"])
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    if isinstance(inner, list) or path[-1] in ("derived", "default"):
        return
    if path[-2:-1] == ("members",) or path in (("kind",), ("fields", 10, "count", "prefix", "kind")):
        return
    del inner[path[-1]]
    with pytest.raises(SchemaError, match="the JSON is no layout"):
        layout_from_json(whole)


REFUSED = {
    "a position that is not the type's": (("fields", 4, "at"), "byte 7", "the JSON puts the field at byte 7"),
    "a width that moves what follows": (("fields", 3, "bits"), 16, "its type at byte 7"),
    "an unknown kind": (("fields", 3, "kind"), "complex", "kind 'complex'"),
    "an unknown operator": (("fields", 8, "key", 0), "**", "expression"),
    "a path to nowhere": (("fields", 8, "key", 1), "_", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_json_that_contradicts_itself_is_refused(name):
    path, junk, problem = REFUSED[name]
    with pytest.raises(SchemaError) as caught:
        layout_from_json(damaged(layout_to_json(HAND["everything"]), path, junk))
    assert problem in str(caught.value)


UNKNOWN = {
    "a key of the layout": lambda whole: whole.update(more=1),
    "a key of a field": lambda whole: whole["fields"][0].update(more=1),
    "a key of a nested field": lambda whole: whole["fields"][7]["of"]["fields"][0].update(more=1),
    "a limit": lambda whole: whole["fields"][6].update(limits={"about": 1}),
    "another kind of top": lambda whole: whole.update(kind="union"),
    "two fields of one name": lambda whole: whole["fields"][1].update(name="magic"),
    "a name that is none": lambda whole: whole["fields"][1].update(name="not a name"),
    "a member beyond the width": lambda whole: whole["fields"][2].update(members=[["RED", 256]]),
    "a constant beyond the width": lambda whole: whole["fields"][1].update(value=1 << 16),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_json_that_says_more_or_other_than_a_layout_can_is_refused(name):
    """What is passed over in silence would be missing from the digest, and from what is compared."""
    whole = layout_to_json(HAND["everything"])
    UNKNOWN[name](whole)
    with pytest.raises(SchemaError):
        layout_from_json(whole)


# -- the digest

SMALL = Struct("n" / Int16ul, "flag" / Flag)
SMALL_TEXT = (
    '{"layout":{"fields":[{"at":"byte 0","bits":16,"kind":"integer","name":"n","order":"little",'
    '"signed":false},{"at":"byte 2","bits":8,"kind":"flag","name":"flag"}],"kind":"record"},"tag":[]}'
)
SMALL_DIGEST = "sha256:9a8f61730f47b4745da2c74c8690c62985b2ef87ca6352fc09c6ea5c2faf7aba"


def test_a_digest_is_the_same_for_ever():
    """If this fails, every lock ever written has become worthless."""
    assert digest(walk(SMALL)) == SMALL_DIGEST
    assert hashlib.sha256(SMALL_TEXT.encode()).hexdigest() == SMALL_DIGEST.removeprefix("sha256:")


CHANGES = {
    "a name": (Struct("a" / Byte), Struct("b" / Byte)),
    "order of fields": (
        Struct("a" / Byte, "b" / construct.Int8sb),
        Struct("b" / construct.Int8sb, "a" / Byte),
    ),
    "one field more": (Struct("a" / Byte), Struct("a" / Byte, "b" / Byte)),
    "width": (Struct("a" / Int16ul), Struct("a" / construct.Int32ul)),
    "sign": (Struct("a" / Byte), Struct("a" / construct.Int8sb)),
    "byte order": (Struct("a" / Int16ul), Struct("a" / Int16ub)),
    "byte order of a float": (Struct("a" / construct.Float32l), Struct("a" / construct.Float32b)),
    "a float in place of an integer": (Struct("a" / construct.Float32l), Struct("a" / construct.Int32ul)),
    "a Flag in place of an integer": (Struct("a" / Flag), Struct("a" / Byte)),
    "bit order": (
        BitStruct("a" / BitsInteger(4), "b" / BitsInteger(4)),
        BitStruct("b" / BitsInteger(4), "a" / BitsInteger(4)),
    ),
    "a border between bits": (
        BitStruct("a" / BitsInteger(4), "b" / BitsInteger(4)),
        BitStruct("a" / BitsInteger(3), "b" / BitsInteger(5)),
    ),
    "a byte in place of eight bits that lie elsewhere": (
        BitStruct("a" / BitsInteger(8), "b" / BitsInteger(8)),
        BitStruct("a" / BitsInteger(4), "b" / BitsInteger(12)),
    ),
    "a length": (Struct("a" / construct.Bytes(2)), Struct("a" / construct.Bytes(3))),
    "a count": (Struct("a" / Byte[2]), Struct("a" / Byte[3])),
    "an array in place of a field": (Struct("a" / Byte), Struct("a" / Byte[1])),
    "a prefix": (
        Struct("a" / construct.PrefixedArray(Byte, Byte)),
        Struct("a" / construct.PrefixedArray(Int16ul, Byte)),
    ),
    "who counts": (
        Struct("n" / Byte, "m" / Byte, "a" / construct.Array(this.n, Byte)),
        Struct("n" / Byte, "m" / Byte, "a" / construct.Array(this.m, Byte)),
    ),
    "a count's expression": (
        Struct("n" / Byte, "a" / construct.Array(this.n + 1, Byte)),
        Struct("n" / Byte, "a" / construct.Array(this.n + 2, Byte)),
    ),
    "a length's unit": (
        Struct("n" / construct.Rebuild(Byte, len_(this.a)), "a" / Int16ul[2]),
        Struct("n" / construct.Rebuild(Byte, len_(this.a) * 2), "a" / Int16ul[2]),
    ),
    "whether a field is derived": (
        Struct("n" / construct.Rebuild(Byte, len_(this.a)), "a" / Byte[2]),
        Struct("n" / Byte, "a" / Byte[2]),
    ),
    "a constant": (Struct("a" / construct.Const(1, Byte)), Struct("a" / construct.Const(2, Byte))),
    "a constant of bytes": (Struct("a" / construct.Const(b"a")), Struct("a" / construct.Const(b"b"))),
    "whether it is constant": (Struct("a" / construct.Const(1, Byte)), Struct("a" / Byte)),
    "whether it has a name": (Struct("a" / construct.Const(1, Byte)), Struct(construct.Const(1, Byte))),
    "a pattern": (Struct(Padding(1)), Struct(Padding(1, pattern=b"\1"))),
    "a member's value": (
        Struct("a" / construct.Enum(Byte, x=1, y=2)),
        Struct("a" / construct.Enum(Byte, x=1, y=3)),
    ),
    "a member's name": (
        Struct("a" / construct.Enum(Byte, x=1, y=2)),
        Struct("a" / construct.Enum(Byte, x=1, z=2)),
    ),
    "one member more": (
        Struct("a" / construct.Enum(Byte, x=1)),
        Struct("a" / construct.Enum(Byte, x=1, y=2)),
    ),
    "a flag's bit": (
        Struct("a" / construct.FlagsEnum(Byte, x=1)),
        Struct("a" / construct.FlagsEnum(Byte, x=2)),
    ),
    "flags in place of members": (
        Struct("a" / construct.FlagsEnum(Byte, x=1)),
        Struct("a" / construct.Enum(Byte, x=1)),
    ),
    "a condition": (
        Struct("a" / Byte, "b" / construct.If(this.a > 1, Byte)),
        Struct("a" / Byte, "b" / construct.If(this.a > 2, Byte)),
    ),
    "a condition's operator": (
        Struct("a" / Byte, "b" / construct.If(this.a > 1, Byte)),
        Struct("a" / Byte, "b" / construct.If(this.a >= 1, Byte)),
    ),
    "a condition's path": (
        Struct("a" / Byte, "s" / Struct("a" / Byte, "b" / construct.If(this.a > 1, Byte))),
        Struct("a" / Byte, "s" / Struct("a" / Byte, "b" / construct.If(this._.a > 1, Byte))),
    ),
    "whether it is optional": (
        Struct("a" / Byte, "b" / construct.If(this.a > 1, Byte)),
        Struct("a" / Byte, "b" / Byte),
    ),
    "a case's key": (
        Struct("a" / Byte, "b" / construct.Switch(this.a, {1: Byte})),
        Struct("a" / Byte, "b" / construct.Switch(this.a, {2: Byte})),
    ),
    "a case's type": (
        Struct("a" / Byte, "b" / construct.Switch(this.a, {1: Byte})),
        Struct("a" / Byte, "b" / construct.Switch(this.a, {1: construct.Int8sb})),
    ),
    "a default": (
        Struct("a" / Byte, "b" / construct.Switch(this.a, {1: Byte})),
        Struct("a" / Byte, "b" / construct.Switch(this.a, {1: Byte}, Byte)),
    ),
    "a float in a condition": (
        Struct("a" / construct.Float32l, "b" / construct.If(this.a > 0.1, Byte)),
        Struct("a" / construct.Float32l, "b" / construct.If(this.a > 0.2, Byte)),
    ),
    "-0.0 in a condition": (
        Struct("a" / construct.Float32l, "b" / construct.If(this.a > 0.0, Byte)),
        Struct("a" / construct.Float32l, "b" / construct.If(this.a > -0.0, Byte)),
    ),
    "a nested record": (Struct("a" / Struct("b" / Byte)), Struct("a" / Struct("b" / construct.Int8sb))),
    "a record's borders": (
        Struct("a" / Struct("b" / Byte), "c" / Byte),
        Struct("a" / Struct("b" / Byte, "c" / Byte)),
    ),
    "something inside an array of cases": (
        Struct("a" / Byte, "b" / construct.Switch(this.a, {1: Struct("c" / Byte[2])})[2]),
        Struct("a" / Byte, "b" / construct.Switch(this.a, {1: Struct("c" / construct.Int8sb[2])})[2]),
    ),
}
# Members may have the names of keys that the digest leaves out.
CHANGES |= {
    f"the value of a member named {name}": tuple(
        Struct("a" / construct.Enum(Byte, enum.IntEnum("Named", {name: value, "x": 9}))) for value in (1, 2)
    )
    for name in ("record", "enumeration", "doc", "kind")
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_the_layout_changes_the_digest(name):
    old, new = CHANGES[name]
    assert digest(walk(old)) != digest(walk(new))


def test_no_two_of_the_layouts_here_share_a_digest():
    layouts_here = {layout for pair in CHANGES.values() for layout in map(walk, pair)}
    assert len({digest(layout) for layout in layouts_here}) == len(layouts_here)


def record(annotation=int, *, rules=(), source=Byte, name="R", doc=""):
    members = {"__annotations__": {"a": annotation}, "__doc__": doc, "__module__": __name__}
    return type(Record)(name, (Record,), members, layout=Struct("a" / source), rules=rules)


def of(*arguments, **options):
    return digest(layout_of(record(*arguments, **options)))


RECORD_CHANGES = {
    "a lower bound": (of(Annotated[int, Ge(1)]), of(Annotated[int, Ge(2)])),
    "an upper bound": (of(Annotated[int, Le(1)]), of(Annotated[int, Le(2)])),
    "lower or upper": (of(Annotated[int, Le(1)]), of(Annotated[int, Ge(1)])),
    "whether it is bounded": (of(), of(Annotated[int, Le(254)])),
    "a step": (of(Annotated[int, MultipleOf(2)]), of(Annotated[int, MultipleOf(3)])),
    "choices": (of(Literal[1, 2]), of(Literal[1, 3])),
    "a bound of a float": (
        of(Annotated[float, Le(0.1)], source=construct.Float32l),
        of(Annotated[float, Le(0.2)], source=construct.Float32l),
    ),
    "choices of bytes": (
        of(Literal[b"a"], source=construct.Bytes(1)),
        of(Literal[b"b"], source=construct.Bytes(1)),
    ),
    "a longest length": (
        of(Annotated[tuple[int, ...], MaxLen(1)], source=construct.PrefixedArray(Byte, Byte)),
        of(Annotated[tuple[int, ...], MaxLen(2)], source=construct.PrefixedArray(Byte, Byte)),
    ),
    "a bound of an element": (
        of(tuple[Annotated[int, Le(1)], ...], source=Byte[2]),
        of(tuple[Annotated[int, Le(2)], ...], source=Byte[2]),
    ),
    "an enumeration in place of an integer": (of(), of(Colour)),
    "an integer in place of an enumeration": (
        of(int, source=construct.Enum(Byte, Colour)),
        of(Colour, source=construct.Enum(Byte, Colour)),
    ),
    "a rule": (of(), of(rules=(Rule("small", this.a < 5),))),
    "a rule's expression": (
        of(rules=(Rule("small", this.a < 5),)),
        of(rules=(Rule("small", this.a < 6),)),
    ),
    "a rule's name": (of(rules=(Rule("small", this.a < 5),)), of(rules=(Rule("little", this.a < 5),))),
    "the order of rules": (
        of(rules=(Rule("small", this.a < 5), Rule("large", this.a > 2))),
        of(rules=(Rule("large", this.a > 2), Rule("small", this.a < 5))),
    ),
    "a validator": (of(), of(Annotated[int, AfterValidator(lambda value: value)])),
}


@pytest.mark.parametrize("name", RECORD_CHANGES)
def test_a_change_of_the_record_changes_the_digest(name):
    old, new = RECORD_CHANGES[name]
    assert old != new


def nested(**options):
    inner = record(name="Inner", **options)
    members = {"__annotations__": {"b": tuple[inner, ...]}, "__module__": __name__}
    outer = type(Record)("Outer", (Record,), members, layout=Struct("b" / inner.layout[2]))
    return digest(layout_of(outer))


NESTED_CHANGES = {
    "its layout": nested(source=construct.Int8sb),
    "its constraint": nested(annotation=Annotated[int, Le(9)]),
    "its enumeration": nested(annotation=Colour),
    "its rule": nested(rules=(Rule("small", this.a < 5),)),
}


@pytest.mark.parametrize("name", NESTED_CHANGES)
def test_a_change_of_a_record_inside_changes_the_digest(name):
    assert NESTED_CHANGES[name] != nested()


def test_the_tag_changes_the_digest():
    class Tagged(Record, layout=Struct("m" / construct.Const(b"T"), "v" / construct.Const(1, Byte))):
        m: bytes
        v: int

    found = {Protocol("p", {1: Tagged}, tag=tag).digest(1) for tag in [(), ("m",), ("m", "v")]}
    assert len(found) == 3
    assert digest(layout_of(Tagged)) in found


def test_whether_a_protocol_repeats_changes_the_digest():
    class Beat(Record, layout=Struct("x" / Byte)):
        x: int

    assert Protocol("p", {1: Beat}, repeats=True).digest(1) != Protocol("p", {1: Beat}).digest(1)


def test_names_of_classes_and_documentation_leave_the_digest_alone():
    Red = enum.IntEnum("Red", {"RED": 1, "BLUE": 2})  # noqa: N806 - a class
    rules = [(Rule("small", this.a < 2, message),) for message in ("", "keep it small")]
    same = {
        of(Colour, rules=rules[0]),
        of(Red, rules=rules[0]),
        of(Colour, rules=rules[0], name="Another"),
        of(Colour, rules=rules[0], doc="What it is."),
        of(Colour, rules=rules[1]),
        of(Colour, rules=rules[0], source=Byte * "a byte"),
    }
    assert len(same) == 1


def test_how_it_is_spelled_leaves_the_digest_alone():
    same = [
        Struct("a" / Byte, "b" / construct.Array(2, Int16ul)),
        Struct("a" / construct.Int8ub, "b" / construct.BytesInteger(2, swapped=True)[2]),
        Struct("a" / construct.Bitwise(construct.Octet), "b" / ("x" / Int16ul)[2]),
    ]
    assert len({digest(walk(source)) for source in same}) == 1


def test_json_that_could_not_be_run_is_refused():
    def changed(**more):
        layout = walk(Struct("n" / Byte, "d" / construct.Bytes(this.n)))
        found = json.loads(json.dumps(layout_to_json(layout)))
        found["fields"][0] |= more.pop("field", {})
        found["fields"][1] |= more.pop("other", {})
        return found | more

    layout_from_json(changed())
    rule = {"name": "r", "doc": ""}
    for found in (
        changed(field={"limits": {"le": None}}),
        changed(field={"limits": {"multiple_of": 0}}),
        changed(field={"limits": {"one_of": []}}),
        changed(other={"limits": {"min_length": -1}}),
        changed(other={"length": "nope"}),
        changed(other={"length": "_.n"}),
        changed(rules=[rule | {"holds": ["==", "nope", 1]}]),
        changed(rules=[rule | {"holds": ["==", ["len", "n.x"], 1]}]),
    ):
        with pytest.raises(SchemaError):
            layout_from_json(found)

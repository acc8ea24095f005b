"""What an exported program declares: names, fields, notes, tags, and what is refused."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any

import construct as c
import pytest
from annotated_types import Ge, Le, MaxLen, MinLen
from construct import this
from pydantic import AfterValidator

from protocol import PROTOCOLS
from tests.strategies import name_layout
from wirelock import Protocol, Record, Registry, Rule, derived
from wirelock.errors import DecodeError, ExportError
from wirelock.export import values as v
from wirelock.export.lower.declare import program, program_of
from wirelock.export.program import Program, TagField, VersionDecl
from wirelock.layout.adapters import opaque, quantised, ticks
from wirelock.layout.walk import walk


def declared(*sources: c.Construct) -> Program:
    named = {f"p{number}": name_layout(walk(source))[0] for number, source in enumerate(sources)}
    return program_of(named, target="c")


def held(source: c.Construct) -> dict[str, v.Type]:
    return {item.name: item.type for item in declared(source).records[-1].fields}


def test_the_protocols_of_this_repository() -> None:
    found = program(PROTOCOLS, target="c")
    names = [record.name for record in found.records]
    assert names == [
        "RotationV1", "RotationV2", "RotationV3", "Position", "EntityV1", "SnapshotV1", "EntityV2",
        "SnapshotV2", "EntityV3", "SnapshotV3",
    ]  # fmt: skip
    records = {record.name: record for record in found.records}
    assert [item.name for item in records["SnapshotV1"].fields] == ["tick", "entities"]
    assert [(item.name, item.value) for item in records["SnapshotV1"].constants] == [
        ("magic", b"WS"),
        ("version", 1),
    ]
    assert records["RotationV1"].fields[0].note.endswith("largest magnitude. Range: 0 to 3.")
    assert [record.name for record in found.records if record.pose] == names[:3]
    assert [records[name].size for name in ("RotationV3", "EntityV1", "SnapshotV1")] == [6, 22, None]
    assert [records[name].allocates for name in ("EntityV1", "SnapshotV1")] == [False, True]
    assert records["SnapshotV1"].depth == 4  # entities[0].rotation.a
    snapshot = found.protocols[1]
    assert [version.tag for version in snapshot.versions] == [b"WS\1", b"WS\2", b"WS\3"]
    assert snapshot.hello == PROTOCOLS["snapshot"].hello().to_json()
    assert snapshot.tag == (
        TagField("magic", 0, 2, None),
        TagField("version", 2, 1, None, is_version=True),
    )


def test_two_classes_of_one_name_are_told_apart() -> None:
    """By their version in one protocol, by their protocol in two; an enumeration as well."""

    def version(number: int, width: Any, members: list[str]) -> type[Record]:
        kind = IntEnum("Mood", members)  # type: ignore[misc]

        class Entity(Record, layout=c.Struct("id" / width, "mood" / c.Enum(c.Int8ub, kind))):
            id: int
            mood: kind  # type: ignore[valid-type]

        class Scene(
            Record,
            layout=c.Struct("version" / c.Const(number, c.Int8ub), "first" / Entity.layout),
        ):
            version: int = derived()
            first: Entity

        return Scene

    scene = Protocol(
        "scene",
        {1: version(1, c.Int8ub, ["CALM"]), 2: version(2, c.Int16ub, ["CALM", "WILD"])},
        tag=("version",),
    )
    other = Protocol("other", {3: version(3, c.Int32ub, ["CALM"])}, tag=("version",))
    found = program(Registry(scene), target="c")
    assert [record.name for record in found.records] == ["EntityV1", "SceneV1", "EntityV2", "SceneV2"]
    assert [item.name for item in found.enumerations] == ["MoodV1", "MoodV2"]
    found = program(Registry(scene, other), target="c")
    assert [record.name for record in found.records][-2:] == ["EntityV3", "SceneV3"]


TYPES = {
    "bits take the smallest integer": (
        c.BitStruct("x" / c.BitsInteger(9, signed=True), "y" / c.BitsInteger(7)),
        {"x": v.IntType(16, True, -256, 255), "y": v.IntType(8, False, 0, 127)},
    ),
    "what follows is not held": (
        c.Struct("n" / c.Int8ub, "m" / c.Const(b"a"), c.Padding(2), "x" / c.Bytes(this.n), "y" / c.Pass),
        {"x": v.BytesType(None)},
    ),
    "a count of another record is": (
        c.Struct("head" / c.Struct("n" / c.Int8ub), "x" / c.Bytes(this.head.n)),
        {"head": v.RecordType("Record0"), "x": v.BytesType(None)},
    ),
    "a choice of integers is an integer": (
        c.Struct("k" / c.Int8ub, "x" / c.Switch(this.k, {1: c.Int8ub, 2: c.Int16sb})),
        {"k": v.IntType(8, False, 0, 255), "x": v.IntType(16, True, -32768, 32767)},
    ),
    "any other choice has cases": (
        c.Struct("k" / c.Int8ub, "x" / c.Switch(this.k, {1: c.Int8ub, 2: c.Bytes(1), 3: c.Pass})),
        {
            "k": v.IntType(8, False, 0, 255),
            "x": v.ChoiceType(
                "Record0X",
                (("case_1", v.IntType(8, False, 0, 255)), ("case_2", v.BytesType(1)), ("case_3", None)),
            ),
        },
    ),
    "an option is not one twice": (
        c.Struct("k" / c.Int8ub, "x" / c.If(this.k > 1, c.If(this.k > 2, c.Int8ub))),
        {"k": v.IntType(8, False, 0, 255), "x": v.OptionType(v.IntType(8, False, 0, 255))},
    ),
    "an optional constant is a bool": (c.Struct("x" / c.Optional(c.Const(b"a"))), {"x": v.BoolType()}),
    "fixed lists keep their size": (
        c.Struct("x" / c.Array(2, c.Array(3, c.Float16b))),
        {"x": v.ListType(v.ListType(v.FloatType(32, True), 3), 2)},
    ),
    "steps are binary64": (
        c.Struct("x" / quantised(c.Int8ub, 0, 1)),
        {"x": v.FloatType(64, False)},
    ),
}


@pytest.mark.parametrize(("source", "wanted"), TYPES.values(), ids=TYPES)
def test_what_a_client_holds(source: c.Construct, wanted: dict[str, v.Type]) -> None:
    assert held(source) == wanted


def test_no_integer_holds_all_values_of_one_enumeration() -> None:
    class Mood(IntEnum):
        CALM = 1

    class Entity(Record, layout=c.Struct("a" / c.Enum(c.Int8sb, Mood), "b" / c.Enum(c.Int64ub, Mood))):
        a: Mood
        b: Mood

    found = program([Protocol("entity", {1: Entity})], target="c").enumerations
    assert [(item.storage.bits, item.storage.signed) for item in found] == [(8, True), (64, False)]
    assert len({item.name for item in found}) == 2


def test_notes_state_range_and_unit() -> None:
    class Told(
        Record,
        layout=c.Struct(
            "tick" / ticks(c.Int16ub, unit="ms", epoch="boot"),
            "name" / c.PascalString(c.Int8ub, "utf8"),
            "levels" / c.Array(2, c.Int8ub),
            "speed" / c.Float32b,
        ),
    ):
        tick: int
        """When it was seen"""
        name: Annotated[str, MinLen(1), MaxLen(8)]
        levels: tuple[Annotated[int, Le(9)], ...]
        speed: Annotated[float, Ge(-1.5)]
        """How fast!"""

    notes = [item.note for item in program([Protocol("told", {1: Told})], target="c").records[0].fields]
    assert notes == [
        "When it was seen. Range: 0 to 65535. Unit: ms since boot.",
        "Length: 1 to 8 characters.",
        "Each: range: 0 to 9.",
        "How fast! Range: -1.5 or more.",
    ]


def even(value: int) -> int:
    return value


class Checked(Record, layout=c.Struct("a" / c.Int8ub)):
    a: Annotated[int, AfterValidator(even)]


REFUSED = {
    "wide": (c.Struct("a" / c.Struct("b" / c.BytesInteger(9))), "p0 v1: a.b: an integer of 72 bits"),
    "wide count": (
        c.Struct("a" / c.PrefixedArray(c.BytesInteger(9), c.Int8ub)),
        "p0 v1: a: an integer of 72 bits",
    ),
    "code": (c.Struct("a" / opaque("zip", 1, c.Bytes(2))), "p0 v1: a: the opaque code zip"),
    "nothing": (
        c.Struct("n" / c.Int8ub, "a" / c.Array(this.n, c.Const(b"x"))),
        "p0 v1: a: an array of what holds nothing",
    ),
    "expression": (
        c.Struct("n" / c.Int32ub, "a" / c.Bytes(this.n << 40)),
        "p0 v1: an expression that can leave 64 bits",
    ),
}


@pytest.mark.parametrize(("source", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_exported_is_named(source: c.Construct, told: str) -> None:
    with pytest.raises(ExportError) as refused:
        declared(source)
    assert str(refused.value).startswith(f"{told} cannot be exported to c; ")


def test_python_validators_are_refused() -> None:
    with pytest.raises(ExportError, match=r"checked v2: .*validator.*write it as a Rule"):
        program([Protocol("checked", {2: Checked})], target="typescript")


def test_a_rule_of_a_checked_record_is_exported() -> None:
    class Ruled(Record, layout=c.Struct("a" / c.Int8ub), rules=(Rule("even", this.a % 2 == 0),)):
        a: int

    assert program([Protocol("ruled", {1: Ruled})], target="c").records[0].layout.rules


def nibbles(number: int) -> type[Record]:
    class Nibbles(
        Record,
        layout=c.BitStruct(
            "magic" / c.Const(5, c.BitsInteger(3)),
            "also" / c.Const(0x155, c.BitsInteger(9)),
            "version" / c.Const(number, c.BitsInteger(4)),
        ),
    ):
        magic: int = derived()
        also: int = derived()
        version: int = derived()

    return Nibbles


def letters(tag: bytes) -> type[Record]:
    class Letters(Record, layout=c.Struct("magic" / c.Const(tag[:2]), "version" / c.Const(tag[2:]))):
        magic: bytes = derived()
        version: bytes = derived()

    return Letters


TAGS = {
    "bytes, then a number": PROTOCOLS["snapshot"],
    "bits": Protocol("bits", {1: nibbles(1), 3: nibbles(3)}, tag=("magic", "also", "version")),
    "bytes alone": Protocol("letters", {1: letters(b"ABx1"), 2: letters(b"ABx2")}, tag=("magic", "version")),
}


def dispatched(tag: tuple[TagField, ...], versions: tuple[VersionDecl, ...], data: bytes) -> Any:
    """Return the version that bytes are, or the fault, by what a program says of a tag alone."""
    for version in versions:
        if data.startswith(version.tag):
            return version.number
    known = versions[0].tag
    for item in tag:
        end = item.byte + item.size
        mask = item.mask or b"\xff" * item.size
        ours, theirs = (
            bytes(a & b for a, b in zip(octets[item.byte : end], mask, strict=False))
            for octets in (known, data)
        )
        if len(data) < end and (item.is_version or known[item.byte : len(data)] == data[item.byte :]):
            return "truncated", item.label, item.byte, item.bit
        if item.is_version:
            return "unknown-version", item.label, item.byte, item.bit
        if ours != theirs:
            return "foreign", item.label, item.byte, item.bit
    raise AssertionError("the tag is known")


@pytest.mark.parametrize("protocol", TAGS.values(), ids=TAGS)
def test_a_tag_is_enough_to_dispatch_by(protocol: Protocol) -> None:
    declared = program([protocol], target="c").protocols[0]
    for version in declared.versions:
        tries = [version.tag[:end] for end in range(len(version.tag) + 1)]
        tries += [
            bytes(octet ^ (1 << bit if at == place else 0) for place, octet in enumerate(tried))
            for tried in tries
            for at in range(len(tried))
            for bit in range(8)
        ]
        for tried in tries:
            found = dispatched(declared.tag, declared.versions, tried)
            try:
                assert protocol.version_of(tried) == found
            except DecodeError as error:
                bit = error.pieces[0][1].bit_length() - 1 if error.pieces else None
                assert found == (error.code, error.path, error.byte, bit), tried.hex()

"""Pairs of versions: who takes whose packets, what is read otherwise, and with which witness."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import construct as cs
import pytest
from construct import Array, Byte, Const, Int16ub, Int16ul, Struct, this

from wirelock import Protocol, Record, Registry, checksums, opaque, scaled
from wirelock.evolve.compare import compare_versions
from wirelock.evolve.pairs import Pair, judge, live_pairs
from wirelock.evolve.report import pair_lines
from wirelock.evolve.sides import Version, side_of_registry
from wirelock.layout.canonical import layout_to_json
from wirelock.layout.from_json import layout_from_json
from wirelock.layout.terms import Number, Rule
from wirelock.layout.walk import walk
from wirelock.lock.lockfile import Entry


def version(number: int, source: Any, tag: tuple[str, ...] = (), *, repeats: bool = False) -> Version:
    return Version("p", number, Entry(walk(source), tag, repeats=repeats))


def pair_of(was: Any, now: Any, **more: Any) -> Pair:
    return judge(version(1, was, **more), version(2, now, **more))


def misread(was: Any, now: Any) -> dict[str, str]:
    return {kind: found.misread.told("v1", "v2") for kind, found in pair_of(was, now).misread.items()}


def test_bytes_that_one_side_refuses() -> None:
    pair = pair_of(Struct("a" / Byte), Struct("a" / Byte, "b" / Byte))
    assert (pair.forward.refused, pair.forward.taken) == (b"\0", 0)
    assert pair.forward.fault is not None and pair.forward.fault.code == "truncated"
    assert pair.backward.fault is not None and pair.backward.fault.code == "trailing-bytes"
    assert not pair.compatible and pair.both == 0


def test_the_witness_is_the_smallest_packet() -> None:
    was = Struct("n" / Byte, "xs" / Array(this.n, Int16ub))
    now = Struct("n" / Byte, "xs" / Array(this.n, Byte))
    pair = pair_of(was, now)
    assert pair.forward.refused == bytes.fromhex("01 0000")
    assert pair.backward.refused == bytes.fromhex("01 00")


METRES, KILOMETRES = (scaled(Byte, step=1, unit=unit) for unit in ("m", "km"))
MISREADS = [
    ("fields swapped", Struct("a" / Byte, "b" / Byte), Struct("b" / Byte, "a" / Byte),
     {"value": "a is 1 to v1, 0 to v2"}),
    ("byte order", Struct("a" / Int16ub), Struct("a" / Int16ul), {"value": "a is 1 to v1, 256 to v2"}),
    ("another field", Struct("a" / Int16ub), Struct("b" / Byte, "c" / Byte),
     {"field": "a (0) to v1 is b (0) to v2"}),
    ("no field any more", Struct("a" / Byte), Struct("pad" / cs.Padding(1)),
     {"unread": "a (0) is read by v1 alone"}),
    ("members swapped", Struct("a" / cs.Enum(Byte, RED=1, BLUE=2)),
     Struct("a" / cs.Enum(Byte, RED=2, BLUE=1)),
     {"value": "a is 1 RED to v1, 1 BLUE to v2"}),
    ("a member renamed", Struct("a" / cs.Enum(Byte, RED=1)), Struct("a" / cs.Enum(Byte, ROT=1)), {}),
    ("flags swapped", Struct("a" / cs.FlagsEnum(Byte, X=1, Y=2)), Struct("a" / cs.FlagsEnum(Byte, X=2, Y=1)),
     {"value": "a is 1 X to v1, 1 Y to v2"}),
    ("another unit", Struct("a" / METRES), Struct("a" / KILOMETRES),
     {"value": "a is 0 0.0 m to v1, 0 0.0 km to v2"}),
    ("mapping", Struct("a" / cs.Mapping(Byte, {"x": 0, "y": 1})),
     Struct("a" / cs.Mapping(Byte, {"y": 0, "x": 1})),
     {"value": "a is 0 x to v1, 0 y to v2"}),
    ("a name for what follows from others", Struct(cs.Rebuild(Byte, this.a), "a" / Byte),
     Struct("b" / cs.Rebuild(Byte, this.a), "a" / Byte), {}),
    ("bytes", Struct("a" / cs.Bytes(1), "b" / cs.Bytes(1)), Struct("b" / cs.Bytes(1), "a" / cs.Bytes(1)),
     {"value": "a is 01 to v1, 00 to v2"}),
    ("a field renamed", Struct("a" / Byte, "xs" / Array(this.a, Byte)),
     Struct("b" / Byte, "ys" / Array(this.b, Byte)), {}),
    ("bits that another field had", cs.BitStruct("a" / cs.BitsInteger(8)),
     cs.BitStruct("f" / cs.BitsInteger(4), "a" / cs.BitsInteger(4)), {"value": "a is 255 to v1, 15 to v2"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("was", "now", "told"), [row[1:] for row in MISREADS], ids=[row[0] for row in MISREADS]
)
def test_what_both_take_and_read_otherwise(was: Any, now: Any, told: dict[str, str]) -> None:
    assert misread(was, now) == told


def test_v2_all_pairs_of_live_versions_are_judged() -> None:
    """A->B and B->C only rename; from A to C the bytes of x are those of another field."""

    class A(Record, layout=Struct("x" / Byte, "z" / Byte)):
        x: int
        z: int

    class B(Record, layout=Struct("y" / Byte, "z" / Byte)):
        y: int
        z: int

    class C(Record, layout=Struct("y" / Byte, "x" / Byte)):
        y: int
        x: int

    side = side_of_registry(Registry(Protocol("p", {1: A, 2: B, 3: C})), "now")
    pairs = [judge(one, other) for one, other in live_pairs(side, side)]
    assert [(pair.old.number, pair.new.number, pair.compatible) for pair in pairs] == [
        (1, 2, True), (1, 3, False), (2, 3, True),
    ]  # fmt: skip
    assert pairs[1].misread["value"].misread.told("A", "C") == "x is 1 to A, 0 to C"


TAGS = [
    (Struct("m" / Const(b"M"), "v" / Const(1, Byte)), Struct("m" / Const(b"M"), "v" / Const(2, Byte)),
     "unknown-version"),
    (Struct("m" / Const(b"M"), "v" / Const(1, Byte)), Struct("m" / Const(b"N"), "v" / Const(2, Byte)),
     "foreign"),
    (Struct("m" / Const(b"M"), "v" / Const(b"1")), Struct("m" / Const(b"M"), "v" / Const(b"2")), "foreign"),
    (Struct("m" / Const(b"M"), "v" / Const(1, Byte)),
     Struct("m" / Const(b"M"), "v" / Const(1, Byte), "x" / Byte), ""),
]  # fmt: skip


FOLLOWING = [
    lambda size: cs.PaddedString(size, "ascii"),
    lambda size: cs.Bytes(size),
    lambda size: cs.FixedSized(size, cs.GreedyBytes),
    lambda size: cs.Padded(size, cs.Byte),
    lambda size: cs.Padding(size),
    lambda size: cs.If(size > 1, cs.Byte),
    lambda size: cs.Switch(size, {1: cs.Byte, 2: Int16ub}),
    lambda size: cs.Computed(size),
    lambda size: cs.RepeatUntil(lambda x, lst, ctx: x == 3, cs.Byte),
]


@pytest.mark.parametrize("made", FOLLOWING, ids=range(len(FOLLOWING)))
def test_an_expression_follows_a_renamed_field(made: Any) -> None:
    old, new = (version(1, Struct(name / Byte, "x" / made(getattr(this, name)))) for name in ("a", "b"))
    assert {finding.rule.id for finding in compare_versions(old, new)} == {"FIELD_SAME_NAME"}
    pair = judge(old, new)
    assert pair.compatible and pair.forward.tried > 0


@pytest.mark.parametrize(("was", "now", "told"), TAGS, ids=range(len(TAGS)))
def test_what_the_tag_says(was: Any, now: Any, told: str) -> None:
    assert pair_of(was, now, tag=("m", "v")).told_apart == told


def test_without_a_tag_nothing_tells_apart() -> None:
    pair = pair_of(Struct("a" / Byte), Struct("a" / Byte))
    assert pair.told_apart == "" and list(pair_lines(pair))[-1] == "  no tag tells them apart"
    assert pair.compatible


def test_misread_fields_are_told_without_numbers_of_elements() -> None:
    was, now = (Struct("n" / Byte, "xs" / Array(this.n, kind)) for kind in (Int16ub, Int16ul))
    assert pair_of(was, now).fields == {"xs[]": "value"}


def test_a_datagram_of_many_records() -> None:
    pair = pair_of(Struct("a" / Int16ub), Struct("a" / Byte), repeats=True)
    assert pair.forward.taken == pair.forward.tried
    assert pair.backward.refused == b"\0" and pair.backward.fault is not None
    assert pair.backward.fault.path == "[0].a"
    assert "[0].a" in pair.misread["value"].misread.told("v1", "v2")


def of_lock(number: int, source: Any) -> Version:
    return Version("p", number, Entry(layout_from_json(layout_to_json(walk(source)))))


@checksums.checksum("vendor", 2)
def vendor(data: bytes) -> int:
    return len(data)


def summed(function: Any, kind: Any = Byte) -> Any:
    return Struct(
        "body" / cs.RawCopy(Struct("a" / kind)), "sum" / cs.Checksum(Byte, function, this.body.data)
    )


def test_checksums_of_a_lock_are_found_by_name() -> None:
    pair = judge(of_lock(1, summed(checksums.sum8)), of_lock(2, summed(checksums.xor8)))
    assert pair.missing == [] and pair.compatible
    wider = judge(of_lock(1, summed(checksums.sum8, Int16ub)), of_lock(2, summed(checksums.xor8, Int16ub)))
    assert wider.forward.fault is not None and wider.forward.fault.code == "checksum"


def test_code_that_cannot_be_run_here_is_told() -> None:
    pair = judge(of_lock(1, summed(vendor)), of_lock(2, summed(checksums.sum8)))
    assert pair.missing == ["checksum vendor (version 2)"] and pair.tried == 0 and not pair.compatible
    assert "  not tried: checksum vendor (version 2) cannot be run here" in list(pair_lines(pair))
    found = judge(of_lock(1, summed(vendor)), of_lock(2, summed(checksums.sum8)), [walk(summed(vendor))])
    assert found.missing == [] and found.forward.refused is not None
    code = Struct("a" / opaque("mine", 1, cs.Bytes(2)))
    assert judge(of_lock(1, code), of_lock(2, code)).missing == ["code mine (version 1)"]


def test_python_validators_are_told_as_not_asked() -> None:
    checked = replace(walk(Struct("a" / Byte)), validators=("validator check",))
    pair = judge(version(1, Struct("a" / Byte)), Version("p", 2, Entry(checked)))
    assert "  not asked: validator check, which are Python code" in list(pair_lines(pair))


def test_a_layout_that_nothing_is_a_record_of() -> None:
    never = replace(walk(Struct("a" / Byte)), rules=(Rule("never", Number(0)),))
    pair = judge(Version("p", 1, Entry(never)), version(2, Struct("a" / Byte)))
    assert pair.forward.tried == 0 and not pair.compatible
    assert "  a reader of v2: not tried, for no packet of v1 was found" in list(pair_lines(pair))

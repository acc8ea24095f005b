"""Exported codecs write and tell what the engines do: bytes, JSON, and why a record cannot be sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import construct as con
import pytest
from construct import BitsInteger, obj_, this
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from protocol import PROTOCOLS
from tests.export.machine import Fault, Held, Machine
from tests.export.twins import derived_again, held_with, others, places, record_with
from tests.schema.record_maker import Unwritable, record_of
from tests.strategies import layouts, lowered, name_layout, samples
from wirelock import LsbBitStruct, SchemaError, layout_of, scaled
from wirelock.codec.check import check
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.locate import locate
from wirelock.codec.trail import Found
from wirelock.errors import ExportError
from wirelock.export.lower.declare import program, program_of
from wirelock.layout.nodes import Layout, Mapping, Type, parts_of
from wirelock.layout.sizes import size_of
from wirelock.layout.walk import walk

laws = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*/v*.json"))


def machine_of(layout: Layout) -> tuple[Machine, str]:
    """Return the machine for one layout that can be exported, and the name of its record."""
    try:
        made = program_of({"drawn": layout}, target="test")
    except ExportError:
        assume(False)
        raise
    return Machine(made), made.protocols[0].versions[0].record


def held_of(machine: Machine, record: str, data: bytes) -> Held:
    held, fault = machine.parse(record, data)
    assert held is not None, fault
    return held


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_golden_records_are_built_and_told(file: Path) -> None:
    made = program(PROTOCOLS, target="test")
    machine = Machine(made)
    versions = next(item.versions for item in made.protocols if item.name == file.parent.name)
    record = next(item.record for item in versions if f"v{item.number}" == file.stem)
    cases = [case for case in json.loads(file.read_text("utf-8"))["cases"] if "record" in case]
    assert cases
    for case in cases:
        held = held_of(machine, record, bytes.fromhex(case["bytes"]))
        assert machine.build(held) == bytes.fromhex(case["bytes"]), case["id"]
        assert repr(json.loads(machine.tell(held))) == repr(case["record"]), case["id"]


@laws
@given(st.data())
def test_records_are_told_as_the_class_writes_them(data: st.DataObject) -> None:
    try:
        cls = record_of(data.draw(layouts()))
    except (Unwritable, SchemaError):
        assume(False)
    # The class writes keys of a Mapping as numbers, however large.
    assume(all(abs(key) <= 1 << 53 for key in keys_in(layout_of(cls)) if isinstance(key, int)))
    machine, root = machine_of(layout_of(cls))
    octets = data.draw(samples(layout_of(cls)))[0]
    told = json.loads(machine.tell(held_of(machine, root, octets)))
    # repr tells -0.0 from 0.0 and 1 from 1.0, and the order of the fields.
    assert repr(told) == repr(json.loads(cls.parse(octets).model_dump_json()))


@laws
@given(st.data())
def test_what_cannot_be_sent_is_refused_as_the_engines_do(data: st.DataObject) -> None:
    layout, names = name_layout(data.draw(lowered(walk(data.draw(layouts())))))
    machine, root = machine_of(layout)
    octets = data.draw(samples(layout))[0]
    assume(locate(layout, octets) is None)
    held = held_of(machine, root, octets)
    record = GeneratedEngine(layout, names).parse(octets)
    assert machine.build(held) == octets
    for _ in range(3):
        found = [*places(machine, layout, held, record)]
        assume(found)
        place = data.draw(st.sampled_from(found))
        ours, theirs = data.draw(others(machine, place, names))
        held = held_with(held, place.steps, ours, machine)
        try:
            record = derived_again(layout, record_with(record, place.steps, theirs))
        except LookupError:
            assume(False)
        wanted, found_out = built(layout, names, record), machine.build(held)
        if found_out != wanted:
            # Where two cases have one type in Python, a client still says which it means.
            assert isinstance(found_out, Fault) and found_out.code == "wrong-type" and chooses(machine)
        if wanted != found_out or isinstance(wanted, Fault):
            break


ORDERS = {
    "least significant first": LsbBitStruct("a" / BitsInteger(20), "b" / BitsInteger(12, signed=True)),
    "an enumeration, a flag and padding": LsbBitStruct(
        "m" / con.Enum(BitsInteger(1), OFF=0, ON=1), "f" / con.Flag, "b" / BitsInteger(12), con.Padding(2)
    ),
    "a list": con.BitsSwapped(con.BitStruct("a" / con.Array(3, BitsInteger(5)), "f" / con.Flag)),
    "bytes swapped": con.ByteSwapped(con.BitStruct("a" / BitsInteger(4), "b" / BitsInteger(36))),
    "numbers in swapped bytes": con.ByteSwapped(con.Struct("a" / con.Int16ub, "f" / con.Int24sb)),
    "bits swapped": con.BitsSwapped(con.BitStruct("a" / BitsInteger(3), "b" / BitsInteger(13, signed=True))),
    "within a record": con.Struct(
        "h" / LsbBitStruct("a" / BitsInteger(5), "b" / BitsInteger(11)), "n" / con.Int8ub
    ),
}


@pytest.mark.parametrize("order", ORDERS)
@given(octets=st.binary(min_size=8, max_size=8))
@settings(max_examples=50, deadline=None)
def test_bits_in_other_orders_are_written_as_they_were_read(order: str, octets: bytes) -> None:
    layout, _ = name_layout(walk(ORDERS[order]))
    machine, root = machine_of(layout)
    octets = octets[: size_of(layout).lowest // 8]
    held, _ = machine.parse(root, octets)
    assume(held is not None)
    assert held is not None and machine.build(held) == octets


U8 = con.Int8ub
WHERE_POSITIVE = con.If(this.k > 0, U8)
EITHER = con.Switch(this.k, {1: U8, 2: con.Bytes(2)})
TO_ZERO = con.RepeatUntil(obj_ == 0, U8)
WIDE = "v.a", 8, "out-of-range", "v.a"
# what it is: (the construct of field v, bytes, the field that is changed, its value, code, path)
UNSENDABLE: dict[str, tuple[Any, str, str, Any, str, str]] = {
    "a wide bit field": (con.BitStruct("a" / BitsInteger(3), "b" / BitsInteger(5)), "00 00", *WIDE),
    "an integer of three bytes": (con.Int24sb, "00 000000", "v", 1 << 23, "out-of-range", "v"),
    "no member": (con.Enum(U8, ON=1, OFF=2), "00 01", "v", 3, "unknown-member", "v"),
    "no flag": (con.FlagsEnum(U8, A=1, B=4), "00 05", "v", 2, "not-canonical", "v"),
    "an infinity of 16 bits": (con.Float16b, "00 0000", "v", 65520.0, "out-of-range", "v"),
    "a float between two of 16 bits": (con.Float16b, "00 0000", "v", 0.1, "not-canonical", "v"),
    "a float between two steps": (scaled(U8, step="1/4"), "00 04", "v", 0.1, "not-canonical", "v"),
    "a step beyond the integer": (scaled(U8, step="1/4"), "00 04", "v", 64.0, "out-of-range", "v"),
    "too many bytes": (con.Bytes(2), "00 0000", "v", b"abc", "bad-count", "v"),
    "too many elements": (con.Array(2, U8), "00 0102", "v", [1, 2, 3], "bad-count", "v"),
    "more than is counted": (con.PrefixedArray(U8, U8), "00 00", "v", [1] * 256, "bad-count", "v"),
    "more than is measured": (con.PascalString(U8, "utf8"), "00 00", "v", "é" * 128, "bad-count", "v"),
    "text with its terminator": (con.CString("utf8"), "00 00", "v", "a\0b", "not-canonical", "v"),
    "text with a byte-order mark": (con.GreedyString("utf8"), "00", "v", "\ufeffa", "not-canonical", "v"),
    "text without an encoding": (con.PaddedString(4, "ascii"), "00 00000000", "v", "é", "bad-text", "v"),
    "text beyond its room": (con.PaddedString(2, "utf8"), "00 0000", "v", "abc", "bad-count", "v"),
    "an element": (con.Array(2, con.Int24ub), "00 000000 000000", "v", [0, 1 << 24], "out-of-range", "v[1]"),
    "absent though wanted": (WHERE_POSITIVE, "01 02", "v", None, "wrong-type", "v"),
    "present though not wanted": (WHERE_POSITIVE, "00", "v", 2, "wrong-type", "v"),
    "the case of another key": (EITHER, "01 02", "k", 2, "wrong-type", "v"),
    "a key without a case": (EITHER, "01 02", "k", 3, "unknown-case", "v"),
    "an end in the middle": (TO_ZERO, "00 0100", "v", [0, 0], "bad-count", "v"),
    "no end": (TO_ZERO, "00 0100", "v", [1], "bad-count", "v"),
    "no element": (TO_ZERO, "00 0100", "v", [], "bad-count", "v"),
    "absent before a value": (con.Optional(U8), "00 0102", "v", None, "bad-count", "v"),
    "absent within, before a value": (
        con.Struct("a" / U8, "o" / con.Optional(U8)),
        *("00 010203", "v.o", None, "bad-count", "v.o"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", UNSENDABLE)
def test_what_cannot_be_sent_has_a_code_and_a_path(what: str) -> None:
    source, octets, field, value, code, path = UNSENDABLE[what]
    rest = ["end" / con.Optional(U8)] if what.startswith("absent") and "before" in what else []
    layout, _ = name_layout(walk(con.Struct("k" / U8, "v" / source, *rest)))
    machine, root = machine_of(layout)
    held = held_of(machine, root, bytes.fromhex(octets))
    assert machine.build(held) == bytes.fromhex(octets)
    assert machine.build(held_with(held, tuple(field.split(".")), value, machine)) == Fault(code, path)


def test_a_count_that_does_not_fit_is_the_counts_fault() -> None:
    source = con.Struct(
        "n" / con.Rebuild(con.Int8ub, con.len_(con.this.v)), "v" / con.Array(con.this.n, con.Int8ub)
    )
    machine, root = machine_of(name_layout(walk(source))[0])
    held = held_of(machine, root, b"\x01\x07")
    assert machine.build(held_with(held, ("v",), [7] * 255, machine)) == b"\xff" + b"\x07" * 255
    assert machine.build(held_with(held, ("v",), [7] * 256, machine)) == Fault("out-of-range", "n")


def keys_in(kind: Type) -> list[str | int]:
    """Return the keys of the Mappings inside of a type."""
    if isinstance(kind, Mapping):
        return [key for key, _ in kind.members]
    return [key for part in parts_of(kind) for key in keys_in(part)]


def chooses(machine: Machine) -> bool:
    """Whether a client says of a value which case it is."""
    return "ChoiceType" in repr([record.fields for record in machine.program.records])


def built(layout: Layout, names: dict[str, Any], record: Any) -> bytes | Fault:
    """Return what the engines give for a record, as a client is told it."""
    try:
        check(layout, record, names)
    except Found as found:
        return Fault(found.fault.code, found.fault.path)
    octets = GeneratedEngine(layout, names).build(record)
    assert isinstance(octets, bytes)
    return octets

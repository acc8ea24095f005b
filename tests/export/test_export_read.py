"""Exported codecs read as the engines do: verdict, code, path, byte and bit; what they hold builds again."""

from __future__ import annotations

import json
import random
from dataclasses import fields, is_dataclass
from typing import Any

import construct as c
import pytest
from construct import this
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.export.machine import Fault, Held, Machine
from tests.strategies import layouts, lowered, mutated, name_layout, samples
from wirelock.codec.locate import locate, read_through
from wirelock.errors import ExportError
from wirelock.export import values as v
from wirelock.export.lower.declare import program_of
from wirelock.layout.adapters import LsbBitStruct
from wirelock.layout.nodes import Layout
from wirelock.layout.walk import walk

laws = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def wanted(layout: Layout, data: bytes) -> Fault | None:
    """Return the fault that the engines find, as a client is told it."""
    found = locate(layout, data)
    if found is None:
        return None
    bit = found.pieces[0][1].bit_length() - 1 if found.pieces else None
    return Fault(found.code, found.path, found.byte, bit)


def drawn(data: st.DataObject) -> tuple[Layout, Machine]:
    """Return a layout that can be exported, and the machine that runs its program."""
    layout, _ = name_layout(data.draw(lowered(walk(data.draw(layouts())))))
    try:
        return layout, Machine(program_of({"drawn": layout}, target="test"))
    except ExportError:
        assume(False)
        raise


def check(layout: Layout, machine: Machine, data: bytes) -> None:
    root = machine.program.protocols[0].versions[0].record
    held, fault = machine.parse(root, data)
    assert fault == wanted(layout, data), data.hex()
    if isinstance(held, Held):
        assert machine.build(held) == data


@laws
@given(st.data())
def test_reading_agrees_on_verdict_and_place(data: st.DataObject) -> None:
    layout, machine = drawn(data)
    octets = data.draw(samples(layout))[0]
    for tried in [octets, *(data.draw(mutated(octets)) for _ in range(4)), data.draw(st.binary(max_size=24))]:
        check(layout, machine, tried)


@settings(laws, max_examples=40)
@given(st.data())
def test_every_prefix_bit_flip_and_extra_byte_agrees(data: st.DataObject) -> None:
    layout, machine = drawn(data)
    octets = data.draw(samples(layout))[0][:24]
    tries: list[Any] = [octets[:end] for end in range(len(octets))]
    tries += [octets + bytes([extra]) for extra in (0, 0xFF)]
    tries += [
        octets[:at] + bytes([octets[at] ^ 1 << bit]) + octets[at + 1 :]
        for at in range(len(octets))
        for bit in range(8)
    ]
    for tried in tries:
        check(layout, machine, tried)


INNER = c.Struct("p" / c.Int8ub, "q" / c.Bytes(this._._.head.m), "i" / c.Computed(this._index + this._.k))
AROUND = {
    "fields and index of the records around": c.Struct(
        "head" / c.Struct("n" / c.Int8ub, "m" / c.Int8ub),
        "rows" / c.Array(this.head.n, c.Struct("k" / c.Int8ub, "cells" / c.Array(this._.head.m, INNER))),
    ),
    "elements of no size": c.Struct(
        "a" / c.Array(3, c.Struct("i" / c.Index, "n" / c.Pass)),
        "b" / c.Array(2, c.Struct()),
        "rest" / c.GreedyRange(c.Struct("x" / c.Int16ub, "f" / c.Float32b, "g" / c.Flag)),
    ),
    "regions in regions": c.Struct(
        "a" / c.Prefixed(c.Int8ub, c.Struct("x" / c.Prefixed(c.VarInt, c.GreedyBytes), "y" / c.GreedyBytes)),
        "b" / c.Prefixed(c.Int8ub, c.Struct("x" / c.Int8ub, "z" / c.Optional(c.Int16ub), c.Terminated)),
        "c" / c.FixedSized(4, c.Struct("t" / c.CString("utf8"), "u" / c.GreedyRange(c.Int16ub))),
    ),
    "choices in choices": c.Struct(
        "k" / c.Int8ub,
        "v" / c.Switch(this.k, {0: c.Int8ub, 1: c.Int16ub, 2: c.Struct("z" / c.Int8ub), 3: c.Bytes(this.k)}),
        "w" / c.If(this.k < 2, c.Switch(this.k, {0: c.VarInt, 1: c.Array(2, c.Struct("y" / c.Int8ub))})),
    ),
    "until the last": c.Struct(
        "n" / c.Int8ub,
        "a" / c.RepeatUntil(lambda item, items, ctx: item.x >= ctx.n, c.Struct("x" / c.Int8ub)),
        "b" / c.RepeatUntil(c.obj_ == 0, c.VarInt),
    ),
}


@pytest.mark.parametrize("source", AROUND.values(), ids=AROUND)
def test_what_lies_around_is_seen(source: c.Construct) -> None:
    """Also from bytes that few random ones are like: small numbers."""
    layout = name_layout(walk(source))[0]
    machine = Machine(program_of({"drawn": layout}, target="test"))

    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.integers(0, 4), max_size=24).map(bytes))
    def agrees(data: bytes) -> None:
        check(layout, machine, data)

    agrees()


FEW = {
    "integers": c.Int16ub,
    "floats": c.Float32b,
    "flags": c.Flag,
    "bytes": c.Bytes(3),
    "records": c.Struct("a" / c.Int8ub, "b" / c.Float16l),
    "records of no fixed size": c.Struct("a" / c.PrefixedArray(c.VarInt, c.Int8ub)),
    "text": c.CString("utf8"),
}


@pytest.mark.parametrize("element", FEW.values(), ids=FEW)
@pytest.mark.parametrize("counter", [c.Int32ub, c.Int64ub, c.Int32sb], ids=["32", "64", "signed"])
def test_no_count_makes_more_elements_than_there_are_bytes(
    element: c.Construct, counter: c.Construct
) -> None:
    """The machine would make a list of 2**31 elements, if it was told to."""
    sources = [
        c.Struct("n" / counter, "x" / c.Array(this.n, element)),
        c.Struct("x" / c.PrefixedArray(counter, element)),
    ]
    for source in sources:
        layout = name_layout(walk(source))[0]
        machine = Machine(program_of({"drawn": layout}, target="test"))
        for count in (b"\x7f", b"\x80", b"\xff"):
            for behind in (b"", bytes(7), bytes(12), b"\1" * 9):
                check(layout, machine, count * (counter.sizeof()) + behind)


ORDERS = {
    "wire": c.BitStruct,
    "least-first": LsbBitStruct,
    "bytes-swapped": lambda *fields: c.ByteSwapped(c.BitStruct(*fields)),
    "bits-swapped": lambda *fields: c.BitsSwapped(c.BitStruct(*fields)),
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_integers_of_every_width_at_every_bit(order: Any) -> None:
    drawn = random.Random(8)
    for first in (0, 1, 4, 7):
        for width in range(1, 65):
            signed, behind = (first + width) % 2 == 1, -(first + width) % 8
            before = ["before" / c.BitsInteger(first)] * bool(first)
            after = ["after" / c.BitsInteger(behind)] * bool(behind)
            bits = order(*before, "x" / c.BitsInteger(width, signed=signed), *after)
            layout = name_layout(walk(c.Struct("bits" / bits)))[0]
            machine = Machine(program_of({"drawn": layout}, target="test"))
            for data in (drawn.randbytes((first + width + behind) // 8) for _ in range(3)):
                held, _ = machine.parse(machine.program.protocols[0].versions[0].record, data)
                frame = read_through(layout, data)[1].trail.frames[0]
                assert isinstance(held, Held)
                assert held.fields["bits"].fields == frame.values


@pytest.mark.parametrize("order", [lambda bits: bits, c.BitsSwapped, c.ByteSwapped])
@pytest.mark.parametrize("signed", [False, True])
def test_integers_of_many_parts_are_small_trees_within_64_bits(order: Any, signed: bool) -> None:
    """Printers visit an operand more than once: a tree that is deep takes them forever."""
    for first, width in [(first, width) for first in range(8) for width in range(53, 65)]:
        widths = {"p": first, "w": width, "t": -(first + width) % 8}
        bits = (name / c.BitsInteger(many, signed=signed) for name, many in widths.items() if many)
        construct = order(c.BitStruct(*bits))
        made = program_of({"wide": name_layout(walk(construct))[0]}, target="test")
        assert depth(made.records) <= 10, widths
        octets = random.Random(width).randbytes(sum(widths.values()) // 8)
        machine = Machine(made)
        held, fault = machine.parse(made.protocols[0].versions[0].record, octets)
        assert held is not None, fault
        assert str(json.loads(machine.tell(held))["w"]) == str(construct.parse(octets).w), widths


def depth(node: Any) -> int:
    """Return how deep operators nest in a program; none of them leaves int64 and uint64."""
    if isinstance(node, v.Op):
        most = 1 << (63 if node.low < 0 else 64)
        assert -(1 << 63) <= node.low <= node.high < most, node
        assert all(item.value < most for item in node.operands if isinstance(item, v.Int)), node
    parts = [getattr(node, item.name) for item in fields(node)] if is_dataclass(node) else node
    inner = map(depth, parts) if isinstance(parts, tuple | list) else ()
    return isinstance(node, v.Op) + max(inner, default=0)

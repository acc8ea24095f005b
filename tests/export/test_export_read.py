"""Exported codecs read as the engines do: verdict, code, path, byte and bit; what they hold builds again."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.export.machine import Fault, Held, Machine
from tests.strategies import layouts, lowered, mutated, name_layout, samples
from wirelock.codec.locate import locate
from wirelock.errors import ExportError
from wirelock.export.declare import program_of
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

"""The columnar engine agrees with the scalar ones, over random layouts and inputs; compiled and as Python."""

from __future__ import annotations

from typing import Any

import construct as c
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.strategies import layouts, lowered, mutated, name_layout, samples
from tests.test_engines import laws, outcome
from tests.test_reference import same
from wirelock.codec.check import check
from wirelock.codec.columnar import ColumnarEngine
from wirelock.codec.columns_given import filled_of
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.table import Table
from wirelock.errors import Fault, SchemaError
from wirelock.layout.nodes import Array, If, Optional, Select, Switch
from wirelock.layout.walk import walk

REASONS = ("opaque", "which is code", "64 are the most")
few = settings(laws, max_examples=12, suppress_health_check=list(HealthCheck))


def drawn(data: st.DataObject, *, compiled: bool) -> tuple[ColumnarEngine, GeneratedEngine]:
    """Return both engines of a random layout, which is one that the columnar engine can do."""
    layout, names = name_layout(data.draw(lowered(walk(data.draw(layouts())))))
    try:
        engine = ColumnarEngine(layout, names, compiled=compiled)
    except SchemaError as problem:
        assert any(reason in problem.problem for reason in REASONS)
        assume(False)
    return engine, GeneratedEngine(layout, names)


def packed_together(packets: list[bytes], before: int = 3) -> tuple[bytes, Any, Any]:
    """Return a buffer with packets in it and bytes between them, and where they start and stop."""
    gaps = [number % 5 if number else before for number in range(len(packets))]
    whole = b"".join(b"\xa5" * gap + packet for gap, packet in zip(gaps, packets, strict=True))
    lengths = np.array([len(packet) for packet in packets], "i8")
    starts = np.cumsum(lengths + np.array(gaps, "i8")) - lengths
    return whole + b"\xa5", starts, starts + lengths


def agree(engine: ColumnarEngine, scalar: GeneratedEngine, packets: list[bytes]) -> None:
    """Read packets in both ways: the same records, and the same faults of the others."""
    whole, starts, stops = packed_together(packets)
    filled, ends = engine.packets(whole, starts, stops)
    table = Table(engine, whole, filled, exact=True)
    wanted = [outcome(scalar.parse, packet) for packet in packets]
    bad = {number: found for number, found in enumerate(wanted) if isinstance(found, Fault)}
    assert {fault.number: fault.fault for fault in table.faults} == bad
    assert [fault.start for fault in table.faults] == [int(starts[number]) for number in bad]
    assert ends.tolist() == [-1 if number in bad else int(stop) for number, stop in enumerate(stops)]
    assert table.numbers.tolist() == [number for number in range(len(packets)) if number not in bad]
    assert list(map(table.octets, range(len(table)))) == [
        packets[number] for number in table.numbers.tolist()
    ]
    for number, record in zip(table.numbers.tolist(), table, strict=True):
        names = engine.names
        assert same(check(engine.layout, record, names), check(engine.layout, wanted[number], names))


def tries(data: st.DataObject, octets: bytes) -> list[bytes]:
    """Return bytes and what is near them: every prefix, flipped bits, bytes behind, and random changes."""
    short = octets[:16]
    found = [octets, *(short[:end] for end in range(len(short))), octets + b"\0", octets + b"\xff"]
    found += [
        octets[:at] + bytes([octets[at] ^ 1 << bit]) + octets[at + 1 :]
        for at in range(len(short))
        for bit in (0, 3, 7)
    ]
    return found + [data.draw(mutated(octets)) for _ in range(6)]


@laws
@given(st.data())
def test_packets_agree_on_value_verdict_and_place(data: st.DataObject) -> None:
    engine, scalar = drawn(data, compiled=False)
    packets = [data.draw(samples(engine.layout))[0] for _ in range(2)]
    agree(engine, scalar, [packets[1], *tries(data, packets[0]), packets[1]])


@laws
@given(st.data())
def test_no_byte_behind_the_end_is_read(data: st.DataObject) -> None:
    engine, scalar = drawn(data, compiled=False)
    for packet in tries(data, data.draw(samples(engine.layout))[0]):
        # A buffer of its own: an index behind the end raises where numba would read on.
        ends = engine.packets(packet, np.zeros(1, "i8"), np.array([len(packet)]))[1]
        assert (ends[0] < 0) == isinstance(outcome(scalar.parse, packet), Fault)
        if engine.least:
            engine.packed(packet)


@few
@given(st.data())
def test_packets_agree_compiled(data: st.DataObject) -> None:
    engine, scalar = drawn(data, compiled=True)
    packets = [data.draw(samples(engine.layout))[0] for _ in range(2)]
    agree(engine, scalar, [packets[1], *tries(data, packets[0]), packets[1]])


CHOICE = c.Switch(c.this.n, {2: c.Int8ul}, default=c.Int8sl)
IN_EACH_OTHER = {
    "a choice in an array in a choice": c.If(c.this.n, c.Array(2, CHOICE)),
    "absent in an array that may be": c.If(c.this.n, c.Array(2, c.If(c.this.n > 1, c.Int8ul))),
    "one absence in another": c.If(c.this.n, c.If(c.this.n > 1, c.Array(2, CHOICE))),
}


@pytest.mark.parametrize("held", IN_EACH_OTHER.values(), ids=IN_EACH_OTHER)
def test_choices_in_each_other_have_paths_of_their_own(held: Any) -> None:
    layout, names = name_layout(walk(c.Struct("n" / c.Int8ul, "held" / held)))
    engine = ColumnarEngine(layout, names, compiled=False)
    whole, starts, stops = packed_together([b"\0", b"\1\5\6", b"\2\7\x08", b"\1"])
    table = Table(engine, whole, engine.packets(whole, starts, stops)[0], exact=True)
    choices = (If, Optional, Switch, Select)
    tags = {
        node.path: table.tags(node.path) for node in engine.plan.root.walk() if isinstance(node.kind, choices)
    }
    again = filled_of(engine, {path: table[path] for path in table.columns}, {}, tags)
    assert [array.tobytes() for array in again.arrays] == [array.tobytes() for array in table.filled.arrays]


@laws
@given(st.data())
def test_every_column_has_a_path_of_its_own(data: st.DataObject) -> None:
    engine, _ = drawn(data, compiled=False)
    whole, starts, stops = packed_together([data.draw(samples(engine.layout))[0] for _ in range(3)])
    filled, _ = engine.packets(whole, starts, stops)
    table = Table(engine, whole, filled, exact=True)
    nodes = list(engine.plan.root.walk())
    arrays = [node.path for node in nodes if isinstance(node.kind, Array) and node.inside >= 0]
    choices = [node.path for node in nodes if isinstance(node.kind, If | Optional | Switch | Select)]
    assert (len({*arrays}), len({*choices})) == (len(arrays), len(choices))
    offsets = {path: table.offsets(path) for path in arrays}
    tags = {path: table.tags(path) for path in choices}
    again = filled_of(engine, {path: table[path] for path in table.columns}, offsets, tags)
    assert [array.tobytes() for array in again.arrays] == [array.tobytes() for array in filled.arrays]
    # Columns of no elements do not say how many rows there are.
    assert (
        not all(stored.per for stored in engine.plan.arrays)
        or not filled.arrays
        or again.sizes == filled.sizes
    )


@laws
@given(st.data())
def test_records_one_behind_the_other_agree_and_build_again(data: st.DataObject) -> None:
    engine, scalar = drawn(data, compiled=False)
    assume(engine.least)
    good = [data.draw(samples(engine.layout))[0] for _ in range(3)]
    whole = b"".join([*good, data.draw(mutated(good[0])), good[1]])[: data.draw(st.integers(0, 200))]
    filled, end = engine.packed(whole)
    table = Table(engine, whole, filled, exact=False)
    at, records, faults = 0, {}, {}
    for number in range(len(whole) // engine.least if engine.size else len(whole)):
        found = outcome(scalar.parse_prefix, whole, at)
        if isinstance(found, Fault):
            faults[number], size = found, engine.size
        else:
            records[number], size = found
            assert table.octets(len(records) - 1) == whole[at : at + size]
        if size is None or at >= len(whole):
            break
        at += size
        if at >= len(whole):
            break
    assert table.numbers.tolist() == list(records)
    assert {fault.number: fault.fault for fault in table.faults} == faults
    for number, record in zip(records, table, strict=True):
        again = check(engine.layout, record, engine.names)
        assert same(again, check(engine.layout, records[number], engine.names))
    built = engine.build(filled)
    if built is not None:
        assert built == b"".join(map(scalar.build, records.values()))
    assert end <= len(whole)

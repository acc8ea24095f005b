"""The engines agree on records that were made by hand: any value in any place, also deep inside."""

from __future__ import annotations

import dataclasses
from typing import Any

import construct
import pytest
from construct import this
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import name_layout, samples
from tests.test_engines import drawn_engines, laws, outcome
from tests.test_reference import JUNK, same
from wirelock.codec.check import check
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.reference import ReferenceEngine
from wirelock.errors import Fault, SchemaError
from wirelock.layout.walk import walk

NEAR = st.sampled_from([
    "", "a", "b", "abc", "a\0", "\0", "é", "€x", "\ufeff", "x\ufeff", "\ud800", "\0\0", "xxxx", "\U0001f600",
    b"\0", b"\0\0", b"a\0", b"ab", b"a\0\0", b"\0a", b"\r\n", b"xx\r\n", b"\xff", b"\1\0\1", bytes(300),
    0.0, -0.0, 0.25, 1 / 256, 0.001, float("inf"), -40.0,
    False, 1, 2, 5, -128, 255, 256, 65535, 1 << 63, 1 << 64,
    (0,), (3, 3), (1, 3), ("a",), (b"",), (None,), (0,) * 300,
])  # fmt: skip


@st.composite
def changed(draw: Any, value: Any, other: Any) -> Any:
    """Return a value with one change somewhere in it; `other` is a value of the same kind."""
    if dataclasses.is_dataclass(value) and dataclasses.fields(value) and draw(st.integers(0, 9)):
        label = draw(st.sampled_from([item.name for item in dataclasses.fields(value)]))
        beside = getattr(other, label, None)
        return dataclasses.replace(value, **{label: draw(changed(getattr(value, label), beside))})
    if isinstance(value, tuple) and value and draw(st.booleans()):
        at = draw(st.integers(0, len(value) - 1))
        match draw(st.sampled_from(["change", "drop", "repeat"])):
            case "drop":
                return value[:at] + value[at + 1 :]
            case "repeat":
                return (*value[:at], value[at], *value[at:])
        return (*value[:at], draw(changed(value[at], value[0])), *value[at + 1 :])
    return draw(st.just(other) | NEAR | JUNK)


@laws
@given(st.data())
def test_building_agrees_on_records_with_one_other_value(data: st.DataObject) -> None:
    layout, generated, reference, names = drawn_engines(data)
    record, other = (outcome(reference.parse, data.draw(samples(layout))[0]) for _ in range(2))
    if isinstance(record, Fault):
        return
    for _ in range(4):
        made = data.draw(changed(record, other))
        ours, theirs = outcome(generated.build, made), outcome(reference.build, made)
        assert ours == theirs
        if not isinstance(ours, Fault):
            again = generated.parse(ours)
            assert same(check(layout, again, names), check(layout, made, names))


def test_bytes_that_nuls_would_complete_are_refused() -> None:
    units = construct.NullStripped(construct.GreedyBytes, pad=b"\0\0")
    source = construct.Struct("s" / construct.FixedSized(4, units))
    layout, names = name_layout(walk(source))
    for engine in (GeneratedEngine(layout, names), ReferenceEngine(source, layout, names)):
        record = engine.parse(b"ab\0\0")
        fault = outcome(engine.build, dataclasses.replace(record, s=b"a"))
        assert fault == Fault("not-canonical", "s", "size 1", "a multiple of 2")


@pytest.mark.parametrize(
    "inner",
    [
        construct.Padding(2),
        construct.Prefixed(construct.Byte, construct.If(this.n == 1, construct.Byte)),
        construct.Prefixed(construct.Byte, construct.Optional(construct.Byte)),
        construct.Switch(this.n, {1: construct.Padding(1)}, construct.Byte),
    ],
)
def test_an_optional_value_that_may_be_none_itself_is_refused(inner: construct.Construct) -> None:
    with pytest.raises(SchemaError, match="None itself"):
        walk(construct.Struct("n" / construct.Byte, "x" / construct.Optional(inner)))


@pytest.mark.parametrize(
    "part", [construct.FixedSized(1, construct.GreedyBytes), construct.Padded(2, construct.Byte)]
)
def test_a_region_that_starts_within_a_byte_is_refused(part: construct.Construct) -> None:
    fields = ("x" / construct.BitsInteger(3), "y" / construct.Bytewise(part), "z" / construct.BitsInteger(5))
    with pytest.raises(SchemaError, match=r"within a byte|inside a bit region"):
        walk(construct.Struct("b" / construct.BitStruct(*fields)))


def test_what_is_computed_between_bits() -> None:
    x, y = "x" / construct.BitsInteger(3), "y" / construct.BitsInteger(5)
    bits = construct.BitStruct(x, "k" / construct.Computed(this.x + 1), "i" / construct.Index, y)
    source = construct.Struct("b" / construct.Array(2, bits))
    layout, names = name_layout(walk(source))
    for engine in (GeneratedEngine(layout, names), ReferenceEngine(source, layout, names)):
        record = engine.parse(b"\x21\x42")
        assert [(item.x, item.k, item.i, item.y) for item in record.b] == [(1, 2, 0, 1), (2, 3, 1, 2)]
        assert engine.build(record) == b"\x21\x42"


def test_a_field_inside_of_padding_or_a_region_can_be_read() -> None:
    inner = construct.Struct("_n" / construct.Rebuild(construct.Byte, 3), "q" / construct.Byte)
    for part, octets in [
        (construct.Padded(3, inner), b"\3\1\0\4"),
        (construct.Prefixed(construct.Byte, inner), b"\2\3\1\4"),
    ]:
        source = construct.Struct("p" / part, "_m" / construct.Rebuild(construct.Byte, this.p._n + this.p.q))
        layout, names = name_layout(walk(source))
        for engine in (GeneratedEngine(layout, names), ReferenceEngine(source, layout, names)):
            assert engine.build(engine.parse(octets)) == octets

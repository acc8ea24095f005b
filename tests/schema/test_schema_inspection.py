"""Inspected datagrams: the verdict, its place and its words are those of parsing, whatever the bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from annotated_types import Le
from construct import Array, BitsInteger, BitStruct, Const, Int8ub, Int16ub, Struct, this
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import field_validator

from protocol import PROTOCOLS
from tests.strategies import mutated
from wirelock import DecodeError, Protocol, Record, Rule, derived
from wirelock.golden.vectors import golden_path, read
from wirelock.schema.inspection import inspect_all


class Ping1(Record, layout=Struct("magic" / Const(b"PG"), "version" / Const(1, Int8ub), "n" / Int16ub)):
    magic: bytes = derived()
    version: int = derived()
    n: Annotated[int, Le(1000)]


class Ping2(
    Record,
    layout=Struct(
        "magic" / Const(b"PG"), "version" / Const(2, Int8ub), "n" / Int8ub, "xs" / Array(this.n, Int16ub)
    ),
    rules=[Rule("short", this.n < 9, "too many")],
):
    magic: bytes = derived()
    version: int = derived()
    n: int = derived()
    xs: tuple[int, ...]

    @field_validator("xs")
    @classmethod
    def no_seven(cls, xs: tuple[int, ...]) -> tuple[int, ...]:
        if 7 in xs:
            raise ValueError("a seven")
        return xs


class Bits(Record, layout=BitStruct("a" / BitsInteger(3), "b" / Const(5, BitsInteger(5)))):
    a: Annotated[int, Le(6)]
    b: int = derived()


ping = Protocol("ping", {1: Ping1, 2: Ping2}, tag=("magic", "version"), repeats=True)
one = Protocol("one", {1: Ping1, 2: Ping2}, tag=("magic", "version"))
bits = Protocol("bits", {1: Bits})
FIRST = b"PG\1\0\5"
SECOND = b"PG\2\2\0\1\0\2"


def parsed(protocol: Protocol, data: bytes, version: int | None = None) -> tuple[list[str], Any]:
    """Return the labels of the records that parse_all yields, and the error that ends them."""
    labels = []
    try:
        for found in protocol.parse_all(data, version=version):
            labels.append(found.label)
    except DecodeError as error:
        return labels, (error.record, error.fault, str(error))
    return labels, None


def check(protocol: Protocol, data: bytes, version: int | None = None) -> None:
    labels, error = parsed(protocol, data, version)
    found = list(inspect_all(protocol, data, version))
    assert [item.label for item in found if item.error is None] == labels
    assert all(item.error is None for item in found[:-1])
    last = found[-1].error
    assert (last and (last.record, last.fault, str(last))) == error
    at = 0
    for item in found:
        assert item.start == at
        at += item.readout.end
        if item.error is None:
            assert not any(row.state for row in item.readout.rows)
        elif item.error.path.removeprefix(f"[{item.number}]"):
            assert item.readout.faulty is not None
            assert item.readout.spot is not None


CASES = [
    (ping, FIRST), (ping, FIRST + SECOND), (ping, FIRST + FIRST + SECOND[:-1]), (ping, FIRST + b"PG\x03\0"),
    (ping, FIRST + b"XG\x01\0"), (ping, FIRST + b"P"), (ping, FIRST + b"PG"), (ping, b""), (ping, b"XX"),
    (ping, b"PG\1\xff\xff" + FIRST), (ping, FIRST + b"PG\2\1\0\7" + FIRST), (ping, b"PG\2\x09" + bytes(18)),
    (one, FIRST), (one, SECOND), (one, FIRST + b"\0"), (one, b"PG\2\1\0\7"), (one, b"PG\2\x09" + bytes(18)),
    (one, b"PG\x09"), (one, b"P"), (one, b"Q"), (one, b""), (one, b"PG"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "data"), CASES)
def test_the_verdict_is_that_of_parsing(protocol: Protocol, data: bytes) -> None:
    check(protocol, data)
    for version in protocol.versions:
        check(protocol, data, version)


def test_a_version_that_is_not_known_or_not_given() -> None:
    with pytest.raises(ValueError, match="one has no version 3"):
        list(inspect_all(one, FIRST, 3))
    with pytest.raises(TypeError, match="bits has no tag"):
        list(inspect_all(bits, b"\0"))


def test_what_the_tag_does_not_name_is_read_as_far_as_the_tag_goes() -> None:
    (found,) = inspect_all(one, b"PG\x09\1\2")
    assert (found.label, found.version, found.number) == ("one", None, None)
    assert [(row.path, row.part, row.octets) for row in found.readout.rows] == [
        ("magic", "", b"PG"), ("version", "", b"\x09"), ("", "not read", b"\1\2"),
    ]  # fmt: skip
    assert found.readout.faulty == 1


def test_a_validator_has_its_row() -> None:
    (found,) = inspect_all(one, b"PG\2\2\0\1\0\7")
    assert found.error is not None and found.error.code == "validator"
    assert found.readout.rows[found.readout.faulty or 0].path == "xs"
    assert found.readout.spot == (4, 8)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_verdict_over_random_bytes(data: st.DataObject) -> None:
    whole = b"".join(data.draw(st.lists(st.sampled_from([FIRST, SECOND, b"PG\2\0"]), max_size=4)))
    tried = data.draw(mutated(whole))
    check(ping, tried)
    check(one, tried)
    check(bits, data.draw(st.binary(max_size=2)), 1)


FIXTURES = Path(__file__).parents[2] / "fixtures"
GOLDEN = [
    (protocol, version, case.data)
    for protocol in PROTOCOLS
    for version in protocol.versions
    for case in read(golden_path(FIXTURES, protocol.name, version)).cases
]


@pytest.mark.parametrize(("protocol", "version", "data"), GOLDEN)
def test_the_verdict_over_golden_cases_and_their_prefixes(
    protocol: Protocol, version: int, data: bytes
) -> None:
    for end in range(len(data) + 1):
        check(protocol, data[:end], version)
        if protocol.tag:
            check(protocol, data[:end])

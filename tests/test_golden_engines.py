"""Every golden vector, and everything near it, through every engine: one verdict, one place, one record."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from construct import Array, Bytes, Int8ub, Int16ul, Int32ul, Int64ul, PrefixedArray, Struct, this

from protocol import PROTOCOLS
from tests.schema.record_maker import make
from wirelock import DecodeError, Record
from wirelock.codec.locate import locate
from wirelock.golden.vectors import read_version
from wirelock.schema.record import layout_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
VERSIONS = [(protocol, version) for protocol in PROTOCOLS for version in protocol.versions]


@pytest.fixture(params=["generated", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def golden_bytes(protocol: str, version: int) -> list[bytes]:
    file = read_version(FIXTURES, protocol, version)
    assert file is not None
    return sorted({vector.data for vector in file.vectors if vector.data})


def near(data: bytes) -> Iterator[bytes]:
    """Yield the bytes, every prefix, every single-bit flip, and the bytes with more behind them."""
    yield data
    yield from (data[:end] for end in range(len(data)))
    yield from (
        data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
        for at in range(len(data))
        for bit in range(8)
    )
    yield from (data + more for more in (b"\x00", b"\xff", data))


def check(record: type[Record], data: bytes, engine: str) -> None:
    """Parse with one engine; the Layout says what has to come out."""
    wanted = locate(layout_of(record), data)
    try:
        parsed = record.parse(data, engine=engine)
    except DecodeError as error:
        assert error.fault == wanted
    else:
        assert wanted is None
        assert parsed.build(engine=engine) == data


@pytest.mark.parametrize(("protocol", "version"), VERSIONS, ids=lambda item: getattr(item, "name", item))
def test_every_golden_vector_and_all_that_is_near_it(protocol, version: int, engine: str) -> None:
    record = protocol.versions[version]
    seen: set[bytes] = set()
    for data in golden_bytes(protocol.name, version):
        # All that is near a long snapshot is near a short one too, except for its places.
        for tried in near(data[:90]):
            if tried not in seen:
                seen.add(tried)
                check(record, tried, engine)
    assert len(seen) > 1000


HOSTILE = {
    "a count of integers": (Struct("xs" / PrefixedArray(Int32ul, Int16ul)), tuple[int, ...], "ffffff7f 0000"),
    "a count of records": (
        Struct("xs" / PrefixedArray(Int64ul, Struct("n" / Int8ub, "b" / Bytes(this.n)))),
        None,
        "ffffffffffffff7f 00 00 00",
    ),
    "counts of counts": (
        Struct("xs" / PrefixedArray(Int32ul, PrefixedArray(Int32ul, Int8ub))),
        tuple[tuple[int, ...], ...],
        "ffffffff ffffffff 00",
    ),
    "a length": (Struct("n" / Int32ul, "xs" / Bytes(this.n * 65536)), bytes, "ffffffff 00"),
    "a product": (
        Struct("n" / Int32ul, "xs" / Array(this.n * 65536, Int8ub)),
        tuple[int, ...],
        "ffffffff 00",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_counts_cost_no_more_than_the_bytes_that_are_there(name: str, engine: str) -> None:
    source, annotation, octets = HOSTILE[name]
    if annotation is None:
        item = make("Item", Struct("n" / Int8ub, "b" / Bytes(this.n)), {"n": int, "b": bytes})
        annotation = tuple[item, ...]
    fields = {part.name: int if part.name == "n" else annotation for part in source.subcons}
    record = make("Hostile", source, fields)
    data = bytes.fromhex(octets)
    check(record, data, engine)  # compiles the engine
    tracemalloc.start()
    try:
        check(record, data, engine)
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
    finally:
        tracemalloc.stop()

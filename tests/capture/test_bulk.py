"""Captures into columns: the records, faults and summary that decoding packet by packet comes to."""

from __future__ import annotations

import contextlib
import gc
import io
import random
import weakref
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import construct as c
import pytest
from annotated_types import Le
from capture_writer import Blocks, ethernet, fragment_of, ipv4, ipv6, pcap, udp
from laws import CORPUS

from protocol import PROTOCOLS
from protocol.snapshot import SnapshotV1, SnapshotV2, snapshot
from tests.test_columnar_face import entities
from wirelock import Protocol, Record, Registry, derived
from wirelock.capture.arrow.tables import FaultTable, RowTables
from wirelock.capture.bulk import decode_columns
from wirelock.capture.decode import FaultRow, Row, Selection, Summary, decode
from wirelock.errors import CaptureError

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures/captures").glob("*.pcap*"))


class PingV9(
    Record,
    layout=c.Struct("magic" / c.Const(b"WS"), "kind" / c.Const(9, c.Int8ub), "beat" / c.Int8ub),
):
    """Four bytes; many of them in a datagram."""

    magic: bytes = derived()
    kind: int = derived()
    beat: Annotated[int, Le(99)]


ping = Protocol("ping", {9: PingV9}, tag=("magic", "kind"), repeats=True)
BOTH = Registry(snapshot, ping)
PINGS = b"".join(PingV9(beat=beat).build() for beat in range(3))
SNAPSHOTS = [
    SnapshotV2(tick=7, entities=entities(3)).build(),
    SnapshotV2(tick=8, entities=()).build(),
    SnapshotV1.parse(bytes.fromhex("5753 01 09000000 0000")).build(),
]
PAYLOADS = [
    *SNAPSHOTS, PINGS, PINGS[:-1], PINGS + b"WS\x09\xff", PINGS + SNAPSHOTS[0], b"", b"W", b"WS", b"WS\x05",
    b"nothing of ours", SNAPSHOTS[0][:-1], SNAPSHOTS[0] + b"\0", b"\xff" + SNAPSHOTS[0],
]  # fmt: skip


def session(seed: int) -> bytes:
    """Return a capture of everything, in some order, with packets that are not plain between."""
    random.seed(seed)
    packets = []
    for number in range(90):
        datagram = udp(random.choice(PAYLOADS), source=random.choice([47800, 1]), destination=5000)
        carried = [ipv4(datagram), ipv6(datagram), ipv4(datagram, protocol=6), ipv4(datagram)[:-2]]
        pieces = [fragment_of(datagram, 0, 8, number=number), fragment_of(datagram, 8, 99, number=number)]
        chosen = random.choice([*([packet] for packet in carried), carried[:1], carried[:1], pieces])
        packets += [ethernet(packet, 0x86DD if packet[0] >> 4 == 6 else 0x0800) for packet in chosen]
    if seed % 2:
        return pcap([(1 << 31, at, packet) for at, packet in enumerate(packets)])
    made = Blocks(">")
    parts = [made.section(), made.interface(), made.interface(resolution=0x83)]
    for at, packet in enumerate(packets):
        ticks = random.choice([at, (1 << 64) - 1 - at])
        timed = made.enhanced(packet, interface=at % 2, ticks=ticks)
        parts.append(random.choice([made.simple(packet), *[timed] * 9]))
    return b"".join(parts)


def one_by_one(data: bytes, registry: Registry, selection: Selection) -> Any:
    summary, rows, faults, problem = Summary(), defaultdict(list), [], None
    try:
        for item in decode(io.BytesIO(data), registry, selection, summary):
            if isinstance(item, Row):
                rows[item.parsed.label].append((item.datagram, item.record))
            else:
                faults.append(item)
    except CaptureError as error:
        problem = str(error)
    return dict(rows), faults, asdict(replace(summary, read_bytes=0)), problem


def at_once(data: bytes, registry: Registry, selection: Selection, workers: int) -> Any:
    summary, rows, faults, problem = Summary(), defaultdict(list), list[FaultRow](), None
    try:
        for part in decode_columns(io.BytesIO(data), registry, selection, summary, workers=workers):
            faults += part.faults
            for found in part.records:
                datagrams = map(found.block.datagram, found.rows.tolist())
                label = found.protocol.label(found.version)
                rows[label] += zip(datagrams, found.table, strict=True)
                assert found.packets.tolist() == [it.packet for it, _ in rows[label][-len(found) :]]
                times = found.times.astype("i8").tolist()
                for time, (datagram, _) in zip(times, rows[label][-len(found) :], strict=True):
                    known = datagram.time_ns is not None and datagram.time_ns < 1 << 63
                    assert time == (datagram.time_ns if known else -(1 << 63))
    except CaptureError as error:
        problem = str(error)
    return dict(rows), faults, asdict(replace(summary, read_bytes=0)), problem


SELECTIONS = {
    "all": (BOTH, Selection()),
    "the project": (PROTOCOLS, Selection()),
    "a port": (BOTH, Selection(ports=frozenset({47800}))),
    "behind a byte": (BOTH, Selection(skip=1)),
    "one protocol": (BOTH, Selection(protocol=ping)),
    "one version": (BOTH, Selection(protocol=snapshot, version=2)),
    "tunnels": (PROTOCOLS, Selection(tunnels=True)),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_columns_are_the_rows_of_decode(name: str) -> None:
    captures = [*(file.read_bytes() for file in FIXTURES), *CORPUS[::4], *map(session, range(6))]
    labels = set()
    for number, data in enumerate(captures):
        wanted = one_by_one(data, *SELECTIONS[name])
        assert at_once(data, *SELECTIONS[name], workers=1 + number % 2) == wanted
        labels |= set(wanted[0])
    assert labels  # there was something to compare


@pytest.mark.parametrize("name", SELECTIONS)
def test_parts_one_by_one_are_decode(name: str) -> None:
    captures = [*(file.read_bytes() for file in FIXTURES), *CORPUS[::8], *map(session, range(6))]
    for data in captures:
        found: list[Any] = [[], []]
        with contextlib.suppress(CaptureError):
            found[0] += decode(io.BytesIO(data), *SELECTIONS[name], Summary(), "-")
        with contextlib.suppress(CaptureError):
            for part in decode_columns(io.BytesIO(data), *SELECTIONS[name]):
                found[1] += part.items()
        assert found[0] == found[1]


def test_closing_early_ends_the_thread() -> None:
    summary = Summary()
    parts = decode_columns(io.BytesIO(session(1)), PROTOCOLS, summary=summary)
    assert next(parts).records
    parts.close()
    assert summary.files == 1


def test_a_part_is_freed_when_it_is_not_wanted_any_more() -> None:
    """Also with faults: an error that some frame keeps would keep the columns until garbage is looked for."""
    blocks: list[weakref.ref[Any]] = []
    gc.disable()
    try:
        for part in decode_columns(io.BytesIO(session(1)), BOTH, workers=1):
            assert part.records and part.faults
            blocks += (weakref.ref(found.block.data) for found in part.records)
        del part
        assert [found() for found in blocks] == [None] * len(blocks)
    finally:
        gc.enable()


def files_of(data: bytes, columns: bool, form: str, lists: tuple[str, ...]) -> dict[str, bytes]:
    """Return the files that a capture comes to, from columns or record by record."""
    streams: dict[str, io.BytesIO] = defaultdict(io.BytesIO)
    tables = RowTables(
        lambda shape: Path(shape[0].label(shape[1])),
        lambda path: contextlib.nullcontext(streams[path.name]),
        form, many_files=True, upgraded=False, lists=lists,
    )  # fmt: skip
    with tables, FaultTable(streams["faults"], form) as faults:
        if columns:
            for part in decode_columns(io.BytesIO(data), BOTH, name="a"):
                for records in part.records:
                    tables.write_records(records, "a")
                for fault in part.faults:
                    faults.write(fault)
        else:
            for item in decode(io.BytesIO(data), BOTH, Selection(), Summary(), "a"):
                (tables if isinstance(item, Row) else faults).write(item)  # type: ignore[arg-type]
    return {name: stream.getvalue() for name, stream in streams.items()}


@pytest.mark.parametrize("lists", [(), ("record.entities",)])
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files_are_the_same_to_the_byte(form: str, lists: tuple[str, ...], monkeypatch: Any) -> None:
    monkeypatch.setattr("wirelock.capture.arrow.files.GROUP_ROWS", 7)
    monkeypatch.setattr("wirelock.capture.arrow.files.GROUP_BYTES", 300)
    for data in (*map(session, range(4)), FIXTURES[-1].read_bytes()):
        assert files_of(data, True, form, lists) == files_of(data, False, form, lists)

"""Captures into columns: the records, faults and summary that decoding packet by packet comes to."""

from __future__ import annotations

import contextlib
import gc
import io
import weakref
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from laws import CORPUS
from sessions import BOTH, SELECTIONS, session

from protocol import PROTOCOLS
from wirelock import Registry
from wirelock.capture.arrow.tables import FaultTable, RowTables
from wirelock.capture.bulk import decode_columns
from wirelock.capture.decode import FaultRow, Row, Selection, Summary, decode
from wirelock.errors import CaptureError

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures/captures").glob("*.pcap*"))
ENDS = [("sources", "source_ports", "source"), ("destinations", "destination_ports", "destination")]


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
                mine = [datagram for datagram, _ in rows[label][-len(found) :]]
                assert found.packets.tolist() == [it.packet for it in mine]
                for ends, ports, end in ENDS:
                    assert getattr(found, ends).tolist() == [getattr(it, end) for it in mine]
                    assert getattr(found, ports).tolist() == [getattr(it, f"{end}_port") for it in mine]
                times = found.times.astype("i8").tolist()
                for time, datagram in zip(times, mine, strict=True):
                    known = datagram.time_ns is not None and abs(datagram.time_ns) < 1 << 63
                    assert time == (datagram.time_ns if known else -(1 << 63))
    except CaptureError as error:
        problem = str(error)
    return dict(rows), faults, asdict(replace(summary, read_bytes=0)), problem


@pytest.mark.parametrize("name", SELECTIONS)
def test_columns_are_the_rows_of_decode(name: str) -> None:
    captures = [*(file.read_bytes() for file in FIXTURES), *CORPUS[::4], *map(session, map(Random, range(6)))]
    labels = set()
    for number, data in enumerate(captures):
        wanted = one_by_one(data, *SELECTIONS[name])
        assert at_once(data, *SELECTIONS[name], workers=1 + number % 2) == wanted
        labels |= set(wanted[0])
    assert labels  # there was something to compare


@pytest.mark.parametrize("name", SELECTIONS)
def test_parts_one_by_one_are_decode(name: str) -> None:
    captures = [*(file.read_bytes() for file in FIXTURES), *CORPUS[::8], *map(session, map(Random, range(6)))]
    for data in captures:
        found: list[Any] = [[], []]
        with contextlib.suppress(CaptureError):
            found[0] += decode(io.BytesIO(data), *SELECTIONS[name], Summary(), "-")
        with contextlib.suppress(CaptureError):
            for part in decode_columns(io.BytesIO(data), *SELECTIONS[name]):
                found[1] += part.items()
        assert found[0] == found[1]


def test_what_to_decode_and_what_is_counted_may_be_left_out() -> None:
    capture = FIXTURES[0].with_name("session.pcapng")
    found = list(decode(capture, PROTOCOLS))
    assert found == list(decode(capture, PROTOCOLS, Selection(), Summary())) and len(found) > 300
    assert sum(
        len(records) for part in decode_columns(capture, PROTOCOLS) for records in part.records
    ) == sum(isinstance(item, Row) for item in found)


def test_what_is_shown_of_a_part_is_short() -> None:
    (part,) = decode_columns(FIXTURES[0].with_name("session.pcapng"), PROTOCOLS)
    shown = [repr(part), *map(repr, part.records), repr(part.records[0].block)]
    assert all(len(text) < 100 for text in shown), shown
    label = part.records[0].protocol.label(part.records[0].version)
    assert shown[0].startswith(f"<Part: {label}: {len(part.records[0])}")
    assert shown[0].endswith(f"; {len(part.faults)} faults>")
    assert shown[1] == f"<Records of {label}: {len(part.records[0])}>"


def test_closing_early_ends_the_thread() -> None:
    summary = Summary()
    parts = decode_columns(io.BytesIO(session(Random(1))), PROTOCOLS, summary=summary)
    assert next(parts).records
    parts.close()
    assert summary.files == 1


def test_a_part_is_freed_when_it_is_not_wanted_any_more() -> None:
    """Also with faults: an error that some frame keeps would keep the columns until garbage is looked for."""
    blocks: list[weakref.ref[Any]] = []
    data = session(Random(1))
    assert list(decode_columns(io.BytesIO(data), BOTH))  # numba keeps what it compiles for until then
    gc.collect()
    gc.disable()
    try:
        for part in decode_columns(io.BytesIO(data), BOTH, workers=1):
            assert part.records and part.faults
            blocks += (weakref.ref(found.block.data) for found in part.records)
        del part
        assert [found() for found in blocks] == [None] * len(blocks)
    finally:
        gc.enable()


def files_of(
    data: bytes, columns: bool, form: str, lists: tuple[str, ...], derived: bool
) -> dict[str, bytes]:
    """Return the files that a capture comes to, from columns or record by record."""
    streams: dict[str, io.BytesIO] = defaultdict(io.BytesIO)
    tables = RowTables(
        lambda shape: Path(shape[0].label(shape[1])),
        lambda path: streams[path.name],
        form, many_files=True, upgraded=False, lists=lists, derived=derived,
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


@pytest.mark.parametrize("derived", [False, True])
@pytest.mark.parametrize("lists", [(), ("record.entities",)])
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files_are_the_same_to_the_byte(
    form: str, lists: tuple[str, ...], derived: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr("wirelock.capture.arrow.files.GROUP_ROWS", 7)
    monkeypatch.setattr("wirelock.capture.arrow.files.GROUP_BYTES", 300)
    for data in (*map(session, map(Random, range(4))), FIXTURES[-1].read_bytes()):
        assert files_of(data, True, form, lists, derived) == files_of(data, False, form, lists, derived)

"""Capture files -> rows (records with the packet that brought them) and faults, in packet order.

Streams: nothing is kept but the Summary's counts. A record's fault counts bytes from the start of the
UDP payload, as a packet analyser shows it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from wirelock.capture.datagrams import Datagram, read_datagrams
from wirelock.capture.files import CaptureFault, Counts, Packet, read_capture
from wirelock.codec.words import utc
from wirelock.errors import DecodeError, Fault
from wirelock.schema.record import Record
from wirelock.schema.registry import Parsed, Protocol, Registry
from wirelock.shown import escaped, file_text

__all__ = [
    "FaultRow", "Row", "Selection", "Summary", "decode", "decode_item", "endpoint", "fault_row", "records_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Selection:
    """Which datagrams to decode, and as what.

    `ports`: only datagrams from or to one of these (all if empty). `skip`: payload bytes before the
    first record. `protocol` and `version`: what the payload is, where its tag is not to decide.
    `tunnels`: datagrams inside of tunnels in place of those that carry them.
    """

    ports: frozenset[int] = frozenset()
    skip: int = 0
    protocol: Protocol | None = None
    version: int | None = None
    tunnels: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One record with the datagram that brought it.

    `sent_version` is the version of its bytes where the record was brought to another one, or may have been.
    """

    file: str
    datagram: Datagram
    parsed: Parsed
    sent_version: int | None = None

    @property
    def record(self) -> Record:
        """The record."""
        return self.parsed.record


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One fault: of the file, of a packet's headers, or of a record.

    `packet`, `datagram` and `record` (such as `snapshot v2`) are None as far as they are not known; `fault`
    is that of the capture in place of a datagram.
    """

    file: str
    code: str
    path: str
    message: str
    place: str
    packet: int | None = None
    datagram: Datagram | None = None
    record: str | None = None
    byte: int | None = None
    fault: CaptureFault | None = None

    @property
    def about(self) -> Datagram | CaptureFault | None:
        """What says when it was, and between whom."""
        return self.datagram or self.fault

    def __str__(self) -> str:
        """One line, in which what others wrote is escaped."""
        origin, about, datagram = [self.file], self.about, self.datagram
        if self.packet is not None:
            origin.append(f"packet {self.packet}")
        if about is not None and about.time_ns is not None:
            origin.append(utc(about.time_ns))
        if datagram is not None:
            source = endpoint(datagram.source, datagram.source_port)
            origin.append(f"{source} -> {endpoint(datagram.destination, datagram.destination_port)}")
        elif about is not None and about.source:
            origin.append(f"{about.source} -> {about.destination}")
        where = f"{self.path}: " if self.path else ""
        place = f" ({self.place})" if self.place else ""
        return escaped(f"{' '.join(origin)}: {self.record or self.code}: {where}{self.message}{place}")


@dataclass(slots=True)
class Summary:
    """What was in the captures, counted while they are decoded.

    Every packet is counted once: packets = datagrams + other_traffic + refused + fragments (those that came
    out as another packet); every datagram once:
    datagrams = decoded + faulty + foreign + other_ports. `faults` counts fault rows by code; `bytes`
    are those of the packets as captured, link headers included, and `read_bytes` those of the files that
    were read so far, as they are (compressed, say); `lost_bytes` are those that damage cost, once unpacked.
    """

    files: int = 0
    bytes: int = 0
    read_bytes: int = 0
    lost_bytes: int = 0
    packets: int = 0
    datagrams: int = 0
    refused: int = 0
    fragments: int = 0
    other_traffic: Counter[str] = field(default_factory=Counter)
    other_ports: int = 0
    foreign: int = 0
    decoded: int = 0
    faulty: int = 0
    records: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    first_ns: int | None = None
    last_ns: int | None = None

    @property
    def duration_ns(self) -> int | None:
        """From the first datagram's time to the last's; None where no datagram has a time."""
        if self.first_ns is None or self.last_ns is None:
            return None
        return self.last_ns - self.first_ns

    def close(self, counts: Counts) -> None:
        """Count what the reading of a capture came to."""
        self.files += 1
        self.refused += counts.refused
        self.fragments += counts.fragments
        self.lost_bytes += counts.lost_bytes
        self.other_traffic += counts.others

    def see(self, time_ns: int | None) -> None:
        """Note the time of a datagram."""
        if time_ns is not None:
            self.first_ns = time_ns if self.first_ns is None else min(self.first_ns, time_ns)
            self.last_ns = time_ns if self.last_ns is None else max(self.last_ns, time_ns)


def decode(
    capture: Path | BinaryIO,
    registry: Registry,
    selection: Selection | None = None,
    summary: Summary | None = None,
    name: str | None = None,
    seen: Callable[[Packet], None] | None = None,
) -> Iterator[Row | FaultRow]:
    """Yield the rows and faults of one capture, and keep the summary.

    Without a `selection` every datagram is read that has a tag of the registry's. `name` stands for the file
    in rows; `seen` is called with every packet before what came of it is yielded.
    Raises CaptureError where the file is no capture.
    """
    selection = selection or Selection()
    summary = Summary() if summary is None else summary
    file = file_text(name or (os.fspath(capture) if isinstance(capture, Path) else "-"))
    counts = Counts()
    try:
        packets = _counted(read_capture(capture, counts, file), counts, summary, seen)
        for item in read_datagrams(packets, counts, tunnels=selection.tunnels):
            yield from decode_item(item, file, registry, selection, summary)
    finally:
        summary.close(counts)


def _counted(
    items: Iterator[Packet | CaptureFault],
    counts: Counts,
    summary: Summary,
    seen: Callable[[Packet], None] | None,
) -> Iterator[Packet | CaptureFault]:
    before = summary.read_bytes
    for item in items:
        summary.read_bytes = before + counts.file_bytes
        if isinstance(item, Packet):
            summary.packets += 1
            summary.bytes += item.captured
            if seen is not None:
                seen(item)
        yield item


def decode_item(
    item: Datagram | CaptureFault, file: str, registry: Registry, selection: Selection, summary: Summary
) -> Iterator[Row | FaultRow]:
    """Yield what a datagram, or a fault in the place of one, comes to, and keep the summary."""
    if isinstance(item, CaptureFault):
        summary.faults[item.code] += 1
        yield FaultRow(file, item.code, "", item.message, item.place, item.packet, byte=item.byte, fault=item)
        return
    summary.datagrams += 1
    summary.see(item.time_ns)
    if selection.ports.isdisjoint((item.source_port, item.destination_port)) and selection.ports:
        summary.other_ports += 1
        return
    if item.faults:
        # The payload is not what was sent, so its record's own faults would blame the sender.
        summary.faulty += 1
        for fault in item.faults:
            summary.faults[fault.code] += 1
            yield FaultRow(
                file, fault.code, "", fault.message, fault.place, item.packet, item, byte=fault.byte
            )
        return
    try:
        for parsed in records_of(item, registry, selection):
            summary.records[parsed.label] += 1
            yield Row(file, item, parsed)
        summary.decoded += 1
    except DecodeError as error:
        if error.code == "foreign":
            summary.foreign += 1
            return
        summary.faulty += 1
        found = fault_row(error, item, file, selection)
        summary.faults[found.code] += 1
        yield found


def records_of(datagram: Datagram, registry: Registry, selection: Selection) -> Iterator[Parsed]:
    """Yield the records in a payload. Raises DecodeError."""
    payload = datagram.payload[selection.skip :]
    if len(datagram.payload) < selection.skip:
        raise DecodeError(
            "payload",
            Fault("truncated", "", str(len(datagram.payload)), str(selection.skip), -selection.skip),
        )
    if selection.protocol is None:
        yield from registry.parse_all(payload)
    else:
        yield from selection.protocol.parse_all(payload, version=selection.version)


def fault_row(error: DecodeError, datagram: Datagram, file: str, selection: Selection) -> FaultRow:
    """Return the fault of a record, whose bytes count from the start of the payload."""
    found = error.fault.within("", selection.skip)
    return FaultRow(
        file,
        found.code,
        found.path,
        found.message,
        found.place,
        datagram.packet,
        datagram,
        error.record,
        found.byte,
    )


def endpoint(address: str, port: int) -> str:
    """Return an address and port as URLs write them: an IPv6 address goes into brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

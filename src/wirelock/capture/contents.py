"""A capture -> what is in it, without any protocol: its format, interfaces, packets, UDP flows and faults.

Streams: what is kept are counts, and of flows the first 65536.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from wirelock.capture.datagrams import Datagram, read_datagrams
from wirelock.capture.files import CaptureFault, Counts, Packet, read_capture

__all__ = ["Contents", "Flow", "Traffic", "contents_of"]

MOST_FLOWS: Final = 1 << 16
"""The flows that are told apart."""


class Flow(NamedTuple):
    """Who sends to whom: addresses as text, and ports."""

    source: str
    source_port: int
    destination: str
    destination_port: int


@dataclass(slots=True)
class Traffic:
    """Datagrams, and the bytes of their payloads."""

    datagrams: int = 0
    bytes: int = 0

    def add(self, datagram: Datagram) -> None:
        """Count a datagram."""
        self.datagrams += 1
        self.bytes += len(datagram.payload)


@dataclass(slots=True)
class Contents:
    """What is in a capture.

    `captured` are the bytes of its packets, link headers included, of `original` bytes on the link; times
    are those of the earliest and the latest packet, None where no packet has one. `timeless` packets have
    none. `links` counts packets by link type. `flows` are in the order of their first datagram, and
    `other_flows` is what belongs to those that are not told apart. `faults` counts by code those of the
    file, of packets and of datagrams.
    """

    counts: Counts = field(default_factory=Counts)
    captured: int = 0
    original: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    timeless: int = 0
    links: Counter[int] = field(default_factory=Counter)
    flows: dict[Flow, Traffic] = field(default_factory=dict)
    other_flows: Traffic = field(default_factory=Traffic)
    faults: Counter[str] = field(default_factory=Counter)

    def see(self, packet: Packet) -> None:
        """Count a packet."""
        self.captured += packet.captured
        self.original += packet.original
        self.links[packet.link_type] += 1
        time = packet.time_ns
        if time is None:
            self.timeless += 1
            return
        self.first_ns = time if self.first_ns is None else min(self.first_ns, time)
        self.last_ns = time if self.last_ns is None else max(self.last_ns, time)

    def add(self, datagram: Datagram) -> None:
        """Count a datagram."""
        self.faults.update(fault.code for fault in datagram.faults)
        flow = Flow(
            datagram.source, datagram.source_port, datagram.destination, datagram.destination_port
        )  # fmt: skip
        traffic = self.flows.get(flow)
        if traffic is None:
            known = len(self.flows) < MOST_FLOWS
            traffic = self.flows.setdefault(flow, Traffic()) if known else self.other_flows
        traffic.add(datagram)


def contents_of(capture: Path | BinaryIO, name: str, *, tunnels: bool = False) -> Contents:
    """Read a capture to its end. Raises CaptureError where it is none; `name` is what errors call it."""
    found = Contents()
    packets = _seen(read_capture(capture, found.counts, name), found)
    for item in read_datagrams(packets, found.counts, tunnels=tunnels):
        if isinstance(item, CaptureFault):
            found.faults[item.code] += 1
        else:
            found.add(item)
    return found


def _seen(items: Iterator[Packet | CaptureFault], found: Contents) -> Iterator[Packet | CaptureFault]:
    for item in items:
        if isinstance(item, Packet):
            found.see(item)
        yield item

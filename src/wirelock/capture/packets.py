"""What comes out of a capture: packets, faults, what was written about them, and the count of it all.

Refused and Other are raised while a packet's headers are read, and never leave this room.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = [
    "CaptureFault", "Counts", "Interface", "Other", "Packet", "Refused", "Section", "Within",
    "time_in_64_bits",
]  # fmt: skip

SECOND: Final = 1_000_000_000
"""Nanoseconds."""

Within = Literal["file", "unpacked file", "packet", "reassembled packet"]


def time_in_64_bits(time_ns: int | None) -> int | None:
    """Return a time that a column can hold, where the lowest number of 64 bits stands for none."""
    return time_ns if time_ns is not None and abs(time_ns) < 1 << 63 else None


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet as it was captured.

    `time_ns` counts nanoseconds since the epoch, rounded down; None where the file does not say.
    `interface` is the interface's number in its section (0 in pcap). Of `original` bytes on the link,
    `captured` are in `data`, which begin at `byte` of the file (once unpacked).
    """

    number: int
    time_ns: int | None
    interface: int
    link_type: int
    captured: int
    original: int
    data: bytes
    byte: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class CaptureFault:
    """Something wrong in a capture: a stable code, what was found, and where.

    `packet` is the number of the packet that the fault is about, None where that is a block that
    holds no packet. `byte` counts from the start of the file, of the file once it is unpacked, of the
    packet, or of the packet that fragments made, as `within` says. `time_ns`, `source` and `destination`
    are those of the packet, as far as they are known.
    """

    packet: int | None
    code: str
    message: str
    byte: int
    within: Within
    time_ns: int | None = field(default=None, compare=False)
    source: str | None = field(default=None, compare=False)
    destination: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        place = self.place
        if self.packet is not None:
            place = f"packet {self.packet}; {place}"
        return f"{self.code}: {self.message} ({place})"

    @property
    def place(self) -> str:
        """The position in words: `byte 41 of the packet`."""
        return f"byte {self.byte} of the {self.within}"


@dataclass(slots=True)
class Interface:
    """What captured packets: an interface of a pcapng section, or the one of a pcap file.

    A second has `per_second` ticks, 0 where that is not known; times count from `offset` seconds after
    the epoch. `snaplen` is the most bytes of a packet that were to be kept, 0 for all.
    """

    link_type: int
    snaplen: int
    per_second: int = 0
    offset: int = 0
    name: str = ""
    packets: int = 0

    def time_ns(self, ticks: int) -> int | None:
        """Return nanoseconds since the epoch, rounded down; None where the resolution is not known."""
        return self.offset * SECOND + ticks * SECOND // self.per_second if self.per_second else None


@dataclass(slots=True)
class Section:
    """A pcapng section or a whole pcap file: its format in words, its byte order and its interfaces.

    An interface that could not be read is None; packets refer to interfaces by number.
    """

    format: str
    order: str
    application: str = ""
    interfaces: list[Interface | None] = field(default_factory=list)


MOST_INTERFACES: Final = 1 << 16
"""The interfaces of one section that are kept."""
MOST_SECTIONS: Final = 1 << 10
"""The sections of a file that are kept in its Counts, as long as they have no more than that number of
interfaces; those behind are counted."""


@dataclass(slots=True)
class Counts:
    """What a capture held, kept up to date while it is read.

    Once all is read, every packet is counted once: `packets == datagrams + refused + fragments +
    others.total()`; and every byte of the file (once unpacked): `bytes == header_bytes + packet_bytes +
    skipped_bytes + lost_bytes`.
    """

    packets: int = 0
    """Packets read from the file."""
    damages: int = 0
    """Faults of the file itself."""
    blocks: int = 0
    """pcapng blocks that hold no packet and describe no interface: skipped."""
    datagrams: int = 0
    """Packets that came out as UDP datagrams, with faults or without."""
    refused: int = 0
    """Packets that came out as faults."""
    fragments: int = 0
    """Packets that are pieces of a datagram or fault that came out as another packet."""
    others: Counter[str] = field(default_factory=Counter)
    """Packets of other protocols, by protocol."""
    bytes: int = field(default=0, compare=False)
    """Bytes of the file, once unpacked."""
    file_bytes: int = field(default=0, compare=False)
    """Bytes that were taken from the file so far, as it is."""
    header_bytes: int = field(default=0, compare=False)
    """Those of file headers, sections and interfaces."""
    packet_bytes: int = field(default=0, compare=False)
    """Those of packets, with the headers that the container puts before and behind them."""
    skipped_bytes: int = field(default=0, compare=False)
    """Those of blocks that were skipped."""
    lost_bytes: int = field(default=0, compare=False)
    """Those inside of damage, or behind damage that ended the reading."""
    compression: str = field(default="", compare=False)
    """`gzip`, `zstd`, or nothing."""
    section_count: int = field(default=0, compare=False)
    """The sections of a pcapng file; 1 for pcap."""
    sections: list[Section] = field(default_factory=list, compare=False)
    """The first of them."""

    def add_section(self, section: Section) -> None:
        """Count a section, and keep it if it is one of the first."""
        self.section_count += 1
        room = len(self.sections) < MOST_SECTIONS
        if room and sum(len(kept.interfaces) for kept in self.sections) < MOST_INTERFACES:
            self.sections.append(section)

    @property
    def balanced(self) -> bool:
        """Whether every packet and every byte was counted once; True for every capture read to its end."""
        packets = self.datagrams + self.refused + self.fragments + self.others.total()
        size = self.header_bytes + self.packet_bytes + self.skipped_bytes + self.lost_bytes
        return self.packets == packets and self.bytes == size


class Other(Exception):  # noqa: N818 - control flow inside this room
    """The packet is no UDP; the argument names the protocol that it is."""


class Refused(Exception):  # noqa: N818 - control flow inside this room
    """The packet cannot be read. Arguments: code, message, byte of what is read."""

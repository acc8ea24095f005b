"""A capture file -> its packets in file order, one at a time and in flat memory: pcap and pcapng.

What is no capture raises CaptureError. Behind a readable start nothing raises: damage is a CaptureFault,
and each packet's number, counted from 1, comes out once, as a Packet or as the fault that lost it.
No length found in a file allocates more than the bytes that are there.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias

from wirelock.capture.headers import PCAP, PCAPNG
from wirelock.codec.trail import Found
from wirelock.errors import CaptureError
from wirelock.layout.nodes import ByteOrder

__all__ = ["FILE_FAULTS", "CaptureFault", "Counts", "Packet", "read_capture"]

FILE_FAULTS: Final = {
    "cut": "the file ends inside of a packet or block",
    "bad-length": "an impossible length; where the next packet begins is not known, so reading ends",
    "bad-section": "a pcapng section of another version or without a byte order, so reading ends",
    "bad-block": "a pcapng block that does not hold what it must",
    "bad-option": "a pcapng interface whose time resolution cannot be read; its packets have no time",
    "no-interface": "a pcapng packet of an interface that its section does not describe",
}
"""What can be wrong with a file, by code."""

LARGEST: Final = 1 << 28
"""Bytes of the largest packet or block: more than any link type of libpcap allows."""
MOST_INTERFACES: Final = 1 << 16
"""The interfaces of one pcapng section that are kept."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet as it was captured.

    `time_ns` counts nanoseconds since the epoch, rounded down; None where the file does not say.
    `interface` is the interface's number in its section (0 in pcap). Of `original` bytes on the link,
    `captured` are in `data`.
    """

    number: int
    time_ns: int | None
    interface: int
    link_type: int
    captured: int
    original: int
    data: bytes


@dataclass(frozen=True, slots=True)
class CaptureFault:
    """Something wrong in a capture: a stable code, what was found, and where.

    `packet` is the number of the packet that the fault is about, None where that is a block that
    holds no packet. `byte` counts from the start of the file, or of the packet, as `within` says.
    """

    packet: int | None
    code: str
    message: str
    byte: int
    within: Literal["file", "packet"]

    def __str__(self) -> str:
        place = f"byte {self.byte} of the {self.within}"
        if self.packet is not None:
            place = f"packet {self.packet}; {place}"
        return f"{self.code}: {self.message} ({place})"


@dataclass(slots=True)
class Counts:
    """What a capture held: once all is read, `packets == datagrams + refused + others.total()`."""

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
    others: Counter[str] = field(default_factory=Counter)
    """Packets of other protocols, by protocol."""


Source: TypeAlias = str | os.PathLike[str] | BinaryIO


def read_capture(source: Source, counts: Counts | None = None) -> Iterator[Packet | CaptureFault]:
    """Yield the packets and faults of a file, given by path or open in binary mode.

    Raises CaptureError, when first asked for an item, for what is no capture or cannot be read.
    `counts` is kept up to date. A file that was given open stays open.
    """
    counts = Counts() if counts is None else counts
    if not isinstance(source, str | os.PathLike):
        yield from _read(_Input(source, str(getattr(source, "name", "the capture"))), counts)
        return
    try:
        file = Path(source).open("rb", buffering=_PIECE)  # noqa: SIM115 - closed below, opened apart
    except (OSError, ValueError) as error:
        raise CaptureError(f"{source}: {getattr(error, 'strerror', None) or error}") from error
    with file:
        yield from _read(_Input(file, str(source)), counts)


_PIECE: Final = 1 << 18


class _Input:
    """A file read forward, in bounded pieces, that knows how far it has come."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        self.byte = 0
        self._read = file.read

    def take(self, size: int) -> bytes:
        """Return the next bytes: fewer than `size` only where the file ends."""
        try:
            data = self._read(min(size, _PIECE))
            if len(data) < size:
                data = self._gather(data, size)
        except OSError as error:
            raise CaptureError(f"{self.name}: {error.strerror or error}") from error
        self.byte += len(data)
        return data

    def _gather(self, piece: bytes, size: int) -> bytes:
        pieces, left = [piece], size - len(piece)
        while left and piece:
            piece = self._read(min(left, _PIECE))
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def skip(self, size: int) -> int:
        """Pass over bytes; return how many were there."""
        start, end = self.byte, self.byte + size
        while self.byte < end and self.take(min(end - self.byte, _PIECE)):
            pass
        return self.byte - start

    def refuse(self, problem: str) -> CaptureError:
        return CaptureError(f"{self.name}: {problem}")


def _read(file: _Input, counts: Counts) -> Iterator[Packet | CaptureFault]:
    magic = file.take(4)
    if not isinstance(magic, bytes):
        raise file.refuse("is not open in binary mode")
    if magic in _PCAP_KINDS:
        return _read_pcap(file, magic, counts)
    if magic == _SECTION_MAGIC:
        return _Pcapng(file).read(magic, counts)
    raise file.refuse(_no_capture(magic))


_FOREIGN: Final = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zX": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"snoo": "snoop",
}


def _no_capture(magic: bytes) -> str:
    if not magic:
        return "is empty"
    for start, name in _FOREIGN.items():
        if magic.startswith(start):
            return f"is {name}; {name} is not read yet"
    return f"begins with {magic.hex(' ')}, as no capture does"


# -- pcap ----------------------------------------------------------------------------------------

_PCAP_KINDS: Final[dict[bytes, tuple[ByteOrder, int, bool]]] = {
    b"\xa1\xb2\xc3\xd4": ("big", 1000, False),
    b"\xd4\xc3\xb2\xa1": ("little", 1000, False),
    b"\xa1\xb2\x3c\x4d": ("big", 1, False),
    b"\x4d\x3c\xb2\xa1": ("little", 1, False),
    b"\xa1\xb2\xcd\x34": ("big", 1000, True),
    b"\x34\xcd\xb2\xa1": ("little", 1000, True),
}
"""Magic -> byte order, nanoseconds in a fraction's tick, whether records are of the modified kind."""

_LINK_TYPE: Final = 0xFFFF
"""The part of pcap's word that is the link type; above it lies the length of the frame check sequence."""


def _read_pcap(file: _Input, magic: bytes, counts: Counts) -> Iterator[Packet | CaptureFault]:
    order, tick, modified = _PCAP_KINDS[magic]
    start = magic + file.take(PCAP[order].file.size - len(magic))
    if len(start) < PCAP[order].file.size:
        raise file.refuse(f"is a pcap file of {len(start)} bytes, less than its header")
    head = PCAP[order].file.read(start)
    if (head.major, head.minor) != (2, 4):
        raise file.refuse(f"is pcap version {head.major}.{head.minor}; only version 2.4 is read")
    link_type = head.link_type & _LINK_TYPE
    record = PCAP[order].modified_record if modified else PCAP[order].record
    while start := file.take(record.size):
        number, byte = counts.packets + 1, file.byte - len(start)
        if len(start) < record.size:
            yield _lost(counts, number, "cut", _short(record.size, len(start)), byte)
            return
        head = record.read(start)
        captured = head.captured
        if captured > LARGEST:
            yield _lost(counts, number, "bad-length", f"a packet of {captured} bytes", byte)
            return
        data = file.take(captured)
        if len(data) < captured:
            yield _lost(counts, number, "cut", _short(captured, len(data)), byte + record.size)
            return
        counts.packets = number
        time_ns = head.seconds * 1_000_000_000 + head.fraction * tick
        yield Packet(number, time_ns, 0, link_type, captured, head.original, data)


def _lost(counts: Counts, packet: int | None, code: str, message: str, byte: int) -> CaptureFault:
    counts.damages += 1
    return CaptureFault(packet, code, message, byte, "file")


def _short(wanted: int, left: int) -> str:
    return f"{wanted} bytes wanted, {left} left"


# -- pcapng --------------------------------------------------------------------------------------

_SECTION_MAGIC: Final = b"\x0a\x0d\x0d\x0a"
_ORDERS: Final[dict[bytes, ByteOrder]] = {b"\x1a\x2b\x3c\x4d": "big", b"\x4d\x3c\x2b\x1a": "little"}

_SECTION: Final = 0x0A0D0D0A
_INTERFACE: Final = 1
_OBSOLETE: Final = 2
_SIMPLE: Final = 3
_ENHANCED: Final = 6
_PACKETS: Final = frozenset({_OBSOLETE, _SIMPLE, _ENHANCED})

_OPTIONS_END: Final = 0
_TIME_RESOLUTION: Final = 9
_TIME_OFFSET: Final = 14
_OPTION_SIZES: Final = {_TIME_RESOLUTION: 1, _TIME_OFFSET: 8}


@dataclass(frozen=True, slots=True)
class _Interface:
    """What packets need of their interface; `per_second` is 0 where the resolution is not known."""

    link_type: int
    snaplen: int
    per_second: int = 0
    offset_ns: int = 0

    def time_ns(self, ticks: int) -> int | None:
        if not self.per_second:
            return None
        return self.offset_ns + ticks * 1_000_000_000 // self.per_second


class _Damage(Exception):  # noqa: N818 - control flow inside this file
    """Something wrong with the pcapng block being read."""

    def __init__(self, code: str, message: str, byte: int) -> None:
        super().__init__(code, message, byte)
        self.code, self.message, self.byte = code, message, byte


class _Pcapng:
    """Reads blocks one by one; knows the byte order and the interfaces of the current section."""

    def __init__(self, file: _Input) -> None:
        self.file = file
        self.headers = PCAPNG["little"]
        self.interfaces: list[_Interface | None] = []
        self.kind: int | None = None
        """The type of the block being read, as far as it is known."""
        self.byte = 0
        """Where that block begins."""

    def read(self, magic: bytes, counts: Counts) -> Iterator[Packet | CaptureFault]:
        """Yield what is in the file that begins with `magic`."""
        try:
            self._section(self._next(magic))
        except (_Damage, Found) as damage:
            raise self.file.refuse(f"is pcapng without a readable section: {self._told(damage)[1]}") from None
        number = 0
        while True:
            try:
                body = self._next()
            except _Damage as damage:
                lost = None if self.kind is not None and self.kind not in _PACKETS else number + 1
                yield _lost(counts, lost, *self._told(damage))
                return
            if body is None:
                return

    def _next(self, start: bytes = b"") -> bytes | None:
        ...

"""A capture file -> its packets in file order, one at a time and in flat memory: pcap and pcapng.

What is no capture raises CaptureError. Behind a readable start nothing raises: damage is a CaptureFault,
and each packet's number, counted from 1, comes out once, as a Packet or as the fault that lost it.
No length found in a file allocates more than the bytes that are there.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, Literal

from wirelock.capture import headers
from wirelock.codec.trail import Found
from wirelock.errors import CaptureError

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
_FINAL: Final = frozenset({"cut", "bad-length", "bad-section"})

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


def read_capture(
    source: str | os.PathLike[str] | BinaryIO, counts: Counts | None = None, name: str | None = None
) -> Iterator[Packet | CaptureFault]:
    """Yield the packets and faults of a file, given by path or open in binary mode.

    Raises CaptureError, when first asked for an item, for what is no capture or cannot be read.
    `counts` is kept up to date. A file that was given open stays open; `name` is what errors call it.
    """
    counts = Counts() if counts is None else counts
    if isinstance(source, str | os.PathLike):
        with _open(source) as file:
            yield from _read(_Input(file, str(source)), counts)
    else:
        yield from _read(_Input(source, name or str(getattr(source, "name", "the capture"))), counts)


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        return Path(path).open("rb", buffering=_PIECE)
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


_PIECE: Final = 1 << 18


class _Input:
    """A file read forward, in bounded pieces, that knows how far it has come."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        self.byte = 0
        self._read = file.read
        if isinstance(file, io.TextIOBase):
            raise self.refuse("is not open in binary mode")

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
        start = self.byte
        while (left := start + size - self.byte) and self.take(min(left, _PIECE)):
            pass
        return self.byte - start

    def refuse(self, problem: str) -> CaptureError:
        """Return the error that this file is no capture."""
        return CaptureError(f"{self.name}: {problem}")


def _read(file: _Input, counts: Counts) -> Iterator[Packet | CaptureFault]:
    magic = file.take(4)
    if magic in headers.PCAP_KINDS:
        return _read_pcap(file, magic, counts)
    if magic == headers.SECTION_MAGIC:
        return _Pcapng(file).read(magic, counts)
    raise file.refuse(_no_capture(magic))


def _no_capture(magic: bytes) -> str:
    if not magic:
        return "is empty"
    for start, name in headers.FOREIGN.items():
        if magic.startswith(start):
            return f"is {name}; {name} is not read yet"
    return f"begins with {magic.hex(' ')}, as no capture does"


# -- pcap ----------------------------------------------------------------------------------------


def _read_pcap(file: _Input, magic: bytes, counts: Counts) -> Iterator[Packet | CaptureFault]:
    order, tick, modified = headers.PCAP_KINDS[magic]
    start = magic + file.take(headers.PCAP[order].file.size - len(magic))
    if len(start) < headers.PCAP[order].file.size:
        raise file.refuse(f"is a pcap file of {len(start)} bytes, less than its header")
    head = headers.PCAP[order].file.read(start)
    if (head.major, head.minor) != (2, 4):
        raise file.refuse(f"is pcap version {head.major}.{head.minor}; only version 2.4 is read")
    link_type = head.link_type & headers.LINK_TYPE_BITS
    record = headers.PCAP[order].modified_record if modified else headers.PCAP[order].record
    number = 0
    while start := file.take(record.size):
        number += 1
        byte = file.byte - len(start)
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
        counts.packets += 1
        time_ns = head.seconds * _SECOND + head.fraction * tick
        yield Packet(number, time_ns, 0, link_type, captured, head.original, data)


def _lost(counts: Counts, packet: int | None, code: str, message: str, byte: int) -> CaptureFault:
    counts.damages += 1
    return CaptureFault(packet, code, message, byte, "file")


def _short(wanted: int, left: int) -> str:
    return f"{wanted} bytes wanted, {left} left"


# -- pcapng --------------------------------------------------------------------------------------

_SECOND: Final = 1_000_000_000
_BLOCK: Final = headers.PCAPNG["little"].block.size


@dataclass(frozen=True, slots=True)
class _Interface:
    """What packets need of their interface; `per_second` is 0 where the resolution is not known."""

    link_type: int
    snaplen: int
    per_second: int = 0
    offset_ns: int = 0

    def time_ns(self, ticks: int) -> int | None:
        return self.offset_ns + ticks * _SECOND // self.per_second if self.per_second else None


class _Damage(Exception):  # noqa: N818 - control flow inside this file
    """Something wrong with the current block. Arguments: code, message, byte of the file."""


class _Pcapng:
    """Reads block by block; knows the byte order and the interfaces of the current section.

    `kind` is the current block's type, None while it is not known, and `byte` where the block begins.
    """

    def __init__(self, file: _Input) -> None:
        self.file = file
        self.blocks = headers.PCAPNG["little"]
        self.interfaces: list[_Interface | None] = []
        self.kind: int | None = None
        self.byte = 0

    def read(self, magic: bytes, counts: Counts) -> Iterator[Packet | CaptureFault]:
        """Yield what is in the file that begins with `magic`."""
        number = 0
        head = magic + self.file.take(_BLOCK - len(magic))
        while head:
            try:
                packet = self._use(self._body(head), number + 1)
            except (_Damage, Found) as damage:
                code, message, byte = self._told(damage)
                if self.byte == 0:
                    raise self.file.refuse(f"is no readable pcapng file: {message}") from None
                held = self.kind is None or self.kind in headers.PACKETS
                number += held
                yield _lost(counts, number if held else None, code, message, byte)
                if code in _FINAL:
                    return
            else:
                if packet is not None:
                    number += 1
                    counts.packets += 1
                    yield packet
                counts.blocks += self.kind not in headers.KNOWN
            head = self.file.take(_BLOCK)

    def _told(self, damage: _Damage | Found) -> tuple[str, str, int]:
        if isinstance(damage, _Damage):
            code, message, byte = damage.args
            return code, message, byte
        fault, code = damage.fault, "bad-section" if self.kind == headers.SECTION else "bad-block"
        return code, f"{fault.path}: {fault.message}", self.byte + _BLOCK + (fault.byte or 0)

    def _damage(self, code: str, message: str) -> _Damage:
        return _Damage(code, message, self.byte)

    def _body(self, head: bytes) -> bytes:
        """Read the rest of the block that begins with `head` and return its body; none if not known."""
        file = self.file
        self.kind, self.byte = None, file.byte - len(head)
        _whole(head, _BLOCK, self.byte)
        start = b""
        if head.startswith(headers.SECTION_MAGIC):
            self.kind = headers.SECTION
            start = _whole(file.take(4), 4, self.byte + _BLOCK)
            if start not in headers.SECTION_ORDERS:
                raise self._damage("bad-section", f"{start.hex(' ')} states no byte order")
            self.blocks = headers.PCAPNG[headers.SECTION_ORDERS[start]]
        block = self.blocks.block.read(head)
        self.kind = block.type
        left = block.length - len(head) - len(start)
        if left < 4 or left % 4 or block.length > LARGEST:
            raise self._damage("bad-length", f"a block of {block.length} bytes")
        byte = file.byte
        skipped = 0 if self.kind in headers.KNOWN else file.skip(left - 4)
        rest = file.take(left - skipped)
        if skipped + len(rest) < left:
            raise _Damage("cut", _short(left, skipped + len(rest)), byte)
        if rest[-4:] != head[4:]:
            after = self.blocks.block.read(head[:4] + rest[-4:]).length
            raise self._damage("bad-length", f"a block of {block.length} bytes that ends as one of {after}")
        return start + rest[:-4]

    def _use(self, body: bytes, number: int) -> Packet | None:
        """Take in the current block; return the packet if it holds one."""
        if self.kind == headers.INTERFACE:
            self._describe(body)
        elif self.kind == headers.SECTION:
            self._open_section(body)
        return self._packet(body, number) if self.kind in headers.PACKETS else None

    def _open_section(self, body: bytes) -> None:
        section = self.blocks.section.read(body)
        if (section.major, section.minor) not in headers.SECTION_VERSIONS:
            raise self._damage("bad-section", f"version {section.major}.{section.minor} is not read")
        self.interfaces = []

    def _describe(self, body: bytes) -> None:
        """Add an interface. One that cannot be read keeps its place: packets refer to it by number."""
        if len(self.interfaces) == MOST_INTERFACES:
            raise self._damage("bad-block", f"more than {MOST_INTERFACES} interfaces in a section")
        self.interfaces.append(None)
        head = self.blocks.interface.read(body)
        self.interfaces[-1] = _Interface(head.link_type, head.snaplen)
        options = self._time_options(body, self.blocks.interface.size)
        per_second, offset = 1_000_000, 0
        if headers.TIME_RESOLUTION in options:
            exponent = options[headers.TIME_RESOLUTION][0]
            per_second = 1 << (exponent & 0x7F) if exponent & 0x80 else 10**exponent
        if headers.TIME_OFFSET in options:
            offset = self.blocks.time_offset.read(options[headers.TIME_OFFSET]).seconds
        self.interfaces[-1] = _Interface(head.link_type, head.snaplen, per_second, offset * _SECOND)

    def _time_options(self, body: bytes, at: int) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        while at < len(body):
            option = self.blocks.option.read(body, at)
            if option.code == headers.OPTIONS_END:
                break
            place, at = at, at + self.blocks.option.size
            value = body[at : at + option.length]
            at += option.length + -option.length % 4
            size = headers.OPTION_SIZES.get(option.code, option.length)
            if len(value) != option.length or option.length != size or option.code in found:
                told = f"option {option.code} of {option.length} bytes"
                raise _Damage("bad-option", told, self.byte + _BLOCK + place)
            if option.code in headers.OPTION_SIZES:
                found[option.code] = value
        return found

    def _packet(self, body: bytes, number: int) -> Packet:
        if self.kind == headers.SIMPLE:
            start, place, time_ns = self.blocks.simple.size, 0, None
            original = self.blocks.simple.read(body).original
            interface = self._interface(place)
            captured = min(original, interface.snaplen or original)
        else:
            header = self.blocks.enhanced if self.kind == headers.ENHANCED else self.blocks.obsolete
            head = header.read(body)
            start, place, captured, original = header.size, head.interface, head.captured, head.original
            interface = self._interface(place)
            time_ns = interface.time_ns(head.ticks_high << 32 | head.ticks_low)
        data = body[start : start + captured]
        if len(data) < captured:
            raise self._damage("bad-block", f"{captured} bytes captured, {len(data)} in the block")
        return Packet(number, time_ns, place, interface.link_type, captured, original, data)

    def _interface(self, number: int) -> _Interface:
        found = self.interfaces[number] if number < len(self.interfaces) else None
        if found is None:
            raise self._damage("no-interface", f"interface {number} is not described")
        return found


def _whole(data: bytes, size: int, byte: int) -> bytes:
    """Return the data that began at `byte` if it is all there."""
    if len(data) < size:
        raise _Damage("cut", _short(size, len(data)), byte)
    return data

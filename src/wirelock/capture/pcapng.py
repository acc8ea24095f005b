"""pcapng (draft-ietf-opsawg-pcapng) -> packets and faults, block by block.

A block whose own length holds costs no more than itself; where it does not, the next block's place is not
known and reading ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from wirelock.capture import headers
from wirelock.capture.packets import MOST_INTERFACES, CaptureFault, Counts, Interface, Packet, Section
from wirelock.capture.pcap import LARGEST, lost, short
from wirelock.capture.stream import Stream
from wirelock.codec.trail import Found

if TYPE_CHECKING:
    from wirelock.capture.runs import Run, Scanner

__all__ = ["read_pcapng"]

_LONGEST_TEXT: Final = 256
"""Bytes of an interface's or application's name that are kept."""
LARGEST_BLOCK: Final = 1 << 28
"""Bytes of the largest block; of those that are read, LARGEST are held."""
_FINAL: Final = frozenset({"cut", "bad-length", "bad-section"})

_BLOCK: Final = headers.PCAPNG["little"].block.size


def read_pcapng(
    stream: Stream, magic: bytes, counts: Counts, scanner: Scanner | None = None
) -> Iterator[Packet | CaptureFault | Run]:
    """Yield what is in the file that begins with `magic`. Raises CaptureError where that is no section.

    With a scanner, packets that it can place come out as runs of many.
    """
    return _Pcapng(stream, counts).read(magic, scanner)


class _Damage(Exception):  # noqa: N818 - control flow inside this file
    """Something wrong with the current block. Arguments: code, message, byte of the file."""


class _Pcapng:
    """Reads block by block; knows the byte order and the interfaces of the current section.

    `kind` is the current block's type, None while it is not known, and `byte` where the block begins.
    """

    def __init__(self, stream: Stream, counts: Counts) -> None:
        self.stream = stream
        self.counts = counts
        self.blocks = headers.PCAPNG["little"]
        self.interfaces: list[Interface | None] = []
        self.kind: int | None = None
        self.byte = 0

    def read(self, magic: bytes, scanner: Scanner | None) -> Iterator[Packet | CaptureFault | Run]:
        """Yield what is in the file that begins with `magic`."""
        number, counts, stream = 0, self.counts, self.stream
        head = magic + stream.take(_BLOCK - len(magic))
        while head:
            try:
                packet = self._use(self._body(head), number + 1)
            except (_Damage, Found) as damage:
                code, message, byte = self._told(damage)
                if self.byte == 0:
                    raise stream.refuse(f"is no readable pcapng file: {message}") from None
                held = self.kind is None or self.kind in headers.PACKETS
                number += held
                yield lost(counts, stream, number if held else None, code, message, byte)
                if code in _FINAL:
                    stream.skip()
                counts.lost_bytes += stream.byte - self.byte
            else:
                size = stream.byte - self.byte
                if packet is not None:
                    number += 1
                    counts.packets += 1
                    counts.packet_bytes += size
                    yield packet
                elif self.kind in headers.KNOWN:
                    counts.header_bytes += size
                else:
                    counts.blocks += 1
                    counts.skipped_bytes += size
            if scanner is not None:
                order = self.blocks is headers.PCAPNG["big"]
                for run in scanner.pcapng(stream, number + 1, order, self.interfaces):
                    number += len(run)
                    counts.packets += len(run)
                    counts.packet_bytes += run.size
                    run.count(self.interfaces)
                    yield run
            head = stream.take(_BLOCK)

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
        stream = self.stream
        self.kind, self.byte = None, stream.byte - len(head)
        _whole(head, _BLOCK, self.byte)
        start = b""
        if head.startswith(headers.SECTION_MAGIC):
            self.kind = headers.SECTION
            start = _whole(stream.take(4), 4, self.byte + _BLOCK)
            if start not in headers.SECTION_ORDERS:
                raise self._damage("bad-section", f"{start.hex(' ')} states no byte order")
            self.blocks = headers.PCAPNG[headers.SECTION_ORDERS[start]]
        block = self.blocks.block.read(head)
        self.kind = block.type
        left = block.length - len(head) - len(start)
        if left < 4 or left % 4 or block.length > LARGEST_BLOCK:
            raise self._damage("bad-length", f"a block of {block.length} bytes")
        byte = stream.byte
        held = self.kind in headers.KNOWN and left <= LARGEST
        skipped = 0 if held else stream.skip(left - 4)
        rest = stream.take(left - skipped)
        if skipped + len(rest) < left:
            raise _Damage("cut", short(left, skipped + len(rest)), byte)
        if rest[-4:] != head[4:]:
            after = self.blocks.block.read(head[:4] + rest[-4:]).length
            raise self._damage("bad-length", f"a block of {block.length} bytes that ends as one of {after}")
        if self.kind in headers.KNOWN and not held:
            code = "bad-section" if self.kind == headers.SECTION else "bad-block"
            raise self._damage(code, f"a block of {block.length} bytes; at most {LARGEST} are read")
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
        order = headers.SECTION_ORDERS[body[:4]]
        found = Section(f"pcapng {section.major}.{section.minor}", order)
        self.interfaces = found.interfaces
        self.counts.add_section(found)
        with suppress(_Damage, Found):  # what wrote the file matters to nobody's packets
            options = self._options(body, self.blocks.section.size, headers.SECTION_OPTIONS)
            found.application = _text(options.get(headers.APPLICATION))

    def _describe(self, body: bytes) -> None:
        """Add an interface. One that cannot be read keeps its place: packets refer to it by number."""
        if len(self.interfaces) == MOST_INTERFACES:
            raise self._damage("bad-block", f"more than {MOST_INTERFACES} interfaces in a section")
        self.interfaces.append(None)
        head = self.blocks.interface.read(body)
        self.interfaces[-1] = interface = Interface(head.link_type, head.snaplen)
        options = self._options(body, self.blocks.interface.size, headers.INTERFACE_OPTIONS)
        interface.name = _text(options.get(headers.INTERFACE_NAME))
        if headers.TIME_OFFSET in options:
            interface.offset = self.blocks.time_offset.read(options[headers.TIME_OFFSET]).seconds
        exponent = options.get(headers.TIME_RESOLUTION, b"\6")[0]
        interface.per_second = 1 << (exponent & 0x7F) if exponent & 0x80 else 10**exponent

    def _options(self, body: bytes, at: int, wanted: Mapping[int, int | None]) -> dict[int, bytes]:
        """Return the values of the wanted options, which are of one size each or of any size (None)."""
        found: dict[int, bytes] = {}
        while at < len(body):
            option = self.blocks.option.read(body, at)
            if option.code == headers.OPTIONS_END:
                break
            place, at = at, at + self.blocks.option.size
            value = body[at : at + option.length]
            at += option.length + -option.length % 4
            size = wanted.get(option.code)
            twice = size is not None and option.code in found
            if len(value) != option.length or twice or size not in (None, option.length):
                told = f"option {option.code} of {option.length} bytes{', a second time' if twice else ''}"
                raise _Damage("bad-option", told, self.byte + _BLOCK + place)
            if option.code in wanted:
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
        interface.packets += 1
        byte = self.byte + _BLOCK + start
        return Packet(number, time_ns, place, interface.link_type, captured, original, data, byte)

    def _interface(self, number: int) -> Interface:
        found = self.interfaces[number] if number < len(self.interfaces) else None
        if found is None:
            raise self._damage("no-interface", f"interface {number} is not described")
        return found


def _whole(data: bytes, size: int, byte: int) -> bytes:
    """Return the data that began at `byte` if it is all there."""
    if len(data) < size:
        raise _Damage("cut", short(size, len(data)), byte)
    return data


def _text(value: bytes | None) -> str:
    """Return a name, as far as it can be shown on one line."""
    text = (value or b"")[:_LONGEST_TEXT].decode("utf-8", "replace")
    return "".join(character if character.isprintable() else "\ufffd" for character in text.rstrip("\0"))

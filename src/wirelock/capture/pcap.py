"""pcap (draft-ietf-opsawg-pcap, and what was written before it) -> packets and faults.

Microseconds and nanoseconds, both byte orders, the modified variant with its longer record headers, and
the versions 2.0 to 2.3, which have a record's two lengths the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from wirelock.capture import headers
from wirelock.capture.packets import SECOND, CaptureFault, Counts, Interface, Packet, Section
from wirelock.capture.stream import Stream

if TYPE_CHECKING:
    from wirelock.capture.runs import Run, Scanner

__all__ = ["LARGEST", "lost", "read_pcap", "short"]

LARGEST: Final = 1 << 24
"""Bytes of the largest packet that is held."""
_LARGEST_USUALLY: Final = 1 << 18
"""Bytes of the largest packet of most link types, as libpcap has it, unless the file says that it has
larger ones."""
_LARGE_LINKS: Final = frozenset({220, 231, 249, 279})
"""USB as Linux maps it, D-Bus, USBPcap, EBHSCR: link types that libpcap allows larger packets."""
_VERSIONS: Final = frozenset({(2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (543, 0)})
"""543.0 is DG/UX's 2.2."""


def read_pcap(
    stream: Stream, magic: bytes, counts: Counts, scanner: Scanner | None = None
) -> Iterator[Packet | CaptureFault | Run]:
    """Yield what is in the file that begins with `magic`. Raises CaptureError where its header is none.

    With a scanner, packets that it can place come out as runs of many.
    """
    order, tick, modified = headers.PCAP_KINDS[magic]
    known = headers.PCAP[order]
    start = magic + stream.take(known.file.size - len(magic))
    if len(start) < known.file.size:
        raise stream.refuse(f"is a pcap file of {len(start)} bytes, less than its header")
    head = known.file.read(start)
    version = head.major, head.minor
    if version not in _VERSIONS:
        raise stream.refuse(f"is pcap version {head.major}.{head.minor}; versions 2.0 to 2.4 are read")
    counts.header_bytes += len(start)
    link_type = head.link_type & headers.LINK_TYPE_BITS
    interface = Interface(link_type, head.snaplen, SECOND // tick)
    kind = f"pcap {head.major}.{head.minor}{' modified' if modified else ''}"
    counts.add_section(Section(kind, order, interfaces=[interface]))
    largest = LARGEST if link_type in _LARGE_LINKS else min(max(_LARGEST_USUALLY, head.snaplen), LARGEST)
    record = known.modified_record if modified else known.record
    swapped = {(2, 4): 0, (2, 3): 2}.get(version, 1)
    number = 0
    while True:
        if scanner is not None:
            how = order == "big", record.size, swapped, tick, largest, link_type
            for run in scanner.pcap(stream, number + 1, how):
                number += len(run)
                counts.packets += len(run)
                counts.packet_bytes += run.size
                interface.packets += len(run)
                yield run
        start = stream.take(record.size)
        if not start:
            return
        number += 1
        byte = stream.byte - len(start)
        if len(start) < record.size:
            yield lost(counts, stream, number, "cut", short(record.size, len(start)), byte)
            counts.lost_bytes += len(start)
            return
        head = record.read(start)
        captured, original = head.captured, head.original
        if swapped == 1 or (swapped and captured > original):
            captured, original = original, captured
        if captured > largest:
            yield lost(counts, stream, number, "bad-length", f"a packet of {captured} bytes", byte)
            counts.lost_bytes += len(start) + stream.skip()
            return
        data = stream.take(captured)
        if len(data) < captured:
            yield lost(counts, stream, number, "cut", short(captured, len(data)), byte + record.size)
            counts.lost_bytes += len(start) + len(data)
            return
        counts.packets += 1
        counts.packet_bytes += record.size + captured
        interface.packets += 1
        time_ns = head.seconds * SECOND + head.fraction * tick
        yield Packet(number, time_ns, 0, link_type, captured, original, data, byte + record.size)


def lost(
    counts: Counts, stream: Stream, packet: int | None, code: str, message: str, byte: int
) -> CaptureFault:
    """Count damage to the file and return its fault."""
    counts.damages += 1
    return CaptureFault(packet, code, message, byte, stream.within)


def short(wanted: int, left: int) -> str:
    """Say that bytes are missing."""
    return f"{wanted} bytes wanted, {left} left"

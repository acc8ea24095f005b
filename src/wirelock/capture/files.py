"""A capture file -> its packets in file order, one at a time and in flat memory: pcap and pcapng.

What is no capture raises CaptureError. Behind a readable start nothing raises: damage is a CaptureFault,
and each packet's number, counted from 1, comes out once, as a Packet or as the fault that lost it.
No length found in a file allocates more than the bytes that are there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from wirelock.capture import headers
from wirelock.capture.packets import CaptureFault, Counts, Packet
from wirelock.capture.pcap import read_pcap
from wirelock.capture.pcapng import read_pcapng
from wirelock.capture.stream import PIECE, Stream
from wirelock.errors import CaptureError

if TYPE_CHECKING:
    from wirelock.capture.runs import Run, Scanner

__all__ = ["FILE_FAULTS", "CaptureFault", "Counts", "Packet", "read_capture", "read_runs"]

FILE_FAULTS: Final = {
    "cut": "the file ends inside of a packet or block",
    "bad-length": "an impossible length; where the next packet begins is not known, so reading ends",
    "bad-section": "a pcapng section of another version or without a byte order, so reading ends",
    "bad-block": "a pcapng block that does not hold what it must",
    "bad-option": "a pcapng interface whose time resolution cannot be read; its packets have no time",
    "no-interface": "a pcapng packet of an interface that its section does not describe",
    "compression": "gzip or zstd data that end too early or cannot be decoded, so reading ends",
}
"""What can be wrong with a file, by code."""


def read_capture(
    source: str | os.PathLike[str] | BinaryIO, counts: Counts | None = None, name: str | None = None
) -> Iterator[Packet | CaptureFault]:
    """Yield the packets and faults of a file, given by path or open in binary mode; gzip and zstd too.

    Raises CaptureError, when first asked for an item, for what is no capture or cannot be read.
    `counts` is kept up to date. A file that was given open stays open; `name` is what errors call it.
    """
    counts = Counts() if counts is None else counts
    return cast("Iterator[Packet | CaptureFault]", read_runs(source, counts, name, None))


def read_runs(
    source: str | os.PathLike[str] | BinaryIO, counts: Counts, name: str | None, scanner: Scanner | None
) -> Iterator[Packet | CaptureFault | Run]:
    """Yield what read_capture does, with runs of many packets where a scanner can place them."""
    if isinstance(source, str | os.PathLike):
        with _open(source) as file:
            yield from _read(file, str(source), counts, scanner)
    else:
        yield from _read(source, name or str(getattr(source, "name", "the capture")), counts, scanner)


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        return Path(path).open("rb", buffering=PIECE)
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _read(
    file: BinaryIO, name: str, counts: Counts, scanner: Scanner | None
) -> Iterator[Packet | CaptureFault | Run]:
    stream = Stream(file, name, counts)
    magic = stream.take(4)
    if magic in headers.PCAP_KINDS:
        yield from read_pcap(stream, magic, counts, scanner)
    elif magic == headers.SECTION_MAGIC:
        yield from read_pcapng(stream, magic, counts, scanner)
    else:
        raise stream.refuse(_no_capture(magic))
    counts.bytes += stream.byte
    damage = stream.damage()
    if damage is not None:
        counts.damages += 1
        yield damage


def _no_capture(magic: bytes) -> str:
    if not magic:
        return "is empty"
    for start, name in headers.FOREIGN.items():
        if magic.startswith(start):
            return f"is {name}, which is not read: unpack it first"
    return f"begins with {magic.hex(' ')}, as no capture does"

"""One packet out of a capture, by the number that decode and packet analysers give it."""

from __future__ import annotations

import os
from pathlib import Path

from wirelock.capture.datagrams import Datagram, read_datagrams
from wirelock.capture.files import CaptureFault, Counts, Packet, read_capture
from wirelock.errors import CaptureError

__all__ = ["datagram_of"]


def datagram_of(path: Path, number: int) -> Datagram:
    """Return the UDP datagram that is packet `number` of a capture, counted from 1.

    Raises CaptureError where there is none, or where its payload is not what was sent.
    """
    file, last = os.fspath(path), 0
    for item in read_capture(path):
        if isinstance(item, CaptureFault):
            if item.packet == number:
                raise CaptureError(f"{file}: packet {number} cannot be read: {item}")
            continue
        last = item.number
        if item.number == number:
            return _datagram(item, f"{file}: packet {number}")
    raise CaptureError(f"{file}: there is no packet {number}: the last is {last}")


def _datagram(packet: Packet, where: str) -> Datagram:
    counts = Counts()
    for found in read_datagrams([packet], counts):
        if isinstance(found, CaptureFault):
            raise CaptureError(f"{where} is no readable datagram: {found}")
        if found.faults:
            raise CaptureError(f"{where} is not what was sent: {found.faults[0]}")
        return found
    raise CaptureError(f"{where} is no UDP datagram but {', '.join(counts.others)}")

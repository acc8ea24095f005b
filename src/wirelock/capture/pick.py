"""One packet out of a capture, by the number that decode and packet analysers give it."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from wirelock.capture.datagrams import Datagram, DatagramReader
from wirelock.capture.files import CaptureFault, Counts, read_capture
from wirelock.errors import CaptureError

__all__ = ["datagram_of"]


def datagram_of(capture: Path | BinaryIO, number: int, name: str, *, tunnels: bool = False) -> Datagram:
    """Return the UDP datagram that is packet `number` of a capture, counted from 1, or that it completes.

    `name` stands for the capture in errors. Raises CaptureError where there is none, or where its payload is
    not what was sent.
    """
    last, where, counts = 0, f"{name}: packet {number}", Counts()
    reader = DatagramReader(counts, tunnels=tunnels)
    for item in read_capture(capture, name=name):
        if isinstance(item, CaptureFault):
            if item.packet == number:
                raise CaptureError(f"{where} cannot be read: {item}")
            continue
        last = item.number
        counts.others.clear()
        found = reader.read(item)
        if last == number:
            return _picked([one for one in found if one.packet == number], where, counts)
    raise CaptureError(f"{name}: there is no packet {number}: the last is {last}")


def _picked(found: list[Datagram | CaptureFault], where: str, counts: Counts) -> Datagram:
    for one in found:
        if isinstance(one, CaptureFault):
            raise CaptureError(f"{where} is no readable datagram: {one}")
        if one.faults:
            raise CaptureError(f"{where} is not what was sent: {one.faults[0]}")
        return one
    other = ", ".join(counts.others)
    told = f"but {other}" if other else "but a fragment: take the packet that completes it"
    raise CaptureError(f"{where} is no UDP datagram {told}")

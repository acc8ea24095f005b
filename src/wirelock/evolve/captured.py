"""Recorded packets -> which of them the readers of two versions do not take, or do not read, alike."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from wirelock.capture.datagrams import Datagram, read_datagrams
from wirelock.capture.decode import Selection
from wirelock.capture.files import CaptureFault, read_capture
from wirelock.codec.words import utc
from wirelock.evolve.pairs import Pair, read_both, runnable
from wirelock.evolve.reading import Reading, misreads
from wirelock.layout.nodes import Layout
from wirelock.shown import escaped, file_text

__all__ = ["Affected", "Recorded", "count_recorded"]

NAMED: Final = 8
"""The affected packets of a pair that are named."""


@dataclass(frozen=True, slots=True)
class Affected:
    """One packet that is affected: where it is, and in words what becomes of it."""

    file: str
    datagram: Datagram
    reason: str

    def __str__(self) -> str:
        time = "" if self.datagram.time_ns is None else f" {utc(self.datagram.time_ns)}"
        return escaped(f"{self.file} packet {self.datagram.packet}{time}: {self.reason}")


@dataclass(slots=True)
class Recorded:
    """What recorded datagrams are to a pair of versions.

    `old` and `new` count those that are packets of a version, `affected` those of them that the other one
    refuses or reads otherwise; the first of these are in `named`.
    """

    datagrams: int = 0
    old: int = 0
    new: int = 0
    affected: int = 0
    named: list[Affected] = field(default_factory=list)


def count_recorded(
    pairs: Sequence[Pair],
    captures: Iterable[Path | BinaryIO],
    selection: Selection,
    sources: Sequence[Layout] = (),
) -> list[Recorded]:
    """Return for each pair what the datagrams of captures are to it; `sources` as for pairs.judge.

    Of the selection ports, skip and tunnels count. Raises CaptureError where a file is no capture.
    """
    layouts = [runnable(pair.old, pair.new, sources) for pair in pairs]
    found = [Recorded() for _ in pairs]
    for capture in captures:
        name = file_text(os.fspath(capture)) if isinstance(capture, Path) else "standard input"
        for datagram in _datagrams(capture, selection):
            payload = datagram.payload[selection.skip :]
            for pair, (was, now), counts in zip(pairs, layouts, found, strict=True):
                counts.datagrams += 1
                if not pair.missing:
                    old, new = read_both(pair, was, now, payload)
                    _count(counts, name, datagram, _reason(pair, old, new))
                    counts.old += old.fault is None
                    counts.new += new.fault is None
    return found


def _datagrams(capture: Path | BinaryIO, selection: Selection) -> Iterator[Datagram]:
    """Yield the datagrams of a file whose payload is as it was sent."""
    for item in read_datagrams(read_capture(capture), tunnels=selection.tunnels):
        if isinstance(item, CaptureFault) or item.faults:
            continue
        if not selection.ports or selection.ports & {item.source_port, item.destination_port}:
            yield item


def _count(counts: Recorded, file: str, datagram: Datagram, reason: str) -> None:
    if reason:
        counts.affected += 1
        if len(counts.named) < NAMED:
            counts.named.append(Affected(file, datagram, reason))


def _reason(pair: Pair, old: Reading, new: Reading) -> str:
    """Say what one side makes of a packet that the other does not; empty where they agree."""
    if old.fault and new.fault:
        return ""
    for reader, fault in zip(pair.names, (old.fault, new.fault), strict=True):
        if fault is not None:
            path = f"{fault.path}: " if fault.path else ""
            return f"refused by {reader}: {path}{fault.message}"
    found = next(misreads(old, new), None)
    return found.told(*pair.names) if found else ""

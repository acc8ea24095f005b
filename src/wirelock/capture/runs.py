"""The scan on its way through a file: runs of packets that stand behind each other in one buffer.

A Scanner is what the readers of files ask before they read a packet themselves; it takes from their stream
what it can place, and leaves the rest where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wirelock.capture import scan
from wirelock.capture.networks import protocol_name
from wirelock.capture.packets import SECOND, Interface, Packet
from wirelock.capture.stream import Stream
from wirelock.codec.columnar import numpy_module

__all__ = ["WINDOW", "Run", "Scanner"]

WINDOW: Final = 1 << 22
"""Bytes of a file that are read at once: what the caches of a processor hold, so that the next steps find
them there."""
_MOST: Final = 50_000
"""The packets of a run."""
_LATEST: Final = 1 << 62
"""Nanoseconds from the epoch to the times that are left to Python's integers."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Packets from `number` on, in a buffer that begins at `byte` of the file (once unpacked).

    `rows` has what scan.COLUMNS says of each; `links` is the link type of each interface. They took `size`
    bytes of the file.
    """

    number: int
    buffer: Any
    byte: int
    size: int
    rows: Any
    links: Sequence[int]

    def __len__(self) -> int:
        return int(self.rows.shape[1])

    def packet(self, row: int) -> Packet:
        """Return one packet as the readers of files do."""
        at, captured, original, time_ns, interface = self.rows[: scan.PAYLOAD, row].tolist()
        data = self.buffer[at : at + captured].tobytes()
        link = self.links[interface]
        return Packet(self.number + row, time_ns, interface, link, captured, original, data, self.byte + at)

    def count(self, interfaces: Sequence[Interface | None]) -> None:
        """Count the packets of each interface."""
        np = numpy_module()
        numbers, counts = np.unique(self.rows[scan.INTERFACE], return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            interface = interfaces[number]
            assert interface is not None
            interface.packets += count

    def others(self) -> Counter[str]:
        """Count the packets of protocols that are not read."""
        protocols = self.rows[scan.LENGTH][self.rows[scan.PAYLOAD] == scan.OTHER]
        return Counter(map(protocol_name, protocols.tolist()))


class Scanner:
    """Places the plain packets of one file. Raises ImportError without numba, unless it is not `compiled`.

    `tunnels`: leave to others what may be one.
    """

    def __init__(self, *, tunnels: bool, compiled: bool = True, window: int = WINDOW) -> None:
        self._np: Any = numpy_module()
        self._code: Any = scan.compiled_scan() if compiled else scan
        self._compiled = compiled
        self._tunnels = tunnels
        self._window = window
        self._out = self._np.empty((scan.COLUMNS, min(_MOST, window)), "i8")
        self._section: Sequence[Interface | None] = ()
        self._links: list[int] = []
        self._interfaces = self._np.empty((0, 5), "i8")

    def pcap(self, stream: Stream, number: int, how: tuple[bool, int, int, int, int, int]) -> Iterator[Run]:
        """Take the records that come next: byte order and so on as scan_pcap takes them."""
        big, size, swapped, tick, largest, link = how

        def scanned(data: Any) -> tuple[int, int]:
            return self._code.scan_pcap(  # type: ignore[no-any-return]
                data, 0, len(data), big, size, swapped, tick, largest, link, self._tunnels, self._out
            )

        return self._runs(stream, number, scanned, (link,))

    def pcapng(
        self, stream: Stream, number: int, big: bool, interfaces: Sequence[Interface | None]
    ) -> Iterator[Run]:
        """Take the enhanced packet blocks that come next, of the interfaces of their section."""
        self._describe(interfaces)

        def scanned(data: Any) -> tuple[int, int]:
            return self._code.scan_pcapng(  # type: ignore[no-any-return]
                data, 0, len(data), big, self._interfaces[: len(self._links)], self._tunnels, self._out
            )

        return self._runs(stream, number, scanned, self._links)

    def _runs(
        self, stream: Stream, number: int, scanned: Callable[[Any], tuple[int, int]], links: Sequence[int]
    ) -> Iterator[Run]:
        np = self._np
        while True:
            buffer = np.frombuffer(stream.ready, "u1")
            buffer.flags.writeable = False  # one type for numba, whoever owns the bytes
            rows, end = scanned(buffer if self._compiled else buffer.tobytes())
            if rows:
                byte = stream.byte
                stream.advance(end)
                yield Run(number, buffer, byte, end, self._out[:, :rows].copy(), links)
                number += rows
                if rows == self._out.shape[1]:
                    continue
            if not self._more(stream):
                return

    def _more(self, stream: Stream) -> bool:
        """Read on, unless what is there is enough to stop at."""
        if 2 * len(stream.ready) > self._window:
            return False
        return stream.fill(memoryview(self._np.empty(self._window, "u1")))

    def _describe(self, interfaces: Sequence[Interface | None]) -> None:
        """Take in the interfaces of a section: those that were added since, or all of another section."""
        if interfaces is not self._section:
            self._section, self._links = interfaces, []
        for number in range(len(self._links), len(interfaces)):
            if number == len(self._interfaces):
                self._interfaces = self._np.resize(self._interfaces, (2 * number + 8, 5))
            self._interfaces[number] = row = _interface_row(interfaces[number])
            self._links.append(row[scan.LINK])


def _interface_row(interface: Interface | None) -> tuple[int, int, int, int, int]:
    """Return what the scan has to know of an interface; a link type of -1 where it cannot do it."""
    per_second = interface.per_second if interface else 0
    if interface is None or not per_second or abs(interface.offset) > _LATEST // SECOND // 2:
        return -1, 0, 1, 0, 0
    times, over = max(1, SECOND // per_second), max(1, per_second // SECOND)
    if times * per_second != SECOND * over or over > SECOND:
        return -1, 0, 1, 0, 0
    return interface.link_type, times, over, _LATEST // times, interface.offset * SECOND

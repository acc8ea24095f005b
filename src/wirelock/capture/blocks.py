"""A capture file -> its UDP datagrams, many at once: places in a buffer, and what is not plain beside them.

What comes out, and in which order, is what read_datagrams makes of read_capture, and so are the counts. At
most one buffer of the file is held, and as many packets as it has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, BinaryIO, Final

from wirelock.capture import scan
from wirelock.capture.arrivals import Arrivals
from wirelock.capture.datagrams import Datagram, DatagramReader
from wirelock.capture.files import CaptureFault, Counts, Packet, read_runs
from wirelock.capture.packets import time_in_64_bits
from wirelock.capture.runs import WINDOW, Run, Scanner
from wirelock.codec.columnar import numpy_module
from wirelock.errors import CaptureError

__all__ = ["Block", "read_blocks"]

_MOST: Final = 1 << 16
"""The packets of a block, about."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Datagrams without faults, in order, as rows: `lengths` bytes of payload at `starts` of `data`.

    `numbers` are those of their packets, `times` nanoseconds since the epoch where `timed`, `networks` where
    the IP header is in `data`. Rows that are not plain have their datagram in `odd`, and -1 in `networks`.
    `places` orders the rows and what is in `others`: faults, and datagrams with faults, each behind its
    place. `arrivals` are all packets of the block.
    """

    data: Any
    numbers: Any
    times: Any
    timed: Any
    starts: Any
    lengths: Any
    networks: Any
    places: Any
    odd: dict[int, Datagram]
    others: list[tuple[int, Datagram | CaptureFault]]
    byte: int
    arrivals: Arrivals

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"<Block of {len(self)} datagrams, {len(self.others)} others>"

    @property
    def ports(self) -> tuple[Any, Any]:
        """The ports of all rows: source, destination."""
        return self.ports_of(0), self.ports_of(1)

    def ports_of(self, which: int) -> Any:
        """Return the port of each row, source (0) or destination (1)."""
        np = numpy_module()
        at = np.where(self.networks >= 0, self.starts - 8 + 2 * which, 0)
        ports = self.data[at].astype("u2") << 8 | self.data[at + 1] if len(self.data) > 1 else at * 0
        ports = ports.astype("u2")
        for row, datagram in self.odd.items():
            ports[row] = datagram.destination_port if which else datagram.source_port
        return ports

    def addresses(self, which: int) -> tuple[Any, list[str]]:
        """Return the number of each row's address, source (0) or destination (1), and all texts by number."""
        np = numpy_module()
        texts: dict[str, int] = {}
        numbers = np.zeros(len(self), "i4")
        plain = np.flatnonzero(self.networks >= 0)
        at = self.networks[plain]
        new = self.data[at] >> 4 == 6
        for size, place, rows, starts in (
            (4, 12 + 4 * which, plain[~new], at[~new]),
            (16, 8 + 16 * which, plain[new], at[new]),
        ):
            if len(rows):
                kind, count = ("u4", len(self.data) - 3) if size == 4 else ("V16", len(self.data) - 15)
                everywhere = np.ndarray(count, kind, self.data, strides=(1,))
                values = everywhere[starts + place]
                heads = np.flatnonzero(np.append(True, values[1:] != values[:-1]))  # of runs of one address
                found, inverse = np.unique(values[heads], return_inverse=True)
                known = (ip_address(it.tobytes()) for it in found)
                codes = np.array([texts.setdefault(str(it), len(texts)) for it in known], "i4")
                numbers[rows] = np.repeat(codes[inverse.reshape(-1)], np.diff(heads, append=len(values)))
        for row, datagram in self.odd.items():
            text = datagram.destination if which else datagram.source
            numbers[row] = texts.setdefault(text, len(texts))
        return numbers, list(texts)

    def datagram(self, row: int) -> Datagram:
        """Return one row as read_datagrams does."""
        if row in self.odd:
            return self.odd[row]
        at, start, length = int(self.networks[row]), int(self.starts[row]), int(self.lengths[row])
        size, place = (16, 8) if self.data[at] >> 4 == 6 else (4, 12)
        ends = self.data[at + place : at + place + 2 * size].tobytes()
        ports = self.data[start - 8 : start - 4].tobytes()
        return Datagram(
            int(self.numbers[row]),
            int(self.times[row]),
            str(ip_address(ends[:size])),
            str(ip_address(ends[size:])),
            int.from_bytes(ports[:2], "big"),
            int.from_bytes(ports[2:], "big"),
            self.data[start : start + length].tobytes(),
            (),
            self.byte + start,
        )

    def items(self) -> Iterator[Datagram | CaptureFault]:
        """Yield all that is in the block, as read_datagrams does."""
        others = iter([*self.others, (1 << 62, None)])
        place, other = next(others)
        for row, mine in enumerate(self.places.tolist()):
            while place <= mine and other is not None:
                yield other
                place, other = next(others)
            yield self.datagram(row)
        while other is not None:
            yield other
            place, other = next(others)


def read_blocks(
    source: str | os.PathLike[str] | BinaryIO,
    counts: Counts | None = None,
    name: str | None = None,
    *,
    tunnels: bool = False,
    compiled: bool = True,
    window: int = WINDOW,
) -> Iterator[Block]:
    """Yield the datagrams of a capture in blocks; arguments and errors are those of read_capture.

    The code is compiled when it is first used, and kept in a cache; `compiled=False` runs it as Python, for
    tests. Raises ImportError without numba and numpy. `window` is how many bytes of the file are read at
    once, and where packets are larger they are read one at a time.
    """
    counts = Counts() if counts is None else counts
    reader = DatagramReader(counts, tunnels=tunnels)
    scanner = Scanner(tunnels=tunnels, compiled=compiled, window=window)
    block = _Gathered()
    problem = None
    try:
        for item in read_runs(source, counts, name, scanner):
            if isinstance(item, Run):
                if not block.empty and not block.takes(item):
                    yield block.made()
                    block = _Gathered()
                block.add_run(item, reader, counts)
            elif isinstance(item, CaptureFault):
                block.add(item)
            else:
                block.add_packet(item)
                for found in reader.read(item):
                    block.add(found)
            if block.full:
                yield block.made()
                block = _Gathered()
    except CaptureError as error:  # what stands before it is read
        problem = error
    for fault in reader.end() if problem is None else ():
        block.add(fault)
    if not block.empty:
        yield block.made()
    if problem is not None:
        raise problem


class _Gathered:
    """A block on its way: runs of one buffer, and single datagrams and faults between them."""

    def __init__(self) -> None:
        self._np = numpy_module()
        self._runs: list[tuple[Run, Any, int]] = []
        self._single: list[tuple[int, Datagram]] = []
        self._others: list[tuple[int, Datagram | CaptureFault]] = []
        self._place = 0
        self._held = 0
        self._arrivals = Arrivals()

    def takes(self, run: Run) -> bool:
        """Whether a run lies in the same buffer as others."""
        if not self._runs:
            return True
        moved = run.byte - self._runs[0][0].byte
        one, other = self._runs[0][0].buffer, run.buffer
        same = _address(one) + moved == _address(other) and len(one) == moved + len(other)
        return same and self._place + len(run) <= _MOST

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return not self._place and not self._arrivals.packets

    @property
    def full(self) -> bool:
        """Whether there is no room for more."""
        return max(self._place, self._arrivals.packets) >= _MOST or self._held >= WINDOW

    def add_run(self, run: Run, reader: DatagramReader, counts: Counts) -> None:
        """Add the packets of a run; those that are not plain are read one by one."""
        np, payloads = self._np, run.rows[scan.PAYLOAD]
        plain = payloads >= 0
        start, count = self._place, int(plain.sum())
        self._arrivals.add_run(start, run.rows[scan.TIME], run.rows[scan.CAPTURED])
        counts.datagrams += count
        self._runs.append((run, plain, start))
        if count < len(run):
            counts.others += run.others()
            for row in np.flatnonzero(payloads == scan.ODD).tolist():
                self._place = start + row
                for found in reader.read(run.packet(row)):
                    self._put(found)
        self._place = start + len(run)

    def add_packet(self, packet: Packet) -> None:
        """Count a packet that is read by itself, before what comes of it."""
        self._arrivals.add(self._place, packet.time_ns, packet.captured)

    def add(self, found: Datagram | CaptureFault) -> None:
        """Add what was read by itself."""
        self._put(found)
        self._place += 1

    def _put(self, found: Datagram | CaptureFault) -> None:
        if isinstance(found, CaptureFault) or found.faults:
            self._others.append((self._place, found))
        else:
            self._single.append((self._place, found))
            self._held += len(found.payload)

    def made(self) -> Block:
        """Return the block."""
        np = self._np
        data, byte = np.empty(0, "u1"), 0
        parts: list[tuple[Any, ...]] = []
        if self._runs:
            first = self._runs[0][0]
            data, byte = first.buffer, first.byte
        for run, plain, place in self._runs:
            rows = run.rows if plain.all() else run.rows[:, plain]
            numbers = np.flatnonzero(plain)
            moved = run.byte - byte
            parts.append(
                (
                    run.number + numbers,
                    rows[scan.TIME],
                    rows[scan.PAYLOAD] + moved,
                    rows[scan.LENGTH],
                    rows[scan.NETWORK] + moved,
                    place + numbers,
                )
            )
        if self._single:
            parts.append(self._singles(len(data)))
            data = np.concatenate(
                [data, np.frombuffer(b"".join(found.payload for _, found in self._single), "u1")]
            )
        none = (np.empty(0, "i8"),) * 6
        columns = [np.concatenate(part) for part in zip(*(parts or [none]), strict=True)]
        odd: dict[int, Datagram] = {}
        if self._single:
            order = np.argsort(columns[5], kind="stable")
            columns = [column[order] for column in columns]
            rows = np.flatnonzero(columns[4] < 0).tolist()
            odd = {row: found for row, (_, found) in zip(rows, self._single, strict=True)}
        numbers, times, starts, lengths, networks, places = columns
        timed = np.ones(len(numbers), "?")
        for row, datagram in odd.items():
            timed[row] = time_in_64_bits(datagram.time_ns) is not None
        return Block(
            data, numbers, times, timed, starts, lengths, networks, places, odd, self._others, byte,
            self._arrivals,
        )  # fmt: skip

    def _singles(self, at: int) -> tuple[Any, ...]:
        """Return the columns of the datagrams that were read one by one; their payloads begin at a byte."""
        np = self._np
        found = [datagram for _, datagram in self._single]
        lengths = np.array([len(it.payload) for it in found], "i8")
        times = [time_in_64_bits(it.time_ns) or 0 for it in found]
        return (
            np.array([it.packet for it in found], "i8"),
            np.array(times, "i8"),
            at + np.cumsum(lengths) - lengths,
            lengths,
            np.full(len(found), -1),
            np.array([place for place, _ in self._single], "i8"),
        )


def _address(buffer: Any) -> int:
    return buffer.__array_interface__["data"][0]  # type: ignore[no-any-return]

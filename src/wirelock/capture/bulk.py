"""Capture files -> columns: the records of many packets at once, and the faults of the others.

What comes out is what `decode` finds, in its order, with the same summary: a table a protocol and version for
each block of packets. Memory does not depend on how long a capture is: a block is 4 MiB of the file, at most
four are held, with the columns of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from wirelock.capture.ahead import ahead
from wirelock.capture.blocks import Block, read_blocks
from wirelock.capture.decode import (
    FaultRow,
    Row,
    Selection,
    Summary,
    decode_item,
    fault_row,
    records_of,
)
from wirelock.capture.files import Counts
from wirelock.codec.columnar import numpy_module
from wirelock.errors import DecodeError, SchemaError
from wirelock.schema.columns import engine_of
from wirelock.schema.record import wire_of
from wirelock.schema.registry import Protocol, Registry
from wirelock.shown import file_text

if TYPE_CHECKING:
    from wirelock.codec.table import Table

__all__ = ["DESTINATION", "SOURCE", "WORTH", "Part", "Records", "can_decode", "decode_columns"]

SOURCE: Final = 0
DESTINATION: Final = 1
WORTH: Final = 1 << 24
"""The bytes of a file from which on compiled code is worth its start; by then it may even be compiled."""


def can_decode(registry: Registry, selection: Selection) -> bool:
    """Whether decode_columns can do all that may come: numba is there, and no version needs more than it."""
    protocols = [selection.protocol] if selection.protocol else [known for known in registry if known.tag]
    try:
        for protocol in protocols:
            versions = protocol.versions if selection.version is None else (selection.version,)
            for version in versions:
                engine_of(wire_of(protocol.versions[version]))
    except (ImportError, SchemaError):
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """The records of one version in a part of a capture: `table` has their columns.

    What else is known of each, its packet, time, addresses and ports, are columns beside them. `rows` says
    which row of `block` brought each record.
    """

    protocol: Protocol
    version: int
    table: Table
    block: Block
    rows: Any

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<Records of {self.protocol.label(self.version)}: {len(self)}>"

    @property
    def packets(self) -> Any:
        """The number of the packet that brought each record."""
        return self.block.numbers[self.rows]

    @property
    def sizes(self) -> Any:
        """The bytes of payload that each record is the first of: 0 behind another one of its packet."""
        np = numpy_module()
        sizes = self.block.lengths[self.rows]
        sizes[1:] = np.where(self.rows[1:] == self.rows[:-1], 0, sizes[1:])
        return sizes

    @property
    def times(self) -> Any:
        """When each came, as numpy's datetime64[ns]; NaT where the capture does not say."""
        np = numpy_module()
        times = self.block.times[self.rows].astype("M8[ns]")
        times[~self.block.timed[self.rows]] = np.datetime64("NaT")
        return times

    @property
    def sources(self) -> Any:
        """The address that sent each record, as text."""
        return self._texts(SOURCE)

    @property
    def destinations(self) -> Any:
        """The address that each record was sent to, as text."""
        return self._texts(DESTINATION)

    @property
    def source_ports(self) -> Any:
        """The port that sent each record, uint16."""
        return self.block.ports_of(SOURCE)[self.rows]

    @property
    def destination_ports(self) -> Any:
        """The port that each record was sent to, uint16."""
        return self.block.ports_of(DESTINATION)[self.rows]

    def addresses(self, which: int) -> tuple[Any, list[str]]:
        """Return the number of each record's address, SOURCE or DESTINATION, and all texts by number."""
        numbers, texts = self.block.addresses(which)
        return numbers[self.rows], texts

    def _texts(self, which: int) -> Any:
        numbers, texts = self.addresses(which)
        return numpy_module().array(texts, object)[numbers]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What a block of packets came to: records by protocol and version, and faults in packet order.

    `places` says where in `block` each fault stands.
    """

    records: tuple[Records, ...]
    faults: tuple[FaultRow, ...]
    places: tuple[int, ...]
    block: Block
    _decoder: _Decoder

    def __repr__(self) -> str:
        found = (
            ", ".join(f"{it.protocol.label(it.version)}: {len(it)}" for it in self.records) or "no records"
        )
        return f"<Part: {found}; {len(self.faults)} faults>"

    def items(self) -> Iterator[Row | FaultRow]:
        """Yield the same one by one, as `decode` does: records are read again."""
        return self._decoder.items()


def decode_columns(
    capture: Path | BinaryIO,
    registry: Registry,
    selection: Selection | None = None,
    summary: Summary | None = None,
    name: str | None = None,
    *,
    workers: int = 2,
) -> Iterator[Part]:
    """Yield the records of one capture as columns, part by part, and keep the summary.

    Arguments and errors are those of `decode`; besides, SchemaError for a version that the columnar engine
    cannot do, and ImportError without numba and numpy. With two `workers` the file is read in a thread.
    """
    selection = selection or Selection()
    summary = Summary() if summary is None else summary
    file = file_text(name or (os.fspath(capture) if isinstance(capture, Path) else "-"))
    counts = Counts()
    before = summary.read_bytes
    try:
        blocks: Any = read_blocks(capture, counts, file, tunnels=selection.tunnels)
        with closing(ahead(blocks) if workers > 1 else blocks) as found:
            for block in found:
                summary.read_bytes = before + counts.file_bytes
                yield _Decoder(block, file, registry, selection, summary).part()
    finally:
        summary.close(counts)


class _Decoder:
    """Makes a part of one block."""

    def __init__(
        self, block: Block, file: str, registry: Registry, selection: Selection, summary: Summary
    ) -> None:
        self._np: Any = numpy_module()
        self._block = block
        self._file, self._registry, self._selection, self._summary = file, registry, selection, summary
        self._records: list[Records] = []
        self._faults: list[tuple[tuple[int, int], FaultRow]] = []
        """With their places: before the row of the same place, or behind what its datagram holds."""

    def part(self) -> Part:
        np, block, summary, selection = self._np, self._block, self._summary, self._selection
        summary.packets += block.arrivals.packets
        summary.bytes += block.arrivals.captured
        summary.datagrams += len(block)
        self._see()
        for place, item in block.others:
            for row in decode_item(item, self._file, self._registry, selection, summary):
                assert isinstance(row, FaultRow)
                self._faults.append(((place, 0), row))
        rows = np.arange(len(block))
        if selection.ports:
            wanted = np.isin(block.ports, list(selection.ports)).any(axis=0)
            rows = rows[wanted]
            summary.other_ports += len(block) - len(rows)
        if selection.skip:
            short = block.lengths[rows] < selection.skip
            self._one_by_one(rows[short], None)
            rows = rows[~short]
        for protocol in self._protocols():
            if len(rows):
                rows = self._decode(protocol, rows)
        summary.foreign += len(rows)
        self._faults.sort(key=lambda found: found[0])
        places = tuple(place for (place, _), _ in self._faults)
        faults = tuple(fault for _, fault in self._faults)
        return Part(tuple(self._records), faults, places, block, self)

    def items(self) -> Iterator[Row | FaultRow]:
        """Yield rows and faults in the order of the packets."""
        block, faults = self._block, self._faults
        rows = [records.rows for records in self._records]
        told = 0
        for row in self._np.unique(self._np.concatenate(rows)).tolist() if rows else ():
            while told < len(faults) and faults[told][0] < (block.places[row], 1):
                yield faults[told][1]
                told += 1
            datagram = block.datagram(row)
            with suppress(DecodeError):  # is among the faults
                for parsed in records_of(datagram, self._registry, self._selection):
                    yield Row(self._file, datagram, parsed)
        for _, fault in faults[told:]:
            yield fault

    def _protocols(self) -> Iterable[Protocol]:
        if self._selection.protocol is not None:
            return (self._selection.protocol,)
        return (protocol for protocol in self._registry if protocol.tag)

    def _see(self) -> None:
        block = self._block
        times = block.times if block.timed.all() else block.times[block.timed]
        if len(times):
            self._summary.see(int(times.min()))
            self._summary.see(int(times.max()))
        for row, datagram in block.odd.items():
            if not block.timed[row]:
                self._summary.see(datagram.time_ns)

    def _decode(self, protocol: Protocol, rows: Any) -> Any:
        """Take in the records of a protocol; return the rows that are another's."""
        np, block, summary = self._np, self._block, self._summary
        skip = self._selection.skip
        everything = len(rows) == len(block) and not skip
        starts = block.starts if everything else block.starts[rows] + skip
        lengths = block.lengths if everything else block.lengths[rows] - skip
        found = protocol.parse_packets(block.data, starts, lengths, version=self._selection.version)
        for version, table in sorted(found.tables.items()):
            if len(table):
                numbers = table.numbers if everything else rows[table.numbers]
                summary.records[protocol.label(version)] += len(table)
                self._records.append(Records(protocol, version, table, block, numbers))
        summary.decoded += len(rows) - len(found.foreign) - len(found.bad)
        others = self._one_by_one(rows[found.bad], protocol)
        if not others:
            return rows[found.foreign]
        return np.sort(np.concatenate([rows[found.foreign], np.array(others, "i8")]))

    def _one_by_one(self, rows: Any, protocol: Protocol | None) -> list[int]:
        """Take in the faults of rows that a protocol refuses; return those that are another's."""
        others, summary, registry = [], self._summary, self._registry
        for row in rows.tolist():
            datagram = self._block.datagram(row)
            try:
                if protocol is not None and self._selection.protocol is None:
                    whose = registry.recognised(datagram.payload[self._selection.skip :])
                    if whose is not protocol:
                        others.append(row)
                        continue
                for _ in records_of(datagram, registry, self._selection):
                    pass
            except DecodeError as error:
                if error.code == "foreign":
                    summary.foreign += 1
                    continue
                summary.faulty += 1
                fault = fault_row(error, datagram, self._file, self._selection)
                summary.faults[fault.code] += 1
                self._faults.append(((int(self._block.places[row]), 2), fault))
            else:
                raise RuntimeError(f"compiled code refuses packet {datagram.packet}, the layout does not")
        return others

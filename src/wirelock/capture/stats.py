"""Decoded captures -> statistics: what came when, and what each field of each version costs.

Kept in bounded memory: counts by field, and by interval of time. Rows one by one and the columns of many
come to the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from wirelock.capture.bandwidth import Bandwidth, FieldCost
from wirelock.capture.datagrams import Datagram
from wirelock.capture.decode import FaultRow, Row, Summary
from wirelock.capture.files import Packet
from wirelock.capture.groups import GroupCost, groups_of
from wirelock.capture.timeline import Interval, Timeline
from wirelock.codec.columnar import numpy_module
from wirelock.schema.registry import Protocol

if TYPE_CHECKING:
    from wirelock.capture.arrivals import Arrivals
    from wirelock.capture.bulk import Part, Records

__all__ = ["INTERVALS", "Statistics", "VersionCost"]

INTERVALS: Final = 120
"""The intervals of time at most."""


@dataclass(slots=True)
class VersionCost:
    """What the records of one version cost: payload bits in all, and by field."""

    protocol: Protocol
    version: int
    datagrams: int
    records: int
    bits: int
    skipped: int
    """Bits before the first record, of those of `bits`."""
    fields: list[FieldCost]
    groups: list[GroupCost]
    """Sums over `fields`."""

    @property
    def label(self) -> str:
        """Such as `snapshot v1`."""
        return self.protocol.label(self.version)

    def share(self, bits: int) -> float:
        """Return which part of the payload so many bits are; 0 where there is none."""
        return bits / self.bits if self.bits else 0.0


class _Version:
    """The records of one version while they come."""

    def __init__(self, protocol: Protocol, version: int) -> None:
        self.protocol, self.version = protocol, version
        self.bandwidth = Bandwidth(protocol.layout(version))
        self.datagrams = 0
        self.skipped = 0


class Statistics:
    """Takes what decode yields, and the packets that it saw; or the parts that decode_columns yields.

    `skip` is how many bytes of each payload stand before its first record. `by_bits` puts what costs most
    first, in place of what comes first in the layout.
    """

    def __init__(self, summary: Summary, skip: int = 0, *, by_bits: bool = False) -> None:
        self.summary = summary
        self.timeline = Timeline(INTERVALS)
        self.faulty_bytes = 0
        """Payload bytes of datagrams that are no records, or behind the last record that is one."""
        self._skip = skip
        self._by_bits = by_bits
        self._versions: dict[tuple[str, int], _Version] = {}
        self._datagram: Datagram | None = None
        self._used = 0
        self._last: tuple[int, int | None] = 0, None
        """How many captures were before that of the packet that came last, and the time of that packet."""

    def see(self, packet: Packet) -> None:
        """Count a packet, before what came of it."""
        self._time_ns = packet.time_ns
        self._packet(packet.time_ns, packet.captured)

    @property
    def _time_ns(self) -> int | None:
        """The time of the packet before, in the same capture."""
        files, time_ns = self._last
        return time_ns if files == self.summary.files else None

    @_time_ns.setter
    def _time_ns(self, time_ns: int | None) -> None:
        self._last = self.summary.files, time_ns

    def _packet(self, time_ns: int | None, captured: int) -> None:
        interval = self.timeline.at(time_ns)
        interval.packets += 1
        interval.bytes += captured

    def take(self, items: Iterable[Row | FaultRow]) -> None:
        """Count rows and faults."""
        for item in items:
            if isinstance(item, Row):
                self._row(item)
            else:
                self._fault(item)

    def _row(self, row: Row) -> None:
        protocol, version, record = row.parsed
        found = self._version(protocol, version)
        payload = row.datagram.payload
        if row.datagram is not self._datagram:
            self._datagram, self._used = row.datagram, self._skip
            found.datagrams += 1
            found.skipped += 8 * self._skip
        data = record.build() if protocol.repeats else payload[self._skip :]
        self._used += len(data)
        found.bandwidth.add(record, data)
        self.timeline.at(row.datagram.time_ns).counts["record", row.parsed.label] += 1

    def _version(self, protocol: Protocol, version: int) -> _Version:
        found = self._versions.get((protocol.name, version))
        if found is None:
            found = self._versions[protocol.name, version] = _Version(protocol, version)
        return found

    def _fault(self, fault: FaultRow) -> None:
        time_ns = fault.about.time_ns if fault.about else None
        if fault.datagram is None and time_ns is None:
            time_ns = self._time_ns  # of the file: that of the packet before it
        self.timeline.at(time_ns).counts["fault", fault.code] += 1
        if fault.datagram is not None:
            used = self._used if fault.datagram is self._datagram else 0
            self.faulty_bytes += len(fault.datagram.payload) - used
            self._datagram, self._used = fault.datagram, len(fault.datagram.payload)

    # -- many at once

    def take_part(self, part: Part) -> None:
        """Count a part: its packets, records and faults. Parts have to come in their order."""
        arrivals = part.block.arrivals
        self._packets(arrivals)
        for records in part.records:
            self._records(records)
        used = _used_before_faults(part)
        for place, fault in zip(part.places, part.faults, strict=True):
            self._time_ns = arrivals.before(place, self._time_ns)
            if fault.datagram is not None and fault.packet in used:
                self._datagram, self._used = fault.datagram, used[fault.packet]
            self._fault(fault)
        self._time_ns = arrivals.before(None, self._time_ns)

    def _packets(self, arrivals: Arrivals) -> None:
        np = numpy_module()
        times, captured = arrivals.runs
        intervals, which = self.timeline.spread(times)
        packets, octets = np.bincount(which), np.bincount(which, captured)  # sums below 2**53 are exact
        for interval, number, size in zip(intervals, packets.tolist(), octets.tolist(), strict=True):
            interval.packets += number
            interval.bytes += int(size)
        for time_ns, size in arrivals.singles():
            self._packet(time_ns, size)

    def _records(self, records: Records) -> None:
        np = numpy_module()
        block, rows, table = records.block, records.rows, records.table
        found = self._version(records.protocol, records.version)
        datagrams = int((table.starts == block.starts[rows] + self._skip).sum())
        found.datagrams += datagrams
        found.skipped += 8 * self._skip * datagrams
        found.bandwidth.add_table(table)
        name = "record", records.protocol.label(records.version)
        timed = block.timed[rows]
        intervals, which = self.timeline.spread(block.times[rows[timed]])
        for interval, number in zip(intervals, np.bincount(which).tolist(), strict=True):
            if number:
                interval.counts[name] += number
        for row in rows[~timed].tolist():
            self.timeline.at(block.odd[row].time_ns).counts[name] += 1

    def versions(self) -> list[VersionCost]:
        """Return what each version costs, in the order of their names."""
        return [self._cost(found) for _, found in sorted(self._versions.items())]

    def _cost(self, found: _Version) -> VersionCost:
        fields = found.bandwidth.costs()
        groups = groups_of(fields)
        if self._by_bits:
            fields.sort(key=lambda cost: -cost.bits)
            groups.sort(key=lambda group: -group.bits)
        return VersionCost(
            found.protocol,
            found.version,
            found.datagrams,
            found.bandwidth.records,
            found.bandwidth.bits + found.skipped,
            found.skipped,
            fields,
            groups,
        )

    def rate(self, bits: float) -> float | None:
        """Return bits a second, over the time from the first datagram to the last; None without such."""
        duration = self.summary.duration_ns
        return None if not duration else bits * 1e9 / duration

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it; counts of nanoseconds are strings, as in all JSON of ours."""
        summary, timeline = self.summary, self.timeline
        duration = summary.duration_ns
        return {
            "files": summary.files,
            "packets": summary.packets,
            "bytes": summary.bytes,
            "first_ns": None if summary.first_ns is None else str(summary.first_ns),
            "duration_ns": None if duration is None else str(duration),
            "datagrams": summary.datagrams,
            "foreign": summary.foreign,
            "other_ports": summary.other_ports,
            "other_traffic": dict(sorted(summary.other_traffic.items())),
            "records": dict(sorted(summary.records.items())),
            "faults": dict(sorted(summary.faults.items())),
            "faulty_bytes": self.faulty_bytes,
            "interval_ns": str(timeline.width_ns),
            "over_time": [
                {"start_ns": str(start), **_interval_json(interval)}
                for start, interval in timeline.intervals()
            ],
            "without_time": _interval_json(timeline.untimed),
            "bandwidth": [self._version_json(found) for found in self.versions()],
        }

    def _version_json(self, found: VersionCost) -> dict[str, Any]:
        return {
            "protocol": found.protocol.name,
            "version": found.version,
            "datagrams": found.datagrams,
            "records": found.records,
            "payload_bits": found.bits,
            "skipped_bits": found.skipped,
            "bits_per_second": self.rate(found.bits),
            "fields": [
                {
                    "path": cost.path,
                    "part": cost.part,
                    "type": cost.type,
                    "values": cost.values,
                    **self._bits_json(cost.bits, found),
                }
                for cost in found.fields
            ],
            "groups": [
                {"path": group.path, "fields": group.fields, **self._bits_json(group.bits, found)}
                for group in found.groups
            ],
        }

    def _bits_json(self, bits: int, found: VersionCost) -> dict[str, Any]:
        return {"bits": bits, "share": found.share(bits), "bits_per_second": self.rate(bits)}


def _interval_json(interval: Interval) -> dict[str, Any]:
    return {
        "packets": interval.packets,
        "bytes": interval.bytes,
        "records": _named(interval.counts, "record"),
        "faults": _named(interval.counts, "fault"),
    }


def _named(counts: Any, kind: str) -> dict[str, int]:
    return {name: count for (of, name), count in sorted(counts.items()) if of == kind}


def _used_before_faults(part: Part) -> dict[int | None, int]:
    """Return the payload bytes up to the end of the last record, by packets that have a fault behind one."""
    used: dict[int | None, int] = {}
    faulty = [fault.packet for fault in part.faults if fault.datagram is not None]
    for records in part.records if faulty else ():
        if records.protocol.repeats:
            which = numpy_module().isin(records.packets, faulty)
            ends = records.table.stops[which] - records.block.starts[records.rows[which]]
            for packet, end in zip(records.packets[which].tolist(), ends.tolist(), strict=True):
                used[packet] = max(end, used.get(packet, 0))
    return used

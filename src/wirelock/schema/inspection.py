"""A datagram's records as rows of values: dispatch and verdict are those of Protocol.parse_all.

Where parsing stops at the first fault and gives nothing, this gives what could be read before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from wirelock.codec.readout import Readout, read_out
from wirelock.errors import DecodeError, Fault
from wirelock.layout.nodes import Layout
from wirelock.schema.record import Buffer, as_bytes
from wirelock.schema.registry import Protocol

__all__ = ["Inspected", "inspect_all"]


@dataclass(frozen=True, slots=True)
class Inspected:
    """One record of a datagram, or what is in the place of one.

    `start` is its first byte in the datagram; the readout's own places count from there. `number` says
    which record it is, in a protocol that repeats. `version` is None, and the layout is that of the tag
    alone, where the tag names no version. `error` is what parsing raises.
    """

    protocol: Protocol
    version: int | None
    layout: Layout
    start: int
    number: int | None
    readout: Readout
    error: DecodeError | None

    @property
    def label(self) -> str:
        """Such as `snapshot v2`, or `snapshot`."""
        return self.protocol.name if self.version is None else self.protocol.label(self.version)


def inspect_all(protocol: Protocol, data: Buffer, version: int | None = None) -> Iterator[Inspected]:
    """Yield each record of a datagram, the last with the fault at which parse_all would stop.

    Raises TypeError or ValueError for a version that is not given or not known, as parse_all does.
    """
    data = as_bytes(data)
    at, number = 0, 0
    while True:
        rest = data[at:]
        found = _inspected(protocol, rest, version, at, number if protocol.repeats else None)
        yield found
        at, number = at + found.readout.end, number + 1
        if found.error is not None or not protocol.repeats or at >= len(data):
            return


def _inspected(
    protocol: Protocol, data: bytes, version: int | None, start: int, number: int | None
) -> Inspected:
    try:
        which = protocol.version_of(data) if version is None else protocol.known(version)
    except DecodeError as refused:
        # The datagram is ours if its first record was.
        code = "constant" if number and refused.code == "foreign" else refused.code
        first = protocol.layout(next(iter(protocol.versions)))
        layout = Layout(first.fields[: len(protocol.tag)], "", doc=first.doc)
        readout = replace(read_out(layout, data), fault=replace(refused.fault, code=code))
        return Inspected(
            protocol, None, layout, start, number, readout, _error(protocol.name, readout, start, number)
        )
    layout = protocol.layout(which)
    readout = read_out(layout, data, exact=number is None)
    if readout.fault is None:
        # What only Python knows of a record is left: its validators.
        readout = replace(readout, fault=_validated(protocol, which, data, number))
    error = _error(protocol.label(which), readout, start, number)
    return Inspected(protocol, which, layout, start, number, readout, error)


def _validated(protocol: Protocol, version: int, data: bytes, number: int | None) -> Fault | None:
    record = protocol.versions[version]
    try:
        if number is None:
            record.parse(data)
        else:
            record.parse_prefix(data)
    except DecodeError as error:
        return error.fault
    return None


def _error(record: str, readout: Readout, start: int, number: int | None) -> DecodeError | None:
    if readout.fault is None:
        return None
    fault = readout.fault if number is None else readout.fault.within(f"[{number}]", start)
    return DecodeError(record, fault)

"""Two captures -> which of their records differ, where first, and in which fields how often.

Records are paired by their protocol, version and keys, and the n-th with the same keys with the n-th; where
there are no keys, the n-th of a version with the n-th. Both captures are read side by side, and the bytes of
a record are kept until its other half has come: nearly nothing for sessions in the same order, and in the
worst case the payloads of both.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeAlias

from wirelock.capture.decode import FaultRow, Row
from wirelock.capture.divergence import FieldDifference, field_differences, key_text
from wirelock.schema.keys import Keys, keys_of
from wirelock.schema.registry import Parsed, Protocol, Registry

__all__ = ["Comparison", "Divergence", "Recorded", "compare", "keys_by_version", "recorded"]

KeysByVersion: TypeAlias = Mapping[tuple[str, int], Keys]
"""Protocol and version -> the keys by which its records are paired."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One record of a capture: its packet, its number there where the protocol repeats, and its bytes.

    `start` is its first byte in the payload; `key` says which record it is.
    """

    packet: int
    number: int | None
    protocol: Protocol
    version: int
    key: tuple[Any, ...]
    data: bytes
    start: int

    @property
    def label(self) -> str:
        """Such as `snapshot v2`."""
        return self.protocol.label(self.version)

    @property
    def where(self) -> str:
        """Such as `packet 5`, or `packet 5 [1]`."""
        return f"packet {self.packet}" + ("" if self.number is None else f" [{self.number}]")

    @property
    def place(self) -> tuple[int, int]:
        """What records are in order by."""
        return self.packet, self.number or 0


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two records that belong together, and a field in which they differ; None for the order of elements."""

    a: Recorded
    b: Recorded
    key: str
    field: FieldDifference | None


@dataclass(slots=True)
class Comparison:
    """What two captures have in common and what not. `fields` counts differences by record and field."""

    same: int = 0
    different: int = 0
    reordered: int = 0
    """Records that differ in the order of their elements alone."""
    first: Divergence | None = None
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    only_a: list[Recorded] = field(default_factory=list)
    only_b: list[Recorded] = field(default_factory=list)


def keys_by_version(registry: Registry, keys: Iterable[str] | None = None) -> dict[tuple[str, int], Keys]:
    """Return the keys of each version: those that its protocol declares, or of `keys` those that it has."""
    chosen = None if keys is None else tuple(keys)
    return {
        (protocol.name, version): keys_of(
            protocol.layout(version), protocol.keys if chosen is None else chosen
        )
        for protocol in registry
        for version in protocol.versions
    }


def recorded(items: Iterable[Row | FaultRow], skip: int, keys: KeysByVersion) -> Iterator[Recorded]:
    """Yield the records that decode yields, behind so many bytes of each payload; faults are passed over."""
    last, at, number = None, skip, 0
    for item in items:
        if isinstance(item, FaultRow):
            continue
        parsed, datagram = item.parsed, item.datagram
        if datagram is not last:
            last, at, number = datagram, skip, 0
        many = parsed.protocol.repeats
        data = parsed.record.build() if many else datagram.payload[skip:]
        yield _recorded(parsed, datagram.packet, number if many else None, data, at, keys)
        at, number = at + len(data), number + 1


def _recorded(
    parsed: Parsed, packet: int, number: int | None, data: bytes, at: int, keys: KeysByVersion
) -> Recorded:
    key = keys[parsed.protocol.name, parsed.version].of(parsed.record)
    return Recorded(packet, number, parsed.protocol, parsed.version, key, data, at)


def compare(a: Iterable[Recorded], b: Iterable[Recorded], keys: KeysByVersion) -> Comparison:
    """Compare two captures, record by record."""
    found = Comparison()
    waiting_a, waiting_b = _Waiting(), _Waiting()
    for one, other in zip_longest(a, b):
        if one is not None:
            _meet(found, one, waiting_b.partner(one), waiting_a, keys, swapped=False)
        if other is not None:
            _meet(found, other, waiting_a.partner(other), waiting_b, keys, swapped=True)
    found.only_a, found.only_b = waiting_a.left(), waiting_b.left()
    return found


class _Waiting:
    """The records of one capture whose other half has not come yet."""

    def __init__(self) -> None:
        self._records: dict[tuple[Any, ...], deque[Recorded]] = {}

    def add(self, record: Recorded) -> None:
        self._records.setdefault(_pair_key(record), deque()).append(record)

    def partner(self, record: Recorded) -> Recorded | None:
        """Return the first that belongs to a record of the other capture, which waits no longer."""
        queue = self._records.get(_pair_key(record))
        if queue is None:
            return None
        found = queue.popleft()
        if not queue:
            del self._records[_pair_key(record)]
        return found

    def left(self) -> list[Recorded]:
        """Return those that are left, in the order of the capture."""
        return sorted(
            (record for queue in self._records.values() for record in queue), key=lambda it: it.place
        )


def _pair_key(record: Recorded) -> tuple[Any, ...]:
    return record.protocol.name, record.version, record.key


def _meet(
    found: Comparison,
    new: Recorded,
    partner: Recorded | None,
    waiting: _Waiting,
    keys: KeysByVersion,
    *,
    swapped: bool,
) -> None:
    """Compare a record with its other half, or let it wait for it."""
    if partner is None:
        waiting.add(new)
        return
    a, b = (partner, new) if swapped else (new, partner)
    if a.data == b.data:
        found.same += 1
        return
    found.different += 1
    version = keys[a.protocol.name, a.version]
    layout = a.protocol.layout(a.version)
    differences = field_differences(layout, version, (a.data, a.start), (b.data, b.start))
    found.reordered += not differences
    found.fields.update((a.label, item.general) for item in differences)
    key = " ".join(f"{name}={key_text(value)}" for name, value in zip(version.records, a.key, strict=True))
    _keep_first(found, Divergence(a, b, key, differences[0] if differences else None))


def _keep_first(found: Comparison, new: Divergence) -> None:
    """Keep what comes first in the first capture; an order of elements only where no field differs."""
    old = found.first
    if old is None or (new.field is None, new.a.place) < (old.field is None, old.a.place):
        found.first = new

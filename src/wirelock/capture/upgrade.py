"""Rows of several versions -> rows of one version of each protocol, by the protocols' own migrations.

A row that a step refuses becomes a fault with the code `migration`. A way that is missing, or loses what was
not allowed, is nothing that a packet has done: it is raised.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from wirelock.capture.decode import FaultRow, Row, Summary
from wirelock.errors import MigrationError

__all__ = ["MIGRATION_FAULTS", "upgraded"]

MIGRATION_FAULTS: Final = {"migration": "a step of a migration refuses the record"}
"""What keeps a record from being brought to another version, by code."""


def upgraded(
    items: Iterable[Row | FaultRow],
    versions: Mapping[str, int],
    allow: Collection[str],
    summary: Summary,
) -> Iterator[Row | FaultRow]:
    """Yield rows in the versions that are wanted, by the name of the protocol; faults as they are.

    `allow` names what may be lost on the way. Raises MigrationError where a step is missing, or loses more.
    """
    steps: dict[tuple[str, int], list[Any]] = {}
    for item in items:
        if isinstance(item, FaultRow) or item.parsed.protocol.name not in versions:
            yield item
            continue
        protocol, version, record = item.parsed
        wanted = versions[protocol.name]
        key = protocol.name, version
        if key not in steps:
            steps[key] = protocol.migrations.steps(version, wanted, allow)
        try:
            for start, end, step in steps[key]:
                record = protocol.migrations.take(record, start, end, step)
        except MigrationError as problem:
            summary.faults["migration"] += 1
            datagram = item.datagram
            yield FaultRow(
                item.file, "migration", "", str(problem), "", datagram.packet, datagram, item.parsed.label
            )
            continue
        yield replace(item, parsed=item.parsed._replace(version=wanted, record=record), sent_version=version)

"""Records of a version to try things on: those of its valid golden cases."""

from __future__ import annotations

from wirelock.golden.vectors import read_version
from wirelock.schema.project import Project
from wirelock.schema.record import Record
from wirelock.schema.registry import Protocol

__all__ = ["records_of"]


def records_of(project: Project, protocol: Protocol, version: int) -> list[Record]:
    """Return the records of a version's valid golden cases; none where it has no golden file.

    Raises GoldenError for a file that cannot be read, DecodeError for a case that does not hold.
    """
    file = read_version(project.fixtures, protocol.name, version)
    cases = () if file is None else file.cases
    return [protocol.parse(case.data, version=version) for case in cases if case.error is None]

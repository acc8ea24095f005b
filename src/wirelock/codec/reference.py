"""The reference engine: construct itself, wrapped so that every place is known, plus the strictness.

The author's construct is cloned beside the lowered Layout (reference_kinds), construct reads and writes all
values and computes all expressions, and what it refuses or would lose becomes the one fault of the record.
ConstructError never leaves this file.
"""

from __future__ import annotations

import io
from typing import Any, Final

import construct

from wirelock.codec.adopt import adopt, runs_python, unchanged
from wirelock.codec.check import check
from wirelock.codec.code import stale_checksum
from wirelock.codec.locate import trailing
from wirelock.codec.reference_kinds import located
from wirelock.codec.reference_reading import Reading
from wirelock.codec.reference_values import FRAME, same, writable
from wirelock.codec.template import Names
from wirelock.codec.trail import Found, Frame, Trail
from wirelock.errors import Fault
from wirelock.layout.nodes import Layout

__all__ = ["ReferenceEngine"]


class ReferenceEngine:
    """Parses and builds one record through construct. Raises trail.Found only; safe to share."""

    name: Final = "reference"

    def __init__(self, source: construct.Construct, layout: Layout, names: Names) -> None:
        self._layout = layout
        self._names = names
        self._construct = located(source, layout)

    def parse(self, data: bytes) -> Any:
        """Return the record that all of `data` is."""
        return self._parse(data, exact=True)[0]

    def parse_prefix(self, data: bytes, at: int = 0) -> tuple[Any, int]:
        """Return the record that starts at byte `at`, and its size. A fault counts from there on."""
        return self._parse(data[at:], exact=False)

    def build(self, record: Any) -> bytes:
        """Return the bytes of a record, which is checked again and must parse back to the same values."""
        frame, again, data = self._written(record)
        if (fault := stale_checksum(frame, again)) is not None:
            raise Found(fault)
        return data

    def filled(self, record: Any) -> Frame:
        """Return the values of a record as they are written, with its checksums as they must be."""
        return self._written(record)[1]

    def _written(self, record: Any) -> tuple[Frame, Frame, bytes]:
        """Return the values of a record, those of its bytes, and the bytes, whose checksums are computed."""
        frame = check(self._layout, record, self._names)
        try:
            data = bytes(self._construct.build(writable(frame)))
        except construct.ConstructError as problem:
            raise AssertionError(f"construct refuses a checked record: {problem}") from problem
        again, _, taken = self._read(data)
        if taken != len(data) or not same(frame, again):
            raise Found(Fault("not-canonical", "", "the record", "another one"))
        return frame, again, data

    def _parse(self, data: bytes, *, exact: bool) -> tuple[Any, int]:
        data = bytes(data)
        frame, trail, taken = self._read(data)
        if exact and taken < len(data):
            raise Found(trailing(taken, len(data) - taken))
        if (fault := trail.value_fault()) is not None:
            raise Found(fault)
        record = adopt(frame, self._names, trail)
        if runs_python(self._layout):
            unchanged(record, data[:taken], self)
        return record, taken

    def _read(self, data: bytes) -> tuple[Frame, Trail, int]:
        """Read the structure at the start of `data`: its values, the trail, and the bytes taken."""
        reading, stream = Reading(data, Trail(), len(data)), io.BytesIO(data)
        context = construct.Container(_parsing=True, _building=False, _sizing=False, _reading=reading)
        context._params = context
        try:
            found = self._construct._parsereport(stream, context, "")
        except construct.ConstructError as problem:
            raise AssertionError(f"construct refuses what the Layout takes: {problem}") from problem
        return found[FRAME], reading.trail, stream.tell()

"""What each field of records costs: bits counted by path, every bit of every record once.

Elements are counted together, as `entities[].id`. Beside values there are counts and sizes before them, and
padding and terminators behind them, as in `wirelock inspect`. Where a layout is made of fields of fixed
sizes, bytes, text and arrays, costs follow from what records hold; any other is read field by field.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from wirelock.capture.costs import Costs, FieldCost
from wirelock.codec.readout import read_out
from wirelock.layout.nodes import Layout

if TYPE_CHECKING:
    from wirelock.codec.table import Table

__all__ = ["Bandwidth", "FieldCost"]


class Bandwidth:
    """Counts the bits of each field over records of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.records = 0
        self.bits = 0
        self._costs = Costs()
        self._meter = self._costs.meter(layout)

    def add(self, record: Any, data: bytes) -> None:
        """Count one record, which is all of `data`."""
        self.records += 1
        self.bits += 8 * len(data)
        if self._meter is not None:
            self._meter.add(record)
        else:
            self._read(data)

    def add_table(self, table: Table) -> None:
        """Count the records of a table of this layout."""
        self.records += len(table)
        self.bits += 8 * int((table.stops - table.starts).sum())
        if self._meter is not None:
            self._meter.add_column(table.engine.plan.root, table)
            return
        for row in range(len(table)):
            self._read(table.octets(row))

    def _read(self, data: bytes) -> None:
        for row in read_out(self.layout, data).rows:
            if not row.group and row.end > row.bit:
                cost = self._costs.of(re.sub(r"\[\d+\]", "[]", row.path), row.part, row.kind)
                cost.values += 1
                cost.bits += row.end - row.bit

    def costs(self) -> list[FieldCost]:
        """Return what each field has cost so far, in wire order; the bits sum up to those of the records."""
        return self._costs.found()

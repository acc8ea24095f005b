"""What each field of records costs: bits counted by path, every bit of every record once.

Elements are counted together, as `entities[].id`. Beside values there are counts and sizes before them, and
padding and terminators behind them, as in `wirelock inspect`. Costs follow from what records hold; only those
with bytes that code alone can read are read field by field.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from wirelock.capture.costs import Costs
from wirelock.capture.meters import FieldCost
from wirelock.codec.readout import read_out
from wirelock.layout.nodes import If, Layout, Optional, Padded, Sized, Switch, plain

if TYPE_CHECKING:
    from wirelock.codec.table import Table

__all__ = ["Bandwidth", "FieldCost"]


_AROUND: Final = (If, Optional, Switch, Padded, Sized)


class Bandwidth:
    """Counts the bits of each field over records of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.records = 0
        self.bits = 0
        self._costs = Costs(layout)

    def add(self, record: Any, data: bytes) -> None:
        """Count one record, which is all of `data`."""
        self.records += 1
        self.bits += 8 * len(data)
        if self._costs.by_records:
            self._costs.meter.add(record, None)
        else:
            self._read(data)

    def add_table(self, table: Table) -> None:
        """Count the records of a table of this layout."""
        self.records += len(table)
        self.bits += 8 * int((table.stops - table.starts).sum())
        meter = self._costs.meter
        if self._costs.by_columns:
            meter.add_column(table.engine.plan.root, table)
        elif self._costs.by_records:
            for record in table:
                meter.add(record, None)
        else:
            for row in range(len(table)):
                self._read(table.octets(row))

    def _read(self, data: bytes) -> None:
        for row in read_out(self.layout, data).rows:
            # Of what may be absent, or wraps what takes nothing, only the value is one.
            empty = row.end == row.bit and isinstance(plain(row.kind), _AROUND)
            if not row.group and not empty:
                path = re.sub(r"\[\d+\]", "[]", row.path)
                self._costs.read(path, row.part, row.kind, row.end - row.bit)

    def costs(self) -> list[FieldCost]:
        """Return what each field has cost so far, in the layout's order; the bits sum up to the records'."""
        return self._costs.found()

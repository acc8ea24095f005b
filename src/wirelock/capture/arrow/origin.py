"""Records that are columns already -> a batch of rows: which packet each is of, and what it holds.

The columns are those that records one by one become, to the byte.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from wirelock.capture.bulk import DESTINATION, SOURCE, Records
from wirelock.codec.arrow import arrow_struct

__all__ = ["columns_batch"]


def columns_batch(schema: pa.Schema, records: Records, file: str, *, derived: bool = False) -> pa.RecordBatch:
    """Return the records as rows of a schema of row_schema, in the version that was sent."""
    cells = _Cells(records, file, derived)
    arrays = []
    for field in schema:
        found = cells.of(field.name)
        array = pa.array(found) if hasattr(found, "dtype") else found
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Cells:
    """The columns of records by name."""

    def __init__(self, records: Records, file: str, derived: bool) -> None:
        self._records = records
        self._derived = derived
        self._file = file

    def of(self, name: str) -> Any:
        records = self._records
        count, rows = len(records), records.rows
        match name:
            case "file":
                return pa.repeat(pa.scalar(self._file), count)
            case "packet":
                return records.packets
            case "time":
                timed = records.block.timed[rows]
                # A mask makes pyarrow look for pandas, every time where that is not installed.
                return pa.array(records.block.times[rows], mask=None if timed.all() else ~timed)
            case "source" | "destination":
                numbers, texts = records.addresses(DESTINATION if name == "destination" else SOURCE)
                return pa.array(texts, pa.string()).take(pa.array(numbers))
            case "source_port":
                return records.source_ports
            case "destination_port":
                return records.destination_ports
            case "protocol":
                return pa.repeat(pa.scalar(records.protocol.name), count)
            case "version" | "sent_version":
                return pa.repeat(pa.scalar(records.version, pa.int64()), count)
        return arrow_struct(records.table, derived=self._derived)

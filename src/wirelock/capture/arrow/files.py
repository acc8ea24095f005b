"""Record batches -> Parquet and Arrow files, in row groups of a bounded size.

Batches may come from anywhere and be of any size: they are gathered into row groups of up to GROUP_ROWS rows
and about GROUP_BYTES bytes of columns, and larger ones are cut. So memory does not depend on how long a
capture is. Parquet is compressed with zstd; an Arrow file is not, so that it can be mapped into memory.
"""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["GROUP_BYTES", "GROUP_ROWS", "TableFile"]

GROUP_ROWS: Final = 1 << 17
"""The rows of a row group at most."""
GROUP_BYTES: Final = 16 << 20
"""The bytes of columns in memory of which a row group is made; its last batch may go beyond."""


class TableFile:
    """One table of one schema in a binary stream; `form` is "parquet" or "arrow".

    As a context manager it is closed at the end of the block, and completed if that is no exception.
    """

    def __init__(self, stream: BinaryIO, form: str, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows = 0
        """The rows that were written, those that are still gathered included."""
        self._sink = pa.PythonFile(stream, mode="w")
        self._writer: Any
        if form == "parquet":
            self._writer = pq.ParquetWriter(self._sink, schema, compression="zstd", compression_level=1)
        else:
            self._writer = pa.ipc.new_file(self._sink, schema)
        self._gathered: list[pa.RecordBatch] = []
        self._held = 0
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        with suppress(Exception):  # a writer that is left open writes its end later, when nobody expects it
            self._writer.close()

    def close(self) -> None:
        """Complete the file. It may be closed again."""
        self._flush()
        self._writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch of the file's schema."""
        self.rows += batch.num_rows
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, GROUP_ROWS - self._held)
            at += piece.num_rows
            self._gathered.append(piece)
            self._held += piece.num_rows
            self._bytes += piece.nbytes
            if self._held == GROUP_ROWS or self._bytes >= GROUP_BYTES:
                self._flush()

    def _flush(self) -> None:
        if not self._gathered:
            return
        group = pa.Table.from_batches(self._gathered, self.schema).combine_chunks()
        self._gathered, self._held, self._bytes = [], 0, 0
        if isinstance(self._writer, pq.ParquetWriter):
            self._writer.write_table(group, row_group_size=group.num_rows)
        else:
            self._writer.write_table(group)

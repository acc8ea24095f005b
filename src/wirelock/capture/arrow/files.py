"""Record batches -> Parquet and Arrow files, in row groups of a bounded size.

Batches may be of any size. Where a row group ends follows from the rows alone, by Groups, so that a file is
the same whatever its batches were; memory does not depend on how long a capture is. A group is compressed and
written in a thread, while the next one is gathered. Parquet is compressed with zstd, and floats with their
bytes apart; an Arrow file is not, so that it can be mapped into memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import accumulate
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["GROUP_BYTES", "GROUP_ROWS", "Groups", "TableFile"]

GROUP_ROWS: Final = 1 << 17
"""The rows of a row group at most."""
GROUP_BYTES: Final = 4 << 20
"""The bytes of payload whose records make a row group; its last record may go beyond."""


class Groups:
    """Says where row groups end, of rows that come in any number of batches."""

    def __init__(self) -> None:
        self._rows = self._bytes = 0

    def cut(self, sizes: Any) -> Iterator[tuple[int, int, bool]]:
        """Yield from where to where a batch is of one group, and whether that is then full.

        `sizes` are the bytes that each row adds, a list or an array.
        """
        sums = sizes.cumsum() if hasattr(sizes, "cumsum") else list(accumulate(sizes))
        at, count = 0, len(sizes)
        while at < count:
            before = int(sums[at - 1]) if at else 0
            end = bisect_left(sums, before + GROUP_BYTES - self._bytes) + 1
            end = min(end, at + GROUP_ROWS - self._rows, count)
            self._bytes += int(sums[end - 1]) - before
            self._rows += end - at
            full = self._bytes >= GROUP_BYTES or self._rows >= GROUP_ROWS
            if full:
                self._rows = self._bytes = 0
            yield at, end, full
            at = end


class TableFile:
    """One table of one schema in a binary stream; `form` is "parquet" or "arrow".

    Without `threads` groups are written where they end. As a context manager it is closed at the end of the
    block, and completed if that is no exception.
    """

    def __init__(self, stream: BinaryIO, form: str, schema: pa.Schema, *, threads: bool = True) -> None:
        self.schema = schema
        self.rows = 0
        """The rows that were written, those that are still gathered included."""
        self._sink = pa.PythonFile(stream, mode="w")
        self._writer: Any
        if form == "parquet":
            self._writer = pq.ParquetWriter(self._sink, schema, **_parquet_options(schema))
        else:
            self._writer = pa.ipc.new_file(self._sink, schema)
        self._gathered: list[pa.RecordBatch] = []
        self._threads = threads
        self._thread = ThreadPoolExecutor(1, "wirelock-write")
        self._written: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        self._thread.shutdown()
        with suppress(Exception):  # a writer that is left open writes its end later, when nobody expects it
            self._writer.close()

    def close(self) -> None:
        """Complete the file. It may be closed again."""
        self.end_group()
        self._wait()
        self._thread.shutdown()
        self._writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Add a batch of the file's schema to the current row group."""
        self.rows += batch.num_rows
        if batch.num_rows:
            self._gathered.append(batch)

    def end_group(self) -> None:
        """End the current row group."""
        if self._gathered:
            group = pa.Table.from_batches(self._gathered, self.schema).combine_chunks()
            self._gathered = []
            self._wait()
            if self._threads:
                self._written = self._thread.submit(self._write, group)
            else:
                self._write(group)

    def _wait(self) -> None:
        """Wait for the group that is being written, and raise what came of it."""
        if self._written is not None:
            written, self._written = self._written, None
            written.result()

    def _write(self, group: pa.Table) -> None:
        if isinstance(self._writer, pq.ParquetWriter):
            self._writer.write_table(group, row_group_size=group.num_rows)
        else:
            self._writer.write_table(group)


def _parquet_options(schema: pa.Schema) -> dict[str, Any]:
    """Return what Parquet does with the columns of a schema.

    What costs time and gains little is left out: dictionaries of numbers, and statistics of what is inside
    of lists, by which no reader skips anything. Floats of neighbours differ in their last bytes, so that
    these are better kept apart.
    """
    leaves = dict(_leaves(schema, ""))
    floats = [path for path, kind in leaves.items() if pa.types.is_floating(kind)]
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [path for path, kind in leaves.items() if not _is_number(kind)],
        "use_byte_stream_split": floats or False,
        "write_statistics": [path for path in leaves if ".list." not in path],
    }


def _is_number(kind: pa.DataType) -> bool:
    kinds = pa.types
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_timestamp(kind))


def _leaves(fields: Any, prefix: str) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the columns of Parquet with their types."""
    for field in fields:
        path, kind = prefix + field.name, field.type
        while pa.types.is_list(kind):
            path, kind = f"{path}.list.element", kind.value_type
        if pa.types.is_struct(kind):
            yield from _leaves(kind, f"{path}.")
        else:
            yield path, kind

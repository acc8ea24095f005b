"""Rows and faults -> tables: a schema and a file for each protocol and version, and one for faults.

The columns of a row are those of a line of JSONL: which packet, protocol and version, then `record`, a
struct of the record's fields. What the columns are of is in the metadata of the schema: protocol, version
and the digest of the version. Records are gathered up to BATCH_BYTES of payload before they become columns.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self, TypeAlias

import pyarrow as pa

from wirelock.capture.arrow.columns import column_of
from wirelock.capture.arrow.explode import exploded, exploded_schema, list_columns
from wirelock.capture.arrow.files import Groups, TableFile
from wirelock.capture.arrow.origin import columns_batch
from wirelock.capture.decode import FaultRow, Row
from wirelock.capture.packets import time_in_64_bits
from wirelock.capture.sinks import fault_cells
from wirelock.codec.arrow import arrow_struct
from wirelock.codec.arrow_types import type_of
from wirelock.schema.columns import declares_columns, empty_table, read_each
from wirelock.schema.record import wire_of
from wirelock.schema.registry import Protocol
from wirelock.shown import file_text

if TYPE_CHECKING:
    from wirelock.capture.bulk import Records

__all__ = ["BATCH_BYTES", "BATCH_ROWS", "FaultTable", "RowTables", "Shape", "fault_schema", "row_schema"]

BATCH_BYTES: Final = 1 << 18
"""The bytes of payload whose records are kept as Python objects, at most, for each table."""
BATCH_ROWS: Final = 1 << 12
"""The records that are kept, at most."""

_PACE: Final = 200_000
"""How many objects more than before there are when Python looks for garbage: a batch of records, or two."""

Shape: TypeAlias = tuple[Protocol, int]
"""What a table holds: records of one version of a protocol."""
Open: TypeAlias = Callable[[Path], BinaryIO]


# -- schemas


def row_schema(
    protocol: Protocol, version: int, *, many_files: bool, upgraded: bool, derived: bool = False
) -> pa.Schema:
    """Return the columns of a version's table.

    `upgraded` adds the version that was sent, `derived` the columns that records declare: their types are
    those that the functions give for no values.
    """
    wire = wire_of(protocol.versions[version])
    computed = derived and declares_columns(wire)
    record = arrow_struct(empty_table(wire), derived=True).type if computed else type_of(wire.layout)
    return pa.schema(
        [
            *_origin_fields(many_files, sure=True),
            pa.field("protocol", pa.string(), nullable=False),
            pa.field("version", pa.int64(), nullable=False),
            *([pa.field("sent_version", pa.int64(), nullable=False)] if upgraded else []),
            pa.field("record", record, nullable=False),
        ],
        metadata={
            "wirelock.protocol": protocol.name,
            "wirelock.version": str(version),
            "wirelock.digest": protocol.digest(version),
        },
    )


def fault_schema() -> pa.Schema:
    """Return the columns of the table of faults."""
    return pa.schema(
        [
            *_origin_fields(many_files=True, sure=False),
            ("protocol", pa.string()),
            ("version", pa.int64()),
            pa.field("code", pa.string(), nullable=False),
            pa.field("path", pa.string(), nullable=False),
            ("byte", pa.int64()),
            pa.field("place", pa.string(), nullable=False),
            pa.field("message", pa.string(), nullable=False),
            ("payload", pa.binary()),
        ]
    )


def _origin_fields(many_files: bool, sure: bool) -> Iterator[pa.Field]:
    """Yield the columns that say which packet a row is of. Files have no place for a time beyond 2262."""
    if many_files:
        yield pa.field("file", pa.string(), nullable=False)
    yield pa.field("packet", pa.int64(), nullable=not sure)
    yield pa.field("time", pa.timestamp("ns", "UTC"))
    for end in ("source", "destination"):
        yield pa.field(end, pa.string(), nullable=not sure)
        yield pa.field(f"{end}_port", pa.uint16(), nullable=not sure)


# -- batches


def _batch(schema: pa.Schema, rows: list[Row], derived: bool) -> pa.RecordBatch:
    """Return rows of one version as a batch; records with derived columns are built and read as columns."""
    datagrams = [row.datagram for row in rows]
    cells: dict[str, list[Any]] = {
        "file": [file_text(row.file) for row in rows],
        "packet": [it.packet for it in datagrams],
        "time": [time_in_64_bits(it.time_ns) for it in datagrams],
        "source": [it.source for it in datagrams],
        "source_port": [it.source_port for it in datagrams],
        "destination": [it.destination for it in datagrams],
        "destination_port": [it.destination_port for it in datagrams],
        "protocol": [row.parsed.protocol.name for row in rows],
        "version": [row.parsed.version for row in rows],
        "sent_version": [row.sent_version for row in rows],
    }
    first = rows[0].parsed
    wire = wire_of(first.protocol.versions[first.version])
    if derived and declares_columns(wire):
        records = arrow_struct(read_each(wire, [row.record.build() for row in rows]), derived=True)
    else:
        records = column_of(wire.layout, [row.record for row in rows])
    arrays = [
        records if name == "record" else pa.array(cells[name], schema.field(name).type)
        for name in schema.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


# -- sinks


class RowTables:
    """Takes rows, and writes a file for each version of a protocol that occurs.

    `name_of` gives the file of a shape and `open_file` opens it. With `lists`, tables are flat and have a row
    for each element of the arrays of these names, one inside of the other. `derived` adds the columns that
    records declare, which takes the columnar engine. `always` is a shape whose file is written even if there
    are no rows. With `threads` a group of rows is written while the next one is
    gathered. A context manager: the files are there if its block ends without an exception.
    """

    def __init__(
        self,
        name_of: Callable[[Shape], Path],
        open_file: Open,
        form: str,
        *,
        many_files: bool,
        upgraded: bool,
        lists: Sequence[str] = (),
        derived: bool = False,
        always: Shape | None = None,
        threads: bool = True,
    ) -> None:
        self._name_of, self._open, self._form = name_of, open_file, form
        self._how = {"many_files": many_files, "upgraded": upgraded, "derived": derived}
        self._derived = derived
        self._lists = lists
        self._tables: dict[tuple[str, int], _Table] = {}
        self._stack = ExitStack()
        self._always = always
        self._threads = threads

    def __enter__(self) -> Self:
        # Records that wait for their batch look like garbage that piles up: collecting at Python's own pace
        # takes as long as all the rest.
        self._pace = gc.get_threshold()
        gc.set_threshold(_PACE, *self._pace[1:])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        gc.set_threshold(*self._pace)
        if kind is None:
            try:
                if self._always is not None:
                    self._table(*self._always)
                for table in self._tables.values():  # all of them, before one takes its name
                    table.close()
            except BaseException as problem:
                self._stack.__exit__(type(problem), problem, problem.__traceback__)
                raise
        self._stack.__exit__(kind, error, trace)

    def write(self, row: Row) -> None:
        """Write one row."""
        self._table(row.parsed.protocol, row.parsed.version).add(row)

    def write_records(self, records: Records, file: str) -> None:
        """Write rows that are columns already; `file` is the name of their capture."""
        self._table(records.protocol, records.version).add_columns(records, file)

    @property
    def written(self) -> dict[Path, int]:
        """The files and how many rows each has."""
        return {table.path: table.file.rows for table in self._tables.values()}

    def _table(self, protocol: Protocol, version: int) -> _Table:
        key = protocol.name, version
        if key not in self._tables:
            path = self._name_of((protocol, version))
            stream = self._open(path)
            schema = row_schema(protocol, version, **self._how)
            lists = list_columns(protocol.layout(version), self._lists)
            stored = exploded_schema(schema, lists) if lists else schema
            file = self._stack.enter_context(TableFile(stream, self._form, stored, threads=self._threads))
            self._tables[key] = _Table(path, file, schema, lists, self._derived)
        return self._tables[key]


class _Table:
    """A file and the rows that are on their way to it."""

    def __init__(
        self, path: Path, file: TableFile, schema: pa.Schema, lists: list[list[str]], derived: bool
    ) -> None:
        self.path, self.file = path, file
        self._schema, self._lists, self._derived = schema, lists, derived
        self._groups = Groups()
        self._rows: list[Row] = []
        self._sizes: list[int] = []
        self._bytes = 0

    def add(self, row: Row) -> None:
        first = not self._rows or self._rows[-1].datagram is not row.datagram
        size = len(row.datagram.payload) if first else 0
        self._rows.append(row)
        self._sizes.append(size)
        self._bytes += size
        if self._bytes >= BATCH_BYTES or len(self._rows) == BATCH_ROWS:
            self.flush()

    def add_columns(self, records: Records, file: str) -> None:
        self.flush()
        batch = columns_batch(self._schema, records, file_text(file), derived=self._derived)
        self._write(batch, records.sizes)

    def flush(self) -> None:
        if self._rows:
            batch, sizes = _batch(self._schema, self._rows, self._derived), self._sizes
            self._rows, self._sizes, self._bytes = [], [], 0
            self._write(batch, sizes)

    def _write(self, batch: pa.RecordBatch, sizes: Any) -> None:
        for start, end, full in self._groups.cut(sizes):
            piece = batch.slice(start, end - start)
            self.file.write(exploded(piece, self._lists) if self._lists else piece)
            if full:
                self.file.end_group()

    def close(self) -> None:
        self.flush()
        self.file.close()


class FaultTable:
    """Takes faults into one file; a context manager, as RowTables is."""

    def __init__(self, stream: BinaryIO, form: str) -> None:
        self._file = TableFile(stream, form, fault_schema())
        self._faults: list[FaultRow] = []
        self._groups = Groups()
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._file.__exit__(kind, error, trace)

    def write(self, fault: FaultRow) -> None:
        """Write one fault."""
        self._faults.append(fault)
        self._bytes += len(fault.datagram.payload) if fault.datagram else 0
        if self._bytes >= BATCH_BYTES or len(self._faults) == BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        rows = []
        for fault in self._faults:
            datagram = fault.datagram
            time = time_in_64_bits(fault.about.time_ns) if fault.about else None
            payload = datagram.payload if datagram else None
            rows.append({**fault_cells(fault), "time": time, "payload": payload})
        self._faults, self._bytes = [], 0
        if rows:
            batch = pa.RecordBatch.from_pylist(rows, schema=self._file.schema)
            for start, end, full in self._groups.cut([len(row["payload"] or b"") for row in rows]):
                self._file.write(batch.slice(start, end - start))
                if full:
                    self._file.end_group()

"""Rows and faults -> text: aligned lines for people, JSONL and CSV for programs.

Rows are written as they come: memory stays flat. What is for programs is lossless; in lines for people,
text of peers and names of files is escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum, IntFlag
from typing import Any, Final, Protocol, TextIO

from wirelock.capture.decode import FaultRow, Row, endpoint
from wirelock.capture.explode import FlatRows
from wirelock.codec.words import quoted
from wirelock.layout.nodes import Array, Constant, If, Layout, Optional, Type, parts_of, valued
from wirelock.schema.registry import Protocol as WireProtocol
from wirelock.schema.registry import Registry
from wirelock.shown import escaped

__all__ = ["FORMATS", "FaultSink", "RowSink", "fault_cells", "fault_sink", "row_sink"]

FORMATS: Final = ("table", "jsonl", "csv")


class RowSink(Protocol):
    """Takes rows, in order."""

    def write(self, row: Row) -> None:
        """Write one row."""


class FaultSink(Protocol):
    """Takes faults, in order."""

    def write(self, fault: FaultRow) -> None:
        """Write one fault."""


def row_sink(
    form: str,
    stream: TextIO,
    registry: Registry,
    width: int | None,
    many_files: bool,
    *,
    versions: Mapping[str, int] | None = None,
    lists: Sequence[str] = (),
) -> RowSink:
    """Return the sink for a format of FORMATS; `width` cuts the lines of a table.

    `versions` are those to which records were brought, by protocol; rows then have the version that was sent
    too. JSONL and CSV have a row for each element of the arrays that `lists` names, one inside of the other.
    """
    if form == "jsonl":
        return _FlatJsonRows(stream, many_files, lists) if lists else _JsonRows(stream, many_files)
    if form == "csv":
        return _CsvRows(stream, registry, many_files, versions, lists)
    return _TableRows(stream, width, many_files)


def fault_sink(form: str, stream: TextIO) -> FaultSink:
    """Return the sink of faults for `jsonl`, `csv`, or `table`: one line a fault for people."""
    if form == "jsonl":
        return _JsonFaults(stream)
    return _CsvFaults(stream) if form == "csv" else _FaultLines(stream)


def _origin(row: Row | FaultRow, many_files: bool) -> dict[str, Any]:
    """The columns that say which packet a row or fault is from."""
    datagram, about = row.datagram, row.about if isinstance(row, FaultRow) else row.datagram
    time_ns = about.time_ns if about else None
    # Beyond 2^53 an integer is a string in all JSON of ours: many readers would round it.
    return {
        **({"file": row.file} if many_files else {}),
        "packet": row.packet if isinstance(row, FaultRow) else row.datagram.packet,
        "time_ns": None if time_ns is None else str(time_ns),
        "source": about.source if about else None,
        "source_port": datagram.source_port if datagram else None,
        "destination": about.destination if about else None,
        "destination_port": datagram.destination_port if datagram else None,
    }


def _head(row: Row, many_files: bool) -> dict[str, Any]:
    """The columns before those of the record."""
    head = {
        **_origin(row, many_files),
        "protocol": row.parsed.protocol.name,
        "version": row.parsed.version,
    }
    return head if row.sent_version is None else {**head, "sent_version": row.sent_version}


class _JsonRows:
    def __init__(self, stream: TextIO, many_files: bool) -> None:
        self._stream = stream
        self._many_files = many_files

    def write(self, row: Row) -> None:
        text = json.dumps(_head(row, self._many_files), separators=(",", ":"), ensure_ascii=False)
        self._stream.write(f'{text[:-1]},"record":{row.record.model_dump_json()}}}\n')


class _Flat:
    """What makes flat rows of each version, once it is asked for."""

    def __init__(self, lists: Sequence[str]) -> None:
        self._lists = lists
        self._known: dict[tuple[str, int], FlatRows] = {}

    def of(self, protocol: WireProtocol, version: int) -> FlatRows:
        key = protocol.name, version
        if key not in self._known:
            self._known[key] = FlatRows(protocol.layout(version), self._lists)
        return self._known[key]


class _FlatJsonRows:
    """As CSV, with JSON in place of text, and the columns of the row's own version."""

    def __init__(self, stream: TextIO, many_files: bool, lists: Sequence[str]) -> None:
        self._stream = stream
        self._many_files = many_files
        self._flat = _Flat(lists)

    def write(self, row: Row) -> None:
        flat = self._flat.of(row.parsed.protocol, row.parsed.version)
        head = _head(row, self._many_files)
        for cells in flat.of(row.record.model_dump(mode="json")):
            line = {**head, **{name: cells.get(name) for name in flat.columns}}
            self._stream.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n")


class _CsvRows:
    """One column for each field of any version, dotted as JSONL nests them; lists and choices are JSON."""

    def __init__(
        self,
        stream: TextIO,
        registry: Registry,
        many_files: bool,
        versions: Mapping[str, int] | None,
        lists: Sequence[str],
    ) -> None:
        self._many_files = many_files
        self._flat = _Flat(lists)
        self._columns: dict[str, None] = {}
        for protocol in registry:
            wanted = versions.get(protocol.name) if versions is not None else protocol.versions
            for version in (wanted,) if isinstance(wanted, int) else wanted or ():
                self._columns |= dict.fromkeys(self._flat.of(protocol, version).columns)
        self._stream = stream
        names = ["file"] if many_files else []
        names += ["packet", "time_ns", "source", "source_port", "destination", "destination_port"]
        names += ["protocol", "version"] if versions is None else ["protocol", "version", "sent_version"]
        stream.write(_csv_line([*names, *self._columns]))

    def write(self, row: Row) -> None:
        head = _head(row, self._many_files).values()
        flat = self._flat.of(row.parsed.protocol, row.parsed.version)
        for cells in flat.of(row.record.model_dump(mode="json")):
            self._stream.write(_csv_line([*head, *map(cells.get, self._columns)]))


_QUOTED: Final = re.compile('[,"\r\n\0]|^ | $|^$')
"""What text has to be in quotes for: empty text too, since an empty cell without quotes is None."""


def _csv_line(values: Iterable[Any]) -> str:
    """Return a line of CSV (RFC 4180, but ended by a line feed alone).

    Python's own writer leaves a carriage return without quotes, at which readers begin a new row, and before
    3.12 it cannot tell None from an empty text.
    """
    return ",".join(map(_csv_cell, values)) + "\n"


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | dict):
        value = json.dumps(value, separators=(",", ":"))
    if isinstance(value, str) and _QUOTED.search(value):
        return '"' + value.replace('"', '""') + '"'
    return str(value)


class _TableRows:
    def __init__(self, stream: TextIO, width: int | None, many_files: bool) -> None:
        self._stream = stream
        self._width = width
        self._many_files = many_files
        self._first_ns: int | None = None
        self._begun = False

    def _line(self, text: str) -> None:
        if self._width is not None and len(text) > self._width:
            text = text[: self._width - 1] + "…"
        self._stream.write(text.rstrip() + "\n")

    def write(self, row: Row) -> None:
        if not self._begun:
            self._begun = True
            ends = f"{'source':<21}  {'destination':<21}"
            self._line(f"{'packet':>7}  {'seconds':>13}  {ends}  {'record':<12}  fields")
        datagram = row.datagram
        if self._first_ns is None:
            self._first_ns = datagram.time_ns
        time = ""
        if datagram.time_ns is not None and self._first_ns is not None:
            time = seconds(datagram.time_ns - self._first_ns)
        source = endpoint(datagram.source, datagram.source_port)
        destination = endpoint(datagram.destination, datagram.destination_port)
        file = f"{escaped(row.file)}: " if self._many_files else ""
        layout = row.parsed.protocol.layout(row.parsed.version)
        self._line(
            f"{file}{datagram.packet:>7}  {time:>13}  {source:<21}  {destination:<21}"
            f"  {row.parsed.label:<12}  {fields_text(row.record, layout)}"
        )


def seconds(time_ns: int) -> str:
    """Return nanoseconds as seconds with nine decimals, exactly."""
    sign, time_ns = ("-", -time_ns) if time_ns < 0 else ("", time_ns)
    return f"{sign}{time_ns // 10**9}.{time_ns % 10**9:09}"


def fields_text(value: Any, layout: Layout) -> str:
    """Return a record's fields in one line, without its constants: `tick=3 entities=[{id=1 ...}]`."""
    return _fields_text(value.model_dump(), layout)


def _fields_text(values: dict[str, Any], layout: Layout | None) -> str:
    types = {item.label: valued(item.type) for item in layout.fields} if layout else {}
    shown = (name for name in values if not isinstance(types.get(name), Constant))
    return " ".join(f"{escaped(str(name))}={_value_text(values[name], types.get(name))}" for name in shown)


def _value_text(value: Any, kind: Type | None) -> str:
    """Return a value in words; of what a choice chose the type is not known, and nothing is left out."""
    while isinstance(kind, If | Optional):
        kind = valued(parts_of(kind)[0])
    if isinstance(value, dict):
        return "{" + _fields_text(value, kind if isinstance(kind, Layout) else None) + "}"
    if isinstance(value, tuple | list):
        element = valued(kind.element) if isinstance(kind, Array) else None
        return "[" + " ".join(_value_text(item, element) for item in value) + "]"
    if isinstance(value, bytes):
        return value.hex() or "-"
    if isinstance(value, IntFlag):
        return "|".join(member.name or "" for member in value) or "0"
    if isinstance(value, str):
        return quoted(value)
    return value.name if isinstance(value, IntEnum) else escaped(str(value))


def fault_cells(fault: FaultRow) -> dict[str, Any]:
    """Return the columns of a fault."""
    protocol, _, version = (fault.record or "").partition(" v")
    return {
        **_origin(fault, many_files=True),
        "protocol": protocol or None,
        "version": int(version) if version else None,
        "code": fault.code,
        "path": fault.path,
        "byte": fault.byte,
        "place": fault.place,
        "message": fault.message,
        "payload": fault.datagram.payload.hex() if fault.datagram else None,
    }


class _JsonFaults:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, fault: FaultRow) -> None:
        self._stream.write(json.dumps(fault_cells(fault), separators=(",", ":"), ensure_ascii=False) + "\n")


class _CsvFaults:
    COLUMNS: Final[Iterable[str]] = (
        "file", "packet", "time_ns", "source", "source_port", "destination", "destination_port",
        "protocol", "version", "code", "path", "byte", "place", "message", "payload",
    )  # fmt: skip

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        stream.write(_csv_line(self.COLUMNS))

    def write(self, fault: FaultRow) -> None:
        cells = fault_cells(fault)
        self._stream.write(_csv_line(cells[name] for name in self.COLUMNS))


class _FaultLines:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, fault: FaultRow) -> None:
        self._stream.write(f"{fault}\n")

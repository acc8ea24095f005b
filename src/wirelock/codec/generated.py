"""The fast engine: plain Python source for one record, made from the Layout alone.

`source` can be printed and read. It only detects that something is wrong; locate and check then say
what and where, so that a fault may cost time but the verdict is the fast path's.
"""

from __future__ import annotations

import builtins
import keyword
import linecache
import struct
from typing import Any, Final

from wirelock.codec import floats, text, varint
from wirelock.codec.adopt import adopt, runs_python, unchanged
from wirelock.codec.bitorder import BITS_SWAPPED
from wirelock.codec.check import check
from wirelock.codec.code import stale_checksum
from wirelock.codec.emit import Constants
from wirelock.codec.emit_build import BUILD_NAMES, BuildEmitter
from wirelock.codec.emit_parse import PARSE_NAMES, ParseEmitter
from wirelock.codec.locate import LayoutReader, locate
from wirelock.codec.members import table_of
from wirelock.codec.scaled import raw_of
from wirelock.codec.template import Names, Template
from wirelock.codec.trail import Found, Frame, Trail
from wirelock.errors import SchemaError
from wirelock.layout.nodes import Checksum, Layout, has_part
from wirelock.layout.sizes import size_of

_RUNTIME: Final[dict[str, Any]] = {
    "Struct": struct.Struct,
    "pack": struct.pack,
    "unpack_from": struct.unpack_from,
    "from_bytes": int.from_bytes,
    "float_from_bits": floats.float_from_bits,
    "exact_float_bits": floats.exact_float_bits,
    "read_nan": floats.read_nan,
    "read_nans": floats.read_nans,
    "write_nan": floats.write_nan,
    "pack_floats": floats.pack_floats,
    "BITS_SWAPPED": BITS_SWAPPED,
    "raw_of": raw_of,
    "read_varint": varint.read_varint,
    "varint_bytes": varint.varint_bytes,
    "zigzag": varint.zigzag,
    "unzigzag": varint.unzigzag,
    "decode_text": text.decode_text,
    "encode_text": text.encode_text,
    "find_mark": text.find_mark,
    "strip_nuls": text.strip_nuls,
}
_FUNCTIONS: Final = ("parse_from", "build", *PARSE_NAMES, *BUILD_NAMES)
REFUSALS: Final = (AttributeError, Found, KeyError, OverflowError, TypeError, ValueError, struct.error)
"""What a generated build function raises, beside returning None, where a record cannot be sent."""


class GeneratedEngine:
    """Parses and builds records of one layout with code generated for it. Raises trail.Found."""

    name = "generated"

    def __init__(self, layout: Layout, names: Names) -> None:
        self.layout = layout
        self.names = names
        self.source, namespace = generate(layout, names)
        file = f"<wirelock {layout.name}>"
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(keepends=True), file)
        try:
            exec(compile(self.source, file, "exec"), namespace)
        except (MemoryError, RecursionError, SyntaxError) as problem:
            told = f"the layout is too large for Python to compile: {type(problem).__name__} {problem}"
            raise SchemaError(layout.name, told, "split the record") from None
        size = size_of(layout)
        self.size = size.lowest // 8 if size.fixed else None
        self.parse_from = namespace["parse_from"]
        self.build_bytes = namespace["build"]
        self.validated = runs_python(layout)
        self._sums = has_part(layout, Checksum)

    def parse(self, data: bytes) -> Any:
        """Return the record that all of `data` is."""
        found = self.read(data, 0)
        if found is None or found[1] != len(data):
            raise self._located(data, exact=True)
        return self._adopted(data) if self.validated else found[0]

    def parse_prefix(self, data: bytes, at: int = 0) -> tuple[Any, int]:
        """Return the record that starts at byte `at` and the number of bytes that it takes.

        A fault counts its bytes from the record's start.
        """
        found = self.read(data, at)
        if found is None:
            raise self._located(data[at:], exact=False)
        record, end = found
        return self._adopted(data[at:end]) if self.validated else record, end - at

    def build(self, record: Any) -> bytes:
        """Return the bytes of a record, after checking it again."""
        try:
            data = self.build_bytes(record)
        except REFUSALS:
            data = None
        if data is None:
            data = self._checked(record)
        return data  # type: ignore[no-any-return]

    def filled(self, record: Any) -> Frame:
        """Return the values of a record as they are written, with its checksums as they must be."""
        try:
            data = self.build_bytes(record, False)
        except REFUSALS:
            data = None
        if data is None:
            check(self.layout, record, self.names)
            raise self._disagreement(record)
        return self._frame(data)[0]

    def _checked(self, record: Any) -> bytes:
        """Return the bytes of a record that generated code refuses: its checksums may be left out."""
        given = check(self.layout, record, self.names)
        data: bytes | None = self.build_bytes(record, False) if self._sums else None
        if data is None:
            raise self._disagreement(record)
        fault = stale_checksum(given, self._frame(data)[0])
        if fault is not None:
            raise Found(fault)
        return data

    def _disagreement(self, record: Any) -> RuntimeError:
        return RuntimeError(f"{self.layout.name}: generated code refuses {record!r}, the layout does not")

    def read(self, data: bytes, at: int) -> tuple[Any, int] | None:
        """Return the record that starts at byte `at` and where it ends; None if there is none."""
        found = self.parse_from(data, at, len(data))
        if found is None or self.size is None:
            return found  # type: ignore[no-any-return]
        return found, at + self.size

    def _located(self, data: bytes, *, exact: bool) -> Found:
        fault = locate(self.layout, data, exact=exact)
        if fault is None:
            told = data[:64].hex(" ")
            raise RuntimeError(f"{self.layout.name}: generated code refuses {told}, the layout does not")
        return Found(fault)

    def _adopted(self, data: bytes) -> Any:
        """Make the record anew with its Python validators, which must leave the values as they are."""
        frame, trail = self._frame(data)
        if (fault := trail.value_fault()) is not None:
            raise Found(fault)
        return unchanged(adopt(frame, self.names, trail), data, self)

    def _frame(self, data: bytes) -> tuple[Frame, Trail]:
        reader = LayoutReader(data, Trail())
        frame = reader.read(self.layout, "", None)
        assert isinstance(frame, Frame)
        return frame, reader.trail


def _spelled(name: str) -> str:
    """Return what generated code calls a class: its name, unless the code has that name already."""
    ours = {*_RUNTIME, *_FUNCTIONS, *dir(builtins), *keyword.kwlist}
    prefixes = ("STRUCT_", "TABLE_", "CODE_", "new_", "members_of_", "class_")
    return f"class_{name}" if name in ours or name.startswith(prefixes) else name


def generate(layout: Layout, names: Names) -> tuple[str, dict[str, Any]]:
    """Return the source for a layout and the names that it needs around it."""
    namespace: dict[str, Any] = {}
    spelled = {name: _spelled(name) for name in names}
    for name, found in names.items():
        if isinstance(found, Template):
            namespace[spelled[name]] = found.record
            namespace[f"new_{name}"] = found.make
        else:
            namespace[spelled[name]] = found
            namespace[f"members_of_{name}"] = table_of(found)
    taken = {*_RUNTIME, *_FUNCTIONS, *namespace}
    constants = Constants()
    parse = ParseEmitter(constants, names, taken).function(layout)
    build = BuildEmitter(constants, names, spelled, taken).function(layout)
    title = f"# {layout.name}: generated by wirelock from its layout; see codec/generated.py"
    source = "\n".join([title, *constants.lines(), "", "", *parse, "", "", *build, ""])
    return source, {**_RUNTIME, **namespace, **constants.code}

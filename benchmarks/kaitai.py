"""The record types as the Kaitai Struct compiler emits them in its read-write mode, for its runtime.

Written by hand after its pattern: one class a type, `_read`, `_check` and `_write__seq`. The runtime is
all that is installed; the compiler is no Python package.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import kaitaistruct
from kaitaistruct import KaitaiStream, ReadWriteKaitaiStruct


class _Type(ReadWriteKaitaiStruct):
    """What every emitted class begins with."""

    def __init__(self, _io: Any = None, _parent: Any = None, _root: Any = None) -> None:
        super().__init__(_io)
        self._parent = _parent
        self._root = _root or self

    def _fetch_instances(self) -> None:
        """There are no instances, nor any in the types inside."""


class Rotation1(_Type):
    """rotation v1."""

    def _read(self) -> None:
        self.largest_index = self._io.read_u1()
        self.a = self._io.read_s2le()
        self.b = self._io.read_s2le()
        self.c = self._io.read_s2le()
        self._dirty = False

    def _write__seq(self, io: Any = None) -> None:
        super()._write__seq(io)
        self._io.write_u1(self.largest_index)
        self._io.write_s2le(self.a)
        self._io.write_s2le(self.b)
        self._io.write_s2le(self.c)

    def _check(self) -> None:
        self._dirty = False


class Rotation2(_Type):
    """rotation v2."""

    def _read(self) -> None:
        self.flags = self._io.read_bits_int_be(6)
        self.largest_index = self._io.read_bits_int_be(2)
        self.a = self._io.read_s2le()
        self.b = self._io.read_s2le()
        self.c = self._io.read_s2le()
        self._dirty = False

    def _write__seq(self, io: Any = None) -> None:
        super()._write__seq(io)
        self._io.write_bits_int_be(6, self.flags)
        self._io.write_bits_int_be(2, self.largest_index)
        self._io.write_s2le(self.a)
        self._io.write_s2le(self.b)
        self._io.write_s2le(self.c)

    def _check(self) -> None:
        self._dirty = False


class Position(_Type):
    """A point."""

    def _read(self) -> None:
        self.x = self._io.read_f4le()
        self.y = self._io.read_f4le()
        self.z = self._io.read_f4le()
        self._dirty = False

    def _write__seq(self, io: Any = None) -> None:
        super()._write__seq(io)
        self._io.write_f4le(self.x)
        self._io.write_f4le(self.y)
        self._io.write_f4le(self.z)

    def _check(self) -> None:
        self._dirty = False


class Entity(_Type):
    """An entity."""

    def _read(self) -> None:
        self.id = self._io.read_u2le()
        self.position = Position(self._io, self, self._root)
        self.position._read()
        self.rotation = Rotation2(self._io, self, self._root)
        self.rotation._read()
        self._dirty = False

    def _write__seq(self, io: Any = None) -> None:
        super()._write__seq(io)
        self._io.write_u2le(self.id)
        self.position._write__seq(self._io)
        self.rotation._write__seq(self._io)

    def _check(self) -> None:
        for inner, name in ((self.position, "position"), (self.rotation, "rotation")):
            inner._check()
            if inner._parent != self:
                raise kaitaistruct.ConsistencyError(name, inner._parent, self)
        self._dirty = False


class Snapshot(_Type):
    """A snapshot."""

    def _read(self) -> None:
        self.magic = self._io.read_bytes(2)
        if self.magic != b"WS":
            raise kaitaistruct.ValidationNotEqualError(b"WS", self.magic, self._io, "/seq/0")
        self.version = self._io.read_u1()
        if self.version != 2:
            raise kaitaistruct.ValidationNotEqualError(2, self.version, self._io, "/seq/1")
        self.tick = self._io.read_u4le()
        self.count = self._io.read_u2le()
        self.entities = []
        for _ in range(self.count):
            entity = Entity(self._io, self, self._root)
            try:
                entity._read()
            finally:
                self.entities.append(entity)
        self._dirty = False

    def _write__seq(self, io: Any = None) -> None:
        super()._write__seq(io)
        self._io.write_bytes(self.magic)
        self._io.write_u1(self.version)
        self._io.write_u4le(self.tick)
        self._io.write_u2le(self.count)
        for entity in self.entities:
            entity._write__seq(self._io)

    def _check(self) -> None:
        if self.magic != b"WS":
            raise kaitaistruct.ValidationNotEqualError(b"WS", self.magic, None, "/seq/0")
        if len(self.entities) != self.count:
            raise kaitaistruct.ConsistencyError("entities", len(self.entities), self.count)
        for entity in self.entities:
            entity._check()
            if entity._parent != self:
                raise kaitaistruct.ConsistencyError("entities", entity._parent, self)
        self._dirty = False


def _reader(kind: type[_Type]) -> Any:
    def read(data: bytes) -> Any:
        found = kind(KaitaiStream(BytesIO(data)))
        found._read()
        return found

    return read


def write(value: Any) -> bytes:
    """Check an object and return its bytes, as Kaitai's own documentation does it."""
    value._check()
    size = 9 + 21 * value.count if isinstance(value, Snapshot) else 7
    with KaitaiStream(BytesIO(bytearray(size))) as io:
        value._write(io)
        return io.to_byte_array()


def _filled(made: Any, values: dict[str, Any]) -> Any:
    for name, value in values.items():
        if name == "entities":
            value = [_filled(Entity(None, made, made), item) for item in value]
        elif name in ("position", "rotation"):
            kind = Position if name == "position" else Rotation2
            value = _filled(kind(None, made, made._root), value)
        setattr(made, name, value)
    return made


def _maker(kind: type[_Type]) -> Any:
    return lambda values: _filled(kind(), values)


KINDS = {"rotation v1": Rotation1, "rotation v2": Rotation2, "snapshot": Snapshot}
READ = {key: _reader(kind) for key, kind in KINDS.items()}
MAKE = {key: _maker(kind) for key, kind in KINDS.items()}

"""Clones of leaves, text and sized regions for the reference engine; see reference_kinds."""

from __future__ import annotations

from typing import Any

import construct
from construct import evaluate

from wirelock.codec.locate import negative, trailing
from wirelock.codec.raw import scalar_from_bits
from wirelock.codec.reference_values import Typed, bare, over, valued
from wirelock.codec.text import find_mark, text_fault
from wirelock.codec.trail import Found, fault_at, value_text
from wirelock.codec.varint import read_varint, varint_fault
from wirelock.errors import Fault
from wirelock.layout import nodes
from wirelock.layout.nodes import Type
from wirelock.layout.sizes import size_of

__all__ = ["Octets", "Padded", "Text", "content", "leaf", "sized"]


def leaf(source: Any, kind: Type) -> Any:
    """Clone a construct of a single value."""
    made = valued(source, kind)
    return _VarInt(made) if isinstance(kind, nodes.VarInt) else _Leaf(made, kind)


def content(source: Any) -> Any:
    """Return what is inside of a Prefixed, FixedSized or NullTerminated, without the stripping."""
    inner = bare(source.subcon)
    return bare(inner.subcon) if isinstance(inner, construct.NullStripped) else inner


def sized(source: Any, kind: nodes.Sized, content: Any) -> Any:
    """Clone a region around the clone of its content."""
    inside, stripper = _Inside(content), bare(source.subcon)
    made = over(source, over(stripper, inside) if kind.stripped else inside)
    if isinstance(kind.extent, nodes.Prefix):
        made.lengthfield = _Size(leaf(source.lengthfield, kind.extent.integer), kind)
    return _Sized(made, kind)


class _Leaf(Typed):
    """A value of fixed size: it fits, is the constant if there is one, and would be written the same."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        reading.fit(path, start, size_of(self.kind).lowest // 8)
        value = self.subcon._parsereport(stream, context, path)
        if isinstance(self.kind, nodes.Constant):
            if value != self.kind.value:
                found, allowed = value_text(value), value_text(self.kind.value)
                raise Found(fault_at("constant", path, 8 * start, self.kind, found, allowed))
            return value
        raw = int.from_bytes(reading.data[start : stream.tell()], "big")
        if (written := scalar_from_bits(raw, self.kind)[1]) is not None:
            raise Found(fault_at("not-canonical", path, 8 * start, self.kind, *written))
        return value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is None and isinstance(self.kind, nodes.Constant):
            obj = self.kind.value
        return self.subcon._build(obj, stream, context, path)


class _VarInt(construct.Subconstruct):
    """An integer of variable length, which construct would read at any length."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        if read_varint(reading.data, start, reading.end) is None:
            raise Found(varint_fault(reading.data, start, reading.end, path))
        return self.subcon._parsereport(stream, context, path)


class Octets(construct.Subconstruct):
    """Bytes or padding, whose length construct computes."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        if isinstance(self.subcon, construct.Bytes | construct.Padded):
            length = int(evaluate(self.subcon.length, context))
            if length < 0:
                raise Found(negative(path, 8 * start, length))
            reading.fit(path, start, length)
        value = self.subcon._parsereport(stream, context, path)
        if isinstance(self.subcon, construct.Padded):
            reading.check_padding(path, start, stream.tell(), self.subcon.pattern[0])
        return value


class Text(construct.Construct):
    """Text, whose bytes leave no mark of their own."""

    def __init__(self, source: Any, kind: nodes.Text) -> None:
        super().__init__()
        self.source = source
        self.kind = kind
        region = bare(source.subcon)
        if isinstance(kind.inner, nodes.Sized):
            self.raw = sized(region, kind.inner, Octets(content(region)))
        else:
            self.raw = Octets(region)

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        mark, start = context._params._reading.trail.marks[-1], stream.tell()
        raw = self.raw._parsereport(stream, context, path)
        mark.fault = text_fault(raw, self.kind.encoding, self.kind.closed, path, start)
        if mark.fault is None:
            return self.source._decode(raw, context, path)
        if mark.fault.code != "bad-text":
            raise Found(mark.fault)
        return None

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        self.raw._build(self.source._encode(obj, context, path), stream, context, path)
        return obj


class _Size(Typed):
    """The size in front of a region, whose bytes must be there."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        start = stream.tell()
        stated = self.subcon._parsereport(stream, context, path)
        size = stated - (stream.tell() - start) * self.kind.extent.includes
        _check_size(size, start, stream.tell(), context, path)
        return stated


class _Sized(Typed):
    """A region, which construct reads as a stream of its own."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        if isinstance(self.subcon, construct.NullTerminated):
            mark = self.subcon.term
            if find_mark(reading.data, start, reading.end, mark) < 0:
                reading.fit(path, start, reading.end - start + len(mark))
        elif isinstance(self.subcon, construct.FixedSized):
            _check_size(int(evaluate(self.subcon.length, context)), start, start, context, path)
        return self.subcon._parsereport(stream, context, path)


def _check_size(size: int, start: int, at: int, context: Any, path: str) -> None:
    """Raise Found where a region of a value that starts at byte `start` cannot lie at byte `at`."""
    if size < 0:
        raise Found(negative(path, 8 * start, size))
    context._params._reading.fit(path, at, size)


class _Inside(construct.Subconstruct):
    """The inside of a region, all of whose stream must be read."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading = context._params._reading
        outer, reading.end = reading.end, stream.tell() + stream.getbuffer().nbytes
        value = self.subcon._parsereport(stream, context, path)
        if left := reading.end - stream.tell():
            raise Found(trailing(stream.tell(), left, path))
        reading.end = outer
        return value


class Padded(construct.Subconstruct):
    """A Padded or Aligned around something; what that is comes first, and then how long it may be."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        length = None
        if isinstance(self.subcon, construct.Padded):
            length = int(evaluate(self.subcon.length, context))
        value = self.subcon.subcon._parsereport(stream, context, path)
        at = stream.tell()
        size = at - start
        if length is None:
            length = size + -size % evaluate(self.subcon.modulus, context)
        if length < 0:
            raise Found(negative(path, 8 * start, length))
        if length < size:
            raise Found(Fault("bad-count", path, str(size), f"{length} or less", start))
        reading.fit(path, at, length - size)
        stream.read(length - size)
        reading.check_padding(path, at, stream.tell(), self.subcon.pattern[0])
        return value

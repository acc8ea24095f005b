"""Clones of an author's constructs that know where they are, one for each kind of the Layout.

construct reads and writes all values and computes all expressions, in contexts of its own; the wrappers
note where each value lies in a Reading, `context._params._reading`, and raise trail.Found for what
construct would refuse or lose. construct knows no places inside a bit region: there the Layout locates,
and the values that construct reads must be the same.

Wrappers override `_parsereport`, which is how constructs call each other, and use construct's own `path`
argument for the path of the field. construct's own streams count bytes from the record's start.
"""

from __future__ import annotations

from typing import Any

import construct
from construct import evaluate, len_, this

from wirelock.codec.locate import LayoutReader, negative, scalar_from_bits, trailing
from wirelock.codec.reference_reading import Reading
from wirelock.codec.reference_values import (
    FRAME,
    Repeated,
    Result,
    Typed,
    bare,
    joined,
    over,
    plain_value,
    valued,
)
from wirelock.codec.text import find_mark, text_fault
from wirelock.codec.trail import Found, Frame, fault_at, value_text
from wirelock.codec.varint import read_varint, varint_fault
from wirelock.errors import Fault
from wirelock.layout import nodes
from wirelock.layout.adapters import LsbBitStruct
from wirelock.layout.nodes import Layout, Type, plain
from wirelock.layout.sizes import size_of
from wirelock.layout.walk import prefixed_array, unwrap


def located(source: Any, kind: Type) -> Any:
    """Clone a construct beside its type, so that reading leaves the marks that locate leaves."""
    source, inner = bare(source), plain(kind)
    if isinstance(source, construct.Transformed | LsbBitStruct):
        return _Region(valued(source, kind), kind)
    match inner:
        case Layout():
            part: Any = _Record(source, inner)
        case nodes.Array():
            part = _array(source, inner)
        case nodes.If(type=then):
            part = _if(source, then)
        case nodes.Switch():
            part = _Switch(source, inner)
        case nodes.Optional(inner=there):
            part = _Optional(located(source.subcons[0], there))
        case nodes.Sized():
            part = _sized(source, inner, located(_content(source), inner.inner))
        case nodes.Text():
            part = _Text(source, inner)
        case nodes.Padded(inner=there):
            part = _Padded(over(source, located(source.subcon, there)))
        case nodes.Bytes() | nodes.Padding():
            part = _Octets(source)
        case nodes.Computed():
            part = Result(source, inner)
        case nodes.Terminated():
            part = _Terminated(source)
        case nodes.Nothing():
            part = construct.Pass  # in place of a Check too: the rule of that is the layout's
        case _:
            part = _leaf(source, inner)
    return _Marked(part, kind)


def _leaf(source: Any, kind: Type) -> Any:
    made = valued(source, kind)
    return _VarInt(made) if isinstance(kind, nodes.VarInt) else _Leaf(made, kind)


def _array(source: Any, kind: nodes.Array) -> Any:
    if not isinstance(kind.count, nodes.Prefix):
        element = _Element(located(source.subcon, kind.element))
        if isinstance(kind.count, nodes.Rest):
            return _Items(_Greedy(element), kind)
        if isinstance(kind.count, nodes.Until):
            return _Items(Repeated(source.predicate, element), kind)
        return _Items(construct.Array(source.count, element), kind)
    prefixed = prefixed_array(source)
    assert prefixed is not None
    element = _Element(located(prefixed[1], kind.element))
    items = _Items(construct.Array(this.count, element), kind)
    counted = construct.Rebuild(_leaf(prefixed[0], kind.count.integer), len_(this.items))
    counted.name, items.name = "count", "items"
    return construct.FocusedSeq("items", counted, items)


def _if(source: Any, kind: Type) -> Any:
    then, other = unwrap(source.thensubcon), unwrap(source.elsesubcon)
    if other is construct.Pass:
        return construct.IfThenElse(source.condfunc, located(then, kind), construct.Pass)
    return construct.IfThenElse(source.condfunc, construct.Pass, located(other, kind))


def _content(source: Any) -> Any:
    """Return what is inside of a Prefixed, FixedSized or NullTerminated, without the stripping."""
    inner = bare(source.subcon)
    return bare(inner.subcon) if isinstance(inner, construct.NullStripped) else inner


def _sized(source: Any, kind: nodes.Sized, content: Any) -> Any:
    """Clone a region around the clone of its content."""
    inside, stripper = _Inside(content), bare(source.subcon)
    made = over(source, over(stripper, inside) if kind.stripped else inside)
    if isinstance(kind.extent, nodes.Prefix):
        made.lengthfield = _Size(_leaf(source.lengthfield, kind.extent.integer), kind)
    return _Sized(made, kind)


class _Marked(Typed):
    """Leaves a mark for one value."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        mark = context._params._reading.trail.mark(self.kind, path, 8 * stream.tell())
        value = self.subcon._parsereport(stream, context, path)
        mark.value = plain_value(value)
        mark.end = 8 * stream.tell()
        return value


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


class _VarInt(construct.Subconstruct):
    """An integer of variable length, which construct would read at any length."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        if read_varint(reading.data, start, reading.end) is None:
            raise Found(varint_fault(reading.data, start, reading.end, path))
        return self.subcon._parsereport(stream, context, path)


class _Octets(construct.Subconstruct):
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


class _Text(construct.Construct):
    """Text, whose bytes leave no mark of their own."""

    def __init__(self, source: Any, kind: nodes.Text) -> None:
        super().__init__()
        self.source = source
        self.kind = kind
        region = bare(source.subcon)
        if isinstance(kind.inner, nodes.Sized):
            self.raw = _sized(region, kind.inner, _Octets(_content(region)))
        else:
            self.raw = _Octets(region)

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


class _Padded(construct.Subconstruct):
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


class _Optional(construct.Subconstruct):
    """Absent where nothing is left in the region; construct would also skip what it cannot read."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        if stream.tell() == context._params._reading.end:
            return None
        return self.subcon._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return None if obj is None else self.subcon._build(obj, stream, context, path)


class _Terminated(construct.Subconstruct):
    """The end of the region."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        if left := context._params._reading.end - stream.tell():
            raise Found(trailing(stream.tell(), left, path))
        return self.subcon._parsereport(stream, context, path)


class _Items(Typed):
    """The elements of an array. A stated count is checked before anything is read or allocated."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading = context._params._reading
        outer = reading.frame.index
        if isinstance(self.subcon, construct.Array):
            self._check_count(int(evaluate(self.subcon.count, context)), reading, stream.tell(), path)
        found = self.subcon._parsereport(stream, context, path)
        reading.frame.index = outer
        return found

    def _check_count(self, count: int, reading: Reading, start: int, path: str) -> None:
        if count < 0:
            raise Found(negative(path, reading.start(path), count))
        element = plain(self.kind.element)
        if isinstance(element, nodes.Integer | nodes.Enum):
            # Nothing but the end of the bytes can stop these, so division finds the one that does not fit.
            octets = size_of(element).lowest // 8
            fits = (reading.end - start) // octets
            if fits < count:
                reading.fit(f"{path}[{fits}]", start + fits * octets, octets)


class _Greedy(construct.GreedyRange):
    """All elements up to the region's end; construct would stop in silence at one that it cannot read."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        found = construct.ListContainer()
        while stream.tell() < context._params._reading.end:
            context._index = len(found)
            found.append(self.subcon._parsereport(stream, context, path))
        return found


class _Element(construct.Subconstruct):
    """An element of an array."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        context._params._reading.frame.index = context._index
        return self.subcon._parsereport(stream, context, f"{path}[{context._index}]")


class _Switch(construct.Construct):
    """A Switch or IfThenElse that finds its case as construct does, by the author's own key."""

    def __init__(self, source: Any, kind: nodes.Switch) -> None:
        super().__init__()
        self.source = source
        self.kind = kind
        self.clones: dict[int | None, Any] = {}

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        return self._case(stream, context, path)._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self._case(stream, context, path)._build(obj, stream, context, path)

    def _case(self, stream: Any, context: Any, path: str) -> Any:
        """Return the clone of the case, made when its key is first seen; None stands for the default."""
        key, kinds = self._key(context), dict(self.kind.cases)
        number = int(key) if int(key) in kinds else None
        if number not in self.clones:
            kind = self.kind.default if number is None else kinds[number]
            if kind is None:
                known = ", ".join(str(case) for case, _ in self.kind.cases)
                raise Found(Fault("unknown-case", path, str(int(key)), known, stream.tell()))
            self.clones[number] = located(self._native(key), kind)
        return self.clones[number]

    def _key(self, context: Any) -> Any:
        if isinstance(self.source, construct.IfThenElse):
            return bool(evaluate(self.source.condfunc, context))
        return evaluate(self.source.keyfunc, context)

    def _native(self, key: Any) -> Any:
        if isinstance(self.source, construct.IfThenElse):
            return self.source.thensubcon if key else self.source.elsesubcon
        return next((case for name, case in self.source.cases.items() if key == name), self.source.default)


class _Record(construct.Struct):
    """A Struct that fills a frame while its fields are read. All fields go by their labels."""

    def __init__(self, source: Any, layout: Layout) -> None:
        pairs = [(unwrap(part), field) for part, field in zip(source.subcons, layout.fields, strict=True)]
        fields = [_Field(field.label, located(part, field.type)) for part, field in pairs]
        # What stands behind the fields takes no bytes and sees construct's own context of the record.
        super().__init__(*fields, construct.Computed(self._check_rebuilds))
        self.layout = layout
        self.rebuilds = [(field, part.func) for part, field in pairs if isinstance(part, construct.Rebuild)]

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading = context._params._reading
        outer = reading.frame
        index = outer.index if outer else 0
        reading.frame = frame = Frame(self.layout, path, 8 * stream.tell(), outer, index=index)
        found = self._parse(stream, context, path)
        found[FRAME] = frame
        reading.trail.frames.append(frame)
        reading.frame = outer
        return found

    def _check_rebuilds(self, context: Any) -> None:
        """Compare the fields that others imply. A plain count needs no look: as many were read."""
        for field, function in self.rebuilds if context._parsing else ():
            found, implied = context[field.label], evaluate(function, context)
            if found != implied:
                reading = context._params._reading
                path = f"{reading.frame.path}.{field.label}" if reading.frame.path else field.label
                raise Found(fault_at("bad-count", path, reading.start(path), field.type, found, implied))


class _Field(construct.Subconstruct):
    """A field of a record."""

    def __init__(self, label: str, subcon: Any) -> None:
        super().__init__(subcon)
        self.name = label

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        value = self.subcon._parsereport(stream, context, f"{path}.{self.name}" if path else self.name)
        context._params._reading.frame.values[self.name] = plain_value(value)
        return value


class _Region(Typed):
    """A bit region: the Layout finds places and faults, construct reads the values."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading = context._params._reading
        reader = LayoutReader(reading.data, reading.trail, 8 * stream.tell())
        reader.end = reading.end
        found = reader.read(self.kind, path, reading.frame)
        native = self.subcon._parsereport(stream, context, path)
        assert 8 * stream.tell() == reader.bit, "construct and the Layout disagree on the region's size"
        return joined(native, found)

"""Clones of an author's constructs that know where they are, one for each kind of the Layout.

construct reads and writes all values and computes all expressions, in contexts of its own; the wrappers
note where each value lies in a Reading, `context._params._reading`, and raise trail.Found for what
construct would refuse or lose. construct knows no places inside a bit region: there the Layout locates,
and the values that construct reads must be the same.

Wrappers override `_parsereport`, which is how constructs call each other, and use construct's own `path`
argument for the path of the field. construct's own streams count bytes from the record's start.
"""

from __future__ import annotations

import io
from typing import Any

import construct
from construct import evaluate, len_, this

from wirelock.codec.locate import LayoutReader, negative, selected, trailing
from wirelock.codec.reference_code import Checksum, Opaque
from wirelock.codec.reference_reading import Reading
from wirelock.codec.reference_regions import Octets, Padded, Text, content, leaf, sized
from wirelock.codec.reference_values import (
    FRAME,
    Copied,
    Repeated,
    Result,
    Typed,
    bare,
    joined,
    over,
    plain_value,
    valued,
)
from wirelock.codec.trail import Found, Frame, fault_at
from wirelock.errors import Fault
from wirelock.layout import nodes
from wirelock.layout.adapters import LsbBitStruct
from wirelock.layout.arrays import prefixed_array
from wirelock.layout.leaves import unwrap
from wirelock.layout.nodes import Layout, Type, plain
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import inner_path, key_text


def located(source: Any, kind: Type) -> Any:
    """Clone a construct beside its type, so that reading leaves the marks that locate leaves."""
    source, inner = bare(source), plain(kind)
    if isinstance(source, construct.RawCopy):
        return _RawCopy(located(source.subcon, kind))
    if isinstance(source, construct.Transformed | LsbBitStruct):
        return _Region(valued(source, kind), kind)
    match inner:
        case nodes.Framed():
            return _framed(source, inner)
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
        case nodes.Sequence():
            part = _sequence(source, inner)
        case nodes.Select():
            part = _Select(source, inner)
        case nodes.Checksum():
            part = Checksum(source, inner)
        case nodes.Opaque():
            part = Opaque(inner)
        case nodes.Sized():
            part = sized(source, inner, located(content(source), inner.inner))
        case nodes.Text():
            part = Text(source, inner)
        case nodes.Padded(inner=there):
            part = Padded(over(source, located(source.subcon, there)))
        case nodes.Bytes() | nodes.Padding():
            part = Octets(source)
        case nodes.Computed():
            part = Result(source, inner)
        case nodes.Terminated():
            part = _Terminated(source)
        case nodes.Nothing():
            part = construct.Pass  # in place of a Check too: the rule of that is the layout's
        case _:
            part = leaf(source, inner)
    return _Marked(part, kind)


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
    counted = construct.Rebuild(leaf(prefixed[0], kind.count.integer), len_(this.items))
    counted.name, items.name = "count", "items"
    return construct.FocusedSeq("items", counted, items)


def _if(source: Any, kind: Type) -> Any:
    then, other = unwrap(source.thensubcon), unwrap(source.elsesubcon)
    if other is construct.Pass:
        return construct.IfThenElse(source.condfunc, located(then, kind), construct.Pass)
    return construct.IfThenElse(source.condfunc, construct.Pass, located(other, kind))


def _framed(source: Any, kind: nodes.Framed) -> Any:
    """Clone a FocusedSeq, which leaves no mark of its own."""
    parts = []
    for part, (label, inner) in zip(source.subcons, kind.labelled(""), strict=True):
        clone = _Part(located(part, inner), label)
        clone.name = part.name
        parts.append(clone)
    return construct.FocusedSeq(source.parsebuildfrom, *parts)


def _sequence(source: Any, kind: nodes.Sequence) -> Any:
    clones = [located(part, inner) for part, inner in zip(source.subcons, kind.types, strict=True)]
    return construct.Sequence(*(_Part(clone, f"[{number}]") for number, clone in enumerate(clones)))


class _Part(construct.Subconstruct):
    """One value of a Sequence or FocusedSeq, whose path ends in a label."""

    def __init__(self, subcon: Any, label: str) -> None:
        super().__init__(subcon)
        self.label = label

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._parsereport(stream, context, path + self.label)


class _RawCopy(construct.Subconstruct):
    """A field whose bytes a Checksum asks for."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        start = stream.tell()
        value = self.subcon._parsereport(stream, context, path)
        return Copied(value=value, data=context._params._reading.data[start : stream.tell()])

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        inside = io.BytesIO()
        value = self.subcon._build(obj, inside, context, path)
        stream.write(inside.getvalue())
        return Copied(value=value, data=inside.getvalue())


class _Select(construct.Construct):
    """A Select that is decided by the first bytes, or by the record that is written."""

    def __init__(self, source: Any, kind: nodes.Select) -> None:
        super().__init__()
        self.kind = kind
        pairs = zip(source.subcons, kind.cases, strict=True)
        self.clones = [(layout, located(part, layout)) for part, (_, layout) in pairs]

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading = context._params._reading
        there = selected(self.kind, reading.data, stream.tell(), reading.end, path)
        return self._clone(there)._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self._clone(obj[FRAME].layout)._build(obj, stream, context, path)

    def _clone(self, wanted: Layout) -> Any:
        return next(clone for layout, clone in self.clones if layout is wanted)


class _Marked(Typed):
    """Leaves a mark for one value."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        mark = context._params._reading.trail.mark(self.kind, path, 8 * stream.tell())
        value = self.subcon._parsereport(stream, context, path)
        mark.value = plain_value(value)
        mark.end = 8 * stream.tell()
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
        self.clones: dict[Any, Any] = {}

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        return self._case(stream, context, path)._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self._case(stream, context, path)._build(obj, stream, context, path)

    def _case(self, stream: Any, context: Any, path: str) -> Any:
        """Return the clone of the case, made when its key is first seen; None stands for the default."""
        key, kinds = self._key(context), dict(self.kind.cases)
        number = plain_value(key) if plain_value(key) in kinds else None
        if number not in self.clones:
            kind = self.kind.default if number is None else kinds[number]
            if kind is None:
                known = ", ".join(key_text(case) for case, _ in self.kind.cases)
                raise Found(Fault("unknown-case", path, key_text(plain_value(key)), known, stream.tell()))
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
        value = self.subcon._parsereport(stream, context, inner_path(path, self.name))
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

"""The reference engine: construct itself, wrapped so that every place is known, plus the strictness.

The author's construct is cloned beside the lowered Layout, node by node. construct reads and writes all
values and computes all expressions, in contexts of its own; the wrappers note where each value lies,
turn what construct refuses into the one fault that semantics.md names, and refuse what construct would
lose. construct knows no places inside a bit region: there the Layout locates, and the values that
construct reads must be the same. ConstructError never leaves this file.

Wrappers override `_parsereport`, which is how constructs call each other, and use construct's own `path`
argument for the path of the field.
"""

from __future__ import annotations

import io
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import construct
from construct import evaluate, len_, this

from wirelock.codec.adopt import adopt, has_validators
from wirelock.codec.check import check
from wirelock.codec.floats import float_from_bits, float_to_bits, same_float
from wirelock.codec.locate import LayoutReader, negative, scalar_from_bits, trailing
from wirelock.codec.template import Names
from wirelock.codec.trail import Found, Frame, Trail, fault_at, value_text
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Field,
    If,
    Integer,
    Layout,
    Nothing,
    Padding,
    Prefix,
    Scalar,
    Switch,
    Type,
    plain,
    size_of,
)
from wirelock.layout.walk import prefixed_array, unwrap

__all__ = ["ReferenceEngine"]


class ReferenceEngine:
    """Parses and builds one record through construct. Raises trail.Found only; safe to share."""

    name: Final = "reference"

    def __init__(self, source: construct.Construct, layout: Layout, names: Names) -> None:
        self._layout = layout
        self._names = names
        self._construct = _located(source, layout)

    def parse(self, data: bytes) -> Any:
        """Return the record that all of `data` is."""
        return self._parse(data, exact=True)[0]

    def parse_prefix(self, data: bytes, at: int = 0) -> tuple[Any, int]:
        """Return the record that starts at byte `at` and the number of bytes that it takes.

        A fault counts its bytes from the record's start.
        """
        return self._parse(data[at:], exact=False)

    def build(self, record: Any) -> bytes:
        """Return the bytes of a record, which is checked again and must parse back to the same values."""
        frame = check(self._layout, record, self._names)
        try:
            data = bytes(self._construct.build(_writable(frame)))
        except construct.ConstructError as problem:
            raise AssertionError(f"construct refuses a checked record: {problem}") from problem
        again, _, taken = self._read(data)
        if taken != len(data) or not _same(frame, again):
            raise Found(Fault("not-canonical", "", "the record", "another one"))
        return data

    def _parse(self, data: bytes, *, exact: bool) -> tuple[Any, int]:
        data = bytes(data)
        frame, trail, taken = self._read(data)
        if exact and taken < len(data):
            raise Found(trailing(taken, len(data) - taken))
        fault = trail.value_fault()
        if fault is not None:
            raise Found(fault)
        record = adopt(frame, self._names, trail)
        if has_validators(self._layout) and not self._writes(record, data[:taken]):
            raise Found(Fault("validator", "", "a validator changed the values", ""))
        return record, taken

    def _read(self, data: bytes) -> tuple[Frame, Trail, int]:
        """Read the structure at the start of `data`: its values, the trail, and the bytes taken."""
        reading, stream = _Reading(data, Trail()), io.BytesIO(data)
        context = construct.Container(_parsing=True, _building=False, _sizing=False, _reading=reading)
        context._params = context
        try:
            found = self._construct._parsereport(stream, context, "")
        except construct.ConstructError as problem:
            raise AssertionError(f"construct refuses what the Layout takes: {problem}") from problem
        return found.frame, reading.trail, stream.tell()

    def _writes(self, record: Any, data: bytes) -> bool:
        try:
            return self.build(record) == data
        except Found:
            return False


# -- values as construct has them, and as frames have them ----------------------------------------


def _by_number(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(self: _Named, other: object) -> bool:
        return compare(int(self), self.members.get(other, other) if isinstance(other, str) else other)

    return compared


class _Named(int):
    """An enumeration's or a flag set's value, as the author's expressions see it.

    It compares as its number with numbers, members and names of members; items are its single flags.
    """

    members: Mapping[str, int]

    def __new__(cls, value: int, members: Mapping[str, int]) -> _Named:
        made = super().__new__(cls, value)
        made.members = members
        return made

    def __getitem__(self, name: str) -> bool:
        return int(self) & self.members[name] == self.members[name]

    __eq__ = _by_number(operator.eq)
    __ne__ = _by_number(operator.ne)
    __lt__ = _by_number(operator.lt)
    __le__ = _by_number(operator.le)
    __gt__ = _by_number(operator.gt)
    __ge__ = _by_number(operator.ge)
    __hash__ = int.__hash__


class _Framed(construct.Container):
    """A record's values as expressions see them, with its frame."""

    __slots__ = ("frame",)

    def __init__(self, values: Any, frame: Frame) -> None:
        super().__init__(values)
        self.frame = frame


def _plain_value(value: Any) -> Any:
    """Return a value of construct's as a frame holds it."""
    match value:
        case _Framed():
            return value.frame
        case list():
            return [_plain_value(item) for item in value]
        case _Named():
            return int(value)
    return value


def _writable(value: Any) -> Any:
    """Return a value of a frame as construct builds from it."""
    match value:
        case Frame(values=values):
            return {label: _writable(item) for label, item in values.items()}
        case list():
            return [_writable(item) for item in value]
    return value


def _joined(native: Any, found: Any) -> Any:
    """Return construct's value with the frames that the Layout found for it. Both must be the same."""
    match found:
        case Frame(values=values):
            return _Framed({label: _joined(native[label], item) for label, item in values.items()}, found)
        case list():
            return [_joined(left, right) for left, right in zip(native, found, strict=True)]
    assert _same(native, found), f"construct reads {native!r}, the Layout {found!r}"
    return native


def _same(left: Any, right: Any) -> bool:
    """Whether two values are the same bytes."""
    match left:
        case Frame(values=values):
            return all(_same(item, right.values[label]) for label, item in values.items())
        case list():
            return len(left) == len(right) and all(map(_same, left, right))
        case float():
            return isinstance(right, float) and same_float(left, right)
    return bool(left == right)


# -- constructs that read values --------------------------------------------------------------------


class _Names(construct.Subconstruct):
    """The integer of an Enum or FlagsEnum, with the names of its members."""

    def __init__(self, subcon: Any, members: Mapping[Any, int]) -> None:
        super().__init__(subcon)
        self.members = {str(name): value for name, value in members.items()}

    def _parse(self, stream: Any, context: Any, path: str) -> _Named:
        return _Named(self.subcon._parsereport(stream, context, path), self.members)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> _Named:
        return _Named(self.subcon._build(int(obj), stream, context, path), self.members)


class _Float(construct.Subconstruct):
    """A float by its bits, so that NaNs keep their payload. A signalling NaN reads as None."""

    def __init__(self, source: Any) -> None:
        order, letter = source.fmtstr
        super().__init__(construct.FormatField(order, {"e": "H", "f": "L", "d": "Q"}[letter]))
        self.bits = 8 * source.length

    def _parse(self, stream: Any, context: Any, path: str) -> float | None:
        return float_from_bits(self.subcon._parsereport(stream, context, path), self.bits)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        self.subcon._build(float_to_bits(obj, self.bits), stream, context, path)
        return obj


def _valued(source: Any, kind: Type) -> Any:
    """Clone what has a fixed size, to read and write values only."""
    source, inner = unwrap(source), plain(kind)
    match source:
        case construct.Transformed():
            part = _valued(source.subcon, kind)
            return construct.Transformed(
                part, source.decodefunc, source.decodeamount, source.encodefunc, source.encodeamount
            )
        case construct.Struct():
            assert isinstance(inner, Layout)
            pairs = zip(source.subcons, inner.fields, strict=True)
            return construct.Struct(
                *(construct.Renamed(_valued(part, field.type), newname=field.label) for part, field in pairs)
            )
        case construct.Array():
            assert isinstance(inner, Array)
            return construct.Array(source.count, _valued(source.subcon, inner.element))
        case construct.Const() | construct.Rebuild():
            return _valued(source.subcon, kind)
        case construct.Enum():
            return _Names(_valued(source.subcon, kind), source.encmapping)
        case construct.FlagsEnum():
            return _Names(_valued(source.subcon, kind), source.flags)
        case construct.FormatField() if source.fmtstr[1] in "efd":
            return _Float(source)
    return source


# -- constructs that know where they are ------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """One parse: its bytes, the trail that it leaves, and the frame of the innermost open record."""

    data: bytes
    trail: Trail
    frame: Frame | None = None

    def whole(self, source: Any, wanted: int, stream: Any, context: Any, path: str) -> Any:
        """Let construct read a value that takes `wanted` bytes, or find it truncated."""
        start = stream.tell()
        try:
            return source._parsereport(stream, context, path)
        except construct.StreamError:
            raise Found(self.truncated(path, start, wanted)) from None

    def truncated(self, path: str, start: int, wanted: int) -> Fault:
        """Return the fault of a value at byte `start` that does not fit."""
        return fault_at("truncated", path, 8 * start, Nothing(), len(self.data) - start, wanted)

    def start(self, path: str) -> int:
        """Return the bit at which the value with that path starts."""
        return next(mark.bit for mark in reversed(self.trail.marks) if mark.path == path)


def _reading(context: Any) -> _Reading:
    found = context._params._reading
    assert isinstance(found, _Reading)
    return found


def _located(source: Any, kind: Type) -> Any:
    """Clone a construct beside its type, so that reading leaves the marks that locate leaves."""
    source = unwrap(source)
    if isinstance(source, construct.Rebuild):
        source = unwrap(source.subcon)
    if isinstance(source, construct.Transformed):
        return _Region(kind, _valued(source, kind))
    return _Marked(kind, _checked(source, plain(kind)))


def _checked(source: Any, kind: Type) -> Any:
    match kind:
        case Layout():
            return _Record(source, kind)
        case Array(count=Prefix(integer=integer), element=element):
            count, item = prefixed_array(source) or (None, None)
            counted = construct.Rebuild(_Whole(integer, _valued(count, integer)), len_(this.items))
            items = _Counted(element, construct.Array(this.count, _Element(_located(item, element))))
            counted.name, items.name = "count", "items"
            return construct.FocusedSeq("items", counted, items)
        case Array(element=element):
            part = _Element(_located(source.subcon, element))
            return _Counted(element, construct.Array(source.count, part))
        case If(type=then):
            return construct.IfThenElse(source.condfunc, _located(source.thensubcon, then), construct.Pass)
        case Switch():
            return _Switch(source, kind)
        case Bytes() | Padding():
            return _Octets(source)
        case Constant():
            return _Constant(kind, source)
        case Nothing():
            return source
    return _Scalar(kind, _valued(source, kind))


class _Typed(construct.Subconstruct):
    """A construct beside its type."""

    def __init__(self, kind: Type, subcon: Any) -> None:
        super().__init__(subcon)
        self.kind = kind


class _Marked(_Typed):
    """Leaves a mark for one value."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        mark = _reading(context).trail.mark(self.kind, path, 8 * stream.tell())
        value = self.subcon._parsereport(stream, context, path)
        mark.value = _plain_value(value)
        return value


class _Whole(_Typed):
    """A value of fixed size: it fits, or it is truncated."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        wanted = size_of(self.kind).lowest // 8
        return _reading(context).whole(self.subcon, wanted, stream, context, path)


class _Scalar(_Whole):
    """A number, flag or enumeration, refused where it would be written otherwise."""

    kind: Scalar

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        start, value = stream.tell(), super()._parsereport(stream, context, path)
        raw = _reading(context).data[start : stream.tell()]
        written = scalar_from_bits(int.from_bytes(raw, "big"), self.kind)[1]
        if written is not None:
            raise Found(fault_at("not-canonical", path, 8 * start, self.kind, *written))
        return value


class _Constant(_Whole):
    """A value that never differs from the author's."""

    kind: Constant

    def __init__(self, kind: Constant, source: Any) -> None:
        super().__init__(kind, _valued(source, kind))
        self.value = source.value

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        start, value = stream.tell(), super()._parsereport(stream, context, path)
        if value != self.value:
            found, allowed = value_text(value), value_text(self.kind.value)
            raise Found(fault_at("constant", path, 8 * start, self.kind, found, allowed))
        return value


class _Octets(construct.Subconstruct):
    """Bytes or padding, whose length construct computes."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = _reading(context), stream.tell()
        length = int(evaluate(self.subcon.length, context))
        if length < 0:
            raise Found(negative(path, 8 * start, length))
        value = reading.whole(self.subcon, length, stream, context, path)
        if isinstance(self.subcon, construct.Padded):
            (pattern,) = self.subcon.pattern
            for byte, found in enumerate(reading.data[start : start + length], start):
                if found != pattern:
                    raise Found(Fault("not-canonical", path, f"{found:#04x}", f"{pattern:#04x}", byte))
        return value


class _Counted(construct.Subconstruct):
    """A construct.Array whose count is checked before anything is read or allocated."""

    def __init__(self, element: Type, subcon: Any) -> None:
        super().__init__(subcon)
        simple = isinstance(plain(element), Integer | Enum)
        self.octets = size_of(element).lowest // 8 if simple else 0

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = _reading(context), stream.tell()
        count = int(evaluate(self.subcon.count, context))
        if count < 0:
            raise Found(negative(path, reading.start(path), count))
        if self.octets:
            # Nothing but the end of the bytes can stop these, so division finds the one that does not fit.
            fits = (len(reading.data) - start) // self.octets
            if fits < count:
                raise Found(reading.truncated(f"{path}[{fits}]", start + fits * self.octets, self.octets))
        return self.subcon._parsereport(stream, context, path)


class _Element(construct.Subconstruct):
    """An element of an array."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._parsereport(stream, context, f"{path}[{context._index}]")


class _Switch(construct.Construct):
    """A Switch that finds its case by comparing construct's key with the author's, members included."""

    def __init__(self, source: Any, kind: Switch) -> None:
        super().__init__()
        self.source = source
        self.kind = kind
        self.default = None if kind.default is None else _located(source.default, kind.default)
        self.cases: dict[int, Any] = {}

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        return self._case(stream, context, path)._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self._case(stream, context, path)._build(obj, stream, context, path)

    def _case(self, stream: Any, context: Any, path: str) -> Any:
        key = evaluate(self.source.keyfunc, context)
        kind = dict(self.kind.cases).get(int(key))
        native = next((case for name, case in self.source.cases.items() if key == name), None)
        assert (kind is None) == (native is None), f"construct and the Layout disagree on the case {key}"
        if kind is not None:
            if int(key) not in self.cases:
                self.cases[int(key)] = _located(native, kind)
            return self.cases[int(key)]
        if self.default is None:
            known = ", ".join(str(case) for case, _ in self.kind.cases)
            raise Found(Fault("unknown-case", path, str(int(key)), known, stream.tell()))
        return self.default


class _Record(construct.Struct):
    """A Struct that fills a frame while its fields are read. All fields go by their labels."""

    def __init__(self, source: Any, layout: Layout) -> None:
        pairs = [(unwrap(part), field) for part, field in zip(source.subcons, layout.fields, strict=True)]
        rebuilds = [(field, part.func) for part, field in pairs if isinstance(part, construct.Rebuild)]
        fields = [_Field(field, _located(part, field.type)) for part, field in pairs]
        super().__init__(*fields, _Rebuilds(rebuilds))
        self.layout = layout

    def _parsereport(self, stream: Any, context: Any, path: str) -> _Framed:
        reading = _reading(context)
        outer = reading.frame
        reading.frame = frame = Frame(self.layout, path, 8 * stream.tell(), outer)
        found = _Framed(self._parse(stream, context, path), frame)
        reading.trail.frames.append(frame)
        reading.frame = outer
        return found


class _Field(construct.Subconstruct):
    """A field of a record."""

    def __init__(self, field: Field, subcon: Any) -> None:
        super().__init__(subcon)
        self.name = field.label

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        value = self.subcon._parsereport(stream, context, f"{path}.{self.name}" if path else self.name)
        frame = _reading(context).frame
        assert frame is not None
        frame.values[self.name] = _plain_value(value)
        return value


class _Rebuilds(construct.Construct):
    """Stands behind the fields of a record and compares those that others imply. Takes no bytes.

    A count without Rebuild needs no look: reading took as many elements as it says.
    """

    def __init__(self, rebuilds: list[tuple[Field, Any]]) -> None:
        super().__init__()
        self.flagbuildnone = True
        self.rebuilds = rebuilds

    def _parsereport(self, stream: Any, context: Any, path: str) -> None:
        for field, function in self.rebuilds:
            found, implied = context[field.label], evaluate(function, context)
            if found != implied:
                name = f"{path}.{field.label}" if path else field.label
                bit = _reading(context).start(name)
                raise Found(fault_at("bad-count", name, bit, field.type, found, implied))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        """Write nothing: the record's values were checked before."""


class _Region(_Typed):
    """A bit region: the Layout finds places and faults, construct reads the values."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading = _reading(context)
        reader = LayoutReader(reading.data, reading.trail, 8 * stream.tell())
        found = reader.read(self.kind, path, reading.frame)
        native = self.subcon._parsereport(stream, context, path)
        assert 8 * stream.tell() == reader.bit, "construct and the Layout disagree on the region's size"
        return _joined(native, found)

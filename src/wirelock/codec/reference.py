"""The reference engine: construct itself, wrapped so that every place is known, plus the strictness.

The author's construct is cloned beside the lowered Layout, node by node. construct reads and writes all
values and computes all expressions, in contexts of its own; the wrappers note where each value lies,
turn what construct refuses into the one fault of the record, and refuse what construct would lose.
construct knows no places inside a bit region: there the Layout locates, and the values that construct
reads must be the same. ConstructError never leaves this file.

Wrappers override `_parsereport`, which is how constructs call each other, and use construct's own `path`
argument for the path of the field.
"""

from __future__ import annotations

import copy
import io
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import construct
from construct import evaluate, len_, this

from wirelock.codec.adopt import adopt, has_validators, unchanged
from wirelock.codec.check import check
from wirelock.codec.floats import float_from_bits, float_to_bits, same_float
from wirelock.codec.locate import LayoutReader, negative, scalar_from_bits, trailing
from wirelock.codec.template import Names
from wirelock.codec.trail import Found, Frame, Trail, fault_at, value_text
from wirelock.errors import Fault
from wirelock.layout import nodes
from wirelock.layout.nodes import Layout, Type, plain, size_of
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
        """Return the record that starts at byte `at`, and its size. A fault counts from there on."""
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
        if (fault := trail.value_fault()) is not None:
            raise Found(fault)
        record = adopt(frame, self._names, trail)
        if has_validators(self._layout):
            unchanged(record, data[:taken], self)
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
        return found[_FRAME], reading.trail, stream.tell()


# -- values as construct has them and as frames have them, and constructs that read them -----------

_FRAME: Final = "#frame"
"""Under this key a Container of construct's holds the frame of its record. No field has such a label."""


def _by_number(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(self: _Named, other: object) -> bool:
        return compare(int(self), self.members.get(other, other) if isinstance(other, str) else other)

    return compared


class _Named(int):
    """An enumeration's or a flag set's value, as the author's expressions see it.

    It compares as its number with numbers, members and names of members; items are its single flags.
    """

    members: Mapping[str, int]

    def __getitem__(self, name: str) -> bool:
        return int(self) & self.members[name] == self.members[name]

    __eq__ = _by_number(operator.eq)
    __ne__ = _by_number(operator.ne)
    __lt__ = _by_number(operator.lt)
    __le__ = _by_number(operator.le)
    __gt__ = _by_number(operator.gt)
    __ge__ = _by_number(operator.ge)
    __hash__ = int.__hash__


def _plain_value(value: Any) -> Any:
    """Return a value of construct's as a frame holds it."""
    match value:
        case dict():
            return value[_FRAME]
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
            joined = {label: _joined(native[label], item) for label, item in values.items()}
            return construct.Container(joined | {_FRAME: found})
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


class _Names(construct.Subconstruct):
    """The integer of an Enum or FlagsEnum, with the names of its members."""

    def __init__(self, subcon: Any, members: Mapping[Any, int]) -> None:
        super().__init__(subcon)
        self.members = {str(name): value for name, value in members.items()}

    def _parse(self, stream: Any, context: Any, path: str) -> _Named:
        return self._named(self.subcon._parsereport(stream, context, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> _Named:
        return self._named(self.subcon._build(int(obj), stream, context, path))

    def _named(self, value: int) -> _Named:
        made = _Named(value)
        made.members = self.members
        return made


def _float(source: Any) -> Any:
    """Read a float by its bits, so that NaNs keep their payload. A signalling NaN reads as None."""
    order, letter = source.fmtstr
    raw, n = construct.FormatField(order, {"e": "H", "f": "L", "d": "Q"}[letter]), 8 * source.length
    return construct.ExprAdapter(raw, lambda x, _: float_from_bits(x, n), lambda x, _: float_to_bits(x, n))


def _valued(source: Any, kind: Any) -> Any:
    """Clone what has a fixed size, to read and write values only."""
    source, kind = unwrap(source), plain(kind)
    match source:
        case construct.Transformed():
            made = copy.copy(source)
            made.subcon = _valued(source.subcon, kind)
            return made
        case construct.Struct():
            pairs = zip(source.subcons, kind.fields, strict=True)
            return construct.Struct(*(field.label / _valued(part, field.type) for part, field in pairs))
        case construct.Array():
            return construct.Array(source.count, _valued(source.subcon, kind.element))
        case construct.Const() | construct.Rebuild():
            return _valued(source.subcon, kind)
        case construct.Enum(encmapping=members) | construct.FlagsEnum(flags=members):
            return _Names(_valued(source.subcon, kind), members)
        case construct.FormatField() if source.fmtstr[1] in "efd":
            return _float(source)
    return source


# -- constructs that know where they are ------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """One parse, `context._params._reading`: its bytes, its trail, the frame of the innermost open record."""

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
        return Fault("truncated", path, str(len(self.data) - start), str(wanted), start)

    def start(self, path: str) -> int:
        """Return the bit at which the value with that path starts."""
        return next(mark.bit for mark in reversed(self.trail.marks) if mark.path == path)


def _located(source: Any, kind: Type) -> Any:
    """Clone a construct beside its type, so that reading leaves the marks that locate leaves."""
    source, inner = unwrap(source), plain(kind)
    if isinstance(source, construct.Rebuild):
        source = unwrap(source.subcon)
    if isinstance(source, construct.Transformed):
        return _Region(kind, _valued(source, kind))
    match inner:
        case Layout():
            part: Any = _Record(source, inner)
        case nodes.Array():
            part = _array(source, inner)
        case nodes.If(type=then):
            part = construct.IfThenElse(source.condfunc, _located(source.thensubcon, then), construct.Pass)
        case nodes.Switch():
            part = _Switch(source, inner)
        case nodes.Bytes() | nodes.Padding():
            part = _Octets(source)
        case nodes.Nothing():
            part = source
        case _:
            part = _Leaf(inner, _valued(source, inner))
    return _Marked(kind, part)


def _array(source: Any, kind: nodes.Array) -> Any:
    prefixed, element = prefixed_array(source), kind.element
    count, item = prefixed or (source.count, source.subcon)
    part = construct.Array(this.count if prefixed else count, _Element(_located(item, element)))
    items = _Counted(element, part)
    if not prefixed:
        return items
    integer = kind.count.integer  # type: ignore[union-attr]
    counted = construct.Rebuild(_Leaf(integer, _valued(count, integer)), len_(this.items))
    counted.name, items.name = "count", "items"
    return construct.FocusedSeq("items", counted, items)


class _Typed(construct.Subconstruct):
    """A construct beside its type."""

    def __init__(self, kind: Type, subcon: Any) -> None:
        super().__init__(subcon)
        self.kind: Any = kind


class _Marked(_Typed):
    """Leaves a mark for one value."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        mark = context._params._reading.trail.mark(self.kind, path, 8 * stream.tell())
        value = self.subcon._parsereport(stream, context, path)
        mark.value = _plain_value(value)
        return value


class _Leaf(_Typed):
    """A value of fixed size: it fits, is the constant if there is one, and would be written the same."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        value = reading.whole(self.subcon, size_of(self.kind).lowest // 8, stream, context, path)
        if isinstance(self.kind, nodes.Constant):
            if value != self.kind.value:
                found, allowed = value_text(value), value_text(self.kind.value)
                raise Found(fault_at("constant", path, 8 * start, self.kind, found, allowed))
            return value
        raw = int.from_bytes(reading.data[start : stream.tell()], "big")
        if (written := scalar_from_bits(raw, self.kind)[1]) is not None:
            raise Found(fault_at("not-canonical", path, 8 * start, self.kind, *written))
        return value


class _Octets(construct.Subconstruct):
    """Bytes or padding, whose length construct computes."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
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


class _Counted(_Typed):
    """A construct.Array of a type, whose count is checked before anything is read or allocated."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        count = int(evaluate(self.subcon.count, context))
        if count < 0:
            raise Found(negative(path, reading.start(path), count))
        if isinstance(plain(self.kind), nodes.Integer | nodes.Enum):
            # Nothing but the end of the bytes can stop these, so division finds the one that does not fit.
            octets = size_of(self.kind).lowest // 8
            fits = (len(reading.data) - start) // octets
            if fits < count:
                raise Found(reading.truncated(f"{path}[{fits}]", start + fits * octets, octets))
        return self.subcon._parsereport(stream, context, path)


class _Element(construct.Subconstruct):
    """An element of an array."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._parsereport(stream, context, f"{path}[{context._index}]")


class _Switch(construct.Construct):
    """A Switch that finds its case by comparing construct's key with the author's, members included."""

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
        key, kinds = evaluate(self.source.keyfunc, context), dict(self.kind.cases)
        number = int(key) if int(key) in kinds else None
        if number not in self.clones:
            kind = self.kind.default if number is None else kinds[number]
            if kind is None:
                known = ", ".join(str(case) for case, _ in self.kind.cases)
                raise Found(Fault("unknown-case", path, str(int(key)), known, stream.tell()))
            native = (case for name, case in self.source.cases.items() if key == name)
            self.clones[number] = _located(next(native, self.source.default), kind)
        return self.clones[number]


class _Record(construct.Struct):
    """A Struct that fills a frame while its fields are read. All fields go by their labels."""

    def __init__(self, source: Any, layout: Layout) -> None:
        pairs = [(unwrap(part), field) for part, field in zip(source.subcons, layout.fields, strict=True)]
        fields = [_Field(field.label, _located(part, field.type)) for part, field in pairs]
        # What stands behind the fields takes no bytes and sees construct's own context of the record.
        super().__init__(*fields, construct.Computed(self._check_rebuilds))
        self.layout = layout
        self.rebuilds = [(field, part.func) for part, field in pairs if isinstance(part, construct.Rebuild)]

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading = context._params._reading
        outer = reading.frame
        reading.frame = frame = Frame(self.layout, path, 8 * stream.tell(), outer)
        found = self._parse(stream, context, path)
        found[_FRAME] = frame
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
        context._params._reading.frame.values[self.name] = _plain_value(value)
        return value


class _Region(_Typed):
    """A bit region: the Layout finds places and faults, construct reads the values."""

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading = context._params._reading
        reader = LayoutReader(reading.data, reading.trail, 8 * stream.tell())
        found = reader.read(self.kind, path, reading.frame)
        native = self.subcon._parsereport(stream, context, path)
        assert 8 * stream.tell() == reader.bit, "construct and the Layout disagree on the region's size"
        return _joined(native, found)

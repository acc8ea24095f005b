"""The slow path of building: a walk over a record that finds what keeps it from being sent.

It reads the record's own attributes, trusts no earlier validation, and leaves the same trail as
parsing does. Faults have no byte: nothing was written yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wirelock.codec.code import LEFT_OUT, encoded, settled
from wirelock.codec.floats import round_float, same_float
from wirelock.codec.implied import implied
from wirelock.codec.locate import padded_size, stated_in, until
from wirelock.codec.scaled import raw_of
from wirelock.codec.template import Names, template_of
from wirelock.codec.text import find_mark, strip_nuls, text_fault
from wirelock.codec.trail import Found, Frame, Trail, members_text, value_text
from wirelock.codec.varint import varint_bytes, zigzag
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    Framed,
    If,
    Integer,
    Layout,
    Mapping,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Terminator,
    Text,
    Time,
    Type,
    Until,
    VarInt,
    checksum_in,
    plain,
)
from wirelock.layout.operators import paths_in
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import inner_path, key_text


def check(layout: Layout, record: Any, names: Names) -> Frame:
    """Return the values of a record that can be sent; raises Found with the first thing that cannot."""
    reader = RecordReader(names)
    frame = reader.region(lambda: reader.read(layout, record, "", None))
    fault = reader.trail.value_fault()
    if fault is not None:
        raise Found(replace(fault, byte=None, pieces=()))
    assert isinstance(frame, Frame)
    return frame


def _refuse(code: str, path: str, found: object, allowed: object) -> Found:
    return Found(Fault(code, path, value_text(found), value_text(allowed)))


def _wrong_type(path: str, value: object, wanted: str) -> Found:
    try:
        text = repr(value)
    except ValueError:  # of an integer too long for Python to write
        text = value_text(value)
    return _refuse("wrong-type", path, f"{type(value).__name__} {text:.60}", wanted)


class RecordReader:
    """Reads plain values out of records, in wire order."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.trail = Trail()
        self.bit = 0
        """The bits written so far."""
        self.absent: tuple[int, str] | None = None
        """Where in the region the first Optional is absent, with its path."""

    def region(self, read: Callable[[], Any]) -> Any:
        """Check a region: where an Optional is absent, nothing may follow."""
        outer, self.absent = self.absent, None
        found = read()
        if self.absent is not None and self.absent[0] < self.bit:
            raise _refuse("bad-count", self.absent[1], "None", "a value: bytes follow it")
        self.absent = outer
        return found

    def read(self, kind: Type, value: Any, path: str, frame: Frame | None) -> Any:
        """Check one value against its type and return it as a frame holds it."""
        inner = plain(kind)
        if isinstance(inner, Framed):
            return self._framed(inner, value, path, frame)
        mark = self.trail.mark(kind, path, 0)
        match inner:
            case Layout():
                mark.value = self._layout(inner, value, path, frame)
            case Array():
                mark.value = self._array(inner, value, path, frame)
            case If(condition=condition, type=then):
                assert frame is not None
                if frame.compute(condition):
                    mark.value = self.read(then, value, path, frame)
                elif value is LEFT_OUT:
                    mark.value = LEFT_OUT if checksum_in(then) else None
                elif value is not None:
                    raise _wrong_type(path, value, "None: the field is absent here")
            case Switch():
                mark.value = self._switch(inner, value, path, frame)
            case Bytes():
                mark.value = self._octets(inner, value, path, frame)
            case Constant(value=wanted):
                if value is not LEFT_OUT and (type(value) is not type(wanted) or value != wanted):
                    raise _refuse("constant", path, value_text(value), value_text(wanted))
                mark.value = wanted
                self.bit += size_of(inner).lowest
            case Nothing() | Padding() | Terminated():
                if value is not None and value is not LEFT_OUT:
                    raise _wrong_type(path, value, "None")
                if isinstance(inner, Padding):
                    if (length := stated_in(frame, inner.length)) < 0:
                        raise _refuse("bad-count", path, length, "0 or more")
                    self.bit += inner.unit * length
            case Text():
                mark.value = self._text(inner, value, path, frame)
            case VarInt():
                mark.value = self._integer(inner, value, path)
                self.bit += 8 * _varint_size(inner, mark.value)
            case Padded():
                mark.value = self._padded(inner, value, path, frame)
            case Sized():
                mark.value = self._sized(inner, value, path, frame)
            case Optional(inner=there):
                if value is not None:
                    mark.value = self.read(there, value, path, frame)
                elif self.absent is None:
                    self.absent = self.bit, path
            case Sequence(types=types):
                mark.value = self._sequence(types, value, path, frame)
            case Select():
                mark.value = self.read(self._selected(inner, value, path), value, path, frame)
            case Checksum():
                mark.value = value
                if value is LEFT_OUT:
                    self.bit += size_of(inner).lowest
                else:
                    self.read(inner.type, value, path, frame)
            case Opaque():
                raw, fault = encoded(inner, value, path)
                if fault is not None:
                    raise Found(fault)
                mark.value = settled(value)
                self.bit += 8 * len(raw)
            case Computed(expression=expression, boolean=boolean):
                assert frame is not None
                mark.value = (bool if boolean else int)(frame.compute(expression))
                if type(value) is not type(mark.value):
                    raise _wrong_type(path, value, "a bool" if boolean else "an int")
                if value != mark.value:
                    raise _refuse("bad-count", path, value, mark.value)
            case Integer() | Time():
                integer = inner.integer if isinstance(inner, Time) else inner
                mark.value = self._integer(integer, value, path)
                self.bit += integer.bits
            case Mapping(integer=integer, members=members):
                found = [raw for key, raw in members if type(key) is type(value) and key == value]
                if not found:
                    raise _refuse("unknown-member", path, repr(value), members_text(inner))
                mark.value = found[0]
                self.bit += integer.bits
            case Scaled():
                mark.value = self._scaled(inner, value, path)
                self.bit += inner.integer.bits
            case Enum(integer=integer) | Flags(integer=integer):
                wanted_type = self.names[inner.name]
                assert isinstance(wanted_type, type)
                if type(value) is not wanted_type:
                    raise _wrong_type(path, value, f"a member of {inner.name}")
                mark.value = self._integer(integer, int(value), path)
                self.bit += integer.bits
                if isinstance(inner, Flags) and mark.value & ~inner.mask:
                    written = f"{mark.value & inner.mask:#x}"
                    raise _refuse("not-canonical", path, f"{mark.value:#x}", written)
            case Flag():
                if type(value) is not bool:
                    raise _wrong_type(path, value, "a bool")
                mark.value = value
                self.bit += inner.bits
            case Float(bits=bits):
                mark.value = self._float(bits, value, path)
                self.bit += bits
        return mark.value

    def _framed(self, kind: Framed, value: Any, path: str, frame: Frame | None) -> Any:
        found = {
            label: self.read(part, value if label == path else LEFT_OUT, label, frame)
            for label, part in kind.labelled(path)
        }
        return found[path]

    def _layout(self, layout: Layout, record: Any, path: str, parent: Frame | None) -> Frame:
        if type(record) is not template_of(self.names, layout.name).record:
            raise _wrong_type(path, record, f"a {layout.name}")
        frame = Frame(layout, path, 0, parent, index=parent.index if parent else 0)
        for field in layout.fields:
            name = inner_path(path, field.label)
            if field.in_record:
                value = _attribute(record, field, name)
            elif isinstance(field.type, Checksum):
                value = LEFT_OUT
            else:
                value = self._hidden(field, layout, record, frame, path)
            frame.values[field.label] = self.read(field.type, value, name, frame)
        for field in layout.fields:
            if (
                field.derived is not None
                and (implied := frame.compute(field.derived)) != frame.values[field.label]
            ):
                name = inner_path(path, field.label)
                raise _refuse("bad-count", name, frame.values[field.label], implied)
        self.trail.frames.append(frame)
        return frame

    def _hidden(self, field: Field, layout: Layout, record: Any, frame: Frame, path: str) -> Any:
        """Return the value of a field that the record has not: a constant, nothing, or a derived one."""
        try:
            return implied(field, layout, record, frame.value_of)
        except (AttributeError, OverflowError, TypeError, ValueError):
            assert field.derived is not None
            first = ".".join(next(paths_in(field.derived)).names)
            raise _refuse(
                "wrong-type", inner_path(path, first), "the value", f"what {field.label} counts"
            ) from None

    def _array(self, kind: Array, value: Any, path: str, frame: Frame | None) -> list[Any]:
        if type(value) is not tuple:
            raise _wrong_type(path, value, "a tuple")
        match kind.count:
            case Prefix(integer=integer):
                if len(value) > integer.highest:
                    raise _refuse("bad-count", path, len(value), f"{integer.highest} or less")
                self.bit += 8 * _prefix_size(integer, len(value))
            case Rest():
                pass
            case Until():
                if not value:
                    raise _refuse("bad-count", path, "length 0", "1 or more")
            case stated:
                self._same_length(stated, len(value), path, frame)
        outer, items = frame.index if frame else 0, []
        for number, item in enumerate(value):
            if frame:
                frame.index = number
            items.append(self.read(kind.element, item, f"{path}[{number}]", frame))
            if isinstance(kind.count, Until):
                assert frame is not None
                if until(kind.count, items[-1], frame) != (number == len(value) - 1):
                    told = "an element that ends it, last and nowhere else"
                    raise _refuse("bad-count", path, f"length {len(value)}", told)
        if frame:
            frame.index = outer
        return items

    def _sequence(self, types: tuple[Type, ...], value: Any, path: str, frame: Frame | None) -> list[Any]:
        if type(value) is not tuple:
            raise _wrong_type(path, value, "a tuple")
        self._same_length(len(types), len(value), path, frame)
        pairs = zip(types, value, strict=True)
        return [self.read(part, item, f"{path}[{at}]", frame) for at, (part, item) in enumerate(pairs)]

    def _selected(self, kind: Select, value: Any, path: str) -> Layout:
        for _, layout in kind.cases:
            if type(value) is template_of(self.names, layout.name).record:
                return layout
        raise _wrong_type(path, value, f"one of {', '.join(layout.name for _, layout in kind.cases)}")

    def _octets(self, kind: Bytes, value: Any, path: str, frame: Frame | None) -> bytes:
        if type(value) is not bytes:
            raise _wrong_type(path, value, "bytes")
        self._same_length(kind.length, len(value), path, frame)
        self.bit += 8 * len(value)
        return value

    def _text(self, kind: Text, value: Any, path: str, frame: Frame | None) -> str:
        if type(value) is not str:
            raise _wrong_type(path, value, "a str")
        try:
            raw = value.encode(kind.encoding)
        except UnicodeEncodeError:
            raise _refuse("bad-text", path, repr(value), f"text in {kind.encoding}") from None
        if (fault := text_fault(raw, kind.encoding, kind.closed, path, None)) is not None:
            raise Found(fault)
        if isinstance(kind.inner, Sized):
            self._enclosed(kind.inner, len(raw), raw, path, frame)
        else:
            self._octets(kind.inner, raw, path, frame)
        return value

    def _sized(self, kind: Sized, value: Any, path: str, frame: Frame | None) -> Any:
        start = self.bit
        found = self.region(lambda: self.read(kind.inner, value, path, frame))
        size, self.bit = (self.bit - start) // 8, start
        self._enclosed(kind, size, found if isinstance(found, bytes) else b"", path, frame)
        return found

    def _enclosed(self, kind: Sized, size: int, content: bytes, path: str, frame: Frame | None) -> None:
        """Check that what is inside of a region takes its size; `content` is it, where only bytes are."""
        if kind.stripped and strip_nuls(content, kind.stripped) != content:
            raise _refuse("not-canonical", path, "NUL bytes at the end", "none: they are padding")
        if kind.stripped and len(content) % kind.stripped:
            raise _refuse("not-canonical", path, f"size {len(content)}", f"a multiple of {kind.stripped}")
        match kind.extent:
            case Terminator(mark=mark):
                if len(content) % len(mark) or find_mark(content, 0, len(content), mark) >= 0:
                    raise _refuse("not-canonical", path, content, f"bytes without {mark.hex(' ')}")
                self.bit += 8 * (size + len(mark))
            case Prefix(integer=integer, includes=includes):
                stated = size + (integer.bits // 8 if includes and isinstance(integer, Integer) else 0)
                if stated > integer.highest:
                    raise _refuse("bad-count", path, f"size {stated}", f"{integer.highest} or less")
                self.bit += 8 * (size + _prefix_size(integer, stated))
            case length:
                stated = stated_in(frame, length)
                if size > stated or (size < stated and not kind.stripped):
                    allowed = f"{stated} or less" if kind.stripped else str(stated)
                    raise _refuse("bad-count", path, f"size {size}", allowed)
                self.bit += 8 * stated

    def _padded(self, kind: Padded, value: Any, path: str, frame: Frame | None) -> Any:
        start = self.bit
        found = self.read(kind.inner, value, path, frame)
        size = (self.bit - start) // 8
        target = padded_size(kind, size, frame)
        if target < size:
            raise _refuse("bad-count", path, f"size {size}", f"{target} or less")
        self.bit = start + 8 * target
        return found

    def _scaled(self, kind: Scaled, value: Any, path: str) -> float:
        if type(value) is not float:
            raise _wrong_type(path, value, "a float")
        raw = raw_of(value, kind.multiply, kind.add, kind.divide)
        if raw is None:
            raise _refuse("not-canonical", path, value, "a value on a step")
        if not kind.integer.lowest <= raw <= kind.integer.highest:
            ends = kind.value(kind.integer.lowest), kind.value(kind.integer.highest)
            raise _refuse("out-of-range", path, value, f"{min(ends)}..{max(ends)}")
        return value

    def _same_length(self, wanted: Any, found: int, path: str, frame: Frame | None) -> None:
        if isinstance(wanted, Rest):
            return
        wanted = stated_in(frame, wanted)
        if wanted != found:
            raise _refuse("bad-count", path, f"length {found}", wanted)

    def _switch(self, kind: Switch, value: Any, path: str, frame: Frame | None) -> Any:
        assert frame is not None
        key = frame.compute(kind.key)
        for case, then in kind.cases:
            if case == key:
                return self.read(then, value, path, frame)
        if kind.default is None:
            raise _refuse(
                "unknown-case", path, key_text(key), ", ".join(key_text(case) for case, _ in kind.cases)
            )
        return self.read(kind.default, value, path, frame)

    def _integer(self, kind: Integer | VarInt, value: Any, path: str) -> int:
        if type(value) is not int:
            raise _wrong_type(path, value, "an int")
        if not kind.lowest <= value <= kind.highest:
            raise _refuse("out-of-range", path, value, f"{kind.lowest}..{kind.highest}")
        return value

    def _float(self, bits: int, value: Any, path: str) -> float:
        if type(value) is not float:
            raise _wrong_type(path, value, "a float")
        try:
            rounded = round_float(value, bits)
        except OverflowError:
            raise _refuse("out-of-range", path, value, f"what binary{bits} holds") from None
        except ValueError as problem:
            raise _refuse("not-canonical", path, problem, "a quiet NaN") from None
        if not same_float(rounded, value):
            raise _refuse("not-canonical", path, value, rounded)
        return value


def _varint_size(kind: VarInt, value: int) -> int:
    return len(varint_bytes(zigzag(value) if kind.zigzag else value))


def _prefix_size(kind: Integer | VarInt, value: int) -> int:
    return _varint_size(kind, value) if isinstance(kind, VarInt) else kind.bits // 8


def _attribute(record: Any, field: Field, path: str) -> Any:
    try:
        return getattr(record, field.label)
    except AttributeError:
        raise _refuse("wrong-type", path, "nothing", "a value") from None

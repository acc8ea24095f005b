"""The slow path of parsing: a walk over the Layout that finds the one fault of a record.

Used when a fast path has said that there is a fault, and wherever construct gives no location. It
applies semantics.md to the letter: structure in wire order, bytes after the end, values, rules.
Time and memory stay within the bytes that are there: no count allocates, each element takes bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, Final

from wirelock.codec.bitorder import in_wire_order
from wirelock.codec.code import checksum_fault, decoded
from wirelock.codec.raw import check_padding, scalar_from_bits
from wirelock.codec.text import find_mark, strip_nuls, text_fault
from wirelock.codec.trail import Found, Frame, Trail, fault_at, scattered, value_text
from wirelock.codec.varint import read_varint, unzigzag, varint_fault
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Mapping,
    Multiple,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Scalar,
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
    plain,
)
from wirelock.layout.positions import offsets, scattered_pieces
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Expression, inner_path, key_text


def locate(layout: Layout, data: bytes, *, exact: bool = True) -> Fault | None:
    """Return the one fault of `data` as a record of this layout; None if it is one.

    With `exact`, bytes after the record are a fault.
    """
    return read_through(layout, data, exact=exact)[0]


def read_through(
    layout: Layout, data: bytes, at: int = 0, *, exact: bool = True
) -> tuple[Fault | None, LayoutReader]:
    """Return the fault as locate does, of the record at byte `at`, and the reader with all that it read."""
    reader = LayoutReader(data, Trail(), 8 * at)
    try:
        reader.read(layout, "", None)
    except Found as found:
        return found.fault, reader
    left = len(data) - reader.bit // 8
    if exact and left:
        return trailing(reader.bit // 8, left), reader
    return reader.trail.value_fault(), reader


def trailing(byte: int, left: int, path: str = "") -> Fault:
    """Return the fault of `left` bytes at `byte`, behind the end of the record or of what fills a region."""
    return Fault("trailing-bytes", path, str(left), "0", byte)


class LayoutReader:
    """Reads values from `data` at `bit`, leaving a trail. Raises Found at the first structural fault."""

    def __init__(self, data: bytes, trail: Trail, bit: int = 0) -> None:
        self.data = data
        self.trail = trail
        self.bit = bit
        self.end = len(data)
        """The byte behind the region."""

    @property
    def byte(self) -> int:
        """The byte that is read next."""
        return self.bit // 8

    @property
    def left(self) -> int:
        """The bytes left in the region."""
        return self.end - self.byte

    def read(self, kind: Type, path: str, frame: Frame | None) -> Any:
        """Read one value of a type; `frame` holds what its expressions see."""
        inner = plain(kind)
        if isinstance(inner, Framed):
            return self._framed(inner, path, frame)
        mark = self.trail.mark(kind, path, self.bit)
        match inner:
            case Layout():
                mark.value = self._layout(inner, path, frame)
            case Array():
                mark.value = self._array(inner, path, frame)
            case If(condition=condition, type=then):
                mark.value = self.read(then, path, frame) if _frame(frame).compute(condition) else None
            case Switch():
                mark.value = self._switch(inner, path, frame)
            case Bytes() | Padding():
                mark.value = self._octets(inner, path, frame)
            case Constant():
                mark.value = self._constant(inner, path, frame)
            case VarInt(zigzag=signed):
                mark.value = self._varint(signed, path)
            case Text():
                mark.value, mark.fault = self._text(inner, path, frame)
            case Padded():
                mark.value = self._padded(inner, path, frame)
            case Sized():
                mark.value = self._sized(inner, path, frame)
            case Optional(inner=there):
                mark.value = self.read(there, path, frame) if self.left else None
            case Sequence(types=types):
                mark.value = [self.read(part, f"{path}[{at}]", frame) for at, part in enumerate(types)]
            case Select():
                there = selected(inner, self.data, self.byte, self.end, path)
                mark.value = self.read(there, path, frame)
            case Checksum():
                mark.value, mark.fault = self._checksum(inner, path, frame)
            case Opaque(size=size):
                byte = self.byte
                mark.value, mark.fault = decoded(inner, self._octets(Bytes(size), path, frame), path, byte)
            case Computed(expression=expression, boolean=boolean):
                mark.value = (bool if boolean else int)(_frame(frame).compute(expression))
            case Terminated():
                if self.left:
                    raise Found(trailing(self.byte, self.left, path))
            case Nothing():
                pass
            case Integer() | Float() | Flag() | Enum() | Flags() | Mapping() | Scaled() | Time():
                mark.value = self._scalar(inner, path)
            case Limited():
                raise AssertionError("limits do not nest")
        mark.end = self.bit
        return mark.value

    def _framed(self, kind: Framed, path: str, frame: Frame | None) -> Any:
        found = {label: self.read(part, label, frame) for label, part in kind.labelled(path)}
        return found[path]

    def _layout(self, layout: Layout, path: str, parent: Frame | None) -> Frame:
        frame = Frame(layout, path, self.bit, parent, index=parent.index if parent else 0)
        starts = {field.label: self.bit for field in layout.fields}
        if layout.order == "wire":
            for field in layout.fields:
                starts[field.label], first = self.bit, self.byte
                name = inner_path(path, field.label)
                frame.values[field.label] = self.read(field.type, name, frame)
                frame.spans[field.label] = first, self.byte
        else:
            self._scattered(layout, path, frame)
        for field in layout.fields:
            if field.derived is None:
                continue
            found, implied = frame.values[field.label], frame.compute(field.derived)
            if found != implied:
                name = inner_path(path, field.label)
                raise Found(fault_at("bad-count", name, starts[field.label], field.type, found, implied))
        self.trail.frames.append(frame)
        return frame

    def _scattered(self, layout: Layout, path: str, frame: Frame) -> None:
        """Read the fields of a layout whose bits do not lie as they come."""
        octets, base = size_of(layout).lowest // 8, self.byte
        paths = [inner_path(path, field.label) for field in layout.fields]
        if self.left < octets:
            raise Found(Fault("truncated", paths[0], str(self.left), str(octets), base))
        ordered = in_wire_order(self.data[base : base + octets], layout.order)
        for field, start, name in zip(
            layout.fields, offsets(layout.fields, layout.order), paths, strict=True
        ):
            pieces = tuple((base + byte, mask) for byte, mask in field.position.pieces)
            inside = LayoutReader(ordered, Trail(), start)
            try:
                frame.values[field.label] = inside.read(field.type, name, frame)
            except Found as found:
                raise Found(scattered(found.fault, pieces) or found.fault) from None
            for mark in inside.trail.marks:
                there = scattered_pieces(range(mark.bit, mark.end), octets, layout.order)
                mark.pieces = tuple((base + byte, mask) for byte, mask in there)
                first = 8 * min((byte for byte, _ in mark.pieces), default=base + field.position.byte)
                mark.bit, mark.end = first, first + mark.end - mark.bit
            self.trail.marks += inside.trail.marks
        self.bit += 8 * octets

    def _raw(self, kind: Type, path: str) -> int:
        """Read the bits of a value of fixed size, most significant first, or find it truncated."""
        start, stop = self.bit, self.bit + size_of(kind).lowest
        first, last = start // 8, (stop + 7) // 8
        if last > self.end:
            self._truncated(kind, path, last - first)
        self.bit = stop
        whole = int.from_bytes(self.data[first:last], "big")
        return whole >> (8 * last - stop) & ((1 << (stop - start)) - 1)

    def _truncated(self, kind: Type, path: str, wanted: int) -> None:
        raise Found(fault_at("truncated", path, self.bit, kind, self.left, wanted))

    def _scalar(self, kind: Scalar, path: str) -> Any:
        bit = self.bit
        raw = self._raw(kind, path)
        value, written = scalar_from_bits(raw, kind)
        if written is not None:
            raise Found(fault_at("not-canonical", path, bit, kind, *written))
        return value

    def _constant(self, kind: Constant, path: str, frame: Frame | None) -> Any:
        bit = self.bit
        if isinstance(kind.type, Integer):
            value: Any = scalar_from_bits(self._raw(kind, path), kind.type)[0]
        else:
            value = self._octets(kind.type, path, frame)
        if value != kind.value:
            raise Found(fault_at("constant", path, bit, kind, value_text(value), value_text(kind.value)))
        return value

    def _checksum(self, kind: Checksum, path: str, frame: Frame | None) -> tuple[Any, Fault | None]:
        byte = self.byte
        if isinstance(kind.type, Integer):
            value: Any = scalar_from_bits(self._raw(kind, path), kind.type)[0]
        else:
            value = self._octets(kind.type, path, frame)
        first, end = _frame(frame).spans[kind.covers]
        return value, checksum_fault(kind, value, self.data[first:end], path, byte)

    def _octets(self, kind: Bytes | Padding, path: str, frame: Frame | None) -> Any:
        length = self.left if isinstance(kind.length, Rest) else stated_in(frame, kind.length)
        if length < 0:
            raise Found(negative(path, self.bit, length))
        unit = kind.unit if isinstance(kind, Padding) else 8
        start, stop = self.bit, self.bit + unit * length
        last = (stop + 7) // 8
        if last > self.end:
            self._truncated(Bytes(0), path, last - start // 8)
        self.bit = stop
        if isinstance(kind, Padding):
            check_padding(kind, self.data, start, stop, path)
            return None
        if start % 8 == 0:
            return self.data[start // 8 : last]
        whole = int.from_bytes(self.data[start // 8 : last], "big") >> (8 * last - stop)
        return (whole & ((1 << 8 * length) - 1)).to_bytes(length, "big")

    def _prefix(self, prefix: Prefix, path: str) -> int:
        if isinstance(prefix.integer, VarInt):
            return self._varint(prefix.integer.zigzag, path)
        return int(scalar_from_bits(self._raw(prefix.integer, path), prefix.integer)[0])

    def _varint(self, signed: bool, path: str) -> int:
        found = read_varint(self.data, self.byte, self.end)
        if found is None:
            raise Found(varint_fault(self.data, self.byte, self.end, path))
        self.bit = 8 * found[1]
        return unzigzag(found[0]) if signed else found[0]

    def _array(self, kind: Array, path: str, frame: Frame | None) -> list[Any]:
        bit, outer = self.bit, _frame(frame).index if frame else 0
        items: list[Any] = []
        match kind.count:
            case Rest():
                numbers: Iterable[int] = iter(lambda: len(items) if self.left else -1, -1)
            case Until():
                numbers = count()
            case Prefix() as prefix:
                numbers = self._fitting(kind, self._prefix(prefix, path), bit, path)
            case stated:
                numbers = self._fitting(kind, stated_in(frame, stated), bit, path)
        for number in numbers:
            if frame:
                frame.index = number
            items.append(self.read(kind.element, f"{path}[{number}]", frame))
            if isinstance(kind.count, Until) and until(kind.count, items[-1], _frame(frame)):
                break
        if frame:
            frame.index = outer
        return items

    def _fitting(self, kind: Array, count: int, bit: int, path: str) -> range:
        """Return the numbers of elements; raises Found for a count that is none, or cannot fit."""
        if count < 0:
            raise Found(negative(path, bit, count))
        element = plain(kind.element)
        if isinstance(element, Integer | Enum) and self.bit % 8 == 0 and size_of(element).lowest % 8 == 0:
            # Nothing but the end of the bytes can stop these, so division finds the one that does not fit.
            fits = 8 * self.left // size_of(element).lowest
            if fits < count:
                self.bit += fits * size_of(element).lowest
                self._truncated(element, f"{path}[{fits}]", size_of(element).lowest // 8)
        return range(count)

    def _padded(self, kind: Padded, path: str, frame: Frame | None) -> Any:
        bit, byte = self.bit, self.byte
        value = self.read(kind.inner, path, frame)
        size = self.byte - byte
        target = padded_size(kind, size, frame)
        if target < 0:
            raise Found(negative(path, bit, target))
        if target < size:
            raise Found(Fault("bad-count", path, str(size), f"{target} or less", byte))
        if self.left < target - size:
            raise Found(Fault("truncated", path, str(self.left), str(target - size), self.byte))
        start, self.bit = self.bit, 8 * (byte + target)
        check_padding(Padding(target - size, 8, kind.pattern), self.data, start, self.bit, path)
        return value

    def _sized(self, kind: Sized, path: str, frame: Frame | None, *, content: bool = False) -> Any:
        """Read the inside of a region; with `content` as bytes that leave no mark of their own."""
        bit, byte, outer = self.bit, self.byte, self.end
        match kind.extent:
            case Terminator(mark=mark):
                end = find_mark(self.data, byte, self.end, mark)
                if end < 0:
                    raise Found(Fault("truncated", path, str(self.left), str(self.left + len(mark)), byte))
                behind = end + len(mark)
            case extent:
                if isinstance(extent, Prefix):
                    size = self._prefix(extent, path) - (self.byte - byte) * extent.includes
                else:
                    size = stated_in(frame, extent)
                if size < 0:
                    raise Found(negative(path, bit, size))
                if size > self.left:
                    raise Found(Fault("truncated", path, str(self.left), str(size), self.byte))
                end = behind = self.byte + size
        if kind.stripped:
            end = self.byte + len(strip_nuls(self.data[self.byte : end], kind.stripped))
        self.end = end
        if content:
            value: Any = self._octets(Bytes(Rest()), path, frame)
        else:
            value = self.read(kind.inner, path, frame)
        if self.left:
            raise Found(trailing(self.byte, self.left, path))
        self.bit, self.end = 8 * behind, outer
        return value

    def _text(self, kind: Text, path: str, frame: Frame | None) -> tuple[str | None, Fault | None]:
        byte, inner = self.byte, kind.inner
        if isinstance(inner, Sized):
            raw = self._sized(inner, path, frame, content=True)
        else:
            raw = self._octets(inner, path, frame)
        fault = text_fault(raw, kind.encoding, kind.closed, path, byte)
        if fault is not None and fault.code != "bad-text":
            raise Found(fault)
        return (None, fault) if fault else (raw.decode(kind.encoding), None)

    def _switch(self, kind: Switch, path: str, frame: Frame | None) -> Any:
        key = _frame(frame).compute(kind.key)
        for case, then in kind.cases:
            if case == key:
                return self.read(then, path, frame)
        if kind.default is None:
            known = ", ".join(key_text(case) for case, _ in kind.cases)
            raise Found(Fault("unknown-case", path, key_text(key), known, self.bit // 8))
        return self.read(kind.default, path, frame)


def selected(kind: Select, data: bytes, byte: int, end: int, path: str) -> Layout:
    """Return the record whose first bytes are at `byte`. Raises Found where it is none, or cut short."""
    there = data[byte:end]
    for start, layout in kind.cases:
        if there.startswith(start):
            return layout
    begun = [len(start) for start, _ in kind.cases if start.startswith(there)]
    if begun:
        raise Found(Fault("truncated", path, str(len(there)), str(min(begun)), byte))
    longest = max(len(start) for start, _ in kind.cases)
    known = ", ".join(start.hex(" ") for start, _ in kind.cases)
    raise Found(Fault("unknown-case", path, there[:longest].hex(" "), known, byte))


def _frame(frame: Frame | None) -> Frame:
    assert frame is not None, "an expression outside of a layout"
    return frame


_ELEMENT: Final = Layout(())


def until(count: Until, element: Any, frame: Frame) -> bool:
    """Whether an element is the last one of its array."""
    inside = Frame(_ELEMENT, frame.path, frame.bit, frame, {"obj_": element}, frame.index)
    return bool(inside.compute(count.condition))


def stated_in(frame: Frame | None, stated: int | Expression) -> int:
    """Return a count, length or size that a layout states: a number, or an expression over a frame."""
    return stated if isinstance(stated, int) else int(_frame(frame).compute(stated))


def padded_size(kind: Padded, size: int, frame: Frame | None) -> int:
    """Return the bytes that a Padded takes in all, around an inner value of `size` bytes."""
    if isinstance(kind.length, Multiple):
        return -(-size // kind.length.of) * kind.length.of
    return stated_in(frame, kind.length)


def negative(path: str, bit: int, count: int) -> Fault:
    """Return the fault of a count or length below zero."""
    return Fault("bad-count", path, str(count), "0 or more", bit // 8)

"""The slow path of parsing: a walk over the Layout that finds the one fault of a record.

Used when a fast path has said that there is a fault, and wherever construct gives no location. It
applies semantics.md to the letter: structure in wire order, bytes after the end, values, rules.
Time and memory stay within the bytes that are there: no count allocates, each element takes bytes.
"""

from __future__ import annotations

from typing import Any

from wirelock.codec.floats import float_from_bits
from wirelock.codec.trail import Found, Frame, Trail, fault_at, value_text
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Limited,
    Nothing,
    Padding,
    Prefix,
    Scalar,
    Switch,
    Type,
    plain,
    size_of,
)
from wirelock.layout.positions import pieces_at


def locate(layout: Layout, data: bytes, *, exact: bool = True) -> Fault | None:
    """Return the one fault of `data` as a record of this layout; None if it is one.

    With `exact`, bytes after the record are a fault.
    """
    reader = LayoutReader(data, Trail())
    try:
        reader.read(layout, "", None)
    except Found as found:
        return found.fault
    left = len(data) - reader.bit // 8
    if exact and left:
        return trailing(reader.bit // 8, left)
    return reader.trail.value_fault()


def trailing(byte: int, left: int) -> Fault:
    """Return the fault of `left` bytes behind the record's end at `byte`."""
    return Fault("trailing-bytes", "", str(left), "0", byte)


class LayoutReader:
    """Reads values from `data` at `bit`, leaving a trail. Raises Found at the first structural fault."""

    def __init__(self, data: bytes, trail: Trail, bit: int = 0) -> None:
        self.data = data
        self.trail = trail
        self.bit = bit

    def read(self, kind: Type, path: str, frame: Frame | None) -> Any:
        """Read one value of a type; `frame` holds what its expressions see."""
        inner = plain(kind)
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
            case Nothing():
                pass
            case Integer() | Float() | Flag() | Enum() | Flags():
                mark.value = self._scalar(inner, path)
            case Limited():
                raise AssertionError("limits do not nest")
        return mark.value

    def _layout(self, layout: Layout, path: str, parent: Frame | None) -> Frame:
        frame = Frame(layout, path, self.bit, parent)
        starts = {}
        for field in layout.fields:
            starts[field.label] = self.bit
            name = f"{path}.{field.label}" if path else field.label
            frame.values[field.label] = self.read(field.type, name, frame)
        for field in layout.fields:
            if field.derived is None:
                continue
            found, implied = frame.values[field.label], frame.compute(field.derived)
            if found != implied:
                name = f"{path}.{field.label}" if path else field.label
                raise Found(fault_at("bad-count", name, starts[field.label], field.type, found, implied))
        self.trail.frames.append(frame)
        return frame

    def _raw(self, kind: Type, path: str) -> int:
        """Read the bits of a value of fixed size, most significant first, or find it truncated."""
        start, stop = self.bit, self.bit + size_of(kind).lowest
        first, last = start // 8, (stop + 7) // 8
        if last > len(self.data):
            self._truncated(kind, path, last - first)
        self.bit = stop
        whole = int.from_bytes(self.data[first:last], "big")
        return whole >> (8 * last - stop) & ((1 << (stop - start)) - 1)

    def _truncated(self, kind: Type, path: str, wanted: int) -> None:
        left = len(self.data) - self.bit // 8
        raise Found(fault_at("truncated", path, self.bit, kind, left, wanted))

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

    def _octets(self, kind: Bytes | Padding, path: str, frame: Frame | None) -> bytes | None:
        length = kind.length if isinstance(kind.length, int) else _frame(frame).compute(kind.length)
        if length < 0:
            raise Found(negative(path, self.bit, length))
        unit = kind.unit if isinstance(kind, Padding) else 8
        start, stop = self.bit, self.bit + unit * length
        last = (stop + 7) // 8
        if last > len(self.data):
            self._truncated(Bytes(0), path, last - start // 8)
        self.bit = stop
        if isinstance(kind, Padding):
            check_padding(kind, self.data, start, stop, path)
            return None
        if start % 8 == 0:
            return self.data[start // 8 : last]
        whole = int.from_bytes(self.data[start // 8 : last], "big") >> (8 * last - stop)
        return (whole & ((1 << 8 * length) - 1)).to_bytes(length, "big")

    def _array(self, kind: Array, path: str, frame: Frame | None) -> list[Any]:
        bit = self.bit
        match kind.count:
            case int(count):
                pass
            case Prefix(integer=integer):
                count = scalar_from_bits(self._raw(integer, path), integer)[0]
            case expression:
                count = _frame(frame).compute(expression)
        if count < 0:
            raise Found(negative(path, bit, count))
        element = plain(kind.element)
        if isinstance(element, Integer | Enum) and self.bit % 8 == 0 and size_of(element).lowest % 8 == 0:
            # Nothing but the end of the bytes can stop these, so division finds the one that does not fit.
            fits = (8 * len(self.data) - self.bit) // size_of(element).lowest
            if fits < count:
                self.bit += fits * size_of(element).lowest
                self._truncated(element, f"{path}[{fits}]", size_of(element).lowest // 8)
        return [self.read(kind.element, f"{path}[{i}]", frame) for i in range(count)]

    def _switch(self, kind: Switch, path: str, frame: Frame | None) -> Any:
        key = _frame(frame).compute(kind.key)
        for case, then in kind.cases:
            if case == key:
                return self.read(then, path, frame)
        if kind.default is None:
            known = ", ".join(str(case) for case, _ in kind.cases)
            raise Found(Fault("unknown-case", path, str(int(key)), known, self.bit // 8))
        return self.read(kind.default, path, frame)


def _frame(frame: Frame | None) -> Frame:
    assert frame is not None, "an expression outside of a layout"
    return frame


def negative(path: str, bit: int, count: int) -> Fault:
    """Return the fault of a count or length below zero."""
    return Fault("bad-count", path, str(count), "0 or more", bit // 8)


def scalar_from_bits(raw: int, kind: Scalar) -> tuple[Any, tuple[str, str] | None]:
    """Return the value of a scalar's bits as they lie on the wire, most significant first.

    The second part is (found, written) where the value would be written otherwise, else None.
    """
    inner = kind.integer if isinstance(kind, Enum | Flags) else kind
    if isinstance(inner, Integer | Float) and inner.order == "little":
        octets = inner.bits // 8
        raw = int.from_bytes(raw.to_bytes(octets, "big"), "little")
    match kind:
        case Flag():
            return bool(raw), (str(raw), "1") if raw > 1 else None
        case Float(bits=bits):
            value = float_from_bits(raw, bits)
            if value is None:
                quiet = raw | 1 << {16: 9, 32: 22, 64: 51}[bits]
                return None, (f"signalling NaN {raw:0{bits // 4}x}", f"{quiet:0{bits // 4}x}")
            return value, None
        case Flags():
            return raw, (f"{raw:#x}", f"{raw & kind.mask:#x}") if raw & ~kind.mask else None
    assert isinstance(inner, Integer)
    return raw - (1 << inner.bits) if inner.signed and raw >> (inner.bits - 1) else raw, None


def check_padding(kind: Padding, data: bytes, start: int, stop: int, path: str) -> None:
    """Raise Found at the first byte between two bits that differs from the padding's pattern."""
    width, last = stop - start, (stop + 7) // 8
    wanted = int.from_bytes(bytes([kind.pattern]) * (width // 8), "big")
    if kind.unit == 1:
        wanted = kind.pattern * ((1 << width) - 1)
    whole = int.from_bytes(data[start // 8 : last], "big") >> (8 * last - stop)
    differs = (whole & ((1 << width) - 1)) ^ wanted
    if differs:
        byte = (stop - differs.bit_length()) // 8
        first, end = max(start, 8 * byte), min(stop, 8 * byte + 8)
        mask = (1 << (end - first)) - 1
        found, written = (value >> (stop - end) & mask for value in (wanted ^ differs, wanted))
        pieces = pieces_at(first, Integer(end - first, False, "big"))
        raise Found(Fault("not-canonical", path, f"{found:#04x}", f"{written:#04x}", byte, pieces))

"""A layout and decisions -> the bytes of a record of it, or a dead end.

Everything that is free (a value, a count, which case) is a decision by number, in wire order: the same
decisions give the same bytes, and all first options the smallest packet. What has to follow from something
behind it (a size, a rebuilt field) is found by making the packet again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from wirelock.codec.bitorder import in_wire_order
from wirelock.codec.code import opaque_bytes, summed
from wirelock.codec.locate import padded_size, stated_in, until
from wirelock.codec.trail import Frame, limit_holds
from wirelock.codec.varint import varint_bytes, zigzag
from wirelock.evolve.options import (
    Interests,
    bit_text,
    bytes_options,
    integer_options,
    scalar_options,
    text_options,
)
from wirelock.layout import nodes
from wirelock.layout.limits import ENCODINGS
from wirelock.layout.nodes import Bytes, Integer, Layout, Prefix, Rest, Sized, Terminator, Type, VarInt, plain
from wirelock.layout.operators import evaluate, paths_in
from wirelock.layout.positions import offsets
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Expression, Index, Length, Limit, Path, inner_path

__all__ = ["Made", "make"]

_SIMPLE: Final = (b"", b"a", 0, 1, "", "a", ())
"""Values that are tried for what only code can write."""
_SPARE: Final = 256
"""The bytes that a packet may have beyond the least that its layout takes."""
_COUNTS: Final = (0, 1, 2, 3)
_DECIDED: Final = 3
"""The elements of an array that have decisions of their own."""
_ROUNDS: Final = 12
"""How often a packet is made again for what follows from something behind it."""
_SOLVED: Final = 600
"""The values that are tried for a field on which a size depends."""

T = TypeVar("T")


@dataclass(slots=True)
class Made:
    """The bytes of a packet, None for a dead end, how many options each decision had, and what it cost."""

    data: bytes | None
    options: list[int]
    written: int
    """The bytes that were written on the way."""


class _DeadEndError(Exception):
    """These decisions lead to no record."""


class _AgainError(Exception):
    """The field at `path` must have this value."""

    def __init__(self, path: str, value: int) -> None:
        super().__init__(path, value)
        self.path = path
        self.value = value


def make(layout: Layout, decisions: Mapping[int, int], interests: Interests) -> Made:
    """Return the packet that decisions lead to; the first option is taken where they say nothing."""
    forced: dict[str, int] = {}
    written = 0
    for _ in range(_ROUNDS):
        maker = _Maker(decisions, interests, forced, size_of(layout).lowest + 8 * _SPARE)
        data, again = maker.run(layout)
        written += len(maker.bits) // 8
        if again is None or forced.get(again.path) == again.value:
            return Made(data, maker.options, written)
        forced[again.path] = again.value
    return Made(None, maker.options, written)


class _Maker:
    """Writes bits behind each other; `room` is the bit at which the region around ends, if that is known."""

    def __init__(
        self, decisions: Mapping[int, int], interests: Interests, forced: Mapping[str, int], largest: int
    ) -> None:
        self.decisions = decisions
        self.interests = interests
        self.forced = forced
        self.largest = largest
        self.options: list[int] = []
        self.bits = ""
        self.room: int | None = None
        self.quiet = 0

    def run(self, layout: Layout) -> tuple[bytes | None, _AgainError | None]:
        """Return a packet, or None and what it has to be made again with, if that may help."""
        try:
            self.add(layout, "", "", None)
            return self.octets(0), None
        except _AgainError as again:
            return None, again
        except (_DeadEndError, ValueError, RecursionError):
            return None, None

    def octets(self, start: int, stop: int | None = None) -> bytes:
        """Return what was written from one bit to another."""
        bits = self.bits[start:stop]
        if len(bits) % 8:
            raise _DeadEndError
        return int(f"0{bits}", 2).to_bytes(len(bits) // 8, "big")

    def write(self, octets: bytes) -> None:
        self.put("".join(f"{octet:08b}" for octet in octets))

    def put(self, bits: str) -> None:
        self.bits += bits
        if len(self.bits) > self.largest:
            raise _DeadEndError

    def pick(self, options: Sequence[T]) -> T:
        """Return the option that was decided for."""
        if not options:
            raise _DeadEndError
        if self.quiet:
            return options[0]
        number = self.decisions.get(len(self.options), 0)
        self.options.append(len(options))
        return options[min(number, len(options) - 1)]

    # -- one value

    def add(self, kind: Type, name: str, path: str, frame: Frame | None) -> Any:
        """Write a value of a type and return it as a Frame holds it; `name` is that of its field."""
        inner, limits = plain(kind), nodes.limits_of(kind)
        known = self.interests.get(name, ())
        match inner:
            case Layout():
                return self.record(inner, path, frame)
            case nodes.Array():
                return self.array(inner, limits, name, path, frame)
            case nodes.If(condition=condition, type=then):
                return self.add(then, name, path, frame) if _frame(frame).compute(condition) else None
            case nodes.Optional(inner=there):
                there_is = self.pick((False, True)) if self.room is None else len(self.bits) < self.room
                return self.add(there, name, path, frame) if there_is else None
            case nodes.Switch():
                return self.add(_case(inner, _frame(frame)), name, path, frame)
            case nodes.Select(cases=cases):
                return self.add(self.pick([record for _, record in cases]), name, path, frame)
            case nodes.Sequence(types=types):
                return [self.add(part, name, f"{path}[{at}]", frame) for at, part in enumerate(types)]
            case nodes.Framed():
                labelled = inner.labelled(path)
                made = {label: self.add(part, name, label, frame) for label, part in labelled}
                return made[path]
            case Bytes(length=length):
                value = self.pick(bytes_options(self.length(length, frame), limits, known))
                self.write(value)
                return value
            case nodes.Text():
                return self.text(inner, self.pick(text_options(limits, known)), path, frame)
            case nodes.Constant(type=inside, value=value):
                return self.constant(inside, value)
            case nodes.Padding(length=length, unit=unit, pattern=pattern):
                self.put(f"{pattern:0{unit}b}" * self.counted(stated_in(frame, length), unit))
                return None
            case VarInt():
                return self.varint(inner, path, integer_options(inner, limits, known))
            case nodes.Padded():
                return self.padded(inner, name, path, frame)
            case Sized():
                return self.sized(inner, path, frame, lambda: self.add(inner.inner, name, path, frame))
            case nodes.Checksum():
                return self.checksum(inner, _frame(frame))
            case nodes.Opaque(size=size):
                self.write(self.pick([*_coded(inner), *bytes_options(self.length(size, frame), ())]))
                return None
            case nodes.Computed(expression=expression, boolean=boolean):
                return (bool if boolean else int)(_frame(frame).compute(expression))
            case nodes.Nothing() | nodes.Terminated():
                return None
            case _:
                return self.scalar(inner, limits, name, path)

    def scalar(self, kind: Any, limits: tuple[Limit, ...], name: str, path: str) -> Any:
        options = scalar_options(kind, limits, self.interests.get(name, ()))
        value, bits = self.pick(options)
        integer = nodes.integer_of(kind)
        if path in self.forced and integer is not None:
            value, bits = self.forced[path], bit_text(integer, self.forced[path])
        self.put(bits)
        return value

    def varint(self, kind: VarInt, path: str, options: Sequence[int]) -> int:
        chosen = self.pick(options)
        value = self.forced.get(path, chosen)
        self.write(varint_bytes(zigzag(value) if kind.zigzag else value))
        return value

    # -- records

    def record(self, layout: Layout, path: str, parent: Frame | None) -> Frame:
        frame = Frame(layout, path, len(self.bits), parent, index=parent.index if parent else 0)
        if layout.order == "wire":
            for item in layout.fields:
                start = len(self.bits)
                frame.values[item.label] = self.add(
                    item.type, item.label, inner_path(path, item.label), frame
                )
                frame.spans[item.label] = start, len(self.bits)
        else:
            self.scattered(layout, path, frame)
        for item in layout.fields:
            if item.derived is not None:
                implied = frame.compute(item.derived)
                if frame.values[item.label] != implied:
                    raise _AgainError(inner_path(path, item.label), int(implied))
        return frame

    def scattered(self, layout: Layout, path: str, frame: Frame) -> None:
        """Write a record whose bits do not lie as its fields come."""
        start, placed = len(self.bits), []
        for item, at in zip(layout.fields, offsets(layout.fields, layout.order), strict=True):
            frame.values[item.label] = self.add(item.type, item.label, inner_path(path, item.label), frame)
            placed.append((at, self.bits[start:]))
            self.bits = self.bits[:start]
        ordered = "".join(bits for _, bits in sorted(placed))
        self.put(ordered)
        octets = in_wire_order(self.octets(start), layout.order)
        self.bits = self.bits[:start]
        self.write(octets)

    def checksum(self, kind: nodes.Checksum, frame: Frame) -> Any:
        value = summed(kind, self.octets(*frame.spans[kind.covers]))
        if isinstance(value, str):
            raise _DeadEndError
        return self.constant(kind.type, value)

    def constant(self, kind: Integer | Bytes, value: int | bytes) -> int | bytes:
        if isinstance(kind, Integer) and isinstance(value, int):
            self.put(bit_text(kind, value))
        elif isinstance(value, bytes):
            self.write(value)
        return value

    # -- lengths and counts

    def counted(self, count: int, bits: int) -> int:
        """Return a count of things that take so many bits each at least, if there is room for them."""
        if count < 0 or count * max(bits, 1) > self.largest - len(self.bits):
            raise _DeadEndError
        return count

    def length(self, length: int | Expression | Rest, frame: Frame | None) -> int:
        if not isinstance(length, Rest):
            return self.counted(stated_in(frame, length), 8)
        return self.pick(_COUNTS) if self.room is None else max(self.room - len(self.bits), 0) // 8

    def array(
        self, kind: nodes.Array, limits: tuple[Limit, ...], name: str, path: str, frame: Frame | None
    ) -> list[Any]:
        outer = frame.index if frame else 0
        free = [count for count in _COUNTS if all(limit_holds(limit, range(count)) for limit in limits)]
        match kind.count:
            case Prefix():
                count = self.pick(free)
            case Rest():
                count = self.pick(free) if self.room is None else max(self.room - len(self.bits), 0)
            case nodes.Until():
                count = _COUNTS[-1] + 1
            case stated:
                count = self.counted(stated_in(frame, stated), size_of(kind.element).lowest)
        if isinstance(kind.count, Prefix):
            self.prefix(kind.count, count)
        items: list[Any] = []
        for number in range(count):
            if isinstance(kind.count, Rest) and self.room is not None and len(self.bits) >= self.room:
                break
            if frame:
                frame.index = number
            self.quiet += number >= _DECIDED
            items.append(self.add(kind.element, name, f"{path}[{number}]", frame))
            self.quiet -= number >= _DECIDED
            if isinstance(kind.count, nodes.Until) and until(kind.count, items[-1], _frame(frame)):
                break
        else:
            if isinstance(kind.count, nodes.Until):
                raise _DeadEndError
        if frame:
            frame.index = outer
        return items

    def prefix(self, prefix: Prefix, value: int) -> None:
        if isinstance(prefix.integer, VarInt):
            self.write(varint_bytes(zigzag(value) if prefix.integer.zigzag else value))
        else:
            self.put(bit_text(prefix.integer, value))

    # -- regions

    def padded(self, kind: nodes.Padded, name: str, path: str, frame: Frame | None) -> Any:
        start = len(self.bits)
        value = self.add(kind.inner, name, path, frame)
        size = len(self.octets(start))
        target = padded_size(kind, size, frame)
        if target < size:
            self.solve(kind.length, size, frame)
        self.write(bytes([kind.pattern]) * self.counted(target - size, 8))
        return value

    def sized(self, kind: Sized, path: str, frame: Frame | None, fill: Callable[[], Any]) -> Any:
        """Write a region: `fill` writes what is inside and returns its value."""
        start, outer = len(self.bits), self.room
        stated = None if isinstance(kind.extent, Prefix | Terminator) else stated_in(frame, kind.extent)
        known = isinstance(kind.extent, int) and not kind.stripped
        self.room = start + 8 * stated if known and stated is not None else None
        value = fill()
        self.room = outer
        inside = self.octets(start)
        self.bits = self.bits[:start]
        match kind.extent:
            case Prefix(integer=integer, includes=includes) as prefix:
                own = integer.bits // 8 if includes and isinstance(integer, Integer) else 0
                self.prefix(prefix, len(inside) + own)
            case Terminator(mark=mark):
                inside += mark
            case _ if stated != len(inside):
                inside = self.stretched(kind, inside, stated or 0, frame)
        self.write(inside)
        return value

    def stretched(self, kind: Sized, inside: bytes, stated: int, frame: Frame | None) -> bytes:
        """Return what is inside of a region with NULs up to its size, or find a size that fits."""
        if kind.stripped and stated >= len(inside):
            return inside + bytes(self.counted(stated - len(inside), 8))
        self.solve(kind.extent, len(inside), frame)
        raise _DeadEndError

    def solve(self, expression: Any, wanted: int, frame: Frame | None) -> None:
        """Raise _AgainError with a value of a field for which an expression is what it has to be."""
        if isinstance(expression, int) or frame is None:
            raise _DeadEndError
        for path in paths_in(expression):
            owner: Any = frame
            for _ in range(path.up):
                owner = owner.parent
            for value in range(_SOLVED):
                if evaluate(expression, _supposed(frame, path, value)) == wanted:
                    raise _AgainError(inner_path(owner.path, ".".join(path.names)), value)
        raise _DeadEndError

    def text(self, kind: nodes.Text, text: str, path: str, frame: Frame | None) -> str:
        if isinstance(kind.inner, Sized):
            octets = text.encode(kind.encoding)
            self.sized(kind.inner, path, frame, lambda: self.write(octets))
            return text
        unit = ENCODINGS[kind.encoding]
        if isinstance(kind.inner.length, Rest) and self.room is None:
            self.write(text.encode(kind.encoding))
            return text
        count, left = divmod(self.length(kind.inner.length, frame), unit)
        if left:
            raise _DeadEndError
        text = text[:count] + "a" * (count - len(text))
        self.write(text.encode(kind.encoding))
        return text


def _case(kind: nodes.Switch, frame: Frame) -> Type:
    key = frame.compute(kind.key)
    found = next((then for case, then in kind.cases if case == key), kind.default)
    if found is None:
        raise _DeadEndError
    return found


def _coded(kind: nodes.Opaque) -> list[bytes]:
    """Return what the code writes for the simplest values that it takes."""
    if kind.code is None:
        return []
    found = [opaque_bytes(kind, value) for value in _SIMPLE]
    return list(dict.fromkeys(octets for octets in found if octets is not None))


def _supposed(frame: Frame, path: Path, value: int) -> Callable[[Path | Length | Index], Any]:
    """Return what gives the values of a frame, but for one that is supposed to be another."""
    return lambda wanted: value if wanted == path else frame.value_of(wanted)


def _frame(frame: Frame | None) -> Frame:
    assert frame is not None, "an expression outside of a layout"
    return frame

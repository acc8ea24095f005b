"""Random values for a layout and their bytes, by an encoder that shares no code with the engines."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tests.strategies_wishes import gather
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
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Terminator,
    Text,
    Time,
    Until,
    VarInt,
    checksum_in,
    plain,
)
from wirelock.layout.operators import evaluate
from wirelock.layout.terms import Index, Length, Path


@dataclass
class Level:
    """The values of one record while it is drawn, and the number of the element that is drawn in it."""

    parent: Level | None
    values: dict[str, Any]
    index: int = 0

    def look(self, wanted: Path | Length | Index) -> Any:
        if isinstance(wanted, Index):
            return self.index
        path = wanted.path if isinstance(wanted, Length) else wanted
        found: Any = self
        for _ in range(path.up):
            found = found.parent
        found = found.values
        for name in path.names:
            found = found[name]
        return len(found) if isinstance(wanted, Length) else found

    def compute(self, expression: Any) -> int:
        return int(evaluate(expression, self.look))


def valid_bytes(layout: Layout) -> st.SearchStrategy[bytes]:
    """Return bytes that are a record of this layout, as far as its structure and members go."""
    return samples(layout).map(lambda sample: sample[0])


def samples(layout: Layout) -> st.SearchStrategy[tuple[bytes, dict[str, Any]]]:
    """Return the bytes of a random record, and its values: ints, floats, bytes, lists, dicts by label.

    What the layout's constructs ask holds; what `lowered` adds to them need not.
    """
    wishes: dict[int, set[int]] = {}
    gather(layout, (), wishes)

    @st.composite
    def sample(draw: Any) -> tuple[bytes, dict[str, Any]]:
        values, bits = Sampler(draw, wishes).value(layout, None)
        assert len(bits) % 8 == 0
        return bit_octets(bits), values

    return sample()


class Sampler:
    """Draws values and writes their bits as text. Each method returns (value, bits).

    `at` counts the bits drawn. `end` is where the region ends, None where its contents decide; `closed`
    says that an Optional was absent, so that no bytes may follow in the region.
    """

    def __init__(self, draw: Any, wishes: dict[int, set[int]]) -> None:
        self.draw = draw
        self.wishes = wishes
        self.at = 0
        self.end: int | None = None
        self.closed = False

    def value(self, kind: Any, here: Any, wishes: set[int] | None = None) -> tuple[Any, str]:
        start, closed = self.at, self.closed
        value, bits = self._value(kind, here, wishes)
        self.at = start + len(bits)
        assume(not (closed and bits) and (self.end is None or self.at <= self.end))
        return value, bits

    def record(self, layout: Layout, parent: Level | None) -> tuple[dict[str, Any], str]:
        start, closed = self.at, self.closed
        for _ in range(4):
            self.at, self.closed = start, closed
            here = Level(parent, {}, parent.index if parent else 0)
            found = self.fields(layout, here)
            # Those of Checks; the rules that `lowered` adds may be broken.
            rules = [rule for rule in layout.rules if not rule.name.startswith("said")]
            if all(here.compute(rule.expression) for rule in rules):
                return found
        assume(False)
        raise AssertionError

    def fields(self, layout: Layout, here: Level) -> tuple[dict[str, Any], str]:
        bits = {}
        for item in layout.fields:
            here.values[item.label], bits[item.label] = self.value(item.type, here, self.wishes.get(id(item)))
        for item in layout.fields:
            kind = plain(item.type)
            if item.derived is None or isinstance(kind, Computed):
                continue
            implied = here.compute(item.derived)
            assume(kind.lowest <= implied <= kind.highest)
            here.values[item.label], bits[item.label] = implied, integer_bits(kind, implied)
        for item in layout.fields:
            kind = checksum_in(item.type)
            if kind is not None and bits[item.label]:
                found = kind.code(bit_octets(bits[kind.covers]))
                here.values[item.label] = found
                of_bytes = isinstance(kind.type, Bytes)
                bits[item.label] = octet_bits(found) if of_bytes else integer_bits(kind.type, found)
        return here.values, "".join(bits.values())

    def _value(self, kind: Any, here: Level, wishes: set[int] | None) -> tuple[Any, str]:
        match kind:
            case Limited():
                return self.limited(kind, here, wishes)
            case Layout():
                return self.record(kind, here)
            case Integer() | VarInt():
                value = self.integer(kind, wishes)
                return value, integer_bits(kind, value)
            case Time(integer=integer):
                value = self.integer(integer, wishes)
                return value, integer_bits(integer, value)
            case Scaled(integer=integer):
                raw = self.integer(integer, {-1, 0, 1} if self.draw(st.booleans()) else None)
                return (raw * kind.multiply + kind.add) / kind.divide, integer_bits(integer, raw)
            case Enum(integer=integer, members=members) | Mapping(integer=integer, members=members):
                values = [value for _, value in members]
                value = self.draw(
                    st.sampled_from([value for value in values if value in (wishes or ())] or values)
                )
                return value, integer_bits(integer, value)
            case Flags(integer=integer, members=members):
                value = sum(mask for _, mask in members if self.draw(st.booleans()))
                return value, integer_bits(integer, value)
            case Flag(bits=width):
                value = self.draw(st.booleans())
                return value, f"{int(value):0{width}b}"
            case Float(bits=width, order=order):
                return self.real(width, order)
            case Constant(type=Integer() as integer, value=number):
                return number, integer_bits(integer, number)
            case Constant(value=octets):
                return octets, octet_bits(octets)
            case Bytes(length=length):
                size = self.size(length, here)
                plainly = st.sampled_from([b"\0" * size, b"a" * size])
                octets = self.draw(st.binary(min_size=size, max_size=size) | plainly)
                return octets, octet_bits(octets)
            case Text():
                return self.text(kind, here)
            case Padding(length=length, unit=unit, pattern=pattern):
                return None, f"{pattern:0{unit}b}" * self.size(length, here)
            case Padded(inner=inner, length=length, pattern=pattern):
                value, bits = self.value(inner, here, wishes)
                size = len(bits) // 8
                target = (
                    -(-size // length.of) * length.of
                    if isinstance(length, Multiple)
                    else (self.size(length, here))
                )
                assume(target >= size)
                return value, bits + octet_bits(bytes([pattern]) * (target - size))
            case Sized(inner=inner, extent=extent):
                return self.sized(kind, inner, extent, here, wishes)
            case Optional(inner=inner):
                there = self.draw(st.booleans()) if self.end is None else self.at < self.end
                if there and not self.closed:
                    return self.value(inner, here)
                self.closed = True
                return None, ""
            case Computed(expression=expression, boolean=boolean):
                value = here.compute(expression)
                return bool(value) if boolean else value, ""
            case Framed():
                pairs = {part: self.value(inner, here, wishes) for part, inner in kind.labelled("value")}
                return pairs["value"][0], "".join(bits for _, bits in pairs.values())
            case Sequence(types=types):
                pairs = [self.value(part, here) for part in types]
                return [value for value, _ in pairs], "".join(bits for _, bits in pairs)
            case Select(cases=cases):
                return self.value(self.draw(st.sampled_from([record for _, record in cases])), here)
            case Checksum(type=inner):  # what it is follows from bits that are not known yet
                width = inner.bits if isinstance(inner, Integer) else 8 * inner.length
                return None, "0" * width
            case Opaque(size=length, code=code):
                size = self.size(length, here)
                octets = self.draw(st.binary(min_size=size, max_size=size))
                return code.parse(octets), octet_bits(octets)
            case Terminated():
                self.closed = True
                return None, ""
            case Nothing():
                return None, ""
            case Array():
                return self.array(kind, here)
            case If(condition=condition, type=inner):
                return self.value(inner, here) if here.compute(condition) else (None, "")
            case Switch(key=key, cases=cases, default=default):
                chosen = dict(cases).get(evaluate(key, here.look), default)
                assume(chosen is not None)
                return self.value(chosen, here)
        raise TypeError(kind)

    def limited(self, kind: Limited, here: Level, wishes: set[int] | None) -> tuple[Any, str]:
        limits = {limit.kind: limit.value for limit in kind.limits}
        allowed: Any = limits.get("one_of", ())
        if isinstance(kind.inner, Text | Bytes) and allowed:
            value = self.draw(st.sampled_from(allowed))
            if isinstance(kind.inner, Text):
                return self.text(kind.inner, here, value)
            return value, octet_bits(value)
        if allowed:
            wishes = set(allowed) & (wishes or set()) or set(allowed)
        value, bits = self.value(kind.inner, here, wishes)
        assume(value not in limits.get("none_of", ()))  # type: ignore[operator]
        return value, bits

    def integer(self, kind: Integer | VarInt, wishes: set[int] | None) -> int:
        welcome = sorted(value for value in wishes or () if kind.lowest <= value <= kind.highest)
        if welcome:
            return self.draw(st.sampled_from(welcome))
        numbers = st.integers(kind.lowest, kind.highest)
        return self.draw(
            numbers | st.sampled_from([0, 127, 128, 16383]) if isinstance(kind, VarInt) else numbers
        )

    def left(self) -> int | None:
        """Return the bytes left in the region; None where nothing says how many they are."""
        if self.closed:
            return 0
        return None if self.end is None else (self.end - self.at) // 8

    def size(self, length: Any, here: Level) -> int:
        if isinstance(length, Rest):
            left = self.left()
            size = self.draw(st.integers(0, 4)) if left is None else left
        else:
            size = length if isinstance(length, int) else here.compute(length)
        assume(0 <= size < 64)
        return size

    # regions and text

    def sized(self, kind: Sized, inner: Any, extent: Any, here: Level, wishes: Any) -> tuple[Any, str]:
        if isinstance(extent, Terminator) or kind.stripped:
            most = 4 if isinstance(extent, Terminator) else self.size(extent, here)
            octets = self.draw(st.binary(max_size=most))
            if isinstance(extent, Terminator):
                octets = unmarked(octets, extent.mark)
            else:
                while octets.endswith(b"\0" * kind.stripped):
                    octets = octets[: -kind.stripped]
                if len(octets) % kind.stripped:
                    octets = octets[:-1]
                while octets.endswith(b"\0" * kind.stripped):
                    octets = octets[: -kind.stripped]
            return octets, self.enclosed(kind, octets, here)
        outer = self.end, self.closed
        size = None if isinstance(extent, Prefix) else self.size(extent, here)
        self.end, self.closed = None if size is None else self.at + 8 * size, False
        value, bits = self.value(inner, here, wishes)
        assume(size is None or len(bits) == 8 * size)
        self.end, self.closed = outer
        return value, self.prefix(extent, len(bits) // 8) + bits

    def prefix(self, extent: Any, size: int) -> str:
        if not isinstance(extent, Prefix):
            return ""
        stated = size + (extent.integer.bits // 8 if extent.includes else 0)  # type: ignore[union-attr]
        assume(stated <= extent.integer.highest)
        return integer_bits(extent.integer, stated)

    def enclosed(self, kind: Sized, octets: bytes, here: Level) -> str:
        """Return the bits of a region around bytes that are known."""
        match kind.extent:
            case Prefix():
                return self.prefix(kind.extent, len(octets)) + octet_bits(octets)
            case Terminator(mark=mark):
                return octet_bits(octets + mark)
            case extent:
                size = self.size(extent, here)
                assume(len(octets) == size or (kind.stripped and len(octets) < size))
                return octet_bits(octets.ljust(size, b"\0"))

    def text(self, kind: Text, here: Level, text: str | None = None) -> tuple[str, str]:
        inner, exact, most = kind.inner, None, 64
        if isinstance(inner, Bytes):
            exact = self.left() if isinstance(inner.length, Rest) else self.size(inner.length, here)
        elif not isinstance(inner.extent, Prefix | Terminator):
            most = self.size(inner.extent, here)
            exact = None if inner.stripped else most
        nul = not kind.closed and not (isinstance(inner, Sized) and isinstance(inner.extent, Terminator))
        if text is None:
            letters = st.characters(
                min_codepoint=0 if nul else 1,
                max_codepoint=127 if kind.encoding == "ascii" else None,
                exclude_categories=["Cs"],
                exclude_characters="\ufeff",
            )
            text = self.draw(st.text(letters, max_size=3))
            while len(text.encode(kind.encoding)) > (most if exact is None else exact):
                text = text[:-1]
            missing = 0 if exact is None else exact - len(text.encode(kind.encoding))
            text += "x" * (missing // len("x".encode(kind.encoding)))
        try:
            octets = text.encode(kind.encoding)
        except UnicodeEncodeError:
            assume(False)
        assume(exact is None or len(octets) == exact)
        if isinstance(inner, Sized):
            return text, self.enclosed(inner, octets, here)
        return text, octet_bits(octets)

    # arrays

    def array(self, kind: Array, here: Level) -> tuple[list[Any], str]:
        outer = here.index
        try:
            match kind.count:
                case Prefix(integer=integer):
                    count = self.draw(st.integers(0, min(3, integer.highest)))
                    values, bits = self.elements(kind.element, count, here)
                    return values, integer_bits(integer, count) + bits
                case Rest():
                    return self.greedy(kind.element, here)
                case Until(condition=condition):
                    return self.until(kind.element, condition, here)
                case count:
                    return self.elements(kind.element, self.size(count, here), here)
        finally:
            here.index = outer

    def elements(self, element: Any, count: int, here: Level) -> tuple[list[Any], str]:
        pairs = []
        for here.index in range(count):
            pairs.append(self.value(element, here))
        return [value for value, _ in pairs], "".join(bits for _, bits in pairs)

    def greedy(self, element: Any, here: Level) -> tuple[list[Any], str]:
        left = self.left()
        if left is None:
            return self.elements(element, self.draw(st.integers(0, 3)), here)
        values, written = [], ""
        while left := self.left():
            here.index = len(values)
            value, bits = self.value(element, here)
            values.append(value)
            written += bits
        return values, written

    def until(self, element: Any, condition: Any, here: Level) -> tuple[list[Any], str]:
        values: list[Any] = []
        written = ""
        for here.index in range(12):
            wishes = set(range(7)) if len(values) > 1 or self.draw(st.booleans()) else None
            value, bits = self.value(element, here, wishes)
            values.append(value)
            written += bits
            if Level(here, {"obj_": value}, here.index).compute(condition):
                return values, written
        assume(False)
        raise AssertionError

    def real(self, width: int, order: str) -> tuple[float, str]:
        letter = {16: "e", 32: "f", 64: "d"}[width]
        if self.draw(st.integers(0, 4)):
            value = self.draw(st.floats(width=width, allow_nan=False))
            octets = struct.pack(">" + letter, value)
        else:
            # A quiet NaN: all exponent bits and the first fraction bit. A double holds the same payload.
            exponent = {16: 5, 32: 8, 64: 11}[width]
            payload = width - 2 - exponent
            sign, rest = self.draw(st.booleans()), self.draw(st.integers(0, (1 << payload) - 1))
            quiet = ((1 << (exponent + 1)) - 1) << payload
            octets = (sign << (width - 1) | quiet | rest).to_bytes(width // 8, "big")
            wide = sign << 63 | 0xFFF << 51 | rest << (51 - payload)
            value = struct.unpack(">d", wide.to_bytes(8, "big"))[0]
        return value, octet_bits(octets if order == "big" else octets[::-1])


def unmarked(octets: bytes, mark: bytes) -> bytes:
    """Return bytes near these in whole steps of the mark's length, none of which is the mark."""
    step = len(mark)
    parts = [octets[at : at + step] for at in range(0, len(octets) - step + 1, step)]
    return b"".join(part if part != mark else bytes([part[0] ^ 1]) + part[1:] for part in parts)


def bit_octets(bits: str) -> bytes:
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


def octet_bits(octets: bytes) -> str:
    """Return bytes as the text of their bits."""
    return "".join(f"{octet:08b}" for octet in octets)


def integer_bits(kind: Integer | VarInt, value: int) -> str:
    """Return an integer as the text of its bits on the wire."""
    if isinstance(kind, VarInt):
        if kind.zigzag:
            value = 2 * value if value >= 0 else -2 * value - 1
        groups = [value >> shift & 0x7F for shift in range(0, max(1, value.bit_length()), 7)]
        return octet_bits(bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]]))
    bits = f"{value % (1 << kind.bits):0{kind.bits}b}"
    if kind.order == "big":
        return bits
    return "".join(bits[i : i + 8] for i in range(kind.bits - 8, -8, -8))

"""Random constructs of single kinds: scalars, text, sized regions, padding, and what ends a region."""

from __future__ import annotations

import operator
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import construct
from construct import obj_, this
from hypothesis import strategies as st

from wirelock import checksums
from wirelock.layout.adapters import opaque, quantised, scaled, ticks

MEMBERS = ["RED", "GREEN", "blue", "items", "x", "count"]
ENCODINGS = {"ascii": 1, "utf8": 1, "utf-16-le": 2, "utf_16_be": 2, "utf_32_le": 4, "utf_32_be": 4}
DEPTH = 3


@dataclass(frozen=True)
class Seen:
    """A field that an expression can name, from the context that holds it."""

    names: tuple[str, ...]
    kind: str
    low: int = 0
    high: int = 1
    members: dict[Any, int] | None = None
    source: Any = None


@dataclass
class Context:
    """One of construct's contexts; `own` is False for the one that a PrefixedArray makes for itself."""

    seen: list[Seen] = field(default_factory=list)
    own: bool = True


SIZED = [Seen((), "sized")]


def integer_seen(bits: int, signed: bool) -> Seen:
    return Seen((), "int", -(1 << (bits - 1)) if signed else 0, (1 << (bits - signed)) - 1)


class Kinds:
    """Draws constructs of single kinds, each with what expressions can see of it; see Maker."""

    struct: Any
    value: Any
    hidden: Any
    element: Any
    integer: Any
    bits_integer: Any
    float: Any
    named: Any
    visible: Any
    usable: Any
    usable_path: Any
    condition: Any
    count: Any

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.taken: set[int] = set()

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    # scalars

    def varint(self) -> Any:
        if self.pick(True, False):
            return construct.VarInt, [Seen((), "int", 0, (1 << 64) - 1)]
        return construct.ZigZag, [Seen((), "int", -(1 << 63), (1 << 63) - 1)]

    def prefix(self, *, fixed: bool = False) -> Any:
        return self.pick(
            construct.Byte,
            construct.Int16ul,
            self.integer()[0],
            construct.Byte if fixed else construct.VarInt,
            construct.Byte if fixed else construct.ZigZag,
        )

    def mapping(self, bits: bool) -> Any:
        part, (seen,) = self.bits_integer() if bits else self.integer()
        keys = self.pick(["a", "b", "c"], [5, -1, 1 << 70])[: self.number(1, 3)]
        near = st.integers(max(seen.low, -2), min(seen.high, 5))
        size = min(len(keys), seen.high - seen.low + 1)
        drawn = st.lists(st.integers(seen.low, seen.high) | near, min_size=size, max_size=size, unique=True)
        members = dict(zip(keys, self.draw(drawn), strict=False))
        return construct.Mapping(part, members), [Seen((), "mapping", members=members)]

    def scaled(self, bits: bool) -> Any:
        if bits:
            signed = self.pick(True, False)
            part = construct.BitsInteger(self.number(1, 25), signed=signed)
        else:
            part = self.pick(
                construct.Int8ub, construct.Int16sl, construct.Int24ub, construct.Int32ul, construct.Int32sb
            )
            signed = part in (construct.Int16sl, construct.Int32sb)
        if not signed and self.pick(True, False):
            made = quantised(part, *self.pick((-1, 1), ("0.1", "0.3"), (0, 360)))
        else:
            step, offset = self.pick("0.001", "1/256", 3, "0.1", "1/3"), self.pick(0, -40, "0.5", "1/7")
            rounding = self.pick("half-even", "half-away", "floor")
            made = scaled(part, step=step, offset=offset, unit=self.pick("", "m"), rounding=rounding)
        return made, [Seen((), "float")]

    def ticks(self, bits: bool) -> Any:
        part, seen = self.bits_integer() if bits else self.integer()
        return ticks(part, unit=self.pick("ns", "ms"), epoch=self.pick("", "unix")), seen

    def swapped(self) -> Any:
        part, seen = self.pick(
            (construct.Int24ub, [integer_seen(24, False)]),
            (construct.Int32sl, [integer_seen(32, True)]),
            (construct.Int8sb, [integer_seen(8, True)]),
            (construct.Float32b, [Seen((), "float")]),
            (construct.Float64l, [Seen((), "float")]),
            (construct.Enum(construct.Int16ub, RED=1, blue=300), []),
            (construct.FlagsEnum(construct.Int16ul, RED=1, blue=256), []),
        )
        return construct.ByteSwapped(part), seen

    def dressed(self) -> Any:
        """Return an integer or bytes with a default, or printed otherwise."""
        part, seen = self.integer()
        form = self.pick("default", "hex", "dump", "both")
        if form == "dump":
            return construct.HexDump(construct.Bytes(self.number(0, 3))), SIZED
        part = part if form == "default" else construct.Hex(part)
        return part if form == "hex" else construct.Default(part, self.number(0, seen[0].high)), seen

    def limited(self, bits: bool, fixed: bool = False) -> Any:
        maker = self.pick(construct.OneOf, construct.NoneOf)
        form = self.pick(
            "integer",
            "integer",
            "enum",
            *["octets", "ticks"] * (not bits),
            *["text"] * (not bits and not fixed),
        )
        if form == "octets":
            return maker(construct.Bytes(2), [b"ab", b"\0\0"]), SIZED
        if form == "text":
            return maker(construct.CString("utf8"), ["", "a", "é"][: self.number(1, 3)]), []
        part, (seen,) = (
            self.named("enum", bits) if form == "enum" else self.bits_integer() if bits else (self.integer())
        )
        if form == "enum":
            names = [self.pick(name, value) for name, value in seen.members.items()]
            if maker is construct.NoneOf and len(set(seen.members.values())) > 1:
                return maker(part, names[:1]), []
            return construct.OneOf(part, names), []
        near = st.integers(max(seen.low, -2), min(seen.high, 5))
        values = self.draw(st.lists(near | st.integers(seen.low, seen.high), min_size=1, max_size=3))
        if maker is construct.NoneOf and seen.high - seen.low < 8:
            maker = construct.OneOf
        part = ticks(part, unit="ms") if form == "ticks" else part
        # Visible to conditions only: a Switch over it could ask for values that it never has.
        return maker(part, values), [Seen((), "constant", seen.low, seen.high)]

    def late(self, part: Any) -> Any:
        """Return a construct as it is, or as what stands for it."""
        match self.pick("as it is", "as it is", "bound", "compiled"):
            case "bound":
                return construct.LazyBound(lambda: part)
            case "compiled":
                compiled = construct.Compiled(None, None)
                compiled.defersubcon = part
                return compiled
        return part

    # code

    def checksum(self, name: str) -> Any:
        """Return a Checksum of the RawCopy with that name."""
        field, function = self.pick(
            (construct.Int32ub, zlib.crc32),
            (construct.Int16ul, checksums.crc16_modbus),
            (construct.Byte, checksums.xor8),
            (construct.Bytes(16), checksums.md5),
        )
        return construct.Checksum(field, function, self.pick(this[name].data, lambda ctx: ctx[name]["data"]))

    def opaque(self, fixed: bool) -> Any:
        turned = construct.ExprSymmetricAdapter(
            construct.Bytes(self.number(0, 3)) if fixed else construct.GreedyBytes,
            lambda octets, _: octets[::-1],
        )
        part = opaque("turned", 1, turned)
        return part if fixed else self.pick(
            construct.Prefixed(construct.Byte, part), construct.FixedSized(self.number(0, 3), part)
        ), []

    def sequence(self, contexts: list[Context], depth: int) -> Any:
        inside = [Context(own=False), *contexts]
        parts = [self.element(inside, depth + 1, counted=False) for _ in range(self.number(1, 3))]
        return construct.Sequence(*parts), []

    def framed(self, contexts: list[Context], depth: int) -> Any:
        """Return a value between constants and padding."""
        inside = [Context(own=False), *contexts]
        part, seen = self.value(inside, depth + 1)
        sides = [[self.hidden(inside, False, False) for _ in range(self.number(0, 2))] for _ in range(2)]
        return construct.FocusedSeq("focus", *sides[0], "focus" / part, *sides[1]), seen

    def select(self, contexts: list[Context], depth: int) -> Any:
        """Return a Select of records of which each begins with bytes of its own."""
        starts = self.pick([b"A", b"B"], [b"\0\1", b"\0\2", b"\1"])
        records = [
            self.struct(contexts, depth + 1, 2, first=(("lead", (construct.Const(start), [])),))[0]
            for start in starts
        ]
        return construct.Select(*records), []

    # what takes no bytes

    def index(self) -> Any:
        if self.pick(True, False):
            return construct.Index, []
        return construct.Computed(this._index % 3), [Seen((), "int", 0, 2)]

    def computed(self, contexts: list[Context]) -> Any:
        forms = ["number", "truth"]
        if self.usable(contexts):
            forms += ["mask", "modulo", "more", "itself"]
        match self.pick(*forms):
            case "truth" if (condition := self.condition(contexts)) is not None:
                return construct.Computed(condition), [Seen((), "flag")]
            case "number" | "truth":
                value = self.pick(True, 0, 1, -7, 1 << 40)
                return construct.Computed(value), [Seen((), "constant", int(value), int(value))]
            case form:
                x, seen = self.pick(*self.usable(contexts))
        if form == "mask":
            high = min(3, seen.high) if seen.low >= 0 else 3
            return construct.Computed(x & 3), [Seen((), "int", 0, high)]
        if form == "modulo":
            return construct.Computed(x % 5), [Seen((), "int", 0, 4)]
        if form == "more":
            return construct.Computed(x + 1), [Seen((), "int", seen.low + 1, seen.high + 1)]
        found = self.visible(contexts, "enum", "flags", "int", "flag")
        x, seen = self.pick(*[item for item in found if item[1].high < 1 << 63])
        return construct.Computed(x), []

    # text, regions and padding

    def encoding(self) -> str:
        return self.pick("ascii", "utf8", *ENCODINGS)

    def text(self, contexts: list[Context], depth: int) -> Any:
        encoding = self.encoding()
        unit = ENCODINGS[encoding]
        size: Any = unit * self.number(0, 4)
        match self.pick("c", "pascal", "padded", "bytes", "fixed"):
            case "c":
                return construct.CString(encoding), [Seen((), "words")]
            case "pascal":
                return construct.PascalString(self.prefix(), encoding), []
            case "padded":
                if unit == 1 and self.pick(True, False):
                    size = self.count(contexts)
                return construct.PaddedString(size, encoding), []
            case "bytes":
                return construct.StringEncoded(construct.Bytes(size), encoding), []
        return construct.FixedSized(size, construct.GreedyString(encoding)), []

    def marked(self, contexts: list[Context], depth: int) -> Any:
        term = self.pick(b"\0", b"\0\0", b"ab", b"\r\n", b"\xff", b"\1\0\1")
        return construct.NullTerminated(construct.GreedyBytes, term=term), SIZED

    def sized(self, contexts: list[Context], depth: int) -> Any:
        match self.pick("prefixed", "prefixed", "fixed", "counted", "stripped"):
            case "prefixed":
                return self.prefixed(contexts, depth)
            case "fixed":
                size, part, seen = self.filler(contexts, depth)
                return construct.FixedSized(size, part), seen
            case "counted":
                part, seen = self.pick(
                    (construct.GreedyBytes, SIZED),
                    (construct.GreedyRange(construct.Byte), SIZED),
                    (construct.GreedyString("utf8"), []),
                    (construct.Struct("first" / construct.Byte, "rest" / construct.GreedyBytes), []),
                    (
                        construct.Struct(
                            "x" / construct.Optional(construct.Int8sb), "y" / construct.GreedyBytes
                        ),
                        [],
                    ),
                )
                return construct.FixedSized(self.count(contexts), part), seen
        pad = self.pick(b"\0", b"\0\0")
        size: Any = len(pad) * self.number(0, 4)
        if pad == b"\0" and self.pick(True, False):
            size = self.count(contexts)
        return construct.FixedSized(size, construct.NullStripped(construct.GreedyBytes, pad=pad)), SIZED

    def prefixed(self, contexts: list[Context], depth: int, *, none: bool = True) -> Any:
        """Return a region with its size in front; without `none` its value is never None."""
        match self.pick("struct", *["value", "ending"] * none):
            case "struct":
                part, seen = self.struct(contexts, depth + 1, tail=True)
            case "value":
                part, seen = self.value(contexts, depth + 1)
            case _:
                part, seen = self.ending(contexts, depth + 1)
        includes = self.pick(False, False, True)
        return construct.Prefixed(self.prefix(fixed=includes), part, includelength=includes), seen

    def filler(self, contexts: list[Context], depth: int) -> Any:
        """Return a size, and what can fill so many bytes."""
        byte, size = construct.Byte, self.number(0, 4)
        match self.pick("bytes", "range", "wide", "first", "optional", "text", "fixed"):
            case "bytes":
                return size, construct.GreedyBytes, SIZED
            case "range":
                return size, construct.GreedyRange(self.pick(byte, construct.Flag, construct.Int8sb)), SIZED
            case "wide":
                return 2 * size, construct.GreedyRange(construct.Int16sl), SIZED
            case "first":
                part = construct.Struct("first" / byte, "rest" / construct.GreedyBytes)
                return size + 1, part, [Seen(("first",), "int", 0, 255), Seen(("rest",), "sized")]
            case "optional":
                optional = construct.Optional(construct.Int16ub)
                part = construct.Struct("first" / byte, "x" / optional, "y" / construct.Optional(byte))
                return self.pick(1, 3, 4), part, [Seen(("first",), "int", 0, 255)]
            case "text":
                return size, construct.GreedyString(self.pick("ascii", "utf8")), []
        part, seen = self.value(contexts, depth + 1, fixed=True)
        return part.sizeof(_index=0), part, seen

    def padded(self, contexts: list[Context], depth: int) -> Any:
        pattern = self.pick(b"\0", b"\0", b"\xa5")
        if self.pick(True, False):
            part, seen = self.value(contexts, depth + 1, fixed=True)
            size: Any = part.sizeof(_index=0)
            if size == 0 or self.pick(True, False):
                return construct.Padded(size + self.number(1, 3), part, pattern=pattern), seen
        else:
            part, seen = self.pick(
                (construct.PrefixedArray(construct.Byte, construct.Int16ub), SIZED),
                (construct.Prefixed(construct.VarInt, construct.GreedyBytes), SIZED),
                (construct.CString("utf8"), []),
                (
                    construct.Struct("a" / construct.Byte, "b" / construct.VarInt),
                    [Seen(("a",), "int", 0, 255)],
                ),
            )
            size = self.number(2, 9)
            if self.usable(contexts) and self.pick(True, False):
                part, seen = self.pick((part, seen), (construct.Byte, [integer_seen(8, False)]))
                size = max(1, size) if self.number(0, 3) == 0 else self.usable_path(contexts) + 1
        if self.pick(True, False):
            return construct.Aligned(self.number(2, 5), construct.Struct("v" / part), pattern=pattern), []
        return construct.Padded(size, part, pattern=pattern), seen

    # arrays and choices

    def until(self, contexts: list[Context], depth: int) -> Any:
        compare = self.pick(operator.eq, operator.gt, operator.ge, operator.ne)
        match self.pick("integer", "integer", "varint", "struct", "flags", "enum", "flag", "lambda"):
            case "integer" | "varint" as kind:
                part, (seen,) = getattr(self, kind)()
                last: Any = compare(obj_, self.number(0, min(5, seen.high - 1)))
            case "struct":
                first = ("first", (construct.Int16sb, [integer_seen(16, True)]))
                part, _ = self.struct(contexts, depth + 1, 2, first=(first,))
                last = self.pick(compare(obj_.first, self.number(0, 5)), (obj_.first & 1) == 0)
            case "flags":
                part, (seen,) = self.named("flags", False)
                last = obj_[self.pick(*seen.members)]
            case "enum":
                part, (seen,) = self.named("enum", False)
                name, value = self.pick(*seen.members.items())
                last = obj_ == self.pick(name, value, getattr(seen.source, name))
            case "flag":
                part, last = construct.Flag, obj_ == False  # noqa: E712 - an expression
            case _:
                part, text = construct.Int16sl, "x > 2"
                if self.usable(contexts):
                    text = f"x == ctx{repr(self.usable_path(contexts))[4:]} or x > 4"
                last = eval(f"lambda x, lst, ctx: {text}")  # the names are random
        return construct.RepeatUntil(last, part), SIZED

    def either(self, contexts: list[Context], depth: int) -> Any:
        if (condition := self.condition(contexts)) is None:
            return self.integer()
        if self.number(0, 2) == 0:
            (then, (first,)), (other, (second,)) = self.integer(), self.integer()
            seen = Seen((), "int", min(first.low, second.low), max(first.high, second.high))
            narrow = seen.low >= -(1 << 63) and seen.high < 1 << 63
            return construct.IfThenElse(condition, then, other), [seen] * narrow
        then, other = (self.value(contexts, depth + 1)[0] for _ in range(2))
        if self.number(0, 3) == 0:
            then, other = self.pick((construct.Pass, other), (then, construct.Pass))
        return construct.IfThenElse(condition, then, other), []

    # the ends of regions

    def ends(self, contexts: list[Context], depth: int, names: Iterator[str]) -> Iterator[tuple[Any, Any]]:
        """Yield the last fields of a region, by name: optional ones, then a greedy one, then its end."""
        optional = self.pick(0, 0, 1, 2)
        for _ in range(optional):
            yield next(names), (construct.Optional(self.element(contexts, depth + 1, counted=False)), [])
        if self.pick(True, False):
            yield next(names), self.ending(contexts, depth, nested=not optional)
        if self.number(0, 3) == 0:
            yield self.pick(None, next(names)), (construct.Terminated, [])
        if self.number(0, 3) == 0:
            yield next(names), self.computed(contexts)

    def ending(self, contexts: list[Context], depth: int, *, nested: bool = True) -> Any:
        """Return what takes all that is left; one that may need bytes only with `nested`."""
        forms = ["bytes", "range", "text", "optional", "choice"]
        match self.pick(*forms, *["struct"] * (nested and depth < DEPTH)):
            case "struct":
                return self.struct(contexts, depth + 1, 2, tail=True)
            case "range":
                return construct.GreedyRange(self.element(contexts, depth + 1)), SIZED
            case "text":
                return construct.GreedyString(self.encoding()), []
            case "optional":
                part, _ = self.struct(contexts, depth + 1, 1, tail=True, first=(("first", self.integer()),))
                return construct.Optional(part), []
            case "choice" if (condition := self.condition(contexts)) is not None:
                then, other = (self.ending(contexts, depth + 1, nested=nested)[0] for _ in range(2))
                other = self.pick(other, construct.Pass)
                return construct.IfThenElse(condition, then, other), []
        return construct.GreedyBytes, SIZED

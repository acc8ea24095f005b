"""Random construct Structs, always ones that walk takes: records, choices, counts and expressions."""

from __future__ import annotations

import enum
import operator
import struct
from dataclasses import replace
from typing import Any

import construct
from construct import len_, this
from hypothesis import assume
from hypothesis import strategies as st

from tests.strategies_kinds import DEPTH, MEMBERS, Context, Kinds, Seen, integer_seen
from wirelock.errors import SchemaError
from wirelock.layout.expression import abs_, max_, min_
from wirelock.layout.walk import walk

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
NAMES = [
    "a", "b", "c", "count", "items", "keys", "n", "x", "frame", "kind", "values", "get",
    "p", "q", "rest", "body", "size", "data", "end",
]  # fmt: skip


@st.composite
def layouts(draw: Any, *, fields: int = 5, tail: bool = True) -> construct.Construct:
    """Return a random construct Struct that walk takes; without `tail` none depends on where bytes end."""
    source = Maker(draw).struct([], 0, fields, tail=tail)[0]
    try:
        walk(source)
    except SchemaError as error:  # of a case that the key's interval leaves out
        assume("can never be the key" not in error.problem)
        raise
    return source


class Maker(Kinds):
    """Draws constructs. `contexts` are the enclosing ones, innermost first.

    A method for a kind returns (construct, what expressions can see of it). `fixed` asks for a kind of
    fixed size, as a bit region needs.
    """

    # structs

    def struct(
        self,
        contexts: list[Context],
        depth: int,
        most: int = 3,
        *,
        bits: bool = False,
        fixed: bool = False,
        tail: bool = False,
        first: tuple[tuple[str, Any], ...] = (),
    ) -> Any:
        """Return a Struct that starts with the fields of `first`; with `tail` it may end with greedy ones."""
        here = Context()
        parts: list[Any] = []
        rebuilds: list[tuple[int, str | None, int]] = []
        names = iter(self.draw(st.permutations(NAMES)))

        def add(name: str | None, made: Any) -> None:
            part, seen = made
            parts.append(part if name is None else name / part)
            here.seen += [replace(item, names=(name, *item.names)) for item in seen if name]

        for name, made in first:
            add(name, made)
        for _ in range(self.number(1, most)):
            forms = ["value"] * 5 + ["hidden", "rebuild", "counted", "computed"]
            more = ["check"] * bool(here.seen) + ["summed"] * (not bits and not fixed)
            form = self.pick(*forms, *more)
            if form == "hidden":
                name = self.pick(None, None, "_" + next(names))
                parts.append(construct.Renamed(self.hidden([here, *contexts], bits, fixed), newname=name))
            elif form == "rebuild":
                name = self.pick(next(names), "_" + next(names), None)
                rebuilds.append((len(parts), name, len(here.seen)))
                parts.append(None)
            elif form == "counted" and not bits and not fixed:
                parts += self.counted(here, contexts, depth, next(names), next(names))
            elif form == "summed":
                name = next(names)
                part, seen = self.value([here, *contexts], depth)
                add(
                    name,
                    (construct.RawCopy(part), [replace(item, names=("value", *item.names)) for item in seen]),
                )
                sums = self.checksum(name)
                if self.pick(True, False) or (condition := self.condition([here])) is None:
                    add(self.pick("", "_") + next(names), (sums, []))
                else:
                    add(next(names), (construct.If(condition, sums), []))
            elif form == "computed":
                add(self.pick(next(names), "_" + next(names), None), self.computed([here, *contexts]))
            elif form == "check":
                if (condition := self.condition([here])) is not None:
                    parts.append(construct.Check(condition))
            else:
                add(next(names), self.value([here, *contexts], depth, bits=bits, fixed=fixed))
        for name, made in self.ends([here, *contexts], depth, names) if tail else ():
            add(name, made)
        for at, name, before in rebuilds:
            seen = here.seen
            if name is None or name.startswith("_"):
                # It may follow from a hidden field, but not from one inside a later record.
                seen = [
                    item
                    for number, item in enumerate(seen)
                    if number < before or not any(part.startswith("_") for part in item.names[1:])
                ]
            part = construct.Rebuild(self.roomy(bits), self.implied([Context(seen), *contexts]))
            parts[at] = part if name is None else name / part
        if bits and (width := construct.Struct(*parts).sizeof() % 8):
            parts.append(construct.Padding(8 - width))
        return construct.Struct(*parts), here.seen

    def roomy(self, bits: bool) -> Any:
        if bits:
            return construct.BitsInteger(self.number(20, 33), signed=self.pick(True, False))
        return self.pick(construct.Int16ub, construct.Int32sl, construct.Int24ub, construct.Int64sb)

    def hidden(self, contexts: list[Context], bits: bool, fixed: bool) -> Any:
        form = self.pick("padding", "padding", "constant", "pass", *["choice"] * (not bits and not fixed))
        if form == "choice" and (condition := self.condition(contexts)) is not None:
            then, other = (self.hidden(contexts, bits, fixed) for _ in range(2))
            return self.pick(construct.If(condition, then), construct.IfThenElse(condition, then, other))
        if form == "pass":
            return construct.Pass
        if form == "constant":
            return self.constant(contexts, bits=bits)[0]
        return self.padding(contexts, bits=bits, fixed=fixed)[0]

    def counted(self, here: Context, contexts: list[Context], depth: int, name: str, of: str) -> list[Any]:
        """Return a count and what it counts, elsewhere in the same struct."""
        counter = self.pick("", "_") + name
        integer, seen = self.integer()
        if seen[0].high >= 1 << 63:
            integer, seen = construct.Int64sl, [integer_seen(64, True)]
        rebuilt = construct.Rebuild(integer, len_(this[of])) if self.pick(True, False) else integer
        here.seen += [replace(item, names=(counter,)) for item in seen]
        if self.pick(True, False):
            part = construct.Bytes(this[counter])
        else:
            part = construct.Array(this[counter], self.element([here, *contexts], depth))
        here.seen.append(Seen((of,), "sized"))
        return [counter / rebuilt, of / part]

    # values

    def value(self, contexts: list[Context], depth: int, *, bits: bool = False, fixed: bool = False) -> Any:
        depths = depth < DEPTH
        kinds = ["enum", "flags", "flag", "constant", "mapping", "scaled", "limited", "ticks"]
        if bits:
            kinds += ["bits", "bits", "bits", "padding", "bytewise"]
            kinds += ["struct", "fixed_array"] * depths
        else:
            kinds += ["integer", "integer", "float", "octets", "region", "swapped", "dressed"]
            kinds += ["struct", "fixed_array", "bit_struct"] * depths
        if not bits and not fixed:
            kinds += ["octets", "padding", "varint", "text", "text", "marked", "opaque"]
            kinds += ["sequence", "select", "framed", "framed"] * depths
            kinds += ["if_", "switch", "either"] * (3 if any(context.seen for context in contexts) else 0)
            kinds += ["array", "prefixed", "until", "sized", "sized", "padded"] * depths
        match self.pick(*kinds):
            case "struct":
                part, seen = self.struct(contexts, depth + 1, bits=bits, fixed=fixed)
                return part if bits or fixed else self.late(part), seen
            case "limited":
                return self.limited(bits, fixed)
            case "mapping" | "scaled" | "ticks" as kind:
                return getattr(self, kind)(bits)
            case "opaque":
                return self.opaque(fixed)
            case "text" | "marked" | "until" | "sized" | "padded" | "either" as kind:
                return getattr(self, kind)(contexts, depth)
            case "sequence" | "select" | "framed" as kind:
                return getattr(self, kind)(contexts, depth)
            case "bits":
                return self.bits_integer()
            case "bytewise":
                part, seen = self.value(contexts, depth + 1, fixed=True)
                return construct.Bytewise(part), seen
            case "bit_struct":
                part, seen = self.struct(contexts, depth + 1, 4, bits=True)
                return construct.Bitwise(part), seen
            case "enum" | "flags" as kind:
                return self.named(kind, bits)
            case "flag":
                flag = construct.Flag if bits else self.pick(construct.Flag, construct.FormatField(">", "?"))
                return flag, [Seen((), "flag")]
            case "constant":
                return self.constant(contexts, bits=bits)
            case "padding":
                return self.padding(contexts, bits=bits, fixed=fixed)
            case "octets":
                length = self.number(0, 4) if fixed or self.pick(True, False) else self.count(contexts)
                seen = [Seen((), "sized"), *[Seen((), "octets", high=length)] * isinstance(length, int)]
                return construct.Bytes(length), seen
            case "fixed_array":
                part = self.value(contexts, depth + 1, bits=bits, fixed=fixed)[0]
                return construct.Array(self.number(0, 3), part), [Seen((), "sized")]
            case "array":
                return construct.Array(self.count(contexts), self.element(contexts, depth)), [
                    Seen((), "sized")
                ]
            case "prefixed":
                element = self.element([Context(own=False), *contexts], depth)
                return construct.PrefixedArray(self.prefix(), element), [Seen((), "sized")]
            case kind:
                return getattr(self, kind)(*([contexts, depth] if kind in ("if_", "switch") else []))

    def element(self, contexts: list[Context], depth: int, *, counted: bool = True) -> Any:
        """Return an element that takes at least one byte."""
        form = self.pick(
            "integer", "integer", "float", "flag", "named", "octets", "struct", "struct", "region", "chosen",
            "varint", "marked", "prefixed", "padded", "mapping", "scaled", "limited", "until",
        )  # fmt: skip
        match form:
            case "struct" if depth < DEPTH:
                first: list[tuple[str, Any]] = [("first", self.integer())]
                if counted and self.pick(True, False):
                    first.append(("i", self.index()))
                return self.struct(contexts, depth + 1, first=tuple(first))[0]
            case "prefixed" if depth < DEPTH:
                return self.prefixed(contexts, depth + 1, none=counted)[0]
            case "padded" | "until" as kind if depth < DEPTH:
                return getattr(self, kind)(contexts, depth + 1)[0]
            case "marked":
                return self.marked(contexts, depth)[0]
            case "mapping" | "scaled" | "limited" as kind:
                return getattr(self, kind)(False)[0]
            case "chosen" if self.usable(contexts):
                return construct.Switch(
                    (self.usable_path(contexts) > 1), {0: self.integer()[0], 1: construct.Bytes(2)}
                )
            case "flag":
                return construct.Flag
            case "named":
                return self.named(self.pick("enum", "flags"), False)[0]
            case "octets":
                return construct.Bytes(self.number(1, 3))
            case "region" | "float" | "varint":
                return getattr(self, form)()[0]
        return self.integer()[0]

    def integer(self) -> Any:
        form = self.pick("format", "format", "bytes", "bitwise")
        if form == "format":
            letter = self.pick(*"bBhHlLqQ")
            bits, signed = struct.calcsize(">" + letter) * 8, letter.islower()
            part = construct.FormatField(self.pick("<", ">"), letter)
        else:
            octets, signed = self.number(1, 9), self.pick(True, False)
            bits, swapped = 8 * octets, self.pick(True, False)
            part = construct.BytesInteger(octets, signed=signed, swapped=swapped)
            if form == "bitwise":
                part = construct.Bitwise(construct.BitsInteger(bits, signed=signed, swapped=swapped))
        return part, [integer_seen(bits, signed)]

    def bits_integer(self) -> Any:
        width, signed = self.number(1, 25), self.pick(True, False)
        swapped = width % 8 == 0 and self.pick(True, False)
        part = construct.BitsInteger(width, signed=signed, swapped=swapped)
        return part, [integer_seen(width, signed)]

    def float(self) -> Any:
        return construct.FormatField(self.pick("<", ">"), self.pick(*"efd")), [Seen((), "float")]

    def region(self) -> Any:
        part, _ = self.pick(
            self.bits_integer, lambda: self.named("flags", True), lambda: (construct.Flag, [])
        )()
        return construct.Bitwise(construct.Array(8 * self.number(1, 2), part)), [Seen((), "sized")]

    def named(self, kind: str, bits: bool) -> Any:
        """Return an Enum or FlagsEnum, from a Python class or from keywords."""
        part, (seen,) = self.bits_integer() if bits else self.integer()
        names = self.draw(st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=4, unique=True))
        if kind == "flags":
            while seen.high < 1:
                part, (seen,) = self.bits_integer() if bits else self.integer()
            shifts = self.draw(st.permutations(range(seen.high.bit_length())))
            members = {name: 1 << shift for name, shift in zip(names, shifts, strict=False)}
            python: Any = enum.IntFlag
            seen = replace(seen, low=0, high=seen.high - seen.low)
        else:
            values = st.integers(seen.low, seen.high) | st.integers(max(seen.low, -2), min(seen.high, 5))
            members = {name: self.draw(values) for name in names}
            python = enum.IntEnum
        maker = construct.FlagsEnum if kind == "flags" else construct.Enum
        if self.pick(True, False):
            part = maker(part, python("Named", members))
            members = dict(part.flags) if kind == "flags" else {str(k): v for k, v in part.encmapping.items()}
        else:
            part = maker(part, **members)
        return part, [Seen((), kind, seen.low, seen.high, members, part)]

    def constant(self, contexts: list[Context], *, bits: bool = False) -> Any:
        form = self.pick("integer", "integer", "enum", "bytes")
        if form == "bytes" and not bits:
            return construct.Const(self.draw(st.binary(min_size=1, max_size=3))), [Seen((), "sized")]
        if form == "enum":
            part, (seen,) = self.named("enum", bits)
            name, value = self.pick(*seen.members.items())
            return construct.Const(self.pick(name, value, getattr(part, name)), part), []
        part, (seen,) = self.bits_integer() if bits else self.integer()
        value: Any = self.number(seen.low, seen.high)
        value = self.pick(value, value, enum.IntEnum("Given", {"IT": value}).IT)
        return construct.Const(value, part), [replace(seen, kind="constant")]

    def padding(self, contexts: list[Context], *, bits: bool = False, fixed: bool = False) -> Any:
        if bits:
            return construct.Padding(self.number(0, 9), pattern=self.pick(b"\0", b"\1")), []
        length = self.number(0, 3) if fixed or self.pick(True, False) else self.count(contexts)
        return construct.Padding(length, pattern=self.pick(b"\0", b"\0", b"\xa5")), []

    def if_(self, contexts: list[Context], depth: int) -> Any:
        if (condition := self.condition(contexts)) is None:
            return self.integer()
        return construct.If(condition, self.value(contexts, depth + 1)[0]), []

    def switch(self, contexts: list[Context], depth: int) -> Any:
        found = self.visible(contexts, "int", "enum", "flag", "flags", "octets", "words")
        found = [item for item in found if item[1].high < 1 << 63 and item[1].low >= -(1 << 63)]
        if not found:
            return self.integer()
        path, seen = self.pick(*found)
        default: Any = self.pick(None, construct.Error, construct.Byte, construct.Bytes(1))
        strict = default in (None, construct.Error)
        match seen.kind:
            case "octets" | "words":
                default = default if default not in (None, construct.Error) else construct.Byte
                cases = list({self.literal(seen), self.literal(seen)})
            case "enum":
                # Without a default all members have a case, so that some bytes are a record.
                keys = {}
                for name, value in seen.members.items():
                    keys.setdefault(value, self.pick(name, value, getattr(seen.source, name)))
                cases = list(keys.values())
                if not strict:
                    cases = cases[: self.number(1, len(cases))]
            case "flag":
                cases = [False, True]
            case "flags":
                path, cases = path[self.pick(*seen.members)], [True, False]
            case _ if seen.high >= 5 and seen.low > -(1 << 33) and self.pick(True, False):
                path, cases = self.pick(
                    (path % 3, [0, 1, 2]), (path & 3, [0, 1, 2, 3]), ((path > 2) + (path < 5), [0, 1, 2])
                )
            case _:
                if strict and id(seen) in self.taken:
                    default, strict = construct.Byte, False
                if strict:
                    self.taken.add(id(seen))
                cases = self.draw(
                    st.lists(st.integers(0, min(5, seen.high)), min_size=1, max_size=3, unique=True)
                )
        return construct.Switch(path, {key: self.value(contexts, depth + 1)[0] for key in cases}, default), []

    # expressions

    def visible(self, contexts: list[Context], *kinds: str) -> list[tuple[Any, Seen]]:
        """Return what an expression can name here, with its path."""
        found = []
        start: Any = this
        for hops, context in enumerate(contexts):
            outermost = hops == len(contexts) - 1
            for seen in context.seen if context.own else ():
                path = this._root if outermost and hops and len(seen.names) % 2 else start
                for name in seen.names:
                    path = path[name]
                if seen.kind in kinds:
                    found.append((path, seen))
            start = start._
        return found

    def usable(self, contexts: list[Context]) -> list[tuple[Any, Seen]]:
        """Return the integers narrow enough to compute with."""
        found = self.visible(contexts, "int", "flag")
        return [(path, seen) for path, seen in found if seen.high < 1 << 33 and seen.low > -(1 << 33)]

    def usable_path(self, contexts: list[Context]) -> Any:
        return self.pick(*self.usable(contexts))[0]

    def count(self, contexts: list[Context]) -> Any:
        """Return a count or length: an expression where there is something to name."""
        if not self.usable(contexts):
            return self.number(0, 3)
        x = self.usable_path(contexts)
        if (form := self.number(0, 9)) < 4:
            return x
        forms = [
            x * 2 + 1,
            x - 1,
            x % 3,
            (x & 3) | 1,
            x // 2,
            min_(x, 2),
            max_(abs_(x), 1),
            (x > 1) + 1,
            -x + 4,
        ]
        forms += [2 ** (x & 3), 1 << (x & 1), 1 + (~x), x + self.usable_path(contexts), (x << 1) >> 1, x ^ 1]
        return self.pick(*forms) if form < 9 else min_(x, self.usable_path(contexts)) + 1

    def literal(self, seen: Seen) -> Any:
        """Return a value that bytes or text are now and then."""
        return self.pick("", "a", "é") if seen.kind == "words" else self.pick(b"\0", b"a") * seen.high

    def condition(self, contexts: list[Context]) -> Any:
        """Return a truth over what can be named here; None where nothing can."""
        found = self.visible(
            contexts,
            "int",
            "enum",
            "flag",
            "flags",
            "float",
            "constant",
            "sized",
            "mapping",
            "octets",
            "words",
        )
        found = [item for item in found if item[1].kind != "constant" or item[1].high < 1 << 63]
        if not found:
            return None
        path, seen = self.pick(*found)
        compare = self.pick(*COMPARISONS)
        match seen.kind:
            case "enum":
                name, value = self.pick(*seen.members.items())
                result = compare(path, self.pick(name, value, getattr(seen.source, name)))
            case "flags":
                result = path[self.pick(*seen.members)]
                result = self.pick(result, ~result, result == True)  # noqa: E712 - an expression
            case "mapping":
                compare = self.pick(operator.eq, operator.ne)
                result = compare(path, self.pick(*seen.members))
            case "flag":
                result = self.pick(path, ~path, path == False)  # noqa: E712 - an expression
            case "float":
                given: Any = self.draw(st.floats(allow_nan=False, width=16) | st.integers(-3, 3))
                result = compare(path, given) if self.pick(True, False) else compare(given, path)
            case "octets" | "words":
                compare = self.pick(operator.eq, operator.ne)
                result = compare(path, self.literal(seen))
            case "sized":
                result = compare(len_(path), self.number(0, 3))
            case _:
                given = self.number(min(0, seen.high), min(seen.high, 5))
                result = compare(path, given) if self.pick(True, False) else compare(given, path)
        if self.number(0, 3) == 0 and (more := self.condition(contexts)) is not None:
            result = self.pick(result & more, result | more, ~result)
        return result

    def implied(self, contexts: list[Context]) -> Any:
        """Return what a Rebuild computes over the fields of its struct."""
        own = contexts[:1]
        narrow = [
            item for item in self.usable(contexts) if item[1].high < 1 << 12 and item[1].low > -(1 << 12)
        ]
        sized = self.visible(own, "sized")
        named = [
            item for item in self.visible(own, "enum", "flags") if item[1].low >= 0 and item[1].high < 1 << 16
        ]
        if sized and self.pick(True, False):
            return len_(self.pick(*sized)[0]) * self.number(1, 3)
        if named and self.pick(True, False):
            path, seen = self.pick(*named)
            return self.pick(path + 1, path[self.pick(*seen.members)] if seen.kind == "flags" else path)
        if narrow:
            x, y = self.pick(*narrow)[0], self.pick(*narrow)[0]
            return self.pick(x, x + y, abs_(x - y), (x > y) * 2, max_(x, y, 3) % 7)
        return self.number(0, 9)

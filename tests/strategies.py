"""Random layouts of every kind that walk reads, records for them, and bytes that are or are not records.

    layouts()          a construct Struct, always one that walk takes
    name_layout(l)     the Layout with a class name for every record and enumeration, and the classes
    lowered(l)         the Layout with limits and rules, as a record's annotations would add them
    samples(l)         (bytes, values): what a small encoder of the tests' own makes of random values
    valid_bytes(l)     the bytes alone
    mutated(data)      the same bytes cut, flipped, extended or replaced

The encoder shares no code with the engines except the meaning of one operator (`evaluate`).
"""

from __future__ import annotations

import enum
import operator
import struct
from dataclasses import dataclass, field, make_dataclass, replace
from typing import Any

import construct
from construct import len_, this
from hypothesis import assume
from hypothesis import strategies as st

from wirelock.codec.template import Template
from wirelock.layout.expression import abs_, max_, min_
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
    Limit,
    Limited,
    Nothing,
    Padding,
    Prefix,
    Switch,
)
from wirelock.layout.operators import evaluate, paths_in
from wirelock.layout.terms import Length, Number, Operation, Path, Rule

__all__ = ["layouts", "lowered", "mutated", "name_layout", "samples", "valid_bytes"]

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
NAMES = ["a", "b", "c", "count", "items", "keys", "n", "x", "frame", "kind", "values", "get"]
MEMBERS = ["RED", "GREEN", "blue", "items", "x", "count"]
DEPTH = 3


# -- layouts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """A field that an expression can name, from the context that holds it."""

    names: tuple[str, ...]
    kind: str
    low: int = 0
    high: int = 1
    members: dict[str, int] | None = None
    source: Any = None


@dataclass
class Context:
    """One of construct's contexts; `own` is False for the one that a PrefixedArray makes for itself."""

    seen: list[Seen] = field(default_factory=list)
    own: bool = True


@st.composite
def layouts(draw: Any, *, fields: int = 5) -> construct.Construct:
    """Return a random construct Struct that walk takes."""
    return Maker(draw).struct([], 0, fields)[0]


class Maker:
    """Draws constructs. `contexts` are the enclosing ones, innermost first.

    A method for a kind returns (construct, what expressions can see of it). `fixed` asks for a kind of
    fixed size, as a bit region needs.
    """

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.taken: set[int] = set()

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    # structs

    def struct(
        self, contexts: list[Context], depth: int, most: int = 3, *, bits: bool = False, fixed: bool = False
    ) -> Any:
        here = Context()
        parts: list[Any] = []
        rebuilds: list[tuple[int, str | None, int]] = []
        names = iter(self.draw(st.permutations(NAMES)))
        for _ in range(self.number(1, most)):
            form = self.pick("value", "value", "value", "value", "hidden", "rebuild", "counted")
            if form == "hidden":
                name = self.pick(None, None, "_" + next(names))
                parts.append(construct.Renamed(self.hidden([here, *contexts], bits, fixed), newname=name))
            elif form == "rebuild":
                name = self.pick(next(names), "_" + next(names), None)
                rebuilds.append((len(parts), name, len(here.seen)))
                parts.append(None)
            elif form == "counted" and not bits and not fixed:
                parts += self.counted(here, contexts, depth, next(names), next(names))
            else:
                name = next(names)
                part, seen = self.value([here, *contexts], depth, bits=bits, fixed=fixed)
                parts.append(name / part)
                here.seen += [replace(item, names=(name, *item.names)) for item in seen]
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
        form = self.pick("padding", "padding", "constant", "pass")
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
            integer, seen = construct.Int64sl, [_integer_seen(64, True)]
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
        if bits:
            kinds = ["bits", "bits", "bits", "flag", "enum", "flags", "constant", "padding", "bytewise"]
            kinds += ["struct", "fixed_array"] if depth < DEPTH else []
        else:
            kinds = ["integer", "integer", "float", "flag", "enum", "flags", "octets", "constant", "region"]
            kinds += ["struct", "fixed_array", "bit_struct"] if depth < DEPTH else []
            if not fixed:
                kinds += ["octets", "padding"]
                kinds += ["if_", "switch"] * (4 if any(context.seen for context in contexts) else 0)
                kinds += ["array", "prefixed", "prefixed"] if depth < DEPTH else []
        match self.pick(*kinds):
            case "struct":
                return self.struct(contexts, depth + 1, bits=bits, fixed=fixed)
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
                return construct.Bytes(length), [Seen((), "sized")]
            case "fixed_array":
                part = self.value(contexts, depth + 1, bits=bits, fixed=fixed)[0]
                return construct.Array(self.number(0, 3), part), [Seen((), "sized")]
            case "array":
                return construct.Array(self.count(contexts), self.element(contexts, depth)), [
                    Seen((), "sized")
                ]
            case "prefixed":
                element = self.element([Context(own=False), *contexts], depth)
                return construct.PrefixedArray(self.integer()[0], element), [Seen((), "sized")]
            case kind:
                return getattr(self, kind)(*([contexts, depth] if kind in ("if_", "switch") else []))

    def element(self, contexts: list[Context], depth: int) -> Any:
        """Return an element that takes at least one byte."""
        form = self.pick(
            "integer", "integer", "float", "flag", "named", "octets", "struct", "region", "chosen"
        )
        match form:
            case "struct" if depth < DEPTH:
                part, _ = self.struct(contexts, depth + 1)
                return construct.Struct("first" / self.integer()[0], *part.subcons)
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
            case "region" | "float":
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
        return part, [_integer_seen(bits, signed)]

    def bits_integer(self) -> Any:
        width, signed = self.number(1, 25), self.pick(True, False)
        swapped = width % 8 == 0 and self.pick(True, False)
        part = construct.BitsInteger(width, signed=signed, swapped=swapped)
        return part, [_integer_seen(width, signed)]

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
            while seen.low:
                part, (seen,) = (
                    construct.BitsInteger(5) if bits else construct.Int16ul,
                    [Seen((), "int", 0, 31)],
                )
            shifts = self.draw(st.permutations(range(seen.high.bit_length())))
            members = {name: 1 << shift for name, shift in zip(names, shifts, strict=False)}
            python: Any = enum.IntFlag
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
        found = self.visible(contexts, "int", "enum", "flag", "flags")
        found = [item for item in found if item[1].high < 1 << 63 and item[1].low >= -(1 << 63)]
        if not found:
            return self.integer()
        path, seen = self.pick(*found)
        default: Any = self.pick(None, None, construct.Byte, construct.Bytes(1))
        match seen.kind:
            case "enum":
                # Without a default all members have a case, so that some bytes are a record.
                keys = {}
                for name, value in seen.members.items():
                    keys.setdefault(value, self.pick(name, value, getattr(seen.source, name)))
                cases = list(keys.values())
                if default is not None:
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
                if default is None and id(seen) in self.taken:
                    default = construct.Byte
                if default is None:
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
        forms += [1 + (~x), x + self.usable_path(contexts), (x << 1) >> 1, x ^ 1]
        return self.pick(*forms) if form < 9 else min_(x, self.usable_path(contexts)) + 1

    def condition(self, contexts: list[Context]) -> Any:
        """Return a truth over what can be named here; None where nothing can."""
        found = self.visible(contexts, "int", "enum", "flag", "flags", "float", "constant", "sized")
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
            case "flag":
                result = self.pick(path, ~path, path == False)  # noqa: E712 - an expression
            case "float":
                given: Any = self.draw(st.floats(allow_nan=False, width=16) | st.integers(-3, 3))
                result = compare(path, given) if self.pick(True, False) else compare(given, path)
            case "sized":
                result = compare(len_(path), self.number(0, 3))
            case _:
                given = self.number(0, min(seen.high, 5))
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


def _integer_seen(bits: int, signed: bool) -> Seen:
    return Seen((), "int", -(1 << (bits - 1)) if signed else 0, (1 << (bits - signed)) - 1)


# -- what the schema room would make of a layout -------------------------------------------------------


def name_layout(layout: Layout) -> tuple[Layout, dict[str, Any]]:
    """Return the layout with a class name for each record and enumeration in it, and those classes."""
    names: dict[str, Any] = {}

    def name_type(kind: Any) -> Any:
        match kind:
            case Layout():
                fields = tuple(replace(item, type=name_type(item.type)) for item in kind.fields)
                name = f"Record{len(names)}"
                labels = [item.label for item in fields if item.in_record]
                record = make_dataclass(name, labels, frozen=True)
                make = lambda values, record=record: record(**values)  # noqa: E731
                names[name] = Template(record=record, make=make, validate=make)
                return replace(kind, fields=fields, name=name)
            case Enum() | Flags():
                name = f"{type(kind).__name__}{len(names)}"
                names[name] = (enum.IntEnum if isinstance(kind, Enum) else enum.IntFlag)(name, kind.members)
                return replace(kind, name=name)
            case Array(element=inner):
                return replace(kind, element=name_type(inner))
            case If(type=inner):
                return replace(kind, type=name_type(inner))
            case Limited(inner=inner):
                return replace(kind, inner=name_type(inner))
            case Switch():
                cases = tuple((key, name_type(case)) for key, case in kind.cases)
                return replace(kind, cases=cases, default=kind.default and name_type(kind.default))
        return kind

    return name_type(layout), names


def lowered(layout: Layout) -> st.SearchStrategy[Layout]:
    """Return the layout with some limits and rules, and with some enumerations read as plain integers."""

    @st.composite
    def lower(draw: Any) -> Layout:
        found = Lowerer(draw).type(layout)
        assert isinstance(found, Layout)
        return found

    return lower()


class Lowerer:
    """Draws what a record's annotations add to a layout."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def type(self, kind: Any) -> Any:
        match kind:
            case Layout():
                fields = tuple(replace(item, type=self.type(item.type)) for item in kind.fields)
                return replace(kind, fields=fields, rules=self.rules(kind))
            case Enum() if self.draw(st.booleans()):
                return self.type(kind.integer)
            case Array():
                kind = replace(kind, element=self.type(kind.element))
            case If():
                return replace(kind, type=self.type(kind.type))
            case Switch():
                cases = tuple((key, self.type(case)) for key, case in kind.cases)
                return replace(kind, cases=cases, default=kind.default and self.type(kind.default))
        choices = self.limits(kind) if self.draw(st.integers(0, 2)) == 0 else []
        if not choices:
            return kind
        chosen = self.draw(st.lists(st.sampled_from(choices), min_size=1, unique=True))
        return Limited(kind, tuple(Limit(name, value) for name, value in chosen))

    def limits(self, kind: Any) -> list[tuple[Any, Any]]:
        match kind:
            case Integer(lowest=low, highest=high):
                middle = (low + high) // 2
                return [("ge", low // 2), ("le", middle), ("multiple_of", 2), ("one_of", (1, 2, middle))]
            case Enum(members=members):
                return [("one_of", tuple(value for _, value in members[:2]))]
            case Float():
                return [("ge", -1e3), ("gt", -2.0), ("le", 1e4), ("lt", 0.5)]
            case Bytes() | Array():
                return [("min_length", 1), ("max_length", 2)]
        return []

    def rules(self, layout: Layout) -> tuple[Rule, ...]:
        """Return a rule over one integer of the record, or none."""
        narrow = [
            item.name
            for item in layout.fields
            if item.name and item.in_record and isinstance(item.type, Integer) and item.type.bits < 64
        ]
        if not narrow or self.draw(st.booleans()):
            return ()
        compare = self.draw(st.sampled_from(["<", "!=", ">="]))
        path, number = Path(0, (self.draw(st.sampled_from(narrow)),)), Number(self.draw(st.integers(0, 3)))
        message = self.draw(st.sampled_from(["", "said so"]))
        return (Rule(f"r{len(layout.fields)}", Operation(compare, (path, number)), message),)


# -- bytes ---------------------------------------------------------------------------------------------


@dataclass
class Level:
    """The values of one record while it is drawn."""

    parent: Level | None
    values: dict[str, Any]

    def look(self, wanted: Path | Length) -> Any:
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
    """Return the bytes of a random record, and its values: ints, floats, bytes, lists, dicts by label."""
    wishes: dict[int, set[int]] = {}
    _gather(layout, (), wishes)

    @st.composite
    def sample(draw: Any) -> tuple[bytes, dict[str, Any]]:
        values, bits = Sampler(draw, wishes).record(layout, None)
        assert len(bits) % 8 == 0
        return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)), values

    return sample()


def _gather(kind: Any, around: tuple[Layout, ...], wishes: dict[int, set[int]]) -> None:
    """Note for each field that a count or a Switch reads which values are welcome, by the field's id."""

    def wish(expression: Any, values: set[int]) -> None:
        for path in paths_in(expression):
            if path.up >= len(around):
                continue
            layout: Any = around[path.up]
            for name in path.names:
                if isinstance(layout, Layout):
                    item = layout[name]
                    layout = item.type
            known = wishes.setdefault(id(item), set(values))
            if isinstance(expression, Path) and known & values:
                known &= values

    match kind:
        case Layout():
            for item in kind.fields:
                _gather(item.type, (kind, *around), wishes)
        case Bytes(length=length) | Padding(length=length) if not isinstance(length, int):
            wish(length, set(range(5)))
        case Array(element=element, count=count):
            if not isinstance(count, int | Prefix):
                wish(count, set(range(5)))
            _gather(element, around, wishes)
        case If(condition=condition, type=inner):
            wish(condition, set(range(7)))
            _gather(inner, around, wishes)
        case Switch(key=key):
            wish(key, {value for value, _ in kind.cases} if kind.default is None else set(range(7)))
            for case in kind.types:
                _gather(case, around, wishes)
        case Limited(inner=inner):
            _gather(inner, around, wishes)


class Sampler:
    """Draws values and writes their bits as text. Each method returns (value, bits)."""

    def __init__(self, draw: Any, wishes: dict[int, set[int]]) -> None:
        self.draw = draw
        self.wishes = wishes

    def record(self, layout: Layout, parent: Level | None) -> tuple[dict[str, Any], str]:
        here = Level(parent, {})
        bits = {}
        for item in layout.fields:
            here.values[item.label], bits[item.label] = self.value(item.type, here, self.wishes.get(id(item)))
        for item in layout.fields:
            if item.derived is None:
                continue
            kind = item.type.inner if isinstance(item.type, Limited) else item.type
            implied = here.compute(item.derived)
            assume(kind.lowest <= implied <= kind.highest)
            here.values[item.label], bits[item.label] = implied, integer_bits(kind, implied)
        return here.values, "".join(bits.values())

    def value(self, kind: Any, here: Level, wishes: set[int] | None = None) -> tuple[Any, str]:
        match kind:
            case Limited(inner=inner):
                return self.value(inner, here, wishes)
            case Layout():
                return self.record(kind, here)
            case Integer():
                welcome = sorted(value for value in wishes or () if kind.lowest <= value <= kind.highest)
                numbers = st.sampled_from(welcome) if welcome else st.integers(kind.lowest, kind.highest)
                value = self.draw(numbers)
                return value, integer_bits(kind, value)
            case Enum(integer=integer, members=members):
                value = self.draw(st.sampled_from([value for _, value in members]))
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
                octets = self.draw(st.binary(min_size=size, max_size=size))
                return octets, octet_bits(octets)
            case Padding(length=length, unit=unit, pattern=pattern):
                return None, f"{pattern:0{unit}b}" * self.size(length, here)
            case Nothing():
                return None, ""
            case Array(count=Prefix(integer=integer)):
                count = self.draw(st.integers(0, min(3, integer.highest)))
                values, bits = self.elements(kind.element, count, here)
                return values, integer_bits(integer, count) + bits
            case Array(count=count):
                return self.elements(kind.element, self.size(count, here), here)
            case If(condition=condition, type=inner):
                return self.value(inner, here) if here.compute(condition) else (None, "")
            case Switch(key=key, cases=cases, default=default):
                chosen = dict(cases).get(here.compute(key), default)
                assume(chosen is not None)
                return self.value(chosen, here)
        raise TypeError(kind)

    def size(self, length: Any, here: Level) -> int:
        size = length if isinstance(length, int) else here.compute(length)
        assume(0 <= size < 64)
        return size

    def elements(self, element: Any, count: int, here: Level) -> tuple[list[Any], str]:
        pairs = [self.value(element, here) for _ in range(count)]
        return [value for value, _ in pairs], "".join(bits for _, bits in pairs)

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


def octet_bits(octets: bytes) -> str:
    """Return bytes as the text of their bits."""
    return "".join(f"{octet:08b}" for octet in octets)


def integer_bits(kind: Integer, value: int) -> str:
    """Return an integer as the text of its bits on the wire."""
    bits = f"{value % (1 << kind.bits):0{kind.bits}b}"
    if kind.order == "big":
        return bits
    return "".join(bits[i : i + 8] for i in range(kind.bits - 8, -8, -8))


@st.composite
def mutated(draw: Any, data: bytes) -> bytes:
    """Return bytes near `data`: cut, extended, with flipped bits or replaced bytes, or just random ones."""
    for _ in range(draw(st.integers(1, 2))):
        match draw(st.sampled_from(["cut", "flip", "flip", "byte", "byte", "extend", "random", "last"])):
            case "cut":
                data = data[: draw(st.integers(0, len(data)))]
            case "last":
                data = data[:-1]
            case "extend":
                data += draw(st.binary(min_size=1, max_size=3))
            case "random":
                data = draw(st.binary(max_size=24))
            case "flip" if data:
                at, bit = draw(st.integers(0, len(data) - 1)), draw(st.integers(0, 7))
                data = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            case "byte" if data:
                at = draw(st.integers(0, len(data) - 1))
                octet = draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]))
                data = data[:at] + bytes([octet]) + data[at + 1 :]
    return data

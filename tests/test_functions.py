"""Functions in layouts mean what Python computes: in what is read, and in both engines."""

from __future__ import annotations

import enum
import random
from typing import Any

import construct
import pytest
from construct import Byte, Container, Flag, Int8sb, Int16sl, Int16ul, Int32ul, Int64sl, Struct
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import name_layout
from tests.test_reference import same
from wirelock.codec.check import check
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.reference import ReferenceEngine
from wirelock.codec.trail import Found
from wirelock.errors import Fault, SchemaError
from wirelock.layout.adapters import scaled, ticks
from wirelock.layout.describe import expression_text
from wirelock.layout.named import named
from wirelock.layout.operators import evaluate
from wirelock.layout.terms import Length
from wirelock.layout.walk import walk


class Kind(enum.IntEnum):
    A = 1
    B = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


# -- what is read ----------------------------------------------------------------------------------

PLACE = Struct(
    "a" / Byte,
    "b" / Int16sl,
    "w" / Int32ul,
    "s" / Struct("v" / Int8sb),
    "flag" / Flag,
    "k" / construct.Enum(Byte, Kind),
    "door" / construct.FlagsEnum(Byte, Door),
    "xs" / construct.Array(construct.this.a, Byte),
)
MEMBERS = {"k": Kind, "door": Door}
MAY_BE_REFUSED = ("outside of int64", "ways through it", "levels", "`~` of a truth value")


@st.composite
def numbers(draw: st.DrawFn, depth: int = 3) -> str:
    """Return Python for a number."""
    form = draw(st.integers(0, 11)) if depth else draw(st.integers(0, 1))
    if form == 0:
        return draw(st.sampled_from(["ctx.a", "ctx.b", "ctx['w']", "ctx.s.v", "ctx.flag", "len(ctx.xs)"]))
    if form == 1:
        return str(draw(st.integers(-3, 300)))
    one, two = draw(numbers(depth - 1)), draw(numbers(depth - 1))
    test = draw(conditions(depth - 1))
    return [
        f"({one} {draw(st.sampled_from(['+', '-', '*', '&', '|', '^']))} {two})",
        f"({one} {draw(st.sampled_from(['//', '%', '>>']))} {draw(st.integers(1, 9))})",
        f"({draw(st.sampled_from(['-', '+', '~']))}{one})",
        f"abs({one})",
        f"{draw(st.sampled_from(['min', 'max']))}({one}, {two})",
        f"int({test})",
        f"({one} if {test} else {two})",
        f"({one} and {two})",
        f"({one} or {two})",
        f"({one} << {draw(st.integers(0, 3))})",
    ][form - 2]


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    """Return Python for a condition."""
    form = draw(st.integers(0, 8)) if depth > 0 else 0
    if form == 0:
        known = ["ctx.flag", "ctx.k == Kind.A", "ctx.k != 'B'", "ctx.door.LOCKED", "not ctx.door['OPEN']"]
        return draw(st.sampled_from(known))
    compare = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
    one, two, three = (draw(numbers(depth - 1)) for _ in range(3))
    left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    return [
        f"({one} {compare} {two})",
        f"({one} {compare} {two} {compare} {three})",
        f"({left} and {right})",
        f"({left} or {right})",
        f"(not {left})",
        f"({left} if {right} else {one} {compare} {two})",
        f"bool({one})",
        f"(not {one})",
    ][form - 1]


def contexts(seed: int) -> Any:
    """Yield contexts as construct has them, and as a layout's expressions read them."""
    rng = random.Random(seed)
    ends = {"a": (0, 255), "b": (-32768, 32767), "w": (0, (1 << 32) - 1), "v": (-128, 127)}
    for number in range(12):
        plain = {
            name: rng.choice([low, high, max(low, -1), 0, 1]) if number % 3 else rng.randint(low, high)
            for name, (low, high) in ends.items()
        }
        plain |= {"flag": rng.random() < 0.5, "k": rng.randrange(4), "door": rng.choice([0, 1, 4, 5])}
        seen = Container({name: plain[name] for name in ("a", "b", "w", "flag")})
        for name, kind in MEMBERS.items():
            seen[name] = named(plain[name], [(member.name, member) for member in kind])
        yield Container(seen | {"s": Container(v=plain["v"]), "xs": [0] * plain["a"]}), plain


@settings(max_examples=500, deadline=None)
@given(numbers() | conditions(), st.booleans(), st.integers(0, 1 << 16))
def test_what_is_read_means_what_python_computes(text: str, tested: bool, seed: int) -> None:
    function = eval(f"lambda ctx: {text}", {"Kind": Kind})
    here = construct.If(function, Byte) if tested else construct.Rebuild(Int64sl, function)
    try:
        field = walk(Struct(*PLACE.subcons, "here" / here))["here"]
    except SchemaError as error:
        refusals = (*MAY_BE_REFUSED, "is always") if tested else MAY_BE_REFUSED
        assert any(words in error.problem for words in refusals), error
        return
    expression: Any = field.type.condition if tested else field.derived
    expression_text(expression)
    for context, plain in contexts(seed):

        def value_of(read: Any, plain: dict[str, Any] = plain) -> Any:
            return plain["a"] if isinstance(read, Length) else plain[read.names[-1]]

        wanted, found = function(context), evaluate(expression, value_of)
        assert bool(found) == bool(wanted) if tested else found == wanted, (text, plain)


# -- both engines ----------------------------------------------------------------------------------

LIMIT = 3

LAYOUTS = {
    "C16": Struct("n" / Byte, "xs" / construct.Array(lambda this: this.n * 2 if this.n > 3 else 1, Byte)),
    "C5": Struct(
        "k" / construct.Enum(Byte, Kind),
        "x" / construct.Switch(lambda ctx: ctx.k, {Kind.A: Byte, Kind.B: Int16ul}),
    ),
    "C5 without a lambda": Struct(
        "k" / construct.Enum(Byte, Kind),
        "x" / construct.Switch(construct.this.k, {Kind.A: Byte, Kind.B: Int16ul}),
    ),
    "C21, abs": Struct("b" / Int16sl, "x" / construct.If(lambda ctx: abs(ctx.b) > 300, Byte)),
    "C21, below zero": Struct(
        "a" / Byte, "b" / Byte, "d" / construct.Rebuild(Int16sl, lambda ctx: ctx.a - ctx.b)
    ),
    "and, or, not": Struct(
        "a" / Byte,
        "b" / Byte,
        "x" / construct.If(lambda ctx: (0 < ctx.a < 5 and not ctx.b) or ctx.b == 7, Byte),
    ),
    "a member's name": Struct(
        "k" / construct.Enum(Byte, Kind), "x" / construct.Bytes(lambda ctx: 2 if ctx.k == "B" else 1)
    ),
    "a flag": Struct(
        "door" / construct.FlagsEnum(Byte, Door),
        "x" / construct.If(lambda ctx: ctx.door.LOCKED and not ctx.door["OPEN"], Byte),
    ),
    "a float": Struct("f" / construct.Float32l, "x" / construct.If(lambda ctx: not ctx.f < 0.5, Byte)),
    "a length": Struct(
        "xs" / construct.PrefixedArray(Byte, Byte),
        "n" / construct.Rebuild(Byte, lambda ctx: min(len(ctx.xs), LIMIT) ^ 1),
    ),
    "a field around": Struct(
        "n" / Byte,
        "p" / Struct("m" / Byte, "d" / construct.Bytes(lambda ctx: ctx.m & 3 if ctx._.n else ctx._root.n)),
    ),
    "a Mapping": Struct(
        "m" / construct.Mapping(Byte, {"red": 1, "blue": 2}),
        "x" / construct.If(lambda ctx: ctx.m == "blue", Byte),
    ),
    "a Scaled": Struct(
        "s" / scaled(Int16sl, step="1/8", unit="m"), "x" / construct.If(lambda ctx: not ctx.s < 0.5, Byte)
    ),
    "a Time": Struct("t" / ticks(Int16ul, unit="ms"), "x" / construct.If(lambda ctx: ctx.t % 2 == 0, Byte)),
    "a VarInt": Struct("v" / construct.VarInt, "x" / construct.If(lambda ctx: ctx.v and ctx.v != 4, Byte)),
    "a Computed": Struct(
        "a" / Byte,
        "c" / construct.Computed(lambda ctx: ctx.a > 3 or ctx.a == 1),
        "x" / construct.If(lambda ctx: not ctx.c, Byte),
    ),
    "a Computed number": Struct(
        "a" / Byte,
        "c" / construct.Computed(lambda ctx: ctx.a and 7 - ctx.a),
        "d" / construct.Bytes(lambda ctx: max(ctx.c, 0)),
    ),
    "the number of the element": Struct(
        "xs" / construct.Array(3, construct.Bytes(lambda ctx: ctx._index + 1 if ctx._index else 2)),
        "ys" / construct.Array(2, Struct("i" / Byte, "d" / construct.Bytes(lambda ctx: 3 - ctx._index))),
    ),
    "up to an element": Struct(
        "n" / Byte,
        "xs" / construct.RepeatUntil(lambda x, lst, ctx: x == ctx.n or x > 200, Byte),
    ),
    "up to an element with fields": Struct(
        "n" / Byte,
        "xs"
        / construct.RepeatUntil(
            lambda x, lst, ctx: (x.k == Kind.A and x.n > 3) or ctx.n == 7,
            Struct("k" / construct.Enum(Byte, Kind), "n" / Byte),
        ),
    ),
    "an int64": Struct("u" / construct.Int64ub, "x" / construct.If(lambda ctx: ctx.u and ctx.u < 9, Byte)),
    "a wide count": Struct("u" / construct.Int64ub, "d" / construct.Bytes(lambda ctx: ctx.u)),
}


def outcome(run: Any, *arguments: Any) -> Any:
    try:
        return run(*arguments)
    except Found as found:
        return found.fault


@pytest.mark.parametrize("name", LAYOUTS)
def test_both_engines_mean_the_same(name: str) -> None:
    source, rng = LAYOUTS[name], random.Random(name)
    layout, names = name_layout(walk(source))
    generated, reference = GeneratedEngine(layout, names), ReferenceEngine(source, layout, names)
    records = 0
    for number in range(700):
        few = number % 2
        data = bytes(rng.choice([0, 1, 2, 4, 7, 255]) if few else rng.randrange(256) for _ in range(40))
        data = bytes(7 * (number % 5 == 0)) + data
        ours, theirs = (outcome(engine.parse_prefix, data) for engine in (generated, reference))
        if isinstance(theirs, Fault):
            assert ours == theirs
            continue
        records += 1
        assert ours[1] == theirs[1]
        assert same(check(layout, ours[0], names), check(layout, theirs[0], names))
        assert generated.build(ours[0]) == reference.build(theirs[0]) == data[: ours[1]]
    assert records > 3


C16 = {"01 07": (7,), "03 07": (7,), "04 01 02 03 04 05 06 07 08": (1, 2, 3, 4, 5, 6, 7, 8)}


@pytest.mark.parametrize("octets", C16)
def test_a_choice_of_counts_takes_both_ways(octets: str) -> None:
    source = LAYOUTS["C16"]
    layout, names = name_layout(walk(source))
    assert expression_text(layout["xs"].type.count) == "n * 2 if n > 3 else 1"
    for engine in (GeneratedEngine(layout, names), ReferenceEngine(source, layout, names)):
        assert engine.parse(bytes.fromhex(octets)).xs == C16[octets]

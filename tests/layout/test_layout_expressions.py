"""Expressions: what is read and how, what is refused and why, and that every interval holds its values."""

import enum
import operator

import construct
import pytest
from construct import (
    Byte,
    Container,
    Flag,
    Int8sb,
    Int16sl,
    Int16ul,
    Int32ul,
    Int64sl,
    Int64ul,
    Struct,
    len_,
    this,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from wirelock import SchemaError, abs_, max_, min_
from wirelock.layout.canonical import expression_to_json, layout_to_json
from wirelock.layout.describe import expression_text
from wirelock.layout.from_json import expression_from_json
from wirelock.layout.operators import COMPARISONS, INT64, OPERATORS, evaluate, paths_in, python_source
from wirelock.layout.terms import Index, Number, Operation, Path
from wirelock.layout.walk import walk


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


FIELDS = (
    "a" / Byte,
    "b" / Int16sl,
    "w" / Int32ul,
    "s" / Int64sl,
    "u" / Int64ul,
    "t" / construct.Int24ub,
    "f" / construct.Float32l,
    "flag" / Flag,
    "k" / construct.Enum(Byte, Colour),
    "door" / construct.FlagsEnum(Byte, Door),
    "c" / construct.Const(7, Byte),
    "m" / construct.Const(b"WS"),
    "d" / construct.Bytes(4),
    "xs" / construct.PrefixedArray(Byte, Struct("e" / Byte)),
    "two" / construct.Array(2, Byte),
    "o" / construct.If(this.a > 1, Byte),
    "sw" / construct.Switch(this.a, {1: Byte}, construct.Bytes(1)),
    "name" / construct.CString("utf8"),
    "wide" / construct.IfThenElse(this.a > 1, Int16sl, Byte),
    "p" / Struct("x" / Byte, "q" / Struct("y" / Int8sb)),
    "pad" / construct.Padding(1),
)


def condition(source):
    """Read an expression as the condition of a field behind all of FIELDS."""
    return walk(Struct(*FIELDS, "here" / construct.If(source, Byte)))["here"].type.condition


READ = {
    "a field": (this.a, "a"),
    "a field by item": (this["a"], "a"),
    "a field of a struct": (this.p.q.y, "p.q.y"),
    "a Flag": (this.flag, "flag"),
    "a constant's field": (this.c == 7, ["==", "c", 7]),
    "a flag of a set": (this.door.LOCKED, ["==", ["&", "door", 4], 4]),
    "no flag of a set": (~this.door.LOCKED, ["not", ["==", ["&", "door", 4], 4]]),
    "a set of flags": (this.door == Door.OPEN, ["==", "door", 1]),
    "a mask of flags": ((this.door & Door.LOCKED) != 0, ["!=", ["&", "door", 4], 0]),
    "a member": (this.k == Colour.RED, ["==", "k", 1]),
    "a member's name": (this.k == "BLUE", ["==", "k", 2]),
    "a member's number": (this.k != 2, ["!=", "k", 2]),
    "a member of construct's": (this.k == construct.Enum(Byte, Colour).RED, ["==", "k", 1]),
    "a member on the left": (Colour.RED < this.k, [">", "k", 1]),  # noqa: SIM300 - what is tested
    "two enumerations": (this.k == this.k, ["==", "k", "k"]),
    "a float and an int": (this.f < 3, ["<", "f", {"float": "3.0"}]),
    "a float and a float": (this.f >= 0.1, [">=", "f", {"float": "0.1"}]),
    "a float on the right": (0.5 > this.f, ["<", "f", {"float": "0.5"}]),  # noqa: SIM300 - what is tested
    "a uint64 and its highest": (this.u == (1 << 64) - 1, ["==", "u", (1 << 64) - 1]),
    "a uint64 on the right": (5 <= this.u, [">=", "u", 5]),  # noqa: SIM300 - what is tested
    "a uint64 alone": (this.u, ["!=", "u", 0]),
    "no uint64": (~this.u, ["not", ["!=", "u", 0]]),
    "an int64 alone": (this.s, "s"),
    "an int64 and less than nothing": (this.s > -5, [">", "s", -5]),
    "an int64 and its least": (this.s == -(1 << 63), ["==", "s", -(1 << 63)]),
    "a length": (len_(this.xs) > 2, [">", ["len", "xs"], 2]),
    "a fixed length": (len_(this.two) == 2, ["==", ["len", "two"], 2]),
    "a length of bytes": (len_(this.d) == 4, ["==", ["len", "d"], 4]),
    "a length of a constant": (len_(this.m) == 2, ["==", ["len", "m"], 2]),
    "abs_ of wirelock": (abs_(this.b) < 9, ["<", ["abs", "b"], 9]),
    "abs_ of construct": (construct.abs_(this.b) < 9, ["<", ["abs", "b"], 9]),
    "min_": (min_(this.a, this.b, 3) < 2, ["<", ["min", "a", "b", 3], 2]),
    "max_": (max_(this.a, this.b) < 2, ["<", ["max", "a", "b"], 2]),
    "plus": (+this.a, "a"),
    "minus": (-this.a < 0, ["<", ["neg", "a"], 0]),
    "not": (~this.a, ["not", "a"]),
    "and": ((this.a > 0) & (this.b > 0), ["&", [">", "a", 0], [">", "b", 0]]),
    "or": ((this.a > 0) | (this.b > 0), ["|", [">", "a", 0], [">", "b", 0]]),
    "arithmetic": ((this.a + 2) * this.b - 1 == 0, ["==", ["-", ["*", ["+", "a", 2], "b"], 1], 0]),
    "division": (this.b // 3 == this.b % 3, ["==", ["//", "b", 3], ["%", "b", 3]]),
    "shifts": ((this.a << 3 >> 2) == 0, ["==", [">>", ["<<", "a", 3], 2], 0]),
    "bits": ((this.a ^ 3) | (this.b & 12), ["|", ["^", "a", 3], ["&", "b", 12]]),
    "True is one": (this.a + True == 1, ["==", ["+", "a", 1], 1]),
    "a number on the left": (2 - this.a > 0, [">", ["-", 2, "a"], 0]),
    "an integer of two widths": (this.wide * 2 > 0, [">", ["*", "wide", 2], 0]),
    "a power of two": (2 ** (this.a & 7) > 1, [">", ["<<", 1, ["&", ["&", "a", 7], 63]], 1]),
    "a shift by a field": (this.a >> (this.a & 7) > 1, [">", [">>", "a", ["&", ["&", "a", 7], 63]], 1]),
    "bytes and a constant": (this.d == b"ABCD", ["==", "d", {"bytes": "41424344"}]),
    "bytes on the right": (b"ABCD" != this.d, ["!=", "d", {"bytes": "41424344"}]),  # noqa: SIM300 - what is tested
    "text and a constant": (this.name == "a", ["==", "name", {"text": "a"}]),
    "a product that still fits": (this.w * this.t * this.flag > 0, [">", ["*", ["*", "w", "t"], "flag"], 0]),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name):
    source, expected = READ[name]
    assert expression_to_json(condition(source)) == expected


COLLAPSED = "the condition is always"
REFUSED = {
    # What Python has computed before construct could see it.
    "True": (True, COLLAPSED),
    "a number": (1, COLLAPSED),
    "text": ("a", COLLAPSED),
    "None": (None, COLLAPSED),
    "is": (this.a is None, COLLAPSED),
    # What is no integer expression.
    "a built-in function": (len, "<built-in function len> cannot be read here"),
    "a function within": (this.a + (lambda ctx: ctx.a), "cannot be read here"),
    "an element of a list": (construct.list_[0] == 1, "looks at the elements of an array"),
    "obj_": (construct.obj_ > 1, "has no meaning here"),
    "a string": (this.a == "RED", "`'RED'` is no integer"),
    "a float beside an integer": (this.a > 0.5, "`0.5` is no integer"),
    "bytes": (this.a == b"x", "is no integer"),
    # Operators that not every engine has.
    "true division": (this.a / 2 > 1, "`/` is not known to all engines"),
    "a power": (this.a**2 > 1, "`**` is not known to all engines"),
    "containment": (construct.BinExpr(operator.contains, this.a, 1), "`in` is not known to all engines"),
    "division by a field": (this.a // this.b > 1, "may be zero or less"),
    "a remainder by a field": (this.a % this.b > 1, "may be zero or less"),
    "division by zero": (this.a // 0 > 1, "may be zero or less"),
    "division by less": (this.a // -2 > 1, "may be zero or less"),
    "division of a number by a field": (7 // this.a > 1, "may be zero or less"),
    "a shift by any field": (this.a << this.b > 1, "a shift by -32768..32767, which is not within 0..63"),
    "a shift by 64": (this.a >> 64 > 1, "a shift by 64..64"),
    "a shift by less than nothing": (this.a << -1 > 1, "a shift by -1..-1"),
    "bytes of another length": (this.d == b"ABC", "`d` can never be b'ABC'"),
    "bytes and text": (this.d == "ABCD", "`d` can never be 'ABCD'"),
    "text and bytes": (this.name == b"A", "`name` can never be b'A'"),
    "bytes in order": (this.d < b"ABCD", "`d` is compared by < with b'ABCD'"),
    "a power of any field": (2**this.a > 1, "a shift by 0..255"),
    "a shift out of int64": (1 << (this.a & 63) > 1, "outside of int64"),
    "sum_": (construct.sum_(this.two) > 1, "`sum_` over an array is not known"),
    "min_ of construct": (construct.min_(this.two) > 1, "`min_` over an array is not known"),
    "max_ of construct": (construct.max_(this.two) > 1, "`max_` over an array is not known"),
    "len_ of a sum": (len_(this.a + 1) > 1, "len_ takes the path of a field"),
    "len_ without a path": (len_ > 1, "len_ takes the path of a field"),
    # Intervals.
    "uint64 as a value": (min_(this.u, 3) > 2, "`u` can reach 18446744073709551615, outside of int64"),
    "uint64 arithmetic": (this.u + 1 > 2, "can reach 18446744073709551615"),
    "uint64 and a field": (this.u == this.a, "can reach 18446744073709551615"),
    "uint64 and less than nothing": (this.u > -1, "-1 is outside of `u`"),
    "uint64 and too much": (this.u < 1 << 64, "18446744073709551616 is outside of `u`"),
    "int64 and one more": (this.s + 1 > 2, "can reach 9223372036854775808"),
    "int64 and one less": (this.s - 1 > 2, "can reach -9223372036854775809"),
    "minus int64": (-this.s > 2, "can reach 9223372036854775808"),
    "abs of int64": (abs_(this.s) > 2, "can reach 9223372036854775808"),
    "a product": (this.w * this.w * 2 > 2, "outside of int64"),
    "a shift too far": (this.a << 56 > 2, "outside of int64"),
    "a constant too large": (this.a + (1 << 63) > 2, "outside of int64"),
    "a comparison with what is too large": (this.a < 1 << 63, "outside of int64"),
    "in the middle": ((this.s * 4) % 3 == 1, "outside of int64"),
    # Paths.
    "a field that is not there": (this.nope > 1, "`nope` is not a field read before this one"),
    "a later field": (this.here > 1, "`here` is not a field read before this one"),
    "a field of a number": (this.a.b > 1, "`a.b` is not a field read before this one"),
    "a field of a struct that is not there": (this.p.q.z > 1, "`p.q.z` is not a field"),
    "a flag that is not there": (this.door.AJAR, "`door.AJAR` is not a field"),
    "through an array": (this.xs[0].e > 1, "looks up 0 in an array"),
    "an element's field without an index": (this.xs.e > 1, "`xs.e` is not a field"),
    "the whole record": (this > 1, "is a whole record"),
    "a whole struct": (this.p > 1, "`p` is a whole record"),
    "an array": (this.xs, "`xs` is no integer"),
    "bytes of the record": (this.d, "`d` is no integer"),
    "an optional field": (this.o > 1, "`o` may be absent"),
    "a field of many cases": (this.sw > 1, "`sw` may be absent"),
    "padding": (this.pad > 1, "`pad` may be absent"),
    "len_ of an integer": (len_(this.a) > 1, "`a` has no length"),
    "len_ of what may be absent": (len_(this.o) > 1, "`o` has no length"),
    "construct's stream": (this._io, "`_io` is not known to all engines"),
    "an index outside of arrays": (this._index > 1, "`_index` is not known here"),
    "an outer index": (this._._index > 1, "`_index` is not known to all engines"),
    "construct's parameters": (this._params.x > 1, "`_params` is not known to all engines"),
    "construct's way": (this._parsing, "`_parsing` is not known to all engines"),
    # Enumerations and floats.
    "no member's name": (this.k == "GREEN", "'GREEN' is no member of `k`"),
    "no member's number": (this.k == 3, "3 is no member of `k`"),
    "no member at all": (this.k == None, "None is no member of `k`"),  # noqa: E711 - an expression
    "True for a member": (this.k == True, "True is no member of `k`"),  # noqa: E712 - an expression
    "a float alone": (this.f, "`f` is a float"),
    "a sum of floats": (this.f + 1 > 2, "`f` is a float"),
    "two floats": (this.f > this.f, "`f` is a float"),
    "a float and NaN": (this.f == float("nan"), "`f` is compared with nan"),
    "a float and text": (this.f == "1", "`f` is compared with '1'"),
    "a float and True": (this.f == True, "`f` is compared with True"),  # noqa: E712 - an expression
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    source, problem = REFUSED[name]
    with pytest.raises(SchemaError) as caught:
        condition(source)
    assert caught.value.path == "here"
    assert problem in caught.value.problem
    assert caught.value.remedy


def test_an_expression_too_deep_to_read_is_refused():
    deep = this.a
    for _ in range(5000):
        deep = deep & 1
    with pytest.raises(SchemaError, match="more than 2000 parts and 60 levels"):
        condition(deep)


# -- paths out of the record


def within(wrap, path):
    """A struct of a byte `a` and what `wrap` makes of a struct whose second field reads `path`."""
    return Struct("a" / Byte, "s" / wrap(Struct("e" / Byte, "b" / construct.If(path > 1, Byte))))


def prefixed(inner):
    return construct.PrefixedArray(Byte, inner)


OUT = {
    "its own struct": (within(lambda inner: inner, this.e), "e"),
    "one struct out": (within(lambda inner: inner, this._.a), "_.a"),
    "two structs out": (within(lambda inner: Struct("t" / inner), this._._.a), "_._.a"),
    "an Array has no context of its own": (within(lambda inner: construct.Array(2, inner), this._.a), "_.a"),
    "a PrefixedArray has one": (within(prefixed, this._._.a), "_.a"),
    "a PrefixedArray in a PrefixedArray": (
        within(lambda inner: prefixed(prefixed(inner)), this._._._.a),
        "_.a",
    ),
    "a PrefixedArray further out": (
        within(lambda inner: prefixed(Struct("t" / inner)), this._._._.a),
        "_._.a",
    ),
    "an If has none": (within(lambda inner: construct.If(this.a > 1, inner), this._.a), "_.a"),
    "a Switch has none": (within(lambda inner: construct.Switch(this.a, {1: inner}), this._.a), "_.a"),
    "the root": (within(lambda inner: Struct("t" / inner), this._root.a), "_._.a"),
    "the root through a PrefixedArray": (within(prefixed, this._root.a), "_.a"),
    "the root of the root": (Struct("a" / Byte, "b" / construct.If(this._root.a > 1, Byte)), "a"),
    "out and in again": (
        Struct("p" / Struct("a" / Byte), "s" / Struct("b" / construct.If(this._.p.a > 1, Byte))),
        "_.p.a",
    ),
}


def conditions(node):
    """Yield the conditions in the JSON of a layout."""
    if isinstance(node, dict) and node.get("kind") == "if":
        yield node["condition"]
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from conditions(item)


@pytest.mark.parametrize("name", OUT)
def test_paths_climb_layouts(name):
    source, path = OUT[name]
    assert list(conditions(layout_to_json(walk(source))))[-1] == [">", path, 1]


def test_a_path_that_ends_in_an_array_s_own_context_is_refused():
    source = within(prefixed, this._.a)
    with pytest.raises(SchemaError, match="the path ends in an array's own context; climb one `_` further"):
        walk(source)


def test_a_later_field_of_an_enclosing_struct_is_refused():
    source = Struct("s" / Struct("b" / construct.If(this._.a > 1, Byte)), "a" / Byte)
    with pytest.raises(SchemaError, match=r"^s\.b: `_\.a` is not a field read before this one"):
        walk(source)


# -- laws

RANGES = {
    "a": (0, 255),
    "b": (-32768, 32767),
    "w": (0, (1 << 32) - 1),
    "s": (-9, 9),
    "z": (-1, 0),
    "e": (5, 5),
}
SHAPES = [name for name in OPERATORS if name not in (*COMPARISONS, "//", "%", "<<", ">>")]


@st.composite
def expressions(draw, depth=4):
    """An expression over RANGES, built from nodes alone."""
    form = draw(st.integers(0, 7)) if depth else draw(st.integers(0, 1))
    if form == 0:
        return Number(draw(st.integers(-5, 5) | st.integers(-(1 << 20), 1 << 20)))
    if form == 1:
        return Path(0, (draw(st.sampled_from(sorted(RANGES))),))
    left = draw(expressions(depth=depth - 1))
    if form == 2:
        divisor = Number(draw(st.integers(1, 9) | st.integers(1, 1 << 20)))
        return Operation(draw(st.sampled_from(["//", "%"])), (left, divisor))
    if form == 3:
        return Operation(draw(st.sampled_from(["<<", ">>"])), (left, Number(draw(st.integers(0, 63)))))
    if form == 4:
        return Operation(draw(st.sampled_from(COMPARISONS)), (left, draw(expressions(depth=depth - 1))))
    name = draw(st.sampled_from(SHAPES))
    if name in ("neg", "not", "abs"):
        return Operation(name, (left,))
    more = draw(st.integers(1, 2)) if name in ("min", "max") else 1 + (name == "if")
    return Operation(name, (left, *(draw(expressions(depth=depth - 1)) for _ in range(more))))


def interval(expression):
    match expression:
        case Number(value=value):
            return value, value
        case Path(names=(name,)):
            return RANGES[name]
        case Operation(operator=name, operands=operands):
            return OPERATORS[name].interval(*map(interval, operands))
    raise TypeError(expression)


corners = {name: st.sampled_from(ends) | st.integers(*ends) for name, ends in RANGES.items()}


TIGHT = {
    "+": ("+", [(1, 2), (-3, 10)], (-2, 12)),
    "-": ("-", [(1, 2), (-3, 10)], (-9, 5)),
    "*": ("*", [(-2, 3), (-5, 7)], (-15, 21)),
    "//": ("//", [(-7, 7), (2, 2)], (-4, 3)),
    "%": ("%", [(-7, 100), (8, 8)], (0, 7)),
    "<<": ("<<", [(-1, 3), (4, 4)], (-16, 48)),
    ">>": (">>", [(-17, 64), (4, 4)], (-2, 4)),
    "&": ("&", [(0, 200), (0, 15)], (0, 15)),
    "a mask of a signed value": ("&", [(-128, 127), (0, 15)], (0, 15)),
    "a mask that is signed": ("&", [(0, 15), (-128, 127)], (0, 15)),
    "|": ("|", [(0, 8), (0, 3)], (0, 15)),
    "^": ("^", [(0, 8), (0, 3)], (0, 15)),
    "neg": ("neg", [(-1, 5)], (-5, 1)),
    "not": ("not", [(0, 9)], (0, 1)),
    "abs": ("abs", [(-9, 3)], (0, 9)),
    "abs of what is above zero": ("abs", [(3, 9)], (3, 9)),
    "abs of what is below zero": ("abs", [(-9, -3)], (3, 9)),
    "min": ("min", [(0, 9), (-3, 5)], (-3, 5)),
    "max": ("max", [(0, 9), (-3, 5)], (0, 9)),
    "if": ("if", [(0, 1), (-3, 5), (4, 9)], (-3, 9)),
    "max of three": ("max", [(0, 1), (2, 3), (-5, 9)], (2, 9)),
    "==": ("==", [(0, 9), (0, 9)], (0, 1)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_an_interval_is_no_wider_than_it_must_be(name):
    """A wider one would refuse expressions that are sound."""
    spelled, operands, expected = TIGHT[name]
    assert OPERATORS[spelled].interval(*operands) == expected


@pytest.mark.parametrize(
    "found",
    [
        ["if", "a", 1], ["if", 1], ["if", "a", 1, 2, 3], ["+", 1], ["not", 1, 2], ["neg"], ["min", 1],
        ["abs", 1, 2], ["index", 1], {"index": True},
    ],
    ids=repr,
)  # fmt: skip
def test_json_of_another_form_is_no_expression(found):
    with pytest.raises(ValueError, match="expression"):
        expression_from_json(found)


@pytest.mark.parametrize("expression", [Index(), Operation("if", (Index(), Path(0, ("a",)), Number(-1)))])
def test_an_expression_comes_back_from_its_json(expression):
    assert expression_from_json(expression_to_json(expression)) == expression


@settings(max_examples=600, deadline=None)
@given(expressions(), st.fixed_dictionaries(corners))
def test_a_value_lies_inside_of_its_interval(expression, values):
    low, high = interval(expression)
    assert low <= evaluate(expression, lambda path: values[path.names[0]]) <= high


@settings(max_examples=600, deadline=None)
@given(expressions(), st.fixed_dictionaries(corners))
def test_python_source_means_the_same(expression, values):
    text = python_source(expression, lambda part: part.names[0] if isinstance(part, Path) else None)
    found = eval(text, {"__builtins__": {"abs": abs, "min": min, "max": max}}, dict(values))
    assert found == evaluate(expression, lambda path: values[path.names[0]])
    assert text == expression_text(expression)


@settings(max_examples=200, deadline=None)
@given(expressions())
def test_paths_in_finds_what_is_read(expression):
    read = set()
    evaluate(expression, lambda path: read.add(path) or 1)
    assert set(paths_in(expression)) == read


A, B, W = (Path(0, (name,)) for name in "abw")


def op(name, *operands):
    return Operation(name, operands)


SPELLED = {
    "a left operand of its own strength": ("a - b - w", op("-", op("-", A, B), W)),
    "a right operand of its own strength": ("a - (b - w)", op("-", A, op("-", B, W))),
    "a weaker operand": ("(a + b) * w", op("*", op("+", A, B), W)),
    "a stronger operand": ("a + b * w", op("+", A, op("*", B, W))),
    "comparisons never chain": ("(a < b) < w", op("<", op("<", A, B), W)),
    "not beside a comparison": ("(not a) == b", op("==", op("not", A), B)),
    "not of a comparison": ("not a == b", op("not", op("==", A, B))),
    "a negative number": ("a - -5", op("-", A, Number(-5))),
    "minus a sum": ("-(a + b)", op("neg", op("+", A, B))),
    "a choice": ("a if b else w", op("if", B, A, W)),
    "a choice in the end": ("a if b else w if a else b", op("if", B, A, op("if", A, W, B))),
    "a choice in the middle": ("(w if a else b) if b else a", op("if", B, op("if", A, W, B), A)),
    "a choice of choices": ("a if (w if a else b) else b", op("if", op("if", A, W, B), A, B)),
    "a choice beside others": ("(a if b else w) + 1", op("+", op("if", B, A, W), Number(1))),
    "not of a choice": ("not (a if b else w)", op("not", op("if", B, A, W))),
    "an index": ("_index + 1", op("+", Index(), Number(1))),
    "a call": ("max(a, 0) * 2", op("*", op("max", A, Number(0)), Number(2))),
}


@pytest.mark.parametrize("name", SPELLED)
def test_how_expressions_read(name):
    text, expression = SPELLED[name]
    assert expression_text(expression) == text


@st.composite
def this_expressions(draw, depth=3):
    """An expression as an author writes it."""
    form = draw(st.integers(0, 6)) if depth else 0
    if form == 0:
        return draw(st.sampled_from([this.a, this.b, this.w, this.s.v, this.flag]))
    left = draw(this_expressions(depth=depth - 1))
    right = draw(st.integers(-3, 3) | this_expressions(depth=depth - 1))
    if form == 1:
        return draw(st.sampled_from([operator.floordiv, operator.mod, operator.rshift]))(
            left, draw(st.integers(1, 9))
        )
    if form == 2:
        compare = draw(
            st.sampled_from([operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
        )
        return compare(left, right)
    if form == 3:
        return draw(st.sampled_from([operator.neg, operator.invert, operator.pos, abs_, construct.abs_]))(
            left
        )
    if form == 4:
        return draw(st.sampled_from([min_, max_]))(left, right)
    join = draw(
        st.sampled_from([operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor])
    )
    return join(left, right) if draw(st.booleans()) else join(right, left)


PLACE = Struct("a" / Byte, "b" / Int16sl, "w" / Int16ul, "s" / Struct("v" / Int8sb), "flag" / Flag)


@settings(max_examples=400, deadline=None)
@given(this_expressions(), st.binary(min_size=7, max_size=7))
def test_an_expression_means_what_construct_computes(source, data):
    data = data[:-1] + bytes([data[-1] & 1])
    try:
        kind = walk(Struct(*PLACE.subcons, "v" / construct.Rebuild(Int64sl, source)))["v"]
    except SchemaError as error:
        assert "outside of int64" in error.problem
        return
    values = PLACE.parse(data)

    def value_of(path):
        found = values
        for name in path.names:
            found = found[name]
        return found

    found = evaluate(kind.derived, value_of)
    assert found == source(Container(values))
    assert INT64[0] <= found <= INT64[1]

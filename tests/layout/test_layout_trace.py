"""Functions in layouts: what tracing reads, what it refuses and why, and that it never changes a meaning."""

import enum
import math
import signal

import construct
import pytest
from construct import Byte, Flag, Int8sb, Int16sl, Int32ul, Int64sl, Int64ul, Struct, len_, list_, obj_, this

from wirelock import SchemaError, abs_
from wirelock.layout.bytecode import Untraceable
from wirelock.layout.canonical import expression_to_json
from wirelock.layout.describe import expression_text
from wirelock.layout.expression import Scope, read_expression, read_until
from wirelock.layout.nodes import Integer
from wirelock.layout.trace import _Symbol
from wirelock.layout.walk import walk


class Kind(enum.IntEnum):
    A = 1
    B = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


class Plain(enum.Enum):
    A = 1


KINDS = construct.Enum(Byte, A=1, B=2)
NAMED = "k" / KINDS
LIMIT, HALF, NAME = 7, 0.5, "A"
TABLE, PAIR, NOTHING = {1: 2}, (1, 2), None

FIELDS = (
    "tag" / construct.Bytes(2),
    "name" / construct.CString("utf8"),
    "a" / Byte,
    "b" / Int16sl,
    "w" / Int32ul,
    "u" / Int64ul,
    "f" / construct.Float32l,
    "flag" / Flag,
    "k" / construct.Enum(Byte, Kind),
    "door" / construct.FlagsEnum(Byte, Door),
    "d" / construct.Bytes(4),
    "xs" / construct.PrefixedArray(Byte, Byte),
    "p" / Struct("x" / Byte, "q" / Struct("y" / Int8sb)),
    "items" / Byte,
    "o" / construct.If(this.a > 1, Byte),
)


def value(function):
    """Read a function as the value of a field behind all of FIELDS."""
    found = walk(Struct(*FIELDS, "here" / construct.Rebuild(Int64sl, function)))["here"].derived
    return expression_text(found)


def condition(function):
    """Read a function as the condition of a field behind all of FIELDS."""
    found = walk(Struct(*FIELDS, "here" / construct.If(function, Byte)))["here"].type.condition
    return expression_text(found)


def branches(ctx):
    """A function with a name is traced as a lambda is."""
    if ctx.a > 1:
        return 3
    if ctx.b:
        return ctx.a
    return 0


def by_match(ctx):
    match ctx.k:
        case Kind.A:
            return 4
        case _:
            return 5


def with_default(ctx, least=3, *, kind=Kind.B):
    return ctx.a > least and ctx.k == kind


def from_outside():
    limit, kinds = 9, Kind
    return lambda ctx: ctx.a == limit or ctx.k == kinds["A"]


VALUES = {
    "a field": (lambda ctx: ctx.a, "a"),
    "a field by item": (lambda ctx: ctx["a"], "a"),
    "a field called as a method of construct's": (lambda ctx: ctx["items"], "items"),
    "a field of a struct": (lambda ctx: ctx.p.q.y, "p.q.y"),
    "a constant": (lambda ctx: 3 * 4, "12"),
    "arithmetic": (lambda ctx: (ctx.a + 2) * ctx.b - 1, "(a + 2) * b - 1"),
    "from the right": (lambda ctx: 7 - ctx.a * (1 + ctx.b), "7 - a * (1 + b)"),
    "division": (lambda ctx: ctx.b // 3 + ctx.b % 3, "b // 3 + b % 3"),
    "bits": (lambda ctx: (ctx.a ^ 3 | ctx.b & 12) << 1 >> 2, "(a ^ 3 | b & 12) << 1 >> 2"),
    "signs": (lambda ctx: +ctx.a - -ctx.b, "a - -b"),
    "inversion": (lambda ctx: ~ctx.a & 3, "(a ^ -1) & 3"),
    "len": (lambda ctx: len(ctx.xs) + len(ctx.d), "len(xs) + len(d)"),
    "abs, min, max": (lambda ctx: max(abs(ctx.b), 3) + min(ctx.a, ctx.b, 5), "max(abs(b), 3) + min(a, b, 5)"),
    "of constants": (lambda ctx: ctx.a + max(1, 2) + abs(-3) + len("ab") + int(True), "a + 2 + 3 + 2 + 1"),
    "int of a truth value": (lambda ctx: int(ctx.a > 1) + int(ctx.flag), "(a > 1) + flag"),
    "bool": (lambda ctx: bool(ctx.a) + bool(ctx.flag) + bool(0), "(a != 0) + flag + 0"),
    "if": (lambda ctx: ctx.a * 2 if ctx.a > 3 else 1, "a * 2 if a > 3 else 1"),
    "if in if": (lambda ctx: 1 if ctx.a else 2 if ctx.b else 3, "1 if a else 2 if b else 3"),
    "if and": (
        lambda ctx: 3 if ctx.a > 1 and ctx.b and ctx.w else 4,
        "3 if (a > 1) & (b != 0) & (w != 0) else 4",
    ),
    "if or": (lambda ctx: 3 if ctx.a > 1 or ctx.b > 2 else 4, "3 if (a > 1) | (b > 2) else 4"),
    "if not": (lambda ctx: 3 if not ctx.a else ctx.b, "b if a else 3"),
    "two ifs": (
        lambda ctx: (1 if ctx.a else 2) + (3 if not ctx.b else 4),
        "(5 if b else 4) if a else 6 if b else 5",
    ),
    "one condition twice": (lambda ctx: (1 if ctx.a else 2) + (3 if ctx.a else 4), "4 if a else 6"),
    "both the same": (lambda ctx: 5 if ctx.a else 5, "5"),  # noqa: RUF034 - what is tested
    "and of numbers": (lambda ctx: ctx.a and ctx.b, "b if a else 0"),
    "or of numbers": (lambda ctx: ctx.a or 5, "a if a else 5"),
    "and of truths": (lambda ctx: ctx.flag and ctx.a > 3, "flag & (a > 3)"),
    "or of truths": (lambda ctx: ctx.flag or ctx.a > 3, "flag | (a > 3)"),
    "not": (lambda ctx: not ctx.a, "not a"),
    "branches": (branches, "3 if a > 1 else a if b else 0"),
    "match": (by_match, "4 if k == 1 else 5"),
    "a global number": (lambda ctx: ctx.a + LIMIT, "a + 7"),
    "constants of modules": (lambda ctx: ctx.a + signal.SIGINT * int(math.pi), "a + 6"),
}  # fmt: skip

TAGGED = "((tag == b'AB') | (tag == b'CD')) & (name != 'x')"
CONDITIONS = {
    "bytes": (lambda ctx: ctx.tag in (b"AB", b"CD") and ctx.name != "x", TAGGED),
    "in a tuple": (lambda ctx: ctx.a in (1, 2), "(a == 1) | (a == 2)"),
    "not in a set": (lambda ctx: ctx.a not in {2, 1}, "(not a == 1) & (not a == 2)"),
    "in a list of members": (lambda ctx: ctx.k in [Kind.A, "B"], "(k == 1) | (k == 2)"),
    "in a tuple around": (lambda ctx: ctx.a in PAIR, "(a == 1) | (a == 2)"),
    "C5": (lambda ctx: ctx.k == Kind.A, "k == 1"),
    "a member on the left": (lambda ctx: Kind.B > ctx.k, "k < 2"),  # noqa: SIM300 - what is tested
    "a member by item": (lambda ctx: ctx.k == Kind["A"], "k == 1"),
    "a member's value": (lambda ctx: ctx.k == Kind.A.value, "k == 1"),
    "a member of construct's": (lambda ctx: ctx.k == KINDS.A, "k == 1"),
    "a member of construct's with a name": (lambda ctx: ctx.k != NAMED.B, "k != 2"),
    "a member's name": (lambda ctx: ctx.k == "B" or ctx.k == NAME, "(k == 2) | (k == 1)"),
    "a number of a member": (lambda ctx: int(ctx.k) > 1, "k > 1"),
    "a mask of flags": (lambda ctx: ctx.door & Door.LOCKED, "door & 4"),
    "a flag": (lambda ctx: ctx.door.LOCKED, "door & 4 == 4"),
    "a flag by item": (lambda ctx: not ctx.door["OPEN"], "not door & 1 == 1"),
    "a float": (lambda ctx: ctx.f < 0.1 or ctx.f >= HALF, "(f < 0.1) | (f >= 0.5)"),
    "no float": (lambda ctx: not ctx.f < math.pi, "not f < 3.141592653589793"),
    "a uint64": (lambda ctx: ctx.u == (1 << 64) - 1, "u == 18446744073709551615"),
    "a uint64 that is not 0": (lambda ctx: ctx.u and ctx.a, "(u != 0) & (a != 0)"),
    "a chain": (lambda ctx: 0 < ctx.a < 5, "(a > 0) & (a < 5)"),
    "and, or, not": (
        lambda ctx: (0 < ctx.a < 5 and not ctx.b) or ctx.flag,
        "(a > 0) & (a < 5) & (not b) | flag",
    ),
    "not of and": (lambda ctx: not (ctx.a and ctx.b), "(not a) | (not b)"),
    "and of or": (lambda ctx: (ctx.a or ctx.b) and ctx.w, "((a != 0) | (b != 0)) & (w != 0)"),
    "and of numbers": (lambda ctx: ctx.a and ctx.b, "(a != 0) & (b != 0)"),
    "numbers for truths": (lambda ctx: 3 if ctx.a > 1 else 0, "a > 1"),
    "True and False": (lambda ctx: False if ctx.a > 1 else True, "not a > 1"),  # noqa: SIM211 - what is tested
    "unless": (lambda ctx: ctx.b > 1 if ctx.flag else ctx.b < 1, "b > 1 if flag else b < 1"),
    "defaults": (with_default, "(a > 3) & (k == 2)"),
    "what is outside": (from_outside(), "(a == 9) | (k == 1)"),
    "C21, abs": (lambda ctx: abs(ctx.b) > 32767, "abs(b) > 32767"),
    "C21, below zero": (lambda ctx: ctx.a - ctx.p.x < 0, "a - p.x < 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_what_is_read_as_a_value(name):
    function, text = VALUES[name]
    assert value(function) == text


@pytest.mark.parametrize("name", CONDITIONS)
def test_what_is_read_as_a_condition(name):
    function, text = CONDITIONS[name]
    assert condition(function) == text


def walrus(ctx):
    return (n := ctx.a) + n


def loop(ctx):
    while ctx.a:
        pass
    return 1


def forever(ctx):
    n = 0
    while True:
        n += 1


def catching(ctx):
    try:
        return ctx.a
    except KeyError:
        return 0


def half(ctx):  # noqa: RET503 - what is tested
    if ctx.a:
        return 1


def generator(ctx):
    yield ctx.a


def unbound():
    def function(ctx):
        return ctx.a + later

    if LIMIT < 0:
        later = 1
    return function


def many(ctx):
    return (
        (1 if ctx.a == 1 else 2) + (1 if ctx.a == 2 else 2) + (1 if ctx.a == 3 else 2)
        + (1 if ctx.a == 4 else 2) + (1 if ctx.a == 5 else 2) + (1 if ctx.a == 6 else 2)
        + (1 if ctx.a == 7 else 2)
    )  # fmt: skip


def compiled(body):
    """A function as it is without pytest, which rewrites assertions."""
    names = {}
    exec(f"def function(ctx): {body}", names)
    return names["function"]


class Odd(int):
    """A constant that is not what it seems."""

    def __eq__(self, other):
        return False

    __hash__ = int.__hash__


ODD = Odd(3)
IF, FORM, EQ = "choose with if: 2 if ctx.k == 1 else 3", "write it with ctx.a, arithmetic", "ctx.k == 1"

REFUSED = {
    # C18 and its kind
    "is None": (lambda ctx: ctx.a is None, "tests with `is`", "ctx.a == 0"),
    "is not None": (lambda ctx: 1 if ctx.a is not None else 2, "tests with `is`", "ctx.a == 0"),
    "isinstance": (lambda ctx: isinstance(ctx.a, int), "calls `isinstance`", "compare the value"),
    "a dict": (lambda ctx: TABLE[ctx.a], "looks up in the dict `TABLE`", IF),
    "a dict inside": (lambda ctx: {1: 2}[ctx.a], "makes a collection", IF),
    "a tuple": (lambda ctx: PAIR[ctx.a], "looks a value up in a collection", IF),
    "a tuple inside": (lambda ctx: (1, 2)[ctx.a], "looks a value up in a collection", IF),
    "in a field": (lambda ctx: 1 in ctx.a, "tests with `in` a field", "ctx.k == 1 or ctx.k == 2"),
    "in a dict": (lambda ctx: ctx.a in TABLE, "looks up in the dict `TABLE`", IF),
    "an f-string": (lambda ctx: f"{ctx.a}" == "1", "formats text", EQ),
    "a format": (lambda ctx: "%s" % ctx.a == "1", "formats text", EQ),  # noqa: UP031 - what is tested
    "sum of a generator": (lambda ctx: sum(x for x in ctx.xs), "calls `sum`", "ctx.a + ctx.b"),
    "a list": (lambda ctx: len([x for x in ctx.xs]), "", "ctx.a + ctx.b"),  # noqa: C416 - what is tested
    "any": (lambda ctx: any(ctx.xs), "calls `any`", "ctx.a + ctx.b"),
    "min of an array": (lambda ctx: min(ctx.xs), "calls min over an array", "min(ctx.a, ctx.b)"),
    "a walrus": (walrus, "the function `walrus` (line", "write the value where it is used"),
    "while": (loop, "loops", "ctx.a + ctx.b"),
    "without an end": (forever, "assigns", "where it is used"),
    "an assertion": (compiled("assert ctx.a"), "asserts", "give the record a Rule"),
    "a bare raise": (compiled("raise"), "raises", "give the record a Rule"),
    "an import": (compiled("import math"), "imports", "at the top of the file"),
    "a global": (compiled("global LIMIT; LIMIT = ctx.a"), "assigns", "where it is used"),
    "a deletion": (compiled("del ctx"), "deletes", "where it is used"),
    "try": (catching, "catches exceptions", FORM),
    "a generator": (generator, "is a generator", FORM),
    "no value on one way": (half, "returns nothing on one of its ways", "return a value"),
    "no value": (lambda ctx: None, "returns nothing", "return a value"),
    "too many ways": (many, "has more than 64 ways through it", "use fewer"),
    "an exception": (lambda ctx: 1 // 0 + ctx.a, "raises ZeroDivisionError: ", FORM),
    "a nested function": (lambda ctx: (lambda: ctx.a)(), "has a function or a loop inside", "ctx.a + ctx.b"),
    "a slice": (lambda ctx: len(ctx.xs[1:2]), "", ""),
    "an element": (lambda ctx: ctx.xs[0] == 1, "looks up 0 in an array", "name a field"),
    "a field as a number of an element": (lambda ctx: ctx.xs[ctx.a], "looks up an item", "ctx.a"),
    # what it reads and calls
    "a method": (lambda ctx: ctx.get("a"), "calls the method `get`", 'ctx["a"]'),
    "a method's name": (lambda ctx: ctx.items, "a method of construct's", 'write ctx["items"]'),
    "a name of Python's": (lambda ctx: ctx.__class__ == 1, "reads `__class__`", "fields of the layout"),
    "a function of the author's": (lambda ctx: walrus(ctx), "calls `walrus`", FORM),
    "keywords": (lambda ctx: max(ctx.a, ctx.b, key=int), "calls with keywords", "min(ctx.a, 3)"),
    "a star": (lambda ctx: max(*PAIR), "", ""),
    "an enumeration called": (lambda ctx: Kind(ctx.a) == 1, "calls `Kind`", "ctx.k == Kind.A"),
    "an enumeration looked up": (lambda ctx: Kind[ctx.a] == 1, "looks up in `Kind`", IF),
    "a member that is not there": (lambda ctx: ctx.k == Kind.C, "raises AttributeError", FORM),
    "a module's function": (lambda ctx: ctx.a + math.floor, "calls `math.floor`", FORM),
    "this": (lambda ctx: this.a, "mixes in `this`, an expression", "write ctx.a"),
    "len_": (lambda ctx: len_(ctx.xs), "mixes in `len_`, an expression", "write ctx.a"),
    "abs_": (lambda ctx: abs_(ctx.a), "calls `abs_`, which makes expressions", "call abs"),
    "None": (lambda ctx: ctx.a == NOTHING, "reads `NOTHING`, a NoneType", "can be read"),
    "a name that is not there": (lambda ctx: ctx.a == nope, "reads `nope`, which has no value yet", "define"),  # noqa: F821
    "a variable that is not there": (unbound(), "reads `later`, which has no value yet", "define it"),
    "a field that is called": (lambda ctx: (ctx.a or ctx.b)(1), "calls a value", FORM),
    "an item of a sum": (lambda ctx: (ctx.a + 1).b, "looks up an item where there is no field", "ctx.a"),
    "any arguments": (lambda *args: args[0].a, "takes any number of arguments", "lambda ctx"),
    "two arguments": (lambda ctx, other: ctx.a, "does not take 1 argument", "lambda ctx"),
    "no argument": (lambda: 3, "does not take 1 argument", "lambda ctx"),
    "a keyword of its own": (lambda ctx, *, n: ctx.a, "does not take 1 argument", "lambda ctx"),
    "a default that is a dict": (lambda ctx, table=TABLE: table[ctx.a], "the dict `a default`", IF),
    # what is read, and has no meaning
    "a constant": (lambda ctx: LIMIT > 3, "the condition is always 1", "this.a > 0"),
    "a constant in the end": (lambda ctx: ctx.a or 1, "the condition is always 1", "this.a > 0"),
    "text": (lambda ctx: "A" if ctx.a else "B", "`'A'` is no integer", "expressions compute with integers"),
    "no field": (lambda ctx: ctx.nope, "`nope` is not a field read before this one", "a, b, w"),
    "an optional field": (lambda ctx: ctx.o == 1, "`o` may be absent", "always there"),
    "the whole record": (lambda ctx: ctx == 1, "is a whole record", "name one of its fields"),
    "an array": (lambda ctx: ctx.xs, "`xs` is no integer", "len_(this.xs)"),
    "a float": (lambda ctx: int(ctx.f) > 1, "`f` is a float", "compared with a constant"),
    "true division": (lambda ctx: ctx.a / 2 > 1, "`/` is not known to all engines", "use //"),
    "a power": (lambda ctx: ctx.a**2 > 1, "`**` is not known to all engines", "write 1 << x for 2 ** x"),
    "a shift by a field": (lambda ctx: 1 << ctx.a, "a shift by 0..255", "1 << (this.a & 31)"),
    "division by a field": (lambda ctx: 8 // ctx.a if ctx.a else 0, "may be zero or less", "by a positive"),
    "a product": (lambda ctx: ctx.w * ctx.w * 2 > 2, "outside of int64", "narrower"),
    "a uint64 as a value": (lambda ctx: min(ctx.u, 3), "outside of int64", "64-bit field with a constant"),
    "~ of a truth value": (lambda ctx: ~ctx.flag, "`~` of a truth value is never 0", "write not ctx.a"),
    "no member": (lambda ctx: ctx.k == 3, "3 is no member of `k`", "A, B"),
    "no integer member": (lambda ctx: ctx.k == Plain.A, "is no member of `k`", "A, B"),
    "construct's own names": (lambda ctx: ctx._io, "`_io` is not known to all engines", "name a field"),
    # what says one thing and does another
    "a constant that deceives": (lambda ctx: ctx.a == ODD, "is False, its trace True, where a = 3", "`this`"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    function, problem, remedy = REFUSED[name]
    with pytest.raises(SchemaError) as caught:
        condition(function)
    assert caught.value.path == "here"
    assert problem in caught.value.problem
    assert caught.value.remedy
    assert remedy in caught.value.remedy


USES = {
    "hash": hash, "iter": iter, "len": len, "int": int, "float": float, "str": str, "repr": repr,
    "format": format, "an index": range(3).__getitem__, "in": lambda symbol: 1 in symbol,
    "a call": lambda symbol: symbol(1),
    "a set": lambda symbol: {symbol}, "unpacking": lambda symbol: [*symbol],
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
def test_a_symbol_lets_nothing_out(name):
    """Whatever the code that is let through might do with it."""
    with pytest.raises(Untraceable):
        USES[name](_Symbol(this.a, None))


def test_a_function_inside_of_a_record_is_read_again_where_the_record_is_held():
    inner = Struct("e" / Byte, "x" / construct.If(lambda ctx: ctx._.k == "A" and ctx.e, Byte))
    walk(inner)
    held = walk(Struct(*FIELDS, "r" / inner))
    assert expression_text(held["r"].type["x"].type.condition) == "(_.k == 1) & (e != 0)"
    with pytest.raises(SchemaError, match=r"'A' is no member of `_\.k`"):
        walk(Struct("k" / construct.Enum(Byte, C=1), "r" / inner))


def test_a_switch_by_a_function_keeps_the_key_s_value():
    source = construct.Switch(lambda ctx: ctx.a and ctx.b, {0: Byte, -5: Int16sl})
    assert expression_text(walk(Struct(*FIELDS, "here" / source))["here"].type.key) == "b if a else 0"


# -- the condition of a RepeatUntil ----------------------------------------------------------------

ELEMENT = walk(Struct("kind" / construct.Enum(Byte, Kind), "n" / Byte, "d" / construct.Bytes(2)))


def scope_of(*fields, parent=None):
    scope = Scope(parent)
    scope.types = {item.name: item.type for item in walk(Struct(*fields)).fields}
    return scope


OUTSIDE = scope_of("n" / Byte, "t" / Byte)
SCOPE = scope_of("n" / Byte, "s" / Struct("v" / Byte), parent=OUTSIDE)
BYTE = Integer(8, False, "big")

UNTIL = {
    "the element": (obj_ == 0, BYTE, ["==", "obj_", 0]),
    "the element's own truth": (obj_, BYTE, "obj_"),
    "a field of it": (obj_.kind == Kind.A, ELEMENT, ["==", "obj_.kind", 1]),
    "a length in it": (len_(obj_.d) == 2, ELEMENT, ["==", ["len", "obj_.d"], 2]),
    "a lambda": (lambda x, lst, ctx: x == 0, BYTE, ["==", "obj_", 0]),
    "a field by a lambda": (lambda x, lst, ctx: x.kind == "B", ELEMENT, ["==", "obj_.kind", 2]),
    "two by a lambda": (
        lambda x, lst, ctx: x.n == 0 and ctx.n,
        ELEMENT,
        ["&", ["==", "obj_.n", 0], ["!=", "_.n", 0]],
    ),
    "a field of a struct around": (lambda x, lst, ctx: x == ctx.s.v, BYTE, ["==", "obj_", "_.s.v"]),
    "further out": (lambda x, lst, ctx: x == ctx._.t, BYTE, ["==", "obj_", "_._.t"]),
    "the root": (lambda x, lst, ctx: x == ctx._root.t, BYTE, ["==", "obj_", "_._.t"]),
}


@pytest.mark.parametrize("name", UNTIL)
def test_how_a_repetition_ends(name):
    predicate, element, expected = UNTIL[name]
    assert expression_to_json(read_until(predicate, element, SCOPE, "xs")) == expected


NEVER = {
    "a constant": (True, "the condition is always True", "this.a > 0"),
    "a constant lambda": (lambda x, lst, ctx: 1, "the condition is always 1", "this.a > 0"),
    "this": (this.n == obj_, "`this` means the element here", "lambda x, lst, ctx: x == ctx.n"),
    "the elements so far": (list_[0] == 0, "looks at the elements", "obj_ == 0"),
    "the elements so far, by a lambda": (
        lambda x, lst, ctx: lst[0] == 0,
        "`list_` has no meaning here",
        "lambda x, lst, ctx: x == 0",
    ),
    "their number": (lambda x, lst, ctx: len(lst) == 3, "`list_` has no meaning here", "x == 0"),
    "a lambda of one argument": (lambda ctx: ctx == 0, "does not take 3 arguments", "lambda x, lst, ctx"),
    "a lambda within": (obj_ == (lambda x: x), "cannot be read here", "write one lambda"),
    "the number of the element": (
        lambda x, lst, ctx: ctx._index == 2,
        "`_index` is not known here",
        "element",
    ),
    "no field of the element": (lambda x, lst, ctx: x.n == 2, "`obj_.n` is not a field", "obj_"),
    "a field beside": (obj_._.n == 2, "`_` is not known to all engines", "name a field"),
}


@pytest.mark.parametrize("name", NEVER)
def test_how_no_repetition_ends(name):
    predicate, problem, remedy = NEVER[name]
    with pytest.raises(SchemaError) as caught:
        read_until(predicate, BYTE, SCOPE, "xs")
    assert caught.value.path == "xs"
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


def test_the_element_is_not_known_elsewhere():
    with pytest.raises(SchemaError, match="`obj_` has no meaning here"):
        read_expression(obj_ == 0, SCOPE, "x")

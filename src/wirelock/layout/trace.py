"""A function that describes a layout -> the expression that it computes, by tracing.

The function is called with a symbol in place of construct's context. The symbol notes what is done with
it, and each test of its truth is taken both ways, one call a path; what comes out is one expression of
construct's, which is then read like any other. Nothing is guessed: a function that does anything else than
its code and its symbols can show is a SchemaError that says what it does, and what to write instead.
"""

from __future__ import annotations

import builtins
import enum
import operator
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType
from typing import Any, Final

import construct
from construct.expr import BinExpr, ExprMixin, FuncPath, UniExpr
from construct.expr import Path as ConstructPath

from wirelock.errors import SchemaError
from wirelock.layout.bytecode import ARRAYS, CHOICE, FORM, Untraceable, check_code
from wirelock.layout.calls import Call, abs_, max_, min_

__all__ = ["MAX_PATHS", "function_text", "trace"]

MAX_PATHS: Final = 64
"""A function with more ways through it is refused."""
_METHODS: Final = frozenset(name for name in dir(construct.Container) if not name.startswith("_"))
"""Names under which a context of construct's has its methods, not its fields."""


def trace(function: FunctionType, roots: tuple[str, ...], where: str) -> Any:
    """Return what a function computes as an expression of construct's, or the constant that it returns.

    `roots` names what the function is called with: "this" for the context. Raises SchemaError, with
    `where` as its path, for a function that cannot be traced.
    """
    try:
        return _Tracer(function, roots).explore([])
    except Untraceable as problem:
        raise SchemaError(where, f"{function_text(function)} {problem.problem}", problem.remedy) from None


def function_text(function: FunctionType) -> str:
    """Return what messages call a function."""
    code = function.__code__
    name = "the lambda" if code.co_name == "<lambda>" else f"the function `{code.co_name}`"
    return f"{name} (line {code.co_firstlineno})"


class _Tracer:
    """Calls one function over and over, each time with other answers to what it tests."""

    def __init__(self, function: FunctionType, roots: tuple[str, ...]) -> None:
        self.roots = roots
        self.paths = 0
        self.copy = _with_symbols(function, len(roots))
        self.answers: list[bool] = []
        self.tests: list[Any] = []
        self.known: dict[str, bool] = {}

    def explore(self, answers: list[bool]) -> Any:
        """Return the expression behind the first `answers`."""
        self.paths += 1
        if self.paths > MAX_PATHS:
            raise Untraceable(f"has more than {MAX_PATHS} ways through it", "use fewer if, and, or")
        self.answers, self.tests, self.known = [*answers], [], {}
        found = self._call()
        tests, taken = self.tests, self.answers
        for number in reversed(range(len(answers), len(tests))):
            other = self.explore([*taken[:number], False])
            found = Call("if", (tests[number], found, other))
        return found

    def _call(self) -> Any:
        symbols = [_Symbol(ConstructPath(name), self) for name in self.roots]
        try:
            found = self.copy(*symbols)
        except Untraceable:
            raise
        except Exception as problem:  # of the author's own code, which may raise anything
            raise Untraceable(f"raises {type(problem).__name__}: {problem}") from None
        if found is None:
            raise Untraceable("returns nothing on one of its ways", "return a value in each")
        return _tree(found)

    def test(self, tree: Any) -> bool:
        """Answer whether a value is not 0: as before on this path, as told, or yes for the first time."""
        text = repr(tree)
        if text not in self.known:
            if len(self.tests) == len(self.answers):
                self.answers.append(True)
            self.known[text] = self.answers[len(self.tests)]
            self.tests.append(tree)
        return self.known[text]


class _Symbol:
    """A value that is not known: what is done with it becomes part of an expression, or is refused."""

    __slots__ = ("__tracer__", "__tree__")

    def __init__(self, tree: Any, tracer: _Tracer) -> None:
        self.__tree__ = tree
        self.__tracer__ = tracer

    def __getattr__(self, name: str) -> _Symbol:
        if name in _METHODS:
            raise Untraceable(f"reads `{name}`, which is a method of construct's", f'write ctx["{name}"]')
        return self[name]

    def __getitem__(self, name: Any) -> _Symbol:
        if not isinstance(name, str | int) or not isinstance(self.__tree__, ConstructPath):
            raise Untraceable("looks up an item where there is no field", "name a field: ctx.a")
        return _like(self, self.__tree__[name])

    def __bool__(self) -> bool:
        return self.__tracer__.test(self.__tree__)

    def __invert__(self) -> _Symbol:
        return _like(self, Call("^", (self.__tree__, -1)))

    def __neg__(self) -> _Symbol:
        return _like(self, UniExpr(operator.neg, self.__tree__))

    def __pos__(self) -> _Symbol:
        return _like(self, UniExpr(operator.pos, self.__tree__))


def _like(symbol: _Symbol, tree: Any) -> _Symbol:
    return _Symbol(tree, symbol.__tracer__)


def _tree(value: Any) -> Any:
    return value.__tree__ if isinstance(value, _Symbol) else value


def _binary(compute: Callable[[Any, Any], Any]) -> Callable[[_Symbol, Any], _Symbol]:
    return lambda left, right: _like(left, BinExpr(compute, _tree(left), _tree(right)))


def _reflected(compute: Callable[[Any, Any], Any]) -> Callable[[_Symbol, Any], _Symbol]:
    return lambda right, left: _like(right, BinExpr(compute, _tree(left), _tree(right)))


def _refusal(problem: str, remedy: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise Untraceable(problem, remedy)

    return refuse


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Symbol, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
):
    _compute = getattr(operator, f"__{_name}__")
    setattr(_Symbol, f"__{_name}__", _binary(_compute))
    setattr(_Symbol, f"__r{_name}__", _reflected(_compute))
for _name, _problem, _remedy in (
    ("hash", "looks a value up in a collection", CHOICE),
    ("index", "looks a value up in a collection", CHOICE),
    ("contains", "tests with `in` a field", "compare it with each value: ctx.k == 1 or ctx.k == 2"),
    ("iter", "loops", FORM),
    ("len", "asks for a length in another way than by len", "write len(ctx.xs)"),
    ("call", "calls a value", FORM),
    ("str", "formats text", "compare the value itself: ctx.k == 1"),
    ("repr", "formats text", "compare the value itself: ctx.k == 1"),
    ("format", "formats text", "compare the value itself: ctx.k == 1"),
    ("int", "makes a number of a value in another way than by int", "write int(ctx.a)"),
    ("float", "makes a float of a value", "compare the value itself: ctx.x > 0.5"),
):
    setattr(_Symbol, f"__{_name}__", _refusal(_problem, _remedy))


# -- what a function reads besides its arguments ---------------------------------------------------


def _with_symbols(function: FunctionType, arguments: int) -> FunctionType:
    """Return a copy of a function that sees nothing of what is around it but constants and symbols."""
    code, defaults = function.__code__, function.__defaults__ or ()
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    outer = {name: _outer(function, name, cells) for name in check_code(code)}
    named = function.__kwdefaults__ or {}
    if not code.co_argcount - len(defaults) <= arguments <= code.co_argcount or (
        len(named) < code.co_kwonlyargcount
    ):
        wanted = "lambda ctx: ctx.a > 0" if arguments == 1 else "lambda x, lst, ctx: x == 0"
        raise Untraceable(f"does not take {arguments} argument{'s'[: arguments > 1]}", f"write {wanted}")
    listed = tuple(_listed(value) if isinstance(value, frozenset) else value for value in code.co_consts)
    copy = FunctionType(
        code.replace(co_consts=listed),
        {"__builtins__": {}, **outer},
        code.co_name,
        tuple(_constant(value, "a default") for value in defaults),
        tuple(CellType(outer[name]) for name in code.co_freevars),
    )
    copy.__kwdefaults__ = {name: _constant(value, name) for name, value in named.items()}
    return copy


def _outer(function: FunctionType, name: str, cells: dict[str, CellType]) -> Any:
    """Return what a name around the function stands for, as the traced copy is to see it."""
    try:
        if name in cells:
            value = cells[name].cell_contents
        else:
            scope = function.__globals__
            value = scope[name] if name in scope else getattr(builtins, name)
    except (AttributeError, ValueError):
        raise Untraceable(f"reads `{name}`, which has no value yet", "define it above the layout") from None
    for original, symbolic in _CALLS:
        if value is original:
            return symbolic
    return _constant(value, name)


def _listed(values: Any) -> tuple[Any, ...]:
    """Return the values of a collection, those of a set in an order that is always the same."""
    return tuple(sorted(values, key=repr) if isinstance(values, set | frozenset) else values)


def _constant(value: Any, name: str) -> Any:
    """Return a value that a function may read as it is, or what gives such values."""
    inner = value
    while isinstance(inner, construct.Renamed):
        inner = inner.subcon
    match inner:
        case int() | float() | str() | enum.Enum():
            return inner
        case ModuleType() | enum.EnumMeta() | construct.Enum():
            return _Holder(inner, name)
        case list() | tuple() | set() | frozenset():
            return tuple(_constant(item, name) for item in _listed(value))
        case dict():
            raise Untraceable(f"looks up in the {type(value).__name__} `{name}`", CHOICE)
        case ExprMixin():
            raise Untraceable(f"mixes in `{name}`, an expression", "write ctx.a in place of this.a")
    if any(value is function for function in _OF_EXPRESSIONS):
        raise Untraceable(f"calls `{name}`, which makes expressions", "call abs, min and max themselves")
    if any(value is function for function in _OF_TYPES):
        raise Untraceable(f"calls `{name}`", "compare the value: what kind it is, the layout says")
    if any(value is function for function in _OF_ARRAYS):
        raise Untraceable(f"calls `{name}`", ARRAYS)
    if callable(value):
        raise Untraceable(f"calls `{name}`")
    raise Untraceable(
        f"reads `{name}`, a {type(value).__name__}", "numbers, text and enumerations can be read"
    )


_OF_EXPRESSIONS: Final = (abs_, min_, max_)
_OF_TYPES: Final = (isinstance, issubclass, type, hasattr, callable)
_OF_ARRAYS: Final = (sum, any, all, map, filter, range, sorted, reversed, enumerate, zip)


class _Holder:
    """A module or an enumeration, as a traced function sees it: nothing but the constants inside."""

    __slots__ = ("__inner__", "__label__")

    def __init__(self, inner: Any, label: str) -> None:
        self.__inner__ = inner
        self.__label__ = label

    def __getattr__(self, name: str) -> Any:
        return _constant(getattr(self.__inner__, name), f"{self.__label__}.{name}")

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, _Symbol):
            raise Untraceable(f"looks up in `{self.__label__}`", CHOICE)
        return _constant(self.__inner__[name], f"{self.__label__}[{name!r}]")

    def __call__(self, *_: Any) -> Any:
        raise Untraceable(
            f"calls `{self.__label__}`", f"compare with its members: ctx.k == {self.__label__}.A"
        )


def _len(value: Any) -> Any:
    return _like(value, FuncPath(len, value.__tree__)) if isinstance(value, _Symbol) else len(value)


def _abs(value: Any) -> Any:
    return _like(value, Call("abs", (value.__tree__,))) if isinstance(value, _Symbol) else abs(value)


def _extreme(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(*values: Any) -> Any:
        symbol = next((value for value in values if isinstance(value, _Symbol)), None)
        if symbol is None:
            return compute(*values)
        if len(values) < 2:
            raise Untraceable(f"calls {name} over an array", f"write {name}(ctx.a, ctx.b)")
        return _like(symbol, Call(name, tuple(map(_tree, values))))

    return extreme


def _bool(value: Any = False) -> Any:
    return _like(value, Call("if", (value.__tree__, 1, 0))) if isinstance(value, _Symbol) else bool(value)


def _int(value: Any = 0) -> Any:
    return +value if isinstance(value, _Symbol) else int(value)


_CALLS: Final = (
    (len, _len), (abs, _abs), (min, _extreme("min", min)), (max, _extreme("max", max)),
    (bool, _bool), (int, _int),
)  # fmt: skip
"""Functions that may be called, and what stands in their place while tracing."""

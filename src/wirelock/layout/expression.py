"""construct's `this` expressions -> the small expression tree of nodes.

Reading resolves every path against the fields before it, turns names of enumeration members and flags
into their values, and bounds each node: one that could leave int64 is refused. What cannot be read is
a SchemaError that shows a form that works. `abs_`, `min_` and `max_` are wirelock's own.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from construct import EnumInteger, EnumIntegerString
from construct.expr import BinExpr, ExprMixin, FuncPath, Path2, UniExpr, opnames
from construct.expr import Path as ConstructPath

from wirelock.errors import SchemaError
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Expression,
    Flag,
    Flags,
    Float,
    Integer,
    Layout,
    Length,
    Number,
    Operation,
    Path,
    Prefix,
    Type,
    plain,
)
from wirelock.layout.operators import COMPARISONS, INT64, OPERATORS, Interval

__all__ = ["Scope", "abs_", "max_", "min_", "read_expression"]

MAX_PARTS: Final = 2000
MAX_NESTING: Final = 60
"""An expression of more parts or levels is refused; shared parts count each time."""
MAX_LENGTH: Final = 1 << 48
"""No buffer holds more bytes or elements: what bounds a length that the layout does not."""
CONTEXT_NAMES: Final = (
    "_", "_root", "_params", "_index", "_io", "_parsing", "_building", "_sizing", "_subcons",
)  # fmt: skip
"""What construct itself keeps in its contexts."""
_FREE: Final[Interval] = (-(1 << 31), (1 << 32) - 1)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class Call(ExprMixin):
    """abs, min or max inside a `this` expression. Calling it with a context computes it."""

    def __init__(self, name: str, function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        self.name = name
        self.function = function
        self.operands = operands

    def __call__(self, context: Any, *_: Any) -> Any:
        return self.function(*(item(context) if callable(item) else item for item in self.operands))

    def __repr__(self) -> str:
        return f"{self.name}_({', '.join(map(repr, self.operands))})"


def _no_truth_value(expression: ExprMixin) -> bool:
    raise SchemaError(
        "",
        "a `this` expression has no truth value: `and`, `or`, `not`, `in` and chained comparisons would keep"
        " a part of it and drop the rest",
        "write (this.a > 0) & (this.b > 0), (this.k == 1) | (this.k == 2), ~(this.a == 1)",
    )


# construct leaves every expression true, so that Python drops half of `this.a > 0 and this.b > 0` before
# anybody sees it. Nothing has a use for that, and a rule of the wire must not lose a part without a word.
ExprMixin.__bool__ = _no_truth_value


def abs_(value: Any) -> Any:
    """The absolute value, in a rule or layout expression: `abs_(this.a) <= 100`."""
    return Call("abs", abs, (value,))


def min_(first: Any, second: Any, *more: Any) -> Any:
    """The least of two or more values, in a rule or layout expression."""
    return Call("min", min, (first, second, *more))


def max_(first: Any, second: Any, *more: Any) -> Any:
    """The greatest of two or more values, in a rule or layout expression."""
    return Call("max", max, (first, second, *more))


class Scope:
    """The fields that an expression can see: those of its layout so far, and of the ones around it.

    construct gives a PrefixedArray a context of its own, which a Layout has not: such a scope is no
    `layout`. What lies outside of the outermost scope is not known until another layout holds it.
    """

    def __init__(self, parent: Scope | None = None, *, layout: bool = True) -> None:
        self.parent = parent
        self.layout = layout
        self.types: dict[str, Type] = {}
        self.budget = 0

    def climb(self, contexts: int, where: str) -> int:
        """Return how many layouts lie between here and `contexts` of construct's contexts out."""
        scope, layouts = self, 0
        for climbed in range(contexts):
            layouts += scope.layout
            if scope.parent is None:
                return layouts + contexts - climbed - 1
            scope = scope.parent
        if not scope.layout:
            raise SchemaError(where, "the path ends in an array's own context", "climb one `_` further")
        return layouts

    @property
    def depth(self) -> int:
        """How many contexts lie around this one."""
        return 0 if self.parent is None else self.parent.depth + 1

    def resolve(self, path: Path, where: str) -> Type | None:
        """Return the type at a path; None outside of what is known. Raises SchemaError if not there."""
        scope: Scope | None = self
        while scope and not scope.layout:
            scope = scope.parent
        for _ in range(path.up):
            scope = scope.parent if scope else None
            while scope and not scope.layout:
                scope = scope.parent
        if scope is None:
            return None
        fields, seen = scope.types, ""
        found: Type | None = None
        for name in path.names:
            if name not in fields:
                known = ", ".join(key for key in fields if not key.startswith("_")) or "none"
                place = f"in {seen}" if seen else "here"
                raise SchemaError(
                    where,
                    f"`{path}` is not a field read before this one",
                    f"fields that can be read {place}: {known}",
                )
            found, seen = plain(fields[name]), f"{seen}.{name}".lstrip(".")
            if isinstance(found, Layout):
                fields = {item.name: item.type for item in found.fields if item.name}
            elif isinstance(found, Flags):
                fields = {member: Flag(1) for member, _ in found.members}
            else:
                fields = {}
        return found


def read_expression(source: Any, scope: Scope, where: str, *, condition: bool = False) -> Expression:
    """Read a construct expression (or a plain int) in a scope.

    Raises SchemaError, with `where` as its path, for anything that has no one meaning in all engines;
    with `condition`, also for what is the same for every record.
    """
    if condition and not isinstance(source, ExprMixin) and not callable(source):
        raise SchemaError(
            where,
            f"the condition is always {source!r}",
            "write a condition over fields, such as this.a > 0",
        )
    scope.budget = MAX_PARTS
    expression, bounds = _read(source, scope, where)
    _inside(bounds, expression, where)
    return expression


def interval_of(source: Any, scope: Scope, where: str) -> Interval:
    """Return the least and greatest value that an expression can have. Raises as read_expression does."""
    scope.budget = MAX_PARTS
    return _read(source, scope, where)[1]


def _read(source: Any, scope: Scope, where: str, depth: int = 0) -> tuple[Expression, Interval]:
    scope.budget -= 1
    if scope.budget < 0 or depth > MAX_NESTING:
        limits = f"{MAX_PARTS} parts and {MAX_NESTING} levels"
        raise SchemaError(where, f"the expression has more than {limits}", "use several rules or fields")
    match source:
        case bool() | int():
            return Number(int(source)), (int(source), int(source))
        case ConstructPath():
            return _read_path(source, scope, where)
        case FuncPath():
            return _read_function(source, scope, where, depth)
        case Call():
            operands = [_read(item, scope, where, depth + 1) for item in source.operands]
            return _combine(source.name, operands, where)
        case UniExpr():
            operand = _read(source.operand, scope, where, depth + 1)
            if opnames[source.op] == "+":
                return operand
            return _combine({"-": "neg"}.get(opnames[source.op], opnames[source.op]), [operand], where)
        case BinExpr():
            return _read_binary(source, scope, where, depth)
        case Path2():
            raise SchemaError(where, f"`{source!r}` has no meaning outside of an array", "use `this`")
        case _ if callable(source):
            raise SchemaError(where, "a function cannot be read", "write the expression with `this`")
    raise SchemaError(where, f"`{source!r}` is no integer", "expressions compute with integers")


def _names(path: Any) -> list[Any]:
    names: list[Any] = []
    while (parent := path._Path__parent) is not None:
        names.append(path.__getfield__())
        path = parent
    if path._Path__name != "this":
        raise ValueError(path._Path__name)
    return names[::-1]


def _read_path(source: Any, scope: Scope, where: str) -> tuple[Expression, Interval]:
    path = _path(source, scope, where)
    found = scope.resolve(path, where)
    if isinstance(found, Flag) and len(path.names) > 1:
        holder = scope.resolve(Path(path.up, path.names[:-1]), where)
        if isinstance(holder, Flags):
            mask = Number(dict(holder.members)[path.names[-1]])
            return Operation("==", (Operation("&", (Path(path.up, path.names[:-1]), mask)), mask)), (0, 1)
    return path, _interval_of(found, path, where)


def _path(source: Any, scope: Scope, where: str) -> Path:
    try:
        names = _names(source)
    except ValueError as problem:
        raise SchemaError(where, f"`{problem}` has no meaning here", "use `this`") from None
    up = 0
    while names and names[0] == "_":
        names, up = names[1:], up + 1
    if names and names[0] == "_root":
        names, up = names[1:], scope.depth
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(where, f"`{source!r}` looks up {name!r} in an array", "name a field")
        if name in CONTEXT_NAMES:
            raise SchemaError(where, f"`{name}` is not known to all engines", "name a field")
    if not names:
        raise SchemaError(where, f"`{source!r}` is a whole record", "name one of its fields")
    return Path(scope.climb(up, where), tuple(names))


def _interval_of(found: Type | None, path: Path, where: str) -> Interval:
    match found:
        case None:
            return _FREE
        case Integer():
            return found.lowest, found.highest
        case Enum(integer=inner) | Flags(integer=inner) | Constant(type=Integer() as inner):
            return inner.lowest, inner.highest
        case Flag():
            return 0, 1
        case Float():
            raise SchemaError(where, f"`{path}` is a float", "a float may only be compared with a constant")
        case Array() | Bytes() | Constant():
            raise SchemaError(where, f"`{path}` is no integer", f"its length is len_(this.{path})")
        case Layout():
            raise SchemaError(where, f"`{path}` is a whole record", "name one of its fields")
    raise SchemaError(where, f"`{path}` may be absent", "read a field that is always there")


def _read_function(source: Any, scope: Scope, where: str, depth: int) -> tuple[Expression, Interval]:
    function, operand = source._FuncPath__func, source._FuncPath__operand
    if function is abs and operand is not None:
        return _combine("abs", [_read(operand, scope, where, depth + 1)], where)
    if function is not len:
        name = function.__name__
        remedy = (
            f"use wirelock.{name}_ over named fields"
            if name in ("min", "max")
            else "use len_, or name fields"
        )
        raise SchemaError(where, f"`{name}_` over an array is not known to all engines", remedy)
    if not isinstance(operand, ConstructPath):
        raise SchemaError(where, "len_ takes the path of a field", "write len_(this.items)")
    path = _path(operand, scope, where)
    found = scope.resolve(path, where)
    match found:
        case None | Array(count=Prefix()):
            return Length(path), (0, MAX_LENGTH)
        case Bytes(length=size) | Array(count=size) | Constant(type=Bytes(length=size)):
            return Length(path), ((size, size) if isinstance(size, int) else (0, MAX_LENGTH))
    raise SchemaError(where, f"`{path}` has no length", "len_ takes an array or bytes")


def _read_binary(source: Any, scope: Scope, where: str, depth: int) -> tuple[Expression, Interval]:
    name = opnames[source.op]
    if name in COMPARISONS:
        for this_side, other, spelled in (
            (source.lhs, source.rhs, name),
            (source.rhs, source.lhs, _MIRRORED[name]),
        ):
            special = _read_comparison(this_side, other, spelled, scope, where)
            if special is not None:
                return special
    if name not in OPERATORS:
        remedy = {"/": "use // (floor division)", "**": "write the product out"}.get(
            name, "use + - * // % << >> & | ^"
        )
        raise SchemaError(where, f"`{name}` is not known to all engines", remedy)
    left, right = (_read(side, scope, where, depth + 1) for side in (source.lhs, source.rhs))
    constant = right[0].value if isinstance(right[0], Number) else None
    if name in ("//", "%") and (constant is None or constant <= 0):
        raise SchemaError(
            where, f"the right side of `{name}` may be zero or less", "divide by a positive constant"
        )
    if name in ("<<", ">>") and (constant is None or not 0 <= constant <= 63):
        raise SchemaError(where, f"the right side of `{name}` is no constant of 0..63", "shift by a constant")
    return _combine(name, [left, right], where)


def _read_comparison(
    left: Any, right: Any, name: str, scope: Scope, where: str
) -> tuple[Expression, Interval] | None:
    """Read a comparison of an enumeration, a float or a uint64 with a constant; None for all others."""
    if not isinstance(left, ConstructPath) or isinstance(right, ExprMixin) or callable(right):
        return None
    path = _path(left, scope, where)
    match scope.resolve(path, where):
        case None:
            return Operation(name, (path, Number(0))), (0, 1)  # read again where the record is held
        case Enum() as kind:
            value = member_value(kind, right)
            if value is None:
                known = ", ".join(member for member, _ in kind.members)
                raise SchemaError(where, f"{right!r} is no member of `{path}`", f"its members are {known}")
            return Operation(name, (path, Number(value))), (0, 1)
        case Float():
            if isinstance(right, bool) or not isinstance(right, int | float) or right != right:
                raise SchemaError(
                    where, f"`{path}` is compared with {right!r}", "compare a float with a number"
                )
            if isinstance(right, int) and abs(right) > 1 << 1023:
                raise SchemaError(
                    where, f"`{path}` is compared with more than a float holds", "use a smaller one"
                )
            return Operation(name, (path, Number(float(right)))), (0, 1)
        case Integer(highest=highest) if highest > INT64[1] and isinstance(right, int):
            if not 0 <= right <= highest:
                raise SchemaError(where, f"{right} is outside of `{path}`", f"compare with 0..{highest}")
            return Operation(name, (path, Number(int(right)))), (0, 1)
    return None


def member_value(kind: Enum, key: Any) -> int | None:
    """Return the value of an enumeration's member given as member, name or number; None if it is none."""
    if isinstance(key, EnumIntegerString | str) and not isinstance(key, IntEnum):
        return dict(kind.members).get(str(key))
    if isinstance(key, bool) or not isinstance(key, int | EnumInteger):
        return None
    return int(key) if int(key) in {value for _, value in kind.members} else None


def _combine(
    name: str, operands: list[tuple[Expression, Interval]], where: str
) -> tuple[Expression, Interval]:
    expression = Operation(name, tuple(item for item, _ in operands))
    for item, bounds in operands:
        _inside(bounds, item, where)
    return expression, OPERATORS[name].interval(*(bounds for _, bounds in operands))


def _inside(bounds: Interval, expression: Expression, where: str) -> None:
    if bounds[0] < INT64[0] or bounds[1] > INT64[1]:
        what = f"`{expression}`" if isinstance(expression, Path) else "a part of the expression"
        raise SchemaError(
            where,
            f"{what} can reach {bounds[1] if bounds[1] > INT64[1] else bounds[0]}, outside of int64",
            "use narrower fields, or compare a 64-bit field with a constant only",
        )

"""construct's expressions and functions -> the small expression tree of nodes.

Reading resolves every path against the fields before it, turns names of enumeration members and flags
into their values, and bounds each node: one that could leave int64 is refused. Functions are traced first.
What cannot be read is a SchemaError that shows a form that works.
"""

from __future__ import annotations

from enum import IntEnum
from types import FunctionType
from typing import Any, Final

from construct import EnumInteger, EnumIntegerString
from construct.expr import BinExpr, ExprMixin, FuncPath, Path2, UniExpr, opnames
from construct.expr import Path as ConstructPath

from wirelock.errors import SchemaError
from wirelock.layout.agree import Spot, check_agreement
from wirelock.layout.bounds import bounds_of, length_bounds
from wirelock.layout.calls import Call, abs_, max_, min_, paths_read
from wirelock.layout.choice import Bounded, apply, choose, is_truth, truth
from wirelock.layout.nodes import (
    Bytes,
    Enum,
    Flag,
    Flags,
    Float,
    Integer,
    Mapping,
    Scaled,
    Text,
    Time,
    Type,
    VarInt,
)
from wirelock.layout.operators import COMPARISONS, INT64, OPERATORS, Interval
from wirelock.layout.scope import CONTEXT_NAMES, ELEMENT, Scope
from wirelock.layout.terms import Expression, Index, Length, Literal, Number, Operation, Path
from wirelock.layout.trace import trace

__all__ = [
    "CONTEXT_NAMES", "Scope", "abs_", "interval_of", "is_key", "max_", "member_value", "min_", "path_names",
    "read_condition",     "read_count", "read_expression", "read_key", "read_until",
]  # fmt: skip

MAX_PARTS: Final = 2000
MAX_NESTING: Final = 60
"""An expression of more parts or levels is refused; shared parts count each time."""
_UINT64: Final = (1 << 64) - 1
_MOST_SHIFTED: Final = 63
_INDEX: Final[Interval] = (0, (1 << 32) - 1)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def read_expression(source: Any, scope: Scope, where: str, *, condition: bool = False) -> Expression:
    """Read a construct expression, a function or a plain int in a scope.

    Raises SchemaError, with `where` as its path, for anything that has no one meaning in all engines;
    with `condition`, also for what is the same for every record.
    """
    expression, bounds = _begin(source, scope, where, condition=condition)
    _inside(bounds, expression, where)
    return expression


def read_condition(source: Any, scope: Scope, where: str) -> Expression:
    """Read an expression of which only matters whether it is 0. Raises as read_expression does."""
    expression, bounds = _testable(_begin(source, scope, where, condition=True, tested=True))
    _inside(bounds, expression, where)
    return expression


def read_count(source: Any, scope: Scope, where: str) -> Expression:
    """Read a length or count.

    It may be a field of 64 bits, or leave int64 upwards in its last operation: nothing is as long as that,
    so that engines which compute in 64 bits take an overflow there for more than is left.
    """
    expression, bounds = _begin(source, scope, where)
    longest = _UINT64 if isinstance(expression, Path) else None
    if bounds[0] < INT64[0] or (longest and bounds[1] > longest):
        _inside(bounds, expression, where)
    return expression


def read_until(predicate: Any, element: Type, scope: Scope, where: str) -> Expression:
    """Read the condition that ends a RepeatUntil, in a scope of its own that holds the element as `obj_`.

    It is an expression over `obj_`, or a function of the element, the elements so far and the context.
    """
    for path, _ in paths_read(predicate):
        if path_names(path)[0] == "this":  # construct would look `this.n` up in the element
            raise SchemaError(
                where,
                "`this` means the element here, not the context",
                "write lambda x, lst, ctx: x == ctx.n",
            )
    return read_condition(predicate, Scope(scope, element=element), where)


def interval_of(source: Any, scope: Scope, where: str) -> Interval:
    """Return the least and greatest value that an expression can have. Raises as read_expression does."""
    return _begin(source, scope, where)[1]


def _begin(
    source: Any, scope: Scope, where: str, *, condition: bool = False, tested: bool = False
) -> Bounded:
    if condition and not isinstance(source, ExprMixin) and not callable(source):
        raise _always(repr(source), where)
    scope.budget = MAX_PARTS
    found = _read(source, scope, where, tested=tested)
    if condition and isinstance(found[0], Number):
        raise _always(found[0].value, where)
    return found


def _always(value: object, where: str) -> SchemaError:
    return SchemaError(
        where, f"the condition is always {value}", "write a condition over fields, such as this.a > 0"
    )


def _read(source: Any, scope: Scope, where: str, depth: int = 0, *, tested: bool = False) -> Bounded:
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
        case Call(name="if"):
            return _read_choice(source, scope, where, depth, tested)
        case Call():
            operands = [_read(item, scope, where, depth + 1) for item in source.operands]
            if source.name == "^" and is_truth(operands[0]):
                raise SchemaError(where, "`~` of a truth value is never 0", "write not ctx.a")
            return _combine(source.name, operands, where)
        case UniExpr():
            name = opnames[source.op]
            operand = _read(source.operand, scope, where, depth + 1, tested=name == "not")
            if name == "+":
                return operand
            if name == "not":
                operand = _testable(operand)
            return _combine({"-": "neg"}.get(name, name), [operand], where)
        case BinExpr():
            return _read_binary(source, scope, where, depth)
        case Path2():
            remedy = "compare the element itself: obj_ == 0" if scope.of_element else "name a field: this.a"
            raise SchemaError(where, f"`{source!r}` looks at the elements of an array", remedy)
        case FunctionType() if depth == 0:
            return _read_traced(source, scope, where, tested)
        case _ if callable(source):
            raise SchemaError(
                where, f"{source!r} cannot be read here", "write one lambda, or an expression with `this`"
            )
    raise SchemaError(where, f"`{source!r}` is no integer", "expressions compute with integers")


def _read_traced(source: FunctionType, scope: Scope, where: str, tested: bool) -> Bounded:
    roots = (ELEMENT, "list_", "this") if scope.of_element else ("this",)
    traced = trace(source, roots, where)
    found = _read(traced, scope, where, tested=tested)
    spots = [_spot(path, is_length, scope, where) for path, is_length in paths_read(traced)]
    if all(spot.kind or isinstance(spot.read, Index) for spot in spots):
        check_agreement(source, found[0], spots, roots, tested, where)
    return found  # what lies around the record is compared where the record is held


def _spot(source: Any, is_length: bool, scope: Scope, where: str) -> Spot:
    """Return what a traced function reads at a path."""
    root, names = path_names(source)
    if _is_index(source):
        return Spot(root, tuple(names), Index(), None, _INDEX)
    path = _path(source, scope, where)
    kind = scope.resolve(path, where)
    if isinstance(kind, Flag) and isinstance(holder := _holder(path, scope, where), Flags):
        path, names, kind = Path(path.up, path.names[:-1]), names[:-1], holder
    if is_length:
        return Spot(root, tuple(names), Length(path), kind, length_bounds(kind, path, where))
    compared = isinstance(kind, Float | Scaled | Mapping | Bytes | Text)
    bounds = (0, 0) if compared else bounds_of(kind, path, where)
    return Spot(root, tuple(names), path, kind, bounds)


def path_names(path: Any) -> tuple[str, list[Any]]:
    """Return what one of construct's paths starts from, and the names from there on."""
    names: list[Any] = []
    while (parent := path._Path__parent) is not None:
        names.append(path.__getfield__())
        path = parent
    return path._Path__name, names[::-1]


def _is_index(source: Any) -> bool:
    return isinstance(source, ConstructPath) and path_names(source) == ("this", ["_index"])


def _read_path(source: Any, scope: Scope, where: str) -> Bounded:
    if _is_index(source):
        if not scope.indexed:
            raise SchemaError(
                where,
                "`_index` is not known here: no array counts its elements",
                "read it in an element, in front of the arrays inside of that",
            )
        return Index(), _INDEX
    path = _path(source, scope, where)
    found = scope.resolve(path, where)
    if isinstance(found, Flag) and isinstance(holder := _holder(path, scope, where), Flags):
        mask = Number(dict(holder.members)[path.names[-1]])
        return Operation("==", (Operation("&", (Path(path.up, path.names[:-1]), mask)), mask)), (0, 1)
    return path, bounds_of(found, path, where)


def _holder(path: Path, scope: Scope, where: str) -> Type | None:
    """Return the type that a path's last name is looked up in; None for a field of the layout itself."""
    return scope.resolve(Path(path.up, path.names[:-1]), where) if len(path.names) > 1 else None


def _path(source: Any, scope: Scope, where: str) -> Path:
    root, names = path_names(source)
    up = 0
    if root == "this":
        while names and names[0] == "_":
            names, up = names[1:], up + 1
        if names and names[0] == "_root":
            names, up = names[1:], scope.depth
        else:
            up += scope.of_element
    elif root != ELEMENT or not scope.of_element:
        remedy = "compare the element itself: lambda x, lst, ctx: x == 0" if root == "list_" else "use `this`"
        raise SchemaError(where, f"`{root}` has no meaning here", remedy)
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(where, f"`{source!r}` looks up {name!r} in an array", "name a field")
        if name in CONTEXT_NAMES:
            remedy = "write this._index, of the innermost array" if name == "_index" else "name a field"
            raise SchemaError(where, f"`{name}` is not known to all engines", remedy)
    if root == ELEMENT:
        return Path(0, (ELEMENT, *names))
    if not names:
        raise SchemaError(where, f"`{source!r}` is a whole record", "name one of its fields")
    return scope.through_copies(Path(scope.climb(up, where), tuple(names)), where)


def _read_function(source: Any, scope: Scope, where: str, depth: int) -> Bounded:
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
    return Length(path), length_bounds(scope.resolve(path, where), path, where)


def _read_choice(source: Call, scope: Scope, where: str, depth: int, tested: bool) -> Bounded:
    condition = _testable(_read(source.operands[0], scope, where, depth + 1, tested=True))
    then, other = (_read(item, scope, where, depth + 1, tested=tested) for item in source.operands[1:])
    if tested:
        then, other = _testable(then), _testable(other)
    for item, bounds in (condition, then, other):
        _inside(bounds, item, where)
    return choose(condition, then, other, tested)


def _testable(value: Bounded) -> Bounded:
    """Return a value whose truth is asked; a field that is no int64 may still be compared with 0."""
    wide = isinstance(value[0], Path) and not INT64[0] <= value[1][0] <= value[1][1] <= INT64[1]
    return truth(value) if wide else value


def _read_binary(source: Any, scope: Scope, where: str, depth: int) -> Bounded:
    name = opnames[source.op]
    if name in COMPARISONS:
        for this_side, other, spelled in (
            (source.lhs, source.rhs, name),
            (source.rhs, source.lhs, _MIRRORED[name]),
        ):
            special = _read_comparison(this_side, other, spelled, scope, where)
            if special is not None:
                return special
    if name == "**" and type(source.lhs) is int and source.lhs == 2:
        return _shift("<<", (Number(1), (1, 1)), _read(source.rhs, scope, where, depth + 1), where)
    if name not in OPERATORS:
        remedy = {"/": "use // (floor division)", "**": "write 1 << x for 2 ** x, or the product out"}.get(
            name, "use + - * // % << >> & | ^"
        )
        raise SchemaError(where, f"`{name}` is not known to all engines", remedy)
    left, right = (_read(side, scope, where, depth + 1) for side in (source.lhs, source.rhs))
    constant = right[0].value if isinstance(right[0], Number) else None
    if name in ("//", "%") and (constant is None or constant <= 0):
        raise SchemaError(
            where, f"the right side of `{name}` may be zero or less", "divide by a positive constant"
        )
    if name in ("<<", ">>"):
        return _shift(name, left, right, where)
    return _combine(name, [left, right], where)


def _shift(name: str, value: Bounded, count: Bounded, where: str) -> Bounded:
    """Shift by 0..63. A count from the wire is masked, so that no engine ever shifts by more."""
    if not 0 <= count[1][0] <= count[1][1] <= _MOST_SHIFTED:
        low, high = count[1]
        raise SchemaError(
            where,
            f"a shift by {low}..{high}, which is not within 0..{_MOST_SHIFTED}",
            "limit it, as in 1 << (this.a & 31)",
        )
    if not isinstance(count[0], Number):
        count = apply("&", count, (Number(_MOST_SHIFTED), (_MOST_SHIFTED, _MOST_SHIFTED)))
    return _combine(name, [value, count], where)


def _read_comparison(left: Any, right: Any, name: str, scope: Scope, where: str) -> Bounded | None:
    """Read a comparison of an enumeration, a float or a uint64 with a constant; None for all others."""
    if not isinstance(left, ConstructPath) or isinstance(right, ExprMixin) or callable(right):
        return None
    if _is_index(left):
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
        case Mapping(members=members):
            keys = {key: value for key, value in members if key == right and type(right) is not bool}
            if name not in ("==", "!=") or not keys:
                known = ", ".join(repr(key) for key, _ in members)
                raise SchemaError(
                    where,
                    f"`{path}` is a Mapping, compared by {name} with {right!r}",
                    f"compare it by == or != with one of its keys: {known}",
                )
            return Operation(name, (path, Number(*keys.values()))), (0, 1)
        case Bytes() | Text() as kind if isinstance(right, bytes | str):
            return _read_literal(path, kind, right, name, where), (0, 1)
        case Float() | Scaled():
            if isinstance(right, bool) or not isinstance(right, int | float) or right != right:
                raise SchemaError(
                    where, f"`{path}` is compared with {right!r}", "compare a float with a number"
                )
            if isinstance(right, int) and abs(right) > 1 << 1023:
                raise SchemaError(
                    where, f"`{path}` is compared with more than a float holds", "use a smaller one"
                )
            return Operation(name, (path, Number(float(right)))), (0, 1)
        case Integer() | VarInt() | Time() as kind if isinstance(right, int) and (
            (highest := bounds_of(kind, path, where)[1]) > INT64[1]
        ):
            if not 0 <= right <= highest:
                raise SchemaError(where, f"{right} is outside of `{path}`", f"compare with 0..{highest}")
            return Operation(name, (path, Number(int(right)))), (0, 1)
    return None


def _read_literal(path: Path, kind: Bytes | Text, right: bytes | str, name: str, where: str) -> Operation:
    """Read a comparison of bytes or text with a constant."""
    if not is_key(kind, right):
        raise SchemaError(where, f"`{path}` can never be {right!r}", f"compare it with {_key_words(kind)}")
    if name not in ("==", "!="):
        raise SchemaError(where, f"`{path}` is compared by {name} with {right!r}", "compare it by == or !=")
    return Operation(name, (path, Literal(right)))


def is_key(kind: Bytes | Text, value: Any) -> bool:
    """Whether a field of bytes or text can have a value."""
    if isinstance(kind, Text):
        return isinstance(value, str)
    return isinstance(value, bytes) and (not isinstance(kind.length, int) or kind.length == len(value))


def _key_words(kind: Bytes | Text) -> str:
    if isinstance(kind, Text):
        return "text"
    return f"{kind.length} bytes" if isinstance(kind.length, int) else "bytes"


def read_key(source: Any, scope: Scope, where: str) -> tuple[Expression, Bytes | Text | None]:
    """Read the key of a Switch; its type too where it is a field of bytes or text."""
    plainly = trace(source, ("this",), where) if isinstance(source, FunctionType) else source
    if isinstance(plainly, ConstructPath) and not _is_index(plainly):
        path = _path(plainly, scope, where)
        if isinstance(kind := scope.resolve(path, where), Bytes | Text):
            return path, kind
    return read_expression(source, scope, where, condition=True), None


def member_value(kind: Enum, key: Any) -> int | None:
    """Return the value of an enumeration's member given as member, name or number; None if it is none."""
    if isinstance(key, EnumIntegerString | str) and not isinstance(key, IntEnum):
        return dict(kind.members).get(str(key))
    if isinstance(key, bool) or not isinstance(key, int | EnumInteger):
        return None
    return int(key) if int(key) in {value for _, value in kind.members} else None


def _combine(name: str, operands: list[Bounded], where: str) -> Bounded:
    for item, bounds in operands:
        _inside(bounds, item, where)
    return apply(name, *operands)


def _inside(bounds: Interval, expression: Expression, where: str) -> None:
    if bounds[0] < INT64[0] or bounds[1] > INT64[1]:
        what = f"`{expression}`" if isinstance(expression, Path) else "a part of the expression"
        raise SchemaError(
            where,
            f"{what} can reach {bounds[1] if bounds[1] > INT64[1] else bounds[0]}, outside of int64",
            "use narrower fields, or compare a 64-bit field with a constant only",
        )

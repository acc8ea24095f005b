"""The operators of expressions: what each computes, in which interval, and how Python spells it.

One table, so that every engine and exporter gives an operator the same meaning. Values are integers
(True counts as 1); floats only stand beside a comparison. No operator can raise: divisors are
positive constants and shift counts constants of 0..63, checked when the expression is read. So `if`,
whose operands are the condition and both values, may compute the value that it does not take.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from wirelock.layout.terms import Expression, Index, Length, Literal, Number, Operation, Path

Interval: TypeAlias = tuple[int, int]

INT64: Final[Interval] = (-(1 << 63), (1 << 63) - 1)
TRUTH: Final[Interval] = (0, 1)


@dataclass(frozen=True, slots=True)
class Operator:
    """What one operator computes and how tightly Python binds it (higher binds tighter)."""

    compute: Callable[..., Any]
    interval: Callable[..., Interval]
    precedence: int
    python: str = ""


def _corners(compute: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval]:
    """Return the interval rule of an operator that is monotonic in each operand."""

    def interval(left: Interval, right: Interval) -> Interval:
        values = [compute(a, b) for a in left for b in right]
        return min(values), max(values)

    return interval


def _bitwise(left: Interval, right: Interval) -> Interval:
    """Bits of the result lie within the wider operand's two's complement."""
    width = max(value.bit_length() for value in (*left, *right))
    return (-(1 << width) if min(left[0], right[0]) < 0 else 0), (1 << width) - 1


def _and(left: Interval, right: Interval) -> Interval:
    if left[0] < 0 and right[0] < 0:
        return _bitwise(left, right)
    return 0, min(side[1] for side in (left, right) if side[0] >= 0)


def _abs(value: Interval) -> Interval:
    ends = abs(value[0]), abs(value[1])
    return (0 if value[0] <= 0 <= value[1] else min(ends)), max(ends)


def _extreme(pick: Callable[[Iterator[int]], int]) -> Callable[..., Interval]:
    return lambda *values: (pick(v[0] for v in values), pick(v[1] for v in values))


def _truth(*_: Interval) -> Interval:
    return TRUTH


def _either(condition: Interval, then: Interval, other: Interval) -> Interval:
    return min(then[0], other[0]), max(then[1], other[1])


def _pick(condition: Any, then: Any, other: Any) -> Any:
    return then if condition else other


OPERATORS: Final[dict[str, Operator]] = {
    "==": Operator(operator.eq, _truth, 5, "{} == {}"),
    "!=": Operator(operator.ne, _truth, 5, "{} != {}"),
    "<": Operator(operator.lt, _truth, 5, "{} < {}"),
    "<=": Operator(operator.le, _truth, 5, "{} <= {}"),
    ">": Operator(operator.gt, _truth, 5, "{} > {}"),
    ">=": Operator(operator.ge, _truth, 5, "{} >= {}"),
    "|": Operator(operator.or_, _bitwise, 6, "{} | {}"),
    "^": Operator(operator.xor, _bitwise, 7, "{} ^ {}"),
    "&": Operator(operator.and_, _and, 8, "{} & {}"),
    "<<": Operator(operator.lshift, _corners(operator.lshift), 9, "{} << {}"),
    ">>": Operator(operator.rshift, _corners(operator.rshift), 9, "{} >> {}"),
    "+": Operator(operator.add, _corners(operator.add), 10, "{} + {}"),
    "-": Operator(operator.sub, _corners(operator.sub), 10, "{} - {}"),
    "*": Operator(operator.mul, _corners(operator.mul), 11, "{} * {}"),
    "//": Operator(operator.floordiv, _corners(operator.floordiv), 11, "{} // {}"),
    "%": Operator(operator.mod, lambda value, divisor: (0, divisor[1] - 1), 11, "{} % {}"),
    "neg": Operator(operator.neg, lambda value: (-value[1], -value[0]), 12, "-{}"),
    "not": Operator(operator.not_, _truth, 4, "not {}"),
    "if": Operator(_pick, _either, 1, "{1} if {0} else {2}"),
    "abs": Operator(abs, _abs, 14),
    "min": Operator(min, _extreme(min), 14),
    "max": Operator(max, _extreme(max), 14),
}
COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=")
_LOOSE: Final = {"if": 2} | dict.fromkeys(COMPARISONS)
"""Which operand may bind as loosely as the operator itself, where that is not the first one."""

_ATOM = 15


def takes(name: str, count: int) -> bool:
    """Whether an operator takes so many operands."""
    fixed = OPERATORS[name].python.count("{")
    return count >= 2 if name in ("min", "max") else count == (fixed or 1)


def evaluate(expression: Expression, value_of: Callable[[Path | Length | Index], Any]) -> Any:
    """Compute an expression; `value_of` gives the fields' values and lengths, and the element's number."""
    match expression:
        case Number(value=value) | Literal(value=value):
            return value
        case Operation(operator=name, operands=operands):
            return OPERATORS[name].compute(*(evaluate(item, value_of) for item in operands))
        case _:
            return value_of(expression)


def python_source(expression: Expression, name_of: Callable[[Expression], str | None]) -> str:
    """Write an expression as Python; `name_of` gives the text for a field, length, index or shared part."""
    return _render(expression, name_of)[0]


def number_source(value: float) -> str:
    """Write a number as Python; an infinity as a literal that overflows to it."""
    return str(value).replace("inf", "1e999") if isinstance(value, float) else str(value)


def _render(expression: Expression, name_of: Callable[[Expression], str | None]) -> tuple[str, int]:
    known = name_of(expression)
    if known is not None:
        return known, _ATOM
    match expression:
        case Number(value=value):
            return number_source(value), _ATOM if value >= 0 else 12
        case Literal(value=literal):
            return repr(literal), _ATOM
        case Operation(operator=name, operands=operands):
            rule = OPERATORS[name]
            parts = [_render(item, name_of) for item in operands]
            if not rule.python:
                return f"{name}({', '.join(text for text, _ in parts)})", rule.precedence
            # Python's operators group to the left, its choices to the right, and its comparisons chain.
            loose = _LOOSE.get(name, 0)
            texts = [
                text if binds > rule.precedence or (binds == rule.precedence and i == loose) else f"({text})"
                for i, (text, binds) in enumerate(parts)
            ]
            return rule.python.format(*texts), rule.precedence
    raise KeyError(expression)


def paths_in(expression: Expression) -> Iterator[Path]:
    """Yield every path that the expression reads."""
    match expression:
        case Path():
            yield expression
        case Length(path=path):
            yield path
        case Operation(operands=operands):
            for operand in operands:
                yield from paths_in(operand)


def reads_index(expression: Expression) -> bool:
    """Whether the expression reads the number of the element around it."""
    match expression:
        case Operation(operands=operands):
            return any(map(reads_index, operands))
    return isinstance(expression, Index)

"""What stands beside construct's own expressions: abs_, min_ and max_, and a choice between two values.

A `Call` is an operator of wirelock's in a tree of construct's: `abs_(this.a)`, or what a traced function
turns into. construct computes it like any expression. No expression has a truth value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from construct.expr import BinExpr, ExprMixin, FuncPath, UniExpr
from construct.expr import Path as ConstructPath

from wirelock.errors import SchemaError
from wirelock.layout.operators import OPERATORS

__all__ = ["Call", "abs_", "max_", "min_", "paths_read"]


class Call(ExprMixin):
    """An operator of wirelock's over parts of an expression. Calling it with a context computes it."""

    def __init__(self, name: str, operands: tuple[Any, ...]) -> None:
        self.name = name
        self.operands = operands

    def __call__(self, context: Any, *_: Any) -> Any:
        """Compute it, as construct does with any expression."""
        parts = (item(context) if callable(item) else item for item in self.operands)
        return OPERATORS[self.name].compute(*parts)

    def __repr__(self) -> str:
        return f"{self.name}_({', '.join(map(repr, self.operands))})"


def _no_truth_value(expression: ExprMixin) -> bool:
    raise SchemaError(
        "",
        "a `this` expression has no truth value: `and`, `or`, `not`, `in` and chained comparisons would keep"
        " a part of it and drop the rest",
        "write (this.a > 0) & (this.b > 0), (this.k == 1) | (this.k == 2), ~(this.a == 1), or a lambda",
    )


# construct leaves every expression true, so that Python drops half of `this.a > 0 and this.b > 0` before
# anybody sees it. Nothing has a use for that, and a rule of the wire must not lose a part without a word.
ExprMixin.__bool__ = _no_truth_value


def abs_(value: Any) -> Any:
    """The absolute value, in a rule or layout expression: `abs_(this.a) <= 100`."""
    return Call("abs", (value,))


def min_(first: Any, second: Any, *more: Any) -> Any:
    """The least of two or more values, in a rule or layout expression."""
    return Call("min", (first, second, *more))


def max_(first: Any, second: Any, *more: Any) -> Any:
    """The greatest of two or more values, in a rule or layout expression."""
    return Call("max", (first, second, *more))


def paths_read(source: Any) -> Iterator[tuple[Any, bool]]:
    """Yield each of construct's paths in an expression, and whether only the length there is read."""
    match source:
        case ConstructPath():
            yield source, False
        case FuncPath():
            for path, _ in paths_read(source._FuncPath__operand):
                yield path, source._FuncPath__func is len
        case UniExpr():
            yield from paths_read(source.operand)
        case BinExpr():
            yield from paths_read(source.lhs)
            yield from paths_read(source.rhs)
        case Call():
            for operand in source.operands:
                yield from paths_read(operand)

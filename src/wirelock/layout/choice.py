"""A choice between two values, as the plainest expression that means the same.

Functions come out of tracing as nested choices; what was written with `and`, `or` and `not` reads as
`&`, `|` and `not` again wherever all values are truth values, or only the truth of the result matters.
"""

from __future__ import annotations

from typing import TypeAlias

from wirelock.layout.operators import COMPARISONS, OPERATORS, TRUTH, Interval
from wirelock.layout.terms import Expression, Number, Operation

Bounded: TypeAlias = tuple[Expression, Interval]
"""An expression with the least and the greatest value that it can have."""

_NO: Bounded = (Number(0), (0, 0))
_YES: Bounded = (Number(1), (1, 1))


def apply(name: str, *operands: Bounded) -> Bounded:
    """Return an operation with its interval."""
    bounds = OPERATORS[name].interval(*(bounds for _, bounds in operands))
    return Operation(name, tuple(item for item, _ in operands)), bounds


def is_truth(value: Bounded) -> bool:
    """Whether a value is always 0 or 1."""
    return TRUTH[0] <= value[1][0] and value[1][1] <= TRUTH[1]


def truth(value: Bounded) -> Bounded:
    """Return 1 where a value is not 0, otherwise 0."""
    if isinstance(value[0], Number):
        return _YES if value[0].value else _NO
    return value if is_truth(value) else apply("!=", value, _NO)


def choose(condition: Bounded, then: Bounded, other: Bounded, tested: bool) -> Bounded:
    """Return `then` where the condition is not 0, otherwise `other`.

    With `tested` the result stands where nothing but its truth matters.
    """
    if isinstance(condition[0], Number):
        return then if condition[0].value else other
    if other[0] == condition[0]:
        other = _NO  # it is only read where the condition is 0
    if then[0] == condition[0] and (tested or is_truth(condition)):
        then = _YES
    if then[0] == other[0]:
        return then
    if tested or (is_truth(then) and is_truth(other)):
        return _logical(condition, truth(then), truth(other))
    return _merged(condition, then, other)


def _logical(condition: Bounded, then: Bounded, other: Bounded) -> Bounded:
    """Choose between truth values."""
    if then[0] == other[0]:
        return then
    if then == _YES:
        return truth(condition) if other == _NO else _joined("|", truth(condition), other)
    if other == _NO:
        return _joined("&", truth(condition), then)
    if then == _NO:
        return apply("not", condition) if other == _YES else _joined("&", apply("not", condition), other)
    if other == _YES:
        return _joined("|", apply("not", condition), then)
    match then[0], other[0]:
        case Operation("|", (first, shared)), again if shared == again:
            return _joined("|", _joined("&", truth(condition), (first, TRUTH)), other)
        case again, Operation("&", (first, shared)) if shared == again:
            return _joined("&", _joined("|", truth(condition), (first, TRUTH)), then)
    return _merged(condition, then, other)


def _joined(name: str, left: Bounded, right: Bounded) -> Bounded:
    """Join two truth values by & or |, grouped to the left as Python reads it."""
    match right[0]:
        case Operation(same, (first, second)) if same == name:
            return apply(name, _joined(name, left, (first, TRUTH)), (second, TRUTH))
    return apply(name, left, right)


def _merged(condition: Bounded, then: Bounded, other: Bounded) -> Bounded:
    """Choose between any two values; choices that share one of them are joined to one."""
    match then[0]:
        case Operation("if", (inner, value, shared)) if shared == other[0]:
            return apply("if", _joined("&", truth(condition), _tested(inner)), (value, then[1]), other)
    match other[0]:
        case Operation("if", (inner, shared, value)) if shared == then[0]:
            return apply("if", _joined("|", truth(condition), _tested(inner)), then, (value, other[1]))
    return apply("if", condition, then, other)


def _tested(condition: Expression) -> Bounded:
    """Return a condition as a truth value, by its form: its interval is not known any more."""
    return (condition if _has_form_of_truth(condition) else Operation("!=", (condition, Number(0)))), TRUTH


def _has_form_of_truth(expression: Expression) -> bool:
    match expression:
        case Operation("&" | "|", operands):
            return all(map(_has_form_of_truth, operands))
        case Operation(name):
            return name == "not" or name in COMPARISONS
    return False

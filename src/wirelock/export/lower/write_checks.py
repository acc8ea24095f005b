"""What is checked of a value before it is written: its width, its members, its limits.

The codes and what they are of are those of codec/check.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import (
    all_of,
    any_of,
    as_float,
    compared,
    interval_of,
    is_float,
    is_literal,
    negated,
    operation,
)
from wirelock.layout.nodes import Float, Scaled
from wirelock.layout.terms import Limit

__all__ = [
    "fail_if",
    "float_check",
    "integer_check",
    "is_member",
    "limits_check",
    "scaled_check",
    "size_check",
    "within",
]

_OVERFLOW: Final = {16: 65520.0, 32: float.fromhex("0x1.ffffffp127")}
"""The least float that rounds to an infinity, by width: half a step above the largest one."""


def fail_if(condition: v.Value, code: str, place: st.Place) -> list[st.Statement]:
    """Return the statements that fail where a condition holds; none where it cannot."""
    match condition:
        case v.Truth(value=False):
            return []
        case v.Truth():
            return [st.Fail(code, place)]
    return [st.When(condition, (st.Fail(code, place),))]


def within(value: v.Value, low: int, high: int) -> v.Value:
    """Return whether an integer that is computed lies in an interval: what its own says needs no test."""
    least, most = interval_of(value)
    tests: list[v.Value] = []
    if least < low:
        tests.append(compared(">=", value, low))
    if most > high:
        tests.append(compared("<=", value, high))
    return all_of(tests)


def integer_check(
    value: v.Value, low: int, high: int, place: st.Place, code: str = "out-of-range"
) -> list[st.Statement]:
    """Check that an integer fits its width: one of a field by its type too, one that is computed."""
    if isinstance(value, v.Member | v.Item | v.Within | v.CaseOf | v.Number):
        fits: v.Value = v.Call("integer_fits", (value, v.Int(low), v.Int(high)), v.BoolType())
    else:
        fits = within(value, low, high)
    return fail_if(negated(fits), code, place)


def float_check(kind: Float, value: v.Value, place: st.Place) -> list[st.Statement]:
    """Check that a float is one of its width on the wire."""
    fits = v.Call("float_fits", (value, v.Int(kind.bits)), v.BoolType())
    failure: tuple[st.Statement, ...] = (st.Fail("not-canonical", place),)
    if kind.bits in _OVERFLOW:
        bound, infinity = _OVERFLOW[kind.bits], float("inf")
        above = [v.Op(">=", (value, v.Real(bound)), 0, 1), v.Op("<", (value, v.Real(infinity)), 0, 1)]
        below = [v.Op("<=", (value, v.Real(-bound)), 0, 1), v.Op(">", (value, v.Real(-infinity)), 0, 1)]
        beyond = any_of([all_of(above), all_of(below)])
        failure = (st.When(beyond, (st.Fail("out-of-range", place),)), *failure)
    return [st.When(negated(fits), failure)]


def scaled_check(kind: Scaled, value: v.Value, place: st.Place) -> list[st.Statement]:
    """Check that a float stands on a step, of an integer that fits."""
    integer, step = kind.integer, (v.Int(kind.multiply), v.Int(kind.add), v.Int(kind.divide))
    ends = sorted((end - kind.add) // kind.multiply for end in (-(1 << 53), 1 << 53))
    fits, on_a_step = (
        v.Call("scaled_fits", (value, *step, v.Int(low), v.Int(high)), v.BoolType())
        for low, high in ((integer.lowest, integer.highest), (ends[0] - 1, ends[1] + 1))
    )
    failure = st.When(on_a_step, (st.Fail("out-of-range", place),), (st.Fail("not-canonical", place),))
    return [st.When(negated(fits), (failure,))]


def size_check(found: v.Value, wanted: v.Value, place: st.Place) -> list[st.Statement]:
    """Check a length or a count against what the layout states."""
    if found == wanted:
        return []
    return fail_if(compared("!=", found, wanted), "bad-count", place)


def is_member(value: v.Value, members: Iterable[int]) -> v.Value:
    """Return whether an integer is one of some: by its ends where they follow each other."""
    known = sorted(set(members))
    if len(known) == known[-1] - known[0] + 1 and len(known) > 2:
        return all_of([compared(">=", value, known[0]), compared("<=", value, known[-1])])
    return any_of(compared("==", value, member) for member in known)


def limits_check(value: v.Value, limits: Iterable[Limit], place: st.Place) -> list[st.Statement]:
    """Note a value that does not keep its limits. The value is as an expression reads it."""
    kept = all_of(limit_kept(value, limit) for limit in limits)
    if kept == v.Truth(True):
        return []
    return [st.When(negated(kept), (st.Note("value", "out-of-range", place),))]


def limit_kept(value: v.Value, limit: Limit) -> v.Value:
    """Return whether a value keeps one limit. A NaN keeps none that compares."""
    operators = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    argument = limit.value
    match limit.kind:
        case "ge" | "gt" | "le" | "lt" as kind:
            assert isinstance(argument, int | float)
            if is_float(value):
                return v.Op(operators[kind], (value, v.Real(as_float(argument))), 0, 1)
            assert isinstance(argument, int), "floats only bound floats"
            least, most = interval_of(value)
            match kind:  # what the interval decides needs no test
                case "ge" if least >= argument:
                    return v.Truth(True)
                case "le" if most <= argument:
                    return v.Truth(True)
            return compared(operators[kind], value, argument)
        case "multiple_of":
            assert isinstance(argument, int)
            return compared("==", operation("%", value, v.Int(argument)), 0)
        case "min_length" | "max_length" as kind:
            assert isinstance(argument, int)
            return compared(">=" if kind == "min_length" else "<=", v.Count(value), argument)
    assert isinstance(argument, tuple)
    one = any_of(_is(value, item) for item in argument)
    return one if limit.kind == "one_of" else negated(one)


def _is(value: v.Value, wanted: int | bool | bytes | str) -> v.Value:
    if isinstance(wanted, int):
        return compared("==", value, int(wanted))
    return is_literal(value, wanted)

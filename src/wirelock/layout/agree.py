"""Whether a function means what its trace says: both are computed for a few dozen contexts and compared.

The contexts hold the values that a layout can have where the function looks: ends of intervals, the
constants of the expression and their neighbours, and values drawn from a fixed seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final, TypeAlias

from construct import Container

from wirelock.errors import SchemaError
from wirelock.layout.named import named
from wirelock.layout.nodes import Bytes, Computed, Enum, Flag, Flags, Float, Mapping, Scaled, Text, Type
from wirelock.layout.operators import Interval, evaluate
from wirelock.layout.terms import Expression, Index, Length, Literal, Number, Operation, Path
from wirelock.layout.trace import function_text

__all__ = ["Spot", "check_agreement"]

ROUNDS: Final = 48
DRAWN: Final = 4
"""How many contexts are tried, and how many of a place's values are any that fit."""
_LONGEST: Final = 1 << 20
"""Lengths are tried up to here."""
_FLOATS: Final = (0.0, -0.0, 1.0, -1.5, float("inf"), float("-inf"), float("nan"))

Read: TypeAlias = Path | Length | Index
Pair: TypeAlias = tuple[Any, int | float | bytes | str]
"""A value as the function sees it, and as the expression computes with it."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a function looks: the names from one of its arguments on, and what the expression reads there."""

    root: str
    names: tuple[str, ...]
    read: Read
    kind: Type | None
    bounds: Interval


def check_agreement(
    function: FunctionType,
    expression: Expression,
    spots: list[Spot],
    roots: tuple[str, ...],
    tested: bool,
    where: str,
) -> None:
    """Compare a function with the expression that it was read as. Raises SchemaError where they differ.

    With `tested` nothing but the truth of the result matters.
    """
    rng, constants = random.Random(0), sorted({*_constants(expression)})
    literals = [*_literals(expression)]
    pools = {spot.read: _pool(spot, constants, rng) or _words(spot, literals) for spot in spots}
    for _ in range(ROUNDS):
        values = {read: rng.choice(pool) for read, pool in pools.items()}
        wanted = evaluate(expression, lambda read, values=values: values[read][1])  # type: ignore[misc]
        try:
            found = function(*_arguments(spots, values, roots))
            same = bool(found) == bool(wanted) if tested else bool(found == wanted)
            told = f"is {found!r}, its trace {wanted!r}"
        except Exception as problem:  # of the author's own code, which may raise anything
            same, told = False, f"raises {type(problem).__name__}: {problem}"
        if not same:
            case = ", ".join(
                f"{'.'.join(spot.names) or spot.root} = {values[spot.read][0]!r}" for spot in spots
            )
            raise SchemaError(
                where, f"{function_text(function)} {told}, where {case}", "write it with `this`"
            )


def _constants(expression: Expression) -> Iterator[int | float]:
    match expression:
        case Number(value=value):
            yield value
        case Operation(operands=operands):
            for operand in operands:
                yield from _constants(operand)


def _literals(expression: Expression) -> Iterator[bytes | str]:
    match expression:
        case Literal(value=value):
            yield value
        case Operation(operands=operands):
            for operand in operands:
                yield from _literals(operand)


def _words(spot: Spot, literals: list[bytes | str]) -> list[Pair]:
    """Return the bytes or the text to try in one place."""
    if isinstance(spot.kind, Text):
        return [(value, value) for value in ("", "x", *literals) if isinstance(value, str)]
    return [(value, value) for value in (b"", b"x", *literals) if isinstance(value, bytes)]


def _pool(spot: Spot, constants: list[int | float], rng: random.Random) -> list[Pair]:
    """Return the values to try in one place."""
    kind, (low, high) = spot.kind, spot.bounds
    match kind:
        case Bytes() | Text() if not isinstance(spot.read, Length):
            return []
        case Mapping(members=members):
            return list(members)
        case Float() | Scaled():
            near = [float(value) for value in constants]
            return [(value, value) for value in (*near, *(value + 0.5 for value in near), *_FLOATS)]
        case Flag() | Computed(boolean=True):
            return [(False, 0), (True, 1)]
    if isinstance(spot.read, Length):
        high = max(low, min(high, _LONGEST))
    numbers = {low, high, 0, 1, 2, *(rng.randint(low, high) for _ in range(DRAWN))}
    numbers |= {int(value) + step for value in constants if abs(value) < math.inf for step in (-1, 0, 1)}
    if isinstance(kind, Enum):
        numbers |= {value for _, value in kind.members}
    return [_seen(spot, value) for value in sorted(numbers) if low <= value <= high]


def _seen(spot: Spot, value: int) -> Pair:
    if isinstance(spot.read, Length):
        return range(value), value
    if isinstance(spot.kind, Enum | Flags):
        return named(value, spot.kind.members), value
    return value, value


def _arguments(spots: list[Spot], values: dict[Read, Pair], roots: tuple[str, ...]) -> list[Any]:
    """Return what the function is called with: contexts that hold the values at their names."""
    found: dict[str, Any] = {root: Container() for root in roots}
    for spot in spots:
        value = values[spot.read][0]
        if not spot.names:
            found[spot.root] = value
            continue
        holder = found[spot.root]
        for name in spot.names[:-1]:
            holder = holder.setdefault(name, Container())
        holder[spot.names[-1]] = value
    return [found[root] for root in roots]

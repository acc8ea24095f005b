"""The rules of rotations: an encoder could have written these components, and would write them so again.

docs/quaternion.md derives both. They are exact in integers; `reachable` rejects a third of all triples.
"""

from typing import Any

from construct import this

from wirelock import Rule, abs_, max_
from wirelock.quaternion import REACHABLE_LIMIT, width


def _inner(component: Any) -> Any:
    """Return |n| (|n| - 1): the square of the quantisation cell's inner corner, less a quarter."""
    return abs_(component) * (abs_(component) - 1)


def _reachable(limit: int) -> Rule:
    return Rule(
        "reachable",
        _inner(this.a)
        + _inner(this.b)
        + _inner(this.c)
        + max_(_inner(this.a), _inner(this.b), _inner(this.c))
        <= limit,
        "no unit quaternion has these three components as its smallest",
    )


def _canonical(bits: int) -> Rule:
    """Return the rule that the omitted component is the largest, and of equals the first."""
    limit, _, _, tie = width(bits)
    largest = max_(abs_(this.a), abs_(this.b), abs_(this.c))
    rest = 2 * limit**2 - tie - this.a * this.a - this.b * this.b - this.c * this.c
    first_is_omitted = (
        (this.largest_index == 0)
        | ((this.largest_index == 1) & (abs_(this.a) < largest))
        | ((this.largest_index == 2) & (abs_(this.a) < largest) & (abs_(this.b) < largest))
    )
    return Rule(
        "canonical",
        (rest >= largest * largest) | (first_is_omitted & (rest > largest * largest - largest)),
        "another packet is written for this rotation",
    )


REACHABLE = _reachable(REACHABLE_LIMIT)
"""Of 16 bits a component."""
REACHABLE_15 = _reachable(width(15).reachable)
CANONICAL_15 = _canonical(15)
"""Of 15 bits a component."""

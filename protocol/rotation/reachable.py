"""The rule that both 16-bit rotations share: an encoder could have written these three components.

docs/quaternion.md derives it. It is exact in integers and rejects a third of all triples.
"""

from typing import Any

from construct import this

from wirelock import Rule, abs_, max_
from wirelock.quaternion import REACHABLE_LIMIT


def _inner(component: Any) -> Any:
    """Return |n| (|n| - 1): the square of the quantisation cell's inner corner, less a quarter."""
    return abs_(component) * (abs_(component) - 1)


REACHABLE = Rule(
    "reachable",
    _inner(this.a) + _inner(this.b) + _inner(this.c) + max_(_inner(this.a), _inner(this.b), _inner(this.c))
    <= REACHABLE_LIMIT,
    "no unit quaternion has these three components as its smallest",
)

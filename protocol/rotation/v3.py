"""rotation v3: a 2-bit index and three 15-bit components in six bytes, in their canonical form.

Encoding again what was decoded gives the same bytes. It carries no flags.
"""

from __future__ import annotations

from typing import Any

from construct import BitsInteger, BitStruct, Padding

from protocol.rotation.rules import CANONICAL_15, REACHABLE_15
from wirelock import Record, SmallestThree, columns
from wirelock.quaternion import decode, decode_columns, encode

BITS = 15


class RotationV3(
    Record,
    layout=BitStruct(
        "largest_index" / BitsInteger(2),
        "a" / BitsInteger(BITS, signed=True),
        "b" / BitsInteger(BITS, signed=True),
        "c" / BitsInteger(BITS, signed=True),
        Padding(1),
    ),
    rules=(REACHABLE_15, CANONICAL_15),
    pose=SmallestThree(bits=BITS, canonical=True),
):
    """A unit quaternion without its largest component, in 47 bits and a spare one."""

    largest_index: int
    """Which of x, y, z, w is left out: the first with the largest magnitude."""
    a: int
    """The first kept component, in 1/23169.06 (-1/sqrt 2 to 1/sqrt 2 over -16383 to 16383)."""
    b: int
    """The second kept component, in the unit of a."""
    c: int
    """The third kept component, in the unit of a."""

    @classmethod
    def from_quaternion(cls, x: float, y: float, z: float, w: float) -> RotationV3:
        """Return the record for a quaternion of any length; q and -q give the same one.

        Raises EncodeError where the squared length is below 1e-12 or not finite in binary32.
        """
        index, a, b, c = encode(x, y, z, w, bits=BITS, canonical=True)
        return cls(largest_index=index, a=a, b=b, c=c)

    def to_quaternion(self) -> tuple[float, float, float, float]:
        """Return (x, y, z, w), a unit quaternion in binary32."""
        return decode(self.largest_index, self.a, self.b, self.c, bits=BITS, canonical=True)

    @staticmethod
    @columns("x", "y", "z", "w")
    def quaternions(largest_index: Any, a: Any, b: Any, c: Any) -> Any:
        """Return unit quaternions in binary32, (n, 4), each the bits of `to_quaternion`."""
        return decode_columns(largest_index, a, b, c, bits=BITS, canonical=True)

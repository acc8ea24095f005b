"""rotation v1: one byte for the index, three little-endian 16-bit components. Seven bytes."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Le
from construct import Int8ul, Int16sl, Struct

from protocol.rotation.rules import REACHABLE
from wirelock import Record, SmallestThree, columns
from wirelock.quaternion import decode, decode_columns, encode


class RotationV1(
    Record,
    layout=Struct(
        "largest_index" / Int8ul,
        "a" / Int16sl,
        "b" / Int16sl,
        "c" / Int16sl,
    ),
    rules=(REACHABLE,),
    pose=SmallestThree(),
):
    """A unit quaternion without its largest component."""

    largest_index: Annotated[int, Le(3)]
    """Which of x, y, z, w is left out: the first with the largest magnitude."""
    a: int
    """The first kept component, in 1/46339.53515625 (-1/sqrt 2 to 1/sqrt 2 over -32767 to 32767)."""
    b: int
    """The second kept component, in the unit of a."""
    c: int
    """The third kept component, in the unit of a."""

    @classmethod
    def from_quaternion(cls, x: float, y: float, z: float, w: float) -> RotationV1:
        """Return the record for a quaternion of any length; q and -q give the same one.

        Raises EncodeError where the squared length is below 1e-12 or not finite in binary32.
        """
        index, a, b, c = encode(x, y, z, w)
        return cls(largest_index=index, a=a, b=b, c=c)

    def to_quaternion(self) -> tuple[float, float, float, float]:
        """Return (x, y, z, w), a unit quaternion in binary32."""
        return decode(self.largest_index, self.a, self.b, self.c)

    @staticmethod
    @columns("x", "y", "z", "w")
    def quaternions(largest_index: Any, a: Any, b: Any, c: Any) -> Any:
        """Return unit quaternions in binary32, (n, 4), each the bits of `to_quaternion`."""
        return decode_columns(largest_index, a, b, c)

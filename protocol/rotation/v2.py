"""rotation v2: six flags and the index share one byte, then three little-endian 16-bit components.

Seven bytes, as v1; with no flag set they are the bytes of v1.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any

from construct import BitsInteger, BitStruct, Bytewise, FlagsEnum, Int16sl

from protocol.rotation.rules import REACHABLE
from wirelock import Record, SmallestThree, columns
from wirelock.quaternion import decode, decode_columns, encode


class PoseFlags(IntFlag):
    """What a receiver has to know of a pose beside its numbers."""

    TELEPORTED = 1
    GROUNDED = 2
    CROUCHING = 4
    AIMING = 8
    RAGDOLL = 16
    INVISIBLE = 32


NO_FLAGS = PoseFlags(0)


class RotationV2(
    Record,
    layout=BitStruct(
        "flags" / FlagsEnum(BitsInteger(6), PoseFlags),
        "largest_index" / BitsInteger(2),
        "a" / Bytewise(Int16sl),
        "b" / Bytewise(Int16sl),
        "c" / Bytewise(Int16sl),
    ),
    rules=(REACHABLE,),
    pose=SmallestThree(),
):
    """A unit quaternion without its largest component, with flags beside the index."""

    flags: PoseFlags
    """Flags of the pose, in the upper six bits of the first byte."""
    largest_index: int
    """Which of x, y, z, w is left out: the first with the largest magnitude."""
    a: int
    """The first kept component, in 1/46339.53515625 (-1/sqrt 2 to 1/sqrt 2 over -32767 to 32767)."""
    b: int
    """The second kept component, in the unit of a."""
    c: int
    """The third kept component, in the unit of a."""

    @classmethod
    def from_quaternion(
        cls, x: float, y: float, z: float, w: float, flags: PoseFlags = NO_FLAGS
    ) -> RotationV2:
        """Return the record for a quaternion of any length; q and -q give the same one.

        Raises EncodeError where the squared length is below 1e-12 or not finite in binary32.
        """
        index, a, b, c = encode(x, y, z, w)
        return cls(flags=flags, largest_index=index, a=a, b=b, c=c)

    def to_quaternion(self) -> tuple[float, float, float, float]:
        """Return (x, y, z, w), a unit quaternion in binary32."""
        return decode(self.largest_index, self.a, self.b, self.c)

    @staticmethod
    @columns("x", "y", "z", "w")
    def quaternions(largest_index: Any, a: Any, b: Any, c: Any) -> Any:
        """Return unit quaternions in binary32, (n, 4), each the bits of `to_quaternion`."""
        return decode_columns(largest_index, a, b, c)

"""From one version of a rotation to the next and back: the same quaternion, as close as both can say it."""

from __future__ import annotations

from protocol.rotation.v1 import RotationV1
from protocol.rotation.v2 import PoseFlags, RotationV2
from protocol.rotation.v3 import RotationV3
from wirelock import Lossy, Migration
from wirelock.quaternion import angle_between, angle_bound

BINARY32 = 0.00015
"""Degrees that the arithmetic itself may add to the bound of a width."""
NEAR_TIE = 1.42
"""How far from its bound a rotation in canonical form may be where two components are nearly equal."""


def same_rotation(
    old: RotationV1 | RotationV2 | RotationV3, new: RotationV1 | RotationV2 | RotationV3
) -> bool:
    """Whether two rotations are one, within what 16 and 15 bits a component can say."""
    wide = angle_bound(16) + BINARY32
    narrow = NEAR_TIE * angle_bound(15) if isinstance(new, RotationV3) else 0.0
    return angle_between(old.to_quaternion(), new.to_quaternion()) <= wide + narrow


def one_to_two(old: RotationV1) -> RotationV2:
    """Return the same components, without flags: the same bytes."""
    return RotationV2(flags=PoseFlags(0), largest_index=old.largest_index, a=old.a, b=old.b, c=old.c)


@Lossy("flags")
def two_to_one(new: RotationV2) -> RotationV1:
    """Return the same components."""
    return RotationV1(largest_index=new.largest_index, a=new.a, b=new.b, c=new.c)


@Lossy("flags", "largest_index", "a", "b", "c")
def two_to_three(old: RotationV2) -> RotationV3:
    """Return the nearest rotation of 15 bits a component."""
    return RotationV3.from_quaternion(*old.to_quaternion())


@Lossy("largest_index", "a", "b", "c")
def three_to_two(new: RotationV3) -> RotationV2:
    """Return the nearest rotation of 16 bits a component. Near ties may come back as another packet."""
    return RotationV2.from_quaternion(*new.to_quaternion())


MIGRATIONS = (
    Migration(1, 2, up=one_to_two, down=two_to_one, keeps=same_rotation),
    Migration(2, 3, up=two_to_three, down=three_to_two, keeps=same_rotation),
)

"""rotation: a unit quaternion as its smallest three components. It has no tag: it lives in a snapshot.

v2 carries six flags beside the index; with no flag set its bytes are those of v1.
"""

from protocol.rotation.v1 import RotationV1
from protocol.rotation.v2 import PoseFlags, RotationV2
from wirelock import Protocol

rotation = Protocol("rotation", {1: RotationV1, 2: RotationV2})

__all__ = ["PoseFlags", "RotationV1", "RotationV2", "rotation"]

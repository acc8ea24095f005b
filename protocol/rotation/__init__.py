"""rotation: a unit quaternion as its smallest three components. It has no tag: it lives in a snapshot.

v2 carries six flags beside the index; with no flag set its bytes are those of v1. v3 has 15 bits a
component and no flags, in six bytes.
"""

from protocol.rotation.migrations import MIGRATIONS
from protocol.rotation.v1 import RotationV1
from protocol.rotation.v2 import PoseFlags, RotationV2
from protocol.rotation.v3 import RotationV3
from wirelock import Protocol

rotation = Protocol("rotation", {1: RotationV1, 2: RotationV2, 3: RotationV3}, migrations=MIGRATIONS)

__all__ = ["PoseFlags", "RotationV1", "RotationV2", "RotationV3", "rotation"]

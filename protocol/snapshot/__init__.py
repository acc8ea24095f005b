"""snapshot: the state of all entities at one tick, as the server sends it over UDP.

Every version begins with the tag: the magic and the version. v2 moves the flags of an entity into its
rotation and is one byte shorter an entity.
"""

from protocol.snapshot.v1 import EntityV1, Position, SnapshotV1
from protocol.snapshot.v2 import EntityV2, SnapshotV2
from wirelock import Protocol

snapshot = Protocol("snapshot", {1: SnapshotV1, 2: SnapshotV2}, tag=("magic", "version"))

__all__ = ["EntityV1", "EntityV2", "Position", "SnapshotV1", "SnapshotV2", "snapshot"]

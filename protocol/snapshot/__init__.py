"""snapshot: the state of all entities at one tick, as the server sends it over UDP.

Every version begins with the tag: the magic and the version. v2 moves the flags of an entity into its
rotation and is one byte shorter an entity; v3 takes them out again and has rotations of 15 bits a component.
"""

from protocol.snapshot.migrations import MIGRATIONS
from protocol.snapshot.v1 import EntityV1, Position, SnapshotV1
from protocol.snapshot.v2 import EntityV2, SnapshotV2
from protocol.snapshot.v3 import EntityV3, SnapshotV3
from wirelock import Protocol

snapshot = Protocol(
    "snapshot",
    {1: SnapshotV1, 2: SnapshotV2, 3: SnapshotV3},
    tag=("magic", "version"),
    keys=("tick", "entities[].id"),
    migrations=MIGRATIONS,
)

__all__ = [
    "EntityV1", "EntityV2", "EntityV3", "Position", "SnapshotV1", "SnapshotV2", "SnapshotV3", "snapshot",
]  # fmt: skip

"""From one version of a snapshot to the next and back: every entity keeps its number, place and flags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from protocol.rotation import PoseFlags, RotationV1, RotationV2
from protocol.rotation import migrations as rotations
from protocol.rotation.migrations import same_rotation
from protocol.snapshot.v1 import EntityV1, SnapshotV1
from protocol.snapshot.v2 import EntityV2, SnapshotV2
from protocol.snapshot.v3 import EntityV3, SnapshotV3
from wirelock import Lossy, Migration

COMPONENTS = tuple(f"entities[].rotation.{name}" for name in ("largest_index", "a", "b", "c"))
"""What 16 and 15 bits a component do not say alike."""


def one_to_two(old: SnapshotV1) -> SnapshotV2:
    """Move the flags of each entity into its rotation."""
    return SnapshotV2(tick=old.tick, entities=tuple(map(_entity_one_to_two, old.entities)))


def two_to_one(new: SnapshotV2) -> SnapshotV1:
    """Move the flags of each rotation into its entity."""
    return SnapshotV1(tick=new.tick, entities=tuple(map(_entity_two_to_one, new.entities)))


@Lossy(*COMPONENTS)
def two_to_three(old: SnapshotV2) -> SnapshotV3:
    """Move the flags of each rotation into its entity, and write the rotation with 15 bits a component."""
    return SnapshotV3(tick=old.tick, entities=tuple(map(_entity_two_to_three, old.entities)))


@Lossy(*COMPONENTS)
def three_to_two(new: SnapshotV3) -> SnapshotV2:
    """Move the flags of each entity into its rotation, and write the rotation with 16 bits a component."""
    return SnapshotV2(tick=new.tick, entities=tuple(map(_entity_three_to_two, new.entities)))


def _entity_one_to_two(old: EntityV1) -> EntityV2:
    rotation = RotationV2(flags=old.flags, **_components(old.rotation))
    return EntityV2(id=old.id, position=old.position, rotation=rotation)


def _entity_two_to_one(new: EntityV2) -> EntityV1:
    rotation = RotationV1(**_components(new.rotation))
    return EntityV1(id=new.id, flags=new.rotation.flags, position=new.position, rotation=rotation)


def _entity_two_to_three(old: EntityV2) -> EntityV3:
    return EntityV3(
        id=old.id,
        flags=old.rotation.flags,
        position=old.position,
        rotation=rotations.two_to_three(old.rotation),
    )


def _entity_three_to_two(new: EntityV3) -> EntityV2:
    rotation = RotationV2(flags=new.flags, **_components(rotations.three_to_two(new.rotation)))
    return EntityV2(id=new.id, position=new.position, rotation=rotation)


def _components(rotation: RotationV1 | RotationV2) -> dict[str, int]:
    return {name: getattr(rotation, name) for name in ("largest_index", "a", "b", "c")}


def same_scene(old: SnapshotV1 | SnapshotV2, new: SnapshotV2 | SnapshotV3) -> bool:
    """Whether two snapshots have the same entities, with rotations as close as both can say them."""
    if old.tick != new.tick or [*_poses(old)] != [*_poses(new)]:
        return False
    pairs: Any = zip(old.entities, new.entities, strict=True)
    return all(same_rotation(one.rotation, other.rotation) for one, other in pairs)


def _poses(snapshot: SnapshotV1 | SnapshotV2 | SnapshotV3) -> Iterator[tuple[int, Any, PoseFlags]]:
    for entity in snapshot.entities:
        flags = entity.rotation.flags if isinstance(entity, EntityV2) else entity.flags
        yield entity.id, entity.position.build(), flags


MIGRATIONS = (
    Migration(1, 2, up=one_to_two, down=two_to_one, keeps=same_scene),
    Migration(2, 3, up=two_to_three, down=three_to_two, keeps=same_scene),
)

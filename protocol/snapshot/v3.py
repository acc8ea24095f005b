"""snapshot v3: a header of nine bytes, then 21 bytes an entity: its flags again, and rotations of v3."""

from __future__ import annotations

from construct import Array, Const, FlagsEnum, Int8ul, Int16ul, Int32ul, Struct, this

from protocol.rotation import PoseFlags, RotationV3
from protocol.snapshot.v1 import MAGIC, Position
from wirelock import Record, derived


class EntityV3(
    Record,
    layout=Struct(
        "id" / Int16ul,
        "flags" / FlagsEnum(Int8ul, PoseFlags),
        "position" / Position.layout,
        "rotation" / RotationV3.layout,
    ),
):
    """One entity: 21 bytes."""

    id: int
    """The entity's number, the same for as long as it lives."""
    flags: PoseFlags
    """Flags of the pose; the two upper bits are zero."""
    position: Position
    """Where the entity's origin is."""
    rotation: RotationV3
    """From the entity's axes to the world's."""


class SnapshotV3(
    Record,
    layout=Struct(
        "magic" / Const(MAGIC),
        "version" / Const(3, Int8ul),
        "tick" / Int32ul,
        "count" / Int16ul,
        "entities" / Array(this.count, EntityV3.layout),
    ),
):
    """All entities at one tick."""

    magic: bytes = derived()
    """The two bytes that tell a snapshot from other traffic."""
    version: int = derived()
    """The version of the layout behind this byte."""
    tick: int
    """The simulation step, in 1/60 s since the server started."""
    count: int = derived()
    """How many entities follow."""
    entities: tuple[EntityV3, ...]
    """The entities, in no particular order."""

"""snapshot v2: a header of nine bytes, then 21 bytes an entity: the flags moved into the rotation."""

from __future__ import annotations

from construct import Array, Const, Int8ul, Int16ul, Int32ul, Struct, this

from protocol.rotation import RotationV2
from protocol.snapshot.v1 import MAGIC, Position
from wirelock import Record, derived


class EntityV2(
    Record,
    layout=Struct(
        "id" / Int16ul,
        "position" / Position.layout,
        "rotation" / RotationV2.layout,
    ),
):
    """One entity: 21 bytes."""

    id: int
    """The entity's number, the same for as long as it lives."""
    position: Position
    """Where the entity's origin is."""
    rotation: RotationV2
    """From the entity's axes to the world's, with the flags of the pose."""


class SnapshotV2(
    Record,
    layout=Struct(
        "magic" / Const(MAGIC),
        "version" / Const(2, Int8ul),
        "tick" / Int32ul,
        "count" / Int16ul,
        "entities" / Array(this.count, EntityV2.layout),
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
    entities: tuple[EntityV2, ...]
    """The entities, in no particular order."""

"""snapshot v1: a header of nine bytes, then 22 bytes an entity."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le
from construct import Array, Const, FlagsEnum, Float32l, Int8ul, Int16ul, Int32ul, Struct, this

from protocol.rotation import PoseFlags, RotationV1
from wirelock import Record, derived

MAGIC = b"WS"

Metres = Annotated[float, Ge(-8192.0), Le(8192.0)]


class Position(Record, layout=Struct("x" / Float32l, "y" / Float32l, "z" / Float32l)):
    """A point of the world, right-handed, y up."""

    x: Metres
    """Metres to the east, -8192 to 8192."""
    y: Metres
    """Metres up, -8192 to 8192."""
    z: Metres
    """Metres to the south, -8192 to 8192."""


class EntityV1(
    Record,
    layout=Struct(
        "id" / Int16ul,
        "flags" / FlagsEnum(Int8ul, PoseFlags),
        "position" / Position.layout,
        "rotation" / RotationV1.layout,
    ),
):
    """One entity: 22 bytes."""

    id: int
    """The entity's number, the same for as long as it lives."""
    flags: PoseFlags
    """Flags of the pose; the two upper bits are zero."""
    position: Position
    """Where the entity's origin is."""
    rotation: RotationV1
    """From the entity's axes to the world's."""


class SnapshotV1(
    Record,
    layout=Struct(
        "magic" / Const(MAGIC),
        "version" / Const(1, Int8ul),
        "tick" / Int32ul,
        "count" / Int16ul,
        "entities" / Array(this.count, EntityV1.layout),
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
    entities: tuple[EntityV1, ...]
    """The entities, in no particular order."""

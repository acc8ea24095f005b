"""The record types as caterpillar-py has them: a class a type, a field an annotation.

The annotations are the layout, so they cannot be postponed.
"""

from collections.abc import Callable
from typing import Any

from caterpillar.py import (
    LittleEndian,
    bitfield,
    float32,
    int16,
    pack,
    struct,
    this,
    uint8,
    uint16,
    uint32,
    unpack,
)

__all__ = ["MAKE", "READ", "pack"]


@struct(order=LittleEndian)
class Rotation1:
    """rotation v1."""

    largest_index: uint8
    a: int16
    b: int16
    c: int16


@bitfield(order=LittleEndian)
class Rotation2:
    """rotation v2."""

    flags: 6
    largest_index: 2
    a: int16
    b: int16
    c: int16


@struct(order=LittleEndian)
class Position:
    """A point."""

    x: float32
    y: float32
    z: float32


@struct(order=LittleEndian)
class Entity:
    """An entity."""

    id: uint16
    position: Position
    rotation: Rotation2


@struct(order=LittleEndian)
class Snapshot:
    """A snapshot."""

    magic: b"WS"
    version: uint8
    tick: uint32
    count: uint16
    entities: Entity[this.count]


def _reader(kind: type) -> Callable[[bytes], Any]:
    return lambda data: unpack(kind, data)


def _entity(value: dict[str, Any]) -> Entity:
    position, rotation = Position(**value["position"]), Rotation2(**value["rotation"])
    return Entity(id=value["id"], position=position, rotation=rotation)


def _snapshot(value: dict[str, Any]) -> Snapshot:
    entities = [_entity(item) for item in value["entities"]]
    return Snapshot(version=value["version"], tick=value["tick"], count=value["count"], entities=entities)


READ = {"rotation v1": _reader(Rotation1), "rotation v2": _reader(Rotation2), "snapshot": _reader(Snapshot)}
MAKE = {
    "rotation v1": lambda value: Rotation1(**value),
    "rotation v2": lambda value: Rotation2(**value),
    "snapshot": _snapshot,
}

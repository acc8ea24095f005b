"""What is measured: the records of each case, what a result has to hold, and bytes to be refused.

A case is one record type. All rivals read the same bytes and are compared field by field with wirelock.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from protocol.rotation import PoseFlags, RotationV1, RotationV2
from protocol.snapshot import EntityV2, Position, SnapshotV2
from wirelock import Record

ENTITIES = 16

# What a result holds: a name leads to a shape, a list of one shape, or a type that makes it plain.
ROTATION_1 = {"largest_index": int, "a": int, "b": int, "c": int}
ROTATION_2 = {"flags": int, **ROTATION_1}
POSITION = {"x": float, "y": float, "z": float}
ENTITY_2 = {"id": int, "position": POSITION, "rotation": ROTATION_2}
SNAPSHOT_2 = {"magic": bytes, "version": int, "tick": int, "count": int, "entities": [ENTITY_2]}


def plain(value: Any, shape: Any) -> Any:
    """Return the values of any rival's object as plain dicts, lists and numbers."""
    if isinstance(shape, dict):
        return {name: plain(getattr(value, name), inner) for name, inner in shape.items()}
    if isinstance(shape, list):
        return [plain(item, shape[0]) for item in value]
    return shape(value)


@dataclass(frozen=True)
class Row:
    """One line of the tables for one case: a statement over `item`, and what it has to come to.

    `checks`: all that wirelock checks of these bytes, all but the rule, or nothing beyond what a format
    implies. `to_plain` makes a result comparable.
    """

    name: str
    source: str
    names: dict[str, Any]
    items: Sequence[Any]
    checks: Literal["all", "no rule", "none"] = "none"
    to_plain: Callable[[Any], Any] = bytes

    def result(self, item: Any) -> Any:
        """Run the statement once and return what its last line comes to."""
        namespace = {**self.names, "item": item}
        *before, last = self.source.splitlines()
        exec("\n".join(before), namespace)
        return eval(last, namespace)


@dataclass(frozen=True)
class Case:
    """One record type with the records to measure, their bytes and values, and bytes to refuse."""

    name: str
    record: type[Record]
    shape: dict[str, Any]
    records: list[Record]
    bad: list[bytes]
    unreachable: bytes
    data: list[bytes] = field(init=False)
    values: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", [record.build() for record in self.records])
        object.__setattr__(self, "values", [plain(record, self.shape) for record in self.records])


def _quaternion(i: int) -> tuple[float, float, float, float]:
    """Return the i-th of some turns that are spread evenly over all there are."""
    chance = Random(i)
    x, y, z, w = (chance.gauss(0, 1) for _ in range(4))
    return x, y, z, w


def _rotation_1(i: int) -> RotationV1:
    return RotationV1.from_quaternion(*_quaternion(i))


def _rotation_2(i: int) -> RotationV2:
    return RotationV2.from_quaternion(*_quaternion(i), PoseFlags(i % 64))


def _snapshot(i: int) -> SnapshotV2:
    entities = tuple(
        EntityV2(
            id=64 * i + n,
            position=Position(x=1.5 * n - 20, y=0.25 * i, z=-3.0 * n),
            rotation=_rotation_2(16 * i + n),
        )
        for n in range(ENTITIES)
    )
    return SnapshotV2(tick=1000 + i, entities=entities)


def rotation_1() -> Case:
    """Seven bytes with a limit and a rule."""
    good = _rotation_1(5).build()
    return Case(
        "rotation v1",
        RotationV1,
        ROTATION_1,
        [_rotation_1(i) for i in range(64)],
        [b"", good[:-1], good + b"\0", b"\x04" + good[1:], b"\xff" + good[1:]],
        struct.pack("<Bhhh", 0, 32000, 32000, 32000),
    )


def rotation_2() -> Case:
    """Seven bytes with six flags and an index in the first, and the same rule."""
    good = _rotation_2(5).build()
    return Case(
        "rotation v2",
        RotationV2,
        ROTATION_2,
        [_rotation_2(i) for i in range(64)],
        [b"", good[:-1], good + b"\0"],
        struct.pack("<Bhhh", 0, 32000, 32000, 32000),
    )


def snapshot() -> Case:
    """A header and 16 entities of a number, a position within limits, and a rotation: 345 bytes."""
    good = _snapshot(1).build()
    last = len(good) - 21
    nan, far = struct.pack("<f", float("nan")), struct.pack("<f", 9000.0)
    return Case(
        f"snapshot, {ENTITIES} entities",
        SnapshotV2,
        SNAPSHOT_2,
        [_snapshot(i) for i in range(8)],
        [
            b"",
            good[:-1],
            good + b"\0",
            b"XS" + good[2:],
            good[:2] + b"\x07" + good[3:],
            good[:7] + b"\xff\xff" + good[9:],
            good[: last + 2] + nan + good[last + 6 :],
            good[: last + 10] + far + good[last + 14 :],
        ],
        good[:-6] + struct.pack("<hhh", 32000, 32000, 32000),
    )


def cases() -> list[Case]:
    """Return all cases, smallest first."""
    return [rotation_1(), rotation_2(), snapshot()]

"""A record that is declared to be a quaternion: its fields are there and hold the numbers."""

from __future__ import annotations

import pytest
from construct import Float32l, Int8sl, Int8ul, Int16sl, Struct

from protocol import PROTOCOLS
from wirelock import Record, SchemaError, SmallestThree
from wirelock.quaternion import encode
from wirelock.schema.record import wire_of


def test_the_rotations_declare_what_their_methods_do() -> None:
    for record in PROTOCOLS["rotation"].versions.values():
        pose = wire_of(record).pose
        assert pose is not None
        made = record.from_quaternion(0.35, -0.2, 0.1, -0.9)  # type: ignore[attr-defined]
        packet = encode(0.35, -0.2, 0.1, -0.9, bits=pose.bits, canonical=pose.canonical)
        assert tuple(getattr(made, name) for name in (pose.index, *pose.kept)) == packet


@pytest.mark.parametrize(
    ("index", "kept", "pose", "told"),
    [
        (Int8ul, Int16sl, SmallestThree(bits=17), "17 bits"),
        (Int8ul, Int16sl, SmallestThree(index="which"), "which is not in the layout"),
        (Int8ul, Int16sl, SmallestThree(kept=("a", "b")), "kept names 2 fields"),  # type: ignore[arg-type]
        (Int8ul, Int8sl, SmallestThree(), "does not hold -32767..32767"),
        (Int8ul, Float32l, SmallestThree(), "plain integers"),
    ],
)
def test_fields_that_are_no_quaternion(index: object, kept: object, pose: SmallestThree, told: str) -> None:
    number = float if kept is Float32l else int
    source = Struct("largest_index" / index, "a" / kept, "b" / kept, "c" / kept)
    names = {"largest_index": int, "a": number, "b": number, "c": number}
    with pytest.raises(SchemaError, match=told):
        type("Wrong", (Record,), {"__annotations__": names}, layout=source, pose=pose)


def test_a_pose_wants_a_layout() -> None:
    with pytest.raises(SchemaError, match="without a layout"):
        type("Wrong", (Record,), {}, pose=SmallestThree())

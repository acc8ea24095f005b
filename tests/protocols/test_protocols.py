"""The protocols of this repository keep what their documents say of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import PROTOCOLS
from protocol.rotation import PoseFlags, RotationV1, RotationV2
from protocol.snapshot import EntityV1, EntityV2, Position, SnapshotV1, SnapshotV2
from wirelock import DecodeError, EncodeError, layout_of
from wirelock.layout.sizes import size_of
from wirelock.quaternion import ANGLE_TOLERANCE_DEGREES, angle_between, reachable

components = st.integers(-32768, 32767)
numbers = st.floats(-1, 1, width=32)


@given(st.integers(0, 3), components, components, components)
def test_rotation_v2_without_flags_is_rotation_v1_byte_for_byte(index: int, a: int, b: int, c: int) -> None:
    fields = {"largest_index": index, "a": a, "b": b, "c": c}
    if not reachable(index, a, b, c):
        for record, more in ((RotationV1, {}), (RotationV2, {"flags": PoseFlags(0)})):
            with pytest.raises(ValueError, match="the rule reachable does not hold"):
                record(**fields, **more)
        return
    assert RotationV1(**fields).build() == RotationV2(flags=PoseFlags(0), **fields).build()


@given(st.binary(min_size=7, max_size=7))
def test_reachability_is_one_rule_in_every_engine_and_in_the_numerics(data: bytes) -> None:
    index, components = data[0], [int.from_bytes(data[i : i + 2], "little", signed=True) for i in (1, 3, 5)]
    for engine in ("generated", "reference"):
        try:
            RotationV1.parse(data, engine=engine)
        except DecodeError as error:
            assert error.code == ("rule:reachable" if index <= 3 else "out-of-range")
            assert not reachable(index, *components)
        else:
            assert reachable(index, *components)


@given(numbers, numbers, numbers, numbers, st.sampled_from([*PoseFlags, PoseFlags(63), PoseFlags(0)]))
def test_a_quaternion_survives_both_rotations(
    x: float, y: float, z: float, w: float, flags: PoseFlags
) -> None:
    quaternion = (x, y, z, w)
    try:
        first = RotationV1.from_quaternion(*quaternion)
    except EncodeError:
        with pytest.raises(EncodeError):
            RotationV2.from_quaternion(*quaternion)
        return
    second = RotationV2.from_quaternion(*quaternion, flags)
    assert first.to_quaternion() == second.to_quaternion()
    assert angle_between(first.to_quaternion(), quaternion) <= ANGLE_TOLERANCE_DEGREES
    assert second.flags is flags
    assert first == RotationV1.from_quaternion(-x, -y, -z, -w)


def test_the_sizes_of_snapshots() -> None:
    sizes = {record: size_of(layout_of(record)) for record in (EntityV1, EntityV2, SnapshotV1, SnapshotV2)}
    assert {record.__name__: size.lowest // 8 for record, size in sizes.items()} == {
        "EntityV1": 22,
        "EntityV2": 21,
        "SnapshotV1": 9,
        "SnapshotV2": 9,
    }


def test_a_snapshot_finds_its_version_by_its_tag() -> None:
    position = Position(x=1.5, y=-2.0, z=0.25)
    rotation = RotationV1.from_quaternion(0.35, -0.2, 0.1, -0.9)
    first = SnapshotV1(
        tick=7, entities=[EntityV1(id=1, flags=PoseFlags.AIMING, position=position, rotation=rotation)] * 2
    )
    turned = RotationV2.from_quaternion(0.35, -0.2, 0.1, -0.9, PoseFlags.AIMING)
    second = SnapshotV2(tick=7, entities=[EntityV2(id=1, position=position, rotation=turned)] * 2)
    assert len(first.build()) - len(second.build()) == 2
    for version, record in ((1, first), (2, second)):
        parsed = PROTOCOLS.parse(record.build())
        assert (parsed.label, parsed.record) == (f"snapshot v{version}", record)

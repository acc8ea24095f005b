"""Keys of protocols: which fields may be one, and what they name in each version."""

from __future__ import annotations

import enum
import pickle

import pytest
from construct import Array, Byte, Bytes, Enum, Float32l, If, Int16ul, PascalString, Struct, this

from tests.schema.record_maker import make, record_of
from wirelock import Protocol, SchemaError, layout_of
from wirelock.schema.keys import Keys, keys_of


class Kind(enum.IntEnum):
    A = 1
    B = 2


POINT = Struct("id" / Int16ul, "kind" / Enum(Byte, Kind), "x" / Float32l)
SCENE = Struct(
    "head" / Struct("tick" / Int16ul, "name" / PascalString(Byte, "utf8")),
    "blob" / Bytes(2),
    "n" / Byte,
    "points" / Array(this.n, Struct("pose" / POINT, "tags" / Array(2, Struct("id" / Byte)))),
    "more" / If(this.n > 1, Byte),
    "plain" / Array(2, Byte),
)
SceneV1 = record_of(SCENE)
LATER = make("SceneV2", Struct("step" / Int16ul), {"step": int})


def test_the_keys_of_a_layout() -> None:
    names = ("head.tick", "head.name", "blob", "points[].pose.id", "points[].pose.kind", "points[].tags[].id")
    protocol = Protocol("scene", {1: SceneV1, 2: LATER}, keys=(*names, "step"))
    assert keys_of(protocol.layout(1), protocol.keys) == Keys(
        ("head.tick", "head.name", "blob"),
        {"points[]": ("pose.id", "pose.kind"), "points[].tags[]": ("id",)},
    )
    assert keys_of(protocol.layout(2), protocol.keys) == Keys(("step",), {})
    assert keys_of(layout_of(LATER), ()) == Keys((), {})


def test_the_values_of_a_record() -> None:
    record = SceneV1.parse(b"\5\0" + b"\2hi" + b"ab" + b"\0" + b"\1\2")
    assert keys_of(layout_of(SceneV1), ("head.tick", "head.name", "blob")).of(record) == (5, "hi", b"ab")


def test_one_key_may_be_given_as_text() -> None:
    assert Protocol("later", {2: LATER}, keys="step").keys == ("step",)  # type: ignore[arg-type]


def test_keys_decide_no_bytes_and_are_in_no_digest() -> None:
    one, other = Protocol("later", {2: LATER}), Protocol("later", {2: LATER}, keys=("step",))
    assert one.digest(2) == other.digest(2)
    assert pickle.loads(pickle.dumps(Protocol("rotation", {1: _rotation()}, keys=("a",)))).keys == ("a",)


def _rotation():
    from protocol.rotation import RotationV1

    return RotationV1


REFUSED = {
    "no such field": (("tock",), "no version has the key tock; name fields that are always there, as tick"),
    "no field in a record": (("head.tock",), "no version has the key head.tock"),
    "a number as a record": (("n.x",), "no version has the key n.x"),
    "a record": (
        ("head",),
        "the key head is a field of kind Layout; name numbers, enumerations, flags, bytes",
    ),
    "a float": (("points[].pose.x",), "the key points[].pose.x is a field of kind Float"),
    "an array without brackets": (("points.pose.id",), "no version has the key points.pose.id"),
    "brackets without an array": (("head[].tick",), "no version has the key head[].tick"),
    "elements as such": (("plain[]",), "the key plain[] names elements, not a field of theirs"),
    "an array": (("plain",), "the key plain is a field of kind Array"),
    "what may be absent": (("more",), "the key more is a field of kind If"),
    "nothing": (("",), "no version has the key ''"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_key_is_refused_when_the_protocol_is_made(name: str) -> None:
    keys, told = REFUSED[name]
    with pytest.raises(SchemaError) as caught:
        Protocol("scene", {1: SceneV1, 2: LATER}, keys=keys)
    assert str(caught.value).startswith(f"scene: {told}")

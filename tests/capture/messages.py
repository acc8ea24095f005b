"""A protocol of messages by kind, as telemetry has them: arrays in cases, in options, and in elements."""

from __future__ import annotations

from construct import Byte, Const, If, Int16ub, PascalString, PrefixedArray, Struct, Switch, this

from wirelock import Protocol, Record, Registry, derived


class Joint(Record, layout=Struct("angle" / Int16ub, "samples" / PrefixedArray(Byte, Byte))):
    angle: int
    samples: tuple[int, ...]


class Pose(
    Record, layout=Struct("name" / PascalString(Byte, "utf8"), "joints" / PrefixedArray(Byte, Joint.layout))
):
    name: str
    joints: tuple[Joint, ...]


class Bones(Record, layout=Struct("joints" / PrefixedArray(Byte, Int16ub), "weight" / Byte)):
    joints: tuple[int, ...]
    weight: int


class Hit(Record, layout=Struct("damage" / Byte)):
    damage: int


class Extra(Record, layout=Struct("level" / Byte, "marks" / PrefixedArray(Byte, Byte))):
    level: int
    marks: tuple[int, ...]


class Part(
    Record,
    layout=Struct("kind" / Byte, "body" / Switch(this.kind, {1: Pose.layout, 2: Byte}, Hit.layout)),
):
    kind: int
    body: Pose | int | Hit


class MessageV1(
    Record,
    layout=Struct(
        "magic" / Const(b"MG"),
        "version" / Const(1, Byte),
        "kind" / Byte,
        "body" / Switch(this.kind, {1: Pose.layout, 2: Bones.layout, 3: Hit.layout}),
        "extra" / If(this.kind > 1, Extra.layout),
        "more" / If(this.kind == 3, PrefixedArray(Byte, Byte)),
        "parts" / PrefixedArray(Byte, Part.layout),
    ),
):
    magic: bytes = derived()
    version: int = derived()
    kind: int
    body: Pose | Bones | Hit
    extra: Extra | None
    more: tuple[int, ...] | None
    parts: tuple[Part, ...]


class MessageV2(Record, layout=Struct("magic" / Const(b"MG"), "version" / Const(2, Byte), "n" / Byte)):
    magic: bytes = derived()
    version: int = derived()
    n: int


MESSAGES = Registry(Protocol("message", {1: MessageV1, 2: MessageV2}, tag=("magic", "version")))

JOINT = Joint(angle=7, samples=(1, 2))
POSE = Pose(name="left", joints=(JOINT, Joint(angle=8, samples=()), Joint(angle=9, samples=(3,))))
EXTRA = Extra(level=5, marks=(6, 7))
SAMPLES = (
    MessageV1(kind=1, body=POSE, extra=None, more=None, parts=()),
    MessageV1(
        kind=2, body=Bones(joints=(1, 300), weight=4), extra=EXTRA, more=None, parts=(Part(kind=2, body=9),)
    ),
    MessageV1(
        kind=3,
        body=Hit(damage=1),
        extra=Extra(level=1, marks=()),
        more=(4,),
        parts=(Part(kind=1, body=POSE), Part(kind=3, body=Hit(damage=2)), Part(kind=1, body=POSE)),
    ),
    MessageV1(kind=1, body=Pose(name="", joints=()), extra=None, more=None, parts=()),
    MessageV1(kind=2, body=Bones(joints=(), weight=0), extra=EXTRA, more=None, parts=()),
)

"""The record types as they are written without wirelock: `struct` formats and strict pydantic models.

The models keep the limits and the rule that wirelock keeps, and serve the other rivals too. `checked`
are with the rule and `unruled` without: a validator in Python is most of what a rotation costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, pack
from typing import Annotated, Any, Literal

from cases import Case, Row, plain
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from protocol.rotation import PoseFlags
from wirelock.quaternion import REACHABLE_LIMIT

INT16 = Field(ge=-32768, le=32767)
Metres = Annotated[float, Field(ge=-8192.0, le=8192.0)]
POSES = {bits: PoseFlags(bits) for bits in range(64)}  # a call of the class costs more than all of `unpack`


def _pose(bits: int) -> PoseFlags | None:
    return POSES.get(bits)


Pose = Annotated[PoseFlags, BeforeValidator(_pose)]

ROTATION = Struct("<Bhhh")
HEADER = Struct("<2sBIH")
ENTITY = Struct("<HfffBhhh")


class Strict(BaseModel):
    """No conversions; an instance is validated again where it is given to a validator."""

    model_config = ConfigDict(strict=True, frozen=True, revalidate_instances="always")


class Position(Strict):
    """A point."""

    x: Metres
    y: Metres
    z: Metres


class Components(Strict):
    """What both rotations share but for the rule."""

    largest_index: Annotated[int, Field(ge=0, le=3)]
    a: Annotated[int, INT16]
    b: Annotated[int, INT16]
    c: Annotated[int, INT16]


class UnruledV1(Components):
    """rotation v1 without the rule."""


class UnruledV2(Components):
    """rotation v2 without the rule."""

    flags: Pose


class Ruled(Components):
    """The rule `reachable`, in integers as wirelock computes it."""

    @model_validator(mode="after")
    def _reachable(self) -> Ruled:
        a, b, c = abs(self.a), abs(self.b), abs(self.c)
        a, b, c = a * (a - 1), b * (b - 1), c * (c - 1)
        if a + b + c + max(a, b, c) > REACHABLE_LIMIT:
            raise ValueError("no unit quaternion has these three components as its smallest")
        return self


class RuledV1(Ruled):
    """rotation v1."""


class RuledV2(Ruled):
    """rotation v2."""

    flags: Pose


class Header(Strict):
    """What both snapshots share."""

    magic: Literal[b"WS"]
    version: Literal[2]
    tick: Annotated[int, Field(ge=0, le=0xFFFFFFFF)]
    count: Annotated[int, Field(ge=0, le=0xFFFF)]

    @model_validator(mode="after")
    def _counted(self) -> Header:
        if self.count != len(self.entities):  # type: ignore[attr-defined]
            raise ValueError("the count is not the number of entities")
        return self


class UnruledEntity(Strict):
    """An entity, its rotation without the rule."""

    id: Annotated[int, Field(ge=0, le=0xFFFF)]
    position: Position
    rotation: UnruledV2


class UnruledSnapshot(Header):
    """A snapshot, its rotations without the rule."""

    entities: list[UnruledEntity]


class RuledEntity(Strict):
    """An entity."""

    id: Annotated[int, Field(ge=0, le=0xFFFF)]
    position: Position
    rotation: RuledV2


class RuledSnapshot(Header):
    """A snapshot."""

    entities: list[RuledEntity]


MODELS = {
    "rotation v1": (RuledV1, UnruledV1),
    "rotation v2": (RuledV2, UnruledV2),
    "snapshot": (RuledSnapshot, UnruledSnapshot),
}


def key_of(case: Case) -> str:
    """Return the word for a case in the tables of the rivals."""
    return case.name.partition(",")[0]


def size_fits(case: Case, data: bytes, count: int) -> None:
    """Refuse bytes of another length than their record's, which most rivals leave to the caller."""
    if len(data) != (9 + 21 * count if key_of(case) == "snapshot" else 7):
        raise ValueError(f"{len(data)} bytes")


# -- bytes -> values


def values_v1(data: bytes) -> dict[str, Any]:
    """Return the values of a rotation v1; `unpack` refuses another length."""
    largest_index, a, b, c = ROTATION.unpack(data)
    return {"largest_index": largest_index, "a": a, "b": b, "c": c}


def values_v2(data: bytes) -> dict[str, Any]:
    """Return the values of a rotation v2."""
    bits, a, b, c = ROTATION.unpack(data)
    return {"flags": bits >> 2, "largest_index": bits & 3, "a": a, "b": b, "c": c}


def values_snapshot(data: bytes) -> dict[str, Any]:
    """Return the values of a snapshot."""
    magic, version, tick, count = HEADER.unpack_from(data)
    if len(data) != 9 + 21 * count:
        raise ValueError(f"{len(data)} bytes for {count} entities")
    entities = [
        {
            "id": number,
            "position": {"x": x, "y": y, "z": z},
            "rotation": {"flags": bits >> 2, "largest_index": bits & 3, "a": a, "b": b, "c": c},
        }
        for number, x, y, z, bits, a, b, c in ENTITY.iter_unpack(data[9:])
    ]
    return {"magic": magic, "version": version, "tick": tick, "count": count, "entities": entities}


# -- records -> bytes


def bytes_v1(record: Any) -> bytes:
    """Pack a rotation v1."""
    return ROTATION.pack(record.largest_index, record.a, record.b, record.c)


def bytes_v2(record: Any) -> bytes:
    """Pack a rotation v2."""
    return ROTATION.pack(record.flags << 2 | record.largest_index, record.a, record.b, record.c)


def bytes_snapshot(record: Any) -> bytes:
    """Pack a snapshot."""
    parts = [HEADER.pack(record.magic, record.version, record.tick, record.count)]
    for entity in record.entities:
        place, turn = entity.position, entity.rotation
        bits = turn.flags << 2 | turn.largest_index
        parts.append(ENTITY.pack(entity.id, place.x, place.y, place.z, bits, turn.a, turn.b, turn.c))
    return b"".join(parts)


READ = {"rotation v1": values_v1, "rotation v2": values_v2, "snapshot": values_snapshot}
WRITE = {"rotation v1": bytes_v1, "rotation v2": bytes_v2, "snapshot": bytes_snapshot}


@dataclass(frozen=True)
class Flat:
    """A case as one `struct` format and the values that go into it."""

    format: str
    values: list[tuple[Any, ...]]


def flat(case: Case) -> Flat:
    """Return what `struct.pack` alone needs."""

    def rotation(value: dict[str, Any]) -> list[int]:
        first = value.get("flags", 0) << 2 | value["largest_index"]
        return [first, value["a"], value["b"], value["c"]]

    if key_of(case) != "snapshot":
        return Flat("<Bhhh", [tuple(rotation(value)) for value in case.values])
    found = []
    for value in case.values:
        numbers = [value["magic"], value["version"], value["tick"], value["count"]]
        for entity in value["entities"]:
            numbers += [entity["id"], *entity["position"].values(), *rotation(entity["rotation"])]
        found.append(tuple(numbers))
    count = len(case.values[0]["entities"])
    return Flat("<2sBIH" + "HfffBhhh" * count, found)


def parse_rows(case: Case) -> list[Row]:
    """Bytes -> validated record: with the rule and without; and values alone."""
    key = key_of(case)
    ruled, unruled = MODELS[key]

    def to_plain(value: Any) -> Any:
        return plain(value, case.shape)

    def as_model(value: Any) -> Any:
        return plain(ruled.model_validate(value), case.shape)

    source, names = "Model.model_validate(read(item))", {"read": READ[key]}
    return [
        Row("struct + pydantic, by hand", source, {**names, "Model": ruled}, case.data, "all", to_plain),
        Row(
            "struct + pydantic, by hand, without the rule",
            source,
            {**names, "Model": unruled},
            case.data,
            "no rule",
            to_plain,
        ),
        Row("struct alone, by hand, into dicts", "read(item)", names, case.data, "none", as_model),
    ]


def build_rows(case: Case) -> list[Row]:
    """Record -> bytes: validated again or trusted; and `struct.pack` alone, which has the values in hand."""
    key = key_of(case)
    ruled, unruled = MODELS[key]
    records = [ruled.model_validate(value) for value in case.values]
    plainer = [unruled.model_validate(value) for value in case.values]
    floor = flat(case)
    again, write = "write(Model.model_validate(item))", WRITE[key]
    alone = "pack(form, *item)"
    if len(floor.values[0]) == 4:  # as it is written for so few: a starred call costs twice as much
        alone = "first, a, b, c = item\npack(form, first, a, b, c)"
    return [
        Row("struct + pydantic, by hand", again, {"write": write, "Model": ruled}, records, "all"),
        Row(
            "struct + pydantic, by hand, without the rule",
            again,
            {"write": write, "Model": unruled},
            plainer,
            "no rule",
        ),
        Row("struct alone, by hand, of a record's attributes", "write(item)", {"write": write}, records),
        Row("struct.pack, values in hand", alone, {"pack": pack, "form": floor.format}, floor.values),
    ]

"""The record types in other libraries: construct, caterpillar-py, dissect.cstruct, kaitaistruct.

None of them validates beyond what its format implies, so each has a row as it is and one that hands its
objects to the pydantic models of byhand.py. What is not installed is left out and named by `missing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import construct
from byhand import MODELS, key_of
from cases import Case, Row, plain
from timing import version_of

PACKAGES = ("caterpillar-py", "dissect.cstruct", "kaitaistruct")
SIZES = {
    "rotation v1": lambda found: 7,
    "rotation v2": lambda found: 7,
    "snapshot": lambda found: 9 + 21 * found.count,
}


def missing() -> list[str]:
    """Name the packages that are not installed."""
    return [package for package in PACKAGES if version_of(package) is None]


@dataclass(frozen=True)
class Rival:
    """One library for one case. `to_dict`: a pydantic model -> what `write` takes, where it takes dicts."""

    name: str
    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]
    make: Callable[[dict[str, Any]], Any]
    to_dict: Callable[[Any], dict[str, Any]] | None = None


def parse_rows(case: Case) -> list[Row]:
    """Bytes -> validated record, then bytes -> the library's own object."""
    key, validated, bare = key_of(case), [], []

    def to_plain(value: Any) -> Any:
        return plain(value, case.shape)

    for rival in _rivals(key):

        def read(
            data: bytes, read: Any = rival.read, size: Any = SIZES[key], model: Any = MODELS[key][0]
        ) -> Any:
            found = read(data)
            if size(found) != len(data):  # none of them minds bytes after the end
                raise ValueError(f"{len(data)} bytes")
            return model.model_validate(found, from_attributes=True)

        validated.append(
            Row(f"{rival.name} + pydantic", "read(item)", {"read": read}, case.data, "all", to_plain)
        )
        bare.append(Row(rival.name, "read(item)", {"read": rival.read}, case.data, "none", to_plain))
    return [*validated, *bare]


def build_rows(case: Case) -> list[Row]:
    """A model that is validated again -> bytes, for construct; then the library's own object -> bytes."""
    key, validated, bare = key_of(case), [], []
    model = MODELS[key][0]
    for rival in _rivals(key):
        if rival.to_dict is not None:
            source = "write(to_dict(Model.model_validate(item)))"
            names = {"write": rival.write, "to_dict": rival.to_dict, "Model": model}
            records = [model.model_validate(value) for value in case.values]
            validated.append(Row(f"{rival.name} + pydantic", source, names, records, "all"))
        items = [rival.make(value) for value in case.values]
        bare.append(Row(rival.name, "write(item)", {"write": rival.write}, items))
    return [*validated, *bare]


def _rivals(key: str) -> Iterator[Rival]:
    yield from _construct(key)
    if version_of("caterpillar-py"):
        import caterpillars

        yield Rival("caterpillar-py", caterpillars.READ[key], caterpillars.pack, caterpillars.MAKE[key])
    if version_of("dissect.cstruct"):
        yield _dissect(key)
    if version_of("kaitaistruct"):
        import kaitai

        yield Rival("kaitaistruct", kaitai.READ[key], kaitai.write, kaitai.MAKE[key])


# -- construct


def _construct(key: str) -> Iterator[Rival]:
    from construct import (
        Array,
        BitsInteger,
        BitStruct,
        Bytewise,
        Const,
        Float32l,
        Int8ul,
        Int16sl,
        Int16ul,
        Int32ul,
        Struct,
        this,
    )

    components = [name / Int16sl for name in "abc"]
    rotation_2 = BitStruct(
        "flags" / BitsInteger(6),
        "largest_index" / BitsInteger(2),
        *(name / Bytewise(Int16sl) for name in "abc"),
    )
    entity = Struct(
        "id" / Int16ul,
        "position" / Struct("x" / Float32l, "y" / Float32l, "z" / Float32l),
        "rotation" / rotation_2,
    )
    layout = {
        "rotation v1": Struct("largest_index" / Int8ul, *components),
        "rotation v2": rotation_2,
        "snapshot": Struct(
            "magic" / Const(b"WS"),
            "version" / Const(2, Int8ul),
            "tick" / Int32ul,
            "count" / Int16ul,
            "entities" / Array(this.count, entity),
        ),
    }[key]
    compiled = layout.compile()
    to_dict = {"rotation v1": _dict_v1, "rotation v2": _dict_v2, "snapshot": _dict_snapshot}[key]
    yield Rival("construct", layout.parse, layout.build, _container, to_dict)
    yield Rival(
        "construct, compiled",
        compiled.parse,
        compiled.build,
        _container,
        lambda record: _container(to_dict(record)),
    )


def _container(value: Any) -> Any:
    """Return dicts as construct's own, which compiled code wants."""
    if isinstance(value, dict):
        return construct.Container({name: _container(item) for name, item in value.items()})
    return construct.ListContainer(map(_container, value)) if isinstance(value, list) else value


def _dict_v1(record: Any) -> dict[str, Any]:
    return {"largest_index": record.largest_index, "a": record.a, "b": record.b, "c": record.c}


def _dict_v2(record: Any) -> dict[str, Any]:
    return {"flags": int(record.flags), **_dict_v1(record)}


def _dict_snapshot(record: Any) -> dict[str, Any]:
    entities = [
        {
            "id": entity.id,
            "position": {"x": entity.position.x, "y": entity.position.y, "z": entity.position.z},
            "rotation": _dict_v2(entity.rotation),
        }
        for entity in record.entities
    ]
    return {
        "magic": record.magic,
        "version": record.version,
        "tick": record.tick,
        "count": record.count,
        "entities": entities,
    }


# -- dissect.cstruct

DEFINITION = """
struct rotation_1 { uint8 largest_index; int16 a; int16 b; int16 c; };
struct rotation_2 { uint8 largest_index:2; uint8 flags:6; int16 a; int16 b; int16 c; };
struct vector { float x; float y; float z; };
struct entity { uint16 id; vector position; rotation_2 rotation; };
struct snapshot { char magic[2]; uint8 version; uint32 tick; uint16 count; entity entities[count]; };
"""


def _dissect(key: str) -> Rival:
    from dissect.cstruct import cstruct

    types = cstruct(endian="<")
    types.load(DEFINITION)

    def entity(value: dict[str, Any]) -> Any:
        return types.entity(
            id=value["id"],
            position=types.vector(**value["position"]),
            rotation=types.rotation_2(**value["rotation"]),
        )

    def snapshot(value: dict[str, Any]) -> Any:
        return types.snapshot(**{**value, "entities": [entity(item) for item in value["entities"]]})

    kind, make = {
        "rotation v1": (types.rotation_1, lambda value: types.rotation_1(**value)),
        "rotation v2": (types.rotation_2, lambda value: types.rotation_2(**value)),
        "snapshot": (types.snapshot, snapshot),
    }[key]
    return Rival("dissect.cstruct", kind, kind.dumps, make)

"""The fields that say which record is which, and which element of an array: `tick`, `entities[].id`.

Sessions are compared by them. They decide no bytes and no verdict, and are no part of a digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from wirelock.errors import SchemaError
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Enum,
    Flag,
    Flags,
    Integer,
    Layout,
    Text,
    Time,
    Type,
    VarInt,
    plain,
)
from wirelock.layout.nodes import Mapping as MappingType

__all__ = ["Keys", "check_keys", "keys_of"]

_KINDS = Integer | VarInt | Enum | Flags | Flag | Bytes | Text | Time | MappingType
"""What is told apart by ==, and is the same in every runtime: no floats."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one layout: of records, and of elements by their array, such as `entities[]` -> `id`."""

    records: tuple[str, ...]
    elements: Mapping[str, tuple[str, ...]]

    def of(self, record: Any) -> tuple[Any, ...]:
        """Return the values that say which record this is."""
        return tuple(reduce(getattr, key.split("."), record) for key in self.records)


def keys_of(layout: Layout, keys: Iterable[str]) -> Keys:
    """Return those of some keys that a layout has."""
    records: list[str] = []
    elements: dict[str, tuple[str, ...]] = {}
    for key in keys:
        if not isinstance(_found(layout, key), _KINDS):
            continue
        array, bracket, name = key.rpartition("[].")
        if bracket:
            elements[f"{array}[]"] = (*elements.get(f"{array}[]", ()), name)
        else:
            records.append(key)
    return Keys(tuple(records), elements)


def check_keys(label: str, layouts: Iterable[Layout], keys: Iterable[str]) -> None:
    """Raise SchemaError for a key that none of some layouts has, or that is no key in one of them."""
    known = list(layouts)
    for key in keys:
        if key.endswith("[]"):
            told = f"the key {key} names elements, not a field of theirs"
            raise SchemaError(label, told, f"name {key}.id, or whatever tells them apart")
        kinds = [kind for kind in (_found(layout, key) for layout in known) if kind is not None]
        if not kinds:
            remedy = "name fields that are always there, as tick or entities[].id"
            raise SchemaError(label, f"no version has the key {key or repr(key)}", remedy)
        for kind in kinds:
            if not isinstance(kind, _KINDS):
                told = f"the key {key} is a field of kind {type(kind).__name__}"
                raise SchemaError(label, told, "name numbers, enumerations, flags, bytes or text")


def _found(layout: Layout, key: str) -> Type | None:
    """Return the type of the field that a key names; None where there is none."""
    kind: Type = layout
    for part in key.split("."):
        name = part.removesuffix("[]")
        item = None
        if isinstance(kind, Layout):
            item = next((item for item in kind.fields if item.label == name and item.in_record), None)
        if item is None:
            return None
        kind = plain(item.type)
        if part.endswith("[]"):
            if not isinstance(kind, Array):
                return None
            kind = plain(kind.element)
    return kind

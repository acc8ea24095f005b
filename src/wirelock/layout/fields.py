"""What the fields of one layout may not be beside each other, and which of them follow from others.

What they may not be is a SchemaError with the path of the field and a remedy.
"""

from __future__ import annotations

import keyword
from dataclasses import replace
from re import sub
from typing import Any

from wirelock.layout.leaves import Place
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Field,
    Flag,
    Framed,
    If,
    Integer,
    Layout,
    Nothing,
    Opaque,
    Padded,
    Padding,
    Sized,
    Switch,
    Terminated,
    Type,
    checksum_in,
    parts_of,
)
from wirelock.layout.operators import paths_in
from wirelock.layout.scope import CONTEXT_NAMES, UNKNOWN
from wirelock.layout.sizes import reach_of, size_of
from wirelock.layout.terms import Length, Path

__all__ = [
    "check_behind", "check_checksums", "check_computable", "check_name", "derive_counts", "holds_code",
    "is_worthless", "needs_no_value", "public_name",
]  # fmt: skip


def check_name(name: Any, at: Place) -> None:
    """Refuse a name that a field cannot have, or that one before it has."""
    if name is None:
        return
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise at.refuse("the name is not a Python identifier", _renamed(name))
    if name in CONTEXT_NAMES or name.startswith("__"):
        raise at.refuse("the name is one of construct's or Python's own", "rename the field")
    if name in at.scope.types:
        raise at.refuse("two fields have this name", "rename one of them")


def _renamed(name: Any) -> str:
    """Propose a name that a field can have."""
    plain = sub(r"\W+", "_", name).strip("_") if isinstance(name, str) else ""
    if plain[:1].isdigit():
        plain = f"field_{plain}"
    if keyword.iskeyword(plain):
        plain += "_"
    elif plain != name:
        plain = plain.lower()
    return f"rename it, as {plain}" if plain.isidentifier() else "rename the field"


def check_behind(fields: list[Field], kind: Type, at: Place) -> None:
    """Refuse what takes bytes behind a field that takes all of them, or takes them where it is absent.

    `fields` are those before it that depend on the end of their region.
    """
    for field in fields:
        reach, size = reach_of(field.type), size_of(kind)
        if reach == "rest" and size.highest != 0 and kind is not UNKNOWN:
            told = f"{field.label} before it takes all the bytes that are left"
            raise at.refuse(told, f"give {field.label} a size or count, or put it last")
        if reach == "optional" and size.lowest:
            told = f"it always takes bytes, so that {field.label} before it is never absent"
            raise at.refuse(
                told, f"put {field.label} last, or use If with a field that says whether it is there"
            )


def needs_no_value(kind: Type) -> bool:
    """Whether a field of this type can be written although the record has no value for it."""
    return isinstance(kind, Checksum | Computed) or is_worthless(kind)


def is_worthless(kind: Type) -> bool:
    """Whether the layout says alone what stands there, in every case of a choice."""
    if isinstance(kind, If | Switch | Framed | Padded | Sized):
        return all(map(is_worthless, parts_of(kind)))
    return kind is UNKNOWN or isinstance(kind, Constant | Padding | Nothing | Terminated)


def public_name(field: Field) -> str:
    """Say how a field that needs a value gets a name that the record can have."""
    if field.name:
        return f"name it without `_`: {field.name.lstrip('_') or 'data'}"
    if isinstance(field.type, Bytes | Flag | Integer):
        return "name it, or write Padding if it is always zero"
    return "give it a name"


def holds_code(kind: Type) -> bool:
    """Whether a type is read by code, or something inside of it at any depth."""
    if isinstance(kind, Layout) and any(item.copied for item in kind.fields):
        return True
    return isinstance(kind, Checksum | Opaque) or any(map(holds_code, parts_of(kind)))


def check_checksums(kind: Type, at: Place) -> None:
    """Refuse a checksum that is no field of the layout whose bytes it covers."""
    if checksum_in(kind) is None and _holds_checksum(kind):
        raise at.refuse("a Checksum inside of another kind", "put it straight into the Struct, or into an If")


def _holds_checksum(kind: Type) -> bool:
    if isinstance(kind, Layout):
        return False
    return isinstance(kind, Checksum) or any(map(_holds_checksum, parts_of(kind)))


def derive_counts(fields: list[Field]) -> None:
    """A plain integer that counts a later field of the same layout follows from that field."""
    numbers = {field.name: number for number, field in enumerate(fields)}
    for field in fields:
        match field.type:
            case Array(count=Path(up=0, names=(name,))) | Bytes(length=Path(up=0, names=(name,))):
                counter = fields[numbers[name]]
                if isinstance(counter.type, Integer) and counter.derived is None and field.name:
                    fields[numbers[name]] = replace(counter, derived=Length(Path(0, (field.name,))))


def check_computable(layout: Layout, at: Place) -> None:
    """Refuse a field computed from itself, and a hidden one from what a later record may compute from it."""
    fields = layout.fields
    numbers = {field.name: number for number, field in enumerate(fields)}
    for number, field in enumerate(fields):
        for path in paths_in(field.derived) if field.derived and not field.in_record else ():
            later = not path.up and numbers[path.names[0]] > number
            if later and any(name.startswith("_") for name in path.names[1:]):
                raise at.within(field.label).refuse(
                    f"it follows from `{path}` behind it", "give one a public name"
                )
    try:
        _ = layout.computed
    except ValueError as labels:
        first, *others = str(labels).split(", ")
        told = (
            f"it is computed from itself, by way of {', '.join(others)}"
            if others
            else "it is computed from itself"
        )
        raise at.within(first).refuse(told, "rebuild it from fields that the record states") from None

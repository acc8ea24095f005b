"""Which values a field can have, and which lengths, where an expression reads it.

A type that is not known, because it lies around a record, may be anything for now: the expression is read
again where the record is held.
"""

from __future__ import annotations

from typing import Final

from wirelock.errors import SchemaError
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Integer,
    Layout,
    Mapping,
    Opaque,
    Scaled,
    Switch,
    Text,
    Time,
    Type,
    VarInt,
    valued,
)
from wirelock.layout.operators import Interval
from wirelock.layout.terms import Path

__all__ = ["bounds_of", "length_bounds"]

MAX_LENGTH: Final = 1 << 48
"""No buffer holds more bytes or elements: what bounds a length that the layout does not."""
_FREE: Final[Interval] = (-(1 << 31), (1 << 32) - 1)


def bounds_of(found: Type | None, path: Path, where: str) -> Interval:
    """Return the least and the greatest value of a field. Raises SchemaError where it is no integer."""
    match found:
        case None:
            return _FREE
        case Integer() | VarInt() | Computed():
            return found.lowest, found.highest
        case Enum(integer=inner) | Flags(integer=inner) | Time(integer=inner):
            return inner.lowest, inner.highest
        case Constant(type=Integer() as inner):
            return inner.lowest, inner.highest
        case Flag():
            return 0, 1
        case Switch(types=types) if all(isinstance(valued(case), Integer | VarInt) for case in types):
            ends = [bounds_of(valued(case), path, where) for case in types]
            return min(low for low, _ in ends), max(high for _, high in ends)
        case Float() | Scaled():
            raise SchemaError(where, f"`{path}` is a float", "a float may only be compared with a constant")
        case Mapping(members=members):
            raise SchemaError(
                where,
                f"`{path}` is a Mapping",
                f"compare it with one of its keys: this.{path} == {members[0][0]!r}",
            )
        case Array() | Bytes() | Constant():
            raise SchemaError(where, f"`{path}` is no integer", f"its length is len_(this.{path})")
        case Text():
            raise SchemaError(where, f"`{path}` is text", "read a number that says the same, such as an Enum")
        case Opaque() | Checksum():
            raise SchemaError(where, f"`{path}` is read by code", "read a plain number that says the same")
        case Layout():
            raise SchemaError(where, f"`{path}` is a whole record", "name one of its fields")
    raise SchemaError(
        where, f"`{path}` may be absent, or is no integer", "read a number that is always there"
    )


def length_bounds(found: Type | None, path: Path, where: str) -> Interval:
    """Return the least and the greatest length of a field. Raises SchemaError where it has none."""
    match found:
        case Bytes(length=int(size)) | Array(count=int(size)) | Constant(type=Bytes(length=int(size))):
            return size, size
        case None | Bytes() | Array():
            return 0, MAX_LENGTH
        case Text():
            raise SchemaError(
                where,
                f"the length of the text `{path}` is in characters or bytes?",
                "read its size as a field",
            )
    raise SchemaError(where, f"`{path}` has no length", "len_ takes an array or bytes")

"""Layout -> Arrow types: which column each field of a record becomes. A pure function of the description.

Whatever a record holds its columns hold exactly; numbers stay numbers:

    integers, varints       uint8 .. int64, the narrowest that holds the width; above 64 bits decimal text
    Enum, FlagsEnum         the integer of the wire, its members in the metadata
    floats                  float32, float64; binary16 as float32, which holds each of its values
    Flag, boolean Computed  bool
    scaled, ticks           float64; the integer. Unit and epoch are in the metadata
    Mapping                 its keys: text, or an integer where all of them are
    bytes, text             binary, string
    Struct                  struct; without any fields that say something, bool: whether it is there
    arrays                  list
    Sequence                struct with the fields 0, 1, ...
    If, Optional            null where absent
    Switch, Select          struct of `case`, which names it, and one field a case, null for the others
    opaque                  JSON text of what its code gives

A field that is None and nothing else has no column. A column can be null where its value can be absent: what
may be absent itself, and all inside of that.

Enumerations are integers and no dictionaries: they compare and join as in JSON, versions whose members were
renamed have the same columns, and flags could not be dictionaries anyway.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Mapping,
    Nothing,
    Opaque,
    Optional,
    Padding,
    Scaled,
    Select,
    Sequence,
    Switch,
    Terminated,
    Text,
    Time,
    Type,
    VarInt,
    integer_of,
    parts_of,
    valued,
)
from wirelock.layout.terms import key_text

__all__ = ["CASE", "case_labels", "field_of", "held", "is_absent", "schema_of", "type_of"]

CASE: Final = "case"
"""The field of a choice that names the case which is there."""


def schema_of(layout: Layout) -> pa.Schema:
    """Return the columns of a record: one for each field that says something, with its metadata."""
    return pa.schema([field_of(item, sure=True) for item in held(layout)])


def held(layout: Layout) -> list[Field]:
    """Return the fields of a layout that become columns."""
    return [item for item in layout.fields if item.in_record and not is_absent(item.type)]


def is_absent(kind: Type) -> bool:
    """Whether the value is None and nothing else."""
    match valued(kind):
        case Nothing() | Padding() | Terminated():
            return True
        case If() | Optional() | Switch() as choice:
            return all(map(is_absent, parts_of(choice)))
    return False


def type_of(kind: Type, *, sure: bool = True) -> pa.DataType:
    """Return the Arrow type of a value; where it is not `sure` to be there, what is in it can be null."""
    kind = valued(kind)
    match kind:
        case Layout():
            fields = [field_of(item, sure) for item in held(kind)]
            return pa.struct(fields) if fields else pa.bool_()
        case Array(element=element):
            return pa.list_(
                pa.field("element", type_of(element, sure=sure), nullable=_may_lack(element, sure))
            )
        case Sequence(types=types):
            return (
                pa.struct(
                    [
                        pa.field(str(at), type_of(part, sure=sure), nullable=_may_lack(part, sure))
                        for at, part in enumerate(types)
                    ]
                )
                if types
                else pa.bool_()
            )
        case _ if is_absent(kind):
            return pa.null()
        case If(type=there) | Optional(inner=there):
            return type_of(there, sure=False)
        case Switch() | Select():
            cases = zip(case_labels(kind), parts_of(kind), strict=True)
            columns = [(label, type_of(case, sure=False)) for label, case in cases if not is_absent(case)]
            return pa.struct([pa.field(CASE, pa.string(), nullable=not sure), *columns])
    return _scalar(kind)


def _scalar(kind: Type) -> pa.DataType:
    match kind:
        case Float(bits=bits):
            return pa.float64() if bits == 64 else pa.float32()
        case Flag() | Computed(boolean=True):
            return pa.bool_()
        case Computed():
            return pa.int64()
        case VarInt(zigzag=signed):
            return pa.int64() if signed else pa.uint64()
        case Scaled():
            return pa.float64()
        case Mapping(members=members):
            return _keys({type(key) for key, _ in members}, [key for key, _ in members])
        case Bytes() | Constant(type=Bytes()) | Checksum(type=Bytes()):
            return pa.binary()
        case Text() | Opaque():
            return pa.string()
        case Checksum(type=Integer() as integer):
            return _integer(integer)
    found = integer_of(kind)
    assert found is not None, f"no column for {kind!r}"
    return _integer(found)


def _integer(integer: Integer) -> pa.DataType:
    for bits, signed, unsigned in (
        (8, pa.int8(), pa.uint8()),
        (16, pa.int16(), pa.uint16()),
        (32, pa.int32(), pa.uint32()),
        (64, pa.int64(), pa.uint64()),
    ):
        if integer.bits <= bits:
            return signed if integer.signed else unsigned
    return pa.string()


def _keys(types: set[type], keys: list[Any]) -> pa.DataType:
    if types == {int} and all(-(1 << 63) <= key < 1 << 63 for key in keys):
        return pa.int64()
    return pa.string()


def _may_lack(kind: Type, sure: bool) -> bool:
    return not sure or isinstance(valued(kind), If | Optional) or is_absent(kind)


def field_of(item: Field, sure: bool) -> pa.Field:
    """Return the column of a field, with its metadata."""
    found = type_of(item.type, sure=sure)
    return pa.field(
        item.label, found, nullable=_may_lack(item.type, sure), metadata=dict(_metadata(item)) or None
    )


def _metadata(item: Field) -> Iterator[tuple[str, str]]:
    """Yield what the type does not say: the author's words, units, members, and widths between Arrow's."""
    kind = valued(item.type)
    while isinstance(kind, If | Optional | Array):
        kind = valued(parts_of(kind)[0])
    if item.doc:
        yield "doc", item.doc
    match kind:
        case Scaled(unit=unit) | Time(unit=unit) if unit:
            yield "unit", unit
    match kind:
        case Time(epoch=epoch) if epoch:
            yield "epoch", epoch
        case Enum(members=members) | Flags(members=members):
            yield "members", json.dumps(dict(members), ensure_ascii=False)
        case Float(bits=bits):
            yield "bits", str(bits)
        case Opaque(name=name, version=version):
            yield "opaque", f"{name} v{version}"
    integer = kind.type if isinstance(kind, Checksum) else integer_of(kind)
    if isinstance(integer, Integer):
        yield "bits", str(integer.bits)


def case_labels(kind: Switch | Select) -> tuple[str, ...]:
    """Return what the cases of a choice are called: the key, or the record's name; `default` for the rest."""
    if isinstance(kind, Switch):
        keys = tuple(key_text(key) for key, _ in kind.cases)
        return keys if kind.default is None else (*keys, "default")
    names = tuple(layout.name for _, layout in kind.cases)
    if all(names) and len({*names, CASE}) > len(names):
        return names
    return tuple(start.hex() for start, _ in kind.cases)

"""Protocols -> a Program: its records with their functions, enumerations, tags, digests and hellos.

What cannot be exported is an ExportError that names the version, the field, the kind and the target; then
nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

from wirelock.errors import ExportError, highest_bit
from wirelock.export import values as v
from wirelock.export.lower.expressions import TooWideError
from wirelock.export.lower.notes import note_of
from wirelock.export.lower.places import fixed_size
from wirelock.export.lower.read import read_functions
from wirelock.export.lower.refusals import refuse
from wirelock.export.lower.tell import tell_function
from wirelock.export.lower.units import Unit, Units, stands_inline
from wirelock.export.lower.write import write_functions
from wirelock.export.program import (
    FieldDecl,
    FixedDecl,
    Function,
    Program,
    ProtocolDecl,
    RecordDecl,
    TagField,
    VersionDecl,
)
from wirelock.layout.canonical import digest
from wirelock.layout.nodes import (
    Array,
    Constant,
    Integer,
    Layout,
    Sequence,
    Type,
    parts_of,
    plain,
)
from wirelock.layout.positions import pieces_at
from wirelock.layout.sizes import size_of
from wirelock.schema.negotiation import Hello, offer
from wirelock.schema.pose import SmallestThree
from wirelock.schema.record import wire_of
from wirelock.schema.registry import Protocol

__all__ = ["program", "program_of"]


def program(protocols: Iterable[Protocol], *, target: str) -> Program:
    """Return all that a client of these protocols needs; `target` names the language in an ExportError."""
    found = [*protocols]
    units = Units()
    poses: dict[Layout, SmallestThree] = {}
    for protocol in found:
        for version, record in protocol.versions.items():
            refuse(protocol.layout(version), protocol.label(version), target)
            units.add(protocol.layout(version), protocol.name, version)
            for named in wire_of(record).names.values():
                inner = wire_of(named.record) if hasattr(named, "record") else None  # or an enumeration
                if inner is not None and inner.pose is not None:
                    poses[inner.layout] = inner.pose
    units.settle()
    return _program(units, tuple(_protocol(item, units) for item in found), poses, target)


def program_of(layouts: Mapping[str, Layout], *, target: str) -> Program:
    """Return a Program of layouts that no record class stands for: each is version 1 of its own protocol."""
    units = Units()
    for name, layout in layouts.items():
        refuse(layout, f"{name} v1", target)
        units.add(layout, name, 1)
    units.settle()
    declared = []
    for name, layout in layouts.items():
        told = digest(layout, (), False)
        hello = Hello(name, (offer(1, layout, told, [[], False]),)).to_json()
        version = VersionDecl(1, units.root(layout).name, told, b"", retired=False)
        declared.append(ProtocolDecl(name, (version,), (), repeats=False, hello=hello))
    return _program(units, tuple(declared), {}, target)


def _program(
    units: Units, protocols: tuple[ProtocolDecl, ...], poses: Mapping[Layout, SmallestThree], target: str
) -> Program:
    declared: dict[str, RecordDecl] = {}
    places = {unit.name: unit.where for unit in units}
    for unit in units:
        for item in unit.layout.fields:
            units.type_of(unit, item)
        for inner in units.new_sequences():
            declared[inner.name] = _record(inner, units, declared)
        made = _record(unit, units, declared)
        declared[unit.name] = replace(made, pose=poses.get(unit.layout))
    records = tuple(
        replace(record, functions=_functions(record, declared, places.get(record.name, ""), target))
        for record in declared.values()
    )
    return Program(protocols, tuple(units.enumerations()), records, frozenset(_calls(records)))


def _functions(
    record: RecordDecl, records: Mapping[str, RecordDecl], place: str, target: str
) -> tuple[Function, ...]:
    if record.sequence or stands_inline(record.layout):
        return ()
    try:
        return (
            *read_functions(record, records),
            *write_functions(record, records),
            tell_function(record, records),
        )
    except TooWideError:
        told = "an expression that can leave 64 bits"
        raise ExportError(target, place, told, "reckon with narrower fields") from None


def _record(unit: Unit, units: Units, known: Mapping[str, RecordDecl]) -> RecordDecl:
    """Return what a client holds of a record, without its functions."""
    held: list[FieldDecl] = []
    constants: list[FixedDecl] = []
    for item in unit.layout.fields:
        kind, held_as = plain(item.type), units.type_of(unit, item)
        note = note_of(item.type, item.doc)
        if held_as is not None:
            held.append(FieldDecl(item.label, held_as, note, item))
        elif isinstance(kind, Constant) and item.in_record:
            constants.append(FixedDecl(item.label, kind.value, note))
    types = [item.type for item in held]
    return RecordDecl(
        unit.name,
        unit.layout,
        tuple(held),
        tuple(constants),
        (),
        _loaded_size(unit),
        allocates=any(_allocates(kind, known) for kind in types),
        depth=1 + max((_depth(item.type) for item in unit.layout.fields), default=0),
        note=unit.layout.doc,
        parameters=tuple(unit.parameters.values()),
        outer=tuple(unit.parameters),
        sequence=unit.sequence,
    )


def _loaded_size(unit: Unit) -> int | None:
    """Return the bytes of a record all of whose values lie at fixed places; None for any other."""
    size = fixed_size(unit.layout)
    return None if unit.sequence or stands_inline(unit.layout) or size is None else size // 8


def _allocates(kind: v.Type, known: Mapping[str, RecordDecl]) -> bool:
    """Whether reading a value takes memory for a list."""
    match kind:
        case v.ListType(element=element, size=size):
            return size is None or _allocates(element, known)
        case v.OptionType(inner=inner):
            return _allocates(inner, known)
        case v.ChoiceType(cases=cases):
            return any(inner is not None and _allocates(inner, known) for _, inner in cases)
        case v.RecordType(name=name):
            return known[name].allocates
    return False


def _depth(kind: Type) -> int:
    """Return how many steps the longest path inside of a value has."""
    inside = max(map(_depth, parts_of(kind)), default=0)
    return inside + isinstance(kind, Layout | Array | Sequence)


def _calls(node: Any) -> Iterator[str]:
    """Yield the names of the runtime functions that statements and values call, at any depth."""
    if isinstance(node, v.Call):
        yield node.name
    if isinstance(node, tuple):
        for item in node:
            yield from _calls(item)
    elif isinstance(node, RecordDecl):
        yield from _calls(node.functions)
    elif is_dataclass(node) and not isinstance(node, get_args(v.Type)):
        for item in fields(node):
            yield from _calls(getattr(node, item.name))


def _protocol(protocol: Protocol, units: Units) -> ProtocolDecl:
    tags = {version: octets for octets, version in protocol.tags.items()}
    versions = tuple(
        VersionDecl(
            version,
            units.root(protocol.layout(version)).name,
            protocol.digest(version),
            tags.get(version, b""),
            version in protocol.retired,
        )
        for version in protocol.versions
    )
    first = protocol.layout(next(iter(protocol.versions)))
    tag = tuple(_tag_fields(first, len(protocol.tag)))
    return ProtocolDecl(protocol.name, versions, tag, protocol.repeats, protocol.hello().to_json())


def _tag_fields(layout: Layout, count: int) -> Iterator[TagField]:
    bit = 0
    for number, item in enumerate(layout.fields[:count]):
        constant = plain(item.type)
        assert isinstance(constant, Constant)
        width = size_of(constant).lowest
        pieces, first, end = pieces_at(bit, constant), bit // 8, (bit + width + 7) // 8
        masks = dict(pieces)
        yield TagField(
            item.label,
            first,
            end - first,
            highest_bit(pieces),
            bytes(masks[byte] for byte in range(first, end)) if pieces else b"",
            is_version=number == count - 1 and isinstance(constant.type, Integer),
        )
        bit += width

"""Columns -> records, one at a time: the values of a row, or what in them no record can hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wirelock.codec.columns import Node
from wirelock.codec.floats import float_from_bits
from wirelock.codec.members import member_of
from wirelock.codec.template import template_of
from wirelock.codec.trail import Found, members_text
from wirelock.errors import EncodeError, Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    If,
    Layout,
    Mapping,
    Optional,
    Select,
    Sequence,
    Switch,
)

if TYPE_CHECKING:
    from wirelock.codec.table import Table

__all__ = ["record_of"]


def record_of(table: Table, row: int) -> Any:
    """Return the record of a row. Raises EncodeError for a value that no record can hold."""
    try:
        return _value(table, table.engine.plan.root, row)
    except Found as found:
        raise EncodeError(table.layout.name, _inside(f"[{row}]", found).fault) from None


def _value(table: Table, node: Node, slot: int) -> Any:
    kind, names = node.kind, table.engine.names
    match kind:
        case Layout(name=name):
            template = template_of(names, name)
            found = _parts(table, node, slot)
            if template.positional:
                return template.make(*found)
            return template.make(dict(zip(node.labels, found, strict=True)))
        case Sequence():
            return tuple(_parts(table, node, slot))
        case Array(count=count):
            if isinstance(count, int):
                first, last = slot * count, slot * count + count
            else:
                first, last = table.raw(node.array)[slot : slot + 2].tolist()
            return tuple(_elements(table, node.parts[0], first, last))
        case If() | Optional() | Switch() | Select():
            return _chosen(table, node, slot)
        case Constant(value=value):
            return value
        case Enum(name=name, members=members) | Flags(name=name, members=members):
            number = table.raw(node.array)[slot].item()
            try:
                return member_of(names[name], number)
            except ValueError:
                raise _no_member(kind, number) from None
        case Mapping(members=members):
            number = table.raw(node.array)[slot].item()
            for key, raw in members:
                if raw == number:
                    return key
            raise _no_member(kind, number)
        case Float(bits=bits):
            return float_from_bits(table.raw(node.array)[slot].item(), bits)
        case Flag() | Computed(boolean=True):
            return bool(table.raw(node.array)[slot])
        case Bytes(length=int(length)):
            return table.raw(node.array)[slot * length : (slot + 1) * length].tobytes()
    if node.content >= 0:
        return table.octets_of(node, slot)
    return None if node.array < 0 else table.raw(node.array)[slot].item()


def _chosen(table: Table, node: Node, slot: int) -> Any:
    tag = int(table.raw(node.array)[slot])
    if isinstance(node.kind, If | Optional):
        if not tag:
            return None
        tag = 0
    return _value(table, node.parts[tag], int(table.rank(node)[slot]))


def _parts(table: Table, node: Node, slot: int) -> list[Any]:
    """Return the values of fields; a fault in one has its name before its path."""
    found: list[Any] = []
    try:
        for part in node.parts:
            found.append(_value(table, part, slot))
    except Found as problem:
        raise _inside(node.labels[len(found)], problem) from None
    return found


def _elements(table: Table, element: Node, first: int, last: int) -> list[Any]:
    """Return the elements of an array; a fault in one has its number before its path."""
    found: list[Any] = []
    try:
        for slot in range(first, last):
            found.append(_value(table, element, slot))
    except Found as problem:
        raise _inside(f"[{len(found)}]", problem) from None
    return found


def _no_member(kind: Enum | Flags | Mapping, number: int) -> Found:
    known = members_text(kind) if isinstance(kind, Enum | Mapping) else f"the flags of {kind.name}"
    return Found(Fault("unknown-member", "", str(number), known))


def _inside(label: str, found: Found) -> Found:
    path = found.fault.path
    dot = "." if path and not path.startswith("[") else ""
    return Found(replace(found.fault, path=f"{label}{dot}{path}"))

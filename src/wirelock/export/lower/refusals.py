"""What no exported codec has: the kinds that are code, or more than a client's language can hold."""

from __future__ import annotations

from wirelock.errors import ExportError
from wirelock.export.lower.units import holds_nothing
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    If,
    Integer,
    Layout,
    Opaque,
    Optional,
    Padding,
    Prefix,
    Sequence,
    Sized,
    Type,
    integer_of,
    parts_of,
    plain,
    valued,
)

__all__ = ["refuse"]

MOST_BITS = 64
"""No language holds wider integers without a library."""


def refuse(layout: Layout, label: str, target: str) -> None:
    """Raise ExportError for the first thing in a version's layout that cannot be exported."""
    _walk(layout, f"{label}: ", target)


def _walk(layout: Layout, path: str, target: str) -> None:
    if layout.validators:
        told = f"a Python validator ({', '.join(layout.validators)})"
        where = path.rstrip(". ").rstrip(":")
        raise ExportError(target, where, told, "write it as a Rule, which every language runs")
    for item in layout.fields:
        _check(item.type, f"{path}{item.label}", bool(item.position.pieces), target)


def _check(kind: Type, path: str, within_a_byte: bool, target: str) -> None:
    reason = _reason(kind, within_a_byte)
    if reason is not None:
        raise ExportError(target, path, *reason)
    if isinstance(kind, Layout):
        _walk(kind, f"{path}.", target)
        return
    for part in parts_of(kind):
        _check(part, f"{path}[]" if isinstance(kind, Array) else path, within_a_byte, target)


def _reason(kind: Type, within_a_byte: bool) -> tuple[str, str] | None:
    """Return why a kind cannot be exported, with the remedy; None if it can."""
    integer = integer_of(plain(kind))
    match kind:
        case (
            Array(count=Prefix(integer=Integer() as prefix))
            | Sized(extent=Prefix(integer=Integer() as prefix))
        ):
            integer = prefix
    if integer is not None and integer.bits > MOST_BITS:
        return f"an integer of {integer.bits} bits", f"split it, or read it as {integer.bits // 8} bytes"
    match kind:
        case If(type=inner) | Optional(inner=inner) if isinstance(valued(inner), Sequence):
            return "a Sequence that may be absent", "use a Struct, whose fields have names"
        case Opaque(name=name):
            return f"the opaque code {name}", "describe its bytes in the layout"
        case Checksum(function=name):
            return f"the checksum {name}", "read it as a plain integer, and check it where the record is used"
        case Array(element=element, count=count) if not isinstance(count, int) and holds_nothing(element):
            return "an array of what holds nothing", "count padding in its own length"
        case Bytes() if within_a_byte:
            return "bytes that begin within a byte", "let them begin with one, or read them as an integer"
        case Padding(length=length) if within_a_byte and not isinstance(length, int):
            return "padding of no fixed length that begins within a byte", "let it begin with one"
    return None

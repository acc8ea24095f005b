"""Layout <-> stable JSON, and its digest.

The digest covers everything that decides bytes or verdicts: order, positions, types, constants,
members, limits, rules, validators and the tag, of the record and of all records inside of it. It
leaves out what does not: class names and documentation.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from wirelock.errors import piece_text
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
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Mapping,
    Multiple,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Position,
    Prefix,
    Rest,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Terminator,
    Text,
    Time,
    Type,
    Until,
    VarInt,
    by_value,
)
from wirelock.layout.terms import Expression, Index, Key, Length, Limit, Literal, Number, Operation, Path

NAMES: Final = ("record", "enumeration", "doc")
"""Keys that the digest leaves out: they name Python classes, or explain."""


def position_text(position: Position) -> str:
    """Return a position in words: `byte 3`, `byte 0 bits 7..2`, `after xs, byte 2`."""
    pieces = position.pieces or ((position.byte, 0xFF),)
    text = " + ".join(piece_text(byte, mask) for byte, mask in pieces)
    return text if position.after is None else f"after {position.after}, {text}"


def digest(layout: Layout, tag: tuple[str, ...] = (), repeats: bool = False) -> str:
    """Return the digest of a layout and its protocol's tag and `repeats`: `sha256:` and 64 hex digits."""
    covered = {"layout": without_names(layout_to_json(layout)), "tag": list(tag)}
    if repeats:
        covered["repeats"] = True
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def without_names(node: Any) -> Any:
    """Return JSON of a layout without what the digest leaves out."""
    if isinstance(node, dict):
        return {key: without_names(value) for key, value in node.items() if key not in NAMES}
    return [without_names(item) for item in node] if isinstance(node, list) else node


def layout_to_json(layout: Layout) -> dict[str, Any]:
    """Return a layout as JSON: objects, lists, strings, integers and floats only."""
    found: dict[str, Any] = {"kind": "record", "record": layout.name}
    found["fields"] = [_field_to_json(item) for item in layout.fields]
    if layout.order != "wire":
        found["order"] = layout.order
    if layout.rules:
        found["rules"] = [
            {"name": rule.name, "holds": expression_to_json(rule.expression), "doc": rule.message}
            for rule in layout.rules
        ]
    if layout.validators:
        found["validators"] = list(layout.validators)
    return found


def _field_to_json(item: Field) -> dict[str, Any]:
    found: dict[str, Any] = {"name": item.name, "at": position_text(item.position), **type_to_json(item.type)}
    if item.derived is not None:
        found["derived"] = expression_to_json(item.derived)
    return found


def type_to_json(kind: Type) -> dict[str, Any]:
    """Return one type as a JSON object; its `kind` says which."""
    found: dict[str, Any]
    match kind:
        case Layout():
            return layout_to_json(kind)
        case Limited(inner=inner, limits=limits):
            return {**type_to_json(inner), "limits": {limit.kind: _limit_to_json(limit) for limit in limits}}
        case Integer(bits=bits, signed=signed, order=order):
            return {"kind": "integer", "bits": bits, "signed": signed, "order": order}
        case Float(bits=bits, order=order):
            return {"kind": "float", "bits": bits, "order": order}
        case Flag(bits=bits):
            return {"kind": "flag", "bits": bits}
        case Enum(integer=inner, members=members) | Flags(integer=inner, members=members):
            word = "enum" if isinstance(kind, Enum) else "flags"
            return {
                **type_to_json(inner),
                "kind": word,
                "enumeration": kind.name,
                "members": [list(member) for member in by_value(members)],
            }
        case Mapping(integer=inner, members=members):
            return {**type_to_json(inner), "kind": "mapping", "members": [list(member) for member in members]}
        case Scaled(integer=inner):
            found = {"multiply": kind.multiply, "add": kind.add, "divide": kind.divide}
            told = {"unit": kind.unit, "rounding": kind.rounding}
            return {**type_to_json(inner), "kind": "scaled", **found, **told}
        case Time(integer=inner, unit=unit, epoch=epoch):
            return {**type_to_json(inner), "kind": "time", "unit": unit, "epoch": epoch}
        case VarInt(zigzag=zigzag):
            return {"kind": "varint", "zigzag": zigzag}
        case Bytes(length=length):
            return {"kind": "bytes", "length": _count_to_json(length)}
        case Text(inner=inner, encoding=encoding):
            return {"kind": "text", "encoding": encoding, "in": type_to_json(inner)}
        case Sized(inner=inner, extent=extent, stripped=stripped):
            found = {"kind": "sized", "size": _count_to_json(extent), "of": type_to_json(inner)}
            return {**found, "stripped": stripped} if stripped else found
        case Padded(inner=inner, length=length, pattern=pattern):
            return {
                "kind": "padded",
                "length": _count_to_json(length),
                "pattern": pattern,
                "of": type_to_json(inner),
            }
        case Optional(inner=inner):
            return {"kind": "optional", "of": type_to_json(inner)}
        case Computed(expression=expression, lowest=lowest, highest=highest, boolean=boolean):
            ends = {"lowest": lowest, "highest": highest, "boolean": boolean}
            return {"kind": "computed", "value": expression_to_json(expression), **ends}
        case Terminated():
            return {"kind": "terminated"}
        case Constant(type=inner, value=value):
            return {
                "kind": "constant",
                "of": type_to_json(inner),
                "value": value.hex() if isinstance(value, bytes) else value,
            }
        case Padding(length=length, unit=unit, pattern=pattern):
            return {"kind": "padding", "length": _count_to_json(length), "unit": unit, "pattern": pattern}
        case Nothing():
            return {"kind": "nothing"}
        case Checksum(type=inner, function=name, version=version, covers=covers):
            function = {"function": name, "version": version, "covers": covers}
            return {"kind": "checksum", **function, "of": type_to_json(inner)}
        case Opaque(name=name, version=version, size=size):
            return {"kind": "opaque", "code": name, "version": version, "length": _count_to_json(size)}
        case Framed(before=before, inner=inner, behind=behind):
            found = {"before": list(map(type_to_json, before)), "behind": list(map(type_to_json, behind))}
            return {"kind": "framed", **found, "of": type_to_json(inner)}
        case Sequence(types=types):
            return {"kind": "sequence", "of": [type_to_json(part) for part in types]}
        case Select(cases=records):
            choices = [{"begins": start.hex(), "of": type_to_json(record)} for start, record in records]
            return {"kind": "select", "cases": choices}
        case Array(element=element, count=count):
            return {"kind": "array", "count": _count_to_json(count), "of": type_to_json(element)}
        case If(condition=condition, type=then):
            return {"kind": "if", "condition": expression_to_json(condition), "of": type_to_json(then)}
        case Switch(key=key, cases=cases, default=default):
            switch: dict[str, Any] = {"kind": "switch", "key": expression_to_json(key)}
            switch["cases"] = [{"case": _key_to_json(case), "of": type_to_json(then)} for case, then in cases]
            return switch if default is None else {**switch, "default": type_to_json(default)}


def _limit_to_json(limit: Limit) -> Any:
    if isinstance(limit.value, tuple):
        return [item.hex() if isinstance(item, bytes) else item for item in limit.value]
    return repr(limit.value) if isinstance(limit.value, float) else limit.value


def _count_to_json(count: int | Expression | Prefix | Rest | Until | Terminator | Multiple) -> Any:
    match count:
        case Prefix(integer=integer, includes=includes):
            found = {"prefix": type_to_json(integer)}
            return {**found, "includes": True} if includes else found
        case Rest():
            return {"to": "end"}
        case Until(condition=condition):
            return {"until": expression_to_json(condition)}
        case Terminator(mark=mark):
            return {"to": mark.hex()}
        case Multiple(of=of):
            return {"multiple": of}
    return count if isinstance(count, int) else expression_to_json(count)


def expression_to_json(expression: Expression) -> Any:
    """Return an expression as JSON: a path as a string, else [operator, ...].

    A float is {"float": text}, bytes are {"bytes": hex}, and text is {"text": text}. Beside the
    operators there are ["len", path] and ["index"]; ["if", condition, then, otherwise] is one.
    """
    match expression:
        case Number(value=float(value)):
            return {"float": repr(value)}
        case Number(value=value):
            return value
        case Literal(value=value):
            return _key_to_json(value)
        case Path():
            return _path_to_json(expression)
        case Length(path=path):
            return ["len", _path_to_json(path)]
        case Index():
            return ["index"]
        case Operation(operator=name, operands=operands):
            return [name, *(expression_to_json(item) for item in operands)]


def _key_to_json(key: Key) -> Any:
    match key:
        case bytes():
            return {"bytes": key.hex()}
        case str():
            return {"text": key}
    return key


def _path_to_json(path: Path) -> str:
    return ".".join(["_"] * path.up + list(path.names))

"""Layout <-> stable JSON, and its digest.

The digest covers everything that decides bytes or verdicts: order, positions, types, constants,
members, limits, rules, validators and the tag, of the record and of all records inside of it. It
leaves out what does not: class names and documentation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from wirelock.errors import SchemaError, piece_text
from wirelock.layout.nodes import (
    LIMITS,
    MAX_BITS,
    MAX_LENGTH,
    Array,
    Bytes,
    Constant,
    Enum,
    Expression,
    Field,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Length,
    Limit,
    Limited,
    Nothing,
    Number,
    Operation,
    Padding,
    Path,
    Position,
    Prefix,
    Rule,
    Switch,
    Type,
    by_value,
)
from wirelock.layout.operators import OPERATORS
from wirelock.layout.positions import Cursor

NAMES: Final = ("record", "enumeration", "doc")
"""Keys that the digest leaves out: they name Python classes, or explain."""


def position_text(position: Position) -> str:
    """Return a position in words: `byte 3`, `byte 0 bits 7..2`, `after xs, byte 2`."""
    pieces = position.pieces or ((position.byte, 0xFF),)
    text = " + ".join(piece_text(byte, mask) for byte, mask in pieces)
    return text if position.after is None else f"after {position.after}, {text}"


def digest(layout: Layout, tag: tuple[str, ...] = (), repeats: bool = False) -> str:
    """Return the digest of a layout and its protocol's tag and `repeats`: `sha256:` and 64 hex digits."""
    covered = {"layout": _without_names(layout_to_json(layout)), "tag": list(tag)}
    if repeats:
        covered["repeats"] = True
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _without_names(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_names(value) for key, value in node.items() if key not in NAMES}
    return [_without_names(item) for item in node] if isinstance(node, list) else node


# -- to JSON


def layout_to_json(layout: Layout) -> dict[str, Any]:
    """Return a layout as JSON: objects, lists, strings, integers and floats only."""
    found: dict[str, Any] = {"kind": "record", "record": layout.name}
    found["fields"] = [_field_to_json(item) for item in layout.fields]
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
        case Bytes(length=length):
            return {"kind": "bytes", "length": _count_to_json(length)}
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
        case Array(element=element, count=count):
            return {"kind": "array", "count": _count_to_json(count), "of": type_to_json(element)}
        case If(condition=condition, type=then):
            return {"kind": "if", "condition": expression_to_json(condition), "of": type_to_json(then)}
        case Switch(key=key, cases=cases, default=default):
            found: dict[str, Any] = {"kind": "switch", "key": expression_to_json(key)}
            found["cases"] = [{"case": case, "of": type_to_json(then)} for case, then in cases]
            return found if default is None else {**found, "default": type_to_json(default)}


def _limit_to_json(limit: Limit) -> Any:
    if isinstance(limit.value, tuple):
        return [item.hex() if isinstance(item, bytes) else item for item in limit.value]
    return repr(limit.value) if isinstance(limit.value, float) else limit.value


def _count_to_json(count: int | Expression | Prefix) -> Any:
    if isinstance(count, Prefix):
        return {"prefix": type_to_json(count.integer)}
    return count if isinstance(count, int) else expression_to_json(count)


def expression_to_json(expression: Expression) -> Any:
    """Return an expression as JSON: a path as a string, a float as {"float": text}, else [operator, ...]."""
    match expression:
        case Number(value=float(value)):
            return {"float": repr(value)}
        case Number(value=value):
            return value
        case Path():
            return _path_to_json(expression)
        case Length(path=path):
            return ["len", _path_to_json(path)]
        case Operation(operator=name, operands=operands):
            return [name, *(expression_to_json(item) for item in operands)]


def _path_to_json(path: Path) -> str:
    return ".".join(["_"] * path.up + list(path.names))


# -- from JSON


def layout_from_json(found: Any, phase: int = 0) -> Layout:
    """Return the layout that JSON describes. Raises SchemaError where it is no layout of this format.

    Positions are computed anew from the fields and must be those that the JSON states.
    """
    try:
        layout = _layout(found, phase)
        if layout_to_json(layout) != found:
            raise ValueError("it says more than a layout can, or says it otherwise")
        return layout
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise SchemaError("", f"the JSON is no layout: {type(problem).__name__} {problem}") from None


def _layout(found: Any, phase: int) -> Layout:
    cursor, fields = Cursor(phase), []
    names = [item["name"] for item in found["fields"] if item["name"] is not None]
    if len(set(names)) != len(names) or not all(map(str.isidentifier, names)):
        raise ValueError(f"the fields are named {names}")
    for number, item in enumerate(found["fields"]):
        kind = type_from_json(item, cursor.phase)
        word = kind.inner if isinstance(kind, Limited) else kind
        label = item["name"] or f"{type(word).__name__.lower()}#{number}"
        position = cursor.take(label, kind)
        if position_text(position) != item["at"]:
            raise SchemaError(
                label, f"the JSON puts the field at {item['at']}, its type at {position_text(position)}"
            )
        derived = expression_from_json(item["derived"]) if "derived" in item else None
        fields.append(Field(item["name"], label, kind, position, derived))
    rules = tuple(
        Rule(rule["name"], expression_from_json(rule["holds"]), rule["doc"])
        for rule in found.get("rules", ())
    )
    return Layout(tuple(fields), found["record"], rules, tuple(found.get("validators", ())))


def type_from_json(found: Any, phase: int = 0) -> Type:
    """Return the type that a JSON object describes."""
    kind = _plain_from_json(found, phase)
    if "limits" not in found:
        return kind
    of_bytes = isinstance(kind, Bytes)
    limits = tuple(
        Limit(_one_of(name, LIMITS), _limit_from_json(value, kind, of_bytes))
        for name, value in found["limits"].items()
    )
    return Limited(kind, limits)


def _limit_from_json(value: Any, kind: Type, of_bytes: bool) -> Any:
    if isinstance(value, list):
        return tuple(bytes.fromhex(item) if of_bytes else item for item in value)
    return float(value) if isinstance(kind, Float) else value


def _plain_from_json(found: Any, phase: int) -> Type:
    match found["kind"]:
        case "record":
            return _layout(found, phase)
        case "integer":
            return _integer(found)
        case "float":
            return Float(_one_of(found["bits"], (16, 32, 64)), _one_of(found["order"], ("big", "little")))
        case "flag":
            return Flag(_one_of(found["bits"], (1, 8)))
        case "enum":
            integer = _integer(found)
            return Enum(integer, _members(found["members"], integer), found["enumeration"])
        case "flags":
            integer = _integer(found)
            return Flags(integer, _members(found["members"], integer), found["enumeration"])
        case "bytes":
            return Bytes(_length_from_json(found["length"]))
        case "constant":
            inner = type_from_json(found["of"])
            if isinstance(inner, Integer):
                return Constant(inner, _one_of(found["value"], range(inner.lowest, inner.highest + 1)))
            if isinstance(inner, Bytes):
                return Constant(inner, bytes.fromhex(found["value"]))
        case "padding":
            return Padding(
                _length_from_json(found["length"]),
                _one_of(found["unit"], (1, 8)),
                _one_of(found["pattern"], range(256)),
            )
        case "nothing":
            return Nothing()
        case "array":
            return Array(type_from_json(found["of"], phase), _count_from_json(found["count"]))
        case "if":
            return If(expression_from_json(found["condition"]), type_from_json(found["of"], phase))
        case "switch":
            cases = tuple((case["case"], type_from_json(case["of"], phase)) for case in found["cases"])
            default = type_from_json(found["default"], phase) if "default" in found else None
            return Switch(expression_from_json(found["key"]), cases, default)
    raise ValueError(f"kind {found['kind']!r}")


def _members(found: Any, integer: Integer) -> tuple[tuple[str, int], ...]:
    for name, value in found:
        if type(name) is not str or type(value) is not int or not integer.lowest <= value <= integer.highest:
            raise ValueError(f"member {name!r} = {value!r}")
    return tuple((name, value) for name, value in found)


def _integer(found: Any) -> Integer:
    return Integer(
        _one_of(found["bits"], range(1, MAX_BITS + 1)),
        _one_of(found["signed"], (False, True)),
        _one_of(found["order"], ("big", "little")),
    )


def _one_of(found: Any, allowed: Sequence[Any]) -> Any:
    if type(found) is not type(allowed[0]) or found not in allowed:
        raise ValueError(f"{found!r} in place of {allowed!r}")
    return found


def _count_from_json(found: Any) -> int | Expression | Prefix:
    if isinstance(found, dict) and "prefix" in found:
        _one_of(found["prefix"]["kind"], ("integer",))
        return Prefix(_integer(found["prefix"]))
    return _length_from_json(found)


def _length_from_json(found: Any) -> int | Expression:
    if isinstance(found, int):
        return int(_one_of(found, range(MAX_LENGTH + 1)))
    return expression_from_json(found)


def expression_from_json(found: Any) -> Expression:
    """Return the expression that JSON describes."""
    match found:
        case int():
            return Number(found)
        case {"float": text}:
            return Number(float(text))
        case str():
            return _path_from_json(found)
        case ["len", str(path)]:
            return Length(_path_from_json(path))
        case [str(name), *operands] if name in OPERATORS:
            return Operation(name, tuple(expression_from_json(item) for item in operands))
    raise ValueError(f"expression {found!r}")


def _path_from_json(text: str) -> Path:
    names = text.split(".")
    up = next((i for i, name in enumerate(names) if name != "_"), len(names))
    if not all(name.isidentifier() for name in names) or up == len(names):
        raise ValueError(f"path {text!r}")
    return Path(up, tuple(names[up:]))

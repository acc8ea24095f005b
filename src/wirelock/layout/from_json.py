"""JSON -> Layout: the inverse of canonical.py, strict about everything that it reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, get_args

from wirelock.errors import SchemaError
from wirelock.layout.canonical import layout_to_json, position_text
from wirelock.layout.limits import ENCODINGS, MAX_BITS, MAX_EXACT, MAX_LENGTH
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
    Order,
    Padded,
    Padding,
    Prefix,
    Rest,
    Rounding,
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
)
from wirelock.layout.operators import OPERATORS, takes
from wirelock.layout.positions import Cursor, reordered
from wirelock.layout.sound import check_sound
from wirelock.layout.terms import (
    LIMITS,
    Expression,
    Index,
    Length,
    Limit,
    Literal,
    Number,
    Operation,
    Path,
    Rule,
)


def layout_from_json(found: Any, phase: int = 0) -> Layout:
    """Return the layout that JSON describes. Raises SchemaError where it is no layout of this format.

    Positions are computed anew from the fields and must be those that the JSON states.
    """
    try:
        layout = _layout(found, phase)
        if layout_to_json(layout) != found:
            raise ValueError("it says more than a layout can, or says it otherwise")
        check_sound(layout)
        return layout
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise SchemaError("", f"the JSON is no layout: {type(problem).__name__} {problem}") from None


def _layout(found: Any, phase: int) -> Layout:
    cursor, fields = Cursor(phase), []
    order: Order = _one_of(found.get("order", "wire"), get_args(Order))
    names = [item["name"] for item in found["fields"] if item["name"] is not None]
    if len(set(names)) != len(names) or not all(map(str.isidentifier, names)):
        raise ValueError(f"the fields are named {names}")
    for number, item in enumerate(found["fields"]):
        kind = type_from_json(item, cursor.phase)
        word = kind.inner if isinstance(kind, Limited) else kind
        label = item["name"] or f"{type(word).__name__.lower()}#{number}"
        position = cursor.take(label, kind)
        derived = expression_from_json(item["derived"]) if "derived" in item else None
        fields.append(Field(item["name"], label, kind, position, derived))
    if order != "wire":
        fields = [*reordered(fields, order)]
    for field, item in zip(fields, found["fields"], strict=True):
        place = position_text(field.position)
        if place != item["at"]:
            raise SchemaError(field.label, f"the JSON puts the field at {item['at']}, its type at {place}")
    rules = tuple(
        Rule(rule["name"], expression_from_json(rule["holds"]), rule["doc"])
        for rule in found.get("rules", ())
    )
    return Layout(tuple(fields), found["record"], rules, tuple(found.get("validators", ())), order)


def type_from_json(found: Any, phase: int = 0) -> Type:
    """Return the type that a JSON object describes."""
    kind = _plain_from_json(found, phase)
    if "limits" not in found:
        return kind
    of_bytes = isinstance(kind.inner if isinstance(kind, Padded | Sized) else kind, Bytes)
    limits = tuple(
        Limit(_one_of(name, LIMITS), _limit_from_json(value, kind, of_bytes))
        for name, value in found["limits"].items()
    )
    return Limited(kind, limits)


def _limit_from_json(value: Any, kind: Type, of_bytes: bool) -> Any:
    if isinstance(value, list):
        return tuple(bytes.fromhex(item) if of_bytes else item for item in value)
    return float(value) if isinstance(kind, Float | Scaled) else value


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
        case "mapping":
            integer = _integer(found)
            members = tuple(
                (key, _one_of(value, range(integer.lowest, integer.highest + 1)))
                for key, value in found["members"]
            )
            if len({type(key) for key, _ in members}) != 1 or not isinstance(members[0][0], str | int):
                raise ValueError(f"members {members!r}")
            return Mapping(integer, members)
        case "scaled":
            numbers = [
                _one_of(found[name], range(-MAX_EXACT, MAX_EXACT)) for name in ("multiply", "add", "divide")
            ]
            if numbers[0] < 1 or numbers[2] < 1:
                raise ValueError(f"a step of {numbers[0]} / {numbers[2]}")
            rounding = _one_of(found["rounding"], get_args(Rounding))
            return Scaled(_integer(found), numbers[0], numbers[1], numbers[2], _text(found["unit"]), rounding)
        case "time":
            return Time(_integer(found), _text(found["unit"]), _text(found["epoch"]))
        case "varint":
            return VarInt(_one_of(found["zigzag"], (False, True)))
        case "bytes":
            return Bytes(_extent_from_json(found["length"], Rest))
        case "text":
            inner = type_from_json(found["in"], phase)
            if not isinstance(inner, Bytes | Sized):
                raise ValueError(f"text in {inner!r}")
            return Text(inner, _one_of(found["encoding"], [*ENCODINGS]))
        case "sized":
            inner, extent = (
                type_from_json(found["of"], phase),
                _extent_from_json(found["size"], Prefix, Terminator),
            )
            return Sized(inner, extent, _one_of(found.get("stripped", 0), (0, 1, 2, 4)))
        case "padded":
            length = _extent_from_json(found["length"], Multiple)
            return Padded(type_from_json(found["of"], phase), length, _one_of(found["pattern"], range(256)))
        case "optional":
            return Optional(type_from_json(found["of"], phase))
        case "computed":
            ends = [_one_of(found[name], range(-(1 << 63), 1 << 64)) for name in ("lowest", "highest")]
            boolean = _one_of(found["boolean"], (False, True))
            return Computed(expression_from_json(found["value"]), ends[0], ends[1], boolean)
        case "terminated":
            return Terminated()
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
        case "checksum":
            inner = type_from_json(found["of"])
            if not isinstance(inner, Integer | Bytes):
                raise ValueError(f"a checksum in {inner!r}")
            return Checksum(inner, _text(found["function"]), _version(found), _text(found["covers"]))
        case "opaque":
            return Opaque(_text(found["code"]), _version(found), _extent_from_json(found["length"], Rest))
        case "framed":
            before, behind = (
                tuple(type_from_json(part, phase) for part in found[side]) for side in ("before", "behind")
            )
            return Framed(before, type_from_json(found["of"], phase), behind)
        case "sequence":
            return Sequence(tuple(type_from_json(part, phase) for part in found["of"]))
        case "select":
            records = tuple(
                (bytes.fromhex(case["begins"]), _layout(case["of"], phase)) for case in found["cases"]
            )
            return Select(records)
        case "array":
            return Array(
                type_from_json(found["of"], phase), _extent_from_json(found["count"], Prefix, Rest, Until)
            )
        case "if":
            return If(expression_from_json(found["condition"]), type_from_json(found["of"], phase))
        case "switch":
            cases = tuple(
                (_key_from_json(case["case"]), type_from_json(case["of"], phase)) for case in found["cases"]
            )
            default = type_from_json(found["default"], phase) if "default" in found else None
            return Switch(expression_from_json(found["key"]), cases, default)
    raise ValueError(f"kind {found['kind']!r}")


def _version(found: Any) -> int:
    return int(_one_of(found["version"], range(1, MAX_LENGTH + 1)))


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


def _one_of(found: Any, allowed: Collection[Any]) -> Any:
    if type(found) is not type(next(iter(allowed))) or found not in allowed:
        raise ValueError(f"{found!r} in place of {allowed!r}")
    return found


def _extent_from_json(found: Any, *allowed: type) -> Any:
    """Return a count, length or size: a number, an expression, or one of the allowed nodes."""
    match found:
        case {"prefix": {"kind": "varint", "zigzag": zigzag}}:
            extent: Any = Prefix(VarInt(_one_of(zigzag, (False, True))))
        case {"prefix": integer}:
            _one_of(integer["kind"], ("integer",))
            extent = Prefix(_integer(integer), "includes" in found)
        case {"to": "end"}:
            extent = Rest()
        case {"to": str(mark)}:
            extent = Terminator(bytes.fromhex(mark))
        case {"until": condition}:
            extent = Until(expression_from_json(condition))
        case {"multiple": of}:
            extent = Multiple(_one_of(of, range(2, MAX_LENGTH + 1)))
        case _:
            return _length_from_json(found)
    if not isinstance(extent, allowed):
        raise ValueError(f"{found!r} stands where it has no meaning")
    return extent


def _text(found: Any) -> str:
    if type(found) is not str:
        raise ValueError(f"{found!r} is no text")
    return found


def _length_from_json(found: Any) -> int | Expression:
    if isinstance(found, int):
        return int(_one_of(found, range(MAX_LENGTH + 1)))
    return expression_from_json(found)


def _key_from_json(found: Any) -> Any:
    match found:
        case {"bytes": str(digits)}:
            return bytes.fromhex(digits)
        case {"text": str(text)}:
            return text
        case int():
            return found
    raise ValueError(f"{found!r} in place of a key")


def expression_from_json(found: Any) -> Expression:
    """Return the expression that JSON describes."""
    match found:
        case int():
            return Number(found)
        case {"float": text}:
            return Number(float(text))
        case {"bytes": _} | {"text": _}:
            return Literal(_key_from_json(found))
        case str():
            return _path_from_json(found)
        case ["len", str(path)]:
            return Length(_path_from_json(path))
        case ["index"]:
            return Index()
        case [str(name), *operands] if name in OPERATORS and takes(name, len(operands)):
            return Operation(name, tuple(expression_from_json(item) for item in operands))
    raise ValueError(f"expression {found!r}")


def _path_from_json(text: str) -> Path:
    names = text.split(".")
    up = next((i for i, name in enumerate(names) if name != "_"), len(names))
    if not all(name.isidentifier() for name in names) or up == len(names):
        raise ValueError(f"path {text!r}")
    return Path(up, tuple(names[up:]))

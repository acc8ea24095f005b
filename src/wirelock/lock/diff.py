"""Two layouts -> what differs between them, field by field, in words.

`differences` finds nothing exactly where the digests agree: class names and documentation do not count,
everything else does. Fields pair by name, then by place; records inside of the layout are compared too.
Whether a difference matters, and to whom, is not decided here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from wirelock.layout.canonical import expression_to_json, position_text, type_to_json
from wirelock.layout.describe import expression_text, type_text
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
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
    Multiple,
    Nothing,
    Optional,
    Padded,
    Padding,
    Position,
    Prefix,
    Rest,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminator,
    Type,
    Until,
    VarInt,
    limits_of,
    plain,
)
from wirelock.layout.operators import python_source
from wirelock.layout.terms import (
    Expression,
    Index,
    Length,
    Limit,
    LimitKind,
    Operation,
    Path,
    Rule,
    inner_path,
)

__all__ = ["ABSENT", "Difference", "differences", "partners"]

ABSENT: Final = "absent"
"""What stands for a thing on the side that does not have it."""

Count: TypeAlias = int | Expression | Prefix | Rest | Until


@dataclass(frozen=True, slots=True)
class Difference:
    """One aspect of one field, as it was and as it is now.

    `path` names the field from the outermost record: `entities[].rotation.a`, `body{2}.x` for the case 2
    of a Switch; empty for the record itself. A field that is gone or new has the aspect `field`.
    """

    path: str
    aspect: str
    was: str
    now: str
    nodes: tuple[Any, Any] = field(default=(None, None), compare=False, repr=False)
    """The limits, members (name, value) or rules' expressions that differ; None for one that is not there.

    Where an integer has no limit at one of its ends, that end of its width.
    """

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{place}{self.aspect}: was {self.was}, now {self.now}"


def differences(
    was: Layout, now: Layout, was_tag: tuple[str, ...] = (), now_tag: tuple[str, ...] = ()
) -> list[Difference]:
    """Return every difference between two layouts and the names of their tags, in the old wire order."""
    found = [Difference("", "tag", _list(was_tag), _list(now_tag))] if was_tag != now_tag else []
    return [*found, *_layouts(was, now, "")]


# -- records


def _layouts(was: Layout, now: Layout, path: str) -> Iterator[Difference]:
    pairs = partners(was.fields, now.fields)
    moved = False
    yield from _aspect(path, "bit order", was.order, now.order)
    for old in was.fields:
        place, new = inner_path(path, old.label), pairs.get(old.label)
        if new is None:
            yield Difference(place, "field", _field_text(old), ABSENT)
        else:
            moved |= position_text(old.position) != position_text(new.position)
            yield from _fields(old, new, place)
    paired = [new.label for new in pairs.values()]
    for new in now.fields:
        if new.label not in paired:
            yield Difference(inner_path(path, new.label), "field", ABSENT, _field_text(new))
    # Fields of no size can change places without a position that shows it.
    if not moved:
        stayed = [old.label for old in was.fields if old.label in pairs]
        back = {new.label: old for old, new in pairs.items()}
        ordered = [back[new.label] for new in now.fields if new.label in back]
        yield from _ordered(path, "order of fields", stayed, ordered)
    yield from _rules(was.rules, now.rules, path)
    if was.validators != now.validators:
        yield Difference(path, "validators", _list(was.validators), _list(now.validators))


def partners(was: tuple[Field, ...], now: tuple[Field, ...]) -> dict[str, Field]:
    """Return for the label of each old field its new one: of that name, or at that place, or of that type."""
    found: dict[str, Field] = {}
    left = list(now)
    keys: tuple[Callable[[Field], object], ...] = (
        lambda item: item.name,
        lambda item: (position_text(item.position), _stable(type_to_json(item.type))),
        lambda item: None if item.name else position_text(item.position),
        lambda item: None if item.name else _stable(type_to_json(item.type)),
    )
    for key in keys:
        candidates = [(key(new), new) for new in left]
        for old in was:
            wanted = key(old)
            if wanted is None or old.label in found:
                continue
            for number, (offered, new) in enumerate(candidates):
                if offered == wanted:
                    found[old.label] = new
                    del candidates[number]
                    break
        left = [new for _, new in candidates]
    return {old.label: found[old.label] for old in was if old.label in found}


def _fields(was: Field, now: Field, path: str) -> Iterator[Difference]:
    if was.name != now.name:
        yield Difference(path, "name", was.name or ABSENT, now.name or ABSENT)
    old, new = position_text(was.position), position_text(now.position)
    if old != new:
        aspect = "bit order" if _mirrored(was.position, now.position) else "position"
        yield Difference(path, aspect, old, new)
    yield from _types(was.type, now.type, path)
    yield from _expressions(path, "derived", was.derived, now.derived, ABSENT)


def _mirrored(was: Position, now: Position) -> bool:
    """Whether a field lies in the same bytes, with the bits of each counted from the other end."""
    mirrored = {(byte, int(f"{mask:08b}"[::-1], 2)) for byte, mask in was.pieces}
    return bool(was.pieces) and was.after == now.after and mirrored == set(now.pieces)


def _rules(was: tuple[Rule, ...], now: tuple[Rule, ...], path: str) -> Iterator[Difference]:
    old, new = ({rule.name: rule.expression for rule in rules} for rules in (was, now))
    for name in {**old, **new}:
        pair = old.get(name), new.get(name)
        for found in _expressions(path, f"rule {name}", *pair, ABSENT):
            yield replace(found, nodes=pair)
    if old.keys() == new.keys():
        yield from _ordered(path, "order of rules", list(old), list(new))


def _ordered(path: str, aspect: str, was: list[str], now: list[str]) -> Iterator[Difference]:
    if was != now:
        yield Difference(path, aspect, _list(was), _list(now))


# -- types


def _types(was: Type, now: Type, path: str) -> Iterator[Difference]:
    if isinstance(was, If) or isinstance(now, If):
        old, new = (side.condition if isinstance(side, If) else None for side in (was, now))
        yield from _expressions(path, "condition", old, new, "always there")
        yield from _types(_inside(was, If), _inside(now, If), path)
        return
    if isinstance(was, Limited) or isinstance(now, Limited):
        yield from _limits(was, now, path)
        yield from _types(_inside(was, Limited), _inside(now, Limited), path)
        return
    if isinstance(was, Constant) or isinstance(now, Constant):
        values = [_value(side) if isinstance(side, Constant) else "any" for side in (was, now)]
        yield from _aspect(path, "constant", *values)
        yield from _types(_inside(was, Constant), _inside(now, Constant), path)
        return
    match was, now:
        case Layout(), Layout():
            yield from _layouts(was, now, path)
        case Integer(), Integer():
            yield from _integers(was, now, path)
        case (Enum(), Enum()) | (Flags(), Flags()):
            assert isinstance(was, Enum | Flags) and isinstance(now, Enum | Flags)
            yield from _integers(was.integer, now.integer, path)
            yield from _members(dict(was.members), dict(now.members), path)
        case Float(), Float():
            yield from _aspect(path, "width", _bits(was), _bits(now))
            yield from _aspect(path, "byte order", was.order, now.order)
        case Flag(), Flag():
            yield from _aspect(path, "width", _bits(was), _bits(now))
        case Bytes(), Bytes():
            yield from _counts(path, "length", was.length, now.length)
        case Padding(), Padding():
            yield from _counts(path, "length", was.length, now.length)
            yield from _aspect(path, "unit", *("bit" if side.unit == 1 else "byte" for side in (was, now)))
            yield from _aspect(path, "pattern", _pattern(was), _pattern(now))
        case Array(), Array():
            yield from _counts(path, "count", was.count, now.count)
            yield from _types(was.element, now.element, f"{path}[]")
        case Switch(), Switch():
            yield from _switches(was, now, path)
        case Framed(), Framed() if len(was.before) == len(now.before) and len(was.behind) == len(now.behind):
            for (label, old_part), (_, new_part) in zip(was.labelled(path), now.labelled(path), strict=True):
                yield from _types(old_part, new_part, label)
        case Sequence(), Sequence() if len(was.types) == len(now.types):
            for number, (old_part, new_part) in enumerate(zip(was.types, now.types, strict=True)):
                yield from _types(old_part, new_part, f"{path}[{number}]")
        case Select(), Select():
            starts = ({start.hex(" "): record for start, record in side.cases} for side in (was, now))
            yield from _cases(path, *starts)
        case Checksum(), Checksum():
            yield from _types(was.type, now.type, path)
            yield from _aspect(path, "checksum", _function(was), _function(now))
        case Optional(), Optional():
            yield from _types(was.inner, now.inner, path)
        case Padded(), Padded():
            yield from _aspect(path, "length", _extent(was.length), _extent(now.length))
            yield from _aspect(path, "pattern", f"{was.pattern:#04x}", f"{now.pattern:#04x}")
            yield from _types(was.inner, now.inner, path)
        case Sized(), Sized():
            yield from _aspect(path, "size", _extent(was.extent), _extent(now.extent))
            yield from _aspect(path, "NULs stripped", str(was.stripped), str(now.stripped))
            yield from _types(was.inner, now.inner, path)
        case _ if _stable(type_to_json(was)) != _stable(type_to_json(now)):
            yield Difference(path, "type", type_text(was), type_text(now))


def _inside(kind: Type, wrapper: type[If | Limited | Constant]) -> Type:
    """Return what a type wraps, if that is how it is wrapped."""
    if not isinstance(kind, wrapper):
        return kind
    return kind.inner if isinstance(kind, Limited) else kind.type


def _integers(was: Integer, now: Integer, path: str) -> Iterator[Difference]:
    one_byte = was.bits <= 8, now.bits <= 8
    if was.bits != now.bits:
        # An order begins or ends to exist where a field grows out of one byte.
        old, new = (_bits(side) for side in (was, now))
        if one_byte[0] != one_byte[1]:
            old, new = (type_text(side) for side in (was, now))
        yield Difference(path, "width", old, new)
    if one_byte[0] == one_byte[1]:
        yield from _aspect(path, "byte order", was.order, now.order)
    yield from _aspect(path, "sign", _sign(was), _sign(now))


def _members(was: dict[str, int], now: dict[str, int], path: str) -> Iterator[Difference]:
    paired = set()
    for name, value in was.items():
        renamed = [other for other in now if other not in was and now[other] == value]
        partner = name if name in now or not renamed else renamed[0]
        paired.add(partner)
        if partner not in now:
            yield Difference(path, "member", f"{name} = {value}", ABSENT, ((name, value), None))
        elif (name, value) != (partner, now[partner]):
            nodes = (name, value), (partner, now[partner])
            yield Difference(path, "member", f"{name} = {value}", f"{partner} = {now[partner]}", nodes)
    for name, value in now.items():
        if name not in paired:
            yield Difference(path, "member", ABSENT, f"{name} = {value}", (None, (name, value)))


def _switches(was: Switch, now: Switch, path: str) -> Iterator[Difference]:
    yield from _expressions(path, "key", was.key, now.key, ABSENT)
    old: dict[Any, Type] = dict(was.cases)
    new: dict[Any, Type] = dict(now.cases)
    old |= {} if was.default is None else {"default": was.default}
    new |= {} if now.default is None else {"default": now.default}
    yield from _cases(path, old, new)


def _cases(path: str, old: Mapping[Any, Type], new: Mapping[Any, Type]) -> Iterator[Difference]:
    for key in {**old, **new}:
        place = f"{path}{{{key}}}"
        if key in old and key in new:
            yield from _types(old[key], new[key], place)
        else:
            was, now = (type_text(side[key]) if key in side else ABSENT for side in (old, new))
            yield Difference(place, "case", was, now)
    if old.keys() == new.keys():
        yield from _ordered(path, "order of cases", [str(key) for key in old], [str(key) for key in new])


def _function(kind: Checksum) -> str:
    return f"{kind.function} (version {kind.version}) of {kind.covers}"


def _limits(was: Type, now: Type, path: str) -> Iterator[Difference]:
    old, new = ({limit.kind: limit for limit in limits_of(side)} for side in (was, now))
    for kind in {**old, **new}:
        pair = old.get(kind), new.get(kind)
        texts = [ABSENT if limit is None else _limit_text(limit) for limit in pair]
        if texts[0] != texts[1]:
            nodes = pair[0] or _end(was, kind), pair[1] or _end(now, kind)
            yield Difference(path, "limit", texts[0], texts[1], nodes)


def _end(kind: Type, limit: LimitKind) -> Limit | None:
    """Return the limit that the width of an integer is; None where it is none."""
    inner = plain(kind)
    if not isinstance(inner, Integer | VarInt) or limit not in ("ge", "le"):
        return None
    return Limit(limit, inner.lowest if limit == "ge" else inner.highest)


def _aspect(path: str, aspect: str, was: str, now: str) -> Iterator[Difference]:
    if was != now:
        yield Difference(path, aspect, was, now)


def _counts(path: str, aspect: str, was: Count, now: Count) -> Iterator[Difference]:
    if _stable(_count_json(was)) == _stable(_count_json(now)):
        return
    if isinstance(was, Expression) and isinstance(now, Expression):
        yield from _expressions(path, aspect, was, now, ABSENT)
    else:
        yield Difference(path, aspect, _count_text(was), _count_text(now))


def _expressions(
    path: str, aspect: str, was: Expression | None, now: Expression | None, without: str
) -> Iterator[Difference]:
    old, new = (None if side is None else _stable(expression_to_json(side)) for side in (was, now))
    if old == new:
        return
    old_text, new_text = _contrasted(was, now, without)
    if old_text == new_text:  # the words do not tell them apart: -1 as a number and as an operation
        old_text, new_text = old or without, new or without
    yield Difference(path, aspect, old_text, new_text)


def _contrasted(was: Expression | None, now: Expression | None, without: str) -> tuple[str, str]:
    """Write two expressions, with `...` for the parts that both have at one place."""
    if was is None or now is None:
        return (
            without if was is None else expression_text(was),
            without if now is None else expression_text(now),
        )
    shared: set[int] = set()

    def share(old: Expression, new: Expression) -> None:
        if isinstance(old, Operation) and isinstance(new, Operation) and old.operator == new.operator:
            for a, b in zip(old.operands, new.operands, strict=False):
                if a == b and isinstance(a, Operation):
                    shared.update((id(a), id(b)))
                else:
                    share(a, b)

    def name_of(part: Expression) -> str | None:
        if isinstance(part, Path | Length | Index):
            return expression_text(part)
        return "..." if id(part) in shared else None

    share(was, now)
    return python_source(was, name_of), python_source(now, name_of)


def _stable(found: Any) -> str:
    return json.dumps(found, sort_keys=True)


def _count_json(count: Count) -> Any:
    return type_to_json(Array(Nothing(), count))["count"]


def _count_text(count: Count) -> str:
    match count:
        case int():
            return str(count)
        case Prefix(integer=integer):
            return f"{type_text(integer)} in front"
        case Rest():
            return "all that is left"
        case Until(condition=condition):
            return f"until {expression_text(condition)}"
    return expression_text(count)


def _extent(extent: int | Expression | Prefix | Terminator | Multiple) -> str:
    match extent:
        case Terminator(mark=mark):
            return f"up to {mark.hex(' ')}"
        case Multiple(of=of):
            return f"a multiple of {of}"
        case Prefix(includes=True):
            return f"{_count_text(extent)}, its own bytes counted"
    return _count_text(extent)


def _field_text(item: Field) -> str:
    return f"{type_text(item.type)} at {position_text(item.position)}"


def _limit_text(limit: Limit) -> str:
    return type_text(Limited(Nothing(), (limit,))).partition(", ")[2]


def _list(names: list[str] | tuple[str, ...]) -> str:
    return f"({', '.join(names)})" if names else ABSENT


def _value(constant: Constant) -> str:
    return constant.value.hex(" ") if isinstance(constant.value, bytes) else str(constant.value)


def _bits(kind: Integer | Float | Flag) -> str:
    return f"{kind.bits} bit{'' if kind.bits == 1 else 's'}"


def _sign(kind: Integer) -> str:
    return "signed" if kind.signed else "unsigned"


def _pattern(kind: Padding) -> str:
    return f"{kind.pattern:#x}"

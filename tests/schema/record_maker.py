"""A Record class for any construct: the annotations that its layout asks for, made without looking at them.

`record_of(source)` returns the class. Enumerations and flags become IntEnum and IntFlag classes, nested
structs records of their own. Raises Unwritable for the few layouts that annotations cannot describe.
"""

from __future__ import annotations

import enum
from typing import Any, Union, get_args

import construct

from wirelock import Record
from wirelock.layout.arrays import prefixed_array
from wirelock.layout.leaves import unwrap
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
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Mapping,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Prefix,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Text,
    Time,
    VarInt,
)
from wirelock.layout.walk import walk


class Unwritable(Exception):  # noqa: N818 - no error: the layout is one that records cannot have
    """No annotation says what this layout is."""


def make(
    name: str, source: Any, annotations: dict[str, Any], rules: Any = (), **members: Any
) -> type[Record]:
    """Return a Record class as a class statement would make it."""
    body = {"__annotations__": annotations, "__module__": __name__, "__qualname__": name, **members}
    return type(Record)(name, (Record,), body, layout=source, rules=rules)


def record_of(source: Any) -> type[Record]:
    """Return a Record class for a construct Struct."""
    return Maker().record(source, walk(source), "Top")


def bare_kind(kind: Any) -> Any:
    while isinstance(kind, Limited | Framed | Padded | Sized):
        kind = kind.inner
    return kind


class Maker:
    def __init__(self) -> None:
        self.made = 0

    def name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    def record(self, source: Any, layout: Layout, name: str) -> type[Record]:
        parts = self.inside(self.bare(source)).subcons
        annotations = {
            item.label: self.annotation(part, item.type)
            for part, item in zip(parts, layout.fields, strict=True)
            if item.in_record
        }
        return make(name, source, annotations)

    def annotation(self, source: Any, kind: Any) -> Any:
        source = self.bare(source)
        match kind:
            case Limited(inner=inner):
                return self.annotation(source, inner)
            case Padded(inner=inner) | Sized(inner=inner):
                found = source.subcon
                while isinstance(found, construct.NullStripped):
                    found = found.subcon
                return self.annotation(found, inner)
            case Framed(before=before, inner=inner):
                return self.annotation(source.subcons[len(before)], inner)
            case Optional(inner=inner):
                if isinstance(bare_kind(inner), If | Switch | Padded):
                    raise Unwritable("a choice inside of what may be absent")
                return Union[self.annotation(source.subcons[0], inner), None]  # noqa: UP007 - may be a tuple[...]
            case Computed(boolean=boolean):
                return bool if boolean else int
            case Mapping(members=members):
                return type(members[0][0])
            case Sequence(types=types):
                pairs = zip(source.subcons, types, strict=True)
                return tuple[tuple(self.annotation(part, inner) for part, inner in pairs)]  # type: ignore[misc]
            case Select(cases=cases):
                pairs = zip(source.subcons, cases, strict=True)
                return Union[tuple(self.annotation(part, inner) for part, (_, inner) in pairs)]  # noqa: UP007
            case Checksum(type=inner):
                return int if isinstance(inner, Integer) else bytes
            case Opaque():
                return bytes
            case VarInt() | Time():
                return int
            case Scaled():
                return float
            case Text():
                return str
            case Layout():
                if any(item.position.pieces for item in kind.fields) and not isinstance(
                    source, construct.Transformed
                ):
                    raise Unwritable("a struct inside a bit region is no layout of its own")
                return self.record(source, kind, self.name("Inner"))
            case Constant(type=Integer()) | Integer():
                return int
            case Constant(type=Bytes()) | Bytes():
                return bytes
            case Enum(members=members):
                return enum.IntEnum(self.name("Enum"), dict(members), module=__name__)
            case Flags(members=members):
                return enum.IntFlag(self.name("Flags"), dict(members), module=__name__)
            case Float():
                return float
            case Flag():
                return bool
            case Nothing() | Padding() | Terminated():
                return None
            case Array(element=element, count=count):
                counted = prefixed_array(source) if isinstance(count, Prefix) else None
                part = counted[1] if counted else self.inside(source).subcon
                return tuple[self.annotation(part, element), ...]  # type: ignore[misc]
            case If(type=inner):
                if isinstance(bare_kind(inner), If | Optional | Padding | Nothing | Terminated):
                    raise Unwritable("what may be absent inside of what may be absent")
                absent = unwrap(source.thensubcon) is construct.Pass
                found = self.annotation(source.elsesubcon if absent else source.thensubcon, inner)
                if isinstance(bare_kind(inner), Switch) and type(None) in get_args(found):
                    raise Unwritable("what may be absent inside of what may be absent")
                return None if found is None else Union[found, None]  # noqa: UP007 - either may be a tuple[...]
            case Switch(cases=cases, default=default):
                return self.union(source, cases, default)
        raise TypeError(kind)

    def bare(self, source: Any) -> Any:
        """Take off what leaves the layout as it is, or lies in it as a limit."""
        source = unwrap(source)
        dresses = construct.Default | construct.ExprValidator | construct.Rebuild | construct.RawCopy
        while isinstance(source, dresses | construct.LazyBound):
            source = unwrap(source.subcon if isinstance(source, dresses) else source.subconfunc())
        return source

    def inside(self, source: Any) -> Any:
        """Take the bit region off an array."""
        while isinstance(source, construct.Transformed):
            source = unwrap(source.subcon)
        return source

    def union(self, source: Any, cases: Any, default: Any) -> Any:
        """Return the union of the types of all cases. A case goes by number, member, or name."""
        if isinstance(source, construct.IfThenElse):
            source = construct.Switch(None, {0: source.elsesubcon, 1: source.thensubcon})
        by_number = {getattr(key, "intvalue", key): case for key, case in source.cases.items()}
        if any(isinstance(key, str) for key in by_number):
            raise Unwritable("a case by its member's name alone")
        pairs = [(by_number[key], kind) for key, kind in cases]
        if default is not None:
            pairs.append((source.default, default))
        if any(isinstance(bare_kind(kind), If | Switch | Optional) for _, kind in pairs):
            raise Unwritable("a choice inside of a choice")
        if any(isinstance(bare_kind(kind), Enum | Flags | Layout | Mapping | Scaled) for _, kind in pairs):
            raise Unwritable("two classes that fit one case")
        return Union[tuple(self.annotation(part, kind) for part, kind in pairs)]  # noqa: UP007 - built from a tuple

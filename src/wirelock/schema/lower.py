"""A record's annotations onto its layout: types, constraints and enumerations become part of the wire.

`Lowering` takes the layout as read from construct and the record's fields, and gives the lowered Layout
(which the digest covers), the classes that it names, and for each field the annotation that pydantic is
to validate. A field that does not fit its layout is a SchemaError that names it.
"""

from __future__ import annotations

import types
from dataclasses import replace
from enum import IntEnum, IntFlag
from typing import Annotated, Any, Literal, get_args, get_origin

import annotated_types as at
from pydantic import (
    AfterValidator,
    BeforeValidator,
    PlainValidator,
    Strict,
    WrapValidator,
)

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
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Text,
    Time,
    Type,
    VarInt,
    by_value,
    limits_of,
    plain,
)
from wirelock.layout.terms import Limit
from wirelock.schema.around import first_difference
from wirelock.schema.choices import Choices, Fitted
from wirelock.schema.constraints import (
    check_literal,
    known_bits,
    merged,
    one_of,
    only,
    read_limits,
    ungrouped,
)
from wirelock.schema.scalars import (
    BYTES_METADATA,
    float_metadata,
    integer_metadata,
    member_metadata,
    ordered,
    scaled_metadata,
    wide_metadata,
)
from wirelock.schema.validators import validator_name

PYTHON_VALIDATORS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator, at.Predicate)


class Lowering(Choices):
    """Lowers the fields of one record class, collecting the classes that its layout names."""

    def fit(self, kind: Type, annotation: Any, where: str, metadata: tuple[Any, ...] = ()) -> Fitted:
        """Fit one annotation to one layout type. Raises SchemaError where they do not agree."""
        while get_origin(annotation) is Annotated or hasattr(annotation, "__value__"):
            if hasattr(annotation, "__value__"):
                annotation = annotation.__value__
            else:
                annotation, *more = get_args(annotation)
                metadata = (*more, *metadata)
        match kind:
            case If(type=then):
                found = self._optional(then, annotation, where, metadata)
                return Fitted(replace(kind, type=found.kind), found.annotation)
            case Optional(inner=then):
                found = self._optional(then, annotation, where, metadata)
                return Fitted(replace(kind, inner=found.kind), found.annotation)
            case Framed(inner=inner) | Padded(inner=inner) | Sized(inner=inner):
                found = self.fit(inner, annotation, where, metadata)
                return Fitted(replace(kind, inner=found.kind), found.annotation)
            case Limited(inner=inner, limits=limits):
                found = self.fit(inner, annotation, where, metadata)
                both = merged([*limits, *limits_of(found.kind)], f"{self.record}.{where}")
                checks = [one_of(limit) for limit in limits]
                return Fitted(Limited(plain(found.kind), both), Annotated[found.annotation, *checks])
            case Switch():
                return self._switch(kind, annotation, where, metadata)
            case Layout():
                return self._record(kind, annotation, where, metadata)
            case Array():
                return self._array(kind, annotation, where, metadata)
            case Select():
                return self._select(kind, annotation, where, metadata)
            case Sequence():
                return self._sequence(kind, annotation, where, metadata)
            case Checksum(type=inner):
                found = self.fit(inner, annotation, where, metadata)
                if found.kind != inner:
                    raise self._misfit(where, annotation, "int or bytes, without constraints: it is computed")
                return Fitted(kind, found.annotation)
            case Opaque():
                return Fitted(kind, Annotated[annotation, *metadata] if metadata else annotation)
            case Nothing() | Padding() | Terminated():
                if annotation not in (None, type(None)):
                    raise self._misfit(where, annotation, "None")
                return Fitted(kind, None)
        return self._scalar(kind, annotation, where, metadata)

    def _scalar(self, kind: Type, annotation: Any, where: str, metadata: tuple[Any, ...]) -> Fitted:
        values = None
        if get_origin(annotation) is Literal:
            values = get_args(annotation)
            annotation = type(values[0]) if len({type(value) for value in values}) == 1 else None
        is_class = isinstance(annotation, type)
        match kind:
            case Enum() if is_class and issubclass(annotation, IntEnum):
                return self._members(kind, annotation, where, metadata, values)
            case Flags() if is_class and issubclass(annotation, IntFlag):
                return self._members(kind, annotation, where, metadata, values)
            case Integer() if is_class and issubclass(annotation, IntEnum | IntFlag):
                members = by_value((member.name or "", int(member)) for member in annotation)
                wanted = Enum if issubclass(annotation, IntEnum) else Flags
                return self._members(wanted(kind, members), annotation, where, metadata, values)
            case Integer() | Enum() | Flags() if annotation is int:
                integer = kind if isinstance(kind, Integer) else kind.integer
                return self._limited(integer, int, integer_metadata(integer), where, metadata, values)
            case VarInt() if annotation is int:
                return self._limited(kind, int, integer_metadata(kind), where, metadata, values)
            case Time(integer=integer) if annotation is int:
                return self._limited(kind, int, integer_metadata(integer), where, metadata, values)
            case Computed(boolean=boolean) if annotation is (bool if boolean else int):
                wide = wide_metadata(kind.lowest, kind.highest)
                return self._limited(kind, annotation, (Strict(), *wide), where, metadata, values)
            case Scaled() if annotation is float:
                return self._limited(kind, float, scaled_metadata(kind), where, metadata, values)
            case Text() if annotation is str:
                return self._limited(kind, str, (Strict(),), where, metadata, values)
            case Mapping(members=mapped) if annotation is type(mapped[0][0]):
                keys = tuple(key for key, _ in mapped)
                if values is not None and set(values) != set(keys):
                    told = f"the layout maps {', '.join(map(repr, keys))}"
                    raise SchemaError(f"{self.record}.{where}", told, "name all of them in the Literal")
                numbers = [item for item in keys if isinstance(item, int)]
                wide = wide_metadata(min(numbers), max(numbers)) if numbers else ()
                own = Strict(), *wide, one_of(Limit("one_of", keys))
                return self._limited(kind, annotation, own, where, metadata, None)
            case Flag() if annotation is bool:
                return self._limited(kind, bool, (Strict(),), where, metadata, values)
            case Float() if annotation is float:
                return self._limited(kind, float, float_metadata(kind), where, metadata, values)
            case Bytes(length=length) if annotation is bytes:
                fixed = (at.MinLen(length), at.MaxLen(length)) if isinstance(length, int) else ()
                return self._limited(kind, bytes, (*BYTES_METADATA, *fixed), where, metadata, values)
            case Constant(type=Integer(), value=int(constant)) if annotation is int:
                own = (Strict(), *wide_metadata(constant, constant), only(constant))
                return self._limited(kind, int, own, where, metadata, values)
            case Constant(type=Bytes()) if annotation is bytes:
                return self._limited(
                    kind, bytes, (*BYTES_METADATA, only(kind.value)), where, metadata, values
                )
        wanted_text = {
            Enum: "an IntEnum with the layout's members, or int",
            Flags: "an IntFlag with the layout's members, or int",
            Integer: "int or an IntEnum",
            Constant: "bytes" if isinstance(kind, Constant) and isinstance(kind.value, bytes) else "int",
            Flag: "bool", Float: "float", Bytes: "bytes", VarInt: "int", Time: "int", Scaled: "float",
            Text: "str", Mapping: "the type of the mapping's keys, or a Literal of them",
            Computed: "bool" if isinstance(kind, Computed) and kind.boolean else "int",
        }.get(type(kind), "another type")  # fmt: skip
        raise self._misfit(where, annotation, wanted_text)

    def _members(
        self,
        kind: Enum | Flags,
        cls: Any,
        where: str,
        metadata: tuple[Any, ...],
        values: tuple[Any, ...] | None,
    ) -> Fitted:
        members = {member.name: int(member) for member in cls}
        layout = dict(kind.members)
        if set(members.values()) != set(layout.values()) or any(
            layout.get(n) != v for n, v in members.items()
        ):
            raise SchemaError(
                f"{self.record}.{where}",
                f"{cls.__name__} has {_pairs(members)}, the layout has {_pairs(layout)}",
                "give both the same members",
            )
        for name, value in members.items():
            if not kind.integer.lowest <= value <= kind.integer.highest:
                raise SchemaError(
                    f"{self.record}.{where}", f"{cls.__name__}.{name} = {value} does not fit the field"
                )
        if isinstance(kind, Flags) and (
            kind.integer.signed or any(value & (value - 1) or value < 1 for value in members.values())
        ):
            raise SchemaError(
                f"{self.record}.{where}",
                f"{cls.__name__} is no set of single bits of an unsigned integer",
                "give each bit a name of its own",
            )
        named = replace(kind, name=self.name(cls, cls, where))
        extra = (known_bits(named.mask),) if isinstance(named, Flags) else ()
        return self._limited(named, cls, (*member_metadata(named, cls), *extra), where, metadata, values)

    def _limited(
        self,
        kind: Type,
        base: Any,
        own: tuple[Any, ...],
        where: str,
        metadata: tuple[Any, ...],
        values: tuple[Any, ...] | None,
    ) -> Fitted:
        path, limits = f"{self.record}.{where}", []
        for item in ungrouped(metadata):
            if isinstance(item, PYTHON_VALIDATORS):
                self.validators.append(
                    f"{type(item).__name__} {validator_name(getattr(item, 'func', item))} of {where}"
                )
            elif isinstance(item, at.Unit | str | Strict):
                continue
            else:
                limits += read_limits(kind, item, path)
        if values is not None:
            of_members = isinstance(kind, Enum | Flags)
            limit = Limit("one_of", tuple(int(value) for value in values) if of_members else values)
            check_literal(kind, values, path)
            if not isinstance(kind, Constant):
                limits.append(limit)
            own = (*own, one_of(limit))
        lowered = Limited(kind, merged(limits, path)) if limits else kind
        return Fitted(lowered, Annotated[base, *own, *metadata])

    def _array(self, kind: Array, annotation: Any, where: str, metadata: tuple[Any, ...]) -> Fitted:
        arguments = get_args(annotation)
        if get_origin(annotation) is list or annotation in (list, tuple):
            raise self._misfit(where, annotation, "tuple[T, ...]: a list would make a frozen record mutable")
        if get_origin(annotation) is not tuple or not arguments:
            raise self._misfit(where, annotation, "tuple[T, ...]")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            pass
        elif kind.count != len(arguments) or any(item != arguments[0] for item in arguments):
            raise self._misfit(where, annotation, "tuple[T, ...], or T as often as the array has elements")
        element = self.fit(kind.element, arguments[0], where)
        fixed = (at.MinLen(kind.count), at.MaxLen(kind.count)) if isinstance(kind.count, int) else ()
        return self._limited(
            replace(kind, element=element.kind),
            types.GenericAlias(tuple, (element.annotation, ...)),
            (BeforeValidator(ordered), *fixed),
            where,
            metadata,
            None,
        )

    def _record(self, kind: Layout, annotation: Any, where: str, metadata: tuple[Any, ...]) -> Fitted:
        wire = getattr(annotation, "__wirelock__", None) if isinstance(annotation, type) else None
        if wire is None:
            raise self._misfit(where, annotation, "a Record class with this layout")
        if metadata:
            raise SchemaError(
                f"{self.record}.{where}", "a constraint on a whole record", "put it in that record"
            )
        difference = first_difference(wire.bare, kind)
        if difference:
            raise SchemaError(
                f"{self.record}.{where}", f"{annotation.__name__} has another layout here", difference
            )
        self.take_names(wire.names, where)
        return Fitted(wire.lower(kind), annotation)


def lower_fields(
    layout: Layout, annotations: dict[str, tuple[Any, tuple[Any, ...]]], lowering: Lowering
) -> tuple[Layout, dict[str, Any]]:
    """Lower every record field; returns the layout and the annotation for each field."""
    found: dict[str, Any] = {}
    lowered = []
    for item in layout.fields:
        lowering.types[item.label] = item.type
        if item.in_record:
            annotation, metadata = annotations[item.label]
            fitted = lowering.fit(item.type, annotation, item.label, metadata)
            found[item.label] = fitted.annotation
            item = replace(item, type=fitted.kind)
        lowered.append(item)
    return replace(layout, fields=tuple(lowered)), found


def _pairs(members: dict[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in members.items())

"""A record's annotations onto its layout: types, constraints and enumerations become part of the wire.

`Lowering` takes the layout as read from construct and the record's fields, and gives the lowered Layout
(which the digest covers), the classes that it names, and for each field the annotation that pydantic is
to validate. A field that does not fit its layout is a SchemaError that names it.
"""

from __future__ import annotations

import json
import types
from dataclasses import dataclass, replace
from enum import IntEnum, IntFlag
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types as at
from pydantic import (
    AfterValidator,
    BeforeValidator,
    PlainValidator,
    Strict,
    TypeAdapter,
    ValidationInfo,
    WrapValidator,
)

from wirelock.codec.template import Names, Template
from wirelock.errors import SchemaError
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
    Integer,
    Layout,
    Limited,
    Mapping,
    Nothing,
    Optional,
    Padded,
    Padding,
    Scaled,
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
from wirelock.layout.operators import evaluate
from wirelock.layout.terms import Index, Length, Limit, Path
from wirelock.schema.around import first_difference
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
    JSON_CONFIG,
    float_metadata,
    integer_metadata,
    member_metadata,
    ordered,
    scaled_metadata,
    wide_metadata,
)

PYTHON_VALIDATORS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator, at.Predicate)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A lowered type and the annotation under which pydantic validates its values."""

    kind: Type
    annotation: Any


class Lowering:
    """Lowers the fields of one record class, collecting the classes that its layout names."""

    def __init__(self, record: str) -> None:
        self.record = record
        self.names: dict[str, Any] = {}
        self.validators: list[str] = []
        self.hidden: dict[str, Any] = {}

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
            case Padded(inner=inner) | Sized(inner=inner):
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
            case Nothing() | Padding() | Terminated():
                if annotation not in (None, type(None)):
                    raise self._misfit(where, annotation, "None")
                return Fitted(kind, None)
        return self._scalar(kind, annotation, where, metadata)

    def _misfit(self, where: str, annotation: Any, wanted: str) -> SchemaError:
        text = getattr(annotation, "__name__", None) or str(annotation).removeprefix("typing.")
        return SchemaError(
            f"{self.record}.{where}", f"the annotation {text} does not fit the layout", f"write {wanted}"
        )

    def name(self, cls: type, found: Any, where: str) -> str:
        """Give a class its name in the layout; two classes cannot share one."""
        if self.names.setdefault(cls.__name__, found) is not found:
            raise SchemaError(
                f"{self.record}.{where}",
                f"two different classes are named {cls.__name__}",
                "rename one of them",
            )
        return cls.__name__

    def take_names(self, names: Names, where: str) -> None:
        """Take over the names that a part of the record was lowered with."""
        for found in names.values():
            self.name(found.record if isinstance(found, Template) else found, found, where)

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
                return self._limited(kind, annotation, (Strict(),), where, metadata, values)
            case Scaled() if annotation is float:
                return self._limited(kind, float, scaled_metadata(kind), where, metadata, values)
            case Text() if annotation is str:
                return self._limited(kind, str, (Strict(),), where, metadata, values)
            case Mapping(members=members) if annotation is type(members[0][0]):
                keys = tuple(key for key, _ in members)
                if values is not None and set(values) != set(keys):
                    told = f"the layout maps {', '.join(map(repr, keys))}"
                    raise SchemaError(f"{self.record}.{where}", told, "name all of them in the Literal")
                own = Strict(), one_of(Limit("one_of", keys))
                return self._limited(kind, annotation, own, where, metadata, None)
            case Flag() if annotation is bool:
                return self._limited(kind, bool, (Strict(),), where, metadata, values)
            case Float() if annotation is float:
                return self._limited(kind, float, float_metadata(kind), where, metadata, values)
            case Bytes(length=length) if annotation is bytes:
                fixed = (at.MinLen(length), at.MaxLen(length)) if isinstance(length, int) else ()
                return self._limited(kind, bytes, (*BYTES_METADATA, *fixed), where, metadata, values)
            case Constant(type=Integer() as integer) if annotation is int:
                own = (Strict(), *wide_metadata(integer), only(kind.value))
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
                self.validators.append(f"{type(item).__name__} {_function_name(item)} of {where}")
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

    def _optional(self, then: Type, annotation: Any, where: str, metadata: tuple[Any, ...]) -> Fitted:
        options = _options(annotation)
        rest = tuple(item for item in options if item is not type(None))
        if len(rest) == len(options) or (not rest and not isinstance(then, Nothing | Padding)):
            raise self._misfit(where, annotation, "T | None: the field may be absent")
        try:
            inner = self.fit(then, Union[rest] if rest else None, where, metadata)  # noqa: UP007
        except SchemaError:
            if not isinstance(plain(then), If | Switch):
                raise
            inner = self.fit(then, annotation, where, metadata)  # a choice inside may be None itself
        return Fitted(inner.kind, Union[inner.annotation, None])  # noqa: UP007

    def _switch(self, kind: Switch, annotation: Any, where: str, metadata: tuple[Any, ...]) -> Fitted:
        if metadata:
            raise SchemaError(
                f"{self.record}.{where}", "a constraint on a whole Switch", "annotate each case"
            )
        options, used = _options(annotation), set[int]()
        by_key: dict[int | None, Any] = {}

        def case_of(case: Type, key: int | None) -> Type:
            fits = []
            for number, option in enumerate(options):
                trial = Lowering(self.record)
                trial.hidden = self.hidden
                try:
                    fits.append((number, trial.fit(case, option, where), trial))
                except SchemaError:
                    continue
            if len(fits) > 1 and isinstance(case, Layout):
                # Two records may look alike; the one whose own construct stands here is meant.
                own = [fit for fit in fits if options[fit[0]].__wirelock__.bare.origin is case.origin]
                fits = own or fits
            if len(fits) > 1:
                # int takes an enumeration's values too: the type that leaves the case as it is goes first.
                fits = [fit for fit in fits if type(plain(fit[1].kind)) is type(case)] or fits
            if len(fits) != 1:
                which = "none" if not fits else "more than one"
                raise SchemaError(
                    f"{self.record}.{where}",
                    f"{which} of the union's types fits the case {'default' if key is None else key}",
                    "name one type a case",
                )
            number, found, trial = fits[0]
            used.add(number)
            self.take_names(trial.names, where)
            self.validators += trial.validators
            by_key[key] = found.annotation
            return found.kind

        cases = tuple((key, case_of(case, key)) for key, case in kind.cases)
        default = None if kind.default is None else case_of(kind.default, None)
        if len(used) != len(options):
            left = next(option for number, option in enumerate(options) if number not in used)
            raise self._misfit(where, left, "only types that a case has")
        union: Any = Union[tuple(by_key.values())]  # noqa: UP007 - built from a tuple
        lowered = replace(kind, cases=cases, default=default)
        return Fitted(lowered, Annotated[union, WrapValidator(_case_by_key(kind, by_key, self.hidden))])

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
        if not item.in_record and isinstance(item.type, Constant):
            lowering.hidden[item.label] = item.type.value
        if item.in_record:
            annotation, metadata = annotations[item.label]
            fitted = lowering.fit(item.type, annotation, item.label, metadata)
            found[item.label] = fitted.annotation
            item = replace(item, type=fitted.kind)
        lowered.append(item)
    return replace(layout, fields=tuple(lowered)), found


def _case_by_key(kind: Switch, by_key: dict[int | None, Any], hidden: dict[str, Any]) -> Any:
    """Return a validator that lets the key choose the type that a value is read as.

    The value alone does not tell two records with the same field names apart, hex from a long integer,
    or how far a float is rounded.
    """
    adapters: dict[int | None, TypeAdapter[Any]] = {}

    def choose(value: Any, handler: Any, info: ValidationInfo) -> Any:
        def value_of(wanted: Path | Length | Index) -> Any:
            if isinstance(wanted, Index):
                raise KeyError(wanted)
            path = wanted.path if isinstance(wanted, Length) else wanted
            name = path.names[0]
            found = None if path.up else hidden[name] if name in hidden else info.data[name]
            for name in path.names[1:]:
                found = getattr(found, name)
            return len(found) if isinstance(wanted, Length) else found  # type: ignore[arg-type]

        try:
            key = int(evaluate(kind.key, value_of))
        except (AttributeError, KeyError, TypeError):
            return handler(value)
        case = key if key in by_key else None
        if case not in by_key:
            return handler(value)
        if case not in adapters:
            chosen = by_key[case]
            is_record = isinstance(chosen, type) and hasattr(chosen, "__wirelock__")
            adapters[case] = TypeAdapter(chosen, config=None if is_record else JSON_CONFIG)
        if info.mode == "json":
            return adapters[case].validate_json(json.dumps(value))
        return adapters[case].validate_python(value)

    return choose


def _function_name(validator: Any) -> str:
    function = getattr(validator, "func", validator)
    return getattr(function, "__qualname__", None) or type(function).__name__


def _options(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, types.UnionType):
        return get_args(annotation)
    return (type(None) if annotation is None else annotation,)


def _pairs(members: dict[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in members.items())

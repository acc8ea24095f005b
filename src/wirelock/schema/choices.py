"""Annotations of what may be absent, or one of several types, onto the choices of a layout."""

from __future__ import annotations

import json
import types
from dataclasses import dataclass, replace
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BeforeValidator, TypeAdapter, ValidationInfo, WrapValidator

from wirelock.codec.template import Names, Template
from wirelock.errors import SchemaError
from wirelock.layout.nodes import (
    Constant,
    If,
    Layout,
    Mapping,
    Nothing,
    Padding,
    Select,
    Sequence,
    Switch,
    Type,
    plain,
    valued,
)
from wirelock.layout.operators import evaluate
from wirelock.layout.terms import Index, Key, Length, Path, key_text
from wirelock.schema.around import first_difference
from wirelock.schema.scalars import INTEGER_TO_JSON, JSON_CONFIG, ordered

__all__ = ["Choices", "Fitted"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A lowered type and the annotation under which pydantic validates its values."""

    kind: Type
    annotation: Any


class Choices:
    """Lowers choices for the fields of one record class; see lower.Lowering."""

    def __init__(self, record: str) -> None:
        self.record = record
        self.names: dict[str, Any] = {}
        self.validators: list[str] = []
        self.types: dict[str, Type] = {}
        """The types of the fields so far, by label."""

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

    def fit(self, kind: Type, annotation: Any, where: str, metadata: tuple[Any, ...] = ()) -> Fitted:
        """Fit one annotation to one layout type."""
        raise NotImplementedError

    def _misfit(self, where: str, annotation: Any, wanted: str) -> SchemaError:
        text = getattr(annotation, "__name__", None) or str(annotation).removeprefix("typing.")
        return SchemaError(
            f"{self.record}.{where}", f"the annotation {text} does not fit the layout", f"write {wanted}"
        )

    def _constrained(self, where: str, word: str, remedy: str) -> SchemaError:
        return SchemaError(f"{self.record}.{where}", f"a constraint on a whole {word}", remedy)

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

    def _select(self, kind: Select, annotation: Any, where: str, metadata: tuple[Any, ...]) -> Fitted:
        """Fit a union of records to the alternatives, by the construct that each record has."""
        if metadata:
            raise self._constrained(where, "Select", "annotate each record")
        options, cases = list(_options(annotation)), []
        for start, layout in kind.cases:
            fits = [
                option for option in options
                if (wire := getattr(option, "__wirelock__", None)) and not first_difference(wire.bare, layout)
            ]  # fmt: skip
            if len(fits) != 1:
                which = "more than one" if fits else "none"
                told = f"{which} of the union's types is the record that begins with {start.hex(' ')}"
                raise SchemaError(f"{self.record}.{where}", told, "name one Record an alternative")
            options.remove(fits[0])
            found = self.fit(layout, fits[0], where).kind
            assert isinstance(found, Layout)
            cases.append((start, found))
        if options:
            raise self._misfit(where, options[0], "only the records of the alternatives")
        return Fitted(replace(kind, cases=tuple(cases)), annotation)

    def _sequence(self, kind: Sequence, annotation: Any, where: str, metadata: tuple[Any, ...]) -> Fitted:
        arguments = get_args(annotation)
        if get_origin(annotation) is not tuple or len(arguments) != len(kind.types) or Ellipsis in arguments:
            raise self._misfit(where, annotation, f"tuple[...] with {len(kind.types)} types")
        if metadata:
            raise self._constrained(where, "Sequence", "annotate each value")
        fitted = [
            self.fit(part, argument, f"{where}[{at}]")
            for at, (part, argument) in enumerate(zip(kind.types, arguments, strict=True))
        ]
        whole = types.GenericAlias(tuple, tuple(part.annotation for part in fitted))
        lowered = replace(kind, types=tuple(part.kind for part in fitted))
        return Fitted(lowered, Annotated[whole, BeforeValidator(ordered)])

    def _switch(self, kind: Switch, annotation: Any, where: str, metadata: tuple[Any, ...]) -> Fitted:
        if metadata:
            raise self._constrained(where, "Switch", "annotate each case")
        options, used = _options(annotation), set[int]()
        by_key: dict[Key | None, Any] = {}

        def case_of(case: Type, key: Key | None) -> Type:
            fits = []
            for number, option in enumerate(options):
                trial = type(self)(self.record)
                trial.types = self.types
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
                case_name = "default" if key is None else key_text(key)
                raise SchemaError(
                    f"{self.record}.{where}",
                    f"{which} of the union's types fits the case {case_name}",
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
        if any(INTEGER_TO_JSON in get_args(option) for option in by_key.values()):
            # pydantic writes a value as the first type that takes it, whatever its case was.
            by_key |= {
                key: Annotated[option, INTEGER_TO_JSON]
                for key, option in by_key.items()
                if (get_args(option) or (option,))[0] is int
            }
        union: Any = Union[tuple(by_key.values())]  # noqa: UP007 - built from a tuple
        lowered = replace(kind, cases=cases, default=default)
        return Fitted(lowered, Annotated[union, WrapValidator(_case_by_key(kind, by_key, self.types))])


def _case_by_key(kind: Switch, by_key: dict[Key | None, Any], fields: dict[str, Type]) -> Any:
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
            if path.up:
                raise KeyError(path)
            name, *others = path.names
            inner = fields[name]
            found: Any = inner.value if isinstance(inner, Constant) else info.data[name]
            for name in others:
                inner, found = found.__wirelock__.layout[name].type, getattr(found, name)
            if isinstance(inner := valued(inner), Mapping):
                found = dict(inner.members)[found]
            return len(found) if isinstance(wanted, Length) else found

        try:
            key = evaluate(kind.key, value_of)
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


def _options(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, types.UnionType):
        return get_args(annotation)
    return (type(None) if annotation is None else annotation,)

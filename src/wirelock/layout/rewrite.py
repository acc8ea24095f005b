"""A type again with other types inside of it, or with other expressions: for whoever edits layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Framed,
    If,
    Layout,
    Limited,
    Optional,
    Padded,
    Padding,
    Select,
    Sized,
    Switch,
    Text,
    Type,
    Until,
)
from wirelock.layout.nodes import Sequence as SequenceType
from wirelock.layout.terms import Expression, Index, Length, Number, Operation, Path

__all__ = ["with_expressions", "with_parts", "with_paths"]

_EXPRESSIONS: TypeAlias = Index | Length | Number | Operation | Path


def with_parts(kind: Type, parts: Sequence[Type]) -> Type:
    """Return a type with `parts` in the place of its parts_of, in that order."""
    match kind:
        case Layout(fields=fields):
            typed = (replace(item, type=part) for item, part in zip(fields, parts, strict=True))
            return replace(kind, fields=tuple(typed))
        case Array():
            return replace(kind, element=parts[0])
        case If():
            return replace(kind, type=parts[0])
        case Limited() | Optional() | Padded() | Sized():
            return replace(kind, inner=parts[0])
        case Switch(cases=cases, default=default):
            keyed = tuple((key, part) for (key, _), part in zip(cases, parts, strict=False))
            return replace(kind, cases=keyed, default=None if default is None else parts[-1])
        case SequenceType():
            return SequenceType(tuple(parts))
        case Framed(before=before):
            inner = len(before)
            return Framed(tuple(parts[:inner]), parts[inner], tuple(parts[inner + 1 :]))
        case Select(cases=records):
            begun = ((start, part) for (start, _), part in zip(records, parts, strict=True))
            return Select(tuple((start, part) for start, part in begun if isinstance(part, Layout)))
    return kind


def with_expressions(
    kind: Type, change: Callable[[Expression], Expression], until: Callable[[Expression], Expression]
) -> Type:
    """Return a type with its own expressions changed, not those inside of it or of a layout's fields.

    `until` changes the condition that ends an array, which is read in a scope of its own.
    """

    def changed(found: object) -> object:
        return change(found) if isinstance(found, _EXPRESSIONS) else found

    match kind:
        case Array(count=Until(condition=condition)):
            return replace(kind, count=Until(until(condition)))
        case Array(count=count):
            return replace(kind, count=changed(count))  # type: ignore[arg-type]
        case Bytes(length=length) | Padding(length=length) | Padded(length=length):
            return replace(kind, length=changed(length))  # type: ignore[arg-type]
        case Sized(extent=extent):
            return replace(kind, extent=changed(extent))  # type: ignore[arg-type]
        case If(condition=condition):
            return replace(kind, condition=change(condition))
        case Switch(key=key):
            return replace(kind, key=change(key))
        case Computed(expression=expression):
            return replace(kind, expression=change(expression))
        case Text(inner=inner):  # where its bytes are is a part of it
            return replace(kind, inner=with_expressions(inner, change, until))  # type: ignore[arg-type]
    return kind


def with_paths(expression: Expression, change: Callable[[Path], Path]) -> Expression:
    """Return an expression with each of its paths changed."""
    match expression:
        case Path():
            return change(expression)
        case Length(path=path):
            return Length(change(path))
        case Operation(operator=name, operands=operands):
            return Operation(name, tuple(with_paths(item, change) for item in operands))
    return expression

"""Records -> Arrow arrays of the types that `schema` says, a column at a time.

Which case of a choice a record holds is told by its class where the cases are records of different classes;
otherwise the key is computed from the record, as it is when the record is built.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from wirelock.codec.arrow_types import case_labels, held, is_absent, schema_of, type_of
from wirelock.codec.implied import Scope, cases_by_class, numbered, scope_of
from wirelock.layout.nodes import (
    Array,
    If,
    Layout,
    Mapping,
    Opaque,
    Optional,
    Select,
    Switch,
    Type,
    parts_of,
    valued,
)
from wirelock.layout.nodes import Sequence as Row
from wirelock.layout.operators import evaluate

__all__ = ["batch_of", "column_of"]

Scopes: TypeAlias = Sequence[Scope | None]
"""The scope of each value; None where the value is in something that is absent."""


def batch_of(layout: Layout, records: Sequence[Any]) -> pa.RecordBatch:
    """Return records of one layout as a record batch of its columns."""
    schema = schema_of(layout)
    return pa.RecordBatch.from_arrays(_fields(layout, records, None), schema=schema)


def column_of(kind: Type, values: Sequence[Any], scopes: Scopes | None = None) -> pa.Array:
    """Return values of a type as an array; None stands for what is not there.

    `scopes` says for each value what expressions find around it; they are asked only where a choice has to
    be decided by its key.
    """
    return _column(kind, values, scopes, sure=None not in values)


def _column(kind: Type, values: Sequence[Any], scopes: Scopes | None, sure: bool) -> pa.Array:
    kind = valued(kind)
    match kind:
        case If(type=there) | Optional(inner=there) if not is_absent(kind):
            if scopes is not None:
                scopes = [
                    scope if scope is not None and _is_there(kind, value, scope) else None
                    for value, scope in zip(values, scopes, strict=True)
                ]
            return _column(there, values, scopes, sure=False)
        case Layout() if held(kind):
            return _struct(kind, values, _fields(kind, values, scopes, sure), sure)
        case Row(types=types) if types:
            parts = []
            for at, part in enumerate(types):
                inside = [None if value is None else value[at] for value in values]
                parts.append(_column(part, inside, scopes, sure))
            return _struct(kind, values, parts, sure)
        case Array():
            return _list(kind, values, scopes, sure)
        case Switch() | Select() if not is_absent(kind):
            return _choice(kind, values, scopes, sure)
    return _leaf(kind, values)


def _leaf(kind: Type, values: Sequence[Any]) -> pa.Array:
    wanted = type_of(kind)
    match kind:
        case Opaque():
            values = [None if value is None else _json(value) for value in values]
        case Layout() | Row():
            values = [None if value is None else True for value in values]
        case Mapping() if pa.types.is_string(wanted):
            values = [None if value is None else str(value) for value in values]
        case _ if pa.types.is_string(wanted):  # text, or an integer that Arrow has no type for
            values = [
                value if value is None or isinstance(value, str) else str(int(value)) for value in values
            ]
    return pa.array(values, wanted)


def _json(value: Any) -> str:
    return json.dumps(
        value,
        separators=(",", ":"),
        ensure_ascii=False,
        default=lambda it: it.hex() if isinstance(it, bytes) else str(it),
    )


def _struct(
    kind: Layout | Row | Switch | Select, values: Sequence[Any], parts: list[Any], sure: bool
) -> pa.Array:
    wanted = type_of(kind, sure=sure)
    mask = None if sure else pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=mask)


def _fields(
    layout: Layout, records: Sequence[Any], scopes: Scopes | None, sure: bool = True
) -> list[pa.Array]:
    """Return an array for each field of records that becomes a column."""
    inner: list[Scope | None] | None = None
    # What a record holds lies in its dictionary, as in the engines.
    insides: list[Any] = [None if record is None else record.__dict__ for record in records]
    found = []
    for item in held(layout):
        name = item.label
        if sure:
            values = list(map(itemgetter(name), insides))
        else:
            values = [None if inside is None else inside[name] for inside in insides]
        if inner is None and _asks(item.type):
            inner = [
                None
                if record is None
                else scope_of(layout, record, scopes[at] if scopes is not None else None)
                for at, record in enumerate(records)
            ]
        found.append(_column(item.type, values, inner, sure))
    return found


def _list(kind: Array, values: Sequence[Any], scopes: Scopes | None, sure: bool) -> pa.Array:
    lengths = [0 if value is None else len(value) for value in values]
    offsets = pa.array(accumulate(lengths, initial=0), pa.int32())
    inside = list(chain.from_iterable(value for value in values if value is not None))
    around: Scopes | None = None
    if scopes is not None and _asks(kind.element):
        around = [
            _numbered(scope, number)
            for scope, length in zip(scopes, lengths, strict=True)
            for number in range(length)
        ]
    return pa.ListArray.from_arrays(
        offsets,
        _column(kind.element, inside, around, sure),
        type=type_of(kind, sure=sure),
        mask=None if sure else pa.array([value is None for value in values], pa.bool_()),
    )


# -- choices


def _choice(kind: Switch | Select, values: Sequence[Any], scopes: Scopes | None, sure: bool) -> pa.Array:
    labels, cases = case_labels(kind), parts_of(kind)
    chosen = _chosen(kind, values, scopes)
    parts = [pa.array([None if at is None else labels[at] for at in chosen], pa.string())]
    for number, case in enumerate(cases):
        if not is_absent(case):
            inside = [value if at == number else None for value, at in zip(values, chosen, strict=True)]
            around = None
            if scopes is not None:
                around = [scope if at == number else None for scope, at in zip(scopes, chosen, strict=True)]
            parts.append(_column(case, inside, around, sure=False))
    mask = None if sure else pa.array([at is None for at in chosen], pa.bool_())
    return pa.StructArray.from_arrays(parts, fields=list(type_of(kind, sure=sure)), mask=mask)


def _chosen(kind: Switch | Select, values: Sequence[Any], scopes: Scopes | None) -> list[int | None]:
    """Return the number of the case that each value is; None for those that are not there."""
    number_of = cases_by_class(kind)
    if number_of is not None:
        return [None if value is None else number_of[type(value).__name__] for value in values]
    assert isinstance(kind, Switch) and scopes is not None
    numbers = {key: number for number, (key, _) in enumerate(kind.cases)}
    keys = (None if scope is None else evaluate(kind.key, scope) for scope in scopes)
    return [None if key is None else numbers.get(key, len(numbers)) for key in keys]


def _asks(kind: Type) -> bool:
    """Whether a value has a choice in it that only its key decides."""
    return (isinstance(kind, Switch) and cases_by_class(kind) is None) or any(map(_asks, parts_of(kind)))


def _is_there(kind: If | Optional, value: Any, scope: Scope) -> bool:
    """Whether there is something; None can be the value of what is there."""
    return bool(evaluate(kind.condition, scope)) if isinstance(kind, If) else value is not None


def _numbered(scope: Scope | None, number: int) -> Scope | None:
    return scope and numbered(scope, number)

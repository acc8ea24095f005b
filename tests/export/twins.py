"""The same change made to a record in a client's memory and to the one in Python.

`places` are the values of a record on both sides, `changed` puts another one there. What follows from the
others is computed again on Python's side: a client does not hold it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.export.machine import Held, Machine
from wirelock.codec.code import LEFT_OUT
from wirelock.codec.implied import implied
from wirelock.export import values as v
from wirelock.layout.nodes import (
    Array,
    Enum,
    Flags,
    Framed,
    If,
    Layout,
    Limited,
    Mapping,
    Optional,
    Padded,
    Sequence,
    Sized,
    Type,
    valued,
)

Steps: TypeAlias = tuple[str | int, ...]

_TEXTS = st.text(max_size=3) | st.sampled_from(["\ufeffx", "a\0", "\0", "\ud800", "é", "ab"])
_FLOATS = st.floats() | st.sampled_from([0.1, 1e39, -1e39, 65504.0, 65519.0, 65520.0, -0.0, 1.5])


@dataclass(frozen=True)
class Place:
    """One value: its steps in both records (fields by label, elements by number), its kind and type."""

    steps: Steps
    kind: Type
    type: v.Type
    held: Any
    value: Any


def places(machine: Machine, layout: Layout, held: Held, record: Any) -> Iterator[Place]:
    """Yield every value that a client holds of a record, and those inside of it."""
    return _inside(machine, layout, v.RecordType(held.record), held, record, ())


def _inside(
    machine: Machine, kind: Type, held_as: v.Type, held: Any, value: Any, steps: Steps
) -> Iterator[Place]:
    kind = valued(kind)
    if steps:
        yield Place(steps, kind, held_as, held, value)
    match kind, held_as:
        case Layout(fields=fields), v.RecordType(name=name):
            types = {item.name: item.type for item in machine.records[name].fields}
            for field in fields:
                if field.label in types:
                    yield from _inside(
                        machine, field.type, types[field.label], held.fields[field.label],
                        getattr(value, field.label), (*steps, field.label),
                    )  # fmt: skip
        case Sequence(types=kinds), v.RecordType(name=name):
            for number, (part, item) in enumerate(zip(kinds, machine.records[name].fields, strict=False)):
                if len(kinds) == len(machine.records[name].fields):
                    yield from _inside(
                        machine, part, item.type, held.fields[item.name], value[number], (*steps, number)
                    )
        case Array(element=element), v.ListType(element=inner):
            for number, item in enumerate(held):
                yield from _inside(machine, element, inner, item, value[number], (*steps, number))
        case ((If(type=then) | Optional(inner=then)), v.OptionType(inner=inner)) if held is not None:
            outer = valued(then)
            held_as = held_as if isinstance(outer, If | Optional) else inner
            yield from _inside(machine, then, held_as, held, value, steps)


def others(machine: Machine, place: Place, names: dict[str, Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Draw another value for a place: in a client's memory, and in Python."""
    match place.kind, place.type:
        case Mapping(members=members), _:
            return st.sampled_from([(raw, key) for key, raw in members])
        case Enum(members=members, name=name), _:
            return st.sampled_from([(raw, names[name](raw)) for _, raw in members])
        case Flags(name=name), v.EnumType(name=own):
            kind: Any = machine.enumerations[own].storage
            return _alike(_integers(kind)).map(lambda pair: (pair[0], names[name](pair[1])))
        case _, v.IntType() as kind:
            return _alike(_integers(kind))
        case Optional(), v.BoolType():
            return st.just((False, None))
        case _, v.BoolType():
            return _alike(st.booleans())
        case _, v.FloatType():
            return _alike(_FLOATS)
        case _, v.TextType():
            return _alike(_TEXTS)
        case _, v.BytesType():
            return _alike(st.binary(max_size=4) | st.just(bytes(4)))
        case _, v.OptionType():
            return st.just((None, None))
        case _, v.ListType():
            pairs = list(zip(place.held, place.value, strict=True))
            some = st.lists(st.sampled_from(pairs), max_size=4) if pairs else st.just([])
            return some.map(lambda found: ([deepcopy(a) for a, _ in found], tuple(b for _, b in found)))
    return st.nothing()


def _integers(kind: v.IntType) -> st.SearchStrategy[int]:
    low = -(1 << (kind.bits - 1)) if kind.signed else 0
    high = low + (1 << kind.bits) - 1
    edges = [kind.low, kind.high, kind.low - 1, kind.high + 1, 0, 1, 2, 3]
    return st.sampled_from([edge for edge in edges if low <= edge <= high]) | st.integers(low, high)


def _alike(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    return values.map(lambda value: (value, value))


def held_with(held: Held, steps: Steps, value: Any, machine: Machine) -> Held:
    """Return a client's record with another value at a place."""
    changed = deepcopy(held)
    at: Any = changed
    for step in steps[:-1]:
        at = _step(at, step, machine)
    if isinstance(at, Held):
        at.fields[_name(at, steps[-1], machine)] = value
    else:
        at[steps[-1]] = value
    return changed


def _step(at: Any, step: str | int, machine: Machine) -> Any:
    return at.fields[_name(at, step, machine)] if isinstance(at, Held) else at[step]


def _name(held: Held, step: str | int, machine: Machine) -> str:
    return machine.records[held.record].fields[step].name if isinstance(step, int) else step


def record_with(record: Any, steps: Steps, value: Any) -> Any:
    """Return Python's record with another value at a place."""
    if not steps:
        return value
    first, *rest = steps
    if isinstance(first, int):
        return (*record[:first], record_with(record[first], tuple(rest), value), *record[first + 1 :])
    return dataclasses.replace(record, **{first: record_with(getattr(record, first), tuple(rest), value)})


# -- what follows from the others


Look: TypeAlias = Callable[[Any], Any]


def derived_again(layout: Layout, record: Any) -> Any:
    """Return Python's record with all that follows from the others computed again.

    Raises LookupError where a record inside of it takes that from around.
    """

    def outside(wanted: Any) -> Any:
        raise LookupError(wanted)

    return _computed(layout, _left_out(layout, record), outside)


def _left_out(kind: Type, value: Any) -> Any:
    def without(layout: Layout, record: Any) -> Any:
        found = {
            item.label: LEFT_OUT
            if item.derived is not None
            else _left_out(item.type, getattr(record, item.label))
            for item in layout.fields
            if item.in_record
        }
        return dataclasses.replace(record, **found)

    return _mapped(kind, value, without)


def _computed(kind: Type, value: Any, outside: Look) -> Any:
    def whole(layout: Layout, record: Any) -> Any:
        for item in layout.fields:
            if item.in_record and item.derived is not None:
                found = implied(item, layout, record, outside, lambda value: value is LEFT_OUT)
                record = dataclasses.replace(record, **{item.label: found})
        found = {
            item.label: _computed(item.type, getattr(record, item.label), outside)
            for item in layout.fields
            if item.in_record
        }
        return dataclasses.replace(record, **found)

    return _mapped(kind, value, whole)


def _mapped(kind: Type, value: Any, change: Callable[[Layout, Any], Any]) -> Any:
    """Return a value in which the records nearest to its outside are changed."""
    match kind:
        case Layout():
            return change(kind, value) if value is not None else None
        case Limited(inner=inner) | Framed(inner=inner) | Padded(inner=inner) | Sized(inner=inner):
            return _mapped(inner, value, change)
        case If(type=inner) | Optional(inner=inner):
            return None if value is None else _mapped(inner, value, change)
        case Array(element=inner):
            return tuple(_mapped(inner, item, change) for item in value)
        case Sequence(types=kinds):
            return tuple(_mapped(part, item, change) for part, item in zip(kinds, value, strict=True))
    return value

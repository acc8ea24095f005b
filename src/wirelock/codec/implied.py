"""What a record's other attributes imply: the values of constant, absent and derived fields.

Used where a record is made by hand and where it is built; knows neither bytes nor faults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from wirelock.codec.code import LEFT_OUT
from wirelock.layout.nodes import (
    Computed,
    Constant,
    Field,
    If,
    Layout,
    Mapping,
    Select,
    Switch,
    parts_of,
    valued,
)
from wirelock.layout.operators import evaluate
from wirelock.layout.terms import Index, Length, Path

__all__ = ["Scope", "cases_by_class", "implied", "looked_up", "numbered", "scope_of"]

Scope: TypeAlias = Callable[[Path | Length | Index], Any]
"""What an expression finds at a path, from where it stands."""


def implied(
    item: Field,
    layout: Layout,
    record: Any,
    outer: Callable[[Path | Length | Index], Any],
    left_out: Callable[[Any], bool] = lambda value: False,
) -> Any:
    """Return the value of a constant, absent or derived field, computed from a record's attributes.

    It is LEFT_OUT where a choice decides which constant or padding stands there.

    `outer` gives what lies around the record. Other derived fields are computed too, where the record
    has them not or their value is `left_out`. Raises AttributeError or TypeError where the record lacks
    what is needed.
    """
    kind = valued(item.type)
    if isinstance(kind, Constant):
        return kind.value
    if item.derived is None:
        return LEFT_OUT if isinstance(kind, If | Switch) else None

    value = int(evaluate(item.derived, lambda wanted: looked_up(wanted, layout, record, outer, left_out)))
    return bool(value) if isinstance(kind, Computed) and kind.boolean else value


def looked_up(
    wanted: Path | Length | Index,
    layout: Layout,
    record: Any,
    outer: Callable[[Path | Length | Index], Any],
    left_out: Callable[[Any], bool] = lambda value: False,
) -> Any:
    """Return what an expression of this layout finds at a path, given what `implied` is given."""
    if isinstance(wanted, Index):
        return outer(wanted)
    path = wanted.path if isinstance(wanted, Length) else wanted
    if path.up:
        return outer(wanted)
    part = layout[path.names[0]]
    found: Any = getattr(record, part.label) if part.in_record else None
    if not part.in_record or left_out(found):
        found = implied(part, layout, record, outer, left_out)
    if len(path.names) > 1:
        inner = valued(part.type)
        assert isinstance(inner, Layout)

        def around(beyond: Path | Length | Index) -> Any:
            if isinstance(beyond, Index):
                return outer(beyond)
            way = beyond.path if isinstance(beyond, Length) else beyond
            return looked_up(_alike(beyond, way.up - 1, way.names), layout, record, outer, left_out)

        return looked_up(_alike(wanted, 0, path.names[1:]), inner, found, around, left_out)
    if isinstance(wanted, Length):
        return len(found)
    if isinstance(kind := valued(part.type), Mapping):
        return dict(kind.members)[found]
    if not isinstance(found, int | float | bytes | str):
        raise TypeError(found)
    return found


def _alike(wanted: Path | Length, up: int, names: tuple[str, ...]) -> Path | Length:
    path = Path(up, names)
    return Length(path) if isinstance(wanted, Length) else path


def scope_of(layout: Layout, record: Any, around: Scope | None) -> Scope:
    """Return what expressions of a layout find, given its record and the scope that it stands in."""

    def outer(wanted: Path | Length | Index) -> Any:
        if around is None:
            raise KeyError(wanted)
        if isinstance(wanted, Index):
            return around(wanted)
        path = wanted.path if isinstance(wanted, Length) else wanted
        return around(_alike(wanted, path.up - 1, path.names))

    return lambda wanted: looked_up(wanted, layout, record, outer)


def numbered(scope: Scope, number: int) -> Scope:
    """Return the scope of an element: that of its array, with its number."""
    return lambda wanted: number if isinstance(wanted, Index) else scope(wanted)


def cases_by_class(kind: Switch | Select) -> dict[str, int] | None:
    """Return which case each class of record is, by name; None where the class does not tell them apart."""
    cases = list(map(valued, parts_of(kind)))
    names = [case.name for case in cases if isinstance(case, Layout)]
    if len(names) < len(cases) or len({*names, ""}) <= len(cases):
        return None
    return {name: number for number, name in enumerate(names)}

"""Whether a layout that somebody wrote as JSON can be run: its paths lead to fields, its limits are values.

What the walk makes is sound by itself; a lock that was edited, with a digest to match, need not be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    If,
    Layout,
    Limited,
    Padded,
    Padding,
    Sized,
    Switch,
    Type,
    Until,
    parts_of,
    valued,
)
from wirelock.layout.operators import paths_in
from wirelock.layout.terms import Expression, Index, Length, Limit, Number, Operation, Path

__all__ = ["check_sound"]


def check_sound(layout: Layout) -> None:
    """Raise ValueError where a path leads to no field, or a limit has no value of its kind."""
    _check(layout, ())


def _check(kind: Type, around: tuple[Any, ...]) -> None:
    if isinstance(kind, Limited):
        for limit in kind.limits:
            _check_limit(limit)
    if isinstance(kind, Layout):
        around = (kind, *around)
        for item in kind.fields:
            sums = item.type if isinstance(item.type, Checksum) else None
            if sums is not None and sums.covers not in {field.label for field in kind.fields}:
                raise ValueError(f"a checksum of {sums.covers!r}, which is no field")
            if item.derived is not None:
                _check_paths(item.derived, around)
        for rule in kind.rules:
            _check_paths(rule.expression, around)
    for expression, scopes in _expressions(kind, around):
        _check_paths(expression, scopes)
    for part in parts_of(kind):
        _check(part, around)


def _expressions(kind: Type, around: tuple[Any, ...]) -> Iterator[tuple[Expression, tuple[Any, ...]]]:
    stated: Any = None
    match kind:
        case If(condition=stated) | Switch(key=stated) | Computed(expression=stated):
            pass
        case Bytes(length=stated) | Padding(length=stated) | Padded(length=stated) | Sized(extent=stated):
            pass
        case Array(count=Until(condition=condition), element=element):
            yield condition, ({"obj_": element}, *around)
        case Array(count=stated):
            pass
    if isinstance(stated, Number | Path | Length | Index | Operation):
        yield stated, around


def _check_paths(expression: Expression, around: tuple[Any, ...]) -> None:
    for path in paths_in(expression):
        if path.up >= len(around) or not _leads_somewhere(path.names, around[path.up]):
            raise ValueError(f"the path {path}, which leads to no field")


def _leads_somewhere(names: tuple[str, ...], scope: Any) -> bool:
    fields = scope
    for name in names:
        if isinstance(fields, Layout):
            fields = {item.label: item.type for item in fields.fields}
        if not isinstance(fields, dict) or name not in fields:
            return False
        fields = valued(fields[name])
    return True


def _check_limit(limit: Limit) -> None:
    value: Any = limit.value
    match limit.kind:
        case "one_of" | "none_of":
            sound = isinstance(value, tuple) and len(value) > 0
        case "multiple_of":
            sound = type(value) is int and value > 0
        case "min_length" | "max_length":
            sound = type(value) is int and value >= 0
        case _:
            sound = type(value) in (int, float)
    if not sound:
        raise ValueError(f"the limit {limit.kind} of {value!r}")

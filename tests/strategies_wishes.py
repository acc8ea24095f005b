"""Which values are welcome in the fields that counts, sizes and choices read, so that samples stay small."""

from __future__ import annotations

from typing import Any

from wirelock.layout.nodes import (
    Array,
    Bytes,
    Framed,
    If,
    Layout,
    Limited,
    Multiple,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminator,
    Text,
    Until,
    parts_of,
)
from wirelock.layout.operators import paths_in
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Path


def gather(kind: Any, around: tuple[Layout, ...], wishes: dict[int, set[int]]) -> None:
    """Note for each field that a count or a Switch reads which values are welcome, by the field's id."""

    def wish(expression: Any, values: set[int], around: tuple[Any, ...] = around) -> None:
        for path in paths_in(expression):
            if path.up >= len(around):
                continue
            layout: Any = around[path.up]
            names = path.names if isinstance(layout, Layout) else ()
            if isinstance(layout, tuple):  # the scope of an element, see Until
                layout, names = layout[0], path.names[1:]
            item = None
            for name in names:
                while isinstance(layout, Limited | Framed | Padded | Sized):
                    layout = layout.inner
                if isinstance(layout, Layout):
                    item = layout[name]
                    layout = item.type
            if item is None:
                continue
            known = wishes.setdefault(id(item), set(values))
            if isinstance(expression, Path) and known & values:
                known &= values

    match kind:
        case Layout():
            for item in kind.fields:
                gather(item.type, (kind, *around), wishes)
            for rule in kind.rules:
                wish(rule.expression, set(range(7)), (kind, *around))
        case Bytes(length=length) | Padding(length=length) if not isinstance(length, int | Rest):
            wish(length, set(range(5)))
        case Array(element=element, count=count):
            if isinstance(count, Until):
                wish(count.condition, set(range(7)), ((element,), *around))
            elif not isinstance(count, int | Prefix | Rest):
                wish(count, set(range(5)))
            gather(element, around, wishes)
        case If(condition=condition, type=inner):
            wish(condition, set(range(7)))
            gather(inner, around, wishes)
        case Switch(key=key):
            wish(key, {value for value, _ in kind.cases} if kind.default is None else set(range(7)))
            for case in kind.types:
                gather(case, around, wishes)
        case Sequence() | Select() | Framed():
            for part in parts_of(kind):
                gather(part, around, wishes)
        case Padded(inner=inner, length=length):
            if not isinstance(length, int | Multiple):
                lowest = size_of(inner).lowest // 8
                wish(length, set(range(lowest, lowest + 5)))
            gather(inner, around, wishes)
        case Sized(inner=inner, extent=extent):
            if not isinstance(extent, int | Prefix | Terminator):
                wish(extent, set(range(size_of(inner).lowest // 8, 5)))
            gather(inner, around, wishes)
        case Limited(inner=inner) | Optional(inner=inner) | Text(inner=inner):
            gather(inner, around, wishes)

"""Records with an array of many elements -> flat rows, one for each element: what --explode asks for.

An array is named by its path in a record, `entities`, or `entities[].items` for one in the elements of
another. In flat rows names are dotted, without brackets; `NAME[]` is the number of the element, from 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from wirelock.layout.nodes import Array, Layout, plain, valued

__all__ = ["arrays_in", "columns_of", "flat_rows", "lists_on"]


def arrays_in(layout: Layout, prefix: str = "") -> Iterator[str]:
    """Yield the paths of the arrays that can be taken apart: in records, and in elements that are records."""
    for item in layout.fields:
        if not item.in_record:
            continue
        kind, path = valued(item.type), f"{prefix}{item.label}"
        if isinstance(kind, Array):
            yield path
            if isinstance(element := valued(kind.element), Layout):
                yield from arrays_in(element, f"{path}[].")
        elif isinstance(kind, Layout):
            yield from arrays_in(kind, f"{path}.")


def lists_on(path: str, prefix: str = "record.") -> tuple[str, ...]:
    """Return the dotted names of all arrays that a path goes through, the outermost first."""
    parts = path.split("[]")
    return tuple(prefix + "".join(parts[: end + 1]) for end in range(len(parts)))


def columns_of(layout: Layout, prefix: str = "", lists: Collection[str] = ()) -> Iterator[str]:
    """Yield the columns of a record in wire order: dotted for the fields of records inside of it.

    `lists` are the dotted names of arrays that are taken apart.
    """
    for item in layout.fields:
        if not item.in_record:
            continue
        name = f"{prefix}{item.label}"
        kind = plain(item.type)
        if name in lists and isinstance(array := valued(kind), Array):
            yield f"{name}[]"
            kind = valued(array.element)
        if isinstance(kind, Layout):
            yield from columns_of(kind, f"{name}.", lists)
        else:
            yield name


def flat_rows(values: dict[str, Any], prefix: str, lists: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return a record's values by their dotted names, once for each element of the arrays in `lists`.

    The values of records inside are there as a whole too.
    """
    row: dict[str, Any] = {}
    many: list[dict[str, Any]] | None = None
    for name, value in values.items():
        path = f"{prefix}{name}"
        if path in lists and isinstance(value, list):
            many = [
                {f"{path}[]": number, **cells}
                for number, element in enumerate(value)
                for cells in _inside(element, path, lists)
            ]
        elif isinstance(value, dict):
            inside = _inside(value, path, lists)
            if len(inside) == 1:
                row |= inside[0]
            else:
                many = inside
        else:
            row[path] = value
    return [row] if many is None else [{**row, **cells} for cells in many]


def _inside(value: Any, path: str, lists: Collection[str]) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return [{path: value}]
    return [{path: value, **cells} for cells in flat_rows(value, f"{path}.", lists)]

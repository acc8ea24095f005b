"""Records -> flat rows, one each, or one for each element of an array: what CSV and --explode ask for.

An array is named by its path in the JSON of a record, `entities`, or `entities[].items` for one in the
elements of another; what If, Optional, Switch and Select choose has no name of its own there. In flat rows
names are dotted, without brackets; `NAME[]` is the number of the element, from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wirelock.layout.nodes import Array, If, Layout, Optional, Select, Switch, Type, parts_of, valued

__all__ = ["FlatRows", "arrays_in", "lists_on"]


def arrays_in(layout: Layout) -> tuple[str, ...]:
    """Return the paths of the arrays that can be taken apart, in wire order.

    They are in records, in what is chosen among records, and in elements of either kind.
    """
    return tuple(dict.fromkeys(_arrays(layout, "")))


def _arrays(kind: Type, path: str) -> Iterator[str]:
    for case in _cases(kind):
        if isinstance(case, Array):
            yield path
            for element in _cases(case.element):
                if isinstance(element, Layout):
                    yield from _arrays(element, f"{path}[]")
        elif isinstance(case, Layout):
            for item in case.fields:
                if item.in_record:
                    yield from _arrays(item.type, f"{path}.{item.label}" if path else item.label)


def _cases(kind: Type) -> list[Type]:
    """Return the types that a value can be of where it is there."""
    kind = valued(kind)
    if isinstance(kind, If | Optional | Switch | Select):
        return [case for part in parts_of(kind) for case in _cases(part)]
    return [kind]


def _chosen(kind: Type) -> bool:
    """Whether there is more to a value than whether it is there."""
    kind = valued(kind)
    if isinstance(kind, If | Optional):
        return _chosen(parts_of(kind)[0])
    return isinstance(kind, Switch | Select)


def lists_on(path: str, prefix: str = "record.") -> tuple[str, ...]:
    """Return the dotted names of all arrays that a path goes through, the outermost first."""
    parts = path.split("[]")
    return tuple(prefix + "".join(parts[: end + 1]) for end in range(len(parts)))


class FlatRows:
    """The flat rows of records of one layout.

    `lists` are the dotted names of arrays that are taken apart, one inside of the other, as lists_on gives
    them; those that no record of the layout has are left out. `name` is what the record is called.
    """

    def __init__(self, layout: Layout, lists: Sequence[str] = (), name: str = "record") -> None:
        there = {one for path in arrays_in(layout) for one in lists_on(path, f"{name}.")}
        self._lists = [one for one in lists if one in there]
        self._name = name
        self.columns = tuple(dict.fromkeys(_columns(layout, name, self._lists)))
        """The names of the columns, in wire order."""
        self._groups = {
            column[:at] for column in self.columns for at, letter in enumerate(column) if letter == "."
        }

    def of(self, values: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of a record, given as its JSON has it; a column that a row lacks is empty.

        A record without the innermost array, or with an empty one, has no rows.
        """
        rows = self._cells(values, self._name, self._lists)
        return [row for row in rows if f"{self._lists[-1]}[]" in row] if self._lists else rows

    def _cells(self, value: Any, path: str, lists: Sequence[str]) -> list[dict[str, Any]]:
        if lists and path == lists[0] and isinstance(value, list):
            return [
                {f"{path}[]": number, **cells}
                for number, element in enumerate(value)
                for cells in self._cells(element, path, lists[1:])
            ]
        if not isinstance(value, dict) or path not in self._groups:
            return [{path: value}]
        row: dict[str, Any] = {}
        many: list[dict[str, Any]] | None = None
        for name, part in value.items():
            cells = self._cells(part, f"{path}.{name}", lists)
            if len(cells) == 1:
                row |= cells[0]
            else:
                many = cells
        return [row] if many is None else [{**row, **cells} for cells in many]


def _columns(kind: Type, name: str, lists: Sequence[str]) -> Iterator[str]:
    """Yield the columns of a value; of a choice only those of the cases that have the innermost array."""
    cases = _cases(kind)
    arrays = [case for case in cases if isinstance(case, Array)]
    if arrays and lists and name == lists[0]:
        yield f"{name}[]"
        for array in arrays:
            yield from _columns(array.element, name, lists[1:])
        return
    wanted = [f"{one}[]" for one in lists if one.startswith(f"{name}.")]
    chosen = _chosen(kind)
    if chosen and not wanted:
        yield name
        return
    for case in cases:
        if isinstance(case, Layout):
            found = list(_fields(case, name, lists))
            if not chosen or wanted[-1] in found:
                yield from found or ([] if case is valued(kind) else [name])
        elif not chosen:
            yield name


def _fields(layout: Layout, name: str, lists: Sequence[str]) -> Iterator[str]:
    for item in layout.fields:
        if item.in_record:
            yield from _columns(item.type, f"{name}.{item.label}", lists)

"""Columns of many records, by path: arrays to look at, records on demand, and the faults of what was none.

Columns hold good records only; `numbers` says which ones of all those tried they are. A path names a column
as an error names a field, without indices: `entities.rotation.a`. A case of a choice has a colon and its
key: `body:1.speed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from wirelock.codec.columnar import ColumnarEngine, Filled, numpy_module
from wirelock.codec.columns import Node
from wirelock.codec.derived import Derivation
from wirelock.codec.locate import locate
from wirelock.codec.paths import array_paths, choice_paths, column_paths, holds, no_path, nodes_of, rows_of
from wirelock.codec.table_records import record_of
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Constant,
    If,
    Layout,
    Optional,
    Select,
    Switch,
    Text,
)
from wirelock.layout.terms import inner_path

if TYPE_CHECKING:
    import numpy as np
    import pyarrow
    from numpy.typing import NDArray

__all__ = ["RowFault", "Table"]


@dataclass(frozen=True, slots=True)
class RowFault:
    """Why one of the records that were tried is none: its number, the byte where it starts, and its fault.

    The bytes of the fault count from there.
    """

    number: int
    start: int
    fault: Fault

    @property
    def byte(self) -> int | None:
        """The byte of the buffer where the fault is."""
        return None if self.fault.byte is None else self.start + self.fault.byte

    code = property(lambda self: self.fault.code, doc="The stable word for what is wrong.")
    path = property(lambda self: self.fault.path, doc="The field, with indices.")

    def __str__(self) -> str:
        place = f" ({self.fault.place})" if self.fault.place else ""
        path = f"{self.fault.path}: " if self.fault.path else ""
        return f"record {self.number}: {path}{self.fault.message}{place}"


class Table:
    """The good records of a buffer, as columns, and the faults of the others.

    `table["entities.id"]` is the column of a field, a numpy array with one entry a value: an element of an
    array has an entry of its own, and `offsets("entities")` says which elements are whose. Fields inside of
    arrays of a fixed count have a second axis, and so on. `tags` say which of its `cases` a choice is, and
    `rows` which record each entry of a column is of.
    """

    def __init__(
        self,
        engine: ColumnarEngine,
        data: Any,
        filled: Filled,
        *,
        exact: bool,
        derivations: Mapping[str, tuple[Derivation, ...]] | None = None,
    ) -> None:
        self.engine = engine
        self.layout = engine.layout
        self.filled = filled
        """What the engine made."""
        self._data = data
        self._exact = exact
        self._derivations = derivations or {}
        self._nodes = {node.path: node for node in engine.plan.root.walk() if node.path}
        for (
            node
        ) in engine.plan.root.walk():  # a choice and what is in it have one path: the value is asked for
            if isinstance(node.kind, If | Optional | Array):
                self._nodes[node.path] = _value_node(node)

    def __len__(self) -> int:
        return len(self.filled.good)

    def __repr__(self) -> str:
        bad = f", {len(self.filled.bad)} bad" if len(self.filled.bad) else ""
        return f"<Table of {self.layout.name}: {len(self)} records{bad}>"

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each good record among all that were tried."""
        return self.filled.good.numbers

    @property
    def starts(self) -> NDArray[np.int64]:
        """The byte of the buffer where each good record begins."""
        return self.filled.good.starts

    @property
    def stops(self) -> NDArray[np.int64]:
        """The byte of the buffer behind each good record."""
        return self.filled.good.stops

    def octets(self, row: int) -> bytes:
        """Return the bytes of a good record."""
        return bytes(memoryview(self._data).cast("B")[int(self.starts[row]) : int(self.stops[row])])

    # -- faults

    @property
    def bad(self) -> NDArray[np.int64]:
        """The numbers of the records that are none."""
        return self.filled.bad.numbers

    @cached_property
    def faults(self) -> tuple[RowFault, ...]:
        """The fault of each record that is none. They are located when this is first asked for."""
        bad, octets = self.filled.bad, memoryview(self._data).cast("B")
        found = []
        for number, start, stop in zip(
            bad.numbers.tolist(), bad.starts.tolist(), bad.stops.tolist(), strict=True
        ):
            raw = bytes(octets[start:stop])
            fault = locate(self.layout, raw, exact=self._exact)
            if fault is None:
                told = f"compiled code refuses {raw[:64].hex(' ')}, the layout does not"
                raise RuntimeError(f"{self.layout.name}: {told}")
            found.append(RowFault(number, start, fault))
        return tuple(found)

    # -- columns

    @property
    def columns(self) -> tuple[str, ...]:
        """The paths of the columns that hold values, in the order of the layout."""
        return column_paths(self.engine.plan.root)

    @property
    def derived(self) -> tuple[str, ...]:
        """The paths of the columns that the protocol derives from others, computed when asked for."""
        found = []
        for node in self.engine.plan.root.walk():
            found += [inner_path(node.path, name) for name in self.derived_of(node)]
        return tuple(found)

    def derived_of(self, node: Node) -> tuple[str, ...]:
        """Return the names of the columns that are derived from the fields of a record in the plan."""
        if not isinstance(node.kind, Layout):
            return ()
        return tuple(name for found in self._derivations.get(node.kind.name, ()) for name in found.names)

    def __getitem__(self, path: str) -> Any:
        """Return the column of a field. Raises KeyError with the paths that are close."""
        node = self._nodes.get(path)
        if node is not None and holds(node):
            return self.values(node)
        if path in self.derived:
            return self._derive(path)
        raise no_path(path, "column", (*self.columns, *self.derived))

    def offsets(self, path: str) -> NDArray[np.int64]:
        """Return where the elements of each array at a path begin and end: an entry more than arrays.

        Raises KeyError for a path that is no array whose count may differ.
        """
        arrays = array_paths(self.engine.plan.root)
        if path not in arrays:
            raise no_path(path, "array of which the count may differ", arrays)
        return self.raw(arrays[path].array)

    def tags(self, path: str) -> NDArray[Any]:
        """Return which case each choice at a path is; for what may be absent, whether it is there.

        A case is told by its place in `cases(path)`, from 0. Raises KeyError for a path that is no choice.
        """
        choices = choice_paths(self.engine.plan.root)
        if path not in choices:
            raise no_path(path, "choice", choices)
        return self.array(choices[path])

    def cases(self, path: str) -> tuple[str, ...]:
        """Return what the cases of a choice are called in paths, in the order of the numbers in `tags`.

        `cases("body")[0]` is "1" where the first case has the columns `body:1`. Raises KeyError for a path
        that is no choice between cases.
        """
        choices = nodes_of(self.engine.plan.root, Switch, Select)
        if path not in choices:
            raise no_path(path, "choice between cases", choices)
        return choices[path].labels

    def rows(self, path: str) -> NDArray[np.int64]:
        """Return which record of the table each entry of the column at a path is of.

        The path may also be that of an array, a case or a record inside: an entry for each element, for each
        choice that is that case. So `table["tick"][table.rows("entities.id")]` has an entry an entity, and
        `table.rows("body:2")` are the records whose body is that case. Raises KeyError.
        """
        node = self._nodes.get(path)
        if node is None and path in self.derived:
            outer = path.rpartition(".")[0]
            node = self._nodes[outer] if outer else self.engine.plan.root
        if node is None:
            raise no_path(path, "path in the record", (*self._nodes, *self.derived))
        return rows_of(self.engine.plan.root, node, len(self), self.raw)  # type: ignore[no-any-return]

    def array(self, node: Node) -> NDArray[Any]:
        """Return the array of a node as it is seen, with an axis for each fixed count around it."""
        stored = self.engine.plan.arrays[node.array]
        found = self.filled.arrays[node.array].view(stored.seen)
        more = (stored.per // prod(node.repeat),) if stored.holds == "bytes" and all(node.repeat) else ()
        shape = (self.filled.sizes[node.dim], *node.repeat, *more)
        return found.reshape(shape)  # type: ignore[no-any-return]

    def raw(self, number: int) -> NDArray[Any]:
        """Return an array of the plan by its number, as it was filled."""
        return self.filled.arrays[number]  # type: ignore[no-any-return]

    def size(self, dim: int) -> int:
        """Return how many there are of a dimension."""
        return self.filled.sizes[dim]

    def values(self, node: Node) -> Any:
        """Return the column of a node that holds values."""
        np = numpy_module()
        kind = node.kind
        if isinstance(kind, Constant):
            dtype = object if isinstance(kind.value, bytes) else ("u8" if kind.value >> 63 > 0 else "i8")
            shape = (self.filled.sizes[node.dim], *node.repeat)
            return np.broadcast_to(np.array(kind.value, dtype), shape)
        if node.content < 0:
            return self.array(node)
        count = len(self.raw(node.array)) - 1
        found = np.empty(count, object)
        found[:] = [self.octets_of(node, slot) for slot in range(count)]
        return found.reshape((self.filled.sizes[node.dim], *node.repeat))

    def octets_of(self, node: Node, slot: int) -> bytes | str:
        """Return the bytes or text in a slot of a node whose length may differ."""
        first, last = self.raw(node.array)[slot : slot + 2].tolist()
        octets = self.raw(node.content)[first:last].tobytes()
        return octets.decode(node.kind.encoding) if isinstance(node.kind, Text) else octets

    def _derive(self, path: str) -> Any:
        outer, _, name = path.rpartition(".")
        node = self._nodes[outer] if outer else self.engine.plan.root
        assert isinstance(node.kind, Layout)
        for derivation in self._derivations[node.kind.name]:
            if name in derivation.names:
                found = self._computed(node, derivation)[name]
                return found.reshape((self.filled.sizes[node.dim], *node.repeat))
        raise AssertionError(f"{path} is not derived")

    def _computed(self, node: Node, derivation: Derivation) -> dict[str, Any]:
        return derivation.compute(self._given(node, derivation))

    def _given(self, node: Node, derivation: Derivation) -> list[Any]:
        return [self[inner_path(node.path, name)].reshape(-1) for name in derivation.fields]

    def derivations(self, node: Node) -> dict[str, Any]:
        """Return all derived columns of a record in the plan, by name, as rows; each function runs once.

        Their types are the same in all tables of the engine: those that the functions give for no values.
        Raises SchemaError for a function that gives others.
        """
        found: dict[str, Any] = {}
        assert isinstance(node.kind, Layout)
        for derivation in self._derivations.get(node.kind.name, ()):
            computed = self._computed(node, derivation)
            key = id(node), derivation.where
            if key not in self.engine.derived:
                none = derivation.compute([column[:0] for column in self._given(node, derivation)])
                self.engine.derived[key] = next(iter(none.values())).dtype
            derivation.check_type(computed, self.engine.derived[key])
            found |= computed
        return found

    def to_arrow(self, *, derived: bool = False, columns: Iterable[str] | None = None) -> pyarrow.Table:
        """Return the records as a pyarrow.Table, a row each, nested as they are; see codec/arrow.py.

        With `derived`, the derived columns stand behind the fields of their record. `columns` are the paths
        of the fields to convert, `["tick", "entities.id"]`, and of derived columns; they stand in the order
        of the record. The schema's metadata name the record and its digest. Raises ImportError without
        pyarrow, KeyError for a path that is no field, SchemaError where a derived column cannot be computed,
        ValueError for more than 2**31 - 1 elements of one list.
        """
        from wirelock.codec.arrow import arrow_table

        return arrow_table(self, derived=derived, columns=columns)

    # -- records

    def __iter__(self) -> Iterator[Any]:
        return (self.record(row) for row in range(len(self)))

    def record(self, row: int) -> Any:
        """Return the record of a row, made of its columns.

        Raises IndexError where there is none, EncodeError where a column was changed to what no record holds.
        """
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return record_of(self, row % len(self))

    @cached_property
    def _ranks(self) -> dict[int, NDArray[np.int64]]:
        return {}

    def rank(self, node: Node) -> NDArray[np.int64]:
        """Return the slot of each choice in the columns of its case."""
        found = self._ranks.get(node.array)
        if found is None:
            np = numpy_module()
            tags = self.raw(node.array)
            found = np.zeros(len(tags), "i8")
            first = 1 if isinstance(node.kind, If | Optional) else 0
            for number in range(len(node.parts)):
                is_case = tags == number + first
                found[is_case] = np.arange(int(is_case.sum()))
            self._ranks[node.array] = found
        return found


def _value_node(node: Node) -> Node:
    """Return the node that holds the values at a path: not the array or choice around, which has the same."""
    while isinstance(node.kind, If | Optional | Array):
        node = node.parts[0]
    return node

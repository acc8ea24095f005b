"""Columns of many records, by path: arrays to look at, records on demand, and the faults of what was none.

Columns hold good records only; `numbers` says which ones of all those tried they are. A path names a column
as an error names a field, without indices: `entities.rotation.a`. A case of a choice has a colon and its
key: `body:1.speed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from wirelock.codec.columnar import ColumnarEngine, Filled, numpy_module
from wirelock.codec.columns import Node
from wirelock.codec.floats import float_from_bits
from wirelock.codec.locate import locate
from wirelock.codec.members import member_of
from wirelock.codec.template import template_of
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    If,
    Layout,
    Optional,
    Select,
    Sequence,
    Switch,
    Text,
)
from wirelock.layout.nodes import Mapping as Mapped

if TYPE_CHECKING:
    import numpy as np
    import pyarrow
    from numpy.typing import NDArray

__all__ = ["Derivation", "RowFault", "Table"]


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


@dataclass(frozen=True, slots=True)
class Derivation:
    """Columns that follow from others of the same record: what they are called, and from which fields."""

    names: tuple[str, ...]
    fields: tuple[str, ...]
    compute: Callable[..., Any]
    """From an array a field to one of shape (n, number of names)."""


class Table:
    """The good records of a buffer, as columns, and the faults of the others.

    `table["entities.id"]` is the column of a field, a numpy array with one entry a value: an element of an
    array has an entry of its own, and `offsets("entities")` says which elements are whose. Fields inside of
    arrays of a fixed count have a second axis, and so on. `tags` say which case of a choice there is.
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
        held = (node for node in self.engine.plan.root.walk())
        return tuple(
            dict.fromkeys(
                node.path for node in held if node.path and _value_node(node) is node and _holds(node)
            )
        )

    @property
    def derived(self) -> tuple[str, ...]:
        """The paths of the columns that the protocol derives from others, computed when asked for."""
        found = []
        for node in self.engine.plan.root.walk():
            found += [f"{node.path}.{name}" if node.path else name for name in self.derived_of(node)]
        return tuple(found)

    def derived_of(self, node: Node) -> tuple[str, ...]:
        """Return the names of the columns that are derived from the fields of a record in the plan."""
        if not isinstance(node.kind, Layout):
            return ()
        return tuple(name for found in self._derivations.get(node.kind.name, ()) for name in found.names)

    def __getitem__(self, path: str) -> Any:
        """Return the column of a field. Raises KeyError with the paths that there are."""
        node = self._nodes.get(path)
        if node is not None and _holds(node):
            return self.values(node)
        if path in self.derived:
            return self._derive(path)
        known = ", ".join((*self.columns, *self.derived))
        raise KeyError(f"no column {path!r}: there are {known}")

    def offsets(self, path: str) -> NDArray[np.int64]:
        """Return where the elements of each array at a path begin and end: an entry more than arrays.

        Raises KeyError for a path that is no array whose count differs.
        """
        for node in self.engine.plan.root.walk():
            if node.path == path and node.inside >= 0:
                return self.filled.arrays[node.array]  # type: ignore[no-any-return]
        raise KeyError(f"{path!r} is no array of which the count may differ")

    def tags(self, path: str) -> NDArray[Any]:
        """Return which case each choice at a path is, by number; for what may be absent, whether it is there.

        Raises KeyError for a path that is no choice.
        """
        for node in self.engine.plan.root.walk():
            if node.path == path and isinstance(node.kind, If | Optional | Switch | Select):
                return self.array(node)
        raise KeyError(f"{path!r} is no choice")

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
        found[:] = [self._slice(node, slot) for slot in range(count)]
        return found.reshape((self.filled.sizes[node.dim], *node.repeat))

    def _slice(self, node: Node, slot: int) -> bytes | str:
        first, last = self.raw(node.array)[slot : slot + 2].tolist()
        octets = self.raw(node.content)[first:last].tobytes()
        return octets.decode(node.kind.encoding) if isinstance(node.kind, Text) else octets

    def _derive(self, path: str) -> Any:
        outer, _, name = path.rpartition(".")
        node = self._nodes[outer] if outer else self.engine.plan.root
        for derivation in self._derivations[node.kind.name]:  # type: ignore[union-attr]
            if name in derivation.names:
                given = (self[f"{outer}.{field}" if outer else field] for field in derivation.fields)
                shape = (self.filled.sizes[node.dim], *node.repeat)
                found = derivation.compute(*(column.reshape(-1) for column in given))
                return found[:, derivation.names.index(name)].reshape(shape)
        raise AssertionError(f"{path} is not derived")

    def to_arrow(self, *, derived: bool = False) -> pyarrow.Table:
        """Return the records as a pyarrow.Table, a row each, nested as they are; see codec/arrow.py.

        With `derived`, the derived columns stand behind the fields of their record. The schema's metadata
        name the record and its digest. Raises ImportError without pyarrow, ValueError for more than 2**31 - 1
        elements of one list.
        """
        from wirelock.codec.arrow import arrow_table

        return arrow_table(self, derived=derived)

    # -- records

    def __iter__(self) -> Iterator[Any]:
        return (self.record(row) for row in range(len(self)))

    def record(self, row: int) -> Any:
        """Return the record of a row, made of its columns. Raises IndexError where there is none."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self._value(self.engine.plan.root, row % len(self))

    def _value(self, node: Node, slot: int) -> Any:
        kind, names = node.kind, self.engine.names
        match kind:
            case Layout(name=name):
                template = template_of(names, name)
                found = [self._value(part, slot) for part in node.parts]
                if template.positional:
                    return template.make(*found)
                return template.make(dict(zip(node.labels, found, strict=True)))
            case Sequence():
                return tuple(self._value(part, slot) for part in node.parts)
            case Array(count=int(count)):
                return tuple(self._value(node.parts[0], slot * count + at) for at in range(count))
            case Array():
                first, last = self.raw(node.array)[slot : slot + 2].tolist()
                return tuple(self._value(node.parts[0], at) for at in range(first, last))
            case If() | Optional() | Switch() | Select():
                return self._chosen(node, slot)
            case Constant(value=value):
                return value
            case Enum(name=name) | Flags(name=name):
                return member_of(names[name], self.raw(node.array)[slot].item())
            case Mapped(members=members):
                number = self.raw(node.array)[slot].item()
                return next(key for key, raw in members if raw == number)
            case Float(bits=bits):
                return float_from_bits(self.raw(node.array)[slot].item(), bits)
            case Flag() | Computed(boolean=True):
                return bool(self.raw(node.array)[slot])
            case Bytes(length=int(length)):
                return self.raw(node.array)[slot * length : (slot + 1) * length].tobytes()
        if node.content >= 0:
            return self._slice(node, slot)
        return None if node.array < 0 else self.raw(node.array)[slot].item()

    def _chosen(self, node: Node, slot: int) -> Any:
        tag = int(self.raw(node.array)[slot])
        if isinstance(node.kind, If | Optional):
            if not tag:
                return None
            tag = 0
        return self._value(node.parts[tag], int(self.rank(node)[slot]))

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


def _holds(node: Node) -> bool:
    """Whether a node is a column of values."""
    if isinstance(node.kind, Layout | Sequence | Switch | Select | Array | If | Optional):
        return False
    return node.array >= 0 or isinstance(node.kind, Constant)

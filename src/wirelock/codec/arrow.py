"""Columns -> an Arrow table: a row a record, nested as the record is, without copying what need not be.

The types are those of arrow_types, whatever the columns are stored as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from wirelock.codec.columnar import numpy_module
from wirelock.codec.columns import Node
from wirelock.codec.paths import no_path
from wirelock.layout.canonical import digest
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Float,
    If,
    Layout,
    Mapping,
    Optional,
    Select,
    Sequence,
    Switch,
    Text,
)
from wirelock.layout.terms import inner_path

if TYPE_CHECKING:
    import pyarrow

    from wirelock.codec.table import Table

__all__ = ["arrow_struct", "arrow_table"]

INSTALL: Final = "tables of Arrow want pyarrow: pip install 'wirelock[tables]'"
_LONGEST: Final = (1 << 31) - 1


def arrow_table(table: Table, *, derived: bool, columns: Iterable[str] | None) -> pyarrow.Table:
    """Return the records of a table as rows of Arrow: see Table.to_arrow."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(INSTALL) from None
    root = table.engine.plan.root
    chosen = None if columns is None else _chosen(table, columns)
    arrays, fields = _Converter(table, derived, chosen).fields(root, len(table), sure=True)
    metadata = {"wirelock.record": table.layout.name, "wirelock.digest": digest(table.layout)}
    return pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields, metadata))


def arrow_struct(table: Table, *, derived: bool = False) -> pyarrow.Array:
    """Return the records of a table as one array, of the type of their layout and what is `derived`."""
    return _Converter(table, derived).array(table.engine.plan.root, len(table), sure=True)


def _chosen(table: Table, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of fields to convert. Raises TypeError for no list of text, KeyError for no field."""
    if isinstance(columns, str):
        raise TypeError(f"columns is a list of paths, such as [{columns!r}]")
    chosen, known = tuple(columns), tuple(_fields_in(table, table.engine.plan.root))
    for path in chosen:
        if path not in known:
            raise no_path(path, "field of a record", known)
    return chosen


def _fields_in(table: Table, node: Node) -> Iterator[str]:
    """Yield the paths of a record's fields and derived columns, and of those of records inside of it."""
    for label, part in zip(node.labels, node.parts, strict=True):
        yield inner_path(node.path, label)
        while isinstance(part.kind, If | Optional | Array):
            part = part.parts[0]
        if isinstance(part.kind, Layout):
            yield from _fields_in(table, part)
    for name in table.derived_of(node):
        yield inner_path(node.path, name)


def _is_in(path: str, outer: str) -> bool:
    return path.startswith(outer) and path[len(outer) : len(outer) + 1] in ("", ".", "[", "?", ":")


class _Converter:
    def __init__(self, table: Table, derived: bool, chosen: tuple[str, ...] | None = None) -> None:
        import pyarrow

        from wirelock.codec import arrow_types

        self.pa: Any = pyarrow
        self.types = arrow_types
        self.np: Any = numpy_module()
        self.table = table
        self.derived = derived
        self.chosen = chosen

    def fields(self, node: Node, count: int, sure: bool) -> tuple[list[Any], list[Any]]:
        """Return the arrays of what is held of a record, and its fields of Arrow."""
        assert isinstance(node.kind, Layout)
        parts = dict(zip(node.labels, node.parts, strict=True))
        fields = self._known(node, sure, "fields", self._held_fields)
        if self.chosen is not None:
            fields = [field for field in fields if self._asked(inner_path(node.path, field.name))]
        columns = [self.array(parts[field.name], count, sure) for field in fields]
        if self.derived or self.chosen is not None:  # any may have more, or fewer, inside
            fields = [field.with_type(column.type) for field, column in zip(fields, columns, strict=True)]
        names = [name for name in self.table.derived_of(node) if self._derives(inner_path(node.path, name))]
        derived = self.table.derivations(node) if names else {}
        for name in names:
            columns.append(self.pa.array(derived[name]))
            fields.append(self.pa.field(name, columns[-1].type, nullable=not sure))
        return columns, fields

    def _asked(self, path: str) -> bool:
        """Whether a field is converted: it was chosen, or is inside of or around one that was."""
        return self.chosen is None or any(_is_in(path, one) or _is_in(one, path) for one in self.chosen)

    def _derives(self, path: str) -> bool:
        return path in (self.chosen or ()) or (self.derived and self._asked(path))

    def _known(self, node: Node, sure: bool, what: str, make: Callable[[Node, bool], Any]) -> Any:
        """Return what is made of a node, once for all tables of an engine."""
        known, key = self.table.engine.arrow, (id(node), sure, what)
        if key not in known:
            known[key] = make(node, sure)
        return known[key]

    def _type_of(self, node: Node, sure: bool) -> Any:
        return self.types.type_of(node.kind, sure=sure)

    def _held_fields(self, node: Node, sure: bool) -> list[Any]:
        assert isinstance(node.kind, Layout)
        return [self.types.field_of(item, sure) for item in self.types.held(node.kind)]

    def array(self, node: Node, count: int, sure: bool) -> Any:
        """Return the values of a node as one array; `count` is how many there are.

        What is in something that may be absent is not `sure` to be there.
        """
        pa, kind = self.pa, node.kind
        wanted = self._known(node, sure, "type", self._type_of)
        if pa.types.is_null(wanted):
            return pa.nulls(count)
        match kind:
            case Layout() | Sequence() if pa.types.is_boolean(wanted):  # a record that says nothing
                return pa.repeat(pa.scalar(True), count)
            case Layout():
                columns, fields = self.fields(node, count, sure)
                return pa.StructArray.from_arrays(columns, fields=fields)
            case Sequence():
                columns = [self.array(part, count, sure) for part in node.parts]
                return self._struct(columns, wanted)
            case Array():
                return self._list(node, wanted, count, sure)
            case If() | Optional():
                return self._spread(node, self.table.raw(node.array) == 1, 0)
            case Switch() | Select():
                return self._choice(node, wanted)
            case Constant(value=value):
                return pa.repeat(pa.scalar(value, wanted), count)
            case Bytes(length=int(length)):
                offsets = self.np.arange(count + 1, dtype="i4") * self.np.int32(length)
                return self._octets(offsets, self.table.raw(node.array), wanted, count)
            case Bytes() | Text(encoding="ascii" | "utf-8"):
                return self._octets(self._offsets(node), self.table.raw(node.content), wanted, count)
            case Text():
                return pa.array(self.table.values(node).reshape(-1).tolist(), wanted)
            case Mapping(members=members):
                return self._keys(members, self.table.raw(node.array), wanted)
            case Float(bits=16):
                return pa.array(self.table.array(node).reshape(-1).astype("f4"))
        found = self.table.array(node).reshape(-1)
        return pa.array(found, wanted)

    def _keys(self, members: Any, found: Any, wanted: Any) -> Any:
        ordered = sorted(members, key=lambda member: member[1])
        numbers = self.np.array([number for _, number in ordered], found.dtype)
        places = self.np.searchsorted(numbers, found).astype("i4")
        keys = [str(key) if self.pa.types.is_string(wanted) else key for key, _ in ordered]
        return self.pa.array(keys, wanted).take(self.pa.array(places))

    def _offsets(self, node: Node) -> Any:
        offsets = self.table.raw(node.array)
        self._check(node, int(offsets[-1]))
        return offsets.astype("i4")

    def _check(self, node: Node, count: int) -> None:
        if count > _LONGEST:
            told = f"{node.path} has {count} elements in all, and Arrow's lists {_LONGEST} at most"
            raise ValueError(f"{told}: convert fewer records at once")

    def _list(self, node: Node, wanted: Any, count: int, sure: bool) -> Any:
        kind = node.kind
        assert isinstance(kind, Array)
        if isinstance(kind.count, int):
            self._check(node, count * kind.count)
            size, offsets = count * kind.count, self.np.arange(count + 1, dtype="i4") * kind.count
        else:
            size, offsets = self.table.size(node.inside), self._offsets(node)
        inner = self.array(node.parts[0], size, sure)
        listed = self.pa.list_(wanted.value_field.with_type(inner.type))
        return self.pa.ListArray.from_arrays(self.pa.array(offsets, self.pa.int32()), inner, type=listed)

    def _octets(self, offsets: Any, octets: Any, wanted: Any, count: int) -> Any:
        buffers = [None, self.pa.py_buffer(offsets), self.pa.py_buffer(self.np.ascontiguousarray(octets))]
        return self.pa.Array.from_buffers(wanted, count, buffers)

    def _spread(self, node: Node, there: Any, number: int) -> Any:
        """Return the values of a case, with nulls where it is not that case."""
        part = node.parts[number]
        inner = self.array(part, self.table.size(part.dim), sure=False)
        return inner.take(self.pa.array(self.table.rank(node), mask=~there))

    def _choice(self, node: Node, wanted: Any) -> Any:
        tags = self.table.raw(node.array)
        assert isinstance(node.kind, Switch | Select)
        labels = self.pa.array(list(self.types.case_labels(node.kind)), self.pa.string())
        columns = [labels.take(self.pa.array(tags))]
        for number, part in enumerate(node.parts):
            if not self.types.is_absent(part.kind):
                columns.append(self._spread(node, tags == number, number))
        return self._struct(columns, wanted)

    def _struct(self, columns: list[Any], wanted: Any) -> Any:
        fields = [field.with_type(column.type) for field, column in zip(wanted, columns, strict=True)]
        return self.pa.StructArray.from_arrays(columns, fields=fields)

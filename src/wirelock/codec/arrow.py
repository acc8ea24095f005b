"""Columns -> an Arrow table: a row a record, nested as the record is, without copying what need not be.

Records are structs, arrays are lists, what may be absent is null. A choice is a struct with the name of its
`case` and a column a case, null in the rows of the others, because few readers know unions. Enumerations and
flags are their integers, a Mapping its keys; text is UTF-8 whatever it is on the wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from wirelock.codec.columnar import numpy_module
from wirelock.codec.columns import Node
from wirelock.layout.canonical import digest
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    If,
    Layout,
    Mapping,
    Optional,
    Select,
    Sequence,
    Switch,
    Text,
)

if TYPE_CHECKING:
    import pyarrow

    from wirelock.codec.table import Table

__all__ = ["arrow_table"]

INSTALL: Final = "tables of Arrow want pyarrow: pip install 'wirelock[tables]'"
_LONGEST: Final = (1 << 31) - 1


def arrow_table(table: Table, *, derived: bool) -> pyarrow.Table:
    """Return the records of a table as rows of Arrow: see Table.to_arrow."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(INSTALL) from None
    converter = _Converter(pyarrow, table, derived)
    names, columns = converter.fields(table.engine.plan.root, len(table))
    metadata = {"wirelock.record": table.layout.name, "wirelock.digest": digest(table.layout)}
    return pyarrow.Table.from_arrays(columns, names=names, metadata=metadata)


class _Converter:
    def __init__(self, pa: Any, table: Table, derived: bool) -> None:
        self.pa = pa
        self.np: Any = numpy_module()
        self.table = table
        self.derived = derived

    def fields(self, node: Node, count: int) -> tuple[list[str], list[Any]]:
        """Return the names and the arrays of the fields of a record."""
        names, columns = list(node.labels), [self.array(part, count) for part in node.parts]
        if self.derived:
            for name in self.table.derived_of(node):
                names.append(name)
                path = f"{node.path}.{name}" if node.path else name
                columns.append(self.pa.array(self.table[path].reshape(-1)))
        return names, columns

    def array(self, node: Node, count: int) -> Any:
        """Return the values of a node as one array of Arrow; `count` is how many there are."""
        pa, kind = self.pa, node.kind
        match kind:
            case Layout() | Sequence():
                names, columns = self.fields(node, count)
                names = [name.strip("[]") for name in names]
                if not columns:
                    return pa.array([{}] * count, pa.struct([]))
                return pa.StructArray.from_arrays(columns, names)
            case Array(count=int(each)):
                inner = self.array(node.parts[0], count * each)
                if not each:  # which a list of fixed size cannot be
                    return pa.ListArray.from_arrays(pa.array([0] * (count + 1), pa.int32()), inner)
                return pa.FixedSizeListArray.from_arrays(inner, each)
            case Array():
                inner = self.array(node.parts[0], self.table.size(node.inside))
                return pa.ListArray.from_arrays(self._offsets(node), inner)
            case If() | Optional():
                there = self.table.raw(node.array) == 1
                return self._spread(node, there, 0)
            case Switch() | Select():
                return self._choice(node, count)
            case Constant(value=value):
                return pa.repeat(pa.scalar(value, self._kind_of(value)), count)
            case Bytes(length=0):
                return pa.repeat(pa.scalar(b""), count)
            case Bytes(length=int(length)):
                octets = pa.py_buffer(self.np.ascontiguousarray(self.table.raw(node.array)))
                return pa.Array.from_buffers(pa.binary(length), count, [None, octets])
            case Bytes():
                return self._octets(node, pa.binary(), count)
            case Text(encoding=encoding):
                if encoding in ("ascii", "utf-8"):
                    return self._octets(node, pa.string(), count)
                return pa.array(self.table.values(node).reshape(-1).tolist(), pa.string())
            case Mapping(members=members):
                found = self.table.raw(node.array)
                ordered = sorted(members, key=lambda member: member[1])
                numbers = self.np.array([number for _, number in ordered], found.dtype)
                places = self.np.searchsorted(numbers, found).astype("i4")
                return pa.DictionaryArray.from_arrays(places, self._keys([key for key, _ in ordered]))
        if node.array < 0:
            return pa.nulls(count)
        return pa.array(self.table.array(node).reshape(-1))

    def _kind_of(self, value: bytes | int) -> Any:
        if isinstance(value, bytes):
            return self.pa.binary()
        return self.pa.uint64() if value >> 63 > 0 else self.pa.int64()

    def _keys(self, keys: list[str | int]) -> Any:
        """Return the keys of a Mapping: text where they are not all integers of 64 bits."""
        try:
            return self.pa.array(keys)
        except (OverflowError, self.pa.ArrowException):
            return self.pa.array(list(map(str, keys)))

    def _offsets(self, node: Node) -> Any:
        offsets = self.table.raw(node.array)
        if int(offsets[-1]) > _LONGEST:
            told = f"{node.path} has {int(offsets[-1])} elements in all, and Arrow's lists {_LONGEST} at most"
            raise ValueError(f"{told}: convert fewer records at once")
        return self.pa.array(offsets.astype("i4"))

    def _octets(self, node: Node, kind: Any, count: int) -> Any:
        offsets = self._offsets(node).buffers()[1]
        octets = self.pa.py_buffer(self.table.raw(node.content))
        return self.pa.Array.from_buffers(kind, count, [None, offsets, octets])

    def _spread(self, node: Node, there: Any, number: int) -> Any:
        """Return the values of a case, with nulls where it is not that case."""
        part = node.parts[number]
        inner = self.array(part, self.table.size(part.dim))
        return inner.take(self.pa.array(self.table.rank(node), mask=~there))

    def _choice(self, node: Node, count: int) -> Any:
        tags = self.table.raw(node.array)
        labels = self.pa.array(list(node.labels), self.pa.string())
        columns = [self.pa.DictionaryArray.from_arrays(tags.astype("i4"), labels)]
        columns += [self._spread(node, tags == number, number) for number in range(len(node.parts))]
        return self.pa.StructArray.from_arrays(columns, ["case", *node.labels])

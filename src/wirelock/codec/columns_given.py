"""Columns that somebody made -> arrays as the engine fills them: types, shapes and ranges are checked here.

What the values mean is checked when they are built. Columns of constants, of counts that follow from offsets,
and those of which no record has a value, may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import prod
from typing import Any, Final

from wirelock.codec.columnar import ColumnarEngine, Every, Filled, Spans, numpy_module
from wirelock.codec.columns import Node
from wirelock.codec.paths import array_paths, choice_paths, column_paths, no_path, rows_of
from wirelock.codec.trail import Found
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Field,
    Float,
    If,
    Integer,
    Layout,
    Optional,
    Scaled,
    Select,
    Sequence,
    Switch,
    Text,
    integer_of,
)
from wirelock.layout.terms import Length, inner_path

__all__ = ["filled_of"]

_KINDS: Final = {"b": "booleans", "iu": "integers", "iuf": "numbers"}


def filled_of(
    engine: ColumnarEngine, columns: Mapping[str, Any], offsets: Mapping[str, Any], tags: Mapping[str, Any]
) -> Filled:
    """Return given columns as the engine fills them.

    Raises KeyError for a column that is missing or that there is not, TypeError for values of another type,
    ValueError for lengths that do not fit together, trail.Found for a value that no field of its width holds.
    """
    reader = _Given(engine, columns, offsets, tags)
    reader.read(engine.plan.root, None)
    reader.check_used()
    rows = reader.sizes.get(0, 0)
    none = reader.np.empty(0, "i8")
    arrays = tuple(reader.arrays[number] for number in range(len(engine.plan.arrays)))
    sizes = tuple(reader.sizes.get(dim, 0) for dim in range(engine.plan.dims))
    return Filled(arrays, sizes, Every(reader.np, rows, 0), Spans(none, none, none))


class _Given:
    def __init__(self, engine: ColumnarEngine, columns: Any, offsets: Any, tags: Any) -> None:
        self.np: Any = numpy_module()
        self.plan = engine.plan
        self.given = {"column": dict(columns), "offsets": dict(offsets), "tags": dict(tags)}
        self.used: set[tuple[str, str]] = set()
        self.arrays: dict[int, Any] = {}
        self.sizes: dict[int, int] = {}

    def take(self, what: str, node: Node) -> Any:
        """Return what was given for a node; nothing, where it has no values. Raises KeyError where it has."""
        path = node.path
        if path in self.given[what]:
            self.used.add((what, path))
            return self.given[what][path]
        if self.unused(node):
            return [0] if what == "offsets" else []
        verb = "is" if what == "column" else "are"
        raise KeyError(f"the {what} of {path!r} {verb} missing")

    def unused(self, node: Node) -> bool:
        """Whether a node lies in a case, an array or something absent of which there is none at all."""
        return not prod(node.repeat) or (node.dim > 0 and self.sizes.get(node.dim) == 0)

    def check_used(self) -> None:
        """Raise KeyError for what was given and is no part of the record."""
        root = self.plan.root
        known: dict[str, tuple[str, Any]] = {
            "column": ("column of this record", column_paths(root)),
            "offsets": ("array of which the count may differ", array_paths(root)),
            "tags": ("choice", choice_paths(root)),
        }
        for what, given in self.given.items():
            for path in given:
                if (what, path) not in self.used:
                    raise no_path(path, *known[what])

    def counted(self, dim: int, per: int, count: int, path: str) -> None:
        """Note how many values there are of a dimension."""
        if not per and not count:
            return  # of arrays of no elements: it says nothing of how many there are
        found = count // per if per else 0
        if found * per != count or self.sizes.setdefault(dim, found) != found:
            known = self.sizes.get(dim, found) * per
            raise ValueError(f"{path}: {count} values where there should be {known}")

    def read(self, node: Node, field: Field | None) -> None:
        """Read the columns of a node and of all inside."""
        kind = node.kind
        match kind:
            case Layout():
                for label, part in zip(node.labels, node.parts, strict=True):
                    self.read(part, kind[label])
                self._fill_counts(node, kind)
            case Sequence() | Array(count=int()):
                for part in node.parts:
                    self.read(part, None)
            case Array():
                self._offsets(node)
                self.read(node.parts[0], None)
            case If() | Optional() | Switch() | Select():
                self._tags(node)
                for part in node.parts:
                    self.read(part, None)
            case Constant(value=value):
                if node.path in self.given["column"]:
                    self._constant(node, value)
            case Bytes() | Text() if node.content >= 0:
                self._octets(node, self.take("column", node))
            case _ if node.array >= 0:
                if field is None or field.derived is None or node.path in self.given["column"]:
                    self._values(node, self.take("column", node))

    def _fill_counts(self, node: Node, layout: Layout) -> None:
        """Compute the counts that were left out and are the lengths of arrays beside them."""
        parts = dict(zip(node.labels, node.parts, strict=True))
        for label, part in parts.items():
            if part.array < 0 or part.array in self.arrays or isinstance(part.kind, Constant):
                continue
            derived = layout[label].derived
            of = None
            if isinstance(derived, Length) and not derived.path.up and len(derived.path.names) == 1:
                of = parts.get(derived.path.names[0])
            if self.unused(part):
                self._values(part, self.take("column", part))
                continue
            if of is None or of.inside < 0:
                raise KeyError(f"the column of {part.path!r} is missing")
            self._values(part, self.np.diff(self.arrays[of.array]))

    def _offsets(self, node: Node) -> None:
        found = self._integers(self.take("offsets", node), f"offsets of {node.path}")
        if not len(found) or found[0] != 0 or (self.np.diff(found) < 0).any():
            raise ValueError(f"offsets of {node.path} begin with 0 and never go down")
        self.counted(node.dim, prod(node.repeat), len(found) - 1, f"offsets of {node.path}")
        self.arrays[node.array], self.sizes[node.inside] = found, int(found[-1])

    def _integers(self, given: Any, what: str) -> Any:
        found = self._plain(given, what)
        if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
            raise TypeError(f"{what} are a row of integers, not {found.dtype} of shape {found.shape}")
        return self.np.ascontiguousarray(found.astype("i8"))

    def _tags(self, node: Node) -> None:
        stored = self.plan.arrays[node.array]
        found = self._plain(self.take("tags", node), f"tags of {node.path}").reshape(-1)
        first = 1 if isinstance(node.kind, If | Optional) else 0
        wanted = "b" if first else "iu"
        if found.size and found.dtype.kind not in wanted:
            raise TypeError(f"tags of {node.path} are {_KINDS[wanted]}, not {found.dtype}")
        if found.size and not 0 <= int(found.min()) <= int(found.max()) < len(node.parts) + first:
            told = f"0..{len(node.parts) - 1}, the places of its cases {', '.join(node.labels)}"
            outside = next(tag for tag in found.tolist() if not 0 <= tag < len(node.parts))
            raise ValueError(f"tags of {node.path} are {told}: got {outside}")
        self.counted(node.dim, stored.per, len(found), f"tags of {node.path}")
        self.arrays[node.array] = found.astype(stored.dtype)
        for number, part in enumerate(node.parts):
            self.sizes[part.dim] = int((found == number + first).sum())

    def _constant(self, node: Node, value: Any) -> None:
        found = self.take("column", node)
        for row, item in enumerate(self._plain(found, node.path, object).reshape(-1).tolist()):
            if item != value:
                raise Found(Fault("constant", f"[{row}].{node.path}", str(item), str(value)))

    def _octets(self, node: Node, given: Any) -> None:
        kind = node.kind
        wanted = str if isinstance(kind, Text) else bytes
        found = self._plain(given, node.path, object).reshape(-1).tolist()
        for item in found:
            if type(item) is not wanted:
                raise TypeError(f"{node.path}: wanted {wanted.__name__}, got {type(item).__name__}")
        self.counted(node.dim, prod(node.repeat), len(found), node.path)
        octets = [self._encoded(node, row, item) for row, item in enumerate(found)]
        self.arrays[node.array] = self.np.array([0, *accumulate(map(len, octets))], "i8")
        self.arrays[node.content] = self.np.frombuffer(b"".join(octets), "u1")
        self.sizes[node.inside] = len(self.arrays[node.content])

    def _encoded(self, node: Node, row: int, item: Any) -> bytes:
        if not isinstance(node.kind, Text):
            return item  # type: ignore[no-any-return]
        try:
            return item.encode(node.kind.encoding)  # type: ignore[no-any-return]
        except UnicodeEncodeError:
            fault = Fault("bad-text", self._place(node, row), ascii(item), node.kind.encoding)
            raise Found(fault) from None

    def _values(self, node: Node, given: Any) -> None:
        stored, kind, path = self.plan.arrays[node.array], node.kind, node.path
        found = self._plain(given, path)
        if isinstance(kind, Bytes) and found.dtype.kind in "SO":
            found = self._fixed_bytes(found, kind.length, path)
        wanted = "b" if stored.seen == "?" else "iuf" if isinstance(kind, Float | Scaled) else "iu"
        if found.size and found.dtype.kind not in wanted:
            raise TypeError(f"{path}: wanted {_KINDS[wanted]}, got {found.dtype}")
        flat = found.reshape(-1)
        self.counted(node.dim, stored.per, len(flat), path)
        if wanted == "iu" and flat.size:
            first, last = self._bounds(kind, stored.dtype)
            outside = (flat < first) | (flat > last)
            if outside.any():
                self._refuse(node, "out-of-range", flat, outside, f"{first}..{last}")
        with self.np.errstate(over="ignore", invalid="ignore"):
            cast = flat.astype(stored.seen)
        if isinstance(kind, Float) and (beyond := self.np.isinf(cast) & ~self.np.isinf(flat)).any():
            self._refuse(node, "out-of-range", flat, beyond, f"a float of {kind.bits} bits")
        made = self.arrays[node.array] = self.np.ascontiguousarray(cast).view(stored.dtype)
        if isinstance(kind, Float):
            quiet = 1 << {16: 9, 32: 22, 64: 51}[kind.bits]
            if (signalling := self.np.isnan(cast) & (made & made.dtype.type(quiet) == 0)).any():
                self._refuse(node, "not-canonical", flat, signalling, "a quiet NaN")

    def _fixed_bytes(self, found: Any, length: Any, path: str) -> Any:
        items = found.reshape(-1).tolist()
        if not all(type(item) is bytes and len(item) == length for item in items):
            raise TypeError(f"{path}: wanted bytes of length {length} each, or an array of uint8")
        return self.np.frombuffer(b"".join(items), "u1")

    def _plain(self, given: Any, what: str, kind: Any = None) -> Any:
        """Return what was given as an array. Raises TypeError for one with masked values."""
        if self.np.ma.is_masked(given):
            raise TypeError(f"{what}: masked values have no bytes: fill them, or leave their records out")
        return self.np.asarray(given, kind)

    def _bounds(self, kind: Any, dtype: str) -> tuple[int, int]:
        """Return the least and the largest integer of a type."""
        integer = integer_of(kind)
        if isinstance(integer, Integer):
            top = 1 << (integer.bits - integer.signed)
            return -top if integer.signed else 0, top - 1
        known = self.np.iinfo(dtype)
        return int(known.min), int(known.max)

    def _refuse(self, node: Node, code: str, flat: Any, wrong: Any, allowed: str) -> None:
        place = int(self.np.argmax(wrong))
        raise Found(Fault(code, self._place(node, place), str(flat[place].item()), allowed))

    def _place(self, node: Node, place: int) -> str:
        """Return the path of a value by its place in the column, with the row of its record."""
        rows = rows_of(self.plan.root, node, self.sizes[0], self.arrays.__getitem__)
        per = prod(node.repeat)
        path = inner_path(f"[{rows[place // per]}]", node.path)
        return path if node.dim == 0 and per == 1 else f"{path} ({place})"

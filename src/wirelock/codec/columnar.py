"""The columnar engine: many records at once -> columns, by code that numba compiles for a layout.

Compiled code only detects that a record is bad; locate then names the fault of just those, when somebody
asks. Uncompiled, the same source runs as Python.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from wirelock.codec import kernels
from wirelock.codec.columns import Plan, is_flat, plan_of
from wirelock.codec.columns_build import written
from wirelock.codec.compiled import INSTALL, compiled_module
from wirelock.codec.emit_columns import column_source
from wirelock.codec.template import Names
from wirelock.layout.canonical import digest
from wirelock.layout.nodes import Layout
from wirelock.layout.sizes import size_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = ["ColumnarEngine", "Every", "Filled", "Spans", "numpy_module"]

_CHUNK: Final = 1 << 16
"""Records whose bounds are found at a time, where their sizes differ."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Some of the records that were tried: their numbers, and the bytes between which they lie.

    A record that is bad lies up to where it would have had to end.
    """

    numbers: Integers
    starts: Integers
    stops: Integers

    def __len__(self) -> int:
        return len(self.numbers)

    def of(self, which: Any) -> Spans:
        """Return some of them, by their numbers here or by a mask."""
        return Spans(self.numbers[which], self.starts[which], self.stops[which])


class Every:
    """All records of a buffer where they are of one size: Spans whose arrays are made when asked for."""

    def __init__(self, np: Any, count: int, size: int) -> None:
        self._np, self._count, self._size = np, count, size

    def __len__(self) -> int:
        return self._count

    @cached_property
    def numbers(self) -> Integers:
        """As of Spans."""
        return self._np.arange(self._count)  # type: ignore[no-any-return]

    @cached_property
    def starts(self) -> Integers:
        """As of Spans."""
        return self.numbers * self._size

    @cached_property
    def stops(self) -> Integers:
        """As of Spans."""
        return self.starts + self._size

    def of(self, which: Any) -> Spans:
        """As of Spans."""
        return Spans(self.numbers[which], self.starts[which], self.stops[which])


@dataclass(frozen=True, slots=True)
class Filled:
    """What was read: an array for each of the plan's, of as many as `sizes` say a dimension.

    `good` are the records that the arrays hold, `bad` the others that were tried.
    """

    arrays: tuple[Any, ...]
    sizes: tuple[int, ...]
    good: Spans | Every
    bad: Spans


def numpy_module() -> ModuleType:
    """Return numpy. Raises ImportError with what to install."""
    try:
        import numpy
    except ImportError:
        raise ImportError(INSTALL) from None
    return numpy


class ColumnarEngine:
    """Reads many records of one layout into columns.

    Raises SchemaError where the layout has something that compiled code cannot do, ImportError where numba
    is not installed. With `compiled=False` the same code runs as Python, for tests.
    """

    def __init__(self, layout: Layout, names: Names, *, compiled: bool = True) -> None:
        self.layout = layout
        self.names = names
        self.plan: Plan = plan_of(layout)
        self.compiled = compiled
        self.arrow: dict[tuple[int, bool, str], Any] = {}
        """What Arrow calls the types of the plan's nodes, once somebody asked."""
        self.derived: dict[tuple[int, str], Any] = {}
        """The types of derived columns by node and function, once somebody asked."""
        self.flat = is_flat(layout)
        size = size_of(layout)
        self.size = size.lowest // 8 if self.flat else None
        self.least = size.lowest // 8
        head, text = column_source(layout, self.plan)
        self.source = head + text
        self._np = numpy_module()
        self._code = _compiled(layout, self.source) if compiled else _plain(layout, text)

    # -- what can be read

    def packed(self, data: Any) -> tuple[Filled, int]:
        """Return the records that lie one behind the other from the first byte on, and where they end.

        A record that is bad ends it where sizes differ: nothing says where the next one would be.
        """
        octets = self._octets(data)
        if self.size is None:
            return self._packed(octets)
        rows = len(octets) // self.size
        good, arrays = self._np.empty(rows, "?"), self._arrays((rows,))
        self._code.flat_packed(self._given(octets), rows, good, *arrays)
        return self._flat(arrays, good, Every(self._np, rows, self.size)), rows * self.size

    def packets(
        self, data: Any, starts: Integers, stops: Integers, *, exact: bool = True
    ) -> tuple[Filled, Integers]:
        """Return the records between places in a buffer, and where each ends: -1 for one that is bad.

        `exact`: each must reach up to its stop. Places must lie within the buffer.
        """
        octets, np = self._octets(data), self._np
        spans = Spans(np.arange(len(starts)), starts, stops)
        if self.size is None:
            ends, totals = np.empty(len(starts), "i8"), np.zeros(self.plan.dims, "i8")
            self._code.check(self._given(octets), starts, stops, exact, ends, totals)
            filled = self._fill(octets, spans, ends >= 0, totals)
            return _ending(filled, ends[ends >= 0]), ends
        lengths = stops - starts
        fits = lengths == self.size if exact else lengths >= self.size
        there = spans if fits.all() else spans.of(fits)
        good, arrays = np.empty(len(there), "?"), self._arrays((len(there),))
        self._code.flat(self._given(octets), np.ascontiguousarray(there.starts), good, *arrays)
        fits[fits] = good
        filled = replace(self._flat(arrays, good, there), bad=spans.of(~fits))
        return _ending(filled, filled.good.starts + self.size), np.where(fits, starts + self.size, -1)

    def none(self) -> Filled:
        """Return what is filled where there is no record at all; nothing is compiled for it."""
        sizes = (0,) * self.plan.dims
        none = self._np.empty(0, "i8")
        return Filled(self._arrays(sizes), sizes, Spans(none, none, none), Spans(none, none, none))

    def with_bad(self, filled: Filled, number: int, start: int, stop: int) -> Filled:
        """Return what was filled with one more bad record behind all others."""
        bad, append = filled.bad, self._np.append
        more = append(bad.numbers, number), append(bad.starts, start), append(bad.stops, stop)
        return replace(filled, bad=Spans(*more))

    def build(self, filled: Filled) -> bytes | None:
        """Return the bytes of all records; None where they have to be built one by one, or are none.

        They were read again and came to the same columns.
        """
        made = written(self._np, self.layout, self.plan, filled)
        if made is None:
            return None
        out, starts = made
        again, _ = self.packets(out, starts[:-1], starts[1:])
        same = not again.bad and all(map(_same, again.arrays, filled.arrays))
        return out.tobytes() if same else None

    # -- how

    def _octets(self, data: Any) -> Any:
        if isinstance(data, self._np.ndarray) and data.dtype == self._np.uint8 and data.flags.c_contiguous:
            octets = data.reshape(-1).view()
        else:
            octets = self._np.frombuffer(memoryview(data).cast("B"), "u1")
        octets.flags.writeable = False  # one type for numba, whoever owns the bytes
        return octets

    def _given(self, octets: Any) -> Any:
        return octets if self.compiled else octets.tobytes()

    def _arrays(self, sizes: tuple[int, ...]) -> tuple[Any, ...]:
        """Make the arrays, for dimensions of so many."""
        return tuple(
            self._np.zeros(sizes[stored.dim] * stored.per + 1, stored.dtype)
            if stored.holds == "offsets"
            else self._np.empty(sizes[stored.dim] * stored.per, stored.dtype)
            for stored in self.plan.arrays
        )

    def _flat(self, arrays: tuple[Any, ...], good: Any, spans: Spans | Every) -> Filled:
        if good.all():
            none = self._np.empty(0, "i8")
            return Filled(arrays, (len(good),), spans, Spans(none, none, none))
        per = [stored.per for stored in self.plan.arrays]
        kept = tuple(
            array.reshape(len(good), each)[good].reshape(-1) for array, each in zip(arrays, per, strict=True)
        )
        return Filled(kept, (int(good.sum()),), spans.of(good), spans.of(~good))

    def _fill(self, octets: Any, spans: Spans, good: Any, totals: Integers) -> Filled:
        there = spans if good.all() else spans.of(good)
        sizes = tuple(map(int, totals))
        arrays = self._arrays(sizes)
        starts, stops = map(self._np.ascontiguousarray, (there.starts, there.stops))
        self._code.fill(self._given(octets), starts, stops, *arrays)
        return Filled(arrays, sizes, there, spans.of(~good))

    def _packed(self, octets: Any) -> tuple[Filled, int]:
        np, given = self._np, self._given(octets)
        at, size = 0, len(octets)
        found: list[tuple[Any, Any]] = [(np.empty(0, "i8"), np.empty(0, "i8"))]
        totals = np.zeros(self.plan.dims, "i8")
        while 0 <= at < size:
            starts, ends = np.empty(_CHUNK, "i8"), np.empty(_CHUNK, "i8")
            rows = self._code.check_packed(given, at, size, starts, ends, totals)
            found.append((starts[:rows], ends[:rows]))
            at = int(ends[rows - 1])
        starts, ends = (np.concatenate(part) for part in zip(*found, strict=True))
        good = ends >= 0
        reach = size if good.all() else int(starts[-1])
        spans = Spans(np.arange(len(starts)), starts, np.where(good, ends, size))
        return self._fill(octets, spans, good, totals), reach


def _ending(filled: Filled, stops: Integers) -> Filled:
    """Return what was filled with the good records up to where they end."""
    return replace(filled, good=Spans(filled.good.numbers, filled.good.starts, stops))


def _same(one: Any, other: Any) -> bool:
    return bool(one.tobytes() == other.tobytes())


# -- compiled code


def _plain(layout: Layout, text: str) -> Any:
    """Return a module of the source as it runs without numba."""
    module = ModuleType(f"columns of {layout.name}")
    module.__dict__.update(
        compiled=lambda function: function,
        int64=kernels.int64,
        uint64=kernels.uint64,
        float32_of=kernels.float32_of,
        float64_of=kernels.float64_of,
        array=lambda numbers, dtype: numbers,
    )
    exec(compile(text, f"<columns of {layout.name}>", "exec"), module.__dict__)
    return module


def _compiled(layout: Layout, source: str) -> Any:
    """Return the module of the source of a layout."""
    stem = f"columns_{digest(layout).partition(':')[2][:16]}"
    return compiled_module(f"columns of {layout.name}", stem, source)

"""The columnar engine: many records at once -> columns, by code that numba compiles for a layout.

Compiled code only detects that a record is bad; locate then names the fault of just those, when somebody
asks. The source lies in a cache folder of the user's, under the layout's digest and the versions of all that
has a say in it, and numba keeps the machine code beside it. Uncompiled, the same source runs as Python.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from wirelock import __version__
from wirelock.codec import kernels
from wirelock.codec.columns import Plan, is_flat, plan_of
from wirelock.codec.columns_build import written
from wirelock.codec.emit_columns import column_source
from wirelock.codec.template import Names
from wirelock.layout.canonical import digest
from wirelock.layout.nodes import Layout
from wirelock.layout.sizes import size_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = ["ColumnarEngine", "Every", "Filled", "Spans", "compiled_module", "numpy_module"]

LOG: Final = logging.getLogger("wirelock.columnar")
INSTALL: Final = "columns want numba and numpy: pip install 'wirelock[columnar]'"
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


def cache_folder() -> Path:
    """Return the folder for generated source and machine code: WIRELOCK_CACHE, or the platform's."""
    given = os.environ.get("WIRELOCK_CACHE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "wirelock"


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


def compiled_module(title: str, stem: str, source: str) -> Any:
    """Return the module of a source that numba compiles, from its file in the cache folder.

    `title` says what it is, `stem` is in the name of its file. Raises ImportError without numba.
    """
    try:
        import numba
    except ImportError:
        raise ImportError(INSTALL) from None
    versions = (__version__, numba.__version__, sys.version, source)
    key = hashlib.sha256("\0".join(versions).encode()).hexdigest()[:16]
    name = f"wirelock_{stem}_{key}"
    if name in sys.modules:
        return sys.modules[name]
    file = _stored(name, source)
    if not list((file.parent / "__pycache__").glob(f"{name}.*.nbi")):
        LOG.info("compiling %s into %s: once, then from there", title, file.parent)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba's cache finds the constants of a function by the name of its module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _stored(name: str, source: str) -> Path:
    """Return the file of the source, written once and whole; in a folder of its own where none is kept."""
    folder = cache_folder()
    try:
        return _written(folder / f"{name}.py", source)
    except OSError as problem:
        LOG.info("no cache in %s: %s", folder, problem)
    return _written(Path(tempfile.mkdtemp(prefix="wirelock-")) / f"{name}.py", source)


def _written(file: Path, source: str) -> Path:
    if file.is_file() and file.read_text("utf-8") == source:
        return file
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(
        "w", dir=file.parent, suffix=".tmp", delete=False, encoding="utf-8"
    ) as made:
        made.write(source)
    Path(made.name).replace(file)
    return file

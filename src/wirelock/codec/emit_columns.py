"""Layout -> the source of compiled column code: `check` finds out which records are good, `fill` stores them.

The first counts what each dimension needs, so that the second writes into arrays of the right size; where
all records have the same places one pass, `flat`, does both. Counts from the wire are compared with the
bytes that are left before anything else. Written for numba, and runs as plain Python too.
"""

from __future__ import annotations

from typing import Final

from wirelock.codec.columns import Node, Plan, is_flat
from wirelock.codec.emit import Sight, Value, covered
from wirelock.codec.emit_columns_arrays import ArrayReader, part_of
from wirelock.codec.emit_columns_places import ColumnValue, Region, Task
from wirelock.codec.kernels import KERNELS, kernel_sources
from wirelock.codec.sums import SUMS, sum_source, sum_sources
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    Framed,
    If,
    Integer,
    Layout,
    Mapping,
    Nothing,
    Optional,
    Padded,
    Padding,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Text,
    Time,
    Type,
    VarInt,
    limits_of,
    plain,
)
from wirelock.layout.positions import offsets
from wirelock.layout.sizes import padding_behind, size_of
from wirelock.layout.terms import Limit

NAMES: Final = {
    "data", "at", "end", "exact", "totals", "starts", "stops", "ends", "good", "row", "rows", "start", "ok",
    "compiled", "int64", "uint64", "array", "float16_of", "float32_of", "float64_of",
}  # fmt: skip
"""What generated column code uses beside its own names."""


class ColumnEmitter(ArrayReader):
    """Writes one of the functions of a layout."""

    def __init__(self, plan: Plan, task: Task, tables: dict[tuple[int, ...], str]) -> None:
        arrays = {f"c{number}" for number in range(len(plan.arrays))}
        counters = {f"n{number}" for number in range(plan.dims)}
        kernels = {kernel.__name__ for kernel in KERNELS} | set(SUMS)
        super().__init__(task, NAMES | arrays | counters | kernels)
        self.plan = plan
        self.tables = tables

    def body(self, layout: Layout, slot: str, depth: int) -> list[str]:
        """Return the lines that read one record, indented."""
        self.writer.depth = depth
        self.read(layout, self.plan.root, slot, "", None)
        self.flush()
        return self.writer.lines

    # -- values

    def read(self, kind: Type, node: Node | None, slot: str, hint: str, sight: Sight | None) -> Value:
        """Write what reads one value; `node` has its columns, None for one that no record has."""
        inner, limits = plain(kind), limits_of(kind)
        match inner:
            case Layout():
                return self._layout(inner, node, slot, hint, sight)
            case Integer() | Float() | Flag() | Enum() | Flags() | Mapping() | Scaled() | Time():
                return self.scalar(inner, limits, hint or "value", node, slot)
            case Constant():
                return self.constant(inner)
            case Padding(length=int()):
                self.padding(inner)
                return Value("", "")
            case Nothing():
                return Value("", "")
            case Terminated():
                self.flush()
                self.require(f"({self.at} == {self.end})")
                return Value("", "")
            case Framed():
                parts = inner.labelled(hint)
                found = {
                    part: self.read(there, node if part == hint else None, slot, part, sight)
                    for part, there in parts
                }
                return found[hint]
            case Sequence(types=types):
                for number, part in enumerate(types):
                    self.read(part, part_of(node, number), slot, f"{hint}_{number}", sight)
                return Value("", "")
            case VarInt(zigzag=signed):
                varint = self.varint(signed, hint)
                self.limit(varint, limits)
                self.store(node, slot, varint.text)
                return varint
            case Padded() if (padding := padding_behind(inner)) is not None and padding >= 0:
                value = self.read(inner.inner, node, slot, hint, sight)
                self.padding(Padding(padding, 8, inner.pattern))
                return value
            case Bytes(length=int(length)):
                return self._fixed_bytes(length, limits, node, slot, hint)
        assert sight is not None
        match inner:
            case Array():
                value = self.array(inner, node, slot, hint, sight)
                self.limit(value, limits)
                return value
            case Bytes() | Text() | Padding():
                return self.octets(inner, limits, node, slot, hint, sight)
            case Sized():
                return self._sized(inner, node, slot, hint, sight)
            case Padded():
                return self.padded(inner, node, slot, hint, sight)
            case Computed(expression=expression):
                name = self.writer.name(hint)
                self.writer.line(f"{name} = {self.number(expression, sight)}")
                value = ColumnValue(name, name)
                self.limit(value, limits)
                self.store(node, slot, name)
                return value
            case Checksum():
                return self._checksum(inner, node, slot, hint, sight)
            case If(condition=condition, type=then):
                self.perhaps(self.condition(condition, sight), then, node, slot, hint, sight)
            case Optional(inner=there):
                self.flush()
                self.perhaps(f"{self.at} < {self.end}", there, node, slot, hint, sight)
            case Switch() | Select():
                return self.choice(inner, node, slot, hint, sight)
        return Value("", "")

    def _layout(self, layout: Layout, node: Node | None, slot: str, hint: str, outer: Sight | None) -> Value:
        sight = outer.inside() if outer else Sight(None)
        sums = covered(layout)
        starts = None
        if layout.order != "wire":
            self.flush()
            self.take(0)
            self.region = Region(layout.order, size_of(layout).lowest // 8)
            starts = offsets(layout.fields, layout.order)
        parts = dict(zip(node.labels, node.parts, strict=True)) if node is not None else {}
        for number, item in enumerate(layout.fields):
            name = f"{hint}_{item.label}" if hint else item.label
            if starts is not None:
                self.bit = starts[number]
            if item.label in sums:
                self._covered(item, parts.get(item.label), slot, name, sight)
            else:
                sight.values[item.label] = self.read(item.type, parts.get(item.label), slot, name, sight)
        if starts is not None:
            self.bit, self.region = size_of(layout).lowest, None
        for item in layout.fields:
            if item.derived is not None and not isinstance(plain(item.type), Computed):
                value = sight.values[item.label]
                self.require(f"({value.text} == {self.number(item.derived, sight)})")
        for rule in layout.rules:
            self.require(self.condition(rule.expression, sight))
        return ColumnValue("", "", fields=sight.values)

    def _fixed_bytes(
        self, length: int, limits: tuple[Limit, ...], node: Node | None, slot: str, hint: str
    ) -> Value:
        bit = self.take(8 * length)
        whole = bit % 8 == 0 and self.region is None
        loads = () if whole else tuple(self.load(bit + 8 * at, 8) for at in range(length))
        # A name, because the place that it counts from may move before an expression reads it.
        place = self.named(self.octet(bit // 8), f"{hint}_start") if whole else ""

        def equals(wanted: bytes | str) -> str:
            if len(wanted) != length or not isinstance(wanted, bytes):
                return "False"
            if whole:
                return self.kernel("same_bytes", "data", place, f"{place} + {length}", repr(wanted))
            return (
                " & ".join(f"({load} == {octet})" for load, octet in zip(loads, wanted, strict=True))
                or "True"
            )

        value = ColumnValue("", "", str(length), equals=equals)
        self.limit(value, limits)
        if self.stores and node is not None:
            first = f"{slot} * {length}"
            if whole:
                self.writer.line(
                    self.kernel("copy_bytes", "data", place, f"{place} + {length}", f"c{node.array}", first)
                )
            for at, load in enumerate(loads):
                self.writer.line(f"c{node.array}[{first} + {at}] = {load}")
        return value

    def _covered(self, item: Field, node: Node | None, slot: str, hint: str, sight: Sight) -> None:
        """Read a field and note where it begins and ends."""
        self.flush()
        start = self.named(self.at, f"{hint}_start")
        sight.values[item.label] = self.read(item.type, node, slot, hint, sight)
        self.flush()
        sight.spans[item.label] = start, self.named(self.at, f"{hint}_stop")

    def _checksum(self, kind: Checksum, node: Node | None, slot: str, hint: str, sight: Sight) -> Value:
        assert isinstance(kind.type, Integer)
        value = self.integer(self.take(kind.type.bits), kind.type, hint)
        self.flush()
        self.store(node, slot, value.text)
        if self.checks:
            start, stop = sight.spans[kind.covers]
            found = sum_source(kind, start, stop, self.table)
            self.used.add(found.partition("(")[0])
            self.require(f"({value.text} == {found})")
        return value


# -- whole modules

_HEADER: Final = """# {name}: generated by wirelock from its layout; see codec/emit_columns.py
from numba import njit
from numpy import array, float32, float64, int64, uint32, uint64

compiled = njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")


@compiled
def float32_of(raw):
    return uint32(raw).view(float32)


@compiled
def float64_of(raw):
    return uint64(raw).view(float64)
"""


def column_source(layout: Layout, plan: Plan) -> tuple[str, str]:
    """Return the source for a layout: what numba needs before it, and what runs anywhere."""
    tables: dict[tuple[int, ...], str] = {}
    used: set[str] = set()
    lines: list[str] = []

    def emitted(task: Task, slot: str, depth: int) -> list[str]:
        emitter = ColumnEmitter(plan, task, tables)
        found = emitter.body(layout, slot, depth)
        used.update(emitter.used)
        return found

    columns = "".join(f", c{number}" for number in range(len(plan.arrays)))
    if is_flat(layout):
        size = size_of(layout).lowest // 8
        body = emitted("flat", "row", 2)
        for name, where in (("flat_packed", f"row * {size}"), ("flat", "int64(starts[row])")):
            first = "rows" if name == "flat_packed" else "starts"
            count = "rows" if name == "flat_packed" else "len(starts)"
            lines += [
                "", "", "@compiled", f"def {name}(data, {first}, good{columns}):",
                f"    for row in range({count}):", f"        at = {where}", "        ok = True", *body,
                "        good[row] = ok",
            ]  # fmt: skip
    else:
        counters = [f"n{number}" for number in range(1, plan.dims)]
        zeros = [f"    {name} = 0" for name in counters]
        lines += ["", "", "@compiled", "def check_record(data, at, end, exact, totals):", *zeros]
        lines += emitted("check", "", 1)
        lines += ["    if exact and at != end:", "        return -1", "    totals[0] += 1"]
        lines += [f"    totals[{number}] += n{number}" for number in range(1, plan.dims)]
        lines += [
            "    return at",
            *_SCANS,
            "",
            "",
            "@compiled",
            f"def fill(data, starts, stops{columns}):",
            *zeros,
        ]
        lines += [
            "    for row in range(len(starts)):",
            "        at, end = int64(starts[row]), int64(stops[row])",
        ]
        lines += emitted("fill", "row", 2)
    head = [""] if tables else []
    for numbers, name in tables.items():
        text = f"{name} = array([{', '.join(map(str, numbers))}], dtype=uint64)"
        head.append(text)
    text = "\n".join([*head, *kernel_sources(used), *sum_sources(used), *lines, ""])
    return _HEADER.format(name=layout.name), text


_SCANS: Final = """

@compiled
def check(data, starts, stops, exact, ends, totals):
    for row in range(len(starts)):
        ends[row] = check_record(data, int64(starts[row]), int64(stops[row]), exact, totals)


@compiled
def check_packed(data, at, stop, starts, ends, totals):
    rows = 0
    while rows < len(starts) and at < stop:
        starts[rows] = at
        at = check_record(data, at, stop, False, totals)
        ends[rows] = at
        rows += 1
        if at < 0:
            break
    return rows""".splitlines()
"""Records in packets, and records one behind the other: as many as `starts` has room for."""

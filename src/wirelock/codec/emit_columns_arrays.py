"""Layout -> the source that reads arrays and choices, for compiled column code.

Elements of one size are read where they lie, without waiting for the one before, so that a compiler may do
several at once. A choice claims a slot in the columns of the case that it comes to.
"""

from __future__ import annotations

from wirelock.codec.columns import Node, is_flat
from wirelock.codec.emit import Sight, Value
from wirelock.codec.emit_columns_places import ColumnValue, cycle_of
from wirelock.codec.emit_columns_regions import RegionReader
from wirelock.layout.nodes import (
    Array,
    Integer,
    Prefix,
    Rest,
    Select,
    Switch,
    Type,
    Until,
    VarInt,
    parts_of,
    valued,
)
from wirelock.layout.sizes import size_of


class ArrayReader(RegionReader):
    """Writes the lines that read arrays and choices."""

    # -- arrays

    def array(self, kind: Array, node: Node | None, slot: str, hint: str, sight: Sight) -> ColumnValue:
        """Write what reads an array."""
        size = size_of(kind.element)
        if isinstance(kind.count, int):
            self._fixed_array(kind.element, kind.count, node, slot, hint, sight)
            return ColumnValue("", "", str(kind.count))
        octets = size.lowest // 8
        match kind.count:
            case Prefix() as prefix:
                count = self.prefix(prefix, f"{hint}_count")
            case Rest() if size.fixed:
                self.flush()
                self.require(f"(({self.end} - {self.at}) % {octets} == 0)")
                count = self.named(f"({self.end} - {self.at}) // {octets}", f"{hint}_count")
            case Rest() | Until():
                return self._open_array(kind, node, slot, hint, sight)
            case expression:
                self.flush()
                count = self.counted(expression, f"{hint}_count", sight)
        if self.checks:
            self.require(
                f"(0 <= {count} <= ({self.end} - {self.at}) // {octets})" if octets else f"({count} >= 0)"
            )
        inside = node.inside if node is not None else -1
        part = part_of(node, 0)
        if size.fixed:
            base = self._base(inside, count)
            self._loop(kind.element, count, part, base, hint, sight)
        else:
            base = self._base(inside, count)
            self._walk(f"range({count})", kind, part, base, hint, sight)
        self._close(node, slot)
        return ColumnValue("", "", count)

    def _base(self, inside: int, count: str) -> str:
        """Claim so many slots of a dimension; return the name of the first one."""
        if inside < 0:
            return ""
        name = self.named(f"n{inside}", "first") if self.stores else ""
        self.writer.line(f"n{inside} += {count}")
        return name

    def _close(self, node: Node | None, slot: str) -> None:
        """Write the offset behind the elements of a list."""
        if self.stores and node is not None:
            self.writer.line(f"c{node.array}[{slot} + 1] = n{node.inside}")

    def _open_array(self, kind: Array, node: Node | None, slot: str, hint: str, sight: Sight) -> ColumnValue:
        """An array up to the end of the region, or up to an element."""
        self.flush()
        count = self.named("0", f"{hint}_count")
        inside = node.inside if node is not None else -1
        self.writer.line("while True:" if isinstance(kind.count, Until) else f"while {self.at} < {self.end}:")
        outer_index, sight.index = sight.index, count
        with self.writer.indented():
            place = f"n{inside}" if self.stores and inside >= 0 else ""
            if place:
                place = self.named(place, "place")
            if inside >= 0:
                self.writer.line(f"n{inside} += 1")
            value = self.read(kind.element, part_of(node, 0), place, f"{hint}_item", sight)
            self.flush()
            done = ""
            if isinstance(kind.count, Until):
                within = Sight(sight, {"obj_": value}, sight.index)
                done = self.named(self.condition(kind.count.condition, within), "done")
            self.writer.line(f"{count} += 1")
            if done:
                self.writer.line(f"if {done}:")
                self.writer.line("    break")
        sight.index = outer_index
        self._close(node, slot)
        return ColumnValue("", "", count)

    def _walk(self, numbers: str, kind: Array, part: Node | None, base: str, hint: str, sight: Sight) -> None:
        """Elements that each begin where the one before ends."""
        number = self.writer.name("number")
        self.writer.line(f"for {number} in {numbers}:")
        outer_index, sight.index = sight.index, number
        with self.writer.indented():
            place = self.named(f"{base} + {number}", "place") if base else ""
            self.read(kind.element, part, place, f"{hint}_item", sight)
            self.flush()
            self.writer.line("pass")
        sight.index = outer_index

    def _fixed_array(
        self, element: Type, count: int, node: Node | None, slot: str, hint: str, sight: Sight
    ) -> None:
        size, part = size_of(element), part_of(node, 0)
        named = self.stores and node is not None and slot
        if size.fixed and (self.region is not None or (self.bit % 8 or size.lowest % 8)):
            self._bit_array(element, count, part, slot if named else "", hint, sight)
            return
        self.flush()
        if size.fixed:
            octets = size.lowest // 8 * count
            if not self.proven and octets:
                self.require(f"({self.end} - {self.at} >= {octets})")
            first = self.named(f"{slot} * {count}", "first") if named else ""
            self._loop(element, str(count), part, first, hint, sight)
            return
        first = self.named(f"{slot} * {count}", "first") if named else ""
        self._walk(f"range({count})", Array(element, count), part, first, hint, sight)

    def _loop(
        self, element: Type, count: str, part: Node | None, first: str, hint: str, sight: Sight
    ) -> None:
        """Elements of one size, whose bytes are all there: none waits for the one before."""
        writer, octets = self.writer, size_of(element).lowest // 8
        if part is None and not self.checks and is_flat(element):
            self.writer.line(f"{self.at} += {count} * {octets}")
            return
        outer_at, outer_proven, outer_good = self.at, self.proven, self.good
        gathers = self.checks and not self.good and is_flat(element)
        if gathers:
            self.good = writer.name("ok")
            writer.line(f"{self.good} = 0 < 1")
        number = writer.name("number")
        writer.line(f"for {number} in range({count}):")
        outer_index, sight.index = sight.index, number
        with writer.indented():
            self.at, self.proven = writer.name("here"), True
            writer.line(f"{self.at} = {outer_at} + {number} * {octets}")
            place = self.named(f"{first} + {number}", "place") if first else ""
            self.read(element, part, place, f"{hint}_item", sight)
            self.flush()
        sight.index = outer_index
        good = self.good
        self.at, self.proven, self.good = outer_at, outer_proven, outer_good
        if gathers:
            self.require(good)
        writer.line(f"{self.at} += {count} * {octets}")

    def _bit_array(
        self, element: Type, count: int, part: Node | None, slot: str, hint: str, sight: Sight
    ) -> None:
        """Elements below a byte: as many as fill whole bytes are written out, and looped over."""
        bits = size_of(element).lowest
        cycle = cycle_of(bits)
        rounds = count // cycle if self.region is None and count >= 4 * cycle and bits else 0
        first = self.named(f"{slot} * {count}", "first") if slot else ""
        done = rounds * cycle
        outer_index = sight.index
        if rounds:
            opened = self.take(rounds * cycle * bits)
            if not self.proven:
                self.require(f"({self.end} - {self.at} >= {-(-self.bit // 8)})")
            number = self.writer.name("number")
            self.writer.line(f"for {number} in range({rounds}):")
            with self.writer.indented():
                outer = self.at, self.bit, self.opened, self.proven
                start = self.octet(opened // 8)
                self.at, self.bit, self.opened, self.proven = self.writer.name("here"), opened % 8, None, True
                self.writer.line(f"{self.at} = {start} + {number} * {cycle * bits // 8}")
                for step in range(cycle):
                    index = self.named(f"{number} * {cycle} + {step}", "index")
                    sight.index = index
                    place = self.named(f"{first} + {index}", "place") if first else ""
                    self.read(element, part, place, f"{hint}_{step}", sight)
                self.at, self.bit, self.opened, self.proven = outer
        for at in range(done, count):
            sight.index = str(at)
            place = self.named(f"{first} + {at}", "place") if first else ""
            self.read(element, part, place, f"{hint}_{at}", sight)
        sight.index = outer_index

    # -- choices and regions

    def perhaps(
        self, condition: str, then: Type, node: Node | None, slot: str, hint: str, sight: Sight
    ) -> None:
        """Write what reads a value that is there under a condition."""
        self.flush()
        writer = self.writer
        writer.line(f"if {condition}:")
        self._case(then, node, 0, slot, 1, hint, sight)
        if self.stores and node is not None:
            writer.line("else:")
            writer.line(f"    c{node.array}[{slot}] = 0")

    def _case(
        self,
        kind: Type,
        node: Node | None,
        number: int,
        slot: str,
        tag: int,
        hint: str,
        sight: Sight,
        chosen: str = "",
    ) -> None:
        """What a choice comes to, in a block of its own; `chosen` gets its value."""
        writer, part = self.writer, part_of(node, number)
        with writer.indented():
            place = ""
            if node is not None and part is not None:
                if self.stores:
                    writer.line(f"c{node.array}[{slot}] = {tag}")
                    place = self.named(f"n{part.dim}", "place")
                writer.line(f"n{part.dim} += 1")
            value = self.read(kind, part, place, hint, sight)
            if chosen:
                writer.line(chosen.format(value.text))
            self.flush()
            writer.line("pass")

    def choice(self, kind: Switch | Select, node: Node | None, slot: str, hint: str, sight: Sight) -> Value:
        """Write what reads one of several types."""
        self.flush()
        writer = self.writer
        kinds = [valued(case) for case in parts_of(kind)]
        numbers = [case for case in kinds if isinstance(case, Integer | VarInt)]
        wide = any(case.highest >> 63 for case in numbers)
        found, chosen = ColumnValue("", "", wide=wide), ""
        if len(numbers) == len(kinds):  # then expressions can read which number it is
            found.text = writer.name(hint)
            chosen = f"{found.text} = {'uint64' if wide else 'int64'}({{}})"
        if isinstance(kind, Select):
            conditions = [
                self.kernel("begins_with", "data", self.at, self.end, repr(start)) for start, _ in kind.cases
            ]
            default = None
        else:
            default = kind.default
            key = ""
            if any(isinstance(case, int) for case, _ in kind.cases):
                key = self.named(self.number(kind.key, sight), f"{hint}_key")
            conditions = [
                f"{key} == {int(case)}" if isinstance(case, int) else self.equals(kind.key, case, sight)
                for case, _ in kind.cases
            ]
        word = "if"
        for number, (condition, then) in enumerate(zip(conditions, parts_of(kind), strict=False)):
            writer.line(f"{word} {condition}:")
            self._case(then, node, number, slot, number, hint, sight, chosen)
            word = "elif"
        if default is not None:
            writer.line("else:")
            self._case(default, node, len(conditions), slot, len(conditions), hint, sight, chosen)
        elif self.checks:
            writer.line("else:")
            with writer.indented():
                self.require("False")
        return found


def part_of(node: Node | None, number: int) -> Node | None:
    """Return a part of a node, if there is a node."""
    return node.parts[number] if node is not None else None

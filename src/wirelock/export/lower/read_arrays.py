"""Statements that read arrays: counted, to the end of the region, or until one says that it is the last.

No count allocates more than the bytes that are left can hold.
"""

from __future__ import annotations

from abc import abstractmethod

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import compared, interval_of, operation, plus, truth
from wirelock.export.lower.places import fixed_size
from wirelock.export.lower.read_block import left, less
from wirelock.export.lower.read_fixed import Fixed
from wirelock.export.lower.read_goal import Goal, quotient, times
from wirelock.export.lower.read_spot import Spot
from wirelock.export.lower.units import INDEX, POSITION
from wirelock.layout.nodes import Array, Layout, Prefix, Rest, Type, Until, VarInt, plain
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Expression, Limit

__all__ = ["Arrays"]

Limits = tuple[Limit, ...]


class Arrays(Fixed):
    """Reads arrays of no fixed size."""

    def array(self, kind: Array, limits: Limits, at: v.Value, end: v.Value, goal: Goal) -> v.Value:
        """Read an array from a byte on; return the byte behind it."""
        place, element = st.Place(goal.steps, at), kind.element
        bits = fixed_size(element)
        match kind.count:
            case Rest() if bits:
                size = left(end, at)
                count = self.let(f"{goal.hint}_count", quotient(size, bits // 8), POSITION)
                uneven = (
                    compared("!=", operation("%", size, v.Int(bits // 8)), 0) if bits > 8 else v.Truth(False)
                )
                self.counted_limits(limits, count, place)
                return self._loaded(element, bits // 8, count, uneven, at, end, goal)
            case Rest() | Until():
                return self._growing(kind, limits, at, end, goal)
            case Prefix() as prefix:
                start, count = self.prefix(prefix, at, end, goal)
            case stated:
                start, count = at, self.count(stated, place)
        count = self.let(f"{goal.hint}_count", count)
        if interval_of(count)[0] < 0 and isinstance(kind.count, Prefix):
            self.fail_if(less(count, 0), "bad-count", place)
        self.counted_limits(limits, count, place)
        if bits:
            # By division: a count from the wire may be larger than any product of it.
            cut = compared(">", count, quotient(left(end, start), bits // 8))
            return self._loaded(element, bits // 8, count, cut, start, end, goal)
        return self._one_by_one(element, count, start, end, goal)

    def prefix(self, kind: Prefix, at: v.Value, end: v.Value, goal: Goal) -> tuple[v.Value, v.Value]:
        """Read the count or size before what it counts; return the byte behind it, and the number."""
        if isinstance(kind.integer, VarInt):
            return self.varint(kind.integer, at, end, goal)
        size, spot = size_of(kind.integer).lowest // 8, Spot(at)
        self.fail_if(less(left(end, at), size), "truncated", st.Place(goal.steps, at))
        return plus(at, size), self.let(f"{goal.hint}_number", spot.raw(kind.integer, self.let))

    def _loaded(
        self, element: Type, size: int, count: v.Value, cut: v.Value, at: v.Value, end: v.Value, goal: Goal
    ) -> v.Value:
        """Read so many elements of fixed size; `cut` says whether the last one is cut off."""
        place, index = st.Place(goal.steps, at), v.Local(self.names.new("i"), INDEX)
        with self.block() as body:
            self._element(element, Spot(plus(at, times(index, size))), goal.item(index), None)
        if cut != v.Truth(False):
            with self.block(cold=True) as cold:
                self.make_room(goal, v.Int(1), place)
                more = plus(quotient(left(end, at), size), 1)
                self.cold_elements(element, more, Spot(at), end, goal, last=True)
            self.add(st.When(cut, tuple(cold)))
        count = self.narrowed(f"{goal.hint}_count", count)
        self.make_room(goal, count, place)
        self.add(st.For(index, count, tuple(body)))
        return self.let(f"after_{goal.hint}", plus(at, times(count, size)), POSITION)

    def _one_by_one(self, element: Type, count: v.Value, at: v.Value, end: v.Value, goal: Goal) -> v.Value:
        """Read so many elements of no fixed size."""
        least = size_of(element).lowest // 8
        if least and not isinstance(count, v.Int):
            # More than this cannot be there: reading the last of them fails.
            most = plus(quotient(left(end, at), least), 1)
            least_of = v.Op("min", (count, most), min(interval_of(count)[0], 1), interval_of(most)[1])
            count = self.narrowed(f"{goal.hint}_most", least_of)
        self.make_room(goal, count, st.Place(goal.steps, at))
        behind = self.var(f"after_{goal.hint}", at)
        index = v.Local(self.names.new("i"), INDEX)
        with self.block() as body, self.counting(index):
            self._next(element, behind, end, goal.item(index))
        self.add(st.For(index, count, tuple(body)))
        return behind

    def _next(self, element: Type, behind: v.Local, end: v.Value, goal: Goal) -> v.Value | None:
        """Read the element at a Var, and set that to the byte behind; return the element's value."""
        if isinstance(plain(element), Layout) and fixed_size(element) is None:
            self.read_record(behind, end, goal, behind)
            return None
        start = v.Local(self.names.new(f"{goal.hint}_start"), POSITION)
        self.add(st.Let(start, behind))
        found, value = self.dynamic(element, start, end, goal)
        self.add(st.Set(behind, found))
        return value

    def read_record(self, at: v.Value, end: v.Value, goal: Goal, result: v.Local | None) -> None:
        """Read a record by its own function."""
        record = self.record_of(goal)
        assert goal.target is not None
        arguments = self.scope.arguments(record)
        self.add(st.Read(record.name, goal.target, at, end, goal.steps, result, arguments))

    def _growing(self, kind: Array, limits: Limits, at: v.Value, end: v.Value, goal: Goal) -> v.Value:
        """Read elements as long as there are bytes, or until one says that it is the last."""
        place, over = st.Place(goal.steps, at), None
        if limits:
            over = v.Local(self.names.new(f"{goal.hint}_faults"), POSITION)
            self.add(st.Let(over, v.FaultCount()))
        if isinstance(goal.target, v.Within) and not isinstance(kind.count, Until):
            self.add(st.Allocate(goal.target, v.Int(0), place))  # a list without elements is present too
        behind = self.var(f"after_{goal.hint}", at)
        size = self.var(f"{goal.hint}_count", v.Int(0))
        with self.block() as body:
            number = v.Local(self.names.new("i"), INDEX)
            self.add(st.Let(number, size))
            if goal.target is not None:
                self.add(st.Extend(goal.target, size, place))
            else:
                self.add(st.Set(size, plus(size, 1)))
            there = goal.item(number)
            with self.counting(number):
                value = self._next(kind.element, behind, end, there)
                if isinstance(kind.count, Until):
                    last = self._is_last(kind.count, kind.element, there, value)
                    self.add(st.When(last, (st.Break(),)))
        going_on = v.Truth(True) if isinstance(kind.count, Until) else less(behind, end)
        self.add(st.While(going_on, tuple(body)))
        self.counted_limits(limits, size, place, over)
        return behind

    def _is_last(self, count: Until, element: Type, goal: Goal, value: v.Value | None) -> v.Value:
        """Return whether an element ends its array."""
        found = goal.target if value is None else value
        assert found is not None, "an array of what holds nothing is refused"
        return truth(count.condition, self.scope.of_element(found, element))

    @abstractmethod
    def varint(self, kind: VarInt, at: v.Value, end: v.Value, goal: Goal) -> tuple[v.Value, v.Local]:
        """Read a varint; return the byte behind it, and its value."""

    @abstractmethod
    def count(self, stated: int | Expression, place: st.Place) -> v.Value:
        """Return a length or count; fail where it is negative."""

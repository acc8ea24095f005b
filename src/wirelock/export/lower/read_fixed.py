"""Statements that read values at fixed places: where their bytes are there, and where the last ones are not.

`fixed` reads a value whose bytes are there. `cold` is for a run whose last bytes are missing: it goes through
the values in wire order until the one that is cut off, so that a fault before it is found first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import gcd

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import all_of, compared, lower, plus, rule_notes
from wirelock.export.lower.read_block import ReadScope, Steps, left, less
from wirelock.export.lower.read_goal import (
    Goal,
    counts_by_itself,
    framed,
    length_kept,
    quotient,
    says_nothing,
    spots_of,
    times,
    value_in,
)
from wirelock.export.lower.read_leaves import Leaves
from wirelock.export.lower.read_spot import Spot
from wirelock.export.lower.references import own_labels
from wirelock.export.lower.units import INDEX
from wirelock.export.program import RecordDecl
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    Framed,
    Integer,
    Layout,
    Mapping,
    Padded,
    Padding,
    Rest,
    Scaled,
    Sequence,
    Sized,
    Text,
    Time,
    Type,
    limits_of,
    plain,
    valued,
)
from wirelock.layout.sizes import padding_behind, size_of
from wirelock.layout.terms import Limit

__all__ = ["Fixed"]

UNROLLED = 8
"""So many elements below a byte are read one by one, without a loop."""


class Fixed(Leaves, ABC):
    """Reads values at fixed places. `scope` holds the fields of the record that is being read."""

    scope: ReadScope
    _run_base: v.Value | None = None
    _run_size = 0
    _sure = 0
    """Of the run that is cut off: where it begins, its bytes, and how many were found to be there."""

    # -- records

    @contextmanager
    def inside(self, scope: ReadScope) -> Iterator[None]:
        """Read the fields of another record meanwhile."""
        outer, needed = getattr(self, "scope", None), self.needed
        self.scope, self.needed = scope, own_labels(scope.layout)
        yield
        if outer is not None:
            self.scope = outer
        self.needed = needed

    @contextmanager
    def counting(self, index: v.Value) -> Iterator[None]:
        """Read the element of that number meanwhile."""
        outer, self.scope.index = self.scope.index, index
        yield
        self.scope.index = outer

    @contextmanager
    def cold_run(self, base: v.Value, size: int) -> Iterator[list[st.Statement]]:
        """Collect the statements that find the fault of a run of so many bytes, of which some are missing."""
        known, run = dict(self.scope.known), (self._run_base, self._run_size, self._sure)
        self._run_base, self._run_size, self._sure = base, size, 0
        with self.block(cold=True) as found:
            yield found
        self._run_base, self._run_size, self._sure = run
        self.scope.known = known

    def is_cut(self, end: v.Value, spot: Spot, bits: int) -> v.Value:
        """Return whether a value of a run is cut off: the last one is, one whose bytes were tested is not."""
        needed = (spot.bit + bits + 7) // 8
        if spot.base == self._run_base:
            if needed <= self._sure:
                return v.Truth(False)
            self._sure = needed
            if needed == self._run_size:
                return v.Truth(True)
        return less(left(end, spot.base), needed)

    def ends_run(self, spot: Spot, bits: int) -> bool:
        """Whether a run that is cut off ends with a value, so that its end is missing for sure."""
        return spot.base == self._run_base and (spot.bit + bits + 7) // 8 == self._run_size

    def record_of(self, goal: Goal) -> RecordDecl:
        """Return the record that a value is."""
        kind = goal.type
        assert isinstance(kind, v.RecordType), kind
        return self.records[kind.name]

    def scope_of(self, record: RecordDecl, target: v.Value) -> ReadScope:
        """Return the scope of a record that is read by the function of the one around it."""
        return ReadScope(record, self.records, target, self.scope)

    def goal(self, item: Field, steps: Steps) -> Goal:
        """Return the goal of a field."""
        return Goal(self.scope.member(item), (*steps, item.label), item.label)

    def members(self, spot: Spot, steps: Steps, end: v.Value | None = None) -> None:
        """Read the fields of a record of fixed size; with `end` until the one that is cut off, if one is."""
        layout = self.scope.layout
        bits, starts = size_of(layout).lowest, dict(spots_of(layout, spot))
        surely_cut = end is not None and self.ends_run(spot, bits)
        if end is not None and layout.order != "wire":
            place = st.Place((*steps, layout.fields[0].label), spot.byte)
            self.fail_if(self.is_cut(end, spot, bits), "truncated", place)
            end = None
        for item in layout.fields:
            goal, at = self.goal(item, steps), starts[item.label]
            if end is None:
                self.learn(item, self.fixed(item.type, at, goal))
            else:
                self.learn(item, self.cold(item.type, at, end, goal))
        if not surely_cut:
            self.finish(starts, st.Place(steps, spot.byte))

    def learn(self, item: Field, value: v.Value | None) -> None:
        """Remember the value of a field for expressions."""
        if value is not None:
            self.scope.known[item.label] = value

    def finish(self, starts: dict[str, Spot], place: st.Place) -> None:
        """Check what follows from all fields of a record: derived ones, then rules."""
        layout = self.scope.layout
        for item in layout.fields:
            if (
                item.derived is None
                or isinstance(valued(item.type), Computed)
                or counts_by_itself(item, layout)
            ):
                continue
            found, implied = self.scope.known[item.label], lower(item.derived, self.scope.value_of)
            there = starts[item.label].place((*place.steps, item.label), item.type)
            self.fail_if(compared("!=", found, implied), "bad-count", there)
        if not self.is_cold:
            self.add(*rule_notes(layout.rules, self.scope.value_of, self.names, place))

    # -- where the bytes are there

    def fixed(self, kind: Type, spot: Spot, goal: Goal) -> v.Value | None:
        """Read a value whose bytes are there; return it as expressions see it, where one may."""
        limits, inner = limits_of(kind), plain(kind)
        target, steps, hint = goal.target, goal.steps, goal.hint
        match inner:
            case (
                Integer() | Float() | Flag() | Enum() | Flags() | Mapping() | Scaled() | Time()
            ):  # fmt: skip
                return self.scalar(inner, limits, spot, target, steps, hint)
            case Constant():
                return self.constant(inner, spot, steps)
            case Padding():
                self.padding(inner, spot, steps)
            case Bytes(length=int(length)):
                return self.octets(spot.byte, v.Int(length), limits, target, spot.start(steps), hint)
            case Text(inner=content):
                end = self._content_end(content, spot, hint)
                return self.text(inner, limits, spot.byte, end, target, spot.start(steps), hint)
            case Sized(inner=content) if plain(content) == Bytes(Rest()):
                limits += limits_of(content)
                size = left(self._content_end(inner, spot, hint), spot.byte)
                return self.octets(spot.byte, size, limits, target, spot.start(steps), hint)
            case Sized(inner=content):
                return self.fixed(content, spot, goal)
            case Computed(expression=expression):
                if limits:
                    self.limit(lower(expression, self.scope.value_of), limits, spot.start(steps))
            case Padded() | Framed() | Sequence():
                return [self.fixed(*part) for part in self.parts(inner, spot, goal)][value_in(inner)]
            case Array(element=element, count=int(count)):
                self.counted_limits(limits, v.Int(count), spot.place(steps, inner, value=True))
                self.make_room(goal, v.Int(count), spot.start(steps))
                self.each(
                    count, size_of(element).lowest, spot,
                    lambda at, number: self._element(element, at, goal.item(number), None),
                )  # fmt: skip
            case Layout():
                self._nested(spot, goal)
        return None

    def _content_end(self, kind: Type, spot: Spot, hint: str) -> v.Value:
        """Return the end of what is inside of a region of fixed size: without the NULs that pad it."""
        end = plus(spot.byte, size_of(kind).lowest // 8)
        if not isinstance(kind, Sized) or not kind.stripped:
            return end
        return self.stripped(spot.byte, end, kind.stripped, hint)

    def stripped(self, at: v.Value, end: v.Value, unit: int, hint: str) -> v.Value:
        """Return the end of bytes without the NULs behind them."""
        call = v.Call("strip_nuls", (at, end, v.Int(unit)), INDEX, 0, MAX_LENGTH)
        return self.let(f"{hint}_end", call)

    def parts(
        self, kind: Padded | Framed | Sequence, spot: Spot, goal: Goal
    ) -> Iterator[tuple[Type, Spot, Goal]]:
        """Yield what a type is made of, with its place and goal."""
        match kind:
            case Padded(inner=inner, pattern=pattern):
                yield inner, spot, goal
                yield Padding(padding_behind(kind) or 0, 8, pattern), spot.on(size_of(inner).lowest), goal
            case Framed():
                for number, (part, there) in enumerate(framed(kind, goal)):
                    del number
                    yield part, spot, there
                    spot = spot.on(size_of(part).lowest)
            case Sequence(types=types):
                for part, there in zip(types, self.sequence_goals(kind, goal), strict=True):
                    yield part, spot, there
                    spot = spot.on(size_of(part).lowest)

    def sequence_goals(self, kind: Sequence, goal: Goal) -> Iterator[Goal]:
        """Yield the goals of the values of a Sequence."""
        record = None if goal.target is None else self.record_of(goal)
        for number, _ in enumerate(kind.types):
            there = goal.part(number)
            held = [item for item in record.fields if item.name == f"item_{number}"] if record else []
            if held and goal.target is not None:
                there = replace(there, target=v.Member(goal.target, held[0].name, held[0].type))
            yield there

    def counted_limits(
        self, limits: tuple[Limit, ...], count: v.Value, place: st.Place, over: v.Local | None = None
    ) -> None:
        """Note an array whose length is not within its limits."""
        kept = all_of(length_kept(count, limit) for limit in limits)
        self.note_unless(kept, "out-of-range", place, over)

    def each(self, count: int, bits: int, spot: Spot, read: Callable[[Spot, v.Value], None]) -> None:
        """Read so many elements of so many bits: in a loop, or one by one."""
        if count and spot.aligned and bits % 8 == 0:
            index = v.Local(self.names.new("i"), INDEX)
            with self.block() as body:
                read(Spot(plus(spot.byte, times(index, bits // 8))), index)
            self.add(st.For(index, v.Int(count), tuple(body)))
            return
        period = 8 // gcd(8, bits)
        rounds = 0 if count <= UNROLLED or spot.order != "wire" else count // period
        if rounds:
            index = v.Local(self.names.new("i"), INDEX)
            with self.block() as body:
                base = self.let("start", plus(spot.base, times(index, bits * period // 8)))
                for number in range(period):
                    at = Spot(base, spot.bit + number * bits)
                    read(at, plus(times(index, period), number))
            self.add(st.For(index, v.Int(rounds), tuple(body)))
        for number in range(rounds * period, count):
            read(spot.on(number * bits), v.Int(number))

    def _element(self, kind: Type, spot: Spot, goal: Goal, end: v.Value | None) -> None:
        index = goal.steps[-1]
        assert not isinstance(index, str)
        with self.counting(index):
            if end is None:
                self.fixed(kind, spot, goal)
            else:
                self.cold(kind, spot, end, goal)

    def _nested(self, spot: Spot, goal: Goal) -> None:
        record = self.record_of(goal)
        assert goal.target is not None
        if spot.aligned and record.size is not None:
            arguments = self.scope.arguments(record)
            self.add(
                st.Read(record.name, goal.target, spot.byte, None, goal.steps, None, arguments, load=True)
            )
            return
        with self.inside(self.scope_of(record, goal.target)):
            self.members(spot, goal.steps)

    # -- where the last bytes are not

    def cold(self, kind: Type, spot: Spot, end: v.Value, goal: Goal) -> v.Value | None:
        """Read a value of a run that is cut off, and fail if it is here."""
        inner, bits = plain(kind), size_of(kind).lowest
        match inner:
            case _ if not bits:
                return self.fixed(kind, spot, goal)
            case Padded() | Framed() | Sequence():
                parts = [self.cold(part, at, end, there) for part, at, there in self.parts(inner, spot, goal)]
                return parts[value_in(inner)]
            case Array(element=element, count=int(count)):
                self.make_room(goal, v.Int(count), spot.start(goal.steps))
                self.cold_elements(element, v.Int(count), spot, end, goal, last=self.ends_run(spot, bits))
            case Layout():
                record = self.record_of(goal)
                assert goal.target is not None
                if spot.aligned and record.size is not None:
                    arguments = self.scope.arguments(record)
                    self.add(st.Read(record.name, goal.target, spot.byte, end, goal.steps, None, arguments))
                else:
                    with self.inside(self.scope_of(record, goal.target)):
                        self.members(spot, goal.steps, end)
            case _:
                told = isinstance(inner, Bytes | Padding | Text | Sized)
                told = told or (isinstance(inner, Constant) and isinstance(inner.type, Bytes))
                place = spot.start(goal.steps) if told else spot.place(goal.steps, kind)
                self.fail_if(self.is_cut(end, spot, bits), "truncated", place)
                return self.fixed(kind, spot, goal)
        return None

    def cold_elements(
        self, element: Type, count: v.Value, spot: Spot, end: v.Value, goal: Goal, *, last: bool
    ) -> None:
        """Read elements until one is cut off."""
        inner, bits = plain(element), size_of(element).lowest
        if spot.aligned and bits % 8 == 0:
            if says_nothing(inner):
                fits = self.let("fits", quotient(left(end, spot.byte), bits // 8))
                there = Spot(plus(spot.byte, times(fits, bits // 8)))
                place = there.place((*goal.steps, fits), element)
                self.fail_if(v.Truth(True) if last else less(fits, count), "truncated", place)
                return
            index = v.Local(self.names.new("i"), INDEX)
            with self.block() as body:
                at = Spot(self.let("start", plus(spot.byte, times(index, bits // 8))))
                self._element(element, at, self._scratch(goal, index), end)
            self.add(st.For(index, count, tuple(body)))
            return
        assert isinstance(count, v.Int)
        self.each(
            count.value, bits, spot, lambda at, number: self._element(element, at, goal.item(number), end)
        )

    def make_room(self, goal: Goal, count: v.Value, place: st.Place) -> None:
        """Make the elements of a list: those of a fixed one are there, unless an option holds it."""
        kind = goal.type
        if not isinstance(kind, v.ListType) or (self.is_cold and not isinstance(kind.element, v.RecordType)):
            return
        if goal.target is not None and (kind.size is None or isinstance(goal.target, v.Within)):
            self.add(st.Allocate(goal.target, count, place))

    def _scratch(self, goal: Goal, index: v.Value) -> Goal:
        """Return the goal of an element that is only read for its fault: all share one place."""
        there = goal.item(index)
        if goal.target is None or not isinstance(there.type, v.RecordType):
            return there
        kind = goal.type
        assert isinstance(kind, v.ListType)
        return replace(
            there, target=v.Item(goal.target, v.Int(0) if kind.size is None else index, kind.element)
        )

    @abstractmethod
    def dynamic(self, kind: Type, at: v.Value, end: v.Value, goal: Goal) -> tuple[v.Value, v.Value | None]:
        """Read a value of any kind from a byte on; return the byte behind it, and the value."""

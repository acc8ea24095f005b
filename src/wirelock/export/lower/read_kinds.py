"""Statements that read values whose size is known when they are read: choices, regions, text, varints."""

from __future__ import annotations

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import all_of, any_of, compared, interval_of, lower, plus, truth
from wirelock.export.lower.places import fixed_size
from wirelock.export.lower.read_arrays import Arrays
from wirelock.export.lower.read_block import Steps, left, less
from wirelock.export.lower.read_goal import Goal, framed
from wirelock.export.lower.read_leaves import varint_type
from wirelock.export.lower.read_spot import Spot
from wirelock.export.lower.units import POSITION, holds_nothing, is_option
from wirelock.export.lower.write_scope import chosen_by_key
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Field,
    Framed,
    If,
    Layout,
    Multiple,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Terminator,
    Text,
    Type,
    VarInt,
    limits_of,
    plain,
)
from wirelock.layout.operators import INT64
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Expression

__all__ = ["Kinds"]

Read = tuple[v.Value, v.Value | None]
"""The byte behind a value, and the value where expressions may see it."""


class Kinds(Arrays):
    """Reads values of any kind. `at` is a byte that keeps its place, `end` that behind the region."""

    def fields(self, at: v.Value, end: v.Value, steps: Steps) -> v.Value:
        """Read the fields of a record of no fixed size; return the byte behind it."""
        starts: dict[str, Spot] = {}
        run: list[Field] = []
        begin, spot = at, Spot(at)
        for item in self.scope.layout.fields:
            size = fixed_size(item.type)
            starts[item.label] = spot
            if size is not None:
                run.append(item)
                spot = spot.on(size)
                continue
            self._run(run, starts, spot, end, steps)
            run = []
            begin, value = self.dynamic(item.type, self.let("start", spot.byte), end, self.goal(item, steps))
            starts[item.label] = Spot(starts[item.label].byte)
            self.learn(item, value)
            spot = Spot(begin)
        self._run(run, starts, spot, end, steps)
        self.finish(starts, st.Place(steps, at))
        return spot.byte

    def _run(
        self, run: list[Field], starts: dict[str, Spot], behind: Spot, end: v.Value, steps: Steps
    ) -> None:
        """Read fields at fixed places, one behind the other."""
        if len(run) == 1 and size_of(run[0].type).lowest == behind.bit:
            only, goal = run[0], self.goal(run[0], steps)
            self.learn(only, self._whole(only.type, behind.bit, behind.base, end, goal)[1])
            return
        before = dict(self.scope.known)
        with self.block() as body:
            for item in run:
                self.learn(item, self.fixed(item.type, starts[item.label], self.goal(item, steps)))
        if size := behind.bit // 8:
            after, self.scope.known = self.scope.known, before
            with self.cold_run(behind.base, size) as cold:
                for item in run:
                    self.learn(item, self.cold(item.type, starts[item.label], end, self.goal(item, steps)))
            self.scope.known = after
            self.add(st.When(less(left(end, behind.base), size), tuple(cold)))
        self.add(*body)

    def dynamic(self, kind: Type, at: v.Value, end: v.Value, goal: Goal) -> Read:
        """Read a value of any kind from a byte on; return the byte behind it, and the value."""
        size = fixed_size(kind)
        if size is not None:
            return self._whole(kind, size, at, end, goal)
        limits, inner, place = limits_of(kind), plain(kind), st.Place(goal.steps, at)
        match inner:
            case Layout():
                return self._layout(at, end, goal), None
            case Array():
                return self.array(inner, limits, at, end, goal), None
            case If(condition=condition, type=then):
                return self._optional(truth(condition, self.scope.value_of), then, at, end, goal), None
            case Optional(inner=then):
                return self._optional(less(at, end), then, at, end, goal), None
            case Switch():
                return self._switch(inner, at, end, goal), goal.target
            case Select():
                return self._select(inner, at, end, goal), None
            case Bytes(length=length):
                size_there = left(end, at) if isinstance(length, Rest) else self.count(length, place)
                if not isinstance(length, Rest):
                    self.fail_if(compared(">", size_there, left(end, at)), "truncated", place)
                size_there = self.narrowed(f"{goal.hint}_size", size_there)
                value = self.octets(at, size_there, limits, goal.target, place, goal.hint)
                behind = end if isinstance(length, Rest) else self._behind(at, size_there, goal)
                return behind, value
            case Padding(length=length, pattern=pattern):
                assert not isinstance(length, int)
                size_there = self.count(length, place)
                self.fail_if(compared(">", size_there, left(end, at)), "truncated", place)
                behind = self._behind(at, self.narrowed(f"{goal.hint}_size", size_there), goal)
                self.filled(at, behind, pattern, goal.steps, goal.hint)
                return behind, None
            case VarInt():
                behind, raw = self.varint(inner, at, end, goal)
                return behind, self.kept(raw, raw, limits, goal.target, place, goal.hint)
            case Text(inner=content):
                if isinstance(content, Sized):
                    start, stop, behind = self._region(content, at, end, goal)
                else:
                    start, behind = at, self._content(content, at, end, goal)
                    stop = behind
                return behind, self.text(inner, limits, start, stop, goal.target, place, goal.hint)
            case Padded():
                return self._padded(inner, at, end, goal)
            case Sized():
                return self._sized(inner, at, end, goal)
            case Terminated():
                self.fail_if(less(at, end), "trailing-bytes", place)
                return at, None
            case Framed() as frame:
                value = None
                for number, (part, there) in enumerate(framed(frame, goal)):
                    at, found = self.dynamic(part, at, end, there)
                    value = found if number == len(frame.before) else value
                return at, value
            case Sequence() as sequence:
                for part, there in zip(sequence.types, self.sequence_goals(sequence, goal), strict=True):
                    at = self.dynamic(part, at, end, there)[0]
                return at, None
        raise AssertionError(f"{inner} is read at a fixed place, or refused")

    def _whole(self, kind: Type, bits: int, at: v.Value, end: v.Value, goal: Goal) -> Read:
        """Read a value of fixed size."""
        spot, inner = Spot(at), plain(kind)
        if isinstance(inner, Layout) and self.record_of(goal).size is not None:
            self.read_record(at, end, goal, None)
            return plus(at, bits // 8), None
        with self.block() as body:
            value = self.fixed(kind, spot, goal)
        if bits:
            with self.cold_run(at, bits // 8) as cold:
                self.cold(kind, spot, end, goal)
            self.add(st.When(less(left(end, at), bits // 8), tuple(cold)))
        self.add(*body)
        return plus(at, bits // 8), value

    def _layout(self, at: v.Value, end: v.Value, goal: Goal) -> v.Value:
        behind = self.var(f"after_{goal.hint}", at)
        self.read_record(at, end, goal, behind)
        return behind

    def _behind(self, at: v.Value, size: v.Value, goal: Goal) -> v.Value:
        """Return the byte behind so many bytes that are there."""
        there = plus(at, size) if isinstance(size, v.Int) else v.Op("+", (at, size), 0, MAX_LENGTH)
        return self.let(f"after_{goal.hint}", there, POSITION)

    def count(self, stated: int | Expression, place: st.Place) -> v.Value:
        """Return a length or count; fail where it is negative."""
        if isinstance(stated, int):
            return v.Int(stated)
        found = lower(stated, self.scope.value_of)
        low, high = interval_of(found)
        if low < 0 or (high > INT64[1] and not isinstance(found, v.Local)):
            found = self.let("count", found)
        if low < 0:
            self.fail_if(less(found, 0), "bad-count", place)
        return found

    def varint(self, kind: VarInt, at: v.Value, end: v.Value, goal: Goal) -> tuple[v.Value, v.Local]:
        """Read a varint; return the byte behind it, and its value."""
        behind = self.var(f"after_{goal.hint}", at)
        raw = v.Local(self.names.new(f"{goal.hint}_value"), varint_type(kind))
        self.add(st.ReadVarint(raw, kind.zigzag, behind, end, st.Place(goal.steps, at)))
        return behind, raw

    # -- choices

    def _optional(self, there: v.Value, kind: Type, at: v.Value, end: v.Value, goal: Goal) -> v.Value:
        """Read a value where a condition holds."""
        behind = self.var(f"after_{goal.hint}", at)
        target, flag = goal.target, None
        if target is not None and holds_nothing(kind):
            target, flag = None, target
        elif target is not None and not is_option(kind):
            inner = goal.type
            assert isinstance(inner, v.OptionType)
            target = v.Within(target, inner.inner)
        with self.block() as then:
            found, _ = self.dynamic(kind, at, end, Goal(target, goal.steps, goal.hint))
            self.add(st.Set(behind, found))
        if flag is not None:
            self.add(st.Set(flag, there))
        self.add(st.When(there, tuple(then)))
        return behind

    def _switch(self, kind: Switch, at: v.Value, end: v.Value, goal: Goal) -> v.Value:
        behind = self.var(f"after_{goal.hint}", at)
        bodies: list[tuple[st.Statement, ...]] = []
        for number, case in enumerate(kind.types):
            with self.block() as body:
                found, _ = self.dynamic(case, at, end, self._case(goal, number))
                self.add(st.Set(behind, found))
            bodies.append(tuple(body))
        missing: tuple[st.Statement, ...] = (st.Fail("unknown-case", st.Place(goal.steps, at)),)
        otherwise = missing if kind.default is None else bodies[len(kind.cases)]
        self.add(*chosen_by_key(kind, bodies, otherwise, self.scope))
        return behind

    def _case(self, goal: Goal, number: int) -> Goal:
        """Return the goal of a value in a case of a choice; the block that is written chooses it."""
        kind = goal.type
        if goal.target is None or not isinstance(kind, v.ChoiceType):
            return goal
        self.add(st.Set(v.Which(goal.target), v.Int(number)))
        inner = kind.cases[number][1]
        target = None if inner is None else v.CaseOf(goal.target, number, inner)
        return Goal(target, goal.steps, goal.hint)

    def _select(self, kind: Select, at: v.Value, end: v.Value, goal: Goal) -> v.Value:
        behind = self.var(f"after_{goal.hint}", at)
        place = st.Place(goal.steps, at)
        begun = []
        for start, _ in kind.cases:
            begun += [start[:size] for size in range(len(start))]
        cut = any_of(
            all_of([compared("==", left(end, at), len(part)), *([v.Equal(at, None, part)] if part else [])])
            for part in dict.fromkeys(begun)
        )
        chain: tuple[st.Statement, ...] = (
            st.When(cut, (st.Fail("truncated", place),)),
            st.Fail("unknown-case", place),
        )
        for number, (start, layout) in [*enumerate(kind.cases)][::-1]:
            with self.block() as body:
                found, _ = self.dynamic(layout, at, end, self._case(goal, number))
                self.add(st.Set(behind, found))
            there = all_of([compared(">=", left(end, at), len(start)), v.Equal(at, None, start)])
            chain = (st.When(there, tuple(body), chain),)
        self.add(*chain)
        return behind

    # -- regions

    def _content(self, kind: Bytes, at: v.Value, end: v.Value, goal: Goal) -> v.Value:
        """Return the byte behind bytes that are there; fail where they are not."""
        if isinstance(kind.length, Rest):
            return end
        place = st.Place(goal.steps, at)
        size = self.count(kind.length, place)
        self.fail_if(compared(">", size, left(end, at)), "truncated", place)
        return self._behind(at, self.narrowed(f"{goal.hint}_size", size), goal)

    def _region(self, kind: Sized, at: v.Value, end: v.Value, goal: Goal) -> tuple[v.Value, v.Value, v.Value]:
        """Return where the inside of a region begins and ends, and the byte behind the region."""
        place, hint = st.Place(goal.steps, at), goal.hint
        match kind.extent:
            case Terminator(mark=mark):
                call = v.Call(
                    "find_mark",
                    (at, end, v.Octets(mark)),
                    v.IntType(64, True, -1, MAX_LENGTH),
                    -1,
                    MAX_LENGTH,
                )
                stop: v.Value = self.let(f"{hint}_mark", call)
                self.fail_if(less(stop, 0), "truncated", place)
                start, behind = at, plus(stop, len(mark))
            case extent:
                if isinstance(extent, Prefix):
                    start, size = self.prefix(extent, at, end, goal)
                    if extent.includes:
                        size = v.Op(
                            "-", (size, v.Int(size_of(extent.integer).lowest // 8)), *_less(size, extent)
                        )
                    if interval_of(size)[0] < 0:
                        size = self.let(f"{hint}_size", size)
                        self.fail_if(less(size, 0), "bad-count", place)
                else:
                    start, size = at, self.count(extent, place)
                size = self.let(f"{hint}_size", size)
                self.fail_if(compared(">", size, left(end, start)), "truncated", st.Place(goal.steps, start))
                size = self.narrowed(f"{hint}_size", size)
                stop = self.let(f"{hint}_end", _sum(start, size), POSITION)
                behind = stop
        if kind.stripped:
            stop = self.stripped(start, stop, kind.stripped, hint)
        return start, stop, behind

    def _sized(self, kind: Sized, at: v.Value, end: v.Value, goal: Goal) -> Read:
        start, stop, behind = self._region(kind, at, end, goal)
        found, value = self.dynamic(kind.inner, start, stop, goal)
        if found != stop:
            self.fail_if(less(found, stop), "trailing-bytes", st.Place(goal.steps, found))
        return behind, value

    def _padded(self, kind: Padded, at: v.Value, end: v.Value, goal: Goal) -> Read:
        found, value = self.dynamic(kind.inner, at, end, goal)
        found = self.let(f"{goal.hint}_end", found, POSITION)
        size, place = left(found, at), st.Place(goal.steps, at)
        if isinstance(kind.length, Multiple):
            of = kind.length.of
            missing: v.Value = v.Op("%", (v.Op("neg", (size,), -MAX_LENGTH, 0), v.Int(of)), 0, of - 1)
        else:
            target = self.let(f"{goal.hint}_size", self.count(kind.length, place))
            self.fail_if(less(target, size), "bad-count", place)
            missing = v.Op("-", (target, size), 0, max(interval_of(target)[1], 0))
        missing = self.let(f"{goal.hint}_padding", missing)
        self.fail_if(compared(">", missing, left(end, found)), "truncated", st.Place(goal.steps, found))
        missing = self.narrowed(f"{goal.hint}_padding", missing)
        behind = self._behind(found, missing, Goal(None, goal.steps, f"{goal.hint}_padding"))
        self.filled(found, behind, kind.pattern, goal.steps, goal.hint)
        return behind, value


def _sum(start: v.Value, size: v.Value) -> v.Value:
    """Return the end of bytes that are there."""
    return plus(start, size) if isinstance(size, v.Int) else v.Op("+", (start, size), 0, MAX_LENGTH)


def _less(size: v.Value, prefix: Prefix) -> tuple[int, int]:
    """Return the interval of a size without the bytes of its prefix."""
    own = size_of(prefix.integer).lowest // 8
    low, high = interval_of(size)
    return low - own, high - own

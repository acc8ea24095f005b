"""Writing what has no fixed place: choices, regions, variable-length integers, lengths from the record.

Everything here goes to the end of the output. Codes and paths are those of codec/check.py: `wrong-type` is a
choice that holds another case than its key says, and an option that is there where it may not be.
"""

from __future__ import annotations

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import compared, negated, of_type, operation, truth
from wirelock.export.lower.units import POSITION, is_option
from wirelock.export.lower.write_block import Block
from wirelock.export.lower.write_checks import fail_if, integer_check, limits_check
from wirelock.export.lower.write_content import (
    content_check,
    prefix_check,
    size_difference,
    stated_local,
    stated_size,
    store_mark,
)
from wirelock.export.lower.write_fixed import FixedWriter, Steps
from wirelock.export.lower.write_scope import Scope, chosen_by_key, number
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.nodes import (
    Bytes,
    If,
    Integer,
    Multiple,
    Optional,
    Padded,
    Padding,
    Prefix,
    Select,
    Sized,
    Switch,
    Terminator,
    Type,
    VarInt,
    plain,
)
from wirelock.layout.terms import Length, Limit, Number, Operation, Path

__all__ = ["Writer"]


class Writer(FixedWriter):
    """Writes every kind of value."""

    def dynamic(
        self,
        kind: Type,
        limits: tuple[Limit, ...],
        value: v.Value | None,
        steps: Steps,
        scope: Scope,
        block: Block,
    ) -> None:
        """Write a value that has no fixed place; it is None where nothing is held."""
        block.close()
        match kind:
            case If():
                self._if(kind, value, steps, scope, block)
            case Switch():
                self._switch(kind, value, steps, scope, block)
            case Sized():
                self._sized(kind, value, steps, scope, block)
            case Padded():
                self._padded(kind, value, steps, scope, block)
            case Padding(length=length, unit=unit, pattern=pattern) if not isinstance(length, int):
                assert unit == 8, "padding of bits has a fixed length"
                count = stated_local(length, scope, block)
                block.add(*fail_if(compared("<", count, 0), "bad-count", st.Place(steps)))
                start = block.reserve(count)
                if pattern:
                    block.add(st.Fill(start, count, pattern))
            case VarInt():
                assert value is not None
                seen, place = number(value, kind), st.Place(steps)
                block.add(*integer_check(seen, kind.lowest, kind.highest, place))
                block.add(*limits_check(seen, limits, place), st.PutVarint(seen, kind.zigzag))
            case Optional():
                assert value is not None
                self._optional(kind, value, steps, scope, block)
            case Select():
                assert value is not None
                self._select(kind, value, steps, scope, block)
            case _:
                raise AssertionError(f"{kind} is refused")

    def _inside(
        self, kind: Type, value: v.Value | None, steps: Steps, scope: Scope
    ) -> tuple[st.Statement, ...]:
        """Return the statements that write a value in a block of its own."""
        block = Block(self.names)
        self.value(kind, value, steps, scope, block)
        block.close()
        return tuple(block.statements)

    # -- choices

    def _if(self, kind: If, value: v.Value | None, steps: Steps, scope: Scope, block: Block) -> None:
        there, inner, place = truth(kind.condition, scope.value_of), kind.type, st.Place(steps)
        if value is None:
            block.add(st.When(there, self._inside(inner, None, steps, scope)))
            return
        option = of_type(value)
        assert isinstance(option, v.OptionType)
        absent = tuple(fail_if(v.Present(value), "wrong-type", place))
        if is_option(inner):
            block.add(st.When(there, self._inside(inner, value, steps, scope), absent))
            return
        present = fail_if(negated(v.Present(value)), "wrong-type", place)
        written = self._inside(inner, v.Within(value, option.inner), steps, scope)
        block.add(st.When(there, (*present, *written), absent))

    def _optional(self, kind: Optional, value: v.Value, steps: Steps, scope: Scope, block: Block) -> None:
        option = of_type(value)
        if isinstance(option, v.OptionType):
            inside = value if is_option(kind.inner) else v.Within(value, option.inner)
            block.add(st.When(v.Present(value), self._inside(kind.inner, inside, steps, scope)))
        else:
            block.add(st.When(value, self._inside(kind.inner, None, steps, scope)))

    def _switch(self, kind: Switch, value: v.Value | None, steps: Steps, scope: Scope, block: Block) -> None:
        place, chosen = st.Place(steps), of_type(value) if value else None
        bodies: list[tuple[st.Statement, ...]] = []
        for at, case in enumerate(kind.types):
            checks: list[st.Statement] = []
            held = value
            if isinstance(chosen, v.ChoiceType):
                assert value is not None
                inner = chosen.cases[at][1]
                checks = fail_if(compared("!=", v.Which(value), at), "wrong-type", place)
                held = None if inner is None else v.CaseOf(value, at, inner)
            bodies.append((*checks, *self._inside(case, held, steps, scope)))
        otherwise = (st.Fail("unknown-case", place),) if kind.default is None else bodies[-1]
        block.add(*chosen_by_key(kind, bodies, otherwise, scope))

    def _select(self, kind: Select, value: v.Value, steps: Steps, scope: Scope, block: Block) -> None:
        chosen = of_type(value)
        assert isinstance(chosen, v.ChoiceType)
        written = []
        for at, (_, layout) in enumerate(kind.cases):
            held = chosen.cases[at][1]
            assert held is not None
            written.append(((at,), self._inside(layout, v.CaseOf(value, at, held), steps, scope)))
        block.add(st.Pick(v.Which(value), tuple(written), ()))

    # -- regions

    def _let(self, hint: str, value: v.Value, block: Block) -> v.Local:
        local = v.Local(self.names.new(hint), POSITION)
        block.add(st.Let(local, value))
        return local

    def _sized(self, kind: Sized, value: v.Value | None, steps: Steps, scope: Scope, block: Block) -> None:
        """Write a region whose content is measured once it is written."""
        place, extent = st.Place(steps), kind.extent
        prefix: v.Local | None = None
        if isinstance(extent, Prefix) and isinstance(extent.integer, Integer):
            prefix = block.reserve(v.Int(extent.integer.bits // 8))
        start = self._let("start", v.Written(), block)
        self.value(kind.inner, value, steps, scope, block)
        block.close()
        size = self._let("size", size_difference(v.Written(), start), block)
        if value is not None and isinstance(plain(kind.inner), Bytes):
            block.add(*content_check(kind, value, size, place))
        match extent:
            case Terminator(mark=mark):
                block.add(*store_mark(block.reserve(v.Int(len(mark))), mark))
            case Prefix(integer=Integer(bits=bits, order=order)):
                assert prefix is not None
                block.add(*prefix_check(extent, size, place))
                whole = v.Op("+", (size, v.Int(bits // 8)), 0, MAX_LENGTH)
                block.add(st.Store(prefix, bits, order, whole if extent.includes else size))
            case Prefix(integer=VarInt(zigzag=zigzag)):
                block.add(st.InsertVarint(start, size, zigzag))
            case int() | Number() | Path() | Length() | Operation():
                stated = stated_local(extent, scope, block)
                block.add(*stated_size(stated, size, kind.stripped, place))
                if kind.stripped:
                    block.reserve(size_difference(stated, size))

    def _padded(self, kind: Padded, value: v.Value | None, steps: Steps, scope: Scope, block: Block) -> None:
        """Write a value and what fills it up to a size."""
        start = self._let("start", v.Written(), block)
        self.value(kind.inner, value, steps, scope, block)
        block.close()
        size = self._let("size", size_difference(v.Written(), start), block)
        if isinstance(kind.length, Multiple):
            count = self._let("padding", operation("%", operation("neg", size), v.Int(kind.length.of)), block)
        else:
            target = stated_local(kind.length, scope, block)
            block.add(*fail_if(compared("<", target, size), "bad-count", st.Place(steps)))
            count = self._let("padding", size_difference(target, size), block)
        filled = block.reserve(count)
        if kind.pattern:
            block.add(st.Fill(filled, count, kind.pattern))

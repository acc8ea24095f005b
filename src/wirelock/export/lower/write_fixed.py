"""Writing what lies at fixed places: numbers, constants, padding, records and lists of those.

A value that has no fixed place, or none of its own, is written by `dynamic`: write_dynamic.py.
"""

from __future__ import annotations

from typing import TypeAlias

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import (
    Names,
    compared,
    int_type,
    interval_of,
    lower,
    negated,
    of_type,
    plus,
    rule_notes,
    truth,
)
from wirelock.export.lower.places import fixed_size
from wirelock.export.lower.units import POSITION, stands_inline
from wirelock.export.lower.write_absences import Absences
from wirelock.export.lower.write_block import Bits, Block, ScatteredBlock, bytes_of
from wirelock.export.lower.write_checks import (
    fail_if,
    float_check,
    integer_check,
    is_member,
    limits_check,
    scaled_check,
    size_check,
)
from wirelock.export.lower.write_content import prefix_check, write_bytes, write_text
from wirelock.export.lower.write_scope import Scope, number
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
    Nothing,
    Padded,
    Padding,
    Prefix,
    Rest,
    Scaled,
    Sequence,
    Sized,
    Terminated,
    Text,
    Time,
    Type,
    Until,
    VarInt,
    integer_of,
    limits_of,
    parts_of,
    plain,
    valued,
)
from wirelock.layout.sizes import padding_behind
from wirelock.layout.terms import Length, Limit, Number, Operation, Path

__all__ = ["FixedWriter", "Steps"]

Steps: TypeAlias = tuple[st.Step, ...]
"""The path of a value within the record of the function."""


class FixedWriter:
    """Writes the statements of one function; `dynamic` is for what has no fixed place."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def record(self, scope: Scope, steps: Steps, block: Block) -> None:
        """Write the fields of a record, then what is checked of it as a whole."""
        if scope.layout.order != "wire":
            self._scattered(scope, steps, block)
        else:
            self._fields(scope, steps, block)
        block.add(*rule_notes(scope.layout.rules, scope.value_of, self.names, st.Place(steps)))

    def _scattered(self, scope: Scope, steps: Steps, block: Block) -> None:
        """Write the fields of a layout whose bits do not lie as they come."""
        size = fixed_size(scope.layout)
        assert size is not None
        inside = ScatteredBlock(self.names, block.statements)
        for field in scope.layout.fields:
            value = self._value_of(field, scope, inside)
            self.value(field.type, value, (*steps, field.label), scope, inside)
            inside.next_field()
        inside.store(scope.layout.order, block.room(size // 8))

    def _fields(self, scope: Scope, steps: Steps, block: Block) -> None:
        absent = Absences(scope, [field.type for field in scope.layout.fields])
        for field in scope.layout.fields:
            value = self._value_of(field, scope, block)
            self.value(field.type, value, (*steps, field.label), scope, block)
            absent.behind(field.type, value, (*steps, field.label), block)
        absent.check(block)

    def _value_of(self, field: Field, scope: Scope, block: Block) -> v.Value | None:
        """Return what is written of a field; what takes steps to compute is computed once."""
        found = scope.member(field)
        if found is not None:
            return found
        found = scope.implied(field)
        if isinstance(found, v.Op):
            boolean = isinstance(kind := valued(field.type), Computed) and kind.boolean
            held = v.BoolType() if boolean else int_type(*interval_of(found))
            local = v.Local(self.names.new(field.label.strip("_")), held)
            block.add(st.Let(local, found))
            scope.computed[field.label] = found = local
        return found

    def value(self, kind: Type, value: v.Value | None, steps: Steps, scope: Scope, block: Block) -> None:
        """Check and write one value. It is None where nothing is held and nothing computed."""
        inner, limits = plain(kind), limits_of(kind)
        match inner:
            case Constant() | Padding(length=int()) | Nothing() | Terminated():
                self.implied(inner, block)
            case Framed() | Sequence():
                self.parts(inner, value, steps, scope, block)
            case Padded(inner=held, pattern=pattern) if fixed_size(inner) is not None:
                self.value(held, value, steps, scope, block)
                self.implied(Padding(padding_behind(inner) or 0, 8, pattern), block)
            case Array(element=element, count=int(count)) if value is None:
                for at in range(count):
                    self.value(element, None, (*steps, v.Int(at)), scope, block)
            case Sized(inner=held) if value is not None and plain(held) == Bytes(Rest()):
                write_bytes(inner, limits_of(held), value, steps, scope, block)
            case Sized(inner=held) if fixed_size(inner) is not None:
                self.value(held, value, steps, scope, block)
            case _ if value is None:
                self.dynamic(inner, limits, value, steps, scope, block)
            case Bytes():
                write_bytes(inner, limits, value, steps, scope, block)
            case Text():
                write_text(inner, limits, value, steps, scope, block)
            case Layout():
                self.inner_record(inner, value, steps, scope, block)
            case Array():
                block.add(*limits_check(value, limits, st.Place(steps)))
                self.array(inner, value, steps, scope, block)
            case Computed():
                block.add(*limits_check(value, limits, st.Place(steps)))
            case Float() | Flag() | Scaled():
                self.number(inner, limits, value, st.Place(steps), block)
            case Integer() | Time() | Enum() | Flags() | Mapping():
                self.integer(inner, limits, value, st.Place(steps), block)
            case _:
                self.dynamic(inner, limits, value, steps, scope, block)

    def integer(
        self,
        kind: Integer | Time | Enum | Flags | Mapping,
        limits: tuple[Limit, ...],
        value: v.Value,
        place: st.Place,
        block: Block,
    ) -> None:
        """Write a value that is an integer on the wire."""
        integer, seen = integer_of(kind), number(value, kind)
        assert integer is not None
        if isinstance(kind, Enum | Mapping):
            known = is_member(seen, (raw for _, raw in kind.members))
            block.add(*integer_check(seen, integer.lowest, integer.highest, place, "unknown-member"))
            block.add(*fail_if(negated(known), "unknown-member", place))
        else:
            block.add(*integer_check(seen, integer.lowest, integer.highest, place))
        if isinstance(kind, Flags) and (unknown := integer.highest & ~kind.mask):
            found = v.Op("&", (seen, v.Int(unknown)), 0, unknown)
            block.add(*fail_if(compared("!=", found, 0), "not-canonical", place))
        block.add(*limits_check(seen, limits, place))
        block.integer(seen, integer.bits, integer.order)

    def number(
        self,
        kind: Float | Flag | Scaled,
        limits: tuple[Limit, ...],
        value: v.Value,
        place: st.Place,
        block: Block,
    ) -> None:
        """Write a value that is a float or a bool in memory."""
        match kind:
            case Flag(bits=bits):
                block.add(*limits_check(v.Number(value, 0, 1), limits, place))
                block.integer(v.Number(value, 0, 1), bits, "big")
            case Float(bits=16 | 32 | 64 as bits, order=order):
                block.add(*float_check(kind, value, place), *limits_check(value, limits, place))
                block.integer(v.BitsOf(value, bits), bits, order)
            case Scaled(integer=integer):
                block.add(*scaled_check(kind, value, place), *limits_check(value, limits, place))
                step = v.Int(kind.multiply), v.Int(kind.add), v.Int(kind.divide)
                held = int_type(integer.lowest, integer.highest)
                raw = v.Call("scaled_raw", (value, *step), held, integer.lowest, integer.highest)
                block.integer(raw, integer.bits, integer.order)

    def dynamic(
        self,
        kind: Type,
        limits: tuple[Limit, ...],
        value: v.Value | None,
        steps: Steps,
        scope: Scope,
        block: Block,
    ) -> None:
        """Write a value that has no fixed place."""
        raise NotImplementedError(kind)

    def implied(self, kind: Constant | Padding | Nothing | Terminated, block: Block) -> None:
        """Write what is the same in every record."""
        match kind:
            case Constant(type=Integer(bits=bits, order=order), value=int(value)):
                block.integer(v.Int(value), bits, order)
            case Constant(value=bytes(value)):
                for at in range(0, len(value), 4):
                    part = value[at : at + 4]
                    block.integer(v.Int(int.from_bytes(part, "big")), 8 * len(part), "big")
            case Padding(length=int(length), unit=unit, pattern=pattern):
                if pattern == 0:
                    block.zeros(unit * length)
                elif unit == 8 and block.aligned:
                    if length:
                        block.add(st.Fill(block.room(length), v.Int(length), pattern))
                else:
                    for _ in range(length):
                        block.bits(Bits(v.Int(pattern), 0, unit))

    def parts(
        self, kind: Framed | Sequence, value: v.Value | None, steps: Steps, scope: Scope, block: Block
    ) -> None:
        """Write a value with what is around it, or values behind each other."""
        if isinstance(kind, Framed):
            for at, part in enumerate(parts_of(kind)):
                own = at == len(kind.before)
                self.value(part, value if own else None, steps, scope, block)
            return
        inside = scope.within(value) if value else None
        absent = Absences(scope, kind.types)
        for at, part in enumerate(kind.types):
            item = inside.member(inside.layout.fields[at]) if inside else None
            self.value(part, item, (*steps, v.Int(at)), scope, block)
            absent.behind(part, item, (*steps, v.Int(at)), block)
        absent.check(block)

    def inner_record(self, layout: Layout, value: v.Value, steps: Steps, scope: Scope, block: Block) -> None:
        """Write a record inside of this one: by its own function, if it has one."""
        inside = scope.within(value)
        if stands_inline(layout) or isinstance(block, ScatteredBlock):
            self.record(inside, steps, block)
            return
        size = fixed_size(layout)
        if size is None:
            block.close()
        at = None if size is None else block.room(size // 8)
        block.add(st.Write(inside.record.name, value, steps, scope.arguments(inside.record), at))

    def array(self, kind: Array, value: v.Value, steps: Steps, scope: Scope, block: Block) -> None:
        """Write the elements of a list: where they are of fixed size, into room for all of them."""
        count, listed, size = kind.count, of_type(value), fixed_size(kind.element)
        assert isinstance(listed, v.ListType)
        place, found = st.Place(steps), v.Count(value)
        match count:
            case int():
                block.add(*size_check(found, v.Int(count), place))
            case Prefix(integer=Integer(bits=bits, order=order)):
                block.add(*prefix_check(count, found, place))
                block.integer(found, bits, order)
            case Prefix(integer=VarInt(zigzag=zigzag)):
                block.close()
                block.add(st.PutVarint(found, zigzag))
            case Until():
                block.add(*fail_if(compared("==", found, 0), "bad-count", place))
            case Number() | Path() | Length() | Operation():
                wanted = lower(count, scope.value_of)
                block.add(*size_check(found, wanted, place))
        outer = scope.index
        if isinstance(count, int) and (not block.aligned or (size is not None and size % 8)):
            for at in range(count):
                scope.index = v.Int(at)
                item = v.Item(value, v.Int(at), listed.element)
                self.value(kind.element, item, (*steps, v.Int(at)), scope, block)
            scope.index = outer
            return
        scope.index = index = v.Local(self.names.new("i"), POSITION)
        room: v.Value | None = None
        if size is not None:
            if isinstance(count, int):
                room = block.room(count * size // 8)
            else:
                block.close()
                room = block.reserve(bytes_of(found, size // 8))
            room = plus(room, bytes_of(index, size // 8))
        else:
            block.close()
        body = Block(self.names, room)
        item = v.Item(value, index, listed.element)
        self.value(kind.element, item, (*steps, index), scope, body)
        body.close()
        if isinstance(count, Until):
            ends = truth(count.condition, scope.of_element(item, kind.element))
            last = compared("==", plus(index, 1), found)
            body.add(
                *fail_if(v.Op("!=", (v.Number(ends, 0, 1), v.Number(last, 0, 1)), 0, 1), "bad-count", place)
            )
        number = v.Int(count) if isinstance(count, int) else found
        block.add(st.For(index, number, tuple(body.statements)))
        scope.index = outer

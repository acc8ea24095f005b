"""A record's Layout -> the functions that write it: every value is checked, then stored.

Checks and their order are those of codec/check.py: what cannot be written is a structural fault in wire
order, then come limits, then rules. A record of fixed size has `store`; every record has `write`.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingType

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.expressions import Names, int_type, interval_of, lower, negated, of_type, plus, shared
from wirelock.export.places import fixed_size
from wirelock.export.program import Function, RecordDecl
from wirelock.export.units import POSITION, stands_inline
from wirelock.export.write_block import Bits, Block, bytes_of
from wirelock.export.write_checks import (
    fail_if,
    float_check,
    integer_check,
    is_member,
    limits_check,
    size_check,
)
from wirelock.export.write_scope import Scope, number
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
    Sequence,
    Terminated,
    Time,
    Type,
    limits_of,
    parts_of,
    plain,
    valued,
)
from wirelock.layout.sizes import padding_behind
from wirelock.layout.terms import Length, Number, Operation, Path

__all__ = ["write_functions"]


def write_functions(record: RecordDecl, records: MappingType[str, RecordDecl]) -> tuple[Function, ...]:
    """Return `write`, and `store` where all lies at a fixed place; `records` are those inside, by name."""
    source = v.Self(v.RecordType(record.name))
    scope, given = Scope(record, records, source), [local.name for local in record.parameters]
    names = Names(["at", *given])
    if (size := fixed_size(record.layout)) is None:
        block = Block(names)
        Writer(names).record(scope, (), block)
        block.close()
        return (Function("write", record.name, record.parameters, tuple(block.statements)),)
    block = Block(names, v.Local("at", POSITION))
    Writer(names).record(scope, (), block)
    start = v.Local(Names(given).new("start"), POSITION)
    whole = (
        st.Reserve(start, v.Int(size // 8)),
        st.Write(record.name, source, (), record.parameters, start),
    )
    return (
        Function("store", record.name, record.parameters, tuple(block.statements)),
        Function("write", record.name, record.parameters, whole),
    )


class Writer:
    """Writes the statements of one function."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def record(self, scope: Scope, steps: tuple[st.Step, ...], block: Block) -> None:
        """Write the fields of a record, then what is checked of it as a whole."""
        for field in scope.layout.fields:
            self.value(field.type, self._value_of(field, scope, block), (*steps, field.label), scope, block)
        for rule in scope.layout.rules:
            lets, holds = shared(rule.expression, scope.value_of, self.names)
            note = st.Note("rule", f"rule:{rule.name}", st.Place(steps))
            if holds != v.Truth(True):
                block.add(*lets, st.When(negated(holds), (note,)))

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

    def value(
        self, kind: Type, value: v.Value | None, steps: tuple[st.Step, ...], scope: Scope, block: Block
    ) -> None:
        """Check and write one value. It is None where nothing is held and nothing computed."""
        inner, limits, place = plain(kind), limits_of(kind), st.Place(steps)
        match inner:
            case Constant() | Padding() | Nothing() | Terminated():
                self.implied(inner, block)
                return
            case Framed() | Padded() | Sequence():
                self.parts(inner, value, steps, scope, block)
                return
        assert value is not None, f"{inner} has no value"
        seen = number(value, inner)
        match inner:
            case Integer() | Time():
                integer = inner.integer if isinstance(inner, Time) else inner
                block.add(*integer_check(seen, integer.lowest, integer.highest, place))
                block.add(*limits_check(seen, limits, place))
                block.integer(seen, integer.bits, integer.order)
            case Enum(integer=integer, members=members) | Mapping(integer=integer, members=members):
                known = is_member(seen, (raw for _, raw in members))
                block.add(*fail_if(negated(known), "unknown-member", place))
                block.add(*limits_check(seen, limits, place))
                block.integer(seen, integer.bits, integer.order)
            case Flags(integer=integer, mask=mask):
                block.add(*integer_check(seen, integer.lowest, integer.highest, place))
                if unknown := integer.highest & ~mask:
                    found = v.Op("&", (seen, v.Int(unknown)), 0, unknown)
                    block.add(*fail_if(v.Op("!=", (found, v.Int(0)), 0, 1), "not-canonical", place))
                block.add(*limits_check(seen, limits, place))
                block.integer(seen, integer.bits, integer.order)
            case Flag(bits=bits):
                block.add(*limits_check(value, limits, place))
                block.integer(v.Number(value, 0, 1), bits, "big")
            case Float(bits=16 | 32 | 64 as bits, order=order):
                block.add(*float_check(inner, value, place), *limits_check(value, limits, place))
                block.integer(v.BitsOf(value, bits), bits, order)
            case Computed():
                block.add(*limits_check(value, limits, place))
            case Bytes(length=int(length)):
                block.add(*size_check(v.Count(value), v.Int(length), place))
                block.add(*limits_check(value, limits, place))
                if length:
                    block.add(st.Put(block.room(length), value))
            case Layout():
                self.inner_record(inner, value, steps, scope, block)
            case Array():
                block.add(*limits_check(value, limits, place))
                self.array(inner, value, steps, scope, block)
            case _:
                raise AssertionError(f"{inner} is refused")

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
        self,
        kind: Framed | Padded | Sequence,
        value: v.Value | None,
        steps: tuple[st.Step, ...],
        scope: Scope,
        block: Block,
    ) -> None:
        """Write a value with what is around it, or values behind each other."""
        match kind:
            case Framed(before=before, inner=inner):
                for at, part in enumerate(parts_of(kind)):
                    own = at == len(before)
                    self.value(part, value if own else None, steps, scope, block)
            case Padded(inner=inner, pattern=pattern):
                padding = padding_behind(kind)
                self.value(inner, value, steps, scope, block)
                assert padding is not None
                self.implied(Padding(padding, 8, pattern), block)
            case Sequence(types=types):
                inside = scope.within(value) if value else None
                for at, part in enumerate(types):
                    item = inside.member(inside.layout.fields[at]) if inside else None
                    self.value(part, item, (*steps, v.Int(at)), scope, block)

    def inner_record(
        self, layout: Layout, value: v.Value, steps: tuple[st.Step, ...], scope: Scope, block: Block
    ) -> None:
        """Write a record inside of this one: by its own function, if it has one."""
        inside = scope.within(value)
        if stands_inline(layout):
            self.record(inside, steps, block)
            return
        size = fixed_size(layout)
        if size is None:
            block.close()
        at = None if size is None else block.room(size // 8)
        block.add(st.Write(inside.record.name, value, steps, scope.arguments(inside.record), at))

    def array(
        self, kind: Array, value: v.Value, steps: tuple[st.Step, ...], scope: Scope, block: Block
    ) -> None:
        """Write the elements of a list: where they are of fixed size, into room for all of them."""
        count, listed, size = kind.count, of_type(value), fixed_size(kind.element)
        assert isinstance(listed, v.ListType)
        place, found = st.Place(steps), v.Count(value)
        match count:
            case int():
                block.add(*size_check(found, v.Int(count), place))
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
        number = v.Int(count) if isinstance(count, int) else found
        block.add(st.For(index, number, tuple(body.statements)))
        scope.index = outer

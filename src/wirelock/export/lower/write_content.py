"""Writing bytes and text: alone, or in a region of stated size, up to a mark, or padded with NULs."""

from __future__ import annotations

from typing import Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import (
    any_of,
    compared,
    int_type,
    interval_of,
    lower,
    negated,
    of_type,
    operation,
    plus,
)
from wirelock.export.lower.write_block import Block
from wirelock.export.lower.write_checks import fail_if, limits_check, size_check
from wirelock.export.lower.write_scope import Scope
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.nodes import Bytes, Integer, Prefix, Rest, Sized, Terminator, Text, VarInt
from wirelock.layout.terms import Expression, Length, Limit, Number, Operation, Path

__all__ = [
    "content_check",
    "prefix_check",
    "size_difference",
    "stated_local",
    "stated_size",
    "store_mark",
    "write_bytes",
    "write_text",
]

_TEXT_SIZE: Final = v.IntType(64, True, -1, MAX_LENGTH)
"""What `text_size` gives."""


def write_bytes(
    where: Bytes | Sized,
    limits: tuple[Limit, ...],
    value: v.Value,
    steps: tuple[st.Step, ...],
    scope: Scope,
    block: Block,
) -> None:
    """Check bytes against their limits and their place, and write them."""
    place = st.Place(steps)
    size = v.Count(value)
    kind = of_type(value)
    if isinstance(kind, v.BytesType) and kind.size is not None:
        block.add(*size_check(size, v.Int(kind.size), place))
        block.add(*limits_check(value, limits, place))
        if kind.size:
            block.add(st.Put(block.room(kind.size), value))
        return
    block.add(*limits_check(value, limits, place))
    _write(where, value, size, place, scope, block)


def write_text(
    kind: Text,
    limits: tuple[Limit, ...],
    value: v.Value,
    steps: tuple[st.Step, ...],
    scope: Scope,
    block: Block,
) -> None:
    """Check that text is read back as the same, and write it."""
    place, encoding = st.Place(steps), kind.encoding
    size = v.Local(block.names.new("size"), _TEXT_SIZE)
    block.add(st.Let(size, v.Call("text_size", (value, encoding), _TEXT_SIZE, -1, MAX_LENGTH)))
    block.add(*fail_if(compared("<", size, 0), "bad-text", place))
    fits = v.Call("text_fits", (value, encoding, kind.closed), v.BoolType())
    block.add(*fail_if(negated(fits), "not-canonical", place))
    block.add(*limits_check(value, limits, place))
    _write(kind.inner, value, size, place, scope, block)


def _write(
    where: Bytes | Sized, value: v.Value, size: v.Value, place: st.Place, scope: Scope, block: Block
) -> None:
    """Write content of a known size where a Bytes or a Sized says."""
    match where:
        case Bytes(length=int(length)):
            block.add(*size_check(size, v.Int(length), place))
            if length:
                block.add(st.Put(block.room(length), value))
        case Bytes(length=Rest()):
            block.add(st.Put(block.reserve(size), value))
        case Bytes(length=Number() | Path() | Length() | Operation() as length):
            block.add(*size_check(size, lower(length, scope.value_of), place))
            block.add(st.Put(block.reserve(size), value))
        case Sized(extent=extent, stripped=unit):
            block.add(*content_check(where, value, size, place))
            match extent:
                case Terminator(mark=mark):
                    at = block.reserve(plus(size, len(mark)))
                    block.add(st.Put(at, value), *store_mark(v.Op("+", (at, size), 0, MAX_LENGTH), mark))
                case Prefix(integer=VarInt(zigzag=zigzag)):
                    block.close()
                    block.add(st.PutVarint(size, zigzag))
                    block.add(st.Put(block.reserve(size), value))
                case Prefix(integer=Integer(bits=bits, order=order)):
                    block.add(*prefix_check(extent, size, place))
                    at = block.reserve(plus(size, bits // 8))
                    stated = plus(size, bits // 8) if extent.includes else size
                    block.add(st.Store(at, bits, order, stated), st.Put(plus(at, bits // 8), value))
                case int(length):
                    block.add(*stated_size(v.Int(length), size, unit, place))
                    if length:
                        block.add(st.Put(block.room(length), value))
                case Number() | Path() | Length() | Operation():
                    stated = stated_local(extent, scope, block)
                    block.add(*stated_size(stated, size, unit, place))
                    block.add(st.Put(block.reserve(stated), value))


def content_check(kind: Sized, value: v.Value, size: v.Value, place: st.Place) -> list[st.Statement]:
    """Check that bytes or text do not end, or go on, otherwise than their region would be read."""
    wrong: list[v.Value] = []
    if kind.stripped:
        wrong += _broken(size, kind.stripped)
        wrong.append(v.Call("ends_in_nuls", (value, v.Int(kind.stripped)), v.BoolType()))
    if isinstance(kind.extent, Terminator):
        mark = kind.extent.mark
        wrong += _broken(size, len(mark))
        wrong.append(v.Call("contains_mark", (value, size, v.Octets(mark)), v.BoolType()))
    return fail_if(any_of(wrong), "not-canonical", place)


def _broken(size: v.Value, unit: int) -> list[v.Value]:
    """Return the test for a size that is no multiple of a unit."""
    return [] if unit == 1 else [compared("!=", operation("%", size, v.Int(unit)), 0)]


def stated_local(expression: int | Expression, scope: Scope, block: Block) -> v.Value:
    """Return the length or size that a layout states: one that is computed, is so once."""
    if isinstance(expression, int):
        return v.Int(expression)
    stated = lower(expression, scope.value_of)
    if isinstance(stated, v.Op | v.Count):
        local = v.Local(block.names.new("stated"), int_type(*interval_of(stated)))
        block.add(st.Let(local, stated))
        return local
    return stated


def stated_size(stated: v.Value, size: v.Value, unit: int, place: st.Place) -> list[st.Statement]:
    """Check the size of a region's content: it fills what is stated, or with padding lies within it."""
    return fail_if(compared(">" if unit else "!=", size, stated), "bad-count", place)


def prefix_check(prefix: Prefix, size: v.Value, place: st.Place) -> list[st.Statement]:
    """Check that a size, or a count, fits the integer in front of it."""
    integer = prefix.integer
    own = integer.bits // 8 if prefix.includes and isinstance(integer, Integer) else 0
    if integer.highest - own >= MAX_LENGTH:
        return []
    return fail_if(compared(">", size, integer.highest - own), "bad-count", place)


def store_mark(at: v.Value, mark: bytes) -> list[st.Statement]:
    """Return the statements that write a mark: bytes that are reserved are zero already."""
    found: list[st.Statement] = []
    for first in range(0, len(mark), 4):
        part = mark[first : first + 4]
        if any(part):
            octets = v.Int(int.from_bytes(part, "big"))
            found.append(st.Store(plus(at, first), 8 * len(part), "big", octets))
    return found


def size_difference(end: v.Value, start: v.Value) -> v.Value:
    """Return how many bytes lie between two positions."""
    return v.Op("-", (end, start), 0, MAX_LENGTH)

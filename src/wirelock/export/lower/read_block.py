"""Statements of a function that reads, under construction: blocks, locals, and what expressions see.

What is read on the way to a fault of the structure alone is cold: nothing is kept, and no value checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, get_args

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import Names, compared, int_type, interval_of, negated
from wirelock.export.lower.units import POSITION
from wirelock.export.lower.write_scope import Scope
from wirelock.export.names import snake
from wirelock.export.program import RecordDecl
from wirelock.layout.bounds import MAX_LENGTH

__all__ = ["AT", "END", "Block", "ReadScope", "Steps", "left", "less", "pruned"]

AT: Final = v.Local("at", POSITION)
END: Final = v.Local("end", POSITION)
Steps = tuple[st.Step, ...]
_TYPES: Final = get_args(v.Type)


def left(end: v.Value, at: v.Value) -> v.Value:
    """Return how many bytes are left in a region: never less than none."""
    return v.Op("-", (end, at), 0, MAX_LENGTH)


def less(left: v.Value, right: v.Value | int) -> v.Value:
    """Return whether an integer is less than another one."""
    return compared("<", left, right)


class ReadScope(Scope):
    """The fields of the record that is being read: what was read last is in locals."""

    def __init__(
        self,
        record: RecordDecl,
        records: Mapping[str, RecordDecl],
        source: v.Value,
        around: Scope | None = None,
    ) -> None:
        super().__init__(record, records, source, around)
        self.known: dict[str, v.Value] = {}
        """The values that were read, by label, as expressions see them."""

    def _read(self, names: tuple[str, ...]) -> v.Value:
        if len(names) == 1 and names[0] in self.known:
            return self.known[names[0]]
        return super()._read(names)


class Block:
    """One function's statements, and the block that is being written."""

    def __init__(self, record: RecordDecl, records: Mapping[str, RecordDecl]) -> None:
        self.record = record
        self.records = records
        self.names = Names(["at", "end", *(local.name for local in record.parameters)])
        self.statements: list[st.Statement] = []
        self.is_cold = False

    def add(self, *statements: st.Statement) -> None:
        """Add statements at the end of the block."""
        self.statements += statements

    @contextmanager
    def block(self, *, cold: bool | None = None) -> Iterator[list[st.Statement]]:
        """Collect what is added meanwhile."""
        outer, self.statements = self.statements, []
        was_cold, self.is_cold = self.is_cold, self.is_cold if cold is None else cold
        found = self.statements
        try:
            yield found
        finally:
            self.statements, self.is_cold = outer, was_cold

    def fail_if(self, condition: v.Value, code: str, place: st.Place) -> None:
        """Fail where a condition holds."""
        if condition == v.Truth(True):
            self.add(st.Fail(code, place))
        elif condition != v.Truth(False):
            self.add(st.When(condition, (st.Fail(code, place),)))

    def note_unless(self, kept: v.Value, code: str, place: st.Place, over: v.Local | None = None) -> None:
        """Note a value fault where a condition does not hold."""
        if kept != v.Truth(True) and not self.is_cold:
            self.add(st.When(negated(kept), (st.Note("value", code, place, over),)))

    def let(self, hint: str, value: v.Value, kind: v.Type | None = None) -> v.Value:
        """Return a local that holds a value; the value itself where it is a local or a constant."""
        if isinstance(value, v.Local | v.Int):
            return value
        local = v.Local(self.names.new(named(hint)), kind or int_type(*interval_of(value)))
        self.add(st.Let(local, value))
        return local

    def narrowed(self, hint: str, value: v.Value) -> v.Value:
        """Return a local for a size or count that is known to be within a buffer, whatever its type."""
        if interval_of(value)[1] > MAX_LENGTH:
            value = v.Cast(value, POSITION)
            return self.let(hint, value, POSITION)
        return self.let(hint, value)

    def var(self, hint: str, value: v.Value, kind: v.Type = POSITION) -> v.Local:
        """Return a local that changes."""
        local = v.Local(self.names.new(named(hint)), kind)
        self.add(st.Var(local, value))
        return local


DEEP = 5
"""A value in which so many operators nest keeps its local: printers visit an operand more than once."""


def named(hint: str) -> str:
    """Return a hint as the name of a local."""
    found = snake(hint)
    return f"value_{found}" if found[:1].isdigit() else found


def pruned(body: tuple[st.Statement, ...]) -> tuple[st.Statement, ...]:
    """Return statements without locals that are not needed, and without what cannot be reached."""
    while True:
        used = Counter(_used(body))
        found = _joined(_without(body, used), used)
        if found == body:
            return found
        body = found


def _used(node: Any) -> Iterator[str]:
    """Yield the names of locals that are read; what declares or sets one does not read it."""
    match node:
        case v.Local(name=name):
            yield name
        case st.Let(value=value) | st.Var(value=value) | st.Set(target=v.Local(), value=value):
            yield from _used(value)
        case st.ReadVarint():
            yield from _used((node.at, node.end, node.place))
        case st.Read():
            yield from _used((node.target, node.at, node.end, node.steps, node.arguments))
        case st.For(count=count, body=body):
            yield from _used((count, body))
        case tuple():
            for item in node:
                yield from _used(item)
        case _ if is_dataclass(node) and not isinstance(node, _TYPES):
            for item in fields(node):
                yield from _used(getattr(node, item.name))


def _without(body: tuple[st.Statement, ...], used: Counter[str]) -> tuple[st.Statement, ...]:
    found: list[st.Statement] = []
    for statement in body:
        match statement:
            case st.Let(local=local) | st.Var(local=local) | st.Set(target=v.Local() as local):
                if local.name in used:
                    found.append(statement)
            case st.Read(result=v.Local(name=name)) if name not in used:
                found.append(replace(statement, result=None))
            case st.When(condition=condition, then=then, otherwise=otherwise):
                then, otherwise = _without(then, used), _without(otherwise, used)
                if then or otherwise:
                    found.append(st.When(condition, then, otherwise))
            case st.Pick(value=value, cases=cases, otherwise=otherwise):
                kept = tuple((keys, _without(case, used)) for keys, case in cases)
                found.append(st.Pick(value, kept, _without(otherwise, used)))
            case st.For(index=index, count=count, body=inner):
                if inner := _without(inner, used):
                    found.append(st.For(index, count, inner))
            case st.While(condition=condition, body=inner):
                found.append(st.While(condition, _without(inner, used)))
            case st.Fail():
                return (*found, statement)
            case _:
                found.append(statement)
    return tuple(found)


def _joined(body: tuple[st.Statement, ...], used: Counter[str]) -> tuple[st.Statement, ...]:
    """Put the value of a local that is read once, in the statement behind it, where it is read."""
    found: list[st.Statement] = []
    for statement in body:
        match statement:
            case st.When(condition=condition, then=then, otherwise=otherwise):
                statement = st.When(condition, _joined(then, used), _joined(otherwise, used))
            case st.Pick(value=value, cases=cases, otherwise=otherwise):
                within = tuple((keys, _joined(case, used)) for keys, case in cases)
                statement = st.Pick(value, within, _joined(otherwise, used))
            case st.For(index=index, count=count, body=inner):
                statement = st.For(index, count, _joined(inner, used))
            case st.While(condition=condition, body=inner):
                statement = st.While(condition, _joined(inner, used))
        if found and isinstance(last := found[-1], st.Let) and used[last.local.name] == 1:
            head = _head(statement)
            if head is not None and last.local.name in set(_used(head)) and _depth(last.value) < DEEP:
                found[-1] = _with(statement, last.local, last.value)
                continue
        found.append(statement)
    return tuple(found)


def _depth(value: v.Value) -> int:
    """Return how deep operators nest in a value."""
    return 1 + max(map(_depth, value.operands)) if isinstance(value, v.Op) else 0


def _head(statement: st.Statement) -> object:
    """Return what a statement computes once, before all else that it does; None where that is not so."""
    match statement:
        case st.When(condition=condition):
            return condition
        case st.Set(value=value) | st.Let(value=value) | st.Var(value=value) | st.Return(at=value):
            return value
        case st.Read(at=at):
            return at
    return None


def _with(node: Any, local: v.Local, value: v.Value) -> Any:
    """Return a statement or value with a value in the place of a local."""
    if node == local:
        return value
    if isinstance(node, tuple):
        return tuple(_with(item, local, value) for item in node)
    if is_dataclass(node) and not isinstance(node, _TYPES):
        made: Any = type(node)
        return made(**{item.name: _with(getattr(node, item.name), local, value) for item in fields(node)})
    return node

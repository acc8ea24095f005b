"""What is known of a Program's functions before they are written in C: which can fail, what they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.c_operators import range_of, truth_of
from wirelock.export.c_types import Names
from wirelock.export.expressions import of_type
from wirelock.export.program import Function, Program, RecordDecl

__all__ = ["Functions", "breaks", "called_kind", "covered", "is_fixed", "nodes", "pruned"]

_FAILING: Final = (
    st.Fail, st.FailText, st.ReadVarint, st.Allocate, st.Extend, st.Reserve, st.PutVarint, st.InsertVarint,
)  # fmt: skip


def nodes(node: Any) -> Iterator[Any]:
    """Yield every statement and value of a tree."""
    if isinstance(node, tuple):
        for item in node:
            yield from nodes(item)
    elif is_dataclass(node):
        yield node
        for item in fields(node):
            yield from nodes(getattr(node, item.name))


class Functions:
    """The functions of a program, in whose order each comes behind those that it calls."""

    def __init__(self, program: Program, names: Names) -> None:
        self.names = names
        self.records = {record.name: record for record in program.records}
        self.storage = {item.name: item.storage for item in program.enumerations}
        self._fails: dict[tuple[str, str], bool] = {}
        self._faults: dict[tuple[str, str], bool] = {}
        self.appended = {
            node.record
            for record in program.records
            for function in record.functions
            for node in nodes(function.body)
            if isinstance(node, st.Write) and node.at is None
        }
        """The records that others write at the end of the output."""
        self.path_sizes: dict[str, int] = {}
        """How many characters the longest path of a record takes, with its zero."""

    def study(self, record: RecordDecl) -> list[Function]:
        """Return the functions of a record that read and write, without what C does not need of them."""
        longest = max((len(item.name) for item in record.fields), default=0) + 26
        found = []
        for function in record.functions:
            if function.kind == "tell":
                continue
            kept = replace(function, body=pruned(function.body))
            self._study(kept)
            longest = max(longest, self._path_size(kept))
            if kept.kind != "write" or record.size is None or record.name in self.appended:
                found.append(kept)
        self.path_sizes[record.name] = longest
        return found

    def fails(self, record: str, kind: str) -> bool:
        """Whether a function can fail."""
        return self._fails[record, kind]

    def faults(self, record: str, kind: str) -> bool:
        """Whether a function can put a fault."""
        return self._faults[record, kind]

    def covers(self, record: RecordDecl) -> bool:
        """Whether `store` writes every byte of a record, so that they need not be zero before."""
        store = next(item for item in record.functions if item.kind == "store")
        octets = {octet for item in store.body for octet in _span(item, "at", self.records)}
        return record.size is not None and octets >= set(range(record.size))

    def name(self, record: str, kind: str) -> str:
        """Return the name of a function."""
        return f"{self.names.records[record]}_{kind}"

    def _study(self, function: Function) -> None:
        fails = faults = False
        for node in nodes(function.body):
            if isinstance(node, _FAILING) and not (isinstance(node, st.Allocate) and is_fixed(node.target)):
                fails = True
            faults = faults or isinstance(node, st.Note)
            if isinstance(node, st.Read | st.Write):
                called = node.record, called_kind(node)
                fails = fails or self._fails[called]
                faults = faults or self._faults[called]
        self._fails[function.record, function.kind] = fails
        self._faults[function.record, function.kind] = fails or faults

    def _path_size(self, function: Function) -> int:
        longest = 1
        for node in nodes(function.body):
            match node:
                case st.Place(steps=steps):
                    longest = max(longest, 1 + _steps_size(steps))
                case st.Read(record=record, steps=steps) | st.Write(record=record, steps=steps):
                    inner = 1 if record == function.record else self.path_sizes[record]
                    longest = max(longest, _steps_size(steps) + inner)
        return longest


def pruned(body: tuple[st.Statement, ...]) -> tuple[st.Statement, ...]:
    """Return statements without those that C's types make needless, and without tests that just failed."""
    found: list[st.Statement] = []
    for statement in body:
        match statement:
            case st.When(condition=condition, then=then, otherwise=otherwise):
                known = truth_of(condition)
                if known is not None:
                    found += pruned(then if known else otherwise)
                    continue
                last = found[-1] if found else None
                if (
                    isinstance(last, st.When)
                    and last.condition == condition
                    and isinstance(last.then[-1], st.Fail)
                ):
                    continue
                statement = st.When(condition, pruned(then), pruned(otherwise))
                if not statement.then and not statement.otherwise:
                    continue
            case st.Pick(cases=cases, otherwise=otherwise):
                blocks = tuple((keys, pruned(inner)) for keys, inner in cases)
                statement = replace(statement, cases=blocks, otherwise=pruned(otherwise))
            case st.For(count=count) if range_of(count) == (0, 0):
                continue
            case st.For(body=inner) | st.While(body=inner):
                statement = replace(statement, body=pruned(inner))
        found.append(statement)
    return tuple(found)


def _steps_size(steps: Sequence[st.Step]) -> int:
    return sum(len(step.encode()) + 1 if isinstance(step, str) else 23 for step in steps)


def called_kind(node: st.Read | st.Write) -> str:
    """Return which function of a record a statement calls."""
    if isinstance(node, st.Read):
        return "load" if node.load else "read"
    return "write" if node.at is None else "store"


def is_fixed(target: v.Value) -> bool:
    """Whether a list has a fixed size."""
    kind = of_type(target)
    return isinstance(kind, v.ListType) and kind.size is not None


def breaks(node: Any) -> bool:
    """Whether a Break inside of a switch is for a loop around it."""
    match node:
        case st.Break():
            return True
        case st.For() | st.While():
            return False
        case st.Pick(cases=cases, otherwise=otherwise):
            return any(breaks(body) for _, body in cases) or breaks(otherwise)
        case st.When(then=then, otherwise=otherwise):
            return breaks(then) or breaks(otherwise)
        case tuple():
            return any(map(breaks, node))
    return False


def covered(body: tuple[st.Statement, ...], records: dict[str, RecordDecl]) -> set[str]:
    """Return the locals of Reserves of which the same block writes every byte: those need no zeros."""
    found: set[str] = set()
    for block in _blocks(body):
        for number, statement in enumerate(block):
            if isinstance(statement, st.Reserve) and isinstance(statement.size, v.Int):
                spans = [_span(item, statement.at.name, records) for item in block[number + 1 :]]
                octets = {octet for span in spans for octet in span}
                if octets >= set(range(statement.size.value)):
                    found.add(statement.at.name)
    return found


def _blocks(body: tuple[st.Statement, ...]) -> Iterator[tuple[st.Statement, ...]]:
    yield body
    for statement in body:
        match statement:
            case st.When(then=then, otherwise=otherwise):
                yield from _blocks(then)
                yield from _blocks(otherwise)
            case st.Pick(cases=cases, otherwise=otherwise):
                for _, case in cases:
                    yield from _blocks(case)
                yield from _blocks(otherwise)
            case st.For(body=inner) | st.While(body=inner):
                yield from _blocks(inner)


def _span(statement: st.Statement, base: str, records: dict[str, RecordDecl]) -> range:
    """Return the bytes behind a local that a statement writes."""
    match statement:
        case st.Store(at=at, bits=bits):
            size = bits // 8
        case st.Put(at=at, value=value) if isinstance(kind := of_type(value), v.BytesType) and kind.size:
            size = kind.size
        case st.Fill(at=at, count=v.Int(value=size)):
            pass
        case _:
            return range(0)
    match at:
        case v.Local(name=name) if name == base:
            return range(size)
        case v.Op(operator="+", operands=(v.Local(name=name), v.Int(value=first))) if name == base:
            return range(first, first + size)
    return range(0)

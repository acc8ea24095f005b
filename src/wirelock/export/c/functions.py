"""What is known of a Program's functions before they are written in C: which can fail, what they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.c.operators import range_of, truth_of
from wirelock.export.c.types import Names
from wirelock.export.lower.expressions import of_type
from wirelock.export.program import Function, Program, RecordDecl

__all__ = ["Functions", "breaks", "called_kind", "covered", "covers", "is_fixed", "nodes", "pruned"]

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
    for statement in _nans_last(body):
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


def _nans_last(body: tuple[st.Statement, ...]) -> tuple[st.Statement, ...]:
    """Return statements with the test for a signalling NaN inside of that for limits, which it fails too."""
    found = [*body]
    for at in range(len(found) - 1):
        test, limits = found[at], found[at + 1]
        of = None
        if isinstance(test, st.When) and not test.otherwise:
            of = _signalling(test.condition)
        gap = isinstance(limits, st.Let) and isinstance(limits.value, v.FloatOf) and limits.value.of == of
        if gap and at + 2 < len(found):
            assert isinstance(limits, st.Let)
            of, limits = limits.local, found[at + 2]
        if of is None or not (isinstance(limits, st.When) and not limits.otherwise):
            continue
        if isinstance(test, st.When) and _refuses_nan(limits.condition, of):
            limits = replace(limits, then=(test, *limits.then))
            found[at : at + 2 + gap] = [*found[at + 1 : at + 1 + gap], limits]
            return _nans_last(tuple(found))
    return tuple(found)


def _signalling(condition: v.Value) -> v.Value | None:
    """Return the bits, or the float, of which a condition says that they are a signalling NaN."""
    match condition:
        case v.Op(
            operator="and",
            operands=(
                v.Op(
                    operator="==", operands=(v.Op(operator="&", operands=(bits, v.Int(value=quiet))), v.Int())
                ),
                v.Op(operator="!=", operands=(v.Op("&", (again, v.Int())), v.Int(value=0))),
            ),
        ) if bits == again and quiet in (0x7FC00000, 0x7FF8000000000000):
            return bits
        case v.Op(
            operator="not", operands=(v.Call(name="float_fits", arguments=(value, v.Int(value=bits))),)
        ):
            if not isinstance(value, str | bool) and isinstance(kind := of_type(value), v.FloatType):
                return value if kind.bits == bits else None
    return None


def _refuses_nan(condition: v.Value, of: v.Value) -> bool:
    """Whether a condition holds of every NaN: that one comparison or another does not."""
    match condition:
        case v.Op(operator="or", operands=operands):
            return any(_refuses_nan(operand, of) for operand in operands)
        case v.Op(operator="not", operands=(v.Op(operator=name, operands=(left, _)),)):
            return name in ("<", "<=", ">", ">=", "==") and left == of
    return False


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
            if isinstance(statement, st.Reserve) and _fills(statement, block[number + 1 :], records):
                found.add(statement.at.name)
    return found


def _fills(reserve: st.Reserve, behind: tuple[st.Statement, ...], records: dict[str, RecordDecl]) -> bool:
    """Whether statements write every byte of what was reserved."""
    match reserve.size:
        case v.Int(value=size):
            return _written(behind, reserve.at, records) >= set(range(size))
        case v.Op(operator="*", operands=(count, v.Int(value=size))):
            for statement in behind:
                if isinstance(statement, st.For) and statement.count == count:
                    index = v.Op("*", (statement.index, v.Int(size)), 0, 0)
                    if _written(statement.body, reserve.at, records, index) >= set(range(size)):
                        return True
    return False


def _written(
    body: tuple[st.Statement, ...], base: v.Local, records: dict[str, RecordDecl], index: v.Op | None = None
) -> set[int]:
    """Return which bytes statements write, counted from a local, or from an element behind it."""
    return {octet for item in body for octet in _span(item, base, records, index)}


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


def _span(
    statement: st.Statement, base: v.Local, records: dict[str, RecordDecl], index: v.Op | None
) -> range:
    match statement:
        case st.Store(at=at, bits=bits):
            size = bits // 8
        case st.Put(at=at, value=value) if isinstance(kind := of_type(value), v.BytesType) and kind.size:
            size = kind.size
        case st.Fill(at=at, count=v.Int(value=size)):
            pass
        case st.Write(record=name, at=at) if at is not None and covers(records[name], records):
            size = records[name].size or 0
        case _:
            return range(0)
    terms, first = _terms(at)
    wanted = [base.name] if index is None else [base.name, (index.operands[0], index.operands[1])]
    return range(first, first + size) if terms == wanted else range(0)


def _terms(at: v.Value) -> tuple[list[object], int]:
    """Return what a position is the sum of: names of locals, products, and a constant."""
    match at:
        case v.Int(value=value):
            return [], value
        case v.Local(name=name):
            return [name], 0
        case v.Op(operator="*", operands=(left, right)):
            return [(left, right)], 0
        case v.Op(operator="+", operands=(left, right)):
            one, first = _terms(left)
            other, second = _terms(right)
            return one + other, first + second
    return [at], 0


def covers(record: RecordDecl, records: dict[str, RecordDecl]) -> bool:
    """Whether `store` writes every byte of a record, so that they need not be zero before."""
    at = v.Local("at", v.IntType(64, True, 0, 1 << 48))
    for function in record.functions:
        if function.kind == "store" and record.size is not None:
            return _written(function.body, at, records) >= set(range(record.size))
    return False

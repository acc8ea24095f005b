"""Runs a Program in Python, as program.py says: the oracle for the lowering that needs no compiler.

It is stricter than any language: it refuses a local that is not declared or declared twice, a value outside
of its interval or type, a field that is used before it is set, and bytes outside of the data or the output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Final

from tests.export.machine_memory import Fault, Held, Memory
from tests.export.machine_values import Call, Values
from wirelock.codec.floats import float_to_bits
from wirelock.codec.varint import read_varint, unzigzag, varint_bytes, varint_fault, zigzag
from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import of_type
from wirelock.export.program import Function, Program

__all__ = ["Fault", "Held", "Machine"]

RANKS: Final = {"rule": 1, "value": 2, "structure": 3}


class Failed(Exception):  # noqa: N818 - failure of a function, which is no error of the machine
    """A function has failed: the fault is in the slot."""


class _Broken(Exception):  # noqa: N818
    """Break."""


class _Returned(Exception):  # noqa: N818
    """Return, with the byte behind the record."""

    def __init__(self, at: int) -> None:
        self.at = at


class Machine(Memory):
    """Runs the functions of one Program."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.functions: dict[tuple[str, str], Function] = {}
        for record in program.records:
            for function in record.functions:
                assert function.record == record.name, f"{function.kind} of {function.record}"
                assert (record.name, function.kind) not in self.functions
                self.functions[record.name, function.kind] = function
                _check_names(function)

    def parse(self, record: str, data: bytes) -> tuple[Held, None] | tuple[None, Fault]:
        """Return the record that all of `data` is, or the fault."""
        call = Call(self, data)
        held = self.fresh_record(record)
        try:
            behind = self.run(call, record, "read", held, (), {"at": 0, "end": len(data)})
        except Failed:
            assert call.slot.fault is not None and call.slot.rank == RANKS["structure"]
            return None, call.slot.fault
        if behind != len(data):
            return None, Fault("trailing-bytes", "", behind)
        return (None, call.slot.fault) if call.slot.fault else (held, None)

    def build(self, held: Held) -> bytes | Fault:
        """Return the bytes of a record, or what keeps it from being sent."""
        call = Call(self, b"")
        try:
            self.run(call, held.record, "write", held)
        except Failed:
            assert call.slot.fault is not None
        return call.slot.fault or bytes(call.output)

    def tell(self, held: Held) -> str:
        """Return a record as JSON."""
        call = Call(self, b"")
        self.run(call, held.record, "tell", held)
        assert not call.slot.count, "telling cannot fail"
        return "".join(call.told)

    def run(
        self,
        call: Call,
        record: str,
        kind: str,
        held: Held,
        arguments: Sequence[Any] = (),
        own: dict[str, int] | None = None,
    ) -> int | None:
        """Run a function; returns what it returns. Raises Failed where it fails."""
        function = self.functions[record, kind]
        assert held.record == record, f"a {held.record} is no {record}"
        assert len(arguments) == len(function.parameters), f"arguments of {kind} of {record}"
        names = dict(own or {})
        for local, value in zip(function.parameters, arguments, strict=True):
            names[local.name] = value
        frame = _Frame(self, call, held, names)
        try:
            frame.block(function.body, [names])
        except _Returned as returned:
            assert kind == "read", f"{kind} of {record} returns"
            return returned.at
        assert kind != "read", f"read of {record} does not return"
        return None


def _check_names(function: Function) -> None:
    names = [local.name for local in function.parameters]
    names += [local.name for local in _declared(function.body)]
    assert len(names) == len(set(names)), f"{function.kind} of {function.record}: {sorted(names)}"


def _declared(node: Any) -> Iterator[v.Local]:
    """Yield the locals that statements declare, at any depth."""
    match node:
        case tuple():
            for item in node:
                yield from _declared(item)
        case st.Let(local=local) | st.Var(local=local) | st.ReadVarint(local=local):
            yield local
        case st.For(index=local, body=body):
            yield local
            yield from _declared(body)
        case st.Reserve(at=local):
            yield local
        case st.When() | st.While() | st.Pick():
            for item in fields(node):
                yield from _declared(getattr(node, item.name))


class _Frame(Values):
    """One function that runs."""

    def __init__(self, machine: Machine, call: Call, held: Held, names: dict[str, Any]) -> None:
        super().__init__(call, held, names)
        self.machine = machine

    def block(self, body: Sequence[st.Statement], scopes: list[dict[str, Any]] | None = None) -> None:
        outer, self.scopes = self.scopes, scopes or [*self.scopes, {}]
        try:
            for statement in body:
                self.statement(statement)
        finally:
            self.scopes = outer

    def statement(self, statement: st.Statement) -> None:
        match statement:
            case st.Let(local=local, value=value):
                self.declare(local, self.value(value))
            case st.Var(local=local, value=value):
                self.declare(local, self.value(value), fixed=False)
            case st.Set(target=target, value=None):
                assert isinstance(of_type(target), v.OptionType), target
                self.assign(target, None)
            case st.Set(target=target, value=value):
                assert value is not None
                self.assign(target, self.value(value))
            case st.When(condition=condition, then=then, otherwise=otherwise):
                self.block(then if self.truth(condition) else otherwise)
            case st.Pick(value=value, cases=cases, otherwise=otherwise):
                found = self.integer(value)
                keys = [key for case, _ in cases for key in case]
                assert len(keys) == len(set(keys)), keys
                self.block(next((body for case, body in cases if found in case), otherwise))
            case st.For(index=index, count=count, body=body):
                for number in range(self.integer(count)):
                    self.scopes.append({})
                    self.declare(index, number)
                    try:
                        self.block(body)
                    except _Broken:
                        break
                    finally:
                        self.scopes.pop()
            case st.While(condition=condition, body=body):
                while self.truth(condition):
                    try:
                        self.block(body)
                    except _Broken:
                        break
            case st.Break():
                raise _Broken
            case st.Return(at=at):
                raise _Returned(self.integer(at))
            case st.Fail(code=code, place=place):
                self.fail(code, place)
            case st.FailText(code=code, place=place):
                match self.integer(code):
                    case 1:
                        self.note("value", "bad-text", place, None)
                    case 2:
                        self.fail("not-canonical", place)
                    case other:
                        assert other == 0, other
            case st.Note(rank=rank, code=code, place=place, over=over):
                self.note(rank, code, place, over)
            case st.Allocate(target=target, count=count):
                kind = of_type(target)
                assert isinstance(kind, v.ListType), kind
                number = self.integer(count)
                assert kind.size in (None, number), (kind, number)
                self.assign(target, [self.machine.fresh(kind.element) for _ in range(number)], check=False)
            case st.Extend(target=target, size=size):
                kind, number = of_type(target), self.integer(size)
                assert isinstance(kind, v.ListType), kind
                if number == 0:
                    self.assign(target, [], check=False)
                items = self.value(target)
                assert len(items) == number, "a list grows by one"
                items.append(self.machine.fresh(kind.element))
                self.assign(size, number + 1)
            case _:
                self.calling(statement)

    def calling(self, statement: st.Statement) -> None:
        """Run the statements that call another function, read a varint, or write."""
        call = self.call
        match statement:
            case st.Read(record=record, target=target, at=at, end=end, result=result, load=load):
                held = self.held
                if not isinstance(target, v.Self):
                    held = self.machine.fresh_record(record)
                    self.assign(target, held)
                own = {"at": self.integer(at)}
                if load:
                    assert end is None and result is None
                    size = self.machine.records[record].size
                    assert size is not None and 0 <= own["at"] <= len(call.data) - size
                else:
                    assert end is not None
                    own["end"] = self.integer(end)
                    assert 0 <= own["at"] <= own["end"] <= len(call.data), own
                values = [self.value(item) for item in statement.arguments]
                behind = self.inner(statement.steps, record, "load" if load else "read", held, values, own)
                assert load or (behind is not None and own["at"] <= behind <= own["end"])
                if result is not None:
                    self.assign(result, behind)
            case st.ReadVarint(local=local, zigzag=zigzagged, at=at, end=end, place=place):
                start, stop = self.integer(at), self.integer(end)
                found = read_varint(call.data, start, stop)
                if found is None:
                    self.fail(varint_fault(call.data, start, stop, "").code, place)
                assert found is not None
                raw, behind = found
                self.declare(local, unzigzag(raw) if zigzagged else raw)
                self.assign(at, behind)
            case st.Reserve(at=at, size=size):
                self.declare(at, len(call.output))
                number = self.integer(size)
                assert number >= 0
                call.output += bytes(number)
            case st.Store(at=at, bits=bits, order=order, value=value):
                assert bits % 8 == 0 and 8 <= bits <= 64
                raw = self.integer(value) & ((1 << bits) - 1)
                self.put(at, raw.to_bytes(bits // 8, order))
            case st.Put(at=at, value=value):
                found = self.value(value)
                kind = of_type(value)
                if isinstance(kind, v.TextType):
                    self.put(at, found.encode(kind.encoding))
                else:
                    self.put(at, found)
            case st.Fill(at=at, count=count, octet=octet):
                self.put(at, bytes([octet]) * self.integer(count))
            case st.PutVarint(value=value, zigzag=zigzagged):
                number = self.integer(value)
                call.output += varint_bytes(zigzag(number) if zigzagged else number)
            case st.InsertVarint(at=at, value=value, zigzag=zigzagged):
                number, start = self.integer(value), self.integer(at)
                assert 0 <= start <= len(call.output)
                call.output[start:start] = varint_bytes(zigzag(number) if zigzagged else number)
            case st.Write(record=record, source=source, steps=steps, at=at):
                values = [self.value(item) for item in statement.arguments]
                if at is None:
                    self.inner(steps, record, "write", self.value(source), values, {})
                else:
                    own = {"at": self.integer(at)}
                    size = self.machine.records[record].size
                    assert size is not None and 0 <= own["at"] <= len(call.output) - size
                    self.inner(steps, record, "store", self.value(source), values, own)
            case st.Tell():
                self.tell(statement)
            case _:
                raise AssertionError(statement)

    def inner(
        self, steps: Sequence[st.Step], record: str, kind: str, held: Held, arguments: Sequence[Any],
        own: dict[str, int],
    ) -> int | None:  # fmt: skip
        """Call a nested record's function; the path of its fault begins with these steps."""
        before = self.call.slot.count
        try:
            return self.machine.run(self.call, record, kind, held, arguments, own)
        finally:
            if self.call.slot.count != before:
                self.call.slot.steps[:0] = self.steps(steps)

    def put(self, at: v.Value, octets: bytes) -> None:
        start = self.integer(at)
        assert start >= 0 and start + len(octets) <= len(self.call.output), "outside of what was reserved"
        self.call.output[start : start + len(octets)] = octets

    def steps(self, steps: Sequence[st.Step]) -> list[str | int]:
        return [step if isinstance(step, str) else self.integer(step) for step in steps]

    def place(self, place: st.Place) -> tuple[list[str | int], int | None, int | None]:
        byte = None if place.byte is None else self.integer(place.byte)
        return self.steps(place.steps), byte, place.bit

    def fail(self, code: str, place: st.Place) -> None:
        self.call.slot.put(code, *self.place(place), RANKS["structure"])
        raise Failed(code)

    def note(self, rank: str, code: str, place: st.Place, over: v.Local | None) -> None:
        slot = self.call.slot
        since = over is not None and slot.count > self.integer(over)
        assert over is None or rank == "value"
        if slot.rank < RANKS[rank] or (slot.rank == RANKS[rank] and since):
            slot.put(code, *self.place(place), RANKS[rank])

    def tell(self, told: st.Tell) -> None:
        call, value = self.call, told.value
        match told.what:
            case "{" | "}" | "[" | "]":
                assert value is None
                call.tell(told.what)
            case "null":
                call.tell("null")
            case "key":
                assert isinstance(value, str)
                call.tell(f"{json.dumps(value)}: ")
            case "text":
                assert value is not None
                call.tell(json.dumps(value if isinstance(value, str) else self.value(value)))
            case "record":
                assert value is not None and not isinstance(value, str)
                held = self.value(value)
                self.machine.run(
                    call, held.record, "tell", held, [self.value(item) for item in told.arguments]
                )
            case what:
                assert value is not None and not isinstance(value, str)
                call.tell(_json(what, self.value(value), told.bits))


def _json(what: str, value: Any, bits: int) -> str:
    match what:
        case "integer":
            assert type(value) is int
            return str(value) if abs(value) <= 1 << 53 else f'"{value}"'
        case "bool":
            assert type(value) is bool
            return "true" if value else "false"
        case "float":
            if value - value == 0:
                return repr(value)
            return json.dumps({"bits": f"{float_to_bits(value, bits):0{bits // 4}x}"})
        case "bytes":
            return json.dumps(value.hex())
    raise AssertionError(what)

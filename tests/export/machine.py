"""Runs a Program in Python, as program.py says: the oracle for the lowering that needs no compiler.

It is stricter than any language: it refuses a local that is not declared or declared twice, a value outside
of its interval or type, a field that is used before it is set, and bytes outside of the data or the output.
Records are Held, lists are lists, a choice is Chosen, an option is its value or None, all others are Python's
own; a float is the float that Python has for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from wirelock.codec.floats import exact_float_bits, float_from_bits, float_to_bits
from wirelock.codec.scaled import raw_of
from wirelock.codec.text import encode_text, find_mark, strip_nuls, text_fault
from wirelock.codec.varint import read_varint, unzigzag, varint_bytes, varint_fault, zigzag
from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.program import Function, Program
from wirelock.layout.operators import OPERATORS

RANKS: Final = {"rule": 1, "value": 2, "structure": 3}


@dataclass(frozen=True)
class Fault:
    """What a client is told: code, path, byte (None when building), bit within the byte."""

    code: str
    path: str
    byte: int | None = None
    bit: int | None = None


@dataclass
class Held:
    """A record in a client's memory: its fields by name."""

    record: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass
class Chosen:
    """A choice in a client's memory: the number of the case and its value."""

    number: int
    value: Any = None


@dataclass
class Slot:
    """The fault slot of a call."""

    code: str = ""
    steps: list[str | int] = field(default_factory=list)
    byte: int | None = None
    bit: int | None = None
    rank: int = 0
    count: int = 0
    """How many faults were put here."""

    def put(self, code: str, steps: list[str | int], byte: int | None, bit: int | None, rank: int) -> None:
        self.code, self.steps, self.byte, self.bit, self.rank = code, steps, byte, bit, rank
        self.count += 1

    @property
    def fault(self) -> Fault | None:
        if not self.count:
            return None
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        path = path.replace(".#", "#").removeprefix(".")
        return Fault(self.code, path, self.byte, self.bit)


class Failed(Exception):  # noqa: N818 - failure of a function, which is no error of the machine
    """A function has failed: the fault is in the slot."""


class _Broken(Exception):  # noqa: N818
    """Break."""


class _Returned(Exception):  # noqa: N818
    """Return, with the byte behind the record."""

    def __init__(self, at: int) -> None:
        self.at = at


_UNSET: Final = object()


class Machine:
    """Runs the functions of one Program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.records = {record.name: record for record in program.records}
        self.enumerations = {item.name: item for item in program.enumerations}
        self.functions: dict[tuple[str, str], Function] = {}
        for record in program.records:
            for function in record.functions:
                assert function.record == record.name, f"{function.kind} of {function.record}"
                assert (record.name, function.kind) not in self.functions
                self.functions[record.name, function.kind] = function
                _check_names(function)

    def parse(self, record: str, data: bytes) -> tuple[Held, None] | tuple[None, Fault]:
        """Return the record that all of `data` is, or the fault."""
        call = _Call(self, Slot(), data)
        held = self.fresh_record(record)
        try:
            behind = call.run(record, "read", held, (), {"at": 0, "end": len(data)})
        except Failed:
            assert call.slot.fault is not None and call.slot.rank == RANKS["structure"]
            return None, call.slot.fault
        if behind != len(data):
            return None, Fault("trailing-bytes", "", behind)
        return (None, call.slot.fault) if call.slot.fault else (held, None)

    def build(self, held: Held) -> bytes | Fault:
        """Return the bytes of a record, or what keeps it from being sent."""
        call = _Call(self, Slot(), b"")
        try:
            call.run(held.record, "write", held, ())
        except Failed:
            assert call.slot.fault is not None
        return call.slot.fault or bytes(call.output)

    def tell(self, held: Held) -> str:
        """Return a record as JSON."""
        call = _Call(self, Slot(), b"")
        call.run(held.record, "tell", held, ())
        assert not call.slot.count, "telling cannot fail"
        return "".join(call.told)

    def fresh_record(self, name: str) -> Held:
        """Return a record before its fields are set: scalars may not be read, lists are empty."""
        return Held(name, {item.name: self.fresh(item.type) for item in self.records[name].fields})

    def fresh(self, kind: v.Type) -> Any:
        match kind:
            case v.RecordType(name=name):
                return self.fresh_record(name)
            case v.ListType(element=element, size=size):
                return [self.fresh(element) for _ in range(size or 0)]
            case v.OptionType():
                return None
        return _UNSET

    def check(self, kind: v.Type, value: Any) -> None:
        """Assert that a value is one that a variable of this type can hold."""
        match kind:
            case v.IntType(bits=bits, signed=signed):
                lowest = -(1 << (bits - 1)) if signed else 0
                assert type(value) is int and lowest <= value < lowest + (1 << bits), (kind, value)
            case v.BoolType():
                assert type(value) is bool, (kind, value)
            case v.FloatType():
                assert type(value) is float, (kind, value)  # a NaN may stand until its fault is told
            case v.BytesType(size=size):
                assert type(value) is bytes and (size is None or len(value) == size), (kind, value)
            case v.TextType():
                assert type(value) is str, (kind, value)
            case v.EnumType(name=name):
                self.check(self.enumerations[name].storage, value)
            case v.RecordType(name=name):
                assert isinstance(value, Held) and value.record == name, (kind, value)
            case v.ListType(element=element, size=size):
                assert type(value) is list and (size is None or len(value) == size), (kind, value)
                for item in value:
                    self.check(element, item)
            case v.OptionType(inner=inner):
                if value is not None:
                    self.check(inner, value)
            case v.ChoiceType(cases=cases):
                assert isinstance(value, Chosen), (kind, value)
                inner_type = cases[value.number][1]
                assert (inner_type is None) == (value.value is None), (kind, value)
                if inner_type is not None:
                    self.check(inner_type, value.value)


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


class _Call:
    """One call of a client: the data, the slot, and the output or what was told."""

    def __init__(self, machine: Machine, slot: Slot, data: bytes) -> None:
        self.machine = machine
        self.slot = slot
        self.data = data
        self.output = bytearray()
        self.told: list[str] = []

    def run(
        self, record: str, kind: str, held: Held, arguments: Sequence[Any], own: dict[str, int] | None = None
    ) -> int | None:
        """Run a function; returns what it returns. Raises Failed where it fails."""
        function = self.machine.functions[record, kind]
        assert held.record == record, f"a {held.record} is no {record}"
        assert len(arguments) == len(function.parameters), f"arguments of {kind} of {record}"
        names = dict(own or {})
        for local, value in zip(function.parameters, arguments, strict=True):
            names[local.name] = value
        frame = _Frame(self, held, names)
        try:
            frame.block(function.body, [names])
        except _Returned as returned:
            assert kind == "read", f"{kind} of {record} returns"
            return returned.at
        assert kind != "read", f"read of {record} does not return"
        return None

    def tell(self, piece: str) -> None:
        """Add a piece of JSON, with the comma that it needs."""
        before = self.told[-1] if self.told else ""
        if before and piece not in ("}", "]") and not before.endswith(("{", "[", ": ")):
            self.told.append(", ")
        self.told.append(piece)


class _Frame:
    """One function that runs: its record and its locals, block by block."""

    def __init__(self, call: _Call, held: Held, names: dict[str, Any]) -> None:
        self.call = call
        self.machine = call.machine
        self.held = held
        self.scopes: list[dict[str, Any]] = [names]
        self.fixed: set[str] = set()

    # -- statements

    def block(self, body: Sequence[st.Statement], scopes: list[dict[str, Any]] | None = None) -> None:
        outer, self.scopes = self.scopes, scopes or [*self.scopes, {}]
        try:
            for statement in body:
                self.statement(statement)
        finally:
            self.scopes = outer

    def declare(self, local: v.Local, value: Any, *, fixed: bool = True) -> None:
        assert all(local.name not in scope for scope in self.scopes), f"{local.name} is declared twice"
        self.machine.check(local.type, value)
        self.scopes[-1][local.name] = value
        if fixed:
            self.fixed.add(local.name)

    def statement(self, statement: st.Statement) -> None:
        match statement:
            case st.Let(local=local, value=value):
                self.declare(local, self.value(value))
            case st.Var(local=local, value=value):
                self.declare(local, self.value(value), fixed=False)
            case st.Set(target=target, value=None):
                assert isinstance(type_of(target), v.OptionType), target
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
                kind = type_of(target)
                assert isinstance(kind, v.ListType), kind
                number = self.integer(count)
                assert kind.size in (None, number), (kind, number)
                self.assign(target, [self.machine.fresh(kind.element) for _ in range(number)], check=False)
            case st.Extend(target=target, size=size):
                kind, number = type_of(target), self.integer(size)
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
                kind = type_of(value)
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
            return self.call.run(record, kind, held, arguments, own)
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
                call.run(held.record, "tell", held, [self.value(item) for item in told.arguments])
            case what:
                assert value is not None and not isinstance(value, str)
                call.tell(_json(what, self.value(value), told.bits))

    # -- values

    def integer(self, value: v.Value) -> int:
        found = self.value(value)
        assert type(found) is int, f"{value} is no integer: {found!r}"
        return found

    def truth(self, value: v.Value) -> bool:
        found = self.value(value)
        assert type(found) is bool, f"{value} is no bool: {found!r}"
        return found

    def value(self, value: v.Value) -> Any:
        found = self.computed(value)
        assert found is not _UNSET, f"{value} was not set"
        return found

    def computed(self, value: v.Value) -> Any:
        call = self.call
        match value:
            case v.Int(value=constant) | v.Real(value=constant) | v.Truth(value=constant):
                return constant
            case v.Self():
                return self.held
            case v.Local(name=name):
                for scope in reversed(self.scopes):
                    if name in scope:
                        return scope[name]
                raise AssertionError(f"{name} is not declared")
            case v.Member(of=of, name=name):
                return self.value(of).fields[name]
            case v.Item(of=of, index=index):
                items, number = self.value(of), self.integer(index)
                assert 0 <= number < len(items)
                return items[number]
            case v.Count(of=of):
                return len(self.value(of))
            case v.Present(of=of):
                return self.value(of) is not None
            case v.Within(of=of):
                found = self.value(of)
                assert found is not None, f"{of} is absent"
                return found
            case v.Which(of=of):
                return self.value(of).number
            case v.CaseOf(of=of, number=number):
                choice = self.value(of)
                assert choice.number == number, f"{of} holds case {choice.number}, not {number}"
                return choice.value
            case v.Op():
                return self.operation(value)
            case v.Number(of=of, low=low, high=high):
                return self.within(int(self.value(of)), low, high, value)
            case v.Cast(of=of, type=kind):
                number = self.integer(of)
                found = bool(number) if isinstance(kind, v.BoolType) else number
                self.machine.check(kind, found)
                return found
            case v.Load(at=at, bits=bits, signed=signed, order=order):
                assert bits % 8 == 0 and 8 <= bits <= 64
                return int.from_bytes(self.octets(self.integer(at), bits // 8), order, signed=signed)
            case v.FloatOf(of=of, bits=bits):
                found = float_from_bits(self.within(self.integer(of), 0, (1 << bits) - 1, value), bits)
                assert found is not None, "a signalling NaN"
                return found
            case v.BitsOf(of=of, bits=bits):
                number = self.value(of)
                assert exact_float_bits(number, bits) is not None, f"{number} does not fit"
                return float_to_bits(number, bits)
            case v.Slice(at=at, size=size, fixed=fixed):
                octets = self.octets(self.integer(at), self.integer(size))
                assert fixed in (None, len(octets))
                return octets
            case v.Equal(at=at, of=of, octets=octets):
                assert (at is None) != (of is None)
                if of is not None:
                    return self.encoded(self.value(of), of) == octets
                assert at is not None
                return self.octets(self.integer(at), len(octets)) == octets
            case v.FaultCount():
                return call.slot.count
            case v.Written():
                return len(call.output)
            case v.Call():
                return self.runtime(value)
            case v.Octets():
                raise AssertionError("constant bytes only stand in an Equal")

    def octets(self, at: int, size: int) -> bytes:
        assert at >= 0 and size >= 0 and at + size <= len(self.call.data), "outside of the data"
        return self.call.data[at : at + size]

    def encoded(self, found: Any, value: Any) -> bytes:
        """Return the bytes of a bytes value or of a text."""
        kind = type_of(value)
        return bytes(found.encode(kind.encoding) if isinstance(kind, v.TextType) else found)

    def within(self, number: int, low: int, high: int, value: v.Value) -> int:
        assert type(number) is int and low <= number <= high, f"{number} is not in {low}..{high}: {value}"
        return number

    def operation(self, value: v.Op) -> Any:
        match value.operator, value.operands:  # those that need not compute every operand
            case "and", operands:
                return all(self.truth(item) for item in operands)
            case "or", operands:
                return any(self.truth(item) for item in operands)
            case "not", (operand,):
                return not self.truth(operand)
            case "if", (condition, then, other):
                return self.within(
                    self.integer(then if self.truth(condition) else other), value.low, value.high, value
                )
        found = [self.value(item) for item in value.operands]
        if value.operator in ("==", "!=", "<", "<=", ">", ">="):
            assert len({type(item) for item in found}) == 1 and type(found[0]) in (int, float), found
            return OPERATORS[value.operator].compute(*found)
        assert all(type(item) is int for item in found), (value, found)
        if value.operator in ("//", "%"):
            assert isinstance(value.operands[1], v.Int) and found[1] > 0, value
        assert value.operator not in ("<<", ">>") or 0 <= found[1] <= 63, value
        return self.within(OPERATORS[value.operator].compute(*found), value.low, value.high, value)

    def assign(self, target: v.Value, value: Any, *, check: bool = True) -> None:
        """Give a Var, a Member, an Item, a Within, a CaseOf or a Which a value."""
        if check and not isinstance(target, v.Which):
            kind = type_of(target)
            assert kind is not None, f"{target} cannot be set"
            if isinstance(value, Held):
                assert isinstance(kind, v.RecordType) and kind.name == value.record, (kind, value.record)
            else:
                self.machine.check(kind, value)
        match target:
            case v.Local(name=name):
                scope = next(scope for scope in reversed(self.scopes) if name in scope)
                assert name not in self.fixed, f"{name} keeps its value"
                scope[name] = value
            case v.Member(of=of, name=name):
                fields = self.value(of).fields
                assert name in fields, f"no field {name}"
                fields[name] = value
            case v.Item(of=of, index=index):
                items, number = self.value(of), self.integer(index)
                assert 0 <= number < len(items)
                items[number] = value
            case v.Within(of=of):
                self.assign(of, value, check=False)
            case v.Which(of=of):
                kind = type_of(of)
                assert isinstance(kind, v.ChoiceType) and type(value) is int
                case = kind.cases[value][1]
                self.assign(
                    of, Chosen(value, None if case is None else self.machine.fresh(case)), check=False
                )
            case v.CaseOf(of=of, number=number):
                choice = self.value(of)
                assert choice.number == number, f"{of} holds case {choice.number}, not {number}"
                choice.value = value
            case _:
                raise AssertionError(f"{target} cannot be set")

    def runtime(self, value: v.Call) -> Any:
        """Call a function of the runtime."""
        assert value.name in self.machine.program.runtime, f"{value.name} is not listed in the program"
        found: list[Any] = []
        for item in value.arguments:
            if isinstance(item, v.Octets):
                found.append(item.value)
            else:
                found.append(item if isinstance(item, str | bool) else self.value(item))
        data = self.call.data
        if value.name in ("find_mark", "strip_nuls", "filled", "text_code", "text_of"):
            assert 0 <= found[0] <= found[1] <= len(data), (value, found)
        result: Any
        match value.name, found:
            case "integer_fits", [number, low, high]:
                return low <= number <= high
            case "find_mark", [at, end, mark]:
                result = find_mark(data, at, end, mark)
            case "strip_nuls", [at, end, unit]:
                result = at + len(strip_nuls(data[at:end], unit))
            case "filled", [at, end, pattern]:
                result = next((byte for byte in range(at, end) if data[byte] != pattern), end)
            case "text_code", [at, end, encoding, closed]:
                fault = text_fault(data[at:end], encoding, closed, "", None)
                result = 0 if fault is None else 1 if fault.code == "bad-text" else 2
            case "text_of", [at, end, encoding]:
                return data[at:end].decode(encoding)
            case "text_size", [text, encoding]:
                try:
                    result = len(text.encode(encoding))
                except UnicodeEncodeError:
                    result = -1
            case "text_fits", [text, encoding, closed]:
                return encode_text(text, encoding, closed) is not None
            case "float_fits", [number, bits]:
                return exact_float_bits(number, bits) is not None
            case "scaled_of", [raw, multiply, add, divide]:
                return float((raw * multiply + add) / divide)
            case "scaled_fits", [number, multiply, add, divide, low, high]:
                step = raw_of(number, multiply, add, divide)
                return step is not None and low <= step <= high
            case "scaled_raw", [number, multiply, add, divide]:
                result = raw_of(number, multiply, add, divide)
            case "contains_mark", [content, size, mark]:
                octets = self.encoded(content, value.arguments[0])
                assert size == len(octets)
                return find_mark(octets, 0, size, mark) >= 0
            case "ends_in_nuls", [content, unit]:
                return self.encoded(content, value.arguments[0]).endswith(bytes(unit))
            case "varint_size", [raw]:
                result = len(varint_bytes(raw))
            case other:
                raise AssertionError(other)
        return self.within(result, value.low, value.high, value)


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


def type_of(value: v.Value) -> v.Type | None:
    """Return the type of what can be a target or be written; None for integers and bools in expressions."""
    match value:
        case (
            v.Self(type=kind) | v.Local(type=kind) | v.Member(type=kind) | v.Item(type=kind)
            | v.Within(type=kind) | v.CaseOf(type=kind) | v.Cast(type=kind) | v.Call(type=kind)
        ):  # fmt: skip
            return kind
        case v.Slice(fixed=fixed):
            return v.BytesType(fixed)
    return None

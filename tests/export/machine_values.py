"""Values of exported programs, as the machine computes them: what was set, within intervals and bounds."""

from __future__ import annotations

from typing import Any

from tests.export.machine_memory import UNSET, Chosen, Held, Memory, Slot
from wirelock.codec.floats import exact_float_bits, float_from_bits, float_to_bits
from wirelock.codec.scaled import raw_of
from wirelock.codec.text import encode_text, find_mark, strip_nuls, text_fault
from wirelock.codec.varint import varint_bytes
from wirelock.export import values as v
from wirelock.export.lower.expressions import of_type
from wirelock.layout.operators import OPERATORS


class Call:
    """One call of a client: the data, the fault slot, and what was written or told."""

    def __init__(self, memory: Memory, data: bytes) -> None:
        self.memory = memory
        self.data = data
        self.slot = Slot()
        self.output = bytearray()
        self.told: list[str] = []

    def tell(self, piece: str) -> None:
        """Add a piece of JSON, with the comma that it needs."""
        before = self.told[-1] if self.told else ""
        if before and piece not in ("}", "]") and not before.endswith(("{", "[", ": ")):
            self.told.append(", ")
        self.told.append(piece)


class Values:
    """What one function that runs sees: its record, and its locals, block by block."""

    def __init__(self, call: Call, held: Held, names: dict[str, Any]) -> None:
        self.call = call
        self.memory = call.memory
        self.held = held
        self.scopes: list[dict[str, Any]] = [names]
        self.fixed: set[str] = set()

    def declare(self, local: v.Local, value: Any, *, fixed: bool = True) -> None:
        assert all(local.name not in scope for scope in self.scopes), f"{local.name} is declared twice"
        self.memory.check(local.type, value)
        self.scopes[-1][local.name] = value
        if fixed:
            self.fixed.add(local.name)

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
        assert found is not UNSET, f"{value} was not set"
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
                self.memory.check(kind, found)
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
        kind = of_type(value)
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
            kind = of_type(target)
            assert kind is not None, f"{target} cannot be set"
            if isinstance(value, Held):
                assert isinstance(kind, v.RecordType) and kind.name == value.record, (kind, value.record)
            else:
                self.memory.check(kind, value)
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
                kind = of_type(of)
                assert isinstance(kind, v.ChoiceType) and type(value) is int
                case = kind.cases[value][1]
                self.assign(of, Chosen(value, None if case is None else self.memory.fresh(case)), check=False)
            case v.CaseOf(of=of, number=number):
                choice = self.value(of)
                assert choice.number == number, f"{of} holds case {choice.number}, not {number}"
                choice.value = value
            case _:
                raise AssertionError(f"{target} cannot be set")

    def runtime(self, value: v.Call) -> Any:
        """Call a function of the runtime."""
        assert value.name in self.memory.program.runtime, f"{value.name} is not listed in the program"
        found: list[Any] = []
        for item in value.arguments:
            if value.name == "integer_fits" and isinstance(item, v.Number):
                found.append(int(self.value(item.of)))
            elif isinstance(item, v.Octets):
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

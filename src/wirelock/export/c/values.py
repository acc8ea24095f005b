"""Values of a Program as C: where they lie, what is loaded, and calls of the runtime."""

from __future__ import annotations

import math

from wirelock.export import values as v
from wirelock.export.c.operators import ATOM, BOTH, COMPARE, PLUS, RANGES, UNARY, Code, Operators, literal
from wirelock.export.c.types import Locals, Names, octets_literal
from wirelock.export.lower.expressions import of_type

__all__ = ["Expressions"]


class Expressions(Operators):
    """Writes the expressions of one function."""

    def __init__(self, names: Names, local_names: Locals, enumerations: dict[str, v.IntType]) -> None:
        self.names = names
        self.locals = local_names
        self.storage = enumerations
        self.types: dict[str, str] = {}
        """Of locals whose type in C is another than their own: what is computed of positions is a size_t."""
        self._operations: dict[int, tuple[v.Op, Code]] = {}
        """What was written already, by identity: an operator asks for its operands more than once."""

    def place(self, value: v.Value) -> str:
        """Return where a value lies: something that can be assigned, or whose address can be taken."""
        match value:
            case v.Local(name=name):
                return self.locals[name]
            case v.Self():
                return "(*self)"
            case v.Member(of=of, name=name):
                return f"{self._inside(of)}{self._field(of, name)}"
            case v.Item(of=of, index=index):
                items = self.place(of)
                kind = of_type(of)
                fixed = isinstance(kind, v.ListType) and kind.size is not None
                return f"{items}{'' if fixed else '.items'}[{self.value(index).text}]"
            case v.Within(of=of):
                return f"{self.place(of)}.value"
            case v.Which(of=of):
                return f"{self.place(of)}.which"
            case v.CaseOf(of=of, number=number):
                kind = of_type(of)
                assert isinstance(kind, v.ChoiceType)
                return f"{self.place(of)}.as.{self.names.case_labels(kind)[number]}"
        raise AssertionError(f"{value} is no place")

    def _inside(self, of: v.Value) -> str:
        if isinstance(of, v.Self) or self.is_pointer(of):
            return f"{'self' if isinstance(of, v.Self) else self.place(of)}->"
        return f"{self.place(of)}."

    def is_pointer(self, value: v.Value) -> bool:
        """Whether a value is held by its address: a local that is a record."""
        return isinstance(value, v.Local) and isinstance(value.type, v.RecordType)

    def _field(self, of: v.Value, name: str) -> str:
        kind = of_type(of)
        assert isinstance(kind, v.RecordType), of
        return self.names.fields[kind.name][name]

    def address(self, value: v.Value) -> str:
        """Return a pointer to a record."""
        if isinstance(value, v.Self):
            return "self"
        return self.place(value) if self.is_pointer(value) else f"&{self.place(value)}"

    def data(self, at: v.Value) -> str:
        """Return the address of a byte of the data, or of the output."""
        if at == v.Int(0):
            return "data"
        code = self.value(at)
        return f"data + {code.at_least(PLUS)}"

    def value(self, value: v.Value) -> Code:
        """Return any value."""
        match value:
            case v.Int(value=constant):
                held = "int32_t" if -(1 << 31) <= constant < 1 << 31 else "int64_t"
                held = held if constant < 1 << 63 else "uint64_t"
                return Code(literal(constant, held), held, ATOM if constant >= 0 else UNARY)
            case v.Real(value=real):
                return Code(_real(real), "double", ATOM if real >= 0 else UNARY)
            case v.Truth(value=truth):
                return Code(str(truth).lower(), "bool")
            case v.Local(name=name) if name in self.types:
                return Code(self.place(value), self.types[name])
            case v.Local() | v.Member() | v.Item() | v.Within() | v.CaseOf():
                kind = of_type(value)
                assert kind is not None
                return Code(self.place(value), self._type(kind))
            case v.Which(of=of):
                return Code(self.place(value), "uint32_t")
            case v.Present(of=of):
                return Code(f"{self.place(of)}.present", "bool")
            case v.Count(of=of):
                return self._count(of)
            case v.Number(of=of):
                return self.value(of)
            case v.Cast(of=of, type=kind):
                if isinstance(kind, v.BoolType):
                    return Code(f"{self.value(of).at_least(COMPARE + 1)} != 0", "bool", COMPARE)
                to = self._type(kind)
                return Code(self.integer(of, to), to, UNARY)
            case v.Load():
                return self._load(value)
            case v.FloatOf(of=of, bits=bits):
                text = self.assigned(of, f"uint{bits}_t")
                return Code(f"wl_float{bits}({text})", "double" if bits == 64 else "float")
            case v.BitsOf(of=of, bits=bits):
                code = self.value(of)
                narrowed = f"wl_narrow({code.text})" if code.type == "double" and bits < 64 else code.text
                return Code(f"wl_bits{bits}({narrowed})", f"uint{bits}_t")
            case v.Slice(at=at, size=size, fixed=fixed):
                if fixed is not None:
                    return Code(self.data(at), "const uint8_t *", PLUS)
                return Code(f"wl_view({self.data(at)}, {self.assigned(size, 'size_t')})", "wl_bytes")
            case v.Equal(at=at, of=of, octets=octets):
                return self._equal(at, of, octets)
            case v.FaultCount():
                return Code("fault->count", "uint32_t")
            case v.Written():
                return Code("output->used", "size_t")
            case v.Call():
                return self._call(value)
            case v.Op():
                if id(value) not in self._operations:
                    self._operations[id(value)] = value, self.operation(value)
                return self._operations[id(value)][1]
        raise AssertionError(f"{value} is no expression of its own")

    def _type(self, kind: v.Type) -> str:
        """Return the type that an expression has; that of an enumeration's integer for its members."""
        if isinstance(kind, v.EnumType):
            return self.names.type_of(self.storage[kind.name])
        return self.names.type_of(kind)

    def _count(self, of: v.Value) -> Code:
        kind = of_type(of)
        match kind:
            case v.ListType(size=int(size)) | v.BytesType(size=int(size)):
                return Code(str(size), "int32_t")
            case v.TextType(encoding=encoding):
                return Code(f"wl_text_length({self.place(of)}, {_encoding(encoding)})", "size_t")
            case v.ListType():
                return Code(f"{self.place(of)}.count", "size_t")
        return Code(f"{self.place(of)}.size", "size_t")

    def _load(self, value: v.Load) -> Code:
        text = f"wl_get_{value.order[0]}e{value.bits}({self.data(value.at)})"
        if value.bits == 8:
            code = self.value(value.at)
            text = f"data[{code.text}]"
        stored = next(bits for bits in (8, 16, 32, 64) if bits >= value.bits)
        if not value.signed:
            return Code(text, f"uint{stored}_t")
        if stored == value.bits:
            return Code(f"(int{stored}_t){text}", f"int{stored}_t", UNARY)
        return Code(f"wl_signed({text}, {value.bits})", "int64_t")

    def _equal(self, at: v.Value | None, of: v.Value | None, octets: bytes) -> Code:
        literal = octets_literal(octets)
        if at is not None:
            if not octets:
                return Code("true", "bool")
            if len(octets) == 1:
                return Code(f"data[{self.value(at).text}] == {octets[0]}", "bool", COMPARE)
            return Code(f"memcmp({self.data(at)}, {literal}, {len(octets)}) == 0", "bool", COMPARE)
        assert of is not None
        kind, place = of_type(of), self.place(of)
        if isinstance(kind, v.BytesType) and kind.size is not None:
            return Code(f"wl_same({place}, {kind.size}, {literal}, {len(octets)})", "bool")
        return Code(f"wl_same({place}.data, {place}.size, {literal}, {len(octets)})", "bool")

    def _call(self, value: v.Call) -> Code:
        given = list(value.arguments)

        def size(number: int) -> str:
            argument = given[number]
            assert not isinstance(argument, str | bool)
            return self.assigned(argument, "size_t")

        def long(number: int) -> str:
            argument = given[number]
            assert not isinstance(argument, str | bool)
            return self.assigned(argument, "int64_t")

        def plain(number: int) -> str:
            argument = given[number]
            assert not isinstance(argument, str | bool)
            return self.value(argument).text

        def mark(number: int) -> str:
            argument = given[number]
            assert isinstance(argument, v.Octets)
            return f"{octets_literal(argument.value)}, {len(argument.value)}"

        def encoding(number: int) -> str:
            return _encoding(str(given[number]))

        match value.name:
            case "integer_fits":
                return self._integer_fits(given)
            case "find_mark":
                return Code(f"wl_find_mark(data, {size(0)}, {size(1)}, {mark(2)})", "int64_t")
            case "strip_nuls":
                return Code(f"wl_strip_nuls(data, {size(0)}, {size(1)}, {size(2)})", "size_t")
            case "filled":
                return Code(f"wl_filled(data, {size(0)}, {size(1)}, {size(2)})", "size_t")
            case "text_code":
                start, end = given[0], given[1]
                assert not isinstance(start, str | bool) and not isinstance(end, str | bool)
                closed = str(bool(given[3])).lower()
                text = f"{self.data(start)}, {self._between(start, end)}"
                return Code(f"wl_text_code({text}, {encoding(2)}, {closed})", "int32_t")
            case "text_of":
                start, end = given[0], given[1]
                assert not isinstance(start, str | bool) and not isinstance(end, str | bool)
                return Code(f"wl_view({self.data(start)}, {self._between(start, end)})", "wl_bytes")
            case "text_size":
                return Code(f"wl_text_size({plain(0)}, {encoding(1)})", "int64_t")
            case "text_fits":
                text = f"{plain(0)}.data, {plain(0)}.size, {encoding(1)}, {str(bool(given[2])).lower()}"
                return Code(f"wl_text_code({text}) == 0", "bool", COMPARE)
            case "float_fits":
                bits = given[1]
                assert isinstance(bits, v.Int)
                argument = given[0]
                assert not isinstance(argument, str | bool)
                code = self.value(argument)
                word = "narrows" if code.type == "double" and bits.value < 64 else "fits"
                return Code(f"wl_{word}{bits.value}({code.text})", "bool")
            case "scaled_of":
                return Code(f"wl_scaled({long(0)}, {long(1)}, {long(2)}, {long(3)})", "double")
            case "scaled_fits":
                numbers = ", ".join(map(long, range(1, 6)))
                return Code(f"wl_scaled_fits({plain(0)}, {numbers})", "bool")
            case "scaled_raw":
                return Code(f"wl_scaled_raw({plain(0)}, {long(1)}, {long(2)}, {long(3)})", "int64_t")
            case "contains_mark":
                return Code(f"wl_contains_mark({self._bytes(given[0])}, {size(1)}, {mark(2)})", "bool")
            case "ends_in_nuls":
                return Code(f"wl_ends_in_nuls({self._bytes(given[0])}, {size(1)})", "bool")
            case "varint_size":
                argument = given[0]
                assert not isinstance(argument, str | bool)
                return Code(f"wl_varint_size({self.assigned(argument, 'uint64_t')})", "uint32_t")
        raise AssertionError(value.name)

    def _bytes(self, value: v.Value | str | bool) -> str:
        assert not isinstance(value, str | bool)
        kind = of_type(value)
        if isinstance(kind, v.BytesType) and kind.size is not None:
            return f"wl_view({self.place(value)}, {kind.size})"
        return self.value(value).text

    def _between(self, start: v.Value, end: v.Value) -> str:
        if start == v.Int(0):
            return self.assigned(end, "size_t")
        return f"{self.integer(end, 'size_t')} - {self.integer(start, 'size_t')}"

    def _integer_fits(self, given: list[v.Value | str | bool]) -> Code:
        of, low, high = given
        assert isinstance(low, v.Int) and isinstance(high, v.Int) and not isinstance(of, str | bool)
        code = self.value(of)
        least, greatest = RANGES[code.type]
        tests = []
        if least < low.value:
            tests.append(f"{code.text} >= {literal(low.value, code.type)}")
        if greatest > high.value:
            tests.append(f"{code.text} <= {literal(high.value, code.type)}")
        if not tests:
            return Code("true", "bool")
        return Code(" && ".join(tests), "bool", COMPARE if len(tests) == 1 else BOTH)


def _real(value: float) -> str:
    if math.isinf(value):
        return "HUGE_VAL" if value > 0 else "-HUGE_VAL"
    return repr(value)


def _encoding(name: str) -> str:
    return f"WL_{name.upper().replace('-', '_')}"

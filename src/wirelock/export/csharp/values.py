"""Values of a program as expressions of C#: fields and locals, bytes of the data, calls of the runtime."""

from __future__ import annotations

import math
from typing import Final

from wirelock.export import values as v
from wirelock.export.csharp.arithmetic import (
    BINDS,
    PRIMARY,
    RANGES,
    UNARY,
    Arithmetic,
    Expr,
    fits,
    record_of,
)
from wirelock.export.csharp.names import is_reference
from wirelock.export.csharp.text import integer_text, text_literal
from wirelock.export.lower.expressions import of_type
from wirelock.layout.bounds import MAX_LENGTH

__all__ = ["Values"]

SHORT: Final = 4
"""So many constant bytes are compared one by one."""


class Values(Arithmetic):
    """Writes values of one function: `octets` collects constants of the record."""

    def constant(self, octets: bytes) -> str:
        """Return the name of a static array of constant bytes."""
        if octets not in self.octets:
            self.octets[octets] = f"_octets{len(self.octets) + 1}"
        return self.octets[octets]

    def expression(self, value: v.Value) -> Expr:
        """Return a value as an expression with its type."""
        match value:
            case v.Int(value=number):
                kinds = [kind for kind in ("int", "uint", "long", "ulong") if fits((number, number), kind)]
                return Expr(integer_text(number, kinds[0]), kinds[0], PRIMARY if number >= 0 else UNARY)
            case v.Real(value=number):
                return Expr(_real_text(number), "double", PRIMARY if number >= 0 else UNARY)
            case v.Truth(value=truth):
                return Expr("true" if truth else "false", "bool")
            case v.Octets(value=octets):
                return Expr(self.constant(octets), "byte[]")
            case v.Self():
                return Expr(self.itself, self.book.of(value.type))
            case v.Local(name=name, type=kind):
                return Expr(self.names[name], self.kinds.get(name) or self.type_of(kind))
            case v.Member(of=of, name=name, type=kind):
                return Expr(self.member(of, name), self.book.of(kind))
            case v.Item(of=of, index=index, type=kind):
                return Expr(f"{self.text(of, PRIMARY)}[{self.position(index)}]", self.book.of(kind))
            case v.Within(of=of, type=kind):
                inner = self.text(of, PRIMARY)
                return Expr(inner if is_reference(kind) else f"{inner}.Value", self.book.of(kind))
            case v.Which(of=of):
                return Expr(f"(int){self.text(of, PRIMARY)}.Kind", "int", UNARY)
            case v.CaseOf(of=of, number=number, type=kind):
                return Expr(f"{self.text(of, PRIMARY)}.{self.case(of, number)}", self.book.of(kind))
            case v.Count(of=of):
                return self._count(of)
            case v.Present(of=of):
                return Expr(f"{self.text(of, BINDS['=='])} != null", "bool", BINDS["!="])
            case v.Op():
                return self._operation(value)
            case v.Number(of=of):
                return self._number(of)
            case v.Cast(of=of, type=kind):
                return self._cast(of, kind)
            case v.Load():
                return self._load(value)
            case v.FloatOf(of=of, bits=bits):
                return self._float_of(of, bits)
            case v.BitsOf(of=of, bits=bits):
                found = self._bits_of(of, bits)
                return found if bits == 16 else self.cast(found, f"u{found.type}", False)
            case v.Slice(at=at, size=size):
                return Expr(f"{self.slice(at, size)}.ToArray()", "byte[]")
            case v.Equal():
                return self.equal(value)
            case v.FaultCount():
                return Expr(f"{self.faults}.Count", "int")
            case v.Written():
                return Expr("writer.Length", "int")
            case v.Call():
                return self._call(value)

    def member(self, of: v.Value, name: str) -> str:
        """Return the text of a field: of the record itself its bare name."""
        kind = record_of(of)
        field = self.book.field(kind, name)
        bare = isinstance(of, v.Self) and self.itself == "this"
        return field if bare else f"{self.text(of, PRIMARY)}.{field}"

    def case(self, of: v.Value, number: int) -> str:
        """Return the name of a choice's case."""
        kind = of_type(of)
        assert isinstance(kind, v.ChoiceType), of
        return self.book.cases(kind)[number]

    def slice(self, at: v.Value, size: v.Value | int) -> str:
        """Return a slice of the data."""
        length = str(size) if isinstance(size, int) else self.as_type(size, "int")
        return f"{self.data}.Slice({self.position(at)}, {length})"

    # -- one kind each

    def _count(self, of: v.Value) -> Expr:
        match of_type(of):
            case v.TextType():
                return Expr(f"Wire.CodePoints({self.text(of)})", "int")
        if isinstance(of, v.Slice):
            return self.expression(of.size)
        return Expr(f"Wire.Count({self.text(of)})", "int")

    def _number(self, of: v.Value) -> Expr:
        match of_type(of):
            case v.EnumType(name=name):
                storage = self.book.of(self.book.enumerations[name].storage)
                wide = "int" if fits(RANGES[storage], "int") else storage
                return Expr(f"({wide}){self.text(of, UNARY)}", wide, UNARY)
        return Expr(f"{self.text(of, BINDS['?'] + 1)} ? 1 : 0", "int", BINDS["?"])

    def _cast(self, of: v.Value, kind: v.Type) -> Expr:
        match kind:
            case v.BoolType():
                return Expr(f"{self.text(of, BINDS['!='] + 1)} != 0", "bool", BINDS["!="])
            case v.EnumType():
                return Expr(f"({self.book.of(kind)}){self.text(of, PRIMARY)}", self.book.of(kind), UNARY)
        assert isinstance(kind, v.IntType), kind
        return self.converted(of, self.type_of(kind))

    def _load(self, value: v.Load) -> Expr:
        signed, bits = value.signed, value.bits
        if bits == 8:
            octet = f"{self.data}[{self.position(value.at)}]"
            return Expr(f"unchecked((sbyte){octet})", "sbyte") if signed else Expr(octet, "byte")
        order = "LittleEndian" if value.order == "little" else "BigEndian"
        if bits in (16, 32, 64):
            name = f"{'Int' if signed else 'UInt'}{bits}"
            kind = name.lower().replace("int16", "short").replace("int32", "int").replace("int64", "long")
            rest = f"{self.data}.Slice({self.position(value.at)})"
            return Expr(f"BinaryPrimitives.Read{name}{order}({rest})", kind)
        call = f"Wire.Read{'Int' if signed else 'UInt'}{order}({self.slice(value.at, bits // 8)})"
        return Expr(call, "long" if signed else "ulong")

    def _float_of(self, of: v.Value, bits: int) -> Expr:
        if bits == 16:
            return Expr(f"Wire.HalfToSingle({self.as_type(of, 'int')})", "float")
        if isinstance(of, v.Load):
            raw = self._load(v.Load(of.at, of.bits, True, of.order)).text
        else:
            raw = self.as_type(of, "int" if bits == 32 else "long")
        return _call(
            "BitConverter.Int32BitsToSingle" if bits == 32 else "BitConverter.Int64BitsToDouble", bits, raw
        )

    def _bits_of(self, of: v.Value, bits: int) -> Expr:
        """Return the bits of a float as a signed integer, or those of a binary16."""
        raw = self.text(of)
        if bits == 16:
            return Expr(f"Wire.SingleToHalf({raw})", "int")
        if bits == 32:
            return Expr(f"BitConverter.SingleToInt32Bits({raw})", "int")
        return Expr(f"BitConverter.DoubleToInt64Bits({raw})", "long")

    def stored(self, value: v.Value, kind: str) -> Expr:
        """Return an integer whose low bits are stored as a type."""
        if isinstance(value, v.Number) and isinstance(of_type(value.of), v.EnumType):
            return self.cast(self.expression(value.of), kind, fits(RANGES[self.held_as(value, kind)], kind))
        if isinstance(value, v.BitsOf) and value.bits != 16:
            found = self._bits_of(value.of, value.bits)
            return found if found.type == kind else self.cast(found, kind, False)
        if isinstance(value, v.Int):
            low, high = RANGES[kind]
            number = value.value & high if low == 0 else value.value
            return Expr(integer_text(number, kind), kind)
        return self.converted(value, kind)

    def equal(self, value: v.Equal, *, opposite: bool = False) -> Expr:
        """Return whether bytes are constant ones, or whether they are not."""
        octets, sign = value.octets, "!=" if opposite else "=="
        if value.at is not None and 0 < len(octets) <= SHORT:
            tests = [
                f"{self.data}[{self.position(_plus(value.at, number))}] {sign} 0x{octet:02X}"
                for number, octet in enumerate(octets)
            ]
            joint = "||" if opposite else "&&"
            return Expr(f" {joint} ".join(tests), "bool", BINDS[sign] if len(tests) == 1 else BINDS[joint])
        kind = of_type(value.of) if value.of is not None else None
        if isinstance(kind, v.TextType) and value.of is not None:
            wanted = text_literal(octets.decode(kind.encoding))
            return Expr(f'({self.text(value.of, PRIMARY)} ?? "") {sign} {wanted}', "bool", BINDS[sign])
        if isinstance(value.of, v.Slice):
            found = self.slice(value.of.at, value.of.size)
        elif value.of is not None:
            found = self.text(value.of)
        else:
            assert value.at is not None
            found = self.slice(value.at, len(octets))
        same = f"Wire.Same({found}, {self.constant(octets)})"
        return Expr(f"!{same}", "bool", UNARY) if opposite else Expr(same, "bool")

    def _call(self, value: v.Call) -> Expr:
        arguments = value.arguments
        match value.name:
            case "integer_fits":
                return self._integer_fits(value)
            case "text_code" | "text_of":
                at, end, *rest = arguments
                assert not isinstance(at, str | bool) and not isinstance(end, str | bool)
                told = [self.slice(at, v.Op("-", (end, at), 0, MAX_LENGTH)), *map(self._argument, rest)]
            case "find_mark" | "strip_nuls" | "filled":
                at, end, more = arguments
                assert not isinstance(at, str | bool) and not isinstance(end, str | bool)
                told = [self.data, self.position(at), self.position(end), self._argument(more)]
            case "contains_mark":
                content, size, mark = arguments
                assert not isinstance(size, str | bool)
                told = [self._encoded(content), "0", self.position(size), self._argument(mark)]
                return Expr(f"Wire.FindMark({', '.join(told)}) >= 0", "bool", BINDS[">="])
            case "ends_in_nuls":
                content, unit = arguments
                told = [self._encoded(content), self._argument(unit)]
            case "varint_size":
                raw = arguments[0]
                assert not isinstance(raw, str | bool)
                told = [self.converted(raw, "ulong").text]
            case _:
                told = list(map(self._argument, arguments))
        name = "".join(part.capitalize() for part in value.name.split("_"))
        return Expr(f"Wire.{name}({', '.join(told)})", CALLS[value.name])

    def _encoded(self, content: v.Value | str | bool) -> str:
        """Return the bytes of a bytes value or of a text."""
        assert not isinstance(content, str | bool)
        kind = of_type(content)
        if isinstance(kind, v.TextType):
            return f"Wire.BytesOf({self.text(content)}, {text_literal(kind.encoding)})"
        return self.text(content)

    def _argument(self, argument: v.Value | str | bool) -> str:
        match argument:
            case str():
                return text_literal(argument)
            case bool():
                return "true" if argument else "false"
            case v.Octets(value=octets):
                return self.constant(octets)
        found = self.expression(argument)
        position = found.type in RANGES and fits(self.interval(argument), "int")
        return self.as_type(argument, "int") if position else found.text


CALLS: Final[dict[str, str]] = {
    "find_mark": "int", "strip_nuls": "int", "filled": "int", "text_code": "int", "text_of": "string",
    "text_size": "long", "text_fits": "bool", "float_fits": "bool", "scaled_of": "double",
    "scaled_fits": "bool", "scaled_raw": "long", "varint_size": "int", "ends_in_nuls": "bool",
}  # fmt: skip


def _call(name: str, bits: int, raw: str) -> Expr:
    return Expr(f"{name}({raw})", "float" if bits == 32 else "double")


def _plus(value: v.Value, number: int) -> v.Value:
    if not number:
        return value
    match value:
        case v.Int(value=constant):
            return v.Int(constant + number)
        case v.Op(operator="+", operands=(left, v.Int(value=constant)), low=low, high=high):
            return v.Op("+", (left, v.Int(constant + number)), low + number, high + number)
    return v.Op("+", (value, v.Int(number)), 0, MAX_LENGTH)


def _real_text(value: float) -> str:
    if math.isinf(value):
        return "double.PositiveInfinity" if value > 0 else "double.NegativeInfinity"
    return repr(value)

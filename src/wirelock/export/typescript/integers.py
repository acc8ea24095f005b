"""Integers of an exported codec in TypeScript: a `number` within 2**53, a `bigint` beyond.

What is computed from 32-bit integers stays within JavaScript's own 32-bit operators where they give the same
result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from wirelock.export import values as v
from wirelock.export.lower.expressions import interval_of, of_type
from wirelock.export.typescript.expressions import UNARY, Text, binary, call, literal, mask, ternary
from wirelock.export.typescript.module import Module

__all__ = ["Integers"]

INT32: Final = (-(1 << 31), (1 << 31) - 1)
UINT32: Final = (0, (1 << 32) - 1)
_METHODS: Final = {8: "Uint8", 16: "Uint16", 32: "Uint32", 64: "BigUint64"}


def within(interval: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= interval[0] and interval[1] <= outer[1]


class Integers(ABC):
    """Integers within one function: their domain, and what is computed from them."""

    module: Module

    @abstractmethod
    def integer(self, value: v.Value) -> Text:
        """Return an integer in its own domain: a bigint where `is_wide`, otherwise a number."""

    @abstractmethod
    def truth(self, value: v.Value) -> Text:
        """Return a bool."""

    @property
    @abstractmethod
    def view(self) -> str:
        """The DataView of the bytes."""

    def is_wide(self, value: v.Value) -> bool:
        """Whether an integer is a bigint."""
        match of_type(value):
            case v.EnumType(name=name):
                return self.module.wide_type(v.EnumType(name))
        return not within(interval_of(value), v.SAFE)

    def number(self, value: v.Value) -> Text:
        """Return an integer as a number."""
        if isinstance(value, v.Int):
            return literal(value.value)
        text = self.integer(value)
        return call("Number", text.shown) if self.is_wide(value) else text

    def big(self, value: v.Value) -> Text:
        """Return an integer as a bigint."""
        if isinstance(value, v.Int):
            return literal(value.value, "n")
        text = self.integer(value)
        return text if self.is_wide(value) else call("BigInt", text.shown)

    def in_domain(self, value: v.Value, wide: bool) -> Text:
        """Return an integer as a bigint or a number."""
        return self.big(value) if wide else self.number(value)

    def operation(self, value: v.Op) -> Text:
        """Return an operation over integers in the domain of its result."""
        wide = self.is_wide(value)
        if value.operator == "if":
            condition, then, other = value.operands
            return ternary(self.truth(condition), self.in_domain(then, wide), self.in_domain(other, wide))
        if wide or any(self.is_wide(item) for item in value.operands):
            found = self._big_operation(value)
            return found if wide else call("Number", found.shown)
        return self._number_operation(value)

    def _big_operation(self, value: v.Op) -> Text:
        name = value.operator
        parts = [self.big(item) for item in value.operands]
        match name:
            case "neg":
                return Text(("-", parts[0].atom), "-u", UNARY)
            case "abs":
                return call(self.module.integers("absBigInt"), parts[0].shown)
            case "min" | "max":
                return call(self.module.integers(f"{name}BigInt"), *(part.shown for part in parts))
            case "//" | "%" if interval_of(value.operands[0])[0] < 0:
                function = "floorDivide" if name == "//" else "floorRemainder"
                return call(self.module.integers(function), *(part.shown for part in parts))
        found = parts[0]
        for item, part in zip(value.operands[1:], parts[1:], strict=True):
            if name in ("&", "|", "^") and isinstance(item, v.Int):
                part = mask(item.value, "n")
            found = binary({"//": "/"}.get(name, name), found, part)
        return found

    def _number_operation(self, value: v.Op) -> Text:
        name, first = value.operator, value.operands[0]
        match name:
            case "neg":
                return Text(("-", self.number(first).atom), "-u", UNARY)
            case "abs" | "min" | "max":
                return call(f"Math.{name}", *(self.number(item).shown for item in value.operands))
            case "//" | ">>" | "%" | "<<":
                match value.operands[1]:
                    case v.Int(value=constant):
                        return self._scaled(name, value, first, constant)
                return self._shifted(name, value, *value.operands)
            case "&" | "|" | "^":
                return self._bitwise(value)
        found = self.number(first)
        for item in value.operands[1:]:
            if name == "+" and isinstance(item, v.Int) and item.value < 0:
                found = binary("-", found, literal(-item.value))
            else:
                found = binary(name, found, self.number(item))
        return found

    def _scaled(self, name: str, value: v.Op, first: v.Value, constant: int) -> Text:
        """Return a shift, or a floor division by a positive constant, or its rest."""
        text, interval = self.number(first), interval_of(first)
        power = constant.bit_length() - 1 if constant & (constant - 1) == 0 else None
        if name == "<<":
            if within(interval_of(value), INT32) and constant < 32:
                return binary("<<", self._low32(first), literal(constant))
            return binary("*", text, literal(1 << constant))
        if name == ">>":
            power, constant = constant, 1 << constant
        if name == "%":
            if within(interval, INT32) and power is not None and power < 32:
                return binary("&", text, mask(constant - 1))
            if interval[0] >= 0:
                return binary("%", text, literal(constant))
            rest = binary("+", binary("%", text, literal(constant)), literal(constant))
            return binary("%", rest, literal(constant))
        if power is not None and power < 32 and within(interval, INT32):
            return binary(">>", text, literal(power))
        if power is not None and power < 32 and within(interval, UINT32):
            return binary(">>>", text, literal(power))
        return call("Math.floor", binary("/", text, literal(constant)).shown)

    def _shifted(self, name: str, value: v.Op, first: v.Value, count: v.Value) -> Text:
        """Return a shift by a number of bits that is computed, 0..63."""
        assert name in ("<<", ">>"), value
        amount = self.number(count)
        inside = value if name == "<<" else first
        if within(interval_of(inside), INT32) and interval_of(count)[1] < 32:
            return binary(name, self.number(first), amount)
        power = binary("**", literal(2), amount)
        if name == "<<":
            return binary("*", self.number(first), power)
        return call("Math.floor", binary("/", self.number(first), power).shown)

    def _bitwise(self, value: v.Op) -> Text:
        interval = interval_of(value)
        if _has_low32(value) and (within(interval, INT32) or within(interval, UINT32)):
            found = self._low32(value)
            return found if within(interval, INT32) else binary(">>>", found, literal(0))
        found = self.big(value.operands[0])
        for item in value.operands[1:]:
            found = binary(value.operator, found, self.big(item))
        return call("Number", found.shown)

    def _low32(self, value: v.Value) -> Text:
        """Return an integer that is the same in its low 32 bits, for JavaScript's bitwise operators."""
        match value:
            case v.Int(value=constant):
                return mask(constant if within((constant, constant), INT32) else constant & UINT32[1])
            case v.Op(operator="&" | "|" | "^" as name, operands=(left, right)) if _has_low32(value):
                return binary(name, self._low32(left), self._low32(right))
            case v.Op(operator="<<", operands=(left, v.Int(value=count))) if count < 32:
                return binary("<<", self._low32(left), literal(count))
        if self.is_wide(value):  # a number would be rounded before its low bits are taken
            return call("Number", binary("&", self.big(value), Text("0xffffffffn")).shown)
        return self.number(value)

    def stored(self, value: v.Value, bits: int) -> Text:
        """Return an integer of which the low bits are stored: a bigint for 56 and 64 of them."""
        if bits > 48:
            return self.big(value)
        if self.is_wide(value):
            mask = Text(f"0x{(1 << bits) - 1:x}n")
            return call("Number", binary("&", self.big(value), mask).shown)
        return self._low32(value) if bits <= 32 else self.number(value)

    def load(self, at: Text, bits: int, signed: bool, order: str) -> Text:
        """Return the integer in so many bits at a byte."""
        little = ("true",) if order == "little" and bits > 8 else ()
        if bits in _METHODS:
            method = _METHODS[bits].replace("Uint", "Int") if signed else _METHODS[bits]
            return call(f"{self.view}.get{method}", at.shown, *little)
        big = "Big" if bits == 56 else ""
        name = f"get{big}{'Int' if signed else 'Uint'}{bits}"
        return call(self.module.integers(name), self.view, at.shown, *little)


def _has_low32(value: v.Value) -> bool:
    """Whether JavaScript's 32-bit operators give the low 32 bits of the result, and its sign with them."""
    if isinstance(value, v.Op) and value.operator in ("&", "|", "^"):
        if value.operator == "&":
            return any(within(interval_of(item), UINT32) for item in value.operands)
        return all(
            within(interval_of(item), INT32) or within(interval_of(item), UINT32) for item in value.operands
        )
    return False

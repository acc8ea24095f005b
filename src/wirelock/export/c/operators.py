"""Integers of a Program as C computes them: nothing overflows, mixes signs, or is lost in a conversion.

An operator is computed in int32_t, int64_t, uint32_t, uint64_t or size_t, whichever holds its operands and
its result by their intervals; casts stand where C would convert otherwise.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

from wirelock.export import values as v
from wirelock.export.c.types import is_position
from wirelock.export.lower.expressions import integer, interval_of, is_float, of_type
from wirelock.layout.operators import COMPARISONS, Interval

__all__ = [
    "ATOM",
    "BOTH",
    "COMPARE",
    "PLUS",
    "RANGES",
    "UNARY",
    "Code",
    "Operators",
    "literal",
    "range_of",
    "truth_of",
]

ATOM, UNARY, _TIMES, PLUS, _SHIFT, COMPARE, _AND, _XOR, _OR, BOTH, _EITHER, _CHOICE = range(16, 4, -1)
_BINDS: Final = {
    "*": _TIMES, "//": _TIMES, "%": _TIMES, "+": PLUS, "-": PLUS, "<<": _SHIFT, ">>": _SHIFT, "&": _AND,
    "^": _XOR, "|": _OR, "and": BOTH, "or": _EITHER,
} | dict.fromkeys(COMPARISONS, COMPARE)  # fmt: skip
_SPELLED: Final = {"//": "/", "and": "&&", "or": "||"}
RANGES: Final[dict[str, Interval]] = {
    f"{'u' * unsigned}int{bits}_t": (
        (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    )
    for bits in (8, 16, 32, 64)
    for unsigned in (False, True)
} | {"size_t": (0, (1 << 64) - 1), "bool": (0, 1)}
_SMALL: Final = ("int8_t", "uint8_t", "int16_t", "uint16_t", "bool")
"""What C makes an int of before it computes."""
_WIDE: Final = ("uint64_t", "size_t")


@dataclass(frozen=True, slots=True)
class Code:
    """The text of an expression, its type, and how tightly its operator binds (higher binds tighter)."""

    text: str
    type: str
    binds: int = ATOM

    def at_least(self, binds: int) -> str:
        """Return the text, in brackets if it binds less tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


def truth_of(value: v.Value) -> bool | None:
    """Return what a bool always is, for C's types; None where it may be either."""
    match value:
        case v.Truth(value=truth):
            return truth
        case v.Op(operator="not", operands=(operand,)):
            found = truth_of(operand)
            return None if found is None else not found
        case v.Op(operator="and" | "or" as name, operands=operands):
            parts = [truth_of(operand) for operand in operands]
            decides = name == "or"
            if decides in parts:
                return decides
            return None if None in parts else not decides
        case v.Op(operator=name, operands=(left, right)) if name in COMPARISONS:
            return None if is_float(left) or is_float(right) else _compared(name, left, right)
        case v.Call(name="integer_fits", arguments=(of, v.Int(value=low), v.Int(value=high))):
            assert not isinstance(of, str | bool)
            kind = of_type(of)
            return True if isinstance(kind, v.IntType) and _holds(kind) == (low, high) else None
    return None


def _holds(kind: v.IntType) -> Interval:
    """Return the least and the greatest integer of C's type."""
    if is_position(kind):
        return 0, (1 << 64) - 1
    return RANGES[f"{'' if kind.signed else 'u'}int{kind.bits}_t"]


def _compared(name: str, left: v.Value, right: v.Value) -> bool | None:
    """Return what a comparison of integers always gives: a compiler warns of those."""
    (least, greatest), (lowest, highest) = range_of(left), range_of(right)
    same = left == right
    match name:
        case "<" | ">=":
            found = False if same or least >= highest else True if greatest < lowest else None
        case ">" | "<=":
            found = False if same or greatest <= lowest else True if least > highest else None
        case _:
            equal = same or (least == greatest == lowest == highest)
            found = True if equal else False if greatest < lowest or least > highest else None
    return found if found is None else found is (name in ("<", ">", "=="))


def range_of(value: v.Value) -> Interval:
    """Return what an integer can be in C: what its type holds, whatever the layout says of it."""
    kind = of_type(value)
    match value:
        case v.Int(value=constant):
            return constant, constant
        case v.Count(of=of):
            counted = of_type(of)
            if isinstance(counted, v.ListType | v.BytesType) and counted.size is not None:
                return counted.size, counted.size
            return 0, (1 << 64) - 1
        case v.Load():
            return interval_of(value)
        case v.Written() | v.FaultCount():
            return 0, (1 << 64) - 1
        case v.Number(of=of) if isinstance(of_type(of), v.BoolType):
            known = truth_of(of)
            return (0, 1) if known is None else (int(known), int(known))
        case v.Op(low=low, high=high):
            held = (RANGES[name] for name in ("int32_t", "uint32_t"))
            least, greatest = next(
                (it for it in held if it[0] <= low and high <= it[1]), (-(1 << 64), 1 << 64)
            )
            return max(least, 0) if low >= 0 else least, greatest
        case v.Number(low=low) if low >= 0:
            return 0, 1 << 64
    if isinstance(kind, v.IntType):
        return _holds(kind)
    return -(1 << 64), 1 << 64


def literal(value: int, kind: str) -> str:
    """Return a constant that needs no cast beside operands of a type."""
    if kind in ("uint32_t", *_WIDE):
        return str(value) if value < 1 << 31 else f"{value}u" if value < 1 << 32 else f"UINT64_C({value})"
    if value == -(1 << 63):
        return "INT64_MIN"
    if value == -(1 << 31):
        return "INT32_MIN"
    if not -(1 << 31) <= value < 1 << 31:
        return f"INT64_C({value})" if value < 1 << 63 else f"UINT64_C({value})"
    return str(value)


class Operators(ABC):
    """Writes operators; `value` writes any value."""

    @abstractmethod
    def value(self, value: v.Value) -> Code:
        """Return any value."""

    def integer(self, value: v.Value, kind: str) -> str:
        """Return an integer as one of a type, cast if need be, to stand where a cast may."""
        if isinstance(value, v.Int):
            return literal(value.value, kind)
        code = self.value(value)
        return code.at_least(UNARY) if code.type == kind else f"({kind}){code.at_least(UNARY)}"

    def assigned(self, value: v.Value, kind: str) -> str:
        """Return an integer, to be assigned to or passed as one of a type."""
        if isinstance(value, v.Int):
            wraps = value.value < 0 and kind in ("uint8_t", "uint16_t", "uint32_t", "uint64_t")
            return literal(value.value & RANGES[kind][1] if wraps else value.value, kind)
        code = self.value(value)
        low, high = RANGES[kind]
        lossless = code.type in RANGES and low <= RANGES[code.type][0] and RANGES[code.type][1] <= high
        if code.type == kind or (lossless and "size_t" not in (code.type, kind)):
            return code.text
        return f"({kind}){code.at_least(UNARY)}"

    def truth(self, value: v.Value) -> str:
        """Return a bool."""
        known = truth_of(value)
        return self.value(value).text if known is None else str(known).lower()

    def operation(self, value: v.Op) -> Code:
        """Return an operation."""
        name, operands = value.operator, value.operands
        known = truth_of(value)
        if known is not None:
            return Code(str(known).lower(), "bool")
        match name:
            case "not":
                return Code(f"!{self.value(operands[0]).at_least(UNARY)}", "bool", UNARY)
            case "and" | "or":
                kept = [item for item in operands if truth_of(item) is None]
                if len(kept) == 1:
                    return self.value(kept[0])
                parts = [self.value(item) for item in kept]
                texts = [part.text if part.binds >= COMPARE else f"({part.text})" for part in parts]
                return Code(f" {_SPELLED[name]} ".join(texts), "bool", _BINDS[name])
        if any(map(is_float, operands)):
            codes = [self.value(item) for item in operands]
            narrow = any(code.type == "float" for code in codes)
            both = all(
                code.type == "float" or _is_binary32(item) for item, code in zip(operands, codes, strict=True)
            )
            left, right = (
                f"(double){code.at_least(UNARY)}"
                if code.type == "float" and not both
                else f"{code.text}f"
                if narrow and both and code.type == "double"
                else code.at_least(COMPARE + 1)
                for code in codes
            )
            return Code(f"{left} {name} {right}", "bool", COMPARE)
        if name in COMPARISONS:
            kind = self._common(operands, [])
            left, right = self._sides(operands, kind, COMPARE + 1)
            return Code(f"{left} {name} {right}", "bool", COMPARE)
        typed = operands[1:] if name == "if" else operands[:1] if name in ("<<", ">>") else operands
        kind = self._common(typed, [(value.low, value.high)])
        if name in ("<<", ">>") and interval_of(operands[1])[1] > 31:
            kind = {"int32_t": "int64_t", "uint32_t": "uint64_t", "size_t": "uint64_t"}.get(kind, kind)
        return self._computed(name, operands, kind)

    def _computed(self, name: str, operands: tuple[v.Value, ...], kind: str) -> Code:
        low = min(interval_of(item)[0] for item in operands)
        match name:
            case "if":
                condition = self.value(operands[0]).at_least(_EITHER)
                then, other = (self.integer(item, kind) for item in operands[1:])
                return Code(f"{condition} ? {then} : {other}", kind, _CHOICE)
            case "abs" if interval_of(operands[0])[0] >= 0:
                return self.value(operands[0])
            case "abs" | "min" | "max":
                kind = "int32_t" if kind == "int32_t" else "int64_t"
                word = f"wl_{name}32" if kind == "int32_t" else f"wl_{name}"
                text = self.assigned(operands[0], kind)
                for item in operands[1:]:
                    text = f"{word}({text}, {self.assigned(item, kind)})"
                return Code(f"{word}({text})" if name == "abs" else text, kind)
            case "neg" if isinstance(operands[0], v.Int):
                return Code(literal(-operands[0].value, kind), kind, UNARY)
            case "neg":
                return Code(f"-{self.integer(operands[0], kind)}", kind, UNARY)
            case "//" | "%" if low < 0:
                word = "div" if name == "//" else "mod"
                left, right = (self.assigned(item, "int64_t") for item in operands)
                return Code(f"wl_floor_{word}({left}, {right})", "int64_t")
            case "<<" if low < 0:
                unsigned = self._shifted(operands[0], "uint64_t")
                shift = self.value(operands[1]).at_least(ATOM)
                return Code(f"(int64_t)({unsigned} << {shift})", "int64_t", UNARY)
            case "<<" | ">>":
                left = self._shifted(operands[0], kind)
                return Code(f"{left} {name} {self.value(operands[1]).at_least(ATOM)}", kind, _SHIFT)
        binds = _BINDS[name]
        left, right = self._sides(operands, kind, binds, same=name)
        return Code(f"{left} {_SPELLED.get(name, name)} {right}", kind, binds)

    def _shifted(self, value: v.Value, kind: str) -> str:
        """Return what is shifted: of the type itself, as C computes a shift in the type of its left side."""
        code = self.value(value)
        if kind == "int32_t" and (code.type in _SMALL or isinstance(value, v.Int)):
            return code.at_least(ATOM)
        if not isinstance(value, v.Int):
            return self.integer(value, kind)
        constant = value.value & RANGES["uint64_t"][1] if kind == "uint64_t" else value.value
        return literal(constant, kind) if constant >= 1 << 31 and kind != "size_t" else f"({kind}){constant}"

    def _common(self, operands: tuple[v.Value, ...], results: list[Interval]) -> str:
        """Return the type in which operands are computed: it holds them, and the results."""
        types = [self.value(item).type for item in operands if not isinstance(item, v.Int)]
        intervals = [interval_of(_integer_value(item)) for item in operands] + results
        low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
        if low >= 0:
            if "uint64_t" in types or high >= 1 << 63:
                return "uint64_t"
            if "size_t" in types:  # of 32 bits maybe: positions fit, any other integer of 64 bits may not
                wide = high >= 1 << 53 or any(map(self._is_wide, operands))
                return "uint64_t" if wide else "size_t"
            if "uint32_t" in types and "int64_t" not in types and high < 1 << 32:
                return "uint32_t"
        fits = low >= -(1 << 31) and high < 1 << 31
        return "int32_t" if fits and "int64_t" not in types and "uint32_t" not in types else "int64_t"

    def _is_wide(self, value: v.Value) -> bool:
        """Whether an integer of 64 bits that is no position is part of a value."""
        match value:
            case v.Int():
                return False
            case v.Op(operands=operands):
                return any(map(self._is_wide, operands))
        return self.value(value).type in ("int64_t", "uint64_t")

    def _sides(self, operands: tuple[v.Value, ...], kind: str, binds: int, same: str = "") -> tuple[str, ...]:
        """Return both sides of an operator in one type; C converts a side where that loses nothing."""
        codes = [self.value(item) for item in operands]
        native = any(
            code.type == kind for code, item in zip(codes, operands, strict=True) if not _is_int(item)
        )
        if kind == "int32_t":
            native = native or all(
                code.type in _SMALL for code, o in zip(codes, operands, strict=True) if not _is_int(o)
            )
        texts = []
        for number, (item, code) in enumerate(zip(operands, codes, strict=True)):
            if isinstance(item, v.Int):
                text = literal(item.value, kind)
                texts.append(f"({text})" if text.startswith("-") and binds > COMPARE + 1 else text)
                continue
            implicit = code.type == kind or (
                native
                and (
                    (kind == "int32_t" and code.type in _SMALL)
                    or (kind == "int64_t" and code.type in (*_SMALL, "int32_t", "uint32_t"))
                )
            )
            if implicit:
                alike = (same in ("*", "+", "&", "|", "^") or number == 0) and code.binds == binds
                tight = (
                    code.binds >= UNARY
                    or alike
                    or (binds in (PLUS, COMPARE + 1) and code.binds >= PLUS + (binds == PLUS))
                )
                texts.append(code.text if tight else f"({code.text})")
            else:
                texts.append(f"({kind}){code.at_least(UNARY)}")
                native = True
        return tuple(texts)


def _is_binary32(value: v.Value) -> bool:
    """Whether a constant is one that binary32 holds: comparing in binary64 would give the same."""
    if not isinstance(value, v.Real) or abs(value.value) > 3e38:
        return False
    return bool(struct.unpack("f", struct.pack("f", value.value))[0] == value.value)


def _is_int(value: v.Value) -> bool:
    return isinstance(value, v.Int)


def _integer_value(value: v.Value) -> v.Value:
    """Return a bool as an integer, whose interval is known."""
    return value if isinstance(value, v.Int | v.Op) else integer(value)

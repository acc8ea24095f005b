"""Values of an exported codec -> TypeScript expressions, in the shape that Prettier gives them.

Integers are a `number` where their interval lies within 2**53, a `bigint` beyond. What is computed from
32-bit integers stays within JavaScript's own 32-bit operators where they give the same result.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wirelock.export import values as v
from wirelock.export.expressions import interval_of, is_float, of_type
from wirelock.export.typescript_layout import (
    LINE,
    Doc,
    Group,
    Indent,
    arguments,
    flat,
)
from wirelock.export.typescript_module import Module
from wirelock.layout.operators import COMPARISONS, OPERATORS

__all__ = ["Text", "Values", "pinned_by", "quoted", "within_int32"]

INT32: Final = (-(1 << 31), (1 << 31) - 1)
UINT32: Final = (0, (1 << 32) - 1)

_ATOM, _UNARY, _TERNARY, _OR, _AND = 20, 15, 3, 4, 5
_LEVELS: Final = {
    "**": 14, "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, ">>>": 11, "<": 10, "<=": 10,
    ">": 10, ">=": 10, "===": 9, "!==": 9, "&": 8, "^": 7, "|": 6, "&&": _AND, "||": _OR, "??": _OR,
}  # fmt: skip
_BITWISE: Final = ("<<", ">>", ">>>", "&", "^", "|")
_OPPOSITE: Final = {"===": "!==", "!==": "==="}
_METHODS: Final = {8: "Uint8", 16: "Uint16", 32: "Uint32", 64: "BigUint64"}


@dataclass(frozen=True, slots=True)
class Text:
    """An expression: its document, and its outermost operator, by which it is put in parentheses."""

    doc: Doc
    operator: str = ""
    level: int = _ATOM

    @property
    def atom(self) -> Doc:
        """The expression where only a name, a call or a literal may stand."""
        return self.doc if self.level == _ATOM else ("(", self.doc, ")")

    @property
    def shown(self) -> Doc:
        """The expression as it stands alone."""
        return Group((self.parts[0], Indent(self.parts[1:]))) if self.parts else self.doc

    @property
    def parts(self) -> tuple[Doc, ...]:
        """The parts of a binary expression with the possible new lines between; empty for another."""
        return self.doc if isinstance(self.doc, tuple) and self.operator in _LEVELS else ()


def quoted(text: str) -> str:
    """Return a string literal."""
    found = json.dumps(text, ensure_ascii=False)
    if found.count('"') - 2 > 2 * found.count("'"):
        inner = found[1:-1].replace('\\"', '"').replace("'", "\\'")
        return f"'{inner}'"
    return found


def call(name: str, *parts: Doc) -> Text:
    """Return a call of a function."""
    return Text(arguments(f"{name}(", parts, ")"))


def binary(operator: str, left: Text, right: Text) -> Text:
    """Return an operation with the parentheses that Prettier puts."""
    level = _LEVELS[operator]
    flattens = left.level == level and _flattens(operator, left.operator)
    first = left.parts if flattens and left.parts else (_operand(left, operator, flattens),)
    return Text((*first, f" {operator}", LINE, _operand(right, operator, False)), operator, level)


def _flattens(parent: str, child: str) -> bool:
    if "===" in (parent, child) or "!==" in (parent, child) or parent in ("<<", ">>", ">>>"):
        return False
    if "%" in (parent, child) and parent != child:
        return False
    return not (parent != child and _LEVELS[parent] == 13) and not (parent == child == "%")


def _operand(text: Text, operator: str, flattens: bool) -> Doc:
    level = _LEVELS[operator]
    is_binary = text.operator in _LEVELS
    if (
        text.level < level
        or (text.level == level and not flattens)
        or (is_binary and operator in _BITWISE)
        or (text.operator == "%" and operator in ("+", "-"))
        or (text.operator == "&&" and operator == "||")
    ):
        return ("(", text.shown, ")")
    return text.shown if is_binary else text.doc


def negation(condition: Text) -> Text:
    """Return a bool that holds where another does not."""
    if condition.operator in _OPPOSITE and len(condition.parts) == 4:
        left, _, line, right = condition.parts
        other = _OPPOSITE[condition.operator]
        return Text((left, f" {other}", line, right), other, 9)
    if condition.operator == "!":
        assert isinstance(condition.doc, tuple)
        return Text(condition.doc[1])
    return Text(("!", condition.atom), "!", _UNARY)


def _within(interval: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= interval[0] and interval[1] <= outer[1]


def within_int32(value: v.Value) -> bool:
    """Whether a value is a signed 32-bit integer."""
    return _within(interval_of(value), INT32)


class Values:
    """Expressions within one function. `place` gives the text of what a record or a local holds."""

    def __init__(self, module: Module, owner: str, place: Callable[[v.Value], Text]) -> None:
        self.module = module
        self.owner = owner
        """The parameter that has the fault slot: reader or writer."""
        self.place = place
        self.loads: dict[str, v.Load] = {}
        """The locals that are a load of unchanging bytes."""
        self.present: set[v.Value] = set()
        """The options that are known to hold a value here."""
        self.pinned: set[v.Value | tuple[v.Value, int]] = set()
        """What the compiler knows here, and refuses to compare again: an integer that is one constant, and
        one that is not the constant beside it."""
        self.numbers: set[str] = set()
        """The floats among the locals that are numbers, though their type has every NaN."""
        self.view_used = False

    # -- domains

    def is_wide(self, value: v.Value) -> bool:
        """Whether an integer is a bigint."""
        match of_type(value):
            case v.EnumType(name=name):
                return self.module.wide_type(v.EnumType(name))
        return not _within(interval_of(value), v.SAFE)

    def number(self, value: v.Value) -> Text:
        """Return an integer as a number."""
        if isinstance(value, v.Int):
            return _literal(value.value)
        text = self.integer(value)
        return call("Number", text.shown) if self.is_wide(value) else text

    def big(self, value: v.Value) -> Text:
        """Return an integer as a bigint."""
        if isinstance(value, v.Int):
            return _literal(value.value, "n")
        text = self.integer(value)
        return text if self.is_wide(value) else call("BigInt", text.shown)

    def in_domain(self, value: v.Value, wide: bool) -> Text:
        """Return an integer as a bigint or a number."""
        return self.big(value) if wide else self.number(value)

    # -- values

    def value(self, value: v.Value, kind: v.Type) -> Text:
        """Return a value as one of a type."""
        match kind:
            case v.IntType() | v.EnumType():
                text = self.in_domain(value, self.module.wide_type(kind))
                is_place = of_type(value) == kind and not isinstance(value, v.Cast)
                if isinstance(kind, v.EnumType) and not self.module.is_flags(kind) and not is_place:
                    return Text((text.atom, f" as {self.module.type(kind)}"), "as", 10)
                return text
            case v.BoolType():
                return self.truth(value)
            case v.FloatType(nan=nan):
                return self.float(value, nan)
        return self.other(value)

    def float(self, value: v.Value, nan: bool = False) -> Text:
        """Return a float: a number, or with `nan` a Float."""
        match value:
            case v.Real(value=constant):
                return _real(constant)
            case v.FloatOf(of=of, bits=bits):
                loaded = self.loads.get(of.name) if isinstance(of, v.Local) else of
                if isinstance(loaded, v.Load) and bits != 16 and not nan:
                    little = ("true",) if loaded.order == "little" else ()
                    return call(f"{self.view}.getFloat{bits}", self.number(loaded.at).shown, *little)
                name = f"{'float' if nan else 'number'}Of{bits}"
                return call(self.module.floats(name), self.in_domain(of, bits == 64).shown)
            case v.Call(name="scaled_of", arguments=(raw, v.Int() as multiply, v.Int() as add, divide)):
                assert not isinstance(raw, str | bool) and isinstance(divide, v.Int)
                text = self.number(raw)
                if multiply.value != 1:
                    text = binary("*", text, _literal(multiply.value))
                if add.value:
                    text = binary("+" if add.value > 0 else "-", text, _literal(abs(add.value)))
                return text if divide.value == 1 else binary("/", text, _literal(divide.value))
        text = self.place(value)
        kind = of_type(value)
        is_number = isinstance(value, v.Local) and value.name in self.numbers
        if isinstance(kind, v.FloatType) and kind.nan and not nan and not is_number:
            return call(self.module.floats("numberOf"), text.shown)
        return text

    def integer(self, value: v.Value) -> Text:
        """Return an integer in its own domain: a bigint where `is_wide`, otherwise a number."""
        match value:
            case v.Int(value=constant):
                return _literal(constant, "n" if self.is_wide(value) else "")
            case v.Op():
                return self.operation(value)
            case v.Number(of=of):
                if self.is_bool(of):
                    text = self.truth(of)
                    folded = {"true": "1", "false": "0"}.get(flat(text.doc))
                    return Text(folded) if folded else call("Number", text.shown)
                return self.in_domain(of, self.is_wide(value))
            case v.Cast(of=of, type=kind):
                return self.in_domain(of, self.module.wide_type(kind))
            case v.Load(at=at, bits=bits, signed=signed, order=order):
                return self._load(self.number(at), bits, signed, order)
            case v.BitsOf(of=of, bits=bits):
                return call(self.module.floats(f"bitsOf{bits}"), self.float(of, nan=True).shown)
            case v.Count(of=of):
                text = self.other(of)
                if isinstance(of_type(of), v.TextType):
                    return call(self.module.text("lengthOf"), text.shown)
                return Text((text.atom, ".length"))
            case v.FaultCount():
                return Text(f"{self.owner}.faults")
            case v.Written():
                return Text(f"{self.owner}.length")
            case v.Call():
                return self._integer_call(value)
        return self.place(value)

    def truth(self, value: v.Value) -> Text:
        """Return a bool."""
        match value:
            case v.Truth(value=constant):
                return Text("true" if constant else "false")
            case v.Op(operator=name, operands=operands) if name in COMPARISONS:
                return self._comparison(name, *operands)
            case v.Op(operator="not", operands=(operand,)):
                return self._negated(self.truth(operand), True)
            case v.Op(operator="and" | "or" as name, operands=operands):
                return self._joined(name, operands)
            case v.Op(operator="if", operands=(condition, then, other)):
                return ternary(self.truth(condition), self.truth(then), self.truth(other))
            case v.Present(of=of):
                return binary("!==", self.other(of), Text("null"))
            case v.Cast(of=of, type=v.BoolType()):
                if self.is_bool(of):
                    return self.truth(of)
                return binary("!==", self.integer(of), _literal(0, "n" if self.is_wide(of) else ""))
            case v.Equal(at=at, of=of, octets=octets):
                if of is not None:
                    return self._equal(of, octets)
                assert at is not None
                return self._equal_data(self.number(at), octets)
            case v.Call():
                return self._truth_call(value)
        return self.place(value)

    def other(self, value: v.Value) -> Text:
        """Return what is neither a number nor a bool: bytes, text, a list, a record, a choice."""
        match value:
            case v.Slice(at=at, size=size):
                return call("reader.slice", self.number(at).shown, self.number(size).shown)
            case v.Call(name="text_of", arguments=(at, end, str() as encoding)):
                assert not isinstance(at, str | bool) and not isinstance(end, str | bool)
                bytes_ = call("reader.bytes.subarray", self.number(at).shown, self.number(end).shown)
                return call(self.module.text("textOf"), bytes_.shown, quoted(encoding))
        return self.place(value)

    def any(self, value: v.Value) -> Text:
        """Return a value of whatever kind, in its own domain."""
        if self.is_bool(value):
            return self.truth(value)
        if is_float(value):
            kind = of_type(value)
            return self.float(value, isinstance(kind, v.FloatType) and kind.nan)
        match value:
            case v.Int() | v.Op() | v.Number() | v.Cast() | v.Load() | v.BitsOf() | v.Count():
                return self.integer(value)
            case v.FaultCount() | v.Written():
                return self.integer(value)
            case v.Call(name=name) if name not in ("text_of", "scaled_of"):
                return self.integer(value)
        return self.other(value)

    def is_bool(self, value: v.Value) -> bool:
        """Whether a value is a bool."""
        if isinstance(value, v.Op) and value.operator == "if":
            return self.is_bool(value.operands[1])
        return isinstance(of_type(value), v.BoolType)

    @property
    def view(self) -> str:
        """The DataView of the bytes."""
        self.view_used = True
        return "view"

    # -- integers

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
                return Text(("-", parts[0].atom), "-u", _UNARY)
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
                part = _mask(item.value, "n")
            found = binary({"//": "/"}.get(name, name), found, part)
        return found

    def _number_operation(self, value: v.Op) -> Text:
        name, first = value.operator, value.operands[0]
        match name:
            case "neg":
                return Text(("-", self.number(first).atom), "-u", _UNARY)
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
                found = binary("-", found, _literal(-item.value))
            else:
                found = binary(name, found, self.number(item))
        return found

    def _scaled(self, name: str, value: v.Op, first: v.Value, constant: int) -> Text:
        """Return a shift, or a floor division by a positive constant, or its rest."""
        text, interval = self.number(first), interval_of(first)
        power = constant.bit_length() - 1 if constant & (constant - 1) == 0 else None
        if name == "<<":
            if _within(interval_of(value), INT32) and constant < 32:
                return binary("<<", self._low32(first), _literal(constant))
            return binary("*", text, _literal(1 << constant))
        if name == ">>":
            power, constant = constant, 1 << constant
        if name == "%":
            if _within(interval, INT32) and power is not None and power < 32:
                return binary("&", text, _mask(constant - 1))
            if interval[0] >= 0:
                return binary("%", text, _literal(constant))
            rest = binary("+", binary("%", text, _literal(constant)), _literal(constant))
            return binary("%", rest, _literal(constant))
        if power is not None and power < 32 and _within(interval, INT32):
            return binary(">>", text, _literal(power))
        if power is not None and power < 32 and _within(interval, UINT32):
            return binary(">>>", text, _literal(power))
        return call("Math.floor", binary("/", text, _literal(constant)).shown)

    def _shifted(self, name: str, value: v.Op, first: v.Value, count: v.Value) -> Text:
        """Return a shift by a number of bits that is computed, 0..63."""
        assert name in ("<<", ">>"), value
        amount = self.number(count)
        inside = value if name == "<<" else first
        if _within(interval_of(inside), INT32) and interval_of(count)[1] < 32:
            return binary(name, self.number(first), amount)
        power = binary("**", _literal(2), amount)
        if name == "<<":
            return binary("*", self.number(first), power)
        return call("Math.floor", binary("/", self.number(first), power).shown)

    def _bitwise(self, value: v.Op) -> Text:
        interval = interval_of(value)
        if _has_low32(value) and (_within(interval, INT32) or _within(interval, UINT32)):
            found = self._low32(value)
            return found if _within(interval, INT32) else binary(">>>", found, _literal(0))
        found = self.big(value.operands[0])
        for item in value.operands[1:]:
            found = binary(value.operator, found, self.big(item))
        return call("Number", found.shown)

    def _low32(self, value: v.Value) -> Text:
        """Return an integer that is the same in its low 32 bits, for JavaScript's bitwise operators."""
        match value:
            case v.Int(value=constant):
                return _mask(constant)
            case v.Op(operator="&" | "|" | "^" as name, operands=(left, right)) if _has_low32(value):
                return binary(name, self._low32(left), self._low32(right))
            case v.Op(operator="<<", operands=(left, v.Int(value=count))) if count < 32:
                return binary("<<", self._low32(left), _literal(count))
        return self.number(value)

    def stored(self, value: v.Value, bits: int) -> Text:
        """Return an integer of which the low bits are stored: a bigint for 56 and 64 of them."""
        if bits > 48:
            return self.big(value)
        if self.is_wide(value):
            mask = Text(f"0x{(1 << bits) - 1:x}n")
            return call("Number", binary("&", self.big(value), mask).shown)
        return self._low32(value) if bits <= 32 else self.number(value)

    def _load(self, at: Text, bits: int, signed: bool, order: str) -> Text:
        little = ("true",) if order == "little" and bits > 8 else ()
        if bits in _METHODS:
            method = _METHODS[bits].replace("Uint", "Int") if signed else _METHODS[bits]
            return call(f"{self.view}.get{method}", at.shown, *little)
        big = "Big" if bits == 56 else ""
        name = f"get{big}{'Int' if signed else 'Uint'}{bits}"
        return call(self.module.integers(name), self.view, at.shown, *little)

    # -- bools

    def _joined(self, name: str, operands: tuple[v.Value, ...]) -> Text:
        negated = [item.operands[0] for item in operands if isinstance(item, v.Op) and item.operator == "not"]
        if name == "or" and len(negated) == len(operands) > 1:
            return negation(self._joined("and", tuple(negated)))
        operator, absorbing = ("&&", "false") if name == "and" else ("||", "true")
        neutral = "true" if name == "and" else "false"
        found: Text | None = None
        added: list[v.Value] = []
        pinned = set(self.pinned)
        for item in operands:
            part = self.truth(item)
            self.pinned |= pinned_by(item, name == "and")
            if name == "and" and isinstance(item, v.Present) and item.of not in self.present:
                self.present.add(item.of)
                added.append(item.of)
            if flat(part.doc) == neutral:
                continue
            if flat(part.doc) == absorbing:
                found = part
                break
            found = part if found is None else binary(operator, found, part)
        self.present.difference_update(added)
        self.pinned = pinned
        return found or Text(neutral)

    def _negated(self, text: Text, negated: bool) -> Text:
        if not negated:
            return text
        folded = {"true": "false", "false": "true"}.get(flat(text.doc))
        return Text(folded) if folded else negation(text)

    def _comparison(self, name: str, left: v.Value, right: v.Value) -> Text:
        operator = {"==": "===", "!=": "!=="}.get(name, name)
        match left, right:
            case v.Which(of=of), v.Int(value=number):
                kind = of_type(of)
                assert isinstance(kind, v.ChoiceType)
                label = Text(quoted(kind.cases[number][0]))
                return binary(operator, Text((self.other(of).atom, ".kind")), label)
            case v.Int(value=one), v.Int(value=other):
                return Text("true" if OPERATORS[name].compute(one, other) else "false")
            case v.Number(of=of), v.Int(value=0 | 1 as bit) if operator in _OPPOSITE and self.is_bool(of):
                return self._negated(self.truth(of), (name == "==") is (bit == 0))
        if is_float(left) or is_float(right):
            return binary(operator, self.float(left), self.float(right))
        wide = self.is_wide(left) or self.is_wide(right)
        second = self.in_domain(right, wide)
        if isinstance(left, v.Op) and left.operator == "&" and isinstance(right, v.Int):
            second = _mask(right.value, "n" if wide else "")
        first = self.in_domain(left, wide)
        if name in ("==", "!=") and self._is_narrow(left, right):
            first = Text((first.atom, " as ", "bigint" if wide else "number"), "as", 10)
        return binary(operator, first, second)

    def _is_narrow(self, left: v.Value, right: v.Value) -> bool:
        """Whether the compiler would say that two integers can never be the same."""
        if left in self.pinned or (isinstance(right, v.Int) and (left, right.value) in self.pinned):
            return True
        kind = of_type(left.of) if isinstance(left, v.Number) else None
        if not isinstance(kind, v.EnumType) or not isinstance(right, v.Int):
            return False
        return right.value not in dict(self.module.enumerations[kind.name].members).values()

    def _equal(self, of: v.Value, octets: bytes) -> Text:
        kind, text = of_type(of), self.other(of)
        if isinstance(kind, v.TextType):
            return binary("===", text, Text(quoted(octets.decode(kind.encoding))))
        constant = self.module.octets(octets)
        return call(self.module.codec("sameBytes"), text.shown, constant)

    def _equal_data(self, at: Text, octets: bytes) -> Text:
        if len(octets) in (1, 2, 4):
            loaded = self._load(at, 8 * len(octets), False, "big")
            return binary("===", loaded, Text(f"0x{octets.hex()}"))
        return call("reader.equals", at.shown, self.module.octets(octets))

    # -- the runtime

    def _truth_call(self, value: v.Call) -> Text:
        first, rest = value.arguments[0], value.arguments[1:]
        assert not isinstance(first, str | bool)
        match value.name, rest:
            case "integer_fits", (v.Int(value=low), v.Int(value=high)):
                wide = self.is_wide(first)
                name = "isBigInt" if wide else "isInteger"
                told = [_literal(end, "n" if wide else "").doc for end in (low, high)]
                return call(self.module.integers(name), self.integer(first).shown, *told)
            case "float_fits", (v.Int(value=bits),):
                if bits == 64:
                    return Text("true")
                kind = of_type(first)
                nan = not isinstance(kind, v.FloatType) or kind.nan
                name = f"fits{bits}" if nan else f"isBinary{bits}"
                return call(self.module.floats(name), self.float(first, nan).shown)
            case "text_fits", (str() as encoding, bool() as closed):
                told = [quoted(encoding), "true" if closed else "false"]
                return call(self.module.text("textFits"), self.other(first).shown, *told)
            case "scaled_fits", (*numbers, v.Int(value=low), v.Int(value=high)):
                least, most = max(low, v.SAFE[0]), min(high, v.SAFE[1])
                told = [*self._constants(numbers), _literal(least).doc, _literal(most).doc]
                found = call(self.module.floats("rawOf"), self.float(first).shown, *told)
                return binary("!==", found, Text("null"))
            case "ends_in_nuls", (v.Int(value=unit),):
                octets = self._octets(first)
                return call(self.module.codec("endsInNuls"), octets.shown, str(unit))
            case "contains_mark", (size, v.Octets(value=mark)):
                assert not isinstance(size, str | bool)
                told = [self._octets(first).shown, "0", self.number(size).shown, self.module.octets(mark)]
                return binary(">=", call(self.module.codec("findMark"), *told), _literal(0))
        raise AssertionError(value)

    def _octets(self, value: v.Value) -> Text:
        """Return bytes, or those of a text."""
        kind, text = of_type(value), self.other(value)
        if isinstance(kind, v.TextType):
            return call(self.module.text("encoded"), text.shown, quoted(kind.encoding))
        return text

    def _integer_call(self, value: v.Call) -> Text:
        first, rest = value.arguments[0], value.arguments[1:]
        assert not isinstance(first, str | bool)
        numbers = [self.number(item).shown for item in rest if not isinstance(item, str | bool | v.Octets)]
        match value.name, rest:
            case "find_mark", (_, v.Octets(value=mark)):
                return call("reader.findMark", self.number(first).shown, numbers[0], self.module.octets(mark))
            case "strip_nuls" | "filled" as name, _:
                method = "stripNuls" if name == "strip_nuls" else "filled"
                return call(f"reader.{method}", self.number(first).shown, *numbers)
            case "text_code", (_, str() as encoding, bool() as closed):
                octets = call("reader.bytes.subarray", self.number(first).shown, numbers[0])
                told = quoted(encoding), "true" if closed else "false"
                return call(self.module.text("textCode"), octets.shown, *told)
            case "text_size", (str() as encoding,):
                return call(self.module.text("textSize"), self.other(first).shown, quoted(encoding))
            case "scaled_raw", _:
                found = call(self.module.floats("nearestRaw"), self.float(first).shown, *numbers)
                return call("BigInt", found.shown) if self.is_wide(value) else found
            case "varint_size", ():
                return call(self.module.codec("varintSize"), self.big(first).shown)
        raise AssertionError(value)

    def _constants(self, numbers: list[v.Value | str | bool]) -> list[Doc]:
        return [_literal(item.value).doc for item in numbers if isinstance(item, v.Int)]


def pinned_by(condition: v.Value, holds: bool) -> set[v.Value | tuple[v.Value, int]]:
    """Return what Values.pinned has where a condition holds, or where it does not."""
    match condition:
        case v.Op(operator="==" | "!=" as name, operands=(left, v.Int(value=constant))):
            return {left} if (name == "==") is holds else {(left, constant)}
        case v.Op(operator="and" | "or" as name, operands=operands) if (name == "and") is holds:
            return set[v.Value | tuple[v.Value, int]]().union(*(pinned_by(item, holds) for item in operands))
        case v.Op(operator="not", operands=(inner,)):
            return pinned_by(inner, not holds)
    return set()


def ternary(condition: Text, then: Text, other: Text) -> Text:
    """Return a choice between two values."""
    parts = Indent((LINE, "? ", then.shown, LINE, ": ", other.shown))
    operator = "?b" if condition.operator in _LEVELS else "?"
    shown = ("(", condition.shown, ")") if condition.level <= _TERNARY else condition.shown
    return Text(Group((shown, parts)), operator, _TERNARY)


def _literal(value: int, suffix: str = "") -> Text:
    if value < 0:
        return Text(f"{value}{suffix}", "-u", _UNARY)
    return Text(f"{value}{suffix}")


def _mask(value: int, suffix: str = "") -> Text:
    """Return an integer whose bits are meant."""
    return Text(f"0x{value:x}{suffix}") if value > 9 else _literal(value, suffix)


def _real(value: float) -> Text:
    if value in (float("inf"), float("-inf")):
        text = "Infinity" if value > 0 else "-Infinity"
    elif value == int(value) and abs(value) < 1e21:
        text = "-0" if value == 0 and str(value)[0] == "-" else str(int(value))
        if abs(value) > v.SAFE[1]:
            text = repr(value)
    else:
        text = repr(value)
    mantissa, exponent, power = text.partition("e")
    if exponent:
        text = f"{mantissa.removesuffix('.0')}e{int(power)}"
    return Text(text, "-u", _UNARY) if text[0] == "-" else Text(text)


def _has_low32(value: v.Value) -> bool:
    """Whether JavaScript's 32-bit operators give the low 32 bits of the result, and its sign with them."""
    if isinstance(value, v.Op) and value.operator in ("&", "|", "^"):
        if value.operator == "&":
            return any(_within(interval_of(item), UINT32) for item in value.operands)
        return all(
            _within(interval_of(item), INT32) or _within(interval_of(item), UINT32) for item in value.operands
        )
    return False

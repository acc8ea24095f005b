"""Values of an exported codec -> TypeScript expressions."""

from __future__ import annotations

from collections.abc import Callable

from wirelock.export import values as v
from wirelock.export.lower.expressions import is_float, of_type
from wirelock.export.typescript.expressions import (
    OPPOSITE,
    Text,
    binary,
    call,
    literal,
    mask,
    negation,
    quoted,
    real,
    ternary,
)
from wirelock.export.typescript.facts import Pinned, pinned_by
from wirelock.export.typescript.integers import Integers
from wirelock.export.typescript.layout import Doc, flat
from wirelock.export.typescript.module import Module
from wirelock.layout.operators import COMPARISONS, OPERATORS

__all__ = ["Values"]


class Values(Integers):
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
        self.pinned: set[Pinned] = set()
        """What the compiler knows here, and refuses to compare again: an integer that is one constant, and
        one that is not the constant beside it."""
        self.numbers: set[str] = set()
        """The floats among the locals that are numbers, though their type has every NaN."""
        self.view_used = False

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
                return real(constant)
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
                    text = binary("*", text, literal(multiply.value))
                if add.value:
                    text = binary("+" if add.value > 0 else "-", text, literal(abs(add.value)))
                return text if divide.value == 1 else binary("/", text, literal(divide.value))
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
                return literal(constant, "n" if self.is_wide(value) else "")
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
                return self.load(self.number(at), bits, signed, order)
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
                return binary("!==", self.integer(of), literal(0, "n" if self.is_wide(of) else ""))
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
            case v.Number(of=of), v.Int(value=0 | 1 as bit) if operator in OPPOSITE and self.is_bool(of):
                return self._negated(self.truth(of), (name == "==") is (bit == 0))
        if is_float(left) or is_float(right):
            return binary(operator, self.float(left), self.float(right))
        wide = self.is_wide(left) or self.is_wide(right)
        second = self.in_domain(right, wide)
        if isinstance(left, v.Op) and left.operator == "&" and isinstance(right, v.Int):
            second = mask(right.value, "n" if wide else "")
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
            if of in self.pinned or (of, octets) in self.pinned:
                text = Text((text.atom, " as string"), "as", 10)
            return binary("===", text, Text(quoted(octets.decode(kind.encoding))))
        constant = self.module.octets(octets)
        return call(self.module.codec("sameBytes"), text.shown, constant)

    def _equal_data(self, at: Text, octets: bytes) -> Text:
        if len(octets) in (1, 2, 4):
            loaded = self.load(at, 8 * len(octets), False, "big")
            return binary("===", loaded, Text(f"0x{octets.hex()}"))
        return call("reader.equals", at.shown, self.module.octets(octets))

    def _truth_call(self, value: v.Call) -> Text:
        first, rest = value.arguments[0], value.arguments[1:]
        assert not isinstance(first, str | bool)
        match value.name, rest:
            case "integer_fits", (v.Int(value=low), v.Int(value=high)):
                wide = self.is_wide(first)
                name = "isBigInt" if wide else "isInteger"
                told = [literal(end, "n" if wide else "").doc for end in (low, high)]
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
                told = [*self._constants(numbers), literal(least).doc, literal(most).doc]
                found = call(self.module.floats("rawOf"), self.float(first).shown, *told)
                return binary("!==", found, Text("null"))
            case "ends_in_nuls", (v.Int(value=unit),):
                octets = self._octets(first)
                return call(self.module.codec("endsInNuls"), octets.shown, str(unit))
            case "contains_mark", (size, v.Octets(value=mark)):
                assert not isinstance(size, str | bool)
                told = [self._octets(first).shown, "0", self.number(size).shown, self.module.octets(mark)]
                return binary(">=", call(self.module.codec("findMark"), *told), literal(0))
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
        return [literal(item.value).doc for item in numbers if isinstance(item, v.Int)]

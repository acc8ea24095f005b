"""Integers of a program as expressions of C#, in the type that their intervals need: int, long or ulong.

Positions, sizes and counts are int: the runtime takes no datagram above 512 MiB, so that they can be added.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from wirelock.export import values as v
from wirelock.export.csharp.names import Book
from wirelock.export.csharp.text import SUFFIXES, integer_text
from wirelock.export.lower.expressions import interval_of, is_float, of_type
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.operators import COMPARISONS, OPERATORS, Interval

__all__ = [
    "BINDS", "LARGEST_SIZE", "PRIMARY", "RANGES", "UNARY", "Arithmetic", "Expr", "fits", "is_position",
    "record_of",
]  # fmt: skip

LARGEST_SIZE: Final = 1 << 29
RANGES: Final[dict[str, Interval]] = {
    name: (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    for name, bits, signed in (
        ("sbyte", 8, True), ("byte", 8, False), ("short", 16, True), ("ushort", 16, False),
        ("int", 32, True), ("uint", 32, False), ("long", 64, True), ("ulong", 64, False),
    )
}  # fmt: skip
BINDS: Final = {
    "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<": 10, "<=": 10, ">": 10, ">=": 10,
    "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4, "?": 2,
}  # fmt: skip
PRIMARY: Final = 15
UNARY: Final = 14
MIXED: Final = ("&", "|", "^", "<<", ">>", "?")
"""Operators whose operands stand in brackets unless they are single words."""


class Expr(NamedTuple):
    """An expression, its C# type, and how tightly its operator binds."""

    text: str
    type: str
    binds: int = PRIMARY

    def inside(self, binds: int) -> str:
        """Return the text as an operand of an operator."""
        return self.text if self.binds >= binds else f"({self.text})"


def is_position(kind: v.Type) -> bool:
    """Whether a type is that of positions, sizes and counts."""
    return isinstance(kind, v.IntType) and kind.high != bounded(kind.high)


def bounded(end: int) -> int:
    """Return the end of an interval: of one that is made of positions, what they are at most."""
    size = abs(end)
    if not MAX_LENGTH <= size < MAX_LENGTH + LARGEST_SIZE // 2:
        return end
    return (LARGEST_SIZE + size - MAX_LENGTH) * (1 if end > 0 else -1)


def fits(found: Interval, kind: str) -> bool:
    """Whether every value of an interval is one of a type."""
    low, high = RANGES[kind]
    return low <= found[0] and found[1] <= high


class Arithmetic:
    """Integers of one function: `names` are its locals, `kinds` and `spans` what is known of them."""

    def __init__(self, book: Book, names: dict[str, str], octets: dict[bytes, str]) -> None:
        self.book = book
        self.names = names
        self.octets = octets
        self.data = "data"
        self.faults = "reader.Faults"
        self.itself = "this"
        self.kinds: dict[str, str] = {}
        self.spans: dict[str, Interval] = {}

    def interval(self, value: v.Value) -> Interval:
        """Return the interval of an integer: from what is known of locals, and of positions and sizes."""
        match value:
            case v.Op(operator=name, operands=operands, low=low, high=high):
                if name in (*COMPARISONS, "and", "or", "not"):
                    return 0, 1
                least, most = OPERATORS[name].interval(*map(self.interval, operands))
                return max(bounded(low), least), min(bounded(high), most)
            case v.Local(name=name) if name in self.spans:
                return self.spans[name]
            case v.Count() | v.FaultCount():
                return 0, (1 << 31) - 1
        low, high = interval_of(value)
        return bounded(low), bounded(high)

    def position(self, value: v.Value) -> str:
        """Return a byte, size or index that is known to be within the data, as an int."""
        return self._position(value).text

    def _position(self, value: v.Value) -> Expr:
        match value:
            case v.Op(operator="+" | "-" | "*" as name, operands=(left, right)):
                first, second = self._position(left), self._position(right)
                binds = BINDS[name]
                text = f"{first.inside(binds)} {name} {second.inside(binds + (name != '+'))}"
                return Expr(text, "int", binds)
        return self.converted(value, "int", known=True)

    def wide(self, value: v.Value) -> str:
        """Return a size that nothing is known of as a long, computed as one."""
        match value:
            case v.Op(operator="+" | "*" as name, operands=(left, right)) if not isinstance(left, v.Int):
                first = self.converted(left, "long")
                first = first if self.expression(left).type == "long" else self.cast(first, "long", True)
                return f"{first.inside(UNARY)} {name} {self.text(right, BINDS[name] + 1)}"
        return self.converted(value, "long").text

    def text(self, value: v.Value, binds: int = 0) -> str:
        """Return an expression's text, in brackets where an operator around it binds more tightly."""
        return self.expression(value).inside(binds)

    def type_of(self, kind: v.Type) -> str:
        """Return the type of a local or parameter."""
        return "int" if is_position(kind) else self.book.of(kind)

    def as_type(self, value: v.Value, kind: str) -> str:
        """Return an expression converted to a C# type, for an assignment."""
        return self.converted(value, kind).text

    def converted(self, value: v.Value, kind: str, *, known: bool = False) -> Expr:
        """Return a value as one of a type: widened in silence, otherwise by a cast."""
        if isinstance(value, v.Int) and kind in RANGES and fits((value.value, value.value), kind):
            return Expr(integer_text(value.value), kind, PRIMARY if value.value >= 0 else UNARY)
        found = self.expression(value)
        if kind not in RANGES or found.type == kind:
            return found
        if found.type in RANGES and fits(RANGES[found.type], kind):
            return Expr(found.text, kind, found.binds)
        return self.cast(found, kind, known or fits(self.interval(value), kind))

    def cast(self, found: Expr, kind: str, exact: bool) -> Expr:
        """Return a cast; one that cuts bits off says so, for projects with checked arithmetic."""
        text = f"({kind}){found.inside(UNARY)}"
        return Expr(text, kind, UNARY) if exact else Expr(f"unchecked({text})", kind)

    def expression(self, value: v.Value) -> Expr:
        """Return a value as an expression with its type."""
        raise NotImplementedError

    def equal(self, value: v.Equal, *, opposite: bool = False) -> Expr:
        """Return whether bytes are constant ones, or whether they are not."""
        raise NotImplementedError

    def _integer_fits(self, value: v.Call, signs: tuple[str, str, str] = (" && ", ">=", "<=")) -> Expr:
        """Return a test of the ends that the type of a field does not have anyway, or the opposite."""
        joint, above, below = signs
        of, low, high = value.arguments
        assert isinstance(low, v.Int) and isinstance(high, v.Int) and not isinstance(of, str | bool)
        found = self.expression(of)
        least, most = RANGES[self.held_as(of, found.type)]
        tests = []
        if least < low.value:
            tests.append(f"{found.inside(BINDS[above] + 1)} {above} {integer_text(low.value, found.type)}")
        if most > high.value:
            tests.append(f"{found.inside(BINDS[below] + 1)} {below} {integer_text(high.value, found.type)}")
        if not tests:
            return Expr("true" if joint == " && " else "false", "bool")
        return Expr(joint.join(tests), "bool", BINDS["<"] if len(tests) == 1 else BINDS[joint.strip()])

    def held_as(self, value: v.Value, kind: str) -> str:
        """Return the type in memory of what an expression reads as another: of an enum its own."""
        inner = of_type(value.of) if isinstance(value, v.Number) else None
        if isinstance(inner, v.EnumType):
            return self.book.of(self.book.enumerations[inner.name].storage)
        return kind

    # -- operators

    def _operation(self, value: v.Op) -> Expr:
        name, operands = value.operator, value.operands
        if name in ("and", "or", "not"):
            return self._logic(name, operands)
        if name == "if":
            return self._choice(value)
        if name in COMPARISONS:
            return self._comparison(name, operands)
        kind = self._working([*map(self.interval, operands), self.interval(value)])
        if name in MIXED and all(fits(self.interval(item), "uint") for item in (*operands, value)):
            kind = "int" if kind == "int" else "uint"  # bits that are put together
        match name:
            case "abs" | "min" | "max":
                return self._function(name, [self._exactly(item, kind) for item in operands], kind)
            case "neg":
                return Expr(f"-{self._operand(operands[0], kind).inside(PRIMARY)}", kind, UNARY)
            case "//" | "%":
                return self._division(name, operands, kind)
            case "<<" | ">>":
                if kind in ("int", "uint") and self.interval(operands[1])[1] >= 32:
                    kind = "long"  # C# would shift by the count modulo 32
                left, count = self._operand(operands[0], kind), self.converted(operands[1], "int")
                return Expr(f"{left.inside(UNARY)} {name} {count.inside(UNARY)}", kind, BINDS[name])
        binds = UNARY if name in MIXED else BINDS[name]
        first, second = self._pair(operands, kind)
        if name in "&|^" and isinstance(operands[1], v.Int) and operands[1].value >= 0:
            second = Expr(f"0x{operands[1].value:X}{SUFFIXES.get(kind, '')}", kind)  # a mask
        told = first.inside(BINDS[name] if first.binds == BINDS[name] else binds)
        return Expr(f"{told} {name} {second.inside(binds + (name == '-'))}", kind, BINDS[name])

    def _logic(self, name: str, operands: tuple[v.Value, ...]) -> Expr:
        """Return a conjunction, disjunction or negation; what is known to be true or false is left out."""
        if name == "not":
            (operand,) = operands
            if isinstance(operand, v.Call) and operand.name == "integer_fits":
                return self._integer_fits(operand, (" || ", "<", ">"))
            if isinstance(operand, v.Equal):
                return self.equal(operand, opposite=True)
            told = self.text(operand, UNARY)
            return Expr({"true": "false", "false": "true"}.get(told, f"!{told}"), "bool", UNARY)
        sign, idle, decisive = ("&&", "true", "false") if name == "and" else ("||", "false", "true")
        parts = [found for found in map(self.expression, operands) if found.text != idle]
        if not parts or any(found.text == decisive for found in parts):
            return Expr(decisive if parts else idle, "bool")
        if len(parts) == 1:
            return parts[0]
        joined = (found.inside(BINDS["=="] if found.binds != BINDS[sign] else 0) for found in parts)
        return Expr(f" {sign} ".join(joined), "bool", BINDS[sign])

    def _exactly(self, value: v.Value, kind: str) -> str:
        """Return an argument in a type itself: Math.Abs of a short throws where that of an int does not."""
        found = self._operand(value, kind)
        return found.text if found.type == kind else self.cast(found, kind, True).text

    def _function(self, name: str, parts: list[str], kind: str) -> Expr:
        found, *others = parts
        if name == "abs":
            return Expr(f"Math.Abs({found})", kind)
        for other in others:
            found = f"Math.{name.capitalize()}({found}, {other})"
        return Expr(found, kind)

    def _pair(self, operands: tuple[v.Value, ...], kind: str) -> tuple[Expr, Expr]:
        """Return two operands of which at least one has the type that the operator works in."""
        first, second = (self._operand(item, kind) for item in operands)
        if kind != "long":
            return first, second
        left, right = (  # C# widens the other one
            own if isinstance(item, v.Int) or self.expression(item).type == "ulong" else self.expression(item)
            for item, own in zip(operands, (first, second), strict=True)
        )
        return (left if "long" in (left.type, right.type) else first), right

    def _working(self, intervals: list[Interval]) -> str:
        """Return the type in which operands and result of an operator are computed."""
        low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
        for kind in ("int", "long", "ulong"):
            if fits((low, high), kind):
                return kind
        raise AssertionError(f"no 64 bits hold {low}..{high}")

    def _operand(self, value: v.Value, kind: str) -> Expr:
        """Return an operand in the type of its operator; C# itself widens to int only."""
        if isinstance(value, v.Int):
            return Expr(integer_text(value.value, kind), kind, PRIMARY if value.value >= 0 else UNARY)
        found = self.expression(value)
        own = found.type if found.type in ("int", "uint", "long", "ulong") else "int"
        if own == kind:
            return found
        return self.cast(found, kind, fits(self.interval(value), kind))

    def _division(self, name: str, operands: tuple[v.Value, ...], kind: str) -> Expr:
        value, divisor = operands
        assert isinstance(divisor, v.Int)
        if self.interval(value)[0] < 0:
            call = "Wire.FloorDivide" if name == "//" else "Wire.FloorModulo"
            return Expr(f"{call}({self.text(value)}, {divisor.value})", "long")
        sign = "/" if name == "//" else "%"
        left = self._operand(value, kind).inside(BINDS[sign])
        return Expr(f"{left} {sign} {integer_text(divisor.value, kind)}", kind, BINDS[sign])

    def _choice(self, value: v.Op) -> Expr:
        condition, then, other = value.operands
        kind = self._working([self.interval(then), self.interval(other)])
        first, second = (self._operand(item, kind) for item in (then, other))
        told = f"{self.text(condition, BINDS['?'] + 1)} ? {first.inside(3)} : {second.inside(3)}"
        return Expr(told, kind, BINDS["?"])

    def _comparison(self, name: str, operands: tuple[v.Value, ...]) -> Expr:
        binds = BINDS[name] + 1
        if any(map(is_float, operands)):
            left, right = (self.expression(item) for item in operands)
        else:
            decided = self._decided(name, operands)
            if decided is not None:
                return Expr("true" if decided else "false", "bool")
            first, second = (self.expression(item) for item in operands)
            if "ulong" in (first.type, second.type) and first.type != second.type:
                kind = self._working([*map(self.interval, operands)])
                left, right = (self._operand(item, kind) for item in operands)
            else:
                left, right = (self._bare(item) for item in operands)
        return Expr(f"{left.inside(binds)} {name} {right.inside(binds)}", "bool", BINDS[name])

    def _decided(self, name: str, operands: tuple[v.Value, ...]) -> bool | None:
        """Return what a comparison always gives, of which C# would warn; None if that depends."""
        first, second = operands
        compute = OPERATORS[name].compute
        if isinstance(first, v.Int) and isinstance(second, v.Int):
            return bool(compute(first.value, second.value))
        if first == second and isinstance(first, v.Local | v.Member):
            return bool(compute(0, 0))
        if isinstance(second, v.Int):
            kind = self.expression(first).type
            return None if fits((second.value, second.value), kind) else bool(compute(0, second.value))
        if isinstance(first, v.Int):
            kind = self.expression(second).type
            return None if fits((first.value, first.value), kind) else bool(compute(first.value, 0))
        return None

    def _bare(self, value: v.Value) -> Expr:
        """Return an operand of a comparison: constants take the type of the other side."""
        if isinstance(value, v.Int) and fits((value.value, value.value), "long"):
            kind = "int" if abs(value.value) < 1 << 31 else "long"
            return Expr(integer_text(value.value, kind), kind, PRIMARY if value.value >= 0 else UNARY)
        return self.expression(value)


def record_of(value: v.Value) -> str:
    """Return the name of the record that a value is."""
    kind = of_type(value)
    assert isinstance(kind, v.RecordType), value
    return kind.name

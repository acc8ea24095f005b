"""Compiled column code, from below: lines, verdicts, the places of bits, and expressions.

A value is composed of the pieces of the bytes where its bits lie, so that one way serves every byte and bit
order. Where a check is written, all that it does is to find the record bad: locate says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import Literal, TypeAlias

from wirelock.codec.emit import Sight, Value, Writer
from wirelock.layout.operators import COMPARISONS, OPERATORS, number_source
from wirelock.layout.positions import scattered_pieces
from wirelock.layout.terms import Expression, Number, Operation
from wirelock.layout.terms import Literal as Wanted

Task: TypeAlias = Literal["check", "fill", "flat"]
"""check: find out which records are good, and count. fill: store the values of good records. flat: both at
once, where every record has the same places."""


@dataclass(slots=True)
class ColumnValue(Value):
    """A value in generated column code: an int64, unless `wide`, when it is a uint64.

    `equals` returns the source that compares bytes or text with a constant.
    """

    wide: bool = False
    equals: Callable[[bytes | str], str] | None = None


@dataclass(slots=True)
class Region:
    """Bits in another order: so many bytes at the place where they begin."""

    order: Literal["least-first", "bytes-swapped", "bits-swapped"]
    octets: int


class PlaceWriter:
    """Writes the lines of one function.

    `at` names the variable that says where `bit` counts from, `end` the one where the region ends. Bytes are
    there if `proven`; otherwise a check of them stands at the start of each run of values, and is written
    when the run ends.
    """

    def __init__(self, task: Task, taken: set[str]) -> None:
        self.task = task
        self.writer = Writer(taken)
        self.used: set[str] = set()
        self.tables: dict[tuple[int, ...], str] = {}
        self.at, self.end = "at", "end"
        self.bit = 0
        self.proven = task != "check"
        self.region: Region | None = None
        self.good = "ok" if task == "flat" else ""
        """The variable that gathers verdicts, where the code must not leave a loop."""
        self.opened: tuple[int, int] | None = None

    @property
    def checks(self) -> bool:
        """Whether values are checked."""
        return self.task != "fill"

    @property
    def stores(self) -> bool:
        """Whether values are stored."""
        return self.task != "check"

    def kernel(self, name: str, *arguments: object) -> str:
        """Return a call of a function of kernels or sums."""
        self.used.add(name)
        return f"{name}({', '.join(map(str, arguments))})"

    def table(self, numbers: tuple[int, ...]) -> str:
        """Return the name of an array of constants."""
        return self.tables.setdefault(numbers, f"TABLE_{len(self.tables) + 1}")

    # -- verdicts

    def require(self, condition: str) -> None:
        """Write that a record is bad unless a condition holds."""
        if not self.checks:
            return
        if self.good:
            self.writer.line(f"{self.good} &= {condition}")
        else:
            self.writer.line(f"if not {condition}:")
            self.writer.line("    return -1")

    # -- places

    def take(self, bits: int) -> int:
        """Return the bit at which a value lies, and move behind it."""
        if self.opened is None:
            self.opened = len(self.writer.lines), self.writer.depth
        bit, self.bit = self.bit, self.bit + bits
        return bit

    def flush(self) -> None:
        """End the run: write the check in front of it, and move `at` behind it."""
        opened, self.opened = self.opened, None
        octets, self.bit = self.bit // 8, 0
        if not octets:
            return
        if opened is not None and not self.proven:
            line, depth = opened
            indent = "    " * depth
            self.writer.lines[line:line] = [
                f"{indent}if {self.end} - {self.at} < {octets}:",
                f"{indent}    return -1",
            ]
        self.writer.line(f"{self.at} += {octets}")

    def octet(self, byte: int) -> str:
        """Return source for the place of a byte of the run."""
        return f"{self.at} + {byte}" if byte else self.at

    def pieces(self, bit: int, bits: int) -> list[tuple[int, int]]:
        """Return the (byte, mask) pieces of some bits of the run, from the most significant."""
        if self.region is not None:
            return list(scattered_pieces(range(bit, bit + bits), self.region.octets, self.region.order))
        return list(span(bit, bits))

    def load(self, bit: int, bits: int, *, little: bool = False, wide: bool = False) -> str:
        """Return source for bits as a number: uint64 if `wide`, otherwise int64, of 63 bits at most."""
        cast = "uint64" if wide else "int64"
        starts = range(bit + bits - 8, bit - 1, -8) if little else (bit,)
        found = [piece for start in starts for piece in self.pieces(start, 8 if little else bits)]
        terms, left = [], bits
        for byte, mask in found:
            low, width = (mask & -mask).bit_length() - 1, mask.bit_count()
            left -= width
            term = f"{cast}(data[uint64({self.octet(byte)})])"
            if low:
                term = f"{term} >> {self.literal(low, wide)}"
            if low + width < 8:
                term = f"{term} & {self.literal((1 << width) - 1, wide)}"
            term = f"({term})" if left and " " in term.replace(self.octet(byte), "") else term
            terms.append(f"{term} << {self.literal(left, wide)}" if left else term)
        return " | ".join(f"({term})" if len(terms) > 1 else term for term in reversed(terms)) or "0"

    def literal(self, value: int, wide: bool) -> str:
        """Return source for a number that stands beside another one."""
        return f"uint64({value})" if wide else str(value)

    # -- expressions

    def source(self, expression: Expression, sight: Sight) -> str:
        """Return source for the value of an expression: a bool for a comparison, otherwise a number."""
        match expression:
            case Number(value=value):
                return f"({number_source(value)})" if value < 0 else number_source(value)
            case Operation(operator=name, operands=operands):
                return self._operation(name, operands, sight)
        return sight.text_of(expression)  # type: ignore[arg-type]

    def number(self, expression: Expression | int, sight: Sight) -> str:
        """Return source for an expression as a number."""
        if isinstance(expression, int):
            return str(expression)
        text = self.source(expression, sight)
        return f"int64({text})" if is_truth(expression) else text

    def condition(self, expression: Expression, sight: Sight) -> str:
        """Return source for whether an expression is not zero."""
        text = self.source(expression, sight)
        return text if is_truth(expression) else f"({text} != 0)"

    def _operation(self, name: str, operands: tuple[Expression, ...], sight: Sight) -> str:
        literal = next((item for item in operands if isinstance(item, Wanted)), None)
        if literal is not None:
            other = operands[0] if operands[1] is literal else operands[1]
            if isinstance(other, Wanted):
                return f"({int(OPERATORS[name].compute(*(item.value for item in operands)))} > 0)"  # type: ignore[union-attr]
            text = self.equals(other, literal.value, sight)
            return f"({text})" if name == "==" else f"(not ({text}))"
        if is_truth(Operation(name, operands)) and name in ("|", "&"):
            return f"({f' {name} '.join(self.source(item, sight) for item in operands)})"
        if name == "if":
            condition = self.condition(operands[0], sight)
            return (
                f"({self.number(operands[1], sight)} if {condition} else {self.number(operands[2], sight)})"
            )
        if name == "not":
            return f"(not {self.condition(operands[0], sight)})"
        texts = [self.number(item, sight) for item in operands]
        spelled = OPERATORS[name].python
        return f"({spelled.format(*texts)})" if spelled else f"{name}({', '.join(texts)})"

    def equals(self, expression: Expression, wanted: bytes | str, sight: Sight) -> str:
        """Return source for whether the bytes or the text of a field are these."""
        value = value_of(expression, sight)
        assert value.equals is not None, f"{expression} is neither bytes nor text"
        return value.equals(wanted)


def value_of(expression: Expression, sight: Sight) -> ColumnValue:
    """Return the value at a path."""
    found: Sight | None = sight
    for _ in range(expression.up):  # type: ignore[union-attr]
        found = found.parent if found else None
    assert found is not None
    value = found.values[expression.names[0]]  # type: ignore[union-attr]
    for name in expression.names[1:]:  # type: ignore[union-attr]
        value = value.fields[name]
    assert isinstance(value, ColumnValue)
    return value


def is_truth(expression: Expression | int) -> bool:
    """Whether the source of an expression is a bool."""
    if not isinstance(expression, Operation):
        return False
    if expression.operator in ("|", "&"):
        return all(map(is_truth, expression.operands))
    return expression.operator in (*COMPARISONS, "not")


def cycle_of(bits: int) -> int:
    """Return how many elements of so many bits take whole bytes together."""
    return 8 // gcd(bits, 8)


def balanced(tests: list[str], operator: str) -> str:
    """Join tests in pairs of pairs: a long chain is nested too deeply for compilers."""
    while len(tests) > 1:
        pairs = [tests[at : at + 2] for at in range(0, len(tests), 2)]
        tests = [f"({f' {operator} '.join(pair)})" if len(pair) > 1 else pair[0] for pair in pairs]
    return tests[0] if tests else ""


def span(bit: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield the (byte, mask) pieces of bits that lie one behind the other."""
    end = bit + width
    while bit < end:
        stop = min(end, bit - bit % 8 + 8)
        yield bit // 8, (0xFF >> bit % 8) & (0xFF << (-stop % 8)) & 0xFF
        bit = stop

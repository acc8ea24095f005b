"""TypeScript expressions with their outermost operator, in parentheses where Prettier puts them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from wirelock.export import values as v
from wirelock.export.typescript.layout import LINE, Doc, Group, Indent, arguments

__all__ = [
    "OPPOSITE",
    "UNARY",
    "Text",
    "binary",
    "call",
    "literal",
    "mask",
    "negation",
    "quoted",
    "real",
    "ternary",
]

_ATOM, UNARY, _TERNARY, _OR, _AND = 20, 15, 3, 4, 5
_LEVELS: Final = {
    "**": 14, "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, ">>>": 11, "<": 10, "<=": 10,
    ">": 10, ">=": 10, "===": 9, "!==": 9, "&": 8, "^": 7, "|": 6, "&&": _AND, "||": _OR, "??": _OR,
}  # fmt: skip
_BITWISE: Final = ("<<", ">>", ">>>", "&", "^", "|")
OPPOSITE: Final = {"===": "!==", "!==": "==="}


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
    if condition.operator in OPPOSITE and len(condition.parts) == 4:
        left, _, line, right = condition.parts
        other = OPPOSITE[condition.operator]
        return Text((left, f" {other}", line, right), other, 9)
    if condition.operator == "!":
        assert isinstance(condition.doc, tuple)
        return Text(condition.doc[1])
    return Text(("!", condition.atom), "!", UNARY)


def ternary(condition: Text, then: Text, other: Text) -> Text:
    """Return a choice between two values."""
    parts = Indent((LINE, "? ", then.shown, LINE, ": ", other.shown))
    operator = "?b" if condition.operator in _LEVELS else "?"
    shown = ("(", condition.shown, ")") if condition.level <= _TERNARY else condition.shown
    return Text(Group((shown, parts)), operator, _TERNARY)


def literal(value: int, suffix: str = "") -> Text:
    """Return an integer; `n` as suffix makes it a bigint."""
    if value < 0:
        return Text(f"{value}{suffix}", "-u", UNARY)
    return Text(f"{value}{suffix}")


def mask(value: int, suffix: str = "") -> Text:
    """Return an integer whose bits are meant."""
    return Text(f"0x{value:x}{suffix}") if value > 9 else literal(value, suffix)


def real(value: float) -> Text:
    """Return a float."""
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
    return Text(text, "-u", UNARY) if text[0] == "-" else Text(text)

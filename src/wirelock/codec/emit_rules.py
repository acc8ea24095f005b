"""A rule over a record's fields -> the lines that give up unless it holds.

Parts that occur twice are computed once, and the least or greatest of some is found by comparing them,
which is faster than a call.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from wirelock.codec.emit import Sight, Writer
from wirelock.layout.terms import Expression, Operation

_EXTREMES: Final = {"max": ("greatest", ">"), "min": ("least", "<")}


def emit_rule(writer: Writer, sight: Sight, expression: Expression) -> None:
    """Write the lines that give up unless a rule holds."""
    known: dict[Expression, str] = {}
    for part in _computed_first(expression):
        if part.operator in _EXTREMES:
            texts = [sight.source(operand, known) for operand in part.operands]
            known[part] = _emit_extreme(writer, part.operator, texts)
        else:
            text = sight.source(part, known)
            known[part] = writer.name("part")
            writer.line(f"{known[part]} = {text}")
    writer.unless(sight.source(expression, known))


def _emit_extreme(writer: Writer, operator: str, texts: list[str]) -> str:
    """Write what `max` or `min` of names and numbers would give, which is the first of equal ones."""
    hint, beats = _EXTREMES[operator]
    first, second, *others = texts
    found = writer.name(hint)
    writer.line(f"{found} = {second} if {second} {beats} {first} else {first}")
    for other in others:
        writer.line(f"if {other} {beats} {found}:")
        writer.line(f"    {found} = {other}")
    return found


def _computed_first(expression: Expression) -> list[Operation]:
    """Return the operations that get names, inner ones first: used twice, `max`, `min` and their operands."""
    uses: Counter[Operation] = Counter()
    order: list[Operation] = []
    compared: set[Expression] = set()

    def visit(part: Expression) -> None:
        if not isinstance(part, Operation):
            return
        uses[part] += 1
        if uses[part] > 1:
            return
        for operand in part.operands:
            visit(operand)
        order.append(part)
        if part.operator in _EXTREMES:
            compared.update(part.operands, (part,))

    visit(expression)
    return [part for part in order if uses[part] > 1 or part in compared]

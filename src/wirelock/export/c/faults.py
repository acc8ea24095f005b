"""Faults of a Program as C: how they are put into the slot, and how a function that failed ends."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.c.functions import Functions, covered
from wirelock.export.c.types import Locals, text_literal
from wirelock.export.c.values import Expressions
from wirelock.export.program import Function, RecordDecl

__all__ = ["Faults", "merged", "wrapped"]

_DECLARED: Final = re.compile(r"^ *(?:const [^=;]*?|uint8_t \*const )\b(\w+) = .*;$")
_RANKS: Final = {"rule": "WL_RULE", "value": "WL_VALUE"}


class Faults(ABC):
    """The lines of one function, and the statements that put faults."""

    def __init__(self, functions: Functions, record: RecordDecl, function: Function) -> None:
        self.functions = functions
        self.names = functions.names
        self.record = record
        self.function = function
        self.locals = Locals()
        self.expressions = Expressions(self.names, self.locals, functions.storage)
        self.lines: list[str] = []
        self.depth = 1
        self.loops: list[str] = []
        """What is around a statement, the innermost last: "loop", or "switch", which a break would end."""
        self.covered = covered(function.body, functions.records)

    @abstractmethod
    def statement(self, statement: st.Statement) -> None:
        """Write one statement."""

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self.depth + text)

    def finish(self, parameters: Iterable[str]) -> list[str]:
        """Return what stands before the lines for parameters without a use; leaves out such locals."""
        before = 0
        while before != len(self.lines):
            before, words = len(self.lines), self._words()
            found = zip(self.lines, map(_DECLARED.match, self.lines), strict=True)
            self.lines = [line for line, name in found if name is None or words[name[1]] > 1]
        words = self._words()
        self.lines = [part for line in self.lines for part in wrapped(line)]
        return [f"    (void){name};" for name in parameters if not words[name]]

    def _words(self) -> Counter[str]:
        """Return how often each word occurs that is no member's name, and in no string."""
        return Counter(re.findall(r"(?<![\w.>])\w+", re.sub(r'"(?:[^"\\]|\\.)*"', "", "\n".join(self.lines))))

    def parameter(self, local: v.Local) -> str:
        """Return how a parameter is declared: arrays and records by their address."""
        name, kind = self.locals[local.name], local.type
        match kind:
            case v.BytesType(size=int()):
                return f"const uint8_t *{name}"
            case v.ListType(element=element, size=int()):
                return f"const {self.names.type_of(element)} *{name}"
            case v.RecordType():
                return f"const {self.names.type_of(kind)} *{name}"
        return self.names.declaration(kind, name)

    def block(self, body: Sequence[st.Statement]) -> None:
        """Write statements."""
        for statement in body:
            self.statement(statement)

    def failed(self) -> str:
        """Return the statement that ends a function which failed."""
        return "return WL_FAILED;" if self.function.kind == "read" else "return false;"

    def place(self, place: st.Place) -> tuple[str, str, str, list[v.Value | str]]:
        """Return the innermost step, byte and bit of a place, and the steps before it from the inside out."""
        steps = merged(place.steps)
        last = steps[-1] if steps else None
        first = text_literal(last) if isinstance(last, str) else '""'
        steps = steps[:-1] if isinstance(last, str) else steps
        byte = "WL_NOWHERE" if place.byte is None else self.expressions.assigned(place.byte, "size_t")
        return first, byte, "-1" if place.bit is None else str(place.bit), steps[::-1]

    def steps(self, steps: Sequence[v.Value | str]) -> None:
        """Put steps in front of the path, given from the inside out."""
        for step in steps:
            if isinstance(step, str):
                self.line(f"wl_step(fault, {text_literal(step)});")
            else:
                self.line(f"wl_step_item(fault, {self.expressions.assigned(step, 'uint64_t')});")

    def fail(self, code: str, place: st.Place) -> None:
        """Put a structural fault, and return failure."""
        step, byte, bit, steps = self.place(place)
        call = f"wl_fail(fault, {text_literal(code)}, {step}, {byte}, {bit})"
        if self.function.kind != "read" and not steps:
            self.line(f"return {call};")
            return
        self.line(f"(void){call};")
        self.steps(steps)
        self.line(self.failed())

    def fail_text(self, code: v.Value, place: st.Place) -> None:
        """Put the fault of a text, whose code is computed once where it is no local."""
        text = self.expressions.value(code).text
        if not isinstance(code, v.Local):
            self.line("{")
            self.depth += 1
            self.line(f"const int32_t problem = {text};")
            self._faults_of_text("problem", place)
            self.depth -= 1
            self.line("}")
        else:
            self._faults_of_text(text, place)

    def _faults_of_text(self, code: str, place: st.Place) -> None:
        self.line(f"if ({code} == 2) {{")
        self.depth += 1
        self.fail("not-canonical", place)
        self.depth -= 1
        self.line("}")
        self.line(f"if ({code} == 1) {{")
        self.depth += 1
        self.note(st.Note("value", "bad-text", place))
        self.depth -= 1
        self.line("}")

    def note(self, statement: st.Note) -> None:
        """Put a fault of a value or a rule, and go on."""
        step, byte, bit, steps = self.place(statement.place)
        code = text_literal(statement.code)
        if statement.over is None:
            call = f"wl_note(fault, {_RANKS[statement.rank]}, {code}, {step}, {byte}, {bit})"
        else:
            over = self.expressions.assigned(statement.over, "uint32_t")
            call = f"wl_note_over(fault, {over}, {code}, {step}, {byte}, {bit})"
        clean = self.function.kind == "read"
        if not steps:
            self.line(f"(void){call};" if clean else f"went = !{call} && went;")
            return
        self.line(f"if ({call}) {{")
        self.depth += 1
        self.steps(steps)
        self.not_clean()
        self.depth -= 1
        self.line("}")

    def not_clean(self) -> None:
        """Remember that a fault was put, for what the function returns."""
        if self.function.kind != "read":
            self.line("went = false;")


def wrapped(line: str, width: int = 110) -> list[str]:
    """Return a line in parts that are not too long: broken before an operator, or behind a comma."""
    indent = len(line) - len(line.lstrip()) + 4
    parts = []
    while len(line) > width:
        ends = [found.end() for found in re.finditer(r",(?= )|(?<=\S)(?= (?:&&|\|\|) )", line[:width])]
        ends = [end for end in ends if end > indent and line[:end].count('"') % 2 == 0]
        if not ends:
            break
        parts.append(line[: ends[-1]])
        line = " " * indent + line[ends[-1] :].lstrip()
    return [*parts, line]


def merged(steps: Sequence[st.Step]) -> list[v.Value | str]:
    """Return steps with labels that follow each other joined to one."""
    found: list[v.Value | str] = []
    for each in steps:
        step = f"[{each.value}]" if isinstance(each, v.Int) else each
        last = found[-1] if found else None
        if isinstance(step, str) and isinstance(last, str):
            found[-1] = last + step if step.startswith(("[", "#")) else f"{last}.{step}"
        else:
            found.append(step)
    return found

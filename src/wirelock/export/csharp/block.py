"""What the methods of a record share in C#: names of locals, places that values go to, and faults.

Text for a path is only put together where a fault is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass

from wirelock.errors import CODES
from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.csharp.arithmetic import PRIMARY, fits, is_position, record_of
from wirelock.export.csharp.names import Book, is_reference
from wirelock.export.csharp.text import new_array, text_literal
from wirelock.export.csharp.values import Values
from wirelock.export.lower.expressions import of_type
from wirelock.export.names import pascal
from wirelock.export.program import Function

__all__ = ["STEP", "Block", "braced", "fault_code", "indented", "path_text"]

STEP = "    "


def fault_code(code: str) -> str:
    """Return the constant of a fault's code, or the literal of a rule."""
    return f"FaultCode.{pascal(code)}" if code in CODES else text_literal(code)


def path_text(steps: Sequence[st.Step], values: Values) -> tuple[str, bool]:
    """Return the path of some steps as C#, and whether it is constant."""
    constant = all(isinstance(step, str) for step in steps)
    found = ""
    for step in steps:
        if isinstance(step, str):
            part = step if constant else step.replace("{", "{{").replace("}", "}}")
            found += f".{part}" if found and not step.startswith("#") else part
        else:
            found += f"[{{{values.text(step)}}}]" if not isinstance(step, v.Int) else f"[{step.value}]"
    if constant or "{" not in found:
        return text_literal(found), True
    return f"${text_literal(found)}", False


class Block:
    """Names, places and faults of one function."""

    def __init__(self, function: Function, book: Book, octets: dict[bytes, str], indent: str) -> None:
        self.function = function
        self.book = book
        self.indent = indent
        self.names: dict[str, str] = {"at": "at", "end": "end"}
        self.values = Values(book, self.names, octets)
        self.machine = "reader" if function.kind in ("load", "read") else "writer"
        self.values.faults = f"{self.machine}.Faults"
        self.members = set(book.fields(function.record).values())
        self.used = set(_names_in(function.body))
        for local in function.parameters:
            self.declare(local)

    def declare(self, local: v.Local) -> str:
        """Give a local its name."""
        self.names[local.name] = self.book.local(local.name, {*self.names.values(), *self.members})
        return self.names[local.name]

    def temporary(self, hint: str) -> str:
        """Return the name of a local that the program does not know."""
        self.names[f"{hint} {len(self.names)}"] = name = self.book.local(
            hint, {*self.names.values(), *self.members}
        )
        return name

    # -- lists of fixed size, which are there before anything is read into them

    def fresh_fields(self, body: Sequence[st.Statement], indent: str) -> Iterator[str]:
        """Yield what makes the record's own lists of fixed size, before a body that fills them.

        That is the function's, but for one that looks for what is wrong in a branch, and then has the record
        loaded: there it is the branch, and the lists that it reads into.
        """
        if self.function.kind not in ("load", "read"):
            return
        whole = body is self.function.body
        if _loads_itself(self.function.body) == whole:
            return
        record, filled = self.book.records[self.function.record], set(_filled(body))
        for item in record.fields:
            if whole or item.name in filled:
                yield from self.fresh(item.type, self.book.field(record.name, item.name), indent)

    def fresh(self, kind: v.Type, place: str, indent: str) -> Iterator[str]:
        """Yield what makes the lists of fixed size in a value; a record with methods makes its own."""
        match kind:
            case v.ListType(element=element, size=int(size)):
                yield f"{indent}{place} = {new_array(self.book.of(element), str(size))};"
                yield from self.fresh_items(element, place, indent)
            case v.RecordType(name=name) if not self.book.records[name].functions:
                for item in self.book.records[name].fields:
                    yield from self.fresh(item.type, f"{place}.{self.book.field(name, item.name)}", indent)

    def fresh_items(self, element: v.Type, place: str, indent: str) -> Iterator[str]:
        """Yield the same for each element of a new list."""
        name = self.temporary("item")
        body = list(self.fresh(element, f"{place}[{name}]", indent + STEP))
        if body:
            yield f"{indent}for (int {name} = 0; {name} < {place}.Length; {name}++)"
            yield f"{indent}{{"
            yield from body
            yield f"{indent}}}"

    def declaration(self, local: v.Local, value: v.Value, variable: bool) -> str:
        """Return the declaration of a local; of what may be no position yet, a type that holds it anyway."""
        values = self.values
        kind, span = values.type_of(local.type), None
        if isinstance(local.type, v.IntType):
            span = values.interval(value)
            if is_position(local.type):
                kind = "int" if variable or fits(span, "int") else "long"
        known = variable and kind == "int" and is_position(local.type)
        text = values.position(value) if known else self.assigned(value, local.type, kind)
        name = self.declare(local)
        values.kinds[local.name] = kind
        if span and not variable:
            values.spans[local.name] = span
        return f"{kind} {name} = {text}"

    # -- places and what is stored there

    def place(self, target: v.Value) -> tuple[list[str], str, list[str]]:
        """Return what a target is called, and statements before and behind: nullables change as copies."""
        match target:
            case v.Within(of=of, type=kind) if not is_reference(kind):
                before, text, behind = self.place(of)
                name = self.temporary("inner")
                return (
                    [*before, f"var {name} = {text}.GetValueOrDefault();"],
                    name,
                    [f"{text} = {name};", *behind],
                )
            case v.Within(of=of):
                return self.place(of)
            case v.Member(of=of, name=field) if not isinstance(of, v.Self):
                before, text, behind = self.place(of)
                return before, f"{text}.{self.book.field(record_of(of), field)}", behind
            case v.CaseOf(of=of, number=number):
                before, text, behind = self.place(of)
                return before, f"{text}.{self.values.case(of, number)}", behind
            case v.Which(of=of):
                before, text, behind = self.place(of)
                return before, f"{text}.Kind", behind
        return [], self.values.text(target), []

    def stored(self, target: v.Value, text: str, indent: str) -> Iterator[str]:
        """Yield the assignment of a value to a target."""
        while isinstance(target, v.Within):
            target = target.of  # a nullable takes the value itself
        yield from self.at_place(target, lambda place: [f"{indent}{place} = {text};"], indent)

    def at_place(
        self, target: v.Value, lines_of: Callable[[str], Iterable[str]], indent: str
    ) -> Iterator[str]:
        """Yield lines that change a target, between those that its place needs, if there are any."""
        before, place, behind = self.place(target)
        lines = list(lines_of(place))
        if lines:
            yield from indented(before, indent)
            yield from lines
            yield from indented(behind, indent)

    def set(self, target: v.Value, value: v.Value | None, indent: str) -> Iterator[str]:
        """Yield an assignment; what is added to a local is added in place."""
        if value is None:
            yield from self.stored(target, "null", indent)
            return
        if isinstance(target, v.Which):
            kind = of_type(target.of)
            assert isinstance(kind, v.ChoiceType) and isinstance(value, v.Int), target
            case, held = self.book.cases(kind)[value.value], kind.cases[value.value][1]
            yield from self.stored(target, f"{self.book.type_name(kind.name)}Kind.{case}", indent)
            if held is not None:
                inside = v.CaseOf(target.of, value.value, held)
                yield from self.at_place(inside, lambda place: self.fresh(held, place, indent), indent)
            return
        match target, value:
            case v.Local(), v.Op(operator="+", operands=(first, more)) if first == target:
                found = self.values.expression(more)
                if found.type in (self.values.kinds[target.name], "byte", "ushort"):
                    yield f"{indent}{self.values.text(target)} += {found.text};"
                    return
        kind = of_type(target)
        assert kind is not None, target
        name = self.values.kinds[target.name] if isinstance(target, v.Local) else self.book.of(kind)
        text = self.values.position(value) if is_position(kind) else self.assigned(value, kind, name)
        yield from self.stored(target, text, indent)

    def assigned(self, value: v.Value, kind: v.Type, name: str) -> str:
        """Return a value as it is assigned to what has a type."""
        while isinstance(kind, v.OptionType):
            kind = kind.inner
        if isinstance(kind, v.EnumType) and of_type(value) != kind:
            return self.values.text(v.Cast(value, kind))
        if isinstance(kind, v.IntType):
            return self.values.as_type(value, name.rstrip("?"))
        found = self.values.expression(value)
        if found.type == "double" and isinstance(kind, v.FloatType) and kind.bits == 32:
            return f"(float){found.inside(PRIMARY)}"
        return found.text

    # -- faults

    def fault(self, name: str, code: str, path: str, place: st.Place, since: str = "") -> str:
        """Return the call that puts a fault into the slot."""
        told = [code, path]
        if place.byte is not None:
            told.append(self.values.position(place.byte))
        if place.bit is not None:
            told.append(str(place.bit) if place.byte is not None else f"bit: {place.bit}")
        if since:
            told.append(f"since: {since}")
        return f"{self.values.faults}.{name}({', '.join(told)})"

    def note(self, statement: st.Note, indent: str) -> Iterator[str]:
        """Yield the lines that note a fault."""
        name = statement.rank.capitalize()
        path, constant = path_text(statement.place.steps, self.values)
        since = "" if statement.over is None else self.values.text(statement.over)
        rules = self.book.fields(self.function.record) if statement.rank == "rule" else {}
        code = rules.get(statement.code) or fault_code(statement.code)
        call = self.fault(f"Note{name}", code, path, statement.place, since)
        if constant:
            yield f"{indent}{call};"
            return
        yield f"{indent}if ({self.values.faults}.Takes{name}({since}))"
        yield from braced(indent, f"{call};")

    def fail_text(self, code: v.Value, place: st.Place, indent: str) -> Iterator[str]:
        """Yield the lines that tell what is wrong with a text, if anything is."""
        name = self.temporary("verdict")
        path, _ = path_text(place.steps, self.values)
        yield f"{indent}int {name} = {self.values.as_type(code, 'int')};"
        yield f"{indent}if ({name} == 2)"
        yield from braced(indent, f"return {self.fault('Fail', 'FaultCode.NotCanonical', path, place)};")
        yield f"{indent}if ({name} == 1)"
        note = st.Note("value", "bad-text", place)
        yield f"{indent}{{"
        yield from self.note(note, indent + STEP)
        yield f"{indent}}}"

    def checked(self, steps: tuple[st.Step, ...], call: str, indent: str) -> Iterator[str]:
        """Yield a call of a nested record's method, whose faults get these steps before their path."""
        faults = self.values.faults
        match steps:
            case ():
                condition = f"!{call}"
            case (*names, index) if not isinstance(index, str) and all(
                isinstance(name, str) for name in names
            ):
                outer, _ = path_text(names, self.values)
                place = self.values.position(index)
                condition = f"!{faults}.Inside({outer}, {place}, {faults}.Count, {call})"
            case _:
                outer, constant = path_text(steps, self.values)
                if not constant:
                    yield from self.checked_apart(outer, call, indent)
                    return
                condition = f"!{faults}.Inside({outer}, {faults}.Count, {call})"
        yield f"{indent}if ({condition})"
        yield from braced(indent, "return false;")

    def checked_apart(self, outer: str, call: str, indent: str) -> Iterator[str]:
        """Yield the same where putting the path together costs something."""
        faults = self.values.faults
        count, done = self.temporary("count"), self.temporary("done")
        yield f"{indent}int {count} = {faults}.Count;"
        yield f"{indent}bool {done} = {call};"
        yield f"{indent}if ({faults}.Count != {count})"
        yield from braced(indent, f"{faults}.Inside({outer}, {count}, {done});")
        yield f"{indent}if (!{done})"
        yield from braced(indent, "return false;")


def _names_in(node: object) -> Iterator[str]:
    """Yield the locals that statements read, at any depth: Lets of others are left out."""
    match node:
        case tuple():
            for item in node:
                yield from _names_in(item)
        case v.Local(name=name):
            yield name
        case st.Let(value=value) | st.Var(value=value):
            yield from _names_in(value)
        case _ if is_dataclass(node) and not isinstance(node, type):
            for field in fields(node):
                yield from _names_in(getattr(node, field.name))


def _filled(node: object) -> Iterator[str]:
    """Yield the fields of the record into which statements read."""
    match node:
        case st.Read(target=target):
            while not isinstance(target, v.Self):
                if isinstance(target, v.Member) and isinstance(target.of, v.Self):
                    yield target.name
                assert isinstance(target, v.Item | v.Member | v.Within | v.CaseOf), target
                target = target.of
        case tuple():
            for item in node:
                yield from _filled(item)
        case st.When() | st.Pick() | st.For() | st.While():
            for field in fields(node):
                yield from _filled(getattr(node, field.name))


def _loads_itself(body: Iterable[st.Statement]) -> bool:
    return any(isinstance(item, st.Read) and item.load and isinstance(item.target, v.Self) for item in body)


def braced(indent: str, *lines: str) -> Iterator[str]:
    """Yield lines in braces."""
    yield f"{indent}{{"
    yield from indented(lines, indent + STEP)
    yield f"{indent}}}"


def indented(lines: Iterable[str], indent: str) -> Iterator[str]:
    """Yield lines that stand further in."""
    return (f"{indent}{line}" for line in lines)

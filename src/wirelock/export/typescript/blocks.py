"""One TypeScript function under construction: its names, its blocks, and what its faults say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import of_type
from wirelock.export.names import camel
from wirelock.export.program import Function, RecordDecl
from wirelock.export.typescript.expressions import Text, quoted
from wirelock.export.typescript.facts import changed, plain_numbers, used_in
from wirelock.export.typescript.layout import HARD, LINE, SOFT, Doc, Group, Indent, arguments, flat
from wirelock.export.typescript.module import Module, nodes_in
from wirelock.export.typescript.places import Places
from wirelock.export.typescript.values import Values

__all__ = ["Blocks", "assignment", "braces", "test"]


class Blocks:
    """The names of one function, and the statements of the block that is being written."""

    def __init__(self, module: Module, record: RecordDecl, function: Function) -> None:
        self.module = module
        self.record = record
        self.function = function
        self.reads = function.kind in ("load", "read")
        self.owner = "reader" if self.reads else "json" if function.kind == "tell" else "writer"
        self.traits = module.learn(function)
        self.names: dict[str, str] = {}
        self.taken = module.taken
        self.values = Values(module, self.owner, self.place)
        self.places = Places(self, function) if self.reads else None
        self.docs: list[Doc] = []
        self.depth = 0
        self.inside: list[str] = []
        """What a Break would leave, from the outside in: `switch`, a loop, or the label of one."""
        self.items: dict[v.Value, str] = {}
        """The elements of lists that are in a local, in a loop over them."""
        self.fixed: set[str] = set()
        """The names of locals that keep their value, and can stand for a field."""
        self.returned = False
        self.result: Doc | None = None
        self.cases: frozenset[tuple[v.Value, int]] = frozenset()
        """The choices of which it is known here which case they hold."""
        self.changing = {item.name for node in nodes_in(function.body) for item in changed(node)}
        self.used = set(used_in(function.body, module))
        self.values.numbers = plain_numbers(function.body)

    def local(self, local: v.Local) -> str:
        """Return the name of a local, a new one where it has none."""
        if local.name not in self.names:
            plain = re.sub(r"_\d+$", "", local.name)
            self.names[local.name] = self.new(camel(plain), own=local.name in ("at", "end"))
        return self.names[local.name]

    def new(self, wanted: str, own: bool = False) -> str:
        """Return a name that nothing else in the function has."""
        wanted = f"_{wanted}" if wanted[0].isdigit() else wanted
        number, found = 2, wanted
        while not own and found in self.taken:
            found, number = f"{wanted}{number}", number + 1
        self.taken.add(found)
        return found

    def place(self, value: v.Value) -> Text:
        """Return the text of what a record or a local holds."""
        if value in self.items:
            return Text(self.items[value])
        if self.places is not None:
            found = self.places.read(value)
            if found is not None:
                return found
        match value:
            case v.Self():
                return Text("record")
            case v.Local():
                return Text(self.local(value))
            case v.Member(of=of, name=name):
                kind = of_type(of)
                assert isinstance(kind, v.RecordType), value
                return Text((self.place(of).atom, f".{self.module.fields[kind.name][name]}"))
            case v.Item(of=of, index=index):
                return Text((self.place(of).atom, "[", self.values.number(index).shown, "]!"))
            case v.Within(of=of):
                inner = self.place(of)
                is_known = of in self.values.present and self.is_narrowed(of)
                return inner if is_known else Text((inner.atom, "!"))
            case v.CaseOf(of=of, number=number):
                kind = of_type(of)
                assert isinstance(kind, v.ChoiceType)
                inner = self.place(of)
                if (of, number) in self.cases and self.is_narrowed(of):
                    return Text((inner.atom, ".value"))
                told = f"Extract<{self.module.types[kind.name]}, {{ kind: {quoted(kind.cases[number][0])} }}>"
                return Text(("(", inner.doc, f" as {told}).value"))
        raise AssertionError(value)

    def is_narrowed(self, value: v.Value) -> bool:
        """Whether the compiler remembers what was found out about a place: it is one that cannot change."""
        match value:
            case v.Self() | v.Local():
                return True
            case v.Member(of=of) | v.Within(of=of):
                return self.is_narrowed(of)
            case v.Item():
                return value in self.items
            case v.CaseOf(of=of, number=number):
                return (of, number) in self.cases and self.is_narrowed(of)
        return False

    def add(self, *parts: Doc) -> None:
        """Add a statement to the block."""
        self.docs.append(parts if len(parts) != 1 else parts[0])

    def assigned(self, target: Doc, text: Text) -> None:
        """Add a declaration or an assignment."""
        self.add(assignment(target, text))

    @contextmanager
    def nested(self) -> Iterator[list[Doc]]:
        """Collect the statements of a block. What is known inside of it is not known behind it."""
        outer, self.docs = self.docs, []
        present, cases, taken = set(self.values.present), self.cases, set(self.taken)
        items, pinned = dict(self.items), set(self.values.pinned)
        aliases = dict(self.places.aliases) if self.places else {}
        self.depth += 1
        try:
            yield self.docs
        finally:
            self.docs, self.values.present, self.cases, self.taken = outer, present, cases, taken
            self.items, self.values.pinned = items, pinned
            self.depth -= 1
            if self.places:
                self.places.aliases = aliases

    def steps(self, steps: Sequence[st.Step]) -> Doc:
        """Return a path as a string literal, or a template where it has numbers that are not constant."""
        parts: list[Doc] = []
        fixed = True
        for number, step in enumerate(steps):
            if isinstance(step, str):
                parts.append(f".{step}" if number and not step.startswith("#") else step)
            elif isinstance(step, v.Int):
                parts.append(f"[{step.value}]")
            else:
                fixed = False
                parts.append(f"[${{{flat(self.values.number(step).doc)}}}]")
        text = "".join(map(flat, parts))
        return quoted(text) if fixed else f"`{text}`"

    def fault(self, method: str, code: str, place: st.Place, over: v.Local | None = None) -> Doc:
        """Return the call that puts a fault into the slot."""
        parts: list[Doc] = [quoted(code), self.steps(place.steps)]
        if place.byte is not None:
            parts.append(self.values.number(place.byte).shown)
            if place.bit is not None:
                parts.append(str(place.bit))
        elif self.reads and method == "fail":
            parts.append("null")
        if over is not None:
            parts += ["null"] * (4 - len(parts))
            parts.append(self.local(over))
        return arguments(f"{self.owner}.{method}(", parts, ")")

    def call(self, record: str, kind: str, own: dict[str, Doc], values: Sequence[v.Value]) -> Doc:
        """Return a call of a record's function; `own` are the arguments of the machine."""
        called = next(item for item in self.module.records[record].functions if item.kind == kind)
        parts = {self.owner: self.owner, **own}
        for local, value in zip(called.parameters, values, strict=True):
            parts[local.name] = self.values.value(value, local.type).shown
        unused = self.module.traits[record, kind].unused
        name = self.module.function(kind, record)
        return arguments(f"{name}(", [doc for key, doc in parts.items() if key not in unused], ")")


def braces(docs: Sequence[Doc]) -> Doc:
    """Return statements in braces."""
    if not docs:
        return "{}"
    return ("{", Indent(tuple(part for doc in docs for part in (HARD, doc))), HARD, "}")


def test(opening: str, condition: Text) -> Doc:
    """Return the head of an `if`: its condition one part a line where it is too long."""
    inner = condition.parts or condition.doc
    return Group((opening, Group((Indent((SOFT, inner)), SOFT)), ") "))


def assignment(target: Doc, value: Text) -> Doc:
    """Return a declaration or an assignment: an operation goes to a line of its own where it is too long."""
    if value.parts:
        return Group((target, " =", Group(Indent((LINE, Group(value.parts)))), ";"))
    if value.operator == "?b":
        return Group((target, " =", Group(Indent((LINE, value.doc))), ";"))
    return (target, " = ", value.doc, ";")

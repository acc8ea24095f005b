"""The record that a TypeScript function reads: which local holds each field, and how it is given a value.

A field that is set once, on every way through the function, is a `const`; another one a `let` before the
statement that sets it first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import of_type
from wirelock.export.names import camel
from wirelock.export.program import Function
from wirelock.export.typescript.assignments import (
    Path,
    all_assigned,
    always_assigned,
    assigned,
    base_of,
    fixed_lists,
    grown,
    is_made_at_once,
    latest,
    path_of,
    values_read,
)
from wirelock.export.typescript.expressions import Text, quoted
from wirelock.export.typescript.facts import declared_in
from wirelock.export.typescript.layout import Doc, arguments
from wirelock.export.typescript.module import nodes_in

if TYPE_CHECKING:
    from wirelock.export.typescript.blocks import Blocks

__all__ = ["Places"]


class Places:
    """The fields of one record, while it is read."""

    def __init__(self, printer: Blocks, function: Function) -> None:
        self.printer = printer
        self.module = printer.module
        self.body = function.body
        self.variables: dict[Path, str] = {}
        self.aliases: dict[v.Value, str] = {}
        """The lists that are in a local of their own while they grow."""
        self.given = {
            node.target for node in nodes_in(self.body) if isinstance(node, st.Allocate | st.Extend)
        }
        self.dead: frozenset[Path] = frozenset()
        """The fields that the statement of the outermost block sets for nothing: a later one sets them."""
        self.inline = frozenset(item.name for item in self.module.program.records if not item.functions)
        self.latest = latest(self.body, self.inline)
        self.counts = Counter(
            path
            for number, statement in enumerate(self.body)
            for path in all_assigned(statement, self.inline)
            if number >= self.latest.get(path, 0)
        )
        self.constants = {
            path
            for statement in self.body
            for path in [assigned(statement, self.inline), *map(base_of, grown(statement))]
            if path and self.counts[path] == 1
        }
        self.read_here: set[Path] = set()
        """The fields that the statement of the outermost block reads again."""

    def declare(self, statement: st.Statement) -> None:
        """Declare what must be declared before a statement: fields, and lists that it lets grow."""
        if self.printer.depth == 0:
            number = next((at for at, item in enumerate(self.body) if item is statement), None)
            if number is not None:
                self.read_here = {
                    path for node in nodes_in(values_read((statement,))) if (path := path_of(node))
                }
                self.dead = frozenset(
                    path for path in all_assigned(statement, self.inline) if number < self.latest.get(path, 0)
                )
            for path in dict.fromkeys(all_assigned(statement, self.inline)):
                known = path in self.constants or path in self.variables or path in self.dead
                if not known:
                    self._let(path)
        for target in grown(statement):
            if target not in self.aliases:
                self.list(target)

        for target in self._fresh(statement):
            if target not in self.aliases:
                self.list(target)

    def _fresh(self, statement: st.Statement) -> Iterator[v.Value]:
        """Yield the lists of a fixed size that a statement fills, and that are there from the start."""
        inner = {name for node in nodes_in(statement) for item in declared_in(node) for name in [item.name]}
        for node in nodes_in(statement):
            match node:
                case st.Set(target=target) | st.Read(target=target):
                    for found in fixed_lists(target):
                        own = {item.name for item in nodes_in(found) if isinstance(item, v.Local)}
                        if found not in self.given and not own & inner:
                            yield found

    def ignores(self, target: v.Value) -> bool:
        """Whether what is given to a target is read by nothing."""
        while isinstance(target, v.Within | v.CaseOf | v.Item | v.Which):
            target = target.of
        path = path_of(target)
        return path in self.dead and path not in self.read_here

    def _let(self, path: Path) -> None:
        kind = self._type(path)
        name = self.variable(path)
        told = self.module.type(kind)
        start = "" if always_assigned(self.body, path, self.inline) else f" = {self.module.default(kind)}"
        if start and isinstance(kind, v.OptionType):
            start = " = null"
        self.printer.add(f"let {name}: {told}{start};")

    def _type(self, path: Path) -> v.Type:
        record = self.printer.record
        for name in path[:-1]:
            kind = next(item.type for item in record.fields if item.name == name)
            assert isinstance(kind, v.RecordType)
            record = self.module.records[kind.name]
        return next(item.type for item in record.fields if item.name == path[-1])

    def variable(self, path: Path) -> str:
        """Return the local of a field."""
        if path not in self.variables:
            self.variables[path] = self.printer.new(camel("_".join(path)))
        return self.variables[path]

    # -- giving values

    def assign(self, target: v.Value, text: Text) -> None:
        """Give a field, an element, an option or a choice a value."""
        match target:
            case v.Within(of=of):
                self.assign(of, text)
                return
            case v.CaseOf(of=of, number=number):
                kind = of_type(of)
                assert isinstance(kind, v.ChoiceType)
                label = f"kind: {quoted(kind.cases[number][0])}"
                told = "value" if text.doc == "value" else ("value: ", text.shown)
                self.assign(of, Text(arguments("{", [label, told], "}", space=True)))
                return
            case v.Item(of=of, index=index):
                at = self.printer.values.number(index).shown
                self._set((self._list(of), "[", at, "]"), text)
                return
        path = path_of(target)
        if path in self.dead:
            if path in self.read_here:
                self.aliases[target] = name = self.printer.new(camel(path[-1]))
                self._set(f"const {name}", text)
            return
        if path:
            if path in self.constants and path not in self.variables and text.doc in self.printer.fixed:
                assert isinstance(text.doc, str)
                self.variables[path] = text.doc
                return
            name = self.variable(path)
            if path not in self.constants:
                self._set(name, text)
            elif text.doc != name:
                kind = self._type(path)
                annotated = isinstance(kind, v.ChoiceType) or text.doc == "null"
                told = f": {self.module.type(kind)}" if annotated else ""
                self._set(f"const {name}{told}", text)
            return
        assert isinstance(target, v.Member), target
        kind = of_type(target.of)
        assert isinstance(kind, v.RecordType)
        mutable = f"{self.module.codec('Mutable')}<{self.module.types[kind.name]}>"
        holder = self.printer.place(target.of).doc
        field = self.module.fields[kind.name][target.name]
        self._set(("(", holder, f" as {mutable}).{field}"), text)

    def _set(self, target: Doc, text: Text) -> None:
        self.printer.assigned(target, text)

    def _list(self, value: v.Value) -> Doc:
        path = path_of(value)
        if value in self.aliases or (path and path in self.constants):
            return self.printer.place(value).atom
        kind = of_type(value)
        assert isinstance(kind, v.ListType), value
        return ("(", self.printer.place(value).doc, f" as {self.module.mutable(kind)})")

    def choose(self, choice: v.Value, number: int) -> None:
        """Let a choice hold a case, whose value is set later unless it is made at once."""
        kind = of_type(choice)
        assert isinstance(kind, v.ChoiceType)
        label, inner = kind.cases[number]
        if self.ignores(choice) or not is_made_at_once(inner, self.inline):
            return
        if inner is None:
            self.assign(choice, Text(f"{{ kind: {quoted(label)} }}"))
        elif isinstance(inner, v.ListType):
            target = v.CaseOf(choice, number, inner)
            if target not in self.given:
                self.list(target)
        else:
            self.assign(choice, Text(f"{{ kind: {quoted(label)}, value: {self.module.default(inner)} }}"))

    def list(self, target: v.Value, count: v.Value | None = None) -> None:
        """Begin a list: it is empty, and grows as its elements are set.

        Records that have no functions of their own are there from the start, `count` of them.
        """
        kind = of_type(target)
        assert isinstance(kind, v.ListType)
        path = path_of(target)
        if self.ignores(target):
            return
        if path and not self.counts[path] and self.printer.depth == 0:
            self.constants.add(path)
        if path and path in self.constants and path not in self.dead:
            name = self.variable(path)
        else:
            name = self.printer.new("items")
        self.aliases[target] = name
        start: Doc = "[]"
        element = kind.element
        if isinstance(element, v.RecordType) and not self.module.records[element.name].functions:
            size = self.printer.values.number(count or v.Int(kind.size or 0)).shown
            made = f"(): {self.module.types[element.name]} => ({self.module.default(element)})"
            start = arguments("Array.from(", [("{ length: ", size, " }"), made], ")")
        elif isinstance(element, v.OptionType):
            size = self.printer.values.number(count or v.Int(kind.size or 0)).shown
            start = (f"new Array<{self.module.type(element)}>(", size, ").fill(null)")
        self.printer.add(f"const {name}: {self.module.mutable(kind)} = ", start, ";")
        if not (path and (path in self.constants or path in self.dead)):
            self.assign(target, Text(name))

    def made(self, target: v.Value, text: Text) -> str:
        """Keep what a call has made in a local until it is known to be there; returns its name."""
        path = path_of(target)
        if path and path in self.constants and path not in self.dead:
            name = self.variable(path)
        else:
            kind = of_type(target)
            assert isinstance(kind, v.RecordType)
            name = self.printer.new(re.sub(r"V\d+$", "", camel(self.module.types[kind.name])))
        self.printer.assigned(f"const {name}", text)
        return name

    # -- reading

    def read(self, value: v.Value) -> Text | None:
        """Return the text of what was read already; None for what is no part of the record."""
        if value in self.aliases:
            return Text(self.aliases[value])
        path = path_of(value)
        if not path:
            return None
        if path in self.variables:
            return Text(self.variables[path])
        if isinstance(value, v.Member):
            outer = self.read(value.of)
            kind = of_type(value.of)
            if outer is not None and isinstance(kind, v.RecordType) and isinstance(outer.doc, str):
                return Text((outer.atom, f".{self.module.fields[kind.name][value.name]}"))
        kind = of_type(value)
        assert isinstance(kind, v.RecordType), f"{value} was not set"
        return Text(self.literal(kind.name, path))

    def literal(self, record: str, path: Path) -> Doc:
        """Return a record that is made from the locals of its fields."""
        parts: list[Doc] = []
        for item in self.module.records[record].fields:
            key, inner = self.module.fields[record][item.name], (*path, item.name)
            if self.variables.get(inner) == key:
                parts.append(key)
            elif inner in self.variables:
                parts.append(f"{key}: {self.variables[inner]}")
            elif isinstance(item.type, v.RecordType):
                parts.append((f"{key}: ", self.literal(item.type.name, inner)))
            else:
                parts.append(f"{key}: {self.module.default(item.type)}")
        return arguments("{", parts, "}", space=True)

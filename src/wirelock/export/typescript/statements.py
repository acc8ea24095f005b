"""Functions of an exported codec -> TypeScript functions.

A record that is read is put together at the end, from locals: an object literal of one shape, which engines
make fast and no one sees half made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import of_type
from wirelock.export.lower.read_block import pruned
from wirelock.export.names import camel
from wirelock.export.program import Function, RecordDecl
from wirelock.export.typescript.blocks import assignment, braces, test
from wirelock.export.typescript.expressions import Text, quoted
from wirelock.export.typescript.facts import (
    absent_where,
    breaks_from_switch,
    declared_in,
    ends,
    float_told,
    held_where,
    pinned_by,
    present_where,
)
from wirelock.export.typescript.layout import HARD, Doc, Group, Indent, arguments, flat, render
from wirelock.export.typescript.module import Module, nodes_in
from wirelock.export.typescript.output import Output
from wirelock.export.typescript.text import code_of, mentions

__all__ = ["function_text"]


def function_text(module: Module, record: RecordDecl, function: Function) -> str:
    """Return one function as it is written."""
    function = replace(function, body=pruned(function.body))
    return Printer(module, record, function).text()


class Printer(Output):
    """One function: its statements, one after the other."""

    def text(self) -> str:
        """Return the function; what its callers must know is in the module then."""
        own = [
            (name, self.local(v.Local(name, v.IntType(64, True, *v.SAFE)))) for name in self._machine_names()
        ]
        own += [(item.name, self.local(item)) for item in self.function.parameters]
        types = {item.name: self.module.type(item.type) for item in self.function.parameters}
        self._hold_fields()
        self.body(self.function.body)
        if self.function.kind == "load":
            self.add("return ", self.made(), ";")
        elif not self.reads and self.traits.fails and not self.returned:
            self.add("return true;")
        if self.values.view_used:
            self.docs.insert(0, f"const {{ view }} = {self.owner};")
        body = render(Indent(tuple(part for doc in self.docs for part in (HARD, doc))))
        own_type = self.module.runner("JsonWriter") if self.owner == "json" else self.owner.capitalize()
        if self.owner != "json":
            self.module.codec(own_type)
        parameters = [(self.owner, self.owner, own_type)]
        if not self.reads:
            parameters.append(("record", "record", self.module.types[self.record.name]))
        parameters += [(name, told, types.get(name, "number")) for name, told in own]
        code = code_of(body)
        used = [item for item in parameters if mentions(code, item[1])]
        self.module.amend(self.function, {item[0] for item in parameters} - {item[0] for item in used})
        head = arguments(
            f"function {self.module.function(self.function.kind, self.record.name)}(",
            [f"{told}: {kind}" for _, told, kind in used],
            f"): {self._returned()} {{",
        )
        return f"{render(head)}{body}\n}}\n" if body else f"{render(head)}}}\n"

    def _hold_fields(self) -> None:
        """Keep in locals the fields that are written: they are read more than once."""
        if self.function.kind not in ("store", "write"):
            return
        uses = Counter(node for node in nodes_in(self.function.body) if isinstance(node, v.Member))
        parts: list[Doc] = []
        for member, count in uses.items():
            if isinstance(member.of, v.Self) and count > 1:
                field = self.module.fields[self.record.name][member.name]
                self.items[member] = name = self.new(field)
                parts.append(name if name == field else f"{field}: {name}")
        if parts:
            self.add(arguments("const {", parts, "} = record;", space=True))

    def _machine_names(self) -> Sequence[str]:
        return {"load": ("at",), "read": ("at", "end"), "store": ("at",)}.get(self.function.kind, ())

    def _returned(self) -> str:
        if not self.reads:
            return "boolean" if self.traits.fails else "void"
        kind = self.module.types[self.record.name]
        return f"{kind} | null" if self.traits.fails else kind

    def made(self) -> Doc:
        """Return the record that was read."""
        assert self.places is not None
        return self.result if self.result is not None else self.places.literal(self.record.name, ())

    def block(self, body: Sequence[st.Statement]) -> Doc:
        """Return a block in braces."""
        with self.nested() as found:
            self.body(body)
        return braces(found)

    def body(self, body: Sequence[st.Statement]) -> None:
        """Add statements."""
        for number, statement in enumerate(body):
            if self.places is not None:
                self.places.declare(statement)
            self.statement(statement, last=number == len(body) - 1)

    def statement(self, statement: st.Statement, last: bool) -> None:
        """Add one statement; the last one of its block may return."""
        match statement:
            case st.Let(local=local, value=value) | st.Var(local=local, value=value):
                self._declare(local, value)
            case st.Set(target=target, value=value):
                self._set(target, value)
            case st.When():
                self._when(statement)
            case st.Pick():
                self._pick(statement)
            case st.For(index=index, count=count, body=body):
                stop = self.values.number(count)
                if not isinstance(count, v.Local | v.Int | v.Count):
                    name = self.new("count")
                    self.add(assignment(f"const {name}", stop))
                    stop = Text(name)
                outer, name = set(self.taken), self.local(index)
                head = ("for (let ", name, " = 0; ", name, " < ", stop.shown, "; ", name, "++) ")
                self._loop(head, body, index)
                self.taken = outer
            case st.While(condition=condition, body=body):
                self._loop(("while (", self.values.truth(condition).shown, ") "), body)
            case st.Break():
                label = next(item for item in reversed(self.inside) if item != "switch")
                crosses = self.inside[-1] == "switch"
                self.add(f"break {label};" if crosses else "break;")
            case st.Return(at=at):
                self.add("reader.next = ", self.values.number(at).shown, ";")
                self.add("return ", self.made(), ";")
            case st.Fail(code=code, place=place):
                self.add("return ", self.fault("fail", code, place), ";")
            case st.FailText(code=code, place=place):
                name = self.new("problem")
                self.add(assignment(f"const {name}", self.values.number(code)))
                bad, other = (
                    self.fault("value", "bad-text", place),
                    self.fault("fail", "not-canonical", place),
                )
                self.add(f"if ({name} === 1) ", braces([(bad, ";")]))
                self.docs[-1] = (
                    self.docs[-1],
                    f" else if ({name} === 2) ",
                    braces([("return ", other, ";")]),
                )
            case st.Note(rank=rank, code=code, place=place, over=over):
                self.add(self.fault(rank, code, place, over), ";")
            case st.Allocate(target=target, count=count):
                assert self.places is not None
                self.places.list(target, count)
            case st.Extend(target=target, size=size):
                kind = of_type(target)
                if isinstance(kind, v.ListType) and isinstance(kind.element, v.OptionType):
                    self.add(self.place(target).atom, ".push(null);")
                self.add(f"{self.local(size)} += 1;")
            case st.Read():
                self._read(statement)
            case st.ReadVarint(local=local, zigzag=zigzag, at=at, end=end, place=place):
                self._varint(local, zigzag, at, self.values.number(end), place)
            case st.Write():
                self.write(statement, last)
            case _:
                self.write_out(statement)

    def _declare(self, local: v.Local, value: v.Value) -> None:
        if local.name not in self.used:
            return
        if isinstance(value, v.Load) and local.name not in self.changing and self._is_fixed(value.at):
            self.values.loads[local.name] = value
        kind = local.type
        if local.name in self.values.numbers:
            kind = v.FloatType(64, nan=False)
        text = self.values.value(value, kind)
        name = self.local(local)
        if local.name not in self.changing and self.depth == 0:
            self.fixed.add(name)
        self.add(assignment(f"{'let' if local.name in self.changing else 'const'} {name}", text))

    def _is_fixed(self, value: v.Value) -> bool:
        return not any(isinstance(item, v.Local) and item.name in self.changing for item in nodes_in(value))

    def _set(self, target: v.Value, value: v.Value | None) -> None:
        if isinstance(target, v.Local):
            assert value is not None
            name = self.local(target)
            match value:
                case v.Op(operator="+", operands=(first, added)) if first == target:
                    same = self.module.wide_type(target.type)
                    self.add(f"{name} += ", self.values.in_domain(added, same).shown, ";")
                case _:
                    self.add(assignment(name, self.values.value(value, target.type)))
            return
        assert self.places is not None, target
        if isinstance(target, v.Which):
            assert isinstance(value, v.Int)
            self.places.choose(target.of, value.value)
            return
        kind = of_type(target)
        assert kind is not None
        if self.places.ignores(target):
            return
        self.places.assign(target, Text("null") if value is None else self.values.value(value, kind))

    def _when(self, when: st.When) -> None:
        condition = self.values.truth(when.condition)
        text = flat(condition.doc)
        if text in ("true", "false"):
            self.body(when.then if text == "true" else when.otherwise)
            return
        told = float_told(when)
        if told is not None:
            value, bits, place = told
            path, float_ = self.steps(place.steps), self.values.float(value, nan=True).shown
            failed = arguments("writer.failFloat(", [path, float_, str(bits)], ")")
            self.add(test("if (", condition), braces([("return ", failed, ";")]))
            return
        outer = set(self.values.present)
        self.values.present = outer | present_where(when.condition)
        cases, pinned = self.cases, set(self.values.pinned)
        self.cases |= held_where(when.condition, "==")
        self.values.pinned = pinned | pinned_by(when.condition, True)
        doc: tuple[Doc, ...] = (test("if (", condition), self.block(when.then))
        self.values.present = outer | absent_where(when.condition)
        self.cases = cases | held_where(when.condition, "!=")
        self.values.pinned = pinned | pinned_by(when.condition, False)
        otherwise = when.otherwise
        if len(otherwise) == 1 and isinstance(otherwise[0], st.When):
            with self.nested() as found:
                self.body(otherwise)
            doc = (*doc, " else ", found[0]) if len(found) == 1 else (*doc, " else ", braces(found))
        elif otherwise:
            doc = (*doc, " else ", self.block(otherwise))
        self.add(*doc)
        if not (ends(when.then) and not otherwise):
            self.values.present, self.values.pinned, self.cases = outer, pinned, cases

    def _pick(self, pick: st.Pick) -> None:
        choice = pick.value.of if isinstance(pick.value, v.Which) else None
        kind = of_type(choice) if choice is not None else None
        if isinstance(kind, v.ChoiceType) and choice is not None:
            subject = Text((self.values.other(choice).atom, ".kind"))
        else:
            subject = self.values.integer(pick.value)
        wide = choice is None and self.values.is_wide(pick.value)
        if isinstance(subject.doc, str) and subject.doc.isdigit():
            taken = [body for keys, body in pick.cases if int(subject.doc) in keys]
            self.body(taken[0] if taken else pick.otherwise)
            return
        if choice is None and pick.value in self.values.pinned:  # by a switch around this one
            subject = Text((subject.atom, " as ", "bigint" if wide else "number"), "as", 10)
        arms: list[Doc] = []
        self.inside.append("switch")
        for keys, body in pick.cases:
            outer = self.cases
            if choice is not None and len(keys) == 1:
                self.cases |= {(choice, keys[0])}
            pinned = set(self.values.pinned)
            self.values.pinned.add(pick.value)
            labels: list[Doc] = []
            for key in keys:
                told = f"{key}{'n' if wide else ''}"
                if isinstance(kind, v.ChoiceType):
                    told = quoted(kind.cases[key][0])
                labels += [f"case {told}:", HARD]
            arms += [HARD, *labels[:-1], " ", self._arm(body)]
            self.cases, self.values.pinned = outer, pinned
        if pick.otherwise:
            arms += [HARD, "default: ", self._arm(pick.otherwise)]
        self.inside.pop()
        self.add("switch (", subject.shown, ") {", Indent(tuple(arms)), HARD, "}")

    def _arm(self, body: Sequence[st.Statement]) -> Doc:
        if ends(body):
            return self.block(body)
        with self.nested() as found:
            self.body(body)
            self.add("break;")
        return braces(found)

    def _loop(
        self, head: tuple[Doc, ...], body: Sequence[st.Statement], index: v.Local | None = None
    ) -> None:
        label = self.new("scan") if breaks_from_switch(body) else "loop"
        self.inside.append(label)
        prefix = f"{label}: " if label != "loop" else ""
        with self.nested() as found:
            if index is not None and not self.reads:
                self._hold_items(body, index)
            held = len(found)
            self.body(body)
        code = code_of(" ".join(map(flat, found[held:])))
        kept = [doc for doc in found[:held] if mentions(code, flat(doc).split()[1])]
        self.add(prefix, Group(head), braces([*kept, *found[held:]]))
        self.inside.pop()

    def _hold_items(self, body: Sequence[st.Statement], index: v.Local) -> None:
        """Keep in locals the elements that a loop is about."""
        declared = {item.name for node in nodes_in(tuple(body)) for item in declared_in(node)}
        for node in nodes_in(tuple(body)):
            if not isinstance(node, v.Item) or node.index != index or node in self.items:
                continue
            if not any(isinstance(item, v.Local) and item.name in declared for item in nodes_in(node)):
                kind = node.type
                hint = "item"
                if isinstance(kind, v.RecordType):
                    hint = re.sub(r"V\d+$", "", camel(self.module.types[kind.name]))
                held = self.place(node)
                self.items[node] = name = self.new(hint)
                self.add(assignment(f"const {name}", held))

    def _read(self, read: st.Read) -> None:
        assert self.places is not None
        kind = "load" if read.load else "read"
        traits = self.module.traits[read.record, kind]
        own: dict[str, Doc] = {"at": self.values.number(read.at).shown}
        if read.end is not None:
            own["end"] = self.values.number(read.end).shown
        called = self.call(read.record, kind, own, read.arguments)
        if isinstance(read.target, v.Self):
            self.result = called
            return
        steps = self.steps(read.steps)
        within: Doc = arguments("reader.within(", [steps], ")") if read.steps else "null"
        notes = traits.notes and bool(read.steps)
        before = self.new("before") if notes else ""
        if before:
            self.add(f"const {before} = reader.faults;")
        name = ""
        if traits.fails or notes:
            name = self.places.made(read.target, Text(called))
        elif self.places.ignores(read.target):
            self.add(called, ";")
        else:
            self.places.assign(read.target, Text(called))
        if traits.fails:
            self.add(f"if ({name} === null) ", braces([("return ", within, ";")]))
        if before:
            self.add(f"if (reader.faults !== {before}) ", braces([(within, ";")]))
        if name and not self.places.ignores(read.target):
            self.places.assign(read.target, Text(name))
        if read.result is not None:
            self.add(f"{self.local(read.result)} = reader.next;")

    def _varint(self, local: v.Local, zigzag: bool, at: v.Local, end: Text, place: st.Place) -> None:
        name, start = self.local(local), self.local(at)
        wide = self.module.wide_type(local.type)
        raw = name if wide and not zigzag else self.new(f"{name}Raw")
        self.add(assignment(f"const {raw}", Text(arguments("reader.varint(", [start, end.shown], ")"))))
        told = [start, end.shown, self.steps(place.steps)]
        fail = arguments("reader.failVarint(", told, ")")
        self.add(f"if ({raw} === null) ", braces([("return ", fail, ";")]))
        self.add(f"{start} = reader.next;")
        if raw != name:
            text = f"{self.module.codec('unzigzag')}({raw})" if zigzag else raw
            self.add(f"const {name} = {text if wide else f'Number({text})'};")

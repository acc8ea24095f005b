"""Functions of an exported codec -> TypeScript functions.

A record that is read is put together at the end, from locals: an object literal of one shape, which engines
make fast and no one sees half made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.expressions import of_type
from wirelock.export.names import camel
from wirelock.export.program import Function, RecordDecl
from wirelock.export.read_block import pruned
from wirelock.export.typescript_layout import (
    HARD,
    LINE,
    SOFT,
    Doc,
    Group,
    Indent,
    arguments,
    flat,
    render,
)
from wirelock.export.typescript_module import Module, nodes_in
from wirelock.export.typescript_places import Places, ends
from wirelock.export.typescript_values import Text, Values, pinned_by, quoted

__all__ = ["Printer", "function_text"]

_RETURNS: Final = {"load": "reads", "read": "reads", "store": "writes", "write": "writes"}


def function_text(module: Module, record: RecordDecl, function: Function) -> str:
    """Return one function as it is written."""
    function = replace(function, body=pruned(function.body))
    return Printer(module, record, function).text()


class Printer:
    """One function under construction: the statements of the block that is being written."""

    def __init__(self, module: Module, record: RecordDecl, function: Function) -> None:
        self.module = module
        self.record = record
        self.function = function
        self.reads = function.kind in ("load", "read")
        self.owner = "reader" if self.reads else "json" if function.kind == "tell" else "writer"
        self.traits = module.learn(function)
        self.names: dict[str, str] = {}
        self.taken = module.taken | {"at", "end"}
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
        self.changing = {item.name for node in nodes_in(function.body) for item in _changed(node)}
        self.used = set(_used(function.body, module))
        self.values.numbers = _numbers(function.body)

    # -- the whole

    def text(self) -> str:
        """Return the function; what its callers must know is in the module then."""
        own = [
            (name, self.local(v.Local(name, v.IntType(64, True, *v.SAFE)))) for name in self._machine_names()
        ]
        own += [(item.name, self.local(item)) for item in self.function.parameters]
        types = {item.name: self.module.type(item.type) for item in self.function.parameters}
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
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', body)
        used = [item for item in parameters if re.search(rf"(?<![.\w]){item[1]}\b", code)]
        self.module.amend(self.function, {item[0] for item in parameters} - {item[0] for item in used})
        head = arguments(
            f"function {self.module.function(self.function.kind, self.record.name)}(",
            [f"{told}: {kind}" for _, told, kind in used],
            f"): {self._returned()} {{",
        )
        return f"{render(head)}{body}\n}}\n" if body else f"{render(head)}}}\n"

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

    # -- names

    def local(self, local: v.Local) -> str:
        """Return the name of a local, a new one where it has none."""
        if local.name not in self.names:
            plain = re.sub(r"_\d+$", "", local.name)
            self.names[local.name] = self.new(camel(plain), own=local.name in ("at", "end"))
        return self.names[local.name]

    def new(self, wanted: str, own: bool = False) -> str:
        """Return a name that nothing else in the function has."""
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

    # -- statements

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
                self.add(returned(self.made()))
            case st.Fail(code=code, place=place):
                self.add("return ", self._fault("fail", code, place), ";")
            case st.FailText(code=code, place=place):
                name = self.new("problem")
                self.add(assignment(f"const {name}", self.values.number(code)))
                bad, other = (
                    self._fault("value", "bad-text", place),
                    self._fault("fail", "not-canonical", place),
                )
                self.add(f"if ({name} === 1) ", braces([(bad, ";")]))
                self.docs[-1] = (
                    self.docs[-1],
                    f" else if ({name} === 2) ",
                    braces([("return ", other, ";")]),
                )
            case st.Note(rank=rank, code=code, place=place, over=over):
                self.add(self._fault(rank, code, place, over), ";")
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
                self._write(statement, last)
            case _:
                self._output(statement)

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
        told = _float_told(when)
        if told is not None:
            value, bits, place = told
            path, float_ = self.steps(place.steps), self.values.float(value, nan=True).shown
            failed = arguments("writer.failFloat(", [path, float_, str(bits)], ")")
            self.add(test("if (", condition), braces([("return ", failed, ";")]))
            return
        outer = set(self.values.present)
        self.values.present = outer | _present(when.condition)
        cases, pinned = self.cases, set(self.values.pinned)
        self.cases |= _held(when.condition, "==")
        self.values.pinned = pinned | pinned_by(when.condition, True)
        doc: tuple[Doc, ...] = (test("if (", condition), self.block(when.then))
        self.values.present = outer | _absent(when.condition)
        self.cases = cases | _held(when.condition, "!=")
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
        label = self.new("scan") if _breaks_from_switch(body) else "loop"
        self.inside.append(label)
        prefix = f"{label}: " if label != "loop" else ""
        with self.nested() as found:
            if index is not None and not self.reads:
                self._hold_items(body, index)
            self.body(body)
        self.add(prefix, Group(head), braces(found))
        self.inside.pop()

    def _hold_items(self, body: Sequence[st.Statement], index: v.Local) -> None:
        """Keep in locals the elements that a loop is about."""
        declared = {item.name for node in nodes_in(tuple(body)) for item in _declared_in(node)}
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

    # -- faults

    def steps(self, steps: Sequence[st.Step]) -> Doc:
        """Return a path as a string literal, or a template where it has numbers that are not constant."""
        parts: list[Doc] = []
        fixed = True
        for number, step in enumerate(steps):
            if isinstance(step, str):
                parts.append(f".{step}" if number else step)
            elif isinstance(step, v.Int):
                parts.append(f"[{step.value}]")
            else:
                fixed = False
                parts.append(f"[${{{flat(self.values.number(step).doc)}}}]")
        text = "".join(map(flat, parts))
        return quoted(text) if fixed else f"`{text}`"

    def _fault(self, method: str, code: str, place: st.Place, over: v.Local | None = None) -> Doc:
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

    # -- calls

    def _arguments(self, record: str, kind: str, own: dict[str, Doc], values: Sequence[v.Value]) -> Doc:
        called = next(item for item in self.module.records[record].functions if item.kind == kind)
        parts = {self.owner: self.owner, **own}
        for local, value in zip(called.parameters, values, strict=True):
            parts[local.name] = self.values.value(value, local.type).shown
        unused = self.module.traits[record, kind].unused
        name = self.module.function(kind, record)
        return arguments(f"{name}(", [doc for key, doc in parts.items() if key not in unused], ")")

    def _read(self, read: st.Read) -> None:
        assert self.places is not None
        kind = "load" if read.load else "read"
        traits = self.module.traits[read.record, kind]
        own: dict[str, Doc] = {"at": self.values.number(read.at).shown}
        if read.end is not None:
            own["end"] = self.values.number(read.end).shown
        called = self._arguments(read.record, kind, own, read.arguments)
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

    def _write(self, write: st.Write, last: bool) -> None:
        kind = "write" if write.at is None else "store"
        traits = self.module.traits[write.record, kind]
        own: dict[str, Doc] = {"record": self.values.other(write.source).shown}
        if write.at is not None:
            own["at"] = self.values.number(write.at).shown
        called = self._arguments(write.record, kind, own, write.arguments)
        steps = [self.steps(write.steps)] if write.steps else []
        notes = traits.notes and bool(steps)
        if last and traits.fails and not notes and not steps and self.depth == 0:
            self.add("return ", called, ";")
            self.returned = True
            return
        before = self.new("before") if notes else ""
        if before:
            self.add(f"const {before} = writer.faults;")
        if traits.fails:
            failed = arguments("writer.failed(", steps, ")") if steps else "false"
            self.add(test("if (", Text(("!", called))), braces([("return ", failed, ";")]))
        else:
            self.add(called, ";")
        if before:
            within = arguments("writer.within(", steps, ")")
            self.add(f"if (writer.faults !== {before}) ", braces([(within, ";")]))

    # -- output

    @property
    def output(self) -> str:
        """The DataView of the output: a local where it cannot grow meanwhile."""
        return self.values.view if self.function.kind == "store" else "writer.view"

    def _output(self, statement: st.Statement) -> None:
        match statement:
            case st.Reserve(at=at, size=size):
                used = at.name in self.used
                reserved = Text(arguments("writer.reserve(", [self.values.number(size).shown], ")"))
                self.add(assignment(f"const {self.local(at)}", reserved) if used else (reserved.doc, ";"))
            case st.Store(at=at, bits=bits, order=order, value=value):
                self._store(self.values.number(at).shown, bits, order, value)
            case st.Put(at=at, value=value):
                kind, start = of_type(value), self.values.number(at).shown
                text = self.values.other(value).shown
                if isinstance(kind, v.TextType):
                    name, told = self.module.text("putText"), quoted(kind.encoding)
                    self.add(arguments(f"{name}(", [self.output, start, text, told], ")"), ";")
                else:
                    self.add(arguments("writer.bytes.set(", [text, start], ")"), ";")
            case st.Fill(at=at, count=count, octet=octet):
                stop = self.values.number(v.Op("+", (at, count), 0, v.SAFE[1])).shown
                filled: list[Doc] = [str(octet), self.values.number(at).shown, stop]
                self.add(arguments("writer.bytes.fill(", filled, ")"), ";")
            case st.Tell():
                self._tell(statement)
            case st.InsertVarint(at=at, value=value, zigzag=zigzag):
                parts = [self.values.number(at).shown, self._raw(value, zigzag)]
                self.add(arguments("writer.insertVarint(", parts, ")"), ";")
            case st.PutVarint(value=value, zigzag=zigzag):
                self.add(arguments("writer.putVarint(", [self._raw(value, zigzag)], ")"), ";")
            case _:
                raise AssertionError(statement)

    def _raw(self, value: v.Value, zigzag: bool) -> Doc:
        """Return the number that is written as a varint."""
        raw = self.values.big(value).shown
        return arguments(f"{self.module.codec('zigzag')}(", [raw], ")") if zigzag else raw

    def _tell(self, told: st.Tell) -> None:
        method = {
            "{": "open", "[": "open", "}": "close", "]": "close", "text": "string", "null": "nothing"
        }.get(told.what, told.what)  # fmt: skip
        value = told.value
        if value is None or isinstance(value, str):
            shown = quoted(told.what if value is None else value)
            parts: list[Doc] = [] if told.what == "null" else [shown]
            self.add(arguments(f"json.{method}(", parts, ")"), ";")
            return
        match told.what:
            case "record":
                kind = of_type(value)
                assert isinstance(kind, v.RecordType)
                own: dict[str, Doc] = {"record": self.values.other(value).shown}
                self.add(self._arguments(kind.name, "tell", own, told.arguments), ";")
                return
            case "float":
                parts = [self.values.float(value, nan=True).shown, str(told.bits)]
            case "bool":
                parts = [self.values.truth(value).shown]
            case "bytes" | "text":
                parts = [self.values.other(value).shown]
            case _:
                parts = [self.values.integer(value).shown]
        self.add(arguments(f"json.{method}(", parts, ")"), ";")

    def _store(self, at: Doc, bits: int, order: str, value: v.Value) -> None:
        little = ["true"] if order == "little" and bits > 8 else []
        match value:
            case v.BitsOf(of=of, bits=32 | 64) if not _may_be_nan(of):
                told = [at, self.values.float(of).shown, *little]
                self.add(arguments(f"{self.output}.setFloat{bits}(", told, ")"), ";")
                return
        text = self.values.stored(value, bits).shown
        if bits in (8, 16, 32, 64):
            method = f"setBigUint{bits}" if bits == 64 else f"setUint{bits}"
            self.add(arguments(f"{self.output}.{method}(", [at, text, *little], ")"), ";")
            return
        name = self.module.integers(f"set{'Big' if bits == 56 else ''}Uint{bits}")
        self.add(arguments(f"{name}(", [self.output, at, text, *little], ")"), ";")


def _may_be_nan(value: v.Value) -> bool:
    kind = of_type(value)
    return not isinstance(kind, v.FloatType) or kind.nan


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


def returned(value: Doc) -> Doc:
    """Return a return statement."""
    return ("return ", value, ";")


def _changed(node: object) -> Iterator[v.Local]:
    """Yield the locals that a statement changes."""
    match node:
        case st.Set(target=v.Local() as local) | st.ReadVarint(at=local) | st.Extend(size=local):
            yield local
        case st.Read(result=v.Local() as local):
            yield local


def _numbers(body: Sequence[st.Statement]) -> set[str]:
    """Return the floats whose payload does not matter: only compared, or kept where no NaN can be."""
    floats = {
        node.local.name
        for node in nodes_in(body)
        if isinstance(node, st.Let) and isinstance(node.local.type, v.FloatType) and node.local.type.nan
    }
    uses: Counter[str] = Counter()
    for node in nodes_in(body):
        match node:
            case v.Local(name=name):
                uses[name] += 1
            case st.Let(local=local):
                uses[local.name] -= 1
            case v.Op(operands=operands):
                uses.subtract(item.name for item in operands if isinstance(item, v.Local))
            case st.Set(target=target, value=v.Local(name=name)):
                kind = of_type(target)
                if isinstance(kind, v.FloatType) and not kind.nan:
                    uses[name] -= 1
    return {name for name in floats if not uses[name]}


def _used(node: object, module: Module) -> Iterator[str]:
    """Yield the names of the locals that statements use: not those that are for what a callee ignores."""
    match node:
        case tuple():
            for item in node:
                yield from _used(item, module)
        case st.Let(value=value) | st.Var(value=value):
            yield from _used(value, module)
        case st.Reserve(size=size):
            yield from _used(size, module)
        case st.Read(record=record, load=load):
            unused = module.traits[record, "load" if load else "read"].unused
            known = {"at": node.at, "end": node.end} | _given(node, "load" if load else "read", module)
            kept = tuple(value for name, value in known.items() if name not in unused)
            yield from _used((*kept, node.target, node.steps, node.result), module)
        case st.Write(record=record, at=at):
            kind = "write" if at is None else "store"
            unused = module.traits[record, kind].unused
            known = {"at": at, "record": node.source} | _given(node, kind, module)
            kept = tuple(value for name, value in known.items() if name not in unused)
            yield from _used((*kept, node.steps), module)
        case v.Local(name=name):
            yield name
        case v.IntType() | v.FloatType() | v.ListType() | v.OptionType() | v.ChoiceType():
            pass
        case _ if is_dataclass(node):
            for item in fields(node):
                yield from _used(getattr(node, item.name), module)


def _given(node: st.Read | st.Write, kind: str, module: Module) -> dict[str, v.Value | None]:
    called = next(item for item in module.records[node.record].functions if item.kind == kind)
    return {local.name: value for local, value in zip(called.parameters, node.arguments, strict=True)}


def _present(condition: v.Value) -> set[v.Value]:
    """Return the options that hold a value where a condition holds."""
    match condition:
        case v.Present(of=of):
            return {of}
        case v.Op(operator="and", operands=operands):
            return set[v.Value]().union(*map(_present, operands))
        case v.Op(operator="not", operands=(inner,)):
            return _absent(inner)
    return set()


def _float_told(when: st.When) -> tuple[v.Value, int, st.Place] | None:
    """Return the float, its width and the place, where it does not fit and what is said is why."""
    match when:
        case st.When(
            v.Op("not", (v.Call("float_fits", (value, v.Int(bits))),)),
            (st.When(then=(st.Fail("out-of-range"),)), st.Fail("not-canonical", place)),
            (),
        ):
            assert not isinstance(value, str | bool)
            return value, bits, place
    return None


def _held(condition: v.Value, operator: str) -> frozenset[tuple[v.Value, int]]:
    """Return the case that a choice holds where a comparison says so."""
    match condition:
        case v.Op(operator=name, operands=(v.Which(of=of), v.Int(value=number))) if name == operator:
            return frozenset({(of, number)})
    return frozenset()


def _absent(condition: v.Value) -> set[v.Value]:
    """Return the options that hold a value where a condition does not hold."""
    match condition:
        case v.Op(operator="or", operands=operands):
            return set[v.Value]().union(*map(_absent, operands))
        case v.Op(operator="not", operands=(inner,)):
            return _present(inner)
    return set()


def _declared_in(node: object) -> Iterator[v.Local]:
    match node:
        case st.Let(local=local) | st.Var(local=local) | st.For(index=local) | st.Reserve(at=local):
            yield local


def _breaks_from_switch(body: Sequence[st.Statement], switched: bool = False) -> bool:
    for statement in body:
        match statement:
            case st.Break() if switched:
                return True
            case st.When(then=then, otherwise=otherwise):
                if _breaks_from_switch(then, switched) or _breaks_from_switch(otherwise, switched):
                    return True
            case st.Pick(cases=cases, otherwise=otherwise):
                if any(_breaks_from_switch(part, True) for _, part in cases):
                    return True
                if _breaks_from_switch(otherwise, True):
                    return True
    return False

"""Statements of a Program as C: the functions load, read, store and write.

`load`, `store` and `write` return whether they went through, or nothing where they always do; `read` returns
the byte behind the record, or WL_FAILED. Faults leave by functions that are never inlined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.c.faults import merged, wrapped
from wirelock.export.c.functions import breaks, called_kind, is_fixed
from wirelock.export.c.output import Output
from wirelock.export.c.types import comment
from wirelock.export.lower.expressions import of_type

__all__ = ["Writer"]

_SMALL: Final = 64
"""Bytes of a record that is loaded and stored without a call."""
_TOLD: Final = {
    "load": "Loads a {}, whose bytes are there from `at` on. Returns false on a fault.",
    "read": "Reads a {} at byte `at`, before `end`. Returns the byte behind it, or WL_FAILED.",
    "store": "Checks a {}, and stores it at byte `at`, in room that is there. Returns false on a fault.",
    "write": "Checks a {}, and writes it at the end of the output. Returns false on a fault.",
}


class Writer(Output):
    """Writes one function."""

    # -- the frame

    def text(self) -> str:
        """Return the whole function."""
        kind, functions = self.function.kind, self.functions
        reads = kind in ("load", "read")
        faults = functions.faults(self.record.name, kind)
        returns = "size_t" if kind == "read" else "bool" if faults else "void"
        own = self.names.records[self.record.name]
        parameters = {"data": "const uint8_t *data" if reads else "uint8_t *data"}
        if kind == "write":
            parameters = {"output": "wl_output *output"}
        if kind != "write":
            parameters[self.locals["at"]] = f"size_t {self.locals['at']}"
        if kind == "read":
            parameters[self.locals["end"]] = f"size_t {self.locals['end']}"
        parameters["self"] = f"{own} *self" if reads else f"const {own} *self"
        if reads and self.record.allocates:
            parameters["arena"] = "wl_arena *arena"
        if faults or kind in ("read", "write"):
            parameters["fault"] = "wl_fault *fault"
        for local in self.function.parameters:
            parameters[self.locals[local.name]] = self.parameter(local)
        if reads:
            self._begin()
        self.block(self.function.body)
        if returns == "bool":
            self._end()
        if kind == "write":
            self.lines.insert(0, "    uint8_t *const data = output->data;")
        head = self.finish(parameters)
        body = "\n".join(self.lines)
        name = functions.name(self.record.name, kind)
        small = kind in ("load", "store") and (self.record.size or 0) <= _SMALL
        inline = "WL_INLINE" if small else "static inline"
        signature = f"{inline} {returns} {name}({', '.join(parameters.values())})"
        if len(signature) > 110:
            signature = "\n".join(wrapped(signature.replace("(", "(\n    ", 1)))
        told = comment(_TOLD[kind].format(own))
        return "\n".join([told, signature, "{", *head, *([body] if body else []), "}"])

    def _begin(self) -> None:
        """Let options be absent and lists empty, where not every way through sets them."""
        given = {item.target for item in self.function.body if isinstance(item, st.Set | st.Allocate)}
        own = v.Self(v.RecordType(self.record.name))
        for item in self.record.fields:
            member = v.Member(own, item.name, item.type)
            if member not in given:
                self._fresh(member, item.type)

    def _fresh(self, target: v.Value, kind: v.Type) -> None:
        """Let a place hold no value yet: an absent option, an empty list."""
        place = self.expressions.place(target)
        match kind:
            case v.OptionType():
                self.line(f"{place}.present = false;")
            case v.ListType(size=None):
                self.line(f"{place}.items = NULL;")
                self.line(f"{place}.count = 0;")
            case v.ListType(element=element) if _has_fresh(element):
                self.line(f"memset({place}, 0, sizeof {place});")

    def _end(self) -> None:
        """Return whether the function went through."""
        if any("went = " in line for line in self.lines):
            self.lines.insert(0, "    bool went = true;")
            self.line("return went;")
        else:
            self.line("return true;")

    def _braces(self, head: str, body: Sequence[st.Statement], around: str = "") -> None:
        """Write a block behind its head; it is left open for what follows its closing brace."""
        self.line(f"{head} {{")
        self.depth += 1
        if around:
            self.loops.append(around)
        self.block(body)
        if around:
            self.loops.pop()
        self.depth -= 1

    # -- statements

    def statement(self, statement: st.Statement) -> None:
        """Write one statement."""
        match statement:
            case st.Let(local=local, value=value):
                self._declare(local, value, "const ")
            case st.Var(local=local, value=value):
                self._declare(local, value, "")
            case st.Set():
                self._set(statement)
            case st.When():
                self._when(statement)
            case st.Pick():
                self._pick(statement)
            case st.For(index=index, count=count, body=body):
                name = self.locals[index.name]
                self.expressions.types[index.name] = "size_t"
                stop = self.expressions.assigned(count, "size_t")
                self._braces(f"for (size_t {name} = 0; {name} < {stop}; {name}++)", body, "loop")
                self.line("}")
            case st.While(condition=condition, body=body):
                self._braces(f"while ({self.expressions.truth(condition)})", body, "loop")
                self.line("}")
            case st.Break():
                assert self.loops and self.loops[-1] == "loop", "a break that a switch would take"
                self.line("break;")
            case st.Return(at=at):
                if self.function.kind == "read":
                    self.line(f"return {self.expressions.assigned(at, 'size_t')};")
            case st.Fail(code=code, place=place):
                self.fail(code, place)
            case st.FailText(code=code, place=place):
                self.fail_text(code, place)
            case st.Note():
                self.note(statement)
            case st.Read() | st.Write():
                self._call(statement)
            case st.ReadVarint():
                self._read_varint(statement)
            case st.Allocate() | st.Extend():
                self._allocate(statement)
            case _:
                self.output(statement)

    def _declare(self, local: v.Local, value: v.Value, const: str) -> None:
        name, kind = self.locals[local.name], local.type
        match kind:
            case v.RecordType():
                pointer = f"{const}{self.names.type_of(kind)} *"
                self.line(f"{pointer}{name} = {self.expressions.address(value)};")
            case v.BytesType(size=int()):
                text = self.expressions.value(value).text
                self.line(f"const uint8_t *{const}{name} = {text};")
            case v.ListType(element=element, size=int()):
                self.line(f"{const}{self.names.type_of(element)} *{name} = {self.expressions.place(value)};")
            case v.IntType(bits=64, low=low) if (
                const and low >= 0 and self.expressions.value(value).type == "size_t"
            ):
                self.expressions.types[local.name] = "size_t"
                self.line(f"const size_t {name} = {self.expressions.value(value).text};")
            case _:
                self.line(f"{const}{self.names.type_of(kind)} {name} = {self.assigned(value, kind)};")

    def assigned(self, value: v.Value, kind: v.Type) -> str:
        """Return a value as it is assigned to what has a type."""
        match kind:
            case v.IntType():
                return self.expressions.assigned(value, self.names.type_of(kind))
            case v.EnumType(name=name):
                return self.expressions.assigned(value, self.names.type_of(self.functions.storage[name]))
            case v.BoolType():
                return self.expressions.truth(value)
            case v.FloatType(bits=bits) if not isinstance(value, v.Real):
                code = self.expressions.value(value)
                if bits == 32:
                    return code.text if code.type == "float" else f"wl_narrow({code.text})"
                return code.text if code.type == "double" else f"wl_widen({code.text})"
            case v.FloatType(bits=32):
                return f"(float){self.expressions.value(value).at_least(15)}"
        return self.expressions.value(value).text

    def _make_present(self, target: v.Value) -> None:
        """Let the option hold a value, where a target is within one."""
        if isinstance(target, v.Within):
            self.line(f"{self.expressions.place(target.of)}.present = true;")
            if not isinstance(target.type, v.ListType):
                self._fresh(target, target.type)

    def _set(self, statement: st.Set) -> None:
        target, value = statement.target, statement.value
        if value is None:
            self.line(f"{self.expressions.place(target)}.present = false;")
            return
        self._make_present(target)
        place = self.expressions.place(target)
        if isinstance(target, v.Which):
            self._make_present(target.of)
            self.line(f"{place} = {self.expressions.assigned(value, 'uint32_t')};")
            kind = of_type(target.of)
            case = (
                kind.cases[value.value][1]
                if isinstance(kind, v.ChoiceType) and isinstance(value, v.Int)
                else None
            )
            if case is not None and isinstance(value, v.Int):
                self._fresh(v.CaseOf(target.of, value.value, case), case)
            return
        kind = of_type(target)
        assert kind is not None
        match kind:
            case v.BytesType(size=int(size)):
                if size:
                    self.line(f"memcpy({place}, {self.expressions.value(value).text}, {size});")
            case v.ListType(size=int()):
                self.line(f"memcpy({place}, {self.expressions.place(value)}, sizeof {place});")
            case _:
                self.line(f"{place} = {self.assigned(value, kind)};")

    def _when(self, statement: st.When) -> None:
        self._braces(f"if ({self.expressions.truth(statement.condition)})", statement.then)
        otherwise = statement.otherwise
        while len(otherwise) == 1 and isinstance(otherwise[0], st.When):
            inner = otherwise[0]
            self._braces(f"}} else if ({self.expressions.truth(inner.condition)})", inner.then)
            otherwise = inner.otherwise
        if otherwise:
            self._braces("} else", otherwise)
        self.line("}")

    def _pick(self, statement: st.Pick) -> None:
        code = self.expressions.value(statement.value)
        if breaks(statement):  # which would leave the switch, and not the loop around it
            head = "if"
            for keys, body in statement.cases:
                tests = " || ".join(f"{code.at_least(10)} == {self._key(key, code.type)}" for key in keys)
                self._braces(f"{head} ({tests})", body)
                head = "} else if"
            if statement.otherwise:
                self._braces("} else", statement.otherwise)
            self.line("}")
            return
        self.line(f"switch ({f'(int)({code.text})' if code.type == 'bool' else code.text}) {{")
        for keys, body in statement.cases:
            for key in keys[:-1]:
                self.line(f"case {self._key(key, code.type)}:")
            self._braces(f"case {self._key(keys[-1], code.type)}:", body, "switch")
            self._end_case(body)
        self._braces("default:", statement.otherwise, "switch")
        self._end_case(statement.otherwise)
        self.line("}")

    def _end_case(self, body: Sequence[st.Statement]) -> None:
        if not (body and isinstance(body[-1], st.Fail | st.Return)):
            self.line("    break;")
        self.line("}")

    def _key(self, key: int, kind: str) -> str:
        return self.expressions.integer(v.Int(key), kind)

    # -- calls of functions

    def _call(self, statement: st.Read | st.Write) -> None:
        kind = called_kind(statement)
        functions, record = self.functions, self.functions.records[statement.record]
        arguments: list[str] = []
        result = statement.result if isinstance(statement, st.Read) else None
        match statement:
            case st.Read(target=target, at=at, end=end):
                self._make_present(target)
                arguments += ["data", self.expressions.assigned(at, "size_t")]
                if kind == "read":
                    assert end is not None
                    arguments.append(self.expressions.assigned(end, "size_t"))
                arguments.append(self.expressions.address(target))
                if record.allocates:
                    arguments.append("arena")
            case st.Write(source=source, at=at):
                if at is None:
                    arguments.append("output")
                else:
                    arguments += ["data", self.expressions.assigned(at, "size_t")]
                arguments.append(self.expressions.address(source))
        if functions.faults(record.name, kind) or kind in ("read", "write"):
            arguments.append("fault")
        for local, argument in zip(record.parameters, statement.arguments, strict=True):
            arguments.append(self.assigned(argument, local.type))
        call = f"{functions.name(record.name, kind)}({', '.join(arguments)})"
        self._called(call, statement, kind, result)

    def _called(self, call: str, statement: st.Read | st.Write, kind: str, result: v.Local | None) -> None:
        """Write a call; what is put into the slot meanwhile gets the steps that lead to the record."""
        fails = self.functions.fails(statement.record, kind)
        steps = merged(statement.steps)[::-1]
        if kind == "read":
            self._called_read(call, fails, steps, None if result is None else self.locals[result.name])
        elif not self.functions.faults(statement.record, kind):
            self.line(f"{call};")
        else:
            if self.function.kind == "read" and not steps:
                if fails:
                    self.line(f"if (!{call} && fault->rank == WL_STRUCTURE) {{")
                    self.line(f"    {self.failed()}")
                    self.line("}")
                else:
                    self.line(f"(void){call};")
                return
            self.line(f"if (!{call}) {{")
            self.depth += 1
            self.steps(steps)
            if fails:
                self.line("if (fault->rank == WL_STRUCTURE) {")
                self.line(f"    {self.failed()}")
                self.line("}")
            self.not_clean()
            self.depth -= 1
            self.line("}")

    def _called_read(
        self, call: str, fails: bool, steps: Sequence[v.Value | str], result: str | None
    ) -> None:
        if not fails and not steps:
            self.line(f"{f'{result} =' if result else '(void)'} {call};".replace("(void) ", "(void)"))
            return
        self.line("{")
        self.depth += 1
        if steps:
            self.line("const uint32_t seen = fault->count;")
        found = result or "behind"
        self.line(f"{'' if result else 'const size_t '}{found} = {call};")
        if steps:
            self.line("if (fault->count != seen) {")
            self.depth += 1
            self.steps(steps)
        if fails:
            self.line(f"if ({found} == WL_FAILED) {{")
            self.line(f"    {self.failed()}")
            self.line("}")
        if steps:
            self.depth -= 1
            self.line("}")
        self.depth -= 1
        self.line("}")

    def _read_varint(self, statement: st.ReadVarint) -> None:
        name, at = self.locals[statement.local.name], self.locals[statement.at.name]
        found = self.locals[f"{statement.local.name} found"]
        end = self.expressions.assigned(statement.end, "size_t")
        self.line(f"const wl_varint {found} = wl_read_varint(data, {at}, {end});")
        self.line(f"if ({found}.problem != NULL) {{")
        self.depth += 1
        step, byte, bit, steps = self.place(statement.place)
        self.line(f"(void)wl_fail(fault, {found}.problem, {step}, {byte}, {bit});")
        self.steps(steps)
        self.line(self.failed())
        self.depth -= 1
        self.line("}")
        self.line(f"{at} = {found}.behind;")
        raw = f"wl_unzigzag({found}.raw)" if statement.zigzag else f"{found}.raw"
        kind = self.names.type_of(statement.local.type)
        own = "int64_t" if statement.zigzag else "uint64_t"
        self.line(f"const {kind} {name} = {raw if own == kind else f'({kind}){raw}'};")

    def _allocate(self, statement: st.Allocate | st.Extend) -> None:
        self._make_present(statement.target)
        if is_fixed(statement.target):
            return
        place, kind = self.expressions.place(statement.target), of_type(statement.target)
        assert isinstance(kind, v.ListType)
        element = self.names.type_of(kind.element)
        failed = f"{place}.items == NULL"
        if isinstance(statement, st.Allocate):
            if statement.count == v.Int(0):
                self.line(f"{place}.items = NULL;")
                self.line(f"{place}.count = 0;")
                return
            self.line(f"{place}.count = {self.expressions.assigned(statement.count, 'size_t')};")
            self.line(f"{place}.items = ({element} *)wl_take(arena, {place}.count, sizeof({element}));")
            failed = f"{place}.count != 0 && {failed}"
        else:
            size = self.locals[statement.size.name]
            old = f"{size} != 0 ? {place}.items : NULL"
            self.line(f"{place}.items = ({element} *)wl_grow(arena, {old}, {size}, sizeof({element}));")
        self.line(f"if ({failed}) {{")
        self.depth += 1
        self.fail("no-memory", statement.place)
        self.depth -= 1
        self.line("}")
        if isinstance(statement, st.Extend):
            self.line(f"{place}.count = ++{size};")
            item = f"{place}.items[{size} - 1]"
            if _has_fresh(kind.element):
                self.line(f"memset(&{item}, 0, sizeof {item});")
        elif _has_fresh(kind.element):
            self.line(f"wl_fill((uint8_t *){place}.items, {place}.count * sizeof({element}), 0);")


def _has_fresh(kind: v.Type) -> bool:
    """Whether an element has a state before it is set: a record's own function sees to that itself."""
    match kind:
        case v.OptionType() | v.ListType(size=None):
            return True
        case v.ListType(element=element):
            return _has_fresh(element)
    return False

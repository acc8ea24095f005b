"""Statements that write: into the bytes of a record, or as JSON."""

from __future__ import annotations

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import of_type
from wirelock.export.typescript.blocks import Blocks, assignment, braces, test
from wirelock.export.typescript.expressions import Text, quoted
from wirelock.export.typescript.layout import Doc, arguments

__all__ = ["Output"]


class Output(Blocks):
    """A function that may write."""

    def write(self, write: st.Write, last: bool) -> None:
        """Call the function that writes a record."""
        kind = "write" if write.at is None else "store"
        traits = self.module.traits[write.record, kind]
        own: dict[str, Doc] = {"record": self.values.other(write.source).shown}
        if write.at is not None:
            own["at"] = self.values.number(write.at).shown
        called = self.call(write.record, kind, own, write.arguments)
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

    @property
    def output(self) -> str:
        """The DataView of the output: a local where it cannot grow meanwhile."""
        return self.values.view if self.function.kind == "store" else "writer.view"

    def write_out(self, statement: st.Statement) -> None:
        """Add one statement that writes."""
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
                self.add(self.call(kind.name, "tell", own, told.arguments), ";")
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

"""Functions of a program as methods of C#'s structs: `Load`, `Read`, `Store` and `Write`.

They return false after a fault of the structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.csharp.arithmetic import BINDS, LARGEST_SIZE, PRIMARY
from wirelock.export.csharp.block import STEP, Block, braced, fault_code, indented, path_text
from wirelock.export.csharp.names import Book
from wirelock.export.csharp.text import integer_text, new_array, text_literal
from wirelock.export.lower.expressions import of_type
from wirelock.export.program import Function

__all__ = ["method"]

HEADS: Final = {
    "load": ("Load", "ref Reader reader, int at", "Read from bytes that are known to be there."),
    "read": ("Read", "ref Reader reader, int at, int end", "Read from the bytes before <c>end</c>."),
    "store": ("Store", "ref Writer writer, int at", "Write into room that was reserved."),
    "write": ("Write", "ref Writer writer", "Write behind what is written."),
}


def method(function: Function, book: Book, octets: dict[bytes, str], indent: str) -> list[str]:
    """Return the lines of a function."""
    return _Method(function, book, octets, indent).lines()


class _Method(Block):
    """Writes one function."""

    def lines(self) -> list[str]:
        """Return the whole method."""
        kind = self.function.kind
        name, parameters, what = HEADS[kind]
        for local in self.function.parameters:
            parameters += f", {self.values.type_of(local.type)} {self.names[local.name]}"
        statements, inside = self.function.body, self.indent + STEP
        body = [*self.fresh_fields(statements, inside), *self.block(statements, inside)]
        if not _ends(statements):
            body.append(f"{self.indent}{STEP}return true;")
        _shorten(body)
        source = {"load": "data", "read": "data", "store": "bytes"}.get(kind)
        taken = [line for line in body if source and _uses(line, source)]
        opening = []
        if taken and source == "data":
            opening = [f"{self.indent}{STEP}ReadOnlySpan<byte> data = reader.Data;"]
        elif taken:
            opening = [f"{self.indent}{STEP}Span<byte> bytes = writer.Bytes;"]
        return [
            f"{self.indent}/// <summary>{what}</summary>",
            f"{self.indent}internal bool {name}({parameters})",
            f"{self.indent}{{",
            *opening,
            *body,
            f"{self.indent}}}",
        ]

    # -- statements

    def block(self, statements: Iterable[st.Statement], indent: str) -> Iterator[str]:
        """Yield the lines of statements."""
        for statement in statements:
            yield from self.statement(statement, indent)

    def statement(self, statement: st.Statement, indent: str) -> Iterator[str]:
        values = self.values
        match statement:
            case st.Let(local=local) if local.name not in self.used:
                return
            case st.Let(local=local, value=value) | st.Var(local=local, value=value):
                yield f"{indent}{self.declaration(local, value, isinstance(statement, st.Var))};"
            case st.Set(target=target, value=value):
                yield from self.set(target, value, indent)
            case st.When():
                yield from self.when(statement, indent)
            case st.Pick():
                yield from self.pick(statement, indent)
            case st.For(index=index, count=count, body=body):
                limit = values.text(count, BINDS["<"] + 1)
                name = self.declare(index)
                values.kinds[index.name] = "int"
                values.spans[index.name] = 0, max(0, min(values.interval(count)[1], LARGEST_SIZE) - 1)
                yield f"{indent}for (int {name} = 0; {name} < {limit}; {name}++)"
                yield from self.braced(body, indent)
            case st.While(condition=condition, body=body):
                yield f"{indent}while ({values.text(condition)})"
                yield from self.braced(body, indent)
                for target, size in _extended(body):
                    yield f"{indent}Wire.Trim(ref {values.text(target)}, {values.text(size)});"
            case st.Break():
                yield f"{indent}break;"
            case st.Return(at=at):
                yield f"{indent}return reader.Done({values.position(at)});"
            case st.Fail(code=code, place=place):
                path, _ = path_text(place.steps, values)
                yield f"{indent}return {self.fault('Fail', fault_code(code), path, place)};"
            case st.FailText(code=code, place=place):
                yield from self.fail_text(code, place, indent)
            case st.Note():
                yield from self.note(statement, indent)
            case _:
                yield from self.calling(statement, indent)

    def calling(self, statement: st.Statement, indent: str) -> Iterator[str]:
        """Yield the lines of statements that call other methods, or write."""
        values = self.values
        match statement:
            case st.Read():
                yield from self.read(statement, indent)
            case st.Write(record=record, source=source, steps=steps, arguments=arguments, at=at):
                told = ["ref writer", *([] if at is None else [values.position(at)])]
                told += self.arguments(record, arguments)
                name = "Write" if at is None else "Store"
                call = f"{name}({', '.join(told)})"
                if not isinstance(source, v.Self):
                    call = f"{values.text(source, PRIMARY)}.{call}"
                yield from self.checked(steps, call, indent)
            case st.ReadVarint():
                yield from self.read_varint(statement, indent)
            case st.Allocate(target=target, count=count):
                kind = of_type(target)
                assert isinstance(kind, v.ListType), target
                array = new_array(self.book.of(kind.element), values.position(count))
                yield from self.stored(target, array, indent)
                element = kind.element
                yield from self.at_place(
                    target, lambda place: self.fresh_items(element, place, indent), indent
                )
            case st.Extend(target=target, size=size):
                kind = of_type(target)
                assert isinstance(kind, v.ListType), target
                element, number = kind.element, values.text(size)

                def extended(place: str) -> Iterator[str]:
                    yield f"{indent}Wire.Extend(ref {place}, ref {number});"
                    yield from self.fresh(element, f"{place}[{number} - 1]", indent)

                yield from self.at_place(target, extended, indent)
            case st.Reserve(at=at, size=size):
                wide = str(size.value) if isinstance(size, v.Int) else values.wide(size)
                yield f"{indent}if (!writer.Reserve({wide}, out int {self.declare(at)}))"
                yield from braced(indent, "return false;")
            case st.Store():
                yield f"{indent}{self.store(statement)};"
            case st.Put(at=at, value=value):
                yield f"{indent}{self.put(at, value)};"
            case st.Fill(at=at, count=count, octet=octet):
                room = f"{self.bytes}.Slice({values.position(at)}, {values.position(count)})"
                yield f"{indent}{room}.Fill(0x{octet:02X});"
            case st.PutVarint(value=value, zigzag=zigzag):
                yield f"{indent}if (!writer.PutVarint({self.raw(value, zigzag)}))"
                yield from braced(indent, "return false;")
            case st.InsertVarint(at=at, value=value, zigzag=zigzag):
                yield f"{indent}if (!writer.InsertVarint({values.position(at)}, {self.raw(value, zigzag)}))"
                yield from braced(indent, "return false;")
            case _:
                raise AssertionError(f"{statement} in {self.function.kind} of {self.function.record}")

    def braced(self, body: Iterable[st.Statement], indent: str) -> Iterator[str]:
        """Yield a block in braces."""
        yield from braced(indent, *self.block(body, ""))

    def when(self, statement: st.When, indent: str, word: str = "if") -> Iterator[str]:
        """Yield an if with what follows it; what is known to be true or false needs none."""
        condition = self.values.text(statement.condition)
        if _is_of_single(statement.condition):
            statement = st.When(statement.condition, statement.then[-1:])
        if condition in ("true", "false"):
            taken = statement.then if condition == "true" else statement.otherwise
            if word == "if":
                yield from self.block(taken, indent)
            elif taken:
                yield f"{indent}else"
                yield from self.braced(taken, indent)
            return
        yield f"{indent}{word} ({condition})"
        made = self.fresh_fields(statement.then, "") if statement in self.function.body else ()
        yield from braced(indent, *made, *self.block(statement.then, ""))
        match statement.otherwise:
            case (st.When() as other,):
                yield from self.when(other, indent, "else if")
            case ():
                return
            case otherwise:
                yield f"{indent}else"
                yield from self.braced(otherwise, indent)

    def pick(self, statement: st.Pick, indent: str) -> Iterator[str]:
        """Yield a switch; a chain of ifs where a Break inside leaves a loop around it."""
        found = self.values.expression(statement.value)
        kind = found.type if found.type in ("long", "ulong", "uint") else "int"
        blocks = [*(body for _, body in statement.cases), statement.otherwise]
        if any(map(_breaks, blocks)):
            word = "if"
            for keys, body in statement.cases:
                tests = [f"{found.inside(BINDS['=='] + 1)} == {integer_text(key, kind)}" for key in keys]
                yield f"{indent}{word} ({' || '.join(tests)})"
                yield from self.braced(body, indent)
                word = "else if"
            yield f"{indent}else"
            yield from self.braced(statement.otherwise, indent)
            return
        yield f"{indent}switch ({found.text})"
        yield f"{indent}{{"
        inner = indent + STEP
        for keys, body in statement.cases:
            for key in keys:
                yield f"{inner}case {integer_text(key, kind)}:"
            yield from self.section(body, inner)
        yield f"{inner}default:"
        yield from self.section(statement.otherwise, inner)
        yield f"{indent}}}"

    def section(self, body: tuple[st.Statement, ...], indent: str) -> Iterator[str]:
        """Yield the block of a case of a switch."""
        yield from self.block(body, indent + STEP)
        if not _ends(body):
            yield f"{indent}{STEP}break;"

    # -- calls

    def arguments(self, record: str, arguments: Sequence[v.Value]) -> list[str]:
        """Return the arguments for a record's own parameters."""
        parameters = self.book.records[record].parameters
        return [
            self.assigned(value, local.type, self.values.type_of(local.type))
            for local, value in zip(parameters, arguments, strict=True)
        ]

    def read(self, statement: st.Read, indent: str) -> Iterator[str]:
        values = self.values
        told = ["ref reader", values.position(statement.at)]
        if not statement.load:
            assert statement.end is not None
            told.append(values.position(statement.end))
        told += self.arguments(statement.record, statement.arguments)
        call = f"{'Load' if statement.load else 'Read'}({', '.join(told)})"
        before, place, behind = self.place(statement.target)
        if not isinstance(statement.target, v.Self):
            call = f"{place}.{call}"
        yield from indented(before, indent)
        yield from self.checked(statement.steps, call, indent)
        yield from indented(behind, indent)
        if statement.result is not None:
            yield f"{indent}{values.text(statement.result)} = reader.Next;"

    def read_varint(self, statement: st.ReadVarint, indent: str) -> Iterator[str]:
        values, local = self.values, statement.local
        kind = values.type_of(local.type)
        code = self.temporary("problem")
        name = self.declare(local)
        raw = name if kind == "ulong" and not statement.zigzag else self.temporary("raw")
        told = ["data", f"ref {values.text(statement.at)}", values.position(statement.end)]
        path, _ = path_text(statement.place.steps, values)
        yield f"{indent}if (!Wire.ReadVarint({', '.join(told)}, out ulong {raw}, out string {code}))"
        yield from braced(indent, f"return {self.fault('Fail', code, path, statement.place)};")
        if raw != name:
            text = f"Wire.FromZigzag({raw})" if statement.zigzag else raw
            cast = "" if kind == "long" and statement.zigzag else f"({kind})"
            yield f"{indent}{kind} {name} = {cast}{text};"

    # -- output

    def raw(self, value: v.Value, zigzag: bool) -> str:
        """Return the unsigned integer that a varint is written of."""
        found = self.values.as_type(value, "long" if zigzag else "ulong")
        return f"Wire.ToZigzag({found})" if zigzag else found

    @property
    def bytes(self) -> str:
        """Where to write: a local in `store`, which makes no room; asked for again in `write`."""
        return "bytes" if self.function.kind == "store" else "writer.Bytes"

    def store(self, statement: st.Store) -> str:
        values, bits = self.values, statement.bits
        at = values.position(statement.at)
        if bits == 8:
            return f"{self.bytes}[{at}] = {values.stored(statement.value, 'byte').text}"
        order = "LittleEndian" if statement.order == "little" else "BigEndian"
        if bits not in (16, 32, 64):
            raw = values.stored(statement.value, "ulong").text
            return f"Wire.Write{order}({self.bytes}.Slice({at}, {bits // 8}), {raw})"
        signed = values.interval(statement.value)[0] < 0 or isinstance(statement.value, v.BitsOf)
        names = {16: ("UInt16", "ushort"), 32: ("UInt32", "uint"), 64: ("UInt64", "ulong")}
        signed_names = {16: ("Int16", "short"), 32: ("Int32", "int"), 64: ("Int64", "long")}
        name, kind = (signed_names if signed else names)[bits]
        raw = values.stored(statement.value, kind).text
        return f"BinaryPrimitives.Write{name}{order}({self.bytes}.Slice({at}), {raw})"

    def put(self, at: v.Value, value: v.Value) -> str:
        values = self.values
        room = f"{self.bytes}.Slice({values.position(at)})"
        kind = of_type(value)
        if isinstance(kind, v.TextType):
            return f"Wire.PutText({room}, {values.text(value)}, {text_literal(kind.encoding)})"
        return f"{values.text(value, PRIMARY)}.AsSpan().CopyTo({room})"


def _shorten(body: list[str]) -> None:
    """Make `if (!call) { return false; } return more;` at the end a `return call && more;`."""
    if len(body) < 5 or [line.strip() for line in body[-4:-1]] != ["{", "return false;", "}"]:
        return
    found = re.fullmatch(r"(\s*)if \(!(\w.*)\)", body[-5])
    last = re.fullmatch(r"\s*return (.*);", body[-1])
    if found and last and not re.search(r" (&&|\|\|) ", found[2]):
        more = "" if last[1] == "true" else f" && {last[1]}"
        body[-5:] = [f"{found[1]}return {found[2]}{more};"]


def _uses(line: str, name: str) -> bool:
    """Whether a line has a name outside of a literal or a longer name."""
    return re.search(rf'(?<!["\w.]){name}(?!["\w])', line) is not None


def _is_of_single(condition: v.Value) -> bool:
    """Whether it is said of a float that it does not fit binary32: of one in memory only a NaN does not."""
    match condition:
        case v.Op(operator="not", operands=(v.Call(name="float_fits", arguments=(found, v.Int(value=32))),)):
            kind = of_type(found) if not isinstance(found, str | bool) else None
            return isinstance(kind, v.FloatType) and kind.bits == 32
    return False


def _ends(body: Sequence[st.Statement]) -> bool:
    """Whether statements never reach what is behind them."""
    match body[-1] if body else None:
        case st.Return() | st.Fail() | st.Break():
            return True
        case st.When(then=then, otherwise=otherwise):
            return _ends(then) and _ends(otherwise)
        case st.Pick(cases=cases, otherwise=otherwise):
            return all(_ends(block) for _, block in cases) and _ends(otherwise)
    return False


def _breaks(body: Iterable[st.Statement]) -> bool:
    """Whether a Break in statements leaves a loop around them."""
    for statement in body:
        match statement:
            case st.Break():
                return True
            case st.When(then=then, otherwise=otherwise):
                if _breaks(then) or _breaks(otherwise):
                    return True
            case st.Pick(cases=cases, otherwise=otherwise):
                if _breaks(otherwise) or any(_breaks(block) for _, block in cases):
                    return True
    return False


def _extended(body: Iterable[st.Statement]) -> Iterator[tuple[v.Value, v.Local]]:
    """Yield the lists that grow in a loop, with their sizes."""
    for statement in body:
        match statement:
            case st.Extend(target=target, size=size):
                yield target, size
            case st.When(then=then, otherwise=otherwise):
                yield from _extended((*then, *otherwise))
            case st.Pick(cases=cases, otherwise=otherwise):
                for _, block in cases:
                    yield from _extended(block)
                yield from _extended(otherwise)

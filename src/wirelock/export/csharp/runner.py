"""What the runner of an export knows of its records: how each is read, built and told as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.csharp.arithmetic import BINDS, record_of
from wirelock.export.csharp.names import Book
from wirelock.export.csharp.protocols import class_name
from wirelock.export.csharp.records import octet_lines
from wirelock.export.csharp.text import code, text_literal
from wirelock.export.csharp.values import Values
from wirelock.export.program import Function, Program, ProtocolDecl, VersionDecl

__all__ = ["codec_lines"]

STEP = "    "


def codec_lines(program: Program, book: Book, namespace: str) -> Iterator[str]:
    """Yield the classes of RunnerCodecs.cs."""
    yield "internal static partial class Runner"
    yield "{"
    yield f"{STEP}private static readonly Codecs[] All ="
    yield f"{STEP}{{"
    for protocol in program.protocols:
        yield f"{STEP * 2}new {book.protocols[protocol.name]}Codecs(),"
    yield f"{STEP}}};"
    yield "}"
    for protocol in program.protocols:
        yield ""
        yield from _codecs(protocol, book)
        for version in protocol.versions:
            yield ""
            yield from _codec(protocol, version, book, namespace)
    yield ""
    yield "/// <summary>Records as JSON, as golden files have them.</summary>"
    yield "internal static class Teller"
    yield "{"
    octets: dict[bytes, str] = {}
    lines: list[str] = []
    for record in program.records:
        for function in record.functions:
            if function.kind == "tell":
                lines += [*([""] if lines else []), *_Teller(function, book, octets).lines()]
    yield from octet_lines(octets, lines)
    yield from lines
    yield "}"


def _codecs(protocol: ProtocolDecl, book: Book) -> Iterator[str]:
    name = class_name(protocol, book)
    versions = ", ".join(
        f"new {book.protocols[protocol.name]}CodecV{item.number}()" for item in protocol.versions
    )
    if protocol.tag:
        reading = f"return {name}.TryReadVersion(data, newest, out version, out fault);"
    else:
        reading = 'throw new FormatException(Name + " has no tag");'
    yield from code(f"""internal sealed class {book.protocols[protocol.name]}Codecs : Codecs
{{
    internal override string Name => {name}.Name;

    internal override bool IsTagged => {"true" if protocol.tag else "false"};

    internal override Codec[] Versions {{ get; }} = {{ {versions} }};

    internal override bool TryReadVersion(byte[] data, int newest, out int version, out Fault fault)
    {{
        {reading}
    }}

    internal override Negotiation Negotiate(string hello) => {name}.Negotiate(hello);
}}""")


def _codec(protocol: ProtocolDecl, version: VersionDecl, book: Book, namespace: str) -> Iterator[str]:
    name = book.type_name(version.record)
    called = f"global::{namespace}.{name}"  # a record may be named like a member of Codec
    yield from code(f"""internal sealed class {book.protocols[protocol.name]}CodecV{version.number} : Codec
{{
    private {name} record;

    internal override int Version => {version.number};

    internal override string Digest => "{version.digest}";

    internal override bool TryParse(byte[] data, out Fault fault)
    {{
        return {called}.TryParse(data, out record, out fault);
    }}

    internal override bool TryBuild(out byte[] bytes, out Fault fault)
    {{
        fault = default(Fault);
        try
        {{
            bytes = record.Build();
            return true;
        }}
        catch (WireException problem)
        {{
            bytes = new byte[0];
            fault = problem.Fault;
            return false;
        }}
    }}

    internal override void Tell(JsonText json) => Teller.Tell(json, record);""")
    if book.records[version.record].pose is not None:
        yield from code(f"""
    internal override bool TryFromQuaternion(float[] q)
    {{
        return {called}.TryFromQuaternion(q[0], q[1], q[2], q[3], out record);
    }}

    internal override float[] ToQuaternion()
    {{
        var q = record.ToQuaternion();
        return new[] {{ q.X, q.Y, q.Z, q.W }};
    }}""")
    yield "}"


class _Teller:
    """Writes one method that tells a record."""

    def __init__(self, function: Function, book: Book, octets: dict[bytes, str]) -> None:
        self.function = function
        self.book = book
        self.names: dict[str, str] = {}
        self.values = Values(book, self.names, octets)
        self.values.itself = "record"
        for local in function.parameters:
            self.declare(local)

    def declare(self, local: v.Local) -> str:
        self.names[local.name] = self.book.local(local.name, {*self.names.values(), "json", "record"})
        return self.names[local.name]

    def lines(self) -> list[str]:
        """Return the whole method."""
        parameters = f"JsonText json, {self.book.type_name(self.function.record)} record"
        for local in self.function.parameters:
            parameters += f", {self.values.type_of(local.type)} {self.names[local.name]}"
        return [
            f"{STEP}internal static void Tell({parameters})",
            f"{STEP}{{",
            *self.block(self.function.body, STEP * 2),
            f"{STEP}}}",
        ]

    def block(self, body: Iterable[st.Statement], indent: str) -> Iterator[str]:
        for statement in body:
            yield from self.statement(statement, indent)

    def braced(self, body: Iterable[st.Statement], indent: str) -> Iterator[str]:
        yield f"{indent}{{"
        yield from self.block(body, indent + STEP)
        yield f"{indent}}}"

    def statement(self, statement: st.Statement, indent: str) -> Iterator[str]:
        values = self.values
        match statement:
            case st.Tell():
                yield f"{indent}{self.told(statement)};"
            case st.Let(local=local, value=value):
                kind = values.type_of(local.type)
                text = values.as_type(value, kind)
                yield f"{indent}{kind} {self.declare(local)} = {text};"
            case st.When(condition=condition, then=then, otherwise=otherwise):
                yield f"{indent}if ({values.text(condition)})"
                yield from self.braced(then, indent)
                if otherwise:
                    yield f"{indent}else"
                    yield from self.braced(otherwise, indent)
            case st.For(index=index, count=count, body=body):
                limit, name = values.text(count, BINDS["<"] + 1), self.declare(index)
                yield f"{indent}for (int {name} = 0; {name} < {limit}; {name}++)"
                yield from self.braced(body, indent)
            case st.Pick(value=value, cases=cases, otherwise=otherwise):
                word = "if"
                for keys, body in cases:
                    tests = [v.Op("==", (value, v.Int(key)), 0, 1) for key in keys]
                    yield f"{indent}{word} ({' || '.join(values.text(test) for test in tests)})"
                    yield from self.braced(body, indent)
                    word = "else if"
                yield f"{indent}else"
                yield from self.braced(otherwise, indent)
            case _:
                raise AssertionError(f"{statement} tells nothing")

    def told(self, statement: st.Tell) -> str:
        """Return the call that tells one piece."""
        value, values = statement.value, self.values
        match statement.what:
            case "{" | "[" as bracket:
                return f"json.Open('{bracket}')"
            case "}" | "]" as bracket:
                return f"json.Close('{bracket}')"
            case "null":
                return "json.Null()"
        if isinstance(value, str):
            return f"json.{statement.what.capitalize()}({text_literal(value)})"
        assert value is not None
        match statement.what:
            case "integer" if isinstance(value, v.Int) and abs(value.value) > 1 << 53:
                return f'json.Text("{value.value}")'
            case "float":
                return f"json.Float({values.text(value)}, {statement.bits})"
            case "record":
                parameters = self.book.records[record_of(value)].parameters
                told = [values.text(value)]
                for item, local in zip(statement.arguments, parameters, strict=True):
                    told.append(values.as_type(item, values.type_of(local.type)))
                return f"Teller.Tell(json, {', '.join(told)})"
        return f"json.{statement.what.capitalize()}({values.text(value)})"

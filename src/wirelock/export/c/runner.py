"""The test program of an exported codec in C: runs golden files as TAP, or answers one request a line."""

from __future__ import annotations

from dataclasses import replace

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.c.functions import Functions, pruned
from wirelock.export.c.paragraphs import TEST, needed
from wirelock.export.c.statements import Writer
from wirelock.export.c.types import Names, text_literal
from wirelock.export.lower.expressions import interval_of, of_type
from wirelock.export.program import Program, ProtocolDecl, RecordDecl

__all__ = ["test_program"]


class _Teller(Writer):
    """Writes the function that tells a record as JSON."""

    def text(self) -> str:
        own = self.names.records[self.record.name]
        locals_ = map(self.parameter, self.function.parameters)
        parameters = ", ".join(["growing *out", f"const {own} *self", *locals_])
        self.block(self.function.body)
        names = ["self", *(self.locals[item.name] for item in self.function.parameters)]
        head = self.finish(names)
        return "\n".join([f"static void tell_{own}({parameters})", "{", *head, *self.lines, "}"])

    def statement(self, statement: st.Statement) -> None:
        if isinstance(statement, st.Tell):
            self.line(f"{self.tell(statement)};")
        else:
            super().statement(statement)

    def tell(self, told: st.Tell) -> str:
        value = told.value
        match told.what, value:
            case "{" | "[", _:
                return f'tell_word(out, "{told.what}")'
            case "}" | "]", _:
                return f'put(out, "{told.what}")'
            case "null", _:
                return 'tell_word(out, "null")'
            case "key", str():
                return f"tell_key(out, {text_literal(value)})"
            case "text", str():
                return f"tell_text(out, {text_literal(value)})"
        assert value is not None and not isinstance(value, str)
        match told.what:
            case "record":
                inner = of_type(value)
                assert isinstance(inner, v.RecordType)
                record = self.functions.records[inner.name]
                arguments = [
                    self.assigned(item, local.type)
                    for item, local in zip(told.arguments, record.parameters, strict=True)
                ]
                given = ["out", self.expressions.address(value), *arguments]
                return f"tell_{self.names.records[inner.name]}({', '.join(given)})"
            case "integer" if isinstance(value, v.Int):  # a constant may take more than 64 bits
                beyond = abs(value.value) > 1 << 53
                return f'tell_{"text" if beyond else "word"}(out, "{value.value}")'
            case "integer":
                if interval_of(value)[0] >= 0:
                    return f"tell_unsigned(out, {self.expressions.assigned(value, 'uint64_t')})"
                return f"tell_integer(out, {self.expressions.assigned(value, 'int64_t')})"
            case "bool":
                return f'tell_word(out, {self.expressions.truth(value)} ? "true" : "false")'
            case "float":
                kind = v.FloatType(64 if told.bits == 64 else 32, nan=True)
                return f"tell_float{told.bits}(out, {self.assigned(value, kind)})"
            case "bytes":
                held = of_type(value)
                place = self.expressions.place(value)
                if isinstance(held, v.BytesType) and held.size is not None:
                    return f"tell_bytes(out, {place}, {held.size})"
                return f"tell_bytes(out, {place}.data, {place}.size)"
        text, place = of_type(value), self.expressions.place(value)
        assert told.what == "text" and isinstance(text, v.TextType)
        encoding = f"WL_{text.encoding.upper().replace('-', '_')}"
        return f"tell_characters(out, {place}.data, {place}.size, {encoding})"


def _tellers(program: Program, functions: Functions) -> str:
    """Return the functions that tell the records of versions and what is in them, the inner ones first."""
    wanted = {version.record for protocol in program.protocols for version in protocol.versions}
    texts: list[str] = []
    for record in reversed(program.records):
        name = f"tell_{functions.names.records[record.name]}("
        if record.name in wanted or any(name in text for text in texts):
            texts += [
                _Teller(functions, record, replace(function, body=pruned(function.body))).text()
                for function in record.functions
                if function.kind == "tell"
            ]
    return "\n\n".join(reversed(texts))


def test_program(program: Program, names: Names, functions: Functions, header: str) -> str:
    """Return the source of the test program, before the names get their beginning."""
    records = {record.name: record for record in program.records}
    told = _tellers(program, functions)
    made = _versions(program, names, records)
    kept = "\n\n".join(needed("main\n" + told + made, *TEST))
    kept = kept.replace("//!records", told).replace("//!versions", made)
    top = f"""/* Generated by wirelock: tests of {header}. Do not edit.

   cc -std=c99 -I. {header.removesuffix(".h")}_test.c -lm
   ./a.out golden FILE.json ...   runs golden files, and prints TAP; exit 1 where a test fails
   ./a.out lines                  answers one request a line: parse, receive, encode, decode, negotiate */
"""
    includes = "\n".join(
        f"#include <{name}.h>" for name in ("inttypes", "stdarg", "stdio", "stdlib", "string")
    )
    formats = "#ifndef __STDC_FORMAT_MACROS\n#define __STDC_FORMAT_MACROS\n#endif"
    return f'{top}\n{formats}\n{includes}\n\n#include "{header}"\n\n{kept}\n'


def _versions(program: Program, names: Names, records: dict[str, RecordDecl]) -> str:
    found: list[str] = []
    rows: list[str] = []
    protocols: list[str] = []
    done: set[str] = set()
    for protocol in program.protocols:
        own = names.protocols[protocol.name]
        for version in protocol.versions:
            record = records[version.record]
            name = names.records[record.name]
            if name not in done:
                found += _wrappers(record, name, names)
                done.add(name)
            poses = [f"from_quaternion_{name}", f"to_quaternion_{name}"] if record.pose else ["NULL", "NULL"]
            row = [
                text_literal(protocol.name),
                str(version.number),
                text_literal(f'"{version.digest}"'),
                *(f"{word}_{name}" for word in ("parse", "build", "tell_held")),
                *poses,
            ]
            rows.append(f"    {{{', '.join(row)}}},")
        tagged = ["NULL", "NULL", "NULL"]
        if protocol.tag:
            tagged = [f"{own}_version_of", f"unknown_{own}", f"receive_{own}"]
            found += _receive(protocol, names, records)
        protocols.append(f"    {{{', '.join([text_literal(protocol.name), *tagged, f'{own}_negotiate'])}}},")
    found.append("static const a_version versions[] = {\n" + "\n".join(rows) + "\n};")
    found.append("static const a_protocol protocols[] = {\n" + "\n".join(protocols) + "\n};")
    return "\n\n".join(found)


def _wrappers(record: RecordDecl, name: str, names: Names) -> list[str]:
    arena, reset = (", &arena", "    arena.used = 0;\n") if record.allocates else ("", "")
    if record.size is None:
        build = f"    return {name}_build(&held_{name}, data, capacity, size, fault);"
    else:
        enough = f"""    if (capacity < {record.size}) {{
        return wl_fail(fault, "no-space", "", WL_NOWHERE, -1);
    }}"""
        build = f"""    *size = {record.size};
{enough if record.size else "    (void)capacity;"}
    return {name}_build(&held_{name}, data, fault);"""
    found = [
        f"static {name} held_{name};",
        f"""static bool parse_{name}(const uint8_t *data, size_t size, wl_fault *fault)
{{
{reset}    return {name}_parse(data, size, &held_{name}{arena}, fault);
}}""",
        f"""static bool build_{name}(uint8_t *data, size_t capacity, size_t *size, wl_fault *fault)
{{
{build}
}}""",
        f"""static void tell_held_{name}(growing *out)
{{
    tell_{name}(out, &held_{name});
}}""",
    ]
    if record.pose:
        found += [
            f"""static bool from_quaternion_{name}(const float quaternion[4], wl_fault *fault)
{{
    return {name}_from_quaternion(quaternion, &held_{name}, fault);
}}""",
            f"""static bool to_quaternion_{name}(float quaternion[4], wl_fault *fault)
{{
    return {name}_to_quaternion(&held_{name}, quaternion, fault);
}}""",
        ]
    return found


def _receive(protocol: ProtocolDecl, names: Names, records: dict[str, RecordDecl]) -> list[str]:
    own, kind = names.protocols[protocol.name], names.dispatch[protocol.name]
    allocates = any(records[item.record].allocates for item in protocol.versions)
    cases = "\n".join(
        f"    case {item.number}:\n        held_{names.records[item.record]} = found.as.v{item.number};\n"
        "        break;"
        for item in protocol.versions
    )
    size = len(protocol.versions[0].tag)
    return [
        f"""static bool unknown_{own}(const uint8_t *data, size_t size, wl_fault *fault)
{{
    wl_fault_clear(fault);
    return {own}_tag_fault(data, size < {size} ? size : {size}, fault);
}}""",
        f"""static int32_t receive_{own}(const uint8_t *data, size_t size, wl_fault *fault)
{{
    {kind} found;
{"    arena.used = 0;" if allocates else ""}
    if (!{own}_parse(data, size, &found{", &arena" if allocates else ""}, fault)) {{
        return -1;
    }}
    switch (found.version) {{
{cases}
    default:
        break;
    }}
    return found.version;
}}""".replace("\n\n", "\n"),
    ]

"""Records, enumerations and choices of a program as C#: structs with fields, equality and the public face."""

from __future__ import annotations

from collections.abc import Iterator

from wirelock.export import values as v
from wirelock.export.csharp.functions import method
from wirelock.export.csharp.names import Book
from wirelock.export.csharp.text import bytes_text, code, integer_text, summary
from wirelock.export.program import Enumeration, FixedDecl, Program, ProtocolDecl, RecordDecl
from wirelock.schema.pose import SmallestThree

__all__ = ["choice_lines", "enumeration_lines", "octet_lines", "record_lines", "used_by"]

STEP = "    "


def used_by(program: Program, protocol: ProtocolDecl) -> set[str]:
    """Return the names of the records and enumerations that the versions of a protocol are made of."""
    records = {record.name: record for record in program.records}
    found: set[str] = set()

    def visit(kind: v.Type | None) -> None:
        match kind:
            case v.RecordType(name=name) if name not in found:
                found.add(name)
                for item in records[name].fields:
                    visit(item.type)
            case v.EnumType(name=name):
                found.add(name)
            case v.ListType(element=inner) | v.OptionType(inner=inner):
                visit(inner)
            case v.ChoiceType(cases=cases):
                for _, held in cases:
                    visit(held)

    for version in protocol.versions:
        visit(v.RecordType(version.record))
    return found


def enumeration_lines(enumeration: Enumeration, book: Book) -> Iterator[str]:
    """Yield an enum."""
    name = book.type_name(enumeration.name)
    what = "Flags" if enumeration.flags else "Members"
    yield from summary(enumeration.note or f"{what} of {name}.", "")
    if enumeration.flags:
        yield "[System.Flags]"
    storage = book.of(enumeration.storage)
    yield f"public enum {name} : {storage}"
    yield "{"
    for number, (member, value) in enumerate(book.members(enumeration)):
        if number:
            yield ""
        yield from summary(_member_note(value, flags=enumeration.flags), STEP)
        text = f"0x{value:02X}" if enumeration.flags else integer_text(value)
        yield f"{STEP}{member} = {text},"
    yield "}"


def _member_note(value: int, *, flags: bool) -> str:
    if not flags:
        return f"Value {value}."
    bits = [str(bit) for bit in range(value.bit_length()) if value >> bit & 1]
    return f"Bit{'s' if len(bits) > 1 else ''} {', '.join(bits)}." if bits else "No flag."


def choice_lines(choice: v.ChoiceType, book: Book) -> Iterator[str]:
    """Yield the struct of a choice, and the enum that says which case it holds."""
    name, cases = book.type_name(choice.name), book.cases(choice)
    yield from summary(f"Which case a {name} holds.", "")
    yield f"public enum {name}Kind"
    yield "{"
    for case in cases:
        yield from summary(f"{case}.", STEP)
        yield f"{STEP}{case},"
    yield "}"
    yield ""
    comparable = book.comparable(choice)
    yield from summary("One of several cases: Kind says which field holds the value.", "")
    yield f"public partial struct {name}{f' : IEquatable<{name}>' if comparable else ''}"
    yield "{"
    yield from summary("Which case it is.", STEP)
    yield f"{STEP}public {name}Kind Kind;"
    held = [
        ("Kind", v.EnumType("")),
        *((case, kind) for case, (_, kind) in zip(cases, choice.cases, strict=True)),
    ]
    for case, kind in held[1:]:
        if kind is not None:
            yield ""
            yield from summary(f"The value where Kind is {case}.", STEP)
            yield f"{STEP}public {book.of(kind)} {case};"
    if comparable:
        yield from _equality(name, [(case, kind) for case, kind in held if kind is not None])
    yield "}"


def record_lines(record: RecordDecl, book: Book, label: str) -> Iterator[str]:
    """Yield the struct of a record; `label` is its version, such as `rotation v1`, where it is one."""
    name = book.type_name(record.name)
    comparable = book.comparable(v.RecordType(record.name))
    told = " ".join(filter(None, (record.note or f"{name}.", f"This is {label}." if label else "")))
    yield from summary(told, "")
    yield f"public partial struct {name}{f' : IEquatable<{name}>' if comparable else ''}"
    yield "{"
    body = [*_constants(record, book)]
    for item in record.fields:
        body += ["", *summary(item.note or f"The field {item.name}.", STEP)]
        body.append(f"{STEP}public {book.of(item.type)} {book.field(record.name, item.name)};")
    if label:
        body += [*_parsing(name, label), *_building(record, name, label)]
    if record.pose is not None:
        body += _pose(record, record.pose, book)
    if comparable:
        named = [(book.field(record.name, item.name), item.type) for item in record.fields]
        body += _equality(name, named)
    octets: dict[bytes, str] = {}
    for function in record.functions:
        if function.kind != "tell":
            body += ["", *method(function, book, octets, STEP)]
    if body and not body[0]:
        del body[0]
    yield from octet_lines(octets, body)
    yield from body
    yield "}"


def octet_lines(octets: dict[bytes, str], body: list[str]) -> Iterator[str]:
    """Yield the constant bytes that some lines name."""
    used = [(value, name) for value, name in octets.items() if any(f"{name})" in line for line in body)]
    for value, name in used:
        yield f"{STEP}private static readonly byte[] {name} = {bytes_text(value)};"
    if used:
        yield ""


def _constants(record: RecordDecl, book: Book) -> Iterator[str]:
    if record.size is not None:
        yield ""
        yield from summary("The record's size on the wire, in bytes.", STEP)
        yield f"{STEP}public const int EncodedSize = {record.size};"
    for item in record.constants:
        yield ""
        yield from summary(item.note or f"The constant {item.name}.", STEP)
        yield f"{STEP}public {_constant(item, book.field(record.name, item.name))}"
    for rule in record.layout.rules:
        code = f"rule:{rule.name}"
        yield ""
        yield from summary(f"The code of a fault: {rule.message or f'{rule.name} does not hold'}.", STEP)
        yield f'{STEP}public const string {book.field(record.name, code)} = "{code}";'


def _constant(item: FixedDecl, name: str) -> str:
    if isinstance(item.value, bytes):
        return f"static ReadOnlySpan<byte> {name} => {bytes_text(item.value)};"
    kind = "int" if abs(item.value) < 1 << 31 else "ulong" if item.value >= 1 << 63 else "long"
    return f"const {kind} {name} = {integer_text(item.value, kind)};"


def _parsing(name: str, label: str) -> Iterator[str]:
    yield from code(f"""
    /// <summary>Read the record that all of the data is. Returns false where it is none.</summary>
    public static bool TryParse(ReadOnlySpan<byte> data, out {name} record, out Fault fault)
    {{
        var reader = new Reader(data);
        record = default({name});
        bool read = record.Read(ref reader, 0, data.Length);
        if (reader.Finish(read, out fault))
        {{
            return true;
        }}
        record = default({name});
        return false;
    }}

    /// <summary>Read the record that all of the data is. Throws WireException where it is none.</summary>
    public static {name} Parse(ReadOnlySpan<byte> data)
    {{
        return TryParse(data, out {name} record, out Fault fault)
            ? record : throw new WireException("{label}", fault);
    }}""")


def _building(record: RecordDecl, name: str, label: str) -> Iterator[str]:
    yield from code(f"""
    /// <summary>
    /// Write the record. Returns false with the reason where a field has a value that cannot be sent, or the
    /// destination is too small.
    /// </summary>
    public bool TryBuild(Span<byte> destination, out int written, out Fault fault)
    {{
        var writer = new Writer(destination);
        Write(ref writer);
        written = writer.Faults.Finish(out fault) ? writer.Length : 0;
        return fault.IsNone;
    }}

    /// <summary>Write the record. Returns how many bytes it took; throws WireException.</summary>
    public int Build(Span<byte> destination)
    {{
        return TryBuild(destination, out int written, out Fault fault)
            ? written : throw new WireException("{label}", fault);
    }}

    /// <summary>Return the record's bytes. Throws WireException.</summary>
    public byte[] Build()
    {{""")
    if record.size is not None:
        yield f"{STEP * 2}var bytes = new byte[EncodedSize];"
        yield f"{STEP * 2}Build(bytes);"
        yield f"{STEP * 2}return bytes;"
    else:
        yield from code(f"""        var writer = new Writer(256);
        Write(ref writer);
        return writer.Faults.Finish(out Fault fault)
            ? writer.ToArray() : throw new WireException("{label}", fault);""")
    yield f"{STEP}}}"


def _pose(record: RecordDecl, pose: SmallestThree, book: Book) -> Iterator[str]:
    name = book.type_name(record.name)
    fields = [book.field(record.name, item) for item in (pose.index, *pose.kept)]
    kinds = {book.field(record.name, item.name): book.of(item.type) for item in record.fields}
    packing = f"{pose.bits}, {'true' if pose.canonical else 'false'}"
    packed = "\n".join(
        f"        record.{field} = ({kinds[field]}){local};" if kinds[field] != "int"
        else f"        record.{field} = {local};"
        for field, local in zip(fields, ("index", "a", "b", "c"), strict=True)
    )  # fmt: skip
    held = ", ".join(
        f"(int){field}" if kinds[field] in ("uint", "long", "ulong") else field for field in fields
    )
    yield from code(f"""
    /// <summary>
    /// Pack a quaternion of any length; q and -q give the same record. Returns false where the squared
    /// length is below 1e-12, infinite or NaN in binary32. Other fields are left at their defaults.
    /// </summary>
    public static bool TryFromQuaternion(float x, float y, float z, float w, out {name} record)
    {{
        record = default({name});
        if (!SmallestThree.TryEncode(x, y, z, w, {packing}, out int index, out int a, out int b, out int c))
        {{
            return false;
        }}
{packed}
        return true;
    }}

    /// <summary>Pack a quaternion as TryFromQuaternion does. Throws WireException.</summary>
    public static {name} FromQuaternion(float x, float y, float z, float w)
    {{
        var fault = new Fault(FaultCode.OutOfRange, "");
        return TryFromQuaternion(x, y, z, w, out {name} record)
            ? record : throw new WireException("{name}", fault, SmallestThree.NoLength);
    }}

    /// <summary>Unpack the unit quaternion. Throws WireException where there is none.</summary>
    public (float X, float Y, float Z, float W) ToQuaternion()
    {{
        return SmallestThree.TryDecode(
            {held}, {packing}, out float x, out float y, out float z, out float w, out Fault fault)
            ? (x, y, z, w) : throw new WireException("{name}", fault);
    }}""")


def _equality(name: str, fields: list[tuple[str, v.Type]]) -> Iterator[str]:
    tests = [_same(field, kind) for field, kind in fields]
    joined = f"\n{STEP * 3}&& ".join(tests) or "true"
    yield from code(f"""
    /// <summary>Whether two records have the same values.</summary>
    public static bool operator ==({name} left, {name} right) => left.Equals(right);

    /// <summary>Whether two records have different values.</summary>
    public static bool operator !=({name} left, {name} right) => !left.Equals(right);

    /// <inheritdoc/>
    public bool Equals({name} other)
    {{
        return {joined};
    }}

    /// <inheritdoc/>
    public override bool Equals(object other) => other is {name} record && Equals(record);

    /// <inheritdoc/>
    public override int GetHashCode()
    {{
        var hash = new HashCode();""")
    for field, _ in fields:
        yield f"{STEP * 2}hash.Add({field});"
    yield f"{STEP * 2}return hash.ToHashCode();"
    yield f"{STEP}}}"


def _same(field: str, kind: v.Type) -> str:
    match kind:
        case v.FloatType() | v.RecordType() | v.ChoiceType():
            return f"{field}.Equals(other.{field})"
        case v.OptionType(inner=inner) if not isinstance(inner, v.TextType):
            return f"System.Nullable.Equals({field}, other.{field})"
    return f"{field} == other.{field}"

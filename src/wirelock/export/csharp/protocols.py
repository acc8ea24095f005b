"""A protocol of a program as a static class of C#: its tag, digests and hello, and its versions as one."""

from __future__ import annotations

from collections.abc import Iterator

from wirelock.export.csharp.names import Book
from wirelock.export.csharp.text import bytes_text, code, summary, text_literal
from wirelock.export.program import ProtocolDecl, TagField

__all__ = ["class_name", "protocol_lines", "union_name"]

STEP = "    "
PIECE = 70
"""So many characters of a long text stand on a line."""


def class_name(protocol: ProtocolDecl, book: Book) -> str:
    """Return the name of a protocol's class."""
    return f"{book.protocols[protocol.name]}Protocol"


def union_name(protocol: ProtocolDecl, book: Book) -> str:
    """Return the name of the struct that holds a record of any version."""
    return f"{book.protocols[protocol.name]}Message"


def protocol_lines(protocol: ProtocolDecl, book: Book) -> Iterator[str]:
    """Yield a protocol's class, and the struct for a record of any version."""
    versions = ", ".join(
        f"v{item.number}{' (retired)' if item.retired else ''}" for item in protocol.versions
    )
    yield from summary(protocol.note or f"The protocol {protocol.name}: {versions}.", "")
    yield f"public static class {class_name(protocol, book)}"
    yield "{"
    yield from summary("The protocol's name.", STEP)
    yield f"{STEP}public const string Name = {text_literal(protocol.name)};"
    for item in protocol.versions:
        yield ""
        yield from summary(f"The digest of the layout of version {item.number}.", STEP)
        yield f"{STEP}public const string DigestV{item.number} = {text_literal(item.digest)};"
    yield ""
    yield from summary(
        "What to send to a peer: the versions that are spoken here, as one line of JSON.", STEP
    )
    pieces = [protocol.hello[at : at + PIECE] for at in range(0, len(protocol.hello), PIECE)]
    yield f"{STEP}public const string HelloText ="
    yield from _joined([text_literal(piece) for piece in pieces], STEP * 2)
    yield ""
    if protocol.tag:
        yield from _tag(protocol)
    yield f"{STEP}private static readonly Hello Ours = Hello.Read(HelloText);"
    yield ""
    yield from summary("Find the highest version that a peer, by its hello, has with the same layout.", STEP)
    yield f"{STEP}public static Negotiation Negotiate(string peerHello) => Ours.Agree(peerHello);"
    if protocol.tag:
        yield from _dispatch(protocol)
    yield from _parsing(protocol, union_name(protocol, book))
    if protocol.repeats:
        yield from _repeating(protocol, union_name(protocol, book))
    yield "}"
    yield ""
    yield from _union(protocol, book)


def _joined(pieces: list[str], indent: str) -> Iterator[str]:
    for number, piece in enumerate(pieces):
        start = "+ " if number else ""
        yield f"{indent}{start}{piece}{';' if number == len(pieces) - 1 else ''}"


def _tag(protocol: ProtocolDecl) -> Iterator[str]:
    for item in protocol.versions:
        yield f"{STEP}private static readonly byte[] TagV{item.number} = {bytes_text(item.tag)};"
    yield f"{STEP}private static readonly TagField[] Tag ="
    yield f"{STEP}{{"
    for field in protocol.tag:
        yield f"{STEP * 2}{_tag_field(field)},"
    yield f"{STEP}}};"


def _tag_field(field: TagField) -> str:
    mask = bytes_text(field.mask) if field.mask else "null"
    bit = -1 if field.bit is None else field.bit
    last = "true" if field.is_version else "false"
    return f"new TagField({text_literal(field.label)}, {field.byte}, {field.size}, {bit}, {mask}, {last})"


def _dispatch(protocol: ProtocolDecl) -> Iterator[str]:
    yield from code("""
    /// <summary>
    /// Tell which version a datagram is, by the tag that it begins with. Returns false for other bytes:
    /// <c>foreign</c>, <c>unknown-version</c> or <c>truncated</c>.
    /// </summary>
    public static bool TryReadVersion(ReadOnlySpan<byte> data, out int version, out Fault fault)
    {
        return TryReadVersion(data, int.MaxValue, out version, out fault);
    }

    /// <summary>The same for a peer that knows no version above <paramref name="newest"/>.</summary>
    internal static bool TryReadVersion(ReadOnlySpan<byte> data, int newest, out int version, out Fault fault)
    {
        fault = default(Fault);""")
    for item in protocol.versions:
        yield f"{STEP * 2}version = {item.number};"
        yield f"{STEP * 2}if (newest >= version && data.StartsWith(TagV{item.number}))"
        yield f"{STEP * 2}{{"
        yield f"{STEP * 3}return true;"
        yield f"{STEP * 2}}}"
    yield f"{STEP * 2}version = 0;"
    yield f"{STEP * 2}fault = TagField.FaultOf(data, TagV{protocol.versions[0].number}, Tag);"
    yield f"{STEP * 2}return false;"
    yield f"{STEP}}}"


def _parsing(protocol: ProtocolDecl, union: str) -> Iterator[str]:
    tagged = bool(protocol.tag)
    asked = "" if tagged else ", int version"
    given = "" if tagged else ", version"
    what = "of the version that its tag names" if tagged else "of that version"
    yield from code(f"""
    /// <summary>Read a record {what}. Returns false where it is none.</summary>
    public static bool TryParse(ReadOnlySpan<byte> data{asked}, out {union} message, out Fault fault)
    {{
        var reader = new Reader(data);
        bool read = TryRead(ref reader{given}, out message);
        if (reader.Finish(read, out fault))
        {{
            return true;
        }}
        message = default({union});
        return false;
    }}

    /// <summary>Read a record {what}. Throws WireException where it is none.</summary>
    public static {union} Parse(ReadOnlySpan<byte> data{asked})
    {{
        return TryParse(data{given}, out {union} message, out Fault fault)
            ? message : throw new WireException(Name, fault);
    }}

    private static bool TryRead(ref Reader reader{asked}, out {union} message)
    {{
        message = default({union});""")
    if tagged:
        yield from code("""        if (!TryReadVersion(reader.Data, out int version, out Fault fault))
        {
            return reader.Faults.Fail(fault.Code, fault.Path, fault.Byte ?? -1, fault.Bit ?? -1);
        }""")
    yield f"{STEP * 2}message.Version = version;"
    yield f"{STEP * 2}switch (version)"
    yield f"{STEP * 2}{{"
    for item in protocol.versions:
        yield f"{STEP * 3}case {item.number}:"
        yield f"{STEP * 4}return message.V{item.number}.Read(ref reader, 0, reader.Data.Length);"
    yield f"{STEP * 3}default:"
    yield f"{STEP * 4}throw new ArgumentOutOfRangeException("
    yield f'{STEP * 5}nameof(version), version, "no such version of " + Name);'
    yield f"{STEP * 2}}}"
    yield f"{STEP}}}"


def _repeating(protocol: ProtocolDecl, union: str) -> Iterator[str]:
    asked = "" if protocol.tag else ", int version"
    given = "" if protocol.tag else ", version"
    yield from code(f"""
    /// <summary>
    /// Read the one or more records that a datagram is, and add them to a list. Returns false after a fault:
    /// the records before it are in the list then, and its path begins with the record's number.
    /// </summary>
    public static bool TryParseAll(
        ReadOnlySpan<byte> data{asked}, List<{union}> messages, out Fault fault)
    {{
        int at = 0;
        int number = 0;
        do
        {{
            var reader = new Reader(data.Slice(at));
            TryRead(ref reader{given}, out {union} message);
            if (!reader.Faults.Finish(out fault))
            {{
                // Behind a record of ours, bytes of another protocol are a wrong constant.
                string code = number > 0 && fault.Code == FaultCode.Foreign ? FaultCode.Constant : fault.Code;
                fault = fault.Within("[" + number + "]", at, code);
                return false;
            }}
            messages.Add(message);
            at += reader.Next;
            number++;
        }}
        while (at < data.Length);
        return true;
    }}""")


def _union(protocol: ProtocolDecl, book: Book) -> Iterator[str]:
    name = union_name(protocol, book)
    yield from summary(f"A record of {protocol.name} in any version: Version says which field holds it.", "")
    yield f"public partial struct {name}"
    yield "{"
    yield from summary("The version.", STEP)
    yield f"{STEP}public int Version;"
    for item in protocol.versions:
        yield ""
        yield from summary(f"The record where Version is {item.number}.", STEP)
        yield f"{STEP}public {book.type_name(item.record)} V{item.number};"
    yield "}"

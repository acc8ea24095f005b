"""The public face of an exported codec in C: parse and build of records, quaternions, protocols by tag."""

from __future__ import annotations

from typing import Final

from wirelock.export.c.functions import Functions, covers
from wirelock.export.c.types import Names, comment, octets_literal, text_literal
from wirelock.export.program import Program, ProtocolDecl, RecordDecl
from wirelock.layout.sizes import size_of

__all__ = ["constants", "number", "protocol_face", "record_face", "stands_alone"]


def stands_alone(record: RecordDecl) -> bool:
    """Whether a record can be read without one around it."""
    return bool(record.functions) and not record.parameters


def record_face(record: RecordDecl, names: Names, functions: Functions, *, repeats: bool) -> list[str]:
    """Return the functions of a record that a program calls; with `repeats` a datagram may hold many."""
    if not stands_alone(record):
        return []
    found = [_parse(record, names), *([_next(record, names)] if repeats else [])]
    found.append(
        _build(record, names, functions) if record.size is None else _build_fixed(record, names, functions)
    )
    return found + (_quaternions(record, names) if record.pose is not None else [])


def _parse(record: RecordDecl, names: Names) -> str:
    own = names.records[record.name]
    arena, memory = (", wl_arena *arena", ", arena") if record.allocates else ("", "")
    told = "Reads the one record that all of `data` is. Returns false with the fault where it is none."
    told += (
        " Lists are taken from the arena, which is as it was where none is read." if record.allocates else ""
    )
    before = "    const size_t used = arena->used;\n" if record.allocates else ""
    after = "    if (fault->count != 0) {\n        arena->used = used;\n    }\n" if record.allocates else ""
    return f"""{comment(told)}
static inline bool {own}_parse(
    const uint8_t *data, size_t size, {own} *record{arena}, wl_fault *fault)
{{
{before}    size_t behind;
    wl_fault_clear(fault);
    if (data == NULL) {{
        data = (const uint8_t *)"";
    }}
    behind = {own}_read(data, 0, size, record{memory}, fault);
    if (behind != size && behind != WL_FAILED) {{
        (void)wl_fail(fault, "trailing-bytes", "", behind, -1);
    }}
{after}    return fault->count == 0;
}}"""


_NEXT: Final = (
    "Reads the record at byte `*at`, behind `number` others, and moves behind it: to be called as long as"
    " `*at` is below the size, and once at least. Returns false with the fault where it is none."
)


def _next(record: RecordDecl, names: Names) -> str:
    own = names.records[record.name]
    arena, memory = (", wl_arena *arena", ", arena") if record.allocates else ("", "")
    return f"""{comment(_NEXT)}
static inline bool {own}_next(
    const uint8_t *data, size_t size, size_t *at, size_t number, {own} *record{arena}, wl_fault *fault)
{{
    size_t behind;
    wl_fault_clear(fault);
    if (data == NULL) {{
        data = (const uint8_t *)"";
    }}
    behind = {own}_read(data, *at, size, record{memory}, fault);
    if (fault->count != 0) {{
        wl_step_item(fault, number);
        return false;
    }}
    *at = behind;
    return true;
}}"""


def _build_fixed(record: RecordDecl, names: Names, functions: Functions) -> str:
    own, size = names.records[record.name], names.constants[record.name, "size"]
    told = f"Writes a record into {size} bytes. Returns false with the fault where it cannot be sent."
    faults = functions.faults(record.name, "store")
    zeros = "" if covers(record, functions.records) else f"    wl_fill(data, {size}, 0);\n"
    return f"""{comment(told)}
static inline bool {own}_build(const {own} *record, uint8_t *data, wl_fault *fault)
{{
    wl_fault_clear(fault);
{zeros}    {f"return {own}_store(data, 0, record, fault);" if faults else f"{own}_store(data, 0, record);"}
{"" if faults else "    return true;"}
}}""".replace("\n\n", "\n")


def _build(record: RecordDecl, names: Names, functions: Functions) -> str:
    own = names.records[record.name]
    told = (
        "Writes a record, and says how many bytes it takes. Returns false with the fault where it cannot be"
        " sent, `no-space` where the capacity does not hold it."
    )
    went = "went = " if functions.faults(record.name, "write") else ""
    local = "    bool went;\n" if went else ""
    return f"""{comment(told)}
static inline bool {own}_build(
    const {own} *record, uint8_t *data, size_t capacity, size_t *size, wl_fault *fault)
{{
    wl_output output;
{local}    output.data = data;
    output.capacity = capacity;
    output.used = 0;
    wl_fault_clear(fault);
    {went}{own}_write(&output, record, fault);
    *size = output.used;
    return {"went" if went else "true"};
}}"""


def _quaternions(record: RecordDecl, names: Names) -> list[str]:
    pose, own = record.pose, names.records[record.name]
    assert pose is not None
    held = {item.name: item.type for item in record.fields}
    fields = names.fields[record.name]
    parts = {pose.index: "packet.index"} | {name: f"packet.kept[{i}]" for i, name in enumerate(pose.kept)}
    numbers = f"{pose.bits}, {str(pose.canonical).lower()}"
    set_fields = "\n".join(
        f"    record->{fields[name]} = ({names.type_of(held[name])}){part};" for name, part in parts.items()
    )
    get_fields = "\n".join(f"    {part} = (int64_t)record->{fields[name]};" for name, part in parts.items())
    others = "    memset(record, 0, sizeof *record);\n" if len(fields) > len(parts) else ""
    rest = " All other fields are 0." if others else ""
    encode = (
        "Makes the record of the rotation that a quaternion (x, y, z, w) of any length stands for; q and -q"
        f" give the same one.{rest} Returns false where the squared length is below 1e-12, infinite or NaN."
    )
    decode = (
        "Finds the unit quaternion (x, y, z, w) of a record. Returns false where no quaternion is written so."
    )
    return [
        f"""{comment(encode)}
static inline bool {own}_from_quaternion(
    const float quaternion[4], {own} *record, wl_fault *fault)
{{
    wl_smallest_three packet;
    wl_fault_clear(fault);
    if (!wl_encode_quaternion(quaternion, {numbers}, &packet)) {{
        return wl_fail(fault, "out-of-range", "", WL_NOWHERE, -1);
    }}
{others}{set_fields}
    return true;
}}""",
        f"""{comment(decode)}
static inline bool {own}_to_quaternion(
    const {own} *record, float quaternion[4], wl_fault *fault)
{{
    wl_smallest_three packet;
    const char *problem;
    wl_fault_clear(fault);
{get_fields}
    problem = wl_decode_quaternion(packet, {numbers}, quaternion);
    if (problem != NULL) {{
        const char *step = packet.index < 0 || packet.index > 3 ? {text_literal(pose.index)} : "";
        return wl_fail(fault, problem, step, WL_NOWHERE, -1);
    }}
    return true;
}}""",
    ]


def constants(record: RecordDecl, names: Names) -> list[str]:
    """Return the constants of a record's layout, and how many bytes it takes."""
    lines = []
    for item in record.constants:
        if item.note:
            lines.append(comment(item.note))
        value = octets_literal(item.value) if isinstance(item.value, bytes) else number(item.value)
        lines.append(f"#define {names.constants[record.name, item.name]} {value}")
    highest = size_of(record.layout).highest
    size = names.constants[record.name, "size"]
    if record.size is not None:
        lines += [
            comment(f"Bytes that a {names.records[record.name]} takes."),
            f"#define {size} {record.size}",
        ]
    elif stands_alone(record) and highest is not None and highest < 1 << 31:
        lines += [
            comment(f"Bytes that a {names.records[record.name]} takes at most."),
            f"#define {size} {-(-highest // 8)}",
        ]
    return lines


def number(value: int) -> str:
    """Return a constant integer, in brackets where it is negative."""
    if value == -(1 << 63):
        return "INT64_MIN"
    text = (
        str(value)
        if abs(value) < 1 << 31
        else f"INT64_C({value})"
        if value < 1 << 63
        else f"UINT64_C({value})"
    )
    return f"({text})" if value < 0 else text


def protocol_face(protocol: ProtocolDecl, program: Program, names: Names) -> list[str]:
    """Return what a program needs of a protocol: digests, hello, the records of all versions by their tag."""
    own = names.protocols[protocol.name]
    lines = []
    for version in protocol.versions:
        retired = " It is retired: still read, and not offered to peers." if version.retired else ""
        lines.append(comment(f"The layout of {protocol.name} v{version.number}.{retired}"))
        digest = names.constants[protocol.name, f"v{version.number}", "digest"]
        lines.append(f"#define {digest} {text_literal(version.digest)}")
    told = (
        f"What to tell a peer, as JSON: the versions of {protocol.name} that are spoken, with fingerprints."
    )
    negotiate = (
        "Returns the highest version that a peer's hello (JSON, `size` bytes) has with the same layout, or"
        " -1. `difference` says where the highest one differs that both have, but not alike."
    )
    found = [
        "\n".join(lines),
        f"""{comment(told)}
static inline const char *{own}_hello(void)
{{
    {_returned(protocol.hello)}
}}""",
        f"""{comment(negotiate)}
static inline int32_t {own}_negotiate(const char *hello, size_t size, wl_difference *difference)
{{
    return wl_negotiate({own}_hello(), hello, size, difference);
}}""",
    ]
    return found + ([*_tag(protocol, names), *_dispatch(protocol, program, names)] if protocol.tag else [])


def _returned(text: str) -> str:
    """Return the statements that return a text: C99 promises no more than 4095 characters in one literal."""
    if len(text) <= 4095:
        parts = [text_literal(text[at : at + 96]) for at in range(0, len(text), 96)]
        return "return " + "\n           ".join(parts) + ";"
    octets = [str(octet) for octet in (*text.encode(), 0)]
    rows = ",\n        ".join(", ".join(octets[at : at + 20]) for at in range(0, len(octets), 20))
    return f"static const char text[] = {{\n        {rows}}};\n    return text;"


def _tag(protocol: ProtocolDecl, names: Names) -> list[str]:
    """Return the functions that read the tag."""
    own, tag = names.protocols[protocol.name], protocol.versions[0].tag
    size, rows = len(tag), []
    for item in protocol.tag:
        octets = octets_literal(tag[item.byte : item.byte + item.size])
        mask = octets_literal(item.mask or b"\xff" * item.size)
        label, version = text_literal(item.label), str(item.is_version).lower()
        place = f"{item.byte}, {item.size}, {-1 if item.bit is None else item.bit}"
        rows.append(f"        {{{label}, {place}, {octets}, {mask}, {version}}},")
    table = "\n".join(rows)
    tests = "\n".join(
        f"        if (memcmp(data, {octets_literal(item.tag)}, {size}) == 0) {{\n"
        f"            return {item.number};\n        }}"
        for item in protocol.versions
    )
    told = (
        f"Returns the version of {protocol.name} that the tag at the beginning of `data` names; -1 with the"
        " fault where it names none: `foreign` for another protocol's bytes, `unknown-version`, `truncated`."
    )
    return [
        f"""{comment(f"Puts the fault of bytes whose tag is none of {protocol.name}'s. Returns false.")}
WL_COLD bool {own}_tag_fault(const uint8_t *data, size_t size, wl_fault *fault)
{{
    static const wl_tag_field fields[] = {{
{table}
    }};
    return wl_tag_fault(fields, sizeof fields / sizeof *fields, data, size < {size} ? size : {size}, fault);
}}""",
        f"""{comment(told)}
static inline int32_t {own}_version_of(const uint8_t *data, size_t size, wl_fault *fault)
{{
    if (size >= {size}) {{
{tests}
    }}
    wl_fault_clear(fault);
    (void){own}_tag_fault(data, size, fault);
    return -1;
}}""",
    ]


def _dispatch(protocol: ProtocolDecl, program: Program, names: Names) -> list[str]:
    """Return the type of a record of any version, and the function that reads one."""
    own, record = names.protocols[protocol.name], names.dispatch[protocol.name]
    allocating = {item.name for item in program.records if item.allocates}
    members = "\n".join(f"        {names.records[item.record]} v{item.number};" for item in protocol.versions)
    cases = "\n".join(
        f"    case {item.number}:\n"
        f"        return {names.records[item.record]}_parse(data, size, &record->as.v{item.number}"
        f"{', arena' if item.record in allocating else ''}, fault);"
        for item in protocol.versions
    )
    arena = ", wl_arena *arena" if any(item.record in allocating for item in protocol.versions) else ""
    told = (
        f"Reads the one record of {protocol.name} that all of `data` is, in the version that its tag names."
        " Returns false with the fault where it is none."
    )
    found = [
        f"""{comment(f"A record of {protocol.name} in whichever version it came.")}
typedef struct {{
    int32_t version;
    union {{
{members}
    }} as;
}} {record};""",
        f"""{comment(told)}
static inline bool {own}_parse(
    const uint8_t *data, size_t size, {record} *record{arena}, wl_fault *fault)
{{
    record->version = {own}_version_of(data, size, fault);
    switch (record->version) {{
{cases}
    default:
        return false;
    }}
}}""",
    ]
    return [*found, _next_of_any(protocol, allocating, names)] if protocol.repeats else found


def _next_of_any(protocol: ProtocolDecl, allocating: set[str], names: Names) -> str:
    own, record = names.protocols[protocol.name], names.dispatch[protocol.name]
    cases = "\n".join(
        f"    case {item.number}:\n"
        f"        return {names.records[item.record]}_next(data, size, at, number, &record->as.v{item.number}"
        f"{', arena' if item.record in allocating else ''}, fault);"
        for item in protocol.versions
    )
    arena = ", wl_arena *arena" if any(item.record in allocating for item in protocol.versions) else ""
    return f"""{comment(_NEXT)}
static inline bool {own}_next(
    const uint8_t *data, size_t size, size_t *at, size_t number, {record} *record{arena}, wl_fault *fault)
{{
    if (data == NULL) {{
        data = (const uint8_t *)"";
    }}
    record->version = {own}_version_of(data + *at, size - *at, fault);
    switch (record->version) {{
{cases}
    default:
        if (number != 0 && strcmp(fault->code, "foreign") == 0) {{
            fault->code = "constant"; /* the datagram is ours: its first record was */
        }}
        fault->byte += *at;
        wl_step_item(fault, number);
        return false;
    }}
}}"""

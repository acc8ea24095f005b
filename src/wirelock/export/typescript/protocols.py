"""The public face of a TypeScript codec: an object for each version, and one for each protocol."""

from __future__ import annotations

from wirelock.export import values as v
from wirelock.export.names import screaming, unique
from wirelock.export.program import FixedDecl, ProtocolDecl, RecordDecl
from wirelock.export.typescript.expressions import quoted
from wirelock.export.typescript.layout import Doc, arguments, octets, render, table
from wirelock.export.typescript.module import Module
from wirelock.export.typescript.text import doc_comment, indented

__all__ = ["pose_text", "protocol_text", "version_text"]


def version_text(module: Module, record: RecordDecl, labels: list[tuple[str, str]]) -> str:
    """Return the object of a record that stands alone: its constants, and how it is parsed and built.

    `labels` are the versions that it is, with their digests.
    """
    name, label = module.types[record.name], " and ".join(label for label, _ in labels)
    codec = module.codec
    reader, writer, fault, must = codec("Reader"), codec("Writer"), codec("Fault"), codec("must")
    members = []
    if len({digest for _, digest in labels}) == 1:
        told = quoted(labels[0][1])
        members.append(f"  /** The digest of the layout of {label}. */\n  DIGEST: {told},\n")
    if record.size is not None:
        members.append(f"  /** How many bytes every record takes. */\n  SIZE: {record.size},\n")
    members += _constants(record)
    read = _call(module, "read", record, {"reader": "reader", "at": "0", "end": "data.length"})
    write = _call(module, "write", record, {"writer": "writer", "record": "record"})
    written = f"writer.finish({write})"
    if not module.traits[record.name, "write"].fails:
        written = f"{write};\n    return writer.finish(true)"
    else:
        written = f"return {written}"
    if "record" in module.traits[record.name, "write"].unused:
        written = f"void record; // It holds nothing.\n    {written}"
    members += [
        "\n  /** Return the record that all of `data` is. Throws WireError. */\n"
        f"  parse(data: Uint8Array): {name} {{\n"
        f"    return {must}({quoted(label)}, {name}.tryParse(data));\n  }},\n",
        "\n  /** Return the record that all of `data` is, or why it is none. */\n"
        f"  tryParse(data: Uint8Array): {name} | {fault} {{\n"
        f"    const reader = new {reader}(data);\n"
        f"    const record = {read};\n"
        "    const isWhole = reader.faults === 0 && reader.next === data.length;\n"
        "    return record !== null && isWhole ? record : reader.finish(record);\n  },\n",
        "\n  /** Return the bytes of a record. Throws WireError for what cannot be sent. */\n"
        f"  build(record: {name}): Uint8Array {{\n"
        f"    return {must}({quoted(label)}, {name}.tryBuild(record));\n  }},\n",
        "\n  /** Return the bytes of a record, or why it cannot be sent. */\n"
        f"  tryBuild(record: {name}): Uint8Array | {fault} {{\n"
        f"    const writer = {writer}.take();\n    {written};\n  }},\n",
    ]
    if record.pose is not None:
        members += _pose(module, record, label)
    return f"export const {name} = {{\n{''.join(members)}}};\n"


def pose_text(module: Module, record: RecordDecl) -> str:
    """Return the object of a quaternion that stands only inside of other records."""
    name = module.types[record.name]
    members = "".join(_pose(module, record, name)).removeprefix("\n")
    return f"export const {name} = {{\n{members}}};\n"


def _constants(record: RecordDecl) -> list[str]:
    taken = {"DIGEST", "SIZE"}
    found = []
    for item in record.constants:
        key = unique(screaming(item.name), taken)
        taken.add(key)
        found.append(f"{doc_comment(item.note, '  ')}  {key}: {_constant(item)},\n")
    return found


def _constant(item: FixedDecl) -> str:
    if isinstance(item.value, int):
        return f"{item.value}{'' if v.SAFE[0] <= item.value <= v.SAFE[1] else 'n'}"
    return indented(render(octets("new Uint8Array([", item.value, "])")), 1)


def _call(module: Module, kind: str, record: RecordDecl, arguments: dict[str, str]) -> str:
    unused = module.traits[record.name, kind].unused
    told = ", ".join(text for key, text in arguments.items() if key not in unused)
    return f"{module.function(kind, record.name)}({told})"


def _pose(module: Module, record: RecordDecl, label: str) -> list[str]:
    """Return how a record is made from a quaternion, and one from it."""
    pose, names, name = record.pose, module.fields[record.name], module.types[record.name]
    assert pose is not None
    encode, decode = module.quaternion("encode"), module.quaternion("decode")
    quaternion, must = module.quaternion("Quaternion"), module.codec("must")
    kept = (pose.index, *pose.kept)
    others = [item for item in record.fields if item.name not in kept]
    told = f"{pose.bits}, {'true' if pose.canonical else 'false'}"
    path = "" if pose.index == "largest_index" else f", {quoted(pose.index)}"
    held = dict(zip(kept, ("index", "a", "b", "c"), strict=True))
    parts = [
        f"{names[item.name]}: packet.{held[item.name]}"
        if item.name in held
        else f"{names[item.name]}: rest.{names[item.name]}"
        for item in record.fields
    ]
    packet = ", ".join(f"{key}: record.{names[field]}" for field, key in held.items())
    rest = ""
    if others:
        omitted = " | ".join(f'"{names[item]}"' for item in kept)
        default = ", ".join(f"{names[item.name]}: {module.default(item.type)}" for item in others)
        rest = f"rest: Omit<{name}, {omitted}> = {{ {default} }}"
    head = arguments("fromQuaternion(", [f"q: {quaternion}", *filter(None, [rest])], f"): {name} {{")
    return [
        "\n  /** Return the record for a quaternion of any length but zero. Throws WireError. */\n"
        f"  {indented(render(head), 1)}\n"
        f"    const packet = {must}({quoted(label)}, {encode}(q, {told}));\n"
        f"    return {indented(render(arguments('{', list(parts), '};', space=True)), 2)}\n  }},\n",
        "\n  /** Return the unit quaternion of a record, in binary32. Throws WireError. */\n"
        f"  toQuaternion(record: {name}): {quaternion} {{\n"
        f"    const packet = {{ {packet} }};\n"
        f"    return {must}({quoted(label)}, {decode}(packet, {told}{path}));\n  }},\n",
    ]


def protocol_text(module: Module, protocol: ProtocolDecl) -> str:
    """Return the type of any version of a protocol, and the object that parses, builds and negotiates."""
    name, message, label = module.messages[protocol.name], module.unions[protocol.name], quoted(protocol.name)
    own_hello, own_tag = module.private["Hello", protocol.name], module.private["Tag", protocol.name]
    fault, must = module.codec("Fault"), module.codec("must")
    versions = [(item.number, module.types[item.record]) for item in protocol.versions]
    cases = [f"{{ readonly version: {number}; readonly record: {kind} }}" for number, kind in versions]
    union = cases[0] if len(cases) == 1 else "".join(f"\n  | {case}" for case in cases)
    numbers = " | ".join(str(number) for number, _ in versions)
    version = "" if protocol.tag else f", version: {numbers}"
    told = "" if protocol.tag else ", version"
    parsed = "".join(
        f"      case {number}: {{\n        const record = {kind}.tryParse(data);\n"
        f"        return record instanceof {fault} ? record : {{ version: {number}, record }};\n      }}\n"
        for number, kind in versions
    )
    built = "".join(
        f"      case {number}:\n        return {kind}.tryBuild(message.record);\n"
        for number, kind in versions
    )
    negotiated, negotiate = module.protocol("Negotiated"), module.protocol("negotiate")
    hello = quoted(protocol.hello)
    known = f"const {own_hello} =\n  {hello};\n\n"
    tag = _tag(module, protocol, own_tag) if protocol.tag else ""
    choose = (
        f"    const version = {own_tag}.versionOf(data);\n    switch (version) {{\n"
        if tag
        else "    switch (version) {\n"
    )
    otherwise = f"      default:\n        return version as {fault};\n" if tag else ""
    peek = (
        f"\n  /** Return the version that the tag of `data` names; those above `newest` are unknown. */\n"
        f"  versionOf(data: Uint8Array, newest = Infinity): number | {fault} {{\n"
        f"    return {own_tag}.versionOf(data, 0, newest);\n  }},\n"
    )
    peek = peek if tag else ""
    which = "its tag names" if tag else "is asked for"
    return (
        f"{known}{tag}/** A record of {protocol.name} of any version. */\n"
        f"export type {message} ={' ' if len(cases) == 1 else ''}{union};\n\n"
        f"{doc_comment(protocol.note)}export const {name} = {{\n"
        "  /** What to tell a peer: the versions that are spoken here. */\n"
        f"  HELLO: {own_hello},\n"
        "\n  /** Return the highest version that a peer speaks alike. Throws NegotiationError. */\n"
        f"  negotiate(hello: string): {negotiated} {{\n"
        f"    return {negotiate}({label}, {own_hello}, hello);\n  }},\n"
        f"{peek}\n  /** Return the record that all of `data` is, in the version that {which}."
        " Throws WireError. */\n"
        f"  parse(data: Uint8Array{version}): {message} {{\n"
        f"    return {must}({label}, {name}.tryParse(data{told}));\n  }},\n"
        "\n  /** Return the record that all of `data` is, or why it is none. */\n"
        f"  tryParse(data: Uint8Array{version}): {message} | {fault} {{\n"
        f"{choose}{parsed}{otherwise}    }}\n  }},\n"
        f"{_repeated(module, protocol, name, message) if protocol.repeats else ''}"
        "\n  /** Return the bytes of a record. Throws WireError for what cannot be sent. */\n"
        f"  build(message: {message}): Uint8Array {{\n"
        f"    return {must}({label}, {name}.tryBuild(message));\n  }},\n"
        "\n  /** Return the bytes of a record, or why it cannot be sent. */\n"
        f"  tryBuild(message: {message}): Uint8Array | {fault} {{\n"
        f"    switch (message.version) {{\n{built}    }}\n  }},\n"
        "};\n"
    )


def _repeated(module: Module, protocol: ProtocolDecl, name: str, message: str) -> str:
    """Return how a datagram of several records is parsed."""
    fault, must, reader = module.codec("Fault"), module.codec("must"), module.codec("Reader")
    numbers = " | ".join(str(item.number) for item in protocol.versions)
    version, told = ("", "") if protocol.tag else (f", version: {numbers}", ", version")
    cases = ""
    for item in protocol.versions:
        record = module.records[item.record]
        read = _call(module, "read", record, {"reader": "reader", "at": "at", "end": "data.length"})
        cases += (
            f"        case {item.number}: {{\n          const record = reader.prefix({read});\n"
            f"          if (record instanceof {fault}) {{\n"
            "            return record.within(`[${messages.length}]`, 0);\n          }\n"
            f"          messages.push({{ version: {item.number}, record }});\n          break;\n        }}\n"
        )
    tag = ""
    if protocol.tag:
        tag = (
            f"      const version = {module.private['Tag', protocol.name]}.versionOf(data, at);\n"
            f"      if (version instanceof {fault}) {{\n"
            f"        return {module.protocol('tagFault')}(version, messages.length, at);\n      }}\n"
        )
    return (
        "\n  /** Return the records that all of `data` is, one behind the other. Throws WireError. */\n"
        f"  parseAll(data: Uint8Array{version}): readonly {message}[] {{\n"
        f"    return {must}({quoted(protocol.name)}, {name}.tryParseAll(data{told}));\n  }},\n"
        "\n  /** Return the records that all of `data` is, one behind the other, or why it is not. */\n"
        f"  tryParseAll(data: Uint8Array{version}): readonly {message}[] | {fault} {{\n"
        f"    const messages: {message}[] = [];\n    let at = 0;\n    do {{\n{tag}"
        f"      const reader = new {reader}(data);\n      switch (version) {{\n{cases}      }}\n"
        "      at = reader.next;\n    } while (at < data.length);\n    return messages;\n  },\n"
    )


def _tag(module: Module, protocol: ProtocolDecl, name: str) -> str:
    fields: list[Doc] = []
    for item in protocol.tag:
        mask = item.mask or b"\xff" * item.size
        parts: list[Doc] = [
            f"label: {quoted(item.label)}",
            f"byte: {item.byte}",
            f"bit: {'null' if item.bit is None else item.bit}",
            ("mask: ", octets("[", mask, "]")),
            f"isVersion: {'true' if item.is_version else 'false'}",
        ]
        fields.append(arguments("{", parts, "}", space=True))
    tags: list[Doc] = [
        arguments("[", [str(item.number), octets("[", item.tag, "]")], "]") for item in protocol.versions
    ]
    told = arguments(f"new {module.protocol('Tag')}(", [table(fields), table(tags)], ");")
    return render((f"const {name} = ", told)) + "\n\n"

"""Codecs in C# write records, and refuse what cannot be sent, as the machine does: records in C# source."""

from __future__ import annotations

import json
import math
import struct
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.export.languages import SHARP, WAYS, run
from tests.export.machine import Machine
from tests.export.machine_memory import Chosen, Fault, Held
from tests.strategies import layouts, lowered, name_layout, samples
from wirelock.errors import ExportError
from wirelock.export import values as v
from wirelock.export.csharp.codec import export
from wirelock.export.csharp.names import Book
from wirelock.export.lower.declare import program_of
from wirelock.layout.walk import walk

TEXTS = st.text(max_size=3) | st.sampled_from(["\ufeffx", "a\0", "\0", "\ud800", "é", "\U0001f600"])
FLOATS = st.floats(width=32) | st.sampled_from([65504.0, 65520.0, -0.0, 1.5, math.inf, math.nan])
CLIENT = """
using System;

namespace Built
{{
    internal static class Client
    {{
        private delegate bool Build(Span<byte> destination, out int written, out Fault fault);

        private static void Main()
        {{
            var destination = new byte[1 << 16];
{}
        }}

        private static void Tell(byte[] destination, Build build)
        {{
            bool built = build(destination, out int written, out Fault fault);
            string told = BitConverter.ToString(destination, 0, written).Replace("-", "").ToLowerInvariant();
            Console.WriteLine(built ? "ok " + told : fault.Code + " " + fault.Path);
        }}
    }}
}}
"""


def literal(book: Book, kind: v.Type | None, value: Any) -> str:
    """Return a value of a client's memory as C#."""
    match kind:
        case v.IntType(bits=bits):
            suffix = "UL" if bits == 64 and not kind.signed else "L"
            return "long.MinValue" if value == -(1 << 63) else f"({book.of(kind)})({value}{suffix})"
        case v.BoolType():
            return "true" if value else "false"
        case v.FloatType(bits=32):
            return f"BitConverter.Int32BitsToSingle({struct.unpack('>i', struct.pack('>f', value))[0]})"
        case v.FloatType():
            return f"BitConverter.Int64BitsToDouble({struct.unpack('>q', struct.pack('>d', value))[0]}L)"
        case v.BytesType():
            return f"new byte[] {{ {', '.join(map(str, value))} }}"
        case v.TextType():
            return json.dumps(value)
        case v.EnumType(name=name):
            return f"({book.of(kind)}){literal(book, book.enumerations[name].storage, value)}"
        case v.ListType(element=element):
            return f"new {book.of(kind)} {{ {', '.join(literal(book, element, item) for item in value)} }}"
        case v.OptionType(inner=inner):
            return "null" if value is None else literal(book, inner, value)
        case v.RecordType(name=name):
            types = {item.name: item.type for item in book.records[name].fields}
            fields = [
                f"{book.field(name, label)} = {literal(book, types[label], item)}"
                for label, item in value.fields.items()
            ]
            return f"new {book.of(kind)} {{ {', '.join(fields)} }}"
        case v.ChoiceType(cases=cases):
            label, name = book.cases(kind)[value.number], book.of(kind)
            held = cases[value.number][1]
            fields = [f"Kind = {name}Kind.{label}"]
            fields += [f"{label} = {literal(book, held, value.value)}"] if held is not None else []
            return f"new {name} {{ {', '.join(fields)} }}"
    raise AssertionError(kind)


def changed(machine: Machine, kind: v.Type, value: Any, draw: Any) -> Any:
    """Return a value of the same type: another one, or one that differs somewhere inside."""
    match kind:
        case v.IntType(bits=bits, signed=signed, low=low, high=high):
            least = -(1 << (bits - 1)) if signed else 0
            edges = {low, high, low - 1, high + 1, 0, 1, 2, least, least + (1 << bits) - 1}
            return draw(st.sampled_from(sorted(edge for edge in edges if 0 <= edge - least < 1 << bits)))
        case v.EnumType(name=name):
            some = [number for _, number in machine.enumerations[name].members]
            return draw(st.sampled_from(some)) if some else value
        case v.BoolType():
            return not value
        case v.FloatType():
            return draw(FLOATS.filter(lambda found: kind.nan or found == found))
        case v.TextType():
            return draw(TEXTS)
        case v.BytesType(size=size):
            return draw(st.binary(min_size=size or 0, max_size=4 if size is None else size))
        case v.ListType(element=element, size=size) if value:
            if size is None and draw(st.booleans()):
                return deepcopy(value * draw(st.sampled_from([0, 2])))
            number = draw(st.integers(0, len(value) - 1))
            return [*value[:number], changed(machine, element, value[number], draw), *value[number + 1 :]]
        case v.OptionType(inner=inner) if value is not None:
            return None if draw(st.booleans()) else changed(machine, inner, value, draw)
        case v.RecordType(name=name) if machine.records[name].fields:
            item = draw(st.sampled_from(machine.records[name].fields))
            found = changed(machine, item.type, value.fields[item.name], draw)
            return Held(value.record, {**value.fields, item.name: found})
        case v.ChoiceType(cases=cases) if cases[value.number][1] is not None:
            inner = cases[value.number][1]
            assert inner is not None
            return Chosen(value.number, changed(machine, inner, value.value, draw))
    return value


def verdict(found: bytes | Fault) -> str:
    return f"ok {found.hex()}" if isinstance(found, bytes) else f"{found.code} {found.path}"


@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink would take a compilation a step
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(st.data())
def test_random_records_are_written_as_the_machine_does(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Ten layouts a program, with records that came from bytes and that were changed up to three times."""
    drawn: dict[str, Any] = {}
    sent: dict[str, list[bytes]] = {}
    while len(drawn) < 10:
        layout, _ = name_layout(data.draw(lowered(walk(data.draw(layouts())))))
        name = f"layout{len(drawn)}"
        try:
            program_of({name: layout}, target="csharp")
        except ExportError:
            continue
        drawn[name], sent[name] = layout, [data.draw(samples(layout))[0] for _ in range(3)]
    made = program_of(drawn, target="csharp")
    machine, book = Machine(made), Book(made)
    lines, wanted = [], []
    for protocol in made.protocols:
        record = protocol.versions[0].record
        for octets in sent[protocol.name]:
            held, _ = machine.parse(record, octets)
            for _ in range(4 if held else 0):
                assert held is not None
                lines.append(f"Tell(destination, {literal(book, v.RecordType(record), held)}.TryBuild);")
                wanted.append(verdict(machine.build(held)))
                held = changed(machine, v.RecordType(record), held, data.draw)
    client = CLIENT.format("\n".join(f"            {line}" for line in lines))
    files = {**export(made, "built", tests=False), "Client.cs": client}
    files = {path: f"#pragma warning disable\n{text}" for path, text in files.items()}
    for runtime in SHARP:
        told = run(WAYS[runtime].runner(files, tmp_path_factory.mktemp("built"))).splitlines()
        for line, answer, want in zip(lines, told, wanted, strict=True):
            # A size that is out of all bounds has no room before what is wrong behind it is found.
            assert answer == want or (answer == "no-space " and not want.startswith("ok")), line

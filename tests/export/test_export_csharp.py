"""What is true of C# alone: casts that round, a client's view of the code, names, and doc comments."""

from __future__ import annotations

import enum
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from construct import (
    Array,
    BitsInteger,
    BitStruct,
    Const,
    Flag,
    Float64b,
    If,
    Int8sb,
    Int8ub,
    Int16sb,
    Int16ub,
    Int32sb,
    Struct,
    this,
)

from protocol import PROTOCOLS
from tests.export.languages import SHARP, STRICT, WAYS, ask, compile_csharp, golden, run
from tests.strategies import name_layout
from wirelock import Protocol, Record, derived, quaternion
from wirelock.export.csharp.codec import export
from wirelock.export.lower.declare import program, program_of
from wirelock.export.names import snake
from wirelock.layout.walk import walk

FIXTURES = sorted(Path("fixtures").glob("*/v*.json"))
FILES = export(program(PROTOCOLS, target="csharp"), "game", tests=True)


def test_the_sum_of_squares_in_one_expression_gives_other_bytes(tmp_path: Path) -> None:
    """Where a runtime computes with floats in binary64, only casts and stores make it round each step."""
    files = export(program(PROTOCOLS, target="csharp"), "game", tests=True)
    source = files["SmallestThree.cs"]
    start, end = source.index("float xx = "), source.index("return (float)(xy + zw);")
    spoiled = f"{source[:start]}float xy = (x * x) + (y * y) + ((z * z) + (w * w)), zw = 0;\n{source[end:]}"
    given = np.random.default_rng(1).standard_normal((100_000, 4)).astype(np.float32)
    packets = ["ok {} {} {} {}".format(*row) for row in quaternion.encode_array(given).tolist()]
    command = WAYS["mono-wide"].runner({**files, "SmallestThree.cs": spoiled}, tmp_path)
    words = given.view(np.uint32).tolist()
    found = ask(command, ("encode 16 0 {:08x} {:08x} {:08x} {:08x}".format(*row) for row in words))
    assert 0 < sum(map(str.__ne__, found, packets)) < 100


class BlockV1(Record, layout=Struct("kind" / Const(1, Int8ub), "value" / Int8ub)):
    """A block with a byte."""

    kind: int = derived()
    value: int


class BlockV2(Record, layout=Struct("kind" / Const(2, Int8ub), "value" / Int16ub)):
    """A block with two bytes."""

    kind: int = derived()
    value: int


BLOCK = Protocol("block", {1: BlockV1, 2: BlockV2}, tag=("kind",), repeats=True)

TOLD = """
built: 2B-15-C0-86-24-BD-ED
equal: True, True, True
different: True, False
unit: True, False
size: 7, 2, 2, 83
no rotation: False
none: True, 0, 0, True, no fault
index: out-of-range at largest_index
rule: rule:reachable, rule:reachable
inside: out-of-range at entities[1].position.y
flags: not-canonical at entities[1].flags
too small: False, 0, no-space
just right: True, 9, no fault
cut: False, truncated at magic (byte 0), True
bit: False, truncated at a (byte 0, bit 5)
thrown: rotation v1: trailing-bytes (byte 7), False
message: 3, 7, 0
version: False, 0, unknown-version at version (byte 2)
foreign: False, 0, foreign at magic (byte 0)
negotiated: 3, 0, 0
no peer: True, the peer speaks another protocol
all: True, 3
last: 2, 258
second cut: False, 1, truncated at [1].value (byte 3)
second unknown: False, unknown-version at [1].kind (byte 2)
nothing: False, truncated at [0].kind (byte 0)
allocated a round: 0
""".strip().splitlines()


@pytest.mark.parametrize("runtime", SHARP)
def test_a_client_uses_the_public_face(runtime: str, tmp_path: Path) -> None:
    files = export(program([*PROTOCOLS, BLOCK], target="csharp"), "game", tests=False)
    files["Client.cs"] = Path("tests/export/csharp_client.cs").read_text("utf-8")
    assert run(WAYS[runtime].runner(files, tmp_path)).splitlines() == TOLD


HOSTILE = (
    "math", "wire", "array", "fault", "faults", "reader", "writer", "data", "bytes", "at", "end", "record",
    "value", "equals", "size", "encoded_size", "load", "read", "store", "write", "kind", "rank", "string",
    "object", "base", "event", "this", "namespace", "params", "get_type", "bit_converter", "fault_code",
    "system", "math2", "hostile", "constant", "checksum", "truncated",
)  # fmt: skip


class Fault(Record, layout=Struct(*(name / Int16sb for name in HOSTILE))):
    """A record that is named like a class of the runtime, with fields named like what the code uses."""

    __annotations__ = dict.fromkeys(HOSTILE, int)


class Math(Record, layout=Struct("fault" / Fault.layout, "fault_protocol" / Array(2, Fault.layout))):
    """Another."""

    fault: Fault
    fault_protocol: tuple[Fault, ...]


@pytest.mark.parametrize("runtime", SHARP)
def test_names_that_the_code_uses_itself(runtime: str, tmp_path: Path) -> None:
    protocols = [Protocol("fault", {1: Fault}), Protocol("wire", {1: Math})]
    files = export(program(protocols, target="csharp"), "hostile", tests=True)
    command = WAYS[runtime].runner(files, tmp_path)
    octets = bytes(range(256))[: 2 * len(HOSTILE)]
    for name, sent in (("fault", octets), ("wire", 3 * octets)):
        (answer,) = ask(command, [f"parse {name}/v1 {sent.hex()}"])
        assert answer.startswith(f"ok {sent.hex()} ")


def test_every_public_thing_has_a_doc_comment(tmp_path: Path) -> None:
    files = export(program([*PROTOCOLS, BLOCK], target="csharp"), "game", tests=False)
    compile_csharp(files, tmp_path, (*STRICT, "-target:library", "-doc:docs.xml"))
    docs = (tmp_path / "docs.xml").read_text("utf-8")
    assert "Metres to the east, -8192 to 8192." in docs


def test_what_is_joined_with_its_sign_raises_no_warning(tmp_path: Path) -> None:
    wide = BitStruct("p" / BitsInteger(2), "w" / BitsInteger(63), "t" / BitsInteger(7))
    either = If((this.a | this.b) > 5, Int8ub)
    layout = name_layout(walk(Struct("a" / Int8sb, "b" / Int32sb, "wide" / wide, "c" / either)))[0]
    files = export(program_of({"joined": layout}, target="csharp"), "joined", tests=True)
    octets = bytes.fromhex("81fffffffe" + "f0" * 9)
    (answer,) = ask(WAYS["mono"].runner(files, tmp_path), [f"parse joined/v1 {octets.hex()}"])
    assert answer.startswith(f"ok {octets.hex()} ")


class Real(Record, layout=Struct("xs" / Array(2, Float64b), "on" / Flag)):
    """Two numbers and a truth."""

    xs: tuple[float, ...]
    on: bool


REALS = (
    "1.5e-310", "5e-324", "-2.5e-320", "2.2250738585072011e-308", "1.7976931348623157e308", "0.1", "-0.0",
    "9007199254740993.0", "9007199254740995.0", "0.000000000000000000001e21", "1e-400", "123456.0",
)  # fmt: skip
"""Subnormal numbers, the largest, halves between two."""
RED = [
    ("[0.1, 1]", ['  path: "xs[1]"', "  found: 1.0", "  wanted: 1"]),
    ("[-0.0, 1.0]", ['  path: "xs[0]"', "  found: 0.1", "  wanted: -0.0"]),
    ("[0.10000000000000002, 1.0]", ['  path: "xs[0]"', "  found: 0.1", "  wanted: 0.10000000000000002"]),
    ("[0.1]", ['  path: "xs[1]"', "  found: 1.0", "  wanted: nothing"]),
    ('{"say": "\\"\\u00e9\\\\"}', ['  path: "xs"', "  found: [0.1, 1.0]",
                                     '  wanted: {"say": "\\"\\u00e9\\\\"}']),
]  # fmt: skip


def test_floats_are_compared_to_the_last_bit(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of whatever runtime: Mono parses subnormal numbers wrong. What is told is readable JSON."""
    for runtime in SHARP:
        folder = tmp_path_factory.mktemp("reals")
        files = export(program([Protocol("real", {1: Real})], target="csharp"), "real", tests=True)
        command = WAYS[runtime].runner(files, folder)
        pairs = [
            (x, form) for text in REALS for x in [float(text)] for form in (text, f"{x:.16e}", f"{x:.40e}")
        ]
        cases = [(struct.pack(">2d?", value, 1, True), f"[{text}, 1.0]") for value, text in pairs]
        cases += [(struct.pack(">2d?", 0.1, 1, True), text) for text, _ in RED]
        told = ", ".join(
            f'{{"id": "{number}", "bytes": "{octets.hex()}", "promises": ["encode-exact"],'
            f' "record": {{"xs": {text}, "on": true}}}}'
            for number, (octets, text) in enumerate(cases)
        )
        path = folder / "v1.json"
        path.write_text(
            f'{{"format": "wirelock-golden/1", "protocol": "real", "version": 1, "cases": [{told}]}}'
        )
        code, lines, _ = golden(command, path)
        wanted_lines = [f"ok {number + 1} - real/v1 {number} encode-exact" for number in range(len(pairs))]
        for number, (_, yaml) in enumerate(RED, len(pairs)):
            wanted_lines += [f"not ok {number + 1} - real/v1 {number} encode-exact", "  ---", *yaml, "  ..."]
        assert (code, lines[1:-1]) == (1, wanted_lines)


def test_files_that_cannot_be_run_are_named_and_the_others_are_run(tmp_path: Path) -> None:
    runner = WAYS["mono"].runner(FILES, tmp_path / "codec")
    text = Path("fixtures/rotation/v1.json").read_text("utf-8")
    changes = {
        "protocol": ('"rotation"', '"chess"', "the codec has no protocol chess: it has rotation, snapshot"),
        "version": ('"version": 1', '"version": 9', "the codec's rotation has no version 9: it has 1, 2, 3"),
        "promise": ('"decode-old"', '"d"', "article-fixed-sample has an unknown promise, d"),
        "format": ("wirelock-golden/1", "other", "this is no golden file"),
    }
    for name, (old, new, _) in changes.items():
        (tmp_path / name).write_text(text.replace(old, new, 1), "utf-8")
    paths = [tmp_path / name for name in changes]
    paths.insert(1, Path("fixtures/rotation/v1.json"))
    found = subprocess.run([*runner, "golden", *map(str, paths)], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr.splitlines() == [
        f"{tmp_path / name}: {told}" for name, (_, _, told) in changes.items()
    ]
    assert found.stdout.splitlines() == golden(runner, paths[1])[1]


def made(name: str, kinds: dict[str, Any]) -> type[Record]:
    """Return a record class of one byte a field."""
    layout = Struct(*(label / Int8ub for label in kinds))
    return type(name, (Record,), {"__annotations__": kinds}, layout=layout)


RESERVED = {"Math", "Fault", "Span", "String", "Runner", "Console", "BitConverter"}
FREE = {"Version", "Message", "Name", "Text", "Kind", "Value", "Path", "Tag"}
NAMES = sorted(FREE.union(re.findall(r"\b[A-Z][a-z]\w*", re.sub("//.*", "", "\n".join(FILES.values())))))
BYTE = {"value": int}
OWN = {"build", "json", "parse"}
"""What no field of a record can be called."""
NAMED = {
    "struct": [made(name, BYTE) for name in NAMES],
    "enum": [
        made("Every", {snake(name): int for name in NAMES if snake(name) not in OWN}),
        made("Some", {f"{snake(name)}_": enum.IntEnum(name, {"Value": 1, name: 2}) for name in NAMES}),
    ],
}


@pytest.mark.parametrize("kind", NAMED)
def test_every_name_in_the_code_can_be_that_of_a_type_or_a_field(tmp_path: Path, kind: str) -> None:
    names = Protocol("names", dict(enumerate(NAMED[kind], 1)))
    others = [
        Protocol("message", {1: made("MessageMessage", BYTE), 2: made("MessageCodecV1", BYTE)}),
        *(Protocol(name, {1: made("Other", BYTE)}) for name in ("a_b", "ab")),
    ]
    files = export(program([names, *others, *PROTOCOLS], target="csharp"), "math", tests=True)
    assert golden(WAYS["mono"].runner(files, tmp_path), *FIXTURES)[0] == 0
    found = set(re.findall(rf"public (?:partial )?{kind} (\w+)", "\n".join(files.values())))
    assert found.isdisjoint(RESERVED)
    assert len(files) == len({path.lower() for path in files})
    assert found >= FREE


Rotation = PROTOCOLS["rotation"].versions[1]


class Skirmish(Record, layout=Struct("unit" / Int8ub, "facing" / Rotation.layout)):
    """A unit and where it looks."""

    __annotations__ = {"unit": int, "facing": Rotation}


CLIENT = """
using Game;
internal static class Client
{
    private static void Main()
    {
        var sent = new Skirmish { Facing = RotationV1.FromQuaternion(0, 0, 0, 2) };
        bool same = RotationV1.Parse(sent.Facing.Build()) == Skirmish.Parse(sent.Build()).Facing;
        System.Console.WriteLine(same);
        try
        {
            RotationV1.FromQuaternion(0, 0, 0, 0);
        }
        catch (WireException problem)
        {
            System.Console.WriteLine(problem.Message);
        }
    }
}
"""


@pytest.mark.parametrize("step", [1, -1])
def test_a_record_in_another_protocols_record_has_its_public_face(tmp_path: Path, step: int) -> None:
    """Whichever protocol comes first. A quaternion that is none is told why."""
    made_of = program([Protocol("skirmish", {1: Skirmish}), PROTOCOLS["rotation"]][::step], target="csharp")
    files = export(made_of, "game", tests=False)
    assert "struct RotationV1 " in files["RotationProtocol.cs"]
    found = subprocess.run(
        WAYS["mono"].runner({**files, "Client.cs": CLIENT}, tmp_path / "client"),
        capture_output=True,
        text=True,
    )
    why = "the squared length of the quaternion is below 1e-12, infinite or NaN"
    assert found.stdout.splitlines() == ["True", f"RotationV1: out-of-range: {why}"]
    WAYS["mono"].runner(export(made_of, "game", tests=True), tmp_path / "tests")

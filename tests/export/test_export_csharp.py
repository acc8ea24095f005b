"""Codecs in C#: golden files, quaternions, random layouts and a client, on Mono and on CoreCLR."""

from __future__ import annotations

import enum
import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from construct import Array, Const, Flag, Float64b, Int8ub, Int16sb, Int16ub, Struct
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from protocol import PROTOCOLS
from tests.export.machine import Machine
from tests.export.test_export_read import wanted
from tests.export.toolchain_csharp import RUNTIMES, STRICT, ask, build
from tests.strategies import layouts, lowered, mutated, name_layout, samples
from wirelock import Protocol, Record, derived, quaternion
from wirelock.errors import DecodeError, ExportError, NegotiationError
from wirelock.export.csharp.codec import export
from wirelock.export.lower.declare import program, program_of
from wirelock.export.names import snake
from wirelock.golden.vectors import read
from wirelock.layout.walk import walk

FIXTURES = sorted(Path("fixtures").glob("*/v*.json"))
FILES = export(program(PROTOCOLS, target="csharp"), "game", tests=True)


@pytest.fixture(scope="module", params=RUNTIMES)
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return build(FILES, tmp_path_factory.mktemp("csharp"), request.param)


def golden(runner: list[str], *paths: Path) -> tuple[int, list[str]]:
    found = subprocess.run([*runner, "golden", *map(str, paths)], capture_output=True, text=True)
    return found.returncode, found.stdout.splitlines()


def test_golden_files_hold(runner: list[str]) -> None:
    files = [read(path) for path in FIXTURES]
    tests = sum(len(file.poses) + sum(len(case.promises) or 1 for case in file.cases) for file in files)
    code, lines = golden(runner, *FIXTURES)
    assert code == 0, [line for line in lines if not line.startswith("ok ")]
    assert (lines[0], lines[-1]) == ("TAP version 14", f"1..{tests}")
    assert sum(line.startswith("ok ") for line in lines) == tests
    assert "ok 1 - rotation/v1 article-fixed-sample decode-old" in lines


SPOILED = [
    (
        '"a": -16363',
        '"a": -16364',
        "article-fixed-sample",
        2,
        ['path: "a"', "found: -16363", "wanted: -16364"],
    ),
    ('"code": "truncated"', '"code": "constant"', "invalid", 1, ['path: "code"', 'found: "truncated"']),
    ('"byte": 3', '"byte": 2', "invalid", 1, ['path: "byte"', "found: 3", "wanted: 2"]),
    ('"3f687135"]', '"3f687136"]', "decode-article-sample decode", 1, ['path: "[3]"', 'found: "3f687135"']),
]
"""The record of a case is that of both of its promises, or it is not the record that was built."""


@pytest.mark.parametrize(
    ("old", "new", "case", "count", "told"), SPOILED, ids=[new for _, new, *_ in SPOILED]
)
def test_a_golden_file_that_does_not_hold_fails(
    runner: list[str], tmp_path: Path, old: str, new: str, case: str, count: int, told: list[str]
) -> None:
    text = Path("fixtures/rotation/v1.json").read_text("utf-8")
    assert old in text
    path = tmp_path / "v1.json"
    path.write_text(text.replace(old, new, 1), "utf-8")
    code, lines = golden(runner, path)
    failed = [number for number, line in enumerate(lines) if line.startswith("not ok ")]
    assert (code, len(failed)) == (1, count)
    for number in failed:
        assert case in lines[number]
        assert lines[number + 1 :][: 1 + len(told)] == ["  ---", *(f"  {line}" for line in told)]
        assert lines[number + 5] == "  ..."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"format": "wirelock-golden/1", "protocol": "chess", "version": 1}',
        '{"format": "wirelock-golden/1", "protocol": "rotation", "version": 1, "cases": []}',
    ],
)
def test_a_file_that_cannot_be_run_is_no_success(runner: list[str], tmp_path: Path, text: str) -> None:
    (tmp_path / "v1.json").write_text(text)
    assert [golden(runner, tmp_path / name)[0] for name in ("v1.json", "v2.json")] == [2, 2]


def test_quaternions_are_those_of_the_library_to_the_last_bit(runner: list[str]) -> None:
    """100 000 of any length and near ties, each encoded, and what comes out decoded."""
    random = np.random.default_rng(7)
    given = random.standard_normal((100_000, 4)).astype(np.float32)
    given[::5] *= np.float32(1e-6)
    given[1::5, 1] = given[1::5, 0]
    given[2::5] = np.sign(given[2::5]) * (0.5 + random.integers(-3, 4, (20_000, 4)) * 2.0**-16)
    encoded = ask(runner, (f"encode 16 0 {_words(row)}" for row in given))
    packets = quaternion.encode_array(given, on_error="mask")
    assert encoded == [
        "fault out-of-range" if row[0] is None else f"ok {_spaced(row)}" for row in packets.tolist()
    ]
    kept = packets.compressed().reshape(-1, 4)
    decoded = ask(runner, (f"decode 16 0 {_spaced(row)}" for row in kept.tolist()))
    assert decoded == [f"ok {_words(row)}" for row in quaternion.decode_array(kept)]


def test_the_sum_of_squares_in_one_expression_gives_other_bytes(tmp_path: Path) -> None:
    """Where a runtime computes with floats in binary64, only casts and stores make it round each step."""
    source = FILES["SmallestThree.cs"]
    start, end = source.index("float xx = "), source.index("return (float)(xy + zw);")
    spoiled = f"{source[:start]}float xy = (x * x) + (y * y) + ((z * z) + (w * w)), zw = 0;\n{source[end:]}"
    given = np.random.default_rng(1).standard_normal((100_000, 4)).astype(np.float32)
    packets = [f"ok {_spaced(row)}" for row in quaternion.encode_array(given).tolist()]
    command = build({**FILES, "SmallestThree.cs": spoiled}, tmp_path, "mono-wide")
    found = ask(command, (f"encode 16 0 {_words(row)}" for row in given))
    assert 0 < sum(map(str.__ne__, found, packets)) < 100


def test_widths_and_the_canonical_form(runner: list[str]) -> None:
    random = np.random.default_rng(8)
    packets: list[tuple[int, bool, list[int]]] = []
    for bits in range(4, 17):
        limit = quaternion.width(bits).limit
        kept = random.integers(-limit - 1, limit + 2, (600, 3))
        some = np.column_stack([random.integers(-1, 5, 600), kept])
        some[::2, 1:] = np.round(some[::2, 1:] * 0.7)
        some[::3, 1] = -some[::3, 2]
        packets += [(bits, canonical, row) for row in some.tolist() for canonical in (False, True)]
    answers = ask(runner, (f"decode {bits} {form:d} {_spaced(row)}" for bits, form, row in packets))
    assert answers == [_decoded(row, bits, form) for bits, form, row in packets]
    found = [
        (bits, form, answer.removeprefix("ok "))
        for (bits, form, _), answer in zip(packets, answers, strict=True)
        if answer.startswith("ok ")
    ]
    again = ask(runner, (f"encode {bits} {form:d} {words}" for bits, form, words in found))
    assert again == [f"ok {_spaced(_encoded(words, bits, form))}" for bits, form, words in found]


def _spaced(numbers: Any) -> str:
    return " ".join(map(str, numbers))


def _words(numbers: Any) -> str:
    return " ".join(f"{word:08x}" for word in np.asarray(numbers, np.float32).view(np.uint32).tolist())


def _decoded(packet: list[int], bits: int, canonical: bool) -> str:
    try:
        return f"ok {_words(quaternion.decode(*packet, bits=bits, canonical=canonical))}"
    except DecodeError as error:
        return f"fault {error.code}"


def _encoded(words: str, bits: int, canonical: bool) -> tuple[int, ...]:
    floats = np.array([int(word, 16) for word in words.split()], np.uint32).view(np.float32)
    return quaternion.encode(*floats.tolist(), bits=bits, canonical=canonical)


SNAPSHOT = PROTOCOLS["snapshot"]
HELLO = SNAPSHOT.hello().to_json()
NEWER, OTHERS = HELLO.replace('"3":', '"4":'), HELLO.replace("snapshot", "other")
REQUESTS = [
    ("receive snapshot 575302070000000000", "ok 2 575302070000000000 "),
    ("receive snapshot -", "fault truncated 0 - magic"),
    ("receive snapshot 57", "fault truncated 0 - magic"),
    ("receive snapshot 58", "fault foreign 0 - magic"),
    ("receive snapshot 5753", "fault truncated 2 - version"),
    ("receive snapshot 585302", "fault foreign 0 - magic"),
    ("receive snapshot 575309", "fault unknown-version 2 - version"),
    ("receive snapshot 575302", "fault truncated 3 - tick"),
    ("parse snapshot/v1 575302070000000000", "fault constant 2 - version"),
    (f"negotiate snapshot {HELLO}", "ok 3"),
    (f"negotiate snapshot {NEWER}", "ok 2"),
    (f"negotiate snapshot {OTHERS}", "fault -"),
    (f"negotiate snapshot {HELLO[:-1]}", "fault -"),
    (f"negotiate snapshot {'[' * 200}{']' * 200}", "fault -"),
]


def test_dispatch_and_negotiation(runner: list[str]) -> None:
    for answer, (request, wanted_answer) in zip(
        ask(runner, (request for request, _ in REQUESTS)), REQUESTS, strict=True
    ):
        assert answer.startswith(wanted_answer), request


def test_peers_with_other_layouts_are_told_the_field(runner: list[str]) -> None:
    """Every fingerprint of a part and of a version is changed, one by one, as agree() sees it too."""
    hello = json.loads(HELLO)
    requests, told = [], []
    for number in hello["versions"]:
        for path in hello["versions"][number]["parts"]:
            spoiled = json.loads(HELLO)
            spoiled["versions"] = {number: spoiled["versions"][number]}
            spoiled["versions"][number]["parts"][path] = "00000000"
            spoiled["versions"][number]["fingerprint"] = "0" * 16
            text = json.dumps(spoiled)
            with pytest.raises(NegotiationError) as caught:
                SNAPSHOT.negotiate(text)
            assert caught.value.disagreement is not None
            requests.append(f"negotiate snapshot {text}")
            told.append(f"fault {caught.value.disagreement.path}")
    assert ask(runner, requests) == told


@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink would take a compilation a step
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(st.data())
def test_random_layouts_read_as_the_engines_do(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Verdict, code, byte, bit, path, the bytes again and the record as JSON: eight layouts a program."""
    drawn: dict[str, Any] = {}
    requests: list[tuple[str, bytes]] = []
    while len(drawn) < 8:
        layout, _ = name_layout(data.draw(lowered(walk(data.draw(layouts())))))
        name = f"layout{len(drawn)}"
        try:
            program_of({name: layout}, target="csharp")
        except ExportError:
            continue
        drawn[name] = layout
        octets = data.draw(samples(layout))[0]
        tries = [octets, *(data.draw(mutated(octets)) for _ in range(4)), octets[: len(octets) // 2]]
        requests += [(name, tried) for tried in tries]
    made = program_of(drawn, target="csharp")
    machine, records = Machine(made), {item.name: item.versions[0].record for item in made.protocols}
    files = export(made, "codec", tests=True)
    for runtime in RUNTIMES:
        command = build(files, tmp_path_factory.mktemp("layouts"), runtime, ("-warn:0", "-checked+"))
        answers = ask(command, (f"parse {name}/v1 {octets.hex() or '-'}" for name, octets in requests))
        for (name, octets), answer in zip(requests, answers, strict=True):
            fault = wanted(drawn[name], octets)
            if fault is None:
                held, _ = machine.parse(records[name], octets)
                assert held is not None
                verdict, again, told = answer.split(" ", 2)
                assert (verdict, again) == ("ok", octets.hex() or "-"), answer
                assert _tree(told) == _tree(machine.tell(held))
            else:
                places = ("-" if place is None else str(place) for place in (fault.byte, fault.bit))
                assert answer == " ".join(["fault", fault.code, *places, fault.path or "-"]), octets.hex()


def _tree(text: str) -> Any:
    """Return JSON in which floats are told apart bit by bit."""
    return json.loads(text, parse_float=lambda digits: float(digits).hex())


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


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_client_uses_the_public_face(runtime: str, tmp_path: Path) -> None:
    files = export(program([*PROTOCOLS, BLOCK], target="csharp"), "game", tests=False)
    files["Client.cs"] = Path("tests/export/csharp_client.cs").read_text("utf-8")
    command = build(files, tmp_path, runtime)
    found = subprocess.run(command, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines() == TOLD


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


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_names_that_the_code_uses_itself(runtime: str, tmp_path: Path) -> None:
    protocols = [Protocol("fault", {1: Fault}), Protocol("wire", {1: Math})]
    command = build(export(program(protocols, target="csharp"), "hostile", tests=True), tmp_path, runtime)
    octets = bytes(range(256))[: 2 * len(HOSTILE)]
    for name, sent in (("fault", octets), ("wire", 3 * octets)):
        (answer,) = ask(command, [f"parse {name}/v1 {sent.hex()}"])
        assert answer.startswith(f"ok {sent.hex()} ")


def test_every_public_thing_has_a_doc_comment(tmp_path: Path) -> None:
    files = export(program([*PROTOCOLS, BLOCK], target="csharp"), "game", tests=False)
    build(files, tmp_path, flags=(*STRICT, "-target:library", "-doc:docs.xml"))
    docs = (tmp_path / "docs.xml").read_text("utf-8")
    assert "Metres to the east, -8192 to 8192." in docs


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
    for runtime in RUNTIMES:
        folder = tmp_path_factory.mktemp("reals")
        command = build(
            export(program([Protocol("real", {1: Real})], target="csharp"), "real", tests=True),
            folder,
            runtime,
        )
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
        code, lines = golden(command, path)
        wanted_lines = [f"ok {number + 1} - real/v1 {number} encode-exact" for number in range(len(pairs))]
        for number, (_, yaml) in enumerate(RED, len(pairs)):
            wanted_lines += [f"not ok {number + 1} - real/v1 {number} encode-exact", "  ---", *yaml, "  ..."]
        assert (code, lines[1:-1]) == (1, wanted_lines)


def test_files_that_cannot_be_run_are_named_and_the_others_are_run(runner: list[str], tmp_path: Path) -> None:
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
    assert golden(build(files, tmp_path), *FIXTURES)[0] == 0
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
    found = subprocess.run(build({**files, "Client.cs": CLIENT}, tmp_path), capture_output=True, text=True)
    why = "the squared length of the quaternion is below 1e-12, infinite or NaN"
    assert found.stdout.splitlines() == ["True", f"RotationV1: out-of-range: {why}"]
    build(export(made_of, "game", tests=True), tmp_path)

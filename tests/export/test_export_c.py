"""Codecs in C: golden files, quaternions and random layouts, as the compilers of C and C++ run them."""

from __future__ import annotations

import json
import platform
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from construct import (
    Array,
    BitsInteger,
    BitsSwapped,
    BitStruct,
    Bytes,
    ByteSwapped,
    Const,
    CString,
    Flag,
    If,
    Int8sb,
    Int8ub,
    Int32ub,
    Struct,
    this,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from protocol import PROTOCOLS
from tests.export.machine import Machine
from tests.export.test_export_read import wanted
from tests.export.toolchain_c import CHECKED, COMPILERS, EXCESS, FASTEST, ask, build
from tests.strategies import layouts, lowered, mutated, name_layout, samples
from wirelock import Protocol, Record, derived, max_, min_, quaternion
from wirelock.errors import DecodeError, ExportError, NegotiationError
from wirelock.export.c.codec import export
from wirelock.export.lower.declare import program, program_of
from wirelock.golden.vectors import read
from wirelock.layout.nodes import Layout
from wirelock.layout.sizes import size_of
from wirelock.layout.walk import walk

FIXTURES = sorted(Path("fixtures").glob("*/v*.json"))
PROGRAM = program(PROTOCOLS, target="c")
BUILDS = [(compiler, flags) for compiler in COMPILERS for flags in (CHECKED, FASTEST)]
if platform.machine() in ("x86_64", "AMD64"):
    BUILDS.append(("gcc", EXCESS))
STRICT = ("-Wsign-conversion", "-Wdouble-promotion")


@pytest.fixture(scope="module", params=BUILDS, ids=lambda item: "".join((item[0], *item[1][:2])))
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    compiler, flags = request.param
    return build(
        export(PROGRAM, "game", tests=True), tmp_path_factory.mktemp("c"), compiler, (*flags, *STRICT)
    )


def test_golden_files_hold(runner: list[str]) -> None:
    tests = 0
    for path in FIXTURES:
        file = read(path)
        tests += len(file.poses) + sum(len(case.promises) or 1 for case in file.cases)
    found = subprocess.run([*runner, "golden", *map(str, FIXTURES)], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, ""), found.stdout[:2000]
    lines = found.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("TAP version 14", f"1..{tests}")
    assert sum(line.startswith("ok ") for line in lines) == tests


def test_quaternions_are_those_of_the_library_to_the_last_bit(runner: list[str]) -> None:
    """100 000 of any length and near ties, each encoded, and what comes out decoded."""
    random = np.random.default_rng(5)
    given = random.standard_normal((100_000, 4)).astype(np.float32)
    given[::5] *= np.float32(1e-6)
    given[1::5, 1] = given[1::5, 0]
    given[2::5] = np.sign(given[2::5]) * (0.5 + random.integers(-3, 4, (20_000, 4)) * 2.0**-16)
    words = given.view(np.uint32)
    encoded = ask(runner, (f"encode 16 0 {x:08x} {y:08x} {z:08x} {w:08x}" for x, y, z, w in words.tolist()))
    packets = quaternion.encode_array(given, on_error="mask")
    rows = ["fault out-of-range" if row[0] is None else f"ok {_spaced(row)}" for row in packets.tolist()]
    assert encoded == rows
    kept = packets.compressed().reshape(-1, 4)
    decoded = ask(runner, (f"decode 16 0 {_spaced(row)}" for row in kept.tolist()))
    bits = quaternion.decode_array(kept).view(np.uint32)
    assert decoded == [f"ok {x:08x} {y:08x} {z:08x} {w:08x}" for x, y, z, w in bits.tolist()]


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("bits", [4, 5, 9, 15, 16])
def test_widths_and_the_canonical_form(runner: list[str], bits: int, canonical: bool) -> None:
    random = np.random.default_rng(bits)
    limit = quaternion.width(bits).limit
    packets = np.column_stack([random.integers(-1, 5, 400), random.integers(-limit - 1, limit + 2, (400, 3))])
    packets[::2, 1:] = np.round(packets[::2, 1:] * 0.7)
    answers = ask(runner, (f"decode {bits} {canonical:d} {_spaced(row)}" for row in packets.tolist()))
    assert answers == [_decoded(row, bits, canonical) for row in packets.tolist()]
    quaternions = [answer.removeprefix("ok ") for answer in answers if answer.startswith("ok")]
    again = ask(runner, (f"encode {bits} {canonical:d} {words}" for words in quaternions))
    assert again == [f"ok {_spaced(_encoded(words, bits, canonical))}" for words in quaternions]


def _spaced(numbers: Any) -> str:
    return " ".join(map(str, numbers))


def _decoded(packet: list[int], bits: int, canonical: bool) -> str:
    try:
        found = quaternion.decode(*packet, bits=bits, canonical=canonical)
    except DecodeError as error:
        return f"fault {error.code}"
    return "ok " + " ".join(f"{word:08x}" for word in np.float32(found).view(np.uint32))


def _encoded(words: str, bits: int, canonical: bool) -> tuple[int, ...]:
    floats = np.array([int(word, 16) for word in words.split()], np.uint32).view(np.float32)
    return quaternion.encode(*floats.tolist(), bits=bits, canonical=canonical)


HELLO = PROTOCOLS["snapshot"].hello().to_json()
OTHER = HELLO.replace('"tick":"', '"tick":"0000')  # no fingerprint has twelve digits
PEERS = [
    (HELLO, "ok 3"),
    (HELLO.replace('"3":', '"4":'), "ok 2"),
    (HELLO.replace("snapshot", "other"), "fault -"),
    (OTHER, "fault -"),
    (HELLO[:-1], "fault -"),
    ("[" * 200 + "]" * 200, "fault -"),
    (HELLO.replace(":1,", ":1.0,", 1), "fault -"),
    (HELLO.replace(":1,", f':1,"more":{"[" * 100}{"]" * 100},', 1), "ok 3"),
    (HELLO.replace('"versions":{', '"versions":{"3":0,"2":{},'), "ok 3"),
    (HELLO.replace('"versions":{', '"versions":{"9":0,'), "fault -"),
    (HELLO.replace('"parts":{', '"parts":{"tick":0,'), "ok 3"),
    (HELLO.replace('"3":', r'"\u0033":').replace(':"f', r':"\u0066'), "ok 3"),
    (HELLO.replace(":1,", f':1,"more":"{"é" * ((1 << 20) - len(HELLO) - 10)}",', 1), "ok 3"),
    (HELLO.replace(":1,", f':1,"more":"{"é" * ((1 << 20) - len(HELLO) - 9)}",', 1), "fault -"),
]


@pytest.mark.parametrize(("hello", "answer"), PEERS, ids=range(len(PEERS)))
def test_negotiation(runner: list[str], hello: str, answer: str) -> None:
    try:
        assert f"ok {PROTOCOLS['snapshot'].negotiate(hello).version}" == answer
    except NegotiationError:
        assert answer == "fault -"
    assert ask(runner, [f"negotiate snapshot {hello}"]) == [answer]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_two_headers_stand_beside_each_other(compiler: str, tmp_path: Path) -> None:
    """Nothing in a header is without its name, and nothing is defined twice."""
    files = export(PROGRAM, "old", tests=False) | export(PROGRAM, "new-game", tests=False)
    includes = "".join(f'#include "{path}"\n' * 2 for path in files)
    source = (
        f"{includes}int main(void)\n{{\n    return OLD_ROTATION_V1_SIZE - NEW_GAME_ROTATION_V1_SIZE;\n}}\n"
    )
    command = build({**files, "both_test.c": source}, tmp_path, compiler, ("-O1",))
    assert subprocess.run(command).returncode == 0


FACE = """
#include <stdio.h>
#include "game.h"

static void tell(bool went, const game_fault *fault)
{
    if (went) {
        puts("went through");
    } else {
        const int byte = fault->byte == GAME_NOWHERE ? -1 : (int)fault->byte;
        printf("%s %d %d %s\\n", fault->code, byte, fault->bit, fault->path);
    }
}

int main(void)
{
    static const uint8_t snapshot[] = {SNAPSHOT};
    static game_entity_v2 entities[2], one[1];
    uint8_t data[GAME_ROTATION_V2_SIZE], bytes[sizeof snapshot];
    size_t size;
    game_fault fault;
    game_snapshot_v2 held;
    game_snapshot_record any;
    game_rotation_v2 rotation = {0, 0, 0, 0, 0};
    game_arena arena = game_arena_over(entities, sizeof entities), small = game_arena_over(one, sizeof one);
    STEPS
    return 0;
}
"""
STEPS = [
    ("game_rotation_v2_parse(NULL, 0, &rotation, &fault)", "truncated 0 7 flags"),
    ("game_snapshot_parse(NULL, 0, &any, &arena, &fault)", "truncated 0 -1 magic"),
    ("game_snapshot_v2_parse(snapshot, sizeof snapshot, &held, &small, &fault)", "no-memory 9 -1 entities"),
    ("game_snapshot_parse(snapshot, sizeof snapshot, &any, &arena, &fault)", "went through"),
    ("any.version == 2 && any.as.v2.entities.count == 2", "went through"),
    ("(held = any.as.v2, game_snapshot_v2_build(&held, bytes, 0, &size, &fault))", "no-space -1 -1 "),
    ("game_snapshot_v2_build(&held, bytes, sizeof bytes - 1, &size, &fault)", "no-space -1 -1 "),
    ("game_snapshot_v2_build(&held, bytes, sizeof bytes, &size, &fault)", "went through"),
    ("size == sizeof bytes && memcmp(bytes, snapshot, size) == 0", "went through"),
    (
        "(entities[1].rotation.a = entities[1].rotation.b = 32767,"
        " game_snapshot_v2_build(&held, bytes, sizeof bytes, &size, &fault))",
        "rule:reachable -1 -1 entities[1].rotation",
    ),
    (
        "(entities[0].position.y = 1e9f, game_snapshot_v2_build(&held, bytes, sizeof bytes, &size, &fault))",
        "out-of-range -1 -1 entities[0].position.y",
    ),
    (
        "(entities[1].rotation.largest_index = 4,"
        " game_snapshot_v2_build(&held, bytes, sizeof bytes, &size, &fault))",
        "out-of-range -1 -1 entities[1].rotation.largest_index",
    ),
    ("(rotation.flags = 64, game_rotation_v2_build(&rotation, data, &fault))", "out-of-range -1 -1 flags"),
    ("(rotation.flags = 63, game_rotation_v2_build(&rotation, data, &fault))", "went through"),
    ("data[0] == 0xFC", "went through"),
]
"""What a program calls, in this order, and how it ends: code, byte, bit and path of the fault."""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_a_program_is_told(compiler: str, tmp_path: Path) -> None:
    entity = "1, 0, " + "0, " * 12 + "0, " + "0, " * 6
    octets = "'W', 'S', 2, 0, 0, 0, 0, 2, 0, " + 2 * entity
    steps = "\n    ".join(f"tell({step}, &fault);" for step, _ in STEPS)
    source = FACE.replace("SNAPSHOT}", f"{octets}}}").replace("STEPS", steps)
    command = build({**export(PROGRAM, "game", tests=False), "face_test.c": source}, tmp_path, compiler)
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.stdout.splitlines() == [told for _, told in STEPS], found.stderr


def test_a_hello_may_be_longer_than_a_literal(tmp_path: Path) -> None:
    """With the parts of a thousand fields, the second of which has another fingerprint at the peer."""
    parts = {f"field{number}": f"{number:08x}" for number in range(1000)}
    ours = {"fingerprint": "0" * 16, "parts": parts}
    others = {"fingerprint": "1" * 16, "parts": {**parts, "field1": "f" * 8}}
    hello = {"wirelock_hello": 1, "protocol": "rotation", "versions": {"1": ours}}
    protocol = replace(PROGRAM.protocols[0], hello=json.dumps(hello))
    made = replace(PROGRAM, protocols=(protocol, *PROGRAM.protocols[1:]))
    command = build(export(made, "game", tests=True), tmp_path)
    asked = [json.dumps({**hello, "versions": {"1": version}}) for version in (ours, others)]
    answers = ask(command, (f"negotiate rotation {text}" for text in asked))
    assert answers == ["ok 1", "fault field1"]


class Ping(
    Record, layout=Struct("magic" / Const(b"PI"), "version" / Const(1, Int8ub), "text" / CString("utf-8"))
):
    magic: bytes = derived()
    version: int = derived()
    text: str


PINGS = Protocol("ping", {1: Ping}, tag=("magic", "version"), repeats=True)
ONE = b"PI\1a\0"
DATAGRAMS = [ONE, 2 * ONE, b"", ONE + b"PI", ONE + b"XX\1", ONE + b"PI\2", ONE[:-1], ONE + ONE[:-1], b"X"]
ALL = """
#include <stdio.h>
#include <stdlib.h>
#include "game.h"

int main(int count, char **words)
{
    uint8_t data[64];
    size_t size = 0, at = 0, number = 0;
    game_ping_record record;
    game_fault fault;
    for (; count == 2 && words[1][2 * size] != 0; size++) {
        const char digits[] = {words[1][2 * size], words[1][2 * size + 1], 0};
        data[size] = (uint8_t)strtol(digits, NULL, 16);
    }
    do {
        if (!game_ping_protocol_next(data, size, &at, number, &record, &fault)) {
            printf("%s %d %s\\n", fault.code, (int)fault.byte, fault.path);
            return 0;
        }
        number++;
    } while (at < size);
    printf("%d\\n", (int)number);
    return 0;
}
"""


def test_the_records_of_a_datagram(tmp_path: Path) -> None:
    files = export(program([PINGS], target="c"), "game", tests=False)
    command = build({**files, "all_test.c": ALL}, tmp_path)
    for datagram in DATAGRAMS:
        try:
            wanted = str(len([*PINGS.parse_all(datagram)]))
        except DecodeError as error:
            wanted = f"{error.code} {error.byte} {error.path}"
        found = subprocess.run([*command, datagram.hex()], capture_output=True, text=True)
        assert found.stdout == f"{wanted}\n", (datagram, found.stderr)


@settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.generate],
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
            program_of({name: layout}, target="c")
        except ExportError:
            continue
        drawn[name] = layout
        octets = data.draw(samples(layout))[0]
        tries = [octets, octets + b"\0", *(data.draw(mutated(octets)) for _ in range(4))]
        requests += [(name, item) for item in [*tries, *(octets[:end] for end in range(len(octets))[:24])]]
    compare(drawn, requests, tmp_path_factory.mktemp("layouts"))


def compare(layouts_: dict[str, Layout], requests: list[tuple[str, bytes]], folder: Path) -> list[str]:
    """Ask a program for layouts about datagrams: it answers as the engines do; return the answers."""
    made = program_of(layouts_, target="c")
    command = build(export(made, "codec", tests=True), folder, flags=(*CHECKED, *STRICT))
    answers = ask(command, (f"parse {name}/v1 {octets.hex() or '-'}" for name, octets in requests))
    machine, records = Machine(made), {item.name: item.versions[0].record for item in made.protocols}
    for (name, octets), answer in zip(requests, answers, strict=True):
        fault = wanted(layouts_[name], octets)
        if fault is None:
            held, _ = machine.parse(records[name], octets)
            assert held is not None
            told = machine.tell(held).replace(", ", ",").replace(": ", ":")
            verdict, again, record = answer.split(" ", 2)
            assert (verdict, again) == ("ok", octets.hex() or "-"), answer
            assert record.replace(", ", ",").replace(": ", ":") == told
        else:
            places = ("-" if place is None else str(place) for place in (fault.byte, fault.bit))
            assert answer == " ".join(["fault", fault.code, *places, fault.path or "-"]), octets.hex()
    return answers


A, K = this.a & 63, this.a & 31
MANY = [f"f{number}" for number in range(48)]
WIDE = {
    f"if_{number}": Struct("a" / Int8ub, "b" / Int8sb, "c" / Int32ub, "d" / If(condition, Int8ub))
    for number, condition in enumerate(
        (2 >> A == 0, 256 >> A > 0, this.b >> A < 0, this.c >> A == 0, 1 << K > 5, 2 << K > 5, -3 << K < -9,
         this.b << K > 5, this.c << K > 5, (1 << K) + (1 << K) > 5, min_(this.b, this.c) >= -(2**52),
         max_(this.a, this.b) <= 2**40, this.a & 0 <= this.a, this.a - this.b < 2**31, this.c >> 8 < 2**24,
         this.c // 2**33 == 0, this.a * this.c < 2**41)
    )
} | {
    "array": Struct("a" / Int8ub, "d" / Array(1 << K, Int8ub)),
    "bytes": Struct("a" / Int8ub, "d" / Bytes(1 << K)),
    "sum": Struct(*(name / Int8ub for name in MANY), "d" / If(sum(this[name] for name in MANY) > 5, Int8ub)),
    "flags": BitStruct(*(name / Flag for name in MANY)),
} | {
    f"{number}_{first}_{width}_{signed:d}": order(
        BitStruct("p" / BitsInteger(first), "w" / BitsInteger(width, signed=signed), "t" / BitsInteger(rest))
    )
    for number, order in enumerate([lambda bits: bits, BitsSwapped, ByteSwapped])
    for first, width, rest in [(7, 64, 1), (1, 64, 7), (4, 57, 3), (5, 62, 5), (9, 48, 7)]
    for signed in (False, True)
}  # fmt: skip


def test_shifts_and_integers_that_take_many_parts(tmp_path: Path) -> None:
    """No operator leaves its type, and an integer whose bits are scattered takes no time to export."""
    named = {name: name_layout(walk(construct))[0] for name, construct in WIDE.items()}
    random = Random(3)
    ends = [b"\0" * 48, b"\xff" * 48, b"\x80" + b"\0" * 47, *(random.randbytes(48) for _ in range(9))]
    tries = [
        bytes([a, *more])
        for a in range(64)
        for more in ([], [7], [2, 0, 0, 0, 2], [255] * 6, [128, 1, *[0] * 4])
    ]
    asked = [(name, octets) for name in named if name[:2] in ("if", "ar", "by") for octets in tries]
    for name in named.keys() - {name for name, _ in asked}:
        asked += [(name, octets[: size_of(named[name]).lowest // 8]) for octets in ends]
    for (name, octets), answer in zip(asked, compare(named, asked, tmp_path), strict=True):
        if answer.startswith("ok "):
            told, parsed = json.loads(answer.split(" ", 2)[2]), WIDE[name].parse(octets)
            assert all(str(told[label]) == str(parsed[label]) for label in ("p", "w", "t") if label in told)


GOLDEN = json.loads(FIXTURES[0].read_text())
CASE, POSE = GOLDEN["cases"][0], GOLDEN["poses"][0]
SPOILED = [
    ({"cases": [], "poses": []}, "it has no cases"),
    ({"protocol": "other"}, "the codec has no such protocol"),
    ({"version": 77}, "the codec has no such version of the protocol"),
    ({"version": 1.5}, "a golden file without"),
    ({"cases": [{**CASE, "promises": ["decode-new"]}]}, "a promise that is neither"),
    ({"cases": [{**CASE, "promises": []}]}, "a case without promises"),
    ({"cases": [{**CASE, "bytes": "0g"}]}, "bytes of a case that are no"),
    *(({"cases": value}, "a ") for value in ({}, None, [None], [[]], [{}], [CASE, 1], ["a"])),
    *(({"cases": [{**CASE, key: value}]}, "a case without") for key in ("id", "bytes") for value in (1, [])),
    ({"cases": [{key: value for key, value in CASE.items() if key != "record"}]}, "a case without"),
    *(({"poses": [{**POSE, key: None}]}, "a pose without") for key in ("id", "direction")),
    ({"poses": 1}, "a golden file without"),
    ({"digest": None}, "a golden file without"),
]  # fmt: skip


def test_files_that_prove_nothing_are_refused(runner: list[str], tmp_path: Path) -> None:
    """With one line for each and no crash, wherever the text is cut; a byte order mark is none of it."""
    text = json.dumps(GOLDEN)
    cut = [(text[:end], "this is no golden file") for end in range(0, len(text), 997)]
    texts = [*cut, ("[" * 100_000, "this is no golden file"), (text + "]", "this is no golden file")]
    texts += [(json.dumps(GOLDEN | spoiled), told) for spoiled, told in SPOILED]
    for number, (spoiled, _) in enumerate(texts):
        (tmp_path / f"{number}.json").write_text(spoiled)
    names = [str(tmp_path / f"{number}.json") for number in range(len(texts))]
    found = subprocess.run([*runner, "golden", *names], capture_output=True, text=True)
    told = found.stderr.splitlines()
    assert found.returncode == 2 and len(told) == len(texts), found.stderr[-2000:]
    for name, line, (_, wanted_line) in zip(names, told, texts, strict=True):
        assert line.startswith(f"{name}: {wanted_line}")
    (tmp_path / "marked.json").write_text(text, "utf-8-sig")
    assert subprocess.run([*runner, "golden", tmp_path / "marked.json"], stdout=-3).returncode == 0
    (tmp_path / "edited.json").write_text(json.dumps(GOLDEN | {"digest": "sha256:" + "0" * 64}))
    found = subprocess.run([*runner, "golden", tmp_path / "edited.json"], capture_output=True, text=True)
    assert found.returncode == 1 and "\nnot ok 1 - rotation/v1 digest\n" in found.stdout
    for line in ("", "parse rotation/v1", "parse rotation/ 00", "encode 3 0 0 0 0 0", "negotiate x {}"):
        asked = subprocess.run([*runner, "lines"], input=f"{line}\n", capture_output=True, text=True)
        assert (asked.returncode, asked.stderr) == (2, f"not a request: {line.split(' ')[0]}\n")


def test_fields_may_be_called_as_macros_are(tmp_path: Path) -> None:
    """As any of the headers of C, which defines them before or behind what was exported."""
    headers = ("math", "stdint", "inttypes", "limits", "float", "stdio", "stddef", "stdlib", "stdarg")
    includes = "".join(f"#include <{header}.h>\n" for header in headers)
    command = ["gcc", "-D_GNU_SOURCE", "-dM", "-E", "-"]
    macros = subprocess.run(command, input=includes, capture_output=True, text=True, check=True).stdout
    names = [line.split()[1] for line in macros.splitlines() if "(" not in line.split()[1]]
    names = [name for name in names if not name.startswith("_")]
    layout = name_layout(walk(Struct(*(name / Int8ub for name in names))))[0]
    files = export(program_of({"macros": layout}, target="c"), "codec", tests=True)
    files = {path: includes + text if path.endswith(".h") else text for path, text in files.items()}
    runner = build(files, tmp_path, flags=("-D_GNU_SOURCE",))
    octets = bytes(number % 251 for number in range(len(names)))
    (answer,) = ask(runner, [f"parse macros/v1 {octets.hex()}"])
    assert answer.startswith("ok ") and [*json.loads(answer.split(" ", 2)[2]).values()] == [*octets]

"""What is true of C alone: one header that is C++ too, others beside it, arenas, and long hellos."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from construct import (
    Array,
    BitsInteger,
    BitsSwapped,
    BitStruct,
    Bytes,
    ByteSwapped,
    Flag,
    GreedyRange,
    If,
    Int8sb,
    Int8ub,
    Int32ub,
    Struct,
    this,
)

from protocol import PROTOCOLS
from tests.export.languages import COMPILERS, WAYS, ask, compile_c, refused
from tests.export.machine import Machine
from tests.export.test_export_read import wanted
from tests.strategies import name_layout
from wirelock.export.c.codec import export
from wirelock.export.lower.declare import program, program_of
from wirelock.layout.expression import max_, min_
from wirelock.layout.nodes import Layout
from wirelock.layout.sizes import size_of
from wirelock.layout.walk import walk

FIXTURES = sorted(Path("fixtures").glob("*/v*.json"))
PROGRAM = program(PROTOCOLS, target="c")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_two_headers_stand_beside_each_other(compiler: str, tmp_path: Path) -> None:
    """Nothing in a header is without its name, and nothing is defined twice."""
    files = export(PROGRAM, "old", tests=False) | export(PROGRAM, "new-game", tests=False)
    includes = "".join(f'#include "{path}"\n' * 2 for path in files)
    source = (
        f"{includes}int main(void)\n{{\n    return OLD_ROTATION_V1_SIZE - NEW_GAME_ROTATION_V1_SIZE;\n}}\n"
    )
    command = compile_c({**files, "both_test.c": source}, tmp_path, compiler, ("-O1",))
    assert subprocess.run([command]).returncode == 0


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
    command = compile_c({**export(PROGRAM, "game", tests=False), "face_test.c": source}, tmp_path, compiler)
    found = subprocess.run([command], capture_output=True, text=True)
    assert found.stdout.splitlines() == [told for _, told in STEPS], found.stderr


def test_a_hello_may_be_longer_than_a_literal(tmp_path: Path) -> None:
    """With the parts of a thousand fields, the second of which has another fingerprint at the peer."""
    parts = {f"field{number}": f"{number:08x}" for number in range(1000)}
    ours = {"fingerprint": "0" * 16, "parts": parts}
    others = {"fingerprint": "1" * 16, "parts": {**parts, "field1": "f" * 8}}
    hello = {"wirelock_hello": 1, "protocol": "rotation", "versions": {"1": ours}}
    made = program([PROTOCOLS["rotation"]], target="c")
    made = replace(made, protocols=(replace(made.protocols[0], hello=json.dumps(hello)),))
    command = WAYS["gcc"].runner(export(made, "game", tests=True), tmp_path)
    asked = [json.dumps({**hello, "versions": {"1": version}}) for version in (ours, others)]
    answers = ask(command, (f"negotiate rotation {text}" for text in asked))
    assert answers == ["ok 1", "fault field1"]


def compare(layouts_: dict[str, Layout], requests: list[tuple[str, bytes]], folder: Path) -> list[str]:
    """Ask a program for layouts about datagrams: it answers as the engines do; return the answers."""
    made = program_of(layouts_, target="c")
    command = WAYS["gcc"].runner(export(made, "codec", tests=True), folder)
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
            assert answer == refused(fault), octets.hex()
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


def test_files_that_prove_nothing_are_refused(tmp_path: Path) -> None:
    """With one line for each and no crash, wherever the text is cut; a byte order mark is none of it."""
    runner = WAYS["gcc"].runner(export(PROGRAM, "game", tests=True), tmp_path / "codec")
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
    runner = [str(compile_c(files, tmp_path, flags=("-D_GNU_SOURCE",)))]
    octets = bytes(number % 251 for number in range(len(names)))
    (answer,) = ask(runner, [f"parse macros/v1 {octets.hex()}"])
    assert answer.startswith("ok ") and [*json.loads(answer.split(" ", 2)[2]).values()] == [*octets]


def test_a_type_that_a_function_needs_first_is_declared_for_all(tmp_path: Path) -> None:
    """Two bytes are a local of the one record's function, and the elements of the other's list."""
    first = Struct("v" / Bytes(2), "x" / If(this.v == b"ab", Int8ub))
    sources = {"first": first, "second": Struct("c" / GreedyRange(Bytes(2)))}
    named = {name: name_layout(walk(source))[0] for name, source in sources.items()}
    compare(named, [("first", b"ab1"), ("first", b"cd"), ("second", b"abcd"), ("second", b"abc")], tmp_path)

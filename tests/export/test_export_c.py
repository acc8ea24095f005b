"""What is true of C alone: one header that is C++ too, others beside it, arenas, and long hellos."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from protocol import PROTOCOLS
from tests.export.languages import COMPILERS, WAYS, ask, compile_c
from wirelock.export.c.codec import export
from wirelock.export.lower.declare import program

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

"""What is true of C# alone: casts that round, a client's view of the code, names, and doc comments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from construct import Array, Const, Int8ub, Int16sb, Int16ub, Struct

from protocol import PROTOCOLS
from tests.export.languages import SHARP, STRICT, WAYS, ask, compile_csharp, run
from wirelock import Protocol, Record, derived, quaternion
from wirelock.export.csharp.codec import export
from wirelock.export.lower.declare import program


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

"""state_hash: of bytes, so that what only looks the same has another hash."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from construct import Byte, Float32b, Float32l, Int16ub, Int16ul, Struct
from hypothesis import given
from hypothesis import strategies as st

from protocol import PROTOCOLS
from protocol.rotation import PoseFlags, RotationV1, RotationV2
from protocol.snapshot import EntityV2, Position, SnapshotV1, SnapshotV2
from tests.schema.record_maker import make
from wirelock import EncodeError, Record, SchemaError, state_hash
from wirelock.layout.canonical import digest
from wirelock.schema.record import layout_of

ROOT = Path(__file__).parents[2]
IDENTITY = RotationV2(flags=PoseFlags(0), largest_index=3, a=0, b=0, c=0)


class Float(Record, layout=Struct("x" / Float32l)):
    x: float


def at(x: float) -> SnapshotV2:
    position = Position(x=x, y=0.0, z=0.0)
    return SnapshotV2(tick=1, entities=(EntityV2(id=1, position=position, rotation=IDENTITY),))


TICK_NINE = "0d5104ecff4b49c43528f414ce6148a8b6c66d36862296675fc3e67b16347aa9"
MINUS_ZERO = "b57cd3dbde376310cafa0077d302d5bc32af12de38721bdf79ecd44056c7d3c8"


def test_what_is_hashed() -> None:
    """As docs/verify.md says it to other runtimes."""
    record = SnapshotV2(tick=9, entities=())
    line = digest(layout_of(SnapshotV2)) + "\n"
    assert state_hash(record) == hashlib.sha256(line.encode() + record.build()).hexdigest()
    page = (ROOT / "docs/verify.md").read_text("utf-8")
    for shown in (line.strip(), record.build().hex(), TICK_NINE):
        assert f"| `{shown}` |" in page
    assert len(state_hash(record)) == 64 and set(state_hash(record)) <= set("0123456789abcdef")


def test_a_hash_is_what_it_was() -> None:
    """Other runtimes and recorded sessions hold these: they may not change from one release to the next."""
    assert state_hash(SnapshotV2(tick=9, entities=())) == TICK_NINE
    assert state_hash(at(-0.0)) == MINUS_ZERO


def test_values_that_are_equal_and_bytes_that_are_not() -> None:
    """The case for bytes: == calls these the same, a checksum of values would too, and peers do not."""
    plus, minus = at(0.0), at(-0.0)
    assert plus == minus and hash(plus) == hash(minus)
    assert plus.build() != minus.build()
    assert state_hash(plus) != state_hash(minus)


def test_values_that_print_the_same_and_bytes_that_are_not() -> None:
    quiet, payload = (Float.parse(bytes.fromhex(text)) for text in ("0000c07f", "0100c07f"))
    assert repr(quiet) == repr(payload) == "Float(x=nan)"
    assert quiet != Float.parse(quiet.build())  # a NaN is not even equal to itself
    assert state_hash(quiet) == state_hash(Float.parse(quiet.build()))
    assert state_hash(quiet) != state_hash(payload)


def test_a_float_is_hashed_as_the_wire_has_it() -> None:
    """0.1 has one text in binary64 and another in binary32; both are these four bytes."""
    assert state_hash(Float(x=0.1)) == state_hash(Float(x=struct.unpack("<f", struct.pack("<f", 0.1))[0]))


LAYOUTS = {
    "the order of bytes": (Struct("x" / Int16ul), Struct("x" / Int16ub), {"x": int}, b"\7\7"),
    "the names of fields": (Struct("x" / Byte, "y" / Byte), Struct("y" / Byte, "x" / Byte), None, b"\1\1"),
    "the type": (Struct("x" / Float32l), Struct("x" / Float32b), {"x": float}, b"\0\0\0\0"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_same_bytes_of_another_layout_are_another_state(name: str) -> None:
    one, other, annotations, data = LAYOUTS[name]
    records = [
        make("Made", source, annotations or {item.name: int for item in source.subcons}).parse(data)
        for source in (one, other)
    ]
    assert records[0].build() == records[1].build()
    assert state_hash(records[0]) != state_hash(records[1])


def test_two_versions_with_the_same_bytes_are_two_states() -> None:
    data = bytes.fromhex("0315c08624bded")
    assert RotationV1.parse(data).build() == RotationV2.parse(data).build()
    assert state_hash(RotationV1.parse(data)) != state_hash(RotationV2.parse(data))


def test_the_names_of_classes_do_not_count() -> None:
    class Another(Record, layout=Float.layout):
        x: float

    assert state_hash(Another(x=2.5)) == state_hash(Float(x=2.5))


def test_a_record_with_its_protocol_and_version() -> None:
    parsed = PROTOCOLS.parse(SnapshotV1(tick=3, entities=()).build())
    assert state_hash(parsed) == state_hash(parsed.record) == state_hash(SnapshotV1(tick=3, entities=()))


def test_what_cannot_be_sent_has_no_hash() -> None:
    smuggled = IDENTITY.model_copy(update={"largest_index": 9})
    with pytest.raises(EncodeError, match=r"largest_index: 9 is not in 0\.\.3"):
        state_hash(smuggled)
    with pytest.raises(SchemaError, match="the class has no layout"):
        state_hash(Record())


@given(tick=st.integers(0, 2**32 - 1), other=st.integers(0, 2**32 - 1))
def test_two_records_have_one_hash_if_they_have_the_same_bytes(tick: int, other: int) -> None:
    one, two = SnapshotV2(tick=tick, entities=()), SnapshotV2(tick=other, entities=())
    assert (state_hash(one) == state_hash(two)) == (one.build() == two.build())
    assert state_hash(SnapshotV2.parse(one.build())) == state_hash(one)


def test_another_process_has_the_same() -> None:
    code = (
        "from protocol.snapshot import SnapshotV2; from wirelock import state_hash;"
        " print(state_hash(SnapshotV2(tick=9, entities=())))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert run.stdout.strip() == TICK_NINE


def test_other_runtimes_take_the_layout_from_the_lock() -> None:
    """A lock's digest has the tag in it too, and is not what is hashed; a record knows no protocol."""
    lock = json.loads((ROOT / "protocol/wirelock.lock").read_text("utf-8"))
    entry = lock["protocols"]["rotation"]["v2"]
    assert entry["tag"] == [] and entry["digest"] == digest(layout_of(RotationV2))

"""Running vectors in this process: promises, poses, making cases, linting files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from construct import Int8ul, Struct

from protocol import PROTOCOLS
from wirelock import Protocol, Record
from wirelock.errors import EncodeError, Fault, GoldenError
from wirelock.golden.run import ENGINES, Mismatch, lint, make_case, run, run_case, run_pose
from wirelock.golden.vectors import Pose, Refusal, read_text

rotation = PROTOCOLS["rotation"]
snapshot = PROTOCOLS["snapshot"]


def mismatch(found) -> Mismatch:
    assert isinstance(found, Mismatch)
    assert "\n" not in found.reason
    return found


def golden(goldens, name):
    return read_text(json.dumps(goldens()[name]), name)


# -- making cases


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("name", "version", "octets"),
    [
        ("lamp", 1, "010203"),
        ("lamp", 1, "0403e8"),
        ("lamp", 1, "02ffff"),
        ("lamp", 1, "01020304"),
        ("lamp", 1, ""),
        ("lists", 1, "4c0100"),
        ("lists", 1, "4c0102000100"),
        ("lists", 1, "4c"),
        ("lists", 1, "4c09"),
        ("lists", 1, "58"),
        ("lists", 2, "4c020100c0ff6162"),
        ("lists", 2, "4c0201008f7f6162"),
    ],
)
def test_a_case_that_was_made_holds(small, engine, name, version, octets):
    protocol = small[name]
    case = make_case(
        protocol, version, bytes.fromhex(octets), id="x", comment="A case.", source="hand", flags=["f"]
    )
    assert (case.data.hex(), case.source, case.flags) == (octets, "hand", ("f",))
    assert (case.record is None) == (case.error is not None) == (case.promises == ())
    assert run(protocol, version, case, engine) is None
    assert run_case(protocol, version, case, engine) is None


def test_what_a_made_case_says(small):
    case = make_case(small["lists"], 2, b"L\2\1\0\xc0\x7fab", id="x", comment="c", source="hand")
    assert case.record == {"magic": "4c", "version": 2, "x": {"bits": "7fc00001"}, "name": "6162"}
    assert case.promises == ("decode-old", "encode-exact")
    case = make_case(
        small["lists"], 2, b"L\2\1\0\xc0\x7fab", id="x", comment="c", source="hand", promises=["decode-old"]
    )
    assert case.promises == ("decode-old",)
    case = make_case(small["lists"], 1, b"L\1\2\0", id="x", comment="c", source="hand")
    assert (case.error, case.promises, case.record) == (Refusal("truncated", "xs[0]", 3), (), None)


@pytest.mark.parametrize(
    ("data", "told"), [(b"L\2\0\0\0\0ab", "are a ListV2, not lists v1"), (b"L\2", "refused as lists v2")]
)
def test_bytes_of_another_version_make_no_case(small, data, told):
    with pytest.raises(GoldenError, match=told):
        make_case(small["lists"], 1, data, id="x", comment="c", source="hand")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_version_that_was_unknown_stays_so_in_an_older_file(small, engine):
    """The case was written when there was no v2 yet; it says what a reader of v1 does."""
    case = make_case(small["lists"], 1, b"L\3\0", id="later", comment="A case.", source="hand")
    assert case.error == Refusal("unknown-version", "version", 1)
    known_now = replace(case, data=b"L\2\0")
    assert run(small["lists"], 1, known_now, engine) is None
    assert "wanted unknown-version" in mismatch(run(small["lists"], 2, known_now, engine)).reason


# -- promises


def test_each_promise_is_looked_at_by_itself():
    data = bytes.fromhex("0315c08624bded")
    case = make_case(rotation, 1, data, id="x", comment="c", source="hand")
    other = replace(case, record=case.record | {"c": -4674})
    for promises, said in [
        (("decode-old",), "decode-old: the record differs: c: the case has -4674, the bytes are -4675"),
        (("encode-exact",), "encode-exact: the record builds other bytes: the first difference is at byte 5"),
        (("decode-old", "encode-exact"), "decode-old: "),
    ]:
        for engine in ENGINES:
            found = mismatch(run(rotation, 1, replace(other, promises=promises), engine))
            assert found.reason.startswith(said)
            assert found.detail[-1].startswith(">  5..6  c")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"c": None}, "c: Input should be a valid integer"),
        ({"c": 32768}, "c: Input should be less than or equal to 32767"),
        ({"largest_index": 4}, "largest_index: Input should be less than or equal to 3"),
        ({"d": 1}, "d: Extra inputs are not permitted"),
        ({"a": 32767, "b": 32767}, "the rule reachable does not hold"),
    ],
)
def test_a_record_that_does_not_load(change, said):
    case = make_case(rotation, 1, bytes.fromhex("0315c08624bded"), id="x", comment="c", source="hand")
    wrong = replace(case, record=case.record | change, promises=("encode-exact",))
    found = mismatch(run(rotation, 1, wrong, "generated"))
    assert found.reason.startswith(f"encode-exact: the record is refused: {said}")
    assert found.detail  # the bytes at least


def test_differences_deep_inside():
    header = bytes.fromhex("575301000000000200")
    entity = bytes.fromhex("010000000080000000000000000003000000000000")
    data = header + 2 * (entity[:2] + b"\0" + entity[2:])
    case = make_case(snapshot, 1, data, id="x", comment="c", source="hand", promises=["decode-old"])
    record = json.loads(json.dumps(case.record))
    record["entities"][1]["flags"] = True
    record["entities"][1]["position"]["x"] = 7
    record["entities"].append({"id": 3})
    found = mismatch(run(snapshot, 1, replace(case, record=record), "generated"))
    assert found.reason == (
        "decode-old: the record differs: entities[1].flags: the case has true, the bytes are 0 and 2 more"
    )
    assert '  entities[2]: the case has {"id": 3}, the bytes are nothing' in found.detail
    del record["entities"][1:]
    found = mismatch(run(snapshot, 1, replace(case, record=record), "generated"))
    assert found.reason.startswith(
        "decode-old: the record differs: entities[1]: the case has nothing, the bytes"
    )


# -- poses

TURN = ("00000000", "00000000", "00000000", "bf800000")
BYTES = bytes.fromhex("03000000000000")
ABOUT = {"id": "x", "comment": "c", "source": "hand"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", [1, 2])
def test_poses(engine, version):
    def ran(**pose):
        return run_pose(rotation, version, Pose(**ABOUT, **pose), engine)

    back = (*TURN[:3], "3f800000")
    assert ran(direction="encode", quaternion=TURN, data=BYTES) is None
    assert ran(direction="decode", quaternion=back, data=BYTES) is None
    assert ran(direction="encode", quaternion=("7fc00000",) * 4, code="out-of-range") is None
    assert ran(direction="decode", data=b"\3" + b"\xff\x7f" * 3, code="rule:reachable") is None

    found = mismatch(ran(direction="encode", quaternion=TURN, data=b"\2" + BYTES[1:]))
    assert found.reason == "the quaternion gives other bytes: the first difference is at byte 0"
    assert found.detail[0] == "00000000 00000000 00000000 bf800000  (0, 0, 0, -1)"
    found = mismatch(ran(direction="encode", quaternion=TURN, code="out-of-range"))
    assert found.reason == "wanted out-of-range, found 03000000000000"
    found = mismatch(ran(direction="encode", quaternion=("00000000",) * 4, data=BYTES))
    assert found.reason.startswith("wanted 03000000000000, found out-of-range: quaternion: squared length 0")
    found = mismatch(ran(direction="encode", quaternion=("00000000",) * 4, code="rule:reachable"))
    assert found.reason.startswith("wanted rule:reachable, found out-of-range")

    found = mismatch(ran(direction="decode", quaternion=TURN, data=BYTES))
    assert found.reason == (
        "wanted 00000000 00000000 00000000 bf800000, found 00000000 00000000 00000000 3f800000"
    )
    minus_zero = ("80000000", *back[1:])
    assert mismatch(ran(direction="decode", quaternion=minus_zero, data=BYTES)).detail[:2] == (
        "80000000 00000000 00000000 3f800000  (-0, 0, 0, 1)",
        "00000000 00000000 00000000 3f800000  (0, 0, 0, 1)",
    )
    found = mismatch(ran(direction="decode", data=BYTES, code="rule:reachable"))
    assert found.reason == "wanted rule:reachable, found 00000000 00000000 00000000 3f800000"
    found = mismatch(ran(direction="decode", quaternion=TURN, data=b"\3" + b"\xff\x7f" * 3))
    assert found.reason.startswith("wanted a quaternion, found rule:reachable: rotation v")
    found = mismatch(ran(direction="decode", data=b"", code="rule:reachable"))
    assert found.reason.startswith("wanted rule:reachable, found truncated")


def test_a_record_without_poses(small):
    pose = Pose(**ABOUT, direction="encode", quaternion=TURN, data=BYTES)
    with pytest.raises(GoldenError, match="LampV1 has no from_quaternion"):
        run_pose(small["lamp"], 1, pose, "generated")


def test_poses_of_a_record_that_only_refuses():
    """Any record with the two functions has poses; what they raise beyond EncodeError is a bug."""

    class Grumpy(Record, layout=Struct("a" / Int8ul)):
        """One byte."""

        a: int

        @classmethod
        def from_quaternion(cls, x: float, y: float, z: float, w: float) -> Grumpy:
            if w < 0:
                raise ZeroDivisionError("no")
            raise EncodeError("grumpy", Fault("out-of-range", "", "this", "none"))

        def to_quaternion(self) -> tuple[float, float, float, float]:
            return 0.1, 0.2, 0.3, self.a

    protocol = Protocol("grumpy", {1: Grumpy})
    pose = Pose(**ABOUT, direction="encode", quaternion=("00000000",) * 4, code="out-of-range")
    assert run(protocol, 1, pose, "reference") is None
    with pytest.raises(ZeroDivisionError):
        run(protocol, 1, replace(pose, quaternion=TURN), "reference")
    back = Pose(
        **ABOUT, direction="decode", data=b"\2", quaternion=("3dcccccd", "3e4ccccd", "3e99999a", "40000000")
    )
    assert run(protocol, 1, back, "generated") is None


# -- linting


def test_a_good_file_has_no_findings(goldens, small):
    assert lint(golden(goldens, "lamp/v1"), small["lamp"]) == []
    assert lint(golden(goldens, "lists/v1"), small["lists"]) == []
    assert lint(golden(goldens, "lists/v2"), small["lists"]) == ["no case is invalid"]


def test_findings(goldens, small):
    lamp, file = small["lamp"], golden(goldens, "lamp/v1")
    red, cut, bright, green = file.cases

    def found(**change):
        return lint(replace(file, **change), lamp)

    assert found(protocol="lists") == [
        "the file is of lists v1, which Protocol('lamp', versions=[1]) has not"
    ]
    assert found(version=2) == ["the file is of lamp v2, which Protocol('lamp', versions=[1]) has not"]
    (finding,) = found(digest="sha256:" + "0" * 64)
    assert finding.startswith("the file is of another layout: its digest is sha256:0000")
    assert found(flags={**file.flags, "more": "x"}) == ["the flag more is explained, but no case has it"]
    assert found(cases=(*file.cases, replace(red, id="crimson"))) == [
        "case crimson: the bytes are those of red"
    ]
    assert found(cases=(cut, bright, green)) == [
        "the flag order is explained, but no case has it",
        "no case is valid",
    ]
    assert found(cases=(red,)) == ["no case is invalid"]
    wrong = replace(cut, error=Refusal("cut-off", "level", 1))
    assert found(cases=(red, wrong)) == ["case cut: no fault of lamp v1 has the code cut-off"]
    wrong = replace(cut, error=Refusal("rule:reachable", "", 0))
    assert found(cases=(red, wrong)) == ["case cut: no fault of lamp v1 has the code rule:reachable"]
    echoes = tuple(replace(case, source="generator") for case in file.cases)
    assert found(cases=echoes) == [
        "every case comes out of the code that it tests: write some by hand, or take a capture"
    ]
    assert found(cases=(replace(red, source="capture"), *echoes[1:])) == []
    pose = Pose(**ABOUT, direction="encode", quaternion=TURN, data=BYTES)
    assert found(poses=(pose,)) == ["there are poses, but LampV1 has no from_quaternion"]

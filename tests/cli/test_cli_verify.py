"""`wirelock verify`: what each packet is, round trips on both engines, and recorded expectations."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.command import (
    PINGS,
    SESSION,
    V1,
    V2,
    capture_of,
    copy_project,
    done,
    on_terminal,
    refused,
    run,
    shell,
    write,
    write_project,
)

ROUND_TRIPS = "every record round-trips on both engines"


@pytest.fixture
def small(tmp_path):
    """A capture of a few packets."""
    return write(tmp_path / "a.pcap", capture_of(V1, V2, V2[:5], b"HELLO"))


def expectation(small):
    path = small.with_name("expected.jsonl")
    done(run("verify", small, "--write", path))
    return path


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    return write(path, text.replace(old, new))


def test_every_packet_has_a_line(small):
    assert done(run("verify", small)).splitlines() == [
        "      1  snapshot v1, 31 bytes, round-trips",
        "      2  snapshot v2, 9 bytes, round-trips",
        "      3  fault truncated at tick of snapshot v2 (byte 3)",
        f"{small}: 4 packets: 2 records, 1 fault, 1 of another protocol",
        ROUND_TRIPS,
    ]


def test_json(small):
    found = json.loads(done(run("verify", small, "--format", "json")))
    assert found == {
        "capture": str(small),
        "packets": 4,
        "foreign": 1,
        "records": {"snapshot v1": 1, "snapshot v2": 1},
        "faults": {"truncated": 1},
        "verdicts": [
            {"packet": 1, "record": "snapshot v1", "size": 31, "problems": []},
            {"packet": 2, "record": "snapshot v2", "size": 9, "problems": []},
            {
                "packet": 3, "record": "snapshot v2", "fault": "truncated", "path": "tick", "byte": 3,
                "problems": [],
            },
        ],
        "differences": None,
    }  # fmt: skip


def test_an_expectation_is_recorded_and_holds(small):
    path = small.with_name("expected.jsonl")
    assert done(run("verify", small, "--write", path)).splitlines()[-1] == f"recorded in {path}"
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == '{"wirelock_expectation": 1, "as": null, "skip": 0, "ports": []}'
    assert lines[2] == (
        '{"packet": 2, "record": "snapshot v2",'
        ' "fields": {"magic": "5753", "version": 2, "tick": 8, "count": 0, "entities": []}}'
    )
    assert lines[3:] == [
        '{"packet": 3, "record": "snapshot v2", "fault": "truncated", "path": "tick", "byte": 3}'
    ]
    assert done(run("verify", small, "--expect", path)).splitlines() == [
        f"{small}: 4 packets: 2 records, 1 fault, 1 of another protocol",
        ROUND_TRIPS,
        f"as expected in {path}",
    ]
    assert sorted(item.name for item in path.parent.iterdir()) == ["a.pcap", "expected.jsonl"]


def test_the_session_is_what_it_was_in_another_process(tmp_path):
    path = tmp_path / "session.jsonl"
    done(run("verify", SESSION, "--write", path))
    assert len(path.read_text("utf-8").splitlines()) == 321
    assert done(run("verify", SESSION, "--expect", path)).splitlines()[-1] == f"as expected in {path}"


def test_what_differs_is_told_by_packet_and_field(small):
    path = edit(expectation(small), '"tick": 8', '"tick": 9')
    lines = path.read_text("utf-8").splitlines()
    write(path, "\n".join([lines[0], *lines[2:]]) + "\n")
    outcome = run("verify", small, "--expect", path)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines() == [
        "packet 1: was nothing, now snapshot v1",
        "packet 2: snapshot v2: tick: was 9, now 8",
        f"{small}: 4 packets: 2 records, 1 fault, 1 of another protocol",
        ROUND_TRIPS,
        f"2 differences from {path}",
    ]
    outcome = run("verify", small, "--expect", path, "--format", "json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["differences"] == [
        {"packet": 1, "was": "nothing", "now": "snapshot v1", "fields": []},
        {
            "packet": 2, "was": "snapshot v2", "now": "snapshot v2",
            "fields": [{"path": "tick", "was": "9", "now": "8"}],
        },
    ]  # fmt: skip


def test_a_layout_that_changed_is_seen_although_it_round_trips(tmp_path, small):
    """What pytest's golden cases cannot know: what was really sent."""
    project = copy_project(tmp_path / "project")
    path = expectation(small)
    edit(project / "protocol/snapshot/v2.py", "Int32ul", "Int32ub")
    outcome = run("verify", small, "--expect", path, cwd=project)
    assert outcome.code == 1
    assert outcome.out.splitlines()[0] == "packet 2: snapshot v2: tick: was 8, now 134217728"
    assert ROUND_TRIPS in outcome.out


def test_a_file_that_is_there_is_not_taken_without_being_told(small):
    path = expectation(small)
    edit(path, '"tick": 8', '"tick": 9')
    before = path.read_bytes()
    refused(run("verify", small, "--write", path), f"{path} is there: compare with it by --expect, or say")
    assert path.read_bytes() == before
    done(run("verify", small, "--write", path, "--overwrite"))
    assert path.read_bytes() != before
    assert run("verify", small, "--expect", path).code == 0


def test_a_selection_is_part_of_an_expectation(small):
    path = small.with_name("e.jsonl")
    data = bytes.fromhex("0000") + V2
    capture = write(small.with_name("b.pcap"), capture_of((data, 1, 2), (data, 3, 4), (V1, 5, 6)))
    options = ("--skip", 2, "--port", 4, "--port", 1, "--as", "snapshot")
    done(run("verify", capture, *options, "--write", path))
    head = '{"wirelock_expectation": 1, "as": "snapshot", "skip": 2, "ports": [1, 4]}'
    assert path.read_text().splitlines()[0] == head
    assert len(path.read_text().splitlines()) == 3
    assert "as expected in" in done(run("verify", capture, *options, "--expect", path))
    for less, told in ((options[2:], "--skip"), (options[:4] + options[6:], "--port"), (options[:6], "--as")):
        outcome = run("verify", capture, *less, "--expect", path)
        refused(outcome, f"{path}: line 1: was recorded with another {told}: say the same, or write it anew")


BROKEN = """
from wirelock.codec.reference import ReferenceEngine
ReferenceEngine.build = lambda engine, record: b"PG\\1\\0\\7"
"""


def test_a_record_that_does_not_round_trip(tmp_path):
    project = write_project(tmp_path, "pings", PINGS + BROKEN)
    capture = write(tmp_path / "a.pcap", capture_of(b"PG\1\0\7PG\1\0\1", b"PG\1\0\7"))
    outcome = run("verify", capture, cwd=project)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines() == [
        "      1  ping v1, 5 bytes, round-trips",
        "      1  ping v1, 5 bytes",
        "packet 1: ping v1: the reference engine builds other bytes, the first of them byte 9",
        "      2  ping v1, 5 bytes, round-trips",
        f"{capture}: 2 packets: 3 records, 0 faults",
        "1 round trip that fails",
    ]
    target = tmp_path / "e.jsonl"
    outcome = run("verify", capture, "--write", target, cwd=project)
    assert outcome.code == 1 and not target.exists()
    assert outcome.err == f"wirelock: {target} was not written: not every record round-trips\n"
    document = json.loads(run("verify", capture, "--format", "json", cwd=project).out)
    assert [len(item["problems"]) for item in document["verdicts"]] == [0, 1, 0]
    assert not list(tmp_path.glob(".wirelock-*"))


def test_standard_input(small):
    text = done(run("verify", "-", given=small.read_bytes()))
    assert "standard input: 4 packets: 2 records, 1 fault" in text


WRONG = {
    "no capture": ((), "Missing argument 'CAPTURE'"),
    "two captures": ((SESSION, SESSION), "unexpected extra argument"),
    "a capture that is not there": (("nope.pcap",), "nope.pcap: No such file or directory"),
    "a folder": (("fixtures",), "fixtures is a directory: name its captures"),
    "text": (("README.md",), "README.md: begins with"),
    "an expectation that is not there": ((SESSION, "--expect", "nope.jsonl"), "nope.jsonl: No such file"),
    "an expectation that is none": ((SESSION, "--expect", "README.md"), "README.md: line 1: Expecting value"),
    "an expectation that is a folder": ((SESSION, "--expect", "docs"), "docs: Is a directory"),
    "both": ((SESSION, "--expect", "x", "--write", "y"), "--write makes one: say one of them"),
    "overwrite of nothing": ((SESSION, "--overwrite"), "--overwrite goes with --write"),
    "no place": ((SESSION, "--write", "/nowhere/e.jsonl"), "/nowhere/e.jsonl: No such file or directory"),
    "the capture itself": ((SESSION, "--write", SESSION, "--overwrite"), "is the capture: write to another"),
    "an unknown protocol": ((SESSION, "--as", "nope"), "no protocol 'nope'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_one_line(name):
    before = SESSION.read_bytes()
    refused(run("verify", *WRONG[name][0]), WRONG[name][1])
    assert SESSION.read_bytes() == before


def test_a_damaged_expectation_is_one_line(small):
    path = edit(expectation(small), '"packet": 3', '"packet": 1')
    outcome = run("verify", small, "--expect", path)
    assert outcome.code == 2 and "Traceback" not in outcome.err
    assert outcome.err == f"wirelock: {path}: line 4: packet 1 comes behind packet 2\n"


def test_a_disk_that_is_full_and_a_reader_that_goes_away(small):
    outcome = run("verify", small, "--write", "/dev/full", "--overwrite")
    assert outcome.code == 2 and "No space left on device" in outcome.err
    assert shell("$W verify $S | head -1; exit ${PIPESTATUS[0]}").code in (0, 141)


def test_a_terminal(small):
    code, shown = on_terminal("verify", os.fspath(small))
    assert code == 0 and ROUND_TRIPS in shown

"""`wirelock golden`: cases out of packets, hex and records; lists, lint, and every vector run."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest

from protocol.snapshot import SnapshotV2
from tests.capture.capture_writer import ethernet, ipv4, pcap, udp
from tests.cli.command import (
    COMMAND,
    ENVIRONMENT,
    SESSION,
    V2,
    capture_of,
    copy_project,
    done,
    payloads_of,
    refused,
    run,
    run_all,
    write,
)
from wirelock.golden.vectors import case_hash, read

V2_FILE = "fixtures/snapshot/v2.json"
ABOUT = ("--comment", "Why.")
HEX = "575302090000000000"
EMPTY_V2 = {"tick": 9, "entities": []}


@pytest.fixture
def project(tmp_path):
    return copy_project(tmp_path)


def added(project, *arguments, file=V2_FILE):
    """Add a case that is taken; return it and what was printed. Every other case is what it was."""
    path = project / file
    before = read(path).vectors if path.exists() else ()
    text = done(run("golden", "add", *arguments, cwd=project))
    vectors = {vector.id: vector for vector in read(path).vectors}
    assert [vectors.pop(vector.id) for vector in before] == list(before)
    (case,) = vectors.values()
    assert list(path.parent.glob(f"{path.name}*")) == [path]
    return case, text


def refuses(project, *arguments, told, code=2):
    before = {path: path.read_bytes() for path in project.rglob("*.json")}
    outcome = run("golden", "add", *arguments, cwd=project)
    if code == 2:
        refused(outcome, told)
    else:
        assert outcome.code == code and told in outcome.out
    assert {path: path.read_bytes() for path in project.rglob("*.json*")} == before


# -- add


def test_a_packet_of_a_capture(project):
    case, text = added(project, "snapshot/v2", "--packet", 7, SESSION)
    assert case.data == payloads_of(SESSION)[7]
    assert (case.id, case.source, case.flags) == ("session-packet-7", "capture", ())
    assert case.promises == ("decode-old", "encode-exact")
    assert case.comment == (
        "Packet 7 of session.pcapng, 2026-11-30T02:22:21.687506799Z, 127.0.0.1:47800 -> 127.0.0.1:48373."
    )
    assert text.splitlines()[0] == (
        "fixtures/snapshot/v2.json: session-packet-7 added: valid, decode-old and encode-exact; 30 bytes,"
        " source capture"
    )
    assert "11..14        entities[0].position.x              91 e5 2c 41  10.8060465" in text


def test_a_packet_with_a_fault_is_an_invalid_case(project):
    number = next(n for n, data in payloads_of(SESSION).items() if data[:3] == b"WS\2" and len(data) == 5)
    case, text = added(project, "snapshot/v2", "--packet", number, SESSION)
    assert (case.error.code, case.record, case.promises) == ("truncated", None, ())
    assert "invalid, truncated at tick (byte 3); 5 bytes" in text


def test_hex_text(project):
    case, _ = added(project, "snapshot/v2", "--hex", "57 53", "02:09", "0x000000", "0000", *ABOUT)
    assert (case.data.hex(), case.source, case.comment) == (HEX, "hand", "Why.")
    assert case.id.startswith("bytes-") and len(case.id) == 14
    assert case.record == {"magic": "5753", "version": 2, "tick": 9, "count": 0, "entities": []}


def test_a_record_in_json(project):
    path = write(project / "An empty One.json", json.dumps(EMPTY_V2))
    outcome = run("golden", "add", "snapshot/v2", "--record", path, *ABOUT, cwd=project)
    assert outcome.code == 0
    assert outcome.err == (
        "wirelock: these bytes are what today's code makes of the record: compare them with what they should"
        " be before others rely on them\n"
    )
    case = read(project / V2_FILE).cases[-1]
    assert (case.id, case.source, case.data.hex()) == ("an-empty-one", "generator", HEX)
    record = json.dumps(EMPTY_V2 | {"tick": 10}).encode()
    outcome = run("golden", "add", "snapshot/v2", "--record", "-", *ABOUT, cwd=project, given=record)
    assert outcome.code == 0 and read(project / V2_FILE).cases[-1].id == "record"


def test_everything_can_be_said(project):
    case, text = added(
        project, "snapshot/v2", "--hex", HEX, "--id", "nine", "--comment", "Größe.", "--source", "article",
        "--flag", "little-endian", "--flag", "tick-nine=A tick of nine is lost = gone.",
        "--promise", "decode-old",
    )  # fmt: skip
    assert (case.id, case.comment, case.source) == ("nine", "Größe.", "article")
    assert (case.flags, case.promises) == (("little-endian", "tick-nine"), ("decode-old",))
    assert read(project / V2_FILE).flags["tick-nine"] == "A tick of nine is lost = gone."
    assert "nine added: valid, decode-old; 9 bytes, source article" in text


def test_the_first_case_of_a_version_makes_its_file(project):
    (project / V2_FILE).unlink()
    (project / "fixtures/golden.schema.json").unlink()
    (project / "protocol/wirelock.lock").unlink()
    added(project, "snapshot/v2", "--hex", HEX, *ABOUT)
    file = read(project / V2_FILE)
    from protocol import PROTOCOLS

    assert (file.digest, file.schema) == (PROTOCOLS["snapshot"].digest(2), "../golden.schema.json")
    assert json.loads((project / "fixtures/golden.schema.json").read_text())["title"].startswith(
        "wirelock golden"
    )
    assert "no case is invalid" in run("golden", "lint", "snapshot/v2", cwd=project).out


def test_a_schema_that_cannot_be_written_is_a_warning(project):
    (project / "fixtures/golden.schema.json").unlink()
    left = write(project / "fixtures/golden.schema.json.new", "half")
    outcome = run("golden", "add", "snapshot/v2", "--hex", HEX, *ABOUT, cwd=project)
    assert outcome.code == 0 and read(project / V2_FILE).cases[-1].data.hex() == HEX
    assert outcome.err.startswith(
        f"wirelock: warning: the schema of golden files was not written: {left} exists"
    )


def test_bytes_before_the_record_and_records_behind_it(pings, tmp_path):
    capture = write(tmp_path / "two.pcap", capture_of(b"head" + b"PG\1\0\1" + b"PG\1\0\2", b"PG\1\0\3"))
    outcome = run("golden", "add", "ping/v1", "--packet", 1, capture, "--skip", 4, cwd=pings)
    refused(outcome, "packet 1 has 2 records: say which with --number 0..1")
    file = "fixtures/ping/v1.json"
    case, _ = added(pings, "ping/v1", "--packet", 1, capture, "--skip", 4, "--number", 1, file=file)
    assert (case.id, case.data) == ("two-packet-1-1", b"PG\1\0\2")
    assert case.comment.startswith("Record 1 of packet 1 of two.pcap, ")
    case, _ = added(pings, "ping/v1", "--packet", 2, capture, file=file)
    assert case.data == b"PG\1\0\3"
    outcome = run("golden", "add", "ping/v1", "--packet", 1, capture, "--skip", 4, "--number", 2, cwd=pings)
    refused(outcome, "packet 1 has 2 records, the first of which is number 0")


WRONG = {
    "nothing to make it of": (("snapshot/v2", "x"), "say what the case is made of: one of --packet N, --hex"),
    "two things": (("snapshot/v2", "--hex", "--record", "x"), "one of --packet N, --hex and --record"),
    "no bytes": (("snapshot/v2", "--hex"), "Missing argument 'WHAT...'"),
    "no version": (("snapshot", "--hex", HEX, *ABOUT), "say which version: one of snapshot/v1, snapshot/v2"),
    "an unknown version": (("snapshot/v9", "--hex", HEX, *ABOUT), "snapshot has no version 'v9'"),
    "an unknown protocol": (("snap/v1", "--hex", HEX, *ABOUT), "no protocol 'snap': there are rotation"),
    "no comment": (("snapshot/v2", "--hex", HEX), "say why the case is there, or how its bytes"),
    "no hex": (("snapshot/v2", "--hex", "xyz", *ABOUT), "the argument is no hex text: 'x' is no hex digit"),
    "half a byte": (("snapshot/v2", "--hex", "575", *ABOUT), "575 is an odd number of hex digits"),
    "an id that is there": (
        ("snapshot/v2", "--hex", HEX, *ABOUT, "--id", "no-entities"),
        "there is a case no-entities already, and cases never change: say another --id",
    ),
    "an id in words": (("snapshot/v2", "--hex", HEX, *ABOUT, "--id", "A b"), "is not lower-case words with"),
    "an id of nothing": (("snapshot/v2", "--packet", 7, SESSION, "--id", ""), "id is no text"),
    "a comment of nothing": (
        ("snapshot/v2", "--packet", 7, SESSION, "--comment", ""),
        "comment is no text",
    ),
    "an unknown flag": (("snapshot/v2", "--hex", HEX, *ABOUT, "--flag", "new"), "the flag new is not"),
    "a flag twice": (
        ("snapshot/v2", "--hex", HEX, *ABOUT, "--flag", "little-endian", "--flag", "little-endian"),
        "flags names something twice",
    ),
    "a flag explained otherwise": (
        ("snapshot/v2", "--hex", HEX, *ABOUT, "--flag", "little-endian=x"),
        "the flag little-endian is there with another explanation: write --flag little-endian",
    ),
    "an unknown source": (("snapshot/v2", "--hex", HEX, *ABOUT, "--source", "me"), "'me' is not one of"),
    "a promise of refused bytes": (
        ("snapshot/v2", "--hex", "5753", *ABOUT, "--promise", "decode-old"),
        "the bytes are refused (truncated at version (byte 2)): such a case has no --promise",
    ),
    "bytes of another version": (
        ("snapshot/v1", "--hex", HEX, *ABOUT),
        "the bytes are a SnapshotV2, not snapshot v1",
    ),
    "a packet of another version": (("snapshot/v1", "--packet", 7, SESSION), "are a SnapshotV2, not snap"),
    "a packet of another protocol": (
        ("snapshot/v2", "--packet", 1, SESSION),
        "is no snapshot but another protocol's",
    ),
    "a packet behind the last": (("snapshot/v2", "--packet", 361, SESSION), "no packet 361: the last is 360"),
    "packet 0": (("snapshot/v2", "--packet", 0, SESSION), "0 is not in the range x>=1"),
    "a packet of no UDP": (("snapshot/v2", "--packet", 1, "OTHER"), "packet 1 is no UDP datagram but tcp"),
    "a packet whose lengths lie": (("snapshot/v2", "--packet", 2, "OTHER"), "packet 2 is not what was sent"),
    "a packet that is a fragment": (("snapshot/v2", "--packet", 3, "OTHER"), "no UDP datagram but a frag"),
    "a packet that is cut off": (("snapshot/v2", "--packet", 4, "OTHER"), "packet 4 cannot be read: cut"),
    "two captures": (("snapshot/v2", "--packet", 7, SESSION, SESSION), "one capture is read at a time"),
    "no capture": (("snapshot/v2", "--packet", 7, "nothing.pcap"), "nothing.pcap: No such file or directory"),
    "a folder": (("snapshot/v2", "--packet", 7, "fixtures"), "fixtures is a directory: name its captures"),
    "skip without a packet": (("snapshot/v2", "--hex", HEX, *ABOUT, "--skip", 1), "go with --packet"),
    "skip beyond the payload": (
        ("snapshot/v2", "--packet", 7, SESSION, "--skip", 31),
        "packet 7 has 30 bytes, fewer than --skip 31",
    ),
    "a number where there is one": (
        ("snapshot/v2", "--packet", 7, SESSION, "--number", 0),
        "snapshot has one record a datagram: leave out --number",
    ),
    "no record file": (("snapshot/v2", "--record", "nothing.json", *ABOUT), "nothing.json: No such file"),
    "a record that is none": (
        ("snapshot/v2", "--record", "pyproject.toml", *ABOUT),
        "pyproject.toml: this is no record of snapshot v2: Invalid JSON",
    ),
    "a record of another version": (("rotation/v2", "--record", "r.json", *ABOUT), "flags: Field required"),
    "bytes as a record": (("snapshot/v2", "--record", "OTHER", *ABOUT), "is no JSON: it is not in UTF-8"),
}  # fmt: skip


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """Runs of one project, which none of them may change."""
    project = copy_project(tmp_path_factory.mktemp("wrong"))
    write(project / "r.json", '{"largest_index": 0, "a": 0, "b": 0, "c": 0}')
    packets = [
        ethernet(ipv4(b"", protocol=6)),
        ethernet(ipv4(udp(V2, length=400))),
        ethernet(ipv4(udp(V2), offset=7)),
        ethernet(ipv4(udp(V2))),
    ]
    other = pcap([(number, 0, packet) for number, packet in enumerate(packets)])
    path = write(project / "other.pcap", other[:-5])
    rows = {
        name: ("golden", "add", *(path if item == "OTHER" else item for item in row))
        for name, (row, _) in WRONG.items()
    }
    before = {path: path.read_bytes() for path in project.rglob("*.json")}
    outcomes = run_all(rows, cwd=project)
    assert {path: path.read_bytes() for path in project.rglob("*.json*")} == before
    return outcomes


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_added_is_one_line_and_changes_nothing(wrong, name):
    refused(wrong[name], WRONG[name][1])


def test_the_same_bytes_are_told_by_the_name_of_their_case(project):
    added(project, "snapshot/v2", "--packet", 7, SESSION)
    refuses(project, "snapshot/v2", "--packet", 7, SESSION, told="case session-packet-7 has the same bytes")
    refuses(
        project, "snapshot/v2", "--packet", 7, SESSION, "--id", "another",
        told="case session-packet-7 has the same bytes",
    )  # fmt: skip


DRIFTS = {
    "the layout": ("protocol/snapshot/v2.py", "Int32ul", "Int32ub", "tick: byte order: was"),
    "a limit": ("protocol/snapshot/v1.py", "Le(8192.0)", "Le(8191.0)", "position.x: limit"),
    "a case": (V2_FILE, '"id": "no-entities"', '"id": "none"', "golden case no-entities: hash: was"),
    "all cases": (V2_FILE, None, None, "golden cases: was 32, now absent"),
}


@pytest.mark.parametrize("name", DRIFTS)
def test_a_released_version_that_drifted_gets_no_cases(project, name):
    """V9: what a released version meant cannot be written anew with the code that changed."""
    file, old, new, told = DRIFTS[name]
    path = project / file
    if old is None:
        path.unlink()
    else:
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")
    refuses(project, "snapshot/v2", "--hex", HEX, *ABOUT, told=told, code=1)
    if file != V2_FILE:  # nor where the lock is gone, as long as the golden file is there
        (project / "protocol/wirelock.lock").unlink()
        refuses(
            project, "snapshot/v2", "--hex", HEX, *ABOUT, told="is of another layout than snapshot v2 has now"
        )


def test_a_golden_file_with_an_id_twice(project):
    path = project / V2_FILE
    path.write_text(path.read_text("utf-8").replace('"tick-bytes"', '"no-entities"'), "utf-8")
    for command in (("add", "snapshot/v2", "--hex", HEX, *ABOUT), ("list",)):
        refused(run("golden", *command, cwd=project), "v2.json: case no-entities: the id is there twice")
    for command in ("lint", "check"):
        outcome = run("golden", command, cwd=project)
        assert (outcome.code, outcome.err) == (1, "")
        assert "fixtures/snapshot/v2.json: case no-entities: the id is there twice\n" in outcome.out


def test_what_a_killed_writer_left_stops_the_next_and_loses_nothing(project):
    left = write(project / f"{V2_FILE}.new", "half")
    before = (project / V2_FILE).read_bytes()
    outcome = run("golden", "add", "snapshot/v2", "--hex", HEX, *ABOUT, cwd=project)
    refused(
        outcome, f"{left} exists: another wirelock writes v2.json, or was killed", "delete it if none runs"
    )
    assert (project / V2_FILE).read_bytes() == before
    left.unlink()
    added(project, "snapshot/v2", "--hex", HEX, *ABOUT)


def test_commands_at_once_and_commands_killed_lose_no_case(project):
    before = [case_hash(case) for case in read(project / V2_FILE).cases]
    data = [SnapshotV2(tick=900 + n, entities=()).build().hex() for n in range(6)]
    commands = [
        [*COMMAND, "golden", "add", "snapshot/v2", "--hex", text, "--id", f"n-{n}", *ABOUT]
        for n, text in enumerate(data)
    ]
    running = [
        subprocess.Popen(
            command, cwd=project, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for command in commands
    ]
    time.sleep(0.3)
    running[-1].send_signal(signal.SIGTERM)
    results = [child.communicate(timeout=60) for child in running]
    codes = [child.returncode for child in running]
    assert all(b"Traceback" not in err for _, err in results)
    cases = read(project / V2_FILE).cases
    assert [case_hash(case) for case in cases[: len(before)]] == before
    wanted = {f"n-{n}" for n, code in enumerate(codes) if code == 0}
    assert wanted <= {case.id for case in cases[len(before) :]}
    assert wanted


def test_a_place_where_nothing_can_be_written(project):
    (project / "protocol/wirelock.lock").unlink()
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace('fixtures = "fixtures"', 'fixtures = "/proc/golden"'))
    outcome = run("golden", "add", "snapshot/v2", "--hex", HEX, *ABOUT, cwd=project)
    refused(outcome, "/proc/golden/snapshot/v2.json: No such file or directory")


# -- list


def test_a_list_of_everything_and_of_one(project):
    text = done(run("golden", "list", cwd=project))
    lines = text.splitlines()
    assert lines[0].split() == ["version", "id", "result", "source", "promises", "size"]
    assert len(lines) == 1 + 479
    one = done(run("golden", "list", "snapshot/v2", cwd=project)).splitlines()
    assert len(one) == 33
    assert one[1].split() == [
        "snapshot/v2", "no-entities", "valid", "hand", "decode-old,", "encode-exact", "9", "bytes",
    ]  # fmt: skip
    assert len(done(run("golden", "list", "snapshot", cwd=project)).splitlines()) == 1 + 39 + 32 + 47
    assert any(line.split()[2:5] == ["truncated", "hand", "refused"] for line in one)
    poses = done(run("golden", "list", "rotation/v1", cwd=project))
    assert "decode pose" in poses and "encode pose" in poses


def test_a_list_for_programs(project):
    rows = json.loads(done(run("golden", "list", "--format", "json", cwd=project)))
    assert len(rows) == 479
    assert [row for row in rows if row["id"] == "no-entities" and row["version"] == 2] == [
        {
            "protocol": "snapshot", "version": 2, "id": "no-entities", "kind": "case", "result": "valid",
            "code": None, "source": "hand", "promises": ["decode-old", "encode-exact"],
            "flags": ["tag"], "size": 9,
        }
    ]  # fmt: skip
    assert {row["kind"] for row in rows} == {"case", "encode", "decode"}
    assert {row["size"] for row in rows if row["result"] == "invalid" and row["kind"] == "encode"} == {None}


def test_nothing_to_list(project):
    (project / V2_FILE).unlink()
    assert done(run("golden", "list", "snapshot/v2", cwd=project)) == ""
    refused(run("golden", "list", "snapshot/v9", cwd=project), "snapshot has no version 'v9'")


# -- lint and check


def test_nothing_is_wrong_here(project):
    assert done(run("golden", "lint", cwd=project)) == "6 golden files, nothing to complain of\n"
    assert done(run("golden", "check", cwd=project)) == (
        "6 golden files, 479 cases and poses: all hold on every engine\n"
    )
    assert "1 golden file, " in done(run("golden", "check", "rotation/v2", cwd=project / "fixtures"))


def test_lint_finds(project):
    path = project / V2_FILE
    added(project, "snapshot/v2", "--hex", HEX, *ABOUT, "--flag", "new=A new one.")
    path.write_text(path.read_text("utf-8").replace('"flags": ["new"]', '"flags": []'), "utf-8")
    write(project / "fixtures/snapshot/old.json", path.read_text("utf-8"))
    (project / "fixtures/rotation/v1.json").unlink()
    outcome = run("golden", "lint", cwd=project)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines() == [
        "fixtures/snapshot/old.json: golden files of snapshot are called v<version>.json",
        "fixtures/snapshot/v2.json: the flag new is explained, but no case has it",
        "fixtures/rotation/v1.json: there is no such file: write the first case with"
        " `wirelock golden add rotation/v1`",
    ]


def test_a_mismatch_is_shown_by_field(project):
    path = project / "fixtures/rotation/v1.json"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"bytes": "0315c08624bded"', '"bytes": "0315c08624edbd"', 1), "utf-8")
    outcome = run("golden", "check", cwd=project)
    assert (outcome.code, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    line = text.splitlines().index('      "id": "article-fixed-sample",') + 1
    assert lines[0].startswith(
        f"fixtures/rotation/v1.json:{line}: article-fixed-sample: decode-old: the record differs: c: the case"
    )
    assert lines[0].endswith("(generated and reference)")
    assert lines[-3].split() == [">", "5..6", "c", "ed", "bd", "-16915", "bd", "ed", "-4675"]
    assert lines[-1] == "1 failure"
    assert run("golden", "check", "snapshot", cwd=project).code == 0


def test_a_layout_that_changed_fails_by_digest_and_by_case(project):
    path = project / "protocol/rotation/v1.py"
    path.write_text(path.read_text("utf-8").replace("Le(3)", "Le(2)"), "utf-8")
    outcome = run("golden", "check", "rotation/v1", cwd=project)
    assert outcome.code == 1
    assert outcome.out.startswith("fixtures/rotation/v1.json: the file is of another layout: its digest is")
    assert "largest_index: 3 is not in 0..2 (byte 0)" in outcome.out

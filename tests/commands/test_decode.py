"""`wirelock decode` as a process: formats, faults, options, bad input, interruptions, memory."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections import Counter

import pytest
from command_line import (
    COMMAND,
    ROOT,
    SESSION,
    capture_of,
    copy_project,
    default_interrupt,
    environment,
    payloads_of,
    refused,
    shell,
    wirelock,
    write,
)

from protocol import PROTOCOLS
from protocol.rotation import PoseFlags, RotationV1
from protocol.snapshot import EntityV1, Position, SnapshotV1, SnapshotV2
from tests.capture.capture_writer import ethernet, ipv4, pcap, udp

SUMMARY = """\
360 packets, 42314 bytes, 0.413301184 s
     152  snapshot v1
     152  snapshot v2
      40  foreign: datagrams of another protocol
       4  fault out-of-range
       2  fault rule:reachable
       2  fault trailing-bytes
       6  fault truncated
       2  fault unknown-version
"""
FAULTS = [
    (57, 1, "truncated", "entities[2].rotation.b", 71),
    (59, 1, "truncated", "entities[2].rotation.b", 71),
    (66, 2, "rule:reachable", "entities[0].rotation", 23),
    (68, 2, "rule:reachable", "entities[0].rotation", 23),
    (109, 1, "out-of-range", "entities[0].rotation.largest_index", 24),
    (111, 1, "out-of-range", "entities[0].rotation.largest_index", 24),
    (134, 2, "truncated", "tick", 3),
    (136, 2, "truncated", "tick", 3),
    (169, 1, "trailing-bytes", "", 119),
    (171, 1, "trailing-bytes", "", 119),
    (190, 2, "truncated", "entities[1].id", 30),
    (192, 2, "truncated", "entities[1].id", 30),
    (237, None, "unknown-version", "version", 2),
    (239, None, "unknown-version", "version", 2),
    (278, 2, "out-of-range", "entities[0].position.x", 11),
    (280, 2, "out-of-range", "entities[0].position.x", 11),
]
MESSAGES = {
    57: "2 bytes wanted, 1 left",
    66: "the rule reachable does not hold: no unit quaternion has these three components as its smallest",
    109: "17 is not in 0..3",
    134: "4 bytes wanted, 2 left",
    169: "1 byte after the end",
    190: "2 bytes wanted, 0 left",
    237: "version 9 is none of 1, 2",
    278: "nan is not in -8192.0..8192.0",
}
ORIGIN = ["packet", "time_ns", "source", "source_port", "destination", "destination_port"]
FAULT_COLUMNS = [
    "file", *ORIGIN, "protocol", "version", "code", "path", "byte", "place", "message", "payload",
]  # fmt: skip

ROTATION = RotationV1(largest_index=3, a=1, b=-2, c=3)
V1 = SnapshotV1(
    tick=7,
    entities=(EntityV1(id=1, flags=PoseFlags(0), position=Position(x=1, y=2, z=3), rotation=ROTATION),),
).build()
V2 = SnapshotV2(tick=8, entities=()).build()


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def decode(*arguments, **options):
    return wirelock("decode", *arguments, **options)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """The session decoded once in each format: {suffix: (rows, faults)}."""
    found = {}
    for suffix in ("jsonl", "csv", "txt"):
        folder = tmp_path_factory.mktemp(suffix)
        rows, faults = folder / f"rows.{suffix}", folder / f"faults.{suffix}"
        run = decode(SESSION, "-o", rows, "--faults", faults)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", SUMMARY)
        assert sorted(folder.iterdir()) == [faults, rows]
        found[suffix] = rows.read_text("utf-8"), faults.read_text("utf-8")
    return found


# -- the recorded session


def test_the_faults_of_the_session_are_the_spoiled_snapshots(session):
    faults, payloads = lines_of(session["jsonl"][1]), payloads_of(SESSION)
    assert [(f["packet"], f["version"], f["code"], f["path"], f["byte"]) for f in faults] == FAULTS
    for fault in faults:
        assert list(fault) == FAULT_COLUMNS
        assert fault["file"] == str(SESSION)
        assert fault["protocol"] == "snapshot"
        assert fault["place"] == f"byte {fault['byte']}"
        assert bytes.fromhex(fault["payload"]) == payloads[fault["packet"]]
        assert fault["source_port"] == 47800
    assert {f["packet"]: f["message"] for f in faults if f["packet"] in MESSAGES} == MESSAGES


def test_faults_in_csv_are_those_in_jsonl(session):
    found = list(csv.DictReader(io.StringIO(session["csv"][1])))
    assert list(found[0]) == FAULT_COLUMNS
    expected = lines_of(session["jsonl"][1])
    assert found == [{k: "" if v is None else str(v) for k, v in row.items()} for row in expected]


def test_faults_as_lines_name_packet_ends_record_place_and_reason(session):
    lines = session["txt"][1].splitlines()
    assert len(lines) == len(FAULTS)
    assert lines[4] == (
        f"{SESSION} packet 109 2026-11-30T02:22:21.804742024Z 127.0.0.1:47800 -> 127.0.0.1:42828:"
        " snapshot v1: entities[0].rotation.largest_index: 17 is not in 0..3 (byte 24)"
    )
    assert " [::1]:47800 -> [::1]:33546: " in lines[5]


def test_rows_in_jsonl_load_back_and_build_to_the_payload(session):
    rows, payloads = lines_of(session["jsonl"][0]), payloads_of(SESSION)
    assert len(payloads) == 360
    assert Counter((row["protocol"], row["version"]) for row in rows) == {
        ("snapshot", 1): 152,
        ("snapshot", 2): 152,
    }
    assert len({row["packet"] for row in rows}) == 304
    assert [row["packet"] for row in rows] == sorted(row["packet"] for row in rows)
    for row in rows:
        assert list(row) == [*ORIGIN, "protocol", "version", "record"]
        kind = PROTOCOLS[row["protocol"]].versions[row["version"]]
        assert kind.model_validate_json(json.dumps(row["record"])).build() == payloads[row["packet"]]
    assert rows[0]["time_ns"] == "1796005341681059072"


def test_rows_in_csv_are_those_in_jsonl(session):
    text = session["csv"][0]
    header = next(csv.reader(io.StringIO(text)))
    assert len(set(header)) == len(header)
    assert header[:8] == [*ORIGIN, "protocol", "version"]
    assert all(name.startswith("record.") for name in header[8:])
    expected = lines_of(session["jsonl"][0])
    found = list(csv.DictReader(io.StringIO(text)))
    assert len(found) == len(expected) == 304
    for row, other in zip(found, expected, strict=True):
        assert None not in row and None not in row.values()
        for name in header[:8]:
            assert row[name] == str(other[name])
        for name, value in other["record"].items():
            cell = row[f"record.{name}"]
            assert (json.loads(cell) if name == "entities" else cell) == (
                value if name == "entities" else str(value)
            )
        assert row["record.largest_index"] == ""


def test_rows_in_the_table_are_one_line_each(session):
    lines = session["txt"][0].splitlines()
    assert len(lines) == 305
    assert lines[0] == (
        " packet        seconds  source                 destination            record        fields"
    )
    assert lines[1] == (
        "      5    0.000000000  127.0.0.1:47800        127.0.0.1:42828        snapshot v1   "
        "magic=5753 version=1 tick=0 count=1 entities=[{id=1 flags=GROUNDED|AIMING "
        "position={x=10.806046485900879 y=1.25 z=16.82942008972168} "
        "rotation={largest_index=3 a=-6735 b=-20205 c=-2245}}]"
    )
    assert lines[3].startswith("      8    0.008407990  [::1]:47800            [::1]:33546 ")


@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_standard_output_has_the_rows_and_standard_error_the_faults(session, form):
    run = decode(SESSION, *([] if form == "table" else ["--format", form]))
    suffix = "txt" if form == "table" else form
    assert (run.returncode, run.stdout) == (0, session[suffix][0])
    assert run.stderr == session["txt"][1] + SUMMARY


# -- where rows go, and how

FORMS = [
    (["-o", "rows.jsonl"], "jsonl"),
    (["-o", "rows.JSONL"], "jsonl"),
    (["-o", "rows.csv"], "csv"),
    (["-o", "rows.txt"], "table"),
    (["-o", "rows"], "table"),
    (["--output", "rows.csv", "--format", "jsonl"], "jsonl"),
    (["-o", "rows.dat", "--format", "csv"], "csv"),
    (["-o", "-"], "table"),
    (["-o", "/dev/stdout", "--format", "jsonl"], "jsonl"),
]


@pytest.mark.parametrize(("options", "form"), FORMS, ids=lambda item: " ".join(item) if item else "")
def test_the_name_decides_the_format_unless_one_is_given(tmp_path, options, form):
    write(tmp_path / "one.pcap", capture_of(V2))
    run = decode(
        "one.pcap", *options, "--protocols", "protocol:PROTOCOLS", cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    assert run.returncode == 0, run.stderr
    text = run.stdout if options[1] in ("-", "/dev/stdout") else (tmp_path / options[1]).read_text("utf-8")
    starts = {"jsonl": '{"packet":1,', "csv": "packet,time_ns,", "table": " packet        seconds  source"}
    assert text.startswith(starts[form])


def test_an_unknown_suffix_is_refused(tmp_path):
    target = tmp_path / "rows.parquet"
    refused(decode(SESSION, "-o", target), target, "--format")
    assert not target.exists()


def test_faults_go_to_a_file_of_any_name(tmp_path):
    target = tmp_path / "session.faults"
    run = decode(SESSION, "-o", tmp_path / "rows.jsonl", "--faults", target)
    assert run.returncode == 0, run.stderr
    assert len(target.read_text("utf-8").splitlines()) == 16


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_without_faults_their_file_is_there(tmp_path, form):
    capture = write(tmp_path / "one.pcap", capture_of(V1))
    target = tmp_path / f"faults.{form}"
    run = decode(capture, "--faults", target)
    assert run.returncode == 0
    assert "no faults" in run.stderr
    assert target.read_text("utf-8") == ("" if form == "jsonl" else ",".join(FAULT_COLUMNS) + "\n")


def test_an_output_file_has_the_mode_of_any_new_file(tmp_path):
    capture = write(tmp_path / "one.pcap", capture_of(V1))
    assert decode(capture, "-o", tmp_path / "rows.csv", umask=0o027).returncode == 0
    assert (tmp_path / "rows.csv").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path):
    capture = write(tmp_path / "one.pcap", capture_of(V1))
    real = write(tmp_path / "real.jsonl", "old\n")
    (tmp_path / "rows.jsonl").symlink_to(real)
    assert decode(capture, "-o", tmp_path / "rows.jsonl").returncode == 0
    assert (tmp_path / "rows.jsonl").is_symlink()
    assert real.read_text("utf-8").startswith('{"packet":1,')


# -- selection

PORTS = capture_of((V1, 1000, 2000), (V2, 2000, 3000), (V1, 3000, 4000), (b"other", 4000, 5000))


@pytest.mark.parametrize(
    ("ports", "packets", "others"),
    [
        ([], [1, 2, 3], 0),
        ([2000], [1, 2], 2),
        ([1000, 4000], [1, 3], 1),
        ([5000], [], 3),
        ([65535, 3000], [2, 3], 2),
    ],
)
def test_ports_choose_datagrams_from_or_to_them(tmp_path, ports, packets, others):
    capture = write(tmp_path / "ports.pcap", PORTS)
    options = [word for port in ports for word in ("--port", port)]
    run = decode(capture, "--format", "jsonl", *options)
    assert run.returncode == 0
    assert [row["packet"] for row in lines_of(run.stdout)] == packets
    assert (f"{others:>8}  datagrams of other ports" in run.stderr) == bool(others)
    foreign = 4000 in ports or 5000 in ports or not ports
    assert ("       1  foreign" in run.stderr) == foreign


SKIPS = [
    (b"HEAD" + V1, 4, (1, 7), None),
    (b"HEAD" + V2, 4, (2, 8), None),
    (b"HEAD" + V1[:-1], 4, None, ("truncated", "entities[0].rotation.c", 4 + 29, "snapshot")),
    (b"HEAD" + V1 + b"\0", 4, None, ("trailing-bytes", "", 4 + 31, "snapshot")),
    (b"HEAD" + V1[:2] + b"\x09" + V1[3:], 4, None, ("unknown-version", "version", 6, "snapshot")),
    (b"HEAD" + V1[:24] + b"\x11" + V1[25:], 4, None,
     ("out-of-range", "entities[0].rotation.largest_index", 28, "snapshot")),
    (b"HEA", 4, None, ("truncated", "", 0, None)),
]  # fmt: skip


@pytest.mark.parametrize(("payload", "skip", "row", "fault"), SKIPS)
def test_skip_leaves_out_what_stands_before(tmp_path, payload, skip, row, fault):
    capture, target = write(tmp_path / "one.pcap", capture_of(payload)), tmp_path / "faults.jsonl"
    run = decode(capture, "--skip", skip, "--format", "jsonl", "--faults", target)
    assert run.returncode == 0
    rows = lines_of(run.stdout)
    assert [(found["version"], found["record"]["tick"]) for found in rows] == ([row] if row else [])
    faults = lines_of(target.read_text("utf-8"))
    found = [(f["code"], f["path"], f["byte"]) for f in faults]
    assert found == ([fault[:3]] if fault else [])
    if fault and fault[3]:
        assert faults[0]["protocol"] == fault[3]
    assert all(bytes.fromhex(f["payload"]) == payload for f in faults)


AS = [
    ("rotation/v1", ROTATION.build(), "rotation v1", None),
    ("rotation/v1", b"\x04" + bytes(6), None, ("out-of-range", "largest_index", 0)),
    ("rotation/v1", V2, None, ("trailing-bytes", "", 7)),
    ("snapshot", V1, "snapshot v1", None),
    ("snapshot", V2, "snapshot v2", None),
    ("snapshot/v1", V1, "snapshot v1", None),
    ("snapshot/v2", V1, None, ("constant", "version", 2)),
    ("snapshot", V1[:2] + b"\x03", None, ("unknown-version", "version", 2)),
    ("snapshot", b"XX" + V1[2:], None, None),
]


@pytest.mark.parametrize(("named", "payload", "label", "fault"), AS)
def test_as_says_what_payloads_are(tmp_path, named, payload, label, fault):
    capture, target = write(tmp_path / "one.pcap", capture_of(payload)), tmp_path / "faults.jsonl"
    run = decode(capture, "--as", named, "--format", "jsonl", "--faults", target)
    assert run.returncode == 0, run.stderr
    assert [f"{row['protocol']} v{row['version']}" for row in lines_of(run.stdout)] == [label] * bool(label)
    faults = lines_of(target.read_text("utf-8"))
    assert [(f["code"], f["path"], f["byte"]) for f in faults] == ([fault] if fault else [])
    assert ("foreign" in run.stderr) == (label is None and fault is None)


REPEATED = '''
"""Two protocols: one repeats, one is not in ASCII."""
from enum import IntEnum
from construct import Const, Enum, Int8ub, Int16ub, Struct
from wirelock import Protocol, Record, Registry, derived

class PingV1(Record, layout=Struct("magic" / Const(b"PG"), "version" / Const(1, Int8ub), "n" / Int16ub)):
    """A number — und Grüße."""
    magic: bytes = derived()
    version: int = derived()
    n: int

class Size(IntEnum):
    GROSS = 1
    GRÖSSER = 2

class NoteV1(Record, layout=Struct("magic" / Const(b"NT"), "version" / Const(1, Int8ub),
                                   "größe" / Enum(Int8ub, Size))):
    """A size."""
    magic: bytes = derived()
    version: int = derived()
    größe: Size

PROTOCOLS = Registry(
    Protocol("ping", {1: PingV1}, tag=("magic", "version"), repeats=True),
    Protocol("note", {1: NoteV1}, tag=("magic", "version")),
)
'''


@pytest.fixture
def pings(tmp_path):
    write(tmp_path / "pings.py", REPEATED)
    write(tmp_path / "pyproject.toml", '[tool.wirelock]\nprotocols = "pings:PROTOCOLS"\n')
    return tmp_path


def ping(*numbers):
    return b"".join(b"PG\x01" + number.to_bytes(2, "big") for number in numbers)


NOTE = b"NT\x01\x02"

REPEATS = [
    (ping(5), [5], None),
    (ping(5, 6, 7), [5, 6, 7], None),
    (ping(5, 6) + b"PG\x01\x00", [5, 6], ("truncated", "[2].n", 13)),
    (ping(5) + b"PG\x02\x00\x00", [5], ("unknown-version", "[1].version", 7)),
    (ping(5) + b"XX\x01\x00\x00", [5], ("constant", "[1].magic", 5)),
    (ping(5) + b"P", [5], ("truncated", "[1].magic", 5)),
]


@pytest.mark.parametrize("skip", [3])
@pytest.mark.parametrize(("payload", "numbers", "fault"), REPEATS)
def test_a_protocol_that_repeats_has_a_row_a_record(pings, payload, numbers, fault, skip):
    write(pings / "one.pcap", capture_of(bytes(skip) + payload))
    run = decode("one.pcap", "--format", "jsonl", "--faults", "faults.jsonl", "--skip", skip, cwd=pings)
    assert run.returncode == 0, run.stderr
    rows = lines_of(run.stdout)
    assert [(row["packet"], row["record"]["n"]) for row in rows] == [(1, n) for n in numbers]
    faults = lines_of((pings / "faults.jsonl").read_text("utf-8"))
    expected = [(fault[0], fault[1], fault[2] + skip)] if fault else []
    assert [(f["code"], f["path"], f["byte"]) for f in faults] == expected
    assert f"{len(numbers):>8}  ping v1\n" in run.stderr


def test_several_files_have_a_column_of_their_name(tmp_path):
    one, two = write(tmp_path / "1.pcap", capture_of(V1, V2)), write(tmp_path / "2.pcap", capture_of(V2))
    run = decode(one, two, "--format", "jsonl")
    rows = lines_of(run.stdout)
    assert [(next(iter(row)), row["file"], row["packet"]) for row in rows] == [
        ("file", str(one), 1),
        ("file", str(one), 2),
        ("file", str(two), 1),
    ]
    assert run.stderr.startswith("3 packets, ")
    run = decode(one, two, "--format", "csv")
    found = list(csv.DictReader(io.StringIO(run.stdout)))
    assert [(next(iter(row)), row["file"]) for row in found] == [("file", str(p)) for p in (one, one, two)]
    run = decode(one, two)
    lines = run.stdout.splitlines()
    assert [line.startswith(f"{path}:") for line, path in zip(lines[1:], (one, one, two), strict=True)] == [
        True
    ] * 3


def test_a_dash_is_standard_input(session, tmp_path):
    run = decode("-", "-o", tmp_path / "rows.jsonl", input=SESSION.read_bytes())
    assert run.returncode == 0
    assert (tmp_path / "rows.jsonl").read_text("utf-8") == session["jsonl"][0]
    assert run.stderr.endswith(SUMMARY)
    assert run.stderr.splitlines()[0].startswith("standard input packet 57 ")
    refused(decode("-", input=b""), "is empty")
    refused(decode("-", input=b"text, not a capture"), "as no capture does")


@pytest.mark.parametrize(
    ("payloads", "options", "code"),
    [
        ([V1], [], 0),
        ([V1], ["--strict"], 0),
        ([V1, b"foreign"], ["--strict"], 0),
        ([V1, V1[:-1]], [], 0),
        ([V1, V1[:-1]], ["--strict"], 1),
        ([V1, (V1[:-1], 1, 2)], ["--strict", "--port", "1111"], 0),
    ],
)
def test_strict_exits_with_1_for_faults(tmp_path, payloads, options, code):
    capture = write(tmp_path / "one.pcap", capture_of(*payloads))
    run = decode(capture, *options, "-o", tmp_path / "rows.jsonl")
    assert run.returncode == code
    assert len((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()) == 1


def test_protocols_names_another_registry(pings, tmp_path):
    write(tmp_path / "other.py", REPEATED.replace("PROTOCOLS", "MINE"))
    write(tmp_path / "one.pcap", capture_of(ping(1)))
    run = decode("one.pcap", "--format", "jsonl", "--protocols", "other:MINE", cwd=tmp_path)
    assert (run.returncode, len(run.stdout.splitlines())) == (0, 1)
    (tmp_path / "pyproject.toml").unlink()
    assert decode("one.pcap", "--protocols", "other:MINE", cwd=tmp_path).returncode == 0


# -- bad input

BAD_FILES = [
    ("missing.pcap", None, ["missing.pcap", "No such file"]),
    ("folder", "folder", ["folder", "directory"]),
    ("empty.pcap", b"", ["empty.pcap", "is empty"]),
    ("text.pcap", b"hello, this is text\n", ["text.pcap", "as no capture does"]),
    ("short.pcap", b"\xd4\xc3", ["short.pcap"]),
    ("head.pcap", capture_of()[:20], ["head.pcap"]),
    ("head.pcapng", SESSION.read_bytes()[:10], ["head.pcapng"]),
    ("squeezed.gz", b"\x1f\x8b\x08\x00" + bytes(20), ["squeezed.gz", "gzip"]),
]


@pytest.mark.parametrize(("name", "content", "words"), BAD_FILES, ids=[case[0] for case in BAD_FILES])
def test_a_file_that_is_no_capture_is_refused_and_an_old_output_kept(tmp_path, name, content, words):
    path, folder = tmp_path / name, tmp_path / "out"
    folder.mkdir()
    if content == "folder":
        path.mkdir()
    elif content is not None:
        write(path, content)
    old = write(folder / "rows.jsonl", "old\n")
    faults = write(folder / "faults.jsonl", "old faults\n")
    refused(decode(path, "-o", old, "--faults", faults), *words)
    refused(decode(path), *words)
    refused(
        decode(write(tmp_path / "good.pcap", capture_of(V1)), path, "-o", old, "--faults", faults), *words
    )
    refused(decode(path, "-o", folder / "new.jsonl"), *words)
    assert (old.read_text("utf-8"), faults.read_text("utf-8")) == ("old\n", "old faults\n")
    assert sorted(folder.iterdir()) == [faults, old]


@pytest.mark.parametrize("cut", [1, 100, 20_000])
def test_a_capture_that_was_cut_is_read_as_far_as_it_goes(session, tmp_path, cut):
    data = SESSION.read_bytes()
    target = tmp_path / "faults.jsonl"
    capture = write(tmp_path / "cut.pcapng", data[: -cut - 3])
    run = decode(capture, "--format", "jsonl", "--faults", target)
    assert run.returncode == 0
    assert session["jsonl"][0].startswith(run.stdout) and run.stdout
    faults = lines_of(target.read_text("utf-8"))
    assert [f["code"] for f in faults].count("cut") == 1 == (faults[-1]["code"] == "cut")
    assert "       1  fault cut\n" in run.stderr
    assert decode(capture, "--strict", "-o", tmp_path / "rows.jsonl").returncode == 1


@pytest.mark.parametrize("kept", [24 + 3, 24 + 16 + 5, 24 + 16 + 73 + 15])
def test_a_pcap_that_was_cut(tmp_path, kept):
    whole = capture_of(V1, V1)
    capture = write(tmp_path / "cut.pcap", whole[:kept])
    run = decode(capture, "--format", "jsonl", "--strict", "--faults", tmp_path / "f.jsonl")
    assert run.returncode == 1
    assert len(run.stdout.splitlines()) == (kept >= 24 + 16 + 73)
    assert [f["code"] for f in lines_of((tmp_path / "f.jsonl").read_text("utf-8"))] == ["cut"]


MODULES = [
    ("raise ValueError('two\\nlines')", ["game", "ValueError", "two", "game.py:1"]),
    ("import nowhere_to_be_found", ["game", "nowhere_to_be_found"]),
    ("def broken(:", ["game", "SyntaxError"]),
    ("PROTOCOLS = 3", ["game", "PROTOCOLS"]),
    ("raise SystemExit('leaving')", ["game"]),
    ("import os; os.listdir('/nowhere')", ["game", "/nowhere"]),
    ("from construct import *; from wirelock import *\nclass R(Record, layout=Struct('a' / Int8ul)):\n"
     "    b: int\n", ["R"]),
    ("from wirelock import Registry; PROTOCOLS = Registry()", ["--as"]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "words"), MODULES, ids=[source[:30] for source, _ in MODULES])
def test_protocols_that_do_not_load(tmp_path, source, words):
    write(tmp_path / "game.py", source)
    write(tmp_path / "pyproject.toml", '[tool.wirelock]\nprotocols = "game:PROTOCOLS"\n')
    refused(decode(SESSION, "-o", tmp_path / "rows.jsonl", cwd=tmp_path), *words)
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"game.py", "pyproject.toml"}


SETTINGS = [
    (None, ["[tool.wirelock]", "--protocols"]),
    ("[tool.wirelock]\n", ["protocols"]),
    ("[tool.wirelock]\nprotocols = 3\n", ["protocols"]),
    ("[tool.wirelock]\nprotocol = 'a:B'\n", ["'protocol'"]),
    ("[tool.wirelock]\nprotocols = 'nowhere:PROTOCOLS'\n", ["no module 'nowhere'"]),
    ("[tool.wirelock]\nprotocols = 'nowhere'\n", ["module:NAME"]),
    ("[tool.wirelock]\nprotocols = '.:NAME'\n", []),
    ("[tool]\nwirelock = 3\n", ["wirelock = 3 is no table"]),
    ("tool = 3\n", ["tool"]),
    ("[tool.wirelock\n", ["pyproject.toml"]),
]


@pytest.mark.parametrize(("text", "words"), SETTINGS)
def test_settings_that_name_no_protocols(tmp_path, text, words):
    if text is not None:
        write(tmp_path / "pyproject.toml", text)
    refused(decode(SESSION, cwd=tmp_path), *words)


USAGE = [
    ([], ["CAPTURE"]),
    ([SESSION, "--as", "nope"], ["no protocol 'nope'", "rotation, snapshot"]),
    ([SESSION, "--as", "rotation/v9"], ["no version 'v9'", "v1, v2"]),
    ([SESSION, "--as", "rotation"], ["rotation has no tag", "rotation/v1, rotation/v2"]),
    ([SESSION, "--as", ""], []),
    ([SESSION, "--nope"], ["--nope"]),
    ([SESSION, "--port", "65536"], ["65536"]),
    ([SESSION, "--skip", "-1"], ["-1"]),
    ([SESSION, "--format", "xml"], ["xml"]),
    ([SESSION, "-o"], ["-o"]),
    ([SESSION, "--protocols", "nowhere:X"], ["nowhere"]),
    ([SESSION, "--protocols", "protocol:NOPE"], ["NOPE"]),
    ([SESSION, "--protocols", "protocol"], ["module:NAME"]),
    ([SESSION, "-o", "/nowhere/rows.jsonl"], ["/nowhere/rows.jsonl", "No such file"]),
    ([SESSION, "--faults", "/nowhere/faults.jsonl"], ["/nowhere/faults.jsonl", "No such file"]),
    ([SESSION, "-o", "/proc/rows.jsonl"], ["/proc/rows.jsonl"]),
    ([SESSION, "-o", "docs"], ["docs", "directory"]),
    ([SESSION, "--format", "csv", "-o", f"{'long' * 70}.csv"], ["File name too long"]),
    ([SESSION, "-o", "/dev/full", "--faults", "/dev/null"], ["No space left"]),
    ([SESSION, "--faults", "/dev/full", "-o", "/dev/null"], ["No space left"]),
]


@pytest.mark.parametrize(
    ("arguments", "words"), USAGE, ids=[" ".join(map(str, case[0]))[-60:] for case in USAGE]
)
def test_a_wrong_command_is_one_line(arguments, words):
    refused(decode(*arguments), *words)


# -- inputs that would be lost

SAME = [
    ["one.pcap", "-o", "both.jsonl", "--faults", "both.jsonl"],
    ["one.pcap", "-o", "both.jsonl", "--faults", "link.jsonl"],
    ["one.pcap", "-o", "one.pcap", "--format", "jsonl"],
    ["one.pcap", "-o", "link.pcap", "--format", "jsonl"],
    ["link.pcap", "-o", "one.pcap", "--format", "jsonl"],
    ["two.pcap", "one.pcap", "-o", "one.pcap", "--format", "jsonl"],
    ["one.pcap", "-o", "hard.pcap", "--format", "jsonl"],
    ["one.jsonl", "--faults", "one.jsonl"],
    ["one.jsonl", "-o", "one.jsonl"],
]


@pytest.mark.parametrize("arguments", SAME, ids=" ".join)
def test_no_output_takes_the_place_of_an_input_or_another_output(tmp_path, arguments):
    copy_project(tmp_path)
    data = capture_of(V1, V1[:-1])
    for name in ("one.pcap", "two.pcap", "one.jsonl"):
        write(tmp_path / name, data)
    write(tmp_path / "both.jsonl", "old\n")
    (tmp_path / "hard.pcap").hardlink_to(tmp_path / "one.pcap")
    (tmp_path / "link.pcap").symlink_to("one.pcap")
    (tmp_path / "link.jsonl").symlink_to("both.jsonl")
    before = sorted(tmp_path.iterdir())
    run = decode(*arguments, cwd=tmp_path)
    for name in ("one.pcap", "two.pcap", "one.jsonl", "link.pcap", "hard.pcap"):
        assert (tmp_path / name).read_bytes() == data, name
    assert (tmp_path / "both.jsonl").read_text("utf-8") == "old\n"
    assert (tmp_path / "link.jsonl").is_symlink()
    refused(run)
    assert sorted(tmp_path.iterdir()) == before


# -- outputs that fail, readers that go away, Ctrl-C


def test_a_full_disk_behind_standard_output():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        for options in ([], ["--format", "csv"]):
            run = decode(SESSION, *options, "--faults", "/dev/null", stdout=full)
            assert run.returncode == 2
            assert "No space left" in run.stderr.splitlines()[-1]
            assert len(run.stderr.splitlines()) == 1


def test_a_full_disk_behind_a_small_output(tmp_path):
    capture = write(tmp_path / "one.pcap", capture_of(V1))
    with open("/dev/full", "w") as full:  # noqa: PTH123
        run = decode(capture, stdout=full)
    assert run.returncode == 2
    assert "No space left" in run.stderr.splitlines()[-1]


@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_a_reader_that_goes_away(form):
    run = shell(f"$W decode {SESSION} --format {form} --faults /dev/null | head -1")
    assert run.returncode == 141
    assert len(run.stdout.splitlines()) == 1
    assert run.stderr == ""


def test_a_reader_of_faults_that_goes_away(tmp_path):
    run = shell(f"$W decode {SESSION} -o {tmp_path}/rows.jsonl 2>&1 >/dev/null | true")
    assert run.returncode in (0, 141)
    assert run.stderr == ""


CLOSED = [
    (f"$W decode {SESSION} --faults /dev/null >&-", None),
    (f"$W decode {SESSION} --faults /dev/null -o /dev/null >&-", 0),
    (f"$W decode {SESSION} -o /dev/null --faults /dev/null 2>&-", 0),
    (f"$W decode {SESSION} -o /dev/null 2>&-", 0),
    ("$W decode - <&-", 2),
    (f"$W decode {SESSION} -o /dev/null --faults /dev/null <&-", 0),
]


@pytest.mark.parametrize(("script", "code"), CLOSED)
def test_a_stream_that_is_closed(script, code):
    run = shell(script)
    assert run.returncode in ((0, 2) if code is None else (code,)), run.stderr
    if run.returncode:
        assert len(run.stderr.splitlines()) == 1


def interrupted_at(tmp_path, options, content, number=signal.SIGINT):
    """Start decoding a FIFO, feed it, wait until the output is open, and send a signal: Ctrl-C."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = subprocess.Popen(
        [*COMMAND, "decode", str(fifo), *map(str, options)],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_interrupt,
    )
    try:
        if content is None:
            while not list(tmp_path.glob("out/.*.part")):
                time.sleep(0.01)
            time.sleep(0.05)
            child.send_signal(number)
            return *child.communicate(timeout=20), child.returncode
        with fifo.open("wb", buffering=0) as writer:
            writer.write(content)
            time.sleep(0.1)
            child.send_signal(number)
            return *child.communicate(timeout=20), child.returncode
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize(
    "content", [None, b"\xd4", capture_of(V1, V2)], ids=["not opened", "at the magic", "behind packets"]
)
def test_control_c_leaves_no_output_and_says_one_line(tmp_path, content):
    (tmp_path / "out").mkdir()
    old = write(tmp_path / "out/old.jsonl", "old\n")
    options = ["-o", tmp_path / "out/new.jsonl", "--faults", old]
    stdout, stderr, code = interrupted_at(tmp_path, options, content)
    assert (code, stdout, stderr) == (130, "", "wirelock: interrupted\n")
    assert list((tmp_path / "out").iterdir()) == [old]
    assert old.read_text("utf-8") == "old\n"


def test_a_termination_leaves_no_output(tmp_path):
    (tmp_path / "out").mkdir()
    options = ["-o", tmp_path / "out/new.jsonl", "--faults", tmp_path / "out/faults.csv"]
    stdout, stderr, code = interrupted_at(tmp_path, options, capture_of(V1), signal.SIGTERM)
    assert code in (143, -signal.SIGTERM)
    assert (stdout, "Traceback" in stderr) == ("", False)
    assert not list((tmp_path / "out").iterdir())


# -- text that is not ASCII, terminals, memory

ASCII = {
    "encoding": {"PYTHONIOENCODING": "ascii"},
    "locale": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
}


@pytest.mark.parametrize("env", ASCII.values(), ids=ASCII)
@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_an_ascii_terminal_or_locale(pings, env, form):
    write(pings / "größe.pcap", capture_of(NOTE, NOTE + b"x"))
    arguments = ["größe.pcap", "größe.pcap", "--format", form]
    run = decode(*arguments, cwd=pings, env=env)
    assert (run.returncode, run.stderr.count("trailing-bytes")) == (0, 1), run.stderr
    if form == "jsonl":
        assert [row["record"]["größe"] for row in lines_of(run.stdout)] == [2, 2]
    run = decode(*arguments, "-o", "rows.txt", "--faults", "f.csv", cwd=pings, env=env)
    assert run.returncode == 0, run.stderr
    assert ("GRÖSSER" if form == "table" else "größe") in (pings / "rows.txt").read_text(errors="replace")
    assert len((pings / "f.csv").read_bytes().splitlines()) == 3


@pytest.mark.parametrize("env", ASCII.values(), ids=ASCII)
def test_the_session_needs_no_more_than_ascii(session, env):
    run = decode(SESSION, "--format", "csv", env=env)
    assert (run.returncode, run.stdout) == (0, session["csv"][0])


@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_a_file_name_that_is_no_text(pings, form):
    name = os.fsdecode(b"caf\xe9.pcap")
    write(pings / name, capture_of(NOTE, NOTE + b"x"))
    suffix = "txt" if form == "table" else form
    run = decode(name, name, "-o", f"rows.{suffix}", "--faults", f"faults.{suffix}", cwd=pings)
    assert run.returncode == 0, run.stderr
    run = decode(name, name, "--format", form, cwd=pings)
    assert run.returncode == 0, run.stderr
    refused(decode(name + "x", cwd=pings), "No such file")


def on_terminal(arguments, columns, rows_there):
    """Decode with standard error, and the rows if asked, on a terminal; return code, terminal, stdout."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    child = subprocess.Popen(
        [*COMMAND, "decode", *map(str, arguments)],
        cwd=ROOT,
        env=environment(TERM="xterm"),
        stdin=subprocess.DEVNULL,
        stdout=slave if rows_there else subprocess.PIPE,
        stderr=subprocess.PIPE if rows_there else slave,
    )
    os.close(slave)
    shown = b""
    other = child.stderr if rows_there else child.stdout
    if not rows_there:
        piped = other.read()
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    if rows_there:
        piped = other.read()
    other.close()
    os.close(master)
    return child.wait(timeout=20), shown.decode(), piped.decode()


@pytest.mark.parametrize("columns", [0, 80])
def test_rows_on_a_terminal_are_cut_to_its_width(columns):
    code, shown, stderr = on_terminal([SESSION], columns, True)
    lines = shown.replace("\r\n", "\n").splitlines()
    assert (code, len(lines)) == (0, 305)
    assert stderr.endswith(SUMMARY)
    if columns:
        assert max(map(len, lines)) <= columns
    else:
        assert lines[1].endswith("}]")


def test_a_bar_on_a_terminal_leaves_rows_faults_and_summary_alone(session):
    code, shown, stdout = on_terminal([SESSION, "--format", "jsonl"], 1000, False)
    assert (code, stdout) == (0, session["jsonl"][0])
    assert "360 packets, 42314 bytes" in shown
    assert shown.count("17 is not in 0..3 (byte 24)") == 2
    code, shown, _ = on_terminal([ROOT / "missing.pcap", "--format", "jsonl"], 200, False)
    assert code == 2 and "No such file" in shown and "Traceback" not in shown


MEASURE = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print(child.returncode, usage.ru_maxrss)
"""


@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_memory_does_not_grow_with_the_capture(tmp_path, form):
    packet = ethernet(ipv4(udp(V1)))
    faulty = ethernet(ipv4(udp(V1[:-1])))
    peaks = []
    for count in (1500, 15_000):
        packets = [(n, 0, faulty if n % 10 == 0 else packet) for n in range(count)]
        capture = write(tmp_path / f"{count}.pcap", pcap(packets))
        # A process of its own measures: a child begins with the peak of the process that forks it.
        run = subprocess.run(
            [sys.executable, "-c", MEASURE, *COMMAND, "decode", str(capture), "--format", form],
            cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        code, peak = map(int, run.stdout.split())
        assert code == 0
        peaks.append(peak / 1024)
    assert peaks[1] - peaks[0] < 20, peaks

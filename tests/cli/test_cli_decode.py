"""`wirelock decode`: every option, on the sample session and on captures of this file's own."""

import csv
import io
import json
from collections import Counter

import pytest
from construct import Array, Const, FixedSized, If, Int8ub, Struct, this

from protocol import PROTOCOLS
from protocol.rotation import RotationV1
from protocol.snapshot import SnapshotV1
from tests.capture.capture_writer import Blocks, ethernet, ipv4, ipv6, pcap, udp
from tests.cli.command import (
    PINGS,
    ROOT,
    ROTATION,
    SESSION,
    V1,
    V2,
    capture_of,
    payloads_of,
    refused,
    run,
    run_all,
    session,
    write,
)
from wirelock import Record, derived
from wirelock.capture.sinks import fields_text
from wirelock.schema.record import layout_of

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
    237: "version 9 is none of 1, 2, 3",
    278: "nan is not in -8192.0..8192.0",
}
ORIGIN = ["packet", "time_ns", "source", "source_port", "destination", "destination_port"]
FAULT_COLUMNS = [
    "file", *ORIGIN, "protocol", "version", "code", "path", "byte", "place", "message", "payload",
]  # fmt: skip


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def decode(*arguments, **options):
    return run("decode", *arguments, **options)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The session decoded once in each format: {suffix: (rows, faults)}."""
    found = {}
    for suffix in ("jsonl", "csv", "txt"):
        folder = tmp_path_factory.mktemp(suffix)
        rows, faults = folder / f"rows.{suffix}", folder / f"faults.{suffix}"
        outcome = decode(SESSION, "-o", rows, "--faults", faults)
        assert (outcome.code, outcome.out, outcome.err) == (0, "", SUMMARY)
        assert sorted(folder.iterdir()) == [faults, rows]
        found[suffix] = rows.read_text("utf-8"), faults.read_text("utf-8")
    return found


# -- the recorded session


def test_the_faults_of_the_session_are_the_spoiled_snapshots(files):
    faults, payloads = lines_of(files["jsonl"][1]), payloads_of(SESSION)
    assert [(f["packet"], f["version"], f["code"], f["path"], f["byte"]) for f in faults] == FAULTS
    for fault in faults:
        assert list(fault) == FAULT_COLUMNS
        assert fault["file"] == str(SESSION)
        assert fault["protocol"] == "snapshot"
        assert fault["place"] == f"byte {fault['byte']}"
        assert bytes.fromhex(fault["payload"]) == payloads[fault["packet"]]
        assert fault["source_port"] == 47800
    assert {f["packet"]: f["message"] for f in faults if f["packet"] in MESSAGES} == MESSAGES


def test_faults_in_csv_are_those_in_jsonl(files):
    found = list(csv.DictReader(io.StringIO(files["csv"][1])))
    assert list(found[0]) == FAULT_COLUMNS
    expected = lines_of(files["jsonl"][1])
    assert found == [{k: "" if v is None else str(v) for k, v in row.items()} for row in expected]


def test_faults_as_lines_name_packet_ends_record_place_and_reason(files):
    lines = files["txt"][1].splitlines()
    assert len(lines) == len(FAULTS)
    assert lines[4] == (
        f"{SESSION} packet 109 2026-11-30T02:22:21.804742024Z 127.0.0.1:47800 -> 127.0.0.1:42828:"
        " snapshot v1: entities[0].rotation.largest_index: 17 is not in 0..3 (byte 24)"
    )
    assert " [::1]:47800 -> [::1]:33546: " in lines[5]


def test_rows_in_jsonl_load_back_and_build_to_the_payload(files):
    rows, payloads = lines_of(files["jsonl"][0]), payloads_of(SESSION)
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


def test_rows_in_csv_are_those_in_jsonl(files):
    text = files["csv"][0]
    header = next(csv.reader(io.StringIO(text)))
    assert len(set(header)) == len(header)
    assert header[:8] == [*ORIGIN, "protocol", "version"]
    assert all(name.startswith("record.") for name in header[8:])
    expected = lines_of(files["jsonl"][0])
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


def test_rows_in_the_table_are_one_line_each(files):
    lines = files["txt"][0].splitlines()
    assert len(lines) == 305
    assert lines[0] == (
        " packet        seconds  source                 destination            record        fields"
    )
    assert lines[1] == (
        "      5    0.000000000  127.0.0.1:47800        127.0.0.1:42828        snapshot v1   "
        "tick=0 count=1 entities=[{id=1 flags=GROUNDED|AIMING "
        "position={x=10.806046485900879 y=1.25 z=16.82942008972168} "
        "rotation={largest_index=3 a=-6735 b=-20205 c=-2245}}]"
    )
    assert lines[3].startswith("      8    0.008407990  [::1]:47800            [::1]:33546 ")


class Marked(Record, layout=Struct("mark" / Const(b"M"), "n" / Int8ub)):
    mark: bytes = derived()
    n: int


class Full(
    Record,
    layout=Struct(
        "magic" / Const(b"F"),
        "one" / FixedSized(2, Marked.layout),
        "all" / Array(2, Marked.layout),
        "some" / If(this.one.n == 1, Marked.layout),
        "end" / Const(3, Int8ub),
    ),
):
    magic: bytes = derived()
    one: Marked
    all: tuple[Marked, ...]
    some: Marked | None
    end: int = derived()


def test_the_table_leaves_out_what_all_records_have_the_same():
    one, two = Marked(n=1), Marked(n=2)
    found = [
        fields_text(Full(one=first, all=(one, two), some=some), layout_of(Full))
        for first, some in ((one, two), (two, None))
    ]
    assert found == ["one={n=1} all=[{n=1} {n=2}] some={n=2}", "one={n=2} all=[{n=1} {n=2}] some=None"]


@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_standard_output_has_the_rows_and_standard_error_the_faults(files, form):
    outcome = decode(SESSION, *([] if form == "table" else ["--format", form]))
    suffix = "txt" if form == "table" else form
    assert (outcome.code, outcome.out) == (0, files[suffix][0])
    assert outcome.err == files["txt"][1] + SUMMARY


# -- where rows go, and how


FORMS = [
    (["-o", "rows.jsonl"], "jsonl"),
    (["-o", "rows.JSONL"], "jsonl"),
    (["-o", "rows.ndjson"], "jsonl"),
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
    outcome = decode(
        "one.pcap",
        *options,
        "--protocols",
        "protocol:PROTOCOLS",
        cwd=tmp_path,
        PYTHONPATH=f"{ROOT / 'src'}:{ROOT}",
    )
    assert outcome.code == 0, outcome.err
    text = outcome.out if options[1] in ("-", "/dev/stdout") else (tmp_path / options[1]).read_text("utf-8")
    starts = {"jsonl": '{"packet":1,', "csv": "packet,time_ns,", "table": " packet        seconds  source"}
    assert text.startswith(starts[form])


def test_an_unknown_suffix_is_refused(tmp_path):
    target = tmp_path / "rows.xlsx"
    refused(decode(SESSION, "-o", target), target, "--format")
    assert not target.exists()


def test_faults_go_to_a_file_of_any_name(tmp_path):
    target = tmp_path / "session.faults"
    outcome = decode(SESSION, "-o", tmp_path / "rows.jsonl", "--faults", target)
    assert outcome.code == 0, outcome.err
    assert len(target.read_text("utf-8").splitlines()) == 16


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_without_faults_their_file_is_there(tmp_path, form):
    capture = write(tmp_path / "one.pcap", capture_of(V1))
    target = tmp_path / f"faults.{form}"
    outcome = decode(capture, "--faults", target)
    assert outcome.code == 0
    assert "no faults" in outcome.err
    assert target.read_text("utf-8") == ("" if form == "jsonl" else ",".join(FAULT_COLUMNS) + "\n")


# -- which datagrams


SELECTIONS = {
    "the server's port": (("--port", "47800"), 304, SUMMARY),
    "one client's port": (("--port", "42828"), 76, "     270  datagrams of other ports\n"),
    "two clients' ports": (
        ("--port", "42828", "--port", "33546"),
        152,
        "     180  datagrams of other ports\n",
    ),
    "nobody's port": (("--port", "9"), 0, "     360  datagrams of other ports\nno faults\n"),
    "a protocol": (("--as", "snapshot"), 304, SUMMARY),
    "one version": (("--as", "snapshot/v2"), 152, "     152  snapshot v2\n"),
    "payloads cut too far": (("--skip", "1000"), 0, "     360  fault truncated\n"),
    "a byte skipped": (("--skip", "1"), 0, "     360  foreign: datagrams of another protocol\nno faults\n"),
}


@pytest.fixture(scope="module")
def selections():
    return run_all(
        {name: ("decode", SESSION, "--format", "jsonl", *row[0]) for name, row in SELECTIONS.items()}
    )


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections(selections, name):
    _, rows, told = SELECTIONS[name]
    outcome = selections[name]
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == rows
    assert told in outcome.err


def test_what_is_skipped_counts_in_places(selections):
    assert ": payload: 1000 bytes wanted, 3 left (byte 0)\n" in selections["payloads cut too far"].err


def test_a_stated_version_takes_no_other(selections):
    assert " snapshot v2: version: 1 is not 2 (byte 2)\n" in selections["one version"].err


def test_datagrams_are_counted_once_each(selections):
    for outcome in selections.values():
        counts = [line.split(None, 1) for line in outcome.err.splitlines() if line.startswith("  ")]
        assert sum(int(number) for number, _ in counts) == 360


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
    outcome = decode(capture, "--format", "jsonl", *options)
    assert outcome.code == 0
    assert [row["packet"] for row in lines_of(outcome.out)] == packets
    assert (f"{others:>8}  datagrams of other ports" in outcome.err) == bool(others)
    foreign = 4000 in ports or 5000 in ports or not ports
    assert ("       1  foreign" in outcome.err) == foreign


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
    outcome = decode(capture, "--skip", skip, "--format", "jsonl", "--faults", target)
    assert outcome.code == 0
    rows = lines_of(outcome.out)
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
    ("snapshot", V1[:2] + b"\x09", None, ("unknown-version", "version", 2)),
    ("snapshot", b"XX" + V1[2:], None, None),
]


@pytest.mark.parametrize(("named", "payload", "label", "fault"), AS)
def test_as_says_what_payloads_are(tmp_path, named, payload, label, fault):
    capture, target = write(tmp_path / "one.pcap", capture_of(payload)), tmp_path / "faults.jsonl"
    outcome = decode(capture, "--as", named, "--format", "jsonl", "--faults", target)
    assert outcome.code == 0, outcome.err
    assert [f"{row['protocol']} v{row['version']}" for row in lines_of(outcome.out)] == [label] * bool(label)
    faults = lines_of(target.read_text("utf-8"))
    assert [(f["code"], f["path"], f["byte"]) for f in faults] == ([fault] if fault else [])
    assert ("foreign" in outcome.err) == (label is None and fault is None)


# -- captures of our own


def datagram(payload, *, six=False, **ports):
    inner = udp(payload, **ports)
    return ethernet(ipv6(inner), 0x86DD) if six else ethernet(ipv4(inner))


def written(folder, name, payloads, **options):
    path = folder / name
    path.write_bytes(
        pcap([(1, number, datagram(payload, **options)) for number, payload in enumerate(payloads)])
    )
    return path


ROTATIONS = [RotationV1(largest_index=i, a=i, b=-i, c=100).build() for i in range(4)]
SNAPSHOT = SnapshotV1(tick=7, entities=()).build()


def test_payloads_of_a_protocol_without_a_tag(tmp_path):
    capture = written(tmp_path, "rotations.pcap", [*ROTATIONS, b"\x04\0\0\0\0\0\0", b"\0" * 6, b"\0" * 8])
    outcome = run("decode", capture, "--as", "rotation/v1", "--format", "jsonl")
    rows = lines_of(outcome.out)
    assert [row["packet"] for row in rows] == [1, 2, 3, 4]
    assert [row["record"]["largest_index"] for row in rows] == [0, 1, 2, 3]
    assert [(row["protocol"], row["version"]) for row in rows] == [("rotation", 1)] * 4
    faults = outcome.err.splitlines()[:3]
    assert "rotation v1: largest_index: 4 is not in 0..3 (byte 0)" in faults[0]
    assert "rotation v1: c: 2 bytes wanted, 1 left (byte 5)" in faults[1]
    assert "rotation v1: 1 byte after the end (byte 7)" in faults[2]


def test_a_header_before_each_payload_is_skipped_and_counted(tmp_path):
    capture = written(
        tmp_path, "headed.pcap", [b"head" + rotation for rotation in ROTATIONS] + [b"head" + b"\0" * 6, b"he"]
    )
    outcome = run("decode", capture, "--as", "rotation/v1", "--skip", "4", "--format", "jsonl")
    assert [row["record"]["largest_index"] for row in lines_of(outcome.out)] == [0, 1, 2, 3]
    assert "rotation v1: c: 2 bytes wanted, 1 left (byte 9)" in outcome.err
    assert "payload: 4 bytes wanted, 2 left (byte 0)" in outcome.err


def test_several_captures_say_which_file_a_row_is_from(tmp_path):
    first = written(tmp_path, "first.pcap", [SNAPSHOT])
    second = written(tmp_path, "second.pcap", [SNAPSHOT[:5], SNAPSHOT])
    outcome = run("decode", first, second, "--format", "jsonl")
    assert [(row["file"], row["packet"]) for row in lines_of(outcome.out)] == [
        (str(first), 1),
        (str(second), 2),
    ]
    assert outcome.err.startswith(f"{second} packet 1 ")
    assert "3 packets, " in outcome.err
    header, *rows = csv.reader(io.StringIO(run("decode", first, second, "--format", "csv").out))
    assert header[:2] == ["file", "packet"]
    assert [row[0] for row in rows] == [str(first), str(second)]
    table = run("decode", first, second).out.splitlines()
    assert [line.startswith(f"{path}: ") for line, path in zip(table[1:], (first, second), strict=True)] == [
        True,
        True,
    ]


def test_a_dash_is_standard_input(files, tmp_path):
    outcome = decode("-", "-o", tmp_path / "rows.jsonl", given=SESSION.read_bytes())
    assert outcome.code == 0
    assert (tmp_path / "rows.jsonl").read_text("utf-8") == files["jsonl"][0]
    assert outcome.err.endswith(SUMMARY)
    assert outcome.err.splitlines()[0].startswith("standard input packet 57 ")


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
    outcome = decode(capture, *options, "-o", tmp_path / "rows.jsonl")
    assert outcome.code == code
    assert len((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()) == 1


def test_strict_writes_all_the_same(tmp_path):
    outcome = run(
        "decode", SESSION, "--strict", "-o", tmp_path / "rows.jsonl", "--faults", tmp_path / "faults.jsonl"
    )
    assert (outcome.code, outcome.err) == (1, SUMMARY)
    assert (tmp_path / "rows.jsonl").read_text() == session("--format", "jsonl").out
    assert len((tmp_path / "faults.jsonl").read_text().splitlines()) == 16


def test_a_capture_without_packets(tmp_path):
    capture = written(tmp_path, "empty.pcap", [])
    outcome = run("decode", capture)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "0 packets, 0 bytes\nno faults\n")


def test_a_capture_without_times(tmp_path):
    blocks = Blocks()
    path = tmp_path / "simple.pcapng"
    path.write_bytes(blocks.section() + blocks.interface() + blocks.simple(datagram(SNAPSHOT)))
    outcome = run("decode", path, "--format", "jsonl")
    assert [row["time_ns"] for row in lines_of(outcome.out)] == [None]
    assert outcome.err.splitlines()[0] == f"1 packets, {len(datagram(SNAPSHOT))} bytes"
    assert run("decode", path, "--format", "csv").out.splitlines()[1].startswith("1,,10.0.0.1,")


def test_other_traffic_is_counted_by_kind(tmp_path):
    packets = [
        ethernet(ipv4(b"", protocol=6)),
        ethernet(b"\0" * 28, 0x0806),
        ethernet(ipv4(b"", protocol=1)),
        datagram(SNAPSHOT),
    ]
    path = tmp_path / "mixed.pcap"
    path.write_bytes(pcap([(1, 0, packet) for packet in packets]))
    outcome = run("decode", path)
    assert outcome.err.splitlines()[1:] == [
        "       1  snapshot v1", "       1  arp packets", "       1  icmp packets", "       1  tcp packets",
        "no faults",
    ]  # fmt: skip


def test_a_datagram_whose_lengths_lie_is_not_parsed(tmp_path):
    path = tmp_path / "lies.pcap"
    path.write_bytes(pcap([(1, 0, ethernet(ipv4(udp(SNAPSHOT, length=400)))), (1, 0, datagram(SNAPSHOT))]))
    outcome = run("decode", path, "--format", "jsonl", "--strict")
    assert outcome.code == 1
    assert [json.loads(line)["packet"] for line in outcome.out.splitlines()] == [2]
    assert ": udp-length-long: udp.length 400" in outcome.err
    assert "       1  fault udp-length-long\n" in outcome.err


# -- protocols whose records repeat


BEATS = """
from construct import Byte, Const, Struct
from wirelock import Protocol, Record, Registry, derived

class Beat(Record, layout=Struct("magic" / Const(b"BT"), "x" / Byte)):
    magic: bytes = derived()
    x: int

class Named(Record, layout=Struct("protocol" / Byte, "version" / Byte, "packet" / Byte)):
    protocol: int
    version: int
    packet: int

BEATS = Registry(
    Protocol("beats", {1: Beat}, tag=("magic",), repeats=True),
    Protocol("named", {1: Named}),
)
"""


@pytest.fixture(scope="module")
def beats(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beats")
    (folder / "pyproject.toml").write_text('[tool.wirelock]\nprotocols = "beats_protocols:BEATS"\n')
    (folder / "beats_protocols.py").write_text(BEATS)
    payloads = [b"BT\1BT\2BT\3", b"BT\4", b"BT\5BT", b"BT\6rest", b"HELLO", b""]
    written(folder, "beats.pcap", payloads)
    written(folder, "named.pcap", [b"\1\2\3"])
    return folder


def test_records_that_repeat_are_a_row_each(beats):
    outcome = run("decode", "beats.pcap", "--format", "jsonl", cwd=beats)
    assert [(row["packet"], row["record"]["x"]) for row in lines_of(outcome.out)] == [
        (1, 1), (1, 2), (1, 3), (2, 4), (3, 5), (4, 6),
    ]  # fmt: skip
    assert "beats v1: [1].x: 1 byte wanted, 0 left (byte 5)" in outcome.err
    assert "       6  beats v1\n       1  foreign" in outcome.err


def test_what_follows_a_record_of_ours_is_a_fault(beats):
    outcome = run("decode", "beats.pcap", "--format", "jsonl", cwd=beats)
    assert [line for line in outcome.err.splitlines() if " packet 4 " in line]


def test_fields_named_as_columns_do_not_hide_them(beats):
    outcome = run("decode", "named.pcap", "--as", "named/v1", "--format", "csv", cwd=beats)
    header, row = csv.reader(io.StringIO(outcome.out))
    assert len(set(header)) == len(header)
    cells = dict(zip(header, row, strict=True))
    assert (cells["protocol"], cells["version"], cells["packet"]) == ("named", "1", "1")
    assert [row.count(text) for text in ("2", "3")] == [1, 1]


def test_a_registry_without_tags_asks_what_payloads_are(beats):
    (beats / "plain_protocols.py").write_text(
        "from beats_protocols import Named\n"
        "from wirelock import Protocol, Registry\n"
        "PLAIN = Registry(Protocol('named', {1: Named}))\n"
    )
    outcome = run("decode", "named.pcap", "--protocols", "plain_protocols:PLAIN", cwd=beats)
    assert (outcome.code, outcome.out) == (2, "")
    assert "no protocol of the registry has a tag: say what the payloads are with --as" in outcome.line


def ping(*numbers):
    return b"".join(b"PG\x01" + number.to_bytes(2, "big") for number in numbers)


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
    outcome = decode("one.pcap", "--format", "jsonl", "--faults", "faults.jsonl", "--skip", skip, cwd=pings)
    assert outcome.code == 0, outcome.err
    rows = lines_of(outcome.out)
    assert [(row["packet"], row["record"]["n"]) for row in rows] == [(1, n) for n in numbers]
    faults = lines_of((pings / "faults.jsonl").read_text("utf-8"))
    expected = [(fault[0], fault[1], fault[2] + skip)] if fault else []
    assert [(f["code"], f["path"], f["byte"]) for f in faults] == expected
    assert f"{len(numbers):>8}  ping v1\n" in outcome.err


# -- other ways to say which protocols


def test_protocols_may_be_said():
    assert run("decode", SESSION, "--protocols", "protocol:PROTOCOLS").out == session().out


def test_protocols_names_another_registry(pings, tmp_path):
    write(tmp_path / "other.py", PINGS.replace("PROTOCOLS", "MINE"))
    write(tmp_path / "one.pcap", capture_of(ping(1)))
    outcome = decode("one.pcap", "--format", "jsonl", "--protocols", "other:MINE", cwd=tmp_path)
    assert (outcome.code, len(outcome.out.splitlines())) == (0, 1)
    (tmp_path / "pyproject.toml").unlink()
    assert decode("one.pcap", "--protocols", "other:MINE", cwd=tmp_path).code == 0


def test_times_at_both_ends(tmp_path):
    path = tmp_path / "late.pcap"
    path.write_bytes(pcap([(0xFFFFFFFF, 999_999, datagram(SNAPSHOT)), (0, 0, datagram(SNAPSHOT[:3]))]))
    outcome = run("decode", path, "--format", "jsonl")
    assert lines_of(outcome.out)[0]["time_ns"] == "4294967295999999000"
    assert " packet 2 1970-01-01T00:00:00.000000000Z " in outcome.err

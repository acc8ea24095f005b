"""`wirelock decode`: every option, on the sample session and on captures of this file's own."""

import csv
import io
import json

import pytest

from protocol import PROTOCOLS
from protocol.rotation import RotationV1
from protocol.snapshot import SnapshotV1
from tests.capture.capture_writer import Blocks, ethernet, ipv4, ipv6, pcap, udp
from tests.cli.command import SESSION, run, run_all, session

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

REACHABLE = "the rule reachable does not hold: no unit quaternion has these three components as its smallest"
FAULTS = [
    # (packet, protocol, version, code, path, place, message); each over IPv4 and then over IPv6
    ((57, 59), "snapshot", 1, "truncated", "entities[2].rotation.b", "byte 71", "2 bytes wanted, 1 left"),
    ((66, 68), "snapshot", 2, "rule:reachable", "entities[0].rotation", "byte 23", REACHABLE),
    (
        (109, 111),
        "snapshot",
        1,
        "out-of-range",
        "entities[0].rotation.largest_index",
        "byte 24",
        "17 is not in 0..3",
    ),
    ((134, 136), "snapshot", 2, "truncated", "tick", "byte 3", "4 bytes wanted, 2 left"),
    ((169, 171), "snapshot", 1, "trailing-bytes", "", "byte 119", "1 byte after the end"),
    ((190, 192), "snapshot", 2, "truncated", "entities[1].id", "byte 30", "2 bytes wanted, 0 left"),
    ((237, 239), "snapshot", None, "unknown-version", "version", "byte 2", "version 9 is none of 1, 2"),
    (
        (278, 280),
        "snapshot",
        2,
        "out-of-range",
        "entities[0].position.x",
        "byte 11",
        "nan is not in -8192.0..8192.0",
    ),
]


def lines_of(outcome):
    assert outcome.code == 0
    return [json.loads(line) for line in outcome.out.splitlines()]


# -- the sample session


def test_the_summary_of_the_session():
    outcome = session()
    assert outcome.code == 0
    assert outcome.err.endswith(SUMMARY)
    assert len(outcome.err.splitlines()) == 16 + len(SUMMARY.splitlines())


def test_faults_on_standard_error_are_one_line_each():
    lines = session().err.splitlines()[:16]
    for line, (packet, *_, path, place, message) in zip(lines, expected_faults(), strict=True):
        assert f" packet {packet} 2026-11-30T02:22:2" in line
        assert line.startswith(f"{SESSION} packet ")
        assert line.endswith(f": {path}: {message} ({place})" if path else f": {message} ({place})")


def expected_faults():
    rows = [(packet, *rest) for packets, *rest in FAULTS for packet in packets]
    return sorted(rows)


@pytest.fixture(scope="module")
def fault_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    rows = {
        suffix: ("decode", SESSION, "--faults", folder / f"f{suffix}")
        for suffix in (".jsonl", ".csv", ".txt", "")
    }
    for outcome in run_all(rows).values():
        assert (outcome.code, outcome.err) == (0, SUMMARY)
    return {suffix: (folder / f"f{suffix}").read_text("utf-8") for suffix in rows}


def test_faults_as_jsonl(fault_files):
    rows = [json.loads(line) for line in fault_files[".jsonl"].splitlines()]
    keys = ("packet", "protocol", "version", "code", "path", "place", "message")
    assert [tuple(row[key] for key in keys) for row in rows] == expected_faults()
    for row in rows:
        assert row["file"] == str(SESSION)
        assert row["place"] == f"byte {row['byte']}"
        assert row["source"] == row["destination"] in ("127.0.0.1", "::1")
        assert row["source_port"] == 47800
        assert row["time_ns"].startswith("179600534")


def test_faults_as_csv(fault_files):
    rows = list(csv.DictReader(io.StringIO(fault_files[".csv"])))
    plain = [json.loads(line) for line in fault_files[".jsonl"].splitlines()]
    assert [{key: "" if value is None else str(value) for key, value in row.items()} for row in plain] == rows


def test_faults_as_text(fault_files):
    assert fault_files[".txt"] == fault_files[""]
    assert fault_files[".txt"].splitlines() == session().err.splitlines()[:16]


def test_rows_as_jsonl_load_back():
    rows = lines_of(session("--format", "jsonl"))
    assert len(rows) == 304
    assert [row["packet"] for row in rows] == sorted(row["packet"] for row in rows)
    for row in rows:
        assert list(row) == [
            "packet", "time_ns", "source", "source_port", "destination", "destination_port",
            "protocol", "version", "record",
        ]  # fmt: skip
        cls = PROTOCOLS[row["protocol"]].versions[row["version"]]
        record = cls.model_validate_json(json.dumps(row["record"]))
        assert cls.parse(record.build()) == record
    assert [row["record"]["tick"] for row in rows if row["version"] == 1][:4] == [0, 0, 1, 1]
    first = rows[0]
    assert (first["packet"], first["time_ns"], first["source"], first["source_port"]) == (
        5, "1796005341681059072", "127.0.0.1", 47800,
    )  # fmt: skip


def test_rows_as_csv_say_the_same():
    outcome = session("--format", "csv")
    header, *cells = csv.reader(io.StringIO(outcome.out))
    assert len(set(header)) == len(header), "a column's name is there twice"
    rows = [dict(zip(header, line, strict=True)) for line in cells]
    plain = lines_of(session("--format", "jsonl"))
    assert len(rows) == len(plain) == 304
    for row, other in zip(rows, plain, strict=True):
        for name, value in other.items():
            if name != "record":
                assert row[name] == str(value)
        for name, value in other["record"].items():
            cell = next(text for key, text in row.items() if key.endswith(f"record.{name}"))
            assert json.loads(cell) == value if name == "entities" else cell == str(value)


def test_rows_as_a_table():
    head, *rows = session().out.splitlines()
    assert head.split() == ["packet", "seconds", "source", "destination", "record", "fields"]
    assert len(rows) == 304
    assert rows[0].split()[:6] == ["5", "0.000000000", "127.0.0.1:47800", "127.0.0.1:42828", "snapshot", "v1"]
    assert " tick=0 count=1 entities=[{id=1 " in rows[0]
    assert rows[-1].split()[2] == "[::1]:47800"


# -- formats by name

NAMES = {
    "rows.jsonl": "jsonl",
    "rows.ndjson": "jsonl",
    "rows.JSONL": "jsonl",
    "rows.csv": "csv",
    "rows.txt": "table",
    "rows": "table",
}


def kind_of(text):
    return "jsonl" if text.startswith("{") else "csv" if text.startswith("packet,") else "table"


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    rows = {name: ("decode", SESSION, "-o", folder / name) for name in NAMES}
    rows["over.jsonl"] = ("decode", SESSION, "-o", folder / "over.jsonl", "--format", "csv")
    outcomes = run_all(rows)
    assert sorted(path.name for path in folder.iterdir()) == sorted(rows)
    return outcomes, {name: (folder / name).read_text("utf-8") for name in rows}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_the_file_says_the_format(named, name):
    outcomes, texts = named
    assert (outcomes[name].code, outcomes[name].out) == (0, "")
    assert outcomes[name].err.endswith(SUMMARY)
    assert kind_of(texts[name]) == NAMES[name]
    form = () if NAMES[name] == "table" else ("--format", NAMES[name])
    assert texts[name] == session(*form).out


def test_format_outweighs_the_name(named):
    assert named[1]["over.jsonl"] == session("--format", "csv").out


def test_a_hyphen_is_standard_output():
    assert run("decode", SESSION, "-o", "-", "--format", "jsonl").out == session("--format", "jsonl").out


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
    rows = lines_of(outcome)
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
    assert [row["record"]["largest_index"] for row in lines_of(outcome)] == [0, 1, 2, 3]
    assert "rotation v1: c: 2 bytes wanted, 1 left (byte 9)" in outcome.err
    assert "payload: 4 bytes wanted, 2 left (byte 0)" in outcome.err


def test_several_captures_say_which_file_a_row_is_from(tmp_path):
    first = written(tmp_path, "first.pcap", [SNAPSHOT])
    second = written(tmp_path, "second.pcap", [SNAPSHOT[:5], SNAPSHOT])
    outcome = run("decode", first, second, "--format", "jsonl")
    assert [(row["file"], row["packet"]) for row in lines_of(outcome)] == [(str(first), 1), (str(second), 2)]
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


def test_standard_input():
    outcome = run("decode", "-", "--format", "jsonl", given=SESSION.read_bytes())
    assert outcome.out == session("--format", "jsonl").out
    assert outcome.err == session("--format", "jsonl").err.replace(str(SESSION), "standard input")


def test_strict_is_about_faults():
    assert run("decode", SESSION, "--strict").code == 1
    assert run("decode", SESSION, "--strict", "--port", "9").code == 0


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
    assert [row["time_ns"] for row in lines_of(outcome)] == [None]
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


# -- a protocol whose records repeat

REPEATS = """
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
    (folder / "beats_protocols.py").write_text(REPEATS)
    payloads = [b"BT\1BT\2BT\3", b"BT\4", b"BT\5BT", b"BT\6rest", b"HELLO", b""]
    written(folder, "beats.pcap", payloads)
    written(folder, "named.pcap", [b"\1\2\3"])
    return folder


def test_records_that_repeat_are_a_row_each(beats):
    outcome = run("decode", "beats.pcap", "--format", "jsonl", cwd=beats)
    assert [(row["packet"], row["record"]["x"]) for row in lines_of(outcome)] == [
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


# -- other ways to say which protocols


def test_protocols_may_be_said():
    assert run("decode", SESSION, "--protocols", "protocol:PROTOCOLS").out == session().out


def test_times_at_both_ends(tmp_path):
    path = tmp_path / "late.pcap"
    path.write_bytes(pcap([(0xFFFFFFFF, 999_999, datagram(SNAPSHOT)), (0, 0, datagram(SNAPSHOT[:3]))]))
    outcome = run("decode", path, "--format", "jsonl")
    assert lines_of(outcome)[0]["time_ns"] == "4294967295999999000"
    assert " packet 2 1970-01-01T00:00:00.000000000Z " in outcome.err

"""What cannot be read: one line on standard error and exit code 2, or faults where a capture is damaged."""

import json
import os

import pytest

from tests.capture.capture_writer import Blocks, ethernet, ipv4, pcap, udp
from tests.cli.command import SESSION, V1, capture_of, refused, run, run_all, session, write, write_project

SNAPSHOT = b"WS\1\7\0\0\0\0\0"
PACKET = ethernet(ipv4(udp(SNAPSHOT)))

BAD_FILES = {
    "missing": (None, "{}: No such file or directory"),
    "empty": (b"", "{}: is empty"),
    "text": (b"hello, world\n", "{}: begins with 68 65 6c 6c, as no capture does"),
    "short": (b"\xd4\xc3\xb2", "{}: begins with d4 c3 b2, as no capture does"),
    "pcap cut in its header": (pcap([])[:20], "{}: is a pcap file of 20 bytes, less than its header"),
    "pcap of another version": (
        pcap([], version=(3, 0)),
        "{}: is pcap version 3.0; versions 2.0 to 2.4 are read",
    ),
    "pcapng cut in its header": (
        Blocks().section()[:20],
        "{}: is no readable pcapng file: 16 bytes wanted, 8 left",
    ),
    "cut gzip": (b"\x1f\x8b\x08\0", "{}: the gzip data are cut (byte 4)"),
    "bzip2": (b"BZh91AY", "{}: is bzip2, which is not read: unpack it first"),
    "a folder": ("folder", "{} is a directory: name its captures (see wirelock decode --help)"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_no_capture_is_refused_and_an_old_output_kept(tmp_path, name):
    content, told = BAD_FILES[name]
    path, folder = tmp_path / f"{name}.pcap", tmp_path / "out"
    folder.mkdir()
    if content == "folder":
        path.mkdir()
    elif content is not None:
        write(path, content)
    old = write(folder / "rows.jsonl", "old\n")
    faults = write(folder / "faults.jsonl", "old faults\n")
    good = write(tmp_path / "good.pcap", capture_of(V1))
    rows = {
        "an old output": ("decode", path, "-o", old, "--faults", faults),
        "standard output": ("decode", path),
        "behind a good one": ("decode", good, path, "-o", old, "--faults", faults),
        "a new output": ("decode", path, "-o", folder / "new.jsonl"),
    }
    for outcome in run_all(rows).values():
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.line == told.format(path)
    assert (old.read_text("utf-8"), faults.read_text("utf-8")) == ("old\n", "old faults\n")
    assert sorted(folder.iterdir()) == [faults, old]


def test_nothing_is_printed_of_what_could_not_be_read():
    outcome = run("decode", "/nonexistent/x.pcap")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.line == "/nonexistent/x.pcap: No such file or directory"


def test_standard_input_that_is_no_capture():
    outcome = run("decode", "-", given=b"hello")
    assert outcome.code == 2
    assert outcome.line == "standard input: begins with 68 65 6c 6c, as no capture does"
    assert run("decode", "-").line == "standard input: is empty"


def test_a_second_file_that_is_no_capture(tmp_path):
    outcome = run("decode", SESSION, tmp_path / "missing.pcap", "-o", tmp_path / "rows.jsonl")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == f"wirelock: {tmp_path}/missing.pcap: No such file or directory"
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_that_is_no_text(tmp_path):
    """File names are bytes: one that is no UTF-8 is decoded like any other."""
    name = tmp_path / os.fsdecode(b"\xff.pcap")
    name.write_bytes(pcap([(1, 0, PACKET), (1, 1, ethernet(ipv4(udp(SNAPSHOT[:4]))))]))
    outcome = run("decode", name, "--faults", tmp_path / "faults.jsonl")
    assert outcome.code == 0
    assert "       1  fault truncated\n" in outcome.err
    assert len((tmp_path / "faults.jsonl").read_bytes().splitlines()) == 1
    assert run("decode", name, "--faults", tmp_path / "faults.csv").code == 0
    assert run("decode", name, SESSION, "--format", "jsonl", PYTHONIOENCODING="utf-8:strict").code == 0


# -- damage

WHOLE = SESSION.read_bytes()


def block_starts():
    """Where the blocks of the session begin."""
    at, starts = 0, []
    while at < len(WHOLE):
        starts.append(at)
        at += int.from_bytes(WHOLE[at + 4 : at + 8], "little")
    return starts


CUTS = {
    "behind the last packet": (0, 0, None),
    "in the middle of the last packet": (-1, 40, "cut"),
    "in the head of the last packet": (-1, 5, "cut"),
    "before the last packet": (-1, 0, None),
    "in the middle of all": (180, 17, "cut"),
    "behind the first packet": (4, 0, None),
}


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    folder, rows = tmp_path_factory.mktemp("cuts"), {}
    starts = block_starts()
    for name, (block, more, _) in CUTS.items():
        cut = folder / f"{name}.pcapng"
        cut.write_bytes(WHOLE[: starts[block] + more] if block else WHOLE)
        rows[name] = ("decode", cut, "--format", "jsonl", "--faults", cut.with_suffix(".jsonl"))
    return folder, run_all(rows)


@pytest.mark.parametrize("name", CUTS)
def test_a_session_that_is_cut_keeps_what_came_before(cuts, name):
    folder, outcomes = cuts
    block, more, code = CUTS[name]
    outcome = outcomes[name]
    assert outcome.code == 0
    assert session("--format", "jsonl").out.startswith(outcome.out)
    faults = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    files = [fault for fault in faults if fault["source"] is None]
    assert [fault["code"] for fault in files] == ([code] if code else [])
    for fault in files:
        start = block_starts()[block]
        assert start <= fault["byte"] <= start + more
        assert fault["place"] == f"byte {fault['byte']} of the file"
        assert f"       1  fault {code}\n" in outcome.err


def test_a_pcap_that_is_cut_at_every_byte_of_its_last_packet(tmp_path):
    data = pcap([(1, 0, PACKET), (1, 1, PACKET)])
    last = len(data) - len(PACKET) - 16
    paths = []
    for end in range(last, len(data) + 1, 7):
        paths.append(tmp_path / f"cut-{end}.pcap")
        paths[-1].write_bytes(data[:end])
    outcome = run("decode", *paths, "--format", "jsonl", "--faults", tmp_path / "faults.jsonl")
    assert outcome.code == 0
    whole = len(data) - last == 7 * (len(paths) - 1)
    assert len(outcome.out.splitlines()) == len(paths) + whole
    faults = [json.loads(line) for line in (tmp_path / "faults.jsonl").read_text().splitlines()]
    assert [(fault["file"], fault["packet"], fault["code"]) for fault in faults] == [
        (str(path), 2, "cut") for path in paths[1 : len(paths) - whole]
    ]


@pytest.mark.parametrize("kept", [24 + 3, 24 + 16 + 5, 24 + 16 + 73 + 15])
def test_a_pcap_that_was_cut(tmp_path, kept):
    whole = capture_of(V1, V1)
    capture = write(tmp_path / "cut.pcap", whole[:kept])
    outcome = run("decode", capture, "--format", "jsonl", "--strict", "--faults", tmp_path / "f.jsonl")
    assert outcome.code == 1
    assert len(outcome.out.splitlines()) == (kept >= 24 + 16 + 73)
    (fault,) = map(json.loads, (tmp_path / "f.jsonl").read_text("utf-8").splitlines())
    assert fault["code"] == "cut"


# -- projects


def project(source, settings="[tool.wirelock]\nprotocols = 'mine:X'\n"):
    return {"pyproject.toml": settings, "mine.py": source}


NAMED = 'no [tool.wirelock] with protocols = "module:NAME" in a pyproject.toml at or above'
RECORD = "from construct import *\nfrom wirelock import *\nclass R(Record, layout=Struct("
PROJECTS = {
    "no project": ({}, NAMED),
    "a project without protocols": ({"pyproject.toml": "[tool.wirelock]\n"}, NAMED),
    "a key that is not known": (
        {"pyproject.toml": "[tool.wirelock]\nprotocol = 'a:B'\n"},
        "has no setting 'protocol': there are protocols, fixtures, lock",
    ),
    "no TOML": ({"pyproject.toml": "[tool.wirelock\n"}, "pyproject.toml cannot be read: "),
    "settings that are no table": (
        {"pyproject.toml": "[tool]\nwirelock = 5\n"},
        "pyproject.toml: wirelock = 5 is no table",
    ),
    "tools that are no table": ({"pyproject.toml": "tool = 3\n"}, "pyproject.toml: tool = 3 is no table"),
    "protocols that are no text": (
        {"pyproject.toml": "[tool.wirelock]\nprotocols = 3\n"},
        "[tool.wirelock] protocols = 3 is no string",
    ),
    "no module": ({"pyproject.toml": "[tool.wirelock]\nprotocols = 'absent:X'\n"}, "no module 'absent' in "),
    "a module without a name": (
        {"pyproject.toml": "[tool.wirelock]\nprotocols = 'absent'\n"},
        "protocols = 'absent' names no registry: write module:NAME",
    ),
    "a module of dots": ({"pyproject.toml": "[tool.wirelock]\nprotocols = '.:NAME'\n"}, ""),
    "no name": (project(""), "mine has no Registry named X"),
    "a name of something else": (project("X = 3"), "mine has no Registry named X"),
    "a module that raises": (
        project("\n\n1 / 0\n"),
        "mine does not import: ZeroDivisionError: division by zero (",
    ),
    "an error of two lines": (project("raise ValueError('two\\nlines')"), "ValueError: two ("),
    "a module that reads a folder": (project("import os; os.listdir('/nowhere')"), "'/nowhere' ("),
    "a module that imports what is not there": (
        project("import nowhere_to_be_found"),
        "mine does not import: No module named 'nowhere_to_be_found' (",
    ),
    "a module that ends the process": (
        project("import sys\nsys.exit(0)\n"),
        "mine does not import: SystemExit: 0",
    ),
    "a module that leaves with words": (project("raise SystemExit('leaving')"), "SystemExit: leaving"),
    "a module that is no Python": (project("x = = 5\n"), "mine does not import: SyntaxError: "),
    "a layout that is refused": (
        project(f"{RECORD}'x' / Int16un)):\n    x: int\n"),
        "R.x: the byte order is the machine's own; state it",
    ),
    "a record that is refused": (project(f"{RECORD}'a' / Int8ul)):\n    b: int\n"), "R.a: the layout has a"),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_that_cannot_be_used(tmp_path, name):
    files, told = PROJECTS[name]
    for file, text in files.items():
        write(tmp_path / file, text)
    rows = {
        "show": ("show",),
        "decode": ("decode", SESSION, "-o", tmp_path / "rows.jsonl"),
        "inspect": ("inspect", "5753"),
    }
    for outcome in run_all(rows, cwd=tmp_path).values():
        refused(outcome, told)
    assert {path.name for path in tmp_path.iterdir()} == {*files}


def test_a_registry_of_nothing_asks_what_the_bytes_are(tmp_path):
    write_project(tmp_path, "mine", "from wirelock import Registry\nPROTOCOLS = Registry()\n")
    refused(run("decode", SESSION, "-o", tmp_path / "rows.jsonl", cwd=tmp_path), "--as")
    refused(run("inspect", "5753", cwd=tmp_path), "no protocol of the registry has a tag", "--as")
    assert run("show", cwd=tmp_path).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mine.py", "pyproject.toml"}


ONCE = [
    ["decode", "-", "-"],
    ["stats", "-", str(SESSION), "-"],
    ["compare", "-", "-"],
    ["diff", "snapshot/v1", "snapshot/v2", "--capture", "-", "--capture", "-"],
]


@pytest.mark.parametrize("arguments", ONCE, ids=" ".join)
def test_standard_input_is_read_once(arguments):
    refused(run(*arguments), "only one of the captures can be standard input")

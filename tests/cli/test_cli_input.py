"""What cannot be read: one line on standard error and exit code 2, or faults where a capture is damaged."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.capture.capture_writer import Blocks, ethernet, ipv4, pcap, udp
from tests.cli.command import SESSION, run, run_all, session

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
        "{}: is pcap version 3.0; only version 2.4 is read",
    ),
    "pcapng cut in its header": (
        Blocks().section()[:20],
        "{}: is no readable pcapng file: 16 bytes wanted, 8 left",
    ),
    "gzip": (b"\x1f\x8b\x08\0", "{}: is gzip; gzip is not read yet"),
}


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    rows = {}
    for name, (data, _) in BAD_FILES.items():
        path = folder / f"{name}.pcap"
        if data is not None:
            path.write_bytes(data)
        rows[name] = ("decode", path, "-o", folder / f"{name}.jsonl", "--faults", folder / f"{name}.csv")
    outcomes = run_all(rows)
    left = sorted(path.name for path in folder.iterdir())
    return folder, outcomes, left


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_no_capture(bad_files, name):
    folder, outcomes, _ = bad_files
    assert outcomes[name].code == 2
    assert outcomes[name].out == ""
    assert outcomes[name].line == BAD_FILES[name][1].format(folder / f"{name}.pcap")


def test_no_output_is_left_of_what_could_not_be_read(bad_files):
    assert bad_files[2] == sorted(f"{name}.pcap" for name, (data, _) in BAD_FILES.items() if data is not None)


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


# -- projects

PROJECTS = {
    "no project": ({}, 'no [tool.wirelock] with protocols = "module:NAME" in a pyproject.toml at or above'),
    "a project without protocols": (
        {"pyproject.toml": "[tool.wirelock]\n"},
        "no [tool.wirelock] with protocols",
    ),
    "a key that is not known": (
        {"pyproject.toml": "[tool.wirelock]\nprotocol = 'a:B'\n"},
        "has no setting 'protocol': there are protocols, fixtures, lock",
    ),
    "no TOML": ({"pyproject.toml": "[tool.wirelock\n"}, "pyproject.toml cannot be read: "),
    "settings that are no table": ({"pyproject.toml": "[tool]\nwirelock = 5\n"}, "pyproject.toml"),
    "no module": (
        {"pyproject.toml": "[tool.wirelock]\nprotocols = 'absent:X'\n"},
        "there is no module 'absent' in ",
    ),
    "no name": (
        {"pyproject.toml": "[tool.wirelock]\nprotocols = 'mine:X'\n", "mine.py": ""},
        "mine has no Registry named X",
    ),
    "a module that raises": (
        {"pyproject.toml": "[tool.wirelock]\nprotocols = 'mine:X'\n", "mine.py": "\n\n1 / 0\n"},
        "mine does not import: ZeroDivisionError: division by zero (",
    ),
    "a module that ends the process": (
        {"pyproject.toml": "[tool.wirelock]\nprotocols = 'mine:X'\n", "mine.py": "import sys\nsys.exit(0)\n"},
        "mine does not import: SystemExit: 0",
    ),
    "a module that is no Python": (
        {"pyproject.toml": "[tool.wirelock]\nprotocols = 'mine:X'\n", "mine.py": "x = = 5\n"},
        "mine does not import: SyntaxError: ",
    ),
    "a layout that is refused": (
        {
            "pyproject.toml": "[tool.wirelock]\nprotocols = 'mine:X'\n",
            "mine.py": "from construct import *\nfrom wirelock import *\n"
            "class R(Record, layout=Struct('x' / Int16un)):\n    x: int\n",
        },
        "R.x: the byte order is the machine's own; state it",
    ),
}


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    def use(number):
        folder = tmp_path_factory.mktemp(f"project{number}")
        for file, text in list(PROJECTS.values())[number][0].items():
            (folder / file).write_text(text)
        return run(*(("show",) if number % 2 else ("decode", SESSION)), cwd=folder)

    with ThreadPoolExecutor(4) as pool:
        return dict(zip(PROJECTS, pool.map(use, range(len(PROJECTS))), strict=True))


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_that_cannot_be_used(projects, name):
    assert projects[name].code == 2
    assert projects[name].out == ""
    assert PROJECTS[name][1] in projects[name].line

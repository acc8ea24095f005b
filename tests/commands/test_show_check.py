"""`wirelock show`, `check` and `lock` as processes, and what all commands share."""

from __future__ import annotations

import os
import subprocess

import pytest
from command_line import COMMAND, ROOT, SESSION, copy_project, environment, refused, wirelock, write

from protocol import PROTOCOLS

UNIT = "A unit quaternion without its largest component."
VERSIONS = [
    ("rotation", 1, "7 bytes", UNIT),
    ("rotation", 2, "7 bytes", f"{UNIT[:-1]}, with flags beside the index."),
    ("snapshot", 1, "9 bytes or more", "All entities at one tick."),
    ("snapshot", 2, "9 bytes or more", "All entities at one tick."),
]
V1_FILE, LOCK = "protocol/rotation/v1.py", "protocol/wirelock.lock"


@pytest.fixture
def project(tmp_path):
    return copy_project(tmp_path)


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    write(path, text.replace(old, new))


def done(run):
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


# -- show


def test_show_lists_every_version():
    expected = [f"{name}/v{number}  {size}  {doc}" for name, number, size, doc in VERSIONS]
    assert done(wirelock("show")).splitlines() == expected


@pytest.mark.parametrize(("name", "number", "size", "doc"), VERSIONS)
def test_show_one_version(name, number, size, doc):
    lines = done(wirelock("show", f"{name}/v{number}")).splitlines()
    layout = PROTOCOLS[name].layout(number)
    assert lines[0] == f"{name}/v{number}: {layout.name}, {size}"
    assert lines[1] == doc
    assert lines[2] == f"digest {PROTOCOLS[name].digest(number)}"
    assert ("tag magic, version" in lines) == (name == "snapshot")
    names = [line.split()[0] for line in lines[3:] if line]
    for item in layout.fields:
        assert item.label in names
    assert any(line.startswith("  rule reachable of Rotation") for line in lines)


def test_show_one_protocol_is_all_of_its_versions():
    both = done(wirelock("show", "rotation"))
    assert both == done(wirelock("show", "rotation/v1")) + done(wirelock("show", "rotation/v2"))


def test_show_says_places_types_limits_and_meanings():
    text = " ".join(done(wirelock("show", "rotation/v2")).split())
    assert "flags byte 0 bits 7..2 " in text
    assert "largest_index byte 0 bits 1..0 " in text
    assert "a byte 1 int16 little-endian The first kept component" in text


@pytest.mark.parametrize("what", ["rotation/v1", "rotation/v2", "snapshot/v1", "snapshot/v2", "rotation"])
def test_source_is_python_that_compiles(what):
    text = done(wirelock("show", what, "--source"))
    compile(text, what, "exec")
    count = 2 if what == "rotation" else 1
    assert text.count("def parse_from(data, at, end):") >= count
    assert text.count("def build(record):") >= count


# -- check and lock


def test_check_without_drift(project):
    assert done(wirelock("check", cwd=project)) == f"{project / LOCK}: no drift\n"
    assert done(wirelock("check", cwd=project / "fixtures")) == f"{project / LOCK}: no drift\n"


def test_lock_has_nothing_to_add(project):
    before = (project / LOCK).read_bytes()
    assert done(wirelock("lock", cwd=project)) == f"nothing to add\n{project / LOCK}: 4 released versions\n"
    assert (project / LOCK).read_bytes() == before


DRIFTS = [
    (
        V1_FILE,
        [('"a" / Int16sl', '"a" / Int16sb'), ("Int16sl, Struct", "Int16sb, Int16sl, Struct")],
        [
            "rotation v1: a: byte order: was little, now big",
            "snapshot v1: entities[].rotation.a: byte order: was little, now big",
        ],
    ),
    (
        V1_FILE,
        [("Le(3)", "Le(2)")],
        ["rotation v1: largest_index: limit", "snapshot v1: entities[].rotation.largest_index: limit"],
    ),
    ("fixtures/rotation/v1.json", [('"cases"', '"x"')], None),
    (V1_FILE, [("from construct", "from nowhere")], ["rotation v1: layout: was released, now does not load"]),
    ("protocol/__init__.py", [("rotation, snapshot)", "snapshot)")], ["rotation v1"]),
]


@pytest.mark.parametrize(("file", "edits", "findings"), DRIFTS, ids=range(len(DRIFTS)))
def test_drift_is_found_and_not_locked(project, file, edits, findings):
    for old, new in edits:
        edit(project / file, old, new)
    before = (project / LOCK).read_bytes()
    run = wirelock("check", cwd=project)
    if findings is None:
        refused(run, "v1.json")
        refused(wirelock("lock", cwd=project), "v1.json")
    else:
        assert (run.returncode, run.stderr) == (1, "")
        lines = run.stdout.splitlines()
        assert all(any(line.startswith(finding) for line in lines) for finding in findings), lines
        locked = wirelock("lock", cwd=project)
        if "does not load" in findings[0]:
            refused(locked, "does not import")
        else:
            assert (locked.returncode, locked.stdout) == (1, run.stdout)
            assert locked.stderr == (
                "wirelock: released versions never change: release a new version instead\n"
            )
    assert (project / LOCK).read_bytes() == before
    assert sorted(path.name for path in (project / "protocol").glob("wirelock*")) == ["wirelock.lock"]


def test_a_golden_case_that_changed_is_drift(project):
    text = (project / "fixtures/rotation/v2.json").read_text("utf-8")
    write(project / "fixtures/rotation/v2.json", text.replace('"id": "aiming"', '"id": "aimed"'))
    run = wirelock("check", cwd=project)
    assert run.returncode == 1
    assert run.stdout.startswith("rotation v2: ") and "aiming" in run.stdout


def test_a_missing_lock(project):
    whole = (project / LOCK).read_bytes()
    (project / LOCK).unlink()
    refused(wirelock("check", cwd=project), project / LOCK, "wirelock lock")
    lines = done(wirelock("lock", cwd=project)).splitlines()
    assert [line.split(":")[0] for line in lines[:4]] == [
        f"{name} v{number}" for name, number, *_ in VERSIONS
    ]
    assert (project / LOCK).read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"<<<<<<< HEAD\n"])
def test_a_damaged_lock(project, content):
    write(project / LOCK, content)
    refused(wirelock("check", cwd=project), "wirelock.lock")
    refused(wirelock("lock", cwd=project), "wirelock.lock")
    assert (project / LOCK).read_bytes() == content


def test_a_lock_that_is_a_folder(project):
    (project / LOCK).unlink()
    (project / LOCK).mkdir()
    refused(wirelock("check", cwd=project), "wirelock.lock")
    refused(wirelock("lock", cwd=project), "wirelock.lock")


# -- what all commands share

USAGE = [
    (["nope"], ["nope"]),
    (["--nope"], ["--nope"]),
    (["show", "nope"], ["no protocol 'nope'", "rotation, snapshot"]),
    (["show", "rotation/v9"], ["no version 'v9'", "v1, v2"]),
    (["show", "rotation/"], ["no version ''"]),
    (["show", ""], ["no protocol ''"]),
    (["show", "--source"], ["--source needs"]),
    (["show", "--protocols", "nowhere:X"], ["nowhere"]),
    (["show", "--protocols"], ["--protocols"]),
    (["show", "--protocols", ""], []),
    (["check", "extra"], ["extra"]),
    (["check", "--nope"], ["--nope"]),
    (["check", "--protocols", "protocol:Nope"], ["Nope"]),
    (["lock", "--protocols", "nowhere:X"], ["nowhere"]),
]


@pytest.mark.parametrize(("arguments", "words"), USAGE, ids=[" ".join(case[0]) for case in USAGE])
def test_a_wrong_command_is_one_line(project, arguments, words):
    before = (project / LOCK).read_bytes()
    if arguments == ["check", "--protocols", "protocol:Nope"]:
        run = wirelock(*arguments, cwd=project)
        assert run.returncode == 1
        assert "Nope" in run.stdout
    else:
        refused(wirelock(*arguments, cwd=project), *words)
    assert (project / LOCK).read_bytes() == before


@pytest.mark.parametrize("command", ["show", "check", "lock"])
def test_no_project(tmp_path, command):
    refused(wirelock(command, cwd=tmp_path), "[tool.wirelock]", "--protocols")
    assert not list(tmp_path.iterdir())


def test_no_command_is_help_on_standard_error():
    run = wirelock()
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("Usage: wirelock ")


def test_version():
    assert done(wirelock("--version")) == "wirelock, version 0.1.0.dev0\n"


HELP = [[], ["decode"], ["show"], ["check"], ["lock"]]


@pytest.mark.parametrize("command", HELP, ids=" ".join)
def test_help(tmp_path, command):
    text = done(wirelock(*command, "-h", cwd=tmp_path))
    assert text.startswith("Usage: ")
    for word in ("decode", "show", "check", "lock") if not command else ("--help",):
        assert word in text


OUTPUTS = [
    ["--version"],
    ["--help"],
    ["show"],
    ["show", "rotation/v1", "--source"],
    ["check"],
    ["decode", str(SESSION), "--faults", "/dev/null"],
]


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda words: " ".join(words[::2]))
def test_a_reader_that_is_gone(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = wirelock(*arguments, stdout=writing)
    finally:
        os.close(writing)
    assert (run.returncode, run.stderr) == (141, "")


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda words: " ".join(words[::2]))
def test_a_full_disk(arguments):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        run = wirelock(*arguments, stdout=full)
    assert run.returncode == 2
    assert run.stderr.splitlines() == ["wirelock: No space left on device"]


@pytest.mark.parametrize("arguments", [["show"], ["decode", "missing.pcap"], ["nope"]], ids=" ".join)
def test_nobody_reads_the_errors(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = subprocess.run(
            [*COMMAND, *arguments],
            cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=writing, timeout=60,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert run.returncode in ((0,) if arguments == ["show"] else (2, 141))


DOCUMENTED = '''
"""Documentation that is not in ASCII."""
from construct import Int8ub, Struct
from wirelock import Protocol, Record, Registry

class R(Record, layout=Struct("a" / Int8ub)):
    """Größe — ☃."""
    a: int
    """Länge in µm."""

PROTOCOLS = Registry(Protocol("r", {1: R}))
'''


@pytest.mark.parametrize("arguments", [["show"], ["show", "r/v1"]], ids=" ".join)
def test_documentation_on_an_ascii_terminal(tmp_path, arguments):
    write(tmp_path / "game.py", DOCUMENTED)
    write(tmp_path / "pyproject.toml", '[tool.wirelock]\nprotocols = "game:PROTOCOLS"\n')
    assert "Größe — ☃." in done(wirelock(*arguments, cwd=tmp_path))
    assert "r/v1" in done(wirelock(*arguments, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"}))

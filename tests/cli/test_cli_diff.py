"""`wirelock diff`: versions, locks and git revisions, and what is said where there are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import (
    ENVIRONMENT,
    SESSION,
    capture_of,
    copy_project,
    done,
    refused,
    run,
    write,
    write_project,
)
from tests.cli.test_cli_lock import LOCK, V1_FILE, edit

NOW = "the protocols as they are"


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_project(tmp_path)


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q")
    commit(project, "as it was")
    return project


def swap_fields(project: Path) -> None:
    text = (project / V1_FILE).read_text("utf-8")
    swapped = text.replace('"a" / Int16sl', '"?" / Int16sl').replace('"b" / Int16sl', '"a" / Int16sl')
    swapped = swapped.replace('"?" / Int16sl', '"b" / Int16sl')
    swapped = swapped.replace("    a: int\n", "    ?: int\n").replace("    b: int\n", "    a: int\n")
    write(project / V1_FILE, swapped.replace("    ?: int\n", "    b: int\n"))


def without_version_1(project: Path) -> None:
    init = project / "protocol/rotation/__init__.py"
    edit(init, "{1: RotationV1, 2: RotationV2, ", "{2: RotationV2, ")
    edit(init, "migrations=MIGRATIONS", "migrations=MIGRATIONS[1:]")


LOCK_ALL = """
from pathlib import Path
from wirelock.lock.lockfile import Lock, updated, write_lock
from wirelock.schema.project import find_project

project = find_project(Path.cwd())
project.lock.unlink(missing_ok=True)
write_lock(project.lock, updated(Lock(), project.load(), {}))
"""


def lock_as_it_is(project: Path) -> None:
    """Write a lock anew, with all that is there, good or bad."""
    subprocess.run([sys.executable, "-c", LOCK_ALL], cwd=project, env=ENVIRONMENT, check=True)


def test_nothing_differs(repository: Path) -> None:
    assert f"HEAD, {NOW}: no differences" in done(run("diff", "HEAD", cwd=repository))
    assert "no differences" in done(run("diff", "HEAD", "HEAD", cwd=repository))
    assert "no differences" in done(run("diff", LOCK, cwd=repository))
    assert "no differences" in done(run("diff", LOCK, "HEAD", cwd=repository))
    assert "no differences" in done(run("diff", "snapshot/v1", "HEAD", cwd=repository))
    assert "no differences" in done(run("diff", "HEAD", "snapshot/v1", cwd=repository / "protocol"))


def test_a_change_since_a_revision(repository: Path) -> None:
    swap_fields(repository)
    outcome = run("diff", "HEAD", cwd=repository)
    assert (outcome.code, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "rotation v1"
    assert "  wire    FIELD_SAME_POSITION  a: position: was byte 1, now byte 3" in lines
    assert "snapshot v1" in lines  # V3: a record inside of it has changed
    assert "  wire    FIELD_SAME_POSITION  entities[].rotation.a: position: was byte 1, now byte 3" in lines


def test_two_revisions_and_two_locks(repository: Path) -> None:
    old = (repository / LOCK).read_bytes()
    swap_fields(repository)
    lock_as_it_is(repository)
    commit(repository, "swapped")
    told = run("diff", "HEAD~1", "HEAD", cwd=repository)
    assert told.code == 1 and "FIELD_SAME_POSITION" in told.out
    old_file = write(repository / "old.lock", old)
    again = run("diff", "old.lock", LOCK, cwd=repository)
    assert (again.code, again.out) == (1, told.out)
    alone = run("diff", old_file, repository / LOCK, cwd=repository.parent)
    assert (alone.code, alone.out) == (1, told.out)
    back = run("diff", "HEAD", "HEAD~1", cwd=repository)
    assert "a: position: was byte 3, now byte 1" in back.out
    one = run("diff", "HEAD~1", "snapshot/v1", cwd=repository)
    assert one.code == 1 and "rotation v1\n" not in one.out and "snapshot v1\n" in one.out


def test_a_version_that_is_gone(repository: Path) -> None:
    without_version_1(repository)
    outcome = run("diff", "HEAD", cwd=repository)
    assert outcome.code == 1
    assert "rotation v1\n  wire    VERSION_NO_DELETE  version: was there, now absent" in outcome.out
    edit(repository / "protocol/__init__.py", "Registry(rotation, snapshot)", "Registry(snapshot)")
    outcome = run("diff", "HEAD", cwd=repository)
    assert outcome.out.count("PROTOCOL_NO_DELETE") == 3


def test_a_new_version_is_no_finding(project: Path) -> None:
    init = project / "protocol/rotation/__init__.py"
    whole = init.read_text("utf-8")
    without_version_1(project)
    lock_as_it_is(project)
    write(init, whole)
    assert "no differences" in done(run("diff", LOCK, cwd=project))


REFUSALS = [
    (["diff"], ["OLD"]),
    (["diff", "nowhere"], ["nowhere is no git revision", "no lock file", "no version such as snapshot/v1"]),
    (["diff", "snapshot/v9", "HEAD"], ["snapshot/v9 is no git revision", "snapshot/v1"]),
    (["diff", "snapshot/v1"], ["what to compare snapshot/v1 with"]),
    (["diff", "protocol"], ["protocol is a directory"]),
    (["diff", "--upload-pack=x"], ["No such option"]),
    (["diff", "HEAD", "HEAD..HEAD"], ["HEAD..HEAD is no git revision"]),
    (["diff", "HEAD", "pyproject.toml"], ["pyproject.toml: is not whole JSON"]),
    (["diff", "early", "HEAD"], ["the revision early holds no protocol/wirelock.lock"]),
    (["diff", "damaged"], ["damaged:protocol/wirelock.lock: is empty"]),
    (["diff", "--", "-x"], ["-x is no git revision"]),
]


@pytest.fixture(scope="module")
def history(tmp_path_factory: Any) -> Path:
    """A repository with a revision before the lock, and one with a damaged lock."""
    project = copy_project(tmp_path_factory.mktemp("history"))
    lock = (project / LOCK).read_bytes()
    git(project, "init", "-q")
    (project / LOCK).unlink()
    commit(project, "no lock yet")
    git(project, "tag", "early")
    write(project / LOCK, b"")
    commit(project, "an empty lock")
    git(project, "tag", "damaged")
    write(project / LOCK, lock)
    commit(project, "a lock")
    return project


@pytest.mark.parametrize(("arguments", "words"), REFUSALS, ids=lambda item: " ".join(item)[:30])
def test_what_is_refused(history: Path, arguments: list[str], words: list[str]) -> None:
    refused(run(*arguments, cwd=history), *words)


def test_a_version_that_a_revision_does_not_hold(history: Path) -> None:
    single = write(history / "single.lock", '{"wirelock_lock": 1, "protocols": {}}')
    refused(run("diff", single, "rotation/v2", cwd=history), "has no rotation/v2: it has nothing")


def test_protocols_that_do_not_load(project: Path) -> None:
    edit(project / V1_FILE, "from construct", "from nowhere")
    refused(run("diff", LOCK, cwd=project), "does not import")
    assert run("diff", LOCK, LOCK, cwd=project).code == 0


def test_a_version_that_is_a_folder_too(project: Path) -> None:
    (project / "rotation/v1").mkdir(parents=True)
    assert run("diff", "rotation/v1", "rotation/v2", "--format", "github", cwd=project).code == 1
    refused(run("diff", LOCK, ".", cwd=project), ". is a directory", "leave NEW out")


def test_without_git(project: Path) -> None:
    refused(run("diff", "HEAD", cwd=project), "is in no git repository")
    refused(run("diff", "HEAD", cwd=project, PATH=os.fspath(project)), "there is no git here")


# -- packets, recordings and forms

PING = """
from construct import Byte, Const, Int16ub, Struct
from wirelock import Protocol, Record, Registry, derived

class Ping(Record, layout=Struct("magic" / Const(b"PG"), "a" / Byte, "b" / Byte)):
    magic: bytes = derived()
    a: int
    b: int

class Pong(Record, layout=Struct("magic" / Const(b"PG"), "b" / Byte, "a" / Byte)):
    magic: bytes = derived()
    b: int
    a: int

PROTOCOLS = Registry(Protocol("ping", {1: Ping, 2: Pong}))
"""
RECORDED = [b"PG\1\2", b"PG\3\3", b"PG\4\5", b"??\1\2", b""]


@pytest.fixture(scope="module")
def pings(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("pings")
    write(folder / "pings.pcap", capture_of(*RECORDED))
    write(folder / "behind.pcap", capture_of(*(b"\xff" + data for data in RECORDED)))
    write(folder / "other.pcap", capture_of(b"PG\1\2", (b"PG\1\2", 5, 6)))
    return write_project(folder, "pings", PING)


def recorded(outcome: Any) -> list[str]:
    lines = [line.strip() for line in outcome.out.splitlines()]
    at = next(number for number, line in enumerate(lines) if line.startswith("recorded: "))
    return lines[at:]


def test_affected_packets_of_a_recording(pings: Path) -> None:
    outcome = run("diff", "ping/v1", "ping/v2", "--capture", "pings.pcap", cwd=pings)
    assert (outcome.code, outcome.err) == (1, "")
    assert recorded(outcome) == [
        "recorded: 5 datagrams, in them 3 packets of v1 and 3 of v2; 2 affected",
        "pings.pcap packet 1 1970-01-01T00:16:40.250000000Z: a is 1 to v1, 2 to v2",
        "pings.pcap packet 3 1970-01-01T00:16:42.250000000Z: a is 4 to v1, 5 to v2",
    ]
    behind = run("diff", "ping/v1", "ping/v2", "--capture", "behind.pcap", "--skip", 1, cwd=pings)
    assert recorded(behind)[0] == recorded(outcome)[0]
    both = ["--capture", "other.pcap", "--capture", "pings.pcap", "--port", 6]
    assert recorded(run("diff", "ping/v1", "ping/v2", *both, cwd=pings))[0].startswith(
        "recorded: 1 datagrams"
    )


def test_the_recorded_session() -> None:
    lines = recorded(run("diff", "snapshot/v1", "snapshot/v2", "--capture", SESSION))
    assert lines[0] == "recorded: 360 datagrams, in them 152 packets of v1 and 152 of v2; 304 affected"
    assert lines[1].endswith("refused by v2: version: 1 is not 2") and " packet 5 " in lines[1]
    assert lines[-1] == "and 296 more"


def test_json(pings: Path) -> None:
    told = run("diff", "ping/v1", "ping/v2", "--capture", "pings.pcap", "--format", "json", cwd=pings)
    found = json.loads(told.out)
    assert (told.code, found["wirelock_diff"], found["old"], found["new"]) == (1, 1, "ping/v1", "ping/v2")
    assert {item["rule"] for item in found["findings"]} == {"FIELD_SAME_POSITION", "CLASS_SAME_NAME"}
    [pair] = found["pairs"]
    assert (pair["compatible"], pair["told_apart"], pair["missing"]) == (False, "", [])
    assert pair["new_reads_old"]["refused"] is None and pair["misread_fields"] == {"a": "value", "b": "value"}
    assert pair["misread"] == [
        {"kind": "value", "hex": "50470100", "old": {"path": "a", "value": "1"},
         "new": {"path": "a", "value": "0"}},
    ]  # fmt: skip
    assert (pair["recorded"]["affected"], pair["recorded"]["named"][1]["packet"]) == (2, 3)
    snapshot = json.loads(run("diff", "snapshot/v1", "snapshot/v2", "--format", "json").out)["pairs"][0]
    assert snapshot["told_apart"] == "unknown-version" and snapshot["recorded"] is None
    assert snapshot["new_reads_old"]["refused"] == {
        "hex": "575301000000000000", "code": "constant", "path": "version", "byte": 2,
        "message": "1 is not 2",
    }  # fmt: skip


def test_the_same_in_every_run(pings: Path) -> None:
    outputs = {
        run("diff", "snapshot/v1", "snapshot/v2", "--format", "json", PYTHONHASHSEED=seed).out
        for seed in "12"
    }
    assert len(outputs) == 1


def test_annotations_for_github(pings: Path) -> None:
    told = run("diff", "ping/v1", "ping/v2", "--format", "github", cwd=pings)
    assert (told.code, told.err) == (1, "")
    assert told.out.splitlines()[0] == (
        "::error file=pings.py,line=10,title=FIELD_SAME_POSITION::"
        "ping v1 -> ping v2: a: position: was byte 2, now byte 3"
    )
    assert told.out.splitlines()[-1].startswith("::notice file=pings.py,line=10,title=CLASS_SAME_NAME::")


def test_code_quality_for_gitlab(pings: Path) -> None:
    report = json.loads(run("diff", "ping/v1", "ping/v2", "--format", "gitlab", cwd=pings).out)
    assert [item["severity"] for item in report] == ["major", "major", "info"]
    assert report[0]["location"] == {"path": "pings.py", "lines": {"begin": 10}}
    assert report[0]["check_name"] == "FIELD_SAME_POSITION"
    assert len({item["fingerprint"] for item in report}) == 3


def test_annotations_of_what_is_gone_are_at_the_lock(repository: Path) -> None:
    without_version_1(repository)
    told = run("diff", "HEAD", "--format", "github", cwd=repository)
    assert told.out.startswith(f"::error file={LOCK},line=1,title=VERSION_NO_DELETE::rotation v1: version")
    assert done(run("diff", "HEAD", "HEAD", "--format", "github", cwd=repository)) == ""
    assert done(run("diff", "HEAD", "HEAD", "--format", "gitlab", cwd=repository)) == "[]\n"


def test_what_gives_exit_code_1(pings: Path) -> None:
    versions = ["diff", "ping/v1", "ping/v2", "--format", "github"]
    assert run(*versions, cwd=pings).code == 1
    assert run(*versions, "--fail-on", "record", cwd=pings).code == 0
    assert run(*versions, "--fail-on", "record", "--fail-on", "name", cwd=pings).code == 1
    assert run(*versions, "--fail-on", "pairs", cwd=pings).code == 1
    lock_as_it_is(pings)
    assert run("diff", "wirelock.lock", "wirelock.lock", cwd=pings).code == 0
    assert run("diff", "wirelock.lock", "--fail-on", "pairs", cwd=pings).code == 1
    # Of snapshot the tag tells the versions apart; those of rotation have none, and v1 refuses flags.
    assert run("diff", "snapshot/v1", "snapshot/v2", "--fail-on", "pairs").code == 0
    assert run("diff", "rotation/v1", "rotation/v2", "--fail-on", "pairs").code == 1


WRONG = [
    (["--capture", "nowhere.pcap"], ["nowhere.pcap"]),
    (["--capture", "pings.py"], ["pings.py", "no capture"]),
    (["--port", "1"], ["--capture"]),
    (["--skip", "1"], ["--capture"]),
    (["--format", "xml"], ["xml"]),
    (["--format", "github", "--capture", "pings.pcap"], ["github", "leave --capture out"]),
    (["--fail-on", "all"], ["all"]),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda item: " ".join(item)[:30])
def test_wrong_options(pings: Path, arguments: list[str], words: list[str]) -> None:
    refused(run("diff", "ping/v1", "ping/v2", *arguments, cwd=pings), *words)

"""`wirelock check` and `wirelock lock`: drift is found, and what was released is never changed."""

import pytest

from tests.cli.command import copy_project, done, refused, run, write

LABELS = [f"{name} v{version}" for name in ("rotation", "snapshot") for version in (1, 2, 3)]
V1_FILE, LOCK = "protocol/rotation/v1.py", "protocol/wirelock.lock"


@pytest.fixture
def project(tmp_path):
    return copy_project(tmp_path)


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    write(path, text.replace(old, new))


def test_check_without_drift(project):
    assert done(run("check", cwd=project)) == f"{project / LOCK}: no drift\n"
    assert done(run("check", cwd=project / "fixtures")) == f"{project / LOCK}: no drift\n"


def test_lock_has_nothing_to_add(project):
    before = (project / LOCK).read_bytes()
    assert done(run("lock", cwd=project)) == f"nothing to add\n{project / LOCK}: 6 released versions\n"
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
    outcome = run("check", cwd=project)
    if findings is None:
        refused(outcome, "v1.json")
        refused(run("lock", cwd=project), "v1.json")
    else:
        assert (outcome.code, outcome.err) == (1, "")
        lines = outcome.out.splitlines()
        assert all(any(line.startswith(finding) for line in lines) for finding in findings), lines
        locked = run("lock", cwd=project)
        if "does not load" in findings[0]:
            refused(locked, "does not import")
        else:
            assert (locked.code, locked.out) == (1, outcome.out)
            assert locked.err == ("wirelock: released versions never change: release a new version instead\n")
    assert (project / LOCK).read_bytes() == before
    assert sorted(path.name for path in (project / "protocol").glob("wirelock*")) == ["wirelock.lock"]


def test_a_golden_case_that_changed_is_drift(project):
    text = (project / "fixtures/rotation/v2.json").read_text("utf-8")
    write(project / "fixtures/rotation/v2.json", text.replace('"id": "aiming"', '"id": "aimed"'))
    outcome = run("check", cwd=project)
    assert outcome.code == 1
    assert outcome.out.startswith("rotation v2: ") and "aiming" in outcome.out


def test_a_missing_lock(project):
    whole = (project / LOCK).read_bytes()
    (project / LOCK).unlink()
    refused(run("check", cwd=project), project / LOCK, "wirelock release")
    assert done(run("lock", cwd=project)).startswith(
        f"nothing to add\n{project / LOCK}: 0 released versions\n"
    )
    assert not (project / LOCK).exists()
    names = [label.replace(" ", "/") for label in LABELS]
    lines = done(run("release", *names, cwd=project)).splitlines()
    assert [line.split(":")[0] for line in lines[-7:-1]] == LABELS
    assert (project / LOCK).read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"<<<<<<< HEAD\n"])
def test_a_damaged_lock(project, content):
    write(project / LOCK, content)
    refused(run("check", cwd=project), "wirelock.lock")
    refused(run("lock", cwd=project), "wirelock.lock")
    assert (project / LOCK).read_bytes() == content


def test_a_lock_that_is_a_folder(project):
    (project / LOCK).unlink()
    (project / LOCK).mkdir()
    refused(run("check", cwd=project), "wirelock.lock")
    refused(run("lock", cwd=project), "wirelock.lock")

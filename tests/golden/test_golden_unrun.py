"""A run of the whole project in which a golden file is not executed fails, and names it (V8)."""

from __future__ import annotations

import json

import pytest

DESELECTS = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if "{part}" not in item.nodeid]
"""
SKIPS = """
import pytest

def pytest_runtest_setup(item):
    if "{part}" in item.nodeid:
        pytest.skip("not today")
"""
TAKES_OVER = """
def pytest_runtest_protocol(item):
    return True if "{part}" in item.nodeid else None
"""
KEPT = {
    "deselected by a hook": (DESELECTS, "lists/v2", {"fixtures/lists/v2.json"}),
    "deselected, a whole folder": (DESELECTS, "lists", {"fixtures/lists/v1.json", "fixtures/lists/v2.json"}),
    "all of them": (
        DESELECTS,
        "fixtures",
        {"fixtures/lamp/v1.json", "fixtures/lists/v1.json", "fixtures/lists/v2.json"},
    ),
    "skipped by a hook": (SKIPS, "lamp/v1", {"fixtures/lamp/v1.json"}),
    "never begun": (TAKES_OVER, "lamp/v1", {"fixtures/lamp/v1.json"}),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_file_that_no_test_ran_fails_the_session_by_name(project, name):
    source, part, missed = KEPT[name]
    project.file("conftest.py", source.replace("{part}", part))
    project.file("tests/test_other.py", "def test_other(): pass\n")
    outcome = project.pytest()
    assert outcome.code == 1, outcome.text
    assert outcome.failed() == missed
    assert " golden files that no test ran " in outcome.text
    assert "INTERNALERROR" not in outcome.text


def test_a_hook_that_leaves_some_cases_out_still_runs_the_file(project):
    project.file("conftest.py", DESELECTS.replace("{part}", "v1.json::red"))
    outcome = project.pytest()
    assert (outcome.code, outcome.failed()) == (0, set())
    assert "9 passed" in outcome.last


def test_a_file_that_failed_was_run(project):
    found = json.loads((project.root / "fixtures/lamp/v1.json").read_text())
    project.file("fixtures/lamp/v1.json", json.dumps(found | {"cases": found["cases"][1:] * 2}))
    outcome = project.pytest()
    assert outcome.failed() == {"fixtures/lamp/v1.json::[file]"}
    assert "no test ran" not in outcome.text


PARTS = [
    (["-k", "red"], "1 passed, 10 deselected"),
    (["-m", "not slow"], "11 passed"),
    (["-m", "slow"], "11 deselected"),
    (["--deselect", "fixtures/lists"], "5 passed, 6 deselected"),
    (["--ignore", "fixtures/lists"], "5 passed"),
    (["tests/test_other.py"], "1 passed"),
    (["tests"], "1 passed"),
    (["fixtures/lamp"], "4 passed"),
    (["fixtures/lists/v1.json::two"], "1 passed"),
    (["-vk", "red"], "1 passed, 10 deselected"),
    (["--collect-only", "-q"], "11 tests collected"),
    (["--setup-plan"], "no tests ran"),
]


@pytest.mark.parametrize(("arguments", "told"), PARTS, ids=lambda item: " ".join(item)[:30])
def test_a_run_of_a_part_needs_no_more_than_it(project, arguments, told):
    project.file("pytest.ini", "[pytest]\nmarkers = slow\n")
    project.file("tests/test_other.py", "def test_other(): pass\n")
    outcome = project.pytest(*arguments)
    assert "no test ran" not in outcome.text and "FAILED" not in outcome.text
    assert told in outcome.last


SETTINGS = {
    "-k": "-k other",
    "-m": "-m slow",
    "deselect": "--deselect fixtures/lamp/v1.json",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_leave_a_file_out_of_every_run_are_no_excuse(project, name):
    """V8: the run that everybody makes is the one that never sees the file."""
    project.file("pytest.ini", f"[pytest]\nmarkers = slow\naddopts = {SETTINGS[name]}\n")
    project.file("tests/test_other.py", "def test_other(): pass\n")
    outcome = project.pytest()
    assert outcome.code == 1 and "fixtures/lamp/v1.json" in outcome.failed()
    assert "no test ran" not in project.pytest("tests").text


@pytest.mark.parametrize("options", ["--ignore=fixtures", "--ignore-glob=*/lamp", "tests"])
def test_settings_that_leave_out_folders_leave_out_no_golden_file(project, options):
    project.file("pytest.ini", f"[pytest]\naddopts = {options}\n")
    project.file("tests/test_other.py", "def test_other(): pass\n")
    outcome = project.pytest()
    assert (outcome.code, outcome.failed()) == (0, set())
    assert "11 passed" in outcome.last


@pytest.mark.parametrize("root", [".", "./"])
def test_the_root_by_name_is_everything(project, root):
    project.file("conftest.py", DESELECTS.replace("{part}", "lists/v2"))
    assert project.pytest(root).failed() == {"fixtures/lists/v2.json"}


def test_a_run_that_stopped_says_nothing_of_what_was_to_come(project):
    project.file("tests/test_a.py", "def test_a(): assert 0\n")
    project.file("pytest.ini", "[pytest]\ntestpaths = tests fixtures\n")
    outcome = project.pytest("-x")
    assert outcome.failed() == {"tests/test_a.py::test_a"}
    assert "golden files that no test ran" not in outcome.text
    project.file("tests/test_a.py", "def test_a(): raise KeyboardInterrupt\n")
    outcome = project.pytest()
    assert outcome.code == 2 and "golden files that no test ran" not in outcome.text


LOST = {
    "fixtures/lamp/old/v1.json": "no test looks for golden files here: they are <protocol>/v<version>.json",
    "fixtures/lamp.json": "no test looks for golden files here: they are <protocol>/v<version>.json",
    "fixtures/v1.json": "no test looks for golden files here: they are <protocol>/v<version>.json",
    "fixtures/more/of/it/v2.json": "no test looks for golden files here: they are <protocol>/v<version>.json",
    "fixtures/notes/lamp.json": "golden files of notes are called v<version>.json",
    "fixtures/lamp/v1.json.orig": "golden files of lamp are called v<version>.json",
    "fixtures/lamp/V1.JSON": "golden files of lamp are called v<version>.json",
    "fixtures/lamp/v001.json": "golden files of lamp are called v<version>.json",
    "fixtures/lamps/v1.json": "there is no protocol lamps: there are lamp, lists",
}


def test_files_in_wrong_places_and_of_wrong_names_fail_by_name(project):
    text = (project.root / "fixtures/lamp/v1.json").read_text()
    for name in LOST:
        project.file(name, text)
    for arguments in ([], ["fixtures"]):
        outcome = project.pytest(*arguments)
        assert outcome.failed() == {f"{name}::[file]" for name in LOST}
        for name, reason in LOST.items():
            assert f"{name}:1: [file]: {reason}" in outcome.text
        assert f"{len(LOST)} failed, 10 passed" in outcome.last
        assert "no test ran" not in outcome.text


def test_other_files_beside_the_golden_ones_are_left_alone(project):
    text = (project.root / "fixtures/lamp/v1.json").read_text()
    for name in (".v1.json.swp", "v1.json~", "v1.json.new", "v1.txt"):
        project.file(f"fixtures/lamp/{name}", text)
    project.file("fixtures/captures/deep/expected.json", '{"format": "another"}')
    project.file("fixtures/golden.schema.json", '{"format": {"const": "wirelock-golden/1"}}')
    outcome = project.pytest()
    assert (outcome.code, outcome.failed()) == (0, set())
    assert "10 passed" in outcome.last


def test_a_linked_folder_and_fixtures_elsewhere_count_as_run(project):
    (project.root / "fixtures/lamp").rename(project.root / "elsewhere")
    (project.root / "fixtures/lamp").symlink_to(project.root / "elsewhere")
    (project.root / "fixtures").rename(project.root.parent / f"{project.root.name}-fixtures")
    settings = f'protocols = "wire:PROTOCOLS"\nfixtures = "../{project.root.name}-fixtures"\n'
    project.file("pyproject.toml", f"[tool.wirelock]\n{settings}")
    outcome = project.pytest()
    assert (outcome.code, outcome.failed()) == (0, set()), outcome.text
    assert "10 passed" in outcome.last

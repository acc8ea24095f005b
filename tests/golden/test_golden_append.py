"""Adding one case: nothing else changes, whatever fails, is killed or writes at the same time (V7)."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelock.errors import GoldenError
from wirelock.golden.append import append, first_file, write_schema
from wirelock.golden.run import make_case
from wirelock.golden.vectors import Case, flag_text, read, read_text, text_of, vector_text, write

ROOT = Path(__file__).parents[2]


def new_case(small, level=7, **more) -> Case:
    about = {"id": f"level-{level}", "comment": "A case.", "source": "hand"} | more
    return make_case(small["lamp"], 1, b"\1" + level.to_bytes(2, "big"), **about)


@pytest.fixture
def path(tmp_path, goldens):
    path = tmp_path / "fixtures/lamp/v1.json"
    path.parent.mkdir(parents=True)
    path.write_text(text_of(read_text(json.dumps(goldens()["lamp/v1"]), "lamp")), "utf-8")
    return path


@pytest.fixture
def first(small):
    return first_file(small["lamp"], 1)


def names(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir())


# -- what is written


def test_a_case_is_new_lines_and_nothing_else(path, first, small):
    before = path.read_text("utf-8")
    file = append(path, new_case(small), first)
    assert path.read_text("utf-8") == text_of(file)
    assert [case.id for case in file.cases] == ["red", "cut", "too-bright", "green", "level-7"]
    old, new = before.splitlines(), path.read_text("utf-8").splitlines()
    assert new[: len(old) - 3] == old[: len(old) - 3] and new[-2:] == old[-2:]
    assert new[len(old) - 3] == f"{old[-3]},"
    assert len(new) == len(old) + 10
    assert names(path) == ["v1.json"]


@pytest.mark.parametrize(("indent", "end"), [(None, "\n"), (1, "\n"), (7, "\r\n"), ("\t", "\n")])
def test_a_file_that_was_written_by_hand_keeps_every_byte(path, first, small, goldens, indent, end):
    found = goldens()["lamp/v1"] | {"poses": [], "$schema": "here.json"}
    before = json.dumps(found, indent=indent).replace("\n", end) + "  "
    path.write_bytes(before.encode())
    case = new_case(small, flags=["new", "order"])
    file = append(path, case, first, {"new": 'Größe "x".'})
    assert read(path) == file and (file.cases[-1], file.flags["new"]) == (case, 'Größe "x".')
    after = path.read_bytes().decode()
    for added in (vector_text(case), flag_text("new", 'Größe "x".')):
        text = ("," + "\n" + added).replace("\n", end)
        assert after.count(text) == 1
        after = after.replace(text, "")
    assert after == before


def test_arrays_without_items(path, first, small):
    path.write_text(text_of(replace(first, cases=())), "utf-8")
    assert '"flags": {},' in path.read_text()
    file = append(path, new_case(small, flags=["a", "b"]), first, {"a": "A.", "b": "B."})
    assert path.read_text("utf-8") == text_of(file)


def test_the_first_case_makes_the_file(tmp_path, first, small):
    path = tmp_path / "fixtures/lamp/v1.json"
    file = append(path, new_case(small), first)
    assert path.read_text("utf-8") == text_of(file)
    assert (file.digest, file.schema) == (small["lamp"].digest(1), "../golden.schema.json")
    assert path.stat().st_mode & 0o777 == 0o644
    write_schema(tmp_path / "fixtures")
    schema = tmp_path / "fixtures/golden.schema.json"
    assert schema.read_bytes() == (ROOT / "fixtures/golden.schema.json").read_bytes()
    schema.write_text("mine")
    write_schema(tmp_path / "fixtures")
    assert schema.read_text() == "mine"


@given(levels=st.lists(st.integers(0, 0xFFFF), unique=True, max_size=12))
def test_whatever_is_added_is_there_in_order(levels, small, tmp_path_factory):
    path = tmp_path_factory.mktemp("grown") / "lamp/v1.json"
    cases = [new_case(small, level) for level in levels]
    for number, case in enumerate(cases):
        append(path, case, first_file(small["lamp"], 1))
        assert read(path).cases == tuple(cases[: number + 1])
    if cases:
        assert path.read_text("utf-8") == text_of(read(path))


# -- what is refused

REFUSED = {
    "an id that is there": ({"id": "red"}, {}, "there is a case red already, and cases never change"),
    "an id of capitals": ({"id": "Red"}, {}, "id 'Red' is not lower-case words with hyphens"),
    "a comment of nothing": ({"comment": " "}, {}, "comment is no text"),
    "a source of no such word": ({"source": "me"}, {}, "source 'me' is none of hand, capture"),
    "the same bytes": ({"level": 515}, {}, "case red has the same bytes"),
    "a flag that is not explained": ({"flags": ["new"]}, {}, "the flag new is not explained in the file"),
    "a flag explained otherwise": (
        {"flags": ["order"]},
        {"order": "Something else."},
        "the flag order is there with another explanation",
    ),
    "a flag's name": ({"flags": ["New"]}, {"New": "x"}, "the flag 'New' is not lower-case words"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_added_changes_nothing(path, first, small, name):
    more, flags, told = REFUSED[name]
    before = path.read_bytes()
    with pytest.raises(GoldenError) as caught:
        append(path, new_case(small, **more), first, flags)
    assert told in str(caught.value) and "\n" not in str(caught.value)
    assert path.read_bytes() == before and names(path) == ["v1.json"]


def test_a_layout_that_changed_adds_nothing_to_an_old_file(path, first, small):
    """V9."""
    before = path.read_bytes()
    changed = replace(first, digest="sha256:" + "0" * 64)
    with pytest.raises(GoldenError, match="is of another layout than lamp v1 has now"):
        append(path, new_case(small), changed)
    with pytest.raises(GoldenError, match="holds lamp v1, not lamp v2"):
        append(path, new_case(small), replace(first, version=2))
    assert path.read_bytes() == before and names(path) == ["v1.json"]


def test_a_file_with_an_id_twice_is_refused_as_it_is(path, first, small):
    found = json.loads(path.read_text())
    found["cases"].append(found["cases"][0])
    path.write_text(json.dumps(found))
    before = path.read_bytes()
    with pytest.raises(GoldenError, match="case red: the id is there twice"):
        append(path, new_case(small), first)
    assert path.read_bytes() == before and names(path) == ["v1.json"]


# -- what fails

STEPS = {
    "making the new file": "os.open",
    "opening it": "os.fdopen",
    "reading the old one": "wirelock.golden.append.read",
    "making it last": "os.fsync",
    "its mode": "pathlib.Path.chmod",
    "taking its name": "pathlib.Path.replace",
}
PROBLEMS = [
    OSError(errno.ENOSPC, "No space left on device"),
    PermissionError(errno.EACCES, "Permission denied"),
    KeyboardInterrupt(),
    MemoryError(),
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
def test_a_failure_at_any_step_leaves_the_file_as_it_was(path, first, small, monkeypatch, step, problem):
    before = path.read_bytes()

    def fail(*_, **__):
        raise problem

    with monkeypatch.context() as patched:
        patched.setattr(STEPS[step], fail)
        with pytest.raises(type(problem)) as caught:
            append(path, new_case(small), first)
    if isinstance(problem, OSError):
        assert caught.value.filename == str(path)
    assert path.read_bytes() == before and names(path) == ["v1.json"]
    append(path, new_case(small), first)
    assert read(path).cases[-1].id == "level-7"


KILLED = """
import os, sys, pathlib
sys.path.insert(0, "tests/golden")
from pathlib import Path
from tests.golden.conftest import PROTOCOLS, small_protocols
from wirelock.golden.append import append, first_file
from wirelock.golden.run import make_case
small = small_protocols(PROTOCOLS)
case = make_case(small["lamp"], 1, b"\\1\\0\\7", id="new", comment="x", source="hand")
{patch}
append(Path(sys.argv[1]), case, first_file(small["lamp"], 1))
"""
KILLS = {
    "while writing": "os.fsync = lambda *_: os._exit(9)",
    "before the mode": "pathlib.Path.chmod = lambda *_: os._exit(9)",
    "before the name": "pathlib.Path.replace = lambda *_: os._exit(9)",
}


def child(code: str, path: Path) -> int:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.run([sys.executable, "-c", code, str(path)], env=environment, cwd=ROOT).returncode


@pytest.mark.parametrize("name", KILLS)
def test_a_writer_that_is_killed_leaves_the_old_file(path, first, small, name):
    before = path.read_bytes()
    assert child(KILLED.format(patch=KILLS[name]), path) == 9
    assert path.read_bytes() == before
    left = path.with_name("v1.json.new")
    for attempt in (lambda: append(path, new_case(small), first), lambda: write(path, first)):
        with pytest.raises(GoldenError) as caught:
            attempt()
        assert str(caught.value).startswith(f"{left} exists: another wirelock writes v1.json, or was killed")
    assert path.read_bytes() == before
    left.unlink()
    append(path, new_case(small), first)
    assert [case.id for case in read(path).cases] == ["red", "cut", "too-bright", "green", "level-7"]


def test_of_writers_at_once_none_loses_a_case(path, first, small):
    start, results = threading.Barrier(8), {}

    def add(number):
        start.wait()
        try:
            append(path, new_case(small, 600 + number), first)
            results[number] = "done"
        except GoldenError as error:
            assert "v1.json.new exists" in str(error)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [case.id for case in read(path).cases]
    assert ids[:4] == ["red", "cut", "too-bright", "green"]
    assert sorted(ids[4:]) == sorted(f"level-{600 + number}" for number in results)
    assert results and names(path) == ["v1.json"]


def test_a_link_stays_a_link(path, first, small):
    link = path.with_name("link.json")
    link.symlink_to(path.name)
    append(link, new_case(small), first)
    assert link.is_symlink() and read(path).cases[-1].id == "level-7"


@pytest.mark.parametrize(
    ("place", "reason"), [("/proc/lamp/v1.json", "No such file"), ("/dev/null/v1.json", "Not a directory")]
)
def test_a_place_where_nothing_can_be_made(first, small, place, reason):
    with pytest.raises(OSError, match=reason) as caught:
        append(Path(place), new_case(small), first)
    assert caught.value.filename == place

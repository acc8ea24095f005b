"""The lock as a file: its text, what is refused, and writes that fail, race or are killed."""

from __future__ import annotations

import errno
import json
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from construct import Array, Byte, Const, Int16sl, Struct, this

from wirelock import Protocol, Record, Registry, SchemaError
from wirelock.errors import LockError
from wirelock.lock.lockfile import (
    Entry,
    Finding,
    Lock,
    ReleasedError,
    check,
    lock_text,
    read_lock,
    summary,
    unloadable,
    updated,
    write_lock,
)

H1, H2, H3 = (f"sha256:{digit * 64}" for digit in "123")


class Point(Record, layout=Struct("x" / Int16sl)):
    x: int


class PathV1(Record, layout=Struct("v" / Const(1, Byte), "n" / Byte, "points" / Array(this.n, Point.layout))):
    v: int
    n: int
    points: tuple[Point, ...]


class Changed(Record, layout=Struct("v" / Const(1, Byte), "x" / Int16sl)):
    v: int
    x: int


class PathV2(Record, layout=Struct("v" / Const(2, Byte), "x" / Int16sl)):
    v: int
    x: int


POINT = Protocol("point", {1: Point})
PATH1 = Protocol("path", {1: PathV1}, tag=("v",))
PATH2 = Protocol("path", {1: PathV1, 2: PathV2}, tag=("v",))
ONE = Registry(POINT, PATH1)
TWO = Registry(POINT, PATH2)
GOLDENS = {"point": {1: {"b": H2, "a": H1}}, "path": {1: {}, 2: {"z": H3}}}
LOCK = updated(Lock(), ONE, GOLDENS)

TEXT = f"""\
{{
  "wirelock_lock": 1,
  "protocols": {{
    "path": {{
      "v1": {{
        "digest": "{PATH1.digest(1)}",
        "tag": ["v"],
        "layout": {{"kind": "record", "record": "PathV1", "fields": [
          {{"name": "v", "at": "byte 0", "kind": "constant", "of": {{"kind": "integer", "bits": 8, "signed": false, "order": "big"}}, "value": 1}},
          {{"name": "n", "at": "byte 1", "kind": "integer", "bits": 8, "signed": false, "order": "big", "derived": ["len", "points"]}},
          {{"name": "points", "at": "byte 2", "kind": "array", "count": "n", "of": {{"kind": "record", "record": "Point", "fields": [
            {{"name": "x", "at": "byte 0", "kind": "integer", "bits": 16, "signed": true, "order": "little"}}
          ]}}}}
        ]}},
        "golden": {{}}
      }}
    }},
    "point": {{
      "v1": {{
        "digest": "{POINT.digest(1)}",
        "tag": [],
        "layout": {{"kind": "record", "record": "Point", "fields": [
          {{"name": "x", "at": "byte 0", "kind": "integer", "bits": 16, "signed": true, "order": "little"}}
        ]}},
        "golden": {{
          "a": "{H1}",
          "b": "{H2}"
        }}
      }}
    }}
  }}
}}
"""  # noqa: E501


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a lock is, with LOCK in it."""
    path = tmp_path / "wirelock.lock"
    path.write_text(TEXT, "utf-8")
    return path


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- text


def test_the_text_has_a_field_and_a_case_a_line() -> None:
    assert lock_text(LOCK) == TEXT


def test_the_text_does_not_depend_on_the_order_of_anything() -> None:
    backwards = {}
    for key, entry in reversed(LOCK.entries.items()):
        backwards[key] = replace(entry, golden=dict(reversed(entry.golden.items())))
    assert lock_text(Lock(backwards)) == TEXT
    assert lock_text(updated(Lock(), Registry(PATH1, POINT), GOLDENS)) == TEXT


def test_versions_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    entry = Entry(POINT.layout(1))
    write_lock(tmp_path / "lock", Lock({("p", number): entry for number in (10, 9, 2)}))
    found = json.loads((tmp_path / "lock").read_text("utf-8"))
    assert list(found["protocols"]["p"]) == ["v2", "v9", "v10"]
    assert list(read_lock(tmp_path / "lock").entries) == [("p", 2), ("p", 9), ("p", 10)]


def test_what_a_reviewer_could_not_see_is_escaped(tmp_path: Path) -> None:
    lock = Lock({("point", 1): Entry(POINT.layout(1), (), {"é": H1, "\u202e": H2, "\ud800": H3, "\x00": H1})})
    write_lock(tmp_path / "lock", lock)
    text = (tmp_path / "lock").read_text("utf-8")
    assert '"é": ' in text and r'"\u202e": ' in text and r'"\ud800": ' in text and r'"\u0000": ' in text
    assert read_lock(tmp_path / "lock") == Lock({("point", 1): replace(lock.entries["point", 1])})


def test_an_empty_lock(tmp_path: Path) -> None:
    write_lock(tmp_path / "lock", Lock())
    assert (tmp_path / "lock").read_text("utf-8") == '{\n  "wirelock_lock": 1,\n  "protocols": {}\n}\n'
    assert read_lock(tmp_path / "lock") == Lock()


def test_line_ends_of_another_system_are_read(path: Path) -> None:
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert lock_text(read_lock(path)) == TEXT


# -- damage


def edited(old: str, new: str) -> bytes:
    assert old in TEXT, old
    return TEXT.replace(old, new).encode()


NOT_BELONG = "the layout and its digest do not belong together: one was edited"
SAYS_MORE = "the layout cannot be read: the JSON is no layout: ValueError it says more than a layout can"
DAMAGED = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \n", "is empty"),
    "not UTF-8": (b'{"wirelock_lock": 1, "\xff', "is not UTF-8 text (byte 22)"),
    "with a byte-order mark": (b"\xef\xbb\xbf" + TEXT.encode(), "begins with a byte-order mark: save it as"),
    "UTF-16": (TEXT.encode("utf-16"), "is not UTF-8 text (byte 0)"),
    "not JSON": (b"hello", "is not whole JSON: Expecting value (line 1 column 1)"),
    "JSON and more": (TEXT.encode() + b"{}", "is not whole JSON: Extra data (line 33 column 1)"),
    "a merge conflict": (
        edited('        "tag": []', '<<<<<<< HEAD\n        "tag": []'),
        "holds a merge conflict (line 21)",
    ),
    "a number": (b"1", 'is no lock: a lock begins with "wirelock_lock": 1'),
    "a list": (b"[]", 'is no lock: a lock begins with "wirelock_lock": 1'),
    "another file": (b'{"format": "wirelock-golden/1"}', 'is no lock: a lock begins with "wirelock_lock": 1'),
    "newer": (
        edited('"wirelock_lock": 1', '"wirelock_lock": 2, "more": []'),
        "was written by a newer wirelock (format 2, this one reads 1)",
    ),
    "format 0": (edited('_lock": 1', '_lock": 0'), 'is no lock: a lock begins with "wirelock_lock": 1'),
    "format true": (edited('_lock": 1', '_lock": true'), 'is no lock: a lock begins with "wirelock_lock": 1'),
    "no protocols": (b'{"wirelock_lock": 1}', "the lock: the key 'protocols' is missing"),
    "protocols as a list": (b'{"wirelock_lock": 1, "protocols": []}', "protocols: [] is no object"),
    "versions as a list": (b'{"wirelock_lock": 1, "protocols": {"p": []}}', "p: [] is no object"),
    "an entry as a number": (b'{"wirelock_lock": 1, "protocols": {"p": {"v1": 3}}}', "p v1: 3 is no object"),
    "a version without its v": (edited('"v1"', '"1"'), "path: '1' is no version: versions are v1, v2, ..."),
    "a version with a zero": (edited('"v1"', '"v01"'), "path: 'v01' is no version: versions are v1, v2, ..."),
    "an unknown key": (edited('"tag": []', '"tag": [], "since": 3'), "point v1: the key 'since' is unknown"),
    "an unknown key of a field": (edited('"bits": 16', '"bits": 16, "unit": "m"'), f"path v1: {SAYS_MORE}"),
    "an unknown key of a layout": (
        edited('"record": "Point"', '"record": "Point", "x": 1'),
        f"path v1: {SAYS_MORE}",
    ),
    "a missing key": (edited('        "tag": [],\n', ""), "point v1: the key 'tag' is missing"),
    "a key twice": (edited('"tag": []', '"tag": [], "tag": []'), "has the key 'tag' twice in one object"),
    "an entry twice": (
        edited('    "point": {', '    "path": {"v1": {}},\n    "point": {'),
        "has the key 'path' twice in one object",
    ),
    "NaN": (edited('"value": 1', '"value": NaN'), "holds NaN, which is no JSON"),
    "a digest of another layout": (edited(POINT.digest(1), PATH1.digest(1)), f"point v1: {NOT_BELONG}"),
    "a digest as a number": (edited(f'"{POINT.digest(1)}"', "3"), f"point v1: {NOT_BELONG}"),
    "a layout edited": (edited('"signed": true', '"signed": false'), f"path v1: {NOT_BELONG}"),
    "a constant edited": (edited('"value": 1', '"value": 2'), f"path v1: {NOT_BELONG}"),
    "a tag edited": (edited('"tag": ["v"]', '"tag": []'), f"path v1: {NOT_BELONG}"),
    "a tag as text": (edited('"tag": ["v"]', '"tag": "v"'), "path v1: 'v' is no tag"),
    "a width edited": (
        edited('"byte 1", "kind": "integer", "bits": 8', '"byte 1", "kind": "integer", "bits": 16'),
        "path v1: the layout cannot be read: points: the JSON puts the field at byte 2, its type at byte 3",
    ),
    "a truth as a number": (edited('"signed": true', '"signed": 1'), "path v1: the layout "),
    "a float as a number": (edited('"value": 1', '"value": 1.0'), "path v1: the layout cannot be read"),
    "another kind": (
        edited('"kind": "array"', '"kind": "heap"'),
        "path v1: the layout cannot be read: the JSON is no layout: ValueError kind 'heap'",
    ),
    "a layout as null": (
        edited('"layout": {"kind": "record", "record": "Point", ', '"layout": null, "golden": {'),
        "has the key 'golden' twice in one object",
    ),
    "no expression": (edited('"count": "n"', '"count": "_"'), "path v1: the layout cannot be read: "),
    "a golden case as a number": (edited(f'"{H1}"', "7"), "point v1: golden case a: 7 is no hash"),
    "a golden hash cut": (edited(H1, H1[:-1]), f"point v1: golden case a: '{H1[:-1]}' is no hash"),
    "golden cases as a list": (edited('"golden": {}', '"golden": []'), "path v1: golden: [] is no object"),
    "nesting without end": (b"[" * 100_000, "is no lock: RecursionError "),
    "a number without end": (edited('"value": 1', f'"value": {"1" * 5000}'), "is no lock: ValueError "),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_lock_is_refused_in_one_line(path: Path, name: str) -> None:
    octets, told = DAMAGED[name]
    path.write_bytes(octets)
    with pytest.raises(LockError) as caught:
        read_lock(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: {told}")
    assert text.isprintable() and len(text) < 400
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize("end", range(0, len(TEXT.encode()) - 1, 7))
def test_a_lock_cut_anywhere_is_refused(path: Path, end: int) -> None:
    path.write_bytes(TEXT.encode()[:end])
    with pytest.raises(LockError, match=r"is empty|is not whole JSON"):
        read_lock(path)


def test_no_lock(tmp_path: Path) -> None:
    with pytest.raises(LockError, match="there is no lock; `wirelock release` writes it"):
        read_lock(tmp_path / "wirelock.lock")


def test_a_folder_is_no_lock(tmp_path: Path) -> None:
    with pytest.raises(LockError, match=r"cannot be read: "):
        read_lock(tmp_path)
    with pytest.raises(LockError, match=r"cannot be (read|written): "):
        write_lock(tmp_path, LOCK)


def test_a_damaged_lock_is_not_written_over(path: Path) -> None:
    damaged = TEXT.encode()[:-20]
    path.write_bytes(damaged)
    with pytest.raises(LockError, match="is not whole JSON"):
        write_lock(path, LOCK)
    assert path.read_bytes() == damaged
    assert files(path.parent) == [path.name]


# -- writing


def test_writing_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "wirelock.lock"
    write_lock(path, LOCK)
    assert path.read_bytes() == TEXT.encode()
    assert check(read_lock(path), ONE, GOLDENS) == []
    write_lock(path, read_lock(path))
    assert path.read_bytes() == TEXT.encode()
    assert files(tmp_path) == ["wirelock.lock"]


def test_a_link_stays_a_link(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path.name)
    write_lock(link, updated(LOCK, TWO, GOLDENS))
    assert link.is_symlink() and ("path", 2) in read_lock(path).entries


def raising(problem: BaseException):
    def fail(*_: object, **__: object) -> None:
        raise problem

    return fail


FAILURES = {
    "a full disk": ("os.fsync", OSError(errno.ENOSPC, "No space left on device"), LockError),
    "the name cannot be taken": ("os.replace", PermissionError(errno.EACCES, "Permission denied"), LockError),
    "interrupted before": ("os.fsync", KeyboardInterrupt(), KeyboardInterrupt),
    "interrupted at the end": ("os.replace", KeyboardInterrupt(), KeyboardInterrupt),
    "no memory": ("wirelock.lock.lockfile.lock_text", MemoryError(), MemoryError),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_write_leaves_the_old_lock(path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    where, problem, raised = FAILURES[name]
    with monkeypatch.context() as patched:
        patched.setattr(where, raising(problem))
        with pytest.raises(raised) as caught:
            write_lock(path, updated(LOCK, TWO, GOLDENS))
    if raised is LockError:
        assert str(caught.value) == f"{path}: cannot be written: {problem.strerror}"  # type: ignore[attr-defined]
    assert path.read_text("utf-8") == TEXT
    assert files(path.parent) == [path.name]
    write_lock(path, updated(LOCK, TWO, GOLDENS))
    assert ("path", 2) in read_lock(path).entries


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nowhere/wirelock.lock"
    with pytest.raises(LockError, match=r"wirelock\.lock: cannot be written: No such file"):
        write_lock(path, LOCK)


KILLED = """
import os, sys
from pathlib import Path
os.{function} = lambda *_: os._exit(9)
from wirelock.lock.lockfile import Lock, read_lock, write_lock
write_lock(Path(sys.argv[1]), read_lock(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_writer_that_is_killed_leaves_the_old_lock(path: Path, function: str) -> None:
    source = Path(sys.modules["wirelock"].__file__ or "").parents[1]
    code = KILLED.format(function=function)
    run = subprocess.run([sys.executable, "-c", code, str(path)], env={"PYTHONPATH": str(source)})
    assert run.returncode == 9
    assert path.read_text("utf-8") == TEXT
    left = path.with_name("wirelock.lock.new")
    with pytest.raises(LockError) as caught:
        write_lock(path, LOCK)
    assert str(caught.value).startswith(
        f"{left} exists: another wirelock writes wirelock.lock, or was killed"
    )
    assert path.read_text("utf-8") == TEXT
    left.unlink()
    write_lock(path, updated(LOCK, TWO, GOLDENS))


def test_writers_at_once(path: Path) -> None:
    """Each of eight adds its own version to the lock that it read: one wins, and nothing is lost."""
    locks = [Lock({**LOCK.entries, ("point", 2 + number): LOCK.entries["point", 1]}) for number in range(8)]
    start, results = threading.Barrier(8), {}

    def write(number: int) -> None:
        start.wait()
        try:
            write_lock(path, locks[number])
            results[number] = "done"
        except LockError as error:
            results[number] = str(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = [number for number, result in results.items() if result == "done"]
    assert lock_text(read_lock(path)) == lock_text(locks[won])
    for number, result in results.items():
        told = "another wirelock writes" in result or "was written by another meanwhile" in result
        assert told or number == won
    assert files(path.parent) == [path.name]


def test_what_another_released_meanwhile_is_not_lost(path: Path) -> None:
    ours, theirs = read_lock(path), updated(read_lock(path), TWO, GOLDENS)
    write_lock(path, theirs)
    with pytest.raises(LockError, match="path v2 was written by another meanwhile; run it again"):
        write_lock(path, ours)
    fewer = dict(ours.entries) | {("point", 1): replace(ours.entries["point", 1], golden={"a": H1})}
    with pytest.raises(LockError, match="point v1 was written by another meanwhile"):
        write_lock(path, Lock(dict(theirs.entries) | {("point", 1): fewer["point", 1]}))
    assert lock_text(read_lock(path)) == lock_text(theirs)


# -- drift


def golden(**cases: str) -> dict[str, dict[int, dict[str, str]]]:
    return {**GOLDENS, "point": {1: cases}}


def found(*arguments) -> list[str]:  # type: ignore[no-untyped-def]
    return [str(finding) for finding in check(LOCK, *arguments)]


def test_no_drift() -> None:
    assert found(ONE, GOLDENS) == found(TWO, GOLDENS) == found(ONE, golden(a=H1, b=H2, c=H3)) == []


def test_drift_of_golden_cases() -> None:
    assert found(ONE, golden(a=H1, b=H3)) == [f"point v1: golden case b: hash: was {H2}, now {H3}"]
    assert found(ONE, golden(b=H2, c=H3)) == [f"point v1: golden case a: hash: was {H1}, now absent"]
    assert found(ONE, golden()) == found(ONE, {}) == ["point v1: golden cases: was 2, now absent"]


def test_drift_of_versions() -> None:
    assert found(Registry(POINT), GOLDENS) == ["path v1: protocol: was released, now absent"]
    later = Protocol("path", {2: PathV2}, tag=("v",))
    assert found(Registry(POINT, later), GOLDENS) == ["path v1: version: was released, now absent"]
    untagged = Protocol("path", {1: PathV1})
    assert found(Registry(POINT, untagged), GOLDENS) == ["path v1: tag: was (v), now absent"]


def test_records_that_repeat_are_another_release() -> None:
    repeating = Protocol("path", {1: PathV1}, tag=("v",), repeats=True)
    assert repeating.digest(1) != PATH1.digest(1)
    assert found(Registry(POINT, repeating), GOLDENS) == ["path v1: repeats: was False, now True"]
    lock = updated(Lock({}), Registry(repeating), {})
    assert '"repeats": true' in lock_text(lock)


def test_drift_of_layouts() -> None:
    other = Protocol("path", {1: Changed}, tag=("v",))
    assert found(Registry(POINT, other), GOLDENS) == [
        "path v1: n: field: was uint8 at byte 1, now absent",
        "path v1: points: field: was n of Point at byte 2, now absent",
        "path v1: x: field: was absent, now int16 little-endian at byte 1",
    ]


def test_a_digest_that_no_difference_explains_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wirelock.lock.lockfile.differences", lambda *_: [])
    other = Protocol("path", {1: Changed}, tag=("v",))
    was, now = PATH1.digest(1), other.digest(1)
    assert found(Registry(POINT, other), GOLDENS) == [f"path v1: digest: was {was}, now {now}"]


def test_protocols_that_do_not_load() -> None:
    findings = unloadable(LOCK, SchemaError("PathV1.n", "no\nsuch thing", "write it"))
    assert [str(finding) for finding in findings] == [
        f"{label} v1: layout: was released, now does not load: PathV1.n: no such thing; write it"
        for label in ("path", "point")
    ]


def test_an_update_adds_versions_and_cases() -> None:
    new = updated(LOCK, TWO, golden(a=H1, b=H2, c=H3))
    assert list(new.entries) == [("path", 1), ("path", 2), ("point", 1)]
    assert new.entries["path", 1] == LOCK.entries["path", 1]
    assert new.entries["path", 2] == Entry(PATH2.layout(2), ("v",), {"z": H3})
    assert new.entries["point", 1].golden == {"a": H1, "b": H2, "c": H3}
    assert summary(LOCK, new, Path("a.lock")).splitlines() == [
        f"path v2: released, 3 bytes, 1 golden case, {PATH2.digest(2)}",
        "point v1: 1 golden case added: c",
        "a.lock: 3 released versions",
    ]
    assert summary(new, new, Path("a.lock")) == "nothing to add\na.lock: 3 released versions"
    assert updated(new, TWO, golden(a=H1, b=H2, c=H3)) == new


def test_an_update_keeps_the_names_under_which_a_version_was_released() -> None:
    class Renamed(Record, layout=Point.layout):
        x: int

    lock = Lock({("point", 1): LOCK.entries["point", 1]})
    new = updated(lock, Registry(Protocol("point", {1: Renamed})), GOLDENS)
    assert lock_text(new) == lock_text(lock)


def test_an_update_refuses_every_change_to_what_is_released() -> None:
    other = Protocol("path", {1: Changed, 2: PathV2}, tag=("v",))
    with pytest.raises(LockError) as caught:
        updated(LOCK, Registry(POINT, other), golden(a=H3))
    error = caught.value
    assert isinstance(error, ReleasedError)
    assert list(error.findings) == check(LOCK, Registry(POINT, other), golden(a=H3))
    assert len(error.findings) == 5
    for finding in error.findings:
        assert str(finding) in str(error)
    assert str(error).startswith("released versions never change, release a new version instead: path v1:")
    assert str(error).isprintable()
    again = pickle.loads(pickle.dumps(error))
    assert (again.findings, str(again)) == (error.findings, str(error))
    assert error.findings[0] == Finding("path", 1, "n", "field", "uint8 at byte 1", "absent")

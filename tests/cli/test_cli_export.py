"""`wirelock export`: what is written, what is left alone, what is refused, and --check."""

import re

import pytest

from tests.cli.command import done, run, write_project
from wirelock.export import TARGETS
from wirelock.export.targets import MARK

FIRST = {"c": "protocols.h", "csharp": "Fault.cs", "typescript": "protocols.ts"}
"""A file of each language."""
OPAQUE = """
from construct import Adapter, Bytes, Struct
from wirelock import Protocol, Record, Registry, opaque


class Upper(Adapter):
    def _decode(self, obj, context, path):
        return obj.decode().upper()

    def _encode(self, obj, context, path):
        return obj.encode()


class PackedV1(Record, layout=Struct("name" / opaque("upper", 1, Upper(Bytes(4))))):
    name: str


PROTOCOLS = Registry(Protocol("packed", {1: PackedV1}))
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_codec_is_written_checked_and_left_alone(target, tmp_path):
    wrote = done(run("export", target, "-o", tmp_path / "a" / "b")).splitlines()
    there = sorted(path for path in (tmp_path / "a" / "b").rglob("*") if path.is_file())
    assert sorted(wrote) == [f"wrote {path}" for path in there]
    assert all(MARK in path.read_text("utf-8").partition("\n")[0] for path in there)
    times = [path.stat().st_mtime_ns for path in there]
    again = done(run("export", target, "-o", tmp_path / "a" / "b")).splitlines()
    assert sorted(again) == [f"unchanged {path}" for path in there]
    assert [path.stat().st_mtime_ns for path in there] == times
    assert done(run("export", target, "-o", tmp_path / "a" / "b", "--check")) == ""
    with_tests = done(run("export", target, "-o", tmp_path / "a" / "b", "--with-tests")).splitlines()
    assert {line.partition(" ")[0] for line in with_tests} >= {"wrote"}


@pytest.mark.parametrize("target", TARGETS)
def test_check_says_what_differs(target, tmp_path):
    done(run("export", target, "-o", tmp_path, "--with-tests"))
    first = tmp_path / FIRST[target]
    first.write_text(first.read_text("utf-8").replace("\n", "\nmine\n", 1), "utf-8")
    (tmp_path / "Old.cs").write_text(f"// {MARK} as protocols\n")
    (tmp_path / "Others.cs").write_text(f"// {MARK} as others\n")
    (tmp_path / "mine.txt").write_text("mine\n")
    before = first.read_bytes()
    outcome = run("export", target, "-o", tmp_path, "--with-tests", "--check")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        f"{first} differs from line 2 on: export it again",
        f"{tmp_path / 'Old.cs'} is no longer exported",
    ]
    assert first.read_bytes() == before
    empty = run("export", target, "-o", tmp_path / "none", "--check")
    assert empty.code == 1 and all(line.endswith(" is missing") for line in empty.out.splitlines())
    assert not (tmp_path / "none").exists()


def test_only_the_protocols_that_are_named(tmp_path):
    done(run("export", "c", "rotation", "-o", tmp_path, "--name", "pose"))
    text = (tmp_path / "pose.h").read_text("utf-8")
    assert "pose_rotation_v1" in text and "snapshot" not in text


def test_line_ends_of_windows_are_no_difference(tmp_path):
    done(run("export", "c", "-o", tmp_path))
    header = tmp_path / "protocols.h"
    header.write_bytes(b"\xef\xbb\xbf" + header.read_bytes().replace(b"\n", b"\r\n"))
    assert done(run("export", "c", "-o", tmp_path, "--check")) == ""
    assert done(run("export", "c", "-o", tmp_path)) == f"unchanged {header}\n"


def test_another_namespace_wants_another_folder(tmp_path):
    done(run("export", "csharp", "-o", tmp_path, "--name", "Game"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    outcome = run("export", "csharp", "-o", tmp_path, "--name", "Other")
    assert outcome.code == 2 and "is of an export with another --name" in outcome.line
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("target", ["c", "typescript"])
def test_two_exports_lie_beside_each_other(target, tmp_path):
    one = ("export", target, "rotation", "-o", tmp_path, "--name", "one")
    two = ("export", target, "snapshot", "-o", tmp_path, "--name", "two")
    for words in (one, two):
        done(run(*words, "--with-tests"))
    for words in (one, two):
        assert done(run(*words, "--with-tests", "--check")) == ""
    assert "one" in run(*one, "--check").out and run(*one, "--check").code == 1  # its tests are left over


def test_files_of_another_hand_stay(tmp_path):
    (tmp_path / "protocols.h").write_text("/* mine */\n")
    outcome = run("export", "c", "-o", tmp_path, "--with-tests")
    assert outcome.code == 2 and "is no file of an export" in outcome.line
    assert [path.name for path in tmp_path.iterdir()] == ["protocols.h"]
    assert (tmp_path / "protocols.h").read_text() == "/* mine */\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("c",), "Missing option '-o'"),
        (("rust", "-o", "x"), "'rust' is not one of 'c', 'csharp', 'typescript'"),
        (("c", "nothing", "-o", "x"), "no protocol 'nothing': there are rotation, snapshot"),
        (("c", "-o", "x", "--name", "1st"), "'1st' is no name"),
        (("c", "-o", "x", "--name", "x" * 65), "is no name"),
        (("c", "-o", "x", "--name", "math"), "'math' is the name of a header"),
        (("csharp", "-o", "x", "--name", "Console"), "'Console' is the name of a header, a namespace"),
        (("c", "-o", "pyproject.toml"), "is a file"),
    ],
)
def test_what_cannot_be_asked(words, told):
    outcome = run("export", *words)
    assert outcome.code == 2 and told in outcome.line


@pytest.mark.parametrize("target", TARGETS)
def test_a_kind_without_a_translation_is_named_and_nothing_is_written(target, tmp_path):
    write_project(tmp_path, "packed", OPAQUE)
    outcome = run("export", target, "-o", "out", cwd=tmp_path)
    assert outcome.code == 2
    assert re.search(rf"packed v1: name: .*opaque.* cannot be exported to {target}", outcome.line, re.I)
    assert not (tmp_path / "out").exists()

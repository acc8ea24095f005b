"""`wirelock show`, help, versions, and commands that are wrong."""

import ast

import pytest

from protocol import PROTOCOLS
from tests.cli.command import ROOT, SESSION, run, run_all
from wirelock import __version__
from wirelock.layout.describe import describe

SHOWN = {
    "all": ("show",),
    "rotation": ("show", "rotation"),
    "rotation/v2": ("show", "rotation/v2"),
    "snapshot": ("show", "snapshot"),
    "snapshot/v1": ("show", "snapshot/v1"),
    "source of rotation": ("show", "rotation", "--source"),
    "source of snapshot/v2": ("show", "snapshot/v2", "--source"),
    "said": ("show", "--protocols", "protocol:PROTOCOLS"),
    "version": ("--version",),
    "help": ("--help",),
    "short help": ("-h",),
    "help of decode": ("decode", "-h"),
    "help of show": ("show", "--help"),
}


@pytest.fixture(scope="module")
def shown():
    outcomes = run_all(SHOWN)
    for outcome in outcomes.values():
        assert (outcome.code, outcome.err) == (0, "")
    return {name: outcome.out for name, outcome in outcomes.items()}


def test_all_protocols_are_a_line_each(shown):
    assert shown["all"].splitlines() == [
        "rotation/v1  7 bytes  A unit quaternion without its largest component.",
        "rotation/v2  7 bytes  A unit quaternion without its largest component, with flags beside the index.",
        "snapshot/v1  9 bytes or more  All entities at one tick.",
        "snapshot/v2  9 bytes or more  All entities at one tick.",
    ]
    assert shown["said"] == shown["all"]


@pytest.mark.parametrize("name", ["rotation", "rotation/v2", "snapshot", "snapshot/v1"])
def test_a_protocol_shows_every_field_with_its_place(shown, name):
    protocol, version = PROTOCOLS.find(name)
    numbers = list(protocol.versions) if version is None else [version]
    sections = shown[name].split("digest ")
    assert len(sections) == 1 + len(numbers)
    for number, section in zip(numbers, sections[1:], strict=True):
        layout = protocol.layout(number)
        assert f"{protocol.name}/v{number}: {layout.name}, " in shown[name]
        assert section.startswith(protocol.digest(number))
        lines = iter(section.splitlines())
        for row in describe(layout):
            line = next(line for line in lines if line.split()[:1] == [row.name])
            assert f" {row.place} " in line
            assert f" {row.type} " in f"{line} "
            # Behind a long type the meaning stands on a line of its own.
            assert (next(lines) if row.doc and line.endswith(row.type) else line).endswith(row.doc)


def test_a_tag_and_rules_are_shown(shown):
    assert "\ntag magic, version\n" in shown["snapshot/v1"]
    assert "\ntag " not in shown["rotation"]
    rule = "rule reachable of RotationV2: no unit quaternion has these three components as its smallest"
    assert f"  {rule}\n    abs(a) * (abs(a) - 1) + " in shown["rotation/v2"]
    assert "rule reachable of RotationV1: " in shown["snapshot/v1"]


@pytest.mark.parametrize(("name", "count"), [("source of rotation", 2), ("source of snapshot/v2", 1)])
def test_source_is_python(shown, name, count):
    tree = ast.parse(shown[name])
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions == ["parse_from", "build"] * count
    compile(shown[name], name, "exec")


def test_the_version(shown):
    assert shown["version"] == f"wirelock, version {__version__}\n"


OPTIONS = [
    "--port N", "--skip BYTES", "--as PROTOCOL[/vN]", "-o, --output FILE", "--format", "--faults FILE",
    "--strict", "--protocols",
]  # fmt: skip


def test_help(shown):
    assert shown["help"] == shown["short help"]
    for command in ("decode", "show"):
        assert f"\n  {command} " in shown["help"]
    for option in OPTIONS:
        assert option in shown["help of decode"]
    assert "--source" in shown["help of show"]


WRONG = {
    "no such command": (("nope",), "No such command 'nope'"),
    "no such option": (("decode", SESSION, "--nope"), "No such option"),
    "an option of no command": (("--nope",), "No such option"),
    "no capture": (("decode",), "Missing argument 'CAPTURE...'"),
    "a port of text": (("decode", SESSION, "--port", "x"), "Invalid value for '--port'"),
    "a port too large": (("decode", SESSION, "--port", "65536"), "65536 is not in the range 0<=x<=65535"),
    "a port below zero": (("decode", SESSION, "--port", "-1"), "-1 is not in the range 0<=x<=65535"),
    "an option without its value": (("decode", SESSION, "--port"), "requires an argument"),
    "bytes below zero": (("decode", SESSION, "--skip", "-1"), "-1 is not in the range x>=0"),
    "an unknown format": (
        ("decode", SESSION, "--format", "xml"),
        "'xml' is not one of 'table', 'jsonl', 'csv'",
    ),
    "an unknown protocol": (
        ("decode", SESSION, "--as", "nope"),
        "no protocol 'nope': there are rotation, snapshot",
    ),
    "an unknown version": (
        ("decode", SESSION, "--as", "rotation/v9"),
        "rotation has no version 'v9': there are v1, v2",
    ),
    "a version without a v": (("decode", SESSION, "--as", "rotation/1"), "rotation has no version '1'"),
    "a protocol without a tag": (
        ("decode", SESSION, "--as", "rotation"),
        "rotation has no tag: say which version, of rotation/v1, rotation/v2",
    ),
    "a folder": (("decode", ROOT / "fixtures"), "is a directory: name its captures"),
    "protocols of no module": (("show", "--protocols", "nope:X"), "there is no module 'nope'"),
    "protocols of no name": (("show", "--protocols", "protocol:X"), "protocol has no Registry named X"),
    "protocols without a name": (("show", "--protocols", "protocol"), "names no registry: write module:NAME"),
    "show of an unknown protocol": (("show", "nope"), "no protocol 'nope': there are rotation, snapshot"),
    "show of an unknown version": (("show", "rotation/v9"), "rotation has no version 'v9': there are v1, v2"),
    "source of everything": (("show", "--source"), "--source needs a PROTOCOL or PROTOCOL/vN"),
    "two protocols": (("show", "rotation", "snapshot"), "unexpected extra argument"),
}


@pytest.fixture(scope="module")
def wrong():
    return run_all({name: row[0] for name, row in WRONG.items()})


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_one_line_and_exit_2(wrong, name):
    assert wrong[name].code == 2
    assert wrong[name].out == ""
    assert WRONG[name][1] in wrong[name].line


def test_no_command_is_the_help(shown):
    outcome = run()
    assert outcome.code in (0, 2)
    assert outcome.out + outcome.err == shown["help"]

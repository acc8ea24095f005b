"""What all commands share: help, versions, wrong commands, and nobody to read what they print."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cli.command import COMMAND, ENVIRONMENT, ROOT, SESSION, done, refused, run, run_all
from wirelock import __version__

COMMANDS = ("capture", "check", "compare", "decode", "explain", "golden", "inspect", "lock", "show", "verify")
OPTIONS = {
    "decode": [
        "--port N", "--skip BYTES", "--tunnels", "--as PROTOCOL[/vN]", "-o, --output FILE", "--format",
        "--faults FILE", "--as-version N|latest", "--allow FIELD", "--explode FIELD", "--strict",
        "--protocols",
    ],
    "stats": [
        "CAPTURE...", "--port N", "--skip BYTES", "--tunnels", "--as PROTOCOL[/vN]", "--format [text|json]",
        "--html FILE", "--protocols",
    ],
    "capture": ["info"],
    "capture info": ["CAPTURE", "--tunnels", "--format [text|json]"],
    "inspect": ["HEX|FILE|-", "--as PROTOCOL[/vN]", "--hex", "--all", "--protocols"],
    "show": ["--source", "--svg", "-o, --output FILE", "--protocols"],
    "check": ["--protocols"],
    "lock": ["--protocols"],
    "golden": ["add", "check", "lint", "list"],
    "golden add": [
        "PROTOCOL/vN WHAT...", "--packet N", "--hex", "--record", "--skip BYTES", "--number K", "--id ID",
        "--comment", "--source", "--flag NAME[=WORDS]", "--promise", "--protocols",
    ],
    "golden list": ["[PROTOCOL[/vN]]", "--format [text|json]", "--protocols"],
    "golden lint": ["[PROTOCOL[/vN]]", "--protocols"],
    "compare": [
        "A B", "--key FIELD", "--by-order", "--port N", "--skip BYTES", "--as PROTOCOL[/vN]",
        "--format [text|json]", "--protocols",
    ],
    "verify": [
        "CAPTURE", "--expect FILE", "--write FILE", "--overwrite", "--port N", "--skip BYTES",
        "--as PROTOCOL[/vN]", "--format [text|json]", "--protocols",
    ],
    "golden check": ["[PROTOCOL[/vN]]", "--protocols"],
}  # fmt: skip


def test_the_version():
    assert done(run("--version")) == f"wirelock, version {__version__}\n"


@pytest.mark.parametrize("command", OPTIONS)
def test_the_help_of_a_command(tmp_path, command):
    text = done(run(*command.split(), "-h", cwd=tmp_path))
    assert text == done(run(*command.split(), "--help", cwd=tmp_path))
    assert text.startswith(f"Usage: wirelock {command} ")
    for option in [*OPTIONS[command], "-h, --help"]:
        assert option in text
    assert max(map(len, text.splitlines())) <= 100


def test_help_names_every_command(tmp_path):
    text = done(run("--help", cwd=tmp_path))
    assert text == done(run("-h", cwd=tmp_path))
    for command in COMMANDS:
        assert f"\n  {command} " in text


@pytest.mark.parametrize("command", [(), ("golden",)], ids=" ".join)
def test_no_command_is_help_on_standard_error(command):
    outcome = run(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == done(run(*command, "--help"))


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
    "an empty protocol": (("decode", SESSION, "--as", ""), "no protocol ''"),
    "decode with protocols of no module": (("decode", SESSION, "--protocols", "no:X"), "no module 'no'"),
    "decode with protocols of no name": (("decode", SESSION, "--protocols", "protocol:NOPE"), "named NOPE"),
    "decode with protocols without a name": (("decode", SESSION, "--protocols", "protocol"), "module:NAME"),
    "an output without its name": (("decode", SESSION, "-o"), "-o"),
    "show of an empty version": (("show", "rotation/"), "no version ''"),
    "show of an empty protocol": (("show", ""), "no protocol ''"),
    "protocols without a value": (("show", "--protocols"), "--protocols"),
    "empty protocols": (("show", "--protocols", ""), ""),
    "an SVG of everything": (("show", "--svg"), "--svg needs a PROTOCOL or PROTOCOL/vN"),
    "an SVG of two versions": (
        ("show", "rotation", "--svg"),
        "an SVG document shows one version: say which, of rotation/v1, rotation/v2",
    ),
    "an SVG of source": (("show", "rotation/v1", "--svg", "--source"), "ask for one of them"),
    "show into no folder": (("show", "-o", "/nowhere/a.txt"), "/nowhere/a.txt: No such file or directory"),
    "check of something": (("check", "extra"), "extra"),
    "check with an unknown option": (("check", "--nope"), "--nope"),
    "lock with protocols of no module": (("lock", "--protocols", "nowhere:X"), "nowhere"),
    "no such golden command": (("golden", "remove"), "No such command 'remove'"),
    "golden list of nothing": (
        ("golden", "list", "nope"),
        "no protocol 'nope': there are rotation, snapshot",
    ),
    "golden list in no format": (("golden", "list", "--format", "csv"), "'csv' is not one of 'text', 'json'"),
    "golden check of two": (("golden", "check", "rotation", "snapshot"), "unexpected extra argument"),
    "nothing to inspect": (("inspect",), "Missing argument 'HEX|FILE|-"),
    "inspect of an unknown protocol": (("inspect", "57", "--as", "nope"), "there are rotation, snapshot"),
    "inspect of no version": (("inspect", "57", "--as", "rotation"), "say which version, of rotation/v1"),
    "inspect of foreign bytes": (
        ("inspect", "00 01 02 03 04 05 06 07 08"),
        "00 01 02 03 04 05 06 07 is the start of no protocol's tag: say what the bytes are with --as, one of"
        " rotation/v1, rotation/v2, rotation/v3, snapshot/v1, snapshot/v2, snapshot/v3",
    ),
}


@pytest.fixture(scope="module")
def wrong():
    lock = ROOT / "protocol/wirelock.lock"
    before = lock.read_bytes()
    outcomes = run_all({name: row[0] for name, row in WRONG.items()})
    assert lock.read_bytes() == before
    return outcomes


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_one_line_and_exit_2(wrong, name):
    refused(wrong[name], WRONG[name][1])


def test_a_check_of_protocols_that_are_not_there_is_a_finding():
    outcome = run("check", "--protocols", "protocol:Nope")
    assert (outcome.code, outcome.err) == (1, "")
    assert "Nope" in outcome.out


@pytest.mark.parametrize("command", [("show",), ("check",), ("lock",), ("inspect", "00")], ids=" ".join)
def test_no_project(tmp_path, command):
    refused(run(*command, cwd=tmp_path), "[tool.wirelock]", "--protocols")
    assert not list(tmp_path.iterdir())


# -- nobody reads

INSPECTED = ["inspect", "575301000000000000"]
OUTPUTS = [
    ["--version"],
    ["--help"],
    ["show"],
    ["show", "rotation/v1", "--source"],
    ["show", "snapshot"],
    ["show", "snapshot/v1", "--svg"],
    ["check"],
    INSPECTED,
    [*INSPECTED, "00"],
    ["decode", str(SESSION), "--faults", "/dev/null"],
]


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda words: " ".join(words[::2]))
def test_a_reader_that_is_gone(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        outcome = run(*arguments, stdout=writing)
    finally:
        os.close(writing)
    assert (outcome.code, outcome.err) == (141, "")


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda words: " ".join(words[::2]))
def test_a_full_disk(arguments):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        outcome = run(*arguments, stdout=full)
    assert outcome.code == 2
    assert outcome.err.splitlines() == ["wirelock: standard output: No space left on device"]


@pytest.mark.parametrize("arguments", [["show"], ["decode", "missing.pcap"], ["nope"]], ids=" ".join)
def test_nobody_reads_the_errors(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        child = subprocess.run(
            [*COMMAND, *arguments],
            cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=writing, timeout=60,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert child.returncode in ((0,) if arguments == ["show"] else (2, 141))

"""Terminals, locales and names that are not in ASCII; what a bar and rows do to each other."""

import json
import os
import pty
import re
import subprocess
import termios
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tests.cli.command import (
    COMMAND,
    ENVIRONMENT,
    NOTE,
    ROOT,
    SESSION,
    V1,
    capture_of,
    done,
    refused,
    run,
    session,
    write,
    write_project,
)

ASCII = {
    "encoding": {"PYTHONIOENCODING": "ascii"},
    "locale": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
}


@pytest.mark.parametrize("env", ASCII.values(), ids=ASCII)
@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_an_ascii_terminal_or_locale(pings, env, form):
    write(pings / "größe.pcap", capture_of(NOTE, NOTE + b"x"))
    arguments = ["größe.pcap", "größe.pcap", "--format", form]
    outcome = run("decode", *arguments, cwd=pings, **env)
    assert (outcome.code, outcome.err.count("trailing-bytes")) == (0, 1), outcome.err
    if form == "jsonl":
        assert [row["record"]["größe"] for row in map(json.loads, outcome.out.splitlines())] == [2, 2]
    outcome = run("decode", *arguments, "-o", "rows.txt", "--faults", "f.csv", cwd=pings, **env)
    assert outcome.code == 0, outcome.err
    assert ("GRÖSSER" if form == "table" else "größe") in (pings / "rows.txt").read_text(errors="replace")
    assert len((pings / "f.csv").read_bytes().splitlines()) == 3


@pytest.mark.parametrize("env", ASCII.values(), ids=ASCII)
def test_the_session_needs_no_more_than_ascii(env):
    outcome = run("decode", SESSION, "--format", "csv", **env)
    assert (outcome.code, outcome.out) == (0, session("--format", "csv").out)


@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_a_file_name_that_is_no_text(pings, form):
    name = os.fsdecode(b"caf\xe9.pcap")
    write(pings / name, capture_of(NOTE, NOTE + b"x"))
    suffix = "txt" if form == "table" else form
    outcome = run("decode", name, name, "-o", f"rows.{suffix}", "--faults", f"faults.{suffix}", cwd=pings)
    assert outcome.code == 0, outcome.err
    outcome = run("decode", name, name, "--format", form, cwd=pings)
    assert outcome.code == 0, outcome.err
    refused(run("decode", name + "x", cwd=pings), "No such file")


def on_terminal(arguments, columns, rows_there):
    """Decode with standard error, and the rows if asked, on a terminal; return code, terminal, stdout."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    child = subprocess.Popen(
        [*COMMAND, "decode", *map(str, arguments)],
        cwd=ROOT,
        env=ENVIRONMENT | {"TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=slave if rows_there else subprocess.PIPE,
        stderr=subprocess.PIPE if rows_there else slave,
    )
    os.close(slave)
    shown = b""
    other = child.stderr if rows_there else child.stdout
    with ThreadPoolExecutor(1) as pool:  # a terminal holds little before the child has to wait
        reading = pool.submit(other.read)
        with suppress(OSError):
            while piece := os.read(master, 65536):
                shown += piece
        piped = reading.result()
    other.close()
    os.close(master)
    return child.wait(timeout=20), shown.decode(), piped.decode()


@pytest.mark.parametrize("columns", [0, 80])
def test_rows_on_a_terminal_are_cut_to_its_width(columns):
    code, shown, stderr = on_terminal([SESSION], columns, True)
    lines = shown.replace("\r\n", "\n").splitlines()
    assert (code, len(lines)) == (0, 305)
    assert stderr == session().err
    if columns:
        assert max(map(len, lines)) <= columns
    else:
        assert lines[1].endswith("}]")


def test_a_bar_on_a_terminal_leaves_rows_faults_and_summary_alone():
    code, shown, stdout = on_terminal([SESSION, "--format", "jsonl"], 1000, False)
    assert (code, stdout) == (0, session("--format", "jsonl").out)
    assert "360 packets, 42314 bytes" in shown
    assert shown.count("17 is not in 0..3 (byte 24)") == 2
    code, shown, _ = on_terminal([ROOT / "missing.pcap", "--format", "jsonl"], 200, False)
    assert code == 2 and "No such file" in shown and "Traceback" not in shown


def test_a_bar_tells_the_rate_and_the_time_left(tmp_path):
    capture = write(tmp_path / "long.pcap", capture_of(*[V1] * 40_000))
    code, shown, _ = on_terminal([capture, "-o", tmp_path / "rows.jsonl"], 120, False)
    assert code == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert re.search(r"\d/\d+\.\d [kM]B +\d+\.\d [kM]B/s +\d:\d\d:\d\d", plain), plain[-2000:]


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
    write_project(tmp_path, "game", DOCUMENTED)
    assert "Größe — ☃." in done(run(*arguments, cwd=tmp_path))
    assert "r/v1" in done(run(*arguments, cwd=tmp_path, PYTHONIOENCODING="ascii"))

"""Ctrl-C and SIGTERM at any moment of a run: its own exit code, one line, and only whole files."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND, ENVIRONMENT, ROOT, V1, V2, capture_of, run, write, write_project
from tests.cli.command import default_interrupt as default

SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
TRIES = 10
"""The moments of a run at which each signal is sent."""


def listens(process: subprocess.Popen[bytes]) -> bool:
    """Whether the command has come to its own code: SIGTERM is caught."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> signal.SIGTERM - 1 & 1)
    return False


def started(folder: Path, *arguments: Any) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=default,
    )  # fmt: skip
    while process.poll() is None and not listens(process):
        time.sleep(0.001)
    return process


def ended(process: subprocess.Popen[bytes], number: int, delay: float) -> tuple[int, str, str]:
    """Send a signal after a delay; return the exit code, standard output and standard error."""
    time.sleep(delay)
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, out.decode(), err.decode()


FORMS = {
    "text": ["-o", "rows.jsonl", "--faults", "faults.csv"],
    "tables": ["-o", "rows.parquet", "--faults", "faults.arrow", "--as", "snapshot", "--as-version", "2"],
}


@pytest.mark.parametrize("number", SIGNALS, ids=SIGNALS.get)
@pytest.mark.parametrize("form", FORMS)
def test_at_any_moment(tmp_path, form, number):
    capture = write(tmp_path / "long.pcap", capture_of(*[V1, V2, V1[:-1]] * 600))
    targets = [tmp_path / name if "." in name else name for name in FORMS[form]]
    files = [target for target in targets if isinstance(target, Path)]
    begin = time.monotonic()
    process = started(ROOT, "decode", capture, *targets)
    began = time.monotonic() - begin
    process.communicate(timeout=30)
    assert process.returncode == 0
    length = time.monotonic() - begin - began
    whole = [file.read_bytes() for file in files]
    codes = []
    for number_of_try in range(TRIES):
        for file in files:
            file.write_text("old")
        process = started(ROOT, "decode", capture, *targets)
        code, out, err = ended(process, number, number_of_try * 1.05 * length / TRIES)
        found = [file.read_bytes() for file in files]
        assert sorted(tmp_path.iterdir()) == sorted([capture, *files]), (number_of_try, err)
        assert out == ""
        assert "Traceback" not in err and "Exception ignored" not in err, err
        codes.append(code)
        if code == 0:
            assert found == whole, number_of_try
        else:
            assert (code, err.splitlines()[-1]) == (128 + number, f"wirelock: {SIGNALS[number]}"), err
            assert found in ([b"old", b"old"], whole), number_of_try
            if found != whole:
                assert err == f"wirelock: {SIGNALS[number]}\n"
    assert codes.count(128 + number) >= TRIES // 3, codes


# -- code that makes something else of it

PROJECT = '''
"""A protocol whose code takes its time, and makes what it likes of what is raised in it."""
import os, time
from construct import Int8ub, Int16ub, Struct
from pydantic import model_validator
from pydantic_core import PydanticSerializationError
from wirelock import Protocol, Record, Registry

WHERE = os.environ["SLOW"]

class Freed:
    def __del__(self):
        wait("freed")

def wait(where):
    if where == WHERE:
        open("here", "w").close()
        for _ in range(400):
            time.sleep(0.01)

wait("import")
if WHERE == "import, another error":
    try:
        wait(WHERE)
    except BaseException as problem:
        raise ValueError("no") from problem
if WHERE == "freed":
    freed = Freed()
    del freed
if WHERE == "lost":
    try:
        wait(WHERE)
    except BaseException:
        pass
    time.sleep(4)

class R(Record, layout=Struct("a" / Int8ub)):
    """One number."""
    a: int

    @model_validator(mode="after")
    def check(self):
        wait("validator")
        return self

    def model_dump_json(self, **options):
        try:
            wait("serializer")
        except BaseException as problem:
            raise PydanticSerializationError(f"Error serializing to JSON: {problem!r}") from None
        return super().model_dump_json(**options)

PROTOCOLS = Registry(Protocol("r", {1: R}))
'''


@pytest.mark.parametrize("number", SIGNALS, ids=SIGNALS.get)
@pytest.mark.parametrize(
    "where", ["import", "import, another error", "freed", "lost", "validator", "serializer"]
)
def test_whatever_code_it_meets(tmp_path, where, number):
    write_project(tmp_path, "slow", PROJECT)
    write(tmp_path / "one.pcap", capture_of(b"\1"))
    process = subprocess.Popen(
        [*COMMAND, "decode", "one.pcap", "--as", "r/v1", "-o", "rows.jsonl"],
        cwd=tmp_path, env=ENVIRONMENT | {"SLOW": where}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=default,
    )  # fmt: skip
    end = time.monotonic() + 20
    while not (tmp_path / "here").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    begin = time.monotonic()
    assert ended(process, number, 0.02) == (128 + number, "", f"wirelock: {SIGNALS[number]}\n")
    assert time.monotonic() - begin < 3
    assert not list(tmp_path.glob("*rows*")) + list(tmp_path.glob(".wirelock*"))


@pytest.mark.parametrize("number", SIGNALS, ids=SIGNALS.get)
def test_a_signal_that_was_ignored_from_the_start_stays_ignored(tmp_path, number):
    """As of a process that a shell began in the background, or nohup."""
    capture = write(tmp_path / "one.pcap", capture_of(*[V1] * 300))
    process = subprocess.Popen(
        [*COMMAND, "decode", capture, "-o", tmp_path / "rows.jsonl"],
        cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )  # fmt: skip
    code, _, err = ended(process, number, 0.3)
    assert (code, "300  snapshot v1" in err) == (0, True)


def test_what_listens_to_signals_leaves_programs_alone():
    """A program that imports the command line keeps its own handlers."""
    before = [signal.getsignal(number) for number in SIGNALS]
    import wirelock.__main__  # noqa: F401

    assert [signal.getsignal(number) for number in SIGNALS] == before
    assert run("--version").code == 0

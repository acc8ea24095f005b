"""Ctrl-C at a capture that somebody still writes: what has come is decoded, and the files are whole.

The command runs as the one process of a group, as a shell starts it; the writer is the test, which does not
stop, unless it says so.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import polars
import pytest

from tests.cli.command import (
    COMMAND,
    ENVIRONMENT,
    ROOT,
    SESSION,
    V1,
    V2,
    Outcome,
    capture_of,
    default_interrupt,
    run,
    session,
    shell,
    write,
)
from wirelock.capture.live import is_live

TOLD = "wirelock: interrupted, and ended with what had come until then"


def ignored_interrupt():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Piped:
    """A command that reads a pipe which stays open, in a process group of its own."""

    def __init__(self, arguments, folder, *, fifo=False, ignored=False):
        if fifo:
            os.mkfifo(folder / "fifo")
        ends = (None, None) if fifo else os.pipe()
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdin=ends[0] or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=ignored_interrupt if ignored else default_interrupt,
        )
        self.out = os.open(folder / "fifo", os.O_WRONLY) if fifo else ends[1]
        self.reading = self.out if fifo else ends[0]
        self.ends = {self.out, self.reading}

    def feed(self, data):
        """Write, and wait until all of it was read."""
        while data:
            data = data[os.write(self.out, data) :]
        waiting = b"...."
        while waiting != bytes(4):
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.01)
            waiting = fcntl.ioctl(self.reading, termios.FIONREAD, waiting)

    def signal(self, number=signal.SIGINT):
        os.killpg(self.process.pid, number)

    def end(self):
        """Close the pipe."""
        while self.ends:
            os.close(self.ends.pop())

    def outcome(self):
        out, err = self.process.communicate(timeout=60)
        return Outcome(self.process.returncode, out, err)

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.end()


@pytest.fixture
def piped(tmp_path):
    with contextlib.ExitStack() as stack:

        def start(*arguments, **how):
            found = Piped(arguments, tmp_path, **how)
            stack.callback(found.close)
            return found

        yield start


def rows_of(path):
    if path.suffix == ".parquet":
        versions = (path.with_name(f"rows.snapshot-v{version}.parquet") for version in (1, 2))
        return sorted(number for version in versions for number in polars.read_parquet(version)["packet"])
    return [json.loads(line)["packet"] for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("fifo", [False, True], ids=["standard input", "a FIFO"])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("cut", [0, 7], ids=["whole packets", "a packet that is cut"])
def test_what_had_come_is_decoded_and_the_files_are_whole(piped, tmp_path, suffix, fifo, cut):
    rows, faults = tmp_path / f"rows.{suffix}", tmp_path / "faults.jsonl"
    capture = tmp_path / "fifo" if fifo else "-"
    found = piped("decode", capture, "-o", rows, "--faults", faults, fifo=fifo)
    data = SESSION.read_bytes() + capture_of(V1)[24:][:cut]
    found.feed(data)
    found.signal()
    outcome = found.outcome()
    assert outcome.code == 130
    lines = outcome.err.splitlines()
    assert "360 packets, 42314 bytes, 0.413301184 s" in lines
    assert lines[-1] == TOLD
    assert rows_of(rows) == [
        json.loads(line)["packet"] for line in session("--format", "jsonl").out.splitlines()
    ]
    codes = [json.loads(line)["code"] for line in faults.read_text("utf-8").splitlines()]
    assert codes.count("cut") == (cut > 0)
    assert len(codes) == 16 + (cut > 0)


def test_statistics_are_those_of_what_had_come(piped, tmp_path):
    found = piped("stats", "-", "--html", tmp_path / "page.html", "--format", "json")
    found.feed(SESSION.read_bytes())
    found.signal()
    outcome = found.outcome()
    assert (outcome.code, outcome.err.splitlines()[-1]) == (130, TOLD)
    assert json.loads(outcome.out) == json.loads(run("stats", SESSION, "--format", "json").out)
    assert (tmp_path / "page.html").read_text("utf-8").endswith("</html>\n")


def test_rows_on_standard_output_come_before_the_summary_ends(piped):
    found = piped("decode", "-", "--format", "csv")
    found.feed(SESSION.read_bytes())
    found.signal()
    outcome = found.outcome()
    assert (outcome.code, outcome.out) == (130, session("--format", "csv").out)


def test_what_is_in_a_capture_is_told_as_far_as_it_came(piped):
    found = piped("capture", "info", "-")
    found.feed(SESSION.read_bytes())
    found.signal()
    outcome = found.outcome()
    told = run("capture", "info", "-", given=SESSION.read_bytes())
    assert (outcome.code, outcome.out, outcome.err) == (130, told.out, f"{TOLD}\n")


def test_a_header_alone_is_a_capture_without_packets(piped, tmp_path):
    found = piped("decode", "-", "-o", tmp_path / "rows.jsonl")
    found.feed(capture_of())
    found.signal()
    assert found.outcome().err.splitlines() == ["0 packets, 0 bytes", "no faults", TOLD]
    assert (tmp_path / "rows.jsonl").read_bytes() == b""


def test_the_captures_behind_it_are_not_read(piped, tmp_path):
    found = piped("decode", "-", write(tmp_path / "two.pcap", capture_of(V2)), "--format", "jsonl")
    found.feed(capture_of(V1))
    found.signal()
    outcome = found.outcome()
    assert [json.loads(line)["version"] for line in outcome.out.splitlines()] == [1]
    assert outcome.code == 130


WRITER = """
import signal, sys, time
out = sys.stdout.buffer
def end(*_):
    time.sleep(0.1)
    out.write(bytes.fromhex(sys.argv[2]))
    out.flush()
    sys.exit(0)
signal.signal(signal.SIGINT, end)
out.write(bytes.fromhex(sys.argv[1]))
out.flush()
print("written", file=sys.stderr, flush=True)
time.sleep(60)
"""


def test_what_a_writer_has_left_to_write_when_it_is_interrupted_too_is_read(tmp_path):
    """As tcpdump without -U, which holds back some KiB."""
    first, last = capture_of(V1), capture_of(V2)[24:]
    line = [sys.executable, "-c", WRITER, first.hex(), last.hex()]
    outcome_of = f"{' '.join(COMMAND)} decode - -o {tmp_path}/rows.jsonl"
    child = subprocess.Popen(
        ["bash", "-c", f'"$@" | {outcome_of}; exit ${{PIPESTATUS[1]}}', "bash", *line],
        cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=default_interrupt,
    )  # fmt: skip
    try:
        assert child.stderr.readline() == b"written\n"
        while not list(tmp_path.glob(".*.part")):
            time.sleep(0.01)
        time.sleep(0.3)
        os.killpg(child.pid, signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.communicate()
    outcome = Outcome(child.returncode, b"", err)
    assert (outcome.code, outcome.err.splitlines()[-1]) == (130, TOLD)
    assert rows_of(tmp_path / "rows.jsonl") == [1, 2]


@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
def test_a_writer_that_does_not_stop_is_left_after_a_while_or_at_the_second_interrupt(piped, tmp_path, again):
    found = piped("decode", "-", "-o", tmp_path / "rows.jsonl")
    packets = capture_of(V1, V1)
    found.feed(packets)
    over = threading.Event()

    def flood():
        with contextlib.suppress(OSError):
            while not over.wait(0.005):
                os.write(found.out, packets[24:])

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        found.signal()
        if again:
            time.sleep(0.5)
            found.signal()
        outcome = found.outcome()
    finally:
        over.set()
        thread.join()
    assert outcome.code == 130
    if again:
        assert outcome.line == "interrupted"
        assert list(tmp_path.iterdir()) == []
    else:
        assert outcome.err.splitlines()[-1] == TOLD
        assert len(rows_of(tmp_path / "rows.jsonl")) > 100


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_end_that_is_asked_for_waits_for_no_writer(piped, tmp_path, suffix):
    """Large captures are read in a thread, which must not be waited for where nothing comes."""
    found = piped("decode", "-", "-o", tmp_path / f"rows.{suffix}")
    found.feed(capture_of(V1))
    found.signal(signal.SIGTERM)
    assert found.outcome().code == 143
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_that_is_ignored_stays_ignored(piped):
    """As in the background of a shell."""
    found = piped("decode", "-", "--format", "jsonl", ignored=True)
    found.feed(capture_of(V1))
    found.signal()
    found.feed(capture_of(V2)[24:])
    found.end()
    outcome = found.outcome()
    assert (outcome.code, len(outcome.out.splitlines())) == (0, 2)


def test_which_captures_are_live(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    one, other = socket.socketpair()
    with one, other, SESSION.open("rb") as regular, one.makefile("rb") as stream:
        asked = {tmp_path / "fifo": True, SESSION: False, tmp_path: False, tmp_path / "missing": False}
        assert {path: is_live(path) for path in asked} == asked
        assert (is_live(regular), is_live(stream), is_live(Path("/dev/null"))) == (False, True, True)
    assert shell("$W decode - --format jsonl < $S").out == session("--format", "jsonl").out

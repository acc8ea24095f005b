"""Where output goes: whole or not at all, pipes that close, disks that are full, interruptions, memory."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.capture.capture_writer import ethernet, ipv4, pcap, udp
from tests.cli.command import (
    COMMAND,
    ENVIRONMENT,
    ROOT,
    SESSION,
    V1,
    Outcome,
    capture_of,
    copy_project,
    default_interrupt,
    refused,
    run,
    run_all,
    session,
    shell,
    write,
)

# -- places that cannot be written to

PLACES = {
    "a folder that is not there": (
        ("-o", "/nonexistent/rows.jsonl"),
        "/nonexistent/rows.jsonl: No such file or directory",
    ),
    "faults in a folder that is not there": (
        ("--faults", "/nonexistent/f.csv"),
        "/nonexistent/f.csv: No such file or directory",
    ),
    "a folder in which nothing can be made": (
        ("-o", "/proc/rows.jsonl"),
        "/proc/rows.jsonl: No such file or directory",
    ),
    "a folder": (("-o", "/tmp"), "/tmp: Is a directory"),
    "a file as a folder": (("-o", f"{SESSION}/rows.jsonl"), f"{SESSION}/rows.jsonl: Not a directory"),
    "a full disk": (("-o", "/dev/full"), "/dev/full: No space left on device"),
    "a full disk for faults": (("--faults", "/dev/full"), "/dev/full: No space left on device"),
    "a name too long": (("-o", f"/tmp/{'x' * 300}.csv"), "File name too long"),
    "a format that no name has": (("-o", "FOLDER/rows.xlsx"), ".xlsx"),
    "one file for rows and faults": (
        ("-o", "FOLDER/rows.jsonl", "--faults", "FOLDER/rows.jsonl"),
        "rows.jsonl cannot take both",
    ),
    "the capture itself": (("-o", str(SESSION), "--format", "jsonl"), "session.pcapng"),
    "the capture itself for faults": (("--faults", "fixtures/captures/session.pcapng"), "session.pcapng"),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Each run works on a copy of the session, so that a command that overwrites it harms nothing."""
    folder = tmp_path_factory.mktemp("places")
    rows = {}
    for number, (name, (arguments, _)) in enumerate(PLACES.items()):
        copy = folder / f"{number}" / SESSION.name
        copy.parent.mkdir()
        copy.write_bytes(SESSION.read_bytes())
        here = [argument.replace(str(SESSION), str(copy)) for argument in arguments]
        here = [argument.replace("FOLDER", str(copy.parent)) for argument in here]
        here = [
            str(copy) if argument == "fixtures/captures/session.pcapng" else argument for argument in here
        ]
        rows[name] = ("decode", copy, *here)
    outcomes = run_all(rows)
    whole = {name: rows[name][1].read_bytes() == SESSION.read_bytes() for name in rows}
    return outcomes, whole


@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_cannot_be_written_to(places, name):
    outcomes, whole = places
    assert outcomes[name].code == 2
    problem = PLACES[name][1].replace(str(SESSION), "")
    assert outcomes[name].line.endswith(problem) or problem in outcomes[name].line
    assert whole[name], "the capture was overwritten"


def test_the_longest_name_that_the_disk_takes(tmp_path):
    target = tmp_path / ("x" * 251 + ".csv")
    outcome = run("decode", SESSION, "-o", target)
    assert outcome.code == 0
    assert target.read_text() == session("--format", "csv").out


TOGETHER = {
    "faults on a full disk": ("rows.jsonl", "/dev/full"),
    "faults as a table on a full disk": ("rows.parquet", "full.parquet"),
    "rows on a full disk": ("/dev/full", "faults.csv"),
    "faults in no folder": ("rows.csv", "none/faults.csv"),
    "rows in no folder": ("none/rows.csv", "faults.csv"),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_rows_and_faults_appear_together_or_not_at_all(tmp_path, name):
    rows, faults = TOGETHER[name]
    (tmp_path / "full.parquet").symlink_to("/dev/full")
    for old in ("rows.jsonl", "faults.csv"):
        write(tmp_path / old, "old")
    before = sorted(tmp_path.iterdir())
    outcome = run("decode", SESSION, "-o", tmp_path / rows, "--faults", tmp_path / faults, "--format",
                  "parquet" if "parquet" in rows else "jsonl")  # fmt: skip
    bad = faults if rows.startswith("rows") else rows
    refused(outcome, f"{tmp_path / bad}: ", "No such file" if "none" in bad else "No space left on device")
    assert sorted(tmp_path.iterdir()) == before
    assert {(tmp_path / old).read_text() for old in ("rows.jsonl", "faults.csv")} == {"old"}


# -- inputs that would be lost


SAME = [
    ["one.pcap", "-o", "both.jsonl", "--faults", "both.jsonl"],
    ["one.pcap", "-o", "both.jsonl", "--faults", "link.jsonl"],
    ["one.pcap", "-o", "one.pcap", "--format", "jsonl"],
    ["one.pcap", "-o", "link.pcap", "--format", "jsonl"],
    ["link.pcap", "-o", "one.pcap", "--format", "jsonl"],
    ["two.pcap", "one.pcap", "-o", "one.pcap", "--format", "jsonl"],
    ["one.pcap", "-o", "hard.pcap", "--format", "jsonl"],
    ["one.jsonl", "--faults", "one.jsonl"],
    ["one.jsonl", "-o", "one.jsonl"],
]


@pytest.mark.parametrize("arguments", SAME, ids=" ".join)
def test_no_output_takes_the_place_of_an_input_or_another_output(tmp_path, arguments):
    copy_project(tmp_path)
    data = capture_of(V1, V1[:-1])
    for name in ("one.pcap", "two.pcap", "one.jsonl"):
        write(tmp_path / name, data)
    write(tmp_path / "both.jsonl", "old\n")
    (tmp_path / "hard.pcap").hardlink_to(tmp_path / "one.pcap")
    (tmp_path / "link.pcap").symlink_to("one.pcap")
    (tmp_path / "link.jsonl").symlink_to("both.jsonl")
    before = sorted(tmp_path.iterdir())
    outcome = run("decode", *arguments, cwd=tmp_path)
    for name in ("one.pcap", "two.pcap", "one.jsonl", "link.pcap", "hard.pcap"):
        assert (tmp_path / name).read_bytes() == data, name
    assert (tmp_path / "both.jsonl").read_text("utf-8") == "old\n"
    assert (tmp_path / "link.jsonl").is_symlink()
    refused(outcome)
    assert sorted(tmp_path.iterdir()) == before


# -- special files


def test_a_link_is_followed(tmp_path):
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    real.write_text("old\n")
    link.symlink_to(real)
    assert run("decode", SESSION, "-o", link).code == 0
    assert link.is_symlink()
    assert real.read_text() == session("--format", "jsonl").out


def test_a_link_to_standard_output_is_standard_output(tmp_path):
    """As /dev/stdout is: replacing that one would break the machine."""
    link, target = tmp_path / "stdout", tmp_path / "redirected"
    link.symlink_to("/proc/self/fd/1")
    with target.open("wb") as stream:
        done = subprocess.run(
            [*COMMAND, "decode", SESSION, "-o", link, "--format", "jsonl"],
            cwd=ROOT, env=ENVIRONMENT, stdout=stream, stderr=subprocess.PIPE, timeout=60,
        )  # fmt: skip
    assert done.returncode == 0
    assert link.is_symlink()
    assert target.read_text() == session("--format", "jsonl").out


def test_a_pipe_by_name_is_written_to_directly(tmp_path):
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    command = [*COMMAND, "decode", SESSION, "-o", pipe]
    process = subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.PIPE)
    assert pipe.read_text() == session("--format", "jsonl").out
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_hyphen_for_faults_is_standard_output_or_refused(tmp_path):
    outcome = run(
        "decode",
        SESSION,
        "--faults",
        "-",
        "--protocols",
        "protocol:PROTOCOLS",
        cwd=tmp_path,
        PYTHONPATH=f"{ROOT / 'src'}:{ROOT}",
    )
    assert list(tmp_path.iterdir()) == []
    assert outcome.code == 2 or " packet 57 " in outcome.out


# -- standard streams

STREAMS = {
    # line of bash -> (exit code, standard error)
    "full, rows": ("$W decode $S >/dev/full", 2, "wirelock: standard output: No space left on device"),
    "full, show": ("$W show >/dev/full", 2, "wirelock: standard output: No space left on device"),
    "full, help": ("$W -h >/dev/full", 2, "wirelock: standard output: No space left on device"),
    "closed, rows": ("$W decode $S >&-", None, None),
    "closed, show": ("$W show >&-", None, None),
    "closed, version": ("$W --version >&-", None, None),
    "closed, into a file": ("$W decode $S -o /dev/null >&-", 0, None),
    "closed, standard input": ("$W decode - <&-", 2, "wirelock: "),
    "closed, standard input not needed": ("$W decode $S -o /dev/null <&-", 0, None),
    "closed, standard error": ("$W decode $S --format jsonl 2>&- | wc -l", 0, None),
    "gone, rows": ("$W decode $S $S $S $S | head -1; exit ${PIPESTATUS[0]}", 141, ""),
    "gone, rows as jsonl": ("$W decode $S --format jsonl | head -1; exit ${PIPESTATUS[0]}", 141, ""),
    "gone, before the first row": ("$W decode $S $S 2>/dev/null | true; exit ${PIPESTATUS[0]}", 141, ""),
    "gone, show": ("$W show rotation --source | head -c 1; exit ${PIPESTATUS[0]}", None, ""),
    "gone, standard error": ("$W decode $S -o /dev/null 2> >(true); exit $?", None, None),
}  # fmt: skip


@pytest.fixture(scope="module")
def streams():
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(STREAMS, pool.map(lambda row: shell(row[0]), STREAMS.values()), strict=True))


@pytest.mark.parametrize("name", STREAMS)
def test_standard_streams_that_do_not_take_it(streams, name):
    _, code, err = STREAMS[name]
    outcome = streams[name]
    if code is not None:
        assert outcome.code == code
    if err == "":
        assert "wirelock:" not in outcome.err
    elif err is not None:
        assert outcome.err.splitlines()[-1].startswith(err)


def test_the_rows_before_the_reader_left_are_whole():
    outcome = shell("$W decode $S $S --format jsonl 2>/dev/null | head -2")
    assert [json.loads(line)["packet"] for line in outcome.out.splitlines()] == [5, 7]


def test_rows_and_faults_in_one_pipe_stay_whole_lines():
    outcome = shell("$W decode $S --format jsonl 2>&1")
    lines = outcome.out.splitlines()
    assert sum(line.startswith('{"packet"') and line.endswith("}") for line in lines) == 304
    assert len(lines) == 304 + 16 + 9


# -- interruptions


class Slow:
    """A `decode` that reads from a pipe and waits for more, with rows and faults going to files."""

    def __init__(self, folder):
        self.folder = folder
        self.pipe = folder / "slow.pcapng"
        os.mkfifo(self.pipe)
        (folder / "rows.jsonl").write_text("old rows\n")
        self.process = subprocess.Popen(
            [*COMMAND, "decode", self.pipe, "-o", folder / "rows.jsonl", "--faults", folder / "faults.csv"],
            cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.feed = self.pipe.open("wb", buffering=0)
        self.feed.write(SESSION.read_bytes()[:20000])

    def wait(self):
        """Wait until the command has opened its files."""
        end = time.monotonic() + 20
        while time.monotonic() < end and len(list(self.folder.glob(".*"))) < 2:
            time.sleep(0.01)
        time.sleep(0.05)

    def end(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        with contextlib.suppress(BrokenPipeError):
            self.feed.close()
        return Outcome(self.process.returncode, out, err)

    def left(self):
        return sorted(path.name for path in self.folder.iterdir() if path != self.pipe)


@pytest.fixture
def slow(tmp_path):
    found = Slow(tmp_path)
    found.wait()
    yield found
    found.process.kill()
    found.process.communicate()


def interrupted_at(tmp_path, options, content, number=signal.SIGINT):
    """Start decoding a FIFO, feed it, wait until the output is open, and send a signal: Ctrl-C."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = subprocess.Popen(
        [*COMMAND, "decode", str(fifo), *map(str, options)],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_interrupt,
    )
    try:
        if content is None:
            while not list(tmp_path.glob("out/.*.part")):
                time.sleep(0.01)
            time.sleep(0.05)
            child.send_signal(number)
            return *child.communicate(timeout=20), child.returncode
        with fifo.open("wb", buffering=0) as writer:
            writer.write(content)
            time.sleep(0.1)
            child.send_signal(number)
            return *child.communicate(timeout=20), child.returncode
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("content", [None, b"\xd4"], ids=["not opened", "at the magic"])
def test_control_c_before_there_is_a_capture_leaves_no_output_and_says_one_line(tmp_path, content):
    (tmp_path / "out").mkdir()
    old = write(tmp_path / "out/old.jsonl", "old\n")
    options = ["-o", tmp_path / "out/new.jsonl", "--faults", old]
    stdout, stderr, code = interrupted_at(tmp_path, options, content)
    assert (code, stdout, stderr) == (130, "", "wirelock: interrupted\n")
    assert list((tmp_path / "out").iterdir()) == [old]
    assert old.read_text("utf-8") == "old\n"


def test_an_end_without_warning_leaves_the_old_file(slow):
    assert slow.end(signal.SIGKILL).code == -signal.SIGKILL
    assert (slow.folder / "rows.jsonl").read_text() == "old rows\n"
    assert "faults.csv" not in slow.left()


def test_an_end_that_is_asked_for_leaves_nothing(slow):
    assert slow.end(signal.SIGTERM).code in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert slow.left() == ["rows.jsonl"]
    assert (slow.folder / "rows.jsonl").read_text() == "old rows\n"


def test_while_it_runs_the_old_file_is_there_and_the_new_one_is_hidden(slow):
    assert (slow.folder / "rows.jsonl").read_text() == "old rows\n"
    assert not (slow.folder / "faults.csv").exists()
    slow.feed.write(SESSION.read_bytes()[20000:])
    slow.feed.close()
    _, err = slow.process.communicate(timeout=20)
    assert Outcome(slow.process.returncode, b"", err).code == 0
    assert (slow.folder / "rows.jsonl").read_text() == session("--format", "jsonl").out
    assert slow.left() == ["faults.csv", "rows.jsonl"]


def test_files_have_the_permissions_of_any_new_file(tmp_path):
    outcome = shell(f"umask 027; $W decode $S -o {tmp_path}/rows.jsonl --faults {tmp_path}/faults.csv")
    assert outcome.code == 0
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {
        "rows.jsonl": "0o640", "faults.csv": "0o640",
    }  # fmt: skip


def test_a_file_is_replaced_only_when_the_new_one_is_whole(tmp_path):
    target = tmp_path / "rows.jsonl"
    target.write_text("old\n")
    assert run("decode", tmp_path / "missing.pcap", "-o", target).code == 2
    assert target.read_text() == "old\n"
    assert run("decode", SESSION, "-o", target).code == 0
    assert target.read_text() == session("--format", "jsonl").out


# -- memory


def peak(capture, *arguments):
    """Return the most memory that a run held, in KiB."""
    process = subprocess.Popen(
        [*COMMAND, "decode", capture, *arguments],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


MEASURE = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print(child.returncode, usage.ru_maxrss)
"""


@pytest.mark.parametrize("form", ["table", "jsonl", "csv"])
def test_memory_does_not_grow_with_the_capture(tmp_path, form):
    packet = ethernet(ipv4(udp(V1)))
    faulty = ethernet(ipv4(udp(V1[:-1])))
    peaks = []
    for count in (1500, 15_000):
        packets = [(n, 0, faulty if n % 10 == 0 else packet) for n in range(count)]
        capture = write(tmp_path / f"{count}.pcap", pcap(packets))
        # A process of its own measures: a child begins with the peak of the process that forks it.
        child = subprocess.run(
            [sys.executable, "-c", MEASURE, *COMMAND, "decode", str(capture), "--format", form],
            cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        code, most = map(int, child.stdout.split())
        assert code == 0
        peaks.append(most / 1024)
    assert peaks[1] - peaks[0] < 20, peaks


def test_a_hostile_length_takes_no_memory(tmp_path):
    capture = tmp_path / "hostile.pcap"
    payload = b"WS\1\7\0\0\0\xff\xff"
    head = pcap([(1, 0, ethernet(ipv4(udp(payload))))])
    capture.write_bytes(
        head + (1).to_bytes(4, "little") * 2 + (0x0FFFFFFF).to_bytes(4, "little") * 2 + b"short"
    )
    small = tmp_path / "small.pcap"
    small.write_bytes(head)
    assert peak(capture) - peak(small) < 4096

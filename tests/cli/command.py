"""The command line as a process of its own, and captures and projects to run it on.

What it prints and how it ends is an Outcome. A traceback is never right.
"""

from __future__ import annotations

import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from protocol.rotation import PoseFlags, RotationV1
from protocol.snapshot import EntityV1, Position, SnapshotV1, SnapshotV2
from tests.capture.capture_writer import ethernet, ipv4, pcap, udp

ROOT = Path(__file__).parents[2]
SESSION = ROOT / "fixtures" / "captures" / "session.pcapng"
COMMAND = [sys.executable, "-m", "wirelock"]
ENVIRONMENT = {
    key: value
    for key, value in os.environ.items()
    if not key.startswith(("PYTEST", "PYTHON", "LC_", "LANG", "NO_COLOR"))
} | {
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": str(ROOT / "src"),
    "PYTHONDONTWRITEBYTECODE": "1",
}

ROTATION = RotationV1(largest_index=3, a=1, b=-2, c=3)
V1 = SnapshotV1(
    tick=7,
    entities=(EntityV1(id=1, flags=PoseFlags(0), position=Position(x=1, y=2, z=3), rotation=ROTATION),),
).build()
V2 = SnapshotV2(tick=8, entities=()).build()


class Outcome:
    """What one run left behind. Text as UTF-8; bytes that are none are kept as surrogates."""

    def __init__(self, code: int, out: bytes | None, err: bytes) -> None:
        self.code = code
        self.out = (out or b"").decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")
        assert "Traceback" not in self.err, self.err

    @property
    def line(self) -> str:
        """The one line that was said, of a run that could not be done."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("wirelock: ")
        return lines[0].removeprefix("wirelock: ")


def run(
    *arguments: Any, cwd: Path = ROOT, given: bytes = b"", stdout: Any = subprocess.PIPE, **environment: str
) -> Outcome:
    """Run the command to its end, in the repository unless said otherwise."""
    done = subprocess.run(
        [*COMMAND, *map(os.fspath, map(_plain, arguments))],
        cwd=cwd,
        env=ENVIRONMENT | environment,
        input=given,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def _plain(argument: Any) -> Any:
    return str(argument) if isinstance(argument, int) else argument


def run_all(rows: Mapping[str, Sequence[Any]], **options: Any) -> dict[str, Outcome]:
    """Run the command once for each row of a table, a few at a time."""
    with ThreadPoolExecutor(4) as pool:
        outcomes = pool.map(lambda row: run(*row, **options), rows.values())
        return dict(zip(rows, outcomes, strict=True))


def shell(line: str, cwd: Path = ROOT) -> Outcome:
    """Run a line of bash in which $W is the command and $S the sample session."""
    command = " ".join(COMMAND)
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=cwd,
        env=ENVIRONMENT | {"W": command, "S": str(SESSION)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@cache
def session(*arguments: str) -> Outcome:
    """Return what `decode` says of the sample session; each way is run once only."""
    return run("decode", SESSION, *arguments)


def default_interrupt() -> None:
    """Give the child Ctrl-C even where the tests run in the background, with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def refused(outcome: Outcome, *words: Any, code: int = 2) -> None:
    """Assert that a run ended with one line on standard error, and nothing else, that has the words."""
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert outcome.err.endswith("\n")
    for word in words:
        assert str(word) in outcome.line


def done(outcome: Outcome) -> str:
    """Return what a run printed, that had nothing to complain of."""
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def on_terminal(*arguments: str, columns: int = 80, **environment: str) -> tuple[int, str]:
    """Run with standard output on a terminal; return the exit code and what it shows."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    child = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env=ENVIRONMENT | {"TERM": "xterm"} | environment,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
    )
    os.close(slave)
    shown = b""
    while piece := _piece(master):
        shown += piece
    os.close(master)
    assert child.communicate(timeout=20)[1] == b""
    return child.returncode, shown.decode().replace("\r\n", "\n")


def _piece(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # there is nobody left to write
        return b""


# -- captures and projects


def capture_of(*payloads: Any, ports: tuple[int, int] = (1111, 2222)) -> bytes:
    """Return a pcap of UDP payloads, one a second; a payload is bytes or (bytes, source, destination)."""
    packets = []
    for number, payload in enumerate(payloads):
        data, source, destination = payload if isinstance(payload, tuple) else (payload, *ports)
        packets.append(
            (1000 + number, 250_000, ethernet(ipv4(udp(data, source=source, destination=destination))))
        )
    return pcap(packets)


def write(path: Path, data: str | bytes) -> Path:
    if isinstance(data, str):
        path.write_text(data, "utf-8")
    else:
        path.write_bytes(data)
    return path


def write_project(folder: Path, name: str, source: str) -> Path:
    """Write a project with one module of protocols into a folder."""
    write(folder / f"{name}.py", source)
    write(folder / "pyproject.toml", f'[tool.wirelock]\nprotocols = "{name}:PROTOCOLS"\n')
    return folder


def copy_project(target: Path) -> Path:
    """Copy what `wirelock` needs of this repository; it may be edited."""
    shutil.copytree(ROOT / "protocol", target / "protocol", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "fixtures", target / "fixtures", ignore=shutil.ignore_patterns("captures"))
    shutil.copy(ROOT / "pyproject.toml", target)
    return target


def payloads_of(path: Path) -> dict[int, bytes]:
    """Return {packet number: UDP payload} of a little-endian pcapng file of Ethernet."""
    data, at, number = path.read_bytes(), 0, 0
    found = {}
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            number += 1
            captured = struct.unpack_from("<I", data, at + 20)[0]
            packet = data[at + 28 : at + 28 + captured]
            ip = packet[14:]
            found[number] = ip[28:] if ip[0] >> 4 == 4 else ip[48:]
        at += length
    return found


PINGS = '''
"""Two protocols: one repeats, one is not in ASCII."""
from enum import IntEnum
from construct import Const, Enum, Int8ub, Int16ub, Struct
from wirelock import Protocol, Record, Registry, derived

class PingV1(Record, layout=Struct("magic" / Const(b"PG"), "version" / Const(1, Int8ub), "n" / Int16ub)):
    """A number — und Grüße."""
    magic: bytes = derived()
    version: int = derived()
    n: int

class Size(IntEnum):
    GROSS = 1
    GRÖSSER = 2

class NoteV1(Record, layout=Struct("magic" / Const(b"NT"), "version" / Const(1, Int8ub),
                                   "größe" / Enum(Int8ub, Size))):
    """A size."""
    magic: bytes = derived()
    version: int = derived()
    größe: Size

PROTOCOLS = Registry(
    Protocol("ping", {1: PingV1}, tag=("magic", "version"), repeats=True),
    Protocol("note", {1: NoteV1}, tag=("magic", "version")),
)
'''
NOTE = b"NT\x01\x02"

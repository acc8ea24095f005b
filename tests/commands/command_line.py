"""The command line as a process, and captures and projects to run it on."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

from tests.capture.capture_writer import ethernet, ipv4, pcap, udp

ROOT = Path(__file__).parents[2]
SESSION = ROOT / "fixtures/captures/session.pcapng"
COMMAND = [sys.executable, "-m", "wirelock"]


def default_interrupt():
    """Give the child Ctrl-C even where the tests run in the background, with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def environment(**more):
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))
    }
    return {**kept, "LC_ALL": "C.UTF-8", **more}


def wirelock(*arguments, cwd=ROOT, env=None, **options):
    """Run the command; its output is text, and a traceback is never right."""
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    run = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment(**(env or {})),
        stderr=subprocess.PIPE,
        timeout=60,
        **options,
    )
    run.stderr = run.stderr.decode("utf-8", "backslashreplace")
    run.stdout = (run.stdout or b"").decode("utf-8", "backslashreplace")
    assert "Traceback" not in run.stderr, run.stderr
    return run


def shell(script, *, cwd=ROOT):
    """Run bash; `$W` is the command."""
    run = subprocess.run(
        ["bash", "-c", f'W="{sys.executable} -m wirelock"; set -o pipefail; {script}'],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in run.stderr, run.stderr
    return run


def refused(run, *words, code=2):
    """Assert that a run ended with one line on standard error, and nothing else, that has the words."""
    assert (run.returncode, run.stdout) == (code, ""), run.stderr
    assert run.stderr.endswith("\n") and run.stderr.count("\n") == 1, run.stderr
    assert run.stderr.startswith("wirelock: "), run.stderr
    for word in words:
        assert str(word) in run.stderr, run.stderr


def capture_of(*payloads, ports=(1111, 2222)):
    """Return a pcap of UDP payloads, one a second; a payload is bytes or (bytes, source, destination)."""
    packets = []
    for number, payload in enumerate(payloads):
        data, source, destination = payload if isinstance(payload, tuple) else (payload, *ports)
        packets.append(
            (1000 + number, 250_000, ethernet(ipv4(udp(data, source=source, destination=destination))))
        )
    return pcap(packets)


def write(path, data):
    if isinstance(data, str):
        path.write_text(data, "utf-8")
    else:
        path.write_bytes(data)
    return path


def copy_project(target):
    """Copy what `wirelock` needs of this repository; it may be edited."""
    shutil.copytree(ROOT / "protocol", target / "protocol", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "fixtures", target / "fixtures", ignore=shutil.ignore_patterns("captures"))
    shutil.copy(ROOT / "pyproject.toml", target)
    return target


def payloads_of(path):
    """Return {packet number: UDP payload} of a little-endian pcapng file of Ethernet."""
    data, at, number, found = path.read_bytes(), 0, 0, {}
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

"""The command line as a process of its own: what it prints and how it ends. It never shows a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SESSION = ROOT / "fixtures" / "captures" / "session.pcapng"
COMMAND = [sys.executable, "-m", "wirelock"]
ENVIRONMENT = {
    key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON"))
} | {
    "PYTHONPATH": str(ROOT / "src"),
    "PYTHONDONTWRITEBYTECODE": "1",
}


class Outcome:
    """What one run left behind. Text as UTF-8; bytes that are none are kept as surrogates."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")
        assert "Traceback" not in self.err, self.err

    @property
    def line(self) -> str:
        """The one line that was said, of a run that could not be done."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("wirelock: ")
        return lines[0].removeprefix("wirelock: ")


def run(*arguments: Any, cwd: Path = ROOT, given: bytes = b"", **environment: str) -> Outcome:
    """Run the command to its end, in the repository unless said otherwise."""
    done = subprocess.run(
        [*COMMAND, *map(os.fspath, map(_plain, arguments))],
        cwd=cwd,
        env=ENVIRONMENT | environment,
        input=given,
        capture_output=True,
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

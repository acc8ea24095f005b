"""What it costs to start: importing wirelock and its command line, in fresh processes.

Beside each: pydantic with a parser of arguments and nothing else, which any such program loads.
Figures are medians of interleaved runs, of processor time where the system tells it of a child, so that
what else runs counts little; nothing here passes or fails by time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from timing import conditions, table

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("wirelock", "pydantic", "click", "construct", "rich")
BASE = "pydantic (BaseModel) + argparse"

MODEL = (
    "import click\nfrom typing import Annotated\nfrom pydantic import BaseModel, Field\n"
    "class A(BaseModel):\n    i: Annotated[int, Field(ge=0, le=3)]\n    a: int\n    b: int\n    c: int\n"
    "A(i=0, a=1, b=2, c=3)"
)


def programs() -> dict[str, list[str]]:
    """Return the command lines to start, by what the table calls them."""

    def code(text: str) -> list[str]:
        return [sys.executable, "-c", text]

    def command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "wirelock", *arguments]

    return {
        "python alone": code("pass"),
        "click": code("import click"),
        "import pydantic + click": code("import pydantic, click"),
        BASE: code("from pydantic import BaseModel\nimport argparse"),
        "pydantic (BaseModel) + click": code("from pydantic import BaseModel\nimport click"),
        "one pydantic model used + click": code(MODEL),
        "import wirelock": code("import wirelock"),
        "from wirelock import Record": code("from wirelock import Record"),
        "import protocol (4 records and 2 parts)": code("import protocol"),
        "wirelock --version": command("--version"),
        "wirelock --help": command("--help"),
        "wirelock show": command("show"),
        "wirelock show snapshot/v2": command("show", "snapshot/v2"),
    }


def spent_ms() -> float:
    """Return the processor time of all children so far, or the clock where there is no such figure."""
    with suppress(ImportError):
        import resource

        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (used.ru_utime + used.ru_stime)
    return time.perf_counter_ns() / 1e6


def main() -> int:
    """Run, print."""
    parser = argparse.ArgumentParser(description="Start-up of wirelock beside what it is made of.")
    parser.add_argument("--quick", action="store_true", help="two runs each: the figures mean little")
    parser.add_argument(
        "--markdown", action="store_true", help="print the table as docs/performance.md has it"
    )
    arguments = parser.parse_args()
    print(conditions(PACKAGES))
    samples: dict[str, list[float]] = {name: [] for name in programs()}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    for number in range(3 if arguments.quick else 31):
        for name, command in programs().items():
            started = spent_ms()
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
            spent = spent_ms() - started
            if done.returncode:
                print(
                    f"startup.py: {name} exits with {done.returncode}: {done.stderr.decode()}",
                    file=sys.stderr,
                )
                return 1
            if number:  # the first run writes compiled modules
                samples[name].append(spent)
    found = {name: statistics.median(times) for name, times in samples.items()}
    rows = [[name, f"{spent:.0f}", f"{spent / found[BASE]:.2f}"] for name, spent in found.items()]
    print()
    print(table(["program", "ms", f"times {BASE}"], rows, markdown=arguments.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Exported codecs in C beside C written by hand: rotation v1 and a snapshot of 16 entities, parse and build.

Both are compiled into one program (clients/time.c), which compares their bytes before it measures them round
by round. Figures are medians; nothing here passes or fails by time.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from cases import rotation_1, snapshot
from timing import conditions, table

from protocol import PROTOCOLS
from wirelock.export.targets import export

CLIENTS = Path(__file__).parent / "clients"
COMPILERS = ("gcc", "clang")
LEVELS = (("-O2",), ("-O3", "-march=native"))
ROTATIONS, SNAPSHOTS = 512, 64
"""As many records as clients/time.c reads."""


def measured(compiler: str, flags: Sequence[str], folder: Path, rounds: int) -> list[list[str]]:
    """Return a row for each task: its name, nanoseconds exported and by hand, and their ratio."""
    program, source = folder / "time", CLIENTS / "time.c"
    folders = f"-I{folder}", f"-I{CLIENTS}"
    subprocess.run([compiler, "-std=c99", *flags, *folders, source, "-o", program, "-lm"], check=True)
    files = [folder / "rotations", folder / "snapshots"]
    found = subprocess.run([program, *files, str(rounds)], check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in found.stdout.splitlines()]
    return [[name, ours, theirs, f"{float(ours) / float(theirs):.2f}"] for name, ours, theirs in rows]


def main() -> int:
    """Print a table for each compiler and level."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1001, help="samples of each row (default: 1001)")
    parser.add_argument("--quick", action="store_true", help="few samples, to see that it runs")
    parser.add_argument("--markdown", action="store_true", help="tables for the docs")
    options = parser.parse_args()
    compilers = [name for name in COMPILERS if shutil.which(name)]
    if not compilers:
        print(f"no compiler: install one of {', '.join(COMPILERS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in export(PROTOCOLS, "c", name="game").items():
            (folder / path).write_text(text, "utf-8")
        (folder / "rotations").write_bytes(b"".join(islice(cycle(rotation_1().data), ROTATIONS)))
        (folder / "snapshots").write_bytes(b"".join(islice(cycle(snapshot().data), SNAPSHOTS)))
        print(conditions(("wirelock",)), end="\n\n")
        for compiler in compilers:
            for flags in LEVELS:
                rows = measured(compiler, flags, folder, 3 if options.quick else options.rounds)
                header = [f"{compiler} {' '.join(flags)}", "exported, ns", "by hand, ns", "ratio"]
                print(table(header, rows, markdown=options.markdown), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

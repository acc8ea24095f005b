"""The benchmarks run, and compare before they measure; which libraries are installed is not their matter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.export.languages import installed

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/performance.md").read_text("utf-8")


def tables(script: str, *options: str) -> list[list[str]]:
    """Run a benchmark with few samples and return the first cells of its tables, a list for each."""
    run = subprocess.run(
        [sys.executable, f"benchmarks/{script}.py", "--quick", "--markdown", *options],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    blocks = [block.splitlines() for block in run.stdout.strip().split("\n\n")]
    return [[line.split("|")[1].strip() for line in block] for block in blocks if block[0].startswith("| ")]


def rows_of_the_page(heading: str) -> list[str]:
    """Return the first cells of the table whose header begins so."""
    block = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0]
    return [line.split("|")[1].strip() for line in block.splitlines()]


def test_records_beside_other_libraries() -> None:
    parse, build = tables("scalar")
    for rows in (parse, build):
        known = rows_of_the_page(rows[0])
        assert {"wirelock", "struct + pydantic, by hand", "construct + pydantic"} <= set(rows) <= set(known)
        assert rows == [row for row in known if row in rows]


def test_columns_beside_other_ways() -> None:
    for rows in tables("columnar"):
        assert rows == rows_of_the_page(rows[0])


def test_exported_codecs_beside_code_by_hand() -> None:
    compiler = installed("typescript-5")
    for rows in (*tables("clients_c"), *tables("clients_typescript", "--compiler", str(compiler))):
        assert rows == rows_of_the_page(rows[0])


def test_captures_beside_other_tools() -> None:
    for rows in tables("captures"):
        known = rows_of_the_page(rows[0])
        assert {row for row in rows if row.startswith("wirelock")} == {
            row for row in known if row.startswith("wirelock")
        }
        assert rows == [row for row in known if row in rows]


def test_starting() -> None:
    (rows,) = tables("startup")
    assert rows == rows_of_the_page(rows[0])

"""One record at a time: bytes -> validated record and record -> bytes, wirelock beside what else there is.

All rows run in one process, interleaved, after their results were compared: the same values, the same
bytes, and the same bytes refused by every row that says it checks as much. Any difference exits with 1.
Figures are medians; nothing here passes or fails by time.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import byhand
import libraries
from cases import Case, Row, cases, plain
from timing import conditions, loop_over, medians, microseconds, table, version_of

from wirelock import DecodeError

PACKAGES = ("wirelock", "pydantic", "construct", "caterpillar-py", "dissect.cstruct", "kaitaistruct")
TITLES = {"parse": "bytes -> record", "build": "record -> bytes"}
WORDS = {"all": "all", "no rule": "all but the rule", "none": "nothing"}
OURS = "wirelock"


class DifferError(Exception):
    """Two rows do not come to the same."""


def rows_of(case: Case, task: str) -> list[Row]:
    """Return the rows of one case, wirelock's first."""
    name = case.record.__name__
    names: dict[str, Any] = {name: case.record}
    if task == "parse":

        def to_plain(value: Any) -> Any:
            return plain(value, case.shape)

        ours = [
            Row(OURS, f"{name}.parse(item)", names, case.data, "all", to_plain),
            Row(
                f"{OURS}, reference engine",
                f'{name}.parse(item, engine="reference")',
                names,
                case.data,
                "all",
                to_plain,
            ),
        ]
        others = [*byhand.parse_rows(case), *libraries.parse_rows(case)]
    else:
        ours = [
            Row(OURS, "item.build()", {}, case.records, "all"),
            Row(f"{OURS}, reference engine", 'item.build(engine="reference")', {}, case.records, "all"),
        ]
        others = [*byhand.build_rows(case), *libraries.build_rows(case)]
    order = ("all", "no rule", "none")
    return [*ours, *sorted(others, key=lambda row: order.index(row.checks))]


def compare(case: Case, task: str, rows: list[Row]) -> None:
    """Raise DifferError unless every row comes to the same and refuses what it says that it checks."""
    wanted = case.values if task == "parse" else case.data
    for row in rows:
        for item, value in zip(row.items, wanted, strict=True):
            found = row.to_plain(row.result(item))
            if found != value:
                raise DifferError(f"{case.name}, {row.name}: {found!r} is not {value!r}")
        if task == "parse" and row.checks != "none":
            bad = [*case.bad, *([case.unreachable] if row.checks == "all" else [])]
            for data in bad:
                if _accepts(row, data):
                    raise DifferError(f"{case.name}, {row.name}: {data.hex(' ')} is accepted")
        if task == "build" and row.checks != "none" and "largest_index" in case.shape:
            for value in (True, 4, -1, "1"):
                item = row.items[0].model_copy(update={"largest_index": value})
                if _accepts(row, item):
                    raise DifferError(f"{case.name}, {row.name}: largest_index={value!r} is accepted")
    if task == "parse":
        for data in [*case.bad, case.unreachable]:
            try:
                case.record.parse(data)
            except DecodeError:
                continue
            raise DifferError(f"{case.name}: {data.hex(' ')} is accepted")


def _accepts(row: Row, item: Any) -> bool:
    try:
        row.result(item)
    except Exception:  # each library has errors of its own
        return False
    return True


def measure(rows: list[Row], *, quick: bool) -> list[float]:
    """Return the median nanoseconds of each row."""
    loops = [(loop_over(row.source, row.names), row.items) for row in rows]
    rounds, span_ns = (3, 50_000) if quick else (151, 300_000)
    return medians(loops, rounds, span_ns)


def report(task: str, found: dict[str, list[tuple[Row, float]]], *, markdown: bool) -> str:
    """Return the table of one direction: a line a rival, microseconds and times of wirelock a case."""
    lines = []
    names = list(dict.fromkeys(row.name for rows in found.values() for row, _ in rows))
    for name in names:
        cells, checks = [], ""
        for rows in found.values():
            ours = next(spent for row, spent in rows if row.name == OURS)
            spent, checks = next((spent, row.checks) for row, spent in rows if row.name == name)
            ratio = spent / ours
            cells.append(
                f"{microseconds(spent)} ({ratio:.2f})"
                if ratio < 10
                else f"{microseconds(spent)} ({ratio:.0f})"
            )
        lines.append([name, *cells, WORDS[checks]])
    header = [TITLES[task], *(f"{name}, µs" for name in found), "checks"]
    return table(header, lines, markdown=markdown)


def main() -> int:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description="wirelock beside other libraries, one record at a time.")
    parser.add_argument("--quick", action="store_true", help="a few samples only: the figures mean little")
    parser.add_argument(
        "--markdown", action="store_true", help="print the tables as docs/performance.md has them"
    )
    arguments = parser.parse_args()
    print(conditions(PACKAGES))
    if libraries.missing():
        print(f"not installed, left out: {', '.join(libraries.missing())} (pip install -e '.[bench]')")
    if version_of("wirelock") is None:
        print("wirelock is not installed", file=sys.stderr)
        return 2
    known = cases()
    for task in TITLES:
        found: dict[str, list[tuple[Row, float]]] = {}
        for case in known:
            rows = rows_of(case, task)
            try:
                compare(case, task, rows)
            except DifferError as problem:
                print(f"scalar.py: {problem}", file=sys.stderr)
                return 1
            found[case.name] = list(zip(rows, measure(rows, quick=arguments.quick), strict=True))
        print(f"\n{report(task, found, markdown=arguments.markdown)}")
    print("\nIn brackets: times the figure of wirelock. More than 1 is slower than wirelock.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

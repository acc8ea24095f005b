"""How the benchmarks measure: medians of interleaved rounds, and the conditions they were taken under.

Every row runs once in every round, so that whatever else the machine does slows all rows alike.
"""

from __future__ import annotations

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any


def loop_over(source: str, names: dict[str, Any]) -> Callable[[Sequence[Any]], None]:
    """Return a function that runs a statement for each `item` of a sequence, as a caller would write it.

    The statement is compiled into the loop: no row pays for a call that its user would not make.
    """
    namespace = dict(names)
    body = "".join(f"        {line}\n" for line in source.splitlines())
    exec(f"def loop(items):\n    for item in items:\n{body}", namespace)
    return namespace["loop"]  # type: ignore[no-any-return]


def medians(
    loops: Sequence[tuple[Callable[[Sequence[Any]], None], Sequence[Any]]], rounds: int, span_ns: int
) -> list[float]:
    """Return the median nanoseconds per item of each loop.

    A sample lasts about `span_ns`, which should be far below a scheduler's time slice of some
    milliseconds: then most samples, and with them the median, are free of what else runs.
    """
    plans = [_plan(loop, items, span_ns) for loop, items in loops]
    samples: list[list[float]] = [[] for _ in loops]
    collecting = gc.isenabled()
    gc.disable()
    try:
        for number in range(rounds):
            for step in range(len(loops)):
                which = (step + number) % len(loops)  # nobody always runs behind the same neighbour
                loop, (items, repeats) = loops[which][0], plans[which]
                turns = range(repeats)
                started = time.perf_counter_ns()
                for _ in turns:
                    loop(items)
                spent = time.perf_counter_ns() - started
                samples[which].append(spent / repeats / len(items))
            gc.collect()
    finally:
        if collecting:
            gc.enable()
    return [statistics.median(found) for found in samples]


def _plan(
    loop: Callable[[Sequence[Any]], None], items: Sequence[Any], span_ns: int
) -> tuple[Sequence[Any], int]:
    """Return the items of a sample and how often it repeats them: fewer where one pass takes too long."""
    passes = []
    for _ in range(5):  # the first specialise the code; of the others one is free of what else runs
        started = time.perf_counter_ns()
        loop(items)
        passes.append(max(1, time.perf_counter_ns() - started))
    spent = min(passes)
    if spent > span_ns:
        return items[: max(1, len(items) * span_ns // spent)], 1
    return items, -(-span_ns // spent)


def conditions(packages: Sequence[str]) -> str:
    """Return machine, Python, versions, date and load in words."""
    try:
        load = f"load {os.getloadavg()[0]:.2f}"
    except (AttributeError, OSError):
        load = "load unknown"
    versions = ", ".join(f"{name} {version_of(name) or 'not installed'}" for name in packages)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; {python}; {when}; {load}; {versions}"
    )


def version_of(package: str) -> str | None:
    """Return the version of an installed package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def microseconds(nanoseconds: float) -> str:
    """Return a time in microseconds with three digits that mean something."""
    value = nanoseconds / 1000
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool) -> str:
    """Return rows in columns: the first to the left, the others to the right."""
    if markdown:
        lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
        return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(widths[i]) for i, cell in enumerate(row[1:], 1))])
        for row in (header, *rows)
    )

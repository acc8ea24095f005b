"""`wirelock decode`: captures -> rows, faults and a summary, each to where it was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wirelock.cli.options import (
    as_option,
    opened,
    port_option,
    project_of,
    protocols_option,
    refuse_folders,
    selection_of,
    skip_option,
    tunnels_option,
)

if TYPE_CHECKING:
    from wirelock.capture.decode import Selection, Summary
    from wirelock.schema.registry import Registry

FORMATS = ("table", "jsonl", "csv")
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "table", ".log": "table"}


@click.command("decode")
@click.argument(
    "captures",
    metavar="CAPTURE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
)
@port_option
@skip_option
@tunnels_option
@as_option
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Write the rows to FILE (- for standard output, the default).",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Of the rows; by the name of FILE unless given."
)
@click.option(
    "--faults",
    "fault_target",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Write the faults to FILE (.jsonl, .csv, or one line each) and not to standard error.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there is any fault.")
@protocols_option
def command(
    captures: tuple[Path, ...],
    ports: tuple[int, ...],
    skip: int,
    tunnels: bool,
    as_version: str | None,
    target: Path | None,
    form: str | None,
    fault_target: Path | None,
    strict: bool,
    protocols: str | None,
) -> int:
    """Decode captured packets (pcap, pcapng, in gzip or zstd too) into rows.

    Rows go to standard output or -o FILE; faults, with packet, place and reason, and a summary go to
    standard error. A CAPTURE of - is standard input.
    """
    from wirelock.capture.decode import Summary

    registry = project_of(protocols).load()
    selection = selection_of(registry, as_version, ports, skip, tunnels)
    refuse_folders(captures)
    _check_targets(captures, target, fault_target)
    summary = Summary()
    to_stdout = target is None or str(target) == "-"
    form = form or _format_of(None if to_stdout else target, "table")
    with ExitStack() as stack:
        _decode_all(
            stack, captures, registry, selection, summary, None if to_stdout else target, form, fault_target
        )
    _print_summary(summary)
    return 1 if strict and summary.faults.total() else 0


def _check_targets(captures: tuple[Path, ...], target: Path | None, fault_target: Path | None) -> None:
    """Refuse to write over a capture that is read, or rows and faults into one file."""
    targets = [path for path in (target, fault_target) if path is not None and str(path) != "-"]
    for path in targets:
        if path.is_file() and any(other.is_file() and path.samefile(other) for other in captures):
            raise click.UsageError(f"{path} is one of the captures: write to another file")
    special = target is not None and target.exists() and not target.is_file()
    if len(targets) == 2 and _same(*targets) and not special:
        raise click.UsageError(f"{target} cannot take both rows and faults: give two files")


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def _format_of(path: Path | None, otherwise: str) -> str:
    suffix = path.suffix.lower() if path else ""
    known = {**_SUFFIXES, "": otherwise}
    if suffix not in known and not (path and path.exists() and not path.is_file()):
        raise click.UsageError(f"{path} is of no known format: name it .jsonl, .csv or .txt, or say --format")
    return known.get(suffix, otherwise)


def _fault_format(path: Path | None) -> str:
    return _SUFFIXES.get(path.suffix.lower(), "table") if path else "table"


def _decode_all(
    stack: ExitStack,
    captures: tuple[Path, ...],
    registry: Registry,
    selection: Selection,
    summary: Summary,
    target: Path | None,
    form: str,
    fault_target: Path | None,
) -> None:
    from wirelock.capture import decode as decoding
    from wirelock.capture import sinks

    many = len(captures) > 1
    stdout = sys.stdout
    rows_to = stdout if target is None else stack.enter_context(sinks.output(target))
    faults_to = None
    if fault_target is not None:
        to_stdout = str(fault_target) == "-"
        faults_to = stdout if to_stdout else stack.enter_context(sinks.output(fault_target))
    if target is None and form != "table":  # for programs: the same bytes whatever the locale
        stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    width = (
        os.get_terminal_size(stdout.fileno()).columns or None if target is None and stdout.isatty() else None
    )
    rows = sinks.row_sink(form, rows_to, registry, width, many)
    to_file = None if faults_to is None else sinks.fault_sink(_fault_format(fault_target), faults_to)
    for path in captures:
        source, name = opened(path)
        with _progress(name, path, summary.read_bytes, rows_to is stdout) as advance:
            # A bar moves aside for what is written to sys.stderr from now on, not for what was before.
            faults = to_file or sinks.fault_sink("table", sys.stderr)
            for item in decoding.decode(source, registry, selection, summary, name):
                if isinstance(item, decoding.Row):
                    rows.write(item)
                else:
                    faults.write(item)
                advance(summary.read_bytes)
    if target is None:
        stdout.flush()


@contextmanager
def _progress(name: str, path: Path, before: int, rows_on_stdout: bool) -> Iterator[Any]:
    """Show a bar on a terminal, unless rows are written to it; `before` is what other files had."""
    if not sys.stderr.isatty() or (rows_on_stdout and sys.stdout.isatty()) or str(path) == "-":
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=path.stat().st_size)
        yield lambda done: progress.update(task, completed=done - before)


def _print_summary(summary: Summary) -> None:
    from wirelock.capture.sinks import seconds

    lines = [f"{summary.packets} packets, {summary.bytes} bytes"]
    if summary.duration_ns is not None:
        lines[0] += f", {seconds(summary.duration_ns)} s"
    lines += [f"{count:>8}  {label}" for label, count in sorted(summary.records.items())]
    if summary.foreign:
        lines.append(f"{summary.foreign:>8}  foreign: datagrams of another protocol")
    if summary.other_ports:
        lines.append(f"{summary.other_ports:>8}  datagrams of other ports")
    if summary.fragments:
        lines.append(f"{summary.fragments:>8}  fragments, besides the one that completes or ends its packet")
    lines += [f"{count:>8}  {label} packets" for label, count in sorted(summary.other_traffic.items())]
    lines += [f"{count:>8}  fault {code}" for code, count in sorted(summary.faults.items())]
    if summary.lost_bytes:
        lines.append(f"{summary.lost_bytes:>8}  bytes of damaged files lost")
    if not summary.faults:
        lines.append("no faults")
    click.echo("\n".join(lines), err=True)

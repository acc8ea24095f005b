"""`wirelock decode`: captures -> rows, faults and a summary, each to where it was asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wirelock.cli import outputs
from wirelock.cli.options import (
    as_option,
    captures_argument,
    port_option,
    project_of,
    protocols_option,
    refuse_folders,
    selection_of,
    skip_option,
    tunnels_option,
)
from wirelock.cli.sources import sources
from wirelock.shown import escaped

if TYPE_CHECKING:
    from wirelock.capture.decode import FaultRow, Row, Selection, Summary
    from wirelock.capture.sinks import FaultSink, RowSink
    from wirelock.schema.registry import Registry


@click.command("decode")
@captures_argument
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
    "--format",
    "form",
    type=click.Choice(outputs.FORMATS),
    help="Of the rows; by the name of FILE unless given.",
)
@click.option(
    "--faults",
    "fault_target",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Write the faults to FILE (its ending says how; otherwise one line each) and not to standard error.",
)
@outputs.version_option
@outputs.allow_option
@outputs.explode_option
@outputs.derived_option
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
    wanted: str | None,
    allow: tuple[str, ...],
    array: str | None,
    derived: bool,
    strict: bool,
    protocols: str | None,
) -> int:
    """Decode captured packets (pcap, pcapng, in gzip or zstd too) into rows.

    Rows go to standard output or -o FILE; faults, with packet, place and reason, and a summary go to
    standard error. A CAPTURE of - is standard input. Parquet and Arrow have one table a version:
    FILE.snapshot-v2.parquet, or FILE itself where but one can come out.
    """
    from wirelock.capture.decode import Summary
    from wirelock.capture.outputs import Outputs

    registry = project_of(protocols).load()
    selection = selection_of(registry, as_version, ports, skip, tunnels)
    refuse_folders(captures)
    shaping = outputs.shaping_of(registry, selection, wanted, allow, array, derived)
    rows_to = None if target is None or str(target) == "-" else target
    form = form or outputs.format_of(rows_to, "table")
    outputs.check_targets(captures, rows_to, form, shaping, fault_target)
    summary = Summary()
    with ExitStack() as stack:
        files = stack.enter_context(Outputs())
        faults = outputs.fault_sink(stack, files, fault_target)
        rows = outputs.row_sink(stack, files, rows_to, form, registry, shaping, len(captures) > 1)
        _decode_all(captures, registry, selection, shaping, summary, rows, faults, rows_to is None)
    lines = [*summary_lines(summary), *outputs.files_written(rows_to, form, shaping, rows)]
    click.echo("\n".join(map(escaped, lines)), err=True)
    return 1 if strict and summary.faults.total() else 0


def _decode_all(
    captures: tuple[Path, ...],
    registry: Registry,
    selection: Selection,
    shaping: outputs.Shaping,
    summary: Summary,
    rows: RowSink,
    to_file: FaultSink | None,
    to_stdout: bool,
) -> None:
    from wirelock.capture import decode as decoding
    from wirelock.capture import sinks

    for path, source, name in sources(captures):
        with progress(path, summary.read_bytes, to_stdout) as advance:
            # A bar moves aside for what is written to sys.stderr from now on, not for what was before.
            faults = to_file or sinks.fault_sink("table", sys.stderr)
            always = shaping.derived
            if hasattr(rows, "write_records") and columnar(path, registry, selection, always=always):
                from wirelock.capture.bulk import decode_columns

                for part in decode_columns(source, registry, selection, summary, name):
                    if all(shaping.keeps(found.protocol, found.version) for found in part.records):
                        for fault in part.faults:
                            faults.write(fault)
                        for records in part.records:
                            rows.write_records(records, name)
                    else:
                        _write(part.items(), shaping, summary, rows, faults)
                    advance(summary.read_bytes)
                continue
            items = decoding.decode(source, registry, selection, summary, name)
            _write(items, shaping, summary, rows, faults, lambda: advance(summary.read_bytes))
    if to_stdout:
        sys.stdout.flush()


def _write(
    items: Iterable[Row | FaultRow],
    shaping: outputs.Shaping,
    summary: Summary,
    rows: RowSink,
    faults: FaultSink,
    done: Callable[[], object] = lambda: None,
) -> None:
    """Write rows and faults one by one, in the versions that are wanted."""
    from wirelock.capture.decode import Row
    from wirelock.capture.upgrade import upgraded

    if shaping.versions is not None:
        items = upgraded(items, shaping.versions, shaping.allow, summary)
    for item in items:
        if isinstance(item, Row):
            rows.write(item)
        else:
            faults.write(item)
        done()


def columnar(path: Path, registry: Registry, selection: Selection, *, always: bool = False) -> bool:
    """Whether a capture is decoded many packets at once: where that can be done, and is worth it, or not."""
    from wirelock.capture import bulk

    large = always or str(path) == "-" or not path.is_file() or path.stat().st_size >= bulk.WORTH
    if large:
        _tell_of_compiling()
    return large and bulk.can_decode(registry, selection)


def _tell_of_compiling() -> None:
    """Let standard error say what is compiled, which takes some seconds when it is first used."""
    log = logging.getLogger("wirelock.columnar")
    if not log.handlers:
        log.addHandler(_Told())
        log.setLevel(logging.INFO)
        log.propagate = False


class _Told(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"wirelock: {record.getMessage()}", err=True)


@contextmanager
def progress(path: Path, before: int, rows_on_stdout: bool) -> Iterator[Any]:
    """Show a bar on a terminal, unless rows are written to it; `before` is what other files had."""
    if not sys.stderr.isatty() or (rows_on_stdout and sys.stdout.isatty()) or not path.is_file():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        name = escaped(path.name)
        short = name if len(name) <= 30 else f"…{name[-29:]}"  # or no room is left for the bar
        task = progress.add_task(short, total=path.stat().st_size)
        yield lambda done: progress.update(task, completed=done - before)


def summary_lines(summary: Summary) -> list[str]:
    """Return what was in the captures, a line each."""
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
    return lines

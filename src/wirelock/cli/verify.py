"""`wirelock verify`: a capture as a regression test, against both engines and a recorded expectation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from wirelock.cli.options import (
    as_option,
    format_option,
    opened,
    port_option,
    project_of,
    protocols_option,
    refuse_folders,
    selection_of,
    skip_option,
    tunnels_option,
)
from wirelock.shown import escaped

if TYPE_CHECKING:
    from wirelock.capture.decode import Selection, Summary
    from wirelock.capture.expectation import Difference
    from wirelock.capture.verify import Verdict


@click.command("verify")
@click.argument("capture", metavar="CAPTURE", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--expect", metavar="FILE", type=click.Path(path_type=Path), help="Compare with what --write recorded."
)
@click.option(
    "--write", "target", metavar="FILE", type=click.Path(path_type=Path),
    help="Record what the packets are today, to be expected from now on.",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Let --write take the place of a file that is there.")
@port_option
@skip_option
@tunnels_option
@as_option
@format_option
@protocols_option
def command(
    capture: Path,
    expect: Path | None,
    target: Path | None,
    overwrite: bool,
    ports: tuple[int, ...],
    skip: int,
    tunnels: bool,
    as_version: str | None,
    form: str,
    protocols: str | None,
) -> int:
    """Tell what each packet of a capture is, and whether its records round-trip byte for byte.

    Every record is parsed and built again by both engines. With --expect only what differs is printed. The
    exit code is 1 if a record does not round-trip, the engines do not agree, or anything is not as expected.
    """
    from wirelock.capture import expectation
    from wirelock.capture.decode import Summary
    from wirelock.capture.verify import verify

    registry = project_of(protocols).load()
    selection = selection_of(registry, as_version, ports, skip, tunnels)
    refuse_folders((capture,))
    _check_files(capture, expect, target, overwrite)
    source, name = opened(capture)
    summary = Summary()
    found: Iterable[Any] = verify(source, registry, selection, summary, name)
    if expect is not None:
        found = expectation.compared(expectation.read_expectation(expect, selection), found)
    report = _Json(expect is not None) if form == "json" else _Text(expect is None and target is None)
    try:
        with _recording(target, selection) as stream:
            for item in found:
                _see(item, report, stream)
            if target is not None and report.problems:
                raise _NotRecordedError
    except _NotRecordedError:
        told = f"{target} was not written: not every record round-trips"
        click.echo(f"wirelock: {escaped(told)}", err=True)
    report.end(name, summary, expect)
    if target is not None and not report.problems and form == "text":
        click.echo(escaped(f"recorded in {target}"))
    return 1 if report.problems or report.differences else 0


class _NotRecordedError(Exception):
    """Leaves the file of an expectation unwritten."""


def _check_files(capture: Path, expect: Path | None, target: Path | None, overwrite: bool) -> None:
    if expect is not None and target is not None:
        raise click.UsageError("--expect compares with a file and --write makes one: say one of them")
    if target is None and overwrite:
        raise click.UsageError("--overwrite goes with --write")
    if target is None or not target.exists():
        return
    if capture.exists() and target.samefile(capture):
        raise click.UsageError(f"{target} is the capture: write to another file")
    if not overwrite:
        raise click.UsageError(f"{target} is there: compare with it by --expect, or say --overwrite")


@contextmanager
def _recording(target: Path | None, selection: Selection) -> Iterator[TextIO | None]:
    """Open an expectation with its first line, that is there only when it is whole; None without a target."""
    from wirelock.capture.expectation import header
    from wirelock.capture.outputs import output

    if target is None:
        yield None
        return
    with output(target) as stream:
        stream.write(f"{header(selection)}\n")
        yield stream


def _see(item: Verdict | Difference, report: _Report, stream: TextIO | None) -> None:
    from wirelock.capture.expectation import Difference, line_of

    if isinstance(item, Difference):
        report.differences += 1
        report.differ(item)
        return
    report.problems += len(item.problems)
    report.tell(item)
    if stream is not None:
        stream.write(f"{line_of(item)}\n")


class _Report:
    """Takes verdicts and differences in packet order, and counts what is wrong."""

    def __init__(self) -> None:
        self.problems = 0
        self.differences = 0

    def tell(self, verdict: Verdict) -> None:
        """Take one record or fault."""

    def differ(self, difference: Difference) -> None:
        """Take one difference from what was expected."""

    def end(self, name: str, summary: Summary, expect: Path | None) -> None:
        """Say what there was in all."""


class _Text(_Report):
    """Lines as they come; with `whole` also of packets that are as they should be."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.whole = whole

    def tell(self, verdict: Verdict) -> None:
        """Print a line for a record or fault, and one for each problem."""
        where = "file   " if verdict.packet is None else f"{verdict.packet:>7}"
        if self.whole:
            size = "" if verdict.size is None else f", {_count(verdict.size, 'byte')}"
            end = "" if verdict.code is not None or verdict.problems else ", round-trips"
            click.echo(escaped(f"{where}  {verdict}{size}{end}"))
        for problem in verdict.problems:
            click.echo(escaped(f"packet {verdict.packet}: {verdict}: {problem}"))

    def differ(self, difference: Difference) -> None:
        """Print a difference."""
        click.echo(escaped(str(difference)))

    def end(self, name: str, summary: Summary, expect: Path | None) -> None:
        """Print what there was, and how it compares."""
        records, faults = summary.records.total(), summary.faults.total()
        told = f"{_count(summary.packets, 'packet')}: {_count(records, 'record')}, {_count(faults, 'fault')}"
        if summary.foreign:
            told += f", {summary.foreign} of another protocol"
        click.echo(escaped(f"{name}: {told}"))
        round_trips = "every record round-trips on both engines"
        click.echo(
            _count(self.problems, "round trip that fails", "round trips that fail")
            if self.problems
            else round_trips
        )
        if expect is not None:
            differs = _count(self.differences, "difference")
            told = f"{differs} from {expect}" if self.differences else f"as expected in {expect}"
            click.echo(escaped(told))


class _Json(_Report):
    """One document, kept until its end."""

    def __init__(self, compared: bool) -> None:
        super().__init__()
        self.verdicts: list[dict[str, Any]] = []
        self.found: list[dict[str, Any]] | None = [] if compared else None

    def tell(self, verdict: Verdict) -> None:
        """Keep a record or fault, without its fields."""
        found: dict[str, Any] = {"packet": verdict.packet, "record": verdict.label}
        if verdict.code is None:
            found["size"] = verdict.size
        else:
            found |= {"fault": verdict.code, "path": verdict.path, "byte": verdict.byte}
        self.verdicts.append(found | {"problems": list(verdict.problems)})

    def differ(self, difference: Difference) -> None:
        """Keep a difference."""
        assert self.found is not None
        fields = [{"path": path, "was": was, "now": now} for path, was, now in difference.fields]
        found = {"packet": difference.packet, "was": difference.was, "now": difference.now, "fields": fields}
        self.found.append(found)

    def end(self, name: str, summary: Summary, expect: Path | None) -> None:
        """Print the document."""
        document = {
            "capture": name,
            "packets": summary.packets,
            "foreign": summary.foreign,
            "records": dict(sorted(summary.records.items())),
            "faults": dict(sorted(summary.faults.items())),
            "verdicts": self.verdicts,
            "differences": self.found,
        }
        click.echo(json.dumps(document, indent=1))


def _count(number: int, unit: str, units: str | None = None) -> str:
    return f"{number} {unit if number == 1 else units or f'{unit}s'}"

"""The command line: arguments, files, progress, exit codes; nothing else.

Exit codes: 0 done; 1 faults under --strict, or findings of a check; 2 a wrong command or input that
cannot be read; 130 interrupted; 141 the reader of the output went away. Errors are one line.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from wirelock import __version__
from wirelock.errors import LockError, ProjectError, SchemaError, WirelockError

if TYPE_CHECKING:
    from wirelock.capture.decode import Selection, Summary
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Registry

FORMATS = ("table", "jsonl", "csv")
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "table", ".log": "table"}

protocols_option = click.option(
    "--protocols",
    metavar="MODULE:NAME",
    help="The Registry to use, in place of [tool.wirelock] in pyproject.toml.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="wirelock")
def command() -> None:
    """Versioned wire protocols: decode captures, show layouts, keep released bytes as they are."""


def main() -> NoReturn:
    """Run the command line and exit."""
    _open_streams()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        code = _run()
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = _say("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = 2
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "wirelock"
        code = _say(f"{error.format_message()} (see {where} --help)", 2)
    except click.ClickException as error:
        code = _say(error.format_message(), 2)
    except WirelockError as error:
        code = _say(_one_line(error), 2)
    except BrokenPipeError:
        code = 141
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        code = _say(f"{where}{error.strerror or error}", 2)
    _leave(code)


def _run() -> int:
    # Not click's own main: it takes a closed pipe for itself, and exits with 1.
    try:
        with command.make_context("wirelock", sys.argv[1:]) as context:
            code = command.invoke(context) or 0
    except click.exceptions.Exit as done:
        code = done.exit_code
    sys.stdout.flush()
    return int(code)


def _open_streams() -> None:
    """Give streams that were closed something to write to, and let every file name be printed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _say(text: str, code: int) -> int:
    with suppress(OSError):
        click.echo(f"wirelock: {text}", err=True)
    return code


def _leave(code: int) -> NoReturn:
    """Exit without another attempt to write to a pipe that is closed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _project(protocols: str | None) -> Project:
    from wirelock.schema.project import find_project

    return find_project(Path.cwd(), protocols)


def _find(registry: Registry, text: str) -> Any:
    try:
        return registry.find(text)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None


# -- decode --------------------------------------------------------------------------------------


@command.command()
@click.argument(
    "captures",
    metavar="CAPTURE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
)
@click.option(
    "--port",
    "ports",
    metavar="N",
    multiple=True,
    type=click.IntRange(0, 65535),
    help="Only datagrams from or to this UDP port; may be given more than once.",
)
@click.option(
    "--skip",
    metavar="BYTES",
    default=0,
    type=click.IntRange(0),
    help="Payload bytes before the first record.",
)
@click.option(
    "--as",
    "as_version",
    metavar="PROTOCOL[/vN]",
    help="What the payloads are, such as rotation/v1, in place of what their tag says.",
)
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
def decode(
    captures: tuple[Path, ...],
    ports: tuple[int, ...],
    skip: int,
    as_version: str | None,
    target: Path | None,
    form: str | None,
    fault_target: Path | None,
    strict: bool,
    protocols: str | None,
) -> int:
    """Decode captured packets (pcap, pcapng) into rows.

    Rows go to standard output or -o FILE; faults, with packet, place and reason, and a summary go to
    standard error. A CAPTURE of - is standard input.
    """
    from wirelock.capture.decode import Selection, Summary

    registry = _project(protocols).load()
    protocol, version = _find(registry, as_version) if as_version is not None else (None, None)
    if protocol is not None and version is None and not protocol.tag:
        versions = ", ".join(f"{protocol.name}/v{number}" for number in protocol.versions)
        raise click.UsageError(f"{protocol.name} has no tag: say which version, of {versions}")
    if protocol is None and not any(known.tag for known in registry):
        raise click.UsageError("no protocol of the registry has a tag: say what the payloads are with --as")
    for path in captures:
        if path.is_dir():
            raise click.UsageError(f"{path} is a directory: name its captures")
    _check_targets(captures, target, fault_target)
    selection = Selection(frozenset(ports), skip, protocol, version)
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
        name = "standard input" if str(path) == "-" else str(path)
        source = sys.stdin.buffer if str(path) == "-" else path
        with _progress(name, path, rows_to is stdout) as advance:
            # A bar moves aside for what is written to sys.stderr from now on, not for what was before.
            faults = to_file or sinks.fault_sink("table", sys.stderr)
            for item in decoding.decode(source, registry, selection, summary, name):
                if isinstance(item, decoding.Row):
                    rows.write(item)
                else:
                    faults.write(item)
                advance(summary.bytes)
    if target is None:
        stdout.flush()


@contextmanager
def _progress(name: str, path: Path, rows_on_stdout: bool) -> Iterator[Any]:
    """Show a bar on a terminal, unless rows are written to it."""
    if not sys.stderr.isatty() or (rows_on_stdout and sys.stdout.isatty()) or str(path) == "-":
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=path.stat().st_size)
        start: list[int] = []

        def advance(done: int) -> None:
            if not start:
                start.append(done)
            progress.update(task, completed=done - start[0])

        yield advance


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
    lines += [f"{count:>8}  {label} packets" for label, count in sorted(summary.other_traffic.items())]
    lines += [f"{count:>8}  fault {code}" for code, count in sorted(summary.faults.items())]
    if not summary.faults:
        lines.append("no faults")
    click.echo("\n".join(lines), err=True)


# -- show ----------------------------------------------------------------------------------------


@command.command()
@click.argument("what", metavar="[PROTOCOL[/vN]]", required=False)
@click.option("--source", is_flag=True, help="Print the Python code that the generated engine runs.")
@protocols_option
def show(what: str | None, source: bool, protocols: str | None) -> int:
    """Show the protocols, or one's fields with their places, rules and digest."""
    from wirelock.layout.describe import size_text

    registry = _project(protocols).load()
    if what is None:
        if source:
            raise click.UsageError("--source needs a PROTOCOL or PROTOCOL/vN")
        for protocol in registry:
            for version in protocol.versions:
                layout = protocol.layout(version)
                click.echo(f"{protocol.name}/v{version}  {size_text(layout.size)}  {layout.doc}".rstrip())
        return 0
    protocol, version = _find(registry, what)
    for number in protocol.versions if version is None else (version,):
        if source:
            from wirelock.schema.record import source_of

            click.echo(source_of(protocol.versions[number]))
        else:
            _show_version(protocol, number)
    return 0


def _show_version(protocol: Any, version: int) -> None:
    from wirelock.layout.describe import describe, expression_text, size_text
    from wirelock.layout.nodes import layouts_in

    layout = protocol.layout(version)
    click.echo(f"{protocol.name}/v{version}: {layout.name}, {size_text(layout.size)}")
    if layout.doc:
        click.echo(layout.doc)
    click.echo(f"digest {protocol.digest(version)}")
    if protocol.tag:
        click.echo(f"tag {', '.join(protocol.tag)}")
    rows = [(f"{'  ' * row.depth}{row.name}", row.place, row.type, row.doc) for row in describe(layout)]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    widths[2] = min(widths[2], 44)
    for name, place, kind, doc in rows:
        line = f"  {name:<{widths[0]}}  {place:<{widths[1]}}  {kind:<{widths[2]}}"
        if doc and len(kind) > widths[2]:
            click.echo(line.rstrip())
            line = " " * (sum(widths) + 6)
        click.echo(f"{line}  {doc}".rstrip())

    def rules(inside: Any) -> None:
        for rule in inside.rules:
            click.echo(f"  rule {rule.name} of {inside.name}: {rule.message}".rstrip(": "))
            click.echo(f"    {expression_text(rule.expression)}")
        for item in inside.fields:
            for inner in layouts_in(item.type):
                rules(inner)

    rules(layout)
    click.echo()


# -- lock ----------------------------------------------------------------------------------------


def _golden_hashes(project: Project, registry: Registry) -> Any:
    from wirelock.golden.vectors import golden_hashes

    return golden_hashes(project.fixtures, registry)


@command.command()
@protocols_option
def lock(protocols: str | None) -> int:
    """Write the lock: layouts, digests and golden cases of every version, released from now on.

    What is locked already is never changed: any drift is printed as `check` prints it, nothing is
    written, and the exit code is 1.
    """
    from wirelock.lock import lockfile

    project = _project(protocols)
    registry = project.load()
    old = lockfile.read_lock(project.lock) if project.lock.exists() else lockfile.Lock()
    try:
        new = lockfile.updated(old, registry, _golden_hashes(project, registry))
    except lockfile.ReleasedError as refused:
        for finding in refused.findings:
            click.echo(str(finding))
        click.echo("wirelock: released versions never change: release a new version instead", err=True)
        return 1
    lockfile.write_lock(project.lock, new)
    click.echo(lockfile.summary(old, new, project.lock))
    for (name, version), entry in new.entries.items():
        if not entry.golden and (name, version) not in old.entries:
            click.echo(f"wirelock: warning: {name} v{version} has no golden case", err=True)
    return 0


@command.command()
@protocols_option
def check(protocols: str | None) -> int:
    """Compare protocols and golden files with the lock; exit with 1 on any drift."""
    from wirelock.lock import lockfile

    project = _project(protocols)
    if not project.lock.exists():
        raise LockError(f"there is no {project.lock}: write it with `wirelock lock`")
    locked = lockfile.read_lock(project.lock)
    try:
        registry = project.load()
    except (SchemaError, ProjectError) as error:
        findings = lockfile.unloadable(locked, error)
    else:
        findings = lockfile.check(locked, registry, _golden_hashes(project, registry))
    for finding in findings:
        click.echo(str(finding))
    if not findings:
        click.echo(f"{project.lock}: no drift")
    return 1 if findings else 0

"""Where `wirelock decode` writes: the forms of rows and faults, their files, and the options about them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from wirelock.capture.decode import Selection
    from wirelock.capture.outputs import Outputs
    from wirelock.capture.sinks import FaultSink, RowSink
    from wirelock.schema.registry import Protocol, Registry

__all__ = [
    "FORMATS", "Shaping", "allow_option", "check_targets", "derived_option", "explode_option", "fault_sink",
    "files_written", "format_of", "row_sink", "shaping_of", "version_option",
]  # fmt: skip

FORMATS: Final = ("table", "jsonl", "csv", "parquet", "arrow")
_BINARY: Final = ("parquet", "arrow")
_SUFFIXES: Final = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "table", ".log": "table",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
}  # fmt: skip
_INSTALL: Final = "Parquet and Arrow files want pyarrow: pip install 'wirelock[tables]'"

version_option = click.option(
    "--as-version",
    "wanted",
    metavar="N|latest",
    help="Bring all records to one version of their protocol, by its migrations.",
)
allow_option = click.option(
    "--allow",
    metavar="FIELD",
    multiple=True,
    help="What --as-version may lose on the way; may be given more than once.",
)
explode_option = click.option(
    "--explode",
    "array",
    metavar="FIELD",
    help="A flat row for each element of an array, such as entities, body.joints or entities[].items.",
)
derived_option = click.option(
    "--derived",
    is_flag=True,
    help="The columns that records declare too, such as quaternions; of Parquet and Arrow.",
)


@dataclass(frozen=True, slots=True)
class Shaping:
    """What rows become.

    `versions` has the version to which all records of a protocol are brought, None to leave them as they
    are; `allow` what may be lost on the way; `lists` the names of the arrays that are taken apart. `shapes`
    are the versions of protocols that can come out. `derived`: with the columns that records declare.
    """

    shapes: tuple[tuple[Protocol, int], ...]
    versions: dict[str, int] | None = None
    allow: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    derived: bool = False

    def keeps(self, protocol: Protocol, version: int) -> bool:
        """Whether records of a version stay what they are."""
        return self.versions is None or self.versions.get(protocol.name, version) == version


def shaping_of(
    registry: Registry,
    selection: Selection,
    wanted: str | None,
    allow: tuple[str, ...],
    array: str | None,
    derived: bool,
) -> Shaping:
    """Return what the options ask for. Raises click.UsageError for what no protocol has."""
    from wirelock.capture.explode import arrays_in, lists_on

    if allow and wanted is None:
        raise click.UsageError("--allow says what --as-version may lose: give that too")
    protocols = [selection.protocol] if selection.protocol else [known for known in registry if known.tag]
    versions = None if wanted is None else {known.name: _version(known, wanted) for known in protocols}
    shapes: list[tuple[Protocol, int]] = []
    for protocol in protocols:
        if versions is not None:
            shapes.append((protocol, versions[protocol.name]))
        elif selection.version is not None:
            shapes.append((protocol, selection.version))
        else:
            shapes += [(protocol, version) for version in protocol.versions]
    arrays = dict.fromkeys(
        path for protocol, version in shapes for path in arrays_in(protocol.layout(version))
    )
    if array is not None and array not in arrays:
        known = f"there are {', '.join(arrays)}" if arrays else "there are none"
        raise click.UsageError(f"no record has an array {array!r}: {known}")
    return Shaping(tuple(shapes), versions, allow, () if array is None else lists_on(array), derived)


def _version(protocol: Protocol, wanted: str) -> int:
    if wanted == "latest":
        return max(protocol.versions)
    for version in protocol.versions:
        if wanted in (str(version), f"v{version}"):
            return version
    versions = ", ".join(map(str, protocol.versions))
    raise click.UsageError(f"{protocol.name} has no version {wanted!r}: there are {versions}, latest")


# -- forms and files


def format_of(path: Path | None, otherwise: str) -> str:
    """Return the form that a file's name says. Raises click.UsageError for an ending that is not known."""
    suffix = path.suffix.lower() if path else ""
    known = {**_SUFFIXES, "": otherwise}
    if suffix not in known and not (path and path.exists() and not path.is_file()):
        raise click.UsageError(
            f"{path} is of no known format: name it .parquet, .arrow, .jsonl, .csv or .txt, or say --format"
        )
    return known.get(suffix, otherwise)


def check_targets(
    captures: tuple[Path, ...], target: Path | None, form: str, shaping: Shaping, fault_target: Path | None
) -> None:
    """Refuse to write over a capture that is read, rows and faults into one file, and rows without a place.

    Raises click.UsageError.
    """
    rows_to = [] if target is None else [target]
    if shaping.derived:
        _check_derived(shaping, form)
    if form in _BINARY:
        if target is None:
            raise click.UsageError(f"{form} goes into files: give -o FILE")
        if len(shaping.shapes) > 1:
            if target.exists() and not target.is_file():
                raise click.UsageError(
                    f"{target} can take one table only: give a file, or --as PROTOCOL with --as-version"
                )
            rows_to = list(map(_namer(target, shaping), shaping.shapes))
    elif form == "table" and shaping.lists:
        raise click.UsageError("--explode makes rows for programs: say --format, or name a file with -o")
    faults_to = [fault_target] if fault_target is not None and str(fault_target) != "-" else []
    for path in (*rows_to, *faults_to):
        if path.is_file() and any(other.is_file() and path.samefile(other) for other in captures):
            raise click.UsageError(f"{path} is one of the captures: write to another file")
    for path in rows_to:
        special = path.exists() and not path.is_file()
        if faults_to and _same(path, faults_to[0]) and not special:
            raise click.UsageError(f"{path} cannot take both rows and faults: give two files")


def _check_derived(shaping: Shaping, form: str) -> None:
    """Refuse derived columns where none can be. Raises click.UsageError, ClickException without the extra."""
    from wirelock.schema.columns import declares_columns
    from wirelock.schema.record import wire_of

    if form not in _BINARY:
        raise click.UsageError("--derived makes columns of Parquet and Arrow: give -o FILE.parquet or .arrow")
    shapes = shaping.shapes
    declaring = [it for it in shapes if declares_columns(wire_of(it[0].versions[it[1]]))]
    if not declaring:
        names = ", ".join(dict.fromkeys(protocol.name for protocol, _ in shapes))
        raise click.UsageError(f"--derived: no record of {names} declares columns with @columns")
    tables = _tables()
    try:
        for protocol, version in declaring:  # their functions are tried before anything is written
            tables.row_schema(protocol, version, many_files=False, upgraded=False, derived=True)
    except ImportError as problem:
        raise click.ClickException(str(problem)) from None


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def _namer(target: Path, shaping: Shaping) -> Callable[[tuple[Protocol, int]], Path]:
    """Return what names the file of a shape: FILE where only one can come out, else FILE.snapshot-v2."""
    if len(shaping.shapes) == 1:
        return lambda shape: target
    return lambda shape: target.with_name(f"{target.stem}.{shape[0].name}-v{shape[1]}{target.suffix}")


def row_sink(
    stack: ExitStack,
    files: Outputs,
    target: Path | None,
    form: str,
    registry: Registry,
    shaping: Shaping,
    many_files: bool,
) -> RowSink:
    """Return what takes rows, in `files`; tables are complete when the stack ends without an exception."""
    from wirelock.capture import sinks

    if form in _BINARY:
        assert target is not None
        tables = _tables()
        one = shaping.shapes[0] if len(shaping.shapes) == 1 else None
        return stack.enter_context(  # type: ignore[no-any-return]
            tables.RowTables(
                _namer(target, shaping),
                files.binary,
                form,
                many_files=many_files,
                upgraded=shaping.versions is not None,
                lists=shaping.lists,
                derived=shaping.derived,
                always=one,
            )
        )
    stdout = sys.stdout
    stream = stdout if target is None else files.text(target)
    if target is None and form != "table":  # for programs: the same bytes whatever the locale
        stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    width = os.get_terminal_size(stdout.fileno()).columns if target is None and stdout.isatty() else None
    return sinks.row_sink(
        form, stream, registry, width or None, many_files, versions=shaping.versions, lists=shaping.lists
    )


def fault_sink(stack: ExitStack, files: Outputs, target: Path | None) -> FaultSink | None:
    """Return what takes faults, in the form that the file's name says; None for standard error."""
    from wirelock.capture import sinks

    if target is None:
        return None
    form = _SUFFIXES.get(target.suffix.lower(), "table")
    if form in _BINARY:
        return stack.enter_context(_tables().FaultTable(files.binary(target), form))  # type: ignore[no-any-return]
    text = sys.stdout if str(target) == "-" else files.text(target)
    return sinks.fault_sink(form, text)


def files_written(target: Path | None, form: str, shaping: Shaping, rows: Any) -> list[str]:
    """Return a line for each table: how many rows it has, and which files there are of an earlier run.

    Where no record came there may be no file at all, which is said too.
    """
    if form not in _BINARY or target is None:
        return []
    lines = [f"{count:>8}  rows in {path}" for path, count in sorted(rows.written.items())]
    if not lines:
        lines = [f"{0:>8}  rows, so no file was written: there is one for each version that occurs"]
    others = [path for path in map(_namer(target, shaping), shaping.shapes) if path not in rows.written]
    return lines + [f"{'':>8}  left from an earlier run: {path}" for path in others if path.is_file()]


def _tables() -> Any:
    try:
        from wirelock.capture.arrow import tables
    except ImportError as problem:
        if (problem.name or "").partition(".")[0] != "pyarrow":
            raise
        raise click.ClickException(_INSTALL) from None
    return tables

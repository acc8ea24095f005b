"""`wirelock golden`: golden cases added, listed, linted and run, without pytest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wirelock.cli.golden_add import add
from wirelock.cli.options import find, project_of, protocols_option, shown_path
from wirelock.errors import GoldenError
from wirelock.shown import escaped

if TYPE_CHECKING:
    from wirelock.golden.vectors import GoldenFile, Vector
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Protocol, Registry

_what = click.argument("what", metavar="[PROTOCOL[/vN]]", required=False)


@click.command("list")
@_what
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="Of the list.")
@protocols_option
def list_(what: str | None, form: str, protocols: str | None) -> int:
    """List the cases and poses of all golden files, or of those of one protocol or version."""
    project = project_of(protocols)
    registry = project.load()
    rows = []
    for path in _paths(project, registry, what):
        file, _ = _load(path, project, registry)
        rows += [_row(file, vector) for vector in file.vectors]
    if form == "json":
        click.echo(json.dumps(rows, indent=1))
        return 0
    for line in _table(rows):
        click.echo(escaped(line))
    return 0


@click.command("lint")
@_what
@protocols_option
def lint(what: str | None, protocols: str | None) -> int:
    """Find what is wrong with golden files as wholes, without running them; exit with 1 on any finding."""
    from wirelock.golden import run
    from wirelock.golden.vectors import golden_path

    project = project_of(protocols)
    registry = project.load()
    paths = list(_paths(project, registry, what))
    found = 0
    for path in paths:
        try:
            problems = run.lint(*_load(path, project, registry))
        except GoldenError as error:
            problems = [str(error).removeprefix(f"{shown_path(path)}: ")]
        for problem in problems:
            click.echo(escaped(f"{shown_path(path)}: {problem}"))
        found += len(problems)
    for protocol, version in _versions(registry, what):
        path = golden_path(project.fixtures, protocol.name, version)
        if not path.exists():
            found += 1
            told = f"write the first case with `wirelock golden add {protocol.name}/v{version}`"
            click.echo(f"{shown_path(path)}: there is no such file: {told}")
    if not found:
        click.echo(f"{_count(len(paths), 'golden file')}, nothing to complain of")
    return 1 if found else 0


@click.command("check")
@_what
@protocols_option
def check(what: str | None, protocols: str | None) -> int:
    """Run every case and pose on every engine, as pytest does; exit with 1 if one does not hold."""
    project = project_of(protocols)
    registry = project.load()
    paths = list(_paths(project, registry, what))
    failed = total = 0
    for path in paths:
        try:
            file, protocol = _load(path, project, registry)
        except GoldenError as error:
            click.echo(escaped(str(error)))
            failed += 1
            continue
        total += len(file.vectors)
        for lines in _failures(path, file, protocol):
            failed += 1
            click.echo("\n".join(map(escaped, lines)))
    if failed:
        click.echo(_count(failed, "failure"))
        return 1
    if not paths:
        click.echo("there is no golden file: nothing was checked")
        return 1
    click.echo(f"{_count(len(paths), 'golden file')}, {total} cases and poses: all hold on every engine")
    return 0


@click.group("golden", commands=(add, check, lint, list_))
def command() -> None:
    """Golden cases: bytes and records that every client must agree on."""


def _failures(path: Path, file: GoldenFile, protocol: Protocol) -> Iterator[list[str]]:
    """Yield the lines to print for each thing in a golden file that does not hold."""
    from wirelock.golden import run
    from wirelock.golden.report import failure, line_of

    name, text = shown_path(path), path.read_text("utf-8")
    for problem in run.digest_problem(file, protocol):
        yield [f"{name}: {problem}"]
    if not file.vectors:
        yield [f"{name}: the file has no cases"]
    vectors: tuple[Vector, ...] = file.vectors
    if file.poses:
        try:
            run.check_poses(protocol, file.version)
        except GoldenError as error:
            yield [f"{name}: {error}"]
            vectors = file.cases
    for vector in vectors:
        found = failure(protocol, file.version, vector)
        if found is not None:
            head = f"{name}:{line_of(text, vector.id)}: {vector.id}: {found.reason}"
            yield [head, *found.detail, ""]


# -- which files


def _versions(registry: Registry, what: str | None) -> list[tuple[Protocol, int]]:
    if what is None:
        return [(protocol, version) for protocol in registry for version in protocol.versions]
    protocol, version = find(registry, what)
    return [(protocol, version) for version in (protocol.versions if version is None else [version])]


def _paths(project: Project, registry: Registry, what: str | None) -> Iterator[Path]:
    """Yield the golden files of one protocol or version, or all that there are, wherever they lie."""
    from wirelock.golden.files import golden_files
    from wirelock.golden.vectors import golden_path

    if what is None:
        yield from golden_files(project.fixtures, lambda: registry)
        return
    for protocol, version in _versions(registry, what):
        path = golden_path(project.fixtures, protocol.name, version)
        if path.exists():
            yield path


def _load(path: Path, project: Project, registry: Registry) -> tuple[GoldenFile, Protocol]:
    """Return a golden file and its protocol. Raises GoldenError with the file's name in front."""
    from wirelock.golden.files import load

    name = shown_path(path)
    try:
        return load(path, project.fixtures, lambda: registry, name)
    except GoldenError as error:
        raise GoldenError(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None


# -- what a list says


def _row(file: GoldenFile, vector: Vector) -> dict[str, Any]:
    """Return what a list says of one vector."""
    from wirelock.golden.vectors import Case

    found: dict[str, Any] = {"protocol": file.protocol, "version": file.version, "id": vector.id}
    if isinstance(vector, Case):
        code, promises, kind = vector.error and vector.error.code, list(vector.promises), "case"
    else:
        code, promises, kind = vector.code, [], vector.direction
    return found | {
        "kind": kind,
        "result": "valid" if code is None else "invalid",
        "code": code,
        "source": vector.source,
        "promises": promises,
        "flags": list(vector.flags),
        "size": None if vector.data is None else len(vector.data),
    }


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    cells = [
        [
            f"{row['protocol']}/v{row['version']}",
            row["id"],
            row["result"] if row["code"] is None else row["code"],
            row["source"],
            ", ".join(row["promises"]) or ("refused" if row["kind"] == "case" else f"{row['kind']} pose"),
            "-" if row["size"] is None else _count(row["size"], "byte"),
        ]
        for row in rows
    ]
    titles = ["version", "id", "result", "source", "promises", "size"]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    for line in [titles, *cells] if cells else []:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"

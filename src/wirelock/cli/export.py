"""`wirelock export`: codecs in other languages, written whole or not at all, or only compared.

Files that are as they would be written are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wirelock.cli.options import project_of, protocols_option, shown_path
from wirelock.errors import ProjectError
from wirelock.export import TARGETS, Target

if TYPE_CHECKING:
    from wirelock.schema.registry import Protocol, Registry


@click.command("export")
@click.argument("target", type=click.Choice(TARGETS))
@click.argument("names", metavar="[PROTOCOL]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder to write to; it is made where it is not there.",
)
@click.option(
    "--name",
    default="protocols",
    show_default=True,
    help="Of the header (C), the namespace (C#) or the module (TypeScript).",
)
@click.option("--with-tests", "tests", is_flag=True, help="With a program that runs golden files, as TAP.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where what is in DIR differs.")
@protocols_option
def command(
    target: Target,
    names: tuple[str, ...],
    folder: Path,
    name: str,
    tests: bool,
    check: bool,
    protocols: str | None,
) -> int:
    """Write a codec for all versions of the PROTOCOLs (all of the project's, if none is named).

    It gives the same bytes and the same verdicts as wirelock; --with-tests proves it on the golden files.
    """
    from wirelock.export.targets import export

    registry = project_of(protocols).load()
    wanted = _named(registry, names)
    try:
        files = export(wanted, target, name=name, tests=tests)
    except ValueError as problem:
        raise click.UsageError(f"--name: {problem}") from None
    texts = {folder / path: text for path, text in files.items()}
    left_over = [path for path in _ours(folder, name) if path not in texts]
    if check:
        return _compare(texts, left_over)
    _write(texts, name)
    for path in left_over:
        click.echo(f"{shown_path(path)} is of an earlier export, and no longer of this one", err=True)
    return 0


def _named(registry: Registry, names: tuple[str, ...]) -> list[Protocol]:
    found = []
    for name in dict.fromkeys(names):
        try:
            found.append(registry[name])
        except KeyError as error:
            raise click.UsageError(str(error.args[0])) from None
    return found or [*registry]


def _owner(path: Path) -> str | None:
    """Return the mark of the export that has written a file; None for a file of another hand."""
    from wirelock.export.targets import MARK

    with path.open(encoding="utf-8-sig", errors="replace") as file:
        found = re.search(rf"{MARK}( as [\w-]+)?", file.readline(200))
    return found and found[0]


def _ours(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files of a folder that an export of that name has written, and what only it can use."""
    from wirelock.export.targets import MARK

    files = [path for path in sorted(folder.rglob("*")) if path.is_file()] if folder.is_dir() else []
    owners = {path: _owner(path) for path in files if len(path.relative_to(folder).parts) <= 2}
    others = {owner for owner in owners.values() if owner} - {MARK, f"{MARK} as {name}"}
    for path, owner in owners.items():
        if owner == f"{MARK} as {name}" or (owner == MARK and not others):
            yield path


def _compare(texts: dict[Path, str], left_over: list[Path]) -> int:
    found = {path: _difference(path, text) for path, text in texts.items()}
    found |= dict.fromkeys(left_over, "is no longer exported")
    for path, problem in found.items():
        if problem:
            click.echo(f"{shown_path(path)} {problem}")
    return int(any(found.values()))


def _difference(path: Path, text: str) -> str:
    try:
        # As git and editors leave it on Windows.
        there = path.read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    except FileNotFoundError:
        return "is missing"
    if there == text.encode():
        return ""
    old, new = there.decode("utf-8", "replace").splitlines(), text.splitlines()
    pairs = enumerate(zip(old, new, strict=False), 1)
    line = next((number for number, (a, b) in pairs if a != b), min(len(old), len(new)) + 1)
    return f"differs from line {line} on: export it again"


def _write(texts: dict[Path, str], name: str) -> None:
    """Write what is not there yet, all of it or nothing."""
    from wirelock.export.targets import MARK
    from wirelock.whole import replacing

    changed = {path: text for path, text in texts.items() if _difference(path, text)}
    for path in changed:
        there = _owner(path) if path.exists() and path.stat().st_size else MARK
        if there is None:
            raise ProjectError(f"{path} is no file of an export: move it away, or choose another folder")
        if there not in (MARK, f"{MARK} as {name}"):
            raise ProjectError(f"{path} is of an export with another --name: choose another folder")
    with ExitStack() as stack:
        for path, text in changed.items():
            stack.enter_context(replacing(path, ProjectError, make_folder=True)).write(text)
    for path in texts:
        click.echo(f"{'wrote' if path in changed else 'unchanged'} {shown_path(path)}")

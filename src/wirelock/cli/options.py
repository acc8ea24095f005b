"""What commands share: options, and how they find the project, a protocol and the packets to read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from wirelock.shown import escaped, file_text

if TYPE_CHECKING:
    from wirelock.capture.decode import Selection
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Protocol, Registry


def one_standard_input(context: object, option: object, captures: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return captures as they were named. Raises click.UsageError where - is among them twice."""
    if [str(path) for path in captures].count("-") > 1:
        raise click.UsageError("only one of the captures can be standard input")
    return captures


captures_argument = click.argument(
    "captures",
    metavar="CAPTURE...",
    nargs=-1,
    required=True,
    callback=one_standard_input,
    type=click.Path(path_type=Path, allow_dash=True),
)
protocols_option = click.option(
    "--protocols",
    metavar="MODULE:NAME",
    help="The Registry to use, in place of [tool.wirelock] in pyproject.toml.",
)

port_option = click.option(
    "--port",
    "ports",
    metavar="N",
    multiple=True,
    type=click.IntRange(0, 65535),
    help="Only datagrams from or to this UDP port; may be given more than once.",
)
skip_option = click.option(
    "--skip",
    metavar="BYTES",
    default=0,
    type=click.IntRange(0),
    help="Payload bytes before the first record.",
)
tunnels_option = click.option(
    "--tunnels", is_flag=True, help="Read the datagrams inside of IP in IP, GRE, VXLAN and GTP-U."
)
format_option = click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", help="Of what is printed."
)
as_option = click.option(
    "--as",
    "as_version",
    metavar="PROTOCOL[/vN]",
    help="What the payloads are, such as rotation/v1, in place of what their tag says.",
)


def selection_of(
    registry: Registry, as_version: str | None, ports: tuple[int, ...], skip: int, tunnels: bool
) -> Selection:
    """Return which datagrams the four options choose, and as what. Raises click.UsageError."""
    from wirelock.capture.decode import Selection

    protocol, version = find_readable(registry, as_version) if as_version is not None else (None, None)
    if protocol is None and not any(known.tag for known in registry):
        raise click.UsageError("no protocol of the registry has a tag: say what the payloads are with --as")
    return Selection(frozenset(ports), skip, protocol, version, tunnels)


def refuse_folders(captures: tuple[Path, ...]) -> None:
    """Raise click.UsageError for a folder where a capture is wanted."""
    for path in captures:
        if path.is_dir():
            raise click.UsageError(f"{path} is a directory: name its captures")


def opened(capture: Path) -> tuple[Path | BinaryIO, str]:
    """Return what to read a capture from, standard input for -, and what to call it."""
    if str(capture) == "-":
        return sys.stdin.buffer, "standard input"
    return capture, file_text(str(capture))


def project_of(protocols: str | None) -> Project:
    """Return the project of the working directory. Raises ProjectError."""
    from wirelock.schema.project import find_project

    return find_project(Path.cwd(), protocols)


def shown_path(path: Path) -> str:
    """Return a path as a person in the working directory would write it."""
    return escaped(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def find(registry: Registry, text: str) -> tuple[Protocol, int | None]:
    """Return what `rotation` or `rotation/v1` names. Raises click.UsageError with what there is."""
    try:
        return registry.find(text)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None


def find_readable(registry: Registry, text: str) -> tuple[Protocol, int | None]:
    """Return what to read bytes as: a version, or a protocol whose tag says which."""
    protocol, version = find(registry, text)
    if version is None and not protocol.tag:
        versions = ", ".join(f"{protocol.name}/v{number}" for number in protocol.versions)
        raise click.UsageError(f"{protocol.name} has no tag: say which version, of {versions}")
    return protocol, version

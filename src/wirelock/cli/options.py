"""What commands share: the option that names a registry, and how they find the project and a protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Protocol, Registry

protocols_option = click.option(
    "--protocols",
    metavar="MODULE:NAME",
    help="The Registry to use, in place of [tool.wirelock] in pyproject.toml.",
)


def project_of(protocols: str | None) -> Project:
    """Return the project of the working directory. Raises ProjectError."""
    from wirelock.schema.project import find_project

    return find_project(Path.cwd(), protocols)


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

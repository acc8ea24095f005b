"""`wirelock init` and `wirelock new-version`: a project from nothing, and the draft of a next version."""

from __future__ import annotations

from pathlib import Path

import click

from wirelock.cli.options import find, project_of, protocols_option


@click.command("init")
@click.argument("folder", metavar="NAME", type=click.Path(path_type=Path))
def init(folder: Path) -> int:
    """Write a new project into the folder NAME: one protocol of that name, its tests and golden vectors.

    Its tests pass at once. Nothing that is there is overwritten.
    """
    from wirelock.scaffold.project import create

    if folder.name in ("", ".", ".."):
        raise click.UsageError("name the folder, which names the protocol: wirelock init game")
    folder = folder if folder.is_absolute() else Path.cwd() / folder
    for path in create(folder, folder.name):
        click.echo(f"wrote {path.relative_to(folder.parent)}")
    click.echo(f"next: cd {folder.name} && python -m pytest; change protocol/, then `wirelock release`")
    return 0


@click.command("new-version")
@click.argument("name", metavar="PROTOCOL")
@protocols_option
def new_version(name: str, protocols: str | None) -> int:
    """Write the draft of a protocol's next version: the newest one under the next number.

    With it comes a migration to fill in, unless the protocol has a file of migrations. Until it is released
    a draft may change as often as it likes.
    """
    from wirelock.scaffold.version import draft

    project = project_of(protocols)
    protocol, version = find(project.load(), name)
    if version is not None:
        raise click.UsageError(f"name the protocol alone: {protocol.name}")
    made = draft(project, protocol)
    here = Path.cwd()
    for path, new in made.files:
        shown = path.relative_to(here) if path.is_relative_to(here) else path
        click.echo(f"{'wrote' if new else 'changed'} {shown}")
    label = f"{protocol.name}/v{made.version}"
    old = max(protocol.versions)
    before = f"{protocol.name}/v{old}"
    steps = [
        f"change the layout: `wirelock show {label}` shows it,"
        f" `wirelock diff {before} {label}` what it breaks",
        f"fill in Migration({old}, {made.version}) and name what is lost",
        f"add golden cases: `wirelock golden add {label} --hex ...`",
        f"`wirelock release {label}`",
    ]
    click.echo("next:")
    for number, step in enumerate(steps, 1):
        click.echo(f"  {number}. {step}")
    return 0

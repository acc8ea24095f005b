"""`wirelock lock` and `wirelock check`: keep what was released, and tell what has drifted since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from wirelock.cli.options import project_of, protocols_option
from wirelock.errors import LockError, ProjectError, SchemaError

if TYPE_CHECKING:
    from wirelock.lock.lockfile import Lock, ReleasedError
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Registry


def golden_hashes_of(project: Project, registry: Registry) -> Any:
    """Return the hashes of all golden cases of a project."""
    from wirelock.golden.vectors import golden_hashes

    return golden_hashes(project.fixtures, registry)


def lock_of(project: Project) -> Lock:
    """Return a project's lock; an empty one where there is none yet."""
    from wirelock.lock.lockfile import Lock, read_lock

    return read_lock(project.lock) if project.lock.exists() else Lock()


def print_refusal(refused: ReleasedError) -> int:
    """Print changes to what was released. Returns the exit code."""
    for finding in refused.findings:
        click.echo(str(finding))
    click.echo("wirelock: released versions never change: release a new version instead", err=True)
    return 1


@click.command()
@protocols_option
def lock(protocols: str | None) -> int:
    """Take golden cases that were added to released versions into the lock.

    From then on they cannot change either. Drafts are named, and stay drafts until `wirelock release`. What
    is locked already is never changed: any drift is printed as `check` prints it, nothing is written, and the
    exit code is 1.
    """
    from wirelock.lock import lockfile

    project = project_of(protocols)
    registry = project.load()
    old = lock_of(project)
    try:
        new = lockfile.updated(old, registry, golden_hashes_of(project, registry), release=())
    except lockfile.ReleasedError as refused:
        return print_refusal(refused)
    if new != old:
        lockfile.write_lock(project.lock, new)
    click.echo(lockfile.summary(old, new, project.lock))
    for protocol, version in lockfile.drafts(new, registry):
        name = f"{protocol.name}/v{version}"
        click.echo(f"{protocol.label(version)}: draft; `wirelock release {name}` releases it")
    return 0


@click.command()
@protocols_option
def check(protocols: str | None) -> int:
    """Compare protocols and golden files with the lock; exit with 1 on any drift."""
    from wirelock.lock import lockfile

    project = project_of(protocols)
    if not project.lock.exists():
        raise LockError(f"there is no {project.lock}: `wirelock release` writes it")
    locked = lockfile.read_lock(project.lock)
    try:
        registry = project.load()
    except (SchemaError, ProjectError) as error:
        findings = lockfile.unloadable(locked, error)
    else:
        findings = lockfile.check(locked, registry, golden_hashes_of(project, registry))
    for finding in findings:
        click.echo(str(finding))
    if not findings:
        click.echo(f"{project.lock}: no drift")
    return 1 if findings else 0

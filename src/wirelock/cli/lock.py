"""`wirelock lock` and `wirelock check`: release what is new, and tell what has drifted since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from wirelock.cli.options import project_of, protocols_option
from wirelock.errors import LockError, ProjectError, SchemaError

if TYPE_CHECKING:
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Registry


def _golden_hashes(project: Project, registry: Registry) -> Any:
    from wirelock.golden.vectors import golden_hashes

    return golden_hashes(project.fixtures, registry)


@click.command()
@protocols_option
def lock(protocols: str | None) -> int:
    """Write the lock: layouts, digests and golden cases of every version, released from now on.

    What is locked already is never changed: any drift is printed as `check` prints it, nothing is
    written, and the exit code is 1.
    """
    from wirelock.lock import lockfile

    project = project_of(protocols)
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


@click.command()
@protocols_option
def check(protocols: str | None) -> int:
    """Compare protocols and golden files with the lock; exit with 1 on any drift."""
    from wirelock.lock import lockfile

    project = project_of(protocols)
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

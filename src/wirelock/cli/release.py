"""`wirelock release` and `wirelock retire`: the two changes that a version's status can take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from wirelock.cli.lock import golden_hashes_of, lock_of, print_refusal
from wirelock.cli.options import find, project_of, protocols_option
from wirelock.errors import LockError

if TYPE_CHECKING:
    from wirelock.lock.lockfile import Lock
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Protocol, Registry


@click.command("release")
@click.argument("names", metavar="[PROTOCOL/vN]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Release every draft.")
@click.option("--dry-run", is_flag=True, help="Check and show, but write nothing.")
@protocols_option
def release(names: tuple[str, ...], everything: bool, dry_run: bool, protocols: str | None) -> int:
    """Check drafts, show what they change, and lock them: from then on they never change.

    A draft needs golden cases, valid and invalid, that hold on every engine, and migrations that keep what
    they say. What is missing is printed, a line each, nothing is written, and the exit code is 1.
    """
    from wirelock.lock import lockfile

    project = project_of(protocols)
    registry, old = project.load(), lock_of(project)
    if bool(names) is everything:
        raise click.UsageError("name the versions to release, such as rotation/v3, or say --all")
    drafts = lockfile.drafts(old, registry)
    chosen = drafts if everything else [_draft(registry, old, name) for name in dict.fromkeys(names)]
    if not chosen:
        click.echo("there is no draft: all versions are released")
        return 0
    keys = {(protocol.name, version) for protocol, version in chosen}
    try:
        new = lockfile.updated(old, registry, golden_hashes_of(project, registry), release=keys)
    except lockfile.ReleasedError as refused:
        return print_refusal(refused)
    missing = [line for protocol, version in chosen for line in _missing(project, protocol, version)]
    for protocol, version in chosen:
        for line in _changes(protocol, version):
            click.echo(line)
    for line in missing:
        click.echo(line)
    if missing:
        click.echo("wirelock: not released: mend what is listed, or leave the version a draft", err=True)
        return 1
    if dry_run:
        click.echo(f"would release {', '.join(protocol.label(version) for protocol, version in chosen)}")
        return 0
    lockfile.write_lock(project.lock, new)
    click.echo(lockfile.summary(old, new, project.lock))
    return 0


def _draft(registry: Registry, lock: Lock, name: str) -> tuple[Protocol, int]:
    protocol, version = find(registry, name)
    if version is None:
        versions = ", ".join(f"{protocol.name}/v{number}" for number in protocol.versions)
        raise click.UsageError(f"which version of {protocol.name}? there are {versions}")
    entry = lock.entries.get((protocol.name, version))
    if entry is not None:
        status = "retired" if entry.retired else "released already"
        raise click.UsageError(f"{protocol.label(version)} is {status}")
    return protocol, version


def _missing(project: Project, protocol: Protocol, version: int) -> Iterator[str]:
    """Yield what keeps a draft from being released."""
    from wirelock.golden.run import ENGINES, lint, run
    from wirelock.golden.samples import records_of
    from wirelock.golden.vectors import golden_path, read_version
    from wirelock.schema.migration import broken_laws

    label = protocol.label(version)
    file = read_version(project.fixtures, protocol.name, version)
    if file is None:
        path = golden_path(project.fixtures, protocol.name, version)
        yield f"{label}: there are no golden cases: {path} is missing; `wirelock golden add` writes it"
        return
    for problem in lint(file, protocol):
        yield f"{label}: {problem}"
    for vector in file.vectors:
        for engine in ENGINES:
            mismatch = run(protocol, version, vector, engine)
            if mismatch is not None:
                yield f"{label}: golden case {vector.id}: {mismatch.reason} ({engine})"
    older = [number for number in protocol.versions if number < version]
    migration = protocol.migrations.by_old.get(older[-1]) if older else None
    if migration is not None:
        olds, news = (records_of(project, protocol, number) for number in (older[-1], version))
        yield from broken_laws(protocol.migrations, migration, olds, news)
    elif older and any(True for _ in protocol.migrations):
        remedy = f"add Migration({older[-1]}, {version}, up=...)"
        yield f"{label}: there is no migration from v{older[-1]}: {remedy}"


def _changes(protocol: Protocol, version: int) -> Iterator[str]:
    """Yield what a draft changes against the version before it, a line each."""
    from wirelock.lock.diff import differences

    older = [number for number in protocol.versions if number < version]
    if not older:
        yield f"{protocol.label(version)}: the first version"
        return
    yield f"{protocol.label(version)}, against v{older[-1]}:"
    found = differences(protocol.layout(older[-1]), protocol.layout(version), protocol.tag, protocol.tag)
    yield from (f"  {item}" for item in found)


@click.command("retire")
@click.argument("name", metavar="PROTOCOL/vN")
@protocols_option
def retire(name: str, protocols: str | None) -> int:
    """Retire a released version: peers are no longer offered it.

    The protocol has to say so too: `Protocol(..., retired=[1])`, or the version left out, once no recording
    of it has to be read any more. The lock keeps what it was, so that its number is never given again.
    """
    from wirelock.lock import lockfile

    project = project_of(protocols)
    registry, old = project.load(), lock_of(project)
    labels = {f"{protocol}/v{version}": (protocol, version) for protocol, version in old.entries}
    if name not in labels:
        known = ", ".join(labels) or "none"
        raise click.UsageError(f"{name!r:.60} is no released version: there are {known}")
    key = protocol_name, number = labels[name]
    if old.entries[key].retired:
        raise click.UsageError(f"{name} is retired already")
    protocol = registry[protocol_name] if protocol_name in registry else None  # noqa: SIM401 - no dict
    if protocol is not None and number in protocol.versions and number not in protocol.retired:
        remedy = f"write retired=[{number}] in its Protocol, or leave the version out, and run this again"
        raise LockError(f"{name} is still offered to peers: {remedy}")
    lockfile.write_lock(project.lock, lockfile.retire(old, *key))
    click.echo(f"{protocol_name} v{number}: retired")
    return 0

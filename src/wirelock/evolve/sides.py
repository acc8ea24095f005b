"""What is compared: the versions of a registry, of a lock, or of a lock as it was at a git revision."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirelock.errors import LockError
from wirelock.lock.lockfile import Entry, Lock, lock_from
from wirelock.schema.record import Record
from wirelock.schema.registry import Registry

__all__ = ["Side", "Version", "lock_at", "side_of_lock", "side_of_registry"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a protocol. `record` is its class, where there is one."""

    protocol: str
    number: int
    entry: Entry
    record: type[Record] | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """Such as `snapshot v2`."""
        return f"{self.protocol} v{self.number}"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: its name, its versions, and the lock that they are from."""

    name: str
    versions: tuple[Version, ...]
    lock: Path | None = None
    chosen: bool = False
    """Whether it is one version that was asked for, to be compared whatever the other side's is called."""

    def find(self, protocol: str, number: int) -> Version | None:
        """Return a version; None if this side does not have it."""
        for version in self.versions:
            if (version.protocol, version.number) == (protocol, number):
                return version
        return None

    def only(self, version: Version, name: str) -> Side:
        """Return one version as a side, under a name."""
        return replace(self, name=name, versions=(version,), chosen=True)


def side_of_registry(registry: Registry, name: str) -> Side:
    """Return the versions of a registry, as they are in the code."""
    versions = [
        Version(
            protocol.name,
            number,
            Entry(
                protocol.layout(number),
                protocol.tag,
                repeats=protocol.repeats,
                retired=number in protocol.retired,
            ),
            protocol.versions[number],
        )
        for protocol in registry
        for number in protocol.versions
    ]
    return Side(name, tuple(versions))


def side_of_lock(lock: Lock, name: str, path: Path) -> Side:
    """Return the versions that a lock holds."""
    return Side(name, tuple(Version(*key, entry) for key, entry in lock.entries.items()), path)


def lock_at(revision: str, path: Path, root: Path) -> Lock:
    """Return the lock as it was in `path` at a revision of the git repository around `root`.

    Raises LockError where there is no git, no repository, no such revision, or no lock in it.
    """
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        inside = _git(root, "rev-parse", "--git-dir") is not None
        raise LockError(f"{revision} is no git revision" if inside else f"{root} is in no git repository")
    inside_path = Path(os.path.relpath(path, root)).as_posix()
    data = _git(root, "show", f"{commit.decode().strip()}:./{inside_path}")
    if data is None:
        raise LockError(f"the revision {revision} holds no {inside_path}: nothing was locked there yet")
    return lock_from(data, f"{revision}:{inside_path}")


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Return what git prints; None where it fails."""
    try:
        run = subprocess.run(["git", "-C", os.fspath(folder), *arguments], capture_output=True)
    except FileNotFoundError:
        raise LockError(
            "there is no git here to read a revision with: install it, or name a lock file"
        ) from None
    return run.stdout if run.returncode == 0 else None

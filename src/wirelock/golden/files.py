"""Which files below the fixtures are golden files, where they have to lie, and what each is of.

A golden file lies at <protocol>/v<N>.json. One that lies elsewhere or has another name would never be run:
it is found by what it says of itself, so that it can be named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from wirelock.errors import GoldenError, WirelockError
from wirelock.golden.vectors import GoldenFile, read
from wirelock.schema.registry import Protocol, Registry

__all__ = ["golden_files", "is_golden", "load"]

_NAME: Final = re.compile(r"v(0|[1-9][0-9]*)\.json")
_FORMAT: Final = re.compile(rb'"format"\s*:\s*"wirelock-golden/')
_HEAD: Final = 1 << 16
"""Bytes in which a file says that it is a golden file."""


def golden_files(fixtures: Path, registry: Callable[[], Registry]) -> Iterator[Path]:
    """Yield every golden file below a folder, also those that lie or are called as none may."""
    for folder in _folders(fixtures):
        for path in sorted(folder.iterdir(), key=_order):
            if path.is_file() and is_golden(path, fixtures, registry):
                yield path


def _folders(fixtures: Path) -> Iterator[Path]:
    """Yield the folder and all below it; a protocol's folder may be a link, one below it is not followed."""
    if not fixtures.is_dir():
        return
    yield fixtures
    for child in sorted(fixtures.iterdir()):
        if child.is_dir():
            for folder, inner, _ in os.walk(child):
                inner.sort()
                yield Path(folder)


def _order(path: Path) -> tuple[int, str]:
    match = _NAME.fullmatch(path.name)
    return int(match.group(1)) if match else -1, path.name


def is_golden(path: Path, fixtures: Path, registry: Callable[[], Registry]) -> bool:
    """Whether a file is a golden file by its place, or says that it is one."""
    if path.parent.parent == fixtures and path.suffix.lower() == ".json":
        if _NAME.fullmatch(path.name):
            return True
        try:
            if path.parent.name in registry():
                return True
        except WirelockError:  # what is wrong with the protocols is told of every file with a right name
            pass
    return _says_so(path)


def _says_so(path: Path) -> bool:
    name = path.name.lower()
    if ".json" not in name or name.startswith(".") or name.endswith(("~", ".new")):
        return False
    try:
        with path.open("rb") as stream:
            return _FORMAT.search(stream.read(_HEAD)) is not None
    except OSError:
        return False


def load(
    path: Path, fixtures: Path, registry: Callable[[], Registry], name: str
) -> tuple[GoldenFile, Protocol]:
    """Return what a golden file holds, with its protocol.

    Raises GoldenError, which may call the file `name`, for one that cannot be run; what `registry` raises.
    """
    folder, match = path.parent.name, _NAME.fullmatch(path.name)
    if path.parent.parent != fixtures:
        raise GoldenError("no test looks for golden files here: they are <protocol>/v<version>.json")
    if match is None:
        raise GoldenError(f"golden files of {folder} are called v<version>.json")
    protocols, version = registry(), int(match.group(1))
    file = read(path, name)
    if folder not in protocols:
        known = ", ".join(protocol.name for protocol in protocols) or "none"
        raise GoldenError(f"there is no protocol {folder}: there are {known}")
    protocol = protocols[folder]
    if version not in protocol.versions:
        known = ", ".join(f"v{number}" for number in protocol.versions)
        raise GoldenError(f"{folder} has no version {version}: there are {known}")
    if (file.protocol, file.version) != (folder, version):
        raise GoldenError(f"the file is of {file.protocol} v{file.version}, not {folder} v{version}")
    return file, protocol

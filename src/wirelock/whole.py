"""A file that is replaced whole or not at all, by one writer at a time.

Its new text is written beside it as FILE.new, which only one writer can make, and takes its name when it is
complete; the next writer waits a little for it. Whatever fails before that leaves the old file as it is. A
writer that was killed leaves its FILE.new behind, and the next one says so and writes nothing.
"""

from __future__ import annotations

import errno
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from wirelock.errors import WirelockError
from wirelock.signals import held

__all__ = ["NEW", "replacing"]

NEW: Final = ".new"
"""What is added to the name of a file while another is made to take its place."""

_PATIENCE: Final = 2.0
"""Seconds to wait for another writer: a file takes a few hundredths to be written."""


@contextmanager
def replacing(path: Path, busy: type[WirelockError], *, make_folder: bool = False) -> Iterator[TextIO]:
    """Open the new text of a file; it takes the file's name only if the block ends without an exception.

    What the block reads of the old file cannot change before it is replaced, by another writer of ours.
    Raises `busy` while another writes the file, OSError with the file's name where the disk refuses.
    """
    target = Path(os.path.realpath(path))
    new = target.with_name(target.name + NEW)
    try:
        if make_folder:
            target.parent.mkdir(parents=True, exist_ok=True)
        beside = _opened(new)
    except FileExistsError:
        if not target.parent.is_dir():  # a file stands in its place
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        raise busy(
            f"{new} exists: another wirelock writes {target.name}, or was killed doing so;"
            " delete it if none runs"
        ) from None
    except OSError as problem:
        problem.filename = str(path)
        raise
    try:
        with os.fdopen(beside.descriptor, "w", encoding="utf-8", newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        new.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        with held():
            new.replace(target)
            beside.remove.detach()
    except BaseException as problem:
        beside.remove()
        if isinstance(problem, OSError):
            problem.filename = str(path)
        raise
    _sync_folder(target.parent)


class _Beside:
    """The new file while it has no name yet, and what removes it: at the latest with this, or with Python."""

    def __init__(self, new: Path) -> None:
        with held():
            self.descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            self.remove = weakref.finalize(self, _removed, new)


def _removed(new: Path) -> None:
    with suppress(OSError):
        new.unlink()


def _opened(new: Path) -> _Beside:
    """Make a file that must not be there, after a little patience with a writer who is about to end.

    Raises FileExistsError where it still is there.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return _Beside(new)
        except FileExistsError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.02)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

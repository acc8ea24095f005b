"""Output files that are whole or not there, and where there are several, all of them or none.

Each is a temporary file beside its place until all are complete; then they take their names, one right
behind the other. After a failure before that there is nothing new, and an old file is what it was. What is no
regular file, such as a pipe or /dev/stdout, is written to directly. Every OSError has the file's name.
"""

from __future__ import annotations

import io
import os
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TextIO

from wirelock.signals import held

__all__ = ["Outputs", "output"]


class Outputs:
    """The output files of one run: they appear when the block ends, unless that is by an exception."""

    def __init__(self) -> None:
        self._files: list[_File] = []

    def __enter__(self) -> Self:
        return self

    def text(self, path: Path) -> TextIO:
        """Open a file for text, which is written as UTF-8 whatever it holds."""
        file = self._opened(path)
        file.stream = io.TextIOWrapper(file.stream, "utf-8", errors="backslashreplace", newline="")
        return file.stream  # type: ignore[no-any-return]

    def binary(self, path: Path) -> BinaryIO:
        """Open a file for bytes."""
        return self._opened(path).stream  # type: ignore[no-any-return]

    def _opened(self, path: Path) -> _File:
        file = _File(path)
        self._files.append(file)
        return file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for file in self._files:
                    file.complete()
                with held():
                    for file in self._files:
                        file.appear()
        finally:
            with held():
                for file in self._files:
                    file.discard()


@contextmanager
def output(path: Path) -> Iterator[TextIO]:
    """Open one file as Outputs.text does."""
    with Outputs() as files:
        yield files.text(path)


class _File:
    """A file on its way to its name; `stream` takes its bytes."""

    def __init__(self, path: Path) -> None:
        self._place, self._part = path, ""
        with _named(path):
            if path.exists() and not stat.S_ISREG(path.stat().st_mode):
                handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
            else:
                self._place = path.resolve()
                with held():
                    handle, self._part = tempfile.mkstemp(
                        prefix=".wirelock-", suffix=".part", dir=self._place.parent
                    )
                    self._remove = weakref.finalize(self, _removed, self._part)
        self._raw = _Raw(handle, path)
        self.stream: Any = io.BufferedWriter(self._raw)

    def complete(self) -> None:
        """Write what is buffered to the disk, and close the file."""
        self.stream.flush()
        if self._part:
            with _named(self._place):
                os.fsync(self._raw.fileno())
                Path(self._part).chmod(_permissions(self._place))
        self.stream.close()

    def appear(self) -> None:
        """Take the name."""
        if self._part:
            with _named(self._place):
                Path(self._part).replace(self._place)
            self._remove.detach()

    def discard(self) -> None:
        """Close the file, and remove it if it has no name yet."""
        with suppress(OSError):
            self._raw.close()
        if self._part:
            self._remove()


class _Raw(io.FileIO):
    """A file whose errors have its name."""

    def __init__(self, handle: int, path: Path) -> None:
        super().__init__(handle, "wb")
        self._path = path

    def write(self, data: Any) -> Any:
        """Write what a buffer holds."""
        with _named(self._path):
            return super().write(data)

    def close(self) -> None:
        """Close the file."""
        with _named(self._path):
            super().close()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        problem.filename = str(path)
        raise


def _permissions(path: Path) -> int:
    """Return those of the file that is there, or of any new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _removed(name: str) -> None:
    Path(name).unlink(missing_ok=True)

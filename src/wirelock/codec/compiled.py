"""Generated source -> functions that numba compiles, kept in a cache folder of the user's.

The source is a file there, under its digest and the versions of all that has a say, with the machine code
beside it. The logger `wirelock.columnar` says what is compiled.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from wirelock import __version__

__all__ = ["INSTALL", "compiled_module"]

INSTALL: Final = "columns want numba and numpy: pip install 'wirelock[columnar]'"
LOG: Final = logging.getLogger("wirelock.columnar")


def compiled_module(title: str, stem: str, source: str) -> Any:
    """Return the functions of a source that numba compiles, from its file in the cache folder.

    `title` says what it is, `stem` is in the name of its file. What is wrong with the cache costs only the
    cache. Raises ImportError without numba.
    """
    try:
        import numba
    except ImportError:
        raise ImportError(INSTALL) from None
    versions = (__version__, numba.__version__, sys.version, source)
    key = hashlib.sha256("\0".join(versions).encode()).hexdigest()[:16]
    name = f"wirelock_{stem}_{key}"
    if name not in sys.modules:
        try:
            _load(name, _stored(name, source))
        except Exception as problem:
            _load_uncached(name, source, problem)
    return _Functions(name, title, source)


def _load(name: str, file: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba's cache finds the constants of a function by the name of its module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _load_uncached(name: str, source: str, problem: Exception) -> None:
    LOG.info("nothing is kept in %s: %s", cache_folder(), str(problem) or type(problem).__name__)
    module = ModuleType(name)
    exec(compile(source.replace("cache=True", "cache=False", 1), f"<{name}>", "exec"), module.__dict__)
    sys.modules[name] = module


class _Functions:
    """The functions of a compiled module. The first one that has no machine code yet is told of.

    Compiled code raises nothing, so that what a call raises is of numba's cache: files that are damaged, or a
    disk that is full. Then the files are given up, and the code is compiled for this process alone.
    """

    def __init__(self, name: str, title: str, source: str) -> None:
        self._name, self._title, self._source = name, title, source

    def __getattr__(self, function: str) -> Callable[..., Any]:
        if self._title:  # asked once for each function: what a call finds out, every call pays for
            self._tell(function, getattr(sys.modules[self._name], "__file__", None))

        def call(*arguments: Any) -> Any:
            module = sys.modules[self._name]
            try:
                return getattr(module, function)(*arguments)
            except Exception as problem:
                file = getattr(module, "__file__", None)
                if file is None:
                    raise
                with suppress(OSError):
                    for kept in _machine_code(Path(file), ""):
                        kept.unlink()
                _load_uncached(self._name, self._source, problem)
            return call(*arguments)

        setattr(self, function, call)
        return call

    def _tell(self, function: str, file: str | None) -> None:
        if file is None or not _machine_code(Path(file), f"{function}-"):
            place = "" if file is None else f" into {Path(file).parent}: once, then from there"
            LOG.info("compiling %s%s", self._title, place)
            self._title = ""


def _machine_code(file: Path, function: str) -> list[Path]:
    """Return the files that numba keeps of a module's functions, of those whose names begin so."""
    return list((file.parent / "__pycache__").glob(f"{file.stem}.{function}*.nb?"))


def _stored(name: str, source: str) -> Path:
    """Return the file of the source, written once and whole; in a folder of its own where none is kept."""
    folder = cache_folder()
    try:
        return _written(folder / f"{name}.py", source)
    except OSError as problem:
        LOG.info("no cache in %s: %s", folder, problem)
    return _written(Path(tempfile.mkdtemp(prefix="wirelock-")) / f"{name}.py", source)


def _written(file: Path, source: str) -> Path:
    if file.is_file() and file.read_bytes() == source.encode():
        return file
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(
        "w", dir=file.parent, suffix=".tmp", delete=False, encoding="utf-8"
    ) as made:
        made.write(source)
    Path(made.name).replace(file)
    return file


def cache_folder() -> Path:
    """Return the folder for generated source and machine code: WIRELOCK_CACHE, or the platform's."""
    given = os.environ.get("WIRELOCK_CACHE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "wirelock"

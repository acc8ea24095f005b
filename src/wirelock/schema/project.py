"""Where a project keeps its protocols, goldens and lock: `[tool.wirelock]` in its pyproject.toml.

[tool.wirelock]
protocols = "protocol:PROTOCOLS"      # module:name of a Registry; required
fixtures = "fixtures"                 # golden files, <protocol>/v<N>.json
lock = "protocol/wirelock.lock"       # beside the protocols' module unless said otherwise
"""

from __future__ import annotations

import importlib
import sys
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from wirelock.errors import ProjectError, SchemaError
from wirelock.schema.registry import Registry

__all__ = ["Project", "find_project", "import_from"]


@dataclass(frozen=True, slots=True)
class Project:
    """A project's folders and the name of its registry."""

    root: Path
    protocols: str
    fixtures: Path
    lock: Path
    lock_stated: bool = False
    """Whether the settings name the lock, so that it has to be there."""

    def load(self) -> Registry:
        """Import the project's registry.

        Raises SchemaError where a layout or record is refused, ProjectError for every other reason.
        """
        module_name, _, name = self.protocols.partition(":")
        if not module_name or not name.isidentifier():
            raise ProjectError(f"protocols = {self.protocols!r} names no registry: write module:NAME")
        module = import_from(self.root, module_name)
        registry = getattr(module, name, None)
        if not isinstance(registry, Registry):
            raise ProjectError(f"{module_name} has no Registry named {name}")
        return registry


def import_from(root: Path, module_name: str) -> ModuleType:
    """Import a module that may lie in a folder. Raises as Project.load does."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        return importlib.import_module(module_name)
    except SchemaError:
        raise
    except ModuleNotFoundError as problem:
        if problem.name and (module_name + ".").startswith(problem.name + "."):
            raise ProjectError(f"there is no module {module_name!r} in {root}") from None
        raise ProjectError(f"{module_name} does not import: {problem}{_place(problem)}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # a project's own code may raise or exit as it likes
        what = f"{type(problem).__name__}: {_text(problem)}".rstrip(": ")
        raise ProjectError(f"{module_name} does not import: {what}{_place(problem)}") from None


def _text(problem: BaseException) -> str:
    if isinstance(problem, SyntaxError):
        return problem.msg
    try:
        return str(problem).strip().partition("\n")[0]
    except Exception:  # what cannot be told is left out
        return ""


def _place(problem: BaseException) -> str:
    frames = traceback.extract_tb(problem.__traceback__)
    last = next((frame for frame in reversed(frames) if "importlib" not in frame.filename), None)
    return f" ({last.filename}:{last.lineno})" if last and last.filename != __file__ else ""


def find_project(start: Path, protocols: str | None = None) -> Project:
    """Return the project that holds `start`: the nearest pyproject.toml with a [tool.wirelock].

    With `protocols` no pyproject.toml is needed. Raises ProjectError.
    """
    settings: dict[str, Any] = {}
    root = start
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            found = _settings(file)
            if found is not None:
                settings, root = found, folder
                break
    chosen = settings.get("protocols") if protocols is None else protocols
    if chosen is None:
        raise ProjectError(
            f'no [tool.wirelock] with protocols = "module:NAME" in a pyproject.toml at or above {start};'
            " add it, or say --protocols module:NAME"
        )
    module = root.joinpath(*chosen.partition(":")[0].split("."))
    beside = module if module.is_dir() else module.parent
    lock = root / settings["lock"] if "lock" in settings else beside / "wirelock.lock"
    return Project(root, chosen, root / settings.get("fixtures", "fixtures"), lock, "lock" in settings)


def _settings(file: Path) -> dict[str, Any] | None:
    try:
        found: Any = tomllib.loads(file.read_text("utf-8-sig"))  # editors put a byte-order mark before it
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ProjectError(f"{file} cannot be read: {problem}") from None
    for key in ("tool", "wirelock"):
        found = found.get(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise ProjectError(f"{file}: {key} = {found!r} is no table")
    known = ("protocols", "fixtures", "lock")
    for key, value in found.items():
        if key not in known:
            raise ProjectError(
                f"{file}: [tool.wirelock] has no setting {key!r}: there are {', '.join(known)}"
            )
        if not isinstance(value, str):
            raise ProjectError(f"{file}: [tool.wirelock] {key} = {value!r} is no string")
    return found  # type: ignore[no-any-return]

"""The pytest plugin `wirelock`: every golden vector is a test, run on every engine, and every lock entry.

Golden files are <fixtures>/<protocol>/v<N>.json of the project that the [tool.wirelock] of pyproject.toml
describes; without that table nothing happens and nothing is imported. A run of the whole project runs all
of them, also where testpaths leaves them out, so that none grows stale unseen. What is wrong with a whole
file is one failing test with a reason of one line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from wirelock.errors import GoldenError, ProjectError, WirelockError

if TYPE_CHECKING:
    from wirelock.golden.run import Mismatch
    from wirelock.golden.vectors import GoldenFile, Vector
    from wirelock.lock.lockfile import Finding
    from wirelock.schema.migration import Migration
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Protocol, Registry

_NAME: Final = re.compile(r"v(0|[1-9][0-9]*)\.json")
_WHOLE: Final = "wirelock_whole_run"


def pytest_configure(config: pytest.Config) -> None:
    """Collect goldens if the project has a [tool.wirelock]."""
    if not _has_settings(config.rootpath):
        return
    from wirelock.schema.project import find_project

    try:
        project = find_project(config.rootpath)
    except ProjectError as problem:
        raise pytest.UsageError(str(problem)) from None
    config.pluginmanager.register(_Collection(config, project), "wirelock.golden")


def _has_settings(start: Path) -> bool:
    """Whether a pyproject.toml at or above a folder has a [tool.wirelock]; imports nothing of ours."""
    for folder in (start, *start.parents):
        try:
            octets = (folder / "pyproject.toml").read_bytes()
            if b"wirelock" in octets and "wirelock" in tomllib.loads(octets.decode()).get("tool", {}):
                return True
        except OSError:
            continue
        except ValueError:  # find_project says what is wrong with it
            return True
    return False


class _Collection:
    """The hooks of one run in a project with goldens."""

    def __init__(self, config: pytest.Config, project: Project) -> None:
        self.project = project
        self.fixtures = project.fixtures.resolve()
        self.lock = _place(project.lock)
        self.whole = getattr(config, "workerinput", {}).get(_WHOLE, _is_whole(config))
        self._loaded: Registry | WirelockError | None = None
        self._findings: list[Finding] | None = None

    def registry(self) -> Registry:
        """Return the project's protocols, imported once. Raises SchemaError or ProjectError."""
        if self._loaded is None:
            try:
                self._loaded = self.project.load()
            except WirelockError as problem:
                self._loaded = problem
        if isinstance(self._loaded, WirelockError):
            raise self._loaded
        return self._loaded

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the JSON files in the folders of the fixtures, and the lock."""
        if _place(file_path) == self.lock:
            # Not below the package beside it: pytest would import that first, and it may not load.
            return self._lock_collector(parent.session)
        if file_path.suffix.lower() != ".json" or _place(file_path).parent.parent != self.fixtures:
            return None
        return self._collector(file_path, parent)

    def _collector(self, path: Path, parent: pytest.Collector) -> pytest.Collector:
        made: GoldenJson = GoldenJson.from_parent(parent, path=path)
        made.collection = self
        return made

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the golden files and the lock that a run of the whole project did not come across."""
        if not self.whole:
            return
        known = {_place(item.path) for item in items}
        for path in sorted(self.fixtures.glob("*/*.json")):
            if path not in known:
                items.extend(session.genitems(self._collector(path, session)))
        if self.lock not in known and (self.lock.is_file() or self.project.lock_stated):
            items.extend(session.genitems(self._lock_collector(session)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist what the run is: it sees other arguments."""
        node.workerinput[_WHOLE] = self.whole

    # -- the lock

    def _lock_collector(self, parent: pytest.Collector) -> pytest.Collector:
        made: LockJson = LockJson.from_parent(parent, path=self.lock)
        made.collection = self
        return made

    def findings(self) -> list[Finding]:
        """Return what drifted from the lock, compared once a run. Raises LockError or GoldenError."""
        if self._findings is None:
            from wirelock.golden.vectors import golden_hashes
            from wirelock.lock.lockfile import check, read_lock, unloadable

            locked = read_lock(self.lock)
            try:
                registry = self.registry()
            except WirelockError as problem:
                self._findings = unloadable(locked, problem)
            else:
                self._findings = check(locked, registry, golden_hashes(self.project.fixtures, registry))
        return self._findings


def _place(path: Path) -> Path:
    """Return where a file lies below the fixtures, which may be reached through links."""
    return path.parent.parent.resolve() / path.parent.name / path.name


def _is_whole(config: pytest.Config) -> bool:
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    left_out = config.getoption("ignore", None) or config.getoption("ignore_glob", None)
    return not named and not left_out and config.invocation_params.dir == config.rootpath


class GoldenJson(pytest.File):
    """One golden file: a test for each case and pose, and for the migration from the version before."""

    collection: _Collection

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the vectors, behind what is wrong with the file as a whole."""
        from wirelock.golden.run import check_poses, digest_problem

        try:
            found = self._read()
        except WirelockError as problem:
            yield self._problem(problem)
            return
        if found is None:
            return
        file, protocol = found
        for text in digest_problem(file, protocol):
            yield self._problem(GoldenError(text))
        if not file.vectors:
            yield self._problem(GoldenError("the file has no cases"))
        yield from self._items(file.cases, protocol, file.version)
        try:
            if file.poses:
                check_poses(protocol, file.version)
        except GoldenError as problem:
            yield self._problem(problem)
        else:
            yield from self._items(file.poses, protocol, file.version)
        for migration in protocol.migrations:
            if migration.new == file.version:
                made: MigrationItem = MigrationItem.from_parent(self, name=f"[from v{migration.old}]")
                made.project, made.protocol, made.migration = self.collection.project, protocol, migration
                yield made

    def _read(self) -> tuple[GoldenFile, Protocol] | None:
        """Return the file with its protocol; None for a JSON file that is no protocol's."""
        from wirelock.golden.vectors import read

        folder, name = self.path.parent.name, _NAME.fullmatch(self.path.name)
        if name is None:
            try:
                ours = folder in self.collection.registry()
            except WirelockError:
                return None
            if ours:
                raise GoldenError(f"golden files of {folder} are called v<version>.json")
            return None
        registry, version = self.collection.registry(), int(name.group(1))
        file = read(self.path, self.nodeid)
        if folder not in registry:
            known = ", ".join(protocol.name for protocol in registry) or "none"
            raise GoldenError(f"there is no protocol {folder}: there are {known}")
        protocol = registry[folder]
        if version not in protocol.versions:
            known = ", ".join(f"v{number}" for number in protocol.versions)
            raise GoldenError(f"{folder} has no version {version}: there are {known}")
        if (file.protocol, file.version) != (folder, version):
            raise GoldenError(f"the file is of {file.protocol} v{file.version}, not {folder} v{version}")
        return file, protocol

    def _problem(self, problem: WirelockError) -> pytest.Item:
        made: _Problem = _Problem.from_parent(self, name="[file]")
        made.reason = " ".join(str(problem).removeprefix(f"{self.nodeid}: ").split())
        return made

    def _items(self, vectors: Iterable[Vector], protocol: Protocol, version: int) -> Iterator[pytest.Item]:
        for vector in vectors:
            made: GoldenItem = GoldenItem.from_parent(self, name=vector.id)
            made.protocol, made.version, made.vector = protocol, version, vector
            made.extra_keyword_matches.update(vector.flags)
            yield made


class LockJson(pytest.File):
    """The lock: a test for each released version."""

    collection: _Collection

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the released versions, or what is wrong with the lock as a whole."""
        from wirelock.lock.lockfile import read_lock

        try:
            locked = read_lock(self.path)
        except WirelockError as problem:
            broken: _Problem = _Problem.from_parent(self, name="[file]")
            broken.reason = " ".join(str(problem).split())
            yield broken
            return
        for protocol, version in locked.entries:
            made: LockItem = LockItem.from_parent(self, name=f"{protocol}/v{version}")
            made.collection, made.protocol, made.version = self.collection, protocol, version
            yield made


class _Broken(Exception):  # noqa: N818 - carries a report through pytest, never seen by a caller
    """A vector that does not hold, or a file that cannot be run."""

    def __init__(self, reason: str, detail: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class _Item(pytest.Item):
    """What all items here share: a report without a traceback."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report of what does not hold; anything else is a bug, and shows its traceback."""
        if isinstance(excinfo.value, _Broken):
            broken = excinfo.value
            file = self.nodeid.partition("::")[0]
            return _Report(_Crash(file, self.line(), broken.reason), self.name, broken.detail)
        return super().repr_failure(excinfo, style)

    def line(self) -> int:
        """Return the line of the file that a report names."""
        return 1

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the test is."""
        return self.path, None, self.name


class GoldenItem(_Item):
    """One case or pose, on every engine."""

    protocol: Protocol
    version: int
    vector: Vector

    def runtest(self) -> None:
        """Run the vector on each engine."""
        from wirelock.golden.run import ENGINES, run

        found: dict[Mismatch, list[str]] = {}
        for engine in ENGINES:
            mismatch = run(self.protocol, self.version, self.vector, engine)
            if mismatch is not None:
                found.setdefault(mismatch, []).append(engine)
        if not found:
            return
        reasons, detail = [], [f"comment: {self.vector.comment}"]
        for mismatch, engines in found.items():
            where = " and ".join(engines)
            reasons.append(f"{mismatch.reason} ({where})")
            detail += ["", *(() if len(found) == 1 else (f"{where}: {mismatch.reason}",)), *mismatch.detail]
        raise _Broken("; ".join(reasons), tuple(detail))

    def line(self) -> int:
        """Return the line in which the vector's id stands."""
        wanted = re.compile(rf'"id"\s*:\s*"{re.escape(self.vector.id)}"')
        lines = self.path.read_text("utf-8").splitlines()
        return next((number for number, line in enumerate(lines, 1) if wanted.search(line)), 1)


class MigrationItem(_Item):
    """The migration to one version, tried on the records of golden cases of both sides."""

    project: Project
    protocol: Protocol
    migration: Migration

    def runtest(self) -> None:
        """Fail with the laws that do not hold."""
        from wirelock.golden.samples import records_of
        from wirelock.schema.migration import broken_laws

        sides = (self.migration.old, self.migration.new)
        try:
            olds, news = (records_of(self.project, self.protocol, version) for version in sides)
        except WirelockError as problem:
            raise _Broken(" ".join(str(problem).split())) from None
        found = broken_laws(self.protocol.migrations, self.migration, olds, news)
        if found:
            raise _Broken(found[0], tuple(found[1:]))


class LockItem(_Item):
    """One released version, against the protocols and golden files as they are."""

    collection: _Collection
    protocol: str
    version: int

    def runtest(self) -> None:
        """Fail with what drifted: field, was, now."""
        try:
            findings = self.collection.findings()
        except WirelockError as problem:
            raise _Broken(" ".join(str(problem).split())) from None
        mine = [
            str(item) for item in findings if (item.protocol, item.version) == (self.protocol, self.version)
        ]
        if mine:
            raise _Broken(mine[0], tuple(mine[1:]))


class _Problem(_Item):
    """Stands for a file that cannot be run; always fails."""

    reason: str

    def runtest(self) -> None:
        """Fail with the reason."""
        raise _Broken(self.reason)


@dataclass(frozen=True, slots=True)
class _Crash:
    """What pytest's summaries read of a failure: place and reason, one line."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


@dataclass(frozen=True, slots=True)
class _Report:
    """A failure as pytest prints it."""

    reprcrash: _Crash
    name: str
    detail: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the report: where, which and why, then the bytes."""
        crash = self.reprcrash
        return f"{crash.path}:{crash.lineno}: {self.name}: {crash.message}", *self.detail

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def toterminal(self, terminal: Any) -> None:
        """Write the report."""
        first, *rest = self.lines
        terminal.line(first, bold=True, red=True)
        for line in rest:
            terminal.line(line, red=line.startswith(">"))

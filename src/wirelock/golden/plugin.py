"""The pytest plugin `wirelock`: every golden vector is a test, run on every engine, and every lock entry.

Golden files are <fixtures>/<protocol>/v<N>.json of the project that the [tool.wirelock] of pyproject.toml
describes; without that table nothing happens and nothing is imported. A run of the whole project runs all
of them, also where testpaths leaves them out, so that none grows stale unseen: it fails and names each
golden file below the fixtures that no test ran, whatever kept it from being run. What is wrong with a whole
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
    from wirelock.golden.vectors import Vector
    from wirelock.lock.lockfile import Finding
    from wirelock.schema.migration import Migration
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Protocol, Registry

_WHOLE: Final = "wirelock_whole_run"
_CHOOSING: Final = re.compile(
    r"-[vqsxl]*[km].*|--(deselect|ignore|ignore-glob|lf|last-failed|sw|stepwise|picked)(=.*)?"
)
"""Arguments, of pytest and of plugins, with which somebody leaves tests out of one run.

In a project's addopts they leave tests out of every run: that is no excuse.
"""
_NO_RUN: Final = ("collectonly", "setuponly", "setupplan")
_SHARDS: Final = ("splits", "num_shards")
"""The options of plugins that divide one run between machines."""


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
            text = octets.decode("utf-8-sig") if b"wirelock" in octets else ""
            if "wirelock" in tomllib.loads(text).get("tool", {}):
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
        self.ran: set[str] = set()
        """The files of the tests that were run, seen from the root."""
        self.missed: list[Path] = []
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
        """Collect the golden files below the fixtures, and the lock."""
        if _place(file_path) == self.lock:
            # Not below the package beside it: pytest would import that first, and it may not load.
            return self._lock_collector(parent.session)
        place = self.below(file_path)
        if place is None:
            return None
        from wirelock.golden.files import is_golden

        return self._collector(file_path, parent) if is_golden(place, self.fixtures, self.registry) else None

    def below(self, path: Path) -> Path | None:
        """Return where a JSON file lies below the fixtures, which may be reached through links."""
        if ".json" not in path.name.lower():
            return None
        folder = next((folder for folder in path.parents if folder.resolve() == self.fixtures), None)
        return None if folder is None else self.fixtures / path.relative_to(folder)

    def _collector(self, path: Path, parent: pytest.Collector) -> pytest.Collector:
        made: GoldenJson = GoldenJson.from_parent(parent, path=path)
        made.collection = self
        return made

    def _golden_files(self) -> list[Path]:
        from wirelock.golden.files import golden_files

        return list(golden_files(self.fixtures, self.registry))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the golden files and the lock that a run of the whole project did not come across."""
        if not self.whole:
            return
        known = {self.below(item.path) or _place(item.path) for item in items}
        for path in self._golden_files():
            if path not in known:
                items.extend(session.genitems(self._collector(path, session)))
        if self.lock not in known and (self.lock.is_file() or self.project.lock_stated):
            items.extend(session.genitems(self._lock_collector(session)))

    # -- what was run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the files whose tests were run, in this process or in a worker."""
        if report.when == "call" and (not report.skipped or hasattr(report, "wasxfail")):
            self.ran.add(report.location[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let the session fail if it was one of everything and a golden file was not run."""
        finished = session.exitstatus in (
            pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED,
        )  # fmt: skip
        stopped = session.shouldstop or session.shouldfail
        if not self.whole or not finished or stopped or _chooses(session.config):
            return
        ran = {self.below(session.config.rootpath / name) for name in self.ran}
        self.missed = [path for path in self._golden_files() if path not in ran]
        if self.missed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the golden files that were not run."""
        if not self.missed:
            return
        terminalreporter.section("golden files that no test ran", red=True, bold=True)
        for path in self.missed:
            name = self.project.fixtures / path.relative_to(self.fixtures)
            shown = name.relative_to(self.project.root) if name.is_relative_to(self.project.root) else name
            terminalreporter.line(
                f"FAILED {shown} - no test of this run, of the whole project, ran it", red=True
            )

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
    """Whether a run is of the whole project, whatever its settings leave out."""
    given, root = config.invocation_params, config.rootpath
    named = config.args_source is pytest.Config.ArgsSource.ARGS and any(
        argument in given.args and (given.dir / argument).resolve() != root.resolve()
        for argument in config.args
    )
    left_out = any(argument.startswith("--ignore") for argument in given.args)
    return not named and not left_out and given.dir == root


def _chooses(config: pytest.Config) -> bool:
    """Whether somebody asked to leave tests out, and runs one part of several or nothing at all."""
    worker = hasattr(config, "workerinput")
    parts = any((config.getoption(name, None) or 1) > 1 for name in _SHARDS)
    chosen = any(_CHOOSING.fullmatch(argument) for argument in config.invocation_params.args)
    return worker or parts or chosen or any(config.getoption(name, None) for name in _NO_RUN)


class GoldenJson(pytest.File):
    """One golden file: a test for each case and pose, and for the migration from the version before."""

    collection: _Collection

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the vectors, behind what is wrong with the file as a whole."""
        from wirelock.golden.files import load
        from wirelock.golden.run import check_poses, digest_problem

        collection = self.collection
        place = collection.below(self.path) or self.path
        try:
            file, protocol = load(place, collection.fixtures, collection.registry, self.nodeid)
        except WirelockError as problem:
            yield self._problem(problem)
            return
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
            alone = migration.old == file.version and not self._path_of(migration.new).exists()
            if migration.new == file.version or alone:
                name = f"[to v{migration.new}]" if alone else f"[from v{migration.old}]"
                made: MigrationItem = MigrationItem.from_parent(self, name=name)
                made.project, made.protocol, made.migration = self.collection.project, protocol, migration
                yield made

    def _path_of(self, version: int) -> Path:
        return self.path.with_name(f"v{version}.json")

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
        from wirelock.golden.report import failure

        found = failure(self.protocol, self.version, self.vector)
        if found is not None:
            raise _Broken(found.reason, found.detail)

    def line(self) -> int:
        """Return the line in which the vector's id stands."""
        from wirelock.golden.report import line_of

        return line_of(self.path.read_text("utf-8"), self.vector.id)


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

"""Steps between neighbouring versions of a protocol: what they lose, chains of them, and their laws.

A migration turns a record of one version into one of the next and back. What a step cannot keep is
declared with Lossy, by the names of the fields, and nothing takes such a step unless it is allowed by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from wirelock.errors import MigrationError, SchemaError, WirelockError
from wirelock.layout.nodes import Array, Layout, Sequence, Type, parts_of
from wirelock.layout.terms import inner_path
from wirelock.schema.derive import follows as follows_from_others
from wirelock.schema.record import Record, layout_of

__all__ = ["Lossy", "Migration", "Migrations", "broken_laws"]

_NAME: Final = re.compile(r"[A-Za-z]\w*(\[\])?(\.[A-Za-z]\w*(\[\])?)*")


class Lossy:
    """What a step loses: the fields of the record that it is given which do not come back.

    `down=Lossy("flags")(step)`, or as a decorator above the step, which is a function. A path names a field
    inside of another one, or of all elements: `Lossy("entities[].rotation")` covers everything in it.
    """

    def __init__(self, *fields: str) -> None:
        if not fields or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in fields):
            raise SchemaError("", f"Lossy{fields!r} names no field", 'name what is lost: Lossy("flags")')
        self.fields = fields

    def __call__(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the step, which from now on says what it loses. Raises SchemaError where it is none."""
        try:
            step.__wirelock_loses__ = self.fields  # type: ignore[attr-defined]
        except AttributeError:
            raise SchemaError("", f"{step!r} is no function of yours", "write a def, or a lambda") from None
        return step


@dataclass(frozen=True, slots=True)
class _Step:
    """One direction of a migration."""

    function: Callable[[Any], Any]
    loses: tuple[str, ...]

    def __call__(self, record: Any) -> Any:
        return self.function(record)


class Migration:
    """The way from version `old` of a protocol to its next one, `new`, and back.

    `up` takes a record of `old` and returns one of `new`; `down` the other way, and may be left out where
    there is no way back. `keeps(old_record, new_record)` says whether both mean the same, beyond the names
    of their fields: for rotations, that the quaternions lie within both versions' bounds.

    Raises SchemaError for numbers that are no versions, and for steps that are no functions.
    """

    def __init__(
        self,
        old: int,
        new: int,
        *,
        up: Callable[[Any], Any],
        down: Callable[[Any], Any] | None = None,
        keeps: Callable[[Any, Any], bool] | None = None,
    ) -> None:
        label = f"Migration({old}, {new})"
        if not all(isinstance(version, int) and not isinstance(version, bool) for version in (old, new)):
            raise SchemaError(label, "versions are integers", "write Migration(1, 2, up=..., down=...)")
        for name, step in (("up", up), ("down", down), ("keeps", keeps)):
            if not callable(step) and (step is not None or name == "up"):
                raise SchemaError(label, f"{name} is {step!r}", "give a function from a record to a record")
        self.old, self.new = old, new
        self.up = _Step(up, getattr(up, "__wirelock_loses__", ()))
        self.down = None if down is None else _Step(down, getattr(down, "__wirelock_loses__", ()))
        self.keeps = keeps

    def __repr__(self) -> str:
        return f"Migration({self.old}, {self.new})"


class Migrations:
    """The migrations of one protocol, each between neighbours. Raises SchemaError where one is not."""

    def __init__(
        self, protocol: str, versions: Iterable[int], records: Any, migrations: Iterable[Migration]
    ) -> None:
        self.protocol = protocol
        self.versions = tuple(versions)
        self.records = records
        self.by_old: dict[int, Migration] = {}
        neighbours = dict(zip(self.versions, self.versions[1:], strict=False))
        for migration in migrations:
            if not isinstance(migration, Migration):
                raise SchemaError(protocol, f"{migration!r} is no Migration", "write Migration(1, 2, up=...)")
            if neighbours.get(migration.old) != migration.new:
                known = ", ".join(f"{old} to {new}" for old, new in neighbours.items()) or "none"
                told = f"{migration!r} is not between neighbouring versions"
                raise SchemaError(protocol, told, f"neighbours are {known}")
            if migration.old in self.by_old:
                raise SchemaError(protocol, f"two migrations from {migration.old}", "leave one out")
            self.by_old[migration.old] = migration
            for version, step in ((migration.old, migration.up), (migration.new, migration.down)):
                fields = records[version].model_fields
                for name in step.loses if step is not None else ():
                    if re.split(r"[.\[]", name)[0] not in fields:
                        told = f"Lossy({name!r}) names no field of {records[version].__name__}"
                        raise SchemaError(
                            f"{protocol}: {migration!r}", told, f"fields are {', '.join(fields)}"
                        )

    def __iter__(self) -> Iterator[Migration]:
        return (self.by_old[version] for version in self.versions if version in self.by_old)

    def migrate(self, record: Record, version: int, target: int, allow: Collection[str]) -> Record:
        """Return the record in another version, one step a version. Raises MigrationError.

        Nothing is computed where a step is missing, or loses what `allow` does not name.
        """
        for start, end, step in self.steps(version, target, allow):
            record = self.take(record, start, end, step)
        return record

    def steps(self, version: int, target: int, allow: Collection[str]) -> list[tuple[int, int, _Step]]:
        """Return the steps from a version to another. Raises MigrationError as migrate does."""
        allow = (allow,) if isinstance(allow, str) else allow
        steps = list(self._steps(version, target))
        for start, end, step in steps:
            lost = [name for name in step.loses if not _covered(name, allow)]
            if lost:
                names = ", ".join(map(repr, lost))
                raise MigrationError(
                    self._label(start, end), f"the step loses {', '.join(lost)}", f"allow it by name: {names}"
                )
        return steps

    def _steps(self, version: int, target: int) -> Iterator[tuple[int, int, _Step]]:
        at, to = self.versions.index(version), self.versions.index(target)
        for place in range(at, to):
            start, end = self.versions[place], self.versions[place + 1]
            yield start, end, self._step(start, end, "up")
        for place in range(at, to, -1):
            start, end = self.versions[place], self.versions[place - 1]
            yield start, end, self._step(start, end, "down")

    def _step(self, start: int, end: int, way: str) -> _Step:
        migration = self.by_old.get(min(start, end))
        step = None if migration is None else getattr(migration, way)
        if step is None:
            low, high = sorted((start, end))
            raise MigrationError(
                self._label(start, end), f"there is no way {way}", f"add Migration({low}, {high}, {way}=...)"
            )
        return step  # type: ignore[no-any-return]

    def take(self, record: Record, start: int, end: int, step: _Step) -> Record:
        """Return what one step makes of a record. Raises MigrationError where it refuses it."""
        label, wanted = self._label(start, end), self.records[end]
        try:
            found = step(record)
        except WirelockError as problem:
            raise MigrationError(label, f"the step refuses the record: {problem}") from problem
        except ValueError as problem:
            raise MigrationError(label, f"the step refuses the record: {_told(problem)}") from problem
        if type(found) is not wanted:
            told = f"the step gives a {type(found).__name__}"
            raise MigrationError(label, told, f"return a {wanted.__name__}")
        return found  # type: ignore[no-any-return]

    def _label(self, start: int, end: int) -> str:
        return f"{self.protocol} v{start} to v{end}"


def _told(problem: ValueError) -> str:
    """Return what is wrong in one line: of several complaints of pydantic's the first."""
    if not isinstance(problem, ValidationError):
        return " ".join(str(problem).split())[:200]
    first, *others = problem.errors(include_url=False)
    place = ".".join(map(str, first["loc"]))
    more = f" (and {len(others)} more)" if others else ""
    return f"{place}: {first['msg']}{more}" if place else f"{first['msg']}{more}"


def _covered(name: str, by: Collection[str]) -> bool:
    """Whether a path is one of these, or inside of one."""
    return any(name == known or name.startswith((f"{known}.", f"{known}[]")) for known in by)


# -- laws


@dataclass(frozen=True, slots=True)
class _Trip:
    """A step and the one back, over records of one version."""

    label: str
    there: _Step
    back: _Step | None
    start: int
    end: int


def broken_laws(
    migrations: Migrations, migration: Migration, olds: Iterable[Record], news: Iterable[Record]
) -> list[str]:
    """Return where a migration does not hold what it says, a line each, tried on records of both versions.

    There and back gives the same bytes again, or another value only where the step there declares a loss;
    a loss that never occurs is not declared; both records mean the same where `keeps` says what that is.
    """
    name, old, new = migrations.protocol, migration.old, migration.new
    trips = [(_Trip(f"{name} v{old} up to v{new}", migration.up, migration.down, old, new), list(olds))]
    if migration.down is not None:
        label = f"{name} v{new} down to v{old}"
        trips.append((_Trip(label, migration.down, migration.up, new, old), list(news)))
    found: list[str] = []
    for trip, records in trips:
        found += _trip_laws(migrations, migration, trip, records)
    return found


def _trip_laws(
    migrations: Migrations, migration: Migration, trip: _Trip, records: list[Record]
) -> Iterator[str]:
    lost: set[str] = set()
    for record in records:
        try:
            there, back = _taken_there_and_back(migrations, trip, record)
            pair = (record, there) if trip.start == migration.old else (there, record)
            kept_meaning = migration.keeps is None or migration.keeps(*pair)
            changed = set() if back is None else set(_changes(record, back))
        except (Exception, SystemExit) as problem:  # of the author's own code, which may raise anything
            told = str(problem) if isinstance(problem, WirelockError) else _named(problem)
            yield f"{trip.label}: {_short(record)}: {told}"
            return
        if not kept_meaning:
            yield f"{trip.label}: {_short(record)} does not mean what {_short(there)} means"
            return
        undeclared = sorted(path for path in changed if not _covered(path, trip.there.loses))
        if undeclared:
            remedy = f'declare it: Lossy("{undeclared[0]}")'
            yield f"{trip.label}: {', '.join(undeclared)} of {_short(record)} does not come back; {remedy}"
            return
        lost |= {name for name in trip.there.loses for path in changed if _covered(path, (name,))}
    kept = [name for name in trip.there.loses if name not in lost]
    if records and trip.back is not None and kept:
        told = f"{', '.join(kept)} came back from all of {len(records)} records"
        yield f"{trip.label}: {told}; leave it out of Lossy, or add a golden case that loses it"


def _taken_there_and_back(
    migrations: Migrations, trip: _Trip, record: Record
) -> tuple[Record, Record | None]:
    there = migrations.take(record, trip.start, trip.end, trip.there)
    there.build()
    if trip.back is None:
        return there, None
    back = migrations.take(there, trip.end, trip.start, trip.back)
    back.build()
    return there, back


def _named(problem: BaseException) -> str:
    return " ".join(f"the step raises {type(problem).__name__}: {problem}".split())[:200]


def _changes(was: Record, now: Record) -> Iterator[str]:
    """Yield the paths of the values that differ; records of the same bytes do not."""
    if was.build() != now.build():
        follows = set(_following(layout_of(type(was)), ""))
        changed = _changed(was.model_dump(mode="json"), now.model_dump(mode="json"), "")
        yield from (path for path in changed if path not in follows)


def _following(kind: Type, path: str) -> Iterator[str]:
    """Yield the paths of what follows from other fields, and so is no loss of its own."""
    if isinstance(kind, Layout):
        for item in kind.fields:
            place = inner_path(path, item.label)
            if follows_from_others(item):
                yield place
            yield from _following(item.type, place)
        return
    for part in parts_of(kind):
        yield from _following(part, f"{path}[]" if isinstance(kind, Array | Sequence) else path)


def _changed(was: Any, now: Any, path: str) -> Iterator[str]:
    """Yield the paths of the values that differ, with [] for elements."""
    if isinstance(was, dict) and isinstance(now, dict) and was.keys() == now.keys():
        for key in was:
            yield from _changed(was[key], now[key], inner_path(path, key))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for one, other in zip(was, now, strict=True):
            yield from _changed(one, other, f"{path}[]")
    elif repr(was) != repr(now):  # -0.0 is not 0.0
        yield path


def _short(record: Record) -> str:
    text = repr(record)
    return text if len(text) <= 120 else f"{text[:117]}..."

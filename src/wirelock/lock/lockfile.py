"""The lock: what was released, as JSON that a reviewer can read, and what has drifted from it.

A Lock holds for each released version its layout with positions, its tag and digest, and a hash for each
golden case by id. Versions and cases are added, never changed or removed: `check` finds what drifted,
`updated` refuses it, and `write_lock` never drops what the file holds. Hashes of golden cases are given
by the caller; this room reads no golden file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from wirelock.errors import LockError, SchemaError
from wirelock.layout.canonical import digest, layout_to_json
from wirelock.layout.describe import size_text
from wirelock.layout.from_json import layout_from_json
from wirelock.layout.nodes import Layout
from wirelock.layout.sizes import size_of
from wirelock.lock.diff import ABSENT, Difference, differences
from wirelock.schema.registry import Protocol, Registry
from wirelock.whole import replacing

__all__ = [
    "Entry", "Finding", "Goldens", "Lock", "ReleasedError", "check", "drafts", "lock_from", "lock_text",
    "read_lock", "retire", "summary", "unloadable", "updated", "write_lock",
]  # fmt: skip

FORMAT: Final = 1
"""The format that this module writes, and the newest that it reads."""

Goldens: TypeAlias = Mapping[str, Mapping[int, Mapping[str, str]]]
"""Protocol -> version -> id of a golden case -> its hash."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One version that was released. A `retired` one may be gone; what is left of it stays as it was."""

    layout: Layout
    tag: tuple[str, ...] = ()
    golden: Mapping[str, str] = field(default_factory=dict)
    repeats: bool = False
    retired: bool = False

    @property
    def digest(self) -> str:
        """The digest of the layout and its protocol's tag and `repeats`."""
        return digest(self.layout, self.tag, self.repeats)


@dataclass(frozen=True, slots=True)
class Lock:
    """The released versions of a project, by protocol name and version."""

    entries: Mapping[tuple[str, int], Entry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a released version that is no longer as it was released.

    `path` names the field, or the golden case; empty for the version as a whole.
    """

    protocol: str
    version: int
    path: str
    aspect: str
    was: str
    now: str

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{self.protocol} v{self.version}: {place}{self.aspect}: was {self.was}, now {self.now}"


class ReleasedError(LockError):
    """Changes to released versions, refused. `findings` has each of them."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(self.findings)

    def __str__(self) -> str:
        told = "; ".join(str(finding) for finding in self.findings)
        return f"released versions never change, release a new version instead: {told}"


# -- what drifted --------------------------------------------------------------------------------


def check(lock: Lock, registry: Registry, goldens: Goldens) -> list[Finding]:
    """Return everything released that the registry or the golden files no longer bear out.

    Versions and golden cases that the lock does not hold are not released and no finding.
    """
    found = []
    for (name, version), entry in lock.entries.items():
        if name not in registry:
            drift = [] if entry.retired else [Difference("", "protocol", "released", ABSENT)]
        elif version not in registry[name].versions:
            drift = [] if entry.retired else [Difference("", "version", "released", ABSENT)]
        else:
            drift = _drift(entry, registry[name], version)
            status, now = (_status(retired) for retired in (entry.retired, version in registry[name].retired))
            drift += [Difference("", "status", status, now)] if status != now else []
            drift += _golden_drift(entry.golden, _hashes(goldens, name, version))
        found += [Finding(name, version, item.path, item.aspect, item.was, item.now) for item in drift]
    return found


def unloadable(lock: Lock, error: Exception) -> list[Finding]:
    """Return a finding for each released version, for protocols that do not load because of `error`."""
    text = " ".join(str(error).split())
    return [Finding(*key, "", "layout", "released", f"does not load: {text}") for key in lock.entries]


def drafts(lock: Lock, registry: Registry) -> list[tuple[Protocol, int]]:
    """Return the versions of a registry that were never released."""
    return [
        (protocol, version)
        for protocol in registry
        for version in protocol.versions
        if (protocol.name, version) not in lock.entries
    ]


def updated(
    lock: Lock, registry: Registry, goldens: Goldens, release: Collection[tuple[str, int]] | None = None
) -> Lock:
    """Return the lock with the golden files' new cases, and with the versions that are to be released.

    Those are all drafts, unless `release` names them. Raises ReleasedError, a LockError, with every change
    to what is released.
    """
    findings = check(lock, registry, goldens)
    if findings:
        raise ReleasedError(findings)
    entries = dict(lock.entries)
    for protocol in registry:
        for version in protocol.versions:
            key = protocol.name, version
            if key not in entries and release is not None and key not in release:
                continue
            known = entries.get(key, Entry(protocol.layout(version), protocol.tag, repeats=protocol.repeats))
            entries[key] = replace(known, golden=dict(sorted(_hashes(goldens, *key).items())))
    return Lock(dict(sorted(entries.items())))


def retire(lock: Lock, name: str, version: int) -> Lock:
    """Return the lock with one of its versions retired."""
    entry = replace(lock.entries[name, version], retired=True)
    return Lock({**lock.entries, (name, version): entry})


def _status(retired: bool) -> str:
    return "retired" if retired else "released"


def summary(old: Lock, new: Lock, path: Path) -> str:
    """Say in lines what `new` holds that `old` does not."""
    lines = []
    for (name, version), entry in new.entries.items():
        known = old.entries.get((name, version))
        cases = [case for case in entry.golden if known is None or case not in known.golden]
        told = _number(len(cases), "golden case")
        if known is None:
            size = size_text(size_of(entry.layout))
            lines.append(f"{name} v{version}: released, {size}, {told}, {entry.digest}")
        elif cases:
            lines.append(f"{name} v{version}: {told} added: {', '.join(cases)}")
    lines = lines or ["nothing to add"]
    return "\n".join([*lines, f"{path}: {_number(len(new.entries), 'released version')}"])


def _number(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _hashes(goldens: Goldens, name: str, version: int) -> Mapping[str, str]:
    return goldens.get(name, {}).get(version, {})


def _drift(entry: Entry, protocol: Protocol, version: int) -> list[Difference]:
    found = differences(entry.layout, protocol.layout(version), entry.tag, protocol.tag)
    if entry.repeats != protocol.repeats:
        found.insert(0, Difference("", "repeats", str(entry.repeats), str(protocol.repeats)))
    if not found and entry.digest != protocol.digest(version):
        return [Difference("", "digest", entry.digest, protocol.digest(version))]
    return found


def _golden_drift(was: Mapping[str, str], now: Mapping[str, str]) -> list[Difference]:
    if was and not now:
        return [Difference("", "golden cases", str(len(was)), ABSENT)]
    return [
        Difference(f"golden case {case}", "hash", known, now.get(case, ABSENT))
        for case, known in was.items()
        if now.get(case) != known
    ]


# -- reading -------------------------------------------------------------------------------------


class _DamageError(Exception):
    """What is wrong with the text of a lock."""


def read_lock(path: Path) -> Lock:
    """Return the lock that a file holds.

    Raises LockError where there is none, where it is damaged or written by a newer wirelock, and where an
    entry's layout and digest do not belong together.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise LockError(f"{path}: there is no lock; `wirelock release` writes it") from None
    except OSError as problem:
        raise LockError(f"{path}: cannot be read: {problem.strerror or problem}") from None
    return lock_from(data, str(path))


def lock_from(data: bytes, name: str) -> Lock:
    """Return the lock that the bytes of a file hold; `name` stands for it in what LockError says."""
    try:
        return _lock(_json(data.decode("utf-8")))
    except UnicodeDecodeError as problem:
        raise LockError(f"{name}: is not UTF-8 text (byte {problem.start})") from None
    except _DamageError as damage:
        text = str(damage)
        raise LockError(f"{name}: {text if text.isprintable() else json.dumps(text)[1:-1]}") from None


def _json(text: str) -> Any:
    conflict = re.search(r"^(<{7}|={7}|>{7})", text, re.MULTILINE)
    if conflict:
        raise _DamageError(f"holds a merge conflict (line {text.count(chr(10), 0, conflict.start()) + 1})")
    if text.startswith("\ufeff"):
        raise _DamageError("begins with a byte-order mark: save it as UTF-8 without one")
    if not text.strip():
        raise _DamageError("is empty")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno} column {problem.colno}"
        raise _DamageError(f"is not whole JSON: {problem.msg} ({where})") from None
    except (ValueError, RecursionError) as problem:
        raise _DamageError(f"is no lock: {type(problem).__name__} {problem}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise _DamageError(f"has the key {twice!r} twice in one object")
    return dict(pairs)


def _refuse_constant(text: str) -> None:
    raise _DamageError(f"holds {text}, which is no JSON")


def _lock(found: Any) -> Lock:
    number = found.get("wirelock_lock") if isinstance(found, dict) else None
    if type(number) is not int or number < 1:
        raise _DamageError(f'is no lock: a lock begins with "wirelock_lock": {FORMAT}')
    if number > FORMAT:
        raise _DamageError(f"was written by a newer wirelock (format {number}, this one reads {FORMAT})")
    _check_keys(found, ("wirelock_lock", "protocols"), "the lock")
    entries: dict[tuple[str, int], Entry] = {}
    for name, versions in _mapping(found["protocols"], "protocols").items():
        for key, entry in _mapping(versions, name).items():
            if not re.fullmatch(r"v(0|[1-9][0-9]{0,18})", key):
                raise _DamageError(f"{name}: {key!r} is no version: versions are v1, v2, ...")
            entries[name, int(key[1:])] = _entry(entry, f"{name} {key}")
    return Lock(dict(sorted(entries.items())))


def _entry(found: Any, label: str) -> Entry:
    repeats, status = _mapping(found, label).get("repeats", False), found.get("status", "released")
    if type(repeats) is not bool:
        raise _DamageError(f"{label}: repeats is {repeats!r}, no true or false")
    if status not in ("released", "retired"):
        raise _DamageError(f"{label}: the status is {status!r}, neither released nor retired")
    known = {key: value for key, value in found.items() if key not in ("repeats", "status")}
    _check_keys(known, ("digest", "tag", "layout", "golden"), label)
    golden = _mapping(found["golden"], f"{label}: golden")
    for case, value in golden.items():
        if not isinstance(value, str) or not re.fullmatch(r"sha256:[0-9a-f]{64}", value):
            raise _DamageError(f"{label}: golden case {case}: {value!r} is no hash")
    tag = found["tag"]
    if not isinstance(tag, list) or not all(isinstance(name, str) for name in tag):
        raise _DamageError(f"{label}: {tag!r} is no tag")
    try:
        layout, cases = layout_from_json(found["layout"]), dict(sorted(golden.items()))
        entry = Entry(layout, tuple(tag), cases, repeats, status == "retired")
        whole = _stable(layout_to_json(entry.layout)) == _stable(found["layout"])
        edited = not whole or entry.digest != found["digest"]
    except SchemaError as problem:
        raise _DamageError(f"{label}: the layout cannot be read: {problem}") from None
    except (ArithmeticError, LookupError, RecursionError, StopIteration, TypeError, ValueError) as problem:
        what = f"{type(problem).__name__} {problem}"
        raise _DamageError(f"{label}: the layout cannot be read: {what}") from None
    if edited:
        raise _DamageError(f"{label}: the layout and its digest do not belong together: one was edited")
    return entry


def _mapping(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _DamageError(f"{where}: {json.dumps(found)[:40]} is no object")
    return found


def _check_keys(found: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in found:
        if key not in keys:
            raise _DamageError(f"{where}: the key {key!r} is unknown")
    for key in keys:
        if key not in found:
            raise _DamageError(f"{where}: the key {key!r} is missing")


def _stable(found: Any) -> str:
    return json.dumps(found, sort_keys=True)


# -- writing -------------------------------------------------------------------------------------


def lock_text(lock: Lock) -> str:
    """Return the text of a lock: the same for the same lock, one field, rule or golden case a line."""
    protocols: dict[str, Any] = {}
    for (name, version), entry in sorted(lock.entries.items()):
        protocols.setdefault(name, {})[f"v{version}"] = {
            **({"status": "retired"} if entry.retired else {}),
            "digest": entry.digest,
            "tag": list(entry.tag),
            **({"repeats": True} if entry.repeats else {}),
            "layout": layout_to_json(entry.layout),
            "golden": dict(sorted(entry.golden.items())),
        }
    return _spread({"wirelock_lock": FORMAT, "protocols": protocols}, "") + "\n"


def _spread(node: Any, indent: str) -> str:
    """Write what is around the layouts: one key a line."""
    if not isinstance(node, dict) or not node:
        return _one_line(node)
    inside = indent + "  "
    items = (
        f"{inside}{_one_line(key)}: {(_dense if key == 'layout' else _spread)(value, inside)}"
        for key, value in node.items()
    )
    return "{\n" + ",\n".join(items) + f"\n{indent}}}"


def _dense(node: Any, indent: str) -> str:
    """Write a layout: on one line but for the lists of its fields, rules and cases."""
    if not isinstance(node, dict):
        return _one_line(node)
    items = []
    for key, value in node.items():
        if key in ("fields", "rules", "cases") and isinstance(value, list) and value:
            inside = indent + "  "
            text = ",\n".join(inside + _dense(item, inside) for item in value)
            items.append(f"{_one_line(key)}: [\n{text}\n{indent}]")
        else:
            items.append(f"{_one_line(key)}: {_dense(value, indent)}")
    return "{" + ", ".join(items) + "}"


def _one_line(node: Any) -> str:
    text = json.dumps(node, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(node)


def write_lock(path: Path, lock: Lock) -> None:
    """Put a lock in place of the file at `path`, whole or not at all.

    Raises LockError where the file cannot be written, while another writes it, and where it holds what
    `lock` does not: then somebody else released it meanwhile.
    """
    try:
        with replacing(path, LockError) as file:
            _refuse_loss(path, lock)
            file.write(lock_text(lock))
    except OSError as problem:
        raise LockError(f"{path}: cannot be written: {problem.strerror or problem}") from None


def _refuse_loss(path: Path, lock: Lock) -> None:
    """Raise LockError where the file at `path` holds what `lock` does not."""
    held = read_lock(path) if path.exists() else Lock()
    for (name, version), entry in held.entries.items():
        kept = lock.entries.get((name, version), Entry(Layout(())))
        same = kept.digest == entry.digest and kept.retired >= entry.retired
        if not same or not kept.golden.items() >= entry.golden.items():
            raise LockError(f"{path}: {name} v{version} was written by another meanwhile; run it again")

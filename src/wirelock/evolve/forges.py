"""What was found, for programs: JSON, and the forms that forges show as annotations of a change.

In annotations the place of a finding is the class of its version, or the lock where there is no class.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from wirelock.errors import Fault
from wirelock.evolve.captured import Recorded
from wirelock.evolve.compare import Finding
from wirelock.evolve.pairs import Direction, Pair
from wirelock.evolve.reading import Leaf
from wirelock.evolve.report import heading

__all__ = ["FORMAT", "github_lines", "gitlab_text", "json_text"]

FORMAT: Final = 1
"""The format of the JSON that is written here."""
_LEVELS: Final = {"wire": "error", "record": "warning", "name": "notice"}
_SEVERITIES: Final = {"wire": "major", "record": "minor", "name": "info"}


# -- JSON


def json_text(
    names: tuple[str, str], findings: Sequence[Finding], pairs: Sequence[tuple[Pair, Recorded | None]]
) -> str:
    """Return everything that was found as one JSON object."""
    found = {
        "wirelock_diff": FORMAT,
        "old": names[0],
        "new": names[1],
        "findings": [_finding(item) for item in findings],
        "pairs": [_pair(pair, recorded) for pair, recorded in pairs],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _finding(item: Finding) -> dict[str, Any]:
    return {
        "rule": item.rule.id,
        "category": item.rule.category,
        "purpose": item.rule.purpose,
        "old": item.old.label,
        "new": None if item.new is None else item.new.label,
        "path": item.difference.path,
        "aspect": item.difference.aspect,
        "was": item.difference.was,
        "now": item.difference.now,
    }


def _pair(pair: Pair, recorded: Recorded | None) -> dict[str, Any]:
    return {
        "old": pair.old.label,
        "new": pair.new.label,
        "compatible": pair.compatible,
        "told_apart": pair.told_apart,
        "missing": pair.missing,
        "validators": pair.validators,
        "tried": pair.tried,
        "new_reads_old": _direction(pair.forward),
        "old_reads_new": _direction(pair.backward),
        "both_take": pair.both,
        "misread_fields": pair.fields,
        "misread": [
            {
                "kind": kind,
                "hex": found.data.hex(),
                "old": _leaf(found.misread.old),
                "new": _leaf(found.misread.new),
            }
            for kind, found in pair.misread.items()
        ],
        "recorded": recorded and _recorded(recorded),
    }


def _direction(side: Direction) -> dict[str, Any]:
    witness = None if side.refused is None else {"hex": side.refused.hex(), **_fault(side.fault)}
    return {"tried": side.tried, "taken": side.taken, "refused": witness}


def _fault(fault: Fault | None) -> dict[str, Any]:
    assert fault is not None
    return {"code": fault.code, "path": fault.path, "byte": fault.byte, "message": fault.message}


def _leaf(leaf: Leaf | None) -> dict[str, str] | None:
    return None if leaf is None else {"path": leaf.path, "value": str(leaf)}


def _recorded(recorded: Recorded) -> dict[str, Any]:
    return {
        "datagrams": recorded.datagrams,
        "old": recorded.old,
        "new": recorded.new,
        "affected": recorded.affected,
        "named": [
            {
                "file": item.file,
                "packet": item.datagram.packet,
                "time_ns": item.datagram.time_ns,
                "reason": item.reason,
            }
            for item in recorded.named
        ],
    }


# -- annotations


def github_lines(findings: Sequence[Finding], lock: Path) -> Iterator[str]:
    """Yield a workflow command for each finding, which GitHub shows at its file and line."""
    for item in findings:
        path, line = _place(item, lock)
        where = f"file={_property(path)},line={line},title={_property(item.rule.id)}"
        yield f"::{_LEVELS[item.rule.category]} {where}::{_message(_words(item))}"


def gitlab_text(findings: Sequence[Finding], lock: Path) -> str:
    """Return the findings as a Code Quality report, which GitLab shows in merge requests."""
    report = []
    for item in findings:
        path, line = _place(item, lock)
        told = _words(item)
        report.append(
            {
                "description": told,
                "check_name": item.rule.id,
                "fingerprint": hashlib.sha256(f"{item.rule.id} {told}".encode()).hexdigest(),
                "severity": _SEVERITIES[item.rule.category],
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    return json.dumps(report, indent=2, ensure_ascii=False)


def _words(item: Finding) -> str:
    return f"{heading(item.old, item.new)}: {item.difference}"


def _place(item: Finding, lock: Path) -> tuple[str, int]:
    """Return the file, from the working directory if it is inside, and the line of a finding."""
    version = item.new or item.old
    path, line = lock, 1
    if version.record is not None:
        try:
            path, line = Path(inspect.getfile(version.record)), inspect.getsourcelines(version.record)[1]
        except (OSError, TypeError):  # a class that was made without a file
            path, line = lock, 1
    path = path.resolve()
    inside = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return inside.as_posix(), line


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")

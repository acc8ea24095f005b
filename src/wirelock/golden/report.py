"""What is said of a vector that does not hold: one line with the reason and the engines, then its bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

from wirelock.golden.run import ENGINES, Mismatch, run
from wirelock.golden.vectors import Vector
from wirelock.schema.registry import Protocol

__all__ = ["Failure", "failure", "line_of"]


class Failure(NamedTuple):
    """Why a vector does not hold: one line, and lines of detail."""

    reason: str
    detail: tuple[str, ...]


def failure(protocol: Protocol, version: int, vector: Vector) -> Failure | None:
    """Run a vector on every engine; None if it holds on all of them."""
    found: dict[Mismatch, list[str]] = {}
    for engine in ENGINES:
        mismatch = run(protocol, version, vector, engine)
        if mismatch is not None:
            found.setdefault(mismatch, []).append(engine)
    if not found:
        return None
    reasons, detail = [], [f"comment: {vector.comment}"]
    for mismatch, engines in found.items():
        where = " and ".join(engines)
        reasons.append(f"{mismatch.reason} ({where})")
        detail += ["", *(() if len(found) == 1 else (f"{where}: {mismatch.reason}",)), *mismatch.detail]
    return Failure("; ".join(reasons), tuple(detail))


def line_of(text: str, identifier: str) -> int:
    """Return the line of a golden file's text in which a vector's id stands."""
    wanted = re.compile(rf'"id"\s*:\s*"{re.escape(identifier)}"')
    return next((number for number, line in enumerate(text.splitlines(), 1) if wanted.search(line)), 1)

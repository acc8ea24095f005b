"""An author's construct -> everything that keeps it from being a Layout.

A field that cannot be read stands there as UNKNOWN, so that one obstacle does not cause others: an
expression may read any value of it, and where the fields behind it lie is not asked.
"""

from __future__ import annotations

from typing import Any

from wirelock.errors import SchemaError
from wirelock.layout.leaves import Place, kind_name, unwrap
from wirelock.layout.nodes import Layout, Type
from wirelock.layout.scope import UNKNOWN, Scope
from wirelock.layout.walk import read_whole, take

__all__ = ["explain"]


def explain(source: Any) -> tuple[Layout | None, list[SchemaError]]:
    """Read a construct as walk does, and return all that cannot be taken instead of raising the first.

    With obstacles the layout is good for the names of its fields only.
    """
    obstacles: list[SchemaError] = []
    try:
        return read_whole(source, Place("", Scope(), _read, obstacles=obstacles)), obstacles
    except SchemaError as error:
        if not obstacles or kind_name(unwrap(source)) in _INSIDE:
            obstacles.append(error)
    return None, obstacles


def _read(source: Any, at: Place) -> Type:
    assert at.obstacles is not None
    known = len(at.obstacles)
    if at.is_endless(source):
        return UNKNOWN  # type: ignore[no-any-return]
    try:
        return take(source, at)
    except SchemaError as error:
        # What is refused around an obstacle may follow from that: it is told once that one is gone.
        if len(at.obstacles) == known:
            at.note(error)
            for label, part in () if at.is_endless(source) else _parts(unwrap(source)):
                if kind_name(unwrap(part)) not in ("Error", "Pass"):
                    _read(part, at.deeper().within(label))
        return UNKNOWN  # type: ignore[no-any-return]


_INSIDE = ("Select", "Array", "GreedyRange", "RepeatUntil", "Switch", "IfThenElse")


def _parts(source: Any) -> list[tuple[str, Any]]:
    """Return what is inside of a choice or array that was refused itself, and may not have been read."""
    match kind_name(source):
        case "Array" | "GreedyRange" | "RepeatUntil":
            return [("[]", source.subcon)]
        case "Select" | "Sequence":
            return [(f"<{number}>", part) for number, part in enumerate(source.subcons)]
        case "Switch":
            cases = [(f"<{name}>", case) for name, case in source.cases.items()]
            return [*cases, ("<default>", source.default)]
        case "IfThenElse":
            return [("<then>", source.thensubcon), ("<else>", source.elsesubcon)]
    return []

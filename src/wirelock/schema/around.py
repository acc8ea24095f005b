"""What of a layout depends on the record around it, and whether two layouts are the same apart from that."""

from __future__ import annotations

from typing import Any, Final

from wirelock.layout.nodes import (
    Array,
    Computed,
    Layout,
    Switch,
    Until,
)
from wirelock.layout.operators import paths_in
from wirelock.layout.terms import Index, Length, Literal, Number, Operation, Path

_INSIDE: Final = 1 << 16
"""More layouts than can lie around a node."""


def first_difference(own: Layout, here: Layout) -> str:
    """Say where a record's own layout and the one at a field differ; empty if they do not."""
    if [item.label for item in own.fields] != [item.label for item in here.fields]:
        return f"its fields are {', '.join(item.label for item in own.fields)}"
    for a, b in zip(own.fields, here.fields, strict=True):
        if (
            a.position != b.position
            or erased(a.type, 1) != erased(b.type, 1)
            or (a.derived is None) != (b.derived is None)
        ):
            return f"it differs in {a.label}"
    return ""


def erased(node: Any, depth: int, counted: bool = False) -> Any:
    """Return a node with everything blanked that depends on what is around its record.

    `counted`: an array of the record itself is around the node.
    """
    if isinstance(node, Number | Literal | Path | Length | Index | Operation):
        return "around" if _reads_around(node, depth, counted) else node
    if isinstance(node, Computed):
        return erased(node.expression, depth, counted)  # its interval depends on what it reads
    if isinstance(node, Until):
        return erased(node.condition, depth + 1, counted)
    if isinstance(node, Switch) and erased(node.key, depth, counted) == "around":
        return "choice"  # what its cases are called depends on the key's type, which lies around
    if isinstance(node, Array):
        return "array", erased(node.count, depth, counted), erased(node.element, depth, True)
    if isinstance(node, tuple):
        return tuple(erased(item, depth, counted) for item in node)
    if isinstance(node, Layout):
        return tuple(
            (
                item.label,
                item.position,
                erased(item.type, depth + 1, counted),
                erased(item.derived, depth + 1, counted),
            )
            for item in node.fields
        )
    slots = getattr(type(node), "__slots__", None)
    if slots is None or isinstance(node, str | int | float | bytes):
        return node
    return (type(node).__name__, *(erased(getattr(node, name), depth, counted) for name in slots))


def _reads_around(node: Any, depth: int, counted: bool) -> bool:
    if isinstance(node, Index):
        return not counted and depth < _INSIDE
    if isinstance(node, Operation):
        return any(_reads_around(item, depth, counted) for item in node.operands)
    return any(path.up >= depth for path in paths_in(node))


def leads_out(layout: Layout) -> bool:
    """Whether the layout reads fields around the record, so that it only means something inside another."""
    return bool(erased(layout, 0) != erased(layout, _INSIDE))

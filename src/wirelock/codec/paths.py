"""Paths of a table: what there is for one, which record each of its values is of, and what is close to none.

A path is the names of the fields with dots between them; the elements of an array, and the value of what may
be absent, have the path of the field. Where such an element or value is itself an array or a choice, with
offsets or tags of its own, `[]` or `?` stands behind the path. A case has `:` and its label.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod
from typing import Any, Final

from wirelock.codec.columnar import numpy_module
from wirelock.codec.columns import Node
from wirelock.layout.nodes import Array, Constant, If, Layout, Optional, Select, Sequence, Switch

__all__ = ["array_paths", "choice_paths", "column_paths", "holds", "no_path", "nodes_of", "rows_of"]

_LISTED: Final = 8


def holds(node: Node) -> bool:
    """Whether a node is a column of values."""
    if isinstance(node.kind, Layout | Sequence | Switch | Select | Array | If | Optional):
        return False
    return node.array >= 0 or isinstance(node.kind, Constant)


def column_paths(root: Node) -> tuple[str, ...]:
    """Return the paths of the columns that hold values, in the order of the layout."""
    return tuple(dict.fromkeys(node.path for node in root.walk() if node.path and holds(node)))


def array_paths(root: Node) -> dict[str, Node]:
    """Return the arrays whose count may differ, by the paths that have offsets."""
    found: dict[str, Node] = {}
    for node in root.walk():
        if isinstance(node.kind, Array) and node.array >= 0:
            found.setdefault(node.path, node)
    return found


def choice_paths(root: Node) -> dict[str, Node]:
    """Return the choices, and what may be absent, by the paths that have tags."""
    return nodes_of(root, If, Optional, Switch, Select)


def nodes_of(root: Node, *kinds: type) -> dict[str, Node]:
    """Return the nodes of some kinds by path; of several with one path the outermost."""
    found: dict[str, Node] = {}
    for node in root.walk():
        if isinstance(node.kind, kinds):
            found.setdefault(node.path, node)
    return found


def no_path(path: str, what: str, known: Collection[str]) -> KeyError:
    """Return the error for a path at which there is no such thing, with those that are close to it."""
    from difflib import get_close_matches

    close = get_close_matches(path, known, 2, 0.55)
    if close:
        return KeyError(f"{path!r} is no {what}: did you mean {' or '.join(close)}?")
    listed = ", ".join(list(known)[:_LISTED]) or "none"
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return KeyError(f"{path!r} is no {what}: there are {listed}{more}")


def rows_of(root: Node, wanted: Node, count: int, raw: Callable[[int], Any]) -> Any:
    """Return the record of each entry of a node's columns; `raw` gives the arrays of the plan by number."""
    np = numpy_module()
    found = np.arange(count)
    for node, number in _way(root, wanted):
        if node.parts[number].dim == node.dim:
            continue
        found = np.repeat(found, prod(node.repeat))
        if isinstance(node.kind, Array):
            found = np.repeat(found, np.diff(raw(node.array)))
        else:
            first = 1 if isinstance(node.kind, If | Optional) else 0
            found = found[raw(node.array) == number + first]
    return found


def _way(node: Node, wanted: Node) -> list[tuple[Node, int]]:
    """Return the nodes around the wanted one, outermost first, with the number of the part that leads on."""
    for number, part in enumerate(node.parts):
        if any(inside is wanted for inside in part.walk()):
            return [(node, number), *_way(part, wanted)]
    return []

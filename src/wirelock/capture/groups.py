"""What belongs together among the fields of a version: the sums of what lies under one path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wirelock.capture.meters import FieldCost

__all__ = ["GroupCost", "groups_of"]


@dataclass(slots=True)
class GroupCost:
    """What several rows of fields have cost together: those of a record, an array, or a value and its size.

    Groups lie in each other, so that their sum says nothing.
    """

    path: str
    fields: int
    """How many rows."""
    bits: int


def groups_of(costs: Iterable[FieldCost]) -> list[GroupCost]:
    """Return the groups of more than one row, but not one of all rows, in the order of their first ones.

    The count of an array is in one group with its elements: `entities[]`.
    """
    every = list(costs)
    found: dict[str, GroupCost] = {}
    for cost in every:
        labels = cost.path.split(".")
        for end in range(1, len(labels) + 1):
            path = ".".join(labels[:end])
            group = found.setdefault(path.rstrip("[]"), GroupCost(path, 0, 0))
            group.path = max(group.path, path, key=len)
            group.fields += 1
            group.bits += cost.bits
    return [group for group in found.values() if 1 < group.fields < len(every)]

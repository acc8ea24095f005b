"""Values off the wire -> members of their enumeration or flags, without filling a class for ever.

Python keeps every combination of flags that is ever made in the class. A peer that sends all combinations
of a wide field would fill memory with them, so here those of wide fields are made and not kept.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, Final

KEPT_BITS: Final = 8
"""The class keeps all combinations of so many flags: 256 at most."""
KEPT_MEMBERS: Final = 1024
"""A table of wider flags holds so many members; those that come later are made each time."""


def member_of(members: Any, value: int) -> Any:
    """Return the member of an IntEnum or IntFlag class for a value, as `members(value)` would.

    Combinations of more than KEPT_BITS flags, or with bits that have no name, may be other objects each
    time, equal to each other. Raises ValueError where the class has no member for the value.
    """
    kept = members._value2member_map_
    if value in kept:
        return kept[value]
    made = members(value)
    if isinstance(made, IntFlag) and made.name not in members.__members__:
        known = members._flag_mask_
        if int(made) & ~known or known.bit_count() > KEPT_BITS:
            kept.pop(int(made), None)
    # A negative number, which the class keeps beside its member's own.
    if value != made:
        kept.pop(value, None)
    return made


class _Table(dict[int, Any]):
    """Members of flags too many to be listed: made when first used, and a bounded number kept."""

    def __init__(self, members: type[IntFlag]) -> None:
        super().__init__()
        self.members = members

    def __missing__(self, value: int) -> Any:
        made = member_of(self.members, value)
        if len(self) < KEPT_MEMBERS:
            self[value] = made
        return made


def table_of(members: type[IntEnum] | type[IntFlag]) -> dict[int, Any]:
    """Return the members of a class by value; of flags, those of all combinations of single bits."""
    if issubclass(members, IntEnum):
        return {int(member): member for member in members}
    if len(members) > KEPT_BITS:
        return _Table(members)
    values = [0]
    for flag in members:
        values += [value | int(flag) for value in values]
    return {value: member_of(members, value) for value in values}

"""The value of an enumeration or a set of flags, as the expressions of an author see it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["Named", "named"]


def _by_number(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(self: Named, other: object) -> bool:
        return compare(int(self), self.members.get(other, other) if isinstance(other, str) else other)

    return compared


class Named(int):
    """An integer with named values: it compares with numbers, members and names of members.

    Items and attributes are its single flags.
    """

    members: dict[str, int]

    def __getitem__(self, name: str) -> bool:
        return int(self) & self.members[name] == self.members[name]

    def __getattr__(self, name: str) -> bool:
        if name not in self.members:
            raise AttributeError(name)
        return self[name]

    __eq__ = _by_number(operator.eq)
    __ne__ = _by_number(operator.ne)
    __lt__ = _by_number(operator.lt)
    __le__ = _by_number(operator.le)
    __gt__ = _by_number(operator.gt)
    __ge__ = _by_number(operator.ge)
    __hash__ = int.__hash__


def named(value: int, members: Iterable[tuple[Any, int]]) -> Named:
    """Return an integer that knows its (name, value) pairs."""
    made = Named(value)
    made.members = {str(name): number for name, number in members}
    return made

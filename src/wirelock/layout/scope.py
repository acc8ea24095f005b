"""What an expression can see: the fields read before it, in its own layout and in those around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from wirelock.errors import SchemaError
from wirelock.layout.nodes import Flag, Flags, Layout, Type, valued
from wirelock.layout.terms import Path

__all__ = ["CONTEXT_NAMES", "ELEMENT", "UNKNOWN", "Scope", "Unknown"]

CONTEXT_NAMES: Final = (
    "_", "_root", "_params", "_index", "_io", "_parsing", "_building", "_sizing", "_subcons",
)  # fmt: skip
"""What construct itself keeps in its contexts."""
ELEMENT: Final = "obj_"
"""What the condition of a RepeatUntil calls the element that was just read."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """What stands for a construct that cannot be read, while all that is wrong is collected.

    Its size is not known, and an expression may find any value there.
    """


UNKNOWN: Final[Any] = Unknown()


class Scope:
    """The fields that an expression can see: those of its layout so far, and of the ones around it.

    construct gives a PrefixedArray a context of its own, which a Layout has not: such a scope is no
    `layout`. What lies outside of the outermost scope is not known until another layout holds it.
    With `element` it is the scope of a RepeatUntil's condition, which holds nothing but the element.
    `indexed` says whether an array may be around that counts its elements here.
    """

    def __init__(
        self, parent: Scope | None = None, *, layout: bool = True, element: Type | None = None
    ) -> None:
        self.parent = parent
        self.layout = layout
        self.types: dict[str, Type] = {} if element is None else {ELEMENT: element}
        self.of_element = element is not None
        self.copied: set[str] = set()
        """The fields that are RawCopies: their values are reached by `.value`."""
        self.indexed: bool = element is None and (parent is None or parent.indexed)
        self.budget = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """The elements of an array are read here. construct forgets any outer count behind them."""
        self.indexed = True
        yield
        self.indexed = False

    def climb(self, contexts: int, where: str) -> int:
        """Return how many layouts lie between here and `contexts` of construct's contexts out."""
        scope, layouts = self, 0
        for climbed in range(contexts):
            layouts += scope.layout
            if scope.parent is None:
                return layouts + contexts - climbed - 1
            scope = scope.parent
        if not scope.layout:
            raise SchemaError(where, "the path ends in an array's own context", "climb one `_` further")
        return layouts

    @property
    def depth(self) -> int:
        """How many contexts lie around this one."""
        return 0 if self.parent is None else self.parent.depth + 1

    def through_copies(self, path: Path, where: str) -> Path:
        """Return a path without the `value` behind each RawCopy. Raises SchemaError for its other parts."""
        scope = self._around(path.up)
        if scope is None:
            return path
        fields, copied = scope.types, scope.copied
        names: list[str] = []
        waiting = list(path.names)
        while waiting:
            name = waiting.pop(0)
            names.append(name)
            if name in copied:
                if waiting[:1] != ["value"]:
                    told = f"`{path}` is a part of a RawCopy"
                    raise SchemaError(
                        where, told, f"read {'.'.join(names)}.value, or cover it with a Checksum"
                    )
                del waiting[0]
            found = valued(fields[name]) if name in fields else None
            if not isinstance(found, Layout):
                break
            fields = {item.name: item.type for item in found.fields if item.name}
            copied = {item.label for item in found.fields if item.copied}
        return Path(path.up, (*names, *waiting))

    def _around(self, up: int) -> Scope | None:
        """Return the scope of a layout so many layouts out; None outside of what is known."""
        scope: Scope | None = self
        while scope and not scope.layout:
            scope = scope.parent
        for _ in range(up):
            scope = scope.parent if scope else None
            while scope and not scope.layout:
                scope = scope.parent
        return scope

    def resolve(self, path: Path, where: str) -> Type | None:
        """Return the type at a path; None outside of what is known. Raises SchemaError if not there."""
        scope = self._around(path.up)
        if scope is None:
            return None
        fields, seen = scope.types, ""
        found: Type | None = None
        for name in path.names:
            if name not in fields:
                known = ", ".join(key for key in fields if not key.startswith("_")) or "none"
                place = f"in {seen}" if seen else "here"
                raise SchemaError(
                    where,
                    f"`{path}` is not a field read before this one",
                    f"fields that can be read {place}: {known}",
                )
            found, seen = valued(fields[name]), f"{seen}.{name}".lstrip(".")
            if found is UNKNOWN:
                return None
            if isinstance(found, Layout):
                fields = {item.name: item.type for item in found.fields if item.name}
            elif isinstance(found, Flags):
                fields = {member: Flag(1) for member, _ in found.members}
            else:
                fields = {}
        return found

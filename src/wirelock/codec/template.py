"""What the schema room hands the codecs: how values become records, and which classes have which name.

Layouts, enumerations and flags carry the name of their Python class; Names finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any, Protocol, TypeAlias

from wirelock.codec.trail import Frame


@dataclass(frozen=True, slots=True)
class Template:
    """One record class as an engine sees it.

    `make` takes proven values and skips validation; its record is indistinguishable from a validated
    one. `validate` runs everything and raises trail.Found. Both take a dict by field name, unless
    `positional`: then `make` takes the values in the layout's order.
    """

    record: type
    make: Callable[..., Any]
    validate: Callable[[dict[str, Any]], Any]
    positional: bool = False


Names: TypeAlias = Mapping[str, "Template | type[IntEnum] | type[IntFlag]"]


def template_of(names: Names, name: str) -> Template:
    """Return the template of the layout with that name."""
    found = names[name]
    assert isinstance(found, Template), f"{name} is no record"
    return found


class Engine(Protocol):
    """Parses and builds one record. Raises trail.Found, which the schema room turns into its errors."""

    @property
    def name(self) -> str:
        """The word by which the engine is asked for."""

    def parse(self, data: bytes) -> Any:
        """Return the record that all of `data` is."""

    def parse_prefix(self, data: bytes, at: int = 0) -> tuple[Any, int]:
        """Return the record that starts at byte `at` and the number of bytes that it takes."""

    def build(self, record: Any) -> bytes:
        """Return the bytes of a record, after checking it again."""

    def filled(self, record: Any) -> Frame:
        """Return the values of a record as they are written, with its checksums as they must be."""

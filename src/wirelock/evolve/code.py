"""Layouts that can be run: code that a lock only names, put back where it can be found.

A checksum function is found in wirelock.checksums or, as opaque code, in a layout that was made from a
class. What is found nowhere is told by its name and version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from wirelock.checksums import checksum_of
from wirelock.layout.nodes import Checksum, Layout, Opaque, Type, parts_of
from wirelock.layout.rewrite import with_parts

__all__ = ["missing_code", "with_code"]


def with_code(layout: Layout, others: Iterable[Layout]) -> Layout:
    """Return a layout with the code of its checksums and opaque fields, as far as it is found."""
    known: dict[tuple[str, str, int], Any] = {}
    for other in (layout, *others):
        known |= {_key(kind): kind.code for kind in _coded(other) if kind.code is not None}
    found = _filled(layout, known)
    assert isinstance(found, Layout)
    return found


def missing_code(layout: Layout) -> list[str]:
    """Return the code that a layout needs and does not have: `checksum vendor-sum (version 2)`."""
    missing = [kind for kind in _coded(layout) if kind.code is None]
    return list(
        dict.fromkeys(f"{word} {name} (version {version})" for word, name, version in map(_key, missing))
    )


def _coded(kind: Type) -> Iterator[Checksum | Opaque]:
    if isinstance(kind, Checksum | Opaque):
        yield kind
    for part in parts_of(kind):
        yield from _coded(part)


def _key(kind: Checksum | Opaque) -> tuple[str, str, int]:
    if isinstance(kind, Checksum):
        return "checksum", kind.function, kind.version
    return "code", kind.name, kind.version


def _filled(kind: Type, known: dict[tuple[str, str, int], Any]) -> Type:
    match kind:
        case Checksum(code=None):
            code = known.get(_key(kind)) or checksum_of(kind.function, kind.version)
            return replace(kind, code=code)
        case Opaque(code=None):
            return replace(kind, code=known.get(_key(kind)))
    return with_parts(kind, [_filled(part, known) for part in parts_of(kind)])

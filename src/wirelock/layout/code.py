"""Constructs with code in them -> types of nodes: Checksum and opaque.

Code is known by a name and a version, which the lock holds; what has none is a SchemaError.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import construct
from construct.expr import Path as ConstructPath

from wirelock.checksums import named_checksum
from wirelock.layout.adapters import OpaqueAdapter
from wirelock.layout.expression import path_names
from wirelock.layout.leaves import Place, called
from wirelock.layout.nodes import Bytes, Checksum, Integer, Opaque, Rest, Type
from wirelock.layout.scope import UNKNOWN
from wirelock.layout.sized import byte_aligned
from wirelock.layout.trace import function_text, trace

__all__ = ["CODE"]

_COVER: Final = "cover one RawCopy of the same Struct: this.body.data"


def _read_checksum(source: Any, at: Place) -> Type:
    byte_aligned(source, at)
    kind = at.read(source.checksumfield)
    covers = _covered(source.bytesfunc, at)
    function = named_checksum(source.hashfunc)
    if function is None:
        raise at.refuse(
            f"{_function_text(source.hashfunc)} of a Checksum is not declared",
            'use one of wirelock.checksums, or put @wirelock.checksums.checksum("name", 1) above it',
        )
    if kind is UNKNOWN:
        return UNKNOWN
    if not isinstance(kind, Integer) and not (isinstance(kind, Bytes) and isinstance(kind.length, int)):
        raise at.refuse(
            f"a checksum in {called(kind)}", "write it as an integer, or as bytes of constant length"
        )
    return Checksum(kind, function.name, function.version, covers, function.code)


def _function_text(function: Any) -> str:
    if isinstance(function, FunctionType):
        return function_text(function)
    return f"the function `{getattr(function, '__name__', function)}`"


def _covered(source: Any, at: Place) -> str:
    """Return the name of the RawCopy whose bytes a Checksum covers."""
    if isinstance(source, FunctionType):
        source = trace(source, ("this",), at.path)
    match path_names(source) if isinstance(source, ConstructPath) else None:
        case ("this", [str(name), "data"]) if name in at.scope.copied:
            return name
    raise at.refuse(f"a Checksum of `{source!r}`", _COVER)


def _read_opaque(source: Any, at: Place) -> Type:
    byte_aligned(source, at)
    try:
        size: int | Rest = source.subcon.sizeof()
    except Exception:  # of the author's own code, which may raise anything
        size = Rest()
    return Opaque(source.code, source.version, size, source.subcon)


CODE: Final[dict[type, Callable[[Any, Place], Type]]] = {
    construct.Checksum: _read_checksum,
    OpaqueAdapter: _read_opaque,
}

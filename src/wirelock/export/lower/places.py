"""Which values always lie at the same place: those are loaded and stored without looking for their end."""

from __future__ import annotations

from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Framed,
    Integer,
    Layout,
    Limited,
    Mapping,
    Nothing,
    Padded,
    Padding,
    Rest,
    Scaled,
    Sequence,
    Sized,
    Text,
    Time,
    Type,
    parts_of,
    plain,
)
from wirelock.layout.sizes import padding_behind, size_of

__all__ = ["fixed_size"]


def fixed_size(kind: Type) -> int | None:
    """Return the bits of a type inside of which all lies at a fixed place; None for any other.

    Text and bytes in a region of fixed size do: only where they end within it depends on them.
    """
    return size_of(kind).lowest if _is_fixed(kind) else None


def _is_fixed(kind: Type) -> bool:
    match kind:
        case (
            Integer() | Float() | Flag() | Enum() | Flags() | Mapping() | Scaled() | Time() | Constant()
            | Nothing() | Computed()
        ):  # fmt: skip
            return True
        case Padding(length=length) | Bytes(length=length):
            return isinstance(length, int)
        case Text(inner=inner):
            return _is_fixed(inner)
        case Sized(inner=inner, extent=int()) if plain(inner) == Bytes(Rest()):
            return True
        case Sized(inner=inner, extent=int(size), stripped=0):
            return _is_fixed(inner) and size_of(inner).lowest == 8 * size
        case Padded(inner=inner):
            padding = padding_behind(kind)
            return _is_fixed(inner) and padding is not None and padding >= 0
        case Array(count=count):
            return isinstance(count, int) and all(map(_is_fixed, parts_of(kind)))
        case Layout() | Limited() | Framed() | Sequence():
            return all(map(_is_fixed, parts_of(kind)))
    return False

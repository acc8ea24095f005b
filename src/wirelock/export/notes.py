"""What the doc comment of a field says: its meaning, then its range and unit where the meaning does not."""

from __future__ import annotations

from typing import Final

from wirelock.layout.describe import type_text
from wirelock.layout.nodes import (
    Bytes,
    Enum,
    Flags,
    Float,
    If,
    Integer,
    Limited,
    Mapping,
    Optional,
    Rest,
    Scaled,
    Text,
    Time,
    Type,
    VarInt,
    limits_of,
    plain,
)
from wirelock.layout.terms import Limit

__all__ = ["note_of"]

_WORDS: Final = {
    "ge": "{} or more", "gt": "more than {}", "le": "{} or less", "lt": "less than {}",
    "multiple_of": "a multiple of {}", "one_of": "one of {}", "none_of": "none of {}",
    "min_length": "length {} or more", "max_length": "length {} or less",
}  # fmt: skip


def note_of(kind: Type, meaning: str) -> str:
    """Return a field's documentation with its range and unit behind it, as one or two sentences."""
    facts = "; ".join(filter(None, (_range(kind), _unit(kind))))
    if not meaning:
        return f"{facts[:1].upper()}{facts[1:]}." if facts else ""
    ending = "" if meaning.endswith((".", "!", "?")) else "."
    return f"{meaning}{ending} Range: {facts}." if facts else f"{meaning}{ending}"


def _range(kind: Type) -> str:
    """Return the values that a field can have, in words; nothing where its type says so already."""
    limits = {limit.kind: limit for limit in limits_of(kind)}
    told: list[str] = []
    inner = plain(kind)
    match inner:
        case If(type=then) | Optional(inner=then):
            return f"{_range(then)}, or absent".removeprefix(", or ")
        case Integer() | Time() | VarInt():
            integer = inner.integer if isinstance(inner, Time) else inner
            lowest, highest = limits.pop("ge", None), limits.pop("le", None)
            low = integer.lowest if lowest is None else lowest.value
            high = integer.highest if highest is None else highest.value
            told = [f"{low} to {high}"]
        case Float() | Scaled() if "ge" in limits and "le" in limits:
            told = [f"{limits.pop('ge').value} to {limits.pop('le').value}"]
        case Bytes(length=length):
            told = [f"{length} bytes"] if isinstance(length, int) else []
            told += ["all bytes that are left"] if isinstance(length, Rest) else []
        case Enum() | Flags() | Mapping():
            told = ["flags"] if isinstance(inner, Flags) else ["one of the members"]
        case Text(encoding=encoding):
            told = [encoding]
    return ", ".join([*told, *map(_limit_words, limits.values())])


def _limit_words(limit: Limit) -> str:
    value = limit.value
    if not isinstance(value, tuple):
        return _WORDS[limit.kind].format(value)
    items = [item.hex(" ") if isinstance(item, bytes) else repr(item) for item in value]
    return _WORDS[limit.kind].format(", ".join(items))


def _unit(kind: Type) -> str:
    match plain(kind):
        case Limited(inner=inner) | If(type=inner) | Optional(inner=inner):
            return _unit(inner)
        case Scaled() as scaled:
            return type_text(scaled).partition(", ")[2].rpartition(", rounded")[0]
        case Time(unit=unit, epoch=epoch):
            return f"{unit} since {epoch}" if epoch else unit
    return ""

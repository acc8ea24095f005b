"""What the doc comment of a field says: its meaning in the author's words, then its range and its unit."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wirelock.layout.nodes import (
    Array,
    Bytes,
    Float,
    Framed,
    If,
    Integer,
    Limited,
    Optional,
    Padded,
    Scaled,
    Sized,
    Text,
    Time,
    Type,
    VarInt,
)
from wirelock.layout.terms import Limit

__all__ = ["note_of"]

_WORDS: Final = {
    "ge": "{} or more", "gt": "more than {}", "le": "{} or less", "lt": "less than {}",
    "multiple_of": "a multiple of {}", "one_of": "one of {}", "none_of": "none of {}",
    "min_length": "{} or more", "max_length": "{} or less",
}  # fmt: skip


def note_of(kind: Type, meaning: str) -> str:
    """Return a field's documentation with its range and its unit behind it, each a sentence of its own."""
    if meaning and not meaning.endswith((".", "!", "?")):
        meaning += "."
    return " ".join(filter(None, (meaning, *_facts(kind))))


def _facts(kind: Type) -> Iterator[str]:
    """Yield what the type of a field in a client's language does not say."""
    limits: dict[str, Limit] = {}
    while True:
        match kind:
            case Limited(inner=inner):
                limits |= {limit.kind: limit for limit in kind.limits}
                kind = inner
            case If(type=inner) | Optional(inner=inner) | Framed(inner=inner):
                kind = inner
            case Padded(inner=inner) | Sized(inner=inner):
                kind = inner
            case _:
                break
    match kind:
        case Integer() | VarInt() as integer:
            yield f"Range: {_range(limits, integer.lowest, integer.highest)}."
        case Time(integer=integer, unit=unit, epoch=epoch):
            yield f"Range: {_range(limits, integer.lowest, integer.highest)}."
            yield f"Unit: {unit} since {epoch}." if epoch else f"Unit: {unit}."
        case Scaled(integer=integer) as scaled:
            ends = sorted((scaled.value(integer.lowest), scaled.value(integer.highest)))
            yield f"Range: {_range(limits, *ends)}."
            step = Fraction(abs(scaled.multiply), scaled.divide)
            yield f"Unit: {scaled.unit}, in steps of {step}." if scaled.unit else f"In steps of {step}."
        case Float():
            if limits:
                yield f"Range: {_range(limits, None, None)}."
        case Bytes() | Text():
            yield from _lengths(limits, "characters" if isinstance(kind, Text) else "bytes")
        case Array(element=element):
            yield from _lengths(limits, "elements")
            yield from (f"Each: {fact[0].lower()}{fact[1:]}" for fact in _facts(element))


def _range(limits: dict[str, Limit], lowest: float | None, highest: float | None) -> str:
    """Return a range in words: from a limit to another one, or from and to what the wire can say."""
    low, high = limits.pop("ge", None), limits.pop("le", None)
    ends = [lowest if low is None else low.value, highest if high is None else high.value]
    if None in ends:
        told = [_limit(limit) for limit in (low, high) if limit is not None]
    else:
        told = [" to ".join(map(_value, ends))]
    return ", ".join([*told, *map(_limit, limits.values())])


def _lengths(limits: dict[str, Limit], what: str) -> Iterator[str]:
    lengths = [limits.pop(kind) for kind in ("min_length", "max_length") if kind in limits]
    if len(lengths) == 2:
        yield f"Length: {lengths[0].value} to {lengths[1].value} {what}."
    elif lengths:
        yield f"Length: {_limit(lengths[0])} {what}."
    if limits:
        yield f"Value: {', '.join(map(_limit, limits.values()))}."


def _limit(limit: Limit) -> str:
    items = limit.value if isinstance(limit.value, tuple) else (limit.value,)
    return _WORDS[limit.kind].format(", ".join(map(_value, items)))


def _value(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex(" ") or "nothing"
    return f"{value:.17g}" if isinstance(value, float) else repr(value)

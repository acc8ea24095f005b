"""Values that were read, in words for people: what stands on the wire, and what it means.

The one place for such words: inspected records, golden tables and captures all use them. Nothing here
lets a peer's bytes reach a terminal as they are: text is quoted and escaped.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from wirelock.codec.floats import float_to_bits
from wirelock.codec.scaled import raw_of
from wirelock.codec.trail import value_text
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Flags,
    Float,
    If,
    Layout,
    Mapping,
    Nothing,
    Opaque,
    Optional,
    Padding,
    Scaled,
    Select,
    Sequence,
    Switch,
    Terminated,
    Text,
    Time,
    Type,
    plain,
)

_DIGITS: Final = {16: 5, 32: 9, 64: 17}
"""Decimal digits that tell any two floats of a width apart."""
_OCTETS: Final = 8
"""Bytes of one value that are shown beside another's."""
_NANOSECONDS: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def words(kind: Type, value: Any) -> tuple[str, str]:
    """Return a value as it is on the wire, and what it means; either may be empty."""
    match plain(kind):
        case Layout(name=name):
            return "", name
        case Array() | Sequence() | Select() if value is None:  # it was not read to its end
            return "", ""
        case Array() | Sequence():
            return "", f"{len(value)} element{'' if len(value) == 1 else 's'}"
        case If() | Optional() | Switch() if value is None:
            return "", "absent"
        case Nothing() | Terminated():
            return "", "nothing"
        case Padding():
            return "", "padding"
        case Constant():
            return "" if isinstance(value, bytes) else value_text(value), "constant"
        case Bytes() if isinstance(value, bytes):
            readable = value and all(0x20 <= octet < 0x7F for octet in value)
            return "", quoted(value.decode("ascii")) if readable else ""
        case Enum(members=members):
            return value_text(value), next((name for name, member in members if member == value), "")
        case Mapping(members=pairs):
            return value_text(value), next((str(key) for key, member in pairs if member == value), "")
        case Flags(members=members):
            return value_text(value), "|".join(name for name, mask in members if value & mask == mask)
        case Float(bits=bits):
            return _float_words(value, bits)
        case Scaled(multiply=multiply, add=add, divide=divide, unit=unit):
            return value_text(raw_of(value, multiply, add, divide)), f"{value!r} {unit}".rstrip()
        case Time(unit=unit, epoch=epoch):
            return value_text(value), _time_words(value, unit, epoch)
        case Text():
            return quoted(value), ""
        case Checksum(function=name, covers=covers):
            return value_text(value), f"{name} of {covers}"
        case Opaque():
            return "", quoted(f"{value!r:.80}")[1:-1]
        case Computed():
            return value_text(value), "computed"
    return value_text(value), ""


def quoted(text: str) -> str:
    """Return text in quotes, with everything escaped that is not printable."""
    return repr(text)


def octets_words(octets: bytes, other: bytes = b"") -> str:
    """Return bytes in hex; of many a few, from a little before the first that `other` has not."""
    pairs = enumerate(zip(octets, other, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), 0)
    start = max(0, same - 2) if len(octets) > _OCTETS else 0
    shown = octets[start : start + _OCTETS].hex(" ")
    before = f"({start} bytes) " if start else ""
    after = len(octets) - start - _OCTETS
    return before + shown + (f" (+{after})" if after > 0 else "")


def utc(time_ns: int) -> str:
    """Return nanoseconds since 1970 as an ISO 8601 time, to the last digit; plain outside its years."""
    seconds, nanoseconds = divmod(time_ns, 10**9)
    try:
        text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{time_ns} ns"
    return f"{text}.{nanoseconds:09}Z"


def _float_words(value: float, bits: int) -> tuple[str, str]:
    if value != value:
        return "nan", f"bits {float_to_bits(value, bits):0{bits // 4}x}"
    return f"{value:.{_DIGITS[bits]}g}", ""


def _time_words(value: int, unit: str, epoch: str) -> str:
    if epoch == "unix" and unit in _NANOSECONDS:
        return utc(value * _NANOSECONDS[unit])
    return f"{unit} since {epoch}" if epoch else unit

"""How pydantic is to validate and dump the values of one layout type, apart from constraints.

Scalars are strict, integers hold what the wire holds, floats are rounded to the wire's width when the
record is made. In JSON, bytes are hex, integers beyond 2^53 strings, and floats that JSON has not are
{"bits": "7fc00001"}.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum, IntFlag
from fractions import Fraction
from math import floor, isfinite
from typing import Any, Final

import annotated_types as at
from pydantic import AfterValidator, BeforeValidator, ConfigDict, PlainSerializer, Strict, ValidationInfo
from pydantic_core import PydanticSerializationUnexpectedValue

from wirelock.codec.floats import exact_float_bits, float_from_bits, float_to_bits, round_float
from wirelock.codec.members import member_of
from wirelock.codec.scaled import raw_of
from wirelock.layout.nodes import Enum, Flags, Float, Integer, Rounding, Scaled, VarInt

JSON_CONFIG: Final = ConfigDict(ser_json_bytes="hex", val_json_bytes="hex")
"""How bytes stand in JSON."""
JSON_INTEGERS: Final = 1 << 53
"""The largest integer that every JSON reader keeps."""


_HEX: Final = re.compile("([0-9a-fA-F]{2})*")
_FLOAT_BITS: Final = re.compile("([0-9a-fA-F]{4}){1,2}|[0-9a-fA-F]{16}")


def _bytes_from_json(value: Any, info: ValidationInfo) -> Any:
    # Inside of a tuple or union pydantic sees what JSON held as Python's, and takes no str for bytes.
    if info.mode == "json" and isinstance(value, str):
        if not _HEX.fullmatch(value):
            raise ValueError("bytes are pairs of hex digits")
        return bytes.fromhex(value)
    return value


BYTES_METADATA: Final = (Strict(), BeforeValidator(_bytes_from_json))
"""pydantic metadata for bytes."""


def integer_metadata(kind: Integer | VarInt) -> tuple[Any, ...]:
    """Return pydantic metadata for an int of that width."""
    return Strict(), at.Ge(kind.lowest), at.Le(kind.highest), *wide_metadata(kind.lowest, kind.highest)


def wide_metadata(lowest: int, highest: int) -> tuple[Any, ...]:
    """Return pydantic metadata that writes integers beyond 2^53 as strings in JSON, and reads them."""
    if max(-lowest, highest) <= JSON_INTEGERS:
        return ()
    return BeforeValidator(_integer_from_json), INTEGER_TO_JSON


def member_metadata(kind: Enum | Flags, members: type[IntEnum] | type[IntFlag]) -> tuple[Any, ...]:
    """Return pydantic metadata for an enumeration or flags; `members` is its class."""

    def from_json(value: Any, info: ValidationInfo) -> Any:
        if info.mode != "json":
            return value
        number = _integer_from_json(value, info) if wide else value
        # Of JSON pydantic would take true and 1.0 for the member 1, and nothing beyond 64 bits.
        if type(number) is not int:
            raise ValueError(f"{value!r} is no integer")
        return member_of(members, number)

    wide = wide_metadata(kind.integer.lowest, kind.integer.highest)
    return Strict(), BeforeValidator(from_json), *wide[1:]


def _integer_from_json(value: Any, info: ValidationInfo) -> Any:
    if info.mode == "json" and isinstance(value, str) and re.fullmatch("-?[0-9]{1,1300}", value):
        return int(value)
    return value


def _integer_to_json(value: int) -> int | str:
    if not isinstance(value, int) or value is True or value is False:
        # of a union: the value is another type's to write
        raise PydanticSerializationUnexpectedValue(f"{value!r} is no int")
    return int(value) if -JSON_INTEGERS <= value <= JSON_INTEGERS else str(int(value))


INTEGER_TO_JSON: Final = PlainSerializer(_integer_to_json, when_used="json")
"""Writes an integer of any width in JSON."""


def float_metadata(kind: Float) -> tuple[Any, ...]:
    """Return pydantic metadata for a float of that width."""
    bits = kind.bits

    def rounded(value: float) -> float:
        try:
            return round_float(value, bits)
        except OverflowError:
            raise ValueError(f"{value} is too large for binary{bits}") from None

    def to_json(value: float) -> Any:
        if type(value) is not float:
            raise PydanticSerializationUnexpectedValue(f"{value!r} is no float")
        if isfinite(value):
            return value
        raw = exact_float_bits(value, bits)
        # Of a union the value may be another width's; sixteen digits hold them all.
        return {"bits": f"{float_to_bits(value, 64):016x}" if raw is None else f"{raw:0{bits // 4}x}"}

    # Validators before the core run outermost first, those after it innermost first.
    return (
        Strict(),
        BeforeValidator(_float_from_json),
        AfterValidator(rounded),
        PlainSerializer(to_json, when_used="json"),
    )


def scaled_metadata(kind: Scaled) -> tuple[Any, ...]:
    """Return pydantic metadata for a float that stands for an integer: it is put on the nearest step."""
    ends = sorted((kind.value(kind.integer.lowest), kind.value(kind.integer.highest)))

    def on_a_step(value: float) -> float:
        if not isfinite(value):
            raise ValueError(f"{value} is no value of {ends[0]}..{ends[1]}")
        if raw_of(value, kind.multiply, kind.add, kind.divide) is None:
            exact = (Fraction(value) * kind.divide - kind.add) / kind.multiply
            value = kind.value(ROUND[kind.rounding](exact))
        if not ends[0] <= value <= ends[1]:
            raise ValueError(f"{value} is not in {ends[0]}..{ends[1]}")
        return value

    return Strict(), AfterValidator(on_a_step)


def _half_away(value: Fraction) -> int:
    whole = floor(abs(value) + Fraction(1, 2))
    return whole if value >= 0 else -whole


ROUND: Final[dict[Rounding, Callable[[Fraction], int]]] = {
    "half-even": round,
    "half-away": _half_away,
    "floor": floor,
}


def _float_from_json(value: Any, info: ValidationInfo) -> Any:
    if info.mode != "json" or not isinstance(value, dict):
        return value
    text = value.get("bits")
    if len(value) != 1 or not isinstance(text, str) or not _FLOAT_BITS.fullmatch(text):
        raise ValueError('a float that JSON has not is {"bits": "4, 8 or 16 hex digits"}')
    found = float_from_bits(int(text, 16), 4 * len(text))
    if found is None:
        raise ValueError(f"{text} is a signalling NaN")
    return found


def ordered(value: Any) -> Any:
    """Refuse, in place of a tuple, what has no order of its own."""
    if isinstance(value, list | tuple):
        return value
    raise ValueError(f"{type(value).__name__} is not a tuple or list")

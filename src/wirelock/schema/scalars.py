"""How pydantic is to validate and dump the values of one layout type, apart from constraints.

Scalars are strict, integers hold what the wire holds, floats are rounded to the wire's width when the
record is made. In JSON, bytes are hex, integers beyond 2^53 strings, and floats that JSON has not are
{"bits": "7fc00001"}.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

import annotated_types as at
from pydantic import AfterValidator, BeforeValidator, ConfigDict, PlainSerializer, Strict, ValidationInfo
from pydantic_core import PydanticSerializationUnexpectedValue

from wirelock.codec.floats import float_from_bits, float_to_bits, round_float
from wirelock.layout.nodes import Float, Integer

JSON_CONFIG: Final = ConfigDict(ser_json_bytes="hex", val_json_bytes="hex")
"""How bytes stand in JSON."""
JSON_INTEGERS: Final = 1 << 53
"""The largest integer that every JSON reader keeps."""


def _bytes_from_json(value: Any, info: ValidationInfo) -> Any:
    # Inside of a tuple or union pydantic sees what JSON held as Python's, and takes no str for bytes.
    if info.mode == "json" and isinstance(value, str):
        return bytes.fromhex(value)
    return value


BYTES_METADATA: Final = (Strict(), BeforeValidator(_bytes_from_json))
"""pydantic metadata for bytes."""


def integer_metadata(kind: Integer) -> tuple[Any, ...]:
    """Return pydantic metadata for an int of that width."""
    bounds = Strict(), at.Ge(kind.lowest), at.Le(kind.highest)
    if max(-kind.lowest, kind.highest) <= JSON_INTEGERS:
        return bounds
    return *bounds, BeforeValidator(_integer_from_json), PlainSerializer(_integer_to_json, when_used="json")


def _integer_from_json(value: Any, info: ValidationInfo) -> Any:
    if (
        info.mode == "json"
        and isinstance(value, str)
        and value.removeprefix("-").isdecimal()
        and len(value) < 400
    ):
        return int(value)
    return value


def _integer_to_json(value: int) -> int | str:
    if type(value) is not int:  # of a union: the value is another type's to write
        raise PydanticSerializationUnexpectedValue(f"{value!r} is no int")
    return value if -JSON_INTEGERS <= value <= JSON_INTEGERS else str(value)


def float_metadata(kind: Float) -> tuple[Any, ...]:
    """Return pydantic metadata for a float of that width."""
    bits = kind.bits

    def from_json(value: Any, info: ValidationInfo) -> Any:
        if info.mode != "json" or not isinstance(value, dict):
            return value
        text = value.get("bits")
        if len(value) != 1 or not isinstance(text, str) or len(text) != bits // 4:
            raise ValueError(f'a float that JSON has not is {{"bits": "{bits // 4} hex digits"}}')
        found = float_from_bits(int(text, 16), bits)
        if found is None:
            raise ValueError(f"{text} is a signalling NaN")
        return found

    def rounded(value: float) -> float:
        try:
            return round_float(value, bits)
        except OverflowError:
            raise ValueError(f"{value} is too large for binary{bits}") from None

    def to_json(value: float) -> Any:
        if type(value) is not float:
            raise PydanticSerializationUnexpectedValue(f"{value!r} is no float")
        return value if isfinite(value) else {"bits": f"{float_to_bits(value, bits):0{bits // 4}x}"}

    # Validators before the core run outermost first, those after it innermost first.
    return (
        Strict(),
        BeforeValidator(from_json),
        AfterValidator(rounded),
        PlainSerializer(to_json, when_used="json"),
    )


def ordered(value: Any) -> Any:
    """Refuse, in place of a tuple, what has no order of its own."""
    if isinstance(value, list | tuple):
        return value
    raise ValueError(f"{type(value).__name__} is not a tuple or list")

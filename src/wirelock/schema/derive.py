"""Fields of a record that follow from the others: counts, rebuilt and computed fields, checksums.

They may be left out when a record is made; then LEFT_OUT stands in their place until they are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from wirelock.codec.code import LEFT_OUT
from wirelock.codec.implied import implied
from wirelock.codec.template import Engine
from wirelock.codec.trail import Found
from wirelock.layout.nodes import Field, Layout, checksum_in

__all__ = ["derive_again", "fill_in", "fill_in_checksums", "follows", "left_out"]


def left_out() -> Any:
    """Return what stands for a value that was left out."""
    return LEFT_OUT


def follows(item: Field) -> bool:
    """Whether the value of a field follows from the others."""
    return item.derived is not None or checksum_in(item.type) is not None


def fill_in(record: Any, layout: Layout) -> None:
    """Compute the derived fields that were left out when the record was made."""

    def outer(wanted: Any) -> Any:
        raise TypeError(f"{wanted} lies around the record")

    for item in layout.fields:
        if item.in_record and item.derived is not None and record.__dict__[item.label] is LEFT_OUT:
            try:
                value = implied(item, layout, record, outer, lambda value: value is LEFT_OUT)
            except (AttributeError, TypeError):
                told = {"field": item.label}
                raise PydanticCustomError(
                    "missing", "{field} follows from fields around the record: give it", told
                ) from None
            record.__dict__[item.label] = value


def fill_in_checksums(record: Any, layout: Layout, engine: Engine) -> None:
    """Compute the checksums that were left out. Raises Found where the record cannot be built."""
    missing = [item.label for item in layout.fields if _is_missing(item, record)]
    if missing:
        written = engine.filled(record)
        record.__dict__.update((label, written.values[label]) for label in missing)


def _is_missing(item: Field, record: Any) -> bool:
    return item.in_record and follows(item) and record.__dict__[item.label] is LEFT_OUT


def derive_again(record: Any, layout: Layout, engine: Engine | None, update: Mapping[str, Any]) -> None:
    """Compute what follows from the other values of a copy; what cannot be computed stays as it was."""
    labels = [item.label for item in layout.fields if item.in_record and follows(item)]
    before = {label: record.__dict__[label] for label in labels if label not in update}
    record.__dict__.update(dict.fromkeys(before, LEFT_OUT))
    try:
        fill_in(record, layout)
        if engine is not None:
            fill_in_checksums(record, layout, engine)
    except (Found, PydanticCustomError, AttributeError, TypeError, ValueError, OverflowError):
        record.__dict__.update(
            (label, value) for label, value in before.items() if record.__dict__[label] is LEFT_OUT
        )

"""annotated-types constraints and Literals -> Limits of the layout, and what pydantic checks beside them.

A constraint that the wire could never break, or that contradicts another, is a SchemaError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import annotated_types as at
from pydantic import AfterValidator

from wirelock.codec.text import encode_text
from wirelock.codec.trail import limit_holds, limits_text
from wirelock.errors import SchemaError
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Integer,
    Scaled,
    Text,
    Time,
    Type,
    VarInt,
)
from wirelock.layout.terms import LIMITS, Limit


def ungrouped(metadata: tuple[Any, ...]) -> Iterator[Any]:
    """Yield metadata with annotated-types groups (Interval, Len) taken apart."""
    for item in metadata:
        if isinstance(item, at.GroupedMetadata):
            yield from ungrouped(tuple(item))
        else:
            yield item


def read_limits(kind: Type, item: Any, path: str) -> list[Limit]:
    """Lower one annotated-types constraint; checks that it narrows what the wire can hold."""
    if isinstance(kind, Time):
        kind = kind.integer
    match item, kind:
        case (
            (at.Ge(ge=number) | at.Gt(gt=number) | at.Le(le=number) | at.Lt(lt=number)),
            (Integer() | VarInt() | Computed(boolean=False)),
        ):
            if isinstance(number, bool) or not isinstance(number, int):
                raise SchemaError(path, f"the constraint {item} on an integer", "compare it with an int")
            low = isinstance(item, at.Ge | at.Gt)
            bound = number + isinstance(item, at.Gt) - isinstance(item, at.Lt)
            if not kind.lowest <= bound <= kind.highest:
                raise SchemaError(
                    path,
                    f"the constraint {item} lies outside of the wire's own {kind.lowest}..{kind.highest}",
                    "narrow it, or widen the field",
                )
            return [Limit("ge" if low else "le", bound)]
        case (
            (at.Ge(ge=number) | at.Gt(gt=number) | at.Le(le=number) | at.Lt(lt=number)),
            (Float() | Scaled()),
        ):
            if isinstance(number, bool) or not isinstance(number, int | float) or number != number:
                raise SchemaError(path, f"the constraint {item} on a float", "compare it with a number")
            return [Limit(type(item).__name__.lower(), float(number))]  # type: ignore[arg-type]
        case at.MultipleOf(multiple_of=number), (Integer() | VarInt()):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise SchemaError(path, f"the constraint {item}", "give a positive int")
            return [Limit("multiple_of", number)]
        case ((at.MinLen(min_length=number) | at.MaxLen(max_length=number)), (Bytes() | Array() | Text())):
            length = (
                kind.count if isinstance(kind, Array) else kind.length if isinstance(kind, Bytes) else None
            )
            limit = Limit("min_length" if isinstance(item, at.MinLen) else "max_length", number)
            if not isinstance(length, int):
                return [limit]
            if not limit_holds(limit, range(length)):
                raise SchemaError(path, f"the length is always {length}", f"leave out {item}")
            return []
    raise SchemaError(
        path,
        f"the constraint {item!r} is not known to all engines",
        "use annotated-types, a Literal, a Rule, or a pydantic validator",
    )


def check_literal(kind: Type, values: tuple[Any, ...], path: str) -> None:
    """Raise SchemaError where a value of a Literal can never be on the wire."""
    for value in values:
        match kind:
            case Integer() | VarInt() | Computed():
                fits = kind.lowest <= value <= kind.highest
            case Time(integer=integer):
                fits = integer.lowest <= value <= integer.highest
            case Text():
                fits = encode_text(value, kind.encoding, kind.closed) is not None
            case Bytes(length=int(length)):
                fits = len(value) == length
            case Constant():
                fits = value == kind.value and len(values) == 1
            case Bytes() | Flag():
                fits = True
            case Enum(members=members) | Flags(members=members):
                fits = isinstance(kind, Flags) or int(value) in {number for _, number in members}
            case _:
                fits = False
        if not fits:
            raise SchemaError(path, f"Literal[{value!r}] can never be on the wire")


def merged(limits: list[Limit], path: str) -> tuple[Limit, ...]:
    """Return limits in their canonical order. Raises SchemaError where they contradict each other."""
    kinds = [limit.kind for limit in limits]
    if len(set(kinds)) != len(kinds):
        raise SchemaError(path, f"two constraints of one kind: {limits_text(limits)}", "leave one out")
    found: dict[str, Any] = {limit.kind: limit.value for limit in limits}
    for low, high in (("ge", "le"), ("min_length", "max_length")):
        if low in found and high in found and found[low] > found[high]:
            raise SchemaError(path, f"no value is in {limits_text(limits)}", "swap the bounds")
    return tuple(sorted(limits, key=lambda limit: LIMITS.index(limit.kind)))


def only(wanted: int | bytes) -> AfterValidator:
    """Return a validator that takes one value."""

    def check(value: Any) -> Any:
        if value != wanted:
            raise ValueError(f"the constant is {wanted!r}")
        return value

    return AfterValidator(check)


def one_of(limit: Limit) -> AfterValidator:
    """Return a validator that takes the values of a Literal."""

    def check(value: Any) -> Any:
        if not limit_holds(limit, value):
            raise ValueError(f"not {limits_text([limit])}")
        return value

    return AfterValidator(check)


def known_bits(mask: int) -> AfterValidator:
    """Return a validator that takes flags with a name only."""

    def check(value: Any) -> Any:
        if int(value) & ~mask:
            raise ValueError(f"{int(value):#x} has bits outside of {mask:#x}")
        return value

    return AfterValidator(check)

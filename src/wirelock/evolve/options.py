"""The values of a number, text or bytes that are worth trying: small ones, the ends, and where it turns.

Interests are what two layouts say of a field by name: its constants, members, limits, the cases of a choice
by it, and what expressions compare it with, on both sides. Everything is in a fixed order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as Mapping_
from typing import Any, Final, TypeAlias

from wirelock.codec.floats import exact_float_bits, float_from_bits
from wirelock.codec.scaled import raw_of
from wirelock.codec.trail import limit_holds
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Mapping,
    Padded,
    Padding,
    Scalar,
    Scaled,
    Sized,
    Switch,
    Text,
    Time,
    Type,
    Until,
    VarInt,
    integer_of,
    limits_of,
    parts_of,
    plain,
)
from wirelock.layout.operators import paths_in
from wirelock.layout.terms import Expression, Limit, Number, Operation

__all__ = [
    "Interests", "bit_text", "bytes_options", "integer_options", "interests_of", "scalar_options",
    "text_options",
]  # fmt: skip

Interests: TypeAlias = Mapping_[str, Sequence[Any]]
"""Values by the name of a field, in order."""

_MOST: Final = 40
"""The values of one field that are tried."""
_SMALL: Final = (0, 1, 2, -1)


# -- interests


def interests_of(*layouts: Layout) -> Interests:
    """Return what layouts say of their fields."""
    found: dict[str, set[Any]] = defaultdict(set)
    for layout in layouts:
        _gather(layout, "", found)
    in_order = lambda value: (isinstance(value, bytes), isinstance(value, str), value)  # noqa: E731
    return {name: sorted(values, key=in_order) for name, values in found.items()}


def _gather(kind: Type, name: str, found: dict[str, set[Any]]) -> None:
    for limit in limits_of(kind):
        found[name].update(limit.value if isinstance(limit.value, tuple) else (limit.value,))
    inner = plain(kind)
    match inner:
        case Constant(value=value):
            found[name].add(value)
        case Enum(members=members) | Flags(members=members):
            found[name].update(value for _, value in members)
        case Mapping(members=pairs):
            found[name].update(value for _, value in pairs)
        case Switch(key=key, cases=cases):
            for path in paths_in(key):
                found[path.names[-1]].update(case for case, _ in cases)
                numbered = [case for case, _ in cases if isinstance(case, int)]
                found[path.names[-1]].update(number + 1 for number in numbered if number == max(numbered))
    for expression in _expressions(inner):
        numbers = set(_numbers(expression))
        for path in paths_in(expression):
            found[name if path.names[-1] == "obj_" else path.names[-1]] |= numbers
    if isinstance(inner, Layout):
        for item in inner.fields:
            _gather(item.type, item.label, found)
        return
    for part in parts_of(inner):
        _gather(part, name, found)


def _expressions(kind: Type) -> Iterator[Expression]:
    match kind:
        case Layout(fields=fields, rules=rules):
            yield from (rule.expression for rule in rules)
            yield from (item.derived for item in fields if item.derived is not None)
        case Array(count=Until(condition=condition)) | If(condition=condition):
            yield condition
        case Switch(key=key):
            yield key
        case Computed(expression=expression):
            yield expression
        case Array(count=stated) | Bytes(length=stated) | Padding(length=stated) | Padded(length=stated):
            yield from _stated(stated)
        case Sized(extent=stated):
            yield from _stated(stated)
        case Text(inner=inner):
            yield from _expressions(inner)


def _stated(found: Any) -> Iterator[Expression]:
    if isinstance(found, Operation):
        yield found


def _numbers(expression: Expression) -> Iterator[int | float]:
    match expression:
        case Number(value=value):
            yield from (value - 1, value, value + 1) if isinstance(value, int) else (value,)
        case Operation(operands=operands):
            for operand in operands:
                yield from _numbers(operand)


# -- options


def integer_options(
    kind: Integer | VarInt | Time, limits: tuple[Limit, ...], interests: Iterable[Any] = ()
) -> list[int]:
    """Return values of an integer within its width and limits, the least first."""
    inner = kind.integer if isinstance(kind, Time) else kind
    wanted = [value for value in interests if type(value) is int]
    steps = [step for value in wanted for step in (value, value - 1, value + 1)]
    steps += [2 * value for value in wanted]
    return _kept([*_SMALL, inner.lowest, inner.highest, 0x0102, *sorted(steps)], limits, inner)


def _kept(values: Iterable[int], limits: tuple[Limit, ...], within: Integer | VarInt) -> list[int]:
    kept = [
        value
        for value in dict.fromkeys(values)
        if within.lowest <= value <= within.highest and all(limit_holds(limit, value) for limit in limits)
    ]
    return sorted(kept, key=lambda value: (abs(value) > 2, value < 0, kept.index(value)))[:_MOST]


def scalar_options(
    kind: Scalar, limits: tuple[Limit, ...], interests: Iterable[Any] = ()
) -> list[tuple[Any, str]]:
    """Return values of a scalar, as a Frame holds them, with their bits as they lie on the wire."""
    match kind:
        case Integer() | Time():
            inner = integer_of(kind)
            assert inner is not None
            return [(value, bit_text(inner, value)) for value in integer_options(kind, limits, interests)]
        case Enum(integer=inner, members=members) | Mapping(integer=inner, members=members):
            values = [value for _, value in members]
            return [(value, bit_text(inner, value)) for value in _kept(values, limits, inner)]
        case Flags(integer=inner):
            values = [0, *(mask for _, mask in kind.members), kind.mask]
            return [(value, bit_text(inner, value)) for value in dict.fromkeys(values)]
        case Flag(bits=bits):
            return [(False, f"{0:0{bits}b}"), (True, f"{1:0{bits}b}")]
        case Float(bits=bits):
            return _float_options(kind, limits, interests)
        case Scaled(integer=inner, multiply=multiply, add=add, divide=divide):
            turns = [raw_of(value, multiply, add, divide) for value in _floats(interests)]
            raws = [*_SMALL, inner.lowest, inner.highest, *(raw for raw in turns if raw is not None)]
            found = [(kind.value(raw), raw) for raw in _kept(raws, (), inner)]
            return [(value, bit_text(inner, raw)) for value, raw in found if _holds(limits, value)]


def _float_options(kind: Float, limits: tuple[Limit, ...], interests: Iterable[Any]) -> list[tuple[Any, str]]:
    found, bits = [], Integer(kind.bits, False, kind.order)
    for value in (0.0, 1.0, -1.0, 0.5, *sorted(_floats(interests))):
        raw = exact_float_bits(value, kind.bits)
        if raw is not None and _holds(limits, value):
            found.append((float_from_bits(raw, kind.bits), bit_text(bits, raw)))
    return found[:_MOST]


def _floats(interests: Iterable[Any]) -> list[float]:
    return [float(value) for value in interests if isinstance(value, int | float)]


def _holds(limits: tuple[Limit, ...], value: Any) -> bool:
    return all(limit_holds(limit, value) for limit in limits)


def bytes_options(length: int, limits: tuple[Limit, ...], interests: Iterable[Any] = ()) -> list[bytes]:
    """Return bytes of a length."""
    counted = bytes(number & 0xFF for number in range(1, length + 1))
    stated = sorted(value for value in interests if isinstance(value, bytes) and len(value) == length)
    options = dict.fromkeys([bytes(length), counted, b"\xff" * length, b"A" * length, *stated])
    return [value for value in options if _holds(limits, value)]


def text_options(limits: tuple[Limit, ...], interests: Iterable[Any] = ()) -> list[str]:
    """Return texts, the shortest first."""
    stated = [value for value in interests if isinstance(value, str)]
    lengths = [value for value in interests if type(value) is int and 0 <= value <= 64]
    counted = ["x" * length for length in sorted(lengths)]
    options = dict.fromkeys(["", "a", "é", "ab", *counted, *sorted(stated)])
    return [value for value in options if _holds(limits, value)]


def bit_text(kind: Integer, value: int) -> str:
    """Return an integer as its bits lie on the wire. Raises ValueError for one that does not fit."""
    if not kind.lowest <= value <= kind.highest:
        raise ValueError(value)
    raw = value & ((1 << kind.bits) - 1)
    if kind.order == "little":
        raw = int.from_bytes(raw.to_bytes(kind.bits // 8, "little"), "big")
    return f"{raw:0{kind.bits}b}"

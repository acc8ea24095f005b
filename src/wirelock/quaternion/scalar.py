"""Smallest three, one quaternion at a time, in plain Python. See the package for the contract."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from numbers import Real
from typing import NamedTuple, SupportsFloat, SupportsIndex

from wirelock.errors import DecodeError, EncodeError, Fault

BITS = 16
"""Bits of a kept component on the wire."""

LIMIT = 2 ** (BITS - 1) - 1
"""Largest magnitude of a kept component: 32767. The integer -32768 is never sent."""

SCALE = float.fromhex("0x1.6a0712p+15")
"""Steps to the unit: 46339.53515625, bits 0x47350389; LIMIT / binary32(1 / sqrt 2) in binary32."""

LEAST_SQUARED_LENGTH = float.fromhex("0x1.197998p-40")
"""Smallest squared length that is encoded: 1e-12 in binary32, bits 0x2B8CBCCC."""

REACHABLE_SLACK = 2048
"""What binary32 may add to the exact limit of `reachable`: 2 * LIMIT**2 / 2**20, rounded up."""

REACHABLE_LIMIT = 2 * LIMIT**2 + REACHABLE_SLACK
"""The largest sum that `reachable` allows: 2147354626, which fits an unsigned 32-bit integer."""

ANGLE_TOLERANCE_DEGREES = 0.0045
"""What a test may ask of decode(encode(q)): angle_bound(16), and the 0.00015 that binary32 may add."""

RECORD = "quaternion"


class Width(NamedTuple):
    """The numbers of one width: the largest component, steps to the unit, what `reachable` allows, T."""

    limit: int
    scale: float
    reachable: int
    tie: int


@cache
def width(bits: int) -> Width:
    """Return the numbers for a width of 4 to 16 bits a component. Raises ValueError for another.

    The scale is limit / binary32(1 / sqrt 2), rounded to binary32. `tie` is what D must exceed m**2 by.
    """
    if bits not in range(4, BITS + 1):
        raise ValueError(f"bits is in 4..{BITS}, not {bits}")
    limit = 2 ** (bits - 1) - 1
    (scale,) = _round1(limit / float.fromhex("0x1.6a09e6p-1"))
    return Width(limit, scale, 2 * limit**2 - (-2 * limit**2 // 2**20), (limit + 1) // 8)


def _rounding(count: int) -> Callable[..., tuple[float, ...]]:
    """Return what rounds `count` numbers to binary32: to nearest even, and as C does, to infinity.

    A step is taken in Python's binary64 on binary32 operands and rounded by this. For one + - * / or
    sqrt the two roundings give what a single one would have given, since 53 >= 2 * 24 + 2 (S. Figueroa,
    "When is double rounding innocuous?", 1995). For two steps at once they would not.
    """
    form = struct.Struct(f"{count}f")
    pack, unpack = form.pack, form.unpack
    return lambda *numbers: unpack(pack(*numbers))


_round1, _round2, _round3, _round4 = map(_rounding, (1, 2, 3, 4))


def _squared_length(q: tuple[float, ...]) -> float:
    x, y, z, w = q
    xx, yy, zz, ww = _round4(x * x, y * y, z * z, w * w)
    xy, zw = _round2(xx + yy, zz + ww)
    return _round1(xy + zw)[0]


def _over_length(q: tuple[float, ...], squared_length: float) -> tuple[float, ...]:
    x, y, z, w = q
    (length,) = _round1(math.sqrt(squared_length))
    return _round4(x / length, y / length, z / length, w / length)


def encode(
    x: SupportsFloat,
    y: SupportsFloat,
    z: SupportsFloat,
    w: SupportsFloat,
    *,
    bits: int = BITS,
    canonical: bool = False,
) -> tuple[int, int, int, int]:
    """Return the packet (index, a, b, c) of the rotation that a quaternion of any length stands for.

    The components are rounded to binary32 first. `index`, 0..3, names the largest in magnitude, the
    first of equals; a, b, c, each in -LIMIT..LIMIT, are the others in ascending order, in steps of
    1 / SCALE, signed as they are once the largest is positive. So q and -q give one packet. Other widths
    have the limit and scale of `width(bits)`; with `canonical` the packet is the canonical one.

    Raises EncodeError (`out-of-range`) where the squared length is below LEAST_SQUARED_LENGTH, infinite
    or NaN, and TypeError for a component that is a bool or no real number.
    """
    q = _components(x, y, z, w)
    squared_length = _squared_length(q)
    if not LEAST_SQUARED_LENGTH <= squared_length < math.inf:  # a NaN fails this too
        raise EncodeError(RECORD, length_fault(squared_length))
    unit = _over_length(q, squared_length)
    magnitudes = [abs(component) for component in unit]
    index = magnitudes.index(max(magnitudes))
    scale = width(bits).scale  # to negate a factor negates the product, exactly
    scale = scale if unit[index] > 0 else -scale
    first, second, third = unit[:index] + unit[index + 1 :]
    a, b, c = _round3(first * scale, second * scale, third * scale)
    packet = index, round(a), round(b), round(c)  # round() takes halves to even
    return _canonical(width(bits), *packet) if canonical else packet


def decode(
    index: SupportsIndex,
    a: SupportsIndex,
    b: SupportsIndex,
    c: SupportsIndex,
    *,
    bits: int = BITS,
    canonical: bool = False,
) -> tuple[float, float, float, float]:
    """Return the unit quaternion (x, y, z, w) of a packet: floats that binary32 holds exactly.

    The omitted component comes out positive. Nothing is computed from a packet that is not `reachable`:
    that is a DecodeError, `out-of-range` at `largest_index` for the index, `rule:reachable` for the
    three; with `canonical` also `rule:canonical`. Raises TypeError for a bool and for what is no integer.
    """
    numbers = width(bits)
    place, a, b, c = _integers(index, a, b, c)
    if not _is_reachable(numbers, place, a, b, c):
        raise DecodeError(RECORD, packet_fault(place, a, b, c))
    if canonical and not _is_canonical(numbers, place, a, b, c):
        told = ": the rotation is written as {}, {}, {}, {}".format(*_canonical(numbers, place, a, b, c))
        raise DecodeError(RECORD, Fault("rule:canonical", "", f"({place}, {a}, {b}, {c})", told))
    kept = u, v, w = _round3(a / numbers.scale, b / numbers.scale, c / numbers.scale)
    uu, vv, ww = _round3(u * u, v * v, w * w)
    (uv,) = _round1(uu + vv)
    (uvw,) = _round1(uv + ww)
    (rest,) = _round1(1.0 - uvw)  # at least 0.2499, since the packet is reachable
    omitted = _round1(math.sqrt(rest))
    q = kept[:place] + omitted + kept[place:]
    x, y, z, w = _over_length(q, _squared_length(q))
    return x, y, z, w


def reachable(
    index: SupportsIndex, a: SupportsIndex, b: SupportsIndex, c: SupportsIndex, *, bits: int = BITS
) -> bool:
    """Return whether some quaternion encodes to this packet, give or take binary32; by integers alone.

    Any integers are allowed. With t(n) = |n| * (|n| - 1), index is one of 0..3 and t(a) + t(b) + t(c)
    plus the largest of the three is at most REACHABLE_LIMIT (derived in docs/quaternion.md).
    Raises TypeError for a bool and for what is no integer.
    """
    return _is_reachable(width(bits), *_integers(index, a, b, c))


def _is_reachable(numbers: Width, index: int, a: int, b: int, c: int) -> bool:
    a, b, c = abs(a), abs(b), abs(c)
    a, b, c = a * (a - 1), b * (b - 1), c * (c - 1)
    return 0 <= index <= 3 and a + b + c + max(a, b, c) <= numbers.reachable


def is_canonical(
    index: SupportsIndex, a: SupportsIndex, b: SupportsIndex, c: SupportsIndex, *, bits: int = BITS
) -> bool:
    """Return whether a packet is the canonical one of its rotation; by integers alone.

    With D = 2 N**2 - a**2 - b**2 - c**2, m the largest magnitude, J the first component that has it and
    T = (N + 1) / 8: D >= m**2 + T, or index < J and D > m**2 - m + T. Whatever is canonical is reachable.
    Raises TypeError for a bool and for what is no integer.
    """
    return _is_canonical(width(bits), *_integers(index, a, b, c))


def canonical(
    index: SupportsIndex, a: SupportsIndex, b: SupportsIndex, c: SupportsIndex, *, bits: int = BITS
) -> tuple[int, int, int, int]:
    """Return the canonical packet of the rotation that a reachable one stands for, itself if it is it.

    Raises DecodeError for a packet that is not reachable, TypeError for a bool and for what is no integer.
    """
    packet = place, a, b, c = _integers(index, a, b, c)
    if not _is_reachable(width(bits), place, a, b, c):
        raise DecodeError(RECORD, packet_fault(place, a, b, c))
    return _canonical(width(bits), *packet)


def _is_canonical(numbers: Width, index: int, a: int, b: int, c: int) -> bool:
    rest, largest, first = _near_tie(index, (a, b, c), numbers)
    if not 0 <= index <= 3:
        return False
    return rest >= largest**2 or (index < first and rest > largest**2 - largest)


def _near_tie(index: int, kept: Sequence[int], numbers: Width) -> tuple[int, int, int]:
    """Return D - T, the largest kept magnitude, and the first component that has it."""
    magnitudes = [abs(component) for component in kept]
    largest = max(magnitudes)
    slot = magnitudes.index(largest)
    rest = 2 * numbers.limit**2 - sum(component**2 for component in kept) - numbers.tie
    return rest, largest, slot + (slot >= index)


def _canonical(numbers: Width, index: int, a: int, b: int, c: int) -> tuple[int, int, int, int]:
    """Where another component is as large as the omitted one, write that and omit the other instead."""
    if _is_canonical(numbers, index, a, b, c):
        return index, a, b, c
    rest, largest, first = _near_tie(index, (a, b, c), numbers)
    omitted = largest if rest > largest**2 - largest else (1 + math.isqrt(4 * rest - 3)) // 2
    components = [a, b, c]
    components.insert(index, omitted)
    sign = -1 if components[first] < 0 else 1
    a, b, c = (sign * component for place, component in enumerate(components) if place != first)
    return first, a, b, c


def _components(*q: SupportsFloat) -> tuple[float, ...]:
    if bool not in map(type, q):
        try:
            return _round4(*q)
        except struct.error:
            if all(isinstance(number, Real) for number in q):
                return (math.inf,) * 4  # one is an integer that even binary64 cannot hold
    raise TypeError(f"a quaternion is made of real numbers, not {q}")


def _integers(*packet: SupportsIndex) -> list[int]:
    if bool in map(type, packet):
        raise TypeError(f"a packet is made of integers, not {packet}")
    return [operator.index(value) for value in packet]  # a numpy int16 would overflow in reachable


def length_fault(squared_length: float) -> Fault:
    """Return the fault of a length that cannot be encoded."""
    limits = f"{LEAST_SQUARED_LENGTH:.9g}..3.4028235e+38"
    return Fault("out-of-range", "", f"squared length {squared_length:.9g}", limits)


def packet_fault(index: int, a: int, b: int, c: int) -> Fault:
    """Return the fault of a packet that is not reachable."""
    if index not in range(4):
        return Fault("out-of-range", "largest_index", f"{index}", "0..3")
    return Fault("rule:reachable", "", f"({a}, {b}, {c})", f": no rotation encodes to ({a}, {b}, {c})")


def angle_between(p: Iterable[float], q: Iterable[float]) -> float:
    """Return the angle of the rotation from p to q, in degrees, 0..180; q and -q are one rotation.

    Each has four components of any length above zero and is normalised first. Computed in binary64 as
    4 * atan2(|p - q|, |p + q|), accurate for small angles and for large ones, where
    2 * acos(dot) is not (W. Kahan, "How futile are mindless assessments of roundoff").
    Raises ValueError for a length of zero, infinity or NaN, and for more or fewer than four components.
    """
    p, q = _unit(p), _unit(q)
    apart, together = math.dist(p, q), math.dist(p, [-component for component in q])
    return math.degrees(4 * math.atan2(min(apart, together), max(apart, together)))


def _unit(q: Iterable[float]) -> list[float]:
    x, y, z, w = q
    length = math.hypot(x, y, z, w)
    if not 0 < length < math.inf:
        raise ValueError(f"no rotation has the quaternion {(x, y, z, w)}")
    return [float(component) / length for component in (x, y, z, w)]  # a numpy float32 stays narrow


def angle_bound(bits: int = BITS) -> float:
    """Return the largest angle, in degrees, between a rotation and its packet decoded, for a width.

    Exact arithmetic with `bits` (4..32) a kept component: 2 * (asin(sqrt(3)/2 + sqrt(3) h) - pi/3), where
    h = 1 / (2 sqrt(2) N) is half a step and N = 2**(bits - 1) - 1; about sqrt(6) / N radians. It is the
    limit at (1/2, 1/2, 1/2, 1/2). Binary32 adds to it: at 16 bits at most 0.00015 degrees.
    Raises ValueError for another width.
    """
    if bits not in range(4, 33):
        raise ValueError(f"bits is in 4..32, not {bits}")
    half_step = 1 / (2 * math.sqrt(2) * (2 ** (bits - 1) - 1))
    worst = math.sqrt(3) / 2
    return math.degrees(2 * (math.asin(worst + math.sqrt(3) * half_step) - math.pi / 3))

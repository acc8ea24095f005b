"""A rotation as one index and three 16-bit integers ("smallest three"), the same bits everywhere.

The arithmetic is part of the wire format: IEEE-754 binary32, round to nearest even, one rounding an
operation, in the order written here. The scalar functions are plain Python; the array functions want
numpy and give the same bits, row by row. docs/quaternion.md has the steps for other languages, the
proofs and the error bounds. Quaternions are (x, y, z, w); packets are (index, a, b, c).
Imports wirelock.errors, and numpy inside the array functions only.
"""

from __future__ import annotations

import math
import operator
import struct
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat, SupportsIndex, overload

from wirelock.errors import DecodeError, EncodeError, Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Booleans = NDArray[np.bool_]
    MaskedIntegers = np.ma.MaskedArray[tuple[int, ...], np.dtype[np.int32]]
    MaskedFloats = np.ma.MaskedArray[tuple[int, ...], np.dtype[np.float32]]

__all__ = [
    "BITS",
    "LIMIT",
    "SCALE",
    "LEAST_SQUARED_LENGTH",
    "REACHABLE_SLACK",
    "REACHABLE_LIMIT",
    "ANGLE_TOLERANCE_DEGREES",
    "encode",
    "decode",
    "reachable",
    "encode_array",
    "decode_array",
    "reachable_array",
    "angle_between",
    "angle_bound",
]

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

_RECORD = "quaternion"


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
    x: SupportsFloat, y: SupportsFloat, z: SupportsFloat, w: SupportsFloat
) -> tuple[int, int, int, int]:
    """Return the packet (index, a, b, c) of the rotation that a quaternion of any length stands for.

    The components are rounded to binary32 first. `index`, 0..3, names the largest in magnitude, the
    first of equals; a, b, c, each in -LIMIT..LIMIT, are the others in ascending order, in steps of
    1 / SCALE, signed as they are once the largest is positive. So q and -q give one packet.

    Raises EncodeError (`out-of-range`) where the squared length is below LEAST_SQUARED_LENGTH, infinite
    or NaN, and TypeError for a component that is a bool or no real number.
    """
    q = _components(x, y, z, w)
    squared_length = _squared_length(q)
    if not LEAST_SQUARED_LENGTH <= squared_length < math.inf:  # a NaN fails this too
        raise EncodeError(_RECORD, _length_fault(squared_length))
    unit = _over_length(q, squared_length)
    magnitudes = [abs(component) for component in unit]
    index = magnitudes.index(max(magnitudes))
    scale = SCALE if unit[index] > 0 else -SCALE  # to negate a factor negates the product, exactly
    first, second, third = unit[:index] + unit[index + 1 :]
    a, b, c = _round3(first * scale, second * scale, third * scale)
    return index, round(a), round(b), round(c)  # round() takes halves to even


def decode(
    index: SupportsIndex, a: SupportsIndex, b: SupportsIndex, c: SupportsIndex
) -> tuple[float, float, float, float]:
    """Return the unit quaternion (x, y, z, w) of a packet: floats that binary32 holds exactly.

    The omitted component comes out positive. Nothing is computed from a packet that is not `reachable`:
    that is a DecodeError, `out-of-range` at `largest_index` for the index, `rule:reachable` for the
    three. Raises TypeError for a bool and for what is no integer.
    """
    place, a, b, c = _integers(index, a, b, c)
    if not _is_reachable(place, a, b, c):
        raise DecodeError(_RECORD, _packet_fault(place, a, b, c))
    kept = u, v, w = _round3(a / SCALE, b / SCALE, c / SCALE)
    uu, vv, ww = _round3(u * u, v * v, w * w)
    (uv,) = _round1(uu + vv)
    (uvw,) = _round1(uv + ww)
    (rest,) = _round1(1.0 - uvw)  # at least 0.2499, since the packet is reachable
    omitted = _round1(math.sqrt(rest))
    q = kept[:place] + omitted + kept[place:]
    x, y, z, w = _over_length(q, _squared_length(q))
    return x, y, z, w


def reachable(index: SupportsIndex, a: SupportsIndex, b: SupportsIndex, c: SupportsIndex) -> bool:
    """Return whether some quaternion encodes to this packet, give or take binary32; by integers alone.

    Any integers are allowed. With t(n) = |n| * (|n| - 1), index is one of 0..3 and t(a) + t(b) + t(c)
    plus the largest of the three is at most REACHABLE_LIMIT (derived in docs/quaternion.md).
    Raises TypeError for a bool and for what is no integer.
    """
    return _is_reachable(*_integers(index, a, b, c))


def _is_reachable(index: int, a: int, b: int, c: int) -> bool:
    a, b, c = abs(a), abs(b), abs(c)
    a, b, c = a * (a - 1), b * (b - 1), c * (c - 1)
    return 0 <= index <= 3 and a + b + c + max(a, b, c) <= REACHABLE_LIMIT


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


def _length_fault(squared_length: float) -> Fault:
    limits = f"{LEAST_SQUARED_LENGTH:.9g}..3.4028235e+38"
    return Fault("out-of-range", "", f"squared length {squared_length:.9g}", limits)


def _packet_fault(index: int, a: int, b: int, c: int) -> Fault:
    if index not in range(4):
        return Fault("out-of-range", "largest_index", f"{index}", "0..3")
    return Fault("rule:reachable", "", f"({a}, {b}, {c})", f": no rotation encodes to ({a}, {b}, {c})")


# Arrays. Every numpy operation below is one binary32 operation on each element, in the scalar order.


@overload
def encode_array(quaternions: ArrayLike, *, on_error: Literal["raise"] = ...) -> NDArray[np.int32]: ...
@overload
def encode_array(quaternions: ArrayLike, *, on_error: Literal["mask"]) -> MaskedIntegers: ...
def encode_array(quaternions: ArrayLike, *, on_error: Literal["raise", "mask"] = "raise") -> Any:
    """Return the packets of many quaternions: (n, 4) numbers to (n, 4) int32, row by row as `encode`.

    A row that `encode` refuses raises its EncodeError, with the path `[row]`, for the first such row.
    With on_error="mask" the result is a numpy.ma.MaskedArray instead, always with a full mask: such rows
    are masked whole and hold -1, so that no packet appears if the mask is lost. A masked component in
    `quaternions` is one that cannot be encoded.

    Raises ValueError for another shape or another `on_error`, TypeError for numbers that are not real.
    """
    np = _numpy()
    with np.errstate(all="ignore"):
        doubles = _table(np, quaternions, "iuf", "real numbers").astype(np.float64)
        q = np.where(np.ma.getmask(quaternions), np.nan, doubles).astype(np.float32)
        squared_length = _squared_lengths(q)
        good = (squared_length >= np.float32(LEAST_SQUARED_LENGTH)) & (squared_length < np.inf)
        unit = q / np.sqrt(squared_length)[:, None]
        index = np.argmax(np.abs(unit), axis=1)[:, None]
        scale = np.where(np.take_along_axis(unit, index, axis=1) > 0, np.float32(SCALE), np.float32(-SCALE))
        kept = np.rint((unit * scale)[np.arange(4) != index].reshape(-1, 3))
        kept = np.where(good[:, None], kept, 0)
    packets = np.concatenate([index, kept], axis=1, dtype=np.int32, casting="unsafe")

    def error(row: int) -> EncodeError:
        return EncodeError(_RECORD, _length_fault(float(squared_length[row])).within(f"[{row}]", 0))

    return _finish(np, packets, good, on_error, -1, error)


@overload
def decode_array(packets: ArrayLike, *, on_error: Literal["raise"] = ...) -> NDArray[np.float32]: ...
@overload
def decode_array(packets: ArrayLike, *, on_error: Literal["mask"]) -> MaskedFloats: ...
def decode_array(packets: ArrayLike, *, on_error: Literal["raise", "mask"] = "raise") -> Any:
    """Return the quaternions of many packets: (n, 4) integers to (n, 4) float32, row by row as `decode`.

    A row that `decode` refuses raises its DecodeError, with the path `[row]` or `[row].largest_index`,
    for the first such row. With on_error="mask" the result is a numpy.ma.MaskedArray instead, always
    with a full mask: such rows are masked whole and hold NaN. A masked integer in `packets` makes its
    row one that cannot be decoded.

    Raises ValueError for another shape or another `on_error`, TypeError for what is no integer.
    """
    np = _numpy()
    good = reachable_array(packets)
    index, *steps = np.where(good[:, None], np.asarray(packets), 0).astype(np.int32).T
    a, b, c = (integers.astype(np.float32) / np.float32(SCALE) for integers in steps)
    omitted = np.sqrt(np.float32(1) - ((a * a + b * b) + c * c))
    x = np.where(index == 0, omitted, a)
    y = np.where(index == 1, omitted, np.where(index < 1, a, b))
    z = np.where(index == 2, omitted, np.where(index < 2, b, c))
    w = np.where(index == 3, omitted, c)
    q = np.stack([x, y, z, w], axis=1)
    unit = q / np.sqrt(_squared_lengths(q))[:, None]

    def error(row: int) -> DecodeError:
        packet = np.ma.asarray(packets)[row].tolist()
        return DecodeError(_RECORD, _packet_fault(*packet).within(f"[{row}]", 0))

    return _finish(np, unit, good, on_error, np.nan, error)


def reachable_array(packets: ArrayLike) -> Booleans:
    """Return which of many packets are `reachable`: (n, 4) integers to (n,) bool.

    Integers of any width are allowed, and none wraps. A row with a masked integer is not reachable.
    Raises ValueError for another shape, TypeError for what is no integer.
    """
    np = _numpy()
    table = _table(np, packets, "iu", "integers")
    usable = (table >= -LIMIT) & (table <= LIMIT) & ~np.ma.getmask(packets)
    unreachable = LIMIT + 1  # in any of the four
    index, *kept = np.where(usable, table.astype(np.int64), unreachable).T
    a, b, c = (n * (n - 1) for n in np.abs(kept))
    total = a + b + c + np.maximum(np.maximum(a, b), c)
    result: Booleans = (index >= 0) & (index <= 3) & (total <= REACHABLE_LIMIT)
    return result


def _numpy() -> ModuleType:
    try:
        import numpy
    except ImportError:
        raise ImportError("arrays of quaternions want numpy: pip install 'wirelock[capture]'") from None
    return numpy


def _table(np: ModuleType, values: ArrayLike, kinds: str, wanted: str) -> Any:
    table = np.asarray(values)
    if table.ndim != 2 or table.shape[1] != 4:
        raise ValueError(f"wanted shape (n, 4), got {table.shape}")
    if table.dtype.kind not in kinds:
        raise TypeError(f"wanted {wanted}, got dtype {table.dtype}")
    return table


def _squared_lengths(q: Any) -> Any:
    xx, yy, zz, ww = (q * q).T
    return (xx + yy) + (zz + ww)


def _finish(
    np: ModuleType, result: Any, good: Any, on_error: str, blank: float, error: Callable[[int], Exception]
) -> Any:
    if on_error == "mask":
        result[~good] = blank
        return np.ma.MaskedArray(result, mask=np.repeat(~good[:, None], 4, axis=1), fill_value=blank)
    if on_error != "raise":
        raise ValueError(f"on_error is 'raise' or 'mask', not {on_error!r}")
    if not good.all():
        raise error(int(np.argmin(good)))
    return result


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

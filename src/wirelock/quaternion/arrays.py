"""Smallest three for many quaternions at once, with numpy: row by row the bits of the scalar functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from wirelock.errors import DecodeError, EncodeError
from wirelock.quaternion.scalar import (
    BITS,
    LEAST_SQUARED_LENGTH,
    RECORD,
    decode,
    length_fault,
    packet_fault,
    width,
)
from wirelock.quaternion.scalar import (
    canonical as canonical_packet,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Booleans = NDArray[np.bool_]
    MaskedIntegers = np.ma.MaskedArray[tuple[int, ...], np.dtype[np.int32]]
    MaskedFloats = np.ma.MaskedArray[tuple[int, ...], np.dtype[np.float32]]

__all__ = ["canonical_array", "decode_array", "decode_columns", "encode_array", "reachable_array"]

# Arrays. Every numpy operation below is one binary32 operation on each element, in the scalar order.


@overload
def encode_array(
    quaternions: ArrayLike, *, on_error: Literal["raise"] = ..., bits: int = ..., canonical: bool = ...
) -> NDArray[np.int32]: ...
@overload
def encode_array(
    quaternions: ArrayLike, *, on_error: Literal["mask"], bits: int = ..., canonical: bool = ...
) -> MaskedIntegers: ...
def encode_array(
    quaternions: ArrayLike,
    *,
    on_error: Literal["raise", "mask"] = "raise",
    bits: int = BITS,
    canonical: bool = False,
) -> Any:
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
        scale = np.float32(width(bits).scale)
        scale = np.where(np.take_along_axis(unit, index, axis=1) > 0, scale, -scale)
        kept = np.rint((unit * scale)[np.arange(4) != index].reshape(-1, 3))
        kept = np.where(good[:, None], kept, 0)
    packets = np.concatenate([index, kept], axis=1, dtype=np.int32, casting="unsafe")
    if canonical:
        packets[good] = canonical_array(packets[good], bits=bits)

    def error(row: int) -> EncodeError:
        return EncodeError(RECORD, length_fault(float(squared_length[row])).within(f"[{row}]", 0))

    return _finish(np, packets, good, on_error, -1, error)


@overload
def decode_array(
    packets: ArrayLike, *, on_error: Literal["raise"] = ..., bits: int = ..., canonical: bool = ...
) -> NDArray[np.float32]: ...
@overload
def decode_array(
    packets: ArrayLike, *, on_error: Literal["mask"], bits: int = ..., canonical: bool = ...
) -> MaskedFloats: ...
def decode_array(
    packets: ArrayLike,
    *,
    on_error: Literal["raise", "mask"] = "raise",
    bits: int = BITS,
    canonical: bool = False,
) -> Any:
    """Return the quaternions of many packets: (n, 4) integers to (n, 4) float32, row by row as `decode`.

    A row that `decode` refuses raises its DecodeError, with the path `[row]` or `[row].largest_index`,
    for the first such row. With on_error="mask" the result is a numpy.ma.MaskedArray instead, always
    with a full mask: such rows are masked whole and hold NaN. A masked integer in `packets` makes its
    row one that cannot be decoded.

    Raises ValueError for another shape or another `on_error`, TypeError for what is no integer.
    """
    np = _numpy()
    good = reachable_array(packets, bits=bits)
    table = np.where(good[:, None], np.asarray(packets), 0).astype(np.int32)
    if canonical:
        good = good & (canonical_array(table, bits=bits) == table).all(axis=1)
    index, *steps = table.T
    a, b, c = (integers.astype(np.float32) / np.float32(width(bits).scale) for integers in steps)
    omitted = np.sqrt(np.float32(1) - ((a * a + b * b) + c * c))
    x = np.where(index == 0, omitted, a)
    y = np.where(index == 1, omitted, np.where(index < 1, a, b))
    z = np.where(index == 2, omitted, np.where(index < 2, b, c))
    w = np.where(index == 3, omitted, c)
    q = np.stack([x, y, z, w], axis=1)
    unit = q / np.sqrt(_squared_lengths(q))[:, None]

    def error(row: int) -> DecodeError:
        packet = np.ma.asarray(packets)[row].tolist()
        try:
            decode(*packet, bits=bits, canonical=canonical)
        except DecodeError as found:
            return DecodeError(RECORD, found.fault.within(f"[{row}]", 0))
        except TypeError:  # a masked integer
            return DecodeError(RECORD, packet_fault(*packet).within(f"[{row}]", 0))
        raise AssertionError(f"row {row} decodes alone")

    return _finish(np, unit, good, on_error, np.nan, error)


def decode_columns(
    largest_index: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    *,
    bits: int = BITS,
    canonical: bool = False,
) -> NDArray[np.float32]:
    """Return the quaternions of packets in four columns of n integers: (n, 4) float32, as decode_array.

    Integers of any width are allowed, and none wraps. Raises as decode_array does.
    """
    np = _numpy()
    columns = [np.asarray(column) for column in (largest_index, a, b, c)]
    packets = np.stack([column if column.size else column.astype(np.int64) for column in columns], axis=1)
    return decode_array(packets, bits=bits, canonical=canonical)


def reachable_array(packets: ArrayLike, *, bits: int = BITS) -> Booleans:
    """Return which of many packets are `reachable`: (n, 4) integers to (n,) bool.

    Integers of any width are allowed, and none wraps. A row with a masked integer is not reachable.
    Raises ValueError for another shape, TypeError for what is no integer.
    """
    np = _numpy()
    limit = width(bits).limit
    table = _table(np, packets, "iu", "integers")
    usable = (table >= -limit) & (table <= limit) & ~np.ma.getmask(packets)
    unreachable = limit + 1  # in any of the four
    index, *kept = np.where(usable, table.astype(np.int64), unreachable).T
    a, b, c = (n * (n - 1) for n in np.abs(kept))
    total = a + b + c + np.maximum(np.maximum(a, b), c)
    result: Booleans = (index >= 0) & (index <= 3) & (total <= width(bits).reachable)
    return result


def canonical_array(packets: ArrayLike, *, bits: int = BITS) -> NDArray[np.int32]:
    """Return the canonical packets of many reachable ones, (n, 4) integers to (n, 4) int32, as `canonical`.

    Near ties are rare, so that they go row by row. Raises as `canonical` does for a row that is not
    reachable, ValueError for another shape, TypeError for what is no integer.
    """
    np = _numpy()
    numbers = width(bits)
    table = _table(np, packets, "iu", "integers").astype(np.int64)
    squares = table[:, 1:] ** 2
    apart = 2 * numbers.limit**2 - squares.sum(axis=1) - numbers.tie >= squares.max(axis=1, initial=0)
    result: Any = table.astype(np.int32)
    for row in np.flatnonzero(~apart | (table[:, 0] < 0) | (table[:, 0] > 3)):
        result[row] = canonical_packet(*table[row].tolist(), bits=bits)
    return result  # type: ignore[no-any-return]


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

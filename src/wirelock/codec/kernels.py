"""What compiled column code calls: variable-length numbers, text, marks, bytes, IEEE 754 numbers.

Plain Python that numba compiles too. The source of these functions is copied into the generated source,
so that a compiled file stands alone; `int64` and `uint64` are numpy's there, and wrap in the same way here.
Indices are checked by the callers.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable
from typing import Any, Final


def int64(value: Any) -> int:
    """Return an integer as numba's int64 holds it."""
    raw = int(value) & 0xFFFFFFFFFFFFFFFF
    return raw - (1 << 64) if raw >> 63 else raw


def uint64(value: Any) -> int:
    """Return an integer as numba's uint64 holds it."""
    return int(value) & 0xFFFFFFFFFFFFFFFF


def float32_of(raw: Any) -> float:
    """Return the float of 32 bits."""
    return float(struct.unpack("<f", struct.pack("<I", raw))[0])


def float64_of(raw: Any) -> float:
    """Return the float of 64 bits."""
    return float(struct.unpack("<d", struct.pack("<Q", raw))[0])


# -- copied into generated source


def float16_of(raw):
    """Return the float of 16 bits: every one of them is exact in binary64."""
    fraction, exponent = raw & 0x3FF, raw >> 10 & 0x1F
    if exponent == 31:
        value = float("inf") if fraction == 0 else float("nan")
    elif exponent == 0:
        value = fraction / 16777216.0
    else:
        value = (fraction + 1024) * 2.0 ** (exponent - 25)
    return -value if raw >> 15 else value


def bounded(left, right, kind):
    """Return left + right, left - right, left * right or left << right; -1 where that is beyond 2**63 - 1."""
    most = 9223372036854775807
    if kind == 0:
        beyond = right > 0 and left > most - right
        return -1 if beyond else left + right
    if kind == 1:
        beyond = right < 0 and left > most + right
        return -1 if beyond else left - right
    if kind == 3:
        return -1 if left > most >> right else left << right
    if (left > 0) != (right > 0) or left == 0:
        return left * right
    if left < 0:
        left, right = -left, -right
    return -1 if left > most // right else left * right


def read_varint(data, at, end):
    """Return the number at a byte and the byte behind it, which is -1 where there is none."""
    raw, shift = uint64(0), 0
    for place in range(at, min(end, at + 10)):
        octet = int64(data[place])
        if shift == 63 and octet > 1:
            return uint64(0), -1
        raw |= uint64(octet & 0x7F) << uint64(shift)
        if octet < 0x80:
            if octet == 0 and shift > 0:
                return uint64(0), -1
            return raw, place + 1
        shift += 7
    return uint64(0), -1


def unzigzag(raw):
    """Return the signed number that an unsigned one stands for."""
    return int64(raw >> uint64(1)) ^ -int64(raw & uint64(1))


def same_bytes(data, at, stop, wanted):
    """Whether the bytes up to `stop` are these."""
    if stop - at != len(wanted):
        return False
    for place in range(len(wanted)):  # noqa: SIM110 - numba compiles no generator here
        if data[uint64(at + place)] != wanted[place]:
            return False
    return True


def begins_with(data, at, end, wanted):
    """Whether the bytes begin with these."""
    return end - at >= len(wanted) and same_bytes(data, at, at + len(wanted), wanted)


def all_bytes(data, at, stop, octet):
    """Whether every byte is this one."""
    for place in range(at, stop):  # noqa: SIM110 - numba compiles no generator here
        if data[uint64(place)] != octet:
            return False
    return True


def copy_bytes(data, at, stop, column, slot):
    """Copy bytes into a column."""
    for place in range(stop - at):
        column[uint64(slot + place)] = data[uint64(at + place)]


def find_mark(data, at, end, mark):
    """Return the byte at which a mark lies first, in steps of its length; -1 if nowhere."""
    place = at
    while end - place >= len(mark):
        if same_bytes(data, place, place + len(mark), mark):
            return place
        place += len(mark)
    return -1


def stripped_end(data, at, stop, unit):
    """Return the end of bytes without the NULs behind them, taken off in units of so many bytes."""
    end = stop
    while end > at and data[end - 1] == 0:
        end -= 1
    return at + -(-(end - at) // unit) * unit


def text_length(data, at, stop, kind, closed):
    """Return the characters of text, -1 where it is none.

    `kind` is the bytes of a unit, negative where the units are big-endian; 0 is ASCII, 1 UTF-8. Text has no
    byte-order mark in front and no unpaired surrogate, and no NUL where it is `closed`.
    """
    count, place = 0, at
    unit = abs(kind)
    while place < stop:
        code, more, least = 0, 0, 0
        if unit <= 1:
            code = int64(data[uint64(place)])
            place += 1
            if code > 0x7F:
                if unit == 0:
                    return -1
                if 0xC2 <= code <= 0xDF:
                    code, more, least = code & 0x1F, 1, 0x80
                elif 0xE0 <= code <= 0xEF:
                    code, more, least = code & 0x0F, 2, 0x800
                elif 0xF0 <= code <= 0xF4:
                    code, more, least = code & 0x07, 3, 0x10000
                else:
                    return -1
                if stop - place < more:
                    return -1
                for _ in range(more):
                    octet = int64(data[place])
                    place += 1
                    if octet & 0xC0 != 0x80:
                        return -1
                    code = code << 6 | octet & 0x3F
                if code < least:
                    return -1
        else:
            if stop - place < unit:
                return -1
            for octet in range(unit):
                shift = 8 * (unit - 1 - octet) if kind < 0 else 8 * octet
                code |= int64(data[place + octet]) << shift
            place += unit
            if unit == 2 and 0xD800 <= code <= 0xDBFF:
                if stop - place < 2:
                    return -1
                first, second = int64(data[place]), int64(data[place + 1])
                low = first << 8 | second if kind < 0 else second << 8 | first
                place += 2
                if low < 0xDC00 or low > 0xDFFF:
                    return -1
                code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            return -1
        if (code == 0xFEFF and count == 0) or (closed and code == 0):
            return -1
        count += 1
    return count


KERNELS: Final[tuple[Callable[..., Any], ...]] = (
    float16_of, bounded, read_varint, unzigzag, same_bytes, begins_with, all_bytes, copy_bytes, find_mark,
    stripped_end, text_length,
)  # fmt: skip
"""In an order in which none calls one behind it."""
NEEDED: Final = {"begins_with": ("same_bytes",), "find_mark": ("same_bytes",)}


def kernel_sources(used: set[str]) -> list[str]:
    """Return the source of the functions that are used, each with what it calls, decorated for numba."""
    wanted = used | {name for found in used for name in NEEDED.get(found, ())}
    lines: list[str] = []
    for kernel in KERNELS:
        if kernel.__name__ in wanted:
            text = inspect.getsource(kernel)
            lines += ["", "", "@compiled", *text.rstrip().splitlines()]
    return lines

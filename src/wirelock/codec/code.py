"""Code of authors in layouts, called so that whatever it does becomes a value or a fault.

Checksum functions get the bytes that they cover; opaque kinds get their own bytes and no others.
"""

from __future__ import annotations

import io
from typing import Any

from wirelock.codec.floats import same_float
from wirelock.codec.trail import Found, Frame
from wirelock.errors import Fault
from wirelock.layout.nodes import Checksum, Integer, Opaque, checksum_in

__all__ = [
    "LEFT_OUT", "checksum_fault", "decoded", "encoded", "opaque_bytes", "settled", "stale_checksum", "summed",
    "summing",
]  # fmt: skip


class LeftOut:
    """Stands for a value that follows from others, until it is filled in."""

    def __repr__(self) -> str:
        return "derived()"


LEFT_OUT = LeftOut()


# -- checksums


def summed(kind: Checksum, data: bytes) -> Any:
    """Return the checksum of bytes, or a str that says why the function gives none that fits."""
    assert kind.code is not None, "a layout that no class was made from"
    try:
        found = kind.code(data)
    except Exception as problem:  # of the author's own code, which may raise anything
        return f"{kind.function}: {type(problem).__name__}: {problem}"
    if isinstance(kind.type, Integer):
        fits = type(found) is int and kind.type.lowest <= found <= kind.type.highest
    else:
        fits = type(found) is bytes and len(found) == kind.type.length
    return found if fits else f"{kind.function}: {found!r:.60}, which does not fit"


def summing(kind: Checksum, data: bytes) -> int | bytes:
    """Return the checksum of bytes that are written. Raises Found where the function gives none that fits."""
    found = summed(kind, data)
    if isinstance(found, str):
        raise Found(Fault("checksum", "", found, "a checksum that fits"))
    return found  # type: ignore[no-any-return]


def checksum_fault(
    kind: Checksum, found: Any, data: bytes, path: str, byte: int | None = None
) -> Fault | None:
    """Return the fault of a checksum that is not that of the bytes it covers; None if it is.

    A layout out of a lock has no code: what it reads is not judged.
    """
    if kind.code is None:
        return None
    wanted = summed(kind, data)
    if found == wanted:
        return None
    return Fault("checksum", path, _text(kind, found), _text(kind, wanted), byte)


def _text(kind: Checksum, value: Any) -> str:
    if isinstance(value, int) and isinstance(kind.type, Integer):
        return f"{value:#0{2 + kind.type.bits // 4}x}" if value >= 0 else str(value)
    return value.hex(" ") if isinstance(value, bytes) else str(value)


def stale_checksum(given: Frame, written: Frame) -> Fault | None:
    """Return the fault of the first checksum of a record that is not the one that was written."""
    for item in given.layout.fields:
        path = f"{given.path}.{item.label}" if given.path else item.label
        found, wanted = given.values[item.label], written.values[item.label]
        kind = checksum_in(item.type)
        if kind is None:
            fault = _stale_inside(found, wanted)
            if fault is not None:
                return fault
        elif found is not LEFT_OUT and found != wanted:
            return Fault("checksum", path, _text(kind, found), _text(kind, wanted))
    return None


def _stale_inside(given: Any, written: Any) -> Fault | None:
    if isinstance(given, Frame):
        return stale_checksum(given, written)
    if isinstance(given, list):
        return next(filter(None, map(_stale_inside, given, written)), None)
    return None


# -- opaque kinds


def decoded(kind: Opaque, raw: bytes, path: str, byte: int) -> tuple[Any, Fault | None]:
    """Return what the code reads from bytes, and the fault where it does not, or would write others.

    A layout out of a lock has no code: the bytes stand for themselves.
    """
    if kind.code is None:
        return raw, None
    stream = io.BytesIO(raw)
    try:
        value = kind.code.parse_stream(stream)
    except Exception as problem:  # of the author's own code, which may raise anything
        return None, _opaque_fault(kind, path, problem, byte)
    if left := len(raw) - stream.tell():
        return None, _opaque_fault(kind, path, f"{left} bytes are left over", byte)
    again, fault = _built(kind, value, path, byte)
    if fault is None and again != raw:
        fault = Fault("not-canonical", path, _short(raw), _short(again), byte)
    return settled(value), fault


def encoded(kind: Opaque, value: Any, path: str) -> tuple[bytes, Fault | None]:
    """Return what the code writes for a value, and the fault where it does not, or would read another."""
    raw, fault = _built(kind, value, path, None)
    if fault is not None:
        return raw, fault
    if isinstance(kind.size, int) and len(raw) != kind.size:
        return raw, Fault("bad-count", path, f"size {len(raw)}", str(kind.size))
    again, fault = decoded(kind, raw, path, 0)
    if fault is None and not (again == settled(value) or _same_float(again, value)):
        fault = Fault("not-canonical", path, f"{value!r:.60}", f"{again!r:.60}")
    return raw, fault and Fault(fault.code, path, fault.found, fault.allowed)


def settled(value: Any) -> Any:
    """Return a value with tuples for lists, and without what construct adds to a Container."""
    match value:
        case list() | tuple():
            return tuple(map(settled, value))
        case dict():
            return {key: settled(item) for key, item in value.items() if key != "_io"}
    return value


def opaque_bytes(kind: Opaque, value: Any) -> bytes | None:
    """Return what the code writes for a value; None where there is a fault."""
    raw, fault = encoded(kind, value, "")
    return None if fault else raw


def _built(kind: Opaque, value: Any, path: str, byte: int | None) -> tuple[bytes, Fault | None]:
    try:
        return bytes(kind.code.build(value)), None
    except Exception as problem:  # of the author's own code, which may raise anything
        return b"", _opaque_fault(kind, path, problem, byte)


def _opaque_fault(kind: Opaque, path: str, problem: object, byte: int | None) -> Fault:
    told = problem
    if isinstance(problem, Exception):
        told = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
    return Fault("opaque", path, f"{kind.name} (version {kind.version})", str(told), byte)


def _same_float(left: Any, right: Any) -> bool:
    return type(left) is type(right) is float and same_float(left, right)


def _short(data: bytes) -> str:
    return data[:16].hex(" ") + (f" and {len(data) - 16} more" if len(data) > 16 else "")

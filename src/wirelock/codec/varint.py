"""Variable-length integers: seven bits a byte, least significant first, at most 64 bits, shortest form only.

The encoding is that of LEB128 and of protocol buffers' varint; zigzag is protocol buffers' sint64.
"""

from __future__ import annotations

from typing import Final

from wirelock.errors import Fault

LONGEST: Final = 10
"""Ten bytes of seven bits hold 64."""
_HIGHEST: Final = (1 << 64) - 1


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int] | None:
    """Return the number that starts at byte `at` and the byte behind it; None if it is none."""
    raw = shift = 0
    for place in range(at, min(end, at + LONGEST)):
        octet = data[place]
        raw |= (octet & 0x7F) << shift
        if octet < 0x80:
            if raw > _HIGHEST or (not octet and shift):
                return None
            return raw, place + 1
        shift += 7
    return None


def varint_bytes(raw: int) -> bytes:
    """Return a number of 0..2**64-1 in the fewest bytes. Raises ValueError for any other."""
    if not 0 <= raw <= _HIGHEST:
        raise ValueError(f"{raw} is no unsigned 64-bit integer")
    octets = bytearray()
    while raw > 0x7F:
        octets.append(raw & 0x7F | 0x80)
        raw >>= 7
    octets.append(raw)
    return bytes(octets)


def zigzag(value: int) -> int:
    """Return the unsigned number that a signed 64-bit one is written as."""
    return value << 1 if value >= 0 else (~value << 1) | 1


def unzigzag(raw: int) -> int:
    """Return the signed number that an unsigned one stands for."""
    return (raw >> 1) ^ -(raw & 1)


def varint_fault(data: bytes, at: int, end: int, path: str) -> Fault:
    """Return why read_varint found no number."""
    octets = data[at : min(end, at + LONGEST)]
    last = next((number for number, octet in enumerate(octets) if octet < 0x80), None)
    if last is None and len(octets) < LONGEST:
        return Fault("truncated", path, str(end - at), str(end - at + 1), at)
    octets = octets if last is None else octets[: last + 1]
    raw = sum((octet & 0x7F) << 7 * number for number, octet in enumerate(octets))
    if last is None or raw > _HIGHEST:
        return Fault("too-large", path, octets.hex(" "), "64 bits", at)
    return Fault("not-canonical", path, octets.hex(" "), varint_bytes(raw).hex(" "), at)

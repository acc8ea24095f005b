"""The bytes of a layout whose bits do not lie as they come, as the bytes of one where they do."""

from __future__ import annotations

from typing import Final

from wirelock.layout.nodes import Order

BITS_SWAPPED: Final = bytes(int(f"{octet:08b}"[::-1], 2) for octet in range(256))
"""Each byte with its bits in reverse, for bytes.translate."""


def in_wire_order(data: bytes, order: Order) -> bytes:
    """Return bytes in which each field lies from its most significant bit on, at positions.offsets."""
    if order == "wire":
        return data
    return data.translate(BITS_SWAPPED) if order == "bits-swapped" else data[::-1]

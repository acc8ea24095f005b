"""A layout -> small packets of it, and packets near them: in a fixed order, and so many.

First the smallest packet, then those that differ from it in one decision, then in two, and so on; a decision
that brings others with it (one more element, another case) counts for nothing, so that what is inside of
arrays and choices is reached early. No clock and no chance: the same layouts give the same packets.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

from wirelock.evolve.making import make
from wirelock.evolve.options import Interests
from wirelock.layout.nodes import Layout

__all__ = ["MUTATED", "OCTETS", "PACKETS", "mutations", "packets"]

PACKETS: Final = 400
"""The packets of one layout that are made."""
MUTATED: Final = 12
"""The packets of one layout of which mutations are tried."""
OCTETS: Final = 1 << 18
"""The bytes that are written for one layout; no more are mutated."""
_RUNS: Final = 4 * PACKETS
_NEAR: Final = 24
"""The bytes of a packet, from its start, that are mutated."""


def packets(layout: Layout, interests: Interests) -> Iterator[bytes]:
    """Yield different packets that decisions lead to; not all need be records of the layout."""
    queue: list[tuple[int, int, dict[int, int], int]] = [(0, 0, {}, 0)]
    seen: set[bytes] = set()
    pushed = runs = octets = 0
    while queue and runs < _RUNS and len(seen) < PACKETS and octets < OCTETS:
        cost, _, decisions, known = heapq.heappop(queue)
        made = make(layout, decisions, interests)
        runs += 1
        octets += made.written
        if made.data is not None and made.data not in seen:
            seen.add(made.data)
            yield made.data
        if decisions and len(made.options) != known:
            cost = max(cost - 1, 0)
        for number in range(max(decisions, default=-1) + 1, len(made.options)):
            for option in range(1, made.options[number]):
                pushed += 1
                if pushed > 8 * _RUNS:
                    break
                heapq.heappush(queue, (cost + 1, pushed, decisions | {number: option}, len(made.options)))


def mutations(found: Sequence[bytes]) -> Iterator[bytes]:
    """Yield bytes near the first packets: bits turned, some bytes replaced, one byte less and one more."""
    octets = 0
    for data in found[:MUTATED]:
        for near in _near(data):
            octets += len(near)
            if octets > OCTETS:
                return
            yield near


def _near(data: bytes) -> Iterator[bytes]:
    yield data[:-1]
    yield data + b"\0"
    yield data + b"\1"
    for at in range(min(len(data), _NEAR)):
        octets = [data[at] ^ 1 << bit for bit in range(8)] + [0x00, 0x7F, 0x80, 0xFF]
        for octet in dict.fromkeys(octets):
            if octet != data[at]:
                yield data[:at] + bytes([octet]) + data[at + 1 :]

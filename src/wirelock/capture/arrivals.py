"""When the packets of a block came and how large they were, whatever came of them, in file order.

Packets that were placed many at once are a stretch of arrays, one that was read by itself is one of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from wirelock.codec.columnar import numpy_module

__all__ = ["Arrivals"]


class Arrivals:
    """Times and captured sizes of packets, by their places among what the block holds.

    A packet of a run has a place of its own; one of which nothing came has that of what comes next.
    """

    def __init__(self) -> None:
        self.packets = 0
        """How many there are."""
        self.captured = 0
        """Their bytes in all."""
        self._places: list[int] = []
        """Where each stretch begins; they do not descend."""
        self._stretches: list[tuple[Any, Any]] = []
        """Times and sizes: arrays, or one time and one size."""

    def add(self, place: int, time_ns: int | None, captured: int) -> None:
        """Add a packet."""
        self._add(place, 1, captured, (time_ns, captured))

    def add_run(self, place: int, times: Any, captured: Any) -> None:
        """Add packets by arrays of nanoseconds since the epoch and of bytes, from a place on."""
        # Copies: what is given lies among more, which then need not be kept.
        self._add(place, len(times), int(captured.sum()), (times.copy(), captured.astype("u4")))

    def _add(self, place: int, packets: int, captured: int, stretch: tuple[Any, Any]) -> None:
        self.packets += packets
        self.captured += captured
        self._places.append(place)
        self._stretches.append(stretch)

    @property
    def runs(self) -> tuple[Any, Any]:
        """Times and sizes of the packets of all runs, as arrays."""
        np = numpy_module()
        found = [stretch for stretch in self._stretches if isinstance(stretch[0], np.ndarray)]
        times, captured = zip(*found, strict=True) if found else ((np.empty(0, "i8"),), (np.empty(0, "u4"),))
        return np.concatenate(times), np.concatenate(captured)

    def singles(self) -> Iterator[tuple[int | None, int]]:
        """Yield time and size of each other packet; nothing bounds these times."""
        array = numpy_module().ndarray
        yield from (stretch for stretch in self._stretches if not isinstance(stretch[0], array))

    def before(self, place: int | None, otherwise: int | None) -> int | None:
        """Return the time of the packet at a place, or the last one before it; of the last of all for None.

        `otherwise` is what to return where there is no such packet.
        """
        at = (len(self._places) if place is None else bisect_right(self._places, place)) - 1
        if at < 0:
            return otherwise
        times, _ = self._stretches[at]
        if times is None or isinstance(times, int):
            return times
        row = len(times) - 1 if place is None else min(place - self._places[at], len(times) - 1)
        return int(times[row])

"""Counts over time in a bounded number of intervals, which grow when a capture gets too long for them.

Widths are 1 ms and up, in steps that each divide the next one and that people count in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import Any, Final

__all__ = ["WIDTHS_NS", "Interval", "Timeline"]

_STEPS: Final = (2, 5, 2, 5, 2, 5, 2, 5, 2, 3, 2, 5, 2, 3, 2, 3, 2, 2, *(10,) * 16)
WIDTHS_NS: Final = tuple(accumulate(_STEPS, mul, initial=10**6))
"""The widths of intervals: 1, 2, 10, 20, 100, 200 ms, 1, 2, 10, 20 s, 1, 2, 10, 20 min, 1, 2, 6, 12, 24 h,
then ten times as long each: the last is longer than pcapng can state any time to be from 1970."""


@dataclass(slots=True)
class Interval:
    """What came in one interval. `counts` are by kind and name: `("record", "snapshot v1")`."""

    packets: int = 0
    bytes: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def take(self, other: Interval) -> None:
        """Add what came in another one."""
        self.packets += other.packets
        self.bytes += other.bytes
        self.counts += other.counts


class Timeline:
    """Intervals by the time of what is counted, `most` of them from the first to the last at most.

    Times before and behind 1970 are never in one interval, so that there can be two in any case.

    What has no time is counted in `untimed`.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.untimed = Interval()
        self._level = 0
        self._intervals: dict[int, Interval] = {}
        self._first = self._last = 0

    @property
    def width_ns(self) -> int:
        """How long an interval is."""
        return WIDTHS_NS[self._level]

    def at(self, time_ns: int | None) -> Interval:
        """Return the interval of a time."""
        if time_ns is None:
            return self.untimed
        place = time_ns // self.width_ns
        if place not in self._intervals:
            first, last = (
                (min(self._first, place), max(self._last, place)) if self._intervals else (place, place)
            )
            if last - first >= self.most and self._level + 1 < len(WIDTHS_NS):
                self._widen()
                return self.at(time_ns)
            self._first, self._last = first, last
            self._intervals[place] = Interval()
        return self._intervals[place]

    def spread(self, times: Any) -> tuple[list[Interval], Any]:
        """Return intervals for an array of times, 64 bits each, and the number of each time's among them."""
        if not len(times):
            return [], times
        first, last = int(times.min()), int(times.max())
        for time_ns in (first, last):
            self.at(time_ns)  # from now on intervals are wide enough
        width = self.width_ns
        # Beyond 64 bits there are but the intervals before and behind the epoch.
        places = times // width if width < 1 << 63 else (times >= 0) - 1
        start = first // width
        found = [self.at(place * width) for place in range(start, last // width + 1)]
        return found, places - start

    def _widen(self) -> None:
        step = WIDTHS_NS[self._level + 1] // WIDTHS_NS[self._level]
        self._level += 1
        old, self._intervals = self._intervals, {}
        for place, interval in old.items():
            self._intervals.setdefault(place // step, Interval()).take(interval)
        if old:
            self._first, self._last = self._first // step, self._last // step

    def intervals(self) -> list[tuple[int, Interval]]:
        """Return every interval from the first to the last, empty ones too, with the time it starts at."""
        if not self._intervals:
            return []
        places = range(self._first, self._last + 1)
        return [(place * self.width_ns, self._intervals.get(place, Interval())) for place in places]

    def coarser(self, most: int) -> Timeline:
        """Return the same in fewer intervals."""
        found = Timeline(most)
        found.untimed, found._level = self.untimed, self._level
        for start, interval in self.intervals():
            found.at(start).take(interval)
        return found

    def names(self, kind: str) -> list[str]:
        """Return the names that were counted of a kind, sorted."""
        every = [self.untimed, *self._intervals.values()]
        return sorted({name for interval in every for of, name in interval.counts if of == kind})

    def each(self, value: Callable[[Interval], int]) -> list[int]:
        """Return a value of each interval."""
        return [value(interval) for _, interval in self.intervals()]

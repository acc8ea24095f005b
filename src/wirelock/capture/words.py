"""Statistics in words: figures that people can compare, and the rows of the tables that are shown.

The command line and the page show the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wirelock.capture.stats import Statistics, VersionCost
from wirelock.capture.timeline import Interval, Timeline
from wirelock.codec.words import utc

__all__ = [
    "FIELD_HEAD", "GROUP_HEAD", "field_rows", "group_rows", "intervals_text", "rate_text", "round_ticks",
    "seconds_text", "series_of", "since_start", "speed_text", "tick_text", "time_head", "time_rows",
    "version_text", "width_text",
]  # fmt: skip

FIELD_HEAD: Final = ("field", "type", "values", "bits/record", "share", "bit/s")
GROUP_HEAD: Final = ("sum of", "rows", "bits/record", "share", "bit/s")


def rate_text(rate: float | None) -> str:
    """Return bits a second with three digits and a prefix: `221 k`."""
    if rate is None:
        return "-"
    for factor, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= 0.9995 * factor:
            return f"{_three(rate / factor)}{prefix}"
    return _three(rate)


def speed_text(rate: float) -> str:
    """Return the same with its unit: `221 kbit/s`, `415 bit/s`."""
    told = rate_text(rate)
    return f"{told}{'' if told[-1].isalpha() else ' '}bit/s"


def round_ticks(highest: int, most: int = 5) -> list[int]:
    """Return round numbers from 0 to at least the highest value, at most so many and one more.

    They are 1, 2 or 5 times a power of ten apart.
    """
    power = 1
    while True:
        for step in (power, 2 * power, 5 * power):
            if step * most >= highest:
                return list(range(0, max(highest, 1) + step, step))
        power *= 10


def tick_text(number: int) -> str:
    """Return a round number as short as it can be: `1500 k` is `1.5 M`."""
    for factor, prefix in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
        if number >= factor:
            return f"{number / factor:g}{prefix}"
    return str(number)


def seconds_text(time_ns: int) -> str:
    """Return a round number of nanoseconds as seconds, as short as it can be."""
    return f"{time_ns / 10**9:g}" if time_ns % 10**9 else tick_text(time_ns // 10**9)


def _three(number: float) -> str:
    return f"{number:.{2 if number < 9.995 else 1 if number < 99.95 else 0}f}"


def version_text(found: VersionCost, stats: Statistics) -> str:
    """Return what one version cost in a line."""
    rate = stats.rate(found.bits)
    told = "" if rate is None else f", {speed_text(rate)}"
    return (
        f"{found.label}: {_counted(found.records, 'record')} in {_counted(found.datagrams, 'datagram')},"
        f" {_counted(found.bits // 8, 'byte')} of payload{told}"
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def field_rows(found: VersionCost, stats: Statistics) -> Iterator[tuple[str, ...]]:
    """Yield a row for each field of a version as FIELD_HEAD says, and one for all of it."""

    def row(name: str, kind: str, values: str, bits: int) -> tuple[str, ...]:
        return name, kind, values, *_bits_cells(bits, found, stats)

    if found.skipped:
        yield row("(skipped)", "before the record", str(found.datagrams), found.skipped)
    for cost in found.fields:
        name = f"{cost.path} ({cost.part})" if cost.part else cost.path
        yield row(name, cost.type, str(cost.values), cost.bits)
    yield row("all", "", str(found.records), found.bits)


def group_rows(found: VersionCost, stats: Statistics) -> Iterator[tuple[str, ...]]:
    """Yield a row for each group of a version's fields as GROUP_HEAD says."""
    for group in found.groups:
        yield group.path, str(group.fields), *_bits_cells(group.bits, found, stats)


def _bits_cells(bits: int, found: VersionCost, stats: Statistics) -> tuple[str, ...]:
    return f"{bits / found.records:.1f}", f"{found.share(bits):.2%}", rate_text(stats.rate(bits))


# -- over time


def width_text(width_ns: int) -> str:
    """Return how long an interval is: `10 ms`, `2 min`."""
    for factor, unit in ((86_400 * 10**9, "d"), (3600 * 10**9, "h"), (60 * 10**9, "min"), (10**9, "s")):
        if width_ns >= factor:
            return f"{width_ns // factor} {unit}"
    return f"{width_ns // 10**6} ms"


def intervals_text(timeline: Timeline) -> str:
    """Return how long intervals are and when the first begins: `10 ms, from 2026-11-30T02:22:21.680Z`."""
    return f"{width_text(timeline.width_ns)}, from {utc(timeline.intervals()[0][0])}"


def since_start(time_ns: int, timeline: Timeline) -> str:
    """Return a time as seconds since the first interval began, as exact as intervals are wide."""
    first = timeline.intervals()[0][0]
    digits = 3 if timeline.width_ns < 10**9 else 0
    return f"{(time_ns - first) / 1e9:.{digits}f}"


def series_of(timeline: Timeline) -> list[tuple[str, str]]:
    """Return what is counted over time, by kind and name: records first, then faults."""
    return [(kind, name) for kind in ("record", "fault") for name in timeline.names(kind)]


def time_head(timeline: Timeline) -> tuple[str, ...]:
    """Return the heads of the columns of `time_rows`."""
    return "seconds", "packets", "bytes", *(name for _, name in series_of(timeline))


def time_rows(timeline: Timeline) -> Iterator[tuple[str, ...]]:
    """Yield a row for each interval: when it begins, packets, bytes, and each of the series."""
    series = series_of(timeline)

    def cells(interval: Interval) -> tuple[str, ...]:
        counts = (interval.counts[key] for key in series)
        return tuple(map(str, (interval.packets, interval.bytes, *counts)))

    for start, interval in timeline.intervals():
        yield since_start(start, timeline), *cells(interval)
    if timeline.untimed.packets or timeline.untimed.counts:
        yield "no time", *cells(timeline.untimed)

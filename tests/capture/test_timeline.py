"""Counts over time: nothing is lost when intervals widen, and there are never more than were asked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wirelock.capture.timeline import WIDTHS_NS, Timeline
from wirelock.capture.words import since_start, time_rows, width_text

TIMES = st.lists(
    st.one_of(st.none(), st.integers(0, 10**7), st.integers(0, 10**10), st.integers(-(1 << 63), 1 << 70))
)


@given(TIMES, st.integers(1, 12), st.integers(1, 12))
def test_what_was_counted_is_there_and_bounded(times: list[int | None], most: int, fewer: int) -> None:
    timeline = Timeline(most)
    for time in times:
        interval = timeline.at(time)
        interval.packets += 1
        interval.counts["fault", "truncated"] += 1
    for found, bound in ((timeline, most), (timeline.coarser(fewer), min(most, fewer))):
        rows = found.intervals()
        assert len(rows) <= max(bound, 1 + (found.width_ns == WIDTHS_NS[-1]))
        assert found.untimed.packets == times.count(None)
        wanted = sorted(time // found.width_ns * found.width_ns for time in times if time is not None)
        assert [start for start, interval in rows for _ in range(interval.packets)] == wanted
        assert [start for start, interval in rows for _ in range(interval.counts.total())] == wanted
        assert [after[0] - before[0] for before, after in pairwise(rows)] == (
            [found.width_ns] * (len(rows) - 1)
        )


@given(st.lists(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 10**9))), st.integers(1, 12))
def test_many_times_at_once_are_counted_as_one_by_one(batches: list[list[int]], most: int) -> None:
    many, single = Timeline(most), Timeline(most)
    for batch in batches:
        intervals, which = many.spread(np.array(batch, "i8"))
        for number in which.tolist():
            intervals[number].packets += 1
        for time in batch:
            single.at(time).packets += 1
    assert many.intervals() == single.intervals()
    assert many.width_ns == single.width_ns


def test_widths_divide_each_other_and_have_names() -> None:
    assert all(wide % narrow == 0 for narrow, wide in pairwise(WIDTHS_NS))
    assert [width_text(width) for width in WIDTHS_NS[:19]] == [
        "1 ms", "2 ms", "10 ms", "20 ms", "100 ms", "200 ms", "1 s", "2 s", "10 s", "20 s",
        "1 min", "2 min", "10 min", "20 min", "1 h", "2 h", "6 h", "12 h", "1 d",
    ]  # fmt: skip


def test_rows_say_when_an_interval_begins_and_count_what_has_no_time() -> None:
    timeline = Timeline(10)
    for time in (5_000_000, 7_000_000, None):
        timeline.at(time).packets += 1
    timeline.at(7_000_000).counts["record", "snapshot v1"] += 2
    assert list(time_rows(timeline)) == [
        ("0.000", "1", "0", "0"), ("0.001", "0", "0", "0"), ("0.002", "1", "0", "2"),
        ("no time", "1", "0", "0"),
    ]  # fmt: skip
    assert since_start(7_000_000, timeline) == "0.002"

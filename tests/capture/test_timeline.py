"""Counts over time: nothing is lost when intervals widen, and there are never more than were asked for."""

from __future__ import annotations

import io
from itertools import pairwise

import numpy as np
from capture_writer import Blocks
from hypothesis import given
from hypothesis import strategies as st

from wirelock.capture.files import Packet, read_capture
from wirelock.capture.timeline import WIDTHS_NS, Timeline
from wirelock.capture.words import since_start, time_rows, width_text

FIRST, LAST = -(1 << 63) * 10**9, ((1 << 64) - 1 + (1 << 63) - 1) * 10**9
"""The farthest times of pcapng: an if_tsoffset of signed 64-bit seconds, and behind it 2**64 - 1 ticks of an
if_tsresol of 0, a second each."""
TIMES = st.lists(
    st.none() | st.integers(0, 10**7) | st.integers(0, 10**10) | st.integers(FIRST, LAST)
    | st.sampled_from([FIRST, LAST])
)  # fmt: skip


@given(TIMES, st.integers(2, 12), st.integers(2, 12))
def test_what_was_counted_is_there_and_bounded(times: list[int | None], most: int, fewer: int) -> None:
    timeline = Timeline(most)
    for time in times:
        interval = timeline.at(time)
        interval.packets += 1
        interval.counts["fault", "truncated"] += 1
    for found, bound in ((timeline, most), (timeline.coarser(fewer), min(most, fewer))):
        rows = found.intervals()
        assert len(rows) <= bound
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


def test_no_times_of_a_capture_are_too_far_apart() -> None:
    made = Blocks()
    interfaces = (
        made.interface(resolution=9, offset=-(1 << 63)),
        made.interface(resolution=0, offset=2**63 - 1),
    )
    packets = made.enhanced(b"", ticks=0), made.enhanced(b"", interface=1, ticks=2**64 - 1)
    capture = b"".join((made.section(), *interfaces, *packets))
    for most in (2, 24, 120):
        timeline = Timeline(most)
        times = [packet.time_ns for packet in read_capture(io.BytesIO(capture)) if isinstance(packet, Packet)]
        assert times == [FIRST, LAST]
        for time in times:
            timeline.at(time).packets += 1
        assert 2 <= len(timeline.intervals()) <= most
        assert [row[1] for row in time_rows(timeline) if row[1] != "0"] == ["1", "1"]


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

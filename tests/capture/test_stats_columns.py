"""Statistics from the columns of many packets are those of records one by one, to the last digit."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest
from capture_writer import Blocks, ethernet, fragment_of, ipv4, pcap, udp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws import CORPUS
from sessions import BOTH, PAYLOADS, SELECTIONS, session

from wirelock import Registry
from wirelock.capture import bulk
from wirelock.capture.decode import Selection, Summary, decode
from wirelock.capture.stats import Statistics
from wirelock.errors import CaptureError

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures/captures").glob("*.pcap*"))
WINDOWS = (300, 5000, 1 << 22)
laws = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))

Way = Callable[[Statistics, bytes, Registry, Selection], None]


def by_rows(stats: Statistics, data: bytes, registry: Registry, selection: Selection) -> None:
    for item in decode(io.BytesIO(data), registry, selection, stats.summary, seen=stats.see):
        stats.take((item,))


def by_parts(stats: Statistics, data: bytes, registry: Registry, selection: Selection) -> None:
    for part in bulk.decode_columns(io.BytesIO(data), registry, selection, stats.summary):
        stats.take_part(part)


def told(captures: list[tuple[bytes, Way]], registry: Registry, selection: Selection) -> str:
    """Return the figures of captures, each read in its way, and the problem that ended it."""
    stats, problem = Statistics(Summary(), selection.skip), ""
    try:
        for data, way in captures:
            way(stats, data, registry, selection)
    except CaptureError as error:
        problem = str(error)
    return json.dumps([stats.to_json(), problem], indent=1)


@laws
@given(st.lists(st.randoms(use_true_random=False), min_size=1, max_size=3), st.data())
def test_parts_come_to_what_rows_come_to(randoms: list[Random], data: st.DataObject) -> None:
    captures = [session(random, data.draw(st.integers(0, 40))) for random in randoms]
    ways = [data.draw(st.sampled_from([by_parts, by_rows])) for _ in captures[1:]]
    chosen = SELECTIONS[data.draw(st.sampled_from(sorted(SELECTIONS)))]
    with pytest.MonkeyPatch.context() as patch:
        window = data.draw(st.sampled_from(WINDOWS))
        patch.setattr(bulk, "read_blocks", partial(bulk.read_blocks, window=window, compiled=False))
        found = told(list(zip(captures, [by_parts, *ways], strict=True)), *chosen)
    assert found == told([(capture, by_rows) for capture in captures], *chosen)


@pytest.mark.parametrize("name", SELECTIONS)
def test_whole_captures_compiled(name: str) -> None:
    captures = [*(file.read_bytes() for file in FIXTURES), *CORPUS[::4], session(Random(1), 2000)]
    for capture in captures:
        assert told([(capture, by_parts)], *SELECTIONS[name]) == told([(capture, by_rows)], *SELECTIONS[name])


def test_what_is_compared_holds_everything() -> None:
    """Sessions have faults behind records, packets without time, records of any size, and every version."""
    captures = [(session(Random(seed), 200), by_parts) for seed in range(4)]
    figures, _ = json.loads(told(captures, BOTH, Selection(skip=0)))
    assert figures["without_time"]["packets"] and figures["foreign"] and figures["faulty_bytes"]
    assert {"snapshot v1", "snapshot v2", "ping v9", "ping v10", "ping v11"} == set(figures["records"])
    assert {"cut", "bad-block", "bad-option", "no-interface", "truncated"} < set(figures["faults"])


def frames(*seconds_and_frames: tuple[int, bytes]) -> bytes:
    return pcap([(seconds, 0, ethernet(frame)) for seconds, frame in seconds_and_frames])


BLOCKS = Blocks()
WHOLE = ipv4(udp(PAYLOADS[0]))
LATER = BLOCKS.enhanced(ethernet(WHOLE), ticks=9 * 10**6)
EARLY = b"".join((BLOCKS.section(), BLOCKS.block(6, b""), BLOCKS.interface(), LATER))
"""A fault before the first packet, which came at 9 s."""
PIECE = fragment_of(udp(PAYLOADS[0]), 0, 8)
FAULTS = {
    "before the first packet": ((frames((1, WHOLE)), EARLY), {}, {"bad-block": 1}),
    "before the first packet of all": ((EARLY, frames((1, WHOLE))), {}, {"bad-block": 1}),
    "behind a packet": ((frames((1, WHOLE)), frames((3, WHOLE), (5, WHOLE))[:-1]), {3: {"cut": 1}}, {}),
    "of headers": ((frames((2, WHOLE[:9]), (7, WHOLE)),), {2: {"truncated": 1}}, {}),
    "told late": (
        (frames((4, PIECE), *((4 + at, WHOLE) for at in range(1, 40))),),
        {4: {"fragment-missing": 1}},
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", [by_rows, by_parts])
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_counted_when_they_were(name: str, way: Way) -> None:
    captures, wanted, untimed = FAULTS[name]
    figures, _ = json.loads(told([(capture, way) for capture in captures], BOTH, Selection()))
    faults = {int(row["start_ns"]) // 10**9: row["faults"] for row in figures["over_time"] if row["faults"]}
    assert (faults, figures["without_time"]["faults"]) == (wanted, untimed)

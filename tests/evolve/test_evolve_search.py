"""Laws of packets and witnesses: they are what they are said to be, and the same in every run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evolve.test_evolve_laws import renamed
from tests.lock.test_lock_laws import laws, records
from tests.strategies import layouts, lowered, name_layout, samples
from tests.test_docs_constructs import TAKEN, field
from tests.test_engines import outcome
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.locate import locate
from wirelock.codec.reference import ReferenceEngine
from wirelock.errors import Fault
from wirelock.evolve.code import missing_code, with_code
from wirelock.evolve.compare import compare_versions
from wirelock.evolve.options import interests_of
from wirelock.evolve.pairs import Pair, judge
from wirelock.evolve.search import PACKETS, packets
from wirelock.evolve.sides import Version
from wirelock.layout.canonical import layout_to_json
from wirelock.layout.from_json import layout_from_json
from wirelock.layout.nodes import Layout
from wirelock.layout.walk import walk
from wirelock.lock.lockfile import Entry

few = settings(laws, max_examples=12)


def judged(was: Layout, now: Layout) -> Pair:
    return judge(Version("p", 1, Entry(was)), Version("p", 2, Entry(now)))


@pytest.mark.parametrize("name", TAKEN)
def test_there_is_a_packet_of_every_kind(name: str) -> None:
    layout = walk(field(TAKEN[name]))
    assert None in [locate(layout, octets) for octets in packets(layout, interests_of(layout))]


@few
@given(st.data())
def test_there_is_a_packet_of_every_layout_that_has_one(data: st.DataObject) -> None:
    layout = data.draw(records())
    if locate(layout, data.draw(samples(layout))[0]) is None:
        found = list(packets(layout, interests_of(layout)))
        assert None in [locate(layout, octets) for octets in found]
        assert len(set(found)) == len(found) <= PACKETS
        assert found == list(packets(layout, interests_of(layout)))


@few
@given(st.data())
def test_both_engines_do_with_a_witness_as_is_told(data: st.DataObject) -> None:
    source = data.draw(layouts())
    plain = walk(source)
    sides: list[Any] = []
    for _ in range(2):
        layout, names = name_layout(data.draw(lowered(plain)))
        engines = GeneratedEngine(layout, names), ReferenceEngine(source, layout, names)
        sides.append((layout, engines))
    (was, old), (now, new) = sides
    pair = judged(was, now)
    for direction, writers, readers in ((pair.forward, old, new), (pair.backward, new, old)):
        assert (direction.refused is None) == (direction.tried == direction.taken)
        if direction.refused is not None:
            for engine in writers:
                assert not isinstance(outcome(engine.parse, direction.refused), Fault)
            for engine in readers:
                assert outcome(engine.parse, direction.refused) == direction.fault
    for found in pair.misread.values():
        for engine in (*old, *new):
            assert not isinstance(outcome(engine.parse, found.data), Fault)
    assert pair.both <= min(pair.forward.taken, pair.backward.taken) <= pair.tried


@few
@given(st.data())
def test_what_has_no_finding_for_peers_is_compatible(data: st.DataObject) -> None:
    plain = walk(data.draw(layouts()))
    was, now = (data.draw(lowered(plain)) for _ in range(2))
    told = compare_versions(Version("p", 1, Entry(was)), Version("p", 1, Entry(now)))
    assert judged(was, now).compatible or "wire" in [finding.rule.category for finding in told]
    assert judged(was, renamed(was)).compatible


@few
@given(records())
def test_a_layout_takes_its_own_packets_and_reads_them_alike(layout: Layout) -> None:
    pair = judged(layout, layout)
    assert pair.compatible and not pair.misread and pair.forward.tried == pair.forward.taken == pair.both


@few
@given(records())
def test_a_layout_of_a_lock_is_run_with_the_code_of_another(layout: Layout) -> None:
    bare = layout_from_json(layout_to_json(layout))
    filled = with_code(bare, [layout])
    assert filled == layout and missing_code(filled) == []
    pair = judged(layout, bare)
    assert pair.compatible and pair.missing == []

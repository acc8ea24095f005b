"""The engines agree: on value, verdict, code, path, offset and bytes, over random layouts and inputs."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.strategies import layouts, lowered, mutated, name_layout, samples
from tests.test_reference import JUNK, same
from wirelock.codec.check import check
from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.reference import ReferenceEngine
from wirelock.codec.trail import Found
from wirelock.errors import Fault
from wirelock.layout.canonical import digest, layout_to_json
from wirelock.layout.from_json import layout_from_json
from wirelock.layout.walk import walk

laws = settings(
    max_examples=150, phases=(Phase.generate, Phase.shrink), report_multiple_bugs=False, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def outcome(run: Any, *arguments: Any) -> Any:
    """Return what a call gives, or the fault that it raises. Any other exception fails the test."""
    try:
        return run(*arguments)
    except Found as found:
        return found.fault


def drawn_engines(data: st.DataObject) -> tuple[Any, GeneratedEngine, ReferenceEngine, dict[str, Any]]:
    source = data.draw(layouts())
    layout, names = name_layout(data.draw(lowered(walk(source))))
    return layout, GeneratedEngine(layout, names), ReferenceEngine(source, layout, names), names


@laws
@given(st.data())
def test_parsing_agrees_on_value_verdict_and_place(data: st.DataObject) -> None:
    layout, generated, reference, names = drawn_engines(data)
    octets = data.draw(samples(layout))[0]
    for tried in [octets, *(data.draw(mutated(octets)) for _ in range(4))]:
        ours, theirs = outcome(generated.parse, tried), outcome(reference.parse, tried)
        if isinstance(theirs, Fault):
            assert ours == theirs
            continue
        assert same(check(layout, ours, names), check(layout, theirs, names))
        assert generated.build(ours) == reference.build(theirs) == tried


@laws
@given(st.data())
def test_every_prefix_bit_flip_and_extra_byte_agrees(data: st.DataObject) -> None:
    layout, generated, reference, _ = drawn_engines(data)
    octets = data.draw(samples(layout))[0][:24]
    tries = [octets[:end] for end in range(len(octets))]
    tries += [octets + bytes([extra]) for extra in (0, 0xFF)]
    tries += [
        octets[:at] + bytes([octets[at] ^ 1 << bit]) + octets[at + 1 :]
        for at in range(len(octets))
        for bit in range(8)
    ]
    for tried in tries:
        ours, theirs = outcome(generated.parse, tried), outcome(reference.parse, tried)
        if isinstance(theirs, Fault) or isinstance(ours, Fault):
            assert ours == theirs
        else:
            assert generated.build(ours) == tried


@laws
@given(st.data())
def test_building_agrees_on_bytes_and_verdict(data: st.DataObject) -> None:
    layout, generated, reference, _ = drawn_engines(data)
    record, other = (outcome(reference.parse, data.draw(samples(layout))[0]) for _ in range(2))
    if isinstance(record, Fault):
        return
    assert generated.build(record) == reference.build(record)
    labels = [item.name for item in dataclasses.fields(record)]
    if labels:
        label = data.draw(st.sampled_from(labels))
        junk = JUNK if isinstance(other, Fault) else JUNK | st.just(getattr(other, label))
        changed = dataclasses.replace(record, **{label: data.draw(junk)})
        assert outcome(generated.build, changed) == outcome(reference.build, changed)


@laws
@given(st.data())
def test_records_stand_anywhere_in_a_buffer(data: st.DataObject) -> None:
    layout, generated, reference, _ = drawn_engines(data)
    before = data.draw(st.binary(max_size=5))
    octets = data.draw(samples(layout))[0]
    after = data.draw(st.binary(max_size=3))
    whole = before + octets + after
    ours, theirs = (outcome(engine.parse_prefix, whole, len(before)) for engine in (generated, reference))
    if isinstance(theirs, Fault):
        assert ours == theirs
    else:
        assert ours[1] == theirs[1]
        assert generated.build(ours[0]) == octets[: ours[1]] + after[: max(0, ours[1] - len(octets))]


@laws
@given(st.data())
def test_canonical_json_gives_the_layout_back(data: st.DataObject) -> None:
    layout, _, _, _ = drawn_engines(data)
    again = layout_from_json(layout_to_json(layout))
    assert again == layout
    assert digest(again) == digest(layout)

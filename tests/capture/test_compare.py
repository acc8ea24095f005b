"""Two sessions against each other: pairs, fields, elements, order, and what is kept of large ones."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from construct import (
    Array,
    BitsInteger,
    BitStruct,
    Bytes,
    Int8ul,
    Int16ub,
    Padding,
    Prefixed,
    Struct,
    Switch,
    this,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol import PROTOCOLS
from protocol.rotation import PoseFlags, RotationV1
from protocol.snapshot import EntityV1, Position, SnapshotV1, SnapshotV2
from tests.capture.test_verify import snapshots
from tests.cli.command import PINGS, SESSION, capture_of
from tests.golden.conftest import small_protocols
from tests.schema.record_maker import record_of
from tests.strategies import layouts, lowered, samples
from wirelock import Protocol, Registry
from wirelock.capture.compare import Comparison, compare, keys_by_version, recorded
from wirelock.capture.decode import Selection, Summary, decode
from wirelock.capture.divergence import field_differences
from wirelock.layout.walk import walk
from wirelock.schema.keys import keys_of

EVERYTHING = Selection()


def compared(
    a: bytes, b: bytes, keys=None, registry=PROTOCOLS, selection: Selection = EVERYTHING
) -> Comparison:
    chosen = keys_by_version(registry, keys)
    sides = (
        recorded(decode(io.BytesIO(data), registry, selection, Summary(), "x"), selection.skip, chosen)
        for data in (a, b)
    )
    return compare(*sides, chosen)


def of(records) -> bytes:
    return capture_of(*(record.build() for record in records))


def entity(number: int, **more) -> EntityV1:
    values = {
        "id": number,
        "flags": PoseFlags(0),
        "position": Position(x=1, y=2, z=3),
        "rotation": RotationV1(largest_index=3, a=1, b=-2, c=3),
    }
    return EntityV1(**values | more)


def scene(tick: int, *numbers: int, **more) -> SnapshotV1:
    return SnapshotV1(tick=tick, entities=tuple(entity(number, **more) for number in numbers))


def paths(a, b, keys=None) -> list[str]:
    """Return the fields in which two records differ, as both sides see them."""
    layout = a.__wirelock__.layout
    chosen = keys_of(layout, PROTOCOLS["snapshot"].keys if keys is None else keys)
    found = field_differences(layout, chosen, (a.build(), 0), (b.build(), 0))
    back = field_differences(layout, chosen, (b.build(), 0), (a.build(), 0))
    assert {(item.path, item.a, item.b) for item in found} == {(item.path, item.b, item.a) for item in back}
    return [item.path for item in found]


# -- laws


@given(records=st.lists(snapshots, max_size=6), by_order=st.booleans())
def test_a_session_and_itself_have_no_difference(records, by_order):
    found = compared(of(records), of(records), () if by_order else None)
    assert found == Comparison(same=len(records))


@given(
    records=st.lists(snapshots, max_size=6, unique_by=lambda record: (type(record), record.tick)),
    data=st.data(),
)
def test_keys_pair_records_in_any_order(records, data):
    shuffled = data.draw(st.permutations(records))
    assert compared(of(records), of(shuffled)) == Comparison(same=len(records))


@given(records=st.lists(snapshots, max_size=6), drop=st.integers(0, 5))
def test_a_record_that_was_lost_is_told(records, drop):
    less = [record for number, record in enumerate(records) if number != drop]
    found = compared(of(records), of(less))
    assert len(found.only_a) == len(records) - len(less) and found.only_b == []
    back = compared(of(less), of(records))
    assert [it.packet for it in back.only_b] == [it.packet for it in found.only_a] and back.only_a == []


@given(one=snapshots, other=snapshots)
def test_records_with_the_same_bytes_and_no_others_have_no_difference(one, other):
    if type(one) is type(other):
        layout = type(one).__wirelock__.layout
        found = field_differences(layout, keys_of(layout, ()), (one.build(), 0), (other.build(), 0))
        assert (found == []) == (one.build() == other.build())


@settings(suppress_health_check=list(HealthCheck))
@given(st.data())
def test_two_records_of_any_layout_differ_in_a_field_if_their_bytes_do(data):
    layout = data.draw(lowered(walk(data.draw(layouts()))))
    one, other = (data.draw(samples(layout))[0] for _ in range(2))
    found = field_differences(layout, keys_of(layout, ()), (one, 3), (other, 5))
    assert (found == []) == (one == other)
    assert len({item.path for item in found}) == len(found)
    for item in found:
        for side, record, start in ((item.a, one, 3), (item.b, other, 5)):
            assert side is None or start <= side.first <= side.last < start + len(record)


# -- fields


def test_fields_of_elements_go_by_key():
    one = scene(1, 1, 2, 3)
    other = SnapshotV1(tick=1, entities=(entity(3), entity(1), entity(2, position=Position(x=1, y=-2, z=3))))
    assert paths(one, other) == ["entities[id=2].position.y"]
    assert "entities[0].id" in paths(one, other, ())


def test_elements_of_one_record_only_are_one_difference():
    one, other = scene(1, 1, 2), scene(1, 2, 7, 8)
    assert paths(one, other) == ["count", "entities[id=1]", "entities[id=7]", "entities[id=8]"]
    layout = SnapshotV1.__wirelock__.layout
    found = field_differences(
        layout, keys_of(layout, ("entities[].id",)), (one.build(), 4), (other.build(), 100)
    )
    count, gone, new, _ = found
    assert (count.a.place, count.a.value, count.b.value) == ("bytes 11..12", "2", "3")
    assert (gone.general, gone.b) == ("entities[]", None)
    assert (gone.a.first, gone.a.last, gone.a.place) == (13, 34, "bytes 13..34")
    assert (gone.a.octets, gone.a.value) == ("01 00 00 00 00 80 3f 00 (+14)", "9 fields")
    assert (new.a, new.b.place) == (None, "bytes 131..152")


def test_two_elements_with_one_key():
    one, other = scene(1, 5, 5), SnapshotV1(tick=1, entities=(entity(5), entity(5, flags=PoseFlags(1))))
    assert paths(one, other) == ["entities[id=5#2].flags"]
    assert paths(scene(1, 5), scene(1, 5, 5)) == ["count", "entities[id=5#2]"]


def test_the_order_of_elements_alone_is_no_field():
    one, other = scene(1, 1, 2), scene(1, 2, 1)
    assert paths(one, other) == []
    found = compared(of([one]), of([other]))
    assert (found.different, found.reordered, found.fields) == (1, 1, {})
    assert found.first.field is None and found.first.key == "tick=1"
    later = compared(of([one, scene(2)]), of([other, scene(2, 9)]))
    assert later.first.field.path == "count" and later.first.key == "tick=2"


def test_two_keys_of_elements_and_keys_in_records_inside():
    source = Struct(
        "n" / Int8ul, "xs" / Array(this.n, Struct("a" / Int8ul, "b" / Struct("c" / Int8ul), "v" / Int8ul))
    )
    made = record_of(source)
    one, other = (made.parse(data) for data in (b"\2\1\1\7\1\2\7", b"\2\1\2\7\1\1\5"))
    assert paths(one, other, ("xs[].a", "xs[].b.c")) == ["xs[a=1,b.c=1].v"]


def test_keys_of_arrays_in_arrays():
    inner = Struct("id" / Int8ul, "n" / Int8ul, "ys" / Array(this.n, Struct("id" / Int8ul, "v" / Int8ul)))
    made = record_of(Struct("n" / Int8ul, "xs" / Array(this.n, inner)))
    one, other = (made.parse(data) for data in (b"\2\1\2\1\7\2\7\2\0", b"\2\2\0\1\2\2\5\1\7"))
    assert paths(one, other, ("xs[].id", "xs[].ys[].id")) == ["xs[id=1].ys[id=2].v"]


def test_bits_counts_and_padding():
    source = Struct(
        "b" / BitStruct("x" / BitsInteger(3), "y" / BitsInteger(5)),
        "p" / Prefixed(Int8ul, Struct("v" / Int8ul)),
        Padding(1),
        "data" / Bytes(12),
    )
    made = record_of(source)
    one, other = made.parse(b"\x21\1\7\0" + bytes(12)), made.parse(b"\x22\1\7\0" + bytes(11) + b"x")
    found = field_differences(
        made.__wirelock__.layout, keys_of(made.__wirelock__.layout, ()), (one.build(), 2), (other.build(), 2)
    )
    assert [(it.path, it.a.place, it.a.octets, it.b.octets) for it in found] == [
        ("b.y", "byte 2 bits 4..0", "0b00001", "0b00010"),
        ("data", "bytes 6..17", "(9 bytes) 00 00 00", "(9 bytes) 00 00 78"),
    ]


def test_a_switch_with_another_case():
    made = record_of(Struct("k" / Int8ul, "v" / Switch(this.k, {1: Int16ub, 2: Bytes(2)})))
    assert paths(made.parse(b"\1\0\7"), made.parse(b"\2\0\7"), ()) == ["k", "v"]


def test_text_from_the_wire_is_quoted_in_names():
    from construct import PascalString

    made = record_of(
        Struct("n" / Int8ul, "xs" / Array(this.n, Struct("id" / PascalString(Int8ul, "utf8"), "v" / Int8ul)))
    )
    one, other = (made.parse(b"\1\5].\x1b[m" + value) for value in (b"\1", b"\2"))
    assert paths(one, other, ("xs[].id",)) == ["xs[id='].\\x1b[m'].v"]


# -- pairs


def test_the_nth_with_a_key_belongs_to_the_nth():
    a = [scene(1, 1), scene(1, 2), scene(2, 1)]
    b = [scene(2, 1), scene(1, 1), scene(1, 3)]
    found = compared(of(a), of(b))
    assert (found.same, found.different) == (2, 1)
    assert (found.first.a.packet, found.first.b.packet) == (2, 3)


def test_the_first_difference_is_the_first_in_the_first_capture():
    a = [scene(tick, 1) for tick in range(5)]
    b = [scene(tick, 1, flags=PoseFlags(tick % 2)) for tick in reversed(range(5))]
    found = compared(of(a), of(b))
    assert (found.first.a.packet, found.first.b.packet, found.first.key) == (2, 4, "tick=1")
    assert found.fields == {("snapshot v1", "entities[].flags"): 2}


def test_versions_and_protocols_are_paired_apart():
    a = [scene(1), SnapshotV2(tick=1, entities=())]
    b = [SnapshotV2(tick=1, entities=()), SnapshotV2(tick=1, entities=())]
    found = compared(of(a), of(b))
    assert found.same == 1
    assert [(it.label, it.packet) for it in found.only_a] == [("snapshot v1", 1)]
    assert [(it.label, it.packet) for it in found.only_b] == [("snapshot v2", 2)]


def test_without_keys_records_go_by_their_order():
    found = compared(of([scene(1), scene(2)]), of([scene(1), scene(3)]), ())
    assert (found.same, found.different, found.first.field.path, found.first.key) == (1, 1, "tick", "")


def test_other_keys_than_those_declared():
    a, b = [scene(1, 1), scene(2)], [scene(2), scene(1, 1)]
    assert compared(of(a), of(b), ("count",)).same == 2
    assert compared(of(a), of(b), ()).same == 0


def test_records_that_repeat_have_places_of_their_own():
    registry = small_protocols(PINGS)
    ping = lambda n: b"PG\1" + n.to_bytes(2, "big")  # noqa: E731
    a = capture_of(b"he" + ping(1) + ping(2), b"he" + ping(3))
    b = capture_of(b"he" + ping(1), b"he" + ping(7) + ping(3))
    found = compared(a, b, (), registry, Selection(skip=2))
    assert (found.same, found.different) == (2, 1)
    assert (found.first.a.where, found.first.b.where) == ("packet 1 [1]", "packet 2 [0]")
    assert (found.first.field.a.place, found.first.field.b.place) == ("bytes 10..11", "bytes 5..6")


def test_protocols_without_tags_and_without_keys():
    from protocol.rotation import RotationV2

    registry = Registry(Protocol("rotation", {2: RotationV2}))
    selection = Selection(protocol=registry["rotation"], version=2)
    found = compared(capture_of(bytes(7)), capture_of(b"\4" + bytes(6)), None, registry, selection)
    assert found.first.field.path == "flags"


# -- size


@pytest.mark.parametrize("shift", [0, 40])
def test_sessions_in_the_same_order_are_not_kept(shift):
    """Twenty thousand records; those that wait at one time are as many as the captures are apart."""
    data = [SnapshotV2(tick=tick, entities=()).build() for tick in range(20_000)]
    a, b = capture_of(*data), capture_of(*data[shift:])
    tracemalloc.start()
    try:
        found = compared(a, b)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.same, len(found.only_a), len(found.only_b)) == (20_000 - shift, shift, 0)
    assert peak < 400_000


def test_the_session_and_itself():
    data = SESSION.read_bytes()
    assert compared(data, data) == Comparison(same=304)

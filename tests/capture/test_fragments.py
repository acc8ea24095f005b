"""Fragments: any order, duplicates and overlaps make the packet that was sent, or a fault; never a guess."""

import io
import tracemalloc
from dataclasses import replace

import pytest
from capture_writer import Blocks, extension, fragment_of, ipv4, ipv6, udp
from hypothesis import given
from hypothesis import strategies as st

from wirelock.capture import fragments
from wirelock.capture.datagrams import PACKET_FAULTS, Datagram, read_datagrams
from wirelock.capture.files import CaptureFault, Counts, Packet, read_capture

SECOND = 10**9
BYTES = bytes(number % 251 for number in range(72))
PAYLOAD = udp(BYTES)
"""Ten times eight bytes."""


def packets(datas, *, step=1, missing=0):
    """Packets of raw IP, `step` ns apart; `missing` bytes of each were not captured."""
    return [
        Packet(number, number * step, 0, 101, len(data), len(data) + missing, data)
        for number, data in enumerate(datas, 1)
    ]


def read(datas, **about):
    """Return what packets are, after checking that each is counted once."""
    counts = Counts()
    given = packets(datas, **about)
    counts.packets = len(given)
    found = list(read_datagrams(given, counts))
    assert counts.balanced
    assert all(item.code in PACKET_FAULTS for item in found if isinstance(item, CaptureFault))
    return found


def told(found):
    return [(item.packet, item.payload if isinstance(item, Datagram) else item.code) for item in found]


def cut(*places, payload=PAYLOAD, **about):
    """Return the fragments of a payload between these places."""
    ends = *places, len(payload)
    return [fragment_of(payload, *ends, **about) for ends in zip((0, *places), ends, strict=True)]


both = pytest.mark.parametrize("version", [4, 6])


@both
@pytest.mark.parametrize(
    ("order", "last"),
    [((0, 1, 2), 3), ((2, 1, 0), 3), ((1, 0, 2), 3), ((0, 0, 2, 2, 1), 5), ((2, 0, 2, 0, 1), 5)],
)
def test_any_order_and_duplicates(version, order, last):
    pieces = cut(8, 40, version=version)
    [found] = read([pieces[index] for index in order])
    assert (found.packet, found.time_ns, found.payload, found.faults) == (last, last, BYTES, ())
    assert (found.source_port, found.destination_port, found.byte) == (1111, 2222, None)


@both
def test_packets_of_other_numbers_and_hosts_are_apart(version):
    one, other = cut(40, version=version, number=1), cut(16, version=version, number=2)
    assert told(read([one[0], other[1], other[0], one[1]])) == [(3, BYTES), (4, BYTES)]
    back = [data.replace(b"\x0a\0\0\1\x0a\0\0\2", b"\x0a\0\0\2\x0a\0\0\1") for data in cut(16)]
    assert told(read([cut(40)[0], back[1], back[0], cut(40)[1]])) == [(3, BYTES), (4, BYTES)]


OVERLAPS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10)), max_size=8)


@given(OVERLAPS, st.randoms(use_true_random=False), st.sampled_from([4, 6]))
def test_overlaps_that_agree_make_what_was_sent(spans, shuffle, version):
    ends = [(8 * at, min(8 * (at + size), len(PAYLOAD))) for at, size in spans]
    pieces = [fragment_of(PAYLOAD, start, stop, version=version) for start, stop in ends]
    pieces += cut(24, 48, version=version)
    shuffle.shuffle(pieces)
    found = [item for item in read(pieces) if isinstance(item, Datagram)]
    assert found
    assert {item.payload for item in found} == {BYTES}


@given(OVERLAPS.filter(bool), st.integers(0, 71), st.randoms(use_true_random=False))
def test_overlaps_that_do_not_agree_are_a_fault_and_never_a_datagram(spans, place, shuffle):
    wrong = bytearray(PAYLOAD)
    wrong[place] ^= 1
    start = place // 8 * 8
    pieces = [fragment_of(bytes(wrong), start, start + 8), *cut(24, 48)[:-1]]
    pieces += [fragment_of(PAYLOAD, 8 * at, min(8 * (at + size), 72)) for at, size in spans if at < 9]
    last = fragment_of(PAYLOAD, 48, 80)
    shuffle.shuffle(pieces)
    found = read([*pieces, last])
    assert [item.code for item in found] == ["fragment-overlap"]


NONE = {
    "first alone": ([cut(40)[0]], "fragment-missing"),
    "last alone": ([cut(40)[1]], "fragment-missing"),
    "a hole": ([cut(16, 40)[0], cut(16, 40)[2]], "fragment-missing"),
    "a second end, shorter": ([cut(40)[1], fragment_of(PAYLOAD[:64], 40, 64)], "fragment-overlap"),
    "an end before what came": ([cut(16, 64)[1], fragment_of(PAYLOAD[:32], 16, 32)], "fragment-overlap"),
    "behind the end": ([fragment_of(PAYLOAD[:32], 16, 32), cut(40, 48)[1]], "fragment-overlap"),
    "no multiple of eight": ([ipv4(bytes(12), flags=1)], "fragment-length"),
    "beyond all": ([ipv4(bytes(16), offset=8191)], "fragment-length"),
    "and what comes behind": ([ipv4(bytes(12), flags=1), *cut(40), *cut(40)], "fragment-length"),
    "longer than the packet": ([ipv4(PAYLOAD[:40], flags=1, total=61), *cut(40)], "ip-length-long"),
    "nothing but a header": ([ipv4(b"", flags=1)], "fragment-missing"),
}


@pytest.mark.parametrize("name", NONE)
def test_what_makes_no_datagram(name):
    pieces, code = NONE[name]
    assert [item.code for item in read(pieces)] == [code]


def test_what_was_not_captured_whole_makes_nothing():
    found = read([data[:-3] for data in cut(40)], missing=3)
    assert told(found) == [(1, "snaplen-cut")]


def test_faults_say_what_is_missing_or_wrong():
    first, _, last = cut(16, 40)
    wrong = ipv4(b"x" * 8, offset=1)
    texts = [read(given)[0].message for given in ([first, last], [first], [last], [first, wrong])]
    assert texts == [
        "2 fragments of 56 bytes came, bytes 16..39 did not",
        "1 fragment of 16 bytes came, what follows byte 15 did not",
        "1 fragment of 40 bytes came, bytes 0..39 did not",
        "byte 8 of the fragmented packet is another one in an earlier fragment",
    ]
    assert read([first])[0].place == "byte 20 of the packet"


def test_late_duplicates_are_no_fault_and_a_whole_copy_is_a_datagram():
    one, two = cut(40)
    other = fragment_of(udp(bytes(72)), 40, 80)
    assert told(read([one, two, one])) == [(2, BYTES)]
    assert told(read([one, two, two, one, two])) == [(2, BYTES), (4, BYTES)]
    assert told(read([one, two, other])) == [(2, BYTES), (3, "fragment-missing")]


def test_a_number_that_comes_again_after_a_minute_is_another_packet():
    old, *new = cut(40)[0], *cut(40, payload=udp(bytes(72)))
    assert told(read([old, *new])) == [(2, "fragment-overlap")]
    first, *others = packets([old, *new])
    later = [replace(packet, time_ns=61 * SECOND) for packet in others]
    assert told(read_datagrams([first, *later])) == [(1, "fragment-missing"), (3, bytes(72))]


def test_tcp_in_fragments_is_tcp():
    counts = Counts()
    given = packets(cut(40, protocol=6) + cut(40, version=6, protocol=6))
    assert list(read_datagrams(given, counts)) == []
    assert counts.others == {"tcp": 4}


@pytest.mark.parametrize("following", [17, 60], ids=["udp", "options"])
def test_extension_headers_may_be_fragmented_too(following):
    whole = PAYLOAD if following == 17 else extension(17) + PAYLOAD
    pieces = cut(8, 40, payload=whole, version=6, protocol=following)
    assert told(read(pieces[::-1])) == [(3, BYTES)]
    lost = read([ipv6(extension(44) + data[40:], protocol=60) for data in pieces])
    assert told(lost) == [(3, BYTES)]


def test_faults_in_what_fragments_make_are_placed_there():
    [found] = read(cut(40, payload=udp(BYTES, length=99)))
    assert [str(fault) for fault in found.faults] == [
        "udp-length-long: udp.length 99, the IP payload holds 80 (packet 2; byte 4 of the reassembled packet)"
    ]


def test_memory_is_bounded_and_the_oldest_make_room(monkeypatch):
    monkeypatch.setattr(fragments, "MOST_HELD", 400_000)
    count = 3000
    given = (
        Packet(number, None, 0, 101, 1044, 1044, ipv4(bytes(1024), flags=1, number=number))
        for number in range(1, count + 1)
    )
    counts = Counts(packets=count)
    tracemalloc.start()
    try:
        found = [item.packet for item in read_datagrams(given, counts)]
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert found == list(range(1, count + 1))
    assert counts.balanced


def test_faults_come_before_the_packet_that_took_their_room(monkeypatch):
    monkeypatch.setattr(fragments, "MOST_HELD", 1300)
    first, second = cut(40, number=1), cut(40, number=2)
    found = read([first[0], second[0], ipv4(udp(b"whole")), second[1]])
    assert told(found) == [(1, "fragment-missing"), (3, b"whole"), (4, BYTES)]


def test_fragments_of_one_packet_on_several_interfaces():
    blocks = Blocks()
    data = blocks.section() + blocks.interface(link=101) + blocks.interface(link=228)
    data += blocks.enhanced(cut(40)[1], interface=1) + blocks.simple(cut(40)[0])
    assert told(read_datagrams(read_capture(io.BytesIO(data)))) == [(2, BYTES)]

"""Damage of every kind: nothing but CaptureError raises, what came before is kept, and the numbers add up."""

import io
import tracemalloc
from pathlib import Path

import pytest
from capture_writer import Blocks, ethernet, extension, fragment, ipv4, ipv6, jumbo, pcap, udp
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import CORPUS, check_datagrams, packets_of, read

from wirelock.capture.datagrams import read_datagrams
from wirelock.capture.files import Counts, Packet, read_capture
from wirelock.capture.links import LINKS
from wirelock.capture.pcap import LARGEST

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"


def every_block(blocks):
    first = ethernet(ipv6(extension(44) + fragment(17) + udp(b"one"), protocol=0), 0x86DD)
    second = ethernet(ipv4(udp(b"two"), options=b"\1\1\1\0"), tags=[(0x88A8, 2), (0x8100, 3)])
    third = ipv6(jumbo(17, 70000) + udp(b"three", length=0), protocol=0, length=0)
    return (
        blocks.section(options=blocks.option(4, b"writer"))
        + blocks.interface(resolution=9, offset=-3, options=blocks.option(2, b"lo"))
        + blocks.interface(link=229, snaplen=96, resolution=0x8A)
        + blocks.enhanced(first, ticks=1 << 40)
        + blocks.block(5, bytes(12))
        + blocks.simple(second)
        + blocks.obsolete(third, interface=1, ticks=5, original=70_040)
    )


FILES = {path.stem: path.read_bytes() for path in sorted(CAPTURES.glob("*.pcap"))}
FILES |= {
    "pcapng little": every_block(Blocks("<")),
    "pcapng big": every_block(Blocks(">")),
    "pcapng both": every_block(Blocks("<")) + every_block(Blocks(">")),
}
each_file = pytest.mark.parametrize("name", FILES)


@each_file
def test_the_files_are_whole(name):
    items = read(FILES[name])
    assert len(items) >= 1
    assert all(isinstance(item, Packet) for item in items)


def ends(data):
    """Yield where a file may end: behind its header, each record and each block."""
    at, order = 0, "big"
    if data.startswith(b"\n\r\r\n"):
        while at < len(data):
            if data[at : at + 4] == b"\n\r\r\n":
                order = "little" if data[at + 8] == 0x4D else "big"
            at += int.from_bytes(data[at + 4 : at + 8], order)
            yield at
        return
    order = "big" if data[0] == 0xA1 else "little"
    at, header = 24, 24 if b"\xcd" in data[:4] else 16
    while at <= len(data):
        yield at
        at += header + int.from_bytes(data[at + 8 : at + 12], order)


@each_file
def test_a_file_cut_anywhere_keeps_what_came_before_and_says_so(name):
    whole, clean = read(FILES[name]), {len(FILES[name])}
    for size in range(len(FILES[name])):
        items = read(FILES[name][:size])
        if items is None:
            assert size < next(ends(FILES[name]))
            continue
        packets = packets_of(items)
        assert packets == whole[: len(packets)]
        if len(items) == len(packets):
            clean.add(size)
        else:
            [fault] = items[len(packets) :]
            assert fault.code == "cut"
            assert fault.packet in (None, len(packets) + 1)
    assert clean == set(ends(FILES[name]))


@each_file
@pytest.mark.parametrize("flip", [1, 2, 4, 8, 16, 32, 64, 128, 255])
def test_a_wrong_byte_anywhere_costs_nothing_before_it(name, flip):
    data, before = FILES[name], 0
    places = [*ends(data), len(data)]
    for at in range(len(data)):
        before = packets_of(read(data[:at])) if at in places else before or []
        found = packets_of(read(data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]))
        assert found[: len(before)] == before


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_files_that_were_found_by_fuzzing(number):
    read(CORPUS[number])


@given(st.data(), st.sampled_from(CORPUS), st.sampled_from(CORPUS))
def test_files_made_of_these(drawn, one, other):
    """Two files cut and joined, with a few wrong bytes: much as a fuzzer does, within the time of a test."""
    start, stop = drawn.draw(st.integers(0, len(one))), drawn.draw(st.integers(0, len(other)))
    data = bytearray(one[:start] + other[stop:])
    for at in drawn.draw(st.lists(st.integers(0, max(0, len(data) - 1)), max_size=4)) if data else []:
        data[at] = drawn.draw(st.sampled_from([0, 1, 8, 127, 128, 255]))
    read(bytes(data))


LONG = (CAPTURES / "session.pcapng").read_bytes()
LONG_PACKETS = list(read_capture(io.BytesIO(LONG)))


@settings(max_examples=30)
@given(st.integers(0, len(LONG) - 1), st.integers(0, 255))
def test_a_long_file_cut_or_with_a_wrong_byte(at, flip):
    before = [packet for packet in LONG_PACKETS if packet.byte + -(-packet.captured // 4) * 4 + 4 <= at]
    cut = packets_of(read(LONG[:at]))
    assert cut[: len(before)] == before
    assert len(cut) <= len(before) + 1
    assert packets_of(read(LONG[:at] + bytes([LONG[at] ^ flip]) + LONG[at + 1 :]))[: len(cut)] == cut


@given(st.sampled_from(sorted(FILES)), st.binary(max_size=60), st.floats(0, 1), st.integers(0, 40))
def test_bytes_put_in_or_taken_out_raise_nothing_else(name, put, place, taken):
    data = FILES[name]
    at = int(place * len(data))
    read(data[:at] + put + data[at + taken :])


@given(st.sampled_from([*LINKS, 147]), st.binary(max_size=120), st.integers(0, 300))
def test_any_bytes_are_a_packet(link, data, original):
    items = [Packet(1, None, 0, link, len(data), original, data)]
    check_datagrams(items, Counts(packets=1))


HUGE = {
    "pcap": pcap([(0, 0, b"")], link=249)[:-8] + LARGEST.to_bytes(4, "little") * 2 + bytes(1000),
    "packet block": Blocks().section() + Blocks().block(6, bytes(1000), length=LARGEST),
    "unknown block": Blocks().section() + Blocks().block(77, bytes(1000), length=LARGEST),
}


class Watched(io.BytesIO):
    asked = 0

    def read1(self, size=-1):
        self.asked = max(self.asked, size)
        return super().read1(size)


@pytest.mark.parametrize("name", HUGE)
def test_a_length_costs_no_more_than_the_bytes_that_are_there(name):
    file = Watched(HUGE[name])
    [fault] = read_capture(file)
    assert fault.code == "cut"
    assert 0 < file.asked <= 1 << 16


class Endless(io.RawIOBase):
    """A header, then one record again and again."""

    def __init__(self, start, record, times):
        self.data, self.times, self.record = start, times, record * 100

    def read(self, size=-1):
        while len(self.data) < size and self.times:
            self.data += self.record
            self.times -= 1
        found, self.data = self.data[:size], self.data[size:]
        return found


@pytest.mark.parametrize("name", ["pcap", "pcapng", "unknown blocks"])
def test_memory_is_flat(name):
    data = ethernet(ipv4(udp(bytes(1000))))
    blocks = Blocks()
    start, record = {
        "pcap": (pcap([]), pcap([(0, 0, data)])[24:]),
        "pcapng": (blocks.section() + blocks.interface(), blocks.enhanced(data)),
        "unknown blocks": (blocks.section(), blocks.block(1 << 20, bytes(1000))),
    }[name]
    tracemalloc.start()
    try:
        for _ in read_datagrams(read_capture(Endless(start, record, 100))):
            pass
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()

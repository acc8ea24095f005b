"""pcapng: sections, interfaces with clocks of their own, the three packet blocks, and what is passed over."""

import io
from fractions import Fraction
from math import floor

import pytest
from capture_writer import Blocks
from hypothesis import given
from hypothesis import strategies as st

from wirelock.capture.files import CaptureFault, Counts, Packet, read_capture
from wirelock.capture.pcap import LARGEST
from wirelock.capture.pcapng import LARGEST_BLOCK

LITTLE, BIG = Blocks("<"), Blocks(">")
ORDERS = pytest.mark.parametrize("blocks", [LITTLE, BIG], ids=["little", "big"])


def read(data, counts=None):
    return list(read_capture(io.BytesIO(data), counts))


def read_one(blocks, *parts):
    """Return the only item of a section with these blocks."""
    [item] = read(blocks.section() + b"".join(parts))
    return item


@ORDERS
def test_the_three_packet_blocks(blocks):
    data = (
        blocks.section()
        + blocks.interface(link=101)
        + blocks.enhanced(
            b"enhanced", ticks=5_000_000_000_000_001, original=900, options=blocks.option(1, b"note")
        )
        + blocks.simple(b"simple")
        + blocks.obsolete(b"old", ticks=7)
        + blocks.enhanced(b"")
    )
    assert read(data) == [
        Packet(1, 5_000_000_000_000_001_000, 0, 101, 8, 900, b"enhanced"),
        Packet(2, None, 0, 101, 6, 6, b"simple"),
        Packet(3, 7000, 0, 101, 3, 3, b"old"),
        Packet(4, 0, 0, 101, 0, 0, b""),
    ]


@ORDERS
def test_interfaces_have_link_types_and_clocks_of_their_own(blocks):
    data = (
        blocks.section()
        + blocks.interface(link=1)
        + blocks.interface(link=276, resolution=9, options=blocks.option(2, b"eth0"))
        + blocks.enhanced(b"a", interface=1, ticks=3)
        + blocks.enhanced(b"b", interface=0, ticks=3)
        + blocks.obsolete(b"c", interface=1, ticks=4)
    )
    assert [(p.interface, p.link_type, p.time_ns) for p in read(data)] == [
        (1, 276, 3),
        (0, 1, 3000),
        (1, 276, 4),
    ]


def test_sections_change_the_byte_order_and_forget_the_interfaces():
    data = (
        LITTLE.section()
        + LITTLE.interface(link=1)
        + LITTLE.interface(link=12)
        + LITTLE.enhanced(b"one", interface=1, ticks=1)
        + BIG.section(version=(1, 2), options=BIG.option(4, b"a test"))
        + BIG.interface(link=113, resolution=0)
        + BIG.enhanced(b"two", ticks=2)
        + BIG.enhanced(b"lost", interface=1)
        + LITTLE.section(length=12345)
        + LITTLE.simple(b"lost")
    )
    counts = Counts()
    items = read(data, counts)
    assert items[:2] == [Packet(1, 1000, 1, 12, 3, 3, b"one"), Packet(2, 2 * 10**9, 0, 113, 3, 3, b"two")]
    assert [(item.packet, item.code, item.message) for item in items[2:]] == [
        (3, "no-interface", "interface 1 is not described"),
        (4, "no-interface", "interface 0 is not described"),
    ]
    assert counts == Counts(packets=2, damages=2)


TICKS = [0, 1, 999, 1_700_000_000_123_456_789, (1 << 64) - 1]
RESOLUTIONS = [0, 3, 6, 9, 10, 18, 127, 0x80, 0x81, 0x80 | 10, 0x80 | 30, 0x80 | 63, 0xFF]
OFFSETS = [None, 0, 1, -1, 1_700_000_000, (1 << 63) - 1, -(1 << 63)]


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_times_are_exact_and_rounded_down(resolution):
    second = Fraction(2 if resolution & 0x80 else 10) ** (resolution & 0x7F)
    for ticks in TICKS:
        for offset in OFFSETS:
            interface = BIG.interface(resolution=resolution, offset=offset)
            packet = read_one(BIG, interface, BIG.enhanced(b"", ticks=ticks))
            assert packet.time_ns == floor((Fraction(offset or 0) + Fraction(ticks) / second) * 10**9)


def test_microseconds_where_nothing_is_said():
    assert (
        read_one(LITTLE, LITTLE.interface(options=b"\0\0\0\0"), LITTLE.enhanced(b"", ticks=5)).time_ns == 5000
    )


def test_options_behind_the_end_of_options_do_not_count():
    options = LITTLE.option(0, b"") + LITTLE.option(9, b"\x09")
    assert read_one(LITTLE, LITTLE.interface(options=options), LITTLE.enhanced(b"", ticks=5)).time_ns == 5000


@ORDERS
def test_simple_packets_are_as_long_as_the_snaplen_lets_them(blocks):
    data = (
        blocks.section()
        + blocks.interface(snaplen=5)
        + blocks.simple(b"abcde", original=77)
        + blocks.simple(b"abc")
        + blocks.simple(b"abc", original=9)
    )
    assert read(data)[:2] == [Packet(1, None, 0, 1, 5, 77, b"abcde"), Packet(2, None, 0, 1, 3, 3, b"abc")]
    assert read(data)[2] == CaptureFault(
        3, "bad-block", "5 bytes captured, 4 in the block", 28 + 20 + 24 + 20, "file"
    )


@ORDERS
def test_other_blocks_are_passed_over_and_counted(blocks):
    others = [4, 5, 10, 0x0BAD, 0x40000BAD, 0x80000001, 0xFFFFFFFF]
    data = blocks.section() + b"".join(blocks.block(kind, bytes(kind % 97)) for kind in others)
    counts = Counts()
    items = read(data + blocks.interface() + blocks.block(4, bytes(700_000)) + blocks.simple(b"x"), counts)
    assert [item.data for item in items] == [b"x"]
    assert counts == Counts(packets=1, blocks=len(others) + 1)


@ORDERS
@pytest.mark.parametrize(("kind", "code"), [(6, "bad-block"), (1, "bad-block"), (0x0A0D0D0A, "bad-section")])
def test_blocks_that_are_too_large_to_hold_are_passed_over(blocks, kind, code):
    start = blocks.pack("I", 0x1A2B3C4D)
    data = (
        blocks.section()
        + blocks.block(kind, start + bytes(LARGEST))
        + blocks.interface()
        + blocks.simple(b"")
    )
    found = read(data)
    assert (found[0].code, found[0].byte) == (code, 28)
    assert found[0].message == f"a block of {LARGEST + 16} bytes; at most {LARGEST} are read"
    assert len(found) == (1 if code == "bad-section" else 2)


DAMAGED = {
    "length no multiple of four": (
        LITTLE.block(6, bytes(19), length=31), "bad-length", "a block of 31 bytes", 48
    ),
    "length below the frame": (LITTLE.block(6, b"", length=8), "bad-length", "a block of 8 bytes", 48),
    "length above all": (
        LITTLE.block(9, b"", length=LARGEST_BLOCK + 4),
        "bad-length",
        f"a block of {LARGEST_BLOCK + 4} bytes",
        48,
    ),
    "lengths differ": (
        LITTLE.block(6, bytes(20), after=28), "bad-length", "a block of 32 bytes that ends as one of 28", 48
    ),
    "section of a frame alone": (
        BIG.block(0x0A0D0D0A, b"\x1a\x2b\x3c\x4d", length=12), "bad-length", "a block of 12 bytes", 48
    ),
    "packet longer than its block": (
        LITTLE.enhanced(b"abcd", captured=5), "bad-block", "5 bytes captured, 4 in the block", 48
    ),
    "enhanced too short": (LITTLE.block(6, bytes(16)), "bad-block", "EnhancedPacket.original: ", 72),
    "obsolete too short": (LITTLE.block(2, bytes(4)), "bad-block", "ObsoletePacket.ticks_high: ", 60),
    "simple too short": (LITTLE.block(3, b""), "bad-block", "SimplePacket.original: ", 56),
    "interface too short": (LITTLE.block(1, bytes(4)), "bad-block", "Interface.snaplen: ", 60),
    "no such interface": (
        LITTLE.enhanced(b"", interface=3), "no-interface", "interface 3 is not described", 48
    ),
    "cut body": (LITTLE.block(6, bytes(20))[:-5], "cut", "24 bytes wanted, 19 left", 56),
    "cut body of another block": (LITTLE.block(9, bytes(8))[:-6], "cut", "12 bytes wanted, 6 left", 56),
    "cut frame": (LITTLE.block(6, bytes(20))[:7], "cut", "8 bytes wanted, 7 left", 48),
    "cut byte order": (LITTLE.section()[:10], "cut", "4 bytes wanted, 2 left", 56),
    "section of another version": (
        LITTLE.section(version=(1, 1)), "bad-section", "version 1.1 is not read", 48
    ),
    "section of no order": (
        LITTLE.block(0x0A0D0D0A, b"?!?!"), "bad-section", "3f 21 3f 21 states no byte order", 48
    ),
    "section too short": (
        BIG.block(0x0A0D0D0A, b"\x1a\x2b\x3c\x4d"), "bad-section", "Section.major: ", 60
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_blocks(name):
    block, code, message, byte = DAMAGED[name]
    [fault] = read(LITTLE.section() + LITTLE.interface() + block)
    assert (fault.code, fault.byte, fault.within) == (code, byte, "file")
    assert fault.message.startswith(message)


@pytest.mark.parametrize("name", DAMAGED)
def test_reading_goes_on_exactly_where_the_next_block_is_known(name):
    block, code, _, _ = DAMAGED[name]
    items = read(LITTLE.section() + LITTLE.interface() + block + LITTLE.enhanced(b"next"))
    assert isinstance(items[0], CaptureFault)
    assert [item.data for item in items[1:]] == ([b"next"] if code in ("bad-block", "no-interface") else [])


def test_damage_inside_a_block_costs_that_block_only():
    data = LITTLE.section() + LITTLE.interface() + LITTLE.enhanced(b"", captured=9) + LITTLE.enhanced(b"next")
    assert [getattr(item, "code", None) or item.data for item in read(data)] == ["bad-block", b"next"]


def test_a_fault_has_a_packet_number_only_where_there_was_a_packet():
    data = (
        LITTLE.section() + LITTLE.interface() + LITTLE.simple(b"") + LITTLE.block(1, b"") + LITTLE.simple(b"")
    )
    assert [getattr(item, "number", None) or item.packet for item in read(data)] == [1, None, 2]
    assert read(data + LITTLE.block(5, b"", length=13))[-1].packet is None
    assert read(data + LITTLE.simple(b"", original=9)[:-1])[-1].packet == 3
    assert read(data + b"\x03\0\0")[-1].packet == 3


@pytest.mark.parametrize(
    "options",
    [
        LITTLE.option(9, b"\x06\x00"),
        LITTLE.option(9, b""),
        LITTLE.option(9, b"\x06") * 2,
        LITTLE.option(14, bytes(4)),
        LITTLE.option(2, b"name") + LITTLE.pack("HH", 2, 50) + b"name",
    ],
    ids=["long", "empty", "twice", "short", "cut"],
)
def test_an_interface_whose_options_cannot_be_read_has_no_time(options):
    fault, packet = read(
        LITTLE.section() + LITTLE.interface(link=12, options=options) + LITTLE.enhanced(b"x", ticks=9)
    )
    assert (fault.packet, fault.code, fault.within) == (None, "bad-option", "file")
    assert packet == Packet(1, None, 0, 12, 1, 1, b"x")


def test_an_interface_that_cannot_be_read_keeps_its_number():
    data = LITTLE.section() + LITTLE.block(1, b"") + LITTLE.interface(link=7)
    codes = [
        getattr(item, "code", "packet")
        for item in read(data + LITTLE.enhanced(b"", interface=0) + LITTLE.enhanced(b"", interface=1))
    ]
    assert codes == ["bad-block", "no-interface", "packet"]


def test_interfaces_are_bounded(monkeypatch):
    monkeypatch.setattr("wirelock.capture.pcapng.MOST_INTERFACES", 2)
    data = LITTLE.section() + LITTLE.interface() * 3 + LITTLE.enhanced(b"", interface=2)
    assert [item.code for item in read(data)] == ["bad-block", "no-interface"]
    assert read(data)[0].message == "more than 2 interfaces in a section"


INTERFACES = st.tuples(st.integers(0, 0xFFFF), st.sampled_from([0, 6, 9, 0x80 | 20]), st.integers(-5, 5))


@given(st.data(), st.sampled_from([LITTLE, BIG]), st.lists(INTERFACES, min_size=1, max_size=3))
def test_what_was_written_is_read(data, blocks, interfaces):
    file, expected = blocks.section(), []
    for link, resolution, offset in interfaces:
        file += blocks.interface(link=link, resolution=resolution, offset=offset)
    for number in range(1, data.draw(st.integers(0, 4)) + 1):
        content, original = data.draw(st.binary(max_size=20)), data.draw(st.integers(0, 0xFFFFFFFF))
        place, ticks = (
            data.draw(st.integers(0, len(interfaces) - 1)),
            data.draw(st.integers(0, (1 << 64) - 1)),
        )
        write = data.draw(st.sampled_from([blocks.enhanced, blocks.obsolete]))
        file += write(content, interface=place, ticks=ticks, original=original)
        link, resolution, offset = interfaces[place]
        second = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
        time_ns = offset * 10**9 + ticks * 10**9 // second
        expected.append(Packet(number, time_ns, place, link, len(content), original, content))
    assert read(file) == expected

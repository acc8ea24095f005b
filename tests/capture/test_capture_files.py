"""pcap in all its kinds, and what is no capture at all."""

import gzip
import io
import json
import os
from pathlib import Path

import pytest
from capture_writer import Blocks, ethernet, ipv4, pcap, udp, zstd_of
from hypothesis import given
from hypothesis import strategies as st

from wirelock.capture.files import CaptureFault, Counts, Packet, read_capture
from wirelock.errors import CaptureError

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"
EXPECTED = json.loads((CAPTURES / "expected.json").read_text())
MICRO, NANO, MODIFIED = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34


def read(data, counts=None):
    return list(read_capture(io.BytesIO(data), counts))


@pytest.mark.parametrize("name", EXPECTED)
def test_packets_of_the_files(name):
    expected = EXPECTED[name]
    packets = list(read_capture(CAPTURES / f"{name}.pcap"))
    assert [packet.number for packet in packets] == list(range(1, expected["packets"] + 1))
    assert [packet.time_ns for packet in packets] == expected["timestamps_ns"]
    assert [packet.captured for packet in packets] == expected["captured"]
    assert [packet.original for packet in packets] == expected["original"]
    assert [len(packet.data) for packet in packets] == expected["captured"]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "tick"), [(MICRO, 1000), (NANO, 1), (MODIFIED, 1000)])
def test_every_kind_of_pcap(order, magic, tick):
    data = pcap([(1, 2, b"one"), (0xFFFFFFFF, 999_999, b"", 70_000)], order=order, magic=magic, link=276)
    assert read(data) == [
        Packet(1, 1_000_000_000 + 2 * tick, 0, 276, 3, 3, b"one"),
        Packet(2, 0xFFFFFFFF * 1_000_000_000 + 999_999 * tick, 0, 276, 0, 70_000, b""),
    ]


@pytest.mark.parametrize("version", [(2, 0), (2, 1), (2, 2), (543, 0)])
def test_old_versions_have_the_lengths_the_other_way_round(version):
    assert read(pcap([(1, 2, b"one", 9)], version=version)) == [Packet(1, 1_000_002_000, 0, 1, 3, 9, b"one")]


@pytest.mark.parametrize("swapped", [False, True])
def test_version_2_3_has_them_either_way(swapped):
    data = pcap([(1, 2, b"one", 9)], version=(2, 3), swapped=swapped)
    assert read(data) == [Packet(1, 1_000_002_000, 0, 1, 3, 9, b"one")]


@pytest.mark.parametrize("order", ["<", ">"])
def test_high_bits_of_the_link_type_are_no_link_type(order):
    assert [packet.link_type for packet in read(pcap([(0, 0, b"")], order=order, link=0x5400_0001))] == [1]


def test_a_capture_without_packets_is_a_capture():
    assert read(pcap([])) == []


NO_CAPTURES = {
    "empty": (b"", "is empty"),
    "short": (b"\xd4\xc3\xb2", "begins with d4 c3 b2, as no capture does"),
    "text": (b'{"packets": []}', "begins with 7b 22 70 61, as no capture does"),
    "bzip2": (b"BZh91AY&SY", "is bzip2, which is not read: unpack it first"),
    "cut gzip": (gzip.compress(pcap([]))[:12], "the gzip data are cut (byte 12)"),
    "no gzip": (b"\x1f\x8b\x07" + bytes(9), "the gzip data cannot be decoded: "),
    "gzip of another thing": (gzip.compress(b"text"), "begins with 74 65 78 74, as no capture does"),
    "zstd of nothing": (zstd_of(b""), "is empty"),
    "zstd of a window too large": (
        b"\x28\xb5\x2f\xfd\x00\x90" + bytes(9),
        "the zstd data cannot be decoded: ",
    ),
    "cut pcap": (pcap([])[:23], "is a pcap file of 23 bytes, less than its header"),
    "new pcap": (pcap([], version=(2, 5)), "is pcap version 2.5; versions 2.0 to 2.4 are read"),
    "new pcapng": (Blocks().section(version=(2, 0)), "is no readable pcapng file: version 2.0 is not read"),
    "cut pcapng": (Blocks().section()[:20], "is no readable pcapng file: 16 bytes wanted, 8 left"),
    "cut block": (Blocks().section()[:5], "is no readable pcapng file: 8 bytes wanted, 5 left"),
    "no order": (
        Blocks().block(0x0A0D0D0A, b"\x1a\x2b\x3c\x4e"),
        "is no readable pcapng file: 1a 2b 3c 4e states no byte order",
    ),
    "no section": (
        Blocks().block(0x0A0D0D0A, b"\x4d\x3c\x2b\x1a"),
        "is no readable pcapng file: Section.major: ",
    ),
}


@pytest.mark.parametrize("name", NO_CAPTURES)
def test_what_is_no_capture_says_what_it_is(tmp_path, name):
    data, problem = NO_CAPTURES[name]
    path = tmp_path / "session.pcap"
    path.write_bytes(data)
    with pytest.raises(CaptureError) as caught:
        list(read_capture(path))
    assert str(caught.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(caught.value)


def test_what_cannot_be_opened(tmp_path):
    for path, problem in [
        (tmp_path, "Is a directory"),
        (tmp_path / "none", "No such file"),
        ("a\0b", "null byte"),
    ]:
        with pytest.raises(CaptureError, match=problem):
            list(read_capture(path))
    with pytest.raises(CaptureError, match="the capture: is not open in binary mode"):
        list(read_capture(io.StringIO("text")))


class Failing(io.BytesIO):
    name = "disk"

    def read1(self, size=-1):
        if self.tell() >= 60:
            raise OSError(5, "Input/output error")
        return super().read1(min(size, 35))


def test_a_failing_disk_is_no_end_of_file():
    items = read_capture(Failing(pcap([(0, 0, bytes(30))] * 3)))
    assert next(items).number == 1
    with pytest.raises(CaptureError, match="disk: Input/output error"):
        next(items)


def test_a_file_given_open_stays_open_and_one_given_by_path_is_closed(tmp_path):
    path = tmp_path / "some.pcap"
    path.write_bytes(pcap([(0, 0, b"x")]))
    with path.open("rb") as file:
        assert len(list(read_capture(file))) == 1
        assert not file.closed
    assert len(list(read_capture(str(path)))) == 1
    stopped = read_capture(path)
    next(stopped)
    stopped.close()


class Dribble(io.RawIOBase):
    """A file that hands out at most three bytes at once, as pipes and sockets may."""

    def __init__(self, data):
        self.inner = io.BytesIO(data)

    def read(self, size=-1):
        return self.inner.read(min(size, 3))


@pytest.mark.parametrize(
    "data", [pcap([(1, 2, bytes(50))] * 3), Blocks().section() + Blocks().block(99, bytes(40))]
)
def test_short_reads_are_not_the_end(data):
    assert list(read_capture(Dribble(data))) == read(data)


def test_a_pipe_is_not_waited_for_longer_than_a_packet_takes():
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as pipe, os.fdopen(write_end, "wb", buffering=0) as writer:
        items = read_capture(pipe)
        data = pcap([(1, 2, b"one")])
        writer.write(data)
        assert next(items).data == b"one"
        writer.write(data[24:-3] + b"two")
        assert next(items).data == b"two"


def test_counts_follow_the_reading():
    counts = Counts()
    items = read_capture(io.BytesIO(pcap([(0, 0, b"a"), (0, 0, b"b")])[:-1]), counts)
    assert (next(items).number, counts) == (1, Counts(packets=1))
    assert list(items) == [CaptureFault(2, "cut", "1 bytes wanted, 0 left", 57, "file")]
    assert counts == Counts(packets=1, damages=1)


def test_a_fault_reads_as_one_line():
    fault = read(pcap([(0, 0, ethernet(ipv4(udp(b"payload"))))])[:70])[0]
    assert str(fault) == "cut: 49 bytes wanted, 30 left (packet 1; byte 40 of the file)"
    assert str(CaptureFault(None, "bad-option", "told", 7, "file")) == "bad-option: told (byte 7 of the file)"


def test_a_packet_larger_than_any_ends_the_reading():
    for link, snaplen, largest in [
        (1, 0, 1 << 18), (1, 96, 1 << 18), (1, 1 << 20, 1 << 20), (1, 0xFFFFFFFF, 1 << 24), (249, 96, 1 << 24)
    ]:  # fmt: skip
        data = bytearray(pcap([(0, 0, b"first"), (0, 0, b"second")], link=link, snaplen=snaplen))
        for size, code, message in [
            (largest, "cut", f"{largest} bytes wanted, 6 left"),
            (largest + 1, "bad-length", f"a packet of {largest + 1} bytes"),
        ]:
            data[53:57] = size.to_bytes(4, "little")
            [fault] = read(bytes(data))[1:]
            assert (fault.packet, fault.code, fault.message) == (2, code, message)


PACKETS = st.tuples(
    st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFFFFFF), st.binary(max_size=40), st.integers(0, 0xFFFFFFFF)
)


@given(st.lists(PACKETS, max_size=5), st.sampled_from("<>"), st.sampled_from([MICRO, NANO, MODIFIED]))
def test_what_was_written_is_read(packets, order, magic):
    tick = 1 if magic == NANO else 1000
    assert read(pcap(packets, order=order, magic=magic)) == [
        Packet(number, seconds * 1_000_000_000 + fraction * tick, 0, 1, len(data), original, data)
        for number, (seconds, fraction, data, original) in enumerate(packets, 1)
    ]

"""Many packets at once come to what single packets come to: the same items, in order, and the same counts."""

import io
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import capture_writer as writer
import pytest
from carriers import HI, OVER_V4, OVER_V6, TUNNELS
from hypothesis import given
from hypothesis import strategies as st
from laws import CORPUS

from wirelock.capture.blocks import read_blocks
from wirelock.capture.datagrams import read_datagrams
from wirelock.capture.files import Counts, Packet, read_capture
from wirelock.errors import CaptureError

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures/captures").glob("*.pcap*"))
WINDOWS = (64, 300, 5000, 1 << 22)


def one_by_one(data, *, tunnels):
    counts, items, arrived = Counts(), [], Counter()
    try:
        packets = seen(read_capture(io.BytesIO(data), counts), arrived)
        items.extend(read_datagrams(packets, counts, tunnels=tunnels))
    except CaptureError as error:
        return items, arrived, str(error)
    return items, arrived, asdict(counts)


def seen(items, arrived):
    """Yield what is in a file, and count packets by time and size."""
    for item in items:
        if isinstance(item, Packet):
            arrived[item.time_ns, item.captured] += 1
        yield item


def at_once(data, **how):
    counts, items, arrived = Counts(), [], Counter()
    try:
        for block in read_blocks(io.BytesIO(data), counts, **how):
            found = list(block.items())
            items += found
            check_rows(block)
            times, captured = (array.tolist() for array in block.arrivals.runs)
            mine = Counter(zip(times, captured, strict=True)) + Counter(block.arrivals.singles())
            assert block.arrivals.packets == mine.total()
            assert block.arrivals.captured == sum(size for _, size in mine.elements())
            arrived += mine
    except CaptureError as error:
        return items, arrived, str(error)
    return items, arrived, asdict(counts)


def check_rows(block):
    """The columns of a block are its datagrams."""
    datagrams = [block.datagram(row) for row in range(len(block))]
    assert block.numbers.tolist() == [it.packet for it in datagrams]
    for which, ends in enumerate(block.ports):
        assert ends.tolist() == [(it.destination_port if which else it.source_port) for it in datagrams]
        numbers, texts = block.addresses(which)
        found = [texts[number] for number in numbers.tolist()]
        assert found == [(it.destination if which else it.source) for it in datagrams]
    for row, (start, length) in enumerate(zip(block.starts.tolist(), block.lengths.tolist(), strict=True)):
        assert block.data[start : start + length].tobytes() == datagrams[row].payload
        time = datagrams[row].time_ns
        assert (block.times[row] == time) if block.timed[row] else (time is None or time >> 63)


def check(data, windows=WINDOWS, *, compiled=False):
    for tunnels in (False, True):
        wanted = one_by_one(data, tunnels=tunnels)
        for window in windows:
            assert at_once(data, tunnels=tunnels, compiled=compiled, window=window) == wanted


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.name)
def test_files(file, compiled):
    check(file.read_bytes(), compiled=compiled)


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_what_the_fuzzer_kept(number):
    check(CORPUS[number], (64, 5000))
    check(CORPUS[number], (5000,), compiled=True)


@given(st.data())
def test_cut_and_changed(data):
    whole = data.draw(st.sampled_from([*(file.read_bytes() for file in FIXTURES), *CORPUS]))
    cut = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 3)) if cut else 0):
        cut[data.draw(st.integers(0, len(cut) - 1))] = data.draw(st.integers(0, 255))
    check(bytes(cut), (data.draw(st.integers(32, 400)), 5000), compiled=data.draw(st.booleans()))


CARRIED = [*OVER_V4.values(), *OVER_V6.values(), *((101, packet) for packet in TUNNELS.values())]
RESOLUTIONS = (None, 0, 3, 6, 9, 12, 18, 19, 0x80, 0x8A, 0xC0)


def pcapng(order):
    """Return a file with every carrier and every kind of time, and blocks that are no packets between."""
    made = writer.Blocks(order)
    parts = [made.section()]
    for number, (link, packet) in enumerate(CARRIED):
        resolution, offset = RESOLUTIONS[number % len(RESOLUTIONS)], (None, 5, -(1 << 62))[number % 3]
        parts.append(made.interface(link=link, resolution=resolution, offset=offset))
        for ticks in (number, 1 << 62, (1 << 64) - 1, 1_700_000_000_123_456):
            parts.append(
                made.enhanced(packet, interface=number, ticks=ticks, original=len(packet) + number % 2)
            )
        parts.append(
            [made.simple(packet), made.obsolete(packet, interface=number), made.block(99, b"x")][number % 3]
        )
    return b"".join(parts)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("order", "<>")
def test_every_carrier(order, compiled):
    check(pcapng(order), compiled=compiled)
    for link in {link for link, _ in CARRIED}:
        packets = [(1, 999_999_999, packet) for other, packet in CARRIED if other == link]
        check(
            writer.pcap([*packets, (1, 2, packets[0][2][:-1], 99)], link=link, order=order), compiled=compiled
        )


@pytest.mark.parametrize("version", [(2, 1), (2, 3), (2, 4)])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34])
def test_every_pcap(version, magic):
    packets = [
        (1 << 31, 7, writer.ethernet(packet), 70) for packet in (writer.ipv4(HI), writer.ipv4(HI, protocol=6))
    ]
    check(writer.pcap(packets * 3, version=version, magic=magic))


def test_packets_of_which_nothing_comes():
    made = writer.Blocks()
    file = made.section() + made.interface() + made.simple(writer.ethernet(b"", 0x0806)) * 3
    check(file)
    assert one_by_one(file, tunnels=False)[1] == {(None, 14): 3}


def test_what_is_plain_is_not_read_one_by_one():
    names = (
        "ethernet",
        "vlan",
        "qinq",
        "options",
        "cooked",
        "cooked vlan",
        "cooked 2",
        "null little",
        "loop",
        "raw 12",
    )
    for link, packet in [*(OVER_V4[name] for name in names), OVER_V6["ethernet"], OVER_V6["null 30 big"]]:
        blocks = list(read_blocks(io.BytesIO(writer.pcap([(1, 2, packet)] * 9, link=link)), compiled=False))
        assert [(len(block), block.odd, block.arrivals.packets) for block in blocks] == [(9, {}, 9)]
    tcp = writer.pcap([(1, 2, writer.ethernet(writer.ipv4(HI, protocol=6)))] * 9)
    counts = Counts()
    (block,) = read_blocks(io.BytesIO(tcp), counts, compiled=False)
    assert (len(block), counts.others) == (0, {"tcp": 9})


def test_what_was_read_before_an_error_comes_out():
    class Breaking(io.BytesIO):
        def readinto(self, into):
            return super().readinto(into) or self._break()

        def read1(self, size=-1):
            return super().read1(size) or self._break()

        def _break(self):
            raise OSError(5, "Input/output error")

    blocks = read_blocks(Breaking(FIXTURES[0].read_bytes()), name="disk", compiled=False, window=100)
    found = []
    with pytest.raises(CaptureError, match="disk: Input/output error"):
        for block in blocks:
            found += block.items()
    assert found == list(read_datagrams(read_capture(FIXTURES[0])))

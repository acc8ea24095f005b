"""What holds for every file, whatever is in it: one kind of error, and nothing lost without a word."""

import io
from pathlib import Path

from wirelock.capture.datagrams import DATAGRAM_FAULTS, PACKET_FAULTS, Datagram, read_datagrams
from wirelock.capture.files import FILE_FAULTS, CaptureFault, Counts, Packet, read_capture
from wirelock.errors import CaptureError

CORPUS = [
    bytes.fromhex(line) for line in Path(__file__).with_name("corpus.hex").read_text("ascii").splitlines()
]
"""Files that reached code that others did not, found by fuzz/captures.py; and those that broke a law once."""


def read(data):
    """Return all items of a file after checking the laws, or None for no capture."""
    counts = Counts()
    try:
        items = list(read_capture(io.BytesIO(data), counts))
    except CaptureError as error:
        assert "\n" not in str(error)
        return None
    faults = [item for item in items if isinstance(item, CaptureFault)]
    numbers = [item.number if isinstance(item, Packet) else item.packet for item in items]
    numbers = [number for number in numbers if number is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (counts.packets, counts.damages) == (len(items) - len(faults), len(faults))
    places = {"file"} if not counts.compression else {"file", "unpacked file"}
    for fault in faults:
        assert fault.code in FILE_FAULTS
        assert fault.within in places
        assert 0 <= fault.byte <= (len(data) if fault.within == "file" else counts.bytes)
    if not counts.compression:
        assert counts.bytes == len(data)
        for item in items:
            if isinstance(item, Packet):
                assert data[item.byte : item.byte + item.captured] == item.data
    check_datagrams(items, counts)
    return items


def check_datagrams(items, counts):
    """Check what is made of packets, whose count is in `counts`; with tunnels, too."""
    damages = [item for item in items if isinstance(item, CaptureFault)]
    inside = Counts(**{name: getattr(counts, name) for name in ("packets", "damages", *SIZES)})
    _check(items, damages, inside, tunnels=True)
    _check(items, damages, counts, tunnels=False)


SIZES = ("bytes", "header_bytes", "packet_bytes", "skipped_bytes", "lost_bytes")


def _check(items, damages, counts, *, tunnels):
    found = list(read_datagrams(items, counts, tunnels=tunnels))
    packets = {item.number: item for item in items if isinstance(item, Packet)}
    assert counts.balanced
    assert [item for item in found if item in damages] == damages
    told = [item for item in found if item not in damages]
    assert len(told) == counts.datagrams + counts.refused
    assert len({item.packet for item in told}) == len(told)
    for item in told:
        packet = packets[item.packet]
        if isinstance(item, Datagram):
            assert {fault.code for fault in item.faults} <= set(DATAGRAM_FAULTS)
            if item.byte is None:
                assert counts.fragments
            else:
                start = item.byte - packet.byte
                assert packet.data[start : start + len(item.payload)] == item.payload
        else:
            assert item.code in PACKET_FAULTS
            assert item.within in ("packet", "reassembled packet")
            assert item.within != "packet" or 0 <= item.byte <= max(packet.captured, packet.original)


def packets_of(items):
    """Return the packets among items, none if there are no items."""
    return [item for item in items or () if isinstance(item, Packet)]

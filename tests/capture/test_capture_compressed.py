"""gzip and zstd around a capture: found by content, in members and frames, in flat memory; damage keeps what
came before it."""

import gzip
import io
import subprocess
import sys
import tracemalloc
import zlib

import pytest
from capture_writer import Blocks, ethernet, ipv4, pcap, udp, zstd, zstd_of
from hypothesis import given
from hypothesis import strategies as st

from wirelock.capture.files import CaptureFault, Counts, Packet, read_capture
from wirelock.errors import CaptureError

PLAIN = pcap([(1, number, ethernet(ipv4(udp(bytes([number]) * 40)))) for number in range(7)])
BLOCKS = Blocks()
PLAIN_NG = BLOCKS.section() + BLOCKS.interface() + BLOCKS.simple(b"abc") + BLOCKS.block(5, bytes(99))
SKIPPABLE = b"\x53\x2a\x4d\x18\x05\0\0\0" + b"hello"


WAYS = {
    "gzip": gzip.compress,
    "gzip stored": lambda data: gzip.compress(data, 0),
    "gzip members": lambda data: gzip.compress(data[:30]) + gzip.compress(b"") + gzip.compress(data[30:]),
    "gzip padded": lambda data: gzip.compress(data) + bytes(700),
    "zstd": zstd_of,
    "zstd blocks": lambda data: zstd_of(data, pieces=5),
    "zstd frames": lambda data: zstd_of(data[:30]) + SKIPPABLE + zstd_of(data[30:], checksum=False),
    "zstd skippable first": lambda data: SKIPPABLE + zstd_of(data),
}
each_way = pytest.mark.parametrize("way", WAYS)


def read(data, counts=None):
    return list(read_capture(io.BytesIO(data), counts))


@each_way
@pytest.mark.parametrize("plain", [PLAIN, PLAIN_NG, pcap([])], ids=["pcap", "pcapng", "no packets"])
def test_what_was_compressed_is_read(way, plain):
    counts, same = Counts(), Counts()
    assert read(WAYS[way](plain), counts) == read(plain, same)
    assert (counts, counts.bytes, counts.compression) == (same, len(plain), way.split()[0])


@pytest.mark.parametrize("tool", ["gzip", "zstd"])
@pytest.mark.parametrize("level", ["-1", "-9"])
def test_files_of_the_tools(tmp_path, tool, level):
    path = tmp_path / "named as you like"
    made = subprocess.run([tool, level, "-c"], input=PLAIN, capture_output=True, check=True)
    path.write_bytes(made.stdout)
    assert list(read_capture(path)) == read(PLAIN)


def decodable(data, way):
    """Return what a decoder that takes one byte at a time gives before it refuses one, and whether it did."""
    found, codec = b"", None
    problems = (zlib.error, zstd.ZstdError)
    for at in range(len(data)):
        if codec is None:
            if data[at] == 0:
                continue
            codec = zlib.decompressobj(wbits=31) if way.startswith("gzip") else zstd.ZstdDecompressor()
        try:
            found += codec.decompress(data[at : at + 1])
        except problems:
            return found, True
        codec = None if codec.eof else codec
    return found, codec is not None


def check(data, way):
    """Read damaged data as what is decodable of it, and a fault for the rest."""
    plain, damaged = decodable(data, way)
    try:
        expected = read(plain)
    except CaptureError:
        with pytest.raises(CaptureError):
            read(data)
        return
    counts = Counts()
    items = read(data, counts)
    last = items.pop() if damaged else None
    assert [getattr(item, "code", None) or item for item in items] == [
        getattr(item, "code", None) or item for item in expected
    ]
    if damaged:
        assert (last.packet, last.code, last.within) == (None, "compression", "file")
        assert 0 <= last.byte <= len(data)
    assert counts.bytes == len(plain)
    assert {item.within for item in items if isinstance(item, CaptureFault)} <= {"unpacked file"}


@each_way
def test_cut_anywhere(way):
    data = WAYS[way](PLAIN)
    for size in range(4, len(data)):
        check(data[:size], way)


@each_way
@pytest.mark.parametrize("flip", [1, 128, 255])
def test_a_wrong_byte_anywhere(way, flip):
    data = WAYS[way](PLAIN)
    for at in range(4, len(data)):
        check(data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :], way)


@given(st.sampled_from(sorted(WAYS)), st.binary(max_size=40), st.floats(0, 1), st.integers(0, 40))
def test_bytes_put_in_or_taken_out(way, put, place, taken):
    data = WAYS[way](PLAIN)
    at = 4 + int(place * (len(data) - 4))
    check(data[:at] + put + data[at + taken :], way)


def test_damage_is_told_with_its_place():
    data = gzip.compress(PLAIN)
    packets = [item for item in read(data[:-9]) if isinstance(item, Packet)]
    assert [str(item) for item in read(data[:-9])[len(packets) :]][-1] == (
        f"compression: the gzip data are cut (byte {len(data) - 9} of the file)"
    )
    assert str(read(data + b"more")[-1]).startswith("compression: the gzip data cannot be decoded: ")
    wrong = bytearray(data)
    wrong[-8] ^= 1
    assert read(bytes(wrong))[:-1] == read(PLAIN)
    assert "incorrect data check" in read(bytes(wrong))[-1].message
    cut = read(gzip.compress(PLAIN[:-5]))
    assert str(cut[-1]).endswith("of the unpacked file)")


@pytest.mark.parametrize("way", ["gzip", "zstd"])
def test_a_small_file_that_stands_for_much_is_never_held_whole(way):
    data = WAYS[way](BLOCKS.section() + BLOCKS.block(5, bytes(1 << 26)) + BLOCKS.interface())
    assert len(data) < 80_000
    tracemalloc.start()
    try:
        assert read(data) == []
        assert tracemalloc.get_traced_memory()[1] < 24_000_000
    finally:
        tracemalloc.stop()


PEAK = """
import re, sys
from pathlib import Path
from wirelock.capture.unpack import Unpacked

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

with open(sys.argv[1], "rb") as stream:
    unpacked = Unpacked("zstd", stream.read, "it")
    unpacked.read(1)
    before, size = peak(), 1
    while found := unpacked.read(1 << 16):
        size += len(found)
print(size, unpacked.damage, peak() - before)
"""


def test_the_largest_window_of_zstd_is_held_once(tmp_path):
    size, window = 150 << 20, 27
    codec = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: window})
    (tmp_path / "it").write_bytes(
        b"".join([codec.compress(bytes(1 << 20)) for _ in range(150)]) + codec.flush()
    )
    command = [sys.executable, "-c", PEAK, tmp_path / "it"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    length, damage, grown = done.stdout.split()
    assert (int(length), damage) == (size, "None")
    assert 100 < int(grown) < 150


def test_zstd_without_its_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "compression", None)
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(CaptureError, match=r"^the capture: is zstd, .*: pip install 'wirelock\[capture\]'$"):
        read(zstd_of(PLAIN))

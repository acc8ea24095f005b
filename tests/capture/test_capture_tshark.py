"""Another reader of the same file: tshark agrees on times, lengths, addresses, ports and payloads."""

import shutil
import subprocess
from decimal import Decimal

import pytest
from capture_writer import Blocks, ethernet, extension, fragment, ipv4, ipv6, pcap, udp

from wirelock.capture.datagrams import read_datagrams
from wirelock.capture.files import read_capture

TSHARK = shutil.which("tshark")
FIELDS = [
    "frame.number", "frame.time_epoch", "frame.cap_len", "frame.len",
    "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "udp.srcport", "udp.dstport", "udp.payload",
]  # fmt: skip
pytestmark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")

T = 1_700_000_000
FRAMES = [
    ethernet(ipv4(udp(b"plain"))),
    ethernet(ipv4(udp(b"tagged"), options=b"\1\1\1\0"), tags=[(0x88A8, 7), (0x8100, 8)]),
    ethernet(ipv6(extension(60) + fragment(17) + udp(b"six"), protocol=0), 0x86DD),
    ethernet(ipv4(udp(b"padded"))) + bytes(12),
    ethernet(bytes(28), 0x0806),
]


def mixed(blocks):
    return (
        blocks.section()
        + blocks.interface(resolution=9)
        + blocks.interface()
        + blocks.interface(link=101, resolution=0x80 | 20, offset=T)
        + blocks.enhanced(FRAMES[0], ticks=T * 10**9 + 123_456_789)
        + blocks.block(5, bytes(12))
        + blocks.enhanced(FRAMES[1], interface=1, ticks=T * 10**6 + 654_321)
        + blocks.enhanced(ipv4(udp(b"raw")), interface=2, ticks=(3 << 20) + 777)
        + blocks.obsolete(FRAMES[2], ticks=T * 10**9 + 1)
        + blocks.enhanced(FRAMES[3][:40], ticks=T * 10**9 + 2, original=len(FRAMES[3]))
        + blocks.enhanced(FRAMES[4], interface=1, ticks=T * 10**6)
    )


FILES = {
    "pcapng": mixed(Blocks("<")) + mixed(Blocks(">")),
    "pcap micro": pcap([(T, 100 + number, frame) for number, frame in enumerate(FRAMES)]),
    "pcap nano": pcap([(T, 999_999_999, frame) for frame in FRAMES], order=">", magic=0xA1B23C4D),
    "pcap cooked 2": pcap(
        [
            (
                T,
                1,
                b"\x08\0" + bytes.fromhex("0000 00000002 0001 00 06 0200000000010000") + ipv4(udp(b"cooked")),
            )
        ],
        link=276,
    ),
    "pcap loop": pcap([(T, 1, b"\2\0\0\0" + ipv4(udp(b"loop")))], link=0),
}


@pytest.mark.parametrize("name", FILES)
def test_tshark_agrees(tmp_path, name):
    path = tmp_path / "file"
    path.write_bytes(FILES[name])
    command = [
        TSHARK,
        "-n",
        "-r",
        path,
        "-T",
        "fields",
        *(word for field in FIELDS for word in ("-e", field)),
    ]
    told = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    rows = [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in told.splitlines()]
    packets = list(read_capture(path))
    assert [packet.number for packet in packets] == [int(row["frame.number"]) for row in rows]
    assert [packet.time_ns for packet in packets] == [
        Decimal(row["frame.time_epoch"]) * 10**9 for row in rows
    ]
    assert [packet.captured for packet in packets] == [int(row["frame.cap_len"]) for row in rows]
    assert [packet.original for packet in packets] == [int(row["frame.len"]) for row in rows]
    seen = [row for row in rows if row["udp.srcport"]]
    assert [
        (
            datagram.packet,
            datagram.source,
            datagram.destination,
            datagram.source_port,
            datagram.destination_port,
            # tshark shows no payload where it was not all captured
            datagram.payload.hex() if not datagram.faults else "",
        )
        for datagram in read_datagrams(packets)
    ] == [
        (
            int(row["frame.number"]),
            row["ip.src"] or row["ipv6.src"],
            row["ip.dst"] or row["ipv6.dst"],
            int(row["udp.srcport"]),
            int(row["udp.dstport"]),
            row["udp.payload"],
        )
        for row in seen
    ]

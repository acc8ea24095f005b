"""Other people's readers and writers of the same files: tshark agrees on times, lengths, addresses, ports and
payloads, whatever carries them; what editcap, mergecap and text2pcap write is read."""

import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from capture_writer import Blocks, ethernet, extension, fragment, fragment_of, ipv4, ipv6, pcap, udp, udp_lite
from carriers import OVER_V4, OVER_V6, TUNNELS

from wirelock.capture.datagrams import Datagram, read_datagrams
from wirelock.capture.files import read_capture

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"
SESSION = CAPTURES / "session.pcapng"
FIELDS = [
    "frame.number", "frame.time_epoch", "frame.cap_len", "frame.len",
    "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "udp.srcport", "udp.dstport", "udp.payload",
]  # fmt: skip
VXLAN = ["-d", "udp.port==8472,vxlan"]
T = 1_700_000_000
PPPD = 166
"""A link type that tshark does not read, and tcpdump does."""
DIRECTED = 204
"""A link type of whose packets tshark takes the first byte away."""
LIES = {"udp-len-lies", "v4-overlap-fragments"}
"""Fixtures of which tshark shows bytes that were not sent, or might not have been."""


def run(*command, data=None):
    done = subprocess.run(command, capture_output=True, input=data)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(path):
    """Return what tshark says of each packet; of an innermost datagram, where one is inside of another."""
    fields = [word for field in FIELDS for word in ("-e", field)]
    told = run("tshark", "-n", "-r", path, "-T", "fields", "-E", "occurrence=l", *VXLAN, *fields).decode()
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in told.splitlines()]


def check(path, *, tunnels=False):
    """Compare with tshark; return how many datagrams there are."""
    told = rows(path)
    packets = list(read_capture(path))
    for packet, row in zip(packets, told, strict=True):
        taken = packet.link_type == DIRECTED
        assert packet.number == int(row["frame.number"])
        assert packet.captured == int(row["frame.cap_len"]) + taken
        assert packet.original == int(row["frame.len"]) + taken
        # a time that is not there is 0 to tshark
        assert (packet.time_ns or 0) == Decimal(row["frame.time_epoch"] or 0) * 10**9
    found = [item for item in read_datagrams(packets, tunnels=tunnels) if isinstance(item, Datagram)]
    expected = [row for row in told if row["udp.srcport"]]
    for datagram, row in zip(found, expected, strict=True):
        assert datagram.packet == int(row["frame.number"])
        assert {datagram.source, datagram.destination} <= {
            row["ip.src"], row["ipv6.src"], row["ip.dst"], row["ipv6.dst"]
        }  # fmt: skip
        assert datagram.source_port == int(row["udp.srcport"])
        assert datagram.destination_port == int(row["udp.dstport"])
        if not datagram.faults:  # tshark shows no payload where it was not all captured
            assert datagram.payload.hex() == row["udp.payload"]
    return len(found)


FRAMES = [
    ethernet(ipv4(udp(b"plain"))),
    ethernet(ipv4(udp(b"tagged"), options=b"\1\1\1\0"), tags=[(0x88A8, 7), (0x8100, 8)]),
    ethernet(ipv6(extension(60) + fragment(17) + udp(b"six"), protocol=0), 0x86DD),
    ethernet(ipv4(udp(b"padded"))) + bytes(12),
    ethernet(bytes(28), 0x0806),
    ethernet(ipv4(udp_lite(b"lite", coverage=8), protocol=136)),
    ethernet(ipv4(udp(b""))),
]
PAYLOAD = udp(bytes(range(72)))
FRAGMENTS = [
    *(fragment_of(PAYLOAD, start, stop) for start, stop in [(40, 80), (0, 16), (0, 16), (16, 40)]),
    *(fragment_of(PAYLOAD, start, stop, version=6, number=8) for start, stop in [(48, 80), (0, 48)]),
    fragment_of(PAYLOAD, 0, 40, number=9),
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
        + blocks.simple(FRAMES[6])
        + blocks.enhanced(FRAMES[3][:40], ticks=T * 10**9 + 2, original=len(FRAMES[3]))
        + blocks.enhanced(FRAMES[4], interface=1, ticks=T * 10**6)
    )


def on_interfaces(carriers):
    """Return a file of packets on (link type, data), with one interface for each link type."""
    blocks, links = Blocks(), sorted({link for link, _ in carriers})
    return blocks.section() + b"".join(
        [blocks.interface(link=link) for link in links]
        + [blocks.enhanced(data, interface=links.index(link), ticks=T * 10**6) for link, data in carriers]
    )


CARRIERS = [carrier for carrier in [*OVER_V4.values(), *OVER_V6.values()] if carrier[0] != PPPD]
FILES = {
    "pcapng": (mixed(Blocks("<")) + mixed(Blocks(">")), 12),
    "pcap micro": (pcap([(T, 100 + number, frame) for number, frame in enumerate(FRAMES)]), 6),
    "pcap nano": (pcap([(T, 999_999_999, frame) for frame in FRAMES], order=">", magic=0xA1B23C4D), 6),
    "pcap modified": (pcap([(T, 1, frame) for frame in FRAMES], magic=0xA1B2CD34), 6),
    "pcap 2.1": (pcap([(T, 1, FRAMES[0][:50], len(FRAMES[0]))], version=(2, 1)), 1),
    "fragments": (pcap([(T, 1, data) for data in FRAGMENTS], link=101), 2),
    "carriers": (on_interfaces(CARRIERS), len(CARRIERS)),
}


@pytest.mark.parametrize("name", FILES)
def test_tshark_agrees(tmp_path, name):
    data, datagrams = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    assert check(path) == datagrams


def test_tshark_agrees_on_what_is_in_tunnels(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(on_interfaces([(101, data) for data in TUNNELS.values()]))
    assert check(path, tunnels=True) == len(TUNNELS)


HONEST = [path for path in sorted(CAPTURES.glob("*.pcap*")) if path.stem not in LIES]


@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.stem)
def test_tshark_agrees_on_the_fixtures(path):
    assert check(path) == sum(1 for row in rows(path) if row["udp.srcport"])


def test_tcpdump_agrees_on_pppd(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(pcap([(T, 1, OVER_V4["pppd out"][1]), (T, 1, OVER_V6["pppd in"][1])], link=PPPD))
    told = run("tcpdump", "-n", "-r", path).decode().splitlines()
    found = list(read_datagrams(read_capture(path)))
    for line, datagram in zip(told, found, strict=True):
        ends = (
            f"{datagram.source}.{datagram.source_port} > {datagram.destination}.{datagram.destination_port}: "
        )
        assert ends in line
        assert line.endswith(f"UDP, length {len(datagram.payload)}")


def content(path):
    return [(packet.time_ns, packet.original, packet.data) for packet in read_capture(path)]


@pytest.mark.parametrize(
    ("form", "tick"), [("pcap", 1000), ("nsecpcap", 1), ("modpcap", 1000), ("pcapng", 1)]
)
def test_files_that_editcap_writes(tmp_path, form, tick):
    path = tmp_path / "written"
    run("editcap", "-F", form, SESSION, path)
    assert content(path) == [(time // tick * tick, size, data) for time, size, data in content(SESSION)]


def test_packets_that_editcap_cuts(tmp_path):
    path = tmp_path / "cut"
    run("editcap", "-s", "60", SESSION, path)
    assert content(path) == [(time, size, data[:60]) for time, size, data in content(SESSION)]
    assert check(path) > 0


def test_files_that_mergecap_merges(tmp_path):
    path, others = tmp_path / "merged", [CAPTURES / "raw-mixed-101.pcap", CAPTURES / "ns-be-udp.pcap"]
    run("mergecap", "-w", path, SESSION, *others)
    assert len({packet.link_type for packet in read_capture(path)}) == 2
    assert sorted(content(path)) == sorted(item for one in [SESSION, *others] for item in content(one))


@pytest.mark.parametrize("link", [1, 101, 113])
def test_files_that_text2pcap_writes(tmp_path, link):
    carriers = [data for kind, data in [*OVER_V4.values(), *OVER_V6.values()] if kind == link]
    text = "".join(f"0000 {data.hex(' ')}\n" for data in carriers)
    path = tmp_path / "written"
    run("text2pcap", "-l", str(link), "-", path, data=text.encode())
    assert [packet.data for packet in read_capture(path)] == carriers
    assert check(path) == len(carriers)


def test_files_that_tcpdump_writes(tmp_path):
    path = tmp_path / "written"
    run("tcpdump", "--time-stamp-precision=nano", "-r", SESSION, "-w", path, "ip6")
    assert content(path) == [item for item in content(SESSION) if item[2][12:14] == b"\x86\xdd"]

"""Packets to datagrams: every link, both networks, and each way in which lengths can disagree."""

import json
from pathlib import Path

import pytest
from capture_writer import (
    DESTINATION,
    DESTINATION_6,
    SOURCE,
    SOURCE_6,
    ethernet,
    extension,
    fragment,
    gre,
    ipv4,
    ipv6,
    jumbo,
    pppoe,
    udp,
    udp_lite,
)
from carriers import COOKED, HI, LAST, OVER_V4, OVER_V6, V6

from wirelock.capture.datagrams import DATAGRAM_FAULTS, PACKET_FAULTS, Datagram, read_datagrams
from wirelock.capture.files import CaptureFault, Counts, Packet, read_capture
from wirelock.capture.links import LINKS

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"
EXPECTED = json.loads((CAPTURES / "expected.json").read_text())


def packet(data, *, link=1, original=None, number=1):
    return Packet(number, 7, 0, link, len(data), len(data) if original is None else original, data)


def read_one(data, **about):
    """Return the datagram or fault of one packet, or the name of the other protocol."""
    counts = Counts()
    found = list(read_datagrams([packet(data, **about)], counts))
    assert counts.datagrams + counts.refused + counts.others.total() == 1
    return found[0] if found else next(iter(counts.others))


@pytest.mark.parametrize("name", EXPECTED)
def test_datagrams_of_the_files(name):
    expected, counts = EXPECTED[name], Counts()
    found = list(read_datagrams(read_capture(CAPTURES / f"{name}.pcap", counts), counts))
    rejected = found.pop(0) if "rejected" in expected else None
    assert rejected is None or rejected.code == "fragment-overlap"
    for datagram, wanted in zip(found, expected.get("udp_reassembled", expected["udp"]), strict=True):
        assert datagram.packet == wanted["packet"]
        assert (datagram.source_port, datagram.destination_port) == (
            wanted["source_port"],
            wanted["destination_port"],
        )
        assert datagram.payload.hex() == wanted["payload"]
        assert datagram.time_ns == expected["timestamps_ns"][datagram.packet - 1]
        told = [DATAGRAM_FAULTS[fault.code] for fault in datagram.faults]
        assert told == ([wanted["fault"]] if "fault" in wanted else [])
    assert (counts.packets, counts.damages) == (expected["packets"], 0)
    assert counts.refused == (rejected is not None)
    assert counts.balanced


# -- what carries a datagram


@pytest.mark.parametrize("name", OVER_V4)
def test_udp_over_ipv4(name):
    link, data = OVER_V4[name]
    assert read_one(data, link=link) == Datagram(1, 7, SOURCE, DESTINATION, 1111, 2222, b"hi")


@pytest.mark.parametrize("name", OVER_V6)
def test_udp_over_ipv6(name):
    link, data = OVER_V6[name]
    assert read_one(data, link=link) == Datagram(1, 7, SOURCE_6, DESTINATION_6, 1111, 2222, b"hi")


def test_every_link_has_a_case():
    assert {link for link, _ in [*OVER_V4.values(), *OVER_V6.values()]} == set(LINKS)


@pytest.mark.parametrize("name", OVER_V4)
def test_a_datagram_cut_anywhere_says_so(name):
    """A fault of the packet until the length of UDP is there, of the datagram from then on."""
    link, data = OVER_V4[name]
    whole = data.index(HI) + len(HI)
    for size in range(len(data)):
        found = read_one(data[:size], link=link, original=len(data))
        if size < whole - 4:
            assert (found.code, found.packet, found.within) == ("snaplen-cut", 1, "packet")
            assert found.byte <= size
        elif size < whole:
            assert [fault.code for fault in found.faults] == ["snaplen-cut"]
            assert found.payload == b"hi"[: max(0, size - whole + 2)]
        else:
            assert (found.payload, found.faults) == (b"hi", ())


@pytest.mark.parametrize("name", OVER_V6)
def test_a_packet_that_ends_too_early_is_truncated(name):
    link, data = OVER_V6[name]
    whole = data.index(HI) + len(HI)
    for size in range(whole - 4):
        assert read_one(data[:size], link=link).code == "truncated"
    for size in range(whole - 4, whole):
        assert read_one(data[:size], link=link).faults[0].code == "ip-length-long"


# -- what is no datagram

OTHERS = {
    "arp": (1, ethernet(bytes(28), 0x0806), "arp"),
    "lldp": (1, ethernet(bytes(28), 0x88CC), "lldp"),
    "ethertype": (1, ethernet(bytes(28), 0x1234), "ethertype 0x1234"),
    "802.3": (1, ethernet(bytes(38), 38), "802.3"),
    "tcp": (1, ethernet(ipv4(bytes(20), protocol=6)), "tcp"),
    "tcp of no length": (1, ethernet(ipv4(bytes(20), protocol=6, total=0)), "tcp"),
    "fragment of tcp": (1, ethernet(ipv4(bytes(20), protocol=6, offset=9)), "tcp"),
    "icmp that quotes udp": (1, ethernet(ipv4(b"\3\3" + bytes(6) + ipv4(HI), protocol=1)), "icmp"),
    "icmpv6 that quotes udp": (1, ethernet(ipv6(b"\1\4" + bytes(6) + ipv6(HI), protocol=58), V6), "icmpv6"),
    "ip in ip": (1, ethernet(ipv4(ipv4(HI), protocol=4)), "ip-in-ip"),
    "no next header": (1, ethernet(ipv6(b"", protocol=59), V6), "ip protocol 59"),
    "tcp behind a fragment header": (
        1,
        ethernet(ipv6(fragment(6, offset=3) + bytes(9), protocol=44), V6),
        "tcp",
    ),
    "gre": (1, ethernet(ipv4(gre(ipv4(HI)), protocol=47)), "gre"),
    "pppoe discovery": (1, ethernet(pppoe(b"", code=9), 0x8863), "pppoe discovery"),
    "no session": (1, ethernet(pppoe(b"", code=0xA7), 0x8864), "pppoe discovery"),
    "link control": (9, b"\xc0\x21\1\1\0\4", "ppp 0xc021"),
    "no ppp": (166, b"\1\2\0\x21", "ppp"),
    "ipv6 family of linux": (0, b"\x0a\0\0\0" + ipv6(HI), "address family 10"),
    "another family": (0, b"\x07\0\0\0rest", "address family 7"),
    "no family at all": (108, b"\x45\0\0\0", "address family above 255"),
    "netlink": (113, bytes.fromhex("0000 0338 0000 0000000000000000 0800"), "hardware type 824"),
    "cooked 802.2": (113, COOKED + b"\0\4\x42\x42\3", "802.3"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_protocols_are_counted(name):
    link, data, protocol = OTHERS[name]
    assert read_one(data, link=link) == protocol


REFUSED = {
    "link type": (147, HI, "link-type", 0),
    "empty": (1, b"", "truncated", 0),
    "version of ipv4": (1, ethernet(ipv4(HI, version=6)), "ip-version", 14),
    "version of ipv6": (1, ethernet(ipv6(HI, version=4), V6), "ip-version", 14),
    "version of raw ip": (101, b"\x05" + ipv4(HI)[1:], "ip-version", 0),
    "version of raw v4": (228, ipv6(HI), "ip-version", 0),
    "header length": (1, ethernet(ipv4(HI, words=4), tags=[(0x8100, 1)]), "ip-header-length", 18),
    "total length below the header": (1, ethernet(ipv4(HI, total=19)), "ip-length-short", 14),
    "total length of zero": (1, ethernet(ipv4(HI, total=0)), "ip-length-short", 14),
    "total length below the options": (1, ethernet(ipv4(HI, words=6, total=23)), "ip-length-short", 14),
    "no room for udp": (1, ethernet(ipv4(HI, total=27)) + bytes(20), "ip-length-short", 34),
    "no room for udp, v6": (1, ethernet(ipv6(HI, length=7), V6), "ip-length-short", 54),
    "no room for an extension": (1, ethernet(ipv6(LAST, protocol=60, length=7), V6), "ip-length-short", 54),
    "extension over udp": (1, ethernet(ipv6(b"\x11\1" + LAST[2:], protocol=60), V6), "ip-length-short", 70),
    "options behind the end": (1, ethernet(ipv4(b"", words=15, total=68)), "truncated", 34),
    "vlan tag cut": (1, ethernet(b"\0", 0x8100), "truncated", 14),
    "jumbo too small": (
        1, ethernet(ipv6(jumbo(17, 65535) + HI, protocol=0, length=0), V6), "jumbo-length", 56
    ),
    "jumbo of another size": (
        1, ethernet(ipv6(jumbo(17, 70000, size=3) + HI, protocol=0, length=0), V6), "jumbo-length", 56
    ),
    "no jumbo": (1, ethernet(ipv6(extension(17) + HI, protocol=0, length=0), V6), "ip-length-short", 54),
    "hop-by-hop options cut": (
        1, ethernet(ipv6(b"\x11\x09\1\0\1\0\1", protocol=0, length=0), V6), "truncated", 61
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_packets_that_cannot_be_read(name):
    link, data, code, byte = REFUSED[name]
    found = read_one(data, link=link, number=41)
    assert (found.packet, found.code, found.within, found.byte) == (41, code, "packet", byte)
    assert code in PACKET_FAULTS


# -- lengths that disagree

ABC = b"abcdefgh"
LENGTHS = {
    "udp shorter than ip": (ipv4(udp(ABC, length=11)), 0, b"abc", []),
    "udp longer than ip": (ipv4(udp(ABC, length=17)), 0, ABC, ["udp-length-long"]),
    "udp longer than ip, padded": (ipv4(udp(ABC, length=17)) + b"\xee", 0, ABC, ["udp-length-long"]),
    "udp length 7": (ipv4(udp(ABC, length=7)), 0, b"", ["udp-length-short"]),
    "udp length 0": (ipv4(udp(ABC, length=0)), 0, b"", ["udp-length-short"]),
    "ip longer than the packet": (ipv4(udp(ABC), total=37), 0, ABC, ["ip-length-long"]),
    "ip and udp longer": (ipv4(udp(ABC, length=17), total=37), 0, ABC, ["ip-length-long", "udp-length-long"]),
    "ip shorter than udp": (ipv4(udp(ABC), total=30), 0, b"ab", ["udp-length-long"]),
    "captured less": (ipv4(udp(ABC))[:-5], 5, b"abc", ["snaplen-cut"]),
    "captured less, all of udp": (ipv4(udp(ABC, length=11))[:-5], 5, b"abc", []),
    "captured less, udp longer": (
        ipv4(udp(ABC, length=99))[:-5], 5, b"abc", ["udp-length-long", "snaplen-cut"]
    ),
    "captured less, ip longer": (
        ipv4(udp(ABC, length=99), total=119)[:-5], 5, b"abc",
        ["ip-length-long", "udp-length-long", "snaplen-cut"],
    ),
    "captured less, udp length 0": (ipv4(udp(ABC, length=0))[:-8], 8, b"", ["udp-length-short"]),
    "captured more than there was": (ipv4(udp(ABC)), -8, ABC, []),
    "udp-lite": (ipv4(udp_lite(ABC), protocol=136), 0, ABC, []),
    "udp-lite of nothing": (ipv4(udp_lite(b"", coverage=8), protocol=136), 0, b"", []),
    "udp-lite, partial": (ipv4(udp_lite(ABC, coverage=9), protocol=136), 0, ABC, []),
    "udp-lite, all": (ipv4(udp_lite(ABC, coverage=16), protocol=136), 0, ABC, []),
    "udp-lite, too far": (ipv4(udp_lite(ABC, coverage=17), protocol=136), 0, ABC, ["coverage-long"]),
    "udp-lite, too little": (ipv4(udp_lite(ABC, coverage=7), protocol=136), 0, ABC, ["coverage-short"]),
    "udp-lite, captured less": (
        ipv4(udp_lite(ABC, coverage=8), protocol=136)[:-5], 5, b"abc", ["snaplen-cut"]
    ),
    "only a trailer was not captured": (ipv4(udp(ABC)), 18, ABC, []),
}  # fmt: skip


@pytest.mark.parametrize("name", LENGTHS)
def test_the_payload_is_what_all_lengths_allow(name):
    data, missing, payload, codes = LENGTHS[name]
    found = read_one(ethernet(data), original=14 + len(data) + missing)
    assert found.payload == payload
    assert [fault.code for fault in found.faults] == codes
    assert all(fault.packet == 1 and fault.within == "packet" for fault in found.faults)
    assert set(codes) <= set(DATAGRAM_FAULTS)


def test_ip_is_no_longer_than_its_ppp_session():
    found = read_one(ethernet(pppoe(b"\0\x21" + ipv4(udp(ABC)), length=35), 0x8864))
    assert found.payload == b"abcde"
    assert [fault.code for fault in found.faults] == ["ip-length-long", "udp-length-long"]


def test_disagreements_are_told_with_their_numbers():
    data = ethernet(ipv4(udp(ABC, length=99), total=119))[:-5]
    assert [str(fault) for fault in read_one(data, original=len(data) + 5).faults] == [
        "ip-length-long: 83 bytes more than the packet (packet 1; byte 50 of the packet)",
        "udp-length-long: udp.length 99, the IP payload holds 16 (packet 1; byte 38 of the packet)",
        "snaplen-cut: 5 of 16 bytes were not captured (packet 1; byte 45 of the packet)",
    ]


@pytest.mark.parametrize("pad", [b"", b"\0" * 8, b"\x01\x06" + bytes(6)], ids=["bare", "pad1", "padn"])
def test_jumbograms(pad):
    payload = bytes(range(256)) * 257
    words = len(pad) // 8
    datagram = udp(payload, length=0)
    size = 8 * (1 + words) + len(datagram)
    hop = bytes([17, words]) + pad + b"\xc2\x04" + size.to_bytes(4, "big")
    data = ipv6(hop + datagram, protocol=0, length=0)
    assert read_one(data, link=229) == Datagram(1, 7, SOURCE_6, DESTINATION_6, 1111, 2222, payload)
    cut = read_one(data[:100], link=229, original=len(data))
    assert (cut.payload, [fault.code for fault in cut.faults]) == (
        payload[: 100 - 56 - 8 * words],
        ["snaplen-cut"],
    )


def test_a_length_of_zero_means_a_jumbogram_only_in_a_jumbogram():
    found = read_one(ipv6(extension(17) + udp(ABC, length=0), protocol=0), link=229)
    assert (found.payload, [fault.code for fault in found.faults]) == (b"", ["udp-length-short"])


# -- the stream


def test_order_numbers_and_counts():
    lost = CaptureFault(4, "cut", "told", 99, "file")
    packets = [
        packet(ethernet(ipv4(HI)), number=1),
        packet(ethernet(b"", 0x0806), number=2),
        packet(b"", number=3),
        lost,
    ]
    counts = Counts(packets=3, damages=1)
    found = list(read_datagrams(packets, counts))
    assert [item.packet for item in found] == [1, 3, 4]
    assert found[2] is lost
    assert counts == Counts(packets=3, damages=1, datagrams=1, refused=1, others=counts.others)
    assert counts.others == {"arp": 1}
    assert counts.packets == counts.datagrams + counts.refused + counts.others.total()


def test_items_come_as_soon_as_their_packet_is_there():
    def packets():
        yield packet(ethernet(ipv4(HI)))
        raise AssertionError("asked for more than was needed")

    assert next(read_datagrams(packets())).payload == b"hi"

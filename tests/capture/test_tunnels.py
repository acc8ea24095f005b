"""Tunnels: entered on request only, down to a stated depth; what their endpoints say is a datagram too."""

import pytest
from capture_writer import (
    ethernet,
    fragment_of,
    gre,
    gtp,
    ipv4,
    udp,
    vxlan,
)
from carriers import GTP, IN_4, IN_6, TUNNELS, V6, VXLAN

from wirelock.capture.datagrams import read_datagrams
from wirelock.capture.files import Counts, Packet


def read(*datas, tunnels=True, link=101, original=None):
    """Return payloads, codes and names of other protocols, in order, after checking the counts."""
    counts = Counts(packets=len(datas))
    packets = [
        Packet(number, None, 0, link, len(data), original or len(data), data)
        for number, data in enumerate(datas, 1)
    ]
    found = list(read_datagrams(packets, counts, tunnels=tunnels))
    assert counts.balanced
    return [getattr(item, "code", None) or item.payload for item in found] + list(counts.others)


@pytest.mark.parametrize("name", TUNNELS)
def test_what_is_inside(name):
    data = TUNNELS[name]
    assert read(data) == [b"hi"]
    assert read(data + b"trailer") == [b"hi"]
    assert read(ethernet(data, V6 if data[0] >> 4 == 6 else 0x0800), link=1) == [b"hi"]


@pytest.mark.parametrize("name", TUNNELS)
def test_nothing_is_entered_unasked(name):
    [found] = read(TUNNELS[name], tunnels=False)
    assert found in ("ip-in-ip", "gre") or (isinstance(found, bytes) and found.endswith(b"hi"))


@pytest.mark.parametrize("name", TUNNELS)
def test_cut_anywhere(name):
    data = TUNNELS[name]
    for size in range(len(data)):
        assert read(data[:size], original=len(data))[0] in ("snaplen-cut", b"", b"h")
        assert len(read(data[:size])) == 1


OUTSIDE = {
    "gre with routes": (ipv4(gre(IN_4, flags=0x4000), protocol=47), "gre"),
    "gre of another version": (ipv4(gre(IN_4, flags=2), protocol=47), "gre"),
    "gre of arp": (ipv4(gre(bytes(28), 0x0806), protocol=47), "arp"),
    "tcp inside": (ipv4(ipv4(bytes(20), protocol=6), protocol=4), "tcp"),
    "icmp that quotes, inside": (ipv4(ipv4(bytes(8) + IN_4, protocol=1), protocol=4), "icmp"),
    "another version inside": (ipv4(IN_6, protocol=4), "ip-version"),
    "vxlan without its flag": (ipv4(udp(vxlan(b"", flags=0), destination=VXLAN)), vxlan(b"", flags=0)),
    "too short for vxlan": (ipv4(udp(b"\x08", destination=VXLAN)), b"\x08"),
    "gtp echo": (ipv4(udp(gtp(b"", kind=1), destination=GTP)), gtp(b"", kind=1)),
    "gtp of another version": (ipv4(udp(gtp(IN_4, flags=0x50), destination=GTP)), gtp(IN_4, flags=0x50)),
    "gtp of ethernet": (ipv4(udp(gtp(ethernet(IN_4)), destination=GTP)), "gtp-u"),
    "gtp with an extension of no length": (
        ipv4(udp(gtp(bytes(20), flags=0x34, options=b"\0\0\0\x85"), destination=GTP)), "gtp-u"
    ),
    "gtp length too short": (ipv4(udp(gtp(IN_4, length=29), destination=GTP)), b"h"),
    "udp length too long": (ipv4(udp(gtp(IN_4), length=99, destination=GTP)), gtp(IN_4)),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_no_tunnel_or_holds_no_datagram(name):
    data, found = OUTSIDE[name]
    assert read(data) == [found]


def nested(depth):
    data = IN_4
    for _ in range(depth):
        data = ipv4(data, protocol=4)
    return data


def test_depth_is_bounded():
    assert read(nested(7)) == [b"hi"]
    assert read(nested(8)) == ["too-deep"]
    assert read(nested(1000)) == ["too-deep"]


def test_fragments_inside_of_tunnels_and_outside():
    payload = udp(bytes(72))
    inside = [fragment_of(payload, 0, 40), fragment_of(payload, 40, 80)]
    assert read(*(ipv4(data, protocol=4) for data in inside)) == [bytes(72)]
    whole = ipv4(payload)
    outside = [fragment_of(whole, 0, 48, protocol=4), fragment_of(whole, 48, 100, protocol=4)]
    assert read(*outside) == [bytes(72)]
    assert read(*outside, tunnels=False) == ["ip-in-ip"]
    assert read(*(ipv4(gre(data), protocol=47) for data in outside)) == [bytes(72)]


def test_fragments_of_two_tunnels_are_apart():
    payload = udp(bytes(72))
    halves = [fragment_of(payload, 0, 40), fragment_of(payload, 40, 80)]
    for wrap in (
        lambda data, tunnel: gtp(data, tunnel=tunnel),
        lambda data, tunnel: vxlan(ethernet(data), network=tunnel),
    ):
        port = GTP if wrap(b"", 1)[0] == 0x30 else VXLAN
        one, other = (
            [ipv4(udp(wrap(data, tunnel), destination=port)) for data in halves] for tunnel in (1, 2)
        )
        assert read(one[0], other[1]) == ["fragment-missing", "fragment-missing"]
        assert read(one[0], other[1], one[1], other[0]) == [bytes(72), bytes(72)]

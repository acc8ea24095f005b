"""What a Summary counts: every packet once, every datagram once, whatever the captures hold."""

import io

from protocol import PROTOCOLS
from protocol.snapshot import SnapshotV1
from tests.capture.capture_writer import ethernet, fragment_of, ipv4, pcap, udp
from tests.cli.command import SESSION
from wirelock.capture.decode import FaultRow, Row, Selection, Summary, decode

SNAPSHOT = SnapshotV1(tick=7, entities=()).build()


def counted(*captures, selection=Selection()):  # noqa: B008 - it is frozen
    summary = Summary()
    items = [item for capture in captures for item in decode(capture, PROTOCOLS, selection, summary)]
    datagrams = summary.decoded + summary.faulty + summary.foreign + summary.other_ports
    others = summary.other_traffic.total() + summary.refused + summary.fragments
    assert summary.packets == summary.datagrams + others
    assert summary.datagrams == datagrams
    assert summary.records.total() == sum(isinstance(item, Row) for item in items)
    assert summary.faults.total() == sum(isinstance(item, FaultRow) for item in items)
    return summary


def test_the_session():
    summary = counted(SESSION)
    assert (summary.files, summary.packets, summary.bytes) == (1, 360, 42314)
    assert (summary.datagrams, summary.refused, summary.other_traffic) == (360, 0, {})
    assert (summary.decoded, summary.faulty, summary.foreign, summary.other_ports) == (304, 16, 40, 0)
    assert summary.records == {"snapshot v1": 152, "snapshot v2": 152}
    assert summary.duration_ns == 413301184


def test_two_captures():
    summary = counted(SESSION, SESSION)
    assert (summary.files, summary.packets, summary.decoded, summary.faulty) == (2, 720, 608, 32)
    assert summary.duration_ns == 413301184


def test_one_port():
    summary = counted(SESSION, selection=Selection(frozenset([42828])))
    assert summary.other_ports == 270
    assert summary.decoded + summary.faulty + summary.foreign == 90


def test_all_kinds_of_packets():
    packets = [
        ethernet(ipv4(udp(SNAPSHOT))),
        ethernet(ipv4(udp(SNAPSHOT[:4]))),
        ethernet(ipv4(udp(b"HELLO"))),
        ethernet(ipv4(udp(SNAPSHOT, length=400))),
        ethernet(ipv4(b"", protocol=6)),
        ethernet(b"\0" * 28, 0x0806),
        ethernet(ipv4(udp(SNAPSHOT)))[:30],
        ethernet(ipv4(udp(SNAPSHOT), offset=7)),
        *(ethernet(fragment_of(udp(SNAPSHOT), *ends, number=8)) for ends in [(0, 8), (8, len(SNAPSHOT) + 8)]),
    ]
    summary = counted(io.BytesIO(pcap([(number, 0, packet) for number, packet in enumerate(packets)])))
    assert (summary.files, summary.packets, summary.datagrams) == (1, 10, 5)
    assert (summary.decoded, summary.faulty, summary.foreign) == (2, 2, 1)
    assert summary.other_traffic == {"tcp": 1, "arp": 1}
    assert (summary.refused, summary.fragments) == (2, 1)
    assert summary.faults == {"truncated": 2, "udp-length-long": 1, "fragment-missing": 1}
    assert summary.bytes == sum(map(len, packets))
    assert summary.duration_ns == 9_000_000_000


def test_nothing():
    summary = counted(io.BytesIO(pcap([])))
    assert (summary.files, summary.packets, summary.duration_ns) == (1, 0, None)

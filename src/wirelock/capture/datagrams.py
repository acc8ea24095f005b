"""Packets -> UDP datagrams over IPv4 and IPv6, whatever link they were captured on.

A datagram's payload is what udp.length, the IP length and the captured length all allow; where these
disagree, `faults` says so. A packet that cannot be read comes out as a CaptureFault in its place, one
of another protocol is counted. Checksums are not verified: captures of sent packets often lack them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Final, NamedTuple, TypeAlias

from wirelock.capture import headers
from wirelock.capture.packets import CaptureFault, Counts, Packet
from wirelock.codec.trail import Found

__all__ = ["DATAGRAM_FAULTS", "LINKS", "PACKET_FAULTS", "Datagram", "read_datagrams"]

PACKET_FAULTS: Final = {
    "link-type": "a link type that is not read",
    "truncated": "the packet ends inside of a header",
    "snaplen-cut": "cut by the capture length",
    "ip-version": "the IP version is not the one that was announced",
    "ip-header-length": "the IPv4 header length is below 20",
    "ip-length-short": "the IP length is less than the headers take",
    "jumbo-length": "a jumbo payload length below 65536 or of another size than four bytes",
    "fragment": "one fragment of a datagram; fragments are not put together yet",
}
"""What keeps a packet from being a datagram, by code."""

DATAGRAM_FAULTS: Final = {
    "snaplen-cut": "cut by the capture length",
    "ip-length-long": "the IP length says more than the packet holds",
    "udp-length-long": "udp.length says more than the IP payload holds",
    "udp-length-short": "udp.length below 8",
}
"""How the lengths of a datagram can disagree, by code."""


@dataclass(frozen=True, slots=True)
class Datagram:
    """One UDP datagram: addresses as text, and the faults that its lengths have."""

    packet: int
    time_ns: int | None
    source: str
    destination: str
    source_port: int
    destination_port: int
    payload: bytes
    faults: tuple[CaptureFault, ...] = ()


def read_datagrams(
    packets: Iterable[Packet | CaptureFault], counts: Counts | None = None
) -> Iterator[Datagram | CaptureFault]:
    """Yield the datagrams and faults of packets, in their order; the file's own faults pass through.

    `counts` is kept up to date; it can be the one that read_capture keeps.
    """
    counts = Counts() if counts is None else counts
    for packet in packets:
        if isinstance(packet, CaptureFault):
            yield packet
            continue
        try:
            datagram = _datagram(packet)
        except _Other as other:
            counts.others[str(other)] += 1
        except (_Refused, Found) as refused:
            counts.refused += 1
            yield _fault(packet, *_told(refused, packet))
        else:
            counts.datagrams += 1
            yield datagram


class _Other(Exception):  # noqa: N818 - control flow inside this file
    """The packet is no UDP; the argument names the protocol that it is."""


class _Refused(Exception):  # noqa: N818 - control flow inside this file
    """The packet cannot be read. Arguments: code, message, byte of the packet."""


def _told(refused: _Refused | Found, packet: Packet) -> tuple[str, str, int]:
    if isinstance(refused, _Refused):
        code, message, byte = refused.args
        return code, message, byte
    fault = refused.fault
    code = "snaplen-cut" if packet.original > packet.captured else "truncated"
    # A header may lie wholly behind the end: options and extensions before it say how far they go.
    return code, f"{fault.path}: {fault.message}", min(fault.byte or 0, packet.captured)


def _fault(packet: Packet, code: str, message: str, byte: int) -> CaptureFault:
    return CaptureFault(packet.number, code, message, byte, "packet")


# -- links: the type of what they carry, as an EtherType, and where it begins ---------------------

_IPV4: Final = 0x0800
_IPV6: Final = 0x86DD
_ARP: Final = 0x0806
_TAGS: Final = frozenset({0x8100, 0x88A8, 0x9100})
"""The EtherTypes of VLAN tags: 802.1Q, 802.1ad, and what came before 802.1ad."""
_LENGTHS: Final = 0x0600
"""Types below are the length of an 802.3 frame."""
_FAMILIES: Final = {2: _IPV4, 24: _IPV6, 28: _IPV6, 30: _IPV6}
"""AF_INET everywhere; AF_INET6 of NetBSD and OpenBSD, FreeBSD, Darwin."""
_NO_ETHERTYPE: Final = frozenset({770, 778, 803, 824})
"""Hardware types whose cooked protocol is no EtherType: frame relay, GRE, radiotap, netlink."""

Link: TypeAlias = Callable[[bytes], tuple[int, int]]


def _ethernet(data: bytes) -> tuple[int, int]:
    return headers.ETHERNET.read(data).type, headers.ETHERNET.size


def _raw(data: bytes) -> tuple[int, int]:
    version = headers.IP_VERSION.read(data).version
    if version not in (4, 6):
        raise _Refused("ip-version", f"IP version {version}", 0)
    return (_IPV4 if version == 4 else _IPV6), 0


def _loopback(data: bytes) -> tuple[int, int]:
    return _family(headers.LOOPBACK["big"].read(data).family)


def _null(data: bytes) -> tuple[int, int]:
    # In the byte order of the machine that captured; families are small, so one order only makes sense.
    family = headers.LOOPBACK["little"].read(data).family
    return _family(family) if family <= 0xFFFF else _loopback(data)


def _family(family: int) -> tuple[int, int]:
    if family not in _FAMILIES:
        raise _Other(f"address family {family}" if family < 256 else "address family above 255")
    return _FAMILIES[family], headers.LOOPBACK["big"].size


def _cooked(data: bytes) -> tuple[int, int]:
    return _cooked_as(headers.COOKED, data)


def _cooked_2(data: bytes) -> tuple[int, int]:
    return _cooked_as(headers.COOKED_2, data)


def _cooked_as(header: headers.Header, data: bytes) -> tuple[int, int]:
    head = header.read(data)
    if head.hardware in _NO_ETHERTYPE:
        raise _Other(f"hardware type {head.hardware}")
    return head.protocol, header.size


LINKS: Final[dict[int, Link]] = {
    0: _null,
    1: _ethernet,
    12: _raw,
    14: _raw,
    101: _raw,
    108: _loopback,
    113: _cooked,
    228: lambda data: (_IPV4, 0),
    229: lambda data: (_IPV6, 0),
    276: _cooked_2,
}
"""Link type -> reader. Numbers from tcpdump.org's list; 12 and 14 are raw IP as some systems number it."""


# -- networks ------------------------------------------------------------------------------------

_UDP: Final = 17
_HOP_BY_HOP: Final = 0
_FRAGMENT: Final = 44
_EXTENSIONS: Final = frozenset({_HOP_BY_HOP, 43, _FRAGMENT, 60})
"""The IPv6 extension headers that are passed over; 43 is routing, 60 destination options."""
_EXTENSION_UNIT: Final = 8
_PAD_1: Final = b"\x00"
_JUMBO: Final = 0xC2

_NAMES: Final = {1: "icmp", 2: "igmp", 6: "tcp", 58: "icmpv6"}


class _Carried(NamedTuple):
    """What an IP packet carries: UDP from `at` to `end`, as the IP header says; `end` may be too far."""

    at: int
    end: int
    source: bytes
    destination: bytes
    jumbo: bool = False


def _ipv4(data: bytes, at: int) -> _Carried:
    head = headers.IPV4.read(data, at)
    if head.version != 4:
        raise _Refused("ip-version", f"version {head.version} where IPv4 was announced", at)
    size = 4 * head.header_length
    if size < headers.IPV4.size:
        raise _Refused("ip-header-length", f"an IPv4 header of {size} bytes", at)
    if head.protocol != _UDP:
        raise _other(head.protocol)
    if head.total_length < size:
        raise _Refused("ip-length-short", f"{head.total_length} bytes with a header of {size}", at)
    if head.fragment_offset or head.more_fragments:
        raise _Refused("fragment", f"a fragment at {8 * head.fragment_offset}", at)
    return _Carried(at + size, at + head.total_length, head.source, head.destination)


def _ipv6(data: bytes, start: int) -> _Carried:
    head = headers.IPV6.read(data, start)
    if head.version != 6:
        raise _Refused("ip-version", f"version {head.version} where IPv6 was announced", start)
    at, protocol = start + headers.IPV6.size, head.next_header
    jumbo = _jumbo_length(data, at) if head.payload_length == 0 and protocol == _HOP_BY_HOP else 0
    end = at + (jumbo or head.payload_length)
    while protocol in _EXTENSIONS:
        if at + _EXTENSION_UNIT > end:
            raise _Refused("ip-length-short", f"{end - at} bytes left for an extension header", at)
        if protocol == _FRAGMENT:
            fragment = headers.FRAGMENT.read(data, at)
            protocol, size = fragment.next_header, headers.FRAGMENT.size
            if (fragment.offset or fragment.more) and (protocol == _UDP or protocol in _EXTENSIONS):
                raise _Refused("fragment", f"a fragment at {8 * fragment.offset}", at)
        else:
            extension = headers.EXTENSION.read(data, at)
            protocol, size = extension.next_header, _EXTENSION_UNIT * (1 + extension.length)
        at += size
    if protocol != _UDP:
        raise _other(protocol)
    return _Carried(at, end, head.source, head.destination, jumbo > 0)


def _jumbo_length(data: bytes, at: int) -> int:
    """Return the payload length that a hop-by-hop header states; 0 if it states none."""
    end = at + _EXTENSION_UNIT * (1 + headers.EXTENSION.read(data, at).length)
    at += headers.EXTENSION.size
    while at < end:
        if data[at : at + 1] == _PAD_1:
            at += 1
            continue
        option = headers.OPTION.read(data, at)
        if option.type == _JUMBO:
            length: int = headers.JUMBO.read(data, at + headers.OPTION.size).length
            if option.length != headers.JUMBO.size or length <= 0xFFFF:
                raise _Refused("jumbo-length", f"{length} in {option.length} bytes", at)
            return length
        at += headers.OPTION.size + option.length
    return 0


def _other(protocol: int) -> _Other:
    return _Other(_NAMES.get(protocol, f"ip protocol {protocol}"))


# -- transport -----------------------------------------------------------------------------------

_UDP_HEADER: Final = 8
"""Bytes of the header with its checksum."""
_UDP_LENGTH: Final = 4
"""Where in the header the length is."""


def _datagram(packet: Packet) -> Datagram:
    """Return the datagram in a packet, or raise what it is instead."""
    data, link = packet.data, LINKS.get(packet.link_type)
    if link is None:
        raise _Refused("link-type", f"link type {packet.link_type}", 0)
    kind, at = link(data)
    while kind in _TAGS:
        kind, at = headers.VLAN.read(data, at).type, at + headers.VLAN.size
    if kind == _IPV4:
        carried = _ipv4(data, at)
    elif kind == _IPV6:
        carried = _ipv6(data, at)
    else:
        raise _Other(_ethertype(kind))
    at, end = carried.at, carried.end
    if end - at < _UDP_HEADER:
        raise _Refused("ip-length-short", f"{end - at} bytes left for the UDP header", at)
    faults: list[CaptureFault] = []
    there = max(packet.original, packet.captured)
    if end > there:
        faults.append(_fault(packet, "ip-length-long", f"{end - there} bytes more than the packet", there))
        end = there
    udp = headers.UDP.read(data, at)
    stop = end if carried.jumbo and not udp.length else at + udp.length
    if stop > end:
        told = f"udp.length {udp.length}, the IP payload holds {end - at}"
        faults.append(_fault(packet, "udp-length-long", told, at + _UDP_LENGTH))
        stop = end
    elif stop < at + _UDP_HEADER:
        faults.append(_fault(packet, "udp-length-short", f"udp.length {udp.length}", at + _UDP_LENGTH))
    if stop > packet.captured:
        told = f"{stop - packet.captured} of {stop - at} bytes were not captured"
        faults.append(_fault(packet, "snaplen-cut", told, packet.captured))
    return Datagram(
        packet.number,
        packet.time_ns,
        _text(carried.source),
        _text(carried.destination),
        udp.source_port,
        udp.destination_port,
        data[at + _UDP_HEADER : stop],
        tuple(faults),
    )


def _ethertype(kind: int) -> str:
    if kind < _LENGTHS:
        return "802.3"
    return "arp" if kind == _ARP else f"ethertype {kind:#06x}"


@lru_cache(maxsize=4096)
def _text(address: bytes) -> str:
    return str(ip_address(address))

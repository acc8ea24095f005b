"""A link's header -> the EtherType of what it carries, and where that begins.

Every reader takes (data, at) and returns (type, at), or raises Other for what is no network packet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from wirelock.capture import headers
from wirelock.capture.packets import Other, Refused

__all__ = ["IPV4", "IPV6", "LINKS", "ethernet", "network", "ppp"]

IPV4: Final = 0x0800
IPV6: Final = 0x86DD
_ARP: Final = 0x0806
_PPPOE: Final = 0x8864
_NAMES: Final = {_ARP: "arp", 0x8863: "pppoe discovery", 0x8847: "mpls", 0x88CC: "lldp", 0x88E5: "macsec"}
_TAGS: Final = frozenset({0x8100, 0x88A8, 0x9100, 0x9200})
"""The EtherTypes of VLAN tags: 802.1Q, 802.1ad, and what came before 802.1ad."""
_LENGTHS: Final = 0x0600
"""Types below are the length of an 802.3 frame."""
_SNAP: Final = b"\xaa\xaa\x03\0\0\0"
"""What 802.2 begins with where an EtherType follows (RFC 1042); it may be cut."""
_FAMILIES: Final = {2: IPV4, 24: IPV6, 28: IPV6, 30: IPV6}
"""AF_INET everywhere; AF_INET6 of NetBSD, OpenBSD and Npcap, of FreeBSD, of Darwin."""
_NO_ETHERTYPE: Final = frozenset({770, 778, 803, 824})
"""Hardware types whose cooked protocol is no EtherType: frame relay, GRE, radiotap, netlink."""
_PPP_PROTOCOLS: Final = {0x0021: IPV4, 0x0057: IPV6}
_PPP_ADDRESS: Final = b"\xff"
_PPP_CONTROL: Final = 3
"""The address and control of PPP in HDLC-like framing (RFC 1662); ff is no protocol."""
_CISCO: Final = frozenset({b"\x0f", b"\x8f"})
"""The addresses of Cisco HDLC: unicast and broadcast."""

Link: TypeAlias = Callable[[bytes, int], tuple[int, int]]


def network(data: bytes, kind: int, at: int, end: int) -> tuple[int, int, int]:
    """Follow VLAN tags, SNAP and PPPoE; return IPV4 or IPV6, where it begins and where it ends at most."""
    while kind not in (IPV4, IPV6):
        if kind in _TAGS:
            kind, at = headers.VLAN.read(data, at).type, at + headers.VLAN.size
        elif kind == _PPPOE:
            session = headers.PPPOE.read(data, at)
            if (session.version, session.type, session.code) != (1, 1, 0):
                raise Other("pppoe discovery")
            at += headers.PPPOE.size
            end = min(end, at + session.length)
            kind, at = ppp(data, at)
        elif kind < _LENGTHS and _SNAP.startswith(data[at : at + len(_SNAP)]):
            kind, at = headers.SNAP.read(data, at).type, at + headers.SNAP.size
        else:
            raise Other("802.3" if kind < _LENGTHS else _NAMES.get(kind, f"ethertype {kind:#06x}"))
    return kind, at, end


def ethernet(data: bytes, at: int) -> tuple[int, int]:
    """Read an Ethernet frame."""
    return headers.ETHERNET.read(data, at).type, at + headers.ETHERNET.size


def ppp(data: bytes, at: int) -> tuple[int, int]:
    """Read PPP (RFC 1661), with or without the address and control of HDLC, the protocol in 1 or 2 bytes."""
    if data.startswith(_PPP_ADDRESS, at):
        return _framed_ppp(data, at)
    return _bare_ppp(data, at)


def _bare_ppp(data: bytes, at: int) -> tuple[int, int]:
    protocol = headers.OCTET.read(data, at).value
    size = 1
    if not protocol & 1:  # the low bit is set in a protocol's last byte only
        protocol, size = headers.PPP.read(data, at).protocol, headers.PPP.size
    if protocol not in _PPP_PROTOCOLS:
        raise Other(f"ppp {protocol:#06x}")
    return _PPP_PROTOCOLS[protocol], at + size


def _ppp_or_cisco(data: bytes, at: int) -> tuple[int, int]:
    return _cisco(data, at) if data[at : at + 1] in _CISCO else ppp(data, at)


def _cisco(data: bytes, at: int) -> tuple[int, int]:
    return headers.CISCO_HDLC.read(data, at).type, at + headers.CISCO_HDLC.size


def _directed_ppp(data: bytes, at: int) -> tuple[int, int]:
    """Read PPP behind one byte that says in which direction it went."""
    headers.OCTET.read(data, at)
    return ppp(data, at + 1)


def _framed_ppp(data: bytes, at: int) -> tuple[int, int]:
    """Read PPP behind an address, in whose place pppd writes the direction, and the control."""
    if headers.PPP_FRAME.read(data, at).control != _PPP_CONTROL:
        raise Other("ppp")
    return _bare_ppp(data, at + headers.PPP_FRAME.size)


def raw(data: bytes, at: int) -> tuple[int, int]:
    """Tell IPv4 from IPv6 by their first four bits."""
    version = headers.IP_VERSION.read(data, at).version
    if version not in (4, 6):
        raise Refused("ip-version", f"IP version {version}", at)
    return (IPV4 if version == 4 else IPV6), at


def _loopback(data: bytes, at: int) -> tuple[int, int]:
    return _family(at, headers.LOOPBACK["big"].read(data, at).family)


def _null(data: bytes, at: int) -> tuple[int, int]:
    # In the byte order of the machine that captured; families are small, so one order only makes sense.
    family = headers.LOOPBACK["little"].read(data, at).family
    return _family(at, family) if family <= 0xFFFF else _loopback(data, at)


def _family(at: int, family: int) -> tuple[int, int]:
    if family in _FAMILIES:
        return _FAMILIES[family], at + headers.LOOPBACK["big"].size
    raise Other(f"address family {family}" if family < 256 else "address family above 255")


def _cooked(data: bytes, at: int) -> tuple[int, int]:
    return _cooked_as(headers.COOKED, data, at)


def _cooked_2(data: bytes, at: int) -> tuple[int, int]:
    return _cooked_as(headers.COOKED_2, data, at)


def _cooked_as(header: headers.Header, data: bytes, at: int) -> tuple[int, int]:
    head = header.read(data, at)
    if head.hardware in _NO_ETHERTYPE:
        raise Other(f"hardware type {head.hardware}")
    return head.protocol, at + header.size


LINKS: Final[dict[int, tuple[str, Link]]] = {
    0: ("BSD loopback", _null),
    1: ("Ethernet", ethernet),
    9: ("PPP", ppp),
    12: ("raw IP", raw),
    14: ("raw IP", raw),
    50: ("PPP in HDLC", _ppp_or_cisco),
    51: ("PPPoE", lambda data, at: (_PPPOE, at)),
    101: ("raw IP", raw),
    104: ("Cisco HDLC", _cisco),
    108: ("OpenBSD loopback", _loopback),
    113: ("Linux cooked", _cooked),
    166: ("PPP of pppd", _framed_ppp),
    204: ("PPP with direction", _directed_ppp),
    228: ("raw IPv4", lambda data, at: (IPV4, at)),
    229: ("raw IPv6", lambda data, at: (IPV6, at)),
    276: ("Linux cooked 2", _cooked_2),
}
"""Link type -> its name and reader. Numbers from tcpdump.org's list; 12 and 14 are raw IP as some systems
number it."""

"""IPv4 and IPv6 headers -> what they carry: a protocol, where it begins and ends, or one fragment of it.

Addresses stay bytes. `end` is what the IP header says and may lie behind what is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from wirelock.capture import headers
from wirelock.capture.packets import Refused

__all__ = [
    "AUTHENTICATION",
    "EXTENSIONS",
    "UDP",
    "UDP_LITE",
    "Carried",
    "ipv4",
    "ipv6",
    "protocol_name",
    "upper",
]

UDP: Final = 17
UDP_LITE: Final = 136
_HOP_BY_HOP: Final = 0
_FRAGMENT: Final = 44
AUTHENTICATION: Final = 51
EXTENSIONS: Final = frozenset({_HOP_BY_HOP, 43, _FRAGMENT, AUTHENTICATION, 60, 140})
"""The IPv6 extension headers that are passed over; 43 is routing, 60 destination options, 140 shim6."""
_EXTENSION_UNIT: Final = 8
_PAD_1: Final = b"\x00"
_JUMBO: Final = 0xC2

_NAMES: Final = {
    1: "icmp", 2: "igmp", 4: "ip-in-ip", 6: "tcp", 41: "ip-in-ip", 47: "gre", 50: "esp", 58: "icmpv6",
    132: "sctp", 135: "mobility", 139: "hip",
}  # fmt: skip


def protocol_name(protocol: int) -> str:
    """Return the name of an IP protocol, as traffic is counted by."""
    return _NAMES.get(protocol, f"ip protocol {protocol}")


@dataclass(slots=True)
class Carried:
    """What an IP packet that begins at `start` carries: `protocol` from `at` to `end`.

    Of a fragment, `offset` is its place in bytes and `more` whether it is not the last; `key` tells the
    datagrams between two hosts apart. A `protocol` behind a later fragment's header is the first
    fragment's. `jumbo`: the length is that of a jumbogram.
    """

    start: int
    source: bytes
    destination: bytes
    protocol: int
    at: int
    end: int
    offset: int = 0
    more: bool = False
    key: tuple[int, int] = (0, 0)
    jumbo: bool = False

    @property
    def fragment(self) -> bool:
        """Whether this is a part of something."""
        return self.more or self.offset > 0


def ipv4(data: bytes, at: int) -> Carried:
    """Read RFC 791's header, with options."""
    head = headers.IPV4.read(data, at)
    if head.version != 4:
        raise Refused("ip-version", f"version {head.version} where IPv4 was announced", at)
    size = 4 * head.header_length
    if size < headers.IPV4.size:
        raise Refused("ip-header-length", f"an IPv4 header of {size} bytes", at)
    found = Carried(at, head.source, head.destination, head.protocol, at + size, at + head.total_length)
    found.offset, found.more = 8 * head.fragment_offset, bool(head.more_fragments)
    found.key = head.identification, head.protocol
    if found.protocol == AUTHENTICATION:
        upper(data, found)
    return found


def ipv6(data: bytes, start: int) -> Carried:
    """Read RFC 8200's header and the extension headers up to what they carry, or to a fragment."""
    head = headers.IPV6.read(data, start)
    if head.version != 6:
        raise Refused("ip-version", f"version {head.version} where IPv6 was announced", start)
    at = start + headers.IPV6.size
    jumbo = _jumbo_length(data, at) if head.payload_length == 0 and head.next_header == _HOP_BY_HOP else 0
    end = at + (jumbo or head.payload_length)
    found = Carried(start, head.source, head.destination, head.next_header, at, end, jumbo=jumbo > 0)
    upper(data, found)
    return found


def upper(data: bytes, found: Carried) -> None:
    """Follow IPv6 extension headers, and the authentication header of either IP, up to the next protocol."""
    while found.protocol in EXTENSIONS and not found.fragment:
        at, left = found.at, found.end - found.at
        if left < _EXTENSION_UNIT:
            raise Refused("ip-length-short", f"{left} bytes left for an extension header", at)
        if found.protocol == _FRAGMENT:
            head = headers.FRAGMENT.read(data, at)
            size = headers.FRAGMENT.size
            found.offset, found.more = 8 * head.offset, bool(head.more)
            found.key = (head.identification, _FRAGMENT)
        else:
            head = headers.EXTENSION.read(data, at)
            size = _extension_size(found.protocol, head)
        found.protocol, found.at = head.next_header, at + size


def _extension_size(protocol: int, head: Any) -> int:
    if protocol == AUTHENTICATION:
        return int(4 * (2 + head.length))
    return int(_EXTENSION_UNIT * (1 + head.length))


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
                raise Refused("jumbo-length", f"{length} in {option.length} bytes", at)
            return length
        at += headers.OPTION.size + option.length
    return 0

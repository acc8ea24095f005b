"""Tunnels that carry UDP: IP in IP, GRE, VXLAN and GTP-U -> the EtherType of what is inside, and where.

They are entered on request only: what a tunnel's endpoints say to each other is a datagram as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from wirelock.capture import headers
from wirelock.capture.links import IPV4, IPV6, ethernet, ppp, raw
from wirelock.capture.packets import Other

__all__ = ["OVER_IP", "over_udp"]

_BRIDGED: Final = 0x6558
"""The EtherType of Ethernet inside of GRE."""
_PPP: Final = 0x880B
_VXLAN_PORTS: Final = frozenset({4789, 8472})
"""IANA's, and Linux's from before there was one."""
_VXLAN_FLAG: Final = 0x08
_GTP_PORT: Final = 2152
_GTP_PACKET: Final = 255
"""The message type that carries a user's packet."""


def _gre(data: bytes, at: int) -> tuple[int, int]:
    head = headers.GRE.read(data, at)
    if head.version > 1 or (head.routing and head.version == 0):
        raise Other("gre")
    words = head.checksum + head.key + head.sequence + (head.acknowledgment if head.version else 0)
    at += headers.GRE.size + 4 * words
    if head.protocol == _BRIDGED:
        return ethernet(data, at)
    return ppp(data, at) if head.protocol == _PPP else (head.protocol, at)


OVER_IP: Final[dict[int, Callable[[bytes, int], tuple[int, int]]]] = {
    4: lambda data, at: (IPV4, at),
    41: lambda data, at: (IPV6, at),
    47: _gre,
}
"""IP protocol -> reader of the tunnel (RFC 2003, 4213, 2784 with 2890 and 2637)."""


def over_udp(data: bytes, at: int, end: int, port: int) -> tuple[int, int, int, int] | None:
    """Return what a datagram carries: type, place, end and the tunnel's number; None if it is no tunnel's."""
    if port in _VXLAN_PORTS and end - at >= headers.VXLAN.size:
        vxlan = headers.VXLAN.read(data, at)
        if vxlan.flags & _VXLAN_FLAG:
            return (*ethernet(data, at + headers.VXLAN.size), end, vxlan.network)
    if port == _GTP_PORT and end - at >= headers.GTP.size:
        gtp = headers.GTP.read(data, at)
        if (gtp.version, gtp.protocol_type, gtp.message_type) == (1, 1, _GTP_PACKET):
            end = min(end, at + headers.GTP.size + gtp.length)
            return (*_in_gtp(data, at + headers.GTP.size, gtp), end, gtp.tunnel)
    return None


def _in_gtp(data: bytes, at: int, gtp: Any) -> tuple[int, int]:
    """Pass over the options of a GTP-U message; return what it carries. Raises Other for no IP packet."""
    if gtp.extension or gtp.sequence or gtp.number:
        following = headers.GTP_OPTIONS.read(data, at).extension if gtp.extension else 0
        at += headers.GTP_OPTIONS.size
        while following:
            size = 4 * headers.OCTET.read(data, at).value
            if not size:
                raise Other("gtp-u")
            following = headers.OCTET.read(data, at + size - 1).value
            at += size
    if headers.IP_VERSION.read(data, at).version not in (4, 6):
        raise Other("gtp-u")
    return raw(data, at)

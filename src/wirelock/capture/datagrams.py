"""Packets -> UDP and UDP-Lite datagrams over IPv4 and IPv6, whatever link they were captured on.

A datagram's payload is what udp.length, the IP length and the captured length all allow; where these
disagree, `faults` says so. A packet that cannot be read comes out as a CaptureFault in its place, one
of another protocol is counted. Fragments come out with the packet that completes them. Checksums are not
verified: captures of sent packets often lack them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final

from wirelock.capture import headers
from wirelock.capture.fragments import Fragments, Piece
from wirelock.capture.links import IPV4, IPV6, LINKS, network
from wirelock.capture.networks import (
    AUTHENTICATION,
    EXTENSIONS,
    UDP,
    UDP_LITE,
    Carried,
    ipv4,
    ipv6,
    protocol_name,
    upper,
)
from wirelock.capture.packets import CaptureFault, Counts, Other, Packet, Refused, Within
from wirelock.capture.tunnels import OVER_IP, over_udp
from wirelock.codec.trail import Found

__all__ = ["DATAGRAM_FAULTS", "PACKET_FAULTS", "Datagram", "DatagramReader", "read_datagrams"]

PACKET_FAULTS: Final = {
    "link-type": "a link type that is not read",
    "truncated": "the packet ends inside of a header",
    "snaplen-cut": "cut by the capture length",
    "ip-version": "the IP version is not the one that was announced",
    "ip-header-length": "the IPv4 header length is below 20",
    "ip-length-short": "the IP length is less than the headers take",
    "ip-length-long": "the IP length of a fragment says more than the packet holds",
    "jumbo-length": "a jumbo payload length below 65536 or of another size than four bytes",
    "fragment-missing": "fragments of a packet whose others never came, or not before they had to make room",
    "fragment-overlap": "fragments that overlap with other bytes, or that do not agree where the packet ends",
    "fragment-length": "a fragment beyond byte 65535, or one that is not the last and no multiple of 8 bytes",
    "too-deep": "more than 8 packets inside of each other",
}
"""What keeps a packet from being a datagram, by code."""

DATAGRAM_FAULTS: Final = {
    "snaplen-cut": "cut by the capture length",
    "ip-length-long": "the IP length says more than the packet holds",
    "udp-length-long": "udp.length says more than the IP payload holds",
    "udp-length-short": "udp.length below 8",
    "coverage-long": "the checksum coverage of UDP-Lite says more than the IP payload holds",
    "coverage-short": "a checksum coverage of UDP-Lite from 1 to 7",
}
"""How the lengths of a datagram can disagree, by code."""

_DEEPEST: Final = 8


@dataclass(frozen=True, slots=True)
class Datagram:
    """One UDP datagram: addresses as text, and the faults that its lengths have.

    `byte` is where its payload begins in the file (once unpacked), None where fragments made it.
    """

    packet: int
    time_ns: int | None
    source: str
    destination: str
    source_port: int
    destination_port: int
    payload: bytes
    faults: tuple[CaptureFault, ...] = ()
    byte: int | None = field(default=None, compare=False)


def read_datagrams(
    packets: Iterable[Packet | CaptureFault], counts: Counts | None = None, *, tunnels: bool = False
) -> Iterator[Datagram | CaptureFault]:
    """Yield the datagrams and faults of packets, in their order; the file's own faults pass through.

    `counts` is kept up to date; it can be the one that read_capture keeps. `tunnels`: packets inside of IP
    in IP, GRE, VXLAN and GTP-U are read in place of those that carry them. Faults of fragments that were
    never finished come at the end, with the number of their first packet.
    """
    reader = DatagramReader(counts, tunnels=tunnels)
    for packet in packets:
        if isinstance(packet, CaptureFault):
            yield packet
        else:
            yield from reader.read(packet)
    yield from reader.end()


class DatagramReader:
    """Reads packet by packet, in the order in which they were captured, for whoever has the packets."""

    def __init__(self, counts: Counts | None = None, *, tunnels: bool = False) -> None:
        self._counts = Counts() if counts is None else counts
        self._tunnels = tunnels
        self._fragments = Fragments()

    def read(self, packet: Packet) -> list[Datagram | CaptureFault]:
        """Return what a packet is: a datagram, a fault, or nothing (of another protocol, or a fragment).

        Before it come faults of fragments that had to make room.
        """
        counts = self._counts
        frame = _Frame(packet, packet.data, max(packet.original, len(packet.data)))
        found: list[Datagram | CaptureFault] = []
        try:
            datagram = self._datagram(frame)
        except Other as other:
            counts.others[str(other)] += 1
        except (Refused, Found) as refused:
            counts.refused += 1
            found = [frame.refusal(refused)]
        else:
            if datagram is None:
                counts.fragments += 1
            else:
                counts.datagrams += 1
                found = [datagram]
        return [*self._given_up(), *found] if self._fragments.unfinished else found

    def end(self) -> list[CaptureFault]:
        """Return the faults of fragments that were never finished."""
        self._fragments.end()
        return list(self._given_up())

    def _given_up(self) -> Iterator[CaptureFault]:
        for lost in self._fragments.taken():
            self._counts.fragments -= 1
            self._counts.refused += 1
            first = lost.first
            ends = _text(first.source), _text(first.destination)
            yield CaptureFault(
                first.packet, "fragment-missing", lost.message, first.byte, first.within, first.time_ns, *ends
            )

    def _datagram(self, frame: _Frame) -> Datagram | None:
        """Return the datagram in a packet, None if it is a fragment so far, or raise what it is instead."""
        packet = frame.packet
        if packet.link_type not in LINKS:
            raise Refused("link-type", f"link type {packet.link_type}", 0)
        kind, at = LINKS[packet.link_type][1](frame.data, 0)
        path: tuple[Hashable, ...] = ()
        for _ in range(_DEEPEST):
            if kind not in _HEADERS:
                kind, at, frame.there = network(frame.data, kind, at, frame.there)
            carried = frame.carried = (ipv4 if kind == IPV4 else ipv6)(frame.data, at)
            if carried.protocol not in _ENDS or carried.end < carried.at:
                self._check_protocol(kind, carried)
            while carried.more or carried.offset:
                if not self._reassemble(frame, carried, path):
                    return None
                if carried.protocol in _HEADERS[kind]:
                    upper(frame.data, carried)
                self._check_protocol(kind, carried)
            path += (carried.source, carried.destination)
            end = carried.end
            if carried.protocol in _ENDS:
                datagram, end = _transport(frame, carried)
                inside = self._inside(frame, carried.at, end, datagram) if self._tunnels else None
                if inside is None:
                    return datagram
                kind, at, end, number = inside
                path += (number,)
            else:
                kind, at = OVER_IP[carried.protocol](frame.data, carried.at)
            frame.narrow(end)
        raise Refused("too-deep", f"more than {_DEEPEST} packets inside of each other", at)

    def _inside(
        self, frame: _Frame, at: int, end: int, datagram: Datagram
    ) -> tuple[int, int, int, int] | None:
        """Return what is in a datagram that is a tunnel to be entered, as over_udp does."""
        if not {fault.code for fault in datagram.faults} <= {"snaplen-cut"}:
            return None
        return over_udp(frame.data, at + _UDP_HEADER, end, datagram.destination_port)

    def _check_protocol(self, kind: int, carried: Carried) -> None:
        """Raise Other for what is not read, whatever else may be wrong with it."""
        protocol = carried.protocol
        known = protocol in _ENDS or (self._tunnels and protocol in OVER_IP)
        if not known and not (carried.fragment and protocol in _HEADERS[kind]):
            raise Other(protocol_name(protocol))
        if carried.end < carried.at:
            told = f"the IP length ends {carried.at - carried.end} bytes before the header does"
            raise Refused("ip-length-short", told, carried.start)

    def _reassemble(self, frame: _Frame, carried: Carried, path: tuple[Hashable, ...]) -> bool:
        """Take in a fragment; return whether what it is of is whole, and is in the frame now."""
        packet, at, end = frame.packet, carried.at, carried.end
        key = path, carried.source, carried.destination, carried.key
        data = frame.data[at:end]
        piece = Piece(
            packet.number,
            packet.time_ns,
            carried.source,
            carried.destination,
            carried.offset,
            carried.more,
            data,
            at,
            frame.within,
        )
        if max(at, end) > len(frame.data):  # of no bytes, its header may end behind what is there
            if not self._fragments.refuse(key, piece):
                return False
            if end > frame.there:
                told = f"a fragment of {end - frame.there} bytes more than the packet"
                raise Refused("ip-length-long", told, frame.there)
            raise Refused("snaplen-cut", f"{end - at - len(data)} of {end - at} bytes of a fragment", at)
        whole = self._fragments.add(key, piece)
        if whole is None:
            return False
        frame.replace(whole)
        carried.start = carried.at = carried.offset = 0
        carried.end, carried.more = len(whole), False
        return True


@dataclass(slots=True)
class _Frame:
    """The bytes that are read: a packet's, or what its fragments make; `there` is how many there were."""

    packet: Packet
    data: bytes
    there: int
    within: Within = "packet"
    carried: Carried | None = None

    def narrow(self, end: int) -> None:
        """Leave out what stands behind the end of what carries the rest."""
        self.there = min(self.there, end)
        self.data = self.data[:end]

    def replace(self, whole: bytes) -> None:
        """Go on with what fragments made."""
        self.data, self.there, self.within = whole, len(whole), "reassembled packet"

    def fault(self, code: str, message: str, byte: int) -> CaptureFault:
        """Return a fault at a byte of what is read."""
        found: list[str | None] = [None, None]
        if self.carried is not None:
            found = [_text(self.carried.source), _text(self.carried.destination)]
        packet = self.packet
        return CaptureFault(packet.number, code, message, byte, self.within, packet.time_ns, *found)

    def refusal(self, refused: Refused | Found) -> CaptureFault:
        """Return the fault of a packet that cannot be read."""
        # A header may lie wholly behind the end: options and extensions before it say how far they go.
        if isinstance(refused, Refused):
            code, message, byte = refused.args
            return self.fault(code, message, min(byte, max(self.there, len(self.data))))
        fault = refused.fault
        code = "snaplen-cut" if self.there > len(self.data) else "truncated"
        return self.fault(code, f"{fault.path}: {fault.message}", min(fault.byte or 0, len(self.data)))


_ENDS: Final = frozenset({UDP, UDP_LITE})
_HEADERS: Final = {IPV4: frozenset({AUTHENTICATION}), IPV6: EXTENSIONS}
"""The networks, and what a fragment of each may begin with that leads to UDP."""
_UDP_HEADER: Final = 8
"""Bytes of the header with its checksum, of UDP and of UDP-Lite."""
_LENGTH: Final = 4
"""Where in the header the length or the coverage is."""


def _transport(frame: _Frame, carried: Carried) -> tuple[Datagram, int]:
    """Return the datagram that IP carries, and where its payload ends."""
    at, end = carried.at, carried.end
    if end - at < _UDP_HEADER:
        raise Refused("ip-length-short", f"{end - at} bytes left for the UDP header", at)
    faults: list[CaptureFault] = []
    if end > frame.there:
        told = f"{end - frame.there} bytes more than the packet"
        faults.append(frame.fault("ip-length-long", told, frame.there))
        end = frame.there
    head, stop, problem = _length(frame.data, carried, end)
    if problem:
        faults.append(frame.fault(*problem, at + _LENGTH))
    if stop > len(frame.data):
        told = f"{stop - len(frame.data)} of {stop - at} bytes were not captured"
        faults.append(frame.fault("snaplen-cut", told, len(frame.data)))
    packet, start = frame.packet, at + _UDP_HEADER
    found = Datagram(
        packet.number,
        packet.time_ns,
        _text(carried.source),
        _text(carried.destination),
        head.source_port,
        head.destination_port,
        frame.data[start:stop],
        tuple(faults),
        packet.byte + start if frame.within == "packet" else None,
    )
    return found, stop


def _length(data: bytes, carried: Carried, end: int) -> tuple[Any, int, tuple[str, str] | None]:
    """Return the header, where the payload ends, and how its length disagrees with that of IP."""
    at = carried.at
    if carried.protocol == UDP_LITE:
        lite = headers.UDP_LITE.read(data, at)
        told = f"a coverage of {lite.coverage}, the IP payload holds {end - at}"
        if lite.coverage > end - at:
            return lite, end, ("coverage-long", told)
        short = 0 < lite.coverage < _UDP_HEADER
        return lite, end, ("coverage-short", told) if short else None
    udp = headers.UDP.read(data, at)
    stop = end if carried.jumbo and not udp.length else at + udp.length
    if stop > end:
        return udp, end, ("udp-length-long", f"udp.length {udp.length}, the IP payload holds {end - at}")
    short = stop < at + _UDP_HEADER
    return udp, stop, ("udp-length-short", f"udp.length {udp.length}") if short else None


@lru_cache(maxsize=4096)
def _text(address: bytes) -> str:
    return str(ip_address(address))

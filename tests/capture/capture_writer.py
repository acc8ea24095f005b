"""Captures and packets written with `struct` alone: a second opinion for the readers to agree with."""

import struct
import sys
from ipaddress import ip_address

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# -- packets

SOURCE, DESTINATION = "10.0.0.1", "10.0.0.2"
SOURCE_6, DESTINATION_6 = "fe80::1", "fe80::2"


def udp(payload, *, source=1111, destination=2222, length=None):
    return (
        struct.pack(">HHHH", source, destination, 8 + len(payload) if length is None else length, 0) + payload
    )


def udp_lite(payload, *, coverage=0):
    return struct.pack(">HHHH", 1111, 2222, coverage, 0) + payload


def ipv4(
    payload, *, protocol=17, options=b"", total=None, words=None, version=4, flags=0, offset=0, number=7
):
    words = (20 + len(options)) // 4 if words is None else words
    total = 20 + len(options) + len(payload) if total is None else total
    fixed = (version << 4 | words, 0, total, number, flags << 13 | offset, 64, protocol, 0)
    return struct.pack(">BBHHHBBH", *fixed) + address(SOURCE) + address(DESTINATION) + options + payload


def ipv6(payload, *, protocol=17, length=None, version=6):
    length = len(payload) if length is None else length
    fixed = struct.pack(">IHBB", version << 28 | 0x0ABCDEF, length, protocol, 64)
    return fixed + address(SOURCE_6) + address(DESTINATION_6) + payload


def extension(following, *, words=0, content=b""):
    return bytes([following, words]) + content.ljust(6 + 8 * words, b"\0")


def fragment(following, *, offset=0, more=0, reserved=0, number=99):
    return struct.pack(">BBHI", following, reserved, offset << 3 | (reserved & 3) << 1 | more, number)


def fragment_of(payload, start, stop, *, version=4, number=7, protocol=17):
    """Return the IP packet that carries these bytes of an IP payload."""
    piece, place = payload[start:stop], {"offset": start // 8, "number": number}
    more = int(stop < len(payload))
    if version == 4:
        return ipv4(piece, flags=more, protocol=protocol, **place)
    return ipv6(fragment(protocol, more=more, **place) + piece, protocol=44)


def jumbo(following, length, *, size=4):
    return bytes([following, 0, 0xC2, size]) + struct.pack(">I", length)


def ethernet(payload, kind=0x0800, *, tags=()):
    levels = b"".join(struct.pack(">HH", tag, number) for tag, number in tags)
    return b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01" + levels + struct.pack(">H", kind) + payload


def pppoe(payload, *, code=0, length=None):
    return struct.pack(">BBHH", 0x11, code, 5, len(payload) if length is None else length) + payload


def gre(payload, kind=0x0800, *, flags=0, words=0):
    return struct.pack(">HH", flags, kind) + bytes(4 * words) + payload


def vxlan(payload, *, flags=8, network=42):
    return struct.pack(">II", flags << 24, network << 8) + payload


def gtp(payload, *, flags=0x30, options=b"", kind=255, length=None, tunnel=7):
    length = len(options + payload) if length is None else length
    return struct.pack(">BBHI", flags, kind, length, tunnel) + options + payload


def address(text):
    return ip_address(text).packed


# -- pcap


def pcap(packets, *, order="<", magic=0xA1B2C3D4, link=1, version=(2, 4), snaplen=262144, swapped=None):
    """Packets are (seconds, fraction, data) or (seconds, fraction, data, original).

    `swapped`: whether the length on the link comes first, as it did before version 2.3.
    """
    swapped = version in [(2, 0), (2, 1), (2, 2), (543, 0)] if swapped is None else swapped
    parts = [struct.pack(order + "IHHiIII", magic, *version, 0, 0, snaplen, link)]
    for seconds, fraction, data, *original in packets:
        lengths = [len(data), *(original or [len(data)])]
        parts.append(struct.pack(order + "IIII", seconds, fraction, *(lengths[::-1] if swapped else lengths)))
        if magic == 0xA1B2CD34:
            parts.append(struct.pack(order + "IHBB", 2, 8, 0, 0))
        parts.append(data)
    return b"".join(parts)


# -- pcapng


class Blocks:
    """Writes pcapng blocks in one byte order."""

    def __init__(self, order="<"):
        self.order = order

    def pack(self, fmt, *values):
        return struct.pack(self.order + fmt, *values)

    def block(self, kind, body, *, length=None, after=None):
        body = body + bytes(-len(body) % 4)
        length = 12 + len(body) if length is None else length
        return self.pack("II", kind, length) + body + self.pack("I", length if after is None else after)

    def section(self, *, version=(1, 0), length=-1, options=b""):
        return self.block(0x0A0D0D0A, self.pack("IHHq", 0x1A2B3C4D, *version, length) + options)

    def option(self, code, value):
        return self.pack("HH", code, len(value)) + value + bytes(-len(value) % 4)

    def interface(self, *, link=1, snaplen=0, resolution=None, offset=None, options=b""):
        if resolution is not None:
            options += self.option(9, bytes([resolution]))
        if offset is not None:
            options += self.option(14, self.pack("q", offset))
        if options:
            options += self.option(0, b"")
        return self.block(1, self.pack("HHI", link, 0, snaplen) + options)

    def enhanced(self, data, *, interface=0, ticks=0, captured=None, original=None, options=b""):
        return self.block(
            6, self.pack("I", interface) + self._lengths(data, ticks, captured, original) + options
        )

    def obsolete(self, data, *, interface=0, ticks=0, captured=None, original=None):
        return self.block(2, self.pack("HH", interface, 3) + self._lengths(data, ticks, captured, original))

    def _lengths(self, data, ticks, captured, original):
        captured = len(data) if captured is None else captured
        original = len(data) if original is None else original
        fixed = self.pack("IIII", ticks >> 32, ticks & 0xFFFFFFFF, captured, original)
        return fixed + data + bytes(-len(data) % 4)

    def simple(self, data, *, original=None):
        return self.block(3, self.pack("I", len(data) if original is None else original) + data)


# -- compression


def zstd_of(data, *, checksum=True, pieces=1):
    """Return one frame, in blocks that end where the pieces do."""
    codec = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: checksum})
    size = len(data) // pieces + 1
    blocks = [codec.compress(data[at : at + size], codec.FLUSH_BLOCK) for at in range(0, len(data), size)]
    return b"".join(blocks) + codec.flush()

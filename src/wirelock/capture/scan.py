"""Many packets of a capture at once: where each lies in a buffer, and where its UDP payload is.

Only what is plain is placed here: records of pcap and enhanced blocks of pcapng, Ethernet with up to two
VLAN tags, raw IP, Linux cooked, BSD loopback, IPv4 without fragments, IPv6 without extension headers, UDP
whose lengths agree. At anything else of the file the scan stops, and a packet of anything else is marked:
the readers of single packets then say what that is. Written for numba, and runs as plain Python too.

A packet is a row of `out`, whose columns are numbered below.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, Final

from wirelock.codec.compiled import compiled_module

__all__ = ["COLUMNS", "compiled_scan"]

DATA: Final = 0
"""Where its bytes begin in the buffer."""
CAPTURED: Final = 1
"""How many there are."""
ORIGINAL: Final = 2
"""How many there were on the link."""
TIME: Final = 3
"""Nanoseconds since the epoch."""
INTERFACE: Final = 4
"""The number of its interface."""
PAYLOAD: Final = 5
"""Where its UDP payload begins; ODD, or OTHER."""
LENGTH: Final = 6
"""The bytes of the payload; the IP protocol of what is OTHER."""
NETWORK: Final = 7
"""Where the IP header begins."""
COLUMNS: Final = 8

ODD: Final = -1
"""The packet is left to the reader of single packets."""
OTHER: Final = -2
"""The packet is of an IP protocol that is not read."""

LINK: Final = 0
"""Of an interface: its link type, -1 where the scan cannot use it."""
TIMES: Final = 1
"""What its ticks are multiplied by to make nanoseconds,"""
OVER: Final = 2
"""and divided by."""
LIMIT: Final = 3
"""The most ticks for which that stays within 63 bits."""
OFFSET: Final = 4
"""Nanoseconds that are added."""

# -- compiled by numba, which takes the constants above as they are


def u16(data, at):
    """Return a big-endian number of two bytes."""
    return data[at] << 8 | data[at + 1]


def u32(data, at, big):
    """Return a number of four bytes."""
    if big:
        return data[at] << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24


def network_of(data, at, stop, link):
    """Return the EtherType of what a link carries, and where that begins; -1 for what is not plain."""
    if link == 1:
        if stop - at < 14:
            return -1, at
        kind, at = u16(data, at + 12), at + 14
    elif link == 113:
        if stop - at < 16:
            return -1, at
        kind, hardware, at = u16(data, at + 14), u16(data, at + 2), at + 16
        if hardware == 770 or hardware == 778 or hardware == 803 or hardware == 824:
            return -1, at
    elif link == 276:
        if stop - at < 20:
            return -1, at
        kind, hardware, at = u16(data, at), u16(data, at + 8), at + 20
        if hardware == 770 or hardware == 778 or hardware == 803 or hardware == 824:
            return -1, at
    elif link == 228:
        return 0x0800, at
    elif link == 229:
        return 0x86DD, at
    elif link == 12 or link == 14 or link == 101:
        if stop - at < 1:
            return -1, at
        version = data[at] >> 4
        return (0x0800 if version == 4 else 0x86DD if version == 6 else -1), at
    elif link == 0 or link == 108:
        if stop - at < 4:
            return -1, at
        family = u32(data, at, link == 108)
        if link == 0 and family > 0xFFFF:
            family = u32(data, at, True)
        if family == 2:
            return 0x0800, at + 4
        return (0x86DD if family == 24 or family == 28 or family == 30 else -1), at + 4
    else:
        return -1, at
    for _ in range(2):
        if kind == 0x8100 or kind == 0x88A8 or kind == 0x9100 or kind == 0x9200:
            if stop - at < 4:
                return -1, at
            kind, at = u16(data, at + 2), at + 4
    return kind, at


def place_payload(data, at, stop, link, tunnels, out, row):
    """Fill in where the payload of the packet between two places is."""
    out[PAYLOAD, row] = ODD
    kind, at = network_of(data, at, stop, link)
    out[NETWORK, row] = at
    if kind == 0x0800:
        if stop - at < 20 or data[at] >> 4 != 4 or data[at] & 15 < 5:
            return
        protocol, end = data[at + 9], at + u16(data, at + 2)
        plain = u16(data, at + 6) & 0x3FFF == 0
        known = protocol == 17 or protocol == 136 or protocol == 51
        at += 4 * (data[at] & 15)
    elif kind == 0x86DD:
        if stop - at < 40 or data[at] >> 4 != 6:
            return
        protocol, end = data[at + 6], at + 40 + u16(data, at + 4)
        plain = True
        known = protocol == 17 or protocol == 136 or protocol == 0 or protocol == 43 or protocol == 44
        known = known or protocol == 51 or protocol == 60 or protocol == 140
        at += 40
    else:
        return
    if not known and not (tunnels and (protocol == 4 or protocol == 41 or protocol == 47)):
        out[PAYLOAD, row], out[LENGTH, row] = OTHER, protocol
        return
    if protocol != 17 or not plain or end - at < 8 or end > stop:
        return
    length, port = u16(data, at + 4), u16(data, at + 2)
    if length < 8 or length > end - at:
        return
    if tunnels and (port == 4789 or port == 8472 or port == 2152):
        return
    out[PAYLOAD, row], out[LENGTH, row] = at + 8, length - 8


def scan_pcap(data, at, end, big, size, swapped, tick, largest, link, tunnels, out):
    """Place the records of a pcap file from a place on; return how many, and where the next one begins.

    `size` is that of a record's header. `swapped`: its two lengths are the other way round, always (1), or
    where the first is the larger one (2). Stops at the end of the buffer or of `out`, and before what is
    not plain.
    """
    row, rows = 0, out.shape[1]
    while row < rows and end - at >= size:
        captured, original = u32(data, at + 8, big), u32(data, at + 12, big)
        if swapped == 1 or (swapped == 2 and captured > original):
            captured, original = original, captured
        if captured > largest or captured > end - at - size:
            break
        time = u32(data, at, big) * 1000000000 + u32(data, at + 4, big) * tick
        at += size
        out[DATA, row], out[CAPTURED, row], out[ORIGINAL, row], out[TIME, row] = at, captured, original, time
        out[INTERFACE, row] = 0
        place_payload(data, at, at + captured, link, tunnels, out, row)
        at += captured
        row += 1
    return row, at


def scan_pcapng(data, at, end, big, interfaces, tunnels, out):
    """Place the enhanced packet blocks of a pcapng section from a place on, as scan_pcap does records.

    `interfaces` has a row for each interface of the section.
    """
    row, rows = 0, out.shape[1]
    while row < rows and end - at >= 32:
        length = u32(data, at + 4, big)
        if u32(data, at, big) != 6 or length < 32 or length % 4 != 0 or length > end - at:
            break
        number, captured = u32(data, at + 8, big), u32(data, at + 20, big)
        if u32(data, at + length - 4, big) != length or captured > length - 32 or number >= len(interfaces):
            break
        high = u32(data, at + 12, big)
        link = interfaces[number, LINK]
        ticks = (high & 0x7FFFFFFF) << 32 | u32(data, at + 16, big)
        if link < 0 or high >> 31 != 0 or ticks > interfaces[number, LIMIT]:
            break
        out[DATA, row], out[CAPTURED, row], out[ORIGINAL, row] = at + 28, captured, u32(data, at + 24, big)
        time = ticks * interfaces[number, TIMES] // interfaces[number, OVER] + interfaces[number, OFFSET]
        out[TIME, row], out[INTERFACE, row] = time, number
        place_payload(data, at + 28, at + 28 + captured, link, tunnels, out, row)
        at += length
        row += 1
    return row, at


_FUNCTIONS: Final = (u16, u32, network_of, place_payload, scan_pcap, scan_pcapng)
"""In an order in which none calls one behind it."""
_CONSTANTS: Final = (
    "DATA", "CAPTURED", "ORIGINAL", "TIME", "INTERFACE", "PAYLOAD", "LENGTH", "NETWORK", "ODD", "OTHER",
    "LINK", "TIMES", "OVER", "LIMIT", "OFFSET",
)  # fmt: skip
_HEADER: Final = """# generated by wirelock from capture/scan.py
from numba import njit

compiled = njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")
"""


@cache
def compiled_scan() -> Any:
    """Return a module with scan_pcap and scan_pcapng, compiled; from a cache if they were before.

    Raises ImportError without numba.
    """
    lines = [_HEADER, *(f"{name} = {globals()[name]}" for name in _CONSTANTS)]
    for function in _FUNCTIONS:
        lines += ["", "", "@compiled", inspect.getsource(function).rstrip()]
    return compiled_module("the scan of captures", "scan", "\n".join(lines) + "\n")

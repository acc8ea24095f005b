"""The headers inside captures, declared as layouts of our own and read by our own generated engine.

Field names are those of each format's own specification, in Python's spelling. Reserved bits are plain
integers: other people's packets are never refused for them. Every header here has a fixed size; what
comes behind it (options, padding, payload) is its reader's affair.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from construct import (
    BitsInteger,
    BitStruct,
    Bytes,
    Bytewise,
    Construct,
    Int8ub,
    Int16ub,
    Int16ul,
    Int32sb,
    Int32sl,
    Int32ub,
    Int32ul,
    Int64sb,
    Int64sl,
    Struct,
)

from wirelock.codec.locate import LayoutReader
from wirelock.codec.template import Template
from wirelock.codec.trail import Found, Trail
from wirelock.layout.nodes import ByteOrder
from wirelock.layout.walk import walk


@dataclass(frozen=True, slots=True)
class Header:
    """A header of `size` bytes."""

    name: str
    size: int
    parse: Callable[[bytes], tuple[Any, int]]

    def read(self, data: bytes, at: int = 0) -> Any:
        """Return the header at `at` as a named tuple; raises Found, with places that count from 0."""
        try:
            return self.parse(data[at : at + self.size])[0]
        except Found as found:
            raise Found(found.fault.within(self.name, at)) from None


def declare(name: str, struct: Construct) -> Header:
    """Make a header from a Struct or BitStruct of fixed size, all of its fields named."""
    layout = replace(walk(struct), name=name)
    assert layout.size.fixed and all(field.in_record for field in layout.fields), name
    record: Any = namedtuple(name, [field.label for field in layout.fields])

    def parse(data: bytes) -> tuple[Any, int]:
        reader = LayoutReader(data, Trail())
        return record(**reader.read(layout, "", None).values), reader.bit // 8

    return Header(name, layout.size.lowest // 8, parse)


# -- containers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PcapHeaders:
    """pcap in one byte order (draft-ietf-opsawg-pcap)."""

    file: Header
    record: Header
    modified_record: Header
    """With the eight bytes more of Kuznetzov's libpcap patch."""


def _pcap(order: ByteOrder) -> PcapHeaders:
    u16, u32, s32 = (Int16ub, Int32ub, Int32sb) if order == "big" else (Int16ul, Int32ul, Int32sl)
    record = ["seconds" / u32, "fraction" / u32, "captured" / u32, "original" / u32]
    return PcapHeaders(
        file=declare(
            "PcapFile",
            Struct(
                "magic" / u32,
                "major" / u16,
                "minor" / u16,
                "zone" / s32,
                "accuracy" / u32,
                "snaplen" / u32,
                "link_type" / u32,
            ),
        ),
        record=declare("PcapRecord", Struct(*record)),
        modified_record=declare(
            "PcapModifiedRecord",
            Struct(*record, "interface" / u32, "protocol" / u16, "packet_type" / Int8ub, "padding" / Int8ub),
        ),
    )


@dataclass(frozen=True, slots=True)
class PcapngHeaders:
    """pcapng in one byte order (draft-ietf-opsawg-pcapng): the fixed start of each block's body."""

    block: Header
    section: Header
    interface: Header
    enhanced: Header
    simple: Header
    obsolete: Header
    option: Header
    time_offset: Header


def _pcapng(order: ByteOrder) -> PcapngHeaders:
    big = order == "big"
    u16, u32, s64 = (Int16ub, Int32ub, Int64sb) if big else (Int16ul, Int32ul, Int64sl)
    lengths = ["ticks_high" / u32, "ticks_low" / u32, "captured" / u32, "original" / u32]
    return PcapngHeaders(
        block=declare("Block", Struct("type" / u32, "length" / u32)),
        section=declare("Section", Struct("magic" / u32, "major" / u16, "minor" / u16, "length" / s64)),
        interface=declare("Interface", Struct("link_type" / u16, "reserved" / u16, "snaplen" / u32)),
        enhanced=declare("EnhancedPacket", Struct("interface" / u32, *lengths)),
        simple=declare("SimplePacket", Struct("original" / u32)),
        obsolete=declare("ObsoletePacket", Struct("interface" / u16, "drops" / u16, *lengths)),
        option=declare("Option", Struct("code" / u16, "length" / u16)),
        time_offset=declare("TimeOffset", Struct("seconds" / s64)),
    )


PCAP: Final[dict[ByteOrder, PcapHeaders]] = {"little": _pcap("little"), "big": _pcap("big")}
PCAPNG: Final[dict[ByteOrder, PcapngHeaders]] = {"little": _pcapng("little"), "big": _pcapng("big")}


# -- links ---------------------------------------------------------------------------------------

ETHERNET: Final = declare(
    "Ethernet",
    Struct("destination" / Bytes(6), "source" / Bytes(6), "type" / Int16ub),
)
"""IEEE 802.3 clause 3: `type` below 1536 is a length."""

VLAN: Final = declare(
    "Vlan",
    BitStruct(
        "priority" / BitsInteger(3), "drop" / BitsInteger(1), "id" / BitsInteger(12), "type" / BitsInteger(16)
    ),
)
"""IEEE 802.1Q tag control information, and the type that follows it."""

LOOPBACK: Final[dict[ByteOrder, Header]] = {
    "little": declare("Loopback", Struct("family" / Int32ul)),
    "big": declare("Loopback", Struct("family" / Int32ub)),
}
"""LINKTYPE_NULL, in the byte order of the machine that captured, and LINKTYPE_LOOP, always big."""

COOKED: Final = declare(
    "Cooked",
    Struct(
        "packet_type" / Int16ub,
        "hardware" / Int16ub,
        "address_length" / Int16ub,
        "address" / Bytes(8),
        "protocol" / Int16ub,
    ),
)
"""LINKTYPE_LINUX_SLL."""

COOKED_2: Final = declare(
    "Cooked2",
    Struct(
        "protocol" / Int16ub,
        "reserved" / Int16ub,
        "interface" / Int32ub,
        "hardware" / Int16ub,
        "packet_type" / Int8ub,
        "address_length" / Int8ub,
        "address" / Bytes(8),
    ),
)
"""LINKTYPE_LINUX_SLL2."""


# -- networks and transport ----------------------------------------------------------------------

IP_VERSION: Final = declare("Ip", BitStruct("version" / BitsInteger(4), "rest" / BitsInteger(4)))
"""What IPv4 and IPv6 begin with."""

IPV4: Final = declare(
    "Ipv4",
    BitStruct(
        "version" / BitsInteger(4),
        "header_length" / BitsInteger(4),
        "type_of_service" / BitsInteger(8),
        "total_length" / BitsInteger(16),
        "identification" / BitsInteger(16),
        "reserved" / BitsInteger(1),
        "do_not_fragment" / BitsInteger(1),
        "more_fragments" / BitsInteger(1),
        "fragment_offset" / BitsInteger(13),
        "time_to_live" / BitsInteger(8),
        "protocol" / BitsInteger(8),
        "checksum" / BitsInteger(16),
        "source" / Bytewise(Bytes(4)),
        "destination" / Bytewise(Bytes(4)),
    ),
)
"""RFC 791, without the options: `header_length` counts words of four bytes, options included."""

IPV6: Final = declare(
    "Ipv6",
    BitStruct(
        "version" / BitsInteger(4),
        "traffic_class" / BitsInteger(8),
        "flow_label" / BitsInteger(20),
        "payload_length" / BitsInteger(16),
        "next_header" / BitsInteger(8),
        "hop_limit" / BitsInteger(8),
        "source" / Bytewise(Bytes(16)),
        "destination" / Bytewise(Bytes(16)),
    ),
)
"""RFC 8200 section 3."""

EXTENSION: Final = declare("Extension", Struct("next_header" / Int8ub, "length" / Int8ub))
"""RFC 6564: `length` counts words of eight bytes behind the first."""

FRAGMENT: Final = declare(
    "Fragment",
    BitStruct(
        "next_header" / BitsInteger(8),
        "reserved" / BitsInteger(8),
        "offset" / BitsInteger(13),
        "reserved_bits" / BitsInteger(2),
        "more" / BitsInteger(1),
        "identification" / BitsInteger(32),
    ),
)
"""RFC 8200 section 4.5."""

JUMBO: Final = declare("Jumbo", Struct("type" / Int8ub, "length" / Int8ub, "payload_length" / Int32ub))
"""RFC 2675: the option of the hop-by-hop header that states a payload length of more than 16 bits."""

UDP: Final = declare(
    "Udp", Struct("source_port" / Int16ub, "destination_port" / Int16ub, "length" / Int16ub)
)
"""RFC 768 up to the checksum, which nobody here reads: a capture cut right before it still counts."""

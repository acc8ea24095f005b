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

from wirelock.codec.generated import GeneratedEngine
from wirelock.codec.template import Template
from wirelock.codec.trail import Found
from wirelock.layout.nodes import ByteOrder
from wirelock.layout.sizes import size_of
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
    assert size_of(layout).fixed and all(field.in_record for field in layout.fields), name
    record: Any = namedtuple(name, [field.label for field in layout.fields])  # type: ignore[misc]
    template = Template(record, record, lambda values: record(**values), positional=True)
    return Header(name, size_of(layout).lowest // 8, GeneratedEngine(layout, {name: template}).parse_prefix)


# -- containers ----------------------------------------------------------------------------------

FOREIGN: Final = {
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zX": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
"""What files that are not read begin with."""


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


PCAP_KINDS: Final[dict[bytes, tuple[ByteOrder, int, bool]]] = {
    b"\xa1\xb2\xc3\xd4": ("big", 1000, False),
    b"\xd4\xc3\xb2\xa1": ("little", 1000, False),
    b"\xa1\xb2\x3c\x4d": ("big", 1, False),
    b"\x4d\x3c\xb2\xa1": ("little", 1, False),
    b"\xa1\xb2\xcd\x34": ("big", 1000, True),
    b"\x34\xcd\xb2\xa1": ("little", 1000, True),
}
"""Magic -> byte order, nanoseconds in a fraction's tick, whether records are of the modified kind."""
LINK_TYPE_BITS: Final = 0xFFFF
"""The link type in its word; above it pcap keeps the length of the frame check sequence."""

SECTION_MAGIC: Final = b"\x0a\x0d\x0d\x0a"
SECTION_ORDERS: Final[dict[bytes, ByteOrder]] = {
    b"\x1a\x2b\x3c\x4d": "big",
    b"\x4d\x3c\x2b\x1a": "little",
}
SECTION_VERSIONS: Final = frozenset({(1, 0), (1, 2)})
"""1.2 is what some writers call 1.0."""

SECTION: Final = 0x0A0D0D0A
INTERFACE: Final = 1
OBSOLETE: Final = 2
SIMPLE: Final = 3
ENHANCED: Final = 6
PACKETS: Final = frozenset({OBSOLETE, SIMPLE, ENHANCED})
KNOWN: Final = PACKETS | {SECTION, INTERFACE}
"""The types of the blocks that are read."""

OPTIONS_END: Final = 0
INTERFACE_NAME: Final = 2
APPLICATION: Final = 4
TIME_RESOLUTION: Final = 9
TIME_OFFSET: Final = 14
INTERFACE_OPTIONS: Final = {INTERFACE_NAME: None, TIME_RESOLUTION: 1, TIME_OFFSET: 8}
SECTION_OPTIONS: Final = {APPLICATION: None}
"""The options that are read, with their sizes in bytes; None is any size."""

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

SNAP: Final = declare("Snap", Struct("service" / Bytes(3), "organisation" / Bytes(3), "type" / Int16ub))
"""RFC 1042: 802.2 with the protocol as an EtherType."""

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

PPPOE: Final = declare(
    "PppOverEthernet",
    BitStruct(
        "version" / BitsInteger(4),
        "type" / BitsInteger(4),
        "code" / BitsInteger(8),
        "session" / BitsInteger(16),
        "length" / BitsInteger(16),
    ),
)
"""RFC 2516: `code` 0 is a session; `length` counts what follows."""

PPP_FRAME: Final = declare("PppFrame", Struct("address" / Int8ub, "control" / Int8ub))
"""RFC 1662 section 3.1."""

PPP: Final = declare("Ppp", Struct("protocol" / Int16ub))
"""RFC 1661 section 2."""

CISCO_HDLC: Final = declare("CiscoHdlc", Struct("address" / Int8ub, "control" / Int8ub, "type" / Int16ub))
"""LINKTYPE_C_HDLC."""

OCTET: Final = declare("Octet", Struct("value" / Int8ub))
"""One byte: of a PPP protocol in short, or a direction."""


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

OPTION: Final = declare("Option", Struct("type" / Int8ub, "length" / Int8ub))
"""RFC 8200 section 4.2: an option inside the hop-by-hop header, except the one-byte Pad1."""

JUMBO: Final = declare("JumboPayload", Struct("length" / Int32ub))
"""RFC 2675: the value of the option that states a payload length of more than 16 bits."""

UDP_LITE: Final = declare(
    "UdpLite", Struct("source_port" / Int16ub, "destination_port" / Int16ub, "coverage" / Int16ub)
)
"""RFC 3828 up to the checksum: `coverage` counts the bytes that the checksum covers, 0 for all."""

UDP: Final = declare("Udp", Struct("source_port" / Int16ub, "destination_port" / Int16ub, "length" / Int16ub))
"""RFC 768 up to the checksum, which nobody here reads: a capture cut right before it still counts."""


# -- tunnels -------------------------------------------------------------------------------------

GRE: Final = declare(
    "Gre",
    BitStruct(
        "checksum" / BitsInteger(1),
        "routing" / BitsInteger(1),
        "key" / BitsInteger(1),
        "sequence" / BitsInteger(1),
        "source_route" / BitsInteger(1),
        "recursion" / BitsInteger(3),
        "acknowledgment" / BitsInteger(1),
        "flags" / BitsInteger(4),
        "version" / BitsInteger(3),
        "protocol" / BitsInteger(16),
    ),
)
"""RFC 1701 and 2637: which optional words of four bytes follow, and the EtherType behind them."""

VXLAN: Final = declare(
    "Vxlan",
    BitStruct(
        "flags" / BitsInteger(8),
        "reserved" / BitsInteger(24),
        "network" / BitsInteger(24),
        "rest" / BitsInteger(8),
    ),
)
"""RFC 7348."""

GTP: Final = declare(
    "Gtp",
    BitStruct(
        "version" / BitsInteger(3),
        "protocol_type" / BitsInteger(1),
        "reserved" / BitsInteger(1),
        "extension" / BitsInteger(1),
        "sequence" / BitsInteger(1),
        "number" / BitsInteger(1),
        "message_type" / BitsInteger(8),
        "length" / BitsInteger(16),
        "tunnel" / BitsInteger(32),
    ),
)
"""GTP-U, 3GPP TS 29.281 section 5.1: `length` counts what follows."""

GTP_OPTIONS: Final = declare(
    "GtpOptions", Struct("sequence" / Int16ub, "number" / Int8ub, "extension" / Int8ub)
)
"""What follows if any of the three flags is set; `extension` is the type of the next extension header."""

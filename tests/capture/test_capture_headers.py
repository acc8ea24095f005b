"""Headers are declared layouts: their sizes are the specifications', and faults say where in the packet."""

import pytest
from construct import Byte, Bytes, Padding, Struct, Tell, this

from wirelock.capture import headers
from wirelock.codec.trail import Found
from wirelock.errors import Fault, SchemaError

SIZES = {
    headers.ETHERNET: 14, headers.VLAN: 4, headers.COOKED: 16, headers.COOKED_2: 20, headers.IPV4: 20,
    headers.IPV6: 40, headers.EXTENSION: 2, headers.FRAGMENT: 8, headers.UDP: 6, headers.IP_VERSION: 1,
    headers.OPTION: 2, headers.JUMBO: 4, headers.SNAP: 8, headers.PPPOE: 6, headers.PPP_FRAME: 2,
    headers.PPP: 2, headers.CISCO_HDLC: 4, headers.OCTET: 1, headers.UDP_LITE: 6, headers.GRE: 4,
    headers.VXLAN: 8, headers.GTP: 8, headers.GTP_OPTIONS: 4,
}  # fmt: skip
ORDERED = {
    "file": 24, "record": 16, "modified_record": 24,
    "block": 8, "section": 16, "interface": 8, "enhanced": 20, "simple": 4, "obsolete": 20, "option": 4,
    "time_offset": 8,
}  # fmt: skip


@pytest.mark.parametrize("header", SIZES, ids=lambda header: header.name)
def test_sizes_are_those_of_the_specifications(header):
    assert header.size == SIZES[header]


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("name", ORDERED)
def test_containers_have_one_size_in_both_orders(name, order):
    holder = headers.PCAP[order] if hasattr(headers.PCAP[order], name) else headers.PCAPNG[order]
    assert getattr(holder, name).size == ORDERED[name]


def test_bits_come_out_as_rfc_791_draws_them():
    head = headers.IPV4.read(bytes.fromhex("ff 4f 00 54 00 01 b2 03 40 11 00 00 7f 00 00 01 7f 00 00 02"))
    assert (head.version, head.header_length) == (15, 15)
    assert (head.reserved, head.do_not_fragment, head.more_fragments, head.fragment_offset) == (
        1,
        0,
        1,
        0x1203,
    )
    assert (head.source, head.destination) == (b"\x7f\0\0\1", b"\x7f\0\0\2")


def test_bits_come_out_as_rfc_8200_draws_them():
    head = headers.IPV6.read(bytes.fromhex("6abcdef0 0010 11 40") + bytes(15) + b"\1" + bytes(15) + b"\2")
    assert (head.version, head.traffic_class, head.flow_label) == (6, 0xAB, 0xCDEF0)
    fragment = headers.FRAGMENT.read(bytes.fromhex("11 ff ff ff 01020304"))
    assert (fragment.offset, fragment.reserved_bits, fragment.more) == (0x1FFF, 3, 1)


def test_a_header_reads_at_its_place_and_leaves_the_rest():
    assert headers.VLAN.read(b"\xff" * 7 + b"\xb0\x05\x08\x00" + b"\xff", 7) == (5, 1, 5, 0x0800)


def test_a_cut_header_says_which_field_of_the_packet_is_missing():
    with pytest.raises(Found) as caught:
        headers.UDP.read(bytes(37), 34)
    assert caught.value.fault == Fault("truncated", "Udp.destination_port", "1", "2", 36)


@pytest.mark.parametrize("at", [3, 4, 100])
def test_a_header_at_the_end_or_behind_it_is_truncated(at):
    with pytest.raises(Found) as caught:
        headers.VLAN.read(bytes(3), at)
    assert (caught.value.fault.code, caught.value.fault.byte) == ("truncated", at)


@pytest.mark.parametrize(
    "struct",
    [Struct("n" / Byte, "data" / Bytes(this.n)), Struct("n" / Byte, Padding(1))],
    ids=["size", "unnamed"],
)
def test_headers_have_a_fixed_size_and_named_fields(struct):
    with pytest.raises(AssertionError, match="Odd"):
        headers.declare("Odd", struct)


def test_what_no_layout_can_hold_is_the_walks_to_refuse():
    with pytest.raises(SchemaError):
        headers.declare("Greedy", Struct("rest" / Tell))

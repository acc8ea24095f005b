"""One small datagram in everything that can carry it: what links, networks and tunnels have to come to."""

from capture_writer import ethernet, extension, fragment, gre, gtp, ipv4, ipv6, pppoe, udp, vxlan

V4, V6 = 0x0800, 0x86DD
HI = udp(b"hi")
LAST = extension(17) + HI
COOKED = bytes.fromhex("0000 0001 0006 0200000000010000")
COOKED_2 = bytes.fromhex("0000 00000002 0001 00 06 0200000000010000")
OVER_V4 = {
    "ethernet": (1, ethernet(ipv4(HI))),
    "vlan": (1, ethernet(ipv4(HI), tags=[(0x8100, 5)])),
    "qinq": (1, ethernet(ipv4(HI), tags=[(0x88A8, 5), (0x8100, 6)])),
    "vlan in vlan in vlan": (1, ethernet(ipv4(HI), tags=[(0x9100, 1), (0x8100, 0xFFFF), (0x8100, 3)])),
    "802.2": (1, ethernet(b"\xaa\xaa\3\0\0\0\x08\0" + ipv4(HI), 38)),
    "options": (1, ethernet(ipv4(HI, options=b"\x01" * 40))),
    "reserved bit, do not fragment": (1, ethernet(ipv4(HI, flags=0b110))),
    "trailer": (1, ethernet(ipv4(HI)) + b"\xee" * 16),
    "cooked": (113, COOKED + V4.to_bytes(2, "big") + ipv4(HI)),
    "cooked vlan": (113, COOKED + b"\x81\x00\x00\x05\x08\x00" + ipv4(HI)),
    "cooked 2": (276, V4.to_bytes(2, "big") + COOKED_2 + ipv4(HI)),
    "null little": (0, b"\2\0\0\0" + ipv4(HI)),
    "null big": (0, b"\0\0\0\2" + ipv4(HI)),
    "loop": (108, b"\0\0\0\2" + ipv4(HI)),
    "raw 12": (12, ipv4(HI)),
    "raw 14": (14, ipv4(HI)),
    "raw 101": (101, ipv4(HI)),
    "raw v4": (228, ipv4(HI)),
    "authentication": (1, ethernet(ipv4(b"\x11\4" + bytes(22) + HI, protocol=51))),
    "pppoe": (1, ethernet(pppoe(b"\0\x21" + ipv4(HI)), 0x8864, tags=[(0x8100, 9)])),
    "pppoe short": (1, ethernet(pppoe(b"\x21" + ipv4(HI)) + bytes(9), 0x8864)),
    "link of pppoe": (51, pppoe(b"\0\x21" + ipv4(HI))),
    "ppp": (9, b"\0\x21" + ipv4(HI)),
    "ppp with address": (9, b"\xff\3\0\x21" + ipv4(HI)),
    "ppp hdlc": (50, b"\xff\3\x21" + ipv4(HI)),
    "ppp hdlc of cisco": (50, b"\x0f\0\x08\0" + ipv4(HI)),
    "cisco": (104, b"\x8f\0\x08\0" + ipv4(HI)),
    "pppd out": (166, b"\1\3\0\x21" + ipv4(HI)),
    "ppp with direction": (204, b"\0\xff\3\0\x21" + ipv4(HI)),
}
OVER_V6 = {
    "ethernet": (1, ethernet(ipv6(HI), V6)),
    "hop by hop": (1, ethernet(ipv6(extension(17) + HI, protocol=0), V6)),
    "long destination options": (1, ethernet(ipv6(extension(17, words=255) + HI, protocol=60), V6)),
    "all": (
        1,
        ethernet(ipv6(extension(60) + extension(43) + extension(44) + fragment(60) + LAST, protocol=0), V6),
    ),
    "atomic fragment": (1, ethernet(ipv6(fragment(17, reserved=0xFF) + HI, protocol=44), V6)),
    "many": (1, ethernet(ipv6(extension(60) * 180 + extension(17) + HI, protocol=60), V6)),
    "trailer": (1, ethernet(ipv6(HI), V6, tags=[(0x8100, 1)]) + b"\xee" * 16),
    "cooked": (113, COOKED + V6.to_bytes(2, "big") + ipv6(HI)),
    "cooked 2": (276, V6.to_bytes(2, "big") + COOKED_2 + ipv6(HI)),
    "raw 101": (101, ipv6(HI)),
    "raw v6": (229, ipv6(HI)),
    **{f"null {family} {order}": (0, family.to_bytes(4, order) + ipv6(HI)) for family in (24, 28, 30)
       for order in ("big", "little")},
    "loop": (108, b"\0\0\0\x1c" + ipv6(HI)),
    "authentication": (229, ipv6(b"\x11\4" + bytes(22) + HI, protocol=51)),
    "shim6": (229, ipv6(LAST, protocol=140)),
    "pppoe": (1, ethernet(pppoe(b"\0\x57" + ipv6(HI)), 0x8864)),
    "pppd in": (166, b"\0\3\x57" + ipv6(HI)),
}  # fmt: skip
IN_4, IN_6 = ipv4(HI), ipv6(HI)
VXLAN, GTP = 4789, 2152
TUNNELS = {
    "ipip": ipv4(IN_4, protocol=4),
    "6in4": ipv4(IN_6, protocol=41),
    "4in6": ipv6(IN_4, protocol=4),
    "6in6 behind options": ipv6(extension(41) + IN_6, protocol=60),
    "gre": ipv4(gre(IN_4), protocol=47),
    "gre, six": ipv4(gre(IN_6, V6), protocol=47),
    "gre with checksum": ipv4(gre(IN_4, flags=0x8000, words=1), protocol=47),
    "gre with key and number": ipv4(gre(IN_4, flags=0x3000, words=2), protocol=47),
    "gre of ethernet": ipv4(gre(ethernet(IN_4), 0x6558), protocol=47),
    "gre of vlan": ipv4(gre(ethernet(IN_4, tags=[(0x8100, 5)]), 0x6558), protocol=47),
    "pptp": ipv4(gre(b"\xff\3\0\x21" + IN_4, 0x880B, flags=0x3081, words=3), protocol=47),
    "vxlan": ipv4(udp(vxlan(ethernet(IN_4)), destination=VXLAN)),
    "vxlan of six": ipv6(udp(vxlan(ethernet(IN_6, V6)), destination=8472)),
    "vxlan of pppoe": ipv4(udp(vxlan(ethernet(pppoe(b"\x21" + IN_4), 0x8864)), destination=VXLAN)),
    "gtp": ipv4(udp(gtp(IN_4), destination=GTP)),
    "gtp with number": ipv4(udp(gtp(IN_6, flags=0x32, options=b"\0\1\0\0"), destination=GTP)),
    "gtp with extensions": ipv4(
        udp(gtp(IN_4, flags=0x34, options=b"\0\0\0\x85\1\0\0\x85\2\0\0\0\0\0\0\0"), destination=GTP)
    ),
    "gre in vxlan in gtp": ipv4(
        udp(gtp(ipv4(udp(vxlan(ethernet(ipv4(gre(IN_4), protocol=47))), destination=VXLAN))), destination=GTP)
    ),
}

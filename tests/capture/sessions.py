"""Captures of everything at once, and what to read of them."""

from __future__ import annotations

from random import Random
from typing import Annotated

import construct as c
from annotated_types import Le
from capture_writer import Blocks, ethernet, fragment_of, ipv4, ipv6, pcap, udp

from protocol import PROTOCOLS
from protocol.snapshot import SnapshotV1, SnapshotV2, snapshot
from tests.test_columnar_face import entities
from wirelock import Protocol, Record, Registry, derived
from wirelock.capture.decode import Selection


class PingV9(
    Record,
    layout=c.Struct("magic" / c.Const(b"WS"), "kind" / c.Const(9, c.Int8ub), "beat" / c.Int8ub),
):
    """Four bytes; many of them in a datagram."""

    magic: bytes = derived()
    kind: int = derived()
    beat: Annotated[int, Le(99)]


class PingV10(
    Record,
    layout=c.Struct(
        "magic" / c.Const(b"WS"), "kind" / c.Const(10, c.Int8ub), "name" / c.PascalString(c.VarInt, "utf8")
    ),
):
    """Of any size, which its value does not say."""

    magic: bytes = derived()
    kind: int = derived()
    name: str


class PingV11(
    Record,
    layout=c.Struct(
        "magic" / c.Const(b"WS"),
        "kind" / c.Const(11, c.Int8ub),
        "size" / c.Int8ub,
        "data" / c.Bytes(c.this.size),
        "more" / c.If(c.this.size, c.PrefixedArray(c.Int8ub, c.Int16ub)),
    ),
):
    """Of any size, which its values say."""

    magic: bytes = derived()
    kind: int = derived()
    size: int = derived()
    data: bytes
    more: tuple[int, ...] | None


ping = Protocol("ping", {9: PingV9, 10: PingV10, 11: PingV11}, tag=("magic", "kind"), repeats=True)
BOTH = Registry(snapshot, ping)
SELECTIONS = {
    "all": (BOTH, Selection()),
    "the project": (PROTOCOLS, Selection()),
    "a port": (BOTH, Selection(ports=frozenset({47800}))),
    "behind a byte": (BOTH, Selection(skip=1)),
    "one protocol": (BOTH, Selection(protocol=ping)),
    "one version": (BOTH, Selection(protocol=snapshot, version=2)),
    "tunnels": (PROTOCOLS, Selection(tunnels=True)),
}

PINGS = b"".join(PingV9(beat=beat).build() for beat in range(3))
NAMED = b"".join(PingV10(name=name).build() for name in ("", "a", "é" * 99))
HELD = [PingV11(data=b"", more=None).build(), PingV11(data=b"abc", more=(1, 2)).build()]
SNAPSHOTS = [
    SnapshotV2(tick=7, entities=entities(3)).build(),
    SnapshotV2(tick=8, entities=()).build(),
    SnapshotV1.parse(bytes.fromhex("5753 01 09000000 0000")).build(),
]
PAYLOADS = [
    *SNAPSHOTS, PINGS, PINGS[:-1], PINGS + b"WS\x09\xff", PINGS + SNAPSHOTS[0], b"", b"W", b"WS", b"WS\x05",
    b"nothing of ours", SNAPSHOTS[0][:-1], SNAPSHOTS[0] + b"\0", b"\xff" + SNAPSHOTS[0], b"\xff" + PINGS,
    PINGS + NAMED + HELD[1] + PINGS, HELD[0] + NAMED + b"WS\x0a\1\xff", HELD[1] + HELD[1][:-1],
]  # fmt: skip
EDGE = 145224192
"""Nanoseconds from -9223372037 s to the lowest number of 64 bits."""


def session(random: Random, packets: int = 90) -> bytes:
    """Return a capture of everything, in some order, with packets that are not plain between."""
    frames = []
    for number in range(packets):
        datagram = udp(random.choice(PAYLOADS), source=random.choice([47800, 1]), destination=5000)
        carried = [ipv4(datagram), ipv6(datagram), ipv4(datagram, protocol=6), ipv4(datagram)[:-2]]
        pieces = [fragment_of(datagram, 0, 8, number=number), fragment_of(datagram, 8, 99, number=number)]
        chosen = random.choice([*([packet] for packet in carried), carried[:1], carried[:1], pieces, [b"\0"]])
        kinds = {4: 0x0800, 6: 0x86DD, 0: 0x0806}
        frames += [ethernet(packet, kinds[packet[0] >> 4]) for packet in chosen]
    step = random.choice([1, 10**4, 10**8])
    if random.choice([True, False]):
        times = [(1 << 30 | at * step // 10**6, at * step % 10**6) for at in range(len(frames))]
        whole = pcap([(*time, frame) for time, frame in zip(times, frames, strict=True)])
        return whole[: len(whole) - random.choice([0, 0, 1, 20])]
    made = Blocks(">")
    parts = [made.section(), made.interface(), made.interface(resolution=0x83)]
    parts += [made.interface(resolution=9, offset=-9223372037), made.interface(options=made.option(9, b"no"))]
    late = random.choice([True, False])
    for at, frame in enumerate(frames):
        ticks = {0: at * step, 1: (1 << 64) - 1 - at if late else at, 2: EDGE - 1 + at % 3, 3: at}
        interface = random.choice([0, 0, 0, 0, 1, *((2, 3) if late else ())])
        timed = made.enhanced(frame, interface=interface, ticks=ticks[interface])
        damaged = random.choice([made.block(6, b""), made.enhanced(frame, interface=4)])
        parts.append(random.choice([made.simple(frame), damaged, *[timed] * 12]))
    return b"".join(parts)[: random.choice([None, None, -1])]

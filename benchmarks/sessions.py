"""A session to measure with: a capture of snapshots whose entities move and turn, made with numpy alone.

What lies in it decides how well columns pack, so it is not one packet many times: positions are walks of a
few centimetres a tick, rotations turn steadily, flags change now and then.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from wirelock.quaternion import encode_array

ENTITIES = 16
SIZE = 9 + 21 * ENTITIES
"""Bytes of a snapshot of version 2."""
PORT = 47800
_HEADERS = 14 + 20 + 8
_CHUNK = 20_000
_ENTITY = np.dtype([("id", "<u2"), ("position", "<f4", 3), ("turn", "u1"), ("kept", "<i2", 3)])
_PACKET = np.dtype(
    [
        ("seconds", "<u4"), ("microseconds", "<u4"), ("captured", "<u4"), ("original", "<u4"),
        ("headers", "u1", _HEADERS), ("magic", "S2"), ("version", "u1"), ("tick", "<u4"), ("count", "<u2"),
        ("entities", _ENTITY, ENTITIES),
    ]
)  # fmt: skip


def write(path: Path, packets: int) -> None:
    """Write a pcap of so many packets over Ethernet, IPv4 and UDP, at 60 a second."""
    rng = np.random.default_rng(7)
    position = rng.uniform(-500, 500, (ENTITIES, 3))
    turn, spin = rng.normal(size=(ENTITIES, 4)), rng.normal(size=(ENTITIES, 4)) * 0.01
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for first in range(0, packets, _CHUNK):
            count = min(_CHUNK, packets - first)
            steps = np.cumsum(rng.normal(0, 0.03, (count, ENTITIES, 3)), axis=0)
            turns = turn + spin * np.arange(first, first + count)[:, None, None]
            flags = rng.choice([0, 1, 2, 10], (count, ENTITIES), p=[0.1, 0.7, 0.1, 0.1])
            file.write(_packets(first, position + steps, turns, flags).tobytes())
            position = position + steps[-1]


def _packets(first: int, positions: Any, turns: Any, flags: Any) -> Any:
    count = len(positions)
    found = np.zeros(count, _PACKET)
    ticks = np.arange(first, first + count)
    found["seconds"], found["microseconds"] = 1_700_000_000 + ticks // 60, ticks % 60 * 16_666
    found["captured"] = found["original"] = _HEADERS + SIZE
    found["headers"] = np.frombuffer(_headers(), "u1")
    found["magic"], found["version"], found["tick"], found["count"] = b"WS", 2, ticks, ENTITIES
    entities = found["entities"]
    entities["id"] = np.arange(1, ENTITIES + 1)
    entities["position"] = positions
    kept = encode_array(turns.reshape(-1, 4))
    entities["turn"] = flags << 2 | kept[:, 0].reshape(count, ENTITIES)
    entities["kept"] = kept[:, 1:].reshape(count, ENTITIES, 3)
    return found


def _headers() -> bytes:
    ethernet = bytes.fromhex("020000000002 020000000001 0800")
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + SIZE, 1, 0, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2")
    return ethernet + ip + struct.pack(">HHHH", PORT, 50_000, 8 + SIZE, 0)

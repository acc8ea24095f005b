"""A second encoder and decoder of rotation v3, with every decision a parameter, and the mistakes to make.

It shares no code with the library: numpy's binary32 scalars for what is rounded, integers and a search for
the canonical form. The golden poses of v3 come from here.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np

from tests.quaternion import test_quaternion_mistakes as plain

f32, f64 = np.float32, np.float64
N = 16383
T = 2048
"""What D has to exceed where components are equal: (N + 1) / 8."""
LIMIT = 2 * N * N + 512
"""Of the rule reachable: the exact limit and 2 N^2 / 2^20, rounded up."""
S = f32(N) / f32(math.sqrt(0.5))
"""Steps to the unit."""

# -- bytes


def pack(index, a, b, c):
    """Return the six bytes: two bits, three times fifteen, and a zero bit."""
    value = index
    for component in (a, b, c):
        value = value << 15 | component & 0x7FFF
    return (value << 1).to_bytes(6, "big")


def unpack(data):
    """Return (index, a, b, c); the spare bit is not looked at."""
    value = int.from_bytes(data, "big")
    kept = [value >> shift & 0x7FFF for shift in (31, 16, 1)]
    return (value >> 46, *(n - 0x8000 if n & 0x4000 else n for n in kept))


def pack_index_last(index, a, b, c):
    value = int.from_bytes(pack(0, a, b, c), "big")
    return (value << 2 | index << 1).to_bytes(6, "big")


def pack_spare_first(index, a, b, c):
    return (int.from_bytes(pack(index, a, b, c), "big") >> 1).to_bytes(6, "big")


def pack_from_lowest(index, a, b, c):
    value = index | (a & 0x7FFF) << 2 | (b & 0x7FFF) << 17 | (c & 0x7FFF) << 32
    return value.to_bytes(6, "little")


def pack_cyclic(index, *kept):
    places = [at for at in range(4) if at != index]
    return pack(index, *(kept[places.index((index + step) % 4)] for step in (1, 2, 3)))


def pack_offset(index, *kept):
    return pack(index, *(component + 0x4000 for component in kept))


def pack_sign_and_magnitude(index, *kept):
    return pack(index, *(-component | 0x4000 if component < 0 else component for component in kept))


# -- the canonical form


def settled(index, *kept, tie=T, last=False):
    """Return the canonical packet, by its definition; what has too little left for one stays as it is."""
    d = 2 * N * N - sum(component * component for component in kept) - tie
    m = max(map(abs, kept))
    components = [*kept[:index], 0, *kept[index:]]
    equals = [at for at in range(4) if at != index and abs(components[at]) == m]
    j = equals[-1] if last else equals[0]
    if d >= m * m or (index < j and d > m * m - m) or d < 1:
        return (index, *kept)
    components[index] = m if d > m * m - m else max(r for r in range(m + 1) if d > r * r - r)
    sign = -1 if components[j] < 0 else 1
    return (j, *(sign * components[at] for at in range(4) if at != j))


def reachable(index, *kept):
    sums = [abs(component) * (abs(component) - 1) for component in kept]
    return index in range(4) and sum(sums) + max(sums) <= LIMIT


def canonical(packet):
    return reachable(*packet) and settled(*packet) == tuple(packet)


# -- encoding


def half_even(component):
    return int(np.rint(component * S))


def encode(q, *, quantise=half_even, settle=settled, packs=pack, **decisions):
    """Return the bytes in hexadecimal, or "reject"."""

    def writes(index, unit, quantise):
        kept = [max(-N - 1, min(N, quantise(component))) for component in unit[:index] + unit[index + 1 :]]
        return packs(*settle(index, *kept))

    return plain.encode(q, quantise=quantise, writes=writes, **decisions)


def scaled(scale):
    return lambda component: int(np.rint(component * f32(scale)))


def half_away(component):
    return int(math.copysign(math.floor(abs(float(component * S)) + 0.5), component))


def refuses_below(least):
    return lambda squared: not np.isfinite(squared) or least(squared)


ROOT_HALF = f32(math.sqrt(0.5))
OF_ANY_WIDTH = [
    "tie-to-larger-index(>=)", "tie-epsilon-1e-6", "largest-by-signed-value",
    "largest-picked-before-normalise", "always-omit-W", "no-sign-fold", "fold-on-W-sign",
    "reciprocal-multiply", "float64-normalise-then-f32", "no-normalise", "skip-normalise-if-near-unit",
    "sequential-sum", "reverse-sum", "shuffle-sum(x2+z2)+(y2+w2)", "NET<=8(seq+recip)", "FMA-sequential",
    "FMA-pairwise", "FMA-seq+recip", "wxyz-order",
]  # fmt: skip
MISTAKES = {
    "truncate": {"quantise": lambda v: int(v * S)},
    "round-half-away": {"quantise": half_away},
    "round-half-up(floor(x+.5))": {"quantise": lambda v: math.floor(float(v * S) + 0.5)},
    "float64-scale-product": {"quantise": lambda v: int(np.rint(f64(v) * (N * math.sqrt(2))))},
    "divide-by-step": {"quantise": lambda v: int(np.rint(v / (ROOT_HALF / f32(N))))},
    "(v*N)/range": {"quantise": lambda v: int(np.rint(v * f32(N) / ROOT_HALF))},
    "scale-16384": {"quantise": scaled(f32(N + 1) / ROOT_HALF)},
    "range-0.7071": {"quantise": scaled(f32(N) / f32(0.7071))},
    "range-0.70711": {"quantise": scaled(f32(N) / f32(0.70711))},
    "range-1.0": {"quantise": scaled(N)},
    **{name: plain.MISTAKES[name] for name in OF_ANY_WIDTH},
    "float64-throughout": {
        "kind": f64,
        "refuses": refuses_below(lambda squared: squared < 1e-12),
        "quantise": lambda v: int(np.rint(v * (N * math.sqrt(2)))),
    },
    **{
        name: {"refuses": refuses_below(plain.MISTAKES[name]["refuses"])}
        for name in (
            "threshold-<=", "threshold-in-float64", "threshold-on-length", "threshold-only-exact-zero",
            "threshold-1e-6-on-L2",
        )
    },
    "overflow-safe-normalise": {"reads": lambda q: [component / max(map(abs, q)) for component in q]},
    "only-a-least-length": {
        "refuses": lambda squared: squared < plain.LEAST,
        "quantise": lambda v: half_even(v) if np.isfinite(v) else 0,
    },
    "little-endian": {"packs": lambda *packet: pack(*packet)[::-1]},
    "from-lowest-bit": {"packs": pack_from_lowest},
    "spare-bit-first": {"packs": pack_spare_first},
    "index-last": {"packs": pack_index_last},
    "kept-in-cyclic-order": {"packs": pack_cyclic},
    "offset-binary": {"packs": pack_offset},
    "sign-and-magnitude": {"packs": pack_sign_and_magnitude},
    "not-settled": {"settle": lambda *packet: packet},
    "settled-without-T": {"settle": lambda *packet: settled(*packet, tie=0)},
    "settled-to-the-last": {"settle": lambda *packet: settled(*packet, last=True)},
}  # fmt: skip


def caught(q):
    """Return the mistakes that give other bytes for a quaternion, or that refuse it or do not."""
    right = encode(q)
    with np.errstate(all="ignore"):
        finite = np.isfinite(plain.pairwise(*map(f32, q)))
        undefined = set() if finite else {name for name in MISTAKES if name.startswith("FMA-")}
        if not any(q) or not np.isfinite(q).all():
            undefined.add("overflow-safe-normalise")  # 0 / 0 and such
        return {
            name
            for name, decisions in MISTAKES.items()
            if name not in undefined and encode(q, **decisions) != right
        }


# -- decoding


def fused(a, b, c):
    return plain.fused(a, b, f32(c)) if isinstance(a, f32) else Fraction(0)


def decode(packet, *, kind=f32, divides=True, normalises=True, fuses=False):
    """Return four binary32 numbers, as the bits of each, for a packet that is canonical."""
    index, *steps = packet
    scale = kind(S)
    u, v, w = (kind(n) / scale if divides else kind(n) * (kind(1) / scale) for n in steps)
    squares = fused(w, w, fused(v, v, u * u)) if fuses else (u * u + v * v) + w * w
    q = [u, v, w]
    q.insert(index, np.sqrt(max(kind(0), kind(1) - squares)))
    if normalises:
        x, y, z, t = q
        length = np.sqrt((x * x + y * y) + (z * z + t * t))
        q = [component / length for component in q]
    return tuple(struct.pack(">f", component).hex() for component in q)


DECODING = {
    "decode-binary64": {"kind": f64},
    "decode-no-normalising": {"normalises": False},
    "decode-reciprocal": {"divides": False},
    "decode-fused": {"fuses": True},
}
"""Mistakes by their flags."""

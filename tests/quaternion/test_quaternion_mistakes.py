"""The vectors are worth running: each mistake that they are tagged with is made here, and they catch it.

The encoder below is a second one, in numpy scalars, with every decision a parameter; with none given it
agrees with the vectors, and each mistake replaces one decision.
"""

import json
import math
import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

VECTORS = json.loads((Path(__file__).parent / "smallest_three_16.json").read_text())["encode"]
# Where the squared length is not finite, the tags compare with an encoder that does not notice.
FINITE = [vector for vector in VECTORS if "dotnet_emits" not in vector]
NOT_FINITE = [vector for vector in VECTORS if "dotnet_emits" in vector]

f32 = np.float32
f64 = np.float64
S = f32(46339.53515625)
LEAST = f32(1e-12)


def pairwise(x, y, z, w):
    return (x * x + y * y) + (z * z + w * w)


def sequential(x, y, z, w):
    return ((x * x + y * y) + z * z) + w * w


def fused(a, b, c):
    """Return a * b + c rounded once: the nearest of three candidates, the even one of two."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = f32(float(exact))
    candidates = (near, np.nextafter(near, f32(-np.inf)), np.nextafter(near, f32(np.inf)))
    return min(candidates, key=lambda n: (abs(Fraction(float(n)) - exact), n.view(np.uint32) & 1))


def fused_sequential(x, y, z, w):
    return fused(w, w, fused(z, z, fused(y, y, x * x)))


def divide(q, squared):
    return [component / np.sqrt(squared) for component in q]


def multiply(q, squared):
    return [component * (f32(1) / np.sqrt(squared)) for component in q]


def normalise_in_float64(q, squared):
    del squared
    q = [f64(component) for component in q]
    return [f32(component) for component in divide(q, pairwise(*q))]


def refuse(squared):
    return not (np.isfinite(squared) and squared >= LEAST)


def first_largest(unit, q):
    del q
    return max(range(4), key=lambda at: abs(unit[at]))


def first_by_epsilon(unit, q):
    del q
    index = 0
    for at in (1, 2, 3):
        if abs(unit[at]) > abs(unit[index]) + f32(1e-6):
            index = at
    return index


def half_even(component):
    return int(np.rint(component * S))


def scaled(scale):
    return lambda component: int(np.rint(component * f32(scale)))


def half_away(component):
    return int(math.copysign(math.floor(abs(float(component * S)) + 0.5), component))


def write(index, unit, quantise):
    return struct.pack("<B3h", index, *map(clamped(quantise), unit[:index] + unit[index + 1 :]))


def clamped(quantise):
    return lambda component: max(-32768, min(32767, quantise(component)))


def write_big_endian(index, unit, quantise):
    return struct.pack(">B3h", index, *map(clamped(quantise), unit[:index] + unit[index + 1 :]))


def write_index_last(index, unit, quantise):
    packet = write(index, unit, quantise)
    return packet[1:] + packet[:1]


def write_cyclic(index, unit, quantise):
    kept = [unit[(index + step) % 4] for step in (1, 2, 3)]
    return struct.pack("<B3h", index, *map(clamped(quantise), kept))


def write_offset(index, unit, quantise):
    kept = map(clamped(quantise), unit[:index] + unit[index + 1 :])
    return struct.pack("<B3H", index, *(32768 + component for component in kept))


def encode(
    q,
    *,
    reads=list,
    kind=f32,
    total=pairwise,
    refuses=refuse,
    normalise=divide,
    choose=first_largest,
    folds=lambda unit, index: unit[index] < 0,
    quantise=half_even,
    writes=write,
):
    """Return the bytes in hexadecimal, or "reject"."""
    with np.errstate(all="ignore"):
        q = [kind(component) for component in reads(q)]
        squared = total(*q)
        if refuses(squared):
            return "reject"
        unit = normalise(q, squared)
        index = choose(unit, q)
        if folds(unit, index):
            unit = [-component for component in unit]
        return writes(index, unit, quantise).hex()


MISTAKES = {
    "truncate": {"quantise": lambda v: int(v * S)},
    "round-half-away": {"quantise": half_away},
    "round-half-up(floor(x+.5))": {"quantise": lambda v: math.floor(float(v * S) + 0.5)},
    "float64-scale-product": {"quantise": lambda v: int(np.rint(f64(v) * (32767 * math.sqrt(2))))},
    "divide-by-step": {"quantise": lambda v: int(np.rint(v / (f32(math.sqrt(0.5)) / f32(32767))))},
    "(v*32767)/range": {"quantise": lambda v: int(np.rint(v * f32(32767) / f32(math.sqrt(0.5))))},
    "scale-32768(clamps to -32768)": {"quantise": scaled(f32(32768) / f32(math.sqrt(0.5)))},
    "range-0.7071": {"quantise": scaled(f32(32767) / f32(0.7071))},
    "range-0.70711": {"quantise": scaled(f32(32767) / f32(0.70711))},
    "range-1.0": {"quantise": scaled(32767)},
    "tie-to-larger-index(>=)": {"choose": lambda unit, q: 3 - first_largest(unit[::-1], q)},
    "tie-epsilon-1e-6": {"choose": first_by_epsilon},
    "largest-by-signed-value": {"choose": lambda unit, q: max(range(4), key=lambda at: unit[at])},
    "largest-picked-before-normalise": {"choose": lambda unit, q: first_largest(q, unit)},
    "always-omit-W": {"choose": lambda unit, q: 3},
    "no-sign-fold": {"folds": lambda unit, index: False},
    "fold-on-W-sign": {"folds": lambda unit, index: unit[3] < 0},
    "reciprocal-multiply": {"normalise": multiply},
    "float64-normalise-then-f32": {"normalise": normalise_in_float64},
    "no-normalise": {"normalise": lambda q, squared: q},
    "skip-normalise-if-near-unit": {
        "normalise": lambda q, squared: q if abs(squared - 1) < 1e-5 else divide(q, squared)
    },
    "sequential-sum": {"total": sequential},
    "reverse-sum": {"total": lambda x, y, z, w: sequential(w, z, y, x)},
    "shuffle-sum(x2+z2)+(y2+w2)": {"total": lambda x, y, z, w: pairwise(x, z, y, w)},
    "NET<=8(seq+recip)": {"total": sequential, "normalise": multiply},
    "FMA-sequential": {"total": fused_sequential},
    "FMA-pairwise": {"total": lambda x, y, z, w: fused(x, x, y * y) + fused(z, z, w * w)},
    "FMA-seq+recip": {"total": fused_sequential, "normalise": multiply},
    "float64-throughout": {
        "kind": f64,
        "refuses": lambda squared: squared < 1e-12,
        "quantise": lambda v: int(np.rint(v * (32767 * math.sqrt(2)))),
    },
    "threshold-<=": {"refuses": lambda squared: squared <= LEAST},
    "threshold-in-float64": {"refuses": lambda squared: f64(squared) < 1e-12},
    "threshold-on-length": {"refuses": lambda squared: np.sqrt(squared) < LEAST},
    "threshold-only-exact-zero": {"refuses": lambda squared: squared == 0},
    "threshold-1e-6-on-L2": {"refuses": lambda squared: squared < f32(1e-6)},
    "big-endian": {"writes": write_big_endian},
    "index-byte-last": {"writes": write_index_last},
    "wxyz-order": {"reads": lambda q: [q[3], *q[:3]]},
    "kept-in-cyclic-order": {"writes": write_cyclic},
    "offset-binary-uint16": {"writes": write_offset},
}


def floats(vector):
    return [struct.unpack(">f", bytes.fromhex(word))[0] for word in vector["input"]]


def caught(vectors, decisions):
    return {vector["name"] for vector in vectors if encode(floats(vector), **decisions) != vector["expect"]}


def test_without_a_mistake_nothing_is_caught():
    assert caught(VECTORS, {}) == set()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_caught_by_the_vectors_that_say_so(mistake):
    tagged = {vector["name"] for vector in FINITE if mistake in vector["catches"]}
    assert tagged
    assert caught(FINITE, MISTAKES[mistake]) == tagged


def test_every_tag_is_a_mistake_made_here_but_two():
    """The other two are about lengths that are not finite; to refuse those is right."""
    tags = {tag for vector in VECTORS for tag in vector["catches"]}
    assert tags - set(MISTAKES) == {"overflow-safe-normalise", "rejects-nonfinite"}
    assert len(MISTAKES) == 39


def test_an_encoder_that_scales_before_it_squares_sends_what_should_be_refused():
    tagged = {vector["name"] for vector in VECTORS if "overflow-safe-normalise" in vector["catches"]}
    safe = {"reads": lambda q: [component / max(map(abs, q)) for component in q]}
    assert caught(NOT_FINITE, safe) == tagged
    assert len(tagged) == 3


def test_an_encoder_that_only_asks_for_a_least_length_sends_zeros_for_what_is_not_finite():
    careless = {
        "refuses": lambda squared: squared < LEAST,
        "quantise": lambda v: half_even(v) if np.isfinite(v) else 0,  # as C# converts a NaN
    }
    assert len(NOT_FINITE) == 6
    for vector in NOT_FINITE:
        assert encode(floats(vector), **careless) == vector["dotnet_emits"] == "00" * 7
        assert vector["expect"] == "reject"

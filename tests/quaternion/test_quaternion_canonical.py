"""Other widths, and the canonical form: encoding again what was decoded gives the same packet."""

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wirelock import quaternion
from wirelock.errors import DecodeError
from wirelock.quaternion import (
    angle_between,
    angle_bound,
    canonical,
    canonical_array,
    decode,
    decode_array,
    encode,
    encode_array,
    is_canonical,
    reachable,
    reachable_array,
    width,
)

WIDTHS = [4, 8, 10, 12, 15, 16]
widths = pytest.mark.parametrize("bits", WIDTHS)
ARTICLE = (0.35, -0.2, 0.1, -0.9)


def f32(value):
    return np.float32(value)


def encoded(q, bits):
    """The steps of the contract, by numpy's own binary32 and without the code that is tested."""
    limit = 2 ** (bits - 1) - 1
    scale = f32(limit) / f32(f32(1) / np.sqrt(f32(2)))
    x, y, z, w = map(f32, q)
    length = np.sqrt((x * x + y * y) + (z * z + w * w))
    v = [x / length, y / length, z / length, w / length]
    index = max(range(4), key=lambda at: (abs(v[at]), -at))
    v = [-item for item in v] if v[index] < 0 else v
    kept = [int(np.rint(v[at] * scale)) for at in range(4) if at != index]
    return (index, *kept)


def settled(packet, bits):
    """The canonical packet by the definition, with a search in place of a square root."""
    index, *kept = packet
    n = 2 ** (bits - 1) - 1
    d, t = 2 * n * n - sum(k * k for k in kept), (n + 1) // 8
    components = [*kept[:index], 0, *kept[index:]]
    m = max(map(abs, kept))
    j = next(at for at in range(4) if at != index and abs(components[at]) == m)
    if d >= m * m + t or (index < j and d > m * m - m + t):
        return packet
    r = m if d > m * m - m + t else max(r for r in range(m + 1) if d > r * r - r + t)
    components[index] = r
    sign = -1 if components[j] < 0 else 1
    return (j, *(sign * components[at] for at in range(4) if at != j))


def quaternions(count, seed):
    """Any rotations, and such with two components that are equal or nearly so."""
    source = random.Random(seed)
    for _ in range(count):
        q = [source.gauss(0, 1) for _ in range(4)]
        if source.random() < 0.6:
            one, other = source.sample(range(4), 2)
            q[one] = source.choice((1, -1)) * q[other] * (1 + source.choice((0, 1e-7, 1e-6, 1e-5, 1e-4)))
        yield tuple(q)


TIES = [q for q in product((-1.0, 0.0, 1.0), repeat=4) if any(q)]


@widths
def test_every_width_follows_the_contract(bits):
    for q in [*quaternions(2000, bits), *TIES, ARTICLE]:
        assert encode(*q, bits=bits) == encoded(q, bits)
        assert encode(*q, bits=bits, canonical=True) == settled(encoded(q, bits), bits)


@widths
def test_encoding_again_is_free_in_canonical_form(bits):
    for q in [*quaternions(4000, 7 + bits), *TIES, ARTICLE]:
        packet = encode(*q, bits=bits, canonical=True)
        assert is_canonical(*packet, bits=bits) and reachable(*packet, bits=bits)
        assert encode(*decode(*packet, bits=bits, canonical=True), bits=bits, canonical=True) == packet


def boundary(bits, count):
    """Packets around the edge of the canonical form: D lies within a few of what decides."""
    n = 2 ** (bits - 1) - 1
    t = (n + 1) // 8
    source = random.Random(bits)
    found = 0
    while found < count:
        a, b = source.randint(0, n), source.randint(0, n)
        for extra in (t, t - a, t - b, 0):
            rest = 2 * n * n - a * a - b * b - max(a, b) ** 2 - extra
            if rest < 0:
                continue
            c = math.isqrt(rest)
            for step in (-1, 0, 1):
                kept = [a * source.choice((1, -1)), b, (c + step) * source.choice((1, -1))]
                source.shuffle(kept)
                packet = (source.randrange(4), *kept)
                if max(map(abs, kept)) <= n and reachable(*packet, bits=bits):
                    found += 1
                    yield packet


@pytest.mark.parametrize("bits", [10, 15, 16])
def test_boundary_packets_settle_in_one_step(bits):
    for packet in boundary(bits, 5000):
        once = canonical(*packet, bits=bits)
        assert once == settled(packet, bits)
        assert is_canonical(*once, bits=bits) and canonical(*once, bits=bits) == once
        assert is_canonical(*packet, bits=bits) == (once == packet)
        assert encode(*decode(*once, bits=bits), bits=bits, canonical=True) == once


def test_all_packets_of_a_small_width():
    n = 7
    for packet in product(range(4), *[range(-n, n + 1)] * 3):
        if not reachable(*packet, bits=4):
            continue
        once = canonical(*packet, bits=4)
        assert once == settled(packet, 4) and canonical(*once, bits=4) == once
        assert angle_between(decode(*packet, bits=4), decode(*once, bits=4)) < 2 * angle_bound(4)


def test_sixteen_bits_without_canonical_form_swing_and_with_it_do_not():
    swings = [(0, 30893, 15447, 0), (1, 30893, 15447, 0)]
    assert encode(*decode(*swings[0])) == swings[1] and encode(*decode(*swings[1])) == swings[0]
    assert canonical(*swings[0]) == canonical(*swings[1])


@pytest.mark.parametrize("bits", [10, 12, 15, 16])
def test_the_error_stays_within_its_bound(bits):
    plain = settle = 0.0
    for q in quaternions(3000, 3):
        plain = max(plain, angle_between(q, decode(*encode(*q, bits=bits), bits=bits)))
        packet = encode(*q, bits=bits, canonical=True)
        settle = max(settle, angle_between(q, decode(*packet, bits=bits)))
    assert plain <= angle_bound(bits) + 0.00015
    assert settle <= 1.42 * angle_bound(bits) + 0.00015


@pytest.mark.parametrize(
    ("bits", "q"),
    [
        (11, (0.47101, 0.49961814, 0.49961809, 0.49999793)),
        (15, (-0.49997366, 0.49984602, -0.47045458, -0.50003947)),
    ],
)
def test_the_error_near_ties_comes_close_to_its_bound(bits, q):
    """The worst that a search found; 1.42 is derived on the page."""
    error = angle_between(q, decode(*encode(*q, bits=bits, canonical=True), bits=bits))
    assert 1.35 * angle_bound(bits) < error <= 1.42 * angle_bound(bits) + 0.00015


def test_the_published_sample_at_fifteen_bits():
    packet = encode(*ARTICLE, bits=15, canonical=True)
    assert packet == encode(*(-item for item in ARTICLE), bits=15, canonical=True) == (3, -8181, 4675, -2337)


@widths
def test_arrays_give_the_same_bits(bits):
    rows = np.array([*quaternions(1500, 1), *TIES], dtype=np.float64)
    for canonical_form in (False, True):
        options = {"bits": bits, "canonical": canonical_form}
        packets = encode_array(rows, **options)
        assert packets.tolist() == [list(encode(*row, **options)) for row in rows.tolist()]
        decoded = decode_array(packets, **options)
        assert decoded.tolist() == [list(decode(*row, **options)) for row in packets.tolist()]
        assert reachable_array(packets, bits=bits).all()
        assert (canonical_array(packets, bits=bits) == encode_array(rows, bits=bits, canonical=True)).all()


def test_what_is_not_canonical_is_refused_by_name():
    packet = next(packet for packet in boundary(15, 1000) if not is_canonical(*packet, bits=15))
    assert decode(*packet, bits=15)
    with pytest.raises(DecodeError) as caught:
        decode(*packet, bits=15, canonical=True)
    assert caught.value.code == "rule:canonical"
    with pytest.raises(DecodeError) as caught:
        decode_array([[3, 0, 0, 0], packet], bits=15, canonical=True)
    assert (caught.value.code, caught.value.path) == ("rule:canonical", "[1]")
    masked = decode_array([[3, 0, 0, 0], packet], bits=15, canonical=True, on_error="mask")
    assert masked.mask.all(axis=1).tolist() == [False, True]
    for function in (decode, canonical):
        with pytest.raises(DecodeError) as caught:
            function(0, 16384, 0, 0, bits=15)
        assert caught.value.code == "rule:reachable"
    with pytest.raises(DecodeError) as caught:
        canonical(4, 0, 0, 0)
    assert caught.value.code == "out-of-range"
    assert not is_canonical(4, 0, 0, 0)


@pytest.mark.parametrize("bits", [3, 17, 0, 32])
def test_other_widths_are_refused(bits):
    with pytest.raises(ValueError, match=r"bits is in 4\.\.16"):
        width(bits)


def test_sixteen_bits_have_the_published_numbers():
    assert width(16) == (quaternion.LIMIT, quaternion.SCALE, quaternion.REACHABLE_LIMIT, 4096)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 3), *[st.integers(-16384, 16383)] * 3)
def test_canonical_packets_are_reachable(index, a, b, c):
    if is_canonical(index, a, b, c, bits=15):
        assert reachable(index, a, b, c, bits=15)

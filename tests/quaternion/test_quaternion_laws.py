"""Laws: arrays equal scalars, q equals -q, what is encoded is reachable, and the error is bounded."""

import math
import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wirelock import quaternion
from wirelock.errors import DecodeError, EncodeError

law = settings(deadline=None)
int16 = st.integers(-32768, 32767)
packets = st.lists(st.tuples(st.integers(0, 255), int16, int16, int16), max_size=20)
reachable_triples = st.tuples(int16, int16, int16).map(lambda kept: [round(n * 0.7) for n in kept])
words = st.integers(0, 2**32 - 1).map(lambda word: struct.unpack("<f", struct.pack("<I", word))[0])
components = st.one_of(
    st.floats(-1, 1, width=32),
    st.floats(width=32),
    words,
    st.floats(),
    st.sampled_from(
        [0.0, -0.0, 1e-6, -1e-6, 5e-45, 1.1754944e-38, 1.8446743e19, 3.4028235e38, math.nan, math.inf]
    ),
)
quaternions = st.lists(st.tuples(components, components, components, components), max_size=20)


@st.composite
def near_ties(draw):
    """Four components of nearly one magnitude, a few units in the last place apart, or much smaller."""
    word = draw(st.integers(0x35000000, 0x5F000000))  # the bits of some 5e-7 .. 9e18
    q = []
    for _ in range(4):
        near = word + draw(st.integers(-3, 3))
        bits = draw(st.sampled_from([near, near, near, near - (6 << 23), 0])) | draw(
            st.sampled_from([0, 1 << 31])
        )
        q.append(struct.unpack("<f", struct.pack("<I", bits))[0])
    return tuple(q)


def encode_or_none(q):
    try:
        return list(quaternion.encode(*q))
    except EncodeError:
        return None


def decode_or_none(packet):
    try:
        return struct.pack("<4f", *quaternion.decode(*packet))
    except DecodeError:
        return None


def rows(masked):
    """The rows of a masked array, None for a masked one."""
    assert masked.mask.shape == masked.shape
    return [None if hidden.any() else row for row, hidden in zip(masked.data, masked.mask, strict=True)]


def table(values, kind):
    return np.array(values, dtype=kind).reshape(-1, 4)


def check_encode(values):
    expected = [encode_or_none(q) for q in values]
    masked = quaternion.encode_array(table(values, np.float64), on_error="mask")
    assert [None if row is None else row.tolist() for row in rows(masked)] == expected
    for packet in expected:
        assert packet is None or quaternion.reachable(*packet)
    if None in expected:
        with pytest.raises(EncodeError, match=rf"^quaternion: \[{expected.index(None)}\]: ") as caught:
            quaternion.encode_array(table(values, np.float64))
        with pytest.raises(EncodeError) as alone:
            quaternion.encode(*values[expected.index(None)])
        assert caught.value.fault == alone.value.fault.within(f"[{expected.index(None)}]", 0)
    else:
        assert quaternion.encode_array(table(values, np.float64)).tolist() == expected


@law
@given(quaternions)
def test_encode_in_array_form_is_encode_row_by_row(values):
    check_encode(values)


@law
@given(st.lists(near_ties(), min_size=1, max_size=20))
def test_so_it_is_near_ties(values):
    check_encode(values)


@law
@given(packets)
def test_decode_and_reachable_in_array_form_are_so_too(values):
    expected = [decode_or_none(packet) for packet in values]
    masked = quaternion.decode_array(table(values, np.int64), on_error="mask")
    assert [None if row is None else row.astype("<f4").tobytes() for row in rows(masked)] == expected
    verdicts = [quaternion.reachable(*packet) for packet in values]
    assert verdicts == [each is not None for each in expected]
    assert quaternion.reachable_array(table(values, np.int32)).tolist() == verdicts
    if None in expected:
        with pytest.raises(DecodeError) as caught:
            quaternion.decode_array(table(values, np.int64))
        with pytest.raises(DecodeError) as alone:
            quaternion.decode(*values[expected.index(None)])
        assert caught.value.fault == alone.value.fault.within(f"[{expected.index(None)}]", 0)


@law
@given(st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 4), max_size=10))
def test_no_integer_wraps(values):
    verdicts = [quaternion.reachable(*packet) for packet in values]
    assert quaternion.reachable_array(table(values, np.int64)).tolist() == verdicts


@law
@given(st.integers(0, 3), reachable_triples)
def test_decoding_gives_unit_length_and_the_omitted_component_positive(index, kept):
    if quaternion.reachable(index, *kept):
        q = quaternion.decode(index, *kept)
        assert math.isclose(math.hypot(*q), 1, abs_tol=2e-7)
        assert q[index] > 0.49
        assert list(struct.unpack("<4f", struct.pack("<4f", *q))) == list(q)


@law
@given(st.tuples(components, components, components, components))
def test_the_opposite_quaternion_has_the_same_packet(q):
    assert encode_or_none(q) == encode_or_none([-component for component in q])


@law
@given(st.integers(0, 3), st.integers(0, 32767), st.integers(0, 32767))
def test_reachable_is_monotone_up_to_its_edge(index, a, b):
    """For each a and b there is a largest c, and decoding at the edge never meets a negative root."""
    if quaternion.reachable(index, a, b, 0):
        low, high = 0, 32768
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if quaternion.reachable(index, a, b, middle) else (low, middle)
        assert 1 - (a * a + b * b + low * low) / quaternion.SCALE**2 > 0.24998
        for c in (low, -low):
            assert math.isclose(math.hypot(*quaternion.decode(index, -a, b, c)), 1, abs_tol=2e-7)


def angles(p, q):
    """The rotation between rows in degrees, in binary64 and written apart from the package."""
    p, q = p.astype(np.float64), q.astype(np.float64)
    p /= np.linalg.norm(p, axis=1)[:, None]
    q /= np.linalg.norm(q, axis=1)[:, None]
    q *= np.where((p * q).sum(axis=1) < 0, -1, 1)[:, None]
    return np.degrees(4 * np.arctan2(np.linalg.norm(p - q, axis=1), np.linalg.norm(p + q, axis=1)))


def test_a_hundred_thousand_rotations():
    """The error stays within the proven bound and what binary32 adds; 2000 of them in scalar form."""
    sample = np.random.default_rng(1).standard_normal((100_000, 4)).astype(np.float32)
    packets = quaternion.encode_array(sample)
    assert (packets == quaternion.encode_array(-sample)).all()
    assert quaternion.reachable_array(packets).all()
    back = quaternion.decode_array(packets)
    error = angles(sample, back)
    assert error.max() <= quaternion.ANGLE_TOLERANCE_DEGREES
    assert 0.0033 < error.max() < quaternion.angle_bound(16)
    assert 0.0012 < error.mean() < 0.0014
    for q, packet, decoded, angle in zip(sample[:2000], packets, back, error, strict=False):
        assert quaternion.encode(*q.tolist()) == tuple(packet)
        assert quaternion.encode(*(-q).tolist()) == tuple(packet)
        assert quaternion.decode(*packet) == tuple(decoded.tolist())
        assert math.isclose(quaternion.angle_between(q, decoded), angle, abs_tol=1e-12)


def test_the_error_where_it_is_largest():
    """Near (1/2, 1/2, 1/2, 1/2) the error comes up to the bound, and binary32 may pass it by little."""
    draw = np.random.default_rng(2)
    sample = (0.5 + draw.uniform(-1e-3, 1e-3, (200_000, 4))) * draw.choice([-1, 1], (200_000, 4))
    sample = sample.astype(np.float32)
    error = angles(sample, quaternion.decode_array(quaternion.encode_array(sample)))
    assert 0.0042 < error.max() <= quaternion.ANGLE_TOLERANCE_DEGREES


def test_random_corruption_of_the_integers_is_caught_one_time_in_three():
    draw = np.random.default_rng(3)
    triples = draw.integers(-32768, 32768, (200_000, 3))
    refused = ~quaternion.reachable_array(np.insert(triples, 0, 0, axis=1))
    assert 0.31 < refused.mean() < 0.33


def test_rounding_twice_is_rounding_once():
    """What the scalar form rests on, against numpy's own binary32, in every binade and below."""
    source = random.Random(4)
    pairs = [struct.unpack("<2f", source.randbytes(8)) for _ in range(20_000)]
    pairs += [(source.uniform(1, 2), source.uniform(1, 2)) for _ in range(20_000)]
    p, q = np.array(pairs, dtype=np.float32).T
    with np.errstate(all="ignore"):
        for once, twice in (
            (p + q, p.astype(np.float64) + q),
            (p - q, p.astype(np.float64) - q),
            (p * q, p.astype(np.float64) * q),
            (p / q, p.astype(np.float64) / q),
            (np.sqrt(p), np.sqrt(p.astype(np.float64))),
        ):
            twice = [quaternion.scalar._round1(number)[0] for number in twice.tolist()]
            assert np.array_equal(once, np.array(twice, dtype=np.float32), equal_nan=True)

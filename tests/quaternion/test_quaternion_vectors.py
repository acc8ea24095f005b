"""What the bytes are: the 73 vectors, the published sample, unit rotations, and cases from the field."""

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest

from wirelock import quaternion
from wirelock.errors import DecodeError, EncodeError

VECTORS = json.loads((Path(__file__).parent / "smallest_three_16.json").read_text())
ENCODE = {vector["name"]: vector for vector in VECTORS["encode"]}
DECODE = {vector["name"]: vector for vector in VECTORS["decode"]}
ACCEPTED = {name: vector for name, vector in DECODE.items() if vector["accept"]}
REFUSED = {name: vector for name, vector in DECODE.items() if not vector["accept"]}

HALF = math.sqrt(0.5)


def floats(words):
    return [struct.unpack(">f", bytes.fromhex(word))[0] for word in words]


def words(floats):
    return [struct.pack(">f", component).hex() for component in floats]


def to_bytes(packet):
    return struct.pack("<Bhhh", *packet)


def from_hex(text):
    return struct.unpack("<Bhhh", bytes.fromhex(text))


def encoded(*q):
    """Encode in both forms, which agree, and return the bytes in hexadecimal or "reject"."""
    rows = quaternion.encode_array([q], on_error="mask")
    try:
        packet = quaternion.encode(*q)
    except EncodeError:
        assert rows.mask.all()
        return "reject"
    assert rows.tolist() == [list(packet)]
    return to_bytes(packet).hex()


def test_the_file_holds_all_73():
    assert (len(ENCODE), len(DECODE)) == (57, 16)
    assert (len(VECTORS["encode"]), len(VECTORS["decode"])) == (57, 16)


@pytest.mark.parametrize("name", ENCODE)
def test_encode(name):
    assert encoded(*floats(ENCODE[name]["input"])) == ENCODE[name]["expect"]


def test_encode_all_as_one_array():
    table = np.array([floats(vector["input"]) for vector in ENCODE.values()], dtype=np.float32)
    packets = quaternion.encode_array(table, on_error="mask")
    got = [
        "reject" if hidden else to_bytes(packet).hex()
        for packet, hidden in zip(packets.data.tolist(), packets.mask[:, 0], strict=True)
    ]
    assert got == [vector["expect"] for vector in ENCODE.values()]


@pytest.mark.parametrize("name", ACCEPTED)
def test_decode(name):
    packet = from_hex(ACCEPTED[name]["packet"])
    assert quaternion.reachable(*packet)
    assert words(quaternion.decode(*packet)) == ACCEPTED[name]["v1_decode_bits"]
    (row,) = quaternion.decode_array([packet])
    assert words(row) == ACCEPTED[name]["v1_decode_bits"]


@pytest.mark.parametrize("name", REFUSED)
def test_refuse(name):
    packet = from_hex(REFUSED[name]["packet"])
    assert not quaternion.reachable(*packet)
    assert quaternion.reachable_array([packet]).tolist() == [False]
    with pytest.raises(DecodeError):
        quaternion.decode(*packet)
    assert quaternion.decode_array([packet], on_error="mask").mask.all()


def test_the_published_sample_is_the_raw_input():
    assert quaternion.encode(0.35, -0.2, 0.1, -0.9) == (3, -16363, 9350, -4675)
    assert encoded(0.35, -0.2, 0.1, -0.9) == "0315c08624bded"


def test_its_four_digit_literals_are_another_input():
    assert quaternion.encode(0.3531, -0.2018, 0.1009, -0.9080) == (3, -16362, 9351, -4676)
    assert encoded(0.3531, -0.2018, 0.1009, -0.9080) == "0316c08724bced"


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        pytest.param((0, 0, 0, 1), "03" + "0000" * 3, id="identity"),
        pytest.param((0, 0, 0, -1), "03" + "0000" * 3, id="minus identity"),
        pytest.param((1, 0, 0, 0), "00" + "0000" * 3, id="180 degrees about x"),
        pytest.param((0, 1, 0, 0), "01" + "0000" * 3, id="180 degrees about y"),
        pytest.param((0, 0, 1, 0), "02" + "0000" * 3, id="180 degrees about z"),
        pytest.param((HALF, 0, 0, HALF), "00" + "0000" * 2 + "ff7f", id="90 degrees about x"),
        pytest.param((0, HALF, 0, HALF), "01" + "0000" * 2 + "ff7f", id="90 degrees about y"),
        pytest.param((0, 0, HALF, HALF), "02" + "0000" * 2 + "ff7f", id="90 degrees about z"),
        pytest.param((-HALF, 0, 0, HALF), "00" + "0000" * 2 + "0180", id="-90 degrees about x"),
        pytest.param((HALF, HALF, 0, 0), "00" + "ff7f" + "0000" * 2, id="180 degrees about (1,1,0)"),
        pytest.param((0.5, 0.5, 0.5, 0.5), "00" + "825a" * 3, id="120 degrees about (1,1,1)"),
    ],
)
def test_unit_rotations(q, expected):
    assert encoded(*q) == expected
    assert encoded(*(-component for component in q)) == expected
    back = quaternion.decode(*from_hex(expected))
    assert quaternion.angle_between(q, back) <= quaternion.ANGLE_TOLERANCE_DEGREES


@pytest.mark.parametrize("index", range(4))
def test_axes_and_identity_come_back_exactly(index):
    """Q3: zero is representable, so that nothing drifts at rest."""
    unit = tuple(1.0 if at == index else 0.0 for at in range(4))
    packet = quaternion.encode(*unit)
    assert packet == (index, 0, 0, 0)
    back = quaternion.decode(*packet)
    assert back == unit
    assert words(back) == words(unit)  # and no -0.0
    assert words(quaternion.decode_array([packet])[0]) == words(unit)


@pytest.mark.parametrize(
    "q", [(0.0, 0.6, -0.8, 0.0), (-0.0, 0.6, -0.8, 0.0), (0.5, 0.0, -0.5, 0.1), (0.0, -0.6, 0.0, 0.6)]
)
def test_opposite_quaternions_are_one_packet_where_a_component_is_zero(q):
    """Q1."""
    assert encoded(*q) == encoded(*(-component for component in q))


def test_a_packet_of_ones_is_refused_before_decoding():
    """Q2: all bits set, and all components at their largest."""
    for packet in (from_hex("ff" * 7), (0, 32767, 32767, 32767), (0, -32768, -32768, -32768)):
        with pytest.raises(DecodeError):
            quaternion.decode(*packet)
    assert quaternion.decode_array([from_hex("ff" * 7)], on_error="mask").mask.all()


def test_a_negative_largest_component_is_still_the_largest():
    """Q4."""
    assert encoded(0.1, 0.2, -0.9, 0.3) == encoded(-0.1, -0.2, 0.9, -0.3)
    assert quaternion.encode(0.1, 0.2, -0.9, 0.3)[0] == 2


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("hostile", [math.nan, math.inf, -math.inf, 1e20, -1e20, 1e300, 10**400])
def test_what_has_no_finite_length_is_refused(at, hostile):
    """Q5."""
    q = [0.1, 0.2, 0.3, 0.4]
    q[at] = hostile
    with pytest.raises(EncodeError) as caught:
        quaternion.encode(*q)
    assert caught.value.code == "out-of-range"
    if isinstance(hostile, float):
        assert encoded(*q) == "reject"


@pytest.mark.parametrize(
    "q", [(0, 0, 0, 0), (-0.0, 0.0, -0.0, 0.0), (1e-7, 1e-7, 1e-7, 1e-7), (1e-46, 0, 0, 0)]
)
def test_what_has_no_length_is_refused(q):
    assert encoded(*q) == "reject"


@pytest.mark.parametrize("index", [4, 5, 127, 128, 252, 255, -1, 2**70])
def test_a_bad_index_is_refused(index):
    with pytest.raises(DecodeError) as caught:
        quaternion.decode(index, 0, 0, 0)
    assert (caught.value.code, caught.value.path) == ("out-of-range", "largest_index")
    assert not quaternion.reachable(index, 0, 0, 0)


def test_encoding_what_was_decoded_can_change_the_packet():
    """v1 is not idempotent: one pair of packets that never settles, and one near the corner."""
    first, second = (0, 30893, 15447, 0), (1, 30893, 15447, 0)
    assert quaternion.encode(*quaternion.decode(*first)) == second
    assert quaternion.encode(*quaternion.decode(*second)) == first
    corner = quaternion.encode(0.5, 0.5, 0.5, 0.5)
    assert corner == (0, 23170, 23170, 23170)
    assert quaternion.encode(*quaternion.decode(*corner)) == (1, 23169, 23170, 23170)


def test_constants():
    assert struct.pack(">f", quaternion.SCALE).hex() == "47350389"
    assert struct.unpack(">f", bytes.fromhex("47350389")) == (quaternion.SCALE,)
    assert struct.pack(">f", quaternion.LEAST_SQUARED_LENGTH).hex() == "2b8cbccc"
    assert float(np.float32(1e-12)) == quaternion.LEAST_SQUARED_LENGTH
    inverse_root = np.float32(math.sqrt(0.5))
    assert float(np.float32(quaternion.LIMIT) / inverse_root) == quaternion.SCALE
    assert quaternion.REACHABLE_LIMIT == 2147354626 < 2**32
    assert math.ceil(2 * quaternion.LIMIT**2 / 2**20) == quaternion.REACHABLE_SLACK

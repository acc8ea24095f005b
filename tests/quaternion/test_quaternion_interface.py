"""The edges of the interface: types, shapes, masks, faults, the ruler and its bound, life without numpy."""

import doctest
import fractions
import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wirelock import quaternion
from wirelock.errors import DecodeError, EncodeError

GOOD = (0.35, -0.2, 0.1, -0.9)
PACKET = (3, -16363, 9350, -4675)


@pytest.mark.parametrize("wrong", ["1", b"1", None, 1j, True, [1.0], np.array([1.0, 2.0])])
@pytest.mark.parametrize("at", range(4))
def test_a_component_is_a_real_number(at, wrong):
    q = [*GOOD]
    q[at] = wrong
    with pytest.raises(TypeError, match="real numbers"):
        quaternion.encode(*q)


@pytest.mark.parametrize("wrong", ["1", None, 1.0, True, False, np.float32(1)])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("function", [quaternion.decode, quaternion.reachable])
def test_a_packet_is_integers(function, at, wrong):
    packet = [*PACKET]
    packet[at] = wrong
    with pytest.raises(TypeError):
        function(*packet)


def test_other_kinds_of_number_are_numbers():
    assert quaternion.encode(*np.array(GOOD, np.float32)) == PACKET
    assert quaternion.encode(*np.array(GOOD, np.float64)) == PACKET
    assert quaternion.encode(fractions.Fraction(7, 20), fractions.Fraction(-1, 5), 0.1, -0.9) == PACKET
    assert quaternion.encode(35, -20, 10, -90) == PACKET
    assert quaternion.decode(*np.array(PACKET, np.int16)) == quaternion.decode(*PACKET)
    assert not quaternion.reachable(*np.array([3, -32768, -32768, -32768], np.int16))
    assert {type(number) for number in quaternion.encode(*np.array(GOOD))} == {int}
    assert {type(number) for number in quaternion.decode(*np.array(PACKET))} == {float}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: quaternion.encode(0, 0, 0, 0),
            EncodeError,
            "quaternion: squared length 0 is not in 9.99999996e-13..3.4028235e+38",
        ),
        (
            lambda: quaternion.encode(0, math.nan, 0, 0),
            EncodeError,
            "quaternion: squared length nan is not in 9.99999996e-13..3.4028235e+38",
        ),
        (
            lambda: quaternion.encode_array([GOOD, (0, 1e20, 0, 0)]),
            EncodeError,
            "quaternion: [1]: squared length inf is not in 9.99999996e-13..3.4028235e+38",
        ),
        (
            lambda: quaternion.decode(5, 0, 0, 0),
            DecodeError,
            "quaternion: largest_index: 5 is not in 0..3",
        ),
        (
            lambda: quaternion.decode(0, 23171, 23171, 23171),
            DecodeError,
            "quaternion: the rule reachable does not hold: no rotation encodes to (23171, 23171, 23171)",
        ),
        (
            lambda: quaternion.decode_array([PACKET, PACKET, (4, 0, 0, 0)]),
            DecodeError,
            "quaternion: [2].largest_index: 4 is not in 0..3",
        ),
        (
            lambda: quaternion.decode_array([(0, -32768, 0, 0), (4, 0, 0, 0)]),
            DecodeError,
            "quaternion: [0]: the rule reachable does not hold: no rotation encodes to (-32768, 0, 0)",
        ),
        (
            lambda: quaternion.decode_columns([3, 3], np.array([0, 2**32], "i8"), [0, 0], [0, 0]),
            DecodeError,
            "quaternion: [1]: the rule reachable does not hold: no rotation encodes to (4294967296, 0, 0)",
        ),
    ],
)
def test_faults_say_what_was_found_and_pickle(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.record, again.fault) == ("quaternion", caught.value.fault)


def test_fault_codes():
    with pytest.raises(DecodeError) as caught:
        quaternion.decode(0, 32767, 32767, 32767)
    assert (caught.value.code, caught.value.path) == ("rule:reachable", "")
    with pytest.raises(EncodeError) as caught:
        quaternion.encode(0, 0, 0, 0)
    assert (caught.value.code, caught.value.path) == ("out-of-range", "")


@pytest.mark.parametrize("values", [[], [1, 2, 3, 4], [[1, 2, 3]], [[[1, 2, 3, 4]]], 5, np.empty((4, 0))])
@pytest.mark.parametrize(
    "function", [quaternion.encode_array, quaternion.decode_array, quaternion.reachable_array]
)
def test_another_shape_is_refused_with_its_name(function, values):
    with pytest.raises(ValueError) as caught:
        function(values)
    assert str(caught.value) == f"wanted shape (n, 4), got {np.shape(values)}"


@pytest.mark.parametrize("kind", [bool, complex, object, "U4", "M8[s]"])
def test_arrays_of_other_kinds_are_refused(kind):
    values = np.zeros((2, 4), kind)
    for function in (quaternion.encode_array, quaternion.decode_array, quaternion.reachable_array):
        with pytest.raises(TypeError, match="got dtype"):
            function(values)


def test_packets_in_floats_are_refused():
    for function in (quaternion.decode_array, quaternion.reachable_array):
        with pytest.raises(TypeError, match="wanted integers, got dtype float64"):
            function([[3.0, 0, 0, 0]])
    with pytest.raises(TypeError):
        quaternion.decode_array([[10**30, 0, 0, 0]])
    with pytest.raises(TypeError, match="wanted integers, got dtype float64"):
        quaternion.decode_columns([3], [0.5], [0], [0])


def test_columns_may_be_of_any_width_and_empty():
    mixed = [np.array([value], kind) for value, kind in zip(PACKET, ("u1", "i2", "i4", "i8"), strict=True)]
    found = quaternion.decode_columns(*mixed)
    assert found.tobytes() == quaternion.decode_array([PACKET]).tobytes()
    assert quaternion.decode_columns([], [], [], []).shape == (0, 4)


@pytest.mark.parametrize("on_error", ["ignore", "coerce", None, True])
def test_another_mode_is_refused(on_error):
    for function, values in ((quaternion.encode_array, [GOOD]), (quaternion.decode_array, [PACKET])):
        with pytest.raises(ValueError, match="'raise' or 'mask'"):
            function(values, on_error=on_error)


def test_empty_arrays():
    for on_error in ("raise", "mask"):
        packets = quaternion.encode_array(np.empty((0, 4), np.float32), on_error=on_error)
        assert (packets.shape, packets.dtype) == ((0, 4), np.int32)
        q = quaternion.decode_array(packets, on_error=on_error)
        assert (q.shape, q.dtype) == ((0, 4), np.float32)
    assert quaternion.reachable_array(np.empty((0, 4), np.int8)).shape == (0,)


def test_results_are_plain_arrays_unless_masks_are_asked_for():
    assert type(quaternion.encode_array([GOOD])) is np.ndarray
    assert type(quaternion.decode_array([PACKET])) is np.ndarray
    assert type(quaternion.reachable_array([PACKET])) is np.ndarray
    masked = quaternion.encode_array([GOOD], on_error="mask")
    assert type(masked) is np.ma.MaskedArray
    assert masked.mask.tolist() == [[False] * 4]


def test_masked_rows_go_through_and_cannot_pass_for_packets():
    packets = quaternion.encode_array([GOOD, (0, 0, 0, 0), GOOD], on_error="mask")
    assert packets.mask.tolist() == [[False] * 4, [True] * 4, [False] * 4]
    assert packets.tolist() == [list(PACKET), [None] * 4, list(PACKET)]
    assert packets.filled()[1].tolist() == packets.data[1].tolist() == [-1] * 4
    back = quaternion.decode_array(packets, on_error="mask")
    assert back.mask[:, 0].tolist() == [False, True, False]
    assert np.isnan(back.filled()[1]).all()
    again = quaternion.encode_array(back, on_error="mask")
    assert again.mask[:, 0].tolist() == [False, True, False]
    for lost in (packets.data, packets.filled(), packets):
        with pytest.raises(DecodeError, match=r"\[1\]"):
            quaternion.decode_array(lost)
    for lost in (back.data, back.filled(), back):
        with pytest.raises(EncodeError, match=r"\[1\]"):
            quaternion.encode_array(lost)


def test_a_masked_number_is_no_number_whatever_lies_under_it():
    hidden = [[False] * 4, [False, False, True, False]]
    packets = np.ma.MaskedArray([PACKET, PACKET], mask=hidden)
    assert quaternion.reachable_array(packets).tolist() == [True, False]
    with pytest.raises(DecodeError) as caught:
        quaternion.decode_array(packets)
    assert caught.value.fault.found == "(-16363, None, -4675)"
    q = np.ma.MaskedArray([GOOD, GOOD], mask=hidden)
    assert quaternion.encode_array(q, on_error="mask").mask[:, 0].tolist() == [False, True]
    index = np.ma.MaskedArray([PACKET], mask=[[True, False, False, False]])
    with pytest.raises(DecodeError, match="None is not in"):
        quaternion.decode_array(index)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "g", ">f4", ">f8", "i1", "i8", "u8"])
def test_any_real_dtype_is_rounded_to_binary32_first(kind):
    values = np.array([(35, 20, 10, 90), (0, 0, 0, 1)]).astype(kind)
    assert quaternion.encode_array(values).tolist() == [
        list(quaternion.encode(*row)) for row in values.tolist()
    ]


def test_large_integers_are_rounded_as_python_rounds_them():
    """By way of binary64, whose rounding makes a tie of what lies just above one."""
    row = (2**55 + 2**31 + 1, 2**55, 0, 0)
    assert quaternion.encode_array([row]).tolist() == [list(quaternion.encode(*row))]


@pytest.mark.parametrize("kind", ["i1", "i2", ">i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_any_integer_dtype_is_decoded(kind):
    values = np.array([(3, 100, 7, 0), (0, 0, 0, 1)]).astype(kind)
    expected = [quaternion.decode(*row) for row in values.tolist()]
    assert quaternion.decode_array(values).tolist() == [list(q) for q in expected]
    largest = np.full((1, 4), np.iinfo(kind).max, kind)
    assert quaternion.reachable_array(largest).tolist() == [False]
    smallest = np.full((1, 4), np.iinfo(kind).min, kind)
    assert quaternion.reachable_array(smallest).tolist() == [np.iinfo(kind).min == 0]


def test_integers_that_wrap_onto_a_packet_are_refused():
    for wide in (2**16, 2**32, 2**63):
        packets = np.array([[3 + wide, 0, 0, 0], [3, wide, 0, 0]], dtype=np.uint64)
        assert not quaternion.reachable_array(packets).any()


def test_inputs_are_left_alone():
    q = np.array([GOOD, (0, 0, 0, 0)], np.float32)
    packets = np.array([PACKET, (9, 9, 9, 9)], np.int32)
    for values, function in ((q, quaternion.encode_array), (packets, quaternion.decode_array)):
        before = values.copy()
        values.flags.writeable = False
        function(values, on_error="mask")
        assert (values == before).all()
    strided = np.asfortranarray(np.array([GOOD] * 3))[::2]
    assert quaternion.encode_array(strided).tolist() == [list(PACKET)] * 2


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ((0, 0, 0, 1), (0, 0, 0, 1), 0.0),
        ((0, 0, 0, 1), (0, 0, 0, -1), 0.0),
        ((0, 0, 0, 1), (0, 0, 0, 7), 0.0),
        ((0, 0, 0, 1), (1, 0, 0, 0), 180.0),
        ((0, 0, 0, 1), (1, 0, 0, 1), 90.0),
        ((0, 0, 0, -2), (1, 0, 0, 1), 90.0),
        ((0, 0, 0, 1), (1, 1, 1, 1), 120.0),
        ((0, 0, 0, 1), (1e-9, 0, 0, 1), math.degrees(2e-9)),
        ((0, 0, 0, 1), (1, 0, 0, 1e-9), 180 - math.degrees(2e-9)),
    ],
)
def test_angle_between(p, q, expected):
    assert math.isclose(quaternion.angle_between(p, q), expected, rel_tol=1e-14, abs_tol=0)
    assert quaternion.angle_between(q, p) == quaternion.angle_between(p, q)


@pytest.mark.parametrize(
    "wrong", [(0, 0, 0, 0), (math.nan, 0, 0, 1), (math.inf, 0, 0, 1), (1, 2, 3), (1, 2, 3, 4, 5)]
)
def test_no_angle_where_there_is_no_rotation(wrong):
    for pair in ((wrong, GOOD), (GOOD, wrong)):
        with pytest.raises(ValueError):
            quaternion.angle_between(*pair)


@pytest.mark.parametrize(
    ("bits", "degrees", "places"),
    [
        (9, 0.552685, 6),
        (10, 0.275221, 6),
        (11, 0.137333, 6),
        (12, 0.068597, 6),
        (15, 0.008567, 6),
        (16, 0.0042833, 7),
    ],
)
def test_angle_bound(bits, degrees, places):
    assert round(quaternion.angle_bound(bits), places) == degrees
    n = 2 ** (bits - 1) - 1
    assert math.isclose(quaternion.angle_bound(bits), math.degrees(math.sqrt(6) / n), rel_tol=4 / n)


def test_angle_bound_has_a_width_by_default_and_refuses_others():
    assert quaternion.angle_bound() == quaternion.angle_bound(quaternion.BITS)
    assert quaternion.angle_bound() + 0.00015 < quaternion.ANGLE_TOLERANCE_DEGREES
    for bits in (3, 33, 0, -1, 16.5):
        with pytest.raises(ValueError, match=r"4\.\.32"):
            quaternion.angle_bound(bits)


def test_the_often_quoted_error_is_what_its_ruler_can_say():
    """2*acos(dot) in binary32 answers in steps, and the fourth of them is the quoted figure."""
    steps = [
        math.degrees(2 * math.acos(float(np.float32(1) - np.float32(step) * np.float32(2**-24))))
        for step in range(5)
    ]
    assert [round(angle, 5) for angle in steps] == [0.0, 0.03956, 0.05595, 0.06853, 0.07913]
    assert round(steps[3], 7) == 0.0685280


def test_without_numpy_the_scalar_functions_work_and_the_others_say_what_to_install():
    script = f"""
import sys
from pathlib import Path
sys.modules["numpy"] = None
from wirelock import quaternion
assert quaternion.encode(*{GOOD}) == {PACKET}
assert quaternion.reachable(*{PACKET})
assert quaternion.angle_between({GOOD}, quaternion.decode(*{PACKET})) < 0.0045
for function in (quaternion.encode_array, quaternion.decode_array, quaternion.reachable_array):
    try:
        function([[3, 0, 0, 0]])
    except ImportError as error:
        assert "pip install 'wirelock[capture]'" in str(error)
    else:
        raise AssertionError(function)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_importing_it_does_not_import_numpy():
    script = "import sys; from wirelock import quaternion; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_everything_public_is_listed():
    public = {name for name in vars(quaternion) if name.isidentifier() and not name.startswith("_")}
    assert public - {"scalar", "arrays"} == set(quaternion.__all__)


def test_the_examples_of_its_page_run():
    page = Path(__file__).parents[2] / "docs" / "quaternion.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0

"""Flags off the wire are members like any other, and no peer can fill memory with combinations of them."""

from __future__ import annotations

import copy
import pickle
from enum import KEEP, STRICT, IntFlag

import pytest
from construct import BitsInteger, BitStruct, Byte, FlagsEnum, Int16ub, Int64ub, Struct

from tests.schema.record_maker import make
from wirelock import DecodeError
from wirelock.codec.members import KEPT_MEMBERS, member_of


class Few(IntFlag):
    """All 256 combinations have room in the class."""

    A = 1
    B = 2
    AB = 3
    C = 0x80


class Many(IntFlag):
    """A peer could make 65536 combinations."""

    F0 = 1
    F1 = 2
    F2 = 4
    F3 = 8
    F4 = 16
    F5 = 32
    F6 = 64
    F7 = 128
    F8 = 256
    F9 = 512
    FA = 1024
    FB = 2048
    FC = 4096
    FD = 8192
    FE = 16384
    FF = 32768
    LOW = 3


ENGINES = ["generated", "reference"]
WIDE = make("Wide", Struct("flags" / FlagsEnum(Int16ub, Many)), {"flags": Many})
NARROW = make("Narrow", Struct("flags" / FlagsEnum(Byte, Few)), {"flags": Few})
SIGNED = range(-1, -0x10000, -977)


def kept(flags: type[IntFlag]) -> int:
    return len(flags._value2member_map_)


@pytest.mark.parametrize("engine", ENGINES)
def test_combinations_that_a_peer_sends_are_not_kept_for_ever(engine):
    step = 7 if engine == "generated" else 97
    before = kept(Many)
    for value in range(0, 0x10000, step):
        found = WIDE.parse(value.to_bytes(2, "big"), engine=engine)
        assert found.flags == value
        assert found.build(engine=engine) == value.to_bytes(2, "big")
    assert kept(Many) == before


def test_combinations_in_json_are_not_kept_for_ever():
    before = kept(Many), kept(Few)
    for value in [*range(0, 0x10000, 97), *SIGNED]:
        assert WIDE.model_validate_json(f'{{"flags": {value}}}').flags == value % 0x10000
    for value in range(0x100, 0x10000, 97):
        with pytest.raises(ValueError, match="bits outside of 0x83"):
            NARROW.model_validate_json(f'{{"flags": {value}}}')
    assert (kept(Many), kept(Few)) == before


def test_a_table_of_many_combinations_is_bounded():
    for value in range(2 * KEPT_MEMBERS):
        WIDE.parse(value.to_bytes(2, "big"))
    table = WIDE.__wirelock__.engine("generated").parse_from.__globals__["members_of_Many"]
    assert len(table) <= KEPT_MEMBERS


@pytest.mark.parametrize("engine", ENGINES)
def test_members_are_those_of_the_class(engine):
    for value in (0, 1, 3, 0x8000, 0xFFFF, *range(5, 0x10000, 997)):
        found, real = WIDE.parse(value.to_bytes(2, "big"), engine=engine).flags, Many(value)
        assert type(found) is Many
        assert found == real == value
        assert hash(found) == hash(real)
        assert repr(found) == repr(real)
        assert str(found) == str(real)
        assert (found.name, found.value) == (real.name, real.value)
        assert list(found) == list(real)
        assert len(found) == len(real)
        assert (Many.F4 in found) is (Many.F4 in real) is bool(value & 16)
        assert found in real
        assert found | Many.F4 == value | 16
        assert found & Many.F4 == value & 16
        assert found ^ Many.F4 == value ^ 16
        assert type(found | Many.F4) is type(found & Many.F4) is type(~found) is Many
        assert ~found == ~real
        for again in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
            assert again == found
            assert type(again) is Many
        assert WIDE(flags=found) == WIDE(flags=real)
        assert WIDE(flags=found).build() == WIDE(flags=real).build()


@pytest.mark.parametrize("engine", ENGINES)
def test_named_members_and_combinations_of_few_flags_are_the_same_objects(engine):
    for member in Many.__members__.values():
        assert WIDE.parse(member.to_bytes(2, "big"), engine=engine).flags is member
    for value in (0, 1, 2, 3, 0x80, 0x81, 0x82, 0x83):
        assert NARROW.parse(bytes([value]), engine=engine).flags is Few(value)


@pytest.mark.parametrize("engine", ENGINES)
def test_bits_without_a_name_are_still_a_fault(engine):
    with pytest.raises(DecodeError, match="would be written as"):
        NARROW.parse(b"\x84", engine=engine)


def test_what_the_author_kept_stays():
    mine = Many(0x0F0F)
    assert member_of(Many, 0x0F0F) is mine
    assert Many(0x0F0F) is mine
    assert member_of(Many, -0xFFFD) is Many.LOW
    assert Many(3) is Many.LOW


@pytest.mark.parametrize("boundary", [STRICT, KEEP])
def test_flags_of_any_boundary_and_width(boundary):
    flags = IntFlag("Sparse", {f"F{bit}": 1 << bit for bit in range(1, 60, 4)}, boundary=boundary)
    cls = make("R", Struct("flags" / FlagsEnum(Int64ub, flags)), {"flags": flags})
    everything, before = sum(flags), kept(flags)
    for engine in ENGINES:
        found = cls.parse(everything.to_bytes(8, "big"), engine=engine)
        assert found.flags == everything
        assert cls.model_validate_json(found.model_dump_json()) == found
        assert cls.parse(bytes(8), engine=engine).flags == 0
    assert kept(flags) == before


def test_flags_below_a_byte():
    flags = IntFlag("Bits", {"A": 1, "B": 2, "C": 4})
    source = BitStruct("flags" / FlagsEnum(BitsInteger(3), flags), "rest" / BitsInteger(5))
    cls = make("R", source, {"flags": flags, "rest": int})
    for engine in ENGINES:
        assert cls.parse(b"\xa1", engine=engine).flags is flags(5)


def test_flags_whose_sign_means_something_are_built_as_their_number():
    class Signed(IntFlag):
        """Flags of an author with ideas."""

        A = 1
        B = 2

        def __pos__(self) -> int:
            return 99

    cls = make("R", Struct("flags" / FlagsEnum(Byte, Signed)), {"flags": Signed})
    for engine in ENGINES:
        assert cls.parse(b"\3", engine=engine).build(engine=engine) == b"\3"

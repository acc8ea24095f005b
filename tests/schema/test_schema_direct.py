"""Once a class has its generated engine, its own methods are shorter, and nobody can tell but by the time."""

from __future__ import annotations

import inspect
import pickle

import pytest
from construct import Byte, Int16ul, Struct
from pydantic import field_validator

from wirelock import DecodeError, EncodeError, Record


class Pair(Record, layout=Struct("a" / Byte, "b" / Int16ul)):
    """A record that the tests parse, so that its methods are short."""

    a: int
    b: int


def fresh() -> type[Record]:
    """Return a class like Pair that has no engine yet."""

    class Fresh(Record, layout=Struct("a" / Byte, "b" / Int16ul)):
        """A record that nobody has used."""

        a: int
        b: int

    return Fresh


METHODS = ["parse", "parse_prefix", "build"]


def test_a_class_gets_methods_of_its_own_when_it_is_first_used():
    cls = fresh()
    early = cls.parse
    assert not set(METHODS) & set(cls.__dict__)
    found = early(b"\1\2\0")
    assert set(METHODS) <= set(cls.__dict__)
    assert found == cls.parse(b"\1\2\0") == early(b"\1\2\0")


@pytest.mark.parametrize("name", METHODS)
def test_they_read_as_those_of_every_record(name):
    Pair.parse(b"\1\2\0")
    ours, theirs = getattr(Pair, name), getattr(Record, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert inspect.getdoc(ours) == inspect.getdoc(theirs)
    assert ours.__name__ == name


def test_they_can_be_pickled_with_the_class():
    assert pickle.loads(pickle.dumps(Pair.parse))(b"\1\2\0") == Pair(a=1, b=2)
    assert pickle.loads(pickle.dumps(Pair(a=1, b=2).build))() == b"\1\2\0"


@pytest.mark.parametrize("engine", ["generated", "reference"])
def test_faults_are_the_same_before_and_after(engine):
    cls = fresh()
    for data in (b"", b"\1", b"\1\2\0\3"):
        with pytest.raises(DecodeError) as ours:
            Pair.parse(data, engine=engine)
        with pytest.raises(DecodeError) as theirs:
            cls.parse(data, engine="reference")
        assert ours.value.fault == theirs.value.fault
        assert ours.value.__cause__ is None
        assert ours.value.__suppress_context__
    with pytest.raises(DecodeError, match="2 bytes wanted, 1 left"):
        Pair.parse_prefix(b"\1\2", engine=engine)
    for wrong in (True, -1, 256, "1", None):
        with pytest.raises(EncodeError, match="a: "):
            Pair(a=1, b=2).model_copy(update={"a": wrong}).build(engine=engine)


def test_other_buffers_and_engines_go_the_long_way():
    wanted = Pair(a=1, b=2)
    for data in (bytearray(b"\1\2\0"), memoryview(b"\1\2\0")):
        assert Pair.parse(data) == wanted
        assert Pair.parse_prefix(data) == (wanted, 3)
    assert Pair.parse_prefix(b"\1\2\0\4") == (wanted, 3)
    for run in (Pair.parse, Pair.parse_prefix):
        with pytest.raises(TypeError):
            run("abc")
        with pytest.raises(ValueError, match="there is no engine 'fast'"):
            run(b"\1\2\0", engine="fast")
    with pytest.raises(ValueError, match="there is no engine 'fast'"):
        wanted.build(engine="fast")


def test_python_validators_still_run():
    class Checked(Record, layout=Struct("a" / Byte)):
        """A record with a validator."""

        a: int

        @field_validator("a")
        @classmethod
        def _even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("odd")
            return value

    class Holder(Record, layout=Struct("inner" / Checked.layout)):
        """A record that holds one with a validator."""

        inner: Checked

    for cls in (Checked, Holder):
        assert cls.parse(b"\2").build() == b"\2"
        for _ in range(2):
            with pytest.raises(DecodeError, match="odd"):
                cls.parse(b"\3")
            with pytest.raises(DecodeError, match="odd"):
                cls.parse_prefix(b"\3")
    assert "parse" not in Checked.__dict__

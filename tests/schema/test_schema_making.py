"""Records are made without validation in one of two ways; nobody can tell which, or that it was skipped."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import pytest
from construct import Byte, Struct
from pydantic import ValidationError

from wirelock import Record
from wirelock.schema import making


class Plain(Record, layout=Struct("a" / Byte, "b" / Byte)):
    """A record like any other."""

    a: int
    b: int


class Slotted(Record, layout=Struct("a" / Byte, "b" / Byte)):
    """A record with a slot of its own, which gives it another shape in memory."""

    __slots__ = ("cache",)

    a: int
    b: int


class Counted:
    """A mixin that has a say in how objects are made."""

    made = 0

    def __new__(cls, *_: Any, **__: Any) -> Any:
        Counted.made += 1
        return super().__new__(cls)


class Own(Counted, Record, layout=Struct("a" / Byte, "b" / Byte)):
    """A record whose objects the mixin makes."""

    a: int
    b: int


RECORDS = [Plain, Slotted, Own]


@pytest.mark.parametrize("cls", RECORDS)
def test_a_made_record_is_a_validated_one(cls):
    made, again, validated = cls.parse(b"\1\2"), cls.parse(b"\1\2"), cls(a=1, b=2)
    assert type(made) is cls
    assert made == validated
    assert hash(made) == hash(validated)
    assert list(made.__dict__.items()) == list(validated.__dict__.items())
    assert type(made.model_fields_set) is set
    assert made.model_fields_set == validated.model_fields_set
    assert made.model_fields_set is not again.model_fields_set
    assert made.__pydantic_extra__ is None is made.__pydantic_private__
    assert gc.is_tracked(made) == gc.is_tracked(validated)
    assert weakref.ref(made)() is made
    with pytest.raises(ValidationError, match="frozen"):
        made.a = 3
    with pytest.raises(ValidationError, match="frozen"):
        del made.a
    assert pickle.loads(pickle.dumps(made)) == validated
    assert made.build() == b"\1\2"


def test_a_record_of_another_shape_or_with_its_own_new_is_not_made_from_a_blank():
    assert [making._is_like_a_blank(cls) for cls in RECORDS] == [not making._FREE_THREADED, False, False]
    before = Counted.made
    Own.parse(b"\1\2")
    assert Counted.made == before + 1


def test_a_record_is_never_deleted_for_a_trial():
    deleted = []

    class Watched(Record, layout=Struct("a" / Byte)):
        """A record that says when it goes."""

        a: int

        def __del__(self) -> None:
            deleted.append(self.a)

    assert deleted == []
    made = Watched.parse(b"\7")
    del made
    gc.collect()
    assert deleted == [7]

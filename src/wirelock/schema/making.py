"""Proven values -> a record, without validation, and equal in every way to a validated one.

A record is frozen, and to set its state past that costs a call for each part of it. So the state is set
on a blank, an object of the same layout that is not frozen, which then becomes the record.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from pydantic import BaseModel


class _Blank(BaseModel, defer_build=True):
    """An object that comes without values and takes any attribute."""

    __init__ = object.__init__
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__  # without it Python keeps the slow way to __setattr__ too


_FREE_THREADED: Final = "free-threading" in sys.version
"""There an object that changes its class makes all threads wait."""


def make_of(record: type[BaseModel]) -> Callable[[dict[str, Any]], Any]:
    """Return a function from a dict of proven values, which it keeps, to a record."""
    return _from_blank(record) if _is_like_a_blank(record) else _by_slots(record)


def _is_like_a_blank(record: type[BaseModel]) -> bool:
    if _FREE_THREADED or record.__new__ is not object.__new__:
        return False
    trial = _Blank()
    try:
        trial.__class__ = record
    except TypeError:  # the record has slots of its own
        return False
    object.__setattr__(trial, "__class__", _Blank)
    return True


def _from_blank(record: type[BaseModel]) -> Callable[[dict[str, Any]], Any]:
    blank, names = _Blank, set(record.model_fields)

    def make(values: dict[str, Any]) -> Any:
        made: Any = blank()
        made.__dict__ = values
        made.__pydantic_fields_set__ = names.copy()
        made.__pydantic_extra__ = None
        made.__pydantic_private__ = None
        made.__class__ = record
        return made

    return make


def _by_slots(record: type[BaseModel]) -> Callable[[dict[str, Any]], Any]:
    new = record.__new__
    slots = {name: BaseModel.__dict__[name].__set__ for name in BaseModel.__slots__}
    set_values, set_names = slots["__dict__"], slots["__pydantic_fields_set__"]
    set_extra, set_private = slots["__pydantic_extra__"], slots["__pydantic_private__"]

    def make(values: dict[str, Any]) -> Any:
        made = new(record)
        set_values(made, values)
        set_names(made, {*values})
        set_extra(made, None)
        set_private(made, None)
        return made

    return make

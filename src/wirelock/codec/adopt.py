"""Frames of plain values -> records, by full validation. The way of the reference and of validators.

A validator's complaint becomes a fault with the place of the field that it names.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from wirelock.codec.members import member_of
from wirelock.codec.template import Engine, Names, template_of
from wirelock.codec.trail import Found, Frame, Trail
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Enum,
    Flags,
    Framed,
    If,
    Layout,
    Mapping,
    Opaque,
    Optional,
    Padded,
    Select,
    Sequence,
    Sized,
    Switch,
    Type,
    has_part,
    layouts_in,
    plain,
)
from wirelock.layout.positions import pieces_at


def runs_python(layout: Layout) -> bool:
    """Whether the record or one inside of it has Python validators, or values that only code can read."""
    if layout.validators or has_part(layout, Opaque):
        return True
    return any(runs_python(inner) for field in layout.fields for inner in layouts_in(field.type))


def adopt(frame: Frame, names: Names, trail: Trail) -> Any:
    """Return the record of a frame, records inside it first. Raises Found where a validator refuses."""
    values = {
        field.label: _adopted(field.type, frame.values[field.label], frame, names, trail)
        for field in frame.layout.fields
        if field.in_record
    }
    try:
        return template_of(names, frame.layout.name).validate(values)
    except Found as found:
        raise Found(_placed(found, frame, trail)) from None


def unchanged(record: Any, data: bytes, engine: Engine) -> Any:
    """Return a record that Python code made, if it still stands for the bytes that it came from.

    Raises Found where a validator changed a value, be it to one that cannot be sent.
    """
    with suppress(Found):
        if engine.build(record) == data:
            return record
    raise Found(Fault("validator", "", "a validator changed the values", ""))


def _placed(found: Found, frame: Frame, trail: Trail) -> Any:
    fault = found.fault
    path = ".".join(part for part in (frame.path, fault.path) if part)
    for mark in trail.marks:
        if mark.path == path:
            return replace(
                fault, path=path, byte=mark.bit // 8, pieces=mark.pieces or pieces_at(mark.bit, mark.kind)
            )
    return replace(fault, path=path, byte=frame.bit // 8)


def _adopted(kind: Type, value: Any, frame: Frame, names: Names, trail: Trail) -> Any:
    inner = plain(kind)
    if value is None:
        return None
    match inner:
        case Layout():
            return adopt(value, names, trail)
        case Enum(name=name) | Flags(name=name):
            return member_of(names[name], value)
        case Mapping(members=members):
            return next(key for key, raw in members if raw == value)
        case Array(element=element):
            items, outer = [], frame.index
            for frame.index, item in enumerate(value):
                items.append(_adopted(element, item, frame, names, trail))
            frame.index = outer
            return tuple(items)
        case (
            If(type=then) | Optional(inner=then) | Framed(inner=then) | Padded(inner=then) | Sized(inner=then)
        ):
            return _adopted(then, value, frame, names, trail)
        case Sequence(types=types):
            return tuple(
                _adopted(part, item, frame, names, trail) for part, item in zip(types, value, strict=True)
            )
        case Select():
            return adopt(value, names, trail)
        case Switch(key=key, cases=cases, default=default):
            chosen = dict(cases).get(frame.compute(key), default)
            assert chosen is not None
            return _adopted(chosen, value, frame, names, trail)
    return value

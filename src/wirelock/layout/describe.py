"""A layout in words, for people: one line a field with its place, type, limits and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wirelock.layout.canonical import position_text
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Mapping,
    Multiple,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Terminator,
    Text,
    Time,
    Type,
    Until,
    VarInt,
    layouts_in,
    plain,
)
from wirelock.layout.operators import python_source
from wirelock.layout.sizes import Size
from wirelock.layout.terms import Expression, Index, Length, Operation, Path, key_text

_LIMITS: Final = {
    "ge": ">=", "gt": ">", "le": "<=", "lt": "<", "multiple_of": "multiple of", "one_of": "one of",
    "none_of": "none of", "min_length": "length >=", "max_length": "length <=",
}  # fmt: skip

__all__ = ["FieldText", "describe", "expression_text", "size_text", "type_text"]


@dataclass(frozen=True, slots=True)
class FieldText:
    """One field in words; `depth` says inside of how many records it is."""

    depth: int
    place: str
    name: str
    type: str
    doc: str


def describe(layout: Layout, depth: int = 0) -> Iterator[FieldText]:
    """Yield the fields of a layout and of the records inside of it, in wire order."""
    for item in layout.fields:
        kind = type_text(item.type)
        if item.derived is not None:
            kind += f" = {expression_text(item.derived)}"
        yield FieldText(depth, position_text(item.position), item.label, kind, item.doc)
        choice = plain(item.type)
        if isinstance(choice, Switch | Select):
            yield from _cases(choice, item.label, depth + 1)
            continue
        for inner in layouts_in(item.type):
            yield from describe(inner, depth + 1)


def _cases(choice: Switch | Select, label: str, depth: int) -> Iterator[FieldText]:
    cases: list[tuple[object, Type]] = [*choice.cases]
    if isinstance(choice, Select):
        cases = [(start.hex(" "), record) for start, record in choice.cases]
    elif choice.default is not None:
        cases.append(("default", choice.default))
    for key, kind in cases:
        yield FieldText(depth, "", f"{label}{{{key}}}", type_text(kind), "")
        for inner in layouts_in(kind):
            yield from describe(inner, depth + 1)


def size_text(size: Size) -> str:
    """Return a size in words: `7 bytes`, `9 bytes or more`, `9 to 12 bytes`."""
    low = size.lowest // 8
    if size.fixed:
        return f"{low} byte{'' if low == 1 else 's'}"
    return f"{low} bytes or more" if size.highest is None else f"{low} to {size.highest // 8} bytes"


def expression_text(expression: Expression) -> str:
    """Return an expression as the author would write it, without `this`."""

    def name_of(part: Expression) -> str | None:
        if isinstance(part, Length):
            return f"len({part.path})"
        if isinstance(part, Index):
            return "_index"
        return str(part).removeprefix(".") if isinstance(part, Path) else None

    return python_source(expression, name_of)


def _words(expression: Expression) -> str:
    """Return an expression fit to stand among words that may hold an `if` of their own."""
    text = expression_text(expression)
    return f"({text})" if isinstance(expression, Operation) and expression.operator == "if" else text


def type_text(kind: Type) -> str:
    """Return a type in words: `int16 little-endian`, `RotationV1`, `count of EntityV1`."""
    match kind:
        case Limited(inner=inner, limits=limits):
            told = ", ".join(f"{_LIMITS[limit.kind]} {limit.value}" for limit in limits)
            return f"{type_text(inner)}, {told}"
        case Integer(bits=bits, signed=signed, order=order):
            ends = f" {order}-endian" if bits > 8 else ""
            return f"{'' if signed else 'u'}int{bits}{ends}"
        case Float(bits=bits, order=order):
            return f"float{bits} {order}-endian"
        case Flag(bits=bits):
            return "flag, one bit" if bits == 1 else "flag, one byte"
        case Enum(integer=integer, members=members):
            return f"{type_text(integer)}, one of {', '.join(f'{name} {value}' for name, value in members)}"
        case Flags(integer=integer, members=members):
            return f"{type_text(integer)}, flags {', '.join(f'{name} {value:#x}' for name, value in members)}"
        case Mapping(integer=integer, members=members):
            return f"{type_text(integer)}, one of {', '.join(f'{key!r} {value}' for key, value in members)}"
        case Scaled(integer=integer):
            return f"{type_text(integer)}, {_scale_text(kind)}, rounded {kind.rounding}"
        case Time(integer=integer, unit=unit, epoch=epoch):
            return f"{type_text(integer)}, {unit}{f' since {epoch}' if epoch else ''}"
        case VarInt(zigzag=signed):
            return "varint, zigzag" if signed else "varint"
        case Text(inner=Sized() as inner, encoding=encoding):
            return _region_text(inner, f"{encoding} text")
        case Text(inner=inner, encoding=encoding):
            return f"{encoding} text in {type_text(inner)}"
        case Sized():
            return _region_text(kind)
        case Padded(inner=inner, length=length, pattern=pattern):
            to = f"a multiple of {length.of}" if isinstance(length, Multiple) else _count_text(length)
            return f"{type_text(inner)}, padded to {to} bytes with {pattern:#04x}"
        case Optional(inner=inner):
            return f"{type_text(inner)}, if any bytes are left"
        case Computed(expression=expression, boolean=boolean):
            ends = "true or false" if boolean else f"{kind.lowest}..{kind.highest}"
            return f"computed {_words(expression)}, {ends}"
        case Terminated():
            return "the end"
        case Bytes(length=length):
            return "all bytes left" if isinstance(length, Rest) else f"{_count_text(length)} bytes"
        case Constant(value=value, type=inner):
            return f"{type_text(inner)}, always {value.hex(' ') if isinstance(value, bytes) else value}"
        case Padding(length=length, unit=unit, pattern=pattern):
            count = _count_text(length)
            return f"{count} {'bits' if unit == 1 else 'bytes'} of padding {pattern:#x}"
        case Nothing():
            return "nothing"
        case Array(element=element, count=count):
            match count:
                case Prefix(integer=counter):
                    text = f"{type_text(counter)} count, then so many"
                case Rest():
                    text = "as many as fit"
                case Until(condition=condition):
                    return f"{type_text(element)} until {_words(condition)}"
                case _:
                    text = _count_text(count)
            return f"{text} of {type_text(element)}"
        case If(condition=condition, type=then):
            return f"{type_text(then)} if {_words(condition)}"
        case Switch(key=key, cases=cases, default=default):
            told = "; ".join(f"{key_text(case)}: {type_text(then)}" for case, then in cases)
            rest = "" if default is None else f"; else {type_text(default)}"
            return f"by {_words(key)}: {told}{rest}"
        case Checksum(type=inner, function=name, version=version, covers=covers):
            return f"{type_text(inner)}, {name} (version {version}) of {covers}"
        case Opaque(name=name, version=version, size=size):
            return f"{type_text(Bytes(size))} read by {name} (version {version})"
        case Framed(before=before, inner=inner, behind=behind):
            sides = [f"{word} {', '.join(map(type_text, parts))}" for word, parts in (
                ("behind", before), ("before", behind)
            ) if parts]  # fmt: skip
            return f"{type_text(inner)}, {' and '.join(sides)}" if sides else type_text(inner)
        case Sequence(types=types):
            return f"({', '.join(map(type_text, types))})"
        case Select(cases=records):
            told = "; ".join(f"{start.hex(' ')}: {type_text(record)}" for start, record in records)
            return f"by its first bytes: {told}"
        case Layout(name=name):
            return name or "record"


def _count_text(count: int | Expression) -> str:
    return str(count) if isinstance(count, int) else _words(count)


def _region_text(kind: Sized, what: str = "") -> str:
    """Return a region in words; `what` is what its bytes are, where they are all that is in it."""
    inner = plain(kind.inner)
    match inner:
        case Text(inner=Bytes(length=Rest()), encoding=encoding):
            what = f"{encoding} text"
        case Bytes(length=Rest()):
            pass
        case Sized():
            return f"{_extent_text(kind)}: {_region_text(inner, what)}"
        case _:
            return f"{_extent_text(kind)}: {type_text(inner)}"
    return _extent_text(kind, what or "bytes")


def _extent_text(kind: Sized, what: str = "") -> str:
    padded = ", padded with NULs" if kind.stripped else ""
    match kind.extent:
        case Prefix(integer=integer, includes=includes):
            own = ", its own bytes counted" if includes else ""
            of = "" if what in ("", "bytes") else f" of {what}"
            return f"{type_text(integer)} size{own}, then so many bytes{of}{padded}"
        case Terminator(mark=mark):
            return f"{what} up to {mark.hex(' ')}{padded}".lstrip()
        case size:
            text = f"{_count_text(size)} bytes{padded}"
            return text if what in ("", "bytes") else f"{what} in {text}"


def _scale_text(kind: Scaled) -> str:
    """Return steps and offset exactly: `steps of 1/1000 m from -5`."""
    step, start = Fraction(kind.multiply, kind.divide), Fraction(kind.add, kind.divide)
    return f"steps of {step} {kind.unit}".rstrip() + (f" from {start}" if start else "")

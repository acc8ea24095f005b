"""Which annotation goes with which layout, and every disagreement: a SchemaError that names the field."""

import enum
from typing import Annotated, Any, Literal, NewType, Optional

import annotated_types as at
import construct
import pytest
from construct import (
    Byte,
    Flag,
    Int8sb,
    Int16sl,
    Int16ul,
    Int64ul,
    Padding,
    Struct,
    this,
)
from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, Strict
from typing_extensions import TypeAliasType

from tests.schema.record_maker import make
from wirelock import Record, SchemaError, layout_of
from wirelock.layout.canonical import type_to_json
from wirelock.layout.nodes import Enum, Flags, Float, Integer, Limited
from wirelock.layout.terms import Limit


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Palette(enum.IntEnum):
    RED = 1
    BLUE = 3


class Named(enum.IntEnum):
    RED = 1
    AZURE = 2


class Door(enum.IntFlag):
    OPEN = 1
    LOCKED = 4


class Window(enum.IntFlag):
    OPEN = 1
    CLOSED = 2


class Group(enum.IntFlag):
    OPEN = 1
    LOCKED = 4
    BOTH = 5
    NONE = 0


class Point(Record, layout=Struct("x" / Byte, "y" / Byte)):
    x: int
    y: int


class Narrow(Record, layout=Struct("x" / Byte, "y" / Byte)):
    x: Annotated[int, at.Le(9)]
    y: int


class Wide(Record, layout=Struct("x" / Int16ul)):
    x: int


ENUM, FLAGS = construct.Enum(Byte, Colour), construct.FlagsEnum(Byte, Door)
Small = Annotated[int, at.Le(9)]
Alias = TypeAliasType("Alias", Small)
Number = NewType("Number", int)


def record(source, annotation, **options):
    """A record of a byte `n` and a field `x`."""
    return make("R", Struct("n" / Byte, "x" / source), {"n": int, "x": annotation}, **options)


# -- what fits, and a value of it on the wire

FITS = {
    "int": (Byte, int, "05", 5),
    "int, signed": (Int16sl, int, "feff", -2),
    "int of 64 bits": (Int64ul, int, "ff" * 8, (1 << 64) - 1),
    "int of 72 bits": (construct.BytesInteger(9), int, "01" + "00" * 8, 1 << 64),
    "int over an Enum": (ENUM, int, "07", 7),
    "int over flags": (FLAGS, int, "ff", 255),
    "IntEnum": (ENUM, Colour, "02", Colour.BLUE),
    "IntEnum over keywords": (construct.Enum(Byte, RED=1, BLUE=2), Colour, "02", Colour.BLUE),
    "IntEnum over an integer": (Byte, Colour, "02", Colour.BLUE),
    "IntFlag": (FLAGS, Door, "05", Door.OPEN | Door.LOCKED),
    "IntFlag of none": (FLAGS, Door, "00", Door(0)),
    "IntFlag over an integer": (Byte, Door, "04", Door.LOCKED),
    "IntFlag with a group": (construct.FlagsEnum(Byte, Group), Group, "05", Group.BOTH),
    "bool": (Flag, bool, "01", True),
    "float": (construct.Float32b, float, "3fc00000", 1.5),
    "float from binary16": (construct.Float16b, float, "3555", 0.333251953125),
    "bytes": (construct.Bytes(2), bytes, "6162", b"ab"),
    "bytes of a length from the wire": (construct.Bytes(this.n), bytes, "6162", b"ab"),
    "bytes of a constant": (construct.Const(b"WS"), bytes, "5753", b"WS"),
    "int of a constant": (construct.Const(7, Byte), int, "07", 7),
    "int of a constant member": (construct.Const(Colour.BLUE, ENUM), int, "02", 2),
    "the number of a constant member": (construct.Const(Colour.BLUE, ENUM), int, "02", 2),
    "None of padding": (Padding(2), None, "0000", None),
    "None of Pass": (construct.Pass, None, "", None),
    "NoneType": (construct.Pass, type(None), "", None),
    "a record": (Point.layout, Point, "0102", Point(x=1, y=2)),
    "a record's layout written again": (Struct("x" / Byte, "y" / Byte), Point, "0102", Point(x=1, y=2)),
    "a tuple": (Byte[3], tuple[int, ...], "010203", (1, 2, 3)),
    "a tuple of three": (Byte[3], tuple[int, int, int], "010203", (1, 2, 3)),
    "a tuple of none": (construct.Array(0, Byte), tuple[int, ...], "", ()),
    "a tuple by the wire": (construct.Array(this.n, Byte), tuple[int, ...], "0102", (1, 2)),
    "a tuple by its own count": (construct.PrefixedArray(Byte, Byte), tuple[int, ...], "03010203", (1, 2, 3)),
    "a tuple of records": (Point.layout[1], tuple[Point, ...], "0102", (Point(x=1, y=2),)),
    "a tuple of members": (ENUM[2], tuple[Colour, ...], "0102", (Colour.RED, Colour.BLUE)),
    "a tuple of flags": (FLAGS[2], tuple[Door, ...], "0104", (Door.OPEN, Door.LOCKED)),
    "a tuple of tuples": (Byte[2][2], tuple[tuple[int, ...], ...], "01020304", ((1, 2), (3, 4))),
    "a tuple of optionals": (
        construct.Array(2, construct.If(this.n > 1, Byte)),
        tuple[int | None, ...],
        "0102",
        (1, 2),
    ),
    "an optional, there": (construct.If(this.n > 1, Byte), int | None, "05", 5),
    "an optional, not there": (construct.If(this.n > 2, Byte), int | None, "", None),
    "Optional": (construct.If(this.n > 1, Byte), Optional[int], "05", 5),  # noqa: UP045 - what is tested
    "an optional of nothing": (construct.If(this.n > 1, construct.Pass), None, "", None),
    "an optional of padding": (construct.If(this.n > 1, Padding(2)), None, "0000", None),
    "an optional constant": (construct.If(this.n > 1, construct.Const(b"x")), bytes | None, "78", b"x"),
    "an optional optional": (construct.If(this.n > 1, construct.If(this.n > 0, Byte)), int | None, "05", 5),
    "an optional choice of nothing": (
        construct.If(this.n > 1, construct.Switch(this.n, {2: construct.Pass}, Byte)),
        int | None,
        "",
        None,
    ),
    "a choice": (construct.Switch(this.n, {1: construct.Bytes(2), 2: Byte}), int | bytes, "05", 5),
    "a choice of one type": (construct.Switch(this.n, {1: Int16ul, 2: Byte}), int, "05", 5),
    "a choice of records": (
        construct.Switch(this.n, {1: Wide.layout, 2: Point.layout}),
        Point | Wide,
        "0102",
        Point(x=1, y=2),
    ),
    "a choice with a default": (
        construct.Switch(this.n, {1: construct.Bytes(2)}, Byte),
        int | bytes,
        "05",
        5,
    ),
    "a choice with nothing": (construct.Switch(this.n, {1: Byte, 2: construct.Pass}), int | None, "", None),
    "a choice in a choice": (
        construct.Switch(this.n, {2: construct.Switch(this.n, {2: Byte})}),
        int,
        "05",
        5,
    ),
    "a choice of a member and a number": (
        construct.Switch(this.n, {1: Byte, 2: ENUM}),
        Colour | int,
        "02",
        Colour.BLUE,
    ),
    "Literal": (Byte, Literal[1, 5], "05", 5),
    "Literal bytes": (construct.Bytes(2), Literal[b"ab", b"cd"], "6364", b"cd"),
    "Literal bool": (Flag, Literal[True], "01", True),
    "Literal of a constant": (construct.Const(7, Byte), Literal[7], "07", 7),
    "Literal of a member": (ENUM, Literal[Colour.RED], "01", Colour.RED),
    "Literal of members": (ENUM, Literal[Colour.RED, Colour.BLUE], "01", Colour.RED),
    "an alias": (Byte, Small, "05", 5),
    "an alias of its own type": (Byte, Alias, "05", 5),
    "an alias within an alias": (Byte, Annotated[Small, at.Ge(1)], "05", 5),
    "words beside the type": (Byte, Annotated[int, "metres"], "05", 5),
    "a unit beside the type": (Byte, Annotated[int, at.Unit("m")], "05", 5),
    "Strict beside the type": (Byte, Annotated[int, Strict()], "05", 5),
    "pydantic's own alias": (Byte, PositiveInt, "05", 5),
    "pydantic's other alias": (Int16sl, NonNegativeInt, "0500", 5),
    "text": (Byte, "int", "05", 5),
}


@pytest.mark.parametrize("engine", ["generated", "reference"])
@pytest.mark.parametrize("name", FITS)
def test_what_fits(name, engine):
    source, annotation, octets, value = FITS[name]
    cls = record(source, annotation)
    data = b"\x02" + bytes.fromhex(octets)
    found = cls.parse(data, engine=engine)
    assert found.x == value
    assert type(found.x) is type(value)
    assert found.build(engine=engine) == data
    assert cls(n=2, x=value) == found


LOWERED = {
    "int over an Enum": (ENUM, int, Integer(8, False, "big")),
    "IntEnum over an integer": (
        Byte,
        Colour,
        Enum(Integer(8, False, "big"), (("RED", 1), ("BLUE", 2)), "Colour"),
    ),
    "IntEnum over an Enum": (
        ENUM,
        Colour,
        Enum(Integer(8, False, "big"), (("RED", 1), ("BLUE", 2)), "Colour"),
    ),
    "IntFlag over an integer": (
        Byte,
        Door,
        Flags(Integer(8, False, "big"), (("OPEN", 1), ("LOCKED", 4)), "Door"),
    ),
}


@pytest.mark.parametrize("name", LOWERED)
def test_classes_become_part_of_the_layout(name):
    source, annotation, kind = LOWERED[name]
    assert layout_of(record(source, annotation))["x"].type == kind


# -- constraints

U8, FLOAT = Integer(8, False, "big"), Float(32, "little")
CONSTRAINTS = {
    "Ge": (Byte, Annotated[int, at.Ge(3)], [("ge", 3)]),
    "Gt": (Byte, Annotated[int, at.Gt(3)], [("ge", 4)]),
    "Le": (Byte, Annotated[int, at.Le(3)], [("le", 3)]),
    "Lt": (Byte, Annotated[int, at.Lt(3)], [("le", 2)]),
    "Field": (Byte, Annotated[int, Field(ge=1, lt=9)], [("ge", 1), ("le", 8)]),
    "MultipleOf": (Byte, Annotated[int, at.MultipleOf(4)], [("multiple_of", 4)]),
    "Interval": (Byte, Annotated[int, at.Interval(ge=1, le=9)], [("ge", 1), ("le", 9)]),
    "open Interval": (Byte, Annotated[int, at.Interval(gt=1, lt=9)], [("ge", 2), ("le", 8)]),
    "order of writing": (Byte, Annotated[int, at.Le(9), at.Ge(1)], [("ge", 1), ("le", 9)]),
    "the very ends": (Byte, Annotated[int, at.Ge(0), at.Le(255)], [("ge", 0), ("le", 255)]),
    "one beyond the ends, left out": (Byte, Annotated[int, at.Gt(-1), at.Lt(256)], [("ge", 0), ("le", 255)]),
    "Literal": (Byte, Literal[1, 3], [("one_of", (1, 3))]),
    "Literal and more": (Byte, Annotated[Literal[1, 3], at.Le(3)], [("le", 3), ("one_of", (1, 3))]),
    "Literal of a member": (ENUM, Literal[Colour.RED], [("one_of", (1,))]),
    "of a float": (construct.Float32l, Annotated[float, at.Ge(-1), at.Lt(0.5)], [("ge", -1.0), ("lt", 0.5)]),
    "of a float, open": (
        construct.Float32l,
        Annotated[float, at.Gt(0.5), at.Le(2)],
        [("gt", 0.5), ("le", 2.0)],
    ),
    "Len of bytes": (
        construct.Bytes(this.n),
        Annotated[bytes, at.Len(1, 3)],
        [("min_length", 1), ("max_length", 3)],
    ),
    "Len of a tuple": (
        construct.PrefixedArray(Byte, Byte),
        Annotated[tuple[int, ...], at.Len(1, 3)],
        [("min_length", 1), ("max_length", 3)],
    ),
    "MinLen": (
        construct.PrefixedArray(Byte, Byte),
        Annotated[tuple[int, ...], at.MinLen(1)],
        [("min_length", 1)],
    ),
    "Len without end": (construct.Bytes(this.n), Annotated[bytes, at.Len(2)], [("min_length", 2)]),
    "a length that always is": (construct.Bytes(2), Annotated[bytes, at.Len(2, 2)], []),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_become_limits(name):
    source, annotation, limits = CONSTRAINTS[name]
    kind = layout_of(record(source, annotation))["x"].type
    found = kind.limits if isinstance(kind, Limited) else ()
    wanted = [Limit(*pair) for pair in limits]
    assert [limit for limit in found if limit.kind != "min_length" or limit.value] == wanted


PLACES = {
    "an element": (Byte[2], tuple[Small, ...], ("of",)),
    "an optional": (construct.If(this.n > 1, Byte), Small | None, ("of",)),
    "all of an optional": (construct.If(this.n > 1, Byte), Annotated[int | None, at.Le(9)], ("of",)),
    "a case": (construct.Switch(this.n, {2: Byte}, construct.Bytes(1)), Small | bytes, ("cases", 0, "of")),
    "an element of an element": (Byte[1][1], tuple[tuple[Small, ...], ...], ("of", "of")),
    "a record": (Narrow.layout, Narrow, ("fields", 0)),
}


@pytest.mark.parametrize("name", PLACES)
def test_constraints_go_where_they_are_written(name):
    source, annotation, path = PLACES[name]
    found = type_to_json(layout_of(record(source, annotation))["x"].type)
    for key in path:
        found = found[key]
    assert found["limits"] == {"le": 9}


# -- what does not fit

MISFITS = {
    "bool for an integer": (
        Byte,
        bool,
        "the annotation bool does not fit the layout; write int or an IntEnum",
    ),
    "float for an integer": (Byte, float, "the annotation float does not fit"),
    "str for an integer": (Byte, str, "the annotation str does not fit"),
    "Any": (Byte, Any, "Any does not fit the layout"),
    "object": (Byte, object, "the annotation object does not fit"),
    "a NewType": (Byte, Number, "the annotation Number does not fit"),
    "int for a Flag": (Flag, int, "write bool"),
    "int for a float": (construct.Float32l, int, "write float"),
    "str for bytes": (construct.Bytes(2), str, "write bytes"),
    "bytearray for bytes": (construct.Bytes(2), bytearray, "write bytes"),
    "bytes for an integer constant": (construct.Const(7, Byte), bytes, "does not fit"),
    "int for constant bytes": (construct.Const(b"x"), int, "write bytes"),
    "int for padding": (Padding(1), int, "write None"),
    "int for nothing": (construct.Pass, int, "write None"),
    "str for an enumeration": (ENUM, str, "write an IntEnum with the layout's members, or int"),
    "IntFlag for an enumeration": (ENUM, Door, "write an IntEnum"),
    "IntEnum for flags": (FLAGS, Colour, "write an IntFlag with the layout's members, or int"),
    "enum.Enum for an integer": (Byte, enum.Enum("Plain", {"A": 1}), "does not fit"),
    "another value": (ENUM, Palette, "Palette has RED=1, BLUE=3, the layout has RED=1, BLUE=2"),
    "another name": (ENUM, Named, "Named has RED=1, AZURE=2, the layout has RED=1, BLUE=2"),
    "another flag": (FLAGS, Window, "Window has OPEN=1, CLOSED=2, the layout has OPEN=1, LOCKED=4"),
    "fewer members": (ENUM, enum.IntEnum("Few", {"RED": 1}), "Few has RED=1, the layout has"),
    "a member too large for an integer": (
        Byte,
        enum.IntEnum("Large", {"A": 256}),
        "Large.A = 256 does not fit the field",
    ),
    "a member below an integer": (Byte, enum.IntEnum("Low", {"A": -1}), "Low.A = -1 does not fit the field"),
    "list": (Byte[2], list[int], "a list would make a frozen record mutable"),
    "list without elements": (Byte[2], list, "a list would make a frozen record mutable"),
    "tuple without elements": (Byte[2], tuple, "write tuple[T, ...]"),
    "a tuple of two for three": (Byte[3], tuple[int, int], "does not fit"),
    "a tuple of one for many": (construct.Array(this.n, Byte), tuple[int], "does not fit"),
    "a tuple of two types": (Byte[2], tuple[int, bool], "does not fit"),
    "an empty tuple for two": (Byte[2], tuple[()], "does not fit"),
    "set": (Byte[2], set[int], "write tuple[T, ...]"),
    "int for an array": (Byte[2], int, "write tuple[T, ...]"),
    "bytes for an array of bytes": (Byte[2], bytes, "write tuple[T, ...]"),
    "a wrong element": (Byte[2], tuple[str, ...], "the annotation str does not fit"),
    "int for an optional": (construct.If(this.n > 1, Byte), int, "the field may be absent"),
    "None for an optional": (construct.If(this.n > 1, Byte), None, "T | None: the field may be absent"),
    "a wrong optional": (construct.If(this.n > 1, Byte), str | None, "the annotation str does not fit"),
    "optional for what is there": (Byte, int | None, "does not fit"),
    "a type too few": (
        construct.Switch(this.n, {1: Byte, 2: construct.Bytes(2)}),
        int,
        "none of the union's types fits the case 2",
    ),
    "a type too few for the default": (
        construct.Switch(this.n, {1: Byte}, construct.Bytes(2)),
        int,
        "none of the union's types fits the case default",
    ),
    "a type too many": (
        construct.Switch(this.n, {1: Byte, 2: Int16ul}),
        int | bytes,
        "the annotation bytes does not fit the layout; write only types that a case has",
    ),
    "a constraint on a choice": (
        construct.Switch(this.n, {1: Byte, 2: Int16ul}),
        Annotated[int, at.Le(9)],
        "a constraint on a whole Switch",
    ),
    "no record": (Point.layout, int, "write a Record class with this layout"),
    "dict": (Point.layout, dict, "write a Record class with this layout"),
    "a class without a layout": (Point.layout, Record, "write a Record class with this layout"),
    "another record": (Point.layout, Wide, "Wide has another layout here; its fields are x"),
    "a record that differs": (
        Struct("x" / Byte, "y" / Int8sb),
        Point,
        "Point has another layout here; it differs in y",
    ),
    "a record of other order": (Struct("y" / Byte, "x" / Byte), Point, "Point has another layout here"),
    "a constraint on a record": (Point.layout, Annotated[Point, at.Le(9)], "a constraint on a whole record"),
    "a validator on a record": (
        Point.layout,
        Annotated[Point, AfterValidator(lambda value: value)],
        "a constraint on a whole record",
    ),
    "a Literal too large": (Byte, Literal[1, 256], "Literal[256] can never be on the wire"),
    "a Literal of another length": (construct.Bytes(2), Literal[b"abc"], "can never be on the wire"),
    "a Literal of another constant": (construct.Const(7, Byte), Literal[8], "can never be on the wire"),
    "a Literal of two constants": (construct.Const(7, Byte), Literal[7, 8], "can never be on the wire"),
    "a Literal of two types": (Byte, Literal[1, True], "does not fit"),
    "a Literal of text": (Byte, Literal["1"], "does not fit"),
    "a Literal of another class's member": (ENUM, Literal[Palette.RED], "Palette has RED=1, BLUE=3"),
    "Ge below the wire": (Byte, Annotated[int, at.Ge(-1)], "lies outside of the wire's own 0..255"),
    "Le above the wire": (Byte, Annotated[int, at.Le(256)], "lies outside of the wire's own 0..255"),
    "Gt at the top": (Byte, Annotated[int, at.Gt(255)], "lies outside of the wire's own 0..255"),
    "Lt at the bottom": (Byte, Annotated[int, at.Lt(0)], "lies outside of the wire's own 0..255"),
    "Le above a signed wire": (
        Int8sb,
        Annotated[int, at.Le(128)],
        "lies outside of the wire's own -128..127",
    ),
    "Interval beyond the wire": (
        Byte,
        Annotated[int, at.Interval(ge=0, le=300)],
        "lies outside of the wire's own",
    ),
    "an enum's width": (Byte, Annotated[int, Field(le=1000)], "lies outside of the wire's own"),
    "Le of a float on an integer": (Byte, Annotated[int, at.Le(1.5)], "compare it with an int"),
    # typing keeps one Annotated for Le(True) and Le(1), which are equal: the words keep this one apart.
    "Le of True": (Byte, Annotated[int, at.Le(True), "a bool"], "compare it with an int"),
    "Le of NaN": (construct.Float32l, Annotated[float, at.Le(float("nan"))], "compare it with a number"),
    "Le of text": (construct.Float32l, Annotated[float, at.Le("1")], "compare it with a number"),
    "MultipleOf zero": (Byte, Annotated[int, at.MultipleOf(0)], "give a positive int"),
    "MultipleOf a half": (Byte, Annotated[int, at.MultipleOf(0.5)], "give a positive int"),
    "MultipleOf a float": (
        construct.Float32l,
        Annotated[float, at.MultipleOf(0.5)],
        "not known to all engines",
    ),
    "Len of an integer": (Byte, Annotated[int, at.Len(1)], "not known to all engines"),
    "Ge of bytes": (construct.Bytes(1), Annotated[bytes, at.Ge(b"a")], "not known to all engines"),
    "Ge of a member": (ENUM, Annotated[Colour, at.Ge(1)], "not known to all engines"),
    "a length that never is": (construct.Bytes(2), Annotated[bytes, at.Len(3)], "the length is always 2"),
    "a count that never is": (Byte[2], Annotated[tuple[int, ...], at.MaxLen(1)], "the length is always 2"),
    "no value at all": (Byte, Annotated[int, at.Ge(5), at.Le(4)], "no value is in 5..4"),
    "no length at all": (
        construct.Bytes(this.n),
        Annotated[bytes, at.MinLen(5), at.MaxLen(4)],
        "no value is in length 5..4",
    ),
    "two of one kind": (Byte, Annotated[int, at.Le(5), at.Lt(5)], "two constraints of one kind"),
    "a pattern": (construct.Bytes(2), Annotated[bytes, Field(pattern="a")], "not known to all engines"),
    "an alias of a wrong type": (construct.Bytes(2), Alias, "does not fit"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_what_does_not_fit_is_refused_by_name(name):
    source, annotation, problem = MISFITS[name]
    with pytest.raises(SchemaError) as caught:
        record(source, annotation)
    assert caught.value.path.split("[")[0] in ("R.x", "R")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)

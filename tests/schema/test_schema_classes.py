"""Class statements: fields, names, settings, and the annotations of every place that a class can stand in."""

from __future__ import annotations

import enum
from typing import Annotated

import annotated_types as at
import construct
import pytest
from construct import BitsInteger, BitStruct, Byte, Int16ul, Struct, this
from pydantic import Field

from tests.schema.record_maker import make
from wirelock import Record, Rule, SchemaError, derived, layout_of
from wirelock.layout.nodes import Layout


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Point(Record, layout=Struct("x" / Byte, "y" / Byte)):
    x: int
    y: int


ENUM = construct.Enum(Byte, Colour)

# -- fields, names, order


def fields(source, annotations, **members):
    return make("R", source, annotations, **members)


AB = Struct("a" / Byte, "b" / Byte)
STATEMENTS = {
    "a field too few": (
        lambda: fields(AB, {"a": int}),
        "R.b",
        ", the record has not",
    ),
    "a field too many": (
        lambda: fields(AB, {"a": int, "b": int, "c": int}),
        "R.c",
        ", the layout has not",
    ),
    "another order": (
        lambda: fields(AB, {"b": int, "a": int}),
        "R.b",
        "the record's order is not the layout's",
    ),
    "a private field": (
        lambda: fields(Struct("a" / Byte, "_b" / construct.Const(1, Byte)), {"a": int, "b": int}),
        "R.b",
        ", the layout has not",
    ),
    "the layout itself": (
        lambda: fields(Struct("a" / construct.Tell), {"a": bytes}),
        "R.a",
        "Tell is not a kind",
    ),
    "no construct": (lambda: fields(5, {"a": int}), "R", "5 is no construct"),
    "derived() of what is not": (
        lambda: fields(Struct("a" / Byte), {"a": int}, a=derived()),
        "R.a",
        "no other field implies this one",
    ),
    "a default of a count": (
        lambda: fields(
            Struct("n" / Byte, "xs" / construct.Array(this.n, Byte)), {"n": int, "xs": tuple[int, ...]}, n=3
        ),
        "R.n",
        "a derived field cannot have a default",
    ),
    "rules without a layout": (
        lambda: make("R", None, {}, rules=(Rule("a", this.a > 1),)),
        "R",
        "rules without a layout",
    ),
    "no Rule": (lambda: fields(AB, {"a": int, "b": int}, rules=(this.a > 1,)), "R", "is no Rule"),
    "two classes of one name": (
        lambda: fields(AB, {"a": enum.IntEnum("Same", {"A": 1}), "b": enum.IntEnum("Same", {"B": 2})}),
        "R.b",
        "two different classes are named Same",
    ),
    "a class that extends a layout": (
        lambda: type(Record)("R", (Point,), {"__module__": __name__}),
        "R",
        "a record cannot extend another record's layout",
    ),
    "a class that extends two": (
        lambda: type(Record)("R", (Point,), {"__module__": __name__}, layout=AB),
        "R",
        "a record cannot extend another record's layout",
    ),
    "a forward reference to nothing": (lambda: fields(AB, {"a": "Nowhere", "b": int}), "R", "Nowhere"),
    "a field that pydantic would call otherwise": (
        lambda: fields(AB, {"a": int, "b": int}, a=Field(alias="z")),
        "R.a",
        "alias",
    ),
    "a field that is left out of what is dumped": (
        lambda: fields(AB, {"a": int, "b": int}, a=Field(exclude=True)),
        "R.a",
        "exclude",
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_class_statements_that_are_refused(name):
    statement, path, problem = STATEMENTS[name]
    with pytest.raises(SchemaError) as caught:
        statement()
    assert caught.value.path == path
    assert problem in caught.value.problem


OWN = ["copy", "json", "dict", "schema", "layout", "parse", "build", "parse_prefix", "construct", "validate",
       "model_dump", "model_fields", "model_config", "model_copy"]  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_names_of_the_record_itself_are_refused_with_another_offered(name):
    with pytest.raises(SchemaError) as caught:
        make("R", Struct(name / Byte), {})
    assert caught.value.path == f"R.{name}"
    assert caught.value.problem == "the name is one of the record's own"
    assert caught.value.remedy == f"rename it, as {name}_"


LOOKS_RESERVED = [
    "model", "model_x", "items", "get", "value", "fields", "engine", "match", "type", "data", "at", "end",
    "record", "parts", "self", "cls", "len", "int",
]  # fmt: skip


@pytest.mark.parametrize("name", LOOKS_RESERVED)
def test_names_that_only_look_reserved_are_taken(name):
    cls = make("R", Struct(name / Byte, "other" / Int16ul), {name: int, "other": int})
    assert getattr(cls.parse(b"\x05\x01\x00"), name) == 5
    assert cls(**{name: 5, "other": 1}).build() == b"\x05\x01\x00"


CLASS_NAMES = [
    "Struct", "pack", "unpack_from", "from_bytes", "build", "parse_from", "record", "data", "parts", "len",
    "type", "tuple", "int", "range", "STRUCT_1", "new_Outer", "new_R",
]  # fmt: skip


@pytest.mark.parametrize("name", CLASS_NAMES)
def test_a_class_may_have_any_name(name):
    """The generated source has names of its own, which no class of the author's may shadow."""
    inner = make(
        name,
        Struct("xs" / construct.Array(this._.n, Int16ul), "f" / construct.Float32l),
        {"xs": tuple[int, ...], "f": float},
    )
    other = make("R", Struct("v" / Byte), {"v": int})
    outer = make(
        "Outer",
        Struct("n" / Byte, "i" / inner.layout, "o" / other.layout),
        {"n": int, "i": inner, "o": other},
    )
    data = b"\x01\x02\x00\x00\x00\x80\x3f\x09"
    found = outer.parse(data)
    assert (type(found.i), found.i.xs, found.i.f, found.o.v) == (inner, (2,), 1.0, 9)
    assert found.build() == data
    assert outer.parse(data, engine="reference") == found


def test_an_outer_record_may_not_take_the_name_of_one_inside():
    """Names find classes: with one name for two, the inner record would be made as the outer one."""
    inner = make("Same", Struct("v" / Byte), {"v": int})
    try:
        outer = make("Same", Struct("i" / inner.layout), {"i": inner})
    except SchemaError as error:
        assert "two different classes are named Same" in error.problem
    else:
        assert type(outer.parse(b"\x05").i) is inner
        assert outer(i=inner(v=5)).build() == b"\x05"


# -- settings of pydantic that would make two engines give two records

SETTINGS = {
    "frozen": {"frozen": False},
    "extra": {"extra": "allow"},
    "hex": {"ser_json_bytes": "utf8"},
    "members as numbers": {"use_enum_values": True},
    "other names": {"alias_generator": str.upper},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_would_change_records_are_refused(name):
    with pytest.raises(SchemaError) as caught:
        make("R", Struct("k" / ENUM), {"k": Colour}, model_config=SETTINGS[name])
    assert caught.value.path == "R"
    assert next(iter(SETTINGS[name])) in caught.value.problem


def test_a_class_keyword_is_a_setting_too():
    with pytest.raises(SchemaError, match="model_config sets frozen"):

        class Loose(Record, layout=AB, frozen=False):
            a: int
            b: int


def test_a_title_is_no_harm():
    cls = make("R", AB, {"a": int, "b": int}, model_config={"title": "Two bytes"})
    assert cls.parse(b"\1\2").b == 2


# -- what a class tells


def test_docs_of_fields_are_those_of_the_record_then_those_of_the_layout():
    class Told(
        Record, layout=Struct("a" / Byte * "from the layout", "b" / Byte * "from the layout", "c" / Byte)
    ):
        """What it is.

        In two lines.
        """

        a: int
        """From the record,
        in two lines."""
        b: int
        c: int

    found = layout_of(Told)
    assert [item.doc for item in found.fields] == ["From the record, in two lines.", "from the layout", ""]
    assert found.doc == "What it is. In two lines."
    assert found.name == "Told"


def test_a_base_without_a_layout_may_hold_what_records_share():
    class Shared(Record):
        """Of no layout."""

        def total(self):
            return sum(self.__dict__.values())

    class Pair(Shared, layout=AB):
        a: int
        b: int

    assert Pair.parse(b"\1\2").total() == 3
    with pytest.raises(SchemaError, match="the class has no layout"):
        Shared.parse(b"")
    with pytest.raises(SchemaError, match="the class has no layout"):
        layout_of(Record)
    with pytest.raises(SchemaError, match="the class has no layout"):
        Shared()


def test_the_same_layout_twice_is_one_layout():
    class Line(Record, layout=Struct("a" / Point.layout, "b" / Point.layout)):
        a: Point
        b: Point

    layout = layout_of(Line)
    assert isinstance(layout["a"].type, Layout)
    assert layout["a"].type == layout["b"].type == layout_of(Point)


def test_a_record_of_bits():
    class Bits(Record, layout=BitStruct("a" / BitsInteger(3), "b" / BitsInteger(5, signed=True))):
        a: Annotated[int, at.Le(6)]
        b: int

    class Holder(Record, layout=Struct("n" / Byte, "bits" / Bits.layout)):
        n: int
        bits: Bits

    found = Holder.parse(b"\x09\xdf")
    assert found == Holder(n=9, bits=Bits(a=6, b=-1))
    assert found.build() == b"\x09\xdf"


# -- where a class stands: all of this module's annotations are text

Small = Annotated[int, at.Le(9)]


def test_a_class_in_a_function_sees_the_function_s_own_classes():
    class Level(enum.IntEnum):
        LOW = 1

    class Inner(Record, layout=Struct("v" / Byte)):
        v: Small

    Pair = tuple[Inner, ...]  # noqa: N806 - a type

    class Outer(Record, layout=Struct("level" / Byte, "i" / Inner.layout, "more" / Inner.layout[2])):
        level: Level
        i: Inner
        more: Pair

    found = Outer.parse(b"\1\2\3\4")
    assert found == Outer(level=Level.LOW, i=Inner(v=2), more=(Inner(v=3), Inner(v=4)))
    assert Outer.model_validate_json(found.model_dump_json()) == found
    with pytest.raises(SchemaError, match=r"^Bad\.i: the annotation int does not fit"):

        class Bad(Record, layout=Struct("i" / Inner.layout)):
            i: int


def test_a_class_in_a_function_in_a_function():
    def outer():
        class Inner(Record, layout=Struct("v" / Byte)):
            v: int

        def inner():
            class Holder(Record, layout=Struct("i" / Inner.layout)):
                i: Inner

            return Holder

        return Inner, inner

    cls, inner = outer()
    try:
        holder = inner()
    except SchemaError as error:
        # Python keeps an enclosing function's name only where the class's own body uses it.
        assert "Inner" in str(error)
    else:
        assert holder.parse(b"\1").i == cls(v=1)


def test_a_class_in_a_class():
    class Space:
        class Inner(Record, layout=Struct("v" / Byte)):
            v: int

        class Outer(Record, layout=Struct("i" / Inner.layout)):
            i: Inner  # noqa: F821 - of the enclosing class

    assert Space.Outer.parse(b"\1") == Space.Outer(i=Space.Inner(v=1))


def test_a_class_behind_a_base_of_its_own():
    class Base(Record):
        pass

    class Level(enum.IntEnum):
        LOW = 1

    class Found(Base, layout=Struct("level" / Byte)):
        level: Level

    assert Found.parse(b"\1").level is Level.LOW


def test_a_record_cannot_name_itself():
    with pytest.raises(SchemaError):

        class Loop(Record, layout=Struct("n" / Byte, "next" / construct.If(this.n > 0, Byte))):
            n: int
            next: Loop | None


def test_a_default_may_be_given():
    class Given(Record, layout=Struct("a" / Byte, "b" / construct.If(this.a > 0, Byte), "c" / Int16ul)):
        a: int = 0
        b: int | None = None
        c: int = Field(default=7)

    assert Given().build() == b"\0\7\0"
    assert Given(a=1, b=2).build() == b"\1\2\7\0"
    assert Given().model_fields_set == {"a", "b", "c"}
    assert Given() == Given.parse(b"\0\7\0")


BAD_DEFAULTS = {
    "too large": (Byte, int, 300),
    "of another type": (Byte, int, True),
    "against a constraint": (Byte, Annotated[int, at.Le(9)], 10),
}


@pytest.mark.parametrize("name", BAD_DEFAULTS)
def test_a_default_that_is_no_value_never_becomes_one(name):
    source, annotation, value = BAD_DEFAULTS[name]
    with pytest.raises((SchemaError, ValueError)):
        make("R", Struct("a" / source), {"a": annotation}, a=value)()


def test_a_default_is_rounded_as_any_other_value():
    cls = make("R", Struct("a" / construct.Float32l), {"a": float}, a=0.1)
    assert cls() == cls(a=0.1)
    assert cls().build() == b"\xcd\xcc\xcc\x3d"

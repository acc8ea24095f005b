"""Validators in plain Python, and rules: when they run, what they may do, and how their refusal reads."""

import enum
import struct
from typing import Annotated

import annotated_types as at
import construct
import pytest
from construct import BitsInteger, BitStruct, Byte, Int16sl, Struct, this
from pydantic import (
    AfterValidator,
    BeforeValidator,
    PrivateAttr,
    ValidationError,
    WrapValidator,
    field_validator,
    model_validator,
)

from tests.schema.record_maker import make
from wirelock import (
    DecodeError,
    EncodeError,
    Protocol,
    Record,
    Rule,
    SchemaError,
    abs_,
    layout_of,
    max_,
    min_,
    versioned,
)
from wirelock.layout.canonical import expression_to_json

ENGINES = ("generated", "reference")
Kind = enum.IntEnum("Kind", {"RED": 1})


def error_of(run, *arguments, **options):
    with pytest.raises((DecodeError, EncodeError)) as caught:
        run(*arguments, **options)
    return caught.value


def fault_of(run, *arguments, **options):
    return error_of(run, *arguments, **options).fault


# -- every way in which pydantic lets Python look at a value


def under_nine(value):
    if isinstance(value, int) and value >= 9:
        raise ValueError("nine or more")
    return value


def by_field(name):
    def check(cls, value):
        return under_nine(value)

    return field_validator(name)(classmethod(check))


class ByModel(Record, layout=Struct("n" / Byte, "x" / Byte)):
    n: int
    x: int

    @model_validator(mode="after")
    def check(self):
        under_nine(self.x)
        return self


class ByPostInit(Record, layout=Struct("n" / Byte, "x" / Byte)):
    n: int
    x: int

    def model_post_init(self, context):
        under_nine(self.x)


class ByRawModel(Record, layout=Struct("n" / Byte, "x" / Byte)):
    n: int
    x: int

    @model_validator(mode="before")
    @classmethod
    def check(cls, data):
        under_nine(data["x"])
        return data


class ByBase(Record):
    @model_validator(mode="after")
    def check(self):
        under_nine(self.x)
        return self


class Inherited(ByBase, layout=Struct("n" / Byte, "x" / Byte)):
    n: int
    x: int


def x(annotation, source=Byte, **members):
    return make("R", Struct("n" / Byte, "x" / source), {"n": int, "x": annotation}, **members)


WAYS = {
    "AfterValidator": (x(Annotated[int, AfterValidator(under_nine)]), "x"),
    "BeforeValidator": (x(Annotated[int, BeforeValidator(under_nine)]), "x"),
    "WrapValidator": (x(Annotated[int, WrapValidator(lambda value, run: under_nine(run(value)))]), "x"),
    "Predicate": (x(Annotated[int, at.Predicate(lambda value: value < 9)]), "x"),
    "field_validator": (x(int, check=by_field("x")), "x"),
    "field_validator of all": (x(int, check=by_field("*")), "x"),
    "model_validator after": (ByModel, ""),
    "model_validator before": (ByRawModel, ""),
    "a base's model_validator": (Inherited, ""),
    "model_post_init": (ByPostInit, ""),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WAYS)
def test_a_validator_runs_on_parsing(name, engine):
    cls, path = WAYS[name]
    assert cls.parse(b"\1\5", engine=engine) == cls(n=1, x=5)
    fault = fault_of(cls.parse, b"\1\x09", engine=engine)
    assert (fault.code, fault.path) == ("validator", path)
    assert fault.byte == (1 if path else 0)
    assert "nine or more" in fault.message or "Predicate" in fault.message


@pytest.mark.parametrize("name", WAYS)
def test_a_validator_runs_by_hand(name):
    with pytest.raises(ValidationError):
        WAYS[name][0](n=1, x=9)


@pytest.mark.parametrize("name", WAYS)
def test_the_layout_says_that_python_is_needed(name):
    assert layout_of(WAYS[name][0]).validators != ()


def test_a_layout_without_python_says_so():
    assert layout_of(x(Annotated[int, at.Le(9)])).validators == ()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WAYS)
def test_what_the_wire_refuses_no_validator_sees(name, engine):
    """Structure first, then values, then validators: one fault, and always the same."""
    fault = fault_of(WAYS[name][0].parse, b"\1", engine=engine)
    assert (fault.code, fault.path) == ("truncated", "x")
    fault = fault_of(WAYS[name][0].parse, b"\1\x09\0", engine=engine)
    assert fault.code == "trailing-bytes"


# -- where the fault is

SEVEN = Annotated[int, AfterValidator(under_nine)]
Inner = make("Inner", Struct("a" / Byte, "b" / Byte), {"a": int, "b": SEVEN})
PLACES = {
    "a field": (Struct("n" / Byte, "x" / Byte), {"n": int, "x": SEVEN}, "0109", "x", 1, ()),
    "an element": (
        Struct("n" / Byte, "x" / Byte[3]),
        {"n": int, "x": tuple[SEVEN, ...]},
        "01010109",
        "x[2]",
        3,
        (),
    ),
    "a field of a record": (
        Struct("n" / Byte, "x" / Inner.layout),
        {"n": int, "x": Inner},
        "010109",
        "x.b",
        2,
        (),
    ),
    "a field of an element": (
        Struct("n" / Byte, "x" / construct.PrefixedArray(Byte, Inner.layout)),
        {"n": int, "x": tuple[Inner, ...]},
        "01020101" + "0109",
        "x[1].b",
        5,
        (),
    ),
    "what may be absent": (
        Struct("n" / Byte, "x" / construct.If(this.n > 0, Byte)),
        {"n": int, "x": SEVEN | None},
        "0109",
        "x",
        1,
        (),
    ),
    "a case": (
        Struct("n" / Byte, "x" / construct.Switch(this.n, {1: Inner.layout, 2: construct.Bytes(2)})),
        {"n": int, "x": Inner | bytes},
        "010109",
        "x.b",
        2,
        (),
    ),
    "behind what has no fixed size": (
        Struct("d" / construct.PrefixedArray(Byte, Byte), "x" / Byte),
        {"d": tuple[int, ...], "x": SEVEN},
        "02010109",
        "x",
        3,
        (),
    ),
    "some bits": (
        BitStruct("a" / BitsInteger(3), "x" / BitsInteger(5)),
        {"a": int, "x": SEVEN},
        "29",
        "x",
        0,
        ((0, 0x1F),),
    ),
    "a whole array": (
        Struct("n" / Byte, "x" / Byte[2]),
        {"n": int, "x": Annotated[tuple[int, ...], at.Predicate(lambda value: sum(value) < 9)]},
        "010109",
        "x",
        1,
        (),
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PLACES)
def test_a_validator_s_fault_has_the_place_of_its_field(name, engine):
    source, annotations, octets, path, byte, pieces = PLACES[name]
    cls = make("R", source, annotations)
    fault = fault_of(cls.parse, bytes.fromhex(octets), engine=engine)
    assert (fault.code, fault.path, fault.byte, fault.pieces) == ("validator", path, byte, pieces)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fault_in_a_prefix_counts_from_the_record_s_start(engine):
    cls = x(SEVEN)
    protocol = Protocol("p", {1: cls}, repeats=True)
    with pytest.raises(DecodeError) as caught:
        list(protocol.parse_all(b"\1\2\3\x09", version=1, engine=engine))
    assert (caught.value.path, caught.value.byte) == ("[1].x", 3)


# -- a validator may refuse, never change

CHANGES = {
    "another value": lambda value: 5,
    "another type": lambda value: bool(value),
    "nothing": lambda value: None,
    "text": lambda value: str(value),
    "a value that does not fit": lambda value: 256,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CHANGES)
def test_a_validator_that_changes_a_value_is_a_fault(name, engine):
    cls = x(Annotated[int, AfterValidator(CHANGES[name])])
    fault = fault_of(cls.parse, b"\1\1", engine=engine)
    assert fault.code == "validator"


def test_both_engines_word_a_change_alike():
    cls = x(Annotated[int, AfterValidator(lambda value: 5)])
    first, second = (fault_of(cls.parse, b"\1\1", engine=engine) for engine in ENGINES)
    assert first == second


class Meddler(Record, layout=Struct("n" / Byte, "x" / Byte)):
    n: int
    x: int

    @model_validator(mode="after")
    def meddle(self):
        if self.n == 1:
            self.__dict__["x"] = 5
        if self.n == 2:
            return self.model_copy(update={"x": 5})
        if self.n == 3:
            self.__dict__["x"] = "5"
        return self


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_validator_that_changes_the_record_is_a_fault(n, engine):
    assert fault_of(Meddler.parse, bytes([n, 7]), engine=engine).code == "validator"
    assert Meddler.parse(b"\0\7", engine=engine).x == 7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_validator_that_hands_back_an_equal_value_is_no_fault(engine):
    cls = x(Annotated[int, AfterValidator(lambda value: value + 0)])
    assert cls.parse(b"\1\1", engine=engine) == cls(n=1, x=1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_validator_sees_floats_bit_for_bit(engine):
    seen = []
    cls = x(
        Annotated[float, AfterValidator(lambda value: seen.append(struct.pack(">d", value)) or value)],
        construct.Float32b,
    )
    data = b"\1" + bytes.fromhex("7fc00001")
    assert cls.parse(data, engine=engine).build() == data
    assert set(seen) == {bytes.fromhex("7ff8000020000000")}


def test_a_refusal_of_many_lines_reads_as_one():
    def refuse(value):
        raise ValueError("first\n  second\nthird")

    error = error_of(x(Annotated[int, AfterValidator(refuse)]).parse, b"\1\1")
    assert "\n" not in str(error)
    assert "first" in str(error)


# -- private attributes and post-init


class Cached(Record, layout=Struct("n" / Byte, "x" / Byte)):
    n: int
    x: int
    _sum: int = PrivateAttr(default=0)

    def model_post_init(self, context):
        self._sum = self.n + self.x


@pytest.mark.parametrize("engine", ENGINES)
def test_private_attributes_are_set_on_parsing_too(engine):
    found = Cached.parse(b"\2\3", engine=engine)
    assert found._sum == Cached(n=2, x=3)._sum == 5
    assert found == Cached(n=2, x=3)
    assert found.build() == b"\2\3"
    assert Cached.parse_prefix(b"\2\3\4", engine=engine)[0]._sum == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_record_inside_gets_its_private_attributes(engine):
    outer = make("Outer", Struct("c" / Cached.layout[2]), {"c": tuple[Cached, ...]})
    assert [item._sum for item in outer.parse(b"\1\2\3\4", engine=engine).c] == [3, 7]


# -- rules


class Box(
    Record,
    layout=Struct("low" / Int16sl, "high" / Int16sl, "k" / Byte),
    rules=(
        Rule("order", this.low <= this.high, "low comes first"),
        Rule("near", abs_(this.low) + abs_(this.high) < 40000),
        Rule("known", (this.k == 1) | (this.k == 2) | (min_(this.k, max_(this.low, 0)) == 0)),
    ),
):
    low: int
    high: int
    k: Annotated[int, at.Le(5)]


def box(low, high, k):
    return struct.pack("<hhB", low, high, k)


VERDICTS = {
    "all hold": (1, 2, 1, None),
    "the first": (3, 2, 1, "rule:order"),
    "the second": (-30000, 30000, 1, "rule:near"),
    "the third": (1, 2, 3, "rule:known"),
    "the first of two": (30001, 30000, 1, "rule:order"),
    "a value before a rule": (3, 2, 6, "out-of-range"),
    "the ends": (-32768, -32768, 1, "rule:near"),
    "zero saves it": (0, 0, 3, None),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", VERDICTS)
def test_rules_on_parsing_building_and_by_hand(name, engine):
    low, high, k, code = VERDICTS[name]
    good = Box(low=1, high=2, k=1)
    update = {"low": low, "high": high, "k": k}
    if code is None:
        assert Box.parse(box(low, high, k), engine=engine) == Box(**update)
        assert good.model_copy(update=update).build(engine=engine) == box(low, high, k)
        return
    assert fault_of(Box.parse, box(low, high, k), engine=engine).code == code
    assert fault_of(good.model_copy(update=update).build, engine=engine).code == code
    with pytest.raises(ValidationError) as caught:
        Box(**update)
    if code.startswith("rule:"):
        assert caught.value.errors()[0]["type"] == code


def test_how_a_broken_rule_reads():
    error = error_of(Box.parse, box(3, 2, 1))
    assert str(error) == "Box: the rule order does not hold: low comes first (byte 0)"
    error = error_of(Box.parse, box(1, 2, 3))
    assert str(error) == "Box: the rule known does not hold (byte 0)"
    error = error_of(Box(low=1, high=2, k=1).model_copy(update={"low": 3}).build)
    assert str(error) == "Box: the rule order does not hold: low comes first"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_of_a_record_inside_is_placed(engine):
    holder = make("Holder", Struct("n" / Byte, "boxes" / Box.layout[2]), {"n": int, "boxes": tuple[Box, ...]})
    fault = fault_of(holder.parse, b"\7" + box(1, 2, 1) + box(3, 2, 1), engine=engine)
    assert (fault.code, fault.path, fault.byte) == ("rule:order", "boxes[1]", 6)


BAD_RULES = {
    "an empty name": (Rule("", this.a > 1), "the name is not lower-case words with hyphens"),
    "a capital": (Rule("Small", this.a > 1), "the name is not lower-case words"),
    "a space": (Rule("very small", this.a > 1), "the name is not lower-case words"),
    "an underscore": (Rule("very_small", this.a > 1), "the name is not lower-case words"),
    "a constant": (Rule("small", True), "the condition is always True"),
    "a lambda": (Rule("small", lambda ctx: ctx.a is None), "`is`"),
    "no such field": (Rule("small", this.b > 1), "`b` is not a field"),
    "around the record": (Rule("small", this._.b > 1), "reads fields around the record"),
    "a member that is none": (Rule("small", this.k == "GREEN"), "is no member of `k`"),
    "true division": (Rule("small", this.a / 2 > 1), "`/` is not known to all engines"),
}


@pytest.mark.parametrize("name", BAD_RULES)
def test_what_is_no_rule(name):
    rule, problem = BAD_RULES[name]
    source = Struct("a" / Byte, "k" / construct.Enum(Byte, RED=1))
    with pytest.raises(SchemaError) as caught:
        make("R", source, {"a": int, "k": int if name != "a member that is none" else Kind}, rules=(rule,))
    assert caught.value.path == f"R: rule {rule.name}"
    assert problem in caught.value.problem


def test_two_rules_of_one_name():
    with pytest.raises(SchemaError, match="two rules have this name"):
        make("R", Struct("a" / Byte), {"a": int}, rules=(Rule("a", this.a > 1), Rule("a", this.a > 2)))


def test_a_rule_sees_what_the_record_makes_of_the_layout():
    """Over an integer that the record reads as an enumeration, a rule may name its members."""
    cls = make(
        "R", Struct("k" / Byte, "b" / Byte), {"k": Kind, "b": int}, rules=(Rule("red", this.k == "RED"),)
    )
    assert expression_to_json(layout_of(cls).rules[0].expression) == ["==", "k", 1]


def test_rules_may_come_from_any_iterable():
    cls = make("R", Struct("a" / Byte), {"a": int}, rules=iter([Rule("small", this.a < 5)]))
    assert fault_of(cls.parse, b"\5").code == "rule:small"


def test_a_message_of_many_lines_reads_as_one():
    cls = make("R", Struct("a" / Byte), {"a": int}, rules=(Rule("small", this.a < 5, "first\nsecond"),))
    assert "\n" not in str(error_of(cls.parse, b"\5"))


def test_a_version_of_a_validator_is_part_of_the_layout():
    def record(version):
        def small(value):
            return value

        if version:
            small = versioned(version)(small)

        class Small(Record, layout=Struct("x" / Byte)):
            x: Annotated[int, AfterValidator(small)]

            @field_validator("x")
            @classmethod
            @versioned(version or 1)
            def check(cls, value):
                return value

        return layout_of(Small).validators

    names = [name.rpartition(".")[2] for name in record(2)]
    assert names == ["after validator check version 2 of x", "small version 2 of x"]
    assert record(None)[1].endswith("small of x") and record(3) != record(2)
    for version in (0, True, "1"):
        with pytest.raises(SchemaError, match="count versions from 1"):
            versioned(version)

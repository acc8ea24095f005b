"""What is too large, too deep or badly named for engines is refused when the class is made, or just works."""

from __future__ import annotations

import pickle
import time
from typing import Annotated

import annotated_types as at
import construct
import pytest
from construct import (
    Array,
    BitsInteger,
    Bitwise,
    BytesInteger,
    Flag,
    Int8ub,
    Int16ul,
    Pass,
    Struct,
    Switch,
    this,
)

from tests.schema.record_maker import make
from wirelock import DecodeError, EncodeError, Record, Rule, SchemaError, abs_


def doubled(times: int) -> object:
    expression = this.a
    for _ in range(times):
        expression = (expression & 255) + (expression & 255)
    return expression


def nested(times: int) -> object:
    expression = this.a
    for _ in range(times):
        expression = abs_(expression - 1)
    return expression


LAYOUTS = {
    "a wide integer": (Struct("a" / BytesInteger(513)), "4096"),
    "a wide bit region": (Struct("a" / Bitwise(Array(1 << 15, Flag))), "16384"),
    "many cases": (
        Struct("a" / Int16ul, "b" / Switch(this.a, dict.fromkeys(range(1001), Int8ub))),
        "1000 are the most",
    ),
    "many elements of no size": (Struct("a" / Array(1 << 20, Pass)), "no size"),
    "a wide field below a byte": (
        Struct("a" / Bitwise(Struct("x" / BitsInteger(4097), "y" / BitsInteger(7)))),
        "4096",
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_beyond_a_limit_are_refused(name: str) -> None:
    source, told = LAYOUTS[name]
    with pytest.raises(SchemaError, match=told):
        make("R", source, dict.fromkeys([part.name for part in source.subcons], int))


@pytest.mark.parametrize(
    "expression", [doubled(40) >= 0, nested(200) >= 0, nested(2000) >= 0], ids=["shared", "deep", "deeper"]
)
def test_expressions_beyond_a_limit_are_refused_at_once(expression: object) -> None:
    start = time.monotonic()
    with pytest.raises(SchemaError, match="2000 parts and 60 levels"):
        make("R", Struct("a" / Int8ub), {"a": int}, rules=[Rule("q", expression)])
    assert time.monotonic() - start < 5


def test_a_float_is_compared_with_what_a_float_holds() -> None:
    with pytest.raises(SchemaError, match="more than a float holds"):
        make("R", Struct("f" / construct.Float32l), {"f": float}, rules=[Rule("q", this.f < 10**400)])


@pytest.mark.parametrize("engine", ["generated", "reference"])
def test_a_field_may_be_called_as_a_format_of_the_generated_code(engine: str) -> None:
    class R(Record, layout=Struct("n" / Int8ub, "STRUCT_1" / Int8ub, "x" / Int16ul)):
        n: int
        STRUCT_1: int
        x: int

    assert R.parse(b"\1\2\3\4", engine=engine) == R(n=1, STRUCT_1=2, x=0x0403)
    assert R(n=1, STRUCT_1=2, x=3).build(engine=engine) == b"\1\2\3\0"


@pytest.mark.parametrize("engine", ["generated", "reference"])
def test_the_widest_integer_has_faults_and_json_like_any_other(engine: str) -> None:
    class R(Record, layout=Struct("a" / BytesInteger(512), "b" / BytesInteger(512))):
        a: Annotated[int, at.Le(5)]
        b: int

    with pytest.raises(DecodeError, match=r"0xffff.* is not in 0\.\.5"):
        R.parse(b"\xff" * 1024, engine=engine)
    good = R.parse(bytes(512) + b"\xff" * 512, engine=engine)
    assert R.model_validate_json(good.model_dump_json()) == good
    with pytest.raises(EncodeError, match="is not in 0"):
        good.model_copy(update={"b": 10**5000}).build(engine=engine)


def test_methods_that_make_parse_or_build_cannot_be_replaced() -> None:
    for name in ("__init__", "_complete", "parse", "build", "model_validate"):
        with pytest.raises(SchemaError, match="cannot replace how it is made"):
            type(Record)(
                "R",
                (Record,),
                {"__annotations__": {"a": int}, name: lambda self: None},
                layout=Struct("a" / Int8ub),
            )


def test_the_digest_knows_which_function_validates_which_field() -> None:
    from pydantic import AfterValidator, field_validator

    from wirelock.layout.canonical import digest
    from wirelock.schema.record import layout_of

    def below_three(value: int) -> int:
        return value

    def below_ten(value: int) -> int:
        return value

    found = set()
    for function in (below_three, below_ten):
        found.add(
            digest(
                layout_of(make("R", Struct("a" / Int8ub), {"a": Annotated[int, AfterValidator(function)]}))
            )
        )
    for field in ("a", "b"):

        class R(Record, layout=Struct("a" / Int8ub, "b" / Int8ub)):
            a: int
            b: int

            @field_validator(field)
            @classmethod
            def small(cls, value: int) -> int:
                return value

        found.add(digest(layout_of(R)))
    assert len(found) == 4


@pytest.mark.parametrize("engine", ["generated", "reference"])
def test_a_validator_that_stumbles_over_bytes_is_a_fault_of_the_bytes(engine: str) -> None:
    from pydantic import AfterValidator

    annotation = Annotated[int, AfterValidator(lambda value: value + 0 * (1 // (value - 3)))]
    record = make("R", Struct("a" / Int8ub), {"a": annotation})
    assert record.parse(b"\4", engine=engine).a == 4
    with pytest.raises(DecodeError, match="ZeroDivisionError in a Python validator") as caught:
        record.parse(b"\3", engine=engine)
    assert caught.value.code == "validator"


def test_what_was_parsed_goes_to_other_processes() -> None:
    from protocol import PROTOCOLS
    from protocol.snapshot import SnapshotV2

    parsed = PROTOCOLS.parse(SnapshotV2(tick=1, entities=()).build())
    again = pickle.loads(pickle.dumps(parsed))
    assert (again.label, again.record) == (parsed.label, parsed.record)
    assert again.protocol.parse(parsed.record.build()) == parsed.record
    with pytest.raises(ValueError, match="has no version True"):
        PROTOCOLS["rotation"].parse(bytes(7), version=True)


def test_choices_inside_of_choices_are_read_once_each() -> None:
    source = Int8ub
    for _ in range(40):
        source = Switch(this.a, {1: source})
    start = time.monotonic()
    record = make("R", Struct("a" / Int8ub, "b" / source), {"a": int, "b": int})
    assert time.monotonic() - start < 5
    assert record.parse(b"\1\7").b == 7

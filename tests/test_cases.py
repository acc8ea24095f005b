"""Faults that people reported of tools of this kind: small inputs, and the right answer by each engine."""

from __future__ import annotations

import enum
import struct
import time
import tracemalloc
from typing import Any

import pytest
from construct import (
    Array,
    Byte,
    Bytes,
    Const,
    CString,
    Enum,
    FixedSized,
    Flag,
    FlagsEnum,
    Float32b,
    GreedyBytes,
    GreedyRange,
    If,
    Int8ul,
    Int16sb,
    Int16ub,
    Int16ul,
    Int24ul,
    Int32ul,
    LazyBound,
    Padding,
    Pass,
    Prefixed,
    PrefixedArray,
    Rebuild,
    Struct,
    Switch,
    VarInt,
    len_,
    this,
)
from pydantic import ValidationError

from tests.schema.record_maker import make
from wirelock import DecodeError, EncodeError, Record, Rule, SchemaError, abs_, layout_of
from wirelock.layout.terms import Number, Operation, Path

ENGINES = ["generated", "reference"]
engines = pytest.mark.parametrize("engine", ENGINES)
Ints = tuple[int, ...]


class Kind(enum.IntEnum):
    A = 1
    B = 2


class Bits(enum.IntFlag):
    A = 1


class Item(Record, layout=Struct("k" / Const(b"\x01"), "v" / Byte)):
    k: bytes
    v: int


class Wide(Record, layout=Struct("a" / Int16ub)):
    a: int


def one(kind: Any, annotation: Any, name: str = "x") -> type[Record]:
    """Return a record of one field."""
    return make("R", Struct(name / kind), {name: annotation})


COUNTED = make("R", Struct("n" / Byte, "d" / Bytes(this.n)), {"n": int, "d": bytes})
SIZED = make(
    "R",
    Struct("size" / Rebuild(Int16ub, len_(this.data)), "data" / Prefixed(Byte, GreedyRange(Item.layout))),
    {"size": int, "data": tuple[Item, ...]},
)
SIZED_BYTES = make(
    "R",
    Struct("size" / Rebuild(Int16ub, len_(this.data)), "data" / Prefixed(Byte, GreedyBytes)),
    {"size": int, "data": bytes},
)
THREE = make("R", Struct("items" / Array(3, Wide.layout)), {"items": tuple[Wide, ...]})

# what happens: (record, bytes, (code, path, byte, found, allowed)), None where the words are free
FAULTS: dict[str, tuple[type[Record], str, tuple[str, str, int, str | None, str | None]]] = {
    "bytes shorter than their length": (COUNTED, "05 61 62", ("truncated", "d", 1, "2", "5")),
    "a record that ends early in a range": (
        one(GreedyRange(Item.layout), tuple[Item, ...]),
        "01 05 02 07",
        ("constant", "x[1].k", 2, "02", "01"),
    ),
    "padding that is not zero": (
        make("R", Struct(Padding(2)), {}), "00 07", ("not-canonical", "padding#0", 1, None, None),
    ),
    "a signalling NaN": (one(Float32b, float), "7f 81 00 00", ("not-canonical", "x", 0, None, None)),
    "a varint longer than needed": (one(VarInt, int), "80 00", ("not-canonical", "x", 0, "80 00", "00")),
    "the third element of an array": (THREE, "00 01 00 02 00", ("truncated", "items[2].a", 4, "1", "2")),
    "bytes behind the last field": (one(Byte, int), "01 02 03", ("trailing-bytes", "", 1, "2", "0")),
    "a size that counts elements": (SIZED, "00 04 04 01 05 01 06", ("bad-count", "size", 0, "4", "2")),
    "a size that counts bytes": (SIZED_BYTES, "00 03 02 05 06", ("bad-count", "size", 0, "3", "2")),
    "a Flag byte of 2": (one(Flag, bool), "02", ("not-canonical", "x", 0, "2", "1")),
    "an unknown flag": (one(FlagsEnum(Byte, A=1), Bits), "03", ("not-canonical", "x", 0, "0x3", "0x1")),
    "bytes left in Prefixed": (
        one(Prefixed(Byte, Item.layout), Item), "03 01 05 07", ("trailing-bytes", "x", 3, "1", "0"),
    ),
    "bytes left in FixedSized": (
        one(FixedSized(3, Item.layout), Item), "01 05 07", ("trailing-bytes", "x", 2, "1", "0"),
    ),
}  # fmt: skip


@engines
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_says_what_and_where(name: str, engine: str) -> None:
    record, data, (code, path, byte, found, allowed) = FAULTS[name]
    with pytest.raises(DecodeError) as caught:
        record.parse(bytes.fromhex(data), engine=engine)
    fault = caught.value.fault
    assert (fault.code, fault.path, fault.byte) == (code, path, byte)
    assert found is None or (fault.found, fault.allowed) == (found, allowed)


def test_an_element_of_no_size_has_no_count() -> None:
    with pytest.raises(SchemaError, match="no bounded count"):
        one(PrefixedArray(Int24ul, Pass), tuple[None, ...])


@engines
def test_a_huge_count_is_a_fault_at_once(engine: str) -> None:
    record = one(PrefixedArray(Int32ul, Int16ul), Ints)
    record.parse(bytes(4), engine=engine)  # the engine is made
    tracemalloc.start()
    started = time.perf_counter()
    with pytest.raises(DecodeError) as caught:
        record.parse(bytes.fromhex("ff ff ff 7f 00 00"), engine=engine)
    took, (_, peak) = time.perf_counter() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    fault = caught.value.fault
    assert (fault.code, fault.path, fault.byte) == ("truncated", "x[1]", 6)
    assert (fault.found, fault.allowed) == ("0", "2")
    assert took < 1 and peak < 1 << 20


@engines
@pytest.mark.parametrize("key", [this.kind, lambda ctx: ctx.kind], ids=["this", "lambda"])
@pytest.mark.parametrize(("kind", "annotation"), [(Enum(Byte, Kind), Kind), (Byte, int)], ids=["enum", "int"])
def test_members_are_keys_of_a_switch(kind: Any, annotation: Any, key: Any, engine: str) -> None:
    source = Struct("kind" / kind, "v" / Switch(key, {Kind.A: Int8ul, Kind.B: Int16ul}))
    record = make("R", source, {"kind": annotation, "v": int})
    for data, value in (("01 07", (1, 7)), ("02 07 01", (2, 263))):
        found = record.parse(bytes.fromhex(data), engine=engine)
        assert (found.kind, found.v) == value
        assert found.build(engine=engine) == bytes.fromhex(data)
    with pytest.raises(DecodeError) as caught:
        record.parse(b"\3\7", engine=engine)
    assert caught.value.fault.code == "unknown-case"


@engines
def test_a_block_is_as_long_as_the_wire_says(engine: str) -> None:
    """V10: blocks of a later version are longer; the next one starts where the received size says."""

    class Block(Record, layout=Struct("a" / Byte, "later" / GreedyBytes)):
        a: int
        later: bytes

    class Blocks(Record, layout=Struct("blocks" / Array(2, Prefixed(Byte, Block.layout)), "end" / Byte)):
        blocks: tuple[Block, ...]
        end: int

    data = bytes.fromhex("03 01 aa bb 01 02 09")
    found = Blocks.parse(data, engine=engine)
    assert [(block.a, block.later) for block in found.blocks] == [(1, b"\xaa\xbb"), (2, b"")]
    assert found.end == 9 and found.build(engine=engine) == data

    class Whole(Record, layout=Struct("a" / Byte)):
        a: int

    class Fixed(Record, layout=Struct("block" / Prefixed(Byte, Whole.layout), "end" / Byte)):
        block: Whole
        end: int

    with pytest.raises(DecodeError) as caught:
        Fixed.parse(bytes.fromhex("03 01 aa bb 09"), engine=engine)
    assert (caught.value.fault.code, caught.value.fault.byte) == ("trailing-bytes", 2)


@engines
def test_a_record_holds_the_member_itself(engine: str) -> None:
    assert one(Enum(Byte, Kind), Kind).parse(b"\2", engine=engine).x is Kind.B


@engines
@pytest.mark.parametrize("data", ["7f c1 23 45", "ff c1 23 45", "7f c0 00 00"])
def test_a_quiet_nan_keeps_its_payload(data: str, engine: str) -> None:
    wire = bytes.fromhex(data)
    record = one(Float32b, float)
    value = record.parse(wire, engine=engine)
    assert value.build(engine=engine) == wire
    assert record(x=value.x).build(engine=engine) == wire
    assert struct.pack(">f", value.x) == wire


@engines
def test_a_size_is_written_in_the_unit_of_its_expression(engine: str) -> None:
    items = SIZED(data=(Item(v=5), Item(v=6)))
    assert items.size == 2
    assert items.build(engine=engine) == bytes.fromhex("00 02 04 01 05 01 06")
    assert SIZED.parse(items.build(), engine=engine) == items
    assert SIZED_BYTES(data=b"\5\6").build(engine=engine) == bytes.fromhex("00 02 02 05 06")


def test_the_length_of_a_struct_is_no_count_of_its_keys() -> None:
    source = Struct("size" / Rebuild(Int16ub, len_(this.data)), "data" / Prefixed(Byte, Wide.layout))
    with pytest.raises(SchemaError, match="no length"):
        make("R", source, {"size": int, "data": Wide})


@engines
def test_both_branches_of_a_lambda_are_read(engine: str) -> None:
    source = Struct("count" / Byte, "xs" / Array(lambda this: this.count * 2 if this.count > 3 else 1, Byte))
    record = make("R", source, {"count": int, "xs": Ints})
    count = Path(0, ("count",))
    many = Operation("*", (count, Number(2)))
    expression = Operation("if", (Operation(">", (count, Number(3))), many, Number(1)))
    assert layout_of(record).fields[1].type.count == expression
    assert record.parse(b"\2\7", engine=engine).xs == (7,)
    assert record.parse(b"\4" + b"\7" * 8, engine=engine).xs == (7,) * 8
    with pytest.raises(DecodeError):
        record.parse(b"\4\7", engine=engine)


def deep(levels: int) -> Struct:
    source = Struct("v" / Byte)
    for _ in range(levels):
        source = Struct("v" / source)
    return source


RECURSIVE = Struct("v" / Byte, "next" / LazyBound(lambda: RECURSIVE))
LISTED = Struct("v" / Byte, "next" / If(this.v > 0, LazyBound(lambda: LISTED)))


@pytest.mark.parametrize("source", [deep(2000), RECURSIVE, LISTED], ids=["deep", "recursive", "listed"])
def test_what_is_nested_without_end_is_no_layout(source: Struct) -> None:
    annotations = {part.name: int if part.subcon is Byte else Wide for part in source.subcons}
    with pytest.raises(SchemaError) as caught:
        make("R", source, annotations)
    assert caught.value.remedy


# a count that cannot be an expression: what the error says works
UNTRACEABLE: dict[str, tuple[Any, str]] = {
    "is None": (lambda ctx: 1 if ctx.n is None else 2, "ctx.a == 0"),
    "is not None": (lambda ctx: 1 if ctx.n is not None else 2, "ctx.a == 0"),
    "isinstance": (lambda ctx: 1 if isinstance(ctx.n, int) else 2, "compare the value"),
    "a dict look-up": (lambda ctx: {0: 1, 1: 2}[ctx.n], "2 if ctx.k == 1 else 3"),
    "get of a dict": (lambda ctx: {0: 1}.get(ctx.n, 2), "2 if ctx.k == 1 else 3"),
    "an f-string": (lambda ctx: len(f"{ctx.n}"), "ctx.k == 1"),
    "sum of a generator": (lambda ctx: sum(x for x in ctx.d), "ctx.a + ctx.b"),
    "sum of a range": (lambda ctx: sum(x for x in range(ctx.n)), "ctx.a + ctx.b"),
}


@pytest.mark.parametrize("name", UNTRACEABLE)
def test_a_lambda_that_is_no_expression_is_told_what_works(name: str) -> None:
    function, form = UNTRACEABLE[name]
    source = Struct("n" / Byte, "d" / Array(2, Byte), "xs" / Array(function, Byte))
    with pytest.raises(SchemaError) as caught:
        make("R", source, {"n": int, "d": Ints, "xs": Ints})
    assert caught.value.path == "R.xs"
    assert form in caught.value.remedy


# (construct, annotation, a good value, one that cannot be written)
UNWRITABLE = {
    "text with its terminator inside": (CString("utf8"), str, "a", "a\0b"),
    "three bytes for four": (Bytes(4), bytes, b"abcd", b"abc"),
    "True for an integer": (Byte, int, 1, True),
}


@engines
@pytest.mark.parametrize("name", UNWRITABLE)
def test_nothing_wrong_is_written(name: str, engine: str) -> None:
    kind, annotation, good, bad = UNWRITABLE[name]
    record = one(kind, annotation)
    with pytest.raises(ValidationError):
        record(x=bad)
    with pytest.raises(EncodeError):
        record(x=good).model_copy(update={"x": bad}).build(engine=engine)


RULED = make(
    "R",
    Struct("a" / Int16sb, "x" / Byte, "y" / Byte),
    {"a": int, "x": int, "y": int},
    rules=(Rule("near", abs_(this.a) <= 32767, ""), Rule("less", this.x - this.y >= -1, "")),
)


@engines
@pytest.mark.parametrize(
    ("data", "rule"),
    [
        ("80 00 00 00", "rule:near"),
        ("00 00 00 02", "rule:less"),
        ("00 00 00 ff", "rule:less"),
        ("80 01 00 01", None),
        ("7f ff ff 00", None),
    ],
)
def test_rules_do_not_wrap(data: str, rule: str | None, engine: str) -> None:
    wire = bytes.fromhex(data)
    values = dict(zip(("a", "x", "y"), struct.unpack(">hBB", wire), strict=True))
    copied = RULED(a=0, x=0, y=0).model_copy(update=values)
    if rule is None:
        assert RULED.parse(wire, engine=engine) == RULED(**values)
        assert copied.build(engine=engine) == wire
        return
    with pytest.raises(DecodeError) as parsed:
        RULED.parse(wire, engine=engine)
    with pytest.raises(EncodeError) as built:
        copied.build(engine=engine)
    with pytest.raises(ValidationError) as made:
        RULED(**values)
    assert [parsed.value.code, built.value.code, made.value.errors()[0]["type"]] == [rule] * 3

"""What expressions read beyond plain integers: counts, numbers of elements, and values of other kinds."""

import construct
import pytest
from construct import Array, Byte, Int16ub, Int64sb, Int64ub, PrefixedArray, Struct, len_, this

from wirelock import Rule, SchemaError
from wirelock.layout.canonical import expression_to_json, layout_to_json
from wirelock.layout.expression import Scope, read_condition, read_count, read_expression
from wirelock.layout.from_json import layout_from_json
from wirelock.layout.nodes import (
    Bytes,
    Computed,
    Integer,
    Limited,
    Mapping,
    Padded,
    Prefix,
    Rest,
    Scaled,
    Sized,
    Text,
    Time,
    VarInt,
)
from wirelock.layout.terms import Number, Operation, Path
from wirelock.layout.walk import walk
from wirelock.schema.rules import read_rules

BYTE, WIDE = Integer(8, False, "big"), Integer(64, False, "little")
TYPES = {
    "n": BYTE,
    "v": VarInt(False),
    "z": VarInt(True),
    "c": Computed(Number(3), 1, 9, False),
    "yes": Computed(Number(1), 0, 1, True),
    "s": Scaled(Integer(16, True, "big"), 1, 0, 8, "m", "half-even"),
    "t": Time(Integer(32, False, "big"), "ms", ""),
    "m": Mapping(BYTE, (("red", 1), ("blue", 2), (7, 3))),
    "text": Text(Bytes(4), "utf-8"),
    "sized": Sized(Bytes(Rest()), Prefix(BYTE)),
    "deep": Padded(Limited(walk(Struct("x" / Byte)), ()), 4, 0),
}


def scope():
    found = Scope()
    found.types = dict(TYPES)
    return found


READ = {
    "a VarInt": (this.v < 5, ["<", "v", 5]),
    "a VarInt of 64 bits": (this.v == (1 << 64) - 1, ["==", "v", (1 << 64) - 1]),
    "a VarInt that is not 0": (lambda ctx: ctx.v and ctx.n, ["&", ["!=", "v", 0], ["!=", "n", 0]]),
    "a ZigZag": (this.z // 2 < 5, ["<", ["//", "z", 2], 5]),
    "a Computed": (lambda ctx: ctx.c + 1 > 2 or ctx.yes, ["|", [">", ["+", "c", 1], 2], "yes"]),
    "a Scaled": (lambda ctx: ctx.s < 0.5, ["<", "s", {"float": "0.5"}]),
    "a Time": (lambda ctx: ctx.t > 1000, [">", "t", 1000]),
    "a key of a Mapping": (lambda ctx: ctx.m == "blue", ["==", "m", 2]),
    "a number that is a key": (this.m != 7, ["!=", "m", 3]),
    "a key on the left": ("red" == this.m, ["==", "m", 1]),  # noqa: SIM300 - what is tested
    "bytes of a region": (lambda ctx: len(ctx.sized) > 3, [">", ["len", "sized"], 3]),
    "a field of a padded struct": (lambda ctx: ctx.deep.x > 3, [">", "deep.x", 3]),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name):
    source, expected = READ[name]
    assert expression_to_json(read_condition(source, scope(), "here")) == expected


REFUSED = {
    "a VarInt as a value": (this.v + 1 > 2, "`v` can reach 18446744073709551615", "compare"),
    "a ZigZag beyond": (this.z + 1 > 2, "can reach 9223372036854775808", "narrower"),
    "a Scaled as a value": (this.s + 1 > 2, "`s` is a float", "compared with a constant"),
    "a Mapping as a value": (lambda ctx: ctx.m, "`m` is a Mapping", "this.m == 'red'"),
    "a Mapping in order": (this.m < "red", "compared by < with 'red'", "'red', 'blue', 7"),
    "no key of a Mapping": (this.m == "green", "compared by == with 'green'", "'red', 'blue', 7"),
    "the number behind a key": (this.m == 2, "compared by == with 2", "'red', 'blue', 7"),
    "text": (this.text + 1 > 2, "`text` is text", "an Enum"),
    "text in order": (this.text > "abc", "compared by > with", "== or !="),
    "the length of text": (len_(this.text) > 2, "in characters or bytes?", "as a field"),
    "the length of a number": (len_(this.t) > 2, "`t` has no length", "array or bytes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    source, problem, remedy = REFUSED[name]
    with pytest.raises(SchemaError) as caught:
        read_condition(source, scope(), "here")
    assert caught.value.path == "here"
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


# -- counts


@pytest.mark.parametrize("source", [this.n, lambda ctx: ctx.n], ids=["this", "a lambda"])
def test_a_count_may_have_64_bits(source):
    layout = walk(Struct("n" / Int64ub, "xs" / Array(source, Byte), "d" / construct.Bytes(source)))
    assert layout["xs"].type.count == layout["d"].type.length


def test_a_count_may_leave_int64_in_its_last_operation():
    fields = "n" / construct.Int32ub, "w" / construct.Int32ub
    layout = walk(Struct(*fields, "xs" / Array(this.n * this.w, Byte)))
    assert layout["xs"].type.count == Operation("*", (Path(0, ("n",)), Path(0, ("w",))))


WIDE_COUNTS = {
    "in the middle": ("n" / construct.Int32ub, this.n * this.n * 2),
    "computed": ("n" / Int64ub, this.n + 1),
    "of 72 bits": ("n" / construct.BytesInteger(9), this.n),
}


@pytest.mark.parametrize("name", WIDE_COUNTS)
def test_a_count_is_compared_only(name):
    field, count = WIDE_COUNTS[name]
    with pytest.raises(SchemaError, match="outside of int64"):
        walk(Struct(field, "xs" / Array(count, Byte)))


def test_a_count_is_read_as_any_other():
    assert read_count(this.n * 2, scope(), "xs") == read_expression(this.n * 2, scope(), "xs")
    assert read_count(7, scope(), "xs") == Number(7)


# -- the number of the element


INDEX = ["+", ["index"], 1]
COUNTED = {
    "the element of an Array": (Array(3, construct.Bytes(this._index + 1)), ["of", "length"]),
    "the element of a PrefixedArray": (
        PrefixedArray(Byte, Struct("a" / Byte, "d" / construct.Bytes(this._index + 1))),
        ["of", "fields", 1, "length"],
    ),
    "by a lambda": (Array(3, construct.Bytes(lambda ctx: ctx._index + 1)), ["of", "length"]),
    "a field of an element": (
        Array(3, Struct("d" / construct.Bytes(this._index + 1))),
        ["of", "fields", 0, "length"],
    ),
    "an inner array": (Array(3, Array(2, construct.Bytes(this._index + 1))), ["of", "of", "length"]),
}


@pytest.mark.parametrize("name", COUNTED)
def test_the_number_of_the_element(name):
    source, way = COUNTED[name]
    layout = walk(Struct("xs" / source))
    found = layout_to_json(layout)["fields"][0]
    for step in way:
        found = found[step]
    assert found == INDEX
    assert layout_from_json(layout_to_json(layout)) == layout


UNCOUNTED = {
    "behind an array": ("d" / construct.Bytes(this._index),),
    "behind an array in an element": (
        "ys" / Array(2, Struct("zs" / Array(2, Byte), "d" / construct.Bytes(this._index))),
    ),
}


@pytest.mark.parametrize("name", UNCOUNTED)
def test_no_array_counts_here(name):
    with pytest.raises(SchemaError, match="`_index` is not known here"):
        walk(Struct("xs" / Array(2, Byte), *UNCOUNTED[name]))


def test_a_rule_has_no_number_of_an_element():
    with pytest.raises(SchemaError, match="the rule reads fields around the record"):
        read_rules([Rule("small", this._index < 3)], walk(Struct("a" / Int16ub, "b" / Int64sb)))

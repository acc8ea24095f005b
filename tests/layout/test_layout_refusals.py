"""What the walk refuses: a SchemaError with the path of the field, the problem, and a remedy."""

import enum
import functools

import construct
import pytest
from construct import BitsInteger, BitStruct, Byte, Bytewise, Flag, Padding, Struct, len_, this

from wirelock import SchemaError
from wirelock.checksums import xor8
from wirelock.layout.limits import MAX_ARRAY_DEPTH, MAX_DEPTH
from wirelock.layout.walk import walk


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Custom(construct.Adapter):
    def _decode(self, obj, context, path):
        return obj

    _encode = _decode


def nested(wrap, levels, inner=Byte):
    return functools.reduce(lambda source, _: wrap(source), range(levels), inner)


def x(source):
    """A field x behind a byte n."""
    return Struct("n" / Byte, "x" / source)


def bits(source):
    return BitStruct("n" / construct.Octet, "x" / source)


def structs(levels):
    return nested(lambda inner: Struct("v" / inner), levels)


def arrays(levels):
    return x(nested(lambda inner: construct.Array(2, inner), levels))


LATE = construct.LazyBound(lambda: LATE)
LINKED = Struct("v" / Byte, "next" / construct.If(this.v > 0, construct.LazyBound(lambda: LINKED)))


def tree():
    """A Struct that contains itself by way of a table that was filled later."""
    cases = {0: Byte}
    node = Struct("t" / Byte, "body" / construct.Switch(this.t, cases))
    cases[1] = Struct("a" / node, "b" / node)
    return node


def growing():
    return Struct("a" / construct.LazyBound(growing), "b" / construct.LazyBound(growing))


REFUSALS = {
    # what is no layout at all
    "no construct": (5, "", "5 is no construct"),
    "no Struct": (Byte, "", "FormatField has no named fields"),
    "an array at the top": (construct.Array(2, Byte), "", "Array has no named fields"),
    # numbers
    "native order": (x(construct.Int16un), "x", "byte order is the machine's own"),
    "native order of a float": (x(construct.Float32n), "x", "byte order is the machine's own"),
    "BytesInteger of a width from the wire": (
        x(construct.BytesInteger(this.n)),
        "x",
        "the width or byte order depends on other fields",
    ),
    "BytesInteger of a lambda's width": (
        x(construct.BytesInteger(lambda ctx: 2)),
        "x",
        "the width or byte order depends on other fields",
    ),
    "BytesInteger swapped by the wire": (
        x(construct.BytesInteger(2, swapped=this.n)),
        "x",
        "the width or byte order depends on other fields",
    ),
    "BytesInteger of no width": (x(construct.BytesInteger(0)), "x", "an integer of 0 bits"),
    "BitsInteger of a width from the wire": (
        Struct("n" / Byte, "b" / construct.Bitwise(Struct("x" / BitsInteger(this._.n)))),
        "b",
        "a bit region must have a fixed size",
    ),
    # bit regions
    "a region of twelve bits": (
        Struct("n" / Byte, "x" / BitStruct("a" / BitsInteger(4), "b" / BitsInteger(8))),
        "x",
        "a bit region of 12 bits",
    ),
    "a top region of twelve bits": (BitStruct("a" / BitsInteger(12)), "", "a bit region of 12 bits"),
    "Int8ub among bits": (bits(construct.Int8ub), "x", "would read one byte a bit"),
    "Int16ul among bits": (bits(construct.Int16ul), "x", "would read one byte a bit"),
    "Bytes among bits": (bits(construct.Bytes(1)), "x", "would read one byte a bit"),
    "BytesInteger among bits": (bits(construct.BytesInteger(1)), "x", "would read one byte a bit"),
    "a Const of bytes among bits": (bits(construct.Const(b"x")), "x", "would read one byte a bit"),
    "BitsInteger among bytes": (x(BitsInteger(8)), "x", "BitsInteger outside of a bit region"),
    "Bytewise among bytes": (x(Bytewise(Byte)), "x", "Bytewise outside of a bit region"),
    "a region inside a region": (
        bits(BitStruct("a" / BitsInteger(8))),
        "x",
        "a bit region inside a bit region",
    ),
    "swapped bits that are no bytes": (
        bits(BitsInteger(12, swapped=True)),
        "x",
        "12 swapped bits are no whole bytes",
    ),
    "If among bits": (bits(construct.If(this.n > 0, construct.Octet)), "", "must have a fixed size"),
    "Switch among bits": (
        bits(construct.Switch(1, {1: construct.Octet}, construct.Octet)),
        "x",
        "Switch inside a bit region",
    ),
    "an Array from the wire among bits": (
        bits(construct.Array(this.n, construct.Octet)),
        "",
        "must have a fixed size",
    ),
    "PrefixedArray among bits": (
        bits(construct.PrefixedArray(construct.Octet, construct.Octet)),
        "",
        "must have a fixed size",
    ),
    "Padding from the wire among bits": (bits(Padding(this.n)), "", "must have a fixed size"),
    "a pattern of bytes among bits": (
        bits(Padding(8, pattern=b"\xff")),
        "x",
        r"the pattern b'\xff' inside a bit region",
    ),
    "structs of five bits": (
        BitStruct("x" / construct.Array(8, Struct("a" / BitsInteger(5)))),
        "x",
        "an array of layouts that are no whole bytes",
    ),
    "BitsSwapped": (x(construct.BitsSwapped(Byte)), "x", "BitsSwapped around anything but"),
    "ByteSwapped": (x(construct.ByteSwapped(construct.Bytes(3))), "x", "ByteSwapped around anything but"),
    # names
    "an unnamed integer": (Struct("n" / Byte, Byte), "integer#1", "must be constant or computed"),
    "an unnamed If": (
        Struct("n" / Byte, construct.If(this.n > 0, Byte)),
        "if#1",
        "must be constant or computed",
    ),
    "an unnamed If of a constant or an integer": (
        Struct("n" / Byte, construct.IfThenElse(this.n > 0, construct.Const(b"x"), Byte)),
        "switch#1",
        "must be constant or computed",
    ),
    "an unnamed struct": (Struct("n" / Byte, Struct("a" / Byte)), "layout#1", "must be constant or computed"),
    "a private integer": (Struct("_n" / Byte), "_n", "must be constant or computed"),
    "a private Array": (
        Struct("_x" / construct.Array(2, Byte)),
        "_x",
        "must be constant or computed",
    ),
    "one name twice": (Struct("x" / Byte, "x" / Byte), "x", "two fields have this name"),
    "one name twice, deep": (
        Struct("s" / Struct("x" / Byte, Padding(1), "x" / Byte)),
        "s.x",
        "two fields have this name",
    ),
    "a keyword": (Struct("class" / Byte), "class", "the name is not a Python identifier"),
    "a keyword with a capital": (Struct("None" / Byte), "None", "the name is not a Python identifier"),
    "a name with a hyphen": (Struct("a-b" / Byte), "a-b", "the name is not a Python identifier"),
    "a name that begins with a digit": (Struct("1a" / Byte), "1a", "the name is not a Python identifier"),
    "a name of bytes": (Struct(b"x" / Byte), "b'x'", "the name is not a Python identifier"),
    "construct's own name": (Struct("_index" / Byte), "_index", "construct's or Python's own"),
    "construct's root": (Struct("_root" / construct.Const(b"x")), "_root", "construct's or Python's own"),
    "Python's own name": (Struct("__len__" / Byte), "__len__", "construct's or Python's own"),
    # counts and lengths
    "an element of no size": (
        Struct("xs" / construct.PrefixedArray(construct.Int24ul, construct.Pass)),
        "xs",
        "an element of no size has no bounded count",
    ),
    "an element that may have no size": (
        x(construct.PrefixedArray(Byte, construct.If(this._.n > 1, Byte))),
        "x",
        "an element of no size has no bounded count",
    ),
    "an empty struct by the wire": (
        x(construct.Array(this.n, Struct())),
        "x",
        "an element of no size has no bounded count",
    ),
    "no bytes by the wire": (
        x(construct.Array(this.n, construct.Bytes(0))),
        "x",
        "an element of no size has no bounded count",
    ),
    "a negative length": (x(construct.Bytes(-1)), "x", "a length of -1"),
    "a negative count": (x(construct.Array(-1, Byte)), "x", "a count of -1"),
    "an enormous count": (x(construct.Array(1 << 32, Byte)), "x", "a count of 4294967296"),
    "a length that is text": (x(construct.Bytes("4")), "x", "`'4'` is no integer"),
    "a length of a float": (x(construct.Bytes(2.0)), "x", "`2.0` is no integer"),
    "a count in a Flag": (x(construct.PrefixedArray(Flag, Byte)), "x", "a count in Flag"),
    "a count in an Enum": (
        x(construct.PrefixedArray(construct.Enum(Byte, Colour), Byte)),
        "x",
        "a count in Enum",
    ),
    "an Array that discards": (
        x(construct.Array(2, Byte, discard=True)),
        "x",
        "Array that discards its elements loses them",
    ),
    # constants, enumerations, flags
    "a constant too large": (x(construct.Const(256, Byte)), "x", "the constant 256 does not fit"),
    "a constant that is True": (x(construct.Const(True, Byte)), "x", "the constant True does not fit"),
    "a constant of a float": (x(construct.Const(1.0, construct.Float32l)), "x", "a Const of Float"),
    "a constant of a Flag": (x(construct.Const(True, Flag)), "x", "a Const of Flag"),
    "a constant of a Struct": (x(construct.Const({"a": 1}, Struct("a" / Byte))), "x", "a Const of Struct"),
    "a constant of other length": (
        x(construct.Const(b"ab", construct.Bytes(3))),
        "x",
        "the constant b'ab' does not fit",
    ),
    "a constant text too long": (
        x(construct.Const("abc", construct.PaddedString(2, "ascii"))),
        "x",
        "'abc' does not fit",
    ),
    "a constant text of another encoding": (
        x(construct.Const("é", construct.CString("ascii"))),
        "x",
        "'é' is no text in ascii",
    ),
    "a constant text with a NUL": (
        x(construct.Const("a\0", construct.PaddedString(4, "ascii"))),
        "x",
        "would not be read again",
    ),
    "a constant text up to the end": (
        x(construct.Const("a", construct.GreedyString("ascii"))),
        "x",
        "'a' does not fit",
    ),
    "a constant text that is a number": (
        x(construct.Const(1, construct.CString("ascii"))),
        "x",
        "is no text",
    ),
    "a constant that is no member": (
        x(construct.Const(3, construct.Enum(Byte, Colour))),
        "x",
        "the constant 3 is no member",
    ),
    "an Enum without members": (x(construct.Enum(Byte)), "x", "an enumeration without members"),
    "an Enum of a float": (x(construct.Enum(construct.Float32l, a=1)), "x", "Enum over Float"),
    "a member too large": (x(construct.Enum(Byte, a=256)), "x", "the member a = 256 does not fit"),
    "a member below zero": (x(construct.Enum(Byte, a=-1)), "x", "the member a = -1 does not fit"),
    "a member of text": (x(construct.Enum(Byte, a="1")), "x", "the member a is '1'"),
    "a member that is True": (x(construct.Enum(Byte, a=True)), "x", "the member a is True"),
    "flags without members": (x(construct.FlagsEnum(Byte)), "x", "an enumeration without members"),
    "a flag of no bit": (x(construct.FlagsEnum(Byte, a=0)), "x", "at least one bit"),
    "a flag in the sign bit": (
        x(construct.FlagsEnum(construct.Int8sl, a=1, b=-128)),
        "x",
        "a flag in the sign bit of a signed integer",
    ),
    "a flag in the sign bit, by its unsigned value": (
        x(construct.FlagsEnum(construct.Int8sl, a=128)),
        "x",
        "a flag in the sign bit of a signed integer",
    ),
    "a flag of several bits": (
        x(construct.FlagsEnum(Byte, a=1, b=6)),
        "x",
        "a flag of several bits loses the others",
    ),
    "a flag too large": (x(construct.FlagsEnum(Byte, a=256)), "x", "the member a = 256 does not fit"),
    # choices
    "a Switch without cases": (x(construct.Switch(this.n, {})), "x", "a Switch without cases"),
    "a case of text": (x(construct.Switch(this.n, {"a": Byte})), "x", "the case 'a' can never be the key"),
    "a case of bytes of another length": (
        Struct("k" / construct.Bytes(2), "x" / construct.Switch(this.k, {b"A": Byte})),
        "x",
        "the case b'A' can never be the key",
    ),
    "a case of a number for text": (
        Struct("k" / construct.CString("utf8"), "x" / construct.Switch(this.k, {1: Byte})),
        "x",
        "the case 1 can never be the key",
    ),
    "a Switch over bytes without cases": (
        Struct("k" / construct.Bytes(2), "x" / construct.Switch(this.k, {})),
        "x",
        "a Switch without cases",
    ),
    "a case of None": (x(construct.Switch(this.n, {None: Byte})), "x", "the case None can never be the key"),
    "a case of a float": (x(construct.Switch(this.n, {1.0: Byte})), "x", "the case 1.0 can never be the key"),
    "a case that is no member": (
        Struct("k" / construct.Enum(Byte, Colour), "x" / construct.Switch(this.k, {3: Byte})),
        "x",
        "the case 3 can never be the key",
    ),
    "a case beyond the key's width": (
        x(construct.Switch(this.n, {1: Byte, 256: Byte})),
        "x",
        "the case 256 can never be the key",
    ),
    "a case below zero of an unsigned key": (
        x(construct.Switch(this.n, {-1: Byte})),
        "x",
        "the case -1 can never be the key",
    ),
    "a case that no remainder is": (
        x(construct.Switch(this.n % 3, {0: Byte, 3: Byte})),
        "x",
        "the case 3 can never be the key",
    ),
    "a case named twice": (
        Struct("k" / construct.Enum(Byte, Colour), "x" / construct.Switch(this.k, {1: Byte, "RED": Byte})),
        "x",
        "two cases have the key 1",
    ),
    "a Switch of a constant": (x(construct.Switch(1, {1: Byte})), "x", "the condition is always 1"),
    "a refusal inside a case": (
        x(construct.Switch(this.n, {1: construct.Tell})),
        "x.<1>",
        "Tell is not a kind",
    ),
    "a refusal inside a default": (
        x(construct.Switch(this.n, {1: Byte}, construct.Tell)),
        "x.<default>",
        "Tell is not a kind",
    ),
    "a refusal inside an element": (
        x(construct.Array(2, Struct("a" / construct.Tell))),
        "x.[].a",
        "Tell is not a kind",
    ),
    # rebuilding
    "a Rebuild of bytes": (
        x(construct.Rebuild(construct.Bytes(1), b"x")),
        "x",
        "a Rebuild of Bytes is not read",
    ),
    "a Rebuild inside an Array": (
        x(construct.Array(2, construct.Rebuild(Byte, 1))),
        "x.[]",
        "Rebuild is not a kind",
    ),
    # too deep
    "65 nested structs": (structs(65), ".".join("v" * 64), "nested deeper than 64"),
    "2000 nested structs": (structs(2000), ".".join("v" * 64), "nested deeper than 64"),
    "2000 nested arrays": (arrays(2000), "x" + ".[]" * 16, "arrays are nested deeper than 16"),
    "a LazyBound of itself": (x(LATE), "x", "it contains itself"),
    "a LazyBound that fails": (
        x(construct.LazyBound(lambda: 1 // 0)),
        "x",
        "the function of a LazyBound raises ZeroDivisionError",
    ),
    "a LazyBound of nothing": (x(construct.LazyBound(lambda: 5)), "x", "a LazyBound of 5"),
    "a list of itself": (LINKED, "next", "it contains itself"),
    "a tree in a table of cases": (tree(), "body.<1>.a", "it contains itself"),
    "a function that makes its own kind": (growing(), "a.a", "it contains itself"),
    "one Struct in very many places": (
        nested(lambda inner: Struct("a" / inner, "b" / inner), 40),
        "",
        "16384",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name):
    source, path, problem = REFUSALS[name]
    with pytest.raises(SchemaError) as caught:
        walk(source)
    assert caught.value.path == path
    assert problem in caught.value.problem


@pytest.mark.parametrize("name", [name for name in REFUSALS if name != "no construct"])
def test_refusals_offer_a_remedy(name):
    with pytest.raises(SchemaError) as caught:
        walk(REFUSALS[name][0])
    assert caught.value.remedy


LATER = {
    "Pointer": construct.Pointer(0, Byte),
    "Peek": construct.Peek(Byte),
    "Seek": construct.Seek(0),
    "Tell": construct.Tell,
    "StopIf": construct.StopIf(this.n == 0),
    "Union": construct.Union(0, "a" / Byte, "b" / construct.Int8sb),
    "ExprAdapter": construct.ExprAdapter(Byte, construct.obj_ + 1, construct.obj_ - 1),
    "ExprValidator": construct.ExprValidator(Byte, construct.obj_ == 1),
    "Slicing": construct.Slicing(construct.Array(3, Byte), 3, 0, 2),
    "Compressed": construct.Compressed(construct.GreedyBytes, "zlib"),
    "ProcessXor": construct.ProcessXor(5, construct.Bytes(2)),
    "a custom Adapter": Custom(Byte),
    "Lazy": construct.Lazy(Byte),
    "LazyArray": construct.LazyArray(3, Byte),
    "LazyStruct": construct.LazyStruct("a" / Byte),
    "Error": construct.Error,
    "Probe": construct.Probe(),
}


@pytest.mark.parametrize("name", LATER)
def test_kinds_that_are_not_read_say_so(name):
    """None is taken for another kind, and none leaves by another exception."""
    with pytest.raises(SchemaError) as caught:
        walk(Struct("n" / Byte, "x" / LATER[name], "y" / Byte))
    assert caught.value.path == "x"
    assert "not a kind that wirelock reads" in caught.value.problem


def rows(checksum):
    return Struct("n" / construct.RawCopy(Byte), "x" / checksum)


A, B = (Struct("k" / construct.Const(start), "v" / Byte) for start in (b"a", b"b"))
IN_PARTS = {
    "an undecided Select": (x(construct.Select(A, Struct("v" / Byte))), "x.<1>", "says which"),
    "a Select of no records": (x(construct.Select(Byte, construct.Const(b"b"))), "x.<0>", "says which"),
    "two of a Select alike": (x(construct.Select(A, B, A)), "x.<2>", "two alternatives begin with 61"),
    "a hidden constant": (
        x(construct.Select(A, Struct(construct.Const(b"c"), "v" / Byte))), "x.<1>", "no public name"
    ),
    "a Sequence to the end": (x(construct.Sequence(construct.GreedyBytes)), "x.[0]", "in a Sequence"),
    "a Sequence in bits": (bits(construct.Sequence(construct.Bit)), "x", "Sequence inside a bit region"),
    "a Rebuild in a Sequence": (x(construct.Sequence(construct.Default(Byte, 1))), "x.[0]", "in a Seq"),
    "a RawCopy in an array": (x(construct.Array(1, construct.RawCopy(Byte))), "x.[]", "RawCopy is not"),
    "a RawCopy in bits": (bits(construct.RawCopy(construct.Octet)), "x", "inside a bit region"),
    "a part of a RawCopy": (rows(construct.Bytes(this.n.length)), "x", "a part of a RawCopy"),
    "a RawCopy as a value": (rows(construct.Bytes(this.n)), "x", "a part of a RawCopy"),
    "a checksum without a name": (
        rows(construct.Checksum(Byte, lambda data: 0, this.n.data)), "x", "of a Checksum is not declared"
    ),
    "a checksum of a plain field": (x(construct.Checksum(Byte, xor8, this.n)), "x", "Checksum of"),
    "a checksum of what lies behind": (rows(construct.Checksum(Byte, xor8, this.y.data)), "x", "Checksum of"),
    "a checksum of a record around": (
        rows(Struct("c" / construct.Checksum(Byte, xor8, this._.n.data))), "x.c", "a Checksum of"
    ),
    "a checksum of anything": (
        rows(construct.Checksum(Byte, xor8, lambda ctx: ctx.n.data + b"x")), "x", "Checksum of"
    ),
    "a checksum in a float": (rows(construct.Checksum(construct.Half, xor8, this.n.data)), "x", "in Float"),
    "a checksum in an array": (
        rows(construct.Array(2, construct.Checksum(Byte, xor8, this.n.data))), "x", "inside of another kind"
    ),
    "a checksum as a number": (
        Struct("n" / construct.RawCopy(Byte), "c" / construct.Checksum(Byte, xor8, this.n.data),
               "x" / construct.Bytes(this.c)), "x", "read by code"
    ),
    "code in bits": (
        BitStruct("x" / Bytewise(Struct("n" / construct.RawCopy(Byte)))), "", "code inside a bit region"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PARTS)
def test_kinds_that_are_read_in_part(name):
    source, path, problem = IN_PARTS[name]
    with pytest.raises(SchemaError) as caught:
        walk(source)
    assert caught.value.path == path
    assert problem in caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize("name", LATER)
def test_kinds_that_are_not_read_offer_a_remedy(name):
    with pytest.raises(SchemaError) as caught:
        walk(x(LATER[name]))
    assert caught.value.remedy


def test_a_subclass_of_a_known_kind_is_not_taken_for_it():
    class Checked(construct.FormatField):
        def _parse(self, stream, context, path):
            return 5

    with pytest.raises(SchemaError, match="Checked, a subclass of FormatField, is not a kind"):
        walk(x(Checked("<", "B")))


CIRCLES = {
    "itself": Struct("a" / construct.Rebuild(Byte, this.a + 1)),
    "each other": Struct("a" / construct.Rebuild(Byte, this.b), "b" / construct.Rebuild(Byte, this.a)),
}


@pytest.mark.parametrize("name", CIRCLES)
def test_a_rebuilt_field_cannot_follow_from_itself(name):
    """No bytes could ever be such a record, and making one by hand would never end."""
    with pytest.raises(SchemaError) as caught:
        walk(CIRCLES[name])
    assert caught.value.path in ("a", "b")


DEEP = {
    "If": lambda inner: construct.If(this.n == 1, inner),
    "Switch": lambda inner: construct.Switch(this.n, {1: inner}),
    "Const": lambda inner: construct.Const(1, inner),
    "Enum": lambda inner: construct.Enum(inner, a=1),
    "Bitwise and Bytewise": lambda inner: construct.Bitwise(Bytewise(inner)),
    "Renamed": lambda inner: "own" / inner,
}


@pytest.mark.parametrize("name", [name for name in DEEP if name != "Renamed"])
@pytest.mark.parametrize("levels", [100, 2000])
def test_any_kind_may_be_nested_too_deeply(name, levels):
    if name == "Bitwise and Bytewise" and levels == 2000:
        levels = 200  # construct itself cannot make more
    with pytest.raises(SchemaError):
        walk(x(nested(DEEP[name], levels)))


def test_names_may_be_nested_as_deeply_as_one_likes():
    assert walk(x(nested(DEEP["Renamed"], 2000))) == walk(x(Byte))


def test_structs_and_arrays_may_be_nested_to_the_limit():
    walk(structs(MAX_DEPTH))
    walk(arrays(MAX_ARRAY_DEPTH))


def test_the_walk_changes_nothing_of_the_construct():
    source = Struct(
        "n" / Byte,
        "xs" / construct.PrefixedArray(Byte, Byte),
        "b" / BitStruct("q" / construct.Nibble, "r" / construct.Nibble),
        "o" / construct.If(this.n > 1, Byte),
        "r" / construct.Rebuild(Byte, len_(this.xs)),
    )
    before = repr(source), [repr(part) for part in source.subcons]
    walk(source)
    assert (repr(source), [repr(part) for part in source.subcons]) == before
    assert walk(source) == walk(source)


class Rest(type(construct.GreedyBytes)):
    """A subclass of a kind that is read."""


CUSTOM_CODE = 'opaque("name", 1, ...)'
WRITTEN_INSTEAD = {
    "an Adapter": (x(Custom(Byte)), "use scaled, ticks, Enum or Mapping"),
    "an Adapter as code": (x(Custom(Byte)), CUSTOM_CODE),
    "a subclass": (x(Rest()), "write GreedyBytes itself"),
    "a Timestamp's class": (x(construct.TimestampAdapter(Byte)), "use ticks"),
    "an Enum with construct 2.8's default": (
        x(construct.Enum(Byte, A=1, default=construct.Pass)),
        "leave `default=Pass` out: in construct 2.10 it is a member of that name",
    ),
    "a private name": (Struct("_Data" / construct.GreedyBytes), "name it without `_`: Data"),
    "unnamed bytes": (Struct(construct.Bytes(3)), "name it, or write Padding if it is always zero"),
    "unnamed flag": (Struct(Flag), "name it, or write Padding if it is always zero"),
    "unnamed Struct": (Struct(Struct("a" / Byte)), "give it a name"),
    "a name of two words": (Struct("Signature Word" / Byte), "rename it, as signature_word"),
    "a name with a dot": (Struct("alarm.cell low" / Byte), "rename it, as alarm_cell_low"),
    "a keyword for a name": (Struct("class" / Byte), "rename it, as class_"),
    "a digit": (Struct("3v3 volts" / Byte), "rename it, as field_3v3_volts"),
    "a Mapping over bytes": (x(construct.Mapping(construct.Bytes(2), {"a": b"AB"})), "use Bytes, with OneOf"),
    "a checksum's function": (
        Struct("n" / construct.RawCopy(Byte), "x" / construct.Checksum(Byte, sum, this.n.data)),
        "@wirelock.checksums.checksum",
    ),
    "a Select of constants": (
        x(construct.Select(construct.Const(9, Byte), construct.Const(26, Byte))),
        "OneOf(..., [9, 26])",
    ),
    "a Filter": (x(construct.Filter(construct.obj_ > 1, Byte[2])), "write the whole Array"),
}


@pytest.mark.parametrize("name", WRITTEN_INSTEAD)
def test_remedies_name_what_to_write(name):
    source, remedy = WRITTEN_INSTEAD[name]
    with pytest.raises(SchemaError) as caught:
        walk(source)
    assert remedy in caught.value.remedy

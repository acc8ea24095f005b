"""The page of constructs names every kind that construct has, and its verdicts are those of the walk."""

from __future__ import annotations

import inspect
import re
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import construct as c
import pytest
from construct import Array, BitsInteger, BitStruct, Byte, Bytes, GreedyBytes, Int16ub, Struct, obj_, this

from wirelock import LsbBitStruct, SchemaError, opaque, quantised, scaled, ticks
from wirelock.checksums import crc32
from wirelock.layout.adapters import __all__ as ours
from wirelock.layout.remedies import KINDS
from wirelock.layout.walk import walk

PAGE = (Path(__file__).parents[1] / "docs/constructs.md").read_text("utf-8")
ROWS = re.findall(r"^\| ((?:`\w+` ?)+) \| (\w+) \| (.+) \|$", PAGE, re.M)
VERDICTS = {name: verdict for names, verdict, _ in ROWS for name in re.findall(r"\w+", names)}
HELPERS = r"setGlobal\w+|stream_\w+"
"""The public functions of construct that make no construct."""


def public() -> set[str]:
    names: dict[str, Any] = {}
    exec("from construct import *", names)
    return {
        name
        for name, value in names.items()
        if isinstance(value, c.Construct)
        or (inspect.isclass(value) and issubclass(value, c.Construct))
        or (inspect.isfunction(value) and not re.fullmatch(HELPERS, name))
    }


def bits(part: Any) -> Any:
    return BitStruct("a" / part)


NUMBERS = [name for name in sorted(public()) if re.fullmatch(r"(Int|Float)\d+[us]?[bln]", name)]
NUMBERS += ["Byte", "Short", "Int", "Long", "Half", "Single", "Double"]
NATIVE = [name for name in NUMBERS if name[-1] == "n" and "8" not in name]
ROTATED = c.Transformed(Byte, bytes, 1, bytes, 1)
NIBBLES = BitStruct("a" / c.Nibble, "b" / c.Nibble)

HIDDEN = c.If(this.n > 1, c.Const(b"a"))
SUMMED = "a" / c.RawCopy(Byte)

# name: the construct of a field that stands behind a byte n
TAKEN: dict[str, Any] = {
    **{name: getattr(c, name) for name in NUMBERS if name not in NATIVE},
    "FormatField": c.FormatField("<", "H"),
    "BytesInteger": c.BytesInteger(5, swapped=True),
    "BitsInteger": bits(BitsInteger(16, swapped=True)),
    "Bit": Struct("a" / c.Bitwise(Array(8, c.Bit))),
    "Nibble": NIBBLES,
    "Octet": bits(c.Octet),
    "VarInt": c.VarInt,
    "ZigZag": c.ZigZag,
    "Flag": c.Flag,
    "Enum": c.Enum(Byte, a=1),
    "FlagsEnum": c.FlagsEnum(Byte, a=1),
    "Mapping": c.Mapping(Byte, {"a": 1}),
    "Bytes": Bytes(this.n),
    "GreedyBytes": GreedyBytes,
    "PaddedString": c.PaddedString(4, "utf-16-le"),
    "CString": c.CString("utf8"),
    "GreedyString": c.GreedyString("utf8"),
    "PascalString": c.PascalString(c.VarInt, "ascii"),
    "StringEncoded": c.StringEncoded(Bytes(4), "utf-32-be"),
    "Const": Struct("a" / c.Const(b"ab"), "b" / c.Const("PPSF", c.PaddedString(4, "utf8"))),
    "Computed": c.Computed(this.n * 2),
    "Index": Array(2, Struct("i" / c.Index, "v" / Byte)),
    "Rebuild": c.Rebuild(Byte, this.n),
    "Default": c.Default(Byte, 7),
    "Check": c.Check(this.n > 1),
    "OneOf": c.OneOf(Byte, [1, 2]),
    "NoneOf": c.NoneOf(c.CString("utf8"), ["a"]),
    "Struct": Struct("a" / Byte, c.Const(b"a")),
    "BitStruct": NIBBLES,
    "Bitwise": c.Bitwise(Array(8, c.Bit)),
    "Bytewise": bits(c.Bytewise(Int16ub)),
    "ByteSwapped": Struct(
        "a" / c.ByteSwapped(Int16ub), "b" / c.ByteSwapped(BitStruct("x" / Array(8, BitsInteger(11))))
    ),
    "BitsSwapped": c.BitsSwapped(NIBBLES),
    "AlignedStruct": c.AlignedStruct(4, "a" / Byte, "b" / Int16ub),
    "Array": Array(this.n, Byte),
    "PrefixedArray": c.PrefixedArray(c.VarInt, Byte),
    "GreedyRange": c.GreedyRange(Byte),
    "RepeatUntil": c.RepeatUntil(obj_ == 0, Byte),
    "Prefixed": c.Prefixed(c.VarInt, GreedyBytes),
    "FixedSized": c.FixedSized(this.n, GreedyBytes),
    "NullTerminated": c.NullTerminated(GreedyBytes),
    "NullStripped": c.FixedSized(4, c.NullStripped(GreedyBytes)),
    "Padded": c.Padded(4, Byte, pattern=b"\xff"),
    "Aligned": c.Aligned(4, Bytes(this.n)),
    "Padding": c.Padding(this.n),
    "Pass": c.Pass,
    "Terminated": c.Terminated,
    "If": Struct("n" / Byte, "x" / c.If(this.n > 1, Byte), HIDDEN),
    "IfThenElse": c.IfThenElse(this.n > 1, Byte, c.Error),
    "Switch": Struct(
        "k" / Bytes(2),
        "x" / c.Switch(this._.n, {1: Byte}, default=c.Error),
        "y" / c.Switch(this.k, {b"ab": Byte}),
    ),
    "Optional": c.Optional(Int16ub),
    "Select": c.Select(Struct("k" / c.Const(b"a")), Struct("k" / c.Const(b"b"), "v" / Byte)),
    "Sequence": c.Sequence(Byte, Int16ub),
    "RawCopy": Struct(SUMMED),
    "Checksum": Struct(SUMMED, "c" / c.Checksum(c.Int32ub, crc32, this.a.data)),
    "opaque": opaque("zlib", 1, c.Compressed(GreedyBytes, "zlib")),
    "Error": c.Switch(this.n, {1: Byte}, default=c.Error),
    "Hex": c.Hex(Byte),
    "HexDump": c.HexDump(Bytes(2)),
    "Renamed": c.Renamed(Byte, "other"),
    "Compiled": Struct("a" / Byte).compile(),
    "LazyBound": c.LazyBound(lambda: Byte),
    "FocusedSeq": c.FocusedSeq("b", c.Const(b"a"), "b" / GreedyBytes, c.Terminated),
    "Transformed": NIBBLES,
    "scaled": scaled(Byte, step="1/3"),
    "quantised": quantised(Int16ub, -1, 1),
    "ticks": ticks(Int16ub, unit="ms"),
    "LsbBitStruct": LsbBitStruct("a" / BitsInteger(3), "b" / BitsInteger(5)),
}

SEQUENCE = c.Sequence(GreedyBytes)
LATE = c.LazyBound(lambda: LATE)
CHOICE = c.If(this.a > 0, c.Octet)
REST = Struct("a" / GreedyBytes)

# name: what is refused of it, each the construct of such a field or a function that makes it
REFUSED: dict[str, list[Any]] = {
    **{name: [getattr(c, name)] if name in NATIVE else [bits(getattr(c, name))] for name in NUMBERS},
    "FormatField": [c.FormatField("=", "H"), bits(c.FormatField(">", "H"))],
    "BytesInteger": [c.BytesInteger(this.n), c.BytesInteger(513), bits(c.BytesInteger(1))],
    "BitsInteger": [BitsInteger(8), bits(BitsInteger(4104)), lambda: bits(BitsInteger(this.n))],
    "Bit": [c.Bit],
    "Nibble": [c.Nibble],
    "Octet": [c.Octet],
    "VarInt": [bits(c.VarInt)],
    "ZigZag": [bits(c.ZigZag)],
    "Enum": [c.Enum(c.VarInt, a=1), c.Enum(Byte, a=256)],
    "FlagsEnum": [c.FlagsEnum(c.Int8sb, a=-128), c.FlagsEnum(Byte, a=3)],
    "Mapping": [c.Mapping(Byte, {"a": 1, 2: 2}), c.Mapping(Byte, {"a": 1, "b": 1})],
    "Bytes": [bits(Bytes(1)), Bytes(c.len_(this.n))],
    "GreedyBytes": [Struct("a" / GreedyBytes, "b" / Byte)],
    "PaddedString": [c.PaddedString(4, "utf16")],
    "CString": [c.CString("utf32")],
    "GreedyString": [c.GreedyString("latin-1")],
    "PascalString": [c.PascalString(Byte, "utf16")],
    "StringEncoded": [c.StringEncoded(Byte, "ascii")],
    "Const": [c.Const(1.5, c.Float32b), c.Const("a", c.GreedyString("utf8"))],
    "Computed": [c.Computed("a"), c.Computed(1.5)],
    "Rebuild": [c.Rebuild(c.CString("ascii"), this.n), Array(2, c.Rebuild(Byte, this.n))],
    "Default": [c.Default(Byte, this.n)],
    "Check": [Struct("a" / Byte, c.Check(this._.n > 1))],
    "OneOf": [c.OneOf(c.Float32b, [1.0])],
    "NoneOf": [c.NoneOf(c.Flag, [True])],
    "Struct": [Struct("a" / Byte, "a" / Byte), Struct("if" / Byte), Struct(Byte)],
    "BitStruct": [bits(c.Nibble), bits(NIBBLES), BitStruct("a" / c.Octet, "b" / CHOICE)],
    "Bitwise": [c.Bitwise(c.GreedyRange(c.Bit)), bits(c.Bitwise(c.Octet))],
    "Bytewise": [c.Bytewise(Byte)],
    "ByteSwapped": [c.ByteSwapped(Bytes(2)), c.ByteSwapped(Array(2, Byte))],
    "BitsSwapped": [c.BitsSwapped(Byte), c.BitsSwapped(Bytes(2))],
    "AlignedStruct": [c.AlignedStruct(4, "a" / GreedyBytes)],
    "Array": [Array(2, GreedyBytes), Array(2, Byte, discard=True)],
    "PrefixedArray": [c.PrefixedArray(Byte, c.Pass), c.PrefixedArray(c.Flag, Byte)],
    "GreedyRange": [c.GreedyRange(c.Pass), c.GreedyRange(REST), c.GreedyRange(Byte, discard=True)],
    "RepeatUntil": [c.RepeatUntil(lambda x, lst, ctx: len(lst) > 2, Byte), c.RepeatUntil(obj_ == 0, REST)],
    "Prefixed": [c.Prefixed(c.VarInt, GreedyBytes, includelength=True), c.Prefixed(c.Float32b, Byte)],
    "FixedSized": [bits(c.FixedSized(1, GreedyBytes)), c.FixedSized(1, SEQUENCE)],
    "NullTerminated": [
        c.NullTerminated(Byte),
        c.NullTerminated(GreedyBytes, include=True),
        c.NullTerminated(GreedyBytes, consume=False),
        c.NullTerminated(GreedyBytes, require=False),
    ],
    "NullStripped": [c.NullStripped(GreedyBytes), c.FixedSized(4, c.NullStripped(GreedyBytes, pad=b"x"))],
    "Padded": [c.Padded(4, GreedyBytes), c.Padded(1, Int16ub), bits(c.Padded(8, c.Bit))],
    "Aligned": [c.Aligned(this.n, Byte), c.Aligned(4, GreedyBytes), bits(c.Aligned(8, c.Bit))],
    "Padding": [lambda: BitStruct("a" / c.Octet, c.Padding(this.a))],
    "Terminated": [BitStruct("a" / c.Octet, c.Terminated)],
    "If": [BitStruct("a" / c.Octet, "b" / CHOICE), c.If(this.n, c.Error)],
    "IfThenElse": [bits(c.IfThenElse(this._.n > 1, c.Octet, c.Octet))],
    "Switch": [c.Switch(this.n, {300: Byte}), bits(c.Switch(this._.n, {1: c.Octet}, default=c.Octet))],
    "Optional": [c.Optional(GreedyBytes), Struct("a" / c.Optional(Byte), "b" / Byte)],
    "Select": [c.Select(Int16ub, Byte), c.Select(c.Pass, Byte)],
    "Error": [c.Error],
    "Hex": [c.Hex(SEQUENCE)],
    "HexDump": [c.HexDump(SEQUENCE)],
    "Renamed": [c.Renamed(SEQUENCE, "other")],
    "FocusedSeq": [
        c.FocusedSeq("b", "a" / Byte, "b" / Byte),
        c.FocusedSeq("b", "a" / c.Const(b"a"), "b" / Bytes(this.a)),
        c.FocusedSeq("b", "b" / GreedyBytes, c.Const(b"a")),
        c.FocusedSeq("b", "a" / c.Const(b"a")),
        c.FocusedSeq(lambda ctx: "b", "b" / Byte),
        bits(c.FocusedSeq("b", "b" / c.Octet)),
        bits(c.Bytewise(c.FocusedSeq("b", "b" / Byte))),
    ],
    "Transformed": [ROTATED],
    "Restreamed": [c.Restreamed(Byte, bytes, 1, bytes, 1, lambda n: n)],
    "Sequence": [SEQUENCE],
    "NamedTuple": [c.NamedTuple("p", "a", Struct("a" / Byte))],
    "Union": [c.Union(0, "a" / Byte)],
    "StopIf": [c.StopIf(this.n > 1)],
    "Pointer": [c.Pointer(0, Byte)],
    "Peek": [c.Peek(Byte)],
    "Seek": [c.Seek(0)],
    "OffsettedEnd": [c.OffsettedEnd(-1, GreedyBytes)],
    "Tell": [c.Tell],
    "RawCopy": [Array(2, c.RawCopy(Byte)), BitStruct("a" / c.RawCopy(c.Octet))],
    "Checksum": [
        c.Checksum(Byte, crc32, this.n),
        Struct(SUMMED, "c" / c.Checksum(Byte, sum, this.a.data)),
        Struct(SUMMED, "c" / c.Checksum(c.VarInt, crc32, this.a.data)),
    ],
    "Compressed": [c.Prefixed(Byte, c.Compressed(GreedyBytes, "zlib"))],
    "CompressedLZ4": [lambda: c.CompressedLZ4(GreedyBytes)],
    "EncryptedSym": [lambda: c.EncryptedSym(GreedyBytes, None)],
    "EncryptedSymAead": [lambda: c.EncryptedSymAead(GreedyBytes, None, None)],
    "ProcessXor": [c.ProcessXor(1, Byte)],
    "ProcessRotateLeft": [c.ProcessRotateLeft(1, 1, Bytes(2))],
    "RestreamData": [c.RestreamData(b"1", Byte)],
    "Rebuffered": [c.Rebuffered(Byte)],
    "Lazy": [c.Lazy(Byte)],
    "LazyStruct": [c.LazyStruct("a" / Byte)],
    "LazyArray": [c.LazyArray(2, Byte)],
    "LazyBound": [LATE],
    "Timestamp": [lambda: c.Timestamp(Byte, 1.0, 1970)],
    "TimestampAdapter": [c.TimestampAdapter(Byte)],
    "ExprAdapter": [c.ExprAdapter(Byte, obj_ + 1, obj_ - 1)],
    "ExprSymmetricAdapter": [c.ExprSymmetricAdapter(Byte, obj_)],
    "Adapter": [c.Adapter(Byte)],
    "SymmetricAdapter": [c.SymmetricAdapter(Byte)],
    "ExprValidator": [c.ExprValidator(Byte, obj_ > 0)],
    "Validator": [c.Validator(Byte)],
    "Filter": [c.Filter(obj_ > 0, Array(2, Byte))],
    "Slicing": [c.Slicing(Array(2, Byte), 2, 0, 1)],
    "Indexing": [c.Indexing(Array(2, Byte), 2, 0)],
    "Pickled": [c.Pickled],
    "Numpy": [c.Numpy],
    "Probe": [c.Probe()],
    "Debugger": [c.Debugger(Byte)],
    "Compiled": [c.Compiled(None, None)],
    "Construct": [c.Construct()],
    "Subconstruct": [c.Subconstruct(Byte)],
    "Tunnel": [c.Tunnel(Byte)],
    "scaled": [
        scaled(c.VarInt, step=1),
        scaled(Byte, step=Fraction(1, 1 << 60)),
        lambda: scaled(Byte, step=0.5),
    ],
    "quantised": [lambda: quantised(Byte, 1, 1), lambda: quantised(Byte, 0.5, 1)],
    "ticks": [ticks(c.Float32b, unit="s")],
    "opaque": [lambda: opaque("", 1, Byte), lambda: opaque("x", 0, Byte), bits(opaque("x", 1, c.Bit))],
    "LsbBitStruct": [LsbBitStruct("a" / BitsInteger(3)), LsbBitStruct("a" / Array(2, c.Nibble))],
}


def field(source: Any) -> Struct:
    """Return a Struct with a field of this construct, or of one that the function makes."""
    made = source() if inspect.isfunction(source) else source
    return Struct("n" / Byte, "x" / made)


def test_the_page_names_every_public_construct_once() -> None:
    own = {name for name in ours if not name.endswith("Adapter")}
    assert set(VERDICTS) == public() | own
    assert len(VERDICTS) == sum(len(re.findall(r"\w+", names)) for names, _, _ in ROWS)


def test_every_row_of_the_page_is_tried() -> None:
    words = {(True, False): "taken", (True, True): "if", (False, True): "refused"}
    tried = sorted(set(TAKEN) | set(REFUSED))
    assert {name: words[name in TAKEN, name in REFUSED] for name in tried} == VERDICTS


@pytest.mark.parametrize("name", TAKEN)
def test_what_the_page_calls_taken_is_taken(name: str) -> None:
    walk(field(TAKEN[name]))


@pytest.mark.parametrize(
    ("name", "number"), [(name, at) for name in REFUSED for at in range(len(REFUSED[name]))]
)
def test_what_the_page_calls_refused_is_refused_with_a_remedy(
    name: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrow = ModuleType("arrow")
    arrow.Arrow = type("Arrow", (), {"__init__": lambda *_: None})  # type: ignore[attr-defined]
    for module, stand_in in {"arrow": arrow, "lz4": MagicMock(), "lz4.frame": MagicMock()}.items():
        monkeypatch.setitem(sys.modules, module, stand_in)
    monkeypatch.setitem(sys.modules, "cryptography", MagicMock())
    with pytest.raises(SchemaError) as caught:
        walk(field(REFUSED[name][number]))
    assert caught.value.remedy not in ("", KINDS)

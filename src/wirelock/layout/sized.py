"""construct's bytes, text, sized regions, padding and variable-length integers -> types of nodes."""

from __future__ import annotations

from codecs import lookup
from collections.abc import Callable
from typing import Any, Final

import construct

from wirelock.layout.leaves import Place, called, kind_name, read_length, unwrap
from wirelock.layout.limits import ENCODINGS
from wirelock.layout.nodes import (
    Bytes,
    Integer,
    Multiple,
    Nothing,
    Padded,
    Padding,
    Prefix,
    Rest,
    Sized,
    Terminator,
    Text,
    Type,
    VarInt,
    plain,
)
from wirelock.layout.sizes import reach_of, size_of
from wirelock.layout.terms import Expression


def read_prefix(source: Any, at: Place, what: str) -> Integer | VarInt:
    """Read the integer of a count or size that is written before what it counts."""
    found = at.read(source)
    if not isinstance(found, Integer | VarInt):
        raise at.refuse(f"a {what} in {called(found)}", f"give the {what} as an integer")
    return found


def byte_aligned(source: Any, at: Place) -> None:
    """Raise SchemaError for what does not start with a byte."""
    if at.bits:
        raise at.refuse(f"{kind_name(source)} inside a bit region", "put it behind the region")
    if at.phase:
        raise at.refuse(f"{kind_name(source)} that starts within a byte", "let it start with a byte")


def _read_greedy_bytes(source: Any, at: Place) -> Type:
    byte_aligned(source, at)
    return Bytes(Rest())


def _read_bytes(source: Any, at: Place) -> Type:
    if at.bits:
        raise at.refuse(
            f"{kind_name(source)} inside a bit region would read one byte a bit",
            "use BitsInteger or Bytewise",
        )
    return Bytes(read_length(source.length, at, "length"))


def _read_prefixed(source: Any, at: Place) -> Type:
    byte_aligned(source, at)
    prefix = read_prefix(source.lengthfield, at, "size")
    if source.includelength and isinstance(prefix, VarInt):
        raise at.refuse("a size of no fixed width cannot count itself", "leave out includelength")
    return Sized(_inside(source.subcon, at), Prefix(prefix, bool(source.includelength)))


def _read_fixed_sized(source: Any, at: Place) -> Type:
    byte_aligned(source, at)
    extent = read_length(source.length, at, "size")
    inner = unwrap(source.subcon)
    if not isinstance(inner, construct.NullStripped):
        return Sized(_inside(inner, at), extent)
    content = _content(inner, at)
    unit = len(inner.pad)
    if not unit or inner.pad.strip(b"\0"):
        raise at.refuse(
            f"the padding {inner.pad!r} is not what build writes", "strip NULs, which FixedSized pads with"
        )
    if unit > 1 and (not isinstance(extent, int) or extent % unit):
        raise at.refuse(f"a size that is no multiple of {unit} bytes", f"give a constant multiple of {unit}")
    return Sized(content, extent, unit)


def _read_null_terminated(source: Any, at: Place) -> Type:
    byte_aligned(source, at)
    if source.include or not source.consume or not source.require:
        raise at.refuse(
            "a terminator that is included, left behind or not required", "use the defaults of NullTerminated"
        )
    if not source.term:
        raise at.refuse("an empty terminator", "give it at least one byte")
    return Sized(_content(source, at), Terminator(bytes(source.term)))


def _content(source: Any, at: Place) -> Bytes:
    """Read what ends where its own bytes say so: nothing but bytes, or an end could lie within a number."""
    found = _inside(source.subcon, at)
    if found != Bytes(Rest()):
        raise at.refuse(
            f"{kind_name(source)} around {called(plain(found))}",
            "put it around GreedyBytes; write text as PaddedString or CString, others in a Prefixed",
        )
    return Bytes(Rest())


def _read_null_stripped(source: Any, at: Place) -> Type:
    raise at.refuse("NullStripped outside of a FixedSized", "write FixedSized(n, NullStripped(GreedyBytes))")


def _inside(source: Any, at: Place) -> Type:
    return at.deeper().read(source)


def _read_text(source: Any, at: Place) -> Type:
    byte_aligned(source, at)
    try:
        encoding = lookup(source.encoding).name
    except (LookupError, TypeError):
        encoding = str(source.encoding)
    if encoding not in ENCODINGS:
        remedy = f"use one of {', '.join(ENCODINGS)}"
        if encoding in ("utf-16", "utf-32"):
            remedy = f"state the byte order: {encoding}-le or {encoding}-be"
        raise at.refuse(f"text in {source.encoding}", remedy)
    inner = at.read(source.subcon)
    region = inner.inner if isinstance(inner, Sized) else inner
    if not isinstance(inner, Bytes | Sized) or (region != Bytes(Rest()) and region is not inner):
        raise at.refuse(f"text in {called(plain(inner))}", "put it around bytes")
    unit = ENCODINGS[encoding]
    if isinstance(inner, Sized) and inner.stripped not in (0, unit):
        raise at.refuse(f"a NUL of {inner.stripped} bytes in {encoding}", f"use one of {unit}")
    return Text(inner, encoding)


def _read_padded(source: Any, at: Place) -> Type:
    pattern = source.pattern[0]
    if unwrap(source.subcon) is construct.Pass:
        if at.bits and pattern > 1:
            raise at.refuse(f"the pattern {source.pattern!r} inside a bit region", r"use b'\x00' or b'\x01'")
        return Padding(read_length(source.length, at, "padding"), 1 if at.bits else 8, pattern)
    _whole_bytes("Padded", at)
    return _padded(source, at, read_length(source.length, at, "length"), pattern)


def _read_aligned(source: Any, at: Place) -> Type:
    _whole_bytes("Aligned", at)
    modulus = read_length(source.modulus, at, "modulus")
    if not isinstance(modulus, int) or modulus < 2:
        raise at.refuse("a modulus that is no constant of 2 or more", "state it as a constant")
    return _padded(source, at, Multiple(modulus), source.pattern[0])


def _whole_bytes(what: str, at: Place) -> None:
    if at.bits:
        raise at.refuse(f"{what} inside a bit region", "write the field, then Padding")
    if at.phase:
        raise at.refuse(f"{what} that starts within a byte", "write the field, then Padding")


def _padded(source: Any, at: Place, length: int | Expression | Multiple, pattern: int) -> Type:
    inner = at.deeper().read(source.subcon)
    if reach_of(inner) != "own":
        raise at.refuse(
            f"{kind_name(source)} around what takes all that is left",
            "give it a size: FixedSized or Prefixed",
        )
    if isinstance(inner, Nothing):
        return Padding(0, 8, pattern)
    if isinstance(length, int) and size_of(inner).lowest > 8 * length:
        least = size_of(inner).lowest // 8
        raise at.refuse(f"{length} bytes around {least} or more", f"give it at least {least}")
    return Padded(inner, length, pattern)


def _read_varint(source: Any, at: Place) -> Type:
    byte_aligned(source, at)
    return VarInt(source is construct.ZigZag)


SIZED: Final[dict[type, Callable[[Any, Place], Type]]] = {
    construct.Bytes: _read_bytes,
    type(construct.GreedyBytes): _read_greedy_bytes,
    construct.Prefixed: _read_prefixed,
    construct.FixedSized: _read_fixed_sized,
    construct.NullTerminated: _read_null_terminated,
    construct.NullStripped: _read_null_stripped,
    construct.StringEncoded: _read_text,
    construct.Padded: _read_padded,
    construct.Aligned: _read_aligned,
    type(construct.VarInt): _read_varint,
    type(construct.ZigZag): _read_varint,
}

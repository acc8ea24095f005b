"""Values as construct has them and as frames have them, and clones of constructs that read and write them.

The clones here know nothing of places or faults: they differ from the author's constructs only where a
value would be lost, such as the payload of a NaN or a number that has no name.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import construct

from wirelock.codec.floats import float_from_bits, float_to_bits, same_float
from wirelock.codec.trail import Frame
from wirelock.layout import nodes
from wirelock.layout.adapters import LsbBitStruct, ScaledAdapter, TimeAdapter
from wirelock.layout.arrays import prefixed_array
from wirelock.layout.leaves import bound, unwrap
from wirelock.layout.named import Named, named
from wirelock.layout.nodes import Type, checksum_in, plain


class Copied(construct.Container):
    """What a RawCopy gives: the `value`, and as `data` the bytes that it was read from or written as."""


@dataclass(frozen=True, slots=True)
class Held:
    """A value that code gave, which is no value of construct's."""

    value: Any


FRAME: Final = "#frame"
"""Under this key a Container of construct's holds the frame of its record. No field has such a label."""


_DRESSES: Final = construct.Rebuild | construct.Default | construct.ExprValidator
"""What changes nothing about the bytes of what it is around."""


class _TextKey(str):
    """A key of a Mapping; `raw` is its number on the wire."""

    __slots__ = ("raw",)
    raw: int


class _NumberKey(int):
    """A key of a Mapping; `raw` is its number on the wire."""

    raw: int


class _NoKey:
    """Stands for a number on the wire that has no key: equal to none."""

    raw: int


def plain_value(value: Any) -> Any:
    """Return a value of construct's as a frame holds it."""
    match value:
        case Copied():
            return plain_value(value.value)
        case Held():
            return value.value
        case dict():
            return value[FRAME]
        case list():
            return [plain_value(item) for item in value]
        case Named():
            return int(value)
        case _TextKey() | _NumberKey() | _NoKey():
            return value.raw
    return value


def writable(value: Any) -> Any:
    """Return a value of a frame as construct builds from it."""
    match value:
        case Frame(values=values):
            return {label: writable(item) for label, item in values.items()} | {FRAME: value}
        case list():
            return [writable(item) for item in value]
    return value


def joined(native: Any, found: Any) -> Any:
    """Return construct's value with the frames that the Layout found for it. Both must be the same."""
    match found:
        case Frame(values=values):
            both = {label: joined(native[label], item) for label, item in values.items()}
            return construct.Container(both | {FRAME: found})
        case list():
            return [joined(left, right) for left, right in zip(native, found, strict=True)]
    assert same(plain_value(native), found), f"construct reads {native!r}, the Layout {found!r}"
    return native


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same bytes, whatever their checksums."""
    match left:
        case Frame(values=values):
            sums = {item.label for item in left.layout.fields if checksum_in(item.type) is not None}
            return all(same(item, right.values[label]) for label, item in values.items() if label not in sums)
        case list():
            return len(left) == len(right) and all(map(same, left, right))
        case float():
            return isinstance(right, float) and same_float(left, right)
    return bool(left == right)


def bare(source: Any) -> Any:
    """Take off a construct what neither reads nor writes otherwise than what it is around."""
    source = unwrap(source)
    while isinstance(source, _DRESSES | construct.LazyBound):
        source = unwrap(source.subcon if isinstance(source, _DRESSES) else bound(source))
    return source


def valued(source: Any, kind: Any) -> Any:
    """Clone a construct to read and write values only."""
    source, kind = bare(source), plain(kind)
    match source:
        case construct.Transformed() | construct.NullStripped() | ScaledAdapter() | TimeAdapter():
            return over(source, valued(source.subcon, kind))
        case LsbBitStruct():
            parts = zip(source.subcons, kind.fields, strict=True)
            return LsbBitStruct(*(field.label / valued(part, field.type) for part, field in parts))
        case construct.Struct():
            pairs = zip(source.subcons, kind.fields, strict=True)
            return construct.Struct(*(field.label / valued(part, field.type) for part, field in pairs))
        case construct.RepeatUntil():
            return Repeated(source.predicate, valued(source.subcon, kind.element))
        case construct.Array() | construct.GreedyRange():
            return over(source, valued(source.subcon, kind.element))
        case construct.FocusedSeq() if (prefixed := prefixed_array(source)) is not None:
            return construct.PrefixedArray(prefixed[0], valued(prefixed[1], kind.element))
        case construct.Prefixed() | construct.FixedSized() | construct.NullTerminated():
            return over(source, valued(source.subcon, kind.inner))
        case construct.Padded() | construct.Aligned() if isinstance(kind, nodes.Padded):
            return over(source, valued(source.subcon, kind.inner))
        case construct.Select():
            return construct.Optional(valued(source.subcons[0], kind.inner))
        case construct.Const(value=str()) if isinstance(kind.type, nodes.Bytes):
            return construct.Bytes(kind.type.length)
        case construct.Const() | construct.RawCopy():
            return valued(source.subcon, kind)
        case construct.Enum(encmapping=members) | construct.FlagsEnum(flags=members):
            return _Names(valued(source.subcon, kind), members)
        case construct.Mapping(encmapping=members):
            return _Keys(valued(source.subcon, kind), members)
        case construct.FormatField() if source.fmtstr[1] in "efd":
            return _float(source)
        case construct.StringEncoded():
            return _LaxText(valued(source.subcon, kind.inner), source.encoding)
    match kind:
        case nodes.Computed():
            return Result(source, kind)
        case nodes.Nothing() | nodes.Terminated():
            return construct.Pass
    return source


def over(source: Any, subcon: Any) -> Any:
    """Return a construct like `source` around another one."""
    made = copy.copy(source)
    made.subcon = subcon
    return made


class Typed(construct.Subconstruct):
    """A construct beside its type."""

    def __init__(self, subcon: Any, kind: Type) -> None:
        super().__init__(subcon)
        self.kind: Any = kind


class Result(Typed):
    """What a Computed or Index gives, as an int or a bool."""

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        return self._typed(self.subcon._parsereport(stream, context, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> int:
        return self._typed(self.subcon._build(obj, stream, context, path))

    def _typed(self, value: Any) -> int:
        return bool(value) if self.kind.boolean else int(value)


class Repeated(construct.RepeatUntil):
    """A RepeatUntil that writes all elements: the predicate knows values as they are read."""

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return construct.GreedyRange(self.subcon)._build(obj, stream, context, path)


class _Names(construct.Subconstruct):
    """The integer of an Enum or FlagsEnum, with the names of its members."""

    def __init__(self, subcon: Any, members: Mapping[Any, int]) -> None:
        super().__init__(subcon)
        self.members = members.items()

    def _parse(self, stream: Any, context: Any, path: str) -> Named:
        return named(self.subcon._parsereport(stream, context, path), self.members)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Named:
        return named(self.subcon._build(int(obj), stream, context, path), self.members)


class _Keys(construct.Subconstruct):
    """The integer of a Mapping as its key, which remembers the integer."""

    def __init__(self, subcon: Any, members: Mapping[Any, int]) -> None:
        super().__init__(subcon)
        self.keys = {value: key for key, value in members.items()}

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        return self._key(self.subcon._parsereport(stream, context, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self._key(self.subcon._build(obj, stream, context, path))

    def _key(self, raw: int) -> Any:
        key = self.keys.get(raw)
        made: Any = _NoKey() if key is None else _TextKey(key) if isinstance(key, str) else _NumberKey(key)
        made.raw = raw
        return made


class _LaxText(construct.StringEncoded):
    """Text that is None where its bytes are none: that is a fault of the value, found elsewhere."""

    def _decode(self, obj: bytes, context: Any, path: str) -> str | None:
        try:
            return super()._decode(obj, context, path)  # type: ignore[no-any-return]
        except construct.StringError:
            return None


def _float(source: Any) -> Any:
    """Read a float by its bits, so that NaNs keep their payload. A signalling NaN reads as None."""
    order, letter = source.fmtstr
    raw, n = construct.FormatField(order, {"e": "H", "f": "L", "d": "Q"}[letter]), 8 * source.length
    return construct.ExprAdapter(raw, lambda x, _: float_from_bits(x, n), lambda x, _: float_to_bits(x, n))

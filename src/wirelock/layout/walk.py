"""An author's construct -> Layout, or a SchemaError with the path of the field and a remedy.

Only what has one lossless meaning in every engine is taken; everything else is refused by name.
The walk reads; it never parses or builds, and never changes the construct.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import construct
from construct.lib import bits2bytes, bytes2bits

from wirelock.errors import SchemaError
from wirelock.layout.expression import CONTEXT_NAMES, Scope, member_value, read_expression
from wirelock.layout.nodes import (
    MAX_ARRAY_DEPTH,
    MAX_DEPTH,
    Array,
    Bytes,
    Constant,
    Cursor,
    Enum,
    Expression,
    Field,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Length,
    Nothing,
    Number,
    Padding,
    Path,
    Prefix,
    Switch,
    Type,
    size_of,
)
from wirelock.layout.operators import paths_in

__all__ = ["Construct", "prefixed_array", "unwrap", "walk"]

Construct = construct.Construct

_FORMATS: Final = {
    "b": 8, "B": 8, "h": 16, "H": 16, "l": 32, "L": 32, "q": 64, "Q": 64,
    "e": 16, "f": 32, "d": 64, "?": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the walk is: the path so far, what expressions see, and whether the unit is a bit."""

    path: str
    scope: Scope
    bits: bool = False
    phase: int = 0
    depth: int = 0
    arrays: int = 0

    def refuse(self, problem: str, remedy: str = "") -> SchemaError:
        return SchemaError(self.path, problem, remedy)

    def within(self, label: str) -> _Place:
        return replace(self, path=f"{self.path}.{label}" if self.path else label)

    def deeper(self) -> _Place:
        """Return the place one layout or choice further in. Engines recurse once for each."""
        if self.depth >= MAX_DEPTH:
            raise self.refuse(f"layouts are nested deeper than {MAX_DEPTH}", "flatten the layout")
        return replace(self, depth=self.depth + 1)


def walk(source: Any) -> Layout:
    """Read a construct Struct or BitStruct as a Layout.

    Raises SchemaError for the first thing that cannot be taken. Fields of enclosing layouts
    (`this._`) are left open until another layout holds this one.
    """
    if not isinstance(source, Construct):
        raise SchemaError("", f"{source!r} is no construct", "give a construct Struct or BitStruct")
    found = _read(source, _Place("", Scope()))
    if not isinstance(found, Layout):
        raise SchemaError("", f"{_kind(source)} has no named fields", "wrap it in a Struct")
    return found


def unwrap(source: Any) -> Any:
    """Take the name off a construct."""
    while isinstance(source, construct.Renamed):
        source = source.subcon
    return source


def prefixed_array(source: Any) -> tuple[Any, Any] | None:
    """Return the count field and the element of a PrefixedArray; None for any other construct."""
    if not isinstance(source, construct.FocusedSeq) or source.parsebuildfrom != "items":
        return None
    if [part.name for part in source.subcons] != ["count", "items"]:
        return None
    count, items = (unwrap(part) for part in source.subcons)
    if not isinstance(count, construct.Rebuild) or not isinstance(items, construct.Array):
        return None
    if repr(count.func) != "len_(this['items'])" or repr(items.count) != "this['count']":
        return None
    return count.subcon, items.subcon


def _kind(source: Any) -> str:
    return "Flag" if source is construct.Flag else type(source).__name__


def _read(source: Any, at: _Place) -> Type:
    source = unwrap(source)
    if source is construct.Flag:
        return Flag(1 if at.bits else 8)
    if source is construct.Pass:
        return Nothing()
    if isinstance(source, construct.Transformed):
        return _read_region(source, at)
    if (prefixed := prefixed_array(source)) is not None:
        return _read_prefixed(*prefixed, at)
    reader = _READERS.get(type(source))
    if reader is None:
        remedy = (
            "name it with Rebuild at the top of a Struct" if isinstance(source, construct.Rebuild) else ""
        )
        raise at.refuse(f"{_kind(source)} is not a kind that wirelock reads here", remedy)
    return reader(source, at)


def _read_struct(source: Any, at: _Place) -> Layout:
    inside = at.deeper()
    scope = Scope(at.scope if at.depth else None)
    cursor = Cursor(at.phase)
    fields: list[Field] = []
    rebuilds: dict[int, Any] = {}
    for number, part in enumerate(source.subcons):
        name, inner = _checked_name(part, at, scope), unwrap(part)
        here = replace(inside.within(name or f"#{number}"), scope=scope, phase=cursor.phase)
        if isinstance(inner, construct.Rebuild):
            rebuilds[number], inner = inner.func, inner.subcon
        kind = _read(inner, here)
        label = name or f"{type(kind).__name__.lower()}#{number}"
        doc = " ".join((getattr(part, "docs", None) or "").split())
        fields.append(Field(name, label, kind, cursor.take(label, kind), doc=doc))
        if name:
            scope.types[name] = kind
    for number, function in rebuilds.items():
        fields[number] = _rebuilt(fields[number], function, at.within(fields[number].label), scope)
    _derive_counts(fields)
    for field in fields:
        fixed = isinstance(field.type, Constant | Padding | Nothing) or field.derived is not None
        if not field.in_record and not fixed:
            raise at.within(field.label).refuse(
                "a field without a public name must be constant or computed", "give it a name"
            )
    _check_computable(fields, at)
    layout = Layout(tuple(fields))
    try:
        _ = layout.computed
    except ValueError as labels:
        raise at.refuse(f"{labels} are computed from each other", "give one of them a public name") from None
    return layout


def _check_computable(fields: list[Field], at: _Place) -> None:
    """Refuse a derived field without a public name that needs another such field behind it.

    Building finds its value in the record, which has neither.
    """
    numbers = {field.name: number for number, field in enumerate(fields)}
    for number, field in enumerate(fields):
        if field.derived is None or field.in_record:
            continue
        for path in paths_in(field.derived):
            behind = not path.up and numbers[path.names[0]] >= number
            if behind and any(name.startswith("_") for name in path.names):
                raise at.within(field.label).refuse(
                    f"it follows from `{path}`, which the record has not", f"name `{path}` without underscore"
                )


def _checked_name(part: Any, at: _Place, scope: Scope) -> str | None:
    name = part.name
    if name is None:
        return None
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise at.within(str(name)).refuse("the name is not a Python identifier", "rename the field")
    if name in CONTEXT_NAMES or name.startswith("__"):
        raise at.within(name).refuse("the name is one of construct's or Python's own", "rename the field")
    if name in scope.types:
        raise at.within(name).refuse("two fields have this name", "rename one of them")
    return name


def _rebuilt(field: Field, function: Any, at: _Place, scope: Scope) -> Field:
    if not isinstance(field.type, Integer):
        raise at.refuse(f"a Rebuild of {type(field.type).__name__} is not read", "rebuild an integer")
    derived = read_expression(function, scope, at.path)
    return replace(field, derived=derived)


def _derive_counts(fields: list[Field]) -> None:
    """A plain integer that counts a later field of the same layout follows from that field."""
    numbers = {field.name: number for number, field in enumerate(fields)}
    for field in fields:
        match field.type:
            case Array(count=Path(up=0, names=(name,))) | Bytes(length=Path(up=0, names=(name,))):
                counter = fields[numbers[name]]
                if isinstance(counter.type, Integer) and counter.derived is None and field.name:
                    fields[numbers[name]] = replace(counter, derived=Length(Path(0, (field.name,))))


def _read_region(source: Any, at: _Place) -> Type:
    if source.decodefunc is bytes2bits:
        if at.bits:
            raise at.refuse("a bit region inside a bit region", "leave out the inner Bitwise or BitStruct")
        found = _read(source.subcon, replace(at, bits=True))
        size = size_of(found)
        if size.lowest % 8:
            raise at.refuse(f"a bit region of {size.lowest} bits", "pad it to whole bytes")
        return found
    if source.decodefunc is bits2bytes:
        if not at.bits:
            raise at.refuse("Bytewise outside of a bit region", "leave it out")
        return _read(source.subcon, replace(at.deeper(), bits=False))
    raise at.refuse("this Transformed is not a kind that wirelock reads")


def _read_restreamed(source: Any, at: _Place) -> Type:
    raise at.refuse("a bit region must have a fixed size", "end it before the first field of no fixed size")


def _read_format(source: Any, at: _Place) -> Type:
    order, letter = source.fmtstr
    bits = _FORMATS[letter]
    _bytes_only(source, at)
    if letter == "?":
        return Flag(8)
    if order == "=" and bits > 8:
        raise at.refuse("the byte order is the machine's own", "state it: ...l or ...b in place of ...n")
    byte_order = "little" if order == "<" and bits > 8 else "big"
    return Float(bits, byte_order) if letter in "efd" else Integer(bits, letter.islower(), byte_order)  # type: ignore[arg-type]


def _bytes_only(source: Any, at: _Place) -> None:
    if at.bits:
        raise at.refuse(
            f"{_kind(source)} inside a bit region would read one byte a bit", "use BitsInteger or Bytewise"
        )


def _read_bytes_integer(source: Any, at: _Place) -> Type:
    _bytes_only(source, at)
    return _integer(source, source.length, 8, at)


def _read_bits_integer(source: Any, at: _Place) -> Type:
    if not at.bits:
        raise at.refuse("BitsInteger outside of a bit region", "put it in a BitStruct or Bitwise")
    return _integer(source, source.length, 1, at)


def _integer(source: Any, length: Any, unit: int, at: _Place) -> Integer:
    if not isinstance(length, int) or callable(source.swapped):
        raise at.refuse("the width or byte order depends on other fields", "state them as constants")
    bits = length * unit
    if bits <= 0:
        raise at.refuse(f"an integer of {bits} bits", "give it a width")
    if source.swapped and bits % 8:
        raise at.refuse(f"{bits} swapped bits are no whole bytes", "swap multiples of 8 bits only")
    return Integer(bits, bool(source.signed), "little" if source.swapped and bits > 8 else "big")


def _read_enum(source: Any, at: _Place) -> Type:
    inner = _integer_inside(source, at)
    members = tuple((str(name), value) for name, value in source.encmapping.items())
    _check_members(members, inner, at)
    return Enum(inner, members)


def _read_flags(source: Any, at: _Place) -> Type:
    inner = _integer_inside(source, at)
    members = tuple((str(name), value) for name, value in source.flags.items())
    _check_members(members, inner, at)
    if inner.signed or any(value == 0 for _, value in members):
        raise at.refuse("flags need an unsigned integer and at least one bit each", "name single bits")
    single = sum({value for _, value in members if value & (value - 1) == 0})
    if any(value & ~single for _, value in members):
        raise at.refuse("a flag of several bits loses the others", "give each bit a name of its own")
    return Flags(inner, members)


def _integer_inside(source: Any, at: _Place) -> Integer:
    inner = _read(source.subcon, at)
    if not isinstance(inner, Integer):
        raise at.refuse(f"{_kind(source)} over {type(inner).__name__}", "put it over an integer")
    return inner


def _check_members(members: tuple[tuple[str, int], ...], inner: Integer, at: _Place) -> None:
    if not members:
        raise at.refuse("an enumeration without members", "name its members")
    for name, value in members:
        if isinstance(value, bool) or not isinstance(value, int):
            raise at.refuse(f"the member {name} is {value!r}", "members are integers")
        if not inner.lowest <= value <= inner.highest:
            raise at.refuse(
                f"the member {name} = {value} does not fit",
                f"{inner.bits} bits hold {inner.lowest}..{inner.highest}",
            )


def _length(source: Any, at: _Place, what: str) -> int | Expression:
    found = read_expression(source, at.scope, at.path)
    if isinstance(found, Number):
        if not 0 <= found.value < 1 << 32:
            raise at.refuse(f"a {what} of {found.value}", "give a length of 0 or more, below 2^32")
        return int(found.value)
    if at.bits:
        raise at.refuse(f"a {what} from the wire inside a bit region", "a bit region must have a fixed size")
    return found


def _read_bytes(source: Any, at: _Place) -> Type:
    _bytes_only(source, at)
    return Bytes(_length(source.length, at, "length"))


def _read_const(source: Any, at: _Place) -> Type:
    inner, value = _read(source.subcon, at), source.value
    match inner:
        case Integer():
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not inner.lowest <= value <= inner.highest
            ):
                raise at.refuse(
                    f"the constant {value!r} does not fit", f"give {inner.lowest}..{inner.highest}"
                )
            return Constant(inner, int(value))
        case Enum():
            number = member_value(inner, value)
            if number is None:
                raise at.refuse(f"the constant {value!r} is no member", "name a member")
            return Constant(inner.integer, number)
        case Bytes(length=int(length)):
            if not isinstance(value, bytes) or len(value) != length:
                raise at.refuse(f"the constant {value!r} does not fit", f"give {length} bytes")
            return Constant(inner, value)
    raise at.refuse(f"a Const of {type(inner).__name__}", "make it an integer or bytes")


def _read_padded(source: Any, at: _Place) -> Type:
    if unwrap(source.subcon) is not construct.Pass:
        raise at.refuse("Padded is not a kind that wirelock reads here", "write the field, then Padding")
    pattern = source.pattern[0]
    if at.bits and pattern > 1:
        raise at.refuse(f"the pattern {source.pattern!r} inside a bit region", r"use b'\x00' or b'\x01'")
    return Padding(_length(source.length, at, "padding"), 1 if at.bits else 8, pattern)


def _read_array(source: Any, at: _Place) -> Type:
    if source.discard:
        raise at.refuse("an Array that discards its elements loses them", "leave out discard")
    count = _length(source.count, at, "count")
    return Array(_element(source.subcon, at, wire_count=not isinstance(count, int)), count)


def _read_prefixed(count: Any, element: Any, at: _Place) -> Type:
    prefix = _read(count, at)
    if not isinstance(prefix, Integer):
        raise at.refuse(f"a count in {type(prefix).__name__}", "count with an integer")
    inner = replace(at, scope=Scope(at.scope, layout=False))
    return Array(_element(element, inner, wire_count=True), Prefix(prefix))


def _element(source: Any, at: _Place, *, wire_count: bool) -> Type:
    if at.arrays >= MAX_ARRAY_DEPTH:
        raise at.refuse(f"arrays are nested deeper than {MAX_ARRAY_DEPTH}", "flatten the layout")
    if wire_count and at.bits:
        raise at.refuse("a count from the wire inside a bit region", "a bit region must have a fixed size")
    found = _read(source, replace(at.within("[]"), arrays=at.arrays + 1))
    if at.bits and size_of(found).lowest % 8 and isinstance(found, Layout):
        raise at.refuse("an array of layouts that are no whole bytes", "pad each to whole bytes")
    if wire_count and size_of(found).lowest == 0:
        raise at.refuse("an element of no size has no bounded count", "give the element at least one byte")
    return found


def _read_if(source: Any, at: _Place) -> Type:
    if unwrap(source.elsesubcon) is not construct.Pass:
        raise at.refuse("IfThenElse is not a kind that wirelock reads here", "use Switch, or two Ifs")
    _no_choice_in_bits("If", at)
    condition = read_expression(source.condfunc, at.scope, at.path, condition=True)
    found = _read(source.thensubcon, at.deeper())
    return If(condition, found)


def _read_switch(source: Any, at: _Place) -> Type:
    _no_choice_in_bits("Switch", at)
    key = read_expression(source.keyfunc, at.scope, at.path, condition=True)
    holder = at.scope.resolve(key, at.path) if isinstance(key, Path) else None
    cases: dict[int, Type] = {}
    for name, case in source.cases.items():
        value = member_value(holder, name) if isinstance(holder, Enum) else name
        if value is None or not isinstance(value, int):
            known = (
                ", ".join(member for member, _ in holder.members) if isinstance(holder, Enum) else "integers"
            )
            raise at.refuse(f"the case {name!r} can never be the key", f"the key's values are {known}")
        if int(value) in cases:
            raise at.refuse(f"two cases have the key {int(value)}", "leave one out")
        cases[int(value)] = _read(case, at.deeper().within(f"<{name}>"))
    if not cases:
        raise at.refuse("a Switch without cases", "name its cases")
    default = None
    if source.default is not construct.Pass:
        # construct's own default is Pass, which would read an unknown key as nothing at all.
        default = _read(source.default, at.deeper().within("<default>"))
    return Switch(key, tuple(sorted(cases.items(), key=lambda case: case[0])), default)


def _no_choice_in_bits(what: str, at: _Place) -> None:
    if at.bits:
        raise at.refuse(
            f"{what} inside a bit region", "read the bits as integers and choose behind the region"
        )


_READERS: Final[dict[type, Callable[[Any, _Place], Type]]] = {
    construct.FormatField: _read_format,
    construct.BytesInteger: _read_bytes_integer,
    construct.BitsInteger: _read_bits_integer,
    construct.Restreamed: _read_restreamed,
    construct.Enum: _read_enum,
    construct.FlagsEnum: _read_flags,
    construct.Bytes: _read_bytes,
    construct.Const: _read_const,
    construct.Padded: _read_padded,
    construct.Array: _read_array,
    construct.IfThenElse: _read_if,
    construct.Switch: _read_switch,
    construct.Struct: _read_struct,
}

"""An author's construct -> Layout, or a SchemaError with the path of the field and a remedy.

Only what has one lossless meaning in every engine is taken; everything else is refused by name.
The walk reads; it never parses or builds, and never changes the construct.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import construct
from construct.lib import bits2bytes, bytes2bits

from wirelock.errors import SchemaError
from wirelock.layout.expression import CONTEXT_NAMES, Scope, interval_of, member_value, read_expression
from wirelock.layout.leaves import LEAVES, Place, kind_name, read_length, unwrap
from wirelock.layout.nodes import (
    MAX_ARRAY_DEPTH,
    MAX_BITS,
    MAX_CASES,
    MAX_REGION,
    Array,
    Bytes,
    Constant,
    Enum,
    Field,
    Flag,
    If,
    Integer,
    Layout,
    Length,
    Nothing,
    Padding,
    Path,
    Prefix,
    Switch,
    Type,
    size_of,
)
from wirelock.layout.operators import paths_in
from wirelock.layout.positions import Cursor

__all__ = ["Construct", "prefixed_array", "unwrap", "walk"]

Construct = construct.Construct


def walk(source: Any) -> Layout:
    """Read a construct Struct or BitStruct as a Layout.

    Raises SchemaError for the first thing that cannot be taken. Fields of enclosing layouts
    (`this._`) are left open until another layout holds this one.
    """
    if not isinstance(source, Construct):
        raise SchemaError("", f"{source!r} is no construct", "give a construct Struct or BitStruct")
    try:
        found = _read(source, Place("", Scope(), _read))
    except RecursionError:
        raise SchemaError("", "constructs are nested too deeply", "flatten the layout") from None
    if not isinstance(found, Layout):
        raise SchemaError("", f"{kind_name(source)} has no named fields", "wrap it in a Struct")
    return found


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


def _read(source: Any, at: Place) -> Type:
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
        remedy = REMEDIES.get(kind_name(source), KINDS)
        raise at.refuse(f"{kind_name(source)} is not a kind that wirelock reads here", remedy)
    return reader(source, at)


def _read_struct(source: Any, at: Place) -> Layout:
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
        try:
            position = cursor.take(label, kind)
        except ValueError as problem:
            raise here.refuse(str(problem), "let wide values begin and end with a byte") from None
        fields.append(Field(name, label, kind, position, doc=doc))
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
    layout = Layout(tuple(fields), origin=source)
    try:
        _ = layout.computed
    except ValueError as labels:
        first, *others = str(labels).split(", ")
        told = (
            f"it is computed from itself, by way of {', '.join(others)}"
            if others
            else "it is computed from itself"
        )
        raise at.within(first).refuse(told, "rebuild it from fields that the record states") from None
    return layout


def _check_computable(fields: list[Field], at: Place) -> None:
    """Refuse a hidden field that is computed from one inside a later record: that one may need it too."""
    numbers = {field.name: number for number, field in enumerate(fields)}
    for number, field in enumerate(fields):
        for path in paths_in(field.derived) if field.derived and not field.in_record else ():
            later = not path.up and numbers[path.names[0]] > number
            if later and any(name.startswith("_") for name in path.names[1:]):
                raise at.within(field.label).refuse(
                    f"it follows from `{path}` behind it", "give one a public name"
                )


def _checked_name(part: Any, at: Place, scope: Scope) -> str | None:
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


def _rebuilt(field: Field, function: Any, at: Place, scope: Scope) -> Field:
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


def _read_region(source: Any, at: Place) -> Type:
    if source.decodefunc is bytes2bits:
        if at.bits:
            raise at.refuse("a bit region inside a bit region", "leave out the inner Bitwise or BitStruct")
        found = _read(source.subcon, replace(at, bits=True))
        size = size_of(found)
        if size.lowest > MAX_REGION:
            raise at.refuse(f"a bit region of {size.lowest} bits", f"split it: {MAX_REGION} are the most")
        if size.lowest % 8:
            raise at.refuse(f"a bit region of {size.lowest} bits", "pad it to whole bytes")
        return found
    if source.decodefunc is bits2bytes:
        if not at.bits:
            raise at.refuse("Bytewise outside of a bit region", "leave it out")
        return _read(source.subcon, replace(at.deeper(), bits=False))
    raise at.refuse("this Transformed is not a kind that wirelock reads", "read the bytes as they lie")


def _read_restreamed(source: Any, at: Place) -> Type:
    raise at.refuse("a bit region must have a fixed size", "end it before the first field of no fixed size")


def _read_array(source: Any, at: Place) -> Type:
    if source.discard:
        raise at.refuse("an Array that discards its elements loses them", "leave out discard")
    count = read_length(source.count, at, "count")
    element = _element(source.subcon, at, wire_count=not isinstance(count, int))
    if isinstance(count, int) and count > MAX_BITS and size_of(element).lowest == 0:
        raise at.refuse(f"{count} elements of no size", "give the element at least one byte")
    return Array(element, count)


def _read_prefixed(count: Any, element: Any, at: Place) -> Type:
    prefix = _read(count, at)
    if not isinstance(prefix, Integer):
        raise at.refuse(f"a count in {type(prefix).__name__}", "count with an integer")
    inner = replace(at, scope=Scope(at.scope, layout=False))
    return Array(_element(element, inner, wire_count=True), Prefix(prefix))


def _element(source: Any, at: Place, *, wire_count: bool) -> Type:
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


def _read_if(source: Any, at: Place) -> Type:
    if unwrap(source.elsesubcon) is not construct.Pass:
        raise at.refuse("IfThenElse is not a kind that wirelock reads here", "use Switch, or two Ifs")
    _no_choice_in_bits("If", at)
    condition = read_expression(source.condfunc, at.scope, at.path, condition=True)
    found = _read(source.thensubcon, at.deeper())
    return If(condition, found)


def _read_switch(source: Any, at: Place) -> Type:
    _no_choice_in_bits("Switch", at)
    key = read_expression(source.keyfunc, at.scope, at.path, condition=True)
    holder = at.scope.resolve(key, at.path) if isinstance(key, Path) else None
    lowest, highest = interval_of(source.keyfunc, at.scope, at.path)
    cases: dict[int, Type] = {}
    for number, (name, case) in enumerate(source.cases.items()):
        value = member_value(holder, name) if isinstance(holder, Enum) else name
        if holder is None and isinstance(key, Path) and not isinstance(name, int):
            value = number  # the key lies around the record; it is read again where the record is held
        if value is None or not isinstance(value, int):
            known = (
                ", ".join(member for member, _ in holder.members) if isinstance(holder, Enum) else "integers"
            )
            raise at.refuse(f"the case {name!r} can never be the key", f"the key's values are {known}")
        if not lowest <= value <= highest:
            raise at.refuse(f"the case {name!r} can never be the key", f"the key lies in {lowest}..{highest}")
        if int(value) in cases:
            raise at.refuse(f"two cases have the key {int(value)}", "leave one out")
        cases[int(value)] = _read(case, at.deeper().within(f"<{name}>"))
    if len(cases) > MAX_CASES:
        raise at.refuse(f"a Switch of {len(cases)} cases", f"split it: {MAX_CASES} are the most")
    if not cases:
        raise at.refuse("a Switch without cases", "name its cases")
    default = None
    if source.default is not construct.Pass:
        # construct's own default is Pass, which would read an unknown key as nothing at all.
        default = _read(source.default, at.deeper().within("<default>"))
    return Switch(key, tuple(sorted(cases.items(), key=lambda case: case[0])), default)


def _no_choice_in_bits(what: str, at: Place) -> None:
    if at.bits:
        raise at.refuse(
            f"{what} inside a bit region", "read the bits as integers and choose behind the region"
        )


KINDS: Final = (
    "use integers, floats, bit fields, Flag, Enum, FlagsEnum, Bytes, Const, Padding, Struct, Array,"
    " PrefixedArray, If, Switch, Pass and Rebuild"
)
_COUNTED: Final = 'read the bytes: "length" / Int8ub, "data" / Bytes(this.length)'

REMEDIES: Final = {
    "Prefixed": _COUNTED,
    "FixedSized": "read the fields of the region one by one, then Padding",
    "NullTerminated": _COUNTED,
    "StringEncoded": _COUNTED,
    "Checksum": "read the checksum as an integer",
    "RawCopy": "leave it out: build gives a record's bytes",
    "Pointer": "read the fields in the order of the wire",
    "Peek": "read the fields in the order of the wire",
    "Rebuild": "name it, at the top of a Struct",
    "GreedyBytes": "state the length: Bytes(this.length)",
    "GreedyRange": "state the count: Array(this.count, ...) or PrefixedArray",
    "RepeatUntil": "state the count: Array(this.count, ...) or PrefixedArray",
    "Computed": "compute it in Python from the record, or Rebuild a field of the wire",
    "Check": "give the record a Rule",
    "ExprValidator": "give the record a Rule, or annotate the field",
    "OneOf": "annotate the record's field with a Literal",
    "NoneOf": "give the record a Rule",
    "Optional": "use If with a field that says whether it is there",
    "Select": "use Switch with a field that says which it is",
    "Union": "use Switch with a field that says which it is",
    "Sequence": "use a Struct: record fields have names",
    "Mapping": "use Enum with an IntEnum",
    "Hex": "leave it out: it changes what is printed, not the bytes",
    "HexDump": "leave it out: it changes what is printed, not the bytes",
    "LazyBound": "layouts cannot contain themselves: write the levels out",
    "VarInt": "use an integer of fixed width",
    "ZigZag": "use an integer of fixed width",
}
"""What to write in place of the kinds that people try first."""

_READERS: Final[dict[type, Callable[[Any, Place], Type]]] = {
    **LEAVES,
    construct.Restreamed: _read_restreamed,
    construct.Array: _read_array,
    construct.IfThenElse: _read_if,
    construct.Switch: _read_switch,
    construct.Struct: _read_struct,
}

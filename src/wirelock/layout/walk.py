"""An author's construct -> Layout, or a SchemaError with the path of the field and a remedy.

Only what has one lossless meaning in every engine is taken; everything else is refused by name.
The walk reads; it never parses or builds, and never changes the construct.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import construct
from construct.lib import bits2bytes, bytes2bits, swapbitsinbytes, swapbytes

from wirelock.errors import SchemaError
from wirelock.layout.adapters import LsbBitStruct
from wirelock.layout.branches import BRANCHES
from wirelock.layout.choice import is_truth
from wirelock.layout.expression import (
    CONTEXT_NAMES,
    Scope,
    interval_of,
    member_value,
    read_condition,
    read_expression,
    read_until,
)
from wirelock.layout.leaves import LEAVES, Place, kind_name, read_length, unwrap
from wirelock.layout.limits import MAX_ARRAY_DEPTH, MAX_BITS, MAX_REGION
from wirelock.layout.nodes import (
    Array,
    ByteOrder,
    Bytes,
    Computed,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    Integer,
    Layout,
    Limit,
    Limited,
    Mapping,
    Nothing,
    Order,
    Padding,
    Prefix,
    Rest,
    Scaled,
    Terminated,
    Text,
    Time,
    Type,
    Until,
    VarInt,
    integer_of,
    plain,
)
from wirelock.layout.operators import paths_in, reads_index
from wirelock.layout.positions import Cursor, reordered
from wirelock.layout.remedies import KINDS, REMEDIES
from wirelock.layout.sized import SIZED, read_prefix
from wirelock.layout.sizes import reach_of, size_of
from wirelock.layout.terms import Length, Operation, Path, Rule

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
    if source is construct.Terminated:
        return Terminated()
    if source is construct.Index:
        return _read_index(at)
    if isinstance(source, LsbBitStruct):
        bits = construct.Bitwise(construct.Struct(*source.subcons))
        return _reordered(_read_region(bits, at), "least-first", at, source)
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
    rules: list[Rule] = []
    for number, part in enumerate(source.subcons):
        name, inner = _checked_name(part, at, scope), unwrap(part)
        here = replace(inside.within(name or f"#{number}"), scope=scope, phase=cursor.phase)
        default = None
        if isinstance(inner, construct.Rebuild):
            rebuilds[number], inner = inner.func, inner.subcon
        elif isinstance(inner, construct.Default):
            default, inner = _default(inner, here), inner.subcon
        elif isinstance(inner, construct.Check):
            condition = read_condition(inner.func, scope, here.path)
            if reads_index(condition) or any(path.up for path in paths_in(condition)):
                raise here.refuse("a Check of fields around its Struct", "put it into the Struct around")
            label = (name or f"check-{number}").strip("_").lower().replace("_", "-")
            rules.append(Rule(label, condition, " ".join((part.docs or "").split())))
            name, inner = None, construct.Pass
        kind = _read(inner, here)
        label = name or f"{type(kind).__name__.lower()}#{number}"
        doc = " ".join((getattr(part, "docs", None) or "").split())
        try:
            position = cursor.take(label, kind)
        except ValueError as problem:
            raise here.refuse(str(problem), "let wide values begin and end with a byte") from None
        _check_behind(fields, kind, here)
        derived = kind.expression if isinstance(kind, Computed) else None
        fields.append(Field(name, label, kind, position, derived, doc, default))
        if name:
            scope.types[name] = kind
    for number, function in rebuilds.items():
        fields[number] = _rebuilt(fields[number], function, at.within(fields[number].label), scope)
    _derive_counts(fields)
    for field in fields:
        fixed = isinstance(field.type, _WORTHLESS) or field.derived is not None
        if not field.in_record and not fixed:
            raise at.within(field.label).refuse(
                "a field without a public name must be constant or computed", "give it a name"
            )
    _check_computable(fields, at)
    layout = Layout(tuple(fields), rules=tuple(rules), origin=source)
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


def _default(source: Any, at: Place) -> Any:
    if callable(source.value):
        raise at.refuse("a Default that follows from other fields", "use Rebuild, or a constant")
    return source.value


def _check_behind(fields: list[Field], kind: Type, at: Place) -> None:
    """Refuse what takes bytes behind a field that takes all of them, or takes them where it is absent."""
    for field in fields:
        reach, size = reach_of(field.type), size_of(kind)
        if reach == "rest" and size.highest != 0:
            told = f"{field.label} before it takes all the bytes that are left"
            raise at.refuse(told, f"give {field.label} a size or count, or put it last")
        if reach == "optional" and size.lowest:
            told = f"it always takes bytes, so that {field.label} before it is never absent"
            raise at.refuse(
                told, f"put {field.label} last, or use If with a field that says whether it is there"
            )


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
    if source.decodefunc in (swapbytes, swapbitsinbytes):
        return _read_swapped(source, at)
    raise at.refuse("this Transformed is not a kind that wirelock reads", "read the bytes as they lie")


def _read_swapped(source: Any, at: Place) -> Type:
    """ByteSwapped turns the byte order of a number round; around a BitStruct it and BitsSwapped move bits."""
    if source.decodefunc is swapbytes and not at.bits:
        kind = _read(source.subcon, at)
        inner = integer_of(kind) or kind
        if isinstance(inner, Integer | Float):
            order: ByteOrder = "big" if inner.order == "little" or inner.bits == 8 else "little"
            match kind:
                case Integer() | Float():
                    return replace(kind, order=order)
                case Enum(integer=integer) | Flags(integer=integer) | Mapping(integer=integer):
                    return replace(kind, integer=replace(integer, order=order))
                case Scaled(integer=integer) | Time(integer=integer):
                    return replace(kind, integer=replace(integer, order=order))
        if isinstance(kind, Layout):
            return _reordered(kind, "bytes-swapped", at, source)
    elif not at.bits and isinstance(unwrap(source.subcon), construct.Transformed):
        return _reordered(_read(source.subcon, at), "bits-swapped", at, source)
    told = "ByteSwapped" if source.decodefunc is swapbytes else "BitsSwapped"
    raise at.refuse(
        f"{told} around anything but an integer, a float or a BitStruct",
        "read the fields in the order in which they lie",
    )


_SCATTERED: Final = (Integer, Flag, Enum, Flags, Mapping, Scaled, Time, Padding, Constant, Nothing)


def _reordered(kind: Type, order: Order, at: Place, source: Any) -> Layout:
    """Give the fields of a bit region the places that they have where its bits lie otherwise."""
    if not isinstance(kind, Layout) or kind.order != "wire":
        raise at.refuse("bits in another order around what is no BitStruct", "name the fields of a BitStruct")
    for item in kind.fields:
        inner = plain(item.type)
        integer = integer_of(inner)
        if not isinstance(inner, _SCATTERED) or (integer and integer.order == "little"):
            raise at.within(item.label).refuse(
                f"{type(inner).__name__} among bits in another order", "use integers, flags and enumerations"
            )
    return replace(kind, fields=reordered(kind.fields, order), order=order, origin=source)


def _read_restreamed(source: Any, at: Place) -> Type:
    raise at.refuse("a bit region must have a fixed size", "end it before the first field of no fixed size")


def _read_array(source: Any, at: Place) -> Type:
    _keeps_elements(source, at)
    count = read_length(source.count, at, "count")
    element = _element(source.subcon, at, wire_count=not isinstance(count, int))
    if isinstance(count, int) and count > MAX_BITS and size_of(element).lowest == 0:
        raise at.refuse(f"{count} elements of no size", "give the element at least one byte")
    return Array(element, count)


def _keeps_elements(source: Any, at: Place) -> None:
    if source.discard:
        raise at.refuse(f"{kind_name(source)} that discards its elements loses them", "leave out discard")


def _read_greedy_range(source: Any, at: Place) -> Type:
    _keeps_elements(source, at)
    return Array(_element(source.subcon, at, wire_count=True), Rest())


def _read_repeat_until(source: Any, at: Place) -> Type:
    _keeps_elements(source, at)
    element = _element(source.subcon, at, wire_count=True)
    return Array(element, Until(read_until(source.predicate, element, at.scope, at.path)))


def _read_prefixed(count: Any, element: Any, at: Place) -> Type:
    prefix = read_prefix(count, at, "count")
    inner = replace(at, scope=Scope(at.scope, layout=False))
    return Array(_element(element, inner, wire_count=True), Prefix(prefix))


def _element(source: Any, at: Place, *, wire_count: bool) -> Type:
    if at.arrays >= MAX_ARRAY_DEPTH:
        raise at.refuse(f"arrays are nested deeper than {MAX_ARRAY_DEPTH}", "flatten the layout")
    if wire_count and at.bits:
        raise at.refuse("a count from the wire inside a bit region", "a bit region must have a fixed size")
    with at.scope.counting():
        found = _read(source, replace(at.within("[]"), arrays=at.arrays + 1))
    if at.bits and size_of(found).lowest % 8 and isinstance(found, Layout):
        raise at.refuse("an array of layouts that are no whole bytes", "pad each to whole bytes")
    if reach_of(found) != "own":
        raise at.refuse(
            "an element that takes all the bytes that are left", "give it a size: Prefixed or FixedSized"
        )
    if wire_count and size_of(found).lowest == 0:
        raise at.refuse("an element of no size has no bounded count", "give the element at least one byte")
    return found


def _read_computed(source: Any, at: Place) -> Type:
    if isinstance(source.func, float | str | bytes) or source.func is None:
        raise at.refuse(
            f"a Computed of {source.func!r}", "compute integers; give the record a property for others"
        )
    expression = read_expression(source.func, at.scope, at.path)
    bounds = interval_of(source.func, at.scope, at.path)
    boolean = isinstance(source.func, bool) or (
        isinstance(expression, Operation) and is_truth((expression, bounds))
    )
    return Computed(expression, *bounds, boolean)


def _read_index(at: Place) -> Type:
    expression = read_expression(construct.this._index, at.scope, at.path)
    return Computed(expression, *interval_of(construct.this._index, at.scope, at.path), False)


def _read_one_of(source: Any, at: Place) -> Type:
    """OneOf and NoneOf are ExprValidators, whose values lie in the closure of a function."""
    test = _outer(source._validate, "validator")
    maker = getattr(test, "__qualname__", "").partition(".")[0]
    if maker not in ("OneOf", "NoneOf") or test.__module__ != construct.OneOf.__module__:
        raise at.refuse("ExprValidator is not a kind that wirelock reads here", REMEDIES["ExprValidator"])
    kind = _read(source.subcon, at)
    values = _outer(test, "valids" if maker == "OneOf" else "invalids")
    if not isinstance(kind, Integer | VarInt | Time | Enum | Flags | Bytes | Text):
        raise at.refuse(
            f"{maker} around {type(plain(kind)).__name__}", "put it around an integer, bytes or text"
        )
    found = tuple(_valid(value, kind, at) for value in values)
    return Limited(kind, (Limit("one_of" if maker == "OneOf" else "none_of", found),))


def _outer(function: Any, name: str) -> Any:
    """Return a variable of the function around a function."""
    return inspect.getclosurevars(function).nonlocals.get(name)


def _valid(value: Any, kind: Type, at: Place) -> int | bytes | str:
    if isinstance(kind, Enum):
        number = member_value(kind, value)
        if number is None:
            raise at.refuse(f"{value!r} is no member", "name members")
        return number
    wanted: type[int | bytes | str] = int
    if isinstance(kind, Bytes | Text):
        wanted = bytes if isinstance(kind, Bytes) else str
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise at.refuse(f"the value {value!r}", f"give {wanted.__name__}")
    return int(value) if isinstance(value, int) else value


_WORTHLESS: Final = (Constant, Padding, Nothing, Terminated, Computed)
"""What needs no value to be written."""

_READERS: Final[dict[type, Callable[[Any, Place], Type]]] = {
    **LEAVES,
    construct.Restreamed: _read_restreamed,
    **SIZED,
    **BRANCHES,
    construct.Array: _read_array,
    construct.GreedyRange: _read_greedy_range,
    construct.RepeatUntil: _read_repeat_until,
    construct.Computed: _read_computed,
    construct.ExprValidator: _read_one_of,
    construct.Default: lambda source, at: _read(source.subcon, at),
    construct.Struct: _read_struct,
}

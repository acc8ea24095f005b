"""An author's construct -> Layout, or a SchemaError with the path of the field and a remedy.

Only what has one lossless meaning in every engine is taken; everything else is refused by name.
The walk reads; it never parses or builds, and never changes the construct.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import construct
from construct.lib import bits2bytes, bytes2bits, swapbitsinbytes, swapbytes

from wirelock.errors import SchemaError
from wirelock.layout.adapters import LsbBitStruct
from wirelock.layout.arrays import ARRAYS, prefixed_array, read_prefixed_array
from wirelock.layout.branches import BRANCHES
from wirelock.layout.choice import is_truth
from wirelock.layout.code import CODE
from wirelock.layout.expression import (
    Scope,
    interval_of,
    member_value,
    read_condition,
    read_expression,
)
from wirelock.layout.fields import (
    check_behind,
    check_checksums,
    check_computable,
    check_name,
    derive_counts,
    holds_code,
    needs_no_value,
    public_name,
)
from wirelock.layout.leaves import (
    LEAVES,
    Place,
    TooManyError,
    base_name,
    bound,
    called,
    is_own,
    kind_name,
    unwrap,
)
from wirelock.layout.limits import MAX_CONSTRUCTS, MAX_REGION, MAX_SCATTERED
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
    Framed,
    Integer,
    Layout,
    Limited,
    Mapping,
    Nothing,
    Order,
    Padding,
    Position,
    Scaled,
    Terminated,
    Text,
    Time,
    Type,
    VarInt,
    has_part,
    integer_of,
    plain,
)
from wirelock.layout.operators import paths_in, reads_index
from wirelock.layout.positions import Cursor, reordered
from wirelock.layout.remedies import CODE_NAME, KINDS, REMEDIES
from wirelock.layout.scope import UNKNOWN
from wirelock.layout.sized import SIZED, byte_aligned
from wirelock.layout.sizes import reach_of, size_of
from wirelock.layout.terms import Limit, Operation, Rule

__all__ = ["Construct", "read_whole", "take", "unwrap", "walk"]

Construct = construct.Construct


def walk(source: Any) -> Layout:
    """Read a construct Struct or BitStruct as a Layout.

    Raises SchemaError for the first thing that cannot be taken. Fields of enclosing layouts
    (`this._`) are left open until another layout holds this one.
    """
    return read_whole(source, Place("", Scope(), take))


def read_whole(source: Any, at: Place) -> Layout:
    """Read the outermost construct with the reader of a place. Raises as walk does."""
    if not isinstance(source, Construct):
        raise SchemaError("", f"{source!r} is no construct", "give a construct Struct or BitStruct")
    try:
        found = at.read(source)
    except RecursionError:
        raise SchemaError("", "constructs are nested too deeply", "flatten the layout") from None
    except TooManyError:
        told = f"it is made of more than {MAX_CONSTRUCTS} constructs, each counted wherever it stands"
        raise SchemaError("", told, "split it into records of their own") from None
    if not isinstance(found, Layout):
        told = f"{kind_name(unwrap(source))} has no named fields"
        raise SchemaError("", told, 'wrap it in a Struct, as in Struct("items" / ...)')
    return found


def take(source: Any, at: Place) -> Type:
    """Read one construct. Raises SchemaError where it cannot be taken."""
    source = unwrap(source)
    at = at.inside(source)
    if source is construct.Flag:
        return Flag(1 if at.bits else 8)
    if source is construct.Pass:
        return Nothing()
    if source is construct.Terminated:
        if at.bits:
            raise at.refuse("Terminated inside a bit region", "put it behind the region")
        return Terminated()
    if source is construct.Index:
        return _read_index(at)
    if isinstance(source, LsbBitStruct):
        bits = construct.Bitwise(construct.Struct(*source.subcons))
        return _reordered(_read_region(bits, at), "least-first", at, source)
    if isinstance(source, construct.Transformed):
        return _read_region(source, at)
    if (prefixed := prefixed_array(source)) is not None:
        return read_prefixed_array(*prefixed, at)
    reader = _READERS.get(type(source))
    if reader is None:
        raise _not_read(source, at)
    return reader(source, at)


def _not_read(source: Any, at: Place) -> SchemaError:
    name, base = kind_name(source), base_name(source)
    if not is_own(source):
        return at.refuse(f"{name} is not a kind that wirelock reads here", REMEDIES.get(name, KINDS))
    told = f"{name}, a subclass of {base}, is not a kind that wirelock reads here"
    return at.refuse(told, REMEDIES.get(base, f"write {base} itself; or {CODE_NAME}"))


def _read_struct(source: Any, at: Place) -> Layout:
    inside = at.deeper()
    scope = Scope(at.scope if at.depth else None)
    cursor = Cursor(at.phase)
    fields: list[Field] = []
    reaching: list[Field] = []
    rebuilds: dict[int, Any] = {}
    rules: list[Rule] = []
    for number, part in enumerate(source.subcons):
        name, inner, proper = part.name, unwrap(part), False
        here = replace(inside.within(str(name or f"#{number}")), scope=scope, phase=cursor.phase)
        with here.noting():
            check_name(name, here)
            proper = True
        default = None
        if isinstance(inner, construct.Rebuild):
            rebuilds[number], inner = inner.func, inner.subcon
        elif isinstance(inner, construct.Default):
            with here.noting():
                default = _default(inner, here)
            inner = inner.subcon
        elif isinstance(inner, construct.Check):
            with here.noting():
                rules.append(_rule(inner.func, name or f"check-{number}", part.docs or "", here))
            name, inner = None, construct.Pass
        copied = isinstance(inner, construct.RawCopy)
        kind = here.read(inner.subcon if copied else inner)
        if not proper:
            name, kind = str(name), UNKNOWN
        label = name or f"{type(kind).__name__.lower()}#{number}"
        doc = " ".join((getattr(part, "docs", None) or "").split())
        position = Position(0)
        with here.noting():
            position = _position(cursor, label, kind, here)
            check_behind(reaching, kind, here)
            check_checksums(kind, here)
            if copied:
                byte_aligned(inner, here)
        derived = kind.expression if isinstance(kind, Computed) else None
        fields.append(Field(name, label, kind, position, derived, doc, default, copied))
        if reach_of(kind) != "own":
            reaching.append(fields[-1])
        if name:
            scope.types[name] = kind
            scope.copied |= {name} if copied else set()
    for number, function in rebuilds.items():
        field = fields[number]
        if field.type is not UNKNOWN:
            fields[number] = replace(field, type=UNKNOWN)
            with at.noting():
                fields[number] = _rebuilt(field, function, at.within(field.label), scope)
    derive_counts(fields)
    for field in fields:
        if not (field.in_record or field.derived is not None or needs_no_value(field.type)):
            told = "a field without a public name must be constant or computed"
            at.note(at.within(field.label).refuse(told, public_name(field)))
    layout = Layout(tuple(fields), rules=tuple(rules), origin=source)
    with at.noting():
        check_computable(layout, at)
    return layout


def _rule(function: Any, name: str, docs: str, at: Place) -> Rule:
    condition = read_condition(function, at.scope, at.path)
    if reads_index(condition) or any(path.up for path in paths_in(condition)):
        raise at.refuse("a Check of fields around its Struct", "put it into the Struct around")
    return Rule(name.strip("_").lower().replace("_", "-"), condition, " ".join(docs.split()))


def _position(cursor: Cursor, label: str, kind: Type, at: Place) -> Position:
    try:
        return cursor.take(label, kind)
    except ValueError as problem:
        raise at.refuse(str(problem), "let wide values begin and end with a byte") from None


def _default(source: Any, at: Place) -> Any:
    if callable(source.value):
        raise at.refuse("a Default that follows from other fields", "use Rebuild, or a constant")
    return source.value


def _rebuilt(field: Field, function: Any, at: Place, scope: Scope) -> Field:
    if not isinstance(field.type, Integer):
        raise at.refuse(f"a Rebuild of {called(field.type)} is not read", "rebuild an integer")
    derived = read_expression(function, scope, at.path)
    return replace(field, derived=derived)


def _read_region(source: Any, at: Place) -> Type:
    if source.decodefunc is bytes2bits:
        if at.bits:
            raise at.refuse("a bit region inside a bit region", "leave out the inner Bitwise or BitStruct")
        found = replace(at, bits=True).read(source.subcon)
        size = size_of(found)
        if size.lowest > MAX_REGION:
            raise at.refuse(f"a bit region of {size.lowest} bits", f"split it: {MAX_REGION} are the most")
        if size.lowest % 8:
            raise at.refuse(f"a bit region of {size.lowest} bits", "pad it to whole bytes")
        if holds_code(found):
            raise at.refuse("code inside a bit region", "put RawCopy, Checksum and opaque behind the region")
        if has_part(found, Framed):
            raise at.refuse("FocusedSeq inside a bit region", "put it behind the region")
        return found
    if source.decodefunc is bits2bytes:
        if not at.bits:
            raise at.refuse("Bytewise outside of a bit region", "leave it out")
        return replace(at.deeper(), bits=False).read(source.subcon)
    if source.decodefunc in (swapbytes, swapbitsinbytes):
        return _read_swapped(source, at)
    raise at.refuse("this Transformed is not a kind that wirelock reads", "read the bytes as they lie")


def _read_swapped(source: Any, at: Place) -> Type:
    """ByteSwapped turns the byte order of a number round; around a BitStruct it and BitsSwapped move bits."""
    if source.decodefunc is swapbytes and not at.bits:
        kind = at.read(source.subcon)
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
        return _reordered(at.read(source.subcon), "bits-swapped", at, source)
    told = "ByteSwapped" if source.decodefunc is swapbytes else "BitsSwapped"
    raise at.refuse(
        f"{told} around anything but an integer, a float or a BitStruct",
        "read the fields in the order in which they lie",
    )


def _check_scattered(kind: Array, at: Place) -> None:
    element, short = kind.element, isinstance(kind.count, int) and kind.count <= MAX_SCATTERED
    if not isinstance(element, Integer | Flag) or (
        isinstance(element, Integer) and element.order == "little"
    ):
        raise at.refuse("an Array of anything but integers among bits in another order", "name the elements")
    if not short and element.bits % 8 == 0:
        told = f"more than {MAX_SCATTERED} whole bytes in an Array among bits in another order"
        raise at.refuse(told, "put the Array behind the region")


_SCATTERED: Final = (Integer, Flag, Enum, Flags, Mapping, Scaled, Time, Padding, Constant, Nothing)


def _reordered(kind: Type, order: Order, at: Place, source: Any) -> Layout:
    """Give the fields of a bit region the places that they have where its bits lie otherwise."""
    if not isinstance(kind, Layout) or kind.order != "wire":
        raise at.refuse("bits in another order around what is no BitStruct", "name the fields of a BitStruct")
    for item in kind.fields:
        inner = plain(item.type)
        integer = integer_of(inner)
        if isinstance(inner, Array) and order != "least-first":
            _check_scattered(inner, at.within(item.label))
        elif not isinstance(inner, _SCATTERED) or (integer and integer.order == "little"):
            raise at.within(item.label).refuse(
                f"{called(inner)} among bits in another order", "use integers, flags and enumerations"
            )
    return replace(kind, fields=reordered(kind.fields, order), order=order, origin=source)


def _read_lazy_bound(source: Any, at: Place) -> Type:
    try:
        found = bound(source)
    except Exception as problem:  # of the author's own code, which may raise anything
        told = f"the function of a LazyBound raises {type(problem).__name__}: {problem}"
        raise at.refuse(told, "name what it returns in its place") from None
    if not isinstance(found, Construct):
        raise at.refuse(f"a LazyBound of {found!r}, which is no construct", "return a construct")
    return at.deeper().read(found)


def _read_restreamed(source: Any, at: Place) -> Type:
    raise at.refuse("a bit region must have a fixed size", "end it before the first field of no fixed size")


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
    kind = at.read(source.subcon)
    values = _outer(test, "valids" if maker == "OneOf" else "invalids")
    if not isinstance(kind, Integer | VarInt | Time | Enum | Flags | Bytes | Text):
        raise at.refuse(f"{maker} around {called(plain(kind))}", "put it around an integer, bytes or text")
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


_READERS: Final[dict[type, Callable[[Any, Place], Type]]] = {
    **LEAVES,
    construct.Restreamed: _read_restreamed,
    construct.LazyBound: _read_lazy_bound,
    **SIZED,
    **BRANCHES,
    **CODE,
    **ARRAYS,
    construct.Computed: _read_computed,
    construct.ExprValidator: _read_one_of,
    construct.Default: lambda source, at: at.read(source.subcon),
    construct.Struct: _read_struct,
}

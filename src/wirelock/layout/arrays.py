"""construct's arrays and sequences -> types of nodes: many values of one kind, or values without names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import construct

from wirelock.layout.expression import Scope, read_until
from wirelock.layout.fields import is_worthless
from wirelock.layout.leaves import Place, kind_name, read_length, unwrap
from wirelock.layout.limits import MAX_ARRAY_DEPTH, MAX_BITS
from wirelock.layout.nodes import Array, Framed, Layout, Prefix, Rest, Sequence, Type, Until
from wirelock.layout.remedies import FOCUSED
from wirelock.layout.sized import byte_aligned, read_prefix
from wirelock.layout.sizes import reach_of, size_of

__all__ = ["ARRAYS", "FROM_STRUCT", "prefixed_array", "read_prefixed_array"]

FROM_STRUCT: Final = construct.Check | construct.Rebuild | construct.Default
"""What has its meaning from the Struct around it."""


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


def _read_focused(source: Any, at: Place) -> Type:
    """Read a FocusedSeq of one value that the record has. PrefixedArray is one too, and was read before."""
    byte_aligned(source, at)
    names = [part.name for part in source.subcons]
    focus = source.parsebuildfrom
    if not isinstance(focus, str) or names.count(focus) != 1:
        raise at.refuse(f"FocusedSeq of {focus!r}, which is no one of its parts", "name one of its parts")
    inside = replace(at.deeper(), scope=Scope(at.scope, layout=False))
    chosen = names.index(focus)
    types: list[Type] = []
    for number, part in enumerate(source.subcons):
        here = inside if number == chosen else replace(inside, path=f"{at.path}#{number}")
        found = here.read(part)
        if number != chosen and not is_worthless(found):
            raise here.refuse("a FocusedSeq would lose this value", FOCUSED)
        if any(reach_of(before) != "own" for before in types) and size_of(found).highest != 0:
            told = "what is before it takes all the bytes that are left"
            raise here.refuse(told, "give that a size or count")
        types.append(found)
    return Framed(tuple(types[:chosen]), types[chosen], tuple(types[chosen + 1 :]))


def _read_sequence(source: Any, at: Place) -> Type:
    if at.bits or at.phase:
        raise at.refuse("Sequence inside a bit region", "use a Struct, whose fields have names")
    inside = replace(at.deeper(), scope=Scope(at.scope, layout=False))
    types = []
    for number, part in enumerate(source.subcons):
        here = inside.within(f"[{number}]")
        found = here.read(part)
        if reach_of(found) != "own" or isinstance(unwrap(part), FROM_STRUCT):
            raise here.refuse(
                f"{kind_name(unwrap(part))} in a Sequence", "use a Struct, whose fields have names"
            )
        types.append(found)
    return Sequence(tuple(types))


def read_prefixed_array(count: Any, element: Any, at: Place) -> Type:
    """Read the count field and the element of a PrefixedArray."""
    prefix = read_prefix(count, at, "count")
    inner = replace(at, scope=Scope(at.scope, layout=False))
    return Array(_element(element, inner, wire_count=True), Prefix(prefix))


def _element(source: Any, at: Place, *, wire_count: bool) -> Type:
    if at.arrays >= MAX_ARRAY_DEPTH:
        raise at.refuse(f"arrays are nested deeper than {MAX_ARRAY_DEPTH}", "flatten the layout")
    if wire_count and at.bits:
        raise at.refuse("a count from the wire inside a bit region", "a bit region must have a fixed size")
    with at.scope.counting():
        found = replace(at.within("[]"), arrays=at.arrays + 1).read(source)
    if at.bits and size_of(found).lowest % 8 and isinstance(found, Layout):
        raise at.refuse("an array of layouts that are no whole bytes", "pad each to whole bytes")
    if reach_of(found) != "own":
        raise at.refuse(
            "an element that takes all the bytes that are left", "give it a size: Prefixed or FixedSized"
        )
    if wire_count and size_of(found).lowest == 0:
        raise at.refuse("an element of no size has no bounded count", "give the element at least one byte")
    return found


ARRAYS: Final[dict[type, Callable[[Any, Place], Type]]] = {
    construct.Array: _read_array,
    construct.GreedyRange: _read_greedy_range,
    construct.RepeatUntil: _read_repeat_until,
    construct.FocusedSeq: _read_focused,
    construct.Sequence: _read_sequence,
}

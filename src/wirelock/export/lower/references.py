"""What the expressions of a record read: of its own fields, and of the records around it."""

from __future__ import annotations

from collections.abc import Iterator

from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    If,
    Layout,
    Multiple,
    Padded,
    Padding,
    Prefix,
    Rest,
    Sized,
    Switch,
    Terminator,
    Type,
    Until,
    parts_of,
)
from wirelock.layout.terms import Expression, Index, Length, Number, Operation, Path

__all__ = ["outer_terms", "own_labels", "terms_in"]

_Read = tuple[Path | Length | Index, int, bool]
"""A term, how many layouts are around it counted from where reading began, and whether it is an element's."""


def terms_in(expression: object) -> Iterator[Path | Length | Index]:
    """Yield every path, length and index that an expression reads."""
    match expression:
        case Path() | Length() | Index():
            yield expression
        case Operation(operands=operands):
            for operand in operands:
                yield from terms_in(operand)


def outer_terms(layout: Layout) -> tuple[Path | Length | Index, ...]:
    """Return what a record and those inside of it read around the record; `up` 0 is the one around it."""
    found: dict[Path | Length | Index, None] = {}
    for term, depth, counted in _reads(layout, 0, False):
        match term:
            case Index():
                if not counted:
                    found[term] = None
            case Length(path=Path(up=up, names=names)) if up >= depth:
                found[Length(Path(up - depth, names))] = None
            case Path(up=up, names=names) if up >= depth:
                found[Path(up - depth, names)] = None
    return tuple(found)


def own_labels(layout: Layout) -> frozenset[str]:
    """Return the fields whose own value an expression reads, in the record or in those inside of it."""
    return frozenset(
        term.names[0]
        for term, depth, _ in _reads(layout, 0, False)
        if isinstance(term, Path) and term.up == depth - 1 and len(term.names) == 1
    )


def _reads(kind: Type, depth: int, counted: bool) -> Iterator[_Read]:
    if isinstance(kind, Layout):
        depth += 1
        for item in kind.fields:
            yield from _reads(item.type, depth, counted)
            yield from ((term, depth, counted) for term in terms_in(item.derived))
        for rule in kind.rules:
            yield from ((term, depth, counted) for term in terms_in(rule.expression))
        return
    for expression, layouts in _stated(kind):
        yield from ((term, depth + layouts, counted) for term in terms_in(expression))
    for part in parts_of(kind):
        yield from _reads(part, depth, counted or isinstance(kind, Array))


def _stated(kind: Type) -> Iterator[tuple[Expression, int]]:
    """Yield the expressions that a type itself has, and how many scopes of their own they have."""
    match kind:
        case Bytes(length=stated) | Padding(length=stated) | Padded(length=stated):
            pass
        case Array(count=stated) | Sized(extent=stated):
            pass
        case If(condition=stated) | Switch(key=stated) | Computed(expression=stated):
            pass
        case _:
            return
    match stated:
        case Until(condition=condition):
            yield condition, 1
        case int() | Rest() | Prefix() | Multiple() | Terminator() | Number():
            pass
        case _:
            yield stated, 0

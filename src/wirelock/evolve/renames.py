"""Two layouts -> the second one under the names of the first, and what was renamed.

A renamed field keeps its bits: what counts it, follows from it or lies behind it says the same as before
under another name. So names are taken out of the way before anything else is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from wirelock.evolve.parallel import paired_parts
from wirelock.layout.canonical import position_text, type_to_json, without_names
from wirelock.layout.nodes import (
    Checksum,
    Field,
    Framed,
    If,
    Layout,
    Limited,
    Position,
    Type,
    parts_of,
    valued,
)
from wirelock.layout.rewrite import with_expressions, with_parts, with_paths
from wirelock.layout.terms import Expression, Path, inner_path
from wirelock.lock.diff import ABSENT, Difference, partners

__all__ = ["aligned"]


@dataclass(slots=True)
class _Names:
    """What the fields of a type are to be called: by label, and inside of each of its parts."""

    called: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    """What positions are to call the field that they lie behind."""
    parts: list[_Names] = field(default_factory=list)


def aligned(was: Layout, now: Layout) -> tuple[Layout, list[Difference]]:
    """Return `now` with the names that its fields have in `was`, and each name that is another one.

    Fields pair as in lock.diff; one that has no partner pairs with the one at its place that is of the
    same type, whatever the records and fields inside of that are called.
    """
    found: list[Difference] = []
    names = _names((was, _anonymous(was)), (now, _anonymous(now)), "", found)
    renamed = _renamed(now, names, [])
    assert isinstance(renamed, Layout)
    return renamed, found


# -- which names

_Two = tuple[Type, Type]
"""A type, and itself with numbers for names."""


def _names(was: _Two, now: _Two, path: str, found: list[Difference]) -> _Names:
    """Return what the fields of `now` are called in `was`; notes each that has another name."""
    was, now = _unwrapped(was, now), now
    old, new = was[0], now[0]
    if isinstance(new, If | Limited) and type(old) is not type(new):
        return _Names(parts=[_names(was, _part(now, 0), path, found)])
    if isinstance(old, Layout) and isinstance(new, Layout):
        return _layout_names(was, now, path, found)
    pairs = {number: (partner, word) for partner, number, word in paired_parts(old, new)}
    return _Names(
        parts=[
            _names(_part(was, pairs[number][0]), _part(now, number), f"{path}{pairs[number][1]}", found)
            if number in pairs
            else _kept(part)
            for number, part in enumerate(parts_of(new))
        ]
    )


def _unwrapped(was: _Two, now: _Two) -> _Two:
    while isinstance(was[0], If | Limited) and type(was[0]) is not type(now[0]):
        was = _part(was, 0)
    return was


def _part(two: _Two, number: int) -> _Two:
    return parts_of(two[0])[number], parts_of(two[1])[number]


def _kept(kind: Type) -> _Names:
    return _Names(parts=[_kept(part) for part in parts_of(kind)])


def _layout_names(was: _Two, now: _Two, path: str, found: list[Difference]) -> _Names:
    (old, old_shape), (new, new_shape) = was, now
    assert isinstance(old, Layout) and isinstance(old_shape, Layout)
    assert isinstance(new, Layout) and isinstance(new_shape, Layout)
    pairs = {partner.label: known for known, partner in _partners(old, old_shape, new, new_shape)}
    names = _Names()
    at = {item.label: number for number, item in enumerate(old.fields)}
    for number, item in enumerate(new.fields):
        partner = pairs.get(item.label)
        if partner is None:
            names.parts.append(_kept(item.type))
            continue
        place = inner_path(path, partner.label)
        names.after[item.label] = partner.label
        if partner.name is not None and partner.name != item.name:
            names.called[item.label] = partner.name
            found.append(Difference(place, "name", partner.name, item.name or ABSENT))
        names.parts.append(_names(_part(was, at[partner.label]), _part(now, number), place, found))
    return names


def _partners(
    old: Layout, old_shape: Layout, new: Layout, new_shape: Layout
) -> Iterator[tuple[Field, Field]]:
    """Yield the old and the new field of each pair."""
    by_name = partners(old.fields, new.fields)
    taken = {item.label for item in by_name.values()}
    left = {
        _shape(shape): item
        for item, shape in zip(reversed(new.fields), reversed(new_shape.fields), strict=True)
        if item.label not in taken
    }
    for item, shape in zip(old.fields, old_shape.fields, strict=True):
        partner = by_name.get(item.label)
        if partner is None and item.name is not None:
            partner = left.pop(_shape(shape), None)
        if partner is not None:
            yield item, partner


def _shape(item: Field) -> str:
    return json.dumps([position_text(item.position), without_names(type_to_json(item.type))], sort_keys=True)


def _anonymous(layout: Layout) -> Layout:
    """Return a layout with numbers for all names."""
    found = _renamed(layout, _numbers(layout), [])
    assert isinstance(found, Layout)
    return found


def _numbers(kind: Type) -> _Names:
    names = _Names(parts=[_numbers(part) for part in parts_of(kind)])
    if isinstance(kind, Layout):
        numbered = {item.label: f"f{number}" for number, item in enumerate(kind.fields)}
        names.called = {item.label: numbered[item.label] for item in kind.fields if item.name is not None}
        names.after = numbered
    return names


# -- under other names

_Scope = tuple[Type, _Names]
"""A type that an expression may look into, by the names that it has and with those that it gets."""


def _renamed(kind: Type, names: _Names, scopes: list[_Scope]) -> Type:
    """Return a type with its fields called otherwise; `scopes` are the layouts around it, innermost last."""
    if isinstance(kind, Layout):
        return _renamed_layout(kind, names, [*scopes, (kind, names)])
    parts = [_renamed(part, inside, scopes) for part, inside in zip(parts_of(kind), names.parts, strict=True)]

    def until(condition: Expression) -> Expression:
        element = (parts_of(kind)[0], names.parts[0])
        return with_paths(condition, lambda path: _path(path, scopes, element))

    changed = with_parts(kind, parts)
    changed = with_expressions(changed, lambda found: _expression(found, scopes), until)
    if isinstance(changed, Checksum) and scopes:
        return replace(changed, covers=scopes[-1][1].called.get(changed.covers, changed.covers))
    return changed


def _renamed_layout(layout: Layout, names: _Names, scopes: list[_Scope]) -> Layout:
    fields = [
        _renamed_field(item, inside, scopes) for item, inside in zip(layout.fields, names.parts, strict=True)
    ]
    rules = tuple(replace(rule, expression=_expression(rule.expression, scopes)) for rule in layout.rules)
    return replace(layout, fields=tuple(fields), rules=rules)


def _renamed_field(item: Field, inside: _Names, scopes: list[_Scope]) -> Field:
    own = scopes[-1][1]
    name = own.called.get(item.label, item.name)
    return replace(
        item,
        name=name,
        label=own.called.get(item.label, item.label),
        type=_renamed(item.type, inside, scopes),
        position=_behind(item.position, own),
        derived=None if item.derived is None else _expression(item.derived, scopes),
    )


def _behind(position: Position, names: _Names) -> Position:
    if position.after is None:
        return position
    return replace(position, after=names.after.get(position.after, position.after))


def _expression(expression: Expression, scopes: list[_Scope]) -> Expression:
    return with_paths(expression, lambda path: _path(path, scopes, None))


def _path(path: Path, scopes: list[_Scope], element: _Scope | None) -> Path:
    """Return a path by the new names. Where an array's condition reads its `element`, that is scope 0."""
    up = path.up
    if element is not None:
        if up == 0:
            return Path(0, ("obj_", *_path_names(path.names[1:], element)))
        up -= 1
    if up >= len(scopes):
        return path
    return Path(path.up, _path_names(path.names, scopes[-1 - up]))


def _path_names(names: tuple[str, ...], scope: _Scope) -> tuple[str, ...]:
    found: list[str] = []
    kind, known = scope
    for name in names:
        while not isinstance(kind, Layout) and kind is not valued(kind):
            at = len(kind.before) if isinstance(kind, Framed) else 0
            kind, known = parts_of(kind)[at], known.parts[at]
        if not isinstance(kind, Layout):
            return (*found, *names[len(found) :])
        number = next((place for place, item in enumerate(kind.fields) if item.label == name), None)
        if number is None:
            return (*found, *names[len(found) :])
        found.append(known.called.get(name, name))
        kind, known = kind.fields[number].type, known.parts[number]
    return tuple(found)

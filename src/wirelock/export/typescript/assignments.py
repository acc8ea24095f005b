"""Which statements give which field of a record its value: what decides how a local for it is declared."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import of_type
from wirelock.export.typescript.facts import ends

__all__ = [
    "Path", "all_assigned", "always_assigned", "assigned", "base_of", "fixed_lists", "grown",
    "is_made_at_once", "latest", "path_of", "values_read",
]  # fmt: skip

Path = tuple[str, ...]
"""The names of fields from the record that is read inwards."""


def path_of(value: v.Value) -> Path | None:
    """Return the path of a field of the record that is read; None for anything else."""
    match value:
        case v.Self():
            return ()
        case v.Member(of=of, name=name):
            outer = path_of(of)
            return None if outer is None else (*outer, name)
    return None


def base_of(target: v.Value) -> Path | None:
    """Return the path of the field that is given a value by one for an option or a case of it."""
    while isinstance(target, v.Within | v.CaseOf):
        target = target.of
    return path_of(target)


def is_made_at_once(kind: v.Type | None, inline: Collection[str]) -> bool:
    """Whether a choice has its value as soon as its case is known: none, a fixed list, an inline record."""
    match kind:
        case None:
            return True
        case v.ListType(size=size):
            return size is not None
        case v.RecordType(name=name):
            return name in inline
    return False


def assigned(statement: st.Statement, inline: frozenset[str]) -> Path | None:
    """Return the path of the field that a statement itself sets."""
    match statement:
        case st.Set(target=v.Which(of=of), value=v.Int(value=number)):
            kind = of_type(of)
            assert isinstance(kind, v.ChoiceType)
            return base_of(of) if is_made_at_once(kind.cases[number][1], inline) else None
        case st.Set(target=v.Local()):
            return None
        case st.Set(target=target) | st.Allocate(target=target) | st.Read(target=target):
            return base_of(target)
    return None


def _inner(statement: st.Statement) -> Iterator[tuple[st.Statement, ...]]:
    """Yield the blocks inside a statement."""
    match statement:
        case st.When(then=then, otherwise=otherwise):
            yield from (then, otherwise)
        case st.Pick(cases=cases, otherwise=otherwise):
            yield from (*(body for _, body in cases), otherwise)
        case st.For(body=body) | st.While(body=body):
            yield body


def grown(statement: st.Statement) -> Iterator[v.Value]:
    """Yield the lists that a loop extends, and no loop inside of it."""
    if isinstance(statement, st.For | st.While):
        yield from _extended(statement.body)


def _extended(body: Sequence[st.Statement]) -> Iterator[v.Value]:
    for item in body:
        if isinstance(item, st.Extend):
            yield item.target
        elif not isinstance(item, st.For | st.While):
            for inner in _inner(item):
                yield from _extended(inner)


def all_assigned(statement: st.Statement, inline: frozenset[str]) -> Iterator[Path]:
    """Yield the path of every field that a statement sets, at any depth."""
    found = assigned(statement, inline)
    if found:
        yield found
    for target in grown(statement):
        base = base_of(target)
        if base:
            yield base
    for body in _inner(statement):
        for item in body:
            yield from all_assigned(item, inline)


def always_assigned(body: Sequence[st.Statement], path: Path, inline: frozenset[str]) -> bool:
    """Whether a block sets a field on every way through it."""
    for statement in body:
        if assigned(statement, inline) == path or any(base_of(item) == path for item in grown(statement)):
            return True
        match statement:
            case st.When() | st.Pick():
                blocks = [*_inner(statement)]
                if all(ends(block) or always_assigned(block, path, inline) for block in blocks):
                    return True
    return False


def fixed_lists(target: v.Value) -> Iterator[v.Value]:
    """Yield the lists of a fixed size in which a target is an element, the outermost first."""
    match target:
        case v.Item(of=of):
            yield from fixed_lists(of)
            kind = of_type(of)
            if isinstance(kind, v.ListType) and kind.size is not None and _is_plain(of):
                yield of
        case v.Member(of=of) | v.Within(of=of) | v.CaseOf(of=of):
            yield from fixed_lists(of)


def _is_plain(value: v.Value) -> bool:
    """Whether a value is there without an option or a choice that could be otherwise."""
    match value:
        case v.Self() | v.Item():
            return True
        case v.Member(of=of):
            return path_of(of) is not None
    return False


def latest(body: Sequence[st.Statement], inline: frozenset[str]) -> dict[Path, int]:
    """Return the number of the last statement of a block that gives a field its value on every way."""
    found: dict[Path, int] = {}
    paths = {path for statement in body for path in all_assigned(statement, inline)}
    for number, statement in enumerate(body):
        if isinstance(statement, st.Read) and isinstance(statement.target, v.Self):
            found |= dict.fromkeys(paths, number)
        for path in paths:
            if always_assigned((statement,), path, inline):
                found[path] = number
    return found


def values_read(node: object) -> tuple[object, ...]:
    """Return the values that statements read, without the targets that they only give a value."""
    match node:
        case tuple():
            return tuple(item for part in node for item in values_read(part))
        case st.Set(target=target, value=value):
            return (value, *_indices(target))
        case st.Read():
            return (node.at, node.end, node.steps, node.arguments, *_indices(node.target))
        case st.Allocate(target=target, count=count):
            return (count, *_indices(target))
        case st.When(condition=condition, then=then, otherwise=otherwise):
            return (condition, *values_read(then), *values_read(otherwise))
        case st.Pick(value=value, cases=cases, otherwise=otherwise):
            return (
                value,
                *(item for _, body in cases for item in values_read(body)),
                *values_read(otherwise),
            )
        case st.For(count=count, body=body):
            return (count, *values_read(body))
        case st.While(condition=condition, body=body):
            return (condition, *values_read(body))
        case st.Extend(size=size):
            return (size,)
    return (node,)


def _indices(target: v.Value) -> tuple[object, ...]:
    match target:
        case v.Item(of=of, index=index):
            return (index, *_indices(of))
        case v.Member(of=of) | v.Within(of=of) | v.CaseOf(of=of) | v.Which(of=of):
            return _indices(of)
    return ()

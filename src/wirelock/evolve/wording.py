"""Two layouts under the same field names -> what differs in the names of classes and in documentation."""

from __future__ import annotations

from collections.abc import Iterator

from wirelock.evolve.parallel import paired_parts
from wirelock.layout.nodes import Enum, Flags, Layout, Type, parts_of
from wirelock.layout.terms import inner_path
from wirelock.lock.diff import ABSENT, Difference

__all__ = ["worded"]


def worded(was: Type, now: Type, path: str, *, documented: bool) -> Iterator[Difference]:
    """Yield what the digest leaves out; documentation only where both sides have it, as a lock has not."""
    match was, now:
        case Layout(), Layout():
            yield from _layouts(was, now, path, documented)
            return
        case (Enum(), Enum()) | (Flags(), Flags()):
            yield from _text(path, "class", was.name, now.name)  # type: ignore[union-attr]
    for old, new, word in paired_parts(was, now):
        yield from worded(parts_of(was)[old], parts_of(now)[new], f"{path}{word}", documented=documented)


def _layouts(was: Layout, now: Layout, path: str, documented: bool) -> Iterator[Difference]:
    yield from _text(path, "class", was.name, now.name)
    if documented:
        yield from _text(path, "documentation", was.doc, now.doc)
    old_rules = {rule.name: rule.message for rule in was.rules}
    for rule in now.rules:
        if rule.name in old_rules:
            place = f"{path}: rule {rule.name}" if path else f"rule {rule.name}"
            yield from _text(place, "message", old_rules[rule.name], rule.message)
    old_fields = {item.label: item for item in was.fields}
    for item in now.fields:
        if item.label not in old_fields:
            continue
        old, place = old_fields[item.label], inner_path(path, item.label)
        if documented:
            yield from _text(place, "documentation", old.doc, item.doc)
        yield from worded(old.type, item.type, place, documented=documented)


def _text(path: str, aspect: str, was: str, now: str) -> Iterator[Difference]:
    if was != now:
        yield Difference(path, aspect, was or ABSENT, now or ABSENT)

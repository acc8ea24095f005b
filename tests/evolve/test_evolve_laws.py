"""Laws of findings, over random layouts and random edits of their nodes."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lock.test_lock_laws import edited, laws, leaves, records
from tests.strategies import name_layout
from wirelock.evolve.compare import compare_versions
from wirelock.evolve.renames import aligned
from wirelock.evolve.rules import RULES
from wirelock.evolve.sides import Version
from wirelock.layout.canonical import digest, layout_to_json
from wirelock.layout.from_json import layout_from_json
from wirelock.layout.nodes import Layout, parts_of
from wirelock.layout.rewrite import with_parts
from wirelock.lock.lockfile import Entry

some = settings(laws, max_examples=150)


def found(was: Layout, now: Layout) -> list[Any]:
    return compare_versions(Version("p", 1, Entry(was)), Version("p", 1, Entry(now)))


def categories(was: Layout, now: Layout) -> set[str]:
    return {finding.rule.category for finding in found(was, now)}


@some
@given(st.data())
def test_the_digests_differ_exactly_where_there_is_a_finding(data: st.DataObject) -> None:
    was = data.draw(records())
    now = data.draw(edited(was))
    changed = digest(was) != digest(now)
    for told in (found(was, now), found(now, was)):
        assert bool([item for item in told if item.difference.aspect not in ("class", "message")]) == changed


@some
@given(st.data())
def test_every_difference_falls_under_one_rule(data: st.DataObject) -> None:
    was = data.draw(records())
    for finding in found(was, data.draw(edited(was) | records())):
        assert [rule for rule in RULES.values() if rule.applies(finding.difference)] == [finding.rule]


@some
@given(st.data())
def test_without_a_wire_finding_every_bit_range_is_as_it_was(data: st.DataObject) -> None:
    """V1: what is not equal is found, whatever it is called."""
    was = data.draw(records())
    now = data.draw(edited(was))
    if "wire" not in categories(was, now):
        renamed, _ = aligned(was, now)
        assert places(was) == places(renamed)


def places(layout: Layout) -> list[Any]:
    """Return the positions and types of what lies on the wire, without the names of fields and members."""
    return [
        ([part for part in place if "byte " in part], kind.partition('"members"')[0])
        for _, (place, kind) in leaves(layout, "", ())
    ]


def under_other_names(found: Any, place: str = "") -> Any:
    """Return the JSON of a layout with a q behind the name of each field, wherever it stands."""
    if isinstance(found, dict):
        return {key: under_other_names(value, key) for key, value in found.items()}
    if place in EXPRESSIONS and isinstance(found, list):
        return [found[0], *(under_other_names(item, place) for item in found[1:])]
    if isinstance(found, list):
        return [under_other_names(item) for item in found]
    if place == "at":
        return re.sub(r"^after (\w+),", r"after \1q,", found)
    if isinstance(found, str) and (place in ("name", "covers") or place in EXPRESSIONS):
        return ".".join(name if name in ("_", "obj_") else f"{name}q" for name in found.split("."))
    return found


EXPRESSIONS = ("derived", "condition", "key", "until", "holds", "count", "length", "size", "value")


def renamed(layout: Layout) -> Layout:
    found = layout_to_json(layout)
    return layout_from_json(keep_rules(found, under_other_names(found)))


def keep_rules(was: Any, now: Any) -> Any:
    """Give rules and constants the names and values that they had: they are no fields."""
    if isinstance(was, dict):
        found = {key: keep_rules(was[key], now[key]) for key in was}
        if "holds" in was:
            found["name"] = was["name"]
        return found | ({"value": was["value"]} if was.get("kind") == "constant" else {})
    return [keep_rules(a, b) for a, b in zip(was, now, strict=True)] if isinstance(was, list) else now


@some
@given(records())
def test_other_names_for_all_fields_break_nothing_on_the_wire(layout: Layout) -> None:
    """V6: what counts a renamed field, follows from it or lies behind it is as it was."""
    now = renamed(layout)
    assert {finding.rule.id for finding in found(layout, now)} <= {"FIELD_SAME_NAME"}
    again, names = aligned(layout, now)
    assert again == layout and bool(names) == (digest(layout) != digest(now))


@some
@given(records())
def test_names_of_classes_are_of_category_name(layout: Layout) -> None:
    named, _ = name_layout(layout)
    assert categories(layout, named) <= {"name"}


@some
@given(records())
def test_a_type_with_its_own_parts_is_itself(layout: Layout) -> None:
    def again(kind: Any) -> Any:
        return with_parts(kind, [again(part) for part in parts_of(kind)])

    assert again(layout) == layout

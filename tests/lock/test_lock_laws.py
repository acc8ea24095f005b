"""Laws of differences and of the lock's text, over random layouts and random edits of their nodes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import layouts, lowered, name_layout
from wirelock.errors import LockError
from wirelock.layout.canonical import NAMES, digest, position_text, type_to_json
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Limited,
    Mapping,
    Multiple,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Terminator,
    Text,
    Time,
    Until,
    VarInt,
    parts_of,
)
from wirelock.layout.positions import Cursor, reordered
from wirelock.layout.terms import Length, Limit, Number, Operation, Path, Rule
from wirelock.layout.walk import walk
from wirelock.lock.diff import differences
from wirelock.lock.lockfile import Entry, Lock, lock_text, read_lock

laws = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

BYTE = Integer(8, False, "big")


@st.composite
def records(draw: Any) -> Layout:
    return draw(lowered(walk(draw(layouts()))))


# -- random edits


def settled(kind: Any, phase: int = 0) -> Any:
    """Return a type with the position of each field computed anew, and with limits around no other limits."""
    match kind:
        case Limited(inner=Limited(inner=inner)):
            return settled(replace(kind, inner=inner), phase)
        case Layout():
            cursor, fields = Cursor(phase), []
            for item in kind.fields:
                inner = settled(item.type, cursor.phase)
                fields.append(replace(item, type=inner, position=cursor.take(item.label, inner)))
            placed = tuple(fields) if kind.order == "wire" else reordered(fields, kind.order)
            return replace(kind, fields=placed)
        case Optional(inner=inner) | Padded(inner=inner) | Sized(inner=inner):
            return replace(kind, inner=settled(inner, phase))
        case Array(element=inner):
            return replace(kind, element=settled(inner, phase))
        case If(type=inner):
            return replace(kind, type=settled(inner, phase))
        case Limited(inner=inner):
            return replace(kind, inner=settled(inner, phase))
        case Sequence(types=types):
            return Sequence(tuple(settled(part, phase) for part in types))
        case Select(cases=records):
            return Select(tuple((start, settled(record, phase)) for start, record in records))
        case Switch():
            cases = tuple((key, settled(case, phase)) for key, case in kind.cases)
            return replace(kind, cases=cases, default=kind.default and settled(kind.default, phase))
    return kind


class Editor:
    """Changes one node of a layout, which one and how being drawn."""

    def __init__(self, draw: Any, layout: Layout) -> None:
        self.draw = draw
        self.left = draw(st.integers(0, self.count(layout) - 1))

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def count(self, kind: Any) -> int:
        return 1 + sum(self.count(inner) for inner in self.inside(kind))

    def inside(self, kind: Any) -> list[Any]:
        return list(parts_of(kind))

    def visit(self, kind: Any) -> Any:
        self.left -= 1
        if self.left == -1:
            return self.changed(kind)
        match kind:
            case Layout():
                return replace(
                    kind, fields=tuple(replace(item, type=self.visit(item.type)) for item in kind.fields)
                )
            case Array():
                return replace(kind, element=self.visit(kind.element))
            case If():
                return replace(kind, type=self.visit(kind.type))
            case Limited() | Optional() | Padded() | Sized():
                return replace(kind, inner=self.visit(kind.inner))
            case Sequence(types=types):
                return Sequence(tuple(map(self.visit, types)))
            case Select(cases=records):
                return Select(tuple((start, self.visit(record)) for start, record in records))
            case Switch():
                cases = tuple((key, self.visit(case)) for key, case in kind.cases)
                return replace(kind, cases=cases, default=kind.default and self.visit(kind.default))
        return kind

    def changed(self, kind: Any) -> Any:
        form = self.pick("own", "own", "own", "own", "wrapped", "limited", "replaced")
        if isinstance(kind, Layout) or form == "own":
            return self.own(kind)
        if form == "wrapped":
            return If(Number(1), kind)
        if form == "limited":
            return Limited(kind, (Limit("le", 3),))
        return self.pick(BYTE, Nothing(), Float(32, "big"), Bytes(1), Constant(BYTE, 7), Flag(8))

    def own(self, kind: Any) -> Any:
        match kind:
            case Layout():
                return self.record(kind)
            case Integer() if kind.bits > 8:
                return self.pick(self.integer(kind), replace(kind, order=self.other(kind.order)))
            case Integer():
                return self.integer(kind)
            case Float():
                return self.pick(replace(kind, order=self.other(kind.order)), replace(kind, bits=16))
            case Flag():
                return Flag(9 - kind.bits)
            case Enum() | Flags():
                return self.pick(
                    replace(kind, integer=self.own(kind.integer)),
                    replace(kind, members=self.listed(kind.members, ("NEW", 77))),
                    replace(kind, members=tuple((name, value + 1) for name, value in kind.members)),
                    replace(kind, members=tuple((name + "_", value) for name, value in kind.members)),
                    replace(kind, name="Renamed"),
                    kind.integer,
                )
            case Bytes(length=Rest()):
                return Bytes(1)
            case Array(count=Rest() | Until()):
                return replace(kind, count=Prefix(BYTE))
            case VarInt():
                return VarInt(not kind.zigzag)
            case Text():
                return replace(kind, encoding="utf-8" if kind.encoding != "utf-8" else "ascii")
            case Padded():
                return self.pick(replace(kind, pattern=kind.pattern ^ 1), replace(kind, length=Multiple(7)))
            case Sized():
                return replace(kind, extent=Terminator(b"\x07\x09"))
            case Optional():
                return kind.inner
            case Terminated():
                return Nothing()
            case Computed():
                return replace(kind, expression=Operation("neg", (kind.expression,)))
            case Mapping():
                return replace(kind, members=tuple((key, value + 1) for key, value in kind.members))
            case Scaled():
                return self.pick(
                    replace(kind, unit=kind.unit + "s"), replace(kind, multiply=kind.multiply + 1)
                )
            case Time():
                return self.pick(replace(kind, unit=kind.unit + "s"), replace(kind, epoch=kind.epoch + "s"))
            case Checksum():
                return self.pick(
                    replace(kind, version=kind.version + 1),
                    replace(kind, function="other"),
                    replace(kind, covers="other"),
                    replace(kind, type=Bytes(7)),
                )
            case Opaque():
                return self.pick(
                    replace(kind, version=kind.version + 1),
                    replace(kind, name="other"),
                    replace(kind, size=Rest() if isinstance(kind.size, int) else 7),
                )
            case Sequence(types=types):
                return Sequence(self.listed(types, BYTE))
            case Select(cases=records):
                return Select(self.listed(records, (b"new", records[0][1])) or records)
            case Bytes():
                return Bytes(self.expression(kind.length))
            case Constant(value=bytes(value)):
                return self.pick(Constant(Bytes(len(value) + 1), value + b"\0"), kind.type)
            case Constant():
                return self.pick(replace(kind, value=kind.value + 1), kind.type)
            case Padding():
                return self.pick(
                    replace(kind, length=self.expression(kind.length)),
                    replace(kind, unit=9 - kind.unit),
                    replace(kind, pattern=1 - kind.pattern % 2),
                )
            case Array():
                return replace(kind, count=self.pick(self.expression(kind.count), Prefix(BYTE)))
            case If():
                return self.pick(replace(kind, condition=self.expression(kind.condition)), kind.type)
            case Switch():
                cases = self.listed(kind.cases, (77, BYTE))
                return self.pick(
                    replace(kind, key=self.expression(kind.key)),
                    replace(kind, cases=cases or kind.cases),
                    replace(kind, default=BYTE if kind.default is None else None),
                )
            case Limited():
                limits = self.listed(kind.limits, Limit("multiple_of", 77))
                return replace(kind, limits=limits) if limits else kind.inner
        return BYTE

    def integer(self, kind: Integer) -> Integer:
        return self.pick(
            replace(kind, signed=not kind.signed), replace(kind, bits=kind.bits + 8), Integer(8, False, "big")
        )

    def other(self, order: str) -> Any:
        return "little" if order == "big" else "big"

    def expression(self, found: Any) -> Any:
        if isinstance(found, int):
            return self.pick(found + 1, Number(found), Path(0, ("a",)))
        if isinstance(found, Prefix):
            return self.pick(Prefix(self.own(found.integer)), 3)
        negated = Operation("neg", (Number(1),))
        return self.pick(Operation("+", (found, Number(1))), Number(1), Length(Path(0, ("a",))), negated)

    def listed(self, found: tuple[Any, ...], new: Any) -> tuple[Any, ...]:
        """Return a list with an item more or less, or in another order."""
        if not found:
            return (new,)
        at = self.draw(st.integers(0, len(found) - 1))
        return self.pick((*found[:at], *found[at + 1 :]), (*found[:at], new, *found[at:]), found[::-1])

    def record(self, kind: Layout) -> Layout:
        new = Field("fresh", "fresh", self.pick(BYTE, Nothing(), Padding(0, 8, 0)), None)  # type: ignore[arg-type]
        rule = Rule("fresh", Path(0, ("a",)))
        match self.pick("fields", "fields", "names", "derived", "rules", "rule", "validators", "class"):
            case "fields" if "fresh" not in [item.label for item in kind.fields]:
                fields = list(self.listed(kind.fields, new))
                if fields and self.pick(True, False):
                    fields.insert(0, fields.pop())
                return replace(kind, fields=tuple(fields))
            case "names" if kind.fields:
                at = self.draw(st.integers(0, len(kind.fields) - 1))
                item = kind.fields[at]
                name = self.pick(None, f"{item.name}_")
                changed = replace(item, name=name, label=name or f"gone#{at}")
                return replace(kind, fields=(*kind.fields[:at], changed, *kind.fields[at + 1 :]))
            case "derived" if kind.fields:
                first = kind.fields[0]
                derived = self.pick(None, self.expression(first.derived or Number(3)))
                return replace(kind, fields=(replace(first, derived=derived), *kind.fields[1:]))
            case "rules" if "fresh" not in [known.name for known in kind.rules]:
                return replace(kind, rules=self.listed(kind.rules, rule))
            case "rule":
                changed_rules = tuple(
                    replace(known, expression=self.expression(known.expression), message="new")
                    for known in kind.rules
                )
                return replace(kind, rules=changed_rules)
            case "validators":
                return replace(kind, validators=self.listed(kind.validators, "validator fresh"))
        return replace(kind, name="Renamed")


@st.composite
def edited(draw: Any, layout: Layout) -> Layout:
    for _ in range(draw(st.integers(1, 3))):
        layout = settled(Editor(draw, layout).visit(layout))
    return layout


# -- leaves


def leaves(kind: Any, path: str, place: tuple[str, ...]) -> Any:
    """Yield what lies on the wire: (path, (path with places instead of numbers, places, type))."""
    match kind:
        case Layout():
            for item in kind.fields:
                label = item.name or "unnamed"
                here = (*place, label, position_text(item.position))
                yield from leaves(item.type, f"{path}.{item.label}" if path else item.label, here)
        case Array(element=inner):
            yield from leaves(inner, f"{path}[]", (*place, "[]"))
        case If(type=inner) | Limited(inner=inner) | Optional(inner=inner):
            yield from leaves(inner, path, place)
        case Padded(inner=inner) | Sized(inner=inner):
            yield from leaves(inner, path, place)
        case Sequence(types=types):
            for number, part in enumerate(types):
                yield from leaves(part, f"{path}[{number}]", (*place, str(number)))
        case Select(cases=records):
            for start, record in records:
                yield from leaves(record, f"{path}{{{start.hex(' ')}}}", (*place, start.hex()))
        case Switch():
            for key, case in [*kind.cases, *([] if kind.default is None else [("default", kind.default)])]:
                yield from leaves(case, f"{path}{{{key}}}", (*place, str(key)))
        case _:
            found = {key: value for key, value in type_to_json(kind).items() if key not in NAMES}
            yield path, (place, json.dumps(found, sort_keys=True))


def covers(where: str, path: str) -> bool:
    return bool(where) and path.startswith(where) and path[len(where) :][:1] in ("", ".", "[", "{")


# -- the laws


@laws
@given(st.data())
def test_the_digests_differ_exactly_where_there_is_a_difference(data: st.DataObject) -> None:
    was = data.draw(records())
    now = data.draw(edited(was))
    changed = digest(was) != digest(now)
    assert bool(differences(was, now)) == changed
    assert bool(differences(now, was)) == changed


@laws
@given(st.data())
def test_every_bit_range_without_an_equal_is_in_a_difference(data: st.DataObject) -> None:
    was = data.draw(records())
    now = data.draw(edited(was))
    found = differences(was, now)
    there = {leaf for _, leaf in leaves(now, "", ())}
    for path, leaf in leaves(was, "", ()):
        assert leaf in there or any(covers(item.path, path) for item in found), path


@laws
@given(records(), records())
def test_two_layouts_that_have_nothing_to_do_with_each_other(was: Layout, now: Layout) -> None:
    assert bool(differences(was, now)) == (digest(was) != digest(now))


@laws
@given(records())
def test_names_of_classes_are_no_difference(layout: Layout) -> None:
    named, _ = name_layout(layout)
    assert differences(layout, named) == differences(named, layout) == differences(layout, layout) == []


@laws
@given(st.data())
def test_each_difference_is_one_line_that_says_something(data: st.DataObject) -> None:
    was = data.draw(records())
    for item in differences(was, data.draw(edited(was))):
        assert item.was and item.now and item.was != item.now, item
        assert str(item).isprintable()


hashes = st.dictionaries(st.text(max_size=5), st.integers(0, 9).map(lambda n: f"sha256:{n:064x}"), max_size=3)
tags = st.lists(st.text(max_size=5), max_size=2).map(tuple)
locks = st.dictionaries(
    st.tuples(st.text(max_size=5), st.integers(0, 300)), st.builds(Entry, records(), tags, hashes), max_size=3
).map(Lock)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("locks") / "wirelock.lock"


@settings(laws, max_examples=100)
@given(locks)
def test_a_lock_reads_back_as_it_was_written(file: Any, lock: Lock) -> None:
    text = lock_text(lock)
    file.write_text(text, "utf-8")
    read = read_lock(file)
    assert lock_text(read) == text
    assert list(read.entries) == sorted(lock.entries)
    for key, entry in read.entries.items():
        assert (entry.digest, entry.tag, entry.golden) == (
            lock.entries[key].digest, lock.entries[key].tag, lock.entries[key].golden,
        )  # fmt: skip
        assert differences(entry.layout, lock.entries[key].layout) == []
    assert text.endswith("}\n") and all(line == line.rstrip() for line in text.splitlines())


@settings(laws, max_examples=200)
@given(st.data())
def test_a_lock_with_any_other_byte_is_read_or_refused(file: Any, data: st.DataObject) -> None:
    octets = bytearray(lock_text(data.draw(locks)).encode())
    at = data.draw(st.integers(0, len(octets) - 1))
    octets[at] = data.draw(st.integers(0, 255) | st.sampled_from(b'0123456789"_.,[{'))
    file.write_bytes(octets)
    try:
        lock_text(read_lock(file))
    except LockError as error:
        assert str(error).isprintable() and str(error).startswith(f"{file}: ")

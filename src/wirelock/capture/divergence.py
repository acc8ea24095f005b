"""Two records of one layout whose bytes differ -> the fields that differ, with their bytes and values.

Elements of an array that has keys are paired by them and called `entities[id=17]`, others by their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from wirelock.codec.readout import Row, read_out
from wirelock.codec.trail import value_text
from wirelock.codec.words import octets_words, quoted, words
from wirelock.errors import piece_text
from wirelock.layout.nodes import Layout
from wirelock.schema.keys import Keys

__all__ = ["FieldDifference", "Side", "field_differences", "key_text"]

Parts: TypeAlias = tuple[str, ...]
"""A path in parts: names, and elements in brackets."""
_PART: Final = re.compile(r"\[\d+\]|[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Side:
    """What one record has: the payload's bytes from `first` to `last`, place, bytes and value in words."""

    first: int
    last: int
    place: str
    octets: str
    value: str


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field, or an element with all of its fields, that differs; a side is None where it is absent.

    `general` is the path with any element in place of one: `entities[].position.x`.
    """

    path: str
    general: str
    a: Side | None
    b: Side | None


def field_differences(
    layout: Layout, keys: Keys, a: tuple[bytes, int], b: tuple[bytes, int]
) -> list[FieldDifference]:
    """Return the fields in which two records differ, in the first one's order.

    A record is its bytes and the byte of its payload at which it begins. Empty where only the order of
    elements differs.
    """
    ours, theirs = _Fields(layout, keys, *a), _Fields(layout, keys, *b)
    found = []
    for path, row in ours.rows.items():
        other = theirs.rows.get(path)
        if other is None:
            found += [_difference(name, side, None) for name, side in ours.lone(path, theirs)]
        elif not _same(row, other):
            found.append(_difference(path, ours.side(row, other), theirs.side(other, row)))
    for path in theirs.rows:
        if path not in ours.rows:
            found += [_difference(name, None, side) for name, side in theirs.lone(path, ours)]
    return found


def _same(row: Row, other: Row) -> bool:
    if row.pieces or other.pieces:  # the other bits of its bytes are other fields
        return (row.digits, row.kind) == (other.digits, other.kind)
    return (row.octets, row.kind) == (other.octets, other.kind)


def key_text(value: Any) -> str:
    """Return the value of a key in words; text from the wire is quoted and escaped."""
    return quoted(value) if isinstance(value, str) else value_text(value)


def _difference(path: Parts, a: Side | None, b: Side | None) -> FieldDifference:
    return FieldDifference(_text(path), _text(["[]" if part[0] == "[" else part for part in path]), a, b)


def _text(path: Parts | list[str]) -> str:
    return "".join(part if part[0] in "[ " else f".{part}" for part in path).removeprefix(".")


@dataclass(slots=True)
class _Fields:
    """The fields of one record by path, in wire order."""

    layout: Layout
    keys: Keys
    data: bytes
    start: int
    rows: dict[Parts, Row] = field(default_factory=dict)
    known: set[Parts] = field(default_factory=set)
    """The paths of all fields and of what is around them."""
    told: set[Parts] = field(default_factory=set)

    def __post_init__(self) -> None:
        rows = [
            (tuple(_PART.findall(row.path)), row)
            for row in read_out(self.layout, self.data).rows
            if not row.group and row.end > row.bit
        ]
        names = self._elements(rows)
        for path, row in rows:
            named = tuple(names.get(path[: i + 1], part) for i, part in enumerate(path))
            named += (f" ({row.part})",) if row.part else ()
            self.rows[named] = row
            self.known.update(named[: i + 1] for i in range(len(named)))

    def _elements(self, rows: list[tuple[Parts, Row]]) -> dict[Parts, str]:
        """Return what to call the elements of arrays with keys: `entities`, `[3]` -> `[id=17]`."""
        values: dict[Parts, list[str]] = {}
        leaves = {
            (*_general(array), *leaf.split(".")): leaf
            for array, found in self.keys.elements.items()
            for leaf in found
        }
        for path, row in rows:
            leaf = leaves.get(tuple("[]" if part[0] == "[" else part for part in path))
            if leaf is not None and not row.part:
                element = path[: -len(leaf.split("."))]
                values.setdefault(element, []).append(f"{leaf}={key_text(row.value)}")
        names: dict[Parts, str] = {}
        seen: dict[Parts, int] = {}
        for element, found in values.items():
            whole = (*element[:-1], ",".join(found))
            seen[whole] = seen.get(whole, 0) + 1
            names[element] = f"[{whole[-1]}]" if seen[whole] == 1 else f"[{whole[-1]}#{seen[whole]}]"
        return names

    def side(self, row: Row, other: Row | None = None) -> Side:
        """Return what a field has, to be shown beside another's."""
        value = row.part or " ".join(words(row.kind, row.value)).strip()
        if not row.pieces:
            beside = b"" if other is None else other.octets
            return self._side(row.bit // 8, (row.end - 1) // 8, octets_words(row.octets, beside), value)
        touched = [byte for byte, _ in row.pieces]
        place = " + ".join(piece_text(self.start + byte, mask) for byte, mask in row.pieces)
        return self._side(min(touched), max(touched), f"0b{row.digits}", value, place)

    def _side(self, first: int, last: int, octets: str, value: str, place: str = "") -> Side:
        first, last = self.start + first, self.start + last
        plain = f"byte {first}" if first == last else f"bytes {first}..{last}"
        return Side(first, last, place or plain, octets, value)

    def lone(self, path: Parts, other: _Fields) -> Iterator[tuple[Parts, Side]]:
        """Yield the outermost value around a field that the other record has not, once."""
        around = (path[: i + 1] for i in range(len(path)))
        name = next((part for part in around if part not in other.known), path)
        if name in self.told:
            return
        self.told.add(name)
        rows = [row for known, row in self.rows.items() if known[: len(name)] == name]
        if len(rows) == 1:
            yield name, self.side(rows[0])
            return
        first, last = rows[0].bit // 8, (rows[-1].end - 1) // 8
        octets = octets_words(self.data[first : last + 1])
        yield name, self._side(first, last, octets, f"{len(rows)} fields")


def _general(path: str) -> Parts:
    """Return the path of an array's elements, such as `entities[]`, in parts."""
    return tuple(re.findall(r"\[\]|[^.\[\]]+", path))

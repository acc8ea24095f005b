"""Two layouts -> what differs between them, field by field, in words.

`differences` finds nothing exactly where the digests agree: class names and documentation do not count,
everything else does. Fields pair by name, then by place; records inside of the layout are compared too.
Whether a difference matters, and to whom, is not decided here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from wirelock.layout.canonical import expression_to_json, position_text, type_to_json
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Expression,
    Field,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Length,
    Limit,
    Limited,
    Number,
    Operation,
    Padding,
    Path,
    Position,
    Prefix,
    Rule,
    Switch,
    Type,
)
from wirelock.layout.operators import python_source

__all__ = ["ABSENT", "Difference", "differences"]

ABSENT: Final = "absent"
"""What stands for a thing on the side that does not have it."""

Pair: TypeAlias = tuple[Field | None, Field | None]


@dataclass(frozen=True, slots=True)
class Difference:
    """One aspect of one field, as it was and as it is now.

    `path` names the field from the outermost record: `entities[].rotation.a`, `body{2}.x` for the case 2
    of a Switch; empty for the record itself. A field that is gone or new has the aspect `field`.
    """

    path: str
    aspect: str
    was: str
    now: str

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{place}{self.aspect}: was {self.was}, now {self.now}"


def differences(
    was: Layout, now: Layout, was_tag: tuple[str, ...] = (), now_tag: tuple[str, ...] = ()
) -> list[Difference]:
    """Return every difference between two layouts and the names of their tags, in the old wire order."""
    found = [Difference("", "tag", _names(was_tag), _names(now_tag))] if was_tag != now_tag else []
    return [*found, *_layouts(was, now, "")]


# -- records


def _layouts(was: Layout, now: Layout, path: str) -> Iterator[Difference]:
    pairs = _paired(was.fields, now.fields)
    moved = False
    for old, new in pairs:
        if old is None or new is None:
            present = old or new
            assert present is not None
            text = f"{position_text(present.position)}, {_type_text(present.type)}"
            yield _one_sided(_joined(path, present.label), "field", text, was=old is not None)
        else:
            moved |= old.position != new.position
            yield from _fields(old, new, _joined(path, old.label))
    if not moved:
        yield from _order(was.fields, now.fields, pairs, path)
    yield from _rules(was.rules, now.rules, path)
    if was.validators != now.validators:
        yield Difference(path, "validators", _names(was.validators), _names(now.validators))


def _paired(was: tuple[Field, ...], now: tuple[Field, ...]) -> list[Pair]:
    """Pair the fields of two records: by name, then what lies at one place, then what is of one type."""
    named = {item.name: item for item in now if item.name is not None}
    partner = {old.label: named[old.name] for old in was if old.name in named}

    def pair(keys: Iterable[Any]) -> None:
        """Pair what is left where the keys of both sides agree, in order."""
        old_keys, new_keys = keys
        taken = {new.label for new in partner.values()}
        left = [(new_keys(new), new) for new in now if new.label not in taken]
        for old in was:
            if old.label in partner:
                continue
            match = next((new for key, new in left if key == old_keys(old)), None)
            if match is not None:
                partner[old.label] = match
                left = [(key, new) for key, new in left if new is not match]

    del pair
    return [(old, partner.get(old.label)) for old in was]

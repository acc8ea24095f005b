"""Two versions -> what a reader of each does with packets of the other, with witnesses.

A witness is a small packet, found by the bounded search of search.py, that one side takes and the other
refuses or reads otherwise. What is not found there may still exist: it is told as not found in so many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from wirelock.errors import Fault
from wirelock.evolve.code import missing_code, with_code
from wirelock.evolve.options import interests_of
from wirelock.evolve.reading import Misread, Reading, misreads, read
from wirelock.evolve.renames import aligned
from wirelock.evolve.search import mutations, packets
from wirelock.evolve.sides import Side, Version
from wirelock.layout.nodes import Constant, Field, Integer, Layout, layouts_in, plain
from wirelock.schema.tags import constant_octets

__all__ = ["Direction", "MisreadPacket", "Pair", "judge", "live_pairs", "read_both", "runnable"]

_NAMED: Final = 12
"""The misread fields that a pair names."""


@dataclass(slots=True)
class Direction:
    """What a reader of one version does with the other's packets: how many of those tried it takes.

    `refused` is the smallest that it does not take, `fault` why.
    """

    reader: Version
    writer: Version
    tried: int = 0
    taken: int = 0
    refused: bytes | None = None
    fault: Fault | None = None

    def see(self, data: bytes, taken: bool) -> None:
        """Count a packet that the writer could send."""
        self.tried += 1
        self.taken += taken
        if not taken and (self.refused is None or len(data) < len(self.refused)):
            self.refused = data


@dataclass(frozen=True, slots=True)
class MisreadPacket:
    """The smallest packet that both take and do not read alike, in one of the ways of Misread.kind."""

    data: bytes
    misread: Misread


@dataclass(slots=True)
class Pair:
    """Two versions and what their readers do with each other's packets.

    `missing` is code that cannot be run here, for want of which nothing was tried. `both` counts packets
    that both take, `fields` those paths that they do not read alike, elements without their numbers.
    """

    old: Version
    new: Version
    forward: Direction
    backward: Direction
    missing: list[str] = field(default_factory=list)
    validators: list[str] = field(default_factory=list)
    tried: int = 0
    both: int = 0
    misread: dict[str, MisreadPacket] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called beside each other: `v1` and `v2`, or `old` and `new`."""
        if self.old.label == self.new.label:
            return "old", "new"
        if self.old.protocol == self.new.protocol:
            return f"v{self.old.number}", f"v{self.new.number}"
        return self.old.label, self.new.label

    @property
    def compatible(self) -> bool:
        """Whether no packet was found that one side refuses or misreads."""
        refused = self.forward.refused is not None or self.backward.refused is not None
        return not (self.missing or refused or self.misread)

    @property
    def told_apart(self) -> str:
        """How the tag keeps the two apart: `unknown-version`, `foreign`, or empty where it does not.

        The word is the code of a peer that has only one of them, for the other's packets.
        """
        return _told_apart(self.old, self.new)


def live_pairs(old: Side, new: Side) -> Iterator[tuple[Version, Version]]:
    """Yield the pairs to judge: each version that has changed, and all that are live with each other."""
    if old.chosen and new.chosen:
        yield old.versions[0], new.versions[0]
        return
    for version in old.versions:
        partner = new.find(version.protocol, version.number)
        if partner is not None and partner.entry.digest != version.entry.digest:
            yield version, partner
    live = [version for version in new.versions if not version.entry.retired]
    for one, other in combinations(live, 2):
        if one.protocol == other.protocol:
            yield one, other


def judge(old: Version, new: Version, sources: Iterable[Layout] = ()) -> Pair:
    """Return what readers of two versions do with each other's packets.

    `sources` are layouts of classes, for the code of opaque fields and checksums that a lock only names.
    """
    was, now = runnable(old, new, sources)
    pair = Pair(old, new, Direction(new, old), Direction(old, new))
    pair.missing = list(dict.fromkeys([*missing_code(was), *missing_code(now)]))
    pair.validators = list(dict.fromkeys([*_validators(was), *_validators(now)]))
    if not pair.missing:
        _try_all(pair, was, now)
        # What a reader says has the names of its own layout.
        own = with_code(new.entry.layout, [was, now])
        for side, layout in ((pair.forward, own), (pair.backward, was)):
            if side.refused is not None:
                side.fault = read(layout, side.refused, repeats=side.reader.entry.repeats).fault
    return pair


def runnable(old: Version, new: Version, sources: Iterable[Layout] = ()) -> tuple[Layout, Layout]:
    """Return both layouts under the names of the old one, with the code that is found; see judge."""
    others = [old.entry.layout, new.entry.layout, *sources]
    was, now = (with_code(side.entry.layout, others) for side in (old, new))
    return was, aligned(was, now)[0]


def _try_all(pair: Pair, was: Layout, now: Layout) -> None:
    for data in dict.fromkeys(_candidates(was, now)):
        _see(pair, data, *read_both(pair, was, now, data))


def read_both(pair: Pair, was: Layout, now: Layout, data: bytes) -> tuple[Reading, Reading]:
    """Return what two layouts, as from runnable, make of a datagram."""
    repeats = pair.old.entry.repeats, pair.new.entry.repeats
    readings = [read(layout, data, repeats=many) for layout, many in zip((was, now), repeats, strict=True)]
    if repeats[0] != repeats[1]:
        # The one record of one side is the first of the many of the other.
        single = 1 if repeats[0] else 0
        readings[single] = readings[single].within("[0].")
    return readings[0], readings[1]


def _see(pair: Pair, data: bytes, old: Reading, new: Reading) -> None:
    pair.tried += 1
    if old.fault is None:
        pair.forward.see(data, new.fault is None)
    if new.fault is None:
        pair.backward.see(data, old.fault is None)
    if old.fault or new.fault:
        return
    pair.both += 1
    for found in misreads(old, new):
        known = pair.misread.get(found.kind)
        if known is None or len(data) < len(known.data):
            pair.misread[found.kind] = MisreadPacket(data, found)
        leaf = found.old or found.new
        assert leaf is not None
        if len(pair.fields) < _NAMED:
            pair.fields.setdefault(_without_numbers(leaf.path), found.kind)


def _candidates(was: Layout, now: Layout) -> Iterator[bytes]:
    """Yield packets of both sides, in turn, then packets near the first of them."""
    interests = interests_of(was, now)
    made = [list(packets(layout, interests)) for layout in (was, now)]
    for found in made:
        yield from found
    for found in made:
        yield from mutations(found)


def _without_numbers(path: str) -> str:
    return re.sub(r"\[[0-9]+\]", "[]", path)


def _validators(layout: Layout) -> Iterator[str]:
    yield from layout.validators
    for item in layout.fields:
        for inner in layouts_in(item.type):
            yield from _validators(inner)


# -- what the tags say


def _told_apart(old: Version, new: Version) -> str:
    sides = [_tag(version) for version in (old, new)]
    if not all(sides):
        return ""
    octets = [constant_octets([plain(item.type) for item in fields]) for fields in sides]
    if octets[0].startswith(octets[1]) or octets[1].startswith(octets[0]):
        return ""
    heads = [[plain(item.type) for item in fields[:-1]] for fields in sides]
    last = [plain(fields[-1].type) for fields in sides]
    numbered = all(isinstance(kind, Constant) and isinstance(kind.type, Integer) for kind in last)
    same = heads[0] == heads[1] and len(octets[0]) == len(octets[1])
    return "unknown-version" if numbered and same else "foreign"


def _tag(version: Version) -> list[Field]:
    """Return the fields of a version's tag; empty where it has none that can be read as one."""
    fields = list(version.entry.layout.fields[: len(version.entry.tag)])
    whole = all(isinstance(plain(item.type), Constant) for item in fields)
    return fields if whole and len(fields) == len(version.entry.tag) else []

"""One packet read with two layouts: what each makes of it, and what one takes for something else.

Both sides are read by the walk that locates faults, which needs nothing but a Layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wirelock.codec.floats import same_float
from wirelock.codec.locate import LayoutReader, read_through, trailing
from wirelock.codec.trail import Mark, value_text
from wirelock.codec.words import words
from wirelock.errors import Fault
from wirelock.layout import nodes
from wirelock.layout.nodes import (
    Array,
    Enum,
    Flags,
    Layout,
    Mapping,
    Nothing,
    Padding,
    Scaled,
    Terminated,
    Time,
    Type,
    plain,
)

__all__ = ["Leaf", "Misread", "Reading", "misreads", "read"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value that a record has, with the numbers of the bits that it is from.

    Bit 0 of a packet is the most significant one of its first byte.
    """

    path: str
    kind: Type
    value: Any
    bits: Sequence[int]

    def __str__(self) -> str:
        if isinstance(self.value, bytes):
            return value_text(self.value)
        return " ".join(words(self.kind, self.value)).strip() or "empty"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a layout makes of a packet: the one fault, or a value for each path.

    `hidden` are values that follow from others and that the record does not have.
    """

    fault: Fault | None
    leaves: dict[str, Leaf]
    hidden: tuple[Leaf, ...] = ()

    def within(self, prefix: str) -> Reading:
        """Return this reading with a prefix before all paths of values."""
        found = (replace(leaf, path=prefix + leaf.path) for leaf in self.leaves.values())
        return replace(self, leaves={leaf.path: leaf for leaf in found})


@dataclass(frozen=True, slots=True)
class Misread:
    """What two readers that both take a packet do not read alike.

    The same path with another meaning; the same bits under another path; or, with None, bits that the
    other side has in no field.
    """

    old: Leaf | None
    new: Leaf | None

    @property
    def kind(self) -> str:
        """`value`, `field` or `unread`."""
        if self.old is None or self.new is None:
            return "unread"
        return "value" if self.old.path == self.new.path else "field"

    def told(self, old: str, new: str) -> str:
        """Say in words what is read otherwise; `old` and `new` name the sides."""
        if self.old is None or self.new is None:
            there, who = (self.new, new) if self.old is None else (self.old, old)
            assert there is not None
            return f"{there.path} ({there}) is read by {who} alone"
        if self.old.path == self.new.path:
            return f"{self.old.path} is {self.old} to {old}, {self.new} to {new}"
        return f"{self.old.path} ({self.old}) to {old} is {self.new.path} ({self.new}) to {new}"


def read(layout: Layout, data: bytes, *, repeats: bool = False) -> Reading:
    """Return what a layout makes of a datagram: exactly one record, or with `repeats` one or more."""
    if not repeats:
        fault, reader = read_through(layout, data)
        return Reading(fault, {}) if fault else _reading(_leaves(reader, ""))
    at, number, found = 0, 0, dict[str, Leaf]()
    while at < len(data) or not number:
        fault, reader = read_through(layout, data, at, exact=False)
        if fault is None and reader.byte == at:
            fault = trailing(at, len(data) - at)
        if fault is not None:
            return Reading(fault.within(f"[{number}]", 0), {})
        found |= _leaves(reader, f"[{number}].")
        at, number = reader.byte, number + 1
    return _reading(found)


def _reading(found: dict[str, Leaf]) -> Reading:
    hidden = tuple(leaf for path, leaf in found.items() if not _told(path))
    return Reading(None, {path: leaf for path, leaf in found.items() if _told(path)}, hidden)


def _leaves(reader: LayoutReader, prefix: str) -> dict[str, Leaf]:
    found: dict[str, Leaf] = {}
    for mark in reader.trail.marks:
        path, kind = prefix + mark.path, plain(mark.kind)
        found.pop(path, None)  # what is around a value has its path, and comes before it
        if not isinstance(kind, Array | Layout | Nothing | Padding | nodes.Sequence | Terminated):
            found[path] = Leaf(path, mark.kind, mark.value, _bits(mark))
    return found


def _told(path: str) -> bool:
    """Whether a value is one that the record has."""
    return "#" not in path and not any(name.startswith("_") for name in path.split("."))


def _bits(mark: Mark) -> Sequence[int]:
    if not mark.pieces:
        return range(mark.bit, mark.end)
    return [8 * byte + bit for byte, mask in mark.pieces for bit in range(8) if mask & 0x80 >> bit]


def misreads(old: Reading, new: Reading) -> Iterator[Misread]:
    """Yield what two readings of one packet, without a fault, have otherwise."""
    gone = []
    for path, leaf in old.leaves.items():
        other = new.leaves.get(path)
        if other is None:
            gone.append(leaf)
        elif not _same(leaf, other):
            yield Misread(leaf, other)
    come = [leaf for path, leaf in new.leaves.items() if path not in old.leaves]
    if not gone and not come:
        return
    owners = {bit: leaf for leaf in reversed(come) for bit in leaf.bits}
    known = [_all_bits(old), _all_bits(new)]
    told: set[str] = set()
    for leaf in gone:
        others = {owners[bit].path: owners[bit] for bit in leaf.bits if bit in owners}
        told.update(others)
        if others or not known[1].issuperset(leaf.bits):
            yield Misread(leaf, next(iter(others.values()), None))
    for leaf in come:
        if leaf.path not in told and not known[0].issuperset(leaf.bits):
            yield Misread(None, leaf)


def _all_bits(reading: Reading) -> set[int]:
    return {bit for leaf in (*reading.leaves.values(), *reading.hidden) for bit in leaf.bits}


def _same(old: Leaf, new: Leaf) -> bool:
    """Whether two values mean the same."""
    was, now = plain(old.kind), plain(new.kind)
    if isinstance(was, Mapping) or isinstance(now, Mapping):
        return bool(_key(was, old.value) == _key(now, new.value))
    if _unit(was) != _unit(now) or not _equal(old.value, new.value):
        return False
    if isinstance(was, Enum) and isinstance(now, Enum):
        return _same_names(was, now, {old.value})
    if isinstance(was, Flags) and isinstance(now, Flags):
        return _same_names(was, now, {mask for _, mask in was.members if mask & old.value})
    return True


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return same_float(old, new)
    return bool(old == new)


def _key(kind: Type, value: Any) -> Any:
    return {number: key for key, number in kind.members}[value] if isinstance(kind, Mapping) else value


def _unit(kind: Type) -> tuple[str, str]:
    match kind:
        case Scaled(unit=unit):
            return unit, ""
        case Time(unit=unit, epoch=epoch):
            return unit, epoch
    return "", ""


def _same_names(was: Enum | Flags, now: Enum | Flags, values: set[int]) -> bool:
    """Whether values have the same names, or names that stand for nothing else on the other side."""
    old, new = dict(was.members), dict(now.members)
    for value in values:
        names = {name for name, number in old.items() if number == value}
        others = {name for name, number in new.items() if number == value}
        if not names & others and (names & new.keys() or others & old.keys()):
            return False
    return True

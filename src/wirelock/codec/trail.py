"""What was read of one record, in wire order, and the value faults in it.

An engine that locates faults leaves a trail: one Mark for each value and one Frame for each layout.
Structure is the engine's to check while it reads; limits, members and rules are checked here, after.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from wirelock.errors import Fault
from wirelock.layout.nodes import Enum, Integer, Layout, Mapping, Type, limits_of, plain
from wirelock.layout.operators import evaluate
from wirelock.layout.positions import pieces_at
from wirelock.layout.terms import Index, Length, Limit, Path


class Found(Exception):  # noqa: N818 - control flow inside the codec room, not an error of the caller's
    """Carries the first fault out of the depth where it was found."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


@dataclass(slots=True)
class Frame:
    """The values of one layout: integers, floats, bytes, text, lists, and Frames of nested layouts.

    An Enum, Flags or Mapping stands as its integer. `index` is the number of the element that is being
    read, of the innermost array around what is read.
    """

    layout: Layout
    path: str
    bit: int
    parent: Frame | None
    values: dict[str, Any] = field(default_factory=dict)
    index: int = 0
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The bytes of each field that was read: the first, and the one behind the last."""

    def value_of(self, wanted: Path | Length | Index) -> Any:
        """Return the value at a path, the length of what is there, or the element's number."""
        if isinstance(wanted, Index):
            return self.index
        path = wanted.path if isinstance(wanted, Length) else wanted
        frame: Any = self
        for _ in range(path.up):
            frame = frame.parent
        for name in path.names:
            frame = frame.values[name]
        return len(frame) if isinstance(wanted, Length) else frame

    def compute(self, expression: Any) -> Any:
        """Compute an expression over these values."""
        return evaluate(expression, self.value_of)


@dataclass(slots=True)
class Mark:
    """One value with its type and place; `bit` and `end` count from the record's start.

    `value` and `end` are filled in when the value has been read: `end` is -1 until then. `fault` is one of
    the value that its reader has found.
    """

    kind: Type
    path: str
    bit: int
    value: Any = None
    end: int = -1
    fault: Fault | None = None
    pieces: tuple[tuple[int, int], ...] = ()
    """Where its bits lie, if not one behind the other."""


@dataclass(slots=True)
class Trail:
    """All marks in wire order, and the frames in the order in which they were completed."""

    marks: list[Mark] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    def mark(self, kind: Type, path: str, bit: int) -> Mark:
        """Note that a value starts here; its value is filled in when it has been read."""
        made = Mark(kind, path, bit)
        self.marks.append(made)
        return made

    def value_fault(self) -> Fault | None:
        """Return the first fault of the values in wire order, then of the rules; None if all hold."""
        for mark in self.marks:
            fault = scattered(mark.fault or _value_fault(mark), mark.pieces)
            if fault is not None:
                return fault
        for frame in self.frames:
            for rule in frame.layout.rules:
                if not frame.compute(rule.expression):
                    told = f": {rule.message}" if rule.message else ""
                    return Fault(f"rule:{rule.name}", frame.path, "", told, frame.bit // 8)
        return None


def scattered(fault: Fault | None, pieces: tuple[tuple[int, int], ...]) -> Fault | None:
    """Return a fault in a value whose bits lie in these pieces, if they are not one behind the other."""
    if fault is None or not pieces:
        return fault
    return replace(fault, byte=min(byte for byte, _ in pieces), pieces=pieces)


def fault_at(code: str, path: str, bit: int, kind: Type, found: object, allowed: object) -> Fault:
    """Return a fault in the value of this type that starts at `bit`."""
    return Fault(code, path, value_text(found), value_text(allowed), bit // 8, pieces_at(bit, kind))


def _value_fault(mark: Mark) -> Fault | None:
    kind = plain(mark.kind)
    if isinstance(kind, Enum | Mapping) and mark.value not in {value for _, value in kind.members}:
        return fault_at("unknown-member", mark.path, mark.bit, kind, mark.value, members_text(kind))
    limits = limits_of(mark.kind)
    if mark.value is None or all(limit_holds(limit, mark.value) for limit in limits):
        return None
    found, allowed = value_text(mark.value, limits), limits_text(_both_ends(limits, kind))
    return fault_at("out-of-range", mark.path, mark.bit, kind, found, allowed)


def _both_ends(limits: tuple[Limit, ...], kind: Type) -> tuple[Limit, ...]:
    """Let the width of an integer stand in for the end of a range that has only one."""
    kinds = {limit.kind for limit in limits}
    if isinstance(kind, Integer) and "ge" not in kinds and "le" in kinds:
        return Limit("ge", kind.lowest), *limits
    if isinstance(kind, Integer) and "ge" in kinds and "le" not in kinds:
        return *limits, Limit("le", kind.highest)
    return limits


def limit_holds(limit: Limit, value: Any) -> bool:
    """Whether a value keeps one limit. A NaN keeps none that compares."""
    argument: Any = limit.value
    match limit.kind:
        case "ge":
            return bool(value >= argument)
        case "gt":
            return bool(value > argument)
        case "le":
            return bool(value <= argument)
        case "lt":
            return bool(value < argument)
        case "multiple_of":
            return bool(value % argument == 0)
        case "min_length":
            return bool(len(value) >= argument)
        case "max_length":
            return bool(len(value) <= argument)
        case "one_of":
            return value in argument
        case "none_of":
            return value not in argument


def value_text(value: Any, limits: Iterable[Limit] = ()) -> str:
    """Return a value in words: a number, bytes in hex, or the length where the limit is one."""
    if any(limit.kind.endswith("length") for limit in limits):
        return f"length {len(value)}"
    if isinstance(value, bytes):
        return value.hex(" ") or "nothing"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return f"{value:#x}"[:40]  # Python refuses to write very long integers in decimal
    return str(value)


def limits_text(limits: Iterable[Limit]) -> str:
    """Return limits in words: `0..3`, `1 or more`, `length 1..16`, `multiples of 4`."""
    found = {limit.kind: limit.value for limit in limits}
    parts = []
    if "ge" in found and "le" in found:
        parts.append(f"{found.pop('ge')}..{found.pop('le')}")
    if "min_length" in found and "max_length" in found:
        parts.append(f"length {found.pop('min_length')}..{found.pop('max_length')}")
    words = {
        "ge": "{} or more", "gt": "more than {}", "le": "{} or less", "lt": "less than {}",
        "multiple_of": "multiples of {}", "min_length": "length {} or more",
        "max_length": "length {} or less",
    }  # fmt: skip
    for kind, value in found.items():
        if isinstance(value, tuple):
            told = " or ".join(value_text(item) for item in value)
            parts.append(told if kind == "one_of" else f"not {told}")
        else:
            parts.append(words[kind].format(value))
    return ", ".join(parts)


def members_text(kind: Enum | Mapping) -> str:
    """Return an enumeration's members in words."""
    return ", ".join(f"{name} ({value})" for name, value in kind.members)

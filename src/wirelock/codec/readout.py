"""Bytes -> rows, one for each value in wire order, as far as they can be read; and the verdict.

The walk is locate's, so that places, paths and faults are those of every error message. Every byte is in a
row: beside the values there are counts and sizes before them, terminators and padding behind them, and
what lies behind the end or behind the fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from wirelock.codec.locate import LayoutReader, locate
from wirelock.codec.text import strip_nuls
from wirelock.codec.trail import Found, Mark, Trail
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    If,
    Integer,
    Layout,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminator,
    Text,
    Type,
    VarInt,
    plain,
)
from wirelock.layout.positions import pieces_at
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import inner_path

__all__ = ["AFTER", "CUT", "NOT_READ", "UNREAD", "Readout", "Row", "read_out"]

CUT: Final = "cut short"
UNREAD: Final = "?"
AFTER: Final = "after the end"
NOT_READ: Final = "not read"
_REST: Final = Bytes(Rest())
_FILLING: Final = Padding(0, 8, 0)


@dataclass(frozen=True, slots=True)
class Row:
    """One value, or bytes beside one.

    `bit` and `end` count from the record's start. A `group` holds the rows behind it that are deeper.
    `part` is empty for the value at `path`; otherwise it says what these bytes are to it: `count`, `size`,
    `terminator`, `padding`, AFTER, and without a path NOT_READ. `state` is empty for what was read, CUT
    where the bytes end inside of it, UNREAD where they cannot be it. `octets` are the bytes that it touches,
    `pieces` (byte, mask) pairs from its most significant bit, for what does not fill its bytes.
    """

    path: str
    depth: int
    kind: Type
    bit: int
    end: int
    octets: bytes
    value: Any = None
    part: str = ""
    group: bool = False
    state: str = ""
    pieces: tuple[tuple[int, int], ...] = ()

    @property
    def digits(self) -> str:
        """The bits of the pieces, from the most significant on."""
        first = self.bit // 8
        return "".join(
            f"{(self.octets[byte - first] & mask) // (mask & -mask):0{mask.bit_count()}b}"
            for byte, mask in self.pieces
        )


@dataclass(frozen=True, slots=True)
class Readout:
    """The rows of one record, its fault if it has one, and the byte behind it."""

    rows: list[Row]
    fault: Fault | None
    end: int

    @property
    def faulty(self) -> int | None:
        """The number of the row where the fault is; None where it is in no one row."""
        if self.fault is None:
            return None
        found = [
            number
            for number, row in enumerate(self.rows)
            if row.path == self.fault.path and (row.path or row.part == AFTER)
        ]
        best = [number for number in found if self.rows[number].state or self.rows[number].part == AFTER]
        return next(iter(best or [number for number in found if not self.rows[number].part] or found), None)

    @property
    def spot(self) -> tuple[int, int] | None:
        """The bytes that the fault is about, from the first to behind the last; not all need be there."""
        fault = self.fault
        if fault is None:
            return None
        if fault.pieces:
            touched = [byte for byte, _ in fault.pieces]
            return min(touched), max(touched) + 1
        if fault.byte is not None and fault.code == "truncated":
            return fault.byte, fault.byte + int(fault.allowed)
        if fault.byte is not None and fault.code == "trailing-bytes":
            return fault.byte, fault.byte + int(fault.found)
        row = None if self.faulty is None else self.rows[self.faulty]
        if row is None:
            return None if fault.byte is None else (0, self.end)
        if isinstance(plain(row.kind), Padding | Padded) and fault.byte is not None:
            return fault.byte, fault.byte + 1
        return row.bit // 8, -(-row.end // 8)


def read_out(layout: Layout, data: bytes, *, exact: bool = True) -> Readout:
    """Return what `data` is as a record of this layout; `exact` as for `locate`."""
    reader = LayoutReader(data, Trail())
    try:
        reader.read(layout, "", None)
    except Found as found:
        stopped: Fault | None = found.fault
    else:
        stopped = None
    rows = _Rows(data, stopped, reader.bit, reader.end)
    rows.add(_tree(reader.trail.marks), -1)
    if exact or stopped:
        rows.add_rest()
    return Readout(rows.found, locate(layout, data, exact=exact), -(-rows.read_to // 8))


@dataclass(slots=True)
class _Node:
    """A mark and those of what lies inside of its value."""

    mark: Mark
    inside: list[_Node] = field(default_factory=list)


def _tree(marks: Iterable[Mark]) -> _Node:
    """Return marks, which are in wire order, as a tree: what is inside has the path or a longer one."""
    open_nodes: list[_Node] = []
    for mark in marks:
        while open_nodes and not _within(mark, open_nodes[-1].mark):
            open_nodes.pop()
        node = _Node(mark)
        if open_nodes:
            open_nodes[-1].inside.append(node)
        else:
            root = node
        open_nodes.append(node)
    return root


def _pieces(bit: int, end: int, kind: Type) -> tuple[tuple[int, int], ...]:
    """Return where the bits of a value are that does not fill its bytes, or of as much as there is of it."""
    width = end - bit
    if not width or (bit % 8 == 0 and end % 8 == 0):
        return ()
    return pieces_at(bit, kind if size_of(kind).lowest == width else Integer(width, False, "big"))


def _within(mark: Mark, outer: Mark) -> bool:
    """Whether a value lies inside of one before it.

    What stands beside a value, `x#0`, has its path too; and where frames lie in frames, two parts have one.
    """
    path, start = mark.path, outer.path
    if not start or not path.startswith(start):
        return not start
    behind = path[len(start) :]
    if behind.startswith("#") or (not behind and start[start.rfind(".") :].rpartition("#")[2].isdecimal()):
        return outer.end < 0 or mark.bit < outer.end
    return behind[:1] in ("", ".", "[")


class _Rows:
    """Makes rows of marks. `stopped` is the fault that ended the walk, at `bit`, in a region up to `stop`."""

    def __init__(self, data: bytes, stopped: Fault | None, bit: int, stop: int) -> None:
        self.data = data
        self.stopped = stopped
        self.bit = bit
        self.stop = 8 * stop
        self.at = 0
        """The bit behind the last row."""
        self.read_to = 0
        """The bit behind the last row of the record itself."""
        self.found: list[Row] = []

    def add(self, node: _Node, depth: int) -> None:
        """Add the rows of a value and of what is inside."""
        mark, kind = node.mark, plain(node.mark.kind)
        match kind:
            case Layout() | Array() | Sequence():
                place = len(self.found)
                if isinstance(kind, Layout) and kind.order != "wire":
                    self._scattered(node, kind, depth + 1)
                elif self._prefix(node, depth + 1):
                    for inner in node.inside:
                        self.add(inner, depth + 1)
                    self._elements(node, depth + 1)
                if mark.path:
                    end = self.at if mark.end < 0 else mark.end
                    row = self._row(mark.path, depth, mark.kind, mark.bit, end, mark.value, group=True)
                    self.found.insert(place, row)
            case If() | Optional() | Switch() | Select() | Padded() | Sized() if node.inside or mark.end < 0:
                if self._prefix(node, depth):
                    for inner in node.inside:
                        self.add(inner, depth)
                    self._behind(node, depth)
            case _ if self._prefix(node, depth):
                self._value(mark, depth)

    def add_rest(self) -> None:
        """Add the bytes that are in no row yet."""
        first = 8 * -(-self.at // 8)
        if self.stopped is not None and self.stopped.code == "trailing-bytes":
            self._bytes(self.stopped.path, first, self.stop, AFTER)
            first = self.stop
        last = 8 * len(self.data)
        self._bytes("", first, last, AFTER if self.stopped is None else NOT_READ)

    def _bytes(self, path: str, first: int, last: int, part: str) -> None:
        if last > first:
            self.found.append(self._row(path, 0, _REST, first, last, part=part))

    def _row(
        self, path: str, depth: int, kind: Type, bit: int, end: int, value: Any = None, **more: Any
    ) -> Row:
        if more.get("group") or end == bit:
            return Row(path, depth, kind, bit, end, b"", value, **more)
        pieces = more.pop("pieces", ()) or _pieces(bit, end, kind)
        stop = max((byte for byte, _ in pieces), default=-(-end // 8) - 1) + 1
        return Row(path, depth, kind, bit, end, self.data[bit // 8 : stop], value, pieces=pieces, **more)

    def _append(self, path: str, depth: int, kind: Type, end: int, value: Any = None, **more: Any) -> None:
        self.found.append(self._row(path, depth, kind, self.at, end, value, **more))
        self.at = self.read_to = end

    def _scattered(self, node: _Node, layout: Layout, depth: int) -> None:
        """Add the fields of a record whose bits do not lie one behind the other."""
        path, stopped = node.mark.path, self.stopped
        end = node.mark.bit + size_of(layout).lowest
        for mark in (inner.mark for inner in node.inside):
            row = self._row(mark.path, depth, mark.kind, mark.bit, mark.end, mark.value, pieces=mark.pieces)
            self.found.append(row)
        self.at = node.mark.bit
        if node.mark.end < 0 and len(node.inside) < len(layout.fields):
            assert stopped is not None
            if stopped.code == "truncated":
                self._unread(stopped.path, depth, layout, stopped.code)
                return
            item = layout.fields[len(node.inside)]
            label = inner_path(path, item.label)
            base = node.mark.bit // 8
            pieces = tuple((base + byte, mask) for byte, mask in item.position.pieces)
            first = 8 * (base + item.position.byte)
            self.found.append(
                self._row(label, depth, item.type, first, first + 1, pieces=pieces, state=UNREAD)
            )
        self.at = self.read_to = end

    def _prefix(self, node: _Node, depth: int) -> bool:
        """Add the count or size that stands before a value; False if it could not be read."""
        mark, kind = node.mark, plain(node.mark.kind)
        self.at = mark.bit
        match kind.inner if isinstance(kind, Text) else kind:
            case Array(count=Prefix(integer=integer)):
                part = "count"
            case Sized(extent=Prefix(integer=integer)):
                part = "size"
            case _:
                return True
        reader = LayoutReader(self.data, Trail(), mark.bit)
        if mark.end < 0 and not node.inside:
            reader.end = self.stop // 8
        try:
            value = reader.read(integer, mark.path, None)
        except Found as found:
            self._unread(mark.path, depth, integer, found.fault.code, part)
            return False
        self._append(mark.path, depth, integer, reader.bit, value, part=part)
        return True

    def _value(self, mark: Mark, depth: int) -> None:
        if mark.end < 0:
            assert self.stopped is not None
            self._unread(mark.path, depth, mark.kind, self.stopped.code)
            return
        kind, end = plain(mark.kind), mark.end
        if isinstance(kind, Text) and isinstance(kind.inner, Sized):
            end = self._text_end(kind.inner, end)
        state = UNREAD if mark.fault is not None and mark.value is None else ""
        self._append(mark.path, depth, mark.kind, end, mark.value, state=state)
        if isinstance(kind, Text) and isinstance(kind.inner, Sized):
            self._filling(kind.inner, mark.path, depth, mark.end)

    def _text_end(self, kind: Sized, end: int) -> int:
        """Return where text ends before what terminates or pads it."""
        if isinstance(kind.extent, Terminator):
            end -= 8 * len(kind.extent.mark)
        if kind.stripped:
            end = self.at + 8 * len(strip_nuls(self.data[self.at // 8 : end // 8], kind.stripped))
        return end

    def _behind(self, node: _Node, depth: int) -> None:
        """Add what stands behind the inside of a value, or is left of it where the walk ended there."""
        mark, kind = node.mark, plain(node.mark.kind)
        if mark.end >= 0:
            self._filling(kind, mark.path, depth, mark.end)
        elif all(inner.mark.end >= 0 for inner in node.inside):
            assert self.stopped is not None
            if not node.inside:
                self._unread(mark.path, depth, mark.kind, self.stopped.code)
            elif isinstance(kind, Padded) and self.stopped.code in ("truncated", "not-canonical"):
                self._unread(mark.path, depth, _FILLING, self.stopped.code, "padding")

    def _filling(self, kind: Type, path: str, depth: int, end: int) -> None:
        """Add the padding and the terminator up to the end of a region."""
        behind = end
        if isinstance(kind, Sized) and isinstance(kind.extent, Terminator):
            end -= 8 * len(kind.extent.mark)
        if self.at < end:
            self._append(path, depth, _FILLING, end, part="padding")
        if end < behind:
            self._append(path, depth, _REST, behind, part="terminator")

    def _unread(self, path: str, depth: int, kind: Type, code: str, part: str = "") -> None:
        """Add the row of what could not be read: up to the region's end, or as far as it goes."""
        if code == "truncated":
            end, state = self.stop, CUT
        elif isinstance(plain(kind), VarInt):
            end, state = self._varint_end(), UNREAD
        else:
            end, state = max(self.bit, self.at), UNREAD
        self._append(path, depth, kind, end, part=part, state=state)

    def _varint_end(self) -> int:
        octets = self.data[self.at // 8 : self.stop // 8][:10]
        last = next((number for number, octet in enumerate(octets) if octet < 0x80), len(octets) - 1)
        return self.at + 8 * (last + 1)

    def _elements(self, node: _Node, depth: int) -> None:
        """Add the elements of an array that were counted by division and left no marks."""
        kind, path = plain(node.mark.kind), node.mark.path
        cut = self.stopped is not None and self.stopped.code == "truncated"
        if not isinstance(kind, Array) or node.mark.end >= 0 or node.inside or not cut:
            return
        assert self.stopped is not None
        if not self.stopped.path.startswith(f"{path}["):
            return
        reader = LayoutReader(self.data, Trail(), self.at)
        for number in range(int(self.stopped.path[len(path) + 1 : -1])):
            reader.read(kind.element, f"{path}[{number}]", None)
        for mark in reader.trail.marks:
            self._value(mark, depth)
        self._unread(self.stopped.path, depth, kind.element, "truncated")

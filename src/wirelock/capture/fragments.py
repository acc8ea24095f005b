"""Fragments of IP packets -> whole ones, in any order and with duplicates, in bounded memory.

Fragments that overlap have to agree on every byte, and on where the packet ends: nothing is guessed. What
is never finished is a fault, at the end or when it has to make room.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from wirelock.capture.packets import SECOND, Refused, Within

__all__ = ["MOST_HELD", "Fragments", "Piece", "Unfinished"]

MOST_HELD: Final = 1 << 24
"""Bytes of unfinished packets that are held, with what it takes to hold them."""
_OVERHEAD: Final = 400
"""Bytes that holding a packet or one of its pieces takes besides its own, about."""
_LONGEST: Final = 0xFFFF
"""Bytes of the largest packet that fragments can make, without its header."""
_LIFETIME: Final = 60 * SECOND
"""RFC 8200 section 4.5: fragments that are further apart in time belong to two packets of one number."""
_REMEMBERED: Final = 256
"""Finished packets whose late duplicates are known as such."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One fragment: bytes at `offset` of what the fragments make, the packet that brought them, and where."""

    packet: int
    time_ns: int | None
    source: bytes
    destination: bytes
    offset: int
    more: bool
    data: bytes
    byte: int
    within: Within


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Fragments that made nothing: the first one, and what is missing."""

    first: Piece
    message: str


@dataclass(slots=True)
class _Pending:
    """The fragments of one packet so far: runs of bytes that do not overlap, in order.

    `total` is the packet's size once its last fragment came. `late`: all are duplicates of a packet that is
    finished. `refused`: what they make is given up, and what still comes of it is passed over.
    """

    first: Piece
    late: bool = False
    starts: list[int] = field(default_factory=list)
    runs: list[bytes] = field(default_factory=list)
    seen: set[tuple[int, int, bool]] = field(default_factory=set)
    held: int = 0
    total: int | None = None
    refused: bool = False
    count: int = 0
    cost: int = _OVERHEAD

    def add(self, piece: Piece) -> None:
        """Take in a piece. Raises Refused where it contradicts those that are there."""
        end = piece.offset + len(piece.data)
        if end > _LONGEST or (piece.more and len(piece.data) % 8):
            told = f"{len(piece.data)} bytes at {piece.offset} of a fragmented packet"
            raise Refused("fragment-length", told, piece.byte)
        last = self.starts[-1] + len(self.runs[-1]) if self.starts else 0
        known = self.total
        beyond = known is not None and end > known
        if beyond or (not piece.more and (known not in (None, end) or last > end)):
            told = f"a fragment that ends at {end}, others at {known if known is not None else last}"
            raise Refused("fragment-overlap", told, piece.byte)
        if not piece.more:
            self.total = end
        self._fill(piece, end)

    def _fill(self, piece: Piece, end: int) -> None:
        at = piece.offset
        index = max(0, bisect_right(self.starts, at) - 1)
        while at < end:
            start = self.starts[index] if index < len(self.starts) else end
            if at < start:
                stop = min(start, end)
                run = piece.data[at - piece.offset : stop - piece.offset]
                self.starts.insert(index, at)
                self.runs.insert(index, run)
                self.held += len(run)
                self.cost += len(run) + _OVERHEAD
                at = stop
            else:
                stop = min(start + len(self.runs[index]), end)
                if stop > at:
                    self._compare(piece, at, self.runs[index][at - start : stop - start])
                    at = stop
            index += 1

    def _compare(self, piece: Piece, at: int, there: bytes) -> None:
        """Raise Refused where a piece has other bytes than those that are there at a byte."""
        ours = piece.data[at - piece.offset : at - piece.offset + len(there)]
        if ours != there:
            wrong = at + next(i for i, (a, b) in enumerate(zip(ours, there, strict=True)) if a != b)
            told = f"byte {wrong} of the fragmented packet is another one in an earlier fragment"
            raise Refused("fragment-overlap", told, piece.byte + wrong - piece.offset)

    @property
    def whole(self) -> bool:
        return self.total is not None and self.held == self.total

    def missing(self) -> str:
        """Say what never came."""
        came = f"{self.count} fragment{'' if self.count == 1 else 's'} of {self.held} bytes came"
        at = 0
        for start, run in zip(self.starts, self.runs, strict=True):
            if start > at:
                return f"{came}, bytes {at}..{start - 1} did not"
            at = start + len(run)
        return f"{came}, what follows byte {at - 1} did not" if at else f"{came}, the rest did not"


class Fragments:
    """The fragments of many packets, taken in the order in which they were captured.

    `unfinished` are those that were given up since `taken` was last asked for them.
    """

    def __init__(self) -> None:
        self.unfinished: list[Unfinished] = []
        self._pending: dict[Hashable, _Pending] = {}
        self._finished: OrderedDict[Hashable, set[tuple[int, int, bool]]] = OrderedDict()
        self._cost = 0

    def add(self, key: Hashable, piece: Piece) -> bytes | None:
        """Return what the fragments of a key make once the last of them is there.

        Raises Refused, once, for fragments that contradict each other; what still comes of them makes
        nothing.
        """
        pending = self._of(key, piece)
        if pending.refused:
            return None
        pending.count += 1
        mark = piece.offset, hash(piece.data), piece.more
        before = pending.cost
        try:
            pending.add(piece)
        except Refused:
            pending.cost = before
            self._give_up(key, pending)
            raise
        if mark not in pending.seen:
            pending.seen.add(mark)
            pending.cost += _OVERHEAD
        pending.late = pending.late and mark in self._finished.get(key, ())
        self._cost += pending.cost - before
        if pending.whole:
            return self._finish(key, pending)
        while self._cost > MOST_HELD:
            self._drop(next(iter(self._pending)))
        return None

    def refuse(self, key: Hashable, piece: Piece) -> bool:
        """Give up what a piece belongs to that is not wholly there; return whether it was not before."""
        pending = self._of(key, piece)
        if pending.refused:
            return False
        self._give_up(key, pending)
        return True

    def end(self) -> None:
        """Give up what is not finished."""
        for key in list(self._pending):
            self._drop(key)

    def taken(self) -> Iterator[Unfinished]:
        """Yield what was given up since this was last asked."""
        given, self.unfinished = self.unfinished, []
        yield from given

    def _finish(self, key: Hashable, pending: _Pending) -> bytes:
        del self._pending[key]
        self._cost -= pending.cost
        self._finished.pop(key, None)
        if len(pending.seen) <= _REMEMBERED:
            self._finished[key] = pending.seen
        if len(self._finished) > _REMEMBERED:
            self._finished.popitem(last=False)
        return b"".join(pending.runs)

    def _of(self, key: Hashable, piece: Piece) -> _Pending:
        pending = self._pending.get(key)
        if pending is not None and _apart(pending.first.time_ns, piece.time_ns):
            self._drop(key)
            pending = None
        if pending is None:
            late = key in self._finished
            pending = self._pending[key] = _Pending(replace(piece, data=b""), late)
            self._cost += pending.cost
        return pending

    def _give_up(self, key: Hashable, pending: _Pending) -> None:
        self._cost += _OVERHEAD - pending.cost
        self._pending[key] = _Pending(pending.first, refused=True)

    def _drop(self, key: Hashable) -> None:
        pending = self._pending.pop(key)
        self._cost -= pending.cost
        if not pending.refused and not pending.late:
            self.unfinished.append(Unfinished(pending.first, pending.missing()))


def _apart(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and abs(one - other) > _LIFETIME

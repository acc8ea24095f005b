"""Layout -> the source that reads what has no fixed size, for compiled column code: bytes, text, regions."""

from __future__ import annotations

from typing import Final

from wirelock.codec.columns import Node
from wirelock.codec.emit import Sight, Value
from wirelock.codec.emit_columns_leaves import LeafReader
from wirelock.codec.emit_columns_places import ColumnValue, value_of
from wirelock.layout.nodes import (
    Bytes,
    Multiple,
    Padded,
    Padding,
    Prefix,
    Rest,
    Sized,
    Terminator,
    Text,
    Type,
    VarInt,
    limits_of,
    plain,
)
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Expression, Limit, Operation, Path

_KINDS: Final = {"+": 0, "-": 1, "*": 2, "<<": 3}
"""What kernels.bounded calls the operators."""
UNITS: Final = {"ascii": 0, "utf-8": 1, "utf-16-le": 2, "utf-16-be": -2, "utf-32-le": 4, "utf-32-be": -4}
"""What kernels.text_length calls the encodings."""


class RegionReader(LeafReader):
    """Writes the lines that read values of no fixed size, and the regions around others."""

    def read(self, kind: Type, node: Node | None, slot: str, hint: str, sight: Sight | None) -> Value:
        """Write what reads one value of any type."""
        raise NotImplementedError

    def named(self, text: str, hint: str) -> str:
        """Give source a name."""
        name = self.writer.name(hint)
        self.writer.line(f"{name} = {text}")
        return name

    def varint(self, signed: bool, hint: str) -> ColumnValue:
        """Write what reads a variable-length number."""
        self.flush()
        name, behind = self.writer.name(hint), self.writer.name(f"{hint}_stop")
        self.writer.line(f"{name}, {behind} = {self.kernel('read_varint', 'data', self.at, self.end)}")
        self.require(f"({behind} >= 0)")
        self.writer.line(f"{self.at} = {behind}")
        if not signed:
            return ColumnValue(name, name, wide=True)
        value = self.named(self.kernel("unzigzag", name), f"{hint}_signed")
        return ColumnValue(value, value)

    def prefix(self, prefix: Prefix, hint: str) -> str:
        """Return the name of a count or size that was just read: an int64, negative where it is beyond."""
        if isinstance(prefix.integer, VarInt):
            value = self.varint(prefix.integer.zigzag, hint)
        else:
            value = self.integer(self.take(prefix.integer.bits), prefix.integer, hint)
            self.flush()
        return self.named(f"int64({value.text})", hint) if value.wide else value.text

    def counted(self, expression: int | Expression, hint: str, sight: Sight) -> str:
        """Return the name of a count or length that the layout states, an int64.

        Its last operation may leave int64 upwards, and a field of 64 bits is one as it is: that is then more
        than any data holds, and becomes -1.
        """
        match expression:
            case Operation(operator=("+" | "-" | "*" | "<<") as name, operands=(left, right)):
                call = self.kernel(
                    "bounded", self.number(left, sight), self.number(right, sight), _KINDS[name]
                )
                return self.named(call, hint)
        text = self.number(expression, sight)
        wide = isinstance(expression, Path) and value_of(expression, sight).wide
        return self.named(f"int64({text})" if wide else text, hint)

    def length(self, length: int | Expression, hint: str, sight: Sight) -> str:
        """Return a length, once there are so many bytes left."""
        self.flush()
        count = self.counted(length, hint, sight)
        self.require(f"(0 <= {count} <= {self.end} - {self.at})")
        return count

    def extent(self, kind: Sized, hint: str, sight: Sight) -> tuple[str, str]:
        """Write where a region ends; return the names of its end and of the byte behind it."""
        self.flush()
        match kind.extent:
            case Terminator(mark=mark):
                stop = self.named(
                    self.kernel("find_mark", "data", self.at, self.end, repr(mark)), f"{hint}_end"
                )
                self.require(f"({stop} >= 0)")
                return stop, f"{stop} + {len(mark)}"
            case Prefix() as prefix:
                size = self.prefix(prefix, f"{hint}_size")
                if prefix.includes:
                    size = self.named(f"{size} - {size_of(prefix.integer).lowest // 8}", f"{hint}_size")
                self.require(f"(0 <= {size} <= {self.end} - {self.at})")
            case length:
                size = self.length(length, f"{hint}_size", sight)
        stop = self.named(f"{self.at} + {size}", f"{hint}_end")
        return stop, stop

    def octets(
        self,
        kind: Bytes | Text | Padding,
        limits: tuple[Limit, ...],
        node: Node | None,
        slot: str,
        hint: str,
        sight: Sight,
    ) -> Value:
        """Write what reads bytes, text or padding of no fixed size."""
        inner = kind.inner if isinstance(kind, Text) else kind
        self.flush()
        if isinstance(inner, Sized):
            start, stop, behind = self.content(inner, hint, sight)
        else:
            if isinstance(inner.length, Rest):
                stop = self.named(self.end, f"{hint}_stop")
            else:
                stop = self.named(
                    f"{self.at} + {self.length(inner.length, f'{hint}_length', sight)}", f"{hint}_stop"
                )
            start, behind = self.named(self.at, f"{hint}_start"), stop
        self.writer.line(f"{self.at} = {behind}")
        if isinstance(kind, Padding):
            self.require(self.kernel("all_bytes", "data", start, stop, kind.pattern))
            return Value("", "")
        return self._held(kind, start, stop, limits, node, slot, hint)

    def content(self, kind: Sized, hint: str, sight: Sight) -> tuple[str, str, str]:
        """Write the extent of a region that holds bytes; return the names of both ends and what is behind."""
        stop, behind = self.extent(kind, hint, sight)
        start = self.named(self.at, f"{hint}_start")
        if kind.stripped:
            stop = self.named(self.kernel("stripped_end", "data", start, stop, kind.stripped), f"{hint}_end")
        return start, stop, behind

    def _held(
        self,
        kind: Bytes | Text,
        start: str,
        stop: str,
        limits: tuple[Limit, ...],
        node: Node | None,
        slot: str,
        hint: str,
    ) -> Value:
        """Write the checks and the store of bytes or text between two places."""
        length = f"({stop} - {start})"
        if isinstance(kind, Text):
            call = self.kernel("text_length", "data", start, stop, UNITS[kind.encoding], kind.closed)
            length = self.named(call, f"{hint}_characters") if self.checks else call
            self.require(f"({length} >= 0)")

        def equals(wanted: bytes | str) -> str:
            if isinstance(wanted, str):
                try:
                    assert isinstance(kind, Text)
                    wanted = wanted.encode(kind.encoding)
                except UnicodeEncodeError:
                    return "False"
            return self.kernel("same_bytes", "data", start, stop, repr(wanted))

        value = ColumnValue("", "", length, equals=equals)
        self.limit(value, limits)
        if node is not None:
            count = f"n{node.inside}"
            if self.stores:
                self.writer.line(self.kernel("copy_bytes", "data", start, stop, f"c{node.content}", count))
            self.writer.line(f"{count} += {stop} - {start}")
            if self.stores:
                self.writer.line(f"c{node.array}[{slot} + 1] = {count}")
        return value

    def _sized(self, kind: Sized, node: Node | None, slot: str, hint: str, sight: Sight) -> Value:
        inner = plain(kind.inner)
        if inner == Bytes(Rest()):
            self.flush()
            start, stop, behind = self.content(kind, hint, sight)
            self.writer.line(f"{self.at} = {behind}")
            assert isinstance(inner, Bytes)
            return self._held(inner, start, stop, limits_of(kind.inner), node, slot, hint)
        stop, behind = self.extent(kind, hint, sight)
        outer, outer_proven = self.end, self.proven
        self.end, self.proven = stop, self.task != "check"
        value = self.read(kind.inner, node, slot, hint, sight)
        self.flush()
        self.require(f"({self.at} == {self.end})")
        self.end, self.proven = outer, outer_proven
        assert behind == stop, "a terminator around more than bytes"
        return value

    def padded(self, kind: Padded, node: Node | None, slot: str, hint: str, sight: Sight) -> Value:
        """Write what reads a value and the padding behind it, which depends on its size."""
        self.flush()
        start = self.named(self.at, f"{hint}_start")
        value = self.read(kind.inner, node, slot, hint, sight)
        self.flush()
        if isinstance(kind.length, Multiple):
            text = f"-({self.at} - {start}) % {kind.length.of}"
        else:
            text = f"{self.counted(kind.length, f'{hint}_length', sight)} - ({self.at} - {start})"
        size = self.named(text, f"{hint}_padding")
        self.require(f"(0 <= {size} <= {self.end} - {self.at})")
        self.require(self.kernel("all_bytes", "data", self.at, f"{self.at} + {size}", kind.pattern))
        self.writer.line(f"{self.at} += {size}")
        return value

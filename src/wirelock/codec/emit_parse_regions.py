"""Layout -> the source that reads what has no fixed place: bytes, text, sized regions, padding."""

from __future__ import annotations

from wirelock.codec.emit import Sight, Value, limits_source, padding_size_source, padding_source
from wirelock.codec.emit_parse_runs import RunReader
from wirelock.layout.nodes import (
    Bytes,
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
from wirelock.layout.terms import Expression, Limit, Path


class RegionReader(RunReader):
    """Writes the lines that read values of no fixed size, and the regions around others."""

    def _value(self, kind: Type, hint: str, sight: Sight | None) -> Value:
        """Read one value of any type."""
        raise NotImplementedError

    def _limited(self, value: Value, limits: tuple[Limit, ...]) -> Value:
        if limits:
            self.writer.unless(limits_source(value.record, limits))
        return value

    def _octets(self, kind: Bytes | Padding, hint: str, sight: Sight) -> Value:
        self.flush()
        name = self.writer.name(hint)
        if isinstance(kind.length, Rest):
            self.writer.line(f"{name} = data[at:end]")
            self.writer.line("at = end")
            return Value(name, name, f"len({name})")
        count = self._length(kind.length, f"{hint}_length", sight)
        self.writer.line(f"{name} = data[at:at + {count}]")
        if isinstance(kind, Padding):
            self.writer.give_up_if(f"{name} != {padding_source(kind, count)}")
            name = "None"
        self.writer.line(f"at += {count}")
        return Value(name, name, f"len({name})")

    def _length(self, length: int | Expression, hint: str, sight: Sight) -> str:
        """Return a name or number for a length, once there are so many bytes left."""
        if isinstance(length, int):
            self.writer.give_up_if(f"end - at < {length}")
            return str(length)
        count = self._counted(length, hint, sight)
        self.writer.unless(f"0 <= {count} <= end - at")
        return count

    def _varint(self, signed: bool, hint: str) -> Value:
        writer, name = self.writer, self.writer.name(hint)
        writer.line(f"{name} = read_varint(data, at, end)")
        writer.give_up_if(f"{name} is None")
        writer.line(f"({name}, at) = {name}")
        if signed:
            writer.line(f"{name} = unzigzag({name})")
        return Value(name, name)

    def _prefix(self, prefix: Prefix, hint: str) -> str:
        """Return the name of a count or size that was just read."""
        if isinstance(prefix.integer, VarInt):
            self.flush()
            return self._varint(prefix.integer.zigzag, hint).text
        text = self.leaf(prefix.integer, hint).text
        self.flush()
        return text

    def _extent(self, kind: Sized, hint: str, sight: Sight) -> tuple[str, str]:
        """Write where a region ends; return the names of its end and of the byte behind it."""
        self.flush()
        writer, stop = self.writer, self.writer.name(f"{hint}_end")
        match kind.extent:
            case Terminator(mark=mark):
                writer.line(f"{stop} = find_mark(data, at, end, {mark!r})")
                writer.give_up_if(f"{stop} < 0")
                return stop, f"{stop} + {len(mark)}"
            case Prefix() as prefix:
                size = self._prefix(prefix, f"{hint}_size")
                if prefix.includes:
                    writer.line(f"{size} -= {size_of(prefix.integer).lowest // 8}")
                writer.unless(f"0 <= {size} <= end - at")
            case length:
                size = self._length(length, f"{hint}_size", sight)
        writer.line(f"{stop} = at + {size}")
        return stop, stop

    def _content(self, kind: Sized, hint: str, sight: Sight) -> str:
        """Return the name of the bytes in a region that holds nothing else."""
        stop, behind = self._extent(kind, hint, sight)
        name = self.writer.name(hint)
        self.writer.line(f"{name} = data[at:{stop}]")
        if kind.stripped:
            self.writer.line(f"{name} = strip_nuls({name}, {kind.stripped})")
        self.writer.line(f"at = {behind}")
        return name

    def _sized(self, kind: Sized, hint: str, sight: Sight) -> Value:
        writer = self.writer
        if plain(kind.inner) == Bytes(Rest()):
            name = self._content(kind, hint, sight)
            return self._limited(Value(name, name, f"len({name})"), limits_of(kind.inner))
        stop, behind = self._extent(kind, hint, sight)
        outer = writer.name("outer_end")
        writer.line(f"{outer}, end = end, {stop}")
        value = self._value(kind.inner, hint, sight)
        self.flush()
        writer.give_up_if("at != end")
        assert behind == stop, "a terminator around more than bytes"
        writer.line(f"end = {outer}")
        return value

    def _text(self, kind: Text, hint: str, sight: Sight) -> Value:
        inner = kind.inner
        if isinstance(inner, Sized):
            raw = self._content(inner, f"{hint}_bytes", sight)
        elif isinstance(inner.length, int):
            raw = self.leaf(inner, f"{hint}_bytes").text
            self.flush()
        else:
            raw = self._octets(inner, f"{hint}_bytes", sight).text
        name = self.writer.name(hint)
        self.writer.line(f'{name} = decode_text({raw}, "{kind.encoding}", {kind.closed})')
        self.writer.give_up_if(f"{name} is None")
        return Value(name, name, f"len({name})")

    def _padded(self, kind: Padded, hint: str, sight: Sight) -> Value:
        self.flush()
        writer = self.writer
        start, size = writer.name(f"{hint}_start"), writer.name(f"{hint}_padding")
        writer.line(f"{start} = at")
        value = self._value(kind.inner, hint, sight)
        self.flush()
        writer.line(f"{size} = {padding_size_source(kind, f'at - {start}', sight)}")
        writer.unless(f"0 <= {size} <= end - at")
        writer.give_up_if(f"data[at:at + {size}] != {bytes([kind.pattern])!r} * {size}")
        writer.line(f"at += {size}")
        return value

    def _counted(self, expression: Expression, hint: str, sight: Sight) -> str:
        """Return a name or number for a count."""
        text = sight.source(expression)
        if isinstance(expression, Path) and text.isidentifier():
            return text
        name = self.writer.name(hint)
        self.writer.line(f"{name} = {text}")
        return name

"""Layout -> the source that writes regions: what says where they end, what fills them, text and padding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wirelock.codec.emit import Constants, Sight, Value, limits_source, mentions, padding_size_source
from wirelock.codec.emit_build_runs import RunWriter
from wirelock.codec.template import Names
from wirelock.layout.nodes import (
    Bytes,
    Padded,
    Prefix,
    Rest,
    Sized,
    Terminator,
    Text,
    Type,
    limits_of,
    plain,
)
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Limit


class RegionWriter(RunWriter):
    """Writes the lines that build regions around values."""

    def __init__(self, constants: Constants, names: Names, spelled: dict[str, str], taken: set[str]) -> None:
        super().__init__(constants, names, spelled, taken)
        self.absent = ""

    def _write(self, kind: Type, value: Value, hint: str, sight: Sight | None) -> None:
        """Write one value of any type."""
        raise NotImplementedError

    @contextmanager
    def _region(self) -> Iterator[None]:
        """Write a region. Where an Optional in it is absent nothing may follow, to be read in its place."""
        writer, outer, header = self.writer, self.absent, len(self.writer.lines)
        self.absent = writer.name("absent")
        yield
        if mentions(writer.lines[header:], self.absent):
            writer.lines.insert(header, "    " * writer.depth + f"{self.absent} = -1")
            writer.give_up_if(f"{self.absent} >= 0 and any(parts[{self.absent}:])")
        self.absent = outer

    def _sized(self, kind: Sized, value: Value, hint: str, sight: Sight) -> None:
        writer = self.writer
        inner, body = plain(kind.inner), writer.name(f"{hint}_bytes")
        if inner == Bytes(Rest()):
            writer.give_up_if(f"type({value.text}) is not bytes")
            if limits := limits_of(kind.inner):
                writer.unless(limits_source(value.text, limits))
            writer.line(f"{body} = {value.text}")
        else:
            start = writer.name(f"{hint}_start")
            writer.line(f"{start} = len(parts)")
            self.appends += 2
            with self._region():
                self._write(kind.inner, value, hint, sight)
                self.flush()
            writer.line(f'{body} = b"".join(parts[{start}:])')
            writer.line(f"del parts[{start}:]")
        self._enclosed(kind, body, hint, sight)

    def _enclosed(self, kind: Sized, body: str, hint: str, sight: Sight) -> None:
        """Write bytes that fill a region, and what says where it ends."""
        writer = self.writer
        if kind.stripped:
            uneven = f"len({body}) % {kind.stripped} or " if kind.stripped > 1 else ""
            writer.give_up_if(f"{uneven}strip_nuls({body}, {kind.stripped}) != {body}")
        match kind.extent:
            case Terminator(mark=mark):
                uneven = f"len({body}) % {len(mark)} or " if len(mark) > 1 else ""
                writer.give_up_if(f"{uneven}find_mark({body}, 0, len({body}), {mark!r}) >= 0")
                self.append(f"{body} + {mark!r}")
            case Prefix() as prefix:
                own = size_of(prefix.integer).lowest // 8 if prefix.includes else 0
                size = writer.name(f"{hint}_size")
                writer.line(f"{size} = len({body}){f' + {own}' if own else ''}")
                self.prefix(prefix, size)
                self.append(body)
            case length:
                wanted = sight.operand(length)
                writer.give_up_if(f"len({body}) {'>' if kind.stripped else '!='} {wanted}")
                self.append(f"{body}.ljust({wanted}, b'\\0')" if kind.stripped else body)

    def _text(self, kind: Text, limits: tuple[Limit, ...], value: Value, hint: str, sight: Sight) -> None:
        writer, inner = self.writer, kind.inner
        writer.give_up_if(f"type({value.text}) is not str")
        if limits:
            writer.unless(limits_source(value.text, limits))
        body = writer.name(f"{hint}_bytes")
        writer.line(f'{body} = encode_text({value.text}, "{kind.encoding}", {kind.closed})')
        writer.give_up_if(f"{body} is None")
        if isinstance(inner, Sized):
            self._enclosed(inner, body, hint, sight)
            return
        if not isinstance(inner.length, Rest):
            writer.give_up_if(f"len({body}) != {sight.operand(inner.length)}")
        self.append(body)

    def _padded(self, kind: Padded, value: Value, hint: str, sight: Sight) -> None:
        writer = self.writer
        start, size = writer.name(f"{hint}_start"), writer.name(f"{hint}_padding")
        writer.line(f"{start} = len(parts)")
        self.appends += 2
        self._write(kind.inner, value, hint, sight)
        self.flush()
        inner = f"sum(map(len, parts[{start}:]))"
        writer.line(f"{size} = {padding_size_source(kind, inner, sight)}")
        writer.give_up_if(f"{size} < 0")
        self.append(f"{bytes([kind.pattern])!r} * {size}")

"""Layout -> the source of `parse_from(data, at, end)`, which returns (record, end of the record) or None.

Where all records are of one size it returns the record alone. The function only detects faults. Fields
become local variables, fixed stretches one unpack, records one call with a dict of proven values. Reads the
Layout and nothing else.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from wirelock.codec.code import summed
from wirelock.codec.emit import (
    Constants,
    Run,
    Sight,
    Value,
    covered,
    is_leaf,
    is_unrolled,
    limits_source,
    mentions,
    simple_element,
    wrapped,
)
from wirelock.codec.emit_parse_regions import RegionReader
from wirelock.codec.emit_parse_runs import targets
from wirelock.codec.emit_rules import emit_rule
from wirelock.codec.template import Names, template_of
from wirelock.codec.trail import limit_holds
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Field,
    Float,
    Framed,
    If,
    Layout,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Prefix,
    Rest,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Text,
    Type,
    Until,
    VarInt,
    limits_of,
    plain,
)
from wirelock.layout.sizes import padding_behind, size_of
from wirelock.layout.terms import Length, Limit, Path, Rule

PARSE_NAMES: Final = ("data", "at", "end")
"""What the function calls its arguments."""


class ParseEmitter(RegionReader):
    """Writes the parse function of one layout."""

    def __init__(self, constants: Constants, names: Names, taken: set[str]) -> None:
        super().__init__(constants, names, {*taken, *PARSE_NAMES})
        self.checks: list[tuple[Sight, Rule | Field]] = []

    def function(self, layout: Layout) -> list[str]:
        """Return the lines of the function."""
        writer = self.writer
        value = self._value(layout, "", None)
        self.flush()
        self._emit_checks()
        writer.line(f"return {value.record}" if size_of(layout).fixed else f"return {value.record}, at")
        return ["def parse_from(data, at, end):", *writer.lines]

    # -- values

    def _value(self, kind: Type, hint: str, sight: Sight | None) -> Value:
        """Read one value: leaves join the run, everything of no fixed place ends it."""
        inner = plain(kind)
        if is_leaf(kind):
            return self.leaf(kind, hint)
        match inner:
            case Layout():
                return self._layout(inner, hint, sight)
            case Nothing():
                return Value("None", "None")
            case Terminated():
                self.flush()
                self.writer.give_up_if("at != end")
                return Value("None", "None")
            case VarInt(zigzag=signed):
                self.flush()
                return self._limited(self._varint(signed, hint), limits_of(kind))
            case Padded() if (padding := padding_behind(inner)) is not None:
                value = self._value(inner.inner, hint, sight)
                self.leaf(Padding(padding, 8, inner.pattern), f"{hint}_padding")
                return value
            case Array() if is_unrolled(inner, self.run.bits % 8):
                assert isinstance(inner.count, int)
                items = [self._value(inner.element, f"{hint}_{i}", sight) for i in range(inner.count)]
                text = f"({', '.join(item.record for item in items)}{',' * (len(items) == 1)})"
                if not all(limit_holds(limit, range(inner.count)) for limit in limits_of(kind)):
                    self.writer.line("return None")
                return Value(text, text, str(inner.count))
            case Framed():
                found = {part: self._value(kind, part, sight) for part, kind in inner.labelled(hint)}
                return found[hint]
            case Sequence(types=types):
                parts = [self._value(part, f"{hint}_{i}", sight) for i, part in enumerate(types)]
                text = f"({', '.join(part.record for part in parts)}{',' * (len(parts) == 1)})"
                return Value(text, text)
        assert sight is not None
        match inner:
            case Checksum():
                return self._checksum(inner, hint, sight)
            case Opaque(size=size):
                return self._octets(Bytes(size), hint, sight)  # what it means is read from the bytes again
            case Select():
                return self._select(inner, hint, sight)
            case Array():
                return self._limited(self._array(inner, hint, sight), limits_of(kind))
            case Bytes() | Padding():
                return self._limited(self._octets(inner, hint, sight), limits_of(kind))
            case Text():
                return self._limited(self._text(inner, hint, sight), limits_of(kind))
            case Sized():
                return self._sized(inner, hint, sight)
            case Padded():
                return self._padded(inner, hint, sight)
            case Computed():
                return self._computed(inner, limits_of(kind), hint, sight)
            case If(condition=condition, type=then):
                return self._optional(sight.source(condition), then, hint, sight)
            case Optional(inner=there):
                return self._optional("at < end", there, hint, sight)
            case Switch():
                return self._switch(inner, hint, sight)
        raise AssertionError(f"no source for {inner}")

    def _computed(self, kind: Computed, limits: tuple[Limit, ...], hint: str, sight: Sight) -> Value:
        name = self.writer.name(hint)
        value = Value(name, name)
        text = f"{name} = {'bool' if kind.boolean else 'int'}({sight.source(kind.expression)})"

        def write() -> None:
            self.writer.line(text)
            self._limited(value, limits)

        self.waiting.append(write)
        if self.run.bits % 8 == 0 and not self.scattering:
            self.flush()
        return value

    def _layout(self, layout: Layout, hint: str, outer: Sight | None) -> Value:
        sight = outer.inside() if outer else Sight(None)
        if layout.order != "wire":
            self.flush()
            self.scattering = True
        sums = covered(layout)
        for field in layout.fields:
            name = f"{hint}_{field.label}" if hint else field.label
            if field.label in sums:
                self._covered(field, name, sight)
            else:
                sight.values[field.label] = self._value(field.type, name, sight)
            if not (field.derived is None or isinstance(field.type, Computed) or _counts(field, layout)):
                self.checks.append((sight, field))
        if layout.order != "wire":
            self.scattering = False
            self.scattered(layout)
        self.checks += [(sight, rule) for rule in layout.rules]
        held = [field for field in layout.fields if field.in_record]
        if template_of(self.names, layout.name).positional:
            arguments = ", ".join(sight.values[field.label].record for field in held)
        else:
            items = (f'"{field.label}": {sight.values[field.label].record}' for field in held)
            arguments = f"{{{', '.join(items)}}}"
        return Value("", f"new_{layout.name}({arguments})", fields=sight.values)

    def _covered(self, field: Field, hint: str, sight: Sight) -> None:
        """Read a field and note where it begins and ends."""
        self.flush()
        writer, span = self.writer, (self.writer.name(f"{hint}_start"), self.writer.name(f"{hint}_stop"))
        writer.line(f"{span[0]} = at")
        sight.values[field.label] = self._value(field.type, hint, sight)
        self.flush()
        writer.line(f"{span[1]} = at")
        sight.spans[field.label] = span

    def _checksum(self, kind: Checksum, hint: str, sight: Sight) -> Value:
        value = self.leaf(kind.type, hint)
        self.flush()
        start, stop = sight.spans[kind.covers]
        code = self.constants.call(partial(summed, kind))
        self.writer.give_up_if(f"{value.text} != {code}(data[{start}:{stop}])")
        return value

    def _emit_checks(self) -> None:
        """Write what can only be checked once all fields of the block are there."""
        checks, self.checks = self.checks, []
        for sight, check in checks:
            if isinstance(check, Rule):
                emit_rule(self.writer, sight, check.expression)
            else:
                assert check.derived is not None
                self.writer.give_up_if(f"{sight.values[check.label].text} != {sight.operand(check.derived)}")

    # -- what has no fixed place

    def _array(self, kind: Array, hint: str, sight: Sight) -> Value:
        element_size = size_of(kind.element)
        octets = element_size.lowest // 8
        match kind.count:
            case int(number):
                count = str(number)
                self.flush()
            case Prefix() as prefix:
                count = self._prefix(prefix, f"{hint}_count")
            case Rest() | Until():
                count = ""
                self.flush()
                if isinstance(kind.count, Rest) and element_size.fixed:
                    self.writer.give_up_if(f"(end - at) % {octets}")
                    count = self.writer.name(f"{hint}_count")
                    self.writer.line(f"{count} = (end - at) // {octets}")
            case expression:
                self.flush()
                count = self._counted(expression, f"{hint}_count", sight)
        name = self.writer.name(hint)
        if count and octets:
            self.writer.unless(f"0 <= {count} <= (end - at) // {octets}")
        elif count and not isinstance(kind.count, int):
            self.writer.give_up_if(f"{count} < 0")
        code = simple_element(kind.element)
        if code and count:
            self._simple_array(kind, name, count, code)
        else:
            self._loop(kind, name, count, sight)
        return Value(name, name, f"len({name})")

    def _simple_array(self, kind: Array, name: str, count: str, code: str) -> None:
        element = plain(kind.element)
        if count.isdigit():
            struct = self.constants.struct(f"{code[0]}{count}{code[1]}")
            self.writer.line(f"{name} = {struct}.unpack_from(data, at)")
        else:
            self.writer.line(f'{name} = unpack_from(f"{code[0]}{{{count}:d}}{code[1]}", data, at)')
        if isinstance(element, Float):
            self.writer.line(f'{name} = read_nans({name}, data, at, {element.bits}, "{element.order}")')
            self.writer.give_up_if(f"{name} is None")
        limits = limits_of(kind.element)
        if limits:
            item = self.writer.name("item")
            self.writer.line(f"for {item} in {name}:")
            with self.writer.indented():
                self.writer.unless(limits_source(item, limits))
        self.writer.line(f"at += {count} * {size_of(element).lowest // 8}")

    def _loop(self, kind: Array, name: str, count: str, sight: Sight) -> None:
        """An array of records or of values that need work: one pass of the body an element."""
        writer = self.writer
        writer.line(f"{name} = []")
        header = len(writer.lines)
        outer_index, sight.index = sight.index, writer.name("index")
        with writer.indented():
            outer, self.checks = self.checks, []
            value = self._value(kind.element, "item", sight)
            pieces = self.named(self.run.pieces()) if len(writer.lines) == header else []
            size = self.run.octets
            fused = len(pieces) == 1 and size > 0 and count != ""
            if fused:
                self.run = Run()
                struct = self.constants.struct(pieces[0].format)
                self.convert(pieces[0])
                self.release()
            else:
                self.flush_named(pieces)
            self._emit_checks()
            self.checks = outer
            writer.line(f"{name}.append({value.record})")
            if fused:
                writer.line(f"at += {size}")
            if isinstance(kind.count, Until):
                inside = Sight(sight, {"obj_": value}, sight.index)
                writer.line(f"if {inside.source(kind.count.condition)}:")
                writer.line("    break")
        index, sight.index = sight.index, outer_index
        counted = mentions(writer.lines[header:], index)
        before = []
        if fused:
            names, items = targets(pieces[0]), f"{struct}.iter_unpack(data[at:at + {count} * {size}])"
            text = f"for {index}, {names} in enumerate({items}):" if counted else f"for {names} in {items}:"
        elif count:
            text = f"for {index if counted else '_'} in range({count}):"
        else:
            text = "while True:" if isinstance(kind.count, Until) else "while at < end:"
            if counted:
                before = [f"{index} = -1"]
                writer.lines.insert(header, "    " * (writer.depth + 1) + f"{index} += 1")
        indent = "    " * writer.depth
        writer.lines[header:header] = [indent + line for line in before] + wrapped(indent + text)
        writer.line(f"{name} = tuple({name})")

    def _block(self, kind: Type, hint: str, sight: Sight, target: str) -> None:
        """A value in a branch of its own: everything about it is written there."""
        with self.writer.indented():
            outer, self.checks = self.checks, []
            value = self._value(kind, hint, sight)
            self.flush()
            self._emit_checks()
            self.checks = outer
            self.writer.line(f"{target} = {value.record}")

    def _optional(self, condition: str, then: Type, hint: str, sight: Sight) -> Value:
        self.flush()
        target = self.writer.name(hint)
        self.writer.line(f"if {condition}:")
        self._block(then, hint, sight, target)
        self.writer.line("else:")
        self.writer.line(f"    {target} = None")
        return Value(target, target)

    def _select(self, kind: Select, hint: str, sight: Sight) -> Value:
        self.flush()
        target = self.writer.name(hint)
        word = "if"
        for number, (start, layout) in enumerate(kind.cases):
            self.writer.line(f"{word} data.startswith({start!r}, at, end):")
            self._block(layout, f"{hint}_{number}", sight, target)
            word = "elif"
        self.writer.line("else:")
        self.writer.line("    return None")
        return Value(target, target)

    def _switch(self, kind: Switch, hint: str, sight: Sight) -> Value:
        self.flush()
        target = self.writer.name(hint)
        key = self._counted(kind.key, f"{hint}_key", sight)
        word = "if"
        for case, then in kind.cases:
            self.writer.line(f"{word} {key} == {case!r}:")
            self._block(then, f"{hint}_{case!r}", sight, target)
            word = "elif"
        self.writer.line("else:")
        if kind.default is None:
            self.writer.line("    return None")
        else:
            self._block(kind.default, f"{hint}_default", sight, target)
        return Value(target, target)


def _counts(field: Field, layout: Layout) -> bool:
    """Whether a derived field is read as the very count or length that it must equal."""
    if not isinstance(field.derived, Length) or field.derived.path.up or len(field.derived.path.names) > 1:
        return False
    for other in layout.fields:
        if other.label == field.derived.path.names[0]:
            match plain(other.type):
                case Array(count=Path(up=0, names=(name,))) | Bytes(length=Path(up=0, names=(name,))):
                    return name == field.label
    return False

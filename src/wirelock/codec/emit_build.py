"""Layout -> the source of `build(record)`, which returns the bytes of a record or None.

The function checks the record again while it packs it, and only detects faults: wrong types raise
TypeError or struct.error, or return None. Reads the Layout and nothing else.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from wirelock.codec.code import opaque_bytes, summing
from wirelock.codec.emit import (
    Constants,
    Sight,
    Value,
    covered,
    is_leaf,
    is_unrolled,
    limits_source,
    mentions,
    padding_source,
    simple_element,
)
from wirelock.codec.emit_build_regions import RegionWriter
from wirelock.codec.emit_rules import emit_rule
from wirelock.codec.template import Names
from wirelock.errors import SchemaError
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Field,
    Flags,
    Float,
    Framed,
    If,
    Layout,
    Mapping,
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
    checksum_in,
    has_part,
    limits_of,
    plain,
    valued,
)
from wirelock.layout.sizes import padding_behind
from wirelock.layout.terms import Expression, Limit

BUILD_NAMES: Final = ("record", "parts", "packed", "given")
"""What the function calls its argument and its own variables."""


class BuildEmitter(RegionWriter):
    """Writes the build function of one layout."""

    def __init__(self, constants: Constants, names: Names, spelled: dict[str, str], taken: set[str]) -> None:
        super().__init__(constants, names, spelled, {*taken, *BUILD_NAMES})

    def function(self, layout: Layout) -> list[str]:
        """Return the lines of the function."""
        lines = self.writer.lines
        value = self._read(layout, "record", "", None)
        with self._region():
            self._write(layout, value, "", None)
            self.flush()
        arguments = "record, given=True" if has_part(layout, Checksum) else "record"
        last = "    parts.append("
        if self.appends == 1 and lines and lines[-1].startswith(last):
            lines[-1] = f"    return {lines[-1].removeprefix(last)[:-1]}"
            return [f"def build({arguments}):", *lines]
        return [f"def build({arguments}):", "    parts = []", *lines, '    return b"".join(parts)']

    # -- reading attributes

    def _read(self, layout: Layout, name: str, hint: str, outer: Sight | None) -> Value:
        """Bind a record's attributes to variables, compute what it has not, and check what they imply."""
        writer = self.writer
        bound: list[tuple[Layout, Sight, str]] = []
        value = self._bind(layout, name, hint, outer, bound)
        waiting = [(sight, field, at) for inner, sight, at in bound for field in inner.computed]
        while waiting:
            ready = [entry for entry in waiting if entry[0].sees(entry[1].derived)]
            if not ready:
                labels = ", ".join(field.label for _, field, _ in waiting)
                raise SchemaError(layout.name, f"{labels} are computed from each other")
            for sight, field, at in ready:
                assert field.derived is not None
                target = writer.name(f"{at}_{field.label}" if at else field.label)
                writer.line(f"{target} = {sight.source(field.derived)}")
                sight.values[field.label] = Value(target, target, trusted=True)
            waiting = [entry for entry in waiting if entry not in ready]
        for inner, sight, _ in bound:
            for field in inner.fields:
                if field.derived is not None and field.in_record:
                    text = sight.operand(field.derived)
                    writer.give_up_if(f"{sight.values[field.label].text} != {text}")
            for rule in inner.rules:
                emit_rule(writer, sight, rule.expression)
        return value

    def _bind(
        self,
        layout: Layout,
        name: str,
        hint: str,
        outer: Sight | None,
        bound: list[tuple[Layout, Sight, str]],
    ) -> Value:
        writer, sight = self.writer, outer.inside() if outer else Sight(None)
        writer.give_up_if(f"type({name}) is not {self.spelled[layout.name]}")
        # A model looks for its attributes in Python's own dictionaries first; a field is always in this one.
        held = writer.name(f"{hint}_held" if hint else "held")
        writer.line(f"{held} = {name}.__dict__")
        for field in layout.fields:
            kind = valued(field.type)
            if not field.in_record:
                if field.derived is None:
                    sight.values[field.label] = _absent(kind)
                continue
            target = writer.name(f"{hint}_{field.label}" if hint else field.label)
            writer.line(f'{target} = {held}["{field.label}"]')
            if isinstance(kind, Layout):
                sight.values[field.label] = self._bind(kind, target, target, sight, bound)
            else:
                sight.values[field.label] = self._plain(kind, target)
        bound.append((layout, sight, hint))
        return Value(name, name, fields=sight.values)

    def _flags(self, kind: Flags, name: str) -> Value:
        self.writer.give_up_if(f"type({name}) is not {self.spelled[kind.name]}")
        raw = self.writer.name(f"{name}_bits")
        # A call less, unless the author's class gives the sign a meaning of its own.
        signed = getattr(self.names[kind.name], "__pos__", None) is not int.__pos__
        self.writer.line(f"{raw} = int({name})" if signed else f"{raw} = +{name}")
        return Value(raw, raw)

    def _plain(self, kind: Type, name: str) -> Value:
        """Return the value behind a variable that holds no record; as a number where there is one."""
        if isinstance(kind, Flags):
            return self._flags(kind, name)
        if isinstance(kind, Mapping):
            return self._mapping(kind, name)
        return Value(name, name, f"len({name})")

    def _mapping(self, kind: Mapping, name: str) -> Value:
        wanted = type(kind.members[0][0]).__name__
        self.writer.give_up_if(f"type({name}) is not {wanted}")
        raw = self.writer.name(f"{name}_raw")
        self.writer.line(f"{raw} = {self.constants.table(dict(kind.members))}.get({name})")
        self.writer.give_up_if(f"{raw} is None")
        return Value(raw, raw, trusted=True)

    # -- writing values

    def _write(self, kind: Type, value: Value, hint: str, sight: Sight | None) -> None:
        """Write one value: leaves join the run, everything of no fixed place ends it."""
        inner, limits = plain(kind), limits_of(kind)
        if is_leaf(kind):
            self.run.add(inner, value, limits, hint)
            return
        match inner:
            case Layout():
                own = Sight(sight, value.fields, sight.index if sight else "")
                if inner.order != "wire":
                    self.flush()
                sums = covered(inner)
                for field in inner.fields:
                    name = f"{hint}_{field.label}" if hint else field.label
                    if field.label in sums:
                        own.spans[field.label] = self._covered(field, own.values[field.label], name, own)
                    else:
                        self._write(field.type, own.values[field.label], name, own)
                if inner.order != "wire":
                    self.scattered(inner)
            case Framed():
                for part, inside in inner.labelled(hint):
                    self._write(inside, value if part == hint else _absent(valued(inside)), part, sight)
            case Sequence(types=types):
                self._sequence(types, value, hint, sight)
            case Nothing() | Terminated():
                if value.text != "None":
                    self.writer.give_up_if(f"{value.text} is not None")
            case Computed(expression=expression, boolean=boolean):
                if limits:
                    self.writer.unless(limits_source(value.text, limits))
                if not value.trusted:
                    assert sight is not None
                    wanted = "bool" if boolean else "int"
                    self.writer.give_up_if(
                        f"type({value.text}) is not {wanted} or {value.text} != {sight.operand(expression)}"
                    )
            case Padded() if (padding := padding_behind(inner)) is not None:
                self._write(inner.inner, value, hint, sight)
                self.run.add(Padding(padding, 8, inner.pattern), Value("None", "None"), (), f"{hint}_padding")
            case Array() if is_unrolled(inner, self.run.bits % 8):
                self._unrolled(inner, value, hint, sight)
            case _:
                assert sight is not None
                self.flush()
                self._dynamic(inner, limits, value, hint, sight)

    def _dynamic(self, kind: Type, limits: tuple[Limit, ...], value: Value, hint: str, sight: Sight) -> None:
        writer = self.writer
        match kind:
            case Bytes(length=length):
                writer.give_up_if(f"type({value.text}) is not bytes")
                if not isinstance(length, Rest):
                    writer.give_up_if(f"len({value.text}) != {sight.operand(length)}")
                if limits:
                    writer.unless(limits_source(value.text, limits))
                self.append(value.text)
            case Text():
                self._text(kind, limits, value, hint, sight)
            case VarInt():
                writer.give_up_if(f"type({value.text}) is not int")
                if limits:
                    writer.unless(limits_source(value.text, limits))
                self.varint(kind, value.text)
            case Checksum():
                self._checksum(kind, value, hint, sight)
            case Opaque():
                body = writer.name(f"{hint}_bytes")
                writer.line(f"{body} = {self.constants.call(partial(opaque_bytes, kind))}({value.text})")
                writer.give_up_if(f"{body} is None")
                self.append(body)
            case Select():
                self._select(kind, value, hint, sight)
            case Sized():
                self._sized(kind, value, hint, sight)
            case Padded():
                self._padded(kind, value, hint, sight)
            case Optional(inner=there):
                writer.line(f"if {value.text} is not None:")
                self._block(there, value, hint, sight)
                writer.line(f"elif {self.absent} < 0:")
                writer.line(f"    {self.absent} = len(parts)")
                self.appends += 2
            case Padding(length=length):
                assert not isinstance(length, int | Rest)
                count = writer.name(f"{hint}_length")
                writer.line(f"{count} = {sight.source(length)}")
                writer.give_up_if(f"{value.text} is not None or {count} < 0")
                self.append(padding_source(kind, count))
            case Array():
                self._array(kind, limits, value, hint, sight)
            case If(condition=condition, type=then):
                writer.line(f"if {sight.source(condition)}:")
                self._block(then, value, hint, sight)
                if value.text != "None":
                    given = "given and " if checksum_in(then) else ""
                    writer.line(f"elif {given}{value.text} is not None:")
                    writer.line("    return None")
            case Switch():
                self._switch(kind, value, hint, sight)
            case _:
                raise AssertionError(f"no source for {kind}")

    def _covered(self, field: Field, value: Value, hint: str, sight: Sight) -> tuple[str, str]:
        """Write a field; return the names of the numbers of its first part and of the one behind it."""
        writer, start, stop = self.writer, self.writer.name(f"{hint}_start"), self.writer.name(f"{hint}_stop")
        self.flush()
        writer.line(f"{start} = len(parts)")
        self._write(field.type, value, hint, sight)
        self.flush()
        writer.line(f"{stop} = len(parts)")
        self.appends += 2
        return start, stop

    def _checksum(self, kind: Checksum, value: Value, hint: str, sight: Sight) -> None:
        """Write the checksum of what was written; one that the record states must be the same."""
        writer, found = self.writer, self.writer.name(f"{hint}_sum")
        start, stop = sight.spans[kind.covers]
        code = self.constants.call(partial(summing, kind))
        writer.line(f'{found} = {code}(b"".join(parts[{start}:{stop}]))')
        if value.text != "None":
            wanted = "bytes" if isinstance(kind.type, Bytes) else "int"
            writer.give_up_if(f"given and (type({value.text}) is not {wanted} or {value.text} != {found})")
        self.run.add(kind.type, Value(found, found, trusted=True), (), hint)

    def _sequence(self, types: tuple[Type, ...], value: Value, hint: str, sight: Sight | None) -> None:
        writer = self.writer
        writer.give_up_if(f"type({value.text}) is not tuple or len({value.text}) != {len(types)}")
        names = [writer.name(f"{hint}_{i}") for i in range(len(types))]
        if names:
            writer.line(f"({', '.join(names)}{',' * (len(names) == 1)}) = {value.text}")
        for part, name in zip(types, names, strict=True):
            self._write(part, self._element(part, name, sight), name, sight)

    def _select(self, kind: Select, value: Value, hint: str, sight: Sight) -> None:
        writer, word = self.writer, "if"
        for number, (_, layout) in enumerate(kind.cases):
            writer.line(f"{word} type({value.text}) is {self.spelled[layout.name]}:")
            self._block(layout, value, f"{hint}_{number}", sight)
            word = "elif"
        writer.line("else:")
        writer.line("    return None")

    def _unrolled(self, kind: Array, value: Value, hint: str, sight: Sight | None) -> None:
        writer, number = self.writer, kind.count
        assert isinstance(number, int)
        writer.give_up_if(f"type({value.text}) is not tuple or len({value.text}) != {number}")
        names = [writer.name(f"{hint}_{i}") for i in range(number)]
        if names:
            writer.line(f"({', '.join(names)}{',' * (len(names) == 1)}) = {value.text}")
        for name in names:
            self._write(kind.element, self._element(kind.element, name, sight), name, sight)

    def _element(self, kind: Type, name: str, sight: Sight | None) -> Value:
        """Return the value behind a variable that holds an element, case or optional value."""
        inner = valued(kind)
        if name == "None":
            return _absent(inner)
        if isinstance(inner, Layout):
            return self._read(inner, name, name, sight)
        return self._plain(inner, name)

    def _block(
        self, kind: Type, value: Value, hint: str, sight: Sight, ends: tuple[Expression, str] | None = None
    ) -> None:
        """A value in a branch of its own: everything about it is written there.

        With `ends`, a condition over the element must hold exactly where the text says so.
        """
        with self.writer.indented():
            before = len(self.writer.lines)
            element = self._element(kind, value.text, sight)
            self._write(kind, element, hint, sight)
            self.flush()
            if ends is not None:
                inside = Sight(sight, {"obj_": element}, sight.index)
                self.writer.give_up_if(f"bool({inside.source(ends[0])}) is not ({ends[1]})")
            if len(self.writer.lines) == before:
                self.writer.line("pass")

    def _switch(self, kind: Switch, value: Value, hint: str, sight: Sight) -> None:
        writer = self.writer
        key = writer.name(f"{hint}_key")
        writer.line(f"{key} = {sight.source(kind.key)}")
        word = "if"
        for case, then in kind.cases:
            writer.line(f"{word} {key} == {case!r}:")
            self._block(then, value, f"{hint}_{case!r}", sight)
            word = "elif"
        writer.line("else:")
        if kind.default is None:
            writer.line("    return None")
        else:
            self._block(kind.default, value, f"{hint}_default", sight)

    def _array(self, kind: Array, limits: tuple[Limit, ...], value: Value, hint: str, sight: Sight) -> None:
        writer, items = self.writer, value.text
        writer.give_up_if(f"type({items}) is not tuple")
        if limits:
            writer.unless(limits_source(items, limits))
        match kind.count:
            case Prefix() as prefix:
                count = writer.name(f"{hint}_count")
                writer.line(f"{count} = len({items})")
                self.prefix(prefix, count)
            case int(number):
                writer.give_up_if(f"len({items}) != {number}")
            case Until():
                writer.give_up_if(f"not {items}")
            case Rest():
                pass
            case expression:
                writer.give_up_if(f"len({items}) != {sight.operand(expression)}")
        code = simple_element(kind.element)
        if code and not isinstance(kind.count, Until):
            self._simple_array(kind, items, code)
            return
        item, index, header = writer.name("item"), writer.name("index"), len(writer.lines)
        outer, sight.index = sight.index, index
        ends = (
            (kind.count.condition, f"{index} == len({items}) - 1") if isinstance(kind.count, Until) else None
        )
        self._block(kind.element, Value(item, item), item, sight, ends)
        sight.index = outer
        counted = mentions(writer.lines[header:], index)
        text = f"for {index}, {item} in enumerate({items}):" if counted else f"for {item} in {items}:"
        writer.lines.insert(header, "    " * writer.depth + text)

    def _simple_array(self, kind: Array, items: str, code: str) -> None:
        writer, element = self.writer, plain(kind.element)
        limits = limits_of(kind.element)
        wanted = "float" if isinstance(element, Float) else "int"
        writer.give_up_if(f"not {{*map(type, {items})}} <= {{{wanted}}}")
        if limits:
            item = writer.name("item")
            writer.line(f"for {item} in {items}:")
            with writer.indented():
                writer.unless(limits_source(item, limits))
        if isinstance(element, Float):
            packed = writer.name("packed")
            writer.line(f'{packed} = pack_floats({items}, {element.bits}, "{element.order}")')
            writer.give_up_if(f"{packed} is None")
            self.append(packed)
        else:
            self.append(f'pack(f"{code[0]}{{len({items})}}{code[1]}", *{items})')


def _absent(kind: Type) -> Value:
    """Return the value of a field that the record has not: a constant, or nothing."""
    if not isinstance(kind, Constant):
        return Value("None", "None")
    text = repr(kind.value)
    return Value(text, text, str(len(kind.value)) if isinstance(kind.value, bytes) else "")

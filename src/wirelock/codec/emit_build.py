"""Layout -> the source of `build(record)`, which returns the bytes of a record or None.

The function checks the record again while it packs it, and only detects faults: wrong types raise
TypeError or struct.error, or return None. Reads the Layout and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wirelock.codec.emit import (
    Constants,
    Group,
    Piece,
    Run,
    Sight,
    Slot,
    Value,
    Writer,
    emit_rule,
    is_leaf,
    is_unrolled,
    limits_source,
    padding_bits,
    padding_source,
    simple_element,
)
from wirelock.errors import SchemaError
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Limit,
    Nothing,
    Padding,
    Prefix,
    Switch,
    Type,
    limits_of,
    plain,
)

BUILD_NAMES: Final = ("record", "parts", "packed")
"""What the function calls its argument and its own variables."""


class BuildEmitter:
    """Writes the build function of one layout."""

    def __init__(self, constants: Constants, spelled: Mapping[str, str], taken: set[str]) -> None:
        self.constants = constants
        self.spelled = spelled
        self.writer = Writer({*taken, *BUILD_NAMES})
        self.run = Run()
        self.appends = 0

    def function(self, layout: Layout) -> list[str]:
        """Return the lines of the function."""
        lines = self.writer.lines
        value = self._read(layout, "record", "", None)
        self._write(layout, value, "", None)
        self._flush()
        last = "    parts.append("
        if self.appends == 1 and lines and lines[-1].startswith(last):
            lines[-1] = f"    return {lines[-1].removeprefix(last)[:-1]}"
            return ["def build(record):", *lines]
        return ["def build(record):", "    parts = []", *lines, '    return b"".join(parts)']

    def _append(self, text: str) -> None:
        """Write the line that adds bytes to the record's."""
        self.appends += 1
        self.writer.line(f"parts.append({text})")

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
        writer, sight = self.writer, Sight(outer)
        writer.give_up_if(f"type({name}) is not {self.spelled[layout.name]}")
        for field in layout.fields:
            kind = plain(field.type)
            if not field.in_record:
                if field.derived is None:
                    sight.values[field.label] = _absent(kind)
                continue
            target = writer.name(f"{hint}_{field.label}" if hint else field.label)
            writer.line(f"{target} = {name}.{field.label}")
            if isinstance(kind, Layout):
                sight.values[field.label] = self._bind(kind, target, target, sight, bound)
            elif isinstance(kind, Flags):
                sight.values[field.label] = self._flags(kind, target)
            else:
                sight.values[field.label] = Value(target, target, f"len({target})")
        bound.append((layout, sight, hint))
        return Value(name, name, fields=sight.values)

    def _flags(self, kind: Flags, name: str) -> Value:
        self.writer.give_up_if(f"type({name}) is not {self.spelled[kind.name]}")
        raw = self.writer.name(f"{name}_bits")
        self.writer.line(f"{raw} = int({name})")
        return Value(raw, raw)

    # -- writing values

    def _write(self, kind: Type, value: Value, hint: str, sight: Sight | None) -> None:
        """Write one value: leaves join the run, everything of no fixed place ends it."""
        inner, limits = plain(kind), limits_of(kind)
        if is_leaf(kind):
            self.run.add(inner, value, limits, hint)
            return
        match inner:
            case Layout():
                own = Sight(sight, value.fields)
                for field in inner.fields:
                    name = f"{hint}_{field.label}" if hint else field.label
                    self._write(field.type, own.values[field.label], name, own)
            case Nothing():
                if value.text != "None":
                    self.writer.give_up_if(f"{value.text} is not None")
            case Array() if is_unrolled(inner, self.run.bits % 8):
                self._unrolled(inner, value, hint, sight)
            case _:
                assert sight is not None
                self._flush()
                self._dynamic(inner, limits, value, hint, sight)

    def _dynamic(self, kind: Type, limits: tuple[Limit, ...], value: Value, hint: str, sight: Sight) -> None:
        writer = self.writer
        match kind:
            case Bytes(length=length):
                assert not isinstance(length, int)
                writer.give_up_if(f"type({value.text}) is not bytes")
                writer.give_up_if(f"len({value.text}) != {sight.operand(length)}")
                if limits:
                    writer.unless(limits_source(value.text, limits))
                self._append(value.text)
            case Padding(length=length):
                assert not isinstance(length, int)
                count = writer.name(f"{hint}_length")
                writer.line(f"{count} = {sight.source(length)}")
                writer.give_up_if(f"{value.text} is not None or {count} < 0")
                self._append(padding_source(kind, count))
            case Array():
                self._array(kind, limits, value, hint, sight)
            case If(condition=condition, type=then):
                writer.line(f"if {sight.source(condition)}:")
                self._block(then, value, hint, sight)
                writer.line(f"elif {value.text} is not None:")
                writer.line("    return None")
            case Switch():
                self._switch(kind, value, hint, sight)
            case _:
                raise AssertionError(f"no source for {kind}")

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
        inner = plain(kind)
        if isinstance(inner, Layout):
            return self._read(inner, name, name, sight)
        if isinstance(inner, Flags):
            return self._flags(inner, name)
        return Value(name, name, f"len({name})")

    def _block(self, kind: Type, value: Value, hint: str, sight: Sight) -> None:
        """A value in a branch of its own: everything about it is written there."""
        with self.writer.indented():
            before = len(self.writer.lines)
            self._write(kind, self._element(kind, value.text, sight), hint, sight)
            self._flush()
            if len(self.writer.lines) == before:
                self.writer.line("pass")

    def _switch(self, kind: Switch, value: Value, hint: str, sight: Sight) -> None:
        writer = self.writer
        key = writer.name(f"{hint}_key")
        writer.line(f"{key} = {sight.source(kind.key)}")
        word = "if"
        for case, then in kind.cases:
            writer.line(f"{word} {key} == {case}:")
            self._block(then, value, f"{hint}_{case}", sight)
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
            case Prefix(integer=integer):
                count = writer.name(f"{hint}_count")
                writer.line(f"{count} = len({items})")
                self.run.add(integer, Value(count, count, trusted=True), (), count)
                self._flush()
            case int(number):
                writer.give_up_if(f"len({items}) != {number}")
            case expression:
                writer.give_up_if(f"len({items}) != {sight.operand(expression)}")
        code = simple_element(kind.element)
        if code:
            self._simple_array(kind, items, code)
            return
        item = writer.name("item")
        writer.line(f"for {item} in {items}:")
        self._block(kind.element, Value(item, item), item, sight)

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
            self._append(packed)
        else:
            self._append(f'pack(f"{code[0]}{{len({items})}}{code[1]}", *{items})')

    # -- runs

    def _flush(self) -> None:
        """Write the run so far: checks of its values, then one pack a piece."""
        run, self.run = self.run, Run()
        if not run.slots:
            return
        self._check_types(run)
        for slot in run.slots:
            self._check(slot)
        for piece in run.pieces():
            self._pack(piece)

    def _check_types(self, run: Run) -> None:
        wanted: dict[str, list[str]] = {}
        for slot in run.slots:
            match slot.kind:
                case _ if slot.value.trusted:
                    continue
                case Integer():
                    wanted.setdefault("int", []).append(slot.value.text)
                case Flag():
                    wanted.setdefault("bool", []).append(slot.value.text)
                case Float():
                    wanted.setdefault("float", []).append(slot.value.text)
                case Bytes():
                    wanted.setdefault("bytes", []).append(slot.value.text)
                case Enum(name=name):
                    wanted.setdefault(self.spelled[name], []).append(slot.value.text)
        for kind_name, values in wanted.items():
            chain = " is ".join(f"type({value})" for value in values)
            self.writer.give_up_if(
                f"type({values[0]}) is not {kind_name}"
                if len(values) == 1
                else f"not ({chain} is {kind_name})"
            )

    def _check(self, slot: Slot) -> None:
        """What packing alone would not find."""
        writer, text = self.writer, slot.value.text
        match slot.kind:
            case Constant(value=value):
                if text != repr(value):
                    writer.give_up_if(f"type({text}) is not {type(value).__name__} or {text} != {value!r}")
            case Padding() if text != "None":
                writer.give_up_if(f"{text} is not None")
            case Bytes(length=length):
                writer.give_up_if(f"len({text}) != {length}")
            case Flags(mask=mask):
                writer.give_up_if(f"not 0 <= {text} or {text} & ~{mask:#x}")
            case Integer() as kind if slot.bit % 8 or slot.bits % 8:
                if not {"ge", "le"} <= {limit.kind for limit in slot.limits}:
                    writer.unless(f"{kind.lowest} <= {text} <= {kind.highest}")
        if slot.limits:
            writer.unless(limits_source(text, slot.limits))

    def _pack(self, piece: Piece) -> None:
        writer = self.writer
        struct = self.constants.struct(piece.format)
        call = f"{struct}.pack({', '.join(self._argument(group) for group in piece.groups)})"
        floats = [
            (group, slot)
            for group in piece.groups
            for slot in group.slots
            if isinstance(slot.kind, Float) and not group.split
        ]
        if not floats:
            self._append(call)
            return
        packed = writer.name("packed")
        writer.line(f"{packed} = {call}")
        checked = {id(slot): writer.name(f"{slot.hint}_written") for _, slot in floats}
        targets = [checked.get(id(group.slots[0]), "_") for group in piece.groups]
        writer.line(f"({', '.join(targets)}{',' * (len(targets) == 1)}) = {struct}.unpack({packed})")
        for group, slot in floats:
            assert isinstance(slot.kind, Float)
            text = slot.value.text
            writer.line(f"if {checked[id(slot)]} != {text}:")
            place = f'{group.byte - piece.byte}, {slot.kind.bits}, "{slot.kind.order}"'
            writer.line(f"    {packed} = write_nan({packed}, {text}, {place})")
            with writer.indented():
                writer.give_up_if(f"{packed} is None")
        self._append(packed)

    def _argument(self, group: Group) -> str:
        """Return what goes into a format for one group."""
        if not group.split:
            return self._whole(group.slots[0])
        parts = []
        for slot in group.slots:
            raw, shift = self._raw(slot), group.shift(slot)
            if raw != "0":
                parts.append(f"{raw} << {shift}" if shift else raw)
        joined = _either(parts) or "0"
        return joined if group.octets == 1 else f'({joined}).to_bytes({group.octets}, "big")'

    def _whole(self, slot: Slot) -> str:
        text = slot.value.text
        match slot.kind:
            case Integer() | Enum() | Flags() as kind:
                integer = kind if isinstance(kind, Integer) else kind.integer
                return text if integer.bits in (8, 16, 32, 64) else _odd(text, integer)
            case Constant(type=Integer() as integer, value=value):
                return repr(value) if integer.bits in (8, 16, 32, 64) else _odd(f"({value!r})", integer)
            case Constant(value=value):
                return repr(value)
            case Padding() as padding:
                return padding_source(padding)
        return text

    def _raw(self, slot: Slot) -> str:
        """Return the bits of a value below a byte as an unsigned integer, most significant first."""
        kind, text, bits = slot.kind, slot.value.text, slot.bits
        inner = kind.type if isinstance(kind, Constant) else kind
        inner = inner.integer if isinstance(inner, Enum | Flags) else inner
        if isinstance(kind, Constant):
            text = repr(kind.value)
        match inner:
            case Padding() as padding:
                value = padding_bits(padding)
                return f"{value:#x}" if value else "0"
            case Float():
                written = self.writer.name(f"{slot.hint}_raw")
                self.writer.line(f"{written} = exact_float_bits({text}, {bits})")
                self.writer.give_up_if(f"{written} is None")
                text = written
            case Bytes():
                return f'from_bytes({text}, "big")'
            case Integer(signed=True):
                text = f"({text} & {(1 << bits) - 1:#x})"
        if isinstance(inner, Integer | Float) and inner.order == "little":
            return f'from_bytes(({text}).to_bytes({bits // 8}, "little"), "big")'
        return text


def _either(parts: list[str]) -> str:
    """Join parts of an integer with `|`; many in a tree, since Python compiles no deep chain of operators."""
    if len(parts) <= 16:
        return " | ".join(parts)
    half = len(parts) // 2
    return f"({_either(parts[:half])}) | ({_either(parts[half:])})"


def _absent(kind: Type) -> Value:
    """Return the value of a field that the record has not: a constant, or nothing."""
    if not isinstance(kind, Constant):
        return Value("None", "None")
    text = repr(kind.value)
    return Value(text, text, str(len(kind.value)) if isinstance(kind.value, bytes) else "")


def _odd(text: str, kind: Integer) -> str:
    signed = ", signed=True" if kind.signed else ""
    return f'{text}.to_bytes({kind.bits // 8}, "{kind.order}"{signed})'

"""Layout -> the source of `parse_from(data, at, end)`, which returns (record, end of the record) or None.

The function only detects faults. Fields become local variables, fixed stretches one unpack, records
one call with a dict of proven values. Reads the Layout and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wirelock.codec.emit import (
    Constants,
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
    wrapped,
)
from wirelock.codec.template import Names, template_of
from wirelock.codec.trail import limit_holds
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Expression,
    Field,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Length,
    Limit,
    Nothing,
    Padding,
    Path,
    Prefix,
    Rule,
    Switch,
    Type,
    limits_of,
    plain,
    size_of,
)

PARSE_NAMES: Final = ("data", "at", "end")
"""What the function calls its arguments."""


class ParseEmitter:
    """Writes the parse function of one layout."""

    def __init__(
        self, constants: Constants, names: Names, spelled: Mapping[str, str], taken: set[str]
    ) -> None:
        self.constants = constants
        self.names = names
        self.spelled = spelled
        self.writer = Writer({*taken, *PARSE_NAMES})
        self.run = Run()
        self.checks: list[tuple[Sight, Rule | Field]] = []

    def function(self, layout: Layout) -> list[str]:
        """Return the lines of the function."""
        writer = self.writer
        value = self._value(layout, "", None)
        self._flush()
        self._emit_checks()
        writer.line(f"return {value.record}, at")
        return ["def parse_from(data, at, end):", *writer.lines]

    # -- values

    def _value(self, kind: Type, hint: str, sight: Sight | None) -> Value:
        """Read one value: leaves join the run, everything of no fixed place ends it."""
        inner = plain(kind)
        if is_leaf(kind):
            return self._leaf(kind, hint)
        match inner:
            case Layout():
                return self._layout(inner, hint, sight)
            case Nothing():
                return Value("None", "None")
            case Array() if is_unrolled(inner, self.run.bits % 8):
                assert isinstance(inner.count, int)
                items = [self._value(inner.element, f"{hint}_{i}", sight) for i in range(inner.count)]
                text = f"({', '.join(item.record for item in items)}{',' * (len(items) == 1)})"
                if not all(limit_holds(limit, range(inner.count)) for limit in limits_of(kind)):
                    self.writer.line("return None")
                return Value(text, text, str(inner.count))
        assert sight is not None
        match inner:
            case Array():
                return self._limited(self._array(inner, hint, sight), limits_of(kind))
            case Bytes(length=length) | Padding(length=length):
                assert not isinstance(length, int)
                return self._limited(self._octets(inner, length, hint, sight), limits_of(kind))
            case If():
                return self._optional(inner, hint, sight)
            case Switch():
                return self._switch(inner, hint, sight)
        raise AssertionError(f"no source for {inner}")

    def _limited(self, value: Value, limits: tuple[Limit, ...]) -> Value:
        if limits:
            self.writer.unless(limits_source(value.record, limits))
        return value

    def _layout(self, layout: Layout, hint: str, outer: Sight | None) -> Value:
        sight = Sight(outer)
        for field in layout.fields:
            name = f"{hint}_{field.label}" if hint else field.label
            sight.values[field.label] = self._value(field.type, name, sight)
            if field.derived is not None and not _counts(field, layout):
                self.checks.append((sight, field))
        self.checks += [(sight, rule) for rule in layout.rules]
        held = [field for field in layout.fields if field.in_record]
        if template_of(self.names, layout.name).positional:
            arguments = ", ".join(sight.values[field.label].record for field in held)
        else:
            items = (f'"{field.label}": {sight.values[field.label].record}' for field in held)
            arguments = f"{{{', '.join(items)}}}"
        return Value("", f"new_{layout.name}({arguments})", fields=sight.values)

    def _leaf(self, kind: Type, hint: str) -> Value:
        name = self.writer.name(hint)
        value = Value(name, name)
        match plain(kind):
            case Enum():
                value.record = self.writer.name(f"{name}_member")
            case Flags(name=flags):
                value.record = f"{self.spelled[flags]}({name})"
            case Constant(value=constant):
                value.text = value.record = repr(constant)
                value.length = str(len(constant)) if isinstance(constant, bytes) else ""
            case Padding():
                value.text = value.record = "None"
            case Bytes(length=length):
                value.length = str(length)
        self.run.add(plain(kind), value, limits_of(kind), name)
        return value

    # -- runs

    def _flush(self) -> None:
        """Write the run so far: one check of the bytes left, then its pieces."""
        run, self.run = self.run, Run()
        if not run.slots:
            return
        if run.octets:
            self.writer.give_up_if(f"end - at < {run.octets}")
        for piece in self._named(run.pieces()):
            place = f"at + {piece.byte}" if piece.byte else "at"
            struct = self.constants.struct(piece.format)
            self.writer.line(f"{_targets(piece)} = {struct}.unpack_from(data, {place})")
            self._convert(piece)
        if run.octets:
            self.writer.line(f"at += {run.octets}")

    def _named(self, pieces: list[Piece]) -> list[Piece]:
        """Give each group the variable that it is unpacked into."""
        for piece in pieces:
            for group in piece.groups:
                first = group.slots[0].hint
                group.name = self.writer.name(f"{first}_bits") if group.split else first
        return pieces

    def _convert(self, piece: Piece) -> None:
        """Write what turns unpacked numbers into values, and the checks of each."""
        for group in piece.groups:
            if not group.split:
                self._whole(group.slots[0], group.byte)
                continue
            name = group.name
            if group.octets > 1:
                self.writer.line(f'{name} = from_bytes({name}, "big")')
            for slot in group.slots:
                self._cut(slot, name, group.shift(slot), 8 * group.octets)
        for group in piece.groups:
            for slot in group.slots:
                self._check(slot)

    def _whole(self, slot: Slot, byte: int) -> None:
        """A value of whole bytes, already unpacked into the slot's variable."""
        name = slot.hint
        match slot.kind:
            case Integer() as integer if integer.bits not in (8, 16, 32, 64):
                self._odd_integer(name, integer)
            case Enum(integer=integer) | Flags(integer=integer) if integer.bits not in (8, 16, 32, 64):
                self._odd_integer(name, integer)
            case Float(bits=bits, order=order):
                place = f"at + {byte}" if byte else "at"
                self.writer.give_up_if(
                    f'{name} != {name} and ({name} := read_nan(data, {place}, {bits}, "{order}")) is None'
                )
            case Flag():
                self.writer.give_up_if(f"{name} > 1")
                self.writer.line(f"{name} = {name} == 1")
            case Constant(type=Integer() as integer, value=value):
                if integer.bits not in (8, 16, 32, 64):
                    self._odd_integer(name, integer)
                self.writer.give_up_if(f"{name} != {value!r}")
            case Constant(value=value):
                self.writer.give_up_if(f"{name} != {value!r}")
            case Padding() as padding:
                self.writer.give_up_if(f"{name} != {padding_source(padding)}")

    def _odd_integer(self, name: str, kind: Integer) -> None:
        signed = ", signed=True" if kind.signed else ""
        self.writer.line(f'{name} = from_bytes({name}, "{kind.order}"{signed})')

    def _cut(self, slot: Slot, group: str, shift: int, width: int) -> None:
        """A value of some bits out of a group's integer."""
        kind, name, bits = slot.kind, slot.hint, slot.bits
        raw = f"{group} >> {shift}" if shift else group
        if bits + shift < width:
            raw = f"{raw} & {(1 << bits) - 1:#x}"
        inner = kind.type if isinstance(kind, Constant) else kind
        inner = inner.integer if isinstance(inner, Enum | Flags) else inner
        swapped = isinstance(inner, Integer | Float) and inner.order == "little"
        if swapped:
            raw = f'from_bytes(({raw}).to_bytes({bits // 8}, "big"), "little")'
        match inner:
            case Padding() as padding:
                self.writer.give_up_if(f"{raw} != {padding_bits(padding):#x}")
            case Flag():
                self.writer.line(f"{name} = {raw} == 1" if bits == 1 else f"{name} = {raw}")
                if bits > 1:
                    self.writer.give_up_if(f"{name} > 1")
                    self.writer.line(f"{name} = {name} == 1")
            case Float():
                self.writer.line(f"{name} = float_from_bits({raw}, {bits})")
                self.writer.give_up_if(f"{name} is None")
            case Bytes():
                self.writer.line(f'{name} = ({raw}).to_bytes({bits // 8}, "big")')
            case Integer(signed=True):
                self.writer.line(f"{name} = ({raw} ^ {1 << (bits - 1):#x}) - {1 << (bits - 1):#x}")
            case _:
                self.writer.line(f"{name} = {raw}")
        if isinstance(kind, Constant):
            self.writer.give_up_if(f"{name} != {kind.value!r}")

    def _check(self, slot: Slot) -> None:
        """The checks on a value: members, known bits, and the record's limits."""
        match slot.kind:
            case Enum(name=enum):
                self.writer.line(f"{slot.value.record} = members_of_{enum}.get({slot.hint})")
                self.writer.give_up_if(f"{slot.value.record} is None")
            case Flags(mask=mask, integer=integer) if integer.highest & ~mask:
                self.writer.give_up_if(f"{slot.hint} & {integer.highest & ~mask:#x}")
        if slot.limits:
            self.writer.unless(limits_source(slot.value.text, slot.limits))

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

    def _octets(self, kind: Bytes | Padding, length: Expression, hint: str, sight: Sight) -> Value:
        self._flush()
        count = self._counted(length, f"{hint}_length", sight)
        self.writer.unless(f"0 <= {count} <= end - at")
        name = self.writer.name(hint)
        self.writer.line(f"{name} = data[at:at + {count}]")
        if isinstance(kind, Padding):
            self.writer.give_up_if(f"{name} != {padding_source(kind, count)}")
            name = "None"
        self.writer.line(f"at += {count}")
        return Value(name, name, f"len({name})")

    def _counted(self, expression: Expression, hint: str, sight: Sight) -> str:
        """Return a name or number for a count."""
        text = sight.source(expression)
        if isinstance(expression, Path) and text.isidentifier():
            return text
        name = self.writer.name(hint)
        self.writer.line(f"{name} = {text}")
        return name

    def _array(self, kind: Array, hint: str, sight: Sight) -> Value:
        match kind.count:
            case int(number):
                count = str(number)
            case Prefix(integer=integer):
                count = self._leaf(integer, f"{hint}_count").text
            case expression:
                self._flush()
                count = self._counted(expression, f"{hint}_count", sight)
        self._flush()
        name = self.writer.name(hint)
        element_size = size_of(kind.element)
        if element_size.lowest >= 8:
            self.writer.unless(f"0 <= {count} <= (end - at) // {element_size.lowest // 8}")
        elif not isinstance(kind.count, int):
            self.writer.give_up_if(f"{count} < 0")
        code = simple_element(kind.element)
        if code:
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
        with writer.indented():
            outer, self.checks = self.checks, []
            value = self._value(kind.element, "item", sight)
            pieces = self._named(self.run.pieces()) if len(writer.lines) == header else []
            size = self.run.octets
            fused = len(pieces) == 1 and size > 0
            if fused:
                self.run = Run()
                struct = self.constants.struct(pieces[0].format)
                self._convert(pieces[0])
            else:
                self._flush()
            self._emit_checks()
            self.checks = outer
            writer.line(f"{name}.append({value.record})")
            if fused:
                writer.line(f"at += {size}")
        if fused:
            stop = f"at + {count} * {size}"
            text = f"for {_targets(pieces[0])} in {struct}.iter_unpack(data[at:{stop}]):"
        else:
            text = f"for _ in range({count}):"
        writer.lines[header:header] = wrapped("    " * writer.depth + text)
        writer.line(f"{name} = tuple({name})")

    def _block(self, kind: Type, hint: str, sight: Sight, target: str) -> None:
        """A value in a branch of its own: everything about it is written there."""
        with self.writer.indented():
            outer, self.checks = self.checks, []
            value = self._value(kind, hint, sight)
            self._flush()
            self._emit_checks()
            self.checks = outer
            self.writer.line(f"{target} = {value.record}")

    def _optional(self, kind: If, hint: str, sight: Sight) -> Value:
        self._flush()
        target = self.writer.name(hint)
        self.writer.line(f"if {sight.source(kind.condition)}:")
        self._block(kind.type, hint, sight, target)
        self.writer.line("else:")
        self.writer.line(f"    {target} = None")
        return Value(target, target)

    def _switch(self, kind: Switch, hint: str, sight: Sight) -> Value:
        self._flush()
        target = self.writer.name(hint)
        key = self._counted(kind.key, f"{hint}_key", sight)
        word = "if"
        for case, then in kind.cases:
            self.writer.line(f"{word} {key} == {case}:")
            self._block(then, f"{hint}_{case}", sight, target)
            word = "elif"
        self.writer.line("else:")
        if kind.default is None:
            self.writer.line("    return None")
        else:
            self._block(kind.default, f"{hint}_default", sight, target)
        return Value(target, target)


def _targets(piece: Piece) -> str:
    names = [group.name for group in piece.groups]
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


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

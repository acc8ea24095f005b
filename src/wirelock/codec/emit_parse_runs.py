"""Layout -> the source that reads a run: a check of the bytes left, an unpack a stretch, its values."""

from __future__ import annotations

from collections.abc import Callable

from wirelock.codec.emit import (
    Constants,
    Group,
    Piece,
    Run,
    Slot,
    Value,
    Writer,
    excludes_nan,
    limits_source,
    padding_bits,
    padding_source,
)
from wirelock.codec.template import Names
from wirelock.layout.nodes import (
    Bytes,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Integer,
    Layout,
    Mapping,
    Padding,
    Scaled,
    Type,
    integer_of,
    limits_of,
    plain,
)


class RunReader:
    """Collects values of fixed size and writes the lines that read them."""

    def __init__(self, constants: Constants, names: Names, taken: set[str]) -> None:
        self.constants = constants
        self.names = names
        self.writer = Writer(taken)
        self.run = Run()
        self.scattering = False
        self.waiting: list[Callable[[], None]] = []
        """What follows from values of the run, and is written behind it."""

    def leaf(self, kind: Type, hint: str) -> Value:
        """Add a value to the run."""
        name = self.writer.name(hint)
        value = Value(name, name)
        match plain(kind):
            case Enum():
                value.record = self.writer.name(f"{name}_member")
            case Flags(name=flags):
                value.record = f"members_of_{flags}[{name}]"
            case Mapping():
                value.record = self.writer.name(f"{name}_key")
            case Scaled():
                value.text = value.record = self.writer.name(f"{name}_scaled")
            case Constant(value=constant):
                value.text = value.record = repr(constant)
                value.length = str(len(constant)) if isinstance(constant, bytes) else ""
            case Padding():
                value.text = value.record = "None"
            case Bytes(length=length):
                value.length = str(length)
        self.run.add(plain(kind), value, limits_of(kind), name)
        return value

    def flush(self) -> None:
        """Write the run so far: one check of the bytes left, then its pieces."""
        self.flush_named(None)

    def flush_named(self, named: list[Piece] | None) -> None:
        """Write the run so far, whose pieces may have their names already."""
        run, self.run = self.run, Run()
        if not run.slots:
            self.release()
            return
        if run.octets:
            self.writer.give_up_if(f"end - at < {run.octets}")
        for piece in named or self.named(run.pieces()):
            place = f"at + {piece.byte}" if piece.byte else "at"
            struct = self.constants.struct(piece.format)
            self.writer.line(f"{targets(piece)} = {struct}.unpack_from(data, {place})")
            self.convert(piece)
        if run.octets:
            self.writer.line(f"at += {run.octets}")
        self.release()

    def release(self) -> None:
        """Write what waited for values of the run."""
        waiting, self.waiting = self.waiting, []
        for write in waiting:
            write()

    def scattered(self, layout: Layout) -> None:
        """Write the run so far: one layout whose bits do not lie as they come."""
        run, self.run = self.run, Run()
        group = Group(run.scattered(layout), self.writer.name("bits"))
        octets = f"data[at:at + {group.octets}]"
        self.writer.give_up_if(f"end - at < {group.octets}")
        if layout.order == "bits-swapped":
            self.writer.line(f'{group.name} = from_bytes({octets}.translate(BITS_SWAPPED), "big")')
        else:
            self.writer.line(f'{group.name} = from_bytes({octets}, "little")')
        self.writer.line(f"at += {group.octets}")
        for slot in run.slots:
            self._cut(slot, group.name, group.shift(slot), 8 * group.octets)
        for slot in run.slots:
            self._check(slot)
        self.release()

    def named(self, pieces: list[Piece]) -> list[Piece]:
        """Give each group the variable that it is unpacked into."""
        for piece in pieces:
            for group in piece.groups:
                first = group.slots[0].hint
                group.name = self.writer.name(f"{first}_bits") if group.split else first
        return pieces

    def convert(self, piece: Piece) -> None:
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
            case Float(bits=bits, order=order) if not excludes_nan(slot.limits):
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
            case kind if (whole := integer_of(kind)) and whole.bits not in (8, 16, 32, 64):
                self._odd_integer(name, whole)

    def _odd_integer(self, name: str, kind: Integer) -> None:
        signed = ", signed=True" if kind.signed else ""
        self.writer.line(f'{name} = from_bytes({name}, "{kind.order}"{signed})')

    def _cut(self, slot: Slot, group: str, shift: int, width: int) -> None:
        """A value of some bits out of a group's integer."""
        kind, name, bits = slot.kind, slot.hint, slot.bits
        raw = f"{group} >> {shift}" if shift else group
        if bits + shift < width:
            raw = f"{raw} & {(1 << bits) - 1:#x}"
        inner = integer_of(kind) or (kind.type if isinstance(kind, Constant) else kind)
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
            case Mapping(members=members):
                table = self.constants.table({value: key for key, value in members})
                self.writer.line(f"{slot.value.record} = {table}.get({slot.hint})")
                self.writer.give_up_if(f"{slot.value.record} is None")
            case Scaled() as scaled:
                self.writer.line(f"{slot.value.record} = {_scaled_source(slot.hint, scaled)}")
        if slot.limits:
            self.writer.unless(limits_source(slot.value.text, slot.limits))


def _scaled_source(name: str, kind: Scaled) -> str:
    text = name if kind.multiply == 1 else f"{name} * {kind.multiply}"
    text = f"{text} + {kind.add}" if kind.add > 0 else f"{text} - {-kind.add}" if kind.add else text
    return f"({text}) / {kind.divide}" if " " in text else f"{text} / {kind.divide}"


def targets(piece: Piece) -> str:
    """Return the variables that a format is unpacked into."""
    names = [group.name for group in piece.groups]
    return f"({', '.join(names)}{',' * (len(names) == 1)})"

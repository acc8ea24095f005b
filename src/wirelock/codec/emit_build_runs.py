"""Layout -> the source that writes a run: checks of its values, then one pack a stretch."""

from __future__ import annotations

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
    Padding,
    Prefix,
    Scaled,
    Time,
    VarInt,
    integer_of,
)


class RunWriter:
    """Collects values of fixed size and writes the lines that pack them."""

    def __init__(self, constants: Constants, names: Names, spelled: dict[str, str], taken: set[str]) -> None:
        self.constants = constants
        self.names = names
        self.spelled = spelled
        self.writer = Writer(taken)
        self.run = Run()
        self.appends = 0

    def append(self, text: str) -> None:
        """Write the line that adds bytes to the record's."""
        self.appends += 1
        self.writer.line(f"parts.append({text})")

    def flush(self) -> None:
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
                case Integer() | Time():
                    wanted.setdefault("int", []).append(slot.value.text)
                case Flag():
                    wanted.setdefault("bool", []).append(slot.value.text)
                case Float() | Scaled():
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
                writer.give_up_if(f"{text} & ~{mask:#x}")
            case Integer() | Time() as kind if slot.bit % 8 or slot.bits % 8:
                if not {"ge", "le"} <= {limit.kind for limit in slot.limits}:
                    integer = kind.integer if isinstance(kind, Time) else kind
                    writer.unless(f"{integer.lowest} <= {text} <= {integer.highest}")
            case Scaled(integer=integer) as kind:
                raw = writer.name(f"{slot.hint or 'value'}_raw")
                writer.line(f"{raw} = raw_of({text}, {kind.multiply}, {kind.add}, {kind.divide})")
                writer.give_up_if(f"{raw} is None or not {integer.lowest} <= {raw} <= {integer.highest}")
                slot.value = Value(raw, raw, trusted=True)
        if slot.limits:
            writer.unless(limits_source(text, slot.limits))

    def _pack(self, piece: Piece) -> None:
        struct = self.constants.struct(piece.format)
        call = f"{struct}.pack({', '.join(self._argument(group) for group in piece.groups)})"
        floats = [group for group in piece.groups if _is_float(group)]
        if floats:
            packed = self.writer.name("packed")
            self.writer.line(f"{packed} = {call}")
            self._read_back(piece, packed, floats)
            call = packed
        self.append(call)

    def _read_back(self, piece: Piece, packed: str, floats: list[Group]) -> None:
        """Write the check that floats were packed as they are: narrower ones round, and lose a NaN's bits."""
        writer = self.writer
        names = [writer.name(f"{group.slots[0].hint}_written") for group in floats]
        struct, place = self.constants.struct(_format_of(piece, floats)), floats[0].byte - piece.byte
        read = f"unpack_from({packed}, {place})" if place else f"unpack_from({packed})"
        writer.line(f"({', '.join(names)}{',' * (len(names) == 1)}) = {struct}.{read}")
        for name, group in zip(names, floats, strict=True):
            slot = group.slots[0]
            text = slot.value.text
            if excludes_nan(slot.limits):
                writer.give_up_if(f"{name} != {text}")
                continue
            assert isinstance(slot.kind, Float)
            spot = f'{group.byte - piece.byte}, {slot.kind.bits}, "{slot.kind.order}"'
            writer.line(f"if {name} != {text}:")
            writer.line(f"    {packed} = write_nan({packed}, {text}, {spot})")
            with writer.indented():
                writer.give_up_if(f"{packed} is None")

    def varint(self, kind: VarInt, text: str) -> None:
        """Write a number of no fixed width."""
        self.append(f"varint_bytes({f'zigzag({text})' if kind.zigzag else text})")
        if kind.zigzag:
            self.writer.unless(f"{kind.lowest} <= {text} <= {kind.highest}")

    def prefix(self, prefix: Prefix, text: str) -> None:
        """Write a count or size: a number that was computed."""
        if isinstance(prefix.integer, VarInt):
            self.varint(prefix.integer, text)
        else:
            self.run.add(prefix.integer, Value(text, text, trusted=True), (), text)
            self.flush()

    def scattered(self, layout: Layout) -> None:
        """Write the run so far: one layout whose bits do not lie as they come."""
        run, self.run = self.run, Run()
        self._check_types(run)
        for slot in run.slots:
            self._check(slot)
        group = Group(run.scattered(layout))
        for slot in run.slots:
            integer = integer_of(slot.kind)
            if integer and not (slot.bit % 8 or slot.bits % 8) and not isinstance(slot.kind, Constant):
                self.writer.unless(f"{integer.lowest} <= {slot.value.text} <= {integer.highest}")
        if layout.order == "bits-swapped":
            text = f'({self._joined(group)}).to_bytes({group.octets}, "big").translate(BITS_SWAPPED)'
        else:
            text = f'({self._joined(group)}).to_bytes({group.octets}, "little")'
        self.append(text)

    def _argument(self, group: Group) -> str:
        """Return what goes into a format for one group."""
        if not group.split:
            return self._whole(group.slots[0])
        joined = self._joined(group)
        return joined if group.octets == 1 else f'({joined}).to_bytes({group.octets}, "big")'

    def _joined(self, group: Group) -> str:
        """Return the bits of a group as one integer, most significant first."""
        parts = []
        for slot in group.slots:
            raw, shift = self._raw(slot), group.shift(slot)
            if raw != "0":
                parts.append(f"{raw} << {shift}" if shift else raw)
        return _either(parts) or "0"

    def _whole(self, slot: Slot) -> str:
        text = slot.value.text
        match slot.kind:
            case Constant(type=Integer() as integer, value=value):
                return repr(value) if integer.bits in (8, 16, 32, 64) else _odd(f"({value!r})", integer)
            case Constant(value=value):
                return repr(value)
            case Padding() as padding:
                return padding_source(padding)
            case kind if (whole := integer_of(kind)) and whole.bits not in (8, 16, 32, 64):
                return _odd(text, whole)
        return text

    def _raw(self, slot: Slot) -> str:
        """Return the bits of a value below a byte as an unsigned integer, most significant first."""
        kind, text, bits = slot.kind, slot.value.text, slot.bits
        inner = integer_of(kind) or (kind.type if isinstance(kind, Constant) else kind)
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


def _is_float(group: Group) -> bool:
    return not group.split and isinstance(group.slots[0].kind, Float)


def _format_of(piece: Piece, floats: list[Group]) -> str:
    """Return the `struct` format that reads the floats of a piece, from the first to the last."""
    codes, at = piece.order or "<", floats[0].byte
    for group in floats:
        codes += f"{group.byte - at}x" if group.byte > at else ""
        codes += group.code[0]
        at = group.byte + group.octets
    return codes


def _either(parts: list[str]) -> str:
    """Join parts of an integer with `|`; many in a tree, since Python compiles no deep chain of operators."""
    if len(parts) <= 16:
        return " | ".join(parts)
    half = len(parts) // 2
    return f"({_either(parts[:half])}) | ({_either(parts[half:])})"


def _odd(text: str, kind: Integer) -> str:
    signed = ", signed=True" if kind.signed else ""
    return f'{text}.to_bytes({kind.bits // 8}, "{kind.order}"{signed})'

"""construct's leaves -> types of nodes: integers, floats, enumerations, bytes, constants, padding.

What has no one width, byte order or meaning is a SchemaError with a remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from inspect import getclosurevars
from typing import Any, Final

import construct

from wirelock.errors import SchemaError
from wirelock.layout.adapters import ScaledAdapter, TimeAdapter
from wirelock.layout.expression import Scope, member_value, read_count
from wirelock.layout.limits import MAX_BITS, MAX_CONSTRUCTS, MAX_DEPTH, MAX_EXACT, MAX_LENGTH
from wirelock.layout.nodes import (
    Bytes,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    Integer,
    Mapping,
    Prefix,
    Scaled,
    Sized,
    Terminator,
    Text,
    Time,
    Type,
    by_value,
)
from wirelock.layout.remedies import ENDLESS
from wirelock.layout.terms import Expression, Number

_FORMATS: Final = {
    "b": 8, "B": 8, "h": 16, "H": 16, "l": 32, "L": 32, "q": 64, "Q": 64,
    "e": 16, "f": 32, "d": 64, "?": 8,
}  # fmt: skip


class TooManyError(Exception):
    """More constructs were read than a layout may have: the walk ends, whatever it collects."""


@dataclass(slots=True)
class Tally:
    """What one walk has met so far: how many constructs, and those that contain themselves, by identity."""

    constructs: int = 0
    endless: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the walk is: the path so far, what expressions see, and whether the unit is a bit."""

    path: str
    scope: Scope
    reader: Callable[[Any, Place], Type]
    bits: bool = False
    phase: int = 0
    depth: int = 0
    arrays: int = 0
    obstacles: list[SchemaError] | None = None
    """Where all that is wrong is collected; None where the first such thing ends the walk."""
    around: frozenset[int] = frozenset()
    """The constructs around this place, by identity."""
    tally: Tally = field(default_factory=Tally)

    def read(self, source: Any) -> Type:
        """Read a construct here, whatever its kind."""
        return self.reader(source, self)

    def refuse(self, problem: str, remedy: str = "") -> SchemaError:
        """Return the error for what stands here."""
        return SchemaError(self.path, problem, remedy)

    def note(self, error: SchemaError) -> None:
        """Collect an error that the walk can go on behind, or raise it."""
        if self.obstacles is None:
            raise error from None
        if not any((known.path, known.problem) == (error.path, error.problem) for known in self.obstacles):
            self.obstacles.append(error)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what is raised inside, and go on behind it if all that is wrong is collected."""
        try:
            yield
        except SchemaError as error:
            self.note(error)

    def within(self, label: str) -> Place:
        """Return the place of a field in the layout that is here."""
        return replace(self, path=f"{self.path}.{label}" if self.path else label)

    def inside(self, source: Any) -> Place:
        """Return the place within a construct, which must not be around this place already."""
        self.tally.constructs += 1
        if self.tally.constructs > MAX_CONSTRUCTS:
            raise TooManyError
        if id(what := _identity(source)) in self.around:
            self.tally.endless[id(what)] = what
            raise self.refuse("it contains itself", ENDLESS)
        return replace(self, around=self.around | {id(what)})

    def is_endless(self, source: Any) -> bool:
        """Whether it was told already that a construct contains itself."""
        return id(_identity(unwrap(source))) in self.tally.endless

    def deeper(self) -> Place:
        """Return the place one layout or choice further in. Engines recurse once for each."""
        if self.depth >= MAX_DEPTH:
            raise self.refuse(f"layouts are nested deeper than {MAX_DEPTH}", "flatten the layout")
        return replace(self, depth=self.depth + 1)


def unwrap(source: Any) -> Any:
    """Take off a construct its name, and what changes how it is printed or how fast, and nothing else."""
    while True:
        match source:
            case construct.Renamed() | construct.Hex() | construct.HexDump():
                source = source.subcon
            case construct.Compiled(defersubcon=construct.Construct() as inner):
                source = inner
            case _:
                return source


def _identity(source: Any) -> Any:
    """Return what tells a construct from others; a function may make a new one each time."""
    return source.subconfunc if isinstance(source, construct.LazyBound) else source


def bound(source: Any) -> Any:
    """Return the construct that a LazyBound stands for."""
    return source.subconfunc()


def bitwise(source: Any) -> Any:
    """Return a construct of bits as one of bytes; itself if it cannot be one."""
    try:
        return construct.Bitwise(source)
    except Exception:  # construct asks for its size, which an author's function may compute from anything
        return source


def kind_name(source: Any) -> str:
    """Return what construct's documentation calls a construct."""
    if source is construct.Flag:
        return "Flag"
    if isinstance(source, construct.ExprSymmetricAdapter) and _maker(source._decode) == "Filter":
        return "Filter"
    if is_own(source):
        return type(source).__name__
    # A class inside of a function has the name of that function for an author, as Timestamp.
    return type(source).__qualname__.partition(".<locals>")[0]


def is_own(source: Any) -> bool:
    """Whether a construct's class is the author's."""
    return bool(type(source).__module__ != construct.Struct.__module__)


def base_name(source: Any) -> str:
    """Return the name of construct's own class that a construct's class is, or is derived from."""
    return next(cls.__name__ for cls in type(source).__mro__ if cls.__module__ == construct.Struct.__module__)


def _maker(function: Any) -> str:
    """Return the name of the function of construct's that made the code inside of an adapter."""
    code = getclosurevars(function).nonlocals.get("decoder")
    return str(getattr(code, "__qualname__", "")).partition(".")[0]


_CALLED: Final = {
    "Layout": "Struct", "Constant": "Const", "Nothing": "Pass", "Flags": "FlagsEnum", "Time": "ticks",
    "Scaled": "scaled", "Opaque": "opaque", "Sized": "region of a size", "Framed": "FocusedSeq",
    "Limited": "OneOf or NoneOf", "Unknown": "what is not read",
}  # fmt: skip


def called(kind: Type) -> str:
    """Return what an author calls a type."""
    name = type(kind).__name__
    return _CALLED.get(name, name)


def _read_format(source: Any, at: Place) -> Type:
    order, letter = source.fmtstr
    bits = _FORMATS[letter]
    bytes_only(source, at)
    if letter == "?":
        return Flag(8)
    if order == "=" and bits > 8:
        raise at.refuse("the byte order is the machine's own", "state it: ...l or ...b in place of ...n")
    byte_order = "little" if order == "<" and bits > 8 else "big"
    return Float(bits, byte_order) if letter in "efd" else Integer(bits, letter.islower(), byte_order)  # type: ignore[arg-type]


def bytes_only(source: Any, at: Place) -> None:
    """Raise SchemaError inside a bit region."""
    if at.bits:
        raise at.refuse(
            f"{kind_name(source)} inside a bit region would read one byte a bit",
            "use BitsInteger or Bytewise",
        )


def _read_bytes_integer(source: Any, at: Place) -> Type:
    bytes_only(source, at)
    if source is construct.Int24un or source is construct.Int24sn:
        raise at.refuse("the byte order is the machine's own", "state it: ...l or ...b in place of ...n")
    return _integer(source, source.length, 8, at)


def _read_bits_integer(source: Any, at: Place) -> Type:
    if not at.bits:
        raise at.refuse("BitsInteger outside of a bit region", "put it in a BitStruct or Bitwise")
    return _integer(source, source.length, 1, at)


def _integer(source: Any, length: Any, unit: int, at: Place) -> Integer:
    if not isinstance(length, int) or callable(source.swapped):
        raise at.refuse("the width or byte order depends on other fields", "state them as constants")
    bits = length * unit
    if not 0 < bits <= MAX_BITS:
        raise at.refuse(f"an integer of {bits} bits", f"give it 1 to {MAX_BITS}")
    if source.swapped and bits % 8:
        raise at.refuse(f"{bits} swapped bits are no whole bytes", "swap multiples of 8 bits only")
    return Integer(bits, bool(source.signed), "little" if source.swapped and bits > 8 else "big")


def _read_enum(source: Any, at: Place) -> Type:
    inner = _integer_inside(source, at)
    members = tuple((str(name), value) for name, value in source.encmapping.items())
    _check_members(members, inner, at)
    return Enum(inner, by_value(members))


def _read_flags(source: Any, at: Place) -> Type:
    inner = _integer_inside(source, at)
    members = tuple((str(name), value) for name, value in source.flags.items())
    numbers = [value for _, value in members if isinstance(value, int)]
    if inner.signed and not all(0 <= value <= inner.highest for value in numbers):
        raise at.refuse(
            "a flag in the sign bit of a signed integer", "use the unsigned one of that width, as Int32ul"
        )
    _check_members(members, inner, at)
    if any(value == 0 for _, value in members):
        raise at.refuse("a flag needs at least one bit", "name single bits")
    single = sum({value for _, value in members if value & (value - 1) == 0})
    if any(value & ~single for _, value in members):
        raise at.refuse("a flag of several bits loses the others", "give each bit a name of its own")
    return Flags(replace(inner, signed=False), by_value(members))  # the sign bit is none that may be set


def _integer_inside(source: Any, at: Place) -> Integer:
    inner = at.read(source.subcon)
    if not isinstance(inner, Integer):
        raise at.refuse(f"{kind_name(source)} over {called(inner)}", "put it over an integer")
    return inner


def _check_members(members: tuple[tuple[Any, Any], ...], inner: Integer, at: Place) -> None:
    if not members:
        raise at.refuse("an enumeration without members", "name its members")
    for name, value in members:
        if name in ("default", "_default_") and value is construct.Pass:
            remedy = f"leave `{name}=Pass` out: in construct 2.10 it is a member of that name"
            raise at.refuse(f"the member {name} is Pass", remedy)
        if isinstance(value, bool) or not isinstance(value, int):
            raise at.refuse(f"the member {name} is {value!r}", "members are integers")
        if not inner.lowest <= value <= inner.highest:
            raise at.refuse(
                f"the member {name} = {value} does not fit",
                f"{inner.bits} bits hold {inner.lowest}..{inner.highest}",
            )


def read_length(source: Any, at: Place, what: str) -> int | Expression:
    """Read a length or count: a constant, or outside of bit regions an expression."""
    found = read_count(source, at.scope, at.path)
    if isinstance(found, Number):
        if not 0 <= found.value <= MAX_LENGTH:
            raise at.refuse(f"a {what} of {found.value}", f"give 0 to {MAX_LENGTH}")
        return int(found.value)
    if at.bits:
        raise at.refuse(f"a {what} from the wire inside a bit region", "a bit region must have a fixed size")
    return found


def _read_const(source: Any, at: Place) -> Type:
    inner, value = at.read(source.subcon), source.value
    match inner:
        case Integer():
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not inner.lowest <= value <= inner.highest
            ):
                raise at.refuse(
                    f"the constant {value!r} does not fit", f"give {inner.lowest}..{inner.highest}"
                )
            return Constant(inner, int(value))
        case Enum():
            number = member_value(inner, value)
            if number is None:
                raise at.refuse(f"the constant {value!r} is no member", "name a member")
            return Constant(inner.integer, number)
        case Bytes(length=int(length)):
            if not isinstance(value, bytes) or len(value) != length:
                raise at.refuse(f"the constant {value!r} does not fit", f"give {length} bytes")
            return Constant(inner, value)
        case Text():
            octets = _text_octets(inner, value, at)
            return Constant(Bytes(len(octets)), octets)
    raise at.refuse(f"a Const of {called(inner)}", "make it an integer, bytes or text")


def _text_octets(kind: Text, value: Any, at: Place) -> bytes:
    """Return the bytes that a constant text always is, with what ends or pads it."""
    if not isinstance(value, str):
        raise at.refuse(f"the constant {value!r} is no text", "give text")
    try:
        octets = value.encode(kind.encoding)
    except UnicodeEncodeError:
        raise at.refuse(f"{value!r} is no text in {kind.encoding}", "give text of that encoding") from None
    ends = kind.closed or (isinstance(kind.inner, Sized) and isinstance(kind.inner.extent, Terminator))
    if value.startswith("\ufeff") or (ends and "\0" in value):
        raise at.refuse(f"{value!r} would not be read again", "leave out byte-order marks and NULs")
    match kind.inner:
        case Sized(extent=Terminator(mark=mark)):
            return octets + mark
        case Sized(extent=Prefix(integer=Integer() as integer, includes=includes)):
            size = len(octets) + includes * integer.bits // 8
            if size <= integer.highest:
                return size.to_bytes(integer.bits // 8, integer.order, signed=integer.signed) + octets
        case Sized(extent=int(length), stripped=stripped) if len(octets) <= length:
            if stripped or len(octets) == length:
                return octets.ljust(length, b"\0")
        case Bytes(length=int(length)) if len(octets) == length:
            return octets
    raise at.refuse(f"{value!r} does not fit where it stands", "give it a constant size, or use CString")


def _read_mapping(source: Any, at: Place) -> Type:
    if isinstance(at.read(source.subcon), Bytes):
        raise at.refuse(
            "Mapping over Bytes", "use Bytes, with OneOf around it: it compares with bytes as it is"
        )
    inner = _integer_inside(source, at)
    members = tuple(source.encmapping.items())
    _check_members(members, inner, at)
    kinds = {type(key) for key, _ in members}
    if len(kinds) != 1 or not kinds <= {str, int}:
        raise at.refuse("a Mapping whose keys are not all str, or all int", "use Enum with an IntEnum")
    if len({value for _, value in members}) != len(members):
        raise at.refuse("a Mapping that gives two keys one value", "give each key a value of its own")
    return Mapping(inner, tuple(sorted(members, key=lambda member: member[1])))


def _read_scaled(source: Any, at: Place) -> Type:
    inner = _integer_inside(source, at)
    ends = [value * source.multiply + source.add for value in (inner.lowest, inner.highest)]
    if max(map(abs, ends)) >= MAX_EXACT or source.divide >= MAX_EXACT:
        raise at.refuse(
            "a step so fine that a float cannot hold every value", "use fewer bits or a coarser step"
        )
    return Scaled(inner, source.multiply, source.add, source.divide, source.unit, source.rounding)


def _read_time(source: Any, at: Place) -> Type:
    return Time(_integer_inside(source, at), str(source.unit), str(source.epoch))


LEAVES: Final[dict[type, Callable[[Any, Place], Type]]] = {
    construct.FormatField: _read_format,
    construct.BytesInteger: _read_bytes_integer,
    construct.BitsInteger: _read_bits_integer,
    construct.Enum: _read_enum,
    construct.FlagsEnum: _read_flags,
    construct.Mapping: _read_mapping,
    construct.Const: _read_const,
    ScaledAdapter: _read_scaled,
    TimeAdapter: _read_time,
}

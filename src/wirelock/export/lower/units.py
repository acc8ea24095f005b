"""The records to export, under the names that a program gives them: what a client holds of each.

A Unit is one record as it stands among others: a Layout, and as parameters what its expressions read of the
records around it. `read.py`, `write.py` and `tell.py` lower it, and take types and names from here alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from wirelock.export import values as v
from wirelock.export.lower.expressions import int_type
from wirelock.export.lower.references import outer_terms
from wirelock.export.names import pascal, snake
from wirelock.export.program import Enumeration
from wirelock.layout.bounds import MAX_LENGTH, bounds_of
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    Framed,
    If,
    Integer,
    Layout,
    Limited,
    Mapping,
    Nothing,
    Optional,
    Padded,
    Padding,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Text,
    Time,
    Type,
    VarInt,
    limits_of,
    parts_of,
    plain,
    valued,
)
from wirelock.layout.operators import INT64
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Index, Length, Path

__all__ = [
    "INDEX", "POSITION", "Term", "Unit", "Units", "holds_nothing", "is_option", "stands_inline",
]  # fmt: skip

Term: TypeAlias = Path | Length | Index
"""What an expression reads."""

POSITION: Final = int_type(0, MAX_LENGTH)
"""The type of byte positions, sizes and counts."""
INDEX: Final = v.IntType(64, True, 0, (1 << 32) - 1)
"""The type of the number of an element: an expression can reckon with it as layout.expression says."""


@dataclass(eq=False)
class Unit:
    """A record with the terms that it reads around itself, as parameters: `up` 0 is the record around it.

    `where` names its first place in messages; `places` are the (protocol, version) pairs that it is part of.
    """

    layout: Layout
    parameters: dict[Term, v.Local]
    where: str
    places: list[tuple[str, int]]
    name: str = ""
    types: dict[str, v.Type | None] = field(default_factory=dict)
    sequence: bool = False

    @property
    def type(self) -> v.RecordType:
        """The type of a value of this record."""
        return v.RecordType(self.name)


def stands_inline(layout: Layout) -> bool:
    """Whether a record is no whole bytes, or starts within one, so that those around it read and write it."""
    return size_of(layout).lowest % 8 != 0 or _phase(layout) != 0


def _phase(layout: Layout) -> int:
    """Return the bit of its first byte at which a record starts, counted from the most significant."""
    for item in layout.fields if layout.order == "wire" else ():
        if size_of(item.type).highest != 0:
            first = [mask for byte, mask in item.position.pieces if byte == 0]
            return 8 - max(first).bit_length() if first else 0
    return 0


def holds_nothing(kind: Type) -> bool:
    """Whether a value of this type is implied: by the layout alone, or by what the record holds beside it."""
    match kind:
        case Constant() | Padding() | Nothing() | Terminated() | Computed():
            return True
        case Limited(inner=inner) | Framed(inner=inner) | Padded(inner=inner) | Sized(inner=inner):
            return holds_nothing(inner)
        case If(type=inner) | Array(element=inner, count=int()):
            return holds_nothing(inner)
        case Switch(types=types) | Sequence(types=types):
            return all(map(holds_nothing, types))
    return False


def is_option(kind: Type) -> bool:
    """Whether the value of a type can be absent: what holds it is then an option already."""
    return isinstance(valued(kind), If | Optional)


class Units:
    """All records and enumerations of a program, each once.

    First every root is added, then `settle` gives the names, and only then are types asked for.
    """

    def __init__(self) -> None:
        self._units: dict[tuple[Layout, tuple[tuple[Term, v.Type], ...]], Unit] = {}
        self._enumerations: dict[_Members, _Named] = {}
        self._taken: set[str] = set()
        self.more: dict[str, Enumeration] = {}
        """Enumerations of Mappings, by the field that has them."""
        self._sequences: list[Unit] = []

    # -- collecting

    def add(self, layout: Layout, protocol: str, version: int) -> Unit:
        """Add the record of a version, with all that is inside of it."""
        return self._add(layout, None, f"{protocol} v{version}", (protocol, version))

    def _add(self, layout: Layout, around: Unit | None, where: str, place: tuple[str, int]) -> Unit:
        unit = self._find(layout, around)
        if unit is None:
            parameters = _parameters(layout, around)
            unit = Unit(layout, parameters, where, [])
            for item in layout.fields:
                self._add_inside(item.type, unit, f"{where}: {item.label}", place)
            self._units[layout, _key(parameters)] = unit
        if place not in unit.places:
            unit.places.append(place)
        return unit

    def _add_inside(self, kind: Type, unit: Unit, where: str, place: tuple[str, int]) -> None:
        match kind:
            case Layout():
                self._add(kind, unit, where, place)
            case Enum(integer=integer, name=name) | Flags(integer=integer, name=name):
                found = self._enumerations.setdefault(_members(kind), _Named(name, []))
                found.low, found.high = min(found.low, integer.lowest), max(found.high, integer.highest)
                if place not in found.places:
                    found.places.append(place)
            case _:
                for part in parts_of(kind):
                    self._add_inside(part, unit, where, place)

    def _find(self, layout: Layout, around: Unit | None) -> Unit | None:
        return self._units.get((layout, _key(_parameters(layout, around))))

    # -- names

    def settle(self) -> None:
        """Give every record and enumeration its name: two of one name get their version's or protocol's."""
        groups: dict[str, list[Unit | _Named]] = {}
        for unit in self._units.values():
            groups.setdefault(pascal(unit.layout.name or "Record"), []).append(unit)
        for (_, name, _, _), found in self._enumerations.items():
            groups.setdefault(pascal(name or "Enumeration"), []).append(found)
        for name in sorted(groups, key=lambda name: len(groups[name])):
            for item, given in zip(groups[name], self._given(name, groups[name]), strict=True):
                item.name = self.unique(given)

    def _given(self, name: str, group: list[Unit | _Named]) -> list[str]:
        firsts = [item.places[0] for item in group]
        proposals = [
            [name] * len(group),
            [f"{name}V{version}" for _, version in firsts],
            [f"{pascal(protocol)}{name}" for protocol, _ in firsts],
            [f"{pascal(protocol)}{name}V{version}" for protocol, version in firsts],
        ]
        for given in proposals:
            if len(set(given)) == len(given) and not self._taken & set(map(snake, given)):
                return given
        return proposals[-1]

    def unique(self, name: str) -> str:
        """Return a name that no record, enumeration or choice has yet, in whatever case it is written."""
        found, number = name, 2
        while snake(found) in self._taken:
            found, number = f"{name}{number}", number + 1
        self._taken.add(snake(found))
        return found

    # -- what there is

    def __iter__(self) -> Iterator[Unit]:
        """Yield the records, each behind those that it holds."""
        yield from self._units.values()

    def root(self, layout: Layout) -> Unit:
        """Return the unit of a version's record."""
        found = self._find(layout, None)
        assert found is not None, f"{layout.name} was not added"
        return found

    def new_sequences(self) -> list[Unit]:
        """Return the records of Sequences that were named since this was last asked."""
        found, self._sequences = self._sequences, []
        return found

    def inner(self, layout: Layout, around: Unit) -> Unit:
        """Return the unit of a record inside of another one."""
        found = self._find(layout, around)
        assert found is not None, f"{layout.name} was not collected"
        return found

    def enumerations(self) -> Iterator[Enumeration]:
        """Yield the enumerations."""
        for (kind, _, members, _), found in self._enumerations.items():
            yield Enumeration(found.name, members, _storage(found.low, found.high), kind is Flags)
        yield from self.more.values()

    def type_of(self, unit: Unit, item: Field) -> v.Type | None:
        """Return the type of a field of a record; None if it is implied and not held."""
        if item.label not in unit.types:
            unit.types[item.label] = (
                None if item.derived is not None else self._type(item.type, unit, pascal(item.label))
            )
        return unit.types[item.label]

    def _type(self, kind: Type, unit: Unit, hint: str, limited: bool = False) -> v.Type | None:
        if holds_nothing(kind):
            return None
        match kind:
            case Limited(inner=inner):
                limited = any(limit.kind in ("ge", "gt", "le", "lt") for limit in limits_of(kind))
                return self._type(inner, unit, hint, limited)
            case Framed(inner=inner) | Padded(inner=inner) | Sized(inner=inner):
                return self._type(inner, unit, hint)
            case Integer() | VarInt() | Time():
                integer = kind.integer if isinstance(kind, Time) else kind
                return _storage(integer.lowest, integer.highest)
            case Flag():
                return v.BoolType()
            case Float(bits=bits):
                return v.FloatType(64 if bits == 64 else 32, not limited)
            case Scaled():
                return v.FloatType(64, False)
            case Enum() | Flags():
                return v.EnumType(self._enumerations[_members(kind)].name)
            case Mapping():
                return self._mapping(kind, unit, hint)
            case Bytes(length=length):
                return v.BytesType(length if isinstance(length, int) else None)
            case Text(encoding=encoding):
                return v.TextType(encoding)  # type: ignore[arg-type]
            case Layout():
                return self.inner(kind, unit).type
            case Array(element=element, count=count):
                inner_type = self._type(element, unit, f"{hint}Item")
                assert inner_type is not None, "an array of nothing is refused"
                return v.ListType(inner_type, count if isinstance(count, int) else None)
            case If(type=inner) | Optional(inner=inner):
                if holds_nothing(inner):
                    return v.BoolType()
                found = self._type(inner, unit, hint)
                assert found is not None
                return found if is_option(inner) else v.OptionType(found)
            case Switch():
                return self._switch(kind, unit, hint)
            case Select(cases=cases):
                records = [self.inner(layout, unit) for _, layout in cases]
                return self._choice([(snake(item.layout.name), item.type) for item in records], unit, hint)
            case Sequence(types=types):
                return self._sequence(types, unit, hint)
        raise AssertionError(f"{unit.where}: {kind} is refused")

    def _mapping(self, kind: Mapping, unit: Unit, hint: str) -> v.EnumType:
        name = self.unique(f"{unit.name}{hint}")
        members = tuple((key if isinstance(key, str) else f"key_{key}", raw) for key, raw in kind.members)
        storage = _storage(kind.integer.lowest, kind.integer.highest)
        self.more[name] = Enumeration(name, members, storage, flags=False)
        return v.EnumType(name)

    def _switch(self, kind: Switch, unit: Unit, hint: str) -> v.Type:
        keys = [str(key) for key, _ in kind.cases] + ["otherwise"]
        types = [
            self._type(case, unit, f"{hint}{pascal(key)}")
            for key, case in zip(keys, kind.types, strict=False)
        ]
        common = _common(types)
        if common is not None:
            return common
        labels = [
            snake(found.name) if isinstance(found, v.RecordType) else f"case_{key}".replace("-", "minus_")
            for key, found in zip(keys, types, strict=False)
        ]
        return self._choice(list(zip(labels, types, strict=True)), unit, hint)

    def _choice(self, cases: list[tuple[str, v.Type | None]], unit: Unit, hint: str) -> v.ChoiceType:
        labels: list[str] = []
        for label, _ in cases:
            given, number = snake(label), 2
            while given in labels:
                given, number = f"{snake(label)}_{number}", number + 1
            labels.append(given)
        named = tuple((label, kind) for label, (_, kind) in zip(labels, cases, strict=True))
        return v.ChoiceType(self.unique(f"{unit.name}{hint}"), named)

    def _sequence(self, types: tuple[Type, ...], unit: Unit, hint: str) -> v.RecordType:
        name = self.unique(f"{unit.name}{hint}")
        layout = Layout(
            tuple(
                replace(Field(f"item_{number}", f"item_{number}", kind, unit.layout.fields[0].position))
                for number, kind in enumerate(types)
            ),
            name,
        )
        made = Unit(layout, {}, unit.where, unit.places, name, sequence=True)
        for item in layout.fields:
            made.types[item.label] = self._type(item.type, unit, f"{hint}{pascal(item.label)}")
        self._sequences.append(made)
        return made.type


@dataclass(eq=False)
class _Named:
    """An enumeration without its name: the interval of what it is stored in, and where it is."""

    name: str
    places: list[tuple[str, int]]
    low: int = 0
    high: int = 0


_Members: TypeAlias = tuple[type, str, tuple[tuple[str, int], ...], bool]


def _members(kind: Enum | Flags) -> _Members:
    """Return what is one enumeration; no integer holds negative values and those beyond int64."""
    return type(kind), kind.name, kind.members, kind.integer.highest > INT64[1]


def _storage(low: int, high: int) -> v.IntType:
    """Return the smallest integer that holds an interval."""
    for bits in (8, 16, 32, 64):
        least = -(1 << (bits - 1)) if low < 0 else 0
        if least <= low and high < least + (1 << bits):
            return v.IntType(bits, low < 0, low, high)
    raise ValueError(f"no 64 bits hold {low}..{high}")


def _common(types: list[v.Type | None]) -> v.Type | None:
    """Return the one type that serves all cases of a choice: of integers the widest, or the same for all."""
    integers = [found for found in types if isinstance(found, v.IntType)]
    if len(integers) == len(types):
        low, high = min(found.low for found in integers), max(found.high for found in integers)
        if high <= (1 << (64 - (low < 0))) - 1:
            return _storage(low, high)
    first = types[0]
    return first if not isinstance(first, v.ChoiceType) and all(item == first for item in types) else None


# -- what a record reads around itself


def _key(parameters: dict[Term, v.Local]) -> tuple[tuple[Term, v.Type], ...]:
    return tuple((term, local.type) for term, local in parameters.items())


def _parameters(layout: Layout, around: Unit | None) -> dict[Term, v.Local]:
    found: dict[Term, v.Local] = {}
    names: set[str] = {"at", "end"}
    for term in outer_terms(layout):
        assert around is not None, f"{layout.name} only means something inside of another record"
        hint = _hint(term)
        name, number = hint, 2
        while name in names:
            name, number = f"{hint}_{number}", number + 1
        names.add(name)
        found[term] = v.Local(name, _seen_type(term, around))
    return found


def _hint(term: Term) -> str:
    match term:
        case Index():
            return "index"
        case Length(path=path):
            return f"{'_'.join(path.names)}_length".strip("_")
        case Path(names=names):
            return "_".join(names).strip("_") or "value"


def _seen_type(term: Term, unit: Unit) -> v.Type:
    """Return the type of what an expression of a record finds at a term."""
    match term:
        case Index():
            return INDEX
        case Length(path=Path(up=0)):
            return POSITION
        case Length(path=Path(up=up, names=names)):
            return unit.parameters[Length(Path(up - 1, names))].type
        case Path(up=up, names=names) if up:
            return unit.parameters[Path(up - 1, names)].type
        case Path(names=names):
            return seen_as(kind_at(unit.layout, names))
    raise AssertionError(term)


def kind_at(layout: Layout, names: Iterable[str]) -> Type:
    """Return the type of the field that names lead to, without what is around its value."""
    found: Type = layout
    for name in names:
        assert isinstance(found, Layout)
        found = valued(found[name].type)
    return found


def seen_as(kind: Type) -> v.Type:
    """Return the type in which expressions see a value: integers for all that has an integer."""
    match plain(kind):
        case Float(bits=bits):
            return v.FloatType(64 if bits == 64 else 32, True)
        case Scaled():
            return v.FloatType(64, False)
        case Bytes(length=length) | Constant(type=Bytes(length=length)):
            return v.BytesType(length if isinstance(length, int) else None)
        case Text(encoding=encoding):
            return v.TextType(encoding)  # type: ignore[arg-type]
        case Flag():
            return v.BoolType()
        case Mapping(integer=integer):
            return int_type(integer.lowest, integer.highest)
        case Computed(boolean=True):
            return v.BoolType()
    return int_type(*bounds_of(kind, Path(0, ("value",)), ""))

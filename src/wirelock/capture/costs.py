"""Layout -> the meters of its records, and what each field has cost by them, in the layout's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from wirelock.capture.meters import (
    Cases,
    Choice,
    Elements,
    FieldCost,
    Filled,
    Framing,
    Group,
    Meter,
    Octets,
    PaddingMeter,
    Prefixed,
    Region,
    Row,
    TextMeter,
    Unknown,
    VarIntMeter,
    Whole,
)
from wirelock.codec.implied import cases_by_class
from wirelock.layout.describe import type_text
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Framed,
    If,
    Layout,
    Limited,
    Nothing,
    Optional,
    Padded,
    Padding,
    Prefix,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Terminator,
    Text,
    Type,
    VarInt,
    parts_of,
    plain,
    valued,
)
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import inner_path

__all__ = ["Costs"]


class Costs:
    """The costs of the fields of one layout.

    `meter` counts its records. Where not `by_columns` it wants them one by one, because an expression has to
    be computed of which there is no column; where not `by_records` it cannot be used, because some bytes can
    be read by code alone.
    """

    def __init__(self, layout: Layout) -> None:
        self.by_columns = self.by_records = True
        self._costs: dict[tuple[str, str], FieldCost] = {}
        self._groups: list[Group] = []
        self.meter = self._meter(layout, "", held=True)

    def of(self, path: str, part: str, kind: Type) -> FieldCost:
        """Return the cost of a field by its general path; a part beside a value has no type of its own."""
        told = part or type_text(plain(kind)).split(", ")[0]
        found = self._costs.get((path, part))
        if found is None:
            found = self._costs[path, part] = FieldCost(path, part, told)
        elif told not in found.type.split(" or "):
            found.type += f" or {told}"
        return found

    def read(self, path: str, part: str, kind: Type, bits: int) -> None:
        """Count a value that was read by itself."""
        (self._costs.get((path, part)) or self.of(path, part, kind)).add(1, bits)

    def found(self) -> list[FieldCost]:
        """Return what has cost anything so far."""
        for group in self._groups:
            group.settle()
        return [cost for cost in self._costs.values() if cost.bits]

    # -- meters; what is asked for first comes first in the list of costs

    def _meter(self, kind: Type, path: str, *, held: bool) -> Meter:
        """Return the meter of a type; `held` says whether records hold its value."""
        kind = plain(kind)
        fixed = _fixed(kind, path)
        if fixed is not None:
            return self._group(fixed)
        match kind:
            case Layout():
                return self._record(kind, path)
            case Array():
                return self._array(kind, path)
            case Sequence(types=types):
                return Row([self._meter(part, f"{path}[]", held=True) for part in types])
            case Framed():
                parts = [
                    self._meter(part, label, held=held and label == path)
                    for label, part in kind.labelled(path)
                ]
                return Framing(parts, len(kind.before))
            case Bytes():
                return Octets(self.of(path, "", kind))
            case Text(inner=inner, encoding=encoding):
                return self._sized(inner, path, lambda: TextMeter(self.of(path, "", kind), encoding))
            case VarInt(zigzag=zigzag):
                return VarIntMeter(self.of(path, "", kind), zigzag)
            case Padding(length=length, unit=unit) if not isinstance(length, int):
                self.by_columns = False
                return PaddingMeter(self.of(path, "", kind), length, unit)
            case Sized(inner=inner):
                return self._sized(kind, path, lambda: self._meter(inner, path, held=held))
            case Padded(inner=inner, length=length):
                inside = self._meter(inner, path, held=held)
                return self._noted(Filled(inside, self.of(path, "padding", kind), length))
            case If() | Optional() | Switch() | Select():
                return self._choice(kind, path, held)
        return self._unknown(kind, path)

    def _noted(self, made: Filled) -> Filled:
        self.by_columns = self.by_columns and not made.computed
        return made

    def _unknown(self, kind: Type, path: str) -> Unknown:
        self.by_columns = self.by_records = False
        self.of(path, "", kind)
        return Unknown()

    def _choice(self, kind: If | Optional | Switch | Select, path: str, held: bool) -> Meter:
        self.by_columns = self.by_columns and held
        inside = [self._meter(part, path, held=held) for part in parts_of(kind)]
        match kind:
            case If(condition=condition, type=inner):
                return Choice(inside[0], condition if not held or _may_be_none(inner) else None)
            case Optional():  # never of what may be None itself
                return Choice(inside[0], None)
            case Switch(key=key, cases=cases):
                by_class = cases_by_class(kind) if held else None
                return Cases(inside, by_class, key, tuple(case for case, _ in cases))
            case Select() if held and (by_class := cases_by_class(kind)) is not None:
                return Cases(inside, by_class, None, ())
        return self._unknown(kind, path)

    def _sized(self, kind: Bytes | Sized, path: str, inside: Callable[[], Meter]) -> Meter:
        """Return the meter of what fills a region, with the size before it and what is behind."""
        if not isinstance(kind, Sized):
            return inside()
        match kind.extent:
            case Prefix(integer=VarInt(zigzag=zigzag)):
                cost = self.of(path, "size", kind)
                return Prefixed(inside(), cost, zigzag, counts=False)
            case Prefix(integer=integer):
                size = self._group([Fixed(path, "size", kind, size_of(integer).lowest)])
                return Region([size, inside()])
            case Terminator(mark=mark):
                return Region([inside(), self._group([Fixed(path, "terminator", kind, 8 * len(mark))])])
            case extent if kind.stripped:
                meter = inside()
                return self._noted(Filled(meter, self.of(path, "padding", kind), extent))
        return inside()

    def _group(self, fixed: Iterable[Fixed], group: Group | None = None) -> Group:
        """Return a group of what always takes the same, or put it into one."""
        if group is None:
            group = Group()
            self._groups.append(group)
        for path, part, kind, bits, number in fixed:
            group.put(self.of(path, part, kind), bits, number)
        return group

    def _record(self, layout: Layout, path: str) -> Meter:
        together = self._group(())
        parts: list[tuple[str | None, Meter]] = [(None, together)]
        for item in layout.fields:
            label = inner_path(path, item.label)
            fixed = _fixed(item.type, label)
            if fixed is not None:
                self._group(fixed, together)
                continue
            meter = self._meter(item.type, label, held=item.in_record)
            parts.append((item.label if item.in_record else None, meter))
        return Whole(layout, parts)

    def _array(self, kind: Array, path: str) -> Meter:
        match kind.count:
            case Prefix(integer=VarInt(zigzag=zigzag) as integer):
                cost = self.of(path, "count", integer)
                return Prefixed(self._elements(kind, path), cost, zigzag, counts=True)
            case Prefix(integer=integer):
                before = self._group([Fixed(path, "count", integer, size_of(integer).lowest)])
                return Region([before, self._elements(kind, path)])
        return self._elements(kind, path)

    def _elements(self, kind: Array, path: str) -> Elements:
        count = kind.count if isinstance(kind.count, int) else None
        return Elements(self._meter(kind.element, f"{path}[]", held=True), count)


def _may_be_none(kind: Type) -> bool:
    """Whether None can be the value of what is there."""
    kind = valued(kind)
    if isinstance(kind, Switch):
        return any(map(_may_be_none, kind.types))
    return isinstance(kind, Padding | Nothing | Terminated | If | Optional)


# -- what always takes the same bits


class Fixed(NamedTuple):
    """A general path, the part of what is there (empty for the value), its type, and the bits of so many."""

    path: str
    part: str
    type: Type
    bits: int
    number: int = 1


def _fixed(kind: Type, path: str) -> list[Fixed] | None:
    """Return the parts of what always takes the same bits, with the bits of each; None for anything else."""
    found = list(_parts(kind, path))
    return None if None in found else found  # type: ignore[return-value]


def _parts(kind: Type, path: str) -> Iterator[Fixed | None]:
    limited, kind = kind, plain(kind)
    size = size_of(kind)
    if not size.fixed:
        yield None
        return
    match kind:
        case Layout(fields=fields):
            for item in fields:
                yield from _parts(item.type, inner_path(path, item.label))
        case Array(element=element, count=int(count)):
            for _ in range(min(count, 1)):
                for part in _parts(element, f"{path}[]"):
                    yield part and part._replace(bits=count * part.bits, number=count * part.number)
        case Sequence(types=types):
            for one in types:
                yield from _parts(one, f"{path}[]")
        case Framed():
            for label, one in kind.labelled(path):
                yield from _parts(one, label)
        case Padded(inner=inner) if size_of(inner).fixed:
            yield from _parts(inner, path)
            if size.lowest > size_of(inner).lowest:
                yield Fixed(path, "padding", kind, size.lowest - size_of(inner).lowest)
        case Switch(types=types):
            cases = [list(_parts(one, path)) for one in types]
            yield from cases[0] if all(case == cases[0] for case in cases) else [None]
        case If() | Optional() | Select() | Padded() | Sized() | Text() | Limited():
            yield None
        case _:
            yield Fixed(path, "", limited, size.lowest)

"""What a function that writes calls the fields of a layout: members of the record, or what they imply.

A field that a client does not hold is a constant, or computed from the others where an expression reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingType

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import is_literal, lower, of_type, truth
from wirelock.export.program import RecordDecl
from wirelock.layout.nodes import (
    Array,
    Computed,
    Constant,
    Field,
    Layout,
    Switch,
    Type,
    integer_of,
    valued,
)
from wirelock.layout.terms import Expression, Index, Length, Path

__all__ = ["Scope", "chosen_by_key", "number"]


class Scope:
    """The fields of one record, which is in memory at `source`.

    `records` are those that it holds, by name. `around` is the record that holds it, where it is seen.
    """

    def __init__(
        self,
        record: RecordDecl,
        records: MappingType[str, RecordDecl],
        source: v.Value,
        around: Scope | None = None,
    ) -> None:
        self.record = record
        self.records = records
        self.layout = record.layout
        self.source = source
        self.around = around
        self._held = {item.field.label: item for item in record.fields if item.field is not None}
        self._outer = dict(zip(record.outer, record.parameters, strict=True))
        self.index: v.Value | None = around.index if around else None
        """The number of the element that is written, of the innermost list."""
        self.computed: dict[str, v.Value] = {}
        """Locals that hold what a field implies."""

    def member(self, field: Field) -> v.Value | None:
        """Return the place of a field that the client holds."""
        held = self._held.get(field.label)
        return None if held is None else v.Member(self.source, held.name, held.type)

    def implied(self, field: Field) -> v.Value | None:
        """Return the value of a field that the client does not hold: an integer or a bool.

        None where it has none, such as padding, or where it is constant bytes.
        """
        kind = valued(field.type)
        if isinstance(kind, Constant):
            return v.Int(kind.value) if isinstance(kind.value, int) else None
        if field.label in self.computed:
            return self.computed[field.label]
        expression = kind.expression if isinstance(kind, Computed) else field.derived
        if expression is None:
            return None
        boolean = isinstance(kind, Computed) and kind.boolean
        return truth(expression, self.value_of) if boolean else lower(expression, self.value_of)

    def value_of(self, wanted: Expression) -> v.Value | None:
        """Return what an expression of this layout reads; None for an operation."""
        match wanted:
            case Index():
                return self.index or self._outer[wanted]
            case Path(up=0, names=names):
                return self._read(names)
            case Length(path=Path(up=0, names=names)):
                return self._length(names)
            case Path(up=up, names=names):
                return self._outside(Path(up - 1, names))
            case Length(path=Path(up=up, names=names)):
                return self._outside(Length(Path(up - 1, names)))
        return None

    def _outside(self, term: Path | Length) -> v.Value | None:
        return self.around.value_of(term) if self.around else self._outer[term]

    def arguments(self, inner: RecordDecl) -> tuple[v.Value, ...]:
        """Return what the functions of a record inside of this one take."""
        found = [self.value_of(term) for term in inner.outer]
        assert None not in found
        return tuple(found)  # type: ignore[arg-type]

    def inside(self, field: Field) -> Scope:
        """Return the scope of the record that a field is, seen from here."""
        source = self.member(field)
        assert source is not None
        return self.within(source)

    def within(self, source: v.Value) -> Scope:
        """Return the scope of the record at a place in this one, seen from here."""
        kind = of_type(source)
        assert isinstance(kind, v.RecordType)
        return Scope(self.records[kind.name], self.records, source, self)

    def of_element(self, element: v.Value, kind: Type) -> Callable[[Expression], v.Value | None]:
        """Return what the condition of an Until reads: the element as `obj_`, and this record around it."""

        def value_of(wanted: Expression) -> v.Value | None:
            match wanted:
                case Path(up=0, names=(_,)):
                    return number(element, valued(kind))
                case Path(up=0, names=(_, *names)):
                    return self.within(element)._read(tuple(names))
                case Length(path=Path(up=0, names=(_,))):
                    return v.Count(element)
                case Length(path=Path(up=0, names=(_, *names))):
                    return self.within(element)._length(tuple(names))
                case Path(up=up, names=names):
                    return self.value_of(Path(up - 1, names))
                case Length(path=Path(up=up, names=names)):
                    return self.value_of(Length(Path(up - 1, names)))
                case Index():
                    return self.value_of(wanted)
            return None

        return value_of

    def _read(self, names: tuple[str, ...]) -> v.Value:
        field = self.layout[names[0]]
        kind = valued(field.type)
        if len(names) > 1:
            assert isinstance(kind, Layout)
            return self.inside(field)._read(names[1:])
        found = self.member(field)
        if found is None:
            implied = self.implied(field)
            assert implied is not None, f"{names[0]} has no value"
            return implied
        return number(found, kind)

    def _length(self, names: tuple[str, ...]) -> v.Value:
        field = self.layout[names[0]]
        kind = valued(field.type)
        if len(names) > 1:
            assert isinstance(kind, Layout)
            return self.inside(field)._length(names[1:])
        if isinstance(kind, Constant):
            assert isinstance(kind.value, bytes)
            return v.Int(len(kind.value))
        if isinstance(kind, Array) and isinstance(kind.count, int):
            return v.Int(kind.count)
        found = self.member(field)
        assert found is not None, f"{names[0]} is not held"
        return v.Count(found)


def number(value: v.Value, kind: Type) -> v.Value:
    """Return what an expression reads of a value that is held: of an enumeration its integer."""
    integer = integer_of(kind)
    if isinstance(of_type(value), v.EnumType):
        assert integer is not None
        return v.Number(value, integer.lowest, integer.highest)
    return value


def chosen_by_key(
    kind: Switch,
    bodies: Sequence[tuple[st.Statement, ...]],
    otherwise: tuple[st.Statement, ...],
    scope: Scope,
) -> tuple[st.Statement, ...]:
    """Return the statements that run the body of the case that a Switch's key selects, or `otherwise`."""
    found = lower(kind.key, scope.value_of)
    pairs = [(key, body) for (key, _), body in zip(kind.cases, bodies, strict=False)]
    if all(isinstance(key, int) for key, _ in pairs):
        return (st.Pick(found, tuple(((int(key),), body) for key, body in pairs), otherwise),)
    for key, body in reversed(pairs):
        assert isinstance(key, bytes | str), "keys are all numbers, or none is"
        otherwise = (st.When(is_literal(found, key), body, otherwise),)
    return otherwise

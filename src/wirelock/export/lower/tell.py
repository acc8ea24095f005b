"""A record's Layout -> the function that writes it as JSON, as the record class in Python would."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingType

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import Names, of_type, truth
from wirelock.export.lower.units import POSITION, is_option, stands_inline
from wirelock.export.lower.write_scope import Scope, chosen_by_key, number
from wirelock.export.program import Function, RecordDecl
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Computed,
    Constant,
    Enum,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Mapping,
    Nothing,
    Optional,
    Padding,
    Scaled,
    Select,
    Sequence,
    Switch,
    Terminated,
    Text,
    Time,
    Type,
    VarInt,
    valued,
)

__all__ = ["tell_function"]

_Told = tuple[st.Statement, ...]
_NULL: _Told = (st.Tell("null"),)


def tell_function(record: RecordDecl, records: MappingType[str, RecordDecl]) -> Function:
    """Return `tell`; `records` are those inside, by name."""
    scope = Scope(record, records, v.Self(v.RecordType(record.name)))
    teller = _Teller(Names(local.name for local in record.parameters))
    return Function("tell", record.name, record.parameters, teller.record(scope))


class _Teller:
    """Writes the statements of one function."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def record(self, scope: Scope) -> _Told:
        """Tell the fields that the record in Python has, in their order."""
        found: list[st.Statement] = [st.Tell("{")]
        for field in scope.layout.fields:
            if field.in_record:
                value = scope.member(field) or scope.implied(field)
                found += (st.Tell("key", field.label), *self.value(field.type, value, scope))
        return (*found, st.Tell("}"))

    def value(self, kind: Type, value: v.Value | None, scope: Scope) -> _Told:
        """Tell one value; it is None where it is neither held nor computed."""
        match kind := valued(kind):
            case Constant(value=bytes(octets)):
                return (st.Tell("text", octets.hex()),)
            case Constant(value=int(constant)):
                return (st.Tell("integer", v.Int(constant)),)
            case Nothing() | Padding() | Terminated():
                return _NULL
            case If() | Optional():
                return self._option(kind, value, scope)
            case Array():
                return self._list(kind, value, scope)
            case Sequence(types=types):
                inside = scope.within(value) if value else None
                items = (
                    [inside.member(field) for field in inside.layout.fields]
                    if inside
                    else [None] * len(types)
                )
                told = [self.value(part, item, scope) for part, item in zip(types, items, strict=True)]
                return (st.Tell("["), *(piece for pieces in told for piece in pieces), st.Tell("]"))
            case Switch():
                return self._switch(kind, value, scope)
            case Select(cases=records) if value is not None:
                return self._cases(value, [layout for _, layout in records], scope)
        assert value is not None, f"{kind} has no value"
        match kind:
            case Mapping(members=members):
                cases = tuple(((raw,), self._key(key)) for key, raw in members)
                return (st.Pick(number(value, kind), cases, _NULL),)
            case Integer() | Enum() | Flags() | Time() | VarInt():
                return (st.Tell("integer", number(value, kind)),)
            case Computed(boolean=boolean):
                return (st.Tell("bool" if boolean else "integer", value),)
            case Flag():
                return (st.Tell("bool", value),)
            case Float(bits=bits):
                return (st.Tell("float", value, bits),)
            case Scaled():
                return (st.Tell("float", value, 64),)
            case Bytes():
                return (st.Tell("bytes", value),)
            case Text():
                return (st.Tell("text", value),)
            case Layout():
                inside = scope.within(value)
                if stands_inline(kind):
                    return self.record(inside)
                return (st.Tell("record", value, arguments=scope.arguments(inside.record)),)
        raise AssertionError(f"{kind} is refused")

    def _key(self, key: str | int) -> _Told:
        return (st.Tell("text", key),) if isinstance(key, str) else (st.Tell("integer", v.Int(key)),)

    def _option(self, kind: If | Optional, value: v.Value | None, scope: Scope) -> _Told:
        inner = kind.type if isinstance(kind, If) else kind.inner
        if value is not None and is_option(inner):
            return self.value(inner, value, scope)
        match of_type(value) if value else None:
            case None:
                assert isinstance(kind, If)
                there, inside = truth(kind.condition, scope.value_of), None
            case v.BoolType():
                assert value is not None
                there, inside = value, None
            case v.OptionType(inner=held):
                assert value is not None
                there, inside = v.Present(value), v.Within(value, held)
        return (st.When(there, self.value(inner, inside, scope), _NULL),)

    def _switch(self, kind: Switch, value: v.Value | None, scope: Scope) -> _Told:
        if value is not None and isinstance(of_type(value), v.ChoiceType):
            return self._cases(value, kind.types, scope)
        told = [self.value(case, value, scope) for case in kind.types]
        if all(pieces == told[0] for pieces in told):
            return told[0]
        otherwise = _NULL if kind.default is None else told[-1]
        return chosen_by_key(kind, told, otherwise, scope)

    def _cases(self, value: v.Value, kinds: Iterable[Type], scope: Scope) -> _Told:
        """Tell what a choice holds."""
        choice = of_type(value)
        assert isinstance(choice, v.ChoiceType)
        kinds = [*kinds]
        numbers = {kind for kind in kinds if isinstance(valued(kind), Integer | VarInt | Time | Computed)}
        width = next((kind.bits for kind in map(valued, kinds) if isinstance(kind, Float)), 64)
        cases = []
        for at, (kind, (_, held)) in enumerate(zip(kinds, choice.cases, strict=True)):
            inside = None if held is None else v.CaseOf(value, at, held)
            told = self.value(kind, inside, scope)
            if inside is not None and isinstance(valued(kind), Float):
                told = self._float_of_several(inside, width)
            elif inside is not None and isinstance(valued(kind), Flag) and numbers & {*kinds[:at]}:
                told = (st.Tell("integer", v.Number(inside, 0, 1)),)  # as pydantic writes a bool among ints
            cases.append(((at,), told))
        return (st.Pick(v.Which(value), tuple(cases), _NULL),)

    def _float_of_several(self, value: v.Value, bits: int) -> _Told:
        """Tell a float where others could stand: a NaN has the digits of the first that holds it."""
        fits = v.Call("float_fits", (value, v.Int(bits)), v.BoolType())
        one = st.Tell("float", value, bits)
        return (one,) if bits == 64 else (st.When(fits, (one,), (st.Tell("float", value, 64),)),)

    def _list(self, kind: Array, value: v.Value | None, scope: Scope) -> _Told:
        if value is None:
            assert isinstance(kind.count, int)
            return (st.Tell("["), *self.value(kind.element, None, scope) * kind.count, st.Tell("]"))
        listed, outer = of_type(value), scope.index
        assert isinstance(listed, v.ListType)
        scope.index = index = v.Local(self.names.new("i"), POSITION)
        told = self.value(kind.element, v.Item(value, index, listed.element), scope)
        scope.index = outer
        count = v.Int(listed.size) if listed.size is not None else v.Count(value)
        return (st.Tell("["), st.For(index, count, told), st.Tell("]"))

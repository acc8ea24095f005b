"""construct's choices -> types of nodes: If, IfThenElse, Switch, Optional and Select."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import construct

from wirelock.layout.expression import (
    interval_of,
    is_key,
    member_value,
    read_condition,
    read_key,
)
from wirelock.layout.leaves import Place, unwrap
from wirelock.layout.limits import MAX_CASES
from wirelock.layout.nodes import (
    Bytes,
    Constant,
    Enum,
    If,
    Integer,
    Layout,
    Nothing,
    Opaque,
    Optional,
    Padding,
    Select,
    Switch,
    Terminated,
    Text,
    Type,
    valued,
)
from wirelock.layout.remedies import REMEDIES
from wirelock.layout.scope import UNKNOWN
from wirelock.layout.sizes import size_of
from wirelock.layout.terms import Key, Number, Operation, Path


def _read_if(source: Any, at: Place) -> Type:
    _no_choice_in_bits("If", at)
    condition = read_condition(source.condfunc, at.scope, at.path)
    then, other = unwrap(source.thensubcon), unwrap(source.elsesubcon)
    if other is construct.Pass:
        return If(condition, at.deeper().read(then))
    negated = Operation("==", (condition, Number(0)))
    if then is construct.Pass:
        return If(negated, at.deeper().read(other))
    cases = ((0, other), (1, then))
    read = tuple(
        (key, at.deeper().within("<then>" if key else "<else>").read(case))
        for key, case in cases
        if case is not construct.Error
    )
    if not read:
        raise at.refuse("IfThenElse between two Errors", "leave it out")
    return Switch(Operation("==", (negated, Number(0))), read, None)


def _read_select(source: Any, at: Place) -> Type:
    """Read a Select: which alternative it is must be plain from the first bytes, or from there being none."""
    if len(source.subcons) == 2 and unwrap(source.subcons[1]) is construct.Pass:
        return _read_optional(source, at)
    _no_choice_in_bits("Select", at)
    if all(isinstance(unwrap(part), construct.Const) for part in source.subcons):
        values = ", ".join(repr(unwrap(part).value) for part in source.subcons)
        raise at.refuse("a Select of constants", f"use OneOf around their field: OneOf(..., [{values}])")
    if at.phase:
        raise at.refuse("Select that starts within a byte", "let it start with a byte")
    cases: list[tuple[bytes, Layout]] = []
    for number, part in enumerate(source.subcons):
        here = at.deeper().within(f"<{number}>")
        found = here.read(part)
        start = _begins_with(found) if isinstance(found, Layout) else b""
        if found is UNKNOWN:
            continue
        if not start or not isinstance(found, Layout):
            raise here.refuse(
                "nothing says which alternative it is", f"begin each with a Const; {REMEDIES['Select']}"
            )
        if any(start.startswith(other) or other.startswith(start) for other, _ in cases):
            raise here.refuse(f"two alternatives begin with {start.hex(' ')}", "give each a Const of its own")
        if not found.fields[0].in_record:
            raise here.refuse(
                "the constant that says which alternative it is has no public name", "name it, as kind"
            )
        cases.append((start, found))
    return Select(tuple(cases)) if cases else UNKNOWN


def _begins_with(layout: Layout) -> bytes:
    """Return the bytes that a record always begins with."""
    start = b""
    for item in layout.fields if layout.order == "wire" else ():
        match item.type:
            case Constant(value=bytes(value)) if not item.position.pieces:
                start += value
            case Constant(type=Integer(bits=bits, signed=signed, order=order), value=int(value)) if (
                not item.position.pieces
            ):
                start += value.to_bytes(bits // 8, order, signed=signed)
            case _:
                break
    return start


def _read_optional(source: Any, at: Place) -> Type:
    if at.bits:
        raise at.refuse("Optional inside a bit region", "put it behind the region")
    inner = at.deeper().read(source.subcons[0])
    if size_of(inner).lowest == 0:
        raise at.refuse("an Optional of what may take no bytes", "give it at least one byte")
    if _may_be_none(inner):
        raise at.refuse(
            "an Optional of what may be None itself", "put it into a Struct, so that None means absent"
        )
    return Optional(inner)


def _may_be_none(kind: Type) -> bool:
    """Whether a value can be None where bytes are."""
    inner = valued(kind)
    if isinstance(inner, Switch):
        return any(map(_may_be_none, inner.types))
    return isinstance(inner, Nothing | Padding | Terminated | If | Optional | Opaque)


def _read_switch(source: Any, at: Place) -> Type:
    _no_choice_in_bits("Switch", at)
    key, literal = read_key(source.keyfunc, at.scope, at.path)
    if literal is not None:
        return Switch(key, _literal_cases(source, literal, at), _default_case(source, at))
    holder = at.scope.resolve(key, at.path) if isinstance(key, Path) else None
    lowest, highest = interval_of(source.keyfunc, at.scope, at.path)
    cases: dict[int, Type] = {}
    _check_cases(source, at)
    for number, (name, case) in enumerate(source.cases.items()):
        value = member_value(holder, name) if isinstance(holder, Enum) else name
        if holder is None and isinstance(key, Path) and not isinstance(name, int):
            value = number  # the key lies around the record; it is read again where the record is held
        if value is None or not isinstance(value, int):
            known = (
                ", ".join(member for member, _ in holder.members) if isinstance(holder, Enum) else "integers"
            )
            at.note(at.refuse(f"the case {name!r} can never be the key", f"the key's values are {known}"))
            continue
        if not lowest <= value <= highest:
            remedy = f"the key lies in {lowest}..{highest}"
            at.note(at.refuse(f"the case {name!r} can never be the key", remedy))
        if int(value) in cases:
            at.note(at.refuse(f"two cases have the key {int(value)}", "leave one out"))
        cases[int(value)] = at.deeper().within(f"<{name}>").read(case)
    if not cases:
        raise at.refuse("a Switch without cases", "name its cases")
    return Switch(key, tuple(sorted(cases.items(), key=lambda case: case[0])), _default_case(source, at))


def _check_cases(source: Any, at: Place) -> None:
    if len(source.cases) > MAX_CASES:
        raise at.refuse(f"a Switch of {len(source.cases)} cases", f"split it: {MAX_CASES} are the most")
    if not source.cases:
        raise at.refuse("a Switch without cases", "name its cases")


def _literal_cases(source: Any, kind: Bytes | Text, at: Place) -> tuple[tuple[Key, Type], ...]:
    """Read the cases of a Switch over bytes or text."""
    _check_cases(source, at)
    cases: list[tuple[Any, Type]] = []
    for name, case in source.cases.items():
        if not is_key(kind, name):
            wanted = "text" if isinstance(kind, Text) else f"{kind.length} bytes"
            at.note(at.refuse(f"the case {name!r} can never be the key", f"the key is {wanted}"))
            continue
        cases.append((name, at.deeper().within(f"<{name!r}>").read(case)))
    return tuple(sorted(cases, key=lambda case: case[0]))


def _default_case(source: Any, at: Place) -> Type | None:
    if unwrap(source.default) in (construct.Pass, construct.Error):
        return None  # construct's own default is Pass, which would read an unknown key as nothing at all
    return at.deeper().within("<default>").read(source.default)


def _no_choice_in_bits(what: str, at: Place) -> None:
    if at.bits:
        raise at.refuse(
            f"{what} inside a bit region", "read the bits as integers and choose behind the region"
        )


BRANCHES: Final[dict[type, Callable[[Any, Place], Type]]] = {
    construct.IfThenElse: _read_if,
    construct.Switch: _read_switch,
    construct.Select: _read_select,
}

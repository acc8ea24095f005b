"""What statements say without being run: which locals they use and change, and what holds behind a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TypeAlias

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import of_type
from wirelock.export.typescript.module import Module, nodes_in

__all__ = [
    "Pinned", "absent_where", "breaks_from_switch", "changed", "declared_in", "ends", "float_told",
    "held_where", "pinned_by", "plain_numbers", "present_where", "used_in",
]  # fmt: skip

Pinned: TypeAlias = v.Value | tuple[v.Value, int | bytes]
"""What the compiler refuses to compare again: a value that is one constant, or not the one beside it."""


def changed(node: object) -> Iterator[v.Local]:
    """Yield the locals that a statement changes."""
    match node:
        case st.Set(target=v.Local() as local) | st.ReadVarint(at=local) | st.Extend(size=local):
            yield local
        case st.Read(result=v.Local() as local):
            yield local


def declared_in(node: object) -> Iterator[v.Local]:
    """Yield the local that a statement declares."""
    match node:
        case st.Let(local=local) | st.Var(local=local) | st.For(index=local) | st.Reserve(at=local):
            yield local


def plain_numbers(body: Sequence[st.Statement]) -> set[str]:
    """Return the floats whose payload does not matter: only compared, or kept where no NaN can be."""
    floats = {
        node.local.name
        for node in nodes_in(body)
        if isinstance(node, st.Let) and isinstance(node.local.type, v.FloatType) and node.local.type.nan
    }
    uses: Counter[str] = Counter()
    for node in nodes_in(body):
        match node:
            case v.Local(name=name):
                uses[name] += 1
            case st.Let(local=local):
                uses[local.name] -= 1
            case v.Op(operands=operands):
                uses.subtract(item.name for item in operands if isinstance(item, v.Local))
            case st.Set(target=target, value=v.Local(name=name)):
                kind = of_type(target)
                if isinstance(kind, v.FloatType) and not kind.nan:
                    uses[name] -= 1
    return {name for name in floats if not uses[name]}


def used_in(node: object, module: Module) -> Iterator[str]:
    """Yield the names of the locals that statements use: not those that are for what a callee ignores."""
    match node:
        case tuple():
            for item in node:
                yield from used_in(item, module)
        case st.Let(value=value) | st.Var(value=value):
            yield from used_in(value, module)
        case st.Reserve(size=size):
            yield from used_in(size, module)
        case st.Read(record=record, load=load):
            unused = module.traits[record, "load" if load else "read"].unused
            known = {"at": node.at, "end": node.end} | _given(node, "load" if load else "read", module)
            kept = tuple(value for name, value in known.items() if name not in unused)
            yield from used_in((*kept, node.target, node.steps, node.result), module)
        case st.Write(record=record, at=at):
            kind = "write" if at is None else "store"
            unused = module.traits[record, kind].unused
            known = {"at": at, "record": node.source} | _given(node, kind, module)
            kept = tuple(value for name, value in known.items() if name not in unused)
            yield from used_in((*kept, node.steps), module)
        case v.Local(name=name):
            yield name
        case v.IntType() | v.FloatType() | v.ListType() | v.OptionType() | v.ChoiceType():
            pass
        case _ if is_dataclass(node):
            for item in fields(node):
                yield from used_in(getattr(node, item.name), module)


def _given(node: st.Read | st.Write, kind: str, module: Module) -> dict[str, v.Value | None]:
    called = next(item for item in module.records[node.record].functions if item.kind == kind)
    return {local.name: value for local, value in zip(called.parameters, node.arguments, strict=True)}


def pinned_by(condition: v.Value, holds: bool) -> set[Pinned]:
    """Return what Values.pinned has where a condition holds, or where it does not."""
    match condition:
        case v.Op(operator="==" | "!=" as name, operands=(v.Number(of=of), v.Int(value=0 | 1 as bit))) if (
            isinstance(of_type(of), v.BoolType)
        ):
            return pinned_by(of, holds is ((name == "==") is (bit == 1)))
        case v.Equal(of=of, octets=octets) if of is not None:
            return {of} if holds else {(of, octets)}
        case v.Op(operator="==" | "!=" as name, operands=(left, v.Int(value=constant))):
            return {left} if (name == "==") is holds else {(left, constant)}
        case v.Op(operator="and" | "or" as name, operands=operands) if (name == "and") is holds:
            return set[Pinned]().union(*(pinned_by(item, holds) for item in operands))
        case v.Op(operator="not", operands=(inner,)):
            return pinned_by(inner, not holds)
    return set()


def present_where(condition: v.Value) -> set[v.Value]:
    """Return the options that hold a value where a condition holds."""
    match condition:
        case v.Present(of=of):
            return {of}
        case v.Op(operator="and", operands=operands):
            return set[v.Value]().union(*map(present_where, operands))
        case v.Op(operator="not", operands=(inner,)):
            return absent_where(inner)
    return set()


def absent_where(condition: v.Value) -> set[v.Value]:
    """Return the options that hold a value where a condition does not hold."""
    match condition:
        case v.Op(operator="or", operands=operands):
            return set[v.Value]().union(*map(absent_where, operands))
        case v.Op(operator="not", operands=(inner,)):
            return present_where(inner)
    return set()


def held_where(condition: v.Value, operator: str) -> frozenset[tuple[v.Value, int]]:
    """Return the case that a choice holds where a comparison says so."""
    match condition:
        case v.Op(operator=name, operands=(v.Which(of=of), v.Int(value=number))) if name == operator:
            return frozenset({(of, number)})
    return frozenset()


def float_told(when: st.When) -> tuple[v.Value, int, st.Place] | None:
    """Return the float, its width and the place, where it does not fit and what is said is why."""
    match when:
        case st.When(
            v.Op("not", (v.Call("float_fits", (value, v.Int(bits))),)),
            (st.When(then=(st.Fail("out-of-range"),)), st.Fail("not-canonical", place)),
            (),
        ):
            assert not isinstance(value, str | bool)
            return value, bits, place
    return None


def ends(body: Sequence[st.Statement]) -> bool:
    """Whether nothing runs behind a block."""
    match body[-1] if body else None:
        case st.Fail() | st.Return() | st.Break():
            return True
        case st.When(then=then, otherwise=otherwise):
            return ends(then) and ends(otherwise)
        case st.Pick(cases=cases, otherwise=otherwise):
            return ends(otherwise) and all(ends(item) for _, item in cases)
    return False


def breaks_from_switch(body: Sequence[st.Statement], switched: bool = False) -> bool:
    """Whether a Break leaves a loop from within a switch."""
    for statement in body:
        match statement:
            case st.Break() if switched:
                return True
            case st.When(then=then, otherwise=otherwise):
                if breaks_from_switch(then, switched) or breaks_from_switch(otherwise, switched):
                    return True
            case st.Pick(cases=cases, otherwise=otherwise):
                if any(breaks_from_switch(part, True) for _, part in cases):
                    return True
                if breaks_from_switch(otherwise, True):
                    return True
    return False

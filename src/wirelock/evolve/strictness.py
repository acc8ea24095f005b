"""Which of two conditions takes less: where ranges and sets can be compared, otherwise that they differ."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from wirelock.layout.terms import Expression, Limit, Number, Operation

__all__ = ["Change", "of_limits", "of_rules"]

Change: TypeAlias = Literal["tightened", "loosened", "changed", "same"]

_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def of_limits(was: Limit | None, now: Limit | None) -> Change:
    """Return what became of one kind of limit on one value."""
    if was is None or now is None:
        return "tightened" if was is None else "loosened"
    old: Any = was.value
    new: Any = now.value
    if old == new:
        return "same"
    match now.kind:
        case "ge" | "gt" | "min_length":
            return _by(new > old, new < old)
        case "le" | "lt" | "max_length":
            return _by(new < old, new > old)
        case "multiple_of":
            return _by(new % old == 0, old % new == 0)
        case "one_of":
            return _by(set(new) < set(old), set(new) > set(old))
        case "none_of":
            return _by(set(new) > set(old), set(new) < set(old))


def of_rules(was: Expression | None, now: Expression | None) -> Change:
    """Return what became of one rule. Comparisons of the same thing with numbers can be compared."""
    if was is None or now is None:
        return "tightened" if was is None else "loosened"
    old, new = _bound(was), _bound(now)
    if old is None or new is None or old[:2] != new[:2]:
        return "changed"
    if new[1] in ("<", "<="):
        return _by(new[2] < old[2], new[2] > old[2])
    if new[1] in (">", ">="):
        return _by(new[2] > old[2], new[2] < old[2])
    return "changed"


def _by(tighter: bool, looser: bool) -> Change:
    return "tightened" if tighter else "loosened" if looser else "changed"


def _bound(rule: Expression) -> tuple[Expression, str, float] | None:
    """Return what a rule compares, how, and with which number; None if it is no such comparison."""
    match rule:
        case Operation(operator=name, operands=(left, Number(value=value))) if name in _MIRRORED:
            return left, name, value
        case Operation(operator=name, operands=(Number(value=value), right)) if name in _MIRRORED:
            return right, _MIRRORED[name], value
    return None

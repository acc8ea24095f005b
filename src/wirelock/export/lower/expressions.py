"""Expressions of a layout -> values of an exported codec, with the interval of every node.

`lower` gives an integer and `truth` a bool, from what a function calls the fields: `value_of` gives the
Value of a Path, a Length or the Index, and None for operations that it has no local for. A Mapping's key is
the number of its member. A part of a rule that occurs twice becomes a local.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.layout.bounds import MAX_LENGTH
from wirelock.layout.operators import COMPARISONS, OPERATORS, Interval
from wirelock.layout.terms import Expression, Literal, Number, Operation, Path, Rule

__all__ = [
    "Names", "ValueOf", "all_of", "any_of", "as_float", "compared", "int_type", "integer", "interval_of",
    "is_float", "is_literal", "joined", "lower", "negated", "of_type", "operation", "plus", "rule_notes",
    "truth",
]  # fmt: skip

ValueOf: TypeAlias = Callable[[Expression], v.Value | None]


class TooWideError(ValueError):
    """An expression can leave 64 bits, so that no local holds it."""


def interval_of(value: v.Value) -> Interval:
    """Return the least and the greatest integer that a value can be; of a bool 0 and 1."""
    match value:
        case v.Int(value=constant):
            return constant, constant
        case v.Op(low=low, high=high) | v.Number(low=low, high=high) | v.Call(low=low, high=high):
            return low, high
        case v.Load(bits=bits, signed=signed):
            return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        case v.BitsOf(bits=bits):
            return 0, (1 << bits) - 1
        case v.Count() | v.Written() | v.FaultCount():
            return 0, MAX_LENGTH
        case v.Truth() | v.Present() | v.Equal():
            return 0, 1
        case v.Which():
            return 0, MAX_LENGTH
    match of_type(value):
        case v.IntType(low=low, high=high):
            return low, high
        case v.BoolType():
            return 0, 1
    raise ValueError(f"{value} is no integer")


def of_type(value: v.Value) -> v.Type | None:
    """Return the type of a place, a cast or a call; None for what is computed."""
    match value:
        case (
            v.Self(type=kind) | v.Local(type=kind) | v.Member(type=kind) | v.Item(type=kind)
            | v.Within(type=kind) | v.CaseOf(type=kind) | v.Cast(type=kind) | v.Call(type=kind)
        ):  # fmt: skip
            return kind
        case v.Slice(fixed=fixed):
            return v.BytesType(fixed)
        case v.Truth() | v.Present() | v.Equal():
            return v.BoolType()
        case v.Op(operator=name) if name in (*COMPARISONS, "and", "or", "not"):
            return v.BoolType()
    return None


def int_type(low: int, high: int) -> v.IntType:
    """Return the type of a local that holds an interval: 32 bits, or 64 where they are needed."""
    for bits in (32, 64):
        for signed in (True, False):
            found = v.IntType(bits, signed, low, high)
            least = -(1 << (bits - 1)) if signed else 0
            if least <= low and high < least + (1 << bits):
                return found
    raise TooWideError(f"no 64 bits hold {low}..{high}")


def operation(operator: str, *operands: v.Value) -> v.Value:
    """Return an operation over integers, with its interval; what can only be one integer is that."""
    constants = [item.value for item in operands if isinstance(item, v.Int)]
    if len(constants) == len(operands):
        return v.Int(int(OPERATORS[operator].compute(*constants)))
    low, high = OPERATORS[operator].interval(*map(interval_of, operands))
    return v.Int(low) if low == high else v.Op(operator, operands, low, high)


def joined(parts: Iterable[v.Value]) -> v.Value:
    """Return the bits of all parts together: as a tree that is no deeper than it must be."""
    found = [*parts]
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        odd = found[len(found) - len(found) % 2 :]
        found = [*(operation("|", left, right) for left, right in pairs), *odd]
    return found[0] if found else v.Int(0)


def plus(left: v.Value, right: v.Value | int) -> v.Value:
    """Return a sum; of constants the constant, and nothing is added where one is 0."""
    right = v.Int(right) if isinstance(right, int) else right
    match left, right:
        case _, v.Int(value=0):
            return left
        case v.Int(value=0), _:
            return right
        case v.Int(value=one), v.Int(value=other):
            return v.Int(one + other)
        case v.Op(operator="+", operands=(first, v.Int(value=one))), v.Int(value=other):
            return plus(first, one + other)
    return operation("+", left, right)


def compared(operator: str, left: v.Value, right: v.Value | int) -> v.Op:
    """Return a comparison of integers, which is a bool."""
    return v.Op(operator, (integer(left), v.Int(right) if isinstance(right, int) else integer(right)), 0, 1)


def negated(condition: v.Value) -> v.Value:
    """Return a bool that holds where another does not."""
    opposite = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
    match condition:
        case v.Truth(value=value):
            return v.Truth(not value)
        case v.Op(operator="not", operands=(inner,)):
            return inner
        case v.Op(operator=name, operands=operands) if name in opposite and not any(map(is_float, operands)):
            return v.Op(opposite[name], operands, 0, 1)
        case v.Op(operator="and" | "or" as name, operands=operands):
            return v.Op("or" if name == "and" else "and", tuple(map(negated, operands)), 0, 1)
    return v.Op("not", (condition,), 0, 1)


def any_of(conditions: Iterable[v.Value]) -> v.Value:
    """Return a bool that holds where one of some does."""
    return _joined("or", conditions, empty=False)


def all_of(conditions: Iterable[v.Value]) -> v.Value:
    """Return a bool that holds where all of some do."""
    return _joined("and", conditions, empty=True)


def _joined(operator: str, conditions: Iterable[v.Value], *, empty: bool) -> v.Value:
    found: list[v.Value] = []
    for condition in conditions:
        match condition:
            case v.Op(operator=name, operands=operands) if name == operator:
                found += operands
            case v.Truth(value=value) if value is empty:
                pass
            case v.Truth():
                return condition
            case _:
                found.append(condition)
    if not found:
        return v.Truth(empty)
    return found[0] if len(found) == 1 else v.Op(operator, tuple(found), 0, 1)


def is_float(value: v.Value) -> bool:
    """Whether a value is a float."""
    return isinstance(value, v.Real | v.FloatOf) or isinstance(of_type(value), v.FloatType)


def integer(value: v.Value) -> v.Value:
    """Return a value as an integer: a bool as 0 or 1, a member of an enumeration as its number."""
    match of_type(value):
        case v.BoolType():
            return v.Number(value, 0, 1)
        case v.EnumType():
            raise ValueError("the interval of an enumeration is its integer's: give a Number")
    return value


def lower(expression: Expression, value_of: ValueOf) -> v.Value:
    """Return an expression as an integer."""
    return integer(_value(expression, value_of))


def truth(expression: Expression, value_of: ValueOf) -> v.Value:
    """Return whether an expression is not zero, as a bool."""
    match expression if value_of(expression) is None else None:
        case Operation(operator="&" | "|" as name, operands=operands) if all(map(_is_truth, operands)):
            # Both sides are 0 or 1 and cannot fail, so that it does not matter whether both are computed.
            parts = [truth(operand, value_of) for operand in operands]
            return all_of(parts) if name == "&" else any_of(parts)
        case Operation(operator="not", operands=(operand,)):
            return negated(truth(operand, value_of))
    found = _value(expression, value_of)
    if isinstance(of_type(found), v.BoolType):
        return found
    return v.Truth(found.value != 0) if isinstance(found, v.Int) else compared("!=", found, 0)


def _is_truth(expression: Expression) -> bool:
    """Whether an expression can only be 0 or 1, by its operator."""
    match expression:
        case Operation(operator=name, operands=operands):
            return name in (*COMPARISONS, "not") or (name in "&|" and all(map(_is_truth, operands)))
    return False


def _value(expression: Expression, value_of: ValueOf) -> v.Value:
    known = value_of(expression)
    if known is not None:
        return known
    match expression:
        case Number(value=int(value)):
            return v.Int(value)
        case Number(value=value):
            return v.Real(float(value))
        case Operation(operator=name, operands=(left, right)) if name in COMPARISONS:
            return _comparison(name, left, right, value_of)
        case Operation(operator="not"):
            return truth(expression, value_of)
        case Operation(operator="if", operands=(condition, then, other)):
            parts = truth(condition, value_of), lower(then, value_of), lower(other, value_of)
            return operation("if", *parts)
        case Operation(operator=name, operands=operands):
            if name in ("&", "|") and all(map(_is_truth, operands)):
                return truth(expression, value_of)
            return operation(name, *(lower(operand, value_of) for operand in operands))
    raise ValueError(f"{expression} has no value here")


def _comparison(name: str, left: Expression, right: Expression, value_of: ValueOf) -> v.Value:
    if isinstance(left, Literal):
        left, right = right, left
    found = _value(left, value_of)
    if isinstance(right, Literal):
        same = is_literal(found, right.value)
        return same if name == "==" else negated(same)
    other = _value(right, value_of)
    if is_float(found) or is_float(other):
        return v.Op(name, (_real(found), _real(other)), 0, 1)
    return v.Op(name, (integer(found), integer(other)), 0, 1)


def is_literal(value: v.Value, literal: bytes | str) -> v.Value:
    """Return whether bytes or text are constant ones: text never is what its encoding has no bytes for."""
    if isinstance(literal, bytes):
        return v.Equal(None, value, literal)
    kind = of_type(value)
    assert isinstance(kind, v.TextType), value
    try:
        return v.Equal(None, value, literal.encode(kind.encoding))
    except UnicodeEncodeError:
        return v.Truth(False)


def _real(value: v.Value) -> v.Value:
    return v.Real(as_float(value.value)) if isinstance(value, v.Int) else value


def as_float(value: int | float) -> float:
    """Return a number as binary64; an infinity where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class Names:
    """Gives out names of locals that nothing else in a function has."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, hint: str) -> str:
        """Return a new name like the hint."""
        found, number = hint, 2
        while found in self._taken:
            found, number = f"{hint}_{number}", number + 1
        self._taken.add(found)
        return found


def _hint(part: Operation) -> str:
    """Return what a local for a part of an expression is called."""
    words = {"abs": "magnitude", "max": "greatest", "min": "least", "*": "product", "not": "opposite"}
    match part:
        case Operation(operator="abs", operands=(Path(names=(*_, name)),)):
            return f"magnitude_of_{name.strip('_')}"
        case Operation(operator=name) if name in COMPARISONS:
            return "holds"
    return words.get(part.operator, "part")


def rule_notes(
    rules: Iterable[Rule], value_of: ValueOf, names: Names, place: st.Place
) -> Iterator[st.Statement]:
    """Yield the statements that note the rules which do not hold.

    Parts that occur twice in them get locals, each before the first rule that reads it.
    """
    rules = [*rules]
    uses: Counter[Expression] = Counter()
    known: dict[Expression, v.Value] = {}

    def parts(expression: Expression) -> Iterator[Operation]:
        """Yield the operations of an expression, inner ones first; what was met before is not entered."""
        if isinstance(expression, Operation):
            uses[expression] += 1
            if uses[expression] == 1:
                for operand in expression.operands:
                    yield from parts(operand)
                yield expression

    def look(wanted: Expression) -> v.Value | None:
        return known.get(wanted) or value_of(wanted)

    needed = [[*parts(rule.expression)] for rule in rules]
    for rule, operations in zip(rules, needed, strict=True):
        for part in operations:
            if uses[part] > 1:
                boolean = _is_truth(part)
                value = truth(part, look) if boolean else lower(part, look)
                kind = v.BoolType() if boolean else int_type(*interval_of(value))
                known[part] = local = v.Local(names.new(_hint(part)), kind)
                yield st.Let(local, value)
        holds = truth(rule.expression, look)
        if holds != v.Truth(True):
            yield st.When(negated(holds), (st.Note("rule", f"rule:{rule.name}", place),))

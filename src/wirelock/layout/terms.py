"""What a layout says of values: expressions over fields, limits, rules. Frozen, compared by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, get_args
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class Number:
    """A constant. Floats appear only as one side of a comparison with a float field."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Literal:
    """Constant bytes or text, as one side of == or != with a field."""

    value: bytes | str


@dataclass(frozen=True, slots=True)
class Path:
    """The value of a field: `up` enclosing layouts out, then down through `names`."""

    up: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return "_." * self.up + ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Length:
    """The number of elements (Array) or bytes (Bytes) of the field at `path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Index:
    """The number of the element that is being read, of the innermost array around it; from 0."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator over integers; `operator` is a key of expression.OPERATORS."""

    operator: str
    operands: tuple[Expression, ...]


Expression: TypeAlias = Number | Literal | Path | Length | Index | Operation


Key: TypeAlias = int | bytes | str
"""What a case of a Switch stands for."""


def key_text(key: object) -> str:
    """Return the key of a Switch in words."""
    return str(int(key)) if isinstance(key, int) else repr(key)


def own_names(expression: Expression | None) -> set[str]:
    """Return the fields of the same layout that an expression reads."""
    match expression:
        case Path(up=0, names=names) | Length(path=Path(up=0, names=names)):
            return {names[0]}
        case Operation(operands=operands):
            return {name for operand in operands for name in own_names(operand)}
    return set()


@dataclass(frozen=True, slots=True)
class Rule:
    """A named condition over the fields of one record: it holds where `expression` is not zero."""

    name: str
    expression: Expression
    message: str = ""


LimitKind: TypeAlias = OneOf[
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "one_of", "none_of"
]
LIMITS: Final[tuple[LimitKind, ...]] = get_args(LimitKind)
"""The kinds of limits, in their canonical order."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A constraint of the record on one value: `value op argument`, on its length for min/max_length.

    Integers have ge, le, multiple_of, one_of and none_of; floats ge, gt, le and lt; bytes and text the
    lengths (of text in characters), one_of and none_of; arrays the lengths.
    """

    kind: LimitKind
    value: int | float | tuple[int | bool | bytes | str, ...]


def inner_path(path: str, label: str) -> str:
    """Return the path of a field inside of the record at `path`; that of the outermost record is empty."""
    return f"{path}.{label}" if path else label

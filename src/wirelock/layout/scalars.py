"""Numbers on the wire: the frozen scalar types of a layout, compared by value. See nodes.py for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

ByteOrder: TypeAlias = Literal["big", "little"]
Rounding: TypeAlias = Literal["half-even", "half-away", "floor"]


@dataclass(frozen=True, slots=True)
class Integer:
    """A two's complement or unsigned integer; `order` is "big" where there is but one byte."""

    bits: int
    signed: bool
    order: ByteOrder

    @property
    def lowest(self) -> int:
        """The least value that fits."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """The greatest value that fits."""
        return (1 << (self.bits - self.signed)) - 1


@dataclass(frozen=True, slots=True)
class Float:
    """IEEE 754 binary16, binary32 or binary64."""

    bits: int
    order: ByteOrder


@dataclass(frozen=True, slots=True)
class Flag:
    """A bool in one bit, or in one byte that may be 0 or 1 only."""

    bits: int


@dataclass(frozen=True, slots=True)
class Enum:
    """An integer that must be one of `members` (name, value)."""

    integer: Integer
    members: tuple[tuple[str, int], ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Flags:
    """An integer whose set bits must all belong to `members` (name, mask)."""

    integer: Integer
    members: tuple[tuple[str, int], ...]
    name: str = ""

    @property
    def mask(self) -> int:
        """All the bits that have a name."""
        mask = 0
        for _, bit in self.members:
            mask |= bit
        return mask


@dataclass(frozen=True, slots=True)
class Mapping:
    """An integer that stands for one of `members` (key, value); the record holds the key."""

    integer: Integer
    members: tuple[tuple[str | int, int], ...]


@dataclass(frozen=True, slots=True)
class Scaled:
    """An integer on the wire, a float in the record: (raw * multiply + add) / divide.

    The numerator is an exact integer below 2**53, so that the one division in binary64 gives the same
    float everywhere. `rounding` says how a value between two steps is rounded when a record is made.
    """

    integer: Integer
    multiply: int
    add: int
    divide: int
    unit: str
    rounding: Rounding

    def value(self, raw: int) -> float:
        """Return the float that an integer of the wire stands for."""
        return (raw * self.multiply + self.add) / self.divide


@dataclass(frozen=True, slots=True)
class Time:
    """An integer that counts `unit` (such as "ms") since `epoch`, which may be empty."""

    integer: Integer
    unit: str
    epoch: str


@dataclass(frozen=True, slots=True)
class VarInt:
    """Seven bits a byte, least significant first, in the fewest bytes; 64 bits at most.

    With `zigzag` signed: 0, -1, 1, -2 are written as 0, 1, 2, 3.
    """

    zigzag: bool

    @property
    def lowest(self) -> int:
        """The least value that fits."""
        return -(1 << 63) if self.zigzag else 0

    @property
    def highest(self) -> int:
        """The greatest value that fits."""
        return (1 << 63) - 1 if self.zigzag else (1 << 64) - 1


Scalar: TypeAlias = Integer | Float | Flag | Enum | Flags | Mapping | Scaled | Time


def by_value(members: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return members in the order of their values: in which order a class lists them changes nothing."""
    return tuple(sorted(members, key=lambda member: (member[1], member[0])))

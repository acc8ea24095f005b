"""What the machine of exported programs holds: records in a client's memory, and the fault slot.

Records are Held, lists are lists, a choice is Chosen, an option is its value or None, all others are Python's
own; a float is the float that Python has for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from wirelock.export import values as v
from wirelock.export.program import Program


@dataclass(frozen=True)
class Fault:
    """What a client is told: code, path, byte (None when building), bit within the byte."""

    code: str
    path: str
    byte: int | None = None
    bit: int | None = None


@dataclass
class Held:
    """A record in a client's memory: its fields by name."""

    record: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass
class Chosen:
    """A choice in a client's memory: the number of the case and its value."""

    number: int
    value: Any = None


@dataclass
class Slot:
    """The fault slot of a call."""

    code: str = ""
    steps: list[str | int] = field(default_factory=list)
    byte: int | None = None
    bit: int | None = None
    rank: int = 0
    count: int = 0
    """How many faults were put here."""

    def put(self, code: str, steps: list[str | int], byte: int | None, bit: int | None, rank: int) -> None:
        self.code, self.steps, self.byte, self.bit, self.rank = code, steps, byte, bit, rank
        self.count += 1

    @property
    def fault(self) -> Fault | None:
        if not self.count:
            return None
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        path = path.replace(".#", "#").removeprefix(".")
        return Fault(self.code, path, self.byte, self.bit)


UNSET: Final = object()
"""What a scalar holds before it is set."""


class Memory:
    """The records and enumerations of a program, and what variables of their types can hold."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.records = {record.name: record for record in program.records}
        self.enumerations = {item.name: item for item in program.enumerations}

    def fresh_record(self, name: str) -> Held:
        """Return a record before its fields are set: scalars may not be read, lists are empty."""
        return Held(name, {item.name: self.fresh(item.type) for item in self.records[name].fields})

    def fresh(self, kind: v.Type) -> Any:
        match kind:
            case v.RecordType(name=name):
                return self.fresh_record(name)
            case v.ListType(element=element, size=size):
                return [self.fresh(element) for _ in range(size or 0)]
            case v.OptionType():
                return None
        return UNSET

    def check(self, kind: v.Type, value: Any) -> None:
        """Assert that a value is one that a variable of this type can hold."""
        match kind:
            case v.IntType(bits=bits, signed=signed):
                lowest = -(1 << (bits - 1)) if signed else 0
                assert type(value) is int and lowest <= value < lowest + (1 << bits), (kind, value)
            case v.BoolType():
                assert type(value) is bool, (kind, value)
            case v.FloatType():
                assert type(value) is float, (kind, value)  # a NaN may stand until its fault is told
            case v.BytesType(size=size):
                assert type(value) is bytes and (size is None or len(value) == size), (kind, value)
            case v.TextType():
                assert type(value) is str, (kind, value)
            case v.EnumType(name=name):
                self.check(self.enumerations[name].storage, value)
            case v.RecordType(name=name):
                assert isinstance(value, Held) and value.record == name, (kind, value)
            case v.ListType(element=element, size=size):
                assert type(value) is list and (size is None or len(value) == size), (kind, value)
                for item in value:
                    self.check(element, item)
            case v.OptionType(inner=inner):
                if value is not None:
                    self.check(inner, value)
            case v.ChoiceType(cases=cases):
                assert isinstance(value, Chosen), (kind, value)
                inner_type = cases[value.number][1]
                assert (inner_type is None) == (value.value is None), (kind, value)
                if inner_type is not None:
                    self.check(inner_type, value.value)

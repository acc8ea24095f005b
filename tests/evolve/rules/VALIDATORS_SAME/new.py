import construct as cs
from pydantic import field_validator

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Byte)):
    a: int

    @field_validator("a")
    @classmethod
    def odd(cls, value: int) -> int:
        """Refuse even numbers."""
        if value % 2 == 0:
            raise ValueError("even")
        return value


PROTOCOLS = Registry(Protocol("p", {1: P}))

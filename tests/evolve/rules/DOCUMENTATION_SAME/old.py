import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Byte)):
    """A record."""

    a: int
    """A number."""


PROTOCOLS = Registry(Protocol("p", {1: P}))

import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Byte, "b" / cs.Byte)):
    a: int
    b: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("b" / cs.Byte, "a" / cs.Byte)):
    b: int
    a: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

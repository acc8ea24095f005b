import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("new" / cs.Byte, "a" / cs.Byte)):
    new: int
    a: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

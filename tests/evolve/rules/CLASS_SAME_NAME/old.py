import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Byte)):
    a: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

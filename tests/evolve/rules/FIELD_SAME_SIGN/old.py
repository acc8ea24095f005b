import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Int8ul)):
    a: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Float32l)):
    a: float


PROTOCOLS = Registry(Protocol("p", {1: P}))

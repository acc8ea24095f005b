import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Int8ub, "b" / cs.Int32ub)):
    a: int
    b: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

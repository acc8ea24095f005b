import construct as cs

from wirelock import Protocol, Record, Registry, derived


class P(Record, layout=cs.Struct("twice" / cs.Rebuild(cs.Byte, cs.this.a & 127), "a" / cs.Int8ub)):
    twice: int = derived()
    a: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

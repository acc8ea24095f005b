import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Byte, "b" / cs.If(cs.this.a > 0, cs.Byte))):
    a: int
    b: int | None


PROTOCOLS = Registry(Protocol("p", {1: P}))

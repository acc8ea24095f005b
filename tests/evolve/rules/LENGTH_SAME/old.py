import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("n" / cs.Byte, "xs" / cs.Array(cs.this.n, cs.Byte))):
    n: int
    xs: tuple[int, ...]


PROTOCOLS = Registry(Protocol("p", {1: P}))

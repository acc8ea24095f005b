import construct as cs

from wirelock import Protocol, Record, Registry, derived


class P(Record, layout=cs.Struct("n" / cs.Byte, "xs" / cs.Array(cs.this.n, cs.Byte), "end" / cs.Byte)):
    n: int = derived()
    xs: tuple[int, ...]
    end: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

import construct as cs

from wirelock import Protocol, Record, Registry, derived


class P(
    Record, layout=cs.Struct("count" / cs.Byte, "items" / cs.Array(cs.this.count, cs.Byte), "end" / cs.Byte)
):
    count: int = derived()
    items: tuple[int, ...]
    end: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

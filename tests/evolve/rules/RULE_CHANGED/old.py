import construct as cs

from wirelock import Protocol, Record, Registry, Rule


class P(
    Record, layout=cs.Struct("a" / cs.Byte, "b" / cs.Byte), rules=[Rule("order", cs.this.a <= cs.this.b)]
):
    a: int
    b: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

import construct as cs

from wirelock import Protocol, Record, Registry, Rule


class P(
    Record,
    layout=cs.Struct("a" / cs.Byte, "b" / cs.Byte),
    rules=[Rule("second", cs.this.b <= 3), Rule("first", cs.this.a <= 3)],
):
    a: int
    b: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

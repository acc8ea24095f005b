import construct as cs

from wirelock import Protocol, Record, Registry


class X(Record, layout=cs.Struct("x" / cs.Byte)):
    x: int


class Y(Record, layout=cs.Struct("y" / cs.Int16ub)):
    y: int


class P(
    Record,
    layout=cs.Struct("k" / cs.Byte, "j" / cs.Byte, "body" / cs.Switch(cs.this.k, {1: X.layout, 2: Y.layout})),
):
    k: int
    j: int
    body: X | Y


PROTOCOLS = Registry(Protocol("p", {1: P}))

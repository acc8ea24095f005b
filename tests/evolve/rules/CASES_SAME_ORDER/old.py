import construct as cs

from wirelock import Protocol, Record, Registry, derived


class X(Record, layout=cs.Struct("k" / cs.Const(1, cs.Byte), "x" / cs.Byte)):
    k: int = derived()
    x: int


class Y(Record, layout=cs.Struct("k" / cs.Const(2, cs.Byte), "y" / cs.Byte)):
    k: int = derived()
    y: int


class P(Record, layout=cs.Struct("body" / cs.Select(X.layout, Y.layout))):
    body: X | Y


PROTOCOLS = Registry(Protocol("p", {1: P}))

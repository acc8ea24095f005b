import construct as cs

from wirelock import Protocol, Record, Registry, derived


class P(Record, layout=cs.Struct("magic" / cs.Const(b"AB"), "a" / cs.Byte)):
    magic: bytes = derived()
    a: int


PROTOCOLS = Registry(Protocol("p", {1: P}))

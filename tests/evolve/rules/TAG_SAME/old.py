import construct as cs

from wirelock import Protocol, Record, Registry, derived


class P(Record, layout=cs.Struct("magic" / cs.Const(b"M"), "version" / cs.Const(1, cs.Byte), "a" / cs.Byte)):
    magic: bytes = derived()
    version: int = derived()
    a: int


PROTOCOLS = Registry(Protocol("p", {1: P}, tag=("magic", "version")))

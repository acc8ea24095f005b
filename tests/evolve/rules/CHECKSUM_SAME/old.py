import construct as cs

from wirelock import Protocol, Record, Registry, checksums, derived


class Body(Record, layout=cs.Struct("a" / cs.Byte, "b" / cs.Byte)):
    a: int
    b: int


class P(
    Record,
    layout=cs.Struct(
        "body" / cs.RawCopy(Body.layout), "sum" / cs.Checksum(cs.Byte, checksums.sum8, cs.this.body.data)
    ),
):
    body: Body
    sum: int = derived()


PROTOCOLS = Registry(Protocol("p", {1: P}))

from typing import Literal

import construct as cs

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Byte)):
    a: Literal[1, 2, 3]


PROTOCOLS = Registry(Protocol("p", {1: P}))

from enum import IntEnum

import construct as cs

from wirelock import Protocol, Record, Registry


class Colour(IntEnum):
    RED = 1
    BLUE = 2


class P(Record, layout=cs.Struct("colour" / cs.Enum(cs.Byte, Colour))):
    colour: Colour


PROTOCOLS = Registry(Protocol("p", {1: P}))

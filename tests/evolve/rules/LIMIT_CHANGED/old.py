from typing import Annotated

import construct as cs
from annotated_types import MultipleOf

from wirelock import Protocol, Record, Registry


class P(Record, layout=cs.Struct("a" / cs.Byte)):
    a: Annotated[int, MultipleOf(2)]


PROTOCOLS = Registry(Protocol("p", {1: P}))

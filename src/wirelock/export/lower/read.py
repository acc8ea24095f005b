"""A record's Layout -> the functions that read it: `load`, where it has a fixed size, and `read`.

Faults are those of codec/locate.py: the structure in wire order, then values, then rules. Values that follow
each other at fixed places are one run: it is checked once that all its bytes are there, and where they are
not, a cold block finds the fault.
"""

from __future__ import annotations

from collections.abc import Mapping

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import plus
from wirelock.export.lower.read_block import AT, END, ReadScope, left, less, pruned
from wirelock.export.lower.read_kinds import Kinds
from wirelock.export.lower.read_spot import Spot
from wirelock.export.program import Function, RecordDecl

__all__ = ["read_functions"]


def read_functions(record: RecordDecl, records: Mapping[str, RecordDecl]) -> tuple[Function, ...]:
    """Return `load` of a record of fixed size, and `read`; `records` are those that it holds, by name."""
    read = Function("read", record.name, record.parameters, _Reader(record, records).read())
    if record.size is None:
        return (read,)
    load = Function("load", record.name, record.parameters, _Reader(record, records).load())
    return load, read


class _Reader(Kinds):
    """Writes the body of one function."""

    def __init__(self, record: RecordDecl, records: Mapping[str, RecordDecl]) -> None:
        super().__init__(record, records)
        self.own = ReadScope(record, records, v.Self(v.RecordType(record.name)))

    def load(self) -> tuple[st.Statement, ...]:
        """Return the body of `load`."""
        with self.inside(self.own):
            self.members(Spot(AT), ())
        return pruned(tuple(self.statements))

    def read(self) -> tuple[st.Statement, ...]:
        """Return the body of `read`."""
        with self.inside(self.own):
            if self.record.size is None:
                self.add(st.Return(self.fields(AT, END, ())))
            else:
                self._read_whole(self.record.size)
        return pruned(tuple(self.statements))

    def _read_whole(self, size: int) -> None:
        """Read a record of fixed size: `load` does, once its bytes are there."""
        if size:
            with self.cold_run(AT, size) as body:
                self.members(Spot(AT), (), END)
            self.add(st.When(less(left(END, AT), size), tuple(body)))
        name = self.record.name
        self.add(
            st.Read(name, self.own.source, AT, None, (), None, self.record.parameters, load=True),
            st.Return(plus(AT, size)),
        )

"""A record's Layout -> the functions that write it: every value is checked, then stored.

Checks and their order are those of codec/check.py: what cannot be written is a structural fault in wire
order, then come limits, then rules. A record of fixed size has `store`; every record has `write`.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingType

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import Names
from wirelock.export.lower.places import fixed_size
from wirelock.export.lower.units import POSITION
from wirelock.export.lower.write_block import Block
from wirelock.export.lower.write_dynamic import Writer
from wirelock.export.lower.write_scope import Scope
from wirelock.export.program import Function, RecordDecl

__all__ = ["write_functions"]


def write_functions(record: RecordDecl, records: MappingType[str, RecordDecl]) -> tuple[Function, ...]:
    """Return `write`, and `store` where all lies at a fixed place; `records` are those inside, by name."""
    source = v.Self(v.RecordType(record.name))
    scope, given = Scope(record, records, source), [local.name for local in record.parameters]
    names = Names(["at", *given])
    if (size := fixed_size(record.layout)) is None:
        block = Block(names)
        Writer(names).record(scope, (), block)
        block.close()
        return (Function("write", record.name, record.parameters, tuple(block.statements)),)
    block = Block(names, v.Local("at", POSITION))
    Writer(names).record(scope, (), block)
    start = v.Local(Names(given).new("start"), POSITION)
    whole = (
        st.Reserve(start, v.Int(size // 8)),
        st.Write(record.name, source, (), record.parameters, start),
    )
    return (
        Function("store", record.name, record.parameters, tuple(block.statements)),
        Function("write", record.name, record.parameters, whole),
    )

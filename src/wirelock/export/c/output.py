"""Statements of a Program that write bytes, as C: into room that is there, or at the end of the output."""

from __future__ import annotations

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.c.faults import Faults
from wirelock.export.lower.expressions import of_type

__all__ = ["Output"]


class Output(Faults):
    """The statements of one function that write bytes."""

    def output(self, statement: st.Statement) -> None:
        """Write a statement that writes bytes."""
        match statement:
            case st.Reserve(at=local, size=size):
                name = self.locals[local.name]
                self.line(f"const size_t {name} = output->used;")
                word = "claim" if local.name in self.covered else "reserve"
                self.line(f"if (!wl_{word}(output, {self.expressions.assigned(size, 'size_t')})) {{")
                self.depth += 1
                self.fail("no-space", st.Place(()))
                self.depth -= 1
                self.line("}")
            case st.Store(at=at, bits=bits, order=order, value=value):
                stored = next(width for width in (8, 16, 32, 64) if width >= bits)
                text = self.expressions.assigned(value, f"uint{stored}_t")
                if bits == 8:
                    self.line(f"data[{self.expressions.value(at).text}] = {text};")
                else:
                    self.line(f"wl_put_{order[0]}e{bits}({self.expressions.data(at)}, {text});")
            case st.Put(at=at, value=value):
                kind, room = of_type(value), self.expressions.data(at)
                if isinstance(kind, v.BytesType) and kind.size is not None:
                    if kind.size:
                        self.line(f"memcpy({room}, {self.expressions.place(value)}, {kind.size});")
                else:
                    held = self.expressions.place(value)
                    self.line(f"wl_put_bytes({room}, {held}.data, {held}.size);")
            case st.Fill(at=at, count=count, octet=octet):
                filled = self.expressions.assigned(count, "size_t")
                self.line(f"wl_fill({self.expressions.data(at)}, {filled}, {octet});")
            case st.PutVarint(value=value, zigzag=zigzag):
                self._put_varint("put", "", value, zigzag)
            case st.InsertVarint(at=at, value=value, zigzag=zigzag):
                self._put_varint("insert", f"{self.expressions.assigned(at, 'size_t')}, ", value, zigzag)
            case _:
                raise AssertionError(statement)

    def _put_varint(self, word: str, at: str, value: v.Value, zigzag: bool) -> None:
        raw = self.expressions.assigned(value, "int64_t" if zigzag else "uint64_t")
        raw = f"wl_zigzag({raw})" if zigzag else raw
        self.line(f"if (!wl_{word}_varint(output, {at}{raw})) {{")
        self.depth += 1
        self.fail("no-space", st.Place(()))
        self.depth -= 1
        self.line("}")

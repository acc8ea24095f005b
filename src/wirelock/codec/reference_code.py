"""Clones of constructs that run code of the author's, for the reference engine; see reference_kinds."""

from __future__ import annotations

from typing import Any

import construct
from construct import evaluate

from wirelock.codec.code import checksum_fault, decoded, encoded, summing
from wirelock.codec.reference_regions import Octets, leaf
from wirelock.codec.reference_values import Held
from wirelock.codec.trail import Found
from wirelock.layout import nodes

__all__ = ["Checksum", "Opaque"]


class Checksum(construct.Subconstruct):
    """A checksum of the bytes that construct's own expression finds."""

    def __init__(self, source: Any, kind: nodes.Checksum) -> None:
        field = source.checksumfield
        super().__init__(leaf(field, kind.type) if isinstance(kind.type, nodes.Integer) else Octets(field))
        self.kind = kind
        self.covers = source.bytesfunc

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        mark, start = context._params._reading.trail.marks[-1], stream.tell()
        found = self.subcon._parsereport(stream, context, path)
        mark.fault = checksum_fault(self.kind, found, evaluate(self.covers, context), path, start)
        return found

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        value = summing(self.kind, evaluate(self.covers, context))
        return self.subcon._build(value, stream, context, path)


class Opaque(construct.Construct):
    """Bytes that only code can read."""

    def __init__(self, kind: nodes.Opaque) -> None:
        super().__init__()
        self.kind = kind

    def _parsereport(self, stream: Any, context: Any, path: str) -> Any:
        reading, start = context._params._reading, stream.tell()
        mark = reading.trail.marks[-1]
        size = self.kind.size if isinstance(self.kind.size, int) else reading.end - start
        reading.fit(path, start, size)
        value, mark.fault = decoded(self.kind, stream.read(size), path, start)
        return Held(value)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        raw, fault = encoded(self.kind, obj, path)
        if fault is not None:
            raise Found(fault)
        stream.write(raw)
        return Held(obj)

"""The shortest way from a record's own methods to the functions that were generated for it.

Once a class has its generated engine, it gets `parse`, `parse_prefix` and `build` of its own. They are
Record's, shortened for what is accepted: anything else is done again by Record's, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from wirelock.codec.generated import REFUSALS, GeneratedEngine

if TYPE_CHECKING:
    from wirelock.schema.record import Record


def shorten(record: type[Record], engine: GeneratedEngine) -> None:
    """Give a class methods that call its engine's functions."""
    parse = _fixed_parse if engine.size is not None else _parse
    methods = (
        parse(engine, record.parse),
        _parse_prefix(engine, record.parse_prefix),
        _build(engine, record.build),
    )
    for method in methods:
        name = method.__name__
        method.__module__, method.__qualname__ = record.__module__, f"{record.__qualname__}.{name}"
        # A class method would be bound anew at every call.
        setattr(record, name, method if name == "build" else staticmethod(method))


def _fixed_parse(engine: GeneratedEngine, slow: Callable[..., Any]) -> Callable[..., Any]:
    parse_from, size = engine.parse_from, engine.size

    @wraps(slow)
    def parse(data: Any, *, engine: str = "generated") -> Any:
        if engine == "generated" and type(data) is bytes and len(data) == size:
            record = parse_from(data, 0, size)
            if record is not None:
                return record
        return slow(data, engine=engine)

    return parse


def _parse(engine: GeneratedEngine, slow: Callable[..., Any]) -> Callable[..., Any]:
    parse_from = engine.parse_from

    @wraps(slow)
    def parse(data: Any, *, engine: str = "generated") -> Any:
        if engine == "generated" and type(data) is bytes:
            end = len(data)
            found = parse_from(data, 0, end)
            if found is not None and found[1] == end:
                return found[0]
        return slow(data, engine=engine)

    return parse


def _parse_prefix(engine: GeneratedEngine, slow: Callable[..., Any]) -> Callable[..., Any]:
    read = engine.read

    @wraps(slow)
    def parse_prefix(data: Any, *, engine: str = "generated") -> Any:
        if engine == "generated" and type(data) is bytes:
            found = read(data, 0)
            if found is not None:
                return found
        return slow(data, engine=engine)

    return parse_prefix


def _build(engine: GeneratedEngine, slow: Callable[..., Any]) -> Callable[..., Any]:
    build_bytes = engine.build_bytes

    @wraps(slow)
    def build(self: Any, *, engine: str = "generated") -> Any:
        if engine == "generated":
            try:
                data = build_bytes(self)
            except REFUSALS:
                data = None
            if data is not None:
                return data
        return slow(self, engine=engine)

    return build

"""The slow path of building: a walk over a record that finds what keeps it from being sent.

It reads the record's own attributes, trusts no earlier validation, and leaves the same trail as
parsing does. Faults have no byte: nothing was written yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wirelock.codec.floats import round_float, same_float
from wirelock.codec.template import Names, template_of
from wirelock.codec.trail import Found, Frame, Trail, value_text
from wirelock.errors import Fault
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    If,
    Integer,
    Layout,
    Length,
    Nothing,
    Padding,
    Path,
    Prefix,
    Switch,
    Type,
    plain,
)
from wirelock.layout.operators import evaluate, paths_in


def check(layout: Layout, record: Any, names: Names) -> Frame:
    """Return the values of a record that can be sent; raises Found with the first thing that cannot."""
    reader = RecordReader(names)
    frame = reader.read(layout, record, "", None)
    fault = reader.trail.value_fault()
    if fault is not None:
        raise Found(replace(fault, byte=None, pieces=()))
    assert isinstance(frame, Frame)
    return frame


def _refuse(code: str, path: str, found: object, allowed: object) -> Found:
    return Found(Fault(code, path, value_text(found), value_text(allowed)))


def _wrong_type(path: str, value: object, wanted: str) -> Found:
    try:
        text = repr(value)
    except ValueError:  # of an integer too long for Python to write
        text = value_text(value)
    return _refuse("wrong-type", path, f"{type(value).__name__} {text:.60}", wanted)


class RecordReader:
    """Reads plain values out of records, in wire order."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.trail = Trail()

    def read(self, kind: Type, value: Any, path: str, frame: Frame | None) -> Any:
        """Check one value against its type and return it as a frame holds it."""
        mark = self.trail.mark(kind, path, 0)
        inner = plain(kind)
        match inner:
            case Layout():
                mark.value = self._layout(inner, value, path, frame)
            case Array():
                mark.value = self._array(inner, value, path, frame)
            case If(condition=condition, type=then):
                assert frame is not None
                if frame.compute(condition):
                    mark.value = self.read(then, value, path, frame)
                elif value is not None:
                    raise _wrong_type(path, value, "None: the field is absent here")
            case Switch():
                mark.value = self._switch(inner, value, path, frame)
            case Bytes():
                mark.value = self._octets(inner, value, path, frame)
            case Constant(value=wanted):
                if type(value) is not type(wanted) or value != wanted:
                    raise _refuse("constant", path, value_text(value), value_text(wanted))
                mark.value = wanted
            case Nothing() | Padding():
                if value is not None:
                    raise _wrong_type(path, value, "None")
                if isinstance(inner, Padding) and not isinstance(inner.length, int):
                    assert frame is not None
                    if (length := frame.compute(inner.length)) < 0:
                        raise _refuse("bad-count", path, length, "0 or more")
            case Integer():
                mark.value = self._integer(inner, value, path)
            case Enum(integer=integer) | Flags(integer=integer):
                wanted_type = self.names[inner.name]
                assert isinstance(wanted_type, type)
                if type(value) is not wanted_type:
                    raise _wrong_type(path, value, f"a member of {inner.name}")
                mark.value = self._integer(integer, int(value), path)
                if isinstance(inner, Flags) and mark.value & ~inner.mask:
                    written = f"{mark.value & inner.mask:#x}"
                    raise _refuse("not-canonical", path, f"{mark.value:#x}", written)
            case Flag():
                if type(value) is not bool:
                    raise _wrong_type(path, value, "a bool")
                mark.value = value
            case Float(bits=bits):
                mark.value = self._float(bits, value, path)
        return mark.value

    def _layout(self, layout: Layout, record: Any, path: str, parent: Frame | None) -> Frame:
        if type(record) is not template_of(self.names, layout.name).record:
            raise _wrong_type(path, record, f"a {layout.name}")
        frame = Frame(layout, path, 0, parent)
        for field in layout.fields:
            name = f"{path}.{field.label}" if path else field.label
            if field.in_record:
                value = _attribute(record, field, name)
            else:
                value = self._hidden(field, layout, record, frame, path)
            frame.values[field.label] = self.read(field.type, value, name, frame)
        for field in layout.fields:
            if (
                field.derived is not None
                and (implied := frame.compute(field.derived)) != frame.values[field.label]
            ):
                name = f"{path}.{field.label}" if path else field.label
                raise _refuse("bad-count", name, frame.values[field.label], implied)
        self.trail.frames.append(frame)
        return frame

    def _hidden(self, field: Field, layout: Layout, record: Any, frame: Frame, path: str) -> Any:
        """Return the value of a field that the record has not: a constant, nothing, or a derived one."""
        try:
            return implied(field, layout, record, frame.value_of)
        except (AttributeError, OverflowError, TypeError, ValueError):
            assert field.derived is not None
            first = ".".join(next(paths_in(field.derived)).names)
            raise _refuse(
                "wrong-type", f"{path}.{first}" if path else first, "the value", f"what {field.label} counts"
            ) from None

    def _array(self, kind: Array, value: Any, path: str, frame: Frame | None) -> list[Any]:
        if type(value) is not tuple:
            raise _wrong_type(path, value, "a tuple")
        if isinstance(kind.count, Prefix):
            highest = kind.count.integer.highest
            if len(value) > highest:
                raise _refuse("bad-count", path, len(value), f"{highest} or less")
        else:
            self._same_length(kind.count, len(value), path, frame)
        return [self.read(kind.element, item, f"{path}[{i}]", frame) for i, item in enumerate(value)]

    def _octets(self, kind: Bytes, value: Any, path: str, frame: Frame | None) -> bytes:
        if type(value) is not bytes:
            raise _wrong_type(path, value, "bytes")
        self._same_length(kind.length, len(value), path, frame)
        return value

    def _same_length(self, wanted: Any, found: int, path: str, frame: Frame | None) -> None:
        if not isinstance(wanted, int):
            assert frame is not None
            wanted = frame.compute(wanted)
        if wanted != found:
            raise _refuse("bad-count", path, f"length {found}", wanted)

    def _switch(self, kind: Switch, value: Any, path: str, frame: Frame | None) -> Any:
        assert frame is not None
        key = frame.compute(kind.key)
        for case, then in kind.cases:
            if case == key:
                return self.read(then, value, path, frame)
        if kind.default is None:
            raise _refuse("unknown-case", path, int(key), ", ".join(str(case) for case, _ in kind.cases))
        return self.read(kind.default, value, path, frame)

    def _integer(self, kind: Integer, value: Any, path: str) -> int:
        if type(value) is not int:
            raise _wrong_type(path, value, "an int")
        if not kind.lowest <= value <= kind.highest:
            raise _refuse("out-of-range", path, value, f"{kind.lowest}..{kind.highest}")
        return value

    def _float(self, bits: int, value: Any, path: str) -> float:
        if type(value) is not float:
            raise _wrong_type(path, value, "a float")
        try:
            rounded = round_float(value, bits)
        except OverflowError:
            raise _refuse("out-of-range", path, value, f"what binary{bits} holds") from None
        except ValueError as problem:
            raise _refuse("not-canonical", path, problem, "a quiet NaN") from None
        if not same_float(rounded, value):
            raise _refuse("not-canonical", path, value, rounded)
        return value


def implied(
    item: Field,
    layout: Layout,
    record: Any,
    outer: Callable[[Path | Length], Any],
    left_out: Callable[[Any], bool] = lambda value: False,
) -> Any:
    """Return the value of a constant, absent or derived field, computed from a record's attributes.

    `outer` gives what lies around the record. Other derived fields are computed too, where the record
    has them not or their value is `left_out`. Raises AttributeError or TypeError where the record lacks
    what is needed.
    """
    kind = plain(item.type)
    if isinstance(kind, Constant):
        return kind.value
    if item.derived is None:
        return None

    return int(evaluate(item.derived, lambda wanted: _look(wanted, layout, record, outer, left_out)))


def _look(
    wanted: Path | Length,
    layout: Layout,
    record: Any,
    outer: Callable[[Path | Length], Any],
    left_out: Callable[[Any], bool],
) -> Any:
    """Return what an expression of this layout finds at a path, for `implied`."""
    path = wanted.path if isinstance(wanted, Length) else wanted
    if path.up:
        return outer(wanted)
    part = layout[path.names[0]]
    found: Any = getattr(record, part.label) if part.in_record else None
    if not part.in_record or left_out(found):
        found = implied(part, layout, record, outer, left_out)
    if len(path.names) > 1:
        inner = plain(part.type)
        assert isinstance(inner, Layout)

        def around(beyond: Path | Length) -> Any:
            way = beyond.path if isinstance(beyond, Length) else beyond
            return _look(_alike(beyond, way.up - 1, way.names), layout, record, outer, left_out)

        return _look(_alike(wanted, 0, path.names[1:]), inner, found, around, left_out)
    if isinstance(wanted, Length):
        return len(found)
    if not isinstance(found, int | float):
        raise TypeError(found)
    return found


def _alike(wanted: Path | Length, up: int, names: tuple[str, ...]) -> Path | Length:
    path = Path(up, names)
    return Length(path) if isinstance(wanted, Length) else path


def _attribute(record: Any, field: Field, path: str) -> Any:
    try:
        return getattr(record, field.label)
    except AttributeError:
        raise _refuse("wrong-type", path, "nothing", "a value") from None

"""Many records at once: bytes -> a table of columns and back, packets of mixed versions, derived columns.

The columnar engine does the work and says what it cannot do; numba and numpy are loaded when it is first
asked for. Bytes that are built are read back and compared before anybody gets them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from wirelock.codec.columns import stored_type
from wirelock.codec.template import Template
from wirelock.codec.trail import Found
from wirelock.errors import DecodeError, EncodeError, Fault, SchemaError
from wirelock.layout.nodes import Constant, Integer, Layout, plain, valued

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wirelock.codec.columnar import ColumnarEngine, Filled
    from wirelock.codec.derived import Derivation
    from wirelock.codec.table import Table
    from wirelock.schema.record import Buffer, Wire
    from wirelock.schema.registry import Protocol

__all__ = ["PacketFault", "PacketTables", "columns", "parse_packets"]

Places: TypeAlias = "Sequence[int] | NDArray[np.integer[Any]]"
"""A row of integers."""
Columns: TypeAlias = "Table | Mapping[str, Any]"
"""A table, or arrays by the paths of columns."""
Declared: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...], Any]
"""Where a function that derives columns is, their names, the fields it is given, and the function."""
Function = TypeVar("Function", bound=Callable[..., Any])


def columns(*names: str) -> Callable[[Function], Function]:
    """Name the columns that a function derives from others: `@staticmethod @columns("x", "y", "z", "w")`.

    The function's parameters are fields of the record that are numbers. It is called with an array of each,
    all of one length n, which may be 0: int64 for integers, uint64 for unsigned ones of 64 bits and varints,
    float64 for floats of every width, bool for flags. It returns an array of numbers of shape (n, number of
    names), or (n,) for one name. A table computes such columns when they are asked for, and raises
    SchemaError for anything else that the function returns.
    Raises SchemaError when the class is made and a parameter is no such field.
    """

    def name(function: Function) -> Function:
        function.__wirelock_columns__ = names  # type: ignore[attr-defined]
        return function

    return name


def derivations_of(record: type, layout: Layout) -> tuple[Declared, ...]:
    """Return each function of a record that derives columns."""
    found: list[Declared] = []
    fields = {item.label: item for item in layout.fields}
    for label, member in list(vars(record).items()):
        function = member.__func__ if isinstance(member, staticmethod) else member
        names = getattr(function, "__wirelock_columns__", None)
        if names is None:
            continue
        where = f"{record.__name__}.{label}"
        if not isinstance(member, staticmethod):
            raise SchemaError(where, "columns of what is no static method", "write @staticmethod above it")
        given = tuple(inspect.signature(function).parameters)
        for name in given:
            item = fields.get(name)
            if item is None or not item.in_record or stored_type(valued(item.type)) is None:
                raise SchemaError(where, f"the parameter {name} is no field that is a number", "name one")
        for at, name in enumerate(names):
            if name in fields:
                raise SchemaError(where, f"the column {name} is a field", "give it another name")
            if name in (*names[:at], *(known for _, others, *_ in found for known in others)):
                raise SchemaError(where, f"the column {name} is there already", "give it another name")
        if not names or not given:
            raise SchemaError(
                where, "columns without a name, or of no field", 'write @columns("speed") above it'
            )
        found.append((where, tuple(names), given, function))
    return tuple(found)


def engine_of(wire: Wire) -> ColumnarEngine:
    """Return the columnar engine of a record. Raises SchemaError where it cannot be, ImportError."""
    engine = wire.columnar
    if engine is None:
        wire.check_whole()
        from wirelock.codec.columnar import ColumnarEngine

        engine = wire.columnar = ColumnarEngine(wire.layout, wire.names)
    return engine  # type: ignore[no-any-return]


def _derivations(wire: Wire) -> dict[str, tuple[Derivation, ...]]:
    """Return the derived columns of a record and of those inside of it, by the names of their layouts."""
    from wirelock.codec.derived import Derivation

    return {
        name: tuple(Derivation(*found) for found in template.record.__wirelock__.derivations)  # type: ignore[attr-defined]
        for name, template in wire.names.items()
        if isinstance(template, Template)
    }


def table_of(wire: Wire, data: Any, filled: Any, *, exact: bool) -> Table:
    """Return what an engine filled as a table."""
    from wirelock.codec.table import Table

    return Table(engine_of(wire), data, filled, exact=exact, derivations=_derivations(wire))


def declares_columns(wire: Wire) -> bool:
    """Whether a record, or one inside of it, has functions that derive columns."""
    templates = (template for template in wire.names.values() if isinstance(template, Template))
    return any(template.record.__wirelock__.derivations for template in templates)  # type: ignore[attr-defined]


def empty_table(wire: Wire) -> Table:
    """Return the table of no records."""
    return table_of(wire, b"", engine_of(wire).none(), exact=True)


def read_each(wire: Wire, octets: Sequence[bytes]) -> Table:
    """Return records of whole bytes each as a table: those that are bad are not in it."""
    from wirelock.codec.columnar import numpy_module

    np = numpy_module()
    data = b"".join(octets)
    stops = np.cumsum([len(one) for one in octets], dtype="i8")
    starts = np.append(np.zeros(1, "i8"), stops)[:-1]
    filled, _ = engine_of(wire).packets(data, starts, stops)
    return table_of(wire, data, filled, exact=True)


def parse_many(wire: Wire, data: Buffer) -> Table:
    """Return the records that lie one behind the other in a buffer: see Record.parse_many."""
    engine = engine_of(wire)
    if not engine.least:
        told = "a record that may take no bytes cannot lie beside others"
        raise SchemaError(wire.record.__name__, told, "say where each is, with parse_packets")
    filled, end = engine.packed(data)
    left = len(memoryview(data).cast("B")) - end
    if engine.size is not None and left:  # what is left of the last record
        filled = engine.with_bad(filled, end // engine.size, end, end + left)
    return table_of(wire, data, filled, exact=False)


def build_many(wire: Wire, columns: Columns, offsets: Mapping[str, Any], tags: Mapping[str, Any]) -> bytes:
    """Return the bytes of all records of a table or of columns: see Record.build_many."""
    from wirelock.codec.columns_given import filled_of
    from wirelock.codec.table import Table

    name = wire.record.__name__
    if isinstance(columns, Table):
        if columns.layout != wire.layout:
            raise TypeError(f"{columns!r} is no table of {name}")
        table = columns
    else:
        try:
            filled = filled_of(engine_of(wire), columns, offsets, tags)
        except Found as found:
            raise EncodeError(name, found.fault) from None
        table = table_of(wire, b"", filled, exact=False)
    octets = engine_of(wire).build(table.filled)
    return b"".join(_built(wire, table)) if octets is None else octets


def _built(wire: Wire, table: Table) -> Iterator[bytes]:
    scalar = wire.engine("generated")
    for row in range(len(table)):
        try:
            yield scalar.build(table.record(row))
        except Found as found:
            raise EncodeError(wire.record.__name__, found.fault.within(f"[{row}]", 0)) from None


# -- packets


@dataclass(frozen=True, slots=True)
class PacketFault:
    """Why a packet holds no record, or not only records: its number, the byte where it starts, its fault.

    `record` says what it was read as: `snapshot v2`. The bytes of the fault count from the packet's start.
    """

    packet: int
    start: int
    record: str
    fault: Fault

    code = property(lambda self: self.fault.code, doc="The stable word for what is wrong.")
    path = property(lambda self: self.fault.path, doc="The field, with indices.")
    byte = property(lambda self: self.fault.byte, doc="Byte offset in the packet, or None.")

    def __str__(self) -> str:
        return str(DecodeError(self.record, self.fault, self.packet))


class PacketTables:
    """What packets hold: a table a version, faults, and the packets that are another protocol's.

    `tables[2].numbers` are the packets of the records of version 2. A packet is in the tables, in `faults`
    or in `foreign`; with a protocol that repeats, records before a fault are in the tables too.
    """

    def __init__(self, protocol: Protocol, data: Any, starts: Any, stops: Any, version: int | None) -> None:
        self.protocol = protocol
        self.tables: dict[int, Table] = {}
        """By version, those of which there are packets."""
        self.foreign: NDArray[np.int64] = starts[:0]
        """The numbers of the packets that are another protocol's."""
        self.bad: NDArray[np.int64] = starts[:0]
        """The numbers of the packets with a fault."""
        self._data = data
        self._starts = starts
        self._stops = stops
        self._version = version

    def __repr__(self) -> str:
        tables = ", ".join(f"v{version}: {len(table)}" for version, table in self.tables.items()) or "none"
        others = f"{len(self.bad)} bad, {len(self.foreign)} foreign"
        return f"<PacketTables of {self.protocol.name}: {tables}; {others}>"

    @cached_property
    def faults(self) -> tuple[PacketFault, ...]:
        """The fault of each packet that has one. They are located when this is first asked for."""
        octets = memoryview(self._data).cast("B")
        found = []
        for number in self.bad.tolist():
            start = int(self._starts[number])
            packet = bytes(octets[start : int(self._stops[number])])
            try:
                for _ in self.protocol.parse_all(packet, version=self._version):
                    pass
            except DecodeError as error:
                found.append(PacketFault(number, start, error.record, error.fault))
            else:
                told = f"compiled code refuses {packet[:64].hex(' ')}, the layout does not"
                raise RuntimeError(f"{self.protocol.name}: {told}")
        return tuple(found)


def parse_packets(
    protocol: Protocol, data: Buffer, offsets: Places, lengths: Places, version: int | None
) -> PacketTables:
    """Return what packets in a buffer hold: see Protocol.parse_packets."""
    from wirelock.codec.columnar import numpy_module
    from wirelock.schema.record import wire_of

    np = numpy_module()
    starts, sizes = _places(np, offsets, "offsets"), _places(np, lengths, "lengths")
    octets = np.frombuffer(memoryview(data).cast("B"), "u1")
    if starts.shape != sizes.shape:
        raise ValueError(f"{len(starts)} offsets, but {len(sizes)} lengths")
    outside = (starts < 0) | (sizes < 0) | (starts > len(octets)) | (sizes > len(octets) - starts)
    if outside.any():
        which = int(np.argmax(outside))
        place = f"{int(sizes[which])} bytes at {int(starts[which])}"
        raise ValueError(f"packet {which} ({place}) is not within the {len(octets)} bytes of the buffer")
    if version is None and not protocol.tag:
        raise TypeError(f"{protocol.name} has no tag: say which version the packets are, with version=")
    if version is not None:
        protocol.known(version)
    stops = starts + sizes
    found = PacketTables(protocol, data, starts, stops, version)
    spans: dict[int, list[Any]] = {number: [] for number in protocol.versions}
    numbers, at, bad = np.arange(len(starts)), starts, []
    first = True
    while len(numbers):
        if not first and len(numbers) < FEW:
            bad.append(np.array(_walk(protocol, octets, numbers, at, stops, version, spans), "i8"))
            break
        which = _versions(np, protocol, octets, at, stops[numbers], version)
        if first:
            foreign = which == FOREIGN
            found.foreign, first = numbers[foreign], False
            bad.append(numbers[(which < 0) & ~foreign])
        else:
            bad.append(numbers[which < 0])
        more = []
        for number, record in protocol.versions.items():
            mine = which == number
            if not mine.any():
                continue
            wire = wire_of(record)
            packets, places = numbers[mine], np.ascontiguousarray(at[mine])
            filled, ends = engine_of(wire).packets(data, places, stops[packets], exact=not protocol.repeats)
            bad.append(packets[ends < 0])
            if not protocol.repeats:
                filled = _numbered(filled, packets)
                found.tables[number] = table_of(wire, data, filled, exact=True)
                continue
            good = ends >= 0
            spans[number].append((packets[good], places[good]))
            left = good & (ends < stops[packets])
            more.append((packets[left], ends[left]))
        numbers = np.concatenate([part for part, _ in more] or [starts[:0]])
        at = np.concatenate([part for _, part in more] or [starts[:0]])
    for number, parts in spans.items():
        if parts:
            found.tables[number] = _repeated(np, wire_of(protocol.versions[number]), data, parts, stops)
    found.bad = np.sort(np.concatenate([starts[:0], *bad]))
    return found


def _repeated(np: Any, wire: Wire, data: Any, parts: list[Any], stops: Any) -> Table:
    """Return the table of records that were found packet by packet, in their order in the packets."""
    packets, places = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((places, packets))
    packets, places = packets[order], np.ascontiguousarray(places[order])
    filled, _ = engine_of(wire).packets(data, places, stops[packets], exact=False)
    return table_of(wire, data, _numbered(filled, packets), exact=False)


def _numbered(filled: Filled, packets: Any) -> Filled:
    """Return what was filled with the numbers of packets in place of its own."""
    good, bad = (
        replace(spans.of(slice(None)), numbers=packets[spans.numbers]) for spans in (filled.good, filled.bad)
    )
    return replace(filled, good=good, bad=bad)


def _walk(
    protocol: Protocol, octets: Any, numbers: Any, at: Any, stops: Any, version: int | None, spans: Any
) -> list[int]:
    """Find the other records of a few packets, one by one; return the numbers of the packets that are bad.

    A round for all packets takes as long for a few, and a single packet can hold very many records.
    """
    bad = []
    for number, start in zip(numbers.tolist(), at.tolist(), strict=True):
        packet, place = octets[start : int(stops[number])].tobytes(), 0
        places: dict[int, list[int]] = {}
        while place < len(packet):
            try:
                which = protocol.version_of(packet, place) if version is None else version
                _, size = (
                    protocol.versions[which].__wirelock__.engine("generated").parse_prefix(packet, place)
                )
            except (DecodeError, Found):
                bad.append(number)
                break
            places.setdefault(which, []).append(start + place)
            place += size
        for which, found in places.items():
            spans[which].append(([number] * len(found), found))
    return bad


FEW: Final = 32
"""Packets that are fewer are looked at one by one."""
FOREIGN: Final = -1
UNKNOWN: Final = -2


def _versions(np: Any, protocol: Protocol, octets: Any, at: Any, stops: Any, version: int | None) -> Any:
    """Return the version of each packet by its tag; FOREIGN or UNKNOWN where that says none."""
    if version is not None:
        return np.full(len(at), version, "i8")
    found = np.full(len(at), UNKNOWN, "i8")
    size = len(next(iter(protocol.tags)))
    left = stops - at
    whole = bool((left >= size).all())
    columns = [_octets_at(octets, at + place, whole, left > place) for place in range(size)]
    for tag, number in protocol.tags.items():
        same = left >= size
        for column, octet in zip(columns, tag, strict=True):
            same &= column == octet
        found[same] = number
    shared = _magic(protocol)
    for place, octet in enumerate(shared):
        differs = (columns[place] != octet) & (left > place)
        found[differs] = FOREIGN
    if not shared:
        for row in np.flatnonzero(found == UNKNOWN).tolist():
            try:
                protocol.version_of(octets[int(at[row]) : int(stops[row])].tobytes())
            except DecodeError as error:
                found[row] = FOREIGN if error.code == "foreign" else UNKNOWN
    return found


def _octets_at(octets: Any, at: Any, whole: bool, there: Any) -> Any:
    """Return the byte at each place; 0 where there is none, if there is not the `whole` of every tag."""
    if whole:
        return octets[at]
    found = there.astype("u1")
    found[there] = octets[at[there]]
    return found


def _magic(protocol: Protocol) -> bytes:
    """Return the bytes that every version begins with, as far as they are whole fields of the tag."""
    last = protocol.layout(next(iter(protocol.versions)))[protocol.tag[-1]]
    constant = plain(last.type)
    if last.position.pieces or not (isinstance(constant, Constant) and isinstance(constant.type, Integer)):
        return b""
    return next(iter(protocol.tags))[: last.position.byte]


def _places(np: Any, given: Places, word: str) -> Any:
    if np.ma.is_masked(given):
        raise TypeError(f"{word}: masked values are no places: leave their packets out")
    found = np.asarray(given)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise TypeError(f"{word} are a row of integers, not {found.dtype} of shape {found.shape}")
    return np.ascontiguousarray(found.astype("i8"))

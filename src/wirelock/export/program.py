"""What an exported codec is, before it is written in a language: records, enumerations, functions.

The room `lower` makes these functions of a Layout; `csharp`, `typescript` and `c` print
them. All that is known of the wire (order of checks, sizes, bits, faults) is decided in the lowering;
a printer knows its language only. Values of expressions are integers within int64 (or uint64, where the
interval says so), and every node knows its interval, so that a printer can choose the type that holds it.

The machine that functions run on:
- `data` is the datagram, read only. Byte positions are integers from its start. `read` takes `at` and `end`,
  the byte behind the region, and returns the byte behind the record; `load`, of a record of fixed size, takes
  `at` alone: its bytes are known to be there. Both fill `Self`, a fresh record.
- A call has one `fault` slot: code, path, byte, bit, rank, and the count of faults ever put there.
- A structural fault (Fail) always takes the slot, and ends the function: it and its callers return failure.
- A value or rule fault (Note) takes the slot if nothing of its rank or a higher one is there, and reading
  goes on: ranks are rule < value < structure. `over` names a local that holds `FaultCount()` of an earlier
  moment: a value fault also replaces one put there since (a list's own goes before its elements').
- A path is written from the inside out: Fail and Note give the steps within their own record, and a Read or
  Write of a nested record prepends its steps where the fault count went up during the call.
- `write` appends to an output, `store` (fixed size) fills room that was reserved; their faults have no byte.
- `tell` writes the record as JSON, for the tests of a client.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from wirelock.export.statements import Statement
from wirelock.export.values import IntType, Local, Type
from wirelock.layout.nodes import Field, Layout
from wirelock.layout.terms import Index, Length, Path
from wirelock.schema.pose import SmallestThree


@dataclass(frozen=True, slots=True)
class FieldDecl:
    """A field that a client holds; `note` says meaning, unit and range in words, for its doc comment."""

    name: str
    type: Type
    note: str
    field: Field | None = None


@dataclass(frozen=True, slots=True)
class FixedDecl:
    """A constant of the layout, as a named constant of the record: `VERSION = 2`."""

    name: str
    value: int | bytes
    note: str


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Members (name, value) of an enumeration, or flags (name, mask); `storage` holds every value."""

    name: str
    members: tuple[tuple[str, int], ...]
    storage: IntType
    flags: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a record. `parameters` come behind those of the machine."""

    kind: Literal["load", "read", "store", "write", "tell"]
    record: str
    parameters: tuple[Local, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class RecordDecl:
    """One record: its fields, constants and functions.

    A record of fixed `size` has load, and store where every value has a fixed place; every record has read,
    write and tell. `allocates` says
    whether reading one takes memory for lists (in C: from the arena). `depth` is how many steps its longest
    path has. A record that is no whole bytes, or starts within one, and the values of a Sequence have no
    functions at all: those of the record around them do what is to be done.
    """

    name: str
    layout: Layout
    fields: tuple[FieldDecl, ...]
    constants: tuple[FixedDecl, ...]
    functions: tuple[Function, ...]
    size: int | None
    allocates: bool
    depth: int
    note: str = ""
    pose: SmallestThree | None = None
    """Set where the record is a quaternion: its fields then include those that this names."""
    parameters: tuple[Local, ...] = ()
    """What its functions take of the records around it; those of every function alike."""
    outer: tuple[Path | Length | Index, ...] = ()
    """What each parameter is, as an expression of the record around it reads it: `up` 0 is that record."""
    sequence: bool = False
    """Whether it is what a Sequence holds: in JSON a list, and in paths `[0]` for its first field."""


@dataclass(frozen=True, slots=True)
class VersionDecl:
    """One version of a protocol: its record, digest, and the bytes of its tag."""

    number: int
    record: str
    digest: str
    tag: bytes
    retired: bool


@dataclass(frozen=True, slots=True)
class TagField:
    """A constant field of a tag, for its faults: where it lies, and which bits of its `size` bytes it has.

    `is_version` is the last one where it is an integer: another value there is `unknown-version`, and
    anywhere else `foreign`.
    """

    label: str
    byte: int
    size: int
    bit: int | None
    mask: bytes = b""
    """A mask for each of its bytes; empty where all bits are its own."""
    is_version: bool = False


@dataclass(frozen=True, slots=True)
class ProtocolDecl:
    """One protocol: its versions, oldest first; without a tag the caller names the version.

    `offers` are (version, fingerprint, {path: fingerprint of a part}) as schema.negotiation has them.
    """

    name: str
    versions: tuple[VersionDecl, ...]
    tag: tuple[TagField, ...]
    repeats: bool
    hello: str
    """The protocol's hello, as JSON on one line."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """All that is exported: declarations in an order in which each comes behind what it uses."""

    protocols: tuple[ProtocolDecl, ...]
    enumerations: tuple[Enumeration, ...]
    records: tuple[RecordDecl, ...]
    runtime: frozenset[str] = field(default_factory=frozenset)
    """Names of the runtime functions that are called, so that a printer may leave out the others."""

"""The errors of wirelock, split by whose fault it is.

SchemaError is the author's (a layout, record or protocol that cannot be accepted), DecodeError the
peer's (bytes), EncodeError the caller's (a value that cannot be sent); CaptureError, LockError,
GoldenError, ExpectationError and ProjectError a file's.
Every error carries its data as attributes, reads as one line, and survives pickling.
Imports nothing of wirelock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

__all__ = [
    "CODES", "CaptureError", "DecodeError", "EncodeError", "ExpectationError", "ExportError", "Fault",
    "GoldenError", "LockError", "MigrationError", "NegotiationError", "ProjectError", "SchemaError",
    "WirelockError",
]  # fmt: skip

CODES: Final[dict[str, tuple[str, str]]] = {
    "truncated": ("{allowed_bytes} wanted, {found} left", "a field does not fit in the bytes left"),
    "trailing-bytes": (
        "{found_bytes} after the end",
        "bytes after the end of the record, or left over inside a sized region",
    ),
    "constant": ("{found} is not {allowed}", "a constant differs"),
    "not-canonical": (
        "{found} would be written as {allowed}",
        "the value is readable but would be written otherwise: padding, a Flag byte of 2..255, unknown"
        " flag bits, a signalling NaN, an over-long varint, a byte-order mark or unpaired surrogates in text,"
        " text after its terminator",
    ),
    "bad-count": (
        "{found} is not {allowed}",
        "a derived count, size or length disagrees with what it counts",
    ),
    "unknown-case": (
        "there is no case for the key {found}: there are {allowed}",
        "a Switch key without a case and without a default",
    ),
    "unknown-member": ("{found} is none of {allowed}", "a value outside an enumeration"),
    "out-of-range": (
        "{found} is not in {allowed}",
        "a value outside its width or a constraint of the record",
    ),
    "bad-text": ("{found} is no {allowed}", "bytes that are not text in the stated encoding"),
    "too-large": (
        "{found} is more than {allowed}",
        "a number beyond a stated limit: a varint of more than 64 bits",
    ),
    "checksum": ("{found} is not {allowed}", "a checksum is not that of the bytes that it covers"),
    "opaque": (
        "{found} does not take it: {allowed}",
        "the code of an opaque field does not read or write it",
    ),
    "wrong-type": ("{found} is not {allowed}", "a value of another type (building only)"),
    "unknown-version": ("version {found} is none of {allowed}", "the tag's version is not known"),
    "foreign": ("{found} is not {allowed}", "the tag's magic is not ours: another protocol, no fault"),
    "validator": ("{found}", "a Python validator of the record refuses the values or changes them"),
    "rule:NAME": ("the rule {code} does not hold{allowed}", "a named rule does not hold"),
}
"""Each fault code with its message and its meaning. `found` and `allowed` are bytes for `truncated`."""


class WirelockError(Exception):
    """Base of everything wirelock raises on purpose."""


class SchemaError(WirelockError):
    """A layout, record or protocol that cannot be accepted, with the place and the remedy.

    Attributes: `path` (where in the layout, may be empty), `problem`, `remedy` (may be empty).
    """

    def __init__(self, path: str, problem: str, remedy: str = "") -> None:
        super().__init__(path, problem, remedy)
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{place}{self.problem}{remedy}"


class ExportError(WirelockError):
    """A layout that cannot be exported to a language.

    Attributes: `target` (such as `c`), `path` (version and field), `problem` (the kind), `remedy` (may be
    empty).
    """

    def __init__(self, target: str, path: str, problem: str, remedy: str = "") -> None:
        super().__init__(target, path, problem, remedy)
        self.target = target
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.path}: {self.problem} cannot be exported to {self.target}{remedy}"


class ProjectError(WirelockError):
    """A project whose set-up cannot be used: no protocols named, or none that import."""


class MigrationError(WirelockError):
    """A record that cannot be brought to another version: the caller's, or the protocol's author's.

    Attributes: `step` (such as `rotation v2 to v1`), `problem`, `remedy` (may be empty).
    """

    def __init__(self, step: str, problem: str, remedy: str = "") -> None:
        super().__init__(step, problem, remedy)
        self.step = step
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.step}: {self.problem}{f'; {self.remedy}' if self.remedy else ''}"


class NegotiationError(WirelockError):
    """Two peers that cannot agree on a version of a protocol.

    Attributes: `protocol`, `problem`, `remedy` (may be empty), `disagreement` (with `version` and `path`,
    None where no version is common).
    """

    def __init__(self, protocol: str, problem: str, remedy: str = "", disagreement: object = None) -> None:
        super().__init__(protocol, problem, remedy, disagreement)
        self.protocol = protocol
        self.problem = problem
        self.remedy = remedy
        self.disagreement = disagreement

    def __str__(self) -> str:
        label = f"{self.protocol}: " if self.protocol else ""
        return f"{label}{self.problem}{f'; {self.remedy}' if self.remedy else ''}"


class LockError(WirelockError):
    """A lock file that cannot be read, or a change that the lock refuses."""


class GoldenError(WirelockError):
    """A golden file that cannot be read, or that breaks the rules of its format."""


class ExpectationError(WirelockError):
    """A recorded expectation of a capture that cannot be read, or that was recorded of something else."""


class CaptureError(WirelockError):
    """A file that is not a capture, or one whose container cannot be read at all."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with one record: what, where, what was found, what is allowed.

    `code` is a stable word of docs/errors.md. `path` names the field with its indices. `byte` counts
    from the record's first byte (None where the fault is in a value and has no place). `pieces` are
    (byte, mask) pairs in the record, from the field's most significant bit, for a field that does not
    fill its bytes; empty otherwise.
    """

    code: str
    path: str
    found: str
    allowed: str
    byte: int | None = None
    pieces: tuple[tuple[int, int], ...] = ()

    @property
    def message(self) -> str:
        """What is wrong, in words, without the place."""
        kind, _, name = self.code.partition(":")
        template = CODES["rule:NAME" if name else kind][0]
        return template.format(
            code=name,
            found=self.found,
            allowed=self.allowed,
            found_bytes=f"{self.found} byte{'' if self.found == '1' else 's'}",
            allowed_bytes=f"{self.allowed} byte{'' if self.allowed == '1' else 's'}",
        )

    @property
    def place(self) -> str:
        """The position in words: `byte 41 bits 1..0`; empty where there is none."""
        if self.pieces:
            return " + ".join(piece_text(byte, mask) for byte, mask in self.pieces)
        return "" if self.byte is None else f"byte {self.byte}"

    @property
    def bit(self) -> int | None:
        """The field's most significant bit, 7 to 0, in the first of `pieces`; None for whole bytes."""
        return highest_bit(self.pieces)

    def within(self, prefix: str, start: int) -> Fault:
        """Return the same fault seen from an enclosing record that holds this one at byte `start`."""
        path = f"{prefix}.{self.path}" if prefix and self.path else prefix or self.path
        byte = None if self.byte is None else self.byte + start
        return replace(
            self, path=path, byte=byte, pieces=tuple((at + start, mask) for at, mask in self.pieces)
        )


def highest_bit(pieces: tuple[tuple[int, int], ...]) -> int | None:
    """Return the most significant bit, 7 to 0, of the first of (byte, mask) pieces; None without any."""
    return pieces[0][1].bit_length() - 1 if pieces else None


def piece_text(byte: int, mask: int) -> str:
    """Return the words for one piece of a field: `byte 3`, `byte 3 bit 7`, `byte 3 bits 5..2`."""
    if mask == 0xFF:
        return f"byte {byte}"
    high = mask.bit_length() - 1
    low = (mask & -mask).bit_length() - 1
    return f"byte {byte} bit {high}" if high == low else f"byte {byte} bits {high}..{low}"


class _FaultError(WirelockError):
    """What DecodeError and EncodeError share: a fault in a record of a named layout."""

    def __init__(self, record: str, fault: Fault, packet: int | None = None) -> None:
        super().__init__(record, fault, packet)
        self.record = record
        self.fault = fault
        self.packet = packet

    code = property(lambda self: self.fault.code, doc="The stable word for what is wrong.")
    path = property(lambda self: self.fault.path, doc="The field, with indices.")
    byte = property(lambda self: self.fault.byte, doc="Byte offset in the record, or None.")
    bit = property(lambda self: self.fault.bit, doc="The highest bit of a field below a byte, or None.")
    pieces = property(lambda self: self.fault.pieces, doc="(byte, mask) pairs of a field below a byte.")
    found = property(lambda self: self.fault.found, doc="What was there, in words.")
    allowed = property(lambda self: self.fault.allowed, doc="What could have been there, in words.")

    def __str__(self) -> str:
        fault = self.fault
        places = [fault.place] if fault.place else []
        if self.packet is not None:
            places.append(f"packet {self.packet}")
        where = f"{self.record}: {fault.path}: " if fault.path else f"{self.record}: "
        tail = f" ({'; '.join(places)})" if places else ""
        return " ".join(f"{where}{fault.message}{tail}".splitlines())


class DecodeError(_FaultError):
    """Bytes that are not a record: the peer's fault.

    Attributes: `record` (such as `snapshot v2`), `fault` and its parts `code`, `path`, `byte`,
    `bit`, `pieces`, `found`, `allowed`, and `packet` where the bytes came from a capture.
    """


class EncodeError(_FaultError):
    """A value that cannot be sent as this record: the caller's fault. Attributes as DecodeError."""

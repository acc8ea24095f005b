"""A capture -> what each of its packets is to every engine, and whether it round-trips byte for byte.

Streams, as decode does. A round trip is build(parse(x)) == x by one engine; both engines have to agree on
the records and on the fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Final

from wirelock.capture.decode import FaultRow, Row, Selection, Summary, decode
from wirelock.errors import DecodeError, EncodeError
from wirelock.schema.record import Record
from wirelock.schema.registry import Parsed, Registry

__all__ = ["ENGINES", "Verdict", "verify"]

ENGINES: Final = ("generated", "reference")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One record or fault of a capture.

    `packet` is None for a fault of the file. `label` is such as `snapshot v2`, None where that is not known.
    `fields` is a record's JSON; a fault has `code`, `path` and `byte` in its place. `size` are the bytes of
    a record. `problems` say what does not round-trip or what the engines do not agree on.
    """

    packet: int | None
    label: str | None
    fields: dict[str, Any] | None = None
    code: str | None = None
    path: str = ""
    byte: int | None = None
    size: int | None = None
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.code is None:
            return str(self.label)
        place = "" if self.byte is None else f" (byte {self.byte})"
        where = "" if self.label is None else f" at {self.path or 'the record'} of {self.label}"
        return f"fault {self.code}{where}{place}"


def verify(
    capture: Path | BinaryIO,
    registry: Registry,
    selection: Selection,
    summary: Summary,
    name: str | None = None,
) -> Iterator[Verdict]:
    """Yield a verdict for each record and fault of a capture, in packet order, and keep the summary.

    Raises CaptureError where the file is no capture.
    """
    items = decode(capture, registry, selection, summary, name)
    for _, group in groupby(items, key=lambda item: item.datagram.packet if item.datagram else None):
        found = list(group)
        datagram = found[0].datagram
        if datagram is None or datagram.faults or len(datagram.payload) < selection.skip:
            yield from (_fault(item, ()) for item in found if isinstance(item, FaultRow))
        else:
            yield from _verdicts(found, datagram.payload, registry, selection)


def _verdicts(
    found: list[Row | FaultRow], payload: bytes, registry: Registry, selection: Selection
) -> Iterator[Verdict]:
    """Yield the verdicts of one datagram, whose records the generated engine has read."""
    others, refusal = _by_reference(payload[selection.skip :], registry, selection)
    at = selection.skip
    for number, item in enumerate(found):
        if isinstance(item, FaultRow):
            yield _fault(item, () if _same_fault(item, refusal, selection) else (_disagreement(refusal),))
            continue
        other = others[number] if number < len(others) else None
        problems, size = _problems(item.parsed, other, payload, at)
        at += size
        last = number == len(found) - 1
        if last and refusal is not None:
            problems.append(_disagreement(refusal))
        elif last and at != len(payload) and not problems:
            problems.append(f"{len(payload) - at} bytes behind the record are not built")
        fields = json.loads(item.record.model_dump_json())
        packet = item.datagram.packet
        yield Verdict(packet, item.parsed.label, fields, size=size, problems=tuple(problems))


def _by_reference(
    payload: bytes, registry: Registry, selection: Selection
) -> tuple[list[Parsed], DecodeError | None]:
    """Return what the reference engine reads, and the fault at which it stops."""
    records: list[Parsed] = []
    try:
        if selection.protocol is None:
            found = registry.parse_all(payload, engine="reference")
        else:
            found = selection.protocol.parse_all(payload, version=selection.version, engine="reference")
        for parsed in found:  # one at a time: those before a fault count
            records.append(parsed)
    except DecodeError as error:
        return records, error
    return records, None


def _problems(parsed: Parsed, other: Parsed | None, payload: bytes, at: int) -> tuple[list[str], int]:
    """Return what is wrong with one record at a byte of the payload, and how many bytes it takes."""
    problems = []
    if other is not None and (parsed.label, _text(parsed.record)) != (other.label, _text(other.record)):
        problems.append("the engines read other values")
    size = 0
    records = (parsed.record, parsed.record if other is None else other.record)
    for engine, record in zip(ENGINES, records, strict=True):
        try:
            built = record.build(engine=engine)
        except EncodeError as error:
            problems.append(f"the {engine} engine does not build it: {error}")
            continue
        size = size or len(built)
        wanted = payload[at : at + size]
        if built != wanted:
            pairs = enumerate(zip(built, wanted, strict=False))
            first = next((i for i, (a, b) in pairs if a != b), min(len(built), len(wanted)))
            problems.append(f"the {engine} engine builds other bytes, the first of them byte {at + first}")
    return problems, size


def _text(record: Record) -> str:
    return record.model_dump_json()


def _same_fault(item: FaultRow, refusal: DecodeError | None, selection: Selection) -> bool:
    if refusal is None:
        return False
    fault = refusal.fault.within("", selection.skip)
    return (item.code, item.path, item.byte, item.record) == (
        fault.code,
        fault.path,
        fault.byte,
        refusal.record,
    )


def _disagreement(refusal: DecodeError | None) -> str:
    return f"the reference engine finds {'no fault' if refusal is None else refusal}"


def _fault(item: FaultRow, problems: tuple[str, ...]) -> Verdict:
    return Verdict(
        item.packet, item.record, code=item.code, path=item.path, byte=item.byte, problems=problems
    )
